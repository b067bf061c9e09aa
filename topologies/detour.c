/*
 * Ways around what has been taken out. See detour.h.
 *
 * A search from a host is breadth first and counts, for every place, the links to it and how many equally short ways
 * there are. The ways of a pair are then numbered from 0, by which arc they enter each place: to find the n-th, it
 * goes back from the destination and, at each place, passes over as many ways as come by each arc (enter). The number
 * is taken from those of both hosts, so pairs use all ways in turn. Counts are doubles: beyond 2^53 ways numbers are
 * no longer exact, and some way is taken, always the same.
 *
 * A bus, a link that all of a place share, is an arc between two places of one class: into the place and behind it.
 */
#include "detour.h"
#include "shape_meet.h"

#include <math.h>
#include <stdlib.h>

/* What is being made. */
struct making {
    struct ronde_meet *meet;
    struct ronde_detours *detours;
    uint32_t *number; /* per element: the place of its class, at the root */
    uint32_t *behind; /* beside it: the place behind the bus of that place, or itself */
    struct ronde_list arcs;
    struct ronde_store room;
};

static uint32_t place_of(struct making *making, uint32_t element)
{
    return making->number[ronde_meet_find(making->meet, element)];
}

static uint32_t behind(struct making *making, uint32_t element)
{
    return making->behind[ronde_meet_find(making->meet, element)];
}

/* Numbers the classes; a bus is crossed between two places of one class. */
static void number_places(struct making *making)
{
    struct ronde_meet *meet = making->meet;
    uint32_t count = 0;
    for (uint32_t i = 0; i < meet->element_count; i++)
        if (ronde_meet_find(meet, i) == i)
            making->number[i] = making->behind[i] = count++;
    for (uint32_t link = 0; link < meet->platform->links.count; link++) {
        const uint32_t root =
            meet->is_bus[link] ? ronde_meet_find(meet, ronde_meet_tail(meet, link)) : RONDE_NONE;
        if (root != RONDE_NONE && making->behind[root] == making->number[root])
            making->behind[root] = count++;
    }
    making->detours->place_count = count;
}

static bool push_arc(struct making *making, uint32_t from, uint32_t to, uint32_t link)
{
    const struct ronde_detour_arc arc = {from, to, link};
    return ronde_list_append(making->meet->mem, &making->arcs, &arc, sizeof arc);
}

static bool push_link(struct making *making, uint32_t link)
{
    struct ronde_meet *meet = making->meet;
    const uint32_t tail = ronde_meet_tail(meet, link), head = ronde_meet_head(meet, link);
    if (meet->is_bus[link])
        return push_arc(making, place_of(making, tail), behind(making, tail), link);
    return push_arc(making, behind(making, tail), place_of(making, head), link);
}

static bool push_arcs(struct making *making)
{
    struct ronde_meet *meet = making->meet;
    const struct ronde_platform *platform = meet->platform;
    bool ok = true;
    for (uint32_t i = 0; i < platform->links.count && ok; i++) {
        const uint32_t reverse = *RONDE_AT(platform->reverses, uint32_t, i);
        if ((meet->is_used[i] || meet->is_used[reverse]) && !platform->is_out[i])
            ok = push_link(making, i);
    }
    for (uint32_t i = 0; i < meet->touches.count && ok; i++) {
        const struct ronde_meeting touch = *RONDE_AT(meet->touches, struct ronde_meeting, i);
        ok = push_arc(making, behind(making, touch.a), place_of(making, touch.b), RONDE_NONE) &&
             push_arc(making, behind(making, touch.b), place_of(making, touch.a), RONDE_NONE);
    }
    return ok;
}

