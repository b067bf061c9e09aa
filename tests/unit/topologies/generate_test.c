/* Generated machines: the library is what the generators write, routes are the only shortest ones, SimGrid agrees. */
#include "support/suite.h"

#include "ronde/generate.h"
#include "ronde/sim.h"
#include "unit/platform_text.h"
#include "unit/sim/messages.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL .fabric = RONDE_FABRIC_COUNT

/* How each file of topologies/ was made, as README.md lists it. */
static const struct {
    const char *file;
    struct ronde_generate_request request;
} library[] = {
    {"crossbar-64", {.kind = "crossbar", USUAL}},
    {"ethernet-16", {.kind = "ethernet", USUAL}},
    {"fat-tree-2to1-64",
     {.kind = "fat-tree", .oversubscription = 2, .axis_count = 2, .shape = {8, 8}, USUAL}},
    {"fat-tree-3level-2048", {.kind = "fat-tree", .nodes = 2048, .levels = 3, USUAL}},
    {"torus-8x8", {.kind = "torus", .axis_count = 2, .shape = {8, 8}, USUAL}},
    {"torus-8x8x8", {.kind = "torus", .axis_count = 3, .shape = {8, 8, 8}, USUAL}},
    {"dragonfly-72", {.kind = "dragonfly", USUAL}},
    {"dragonfly-plus-360", {.kind = "dragonfly+", USUAL}},
    {"tofu-2x2x2", {.kind = "tofu", .axis_count = 3, .shape = {2, 2, 2}, USUAL}},
    {"pcie-8", {.kind = "pcie", USUAL}},
    {"dgx-a100", {.kind = "dgx-a100", USUAL}},
    {"dgx-h100", {.kind = "dgx-h100", USUAL}},
    {"hgx-h200", {.kind = "hgx-h200", USUAL}},
    {"gb200-nvl72", {.kind = "nvl72", USUAL}},
    {"mi300x", {.kind = "mi300x", USUAL}},
    {"dgx-h100-pod", {.kind = "rail", .nodes = 128, USUAL}},
};

#define LIBRARY_COUNT (sizeof library / sizeof library[0])

static void library_files_are_what_the_generators_write(void)
{
    for (size_t i = 0; i < LIBRARY_COUNT; i++) {
        char relative[128];
        char path[1024];
        size_t bytes = 0;
        struct ronde_error error = {0};
        snprintf(relative, sizeof relative, "topologies/%s.xml", library[i].file);
        char *expected = platform_text_generate(&library[i].request, &bytes, &error);
        CU_ASSERT_PTR_NOT_NULL(expected);
        FILE *file = suite_source(path, sizeof path, relative) ? fopen(path, "rb") : NULL;
        CU_ASSERT_PTR_NOT_NULL(file);
        char *found = malloc(bytes + 1);
        const bool is_same = expected && file && found &&
                             fread(found, 1, bytes + 1, file) == bytes &&
                             memcmp(found, expected, bytes) == 0;
        CU_ASSERT(is_same);
        if (!is_same)
            suite_note("%s differs from what its generator writes", relative);
        free(found);
        free(expected);
        if (file)
            fclose(file);
    }
}

/* A file that cannot be made again cannot be corrected. */
static void every_library_file_has_a_generator(void)
{
    char path[1024];
    size_t files = 0;
    DIR *folder = suite_source(path, sizeof path, "topologies") ? opendir(path) : NULL;
    CU_ASSERT_PTR_NOT_NULL(folder);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".xml") != 0)
            continue;
        bool is_known = false;
        for (size_t i = 0; i < LIBRARY_COUNT; i++)
            is_known |= strlen(library[i].file) == length - 4 &&
                        strncmp(library[i].file, entry->d_name, length - 4) == 0;
        CU_ASSERT(is_known);
        if (!is_known)
            suite_note("topologies/%s is in no row of the library", entry->d_name);
        files++;
    }
    CU_ASSERT_EQUAL(files, LIBRARY_COUNT);
    if (folder)
        closedir(folder);
}

