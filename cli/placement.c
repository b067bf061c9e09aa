/* From --placement to hosts and orders. */
#include "placement.h"

#include "report.h"

#include "ronde/collective.h"
#include "ronde/mem.h"

#include <string.h>

/* The placement of a word of the list, or its nearest name in the error. */
static enum ronde_status parse_one(const char *word, enum ronde_placement *out_placement,
                                   struct ronde_error *error)
{
    const char *names[RONDE_PLACEMENT_COUNT];
    if (ronde_placement_parse(word, out_placement))
        return RONDE_OK;
    for (uint32_t i = 0; i < RONDE_PLACEMENT_COUNT; i++)
        names[i] = ronde_placement_text((enum ronde_placement)i);
    const char *nearest = ronde_nearest(word, names, RONDE_PLACEMENT_COUNT);
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "--placement: unknown \"%s\"; %s%s%s", word,
                      nearest ? "did you mean " : "there are file, packed, scattered, auto",
                      nearest ? nearest : "", nearest ? "?" : "");
}

/* Adds one that is not there yet. */
static enum ronde_status add(struct ronde_placements *placements, enum ronde_placement placement,
                             struct ronde_error *error)
{
    for (uint32_t i = 0; i < placements->count; i++)
        if (placements->list[i] == placement)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "--placement: %s is given twice",
                              ronde_placement_text(placement));
    placements->list[placements->count++] = placement;
    return RONDE_OK;
}

enum ronde_status ronde_placements_parse(const char *text, struct ronde_placements *out_placements,
                                         struct ronde_error *error)
{
    struct ronde_placements placements = {.count = 0};
    enum ronde_status status = RONDE_OK;
    for (const char *at = text ? text : "file"; at && status == RONDE_OK;) {
        char word[32];
        enum ronde_placement placement;
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), at);
        status = parse_one(word, &placement, error);
        if (status == RONDE_OK)
            status = add(&placements, placement, error);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    *out_placements = placements;
    return status;
}

/*
 * Algorithms in which a position only sends to the next one: for them a channel's order is a route through the machine.
 * Others make groups of consecutive positions, for which packing is what counts.
 */
static bool goes_to_neighbours(const struct ronde_request *request)
{
    return request->algorithm &&
           (strcmp(request->algorithm, "ring") == 0 || strcmp(request->algorithm, "chain") == 0);
}

static enum ronde_status find_rings(const struct ronde_platform *platform,
                                    const struct ronde_nodes *nodes, struct ronde_request *request,
                                    struct ronde_placed *placed, struct ronde_error *error)
{
    struct ronde_rings_found found;
    const bool is_rooted = ronde_collective_traits(request->collective)->has_root;
    const struct ronde_rings rings = {.host_of = placed->host_of,
                                      .ranks = request->ranks,
                                      .channels = request->channels ? request->channels : 1,
                                      .first_rank = is_rooted ? request->root : 0};
    const struct ronde_mem *mem = ronde_mem_default();
    placed->channels = rings.channels;
    placed->channel_orders =
        ronde_mem_new(mem, (size_t)rings.channels * rings.ranks, sizeof(uint32_t));
    if (!placed->channel_orders)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u orders of %u ranks",
                          rings.channels, rings.ranks);
    const enum ronde_status status =
        ronde_place_rings(platform, nodes, &rings, mem, placed->channel_orders, &found, error);
    if (status != RONDE_OK)
        return status;
    request->channels = rings.channels;
    request->order = NULL;
    request->channel_orders = placed->channel_orders;
    snprintf(placed->label, sizeof placed->label, "auto: %s", found.pattern);
    return RONDE_OK;
}

static enum ronde_status place(const struct ronde_platform *platform,
                               enum ronde_placement placement, struct ronde_request *request,
                               struct ronde_placed *placed, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_nodes nodes;
    enum ronde_status status = ronde_nodes_find(platform, mem, &nodes, error);
    if (status != RONDE_OK)
        return status;
    snprintf(placed->label, sizeof placed->label, "%s", ronde_placement_text(placement));
    status = ronde_place(&nodes, placement, request->ranks, placed->host_of, error);
    if (status == RONDE_OK && placement == RONDE_PLACE_AUTO && goes_to_neighbours(request))
        status = find_rings(platform, &nodes, request, placed, error);
    ronde_nodes_free(&nodes, mem);
    return status;
}

enum ronde_status ronde_placed_find(const struct ronde_platform *platform,
                                    enum ronde_placement placement, struct ronde_request *request,
                                    struct ronde_placed *out_placed, struct ronde_error *error)
{
    struct ronde_placed placed = {.ranks = request->ranks};
    *out_placed = (struct ronde_placed){.host_of = NULL};
    if (placement == RONDE_PLACE_FILE)
        return RONDE_OK;
    placed.host_of = ronde_mem_new(ronde_mem_default(), request->ranks, sizeof *placed.host_of);
    const enum ronde_status status =
        placed.host_of
            ? place(platform, placement, request, &placed, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory to place %u ranks", request->ranks);
    if (status == RONDE_OK)
        *out_placed = placed;
    else
        ronde_placed_free(&placed);
    return status;
}

void ronde_placed_free(struct ronde_placed *placed)
{
    const struct ronde_mem *mem = ronde_mem_default();
    ronde_mem_free(mem, placed->host_of, placed->ranks, sizeof *placed->host_of);
    ronde_mem_free(mem, placed->channel_orders, (size_t)placed->channels * placed->ranks,
                   sizeof *placed->channel_orders);
    *placed = (struct ronde_placed){.host_of = NULL};
}
