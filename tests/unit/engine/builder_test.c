/** What the builder derives from facts, and what it refuses. */
#include "ronde/schedules.h"
#include "support/suite.h"

#include <string.h>

static struct ronde_builder *begin(enum ronde_collective collective, uint32_t ranks, uint32_t root)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .ranks = ranks,
                                                  .root = root};
    struct ronde_builder *builder = NULL;
    CU_ASSERT_FATAL(ronde_builder_create(&request, ronde_mem_default(), &builder, NULL) == RONDE_OK);
    return builder;
}

static void state(struct ronde_builder *builder, uint32_t from, uint32_t to,
                  struct ronde_operand source, struct ronde_operand target)
{
    const struct ronde_transfer transfer = {.from = from,
                                            .to = to,
                                            .source = source,
                                            .target = target};
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

static const struct ronde_operand in = {.buffer = RONDE_IN, .count = 1};
static const struct ronde_operand out = {.buffer = RONDE_OUT, .count = 1};

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

static void a_kept_copy_that_no_step_reads_is_dropped(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    const struct ronde_operand scratch = ronde_chunks(RONDE_SCRATCH, 0, 1);
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
    const struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                                  .algorithm = "binomial",
                                                  .ranks = 5,
                                                  .root = 3};
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
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t hashes[3];
        for (uint32_t k = 0; k < 3; k++) {
            const struct ronde_compile_request request = {.collective = algorithms[i]->collective,
                                                          .algorithm = algorithms[i]->name,
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

static void operands_name_a_buffer(void)
{
    static const unsigned buffers[] = {RONDE_BUFFER_COUNT, 7, UINT32_MAX};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        const struct ronde_operand none = {.buffer = (enum ronde_buffer)buffers[i], .count = 1};
        struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
        state(builder, 0, 1, none, out);
        expect_error(builder, RONDE_BAD_ARGUMENT, "source chunks 0+1 do not fit the 0");
    }
}

static void requests_are_checked_before_anything_is_built(void)
{
    const struct ronde_compile_request good = {.collective = RONDE_BROADCAST, .ranks = 4};
    struct ronde_compile_request bad[5] = {good, good, good, good, good};
    static const char *const texts[5] = {"ranks 0 is outside 1 .. 1048576",
                                         "ranks 1048577 is outside", "collective 10 does not exist",
                                         "root 4 is not below ranks 4",
                                         "a shape of 7 digits multiplies to"};
    bad[0].ranks = 0;
    bad[1].ranks = RONDE_MAX_RANKS + 1;
    bad[2].collective = RONDE_COLLECTIVE_COUNT;
    bad[3].root = 4;
    bad[4].shape_count = RONDE_MAX_SHAPE + 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ronde_builder *builder = (struct ronde_builder *)&good;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_builder_create(&bad[i], ronde_mem_default(), &builder, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT(builder == NULL);
        CU_ASSERT(strstr(error.message, texts[i]) != NULL);
    }
}

static void what_holds_for_all_facts_is_declared_before_them(void)
{
    static const uint32_t radices[2] = {1, 2};
    for (unsigned which = 0; which < 6; which++) {
        struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
        state(builder, 0, 1, in, out);
        if (which == 0)
            ronde_builder_scratch(builder, 1);
        else if (which == 1)
            ronde_builder_rotate(builder, false, false, false);
        else if (which == 2)
            ronde_builder_xor(builder, false, false, false);
        else if (which == 3)
            ronde_builder_rotate_shape(builder, radices, 2);
        else if (which == 4)
            ronde_builder_channel(builder, 1, NULL);
        else
            ronde_builder_chunks(builder, 1);
        expect_error(builder, RONDE_BAD_ARGUMENT, "must be declared before any fact");
    }
}

static void symmetries_must_fit_the_ranks(void)
{
    static const uint32_t radices[7] = {1, 1, 1, 1, 1, 3, 2}, huge[2] = {UINT32_MAX, UINT32_MAX};
    struct ronde_builder *builder = begin(RONDE_ALL_REDUCE, 6, 0);
    ronde_builder_xor(builder, false, false, false);
    expect_error(builder, RONDE_BAD_ARGUMENT, "xor symmetry needs a power of two, 6 ranks");
    builder = begin(RONDE_ALL_REDUCE, 6, 0);
    ronde_builder_rotate_shape(builder, radices, 7);
    expect_error(builder, RONDE_BAD_ARGUMENT, "a shape of 7 digits does not multiply to 6");
    builder = begin(RONDE_ALL_REDUCE, 6, 0);
    ronde_builder_rotate_shape(builder, radices, 0);
    expect_error(builder, RONDE_BAD_ARGUMENT, "a shape of 0 digits does not multiply to 6");
    builder = begin(RONDE_ALL_REDUCE, 6, 0);
    ronde_builder_rotate_shape(builder, huge, 2);
    expect_error(builder, RONDE_BAD_ARGUMENT, "a shape of 2 digits does not multiply to 6");
    builder = begin(RONDE_ALL_REDUCE, 6, 0);
    ronde_builder_rotate(builder, false, false, false);
    state(builder, 1, 2, in, out);
    expect_error(builder, RONDE_BAD_ARGUMENT, "no message can go from position 1 to 2 of 6");
    builder = begin(RONDE_ALL_REDUCE, 6, 0);
    ronde_builder_rotate(builder, false, false, false);
    ronde_builder_copy(builder, 1, 0, in, out);
    expect_error(builder, RONDE_BAD_ARGUMENT, "there is no position 1");
}

static void rounds_neither_nest_nor_end_twice(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_round_begin(builder);
    ronde_builder_round_begin(builder);
    expect_error(builder, RONDE_BAD_ARGUMENT, "fact 0: rounds do not nest");
    builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_round_begin(builder);
    ronde_builder_round_end(builder);
    ronde_builder_round_end(builder);
    expect_error(builder, RONDE_BAD_ARGUMENT, "fact 0: there is no round to end");
}

static void lanes_have_a_bound(void)
{
    static const uint32_t lanes[] = {1u << 21, UINT32_MAX};
    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) {
        struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
        ronde_builder_copy(builder, 0, lanes[i], in, out);
        state(builder, 0, 1, in, out);
        expect_error(builder, RONDE_BAD_ARGUMENT, "is not below 2097152");
    }
}

static void operands_of_one_fact_have_one_size(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_chunks(builder, 4);
    state(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 2), ronde_chunks(RONDE_OUT, 0, 3));
    expect_error(builder, RONDE_BAD_ARGUMENT, "operands of 2 and 3 chunks");
    builder = begin(RONDE_ALL_REDUCE, 2, 0);
    ronde_builder_chunks(builder, 4);
    const struct ronde_transfer transfer = {.to = 1,
                                            .source = ronde_chunks(RONDE_IN, 0, 2),
                                            .with = ronde_chunks(RONDE_IN, 0, 1),
                                            .target = ronde_chunks(RONDE_OUT, 0, 2),
                                            .reduces = true};
    ronde_builder_transfer(builder, &transfer);
    expect_error(builder, RONDE_BAD_ARGUMENT, "operands of 1 and 2 chunks");
}

