/**
 * Machines without some of their parts: what can be named, which routes change, that ways are the shortest that are left and
 * that pairs share them, and what becomes of ranks and nodes.
 */
#include "support/built_with.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/platform_text.h"

#include "ronde/generate.h"
#include "ronde/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINKS 256u

static struct ronde_platform *pod(uint32_t nodes)
{
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = nodes,
                                                   .fabric = RONDE_FABRIC_RAIL};
    return platform_text_generated(&request);
}

static enum ronde_status take(struct ronde_platform *platform, const char *name,
                              struct ronde_error *error)
{
    return ronde_platform_without(platform, &name, 1, error);
}

static void take_well(struct ronde_platform *platform, const char *name)
{
    struct ronde_error error = {.status = RONDE_OK};
    const enum ronde_status status = take(platform, name, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
}

/* The names of a route's links. */
static void name_route(const struct ronde_platform *platform, uint32_t src, uint32_t dst,
                       char *text, size_t bytes)
{
    uint32_t links[MAX_LINKS], count = 0;
    struct ronde_error error = {.status = RONDE_OK};
    size_t used = 0;
    text[0] = '\0';
    if (ronde_platform_route(platform, src, dst, MAX_LINKS, links, &count, &error) != RONDE_OK) {
        snprintf(text, bytes, "%s", error.message);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? " " : "",
                                 ronde_platform_link(platform, links[i])->name);
}

static void only_routes_over_what_is_out_change(void)
{
    char before[1024], after[1024];
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *whole = pod(4), *left = pod(4);
    take_well(left, "n0g3_c");
    CU_ASSERT(ronde_platform_has_detours(left) && !ronde_platform_has_detours(whole));
    CU_ASSERT_STRING_EQUAL(ronde_platform_facts(left)->name, "dgx-h100-32-without-n0g3_c");
    for (uint32_t src = 0; src < 32; src++)
        for (uint32_t dst = 0; dst < 32; dst++) {
            if (src == dst)
                continue;
            name_route(whole, src, dst, before, sizeof before);
            name_route(left, src, dst, after, sizeof after);
            CU_ASSERT_PTR_NULL(strstr(after, "n0g3_c"));
            if (!strstr(before, "n0g3_c"))
                CU_ASSERT_STRING_EQUAL(before, after);
        }
    /* Over NVLink to a neighbour, out by its NIC, and in the other node over NVLink again. */
    name_route(left, 3, 11, after, sizeof after);
    CU_ASSERT_PTR_NOT_NULL(strstr(after, "n0g3_v_UP n0g"));
    ronde_platform_destroy(left);
    ronde_platform_destroy(whole);
}

/* Four GPUs of eight without a NIC, of each node: the NICs that are left serve two each, in rings and in all pairs. */
static void hosts_that_lost_their_links_take_turns(void)
{
    uint32_t links[MAX_LINKS], count = 0;
    struct ronde_error error = {.status = RONDE_OK};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = pod(4);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_keep_nics(platform, 4, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(ronde_platform_facts(platform)->name, "dgx-h100-32-nics-4");
    const uint32_t all = ronde_platform_link_count(platform);
    uint32_t *crossed = calloc(all, sizeof *crossed);
    for (uint32_t src = 0; src < 32; src++) {
        CU_ASSERT_EQUAL(ronde_platform_route(platform, src, (src + 8) % 32, MAX_LINKS, links,
                                             &count, &error),
                        RONDE_OK);
        for (uint32_t i = 0; i < count; i++)
            crossed[links[i]]++;
    }
    for (uint32_t i = 0; i < all; i++) {
        const char *name = ronde_platform_link(platform, i)->name;
        if (strstr(name, "_c_"))
            CU_ASSERT_EQUAL(crossed[i], (uint32_t)(name[3] - '0') % 2 == 0 ? 2u : 0u);
    }
    free(crossed);
    ronde_platform_destroy(platform);
}

static void nics_are_counted(void)
{
    static const struct {
        uint32_t nodes, count;
        const char *said;
    } rows[] = {{4, 9, "a node has 8 NICs, not 9"}, {1, 4, "one node"}, {4, 0, "without NICs"}};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {.status = RONDE_OK};
        const struct ronde_generate_request one = {.kind = "dgx-h100", .fabric = RONDE_FABRIC_COUNT};
        struct ronde_platform *platform =
            rows[i].nodes > 1 ? pod(rows[i].nodes) : platform_text_generated(&one);
        CU_ASSERT_EQUAL(ronde_platform_keep_nics(platform, rows[i].count, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].said));
        ronde_platform_destroy(platform);
    }
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_platform *platform = pod(2);
    CU_ASSERT_EQUAL(ronde_platform_keep_nics(platform, 8, &error), RONDE_OK);
    CU_ASSERT(!ronde_platform_has_detours(platform));
    ronde_platform_destroy(platform);
}

