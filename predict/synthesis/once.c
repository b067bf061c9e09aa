/* One schedule for one machine. See emit.h. */
#include "emit.h"
#include "forest.h"

#include <math.h>
#include <stdlib.h>

/* Trees of a root at most by default, and edges of all trees: what connections and proofs stay quick with. */
#define MOST_TREES 16u
#define MOST_EDGES 200000u
/* More where those miss the bound, while they have few edges: of few ranks, which need no more lanes by it than many. */
#define SPARE_TREES 96u
#define SPARE_EDGES 20000u

/* A share of the bound that turned trees must reach where others may be looked for. */
#define GOOD_SHARE 0.99

/* What trees that data runs up and down at once reach of what links allow, next to those of two halves in series. */
#define JOINT_SHARE 0.95
/* Ranks from which on halves in series need hundreds of connections each, where ranks are unequal. */
#define MANY_RANKS 48u

/* Edges of ranks that each have a program of their own, each way, where that is to be made and replayed quickly. */
#define QUICK_EDGES 16384u

/* What a synthesis holds. */
struct making {
    const struct ronde_synthesis_request *request;
    struct ronde_store *pool;
    struct ronde_wiring wiring;
    struct ronde_graph graph;
    const struct ronde_wiring_symmetry *symmetry; /* trees of rank 0 alone are packed; NULL = of all */
    const struct ronde_wiring_symmetry *torus; /* whose axes trees of one root follow; NULL = packed */
    struct ronde_packing up;
    struct ronde_packing down;
    struct ronde_packing joint; /* for all_reduce, where it is the better one */
    struct ronde_packings *tried; /* of each direction, up first: what has been packed for this symmetry */
    bool is_plain;                /* trees of all ranks are packed, whatever the symmetry */
};

static bool is_rooted(const struct ronde_synthesis_request *request)
{
    return ronde_collective_traits(request->collective)->has_root;
}

/* Trees of each root, up to `most`, that have `edges` edges together. */
static uint32_t trees_with(const struct making *making, uint32_t most, uint64_t edges)
{
    const uint64_t n = making->request->ranks;
    const uint64_t roots = is_rooted(making->request) || making->symmetry ? 1 : n;
    const uint64_t fit = edges / (roots * n);
    return fit >= most ? most : fit > 1 ? (uint32_t)fit : 1;
}

/* How many trees a root has by preference. */
static uint32_t usual_trees(const struct making *making)
{
    return trees_with(making, MOST_TREES, MOST_EDGES);
}

/* How many trees a root may have. */
static uint32_t most_trees(const struct making *making)
{
    const uint32_t usual = usual_trees(making);
    const uint32_t spare = trees_with(making, SPARE_TREES, SPARE_EDGES);
    return spare > usual ? spare : usual;
}

/* The packing of so many trees where there is one; else NULL. */
static const struct ronde_packing *packed_before(const struct ronde_packings *tried, uint32_t trees)
{
    for (uint32_t i = 0; i < tried->count; i++)
        if (tried->all[i].trees == trees)
            return &tried->all[i];
    return NULL;
}

/* Packs trees along the links, or against them. */
static enum ronde_status pack_anew(struct making *making, bool is_up, uint32_t trees,
                                   struct ronde_packing *out_packing, struct ronde_error *error)
{
    const struct ronde_synthesis_request *request = making->request;
    struct ronde_ways *ways = ronde_store_new(making->pool, 1, sizeof *ways);
    struct ronde_graph_cut cut;
    enum ronde_status status = RONDE_NO_MEMORY;
    if (is_up)
        ronde_graph_reverse(&making->graph);
    if (ways && ronde_ways_make(&making->wiring, is_up, making->pool, ways) &&
        (!making->symmetry || ronde_symmetry_turn(making->symmetry, making->pool, ways)) &&
        ronde_cut_create(&making->graph, making->pool, &cut) &&
        (is_rooted(request) ? ronde_cut_broadcast(&making->graph, request->root, making->pool, &cut)
                            : ronde_cut_all_gather(&making->graph, making->pool, &cut))) {
        const bool is_free = cut.capacity >= making->graph.free;
        const struct ronde_pack_task task = {
            .graph = &making->graph,
            .ways = ways,
            .root = is_rooted(request) ? request->root : RONDE_NONE,
            .symmetry = making->symmetry,
            .torus = making->torus,
            .cut = &cut,
            .rate_GBps = is_free
                             ? INFINITY
                             : (double)cut.capacity / (double)cut.blocks * making->graph.unit_GBps,
            .trees = making->torus ? 2 * making->torus->digits : trees,
            .usual_trees = usual_trees(making),
            .most_trees = most_trees(making),
            .most_height = request->most_height,
            .descends = request->descends,
            .overfills = request->overfills,
            .is_quick = request->is_quick,
            .tried = &making->tried[is_up ? 0 : 1],
            .progress = &request->progress};
        status = ronde_pack(&task, making->pool, out_packing, error);
    } else {
        status =
            ronde_fail(error, RONDE_NO_MEMORY, "no memory for trees of %u ranks", request->ranks);
    }
    if (is_up)
        ronde_graph_reverse(&making->graph);
    return status;
}

