/* The host backend: what conformance cannot see, above all what it does with unproved schedules. */
#include "engine/ir/finish.h"
#include "support/buffers.h"
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/engine.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct ronde_error error;
static void *host;

static void open_host(void)
{
    struct ronde_machine machine;
    memset(&error, 0, sizeof error);
    CU_ASSERT_FATAL(ronde_backend_host.probe(&machine, &error) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.open(&machine, ronde_mem_default(), &host, &error) ==
                    RONDE_OK);
}

/* An unfinished copy of the ring, whose one program tests change before they finish it unproved. */
static struct ronde_schedule *raw_ring(uint32_t ranks)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", ranks);
    struct ronde_schedule *raw;
    CU_ASSERT_FATAL(ronde_raw_copy(ring, ronde_mem_default(), &raw, &error) == RONDE_OK);
    ronde_schedule_destroy(ring);
    return raw;
}

static struct ronde_step *last_step(struct ronde_schedule *schedule)
{
    struct ronde_program *program = &schedule->programs[0];
    return &program->steps[program->step_count - 1];
}

/* Runs once on small integers and checks the result unless it fails. */
static enum ronde_status run_once(const struct ronde_schedule *schedule, uint64_t count,
                                  uint32_t depth, uint64_t slot_bytes)
{
    const struct buffers_shape shape = {.collective = schedule->collective,
                                        .ranks = schedule->ranks,
                                        .root = schedule->root,
                                        .count = count,
                                        .dtype = RONDE_INT32};
    struct buffers actual;
    struct buffers expected;
    char text[256];
    CU_ASSERT_FATAL(buffers_create(&shape, &actual) && buffers_create(&shape, &expected));
    CU_ASSERT_FATAL(buffers_expect(&expected));
    const struct ronde_launch launch = {.count = count,
                                        .dtype = RONDE_INT32,
                                        .in = actual.in,
                                        .out = actual.out,
                                        .depth = depth,
                                        .slot_bytes = slot_bytes,
                                        .seed = count};
    struct ronde_result result;
    memset(&error, 0, sizeof error);
    const enum ronde_status status =
        ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch, &result, &error);
    if (status == RONDE_OK) {
        const bool differs = buffers_differ(&actual, &expected, text, sizeof text);
        CU_ASSERT(!differs);
        if (differs)
            suite_note("%s", text);
        CU_ASSERT(result.is_virtual && result.elapsed_ns == 0);
    }
    buffers_destroy(&actual);
    buffers_destroy(&expected);
    return status;
}

/* Finishes a changed ring, runs it, and checks that the message contains every given part. */
static void expect_device(struct ronde_schedule *raw, uint64_t count, const char *const *parts)
{
    open_host();
    CU_ASSERT_FATAL(ronde_finish_unproved(raw, 1, &error) == RONDE_OK);
    CU_ASSERT_EQUAL(run_once(raw, count, 0, 0), RONDE_DEVICE);
    for (; *parts; parts++)
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, *parts));
    suite_note("%s", error.message);
    ronde_backend_host.close(host);
    ronde_schedule_destroy(raw);
}

static void run_names_lane_of_deadlock(void)
{
    struct ronde_schedule *raw = raw_ring(4);
    struct ronde_step *first = &raw->programs[0].steps[0];
    first->op = RONDE_STEP_NOP;
    first->source = RONDE_BUFFER_COUNT;
    first->send = RONDE_NONE;
    first->chunk_count = 0;
    const char *const parts[] = {"no lane can go on", "lane 0 step 1 (rrs)",
                                 "waits for a message from rank", NULL};
    expect_device(raw, 100, parts);
}

static void run_finds_message_of_another_length(void)
{
    struct ronde_schedule *raw = raw_ring(4);
    /* 17 elements are 5 grains: chunks of 1, 1, 1 and 2 grains. */
    last_step(raw)->destination_chunk = (last_step(raw)->destination_chunk + 1) % 4;
    const char *const parts[] = {"step contradicts its operands", "message length differs",
                                 "(recv)", NULL};
    expect_device(raw, 17, parts);
}

