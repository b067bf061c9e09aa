/**
 * Scores of a filled grid: how often predictions name the faster of two algorithms, and how far off they are about the
 * size from which on it is the faster one.
 */
#ifndef RONDE_CLI_SCORE_H
#define RONDE_CLI_SCORE_H

#include "common.h"
#include "validate.h"

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
double ronde_duel_meeting(const struct ronde_duel *duel, const struct ronde_crossover *bracket);

/** The score of a source at one number of ranks, for two algorithms by index. */
struct ronde_score ronde_score_pair(const struct ronde_validation *validation,
                                    enum ronde_source source, uint32_t rank_index,
                                    const uint32_t pair[2]);

/** The sum over all pairs of algorithms and all numbers of ranks. */
struct ronde_score ronde_score_all(const struct ronde_validation *validation,
                                   enum ronde_source source);

/** Prints the sums, a line a source; nothing where there is no pair. */
void ronde_score_print(const struct ronde_validation *validation, FILE *file);

/**
 * Writes the scores as JSON: for each source a row per pair, then the sum. Nothing for a table, nor as CSV, whose columns are
 * those of records. Errors: as ronde_sink_row.
 */
RONDE_MUST_CHECK enum ronde_status ronde_score_rows(const struct ronde_validation *validation,
                                                    struct ronde_sink *sink,
                                                    struct ronde_error *error);

#endif
