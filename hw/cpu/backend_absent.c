/* The cpu backend of a build without POSIX threads: it probes to UNAVAILABLE, so nothing else is ever reached. */
#include "ronde/hw.h"

#include <string.h>

static enum ronde_status refuse(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "cpu: built without POSIX threads (-DRONDE_CPU=ON, package libc6-dev)");
}

static enum ronde_status absent_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    memset(out_machine, 0, sizeof *out_machine);
    return refuse(why_not);
}

static enum ronde_status absent_open(const struct ronde_machine *machine,
                                     const struct ronde_mem *mem, void **out_self,
                                     struct ronde_error *error)
{
    (void)machine;
    (void)mem;
    *out_self = NULL;
    return refuse(error);
}

static enum ronde_status absent_supports(void *self, const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         struct ronde_error *why_not)
{
    (void)self;
    (void)schedule;
    (void)launch;
    return refuse(why_not);
}

static enum ronde_status absent_load(void *self, const struct ronde_schedule *schedule,
                                     void **out_program, struct ronde_error *error)
{
    (void)self;
    (void)schedule;
    *out_program = NULL;
    return refuse(error);
}

static enum ronde_status absent_run(void *program, const struct ronde_launch *launch,
                                    void **out_run, struct ronde_error *error)
{
    (void)program;
    (void)launch;
    *out_run = NULL;
    return refuse(error);
}

static enum ronde_status absent_test(void *run, bool *out_done, struct ronde_error *error)
{
    (void)run;
    *out_done = false;
    return refuse(error);
}

static enum ronde_status absent_wait(void *run, struct ronde_result *out_result,
                                     struct ronde_error *error)
{
    (void)run;
    (void)out_result;
    return refuse(error);
}

static void absent_release(void *self)
{
    (void)self;
}

const struct ronde_backend ronde_backend_cpu = {
    .name = "cpu",
    .probe = absent_probe,
    .open = absent_open,
    .supports = absent_supports,
    .load = absent_load,
    .run = absent_run,
    .test = absent_test,
    .wait = absent_wait,
    .abort = absent_release,
    .unload = absent_release,
    .close = absent_release,
};
