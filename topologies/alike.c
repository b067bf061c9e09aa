/* Hosts that nothing tells apart: in one star, each with links of its own that have equal numbers. */
#include "platform.h"

static const struct ronde_netpoint *point_of(const struct ronde_platform *platform, uint32_t host)
{
    return RONDE_AT(platform->points, struct ronde_netpoint,
                    *RONDE_AT(platform->hosts, uint32_t, host));
}

static uint32_t hop_at(const struct ronde_platform *platform, struct ronde_hops hops, uint32_t i)
{
    return *RONDE_AT(platform->hops, uint32_t, hops.first + i);
}

/* Link by link the same numbers, and the backbone in the same place. */
static bool are_equal(const struct ronde_platform *platform, struct ronde_hops a,
                      struct ronde_hops b, uint32_t backbone)
{
    bool is_equal = a.count == b.count;
    for (uint32_t i = 0; i < a.count && is_equal; i++) {
        const uint32_t left = hop_at(platform, a, i), right = hop_at(platform, b, i);
        const struct ronde_link *one = ronde_platform_link(platform, left);
        const struct ronde_link *other = ronde_platform_link(platform, right);
        is_equal = (left == backbone) == (right == backbone) && one->rate_GBps == other->rate_GBps &&
                   one->latency_ns == other->latency_ns && one->is_fatpipe == other->is_fatpipe;
    }
    return is_equal;
}

/* Whether no other host has a link of these; `owner` has one entry per link, the host + 1. */
static bool take_links(const struct ronde_platform *platform, struct ronde_hops hops,
                       uint32_t backbone, uint32_t host, uint32_t *owner)
{
    bool is_free = true;
    for (uint32_t i = 0; i < hops.count; i++) {
        uint32_t *mine = &owner[hop_at(platform, hops, i)];
        if (hop_at(platform, hops, i) == backbone)
            continue;
        is_free = is_free && (*mine == 0 || *mine == host + 1);
        *mine = host + 1;
    }
    return is_free;
}

/* Whether up is the same way as down for both or for neither: then a link is crossed in both directions by all alike. */
static bool are_joined_alike(const struct ronde_platform *platform,
                             const struct ronde_netpoint *one, const struct ronde_netpoint *other)
{
    bool is_alike = true;
    for (uint32_t u = 0; u < one->up.count; u++)
        for (uint32_t d = 0; d < one->down.count; d++)
            is_alike = is_alike &&
                       (hop_at(platform, one->up, u) == hop_at(platform, one->down, d)) ==
                           (hop_at(platform, other->up, u) == hop_at(platform, other->down, d));
    return is_alike;
}

/* Whether a host is like the first one and alone has its links. */
static bool is_like(const struct ronde_platform *platform, uint32_t first, uint32_t host,
                    uint32_t backbone, uint32_t *owner)
{
    const struct ronde_netpoint *one = point_of(platform, first);
    const struct ronde_netpoint *other = point_of(platform, host);
    return one->zone == other->zone && are_equal(platform, one->up, other->up, backbone) &&
           are_equal(platform, one->down, other->down, backbone) &&
           are_joined_alike(platform, one, other) &&
           take_links(platform, other->up, backbone, host, owner) &&
           take_links(platform, other->down, backbone, host, owner);
}

enum ronde_status ronde_platform_alike(const struct ronde_platform *platform,
                                       const uint32_t *host_of, uint32_t ranks,
                                       const struct ronde_mem *mem, struct ronde_alike *out_alike,
                                       struct ronde_error *error)
{
    const uint32_t first = host_of ? host_of[0] : 0;
    const struct ronde_netpoint *point = point_of(platform, first);
    const struct ronde_zone *zone = RONDE_AT(platform->zones, struct ronde_zone, point->zone);
    *out_alike = (struct ronde_alike){.is_alike = false};
    if (zone->kind != RONDE_ZONE_STAR || platform->detours)
        return RONDE_OK;
    uint32_t *owner = ronde_mem_new(mem, platform->links.count, sizeof *owner);
    bool *is_taken = ronde_mem_new(mem, platform->hosts.count, sizeof *is_taken);
    bool is_alike = owner && is_taken;
    for (uint32_t rank = 0; rank < ranks && is_alike; rank++) {
        const uint32_t host = host_of ? host_of[rank] : rank;
        is_alike = !is_taken[host] && is_like(platform, first, host, zone->backbone, owner);
        is_taken[host] = true;
    }
    const bool fits = owner && is_taken;
    ronde_mem_free(mem, is_taken, platform->hosts.count, sizeof *is_taken);
    ronde_mem_free(mem, owner, platform->links.count, sizeof *owner);
    if (!fits)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory to compare %u hosts",
                          platform->path, ranks);
    out_alike->is_alike = is_alike;
    out_alike->backbone = zone->backbone;
    out_alike->up = RONDE_AT(platform->hops, uint32_t, point->up.first);
    out_alike->up_count = point->up.count;
    out_alike->down = RONDE_AT(platform->hops, uint32_t, point->down.first);
    out_alike->down_count = point->down.count;
    return RONDE_OK;
}