static void run_finds_operands_of_different_lengths(void)
{
    struct ronde_schedule *raw = raw_ring(4);
    struct ronde_step *steps = raw->programs[0].steps;
    uint32_t s = 0;
    while (steps[s].op != RONDE_STEP_RRCS)
        s++;
    steps[s].destination_chunk = (steps[s].destination_chunk + 1) % 4;
    const char *const parts[] = {"source and destination differ in length", "(rrcs)", NULL};
    expect_device(raw, 17, parts);
}

static void run_blocks_when_slots_are_full(void)
{
    /* With one slot no rank of a ring can pass on before its neighbour has; the prover requires two. */
    struct ronde_schedule *raw = raw_ring(4);
    open_host();
    CU_ASSERT_FATAL(ronde_finish_unproved(raw, 1, &error) == RONDE_OK);
    CU_ASSERT_EQUAL(run_once(raw, 100, 1, 0), RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "waits for a free slot to rank"));
    CU_ASSERT_EQUAL(run_once(raw, 100, 2, 0), RONDE_OK);
    ronde_backend_host.close(host);
    ronde_schedule_destroy(raw);
}

static void load_refuses_unproved_scratch(void)
{
    struct ronde_schedule *raw = raw_ring(4);
    raw->programs[0].scratch_chunks = 4;
    last_step(raw)->destination = RONDE_SCRATCH;
    open_host();
    CU_ASSERT_FATAL(ronde_finish_unproved(raw, 1, &error) == RONDE_OK);
    void *program;
    CU_ASSERT_EQUAL(ronde_backend_host.load(host, raw, &program, &error), RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NULL(program);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "works in scratch only"));
    ronde_backend_host.close(host);
    ronde_schedule_destroy(raw);
}

/* A broadcast through scratch: positions pass all chunks on from scratch, in two messages of unequal chunks. */
static struct ronde_schedule *scratch_chain(uint32_t ranks, uint32_t chunks)
{
    const struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                                  .algorithm = "scratch_chain",
                                                  .ranks = ranks};
    struct ronde_builder *builder = schedule_builder(&request);
    ronde_builder_chunks(builder, chunks);
    ronde_builder_scratch(builder, chunks);
    ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, chunks),
                       ronde_chunks(RONDE_OUT, 0, chunks));
    for (uint32_t p = 0; p + 1 < ranks; p++) {
        const enum ronde_buffer from = p == 0 ? RONDE_IN : RONDE_SCRATCH;
        const struct ronde_transfer hop = {.from = p,
                                           .to = p + 1,
                                           .source = ronde_chunks(from, 0, chunks),
                                           .target = ronde_chunks(RONDE_SCRATCH, 0, chunks)};
        ronde_builder_transfer(builder, &hop);
        ronde_builder_copy(builder, p + 1, 0, ronde_chunks(RONDE_SCRATCH, 0, chunks),
                           ronde_chunks(RONDE_OUT, 0, chunks));
    }
    return schedule_finish(builder);
}

static void run_moves_several_chunks_through_scratch(void)
{
    open_host();
    struct ronde_schedule *schedule = scratch_chain(4, 3);
    CU_ASSERT_EQUAL(schedule->max_chunk_count, 3);
    const uint64_t counts[] = {0, 1, 2, 7, 17, 100, 1001};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        CU_ASSERT_EQUAL(run_once(schedule, counts[k], 1, 64), RONDE_OK);
        CU_ASSERT_EQUAL(run_once(schedule, counts[k], 0, 0), RONDE_OK);
    }
    ronde_schedule_destroy(schedule);
    ronde_backend_host.close(host);
}

/*
 * A ring all_reduce of three ranks whose first sums and results wait in scratch: one program for all positions, so
 * the part that a scratch chunk holds shifts with the position.
 */
