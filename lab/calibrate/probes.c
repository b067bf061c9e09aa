/* Point-to-point schedules, as small broadcasts and reductions between two ranks. */
#define _POSIX_C_SOURCE 200809L

#include "probes.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* A chunk goes from one rank's buffer into another's output. */
static void send(struct ronde_builder *builder, uint32_t from, uint32_t to,
                 enum ronde_buffer source, uint32_t chunk)
{
    const struct ronde_transfer transfer = {
        .from = from,
        .to = to,
        .source = ronde_chunks(source, chunk, 1),
        .target = ronde_chunks(RONDE_OUT, chunk, 1),
    };
    ronde_builder_transfer(builder, &transfer);
}

/*
 * 0 -> 1 -> 0 -> 1 ...: everyone passes on what has just arrived, so only the first sender reads
 * its input.
 */
static void build_ping_pong(struct ronde_builder *builder, uint32_t length)
{
    for (uint32_t hop = 0; hop < length; hop++)
        send(builder, hop % 2, 1 - hop % 2, hop == 0 ? RONDE_IN : RONDE_OUT, 0);
}

/* Rank 1 has the message at the end, and tells those that wait. */
static void build_waiting(struct ronde_builder *builder, uint32_t ranks, uint32_t length)
{
    build_ping_pong(builder, length);
    for (uint32_t rank = 2; rank < ranks; rank++)
        send(builder, 1, rank, RONDE_OUT, 0);
}

static void build_messages(struct ronde_builder *builder, uint32_t length)
{
    ronde_builder_chunks(builder, length);
    for (uint32_t chunk = 0; chunk < length; chunk++)
        send(builder, 0, 1, RONDE_IN, chunk);
    /* The root's own output. In place it costs one step and moves nothing. */
    ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, length),
                       ronde_chunks(RONDE_OUT, 0, length));
}

/* No copy on either side: what arrives is combined straight into the output. */
static void build_reduce(struct ronde_builder *builder)
{
    const struct ronde_transfer transfer = {
        .from = 1,
        .to = 0,
        .source = ronde_chunks(RONDE_IN, 0, 1),
        .with = ronde_chunks(RONDE_IN, 0, 1),
        .target = ronde_chunks(RONDE_OUT, 0, 1),
        .reduces = true,
    };
    ronde_builder_transfer(builder, &transfer);
}

/* Each rank's block goes to the other, and neither way waits for the other. In place the own copies move nothing. */
static void build_exchange(struct ronde_builder *builder)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct ronde_transfer transfer = {
            .from = rank,
            .to = 1 - rank,
            .to_lane = 1,
            .source = ronde_chunks(RONDE_IN, 0, 1),
            .target = ronde_chunks(RONDE_OUT, rank, 1),
        };
        ronde_builder_transfer(builder, &transfer);
        ronde_builder_copy(builder, rank, 2, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, rank, 1));
    }
}

/* Two messages in each pair: a rank that sends one waits for the other before it goes on. After an odd length they are swapped. */
static void build_pairs(struct ronde_builder *builder, uint32_t ranks, uint32_t length)
{
    for (uint32_t hop = 0; hop < length; hop++) {
        ronde_builder_round_begin(builder);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            const struct ronde_transfer transfer = {
                .from = rank,
                .to = rank ^ 1u,
                .source = ronde_chunks(hop == 0 ? RONDE_IN : RONDE_OUT, 0, 1),
                .target = ronde_chunks(RONDE_OUT, 0, 1),
            };
            ronde_builder_transfer(builder, &transfer);
        }
        ronde_builder_round_end(builder);
    }
}

static void build(struct ronde_builder *builder, enum ronde_probe probe, uint32_t ranks,
                  uint32_t length)
{
    switch (probe) {
    case RONDE_PROBE_LAUNCH:
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        break;
    case RONDE_PROBE_PING_PONG:
        build_ping_pong(builder, length);
        break;
    case RONDE_PROBE_MESSAGES:
        build_messages(builder, length);
        break;
    case RONDE_PROBE_STREAM:
        build_messages(builder, 1);
        break;
    case RONDE_PROBE_REDUCE:
        build_reduce(builder);
        break;
    case RONDE_PROBE_EXCHANGE:
        build_exchange(builder);
        break;
    case RONDE_PROBE_PAIRS:
        build_pairs(builder, ranks, length);
        break;
    case RONDE_PROBE_WAITING:
        build_waiting(builder, ranks, length);
        break;
    }
}

