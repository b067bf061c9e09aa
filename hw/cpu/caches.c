/*
 * Caches, measured. Two kinds of walk:
 *
 *  - A core walks round and round through so many bytes, piece by piece, and copies each piece into a small buffer, or a
 *    small buffer onto each. All cores do so at once, since in a collective they do.
 *  - A core copies a message into one of a connection's slots, which another core has read before; that one sees a
 *    counter change, and copies the message out or adds to it.
 *  - The same with a ring of more slots, of which the reader stays half behind: then each has touched as many other bytes
 *    since as half of the ring is long, and the data may have left its cache. Where to is not computed: into a cache that
 *    both cores share it is as near as their own, into one that they do not share it is as far as it was. The writer's part
 *    is what a message takes to be seen beyond the shortest message.
 *
 * The kernels are those of the executor: memcpy, and the sum that this processor runs.
 */
#include "ronde/caches.h"

#include "engine/execute/kernels.h"
#include "hw/cpu/thread_pool.h"
#include "hw/streams.h"
#include "ronde/hw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A step of a walk: small enough for the nearest cache beside its counterpart. */
#define PIECE_BYTES ((uint64_t)16 << 10)

/* Walks: the shortest stays in the nearest cache, the longest in none; all cores' together take at most so much. */
#define ALL_BYTES ((uint64_t)256 << 20)
static const uint64_t walk_bytes[RONDE_MAX_CURVE] = {16u << 10,  32u << 10, 48u << 10, 64u << 10,
                                                     256u << 10, 1u << 20,  3u << 19,  2u << 20,
                                                     3u << 20,   4u << 20,  8u << 20,  16u << 20,
                                                     32u << 20,  64u << 20, 96u << 20, 128u << 20};

/* Messages: from a line to a slot. */
#define MESSAGES 13u
#define LINE_BYTES 64u

/* Messages of long rings, and how far the reader of one stays behind, bytes: half of all slots. */
#define LAGGING_BYTES ((uint64_t)64 << 10)
#define LEAST_LAG_BYTES ((uint64_t)128 << 10)
#define LAGS 9u
#define RING_BYTES ((uint64_t)64 << 20)
_Static_assert(2 * (LEAST_LAG_BYTES << (LAGS - 1)) == RING_BYTES, "the longest ring fits");

/* Messages that count, of all that a ring passes. */
#define COUNTED 300u

/* Times of one point, and how long it may take beyond the least of them. */
#define MOST_SAMPLES 2000u
#define LEAST_SAMPLES 4u
#define WINDOW_NS 2e7

/* Each curve is measured so often, whole, and each point is the median: other processes may be running. */
#define ROUNDS 3u

/* Data is timed in amounts of which the clock is no part. */
#define TIMED_BYTES ((uint64_t)1 << 20)

/* Buffers begin at pages, as large ones do anyway. */
#define PAGE_BYTES ((uint64_t)4096)

/* What a walk does with each piece. */
enum kind { READING, WRITING, COMBINING };

/* A block and the page in it that is used. */
struct block {
    unsigned char *start;
    size_t bytes;
    unsigned char *page;
};

/* What a worker has. */
struct bench {
    struct block far;     /* what is walked through; of worker 0 also the slots */
    struct block near[2]; /* counterparts */
    double samples[MOST_SAMPLES];
    uint32_t count;
    unsigned char padding[128]; /* neighbours belong to other threads */
};

/* What both ends of a connection see. */
struct counter {
    uint64_t value;
    double at_ns; /* clock of the worker that changed it */
    unsigned char padding[112];
};

/* All of it. */
struct caches {
    const struct ronde_mem *mem;
    struct ronde_distance *distance; /* or NULL */
    struct ronde_bind bind;
    ronde_combine_kernel add; /* of float32 */
    struct ronde_thread_pool *pool;
    struct bench *benches;
    uint32_t workers;
    bool is_crossing; /* else the workers walk */
    enum kind kind;
    uint64_t bytes;  /* of the walk, or of a message */
    uint32_t slots;  /* of the ring that messages go through */
    uint32_t lag;    /* messages that have been seen, but not taken out */
    uint32_t sender; /* worker 0 or 1; the other takes them out */
    struct counter posted;
    struct counter freed;
};

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of a worker's samples. */
static double median_of(struct bench *bench)
{
    qsort(bench->samples, bench->count, sizeof bench->samples[0], by_value);
    return bench->samples[bench->count / 2];
}

/* One round through a worker's block. */
static void walk(const struct caches *caches, const struct bench *bench)
{
    unsigned char *const far = bench->far.page;
    for (uint64_t at = 0; at < caches->bytes; at += PIECE_BYTES)
        switch (caches->kind) {
        case READING:
            memcpy(bench->near[0].page, far + at, PIECE_BYTES);
            break;
        case WRITING:
            memcpy(far + at, bench->near[0].page, PIECE_BYTES);
            break;
        case COMBINING:
            caches->add(bench->near[1].page, far + at, bench->near[0].page,
                        PIECE_BYTES / sizeof(float));
            break;
        }
}