/* Without its only link no host of a group would reach another. */
static void the_only_link_of_a_host_is_no_nic_to_spare(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    const struct ronde_generate_request groups = {.kind = "dragonfly",
                                                  .nodes = 24,
                                                  .fabric = RONDE_FABRIC_COUNT};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_generated(&groups);
    CU_ASSERT_EQUAL(ronde_platform_keep_nics(platform, 1, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "which are its NICs, nothing says"));
    ronde_platform_destroy(platform);
}

/* A half of a cable, a host, a switch, a pattern: what is left of hosts and of ways. */
static void everything_with_a_name_can_be_out(void)
{
    char route[1024];
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = pod(4);
    take_well(platform, "n0g0_c_UP");
    name_route(platform, 0, 8, route, sizeof route);
    CU_ASSERT_PTR_NULL(strstr(route, "n0g0_c_UP"));
    name_route(platform, 8, 0, route, sizeof route);
    CU_ASSERT_PTR_NOT_NULL(strstr(route, "n0g0_c_DOWN"));
    ronde_platform_destroy(platform);

    platform = pod(4);
    take_well(platform, "n1g*");
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->hosts, 24);
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->node_hosts, 8);
    CU_ASSERT_STRING_EQUAL(ronde_platform_host(platform, 8), "n2g0");
    ronde_platform_destroy(platform);

    /* The switch of a rail: all leave by other rails. */
    platform = pod(4);
    take_well(platform, "l0");
    name_route(platform, 0, 8, route, sizeof route);
    CU_ASSERT_PTR_NULL(strstr(route, "n0g0_c"));
    CU_ASSERT_PTR_NOT_NULL(strstr(route, "_c_UP"));
    ronde_platform_destroy(platform);
}

static void nodes_stay_together_when_one_host_is_out(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_nodes nodes;
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = pod(4);
    take_well(platform, "n1g3");
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->hosts, 31);
    CU_ASSERT_EQUAL_FATAL(ronde_nodes_find(platform, ronde_mem_default(), &nodes, &error), RONDE_OK);
    CU_ASSERT_EQUAL(nodes.count, 4);
    CU_ASSERT_EQUAL(nodes.first[2] - nodes.first[1], 7);
    CU_ASSERT_EQUAL(nodes.source, RONDE_NODES_SAID);
    ronde_nodes_free(&nodes, ronde_mem_default());
    ronde_platform_destroy(platform);
}

static void what_is_not_there_cannot_be_out(void)
{
    static const struct {
        const char *file, *name, *said;
        enum ronde_status status;
    } rows[] = {
        {"topologies/dgx-h100-pod.xml", "n0g0_d", "did you mean 'n0g0_", RONDE_BAD_ARGUMENT},
        {"topologies/dgx-h100-pod.xml", "n1g9_c", "did you mean 'n1g0_c_", RONDE_BAD_ARGUMENT},
        {"topologies/dgx-h100-pod.xml", "nowhere*", "no link, host, switch or zone is called",
         RONDE_BAD_ARGUMENT},
        {"topologies/dgx-h100.xml", "n0g*", "no host is left", RONDE_BAD_ARGUMENT},
        {"tests/data/fat-tree-simgrid.xml", "x", "only SimGrid knows the links of FAT_TREE",
         RONDE_UNSUPPORTED},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {.status = RONDE_OK};
        struct ronde_platform *platform =
            i < 4 ? platform_text_open(rows[i].file)
                  : platform_text_good("<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" "
                                       "suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"10GBps\" "
                                       "lat=\"1us\" topology=\"FAT_TREE\" "
                                       "topo_parameters=\"2;4,2;1,2;1,1\"/></platform>");
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        CU_ASSERT_EQUAL(take(platform, rows[i].name, &error), rows[i].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].said));
        if (!strstr(error.message, rows[i].said))
            suite_note("%s", error.message);
        ronde_platform_destroy(platform);
    }
}

