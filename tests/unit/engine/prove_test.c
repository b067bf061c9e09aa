/** What the prover finds in good schedules and in each way to be wrong. */
#include "engine/ir/arena.h"
#include "engine/ir/finish.h"
#include "ronde/schedules.h"
#include "ronde/text.h"
#include "support/mutate.h"
#include "support/schedule.h"
#include "support/suite.h"

#include <string.h>

/** A raw, changeable copy of a built-in schedule, one program per position. */
static struct ronde_schedule *raw(enum ronde_collective collective, const char *algorithm,
                                  uint32_t ranks)
{
    struct ronde_schedule *schedule = schedule_compile(collective, algorithm, ranks);
    struct ronde_schedule *copy = mutate_unroll(schedule);
    ronde_schedule_destroy(schedule);
    CU_ASSERT_FATAL(copy != NULL);
    return copy;
}

/** Finishes a broken schedule, which it frees, and looks for a finding of this kind. */
static void expect_finding(struct ronde_schedule *broken, enum ronde_finding_code code)
{
    struct ronde_proof proof;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_finish_raw(broken, &proof, &error), RONDE_REJECTED);
    CU_ASSERT_EQUAL(error.status, RONDE_REJECTED);
    CU_ASSERT(!proof.ok && proof.finding_count > 0);
    bool is_found = false;
    for (uint32_t i = 0; i < proof.finding_count && i < RONDE_MAX_FINDINGS; i++)
        is_found = is_found || proof.findings[i].code == code;
    CU_ASSERT(is_found);
    if (!is_found)
        suite_note("wanted %s, got %s: %s", ronde_finding_text(code),
                   ronde_finding_text(proof.findings[0].code), proof.findings[0].text);
    CU_ASSERT(strstr(error.message, ronde_finding_text(proof.findings[0].code)) != NULL);
    ronde_schedule_destroy(broken);
}

static struct ronde_builder *begin(enum ronde_collective collective, uint32_t ranks)
{
    return schedule_builder(
        &(struct ronde_compile_request){.collective = collective, .ranks = ranks});
}

/** What a builder makes is rejected, first of all for a finding of this kind. */
static void expect_rejected(struct ronde_builder *builder, enum ronde_finding_code code)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof;
    CU_ASSERT_EQUAL(ronde_schedule_finish(builder, &proof, &schedule, NULL), RONDE_REJECTED);
    CU_ASSERT(schedule == NULL);
    CU_ASSERT_EQUAL(proof.findings[0].code, code);
}

/* --- good schedules ------------------------------------------------------------------------ */

static void ring_of_16384_is_proved_on_its_quotient(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 16384);
    CU_ASSERT(ring->proof.ok && ring->proof.quotient);
    CU_ASSERT_EQUAL(ring->proof.method, RONDE_PROOF_FINGERPRINT);
    CU_ASSERT_EQUAL(ring->proof.min_depth, 2);
    CU_ASSERT_EQUAL(ring->program_count, 1);
    CU_ASSERT_EQUAL(ring->programs[0].step_count, 32767);
    CU_ASSERT_EQUAL(ring->proof.sent_chunks_max, 2 * 16383);
    CU_ASSERT_EQUAL(ring->proof.critical_path, 2 * 16383);
    CU_ASSERT_EQUAL(ring->proof.messages, (uint64_t)2 * 16383 * 16384);
    ronde_schedule_destroy(ring);
}

static void compare_proofs(const struct ronde_schedule *schedule)
{
    struct ronde_proof expansion;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_schedule_prove_expansion(schedule, ronde_mem_default(), &expansion, &error),
                    RONDE_OK);
    const struct ronde_proof *proof = &schedule->proof;
    CU_ASSERT(!expansion.quotient);
    CU_ASSERT_EQUAL(expansion.min_depth, proof->min_depth);
    CU_ASSERT_EQUAL(expansion.critical_path, proof->critical_path);
    CU_ASSERT_EQUAL(expansion.steps, proof->steps);
    CU_ASSERT_EQUAL(expansion.messages, proof->messages);
    CU_ASSERT_EQUAL(expansion.sent_chunks_max, proof->sent_chunks_max);
    CU_ASSERT_EQUAL(expansion.received_chunks_max, proof->received_chunks_max);
    CU_ASSERT_EQUAL(expansion.reduced_chunks_max, proof->reduced_chunks_max);
    CU_ASSERT_EQUAL(expansion.dead_chunks, proof->dead_chunks);
    CU_ASSERT_EQUAL(expansion.rank_dependent_bits, proof->rank_dependent_bits);
}

