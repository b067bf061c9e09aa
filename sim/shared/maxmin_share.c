/*
 * Max-min fairness by filling: of all open flows' own rates and all tight links' levels (what a link has left, by its
 * open flows) the least is reached first and fixes those it is about (Bertsekas and Gallager, Data Networks, 2nd ed.,
 * 6.5.2). Levels never fall while others are fixed, so a heap whose entries are looked at again when they come up is
 * enough.
 */
#include "maxmin_share.h"

#include <stdlib.h>
#include <string.h>

/* A link is tight where it is asked for more than it has by this much, relative: less is rounding. */
#define TIGHT 1e-12

/* What rounding to single precision takes away at most, relative. */
#define SINGLE 1e-7

/* What a link has where others seem to leave nothing; they are looked at again then. */
#define LEAST_GBps 1e-300

/* After so many rounds all flows that tight links join are taken into a solution. */
#define ROUNDS 4u

static inline bool push(const struct ronde_mem *mem, struct ronde_sim_numbers *numbers,
                        uint32_t number)
{
    const bool fits = numbers->count < numbers->capacity ||
                      ronde_mem_grow(mem, &numbers->all, &numbers->capacity,
                                     (size_t)numbers->count + 1, sizeof *numbers->all);
    if (fits)
        numbers->all[numbers->count++] = number;
    return fits;
}

static void free_numbers(const struct ronde_mem *mem, struct ronde_sim_numbers *numbers)
{
    ronde_mem_free(mem, numbers->all, numbers->capacity, sizeof *numbers->all);
}