/* A star's hosts have one way each. */
static void a_host_that_nothing_leads_to_is_named(void)
{
    char route[1024];
    if (!suite_can_read_platforms())
        return;
    const struct ronde_generate_request request = {.kind = "crossbar",
                                                   .nodes = 4,
                                                   .fabric = RONDE_FABRIC_COUNT};
    struct ronde_platform *platform = platform_text_generated(&request);
    uint32_t links[MAX_LINKS], count = 0;
    CU_ASSERT_EQUAL(ronde_platform_route(platform, 0, 1, MAX_LINKS, links, &count, NULL), RONDE_OK);
    take_well(platform, ronde_platform_link(platform, links[0])->name);
    name_route(platform, 0, 1, route, sizeof route);
    CU_ASSERT_PTR_NOT_NULL(strstr(route, "no way is left from"));
    CU_ASSERT_EQUAL(ronde_platform_route(platform, 1, 2, MAX_LINKS, links, &count, NULL), RONDE_OK);
    ronde_platform_destroy(platform);
}

enum { VERTICES = 24, MOST_WIRES = 80 };

/** A graph of hosts and wires both ways, in one zone of shortest routes. */
struct graph {
    uint32_t wires;
    uint32_t ends[MOST_WIRES][2];
    bool is_out[MOST_WIRES];
};

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % limit;
}

static void draw_graph(struct graph *graph, uint64_t *state)
{
    *graph = (struct graph){.wires = 0};
    for (uint32_t i = 1; i < VERTICES; i++) {
        graph->ends[graph->wires][0] = random_below(state, i);
        graph->ends[graph->wires++][1] = i;
    }
    for (uint32_t tries = 0; tries < 60; tries++) {
        const uint32_t a = random_below(state, VERTICES), b = random_below(state, VERTICES);
        bool is_there = a == b;
        for (uint32_t w = 0; w < graph->wires; w++)
            is_there = is_there || (graph->ends[w][0] == a && graph->ends[w][1] == b) ||
                       (graph->ends[w][0] == b && graph->ends[w][1] == a);
        if (is_there || graph->wires == MOST_WIRES)
            continue;
        graph->ends[graph->wires][0] = a;
        graph->ends[graph->wires++][1] = b;
    }
}

static struct ronde_platform *read_graph(const struct graph *graph)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_FATAL(file != NULL);
    fputs("<platform version=\"4.1\"><zone id=\"g\" routing=\"Dijkstra\">", file);
    for (uint32_t i = 0; i < VERTICES; i++)
        fprintf(file, "<host id=\"h%u\" speed=\"1Gf\"/>", i);
    for (uint32_t w = 0; w < graph->wires; w++)
        fprintf(file,
                "<link id=\"w%u\" bandwidth=\"1GBps\" latency=\"1us\" "
                "sharing_policy=\"SPLITDUPLEX\"/>",
                w);
    for (uint32_t w = 0; w < graph->wires; w++)
        fprintf(file,
                "<route src=\"h%u\" dst=\"h%u\"><link_ctn id=\"w%u\" direction=\"UP\"/></route>",
                graph->ends[w][0], graph->ends[w][1], w);
    fputs("</zone></platform>", file);
    fclose(file);
    struct ronde_platform *platform = platform_text_good(text);
    free(text);
    return platform;
}

/* Fewest wires between all pairs that are left, by Floyd and Warshall. */
static void measure(const struct graph *graph, uint32_t distance[VERTICES][VERTICES])
{
    for (uint32_t i = 0; i < VERTICES; i++)
        for (uint32_t j = 0; j < VERTICES; j++)
            distance[i][j] = i == j ? 0 : 1000;
    for (uint32_t w = 0; w < graph->wires; w++)
        if (!graph->is_out[w])
            distance[graph->ends[w][0]][graph->ends[w][1]] =
                distance[graph->ends[w][1]][graph->ends[w][0]] = 1;
    for (uint32_t k = 0; k < VERTICES; k++)
        for (uint32_t i = 0; i < VERTICES; i++)
            for (uint32_t j = 0; j < VERTICES; j++)
                if (distance[i][k] + distance[k][j] < distance[i][j])
                    distance[i][j] = distance[i][k] + distance[k][j];
}

