#include "support/reference.h"

#include <math.h>
#include <string.h>

_Static_assert(RONDE_DTYPE_COUNT == 15 && RONDE_OP_COUNT == 9,
               "the reference knows these types and operators");

/* A floating type narrower than float32, by what it can hold; unlike the kernels', all done in whole numbers. */
struct narrow {
    int digits;        /* of a normal number, the leading one included */
    int least;         /* exponent of the last digit of a subnormal number */
    int exponent_bits; /* of the stored form */
    int infinity; /* its magnitude, above which there are NaNs; or of the least NaN where there is none */
    int nan;     /* magnitude of the usual NaN */
    int largest; /* magnitude of what is too large: the largest finite number, or infinity */
};

static const struct narrow *narrow_of(enum ronde_dtype dtype)
{
    static const struct narrow types[RONDE_DTYPE_COUNT] = {
        [RONDE_FLOAT16] = {11, -24, 5, 0x7c00, 0x7e00, 0x7c00},
        [RONDE_BFLOAT16] = {8, -133, 8, 0x7f80, 0x7fc0, 0x7f80},
        [RONDE_FLOAT8_E4M3] = {4, -9, 4, 0x7f, 0x7f, 0x7e},
        [RONDE_FLOAT8_E5M2] = {3, -16, 5, 0x7c, 0x7e, 0x7b},
    };
    return types[dtype].digits > 0 ? &types[dtype] : NULL;
}

bool reference_is_floating(enum ronde_dtype dtype)
{
    return dtype == RONDE_FLOAT32 || dtype == RONDE_FLOAT64 || narrow_of(dtype);
}

bool reference_is_defined(enum ronde_dtype dtype, enum ronde_op op)
{
    if (op == RONDE_BAND || op == RONDE_BOR || op == RONDE_BXOR)
        return !reference_is_floating(dtype);
    return dtype != RONDE_BOOL || (op != RONDE_AVG && op != RONDE_PREMUL_SUM);
}

/* Bits without the sign. */
static int magnitude_bits(const struct narrow *type)
{
    return type->digits - 1 + type->exponent_bits;
}

static double load_narrow(const struct narrow *type, uint16_t bits)
{
    const int fraction_bits = type->digits - 1;
    const int magnitude = bits & ((1 << magnitude_bits(type)) - 1);
    const int exponent = magnitude >> fraction_bits;
    const int fraction = magnitude & ((1 << fraction_bits) - 1);
    const double sign = bits >> magnitude_bits(type) ? -1.0 : 1.0;
    if (magnitude >= type->infinity)
        return magnitude == type->nan || fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, type->least);
    return sign * ldexp(fraction + (1 << fraction_bits), type->least + exponent - 1);
}

/* Rounds to nearest even: the last digit kept weighs 2^last. */
static uint16_t store_narrow(const struct narrow *type, double value)
{
    const int fraction_bits = type->digits - 1;
    const int sign = signbit(value) ? 1 << magnitude_bits(type) : 0;
    int exponent;
    if (isnan(value))
        return (uint16_t)type->nan;
    if (isinf(value) || value == 0)
        return (uint16_t)(sign | (value == 0 ? 0 : type->largest));
    (void)frexp(value, &exponent);
    const int last = exponent - type->digits > type->least ? exponent - type->digits : type->least;
    const int digits = (int)nearbyint(ldexp(fabs(value), -last));
    /* Digits that need one more carry into the exponent by themselves. */
    const int stored = digits + ((last - type->least) << fraction_bits);
    return (uint16_t)(sign | (stored < type->largest ? stored : type->largest));
}

/* Whether small values are sign-extended. */
static bool is_signed(enum ronde_dtype dtype)
{
    return dtype == RONDE_INT8 || dtype == RONDE_INT16 || dtype == RONDE_INT32 ||
           dtype == RONDE_INT64;
}

/* Whole numbers are held as 64 bits, sign-extended where the type has a sign. */
static uint64_t load_integer(enum ronde_dtype dtype, const void *element)
{
    uint64_t value = 0;
    const uint32_t bits = 8 * ronde_dtype_bytes(dtype);
    memcpy(&value, element, ronde_dtype_bytes(dtype));
    if (is_signed(dtype) && bits < 64 && value >> (bits - 1))
        value |= UINT64_MAX << bits;
    return dtype == RONDE_BOOL ? value != 0 : value;
}

static void store_integer(enum ronde_dtype dtype, void *element, uint64_t value)
{
    if (dtype == RONDE_BOOL)
        value = value != 0;
    memcpy(element, &value, ronde_dtype_bytes(dtype));
}

static double load_floating(enum ronde_dtype dtype, const void *element)
{
    uint16_t half = 0;
    if (narrow_of(dtype))
        memcpy(&half, element, ronde_dtype_bytes(dtype));
    if (narrow_of(dtype))
        return load_narrow(narrow_of(dtype), half);
    return dtype == RONDE_FLOAT32 ? (double)*(const float *)element : *(const double *)element;
}

/* Types of 16 and 8 bits are computed in float32: the value is rounded to that first. */
static void store_floating(enum ronde_dtype dtype, void *element, double value)
{
    const uint16_t half =
        narrow_of(dtype) ? store_narrow(narrow_of(dtype), (double)(float)value) : 0;
    if (narrow_of(dtype))
        memcpy(element, &half, ronde_dtype_bytes(dtype));
    else if (dtype == RONDE_FLOAT32)
        *(float *)element = (float)value;
    else
        *(double *)element = value;
}

void reference_store(enum ronde_dtype dtype, void *element, double value)
{
    if (reference_is_floating(dtype))
        store_floating(dtype, element, value);
    else
        store_integer(dtype, element, (uint64_t)(int64_t)value);
}