static int compare_rates(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Numbers the own rates of all routes in ascending order. */
static bool rank_routes(struct ronde_sim_share *share)
{
    const struct ronde_sim_routes *routes = &share->graph->routes;
    double *rates = ronde_store_new(&share->store, routes->count, sizeof *rates);
    share->own_GBps = rates;
    share->rank_of = ronde_store_new(&share->store, routes->count, sizeof *share->rank_of);
    share->rank_head = ronde_store_new(&share->store, routes->count, sizeof *share->rank_head);
    const bool fits = !share->store.is_short;
    for (uint32_t i = 0; fits && i < routes->count; i++) {
        rates[i] = routes->all[i].path.rate_GBps;
        share->rank_head[i] = RONDE_NONE;
    }
    if (fits && routes->count > 0)
        qsort(rates, routes->count, sizeof *rates, compare_rates);
    for (uint32_t i = 0; fits && i < routes->count; i++)
        if (i == 0 || rates[i] != rates[share->rank_count - 1])
            rates[share->rank_count++] = rates[i];
    for (uint32_t i = 0; fits && i < routes->count; i++) {
        const double *found = bsearch(&routes->all[i].path.rate_GBps, rates, share->rank_count,
                                      sizeof *rates, compare_rates);
        share->rank_of[i] = (uint32_t)(found - rates);
    }
    return fits;
}

bool ronde_sim_share_open(struct ronde_sim_share *share,
                          const struct ronde_sim_forward_graph *graph, const struct ronde_mem *mem)
{
    *share =
        (struct ronde_sim_share){.graph = graph, .mem = mem, .store = {.mem = mem}, .solution = 1};
    share->link_count = graph->link_count;
    share->links = ronde_store_new(&share->store, share->link_count, sizeof *share->links);
    for (uint32_t i = 0; share->links && i < share->link_count; i++)
        share->links[i].rate_GBps = graph->links[i].rate_GBps;
    for (uint32_t i = 0; i < graph->routes.count; i++)
        if (graph->routes.all[i].hop_count > share->most_hops)
            share->most_hops = graph->routes.all[i].hop_count;
    return rank_routes(share);
}

void ronde_sim_share_close(struct ronde_sim_share *share)
{
    const struct ronde_mem *mem = share->mem;
    for (uint32_t i = 0; share->links && i < share->link_count; i++)
        ronde_mem_free(mem, share->links[i].flows, share->links[i].capacity,
                       sizeof *share->links[i].flows);
    ronde_mem_free(mem, share->flows, share->flow_capacity, sizeof *share->flows);
    ronde_mem_free(mem, share->places, share->place_capacity, sizeof *share->places);
    ronde_mem_free(mem, share->levels, share->level_capacity, sizeof *share->levels);
    ronde_store_clear(&share->store);
    free_numbers(mem, &share->free);
    free_numbers(mem, &share->fresh);
    free_numbers(mem, &share->touched);
    free_numbers(mem, &share->affected);
    free_numbers(mem, &share->taken);
    free_numbers(mem, &share->ranks);
}

static uint32_t *place_of(const struct ronde_sim_share *share, struct ronde_sim_crossing crossing)
{
    return &share->places[(size_t)crossing.flow * share->most_hops + crossing.hop];
}

/* The next solution looks at this link. */
static bool touch(struct ronde_sim_share *share, struct ronde_sim_shared_link *link)
{
    if (link->is_touched)
        return true;
    link->is_touched = true;
    return push(share->mem, &share->touched, (uint32_t)(link - share->links));
}

/* Room for one more flow, with its places. */
static bool reserve_flow(struct ronde_sim_share *share)
{
    bool fits = ronde_mem_grow(share->mem, &share->flows, &share->flow_capacity,
                               (size_t)share->flow_count + 1, sizeof *share->flows);
    fits = fits && ronde_mem_grow(share->mem, &share->places, &share->place_capacity,
                                  share->flow_capacity * share->most_hops, sizeof *share->places);
    return fits;
}

/* Room for one more flow on a link. */
static bool reserve_crossing(struct ronde_sim_share *share, struct ronde_sim_shared_link *link)
{
    size_t capacity = link->capacity;
    if (link->count < capacity)
        return true;
    const bool fits = ronde_mem_grow(share->mem, &link->flows, &capacity, (size_t)link->count + 1,
                                     sizeof *link->flows);
    link->capacity = (uint32_t)capacity;
    return fits;
}

/* Puts a flow on a link of its route. */
static bool cross(struct ronde_sim_share *share, struct ronde_sim_shared_link *link,
                  struct ronde_sim_crossing crossing, double own_GBps)
{
    if (!reserve_crossing(share, link))
        return false;
    *place_of(share, crossing) = link->count;
    link->flows[link->count++] = crossing;
    link->demand_GBps += own_GBps;
    return touch(share, link);
}

uint32_t ronde_sim_share_join(struct ronde_sim_share *share, double at_ns,
                              const struct ronde_sim_arrival *arrival)
{
    if (share->free.count == 0 && !reserve_flow(share))
        return RONDE_NONE;
    const uint32_t index =
        share->free.count > 0 ? share->free.all[--share->free.count] : share->flow_count++;
    const struct ronde_sim_forward_kind *kind = &share->graph->kinds[arrival->kind];
    struct ronde_sim_flow *flow = &share->flows[index];
    *flow = (struct ronde_sim_flow){.left_bytes = kind->bytes,
                                    .since_ns = at_ns,
                                    .first_hop = kind->first_hop,
                                    .hop_count = kind->hop_count,
                                    .rank = share->rank_of[kind->route],
                                    .by = RONDE_NONE,
                                    .op = arrival->op,
                                    .kind = arrival->kind};
    const double own_GBps = share->own_GBps[flow->rank];
    bool fits = push(share->mem, &share->fresh, index);
    for (uint32_t hop = 0; hop < flow->hop_count && fits; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, flow, hop);
        if (link->rate_GBps > 0)
            fits = cross(share, link, (struct ronde_sim_crossing){index, hop}, own_GBps);
    }
    return fits ? index : RONDE_NONE;
}

/* The last of the list takes the place of what leaves; a link without flows has no rounding left either. */
static bool uncross(struct ronde_sim_share *share, struct ronde_sim_shared_link *link,
                    struct ronde_sim_crossing crossing, double own_GBps)
{
    const uint32_t place = *place_of(share, crossing);
    link->flows[place] = link->flows[--link->count];
    *place_of(share, link->flows[place]) = place;
    link->demand_GBps = link->count > 0 ? link->demand_GBps - own_GBps : 0.0;
    return touch(share, link);
}