/* The same trees would come out again where so many have been packed. */
static enum ronde_status pack(struct making *making, bool is_up, uint32_t trees,
                              struct ronde_packing *out_packing, struct ronde_error *error)
{
    const struct ronde_packing *before = packed_before(&making->tried[is_up ? 0 : 1], trees);
    if (!before)
        return pack_anew(making, is_up, trees, out_packing, error);
    *out_packing = *before;
    return RONDE_OK;
}

/* algbw of a packing whose trees take `time` units. */
static double rate_of(const struct making *making, const struct ronde_packing *packing, double time)
{
    const uint32_t blocks = is_rooted(making->request) ? 1 : making->request->ranks;
    return time > 0 ? blocks * packing->trees / time : INFINITY;
}

static double in_series(double a, double b)
{
    return isinf(a) ? b : isinf(b) ? a : 1 / (1 / a + 1 / b);
}

/* The packings of one number of trees, or of whatever number serves; what they come to goes to `out`. */
static enum ronde_status pack_both(struct making *making, uint32_t trees,
                                   struct ronde_synthesis *out, struct ronde_error *error)
{
    const enum ronde_collective collective = making->request->collective;
    const bool goes_up = ronde_collective_traits(collective)->reduces;
    const bool goes_down = collective == RONDE_ALL_REDUCE || !goes_up;
    out->GBps = out->trees_GBps = INFINITY;
    if (goes_up) {
        RONDE_TRY(pack(making, true, trees, &making->up, error));
        out->trees = making->up.trees;
        out->GBps = rate_of(making, &making->up, making->up.time);
        out->trees_GBps = rate_of(making, &making->up, making->up.bound_time);
    }
    if (!goes_down)
        return RONDE_OK;
    RONDE_TRY(pack(making, false, trees, &making->down, error));
    out->trees = making->down.trees;
    out->GBps = in_series(out->GBps, rate_of(making, &making->down, making->down.time));
    out->trees_GBps =
        in_series(out->trees_GBps, rate_of(making, &making->down, making->down.bound_time));
    return RONDE_OK;
}

static uint32_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t multiple = a;
    while (multiple % b != 0)
        multiple += a;
    return multiple;
}

/*
 * Chunks of one half of all_reduce are those of the other, so both have as many trees. Where each would like another
 * number, both are tried, and their common multiple.
 */
static enum ronde_status pack_all(struct making *making, struct ronde_synthesis *out,
                                  struct ronde_error *error)
{
    making->tried = ronde_store_new(making->pool, 2, sizeof *making->tried);
    if (!making->tried)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for trees of %u ranks",
                          making->request->ranks);
    const struct making none = *making;
    RONDE_TRY(pack_both(making, making->request->trees, out, error));
    const uint32_t up = making->up.trees, down = making->down.trees;
    if (up == down || up == 0 || down == 0)
        return RONDE_OK;
    const uint32_t counts[] = {up, down, common_multiple(up, down)};
    struct making best = none;
    double best_GBps = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct making trial = none;
        struct ronde_synthesis made = *out;
        if (counts[i] > most_trees(making))
            continue;
        RONDE_TRY(pack_both(&trial, counts[i], &made, error));
        if (made.GBps <= best_GBps)
            continue;
        best = trial;
        best_GBps = made.GBps;
        *out = made;
    }
    *making = best;
    return RONDE_OK;
}