/* Whether links are a walk of the graph between two hosts over nothing that is out. */
static bool is_walk(const struct ronde_platform *platform, const struct graph *graph, uint32_t src,
                    uint32_t dst, const uint32_t *links, uint32_t count)
{
    uint32_t at = src;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = ronde_platform_link(platform, links[i])->name;
        const uint32_t wire = (uint32_t)strtoul(name + 1, NULL, 10);
        const bool is_down = strstr(name, "_DOWN") != NULL;
        if (graph->is_out[wire] || graph->ends[wire][is_down] != at)
            return false;
        at = graph->ends[wire][!is_down];
    }
    return at == dst;
}

static void check_pairs(const struct ronde_platform *platform, const struct graph *graph)
{
    uint32_t distance[VERTICES][VERTICES], links[MAX_LINKS], again[MAX_LINKS], count, same;
    measure(graph, distance);
    for (uint32_t i = 0; i < VERTICES * VERTICES; i++) {
        const uint32_t src = i / VERTICES, dst = i % VERTICES;
        struct ronde_error error = {.status = RONDE_OK};
        const enum ronde_status status =
            ronde_platform_route(platform, src, dst, MAX_LINKS, links, &count, &error);
        const bool is_left = distance[src][dst] < 1000;
        CU_ASSERT_EQUAL(status, is_left ? RONDE_OK : RONDE_BAD_INPUT);
        if (status != RONDE_OK)
            continue;
        CU_ASSERT_EQUAL(count, distance[src][dst]);
        CU_ASSERT(is_walk(platform, graph, src, dst, links, count));
        CU_ASSERT_EQUAL(ronde_platform_route(platform, src, dst, MAX_LINKS, again, &same, NULL),
                        RONDE_OK);
        CU_ASSERT(same == count && memcmp(links, again, count * sizeof *links) == 0);
    }
}

/* Ties that only SimGrid decides are no obstacle there. */
static void ways_of_random_graphs_are_the_shortest_that_are_left(void)
{
    enum { GRAPHS = 40 };
    uint64_t state = 6;
    if (!suite_can_read_platforms())
        return;
    for (int g = 0; g < GRAPHS; g++) {
        struct graph graph;
        const char *names[8];
        char texts[8][8];
        struct ronde_error error = {.status = RONDE_OK};
        draw_graph(&graph, &state);
        struct ronde_platform *platform = read_graph(&graph);
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        const uint32_t count = 1 + random_below(&state, 8);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t wire = random_below(&state, graph.wires);
            graph.is_out[wire] = true;
            snprintf(texts[i], sizeof texts[i], "w%u", wire);
            names[i] = texts[i];
        }
        CU_ASSERT_EQUAL_FATAL(ronde_platform_without(platform, names, count, &error), RONDE_OK);
        check_pairs(platform, &graph);
        ronde_platform_destroy(platform);
    }
}

/* Generated machines without one link or host each: all hosts reach each other still. */
static void generated_machines_go_on(void)
{
    static const struct {
        struct ronde_generate_request request;
        const char *out;
    } rows[] = {
        {{.kind = "torus", .axis_count = 2, .shape = {4, 4}, .fabric = RONDE_FABRIC_COUNT},
         "chips_link_from_0_to_1"},
        {{.kind = "torus", .axis_count = 3, .shape = {4, 4, 4}, .fabric = RONDE_FABRIC_COUNT}, "c5"},
        {{.kind = "dragonfly", .fabric = RONDE_FABRIC_COUNT}, "g0_0-1"},
        {{.kind = "dgx-h100", .nodes = 16, .fabric = RONDE_FABRIC_FAT_TREE}, "n3g1_v"},
        {{.kind = "dgx-h100", .nodes = 8, .fabric = RONDE_FABRIC_CROSSBAR}, "n3g1_c"},
        {{.kind = "mi300x", .nodes = 4, .fabric = RONDE_FABRIC_RAIL}, "n0g0-1"},
        {{.kind = "rail", .nodes = 40, .fabric = RONDE_FABRIC_COUNT}, "l3"},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_platform *platform = platform_text_generated(&rows[i].request);
        struct ronde_router *router = NULL;
        struct ronde_error error = {.status = RONDE_OK};
        uint32_t links[MAX_LINKS], count = 0, bad = 0;
        take_well(platform, rows[i].out);
        CU_ASSERT_EQUAL_FATAL(ronde_router_create(platform, ronde_mem_default(), &router, &error),
                              RONDE_OK);
        const uint32_t hosts = ronde_platform_facts(platform)->hosts;
        for (uint32_t pair = 0; pair < hosts * hosts; pair++) {
            bad += ronde_router_route(router, pair / hosts, pair % hosts, MAX_LINKS, links, &count,
                                      &error) != RONDE_OK;
            for (uint32_t l = 0; l < count; l++)
                bad += !(ronde_platform_link(platform, links[l])->rate_GBps > 0);
        }
        CU_ASSERT_EQUAL(bad, 0);
        if (bad > 0)
            suite_note("%s without %s: %s", rows[i].request.kind, rows[i].out, error.message);
        ronde_router_destroy(router);
        ronde_platform_destroy(platform);
    }
}

