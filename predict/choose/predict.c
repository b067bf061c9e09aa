/** Predictions. See predict.h. */
#include "ronde/predict.h"
#include "ronde/pieces.h"
#include "ronde/predicted.h"
#include "ronde/split.h"

#include <string.h>

uint64_t ronde_forecast_slot(const struct ronde_platform *platform,
                             const struct ronde_tune_options *options)
{
    return options->slot_bytes ? options->slot_bytes : ronde_platform_facts(platform)->slot_bytes;
}

struct ronde_forecast ronde_forecast_of(const struct ronde_platform *platform,
                                        const struct ronde_schedule *schedule,
                                        const struct ronde_compile_request *request,
                                        const struct ronde_tune_options *options)
{
    struct ronde_forecast forecast = {.platform = platform,
                                      .schedule = schedule,
                                      .request = *request,
                                      .op = options->op,
                                      .puts = options->puts,
                                      .most_steps = options->most_steps};
    forecast.sim.cfg = options->cfg;
    forecast.sim.native_latency = options->native_latency;
    forecast.sim.cancel = options->cancel;
    forecast.sim.progress = options->progress;
    forecast.sim.time_limit_s = (double)options->timeout_ns / 1e9;
    forecast.load.dtype = options->dtype;
    forecast.load.depth = options->depth;
    forecast.slot_bytes = ronde_forecast_slot(platform, options);
    forecast.load.slot_bytes = forecast.slot_bytes;
    return forecast;
}