double reference_load(enum ronde_dtype dtype, const void *element)
{
    if (reference_is_floating(dtype))
        return load_floating(dtype, element);
    const uint64_t value = load_integer(dtype, element);
    return is_signed(dtype) ? (double)(int64_t)value : (double)value;
}

bool reference_is_nan(enum ronde_dtype dtype, const void *element)
{
    return reference_is_floating(dtype) && isnan(load_floating(dtype, element));
}

static bool is_less(enum ronde_dtype dtype, uint64_t a, uint64_t b)
{
    return is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t combine_integers(enum ronde_dtype dtype, enum ronde_op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case RONDE_SUM:
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
        return a + b;
    case RONDE_PROD:
        return a * b;
    case RONDE_MIN:
        return is_less(dtype, a, b) ? a : b;
    case RONDE_MAX:
        return is_less(dtype, a, b) ? b : a;
    case RONDE_BAND:
        return a & b;
    case RONDE_BOR:
        return a | b;
    case RONDE_BXOR:
        return a ^ b;
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
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
        return a + b;
    case RONDE_PROD:
        return a * b;
    case RONDE_MIN:
        return smaller(a, b);
    case RONDE_MAX:
        return -smaller(-a, -b);
    case RONDE_BAND:
    case RONDE_BOR:
    case RONDE_BXOR:
    case RONDE_OP_COUNT:
        break;
    }
    return 0;
}

static bool is_same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* min and max are one of their operands as it is, an infinity too where rounding would make it a number. */
static void pick(enum ronde_dtype dtype, double value, const void *local, const void *received,
                 void *out)
{
    const void *from = is_same(load_floating(dtype, local), value) ? local : received;
    memmove(out, from, ronde_dtype_bytes(dtype));
}

/* float32 sums and products of two float32 are exact or rounded once in double, which rounds to the same float32. */
void reference_combine(enum ronde_dtype dtype, enum ronde_op op, const void *local,
                       const void *received, void *out)
{
    const double value =
        reference_is_floating(dtype)
            ? combine_floatings(op, load_floating(dtype, local), load_floating(dtype, received))
            : 0;
    if (reference_is_floating(dtype) && (op == RONDE_MIN || op == RONDE_MAX))
        pick(dtype, value, local, received, out);
    else if (reference_is_floating(dtype))
        store_floating(dtype, out, value);
    else
        store_integer(dtype, out,
                      combine_integers(dtype, op, load_integer(dtype, local),
                                       load_integer(dtype, received)));
}

void reference_divide(enum ronde_dtype dtype, void *element, uint32_t ranks)
{
    const uint64_t value = reference_is_floating(dtype) ? 0 : load_integer(dtype, element);
    if (dtype == RONDE_FLOAT64)
        *(double *)element /= ranks;
    else if (reference_is_floating(dtype))
        store_floating(dtype, element,
                       (double)((float)load_floating(dtype, element) / (float)ranks));
    else if (is_signed(dtype))
        store_integer(dtype, element, (uint64_t)((int64_t)value / (int64_t)ranks));
    else
        store_integer(dtype, element, value / ranks);
}

/* A block of some rank's buffer. */
static unsigned char *block_of(const struct reference *r, const struct reference_side *side,
                               uint32_t rank, uint32_t block)
{
    const uint64_t offset = side->blocks ? side->blocks[rank].offsets[block] : block * r->count;
    return (unsigned char *)side->buffers[rank] + offset * ronde_dtype_bytes(r->dtype);
}

/* Elements of an output block, which are as many as those of the inputs that go into it. */
static uint64_t count_of(const struct reference *r, uint32_t rank, uint32_t block)
{
    return r->out.blocks ? r->out.blocks[rank].counts[block] : r->count;
}

static void copy_block(const struct reference *r, uint32_t to_rank, uint32_t to_block,
                       uint32_t from_rank, uint32_t from_block)
{
    const uint64_t count = count_of(r, to_rank, to_block);
    if (count > 0)
        memcpy(block_of(r, &r->out, to_rank, to_block), block_of(r, &r->in, from_rank, from_block),
               count * ronde_dtype_bytes(r->dtype));
}

/* A rank's contribution: premul_sum multiplies it. */
static void take(const struct reference *r, uint32_t rank, const unsigned char *from, void *to)
{
    const uint32_t size = ronde_dtype_bytes(r->dtype);
    if (r->op == RONDE_PREMUL_SUM)
        reference_combine(r->dtype, RONDE_PROD, from,
                          (const unsigned char *)r->factors + rank * size, to);
    else
        memcpy(to, from, size);
}

/* One block of the output of a rank: the same block of all inputs, combined. */
static void combine_blocks(const struct reference *r, uint32_t to_rank, uint32_t from_block)
{
    const uint32_t size = ronde_dtype_bytes(r->dtype);
    const uint64_t count = count_of(r, to_rank, 0);
    for (uint64_t i = 0; i < count; i++) {
        unsigned char *const to = block_of(r, &r->out, to_rank, 0) + i * size;
        uint64_t all;
        uint64_t one;
        take(r, 0, block_of(r, &r->in, 0, from_block) + i * size, &all);
        for (uint32_t rank = 1; rank < r->ranks; rank++) {
            take(r, rank, block_of(r, &r->in, rank, from_block) + i * size, &one);
            reference_combine(r->dtype, r->op, &all, &one, &all);
        }
        if (r->op == RONDE_AVG)
            reference_divide(r->dtype, &all, r->ranks);
        memcpy(to, &all, size);
    }
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
    case RONDE_SEND_RECV: /* the shift: every rank gets what the rank before it has */
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