static void a_copy_is_the_same_machine(void)
{
    char one[1024], other[1024];
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_platform *copy = NULL;
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = pod(4);
    take_well(platform, "n0g0_c");
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "n1g1_c", .5, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_copy(platform, ronde_mem_default(), &copy, &error),
                          RONDE_OK);
    CU_ASSERT_STRING_EQUAL(ronde_platform_facts(copy)->name, ronde_platform_facts(platform)->name);
    for (uint32_t i = 0; i < ronde_platform_link_count(platform); i++)
        CU_ASSERT_EQUAL(ronde_platform_link(copy, i)->rate_GBps,
                        ronde_platform_link(platform, i)->rate_GBps);
    for (uint32_t dst = 1; dst < 32; dst++) {
        name_route(platform, 0, dst, one, sizeof one);
        name_route(copy, 0, dst, other, sizeof other);
        CU_ASSERT_STRING_EQUAL(one, other);
    }
    ronde_platform_destroy(copy);
    ronde_platform_destroy(platform);
}

static enum ronde_status read_and_take(const void *context, const struct ronde_mem *mem,
                                       struct ronde_error *error)
{
    struct ronde_platform *platform = NULL, *copy = NULL;
    struct ronde_router *router = NULL;
    uint32_t links[MAX_LINKS], count = 0;
    static const char *const names[] = {"n0g0_c", "n1g1"};
    enum ronde_status status = ronde_platform_read(context, mem, &platform, error);
    if (status == RONDE_OK)
        status = ronde_platform_without(platform, names, 2, error);
    if (status == RONDE_OK)
        status = ronde_platform_keep_nics(platform, 6, error);
    if (status == RONDE_OK)
        status = ronde_platform_copy(platform, mem, &copy, error);
    if (status == RONDE_OK)
        status = ronde_router_create(copy, mem, &router, error);
    if (status == RONDE_OK)
        status = ronde_router_route(router, 0, 9, MAX_LINKS, links, &count, error);
    ronde_router_destroy(router);
    ronde_platform_destroy(copy);
    ronde_platform_destroy(platform);
    return status;
}

static void without_memory_it_says_so(void)
{
    char path[512];
    const struct sweep sweep = {"without", read_and_take, path};
    if (!suite_can_read_platforms())
        return;
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = 2,
                                                   .fabric = RONDE_FABRIC_RAIL};
    struct ronde_error error = {.status = RONDE_OK};
    snprintf(path, sizeof path, "%s/without.xml", RONDE_SCRATCH_DIR);
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL(ronde_generate(&request, file, &error), RONDE_OK);
    fclose(file);
    CU_ASSERT(sweep_run(&sweep) > 10);
    remove(path);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"only_routes_over_what_is_out_change", only_routes_over_what_is_out_change},
        {"hosts_that_lost_their_links_take_turns", hosts_that_lost_their_links_take_turns},
        {"nics_are_counted", nics_are_counted},
        {"the_only_link_of_a_host_is_no_nic_to_spare", the_only_link_of_a_host_is_no_nic_to_spare},
        {"everything_with_a_name_can_be_out", everything_with_a_name_can_be_out},
        {"nodes_stay_together_when_one_host_is_out", nodes_stay_together_when_one_host_is_out},
        {"what_is_not_there_cannot_be_out", what_is_not_there_cannot_be_out},
        {"a_host_that_nothing_leads_to_is_named", a_host_that_nothing_leads_to_is_named},
        {"ways_of_random_graphs_are_the_shortest_that_are_left",
         ways_of_random_graphs_are_the_shortest_that_are_left},
        {"generated_machines_go_on", generated_machines_go_on},
        {"a_copy_is_the_same_machine", a_copy_is_the_same_machine},
        {"without_memory_it_says_so", without_memory_it_says_so},
    };
    return suite_run("without", cases, sizeof cases / sizeof cases[0]);
}
