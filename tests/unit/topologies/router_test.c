/* Routers, degraded links, and what a whole machine looks like from a few of its routes. */
#include "support/suite.h"

#include "topologies/platform.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

/* As SimGrid 3.32 routes: the first axis first, up at half the length except from some coordinates of even rings. */
static void torus_routes_are_those_of_simgrid(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><cluster id=\"x\" prefix=\"h\" "
        "suffix=\"\" radical=\"5-20\" speed=\"1Gf\" bw=\"1GBps\" lat=\"0s\" topology=\"TORUS\" "
        "topo_parameters=\"4,2,2\"/></zone></platform>";
    static const struct {
        uint32_t src;
        uint32_t dst;
        const char *links;
    } routes[] = {
        {0, 2, "x_link_from_0_to_1_UP x_link_from_1_to_2_UP"},
        {2, 0, "x_link_from_1_to_2_DOWN x_link_from_0_to_1_DOWN"},
        {3, 0, "x_link_from_3_to_0_UP"},
        {0, 3, "x_link_from_3_to_0_DOWN"},
        {4, 0, "x_link_from_0_to_4_DOWN"},
        {15, 1,
         "x_link_from_15_to_12_UP x_link_from_12_to_13_UP x_link_from_9_to_13_DOWN "
         "x_link_from_1_to_9_DOWN"},
        {7, 7, ""},
    };
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(text);
    for (size_t i = 0; platform && i < sizeof routes / sizeof routes[0]; i++) {
        char said[512];
        platform_text_route(platform, routes[i].src, routes[i].dst, said, sizeof said);
        CU_ASSERT_STRING_EQUAL(said, routes[i].links);
        if (strcmp(said, routes[i].links) != 0)
            suite_note("%u to %u: %s", routes[i].src, routes[i].dst, said);
    }
    ronde_platform_destroy(platform);
}

/* A router that has answered a thousand questions gives the answers of one that was just made. */
static void a_router_remembers_nothing_wrong(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_open("topologies/dragonfly-72.xml");
    struct ronde_router *router = NULL;
    uint32_t agreed = 0;
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_router_create(platform, ronde_mem_default(), &router, NULL), RONDE_OK);
    for (uint32_t i = 0; router && i < 1000; i++) {
        /* The source stays for ten questions, so that searches are taken up again. */
        const uint32_t src = i / 10 * 29 % 72;
        const uint32_t dst = i * 31 % 72;
        uint32_t kept[8], fresh[8];
        uint32_t kept_count = 0, fresh_count = 9;
        CU_ASSERT_EQUAL(ronde_router_route(router, src, dst, 8, kept, &kept_count, NULL), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_platform_route(platform, src, dst, 8, fresh, &fresh_count, NULL),
                        RONDE_OK);
        agreed += kept_count == fresh_count && kept_count <= 8 &&
                          memcmp(kept, fresh, kept_count * sizeof *kept) == 0
                      ? 1
                      : 0;
    }
    CU_ASSERT_EQUAL(agreed, 1000);
    ronde_router_destroy(router);
    ronde_platform_destroy(platform);
}

static void router_says_what_is_wrong_and_goes_on(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Dijkstra\">"
        "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><host id=\"c\" speed=\"1Gf\"/>"
        "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\"/>"
        "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";
    struct ronde_router *router = NULL;
    uint32_t count = 7;
    uint32_t link = 7;
    struct ronde_error lost = {0};
    struct ronde_error beyond = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_router_create(platform, ronde_mem_default(), &router, NULL), RONDE_OK);
    if (router) {
        CU_ASSERT_EQUAL(ronde_router_route(router, 0, 2, 1, &link, &count, &lost), RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(lost.message, "no route from a to c"));
        CU_ASSERT_EQUAL(count, 0);
        CU_ASSERT_EQUAL(ronde_router_route(router, 0, 3, 1, &link, &count, &beyond),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(beyond.message, "host 3 of 3"));
        CU_ASSERT_EQUAL(ronde_router_route(router, 0, 1, 1, &link, &count, NULL), RONDE_OK);
        CU_ASSERT_EQUAL(count, 1);
        CU_ASSERT_EQUAL(link, 0);
    }
    ronde_router_destroy(router);
    ronde_router_destroy(NULL);
    ronde_platform_destroy(platform);
}

