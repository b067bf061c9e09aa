/* Preparing and ending runs of a loaded schedule. See loaded.h. */
#include "engine/execute/connect.h"
#include "engine/execute/kernels.h"

#include <stdio.h>
#include <string.h>

/* The part of every block that a channel carries in this run. */
static struct ronde_slice slice_of(const struct ronde_loaded *loaded, uint32_t channel)
{
    return ronde_slice_of(loaded->schedule, channel, loaded->frame.count,
                          loaded->frame.element_bytes);
}

/* Bytes of the longest chunk of a channel, whatever the lengths of the blocks. */
static uint64_t chunk_bytes(const struct ronde_loaded *loaded, uint32_t channel)
{
    const struct ronde_frame *frame = &loaded->frame;
    return ronde_chunk_most(loaded->schedule, channel, frame->count, frame->element_bytes) *
           frame->element_bytes;
}

/* Pieces of a launch. Without data there is nothing to run, except for a barrier, whose messages are empty anyway. */
static uint64_t piece_count(const struct ronde_loaded *loaded, const struct ronde_launch *launch,
                            uint64_t slot_bytes)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    const struct ronde_frame *frame = &loaded->frame;
    const bool has_blocks = ronde_schedule_blocks(schedule, true) > 0;
    if (has_blocks && launch->count == 0)
        return 0;
    return launch->in_blocks || launch->out_blocks
               ? ronde_piece_count_v(schedule, frame->count, frame->element_bytes, slot_bytes)
               : ronde_piece_count(schedule, frame->count, frame->element_bytes, slot_bytes);
}

/* The operator of a launch as the kernels have it: truth values have only bitwise ones. */
static enum ronde_op operator_of(const struct ronde_launch *launch)
{
    if (launch->dtype != RONDE_BOOL)
        return launch->op;
    if (launch->op == RONDE_SUM || launch->op == RONDE_MAX)
        return RONDE_BOR;
    return launch->op == RONDE_PROD || launch->op == RONDE_MIN ? RONDE_BAND : launch->op;
}

/*
 * The operator's loops and the mark it depends on. Collectives that do not reduce may leave the
 * operator unset.
 */
static void fill_operator(struct ronde_frame *frame, const struct ronde_schedule *schedule,
                          const struct ronde_launch *launch, enum ronde_level level)
{
    frame->ranks = schedule->ranks;
    frame->marks = 0;
    frame->dtype = launch->dtype;
    frame->op = RONDE_SUM;
    frame->kernels = ronde_kernels_find(level, launch->dtype, RONDE_SUM);
    if (!ronde_collective_traits(schedule->collective)->reduces)
        return;
    frame->op = operator_of(launch);
    frame->kernels = ronde_kernels_find(level, launch->dtype, frame->op);
    if (launch->op == RONDE_PREMUL_SUM)
        frame->marks = RONDE_FLAG_RAW;
    else if (launch->op == RONDE_AVG)
        frame->marks = RONDE_FLAG_FINAL;
}

/* The most one chunk contributes to a message. */
static uint64_t chunk_share(const struct ronde_loaded *loaded, uint64_t piece_bytes)
{
    uint64_t longest = 0;
    for (uint32_t channel = 0; channel < loaded->schedule->channel_count; channel++) {
        const uint64_t bytes = chunk_bytes(loaded, channel);
        longest = bytes > longest ? bytes : longest;
    }
    return longest < piece_bytes ? longest : piece_bytes;
}

/* Whether a rank's input and output share memory. */
static bool overlaps(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                     uint32_t rank)
{
    const unsigned char *in = launch->in[rank];
    const unsigned char *out = launch->out[rank];
    const uint64_t block = launch->count * ronde_dtype_bytes(launch->dtype);
    const uint64_t in_bytes = ronde_schedule_blocks(schedule, true) * block;
    const uint64_t out_bytes = ronde_schedule_blocks(schedule, false) * block;
    return (uintptr_t)in < (uintptr_t)out + out_bytes && (uintptr_t)out < (uintptr_t)in + in_bytes;
}

