/* Wirings that look the same from every rank: the digits of their positions, and what turned trees load. */
#include "support/suite.h"

#include "predict/synthesis/forest.h"
#include "unit/leaves.h"
#include "unit/platform_text.h"

#include <math.h>

#define CLUSTER(radical, more)                                                                     \
    "<platform version=\"4.1\"><cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"" radical      \
    "\" speed=\"1Gf\" bw=\"50GBps\" lat=\"500ns\" " more "/></platform>"

/* The symmetry of a wiring: digits and classes; digits 0 = none. */
static void expect_symmetry(const struct ronde_platform *platform, uint32_t ranks,
                            const uint32_t *radix, uint32_t digits, uint32_t classes)
{
    struct ronde_store pool = {.mem = ronde_mem_default()};
    struct ronde_wiring wiring;
    struct ronde_wiring_symmetry found;
    CU_ASSERT_EQUAL_FATAL(ronde_wiring_find(platform, ranks, &pool, &wiring, NULL), RONDE_OK);
    CU_ASSERT_TRUE_FATAL(ronde_symmetry_find(&wiring, &pool, &found));
    CU_ASSERT_EQUAL(found.digits, digits);
    for (uint32_t d = 0; d < digits && found.digits == digits; d++)
        CU_ASSERT_EQUAL(found.radix[d], radix[d]);
    if (digits > 0) {
        uint32_t wires = 0;
        CU_ASSERT_EQUAL(found.class_count, classes);
        for (uint32_t c = 0; c < found.class_count; c++)
            wires += found.class_size[c];
        CU_ASSERT_EQUAL(wires, wiring.wire_count);
        for (uint32_t position = 0; position < ranks; position++)
            CU_ASSERT_EQUAL(ronde_symmetry_seen(&found, position, position), 0);
    }
    ronde_store_clear(&pool);
}

static void symmetries_have_the_digits_of_the_machine(void)
{
    static const uint32_t star[] = {6}, square[] = {3, 3}, oblong[] = {5, 3}, leaf[] = {2, 3};
    struct leaves leaves;
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(CLUSTER("0-5", ""));
    expect_symmetry(platform, 6, star, 1, 2);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "x_link_4_DOWN", 0.5, NULL), RONDE_OK);
    expect_symmetry(platform, 6, NULL, 0, 0);
    ronde_platform_destroy(platform);
    platform = platform_text_good(CLUSTER("0-8", "topology=\"TORUS\" topo_parameters=\"3,3\""));
    expect_symmetry(platform, 9, square, 2, 4);
    ronde_platform_destroy(platform);
    platform = platform_text_good(CLUSTER("0-14", "topology=\"TORUS\" topo_parameters=\"3,5\""));
    expect_symmetry(platform, 15, oblong, 2, 4);
    ronde_platform_destroy(platform);
    if (!leaves_begin(&leaves, &(struct leaves_shape){2, 3, 100, 100}))
        return;
    expect_symmetry(leaves.platform, 6, leaf, 2, 4);
    leaves_end(&leaves);
}

/* Digit by digit, without a carry: of radices 2 and 3, 11 less 02 is 12. */
static void positions_are_seen_digit_by_digit(void)
{
    const struct ronde_wiring_symmetry symmetry = {.digits = 2, .radix = {2, 3}};
    const struct ronde_wiring_symmetry bits = {.digits = 3, .radix = {2, 2, 2}};
    CU_ASSERT_EQUAL(ronde_symmetry_seen(&symmetry, 4, 2), 5);
    CU_ASSERT_EQUAL(ronde_symmetry_seen(&symmetry, 0, 5), 4);
    for (uint32_t from = 0; from < 8; from++)
        for (uint32_t position = 0; position < 8; position++)
            CU_ASSERT_EQUAL(ronde_symmetry_seen(&bits, position, from), position ^ from);
    for (uint32_t from = 0; from < 6; from++) {
        uint32_t seen = 0;
        for (uint32_t position = 0; position < 6; position++)
            seen |= 1u << ronde_symmetry_seen(&symmetry, position, from);
        CU_ASSERT_EQUAL(seen, 63);
    }
}

/* Turned, a class stands for all of its wires: two uplinks of 90 for 6 ranks are 30 for each. */
static void classes_have_their_share_of_the_rate(void)
{
    struct ronde_store pool = {.mem = ronde_mem_default()};
    struct leaves leaves;
    struct ronde_wiring wiring;
    struct ronde_wiring_symmetry symmetry;
    struct ronde_ways ways;
    uint32_t ports = 0, uplinks = 0;
    if (!leaves_begin(&leaves, &(struct leaves_shape){2, 3, 90, 100}))
        return;
    CU_ASSERT_EQUAL_FATAL(ronde_wiring_find(leaves.platform, 6, &pool, &wiring, NULL), RONDE_OK);
    CU_ASSERT_TRUE_FATAL(ronde_symmetry_find(&wiring, &pool, &symmetry));
    CU_ASSERT_TRUE_FATAL(ronde_ways_make(&wiring, false, &pool, &ways));
    CU_ASSERT_TRUE_FATAL(ronde_symmetry_turn(&symmetry, &pool, &ways));
    CU_ASSERT_EQUAL(ways.wire_count, 4);
    for (uint32_t c = 0; c < ways.wire_count; c++) {
        ports += fabs(ways.rate_GBps[c] - 50) < 1e-9;
        uplinks += fabs(ways.rate_GBps[c] - 30) < 1e-9;
    }
    CU_ASSERT(ports == 2 && uplinks == 2);
    /* 30 pairs leave through one class and arrive through another; 18 of them take both uplinks. */
    uint32_t users = 0;
    for (uint32_t c = 0; c < ways.wire_count; c++)
        users += ways.first_user[c + 1] - ways.first_user[c];
    CU_ASSERT_EQUAL(users, 2 * 30 + 2 * 18);
    ronde_store_clear(&pool);
    leaves_end(&leaves);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"symmetries_have_the_digits_of_the_machine", symmetries_have_the_digits_of_the_machine},
        {"positions_are_seen_digit_by_digit", positions_are_seen_digit_by_digit},
        {"classes_have_their_share_of_the_rate", classes_have_their_share_of_the_rate},
    };
    return suite_run("wiring_symmetry", cases, sizeof cases / sizeof cases[0]);
}
