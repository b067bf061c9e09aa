/** Ranks on hosts. See placement.h. */
#include "ronde/placement.h"

#include "ronde/collective.h"
#include "ronde/mem.h"

#include <stdio.h>

static enum ronde_status place(const struct ronde_platform *platform, struct ronde_placed *placed,
                               struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_nodes nodes;
    enum ronde_status status = ronde_nodes_find(platform, mem, &nodes, error);
    if (status != RONDE_OK)
        return status;
    snprintf(placed->label, sizeof placed->label, "%s", ronde_placement_text(placed->placement));
    status = ronde_place(&nodes, placed->placement, placed->ranks, placed->host_of, error);
    ronde_nodes_free(&nodes, mem);
    return status;
}

enum ronde_status ronde_placed_find(const struct ronde_platform *platform,
                                    enum ronde_placement placement, uint32_t ranks,
                                    struct ronde_placed *out_placed, struct ronde_error *error)
{
    struct ronde_placed placed = {.placement = placement, .ranks = ranks};
    *out_placed = (struct ronde_placed){.host_of = NULL};
    if (placement == RONDE_PLACE_FILE)
        return RONDE_OK;
    placed.host_of = ronde_mem_new(ronde_mem_default(), ranks, sizeof *placed.host_of);
    const enum ronde_status status =
        placed.host_of ? place(platform, &placed, error)
                       : ronde_fail(error, RONDE_NO_MEMORY, "no memory to place %u ranks", ranks);
    if (status == RONDE_OK)
        *out_placed = placed;
    else
        ronde_placed_free(&placed);
    return status;
}

static enum ronde_status find_rings(const struct ronde_platform *platform,
                                    const struct ronde_schedule *schedule,
                                    const struct ronde_placed *placed, uint32_t *out_orders,
                                    struct ronde_rings_found *out_found, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const bool is_rooted = ronde_collective_traits(schedule->collective)->has_root;
    const struct ronde_rings rings = {.host_of = placed->host_of,
                                      .ranks = schedule->ranks,
                                      .channels = schedule->channel_count,
                                      .first_rank = is_rooted ? schedule->root : 0};
    struct ronde_nodes nodes;
    enum ronde_status status = ronde_nodes_find(platform, mem, &nodes, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_place_rings(platform, &nodes, &rings, mem, out_orders, out_found, error);
    ronde_nodes_free(&nodes, mem);
    return status;
}

/** The schedule under orders that were found; a schedule that is right in its own order alone keeps that. */
static enum ronde_status lay(const struct ronde_schedule *schedule, const uint32_t *orders,
                             struct ronde_schedule **out_laid, struct ronde_error *error)
{
    struct ronde_error why = {0};
    const enum ronde_status status =
        ronde_schedule_reorder(schedule, orders, ronde_mem_default(), out_laid, &why);
    return status == RONDE_OK || status == RONDE_REJECTED
               ? RONDE_OK
               : ronde_fail(error, status, "%s", why.message);
}

enum ronde_status ronde_placed_lay(const struct ronde_platform *platform,
                                   const struct ronde_schedule *schedule,
                                   struct ronde_placed *placed, struct ronde_schedule **out_laid,
                                   struct ronde_error *error)
{
    struct ronde_rings_found found;
    *out_laid = NULL;
    if (placed->placement != RONDE_PLACE_AUTO || !schedule->traffic.is_route)
        return RONDE_OK;
    placed->channels = schedule->channel_count;
    placed->channel_orders =
        ronde_mem_new(ronde_mem_default(), (size_t)placed->channels * placed->ranks,
                      sizeof *placed->channel_orders);
    if (!placed->channel_orders)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u orders of %u ranks",
                          placed->channels, placed->ranks);
    enum ronde_status status =
        find_rings(platform, schedule, placed, placed->channel_orders, &found, error);
    if (status == RONDE_OK)
        status = lay(schedule, placed->channel_orders, out_laid, error);
    if (status == RONDE_OK && *out_laid)
        snprintf(placed->label, sizeof placed->label, "auto: %s", found.pattern);
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
