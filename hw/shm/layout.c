/* Where connections lie in shared memory. See layout.h. */
#include "hw/shm/layout.h"

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

uint64_t ronde_shm_layout_count(const struct ronde_schedule *schedule)
{
    return count_layout(schedule, NULL);
}

uint32_t ronde_eager_slots(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint32_t slots = 2 * (ronde_comm_lead(schedule->ranks) + 1);
    const bool is_free = depth >= ronde_launch_depth(schedule, &(struct ronde_launch){0});
    return is_free && slots > depth ? slots : depth;
}

uint64_t ronde_shm_layout_stride(const struct ronde_schedule *schedule, uint64_t slot_bytes,
                                 uint32_t depth)
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
    out_layout->firsts = ronde_mem_new(program->comm->mem, views, sizeof *out_layout->firsts);
    if (!out_layout->firsts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu programs", views);
    out_layout->view_count = views;
    out_layout->count = count_layout(schedule, out_layout->firsts);
    out_layout->stride = ronde_shm_layout_stride(schedule, program->slot_bytes, program->depth);
    return RONDE_OK;
}

void ronde_shm_layout_close(struct ronde_shm_layout *layout, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, layout->firsts, layout->view_count, sizeof *layout->firsts);
    *layout = (struct ronde_shm_layout){0};
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
