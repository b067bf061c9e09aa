/**
 * The cursor: the program of (rank, channel) with absolute peers and chunks.
 *
 * Everything that reads a schedule reads it through a view, so that symmetry and orders are applied in one place. The
 * functions are inline and free of libc: the step interpreter uses them on GPUs as well.
 */
#ifndef RONDE_CURSOR_H
#define RONDE_CURSOR_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The program of one (rank, channel). A small value; copy it freely. Valid as long as the schedule. */
struct ronde_view {
    const struct ronde_schedule *schedule; /**< where it comes from */
    const struct ronde_channel *channel;   /**< the channel */
    const struct ronde_program *program;   /**< steps of the rank's class */
    uint32_t rank;                         /**< the rank */
    uint32_t position;                     /**< its place in the channel's order */
};

/** The rank at a position of a channel. */
RONDE_INLINE uint32_t ronde_channel_rank(const struct ronde_channel *channel, uint32_t position)
{
    return channel->order ? channel->order[position] : position;
}

/** The position of a rank in a channel. */
RONDE_INLINE uint32_t ronde_channel_position(const struct ronde_channel *channel, uint32_t rank)
{
    return channel->position_of ? channel->position_of[rank] : rank;
}

/** Opens the program of a rank on a channel; both must be in range. */
RONDE_INLINE struct ronde_view ronde_view_open(const struct ronde_schedule *schedule,
                                               uint32_t channel, uint32_t rank)
{
    struct ronde_view view;
    view.schedule = schedule;
    view.channel = &schedule->channels[channel];
    view.rank = rank;
    view.position = ronde_channel_position(view.channel, rank);
    view.program =
        &schedule->programs[schedule->program_of ? schedule->program_of[view.position] : 0];
    return view;
}

/** (a + b) modulo n for a, b < n, without overflow. */
RONDE_INLINE uint32_t ronde_add_modulo(uint32_t a, uint32_t b, uint32_t n)
{
    return a >= n - b ? a - (n - b) : a + b;
}

/** Adds two positions digit by digit, each modulo its radix. */
RONDE_INLINE uint32_t ronde_add_shape(const struct ronde_schedule *schedule, uint32_t a, uint32_t b)
{
    uint32_t sum = 0, place = 1;
    for (uint32_t i = schedule->shape_count; i-- > 0;) {
        const uint32_t radix = schedule->shape[i];
        sum += ronde_add_modulo(a % radix, b % radix, radix) * place;
        a /= radix;
        b /= radix;
        place *= radix;
    }
    return sum;
}

/** The position `offset` away from `position`, in the schedule's group: + modulo ranks, + per digit, or xor. */
RONDE_INLINE uint32_t ronde_group_add(const struct ronde_schedule *schedule, uint32_t position,
                                      uint32_t offset)
{
    if (schedule->symmetry == RONDE_SYMMETRY_XOR)
        return position ^ offset;
    if (schedule->symmetry == RONDE_SYMMETRY_ROTATE && schedule->shape_count > 1)
        return ronde_add_shape(schedule, position, offset);
    return ronde_add_modulo(position, offset, schedule->ranks);
}

/** The offset that leads back. */
RONDE_INLINE uint32_t ronde_group_negate(const struct ronde_schedule *schedule, uint32_t offset)
{
    if (schedule->symmetry == RONDE_SYMMETRY_XOR || offset == 0)
        return offset;
    if (schedule->symmetry != RONDE_SYMMETRY_ROTATE || schedule->shape_count < 2)
        return schedule->ranks - offset;
    uint32_t back = 0, place = 1;
    for (uint32_t i = schedule->shape_count; i-- > 0;) {
        const uint32_t radix = schedule->shape[i];
        back += (radix - offset % radix) % radix * place;
        offset /= radix;
        place *= radix;
    }
    return back;
}

