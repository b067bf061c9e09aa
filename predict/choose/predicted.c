/** Predictions as records. See predicted.h. */
#include "ronde/predicted.h"

struct ronde_record ronde_record_predicted(const struct ronde_forecast *forecast,
                                           const struct ronde_prediction *prediction)
{
    struct ronde_record record = ronde_record_of(forecast->schedule, &forecast->load);
    record.kind = prediction->is_replayed ? RONDE_RECORD_SIMULATED : RONDE_RECORD_MODELLED;
    record.engine = prediction->engine;
    record.op = forecast->op;
    record.machine = ronde_platform_facts(forecast->platform)->name;
    record.topology = ronde_platform_path(forecast->platform);
    ronde_record_predict(&record, prediction->time_ns);
    for (uint32_t i = 0; i < prediction->label_count; i++)
        ronde_record_label(&record, prediction->labels[i]);
    return record;
}

struct ronde_record ronde_record_replayed(const struct ronde_forecast *forecast,
                                          const struct ronde_sim_result *result)
{
    const struct ronde_prediction prediction = ronde_forecast_replayed(forecast, result);
    return ronde_record_predicted(forecast, &prediction);
}

enum ronde_status ronde_record_replay(const struct ronde_forecast *forecast, const char *engine,
                                      struct ronde_record *out_record,
                                      struct ronde_sim_result *out_result, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    const enum ronde_status status = ronde_forecast_replay(forecast, engine, &prediction, error);
    if (status != RONDE_OK)
        return status;
    *out_record = ronde_record_predicted(forecast, &prediction);
    if (out_result)
        *out_result = prediction.result;
    return RONDE_OK;
}

enum ronde_status ronde_record_keep(const struct ronde_forecast *forecast, const char *engine,
                                    struct ronde_record *out_record, struct ronde_kept *out_kept,
                                    struct ronde_error *error)
{
    const enum ronde_status status = ronde_forecast_keep(forecast, engine, out_kept, error);
    if (status == RONDE_OK)
        *out_record = ronde_record_replayed(forecast, &out_kept->result);
    return status;
}

enum ronde_status ronde_record_closed_form(const struct ronde_forecast *forecast,
                                           struct ronde_record *out_record,
                                           struct ronde_error *error)
{
    struct ronde_prediction prediction;
    const enum ronde_status status = ronde_forecast_closed_form(forecast, &prediction, error);
    if (status == RONDE_OK)
        *out_record = ronde_record_predicted(forecast, &prediction);
    return status;
}

enum ronde_status ronde_record_dag(const struct ronde_forecast *forecast,
                                   struct ronde_record *out_record, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    const enum ronde_status status = ronde_forecast_dag(forecast, &prediction, error);
    if (status == RONDE_OK)
        *out_record = ronde_record_predicted(forecast, &prediction);
    return status;
}
