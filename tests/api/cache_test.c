/*
 * Programs that a communicator keeps: which are shared, which go and when, whose wish counts, and what remains after a
 * failure. On a communicator of one rank, beside the door that users have, so that what is kept can be looked at.
 */
#include "api/cache.h"
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/ronde.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A cache of its own on a communicator of this process alone. */
struct stage {
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_comm *comm;
    struct ronde_cache cache;
    struct ronde_error error;
};

static void begin(struct stage *stage)
{
    char token[64];
    memset(stage, 0, sizeof *stage);
    stage->heap = heap_start(SIZE_MAX, true);
    stage->mem = heap_mem(&stage->heap);
    snprintf(token, sizeof token, "cache-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    CU_ASSERT_EQUAL_FATAL(ronde_comm_join(&join, &options, &stage->mem, &stage->comm, &stage->error),
                          RONDE_OK);
    ronde_cache_init(&stage->cache, stage->comm);
}

static void end(struct stage *stage)
{
    ronde_cache_fini(&stage->cache);
    CU_ASSERT_EQUAL(stage->cache.count, 0);
    CU_ASSERT_PTR_NULL(stage->cache.schedules);
    ronde_comm_destroy(stage->comm);
    CU_ASSERT_EQUAL(stage->heap.live_blocks, 0);
    CU_ASSERT_EQUAL(stage->heap.wrong_sizes, 0);
}

/* The kind of a call of bytes. */
static struct ronde_kind kind_of(enum ronde_collective collective, uint64_t bytes)
{
    const struct ronde_call call = {.collective = collective, .dtype = RONDE_UINT8};
    return ronde_kind_of(&call, bytes);
}

static void load(struct stage *stage, const struct ronde_kind *kind)
{
    CU_ASSERT_EQUAL(ronde_cache_load(&stage->cache, kind, &stage->error), RONDE_OK);
    if (stage->error.status != RONDE_OK)
        suite_note("%s", stage->error.message);
}

static uint32_t count_schedules(const struct ronde_cache *cache)
{
    uint32_t count = 0;
    for (const struct ronde_shared_schedule *at = cache->schedules; at; at = at->next)
        count++;
    return count;
}

/* Whether it is kept, without counting as a use of it. */
static bool is_kept(const struct ronde_cache *cache, const struct ronde_kind *kind)
{
    bool is = false;
    for (uint32_t k = 0; k < cache->count; k++)
        is = is || ronde_kind_is_same(&cache->kept[k].kind, kind, cache->ranks);
    return is;
}

static void set_algorithm(struct stage *stage, enum ronde_collective collective, const char *name)
{
    snprintf(stage->cache.wishes[collective].algorithm, RONDE_ALGORITHM_BYTES, "%s", name);
}

static void what_is_loaded_is_found_again(void)
{
    struct stage stage;
    begin(&stage);
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const struct ronde_kind kind = kind_of((enum ronde_collective)c, 100);
        CU_ASSERT_PTR_NULL(ronde_cache_find(&stage.cache, &kind));
        load(&stage, &kind);
        const struct ronde_cached_program *found = ronde_cache_find(&stage.cache, &kind);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        CU_ASSERT_EQUAL(found->shared->schedule->collective, c);
        CU_ASSERT_EQUAL(found->shared->schedule->ranks, 1);
    }
    CU_ASSERT_EQUAL(stage.cache.count, RONDE_COLLECTIVE_COUNT);
    end(&stage);
}

