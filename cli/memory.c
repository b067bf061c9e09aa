/*
 * Buffers of a run, how they alias in place, what they hold before it and what is compared after
 * it.
 */
#include "memory.h"

#include <string.h>

static size_t buffer_bytes(const struct ronde_shape *shape, uint32_t blocks)
{
    return (size_t)shape->count * ronde_dtype_bytes(shape->dtype) * blocks;
}

/* Where the buffers of a rank come from. */
static const struct ronde_mem *mem_of(const struct ronde_memory *memory, uint32_t rank)
{
    return rank == memory->only ? memory->own : memory->mem;
}

/* Also of a half-made set: entries not reached are NULL. */
static void free_buffers(const struct ronde_memory *memory, void **buffers, size_t bytes)
{
    for (uint32_t rank = 0; buffers && rank < memory->ranks; rank++)
        ronde_mem_free(mem_of(memory, rank), buffers[rank], bytes, 1);
    ronde_mem_free(memory->mem, buffers, memory->ranks, sizeof *buffers);
}

/* All or nothing. */
static void **new_buffers(const struct ronde_memory *memory, size_t bytes)
{
    void **buffers = ronde_mem_new(memory->mem, memory->ranks, sizeof *buffers);
    for (uint32_t rank = 0; buffers && rank < memory->ranks; rank++) {
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

enum ronde_status ronde_memory_create(const struct ronde_shape *shape, bool with_expected,
                                      struct ronde_memory *out_memory, struct ronde_error *error)
{
    return ronde_memory_create_only(shape, with_expected, RONDE_NONE, NULL, out_memory, error);
}

enum ronde_status ronde_memory_create_only(const struct ronde_shape *shape, bool with_expected,
                                           uint32_t only, const struct ronde_mem *own,
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
    memory.expected = with_expected ? new_buffers(&memory, memory.out_bytes) : NULL;
    memory.factors = new_factors(&memory, shape->dtype);
    memory.in = ronde_mem_new(memory.mem, shape->ranks, sizeof *memory.in);
    memory.out = ronde_mem_new(memory.mem, shape->ranks, sizeof *memory.out);
    if (!memory.inputs || !memory.outputs || (with_expected && !memory.expected) || !memory.in ||
        !memory.out || !memory.factors) {
        ronde_memory_destroy(&memory);
        return ronde_fail(error, RONDE_NO_MEMORY,
                          "no memory for %u ranks with %zu bytes in and %zu out", shape->ranks,
                          memory.in_bytes, memory.out_bytes);
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
    free_buffers(memory, memory->expected, memory->out_bytes);
    ronde_mem_free(memory->mem, memory->factors, memory->ranks, FACTOR_BYTES);
    ronde_mem_free(memory->mem, memory->in, memory->ranks, sizeof *memory->in);
    ronde_mem_free(memory->mem, memory->out, memory->ranks, sizeof *memory->out);
    *memory = (struct ronde_memory){0};
}

/* Where a rank's own block lies in a buffer that holds one block per rank. */
static void *own_block(void *buffer, const struct ronde_shape *shape, uint32_t rank)
{
    return (char *)buffer + buffer_bytes(shape, 1) * rank;
}

/* NCCL's convention: the smaller buffer is the rank's own block of the larger. */
static void view_in_place(struct ronde_memory *memory, const struct ronde_shape *shape,
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

void ronde_memory_view(struct ronde_memory *memory, const struct ronde_shape *shape, bool in_place)
{
    for (uint32_t rank = 0; rank < memory->ranks; rank++) {
        memory->in[rank] = memory->inputs[rank];
        memory->out[rank] = memory->outputs[rank];
        if (in_place)
            view_in_place(memory, shape, rank);
    }
}

/* A prime period, so that no block or chunk offset is a multiple of it. */
#define PATTERN 65521u

/* splitmix64: spreads neighbouring (rank, element) pairs over all values. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A value of an element of a rank's input. */
typedef double (*value_of)(const struct ronde_shape *shape, uint32_t rank, size_t index);

/* Most ranks whose element is not neutral, for sums and for products. */
#define SUMMED_RANKS 16u
#define MULTIPLIED_RANKS 6u

/* Whether a rank is among the few that add to an element; all are, to some elements. */
static bool takes_part(const struct ronde_shape *shape, uint32_t rank, size_t index, uint32_t most)
{
    const uint32_t stride = (shape->ranks + most - 1) / most;
    return (rank + index) % stride == 0;
}

/* The same for sums of a type that counts to 8. */
#define SUMMED_RANKS_OF_FP8 4u

/* Whether the type has no more than 3 or 4 digits. */
static bool is_fp8(enum ronde_dtype dtype)
{
    return ronde_dtype_is_floating(dtype) && ronde_dtype_bytes(dtype) == 1;
}

/* A summand of an element. */
static double exact_summand(const struct ronde_shape *shape, uint32_t rank, size_t index,
                            uint64_t bits)
{
    if (is_fp8(shape->dtype))
        return takes_part(shape, rank, index, SUMMED_RANKS_OF_FP8) ? 1.0 : 0.0;
    return takes_part(shape, rank, index, SUMMED_RANKS) ? 1.0 + (double)(bits % 3) : 0.0;
}

/*
 * At most 16 numbers up to 3, doubled by premul_sum, add up to 96; at most 6 factors of 2 make 64.
 * Both fit int8, and the 8 bits of a bfloat16. At most 4 ones, doubled, fit the 3 bits of a float8_e5m2.
 */
static double exact_value(const struct ronde_shape *shape, uint32_t rank, size_t index)
{
    const uint64_t bits = mix(((uint64_t)rank << 32) + index);
    switch (shape->op) {
    case RONDE_PROD:
        return takes_part(shape, rank, index, MULTIPLIED_RANKS) ? 2.0 : 1.0;
    case RONDE_SUM:
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
        return exact_summand(shape, rank, index, bits);
    case RONDE_MIN:
    case RONDE_MAX:
    case RONDE_OP_COUNT:
        break;
    }
    return (double)(bits % 100);
}

/* [1, 2) or 1 .. 7: products neither vanish nor become denormal, which would be slow to time. */
static double any_value(const struct ronde_shape *shape, uint32_t rank, size_t index)
{
    const uint64_t bits = mix(((uint64_t)rank << 32) + index);
    return ronde_dtype_is_floating(shape->dtype) ? 1.0 + (double)(bits % 9973u) / 9973.0
                                                 : 1.0 + (double)(bits % 7);
}

/*
 * One period is computed, the rest are copies of it: filling must not take longer than measuring.
 */
static void fill_rank(void *buffer, const struct ronde_shape *shape, size_t elements, uint32_t rank,
                      value_of value)
{
    const size_t element = ronde_dtype_bytes(shape->dtype);
    const size_t first = elements < PATTERN ? elements : PATTERN;
    for (size_t i = 0; i < first; i++)
        ronde_element_store(shape->dtype, (char *)buffer + i * element, value(shape, rank, i));
    for (size_t done = first; done < elements; done += first) {
        const size_t left = elements - done;
        memcpy((char *)buffer + done * element, buffer, (left < first ? left : first) * element);
    }
}

/* Whether a rank's buffers matter: what is expected of one rank follows from the inputs of all. */
static bool is_needed(const struct ronde_memory *memory, uint32_t rank)
{
    return memory->only == RONDE_NONE || memory->only == rank || memory->expected;
}

/* What no run may leave in an output that it writes. */
#define POISON 0xA5

static void poison_rank(void *buffer, const struct ronde_shape *shape)
{
    memset(buffer, POISON,
           buffer_bytes(shape, ronde_collective_out_blocks(shape->collective, shape->ranks)));
}

/* What is filled with what. */
struct filling {
    const struct ronde_memory *memory;
    const struct ronde_shape *shape;
    value_of value;
};

/* In place the poison comes first, and the input over it. */
static void visit_rank(void *context, uint32_t rank)
{
    const struct filling *filling = context;
    const struct ronde_memory *memory = filling->memory;
    const struct ronde_shape *shape = filling->shape;
    if (!is_needed(memory, rank))
        return;
    poison_rank(memory->out[rank], shape);
    fill_rank(memory->in[rank], shape,
              (size_t)shape->count * ronde_collective_in_blocks(shape->collective, shape->ranks),
              rank, filling->value);
}

static void fill(const struct ronde_memory *memory, const struct ronde_shape *shape, value_of value)
{
    struct filling filling = {memory, shape, value};
    ronde_bind_visit(memory->near, shape->ranks, visit_rank, &filling);
}

void ronde_memory_fill(const struct ronde_memory *memory, const struct ronde_shape *shape)
{
    fill(memory, shape, any_value);
}

void ronde_memory_fill_exact(const struct ronde_memory *memory, const struct ronde_shape *shape)
{
    const bool reduces = ronde_collective_traits(shape->collective)->reduces;
    fill(memory, shape, reduces ? exact_value : any_value);
}

/* Equal buffers, the usual case, cost one comparison. */
static uint64_t count_wrong(const char *got, const char *expected, size_t element, size_t bytes)
{
    uint64_t wrong = 0;
    if (memcmp(got, expected, bytes) == 0)
        return 0;
    for (size_t at = 0; at < bytes; at += element)
        wrong += memcmp(got + at, expected + at, element) != 0;
    return wrong;
}

uint64_t ronde_memory_wrong(const struct ronde_memory *memory, const struct ronde_shape *shape)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const size_t bytes =
        buffer_bytes(shape, ronde_collective_out_blocks(shape->collective, shape->ranks));
    uint64_t wrong = 0;
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        if ((!traits->out_at_root || rank == shape->root) &&
            (memory->only == RONDE_NONE || memory->only == rank))
            wrong += count_wrong(memory->out[rank], memory->expected[rank],
                                 ronde_dtype_bytes(shape->dtype), bytes);
    return wrong;
}

void ronde_memory_aim_at_expected(struct ronde_memory *memory, const struct ronde_shape *shape)
{
    memcpy(memory->out, memory->expected, memory->ranks * sizeof *memory->out);
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        if (is_needed(memory, rank))
            poison_rank(memory->out[rank], shape);
}
