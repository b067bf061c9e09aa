/**
 * Registered memory: whole pages of one file, handed out first fit, and what another side sees of them through a mapping
 * of its own. Owner and peer are one process here, which maps the file twice.
 */
#include "support/heap.h"
#include "support/suite.h"

#include "hw/shm/remote_read.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* From this length on blocks begin where large pages can. */
#define LARGE_BYTES ((uint64_t)1 << 21)

/* An owner with its descriptor. */
struct owner {
    struct ronde_memory_descriptor descriptor;
    struct ronde_registered_memory registered;
    uint64_t page_bytes;
};

static void open_owner(struct owner *owner, const struct ronde_mem *mem)
{
    memset(owner, 0, sizeof *owner);
    owner->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    ronde_registered_memory_init(&owner->registered, &owner->descriptor, mem);
}

static unsigned char *take(struct owner *owner, uint64_t bytes)
{
    return ronde_mem_new(&owner->registered.own, (size_t)bytes, 1);
}

static void give(struct owner *owner, void *block, uint64_t bytes)
{
    ronde_mem_free(&owner->registered.own, block, (size_t)bytes, 1);
}

static bool is_zero(const unsigned char *block, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (block[i] != 0)
            return false;
    return true;
}

static void nothing_is_taken_before_the_first_block(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    CU_ASSERT_PTR_NULL(owner.registered.start);
    CU_ASSERT_EQUAL(owner.descriptor.bytes, 0);
    CU_ASSERT_EQUAL(owner.descriptor.file.process, 0);
    CU_ASSERT_FALSE(ronde_registered_memory_holds(&owner.registered, &owner, 1));
    ronde_registered_memory_close(&owner.registered);
    CU_ASSERT_PTR_NULL(owner.registered.start);
}

