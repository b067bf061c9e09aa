/**
 * A golden text per algorithm for 4 ranks: what the algorithm does, in a form that a reviewer of a change reads.
 * RONDE_UPDATE_GOLDEN=1 in the environment writes them, and the table of all algorithms in docs/reference/golden.
 */
#include "support/files.h"
#include "support/golden.h"
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of every golden schedule: the smallest number with inner nodes, leaves and a way round. */
#define RANKS 4u

static void golden_path(char *path, size_t bytes, const struct ronde_algorithm *algorithm)
{
    snprintf(path, bytes, "tests/golden/%s-%s-%u.ronde",
             ronde_collective_text(algorithm->collective), algorithm->name, RANKS);
}

static struct ronde_schedule *compile(const struct ronde_algorithm *algorithm)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = RANKS,
                                                  .shape_count = 2,
                                                  .shape = {2, 2}};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    if (ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error) != RONDE_OK)
        suite_note("%s: %s", algorithm->name, error.message);
    return schedule;
}

static void compare_with_golden(const struct ronde_algorithm *algorithm, const char *text)
{
    char path[128];
    golden_path(path, sizeof path, algorithm);
    golden_compare(path, text);
}

/* A golden text is also an input: it reads back as the schedule that was printed. */
static void compare_with_reading(const struct ronde_schedule *schedule, const char *text,
                                 size_t bytes)
{
    struct ronde_schedule *again = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_schedule_read(text, bytes, "golden", ronde_mem_default(), NULL, &again, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    if (again)
        CU_ASSERT_EQUAL(again->hash, schedule->hash);
    ronde_schedule_destroy(again);
}

static void algorithms_print_what_they_printed(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_schedule *schedule = compile(algorithms[i]);
        char *text = NULL;
        size_t bytes = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes,
                                                   NULL),
                              RONDE_OK);
        CU_ASSERT_EQUAL(strlen(text), bytes);
        compare_with_golden(algorithms[i], text);
        compare_with_reading(schedule, text, bytes);
        ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
        ronde_schedule_destroy(schedule);
    }
}

/* Whether some algorithm has this golden file. */
static void find_owner(const char *path, void *context)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    bool is_owned = false;
    (void)context;
    for (uint32_t i = 0; i < count && !is_owned; i++) {
        char relative[128], expected[512];
        golden_path(relative, sizeof relative, algorithms[i]);
        is_owned = suite_source(expected, sizeof expected, relative) && strcmp(expected, path) == 0;
    }
    if (!is_owned)
        suite_note("%s belongs to no algorithm", path);
    CU_ASSERT_TRUE(is_owned);
}

static void golden_files_have_an_algorithm(void)
{
    uint32_t count = 0;
    ronde_algorithms(&count);
    CU_ASSERT_EQUAL(files_walk("tests/golden", ".ronde", find_owner, NULL), count);
}

/* The program of most steps, lanes parted by " | ". */
static void print_steps(FILE *file, const struct ronde_schedule *schedule)
{
    const struct ronde_program *program = &schedule->programs[0];
    for (uint32_t p = 1; p < schedule->program_count; p++)
        if (schedule->programs[p].step_count > program->step_count)
            program = &schedule->programs[p];
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t first = program->lane_first[lane], end = program->lane_first[lane + 1];
        fputs(lane > 0 ? " \\|" : "", file);
        for (uint32_t s = first; s < end; s++)
            fprintf(file, "%s%s", s > first || lane > 0 ? " " : "",
                    ronde_step_op_text((enum ronde_step_op)program->steps[s].op));
    }
}

/* Claims, which other tests hold to proofs; `-` where the algorithm does not serve so many ranks. */
static void print_path(FILE *file, const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    if (algorithm->supports(&request, NULL) == RONDE_OK)
        fprintf(file, " %u |", algorithm->counts(ranks).critical_path);
    else
        fputs(" - |", file);
}

