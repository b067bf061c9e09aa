/*
 * Headers go together: one unit includes all of them, in both orders, and no tag means two things in the product.
 *
 * The unit is written from the tree, so that a new header is in it. It finds tags, enumerators, macros, types and inline
 * functions of one name in two headers, which otherwise show only once a file needs both.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT RONDE_SOURCE_DIR "/"
#define HEADERS_MAX 512u
#define TAGS_MAX 4096u
#define TAG_BYTES 80u

static const char command_format[] =
    "'%s' -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -fsyntax-only -x c"
    " -I'" ROOT "' -I'" ROOT "engine/include' -I'" ROOT "schedules/include'"
    " -I'" ROOT "topologies/include' -I'" ROOT "sim/include' -I'" ROOT "hw/include'"
    " -I'" ROOT "formats/include' -I'" ROOT "predict/include'"
    " -I'" ROOT "nccl/include' -I'" ROOT "lab/include' -I'" ROOT "api/include' '%s' 2>&1";

static const char *const folders[] = {"hw",   "sim", "formats", "predict",
                                      "nccl", "lab", "api",     "cli"};

/* Says how the step interpreter reads and writes messages, hence stands before whatever includes the interpreter. */
static const char *const first = "hw/shm/eager.h";

/*
 * Source that is compiled with macros of whoever includes it, some of it several times, and no interface: it does not
 * compile alone.
 */
static const char *const templates[] = {
    "hw/cuda/block.h",      "hw/cuda/block_begin.h",
    "hw/cuda/device.h",     "hw/cuda/kernel.h",
    "hw/cuda/move.h",       "hw/cuda/move_types.h",
    "hw/cuda/move_width.h", "sim/flat/symmetric_loops.h",
};

#define TEMPLATES (sizeof templates / sizeof templates[0])

/* Headers of a library that a build may do without. */
static const struct {
    const char *path;
    const char *library;
} needs[] = {
    {"hw/ucx/", "ucp/api/ucp.h"},
    {"hw/cuda/runtime.h", "cuda_runtime_api.h"},
    {"formats/mscclpp/plan_parse.h", "jansson.h"},
};

/* Paths inside the repository. */
struct headers {
    char *paths[HEADERS_MAX];
    size_t count;
};

static bool is_template(const char *path)
{
    for (size_t i = 0; i < TEMPLATES; i++)
        if (strcmp(templates[i], path) == 0)
            return true;
    return false;
}

static void collect(const char *path, void *context)
{
    struct headers *headers = context;
    const char *relative = path + strlen(ROOT);
    if (is_template(relative) || strcmp(relative, first) == 0)
        return;
    CU_ASSERT_FATAL(headers->count < HEADERS_MAX);
    headers->paths[headers->count] = strdup(relative);
    CU_ASSERT_PTR_NOT_NULL_FATAL(headers->paths[headers->count]);
    headers->count++;
}

static void destroy(struct headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        free(headers->paths[i]);
}

static void write_include(FILE *file, const char *path)
{
    const char *library = NULL;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (strncmp(path, needs[i].path, strlen(needs[i].path)) == 0)
            library = needs[i].library;
    if (library)
        fprintf(file, "#if __has_include(<%s>)\n", library);
    fprintf(file, "#include \"%s\"\n%s", path, library ? "#endif\n" : "");
}

/* Whether a file compiles; *out_said is what the compiler printed, to be freed. */
static bool compiles(const char *path, char **out_said)
{
    char command[8192];
    snprintf(command, sizeof command, command_format, RONDE_CC, path);
    return files_command(command, out_said) == 0;
}

/* Compiles the unit, with a line at its end; *out_said as above. */
static bool unit_compiles(const struct headers *headers, bool is_backward, const char *last_line,
                          char **out_said)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/together.c", RONDE_SCRATCH_DIR);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    write_include(file, first);
    for (size_t i = 0; i < headers->count; i++)
        write_include(file, headers->paths[is_backward ? headers->count - 1 - i : i]);
    fprintf(file, "%s\n", last_line);
    CU_ASSERT_FATAL(fclose(file) == 0);
    return compiles(path, out_said);
}

static void check_order(const struct headers *headers, bool is_backward)
{
    char *said = NULL;
    const bool is_right = unit_compiles(headers, is_backward, "", &said);
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%.2000s", said ? said : "the compiler cannot be run");
    free(said);
}

static void open_headers(struct headers *headers)
{
    headers->count = 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CU_ASSERT(files_walk(folders[i], ".h", collect, headers) > 0);
}

static void one_unit_includes_all_headers_in_both_orders(void)
{
    static struct headers headers;
    open_headers(&headers);
    suite_note("%zu headers", headers.count + 1);
    CU_ASSERT(headers.count > 100);
    check_order(&headers, false);
    check_order(&headers, true);
    destroy(&headers);
}