void ronde_forecast_set_count(struct ronde_forecast *forecast, uint64_t count)
{
    forecast->load.count = count;
    forecast->load.slot_bytes = forecast->slot_bytes;
    ronde_load_cut(&forecast->load, forecast->schedule);
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

bool ronde_prediction_has(const struct ronde_prediction *prediction, const char *label)
{
    for (uint32_t i = 0; i < prediction->label_count; i++)
        if (strcmp(prediction->labels[i], label) == 0)
            return true;
    return false;
}

/** Adds a label; there are never more than there is room for. */
static void add_label(struct ronde_prediction *prediction, const char *label)
{
    if (prediction->label_count < RONDE_PREDICTION_LABELS)
        prediction->labels[prediction->label_count++] = label;
}

/** A prediction by an engine. Ranks that share one host's cores take turns on them, which no model resolves in detail. */
static struct ronde_prediction prediction_of(const struct ronde_forecast *forecast,
                                             const char *engine, double time_ns)
{
    const struct ronde_shared_host *shared = &ronde_platform_facts(forecast->platform)->shared;
    struct ronde_prediction prediction = {.time_ns = time_ns, .engine = engine};
    if (shared->cores > 0 && forecast->schedule->ranks > shared->cores)
        add_label(&prediction, "oversubscribed");
    if (forecast->puts)
        add_label(&prediction, "puts");
    return prediction;
}

uint64_t ronde_forecast_footprint(const struct ronde_forecast *forecast)
{
    const struct ronde_schedule *schedule = forecast->schedule;
    const uint64_t blocks =
        ronde_collective_in_blocks(schedule->collective, schedule->ranks) +
        (uint64_t)ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    return blocks * forecast->load.count * ronde_dtype_bytes(forecast->load.dtype);
}

static struct ronde_time_params params_of(const struct ronde_forecast *forecast)
{
    struct ronde_time_params time =
        ronde_platform_time(forecast->platform, forecast->schedule->ranks,
                            ronde_forecast_footprint(forecast));
    time.puts = forecast->puts;
    return time;
}

/** SimGrid's own model of the network instead of bytes over rate: right for TCP, and not what the file says. */
static bool has_tcp_model(const struct ronde_sim_options *sim)
{
    static const char key[] = "network/model:";
    bool has = false;
    for (const char *const *flag = sim->cfg; flag && *flag; flag++)
        if (strncmp(*flag, key, sizeof key - 1) == 0)
            has = strcmp(*flag + sizeof key - 1, "CM02") != 0;
    return has;
}

struct ronde_prediction ronde_forecast_replayed(const struct ronde_forecast *forecast,
                                                const struct ronde_sim_result *result)
{
    struct ronde_prediction prediction = prediction_of(forecast, result->engine, result->time_ns);
    prediction.is_replayed = true;
    prediction.result = *result;
    if (result->is_symmetric)
        add_label(&prediction, "symmetric");
    if (result->window > 0)
        add_label(&prediction, "extrapolated");
    if (strcmp(result->engine, "flat_fifo") == 0)
        add_label(&prediction, "approximate");
    else if (!result->is_contention_free)
        add_label(&prediction, "contention_ignored");
    if (result->is_multicast_ignored)
        add_label(&prediction, "multicast_ignored");
    if (ronde_platform_facts(forecast->platform)->is_tcp || has_tcp_model(&forecast->sim))
        add_label(&prediction, "tcp_model");
    return prediction;
}

static enum ronde_status run_job(const struct ronde_forecast *forecast, const char *engine,
                                 const struct ronde_sim_options *sim,
                                 struct ronde_sim_result *out_result, struct ronde_error *error)
{
    const struct ronde_time_params params = params_of(forecast);
    const struct ronde_sim_job job = {forecast->platform, forecast->schedule, &forecast->load,
                                      &params};
    return ronde_sim_job_run(&job, engine, sim, ronde_mem_default(), out_result, error);
}

enum ronde_status ronde_forecast_replay(const struct ronde_forecast *forecast, const char *engine,
                                        struct ronde_prediction *out_prediction,
                                        struct ronde_error *error)
{
    struct ronde_sim_result result = {0};
    RONDE_TRY(run_job(forecast, engine, &forecast->sim, &result, error));
    *out_prediction = ronde_forecast_replayed(forecast, &result);
    return RONDE_OK;
}

enum ronde_status ronde_forecast_graph(const struct ronde_forecast *forecast,
                                       struct ronde_dag **out_dag, struct ronde_error *error)
{
    const struct ronde_time_params params = params_of(forecast);
    const struct ronde_sim_job job = {forecast->platform, forecast->schedule, &forecast->load,
                                      &params};
    bool is_multicast_ignored;
    return ronde_sim_graph(&job, &forecast->sim, true, ronde_mem_default(), out_dag,
                           &is_multicast_ignored, error);
}

uint64_t ronde_forecast_steps(const struct ronde_forecast *forecast)
{
    const struct ronde_schedule *schedule = forecast->schedule;
    const struct ronde_load *load = &forecast->load;
    const uint64_t pieces =
        load->slot_bytes ? ronde_piece_count(schedule, load->count, ronde_dtype_bytes(load->dtype),
                                             load->slot_bytes)
                         : 1;
    uint64_t steps = 0;
    for (uint32_t p = 0; p < schedule->ranks; p++)
        steps += schedule->programs[schedule->program_of ? schedule->program_of[p] : 0].step_count;
    return steps * schedule->channel_count * pieces;
}

/** Room for the times and the path of a graph, and what is to be explained. */
static enum ronde_status prepare(struct ronde_kept *kept, const struct ronde_platform *platform,
                                 struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_dag *dag = kept->scene ? &kept->scene->dag : kept->dag;
    const uint32_t ranks = kept->scene ? kept->scene->places[0].ranks : 0;
    kept->replay = (struct ronde_replay){platform, dag, &kept->sim, ranks};
    kept->sim.out_start_ns = ronde_mem_new(mem, dag->op_count, sizeof(double));
    kept->sim.out_finish_ns = ronde_mem_new(mem, dag->op_count, sizeof(double));
    kept->on_path = ronde_mem_new(mem, dag->op_count, sizeof *kept->on_path);
    if (kept->sim.out_start_ns && kept->sim.out_finish_ns && kept->on_path)
        return RONDE_OK;
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory to keep the times of %u steps",
                      dag->op_count);
}

static enum ronde_status explain(struct ronde_kept *kept, struct ronde_error *error)
{
    return ronde_why_find(&kept->replay, ronde_mem_default(), kept->on_path, &kept->why, error);
}

