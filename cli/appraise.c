/* Prices on a platform. See appraise.h. */
#include "appraise.h"

#include <string.h>

enum ronde_status ronde_appraiser_open(const struct ronde_platform *platform,
                                       const struct ronde_options *options, uint32_t ranks,
                                       struct ronde_appraiser *out_appraiser,
                                       struct ronde_error *error)
{
    struct ronde_appraiser appraiser = {.platform = platform, .options = options, .ranks = ranks};
    if (strcmp(options->engine, "auto") != 0)
        appraiser.engine = options->engine;
    const enum ronde_status status = ronde_platform_network(platform, ranks, 0, &appraiser.network,
                                                            &appraiser.is_uniform, error);
    if (status == RONDE_OK)
        *out_appraiser = appraiser;
    return status;
}

struct ronde_load ronde_appraiser_load(const struct ronde_appraiser *appraiser, uint64_t count)
{
    return (struct ronde_load){
        .count = count,
        .dtype = appraiser->options->dtype,
        .slot_bytes = ronde_forecast_slot(appraiser->platform, appraiser->options),
        .depth = appraiser->options->depth,
    };
}

static struct ronde_forecast forecast_of(const struct ronde_appraiser *appraiser,
                                         const struct ronde_candidate *candidate,
                                         const struct ronde_load *load)
{
    struct ronde_forecast forecast = ronde_forecast_of(appraiser->platform, candidate->schedule,
                                                       &candidate->request, appraiser->options);
    forecast.load = *load;
    forecast.sim.host_of = appraiser->host_of;
    return forecast;
}

/* The network of a load. Only machines with curves or shared cores see another one for other sizes. */
static enum ronde_status network_of(const struct ronde_appraiser *appraiser,
                                    const struct ronde_forecast *forecast,
                                    struct ronde_network *out_network, struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(appraiser->platform);
    bool is_uniform = false;
    *out_network = appraiser->network;
    if (facts->copy_curve.count == 0 && facts->gamma_curve.count == 0)
        return RONDE_OK;
    return ronde_platform_network(appraiser->platform, appraiser->ranks,
                                  ronde_forecast_footprint(forecast), out_network, &is_uniform,
                                  error);
}

/* Formula or longest path. */
static enum ronde_status price_on_network(const struct ronde_appraiser *appraiser,
                                          const struct ronde_candidate *candidate,
                                          const struct ronde_forecast *forecast,
                                          struct ronde_quote *out_quote, struct ronde_error *error)
{
    struct ronde_network network;
    enum ronde_status status = network_of(appraiser, forecast, &network, error);
    const struct ronde_pricer pricer = ronde_network_pricer(&network);
    if (status == RONDE_OK)
        status = pricer.price(pricer.self, candidate, &forecast->load, ronde_mem_default(),
                              out_quote, error);
    if (status == RONDE_OK)
        out_quote->is_exact = out_quote->is_exact && appraiser->is_uniform;
    return status;
}

static enum ronde_status replay(const struct ronde_forecast *forecast, const char *engine,
                                struct ronde_quote *out_quote, struct ronde_error *error)
{
    struct ronde_record record;
    struct ronde_sim_result result = {0};
    const enum ronde_status status =
        ronde_forecast_replay(forecast, engine, &record, &result, error);
    if (status == RONDE_OK)
        *out_quote = (struct ronde_quote){result.time_ns, result.engine,
                                          result.is_contention_free &&
                                              !ronde_record_has_label(&record, "approximate")};
    return status;
}

/*
 * What a replay may go through: a tenth of a second's work, as a plan asks for hundreds. On a quotient steps cost next to
 * nothing, but each pair of ranks that talks has a route to be found.
 */
#define MOST_STEPS ((uint64_t)1 << 17)
#define MOST_QUOTIENT_STEPS (MOST_STEPS << 8)
#define MOST_ROUTES ((uint64_t)1 << 17)

static bool is_short(const struct ronde_candidate *candidate, const struct ronde_load *load)
{
    return ronde_candidate_steps(candidate, load) <= MOST_STEPS;
}

static bool has_short_quotient(const struct ronde_candidate *candidate,
                               const struct ronde_load *load)
{
    const struct ronde_schedule *schedule = candidate->schedule;
    return schedule->symmetry != RONDE_SYMMETRY_NONE &&
           (uint64_t)schedule->programs[0].connection_count * schedule->ranks <= MOST_ROUTES &&
           ronde_candidate_steps(candidate, load) <= MOST_QUOTIENT_STEPS;
}

/* Over the routes: alone where nothing is shared, in queues where something is. */
static enum ronde_status price_on_routes(const struct ronde_appraiser *appraiser,
                                         const struct ronde_candidate *candidate,
                                         const struct ronde_forecast *forecast,
                                         struct ronde_quote *out_quote, struct ronde_error *error)
{
    const bool has_queues = is_short(candidate, &forecast->load);
    if (has_queues || has_short_quotient(candidate, &forecast->load)) {
        const enum ronde_status status = replay(forecast, "flat", out_quote, error);
        if (status != RONDE_OK || out_quote->is_exact)
            return status;
    }
    return has_queues ? replay(forecast, "flat_fifo", out_quote, error)
                      : price_on_network(appraiser, candidate, forecast, out_quote, error);
}

/* The engine that the platform has numbers for; NULL where links are all there is. */
static const char *own_engine(const struct ronde_appraiser *appraiser)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(appraiser->platform);
    if (appraiser->engine)
        return appraiser->engine;
    /* Only SimGrid knows what its own flags and models mean. */
    if (facts->is_tcp || appraiser->options->cfg_count > 0 || appraiser->options->native_latency)
        return "simgrid";
    if (ronde_platform_has_caches(appraiser->platform))
        return "cores";
    return facts->packets.segment_bytes > 0 ? "ports" : NULL;
}

/* Shared cores without measured caches are no links, and ranks without a host have none. */
static bool has_routes(const struct ronde_appraiser *appraiser)
{
    const struct ronde_shared_host *shared = &ronde_platform_facts(appraiser->platform)->shared;
    return shared->cores == 0 && shared->memory_GBps <= 0.0 && !appraiser->is_stretched;
}

static enum ronde_status price(const void *self, const struct ronde_candidate *candidate,
                               const struct ronde_load *load, const struct ronde_mem *mem,
                               struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_appraiser *appraiser = self;
    const struct ronde_forecast forecast = forecast_of(appraiser, candidate, load);
    const char *engine = load->count > 0 && !appraiser->is_stretched ? own_engine(appraiser) : NULL;
    enum ronde_status status = RONDE_OK;
    (void)mem;
    if (engine && (appraiser->engine || is_short(candidate, load)))
        return replay(&forecast, engine, out_quote, error);
    if (engine || load->count == 0 || !has_routes(appraiser))
        return price_on_network(appraiser, candidate, &forecast, out_quote, error);
    *out_quote = (struct ronde_quote){.is_exact = false};
    if (appraiser->is_uniform)
        status = price_on_network(appraiser, candidate, &forecast, out_quote, error);
    if (status != RONDE_OK || out_quote->is_exact)
        return status;
    return price_on_routes(appraiser, candidate, &forecast, out_quote, error);
}

struct ronde_pricer ronde_appraiser_pricer(const struct ronde_appraiser *appraiser)
{
    return (struct ronde_pricer){.self = appraiser, .price = price};
}
