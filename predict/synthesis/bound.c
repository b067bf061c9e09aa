/* Bounds of all collectives. See ronde/bound.h. */
#include "ronde/bound.h"

#include "forest.h"
#include "machine_graph.h"

#include <math.h>

/* Ranks from which on it is quicker to look for turns of a machine than to find all routes. */
#define TURNED_RANKS 128u

/* What finding a bound holds. */
struct bounding {
    const struct ronde_compile_request *request;
    struct ronde_store *pool;
    struct ronde_turns turns; /* without any where all routes are looked at */
    struct ronde_wiring wiring;
    struct ronde_graph graph;
    struct ronde_bound *bound;
};

static enum ronde_status no_memory(const struct bounding *bounding, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the cuts of %u ranks",
                      bounding->request->ranks);
}

static uint64_t divisor_of(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 0 ? a : 1;
}

/* The rate of a cut for so many blocks in all, exactly where it can be written down. */
static void set_rate(struct bounding *bounding, const struct ronde_graph_cut *cut, uint64_t blocks)
{
    struct ronde_bound *bound = bounding->bound;
    const struct ronde_graph *graph = &bounding->graph;
    if (cut->capacity >= graph->free) {
        bound->GBps = INFINITY;
        return;
    }
    bound->GBps = (double)blocks * (double)cut->capacity / (double)cut->blocks * graph->unit_GBps;
    const uint64_t giga = 1000000000, unit = graph->unit_Bps;
    const uint64_t common = divisor_of(unit, giga);
    const uint64_t times = blocks * (uint64_t)cut->capacity; /* the graph keeps this below 2^60 */
    uint64_t under = (uint64_t)cut->blocks * (giga / common);
    const uint64_t shared = divisor_of(times, under);
    under /= shared;
    if (unit == 0 || times / shared > UINT64_MAX / (unit / common))
        return;
    bound->numerator = times / shared * (unit / common);
    const uint64_t last = divisor_of(bound->numerator, under);
    bound->numerator /= last;
    bound->denominator = under / last;
}

/* A cut without capacity: some host is cut off, and both sides of it have a name. */
static enum ronde_status refuse_cut_off(const struct bounding *bounding,
                                        const struct ronde_graph_cut *cut, bool is_reversed,
                                        struct ronde_error *error)
{
    const struct ronde_platform *platform = bounding->wiring.platform;
    uint32_t inside = 0, outside = 0;
    while (inside + 1 < bounding->graph.ranks && !cut->inside[inside])
        inside++;
    while (outside + 1 < bounding->graph.ranks && cut->inside[outside])
        outside++;
    return ronde_fail(error, RONDE_BAD_INPUT, "%s: host %s is cut off: nothing can reach it from %s",
                      ronde_platform_path(platform),
                      ronde_platform_host(platform, is_reversed ? inside : outside),
                      ronde_platform_host(platform, is_reversed ? outside : inside));
}

static void name_cut(struct bounding *bounding, const struct ronde_graph_cut *cut, bool is_reversed)
{
    struct ronde_bound *bound = bounding->bound;
    if (cut->capacity >= bounding->graph.free || cut->capacity <= 0)
        return;
    bound->cut_GBps = (double)cut->capacity * bounding->graph.unit_GBps;
    bound->cut_ranks =
        ronde_cut_words(&bounding->graph, cut, is_reversed, bound->cut, sizeof bound->cut);
}

/* all_gather, scatter or broadcast; those that collect are the same on the reversed graph. */
static enum ronde_status bound_copies(struct bounding *bounding, enum ronde_collective kind,
                                      bool is_reversed, struct ronde_error *error)
{
    struct ronde_graph *graph = &bounding->graph;
    const uint32_t root = bounding->request->root;
    struct ronde_graph_cut cut;
    if (is_reversed)
        ronde_graph_reverse(graph);
    const bool ok =
        ronde_cut_create(graph, bounding->pool, &cut) &&
        (kind == RONDE_ALL_GATHER ? ronde_cut_all_gather(graph, bounding->pool, &cut)
         : kind == RONDE_SCATTER  ? ronde_cut_scatter(graph, root, bounding->pool, &cut)
                                  : ronde_cut_broadcast(graph, root, bounding->pool, &cut));
    enum ronde_status status = ok ? RONDE_OK : no_memory(bounding, error);
    if (ok && cut.capacity <= 0)
        status = refuse_cut_off(bounding, &cut, is_reversed, error);
    if (status == RONDE_OK) {
        set_rate(bounding, &cut, kind == RONDE_BROADCAST ? 1 : graph->ranks);
        name_cut(bounding, &cut, is_reversed);
    }
    if (is_reversed)
        ronde_graph_reverse(graph);
    return status;
}