/* One direction, or both; what is no link is refused. */
static void degrade_scales_links(void)
{
    struct ronde_error unknown = {0};
    struct ronde_error factor = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_open("topologies/fat-tree-2to1-64.xml");
    if (!platform)
        return;
    const uint32_t up = ronde_names_find(&platform->link_names, "up3_UP");
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up3_UP", 0.5, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_platform_link(platform, up)->rate_GBps, 100);
    CU_ASSERT(ronde_platform_link(platform, up)->is_degraded);
    CU_ASSERT_EQUAL(ronde_platform_link(platform, up + 1)->rate_GBps, 200);
    CU_ASSERT_FALSE(ronde_platform_link(platform, up + 1)->is_degraded);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up3", 0.25, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_platform_link(platform, up)->rate_GBps, 25);
    CU_ASSERT_EQUAL(ronde_platform_link(platform, up + 1)->rate_GBps, 50);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7_DWN", 0.5, &unknown), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(unknown.message, "unknown link 'up7_DWN'; did you mean 'up7_DOWN'?"));
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7", NAN, &factor), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(factor.message, "link up7: factor nan"));
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7", 0, NULL), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7", 1001, NULL), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7", 1e-320, NULL), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7", 1e-6, NULL), RONDE_OK);
    /* Of 200 GB/s a millionth of a millionth is less than a byte a second. */
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up7", 1e-6, NULL), RONDE_BAD_ARGUMENT);
    ronde_platform_destroy(platform);
}

/* The memory of a shared host is a link and a fact, and stays one number. */
static void degrading_the_memory_changes_the_fact(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">"
        "<prop id=\"ronde.memory_GBps\" value=\"20\"/><cluster id=\"m\" prefix=\"r\" suffix=\"\" "
        "radical=\"0-3\" speed=\"1Gf\" bw=\"9GBps\" lat=\"0s\" bb_bw=\"20GBps\" bb_lat=\"0s\" "
        "bb_sharing_policy=\"SHARED\"/></zone></platform>";
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "m_backbone", 0.5, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->shared.memory_GBps, 10);
    ronde_platform_destroy(platform);
}

static void parts_are_counted(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_open("topologies/fat-tree-2to1-64.xml");
    if (!platform)
        return;
    const struct ronde_platform_counts counts = ronde_platform_count(platform);
    CU_ASSERT_EQUAL(counts.zones, 10);
    CU_ASSERT_EQUAL(counts.hosts, 64);
    CU_ASSERT_EQUAL(counts.routers, 9);
    CU_ASSERT_EQUAL(counts.links, 2 * (64 + 8));
    CU_ASSERT_EQUAL(counts.routes, 16);
    CU_ASSERT_EQUAL(counts.slowest_GBps, 50);
    CU_ASSERT_EQUAL(counts.fastest_GBps, 200);
    CU_ASSERT_FALSE(counts.is_foreign);
    CU_ASSERT_STRING_EQUAL(ronde_platform_facts(platform)->description,
                           "8 leaves of 8 hosts, 50 GB/s ports, 200 GB/s per leaf uplink (2:1)");
    ronde_platform_destroy(platform);
}

/* Beyond 128 hosts a few of them stand for all; slowest and longest are still those of every pair. */
static void large_machines_are_sampled_without_missing_anything(void)
{
    struct ronde_network network;
    bool is_uniform = true;
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *pod = platform_text_open("topologies/dgx-h100-pod.xml");
    if (!pod)
        return;
    CU_ASSERT_EQUAL(ronde_platform_network(pod, 1024, 0, &network, &is_uniform, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(network.port_GBps, 50);
    CU_ASSERT_DOUBLE_EQUAL(network.latency_ns, 600 + 2 * 1350, 1e-9);
    CU_ASSERT_FALSE(is_uniform);
    /* One slow cable at a host that is no probe is found, since every host is an end of some route. */
    CU_ASSERT_EQUAL(ronde_platform_degrade(pod, "n77g5_c", 0.5, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_platform_network(pod, 1024, 0, &network, &is_uniform, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(network.port_GBps, 25);
    ronde_platform_destroy(pod);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"torus_routes_are_those_of_simgrid", torus_routes_are_those_of_simgrid},
        {"a_router_remembers_nothing_wrong", a_router_remembers_nothing_wrong},
        {"router_says_what_is_wrong_and_goes_on", router_says_what_is_wrong_and_goes_on},
        {"degrade_scales_links", degrade_scales_links},
        {"degrading_the_memory_changes_the_fact", degrading_the_memory_changes_the_fact},
        {"parts_are_counted", parts_are_counted},
        {"large_machines_are_sampled_without_missing_anything",
         large_machines_are_sampled_without_missing_anything},
    };
    return suite_run("router", cases, sizeof cases / sizeof cases[0]);
}