/** The engine makes a graph of its own; the same schedule gives the same graph, so its times are those of ours. */
enum ronde_status ronde_forecast_keep(const struct ronde_forecast *forecast, const char *engine,
                                      struct ronde_kept *out_kept, struct ronde_error *error)
{
    const uint64_t steps = ronde_forecast_steps(forecast);
    if (steps > RONDE_KEPT_STEPS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%llu steps are too many to keep the times of (at most %u)",
                          (unsigned long long)steps, RONDE_KEPT_STEPS);
    out_kept->sim = forecast->sim;
    RONDE_TRY(ronde_forecast_graph(forecast, &out_kept->dag, error));
    RONDE_TRY(prepare(out_kept, forecast->platform, error));
    RONDE_TRY(run_job(forecast, engine, &out_kept->sim, &out_kept->result, error));
    return explain(out_kept, error);
}

enum ronde_status ronde_scene_keep(struct ronde_kept *kept, const struct ronde_platform *platform,
                                   const char *engine, struct ronde_error *error)
{
    RONDE_TRY(prepare(kept, platform, error));
    /* Scenes are graphs, not jobs: no quotient and no period speaks for several schedules. */
    RONDE_TRY(ronde_sim_graph_run(platform, kept->replay.dag, engine, &kept->sim,
                                  ronde_mem_default(), &kept->result, error));
    return explain(kept, error);
}

void ronde_kept_release(struct ronde_kept *kept)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t count = kept->replay.dag ? kept->replay.dag->op_count : 0;
    ronde_mem_free(mem, kept->sim.out_start_ns, count, sizeof(double));
    ronde_mem_free(mem, kept->sim.out_finish_ns, count, sizeof(double));
    ronde_mem_free(mem, kept->on_path, count, sizeof *kept->on_path);
    ronde_dag_destroy(kept->dag, mem);
    ronde_scene_destroy(kept->scene);
    *kept = (struct ronde_kept){.dag = NULL};
}

/** The network, a label where it is not what every pair sees, and whether it is. */
static enum ronde_status
network_of(const struct ronde_forecast *forecast, struct ronde_network *out_network,
           struct ronde_prediction *prediction, bool *out_is_uniform, struct ronde_error *error)
{
    bool is_uniform = false;
    const enum ronde_status status =
        ronde_platform_network(forecast->platform, forecast->schedule->ranks,
                               ronde_forecast_footprint(forecast), out_network, &is_uniform, error);
    /* One network for all pairs: a fair share of what they share, or the slowest pair's. */
    const struct ronde_shared_host *shared = &ronde_platform_facts(forecast->platform)->shared;
    const bool is_shared = shared->cores > 0 || shared->memory_GBps > 0.0;
    if (status == RONDE_OK && !is_uniform)
        add_label(prediction, is_shared ? "fair_share" : "worst_pair");
    out_network->time.puts = forecast->puts;
    *out_is_uniform = is_uniform;
    return status;
}

/** Steps of a replay that tells what links carry, and of one on a quotient, where they cost next to nothing. */
#define MOST_LINK_STEPS ((uint64_t)1 << 22)
#define MOST_QUOTIENT_LINK_STEPS ((uint64_t)1 << 28)

/**
 * One network for all pairs knows nothing of links that pairs share: no time is less than what the busiest link takes for
 * its bytes. Where that is too long to find out, or engines have no routes, the price stands as it is, a label says of what.
 */
static void limit_by_links(const struct ronde_forecast *forecast,
                           struct ronde_prediction *prediction)
{
    struct ronde_sim_result result = {0};
    const uint64_t steps = ronde_forecast_steps(forecast);
    const bool is_quotient = forecast->schedule->symmetry != RONDE_SYMMETRY_NONE;
    if (steps > (is_quotient ? MOST_QUOTIENT_LINK_STEPS : MOST_LINK_STEPS) ||
        run_job(forecast, "flat", &forecast->sim, &result, NULL) != RONDE_OK)
        return;
    const double launch_ns = ronde_platform_facts(forecast->platform)->time.launch_ns;
    const double link_ns = launch_ns + (result.time_ns - launch_ns) * result.busiest_utilisation;
    if (link_ns <= prediction->time_ns)
        return;
    prediction->time_ns = link_ns;
    add_label(prediction, "link_limited");
}

