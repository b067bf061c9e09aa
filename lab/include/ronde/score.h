/**
 * Scores of a filled grid: how often predictions name the faster of two algorithms, and how far off they are about the
 * size from which on it is the faster one.
 */
#ifndef RONDE_SCORE_H
#define RONDE_SCORE_H

#include "ronde/validate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A predicted crossover is right within this factor. */
#define RONDE_CLOSE_FACTOR 1.5

/** A measured crossover beside the predicted one that is nearest to it and goes the same way. */
struct ronde_crossing {
    double measured_bytes;  /**< 0 where there is none */
    double predicted_bytes; /**< 0 where there is none */
    double factor; /**< the larger of the two sizes over the smaller; 0 where one is missing */
};

/** What a source gets right about one pair of algorithms, or about many. */
struct ronde_score {
    struct ronde_agreement winners; /**< sizes at which two differ beyond noise */
    size_t crossings;               /**< measured crossovers */
    size_t close;                   /**< of them predicted within RONDE_CLOSE_FACTOR */
    struct ronde_crossing first;    /**< the first of one pair */
};

/**
 * Where two algorithms take equally long, bytes: between the two sizes of the bracket where the sign of their difference
 * changes, the logarithm of their ratio is taken as linear in the logarithm of the size. 0 where a time is missing.
 */
RONDE_API double ronde_duel_crossover_bytes(const struct ronde_duel *duel,
                                            const struct ronde_crossover *bracket);

/**
 * A measured crossover of two algorithms beside the predicted one that is nearest to it and goes the same way; `measured` and
 * `predicted` are duels of the same two.
 */
RONDE_API struct ronde_crossing ronde_duel_crossing(const struct ronde_duel *measured,
                                                    const struct ronde_crossover *at,
                                                    const struct ronde_duel *predicted);

/** The score of a source at one number of ranks, for two algorithms by index. */
RONDE_API struct ronde_score ronde_score_pair(const struct ronde_validation *validation,
                                              enum ronde_source source, uint32_t rank_index,
                                              const uint32_t pair[2]);

/** The sum over all pairs of algorithms and all numbers of ranks. */
RONDE_API struct ronde_score ronde_score_all(const struct ronde_validation *validation,
                                             enum ronde_source source);

#ifdef __cplusplus
}
#endif
#endif
