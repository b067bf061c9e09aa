/* Hosts that nothing tells apart, against what each of their links says; and which links they are told to have. */
#include "support/suite.h"

#include "support/heap.h"
#include "unit/leaves.h"
#include "unit/platform_text.h"

#include <string.h>

#define CLUSTER(more)                                                                              \
    "<platform version=\"4.1\"><cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"0-5\" "        \
    "speed=\"1Gf\" bw=\"50GBps\" lat=\"500ns\" " more "/></platform>"

static struct ronde_alike ask(const struct ronde_platform *platform, const uint32_t *host_of,
                              uint32_t ranks)
{
    struct ronde_alike alike;
    memset(&alike, 0xee, sizeof alike);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_alike(platform, host_of, ranks, ronde_mem_default(),
                                               &alike, NULL),
                          RONDE_OK);
    return alike;
}

static const char *name_of(const struct ronde_platform *platform, uint32_t link)
{
    return ronde_platform_link(platform, link)->name;
}

static void hosts_of_a_star_are_alike(void)
{
    static const uint32_t order[] = {4, 1, 5, 0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(CLUSTER(""));
    CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
    for (uint32_t ranks = 1; ranks <= 6; ranks++) {
        const struct ronde_alike alike = ask(platform, NULL, ranks);
        CU_ASSERT_TRUE(alike.is_alike);
        CU_ASSERT_EQUAL(alike.backbone, UINT32_MAX);
        CU_ASSERT_EQUAL_FATAL(alike.up_count, 1);
        CU_ASSERT_EQUAL_FATAL(alike.down_count, 1);
        CU_ASSERT_STRING_EQUAL(name_of(platform, alike.up[0]), "x_link_0_UP");
        CU_ASSERT_STRING_EQUAL(name_of(platform, alike.down[0]), "x_link_0_DOWN");
    }
    /* The links are those of rank 0's host, wherever that is. */
    const struct ronde_alike placed = ask(platform, order, 4);
    CU_ASSERT_TRUE(placed.is_alike);
    CU_ASSERT_STRING_EQUAL(name_of(platform, placed.up[0]), "x_link_4_UP");
    ronde_platform_destroy(platform);
}

/* Two ranks on one host share its port, which no other pair does. */
static void two_ranks_of_one_host_are_not(void)
{
    static const uint32_t twice[] = {0, 1, 2, 1}, at_once[] = {3, 3};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(CLUSTER(""));
    CU_ASSERT_FALSE(ask(platform, twice, 4).is_alike);
    CU_ASSERT_TRUE(ask(platform, twice, 3).is_alike);
    CU_ASSERT_FALSE(ask(platform, at_once, 2).is_alike);
    ronde_platform_destroy(platform);
}

/* A slower port, in either direction, of a host that has a rank; one without does not matter. */
static void a_slower_port_is_seen(void)
{
    static const char *const links[] = {"x_link_4_UP", "x_link_4_DOWN", "x_link_4"};
    static const uint32_t others[] = {0, 1, 2, 3, 5}, only[] = {4};
    for (size_t i = 0; i < sizeof links / sizeof links[0] && suite_can_read_platforms(); i++) {
        struct ronde_platform *platform = platform_text_good(CLUSTER(""));
        CU_ASSERT_EQUAL(ronde_platform_degrade(platform, links[i], 0.5, NULL), RONDE_OK);
        CU_ASSERT_FALSE(ask(platform, NULL, 6).is_alike);
        CU_ASSERT_FALSE(ask(platform, NULL, 5).is_alike);
        CU_ASSERT_TRUE(ask(platform, NULL, 4).is_alike);
        CU_ASSERT_TRUE(ask(platform, others, 5).is_alike);
        CU_ASSERT_TRUE(ask(platform, only, 1).is_alike);
        ronde_platform_destroy(platform);
    }
}

/* A backbone is everybody's and tells nobody apart, however slow it is. */
static void a_backbone_is_shared_by_all(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform =
        platform_text_good(CLUSTER("bb_bw=\"60GBps\" bb_lat=\"100ns\""));
    const struct ronde_alike alike = ask(platform, NULL, 6);
    uint32_t in_up = 0, in_down = 0;
    CU_ASSERT_TRUE(alike.is_alike);
    CU_ASSERT_FATAL(alike.backbone != UINT32_MAX);
    CU_ASSERT_STRING_EQUAL(name_of(platform, alike.backbone), "x_backbone");
    for (uint32_t i = 0; i < alike.up_count; i++)
        in_up += alike.up[i] == alike.backbone;
    for (uint32_t i = 0; i < alike.down_count; i++)
        in_down += alike.down[i] == alike.backbone;
    CU_ASSERT(in_up + in_down >= 1 && in_up <= 1 && in_down <= 1);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "x_backbone", 0.01, NULL), RONDE_OK);
    CU_ASSERT_TRUE(ask(platform, NULL, 6).is_alike);
    ronde_platform_destroy(platform);
}

