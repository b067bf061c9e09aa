#include "support/buffers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes around every buffer that must stay unchanged. */
#define SENTINEL_BYTES 64u

/* What sentinels and outputs hold before a run: no input has these bytes. */
#define POISON 0xCD

uint64_t buffers_draw(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

bool buffers_vary(const struct buffers_shape *shape)
{
    return shape->blocks == BUFFERS_UNEVEN || shape->blocks == BUFFERS_UNEVEN_SEPARATE;
}

static uint32_t block_count(const struct buffers_shape *shape, bool is_input)
{
    return is_input ? ronde_collective_in_blocks(shape->collective, shape->ranks)
                    : ronde_collective_out_blocks(shape->collective, shape->ranks);
}

/* Elements between the starts of two blocks: tables leave a gap that must stay unchanged. */
static uint64_t block_stride(const struct buffers_shape *shape)
{
    return shape->count + (shape->blocks == BUFFERS_ADJACENT ? 0 : 1);
}

/* Elements from the start of a buffer to a block. */
static uint64_t block_offset(const struct buffers_shape *shape, bool is_input, uint32_t block)
{
    const uint32_t place =
        shape->blocks == BUFFERS_ADJACENT ? block : block_count(shape, is_input) - 1 - block;
    return place * block_stride(shape);
}

/* Elements of what travels from a rank's input to a rank's output: a draw that both of them make alike. */
static uint64_t block_length(const struct buffers_shape *shape, uint32_t from, uint32_t to)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const bool is_shift = shape->collective == RONDE_SEND_RECV;
    if (!buffers_vary(shape))
        return shape->count;
    uint64_t random = shape->seed ^ 0x5bd1e995u;
    if (traits->out_per_rank || is_shift)
        random += from * UINT64_C(7919);
    if (traits->in_per_rank)
        random += to * UINT64_C(104729);
    const uint64_t draw = buffers_draw(&random);
    /* Empty blocks and full ones are where mistakes are. */
    return draw % 4 == 0 ? 0 : draw % 4 == 1 ? shape->count : (draw >> 8) % (shape->count + 1);
}

static size_t side_bytes(const struct buffers_shape *shape, bool is_input)
{
    return block_count(shape, is_input) * block_stride(shape) * ronde_dtype_bytes(shape->dtype);
}

static size_t in_bytes(const struct buffers_shape *shape)
{
    return side_bytes(shape, true);
}

static size_t out_bytes(const struct buffers_shape *shape)
{
    return side_bytes(shape, false);
}

static size_t round_up(size_t bytes)
{
    return (bytes + SENTINEL_BYTES - 1) / SENTINEL_BYTES * SENTINEL_BYTES;
}

/* Input, output and three sentinels; the element of shift makes addresses aligned to the element only. */
static size_t image_bytes(const struct buffers_shape *shape)
{
    return 4 * SENTINEL_BYTES + round_up(in_bytes(shape)) + round_up(out_bytes(shape));
}

size_t buffers_bytes(const struct buffers_shape *shape)
{
    return image_bytes(shape) * shape->ranks;
}

static bool has_input(const struct buffers_shape *shape, uint32_t rank)
{
    return !ronde_collective_traits(shape->collective)->in_at_root || rank == shape->root;
}

static bool has_output(const struct buffers_shape *shape, uint32_t rank)
{
    return !ronde_collective_traits(shape->collective)->out_at_root || rank == shape->root;
}

/* Block of the shared memory that a one-block buffer starts at in place, when the other holds one per rank. */
static size_t own_block(const struct buffers_shape *shape, uint32_t rank, bool is_input)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const bool is_part = is_input ? traits->out_per_rank && !traits->in_per_rank
                                  : traits->in_per_rank && !traits->out_per_rank;
    const bool is_shared = !traits->has_root || rank == shape->root;
    return is_part && is_shared
               ? block_offset(shape, !is_input, rank) * ronde_dtype_bytes(shape->dtype)
               : 0;
}

/* Points a rank's buffers into its image. */
static void place(struct buffers *buffers, uint32_t rank)
{
    const struct buffers_shape *shape = &buffers->shape;
    unsigned char *const image = buffers->images + rank * buffers->rank_bytes;
    unsigned char *in = image + buffers->in_offset;
    unsigned char *out = image + buffers->out_offset;
    if (shape->in_place) {
        in = image + buffers->in_offset + own_block(shape, rank, true);
        out = image + buffers->in_offset + own_block(shape, rank, false);
    }
    buffers->in[rank] = has_input(shape, rank) || shape->in_place ? in : NULL;
    buffers->out[rank] = has_output(shape, rank) || shape->in_place ? out : NULL;
}

