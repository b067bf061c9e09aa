/* Buffers of a run, how they alias in place, and what they hold before it. */
#define _POSIX_C_SOURCE 200809L

#include "ronde/buffers.h"
#include "ronde/comm.h"
#include "ronde/memory_available.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static size_t buffer_bytes(const struct ronde_input_range *shape, uint32_t blocks)
{
    return (size_t)shape->count * ronde_dtype_bytes(shape->dtype) * blocks;
}

/* Only whole blocks: buffers never grow. */
static void *resize_page(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    void *block = NULL;
    (void)self;
    (void)old_bytes;
    if (new_bytes == 0)
        free(old);
    else if (old || posix_memalign(&block, RONDE_BUFFER_ALIGNMENT, new_bytes) != 0)
        return NULL;
    return block;
}

/*
 * Where the buffers of a rank come from. malloc puts large blocks 16 bytes behind a page, and a copy between such a block
 * and a slot, which begins with a cache line, takes up to twice as long as one between lines (docs/results/cpu-validate.md).
 */
static const struct ronde_mem *mem_of(const struct ronde_memory *memory, uint32_t rank)
{
    static const struct ronde_mem pages = {resize_page, NULL};
    return rank == memory->only ? memory->own : &pages;
}

/* Also of a half-made set: entries not reached are NULL. */
static void free_buffers(const struct ronde_memory *memory, void **buffers, size_t bytes)
{
    for (uint32_t rank = 0; buffers && rank < memory->ranks; rank++)
        ronde_mem_free(mem_of(memory, rank), buffers[rank], bytes, 1);
    ronde_mem_free(memory->mem, buffers, memory->ranks, sizeof *buffers);
}

bool ronde_memory_has(const struct ronde_memory *memory, uint32_t rank)
{
    return memory->only == RONDE_NONE || memory->only == rank;
}

/* All or nothing; ranks that run elsewhere have nothing here. */
static void **new_buffers(const struct ronde_memory *memory, size_t bytes)
{
    void **buffers = ronde_mem_new(memory->mem, memory->ranks, sizeof *buffers);
    for (uint32_t rank = 0; buffers && rank < memory->ranks; rank++) {
        if (!ronde_memory_has(memory, rank))
            continue;
        buffers[rank] = ronde_mem_new(mem_of(memory, rank), bytes, 1);
        if (!buffers[rank]) {
            free_buffers(memory, buffers, bytes);
            return NULL;
        }
    }
    return buffers;
}

/* Room for a factor, whatever its type. */
#define FACTOR_BYTES sizeof(uint64_t)

/* Of ranks in turn, so that a rank that took another's would show. */
static void *new_factors(const struct ronde_memory *memory, enum ronde_dtype dtype)
{
    unsigned char *factors = ronde_mem_new(memory->mem, memory->ranks, FACTOR_BYTES);
    for (uint32_t rank = 0; factors && rank < memory->ranks; rank++)
        ronde_element_store(dtype, factors + (size_t)rank * ronde_dtype_bytes(dtype),
                            1.0 + rank % 2);
    return factors;
}

enum ronde_status ronde_memory_create(const struct ronde_input_range *shape,
                                      struct ronde_memory *out_memory, struct ronde_error *error)
{
    return ronde_memory_create_only(shape, RONDE_NONE, NULL, out_memory, error);
}

uint64_t ronde_memory_bytes(const struct ronde_input_range *shape)
{
    return (uint64_t)buffer_bytes(shape,
                                  ronde_collective_in_blocks(shape->collective, shape->ranks)) +
           buffer_bytes(shape, ronde_collective_out_blocks(shape->collective, shape->ranks));
}

/* Buffers that other processes map are files to the system. */
static enum ronde_status fail_memory(const struct ronde_memory *memory, struct ronde_error *error)
{
    struct rlimit limit;
    const uint32_t ranks = memory->only == RONDE_NONE ? memory->ranks : 1;
    const bool is_limited = memory->own && memory->own != ronde_mem_default() &&
                            getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return ronde_fail(error, RONDE_NO_MEMORY,
                      "no memory for %u ranks with %zu bytes in and %zu out%s", ranks,
                      memory->in_bytes, memory->out_bytes,
                      is_limited
                          ? "; files are limited here (ulimit -f), and registered buffers are "
                            "files to the system: --buffers user takes others"
                          : "");
}

