/**
 * Hosts that take each other's places: what is a symmetry of a machine and what is not, and that a "yes" is true of every
 * route there is.
 */
#include "support/suite.h"

#include "unit/platform_text.h"

#include <stdlib.h>
#include <string.h>

/** A machine, what becomes of its hosts, and what was said of it. */
struct stage {
    struct ronde_platform *platform;
    uint32_t hosts;
    uint32_t from[2048], to[2048];
    uint32_t *links; /**< what becomes of each */
    bool is_symmetry;
};

static bool begin(struct stage *stage, const char *file)
{
    memset(stage, 0, sizeof *stage);
    if (!suite_can_read_platforms())
        return false;
    stage->platform = platform_text_open(file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stage->platform);
    stage->hosts = ronde_platform_facts(stage->platform)->hosts;
    stage->links = calloc(ronde_platform_link_count(stage->platform), sizeof *stage->links);
    CU_ASSERT_FATAL(stage->hosts <= 2048 && stage->links);
    return true;
}

static void end(struct stage *stage)
{
    free(stage->links);
    ronde_platform_destroy(stage->platform);
}

/** Asks for the first `count` pairs. */
static bool ask(struct stage *stage, uint32_t count)
{
    const struct ronde_exchange exchange = {stage->from, stage->to, count};
    CU_ASSERT_EQUAL_FATAL(ronde_platform_symmetry(stage->platform, &exchange, ronde_mem_default(),
                                                  stage->links, &stage->is_symmetry, NULL),
                          RONDE_OK);
    return stage->is_symmetry;
}

/** All hosts, in blocks of `block`, move on by `step` within the block. */
static bool rotate(struct stage *stage, uint32_t block, uint32_t step)
{
    for (uint32_t i = 0; i < stage->hosts; i++) {
        stage->from[i] = i;
        stage->to[i] = i / block * block + (i + step) % block;
    }
    return ask(stage, stage->hosts);
}