static void print_row(FILE *file, const struct ronde_algorithm *algorithm)
{
    static const uint32_t ranks[] = {4, 8, 12, 64};
    struct ronde_schedule *schedule = compile(algorithm);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    fprintf(file, "| %s | `%s` | %s | `", ronde_collective_text(algorithm->collective),
            algorithm->name, algorithm->summary);
    print_steps(file, schedule);
    fputs("` |", file);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        print_path(file, algorithm, ranks[i]);
    fprintf(file, " %s |\n", algorithm->source);
    ronde_schedule_destroy(schedule);
}

static void the_page_has_all_algorithms(void)
{
    static const char heading[] =
        "# All algorithms\n\n"
        "Written by `RONDE_UPDATE_GOLDEN=1 build/tests/test_golden_golden`. *Steps*: the longest "
        "program of 4 ranks (2 x 2 "
        "where there is a shape),\nlanes parted by `|`. *Path*: messages on the longest chain on "
        "4, 8, 12 and 64 ranks. "
        "Picture, price and full citation open the "
        "file\n`schedules/<collective>_<algorithm>.c`; a variant, such as `binomial_nearest`, "
        "shares the file of its algorithm.\n\n"
        "| collective | algorithm | what | steps | path, 4 | 8 | 12 | 64 | source |\n"
        "|---|---|---|---|---|---|---|---|---|\n";
    char *text = NULL;
    size_t bytes = 0;
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(heading, file);
    for (uint32_t i = 0; i < count; i++)
        print_row(file, algorithms[i]);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    golden_compare("docs/reference/golden/algorithms.md", text);
    free(text);
}

/* The source of an algorithm, in the file of its name; a variant, <name>_<variant>, shares the file of <name>. */
static char *read_source(const char *collective, const char *name, char relative[static 128])
{
    char path[512];
    for (size_t length = strlen(name); length > 0;) {
        snprintf(relative, 128, "schedules/%s_%.*s.c", collective, (int)length, name);
        char *text = suite_source(path, sizeof path, relative) ? files_read(path) : NULL;
        if (text)
            return text;
        while (length > 0 && name[--length] != '_')
            ;
    }
    return NULL;
}

/* A file opens with what it is, a picture, its price and whose it is, and exports the row that the list names. */
static void check_opening(const struct ronde_algorithm *algorithm)
{
    const char *collective = ronde_collective_text(algorithm->collective);
    char relative[128], opening[128], row[128];
    snprintf(opening, sizeof opening, "/**\n * %s, ", collective);
    snprintf(row, sizeof row, "const struct ronde_algorithm ronde_algorithm_%s_%s =", collective,
             algorithm->name);
    char *text = read_source(collective, algorithm->name, relative);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    char *end = strstr(text, "*/");
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    CU_ASSERT_PTR_NOT_NULL(strstr(end, row));
    *end = '\0';
    /* A picture is indented, and follows the sentences. */
    const char *picture = strstr(text, "\n *\n *  ");
    const char *price = strstr(text, "\n * Price");
    const char *source = strstr(text, "\n * Source: ");
    const bool is_whole = strncmp(text, opening, strlen(opening)) == 0 && picture && price &&
                          source && picture < price && price < source;
    CU_ASSERT_TRUE(is_whole);
    if (!is_whole)
        suite_note("%s does not open with its name, a picture, Price and Source", relative);
    free(text);
}

static void files_open_with_picture_price_and_source(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        check_opening(algorithms[i]);
        CU_ASSERT_TRUE(algorithms[i]->source && algorithms[i]->counts);
    }
}

/* Names are looked up: no two of a collective may be alike. */
static void names_are_found_as_themselves(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        CU_ASSERT_PTR_EQUAL(ronde_algorithm_find(algorithms[i]->collective, algorithms[i]->name,
                                                 NULL),
                            algorithms[i]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"algorithms_print_what_they_printed", algorithms_print_what_they_printed},
        {"golden_files_have_an_algorithm", golden_files_have_an_algorithm},
        {"the_page_has_all_algorithms", the_page_has_all_algorithms},
        {"files_open_with_picture_price_and_source", files_open_with_picture_price_and_source},
        {"names_are_found_as_themselves", names_are_found_as_themselves},
    };
    return suite_run("golden", cases, sizeof cases / sizeof cases[0]);
}
