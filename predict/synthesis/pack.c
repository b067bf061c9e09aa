/*
 * How many trees, and packing them. See forest.h.
 *
 * Trees are whole, links carry fractions: of k trees a root a link carries whole ones only, so each k has a bound of
 * its own (bound_of, by bisection of the time in which cuts let k trees through). The k that promises most is packed
 * first. Packing aims at its bound, and where the search fails, at a little more, level by level (slacks), each level
 * beginning with the trees of the last. It stops at a packing within NEARLY of its own bound, or after RONDE_PACK_TRIES numbers.
 */
#include "forest.h"

#include <math.h>
#include <string.h>

/* A share of the bound that more trees are not worth: of all ranks, where replays are to be quick, as each has messages of its own. */
#define NEARLY 0.003
#define NEARLY_QUICK 0.01
/* A share of it that is enough on many ranks: few trees are packed in a hundredth of the time of many that reach all. */
#define ENOUGH 0.995
#define MANY_RANKS 48u
/* What a packing may miss of what so few trees allow, level by level. */
static const double slacks[] = {0,    0.002, 0.005, 0.01, 0.02, 0.04, 0.08,
                                0.16, 0.32,  0.64,  1.28, 3,    8};
#define SLACK_COUNT (sizeof slacks / sizeof slacks[0])
/* How much less time is aimed at, again and again, where what links allow says little; LEAST_GAIN is rounding. */
static const double gains[] = {0.3, 0.1, 0.03, 0.01};
#define GAIN_COUNT (sizeof gains / sizeof gains[0])
#define LEAST_GAIN 1e-6
/* Steps of a search at each level: so many for each edge, and some more. */
#define STEPS_PER_EDGE 20u
#define STEPS_MORE 30000u
/* The share of these that trees of limited height are worth: they seldom balance. */
#define STEPS_OF_LOW 16u
/* Where cuts tell less, more numbers of trees are tried, and each for a shorter time. */
#define TRIES_OF_JOINT 24u
#define RANKS_OF_TRIES 256u
/* What one try must gain on those before. */
#define GAIN 1.01
#define STEPS_OF_JOINT 8u
/* Visits of ways to links in a search on a torus, whose ways are long: a tenth of a second. */
#define MOST_TORUS_VISITS (UINT64_C(1) << 25)

static bool has_all_roots(const struct ronde_pack_task *task)
{
    return task->root == RONDE_NONE && !task->symmetry;
}

static uint32_t root_count(const struct ronde_pack_task *task)
{
    return has_all_roots(task) ? task->ways->ranks : 1;
}

/* Whole trees that leave all but one rank, by the arcs into it. */
static bool fits_rank(const struct ronde_pack_task *task, uint32_t trees, uint32_t rank,
                      const double *entering)
{
    const uint32_t roots = task->root == RONDE_NONE ? task->ways->ranks - 1 : task->root != rank;
    return entering[rank] >= (double)roots * trees;
}

static double capacity_of(const struct ronde_pack_task *task, const struct ronde_arc *arc,
                          double time)
{
    return arc->capacity >= task->graph->free
               ? INFINITY
               : floor(time * (double)arc->capacity * task->graph->unit_GBps * (1 + 1e-9) + 1e-9);
}

/* Turned trees: what a class carries is whole, and with its turned copies enters every rank alike. */
static bool fits_turned(const struct ronde_pack_task *task, uint32_t trees, double time,
                        double *entering)
{
    const struct ronde_graph *graph = task->graph;
    double sum = 0;
    for (uint32_t c = 0; c < task->symmetry->class_count; c++)
        entering[c] = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const struct ronde_arc *arc = &graph->arcs[a];
        const uint32_t class =
            arc->wire == RONDE_NONE ? RONDE_NONE : task->symmetry->class_of[arc->wire];
        if (arc->to >= graph->ranks)
            continue;
        if (class == RONDE_NONE || isinf(task->ways->rate_GBps[class]))
            return true;
        entering[class] = floor(time * task->ways->rate_GBps[class] * (1 + 1e-9) + 1e-9);
    }
    for (uint32_t c = 0; c < task->symmetry->class_count; c++)
        sum += entering[c];
    return sum >= (double)trees * (graph->ranks - 1);
}

/* Whether cuts let so many trees through in a time. `entering`: room for a number a rank and a class. */
static bool fits(const struct ronde_pack_task *task, uint32_t trees, double time, double *entering)
{
    const struct ronde_graph *graph = task->graph;
    double leaving = 0, arriving = 0;
    if (task->symmetry)
        return fits_turned(task, trees, time, entering);
    for (uint32_t r = 0; r < graph->ranks; r++)
        entering[r] = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const struct ronde_arc *arc = &graph->arcs[a];
        const double capacity = capacity_of(task, arc, time);
        if (arc->to < graph->ranks)
            entering[arc->to] += capacity;
        if (task->cut->inside[arc->from] && !task->cut->inside[arc->to])
            leaving += capacity;
    }
    for (uint32_t r = 0; r < graph->ranks; r++) {
        if (!fits_rank(task, trees, r, entering))
            return false;
        arriving += entering[r];
    }
    return arriving >= (double)task->arrivals * trees &&
           leaving >= (double)trees * (double)task->cut->blocks;
}

