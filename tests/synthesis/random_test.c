/**
 * Bounds and schedules of random machines: directed, of unequal wires, with switches, 2 to 12 hosts.
 */
#include "support/suite.h"
#include "synthesis/loads.h"
#include "synthesis/random_graph.h"

#include "ronde/synthesize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SEEDS 60u

/* Fewer where something else is looked for. */
static uint32_t seeds(void)
{
    return suite_is_sample() ? SEEDS / 4 : SEEDS;
}

/* Hosts in a set of places. */
static uint32_t count_hosts(const struct random_graph *graph, uint32_t set)
{
    return (uint32_t)__builtin_popcount(set & ((1u << graph->hosts) - 1));
}

static bool has(uint32_t set, uint32_t place)
{
    return (set >> place & 1) != 0;
}

static double leaving(const struct random_graph *graph, uint32_t set, bool is_reversed)
{
    double sum = 0;
    for (uint32_t w = 0; w < graph->wires; w++) {
        const uint32_t from = is_reversed ? graph->to[w] : graph->from[w];
        const uint32_t to = is_reversed ? graph->from[w] : graph->to[w];
        if (graph->is_used[w] && has(set, from) && !has(set, to))
            sum += graph->GBps[w];
    }
    return sum;
}

/* GB/s by the worst of all cuts: blocks of the hosts inside (all_gather), of the root for all outside (scatter), one. */
static double worst_cut(const struct random_graph *graph, enum ronde_collective kind, uint32_t root,
                        bool is_reversed)
{
    double least = INFINITY;
    for (uint32_t set = 1; set + 1 < 1u << graph->places; set++) {
        const uint32_t inside = count_hosts(graph, set), outside = graph->hosts - inside;
        double blocks = inside;
        if (outside == 0 || inside == 0 || (kind != RONDE_ALL_GATHER && !has(set, root)))
            continue;
        if (kind == RONDE_SCATTER)
            blocks = outside;
        else if (kind == RONDE_BROADCAST)
            blocks = 1;
        least = fmin(least, leaving(graph, set, is_reversed) / blocks);
    }
    return kind == RONDE_BROADCAST ? least : graph->hosts * least;
}

static double brute_force(const struct random_graph *graph, enum ronde_collective collective,
                          uint32_t root)
{
    switch (collective) {
    case RONDE_ALL_GATHER:
        return worst_cut(graph, RONDE_ALL_GATHER, 0, false);
    case RONDE_REDUCE_SCATTER:
        return worst_cut(graph, RONDE_ALL_GATHER, 0, true);
    case RONDE_ALL_REDUCE:
        return 1 / (1 / worst_cut(graph, RONDE_ALL_GATHER, 0, false) +
                    1 / worst_cut(graph, RONDE_ALL_GATHER, 0, true));
    case RONDE_BROADCAST:
        return worst_cut(graph, RONDE_BROADCAST, root, false);
    case RONDE_REDUCE:
        return worst_cut(graph, RONDE_BROADCAST, root, true);
    case RONDE_SCATTER:
        return worst_cut(graph, RONDE_SCATTER, root, false);
    default:
        return worst_cut(graph, RONDE_SCATTER, root, true);
    }
}

static const enum ronde_collective bounded[] = {RONDE_ALL_GATHER, RONDE_REDUCE_SCATTER,
                                                RONDE_ALL_REDUCE, RONDE_BROADCAST,
                                                RONDE_REDUCE,     RONDE_SCATTER,
                                                RONDE_GATHER};

/* Returns the collectives whose bound is that of the worst cut. */
static uint32_t check_bounds(const struct random_graph *graph,
                             const struct ronde_platform *platform, uint32_t root)
{
    uint32_t exact = 0;
    for (size_t c = 0; c < sizeof bounded / sizeof *bounded; c++) {
        const struct ronde_compile_request request = {.collective = bounded[c],
                                                      .ranks = graph->hosts,
                                                      .root = root};
        struct ronde_bound bound;
        struct ronde_error error = {0};
        const double expected = brute_force(graph, bounded[c], root);
        CU_ASSERT_EQUAL_FATAL(ronde_bound_find(platform, &request, ronde_mem_default(), &bound,
                                               &error),
                              RONDE_OK);
        /* Routes may know more than cuts: from which wire of a switch to which one messages can change. */
        const bool is_exact = fabs(bound.GBps - expected) <= 1e-9 * expected;
        CU_ASSERT(bound.GBps <= expected * (1 + 1e-9));
        CU_ASSERT(is_exact || !graph->is_plain || graph->places > graph->hosts);
        exact += is_exact;
        CU_ASSERT(bound.certain_GBps >= bound.GBps * (1 - 1e-9));
        if (bound.denominator > 0)
            CU_ASSERT_DOUBLE_EQUAL((double)bound.numerator / (double)bound.denominator, bound.GBps,
                                   1e-9 * bound.GBps);
        CU_ASSERT(bound.cut[0] != '\0');
    }
    return exact;
}

