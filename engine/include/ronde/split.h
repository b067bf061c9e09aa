/**
 * The split rule: which elements of a block a (channel, chunk, piece) holds. One function, used by all.
 *
 * A block of `count` elements is cut into grains of 16 bytes relative to its start (the last may be short). Channel k
 * of weights w gets grains floor(G*W_k/W) .. floor(G*W_{k+1}/W)-1 by prefix sums W_k; chunk c of m gets grains
 * floor(c*G_k/m) .. floor((c+1)*G_k/m)-1 of those. Any count works. Free of libc and of overflow.
 */
#ifndef RONDE_SPLIT_H
#define RONDE_SPLIT_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a grain: the unit in which blocks are cut. */
#define RONDE_GRAIN_BYTES 16u

/** The least multiple that is not below the value, without regard to overflow; multiple > 0. */
RONDE_INLINE uint64_t ronde_round_up(uint64_t value, uint64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/** A run of elements relative to the start of its block. */
struct ronde_extent {
    uint64_t first; /**< element */
    uint64_t count; /**< elements */
};

/** Wide enough for the product of two 64-bit numbers. */
__extension__ typedef unsigned __int128 ronde_wide;

/** floor(a * b / c) for b <= c, without overflow; c > 0. */
RONDE_INLINE uint64_t ronde_scale(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t whole = a / c * b;
    const uint64_t rest = a % c;
    return whole + (uint64_t)((ronde_wide)rest * b / c);
}

/** Channel slice of a block: the part of a block one channel carries. Compute once per (launch, channel). */
struct ronde_slice {
    uint64_t first_grain; /**< of the block */
    uint64_t grains;      /**< G_k */
    uint64_t count;       /**< elements of the whole block */
    uint32_t grain_count; /**< elements of a grain */
    uint32_t chunks;      /**< m: chunks the slice is cut into */
};

/** Sum of the weights of the channels before `channel` (an index). */
RONDE_INLINE uint64_t ronde_weight_before(const struct ronde_schedule *schedule, uint32_t channel)
{
    uint64_t before = 0;
    for (uint32_t k = 0; k < channel; k++)
        before += schedule->channels[k].weight;
    return before;
}

/** The slice of a channel of `weight` after channels of `before` in all, for a block of `count` elements. */
RONDE_INLINE struct ronde_slice ronde_slice_between(const struct ronde_schedule *schedule,
                                                    uint64_t before, uint32_t weight,
                                                    uint64_t count, uint32_t dtype_bytes)
{
    struct ronde_slice slice;
    slice.grain_count = RONDE_GRAIN_BYTES / dtype_bytes;
    const uint64_t grains = count / slice.grain_count + (count % slice.grain_count != 0);
    slice.first_grain = ronde_scale(grains, before, schedule->weight_total);
    slice.grains = ronde_scale(grains, before + weight, schedule->weight_total) - slice.first_grain;
    slice.count = count;
    slice.chunks = schedule->chunks_per_block;
    return slice;
}

/** The slice of `channel` (an index) for a block of `count` elements of `dtype_bytes`. */
RONDE_INLINE struct ronde_slice ronde_slice_of(const struct ronde_schedule *schedule,
                                               uint32_t channel, uint64_t count,
                                               uint32_t dtype_bytes)
{
    return ronde_slice_between(schedule, ronde_weight_before(schedule, channel),
                               schedule->channels[channel].weight, count, dtype_bytes);
}

/** Elements of chunk part `part` (0 .. m-1) of a slice, relative to the start of the block. */
RONDE_INLINE struct ronde_extent ronde_slice_chunk(const struct ronde_slice *slice, uint32_t part)
{
    const uint64_t low = slice->first_grain + ronde_scale(slice->grains, part, slice->chunks);
    const uint64_t high = slice->first_grain + ronde_scale(slice->grains, part + 1u, slice->chunks);
    const uint64_t first = low * slice->grain_count;
    const uint64_t end = high * slice->grain_count;
    struct ronde_extent extent;
    extent.first = first < slice->count ? first : slice->count;
    extent.count = (end < slice->count ? end : slice->count) - extent.first;
    return extent;
}

/** Most elements any chunk of the slice holds: an upper bound that is reached but for a short last grain. */
RONDE_INLINE uint64_t ronde_slice_chunk_max(const struct ronde_slice *slice)
{
    const uint64_t grains = slice->grains / slice->chunks + (slice->grains % slice->chunks != 0);
    const uint64_t elements = grains * slice->grain_count;
    return elements < slice->count ? elements : slice->count;
}

/**
 * Most elements any chunk of `channel` holds for any block of at most `count` elements. A channel's slice may shrink by
 * a grain as the block grows (weights 3, 2, 3: 5 grains give the second 2, 6 grains 1), so the longest block is not
 * enough to size slots by.
 */
RONDE_INLINE uint64_t ronde_chunk_most(const struct ronde_schedule *schedule, uint32_t channel,
                                       uint64_t count, uint32_t dtype_bytes)
{
    struct ronde_slice slice = ronde_slice_of(schedule, channel, count, dtype_bytes);
    const uint64_t grains = count / slice.grain_count + (count % slice.grain_count != 0);
    const ronde_wide share = (ronde_wide)grains * schedule->channels[channel].weight;
    slice.grains = (uint64_t)((share + schedule->weight_total - 1) / schedule->weight_total);
    return ronde_slice_chunk_max(&slice);
}

/** Bytes of a full piece of one chunk: slot_bytes / most chunks of any step, rounded down to 16, at least 16. */
RONDE_INLINE uint64_t ronde_piece_bytes(const struct ronde_schedule *schedule, uint64_t slot_bytes)
{
    const uint64_t share =
        slot_bytes / schedule->max_chunk_count / RONDE_GRAIN_BYTES * (uint64_t)RONDE_GRAIN_BYTES;
    return share < RONDE_GRAIN_BYTES ? RONDE_GRAIN_BYTES : share;
}

/** Pieces of a run: max(1, the most any chunk of any channel needs); the same on all ranks. 1 for a barrier. */
RONDE_API uint64_t ronde_piece_count(const struct ronde_schedule *schedule, uint64_t count,
                                     uint32_t dtype_bytes, uint64_t slot_bytes);

/** The same where blocks have any lengths up to `count` elements. */
RONDE_API uint64_t ronde_piece_count_v(const struct ronde_schedule *schedule, uint64_t count,
                                       uint32_t dtype_bytes, uint64_t slot_bytes);

/** The part of `extent` that piece `piece` of `piece_count_elements` elements each holds; empty when it has run out. */
RONDE_INLINE struct ronde_extent ronde_extent_piece(struct ronde_extent extent, uint64_t piece,
                                                    uint64_t piece_elements)
{
    const uint64_t skip = piece * piece_elements;
    struct ronde_extent part;
    part.first = extent.first + (skip < extent.count ? skip : extent.count);
    const uint64_t left = extent.count - (part.first - extent.first);
    part.count = left < piece_elements ? left : piece_elements;
    return part;
}

#ifdef __cplusplus
}
#endif
#endif
