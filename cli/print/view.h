/**
 * A prediction as people and programs see it: a row with what explains it below, a record with more
 * fields, pictures.
 */
#ifndef RONDE_CLI_VIEW_H
#define RONDE_CLI_VIEW_H

#include "bound_share.h"
#include "cli/cmd/common.h"
#include "predict/scenario/co_run.h"

/** One size predicted, with all that is known of it. Zeroes beside the record are allowed. */
struct ronde_result_view {
    struct ronde_record record;     /**< the result */
    struct ronde_sim_result result; /**< what the engine says; zeroes where nothing was replayed */
    struct ronde_kept kept;         /**< the replay itself */
    bool is_kept;                   /**< kept holds it */
    bool says_why;                  /**< an explanation was asked for */
    const struct ronde_co_run *co_run;     /**< the scenario, or NULL */
    const struct ronde_bound_share *share; /**< the bound it is compared with, or NULL */
};

/** Prints the header of the table. */
void ronde_view_head(const struct ronde_sink *sink);

/** Prints a view into the sink, whatever its format. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_view_print(const struct ronde_result_view *view,
                                                    struct ronde_sink *sink,
                                                    struct ronde_error *error);

/** Writes the trace and the timeline the options ask for; notes what they do not show. Errors: IO; DEVICE; NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_view_draw(const struct ronde_result_view *view,
                                                   const struct ronde_options *options,
                                                   struct ronde_error *error);

#endif
