/**
 * Which rank sits on which host, and the ring orders that go with it.
 *
 *     ronde_placed_find(platform, placement, ranks, &placed, error)
 *     compile; ronde_placed_lay(platform, schedule, &placed, &laid, error); go on with `laid` if there is one
 *     forecast.sim.host_of = placed.host_of
 *     ronde_placed_free(&placed)                        after the schedule's last use
 */
#ifndef RONDE_PLACEMENT_H
#define RONDE_PLACEMENT_H

#include "ronde/builder.h"
#include "ronde/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a placement comes to for one schedule. */
struct ronde_placed {
    enum ronde_placement placement; /**< which */
    uint32_t *host_of; /**< per rank, for ronde_sim_options.host_of; NULL for file, which is its default */
    uint32_t *channel_orders; /**< the order of each channel of a schedule that was laid, or NULL */
    uint32_t ranks;           /**< entries of host_of */
    uint32_t channels;        /**< orders */
    char label[48];           /**< for a record's labels: "scattered", "auto: turn"; "" for file */
};

/**
 * Places ranks. Owner: the caller frees *out_placed. Errors: BAD_INPUT for more ranks than hosts; NO_MEMORY; as
 * ronde_nodes_find.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_placed_find(const struct ronde_platform *platform, enum ronde_placement placement,
                  uint32_t ranks, struct ronde_placed *out_placed, struct ronde_error *error);

/**
 * Lays the channels of a schedule through the machine where the placement is auto and every position sends to its
 * neighbour (schedule->traffic.is_route). *out_laid is the schedule under the orders found; NULL where there is nothing to
 * lay, and where the schedule is right in its own order alone. Owner: the caller destroys *out_laid. Errors: NO_MEMORY; as
 * ronde_nodes_find and ronde_place_rings.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_placed_lay(const struct ronde_platform *platform, const struct ronde_schedule *schedule,
                 struct ronde_placed *placed, struct ronde_schedule **out_laid,
                 struct ronde_error *error);

/** Frees a placement; zeroes are allowed. */
RONDE_API void ronde_placed_free(struct ronde_placed *placed);

#ifdef __cplusplus
}
#endif
#endif
