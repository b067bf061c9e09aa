/**
 * What makes a schedule well-formed: one fault at a time in a valid schedule. Nothing but this
 * check stands between such a schedule and cursors that rely on their arrays, so each fault must be
 * found here and named.
 */
#include "engine/ir/arena.h"
#include "engine/ir/finish.h"
#include "ronde/schedules.h"
#include "support/suite.h"

#include <string.h>

/** One false statement about a schedule. */
struct fault {
    void (*apply)(struct ronde_schedule *schedule);
    const char *text; /**< part of the first finding */
};

/** A changeable copy of a built-in schedule of four ranks. */
static struct ronde_schedule *raw(enum ronde_collective collective, const char *algorithm)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = 4};
    struct ronde_schedule *schedule = NULL, *copy = NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_raw_copy(schedule, ronde_mem_default(), &copy, NULL) == RONDE_OK);
    ronde_schedule_destroy(schedule);
    return copy;
}

/** Makes each fault in a fresh copy, which was valid before, and expects its finding. */
static void expect_found(enum ronde_collective collective, const char *algorithm,
                         const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ronde_schedule *schedule = raw(collective, algorithm);
        struct ronde_proof proof;
        CU_ASSERT_EQUAL(ronde_finish_raw(schedule, NULL, NULL), RONDE_OK);
        faults[i].apply(schedule);
        CU_ASSERT_EQUAL(ronde_finish_raw(schedule, &proof, NULL), RONDE_REJECTED);
        CU_ASSERT(!proof.ok && proof.finding_count > 0);
        CU_ASSERT_EQUAL(proof.findings[0].code, RONDE_FINDING_BOUNDS);
        const bool is_named = strstr(proof.findings[0].text, faults[i].text) != NULL;
        CU_ASSERT(is_named);
        if (!is_named)
            suite_note("wanted \"%s\", got \"%s\"", faults[i].text, proof.findings[0].text);
        ronde_schedule_destroy(schedule);
    }
}

static struct ronde_step *first_step(struct ronde_schedule *schedule)
{
    return &schedule->programs[0].steps[0];
}

/* --- header -------------------------------------------------------------------------------- */

static void no_ranks(struct ronde_schedule *schedule)
{
    schedule->ranks = 0;
}

static void too_many_ranks(struct ronde_schedule *schedule)
{
    schedule->ranks = RONDE_MAX_RANKS + 1;
}

static void root_behind_the_last_rank(struct ronde_schedule *schedule)
{
    schedule->root = schedule->ranks;
}

static void no_chunks(struct ronde_schedule *schedule)
{
    schedule->chunks_per_block = 0;
}

static void too_many_chunks(struct ronde_schedule *schedule)
{
    schedule->chunks_per_block = (1u << 30) + 1;
}

static void no_channel(struct ronde_schedule *schedule)
{
    schedule->channel_count = 0;
}

static void no_program(struct ronde_schedule *schedule)
{
    schedule->program_count = 0;
}

static void a_channel_of_no_weight(struct ronde_schedule *schedule)
{
    schedule->channels[0].weight = 0;
}

static const struct fault of_header[] = {
    {no_ranks, "ranks 0 is outside 1 .."},
    {too_many_ranks, "ranks 1048577 is outside"},
    {root_behind_the_last_rank, "root 4 is not below ranks 4"},
    {no_chunks, "chunks per block 0 is out of range"},
    {too_many_chunks, "chunks per block 1073741825 is out of range"},
    {no_channel, "no channels or no programs"},
    {no_program, "no channels or no programs"},
    {a_channel_of_no_weight, "channel 0 has weight 0"},
};

/* --- positions ----------------------------------------------------------------------------- */

static void a_shape_of_too_many_digits(struct ronde_schedule *schedule)
{
    schedule->shape_count = RONDE_MAX_SHAPE + 1;
}

static void a_shape_of_other_ranks(struct ronde_schedule *schedule)
{
    schedule->shape_count = 2;
    schedule->shape[0] = 2;
    schedule->shape[1] = 3;
}

static void a_shape_that_overflows(struct ronde_schedule *schedule)
{
    schedule->shape_count = RONDE_MAX_SHAPE;
    for (uint32_t i = 0; i < RONDE_MAX_SHAPE; i++)
        schedule->shape[i] = UINT32_MAX;
}

static void rotation_of_indivisible_chunks(struct ronde_schedule *schedule)
{
    schedule->chunks_per_block = 5;
}

static void absolute_peers_of_all_positions(struct ronde_schedule *schedule)
{
    schedule->absolute_peers = true;
}

