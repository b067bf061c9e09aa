/**
 * Predictions as records: what was asked, what says so, the time, and labels that say how it came about.
 */
#ifndef RONDE_PREDICTED_H
#define RONDE_PREDICTED_H

#include "ronde/predict.h"
#include "ronde/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Replays, as ronde_forecast_replay. out_result may be NULL. Errors: the same. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_record_replay(const struct ronde_forecast *forecast, const char *engine,
                    struct ronde_record *out_record, struct ronde_sim_result *out_result,
                    struct ronde_error *error);

/** Replays and keeps what explains it, as ronde_forecast_keep. Errors: the same. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_record_keep(const struct ronde_forecast *forecast, const char *engine,
                  struct ronde_record *out_record, struct ronde_kept *out_kept,
                  struct ronde_error *error);

/** The record of an engine's result, as ronde_forecast_replayed. */
RONDE_API struct ronde_record ronde_record_replayed(const struct ronde_forecast *forecast,
                                                    const struct ronde_sim_result *result);

/** The closed form, as ronde_forecast_closed_form. Errors: the same. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_record_closed_form(const struct ronde_forecast *forecast, struct ronde_record *out_record,
                         struct ronde_error *error);

/** The longest path, as ronde_forecast_dag. Errors: the same. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_record_dag(const struct ronde_forecast *forecast,
                                                              struct ronde_record *out_record,
                                                              struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
