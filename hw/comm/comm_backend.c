/* A communicator as a backend. See comm_parts.h. */
#include "hw/comm/comm_parts.h"

#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>

static enum ronde_status comm_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    (void)why_not;
    memset(out_machine, 0, sizeof *out_machine);
    out_machine->cores = ronde_usable_cores();
    out_machine->max_ranks = RONDE_MAX_RANKS;
    snprintf(out_machine->description, sizeof out_machine->description,
             "ranks are processes, this one on %u core%s", out_machine->cores,
             out_machine->cores == 1 ? "" : "s");
    return RONDE_OK;
}

static enum ronde_status comm_open(const struct ronde_machine *machine, const struct ronde_mem *mem,
                                   void **out_self, struct ronde_error *error)
{
    (void)machine;
    (void)mem;
    *out_self = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "processes need a communicator: ronde_comm_create or ronde_comm_join");
}

static enum ronde_status comm_supports(void *self, const struct ronde_schedule *schedule,
                                       const struct ronde_launch *launch,
                                       struct ronde_error *why_not)
{
    const struct ronde_comm *comm = self;
    struct ronde_habits unused = {0};
    RONDE_TRY(ronde_launch_check_rank(schedule, launch, comm->rank, why_not));
    return ronde_comm_check_protocol(comm, schedule, launch, &unused, why_not);
}

static enum ronde_status comm_load(void *self, const struct ronde_schedule *schedule,
                                   void **out_program, struct ronde_error *error)
{
    struct ronde_comm_program *program = NULL;
    const enum ronde_status status = ronde_comm_load(self, schedule, NULL, &program, error);
    *out_program = program;
    return status;
}

/* A program has one run, so the program is the run. */
static enum ronde_status comm_run(void *program, const struct ronde_launch *launch, void **out_run,
                                  struct ronde_error *error)
{
    const enum ronde_status status = ronde_comm_run(program, launch, error);
    *out_run = status == RONDE_OK ? program : NULL;
    return status;
}

static enum ronde_status comm_test(void *run, bool *out_done, struct ronde_error *error)
{
    return ronde_comm_test(run, out_done, error);
}

static enum ronde_status comm_wait(void *run, struct ronde_result *out_result,
                                   struct ronde_error *error)
{
    return ronde_comm_wait(run, out_result, error);
}

static void comm_abort(void *run)
{
    const struct ronde_comm_program *program = run;
    ronde_comm_abort(program->comm);
}

static void comm_unload(void *program)
{
    ronde_comm_unload(program);
}

static void comm_close(void *self)
{
    ronde_comm_destroy(self);
}

const struct ronde_backend ronde_backend_comm = {
    .name = "comm",
    .probe = comm_probe,
    .open = comm_open,
    .supports = comm_supports,
    .load = comm_load,
    .run = comm_run,
    .test = comm_test,
    .wait = comm_wait,
    .abort = comm_abort,
    .unload = comm_unload,
    .close = comm_close,
};
