/** Prices on a platform. See platform_price.h. */
#include "ronde/platform_price.h"

#include "ronde/pieces.h"

#include <math.h>
#include <string.h>

enum ronde_status
ronde_platform_pricer_open(const struct ronde_platform *platform,
                           const struct ronde_tune_options *options, uint32_t ranks,
                           struct ronde_platform_pricer *out_pricer, struct ronde_error *error)
{
    struct ronde_platform_pricer platform_pricer = {.platform = platform,
                                                    .options = *options,
                                                    .ranks = ranks};
    if (options->engine && strcmp(options->engine, "auto") != 0)
        platform_pricer.engine = options->engine;
    const enum ronde_status status =
        ronde_platform_network(platform, ranks, 0, &platform_pricer.network,
                               &platform_pricer.is_uniform, error);
    if (status == RONDE_OK)
        *out_pricer = platform_pricer;
    return status;
}

struct ronde_load ronde_platform_pricer_load(const struct ronde_platform_pricer *platform_pricer,
                                             uint64_t count)
{
    return (struct ronde_load){
        .count = count,
        .dtype = platform_pricer->options.dtype,
        .slot_bytes = ronde_forecast_slot(platform_pricer->platform, &platform_pricer->options),
        .depth = platform_pricer->options.depth,
    };
}

static struct ronde_forecast forecast_of(const struct ronde_platform_pricer *platform_pricer,
                                         const struct ronde_candidate *candidate,
                                         const struct ronde_load *load)
{
    struct ronde_forecast forecast =
        ronde_forecast_of(platform_pricer->platform, candidate->schedule, &candidate->request,
                          &platform_pricer->options);
    forecast.load = *load;
    ronde_load_cut(&forecast.load, candidate->schedule);
    forecast.sim.host_of = platform_pricer->host_of;
    return forecast;
}

/** The network of a load. Only machines with curves or shared cores see another one for other sizes. */
static enum ronde_status network_of(const struct ronde_platform_pricer *platform_pricer,
                                    const struct ronde_forecast *forecast,
                                    struct ronde_network *out_network, struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform_pricer->platform);
    bool is_uniform = false;
    *out_network = platform_pricer->network;
    if (facts->copy_curve.count == 0 && facts->gamma_curve.count == 0)
        return RONDE_OK;
    return ronde_platform_network(platform_pricer->platform, platform_pricer->ranks,
                                  ronde_forecast_footprint(forecast), out_network, &is_uniform,
                                  error);
}

/** Whether two messages of a candidate may be in a port at once, of which neither its formula nor its longest path knows. */
static bool shares_ports(const struct ronde_candidate *candidate)
{
    const struct ronde_price_case what = {.ranks = candidate->request.ranks,
                                          .channels = candidate->schedule->channel_count,
                                          .pieces = 1,
                                          .depth = 1,
                                          .port_flows = 1};
    return candidate->algorithm && candidate->algorithm->shares_ports &&
           candidate->algorithm->shares_ports(&what);
}

/** Formula or longest path. */
static enum ronde_status price_on_network(const struct ronde_platform_pricer *platform_pricer,
                                          const struct ronde_candidate *candidate,
                                          const struct ronde_forecast *forecast,
                                          struct ronde_quote *out_quote, struct ronde_error *error)
{
    struct ronde_network network;
    enum ronde_status status = network_of(platform_pricer, forecast, &network, error);
    const struct ronde_pricer pricer = ronde_network_pricer(&network);
    if (status == RONDE_OK)
        status = pricer.price(pricer.self, candidate, &forecast->load, ronde_mem_default(),
                              out_quote, error);
    /* A longest path is one of messages that each go alone, which only the routes can certify. */
    if (status == RONDE_OK)
        out_quote->is_exact = out_quote->is_exact && platform_pricer->is_uniform &&
                              !shares_ports(candidate) &&
                              strcmp(out_quote->engine, "closed_form") == 0;
    return status;
}

static enum ronde_status replay(const struct ronde_forecast *forecast, const char *engine,
                                struct ronde_quote *out_quote, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    const enum ronde_status status = ronde_forecast_replay(forecast, engine, &prediction, error);
    if (status == RONDE_OK)
        *out_quote =
            (struct ronde_quote){.time_ns = prediction.time_ns,
                                 .engine = prediction.engine,
                                 .is_exact = prediction.result.is_contention_free &&
                                             !ronde_prediction_has(&prediction, "approximate")};
    return status;
}

