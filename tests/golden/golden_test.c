/**
 * A golden text per algorithm for 4 ranks: what the algorithm does, in a form that a reviewer of a change reads.
 * RONDE_UPDATE_GOLDEN=1 in the environment rewrites them.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of every golden schedule: the smallest number with inner nodes, leaves and a way round. */
#define RANKS 4u

static bool golden_path(char *path, size_t bytes, const struct ronde_algorithm *algorithm)
{
    char relative[128];
    snprintf(relative, sizeof relative, "tests/golden/%s-%s-%u.ronde",
             ronde_collective_text(algorithm->collective), algorithm->name, RANKS);
    return suite_source(path, bytes, relative);
}

static struct ronde_schedule *compile(const struct ronde_algorithm *algorithm)
{
    const struct ronde_request request = {.collective = algorithm->collective,
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
    char path[512];
    if (!golden_path(path, sizeof path, algorithm))
        return;
    if (getenv("RONDE_UPDATE_GOLDEN")) {
        CU_ASSERT_TRUE(files_write(path, text));
        suite_note("wrote %s", path);
        return;
    }
    char *golden = files_read(path);
    if (!golden || strcmp(golden, text) != 0)
        suite_note("%s differs; RONDE_UPDATE_GOLDEN=1 rewrites it", path);
    CU_ASSERT_PTR_NOT_NULL(golden);
    CU_ASSERT_TRUE(golden && strcmp(golden, text) == 0);
    free(golden);
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
    const struct ronde_algorithm *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_schedule *schedule = compile(&algorithms[i]);
        char *text = NULL;
        size_t bytes = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes,
                                                   NULL),
                              RONDE_OK);
        CU_ASSERT_EQUAL(strlen(text), bytes);
        compare_with_golden(&algorithms[i], text);
        compare_with_reading(schedule, text, bytes);
        ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
        ronde_schedule_destroy(schedule);
    }
}

/* Whether some algorithm has this golden file. */
static void find_owner(const char *path, void *context)
{
    uint32_t count = 0;
    const struct ronde_algorithm *algorithms = ronde_algorithms(&count);
    bool is_owned = false;
    (void)context;
    for (uint32_t i = 0; i < count && !is_owned; i++) {
        char expected[512];
        is_owned =
            golden_path(expected, sizeof expected, &algorithms[i]) && strcmp(expected, path) == 0;
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

int main(void)
{
    static const struct suite_case cases[] = {
        {"algorithms_print_what_they_printed", algorithms_print_what_they_printed},
        {"golden_files_have_an_algorithm", golden_files_have_an_algorithm},
    };
    return suite_run("golden", cases, sizeof cases / sizeof cases[0]);
}