/* One schedule, a program for each size class; it is freed with the last of them. */
static void size_classes_share_a_schedule(void)
{
    struct stage stage;
    begin(&stage);
    set_algorithm(&stage, RONDE_ALL_REDUCE, "ring");
    for (uint32_t k = 0; k < 20; k++) {
        const struct ronde_kind kind = kind_of(RONDE_ALL_REDUCE, UINT64_C(1) << k);
        load(&stage, &kind);
        CU_ASSERT_EQUAL(count_schedules(&stage.cache), 1);
        CU_ASSERT_EQUAL(stage.cache.schedules->uses, k + 1);
        CU_ASSERT_STRING_EQUAL(stage.cache.kept[k].shared->schedule->algorithm, "ring");
    }
    /* Another algorithm, and another collective, are other schedules. */
    set_algorithm(&stage, RONDE_ALL_REDUCE, "tree");
    struct ronde_kind kind = kind_of(RONDE_ALL_REDUCE, UINT64_C(1) << 30);
    load(&stage, &kind);
    CU_ASSERT_EQUAL(count_schedules(&stage.cache), 2);
    kind = kind_of(RONDE_ALL_GATHER, 1);
    load(&stage, &kind);
    CU_ASSERT_EQUAL(count_schedules(&stage.cache), 3);
    ronde_cache_drop(&stage.cache, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(stage.cache.count, 1);
    CU_ASSERT_EQUAL(count_schedules(&stage.cache), 1);
    CU_ASSERT_TRUE(is_kept(&stage.cache, &kind));
    end(&stage);
}

/* Kinds of all_reduce and all_gather by size class: more than are kept. */
#define KINDS (RONDE_KEPT_PROGRAMS + 26u)

static struct ronde_kind numbered(uint32_t number)
{
    const bool is_gather = number % 2 != 0;
    return kind_of(is_gather ? RONDE_ALL_GATHER : RONDE_ALL_REDUCE, UINT64_C(1) << number / 2);
}

/* How many kinds are kept that were used before one that is not. */
static uint32_t count_out_of_order(const struct ronde_cache *cache, const uint64_t used[KINDS])
{
    uint32_t wrong = 0;
    for (uint32_t here = 0; here < KINDS; here++) {
        const struct ronde_kind kind = numbered(here);
        if (!is_kept(cache, &kind))
            continue;
        for (uint32_t gone = 0; gone < KINDS; gone++) {
            const struct ronde_kind other = numbered(gone);
            wrong += !is_kept(cache, &other) && used[gone] > used[here];
        }
    }
    return wrong;
}

/* Kinds at random, some far more often than others: whatever is kept was used later than whatever is not. */
static void the_ones_used_last_are_kept(void)
{
    uint64_t state = 11, used[KINDS] = {0};
    uint32_t loads = 0;
    struct stage stage;
    begin(&stage);
    set_algorithm(&stage, RONDE_ALL_REDUCE, "ring");
    set_algorithm(&stage, RONDE_ALL_GATHER, "ring");
    for (uint64_t turn = 1; turn <= 1500; turn++) {
        const uint32_t among = turn % 3 == 0 ? KINDS : 40;
        const uint32_t number = (uint32_t)(buffers_draw(&state) % among);
        const struct ronde_kind kind = numbered(number);
        const bool was_kept = is_kept(&stage.cache, &kind);
        CU_ASSERT_EQUAL(ronde_cache_find(&stage.cache, &kind) != NULL, was_kept);
        if (!was_kept)
            load(&stage, &kind);
        loads += !was_kept;
        used[number] = turn;
        CU_ASSERT_TRUE(is_kept(&stage.cache, &kind));
        CU_ASSERT(stage.cache.count <= RONDE_KEPT_PROGRAMS);
        if (turn % 100 == 0)
            CU_ASSERT_EQUAL(count_out_of_order(&stage.cache, used), 0);
    }
    CU_ASSERT(loads > KINDS);
    CU_ASSERT_EQUAL(stage.cache.count, RONDE_KEPT_PROGRAMS);
    suite_note("%u loads in 1500 look-ups of %u kinds", loads, KINDS);
    end(&stage);
}

/* A schedule of the user's serves the kinds it can, as it is; for the others one is chosen. */
static void a_given_schedule_serves_what_it_can(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 1};
    struct ronde_schedule *given = NULL;
    struct stage stage;
    begin(&stage);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &given, &stage.error),
                          RONDE_OK);
    stage.cache.wishes[RONDE_ALL_REDUCE].schedule = given;
    const struct ronde_kind served = kind_of(RONDE_ALL_REDUCE, 64);
    const struct ronde_kind other = kind_of(RONDE_ALL_GATHER, 64);
    load(&stage, &served);
    CU_ASSERT_PTR_EQUAL(stage.cache.kept[0].shared->schedule, given);
    CU_ASSERT_PTR_NULL(stage.cache.kept[0].shared->own);
    load(&stage, &other);
    CU_ASSERT_PTR_NOT_EQUAL(stage.cache.kept[1].shared->schedule, given);
    CU_ASSERT_PTR_NOT_NULL(stage.cache.kept[1].shared->own);
    /* Once nothing runs it, it is the user's again. */
    ronde_cache_drop(&stage.cache, RONDE_ALL_REDUCE);
    stage.cache.wishes[RONDE_ALL_REDUCE].schedule = NULL;
    ronde_schedule_destroy(given);
    load(&stage, &served);
    CU_ASSERT_PTR_NOT_NULL(stage.cache.kept[1].shared->own);
    end(&stage);
}

/* A wish that cannot be met is an error of this call; nothing is kept of it, and others go on. */
static void a_wish_that_cannot_be_met_leaves_no_trace(void)
{
    static const char *const wishes[] = {"no_such_algorithm", "dissemination"};
    struct stage stage;
    begin(&stage);
    const struct ronde_kind good = kind_of(RONDE_BROADCAST, 9), bad = kind_of(RONDE_REDUCE, 9);
    load(&stage, &good);
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        set_algorithm(&stage, RONDE_REDUCE, wishes[i]);
        memset(&stage.error, 0, sizeof stage.error);
        CU_ASSERT_NOT_EQUAL(ronde_cache_load(&stage.cache, &bad, &stage.error), RONDE_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(stage.error.message, wishes[i]));
        CU_ASSERT_EQUAL(stage.cache.count, 1);
        CU_ASSERT_EQUAL(count_schedules(&stage.cache), 1);
    }
    memset(&stage.error, 0, sizeof stage.error);
    set_algorithm(&stage, RONDE_REDUCE, "");
    load(&stage, &bad);
    CU_ASSERT_TRUE(is_kept(&stage.cache, &good) && is_kept(&stage.cache, &bad));
    end(&stage);
}