static enum ronde_status check_ranks(enum ronde_probe probe, uint32_t ranks, uint32_t length,
                                     struct ronde_error *error)
{
    const bool is_too_many = ranks > RONDE_PROBE_RANKS;
    if (probe == RONDE_PROBE_PAIRS && (ranks < 2 || is_too_many || ranks % 2 != 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "pairs of %u ranks; an even number up to %u",
                          ranks, RONDE_PROBE_RANKS);
    if (probe == RONDE_PROBE_WAITING && (ranks < 3 || is_too_many || length % 2 == 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u ranks, some of them waiting for %u hops; 3 to %u ranks and an odd "
                          "number of hops",
                          ranks, length, RONDE_PROBE_RANKS);
    return RONDE_OK;
}

enum ronde_status ronde_probe_make(enum ronde_probe probe, uint32_t ranks, uint32_t length,
                                   uint32_t channels, struct ronde_schedule **out_schedule,
                                   struct ronde_error *error)
{
    static const char *const names[] = {"launch", "ping_pong", "messages", "stream",
                                        "reduce", "exchange",  "pairs",    "waiting"};
    const bool is_of_pairs = probe == RONDE_PROBE_PAIRS;
    uint32_t source_of[RONDE_PROBE_RANKS];
    struct ronde_builder *builder = NULL;
    const struct ronde_compile_request request = {
        .collective = is_of_pairs                     ? RONDE_SEND_RECV
                      : probe == RONDE_PROBE_REDUCE   ? RONDE_REDUCE
                      : probe == RONDE_PROBE_EXCHANGE ? RONDE_ALL_GATHER
                                                      : RONDE_BROADCAST,
        .algorithm = names[probe],
        .ranks = ranks,
        .channels = is_of_pairs || probe == RONDE_PROBE_WAITING ? 1 : channels,
        .source_of = is_of_pairs ? source_of : NULL,
    };
    enum ronde_status status = check_ranks(probe, ranks, length, error);
    for (uint32_t rank = 0; rank < RONDE_PROBE_RANKS; rank++)
        source_of[rank] = rank ^ 1u;
    RONDE_THEN(status, ronde_builder_create(&request, ronde_mem_default(), &builder, error));
    if (status != RONDE_OK)
        return status;
    build(builder, probe, ranks, length);
    return ronde_schedule_finish(builder, NULL, out_schedule, error);
}

/* Several probes at once, a thread each: an open backend belongs to one thread, so each opens its own. */

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
    RONDE_TRY(open_narrow(member));
    RONDE_TRY(ronde_benchmark_open(&member->target, probe->schedule, probe->options,
                                   &member->benchmark, &member->error));
    member->benchmark.shape.count = probe->count;
    RONDE_TRY(ronde_memory_create(&member->benchmark.shape, &member->memory, &member->error));
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

/* A hop of a ping-pong between two cores, as sim/machines/cores.c replays it: the message is fetched from one slot
 * and written into another. That was last read twice as many messages ago as there are slots, as each side fills
 * slots of its own in between. Writing is not timed by itself: a core goes on while its stores wait for their
 * lines, and how much of that it notices depends on what else it has to do. Messages of 512 B to 4 KiB that were
 * written while nothing else happened seemed to take next to nothing, and two thirds of what they take in a hop. */

#define LEAST_NS_PER_BYTE 1e-3

static double cost_ns(const struct ronde_curve *curve, double at, double bytes)
{
    return bytes / ronde_curve_GBps(curve, at, INFINITY);
}

double ronde_crossing_write_ns(const struct ronde_cache_facts *facts, double bytes, double beyond_ns)
{
    const double line = facts->cross_copy.bytes[0];
    const double fetch_ns = cost_ns(&facts->cross_copy, bytes, bytes);
    const double line_ns = cost_ns(&facts->cross_copy, line, line);
    const double apart = RONDE_CROSSING_SLOTS * bytes;
    const double later_ns = cost_ns(&facts->remote_write, 2.0 * apart, bytes) -
                            cost_ns(&facts->remote_write, apart, bytes);
    return fmax(beyond_ns - (fetch_ns - line_ns) - later_ns, LEAST_NS_PER_BYTE * bytes);
}
