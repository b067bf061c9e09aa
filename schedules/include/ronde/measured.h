/**
 * Times measured on a backend, for choosing an algorithm where no model of the machine is at hand.
 *
 * A machine's own caches and scheduler decide what is fastest among ranks that share it, and no formula here knows them
 * (zero copy, stores past the caches). So times are measured once, on a machine that the table names, by
 * bench/measured.sh; what holds for the reader's machine is which algorithm is faster, not how fast it is.
 */
#ifndef RONDE_MEASURED_H
#define RONDE_MEASURED_H

#include "ronde/choice.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sizes of every row. */
#define RONDE_MEASURED_SIZES 8u

/** One algorithm on one number of ranks. */
struct ronde_measured_row {
    enum ronde_collective collective;     /**< what */
    const char *algorithm;                /**< how; a name of the registry */
    uint32_t ranks;                       /**< N */
    double time_us[RONDE_MEASURED_SIZES]; /**< median at each size of the table; 0 = not measured */
};

/** All that was measured on a backend. */
struct ronde_measured {
    const char *backend;                   /**< its name */
    const char *machine;                   /**< where, and when, in one line */
    uint32_t cores;                        /**< that the ranks had */
    uint64_t bytes[RONDE_MEASURED_SIZES];  /**< sizes, as nccl-tests counts them, ascending */
    const struct ronde_measured_row *rows; /**< `row_count` of them */
    uint32_t row_count;                    /**< how many */
};

/** The table of a backend, by name; NULL where nobody has measured one. */
RONDE_API const struct ronde_measured *ronde_measured_find(const char *backend);

/** The rows of a table that speak for some ranks. */
struct ronde_measured_view {
    const struct ronde_measured *table; /**< whose */
    uint32_t ranks;                     /**< of these rows */
};

/**
 * The rows for `ranks` ranks on `cores` cores: of those measured with as many ranks as cores or fewer where these fit too,
 * or with more where these have to take turns, the nearest number. False where the table has none for the collective.
 */
RONDE_API bool ronde_measured_look(const struct ronde_measured *table,
                                   enum ronde_collective collective, uint32_t ranks, uint32_t cores,
                                   struct ronde_measured_view *out_view);

/**
 * A pricer from a view, which must outlive it: between two sizes times are interpolated over the logarithms of both, below
 * the first they stay, above the last they grow with the bytes. An algorithm without a row has no time. No errors.
 */
RONDE_API struct ronde_pricer ronde_measured_pricer(const struct ronde_measured_view *view);

#ifdef __cplusplus
}
#endif
#endif
