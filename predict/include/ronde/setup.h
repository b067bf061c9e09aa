/**
 * How an algorithm is set up on a machine: its channels, the grid of nodes it sees, where ranks sit and rings go.
 *
 * This is the one place that decides what a request leaves open, for every command, for plans, workloads and Python:
 *
 *     struct ronde_candidate candidate;
 *     ronde_candidate_open(&setup, mem, &candidate, &error);
 *     struct ronde_forecast forecast = ronde_candidate_forecast(&candidate, platform, &options);
 *     ronde_candidate_close(&candidate, mem);
 *
 * Left open are
 * - the grid: nodes times ranks of a node where the placement fills equal nodes one after another, the axes of a torus;
 * - the placement: the nodes of the machine one after another, each channel of a ring through the machine as
 *   ronde_place_rings finds best;
 * - the channels: where channels differ, by their rings or by the ranks at the heads of their trees, the fewest whose rings load
 *   the busiest link least (a node of k NICs has k); else the algorithm's own;
 * - pieces: pieces.h.
 */
#ifndef RONDE_SETUP_H
#define RONDE_SETUP_H

#include "ronde/choice.h"
#include "ronde/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Channels that are ever chosen. */
#define RONDE_MOST_SETUP_CHANNELS 16u

/**
 * Ranks up to which channels and rings are chosen for the machine: sharing the links of more takes minutes, or too much memory.
 * Beyond, an algorithm has its own channels, and hosts their order in the file, unless it is asked for more.
 */
#define RONDE_MOST_LAID_RANKS 2048u

/** What is set up; what it points to outlives the call. */
struct ronde_setup {
    const struct ronde_platform *platform; /**< the machine */
    struct ronde_compile_request request;  /**< channels 0, no orders, no shape: decided */
    const struct ronde_schedule *given; /**< a schedule to be taken as it is, or NULL: one is compiled */
    const uint32_t *host_of; /**< per rank, where they sit already; NULL = by the placement */
    bool is_placed;          /**< the placement is asked for; else it is decided */
    enum ronde_placement placement; /**< where it is asked for */
    bool keeps_ranks; /**< ranks stay on their hosts: one of them takes the part of whom the placement would put there */
};

/**
 * Compiles and places a candidate. Owner: the caller closes *out_candidate; a schedule that was given outlives it. Errors:
 * BAD_INPUT for more ranks than hosts; those of ronde_compile and of what looks at the machine; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_candidate_open(const struct ronde_setup *setup, const struct ronde_mem *mem,
                     struct ronde_candidate *out_candidate, struct ronde_error *error);

/** The forecast of a candidate, its ranks where they are placed; the candidate outlives it. */
RONDE_API struct ronde_forecast ronde_candidate_forecast(const struct ronde_candidate *candidate,
                                                         const struct ronde_platform *platform,
                                                         const struct ronde_tune_options *options);

/** Room for a candidate's label. */
#define RONDE_SETUP_LABEL_BYTES 48u

/** How its ranks and rings lie, for a record's labels: "scattered", "auto: snake"; "" where nothing was moved. Returns out_text. */
RONDE_API const char *ronde_candidate_label(const struct ronde_candidate *candidate,
                                            char out_text[RONDE_SETUP_LABEL_BYTES]);

/** Frees what a candidate holds; zeroes are allowed. */
RONDE_API void ronde_candidate_close(struct ronde_candidate *candidate, const struct ronde_mem *mem);

/**
 * Adds schedules made for a machine (synthesize.h) for a request as candidates, as the options say (forests, only). None where
 * more is asked for than collective, ranks and root, where trees do not do that, or the machine has no links of which that is
 * known. Errors: NO_MEMORY, CANCELLED.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_add_forests(struct ronde_choice *choice, const struct ronde_compile_request *request,
                         const struct ronde_platform *platform,
                         const struct ronde_tune_options *options, struct ronde_error *error);

/**
 * Adds to a choice whose candidates know no machine all set-ups of each that may be faster on this one, as far as the
 * options leave them open. Errors: as ronde_candidate_open.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_set_up(struct ronde_choice *choice, const struct ronde_platform *platform,
                    const struct ronde_tune_options *options, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
