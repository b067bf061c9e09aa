/*
 * The registry of executors: rows are complete and of one kind, documents have them all, and null does what its comments
 * say.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_row_is_found_by_its_name(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    CU_ASSERT_STRING_EQUAL(executors[0].name, "host");
    for (uint32_t e = 0; e < count; e++)
        CU_ASSERT_PTR_EQUAL(ronde_executor_find(executors[e].name), &executors[e]);
    CU_ASSERT_PTR_NULL(ronde_executor_find("abacus"));
    CU_ASSERT_PTR_NULL(ronde_executor_find(""));
}

/* NULL is allowed in no slot. */
static void check_slots(const struct ronde_backend *backend)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
    CU_ASSERT(backend->name && backend->probe && backend->open && backend->supports);
    CU_ASSERT(backend->load && backend->run && backend->test && backend->wait);
    CU_ASSERT(backend->abort && backend->unload && backend->close);
}

static void every_row_is_complete(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        const struct ronde_executor *row = &executors[e];
        const bool is_of_processes = row->ranks == RONDE_RANKS_PROCESSES;
        check_slots(row->backend);
        CU_ASSERT(row->summary && row->summary[0]);
        CU_ASSERT_STRING_EQUAL(row->name, is_of_processes ? ronde_transport_text(row->transport)
                                                          : row->backend->name);
        CU_ASSERT_EQUAL(row->transport != RONDE_TRANSPORT_AUTO, is_of_processes);
        CU_ASSERT_EQUAL(row->job_transport != RONDE_TRANSPORT_AUTO, is_of_processes);
        CU_ASSERT(!row->spans_hosts || is_of_processes);
    }
}

static void every_transport_has_a_row(void)
{
    for (unsigned t = RONDE_TRANSPORT_AUTO + 1; t < RONDE_TRANSPORT_COUNT; t++) {
        const struct ronde_executor *row =
            ronde_executor_find(ronde_transport_text((enum ronde_transport)t));
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_EQUAL(row->transport, t);
    }
}

/* What is absent says so with a reason, and what is here describes itself. */
static void probes_answer_with_a_description_or_a_reason(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        struct ronde_machine machine;
        struct ronde_error why_not = {0};
        const bool is_here = ronde_executor_probe(&executors[e], &machine, &why_not) == RONDE_OK;
        if (is_here) {
            CU_ASSERT(machine.description[0] != '\0' && machine.max_ranks > 0);
        } else {
            CU_ASSERT(why_not.status == RONDE_UNAVAILABLE && why_not.message[0] != '\0');
        }
    }
}

static void names_are_cut_where_they_do_not_fit(void)
{
    char text[64];
    ronde_executor_names(false, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "host, cpu, cuda, null");
    ronde_executor_names(true, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "proc, ucx, hybrid");
    ronde_executor_names(true, text, 8);
    CU_ASSERT_STRING_EQUAL(text, "proc, u");
    CU_ASSERT_STRING_EQUAL(ronde_ranks_text(RONDE_RANKS_PROCESSES), "processes");
    CU_ASSERT_STRING_EQUAL(ronde_ranks_text(RONDE_RANKS_COUNT), "?");
}

/* A row of the table in hw/README.md. */
static void write_row(const struct ronde_executor *row, char *text, size_t bytes)
{
    snprintf(text, bytes, "| `%s` | %s | %s%s%s | %s |\n", row->name, ronde_ranks_text(row->ranks),
             row->moves_data ? "moves data" : "moves none",
             row->has_clock ? ", tells the time" : ", has no clock",
             row->spans_hosts ? ", several machines" : "", row->summary);
}

static void the_readme_has_every_row_and_no_other(void)
{
    char path[4096];
    char expected[4096] = "| name | ranks are | can | what it is |\n|---|---|---|---|\n";
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    if (!suite_source(path, sizeof path, "hw/README.md"))
        return;
    char *readme = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(readme);
    for (uint32_t e = 0; e < count; e++) {
        const size_t used = strlen(expected);
        write_row(&executors[e], expected + used, sizeof expected - used);
    }
    const char *table = strstr(readme, expected);
    CU_ASSERT_PTR_NOT_NULL(table);
    /* The table ends with it. */
    CU_ASSERT(table && table[strlen(expected)] == '\n');
    if (!table)
        suite_note("hw/README.md should have:\n%s", expected);
    free(readme);
}