/* Whether trees of each rank are too many to be made and replayed quickly. */
static bool takes_long(const struct making *making)
{
    const struct ronde_synthesis_request *request = making->request;
    return request->is_quick && !making->symmetry && !making->torus && !is_rooted(request) &&
           (uint64_t)request->ranks * (request->ranks - 1) > QUICK_EDGES;
}

/*
 * Whether trees that data runs up and down at once are better than halves in series at some rate: if they carry so much more
 * that they are faster although each piece waits for the one before at the roots, or as much, but by few connections where
 * others need thousands, or if there is no time for halves.
 */
static bool is_joint_better(const struct making *making, double joint_GBps, double series_GBps)
{
    if (takes_long(making))
        return joint_GBps > 0;
    const bool saves_connections = making->request->ranks >= MANY_RANKS;
    return joint_GBps * (saves_connections ? 1 : JOINT_SHARE) > series_GBps;
}

/* Packs such trees, and keeps them if they are better than anything in series. */
static enum ronde_status pack_joint(struct making *making, struct ronde_synthesis *out,
                                    struct ronde_error *error)
{
    const struct ronde_synthesis_request *request = making->request;
    const struct ronde_joint_task task = {.graph = &making->graph,
                                          .rate_GBps = out->bound.certain_GBps,
                                          .most_height = request->most_height,
                                          .progress = &request->progress};
    struct ronde_packing joint = {.trees = 0};
    /* Where ranks look alike, halves in series load all links alike. */
    if (request->collective != RONDE_ALL_REDUCE || request->is_in_series || request->trees > 0 ||
        making->symmetry || isinf(out->bound.GBps) ||
        !is_joint_better(making, out->bound.certain_GBps, out->bound.GBps))
        return RONDE_OK;
    const enum ronde_status status = ronde_joint_pack(&task, making->pool, &joint, error);
    if (status ==
        RONDE_BAD_INPUT) /* some link is open one way only, which one half at a time may not need */
        return RONDE_OK;
    const double joint_GBps = joint.time > 0 ? joint.trees / joint.time : 0;
    if (status != RONDE_OK || !is_joint_better(making, joint_GBps, out->bound.GBps))
        return status;
    making->joint = joint;
    out->is_joint = true;
    out->trees = joint.trees;
    out->GBps = joint_GBps;
    out->trees_GBps = joint.trees / joint.bound_time;
    return RONDE_OK;
}

/* Turned trees where the machine allows it; others where these are not good enough, or it does not. */
static enum ronde_status pack_best(struct making *making, struct ronde_synthesis *out,
                                   struct ronde_error *error)
{
    struct making plain = *making;
    struct ronde_synthesis plain_out = *out;
    struct ronde_wiring_symmetry *symmetry = ronde_store_new(making->pool, 1, sizeof *symmetry);
    ronde_synthesis_say(&making->request->progress, "looking for symmetries", 0, 0);
    if (!symmetry || ((!is_rooted(making->request) || making->request->has_axes) &&
                      !ronde_symmetry_find(&making->wiring, making->pool, symmetry)))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the symmetry of %u ranks",
                          making->request->ranks);
    if (making->request->has_axes) {
        making->torus = symmetry;
        if (symmetry->digits == 0)
            return ronde_fail(error, RONDE_UNSUPPORTED, "it is no torus");
    } else if (symmetry->digits > 0 && !making->is_plain) {
        making->symmetry = symmetry;
        making->wiring.may_take = symmetry->may_take;
    }
    if (making->request->overfills && !making->symmetry)
        return ronde_fail(error, RONDE_UNSUPPORTED, "its ranks do not look alike");
    enum ronde_status status = pack_joint(making, out, error);
    if (status != RONDE_OK || out->is_joint)
        return status;
    if (takes_long(making))
        return ronde_fail(error, RONDE_UNSUPPORTED, "trees of %u ranks that differ take long",
                          making->request->ranks);
    status = pack_all(making, out, error);
    if (!making->symmetry)
        return status;
    const uint64_t n = making->request->ranks;
    if (status != RONDE_OK || isinf(out->GBps) || out->GBps >= GOOD_SHARE * out->bound.GBps ||
        n * n > MOST_EDGES || making->request->is_quick)
        return status;
    status = pack_all(&plain, &plain_out, error);
    if (status == RONDE_OK && plain_out.GBps > out->GBps) {
        *making = plain;
        *out = plain_out;
    }
    return status;
}

