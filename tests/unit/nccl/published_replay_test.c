/**
 * Published calls as schedules on the links of their machines: rings and trees take what their busiest link takes, and only
 * what a schedule stands for is replayed.
 */
#include "support/suite.h"
#include "support/sweep.h"

#include "nccl_shipped.h"

#include "ronde/nccl_node.h"
#include "ronde/published.h"
#include "ronde/topologies.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define MAX_ROWS 16u

/** A table in place. */
struct made {
    struct ronde_published table;
    struct ronde_published_row rows[MAX_ROWS];
    struct ronde_nccl_constants constants;
};

/** A machine and the shipped constants. */
static void start(struct made *made, const struct ronde_nccl_machine *machine,
                  const struct ronde_mem *mem)
{
    memset(made, 0, sizeof *made);
    made->constants = nccl_shipped();
    made->table.rows = made->rows;
    made->table.mem = mem;
    made->table.system_count = 1;
    made->table.systems[0].machine = *machine;
    made->table.systems[0].is_described = true;
}

static struct ronde_published_row *add(struct made *made, enum ronde_nccl_algorithm algorithm,
                                       uint32_t ranks, uint32_t nodes, uint64_t bytes)
{
    CU_ASSERT_FATAL(made->table.count < MAX_ROWS);
    struct ronde_published_row *row = &made->rows[made->table.count++];
    *row = (struct ronde_published_row){.state = RONDE_PUBLISHED_PREDICTED,
                                        .call = {RONDE_ALL_REDUCE, ranks, nodes, 229, bytes},
                                        .choice = {algorithm, RONDE_NCCL_SIMPLE},
                                        .measured_us = 1};
    return row;
}

static bool can_replay(void)
{
    const char *reason = NULL;
    const bool can = ronde_topologies_available(&reason);
    if (!can)
        suite_skip("%s", reason);
    return can;
}

static enum ronde_status run(struct made *made, struct ronde_error *error)
{
    return ronde_published_replay(&made->table, 0, &made->constants, error);
}

static void run_well(struct made *made)
{
    struct ronde_error error = {0};
    const enum ronde_status status = run(made, &error);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
}

/** Times of a ring and of a tree are their bytes over the links', a pipeline's filling aside. */
static void expect_near(double us, double expected_us, double tolerance)
{
    CU_ASSERT(fabs(us / expected_us - 1) < tolerance);
    if (!(fabs(us / expected_us - 1) < tolerance))
        suite_note("%.1f us, expected %.1f", us, expected_us);
}

static void rings_take_what_links_take(void)
{
    struct made made;
    if (!can_replay())
        return;
    start(&made, &nccl_h100, ronde_mem_default());
    const double gib = 1024. * (double)MIB;
    struct ronde_published_row *inside = add(&made, RONDE_NCCL_RING, 8, 1, 1024 * MIB);
    struct ronde_published_row *between = add(&made, RONDE_NCCL_RING, 32, 4, 1024 * MIB);
    struct ronde_published_row *gather = add(&made, RONDE_NCCL_RING, 32, 4, 1024 * MIB);
    struct ronde_published_row *lone = add(&made, RONDE_NCCL_RING, 4, 4, 1024 * MIB);
    gather->call.collective = RONDE_ALL_GATHER;
    run_well(&made);
    const struct ronde_node_description node =
        ronde_nccl_reached_node(&nccl_h100, &made.constants, &inside->call, RONDE_NCCL_RING);
    const struct ronde_node_description nics =
        ronde_nccl_reached_node(&nccl_h100, &made.constants, &between->call, RONDE_NCCL_RING);
    const struct ronde_node_description one =
        ronde_nccl_reached_node(&nccl_h100, &made.constants, &lone->call, RONDE_NCCL_RING);
    CU_ASSERT(node.nvlink_GBps > 300 && node.nvlink_GBps < 400);
    CU_ASSERT(nics.nic_GBps > 40 && nics.nic_GBps < 50);
    CU_ASSERT_EQUAL(node.nics, 0);
    CU_ASSERT_EQUAL(nics.nics, 8);
    CU_ASSERT_EQUAL(one.nics, 1);
    CU_ASSERT_EQUAL(one.gpus, 1);
    expect_near(inside->replayed_us, 14. / 8 * gib / node.nvlink_GBps / 1e3, .01);
    expect_near(between->replayed_us, 62. / 32 * gib / (8 * nics.nic_GBps) / 1e3, .05);
    expect_near(gather->replayed_us, 31. / 32 * gib / (8 * nics.nic_GBps) / 1e3, .05);
    expect_near(lone->replayed_us, 6. / 4 * gib / one.nic_GBps / 1e3, .05);
}