/** Position of a connection's peer. */
RONDE_INLINE uint32_t ronde_view_peer_position(const struct ronde_view *view, uint32_t connection)
{
    const uint32_t peer = view->program->connections[connection].peer;
    return view->schedule->absolute_peers ? peer
                                          : ronde_group_add(view->schedule, view->position, peer);
}

/** Rank of a connection's peer. */
RONDE_INLINE uint32_t ronde_view_peer(const struct ronde_view *view, uint32_t connection)
{
    return ronde_channel_rank(view->channel, ronde_view_peer_position(view, connection));
}

/** Chunk of this position for a chunk of the stored program: applies the symmetry, not the order. */
RONDE_INLINE uint32_t ronde_view_shift(const struct ronde_view *view, enum ronde_buffer buffer,
                                       uint32_t buffer_chunks, uint32_t chunk)
{
    const struct ronde_schedule *schedule = view->schedule;
    if (schedule->symmetry == RONDE_SYMMETRY_NONE || !schedule->rotates[buffer])
        return chunk;
    const uint32_t parts = buffer_chunks / schedule->ranks;
    const uint32_t digit = ronde_group_add(schedule, chunk / parts, view->position);
    return digit * parts + chunk % parts;
}

/** Applies the channel's order to the blocks that belong to ranks. */
RONDE_INLINE uint32_t ronde_view_reorder(const struct ronde_view *view, enum ronde_buffer buffer,
                                         uint32_t buffer_chunks, uint32_t chunk)
{
    const uint32_t parts = view->schedule->chunks_per_block;
    if (!view->channel->order || buffer == RONDE_SCRATCH || buffer_chunks == parts)
        return chunk;
    return view->channel->order[chunk / parts] * parts + chunk % parts;
}

/** Item `item` of a stored operand, before symmetry and order. */
RONDE_INLINE uint32_t ronde_operand_item(const struct ronde_program *program, bool is_range,
                                         uint32_t chunk, uint32_t buffer_chunks, uint32_t item)
{
    if (!is_range) {
        const uint64_t sum = (uint64_t)chunk + item;
        return (uint32_t)(sum < buffer_chunks ? sum : sum % buffer_chunks);
    }
    const struct ronde_range *range = &program->ranges[chunk];
    const uint64_t sum =
        range->first + (uint64_t)(item / range->run) * range->stride + item % range->run;
    return (uint32_t)(sum % buffer_chunks);
}

/** Absolute chunk of item `item` of a step's source (`is_source`) or destination, in stored (not message) order. */
RONDE_INLINE uint32_t ronde_view_item(const struct ronde_view *view, const struct ronde_step *step,
                                      bool is_source, uint32_t buffer_chunks, uint32_t item)
{
    const enum ronde_buffer buffer =
        (enum ronde_buffer)(is_source ? step->source : step->destination);
    const uint32_t first = is_source ? step->source_chunk : step->destination_chunk;
    const bool is_range =
        (step->flags & (is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE)) != 0;
    const uint32_t stored = ronde_operand_item(view->program, is_range, first, buffer_chunks, item);
    return ronde_view_reorder(view, buffer, buffer_chunks,
                              ronde_view_shift(view, buffer, buffer_chunks, stored));
}

/** Moves chunks[root] down a heap of `count` chunks until no child is larger. */
RONDE_INLINE void ronde_sift_down(uint32_t *chunks, uint32_t root, uint32_t count)
{
    for (uint32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && chunks[child] < chunks[child + 1])
            child++;
        if (chunks[root] >= chunks[child])
            return;
        const uint32_t larger = chunks[child];
        chunks[child] = chunks[root];
        chunks[root] = larger;
        root = child;
    }
}

/** Sorts chunks ascending, in place and without recursion (heapsort: Williams, CACM 1964). */
RONDE_INLINE void ronde_sort_chunks(uint32_t *chunks, uint32_t count)
{
    for (uint32_t root = count / 2; root-- > 0;)
        ronde_sift_down(chunks, root, count);
    for (uint32_t last = count; last-- > 1;) {
        const uint32_t largest = chunks[0];
        chunks[0] = chunks[last];
        chunks[last] = largest;
        ronde_sift_down(chunks, 0, last);
    }
}

