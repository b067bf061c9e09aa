/* Predictions: from a platform and a schedule to records. */
#include "predict.h"

#include <string.h>

struct ronde_forecast
ronde_forecast_of(const struct ronde_platform *platform, const struct ronde_schedule *schedule,
                  const struct ronde_request *request, const struct ronde_options *options)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    struct ronde_forecast forecast = {.platform = platform,
                                      .schedule = schedule,
                                      .request = *request,
                                      .op = options->op};
    forecast.load.dtype = options->dtype;
    forecast.load.depth = options->depth;
    forecast.load.slot_bytes = options->slot_bytes ? options->slot_bytes : facts->slot_bytes;
    return forecast;
}

enum ronde_status ronde_forecast_check(const struct ronde_forecast *forecast,
                                       struct ronde_error *error)
{
    const uint32_t hosts = ronde_platform_facts(forecast->platform)->hosts;
    if (forecast->schedule->ranks > hosts)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s has %u hosts, fewer than %u ranks",
                          ronde_platform_path(forecast->platform), hosts, forecast->schedule->ranks);
    return RONDE_OK;
}

/* Ranks that share one host's cores take turns on them, which no model here resolves in detail. */
static void label_sharing(const struct ronde_forecast *forecast, struct ronde_record *record)
{
    const struct ronde_shared_host *shared = &ronde_platform_facts(forecast->platform)->shared;
    if (shared->cores > 0 && forecast->schedule->ranks > shared->cores)
        ronde_record_label(record, "oversubscribed");
}

/* What every prediction's record says alike. */
static struct ronde_record record_of(const struct ronde_forecast *forecast, const char *engine)
{
    struct ronde_record record = ronde_record_of(forecast->schedule, &forecast->load);
    record.engine = engine;
    record.op = forecast->op;
    record.machine = ronde_platform_facts(forecast->platform)->name;
    record.topology = ronde_platform_path(forecast->platform);
    label_sharing(forecast, &record);
    return record;
}

/* Bytes of a rank's input and output: what decides from which memory they come. */
static uint64_t footprint_of(const struct ronde_forecast *forecast)
{
    const struct ronde_schedule *schedule = forecast->schedule;
    const uint64_t blocks =
        ronde_collective_in_blocks(schedule->collective, schedule->ranks) +
        (uint64_t)ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    return blocks * forecast->load.count * ronde_dtype_bytes(forecast->load.dtype);
}

/* By name, as typed. */
static enum ronde_status replay(const struct ronde_forecast *forecast, const char *engine,
                                const struct ronde_dag *dag, struct ronde_sim_result *out_result,
                                struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_sim_options options = {0};
    if (strcmp(engine, "auto") == 0)
        return ronde_sim_auto(forecast->platform, dag, &options, mem, out_result, error);
    if (strcmp(engine, "flat") == 0)
        return ronde_sim_flat(forecast->platform, dag, &options, mem, out_result, error);
    if (strcmp(engine, "simgrid") == 0)
        return ronde_sim_simgrid(forecast->platform, dag, &options, out_result, error);
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "unknown engine \"%s\"; there are auto, flat, simgrid", engine);
}

enum ronde_status ronde_forecast_replay(const struct ronde_forecast *forecast, const char *engine,
                                        struct ronde_record *out_record,
                                        struct ronde_sim_result *out_result,
                                        struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_time_params params =
        ronde_platform_time(forecast->platform, forecast->schedule->ranks, footprint_of(forecast));
    struct ronde_sim_result result = {0};
    struct ronde_dag *dag = NULL;
    enum ronde_status status =
        ronde_dag_create(forecast->schedule, &forecast->load, &params, mem, &dag, error);
    if (status == RONDE_OK)
        status = replay(forecast, engine, dag, &result, error);
    ronde_dag_destroy(dag, mem);
    if (status != RONDE_OK)
        return status;
    struct ronde_record record = record_of(forecast, result.engine);
    record.kind = RONDE_RECORD_SIMULATED;
    ronde_record_predict(&record, result.time_ns);
    if (!result.is_contention_free)
        ronde_record_label(&record, "contention_ignored");
    *out_record = record;
    if (out_result)
        *out_result = result;
    return RONDE_OK;
}

/* The network, a label where it is not what every pair sees, and whether it is. */
static enum ronde_status network_of(const struct ronde_forecast *forecast,
                                    struct ronde_network *out_network, struct ronde_record *record,
                                    bool *out_is_uniform, struct ronde_error *error)
{
    bool is_uniform = false;
    const enum ronde_status status =
        ronde_platform_network(forecast->platform, forecast->schedule->ranks,
                               footprint_of(forecast), out_network, &is_uniform, error);
    /* One network for all pairs: a fair share of what they share, or the slowest pair's. */
    const struct ronde_shared_host *shared = &ronde_platform_facts(forecast->platform)->shared;
    const bool is_shared = shared->cores > 0 || shared->memory_GBps > 0.0;
    if (status == RONDE_OK && !is_uniform)
        ronde_record_label(record, is_shared ? "fair_share" : "worst_pair");
    *out_is_uniform = is_uniform;
    return status;
}

enum ronde_status ronde_forecast_closed_form(const struct ronde_forecast *forecast,
                                             struct ronde_record *out_record,
                                             struct ronde_error *error)
{
    struct ronde_record record = record_of(forecast, "closed_form");
    struct ronde_network network;
    bool is_uniform = false;
    const struct ronde_algorithm *algorithm =
        ronde_algorithm_find(forecast->request.collective, forecast->request.algorithm, error);
    if (!algorithm)
        return RONDE_BAD_ARGUMENT;
    const enum ronde_status status = network_of(forecast, &network, &record, &is_uniform, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_price price = algorithm->price(&forecast->request, &forecast->load, &network);
    record.kind = RONDE_RECORD_MODELLED;
    ronde_record_predict(&record, price.time_ns);
    ronde_record_label(&record, price.is_exact && is_uniform ? "exact" : "approximate");
    *out_record = record;
    return RONDE_OK;
}

enum ronde_status ronde_forecast_dag(const struct ronde_forecast *forecast,
                                     struct ronde_record *out_record, struct ronde_error *error)
{
    struct ronde_record record = record_of(forecast, "dag");
    struct ronde_network network;
    bool is_uniform = false;
    double time_ns = 0.0;
    enum ronde_status status = network_of(forecast, &network, &record, &is_uniform, error);
    if (status == RONDE_OK)
        status = ronde_dag_price(forecast->schedule, &forecast->load, &network, ronde_mem_default(),
                                 &time_ns, error);
    if (status != RONDE_OK)
        return status;
    record.kind = RONDE_RECORD_MODELLED;
    ronde_record_predict(&record, time_ns);
    *out_record = record;
    return RONDE_OK;
}