static void bounds_are_those_of_the_worst_of_all_cuts(void)
{
    uint32_t exact = 0, count = 0;
    for (uint32_t seed = 0; seed < seeds(); seed++) {
        struct random_graph graph;
        const uint32_t hosts = 2 + seed % 11;
        random_graph_make(&graph, seed, hosts, hosts > 10 ? seed % 2 : seed % 4);
        struct ronde_platform *platform = random_graph_platform(&graph);
        if (!platform)
            return;
        exact += check_bounds(&graph, platform, random_graph_below(&graph, hosts));
        count += sizeof bounded / sizeof *bounded;
        ronde_platform_destroy(platform);
    }
    suite_note("%u of %u bounds are those of cuts alone", exact, count);
    CU_ASSERT(exact > count * 9 / 10);
}

/* What is packed, proved and carried by links; the share of the bound that it reaches. */
static double check_schedule(const struct ronde_platform *platform,
                             const struct ronde_synthesis_request *request)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis made;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_synthesize(platform, request, ronde_mem_default(), &schedule, &made,
                                     &error),
                    RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s: %s", ronde_collective_text(request->collective), error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    CU_ASSERT(schedule->proof.ok);
    CU_ASSERT_EQUAL(schedule->proof.dead_chunks, 0);
    CU_ASSERT_EQUAL(schedule->collective, request->collective);
    CU_ASSERT(made.connections <= request->connections || request->connections == 0);
    CU_ASSERT(made.GBps <= made.trees_GBps * (1 + 1e-9));
    CU_ASSERT(made.trees_GBps <=
              (made.is_joint ? made.bound.certain_GBps : made.bound.GBps) * (1 + 1e-9));
    /* Halves in series may overlap, and what links carry is more then. */
    if (request->collective != RONDE_ALL_REDUCE || made.is_joint)
        CU_ASSERT_DOUBLE_EQUAL(loads_GBps(schedule, platform), made.GBps, 1e-9 * made.GBps);
    ronde_schedule_destroy(schedule);
    return fmin(1, made.GBps / made.bound.GBps);
}

static const enum ronde_collective synthesised[] = {RONDE_ALL_GATHER, RONDE_REDUCE_SCATTER,
                                                    RONDE_ALL_REDUCE, RONDE_BROADCAST, RONDE_REDUCE};

static void schedules_are_proved_and_load_what_they_say(void)
{
    double sum = 0, least = 1;
    uint32_t count = 0;
    for (uint32_t seed = 100; seed < 100 + seeds(); seed++) {
        struct random_graph graph;
        const uint32_t hosts = 2 + seed % 11;
        random_graph_make(&graph, seed, hosts, hosts > 10 ? seed % 2 : seed % 4);
        struct ronde_platform *platform = random_graph_platform(&graph);
        if (!platform)
            return;
        for (size_t c = 0; c < sizeof synthesised / sizeof *synthesised; c++, count++) {
            const struct ronde_synthesis_request request = {.collective = synthesised[c],
                                                            .ranks = hosts,
                                                            .root =
                                                                random_graph_below(&graph, hosts),
                                                            .connections =
                                                                seed % 5 == 0 ? 4 * hosts : 0};
            const double share = check_schedule(platform, &request);
            sum += share;
            least = fmin(least, share);
        }
        ronde_platform_destroy(platform);
    }
    suite_note("share of the bound on routes: %.4f on average, %.4f at least, of %u schedules",
               sum / count, least, count);
    CU_ASSERT(sum / count > 0.9);
}

/* Where every pair that is joined has its own wire, trees exist that fill the bound exactly (Edmonds). */
static void trees_fill_the_bound_where_there_are_no_switches(void)
{
    uint32_t exact = 0, count = 0;
    double least = 1;
    for (uint32_t seed = 200; seed < 200 + seeds(); seed++) {
        struct random_graph graph;
        const uint32_t hosts = 2 + seed % 7;
        random_graph_make(&graph, seed, hosts, 0);
        struct ronde_platform *platform = random_graph_platform(&graph);
        if (!platform)
            return;
        /* A capacity of c for trees of the root's rate in whole numbers: as many trees as GB/s. */
        struct ronde_bound bound;
        const struct ronde_compile_request asked = {.collective = RONDE_BROADCAST, .ranks = hosts};
        CU_ASSERT_EQUAL_FATAL(ronde_bound_find(platform, &asked, ronde_mem_default(), &bound, NULL),
                              RONDE_OK);
        const struct ronde_synthesis_request request = {.collective = RONDE_BROADCAST,
                                                        .ranks = hosts,
                                                        .trees = (uint32_t)lround(bound.GBps)};
        const double share = check_schedule(platform, &request);
        exact += share > 1 - 1e-9;
        least = fmin(least, share);
        count++;
        ronde_platform_destroy(platform);
    }
    suite_note("%u of %u packed exactly, %.4f of the bound at least", exact, count, least);
    CU_ASSERT_EQUAL(exact, count);
}