/*
 * What a replay may go through: a tenth of a second's work, as a plan asks for hundreds. On a quotient steps cost next to
 * nothing, but each pair of ranks that talks has a route to be found. Links are shared for the cheapest few alone, which
 * may take longer.
 */
#define MOST_STEPS ((uint64_t)1 << 17)
#define MOST_QUOTIENT_STEPS (MOST_STEPS << 8)
#define MOST_ROUTES ((uint64_t)1 << 18)
#define MOST_SHARED_STEPS ((uint64_t)1 << 20)

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

/**
 * Over the routes, every message as fast as alone. Where links are needed for more than they have that is a bound: sharing
 * only delays, and the busiest link takes what its bytes take.
 */
static enum ronde_status price_on_routes(const struct ronde_platform_pricer *platform_pricer,
                                         const struct ronde_candidate *candidate,
                                         const struct ronde_forecast *forecast,
                                         struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_load *load = &forecast->load;
    struct ronde_prediction prediction;
    if (!is_short(candidate, load) && !has_short_quotient(candidate, load)) {
        const enum ronde_status status =
            price_on_network(platform_pricer, candidate, forecast, out_quote, error);
        out_quote->is_bound = status == RONDE_OK && !out_quote->is_exact;
        return status;
    }
    const enum ronde_status status = ronde_forecast_replay(forecast, "flat", &prediction, error);
    if (status != RONDE_OK)
        return status;
    const bool is_alone = prediction.result.is_contention_free;
    const double launch_ns = ronde_platform_facts(platform_pricer->platform)->time.launch_ns;
    const double excess = fmax(1.0, prediction.result.busiest_utilisation);
    *out_quote =
        (struct ronde_quote){.time_ns = is_alone
                                            ? prediction.time_ns
                                            : launch_ns + (prediction.time_ns - launch_ns) * excess,
                             .engine = prediction.engine,
                             .is_exact = is_alone,
                             .is_bound = !is_alone};
    return RONDE_OK;
}

/** A candidate of fewer ranks with as many bytes a chunk, whose links can be shared; ranks 0 where there is none. */
struct smaller {
    struct ronde_platform_pricer pricer;
    struct ronde_candidate candidate;
    struct ronde_load load;
};

/** Steps grow at most with the square of the ranks; what was laid out for so many ranks is of no use to fewer. */
static uint32_t fewer_ranks(const struct ronde_candidate *candidate, const struct ronde_load *load)
{
    const struct ronde_compile_request *request = &candidate->request;
    uint64_t steps = ronde_candidate_steps(candidate, load);
    uint32_t ranks = request->ranks;
    if (!candidate->algorithm || request->order || request->channel_orders || request->source_of ||
        request->shape_count > 0)
        return 0;
    for (; steps > MOST_STEPS * 2; steps /= 4)
        ranks /= 2;
    return ranks > request->root ? ranks : 0;
}

static enum ronde_status open_smaller(const struct ronde_platform_pricer *platform_pricer,
                                      const struct ronde_candidate *candidate,
                                      const struct ronde_load *load, const struct ronde_mem *mem,
                                      struct smaller *smaller, struct ronde_error *error)
{
    struct ronde_error why = {RONDE_OK, 0, ""};
    smaller->candidate =
        (struct ronde_candidate){.algorithm = candidate->algorithm, .request = candidate->request};
    struct ronde_compile_request *request = &smaller->candidate.request;
    request->ranks = fewer_ranks(candidate, load);
    if (request->ranks < 2 || candidate->algorithm->supports(request, NULL) != RONDE_OK)
        return RONDE_UNSUPPORTED;
    enum ronde_status status = ronde_compile(request, mem, NULL, &smaller->candidate.own, &why);
    smaller->candidate.schedule = smaller->candidate.own;
    if (status == RONDE_OK)
        status = ronde_platform_pricer_open(platform_pricer->platform, &platform_pricer->options,
                                            request->ranks, &smaller->pricer, &why);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s", why.message);
    smaller->pricer.host_of = platform_pricer->host_of;
    smaller->load = *load;
    smaller->load.count =
        (uint64_t)((double)load->count * smaller->candidate.schedule->chunks_per_block /
                   candidate->schedule->chunks_per_block);
    return RONDE_OK;
}

