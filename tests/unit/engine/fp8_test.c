/* float8_e4m3 and float8_e5m2: every value, every rounding case, saturation, and operators by the written rules. */
#include "engine/execute/elements.h"
#include "support/reference.h"
#include "support/suite.h"

#include <math.h>
#include <string.h>

static const enum ronde_dtype types[] = {RONDE_FLOAT8_E4M3, RONDE_FLOAT8_E5M2};

static double widen(enum ronde_dtype dtype, uint8_t narrow)
{
    return (double)(dtype == RONDE_FLOAT8_E4M3 ? ronde_float8_e4m3_widen(narrow)
                                               : ronde_float8_e5m2_widen(narrow));
}

static uint8_t round_to(enum ronde_dtype dtype, float value)
{
    return (uint8_t)(dtype == RONDE_FLOAT8_E4M3 ? ronde_float8_e4m3_round(value)
                                                : ronde_float8_e5m2_round(value));
}

static void known_values(void)
{
    CU_ASSERT_EQUAL(ronde_float8_e4m3_widen(0x7e), 448.0f);
    CU_ASSERT_EQUAL(ronde_float8_e4m3_widen(0x38), 1.0f);
    CU_ASSERT_EQUAL(ronde_float8_e4m3_widen(0x01), 0x1p-9f);
    CU_ASSERT_EQUAL(ronde_float8_e4m3_widen(0x08), 0x1p-6f);
    CU_ASSERT_EQUAL(ronde_float8_e4m3_widen(0xb8), -1.0f);
    CU_ASSERT(isnan(ronde_float8_e4m3_widen(0x7f)) && isnan(ronde_float8_e4m3_widen(0xff)));
    CU_ASSERT_EQUAL(ronde_float8_e5m2_widen(0x7b), 57344.0f);
    CU_ASSERT_EQUAL(ronde_float8_e5m2_widen(0x3c), 1.0f);
    CU_ASSERT_EQUAL(ronde_float8_e5m2_widen(0x01), 0x1p-16f);
    CU_ASSERT(isinf(ronde_float8_e5m2_widen(0x7c)) && isnan(ronde_float8_e5m2_widen(0x7d)));
}

static void every_value_widens_exactly_and_rounds_back(void)
{
    for (int t = 0; t < 2; t++) {
        for (uint32_t bits = 0; bits <= UINT8_MAX; bits++) {
            const uint8_t narrow = (uint8_t)bits;
            const double value = widen(types[t], narrow);
            const uint8_t back = round_to(types[t], (float)value);
            const double wanted = reference_load(types[t], &narrow);
            if (reference_is_nan(types[t], &narrow)) {
                CU_ASSERT(isnan(value) && reference_is_nan(types[t], &back));
                continue;
            }
            CU_ASSERT(memcmp(&value, &wanted, sizeof value) == 0);
            /* An infinity that is read becomes the largest number when it is written. */
            CU_ASSERT_EQUAL(back, isinf(value) ? narrow - 1 : narrow);
        }
    }
}

/* Whether kernel, element and reference round a float32 alike. */
static bool rounds_as_written(enum ronde_dtype dtype, float value)
{
    uint8_t wanted;
    uint8_t stored;
    reference_store(dtype, &wanted, (double)value);
    ronde_element_store(dtype, &stored, (double)value);
    return round_to(dtype, value) == wanted && stored == wanted;
}

/* Between two neighbours: the middle, which is a tie, and the float32 on both sides of it. */
static void every_tie_goes_to_even_and_its_neighbours_do_not(void)
{
    for (int t = 0; t < 2; t++) {
        const uint8_t largest = types[t] == RONDE_FLOAT8_E4M3 ? 0x7e : 0x7b;
        for (uint8_t narrow = 0; narrow < largest; narrow++) {
            const float middle =
                (float)((widen(types[t], narrow) + widen(types[t], (uint8_t)(narrow + 1))) / 2);
            const float around[] = {middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
            for (int k = 0; k < 3; k++)
                CU_ASSERT(rounds_as_written(types[t], around[k]) &&
                          rounds_as_written(types[t], -around[k]));
            CU_ASSERT_EQUAL(round_to(types[t], middle) % 2, 0);
        }
    }
}

static void what_is_too_large_becomes_the_largest_number(void)
{
    static const float large[] = {448,   463.9f, 464,   480,   1e5f,
                                  57344, 61440,  65536, 3e38f, INFINITY};
    for (size_t k = 0; k < sizeof large / sizeof large[0]; k++) {
        CU_ASSERT_EQUAL(ronde_float8_e4m3_round(large[k]), 0x7e);
        CU_ASSERT_EQUAL(ronde_float8_e4m3_round(-large[k]), 0xfe);
        CU_ASSERT(rounds_as_written(RONDE_FLOAT8_E5M2, large[k]));
        CU_ASSERT(rounds_as_written(RONDE_FLOAT8_E5M2, -large[k]));
    }
    CU_ASSERT_EQUAL(ronde_float8_e5m2_round(61440), 0x7b);
    CU_ASSERT_EQUAL(ronde_float8_e5m2_round(INFINITY), 0x7b);
    CU_ASSERT_EQUAL(ronde_SUM_FLOAT8_E4M3(0x7e, 0x7e), 0x7e);
    CU_ASSERT_EQUAL(ronde_PROD_FLOAT8_E5M2(0x7b, 0xfb), 0xfb);
}

/* All pairs: the operators against the reference's whole numbers. */
static void operators_follow_the_written_rules(void)
{
    static const enum ronde_op ops[] = {RONDE_SUM, RONDE_PROD, RONDE_MIN, RONDE_MAX};
    uint32_t wrong = 0;
    for (uint32_t pair = 0; pair < 65536; pair++) {
        const uint8_t a = (uint8_t)(pair >> 8);
        const uint8_t b = (uint8_t)pair;
        const uint8_t results[2][4] = {{ronde_SUM_FLOAT8_E4M3(a, b), ronde_PROD_FLOAT8_E4M3(a, b),
                                        ronde_MIN_FLOAT8_E4M3(a, b), ronde_MAX_FLOAT8_E4M3(a, b)},
                                       {ronde_SUM_FLOAT8_E5M2(a, b), ronde_PROD_FLOAT8_E5M2(a, b),
                                        ronde_MIN_FLOAT8_E5M2(a, b), ronde_MAX_FLOAT8_E5M2(a, b)}};
        for (int t = 0; t < 2; t++)
            for (int o = 0; o < 4; o++) {
                uint8_t wanted;
                reference_combine(types[t], ops[o], &a, &b, &wanted);
                const bool is_nan = reference_is_nan(types[t], &wanted) &&
                                    reference_is_nan(types[t], &results[t][o]);
                wrong += !is_nan && results[t][o] != wanted;
            }
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"known_values", known_values},
        {"every_value_widens_exactly_and_rounds_back", every_value_widens_exactly_and_rounds_back},
        {"every_tie_goes_to_even_and_its_neighbours_do_not",
         every_tie_goes_to_even_and_its_neighbours_do_not},
        {"what_is_too_large_becomes_the_largest_number",
         what_is_too_large_becomes_the_largest_number},
        {"operators_follow_the_written_rules", operators_follow_the_written_rules},
    };
    return suite_run("fp8", cases, sizeof cases / sizeof cases[0]);
}
