/*
 * What a call of the front door is refused for before anything moves. The rules for buffers are ronde.h's, written down
 * here a second time as sets of bytes: every placement of two small buffers is held against them.
 */
#include "api/cache.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define RANKS 4u

/* Memory that calls point into; nothing reads or writes it. */
static unsigned char arena[4096];

/* A call that is in order, of blocks of three floats, for rank 1. */
static struct ronde_call good(enum ronde_collective collective)
{
    return (struct ronde_call){.collective = collective,
                               .dtype = RONDE_FLOAT32,
                               .op = RONDE_SUM,
                               .in = arena,
                               .out = arena + 2048,
                               .count = 3};
}

static void expect_refused(const struct ronde_call *call, const char *text)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_call_check(call, 1, RANKS, NULL, &error), RONDE_BAD_ARGUMENT);
    if (!strstr(error.message, text))
        suite_note("\"%s\" lacks \"%s\"", error.message, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, text));
}

static void expect_accepted(const struct ronde_call *call, uint32_t rank)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_call_check(call, rank, RANKS, NULL, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("refused: %s", error.message);
}

static void what_is_in_order_is_accepted_on_every_rank(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            struct ronde_call call = good((enum ronde_collective)c);
            call.root = 2;
            expect_accepted(&call, rank);
        }
}

static void names_that_do_not_exist_are_refused(void)
{
    struct ronde_call call = good((enum ronde_collective)RONDE_COLLECTIVE_COUNT);
    char text[64];
    snprintf(text, sizeof text, "collective %u, there are %u", (unsigned)RONDE_COLLECTIVE_COUNT,
             (unsigned)RONDE_COLLECTIVE_COUNT);
    expect_refused(&call, text);
    call.collective = (enum ronde_collective)1000000;
    expect_refused(&call, "collective 1000000, there are");
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        call = good((enum ronde_collective)c);
        call.dtype = (enum ronde_dtype)RONDE_DTYPE_COUNT;
        if (c == RONDE_BARRIER)
            expect_accepted(&call, 1);
        else
            expect_refused(&call, "dtype");
        call = good((enum ronde_collective)c);
        call.op = (enum ronde_op)(RONDE_OP_COUNT + 7);
        if (ronde_collective_traits(call.collective)->reduces)
            expect_refused(&call, "op");
        else
            expect_accepted(&call, 1);
    }
}

static void a_factor_is_needed_where_inputs_are_scaled(void)
{
    static const float factor = 0.5F;
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        struct ronde_call call = good((enum ronde_collective)c);
        call.op = RONDE_PREMUL_SUM;
        if (!ronde_collective_traits(call.collective)->reduces) {
            expect_accepted(&call, 1);
            continue;
        }
        expect_refused(&call, "premul_sum needs a factor");
        call.factor = &factor;
        expect_accepted(&call, 1);
    }
}

static void a_root_beyond_the_ranks_is_refused_where_there_is_a_root(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        struct ronde_call call = good((enum ronde_collective)c);
        call.root = RANKS;
        if (ronde_collective_traits(call.collective)->has_root)
            expect_refused(&call, "root 4, the communicator has 4 ranks");
        else
            expect_accepted(&call, 1);
    }
}

static void buffers_beyond_the_address_space_are_refused(void)
{
    static const uint64_t counts[] = {UINT64_MAX, (uint64_t)INT64_MAX,
                                      (uint64_t)INT64_MAX / RANKS / 4 + 1};
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            struct ronde_call call = good((enum ronde_collective)c);
            call.count = counts[k];
            if (c != RONDE_BARRIER)
                expect_refused(&call, "a buffer would exceed the address space");
        }
}

/* Whether a rank has an input or output at all, as ronde.h says it of roots. */
static bool has_buffer(enum ronde_collective collective, bool is_input, bool is_root)
{
    switch (collective) {
    case RONDE_BARRIER:
        return false;
    case RONDE_BROADCAST:
    case RONDE_SCATTER:
        return !is_input || is_root;
    case RONDE_GATHER:
    case RONDE_REDUCE:
        return is_input || is_root;
    default:
        return true;
    }
}