/* Different capacities by which places are put together, at most. */
#define MOST_CAPACITIES 16u

/* Places put together into parts: each knows one that stands for its part. */
static uint32_t part_of(uint32_t *parts, uint32_t place)
{
    while (parts[place] != place)
        place = parts[place] = parts[parts[place]];
    return place;
}

/* Puts together places with a wide arc between them, or only ranks with what they touch by one. */
static void put_together(const struct ronde_graph *graph, int64_t above, bool only_ranks,
                         uint32_t *parts)
{
    for (uint32_t p = 0; p < graph->place_count; p++)
        parts[p] = p;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const struct ronde_arc *arc = &graph->arcs[a];
        const bool touches = arc->from < graph->ranks || arc->to < graph->ranks;
        if (arc->capacity >= graph->free || (arc->capacity > above && (touches || !only_ranks)))
            parts[part_of(parts, arc->from)] = part_of(parts, arc->to);
    }
}

/* The most that parts with ranks in them can take in, over what they must: 2 (parts - 1) blocks in all. */
static double part_rate(const struct ronde_graph *graph, uint32_t *parts, bool *has_ranks)
{
    double entering = 0;
    uint32_t count = 0;
    for (uint32_t p = 0; p < graph->place_count; p++)
        has_ranks[p] = false;
    for (uint32_t r = 0; r < graph->ranks; r++) {
        bool *has = &has_ranks[part_of(parts, r)];
        count += !*has;
        *has = true;
    }
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const uint32_t to = part_of(parts, graph->arcs[a].to);
        if (has_ranks[to] && part_of(parts, graph->arcs[a].from) != to)
            entering += (double)graph->arcs[a].capacity;
    }
    return count > 1 ? entering / (2.0 * (count - 1)) : INFINITY;
}

/* The capacities there are, those without a limit left out; the rest where there are many. */
static uint32_t list_capacities(const struct ronde_graph *graph, int64_t out[MOST_CAPACITIES])
{
    uint32_t count = 1;
    out[0] = 0;
    for (uint32_t a = 0; a < graph->arc_count && count < MOST_CAPACITIES; a++) {
        const int64_t capacity = graph->arcs[a].capacity;
        uint32_t i = 0;
        while (i < count && out[i] != capacity)
            i++;
        if (i == count && capacity < graph->free)
            out[count++] = capacity;
    }
    return count;
}

/*
 * Before some rank has a block's sum, something must leave all other parts of the machine for it, and afterwards the sum must
 * enter all of them: parts take in 2 (parts - 1) blocks in all, however the ranks are parted (P. Patarasuk and X. Yuan,
 * "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69, 2009, section 3, where parts are ranks).
 * Parted here where arcs are narrow: into ranks, nodes, what shares a switch. In units of the graph.
 */
static enum ronde_status bound_parts(struct bounding *bounding, double *out_rate,
                                     struct ronde_error *error)
{
    const struct ronde_graph *graph = &bounding->graph;
    uint32_t *parts = ronde_store_new(bounding->pool, graph->place_count, sizeof *parts);
    bool *has_ranks = ronde_store_new(bounding->pool, graph->place_count, sizeof *has_ranks);
    int64_t capacities[MOST_CAPACITIES];
    if (bounding->pool->is_short)
        return no_memory(bounding, error);
    const uint32_t count = list_capacities(graph, capacities);
    *out_rate = INFINITY;
    for (uint32_t i = 0; i < 2 * count; i++) {
        put_together(graph, capacities[i / 2], i % 2 == 0, parts);
        *out_rate = fmin(*out_rate, part_rate(graph, parts, has_ranks));
    }
    put_together(graph, graph->free, false, parts);
    *out_rate = fmin(*out_rate, part_rate(graph, parts, has_ranks));
    return RONDE_OK;
}