/* Machines of odd sizes: partial pods, partial leaves, one of everything. */
static const struct {
    struct ronde_generate_request request;
    uint32_t hosts;
} sizes[] = {
    {{.kind = "crossbar", .nodes = 1, USUAL}, 1},
    {{.kind = "ethernet", .nodes = 3, USUAL}, 3},
    {{.kind = "fat-tree", .nodes = 33, USUAL}, 33},
    {{.kind = "fat-tree", .nodes = 1025, .levels = 3, .oversubscription = 1.5, USUAL}, 1025},
    {{.kind = "fat-tree", .axis_count = 3, .shape = {3, 2, 5}, USUAL}, 30},
    {{.kind = "dragonfly", .nodes = 1, USUAL}, 1},
    {{.kind = "dragonfly", .nodes = 71, USUAL}, 71},
    {{.kind = "dragonfly", .nodes = 343, USUAL}, 343},
    {{.kind = "dragonfly", .axis_count = 3, .shape = {5, 3, 2}, USUAL}, 30},
    {{.kind = "dragonfly+", .nodes = 1, USUAL}, 1},
    {{.kind = "dragonfly+", .nodes = 199, USUAL}, 199},
    {{.kind = "dragonfly+", .axis_count = 3, .shape = {4, 3, 2}, USUAL}, 24},
    {{.kind = "tofu", .axis_count = 2, .shape = {3, 1}, USUAL}, 36},
    {{.kind = "tofu", .axis_count = 3, .shape = {2, 3, 1}, USUAL}, 72},
    {{.kind = "tofu", .axis_count = 3, .shape = {2, 1, 1}, USUAL}, 24},
    {{.kind = "torus", .axis_count = 3, .shape = {1, 1, 4}, USUAL}, 4},
    {{.kind = "pcie", .gpus = 1, USUAL}, 1},
    {{.kind = "pcie", .gpus = 5, USUAL}, 5},
    {{.kind = "dgx-a100", .gpus = 1, USUAL}, 1},
    {{.kind = "dgx-a100", .nodes = 33, .oversubscription = 3, USUAL}, 264},
    {{.kind = "hgx-h200", .nodes = 5, .fabric = RONDE_FABRIC_FAT_TREE}, 40},
    {{.kind = "dgx-h100", .nodes = 40, .fabric = RONDE_FABRIC_CROSSBAR}, 320},
    {{.kind = "nvl72", .nodes = 3, .oversubscription = 2, USUAL}, 216},
    {{.kind = "nvl72", .nodes = 2, .gpus = 36, .fabric = RONDE_FABRIC_RAIL}, 72},
    {{.kind = "mi300x", .nodes = 5, USUAL}, 40},
    {{.kind = "mi300x", .nodes = 34, .fabric = RONDE_FABRIC_RAIL}, 272},
    {{.kind = "rail", .nodes = 2, .gpus = 3, USUAL}, 6},
    {{.kind = "rail", .nodes = 65, .levels = 3, .oversubscription = 2, USUAL}, 520},
};

/* Every pair of a small machine, and of a large one the first hosts with all: where kinds of pairs would tie, it shows. */
static void check_pairs(const struct ronde_platform *platform, const char *kind)
{
    const uint32_t hosts = ronde_platform_facts(platform)->hosts;
    const uint32_t sources = hosts < 64 ? hosts : 20;
    struct ronde_router *router = NULL;
    struct ronde_error error = {0};
    uint32_t routed = 0;
    CU_ASSERT_EQUAL(ronde_router_create(platform, ronde_mem_default(), &router, &error), RONDE_OK);
    for (uint32_t i = 0; router && i < sources && error.status == RONDE_OK; i++)
        for (uint32_t j = 0; j < hosts && error.status == RONDE_OK; j++) {
            uint32_t count;
            routed += ronde_router_route(router, i, j, 0, NULL, &count, &error) == RONDE_OK &&
                              (i == j) == (count == 0)
                          ? 1
                          : 0;
            routed += ronde_router_route(router, j, i, 0, NULL, &count, &error) == RONDE_OK ? 1 : 0;
        }
    CU_ASSERT_EQUAL(routed, 2 * sources * hosts);
    if (error.status != RONDE_OK)
        suite_note("%s of %u: %s", kind, hosts, error.message);
    ronde_router_destroy(router);
}

