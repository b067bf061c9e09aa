/**
 * Bands of predictions from how far off those of systems are that were left out. See published.h.
 *
 * Of each kind and class so much of |log(measured / predicted)| of all systems, which weigh alike. Both ends are as far from what is
 * predicted, since ten systems tell how far they lie from it, but not how far to which side: the shortest range that held as much held
 * 6 points less of systems that were not there. Where fewer than three systems tell, those of all kinds of the same place do.
 */
#include "ronde/nccl_bands.h"
#include "ronde/published.h"

#include <math.h>
#include <stdlib.h>

/** Share of what is there; of a system that is not there 80 % lie in what holds so much of those that are, systems weighing alike. */
static const double held_share = .82;

/** Systems from which on a class speaks for itself. */
enum { ENOUGH_SYSTEMS = 3 };

/** A row's error, and its share of a system. */
struct off {
    double log; /**< its magnitude */
    double weight;
};

/** Rows of a class. */
struct pool {
    struct off *offs;
    size_t count;
    double weight;
    uint32_t systems;
};

static int by_log(const void *left, const void *right)
{
    const double a = ((const struct off *)left)->log, b = ((const struct off *)right)->log;
    return a < b ? -1 : a > b;
}

static bool is_several(enum ronde_nccl_band_kind kind)
{
    return kind >= RONDE_NCCL_BAND_VERBS;
}

/** Whether a row is of a class; of any kind of the same place where that is asked for. */
static bool is_of(const struct ronde_published *published, const struct ronde_published_row *row,
                  enum ronde_nccl_band_kind kind, unsigned size, bool is_any)
{
    if (row->state != RONDE_PUBLISHED_PREDICTED || ronde_nccl_band_size(row->call.bytes) != size)
        return false;
    const enum ronde_nccl_band_kind own =
        ronde_nccl_band_kind_of(&published->systems[row->system].machine, &row->call);
    return is_any ? is_several(own) == is_several(kind) : own == kind;
}

static void take(const struct ronde_published *published, uint32_t except,
                 enum ronde_nccl_band_kind kind, unsigned size, bool is_any, struct pool *pool)
{
    size_t rows[RONDE_PUBLISHED_MAX_SYSTEMS] = {0};
    pool->count = 0;
    pool->weight = 0;
    pool->systems = 0;
    for (size_t r = 0; r < published->count; r++)
        if (is_of(published, &published->rows[r], kind, size, is_any))
            rows[published->rows[r].system]++;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system == except || !is_of(published, row, kind, size, is_any))
            continue;
        const double weight = 1 / (double)rows[row->system];
        pool->offs[pool->count++] =
            (struct off){fabs(log(row->measured_us / row->predicted_us)), weight};
        pool->weight += weight;
    }
    for (uint32_t s = 0; s < published->system_count; s++)
        pool->systems += s != except && rows[s] > 0;
    qsort(pool->offs, pool->count, sizeof pool->offs[0], by_log);
}

/** As far below as above: so wide that it holds enough, a factor of two where nothing tells. */
static struct ronde_nccl_band narrowest(const struct pool *pool)
{
    double held = 0, off = log(2);
    for (size_t r = 0; r < pool->count && held < held_share * pool->weight * (1 - 1e-9); r++) {
        held += pool->offs[r].weight;
        off = pool->offs[r].log;
    }
    return (struct ronde_nccl_band){exp(-off), exp(off)};
}

static struct ronde_nccl_band band_of(const struct ronde_published *published, uint32_t except,
                                      enum ronde_nccl_band_kind kind, unsigned size,
                                      struct pool *pool, uint32_t *out_systems)
{
    take(published, except, kind, size, false, pool);
    *out_systems = pool->systems;
    if (pool->systems < ENOUGH_SYSTEMS)
        take(published, except, kind, size, true, pool);
    return narrowest(pool);
}

static void bands_of(const struct ronde_published *published, uint32_t except, struct pool *pool,
                     struct ronde_nccl_bands *out)
{
    for (unsigned k = 0; k < RONDE_NCCL_BAND_KIND_COUNT; k++)
        for (unsigned s = 0; s < RONDE_NCCL_BAND_SIZES; s++)
            out->at[k][s] = band_of(published, except, (enum ronde_nccl_band_kind)k, s, pool,
                                    &out->systems[k][s]);
}

static bool open_pool(const struct ronde_published *published, struct pool *pool)
{
    *pool =
        (struct pool){.offs = ronde_mem_new(published->mem, published->count, sizeof *pool->offs)};
    return pool->offs;
}

enum ronde_status ronde_published_bands_of(const struct ronde_published *published,
                                           struct ronde_nccl_bands *out, struct ronde_error *error)
{
    struct pool pool;
    if (!open_pool(published, &pool))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu errors", published->count);
    bands_of(published, UINT32_MAX, &pool, out);
    ronde_mem_free(published->mem, pool.offs, published->count, sizeof *pool.offs);
    return RONDE_OK;
}

static int by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/** Rows of a system in bands that the others make, and how wide these are. */
static void judge(const struct ronde_published *published, uint32_t system, struct pool *pool,
                  double *widths, struct ronde_published_sureness *to)
{
    struct ronde_nccl_bands bands;
    size_t rows = 0, inside = 0;
    bands_of(published, system, pool, &bands);
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system != system || row->state != RONDE_PUBLISHED_PREDICTED)
            continue;
        const struct ronde_nccl_band band =
            ronde_nccl_band_of(&bands, &published->systems[system].machine, &row->call);
        const double off = row->measured_us / row->predicted_us;
        widths[to->rows + rows++] = band.high / band.low;
        inside += off >= band.low && off <= band.high;
    }
    to->rows += rows;
    to->inside += inside;
}

enum ronde_status ronde_published_sureness_of(const struct ronde_published *published,
                                              struct ronde_published_sureness *out,
                                              struct ronde_error *error)
{
    struct pool pool;
    double *widths = ronde_mem_new(published->mem, published->count, sizeof *widths);
    *out = (struct ronde_published_sureness){.rows = 0};
    const bool is_there = open_pool(published, &pool) && widths;
    for (uint32_t s = 0; is_there && s < published->system_count; s++)
        judge(published, s, &pool, widths, out);
    if (is_there && out->rows > 0) {
        qsort(widths, out->rows, sizeof *widths, by_size);
        out->width = widths[out->rows / 2];
    }
    ronde_mem_free(published->mem, pool.offs, published->count, sizeof *pool.offs);
    ronde_mem_free(published->mem, widths, published->count, sizeof *widths);
    return is_there
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu errors", published->count);
}
