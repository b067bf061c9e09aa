/** What the builder derives from facts, and what it refuses. */
#include "ronde/schedules.h"
#include "support/suite.h"

#include <string.h>

static struct ronde_builder *begin(enum ronde_collective collective, uint32_t ranks, uint32_t root)
{
    const struct ronde_request request = {.collective = collective, .ranks = ranks, .root = root};
    struct ronde_builder *builder = NULL;
    CU_ASSERT_FATAL(ronde_builder_create(&request, ronde_mem_default(), &builder, NULL) ==
                    RONDE_OK);
    return builder;
}

static void state(struct ronde_builder *builder, uint32_t from, uint32_t to,
                  struct ronde_operand source, struct ronde_operand target)
{
    const struct ronde_transfer transfer = {
        .from = from, .to = to, .source = source, .target = target};
    ronde_builder_transfer(builder, &transfer);
}

/** Finishes, expecting this status and a message that contains `text`. */
static void expect_error(struct ronde_builder *builder, enum ronde_status status, const char *text)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_finish(builder, NULL, &schedule, &error), status);
    CU_ASSERT(schedule == NULL);
    CU_ASSERT(strstr(error.message, text) != NULL);
    if (!strstr(error.message, text))
        suite_note("wanted \"%s\" in \"%s\"", text, error.message);
}

static struct ronde_schedule *finish(struct ronde_builder *builder)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_finish(builder, NULL, &schedule, &error), RONDE_OK);
    if (!schedule)
        suite_note("%s", error.message);
    CU_ASSERT_FATAL(schedule != NULL);
    return schedule;
}

static const struct ronde_operand in = {RONDE_IN, 0, 1};
static const struct ronde_operand out = {RONDE_OUT, 0, 1};

static void a_relay_receives_keeps_and_sends_in_one_step(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    ronde_builder_copy(builder, 0, 1, in, out);
    state(builder, 0, 1, in, out);
    state(builder, 1, 2, out, out);
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *relay = &schedule->programs[schedule->program_of[1]];
    CU_ASSERT_EQUAL(relay->step_count, 1);
    CU_ASSERT_EQUAL(relay->steps[0].op, RONDE_STEP_RCS);
    CU_ASSERT_EQUAL(schedule->proof.critical_path, 2);
    ronde_schedule_destroy(schedule);
}

static void a_kept_copy_that_nobody_needs_is_dropped(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    const struct ronde_operand scratch = {RONDE_SCRATCH, 0, 1};
    ronde_builder_scratch(builder, 1);
    ronde_builder_copy(builder, 0, 1, in, out);
    state(builder, 0, 1, in, scratch);
    state(builder, 1, 2, scratch, out);
    state(builder, 0, 1, in, out);
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *relay = &schedule->programs[schedule->program_of[1]];
    CU_ASSERT_EQUAL(relay->step_count, 2);
    CU_ASSERT_EQUAL(relay->steps[0].op, RONDE_STEP_RS);
    CU_ASSERT_EQUAL(relay->steps[1].op, RONDE_STEP_RECV);
    ronde_schedule_destroy(schedule);
}

static void a_reader_in_another_lane_waits_for_the_writer(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    ronde_builder_copy(builder, 0, 1, in, out);
    state(builder, 0, 1, in, out);
    const struct ronde_transfer relay = {
        .from = 1, .to = 2, .from_lane = 7, .source = out, .target = out};
    ronde_builder_transfer(builder, &relay);
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *program = &schedule->programs[schedule->program_of[1]];
    CU_ASSERT_EQUAL(program->lane_count, 2);
    CU_ASSERT_EQUAL(program->steps[1].op, RONDE_STEP_SEND);
    CU_ASSERT_EQUAL_FATAL(program->steps[1].dependency_count, 1);
    CU_ASSERT_EQUAL(program->dependencies[program->steps[1].first_dependency], 0);
    ronde_schedule_destroy(schedule);
}

static void lanes_between_the_same_ranks_get_connections_of_their_own(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_chunks(builder, 2);
    ronde_builder_copy(builder, 0, 2, ronde_chunks(RONDE_IN, 0, 2), ronde_chunks(RONDE_OUT, 0, 2));
    for (uint32_t lane = 0; lane < 2; lane++) {
        const struct ronde_transfer transfer = {.from = 0,
                                                .to = 1,
                                                .from_lane = lane,
                                                .to_lane = lane,
                                                .source = ronde_chunks(RONDE_IN, lane, 1),
                                                .target = ronde_chunks(RONDE_OUT, lane, 1)};
        ronde_builder_transfer(builder, &transfer);
    }
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *root = &schedule->programs[schedule->program_of[0]];
    CU_ASSERT_EQUAL_FATAL(root->connection_count, 2);
    CU_ASSERT(root->connections[0].tag != root->connections[1].tag);
    ronde_schedule_destroy(schedule);
}

