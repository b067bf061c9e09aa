#include "support/reference.h"

#include <math.h>
#include <string.h>

_Static_assert(RONDE_DTYPE_COUNT == 4 && RONDE_OP_COUNT == 4,
               "the reference knows these types and operators");

bool reference_is_floating(enum ronde_dtype dtype)
{
    return dtype == RONDE_FLOAT32 || dtype == RONDE_FLOAT64;
}

static int64_t load_integer(enum ronde_dtype dtype, const void *element)
{
    if (dtype == RONDE_UINT8)
        return *(const uint8_t *)element;
    return *(const int32_t *)element;
}

static void store_integer(enum ronde_dtype dtype, void *element, uint64_t value)
{
    if (dtype == RONDE_UINT8)
        *(uint8_t *)element = (uint8_t)value;
    else
        *(int32_t *)element = (int32_t)(uint32_t)value;
}

static double load_floating(enum ronde_dtype dtype, const void *element)
{
    return dtype == RONDE_FLOAT32 ? (double)*(const float *)element : *(const double *)element;
}

static void store_floating(enum ronde_dtype dtype, void *element, double value)
{
    if (dtype == RONDE_FLOAT32)
        *(float *)element = (float)value;
    else
        *(double *)element = value;
}

void reference_store(enum ronde_dtype dtype, void *element, int value)
{
    if (reference_is_floating(dtype))
        store_floating(dtype, element, value);
    else
        store_integer(dtype, element, (uint64_t)(int64_t)value);
}

bool reference_is_nan(enum ronde_dtype dtype, const void *element)
{
    return reference_is_floating(dtype) && isnan(load_floating(dtype, element));
}

static uint64_t combine_integers(enum ronde_op op, int64_t a, int64_t b)
{
    switch (op) {
    case RONDE_SUM:
        return (uint64_t)a + (uint64_t)b;
    case RONDE_PROD:
        return (uint64_t)a * (uint64_t)b;
    case RONDE_MIN:
        return (uint64_t)(a < b ? a : b);
    case RONDE_MAX:
        return (uint64_t)(a > b ? a : b);
    case RONDE_OP_COUNT:
        break;
    }
    return 0;
}

/* The smaller of two, a number rather than NaN, -0 rather than +0. */
static double smaller(double a, double b)
{
    if (isnan(a))
        return b;
    if (isnan(b))
        return a;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double combine_floatings(enum ronde_op op, double a, double b)
{
    switch (op) {
    case RONDE_SUM:
        return a + b;
    case RONDE_PROD:
        return a * b;
    case RONDE_MIN:
        return smaller(a, b);
    case RONDE_MAX:
        return -smaller(-a, -b);
    case RONDE_OP_COUNT:
        break;
    }
    return 0;
}

/* float32 sums and products of two float32 are exact or rounded once in double, which rounds to the same float32. */
void reference_combine(enum ronde_dtype dtype, enum ronde_op op, const void *local,
                       const void *received, void *out)
{
    if (reference_is_floating(dtype))
        store_floating(dtype, out,
                       combine_floatings(op, load_floating(dtype, local),
                                         load_floating(dtype, received)));
    else
        store_integer(dtype, out,
                      combine_integers(op, load_integer(dtype, local),
                                       load_integer(dtype, received)));
}

/* A block of some rank's buffer. */
static unsigned char *block_of(const struct reference *r, void *const *buffers, uint32_t rank,
                               uint32_t block)
{
    const uint64_t bytes = r->count * ronde_dtype_bytes(r->dtype);
    return (unsigned char *)buffers[rank] + block * bytes;
}

static void copy_block(const struct reference *r, uint32_t to_rank, uint32_t to_block,
                       uint32_t from_rank, uint32_t from_block)
{
    if (r->count > 0)
        memcpy(block_of(r, r->out, to_rank, to_block), block_of(r, r->in, from_rank, from_block),
               r->count * ronde_dtype_bytes(r->dtype));
}

/* One block of the output of a rank: the same block of all inputs, combined. */
static void combine_blocks(const struct reference *r, uint32_t to_rank, uint32_t from_block)
{
    const uint32_t size = ronde_dtype_bytes(r->dtype);
    copy_block(r, to_rank, 0, 0, from_block);
    unsigned char *to = r->count > 0 ? block_of(r, r->out, to_rank, 0) : NULL;
    for (uint32_t rank = 1; rank < r->ranks; rank++)
        for (uint64_t i = 0; i < r->count; i++)
            reference_combine(r->dtype, r->op, to + i * size,
                              block_of(r, r->in, rank, from_block) + i * size, to + i * size);
}

/* The output of one rank. */
static void run_rank(const struct reference *r, uint32_t rank)
{
    switch (r->collective) {
    case RONDE_BROADCAST:
        copy_block(r, rank, 0, r->root, 0);
        break;
    case RONDE_SCATTER:
        copy_block(r, rank, 0, r->root, rank);
        break;
    case RONDE_GATHER:
        for (uint32_t b = 0; b < r->ranks && rank == r->root; b++)
            copy_block(r, rank, b, b, 0);
        break;
    case RONDE_ALL_GATHER:
        for (uint32_t b = 0; b < r->ranks; b++)
            copy_block(r, rank, b, b, 0);
        break;
    case RONDE_REDUCE:
        if (rank == r->root)
            combine_blocks(r, rank, 0);
        break;
    case RONDE_ALL_REDUCE:
        combine_blocks(r, rank, 0);
        break;
    case RONDE_REDUCE_SCATTER:
        combine_blocks(r, rank, rank);
        break;
    case RONDE_ALL_TO_ALL:
        for (uint32_t b = 0; b < r->ranks; b++)
            copy_block(r, rank, b, b, rank);
        break;
    case RONDE_SEND_RECV: /* the shift: everybody gets what the rank before it has */
        copy_block(r, rank, 0, (rank + r->ranks - 1) % r->ranks, 0);
        break;
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
}

void reference_run(const struct reference *reference)
{
    for (uint32_t rank = 0; rank < reference->ranks; rank++)
        run_rank(reference, rank);
}
