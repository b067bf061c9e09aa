/*
 * Buffers of benchmarks: what inputs hold, from any place on, how input and output overlap in place, and what happens where
 * memory ends.
 */
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/buffers.h"
#include "ronde/pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct ronde_input_range range_of(enum ronde_collective collective, enum ronde_dtype dtype,
                                         uint64_t count)
{
    return (struct ronde_input_range){.collective = collective,
                                      .ranks = 4,
                                      .root = 1,
                                      .dtype = dtype,
                                      .op = RONDE_SUM,
                                      .count = count};
}

/* As those of devices: a copy that crosses lines differently takes longer on some processors, which is no rank's fault. */
static void buffers_begin_at_pages(void)
{
    const struct ronde_input_range range = range_of(RONDE_ALL_GATHER, RONDE_UINT8, 5);
    struct ronde_memory memory;
    CU_ASSERT_EQUAL_FATAL(ronde_memory_create(&range, &memory, NULL), RONDE_OK);
    for (uint32_t rank = 0; rank < range.ranks; rank++) {
        CU_ASSERT_EQUAL((uintptr_t)memory.inputs[rank] % RONDE_BUFFER_ALIGNMENT, 0);
        CU_ASSERT_EQUAL((uintptr_t)memory.outputs[rank] % RONDE_BUFFER_ALIGNMENT, 0);
    }
    ronde_memory_destroy(&memory);
}

/* Any window of the values is the same as that part of the whole, whatever it begins with and however long it is. */
static void any_window_is_part_of_the_whole(void)
{
    enum { PERIOD = 97, WHOLE = 5 * PERIOD + 11 };
    const struct ronde_input_range range = range_of(RONDE_ALL_REDUCE, RONDE_INT32, WHOLE);
    int32_t period[PERIOD], whole[WHOLE], window[WHOLE];
    ronde_pattern_begin(RONDE_PATTERN_ANY, &range, 2, PERIOD, period);
    for (size_t k = 0; k < WHOLE; k++)
        whole[k] = period[k % PERIOD];
    for (size_t first = 0; first < WHOLE; first += 13)
        for (size_t length = 0; first + length <= WHOLE; length += 29) {
            memset(window, 0, sizeof window);
            ronde_pattern_read(period, PERIOD, sizeof *period, first, length, window);
            CU_ASSERT_EQUAL(memcmp(window, whole + first, length * sizeof *window), 0);
            CU_ASSERT(first + length == WHOLE || length == WHOLE || window[length] == 0);
        }
}

static void a_period_is_no_longer_than_the_input(void)
{
    CU_ASSERT_EQUAL(ronde_pattern_period(0), 0);
    CU_ASSERT_EQUAL(ronde_pattern_period(1), 1);
    CU_ASSERT_EQUAL(ronde_pattern_period(65520), 65520);
    for (size_t elements = 65521; elements < 10u << 20; elements *= 3)
        CU_ASSERT_EQUAL(ronde_pattern_period(elements), 65521);
}

/* Ranks differ, and elements of a rank do: a block that went astray would show. */
static void ranks_and_elements_differ(void)
{
    enum { ELEMENTS = 512 };
    static double values[8][ELEMENTS];
    const struct ronde_input_range range = range_of(RONDE_ALL_GATHER, RONDE_FLOAT64, ELEMENTS);
    for (uint32_t rank = 0; rank < 8; rank++)
        ronde_pattern_begin(RONDE_PATTERN_ANY, &range, rank, ELEMENTS, values[rank]);
    for (uint32_t rank = 0; rank < 8; rank++) {
        size_t equal_next = 0, equal_rank = 0;
        for (size_t k = 0; k + 1 < ELEMENTS; k++) {
            equal_next += values[rank][k] == values[rank][k + 1];
            equal_rank += values[rank][k] == values[(rank + 1) % 8][k];
            CU_ASSERT(values[rank][k] >= 1.0 && values[rank][k] < 2.0);
        }
        CU_ASSERT(equal_next < 5 && equal_rank < 5);
    }
}

/* NCCL's in place, as buffers: where the smaller one lies in the larger. */
static void in_place_the_smaller_buffer_lies_in_the_larger(void)
{
    enum { COUNT = 6 };
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const struct ronde_input_range range =
            range_of((enum ronde_collective)c, RONDE_INT16, COUNT);
        struct ronde_memory memory;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL_FATAL(ronde_memory_create(&range, &memory, &error), RONDE_OK);
        ronde_memory_view(&memory, &range, true);
        for (uint32_t rank = 0; rank < 4; rank++) {
            const char *in = memory.in[rank], *out = memory.out[rank];
            const ptrdiff_t own = (ptrdiff_t)(2 * COUNT * rank);
            const bool is_root = rank == range.root;
            switch (range.collective) {
            case RONDE_ALL_REDUCE:
            case RONDE_REDUCE:
            case RONDE_BROADCAST:
                CU_ASSERT_PTR_EQUAL(in, out);
                break;
            case RONDE_ALL_GATHER:
                CU_ASSERT_EQUAL(in - out, own);
                break;
            case RONDE_REDUCE_SCATTER:
                CU_ASSERT_EQUAL(out - in, own);
                break;
            case RONDE_GATHER:
                CU_ASSERT(!is_root || in - out == own);
                break;
            case RONDE_SCATTER:
                CU_ASSERT(!is_root || out - in == own);
                break;
            default:
                break;
            }
        }
        ronde_memory_view(&memory, &range, false);
        for (uint32_t rank = 0; rank < 4; rank++) {
            CU_ASSERT_PTR_EQUAL(memory.in[rank], memory.inputs[rank]);
            CU_ASSERT_PTR_EQUAL(memory.out[rank], memory.outputs[rank]);
        }
        ronde_memory_destroy(&memory);
        ronde_memory_destroy(&memory);
    }
}