/* Whatever the schedule: a block crosses every cut once each way, and parts of the machine take in what they must. */
static enum ronde_status bound_certainly(struct bounding *bounding, double *out_GBps,
                                         struct ronde_error *error)
{
    enum ronde_status status = bound_copies(bounding, RONDE_BROADCAST, false, error);
    double least_GBps = bounding->bound->GBps, rate = INFINITY;
    RONDE_THEN(status, bound_copies(bounding, RONDE_BROADCAST, true, error));
    least_GBps = fmin(least_GBps, bounding->bound->GBps);
    RONDE_THEN(status, bound_parts(bounding, &rate, error));
    *out_GBps = fmin(least_GBps, rate * bounding->graph.unit_GBps);
    return status;
}

/* a/b and c/d in series: abcd over ad + cb, where it can be written down. */
static void join_fractions(struct ronde_bound *bound, const struct ronde_bound *other)
{
    const uint64_t a = bound->numerator, b = bound->denominator;
    const uint64_t c = other->numerator, d = other->denominator;
    bound->numerator = bound->denominator = 0;
    if (a == 0 || c == 0 || a > UINT32_MAX || b > UINT32_MAX || c > UINT32_MAX || d > UINT32_MAX ||
        b * c > UINT64_MAX - a * d)
        return;
    const uint64_t over = a * c, under = b * c + a * d, common = divisor_of(over, under);
    bound->numerator = over / common;
    bound->denominator = under / common;
}

/* reduce_scatter, then all_gather. */
static enum ronde_status bound_all_reduce(struct bounding *bounding, struct ronde_error *error)
{
    struct ronde_bound *bound = bounding->bound, first;
    double certain_GBps = INFINITY;
    enum ronde_status status = bound_certainly(bounding, &certain_GBps, error);
    bound->numerator = bound->denominator = 0;
    RONDE_THEN(status, bound_copies(bounding, RONDE_ALL_GATHER, true, error));
    first = *bound;
    bound->numerator = bound->denominator = 0;
    RONDE_THEN(status, bound_copies(bounding, RONDE_ALL_GATHER, false, error));
    if (status != RONDE_OK)
        return status;
    if (first.GBps < bound->GBps) { /* the slower half is the one to name */
        const struct ronde_bound second = *bound;
        *bound = first;
        first = second;
    }
    bound->GBps = isinf(bound->GBps) ? first.GBps : 1 / (1 / bound->GBps + 1 / first.GBps);
    join_fractions(bound, &first);
    bound->certain_GBps = certain_GBps;
    return RONDE_OK;
}

static enum ronde_status bound_demand(struct bounding *bounding, struct ronde_error *error)
{
    const struct ronde_graph *graph = &bounding->graph;
    const struct ronde_demand demand = {graph, bounding->request->source_of};
    struct ronde_graph_cut cut;
    double time = 0;
    if (!ronde_cut_create(graph, bounding->pool, &cut) ||
        !ronde_demand_bound(&demand, bounding->pool, &cut, &time))
        return no_memory(bounding, error);
    if (isinf(time))
        return refuse_cut_off(bounding, &cut, false, error);
    const uint32_t blocks = demand.source_of ? 1 : graph->ranks;
    if (cut.capacity > 0)
        set_rate(bounding, &cut, blocks);
    else
        bounding->bound->GBps = time > 0 ? blocks * graph->unit_GBps / time : INFINITY;
    name_cut(bounding, &cut, false);
    return RONDE_OK;
}