static void quotient_and_expansion_agree_up_to_33_ranks(void)
{
    uint32_t count = 0, compared = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ranks = 1; ranks <= 33; ranks++) {
            const struct ronde_compile_request request = {.collective = algorithms[i]->collective,
                                                          .algorithm = algorithms[i]->name,
                                                          .ranks = ranks};
            if (algorithms[i]->supports(&request, NULL) != RONDE_OK)
                continue;
            struct ronde_schedule *schedule =
                schedule_compile(algorithms[i]->collective, algorithms[i]->name, ranks);
            CU_ASSERT(!schedule->proof.rank_dependent_bits);
            compare_proofs(schedule);
            compared += schedule->proof.quotient;
            ronde_schedule_destroy(schedule);
        }
    suite_note("%u quotients compared", compared);
    CU_ASSERT(compared >= 3 * 33);
}

/** 67 million steps written out: more than are proved one by one. */
static void bundles_of_16384_are_proved_on_their_quotient(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t shape[2];
        uint64_t sent_chunks;
    } cases[] = {{RONDE_ALL_REDUCE, "hierarchical", {2048, 8}, 2 * (7 * 2048 + 2047)},
                 {RONDE_ALL_REDUCE, "torus", {128, 128}, 2 * (127 * 128 + 127)},
                 {RONDE_ALL_GATHER, "hierarchical", {2048, 8}, 7 * 2048 + 2047}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_compile_request request = {.collective = cases[i].collective,
                                                      .algorithm = cases[i].algorithm,
                                                      .ranks = 16384,
                                                      .shape_count = 2,
                                                      .shape = {cases[i].shape[0],
                                                                cases[i].shape[1]}};
        struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
        CU_ASSERT(schedule->proof.ok && schedule->proof.quotient);
        CU_ASSERT_EQUAL(schedule->proof.sent_chunks_max, cases[i].sent_chunks);
        CU_ASSERT_EQUAL(schedule->proof.min_depth, 2);
        ronde_schedule_destroy(schedule);
    }
}

static void ring_of_1024_is_proved_written_out(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 1024);
    compare_proofs(ring);
    ronde_schedule_destroy(ring);
}

/* --- pairs of chunks --------------------------------------------------------------- */

/**
 * all_to_all of three ranks: each sends two blocks to the next one, which keeps the first, its own, and passes on the
 * second. They wait in scratch, whose chunks rotate like the blocks, or do not.
 */
static enum ronde_status pass_on_blocks(bool is_scratch_rotating, const uint32_t *order,
                                        struct ronde_proof *out_proof,
                                        struct ronde_schedule **out_schedule)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_TO_ALL,
                                                  .ranks = 3,
                                                  .order = order};
    const uint32_t first = is_scratch_rotating ? 1 : 0;
    struct ronde_builder *builder = schedule_builder(&request);
    ronde_builder_rotate(builder, true, true, is_scratch_rotating);
    ronde_builder_scratch(builder, 3);
    /* the target is named as the receiver, position 1, sees it */
    const struct ronde_transfer both = {.from = 0,
                                        .to = 1,
                                        .source = ronde_chunks(RONDE_IN, 1, 2),
                                        .target = ronde_chunks(RONDE_SCRATCH, first, 2)};
    const struct ronde_transfer second = {.from = 0,
                                          .to = 1,
                                          .source = ronde_chunks(RONDE_SCRATCH, 1, 1),
                                          .target = ronde_chunks(RONDE_OUT, 2, 1)};
    ronde_builder_transfer(builder, &both);
    ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_SCRATCH, 0, 1),
                       ronde_chunks(RONDE_OUT, 2, 1));
    ronde_builder_transfer(builder, &second);
    ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1), ronde_chunks(RONDE_OUT, 0, 1));
    return ronde_schedule_finish(builder, out_proof, out_schedule, NULL);
}