static void symmetry_beside_a_table(struct ronde_schedule *schedule)
{
    schedule->program_of = ronde_arena_new(schedule->arena, schedule->ranks, sizeof(uint32_t));
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule->program_of);
}

static const struct fault of_symmetry[] = {
    {a_shape_of_too_many_digits, "a shape of 7 digits"},
    {a_shape_of_other_ranks, "the shape does not multiply to 4 ranks"},
    {a_shape_that_overflows, "the shape does not multiply to 4 ranks"},
    {rotation_of_indivisible_chunks, "5 chunks of a rotating buffer are no multiple of 4 ranks"},
    {absolute_peers_of_all_positions, "a symmetric schedule has no absolute peers"},
    {symmetry_beside_a_table, "a symmetric schedule has one program for all positions"},
};

static void ranks_that_are_no_power(struct ronde_schedule *schedule)
{
    schedule->ranks = 3;
}

static const struct fault of_exclusive_or[] = {
    {ranks_that_are_no_power, "xor symmetry needs a power of two, 3 ranks are none"},
};

static void a_root_among_equals(struct ronde_schedule *schedule)
{
    schedule->collective = RONDE_BROADCAST;
}

static const struct fault of_roots[] = {
    {a_root_among_equals, "a collective with a root is not symmetric"},
};

static void a_root_that_is_elsewhere(struct ronde_schedule *schedule)
{
    schedule->root = 1;
}

static void a_missing_table(struct ronde_schedule *schedule)
{
    schedule->program_of = NULL;
}

static void a_missing_program(struct ronde_schedule *schedule)
{
    schedule->program_of[3] = schedule->program_count;
}

static const struct fault of_positions[] = {
    {a_missing_table, "a symmetric schedule has one program for all positions"},
    {a_missing_program, "there is no program"},
    {a_root_that_is_elsewhere, "channel 0: the root 1 is not at position 0 of the order"},
};

static void a_source_that_is_no_rank(struct ronde_schedule *schedule)
{
    schedule->source_of = ronde_arena_new(schedule->arena, schedule->ranks, sizeof(uint32_t));
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule->source_of);
    schedule->source_of[2] = schedule->ranks;
}

static void pairs_that_rotate(struct ronde_schedule *schedule)
{
    a_source_that_is_no_rank(schedule);
    schedule->source_of[2] = RONDE_NONE;
}

static void an_order_of_pairs(struct ronde_schedule *schedule)
{
    uint32_t *order = ronde_arena_new(schedule->arena, schedule->ranks, sizeof *order);
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    for (uint32_t q = 0; q < schedule->ranks; q++)
        order[q] = q;
    schedule->channels[0].order = order;
}

static const struct fault of_pairs[] = {
    {a_source_that_is_no_rank, "rank 2 receives from 4, which does not exist"},
    {pairs_that_rotate, "listed pairs are not symmetric"},
    {an_order_of_pairs, "send_recv names ranks and takes no order"},
};

/* --- programs ------------------------------------------------------------------------------ */

static void too_much_scratch(struct ronde_schedule *schedule)
{
    schedule->programs[0].scratch_chunks = (1u << 30) + 1;
}

static void lanes_that_begin_late(struct ronde_schedule *schedule)
{
    schedule->programs[0].lane_first[0] = 1;
}

static void lanes_that_end_early(struct ronde_schedule *schedule)
{
    schedule->programs[0].lane_first[schedule->programs[0].lane_count]--;
}

static void an_empty_lane(struct ronde_schedule *schedule)
{
    CU_ASSERT_FATAL(schedule->programs[0].lane_count > 1);
    schedule->programs[0].lane_first[1] = 0;
}

static void an_operation_of_no_name(struct ronde_schedule *schedule)
{
    first_step(schedule)->op = RONDE_STEP_OP_COUNT;
}

static void a_source_that_is_no_buffer(struct ronde_schedule *schedule)
{
    first_step(schedule)->source = RONDE_BUFFER_COUNT;
}

static void a_chunk_behind_the_buffer(struct ronde_schedule *schedule)
{
    first_step(schedule)->source_chunk = 1u << 24;
}

static void more_chunks_than_the_buffer(struct ronde_schedule *schedule)
{
    first_step(schedule)->chunk_count = 1u << 24;
}

static void a_range_of_no_list(struct ronde_schedule *schedule)
{
    first_step(schedule)->flags |= RONDE_FLAG_SOURCE_RANGE;
    first_step(schedule)->source_chunk = schedule->programs[0].range_count;
}

static void a_connection_of_no_list(struct ronde_schedule *schedule)
{
    first_step(schedule)->send = schedule->programs[0].connection_count;
}