/** Every link of a mesh of four carries rings, which takes six of them. */
static void meshes_are_filled(void)
{
    struct ronde_nccl_machine mesh = nccl_h100;
    struct made made;
    if (!can_replay())
        return;
    mesh.link = RONDE_NODE_MESH;
    mesh.gpus = mesh.nics = 4;
    for (uint32_t gpus = 4; gpus <= 8; gpus += 4) {
        mesh.gpus = gpus;
        start(&made, &mesh, ronde_mem_default());
        struct ronde_published_row *row = add(&made, RONDE_NCCL_RING, gpus, 1, 1024 * MIB);
        run_well(&made);
        const struct ronde_node_description node =
            ronde_nccl_reached_node(&mesh, &made.constants, &row->call, RONDE_NCCL_RING);
        expect_near(row->replayed_us,
                    2. * (gpus - 1) / gpus * 1024. * (double)MIB / node.nvlink_GBps / 1e3, .01);
    }
}

/** Bridged pairs: a chain crosses the slot between the pairs once each way, a ring twice; so a tree is faster (issue of NCCL's tuner). */
static void a_chain_beats_a_ring_on_bridged_pairs(void)
{
    const struct ronde_nccl_machine pairs = {.name = "pairs",
                                             .generation = RONDE_NCCL_AMPERE_RTX,
                                             .link = RONDE_NODE_PAIRS,
                                             .cpu = RONDE_NCCL_AMD,
                                             .gpus = 4,
                                             .sockets = 1,
                                             .nvlink_GBps = 56,
                                             .pcie_GBps = 31.5};
    struct made made;
    if (!can_replay())
        return;
    start(&made, &pairs, ronde_mem_default());
    struct ronde_published_row *ring = add(&made, RONDE_NCCL_RING, 4, 1, 1024 * MIB);
    struct ronde_published_row *tree = add(&made, RONDE_NCCL_TREE, 4, 1, 1024 * MIB);
    run_well(&made);
    CU_ASSERT(tree->replayed_us > .6 * ring->replayed_us);
    CU_ASSERT(tree->replayed_us < .8 * ring->replayed_us);
}

/** By NVLS a GPU's links carry the block and its own share of it once; between nodes the NICs carry it as a tree's do. */
static void switches_copy_and_add(void)
{
    struct made made;
    if (!can_replay())
        return;
    start(&made, &nccl_h100, ronde_mem_default());
    const double gib = 1024. * (double)MIB;
    struct ronde_published_row *inside = add(&made, RONDE_NCCL_NVLS, 8, 1, 1024 * MIB);
    struct ronde_published_row *ring = add(&made, RONDE_NCCL_RING, 8, 1, 1024 * MIB);
    struct ronde_published_row *two = add(&made, RONDE_NCCL_NVLS_TREE, 16, 2, 1024 * MIB);
    struct ronde_published_row *four = add(&made, RONDE_NCCL_NVLS_TREE, 32, 4, 1024 * MIB);
    run_well(&made);
    const struct ronde_node_description node =
        ronde_nccl_reached_node(&nccl_h100, &made.constants, &inside->call, RONDE_NCCL_NVLS);
    CU_ASSERT(node.nvlink_GBps > 250 && node.nvlink_GBps < 350);
    expect_near(inside->replayed_us, 9. / 8 * gib / node.nvlink_GBps / 1e3, .02);
    CU_ASSERT(inside->replayed_us < .8 * ring->replayed_us);
    /* Of two nodes the NICs have time left; in trees of four an inner node's carry the block twice. */
    const struct ronde_node_description nics =
        ronde_nccl_reached_node(&nccl_h100, &made.constants, &four->call, RONDE_NCCL_NVLS_TREE);
    expect_near(two->replayed_us, inside->replayed_us, .05);
    expect_near(four->replayed_us, 2 * gib / (8 * nics.nic_GBps) / 1e3, .1);
}

