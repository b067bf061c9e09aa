/*
 * The definition that `host` is compared with: right on examples worked out by hand, blind to the order
 * of reduction on the inputs made for it, and not agreeing with what is wrong.
 */
#include "support/suite.h"

#include "lab/measure/reference.h"
#include "ronde/benchmark.h"

#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <string.h>

#define RANKS 3u

/* A collective of three ranks with inputs 10 r + i, in int32. */
struct example {
    enum ronde_collective collective;
    enum ronde_op op;
    uint32_t count;
    int32_t expected[RANKS][6]; /* -1: untouched */
};

static const struct example examples[] = {
    {RONDE_BROADCAST, RONDE_SUM, 2, {{10, 11}, {10, 11}, {10, 11}}},
    {RONDE_SCATTER, RONDE_SUM, 1, {{10}, {11}, {12}}},
    {RONDE_GATHER,
     RONDE_SUM,
     2,
     {{-1, -1, -1, -1, -1, -1}, {0, 1, 10, 11, 20, 21}, {-1, -1, -1, -1, -1, -1}}},
    {RONDE_ALL_GATHER, RONDE_SUM, 1, {{0, 10, 20}, {0, 10, 20}, {0, 10, 20}}},
    {RONDE_REDUCE, RONDE_SUM, 2, {{-1, -1}, {30, 33}, {-1, -1}}},
    {RONDE_ALL_REDUCE, RONDE_SUM, 2, {{30, 33}, {30, 33}, {30, 33}}},
    {RONDE_ALL_REDUCE, RONDE_PROD, 2, {{0, 231}, {0, 231}, {0, 231}}},
    {RONDE_ALL_REDUCE, RONDE_MIN, 2, {{0, 1}, {0, 1}, {0, 1}}},
    {RONDE_ALL_REDUCE, RONDE_MAX, 2, {{20, 21}, {20, 21}, {20, 21}}},
    {RONDE_ALL_REDUCE, RONDE_AVG, 2, {{10, 11}, {10, 11}, {10, 11}}},
    /* Factors are 1, 2, 1. */
    {RONDE_ALL_REDUCE, RONDE_PREMUL_SUM, 2, {{40, 44}, {40, 44}, {40, 44}}},
    {RONDE_REDUCE_SCATTER, RONDE_SUM, 1, {{30}, {33}, {36}}},
    {RONDE_ALL_TO_ALL, RONDE_SUM, 1, {{0, 10, 20}, {1, 11, 21}, {2, 12, 22}}},
    {RONDE_SEND_RECV, RONDE_SUM, 1, {{20}, {0}, {10}}},
};

static void open_memory(const struct ronde_input_range *shape, struct ronde_memory *memory)
{
    CU_ASSERT_EQUAL_FATAL(ronde_memory_create(shape, memory, NULL), RONDE_OK);
    ronde_memory_view(memory, shape, false);
}

static void check_example(const struct example *example)
{
    const struct ronde_input_range shape = {example->collective, RANKS,       1,
                                            RONDE_INT32,         example->op, example->count};
    struct ronde_memory memory;
    open_memory(&shape, &memory);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int32_t *in = memory.inputs[rank], *out = memory.outputs[rank];
        for (uint32_t i = 0; i < memory.in_bytes / sizeof *in; i++)
            in[i] = (int32_t)(10 * rank + i);
        for (uint32_t i = 0; i < memory.out_bytes / sizeof *out; i++)
            out[i] = -1;
    }
    ronde_definition_run(&memory, &shape, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT(memcmp(memory.outputs[rank], example->expected[rank], memory.out_bytes) == 0);
    ronde_memory_destroy(&memory);
}

static void examples_come_out_as_by_hand(void)
{
    bool is_shown[RONDE_COLLECTIVE_COUNT] = {false};
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        check_example(&examples[i]);
        is_shown[examples[i].collective] = true;
    }
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        CU_ASSERT(is_shown[c] || c == RONDE_BARRIER);
}