static void machines_of_any_size_have_one_route_per_pair(void)
{
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct ronde_platform *platform = platform_text_generated(&sizes[i].request);
        if (!platform)
            continue;
        CU_ASSERT_EQUAL(ronde_platform_facts(platform)->hosts, sizes[i].hosts);
        CU_ASSERT(ronde_platform_facts(platform)->description[0] != '\0');
        check_pairs(platform, sizes[i].request.kind);
        ronde_platform_destroy(platform);
    }
}

/* Links in order, of the machine of a request. */
static void expect_route(const struct ronde_platform *platform, uint32_t src, uint32_t dst,
                         const char *expected)
{
    char text[512];
    platform_text_route(platform, src, dst, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        suite_note("%u to %u: %s, expected %s", src, dst, text, expected);
}

static void rails_route_as_nccl_does(void)
{
    const struct ronde_generate_request request = {.kind = "rail", .nodes = 64, USUAL};
    struct ronde_platform *platform = platform_text_generated(&request);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->node_hosts, 8);
    expect_route(platform, 0, 3, "n0g0_v_UP n0x n0g3_v_DOWN");
    expect_route(platform, 0, 8, "n0g0_c_UP n1g0_c_DOWN");
    expect_route(platform, 0, 11, "n0g0_v_UP n0g3_v_DOWN n0g3_c_UP n1g3_c_DOWN");
    expect_route(platform, 0, 256, "n0g0_c_UP l0_u_UP l0_s p0_u p1_u l8_u_DOWN n32g0_c_DOWN");
    expect_route(platform, 259, 0, "n32g3_c_UP l11_u_UP l11_s p1_u p0_u l0_u_DOWN n0g0_c_DOWN");
    ronde_platform_destroy(platform);
}

static void a_mesh_reaches_other_rails_over_its_own_links(void)
{
    const struct ronde_generate_request request = {.kind = "mi300x",
                                                   .nodes = 2,
                                                   .fabric = RONDE_FABRIC_RAIL};
    struct ronde_platform *platform = platform_text_generated(&request);
    if (!platform)
        return;
    expect_route(platform, 5, 2, "n0x n0g2-5_DOWN");
    expect_route(platform, 5, 13, "n0g5_c_UP n1g5_c_DOWN");
    expect_route(platform, 5, 10, "n0g2-5_DOWN n0g2_c_UP n1g2_c_DOWN");
    ronde_platform_destroy(platform);
}

static void dragonfly_routes_are_minimal(void)
{
    const struct ronde_generate_request request = {.kind = "dragonfly", USUAL};
    struct ronde_platform *platform = platform_text_generated(&request);
    if (!platform)
        return;
    /* 9 groups of 4 routers of 2 hosts: group 0 reaches group 1 from router 0, group 1 group 0 from router 3. */
    expect_route(platform, 0, 1, "h0_c_UP h1_c_DOWN");
    expect_route(platform, 0, 2, "h0_c_UP g0_0-1_UP h2_c_DOWN");
    expect_route(platform, 2, 8, "h2_c_UP g0_0-1_DOWN global0-1_UP g1_0-3_DOWN h8_c_DOWN");
    ronde_platform_destroy(platform);
}

static void dragonfly_plus_goes_over_the_spines(void)
{
    const struct ronde_generate_request request = {.kind = "dragonfly+", USUAL};
    struct ronde_platform *platform = platform_text_generated(&request);
    if (!platform)
        return;
    expect_route(platform, 0, 9, "leaf0_link_0_UP leaf0_link_9_DOWN");
    expect_route(platform, 0, 10, "leaf0_link_0_UP up0_UP up1_DOWN leaf1_link_10_DOWN");
    expect_route(platform, 0, 180,
                 "leaf0_link_0_UP up0_UP global0-1_UP up18_DOWN leaf18_link_180_DOWN");
    ronde_platform_destroy(platform);
}

