/* Blocks of hw/cuda/block.h on the CPU. See emulated_block.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RONDE_INTERP static inline __attribute__((unused))
#define RONDE_PORT_ONCE RONDE_INTERP
#define RONDE_UNROLL
#define RONDE_ROLLED
#define RONDE_BYTES(to, from, bytes) memcpy((to), (from), (bytes))
#define RONDE_PORT_BARRIER(block) pass_barrier(block)
#define RONDE_PORT_NOW(block) now(block)
#define RONDE_PORT_POLL(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define RONDE_PORT_ACQUIRE(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define RONDE_PORT_SET(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
#define RONDE_PORT_FENCE() ((void)0)
#define RONDE_PORT_PEEK(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define RONDE_PORT_POKE(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
#define RONDE_PORT_LOAD_LINE(address) load_line(address)
#define RONDE_PORT_STORE_LINE(address, line) store_line((address), (line))
#define RONDE_PORT_LOAD(address) load_vector(address)
#define RONDE_PORT_STORE(address, vector) store_vector((address), (vector))

struct ronde_block;
struct ronde_line;
static void pass_barrier(struct ronde_block *block);
static uint64_t now(const struct ronde_block *block);
static struct ronde_line load_line(const unsigned char *address);
static void store_line(unsigned char *address, struct ronde_line line);

#include "hw/cuda/block.h"

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

/* Lines until one gets lost; 0 = none does. */
static uint32_t lost_line;

static void store_line(unsigned char *address, struct ronde_line line)
{
    if (lost_line > 0 && --lost_line == 0)
        return;
    uint64_t *const words = (uint64_t *)(void *)address;
    for (int k = 0; k < 2; k++)
        __atomic_store_n(&words[k], (uint64_t)line.flag[k] << 32 | line.data[k], __ATOMIC_RELAXED);
}

/* A GPU refuses a vector that is not aligned: so does this, visibly. */
static struct ronde_vector load_vector(const unsigned char *address)
{
    struct ronde_vector vector;
    if ((uintptr_t)address % sizeof vector != 0)
        abort();
    memcpy(&vector, address, sizeof vector);
    return vector;
}

static void store_vector(unsigned char *address, struct ronde_vector vector)
{
    if ((uintptr_t)address % sizeof vector != 0)
        abort();
    memcpy(address, &vector, sizeof vector);
}

#include "hw/cuda/move_types.h"

#define RONDE_MOVE_BYTES 1
#define RONDE_MOVE_WORD UINT8
#include "hw/cuda/move_width.h"
#undef RONDE_MOVE_BYTES
#undef RONDE_MOVE_WORD
#define RONDE_MOVE_BYTES 2
#define RONDE_MOVE_WORD FLOAT16
#include "hw/cuda/move_width.h"
#undef RONDE_MOVE_BYTES
#undef RONDE_MOVE_WORD
#define RONDE_MOVE_BYTES 4
#define RONDE_MOVE_WORD UINT32
#include "hw/cuda/move_width.h"
#undef RONDE_MOVE_BYTES
#undef RONDE_MOVE_WORD
#define RONDE_MOVE_BYTES 8
#define RONDE_MOVE_WORD UINT64
#include "hw/cuda/move_width.h"
#undef RONDE_MOVE_BYTES
#undef RONDE_MOVE_WORD

#include "support/emulated_block.h"

struct emulated_block {
    struct ronde_block block; /* must stand first */
    uint32_t movers;
    uint32_t looks;  /* at the clock */
    uint32_t handed; /* commands so far */
    bool is_waiting; /* the last of them is still to be executed */
    struct emulated_work work;
    bool is_over;
    _Alignas(16) unsigned char room[];
};

/* Limits of time need no clock: a poll takes a microsecond, the deciding thread's and a mover's that looks every so often. */
static uint64_t now(const struct ronde_block *block)
{
    struct emulated_block *of = (struct emulated_block *)(uintptr_t)block;
    return (block->turns + of->looks++ * UINT64_C(1024)) * 1000;
}

/* The movers of a real block run at once; here the last one first, which must make no difference. */
static void run_movers(struct emulated_block *of, const struct ronde_block_command *command)
{
    struct ronde_block *const block = &of->block;
    of->work.moved_bytes += command->move == RONDE_MOVE_NONE
                                ? 0
                                : command->elements * block->frame.element_bytes *
                                      ((command->b ? 3 : 2) + command->more_count);
    for (uint32_t thread = of->movers; thread-- > 0;) {
        const struct ronde_mover mover = {thread, of->movers};
        switch (block->frame.element_bytes) {
        case 1:
            ronde_movers_1(block, command, mover);
            break;
        case 2:
            ronde_movers_2(block, command, mover);
            break;
        case 4:
            ronde_movers_4(block, command, mover);
            break;
        default:
            ronde_movers_8(block, command, mover);
            break;
        }
    }
}

