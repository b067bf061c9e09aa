/**
 * How a block of a GPU begins a run. What it polls, and what steps are found through, is copied into shared memory as far as
 * it fits, by all movers: one thread alone would wait for memory once per word. Four parts, with a barrier after each of the
 * first three; the deciding thread and the movers do the first at the same time, the next two are the movers', the last is
 * the deciding thread's. Apart from block.h, which is about what a run does from then on.
 */
#ifndef RONDE_HW_CUDA_BLOCK_BEGIN_H
#define RONDE_HW_CUDA_BLOCK_BEGIN_H

/** The lane slots of a block. */
struct ronde_block_share {
    uint32_t first; /**< among all */
    uint32_t count;
    bool is_shared; /**< they fit shared memory */
};

/** Which lane slots are those of block `index`; every thread finds out for itself. */
RONDE_INTERP struct ronde_block_share ronde_block_share_of(const struct ronde_job *job,
                                                           uint32_t index, uint32_t room_bytes)
{
    const uint64_t slots = job->lane_slot_count;
    const uint32_t blocks = job->block_count;
    struct ronde_block_share share = {index, 1, false};
    if (slots != blocks) {
        share.first = (uint32_t)(index * slots / blocks);
        share.count = (uint32_t)((index + UINT64_C(1)) * slots / blocks) - share.first;
    }
    share.is_shared = share.count * sizeof(struct ronde_lane_slot) <= room_bytes;
    return share;
}

/** Words of 8 bytes, which all structs here consist of. */
#define RONDE_WORDS(type) ((uint32_t)(sizeof(type) / sizeof(uint64_t)))

/** First part, deciding thread: which lanes it polls. */
RONDE_INTERP void ronde_block_open(struct ronde_block *block, const struct ronde_job *from,
                                   const struct ronde_given *given, uint32_t index,
                                   unsigned char *room, uint32_t room_bytes)
{
    const struct ronde_job job = *from;
    /* Runs queued behind a stopped one send nothing: peers still in that run would read the messages as that run's. */
    const uint32_t stop = RONDE_PORT_PEEK(job.stop);
    const struct ronde_block_share share = ronde_block_share_of(&job, index, room_bytes);
    block->job = from;
    block->given = *given;
    block->room = room;
    block->room_bytes = room_bytes;
    block->turns = 0;
    block->gave_up = 0;
    block->at = 0;
    block->step = 0;
    block->is_at_work = false;
    block->has_issued = false;
    block->release_count = 0;
    for (uint32_t k = 0; k < 2; k++) {
        block->commands[k].more_count = 0;
        block->commands[k].also_count = 0;
        block->steps[k].withdrawn_count = 0;
    }
    block->first = share.first;
    block->is_shared = share.is_shared;
    block->program = job.program;
    block->program_bytes = job.program_bytes;
    block->lane_slots =
        share.is_shared ? (struct ronde_lane_slot *)(void *)room : job.lane_slots + share.first;
    block->lane_slot_count = stop == RONDE_STOP_NOT ? share.count : 0;
}

/** First part, movers: the frame, and the lane slots behind it, word by word; those of the job at once. */
RONDE_INTERP void ronde_block_fetch_slots(struct ronde_block *block, const struct ronde_job *from,
                                          uint32_t index, unsigned char *room, uint32_t room_bytes,
                                          struct ronde_mover mover)
{
    const struct ronde_job job = *from;
    const struct ronde_block_share share = ronde_block_share_of(&job, index, room_bytes);
    const uint64_t *const frame = (const uint64_t *)(const void *)job.frame;
    const uint64_t *const slots = (const uint64_t *)(const void *)(job.lane_slots + share.first);
    const uint32_t words = RONDE_WORDS(struct ronde_frame) +
                           (share.is_shared ? share.count * RONDE_WORDS(struct ronde_lane_slot) : 0);
    RONDE_ROLLED
    for (uint32_t k = mover.thread; k < words; k += mover.threads) {
        if (k < RONDE_WORDS(struct ronde_frame))
            ((uint64_t *)(void *)&block->frame)[k] = frame[k];
        else
            ((uint64_t *)(void *)room)[k - RONDE_WORDS(struct ronde_frame)] =
                slots[k - RONDE_WORDS(struct ronde_frame)];
    }
}

/**
 * Where a lane's ends are during the run: in shared memory if they fit behind all before them, which *io_used counts, from 0
 * on. A lane slot that stays in device memory serves the next run too, and must not point into shared memory, which will
 * be another block's by then.
 */