/* Rate of a link by name; 0 where there is none. */
static double rate_of(const struct ronde_platform *platform, const char *name)
{
    for (uint32_t i = 0; i < ronde_platform_link_count(platform); i++)
        if (strcmp(ronde_platform_link(platform, i)->name, name) == 0)
            return ronde_platform_link(platform, i)->rate_GBps;
    return 0;
}

/* Ports below a switch per port above, at every level. */
static void oversubscription_divides_the_uplinks_of_every_level(void)
{
    const struct ronde_generate_request rail = {
        .kind = "rail", .nodes = 64, .levels = 3, .oversubscription = 4, USUAL};
    const struct ronde_generate_request tree = {
        .kind = "fat-tree", .oversubscription = 2, .axis_count = 3, .shape = {2, 4, 8}, USUAL};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *rails = platform_text_generated(&rail);
    struct ronde_platform *trees = platform_text_generated(&tree);
    if (rails && trees) {
        CU_ASSERT_EQUAL(rate_of(rails, "l0_u_UP"), 32 * 50 / 4);
        CU_ASSERT_EQUAL(rate_of(rails, "p1_u_DOWN"), 8 * (32 * 50 / 4) / 4);
        CU_ASSERT_EQUAL(rate_of(trees, "up0_UP"), 8 * 50 / 2);
        CU_ASSERT_EQUAL(rate_of(trees, "pod0_up_UP"), 4 * (8 * 50 / 2) / 2);
    }
    ronde_platform_destroy(rails);
    ronde_platform_destroy(trees);
}

/* What a request may not contain, and the messages. */
static void requests_that_cannot_be_met_are_refused(void)
{
    static const struct {
        struct ronde_generate_request request;
        const char *message;
    } bad[] = {
        {{.kind = "ring", USUAL}, "unknown kind of machine 'ring'"},
        {{.kind = "torus", USUAL}, "a torus needs a shape of 2 or 3 axes"},
        {{.kind = "torus", .nodes = 4, USUAL}, "torus has no nodes"},
        {{.kind = "torus", .axis_count = 3, .shape = {0, 1, 2}, USUAL}, "a shape of 0 hosts"},
        {{.kind = "torus", .axis_count = RONDE_GENERATE_AXES + 1, USUAL},
         "a shape of 4 axes, at most 3"},
        {{.kind = "torus", .axis_count = 3, .shape = {65536, 65536, 65536}, USUAL}, "a shape of"},
        {{.kind = "crossbar", .gpus = 4, USUAL}, "crossbar has no gpus"},
        {{.kind = "crossbar", .nodes = 2000000, USUAL}, "2000000 nodes, at most 1048576"},
        {{.kind = "fat-tree", .levels = 4, USUAL}, "4 levels of switches, expected 2 or 3"},
        {{.kind = "fat-tree", .oversubscription = 0.5, USUAL}, "oversubscription is 0.5"},
        {{.kind = "fat-tree", .levels = 3, .axis_count = 2, .shape = {2, 2}, USUAL},
         "a fat tree of 3 levels has a shape of 3, PODSxLEAVESxHOSTS"},
        {{.kind = "dragonfly", .axis_count = 2, .shape = {2, 2}, USUAL}, "GROUPSxROUTERSxHOSTS"},
        {{.kind = "dragonfly", .axis_count = 3, .shape = {2000, 1, 1}, USUAL}, "at most 1024 of 256"},
        {{.kind = "dragonfly+", .axis_count = 2, .shape = {2, 2}, USUAL}, "GROUPSxLEAVESxHOSTS"},
        {{.kind = "dragonfly+", .axis_count = 3, .shape = {1025, 1, 1}, USUAL}, "at most 1024"},
        {{.kind = "tofu", .axis_count = 1, .shape = {2}, USUAL}, "a tofu needs a shape"},
        {{.kind = "tofu", .axis_count = 3, .shape = {64, 64, 64}, USUAL},
         "3145728 hosts are more than 131072"},
        {{.kind = "tofu", .axis_count = 3, .shape = {24, 24, 24}, USUAL}, "165888 hosts are more"},
        {{.kind = "pcie", .gpus = 65, USUAL}, "one server has at most 64"},
        {{.kind = "dgx-h100", .gpus = 9, USUAL}, "9 GPUs, but a node of dgx-h100 has 8"},
        {{.kind = "dgx-h100", .nodes = 1048576, USUAL}, "1048576 nodes of 8 GPUs"},
        {{.kind = "rail", .nodes = 2, .fabric = RONDE_FABRIC_CROSSBAR}, "rail has no fabric"},
        {{.kind = "mi300x", .fabric = RONDE_FABRIC_RAIL}, "one node needs no fabric"},
        {{.kind = "dgx-h100", .oversubscription = 2, USUAL}, "fit below one level of switches"},
        {{.kind = "dgx-h100", .nodes = 99, .levels = 3, .fabric = RONDE_FABRIC_FAT_TREE},
         "only rails have them; fabric is fat-tree"},
        {{.kind = "dgx-h100", .nodes = 99, .levels = 3, .fabric = (enum ronde_fabric)77},
         "fabric number 77"},
        {{.kind = "dgx-h100", .nodes = 99, .oversubscription = 2, .fabric = RONDE_FABRIC_CROSSBAR},
         "a crossbar has no oversubscription"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ronde_error error = {0};
        size_t bytes;
        char *text = platform_text_generate(&bad[i].request, &bytes, &error);
        CU_ASSERT_PTR_NULL(text);
        CU_ASSERT_EQUAL(error.status, RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, bad[i].message));
        if (!strstr(error.message, bad[i].message))
            suite_note("%s: %s", bad[i].request.kind, error.message);
        free(text);
    }
}