/** Two ranks, a block of 8 chunks: the even ones travel in one message, the odd ones in another. */
static struct ronde_builder *send_by_turns(uint32_t run, uint32_t stride)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_chunks(builder, 8);
    ronde_builder_copy(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 8), ronde_chunks(RONDE_OUT, 0, 8));
    for (uint32_t first = 0; first < stride; first += run)
        state(builder, 0, 1, ronde_chunk_runs(RONDE_IN, first, 8 * run / stride, run, stride),
              ronde_chunk_runs(RONDE_OUT, first, 8 * run / stride, run, stride));
    return builder;
}

static void strided_operands_become_ranges(void)
{
    struct ronde_schedule *schedule = finish(send_by_turns(1, 2));
    const struct ronde_program *root = &schedule->programs[schedule->program_of[0]];
    CU_ASSERT_EQUAL(schedule->proof.messages, 2);
    CU_ASSERT_EQUAL_FATAL(root->range_count, 2);
    CU_ASSERT_EQUAL(root->steps[1].flags & RONDE_FLAG_SOURCE_RANGE, RONDE_FLAG_SOURCE_RANGE);
    CU_ASSERT_EQUAL(root->steps[1].source_chunk, 1);
    CU_ASSERT_EQUAL(root->ranges[1].first, 1);
    CU_ASSERT_EQUAL(root->ranges[1].count, 4);
    CU_ASSERT_EQUAL(root->ranges[1].run, 1);
    CU_ASSERT_EQUAL(root->ranges[1].stride, 2);
    ronde_schedule_destroy(schedule);
}