RONDE_INTERP struct ronde_end *ronde_block_place_ends(const struct ronde_block *block,
                                                      const struct ronde_lane_slot *lane_slot,
                                                      uint64_t *io_used)
{
    const uint64_t slots = block->lane_slot_count * sizeof *block->lane_slots;
    const uint64_t bytes = lane_slot->end_count * sizeof(struct ronde_end);
    if (!block->is_shared || slots + *io_used + bytes > block->room_bytes)
        return lane_slot->task.ends;
    *io_used += bytes;
    return (struct ronde_end *)(void *)(block->room + slots + *io_used - bytes);
}

/**
 * Where the program of a block's only lane is during the run: behind its ends, if there is room, else NULL. Every message that
 * is awaited empties the first-level cache, and a step is found through a chain of loads.
 */
RONDE_INTERP unsigned char *ronde_block_place_program(const struct ronde_block *block, uint64_t used)
{
    const uint64_t at = (sizeof *block->lane_slots + used + 15) / 16 * 16;
    const bool fits = block->is_shared && block->lane_slot_count == 1 &&
                      at + block->program_bytes <= block->room_bytes;
    return fits ? block->room + at : 0;
}

/** Second part, movers: the ends, and the program. */
RONDE_INTERP void ronde_block_fetch_ends(struct ronde_block *block, const unsigned char *room,
                                         struct ronde_mover mover)
{
    const struct ronde_lane_slot *const lane_slots =
        (const struct ronde_lane_slot *)(const void *)room;
    uint64_t used = 0;
    for (uint32_t k = 0; block->is_shared && k < block->lane_slot_count; k++) {
        const uint64_t *const from = (const uint64_t *)(const void *)lane_slots[k].task.ends;
        uint64_t *const to =
            (uint64_t *)(void *)ronde_block_place_ends(block, &lane_slots[k], &used);
        const uint32_t words =
            to == from ? 0 : (uint32_t)lane_slots[k].end_count * RONDE_WORDS(struct ronde_end);
        RONDE_ROLLED
        for (uint32_t w = mover.thread; w < words; w += mover.threads)
            to[w] = from[w];
    }
    const uint64_t *const program = (const uint64_t *)(const void *)block->program;
    if (mover.thread == 0 && block->is_shared)
        block->view = lane_slots[0].task.view;
    uint64_t *const copy = (uint64_t *)(void *)ronde_block_place_program(block, used);
    RONDE_ROLLED
    for (uint32_t w = mover.thread; copy && w < block->program_bytes / sizeof *copy;
         w += mover.threads)
        copy[w] = program[w];
}

/** Has a pointer into the program point into its copy. */
RONDE_INTERP void ronde_block_point(const struct ronde_block *block, unsigned char *copy,
                                    void *pointer)
{
    uint64_t at;
    RONDE_BYTES(&at, pointer, sizeof at);
    const uint64_t skip = at - (uint64_t)(uintptr_t)block->program;
    at = (uint64_t)(uintptr_t)copy + skip;
    if (skip < block->program_bytes)
        RONDE_BYTES(pointer, &at, sizeof at);
}

/** Pointers that steps are found through: of the task, of its channel, of its program. */
#define RONDE_BLOCK_POINTERS 10u

/** Has one of them point into the copy. Threads do not part for it: they only differ in an address. */
RONDE_INTERP void ronde_block_point_one(const struct ronde_block *block, unsigned char *copy,
                                        uint32_t which)
{
    struct ronde_task *task = &block->lane_slots[0].task;
    const struct ronde_view *view = &block->view;
    struct ronde_channel *channel =
        (struct ronde_channel *)(void *)(copy + ((const unsigned char *)(const void *)view->channel -
                                                 block->program));
    struct ronde_program *program =
        (struct ronde_program *)(void *)(copy + ((const unsigned char *)(const void *)view->program -
                                                 block->program));
    void *pointer = &task->view.schedule;
    pointer = which == 1 ? (void *)&task->view.channel : pointer;
    pointer = which == 2 ? (void *)&task->view.program : pointer;
    pointer = which == 3 ? (void *)&task->waits : pointer;
    pointer = which == 4 ? (void *)&channel->order : pointer;
    pointer = which == 5 ? (void *)&program->steps : pointer;
    pointer = which == 6 ? (void *)&program->ranges : pointer;
    pointer = which == 7 ? (void *)&program->scratch_part : pointer;
    pointer = which == 8 ? (void *)&program->scratch_parts : pointer;
    pointer = which == 9 ? (void *)&program->spread : pointer;
    ronde_block_point(block, copy, pointer);
}