bool ronde_sim_share_leave(struct ronde_sim_share *share, uint32_t index)
{
    const struct ronde_sim_flow *flow = &share->flows[index];
    const double own_GBps = share->own_GBps[flow->rank];
    bool fits = push(share->mem, &share->free, index);
    for (uint32_t hop = 0; hop < flow->hop_count && fits; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, flow, hop);
        if (link->rate_GBps > 0)
            fits = uncross(share, link, (struct ronde_sim_crossing){index, hop}, own_GBps);
    }
    return fits;
}

/* ---- A solution ------------------------------------------------------------------------------------------------- */

static inline bool affect(struct ronde_sim_share *share, uint32_t index)
{
    struct ronde_sim_flow *flow = &share->flows[index];
    if (flow->solved == share->solution)
        return true;
    flow->solved = share->solution;
    return push(share->mem, &share->affected, index);
}

static bool affect_all(struct ronde_sim_share *share, const struct ronde_sim_shared_link *link)
{
    bool fits = true;
    for (uint32_t i = 0; i < link->count && fits; i++)
        fits = affect(share, link->flows[i].flow);
    return fits;
}

/*
 * Flows and links of a solution lie all over their memory, and each is read for a moment only: whatever comes next is asked
 * for as a whole before the first of it is looked at.
 */
static void prefetch_flows(const struct ronde_sim_share *share,
                           const struct ronde_sim_shared_link *link)
{
    for (uint32_t i = 0; i < link->count; i++)
        __builtin_prefetch(&share->flows[link->flows[i].flow], 1);
}

/* Leaves those of the touched links that are or were tight. */
static void find_tight(struct ronde_sim_share *share)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < share->touched.count; i++) {
        struct ronde_sim_shared_link *link = &share->links[share->touched.all[i]];
        const bool was_tight = link->is_tight;
        link->is_touched = false;
        link->is_tight = link->demand_GBps > link->rate_GBps * (1 + TIGHT);
        if (!was_tight && !link->is_tight)
            continue;
        prefetch_flows(share, link);
        share->touched.all[count++] = share->touched.all[i];
    }
    share->touched.count = count;
}

/* Flows that are new, and those on links where flows came or went that are or were tight. */
static bool collect(struct ronde_sim_share *share)
{
    bool fits = true;
    find_tight(share);
    for (uint32_t i = 0; i < share->fresh.count && fits; i++)
        fits = affect(share, share->fresh.all[i]);
    for (uint32_t i = 0; i < share->touched.count && fits; i++)
        fits = affect_all(share, &share->links[share->touched.all[i]]);
    return fits;
}

static void prefetch_links(const struct ronde_sim_share *share, uint32_t first)
{
    for (uint32_t i = first; i < share->affected.count; i++) {
        const struct ronde_sim_flow *flow = &share->flows[share->affected.all[i]];
        for (uint32_t hop = 0; hop < flow->hop_count; hop++)
            __builtin_prefetch(ronde_sim_share_link(share, flow, hop), 1);
    }
}

/* Takes the tight links of flows from `first` on into the solution. */
static bool take_links(struct ronde_sim_share *share, uint32_t first)
{
    bool fits = true;
    prefetch_links(share, first);
    for (uint32_t i = first; i < share->affected.count && fits; i++) {
        const struct ronde_sim_flow *flow = &share->flows[share->affected.all[i]];
        share->visits += flow->hop_count + 1;
        for (uint32_t hop = 0; hop < flow->hop_count && fits; hop++) {
            struct ronde_sim_shared_link *link = ronde_sim_share_link(share, flow, hop);
            if (!link->is_tight || link->solved == share->solution)
                continue;
            link->solved = share->solution;
            __builtin_prefetch(link->flows);
            fits = push(share->mem, &share->taken, (uint32_t)(link - share->links));
        }
    }
    return fits;
}

/* Takes all flows of its links into the solution, and whatever tight links join to them. */
static bool take_all(struct ronde_sim_share *share)
{
    bool fits = true;
    for (uint32_t i = 0; i < share->taken.count && fits; i++) {
        const uint32_t flows = share->affected.count;
        fits = affect_all(share, &share->links[share->taken.all[i]]) && take_links(share, flows);
    }
    return fits;
}

