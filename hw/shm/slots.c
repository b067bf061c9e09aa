/* Length and number of slots. See slots.h. */
#include "hw/shm/slots.h"

#include "engine/execute/operation.h"
#include "hw/shm/layout.h"

/* See hw/README.md for both. */
#define DEFAULT_SLOT_BYTES 65536u
#define LEAST_DEFAULT_SLOT_BYTES 4096u

/* Schedules with many connections get shorter slots, so that their memory stays below this. */
#define DEFAULT_TOTAL_BYTES ((uint64_t)1 << 28)

/* Pieces that the kernel reads for a receiver: each is a call of it, which for 64 KiB takes a sixth of the time. */
#define CMA_SLOT_BYTES ((uint64_t)1 << 20)

/* Slots where some ranks only send: messages that fit are sent without waiting for those that receive. */
#define AHEAD_DEPTH 64u
#define AHEAD_TOTAL_BYTES ((uint64_t)1 << 26)

uint64_t ronde_shm_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint64_t layout = ronde_shm_layout_count(schedule);
    uint64_t slot_bytes = DEFAULT_SLOT_BYTES;
    while (slot_bytes > LEAST_DEFAULT_SLOT_BYTES &&
           layout * ronde_shm_layout_stride(schedule, slot_bytes, depth) > DEFAULT_TOTAL_BYTES)
        slot_bytes /= 2;
    return slot_bytes;
}

/* Whether ranks send nothing but their input, and no more of it than there is, so that no reader finds it in a cache. */
static bool sends_input_once(const struct ronde_schedule *schedule)
{
    const uint64_t chunks =
        (uint64_t)ronde_collective_in_blocks(schedule->collective, schedule->ranks) *
        schedule->chunks_per_block;
    for (uint32_t p = 0; p < schedule->program_count; p++) {
        const struct ronde_program *program = &schedule->programs[p];
        uint64_t sent = 0;
        for (uint32_t s = 0; s < program->step_count; s++) {
            const struct ronde_step *step = &program->steps[s];
            if (!ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND))
                continue;
            if (!ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND_SOURCE) || step->source != RONDE_IN)
                return false;
            sent += step->chunk_count;
        }
        if (sent > chunks)
            return false;
    }
    return true;
}

/* Slots hold addresses there: of their memory only what is written is taken. */
uint64_t ronde_shm_most_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth,
                                   uint64_t usual)
{
    const uint64_t bytes =
        ronde_shm_layout_count(schedule) * ronde_shm_layout_stride(schedule, CMA_SLOT_BYTES, depth);
    const bool benefits = !schedule->traffic.reduces && !schedule->traffic.has_pure_senders &&
                          sends_input_once(schedule);
    return benefits && usual < CMA_SLOT_BYTES && bytes <= DEFAULT_TOTAL_BYTES ? CMA_SLOT_BYTES
                                                                              : usual;
}

uint32_t ronde_shm_most_depth(const struct ronde_schedule *schedule, uint32_t usual)
{
    const uint64_t bytes = ronde_shm_layout_count(schedule) *
                           ronde_shm_layout_stride(schedule, DEFAULT_SLOT_BYTES, AHEAD_DEPTH);
    const bool benefits = schedule->traffic.has_pure_senders && !schedule->traffic.reduces;
    return benefits && usual < AHEAD_DEPTH && bytes <= AHEAD_TOTAL_BYTES ? AHEAD_DEPTH : usual;
}