/* Out of place inputs hold the pattern and outputs the poison; in place the poison came first. */
static void a_fill_leaves_the_inputs_whole(void)
{
    enum { COUNT = 1000 };
    for (int in_place = 0; in_place < 2; in_place++) {
        const struct ronde_input_range range = range_of(RONDE_ALL_GATHER, RONDE_INT32, COUNT);
        struct ronde_memory memory;
        struct ronde_error error = {0};
        static int32_t expected[COUNT];
        CU_ASSERT_EQUAL_FATAL(ronde_memory_create(&range, &memory, &error), RONDE_OK);
        ronde_memory_view(&memory, &range, in_place != 0);
        ronde_memory_fill(&memory, &range, RONDE_PATTERN_ANY);
        for (uint32_t rank = 0; rank < 4; rank++) {
            const unsigned char *out = memory.out[rank];
            size_t poisoned = 0;
            ronde_pattern_begin(RONDE_PATTERN_ANY, &range, rank, COUNT, expected);
            CU_ASSERT_EQUAL(memcmp(memory.in[rank], expected, sizeof expected), 0);
            for (size_t k = 0; k < 4 * sizeof expected; k++)
                poisoned += out[k] == 0xA5;
            CU_ASSERT(poisoned >= (in_place ? 3 : 4) * sizeof expected);
        }
        ronde_memory_destroy(&memory);
    }
}

/* One rank of a process of its own: the others have no buffers here, and its own come from another allocator. */
static void a_rank_alone_has_its_buffers_from_its_own_memory(void)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem own = heap_mem(&heap);
    const struct ronde_input_range range = range_of(RONDE_ALL_TO_ALL, RONDE_FLOAT32, 10);
    struct ronde_memory memory;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_memory_create_only(&range, 2, &own, &memory, &error), RONDE_OK);
    CU_ASSERT_EQUAL(heap.live_blocks, 2);
    CU_ASSERT_EQUAL(heap.live_bytes, memory.in_bytes + memory.out_bytes);
    for (uint32_t rank = 0; rank < 4; rank++) {
        CU_ASSERT_EQUAL(ronde_memory_has(&memory, rank), rank == 2);
        CU_ASSERT_EQUAL(memory.inputs[rank] != NULL, rank == 2);
        CU_ASSERT_EQUAL(memory.outputs[rank] != NULL, rank == 2);
    }
    ronde_memory_view(&memory, &range, false);
    ronde_memory_fill(&memory, &range, RONDE_PATTERN_EXACT);
    ronde_memory_poison(&memory, &range);
    CU_ASSERT_EQUAL(*(const unsigned char *)memory.out[2], 0xA5);
    ronde_memory_destroy(&memory);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void without_memory_nothing_is_left(void)
{
    for (size_t refused = 0; refused < 2; refused++) {
        struct heap heap = heap_start(refused, true);
        const struct ronde_mem own = heap_mem(&heap);
        const struct ronde_input_range range = range_of(RONDE_ALL_TO_ALL, RONDE_FLOAT32, 10);
        struct ronde_memory memory = {.mem = NULL};
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_memory_create_only(&range, 2, &own, &memory, &error), RONDE_NO_MEMORY);
        CU_ASSERT_STRING_EQUAL(error.message,
                               "no memory for 1 ranks with 160 bytes in and 160 out");
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_PTR_NULL(memory.mem);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"buffers_begin_at_pages", buffers_begin_at_pages},
        {"any_window_is_part_of_the_whole", any_window_is_part_of_the_whole},
        {"a_period_is_no_longer_than_the_input", a_period_is_no_longer_than_the_input},
        {"ranks_and_elements_differ", ranks_and_elements_differ},
        {"in_place_the_smaller_buffer_lies_in_the_larger",
         in_place_the_smaller_buffer_lies_in_the_larger},
        {"a_fill_leaves_the_inputs_whole", a_fill_leaves_the_inputs_whole},
        {"a_rank_alone_has_its_buffers_from_its_own_memory",
         a_rank_alone_has_its_buffers_from_its_own_memory},
        {"without_memory_nothing_is_left", without_memory_nothing_is_left},
    };
    return suite_run("input_buffers", cases, sizeof cases / sizeof cases[0]);
}