/* What the flows of a link that are no part of the solution leave. */
static void open_link(const struct ronde_sim_share *share, struct ronde_sim_shared_link *link)
{
    const uint32_t index = (uint32_t)(link - share->links);
    double left_GBps = link->rate_GBps, most_GBps = 0;
    uint32_t open = 0;
    link->limits_some = false;
    for (uint32_t k = 0; k < link->count; k++) {
        const struct ronde_sim_flow *flow = &share->flows[link->flows[k].flow];
        if (flow->solved == share->solution) {
            open++;
            continue;
        }
        left_GBps -= flow->rate_GBps;
        most_GBps = ronde_sim_later(most_GBps, flow->rate_GBps);
        link->limits_some |= flow->by == index;
    }
    link->left_GBps = left_GBps;
    link->level_GBps = 0;
    link->open = open;
    link->most_GBps = (float)most_GBps;
    link->has_others = link->count > open;
}

/* Every flow of the solution is open. */
static bool open_solution(struct ronde_sim_share *share)
{
    bool fits = ronde_mem_grow(share->mem, &share->levels, &share->level_capacity,
                               share->taken.count, sizeof *share->levels);
    share->ranks.count = 0;
    share->level_count = 0;
    for (uint32_t i = 0; i < share->taken.count; i++)
        prefetch_flows(share, &share->links[share->taken.all[i]]);
    for (uint32_t i = 0; i < share->affected.count && fits; i++) {
        struct ronde_sim_flow *flow = &share->flows[share->affected.all[i]];
        if (share->rank_head[flow->rank] == RONDE_NONE)
            fits = push(share->mem, &share->ranks, flow->rank);
        flow->found_GBps = 0;
        flow->next = share->rank_head[flow->rank];
        share->rank_head[flow->rank] = share->affected.all[i];
    }
    for (uint32_t i = 0; i < share->taken.count && fits; i++) {
        struct ronde_sim_shared_link *link = &share->links[share->taken.all[i]];
        open_link(share, link);
        share->visits += link->count;
        share->levels[share->level_count++] =
            (struct ronde_sim_level){ronde_sim_later(link->left_GBps, LEAST_GBps) / link->open,
                                     (uint32_t)(link - share->links)};
    }
    return fits;
}

/* Moves an entry of the heap down to its place. */
static void sink(struct ronde_sim_share *share, uint32_t at)
{
    struct ronde_sim_level *levels = share->levels;
    const struct ronde_sim_level moved = levels[at];
    share->visits++;
    for (uint32_t child = 2 * at + 1; child < share->level_count; child = 2 * at + 1) {
        child += child + 1 < share->level_count && levels[child + 1].GBps < levels[child].GBps;
        if (levels[child].GBps >= moved.GBps)
            break;
        levels[at] = levels[child];
        at = child;
        share->visits++;
    }
    levels[at] = moved;
}

static void pop_level(struct ronde_sim_share *share)
{
    share->levels[0] = share->levels[--share->level_count];
    if (share->level_count > 0)
        sink(share, 0);
}

/* The link of the least level, looked at again; NULL where all flows of all links have their rate. */
static struct ronde_sim_shared_link *tightest(struct ronde_sim_share *share)
{
    while (share->level_count > 0) {
        struct ronde_sim_level *top = &share->levels[0];
        struct ronde_sim_shared_link *link = &share->links[top->link];
        const double now_GBps =
            link->open > 0 ? ronde_sim_later(link->left_GBps, LEAST_GBps) / link->open : 0;
        if (link->open > 0 && now_GBps <= top->GBps)
            return link;
        if (link->open == 0) {
            pop_level(share);
            continue;
        }
        top->GBps = now_GBps;
        sink(share, 0);
    }
    return NULL;
}

/* Gives an open flow of the solution its rate. */
static inline void fix(struct ronde_sim_share *share, uint32_t index, double rate_GBps, uint32_t by)
{
    struct ronde_sim_flow *flow = &share->flows[index];
    if (flow->solved != share->solution || flow->found_GBps > 0)
        return;
    flow->found_GBps = rate_GBps;
    flow->by = by;
    for (uint32_t hop = 0; hop < flow->hop_count; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, flow, hop);
        if (!link->is_tight)
            continue;
        link->left_GBps -= rate_GBps;
        link->open--;
    }
}