/*
 * The same of a launch with tables: block by block. *out_is_known: the rank has both a block to read
 * and one to write, so its placement is known.
 */
static bool shares_block(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                         uint32_t rank, bool *out_is_known)
{
    const uint32_t in_blocks = ronde_schedule_blocks(schedule, true);
    const uint32_t out_blocks = ronde_schedule_blocks(schedule, false);
    *out_is_known = false;
    /* Which have a form in place have one block on at least one side. */
    if (!ronde_collective_traits(schedule->collective)->has_in_place)
        return false;
    for (uint32_t k = 0; k < in_blocks * out_blocks; k++) {
        const struct ronde_stretch in =
            ronde_launch_block(schedule, launch, rank, true, k / out_blocks);
        const struct ronde_stretch out =
            ronde_launch_block(schedule, launch, rank, false, k % out_blocks);
        if (in.bytes == 0 || out.bytes == 0)
            continue;
        *out_is_known = true;
        if ((uintptr_t)in.start < (uintptr_t)out.start + out.bytes &&
            (uintptr_t)out.start < (uintptr_t)in.start + in.bytes)
            return true;
    }
    return false;
}

enum ronde_buffer_placement ronde_loaded_placement(const struct ronde_loaded *loaded,
                                                   const struct ronde_launch *launch)
{
    bool has[2] = {false, false};
    const uint32_t end_rank = loaded->first_rank + loaded->rank_count;
    const bool has_tables = launch->in_blocks || launch->out_blocks;
    for (uint32_t r = loaded->first_rank; r < end_rank; r++) {
        bool is_known = !has_tables && launch->in && launch->out && launch->in[r] && launch->out[r];
        const bool shares = has_tables ? shares_block(loaded->schedule, launch, r, &is_known)
                                       : is_known && overlaps(loaded->schedule, launch, r);
        has[shares] |= is_known;
    }
    if (has[0] && has[1])
        return RONDE_BUFFERS_MIXED;
    return has[1] ? RONDE_BUFFERS_IN : RONDE_BUFFERS_OUT;
}

/* The protocol: the launch's, if the backend supports it; else the farthest the backend supports, where that pays. */
static enum ronde_protocol wanted_protocol(const struct ronde_launch *launch,
                                           const struct ronde_habits *habits, bool is_in_place,
                                           uint64_t share_bytes)
{
    if (launch->protocol == RONDE_PROTOCOL_AUTO)
        return share_bytes >= habits->pull_from_bytes[is_in_place] ? habits->farthest
                                                                   : RONDE_PROTOCOL_STAGED;
    return launch->protocol < habits->farthest ? launch->protocol : habits->farthest;
}

/*
 * Pull and push need a proved order of overwriting, which lowering has for two placements only. What other ranks offer is taken
 * whatever this one does: its buffers are no business of theirs.
 */
static void choose_protocol(struct ronde_loaded *loaded, const struct ronde_launch *launch,
                            const struct ronde_habits *habits, uint64_t share_bytes)
{
    struct ronde_frame *frame = &loaded->frame;
    const enum ronde_buffer_placement placement = loaded->last_placement;
    frame->is_in_place = placement == RONDE_BUFFERS_IN;
    const enum ronde_protocol wanted =
        wanted_protocol(launch, habits, frame->is_in_place, share_bytes);
    frame->no_pull = 0;
    frame->pushes = false;
    frame->has_offers = loaded->ports && wanted != RONDE_PROTOCOL_STAGED;
    if (wanted == RONDE_PROTOCOL_STAGED || placement == RONDE_BUFFERS_MIXED)
        return;
    frame->no_pull = ronde_loaded_buffered(loaded, frame->is_in_place);
    frame->pushes = wanted == RONDE_PROTOCOL_PUSH;
}

