/** What finishing derives from a schedule that is proved: its least depth, marks of its steps, and how they are lowered. */
#include "engine/prove/model.h"
#include "support/schedule.h"
#include "support/suite.h"

/* --- depth --------------------------------------------------------------------------------- */

/** Where a guard counts. */
struct counter {
    unsigned *steps;
};

/** A guard that holds no lane and counts the steps of all runs of a model. */
static uint32_t count_step(const struct ronde_model *model, uint32_t actor, uint32_t step)
{
    const struct counter *counter = model->guard_self;
    (void)actor;
    (void)step;
    (*counter->steps)++;
    return RONDE_NONE;
}

/** Finding the least depth runs no more steps than trying these depths, the last of which is it. */
static void expect_no_run_in_vain(const char *algorithm, const uint32_t *depths, size_t depth_count)
{
    static const struct ronde_guard guard = {count_step};
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, algorithm, 8);
    struct ronde_proof proof = {.ok = true};
    struct ronde_model model;
    unsigned steps = 0;
    const struct counter counter = {&steps};
    CU_ASSERT_FATAL(ronde_model_create(schedule, true, NULL, ronde_mem_default(), &proof, &model,
                                       NULL) == RONDE_OK);
    model.guard = &guard;
    model.guard_self = &counter;
    for (size_t i = 0; i < depth_count; i++)
        CU_ASSERT_EQUAL(ronde_model_complete(&model, depths[i]), i + 1 == depth_count);
    const unsigned needed = steps;
    CU_ASSERT(needed > 0);
    CU_ASSERT_EQUAL(ronde_model_min_depth(&model), depths[depth_count - 1]);
    CU_ASSERT_EQUAL(steps, 2 * needed);
    ronde_model_destroy(&model);
    ronde_schedule_destroy(schedule);
}

static void the_least_depth_is_found_without_a_run_in_vain(void)
{
    static const uint32_t one_after_another[] = {1, 2}, at_once[] = {1};
    expect_no_run_in_vain("ring", one_after_another, 2);
    expect_no_run_in_vain("recursive_doubling", at_once, 1);
}

static void least_depth_is_two_for_rings_and_one_for_trees(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t depth;
    } cases[] = {{RONDE_ALL_REDUCE, "ring", 2},        {RONDE_REDUCE_SCATTER, "ring", 2},
                 {RONDE_ALL_GATHER, "ring", 2},        {RONDE_ALL_REDUCE, "tree", 1},
                 {RONDE_ALL_REDUCE, "double_tree", 1}, {RONDE_ALL_REDUCE, "recursive_doubling", 1},
                 {RONDE_BROADCAST, "binomial", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_schedule *schedule =
            schedule_compile(cases[i].collective, cases[i].algorithm, 16);
        CU_ASSERT_EQUAL(schedule->proof.min_depth, cases[i].depth);
        ronde_schedule_destroy(schedule);
    }
}

/* --- marks and lowering -------------------------------------------------------------------- */

static void ring_reads_raw_inputs_and_completes_once(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 5);
    const struct ronde_program *program = &ring->programs[0];
    for (uint32_t i = 0; i < program->step_count; i++) {
        const bool reads_input = i < 5; /* the first send and the four reductions */
        CU_ASSERT_EQUAL((program->steps[i].flags & RONDE_FLAG_RAW) != 0, reads_input);
        CU_ASSERT_EQUAL((program->steps[i].flags & RONDE_FLAG_FINAL) != 0, i == 4);
        CU_ASSERT_EQUAL(program->steps[i].flags &
                            (RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE),
                        0);
    }
    ronde_schedule_destroy(ring);
}

static void ring_in_place_may_not_overwrite_what_is_being_pulled(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 4);
    const struct ronde_program *program = &ring->programs[0];
    /* step 0 sends in[0]; in place step 4 is the first to store into out[0] */
    CU_ASSERT_EQUAL(program->lowering[0].reuse_step[0], RONDE_NONE);
    CU_ASSERT_EQUAL(program->lowering[0].reuse_step[1], 4);
    CU_ASSERT_EQUAL(program->lowering[4].post_step[0], RONDE_NONE);
    CU_ASSERT_EQUAL(program->lowering[4].post_step[1], 0);
    ronde_schedule_destroy(ring);
}

