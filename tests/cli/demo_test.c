/*
 * The cheatsheet: what `ronde demo --operation all` prints is golden, on any backend; a wrong result
 * would be seen. Lists of algorithms are left out of the comparison and asked of the registry.
 */
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "cli/demo/tour.h"

#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKED "  checked:"

static char *run(const char *arguments, int code)
{
    char command[512];
    snprintf(command, sizeof command, "\"%s\" demo %s 2>/dev/null", suite_ronde(), arguments);
    return said_by(command, code);
}

/* Takes the lines of algorithms out: which there are is not the examples' business. */
static void drop_algorithms(char *text)
{
    char *to = text;
    for (const char *line = text; *line;) {
        const size_t bytes = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        if (strncmp(line, CHECKED, strlen(CHECKED)) != 0) {
            memmove(to, line, bytes);
            to += bytes;
        }
        line += bytes;
    }
    *to = '\0';
}

static void compare_with_golden(uint32_t ranks)
{
    char path[512], relative[64], arguments[128];
    snprintf(relative, sizeof relative, "tests/golden/demo-all-%u.txt", ranks);
    snprintf(arguments, sizeof arguments, "--operation all --world-size %u --backend host", ranks);
    CU_ASSERT_TRUE_FATAL(suite_source(path, sizeof path, relative));
    char *said = run(arguments, 0);
    drop_algorithms(said);
    if (getenv("RONDE_UPDATE_GOLDEN")) {
        CU_ASSERT_TRUE(files_write(path, said));
        suite_note("wrote %s", path);
    } else {
        char *golden = files_read(path);
        const bool is_same = golden && strcmp(golden, said) == 0;
        CU_ASSERT_TRUE(is_same);
        if (!is_same)
            suite_note("%s differs; RONDE_UPDATE_GOLDEN=1 rewrites it", path);
        free(golden);
    }
    free(said);
}

static void the_cheatsheet_is_golden(void)
{
    compare_with_golden(4);
    compare_with_golden(3);
    compare_with_golden(9);
}

/* The table that every backend must give: results by hand, not by formula. */
static void the_table_comes_out_as_written(void)
{
    static const char *const lines[] = {
        "  after   0:[42, 43, 44]  1:[42, 43, 44]  2:[42, 43, 44]  3:[42, 43, 44]\n",
        "  after   0:[0, 1]  1:[10, 11]  2:[20, 21]  3:[30, 31]\n",
        "  after   0:[0, 1, 100, 101, 200, 201, 300, 301]  1:[0,",
        "  after   0:[1, 2, 3, 4]  1:[1, 2, 3, 4]  2:[1, 2, 3, 4]  3:[1, 2, 3, 4]\n",
        "  after   0:[10]  1:[0]  2:[0]  3:[0]\n",
        "  after   0:[10, 20]  1:[10, 20]  2:[10, 20]  3:[10, 20]\n",
        "  after   0:[2, 5]  1:[2, 5]  2:[2, 5]  3:[2, 5]\n",
        "  after   0:[10]  1:[20]  2:[30]  3:[40]\n",
        "  after   0:[6, 12]  1:[14, 56]  2:[36, 288]\n",
        "  leaves  0:[3]  1:[3]  2:[3]  3:[3]\n",
        "  after   0:[4]  1:[1]  2:[2]  3:[3]\n",
    };
    char *said = run("--operation all --backend host", 0);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(said, lines[i]));
        if (!strstr(said, lines[i]))
            suite_note("missing: %s", lines[i]);
    }
    free(said);
}

static void both_backends_show_the_same(void)
{
    char command[512], *missing = NULL;
    snprintf(command, sizeof command, "\"%s\" demo --operation barrier 2>&1", suite_ronde());
    const int status = files_command(command, &missing);
    if (status == 3) {
        suite_skip("%.100s", missing);
        free(missing);
        return;
    }
    free(missing);
    char *host = run("--operation all --world-size 5 --backend host", 0);
    char *cpu = run("--operation all --world-size 5 --backend cpu", 0);
    CU_ASSERT_STRING_EQUAL(host, cpu);
    free(cpu);
    free(host);
}

/* The line of algorithms of a collective names all of them. */
static void every_algorithm_is_in_the_tour(void)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total; i++) {
        char arguments[128], name[64];
        snprintf(arguments, sizeof arguments, "--operation %s --world-size 4 --backend host",
                 ronde_collective_text(all[i]->collective));
        char *said = run(arguments, 0);
        char *line = strstr(said, CHECKED);
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        /* Blanks around, so that `tree` is not found in `double_tree`. */
        *strchr(line, '\n') = ' ';
        snprintf(name, sizeof name, " %s ", all[i]->name);
        CU_ASSERT_PTR_NOT_NULL(strstr(line, name));
        CU_ASSERT_PTR_NULL(strstr(line, "WRONG"));
        free(said);
    }
}

static void every_collective_has_an_example(void)
{
    uint32_t count = 0;
    bool is_shown[RONDE_COLLECTIVE_COUNT] = {false};
    const struct ronde_example *examples = ronde_examples(&count);
    for (uint32_t i = 0; i < count; i++)
        is_shown[examples[i].collective] = true;
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        CU_ASSERT_TRUE(is_shown[c]);
}