/* Few ranks may need more trees than many are given: 16 of each root allow 98 % of the bound of some of these machines. */
static void trees_of_few_ranks_reach_the_bound(void)
{
    double least = 1;
    for (uint32_t seed = 300; seed < 300 + seeds(); seed++) {
        struct random_graph graph;
        const uint32_t hosts = 3 + seed % 6;
        random_graph_make(&graph, seed, hosts, 0);
        for (uint32_t w = 0; w < graph.wires; w++)
            graph.GBps[w] = 6 * graph.GBps[w] + random_graph_below(&graph, 6);
        struct ronde_platform *platform = random_graph_platform(&graph);
        if (!platform)
            return;
        for (unsigned c = 0; c < 2; c++) {
            const struct ronde_synthesis_request request = {.collective = synthesised[c],
                                                            .ranks = hosts};
            const double share = check_schedule(platform, &request);
            if (share < 0.99)
                suite_note("seed %u, %u hosts, %s: %.4f", seed, hosts,
                           ronde_collective_text(synthesised[c]), share);
            least = fmin(least, share);
        }
        ronde_platform_destroy(platform);
    }
    suite_note("%.4f of the bound at least", least);
    CU_ASSERT(least >= 0.99);
}

/* However few connections are wanted, one for each half of an all_reduce at least: fewer neighbours are kept. */
static void connections_are_as_few_as_is_asked(void)
{
    double sum[5] = {0};
    uint32_t count[5] = {0};
    for (uint32_t seed = 400; seed < 400 + seeds() / 15; seed++) {
        struct random_graph graph;
        const uint32_t hosts = 3 + seed % 8;
        random_graph_make(&graph, seed, hosts, seed % 3);
        struct ronde_platform *platform = random_graph_platform(&graph);
        if (!platform)
            return;
        for (size_t c = 0; c < sizeof synthesised / sizeof *synthesised; c++)
            for (uint32_t most = synthesised[c] == RONDE_ALL_REDUCE ? 2 : 1; most <= 4; most++) {
                const struct ronde_synthesis_request request = {.collective = synthesised[c],
                                                                .ranks = hosts,
                                                                .connections = most};
                sum[most] += check_schedule(platform, &request);
                count[most]++;
            }
        ronde_platform_destroy(platform);
    }
    for (uint32_t most = 1; most <= 4; most++)
        suite_note("%u connections: %.4f of the bound on average", most, sum[most] / count[most]);
    CU_ASSERT(sum[4] / count[4] > sum[1] / count[1]);
}

static void a_host_that_is_cut_off_is_refused_by_name(void)
{
    struct random_graph graph;
    struct ronde_synthesis made;
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    char name[16];
    random_graph_make(&graph, 7, 6, 2);
    struct ronde_platform *platform = random_graph_platform(&graph);
    if (!platform)
        return;
    for (uint32_t w = 0; w < graph.wires; w++) {
        snprintf(name, sizeof name, "w%u", w);
        if (graph.to[w] == 3)
            CU_ASSERT_EQUAL(ronde_platform_without(platform, &(const char *){name}, 1, &error),
                            RONDE_OK);
    }
    for (size_t c = 0; c < sizeof synthesised / sizeof *synthesised; c++) {
        const struct ronde_synthesis_request request = {.collective = synthesised[c], .ranks = 6};
        error = (struct ronde_error){0};
        if (synthesised[c] == RONDE_REDUCE)
            continue; /* host 3 can still send */
        CU_ASSERT_EQUAL(ronde_synthesize(platform, &request, ronde_mem_default(), &schedule, &made,
                                         &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NULL(schedule);
        CU_ASSERT(strstr(error.message, "host p3 is cut off") != NULL);
    }
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"bounds_are_those_of_the_worst_of_all_cuts", bounds_are_those_of_the_worst_of_all_cuts},
        {"schedules_are_proved_and_load_what_they_say", schedules_are_proved_and_load_what_they_say},
        {"trees_fill_the_bound_where_there_are_no_switches",
         trees_fill_the_bound_where_there_are_no_switches},
        {"trees_of_few_ranks_reach_the_bound", trees_of_few_ranks_reach_the_bound},
        {"connections_are_as_few_as_is_asked", connections_are_as_few_as_is_asked},
        {"a_host_that_is_cut_off_is_refused_by_name", a_host_that_is_cut_off_is_refused_by_name},
    };
    return suite_run_with_components("random", cases, sizeof cases / sizeof *cases);
}
