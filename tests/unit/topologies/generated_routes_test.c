/* Routes of generated machines against closed forms: how many links, how long, how fast, and the same way back. */
#include "support/suite.h"

#include "ronde/generate.h"
#include "unit/platform_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL .fabric = RONDE_FABRIC_COUNT
#define LINKS_MAX 64u

/* A machine, and the router that is asked. */
struct machine {
    const struct ronde_generate_request *request;
    struct ronde_platform *platform;
    struct ronde_router *router;
    uint32_t hosts;
};

/* What a route should be. */
struct way {
    uint32_t links;
    double latency_ns;
    double rate_GBps;
};

/* False after a skip or a failed assertion. */
static bool begin(struct machine *machine, const struct ronde_generate_request *request)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    *machine = (struct machine){.request = request};
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ronde_generate(request, file, NULL), RONDE_OK);
    (void)fclose(file);
    if (suite_can_read_platforms()) {
        CU_ASSERT_EQUAL_FATAL(platform_text_read(text, bytes, ronde_mem_default(),
                                                 &machine->platform, NULL),
                              RONDE_OK);
        CU_ASSERT_EQUAL_FATAL(ronde_router_create(machine->platform, ronde_mem_default(),
                                                  &machine->router, NULL),
                              RONDE_OK);
        machine->hosts = ronde_platform_facts(machine->platform)->hosts;
    }
    free(text);
    return machine->router != NULL;
}

static void end(struct machine *machine)
{
    ronde_router_destroy(machine->router);
    ronde_platform_destroy(machine->platform);
}

static uint32_t route(const struct machine *machine, uint32_t src, uint32_t dst,
                      uint32_t links[LINKS_MAX])
{
    uint32_t count = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_router_route(machine->router, src, dst, LINKS_MAX, links, &count,
                                             NULL),
                          RONDE_OK);
    CU_ASSERT_FATAL(count <= LINKS_MAX);
    return count;
}

static struct way measure(const struct machine *machine, uint32_t src, uint32_t dst)
{
    uint32_t links[LINKS_MAX];
    struct way way = {route(machine, src, dst, links), 0, INFINITY};
    for (uint32_t i = 0; i < way.links; i++) {
        const struct ronde_link *link = ronde_platform_link(machine->platform, links[i]);
        way.latency_ns += link->latency_ns;
        way.rate_GBps = fmin(way.rate_GBps, link->rate_GBps);
    }
    return way;
}

/* What the way between two hosts of a machine should be. */
typedef struct way (*expected_way)(const struct ronde_generate_request *request, uint32_t src,
                                   uint32_t dst);

