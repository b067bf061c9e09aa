/**
 * A scenario run: each collective alone on the healthy machine, and all of it together on the machine as it is.
 */
#ifndef RONDE_CLI_TOGETHER_H
#define RONDE_CLI_TOGETHER_H

#include "predict.h"
#include "scenario.h"

#include "ronde/trace.h"

/** Parts of a scenario at most: the main collective, companions, background flows. */
#define RONDE_MAX_PARTS (1u + 2u * RONDE_MAX_REPEATS)

/** What became of one collective or flow. */
struct ronde_part {
    char name[160];     /**< e.g. "all_reduce ring 4M" */
    double alone_ns;    /**< without the scenario; 0 for a flow */
    double together_ns; /**< with it */
    uint32_t repeats;   /**< of a flow; 0 for a collective */
};

/** What stays the same over all sizes of the main collective. */
struct ronde_together {
    const struct ronde_scenario *scenario; /**< what happens */
    struct ronde_platform *machine;        /**< as it is: with degraded links; its own */
    struct ronde_schedule *schedules[RONDE_MAX_REPEATS]; /**< of the companions */
    struct ronde_forecast forecasts[RONDE_MAX_REPEATS]; /**< of the companions, on the healthy machine */
    struct ronde_part parts[RONDE_MAX_PARTS]; /**< of the last run; the main collective first */
    uint32_t part_count;                      /**< how many */
};

/**
 * Reads the machine once more, degrades its links and compiles the companions. The caller closes *out_together in
 * every case. Errors: as ronde_open_platform, ronde_platform_degrade and ronde_compile.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_together_open(const struct ronde_options *options, const struct ronde_scenario *scenario,
                    const struct ronde_forecast *forecast, struct ronde_together *out_together,
                    struct ronde_error *error);

/**
 * Runs a size of the main collective; the record is that of the main collective together with the rest. `out_kept`
 * starts from zeroes; the caller releases it in every case. Errors: those of the engine; BAD_ARGUMENT where a
 * background message is too short to be repeated for so long.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_together_run(struct ronde_together *together, const struct ronde_forecast *forecast,
                   const char *engine, struct ronde_record *out_record, struct ronde_kept *out_kept,
                   struct ronde_error *error);

/** Names of the parts for a trace or a timeline; returns how many. */
uint32_t ronde_together_groups(const struct ronde_together *together, const struct ronde_kept *kept,
                               struct ronde_trace_group groups[RONDE_MAX_PARTS]);

/** Closes it; zeroes are allowed. */
void ronde_together_close(struct ronde_together *together);

#endif