/* A backend that moves nothing: it is host with runs that end at once. */
static enum ronde_status run_nothing(void *program, const struct ronde_launch *launch,
                                     void **out_run, struct ronde_error *error)
{
    (void)launch, (void)error;
    *out_run = program;
    return RONDE_OK;
}

static enum ronde_status wait_for_nothing(void *run, struct ronde_result *out_result,
                                          struct ronde_error *error)
{
    (void)run, (void)error;
    *out_result = (struct ronde_result){0};
    return RONDE_OK;
}

/* Everything but the barrier, which has no data to be wrong, is seen to be wrong. */
static void wrong_results_are_counted(void)
{
    struct ronde_backend idle = ronde_backend_host;
    struct ronde_machine machine = {0};
    struct ronde_target target = {.backend = &idle};
    struct ronde_show show = {.target = &target, .file = fopen("/dev/null", "w"), .ranks = 5};
    idle.run = run_nothing;
    idle.wait = wait_for_nothing;
    CU_ASSERT_PTR_NOT_NULL_FATAL(show.file);
    CU_ASSERT_EQUAL_FATAL(idle.probe(&machine, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(idle.open(&machine, ronde_mem_default(), &target.self, NULL), RONDE_OK);
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        show.wrong = 0;
        CU_ASSERT_EQUAL(ronde_tour(&show, (enum ronde_collective)c, NULL), RONDE_OK);
        CU_ASSERT_EQUAL(show.wrong > 0, c != RONDE_BARRIER);
    }
    idle.close(target.self);
    fclose(show.file);
}

static void wrong_operations_are_refused(void)
{
    char *said = NULL, command[512];
    free(run("--operation all_reduc --backend host", 2));
    free(run("--operation \"\" --backend host", 2));
    free(run("--operation all --world-size 65 --backend host", 2));
    free(run("--world-size 0", 2));
    free(run("--operation all --world-size 1 --backend host", 0));
    free(run("--operation AllReduce --world-size 64 --backend host", 0));
    snprintf(command, sizeof command, "\"%s\" demo --operation all_reduse --backend host 2>&1",
             suite_ronde());
    CU_ASSERT_EQUAL(files_command(command, &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "did you mean all_reduce?"));
    free(said);
}

/* Commands that are shown begin with the program as it was typed, whose path is the caller's business. */
static bool is_no_wider(const char *line, size_t columns)
{
    const size_t width = strcspn(line, "\n");
    const char *program = strstr(line, suite_ronde());
    const bool is_command = program && program < line + width;
    return width <= columns + (is_command ? strlen(suite_ronde()) - strlen("ronde") : 0);
}

/* Whole and real: what it measured is this machine's business, what it says of that is not. */
static void the_demo_is_one_screen(void)
{
    static const char *const parts[] = {
        "right ",     "\nmeasured ", "\nwho wins ", " 8 ranks",  "names the faster one",
        "\npicture ", "\npage ",     "\nnext ",     "--timeline"};
    char folder[] = "/tmp/ronde-demo-test-XXXXXX", command[512], *said = NULL;
    if (suite_is_sample()) {
        suite_skip("a sample will do here, and there is none of a demo");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    /* What `ronde calibrate -o machine.xml` has written is not the demo's to overwrite. */
    snprintf(command, sizeof command, "%s/machine.xml", folder);
    CU_ASSERT_FATAL(files_write(command, "mine"));
    snprintf(command, sizeof command, "NO_COLOR=1 COLUMNS=100 \"%s\" demo --output %s 2>&1",
             suite_ronde(), folder);
    const int code = files_command(command, &said);
    snprintf(command, sizeof command, "%s/machine.xml", folder);
    char *machine = files_read(command);
    CU_ASSERT_PTR_NOT_NULL_FATAL(machine);
    CU_ASSERT_STRING_EQUAL(machine, "mine");
    free(machine);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    if (code == 3) {
        suite_skip("%.200s", said);
        free(said);
        return;
    }
    CU_ASSERT_EQUAL(code, 0);
    uint32_t lines = 0;
    for (const char *line = said; *line; line = strchr(line, '\n') + 1, lines++) {
        CU_ASSERT_FATAL(strchr(line, '\n') != NULL);
        CU_ASSERT(is_no_wider(line, 100));
    }
    CU_ASSERT(lines <= 40);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(said, parts[i]));
        if (!strstr(said, parts[i]))
            suite_note("missing: %s", parts[i]);
    }
    CU_ASSERT_PTR_NULL(strstr(said, "WRONG"));
    CU_ASSERT_PTR_NULL(strchr(said, '\033'));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_cheatsheet_is_golden", the_cheatsheet_is_golden},
        {"the_table_comes_out_as_written", the_table_comes_out_as_written},
        {"both_backends_show_the_same", both_backends_show_the_same},
        {"every_algorithm_is_in_the_tour", every_algorithm_is_in_the_tour},
        {"every_collective_has_an_example", every_collective_has_an_example},
        {"wrong_results_are_counted", wrong_results_are_counted},
        {"wrong_operations_are_refused", wrong_operations_are_refused},
        {"the_demo_is_one_screen", the_demo_is_one_screen},
    };
    return suite_run("demo", cases, sizeof cases / sizeof cases[0]);
}
