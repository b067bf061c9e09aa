/* Where connections lie in shared memory. See boxes.h. */
#include "hw/comm/boxes.h"

/* Counts the boxes of a schedule and notes, unless it is NULL, with which those of each (rank, channel) begin. */
static uint64_t count_boxes(const struct ronde_schedule *schedule, uint64_t *firsts)
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

uint64_t ronde_boxes_count(const struct ronde_schedule *schedule)
{
    return count_boxes(schedule, NULL);
}

uint32_t ronde_letter_slots(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint32_t slots = 2 * (ronde_comm_lead(schedule->ranks) + 1);
    const bool is_free = depth >= ronde_launch_depth(schedule, &(struct ronde_launch){0});
    return is_free && slots > depth ? slots : depth;
}

uint64_t ronde_boxes_stride(const struct ronde_schedule *schedule, uint64_t slot_bytes,
                            uint32_t depth)
{
    return ronde_box_bytes(schedule, slot_bytes, depth) +
           (uint64_t)ronde_letter_slots(schedule, depth) * RONDE_LETTER_STRIDE;
}

enum ronde_status ronde_boxes_open(const struct ronde_comm_program *program,
                                   struct ronde_boxes *out_boxes, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = program->loaded->schedule;
    const size_t views = (size_t)schedule->ranks * schedule->channel_count;
    out_boxes->firsts = ronde_mem_new(program->comm->mem, views, sizeof *out_boxes->firsts);
    if (!out_boxes->firsts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu programs", views);
    out_boxes->view_count = views;
    out_boxes->count = count_boxes(schedule, out_boxes->firsts);
    out_boxes->stride = ronde_boxes_stride(schedule, program->slot_bytes, program->depth);
    return RONDE_OK;
}

void ronde_boxes_close(struct ronde_boxes *boxes, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, boxes->firsts, boxes->view_count, sizeof *boxes->firsts);
    *boxes = (struct ronde_boxes){0};
}

void ronde_boxes_place(const struct ronde_boxes *boxes, const struct ronde_comm_program *program,
                       struct ronde_loaded *part)
{
    const uint32_t channels = part->schedule->channel_count;
    for (uint64_t e = 0; e < part->end_count; e++) {
        const struct ronde_port *port = &part->ports[e];
        const uint32_t receiver = port->is_send ? port->peer : part->first_rank;
        if (port->peer == RONDE_NONE || !ronde_comm_is_near(program->comm, port->peer))
            continue;
        const uint64_t box =
            boxes->firsts[(size_t)receiver * channels + port->channel] + port->number;
        ronde_loaded_place(part, e, boxes->start + box * boxes->stride, program->depth);
    }
}

unsigned char *ronde_boxes_letters(const struct ronde_comm_program *program, uint64_t end)
{
    const struct ronde_end *at = &program->loaded->ends[end];
    unsigned char *box = (unsigned char *)at->lengths - sizeof(struct ronde_fifo);
    return box + sizeof(struct ronde_letter) +
           ronde_box_bytes(program->loaded->schedule, program->slot_bytes, program->depth);
}
