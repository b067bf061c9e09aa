/*
 * Symmetries of a machine: whether hosts can take each other's places so that every route becomes the route of those they
 * stand for now. Hosts that are given take their zones along; routers and whatever else is left is paired as it lies
 * beside what is paired, which is a guess. Then everything routes are made of is compared, link by link, so that a wrong
 * guess finds no symmetry where there is one, and never one where there is none.
 */
#include "platform.h"
#include "router.h"

/* The state of a comparison. */
struct turn {
    const struct ronde_platform *platform;
    uint32_t *point_to;   /* per point, whose place it takes, or NONE */
    uint32_t *point_from; /* per point, who takes its place, or NONE */
    uint32_t *link_to;    /* per link, likewise */
    uint32_t *link_from;
    uint32_t *queue; /* points that have a place, in the order in which they were given one */
    uint32_t queue_count;
    uint32_t followed_count; /* of those, whose routes have been followed */
    struct ronde_store store;
    bool holds; /* nothing has been found yet that differs */
};

static const struct ronde_netpoint *point_at(const struct turn *turn, uint32_t index)
{
    return RONDE_AT(turn->platform->points, struct ronde_netpoint, index);
}

static const struct ronde_zone *zone_at(const struct turn *turn, uint32_t index)
{
    return RONDE_AT(turn->platform->zones, struct ronde_zone, index);
}

static const struct ronde_route *route_at(const struct turn *turn, uint32_t index)
{
    return RONDE_AT(turn->platform->routes, struct ronde_route, index);
}

/* The zone a point sits in, as a point. */
static uint32_t parent_of(const struct turn *turn, uint32_t point)
{
    const uint32_t zone = point_at(turn, point)->zone;
    return zone == RONDE_NONE ? RONDE_NONE : zone_at(turn, zone)->point;
}

/* A point takes the place of another, and so do the zones around them. */
static void pair_points(struct turn *turn, uint32_t from, uint32_t to)
{
    while (turn->holds && from != RONDE_NONE && turn->point_to[from] != to) {
        const struct ronde_netpoint *one = point_at(turn, from);
        const struct ronde_netpoint *other = to == RONDE_NONE ? NULL : point_at(turn, to);
        turn->holds = other && turn->point_to[from] == RONDE_NONE &&
                      turn->point_from[to] == RONDE_NONE && one->is_host == other->is_host &&
                      (one->inner == RONDE_NONE) == (other->inner == RONDE_NONE);
        if (!turn->holds)
            return;
        turn->point_to[from] = to;
        turn->point_from[to] = from;
        turn->queue[turn->queue_count++] = from;
        from = parent_of(turn, from);
        to = parent_of(turn, to);
    }
}

/* Ends of two points' routes that have no place yet are paired in their order. */
static void pair_ends(struct turn *turn, uint32_t from, uint32_t to)
{
    const struct ronde_netpoint *one = point_at(turn, from), *other = point_at(turn, to);
    uint32_t k = 0;
    if (one->route_count != other->route_count)
        turn->holds = false;
    for (uint32_t i = 0; i < one->route_count && turn->holds; i++) {
        const uint32_t end = route_at(turn, one->first_route + i)->dst;
        if (turn->point_to[end] != RONDE_NONE)
            continue;
        while (k < other->route_count &&
               turn->point_from[route_at(turn, other->first_route + k)->dst] != RONDE_NONE)
            k++;
        if (k == other->route_count)
            turn->holds = false;
        else
            pair_points(turn, end, route_at(turn, other->first_route + k)->dst);
    }
}

/* The hosts that were given come first: what lies beside them is certain where a switch between several could only guess. */
static void follow_routes(struct turn *turn)
{
    while (turn->followed_count < turn->queue_count && turn->holds) {
        const uint32_t from = turn->queue[turn->followed_count++];
        pair_ends(turn, from, turn->point_to[from]);
    }
}

/* What no route has led to takes the place of the same number in its zone's counterpart. Zones come before their points. */
static void pair_rest(struct turn *turn)
{
    for (uint32_t i = 0; i < turn->platform->points.count && turn->holds; i++) {
        const struct ronde_netpoint *point = point_at(turn, i);
        if (turn->point_to[i] != RONDE_NONE)
            continue;
        if (point->zone == RONDE_NONE || turn->point_to[parent_of(turn, i)] == RONDE_NONE) {
            pair_points(turn, i, i);
        } else {
            const uint32_t inner = point_at(turn, turn->point_to[parent_of(turn, i)])->inner;
            const struct ronde_zone *zone = zone_at(turn, inner);
            turn->holds = point->slot < zone->member_count;
            if (turn->holds)
                pair_points(turn, i,
                            *RONDE_AT(turn->platform->members, uint32_t,
                                      zone->first_member + point->slot));
        }
        follow_routes(turn);
    }
}

static void pair_links(struct turn *turn, uint32_t from, uint32_t to)
{
    const struct ronde_link *one = ronde_platform_link(turn->platform, from);
    const struct ronde_link *other = ronde_platform_link(turn->platform, to);
    if (turn->link_to[from] == to)
        return;
    turn->holds = turn->holds && turn->link_to[from] == RONDE_NONE &&
                  turn->link_from[to] == RONDE_NONE && one->rate_GBps == other->rate_GBps &&
                  one->latency_ns == other->latency_ns && one->is_fatpipe == other->is_fatpipe;
    turn->link_to[from] = to;
    turn->link_from[to] = from;
}