/** Every route against that of its counterparts, link by link, for every `stride`-th pair of hosts. */
static void expect_routes(const struct stage *stage, uint32_t stride)
{
    uint32_t wrong = 0;
    for (uint32_t pair = 0; pair < stage->hosts * stage->hosts; pair += stride) {
        const uint32_t src = pair / stage->hosts, dst = pair % stage->hosts;
        uint32_t one[64], other[64], count = 0, length = 0;
        if (src == dst)
            continue;
        CU_ASSERT_FATAL(ronde_platform_route(stage->platform, src, dst, 64, one, &count, NULL) ==
                        RONDE_OK);
        CU_ASSERT_FATAL(ronde_platform_route(stage->platform, stage->to[src], stage->to[dst], 64,
                                             other, &length, NULL) == RONDE_OK);
        wrong += count != length;
        for (uint32_t i = 0; i < count && i < length; i++) {
            const struct ronde_link *left = ronde_platform_link(stage->platform, one[i]);
            const struct ronde_link *right = ronde_platform_link(stage->platform, other[i]);
            wrong += stage->links[one[i]] != other[i] || left->rate_GBps != right->rate_GBps ||
                     left->latency_ns != right->latency_ns;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void rotations_are_found_where_they_are_symmetries(void)
{
    static const struct {
        const char *file;
        uint32_t block, step; /**< as in rotate; block 0: all */
        bool is_symmetry;
    } rows[] = {
        {"topologies/crossbar-64.xml", 0, 1, true},
        {"topologies/fat-tree-2to1-64.xml", 0, 8, true},
        {"topologies/fat-tree-2to1-64.xml", 8, 3, true}, /* within every leaf */
        {"topologies/fat-tree-2to1-64.xml", 0, 1, false},
        {"topologies/fat-tree-2to1-64.xml", 0, 4, false},
        {"topologies/fat-tree-3level-2048.xml", 0, 1024, true},
        {"topologies/fat-tree-3level-2048.xml", 0, 1, false},
        {"topologies/torus-8x8.xml", 0, 8, false}, /* half way round it is not symmetric */
        {"topologies/dgx-h100.xml", 0, 1, true},
        {"topologies/dgx-h100-pod.xml", 0, 256, true}, /* pods */
        {"topologies/dgx-h100-pod.xml", 256, 8, true}, /* nodes of all pods */
        {"topologies/dgx-h100-pod.xml", 0, 8, false},
        {"topologies/dgx-h100-pod.xml", 8, 1, true}, /* rails */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage;
        if (!begin(&stage, rows[i].file))
            return;
        const bool found =
            rotate(&stage, rows[i].block > 0 ? rows[i].block : stage.hosts, rows[i].step);
        CU_ASSERT_EQUAL(found, rows[i].is_symmetry);
        if (found != rows[i].is_symmetry)
            suite_note("%s, %u of %u: %d", rows[i].file, rows[i].step, rows[i].block, found);
        if (found)
            expect_routes(&stage, stage.hosts > 100 ? 997 : 1);
        end(&stage);
    }
}

/** Hosts in reverse: of a switch between rails all are alike, so that only the hosts beside them say which becomes which. */
static void a_mirror_image_is_a_symmetry(void)
{
    static const char *const files[] = {"topologies/crossbar-64.xml",
                                        "topologies/fat-tree-2to1-64.xml",
                                        "topologies/dgx-h100.xml", "topologies/dgx-h100-pod.xml"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct stage stage;
        if (!begin(&stage, files[i]))
            return;
        for (uint32_t host = 0; host < stage.hosts; host++) {
            stage.from[host] = host;
            stage.to[host] = stage.hosts - 1 - host;
        }
        CU_ASSERT_TRUE_FATAL(ask(&stage, stage.hosts));
        expect_routes(&stage, stage.hosts > 100 ? 997 : 1);
        end(&stage);
    }
}

/** A link with another number, in any place, leaves no symmetry that moves it. */
static void one_slow_link_is_enough(void)
{
    static const char *const links[] = {"up3_UP", "up3_DOWN", "leaf3_link_27_UP",
                                        "leaf3_link_27_DOWN"};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        struct stage stage;
        if (!begin(&stage, "topologies/fat-tree-2to1-64.xml"))
            return;
        CU_ASSERT_TRUE(rotate(&stage, stage.hosts, 8));
        CU_ASSERT_EQUAL(ronde_platform_degrade(stage.platform, links[i], 0.999, NULL), RONDE_OK);
        CU_ASSERT_FALSE(rotate(&stage, stage.hosts, 8));
        CU_ASSERT_EQUAL(rotate(&stage, 8, 1), i < 2);
        end(&stage);
    }
}

/** Some hosts alone: the others stay, or go with the leaf that they sit in. */
static void a_part_of_the_hosts_may_move(void)
{
    struct stage stage;
    if (!begin(&stage, "topologies/fat-tree-2to1-64.xml"))
        return;
    for (uint32_t i = 0; i < 8; i++) {
        stage.from[i] = i < 4 ? i : 8 + i % 4;
        stage.to[i] = i < 4 ? 8 + i : i % 4;
    }
    CU_ASSERT_TRUE(ask(&stage, 8));
    for (uint32_t i = 0; i < stage.hosts; i++)
        stage.to[i] = i < 16 ? (i + 8) % 16 : i;
    expect_routes(&stage, 1);
    /* A host cannot be in two places, nor two hosts in one, nor a leaf in two. */
    stage.from[1] = stage.from[0] = 0;
    stage.to[0] = 1;
    stage.to[1] = 2;
    CU_ASSERT_FALSE(ask(&stage, 2));
    stage.from[1] = 1;
    stage.to[1] = 1;
    CU_ASSERT_FALSE(ask(&stage, 2));
    stage.to[0] = 9;
    stage.to[1] = 17;
    CU_ASSERT_FALSE(ask(&stage, 2));
    end(&stage);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rotations_are_found_where_they_are_symmetries",
         rotations_are_found_where_they_are_symmetries},
        {"a_mirror_image_is_a_symmetry", a_mirror_image_is_a_symmetry},
        {"one_slow_link_is_enough", one_slow_link_is_enough},
        {"a_part_of_the_hosts_may_move", a_part_of_the_hosts_may_move},
    };
    return suite_run("machine_symmetry", cases, sizeof cases / sizeof cases[0]);
}