enum ronde_status ronde_memory_create_only(const struct ronde_input_range *shape, uint32_t only,
                                           const struct ronde_mem *own,
                                           struct ronde_memory *out_memory,
                                           struct ronde_error *error)
{
    struct ronde_memory memory = {.mem = ronde_mem_default(),
                                  .ranks = shape->ranks,
                                  .only = only,
                                  .own = own};
    memory.in_bytes =
        buffer_bytes(shape, ronde_collective_in_blocks(shape->collective, shape->ranks));
    memory.out_bytes =
        buffer_bytes(shape, ronde_collective_out_blocks(shape->collective, shape->ranks));
    memory.inputs = new_buffers(&memory, memory.in_bytes);
    memory.outputs = new_buffers(&memory, memory.out_bytes);
    memory.factors = new_factors(&memory, shape->dtype);
    memory.in = ronde_mem_new(memory.mem, shape->ranks, sizeof *memory.in);
    memory.out = ronde_mem_new(memory.mem, shape->ranks, sizeof *memory.out);
    if (!memory.inputs || !memory.outputs || !memory.in || !memory.out || !memory.factors) {
        const enum ronde_status status = fail_memory(&memory, error);
        ronde_memory_destroy(&memory);
        return status;
    }
    *out_memory = memory;
    return RONDE_OK;
}

void ronde_memory_destroy(struct ronde_memory *memory)
{
    if (!memory->mem)
        return;
    free_buffers(memory, memory->inputs, memory->in_bytes);
    free_buffers(memory, memory->outputs, memory->out_bytes);
    ronde_mem_free(memory->mem, memory->factors, memory->ranks, FACTOR_BYTES);
    ronde_mem_free(memory->mem, memory->in, memory->ranks, sizeof *memory->in);
    ronde_mem_free(memory->mem, memory->out, memory->ranks, sizeof *memory->out);
    *memory = (struct ronde_memory){0};
}

/* Where a rank's own block lies in a buffer that holds one block per rank. */
static void *own_block(void *buffer, const struct ronde_input_range *shape, uint32_t rank)
{
    return (char *)buffer + buffer_bytes(shape, 1) * rank;
}

/* NCCL's convention: the smaller buffer is the rank's own block of the larger. */
static void view_in_place(struct ronde_memory *memory, const struct ronde_input_range *shape,
                          uint32_t rank)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    if (traits->in_per_rank == traits->out_per_rank) {
        memory->in[rank] = memory->outputs[rank];
        return;
    }
    /* gather and scatter only overlap at the root; the others' second buffer stays their own. */
    if ((traits->in_at_root || traits->out_at_root) && rank != shape->root)
        return;
    if (traits->out_per_rank)
        memory->in[rank] = own_block(memory->outputs[rank], shape, rank);
    else
        memory->out[rank] = own_block(memory->inputs[rank], shape, rank);
}

void ronde_memory_view(struct ronde_memory *memory, const struct ronde_input_range *shape,
                       bool in_place)
{
    for (uint32_t rank = 0; rank < memory->ranks; rank++) {
        memory->in[rank] = memory->inputs[rank];
        memory->out[rank] = memory->outputs[rank];
        if (in_place && ronde_memory_has(memory, rank))
            view_in_place(memory, shape, rank);
    }
}

/* One period is computed, the rest are copies of it: filling must not take longer than measuring. */
static void fill_rank(void *buffer, const struct ronde_input_range *shape, size_t elements,
                      uint32_t rank, enum ronde_pattern pattern)
{
    const size_t element_bytes = ronde_dtype_bytes(shape->dtype);
    const size_t length = ronde_pattern_period(elements);
    ronde_pattern_begin(pattern, shape, rank, length, buffer);
    ronde_pattern_read(buffer, length, element_bytes, length, elements - length,
                       (char *)buffer + length * element_bytes);
}

/* What no run may leave in an output that it writes. */
#define POISON 0xA5

static void poison_rank(void *buffer, const struct ronde_input_range *shape)
{
    memset(buffer, POISON,
           buffer_bytes(shape, ronde_collective_out_blocks(shape->collective, shape->ranks)));
}

void ronde_memory_poison(const struct ronde_memory *memory, const struct ronde_input_range *shape)
{
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        if (ronde_memory_has(memory, rank))
            poison_rank(memory->out[rank], shape);
}