static void a_second_meaning_of_a_name_is_caught(void)
{
    static struct headers headers;
    open_headers(&headers);
    char *said = NULL;
    CU_ASSERT_FALSE(unit_compiles(&headers, false, "struct ronde_executor { int other; };", &said));
    CU_ASSERT(said && strstr(said, "ronde_executor"));
    free(said);
    destroy(&headers);
}

static void templates_are_those_that_do_not_compile_alone(void)
{
    char path[4096];
    for (size_t i = 0; i < TEMPLATES; i++) {
        char *said = NULL;
        CU_ASSERT_FATAL(suite_source(path, sizeof path, templates[i]));
        char *text = files_read(path);
        CU_ASSERT_PTR_NOT_NULL(text);
        free(text);
        CU_ASSERT_FALSE(compiles(path, &said));
        free(said);
    }
}

/* A tag and where it is defined. */
struct tag {
    char name[TAG_BYTES];
    char *path; /* inside the repository */
};

struct tags {
    struct tag all[TAGS_MAX];
    size_t count;
};

/* The tag that a line such as "struct ronde_comm {" defines; false for all other lines. */
static bool read_tag(const char *line, char *name)
{
    static const char *const kinds[] = {"struct ", "enum ", "union "};
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(kinds[i]);
        if (strncmp(line, kinds[i], length) != 0 || strncmp(line + length, "ronde_", 6) != 0)
            continue;
        size_t end = 0;
        while (isalnum((unsigned char)line[length + end]) || line[length + end] == '_')
            end++;
        if (end >= TAG_BYTES || line[length + end] != ' ' || line[length + end + 1] != '{')
            return false;
        snprintf(name, TAG_BYTES, "%.*s", (int)end, line + length);
        return true;
    }
    return false;
}

static void collect_tags(const char *path, void *context)
{
    struct tags *tags = context;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        CU_ASSERT_FATAL(tags->count < TAGS_MAX);
        if (read_tag(line, tags->all[tags->count].name))
            tags->all[tags->count++].path = strdup(path + strlen(ROOT));
        if (*line == '\0')
            break;
    }
    free(text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tag *)a)->name, ((const struct tag *)b)->name);
}

static void a_tag_is_defined_once_in_the_product(void)
{
    static struct tags tags;
    static const char *const product[] = {"engine",  "schedules", "topologies", "sim",
                                          "formats", "predict",   "nccl",       "lab",
                                          "hw",      "api",       "cli",        "bench"};
    static const char *const suffixes[] = {".h", ".c", ".cu"};
    for (size_t i = 0; i < sizeof product / sizeof product[0]; i++)
        for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0]; k++)
            (void)files_walk(product[i], suffixes[k], collect_tags, &tags);
    qsort(tags.all, tags.count, sizeof tags.all[0], by_name);
    suite_note("%zu tags", tags.count);
    CU_ASSERT(tags.count > 300);
    for (size_t i = 1; i < tags.count; i++) {
        const bool is_twice = strcmp(tags.all[i - 1].name, tags.all[i].name) == 0;
        CU_ASSERT_FALSE(is_twice);
        if (is_twice)
            suite_note("%s: %s and %s", tags.all[i].name, tags.all[i - 1].path, tags.all[i].path);
    }
    for (size_t i = 0; i < tags.count; i++)
        free(tags.all[i].path);
}

static void a_tag_is_read_where_it_is_defined(void)
{
    char name[TAG_BYTES];
    CU_ASSERT(read_tag("struct ronde_comm {\n", name));
    CU_ASSERT_STRING_EQUAL(name, "ronde_comm");
    CU_ASSERT(read_tag("enum ronde_dtype { A };", name));
    CU_ASSERT_STRING_EQUAL(name, "ronde_dtype");
    CU_ASSERT_FALSE(read_tag("struct ronde_comm;", name));
    CU_ASSERT_FALSE(read_tag("struct ronde_comm *comm = {0};", name));
    CU_ASSERT_FALSE(read_tag("    struct ronde_comm {", name));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"one_unit_includes_all_headers_in_both_orders",
         one_unit_includes_all_headers_in_both_orders},
        {"a_second_meaning_of_a_name_is_caught", a_second_meaning_of_a_name_is_caught},
        {"templates_are_those_that_do_not_compile_alone",
         templates_are_those_that_do_not_compile_alone},
        {"a_tag_is_defined_once_in_the_product", a_tag_is_defined_once_in_the_product},
        {"a_tag_is_read_where_it_is_defined", a_tag_is_read_where_it_is_defined},
    };
    return suite_run("together", cases, sizeof cases / sizeof cases[0]);
}