static struct ronde_schedule *scratch_relay(void)
{
    const uint32_t ranks = 3;
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "scratch_relay",
                                                  .ranks = ranks};
    struct ronde_builder *builder = schedule_builder(&request);
    ronde_builder_chunks(builder, ranks);
    ronde_builder_scratch(builder, 1);
    ronde_builder_rotate(builder, true, true, false);
    const struct ronde_operand scratch = ronde_chunks(RONDE_SCRATCH, 0, 1);
    const struct ronde_transfer hops[] = {
        {0, 1, 0, 0, ronde_chunks(RONDE_IN, 0, 1), ronde_chunks(RONDE_IN, 0, 1), scratch, true,
         false},
        {0, 1, 0, 0, scratch, ronde_chunks(RONDE_IN, 2, 1), ronde_chunks(RONDE_OUT, 2, 1), true,
         false},
        {0, 1, 0, 0, ronde_chunks(RONDE_OUT, 1, 1), scratch, scratch, false, false},
        {0, 1, 0, 0, scratch, scratch, ronde_chunks(RONDE_OUT, 0, 1), false, false},
    };
    for (size_t k = 0; k < sizeof hops / sizeof hops[0]; k++) {
        ronde_builder_transfer(builder, &hops[k]);
        if (k == 2)
            ronde_builder_copy(builder, 0, 0, scratch, ronde_chunks(RONDE_OUT, 0, 1));
    }
    return schedule_finish(builder);
}

static void run_shifts_parts_held_in_scratch(void)
{
    open_host();
    struct ronde_schedule *schedule = scratch_relay();
    for (uint64_t count = 0; count < 40; count++)
        CU_ASSERT_EQUAL(run_once(schedule, count, 0, 16), RONDE_OK);
    ronde_schedule_destroy(schedule);
    ronde_backend_host.close(host);
}

/*
 * An all_gather of six ranks that passes two blocks of others on in one message: they wrap round the end of the output
 * for position 1 and, under an order, lie apart.
 */
static struct ronde_schedule *pairwise_gather(const uint32_t *order)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_GATHER,
                                                  .algorithm = "pairwise_gather",
                                                  .ranks = 6,
                                                  .order = order};
    struct ronde_builder *builder = schedule_builder(&request);
    ronde_builder_rotate(builder, false, true, false);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    const struct ronde_operand two = ronde_chunks(RONDE_OUT, 4, 2);
    const struct ronde_operand last = ronde_chunks(RONDE_OUT, 2, 1);
    const struct ronde_transfer hops[] = {
        {.from = 0, .to = 1, .source = in, .target = own},
        {.from = 0, .to = 2, .source = in, .target = own},
        {.from = 0, .to = 2, .source = two, .target = two},
        {.from = 0, .to = 1, .source = last, .target = last},
    };
    ronde_builder_copy(builder, 0, 0, in, own);
    for (size_t k = 0; k < sizeof hops / sizeof hops[0]; k++)
        ronde_builder_transfer(builder, &hops[k]);
    return schedule_finish(builder);
}

static void messages_hold_chunks_in_ascending_order(void)
{
    static const uint32_t order[] = {2, 0, 5, 3, 1, 4};
    open_host();
    for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
        struct ronde_schedule *schedule = pairwise_gather(is_ordered ? order : NULL);
        CU_ASSERT_EQUAL(schedule->max_chunk_count, 2);
        for (uint64_t count = 0; count < 60; count += 7)
            CU_ASSERT_EQUAL(run_once(schedule, count, 0, 64), RONDE_OK);
        ronde_schedule_destroy(schedule);
    }
    ronde_backend_host.close(host);
}

/* Elements whose sums wrap, whose order matters or whose sign is easily lost. */
static void store_special(enum ronde_dtype dtype, uint32_t index, void *element)
{
    static const double floats[] = {0.0, -0.0, 1.5, -2.25, INFINITY, -INFINITY, FLT_MAX, FLT_MIN};
    static const int32_t integers[] = {0, 1, -1, 7, INT_MAX, INT_MIN, 255, 128};
    if (reference_is_floating(dtype))
        reference_store(dtype, element, index % 9 == 8 ? (double)NAN : floats[index % 9]);
    else
        reference_store(dtype, element, integers[index % 8]);
}