/* Rank and block at the other end of a rank's block: the input's go to outputs, the output's come from inputs. */
static uint64_t table_length(const struct buffers_shape *shape, bool is_input, uint32_t rank,
                             uint32_t block)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    if (is_input)
        return block_length(shape, rank, traits->in_per_rank ? block : rank);
    if (shape->collective == RONDE_SEND_RECV)
        return block_length(shape, (rank + shape->ranks - 1) % shape->ranks, rank);
    return block_length(shape, traits->out_per_rank ? block : rank, rank);
}

/* One rank's table; `at` is where its entries stand among those of all tables. */
static void fill_table(struct buffers *buffers, bool is_input, uint32_t rank, size_t at)
{
    const struct buffers_shape *shape = &buffers->shape;
    unsigned char *const buffer = is_input ? buffers->in[rank] : buffers->out[rank];
    struct ronde_blocks *table = &buffers->tables[is_input ? 0 : 1][rank];
    for (uint32_t block = 0; block < block_count(shape, is_input); block++) {
        const uint64_t offset = block_offset(shape, is_input, block);
        buffers->counts[at + block] = table_length(shape, is_input, rank, block);
        buffers->offsets[at + block] = offset;
        buffers->pointers[at + block] = buffer && buffers->counts[at + block] > 0
                                            ? buffer + offset * ronde_dtype_bytes(shape->dtype)
                                            : NULL;
    }
    table->counts = buffers->counts + at;
    table->offsets = buffers->offsets + at;
    table->pointers = buffers->pointers + at;
    const enum buffers_blocks kind = shape->blocks;
    struct ronde_blocks *given = &buffers->given[is_input ? 0 : 1][rank];
    given->counts = kind == BUFFERS_SEPARATE ? NULL : table->counts;
    given->offsets = kind == BUFFERS_UNEVEN ? table->offsets : NULL;
    given->pointers = kind == BUFFERS_UNEVEN ? NULL : table->pointers;
}

/* Tables of all ranks. */
static bool make_tables(struct buffers *buffers)
{
    const struct buffers_shape *shape = &buffers->shape;
    if (shape->blocks == BUFFERS_ADJACENT)
        return true;
    const size_t in = block_count(shape, true);
    const size_t entries = (in + block_count(shape, false)) * shape->ranks + 1;
    bool has_room = true;
    for (int side = 0; side < 2; side++) {
        buffers->tables[side] = calloc(shape->ranks, sizeof *buffers->tables[side]);
        buffers->given[side] = calloc(shape->ranks, sizeof *buffers->given[side]);
        has_room = has_room && buffers->tables[side] && buffers->given[side];
    }
    buffers->counts = calloc(entries, sizeof *buffers->counts);
    buffers->offsets = calloc(entries, sizeof *buffers->offsets);
    buffers->pointers = calloc(entries, sizeof *buffers->pointers);
    if (!has_room || !buffers->counts || !buffers->offsets || !buffers->pointers)
        return false;
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        fill_table(buffers, true, rank, rank * in);
        fill_table(buffers, false, rank, shape->ranks * in + rank * block_count(shape, false));
    }
    return true;
}

struct ronde_launch buffers_launch(const struct buffers *buffers)
{
    const bool has_pointers = buffers->shape.blocks == BUFFERS_SEPARATE ||
                              buffers->shape.blocks == BUFFERS_UNEVEN_SEPARATE;
    return (struct ronde_launch){.count = buffers->shape.count,
                                 .dtype = buffers->shape.dtype,
                                 .op = buffers->shape.op,
                                 .in = has_pointers ? NULL : buffers->in,
                                 .out = has_pointers ? NULL : buffers->out,
                                 .in_blocks = buffers->given[0],
                                 .out_blocks = buffers->given[1],
                                 .factors = buffers->factors};
}

static bool is_unsigned(enum ronde_dtype dtype)
{
    return dtype == RONDE_UINT8 || dtype == RONDE_UINT16 || dtype == RONDE_UINT32 ||
           dtype == RONDE_UINT64;
}

/* How many small numbers there are to draw from; 0 where a sum of 33 of them keeps too few digits. */
static uint64_t small_values(enum ronde_dtype dtype)
{
    if (ronde_dtype_bytes(dtype) == 1 && reference_is_floating(dtype))
        return 0;
    return dtype == RONDE_BFLOAT16 ? 3 : 16;
}

