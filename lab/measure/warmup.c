/* Unmeasured runs in batches. See warmup.h. */
#include "ronde/warmup.h"

#include <math.h>

/*
 * Runs before times are compared at all: more than a connection has slots (64 for short messages), so that each has been
 * used once. Longer runs use several slots each, and settle sooner.
 */
#define USED_RUNS 96u
#define USED_NS 2e7

/* Runs of a batch: their median is what two batches in a row are compared by. */
#define BATCH_RUNS 32u

/* Medians of two batches that differ by no more are of stable runs. */
#define STABLE_SHARE 0.05

/* Ranks that have agreed leave the control channel apart from each other: some short runs bring them together again. */
#define SHORT_NS 1e6
#define SETTLE_RUNS 5u

static bool has_used_all(const struct ronde_warmup *warmup)
{
    return warmup->runs >= USED_RUNS || warmup->spent_ns >= USED_NS;
}

static bool is_stable(const struct ronde_warmup *warmup)
{
    return warmup->used_batches >= 2 &&
           fabs(warmup->last_ns - warmup->before_ns) <= STABLE_SHARE * warmup->before_ns;
}

uint32_t ronde_warmup_next(const struct ronde_warmup *warmup)
{
    const uint32_t left = RONDE_WARMUP_MOST - warmup->runs;
    if (warmup->runs == 0)
        return RONDE_WARMUP_LEAST;
    if (left == 0 || warmup->spent_ns >= RONDE_WARMUP_MOST_NS || is_stable(warmup))
        return 0;
    /* A batch that would pass the bound in time is cut short there. */
    const double mean_ns = warmup->spent_ns / warmup->runs;
    const double fit = ceil((RONDE_WARMUP_MOST_NS - warmup->spent_ns) / fmax(mean_ns, 1.0));
    uint32_t runs = BATCH_RUNS < left ? BATCH_RUNS : left;
    if (fit < runs)
        runs = (uint32_t)fit;
    return runs > 0 ? runs : 1;
}

void ronde_warmup_add(struct ronde_warmup *warmup, uint32_t runs, double total_ns, double median_ns)
{
    warmup->used_batches += has_used_all(warmup);
    warmup->runs += runs;
    warmup->spent_ns += total_ns;
    warmup->before_ns = warmup->last_ns;
    warmup->last_ns = median_ns;
}

/* What a rank knows of a batch. */
struct batch {
    double total_ns;
    double median_ns;
};

static enum ronde_status run_batch(struct ronde_benchmark *benchmark, uint32_t runs,
                                   struct batch *out, struct ronde_error *error)
{
    double samples[BATCH_RUNS];
    *out = (struct batch){0.0, 0.0};
    for (uint32_t i = 0; i < runs; i++) {
        RONDE_TRY(ronde_benchmark_run(benchmark, &samples[i], error));
        out->total_ns += samples[i];
    }
    out->median_ns = ronde_stats_of(samples, runs).median;
    return RONDE_OK;
}

/* The slowest rank's times, on all ranks. */
static enum ronde_status join(struct ronde_comm *comm, struct batch *all, struct batch *io_batch,
                              struct ronde_error *error)
{
    RONDE_TRY(ronde_comm_allgather(comm, io_batch, sizeof *io_batch, all, error));
    for (uint32_t rank = 0; rank < ronde_comm_ranks(comm); rank++) {
        io_batch->total_ns = fmax(io_batch->total_ns, all[rank].total_ns);
        io_batch->median_ns = fmax(io_batch->median_ns, all[rank].median_ns);
    }
    return RONDE_OK;
}

enum ronde_status ronde_warm_up(struct ronde_benchmark *benchmark, struct ronde_comm *comm,
                                uint32_t *out_runs, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t ranks = comm ? ronde_comm_ranks(comm) : 0;
    struct ronde_warmup warmup = {0};
    struct batch *all = ronde_mem_new(mem, ranks, sizeof *all);
    enum ronde_status status = RONDE_OK;
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the times of %u ranks", ranks);
    for (uint32_t runs = ronde_warmup_next(&warmup); runs > 0; runs = ronde_warmup_next(&warmup)) {
        struct batch batch;
        status = run_batch(benchmark, runs, &batch, error);
        if (status == RONDE_OK && comm)
            status = join(comm, all, &batch, error);
        if (status != RONDE_OK)
            break;
        ronde_warmup_add(&warmup, runs, batch.total_ns, batch.median_ns);
    }
    if (status == RONDE_OK && comm && warmup.last_ns < SHORT_NS) {
        struct batch unused;
        status = run_batch(benchmark, SETTLE_RUNS, &unused, error);
        warmup.runs += SETTLE_RUNS;
    }
    *out_runs = warmup.runs;
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}
