/* Blocks of hw/cuda/block.h on threads. See block.h. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ThreadSanitizer's: what a thread did before a release happened before what another does after an acquire of it. */
void __tsan_acquire(void *at);
void __tsan_release(void *at);

#define RONDE_INTERP static inline __attribute__((unused))
#define RONDE_PORT_ONCE RONDE_INTERP
#define RONDE_UNROLL
#define RONDE_ROLLED
#define RONDE_BYTES(to, from, bytes) memcpy((to), (from), (bytes))
#define RONDE_PORT_BARRIER(block) pass_barrier(block)
#define RONDE_PORT_NOW(block) ((void)(block), now_ns())
#define RONDE_PORT_POLL(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define RONDE_PORT_ACQUIRE(pointer) load_acquire(pointer)
#define RONDE_PORT_SET(pointer, value) set((pointer), (value))
#define RONDE_PORT_FENCE() fence()
#define RONDE_PORT_PEEK(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define RONDE_PORT_POKE(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELAXED)
#define RONDE_PORT_LOAD_LINE(address) load_line(address)
#define RONDE_PORT_STORE_LINE(address, line) store_line((address), (line))
#define RONDE_PORT_LOAD(address) load_vector(address)
#define RONDE_PORT_STORE(address, vector) store_vector((address), (vector))

struct ronde_block;
struct ronde_line;
static void pass_barrier(struct ronde_block *block);
static uint64_t now_ns(void);
static uint64_t load_acquire(const uint64_t *pointer);
static void set(uint64_t *pointer, uint64_t value);
static void fence(void);
static struct ronde_line load_line(const unsigned char *address);
static void store_line(unsigned char *address, struct ronde_line line);

#include "hw/cuda/block.h"

#include "cuda/threads/block.h"

static enum threaded_control control;