/* What is filled with what. */
struct filling {
    const struct ronde_memory *memory;
    const struct ronde_input_range *shape;
    enum ronde_pattern pattern;
};

/* In place the poison comes first, and the input over it. */
static void visit_rank(void *context, uint32_t rank)
{
    const struct filling *filling = context;
    const struct ronde_memory *memory = filling->memory;
    const struct ronde_input_range *shape = filling->shape;
    if (!ronde_memory_has(memory, rank))
        return;
    poison_rank(memory->out[rank], shape);
    fill_rank(memory->in[rank], shape,
              (size_t)shape->count * ronde_collective_in_blocks(shape->collective, shape->ranks),
              rank, filling->pattern);
}

void ronde_memory_fill(const struct ronde_memory *memory, const struct ronde_input_range *shape,
                       enum ronde_pattern pattern)
{
    struct filling filling = {memory, shape, pattern};
    ronde_bind_visit(memory->near, shape->ranks, visit_rank, &filling);
}

/* Whether there is room for the buffers of a run. */

/* What one process says of itself and its machine. */
struct demand {
    uint64_t machine; /* a number of the machine and its control group */
    uint64_t bytes;
    uint64_t available;
    char limit[96];
};

/* FNV-1a of a file's text. */
static uint64_t hash_file(const char *path, uint64_t hash)
{
    FILE *file = fopen(path, "r");
    for (int next = file ? fgetc(file) : EOF; next != EOF; next = fgetc(file))
        hash = (hash ^ (unsigned char)next) * 0x100000001b3u;
    if (file)
        (void)fclose(file);
    return hash;
}

static enum ronde_status refuse(uint32_t ranks, uint64_t bytes, uint64_t available,
                                const char *limit, struct ronde_error *error)
{
    return ronde_fail(
        error, RONDE_NO_MEMORY,
        "buffers of %u ranks take %.1f GiB, and %s leaves %.1f GiB: smaller sizes (-e) "
        "or fewer ranks would fit",
        ranks, (double)bytes / (1 << 30), limit, (double)available / (1 << 30));
}

/* A sum that stays at the most there is: it must not come round to a small one. */
static uint64_t add(uint64_t bytes, uint64_t more)
{
    return more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
}

static uint64_t multiply(uint64_t bytes, uint32_t ranks)
{
    return ranks > 0 && bytes > UINT64_MAX / ranks ? UINT64_MAX : bytes * ranks;
}

/* Each machine's ranks, at the first of them. */
static enum ronde_status compare(const struct demand *all, uint32_t ranks, struct ronde_error *error)
{
    for (uint32_t first = 0; first < ranks; first++) {
        uint64_t bytes = 0, available = UINT64_MAX;
        const char *limit = "";
        uint32_t here = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            if (all[rank].machine != all[first].machine)
                continue;
            bytes = add(bytes, all[rank].bytes);
            here++;
            if (all[rank].available < available) {
                available = all[rank].available;
                limit = all[rank].limit;
            }
        }
        if (bytes > available)
            return refuse(here, bytes, available, limit, error);
    }
    return RONDE_OK;
}

enum ronde_status ronde_memory_check(struct ronde_comm *comm, uint32_t ranks_here,
                                     uint64_t rank_bytes, struct ronde_error *error)
{
    const struct ronde_memory_available available = ronde_memory_available("");
    const struct ronde_mem *mem = ronde_mem_default();
    const uint64_t bytes = multiply(rank_bytes, ranks_here);
    if (!comm)
        return bytes <= available.bytes
                   ? RONDE_OK
                   : refuse(ranks_here, bytes, available.bytes, available.limit, error);
    const uint32_t ranks = ronde_comm_ranks(comm);
    struct demand mine = {.bytes = bytes, .available = available.bytes};
    memcpy(mine.limit, available.limit, sizeof mine.limit);
    mine.machine = hash_file("/proc/self/cgroup",
                             hash_file("/proc/sys/kernel/random/boot_id", 0xcbf29ce484222325u));
    struct demand *all = ronde_mem_new(mem, ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    enum ronde_status status = ronde_comm_allgather(comm, &mine, sizeof mine, all, error);
    RONDE_THEN(status, compare(all, ranks, error));
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}
