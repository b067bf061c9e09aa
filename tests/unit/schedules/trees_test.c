/** Binary trees, two of them, and two below a root: of ranks, and of nodes. */
#include "support/schedule.h"
#include "support/suite.h"

#include "schedules/binary_tree.h"

/* Parents and children agree, every position is below 0, and depth is logarithmic. */
static void binary_tree_is_a_tree(void)
{
    for (uint32_t n = 2; n <= 200; n++)
        for (uint32_t p = 0; p < n; p++) {
            const struct ronde_tree_children children = ronde_tree_children_of(n, p);
            uint32_t depth = 0;
            for (uint32_t q = p; q != 0 && depth <= ronde_log2_ceil(n); depth++)
                q = ronde_tree_parent_of(n, q);
            CU_ASSERT(depth <= ronde_log2_ceil(n));
            CU_ASSERT_EQUAL(children.count > 0, p % 2 == 0);
            for (uint32_t c = 0; c < children.count; c++)
                CU_ASSERT_EQUAL(ronde_tree_parent_of(n, children.at[c]), p);
        }
}

/* Architecture section 4: no rank is interior in both trees for even N, exactly one for odd N. */
static void double_tree_has_disjoint_inner_ranks(void)
{
    for (uint32_t n = 2; n <= 65; n++) {
        const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                      .algorithm = "double_tree",
                                                      .ranks = n,
                                                      .channels = 2};
        struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
        CU_ASSERT_EQUAL_FATAL(schedule->channel_count, 4);
        uint32_t inner_in_both = 0;
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t inner = 0;
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t *position_of = schedule->channels[k].position_of;
                inner += ronde_tree_children_of(n, position_of ? position_of[rank] : rank).count > 0;
            }
            inner_in_both += inner == 4;
            CU_ASSERT(inner > 0);
        }
        CU_ASSERT_EQUAL(inner_in_both, n % 2);
        ronde_schedule_destroy(schedule);
    }
}

/* Only the root is inside both trees, whichever rank it is. */
static void rooted_double_trees_have_disjoint_inner_ranks(void)
{
    for (uint32_t n = 2; n <= 33; n++)
        for (uint32_t root = 0; root < n; root++) {
            const struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                                          .algorithm = "double_tree",
                                                          .ranks = n,
                                                          .root = root};
            struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
            CU_ASSERT_EQUAL_FATAL(schedule->channel_count, 2);
            for (uint32_t rank = 0; rank < n; rank++) {
                uint32_t inner = 0;
                for (uint32_t k = 0; k < 2; k++) {
                    const uint32_t *position_of = schedule->channels[k].position_of;
                    inner +=
                        ronde_tree_children_of(n, position_of ? position_of[rank] : rank).count > 0;
                }
                CU_ASSERT(rank == root ? inner == 2 : inner < 2);
            }
            ronde_schedule_destroy(schedule);
        }
}

/* A node's ranks stand side by side in both trees, whichever rank is the root, and it is first. */
static void rooted_trees_of_nodes_keep_nodes_together(void)
{
    static const enum ronde_collective both[] = {RONDE_BROADCAST, RONDE_REDUCE};
    for (uint32_t local = 2; local <= 5; local++)
        for (uint32_t root = 0; root < 3 * local; root++) {
            const struct ronde_compile_request request = {.collective = both[root % 2],
                                                          .algorithm = "hierarchical",
                                                          .ranks = 3 * local,
                                                          .root = root,
                                                          .shape_count = 2,
                                                          .shape = {3, local}};
            struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
            CU_ASSERT_EQUAL_FATAL(schedule->channel_count, 2);
            for (uint32_t rank = 0; rank < request.ranks; rank++)
                for (uint32_t k = 0; k < 2; k++) {
                    const uint32_t *position_of = schedule->channels[k].position_of;
                    CU_ASSERT_EQUAL(position_of[rank] % 3, position_of[rank - rank % local] % 3);
                    CU_ASSERT_EQUAL(position_of[rank] == 0, rank == root);
                }
            ronde_schedule_destroy(schedule);
        }
}

/* Messages are sorted by rank, and nodes are counted from the root's, so that a bundle may hold the last node and the first. */
static void bundles_reach_their_owners_from_any_root(void)
{
    static const enum ronde_collective both[] = {RONDE_SCATTER, RONDE_GATHER};
    for (uint32_t nodes = 1; nodes <= 24; nodes += nodes < 8 ? 1 : 3)
        for (uint32_t root = 0; root < 4 * nodes; root++) {
            const struct ronde_compile_request request = {.collective = both[root % 2],
                                                          .algorithm = "hierarchical",
                                                          .ranks = 2 * nodes,
                                                          .root = root / 2,
                                                          .shape_count = 2,
                                                          .shape = {nodes, 2}};
            struct ronde_proof proof;
            ronde_schedule_destroy(schedule_compile_request(&request, &proof));
            const uint32_t bundles = nodes < 8 ? nodes - 1 : 7;
            CU_ASSERT_EQUAL(proof.critical_path, nodes > 1 ? 2 : 1);
            CU_ASSERT(proof.messages <= 2 * nodes - 1 + bundles);
            CU_ASSERT_EQUAL(proof.received_chunks_max, root % 2 ? 2 * nodes - 1 : nodes);
        }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(binary_tree_is_a_tree),
        SUITE_CASE(double_tree_has_disjoint_inner_ranks),
        SUITE_CASE(rooted_double_trees_have_disjoint_inner_ranks),
        SUITE_CASE(rooted_trees_of_nodes_keep_nodes_together),
        SUITE_CASE(bundles_reach_their_owners_from_any_root),
    };
    return suite_run("trees", cases, sizeof cases / sizeof cases[0]);
}
