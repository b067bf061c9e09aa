/**
 * What planning costs where it is wrong: the time of what is planned over that of the fastest of all combinations of
 * algorithm, channels, placement and slot, tried one by one.
 *
 * A combination whose replay without shared links, which is never too long, takes longer than what is planned is not
 * replayed with them.
 */
#ifndef RONDE_TESTS_COMBINATIONS_H
#define RONDE_TESTS_COMBINATIONS_H

#include "ronde/predict.h"

/** Sizes, each 16 times the one before: 1 KiB to 1 GiB where the first is the least. */
#define COMBINATIONS_SIZES 6u
#define COMBINATIONS_LEAST_BYTES UINT64_C(1024)

/** A size, what is planned for it, and the fastest there is. */
struct combinations_size {
    uint64_t bytes;
    uint64_t count;
    char planned[160];
    double planned_ns;
    double least_ns;
    char least[160];
};

/** What is compared, and what came of it. */
struct combinations {
    const struct ronde_platform *platform;
    uint32_t ranks;
    enum ronde_collective collective;
    uint64_t least_bytes; /**< the first size; less than COMBINATIONS_LEAST_BYTES = that */
    bool is_short; /**< fewer channels, slots and sizes are tried: every other size has least_ns */
    struct combinations_size sizes[COMBINATIONS_SIZES];
    double plan_s;    /**< CPU */
    uint32_t total;   /**< at all sizes */
    uint32_t replays; /**< of those */
    uint32_t refused; /**< likewise: no engine replays them */
};

/** Plans and tries everything. Errors: those of the plan. */
enum ronde_status combinations_try(struct combinations *all, struct ronde_error *error);

/** Regret of a size: the planned time over the fastest, minus one; 0 where nothing tried is faster. */
double combinations_regret(const struct combinations_size *size);

#endif