/* Hosts of two stars, of a torus and of a zone with written routes are not, whatever they look like. */
static void only_hosts_of_one_star_are_alike(void)
{
    static const uint32_t second[] = {3, 5, 4}, across[] = {0, 3};
    struct leaves leaves;
    if (!leaves_begin(&leaves, &(struct leaves_shape){2, 3, 100, 100}))
        return;
    CU_ASSERT_TRUE(ask(leaves.platform, NULL, 3).is_alike);
    CU_ASSERT_FALSE(ask(leaves.platform, NULL, 4).is_alike);
    CU_ASSERT_TRUE(ask(leaves.platform, second, 3).is_alike);
    CU_ASSERT_FALSE(ask(leaves.platform, across, 2).is_alike);
    leaves_end(&leaves);
    struct ronde_platform *torus =
        platform_text_good(CLUSTER("topology=\"TORUS\" topo_parameters=\"3,2\""));
    CU_ASSERT_FALSE(ask(torus, NULL, 6).is_alike);
    ronde_platform_destroy(torus);
    struct ronde_platform *written = platform_text_good(
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>"
        "<host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\"/>"
        "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>");
    CU_ASSERT_FALSE(ask(written, NULL, 2).is_alike);
    ronde_platform_destroy(written);
}

/* "Yes" is true of every route: as many links, of equal numbers one by one. */
static void what_is_alike_has_equal_routes(void)
{
    static const char *const texts[] = {CLUSTER(""), CLUSTER("bb_bw=\"60GBps\" bb_lat=\"100ns\""),
                                        CLUSTER("limiter_link=\"20GBps\""),
                                        CLUSTER("sharing_policy=\"SHARED\""),
                                        CLUSTER("loopback_bw=\"90GBps\" loopback_lat=\"1ns\"")};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0] && suite_can_read_platforms(); t++) {
        struct ronde_platform *platform = platform_text_good(texts[t]);
        uint32_t first[16], first_count = 0, wrong = 0;
        CU_ASSERT_TRUE(ask(platform, NULL, 6).is_alike);
        CU_ASSERT_EQUAL_FATAL(ronde_platform_route(platform, 0, 1, 16, first, &first_count, NULL),
                              RONDE_OK);
        for (uint32_t pair = 0; pair < 36; pair++) {
            uint32_t links[16], count = 0;
            if (pair / 6 == pair % 6)
                continue;
            CU_ASSERT_EQUAL(ronde_platform_route(platform, pair / 6, pair % 6, 16, links, &count,
                                                 NULL),
                            RONDE_OK);
            wrong += count != first_count;
            for (uint32_t i = 0; i < count && i < first_count; i++) {
                const struct ronde_link *one = ronde_platform_link(platform, links[i]);
                const struct ronde_link *other = ronde_platform_link(platform, first[i]);
                wrong += one->rate_GBps != other->rate_GBps ||
                         one->latency_ns != other->latency_ns ||
                         one->is_fatpipe != other->is_fatpipe;
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        ronde_platform_destroy(platform);
    }
}

static void without_memory_it_says_so(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(CLUSTER(""));
    for (size_t refused = 0; refused < 4; refused++) {
        struct heap heap = heap_start(refused, true);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_alike alike;
        struct ronde_error error = {0};
        const enum ronde_status status =
            ronde_platform_alike(platform, NULL, 6, &mem, &alike, &error);
        CU_ASSERT_EQUAL(status, refused < heap.requests ? RONDE_NO_MEMORY : RONDE_OK);
        CU_ASSERT_EQUAL(status == RONDE_OK, alike.is_alike);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    }
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"hosts_of_a_star_are_alike", hosts_of_a_star_are_alike},
        {"two_ranks_of_one_host_are_not", two_ranks_of_one_host_are_not},
        {"a_slower_port_is_seen", a_slower_port_is_seen},
        {"a_backbone_is_shared_by_all", a_backbone_is_shared_by_all},
        {"only_hosts_of_one_star_are_alike", only_hosts_of_one_star_are_alike},
        {"what_is_alike_has_equal_routes", what_is_alike_has_equal_routes},
        {"without_memory_it_says_so", without_memory_it_says_so},
    };
    return suite_run("alike", cases, sizeof cases / sizeof cases[0]);
}
