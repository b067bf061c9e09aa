/*
 * Kinds of calls, by which programs are kept: what must not share a program never does, and what may share one does, so
 * that a loop over sizes loads one program for each power of two.
 */
#include "api/cache.h"
#include "support/buffers.h"
#include "support/suite.h"

#include <string.h>

static struct ronde_kind kind_of(enum ronde_collective collective, uint64_t count,
                                 enum ronde_dtype dtype)
{
    const struct ronde_call call = {.collective = collective, .dtype = dtype};
    return ronde_kind_of(&call, count);
}

static void a_size_class_is_a_power_of_two(void)
{
    for (unsigned power = 0; power < 62; power++) {
        const uint64_t first = UINT64_C(1) << power, last = 2 * first - 1;
        const struct ronde_kind low = kind_of(RONDE_ALL_REDUCE, first, RONDE_UINT8);
        const struct ronde_kind high = kind_of(RONDE_ALL_REDUCE, last, RONDE_UINT8);
        const struct ronde_kind next = kind_of(RONDE_ALL_REDUCE, last + 1, RONDE_UINT8);
        CU_ASSERT(ronde_kind_is_same(&low, &high, 4));
        CU_ASSERT_FALSE(ronde_kind_is_same(&high, &next, 4));
        /* What the class is priced for is one of its sizes. */
        CU_ASSERT(ronde_kind_bytes(&low) >= first && ronde_kind_bytes(&low) <= last);
    }
}

static void nothing_is_a_class_of_its_own(void)
{
    const struct ronde_kind empty = kind_of(RONDE_ALL_GATHER, 0, RONDE_FLOAT64);
    const struct ronde_kind one = kind_of(RONDE_ALL_GATHER, 1, RONDE_UINT8);
    CU_ASSERT_EQUAL(ronde_kind_bytes(&empty), 0);
    CU_ASSERT_EQUAL(ronde_kind_bytes(&one), 1);
    CU_ASSERT_FALSE(ronde_kind_is_same(&empty, &one, 2));
}

/* Bytes decide, not elements; a barrier has none, whatever a caller left in the call. */
static void elements_count_by_their_bytes(void)
{
    for (uint32_t dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++) {
        const uint64_t bytes = ronde_dtype_bytes((enum ronde_dtype)dtype);
        const struct ronde_kind of_type = kind_of(RONDE_REDUCE, 1024, (enum ronde_dtype)dtype);
        const struct ronde_kind of_bytes = kind_of(RONDE_REDUCE, 1024 * bytes, RONDE_UINT8);
        CU_ASSERT(ronde_kind_is_same(&of_type, &of_bytes, 2));
        const struct ronde_kind barrier = kind_of(RONDE_BARRIER, 77, (enum ronde_dtype)dtype);
        const struct ronde_kind empty = kind_of(RONDE_BARRIER, 0, RONDE_UINT8);
        CU_ASSERT(ronde_kind_is_same(&barrier, &empty, 2));
    }
}

/* Whether a root is part of what is called, by the definition of the collective. */
static bool is_rooted(enum ronde_collective collective)
{
    return collective == RONDE_BROADCAST || collective == RONDE_SCATTER ||
           collective == RONDE_GATHER || collective == RONDE_REDUCE;
}

static void roots_count_where_there_are_some(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const enum ronde_collective collective = (enum ronde_collective)c;
        const struct ronde_call first = {.collective = collective, .dtype = RONDE_INT32, .root = 3};
        const struct ronde_call other = {.collective = collective,
                                         .dtype = RONDE_INT32,
                                         .root = 70000};
        const struct ronde_kind a = ronde_kind_of(&first, 8), b = ronde_kind_of(&other, 8);
        CU_ASSERT_EQUAL(ronde_kind_collective(&a), collective);
        CU_ASSERT_EQUAL(ronde_kind_is_same(&a, &b, 4), !is_rooted(collective));
        CU_ASSERT_EQUAL(ronde_kind_root(&a), is_rooted(collective) ? 3u : 0u);
        CU_ASSERT_EQUAL(ronde_kind_root(&b), is_rooted(collective) ? 70000u : 0u);
    }
}