uint64_t ronde_loaded_touched_bytes(const struct ronde_loaded *loaded,
                                    const struct ronde_launch *launch)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    const ronde_wide blocks =
        (ronde_wide)ronde_schedule_blocks(schedule, true) + ronde_schedule_blocks(schedule, false);
    const ronde_wide bytes =
        blocks * schedule->ranks * launch->count * ronde_dtype_bytes(launch->dtype);
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* Past the caches pays where what all ranks touch does not fit into them anyway. */
static bool streams(const struct ronde_loaded *loaded, const struct ronde_launch *launch,
                    const struct ronde_habits *habits)
{
    const uint64_t from =
        launch->stream_from_bytes ? launch->stream_from_bytes : habits->stream_from_bytes;
    return from != UINT64_MAX && ronde_loaded_touched_bytes(loaded, launch) >= from;
}

/* Bytes of data a slot of lines holds: the line that heads a message, then items that begin at whole lines. */
static uint64_t lines_stride(const struct ronde_loaded *loaded, uint64_t share_bytes)
{
    return RONDE_LINE_DATA_BYTES +
           ronde_round_up(share_bytes, RONDE_LINE_DATA_BYTES) * loaded->schedule->max_chunk_count;
}

/* Slots need not be longer than the longest message of this count, which matters with many connections. */
static uint64_t slot_stride(const struct ronde_loaded *loaded, uint64_t share_bytes)
{
    if (loaded->frame.has_lines)
        return lines_stride(loaded, share_bytes);
    /* Ranks in different processes decide independently whether they offer, yet must use the same stride. */
    const bool has_offers = loaded->frame.no_pull != 0 || loaded->ports;
    const uint64_t offer = has_offers ? sizeof(struct ronde_offer) : 0;
    return ronde_slot_stride(loaded->schedule, share_bytes > offer ? share_bytes : offer);
}

/* Results go to other ranks' outputs where these all are, lie alike, and belong to the same run until it is over. */
static bool may_spread(const struct ronde_loaded *loaded, const struct ronde_launch *launch)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    bool has_any = false;
    for (uint32_t p = 0; p < schedule->program_count && !has_any; p++)
        has_any = schedule->programs[p].spread != NULL;
    return has_any && loaded->remote_ends && !launch->in_blocks && !launch->out_blocks;
}

/* Everything of a frame but the slots; returns the stride the slots will need. */
static uint64_t fill_frame(struct ronde_loaded *loaded, const struct ronde_launch *launch,
                           const struct ronde_habits *habits)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    struct ronde_frame *frame = &loaded->frame;
    const uint64_t slot_bytes = launch->slot_bytes ? launch->slot_bytes : habits->slot_bytes;
    const uint64_t piece_bytes = ronde_piece_bytes(schedule, slot_bytes);
    const bool has_blocks = ronde_schedule_blocks(schedule, true) > 0;
    frame->count = has_blocks ? launch->count : 0;
    frame->element_bytes = ronde_dtype_bytes(launch->dtype);
    frame->piece_elements = piece_bytes / frame->element_bytes;
    frame->piece_count = piece_count(loaded, launch, slot_bytes);
    const bool is_open = habits->level == RONDE_LEVEL_WIDEST;
    fill_operator(frame, schedule, launch, is_open ? launch->level : habits->level);
    const uint64_t share_bytes = chunk_share(loaded, piece_bytes);
    choose_protocol(loaded, launch, habits, share_bytes);
    frame->streams = streams(loaded, launch, habits);
    frame->has_lines = frame->no_pull == 0 && !frame->has_offers && launch->slot_bytes == 0 &&
                       frame->piece_count <= 1 &&
                       lines_stride(loaded, share_bytes) <= habits->lines_up_to_bytes;
    frame->joins = !frame->has_lines && share_bytes >= habits->join_from_bytes;
    frame->spreads = frame->joins && frame->no_pull != 0 && may_spread(loaded, launch);
    return slot_stride(loaded, share_bytes);
}

/* Where each part of a block begins and how long it is: one division per part and run, none per step. */
static void fill_parts(struct ronde_loaded *loaded)
{
    const uint32_t chunks = loaded->schedule->chunks_per_block;
    for (uint32_t channel = 0; channel < loaded->schedule->channel_count; channel++) {
        const struct ronde_slice slice = slice_of(loaded, channel);
        for (uint32_t part = 0; part < chunks; part++)
            loaded->parts[(size_t)channel * chunks + part] = ronde_slice_chunk(&slice, part);
    }
}

