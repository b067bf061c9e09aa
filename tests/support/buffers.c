#include "support/buffers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes around every buffer that nobody may touch. */
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

static size_t block_bytes(const struct buffers_shape *shape)
{
    return (size_t)shape->count * ronde_dtype_bytes(shape->dtype);
}

static size_t in_bytes(const struct buffers_shape *shape)
{
    return ronde_collective_in_blocks(shape->collective, shape->ranks) * block_bytes(shape);
}

static size_t out_bytes(const struct buffers_shape *shape)
{
    return ronde_collective_out_blocks(shape->collective, shape->ranks) * block_bytes(shape);
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
    return is_part && is_shared ? rank * block_bytes(shape) : 0;
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

/* Small enough that 64 ranks neither overflow a float32 nor lose a bit: sums below 2^10, products up to 2^64. */
static void fill_small(const struct buffers_shape *shape, uint64_t *random, unsigned char *element)
{
    const uint64_t draw = buffers_draw(random);
    const int value = shape->op == RONDE_PROD ? (int)(draw % 2) + 1 : (int)(draw % 16) + 1;
    const bool is_negative = shape->dtype != RONDE_UINT8 && (draw >> 32) % 4 == 0;
    reference_store(shape->dtype, element, is_negative ? -value : value);
}

/* Numbers of like magnitude with full mantissas, so that every rounding counts; one in 16 is any bits at all. */
static void fill_bits(const struct buffers_shape *shape, uint64_t *random, unsigned char *element)
{
    const uint64_t draw = buffers_draw(random);
    const double value = ldexp((double)(draw >> 11), -52) - 1;
    if (shape->dtype == RONDE_FLOAT32 && draw % 16 != 0)
        *(float *)(void *)element = (float)value;
    else if (shape->dtype == RONDE_FLOAT64 && draw % 16 != 0)
        *(double *)(void *)element = value;
    else
        memcpy(element, &draw, ronde_dtype_bytes(shape->dtype));
}

static void fill_input(const struct buffers *buffers, uint32_t rank)
{
    const struct buffers_shape *shape = &buffers->shape;
    const uint32_t size = ronde_dtype_bytes(shape->dtype);
    const size_t bytes = in_bytes(shape);
    uint64_t random = shape->seed + rank * UINT64_C(1000003);
    for (size_t at = 0; at < bytes; at += size) {
        unsigned char *const element = (unsigned char *)buffers->in[rank] + at;
        if (shape->data == BUFFERS_SMALL)
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
    struct buffers *b = out_buffers;
    memset(b, 0, sizeof *b);
    b->shape = *shape;
    b->rank_bytes = image_bytes(shape);
    b->in_offset = SENTINEL_BYTES + ronde_dtype_bytes(shape->dtype);
    b->out_offset = b->in_offset + round_up(in_bytes(shape)) + SENTINEL_BYTES;
    b->bytes = buffers_bytes(shape);
    b->images = malloc(b->bytes);
    b->in = calloc(shape->ranks, sizeof *b->in);
    b->out = calloc(shape->ranks, sizeof *b->out);
    if (!b->images || !b->in || !b->out) {
        buffers_destroy(b);
        return false;
    }
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        place(b, rank);
    buffers_fill(b);
    return true;
}

void buffers_destroy(struct buffers *buffers)
{
    free(buffers->images);
    free(buffers->in);
    free(buffers->out);
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
                                        .in = source.in,
                                        .out = buffers->out};
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