static void collectives_and_forms_never_share_a_kind(void)
{
    struct ronde_kind kinds[2 * RONDE_COLLECTIVE_COUNT];
    for (uint32_t k = 0; k < 2 * RONDE_COLLECTIVE_COUNT; k++) {
        const struct ronde_call call = {.collective = (enum ronde_collective)(k / 2),
                                        .is_v = k % 2 != 0};
        kinds[k] = ronde_kind_of(&call, 0);
        CU_ASSERT_EQUAL(ronde_kind_is_v(&kinds[k]), k % 2 != 0);
        for (uint32_t earlier = 0; earlier < k; earlier++)
            CU_ASSERT_FALSE(ronde_kind_is_same(&kinds[earlier], &kinds[k], 1));
    }
}

static void shifts_and_tables_are_told_apart(void)
{
    const uint32_t ring[4] = {3, 0, 1, 2}, same[4] = {3, 0, 1, 2}, other[4] = {3, 0, 2, 1};
    struct ronde_call call = {.collective = RONDE_SEND_RECV, .shift = 1};
    const struct ronde_kind shift = ronde_kind_of(&call, 4);
    CU_ASSERT_EQUAL(ronde_kind_shift(&shift), 1);
    call.shift = UINT32_MAX;
    const struct ronde_kind back = ronde_kind_of(&call, 4);
    CU_ASSERT_EQUAL(ronde_kind_shift(&back), UINT32_MAX);
    CU_ASSERT_FALSE(ronde_kind_is_same(&shift, &back, 4));
    call.source_of = ring;
    const struct ronde_kind table = ronde_kind_of(&call, 4);
    call.source_of = same;
    call.shift = 9; /* ignored beside a table */
    const struct ronde_kind again = ronde_kind_of(&call, 4);
    call.source_of = other;
    const struct ronde_kind differs = ronde_kind_of(&call, 4);
    CU_ASSERT(ronde_kind_is_same(&table, &again, 4));
    CU_ASSERT_EQUAL(ronde_kind_digest(&table, 4), ronde_kind_digest(&again, 4));
    CU_ASSERT_FALSE(ronde_kind_is_same(&table, &differs, 4));
    CU_ASSERT_NOT_EQUAL(ronde_kind_digest(&table, 4), ronde_kind_digest(&differs, 4));
    CU_ASSERT_FALSE(ronde_kind_is_same(&table, &shift, 4));
    CU_ASSERT_EQUAL(ronde_kind_digest(&shift, 4), 0);
    /* Only as many entries count as there are ranks. */
    CU_ASSERT(ronde_kind_is_same(&table, &differs, 2));
}

/* Tables of 64 ranks that differ in one entry: their digests all differ, so ranks that disagree are found. */
static void digests_of_tables_tell_single_entries(void)
{
    enum { RANKS = 64 };
    uint64_t state = 5, seen[RANKS + 1];
    uint32_t table[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++)
        table[rank] = (uint32_t)(buffers_draw(&state) % RANKS);
    for (uint32_t k = 0; k <= RANKS; k++) {
        struct ronde_call call = {.collective = RONDE_SEND_RECV, .source_of = table};
        if (k > 0)
            table[k - 1] = RONDE_NONE;
        const struct ronde_kind kind = ronde_kind_of(&call, 1);
        seen[k] = ronde_kind_digest(&kind, RANKS);
        for (uint32_t earlier = 0; earlier < k; earlier++)
            CU_ASSERT_NOT_EQUAL(seen[earlier], seen[k]);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_size_class_is_a_power_of_two", a_size_class_is_a_power_of_two},
        {"nothing_is_a_class_of_its_own", nothing_is_a_class_of_its_own},
        {"elements_count_by_their_bytes", elements_count_by_their_bytes},
        {"roots_count_where_there_are_some", roots_count_where_there_are_some},
        {"collectives_and_forms_never_share_a_kind", collectives_and_forms_never_share_a_kind},
        {"shifts_and_tables_are_told_apart", shifts_and_tables_are_told_apart},
        {"digests_of_tables_tell_single_entries", digests_of_tables_tell_single_entries},
    };
    return suite_run("kind", cases, sizeof cases / sizeof cases[0]);
}
