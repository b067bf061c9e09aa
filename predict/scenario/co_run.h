/**
 * A scenario run: each collective alone on the healthy machine, and all of it together on the machine as it is.
 * Algorithms, ranks and rings are set up for the machine as it is.
 */
#ifndef RONDE_PREDICT_CO_RUN_H
#define RONDE_PREDICT_CO_RUN_H

#include "ronde/ir.h"
#include "ronde/predicted.h"
#include "ronde/record.h"
#include "ronde/scenario.h"
#include "ronde/setup.h"
#include "ronde/trace.h"

/** Parts of a scenario at most: the main collective, companions, background flows. */
#define RONDE_MAX_PARTS (1u + 2u * RONDE_SCENARIO_STATEMENTS)

/** What became of one collective or flow. */
struct ronde_co_run_part {
    char name[160];     /**< e.g. "all_reduce ring 4M" */
    double alone_ns;    /**< without the scenario; 0 for a flow */
    double together_ns; /**< with it */
    uint32_t repeats;   /**< of a flow; 0 for a collective */
};

/** What stays the same over all sizes of the main collective. */
struct ronde_co_run {
    const struct ronde_scenario *scenario; /**< what happens */
    const struct ronde_platform *healthy;  /**< the machine without the scenario */
    struct ronde_schedule *given[RONDE_SCENARIO_STATEMENTS];      /**< of companions from files */
    struct ronde_candidate companions[RONDE_SCENARIO_STATEMENTS]; /**< how they are set up */
    struct ronde_forecast forecasts[RONDE_SCENARIO_STATEMENTS];   /**< of the companions */
    struct ronde_co_run_part parts[RONDE_MAX_PARTS]; /**< of the last run; the main collective first */
    uint32_t part_count;                             /**< how many */
};

/**
 * Sets up the companions on the forecast's machine, which has the scenario's degraded links; they are predicted as
 * `forecast` is, with its slot. Scenario and machines outlive *out_co_run, which the caller closes in every case. Errors: as
 * ronde_candidate_open; BAD_ARGUMENT for a straggler that is no rank of the forecast, BAD_INPUT for hosts that are not there.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_co_run_open(const struct ronde_scenario *scenario, const struct ronde_platform *healthy,
                  const struct ronde_forecast *forecast, struct ronde_co_run *out_co_run,
                  struct ronde_error *error);

/**
 * Runs a size of the main collective; the record is that of the main collective together with the rest. `keeps`: times of steps
 * are wanted; without, one collective alone is replayed as it is on a healthy machine, folded where it can be. `out_kept`
 * starts from zeroes; the caller releases it in every case. Errors: those of the engine; BAD_ARGUMENT where a
 * background message is too short to be repeated for so long.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_co_run_run(struct ronde_co_run *co_run, const struct ronde_forecast *forecast,
                 const char *engine, bool keeps, struct ronde_record *out_record,
                 struct ronde_kept *out_kept, struct ronde_error *error);

/** Names of the parts for a trace or a timeline; returns how many. */
RONDE_API uint32_t ronde_co_run_groups(const struct ronde_co_run *co_run,
                                       const struct ronde_kept *kept,
                                       struct ronde_trace_group groups[RONDE_MAX_PARTS]);

/** Closes it; zeroes are allowed. */
RONDE_API void ronde_co_run_close(struct ronde_co_run *co_run);

/* What a schedule does to ranks that come at different times. */

/**
 * Replays the steps of a schedule on a network that takes no time, rank r taking no step before
 * come_ns[r], and yields when each rank's last step is over. Both arrays have an entry per rank.
 * Errors: NO_MEMORY; those of ronde_dag_create.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_arrivals_replay(const struct ronde_schedule *schedule, const double *come_ns,
                      double *out_leave_ns, struct ronde_error *error);

#endif