static void blocks_sorted_alike_everywhere_are_proved_on_the_quotient(void)
{
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL(pass_on_blocks(true, NULL, NULL, &schedule), RONDE_OK);
    CU_ASSERT_FATAL(schedule != NULL);
    CU_ASSERT(schedule->proof.quotient);
    compare_proofs(schedule);
    ronde_schedule_destroy(schedule);
}

/** all_gather of four ranks: blocks 3 and 0 of position 0 come out as 1 and 2 of position 2, last one first. */
static void blocks_that_wrap_at_one_end_keep_their_numbers(void)
{
    struct ronde_builder *builder = begin(RONDE_ALL_GATHER, 4);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    const struct ronde_operand pair = ronde_chunks(RONDE_OUT, 3, 2);
    const struct ronde_transfer hops[] = {{.from = 0, .to = 1, .source = in, .target = own},
                                          {.from = 0, .to = 2, .source = pair, .target = pair}};
    ronde_builder_rotate(builder, false, true, false);
    ronde_builder_copy(builder, 0, 0, in, own);
    for (size_t i = 0; i < sizeof hops / sizeof hops[0]; i++)
        ronde_builder_transfer(builder, &hops[i]);
    struct ronde_schedule *schedule = schedule_finish(builder);
    CU_ASSERT(schedule->proof.quotient);
    CU_ASSERT_EQUAL(schedule->v_form, RONDE_V_KNOWN_TO_ALL);
    compare_proofs(schedule);
    ronde_schedule_destroy(schedule);
}

/** The same two blocks once more, to no purpose but for one: what it came from is not dead, the other is. */
static void dead_work_is_counted_where_blocks_wrap(void)
{
    static const char text[] = "ronde 1\n"
                               "collective all_gather\n"
                               "algorithm wrapping\n"
                               "ranks 4\n"
                               "rotate out scratch\n"
                               "\n"
                               "program 0 scratch 4\n"
                               "  lane 0\n"
                               "    copy in[0] out[0]\n"
                               "    copy in[0] scratch[0]\n"
                               "    send in[0] -> +1\n"
                               "    recv out[3] <- -1\n"
                               "    send in[0] -> +2\n"
                               "    recv out[2] <- +2\n"
                               "    send scratch[0] -> +1\n"
                               "    recv scratch[3] <- -1\n"
                               "    send scratch[3+2] -> +2\n"
                               "    recv scratch[1+2] <- +2\n"
                               "    copy scratch[1] out[1]\n";
    struct ronde_schedule *schedule = schedule_read(text);
    CU_ASSERT(schedule->proof.quotient);
    CU_ASSERT_EQUAL(schedule->proof.dead_chunks, 4);
    compare_proofs(schedule);
    ronde_schedule_destroy(schedule);
}

static void expect_refused_by_expansion(bool is_scratch_rotating, const uint32_t *order)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof = {.quotient = true};
    CU_ASSERT_EQUAL(pass_on_blocks(is_scratch_rotating, order, &proof, &schedule), RONDE_REJECTED);
    CU_ASSERT(schedule == NULL);
    CU_ASSERT_EQUAL(proof.findings[0].code, RONDE_FINDING_WRONG_VALUE);
    CU_ASSERT(!proof.quotient);
}

