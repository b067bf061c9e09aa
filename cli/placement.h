/**
 * --placement: which rank sits on which host, and the ring orders that go with it.
 *
 *     struct ronde_placements wanted;                       parse the option once
 *     for each of wanted.list:
 *         ronde_placed_find(platform, placement, &request, &placed, error)
 *         compile request; forecast.sim.host_of = placed.host_of; label the record placed.label
 *         ronde_placed_free(&placed)                        after the schedule's last use
 */
#ifndef RONDE_CLI_PLACEMENT_H
#define RONDE_CLI_PLACEMENT_H

#include "options.h"

#include "ronde/builder.h"
#include "ronde/place.h"

/** The placements of an option. */
struct ronde_placements {
    enum ronde_placement list[RONDE_PLACEMENT_COUNT]; /**< in the order given, each once */
    uint32_t count; /**< 1 (file) where the option was not given */
};

/** What a placement comes to for one request. */
struct ronde_placed {
    uint32_t *host_of; /**< per rank, for ronde_sim_options.host_of; NULL for file, which is its default */
    uint32_t *channel_orders; /**< what the request's channel_orders point to, or NULL */
    uint32_t ranks;           /**< entries of host_of */
    uint32_t channels;        /**< orders */
    char label[48];           /**< for a record's labels: "scattered", "auto: turn"; "" for file */
};

/** "file,auto". Errors: BAD_ARGUMENT for an unknown name (names the nearest), or one given twice. */
RONDE_MUST_CHECK enum ronde_status ronde_placements_parse(const char *text,
                                                          struct ronde_placements *out_placements,
                                                          struct ronde_error *error);

/**
 * Places the ranks of a request. Where the placement is auto and the algorithm sends to its neighbours (ring, chain), the
 * request gets an order per channel too, and as many channels as it had, at least one. Owner: the caller frees
 * *out_placed after the request's last use. Errors: BAD_INPUT for more ranks than hosts; NO_MEMORY; as ronde_nodes_find
 * and ronde_place_rings.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_placed_find(const struct ronde_platform *platform, enum ronde_placement placement,
                  struct ronde_request *request, struct ronde_placed *out_placed,
                  struct ronde_error *error);

/** Frees a placement; zeroes are allowed. */
void ronde_placed_free(struct ronde_placed *placed);

#endif