/* Equal steps with other ranges are other programs and other hashes. */
static void ranges_tell_programs_apart(void)
{
    struct ronde_schedule *ones = finish(send_by_turns(1, 2));
    struct ronde_schedule *pairs = finish(send_by_turns(2, 4));
    CU_ASSERT_NOT_EQUAL(ones->hash, pairs->hash);
    ronde_schedule_destroy(ones);
    ronde_schedule_destroy(pairs);
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    ronde_builder_chunks(builder, 8);
    ronde_builder_copy(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 8), ronde_chunks(RONDE_OUT, 0, 8));
    for (uint32_t to = 1; to < 3; to++)
        for (uint32_t first = 0; first < 2 * to; first += to)
            state(builder, 0, to, ronde_chunk_runs(RONDE_IN, first, 4, to, 2 * to),
                  ronde_chunk_runs(RONDE_OUT, first, 4, to, 2 * to));
    struct ronde_schedule *schedule = finish(builder);
    CU_ASSERT_EQUAL(schedule->program_count, 3);
    ronde_schedule_destroy(schedule);
}

/* One set of chunks has one form, so that a relay is fused however it was stated. */
static void runs_that_touch_are_contiguous(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    const struct ronde_operand all = ronde_chunks(RONDE_OUT, 0, 8);
    ronde_builder_chunks(builder, 8);
    ronde_builder_copy(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 8), all);
    state(builder, 0, 1, ronde_chunk_runs(RONDE_IN, 0, 8, 2, 2),
          ronde_chunk_runs(RONDE_OUT, 0, 8, 8, 5));
    state(builder, 1, 2, all, all);
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *relay = &schedule->programs[schedule->program_of[1]];
    CU_ASSERT_EQUAL_FATAL(relay->step_count, 1);
    CU_ASSERT_EQUAL(relay->steps[0].op, RONDE_STEP_RCS);
    CU_ASSERT_EQUAL(relay->range_count, 0);
    ronde_schedule_destroy(schedule);
}

static void strided_relays_are_fused(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 3, 0);
    ronde_builder_chunks(builder, 4);
    ronde_builder_copy(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 4), ronde_chunks(RONDE_OUT, 0, 4));
    for (uint32_t first = 0; first < 2; first++) {
        const struct ronde_operand some = ronde_chunk_runs(RONDE_OUT, first, 2, 1, 2);
        state(builder, 0, 1, ronde_chunk_runs(RONDE_IN, first, 2, 1, 2), some);
        state(builder, 1, 2, some, some);
    }
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *relay = &schedule->programs[schedule->program_of[1]];
    CU_ASSERT_EQUAL_FATAL(relay->step_count, 2);
    CU_ASSERT_EQUAL(relay->steps[1].op, RONDE_STEP_RCS);
    CU_ASSERT_EQUAL(relay->ranges[relay->steps[1].destination_chunk].first, 1);
    ronde_schedule_destroy(schedule);
}

static void runs_that_meet_are_refused(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_chunks(builder, 8);
    state(builder, 0, 1, ronde_chunk_runs(RONDE_IN, 0, 4, 2, 1), ronde_chunks(RONDE_OUT, 0, 4));
    expect_error(builder, RONDE_BAD_ARGUMENT, "source runs of 2 chunks, 1 apart, meet among the 8");
    builder = begin(RONDE_BROADCAST, 2, 0);
    ronde_builder_chunks(builder, 8);
    state(builder, 0, 1, ronde_chunks(RONDE_IN, 0, 4), ronde_chunk_runs(RONDE_OUT, 3, 4, 1, 3));
    expect_error(builder, RONDE_BAD_ARGUMENT, "target runs of 1 chunks, 3 apart, meet among the 8");
}