/** all_reduce of three ranks whose last two chunks travel through rotating scratch, which has other parts at each. */
static void scratch_that_holds_other_parts_elsewhere_is_refused(void)
{
    static const char text[] = "ronde 1\n"
                               "collective all_reduce\n"
                               "algorithm bundle\n"
                               "ranks 3\n"
                               "chunks 3\n"
                               "rotate in out scratch\n"
                               "\n"
                               "program 0 scratch 3\n"
                               "    send in[0] -> +1\n"
                               "    rrs in[2] <- -1 -> +1\n"
                               "    rrc in[1] out[1] <- -1\n"
                               "    send out[1] -> +1\n"
                               "    recv out[0] <- -1\n"
                               "    copy out[0+2] scratch[0+2]\n"
                               "    send scratch[0+2] -> +1\n"
                               "    recv scratch[2+2] <- -1\n"
                               "    copy scratch[2] out[2]\n";
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof;
    CU_ASSERT_EQUAL(ronde_schedule_read(text, sizeof text - 1, "bundle", ronde_mem_default(),
                                        &proof, &schedule, NULL),
                    RONDE_REJECTED);
    CU_ASSERT(schedule == NULL);
    CU_ASSERT_EQUAL(proof.findings[0].code, RONDE_FINDING_EXTENT);
    CU_ASSERT(!proof.quotient);
}

static void blocks_that_one_position_sorts_otherwise_go_to_the_expansion(void)
{
    /* position 1 sends blocks 2 and 0: block 0 comes first, where 0 and 2 send their blocks in order */
    expect_refused_by_expansion(false, NULL);
}

static void blocks_that_an_order_sorts_otherwise_go_to_the_expansion(void)
{
    static const uint32_t order[] = {0, 2, 1};
    expect_refused_by_expansion(true, order);
}

/** all_reduce of three ranks that each add what comes in its own cyclic order, without a rotating buffer. */
static void fixed_inputs_are_followed_at_every_position_of_the_quotient(void)
{
    struct ronde_builder *builder = begin(RONDE_ALL_REDUCE, 3);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1),
                               out = ronde_chunks(RONDE_OUT, 0, 1),
                               scratch = ronde_chunks(RONDE_SCRATCH, 0, 1);
    ronde_builder_rotate(builder, false, false, false);
    ronde_builder_scratch(builder, 1);
    ronde_builder_copy(builder, 0, 0, in, scratch);
    for (uint32_t hop = 1; hop < 3; hop++) {
        const struct ronde_transfer transfer = {.from = 0,
                                                .to = hop,
                                                .from_lane = 1 + hop,
                                                .source = scratch,
                                                .with = hop == 1 ? in : out,
                                                .target = out,
                                                .reduces = true};
        ronde_builder_transfer(builder, &transfer);
    }
    struct ronde_schedule *schedule = schedule_finish(builder);
    CU_ASSERT(schedule->proof.quotient);
    CU_ASSERT(schedule->proof.rank_dependent_bits);
    compare_proofs(schedule);
    ronde_schedule_destroy(schedule);
}

/** Following the values at every position finds what is missing and what comes twice. */
static void fixed_inputs_must_all_arrive(void)
{
    struct ronde_schedule *doubling = schedule_compile(RONDE_ALL_REDUCE, "recursive_doubling", 8);
    struct ronde_schedule *broken = NULL;
    CU_ASSERT(doubling->proof.quotient);
    CU_ASSERT_FATAL(ronde_raw_copy(doubling, ronde_mem_default(), &broken, NULL) == RONDE_OK);
    ronde_schedule_destroy(doubling);
    /* two rounds with the same partner: its contribution twice, another's never */
    struct ronde_program *program = &broken->programs[0];
    for (uint32_t i = 0; i < program->connection_count; i++)
        if (program->connections[i].peer == 4) {
            program->connections[i].peer = 2;
            program->connections[i].tag = 1;
        }
    expect_finding(broken, RONDE_FINDING_TWICE);
}

/* --- requests ------------------------------------------------------------------------------ */

static void impossible_requests_are_refused(void)
{
    static const uint32_t ranks[] = {0, RONDE_MAX_RANKS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                      .algorithm = "ring",
                                                      .ranks = ranks[i]};
        struct ronde_schedule *schedule = (struct ronde_schedule *)&schedule;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT(schedule == NULL);
        CU_ASSERT(strstr(error.message, "1048576") != NULL);
    }
}