static void pairs_leave_the_others_alone(void)
{
    static const uint32_t source_of[RANKS] = {RONDE_NONE, 2, 2};
    const struct ronde_input_range shape = {RONDE_SEND_RECV, RANKS, 0, RONDE_INT32, RONDE_SUM, 1};
    struct ronde_memory memory;
    open_memory(&shape, &memory);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        *(int32_t *)memory.inputs[rank] = (int32_t)rank + 5;
        *(int32_t *)memory.outputs[rank] = -1;
    }
    ronde_definition_run(&memory, &shape, source_of);
    CU_ASSERT_EQUAL(*(int32_t *)memory.outputs[0], -1);
    CU_ASSERT_EQUAL(*(int32_t *)memory.outputs[1], 7);
    CU_ASSERT_EQUAL(*(int32_t *)memory.outputs[2], 7);
    ronde_memory_destroy(&memory);
}

/* Rounding to the type after every step, from either end, must change nothing. */
static uint32_t count_rounded(const struct ronde_input_range *shape,
                              const struct ronde_memory *memory, bool is_backwards)
{
    const size_t element = ronde_dtype_bytes(shape->dtype);
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < shape->count; i++) {
        double exact = shape->op == RONDE_PROD ? 1.0 : 0.0, rounded = exact;
        for (uint32_t k = 0; k < shape->ranks; k++) {
            const uint32_t rank = is_backwards ? shape->ranks - 1 - k : k;
            unsigned char stored[8];
            double value = ronde_element_load(shape->dtype,
                                              (unsigned char *)memory->inputs[rank] + i * element);
            if (shape->op == RONDE_PREMUL_SUM)
                value *= ronde_element_load(shape->dtype,
                                            (unsigned char *)memory->factors + rank * element);
            exact = shape->op == RONDE_PROD ? exact * value : exact + value;
            rounded = shape->op == RONDE_PROD ? rounded * value : rounded + value;
            ronde_element_store(shape->dtype, stored, rounded);
            rounded = ronde_element_load(shape->dtype, stored);
        }
        wrong += rounded != exact || exact <= 0.0;
    }
    return wrong;
}

/* No element is neutral on all ranks, none outgrows the smallest type. Truth values do not grow: see below. */
static void exact_inputs_fit_every_type(void)
{
    static const uint32_t ranks[] = {1, 2, 3, 7, 16, 17, 33, 64, 100, 257};
    static const enum ronde_op ops[] = {RONDE_SUM, RONDE_PROD, RONDE_AVG, RONDE_PREMUL_SUM};
    for (uint32_t d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (size_t n = 0; n < sizeof ranks / sizeof ranks[0] && d != RONDE_BOOL; n++)
            for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
                const struct ronde_input_range shape = {RONDE_ALL_REDUCE,    ranks[n], 0,
                                                        (enum ronde_dtype)d, ops[o],   50};
                struct ronde_memory memory;
                open_memory(&shape, &memory);
                ronde_memory_fill(&memory, &shape, RONDE_PATTERN_EXACT);
                CU_ASSERT_EQUAL(count_rounded(&shape, &memory, false), 0);
                CU_ASSERT_EQUAL(count_rounded(&shape, &memory, true), 0);
                ronde_memory_destroy(&memory);
            }
}

/* The results of an operator on truth values or bits, combined in whole numbers; how often each value of bit 0 occurs. */
static void check_bits(const struct ronde_input_range *shape, uint32_t occurs[2])
{
    const bool is_or = shape->op == RONDE_SUM || shape->op == RONDE_MAX || shape->op == RONDE_BOR;
    const size_t element = ronde_dtype_bytes(shape->dtype);
    struct ronde_memory memory;
    open_memory(shape, &memory);
    ronde_memory_fill(&memory, shape, RONDE_PATTERN_EXACT);
    ronde_definition_run(&memory, shape, NULL);
    for (uint64_t i = 0; i < shape->count; i++) {
        uint64_t wanted = shape->op == RONDE_BXOR || is_or ? 0 : UINT64_MAX, got = 0, one = 0;
        for (uint32_t rank = 0; rank < shape->ranks; rank++) {
            memcpy(&one, (unsigned char *)memory.inputs[rank] + i * element, element);
            if (shape->op == RONDE_BXOR)
                wanted ^= one;
            else
                wanted = is_or ? wanted | one : wanted & one;
        }
        memcpy(&got, (unsigned char *)memory.outputs[shape->ranks - 1] + i * element, element);
        CU_ASSERT_EQUAL(got, wanted);
        occurs[got & 1]++;
    }
    ronde_memory_destroy(&memory);
}