static void a_buffer_that_is_needed_must_not_be_null(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (uint32_t root = 0; root < 2; root++)
            for (int is_input = 0; is_input < 2; is_input++) {
                struct ronde_call call = good((enum ronde_collective)c);
                call.root = root;
                if (is_input)
                    call.in = NULL;
                else
                    call.out = NULL;
                if (has_buffer(call.collective, is_input != 0, root == 1))
                    expect_refused(&call, is_input ? "in is NULL" : "out is NULL");
                else
                    expect_accepted(&call, 1);
                /* Of nothing NULL will do. */
                call.count = 0;
                expect_accepted(&call, 1);
            }
}

static void tables_and_is_v_belong_together(void)
{
    const uint64_t counts[RANKS] = {1, 2, 0, 3}, none[RANKS] = {0}, offsets[RANKS] = {0, 1, 9, 3};
    const struct ronde_blocks with = {.counts = counts, .offsets = offsets};
    const struct ronde_blocks nowhere = {.counts = counts}, empty = {.counts = none};
    const struct ronde_blocks without = {0};
    struct ronde_call call = good(RONDE_ALL_TO_ALL);
    call.in_blocks = &with;
    expect_refused(&call, "in has a table of counts, but is_v is not set");
    call.is_v = true;
    expect_refused(&call, "is_v, but out has no table of counts");
    call.out_blocks = &without;
    expect_refused(&call, "is_v, but out has no table of counts");
    call.out_blocks = &nowhere;
    expect_refused(&call, "out has counts, but neither offsets nor pointers");
    call.out_blocks = &with;
    expect_accepted(&call, 1);
    call.in = NULL;
    expect_refused(&call, "in is NULL");
    call.in_blocks = &empty;
    expect_accepted(&call, 1);
    call.is_v = false;
    call.in_blocks = NULL;
    expect_refused(&call, "in is NULL");
}

static void pointers_stand_for_the_buffer(void)
{
    const void *pointers[RANKS] = {arena, arena + 64, arena + 128, arena + 192};
    const struct ronde_blocks blocks = {.pointers = (void *const *)(const void *)pointers};
    struct ronde_call call = good(RONDE_ALL_TO_ALL);
    call.in = NULL;
    call.in_blocks = &blocks;
    expect_accepted(&call, 1);
    call.out = NULL;
    expect_refused(&call, "out is NULL");
}

/* In place, as ronde.h says it: `in` and `out` in elements of the arena. */
static bool is_in_place(enum ronde_collective collective, uint64_t in, uint64_t out, uint64_t own)
{
    switch (collective) {
    case RONDE_ALL_REDUCE:
    case RONDE_REDUCE:
    case RONDE_BROADCAST:
        return in == out;
    case RONDE_ALL_GATHER:
    case RONDE_GATHER:
        return in == out + own;
    case RONDE_REDUCE_SCATTER:
    case RONDE_SCATTER:
        return out == in + own;
    default:
        return false;
    }
}

static uint64_t blocks_of(enum ronde_collective collective, bool is_input)
{
    switch (collective) {
    case RONDE_SCATTER:
    case RONDE_REDUCE_SCATTER:
        return is_input ? RANKS : 1;
    case RONDE_GATHER:
    case RONDE_ALL_GATHER:
        return is_input ? 1 : RANKS;
    case RONDE_ALL_TO_ALL:
        return RANKS;
    default:
        return 1;
    }
}

/* Two buffers of the arena, a byte per element: do they share one? */
static bool do_overlap(uint64_t in, uint64_t in_elements, uint64_t out, uint64_t out_elements)
{
    unsigned char marks[64] = {0};
    bool is_shared = false;
    for (uint64_t k = 0; k < in_elements; k++)
        marks[in + k] = 1;
    for (uint64_t k = 0; k < out_elements; k++)
        is_shared = is_shared || marks[out + k] != 0;
    return is_shared;
}