static void results_that_are_read_again_are_known(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 4);
    struct ronde_schedule *direct = schedule_compile(RONDE_ALL_REDUCE, "direct", 4);
    for (uint32_t i = 0; i < ring->programs[0].step_count; i++)
        CU_ASSERT(!ring->programs[0].lowering[i].is_read);
    /* lane 1 adds up out[0] in steps 6 .. 8, which lane 0 sends afterwards, and then receives the other sums */
    for (uint32_t i = 0; i < direct->programs[0].step_count; i++)
        CU_ASSERT_EQUAL(direct->programs[0].lowering[i].is_read, i >= 6 && i < 9);
    ronde_schedule_destroy(ring);
    ronde_schedule_destroy(direct);
}

/* What is overwritten by two receives is free for the second once the first is over, which waits for the reader. */
static void second_overwriter_waits_for_the_first(void)
{
    static const char text[] = "ronde 1\n"
                               "collective all_reduce\n"
                               "algorithm pair\n"
                               "ranks 2\n"
                               "chunks 2\n"
                               "\n"
                               "program 0 positions 0\n"
                               "    rrc in[0+2] out[0+2] <- +1\n"
                               "    send out[0] -> +1\n"
                               "    send out[1] -> +1\n"
                               "\n"
                               "program 1 positions 1\n"
                               "    send in[0+2] -> -1\n"
                               "    recv out[0] <- -1\n"
                               "    recv out[1] <- -1\n";
    struct ronde_schedule *schedule = schedule_read(text);
    const struct ronde_step_lowering *lowering =
        schedule->programs[schedule->program_of[1]].lowering;
    CU_ASSERT_EQUAL(lowering[0].reuse_step[0], RONDE_NONE);
    CU_ASSERT_EQUAL(lowering[0].reuse_step[1], 1);
    CU_ASSERT_EQUAL(lowering[1].post_step[1], 0);
    CU_ASSERT_EQUAL(lowering[2].post_step[1], 1);
    CU_ASSERT_EQUAL(lowering[2].post_step[0], RONDE_NONE);
    ronde_schedule_destroy(schedule);
}

static void doubling_needs_slots_where_both_ends_overwrite(void)
{
    struct ronde_schedule *doubling = schedule_compile(RONDE_ALL_REDUCE, "recursive_doubling", 8);
    const struct ronde_program *program = &doubling->programs[0];
    CU_ASSERT_EQUAL(program->step_count, 4);
    /* the first send reads the input, which out of place no step overwrites */
    CU_ASSERT(!(program->steps[0].flags & RONDE_FLAG_BUFFERED));
    unsigned buffered = 0;
    for (uint32_t position = 0; position < 8; position++) {
        const struct ronde_program *each =
            &doubling->programs[doubling->program_of ? doubling->program_of[position] : 0];
        for (uint32_t i = 0; i + 1 < each->step_count; i++)
            buffered += (each->steps[i].flags & RONDE_FLAG_BUFFERED_IN_PLACE) != 0;
    }
    /* of each of the 12 exchanging pairs at least one side */
    CU_ASSERT(buffered >= 12);
    ronde_schedule_destroy(doubling);
}

static void trees_and_rings_never_need_slots(void)
{
    static const char *const names[] = {"ring", "tree", "double_tree"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, names[k], 13);
        for (uint32_t p = 0; p < schedule->program_count; p++)
            for (uint32_t i = 0; i < schedule->programs[p].step_count; i++)
                CU_ASSERT_EQUAL(schedule->programs[p].steps[i].flags &
                                    (RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE),
                                0);
        ronde_schedule_destroy(schedule);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(the_least_depth_is_found_without_a_run_in_vain),
        SUITE_CASE(least_depth_is_two_for_rings_and_one_for_trees),
        SUITE_CASE(ring_reads_raw_inputs_and_completes_once),
        SUITE_CASE(ring_in_place_may_not_overwrite_what_is_being_pulled),
        SUITE_CASE(results_that_are_read_again_are_known),
        SUITE_CASE(second_overwriter_waits_for_the_first),
        SUITE_CASE(doubling_needs_slots_where_both_ends_overwrite),
        SUITE_CASE(trees_and_rings_never_need_slots),
    };
    return suite_run("derived", cases, sizeof cases / sizeof cases[0]);
}
