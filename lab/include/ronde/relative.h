/**
 * Relative times: a grid of measured and predicted times as people ask for it, which is who wins, by how much and from
 * which size on. Pure functions of the grid; what they yield is drawn by plot.c and chart.c.
 */
#ifndef RONDE_RELATIVE_H
#define RONDE_RELATIVE_H

#include "ronde/validate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The algorithm by whose time all others' are divided: `ring` where the grid has it, else the first one. Index. */
RONDE_API uint32_t ronde_relative_base(const struct ronde_validation *grid);

/**
 * Time of an algorithm over the base's at the same ranks and size, both of one source: below 1 it is faster. 0 where one of
 * the two is missing.
 */
RONDE_API double ronde_relative_time(const struct ronde_validation *grid, enum ronde_source source,
                                     uint32_t rank_index, uint32_t size_index, uint32_t algorithm);

/** Predicted over measured time of a point, less 1: negative where the prediction is too fast. NAN where not measured. */
RONDE_API double ronde_relative_error(const struct ronde_validation *grid, enum ronde_source source,
                                      uint32_t rank_index, uint32_t size_index, uint32_t algorithm);

/** A measured crossover to be marked in a picture. */
struct ronde_mark {
    uint32_t pair[2];             /**< the two algorithms, by index */
    struct ronde_crossover where; /**< between which measured sizes, and who wins above */
    double bytes;                 /**< where the two lines meet */
    double height;                /**< relative time there */
};

/** Most marks of one number of ranks; a picture with more says nothing. */
#define RONDE_MAX_MARKS 8u

/**
 * Measured crossovers at one number of ranks after which another algorithm is the fastest of all, or that the base takes
 * part in. Sorted by size. Returns how many were written.
 */
RONDE_API uint32_t ronde_relative_marks(const struct ronde_validation *grid, uint32_t rank_index,
                                        struct ronde_mark out[RONDE_MAX_MARKS]);

#ifdef __cplusplus
}
#endif
#endif
