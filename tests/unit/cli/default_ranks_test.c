/*
 * How many ranks there are where -N is absent: those of a schedule's file, else a machine's hosts, else two.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "cli/options/requests.h"

#include "ronde/topologies.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void nothing_given_is_two(void)
{
    struct ronde_options options = {.argument_count = 0};
    struct ronde_error error = {0};
    uint32_t ranks = 0;
    CU_ASSERT_EQUAL(ronde_default_ranks(&options, NULL, &ranks, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ranks, 2);
    options.arguments[0] = "all_reduce";
    options.argument_count = 1;
    CU_ASSERT_EQUAL(ronde_default_ranks(&options, NULL, &ranks, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ranks, 2);
}

static void a_schedule_has_its_own(void)
{
    static const struct {
        const char *file;
        uint32_t ranks;
    } rows[] = {{"tests/golden/all_reduce-ring-4.ronde", 4},
                {"tests/golden/barrier-tree-4.ronde", 4},
                {"tests/data/schedules/relay-gather.ronde", 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[4096];
        uint32_t ranks = 0;
        struct ronde_error error = {0};
        CU_ASSERT_FATAL(suite_source(path, sizeof path, rows[i].file));
        /* What the machine has is not asked: a schedule is for so many and no others. */
        const struct ronde_options options = {.arguments = {path},
                                              .argument_count = 1,
                                              .machine.topo = "no-such-machine.xml"};
        CU_ASSERT_EQUAL(ronde_default_ranks(&options, NULL, &ranks, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ranks, rows[i].ranks);
    }
}

static void a_machine_has_its_hosts(void)
{
    static const struct {
        const char *name;
        uint32_t hosts;
    } rows[] = {{"crossbar-64", 64}, {"torus-8x8x8", 512}, {"ethernet-16", 16}, {"dgx-h100", 8}};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_options options = {.arguments = {"all_reduce"},
                                              .argument_count = 1,
                                              .machine.topo = rows[i].name};
        struct ronde_error error = {0};
        uint32_t ranks = 0;
        CU_ASSERT_EQUAL(ronde_default_ranks(&options, NULL, &ranks, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ranks, rows[i].hosts);
    }
}

/* Files that are not there or not schedules, and machines of no such name: the error names them. */
static void what_cannot_be_read_is_named(void)
{
    char broken[400];
    uint32_t ranks = 0;
    const char *reason = NULL;
    const bool reads_machines = ronde_topologies_available(&reason);
    snprintf(broken, sizeof broken, "%s/default-ranks-%d.ronde", RONDE_SCRATCH_DIR, (int)getpid());
    CU_ASSERT_TRUE(files_write(broken, "ronde 1\ncollective all_reduce\nranks zero\n"));
    const struct {
        const char *file;
        const char *topo;
        enum ronde_status status;
        const char *text;
    } rows[] = {{"/no/such/file.ronde", NULL, RONDE_IO, "/no/such/file.ronde"},
                {broken, NULL, RONDE_BAD_INPUT, ":3"},
                {NULL, "crossbar-65", reads_machines ? RONDE_BAD_ARGUMENT : RONDE_UNAVAILABLE,
                 reads_machines ? "crossbar-64" : reason}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_options options = {.arguments = {rows[i].file},
                                        .argument_count = rows[i].file ? 1 : 0,
                                        .machine.topo = rows[i].topo};
        struct ronde_error error = {0};
        const enum ronde_status status = ronde_default_ranks(&options, NULL, &ranks, &error);
        CU_ASSERT_EQUAL(status, rows[i].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].text));
        if (status != rows[i].status || !strstr(error.message, rows[i].text))
            suite_note("row %zu: %s: %s", i, ronde_status_text(status), error.message);
    }
    CU_ASSERT_EQUAL(remove(broken), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"nothing_given_is_two", nothing_given_is_two},
        {"a_schedule_has_its_own", a_schedule_has_its_own},
        {"a_machine_has_its_hosts", a_machine_has_its_hosts},
        {"what_cannot_be_read_is_named", what_cannot_be_read_is_named},
    };
    return suite_run("default_ranks", cases, sizeof cases / sizeof cases[0]);
}