/* Whether no order of a reduction can change a bit, whatever the inputs. */
static bool is_bitwise(const struct buffers_shape *shape)
{
    return shape->dtype == RONDE_BOOL || shape->op == RONDE_BAND || shape->op == RONDE_BOR ||
           shape->op == RONDE_BXOR;
}

/*
 * Bits of which one in eight decides the result alone, so that results show every rank. A truth value that is not 0 is
 * any byte.
 */
static void fill_bitwise(const struct buffers_shape *shape, uint64_t *random, unsigned char *element)
{
    const uint64_t draw = buffers_draw(random);
    const uint64_t sparse = draw & buffers_draw(random) & buffers_draw(random);
    const bool is_and = shape->op == RONDE_BAND || shape->op == RONDE_PROD || shape->op == RONDE_MIN;
    const uint64_t bits = shape->op == RONDE_BXOR ? draw : is_and ? ~sparse : sparse;
    const unsigned char truth = bits & 1 ? (unsigned char)((draw >> 8) % 255 + 1) : 0;
    if (shape->dtype == RONDE_BOOL)
        *element = truth;
    else
        memcpy(element, &bits, ronde_dtype_bytes(shape->dtype));
}

/*
 * Small enough that 33 ranks neither overflow a float nor lose a bit, with factors of 1 and 2: sums below 2^11, for
 * bfloat16 below 2^8; for types of 8 bits hardly any number is not zero. Products are powers of two. Integers wrap,
 * which no order changes.
 */
static void fill_small(const struct buffers_shape *shape, uint64_t *random, unsigned char *element)
{
    const uint64_t draw = buffers_draw(random);
    const uint64_t most = small_values(shape->dtype);
    const int summand = most > 0 ? (int)(draw % most) + 1 : draw % 64 == 0;
    const int value = shape->op == RONDE_PROD ? (int)(draw % 2) + 1 : summand;
    const bool is_negative = !is_unsigned(shape->dtype) && (draw >> 32) % 4 == 0;
    reference_store(shape->dtype, element, is_negative ? -value : value);
}

/* Numbers of like magnitude with full mantissas, so that every rounding counts; one in 16 is any bits at all. */
static void fill_bits(const struct buffers_shape *shape, uint64_t *random, unsigned char *element)
{
    const uint64_t draw = buffers_draw(random);
    const double value = ldexp((double)(draw >> 11), -52) - 1;
    if (reference_is_floating(shape->dtype) && draw % 16 != 0)
        reference_store(shape->dtype, element, value);
    else
        memcpy(element, &draw, ronde_dtype_bytes(shape->dtype));
}

/* Factors differ between ranks, so that one applied to another's data shows. */
static bool make_factors(struct buffers *buffers)
{
    const struct buffers_shape *shape = &buffers->shape;
    const uint32_t size = ronde_dtype_bytes(shape->dtype);
    uint64_t random = ~shape->seed;
    buffers->factors = calloc(shape->ranks, size);
    for (uint32_t rank = 0; buffers->factors && rank < shape->ranks; rank++) {
        unsigned char *const factor = (unsigned char *)buffers->factors + rank * size;
        if (shape->data == BUFFERS_SMALL)
            reference_store(shape->dtype, factor, (double)(buffers_draw(&random) % 2) + 1);
        else
            fill_bits(shape, &random, factor);
    }
    return buffers->factors != NULL;
}

static void fill_input(const struct buffers *buffers, uint32_t rank)
{
    const struct buffers_shape *shape = &buffers->shape;
    const uint32_t size = ronde_dtype_bytes(shape->dtype);
    const size_t bytes = in_bytes(shape);
    uint64_t random = shape->seed + rank * UINT64_C(1000003);
    for (size_t at = 0; at < bytes; at += size) {
        unsigned char *const element = (unsigned char *)buffers->in[rank] + at;
        if (is_bitwise(shape))
            fill_bitwise(shape, &random, element);
        else if (shape->data == BUFFERS_SMALL)
            fill_small(shape, &random, element);
        else
            fill_bits(shape, &random, element);
    }
}

void buffers_fill(struct buffers *buffers)
{
    memset(buffers->images, POISON, buffers->bytes);
    for (uint32_t rank = 0; rank < buffers->shape.ranks; rank++)
        if (has_input(&buffers->shape, rank))
            fill_input(buffers, rank);
}