static void only_what_a_schedule_stands_for_is_replayed(void)
{
    struct made made;
    if (!can_replay())
        return;
    start(&made, &nccl_h100, ronde_mem_default());
    struct ronde_published_row *rows[8];
    for (size_t r = 0; r < 8; r++)
        rows[r] = add(&made, RONDE_NCCL_RING, 8, 1, 64 * MIB);
    rows[0]->call.bytes = 16 * MIB;
    rows[1]->choice.protocol = RONDE_NCCL_LL128;
    rows[2]->choice.algorithm = RONDE_NCCL_NVLS;
    rows[2]->call.ranks = 2;
    rows[3]->call.collective = RONDE_BROADCAST;
    rows[4]->state = RONDE_PUBLISHED_FAULTY;
    rows[5]->call.ranks = 256;
    rows[5]->call.nodes = 32;
    rows[6]->call.collective = RONDE_ALL_GATHER;
    rows[6]->choice.algorithm = RONDE_NCCL_TREE;
    run_well(&made);
    for (size_t r = 0; r < 7; r++)
        CU_ASSERT_EQUAL(rows[r]->replayed_us, 0);
    CU_ASSERT(rows[7]->replayed_us > 0);
}

/** The same call twice is replayed once, with one result; another size, version or number of nodes is another. */
static void repeats_share_a_replay(void)
{
    struct made made;
    if (!can_replay())
        return;
    start(&made, &nccl_h100, ronde_mem_default());
    struct ronde_published_row *first = add(&made, RONDE_NCCL_RING, 8, 1, 64 * MIB);
    struct ronde_published_row *larger = add(&made, RONDE_NCCL_RING, 8, 1, 128 * MIB);
    struct ronde_published_row *again = add(&made, RONDE_NCCL_RING, 8, 1, 64 * MIB);
    again->is_in_place = true;
    run_well(&made);
    CU_ASSERT_EQUAL(first->replayed_us, again->replayed_us);
    CU_ASSERT(larger->replayed_us > 1.9 * first->replayed_us);
}

static enum ronde_status sweep_replay(const void *context, const struct ronde_mem *mem,
                                      struct ronde_error *error)
{
    struct made made;
    (void)context;
    start(&made, &nccl_h100, mem);
    struct ronde_published_row *row = add(&made, RONDE_NCCL_TREE, 4, 2, 64 * MIB);
    const enum ronde_status status = run(&made, error);
    CU_ASSERT((status == RONDE_OK) == (row->replayed_us > 0));
    return status;
}

/** libxml2 and streams have memory of their own, which no allocator of ours stands for. */
static void memory_may_end_anywhere(void)
{
    const struct sweep sweep = {.what = "a replay", .operation = sweep_replay};
    if (can_replay())
        CU_ASSERT(sweep_run(&sweep) > 10);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rings_take_what_links_take", rings_take_what_links_take},
        {"meshes_are_filled", meshes_are_filled},
        {"a_chain_beats_a_ring_on_bridged_pairs", a_chain_beats_a_ring_on_bridged_pairs},
        {"switches_copy_and_add", switches_copy_and_add},
        {"only_what_a_schedule_stands_for_is_replayed", only_what_a_schedule_stands_for_is_replayed},
        {"repeats_share_a_replay", repeats_share_a_replay},
        {"memory_may_end_anywhere", memory_may_end_anywhere},
    };
    return suite_run("published_replay", cases, sizeof cases / sizeof cases[0]);
}