/* Walks until there are enough samples, ns a byte; the first time round leaves the data where it will be. */
static void walk_on(const struct caches *caches, struct bench *bench)
{
    const uint64_t rounds = caches->bytes < TIMED_BYTES ? TIMED_BYTES / caches->bytes : 1;
    const double end_ns = ronde_clock_ns() + WINDOW_NS;
    walk(caches, bench);
    for (; bench->count < MOST_SAMPLES; bench->count++) {
        const double start_ns = ronde_clock_ns();
        if (start_ns > end_ns && bench->count >= LEAST_SAMPLES)
            break;
        for (uint64_t k = 0; k < rounds; k++)
            walk(caches, bench);
        bench->samples[bench->count] =
            (ronde_clock_ns() - start_ns) / (double)(rounds * caches->bytes);
    }
}

static void await(const struct counter *counter, uint64_t value)
{
    for (uint32_t idle = 1; __atomic_load_n(&counter->value, __ATOMIC_ACQUIRE) < value; idle++)
        ronde_thread_pool_relax(idle);
}

static void advance(struct counter *counter, uint64_t value)
{
    __atomic_store_n(&counter->value, value, __ATOMIC_RELEASE);
}

/* Messages until every slot has been written and read twice. */
static uint32_t uncounted(const struct caches *caches)
{
    return 2 * caches->slots + caches->lag;
}

/* Keeps a sample of a message, unless it is one of the first. */
static void keep_sample(const struct caches *caches, struct bench *bench, uint32_t message,
                        double ns)
{
    if (message >= uncounted(caches))
        bench->samples[bench->count++] = ns;
}

static unsigned char *slot_of(const struct caches *caches, uint32_t message)
{
    return caches->benches[0].far.page + message % caches->slots * caches->bytes;
}

/* Sends messages through the slots; a sample lasts until the other side has seen the message. */
static void send_all(struct caches *caches, struct bench *bench)
{
    const uint64_t first = caches->freed.value;
    for (uint32_t k = 0; k < uncounted(caches) + COUNTED; k++) {
        const double start_ns = ronde_clock_ns();
        memcpy(slot_of(caches, k), bench->near[0].page, caches->bytes);
        advance(&caches->posted, first + k + 1);
        await(&caches->freed, first + k + 1);
        keep_sample(caches, bench, k, caches->freed.at_ns - start_ns);
    }
}

/* Takes them out, or those of before; a sample lasts from when a message was seen until one is there. */
static void take_all(struct caches *caches, struct bench *bench)
{
    const uint64_t first = caches->freed.value;
    for (uint32_t k = 0; k < uncounted(caches) + COUNTED; k++) {
        await(&caches->posted, first + k + 1);
        const double seen_ns = ronde_clock_ns();
        if (k < caches->lag)
            ; /* nothing is old enough yet */
        else if (caches->kind == COMBINING)
            caches->add(bench->near[1].page, slot_of(caches, k - caches->lag), bench->near[0].page,
                        caches->bytes / sizeof(float));
        else
            memcpy(bench->near[0].page, slot_of(caches, k - caches->lag), caches->bytes);
        keep_sample(caches, bench, k, ronde_clock_ns() - seen_ns);
        caches->freed.at_ns = seen_ns;
        advance(&caches->freed, first + k + 1);
    }
}

/* A worker's part. */
static void work(void *self, uint32_t worker)
{
    struct caches *caches = self;
    struct bench *bench = &caches->benches[worker];
    bench->count = 0;
    if (!caches->is_crossing)
        walk_on(caches, bench);
    else if (worker == caches->sender)
        send_all(caches, bench);
    else if (worker < 2)
        take_all(caches, bench);
}

/* A round of all workers, as far from each other as they have to be. */
static void run(struct caches *caches)
{
    do {
        ronde_distance_await(caches->distance);
        ronde_thread_pool_start(caches->pool);
        work(caches, 0);
        for (uint32_t idle = 1; !ronde_thread_pool_is_done(caches->pool); idle++)
            ronde_thread_pool_relax(idle);
    } while (!ronde_distance_held(caches->distance));
}

/* What a clock reading takes: it is in every sample of a message. */
static double clock_ns(void)
{
    const uint32_t readings = 10000;
    const double start_ns = ronde_clock_ns();
    double end_ns = start_ns;
    for (uint32_t k = 0; k < readings; k++)
        end_ns = ronde_clock_ns();
    return (end_ns - start_ns) / readings;
}

