/** Prices on a platform. See platform_price.h. */
#include "ronde/platform_price.h"

#include "outline.h"

#include "ronde/pieces.h"
#include "ronde/setup.h"
#include "ronde/split.h"

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
    for (uint32_t link = 0; link < ronde_platform_link_count(platform); link++)
        platform_pricer.fastest_GBps =
            fmax(platform_pricer.fastest_GBps, ronde_platform_link(platform, link)->rate_GBps);
    RONDE_TRY(ronde_platform_network(platform, ranks, 0, &platform_pricer.network,
                                     &platform_pricer.is_uniform, error));
    *out_pricer = platform_pricer;
    return RONDE_OK;
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
        ronde_candidate_forecast(candidate, platform_pricer->platform, &platform_pricer->options);
    forecast.load = *load;
    ronde_load_cut(&forecast.load, candidate->schedule);
    forecast.sim.memo = candidate->memo;
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

/** Formula or longest path. */
static enum ronde_status price_on_network(const struct ronde_platform_pricer *platform_pricer,
                                          struct ronde_candidate *candidate,
                                          const struct ronde_forecast *forecast,
                                          struct ronde_quote *out_quote, struct ronde_error *error)
{
    struct ronde_network network;
    RONDE_TRY(network_of(platform_pricer, forecast, &network, error));
    const struct ronde_pricer pricer = ronde_network_pricer(&network);
    RONDE_TRY(pricer.price(pricer.self, candidate, &forecast->load, ronde_mem_default(), out_quote,
                           error));
    /* A longest path is one of messages that each go alone, which only the routes can certify. */
    out_quote->is_exact = out_quote->is_exact && platform_pricer->is_uniform &&
                          !ronde_forecast_shares_ports(forecast, candidate->algorithm) &&
                          strcmp(out_quote->engine, "closed_form") == 0;
    return RONDE_OK;
}

/* What a replay by an engine of the machine's own may go through: a tenth of a second's work. */
#define MOST_STEPS ((uint64_t)1 << 17)

/* ---- Over the routes -------------------------------------------------------------------------------------------- */

/** What its busiest rank sends, as fast as any link is, by each channel over a link of its own. */
static double least_time(const struct ronde_platform_pricer *platform_pricer,
                         const struct ronde_forecast *forecast, struct ronde_outline *outline)
{
    return ronde_outline_sent(outline, forecast->schedule) * (double)forecast->load.count *
           ronde_dtype_bytes(forecast->load.dtype) /
           (platform_pricer->fastest_GBps * forecast->schedule->channel_count);
}

/**
 * A bound that costs next to nothing: most candidates are never looked at closer. Like those that follow it depends on the load
 * alone, not on what an outline knows by now from other loads, and so does what is decided.
 */
static enum ronde_status bound(const struct ronde_platform_pricer *platform_pricer,
                               struct ronde_forecast *forecast, struct ronde_candidate *candidate,
                               const struct ronde_mem *mem, struct ronde_quote *out_quote,
                               struct ronde_error *error)
{
    if (!candidate->outline)
        candidate->outline = ronde_outline_create(mem);
    if (!candidate->memo)
        candidate->memo = ronde_sim_memo_create(candidate->schedule, ronde_mem_default());
    if (!candidate->outline || !candidate->memo)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a price of %s",
                          candidate->request.algorithm);
    struct ronde_outline *outline = candidate->outline;
    /* Most copies are never looked at. */
    const bool is_quick = candidate->turns_of == 0 && ronde_outline_is_quick(forecast);
    forecast->sim.memo = candidate->memo;
    if (is_quick)
        RONDE_TRY(ronde_outline_find(forecast, false, outline, error));
    *out_quote =
        (struct ronde_quote){.time_ns = is_quick ? ronde_outline_bound(outline, forecast->load.count)
                                                 : least_time(platform_pricer, forecast, outline),
                             .engine = "flat",
                             .is_bound = true,
                             .bound_of = is_quick ? RONDE_BOUND_OF_OUTLINE : RONDE_BOUND_OF_BYTES};
    return RONDE_OK;
}

/** The next closer bound of one whose outline takes its time. */
static enum ronde_status look(const struct ronde_forecast *forecast, struct ronde_outline *outline,
                              struct ronde_quote *quote, struct ronde_error *error)
{
    const uint64_t count = forecast->load.count;
    const bool is_first = quote->bound_of == RONDE_BOUND_OF_BYTES;
    const enum ronde_status status = ronde_outline_find(forecast, is_first, outline, error);
    quote->time_ns = fmax(quote->time_ns, is_first ? ronde_outline_links(outline, count)
                                                   : ronde_outline_bound(outline, count));
    quote->bound_of = is_first ? RONDE_BOUND_OF_LINKS : RONDE_BOUND_OF_OUTLINE;
    return status;
}