static void a_send_by_the_other_end(struct ronde_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->programs[0].connection_count; i++)
        if (!schedule->programs[0].connections[i].is_send)
            first_step(schedule)->send = i;
}

static void a_peer_that_is_no_rank(struct ronde_schedule *schedule)
{
    schedule->programs[0].connections[0].peer = schedule->ranks;
}

static void a_rank_that_talks_to_itself(struct ronde_schedule *schedule)
{
    schedule->programs[0].connections[0].peer = 0;
}

static void dependencies_behind_the_list(struct ronde_schedule *schedule)
{
    first_step(schedule)->first_dependency = UINT32_MAX;
    first_step(schedule)->dependency_count = 1;
}

static const struct fault of_programs[] = {
    {too_much_scratch, "1073741825 scratch chunks are too many"},
    {lanes_that_begin_late, "the lanes do not cover"},
    {lanes_that_end_early, "the lanes do not cover"},
    {an_empty_lane, "the lanes do not cover"},
    {an_operation_of_no_name, "operation 10 does not exist"},
    {a_source_that_is_no_buffer, "the source is no buffer"},
    {a_chunk_behind_the_buffer, "source chunks 16777216+1 do not fit a buffer of 4"},
    {more_chunks_than_the_buffer, "source chunks 1+16777216 do not fit a buffer of 4"},
    {a_range_of_no_list, "range 0 does not exist"},
    {a_connection_of_no_list, "there is no send connection 6"},
    {a_send_by_the_other_end, "there is no send connection"},
    {a_peer_that_is_no_rank, "leads to 4, which is no other rank"},
    {a_rank_that_talks_to_itself, "leads to 0, which is no other rank"},
    {dependencies_behind_the_list, "dependencies 4294967295+1 do not exist"},
};

static void a_dependency_on_no_step(struct ronde_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->programs[0].dependency_count; i++)
        schedule->programs[0].dependencies[i] = schedule->programs[0].step_count;
}

static void a_dependency_within_a_lane(struct ronde_schedule *schedule)
{
    const struct ronde_program *program = &schedule->programs[0];
    for (uint32_t step = 0; step < program->step_count; step++)
        if (program->steps[step].dependency_count > 0)
            program->dependencies[program->steps[step].first_dependency] = step;
}

static const struct fault of_dependencies[] = {
    {a_dependency_on_no_step, "dependency on step 5, which is no step of another lane"},
    {a_dependency_within_a_lane, "dependency on step 2, which is no step of another lane"},
};

static void a_range_of_other_length(struct ronde_schedule *schedule)
{
    schedule->programs[0].ranges[0].count++;
}

static void a_range_that_stands_still(struct ronde_schedule *schedule)
{
    schedule->programs[0].ranges[0].run = 0;
}

static const struct fault of_ranges[] = {
    {a_range_of_other_length, "range 0 has run 1 and 3 chunks for a step of 2"},
    {a_range_that_stands_still, "range 0 has run 0 and 2 chunks for a step of 2"},
};

/* --- tests --------------------------------------------------------------------------------- */

#define EXPECT_FOUND(collective, algorithm, faults)                                                \
    expect_found(collective, algorithm, faults, sizeof(faults) / sizeof(faults)[0])

static void headers_are_checked(void)
{
    EXPECT_FOUND(RONDE_ALL_REDUCE, "ring", of_header);
}

static void positions_are_checked(void)
{
    EXPECT_FOUND(RONDE_ALL_REDUCE, "ring", of_symmetry);
    EXPECT_FOUND(RONDE_ALL_REDUCE, "recursive_doubling", of_exclusive_or);
    EXPECT_FOUND(RONDE_ALL_REDUCE, "ring", of_roots);
    EXPECT_FOUND(RONDE_BROADCAST, "chain", of_positions);
}

static void pairs_are_checked(void)
{
    EXPECT_FOUND(RONDE_SEND_RECV, "direct", of_pairs);
}

static void programs_are_checked(void)
{
    EXPECT_FOUND(RONDE_ALL_TO_ALL, "direct", of_programs);
}

static void side_tables_are_checked(void)
{
    EXPECT_FOUND(RONDE_ALL_GATHER, "recursive_doubling", of_dependencies);
    EXPECT_FOUND(RONDE_ALL_TO_ALL, "bruck", of_ranges);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"headers_are_checked", headers_are_checked},
        {"positions_are_checked", positions_are_checked},
        {"pairs_are_checked", pairs_are_checked},
        {"programs_are_checked", programs_are_checked},
        {"side_tables_are_checked", side_tables_are_checked},
    };
    return suite_run("check", cases, sizeof cases / sizeof cases[0]);
}