/* Messages that wait for one another along a cycle through all hosts, in strides that cross every level. */
static void build_walk(struct messages *messages, uint32_t hosts)
{
    static const uint32_t strides[] = {1, 2, 5, 9, 33};
    uint32_t at = 0;
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t to = (at + strides[i % 5] * (1 + i / 5)) % hosts;
        if (to == at)
            continue;
        messages_add(messages, at, to, 1e6, 0);
        if (messages->dag.op_count > 1)
            messages_after_arrival(messages, messages->dag.op_count - 2);
        at = to;
    }
}

/* One message at a time takes latency and bytes over the slowest link of its route: both engines must find the same. */
static void simgrid_loads_the_library_and_takes_the_same_routes(void)
{
    if (!suite_has_simgrid())
        return;
    for (size_t i = 0; i < LIBRARY_COUNT; i++) {
        char relative[128];
        struct messages messages = {0};
        struct ronde_error error = {0};
        struct ronde_sim_result simgrid = {0}, flat = {0};
        const struct ronde_sim_options options = {0};
        snprintf(relative, sizeof relative, "topologies/%s.xml", library[i].file);
        struct ronde_platform *platform = platform_text_open(relative);
        if (platform) {
            build_walk(&messages, ronde_platform_facts(platform)->hosts);
            CU_ASSERT_EQUAL(ronde_sim_simgrid(platform, &messages.dag, &options, &simgrid, &error),
                            RONDE_OK);
            CU_ASSERT(simgrid.time_ns > 0);
            if (!ronde_platform_count(platform).is_foreign) {
                CU_ASSERT_EQUAL(ronde_sim_flat(platform, &messages.dag, &options,
                                               ronde_mem_default(), &flat, &error),
                                RONDE_OK);
                CU_ASSERT_DOUBLE_EQUAL(flat.time_ns, simgrid.time_ns, 1e-9 * simgrid.time_ns);
            }
        }
        if (error.status != RONDE_OK)
            suite_note("%s: %s", library[i].file, error.message);
        messages_free(&messages);
        ronde_platform_destroy(platform);
    }
}