/* A result that is the same everywhere would hide what went wrong. */
static void exact_bits_come_out_and_differ(void)
{
    static const uint32_t ranks[] = {1, 2, 3, 8, 33, 257};
    for (uint32_t d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (uint32_t op = 0; op < RONDE_OP_COUNT; op++)
            for (size_t n = 0; n < sizeof ranks / sizeof ranks[0]; n++) {
                const struct ronde_input_range shape = {RONDE_ALL_REDUCE,    ranks[n],          0,
                                                        (enum ronde_dtype)d, (enum ronde_op)op, 50};
                uint32_t occurs[2] = {0, 0};
                if ((d != RONDE_BOOL && op < RONDE_BAND) || ronde_op_refusal(shape.op, shape.dtype))
                    continue;
                check_bits(&shape, occurs);
                CU_ASSERT(occurs[0] > 0 && occurs[1] > 0);
            }
}

/* Host with the last element of rank 0's output spoilt afterwards. */
static const struct ronde_launch *spoilt_launch;
static size_t spoilt_byte;

static enum ronde_status run_and_remember(void *program, const struct ronde_launch *launch,
                                          void **out_run, struct ronde_error *error)
{
    spoilt_launch = launch;
    return ronde_backend_host.run(program, launch, out_run, error);
}

static enum ronde_status wait_and_spoil(void *run, struct ronde_result *out_result,
                                        struct ronde_error *error)
{
    const enum ronde_status status = ronde_backend_host.wait(run, out_result, error);
    ((unsigned char *)spoilt_launch->out[0])[spoilt_byte] ^= 1;
    return status;
}

/* Both ways of checking: against the definition (host itself) and against host (any other). */
static void one_wrong_bit_is_one_wrong_element(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 4};
    const struct ronde_benchmark_options options = {.dtype = RONDE_FLOAT32,
                                                    .timeout_ns = UINT64_C(10000000000)};
    const struct ronde_input_range shape = {RONDE_ALL_REDUCE, 4, 0, RONDE_FLOAT32, RONDE_SUM, 100};
    struct ronde_backend spoiling = ronde_backend_host;
    struct ronde_target target = {.backend = &ronde_backend_host};
    struct ronde_schedule *schedule = NULL;
    struct ronde_benchmark benchmark;
    struct ronde_memory memory;
    uint64_t wrong[2] = {7, 7};
    spoiling.run = run_and_remember;
    spoiling.wait = wait_and_spoil;
    spoilt_byte = 99 * sizeof(float);
    open_memory(&shape, &memory);
    CU_ASSERT_EQUAL_FATAL(ronde_backend_host.probe(&target.machine, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_backend_host.open(&target.machine, ronde_mem_default(),
                                                  &target.self, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_benchmark_open(&target, schedule, &options, &benchmark, NULL),
                          RONDE_OK);
    CU_ASSERT(ronde_benchmark_is_specification(&benchmark));
    CU_ASSERT_EQUAL(ronde_benchmark_check(&benchmark, &memory, 100, wrong, NULL), RONDE_OK);
    CU_ASSERT(wrong[0] == 0 && wrong[1] == 0);
    target.backend = &spoiling;
    CU_ASSERT(!ronde_benchmark_is_specification(&benchmark));
    CU_ASSERT_EQUAL(ronde_benchmark_check(&benchmark, &memory, 100, wrong, NULL), RONDE_OK);
    CU_ASSERT(wrong[0] == 1 && wrong[1] == 1);
    ronde_benchmark_close(&benchmark);
    ronde_schedule_destroy(schedule);
    ronde_memory_destroy(&memory);
    ronde_target_close(&target);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"examples_come_out_as_by_hand", examples_come_out_as_by_hand},
        {"pairs_leave_the_others_alone", pairs_leave_the_others_alone},
        {"exact_inputs_fit_every_type", exact_inputs_fit_every_type},
        {"exact_bits_come_out_and_differ", exact_bits_come_out_and_differ},
        {"one_wrong_bit_is_one_wrong_element", one_wrong_bit_is_one_wrong_element},
    };
    return suite_run("definition", cases, sizeof cases / sizeof cases[0]);
}