#define SPECIALS 81u

/* All pairs of special values through a reduction of two ranks. */
static void check_reduction(const struct ronde_schedule *schedule, enum ronde_dtype dtype,
                            enum ronde_op op)
{
    double memory[4][SPECIALS];
    const uint32_t size = ronde_dtype_bytes(dtype);
    void *in[2] = {memory[0], memory[1]};
    void *out[2] = {memory[2], memory[3]};
    for (uint32_t i = 0; i < SPECIALS; i++) {
        store_special(dtype, i % 9, (char *)in[0] + i * size);
        store_special(dtype, i / 9, (char *)in[1] + i * size);
    }
    uint64_t factors[2] = {0, 0};
    for (uint32_t rank = 0; rank < 2; rank++)
        reference_store(dtype, (char *)factors + rank * size, 3 - rank);
    const struct ronde_launch launch = {
        .count = SPECIALS, .dtype = dtype, .op = op, .in = in, .out = out, .factors = factors};
    struct ronde_result result;
    CU_ASSERT_FATAL(ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch, &result,
                                           &error) == RONDE_OK);
    for (uint32_t i = 0; i < SPECIALS; i++) {
        double wanted;
        void *wanted_out[2] = {&wanted, &wanted};
        void *one_in[2] = {(char *)in[0] + i * size, (char *)in[1] + i * size};
        const struct reference reference = {.collective = RONDE_ALL_REDUCE,
                                            .ranks = 2,
                                            .count = 1,
                                            .dtype = dtype,
                                            .op = op,
                                            .factors = factors,
                                            .in = {one_in, NULL},
                                            .out = {wanted_out, NULL}};
        reference_run(&reference);
        for (int rank = 0; rank < 2; rank++) {
            const void *const got = (char *)out[rank] + i * size;
            const bool are_nan = reference_is_nan(dtype, got) && reference_is_nan(dtype, &wanted);
            const bool is_right = are_nan || memcmp(got, &wanted, size) == 0;
            CU_ASSERT(is_right);
            if (!is_right)
                suite_note("%s %s pair %u", ronde_dtype_text(dtype), ronde_op_text(op), i);
        }
    }
}

static void reductions_follow_the_written_rules(void)
{
    open_host();
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 2);
    for (int dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++)
        for (int op = 0; op < RONDE_OP_COUNT; op++)
            if (reference_is_defined((enum ronde_dtype)dtype, (enum ronde_op)op))
                check_reduction(schedule, (enum ronde_dtype)dtype, (enum ronde_op)op);
    ronde_schedule_destroy(schedule);
    ronde_backend_host.close(host);
}

static void min_and_max_prefer_numbers_and_order_zeros(void)
{
    /* The rules themselves, spelled out, so that reference and kernels cannot be wrong together. */
    open_host();
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 2);
    float in0[] = {NAN, 1.0f, 0.0f, -0.0f};
    float in1[] = {2.0f, NAN, -0.0f, 0.0f};
    float out0[4], out1[4];
    void *in[] = {in0, in1}, *out[] = {out0, out1};
    for (int is_max = 0; is_max < 2; is_max++) {
        const enum ronde_op op = is_max ? RONDE_MAX : RONDE_MIN;
        const struct ronde_launch launch = {
            .count = 4, .dtype = RONDE_FLOAT32, .op = op, .in = in, .out = out};
        struct ronde_result result;
        CU_ASSERT_FATAL(ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch,
                                               &result, &error) == RONDE_OK);
        CU_ASSERT(out0[0] == 2.0f && out0[1] == 1.0f);
        for (int zero = 2; zero < 4; zero++) {
            CU_ASSERT_EQUAL(signbit(out0[zero]) != 0, !is_max);
            CU_ASSERT_EQUAL(signbit(out1[zero]) != 0, !is_max);
        }
    }
    ronde_schedule_destroy(schedule);
    ronde_backend_host.close(host);
}

