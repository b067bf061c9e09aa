/*
 * Cuts by Newton's method and maximum flows, in integers. See forest.h.
 *
 * The worst cut is the set whose capacity for each block that must leave it is least: a fraction. From the fraction
 * of a set that is known, every rank is given that many units to send, and a maximum flow tells whether all can
 * leave: if so, no set is worse; if not, the cut of the flow is a set with a smaller fraction, from which it goes on
 * (Dinkelbach, "On nonlinear fractional programming", Management Science 13, 1967). Fractions fall strictly and are
 * of bounded integers, so a few rounds do, and the answer is exact. Arcs without a limit have more capacity than all
 * others together.
 */
#include "forest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool ronde_cut_create(const struct ronde_graph *graph, struct ronde_store *pool,
                      struct ronde_graph_cut *out_cut)
{
    *out_cut = (struct ronde_graph_cut){.capacity = graph->free, .blocks = 1};
    out_cut->inside = ronde_store_new(pool, graph->place_count, sizeof *out_cut->inside);
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
                         struct ronde_store *pool, bool is_source)
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
static bool start_all_gather(const struct ronde_graph *graph, struct ronde_store *pool,
                             struct ronde_graph_cut *cut)
{
    int64_t *entering = ronde_store_new(pool, graph->ranks, sizeof *entering);
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

bool ronde_cut_all_gather(const struct ronde_graph *graph, struct ronde_store *pool,
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

bool ronde_cut_scatter(const struct ronde_graph *graph, uint32_t root, struct ronde_store *pool,
                       struct ronde_graph_cut *cut)
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

bool ronde_cut_broadcast(const struct ronde_graph *graph, uint32_t root, struct ronde_store *pool,
                         struct ronde_graph_cut *cut)
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

/* A cut in words. */

/* Runs of hosts and links that are named; the rest is counted. */
#define NAMED_RUNS 4u
#define NAMED_LINKS 4u

/* A text that grows to the end of its room. */
struct words {
    char *text;
    size_t bytes;
    size_t used;
};

static void RONDE_FORMAT(2, 3) say(struct words *words, const char *format, ...)
{
    va_list arguments;
    if (words->used >= words->bytes)
        return;
    va_start(arguments, format);
    const int written =
        vsnprintf(words->text + words->used, words->bytes - words->used, format, arguments);
    va_end(arguments);
    words->used += written > 0 ? (size_t)written : 0;
}

/* The side that is named is the one with fewer ranks. */
static bool is_named(const struct ronde_graph_cut *cut, uint32_t place, bool names_inside)
{
    return cut->inside[place] == names_inside;
}

static void say_hosts(struct words *words, const struct ronde_graph *graph,
                      const struct ronde_graph_cut *cut, bool names_inside)
{
    const struct ronde_platform *platform = graph->wiring->platform;
    uint32_t runs = 0;
    for (uint32_t r = 0; r < graph->ranks;) {
        uint32_t end = r + 1;
        if (!is_named(cut, r, names_inside)) {
            r = end;
            continue;
        }
        while (end < graph->ranks && is_named(cut, end, names_inside))
            end++;
        if (runs++ < NAMED_RUNS) {
            say(words, "%s%s", runs > 1 ? ", " : "", ronde_platform_host(platform, r));
            if (end - r > 1)
                say(words, "%s%s", end - r == 2 ? ", " : " .. ",
                    ronde_platform_host(platform, end - 1));
        }
        r = end;
    }
    if (runs > NAMED_RUNS)
        say(words, ", ...");
}

static void say_links(struct words *words, const struct ronde_graph *graph,
                      const struct ronde_graph_cut *cut)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const struct ronde_arc *arc = &graph->arcs[a];
        if (arc->wire == RONDE_NONE || arc->capacity == 0 || !cut->inside[arc->from] ||
            cut->inside[arc->to])
            continue;
        const uint32_t link = graph->wiring->wires[arc->wire].link;
        if (count++ < NAMED_LINKS)
            say(words, "%s%s", count > 1 ? ", " : ": ",
                ronde_platform_link(graph->wiring->platform, link)->name);
    }
    if (count > NAMED_LINKS)
        say(words, " and %u more", count - NAMED_LINKS);
}

uint32_t ronde_cut_words(const struct ronde_graph *graph, const struct ronde_graph_cut *cut,
                         bool is_reversed, char *out_text, size_t bytes)
{
    struct words words = {out_text, bytes, 0};
    const uint32_t inside = ronde_cut_ranks(graph, cut->inside);
    const bool names_inside = 2 * inside <= graph->ranks;
    const uint32_t named = names_inside ? inside : graph->ranks - inside;
    const bool leaves = names_inside != is_reversed;
    out_text[0] = '\0';
    say(&words, "%u of %u hosts, ", named, graph->ranks);
    say_hosts(&words, graph, cut, names_inside);
    say(&words, ", %s %lld block%s by %.6g GB/s",
        leaves ? (named == 1 ? "sends" : "send") : (named == 1 ? "takes in" : "take in"),
        (long long)cut->blocks, cut->blocks == 1 ? "" : "s",
        (double)cut->capacity * graph->unit_GBps);
    say_links(&words, graph, cut);
    return named;
}
