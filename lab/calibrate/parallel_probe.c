/*
 * Several probes at once, a thread each: an open backend belongs to one thread, so each opens its
 * own.
 */
#define _POSIX_C_SOURCE 200809L

#include "parallel_probe.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* What the members wait for. */
enum gate {
    GATE_CLOSED,   /* somebody is not ready yet */
    GATE_OPEN,     /* all begin to measure */
    GATE_CANCELLED /* a thread is missing, so nobody measures */
};

/* What the members share. */
struct start {
    int gate;       /* atomic: enum gate */
    uint32_t ready; /* atomic: members that wait at the gate */
};

/* One member and its thread. */
struct member {
    const struct ronde_parallel_probe *probe;
    const struct ronde_effort *effort;
    struct start *start;
    pthread_t thread;
    struct ronde_target target;
    struct ronde_benchmark benchmark;
    struct ronde_memory memory;
    struct ronde_stats stats;
    struct ronde_error error;
};

/* A target whose ranks share so many cores. */
static enum ronde_status open_narrow(struct member *member)
{
    const struct ronde_parallel_probe *probe = member->probe;
    struct ronde_target *target = &member->target;
    enum ronde_status status = ronde_target_open_modelled(probe->backend, target, &member->error);
    if (status != RONDE_OK || probe->cores_each == 0 || probe->cores_each >= target->machine.cores)
        return status;
    target->backend->close(target->self);
    target->machine.cores = probe->cores_each;
    status =
        target->backend->open(&target->machine, ronde_mem_default(), &target->self, &member->error);
    if (status != RONDE_OK)
        target->backend = NULL;
    return status;
}

/* Everything slow happens before the start: opening, loading, touching all pages. */
static enum ronde_status prepare(struct member *member)
{
    const struct ronde_parallel_probe *probe = member->probe;
    enum ronde_status status = open_narrow(member);
    if (status == RONDE_OK)
        status = ronde_benchmark_open(&member->target, probe->schedule, probe->options,
                                      &member->benchmark, &member->error);
    if (status != RONDE_OK)
        return status;
    member->benchmark.shape.count = probe->count;
    status = ronde_memory_create(&member->benchmark.shape, &member->memory, &member->error);
    if (status != RONDE_OK)
        return status;
    ronde_benchmark_aim(&member->benchmark, &member->memory, probe->count, probe->in_place);
    ronde_memory_fill(&member->memory, &member->benchmark.shape, RONDE_PATTERN_ANY);
    return RONDE_OK;
}

/*
 * Waits at the gate; whether it opened. A start is short, so waiting may cost turns of the
 * scheduler.
 */
static bool await_start(struct start *start)
{
    int gate = GATE_CLOSED;
    __atomic_fetch_add(&start->ready, 1, __ATOMIC_ACQ_REL);
    while ((gate = __atomic_load_n(&start->gate, __ATOMIC_ACQUIRE)) == GATE_CLOSED)
        sched_yield();
    return gate == GATE_OPEN;
}

static void *live(void *self)
{
    struct member *member = self;
    /* Everybody comes to the start, also those who cannot run: the others wait for them. */
    const bool is_ready = prepare(member) == RONDE_OK;
    if (await_start(member->start) && is_ready)
        (void)!ronde_benchmarks_measure(&member->benchmark, 1, member->effort, &member->stats,
                                        &member->error);
    ronde_benchmark_close(&member->benchmark);
    ronde_memory_destroy(&member->memory);
    ronde_target_close(&member->target);
    return NULL;
}

/* For the member in the middle. */
static int by_median(const void *left, const void *right)
{
    const double a = ((const struct member *)left)->stats.median;
    const double b = ((const struct member *)right)->stats.median;
    return (a > b) - (a < b);
}

static enum ronde_status run_members(struct member *members, uint32_t count,
                                     struct ronde_error *error)
{
    struct start start = {GATE_CLOSED, 0};
    uint32_t started = 0;
    for (uint32_t i = 0; i < count; i++)
        members[i].start = &start;
    while (started < count &&
           pthread_create(&members[started].thread, NULL, live, &members[started]) == 0)
        started++;
    while (__atomic_load_n(&start.ready, __ATOMIC_ACQUIRE) < started)
        sched_yield();
    __atomic_store_n(&start.gate, started == count ? GATE_OPEN : GATE_CANCELLED, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(members[i].thread, NULL);
    return started == count ? RONDE_OK
                            : ronde_fail(error, RONDE_DEVICE, "the system refuses thread %u of %u",
                                         started + 1, count);
}

enum ronde_status ronde_parallel_probe_measure(const struct ronde_parallel_probe *probe,
                                               const struct ronde_effort *effort,
                                               struct ronde_stats *out_stats,
                                               struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct member *members = ronde_mem_new(mem, probe->members, sizeof *members);
    if (!members)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u probes", probe->members);
    for (uint32_t i = 0; i < probe->members; i++) {
        members[i].probe = probe;
        members[i].effort = effort;
    }
    enum ronde_status status = run_members(members, probe->members, error);
    for (uint32_t i = 0; status == RONDE_OK && i < probe->members; i++)
        if (members[i].error.status != RONDE_OK)
            status = ronde_fail(error, members[i].error.status, "%s", members[i].error.message);
    if (status == RONDE_OK) {
        qsort(members, probe->members, sizeof members[0], by_median);
        *out_stats = members[probe->members / 2].stats;
    }
    ronde_mem_free(mem, members, probe->members, sizeof *members);
    return status;
}
