/*
 * What may be left out where a communicator is made, and the order in which it and its programs may go.
 */
#include "support/suite.h"

#include "ronde/comm.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A communicator of this process alone. */
static struct ronde_comm *join_alone(const struct ronde_comm_options *options)
{
    char token[32];
    struct ronde_comm *comm = NULL;
    struct ronde_error error = {0};
    snprintf(token, sizeof token, "defaults-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    CU_ASSERT_EQUAL_FATAL(ronde_comm_join(&join, options, NULL, &comm, &error), RONDE_OK);
    return comm;
}

static struct ronde_schedule *compile_alone(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .ranks = 1,
                                                  .algorithm = "ring"};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, NULL, NULL, &schedule, &error), RONDE_OK);
    return schedule;
}

static void run_alone(struct ronde_comm_program *program)
{
    float in[3] = {1, 2, 3}, out[3] = {0, 0, 0};
    void *ins[1] = {in}, *outs[1] = {out};
    const struct ronde_launch launch = {
        .count = 3, .dtype = RONDE_FLOAT32, .op = RONDE_SUM, .in = ins, .out = outs};
    struct ronde_result result;
    CU_ASSERT_EQUAL(ronde_comm_run(program, &launch, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_comm_wait(program, &result, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(memcmp(in, out, sizeof in), 0);
}

static void without_options_and_allocator_there_are_defaults(void)
{
    struct ronde_comm *comm = join_alone(NULL);
    struct ronde_schedule *schedule = compile_alone();
    struct ronde_comm_program *program = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_comm_load(comm, schedule, NULL, &program, NULL), RONDE_OK);
    run_alone(program);
    /* Its allocator is one that can be used. */
    void *block = ronde_mem_new(ronde_comm_mem(comm), 4096, 1);
    CU_ASSERT_PTR_NOT_NULL(block);
    ronde_mem_free(ronde_comm_mem(comm), block, 4096, 1);
    ronde_comm_unload(program);
    ronde_comm_destroy(comm);
    ronde_schedule_destroy(schedule);
}

static enum ronde_status gather_alone(void *self, const void *mine, size_t bytes, void *out_all,
                                      struct ronde_error *error)
{
    (void)self;
    (void)error;
    memcpy(out_all, mine, bytes);
    return RONDE_OK;
}

static void a_callback_needs_neither_too(void)
{
    const struct ronde_bootstrap bootstrap = {.ranks = 1, .allgather = gather_alone};
    const struct ronde_launcher launcher = {.ranks = 1};
    struct ronde_comm *comm = NULL;
    CU_ASSERT_EQUAL(ronde_comm_create(&bootstrap, NULL, NULL, &comm, NULL), RONDE_OK);
    ronde_comm_destroy(comm);
    CU_ASSERT_EQUAL(ronde_comm_launch(&launcher, NULL, NULL, &comm, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_comm_ranks(comm), 1);
    ronde_comm_destroy(comm);
}

static void programs_may_be_unloaded_after_their_communicator(void)
{
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    struct ronde_comm *comm = join_alone(&options);
    struct ronde_schedule *schedule = compile_alone();
    struct ronde_comm_program *programs[3] = {NULL, NULL, NULL};
    for (int p = 0; p < 3; p++) {
        CU_ASSERT_EQUAL_FATAL(ronde_comm_load(comm, schedule, NULL, &programs[p], NULL), RONDE_OK);
        run_alone(programs[p]);
    }
    ronde_comm_unload(programs[1]);
    run_alone(programs[2]);
    ronde_comm_destroy(comm);
    ronde_comm_unload(programs[2]);
    ronde_comm_unload(programs[0]);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"without_options_and_allocator_there_are_defaults",
         without_options_and_allocator_there_are_defaults},
        {"a_callback_needs_neither_too", a_callback_needs_neither_too},
        {"programs_may_be_unloaded_after_their_communicator",
         programs_may_be_unloaded_after_their_communicator},
    };
    return suite_run("defaults", cases, sizeof cases / sizeof cases[0]);
}