static void one_rank_copies(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 1);
    CU_ASSERT_EQUAL(ring->programs[0].step_count, 1);
    const struct ronde_step *copy = &ring->programs[0].steps[0];
    CU_ASSERT_EQUAL(copy->op, RONDE_STEP_COPY);
    CU_ASSERT_EQUAL(copy->flags, RONDE_FLAG_RAW | RONDE_FLAG_FINAL);
    ronde_schedule_destroy(ring);
}

/* --- every kind of violation --------------------------------------------------------------- */

static void a_chunk_beyond_the_buffer_is_out_of_bounds(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "ring", 4);
    broken->programs[2].steps[0].source_chunk = 4;
    expect_finding(broken, RONDE_FINDING_BOUNDS);
}

static void a_missing_receive_is_unmatched(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "ring", 4);
    struct ronde_program *program = &broken->programs[1];
    program->steps[program->step_count - 1].op = RONDE_STEP_NOP;
    expect_finding(broken, RONDE_FINDING_UNMATCHED);
}

static void receiving_before_sending_everywhere_is_a_cycle(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "recursive_doubling", 2);
    for (uint32_t p = 0; p < broken->program_count; p++) {
        struct ronde_step *steps = broken->programs[p].steps;
        const struct ronde_step first = steps[0];
        steps[0] = steps[1];
        steps[1] = first;
    }
    expect_finding(broken, RONDE_FINDING_CYCLE);
}

static void unordered_lanes_on_one_chunk_race(void)
{
    /* two ranks: the send in one lane, the receive that in place overwrites its source in another */
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "recursive_doubling", 2);
    struct ronde_program *program = &broken->programs[broken->program_of[0]];
    uint32_t *first = ronde_arena_new(broken->arena, 3, sizeof *first);
    CU_ASSERT_FATAL(first != NULL);
    first[1] = 1;
    first[2] = program->step_count;
    program->lane_first = first;
    program->lane_count = 2;
    expect_finding(broken, RONDE_FINDING_RACE);
}

static void reading_what_was_never_written_is_undefined(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "ring", 4);
    broken->programs[0].steps[0].source = RONDE_OUT;
    expect_finding(broken, RONDE_FINDING_UNDEFINED);
}

static void reducing_different_chunks_is_an_extent_error(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "ring", 4);
    broken->programs[0].steps[1].source_chunk = (broken->programs[0].steps[1].source_chunk + 1) % 4;
    expect_finding(broken, RONDE_FINDING_EXTENT);
}

static void combining_an_input_twice_is_refused(void)
{
    struct ronde_builder *builder = begin(RONDE_ALL_REDUCE, 2);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand out = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ronde_transfer transfer = {.from = i % 2,
                                                .to = (i + 1) % 2,
                                                .source = in,
                                                .with = i < 2 ? in : out,
                                                .target = out,
                                                .reduces = true};
        ronde_builder_transfer(builder, &transfer);
    }
    expect_rejected(builder, RONDE_FINDING_TWICE);
}

static void a_stolen_last_step_gives_a_wrong_value(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_GATHER, "ring", 3);
    struct ronde_step *steps = broken->programs[1].steps;
    const uint32_t kept = steps[1].destination_chunk;
    steps[1].destination_chunk = steps[2].destination_chunk;
    steps[2].destination_chunk = kept;
    expect_finding(broken, RONDE_FINDING_WRONG_VALUE);
}

static void writing_the_input_is_refused(void)
{
    struct ronde_schedule *broken = raw(RONDE_ALL_REDUCE, "ring", 3);
    broken->programs[0].steps[2].destination = RONDE_IN;
    expect_finding(broken, RONDE_FINDING_INPUT_WRITTEN);
}

