/**
 * Published measurements as curves over size: which panels a picture of a system has, which curves a panel, and the points
 * of a curve.
 */
#ifndef RONDE_PUBLISHED_SERIES_H
#define RONDE_PUBLISHED_SERIES_H

#include "ronde/published.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Curves of a panel, panels of a picture. */
#define RONDE_SERIES_MAX 5u
#define RONDE_PANELS_MAX 6u

/** A curve: rows that differ in size alone, and in protocol where `is_forced`. */
struct ronde_series {
    uint32_t system;
    struct ronde_nccl_call call;   /**< collective, ranks and nodes count */
    struct ronde_nccl_choice wish; /**< what was forced */
    bool is_forced; /**< one of several forced algorithms, by the best of its protocols */
    bool is_in_place;
};

/** Curves that are drawn into one frame. */
struct ronde_panel {
    struct ronde_series series[RONDE_SERIES_MAX];
    uint32_t count;
    bool is_forced; /**< curves are algorithms; else numbers of ranks */
};

/** The point of a curve at a size. */
struct ronde_series_point {
    uint64_t bytes;
    double measured_us;  /**< median; the least of the protocols where algorithms are compared */
    double predicted_us; /**< likewise */
    double nccl_us;      /**< likewise; 0 = none */
};

/**
 * The panels of a system, of its predicted rows: one per collective with numbers of ranks from the least to the largest,
 * one more where several algorithms were forced. Returns how many; 0 where nothing was predicted.
 */
RONDE_API uint32_t ronde_published_panels(const struct ronde_published *published, uint32_t system,
                                          struct ronde_panel out[RONDE_PANELS_MAX]);

/** The next point of a curve beyond `after_bytes`; false at its end. `room` has published->count elements. */
RONDE_API bool ronde_series_next(const struct ronde_published *published,
                                 const struct ronde_series *series, uint64_t after_bytes,
                                 double *room, struct ronde_series_point *out);

#ifdef __cplusplus
}
#endif
#endif
