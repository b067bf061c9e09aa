/* Where connections lie in shared memory. See layout.h. */
#include "hw/shm/layout.h"

#include "engine/execute/operation.h"

/* Counts the regions of a schedule; `firsts`, unless it is NULL, gets the number of the first of each (rank, channel). */
static uint64_t count_layout(const struct ronde_schedule *schedule, uint64_t *firsts)
{
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < schedule->ranks; rank++)
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            if (firsts)
                firsts[(size_t)rank * schedule->channel_count + channel] = count;
            count += ronde_view_open(schedule, channel, rank).program->connection_count;
        }
    return count;
}

/* Regions of a schedule. */
static uint64_t count_regions(const struct ronde_schedule *schedule)
{
    return count_layout(schedule, NULL);
}

uint32_t ronde_eager_slots(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint32_t slots = 2 * (ronde_comm_lead(schedule->ranks) + 1);
    const bool is_free = depth >= ronde_launch_depth(schedule, &(struct ronde_launch){0});
    return is_free && slots > depth ? slots : depth;
}

/* Bytes of a region: the connection's memory, and behind it its eager slots. */
static uint64_t stride_of(const struct ronde_schedule *schedule, uint64_t slot_bytes, uint32_t depth)
{
    return ronde_shm_region_bytes(schedule, slot_bytes, depth) +
           (uint64_t)ronde_eager_slots(schedule, depth) * RONDE_EAGER_STRIDE;
}

enum ronde_status ronde_shm_layout_open(const struct ronde_comm_program *program,
                                        struct ronde_shm_layout *out_layout,
                                        struct ronde_error *error)
{
    const struct ronde_schedule *schedule = program->loaded->schedule;
    const size_t views = (size_t)schedule->ranks * schedule->channel_count;
    out_layout->firsts = ronde_arena_new(program->loaded->arena, views, sizeof *out_layout->firsts);
    if (!out_layout->firsts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu programs", views);
    out_layout->count = count_layout(schedule, out_layout->firsts);
    out_layout->stride = stride_of(schedule, program->slot_bytes, program->depth);
    return RONDE_OK;
}

void ronde_shm_layout_place(const struct ronde_shm_layout *layout,
                            const struct ronde_comm_program *program, struct ronde_loaded *part)
{
    const uint32_t channels = part->schedule->channel_count;
    for (uint64_t e = 0; e < part->end_count; e++) {
        const struct ronde_port *port = &part->ports[e];
        const uint32_t receiver = port->is_send ? port->peer : part->first_rank;
        if (port->peer == RONDE_NONE || !ronde_comm_is_local(program->comm, port->peer))
            continue;
        const uint64_t region =
            layout->firsts[(size_t)receiver * channels + port->channel] + port->number;
        ronde_loaded_place(part, e, layout->start + region * layout->stride, program->depth);
    }
}

unsigned char *ronde_shm_layout_eager(const struct ronde_comm_program *program, uint64_t end)
{
    const struct ronde_end *at = &program->loaded->ends[end];
    unsigned char *region = (unsigned char *)at->lengths - sizeof(struct ronde_fifo);
    return region + sizeof(struct ronde_eager_header) +
           ronde_shm_region_bytes(program->loaded->schedule, program->slot_bytes, program->depth);
}

/* Length and number of slots. */

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
    const uint64_t layout = count_regions(schedule);
    uint64_t slot_bytes = DEFAULT_SLOT_BYTES;
    while (slot_bytes > LEAST_DEFAULT_SLOT_BYTES &&
           layout * stride_of(schedule, slot_bytes, depth) > DEFAULT_TOTAL_BYTES)
        slot_bytes /= 2;
    return slot_bytes;
}

/* Whether ranks send nothing but their input, and no more of it than there is, so that no reader finds it in a cache. */
static bool sends_input_once(const struct ronde_schedule *schedule)
{
    const uint64_t chunks =
        (uint64_t)ronde_schedule_blocks(schedule, true) * schedule->chunks_per_block;
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
    const uint64_t bytes = count_regions(schedule) * stride_of(schedule, CMA_SLOT_BYTES, depth);
    const bool benefits = !schedule->traffic.reduces && !schedule->traffic.has_pure_senders &&
                          sends_input_once(schedule);
    return benefits && usual < CMA_SLOT_BYTES && bytes <= DEFAULT_TOTAL_BYTES ? CMA_SLOT_BYTES
                                                                              : usual;
}

uint32_t ronde_shm_most_depth(const struct ronde_schedule *schedule, uint32_t usual)
{
    const uint64_t bytes =
        count_regions(schedule) * stride_of(schedule, DEFAULT_SLOT_BYTES, AHEAD_DEPTH);
    const bool benefits = schedule->traffic.has_pure_senders && !schedule->traffic.reduces;
    return benefits && usual < AHEAD_DEPTH && bytes <= AHEAD_TOTAL_BYTES ? AHEAD_DEPTH : usual;
}
