/* The definitions: which block goes where, and what is added up. Slow and obvious on purpose. */
#include "definition.h"

#include "ronde/ir.h"

#include <string.h>

/* A collective on memory. */
struct scene {
    const struct ronde_memory *memory;
    const struct ronde_input_range *shape;
    uint32_t element; /* bytes */
};

static unsigned char *block_of(const struct scene *scene, void *const *buffers, uint32_t rank,
                               uint32_t block)
{
    return (unsigned char *)buffers[rank] + scene->shape->count * scene->element * block;
}

static void copy_block(const struct scene *scene, uint32_t to_rank, uint32_t to_block,
                       uint32_t from_rank, uint32_t from_block)
{
    memcpy(block_of(scene, scene->memory->out, to_rank, to_block),
           block_of(scene, scene->memory->in, from_rank, from_block),
           scene->shape->count * scene->element);
}

/* What a rank contributes to an element. */
static double contribution(const struct scene *scene, uint32_t rank, uint32_t block, uint64_t i)
{
    const struct ronde_input_range *shape = scene->shape;
    const unsigned char *in = block_of(scene, scene->memory->in, rank, block);
    const double value = ronde_element_load(shape->dtype, in + i * scene->element);
    if (shape->op != RONDE_PREMUL_SUM)
        return value;
    const unsigned char *factors = scene->memory->factors;
    return value * ronde_element_load(shape->dtype, factors + (size_t)rank * scene->element);
}

/* The bitwise operators on whole numbers, which truth values are too: 0 or 1. */
static double combine_bits(enum ronde_op op, int64_t a, int64_t b)
{
    if (op == RONDE_BAND)
        return (double)(a & b);
    return (double)(op == RONDE_BOR ? a | b : a ^ b);
}

/* Sums of truth values are above 1: storing them makes them 1 again. */
static double combine(enum ronde_op op, double a, double b)
{
    switch (op) {
    case RONDE_SUM:
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
        return a + b;
    case RONDE_PROD:
        return a * b;
    case RONDE_MIN:
        return a < b ? a : b;
    case RONDE_MAX:
        return a > b ? a : b;
    case RONDE_BAND:
    case RONDE_BOR:
    case RONDE_BXOR:
        return combine_bits(op, (int64_t)a, (int64_t)b);
    case RONDE_OP_COUNT:
        break;
    }
    return 0.0;
}

/* One block of all inputs, combined into block 0 of the output of one rank. */
static void combine_block(const struct scene *scene, uint32_t to_rank, uint32_t block)
{
    const struct ronde_input_range *shape = scene->shape;
    unsigned char *out = block_of(scene, scene->memory->out, to_rank, 0);
    for (uint64_t i = 0; i < shape->count; i++) {
        double result = contribution(scene, 0, block, i);
        for (uint32_t rank = 1; rank < shape->ranks; rank++)
            result = combine(shape->op, result, contribution(scene, rank, block, i));
        if (shape->op == RONDE_AVG)
            result /= shape->ranks;
        ronde_element_store(shape->dtype, out + i * scene->element, result);
    }
}

/* Every rank's result is the same; adding it up once for each would only take N times as long. */
static void all_reduce(const struct scene *scene)
{
    void *const *out = scene->memory->out;
    combine_block(scene, 0, 0);
    for (uint32_t rank = 1; rank < scene->shape->ranks; rank++)
        memcpy(out[rank], out[0], scene->shape->count * scene->element);
}

/* Block b of the output is `from_block` of rank b's input. */
static void collect(const struct scene *scene, uint32_t rank, uint32_t from_block)
{
    for (uint32_t b = 0; b < scene->shape->ranks; b++)
        copy_block(scene, rank, b, b, from_block);
}

/* The output of one rank. */
static void run_rank(const struct scene *scene, uint32_t rank, uint32_t source)
{
    const struct ronde_input_range *shape = scene->shape;
    switch (shape->collective) {
    case RONDE_BROADCAST:
        copy_block(scene, rank, 0, shape->root, 0);
        break;
    case RONDE_SCATTER:
        copy_block(scene, rank, 0, shape->root, rank);
        break;
    case RONDE_GATHER:
        if (rank == shape->root)
            collect(scene, rank, 0);
        break;
    case RONDE_ALL_GATHER:
        collect(scene, rank, 0);
        break;
    case RONDE_REDUCE:
        if (rank == shape->root)
            combine_block(scene, rank, 0);
        break;
    case RONDE_REDUCE_SCATTER:
        combine_block(scene, rank, rank);
        break;
    case RONDE_ALL_TO_ALL:
        collect(scene, rank, rank);
        break;
    case RONDE_SEND_RECV:
        if (source != RONDE_NONE)
            copy_block(scene, rank, 0, source, 0);
        break;
    case RONDE_ALL_REDUCE: /* all ranks at once */
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
}

void ronde_definition_run(const struct ronde_memory *memory, const struct ronde_input_range *shape,
                          const uint32_t *source_of)
{
    const struct scene scene = {memory, shape, ronde_dtype_bytes(shape->dtype)};
    if (shape->count == 0)
        return;
    if (shape->collective == RONDE_ALL_REDUCE)
        all_reduce(&scene);
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        run_rank(&scene, rank,
                 source_of ? source_of[rank] : (rank + shape->ranks - 1) % shape->ranks);
}