bool ronde_forecast_shares_ports(const struct ronde_forecast *forecast,
                                 const struct ronde_algorithm *algorithm)
{
    const struct ronde_price_case what = {.ranks = forecast->schedule->ranks,
                                          .channels = forecast->schedule->channel_count,
                                          .pieces = 1,
                                          .depth = 1,
                                          .port_flows = 1};
    return algorithm && algorithm->shares_ports && algorithm->shares_ports(&what);
}

enum ronde_status ronde_forecast_closed_form(const struct ronde_forecast *forecast,
                                             struct ronde_prediction *out_prediction,
                                             struct ronde_error *error)
{
    struct ronde_prediction prediction = prediction_of(forecast, "closed_form", 0.0);
    struct ronde_network network;
    bool is_uniform = false;
    const struct ronde_algorithm *algorithm =
        ronde_algorithm_find(forecast->request.collective, forecast->request.algorithm, error);
    if (!algorithm)
        return RONDE_BAD_ARGUMENT;
    RONDE_TRY(network_of(forecast, &network, &prediction, &is_uniform, error));
    const struct ronde_price price = algorithm->price(&forecast->request, &forecast->load, &network);
    prediction.time_ns = price.time_ns;
    if (!is_uniform)
        limit_by_links(forecast, &prediction);
    const bool is_exact = price.is_exact && is_uniform && !ronde_time_is_sized(&network.time) &&
                          !ronde_forecast_shares_ports(forecast, algorithm);
    add_label(&prediction, is_exact ? "exact" : "approximate");
    *out_prediction = prediction;
    return RONDE_OK;
}

enum ronde_status ronde_forecast_dag(const struct ronde_forecast *forecast,
                                     struct ronde_prediction *out_prediction,
                                     struct ronde_error *error)
{
    struct ronde_prediction prediction = prediction_of(forecast, "dag", 0.0);
    struct ronde_network network;
    bool is_uniform = false;
    RONDE_TRY(network_of(forecast, &network, &prediction, &is_uniform, error));
    RONDE_TRY(ronde_dag_price(forecast->schedule, &forecast->load, &network, ronde_mem_default(),
                              &prediction.time_ns, error));
    if (!is_uniform)
        limit_by_links(forecast, &prediction);
    *out_prediction = prediction;
    return RONDE_OK;
}

/* Predictions as records. */

/** The record of a prediction. Its texts are those of the forecast's platform and schedule, which outlive it. */
static struct ronde_record record_of(const struct ronde_forecast *forecast,
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
    return record_of(forecast, &prediction);
}

enum ronde_status ronde_record_replay(const struct ronde_forecast *forecast, const char *engine,
                                      struct ronde_record *out_record,
                                      struct ronde_sim_result *out_result, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    RONDE_TRY(ronde_forecast_replay(forecast, engine, &prediction, error));
    *out_record = record_of(forecast, &prediction);
    if (out_result)
        *out_result = prediction.result;
    return RONDE_OK;
}

enum ronde_status ronde_record_keep(const struct ronde_forecast *forecast, const char *engine,
                                    struct ronde_record *out_record, struct ronde_kept *out_kept,
                                    struct ronde_error *error)
{
    RONDE_TRY(ronde_forecast_keep(forecast, engine, out_kept, error));
    *out_record = ronde_record_replayed(forecast, &out_kept->result);
    return RONDE_OK;
}

enum ronde_status ronde_record_closed_form(const struct ronde_forecast *forecast,
                                           struct ronde_record *out_record,
                                           struct ronde_error *error)
{
    struct ronde_prediction prediction;
    RONDE_TRY(ronde_forecast_closed_form(forecast, &prediction, error));
    *out_record = record_of(forecast, &prediction);
    return RONDE_OK;
}

enum ronde_status ronde_record_dag(const struct ronde_forecast *forecast,
                                   struct ronde_record *out_record, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    RONDE_TRY(ronde_forecast_dag(forecast, &prediction, error));
    *out_record = record_of(forecast, &prediction);
    return RONDE_OK;
}
