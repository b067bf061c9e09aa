/* Cuts by Newton's method and maximum flows, in integers. See cut.h. */
#include "cut.h"

#include <string.h>

bool ronde_cut_create(const struct ronde_graph *graph, struct ronde_index_pool *pool,
                      struct ronde_graph_cut *out_cut)
{
    *out_cut = (struct ronde_graph_cut){.capacity = graph->free, .blocks = 1};
    out_cut->inside = ronde_pool_new(pool, graph->place_count, sizeof *out_cut->inside);
    return out_cut->inside != NULL;
}

int64_t ronde_cut_capacity(const struct ronde_graph *graph, const bool *inside)
{
    int64_t sum = 0;
    for (uint32_t a = 0; a < graph->arc_count && sum < graph->free; a++)
        if (inside[graph->arcs[a].from] && !inside[graph->arcs[a].to])
            sum += graph->arcs[a].capacity;
    return sum < graph->free ? sum : graph->free;
}

uint32_t ronde_cut_ranks(const struct ronde_graph *graph, const bool *inside)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < graph->ranks; r++)
        count += inside[r];
    return count;
}

/* The graph, and behind it an arc for each rank to or from one more place. */
struct network {
    const struct ronde_graph *graph;
    struct ronde_max_flow flow;
    uint32_t extra;     /* the place behind the others */
    uint32_t first_arc; /* of the ranks' arcs */
};

static bool make_network(struct network *network, const struct ronde_graph *graph,
                         struct ronde_index_pool *pool, bool is_source)
{
    *network = (struct network){.graph = graph, .extra = graph->place_count};
    if (!ronde_flow_create(&network->flow, pool, graph->place_count + 1,
                           graph->arc_count + graph->ranks))
        return false;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        ronde_flow_arc(&network->flow, graph->arcs[a].from, graph->arcs[a].to, 0);
    network->first_arc = network->flow.arc_count;
    for (uint32_t r = 0; r < graph->ranks; r++)
        ronde_flow_arc(&network->flow, is_source ? network->extra : r,
                       is_source ? r : network->extra, 0);
    return true;
}

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 0 ? a : 1;
}

/* Blocks at the rate of the cut: P = capacity / d for each block where arcs carry Q = blocks / d times theirs. */
static int64_t set_rates(struct network *network, const struct ronde_graph_cut *cut)
{
    const struct ronde_graph *graph = network->graph;
    const int64_t divisor = divisor_of(cut->capacity, cut->blocks);
    const int64_t each = cut->capacity / divisor, times = cut->blocks / divisor;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        network->flow.capacity[2 * a] = graph->arcs[a].capacity * times;
    for (uint32_t r = 0; r < graph->ranks; r++)
        network->flow.capacity[network->first_arc + 2 * r] = each;
    return each;
}

static void take_side(const struct network *network, struct ronde_graph_cut *cut)
{
    for (uint32_t p = 0; p < network->graph->place_count; p++)
        cut->inside[p] = ronde_flow_is_inside(&network->flow, p);
}

/* All places but one rank. */
static void leave_out(const struct ronde_graph *graph, uint32_t rank, struct ronde_graph_cut *cut)
{
    for (uint32_t p = 0; p < graph->place_count; p++)
        cut->inside[p] = p != rank;
    cut->capacity = ronde_cut_capacity(graph, cut->inside);
    cut->blocks = graph->ranks - 1;
}

/* The rank that the least enters: where Newton's method starts. Errors: false, no memory. */
static bool start_all_gather(const struct ronde_graph *graph, struct ronde_index_pool *pool,
                             struct ronde_graph_cut *cut)
{
    int64_t *entering = ronde_pool_new(pool, graph->ranks, sizeof *entering);
    uint32_t worst = 0;
    if (!entering)
        return false;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const struct ronde_arc *arc = &graph->arcs[a];
        if (arc->to < graph->ranks && entering[arc->to] < graph->free)
            entering[arc->to] += arc->capacity;
    }
    for (uint32_t r = 1; r < graph->ranks; r++)
        if (entering[r] < entering[worst] && entering[r] < graph->free)
            worst = r;
    leave_out(graph, worst, cut);
    return true;
}

/*
 * Whether less flows to a rank than to those before; if so, the cut. A set that is worse still has the rank inside, since
 * what leaves a set without it is no less than what flows to it: the rank may be a source from now on.
 */
static bool try_sink(struct network *network, uint32_t rank, int64_t *least,
                     struct ronde_graph_cut *cut)
{
    const int64_t got = ronde_flow_grow(&network->flow, rank, *least);
    const bool is_worse = got < *least;
    if (is_worse) {
        *least = got;
        ronde_flow_reach(&network->flow);
        take_side(network, cut);
    }
    ronde_flow_source(&network->flow, rank);
    return is_worse;
}

bool ronde_cut_all_gather(const struct ronde_graph *graph, struct ronde_index_pool *pool,
                          struct ronde_graph_cut *cut)
{
    struct network network;
    if (!make_network(&network, graph, pool, true) || !start_all_gather(graph, pool, cut))
        return false;
    for (bool is_worse = true; is_worse && cut->capacity > 0;) {
        const int64_t each = set_rates(&network, cut), all = each * graph->ranks;
        int64_t least = all;
        is_worse = false;
        ronde_flow_begin(&network.flow);
        ronde_flow_source(&network.flow, network.extra);
        for (uint32_t r = 0; r < graph->ranks; r++)
            is_worse = try_sink(&network, r, &least, cut) || is_worse;
        if (is_worse) {
            cut->capacity = ronde_cut_capacity(graph, cut->inside);
            cut->blocks = ronde_cut_ranks(graph, cut->inside);
        }
    }
    return true;
}

bool ronde_cut_scatter(const struct ronde_graph *graph, uint32_t root,
                       struct ronde_index_pool *pool, struct ronde_graph_cut *cut)
{
    struct network network;
    if (!make_network(&network, graph, pool, false))
        return false;
    memset(cut->inside, 0, graph->place_count);
    cut->inside[root] = true;
    cut->capacity = ronde_cut_capacity(graph, cut->inside);
    cut->blocks = graph->ranks - 1;
    while (cut->capacity > 0) {
        const int64_t each = set_rates(&network, cut), all = each * (graph->ranks - 1);
        network.flow.capacity[network.first_arc + 2 * root] = 0;
        if (ronde_flow_run(&network.flow, root, network.extra, all) >= all)
            return true;
        take_side(&network, cut);
        cut->capacity = ronde_cut_capacity(graph, cut->inside);
        cut->blocks = graph->ranks - ronde_cut_ranks(graph, cut->inside);
    }
    return true;
}

bool ronde_cut_broadcast(const struct ronde_graph *graph, uint32_t root,
                         struct ronde_index_pool *pool, struct ronde_graph_cut *cut)
{
    struct network network;
    if (!make_network(&network, graph, pool, false))
        return false;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        network.flow.capacity[2 * a] = graph->arcs[a].capacity;
    for (uint32_t p = 0; p < graph->place_count; p++)
        cut->inside[p] = p == root;
    cut->capacity = ronde_cut_capacity(graph, cut->inside);
    cut->blocks = 1;
    ronde_flow_begin(&network.flow);
    ronde_flow_source(&network.flow, root);
    for (uint32_t r = 0; r < graph->ranks; r++)
        if (r != root)
            (void)try_sink(&network, r, &cut->capacity, cut);
    return true;
}
