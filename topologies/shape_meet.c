/* Where links meet: see the header. */
#include "shape_meet.h"

#include <stdlib.h>
#include <string.h>

static const struct ronde_netpoint *point_at(const struct ronde_platform *platform, uint32_t index)
{
    return RONDE_AT(platform->points, struct ronde_netpoint, index);
}

static uint32_t reverse_of(const struct ronde_platform *platform, uint32_t link)
{
    return *RONDE_AT(platform->reverses, uint32_t, link);
}

/* The second half of a cable runs between the ends of the first. */
static uint32_t end_of(const struct ronde_meet *meet, uint32_t link, bool is_head)
{
    const uint32_t reverse = reverse_of(meet->platform, link);
    const bool is_second = reverse < link;
    return meet->platform->points.count + 2 * (is_second ? reverse : link) + (is_head != is_second);
}

uint32_t ronde_meet_tail(const struct ronde_meet *meet, uint32_t link)
{
    return end_of(meet, link, false);
}

uint32_t ronde_meet_head(const struct ronde_meet *meet, uint32_t link)
{
    return end_of(meet, link, true);
}

/** Whether a point is a host or router, not a zone. */
static bool meets_solid(const struct ronde_meet *meet, uint32_t point)
{
    return point < meet->platform->points.count &&
           point_at(meet->platform, point)->inner == RONDE_NONE;
}

/* The link an end belongs to: one without another direction, which may be a bus; else NONE. */
static uint32_t lone_link(const struct ronde_meet *meet, uint32_t element)
{
    if (element < meet->platform->points.count)
        return RONDE_NONE;
    const uint32_t link = (element - meet->platform->points.count) / 2;
    return reverse_of(meet->platform, link) == link ? link : RONDE_NONE;
}

static bool push_pair(struct ronde_list *list, const struct ronde_mem *mem, uint32_t a, uint32_t b)
{
    const struct ronde_meeting meeting = {a, b};
    return ronde_list_append(mem, list, &meeting, sizeof meeting);
}

/* Both ways, so that a scan over one element sees all it meets. */
static bool add_meeting(struct ronde_meet *meet, uint32_t a, uint32_t b)
{
    return a == b || (push_pair(&meet->meetings, meet->mem, a, b) &&
                      push_pair(&meet->meetings, meet->mem, b, a));
}

/* A piece of a route: from one point over links to another. */
static bool add_chain(struct ronde_meet *meet, uint32_t from, struct ronde_hops hops, uint32_t to)
{
    uint32_t at = from;
    for (uint32_t i = 0; i < hops.count; i++) {
        const uint32_t link = *RONDE_AT(meet->platform->hops, uint32_t, hops.first + i);
        meet->is_used[link] = true;
        if (!add_meeting(meet, at, ronde_meet_tail(meet, link)))
            return false;
        at = ronde_meet_head(meet, link);
    }
    return add_meeting(meet, at, to);
}

/*
 * Hosts of a star lead to its centre, those of a zone only SimGrid routes to the zone as a whole.
 */
static bool add_members(struct ronde_meet *meet, uint32_t index)
{
    const struct ronde_platform *platform = meet->platform;
    const struct ronde_zone *zone = RONDE_AT(platform->zones, struct ronde_zone, index);
    for (uint32_t i = 0; i < zone->member_count; i++) {
        const uint32_t member = *RONDE_AT(platform->members, uint32_t, zone->first_member + i);
        const struct ronde_netpoint *point = point_at(platform, member);
        if (zone->kind == RONDE_ZONE_STAR && !(add_chain(meet, member, point->up, zone->point) &&
                                               add_chain(meet, zone->point, point->down, member)))
            return false;
        if (zone->kind == RONDE_ZONE_FOREIGN && point->is_host &&
            !push_pair(&meet->touches, meet->mem, member, zone->point))
            return false;
    }
    return true;
}

static bool add_routes(struct ronde_meet *meet)
{
    for (uint32_t i = 0; i < meet->platform->routes.count; i++) {
        const struct ronde_route *route = RONDE_AT(meet->platform->routes, struct ronde_route, i);
        if (!add_chain(meet, route->gw_src, route->hops, route->gw_dst))
            return false;
    }
    return true;
}

