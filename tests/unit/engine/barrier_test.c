/** Barriers: the ones that are, at any size, and the ones that only look like it. */
#include "ronde/schedules.h"
#include "ronde/text.h"
#include "support/suite.h"

#include <string.h>

static const uint32_t large[] = {64, 100, 128, 1000};

static void check_barrier(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = RONDE_BARRIER,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof, expansion;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), &proof, &schedule, &error),
                    RONDE_OK);
    if (!schedule) {
        suite_note("%s on %u ranks: %s", algorithm->name, ranks, error.message);
        return;
    }
    CU_ASSERT_EQUAL(proof.method, RONDE_PROOF_EXACT);
    CU_ASSERT_EQUAL(proof.min_depth, 1);
    CU_ASSERT_EQUAL(proof.sent_chunks_max, 0);
    CU_ASSERT_EQUAL(ronde_schedule_prove_expansion(schedule, ronde_mem_default(), &expansion, NULL),
                    RONDE_OK);
    CU_ASSERT_EQUAL(expansion.messages, proof.messages);
    CU_ASSERT_EQUAL(expansion.critical_path, proof.critical_path);
    ronde_schedule_destroy(schedule);
}

static void built_in_barriers_hold_all_ranks(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++) {
        if (algorithms[a]->collective != RONDE_BARRIER)
            continue;
        for (uint32_t ranks = 1; ranks <= 33; ranks++)
            check_barrier(algorithms[a], ranks);
        for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
            check_barrier(algorithms[a], large[i]);
    }
}

static struct ronde_builder *begin(uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = RONDE_BARRIER, .ranks = ranks};
    struct ronde_builder *builder = NULL;
    CU_ASSERT_FATAL(ronde_builder_create(&request, ronde_mem_default(), &builder, NULL) == RONDE_OK);
    return builder;
}

static void signal_to(struct ronde_builder *builder, uint32_t from, uint32_t to)
{
    const struct ronde_transfer signal = {.from = from, .to = to};
    ronde_builder_transfer(builder, &signal);
}

/** Finishes what is no barrier: the message must name the rank that leaves before another. */
static void expect_hole(struct ronde_builder *builder, const char *text)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_finish(builder, &proof, &schedule, &error), RONDE_REJECTED);
    CU_ASSERT_PTR_NULL(schedule);
    CU_ASSERT_EQUAL(proof.findings[0].code, RONDE_FINDING_WRONG_VALUE);
    CU_ASSERT(strstr(error.message, text) != NULL);
    if (!strstr(error.message, text))
        suite_note("wanted \"%s\" in \"%s\"", text, error.message);
}

static void one_round_too_few_is_refused(void)
{
    for (uint32_t ranks = 3; ranks <= 33; ranks++) {
        struct ronde_builder *builder = begin(ranks);
        ronde_builder_rotate(builder, false, false, false);
        for (uint32_t offset = 1; 2 * offset < ranks; offset *= 2)
            signal_to(builder, 0, offset);
        expect_hole(builder, "leaves the barrier before rank");
    }
}

/* Every rank gets a signal of the root, and the root of every rank, but in the wrong order. */
static void a_tree_that_goes_down_first_is_refused(void)
{
    struct ronde_builder *builder = begin(3);
    for (uint32_t leaf = 1; leaf < 3; leaf++)
        signal_to(builder, 0, leaf);
    for (uint32_t leaf = 1; leaf < 3; leaf++)
        signal_to(builder, leaf, 0);
    expect_hole(builder, "rank 1: leaves the barrier before rank 2 is known to have entered");
}

static void a_rank_that_waits_for_no_other_is_refused(void)
{
    struct ronde_builder *builder = begin(3);
    signal_to(builder, 1, 0);
    signal_to(builder, 2, 0);
    signal_to(builder, 0, 1);
    expect_hole(builder, "rank 2: leaves the barrier before rank 0");
}

/*
 * The sets of arrived ranks take a bit a pair: what would need more than a gigabyte is not proved,
 * and not tried.
 */
static void sets_beyond_a_gigabyte_are_not_proved(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_BARRIER,
                                                  .algorithm = "tree",
                                                  .ranks = 40000};
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), &proof, &schedule, &error),
                    RONDE_REJECTED);
    CU_ASSERT_PTR_NULL(schedule);
    CU_ASSERT_EQUAL(proof.findings[0].code, RONDE_FINDING_NOT_PROVED);
    CU_ASSERT(strstr(error.message, "sets of 40000 ranks are too many") != NULL);
}

/* A lane of its own may signal before the others have been waited for: nothing orders the two. */
static void a_signal_in_another_lane_is_refused(void)
{
    struct ronde_builder *builder = begin(3);
    signal_to(builder, 1, 0);
    signal_to(builder, 2, 0);
    for (uint32_t leaf = 1; leaf < 3; leaf++) {
        const struct ronde_transfer signal = {.from = 0, .to = leaf, .from_lane = 1};
        ronde_builder_transfer(builder, &signal);
    }
    expect_hole(builder, "rank 1: leaves the barrier before rank 2");
}

/* The same with a dependency, which only the text form can state, is one. */
static void a_dependency_orders_lanes(void)
{
    static const char text[] = "ronde 1\ncollective barrier\nranks 3\nstrict\n"
                               "program 0 positions 0\n"
                               "lane 0\nwait <- +1\nwait <- -1\n"
                               "lane 1\nsignal -> +1 after 0.1\nsignal -> -1\n"
                               "program 1 positions 1\nsignal -> -1\nwait <- -1\n"
                               "program 2 positions 2\nsignal -> +1\nwait <- +1\n";
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_read(text, strlen(text), "text", ronde_mem_default(), NULL,
                                        &schedule, &error),
                    RONDE_OK);
    if (!schedule)
        suite_note("%s", error.message);
    ronde_schedule_destroy(schedule);
}

static void ranks_that_wait_for_each_other_are_refused(void)
{
    static const char text[] = "ronde 1\ncollective barrier\nranks 2\n"
                               "program 0 positions 0 1\nwait <- +1\nsignal -> +1\n";
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_read(text, strlen(text), "text", ronde_mem_default(), NULL,
                                        &schedule, &error),
                    RONDE_REJECTED);
    CU_ASSERT(strstr(error.message, "cycle") != NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"built_in_barriers_hold_all_ranks", built_in_barriers_hold_all_ranks},
        {"one_round_too_few_is_refused", one_round_too_few_is_refused},
        {"a_tree_that_goes_down_first_is_refused", a_tree_that_goes_down_first_is_refused},
        {"a_rank_that_waits_for_no_other_is_refused", a_rank_that_waits_for_no_other_is_refused},
        {"sets_beyond_a_gigabyte_are_not_proved", sets_beyond_a_gigabyte_are_not_proved},
        {"a_signal_in_another_lane_is_refused", a_signal_in_another_lane_is_refused},
        {"a_dependency_orders_lanes", a_dependency_orders_lanes},
        {"ranks_that_wait_for_each_other_are_refused", ranks_that_wait_for_each_other_are_refused},
    };
    return suite_run("barrier", cases, sizeof cases / sizeof cases[0]);
}