/* What the receiver of an exchange by digits stores is stated where it is, and shifted back digit by digit. */
static void strided_operands_follow_a_shape(void)
{
    const uint32_t radices[] = {2, 3};
    struct ronde_builder *builder = begin(RONDE_ALL_GATHER, 6, 0);
    ronde_builder_rotate(builder, false, true, false);
    ronde_builder_rotate_shape(builder, radices, 2);
    ronde_builder_copy(builder, 0, 0, in, out);
    state(builder, 0, 3, out, out);
    for (uint32_t local = 1; local < 3; local++) {
        const struct ronde_operand column = ronde_chunk_runs(RONDE_OUT, 0, 2, 1, 3);
        state(builder, 0, local, column, column);
    }
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *program = &schedule->programs[0];
    CU_ASSERT_EQUAL(program->step_count, 7);
    CU_ASSERT_EQUAL_FATAL(program->range_count, 4);
    CU_ASSERT_EQUAL(program->ranges[0].first, 0); /* own column sent */
    CU_ASSERT_EQUAL(program->ranges[1].first, 2); /* that of the rank before: digit 0 - 1 modulo 3 */
    CU_ASSERT_EQUAL(schedule->proof.sent_chunks_max, 5);
    ronde_schedule_destroy(schedule);
}

/* A barrier's messages are empty: operands say nothing, and nothing is fused. */
static void barriers_are_made_of_signals(void)
{
    struct ronde_builder *builder = begin(RONDE_BARRIER, 3, 0);
    state(builder, 1, 0, ronde_chunks(RONDE_SCRATCH, 7, 2), out);
    state(builder, 2, 0, in, ronde_chunks(RONDE_IN, 0, 0));
    for (uint32_t to = 1; to < 3; to++)
        state(builder, 0, to, out, out);
    struct ronde_schedule *schedule = finish(builder);
    const struct ronde_program *root = &schedule->programs[schedule->program_of[0]];
    CU_ASSERT_EQUAL_FATAL(root->step_count, 4);
    for (uint32_t s = 0; s < 4; s++) {
        CU_ASSERT_EQUAL(root->steps[s].op, s < 2 ? RONDE_STEP_RECV : RONDE_STEP_SEND);
        CU_ASSERT_EQUAL(root->steps[s].chunk_count, 0);
    }
    CU_ASSERT_EQUAL(root->steps[0].destination, RONDE_OUT);
    CU_ASSERT_EQUAL(root->steps[2].source, RONDE_IN);
    CU_ASSERT_EQUAL(schedule->proof.messages, 4);
    CU_ASSERT_EQUAL(schedule->proof.sent_chunks_max, 0);
    ronde_schedule_destroy(schedule);
}

static void ring_of_65536_is_compiled_not_expanded(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_GATHER,
                                                  .algorithm = "ring",
                                                  .ranks = 1u << 16};
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
        CASE(a_kept_copy_that_no_step_reads_is_dropped),
        CASE(a_reader_in_another_lane_waits_for_the_writer),
        CASE(lanes_between_the_same_ranks_get_connections_of_their_own),
        CASE(the_root_moves_to_position_zero),
        CASE(equal_requests_give_equal_hashes),
        CASE(the_first_error_is_kept),
        CASE(facts_that_do_not_fit_are_refused),
        CASE(operands_of_one_fact_have_one_size),
        CASE(operands_name_a_buffer),
        CASE(requests_are_checked_before_anything_is_built),
        CASE(what_holds_for_all_facts_is_declared_before_them),
        CASE(symmetries_must_fit_the_ranks),
        CASE(rounds_neither_nest_nor_end_twice),
        CASE(lanes_have_a_bound),
        CASE(strided_operands_become_ranges),
        CASE(ranges_tell_programs_apart),
        CASE(runs_that_touch_are_contiguous),
        CASE(strided_relays_are_fused),
        CASE(runs_that_meet_are_refused),
        CASE(strided_operands_follow_a_shape),
        CASE(barriers_are_made_of_signals),
        CASE(ring_of_65536_is_compiled_not_expanded),
    };
    return suite_run("builder", cases, sizeof cases / sizeof cases[0]);
}