static void pair_hops(struct turn *turn, struct ronde_hops from, struct ronde_hops to)
{
    turn->holds = turn->holds && from.count == to.count;
    for (uint32_t i = 0; i < from.count && turn->holds; i++)
        pair_links(turn, *RONDE_AT(turn->platform->hops, uint32_t, from.first + i),
                   *RONDE_AT(turn->platform->hops, uint32_t, to.first + i));
}

/* Zones route alike: by the same rule, over the same number of points, a torus also in the same direction. */
static void compare_zones(struct turn *turn, uint32_t from, uint32_t to)
{
    const struct ronde_zone *one = zone_at(turn, from), *other = zone_at(turn, to);
    turn->holds = one->kind == other->kind && one->kind != RONDE_ZONE_FOREIGN &&
                  one->member_count == other->member_count && one->axis_count == other->axis_count &&
                  (one->backbone == RONDE_NONE) == (other->backbone == RONDE_NONE);
    for (uint32_t i = 0; i < one->axis_count && turn->holds; i++)
        turn->holds = one->axes[i] == other->axes[i];
    if (turn->holds && one->backbone != RONDE_NONE)
        pair_links(turn, one->backbone, other->backbone);
}

/* A point and its counterpart: in zones that are counterparts, with the same links to the centre of a star. */
static void compare_points(struct turn *turn, uint32_t from)
{
    const struct ronde_netpoint *one = point_at(turn, from);
    const uint32_t to = turn->point_to[from];
    if (to == RONDE_NONE) {
        turn->holds = false;
        return;
    }
    const struct ronde_netpoint *other = point_at(turn, to);
    const uint32_t around = parent_of(turn, from);
    turn->holds =
        (around == RONDE_NONE ? RONDE_NONE : turn->point_to[around]) == parent_of(turn, to);
    /* The way round an even ring depends on where it begins, so tori are not turned in themselves. */
    if (turn->holds && one->zone != RONDE_NONE && zone_at(turn, one->zone)->kind == RONDE_ZONE_TORUS)
        turn->holds = one->slot == other->slot;
    if (turn->holds && one->inner != RONDE_NONE)
        compare_zones(turn, one->inner, other->inner);
    pair_hops(turn, one->up, other->up);
    pair_hops(turn, one->down, other->down);
}

/* A written route and that between the counterparts of its ends. */
static void compare_routes(struct turn *turn, const struct ronde_route *one)
{
    const struct ronde_route *other =
        ronde_platform_written_route(turn->platform, turn->point_to[one->src],
                                     turn->point_to[one->dst]);
    turn->holds = other && turn->point_to[one->gw_src] == other->gw_src &&
                  turn->point_to[one->gw_dst] == other->gw_dst;
    if (turn->holds)
        pair_hops(turn, one->hops, other->hops);
}

static bool reserve(struct turn *turn)
{
    const uint32_t points = turn->platform->points.count, links = turn->platform->links.count;
    turn->point_to = ronde_store_new(&turn->store, points, sizeof *turn->point_to);
    turn->point_from = ronde_store_new(&turn->store, points, sizeof *turn->point_from);
    turn->link_from = ronde_store_new(&turn->store, links, sizeof *turn->link_from);
    turn->queue = ronde_store_new(&turn->store, points, sizeof *turn->queue);
    if (turn->store.is_short)
        return false;
    for (uint32_t i = 0; i < points; i++)
        turn->point_to[i] = turn->point_from[i] = RONDE_NONE;
    for (uint32_t i = 0; i < links; i++)
        turn->link_to[i] = turn->link_from[i] = RONDE_NONE;
    return true;
}

static void compare_all(struct turn *turn)
{
    follow_routes(turn);
    pair_rest(turn);
    for (uint32_t i = 0; i < turn->platform->points.count && turn->holds; i++)
        compare_points(turn, i);
    for (uint32_t i = 0; i < turn->platform->routes.count && turn->holds; i++)
        compare_routes(turn, route_at(turn, i));
}

enum ronde_status ronde_platform_symmetry(const struct ronde_platform *platform,
                                          const struct ronde_exchange *exchange,
                                          const struct ronde_mem *mem, uint32_t *out_links,
                                          bool *out_is_symmetry, struct ronde_error *error)
{
    struct turn turn = {.platform = platform,
                        .link_to = out_links,
                        .store = {.mem = mem},
                        .holds = true};
    /* Ways around what is out depend on the numbers of hosts. */
    if (platform->detours) {
        *out_is_symmetry = false;
        return RONDE_OK;
    }
    const bool fits = reserve(&turn);
    for (uint32_t i = 0; fits && i < exchange->count && turn.holds; i++)
        pair_points(&turn, *RONDE_AT(platform->hosts, uint32_t, exchange->from[i]),
                    *RONDE_AT(platform->hosts, uint32_t, exchange->to[i]));
    if (fits)
        compare_all(&turn);
    *out_is_symmetry = fits && turn.holds;
    ronde_store_clear(&turn.store);
    return fits ? RONDE_OK
                : ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory to compare %u hosts",
                             platform->path, platform->hosts.count);
}