/* Places where each arc begins or ends, counted, summed up, then filled in: a stable order by one end. */
static void index_arcs(const struct ronde_detour_arc *arcs, uint32_t count, bool by_end,
                       uint32_t places, uint32_t *first, uint32_t *order)
{
    for (uint32_t i = 0; i <= places; i++)
        first[i] = 0;
    for (uint32_t i = 0; i < count; i++)
        first[(by_end ? arcs[i].to : arcs[i].from) + 1]++;
    for (uint32_t i = 0; i < places; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < count; i++)
        order[first[by_end ? arcs[i].to : arcs[i].from]++] = i;
    for (uint32_t i = places; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

/* Counts hosts by whether a link that is out begins or ends there. `behind` serves as room: arcs are made. */
static void number_hosts(struct making *making)
{
    struct ronde_meet *meet = making->meet;
    const struct ronde_platform *platform = meet->platform;
    const struct ronde_detours *detours = making->detours;
    uint32_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < meet->element_count; i++)
        making->behind[i] = 0;
    for (uint32_t i = 0; i < platform->links.count; i++)
        if (platform->is_out[i]) {
            making->behind[ronde_meet_find(meet, ronde_meet_tail(meet, i))] = 1;
            making->behind[ronde_meet_find(meet, ronde_meet_head(meet, i))] = 1;
        }
    for (uint32_t i = 0; i < detours->host_count; i++) {
        const uint32_t root = ronde_meet_find(meet, *RONDE_AT(platform->hosts, uint32_t, i));
        detours->number_of[i] = counts[making->behind[root]]++;
    }
}

static bool finish(struct making *making)
{
    struct ronde_detours *detours = making->detours;
    const uint32_t places = detours->place_count, count = making->arcs.count;
    const struct ronde_platform *platform = making->meet->platform;
    uint32_t *order = ronde_store_new(&making->room, count, sizeof *order);
    detours->arc_count = count;
    detours->host_count = platform->hosts.count;
    detours->arcs = ronde_store_new(&detours->store, count, sizeof *detours->arcs);
    detours->first_out =
        ronde_store_new(&detours->store, (size_t)places + 1, sizeof *detours->first_out);
    detours->by_end = ronde_store_new(&detours->store, count, sizeof *detours->by_end);
    detours->first_in =
        ronde_store_new(&detours->store, (size_t)places + 1, sizeof *detours->first_in);
    detours->place_of =
        ronde_store_new(&detours->store, detours->host_count, sizeof *detours->place_of);
    detours->number_of =
        ronde_store_new(&detours->store, detours->host_count, sizeof *detours->number_of);
    const bool has_room = order && !detours->store.is_short;
    if (has_room) {
        index_arcs(making->arcs.items, count, false, places, detours->first_out, order);
        for (uint32_t i = 0; i < count; i++)
            detours->arcs[i] = *RONDE_AT(making->arcs, struct ronde_detour_arc, order[i]);
        index_arcs(detours->arcs, count, true, places, detours->first_in, detours->by_end);
        for (uint32_t i = 0; i < detours->host_count; i++)
            detours->place_of[i] = place_of(making, *RONDE_AT(platform->hosts, uint32_t, i));
        number_hosts(making);
    }
    return has_room;
}

enum ronde_status ronde_detours_make(struct ronde_meet *meet, struct ronde_detours **out_detours)
{
    const struct ronde_mem *mem = meet->mem;
    const uint32_t elements = meet->element_count;
    struct making making = {.meet = meet, .room = {.mem = mem}};
    making.detours = ronde_mem_new(mem, 1, sizeof *making.detours);
    if (making.detours)
        making.detours->store.mem = mem;
    making.number = ronde_store_new(&making.room, elements, sizeof *making.number);
    making.behind = ronde_store_new(&making.room, elements, sizeof *making.behind);
    bool ok = making.detours && !making.room.is_short;
    if (ok)
        number_places(&making);
    ok = ok && push_arcs(&making) && finish(&making);
    ronde_list_free(mem, &making.arcs, sizeof(struct ronde_detour_arc));
    ronde_store_clear(&making.room);
    if (!ok) {
        ronde_detours_free(making.detours, mem);
        return RONDE_NO_MEMORY;
    }
    *out_detours = making.detours;
    return RONDE_OK;
}

struct ronde_detours *ronde_detours_view(const struct ronde_detours *whole, const uint32_t *hosts,
                                         uint32_t count, const struct ronde_mem *mem)
{
    struct ronde_detours *view = ronde_mem_new(mem, 1, sizeof *view);
    if (!view)
        return NULL;
    *view = *whole;
    view->store = (struct ronde_store){.mem = mem};
    view->host_count = count;
    view->place_of = ronde_store_new(&view->store, count, sizeof *view->place_of);
    view->number_of = ronde_store_new(&view->store, count, sizeof *view->number_of);
    if (view->store.is_short) {
        ronde_detours_free(view, mem);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        view->place_of[i] = whole->place_of[hosts[i]];
        view->number_of[i] = whole->number_of[hosts[i]];
    }
    return view;
}

void ronde_detours_free(struct ronde_detours *detours, const struct ronde_mem *mem)
{
    if (!detours)
        return;
    ronde_store_clear(&detours->store);
    ronde_mem_free(mem, detours, 1, sizeof *detours);
}

void ronde_detour_search_open(const struct ronde_detours *detours, struct ronde_store *store,
                              struct ronde_detour_search *out_search)
{
    const uint32_t places = detours->place_count;
    out_search->source = RONDE_NONE;
    out_search->distance = ronde_store_new(store, places, sizeof *out_search->distance);
    out_search->ways = ronde_store_new(store, places, sizeof *out_search->ways);
    out_search->queue = ronde_store_new(store, places, sizeof *out_search->queue);
}

/* Breadth first: when a place is taken from the queue, all ways to it have been counted. */
static void search_from(const struct ronde_detours *detours, struct ronde_detour_search *search,
                        uint32_t src)
{
    const uint32_t start = detours->place_of[src];
    uint32_t taken = 0, waiting = 0;
    for (uint32_t i = 0; i < detours->place_count; i++) {
        search->distance[i] = RONDE_NONE;
        search->ways[i] = 0;
    }
    search->distance[start] = 0;
    search->ways[start] = 1;
    search->queue[waiting++] = start;
    while (taken < waiting) {
        const uint32_t place = search->queue[taken++];
        for (uint32_t a = detours->first_out[place]; a < detours->first_out[place + 1]; a++) {
            const uint32_t to = detours->arcs[a].to;
            if (search->distance[to] == RONDE_NONE) {
                search->distance[to] = search->distance[place] + 1;
                search->queue[waiting++] = to;
            }
            if (search->distance[to] == search->distance[place] + 1)
                search->ways[to] += search->ways[place];
        }
    }
    search->source = src;
}

/* The arc by which the way of this number enters a place; *number becomes that of the way to where the arc begins. */
static uint32_t enter(const struct ronde_detours *detours, const struct ronde_detour_search *search,
                      uint32_t place, double *number)
{
    uint32_t last = RONDE_NONE;
    for (uint32_t i = detours->first_in[place]; i < detours->first_in[place + 1]; i++) {
        const uint32_t arc = detours->by_end[i], from = detours->arcs[arc].from;
        if (search->distance[from] == RONDE_NONE ||
            search->distance[from] + 1 != search->distance[place])
            continue;
        last = arc;
        if (*number < search->ways[from])
            return arc;
        *number -= search->ways[from];
    }
    /* More ways than a double counts one by one. */
    *number = 0;
    return last;
}

uint32_t ronde_detour_find(const struct ronde_detours *detours, struct ronde_detour_search *search,
                           uint32_t src, uint32_t dst)
{
    const uint32_t start = detours->place_of[src];
    uint32_t place = detours->place_of[dst], count = 0;
    if (search->source != src)
        search_from(detours, search, src);
    if (search->distance[place] == RONDE_NONE)
        return RONDE_NONE;
    const double ways = search->ways[place];
    double number = fmod(detours->number_of[src] + floor(detours->number_of[dst] / ways), ways);
    while (place != start) {
        const struct ronde_detour_arc *arc = &detours->arcs[enter(detours, search, place, &number)];
        if (arc->link != RONDE_NONE)
            search->queue[count++] = arc->link;
        place = arc->from;
    }
    return count;
}