/* Bytes of a scratch chunk of a channel: room for its longest chunk, at a grain boundary. */
static uint64_t scratch_stride(const struct ronde_loaded *loaded, uint32_t channel)
{
    return ronde_round_up(chunk_bytes(loaded, channel), RONDE_GRAIN_BYTES);
}

/* Bytes of all scratch, or UINT64_MAX if that overflows. */
static uint64_t scratch_bytes(const struct ronde_loaded *loaded)
{
    ronde_wide all = 0;
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const uint32_t channel = t % loaded->schedule->channel_count;
        all += (ronde_wide)loaded->tasks[t].chunks[RONDE_SCRATCH] * scratch_stride(loaded, channel);
    }
    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

/* A rank's entry of an array by rank. */
static unsigned char *entry_of(void *const *buffers, uint32_t rank)
{
    return buffers ? buffers[rank] : NULL;
}

/* What a task reads and writes: the rank's buffers, where their blocks lie, and the factor of its input. */
static void set_buffers(struct ronde_task *task, const struct ronde_launch *launch)
{
    const uint32_t rank = task->view.rank;
    task->base[RONDE_IN] = entry_of(launch->in, rank);
    task->base[RONDE_OUT] = entry_of(launch->out, rank);
    task->blocks[RONDE_IN] = launch->in_blocks ? &launch->in_blocks[rank] : NULL;
    task->blocks[RONDE_OUT] = launch->out_blocks ? &launch->out_blocks[rank] : NULL;
    if (task->frame->marks == RONDE_FLAG_RAW) {
        const size_t bytes = task->frame->element_bytes;
        memcpy(&task->factor, (const unsigned char *)launch->factors + rank * bytes, bytes);
    }
}

/* Points tasks at their own scratch. */
static void set_scratch(struct ronde_loaded *loaded)
{
    unsigned char *scratch = loaded->scratch.start;
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        struct ronde_task *task = &loaded->tasks[t];
        task->base[RONDE_SCRATCH] = scratch;
        task->scratch_stride = scratch_stride(loaded, t % loaded->schedule->channel_count);
        scratch += task->chunks[RONDE_SCRATCH] * task->scratch_stride;
    }
}

/* After an abandoned run messages lie in slots and lanes stand anywhere: all counters start again. */
static void reset_counters(struct ronde_loaded *loaded)
{
    for (uint64_t f = 0; f < loaded->fifo_count; f++) {
        loaded->fifos[f].posted.value = 0;
        loaded->fifos[f].freed.value = 0;
    }
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        loaded->ends[e].count = 0;
        loaded->ends[e].seen = 0;
        loaded->ends[e].slot = 0;
    }
    for (uint32_t l = 0; l < loaded->lane_count; l++) {
        loaded->progress[l].value = 0;
        loaded->lanes[l].done = 0;
    }
    loaded->pieces_done = 0;
    loaded->is_dirty = false;
}

/* Back to the first step of the first piece; a lane without steps is done before it starts. */
static void start_lanes(struct ronde_loaded *loaded)
{
    for (uint32_t l = 0; l < loaded->lane_count; l++) {
        struct ronde_lane *lane = &loaded->lanes[l];
        lane->step = lane->first;
        lane->piece = lane->first == lane->end ? loaded->frame.piece_count : 0;
        lane->reason = RONDE_REASON_NONE;
    }
}

/* Where slots begin: lines stand for a message of data and flags and are addressed in halves (machine.h). */
static bool reserve_slots(struct ronde_loaded *loaded, uint64_t bytes, unsigned char **out_start)
{
    const bool has_lines = loaded->frame.has_lines;
    struct ronde_region *region = has_lines ? &loaded->lines : &loaded->slots;
    if (!ronde_region_reserve(loaded->data, region, bytes))
        return false;
    const uint64_t first = (uint64_t)(uintptr_t)region->start / 2 + RONDE_LINE_DATA_BYTES;
    *out_start = has_lines ? (unsigned char *)(uintptr_t)(RONDE_LINES_BIT | first) : region->start;
    return true;
}