/* Movers may take a command at once, or be so slow that they execute it when the next is ready: two of three times here. */
static void pass_barrier(struct ronde_block *block)
{
    struct emulated_block *of = (struct emulated_block *)(void *)block;
    if (of->is_waiting)
        run_movers(of, &block->commands[(of->handed & 1) ^ 1]);
    if (block->commands[of->handed & 1].move == RONDE_MOVE_NONE)
        of->work.waits++;
    else
        of->work.commands++;
    of->is_waiting = of->handed % 3 != 0;
    if (!of->is_waiting)
        run_movers(of, &block->commands[of->handed & 1]);
    of->handed++;
}

/* As hw/cuda/kernel.h begins, one thread after another. */
static void open_block(struct ronde_block *block, const struct ronde_job *job,
                       const struct ronde_given *given, uint32_t index, uint32_t room_bytes)
{
    struct emulated_block *of = (struct emulated_block *)(void *)block;
    ronde_block_open(block, job, given, index, of->room, room_bytes);
    for (uint32_t thread = of->movers; thread-- > 0;)
        ronde_block_fetch_slots(block, job, index, of->room, room_bytes,
                                (struct ronde_mover){thread, of->movers});
    for (uint32_t thread = of->movers; thread-- > 0;)
        ronde_block_fetch_ends(block, of->room, (struct ronde_mover){thread, of->movers});
    for (uint32_t thread = of->movers; thread-- > 0;)
        ronde_block_start(block, (struct ronde_mover){thread, of->movers});
    ronde_block_begin(block);
}

struct emulated_block *emulated_block_open(const struct ronde_job *job,
                                           const struct ronde_given *given, uint32_t index,
                                           uint32_t movers, uint32_t room_bytes)
{
    const size_t bytes = (sizeof(struct emulated_block) + room_bytes + 63) / 64 * 64;
    struct emulated_block *block = aligned_alloc(64, bytes);
    if (!block)
        return NULL;
    memset(block, 0x5A, bytes);
    block->movers = movers;
    block->looks = 0;
    block->handed = 0;
    block->is_waiting = false;
    block->work = (struct emulated_work){0, 0, 0};
    block->is_over = false;
    open_block(&block->block, job, given, index, room_bytes);
    return block;
}

void emulated_block_lose_line(uint32_t which)
{
    lost_line = which;
}

static unsigned char *place_of_lines(const unsigned char *lines)
{
    return (unsigned char *)(uintptr_t)(RONDE_LINES_BIT | (uint64_t)(uintptr_t)lines / 2);
}

struct emulated_wait emulated_block_await_nothing(void)
{
    static _Alignas(16) unsigned char lines[2][16];
    const uint32_t abort_flag = 1;
    uint32_t stop = RONDE_STOP_NOT;
    const struct ronde_job job = {.abort = &abort_flag, .stop = &stop};
    struct ronde_block block;
    memset(&block, 0, sizeof block);
    memset(lines, 0, sizeof lines);
    block.job = &job;
    block.commands[0].move = RONDE_MOVE_COPY;
    block.commands[0].flags[0] = 1;
    block.commands[0].flags[1] = 2;
    block.commands[0].to = place_of_lines(lines[1]);
    block.commands[0].a = place_of_lines(lines[0]);
    block.commands[0].elements = 2;
    block.frame.dtype = RONDE_INT32;
    ronde_movers_4(&block, &block.commands[0], (struct ronde_mover){0, 1});
    return (struct emulated_wait){stop, memcmp(lines[0], lines[1], sizeof lines[0]) != 0};
}

bool emulated_block_hears_behind_a_late_counter(void)
{
    static _Alignas(16) unsigned char lines[2 * 32];
    uint64_t received = 1;
    const uint64_t sent = 0;
    struct ronde_end end = {.mine = &received,
                            .theirs = &sent,
                            .slots = place_of_lines(lines) + RONDE_LINE_DATA_BYTES};
    struct ronde_block block;
    memset(&block, 0, sizeof block);
    block.frame.depth = 2;
    block.frame.slot_stride = 2 * RONDE_LINE_DATA_BYTES;
    block.frame.has_lines = true;
    ronde_block_start_end(&block, 0, &end);
    if (ronde_end_has_message(&block.frame, &end))
        return false;
    ronde_block_write_length(&block.frame, &end, RONDE_LINE_DATA_BYTES);
    return ronde_end_has_message(&block.frame, &end);
}

bool emulated_block_has_program(const struct emulated_block *block)
{
    const struct ronde_program *program = block->block.lane_slots[0].task.view.program;
    const uintptr_t at = (uintptr_t)program - (uintptr_t)block->room;
    return block->block.lane_slot_count > 0 && at < block->block.room_bytes &&
           (uintptr_t)program->steps - (uintptr_t)block->room < block->block.room_bytes;
}

struct emulated_work emulated_block_work(const struct emulated_block *block)
{
    return block->work;
}

bool emulated_block_turn(struct emulated_block *block)
{
    if (!block->is_over && ronde_block_turn(&block->block)) {
        ronde_block_close(&block->block);
        block->is_over = true;
    }
    return block->is_over;
}