/* What is copied, and which of these collect: copies on the reversed graph. */
static const struct {
    bool is_one, is_reversed;
    enum ronde_collective kind;
} copies[RONDE_COLLECTIVE_COUNT] = {
    [RONDE_ALL_GATHER] = {true, false, RONDE_ALL_GATHER},
    [RONDE_REDUCE_SCATTER] = {true, true, RONDE_ALL_GATHER},
    [RONDE_BROADCAST] = {true, false, RONDE_BROADCAST},
    [RONDE_REDUCE] = {true, true, RONDE_BROADCAST},
    [RONDE_SCATTER] = {true, false, RONDE_SCATTER},
    [RONDE_GATHER] = {true, true, RONDE_SCATTER},
};

static enum ronde_status bound_rate(struct bounding *bounding, struct ronde_error *error)
{
    const enum ronde_collective collective = bounding->request->collective;
    const bool is_demand = collective == RONDE_ALL_TO_ALL || collective == RONDE_SEND_RECV;
    bounding->bound->is_tight = !is_demand;
    if (copies[collective].is_one)
        return bound_copies(bounding, copies[collective].kind, copies[collective].is_reversed,
                            error);
    if (collective == RONDE_ALL_REDUCE)
        return bound_all_reduce(bounding, error);
    if (is_demand)
        return bound_demand(bounding, error);
    bounding->bound->GBps = INFINITY;
    return RONDE_OK;
}

/* Whether data of one rank must come to another. */
static bool must_go(const struct ronde_compile_request *request, uint32_t from, uint32_t to)
{
    switch (request->collective) {
    case RONDE_BROADCAST:
    case RONDE_SCATTER:
        return from == request->root;
    case RONDE_REDUCE:
    case RONDE_GATHER:
        return to == request->root;
    case RONDE_SEND_RECV:
        return request->source_of[to] == from;
    default:
        return true;
    }
}

/* Whether a link surely carries something: one that is down does not, nor one whose rate is less than a unit. */
static bool is_surely_open(const struct bounding *bounding, const struct ronde_route_wire *wire)
{
    const double least_GBps = bounding->graph.unit_Bps > 0 ? 0 : 2 * bounding->graph.unit_GBps;
    return wire->rate_GBps > least_GBps;
}

/* The longest way that data of a rank must go by its routes; the shortest ways are no longer. Infinite where one is closed. */
static double longest_route_ns(const struct bounding *bounding, uint32_t source)
{
    const struct ronde_wiring *wiring = &bounding->wiring;
    const uint32_t from = ronde_wiring_source(wiring, source);
    double longest_ns = 0;
    for (uint32_t to = 0; to < wiring->ranks; to++) {
        const uint32_t pair = source * wiring->ranks + to;
        double route_ns = 0;
        if (to == from || !must_go(bounding->request, from, to))
            continue;
        for (uint32_t h = wiring->first[pair]; h < wiring->first[pair + 1]; h++) {
            const struct ronde_route_wire *wire = &wiring->wires[wiring->hops[h]];
            route_ns += is_surely_open(bounding, wire) ? wire->latency_ns : INFINITY;
        }
        longest_ns = fmax(longest_ns, route_ns);
    }
    return longest_ns;
}

/* The rank whose routes may be the longest yet; NONE if none are. */
static uint32_t most_distant(const double *route_ns, uint32_t count, double longest_ns)
{
    uint32_t best = RONDE_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (route_ns[i] > longest_ns && (best == RONDE_NONE || route_ns[i] > route_ns[best]))
            best = i;
    return best;
}

/* The longest of the shortest ways: a search from those ranks alone whose routes leave room for it. */
static enum ronde_status bound_latency(struct bounding *bounding, struct ronde_error *error)
{
    const struct ronde_graph *graph = &bounding->graph;
    const uint32_t sources = ronde_wiring_source_count(&bounding->wiring);
    struct ronde_distances distances;
    double *route_ns = ronde_store_new(bounding->pool, sources, sizeof *route_ns);
    double longest_ns = 0;
    if (!route_ns || !ronde_distances_create(&distances, graph, bounding->pool))
        return no_memory(bounding, error);
    for (uint32_t a = 0; a < graph->arc_count; a++)
        distances.length[a] = graph->arcs[a].capacity > 0 ? graph->arcs[a].latency_ns : INFINITY;
    for (uint32_t i = 0; i < sources; i++)
        route_ns[i] = longest_route_ns(bounding, i);
    for (uint32_t i; (i = most_distant(route_ns, sources, longest_ns)) != RONDE_NONE;) {
        const uint32_t from = ronde_wiring_source(&bounding->wiring, i);
        ronde_distances_from(&distances, from);
        for (uint32_t to = 0; to < graph->ranks; to++)
            if (to != from && must_go(bounding->request, from, to) && distances.to[to] > longest_ns)
                longest_ns = distances.to[to];
        route_ns[i] = 0;
    }
    bounding->bound->latency_ns = longest_ns + bounding->wiring.alpha_ns;
    return RONDE_OK;
}