/** Turns chunks[0 .. count) round end for end. */
RONDE_INLINE void ronde_reverse_chunks(uint32_t *chunks, uint32_t count)
{
    for (uint32_t low = 0, high = count; low + 1 < high; low++) {
        const uint32_t last = chunks[--high];
        chunks[high] = chunks[low];
        chunks[low] = last;
    }
}

/** Whether neither the position nor the channel's order moves the chunks of a buffer. */
RONDE_INLINE bool ronde_view_is_unmoved(const struct ronde_view *view, enum ronde_buffer buffer,
                                        uint32_t buffer_chunks)
{
    const struct ronde_schedule *schedule = view->schedule;
    const bool is_shifted = schedule->symmetry != RONDE_SYMMETRY_NONE && schedule->rotates[buffer];
    const bool is_reordered = view->channel->order && buffer != RONDE_SCRATCH &&
                              buffer_chunks != schedule->chunks_per_block;
    return !is_shifted && !is_reordered;
}

/** Chunks first .. first + count - 1 modulo the buffer, ascending: those that wrap come first. */
RONDE_INLINE void ronde_list_chunks(uint32_t first, uint32_t count, uint32_t buffer_chunks,
                                    uint32_t *out_chunks)
{
    const uint32_t before = buffer_chunks - first < count ? count - (buffer_chunks - first) : 0;
    for (uint32_t item = 0; item < before; item++)
        out_chunks[item] = item;
    for (uint32_t item = before; item < count; item++)
        out_chunks[item] = first + (item - before);
}

/**
 * The absolute chunks of an operand in message order: ascending. out_chunks holds step->chunk_count entries. Most
 * operands are contiguous and unmoved, or ascending as they are moved, but for one fall where they wrap: then what is
 * after the fall comes first. Those that are moved by xor or an order are sorted; where they fill a gapless span, as xor
 * makes of an aligned run, the span is the answer (items of a plain operand are distinct).
 */
RONDE_INLINE void ronde_view_chunks(const struct ronde_view *view, const struct ronde_step *step,
                                    bool is_source, uint32_t buffer_chunks, uint32_t *out_chunks)
{
    const uint32_t count = step->chunk_count;
    const uint8_t flag = is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE;
    const uint8_t buffer = is_source ? step->source : step->destination;
    uint32_t falls = 0, fall = 0;
    uint32_t least = UINT32_MAX, most = 0;
    if ((step->flags & flag) == 0 &&
        ronde_view_is_unmoved(view, (enum ronde_buffer)buffer, buffer_chunks)) {
        ronde_list_chunks(is_source ? step->source_chunk : step->destination_chunk, count,
                          buffer_chunks, out_chunks);
        return;
    }
    for (uint32_t item = 0; item < count; item++) {
        const uint32_t chunk = ronde_view_item(view, step, is_source, buffer_chunks, item);
        if (item > 0 && out_chunks[item - 1] >= chunk) {
            falls++;
            fall = item;
        }
        least = chunk < least ? chunk : least;
        most = chunk > most ? chunk : most;
        out_chunks[item] = chunk;
    }
    if (falls == 0)
        return;
    if (falls == 1 && out_chunks[count - 1] < out_chunks[0]) {
        ronde_reverse_chunks(out_chunks, fall);
        ronde_reverse_chunks(out_chunks + fall, count - fall);
        ronde_reverse_chunks(out_chunks, count);
    } else if ((step->flags & flag) != 0 || most - least + 1 != count) {
        ronde_sort_chunks(out_chunks, count);
    } else {
        for (uint32_t item = 0; item < count; item++)
            out_chunks[item] = least + item;
    }
}

#ifdef __cplusplus
}
#endif
#endif
