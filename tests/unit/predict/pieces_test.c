/**
 * Pieces where nobody says how: trees and chains are cut as NCCL cuts them, what is not pipelined is not.
 */
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/pieces.h"
#include "ronde/schedules.h"

static void what_passes_whole_blocks_on_is_pipelined(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        bool is_pipelined;
    } cases[] = {
        {RONDE_ALL_REDUCE, "tree", true},          {RONDE_ALL_REDUCE, "double_tree", true},
        {RONDE_ALL_REDUCE, "nccl_tree", true},     {RONDE_BROADCAST, "chain", true},
        {RONDE_ALL_REDUCE, "ring", false},         {RONDE_ALL_REDUCE, "hierarchical", false},
        {RONDE_ALL_GATHER, "ring", false},         {RONDE_REDUCE_SCATTER, "ring", false},
        {RONDE_BROADCAST, "direct", false},        {RONDE_ALL_REDUCE, "direct_one_step", false},
        {RONDE_ALL_REDUCE, "rabenseifner", false}, {RONDE_BROADCAST, "scatter_allgather", false},
        {RONDE_ALL_TO_ALL, "bruck", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_schedule *schedule =
            schedule_compile(cases[i].collective, cases[i].algorithm, 8);
        CU_ASSERT_EQUAL(ronde_schedule_is_pipelined(schedule), cases[i].is_pipelined);
        if (!cases[i].is_pipelined)
            CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 30), 0);
        ronde_schedule_destroy(schedule);
    }
}

/* Two trees of 1,024 ranks, 10 levels: halves of the block in at least 40 pieces of 32 KiB up, at most 128. */
static void pieces_are_those_of_nccl(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "double_tree", 1024);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 32768), 0);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 20), 32768);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 16u << 20), 128u << 10);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 64u << 20), 512u << 10);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 30), 4u << 20);
    ronde_schedule_destroy(schedule);
}

/* Trees between nodes are cut as trees are, by the chunk that a rank of a node has of them; rings between nodes are not. */
static void trees_between_nodes_are_cut(void)
{
    static const struct {
        const char *algorithm;
        bool is_pipelined;
        uint32_t slot_bytes; /* of a chunk of 64 KiB: rings inside nodes want longer pieces */
    } cases[] = {{"hierarchical_tree", true, 0},
                 {"hierarchical_direct_tree", true, 32u << 10},
                 {"hierarchical", false, 0},
                 {"hierarchical_direct", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                .algorithm = cases[i].algorithm,
                                                .ranks = 128,
                                                .shape_count = 2,
                                                .shape = {16, 8}};
        struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
        CU_ASSERT_EQUAL(ronde_schedule_is_pipelined(schedule), cases[i].is_pipelined);
        /* Two trees of chunks of 4 MiB, in 28 pieces or more. */
        CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 64u << 20),
                        cases[i].is_pipelined ? 128u << 10 : 0);
        CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 20), cases[i].slot_bytes);
        ronde_schedule_destroy(schedule);
    }
}

#define STEP (512u << 10)
#define LEAST (32u << 10)

/** What pieces.h promises of a slot for a chunk, on a tree of some levels. */
static void check_slot(uint64_t slot, uint64_t chunk, uint64_t levels)
{
    if (slot == 0) {
        CU_ASSERT(chunk <= LEAST);
        return;
    }
    CU_ASSERT(slot >= LEAST && slot < chunk);
    CU_ASSERT(slot % LEAST == 0 && ((slot / LEAST) & (slot / LEAST - 1)) == 0);
    CU_ASSERT(chunk / slot <= RONDE_MOST_DEFAULT_PIECES);
    /* Not halved without need, nor doubled. */
    if (slot < STEP)
        CU_ASSERT(chunk / (2 * slot) < 4 * levels);
    if (slot > STEP)
        CU_ASSERT(chunk / (slot / 2) > RONDE_MOST_DEFAULT_PIECES);
    if (slot > LEAST && slot <= STEP)
        CU_ASSERT(chunk / slot >= 4 * levels || chunk / (slot / 2) > RONDE_MOST_DEFAULT_PIECES);
}

/* Every size up to a terabyte, at powers of two, beside them and between: the slot grows with the block. */
static void slots_are_what_the_rules_say(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t ranks, levels, shares;
    } cases[] = {
        {RONDE_BROADCAST, "chain", 3, 2, 1},        {RONDE_BROADCAST, "chain", 64, 6, 1},
        {RONDE_REDUCE, "chain", 9, 4, 1},           {RONDE_ALL_REDUCE, "tree", 8, 3, 1},
        {RONDE_ALL_REDUCE, "double_tree", 8, 3, 2}, {RONDE_ALL_REDUCE, "double_tree", 100, 7, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_schedule *schedule =
            schedule_compile(cases[i].collective, cases[i].algorithm, cases[i].ranks);
        uint64_t last = 0;
        CU_ASSERT_EQUAL(schedule->channel_count, cases[i].shares);
        CU_ASSERT(ronde_schedule_is_pipelined(schedule));
        CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 0), 0);
        for (uint64_t size = 2; size <= UINT64_C(1) << 40; size *= 2)
            for (uint64_t add = 0; add < 4; add++) {
                const uint64_t bytes = add < 3 ? size - 1 + add : size + size / 2;
                const uint64_t slot = ronde_pipeline_slot(schedule, bytes);
                check_slot(slot, bytes / cases[i].shares, cases[i].levels);
                CU_ASSERT(slot >= last || add == 3 || size <= 4);
                last = add < 2 ? slot : last;
            }
        ronde_schedule_destroy(schedule);
    }
}

/* One channel that carries three quarters of a block has three quarters of its pieces. */
static void the_widest_channel_decides(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "double_tree", 8);
    CU_ASSERT_EQUAL_FATAL(schedule->channel_count, 2);
    const uint64_t even = ronde_pipeline_slot(schedule, 64u << 10);
    schedule->channels[1].weight = 3 * schedule->channels[0].weight;
    schedule->weight_total = schedule->channels[0].weight + schedule->channels[1].weight;
    CU_ASSERT_EQUAL(even, 0);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 64u << 10), LEAST);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 42u << 10), 0);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 44u << 10), LEAST);
    ronde_schedule_destroy(schedule);
}

/* Nobody to pass anything on to: one piece, whatever the block. */
static void lone_ranks_have_no_pieces(void)
{
    for (uint32_t ranks = 1; ranks <= 2; ranks++) {
        struct ronde_schedule *schedule = schedule_compile(RONDE_BROADCAST, "chain", ranks);
        CU_ASSERT_FALSE(ronde_schedule_is_pipelined(schedule));
        CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, UINT64_C(1) << 40), 0);
        ronde_schedule_destroy(schedule);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_passes_whole_blocks_on_is_pipelined", what_passes_whole_blocks_on_is_pipelined},
        {"trees_between_nodes_are_cut", trees_between_nodes_are_cut},
        {"pieces_are_those_of_nccl", pieces_are_those_of_nccl},
        {"slots_are_what_the_rules_say", slots_are_what_the_rules_say},
        {"the_widest_channel_decides", the_widest_channel_decides},
        {"lone_ranks_have_no_pieces", lone_ranks_have_no_pieces},
    };
    return suite_run("pieces", cases, sizeof cases / sizeof cases[0]);
}