/* The least time in which `fits`, by bisection: it is monotone. */
static double bound_of(const struct ronde_pack_task *task, uint32_t trees, double *entering)
{
    double low = trees / task->rate_GBps, high = low;
    if (isinf(task->rate_GBps) || fits(task, trees, low, entering))
        return low;
    while (!fits(task, trees, high, entering))
        high *= 2;
    for (uint32_t i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (fits(task, trees, middle, entering))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* What packing holds. */
struct packing {
    const struct ronde_pack_task *task;
    struct ronde_store *pool;
    double *entering; /* room for `fits` */
    uint32_t *roots;  /* room for the roots of trees */
    bool *none_tried; /* false for every number of trees */
    struct ronde_packing best;
};

/* Trees of every root, root by root. */
static uint32_t list_roots(struct packing *packing, uint32_t trees)
{
    const struct ronde_pack_task *task = packing->task;
    const uint32_t count = root_count(task) * trees;
    for (uint32_t t = 0; t < count; t++)
        packing->roots[t] = has_all_roots(task) ? t / trees : task->symmetry ? 0 : task->root;
    return count;
}

static double share_of(const struct packing *packing, const struct ronde_packing *found)
{
    const double rate_GBps = packing->task->rate_GBps;
    return isinf(rate_GBps) || found->time <= 0 ? 1 : found->trees / found->time / rate_GBps;
}

/* Steps of a search for so many trees. A tree of height 1 is a star, in which no edge can be moved. */
static uint64_t steps_of(const struct ronde_pack_task *task, uint32_t count)
{
    const uint32_t n = task->ways->ranks;
    uint64_t usual = STEPS_MORE + STEPS_PER_EDGE * (uint64_t)count * n;
    /* A step looks at the ways of all ranks to one. */
    if (task->symmetry && task->symmetry->may_take)
        usual = MOST_TORUS_VISITS / (task->ways->first[(size_t)n * n] / n + 1);
    return task->most_height == 1  ? 0
           : task->most_height > 0 ? usual / STEPS_OF_LOW
           : task->arrivals > 0    ? usual / STEPS_OF_JOINT
                                   : usual;
}

static enum ronde_status no_memory(const struct packing *packing, uint32_t count,
                                   struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u trees of %u ranks", count,
                      packing->task->ways->ranks);
}

/* A forest of so many trees, grown with limits for a time. */
static enum ronde_status grow(struct packing *packing, struct ronde_packing *found,
                              struct ronde_balance *balance, double time, struct ronde_error *error)
{
    const struct ronde_pack_task *task = packing->task;
    const uint32_t count = list_roots(packing, found->trees);
    if (!ronde_forest_create(&found->forest, task->ways, packing->roots, count, packing->pool) ||
        !ronde_balance_create(balance, &found->forest, packing->pool))
        return no_memory(packing, count, error);
    if (task->torus && !ronde_symmetry_plant(task->torus, &found->forest))
        return ronde_fail(error, RONDE_UNSUPPORTED, "trees along axes share links: it is no torus");
    balance->progress = task->progress;
    if (task->most_height > 0)
        balance->most_depth = task->most_height;
    ronde_balance_aim(balance, time);
    if (!ronde_balance_grow(balance))
        return ronde_fail(error, RONDE_BAD_INPUT, "some rank cannot be reached from another");
    return RONDE_OK;
}

/* Takes back all that was changed since the parents of all edges were these. */
static void take_back(struct ronde_forest *forest, const uint32_t *parents)
{
    const uint32_t n = forest->ways->ranks;
    for (uint32_t edge = 0; edge < forest->tree_count * n; edge++) {
        if (parents[edge] == forest->parent[edge])
            continue;
        if (forest->parent[edge] != RONDE_NONE)
            ronde_forest_unlink(forest, edge / n, edge % n);
        ronde_forest_link(forest, edge / n, parents[edge], edge % n);
    }
}

/* Balances trees that have grown to less and less time, down to their bound, and makes them lower in the least that succeeded. */
static enum ronde_status descend(struct packing *packing, struct ronde_packing *found,
                                 struct ronde_balance *balance, struct ronde_error *error)
{
    struct ronde_forest *forest = &found->forest;
    const size_t edges = (size_t)forest->tree_count * forest->ways->ranks;
    const uint64_t steps = steps_of(packing->task, forest->tree_count);
    uint32_t *parents = ronde_store_new(packing->pool, edges, sizeof *parents);
    if (!parents)
        return no_memory(packing, forest->tree_count, error);
    for (size_t i = 0; i < GAIN_COUNT;) {
        const double time = ronde_forest_time(forest);
        const double wanted = fmax(found->bound_time, time * (1 - gains[i]));
        memcpy(parents, forest->parent, edges * sizeof *parents);
        if (wanted >= time * (1 - LEAST_GAIN))
            break;
        ronde_balance_aim(balance, wanted);
        if (!ronde_balance_search(balance, steps)) {
            take_back(forest, parents);
            i++;
        }
    }
    ronde_balance_aim(balance, ronde_forest_time(forest));
    return ronde_flatten(forest, balance->limit, packing->task->overfills, packing->task->progress,
                         packing->pool)
               ? RONDE_OK
               : no_memory(packing, forest->tree_count, error);
}

/* Balances to the least time that succeeds; the trees of a level that failed are where the next begins. */
static enum ronde_status ascend(struct packing *packing, struct ronde_packing *found,
                                struct ronde_balance *balance, struct ronde_error *error)
{
    const struct ronde_pack_task *task = packing->task;
    const uint64_t steps = steps_of(task, found->forest.tree_count);
    for (size_t level = 0; level < SLACK_COUNT; level++) {
        ronde_balance_aim(balance, found->bound_time * (1 + slacks[level]));
        const bool is_balanced = ronde_balance_search(balance, steps);
        if (!ronde_flatten(&found->forest, balance->limit, task->overfills, task->progress,
                           packing->pool))
            return no_memory(packing, found->forest.tree_count, error);
        if (is_balanced)
            break;
    }
    return RONDE_OK;
}

/* Packs so many trees, and compares them with the best so far. */
static enum ronde_status pack_trees(struct packing *packing, uint32_t trees,
                                    struct ronde_error *error)
{
    const struct ronde_pack_task *task = packing->task;
    struct ronde_packing found = {.trees = trees};
    struct ronde_balance balance;
    found.bound_time = bound_of(task, trees, packing->entering);
    RONDE_TRY(grow(packing, &found, &balance, found.bound_time, error));
    /* Low trees of all ranks are far from what links allow, and a search from there seldom ends well. */
    const bool is_far = has_all_roots(task) && task->most_height > 0;
    RONDE_TRY(task->descends || is_far ? descend(packing, &found, &balance, error)
                                       : ascend(packing, &found, &balance, error));
    found.time = ronde_forest_time(&found.forest);
    if (task->tried && task->tried->count < RONDE_PACK_TRIES)
        task->tried->all[task->tried->count++] = found;
    if (packing->best.trees == 0 || share_of(packing, &found) > share_of(packing, &packing->best))
        packing->best = found;
    return RONDE_OK;
}

/* Packs to a time that is better than that of the best so far, in one search; whether there are such trees. */
static enum ronde_status beat(struct packing *packing, uint32_t trees, bool *out_is_better,
                              struct ronde_error *error)
{
    const struct ronde_pack_task *task = packing->task;
    struct ronde_packing found = {.trees = trees};
    struct ronde_balance balance;
    *out_is_better = false;
    found.bound_time = bound_of(task, trees, packing->entering);
    const double wanted = trees / (share_of(packing, &packing->best) * GAIN * task->rate_GBps);
    const double time = fmax(found.bound_time, wanted);
    RONDE_TRY(grow(packing, &found, &balance, time, error));
    const bool is_balanced = ronde_balance_search(&balance, steps_of(task, found.forest.tree_count));
    if (is_balanced && !ronde_flatten(&found.forest, balance.limit, task->overfills, task->progress,
                                      packing->pool))
        return no_memory(packing, found.forest.tree_count, error);
    found.time = ronde_forest_time(&found.forest);
    *out_is_better = is_balanced && share_of(packing, &found) > share_of(packing, &packing->best);
    if (*out_is_better)
        packing->best = found;
    return RONDE_OK;
}

/* One number of trees: as good as it gets or, where others have been tried and each try is short, better than these. */
static enum ronde_status try_trees(struct packing *packing, uint32_t trees,
                                   struct ronde_error *error)
{
    bool is_better = true;
    if (packing->task->arrivals == 0 || packing->best.trees == 0)
        return pack_trees(packing, trees, error);
    while (is_better)
        RONDE_TRY(beat(packing, trees, &is_better, error));
    return RONDE_OK;
}

/* The share of the bound that so many trees allow, and 0 for a number that was tried. */
static double promise(struct packing *packing, uint32_t trees, const bool *is_tried)
{
    if (is_tried[trees])
        return 0;
    return trees / packing->task->rate_GBps / bound_of(packing->task, trees, packing->entering);
}

static double best_promise(struct packing *packing, uint32_t most, const bool *is_tried)
{
    double best = 0;
    for (uint32_t k = 1; k <= most; k++)
        best = fmax(best, promise(packing, k, is_tried));
    return best;
}

/*
 * The least number of trees, among those not tried, that allows enough, or nearly as much as the best; 0 without any. More
 * than usual only where the usual ones, tried or not, allow less than enough, and then only as many as that takes.
 */
static uint32_t most_promising(struct packing *packing, const bool *is_tried)
{
    const struct ronde_pack_task *task = packing->task;
    const uint32_t usual = task->usual_trees > 0 ? task->usual_trees : task->most_trees;
    const bool is_short =
        task->most_trees > usual && best_promise(packing, usual, packing->none_tried) < ENOUGH;
    const uint32_t most = is_short ? task->most_trees : usual;
    const double enough = is_short || task->ways->ranks >= MANY_RANKS ? ENOUGH : 1;
    const double best = best_promise(packing, most, is_tried);
    const double nearly = task->is_quick && has_all_roots(task) ? NEARLY_QUICK : NEARLY;
    for (uint32_t k = 1; best > 0 && k <= most; k++)
        if (promise(packing, k, is_tried) >= fmin(best - nearly, enough))
            return k;
    return 0;
}

enum ronde_status ronde_pack(const struct ronde_pack_task *task, struct ronde_store *pool,
                             struct ronde_packing *out_packing, struct ronde_error *error)
{
    const uint32_t most = task->trees > 0 ? task->trees : task->most_trees;
    const uint32_t tries = task->arrivals > 0 && task->ways->ranks <= RANKS_OF_TRIES
                               ? TRIES_OF_JOINT
                               : RONDE_PACK_TRIES;
    struct packing packing = {.task = task, .pool = pool};
    packing.entering = ronde_store_new(pool, (size_t)task->ways->ranks + task->ways->wire_count,
                                       sizeof *packing.entering);
    packing.roots = ronde_store_new(pool, (size_t)root_count(task) * most, sizeof *packing.roots);
    packing.none_tried = ronde_store_new(pool, (size_t)most + 1, sizeof(bool));
    bool *is_tried = ronde_store_new(pool, (size_t)most + 1, sizeof *is_tried);
    if (pool->is_short)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for trees of %u ranks",
                          task->ways->ranks);
    enum ronde_status status = RONDE_OK;
    if (task->trees > 0 || isinf(task->rate_GBps))
        status = pack_trees(&packing, task->trees > 0 ? task->trees : 1, error);
    else
        for (uint32_t i = 0; i < tries && status == RONDE_OK; i++) {
            const uint32_t trees = most_promising(&packing, is_tried);
            if (trees == 0)
                break;
            is_tried[trees] = true;
            status = try_trees(&packing, trees, error);
            if (status == RONDE_OK && packing.best.trees == trees &&
                packing.best.time <= packing.best.bound_time * (1 + NEARLY))
                break;
        }
    *out_packing = packing.best;
    return status;
}

