/* Shapes, nodes, placements and rings: what they are, and that a ring crosses each slow link once in each direction. */
#include "support/suite.h"

#include "ronde/generate.h"
#include "support/sweep.h"
#include "topologies/place/rings.h"
#include "unit/platform_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"    \
    "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">"
#define TAIL "</zone></platform>\n"
#define CLUSTER(attributes)                                                                        \
    "<cluster id=\"x\" prefix=\"h\" suffix=\"\" speed=\"1Gf\" lat=\"1us\" " attributes "/>"

/* A platform with its nodes. */
struct stage {
    struct ronde_platform *platform;
    struct ronde_nodes nodes;
    struct ronde_shape shape;
    struct ronde_error error;
};

/* False where there is no platform. */
static bool open_stage(struct stage *stage, struct ronde_platform *platform)
{
    const struct ronde_mem *mem = ronde_mem_default();
    *stage = (struct stage){.platform = platform};
    if (!platform)
        return false;
    CU_ASSERT_EQUAL(ronde_nodes_find(platform, mem, &stage->nodes, &stage->error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_shape_of(platform, mem, &stage->shape, &stage->error), RONDE_OK);
    if (stage->error.status != RONDE_OK)
        suite_note("%s", stage->error.message);
    return stage->error.status == RONDE_OK;
}

static bool stage_text(struct stage *stage, const char *text)
{
    return open_stage(stage, platform_text_good(text));
}

static bool stage_kind(struct stage *stage, const char *kind, uint32_t nodes)
{
    const struct ronde_generate_request request = {.kind = kind,
                                                   .nodes = nodes,
                                                   .fabric = RONDE_FABRIC_COUNT};
    return open_stage(stage, platform_text_generated(&request));
}

static void close_stage(struct stage *stage)
{
    ronde_shape_free(&stage->shape, ronde_mem_default());
    ronde_nodes_free(&stage->nodes, ronde_mem_default());
    ronde_platform_destroy(stage->platform);
}

/* A pod of two nodes of eight, joined rail by rail. */
#define RAILS "vectors/simgrid/dgx-2x8-rails.xml"

static bool stage_rails(struct stage *stage)
{
    char path[512];
    *stage = (struct stage){.platform = NULL};
    return suite_shared(path, sizeof path, RAILS) &&
           open_stage(stage, platform_text_open("../shared/" RAILS));
}

/* --- shapes -------------------------------------------------------------------------------- */

/* Routes of all pairs say where cables meet: two NVSwitches, eight leaves, a spine, none of which the file names. */
static void shape_finds_switches_that_only_routes_imply(void)
{
    struct stage stage;
    uint32_t rates[3] = {0};
    if (!stage_rails(&stage))
        return;
    CU_ASSERT_EQUAL(stage.shape.vertex_count, 16 + 2 + 8 + 1);
    CU_ASSERT_EQUAL(stage.shape.edge_count, 16 + 16 + 8);
    for (uint32_t i = 0; i < stage.shape.edge_count; i++) {
        const struct ronde_edge *edge = &stage.shape.edges[i];
        CU_ASSERT_EQUAL(edge->rate_GBps, edge->back_GBps);
        rates[edge->rate_GBps == 400 ? 0 : (edge->rate_GBps == 50 ? 1 : 2)]++;
    }
    CU_ASSERT(rates[0] == 16 && rates[1] == 16 && rates[2] == 8);
    close_stage(&stage);
}

/* A backbone all hosts share is the capacity of the place they meet at, not a wire. */
static void shape_makes_a_shared_backbone_a_medium(void)
{
    struct stage stage;
    if (!stage_text(&stage,
                    HEAD CLUSTER("radical=\"0-3\" bw=\"10GBps\" bb_bw=\"7GBps\" bb_lat=\"1us\"")
                        TAIL))
        return;
    CU_ASSERT_EQUAL(stage.shape.vertex_count, 5);
    CU_ASSERT_EQUAL(stage.shape.edge_count, 4);
    CU_ASSERT_EQUAL(stage.shape.vertices[4].rate_GBps, 7);
    CU_ASSERT_EQUAL(stage.shape.vertices[4].host, RONDE_NONE);
    close_stage(&stage);
}

/* One link that both directions cross, between two hosts, is a wire with one capacity. */
static void shape_makes_a_link_between_two_hosts_a_shared_wire(void)
{
    struct stage stage;
    if (!stage_text(&stage, HEAD "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                                 "<link id=\"l\" bandwidth=\"3GBps\" latency=\"2us\"/>"
                                 "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>" TAIL))
        return;
    CU_ASSERT_EQUAL(stage.shape.vertex_count, 2);
    CU_ASSERT_EQUAL_FATAL(stage.shape.edge_count, 1);
    CU_ASSERT(stage.shape.edges[0].is_shared && stage.shape.edges[0].rate_GBps == 3);
    CU_ASSERT_EQUAL(stage.shape.edges[0].latency_ns, 2000);
    close_stage(&stage);
}

/* Two hosts behind one NIC touch it; neither is it, and they are not one another. */
static void shape_keeps_hosts_on_one_nic_apart(void)
{
    struct stage stage;
    if (!stage_text(
            &stage,
            HEAD "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                 "<host id=\"c\" speed=\"1Gf\"/>"
                 "<link id=\"l\" bandwidth=\"3GBps\" latency=\"0\" sharing_policy=\"SPLITDUPLEX\"/>"
                 "<route src=\"a\" dst=\"c\"><link_ctn id=\"l\" direction=\"UP\"/></route>"
                 "<route src=\"b\" dst=\"c\"><link_ctn id=\"l\" direction=\"UP\"/></route>" TAIL))
        return;
    CU_ASSERT_EQUAL(stage.shape.vertex_count, 4);
    CU_ASSERT_EQUAL(stage.shape.edge_count, 3);
    close_stage(&stage);
}

/* --- nodes --------------------------------------------------------------------------------- */

static void expect_nodes(const struct stage *stage, enum ronde_nodes_source source, uint32_t count)
{
    CU_ASSERT_EQUAL(stage->nodes.source, source);
    CU_ASSERT_EQUAL(stage->nodes.count, count);
    for (uint32_t node = 0; node < stage->nodes.count; node++)
        for (uint32_t i = stage->nodes.first[node]; i < stage->nodes.first[node + 1]; i++)
            CU_ASSERT_EQUAL(stage->nodes.node_of[stage->nodes.hosts[i]], node);
}

static void nodes_are_what_the_file_says_its_zones_or_its_faster_links(void)
{
    struct stage stage;
    if (stage_kind(&stage, "rail", 4))
        expect_nodes(&stage, RONDE_NODES_SAID, 4);
    close_stage(&stage);
    if (stage_text(&stage, HEAD CLUSTER("radical=\"0-3\" bw=\"10GBps\"") TAIL))
        expect_nodes(&stage, RONDE_NODES_SINGLE, 4);
    close_stage(&stage);
    if (open_stage(&stage, platform_text_open("topologies/fat-tree-2to1-64.xml")))
        expect_nodes(&stage, RONDE_NODES_ZONES, 8);
    close_stage(&stage);
    if (stage_rails(&stage)) {
        expect_nodes(&stage, RONDE_NODES_LINKS, 2);
        close_stage(&stage);
    }
}

/* --- placements ---------------------------------------------------------------------------- */

static void placements_fill_nodes_or_go_round_them(void)
{
    struct stage stage;
    uint32_t host_of[16];
    if (!stage_rails(&stage))
        return;
    CU_ASSERT_EQUAL(ronde_place(&stage.nodes, RONDE_PLACE_PACKED, 12, host_of, NULL), RONDE_OK);
    CU_ASSERT(host_of[0] == 0 && host_of[7] == 7 && host_of[8] == 8 && host_of[11] == 11);
    CU_ASSERT_EQUAL(ronde_place(&stage.nodes, RONDE_PLACE_SCATTERED, 5, host_of, NULL), RONDE_OK);
    CU_ASSERT(host_of[0] == 0 && host_of[1] == 8 && host_of[2] == 1 && host_of[3] == 9);
    CU_ASSERT_EQUAL(ronde_place(&stage.nodes, RONDE_PLACE_FILE, 16, host_of, NULL), RONDE_OK);
    CU_ASSERT(host_of[0] == 0 && host_of[15] == 15);
    CU_ASSERT_EQUAL(ronde_place(&stage.nodes, RONDE_PLACE_FILE, 17, host_of, &stage.error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_STRING_EQUAL(stage.error.message, "17 ranks cannot be placed on 16 hosts");
    close_stage(&stage);
}

static void placements_have_names(void)
{
    enum ronde_placement placement;
    for (uint32_t i = 0; i < RONDE_PLACEMENT_COUNT; i++) {
        CU_ASSERT(ronde_placement_parse(ronde_placement_text((enum ronde_placement)i), &placement));
        CU_ASSERT_EQUAL(placement, i);
    }
    CU_ASSERT_FALSE(ronde_placement_parse("sideways", &placement));
    CU_ASSERT_STRING_EQUAL(ronde_placement_text(RONDE_PLACEMENT_COUNT), "?");
}

/* --- rings --------------------------------------------------------------------------------- */

/* Every rank once. */
static bool is_order(const uint32_t *order, uint32_t ranks)
{
    bool *seen = calloc(ranks, sizeof *seen);
    bool ok = seen != NULL;
    for (uint32_t q = 0; q < ranks && ok; q++) {
        ok = order[q] < ranks && !seen[order[q]];
        if (ok)
            seen[order[q]] = true;
    }
    free(seen);
    return ok;
}

/* How often the rings of all channels cross each link; `crossings` has an entry per link and channel. */
static void count_crossings(const struct stage *stage, const uint32_t *orders, uint32_t ranks,
                            uint32_t channels, uint32_t *crossings)
{
    uint32_t links[64], count;
    const uint32_t all = ronde_platform_link_count(stage->platform);
    for (uint32_t k = 0; k < channels; k++)
        for (uint32_t q = 0; q < ranks; q++) {
            const uint32_t *order = orders + k * ranks;
            CU_ASSERT_EQUAL(ronde_platform_route(stage->platform, order[q], order[(q + 1) % ranks],
                                                 64, links, &count, NULL),
                            RONDE_OK);
            for (uint32_t i = 0; i < count; i++)
                crossings[k * all + links[i]]++;
        }
}

static struct ronde_rings rings_of(const uint32_t *host_of, uint32_t ranks, uint32_t channels)
{
    return (struct ronde_rings){.host_of = host_of, .ranks = ranks, .channels = channels};
}

/* Eight channels on a pod of four nodes: every cable of a network card once in each direction, by one channel. */
static void rings_cross_each_network_card_once_and_each_channel_has_its_own(void)
{
    struct stage stage;
    uint32_t host_of[32], orders[8 * 32];
    struct ronde_rings_found found;
    if (!stage_kind(&stage, "rail", 4))
        return;
    const struct ronde_rings rings = rings_of(host_of, 32, 8);
    CU_ASSERT_EQUAL(ronde_place(&stage.nodes, RONDE_PLACE_AUTO, 32, host_of, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_place_rings(stage.platform, &stage.nodes, &rings, ronde_mem_default(),
                                      orders, &found, &stage.error),
                    RONDE_OK);
    const uint32_t all = ronde_platform_link_count(stage.platform);
    uint32_t *crossings = calloc((size_t)8 * all, sizeof *crossings);
    count_crossings(&stage, orders, 32, 8, crossings);
    uint32_t cables = 0;
    for (uint32_t link = 0; link < all; link++) {
        uint32_t total = 0;
        if (ronde_platform_link(stage.platform, link)->rate_GBps != 50)
            continue;
        for (uint32_t k = 0; k < 8; k++)
            total += crossings[k * all + link];
        CU_ASSERT_EQUAL(total, 1);
        cables++;
    }
    CU_ASSERT_EQUAL(cables, 2 * 32);
    for (uint32_t k = 0; k < 8; k++)
        CU_ASSERT(is_order(orders + k * 32, 32) && orders[k * 32] == 0);
    suite_note("%s, %.3g ns per GB at the busiest link", found.pattern, found.busiest_load);
    free(crossings);
    close_stage(&stage);
}

/* A full mesh of eight has 56 directed wires: seven rings of eight hops need not share any. Four are a pattern's. */
static void rings_of_a_full_mesh_share_no_wire(void)
{
    struct stage stage;
    uint32_t host_of[8], orders[7 * 8];
    struct ronde_rings_found found;
    if (!stage_kind(&stage, "mi300x", 0))
        return;
    for (uint32_t channels = 1; channels <= 7; channels++) {
        const struct ronde_rings rings = rings_of(host_of, 8, channels);
        bool seen[8][8] = {{false}};
        CU_ASSERT_EQUAL(ronde_place(&stage.nodes, RONDE_PLACE_AUTO, 8, host_of, NULL), RONDE_OK);
        CU_ASSERT_EQUAL_FATAL(ronde_place_rings(stage.platform, &stage.nodes, &rings,
                                                ronde_mem_default(), orders, &found, &stage.error),
                              RONDE_OK);
        for (uint32_t k = 0; k < channels; k++)
            for (uint32_t q = 0; q < 8; q++) {
                bool *wire = &seen[orders[k * 8 + q]][orders[k * 8 + (q + 1) % 8]];
                CU_ASSERT_FALSE(*wire);
                *wire = true;
            }
        if (channels == 4)
            CU_ASSERT_STRING_EQUAL(found.pattern, "stride");
        if (channels == 7)
            CU_ASSERT_STRING_EQUAL(found.pattern, "cycles");
    }
    close_stage(&stage);
}

static void expect_torus_ring(const struct ronde_torus *torus, uint32_t channel)
{
    uint32_t room[1024], ring[1024], hosts = 1;
    for (uint32_t axis = 0; axis < torus->axes; axis++)
        hosts *= torus->radix[axis];
    ronde_torus_ring(torus, channel, room, ring);
    CU_ASSERT(is_order(ring, hosts));
    for (uint32_t q = 0; q < hosts; q++) {
        uint32_t a = ring[q], b = ring[(q + 1) % hosts], steps = 0;
        for (uint32_t axis = 0; axis < torus->axes; axis++) {
            const uint32_t radix = torus->radix[axis];
            const uint32_t away = (a % radix + radix - b % radix) % radix;
            steps += away == 0 ? 0 : (away == 1 || away == radix - 1 ? 1 : 9);
            a /= radix;
            b /= radix;
        }
        CU_ASSERT_EQUAL(steps, 1);
    }
}

/* Even and odd sides, two to four axes, all channels: every hop is one step on one axis. */
static void rings_of_a_torus_only_go_to_neighbours(void)
{
    for (uint32_t x = 2; x <= 6; x++)
        for (uint32_t y = 2; y <= 7; y++)
            for (uint32_t z = 1; z <= 5; z++)
                for (uint32_t channel = 0; channel < 6; channel++)
                    expect_torus_ring(&(struct ronde_torus){.axes = z > 1 ? 3 : 2,
                                                            .radix = {x, y, z}},
                                      channel);
    expect_torus_ring(&(struct ronde_torus){.axes = 4, .radix = {3, 5, 3, 7}}, 3);
}

static void expect_torus(const char *parameters, uint32_t hosts, uint32_t axes)
{
    struct stage stage;
    struct ronde_torus torus = {0};
    char text[1024];
    snprintf(text, sizeof text,
             HEAD CLUSTER("radical=\"0-%u\" bw=\"10GBps\" topology=\"TORUS\" "
                          "topo_parameters=\"%s\"") TAIL,
             hosts - 1, parameters);
    if (stage_text(&stage, text)) {
        CU_ASSERT_EQUAL(ronde_torus_find(stage.platform, ronde_mem_default(), &torus, &stage.error),
                        RONDE_OK);
        CU_ASSERT_EQUAL(torus.axes, axes);
        CU_ASSERT(axes == 0 || torus.rate_GBps == 10);
        for (uint32_t axis = 0; axis < torus.axes;
             axis++, parameters += strcspn(parameters, ",") + 1)
            CU_ASSERT_EQUAL(torus.radix[axis], strtoul(parameters, NULL, 10));
    }
    close_stage(&stage);
}

/* Sides of 2 and 3 look alike from one host: 3 steps and wraps where 2 steps and begins the next axis. */
static void tori_are_recognised_by_their_wires(void)
{
    expect_torus("4,4", 16, 2);
    expect_torus("3,3", 9, 2);
    expect_torus("2,3", 6, 2);
    expect_torus("3,2", 6, 2);
    expect_torus("2,2,2", 8, 3);
    expect_torus("5,3,2", 30, 3);
    expect_torus("2,3,4,5", 120, 4);
    expect_torus("16", 16, 0);
    struct stage stage;
    struct ronde_torus torus = {.axes = 9};
    if (stage_rails(&stage)) {
        CU_ASSERT_EQUAL(ronde_torus_find(stage.platform, ronde_mem_default(), &torus, NULL),
                        RONDE_OK);
        CU_ASSERT_EQUAL(torus.axes, 0);
        close_stage(&stage);
    }
}

static void rings_refuse_ranks_without_a_host_of_their_own(void)
{
    struct stage stage;
    const uint32_t host_of[2] = {1, 1};
    uint32_t orders[2];
    struct ronde_rings_found found;
    if (!stage_rails(&stage))
        return;
    struct ronde_rings rings = rings_of(host_of, 2, 1);
    CU_ASSERT_EQUAL(ronde_place_rings(stage.platform, &stage.nodes, &rings, ronde_mem_default(),
                                      orders, &found, &stage.error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(stage.error.message, "rings need every rank on a host of its own");
    rings.channels = 0;
    CU_ASSERT_EQUAL(ronde_place_rings(stage.platform, &stage.nodes, &rings, ronde_mem_default(),
                                      orders, &found, NULL),
                    RONDE_BAD_ARGUMENT);
    close_stage(&stage);
}

/* --- memory -------------------------------------------------------------------------------- */

static enum ronde_status find_all(const void *platform, const struct ronde_mem *mem,
                                  struct ronde_error *error)
{
    uint32_t host_of[16] = {0}, orders[2 * 16];
    struct ronde_nodes nodes = {.count = 0};
    struct ronde_rings_found found;
    const struct ronde_rings rings = rings_of(host_of, 16, 2);
    enum ronde_status status = ronde_nodes_find(platform, mem, &nodes, error);
    if (status == RONDE_OK)
        status = ronde_place(&nodes, RONDE_PLACE_AUTO, 16, host_of, error);
    if (status == RONDE_OK)
        status = ronde_place_rings(platform, &nodes, &rings, mem, orders, &found, error);
    ronde_nodes_free(&nodes, mem);
    return status;
}

static void sweep(const struct stage *stage)
{
    const struct sweep sweep = {.what = "placing", .operation = find_all, .context = stage->platform};
    CU_ASSERT(sweep_run(&sweep) > 10);
}

static void placing_survives_every_failing_allocation(void)
{
    struct stage stage;
    if (stage_rails(&stage)) {
        sweep(&stage);
        close_stage(&stage);
    }
    if (stage_text(&stage, HEAD CLUSTER("radical=\"0-15\" bw=\"10GBps\" topology=\"TORUS\" "
                                        "topo_parameters=\"4,4\"") TAIL))
        sweep(&stage);
    close_stage(&stage);
}

static const struct suite_case cases[] = {
    SUITE_CASE(shape_finds_switches_that_only_routes_imply),
    SUITE_CASE(shape_makes_a_shared_backbone_a_medium),
    SUITE_CASE(shape_makes_a_link_between_two_hosts_a_shared_wire),
    SUITE_CASE(shape_keeps_hosts_on_one_nic_apart),
    SUITE_CASE(nodes_are_what_the_file_says_its_zones_or_its_faster_links),
    SUITE_CASE(placements_fill_nodes_or_go_round_them),
    SUITE_CASE(placements_have_names),
    SUITE_CASE(rings_cross_each_network_card_once_and_each_channel_has_its_own),
    SUITE_CASE(rings_of_a_full_mesh_share_no_wire),
    SUITE_CASE(rings_of_a_torus_only_go_to_neighbours),
    SUITE_CASE(tori_are_recognised_by_their_wires),
    SUITE_CASE(rings_refuse_ranks_without_a_host_of_their_own),
    SUITE_CASE(placing_survives_every_failing_allocation),
};

int main(void)
{
    return suite_run("place", cases, sizeof cases / sizeof cases[0]);
}