void threaded_leave_out(enum threaded_control what)
{
    control = what;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Fences, each a place of its own for a long time. */
#define FENCES (1u << 20)
static unsigned char fences[FENCES];
static _Atomic uint32_t fence_count = 1;
static _Thread_local uint32_t last_fence; /* of this thread; 0 = none */

static void fence_now(void)
{
    last_fence = atomic_fetch_add_explicit(&fence_count, 1, memory_order_relaxed) % FENCES;
    __tsan_release(&fences[last_fence]);
}

static void fence(void)
{
    if (control != THREADED_NO_FENCE && control != THREADED_EARLY_FENCE)
        fence_now();
}

/* Counters, and the last fence of the thread that set each: what an acquiring load of it is ordered after. */
#define COUNTERS (1u << 14)
static struct {
    _Atomic uintptr_t counter;
    _Atomic uint32_t fence;
} counters[COUNTERS];

static _Atomic uint32_t *fence_of(const uint64_t *counter)
{
    const uintptr_t key = (uintptr_t)counter;
    for (uint64_t at = (key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 50;; at++) {
        uintptr_t present = 0;
        _Atomic uintptr_t *const place = &counters[at % COUNTERS].counter;
        if (atomic_compare_exchange_strong_explicit(place, &present, key, memory_order_relaxed,
                                                    memory_order_relaxed) ||
            present == key)
            return &counters[at % COUNTERS].fence;
    }
}

static void set(uint64_t *pointer, uint64_t value)
{
    atomic_store_explicit(fence_of(pointer), last_fence, memory_order_relaxed);
    __atomic_store_n(pointer, value, __ATOMIC_RELAXED);
}

static uint64_t load_acquire(const uint64_t *pointer)
{
    const uint64_t value = __atomic_load_n(pointer, __ATOMIC_RELAXED);
    const uint32_t at = atomic_load_explicit(fence_of(pointer), memory_order_relaxed);
    if (at > 0 && control != THREADED_NO_ACQUIRE)
        __tsan_acquire(&fences[at]);
    return value;
}

/* Data and its flag come in one piece, and that is all that is promised of a line. */
static struct ronde_line load_line(const unsigned char *address)
{
    const uint64_t *const words = (const uint64_t *)(const void *)address;
    struct ronde_line line;
    for (int k = 0; k < 2; k++) {
        const uint64_t word = __atomic_load_n(&words[k], __ATOMIC_RELAXED);
        line.data[k] = (uint32_t)word;
        line.flag[k] = (uint32_t)(word >> 32);
    }
    return line;
}

static void store_line(unsigned char *address, struct ronde_line line)
{
    uint64_t *const words = (uint64_t *)(void *)address;
    for (int k = 1; k >= 0; k--)
        __atomic_store_n(&words[k], (uint64_t)line.flag[k] << 32 | line.data[k], __ATOMIC_RELAXED);
}

static struct ronde_vector load_vector(const unsigned char *address)
{
    struct ronde_vector vector;
    memcpy(&vector, address, sizeof vector);
    return vector;
}

static void store_vector(unsigned char *address, struct ronde_vector vector)
{
    memcpy(address, &vector, sizeof vector);
}

/* One width: the order of accesses does not depend on it. */
#include "hw/cuda/move_types.h"

#define RONDE_MOVE_BYTES 4
#define RONDE_MOVE_WORD UINT32
#include "hw/cuda/move_width.h"

#define ROOM_BYTES 8192u
#define MOVERS_MAX 8u

struct threaded_block {
    struct ronde_block block; /* must stand first */
    pthread_barrier_t barrier;
    const struct ronde_job *job;
    struct ronde_given given;
    uint32_t index;
    uint32_t movers;
    _Atomic uint32_t next_mover;
    pthread_t threads[1 + MOVERS_MAX];
    _Alignas(16) unsigned char room[ROOM_BYTES];
};

static void barrier(struct threaded_block *of)
{
    pthread_barrier_wait(&of->barrier);
}

static void pass_barrier(struct ronde_block *block)
{
    if (control == THREADED_EARLY_FENCE)
        fence_now();
    barrier((struct threaded_block *)(void *)block);
}

/* As hw/cuda/kernel.h. */
static void *decide(void *self)
{
    struct threaded_block *of = self;
    last_fence = 0;
    ronde_block_open(&of->block, of->job, &of->given, of->index, of->room, ROOM_BYTES);
    for (uint32_t part = 0; part < 3; part++)
        barrier(of);
    ronde_block_begin(&of->block);
    while (!ronde_block_turn(&of->block))
        sched_yield();
    ronde_block_close(&of->block);
    barrier(of);
    return NULL;
}

static void *run_mover(void *self)
{
    struct threaded_block *of = self;
    struct ronde_block *block = &of->block;
    const struct ronde_mover mover = {atomic_fetch_add_explicit(&of->next_mover, 1,
                                                                memory_order_relaxed),
                                      of->movers};
    ronde_block_fetch_slots(block, of->job, of->index, of->room, ROOM_BYTES, mover);
    barrier(of);
    ronde_block_fetch_ends(block, of->room, mover);
    barrier(of);
    ronde_block_start(block, mover);
    barrier(of);
    barrier(of);
    for (uint32_t at = 0; block->commands[at].move != RONDE_MOVE_END; at ^= 1) {
        ronde_movers_4(block, &block->commands[at], mover);
        barrier(of);
    }
    return NULL;
}

struct threaded_block *threaded_block_start(const struct ronde_job *job,
                                            const struct ronde_given *given, uint32_t index,
                                            uint32_t movers)
{
    struct threaded_block *of = aligned_alloc(64, (sizeof *of + 63) / 64 * 64);
    if (!of || movers > MOVERS_MAX)
        abort();
    memset(of, 0x5A, sizeof *of);
    pthread_barrier_init(&of->barrier, NULL, 1 + movers);
    of->job = job;
    of->given = *given;
    of->index = index;
    of->movers = movers;
    of->next_mover = 0;
    for (uint32_t k = 0; k <= movers; k++)
        if (pthread_create(&of->threads[k], NULL, k == 0 ? decide : run_mover, of) != 0)
            abort();
    return of;
}

void threaded_block_join(struct threaded_block *of)
{
    for (uint32_t k = 0; k <= of->movers; k++)
        pthread_join(of->threads[k], NULL);
    pthread_barrier_destroy(&of->barrier);
    free(of);
}