/* Slots of another place, length or number: every connection is empty, and begins again at its first. */
static enum ronde_status place_slots(struct ronde_loaded *loaded, uint64_t stride, uint32_t depth,
                                     struct ronde_error *error)
{
    struct ronde_frame *frame = &loaded->frame;
    bool is_other = stride != frame->slot_stride || depth != frame->depth;
    if (!loaded->ports) {
        unsigned char *start;
        const uint64_t bytes =
            ronde_loaded_slot_bytes(loaded, frame->has_lines ? 2 * stride : stride, depth);
        if (!reserve_slots(loaded, bytes, &start))
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for slots: %llu bytes",
                              (unsigned long long)bytes);
        is_other |= start != loaded->placed;
        if (is_other)
            ronde_loaded_place_slots(loaded, start, stride, depth);
        loaded->placed = start;
    }
    for (uint64_t e = 0; is_other && e < loaded->end_count; e++)
        loaded->ends[e].slot = 0;
    frame->slot_stride = stride;
    frame->depth = depth;
    return RONDE_OK;
}

static bool are_same(const struct ronde_habits *a, const struct ronde_habits *b)
{
    return a->slot_bytes == b->slot_bytes && a->pull_from_bytes[0] == b->pull_from_bytes[0] &&
           a->pull_from_bytes[1] == b->pull_from_bytes[1] && a->farthest == b->farthest &&
           a->stream_from_bytes == b->stream_from_bytes &&
           a->lines_up_to_bytes == b->lines_up_to_bytes &&
           a->join_from_bytes == b->join_from_bytes && a->level == b->level;
}

/* Whether a launch differs from the last one in its buffers only: then all else is prepared. */
static bool has_last_shape(const struct ronde_loaded *loaded, const struct ronde_launch *launch,
                           const struct ronde_habits *habits, enum ronde_buffer_placement placement)
{
    return loaded->is_prepared && ronde_launch_is_alike(launch, &loaded->last) &&
           are_same(habits, &loaded->last_habits) && placement == loaded->last_placement;
}

/* Everything that does not depend on where the buffers are, but on how they lie. */
static enum ronde_status prepare_shape(struct ronde_loaded *loaded,
                                       const struct ronde_launch *launch,
                                       const struct ronde_habits *habits, struct ronde_error *error)
{
    loaded->is_prepared = false;
    const uint64_t stride = fill_frame(loaded, launch, habits);
    const uint32_t depth = ronde_launch_depth(loaded->schedule, launch);
    RONDE_TRY(place_slots(loaded, stride, depth, error));
    const uint64_t scratch = scratch_bytes(loaded);
    if (!ronde_region_reserve(loaded->data, &loaded->scratch, scratch))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for scratch: %llu bytes",
                          (unsigned long long)scratch);
    fill_parts(loaded);
    set_scratch(loaded);
    loaded->last = *launch;
    loaded->last_habits = *habits;
    loaded->is_prepared = true;
    return RONDE_OK;
}

enum ronde_status ronde_loaded_prepare(struct ronde_loaded *loaded,
                                       const struct ronde_launch *launch,
                                       const struct ronde_habits *habits, struct ronde_error *error)
{
    if (loaded->is_dirty)
        reset_counters(loaded);
    loaded->frame.first_piece = loaded->pieces_done;
    const enum ronde_buffer_placement placement = ronde_loaded_placement(loaded, launch);
    if (!has_last_shape(loaded, launch, habits, placement)) {
        loaded->last_placement = placement;
        RONDE_TRY(prepare_shape(loaded, launch, habits, error));
    }
    for (uint32_t t = 0; t < loaded->task_count; t++)
        set_buffers(&loaded->tasks[t], launch);
    start_lanes(loaded);
    return RONDE_OK;
}