static void expect_refusal(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                           const char *part)
{
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_launch_check(schedule, launch, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
    if (!strstr(error.message, part))
        suite_note("wanted \"%s\", got \"%s\"", part, error.message);
}

static void collectives_without_a_form_in_place_refuse_shared_buffers(void)
{
    int memory[2][3] = {{0}};
    void *first[] = {&memory[0][0], &memory[0][1], &memory[0][2]};
    void *second[] = {&memory[1][0], &memory[0][1], &memory[1][2]};
    for (uint32_t k = 0; k < 2; k++) {
        struct ronde_schedule *schedule =
            schedule_compile(k == 0 ? RONDE_SEND_RECV : RONDE_ALL_TO_ALL, "direct", 3);
        struct ronde_launch launch = {.dtype = RONDE_INT32, .in = first, .out = second};
        CU_ASSERT_EQUAL(ronde_launch_check(schedule, &launch, &error), RONDE_OK);
        launch.count = 1;
        expect_refusal(schedule, &launch, "in and out of rank 1 are the same memory");
        ronde_schedule_destroy(schedule);
    }
}

static void launch_check_names_field_value_and_bound(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 3);
    int memory[3];
    void *all[] = {&memory[0], &memory[1], &memory[2]};
    void *holed[] = {&memory[0], NULL, &memory[2]};
    const struct ronde_launch good = {.count = 1, .dtype = RONDE_INT32, .in = all, .out = all};
    struct ronde_launch bad = good;
    CU_ASSERT_EQUAL(ronde_launch_check(schedule, &good, &error), RONDE_OK);
    bad.dtype = (enum ronde_dtype)RONDE_DTYPE_COUNT;
    expect_refusal(schedule, &bad, "dtype 15, there are 15");
    bad = good;
    bad.protocol = RONDE_PROTOCOL_COUNT;
    expect_refusal(schedule, &bad, "protocol 4, there are 4");
    bad = good;
    bad.level = RONDE_LEVEL_COUNT;
    expect_refusal(schedule, &bad, "level 4, there are 4");
    bad = good;
    bad.op = (enum ronde_op)77;
    expect_refusal(schedule, &bad, "op 77, there are 9");
    bad = good;
    bad.slot_bytes = 15;
    expect_refusal(schedule, &bad, "slot_bytes 15, at least 16");
    bad = good;
    bad.depth = 1;
    expect_refusal(schedule, &bad, "depth 1, this schedule needs at least 2");
    bad = good;
    bad.count = UINT64_MAX / 2;
    expect_refusal(schedule, &bad, "would exceed the address space");
    bad = good;
    bad.in = holed;
    expect_refusal(schedule, &bad, "in of rank 1 is NULL, all_reduce needs it");
    bad = good;
    bad.out = NULL;
    expect_refusal(schedule, &bad, "out of rank 0 is NULL, all_reduce needs it");
    ronde_schedule_destroy(schedule);
}

static void count_zero_needs_no_buffers(void)
{
    open_host();
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "tree", 5);
    const struct ronde_launch launch = {.dtype = RONDE_INT32};
    struct ronde_result result;
    CU_ASSERT_EQUAL(ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch, &result,
                                           &error),
                    RONDE_OK);
    ronde_schedule_destroy(schedule);
    ronde_backend_host.close(host);
}

/* A program with buffers for four ranks, to be run several times. */
struct loaded {
    struct ronde_schedule *schedule;
    void *program;
    int32_t in[4][100];
    int32_t out[4][100];
    void *ins[4];
    void *outs[4];
    struct ronde_launch launch;
};