static int compare_meetings(const void *left, const void *right)
{
    const struct ronde_meeting *a = left, *b = right;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* Sorted, each meeting once: routes of all pairs of a switch meet there again and again. */
static void sort_meetings(struct ronde_list *list)
{
    uint32_t kept = 0;
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(struct ronde_meeting), compare_meetings);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct ronde_meeting meeting = *RONDE_AT(*list, struct ronde_meeting, i);
        if (kept == 0 ||
            compare_meetings(RONDE_AT(*list, struct ronde_meeting, kept - 1), &meeting) != 0)
            *RONDE_AT(*list, struct ronde_meeting, kept++) = meeting;
    }
    list->count = kept;
}

/* Index of the first meeting of an element. */
static uint32_t first_meeting(const struct ronde_meet *meet, uint32_t element)
{
    uint32_t low = 0, high = meet->meetings.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (RONDE_AT(meet->meetings, struct ronde_meeting, middle)->a < element)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What an element meets, with both ends of a lone link being one thing. */
static uint32_t neighbour(const struct ronde_meet *meet, uint32_t index)
{
    const uint32_t element = RONDE_AT(meet->meetings, struct ronde_meeting, index)->b;
    const uint32_t lone = lone_link(meet, element);
    return lone == RONDE_NONE ? element : ronde_meet_tail(meet, lone);
}

static bool is_of(const struct ronde_meet *meet, uint32_t index, uint32_t element)
{
    return index < meet->meetings.count &&
           RONDE_AT(meet->meetings, struct ronde_meeting, index)->a == element;
}

/*
 * A link without another direction both of whose ends touch the same element is crossed both ways, or by all: a bus.
 * The lists are as long as the ports of a bus, so the square is small but for a bus, where the first pair decides.
 */
static bool is_bus(const struct ronde_meet *meet, uint32_t link)
{
    const uint32_t tail = ronde_meet_tail(meet, link), head = ronde_meet_head(meet, link);
    const uint32_t first = first_meeting(meet, head);
    for (uint32_t i = first_meeting(meet, tail); is_of(meet, i, tail); i++)
        for (uint32_t j = first; is_of(meet, j, head); j++)
            if (neighbour(meet, i) == neighbour(meet, j))
                return true;
    return false;
}

uint32_t ronde_meet_find(struct ronde_meet *meet, uint32_t element)
{
    while (meet->parent[element] != element) {
        meet->parent[element] = meet->parent[meet->parent[element]];
        element = meet->parent[element];
    }
    return element;
}

/* One place, unless each has a host or router of its own. */
static bool join(struct ronde_meet *meet, uint32_t a, uint32_t b)
{
    const uint32_t left = ronde_meet_find(meet, a), right = ronde_meet_find(meet, b);
    if (left == right)
        return true;
    if (meet->solid[left] != RONDE_NONE && meet->solid[right] != RONDE_NONE)
        return push_pair(&meet->touches, meet->mem, left, right);
    meet->parent[right] = left;
    if (meet->solid[left] == RONDE_NONE)
        meet->solid[left] = meet->solid[right];
    if (meet->zone_point[left] == RONDE_NONE)
        meet->zone_point[left] = meet->zone_point[right];
    return true;
}

/* Whether several hosts or routers share an end, or hang on a bus: they touch it, none of them is it. */
static bool is_shared(const struct ronde_meet *meet, uint32_t first, uint32_t end)
{
    uint32_t solids = 0;
    const uint32_t element = RONDE_AT(meet->meetings, struct ronde_meeting, first)->a;
    const uint32_t lone = lone_link(meet, element);
    if (lone != RONDE_NONE && meet->is_bus[lone])
        return true;
    for (uint32_t i = first; i < end; i++)
        solids += meets_solid(meet, RONDE_AT(meet->meetings, struct ronde_meeting, i)->b);
    return solids > 1;
}

/* Settles all meetings of one element: in the first round those with a host or router, then the rest. */
static bool settle(struct ronde_meet *meet, uint32_t first, uint32_t end, bool is_first_round)
{
    const uint32_t element = RONDE_AT(meet->meetings, struct ronde_meeting, first)->a;
    const bool is_end = element >= meet->platform->points.count;
    const bool shared = is_end && is_shared(meet, first, end);
    bool ok = true;
    for (uint32_t i = first; i < end && ok; i++) {
        const uint32_t other = RONDE_AT(meet->meetings, struct ronde_meeting, i)->b;
        const bool is_solid = meets_solid(meet, other);
        if (!is_end && other >= meet->platform->points.count)
            continue; /* seen from the link's side */
        if ((is_solid && is_end) != is_first_round)
            continue;
        ok = is_solid && shared ? push_pair(&meet->touches, meet->mem, element, other)
                                : join(meet, element, other);
    }
    return ok;
}

static bool settle_all(struct ronde_meet *meet, bool is_first_round)
{
    uint32_t end;
    for (uint32_t first = 0; first < meet->meetings.count; first = end) {
        end = first;
        while (is_of(meet, end, RONDE_AT(meet->meetings, struct ronde_meeting, first)->a))
            end++;
        if (!settle(meet, first, end, is_first_round))
            return false;
    }
    return true;
}

/* Every element alone. */
static void start(struct ronde_meet *meet)
{
    for (uint32_t i = 0; i < meet->element_count; i++) {
        const bool is_point = i < meet->platform->points.count;
        const bool is_solid = meets_solid(meet, i);
        meet->parent[i] = i;
        meet->solid[i] = is_solid ? i : RONDE_NONE;
        meet->zone_point[i] = is_point && !is_solid ? i : RONDE_NONE;
    }
}

/* Buses first: they decide what touches and what merges. */
static bool find_classes(struct ronde_meet *meet)
{
    start(meet);
    for (uint32_t zone = 0; zone < meet->platform->zones.count; zone++)
        if (!add_members(meet, zone))
            return false;
    if (!add_routes(meet))
        return false;
    sort_meetings(&meet->meetings);
    for (uint32_t link = 0; link < meet->platform->links.count; link++)
        meet->is_bus[link] =
            meet->is_used[link] && reverse_of(meet->platform, link) == link && is_bus(meet, link);
    for (uint32_t link = 0; link < meet->platform->links.count; link++)
        if (meet->is_bus[link] &&
            !join(meet, ronde_meet_tail(meet, link), ronde_meet_head(meet, link)))
            return false;
    return settle_all(meet, true) && settle_all(meet, false);
}

enum ronde_status ronde_meet_create(const struct ronde_platform *platform,
                                    const struct ronde_mem *mem, struct ronde_meet *out_meet)
{
    const uint32_t links = platform->links.count;
    const uint32_t elements = platform->points.count + 2 * links;
    *out_meet = (struct ronde_meet){.platform = platform,
                                    .mem = mem,
                                    .store = {.mem = mem},
                                    .element_count = elements};
    out_meet->parent = ronde_store_new(&out_meet->store, elements, sizeof *out_meet->parent);
    out_meet->solid = ronde_store_new(&out_meet->store, elements, sizeof *out_meet->solid);
    out_meet->zone_point = ronde_store_new(&out_meet->store, elements, sizeof *out_meet->zone_point);
    out_meet->is_used = ronde_store_new(&out_meet->store, links, sizeof *out_meet->is_used);
    out_meet->is_bus = ronde_store_new(&out_meet->store, links, sizeof *out_meet->is_bus);
    return !out_meet->store.is_short && find_classes(out_meet) ? RONDE_OK : RONDE_NO_MEMORY;
}

void ronde_meet_free(struct ronde_meet *meet)
{
    ronde_store_clear(&meet->store);
    ronde_list_free(meet->mem, &meet->meetings, sizeof(struct ronde_meeting));
    ronde_list_free(meet->mem, &meet->touches, sizeof(struct ronde_meeting));
}