/** How much longer sharing links makes what fewer ranks do than the same kind of price says. */
static enum ronde_status find_excess(const struct smaller *smaller, bool is_on_routes,
                                     double *out_excess, struct ronde_error *error)
{
    const struct ronde_forecast forecast =
        forecast_of(&smaller->pricer, &smaller->candidate, &smaller->load);
    struct ronde_quote shared, alone;
    enum ronde_status status = replay(&forecast, "maxmin", &shared, error);
    if (status == RONDE_OK)
        status =
            is_on_routes
                ? price_on_routes(&smaller->pricer, &smaller->candidate, &forecast, &alone, error)
                : price_on_network(&smaller->pricer, &smaller->candidate, &forecast, &alone, error);
    if (status == RONDE_OK && alone.time_ns > 0)
        *out_excess = shared.time_ns / alone.time_ns;
    return status;
}

/** What is too long to share links for takes as many times its price as fewer ranks do: approximate. */
static enum ronde_status settle_by_fewer(const struct ronde_platform_pricer *platform_pricer,
                                         const struct ronde_candidate *candidate,
                                         const struct ronde_load *load, const struct ronde_mem *mem,
                                         struct ronde_quote *quote, struct ronde_error *error)
{
    struct smaller smaller = {.load = *load};
    double excess = 1.0;
    enum ronde_status status = open_smaller(platform_pricer, candidate, load, mem, &smaller, error);
    if (status == RONDE_OK && smaller.load.count > 0)
        status = find_excess(&smaller, strcmp(quote->engine, "flat") == 0, &excess, error);
    ronde_schedule_destroy(smaller.candidate.own);
    quote->time_ns *= excess;
    return status == RONDE_UNSUPPORTED ? RONDE_OK : status;
}

/** What price_on_routes has bounded, with links shared. */
static enum ronde_status settle(const void *self, const struct ronde_candidate *candidate,
                                const struct ronde_load *load, const struct ronde_mem *mem,
                                struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_forecast forecast = forecast_of(self, candidate, load);
    return ronde_candidate_steps(candidate, &forecast.load) <= MOST_SHARED_STEPS
               ? replay(&forecast, "maxmin", out_quote, error)
               : settle_by_fewer(self, candidate, &forecast.load, mem, out_quote, error);
}

/** Whether SimGrid is told how to model the network. */
static bool has_flags(const struct ronde_tune_options *options)
{
    return (options->cfg && options->cfg[0]) || options->native_latency;
}

/** The engine that the platform has numbers for; NULL where links are all there is. */
static const char *own_engine(const struct ronde_platform_pricer *platform_pricer)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform_pricer->platform);
    if (platform_pricer->engine)
        return platform_pricer->engine;
    /* Only SimGrid knows what its own flags and models mean. */
    if (facts->is_tcp || has_flags(&platform_pricer->options))
        return "simgrid";
    if (ronde_platform_has_caches(platform_pricer->platform))
        return "cores";
    return facts->packets.segment_bytes > 0 ? "ports" : NULL;
}

/** Shared cores without measured caches are no links, and ranks without a host have none. */
static bool has_routes(const struct ronde_platform_pricer *platform_pricer)
{
    const struct ronde_shared_host *shared =
        &ronde_platform_facts(platform_pricer->platform)->shared;
    return shared->cores == 0 && shared->memory_GBps <= 0.0 && !platform_pricer->is_stretched;
}

static enum ronde_status price(const void *self, const struct ronde_candidate *candidate,
                               const struct ronde_load *load, const struct ronde_mem *mem,
                               struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_platform_pricer *platform_pricer = self;
    const struct ronde_forecast forecast = forecast_of(platform_pricer, candidate, load);
    const char *engine =
        load->count > 0 && !platform_pricer->is_stretched ? own_engine(platform_pricer) : NULL;
    enum ronde_status status = RONDE_OK;
    (void)mem;
    if (engine && (platform_pricer->engine || is_short(candidate, &forecast.load)))
        return replay(&forecast, engine, out_quote, error);
    if (engine || load->count == 0 || !has_routes(platform_pricer))
        return price_on_network(platform_pricer, candidate, &forecast, out_quote, error);
    *out_quote = (struct ronde_quote){.is_exact = false};
    if (platform_pricer->is_uniform)
        status = price_on_network(platform_pricer, candidate, &forecast, out_quote, error);
    if (status != RONDE_OK || out_quote->is_exact)
        return status;
    return price_on_routes(platform_pricer, candidate, &forecast, out_quote, error);
}

struct ronde_pricer ronde_platform_pricer_pricer(const struct ronde_platform_pricer *platform_pricer)
{
    return (struct ronde_pricer){.self = platform_pricer, .price = price, .settle = settle};
}
