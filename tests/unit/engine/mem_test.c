/** Memory and arenas: zeroed, aligned, apart from one another, overflow refused, everything given back. */
#include "support/heap.h"
#include "support/suite.h"

#include "engine/ir/arena.h"

#include <stdint.h>
#include <string.h>

static bool all_are(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static void new_memory_is_zeroed(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    unsigned char *bytes = ronde_mem_new(&mem, 100, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    CU_ASSERT_TRUE(all_are(bytes, 300, 0));
    ronde_mem_free(&mem, bytes, 100, 3);
    ronde_mem_free(&mem, NULL, 7, 7);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void nothing_is_a_valid_block(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    void *block = ronde_mem_new(&mem, 0, 8);
    CU_ASSERT_PTR_NOT_NULL(block);
    ronde_mem_free(&mem, block, 0, 8);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void overflowing_sizes_are_refused(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    void *block = NULL;
    size_t capacity = 0;
    CU_ASSERT_PTR_NULL(ronde_mem_new(&mem, SIZE_MAX / 4 + 1, 4));
    CU_ASSERT_FALSE(ronde_mem_grow(&mem, &block, &capacity, SIZE_MAX / 2, 4));
    CU_ASSERT_PTR_NULL(block);
    CU_ASSERT_EQUAL(capacity, 0);
    struct ronde_arena *arena = ronde_arena_create(&mem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(arena);
    const size_t before = heap.requests;
    CU_ASSERT_PTR_NULL(ronde_arena_new(arena, SIZE_MAX / 8 + 1, 8));
    CU_ASSERT_PTR_NULL(ronde_arena_new(arena, SIZE_MAX, 1));
    CU_ASSERT_PTR_NULL(ronde_arena_new(arena, SIZE_MAX - 20, 1));
    CU_ASSERT_EQUAL(heap.requests, before);
    ronde_arena_destroy(arena);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

static void default_memory_allocates_and_frees(void)
{
    const struct ronde_mem *mem = ronde_mem_default();
    void *numbers = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        CU_ASSERT_TRUE_FATAL(ronde_mem_grow(mem, &numbers, &capacity, i + 1, sizeof(size_t)));
        ((size_t *)numbers)[i] = i;
    }
    CU_ASSERT_EQUAL(((size_t *)numbers)[0] + ((size_t *)numbers)[999], 999);
    ronde_mem_free(mem, numbers, capacity, sizeof(size_t));
}

static void growing_keeps_the_old_and_zeroes_the_new(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    void *block = NULL;
    size_t capacity = 0;
    for (size_t needed = 1; needed < 1000; needed++) {
        const size_t before = capacity;
        CU_ASSERT_TRUE_FATAL(ronde_mem_grow(&mem, &block, &capacity, needed, 4));
        CU_ASSERT_TRUE(capacity >= needed);
        CU_ASSERT_TRUE(all_are((unsigned char *)block, before * 4, 0xff));
        CU_ASSERT_TRUE(all_are((unsigned char *)block + before * 4, (capacity - before) * 4, 0));
        memset(block, 0xff, capacity * 4);
    }
    /* Doubling: 999 elements take 8, 16, ... 1024. */
    CU_ASSERT_EQUAL(heap.requests, 8);
    ronde_mem_free(&mem, block, capacity, 4);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void failed_growth_changes_nothing(void)
{
    struct heap heap = heap_start(1, false);
    const struct ronde_mem mem = heap_mem(&heap);
    void *block = NULL;
    size_t capacity = 0;
    CU_ASSERT_TRUE_FATAL(ronde_mem_grow(&mem, &block, &capacity, 1, 4));
    memset(block, 0x5c, capacity * 4);
    void *const old = block;
    const size_t had = capacity;
    CU_ASSERT_FALSE(ronde_mem_grow(&mem, &block, &capacity, had + 1, 4));
    CU_ASSERT_PTR_EQUAL(block, old);
    CU_ASSERT_EQUAL(capacity, had);
    CU_ASSERT_TRUE(all_are(block, had * 4, 0x5c));
    ronde_mem_free(&mem, block, capacity, 4);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

static void lists_zero_what_is_pushed_also_when_used_again(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_list list = {NULL, 0, 0};
    for (int turn = 0; turn < 2; turn++) {
        list.count = 0;
        for (uint32_t i = 0; i < 100; i++) {
            uint64_t *number = ronde_list_push(&mem, &list, sizeof *number);
            CU_ASSERT_PTR_NOT_NULL_FATAL(number);
            CU_ASSERT_EQUAL(*number, 0);
            *number = i + 1;
        }
        CU_ASSERT_EQUAL(list.count, 100);
        CU_ASSERT_EQUAL(((uint64_t *)list.items)[99], 100);
    }
    ronde_list_free(&mem, &list, sizeof(uint64_t));
    CU_ASSERT(list.items == NULL && list.count == 0 && list.capacity == 0);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void lists_stay_as_they_are_where_they_cannot_grow(void)
{
    struct heap heap = heap_start(1, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_list list = {NULL, 0, 0};
    while (ronde_list_push(&mem, &list, 4))
        CU_ASSERT_FATAL(list.count < 1000);
    CU_ASSERT_EQUAL(list.count, list.capacity);
    list.count = UINT32_MAX - 1;
    CU_ASSERT_PTR_NULL(ronde_list_push(&mem, &list, 4));
    CU_ASSERT_EQUAL(list.count, UINT32_MAX - 1);
    ronde_list_free(&mem, &list, 4);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

/* Pieces of many sizes, filled with their number: a piece that overlaps another would lose it. */
static void arena_pieces_are_zeroed_aligned_and_apart(void)
{
    enum { PIECES = 2000 };
    static unsigned char *pieces[PIECES];
    static size_t sizes[PIECES];
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_arena *arena = ronde_arena_create(&mem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(arena);
    CU_ASSERT_PTR_EQUAL(ronde_arena_mem(arena), &mem);
    for (size_t i = 0; i < PIECES; i++) {
        sizes[i] = i % 97 == 0 ? i * 37 : i % 61;
        pieces[i] = ronde_arena_new(arena, sizes[i], 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pieces[i]);
        CU_ASSERT_EQUAL((uintptr_t)pieces[i] % 16, 0);
        CU_ASSERT_TRUE(all_are(pieces[i], sizes[i], 0));
        memset(pieces[i], (int)(i % 251 + 1), sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++)
        CU_ASSERT_TRUE(all_are(pieces[i], sizes[i], (unsigned char)(i % 251 + 1)));
    for (size_t i = 1; i < PIECES; i++)
        CU_ASSERT_PTR_NOT_EQUAL(pieces[i], pieces[i - 1]);
    ronde_arena_destroy(arena);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void arena_wastes_little(void)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_arena *arena = ronde_arena_create(&mem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(arena);
    for (size_t i = 0; i < 10000; i++)
        CU_ASSERT_PTR_NOT_NULL_FATAL(ronde_arena_new(arena, 3, 16));
    CU_ASSERT_TRUE(heap.peak_bytes < 10000 * 48 + 70000);
    CU_ASSERT_TRUE(heap.requests < 20);
    ronde_arena_destroy(arena);
    ronde_arena_destroy(NULL);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

/* Every allocation fails once: the arena says so, stays usable and loses nothing. */
static void arena_survives_every_failure(void)
{
    size_t failures = 0;
    for (size_t refuse = 0;; refuse++) {
        struct heap heap = heap_start(refuse, true);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_arena *arena = ronde_arena_create(&mem);
        size_t missing = arena ? 0 : 1;
        for (size_t i = 0; arena && i < 300; i++)
            missing += ronde_arena_new(arena, i % 13 == 0 ? 5000 : i, 1) == NULL;
        ronde_arena_destroy(arena);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_TRUE(missing <= 1);
        failures += missing;
        if (missing == 0)
            break;
    }
    CU_ASSERT_TRUE(failures > 20);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"new_memory_is_zeroed", new_memory_is_zeroed},
        {"nothing_is_a_valid_block", nothing_is_a_valid_block},
        {"overflowing_sizes_are_refused", overflowing_sizes_are_refused},
        {"default_memory_allocates_and_frees", default_memory_allocates_and_frees},
        {"growing_keeps_the_old_and_zeroes_the_new", growing_keeps_the_old_and_zeroes_the_new},
        {"failed_growth_changes_nothing", failed_growth_changes_nothing},
        {"lists_zero_what_is_pushed_also_when_used_again",
         lists_zero_what_is_pushed_also_when_used_again},
        {"lists_stay_as_they_are_where_they_cannot_grow",
         lists_stay_as_they_are_where_they_cannot_grow},
        {"arena_pieces_are_zeroed_aligned_and_apart", arena_pieces_are_zeroed_aligned_and_apart},
        {"arena_wastes_little", arena_wastes_little},
        {"arena_survives_every_failure", arena_survives_every_failure},
    };
    return suite_run("mem", cases, sizeof cases / sizeof cases[0]);
}