/* A loaded all_reduce of two ranks on null. */
struct scene {
    const struct ronde_backend *backend;
    struct ronde_schedule *schedule;
    void *self;
    void *program;
    int32_t in[2];
    int32_t out[2];
    void *ins[2];
    void *outs[2];
    struct ronde_launch launch;
};

static void open_scene(struct scene *scene)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 2};
    struct ronde_machine machine;
    *scene = (struct scene){.backend = &ronde_backend_null, .in = {3, 4}, .out = {7, 7}};
    for (int rank = 0; rank < 2; rank++) {
        scene->ins[rank] = &scene->in[rank];
        scene->outs[rank] = &scene->out[rank];
    }
    scene->launch = (struct ronde_launch){
        .count = 1, .dtype = RONDE_INT32, .op = RONDE_SUM, .in = scene->ins, .out = scene->outs};
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &scene->schedule, NULL) ==
                    RONDE_OK);
    CU_ASSERT_FATAL(scene->backend->probe(&machine, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(scene->backend->open(&machine, ronde_mem_default(), &scene->self, NULL) ==
                    RONDE_OK);
    CU_ASSERT_FATAL(scene->backend->load(scene->self, scene->schedule, &scene->program, NULL) ==
                    RONDE_OK);
}

static void close_scene(struct scene *scene)
{
    scene->backend->unload(scene->program);
    scene->backend->close(scene->self);
    ronde_schedule_destroy(scene->schedule);
}

static void null_ends_a_run_and_leaves_memory_as_it_was(void)
{
    struct scene scene;
    struct ronde_result result = {0};
    struct ronde_error error = {0};
    bool is_done = false;
    void *run = NULL;
    open_scene(&scene);
    for (int turn = 0; turn < 3; turn++) {
        CU_ASSERT_FATAL(scene.backend->run(scene.program, &scene.launch, &run, NULL) == RONDE_OK);
        CU_ASSERT_EQUAL(scene.backend->run(scene.program, &scene.launch, &run, &error),
                        RONDE_BAD_ARGUMENT);
        run = scene.program;
        CU_ASSERT_EQUAL(scene.backend->test(run, &is_done, NULL), RONDE_OK);
        CU_ASSERT(is_done);
        CU_ASSERT_EQUAL(scene.backend->wait(run, &result, NULL), RONDE_OK);
        CU_ASSERT(!result.is_virtual && result.elapsed_ns >= 0);
    }
    CU_ASSERT(scene.out[0] == 7 && scene.out[1] == 7 && scene.in[0] == 3 && scene.in[1] == 4);
    close_scene(&scene);
}

static void null_refuses_what_all_refuse(void)
{
    struct scene scene;
    struct ronde_error error = {0};
    void *run = NULL;
    open_scene(&scene);
    scene.launch.slot_bytes = 8;
    CU_ASSERT_EQUAL(scene.backend->run(scene.program, &scene.launch, &run, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NULL(run);
    CU_ASSERT(error.message[0] != '\0');
    close_scene(&scene);
}

static void an_aborted_run_of_null_tells_so(void)
{
    struct scene scene;
    struct ronde_result result;
    struct ronde_error error = {0};
    void *run = NULL;
    open_scene(&scene);
    CU_ASSERT_FATAL(scene.backend->run(scene.program, &scene.launch, &run, NULL) == RONDE_OK);
    scene.backend->abort(run);
    CU_ASSERT_EQUAL(scene.backend->wait(run, &result, &error), RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(error.message, "the run was aborted");
    CU_ASSERT_FATAL(scene.backend->run(scene.program, &scene.launch, &run, NULL) == RONDE_OK);
    CU_ASSERT_EQUAL(scene.backend->wait(run, &result, NULL), RONDE_OK);
    close_scene(&scene);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_row_is_found_by_its_name", every_row_is_found_by_its_name},
        {"every_row_is_complete", every_row_is_complete},
        {"every_transport_has_a_row", every_transport_has_a_row},
        {"probes_answer_with_a_description_or_a_reason",
         probes_answer_with_a_description_or_a_reason},
        {"names_are_cut_where_they_do_not_fit", names_are_cut_where_they_do_not_fit},
        {"the_readme_has_every_row_and_no_other", the_readme_has_every_row_and_no_other},
        {"null_ends_a_run_and_leaves_memory_as_it_was", null_ends_a_run_and_leaves_memory_as_it_was},
        {"null_refuses_what_all_refuse", null_refuses_what_all_refuse},
        {"an_aborted_run_of_null_tells_so", an_aborted_run_of_null_tells_so},
    };
    return suite_run("executors", cases, sizeof cases / sizeof cases[0]);
}
