/* float16 and bfloat16: every value, every rounding case, and reductions of random ones by the written rules. */
#include "engine/execute/narrow.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <math.h>
#include <string.h>

static const enum ronde_dtype types[] = {RONDE_FLOAT16, RONDE_BFLOAT16};

static double widen(enum ronde_dtype dtype, uint16_t half)
{
    return (double)(dtype == RONDE_FLOAT16 ? ronde_float16_widen(half) : ronde_bfloat16_widen(half));
}

static uint16_t round_to(enum ronde_dtype dtype, float value)
{
    return (uint16_t)(dtype == RONDE_FLOAT16 ? ronde_float16_round(value)
                                             : ronde_bfloat16_round(value));
}

static void every_half_widens_exactly_and_rounds_back(void)
{
    for (int t = 0; t < 2; t++) {
        uint32_t wrong = 0;
        for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
            const uint16_t half = (uint16_t)bits;
            const double value = widen(types[t], half);
            if (reference_is_nan(types[t], &half)) {
                const uint16_t back = round_to(types[t], (float)value);
                wrong += !isnan(value) || !reference_is_nan(types[t], &back);
            } else {
                const double wanted = reference_load(types[t], &half);
                wrong += memcmp(&value, &wanted, sizeof value) != 0 ||
                         round_to(types[t], (float)value) != half;
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

/* Whether kernel, element and reference round a float32 alike. */
static bool rounds_as_written(enum ronde_dtype dtype, float value)
{
    uint16_t wanted;
    uint16_t stored;
    reference_store(dtype, &wanted, (double)value);
    ronde_element_store(dtype, &stored, (double)value);
    return round_to(dtype, value) == wanted && stored == wanted;
}

/* Between two neighbours of the 16-bit type: the middle, which is a tie, and the float32 on both sides of it. */
static void every_tie_goes_to_even_and_its_neighbours_do_not(void)
{
    for (int t = 0; t < 2; t++) {
        const uint16_t infinity = types[t] == RONDE_FLOAT16 ? 0x7c00 : 0x7f80;
        uint32_t wrong = 0;
        for (uint16_t half = 0; half + 1 < infinity; half++) {
            const double low = widen(types[t], half);
            const double high = widen(types[t], (uint16_t)(half + 1));
            const float middle = (float)((low + high) / 2);
            const float around[] = {middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
            for (int k = 0; k < 3; k++)
                wrong += !rounds_as_written(types[t], around[k]) ||
                         !rounds_as_written(types[t], -around[k]);
            wrong += round_to(types[t], middle) % 2 != 0;
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

static void numbers_out_of_range_become_infinity_and_zero(void)
{
    CU_ASSERT_EQUAL(ronde_float16_round(65519.996f), 0x7bff);
    CU_ASSERT_EQUAL(ronde_float16_round(65520.0f), 0x7c00);
    CU_ASSERT_EQUAL(ronde_float16_round(-65520.0f), 0xfc00);
    CU_ASSERT_EQUAL(ronde_float16_round(3e38f), 0x7c00);
    CU_ASSERT_EQUAL(ronde_float16_round(-INFINITY), 0xfc00);
    CU_ASSERT_EQUAL(ronde_float16_round(0x1p-25f), 0);
    CU_ASSERT_EQUAL(ronde_float16_round(0x1.000002p-25f), 1);
    CU_ASSERT_EQUAL(ronde_float16_round(-0x1p-140f), 0x8000);
    CU_ASSERT_EQUAL(ronde_bfloat16_round(0x1.fep127f), 0x7f7f);
    CU_ASSERT_EQUAL(ronde_bfloat16_round(0x1.ffp127f), 0x7f80);
    CU_ASSERT_EQUAL(ronde_bfloat16_round(0x1p-134f), 0);
    CU_ASSERT_EQUAL(ronde_bfloat16_round(0x1.8p-134f), 1);
    /* All payload in the bits that are dropped: still a NaN. */
    CU_ASSERT(isnan(ronde_float16_widen(ronde_float16_round(ronde_float32_of(0x7f800001u)))));
    CU_ASSERT(isnan(ronde_bfloat16_widen(ronde_bfloat16_round(ronde_float32_of(0xffffffffu)))));
}

/* Through float32 these would be taken for ties. */
static void elements_are_rounded_once(void)
{
    uint16_t half;
    ronde_element_store(RONDE_FLOAT16, &half, 1 + 0x1p-11 + 0x1p-40);
    CU_ASSERT_EQUAL(half, 0x3c01);
    ronde_element_store(RONDE_FLOAT16, &half, -(1 + 0x1p-11 + 0x1p-10 - 0x1p-40));
    CU_ASSERT_EQUAL(half, 0xbc01);
    ronde_element_store(RONDE_BFLOAT16, &half, 1 + 0x1p-8 + 0x1p-40);
    CU_ASSERT_EQUAL(half, 0x3f81);
    ronde_element_store(RONDE_BFLOAT16, &half, 1e300);
    CU_ASSERT_EQUAL(half, 0x7f80);
}

static void elements_read_back(void)
{
    for (uint32_t d = 0; d < RONDE_DTYPE_COUNT; d++) {
        const enum ronde_dtype dtype = (enum ronde_dtype)d;
        unsigned char element[8];
        /* Exact in every type, the one with 3 digits included; a truth value is 0 or 1. */
        const double values[] = {0, 1, 2, 96};
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            const double wanted = dtype == RONDE_BOOL ? values[k] != 0 : values[k];
            ronde_element_store(dtype, element, values[k]);
            CU_ASSERT_EQUAL(ronde_element_load(dtype, element), wanted);
            CU_ASSERT_EQUAL(reference_load(dtype, element), wanted);
        }
        CU_ASSERT_EQUAL(ronde_dtype_is_floating(dtype), reference_is_floating(dtype));
    }
}

#define PAIRS 20000u

/* Any bits at all, two ranks, so that there is one order of operations: all types and operators. */
static bool is_wrong(const struct ronde_schedule *schedule, void *host, enum ronde_dtype dtype,
                     enum ronde_op op)
{
    const struct buffers_shape shape = {.collective = RONDE_ALL_REDUCE,
                                        .ranks = 2,
                                        .count = PAIRS,
                                        .dtype = dtype,
                                        .op = op,
                                        .data = BUFFERS_BITS,
                                        .seed = 1 + (uint64_t)dtype};
    struct buffers actual;
    struct buffers expected;
    char text[256];
    struct ronde_result result;
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(buffers_create(&shape, &actual) && buffers_create(&shape, &expected));
    CU_ASSERT_FATAL(buffers_expect(&expected));
    const struct ronde_launch launch = buffers_launch(&actual);
    CU_ASSERT_FATAL(ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch, &result,
                                           &error) == RONDE_OK);
    const bool differs = buffers_differ(&actual, &expected, text, sizeof text);
    if (differs)
        suite_note("%s %s: %s", ronde_dtype_text(dtype), ronde_op_text(op), text);
    buffers_destroy(&actual);
    buffers_destroy(&expected);
    return differs;
}

static void random_bits_reduce_by_the_written_rules(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 2};
    struct ronde_schedule *schedule;
    struct ronde_machine machine;
    void *host;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.probe(&machine, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.open(&machine, ronde_mem_default(), &host, NULL) == RONDE_OK);
    for (uint32_t dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++)
        for (uint32_t op = 0; op < RONDE_OP_COUNT; op++)
            if (reference_is_defined((enum ronde_dtype)dtype, (enum ronde_op)op))
                CU_ASSERT_FALSE(is_wrong(schedule, host, (enum ronde_dtype)dtype, (enum ronde_op)op));
    ronde_backend_host.close(host);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_half_widens_exactly_and_rounds_back", every_half_widens_exactly_and_rounds_back},
        {"every_tie_goes_to_even_and_its_neighbours_do_not",
         every_tie_goes_to_even_and_its_neighbours_do_not},
        {"numbers_out_of_range_become_infinity_and_zero",
         numbers_out_of_range_become_infinity_and_zero},
        {"elements_are_rounded_once", elements_are_rounded_once},
        {"elements_read_back", elements_read_back},
        {"random_bits_reduce_by_the_written_rules", random_bits_reduce_by_the_written_rules},
    };
    return suite_run("half", cases, sizeof cases / sizeof cases[0]);
}