/* Whether ranks that look alike need what they do looked at once: not where one of them is special. */
static bool can_turn(const struct ronde_compile_request *request)
{
    return request->ranks >= TURNED_RANKS &&
           !ronde_collective_traits(request->collective)->has_root &&
           request->collective != RONDE_SEND_RECV;
}

static enum ronde_status find_wiring(struct bounding *bounding,
                                     const struct ronde_platform *platform,
                                     struct ronde_error *error)
{
    const uint32_t ranks = bounding->request->ranks;
    struct ronde_turns *turns = &bounding->turns;
    /* What is refused for its size needs no symmetry first. */
    if (can_turn(bounding->request) && ranks <= RONDE_WIRING_RANKS &&
        ranks <= ronde_platform_facts(platform)->hosts)
        RONDE_TRY(ronde_turns_find(platform, ranks, bounding->pool, turns, error));
    return ronde_wiring_find_turned(platform, ranks, turns->count > 0 ? turns : NULL,
                                    bounding->pool, &bounding->wiring, error);
}

static enum ronde_status find_bound(struct bounding *bounding,
                                    const struct ronde_platform *platform, struct ronde_error *error)
{
    struct ronde_bound *bound = bounding->bound;
    enum ronde_status status = find_wiring(bounding, platform, error);
    RONDE_THEN(status, ronde_graph_make(&bounding->wiring, bounding->pool, &bounding->graph, error));
    bound->certain_GBps = 0;
    RONDE_THEN(status, bound_rate(bounding, error));
    if (bound->certain_GBps <= 0)
        bound->certain_GBps = bound->GBps;
    return status == RONDE_OK ? bound_latency(bounding, error) : status;
}

enum ronde_status ronde_bound_find(const struct ronde_platform *platform,
                                   const struct ronde_compile_request *request,
                                   const struct ronde_mem *mem, struct ronde_bound *out_bound,
                                   struct ronde_error *error)
{
    struct ronde_store pool = {.mem = mem};
    struct ronde_compile_request used = *request;
    struct bounding bounding = {.request = &used, .pool = &pool, .bound = out_bound};
    *out_bound = (struct ronde_bound){.collective = request->collective,
                                      .ranks = request->ranks,
                                      .root = request->root,
                                      .GBps = INFINITY,
                                      .certain_GBps = INFINITY};
    if (ronde_platform_facts(platform)->time.multicasts)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s: bounds are of links, and its switches copy and add (ronde.multicast)",
            ronde_platform_path(platform));
    if (request->ranks < 2)
        return RONDE_OK;
    if (request->collective == RONDE_SEND_RECV && !request->source_of) {
        uint32_t *before = ronde_store_new(&pool, request->ranks, sizeof *before);
        if (!before)
            return no_memory(&bounding, error);
        for (uint32_t r = 0; r < request->ranks; r++)
            before[r] = (r + request->ranks - 1) % request->ranks;
        used.source_of = before;
    }
    const enum ronde_status status = find_bound(&bounding, platform, error);
    ronde_store_clear(&pool);
    return status;
}

double ronde_bound_ns(const struct ronde_bound *bound, double bytes)
{
    /* Of no data nothing is sent; a barrier has none to begin with. */
    if (bytes <= 0 && bound->collective != RONDE_BARRIER)
        return 0;
    return fmax(bound->latency_ns, bytes / bound->certain_GBps);
}