static void blocks_are_whole_pages_one_after_another(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    unsigned char *first = take(&owner, 1);
    unsigned char *second = take(&owner, owner.page_bytes + 1);
    unsigned char *third = take(&owner, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    CU_ASSERT_PTR_EQUAL(first, owner.registered.start);
    CU_ASSERT_PTR_EQUAL(second, first + owner.page_bytes);
    CU_ASSERT_PTR_EQUAL(third, second + 2 * owner.page_bytes);
    CU_ASSERT_EQUAL(owner.registered.block_count, 3);
    CU_ASSERT_EQUAL(owner.descriptor.start, (uint64_t)(uintptr_t)first);
    CU_ASSERT_EQUAL(owner.descriptor.bytes, 4 * owner.page_bytes);
    CU_ASSERT_EQUAL(owner.descriptor.file.process, (int32_t)getpid());
    ronde_registered_memory_close(&owner.registered);
}

static void a_gap_is_used_by_the_first_block_that_fits(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    const uint64_t page = owner.page_bytes;
    unsigned char *low = take(&owner, 2 * page);
    unsigned char *high = take(&owner, page);
    CU_ASSERT_PTR_NOT_NULL_FATAL(low);
    give(&owner, low, 2 * page);
    CU_ASSERT_EQUAL(owner.registered.block_count, 1);
    /* Too long for the gap, then as long as half of it, then as the other half. */
    CU_ASSERT_PTR_EQUAL(take(&owner, 3 * page), high + page);
    CU_ASSERT_PTR_EQUAL(take(&owner, page), low);
    CU_ASSERT_PTR_EQUAL(take(&owner, page), low + page);
    CU_ASSERT_PTR_EQUAL(take(&owner, page), high + 4 * page);
    CU_ASSERT_EQUAL(owner.registered.block_count, 5);
    ronde_registered_memory_close(&owner.registered);
}

static void pages_that_are_used_again_hold_zeros(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    unsigned char *block = take(&owner, owner.page_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    memset(block, 0xa5, owner.page_bytes);
    give(&owner, block, owner.page_bytes);
    unsigned char *again = take(&owner, owner.page_bytes);
    CU_ASSERT_PTR_EQUAL_FATAL(again, block);
    CU_ASSERT(is_zero(again, owner.page_bytes));
    ronde_registered_memory_close(&owner.registered);
}

static void long_blocks_begin_at_large_pages(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    const unsigned char *small = take(&owner, 1);
    const unsigned char *large = take(&owner, LARGE_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    CU_ASSERT_EQUAL((uintptr_t)small % LARGE_BYTES, 0);
    CU_ASSERT_EQUAL((uintptr_t)large % LARGE_BYTES, 0);
    CU_ASSERT_PTR_EQUAL(large, small + LARGE_BYTES);
    /* A short one fits in between. */
    CU_ASSERT_PTR_EQUAL(take(&owner, 5), small + owner.page_bytes);
    ronde_registered_memory_close(&owner.registered);
}

static void growing_keeps_what_was_written(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    const struct ronde_mem *mem = &owner.registered.own;
    unsigned char *block = take(&owner, 100);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    memset(block, 7, 100);
    unsigned char *longer = mem->resize(mem->self, block, 100, 2 * owner.page_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
    CU_ASSERT_EQUAL(longer[0], 7);
    CU_ASSERT_EQUAL(longer[99], 7);
    CU_ASSERT(is_zero(longer + 100, 2 * owner.page_bytes - 100));
    unsigned char *shorter = mem->resize(mem->self, longer, 2 * owner.page_bytes, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shorter);
    CU_ASSERT_EQUAL(shorter[9], 7);
    CU_ASSERT_EQUAL(owner.registered.block_count, 1);
    CU_ASSERT_PTR_NULL(mem->resize(mem->self, shorter, 10, 0));
    CU_ASSERT_EQUAL(owner.registered.block_count, 0);
    ronde_registered_memory_close(&owner.registered);
}

static void only_bytes_of_one_block_are_held(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    const uint64_t page = owner.page_bytes;
    const unsigned char *low = take(&owner, page);
    unsigned char *middle = take(&owner, page);
    const unsigned char *high = take(&owner, page);
    CU_ASSERT_PTR_NOT_NULL_FATAL(low);
    struct ronde_registered_memory *registered = &owner.registered;
    CU_ASSERT_TRUE(ronde_registered_memory_holds(registered, low, page));
    CU_ASSERT_TRUE(ronde_registered_memory_holds(registered, low + page - 1, 1));
    CU_ASSERT_TRUE(ronde_registered_memory_holds(registered, low, 0));
    CU_ASSERT_FALSE(ronde_registered_memory_holds(registered, low, page + 1));
    CU_ASSERT_FALSE(ronde_registered_memory_holds(registered, low - 1, 1));
    give(&owner, middle, page);
    CU_ASSERT_FALSE(ronde_registered_memory_holds(registered, middle, 1));
    CU_ASSERT_TRUE(ronde_registered_memory_holds(registered, high, page));
    CU_ASSERT_FALSE(ronde_registered_memory_holds(registered, high + page, 1));
    CU_ASSERT_FALSE(ronde_registered_memory_holds(registered, low + registered->bytes, 1));
    ronde_registered_memory_close(&owner.registered);
}

static void frozen_memory_gives_and_takes_nothing(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    unsigned char *block = take(&owner, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    block[0] = 9;
    ronde_registered_memory_freeze(&owner.registered);
    CU_ASSERT_PTR_NULL(take(&owner, 1));
    give(&owner, block, 1);
    CU_ASSERT_EQUAL(owner.registered.block_count, 1);
    CU_ASSERT_EQUAL(block[0], 9);
    CU_ASSERT_TRUE(ronde_registered_memory_holds(&owner.registered, block, 1));
    ronde_registered_memory_close(&owner.registered);
}

static void blocks_longer_than_the_machine_are_refused(void)
{
    struct owner owner;
    open_owner(&owner, ronde_mem_default());
    CU_ASSERT_PTR_NOT_NULL_FATAL(take(&owner, 1));
    CU_ASSERT_PTR_NULL(take(&owner, owner.registered.bytes + 1));
    CU_ASSERT_EQUAL(owner.registered.block_count, 1);
    ronde_registered_memory_close(&owner.registered);
}

static void without_memory_for_its_list_no_block_is_taken(void)
{
    struct heap heap = heap_start(0, true);
    const struct ronde_mem mem = heap_mem(&heap);
    struct owner owner;
    open_owner(&owner, &mem);
    CU_ASSERT_PTR_NULL(take(&owner, 1));
    CU_ASSERT_EQUAL(owner.registered.block_count, 0);
    CU_ASSERT_EQUAL(owner.descriptor.bytes, 0);
    CU_ASSERT_PTR_NOT_NULL(take(&owner, 1));
    ronde_registered_memory_close(&owner.registered);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void a_mapping_shows_the_same_bytes_elsewhere(void)
{
    struct owner owner;
    struct ronde_memory_mapping mapping = {0};
    open_owner(&owner, ronde_mem_default());
    unsigned char *block = take(&owner, 2 * owner.page_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    block[owner.page_bytes] = 42;
    CU_ASSERT_TRUE_FATAL(ronde_memory_mapping_open(&mapping, &owner.descriptor));
    unsigned char *here = ronde_memory_mapping_find(&mapping, block + owner.page_bytes, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(here);
    CU_ASSERT_PTR_NOT_EQUAL(here, block + owner.page_bytes);
    CU_ASSERT_EQUAL(*here, 42);
    *here = 43;
    CU_ASSERT_EQUAL(block[owner.page_bytes], 43);
    ronde_memory_mapping_close(&mapping);
    CU_ASSERT_PTR_NULL(mapping.start);
    ronde_registered_memory_close(&owner.registered);
}

static void a_mapping_finds_only_what_it_maps(void)
{
    unsigned char memory[64];
    const struct ronde_memory_mapping mapping = {.theirs = 0x10000, .bytes = 64, .start = memory};
    const struct {
        uint64_t theirs;
        uint64_t bytes;
        unsigned char *found;
    } rows[] = {
        {0x10000, 64, memory},       {0x10000, 65, NULL},       {0x1003f, 1, memory + 63},
        {0x1003f, 2, NULL},          {0x10040, 0, NULL},        {0xffff, 1, NULL},
        {0x10000, UINT64_MAX, NULL}, {0x10020, 0, memory + 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const unsigned char *theirs = (const unsigned char *)(uintptr_t)rows[i].theirs;
        CU_ASSERT_PTR_EQUAL(ronde_memory_mapping_find(&mapping, theirs, rows[i].bytes),
                            rows[i].found);
    }
}

static void a_mapping_grows_with_what_is_shown(void)
{
    struct owner owner;
    struct ronde_memory_mapping mapping = {0};
    open_owner(&owner, ronde_mem_default());
    CU_ASSERT_FALSE(ronde_memory_mapping_open(&mapping, &owner.descriptor));
    CU_ASSERT_EQUAL(errno, EFAULT);
    unsigned char *small = take(&owner, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(small);
    CU_ASSERT_TRUE_FATAL(ronde_memory_mapping_open(&mapping, &owner.descriptor));
    /* All that is shown is mapped already. */
    CU_ASSERT_FALSE(ronde_memory_mapping_open(&mapping, &owner.descriptor));
    CU_ASSERT_EQUAL(errno, EFAULT);
    unsigned char *large = take(&owner, LARGE_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    large[LARGE_BYTES - 1] = 5;
    CU_ASSERT_PTR_NULL(ronde_memory_mapping_find(&mapping, large, LARGE_BYTES));
    CU_ASSERT_TRUE_FATAL(ronde_memory_mapping_open(&mapping, &owner.descriptor));
    const unsigned char *here = ronde_memory_mapping_find(&mapping, large, LARGE_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(here);
    CU_ASSERT_EQUAL(here[LARGE_BYTES - 1], 5);
    ronde_memory_mapping_close(&mapping);
    ronde_registered_memory_close(&owner.registered);
}

static void a_mapping_outlives_its_owner(void)
{
    struct owner owner;
    struct ronde_memory_mapping mapping = {0};
    open_owner(&owner, ronde_mem_default());
    unsigned char *block = take(&owner, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    block[0] = 11;
    CU_ASSERT_TRUE_FATAL(ronde_memory_mapping_open(&mapping, &owner.descriptor));
    ronde_registered_memory_close(&owner.registered);
    CU_ASSERT_EQUAL(mapping.start[0], 11);
    ronde_memory_mapping_close(&mapping);
    /* Closing twice is allowed. */
    ronde_memory_mapping_close(&mapping);
    CU_ASSERT_EQUAL(mapping.bytes, 0);
}

static void a_descriptor_that_is_not_there_is_refused(void)
{
    struct ronde_memory_mapping mapping = {0};
    const struct ronde_memory_descriptor descriptor = {.start = 0x10000,
                                                       .bytes = 4096,
                                                       .file = {(int32_t)getpid(), 1 << 20}};
    CU_ASSERT_FALSE(ronde_memory_mapping_open(&mapping, &descriptor));
    CU_ASSERT_NOT_EQUAL(errno, 0);
    CU_ASSERT_PTR_NULL(mapping.start);
}

#define TURNS 1500u
#define KEPT 6u

/* A thread that allocates and frees; what it wrote must still be there when it frees. */
struct user {
    pthread_t thread;
    struct owner *owner;
    unsigned char mark;
    uint32_t wrong;
};

static void *use_blocks(void *self)
{
    struct user *user = self;
    struct owner *owner = user->owner;
    unsigned char *blocks[KEPT] = {NULL};
    uint64_t bytes[KEPT] = {0};
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        const uint32_t k = turn % KEPT;
        if (blocks[k]) {
            user->wrong += blocks[k][0] != user->mark || blocks[k][bytes[k] - 1] != user->mark ||
                           !ronde_registered_memory_holds(&owner->registered, blocks[k], bytes[k]);
            give(owner, blocks[k], bytes[k]);
        }
        bytes[k] = 1 + (turn * 7919u + user->mark) % (4 * owner->page_bytes);
        blocks[k] = take(owner, bytes[k]);
        user->wrong += !blocks[k];
        if (blocks[k]) {
            user->wrong += blocks[k][0] != 0 || blocks[k][bytes[k] - 1] != 0;
            blocks[k][0] = user->mark;
            blocks[k][bytes[k] - 1] = user->mark;
        }
    }
    for (uint32_t k = 0; k < KEPT; k++)
        if (blocks[k])
            give(owner, blocks[k], bytes[k]);
    return NULL;
}

static void threads_take_and_give_at_once(void)
{
    struct owner owner;
    struct user users[3];
    open_owner(&owner, ronde_mem_default());
    for (uint32_t k = 0; k < 3; k++) {
        users[k] = (struct user){.owner = &owner, .mark = (unsigned char)(k + 1)};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&users[k].thread, NULL, use_blocks, &users[k]), 0);
    }
    for (uint32_t k = 0; k < 3; k++) {
        CU_ASSERT_EQUAL(pthread_join(users[k].thread, NULL), 0);
        CU_ASSERT_EQUAL(users[k].wrong, 0);
    }
    CU_ASSERT_EQUAL(owner.registered.block_count, 0);
    ronde_registered_memory_close(&owner.registered);
}

/* In a process of its own, whose files may not be longer: whether blocks come as they should. */
static bool takes_blocks_within(uint64_t limit_bytes, uint64_t fits, uint64_t is_too_long)
{
    struct owner owner;
    int state = 0;
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {limit_bytes, limit_bytes};
        bool is_right = setrlimit(RLIMIT_FSIZE, &limit) == 0;
        open_owner(&owner, ronde_mem_default());
        unsigned char *block = fits > 0 ? take(&owner, fits) : NULL;
        is_right = is_right && (fits == 0 || block) && !take(&owner, is_too_long);
        if (block)
            give(&owner, block, fits);
        ronde_registered_memory_close(&owner.registered);
        _exit(is_right ? 0 : 1);
    }
    (void)waitpid(child, &state, 0);
    if (WIFSIGNALED(state))
        suite_note("files of %llu bytes: ended by signal %d", (unsigned long long)limit_bytes,
                   WTERMSIG(state));
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/* Registered memory is a file to the system, which ends who makes a file too long by SIGXFSZ. */
static void a_limit_of_files_is_an_error(void)
{
    CU_ASSERT_TRUE(takes_blocks_within((uint64_t)64 << 20, (uint64_t)1 << 20, (uint64_t)65 << 20));
    CU_ASSERT_TRUE(takes_blocks_within((uint64_t)3 << 20, (uint64_t)2 << 20, (uint64_t)1 << 20));
    CU_ASSERT_TRUE(takes_blocks_within(4096, 0, 4096));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"nothing_is_taken_before_the_first_block", nothing_is_taken_before_the_first_block},
        {"blocks_are_whole_pages_one_after_another", blocks_are_whole_pages_one_after_another},
        {"a_gap_is_used_by_the_first_block_that_fits", a_gap_is_used_by_the_first_block_that_fits},
        {"pages_that_are_used_again_hold_zeros", pages_that_are_used_again_hold_zeros},
        {"long_blocks_begin_at_large_pages", long_blocks_begin_at_large_pages},
        {"growing_keeps_what_was_written", growing_keeps_what_was_written},
        {"only_bytes_of_one_block_are_held", only_bytes_of_one_block_are_held},
        {"frozen_memory_gives_and_takes_nothing", frozen_memory_gives_and_takes_nothing},
        {"blocks_longer_than_the_machine_are_refused", blocks_longer_than_the_machine_are_refused},
        {"a_limit_of_files_is_an_error", a_limit_of_files_is_an_error},
        {"without_memory_for_its_list_no_block_is_taken",
         without_memory_for_its_list_no_block_is_taken},
        {"threads_take_and_give_at_once", threads_take_and_give_at_once},
        {"a_mapping_shows_the_same_bytes_elsewhere", a_mapping_shows_the_same_bytes_elsewhere},
        {"a_mapping_finds_only_what_it_maps", a_mapping_finds_only_what_it_maps},
        {"a_mapping_grows_with_what_is_shown", a_mapping_grows_with_what_is_shown},
        {"a_mapping_outlives_its_owner", a_mapping_outlives_its_owner},
        {"a_descriptor_that_is_not_there_is_refused", a_descriptor_that_is_not_there_is_refused},
    };
    return suite_run("registered_memory", cases, sizeof cases / sizeof cases[0]);
}