static uint32_t place(enum ronde_collective collective, uint32_t rank, uint64_t count, uint64_t in,
                      uint64_t out)
{
    const bool is_root = rank == 1;
    struct ronde_error error = {0};
    const struct ronde_call call = {.collective = collective,
                                    .dtype = RONDE_INT32,
                                    .op = RONDE_SUM,
                                    .in = arena + 4 * in,
                                    .out = arena + 4 * out,
                                    .count = count,
                                    .root = 1};
    const bool has_both =
        has_buffer(collective, true, is_root) && has_buffer(collective, false, is_root);
    const bool is_right = !has_both ||
                          !do_overlap(in, count * blocks_of(collective, true), out,
                                      count * blocks_of(collective, false)) ||
                          is_in_place(collective, in, out, rank * count);
    const enum ronde_status status = ronde_call_check(&call, rank, RANKS, NULL, &error);
    if ((status == RONDE_OK) == is_right &&
        (is_right || strstr(error.message, "in and out overlap")))
        return 0;
    suite_note("%s, rank %u, %llu elements, in at %llu, out at %llu: %s",
               ronde_collective_text(collective), rank, (unsigned long long)count,
               (unsigned long long)in, (unsigned long long)out,
               status == RONDE_OK ? "accepted" : error.message);
    return 1;
}

static void every_placement_of_two_buffers_is_judged_as_documented(void)
{
    uint32_t wrong = 0, placements = 0;
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (uint32_t rank = 0; rank < RANKS; rank++)
            for (uint64_t count = 0; count <= 3; count++)
                for (uint64_t in = 0; in < 24; in++)
                    for (uint64_t out = 0; out < 24; out++, placements++)
                        wrong +=
                            wrong < 5 ? place((enum ronde_collective)c, rank, count, in, out) : 0;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(placements > 50000);
}

static void the_longest_block_is_that_of_both_tables(void)
{
    const uint64_t in[RANKS] = {5, 1, 0, 2}, out[RANKS] = {3, 4, 9, 1};
    const struct ronde_blocks in_blocks = {.counts = in}, out_blocks = {.counts = out};
    struct ronde_call call = good(RONDE_ALL_TO_ALL);
    call.is_v = true;
    call.in_blocks = &in_blocks;
    call.out_blocks = &out_blocks;
    CU_ASSERT_EQUAL(ronde_call_longest(&call, 1, RANKS), 9);
    /* gather: one block in; out only at the root, whose table alone is looked at. */
    call = good(RONDE_GATHER);
    call.is_v = true;
    call.root = 1;
    call.in_blocks = &in_blocks;
    call.out_blocks = &out_blocks;
    CU_ASSERT_EQUAL(ronde_call_longest(&call, 1, RANKS), 9);
    call.out_blocks = NULL;
    CU_ASSERT_EQUAL(ronde_call_longest(&call, 0, RANKS), 5);
    /* scatter: the other way round. */
    call = good(RONDE_SCATTER);
    call.is_v = true;
    call.root = 1;
    call.out_blocks = &out_blocks;
    CU_ASSERT_EQUAL(ronde_call_longest(&call, 0, RANKS), 3);
    call.in_blocks = &in_blocks;
    CU_ASSERT_EQUAL(ronde_call_longest(&call, 1, RANKS), 5);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_in_order_is_accepted_on_every_rank", what_is_in_order_is_accepted_on_every_rank},
        {"names_that_do_not_exist_are_refused", names_that_do_not_exist_are_refused},
        {"a_factor_is_needed_where_inputs_are_scaled", a_factor_is_needed_where_inputs_are_scaled},
        {"a_root_beyond_the_ranks_is_refused_where_there_is_a_root",
         a_root_beyond_the_ranks_is_refused_where_there_is_a_root},
        {"buffers_beyond_the_address_space_are_refused",
         buffers_beyond_the_address_space_are_refused},
        {"a_buffer_that_is_needed_must_not_be_null", a_buffer_that_is_needed_must_not_be_null},
        {"tables_and_is_v_belong_together", tables_and_is_v_belong_together},
        {"pointers_stand_for_the_buffer", pointers_stand_for_the_buffer},
        {"every_placement_of_two_buffers_is_judged_as_documented",
         every_placement_of_two_buffers_is_judged_as_documented},
        {"the_longest_block_is_that_of_both_tables", the_longest_block_is_that_of_both_tables},
    };
    return suite_run("call_check", cases, sizeof cases / sizeof cases[0]);
}