bool buffers_create(const struct buffers_shape *shape, struct buffers *out_buffers)
{
    return buffers_create_from(shape, ronde_mem_default(), out_buffers);
}

bool buffers_create_from(const struct buffers_shape *shape, const struct ronde_mem *mem,
                         struct buffers *out_buffers)
{
    struct buffers *b = out_buffers;
    memset(b, 0, sizeof *b);
    b->shape = *shape;
    b->rank_bytes = image_bytes(shape);
    b->in_offset = SENTINEL_BYTES + ronde_dtype_bytes(shape->dtype);
    b->out_offset = b->in_offset + round_up(in_bytes(shape)) + SENTINEL_BYTES;
    b->bytes = buffers_bytes(shape);
    b->mem = mem;
    b->images = ronde_mem_new(mem, b->bytes, 1);
    b->in = calloc(shape->ranks, sizeof *b->in);
    b->out = calloc(shape->ranks, sizeof *b->out);
    if (!b->images || !b->in || !b->out) {
        buffers_destroy(b);
        return false;
    }
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        place(b, rank);
    if (!make_tables(b) || !make_factors(b)) {
        buffers_destroy(b);
        return false;
    }
    buffers_fill(b);
    return true;
}

void buffers_destroy(struct buffers *buffers)
{
    ronde_mem_free(buffers->mem, buffers->images, buffers->bytes, 1);
    free(buffers->in);
    free(buffers->out);
    free(buffers->factors);
    for (int side = 0; side < 2; side++) {
        free(buffers->tables[side]);
        free(buffers->given[side]);
    }
    free(buffers->counts);
    free(buffers->offsets);
    free(buffers->pointers);
    memset(buffers, 0, sizeof *buffers);
}

/* The reference must not see its own outputs as inputs: it reads a second generation. */
bool buffers_expect(struct buffers *buffers)
{
    struct buffers source;
    if (!buffers_create(&buffers->shape, &source))
        return false;
    const struct buffers_shape *shape = &buffers->shape;
    const struct reference reference = {.collective = shape->collective,
                                        .ranks = shape->ranks,
                                        .root = shape->root,
                                        .count = shape->count,
                                        .dtype = shape->dtype,
                                        .op = shape->op,
                                        .factors = source.factors,
                                        .in = {source.in, source.tables[0]},
                                        .out = {buffers->out, buffers->tables[1]}};
    reference_run(&reference);
    buffers_destroy(&source);
    return true;
}

/* Whether the element around a differing byte of a rank's output is a NaN in both images. */
static bool is_nan_in_both(const struct buffers *a, const struct buffers *b, uint32_t rank,
                           size_t at)
{
    const uint32_t size = ronde_dtype_bytes(a->shape.dtype);
    if (!a->out[rank])
        return false;
    const size_t image = rank * a->rank_bytes;
    const size_t first = (size_t)((unsigned char *)a->out[rank] - a->images);
    if (image + at < first || image + at >= first + out_bytes(&a->shape))
        return false;
    const size_t element = first + (image + at - first) / size * size;
    return reference_is_nan(a->shape.dtype, a->images + element) &&
           reference_is_nan(a->shape.dtype, b->images + element);
}

static bool rank_differs(const struct buffers *actual, const struct buffers *expected,
                         uint32_t rank, size_t *out_at)
{
    const unsigned char *const a = actual->images + rank * actual->rank_bytes;
    const unsigned char *const b = expected->images + rank * expected->rank_bytes;
    if (memcmp(a, b, actual->rank_bytes) == 0)
        return false;
    for (size_t at = 0; at < actual->rank_bytes; at++) {
        if (a[at] != b[at] && !is_nan_in_both(actual, expected, rank, at)) {
            *out_at = at;
            return true;
        }
    }
    return false;
}

bool buffers_differ(const struct buffers *actual, const struct buffers *expected, char *text,
                    size_t text_bytes)
{
    for (uint32_t rank = 0; rank < actual->shape.ranks; rank++) {
        size_t at = 0;
        if (!rank_differs(actual, expected, rank, &at))
            continue;
        const size_t byte = rank * actual->rank_bytes + at;
        const unsigned char *const out = actual->out[rank];
        snprintf(text, text_bytes,
                 "rank %u byte %zu of its image (output begins at %td): 0x%02x instead of 0x%02x",
                 rank, at, out ? out - (actual->images + rank * actual->rank_bytes) : -1,
                 actual->images[byte], expected->images[byte]);
        return true;
    }
    return false;
}