static void what_one_rank_cannot_do_none_does(void)
{
    struct ronde_error why = {0};
    struct stage stage;
    begin(&stage);
    CU_ASSERT_EQUAL(ronde_cache_agree(&stage.cache, RONDE_OK, &why, &stage.error), RONDE_OK);
    (void)ronde_fail(&why, RONDE_UNSUPPORTED, "no room on device %d", 3);
    CU_ASSERT_EQUAL(ronde_cache_agree(&stage.cache, RONDE_UNSUPPORTED, &why, &stage.error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(stage.error.message, "no room on device 3");
    /* It was said, not suffered: the communicator goes on. */
    memset(&stage.error, 0, sizeof stage.error);
    const struct ronde_kind kind = kind_of(RONDE_BARRIER, 0);
    load(&stage, &kind);
    end(&stage);
}

/* Taken for another backend and given back: not kept, and freed with the last use. */
static void a_schedule_is_taken_and_given_back(void)
{
    struct ronde_shared_schedule *first = NULL, *second = NULL;
    struct stage stage;
    begin(&stage);
    set_algorithm(&stage, RONDE_ALL_REDUCE, "ring");
    const struct ronde_kind small = kind_of(RONDE_ALL_REDUCE, 8);
    const struct ronde_kind large = kind_of(RONDE_ALL_REDUCE, 1 << 20);
    CU_ASSERT_EQUAL(ronde_cache_take(&stage.cache, &small, "cuda", &first, &stage.error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_cache_take(&stage.cache, &large, "cuda", &second, &stage.error), RONDE_OK);
    CU_ASSERT_PTR_EQUAL(first, second);
    CU_ASSERT_EQUAL(stage.cache.count, 0);
    load(&stage, &small);
    CU_ASSERT_EQUAL(first->uses, 3);
    ronde_cache_give(&stage.cache, first);
    ronde_cache_drop(&stage.cache, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(second->uses, 1);
    CU_ASSERT_EQUAL(count_schedules(&stage.cache), 1);
    ronde_cache_give(&stage.cache, second);
    CU_ASSERT_EQUAL(count_schedules(&stage.cache), 0);
    end(&stage);
}

/* The n-th allocation of a load fails, for every n: it says so, and what was kept before is as it was. */
static void without_memory_nothing_is_kept(void)
{
    uint32_t failed = 0;
    for (size_t n = 0;; n++) {
        struct stage stage;
        begin(&stage);
        set_algorithm(&stage, RONDE_ALL_REDUCE, "ring");
        set_algorithm(&stage, RONDE_BROADCAST, "binomial");
        const struct ronde_kind kept = kind_of(RONDE_ALL_REDUCE, 8);
        const struct ronde_kind kind = kind_of(RONDE_BROADCAST, 8);
        load(&stage, &kept);
        stage.heap.refuse_at = stage.heap.requests + n;
        const size_t refuse_at = stage.heap.refuse_at;
        const enum ronde_status status = ronde_cache_load(&stage.cache, &kind, &stage.error);
        const bool has_failed = stage.heap.requests > refuse_at;
        CU_ASSERT_EQUAL(status, has_failed ? RONDE_NO_MEMORY : RONDE_OK);
        CU_ASSERT_EQUAL(stage.error.message[0] != '\0', has_failed);
        CU_ASSERT_EQUAL(stage.cache.count, has_failed ? 1 : 2);
        CU_ASSERT_EQUAL(count_schedules(&stage.cache), has_failed ? 1 : 2);
        CU_ASSERT_PTR_NOT_NULL(ronde_cache_find(&stage.cache, &kept));
        failed += has_failed;
        end(&stage);
        if (!has_failed || status != RONDE_NO_MEMORY)
            break;
    }
    suite_note("%u allocations", failed);
    CU_ASSERT(failed > 5);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_loaded_is_found_again", what_is_loaded_is_found_again},
        {"size_classes_share_a_schedule", size_classes_share_a_schedule},
        {"the_ones_used_last_are_kept", the_ones_used_last_are_kept},
        {"a_given_schedule_serves_what_it_can", a_given_schedule_serves_what_it_can},
        {"a_wish_that_cannot_be_met_leaves_no_trace", a_wish_that_cannot_be_met_leaves_no_trace},
        {"what_one_rank_cannot_do_none_does", what_one_rank_cannot_do_none_does},
        {"a_schedule_is_taken_and_given_back", a_schedule_is_taken_and_given_back},
        {"without_memory_nothing_is_kept", without_memory_nothing_is_kept},
    };
    return suite_run("cache", cases, sizeof cases / sizeof cases[0]);
}