/* All pairs of a machine. */
static void expect_ways(const struct machine *machine, expected_way expected)
{
    uint32_t wrong = 0;
    for (uint32_t src = 0; src < machine->hosts; src++)
        for (uint32_t dst = 0; dst < machine->hosts; dst++) {
            if (src == dst)
                continue;
            const struct way found = measure(machine, src, dst);
            const struct way right = expected(machine->request, src, dst);
            const bool is_right = found.links == right.links &&
                                  fabs(found.latency_ns - right.latency_ns) < 1e-6 &&
                                  fabs(found.rate_GBps - right.rate_GBps) < 1e-6;
            if (!is_right && wrong++ == 0)
                suite_note("%s, %u to %u: %u links, %g ns, %g GB/s, expected %u, %g, %g",
                           machine->request->kind, src, dst, found.links, found.latency_ns,
                           found.rate_GBps, right.links, right.latency_ns, right.rate_GBps);
        }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Whether a name is another's with UP for DOWN. */
static bool is_opposite(const char *one, const char *other)
{
    const char *up = strstr(one, "_UP"), *down = strstr(one, "_DOWN");
    if (!up && !down)
        return strcmp(one, other) == 0;
    const size_t stem = (size_t)((up ? up : down) - one);
    return strncmp(one, other, stem) == 0 && strcmp(other + stem, up ? "_DOWN" : "_UP") == 0;
}

/* The way back takes the other direction of the same links, from the last to the first. */
static void expect_mirrored(const struct machine *machine)
{
    uint32_t wrong = 0;
    for (uint32_t src = 0; src < machine->hosts; src++)
        for (uint32_t dst = src + 1; dst < machine->hosts; dst++) {
            uint32_t there[LINKS_MAX], back[LINKS_MAX];
            const uint32_t count = route(machine, src, dst, there);
            if (route(machine, dst, src, back) != count) {
                wrong++;
                continue;
            }
            for (uint32_t i = 0; i < count; i++)
                wrong +=
                    !is_opposite(ronde_platform_link(machine->platform, there[i])->name,
                                 ronde_platform_link(machine->platform, back[count - 1 - i])->name);
        }
    CU_ASSERT_EQUAL(wrong, 0);
    if (wrong > 0)
        suite_note("%s of %u: %u", machine->request->kind, machine->hosts, wrong);
}

static struct way star_way(const struct ronde_generate_request *request, uint32_t src, uint32_t dst)
{
    const bool is_ethernet = strcmp(request->kind, "ethernet") == 0;
    (void)src;
    (void)dst;
    return (struct way){2, is_ethernet ? 20000 : 1000, is_ethernet ? 12.5 : 50};
}

static void stars_have_two_ports_on_a_route(void)
{
    static const struct ronde_generate_request requests[] = {
        {.kind = "crossbar", .nodes = 2, USUAL},
        {.kind = "crossbar", .nodes = 17, USUAL},
        {.kind = "ethernet", .nodes = 5, USUAL},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct machine machine;
        if (!begin(&machine, &requests[i]))
            return;
        CU_ASSERT_EQUAL(machine.hosts, requests[i].nodes);
        CU_ASSERT_EQUAL(ronde_platform_link_count(machine.platform), 2 * machine.hosts);
        expect_ways(&machine, star_way);
        expect_mirrored(&machine);
        end(&machine);
    }
}

/* Shapes only: [pods,] leaves, hosts. */
static struct way tree_way(const struct ronde_generate_request *request, uint32_t src, uint32_t dst)
{
    const uint32_t axes = request->axis_count, leaf_hosts = request->shape[axes - 1];
    const uint32_t pod_hosts =
        leaf_hosts * (axes == 3 ? request->shape[1] : UINT32_MAX / leaf_hosts);
    const double ratio = request->oversubscription > 0 ? request->oversubscription : 1;
    const double leaf_GBps = leaf_hosts * 50 / ratio;
    if (src / leaf_hosts == dst / leaf_hosts)
        return (struct way){2, 1000, 50};
    if (src / pod_hosts == dst / pod_hosts)
        return (struct way){4, 1000 + 2 * 130, fmin(50, leaf_GBps)};
    return (struct way){6, 1000 + 4 * 130,
                        fmin(fmin(50, leaf_GBps), leaf_GBps * request->shape[1] / ratio)};
}

static void fat_trees_climb_as_high_as_they_must(void)
{
    static const struct ronde_generate_request requests[] = {
        {.kind = "fat-tree", .axis_count = 2, .shape = {3, 4}, USUAL},
        {.kind = "fat-tree", .axis_count = 2, .shape = {5, 1}, USUAL},
        {.kind = "fat-tree", .axis_count = 2, .shape = {1, 6}, USUAL},
        {.kind = "fat-tree", .oversubscription = 8, .axis_count = 2, .shape = {4, 4}, USUAL},
        {.kind = "fat-tree", .axis_count = 3, .shape = {3, 2, 3}, USUAL},
        {.kind = "fat-tree", .oversubscription = 2.5, .axis_count = 3, .shape = {2, 3, 2}, USUAL},
        {.kind = "fat-tree", .axis_count = 3, .shape = {1, 2, 2}, USUAL},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct machine machine;
        uint32_t hosts = 1;
        if (!begin(&machine, &requests[i]))
            return;
        for (uint32_t a = 0; a < requests[i].axis_count; a++)
            hosts *= requests[i].shape[a];
        CU_ASSERT_EQUAL(machine.hosts, hosts);
        expect_ways(&machine, tree_way);
        expect_mirrored(&machine);
        end(&machine);
    }
}

/* Hops along each axis, the shorter way round. */
static struct way torus_way(const struct ronde_generate_request *request, uint32_t src, uint32_t dst)
{
    uint32_t hops = 0;
    for (uint32_t a = 0; a < request->axis_count; a++) {
        const uint32_t length = request->shape[a];
        const uint32_t up = (dst % length + length - src % length) % length;
        hops += up < length - up ? up : length - up;
        src /= length;
        dst /= length;
    }
    return (struct way){hops, 500.0 * hops, 50};
}

static void tori_go_the_shorter_way_round(void)
{
    static const struct ronde_generate_request requests[] = {
        {.kind = "torus", .axis_count = 2, .shape = {3, 5}, USUAL},
        {.kind = "torus", .axis_count = 2, .shape = {4, 6}, USUAL},
        {.kind = "torus", .axis_count = 2, .shape = {2, 7}, USUAL},
        {.kind = "torus", .axis_count = 2, .shape = {9, 1}, USUAL},
        {.kind = "torus", .axis_count = 3, .shape = {3, 4, 2}, USUAL},
        {.kind = "torus", .axis_count = 3, .shape = {1, 5, 3}, USUAL},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct machine machine;
        if (!begin(&machine, &requests[i]))
            return;
        expect_ways(&machine, torus_way);
        end(&machine);
    }
}

/* The router of a group that has the cable to another one: cables are dealt out in order. */
static uint32_t gateway(const uint32_t *shape, uint32_t group, uint32_t other)
{
    const uint32_t cables = (shape[0] - 1 + shape[1] - 1) / shape[1];
    return (other + shape[0] - group - 1) % shape[0] / cables;
}

static struct way dragonfly_way(const struct ronde_generate_request *request, uint32_t src,
                                uint32_t dst)
{
    const uint32_t *shape = request->shape;
    const uint32_t from = src / shape[2], to = dst / shape[2];
    const uint32_t src_group = from / shape[1], dst_group = to / shape[1];
    uint32_t cables = from != to;
    if (src_group != dst_group)
        cables = 1u + (from % shape[1] != gateway(shape, src_group, dst_group)) +
                 (to % shape[1] != gateway(shape, dst_group, src_group));
    return (struct way){2 + cables, 1000 + 350.0 * cables, 25};
}

static void dragonflies_take_one_cable_between_groups(void)
{
    static const struct ronde_generate_request requests[] = {
        {.kind = "dragonfly", .axis_count = 3, .shape = {9, 4, 2}, USUAL},
        {.kind = "dragonfly", .axis_count = 3, .shape = {5, 2, 1}, USUAL},
        {.kind = "dragonfly", .axis_count = 3, .shape = {1, 4, 3}, USUAL},
        {.kind = "dragonfly", .axis_count = 3, .shape = {4, 1, 2}, USUAL},
        {.kind = "dragonfly", .axis_count = 3, .shape = {2, 3, 2}, USUAL},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct machine machine;
        const uint32_t *shape = requests[i].shape;
        if (!begin(&machine, &requests[i]))
            return;
        /* Ports, cables within groups, one between any two groups: two directions each. */
        CU_ASSERT_EQUAL(ronde_platform_link_count(machine.platform),
                        2 * machine.hosts + shape[0] * shape[1] * (shape[1] - 1) +
                            shape[0] * (shape[0] - 1));
        expect_ways(&machine, dragonfly_way);
        expect_mirrored(&machine);
        end(&machine);
    }
}

/* The first half of the GPUs, rounded up, is on socket 0. */
static struct way pcie_way(const struct ronde_generate_request *request, uint32_t src, uint32_t dst)
{
    const uint32_t half = (request->gpus + 1) / 2;
    const bool is_near = (src < half) == (dst < half);
    const double lanes_GBps = 16.0 * 16 * 128 / 130 / 8;
    return (struct way){is_near ? 2 : 3, 1000, is_near ? lanes_GBps : fmin(lanes_GBps, 22)};
}

static void servers_cross_from_socket_to_socket(void)
{
    for (uint32_t gpus = 1; gpus <= 9; gpus++) {
        const struct ronde_generate_request request = {.kind = "pcie", .gpus = gpus, USUAL};
        struct machine machine;
        if (!begin(&machine, &request))
            return;
        CU_ASSERT_EQUAL(ronde_platform_facts(machine.platform)->node_hosts, gpus);
        expect_mirrored(&machine);
        for (uint32_t src = 0; src < gpus; src++)
            for (uint32_t dst = 0; dst < gpus; dst++) {
                const struct way found = measure(&machine, src, dst);
                const struct way right = pcie_way(&request, src, dst);
                if (src == dst)
                    continue;
                CU_ASSERT_EQUAL(found.links, right.links);
                CU_ASSERT_DOUBLE_EQUAL(found.rate_GBps, right.rate_GBps, 1e-9);
            }
        end(&machine);
    }
}

/* Rates inside a node and between nodes are those of the data sheets, whatever the fabric. */
static void gpus_have_the_rates_of_their_sheets(void)
{
    static const struct {
        struct ronde_generate_request request;
        uint32_t gpus;
        double inside_GBps, between_GBps;
    } rows[] = {
        {{.kind = "dgx-a100", .nodes = 2, USUAL}, 8, 300, 25},
        {{.kind = "dgx-a100", .nodes = 2, .fabric = RONDE_FABRIC_CROSSBAR}, 8, 300, 25},
        {{.kind = "dgx-h100", .nodes = 3, USUAL}, 8, 450, 50},
        {{.kind = "dgx-h100", .nodes = 3, .gpus = 2, .fabric = RONDE_FABRIC_FAT_TREE}, 2, 450, 50},
        {{.kind = "hgx-h200", .nodes = 2, .gpus = 5, USUAL}, 5, 450, 50},
        {{.kind = "nvl72", .nodes = 2, .gpus = 6, USUAL}, 6, 900, 50},
        {{.kind = "mi300x", .nodes = 2, .gpus = 4, USUAL}, 4, 64, 50},
        {{.kind = "rail", .nodes = 2, .gpus = 3, USUAL}, 3, 450, 50},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct machine machine;
        uint32_t wrong = 0;
        if (!begin(&machine, &rows[i].request))
            return;
        CU_ASSERT_EQUAL(machine.hosts, rows[i].request.nodes * rows[i].gpus);
        for (uint32_t src = 0; src < machine.hosts; src++)
            for (uint32_t dst = 0; dst < machine.hosts; dst++) {
                const bool is_inside = src / rows[i].gpus == dst / rows[i].gpus;
                const struct way way = measure(&machine, src, dst);
                wrong +=
                    src != dst &&
                    (way.rate_GBps != (is_inside ? rows[i].inside_GBps : rows[i].between_GBps) ||
                     (is_inside && fabs(way.latency_ns - 600) > 1e-6) ||
                     (!is_inside && way.latency_ns < 2700 - 1e-6));
            }
        CU_ASSERT_EQUAL(wrong, 0);
        if (wrong > 0)
            suite_note("%s, row %zu: %u pairs", rows[i].request.kind, i, wrong);
        end(&machine);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"stars_have_two_ports_on_a_route", stars_have_two_ports_on_a_route},
        {"fat_trees_climb_as_high_as_they_must", fat_trees_climb_as_high_as_they_must},
        {"tori_go_the_shorter_way_round", tori_go_the_shorter_way_round},
        {"dragonflies_take_one_cable_between_groups", dragonflies_take_one_cable_between_groups},
        {"servers_cross_from_socket_to_socket", servers_cross_from_socket_to_socket},
        {"gpus_have_the_rates_of_their_sheets", gpus_have_the_rates_of_their_sheets},
    };
    return suite_run("generated_routes", cases, sizeof cases / sizeof cases[0]);
}