/* ns a byte of a walk, the mean of all workers. */
static double walk_cost(struct caches *caches, enum kind kind, uint64_t bytes)
{
    double sum = 0;
    caches->is_crossing = false;
    caches->kind = kind;
    caches->bytes = bytes;
    run(caches);
    for (uint32_t w = 0; w < caches->workers; w++)
        sum += median_of(&caches->benches[w]);
    return sum / caches->workers;
}

static double middle_of(const double costs[ROUNDS])
{
    const double low = fmin(costs[0], costs[1]), high = fmax(costs[0], costs[1]);
    return fmax(low, fmin(high, costs[2]));
}

/* Costs over walks. A copy within the nearest cache is half reading, half writing; what it takes beyond is one of them. */
static void measure_walks(struct caches *caches, enum kind kind, double half,
                          struct ronde_curve *curve)
{
    const uint64_t most = ALL_BYTES / caches->workers;
    double costs[RONDE_MAX_CURVE][ROUNDS];
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t k = 0; k < RONDE_MAX_CURVE && walk_bytes[k] <= most; k++)
            costs[k][round] = walk_cost(caches, kind, walk_bytes[k]);
    for (uint32_t k = 0; k < RONDE_MAX_CURVE && walk_bytes[k] <= most; k++) {
        curve->bytes[k] = (double)walk_bytes[k];
        curve->GBps[k] = 1.0 / fmax(middle_of(costs[k]) - half, half / 2.0);
        curve->count = k + 1;
    }
}

/* The same where no far memory is involved. */
static double near_cost(struct caches *caches, enum kind kind)
{
    double costs[ROUNDS];
    for (uint32_t round = 0; round < ROUNDS; round++)
        costs[round] = walk_cost(caches, kind, PIECE_BYTES);
    return middle_of(costs);
}

/* Messages, and the ring that they go through. */
struct ring {
    uint64_t bytes; /* of a message */
    uint32_t slots;
    uint32_t lag;
    uint32_t sender;
};

/* ns of a message: until it is seen, and until it, or one of before, has been taken out. */
static void message_cost(struct caches *caches, enum kind kind, struct ring ring, double out_ns[2])
{
    double costs[2][ROUNDS];
    caches->is_crossing = true;
    caches->kind = kind;
    caches->bytes = ring.bytes;
    caches->slots = ring.slots;
    caches->lag = ring.lag;
    caches->sender = ring.sender;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        run(caches);
        for (uint32_t w = 0; w < 2; w++)
            costs[w][round] = median_of(&caches->benches[w ^ ring.sender]);
    }
    for (uint32_t w = 0; w < 2; w++)
        out_ns[w] = middle_of(costs[w]);
}

/* A point: the part of a message's cost that crossing has, beyond what its other operands cost. */
static void put_cross(struct ronde_curve *curve, double at, double cost, double others)
{
    const double least = 1e-3;
    curve->bytes[curve->count] = at;
    curve->GBps[curve->count++] = 1.0 / fmax(cost - others, least);
}

/* ns a byte at a point of a curve. */
static double cost_at(const struct ronde_curve *curve, double bytes)
{
    return 1.0 / ronde_curve_GBps(curve, bytes, INFINITY);
}

/* What else a message's end touches is as long as it, so it lies as far away as all of that is long. */
static double measure_messages(struct caches *caches, double clock, struct ronde_cache_facts *facts)
{
    double shortest_ns = 0;
    for (uint32_t k = 0; k < MESSAGES; k++) {
        const struct ring ring = {(uint64_t)LINE_BYTES << k, RONDE_CROSSING_SLOTS, 0, 0};
        const double length = (double)ring.bytes;
        double copied[2], combined[2];
        message_cost(caches, READING, ring, copied);
        message_cost(caches, COMBINING, ring, combined);
        if (k == 0)
            shortest_ns = copied[0];
        put_cross(&facts->cross_copy, length, (copied[1] - clock) / length,
                  cost_at(&facts->write, 2 * length));
        put_cross(&facts->cross_combine, length, (combined[1] - clock) / length,
                  cost_at(&facts->read, 3 * length) + cost_at(&facts->write, 3 * length));
    }
    return shortest_ns;
}

/*
 * Where a point of writing lies. A core's own cache loses what has not been touched longest, so that counts how far the reader
 * is behind. Caches behind it lose by how much is in use, and that is the whole ring.
 */
static double written_at(const struct ronde_cache_facts *facts, double lag_bytes)
{
    return lag_bytes > 2.0 * facts->core_bytes ? 2.0 * lag_bytes : lag_bytes;
}

/*
 * The same over what the other core has touched since, one way and the other. The slower counts: messages of a collective go
 * both ways, and the caches of two groups of cores, which others may be using, lose data at paces of their own.
 */