/* Trees that data runs up and down. */

/* Trees at most, each of which has a chunk of its own: that many edges, but for many ranks not too few trees. */
#define MOST_EDGES 1024u
#define MOST_TREES 64u
#define FEW_TREES 16u

static uint32_t most_trees(uint32_t ranks)
{
    const uint32_t most = MOST_EDGES / ranks;
    return most > MOST_TREES ? MOST_TREES : most < FEW_TREES ? FEW_TREES : most;
}

enum ronde_status ronde_joint_pack(const struct ronde_joint_task *task, struct ronde_store *pool,
                                   struct ronde_packing *out_packing, struct ronde_error *error)
{
    const uint32_t n = task->graph->ranks;
    struct ronde_ways *ways = ronde_store_new(pool, 1, sizeof *ways);
    uint32_t *room = ronde_store_new(pool, n, sizeof *room);
    struct ronde_graph_cut cut;
    if (!ways || !room || !ronde_ways_make_joint(task->graph->wiring, pool, ways) ||
        !ronde_cut_create(task->graph, pool, &cut) ||
        !ronde_cut_broadcast(task->graph, 0, pool, &cut))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for trees of %u ranks", n);
    const struct ronde_pack_task packed = {.graph = task->graph,
                                           .ways = ways,
                                           .root = 0,
                                           .cut = &cut,
                                           .rate_GBps = task->rate_GBps,
                                           .arrivals = 2 * (n - 1),
                                           .most_trees = most_trees(n),
                                           .most_height = task->most_height,
                                           .progress = task->progress};
    RONDE_TRY(ronde_pack(&packed, pool, out_packing, error));
    for (uint32_t t = 0; t < out_packing->forest.tree_count; t++)
        ronde_forest_centre(&out_packing->forest, t, room);
    return RONDE_OK;
}