static void a_message_that_reaches_no_output_is_dead_work(void)
{
    struct ronde_builder *builder = begin(RONDE_BROADCAST, 2);
    ronde_builder_scratch(builder, 1);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1),
                               out = ronde_chunks(RONDE_OUT, 0, 1),
                               scratch = ronde_chunks(RONDE_SCRATCH, 0, 1);
    const struct ronde_transfer used = {.from = 0, .to = 1, .source = in, .target = out};
    const struct ronde_transfer dead = {.from = 0, .to = 1, .source = in, .target = scratch};
    ronde_builder_copy(builder, 0, 1, in, out);
    ronde_builder_transfer(builder, &used);
    ronde_builder_transfer(builder, &dead);
    expect_rejected(builder, RONDE_FINDING_DEAD_WORK);
}

static void ranks_that_reduce_in_other_trees_are_labelled(void)
{
    /* one-step all-pairs of three ranks, each adding what comes in its own cyclic order */
    struct ronde_builder *builder = begin(RONDE_ALL_REDUCE, 3);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1),
                               out = ronde_chunks(RONDE_OUT, 0, 1),
                               scratch = ronde_chunks(RONDE_SCRATCH, 0, 1);
    ronde_builder_scratch(builder, 1);
    for (uint32_t position = 0; position < 3; position++)
        ronde_builder_copy(builder, position, 0, in, scratch);
    for (uint32_t hop = 1; hop < 3; hop++)
        for (uint32_t from = 0; from < 3; from++) {
            const struct ronde_transfer transfer = {.from = from,
                                                    .to = (from + hop) % 3,
                                                    .from_lane = 1 + hop,
                                                    .source = scratch,
                                                    .with = hop == 1 ? in : out,
                                                    .target = out,
                                                    .reduces = true};
            ronde_builder_transfer(builder, &transfer);
        }
    struct ronde_schedule *schedule = schedule_finish(builder);
    CU_ASSERT(schedule->proof.rank_dependent_bits);
    ronde_schedule_destroy(schedule);
}

static void an_order_that_is_no_permutation_is_refused(void)
{
    static const uint32_t order[] = {0, 1, 1};
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 3,
                                                  .order = order};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                    RONDE_REJECTED);
    CU_ASSERT(strstr(error.message, "order") != NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(ring_of_16384_is_proved_on_its_quotient),
        SUITE_CASE(quotient_and_expansion_agree_up_to_33_ranks),
        SUITE_CASE(bundles_of_16384_are_proved_on_their_quotient),
        SUITE_CASE(ring_of_1024_is_proved_written_out),
        SUITE_CASE(blocks_sorted_alike_everywhere_are_proved_on_the_quotient),
        SUITE_CASE(blocks_that_wrap_at_one_end_keep_their_numbers),
        SUITE_CASE(dead_work_is_counted_where_blocks_wrap),
        SUITE_CASE(scratch_that_holds_other_parts_elsewhere_is_refused),
        SUITE_CASE(blocks_that_one_position_sorts_otherwise_go_to_the_expansion),
        SUITE_CASE(blocks_that_an_order_sorts_otherwise_go_to_the_expansion),
        SUITE_CASE(fixed_inputs_are_followed_at_every_position_of_the_quotient),
        SUITE_CASE(fixed_inputs_must_all_arrive),
        SUITE_CASE(impossible_requests_are_refused),
        SUITE_CASE(one_rank_copies),
        SUITE_CASE(a_chunk_beyond_the_buffer_is_out_of_bounds),
        SUITE_CASE(a_missing_receive_is_unmatched),
        SUITE_CASE(receiving_before_sending_everywhere_is_a_cycle),
        SUITE_CASE(unordered_lanes_on_one_chunk_race),
        SUITE_CASE(reading_what_was_never_written_is_undefined),
        SUITE_CASE(reducing_different_chunks_is_an_extent_error),
        SUITE_CASE(combining_an_input_twice_is_refused),
        SUITE_CASE(a_stolen_last_step_gives_a_wrong_value),
        SUITE_CASE(writing_the_input_is_refused),
        SUITE_CASE(a_message_that_reaches_no_output_is_dead_work),
        SUITE_CASE(ranks_that_reduce_in_other_trees_are_labelled),
        SUITE_CASE(an_order_that_is_no_permutation_is_refused),
    };
    return suite_run("prove", cases, sizeof cases / sizeof cases[0]);
}