static void measure_lags(struct caches *caches, double clock, double shortest_ns,
                         struct ronde_cache_facts *facts)
{
    const double length = (double)LAGGING_BYTES;
    for (uint32_t k = 0; k < LAGS; k++) {
        const uint32_t lag = (uint32_t)((LEAST_LAG_BYTES << k) / LAGGING_BYTES);
        double there[2], back[2];
        message_cost(caches, READING, (struct ring){LAGGING_BYTES, 2 * lag, lag, 0}, there);
        message_cost(caches, READING, (struct ring){LAGGING_BYTES, 2 * lag, lag, 1}, back);
        put_cross(&facts->remote_write, written_at(facts, lag * length),
                  (fmax(there[0], back[0]) - shortest_ns) / length,
                  cost_at(&facts->read, 2 * length));
        put_cross(&facts->remote_read, lag * length, (fmax(there[1], back[1]) - clock) / length,
                  cost_at(&facts->write, 2 * length));
    }
}

static bool make_block(const struct ronde_mem *mem, uint64_t bytes, struct block *block)
{
    block->bytes = (size_t)(bytes + PAGE_BYTES);
    block->start = ronde_mem_new(mem, block->bytes, 1);
    if (!block->start)
        return false;
    const uintptr_t first = (uintptr_t)block->start;
    block->page = block->start + (PAGE_BYTES - first % PAGE_BYTES) % PAGE_BYTES;
    return true;
}

/* Far pages are first written by the worker that walks there. */
static enum ronde_status prepare(struct caches *caches, struct ronde_error *error)
{
    bool fits = true;
    caches->benches = ronde_mem_new(caches->mem, caches->workers, sizeof *caches->benches);
    for (uint32_t w = 0; caches->benches && fits && w < caches->workers; w++) {
        struct bench *bench = &caches->benches[w];
        const uint64_t longest = (uint64_t)LINE_BYTES << (MESSAGES - 1);
        const uint64_t most = ALL_BYTES / caches->workers;
        const uint64_t ring = w == 0 ? RING_BYTES : 0;
        fits = make_block(caches->mem, most > ring ? most : ring, &bench->far);
        for (uint32_t k = 0; fits && k < 2; k++) {
            fits = make_block(caches->mem, longest, &bench->near[k]);
            if (fits)
                memset(bench->near[k].page, 0, (size_t)longest);
        }
    }
    if (!caches->benches || !fits)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to measure caches on %u processors",
                          caches->workers);
    RONDE_TRY(ronde_bind_open(caches->mem, &caches->bind, error));
    return ronde_thread_pool_create(caches->workers, work, caches, &caches->bind, &caches->pool,
                                    error);
}

static void release(struct caches *caches)
{
    ronde_thread_pool_destroy(caches->pool);
    ronde_bind_close(&caches->bind);
    for (uint32_t w = 0; caches->benches && w < caches->workers; w++) {
        struct bench *bench = &caches->benches[w];
        ronde_mem_free(caches->mem, bench->far.start, bench->far.bytes, 1);
        for (uint32_t k = 0; k < 2; k++)
            ronde_mem_free(caches->mem, bench->near[k].start, bench->near[k].bytes, 1);
    }
    ronde_mem_free(caches->mem, caches->benches, caches->workers, sizeof *caches->benches);
}

enum ronde_status ronde_caches_measure(const struct ronde_mem *mem, struct ronde_distance *distance,
                                       struct ronde_cache_facts *out_facts,
                                       struct ronde_error *error)
{
    struct caches caches = {
        .mem = mem,
        .distance = distance,
        .bind = {.mem = mem},
        .add = ronde_kernels_find(ronde_level_widest(), RONDE_FLOAT32, RONDE_SUM).combine,
        .workers = ronde_usable_cores()};
    struct ronde_cache_facts facts = {.core_bytes = (double)ronde_core_cache_bytes()};
    *out_facts = (struct ronde_cache_facts){.poll_ns = 0};
    if (ronde_threads_check("caches", error) != RONDE_OK)
        return RONDE_UNAVAILABLE;
    if (caches.workers < 2)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "caches: one usable processor; what crosses takes two");
    const enum ronde_status status = prepare(&caches, error);
    if (status == RONDE_OK) {
        const double half = near_cost(&caches, WRITING) / 2.0;
        measure_walks(&caches, WRITING, half, &facts.write);
        measure_walks(&caches, READING, half, &facts.read);
        facts.combine_GBps = 1.0 / near_cost(&caches, COMBINING);
        const double clock = clock_ns();
        const double shortest_ns = measure_messages(&caches, clock, &facts);
        measure_lags(&caches, clock, shortest_ns, &facts);
        *out_facts = facts;
    }
    release(&caches);
    return status;
}