/* The schedule of what is packed. */
static enum ronde_status emit(const struct making *making, struct ronde_schedule **out_schedule,
                              struct ronde_synthesis *out, struct ronde_error *error)
{
    const struct ronde_synthesis_request *request = making->request;
    struct ronde_emitted emitted = {0};
    const struct ronde_packing *up = out->is_joint ? &making->joint : &making->up;
    const struct ronde_packing *down = out->is_joint ? &making->joint : &making->down;
    const struct ronde_emission emission = {.collective = request->collective,
                                            .ranks = request->ranks,
                                            .root = request->root,
                                            .trees = out->trees,
                                            .symmetry = making->symmetry,
                                            .is_joint = out->is_joint,
                                            .up = up->trees > 0 ? &up->forest : NULL,
                                            .down = down->trees > 0 ? &down->forest : NULL,
                                            .connections = request->connections};
    ronde_synthesis_say(&request->progress, "proving the schedule", 0, 0);
    const enum ronde_status status =
        ronde_emit(&emission, making->pool, out_schedule, &emitted, error);
    out->height = emitted.height;
    out->is_apart = making->torus != NULL;
    out->connections = emitted.connections;
    return status;
}

/* Packs trees of all ranks, without the symmetry; those up and down at once only where a rank may have two neighbours. */
static enum ronde_status pack_plain(struct making *making, struct ronde_synthesis *out,
                                    struct ronde_error *error)
{
    struct ronde_synthesis_request *request = ronde_store_new(making->pool, 1, sizeof *request);
    if (!request)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a request");
    *request = *making->request;
    request->is_in_series = request->is_in_series || request->connections < 4;
    *making = (struct making){.request = request,
                              .pool = making->pool,
                              .wiring = making->wiring,
                              .graph = making->graph,
                              .is_plain = true};
    making->graph.wiring = &making->wiring;
    out->is_joint = false;
    return pack_best(making, out, error);
}

/* --- few neighbours for each rank: whom it may receive from, where trees that were packed freely need more --- */

/* What to choose neighbours by. */
struct neighbours_task {
    const struct ronde_wiring *wiring;
    const struct ronde_forest *up;   /* trees that data runs up, or NULL; those of all ranks */
    const struct ronde_forest *down; /* trees that data runs down, or NULL */
    uint32_t most;                   /* ranks that one receives from */
    bool is_mutual; /* who receives from a rank sends to it, too; `most` is 2 at least then */
};

/* A route between two ranks. */
struct candidate {
    uint32_t from, to;
    uint32_t uses; /* edges of trees that take it */
    uint32_t hops; /* links that it has */
};

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* The most used first, of those the shortest. */
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_numbers(b->uses, a->uses);
    if (order == 0)
        order = compare_numbers(a->hops, b->hops);
    if (order == 0)
        order = compare_numbers(a->from, b->from);
    return order != 0 ? order : compare_numbers(a->to, b->to);
}

static void count_uses(const struct ronde_forest *forest, bool goes_up, uint32_t ranks,
                       struct candidate *routes)
{
    const uint32_t edges = forest ? forest->tree_count * ranks : 0;
    for (uint32_t e = 0; e < edges; e++) {
        const uint32_t parent = forest->parent[e], child = e % ranks;
        if (parent != RONDE_NONE)
            routes[goes_up ? child * ranks + parent : parent * ranks + child].uses++;
    }
}

/* Opens a route if its receiver, or either rank where both directions are opened, has room. */
static void open_route(const struct neighbours_task *task, uint32_t from, uint32_t to,
                       uint32_t *received, bool *may_take)
{
    const uint32_t n = task->wiring->ranks;
    if (from == to || may_take[from * n + to] || received[to] >= task->most ||
        (task->is_mutual && received[from] >= task->most))
        return;
    may_take[from * n + to] = true;
    received[to]++;
    if (task->is_mutual) {
        may_take[to * n + from] = true;
        received[from]++;
    }
}

/*
 * Keeps the neighbours that most edges of the trees go to, of those the nearest, and the next rank, so that all reach all.
 * Per route (from * ranks + to) whether messages may take it. NULL: no memory.
 */
