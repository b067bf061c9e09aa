/**
 * What candidates take on a platform: the pricer that `auto` and `ronde plan` ask.
 *
 * It takes the engine that models most of the machine at little cost: the replay of cores and caches where a file has them, of ports
 * and packets where it has those, closed forms and longest paths where every pair of ranks sees the same network, and
 * else first a bound, from a few replays that share no links (outline.h); those that are cheapest by it are replayed as
 * `ronde sim` does, in the pieces it cuts by default and in those that look best.
 */
#ifndef RONDE_PLATFORM_PRICE_H
#define RONDE_PLATFORM_PRICE_H

#include "ronde/choice.h"
#include "ronde/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A platform as `ranks` ranks see it. Copied freely; nothing to release. */
struct ronde_platform_pricer {
    const struct ronde_platform *platform; /**< the machine; outlives it */
    struct ronde_tune_options options;     /**< slot, depth, flags */
    const char *engine; /**< replays everything; the options'; NULL (auto) = what suits the platform */
    uint32_t ranks;     /**< of the candidates */
    double fastest_GBps;          /**< of any link */
    struct ronde_network network; /**< of the slowest pair, without a load's footprint */
    bool is_uniform;              /**< all pairs see that network, unshared */
    bool is_stretched; /**< more ranks than hosts: only the network of all hosts speaks for them */
};

/** Looks at a platform for `ranks` ranks. Errors: as ronde_platform_network; BAD_INPUT for more ranks than hosts. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_pricer_open(const struct ronde_platform *platform,
                           const struct ronde_tune_options *options, uint32_t ranks,
                           struct ronde_platform_pricer *out_pricer, struct ronde_error *error);

/** The load of so many elements of a block: type, slot and depth are the options' or the platform's. */
RONDE_API struct ronde_load
ronde_platform_pricer_load(const struct ronde_platform_pricer *platform_pricer, uint64_t count);

/** The pricer; the platform pricer must outlive it. */
RONDE_API struct ronde_pricer
ronde_platform_pricer_pricer(const struct ronde_platform_pricer *platform_pricer);

#ifdef __cplusplus
}
#endif
#endif
