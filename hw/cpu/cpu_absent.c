/* What there is where the build has no POSIX threads: no cpu backend, no caches, no distances. */
#include "ronde/caches.h"
#include "ronde/distance.h"
#include "ronde/hw.h"

#include <string.h>

/* The cpu backend of a build without POSIX threads: it probes to UNAVAILABLE, so nothing else is ever reached. */

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

/* Caches in a build without POSIX threads, which it takes to measure them. */

enum ronde_status ronde_caches_measure(const struct ronde_mem *mem, struct ronde_distance *distance,
                                       struct ronde_cache_facts *out_facts,
                                       struct ronde_error *error)
{
    (void)mem;
    (void)distance;
    *out_facts = (struct ronde_cache_facts){.poll_ns = 0};
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "caches: built without POSIX threads (-DRONDE_CPU=ON, package libc6-dev)");
}

/* Distances in a build without POSIX threads: none is known, and everything holds. */

enum ronde_status ronde_distance_open(const struct ronde_mem *mem,
                                      struct ronde_distance **out_distance,
                                      struct ronde_error *error)
{
    (void)mem;
    *out_distance = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "distances: built without POSIX threads (-DRONDE_CPU=ON, package libc6-dev)");
}

void ronde_distance_close(struct ronde_distance *distance)
{
    (void)distance;
}

double ronde_distance_ns(struct ronde_distance *distance)
{
    (void)distance;
    return 0;
}

double ronde_distance_usual_ns(struct ronde_distance *distance)
{
    (void)distance;
    return 0;
}

bool ronde_distance_is_alike(double left_ns, double right_ns)
{
    (void)left_ns;
    (void)right_ns;
    return true;
}

void ronde_distance_keep(struct ronde_distance *distance, double line_ns, double patience_ns)
{
    (void)distance;
    (void)line_ns;
    (void)patience_ns;
}

void ronde_distance_await(struct ronde_distance *distance)
{
    (void)distance;
}

bool ronde_distance_held(struct ronde_distance *distance)
{
    (void)distance;
    return true;
}

uint32_t ronde_distance_missed(const struct ronde_distance *distance)
{
    (void)distance;
    return 0;
}