bool ronde_loaded_has_buffers(const struct ronde_loaded *loaded, const struct ronde_launch *launch)
{
    if (launch->in_blocks || launch->out_blocks || launch->factors || loaded->last.factors)
        return false;
    for (uint32_t t = 0; t < loaded->task_count; t += loaded->schedule->channel_count) {
        const struct ronde_task *task = &loaded->tasks[t];
        if (task->base[RONDE_IN] != entry_of(launch->in, task->view.rank) ||
            task->base[RONDE_OUT] != entry_of(launch->out, task->view.rank))
            return false;
    }
    return true;
}

void ronde_loaded_repeat(struct ronde_loaded *loaded)
{
    if (loaded->is_dirty)
        reset_counters(loaded);
    loaded->frame.first_piece = loaded->pieces_done;
    start_lanes(loaded);
}

enum ronde_protocol ronde_loaded_protocol(const struct ronde_loaded *loaded)
{
    if (loaded->frame.pushes)
        return RONDE_PROTOCOL_PUSH;
    return ronde_frame_awaits_readers(&loaded->frame) ? RONDE_PROTOCOL_PULL : RONDE_PROTOCOL_STAGED;
}

void ronde_loaded_finish(struct ronde_loaded *loaded, bool is_complete)
{
    if (is_complete)
        loaded->pieces_done += loaded->frame.piece_count;
    else
        loaded->is_dirty = true;
}

const struct ronde_lane *ronde_loaded_blocked(const struct ronde_loaded *loaded)
{
    const struct ronde_lane *found = NULL;
    for (uint32_t l = 0; l < loaded->lane_count; l++) {
        const struct ronde_lane *lane = &loaded->lanes[l];
        if (lane->piece == loaded->frame.piece_count)
            continue;
        if (lane->reason != RONDE_REASON_NONE)
            return lane;
        found = found ? found : lane;
    }
    return found;
}

/* What a lane is stopped by, in words. */
static void describe_reason(const struct ronde_lane *lane, char *text, size_t bytes)
{
    const struct ronde_view *view = &lane->task->view;
    const bool has_peer = lane->about < view->program->connection_count;
    const uint32_t peer = has_peer ? ronde_view_peer(view, lane->about) : 0;
    switch (lane->reason) {
    case RONDE_REASON_NONE:
        snprintf(text, bytes, "was still working");
        break;
    case RONDE_REASON_DEPENDENCY: {
        const struct ronde_wait *wait = &lane->task->waits[lane->about];
        snprintf(text, bytes, "waits for step %u of lane %u", wait->after - 1, wait->lane);
        break;
    }
    case RONDE_REASON_MESSAGE:
        snprintf(text, bytes, "waits for a message from rank %u", peer);
        break;
    case RONDE_REASON_SLOT:
        snprintf(text, bytes, "waits for a free slot to rank %u, all %u are full", peer,
                 lane->task->frame->depth);
        break;
    case RONDE_REASON_READER:
        snprintf(text, bytes, "waits for rank %u to read what it was sent", peer);
        break;
    case RONDE_REASON_REMOTE_READ:
        snprintf(text, bytes, "the memory of rank %u cannot be read", peer);
        break;
    case RONDE_REASON_LENGTH:
        snprintf(text, bytes, "message length differs from what rank %u sent", peer);
        break;
    case RONDE_REASON_EXTENT:
        snprintf(text, bytes, "source and destination differ in length");
        break;
    case RONDE_REASON_BUFFER:
        snprintf(text, bytes, "an operand lies in a buffer that was not given");
        break;
    }
}

void ronde_lane_describe(const struct ronde_lane *lane, char *text)
{
    const struct ronde_view *view = &lane->task->view;
    const struct ronde_step *step = &view->program->steps[lane->step];
    char reason[RONDE_LANE_TEXT_BYTES / 2];
    describe_reason(lane, reason, sizeof reason);
    snprintf(text, RONDE_LANE_TEXT_BYTES, "rank %u channel %u lane %u step %u (%s) piece %llu: %s",
             view->rank, (unsigned)(view->channel - view->schedule->channels), lane->index,
             lane->step - lane->first, ronde_step_op_text((enum ronde_step_op)step->op),
             (unsigned long long)lane->piece, reason);
}