static void load(struct loaded *loaded)
{
    open_host();
    loaded->schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 4);
    for (int rank = 0; rank < 4; rank++) {
        loaded->ins[rank] = loaded->in[rank];
        loaded->outs[rank] = loaded->out[rank];
        for (int i = 0; i < 100; i++) {
            loaded->in[rank][i] = rank + i;
            loaded->out[rank][i] = -1;
        }
    }
    loaded->launch = (struct ronde_launch){.count = 100,
                                           .dtype = RONDE_INT32,
                                           .in = loaded->ins,
                                           .out = loaded->outs,
                                           .slot_bytes = 16};
    CU_ASSERT_FATAL(ronde_backend_host.load(host, loaded->schedule, &loaded->program, &error) ==
                    RONDE_OK);
}

static void unload(struct loaded *loaded)
{
    for (int rank = 0; rank < 4; rank++)
        for (int i = 0; i < 100; i++)
            CU_ASSERT_EQUAL(loaded->out[rank][i], 6 + 4 * i);
    ronde_backend_host.unload(loaded->program);
    ronde_schedule_destroy(loaded->schedule);
    ronde_backend_host.close(host);
}

static void run_goes_on_after_an_abort(void)
{
    struct loaded loaded;
    struct ronde_result result;
    void *run;
    bool is_done;
    load(&loaded);
    CU_ASSERT_FATAL(ronde_backend_host.run(loaded.program, &loaded.launch, &run, &error) == RONDE_OK);
    ronde_backend_host.abort(run);
    CU_ASSERT_EQUAL(ronde_backend_host.test(run, &is_done, &error), RONDE_TIMEOUT);
    CU_ASSERT_EQUAL(ronde_backend_host.wait(run, &result, &error), RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(error.message, "the run was aborted");
    memset(&error, 0, sizeof error);
    CU_ASSERT_FATAL(ronde_backend_host.run(loaded.program, &loaded.launch, &run, &error) == RONDE_OK);
    CU_ASSERT_EQUAL(ronde_backend_host.wait(run, &result, &error), RONDE_OK);
    unload(&loaded);
}

static void test_drives_a_run_without_blocking(void)
{
    struct loaded loaded;
    struct ronde_result result;
    void *run;
    void *second;
    load(&loaded);
    CU_ASSERT_FATAL(ronde_backend_host.run(loaded.program, &loaded.launch, &run, &error) == RONDE_OK);
    CU_ASSERT_EQUAL(ronde_backend_host.run(loaded.program, &loaded.launch, &second, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(error.message, "the program is running already");
    memset(&error, 0, sizeof error);
    bool is_done = false;
    for (int turn = 0; turn < 1000 && !is_done; turn++)
        CU_ASSERT_EQUAL(ronde_backend_host.test(run, &is_done, &error), RONDE_OK);
    CU_ASSERT(is_done);
    CU_ASSERT_EQUAL(ronde_backend_host.wait(run, &result, &error), RONDE_OK);
    unload(&loaded);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(run_names_lane_of_deadlock),
        SUITE_CASE(run_finds_message_of_another_length),
        SUITE_CASE(run_finds_operands_of_different_lengths),
        SUITE_CASE(run_blocks_when_slots_are_full),
        SUITE_CASE(load_refuses_unproved_scratch),
        SUITE_CASE(run_moves_several_chunks_through_scratch),
        SUITE_CASE(run_shifts_parts_held_in_scratch),
        SUITE_CASE(messages_hold_chunks_in_ascending_order),
        SUITE_CASE(reductions_follow_the_written_rules),
        SUITE_CASE(min_and_max_prefer_numbers_and_order_zeros),
        SUITE_CASE(collectives_without_a_form_in_place_refuse_shared_buffers),
        SUITE_CASE(launch_check_names_field_value_and_bound),
        SUITE_CASE(count_zero_needs_no_buffers),
        SUITE_CASE(run_goes_on_after_an_abort),
        SUITE_CASE(test_drives_a_run_without_blocking),
    };
    return suite_run("host", cases, sizeof cases / sizeof cases[0]);
}