static void the_root_moves_to_position_zero(void)
{
    const struct ronde_request request = {
        .collective = RONDE_BROADCAST, .algorithm = "binomial", .ranks = 5, .root = 3};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(schedule->channels[0].order != NULL);
    CU_ASSERT_EQUAL(schedule->channels[0].order[0], 3);
    CU_ASSERT_EQUAL(schedule->channels[0].position_of[3], 0);
    CU_ASSERT_EQUAL(schedule->channels[0].position_of[2], 4);
    ronde_schedule_destroy(schedule);
}

static void equal_requests_give_equal_hashes(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t hashes[3];
        for (uint32_t k = 0; k < 3; k++) {
            const struct ronde_request request = {.collective = algorithms[i].collective,
                                                  .algorithm = algorithms[i].name,
                                                  .ranks = k < 2 ? 8 : 16};
            struct ronde_schedule *schedule = NULL;
            CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) ==
                            RONDE_OK);
            hashes[k] = schedule->hash;
            ronde_schedule_destroy(schedule);
        }
        CU_ASSERT_EQUAL(hashes[0], hashes[1]);
        CU_ASSERT_NOT_EQUAL(hashes[0], hashes[2]);
    }
}

static void the_first_error_is_kept(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    state(builder, 0, 3, in, out);
    state(builder, 0, 1, in, ronde_chunks(RONDE_OUT, 9, 1));
    ronde_builder_chunks(builder, 4);
    expect_error(builder, RONDE_BAD_ARGUMENT, "position 0 to 3 of 3");
}

static void facts_that_do_not_fit_are_refused(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    state(builder, 0, 1, in, ronde_chunks(RONDE_OUT, 1, 1));
    expect_error(builder, RONDE_BAD_ARGUMENT, "target chunks 1+1 do not fit the 1");
    builder = begin(RONDE_BROADCAST, 3, 0);
    state(builder, 1, 1, in, out);
    expect_error(builder, RONDE_BAD_ARGUMENT, "no message can go from position 1 to 1");
    builder = begin(RONDE_BROADCAST, 3, 0);
    ronde_builder_copy(builder, 5, 0, in, out);
    expect_error(builder, RONDE_BAD_ARGUMENT, "no position 5");
    builder = begin(RONDE_BROADCAST, 3, 0);
    state(builder, 0, 1, in, out);
    ronde_builder_chunks(builder, 2);
    expect_error(builder, RONDE_BAD_ARGUMENT, "before any fact");
    builder = begin(RONDE_BROADCAST, 3, 0);
    ronde_builder_chunks(builder, 0);
    expect_error(builder, RONDE_BAD_ARGUMENT, "chunks per block 0");
    builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_fail(builder, RONDE_UNSUPPORTED, "not %s", "today");
    expect_error(builder, RONDE_UNSUPPORTED, "not today");
}

static void operands_of_one_fact_have_one_size(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_chunks(builder, 4);
    state(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 2), ronde_chunks(RONDE_OUT, 0, 3));
    expect_error(builder, RONDE_BAD_ARGUMENT, "operands of 2 and 3 chunks");
}

static void ring_of_65536_is_compiled_not_expanded(void)
{
    const struct ronde_request request = {
        .collective = RONDE_ALL_GATHER, .algorithm = "ring", .ranks = 1u << 16};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT(schedule->proof.quotient);
    CU_ASSERT_EQUAL(schedule->program_count, 1);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
#define CASE(name) {#name, name}
        CASE(a_relay_receives_keeps_and_sends_in_one_step),
        CASE(a_kept_copy_that_nobody_needs_is_dropped),
        CASE(a_reader_in_another_lane_waits_for_the_writer),
        CASE(lanes_between_the_same_ranks_get_connections_of_their_own),
        CASE(the_root_moves_to_position_zero),
        CASE(equal_requests_give_equal_hashes),
        CASE(the_first_error_is_kept),
        CASE(facts_that_do_not_fit_are_refused),
        CASE(operands_of_one_fact_have_one_size),
        CASE(ring_of_65536_is_compiled_not_expanded),
    };
    return suite_run("builder", cases, sizeof cases / sizeof cases[0]);
}