/**
 * Sets an end to where its connection is. Messages of an earlier run may still be unread on another device, whose run need
 * not be over. Messages that have arrived already are polled for when they are needed.
 */
RONDE_INTERP void ronde_block_start_end(const struct ronde_block *block, uint32_t lane,
                                        struct ronde_end *end)
{
    const struct ronde_end now = *end;
    if (now.lane != lane || !now.mine)
        return;
    const uint64_t mine = *now.mine;
    const uint64_t theirs = RONDE_PORT_ACQUIRE(now.theirs);
    end->count = mine;
    end->seen = theirs < mine ? theirs : mine;
    end->slot = mine % block->frame.depth;
}

/**
 * Resets a lane to its first step: the same launch may run any number of times without the host. Only counters
 * outlive a run; all other state is derived from them.
 */
RONDE_INTERP void ronde_block_start_lane(struct ronde_block *block,
                                         struct ronde_lane_slot *lane_slot)
{
    const struct ronde_counter *const progress = lane_slot->task.progress;
    const struct ronde_lane now = lane_slot->lane;
    struct ronde_lane *lane = &lane_slot->lane;
    lane->done = progress[now.index].value;
    lane->task = &lane_slot->task;
    lane_slot->task.frame = &block->frame;
    if (block->given.is_given != 0) {
        lane_slot->task.base[RONDE_IN] = block->given.in;
        lane_slot->task.base[RONDE_OUT] = block->given.out;
        lane_slot->task.factor = block->given.factor;
    }
    lane->step = now.first;
    lane->piece = now.end > now.first ? 0 : block->frame.piece_count;
    lane->reason = RONDE_REASON_NONE;
}

/** Third part, movers: lanes and ends are set to where they begin; counters are read by a thread each. */
RONDE_INTERP void ronde_block_start(struct ronde_block *block, struct ronde_mover mover)
{
    uint64_t used = 0;
    for (uint32_t k = 0; k < block->lane_slot_count; k++) {
        struct ronde_lane_slot *lane_slot = &block->lane_slots[k];
        struct ronde_end *const ends = ronde_block_place_ends(block, lane_slot, &used);
        RONDE_ROLLED
        for (uint32_t c = mover.thread; c < lane_slot->end_count; c += mover.threads)
            ronde_block_start_end(block, lane_slot->lane.index, &ends[c]);
        /* The last threads: the first ones have ends. */
        if (mover.threads - 1 - k % mover.threads == mover.thread)
            ronde_block_start_lane(block, lane_slot);
    }
    unsigned char *const copy = ronde_block_place_program(block, used);
    RONDE_ROLLED
    for (uint32_t k = mover.thread; copy && k < RONDE_BLOCK_POINTERS; k += mover.threads)
        ronde_block_point_one(block, copy, k);
}

/** How messages of this run travel: which buffers others read in place is found out for each. */
RONDE_INTERP void ronde_block_choose(struct ronde_block *block)
{
    if (!block->job->mapped)
        return;
    block->frame.is_in_place = block->given.is_in_place != 0;
    if (block->given.readable == 0)
        block->frame.no_pull = 0;
}

/** Last part, deciding thread. */
RONDE_INTERP void ronde_block_begin(struct ronde_block *block)
{
    const uint64_t timeout_ns =
        block->given.is_given != 0 ? block->given.timeout_ns : block->job->timeout_ns;
    bool is_known = false;
    uint64_t used = 0;
    ronde_block_choose(block);
    for (uint32_t k = 0; k < block->lane_slot_count; k++) {
        struct ronde_lane_slot *lane_slot = &block->lane_slots[k];
        const uint32_t steps = lane_slot->lane.end - lane_slot->lane.first;
        lane_slot->task.ends = ronde_block_place_ends(block, lane_slot, &used);
        /* The same number for all lanes. */
        if (!is_known && steps > 0)
            block->frame.first_piece = lane_slot->lane.done / steps;
        is_known |= steps > 0;
    }
    /* Movers wait for lines themselves, and a run of unproved steps looks at each message's length. */
    block->looks_ahead = !block->frame.has_lines && !block->frame.checks;
    block->deadline_ns = timeout_ns > 0 ? RONDE_PORT_NOW(block) + timeout_ns : 0;
}

#endif