static bool *choose_neighbours(const struct neighbours_task *task, struct ronde_store *pool)
{
    const struct ronde_wiring *wiring = task->wiring;
    const uint32_t n = wiring->ranks;
    const size_t count = (size_t)n * n;
    struct candidate *routes = ronde_store_new(pool, count, sizeof *routes);
    uint32_t *received = ronde_store_new(pool, n, sizeof *received);
    bool *may_take = ronde_store_new(pool, count, sizeof *may_take);
    if (pool->is_short)
        return NULL;
    for (uint32_t r = 0; r < count; r++)
        routes[r] = (struct candidate){r / n, r % n, 0, wiring->first[r + 1] - wiring->first[r]};
    count_uses(task->up, true, n, routes);
    count_uses(task->down, false, n, routes);
    qsort(routes, count, sizeof *routes, compare);
    for (uint32_t r = 0; r < n; r++)
        open_route(task, r, (r + 1) % n, received, may_take);
    for (size_t r = 0; r < count; r++)
        open_route(task, routes[r].from, routes[r].to, received, may_take);
    return may_take;
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* Packs anew for as few neighbours as there may be connections: those that free trees of all ranks use most. */
static enum ronde_status pack_few(struct making *making, struct ronde_synthesis *out,
                                  struct ronde_error *error)
{
    const uint32_t connections = making->request->connections;
    /* A symmetry's pairs are of no interest to trees of all ranks. */
    if (making->symmetry)
        making->wiring.may_take = NULL;
    const bool is_ready = !making->symmetry && (!out->is_joint || connections >= 4);
    RONDE_TRY(is_ready ? RONDE_OK : pack_plain(making, out, error));
    /* All that runs up and down needs a connection each way. */
    const bool is_both = making->request->collective == RONDE_ALL_REDUCE;
    const struct neighbours_task task = {.wiring = &making->wiring,
                                         .up = out->is_joint ? &making->joint.forest
                                                             : &making->up.forest,
                                         .down = out->is_joint ? &making->joint.forest
                                                               : &making->down.forest,
                                         .most = is_both ? connections / 2 : connections,
                                         .is_mutual = out->is_joint};
    making->wiring.may_take = choose_neighbours(&task, making->pool);
    if (!making->wiring.may_take)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for neighbours of %u ranks",
                          making->request->ranks);
    return pack_plain(making, out, error);
}

/* Where trees need more connections than there may be, once more with fewer neighbours; else why there is no schedule. */
static enum ronde_status emit_few(struct making *making, struct ronde_schedule **out_schedule,
                                  struct ronde_synthesis *out, struct ronde_error *error)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""}, unused = {RONDE_OK, 0, ""};
    const uint64_t n = making->request->ranks;
    const bool is_limited = making->request->connections > 0;
    enum ronde_status status = emit(making, out_schedule, out, &refusal);
    if (status == RONDE_UNSUPPORTED && is_limited && n * n <= MOST_EDGES) {
        status = pack_few(making, out, &unused);
        RONDE_THEN(status, emit(making, out_schedule, out, &unused));
        if (status == RONDE_OK || status == RONDE_NO_MEMORY)
            return status == RONDE_OK ? status : ronde_fail(error, status, "%s", unused.message);
    }
    return status == RONDE_OK ? status : ronde_fail(error, refusal.status, "%s", refusal.message);
}

static enum ronde_status make(struct making *making, const struct ronde_platform *platform,
                              struct ronde_schedule **out_schedule, struct ronde_synthesis *out,
                              struct ronde_error *error)
{
    const struct ronde_synthesis_request *request = making->request;
    out->is_joint = false;
    ronde_synthesis_say(&request->progress, "finding routes", 0, 0);
    RONDE_TRY(ronde_wiring_find(platform, request->ranks, making->pool, &making->wiring, error));
    RONDE_TRY(ronde_graph_make(&making->wiring, making->pool, &making->graph, error));
    RONDE_TRY(pack_best(making, out, error));
    return emit_few(making, out_schedule, out, error);
}

enum ronde_status ronde_synthesis_once(const struct ronde_platform *platform,
                                       const struct ronde_synthesis_request *request,
                                       const struct ronde_mem *mem,
                                       struct ronde_schedule **out_schedule,
                                       struct ronde_synthesis *out, struct ronde_error *error)
{
    struct ronde_store pool = {.mem = mem};
    struct making making = {.request = request, .pool = &pool};
    const enum ronde_status status = make(&making, platform, out_schedule, out, error);
    ronde_store_clear(&pool);
    return status;
}