static enum ronde_status settle(const void *self, struct ronde_candidate *candidate,
                                const struct ronde_load *load, double most_ns, double fastest_ns,
                                struct ronde_quote *quote, struct ronde_error *error)
{
    const struct ronde_forecast forecast = forecast_of(self, candidate, load);
    if (!quote->is_bound)
        return ronde_slots_keep_promise(&forecast, candidate, fastest_ns, quote, error);
    if (quote->bound_of < RONDE_BOUND_OF_OUTLINE)
        return look(&forecast, candidate->outline, quote, error);
    const bool is_open = load->slot_bytes == 0;
    /* Short replays end, so that more is known of who has lost, and by how much; those of packed trees and copies may be much work. */
    if (ronde_outline_is_quick(&forecast) && !candidate->most_steps && candidate->turns_of == 0)
        most_ns = INFINITY;
    return is_open && candidate->outline->likes_pieces && quote->bound_of < RONDE_BOUND_OF_PIECES
               ? ronde_slots_tighten(&forecast, candidate, quote, error)
               : ronde_slots_find_time(&forecast, candidate, is_open, most_ns, fastest_ns, quote,
                                       error);
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

/** The slot that suits a load best by its formula, which costs nothing to ask. */
static enum ronde_status price_slots(const struct ronde_platform_pricer *platform_pricer,
                                     struct ronde_candidate *candidate,
                                     const struct ronde_forecast *forecast,
                                     struct ronde_quote *quote, struct ronde_error *error)
{
    quote->slot_bytes = forecast->load.slot_bytes;
    if (ronde_forecast_is_long(forecast))
        quote->time_ns = INFINITY;
    for (uint32_t s = RONDE_OUTLINE_SLOTS; s-- > 0;) {
        struct ronde_forecast cut = *forecast;
        struct ronde_quote found = {.is_exact = false};
        cut.load.slot_bytes = ronde_outline_slot_bytes(s);
        if (ronde_forecast_steps(&cut) <= RONDE_SLOTS_MOST_STEPS && !ronde_forecast_is_long(&cut))
            RONDE_TRY(price_on_network(platform_pricer, candidate, &cut, &found, error));
        if (found.is_exact && found.time_ns * RONDE_SLOTS_AS_GOOD < quote->time_ns) {
            *quote = found;
            quote->slot_bytes = cut.load.slot_bytes;
        }
    }
    return RONDE_OK;
}

/** Whether a load has more steps than it may, cut as little as it can be. */
static bool is_too_long(const struct ronde_forecast *forecast, const struct ronde_load *load,
                        bool is_cut_by_default)
{
    struct ronde_forecast whole = *forecast;
    if (!is_cut_by_default)
        whole.load.slot_bytes = load->slot_bytes;
    return ronde_forecast_is_long(&whole);
}

static enum ronde_status price(const void *self, struct ronde_candidate *candidate,
                               const struct ronde_load *load, const struct ronde_mem *mem,
                               struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct ronde_platform_pricer *platform_pricer = self;
    struct ronde_forecast forecast = forecast_of(platform_pricer, candidate, load);
    const char *engine =
        load->count > 0 && !platform_pricer->is_stretched ? own_engine(platform_pricer) : NULL;
    *out_quote = (struct ronde_quote){.time_ns = INFINITY, .engine = "none"};
    if (is_too_long(&forecast, load, engine || !has_routes(platform_pricer)))
        return RONDE_OK;
    if (engine &&
        (platform_pricer->engine || ronde_candidate_steps(candidate, &forecast.load) <= MOST_STEPS))
        return ronde_forecast_quote(&forecast, engine, out_quote, error);
    if (engine || !has_routes(platform_pricer))
        return price_on_network(platform_pricer, candidate, &forecast, out_quote, error);
    *out_quote = (struct ronde_quote){.is_exact = false};
    if (platform_pricer->is_uniform)
        RONDE_TRY(price_on_network(platform_pricer, candidate, &forecast, out_quote, error));
    if (!out_quote->is_exact)
        return bound(platform_pricer, &forecast, candidate, mem, out_quote, error);
    if (load->slot_bytes == 0 && candidate->algorithm)
        return price_slots(platform_pricer, candidate, &forecast, out_quote, error);
    if (ronde_forecast_is_long(&forecast))
        out_quote->time_ns = INFINITY;
    return RONDE_OK;
}

struct ronde_pricer ronde_platform_pricer_pricer(const struct ronde_platform_pricer *platform_pricer)
{
    return (struct ronde_pricer){.self = platform_pricer, .price = price, .settle = settle};
}
