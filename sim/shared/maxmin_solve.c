/*
 * Max-min fairness by filling: of all open flows' own rates and all tight links' levels (what a link has left, by its
 * open flows) the least is reached first and fixes those it is about (Bertsekas and Gallager, Data Networks, 2nd ed.,
 * 6.5.2). Levels never fall while others are fixed, so a heap whose entries are looked at again when they come up is
 * enough.
 */
#include "maxmin_share.h"

#include <stdlib.h>

/* A link is tight where it is asked for more than it has by this much, relative: less is rounding. */
#define TIGHT 1e-12

/* What rounding to single precision takes away at most, relative. */
#define SINGLE 1e-7

/* What a link has where others seem to leave nothing; they are looked at again then. */
#define LEAST_GBps 1e-300

/* After so many rounds all flows that tight links join are taken into a solution. */
#define ROUNDS 8u

static inline bool affect(struct ronde_sim_share *share, uint32_t index)
{
    struct ronde_sim_bundle *bundle = &share->bundles[index];
    if (bundle->solved == share->solution)
        return true;
    bundle->solved = share->solution;
    return ronde_sim_numbers_push(share->mem, &share->affected, index);
}

static bool affect_all(struct ronde_sim_share *share, const struct ronde_sim_shared_link *link)
{
    bool fits = true;
    for (uint32_t i = 0; i < link->count && fits; i++)
        fits = affect(share, link->bundles[i].bundle);
    return fits;
}

/*
 * Flows and links of a solution lie all over their memory, and each is read for a moment only: whatever comes next is asked
 * for as a whole before the first of it is looked at.
 */
static void prefetch_bundles(const struct ronde_sim_share *share,
                             const struct ronde_sim_shared_link *link)
{
    for (uint32_t i = 0; i < link->count; i++)
        __builtin_prefetch(&share->bundles[link->bundles[i].bundle], 1);
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
        prefetch_bundles(share, link);
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
        const struct ronde_sim_bundle *bundle = &share->bundles[share->affected.all[i]];
        for (uint32_t hop = 0; hop < bundle->hop_count; hop++)
            __builtin_prefetch(ronde_sim_share_link(share, bundle, hop), 1);
    }
}

/* Takes the tight links of flows from `first` on into the solution. */
static bool take_links(struct ronde_sim_share *share, uint32_t first)
{
    bool fits = true;
    prefetch_links(share, first);
    for (uint32_t i = first; i < share->affected.count && fits; i++) {
        const struct ronde_sim_bundle *bundle = &share->bundles[share->affected.all[i]];
        share->visits += bundle->hop_count + 1;
        for (uint32_t hop = 0; hop < bundle->hop_count && fits; hop++) {
            struct ronde_sim_shared_link *link = ronde_sim_share_link(share, bundle, hop);
            if (!link->is_tight || link->solved == share->solution)
                continue;
            link->solved = share->solution;
            __builtin_prefetch(link->bundles);
            fits =
                ronde_sim_numbers_push(share->mem, &share->taken, (uint32_t)(link - share->links));
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
    uint32_t open = 0, others = link->count;
    link->limits_some = false;
    for (uint32_t k = 0; k < link->count; k++) {
        const struct ronde_sim_bundle *bundle = &share->bundles[link->bundles[k].bundle];
        if (bundle->solved == share->solution) {
            open += bundle->count;
            others--;
            continue;
        }
        left_GBps -= bundle->rate_GBps * bundle->count;
        most_GBps = ronde_sim_later(most_GBps, bundle->rate_GBps);
        link->limits_some |= bundle->by == index;
    }
    link->left_GBps = left_GBps;
    link->level_GBps = 0;
    link->open = open;
    link->most_GBps = (float)most_GBps;
    link->has_others = others > 0;
}

/* Every flow of the solution is open. */
static bool open_solution(struct ronde_sim_share *share)
{
    bool fits = ronde_mem_grow(share->mem, &share->levels, &share->level_capacity,
                               share->taken.count, sizeof *share->levels);
    share->ranks.count = 0;
    share->level_count = 0;
    for (uint32_t i = 0; i < share->taken.count; i++)
        prefetch_bundles(share, &share->links[share->taken.all[i]]);
    for (uint32_t i = 0; i < share->affected.count && fits; i++) {
        struct ronde_sim_bundle *bundle = &share->bundles[share->affected.all[i]];
        if (share->rank_head[bundle->rank] == RONDE_NONE)
            fits = ronde_sim_numbers_push(share->mem, &share->ranks, bundle->rank);
        bundle->found_GBps = 0;
        bundle->next = share->rank_head[bundle->rank];
        share->rank_head[bundle->rank] = share->affected.all[i];
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
    struct ronde_sim_bundle *bundle = &share->bundles[index];
    if (bundle->solved != share->solution || bundle->found_GBps > 0)
        return;
    bundle->found_GBps = rate_GBps;
    bundle->by = by;
    for (uint32_t hop = 0; hop < bundle->hop_count; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, bundle, hop);
        if (!link->is_tight)
            continue;
        link->left_GBps -= rate_GBps * bundle->count;
        link->open -= bundle->count;
    }
}

/* All open flows of one own rate have it. */
static void fix_rank(struct ronde_sim_share *share, uint32_t rank)
{
    for (uint32_t bundle = share->rank_head[rank]; bundle != RONDE_NONE;
         bundle = share->bundles[bundle].next)
        fix(share, bundle, share->own_GBps[rank], RONDE_NONE);
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
            fix(share, link->bundles[i].bundle, reached_GBps, (uint32_t)(link - share->links));
        pop_level(share);
    }
}

static double rate_of(const struct ronde_sim_share *share, const struct ronde_sim_bundle *bundle)
{
    return bundle->solved == share->solution ? bundle->found_GBps : bundle->rate_GBps;
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
        const struct ronde_sim_bundle *bundle = &share->bundles[link->bundles[k].bundle];
        const double rate_GBps = rate_of(share, bundle);
        sum_GBps += rate_GBps * bundle->count;
        most_GBps = ronde_sim_later(most_GBps, rate_GBps);
    }
    const bool is_full = sum_GBps >= link->rate_GBps * (1 - TIGHT);
    for (uint32_t k = 0; k < link->count && fits; k++) {
        const struct ronde_sim_bundle *bundle = &share->bundles[link->bundles[k].bundle];
        if (bundle->solved == share->solution)
            continue;
        const bool has_more =
            link->level_GBps > 0 && bundle->rate_GBps > link->level_GBps * (1 + TIGHT);
        const bool is_freed =
            bundle->by == index && (!is_full || bundle->rate_GBps < most_GBps * (1 - TIGHT));
        if (has_more || is_freed)
            fits = affect(share, link->bundles[k].bundle);
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
