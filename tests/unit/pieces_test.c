/**
 * Pieces where nobody says how: trees and chains are cut as NCCL cuts them, what is not pipelined is not.
 */
#include "support/suite.h"

#include "ronde/pieces.h"
#include "ronde/schedules.h"

static struct ronde_schedule *compile(enum ronde_collective collective, const char *algorithm,
                                      uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                          RONDE_OK);
    return schedule;
}

static void what_passes_whole_blocks_on_is_pipelined(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        bool is_pipelined;
    } cases[] = {
        {RONDE_ALL_REDUCE, "tree", true},      {RONDE_ALL_REDUCE, "double_tree", true},
        {RONDE_ALL_REDUCE, "nccl_tree", true}, {RONDE_BROADCAST, "chain", true},
        {RONDE_ALL_REDUCE, "ring", false},     {RONDE_ALL_REDUCE, "hierarchical", false},
        {RONDE_BROADCAST, "direct", false},    {RONDE_ALL_REDUCE, "direct_one_step", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_schedule *schedule = compile(cases[i].collective, cases[i].algorithm, 8);
        CU_ASSERT_EQUAL(ronde_schedule_is_pipelined(schedule), cases[i].is_pipelined);
        if (!cases[i].is_pipelined)
            CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 30), 0);
        ronde_schedule_destroy(schedule);
    }
}

/* Two trees of 1,024 ranks, 10 levels: halves of the block in at least 40 pieces of 32 KiB up, at most 128. */
static void pieces_are_those_of_nccl(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "double_tree", 1024);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 32768), 0);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 20), 32768);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 16u << 20), 128u << 10);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 64u << 20), 512u << 10);
    CU_ASSERT_EQUAL(ronde_pipeline_slot(schedule, 1u << 30), 4u << 20);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_passes_whole_blocks_on_is_pipelined", what_passes_whole_blocks_on_is_pipelined},
        {"pieces_are_those_of_nccl", pieces_are_those_of_nccl},
    };
    return suite_run("pieces", cases, sizeof cases / sizeof cases[0]);
}