/* The text of a request; free it. */
static char *text_of(const struct ronde_generate_request *request)
{
    struct ronde_error error = {.status = RONDE_OK};
    size_t bytes = 0;
    char *text = platform_text_generate(request, &bytes, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

/* Two machines are the same from their hosts on, whatever they are called; the first one's text has `part`. */
static void expect_alike(const struct ronde_generate_request *one,
                         const struct ronde_generate_request *other, const char *part)
{
    char *texts[] = {text_of(one), text_of(other)};
    CU_ASSERT_STRING_EQUAL(strstr(texts[0], "<host"), strstr(texts[1], "<host"));
    CU_ASSERT_PTR_NOT_NULL(strstr(texts[0], part));
    free(texts[0]);
    free(texts[1]);
}

static struct ronde_node_description node_by(enum ronde_node_link link, uint32_t nics,
                                             double nvlink_GBps)
{
    return (struct ronde_node_description){.name = "mine",
                                           .gpus = 8,
                                           .link = link,
                                           .nvlink_GBps = nvlink_GBps,
                                           .nics = nics,
                                           .nic_GBps = 50};
}

/* Nodes by their numbers are what a kind with these numbers is, whatever they are called. */
static void nodes_by_numbers_are_their_kind(void)
{
    const struct ronde_node_description switched = node_by(RONDE_NODE_SWITCH, 8, 450);
    const struct ronde_node_description mesh = node_by(RONDE_NODE_MESH, 8, 448);
    const struct {
        const char *kind;
        const struct ronde_node_description *node;
    } rows[] = {{"dgx-h100", &switched}, {"mi300x", &mesh}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (uint32_t nodes = 1; nodes <= 40; nodes += 13) {
            const struct ronde_generate_request request = {.node = rows[r].node,
                                                           .nodes = nodes,
                                                           USUAL};
            const struct ronde_generate_request of_kind = {.kind = rows[r].kind,
                                                           .nodes = nodes,
                                                           USUAL};
            expect_alike(&request, &of_kind, "mine-");
        }
}

/* What a kind is said to be by its own numbers in words is that kind, whatever way they are written. */
static void words_say_what_kinds_are(void)
{
    static const struct {
        const char *kind, *nvlink, *nics;
        uint32_t gpus;
    } rows[] = {{"dgx-h100", NULL, NULL, 0},
                {"dgx-h100", "450GBps", "8x50GBps", 0},
                {"dgx-a100", "300GB/s", "8x200Gbit/s", 8},
                {"mi300x", "448GBps", "16x25GB/s", 0},
                {"nvl72", "900GBps", "72x400Gbps", 0},
                {"rail", "3600Gbps", "8x50GBps", 0}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct ronde_error error = {.status = RONDE_OK};
        struct ronde_node_description node;
        CU_ASSERT_EQUAL_FATAL(ronde_generate_node_of(rows[r].kind, rows[r].gpus, &node, &error),
                              RONDE_OK);
        CU_ASSERT_EQUAL(ronde_generate_node_words(&node, rows[r].nvlink, rows[r].nics, &error),
                        RONDE_OK);
        const struct ronde_generate_request request = {.kind = rows[r].kind, .node = &node, USUAL},
                                            of_kind = {.kind = rows[r].kind, USUAL};
        expect_alike(&request, &of_kind, "");
    }
}

/* Only a dgx has more GPUs than a data sheet says. */
static void a_dgx_has_any_number_of_gpus(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_node_description node;
    CU_ASSERT_EQUAL(ronde_generate_node_of("dgx", 16, &node, &error), RONDE_OK);
    CU_ASSERT_EQUAL(node.gpus, 16);
    CU_ASSERT_EQUAL(ronde_generate_node_of("dgx", 0, &node, &error), RONDE_OK);
    CU_ASSERT_EQUAL(node.gpus, 8);
    CU_ASSERT_EQUAL(ronde_generate_node_of("dgx-h100", 16, &node, &error), RONDE_OK);
    CU_ASSERT_EQUAL(node.gpus, 8);
    CU_ASSERT_EQUAL(ronde_generate_node_of("torus", 0, &node, &error), RONDE_BAD_ARGUMENT);
}

static void words_that_are_no_numbers_are_refused(void)
{
    static const struct {
        const char *nvlink, *nics, *says;
    } rows[] = {{"450", NULL, "450GBps"},
                {"", NULL, "no rate"},
                {"-1GBps", NULL, "no rate"},
                {"450GBps per GPU, they say, of which half counts", NULL, "no rate"},
                {NULL, "8", "COUNTxRATE"},
                {NULL, "8x", "COUNTxRATE"},
                {NULL, "0x50GBps", "COUNTxRATE"},
                {NULL, "8x50", "COUNTxRATE"},
                {NULL, "99999999999999999999x50GBps", "COUNTxRATE"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct ronde_error error = {.status = RONDE_OK};
        struct ronde_node_description node;
        CU_ASSERT_EQUAL_FATAL(ronde_generate_node_of("dgx", 0, &node, &error), RONDE_OK);
        CU_ASSERT(ronde_generate_node_words(&node, rows[r].nvlink, rows[r].nics, &error) != RONDE_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[r].says));
    }
}

static void nodes_without_sense_are_refused(void)
{
    const struct {
        struct ronde_node_description node;
        uint32_t nodes;
        const char *says;
    } rows[] = {
        {{.name = ""}, 1, "without a name"},
        {{.name = "a"}, 1, "0 GPUs"},
        {node_by(RONDE_NODE_SWITCH, 8, 0), 1, "0 GB/s a GPU"},
        {node_by(RONDE_NODE_SWITCH, 8, -1), 1, "-1 GB/s a GPU"},
        {node_by(RONDE_NODE_SWITCH, 8, NAN), 1, "nan GB/s a GPU"},
        {node_by(RONDE_NODE_SWITCH, 0, 450), 2, "without NICs"},
        {node_by(RONDE_NODE_SWITCH, 4, 450), 2, "4 NICs for 8 GPUs"},
        {node_by(RONDE_NODE_PAIRS, 8, 450), 1, "a switch or a mesh"},
        {node_by(RONDE_NODE_PCIE, 8, 450), 1, "a switch or a mesh"},
        {node_by(RONDE_NODE_SWITCH, 8, 450), 4000000, "at most"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct ronde_generate_request request = {.node = &rows[r].node,
                                                       .nodes = rows[r].nodes,
                                                       USUAL};
        struct ronde_error error = {.status = RONDE_OK};
        size_t bytes = 0;
        CU_ASSERT_PTR_NULL(platform_text_generate(&request, &bytes, &error));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[r].says));
    }
}

/* Whatever a machine is called and whoever says it, the file is XML. */
static void names_and_sources_do_no_harm(void)
{
    struct ronde_node_description node = node_by(RONDE_NODE_SWITCH, 8, 450);
    node.name = "a\"b<c>--&";
    const struct ronde_generate_request request = {.node = &node,
                                                   .source = "\"<x>\" -- y; (z)",
                                                   USUAL};
    char *text = text_of(&request);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "id=\"a_b_c_-__-8\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "value=\"__x__ -_ y; (z)\""));
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(library_files_are_what_the_generators_write),
        SUITE_CASE(every_library_file_has_a_generator),
        SUITE_CASE(machines_of_any_size_have_one_route_per_pair),
        SUITE_CASE(rails_route_as_nccl_does),
        SUITE_CASE(a_mesh_reaches_other_rails_over_its_own_links),
        SUITE_CASE(dragonfly_routes_are_minimal),
        SUITE_CASE(dragonfly_plus_goes_over_the_spines),
        SUITE_CASE(oversubscription_divides_the_uplinks_of_every_level),
        SUITE_CASE(requests_that_cannot_be_met_are_refused),
        SUITE_CASE(nodes_by_numbers_are_their_kind),
        SUITE_CASE(words_say_what_kinds_are),
        SUITE_CASE(a_dgx_has_any_number_of_gpus),
        SUITE_CASE(words_that_are_no_numbers_are_refused),
        SUITE_CASE(nodes_without_sense_are_refused),
        SUITE_CASE(names_and_sources_do_no_harm),
        SUITE_CASE(simgrid_loads_the_library_and_takes_the_same_routes),
    };
    return suite_run("generate", cases, sizeof cases / sizeof cases[0]);
}