/* All open flows of one own rate have it. */
static void fix_rank(struct ronde_sim_share *share, uint32_t rank)
{
    for (uint32_t flow = share->rank_head[rank]; flow != RONDE_NONE; flow = share->flows[flow].next)
        fix(share, flow, share->own_GBps[rank], RONDE_NONE);
    share->rank_head[rank] = RONDE_NONE;
}

static int compare_ranks(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Rates reached grow; rounding alone could take one back. */
static void fill(struct ronde_sim_share *share)
{
    double reached_GBps = 0;
    for (uint32_t at = share->level_count / 2; at-- > 0;)
        sink(share, at);
    if (share->ranks.count > 1)
        qsort(share->ranks.all, share->ranks.count, sizeof *share->ranks.all, compare_ranks);
    for (uint32_t next = 0; next < share->ranks.count;) {
        const uint32_t rank = share->ranks.all[next];
        const double own = share->own_GBps[rank];
        struct ronde_sim_shared_link *link = tightest(share);
        if (!link || own <= share->levels[0].GBps) {
            reached_GBps = ronde_sim_later(reached_GBps, own);
            fix_rank(share, rank);
            next++;
            continue;
        }
        reached_GBps = ronde_sim_later(reached_GBps, share->levels[0].GBps);
        link->level_GBps = reached_GBps;
        for (uint32_t i = 0; i < link->count; i++)
            fix(share, link->flows[i].flow, reached_GBps, (uint32_t)(link - share->links));
        pop_level(share);
    }
}

static double rate_of(const struct ronde_sim_share *share, const struct ronde_sim_flow *flow)
{
    return flow->solved == share->solution ? flow->found_GBps : flow->rate_GBps;
}

/* Whether flows of a link that a solution was found without need to be looked at: one has more than others, or is limited. */
static bool may_be_unfair(const struct ronde_sim_shared_link *link)
{
    const bool may_have_more =
        link->level_GBps > 0 && (double)link->most_GBps * (1 + SINGLE) > link->level_GBps;
    return may_have_more || link->limits_some;
}

/*
 * Takes flows of a link into the solution that it was found without, where their rates are not fair any more: they have
 * more than the link gives others, or it limited them and does so no longer.
 */
static bool look_again(struct ronde_sim_share *share, const struct ronde_sim_shared_link *link)
{
    const uint32_t index = (uint32_t)(link - share->links);
    double sum_GBps = 0, most_GBps = 0;
    bool fits = true;
    if (!link->has_others || !may_be_unfair(link))
        return true;
    for (uint32_t k = 0; k < link->count; k++) {
        const double rate_GBps = rate_of(share, &share->flows[link->flows[k].flow]);
        sum_GBps += rate_GBps;
        most_GBps = ronde_sim_later(most_GBps, rate_GBps);
    }
    const bool is_full = sum_GBps >= link->rate_GBps * (1 - TIGHT);
    for (uint32_t k = 0; k < link->count && fits; k++) {
        const struct ronde_sim_flow *flow = &share->flows[link->flows[k].flow];
        if (flow->solved == share->solution)
            continue;
        const bool has_more =
            link->level_GBps > 0 && flow->rate_GBps > link->level_GBps * (1 + TIGHT);
        const bool is_freed =
            flow->by == index && (!is_full || flow->rate_GBps < most_GBps * (1 - TIGHT));
        if (has_more || is_freed)
            fits = affect(share, link->flows[k].flow);
    }
    share->visits += link->count;
    return fits;
}

/*
 * A solution for some flows, the rates of all others as they were, is that of all if it leaves these fair; else it is
 * found for more of them, until it does. What is far from a change so is not looked at, however many tight links lie
 * between.
 */
bool ronde_sim_share_solve(struct ronde_sim_share *share)
{
    share->affected.count = 0;
    share->taken.count = 0;
    bool fits = collect(share);
    uint32_t flows = 0;
    for (uint32_t round = 0; fits && flows < share->affected.count; round++) {
        fits =
            take_links(share, flows) && (round < ROUNDS || take_all(share)) && open_solution(share);
        flows = share->affected.count;
        if (fits)
            fill(share);
        for (uint32_t i = 0; i < share->taken.count && fits; i++)
            fits = look_again(share, &share->links[share->taken.all[i]]);
    }
    share->fresh.count = 0;
    share->touched.count = 0;
    share->solution++;
    return fits;
}
