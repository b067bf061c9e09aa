/* Memory of connections between devices. See device_program.h. */
#include "hw/cuda/device_program.h"

/* Alignment of a connection's region: a pair of cache lines. */
#define REGION_ALIGNMENT UINT64_C(128)

static uint64_t total_connections(const struct ronde_schedule *schedule)
{
    uint64_t total = 0;
    for (uint32_t p = 0; p < schedule->program_count; p++)
        total += schedule->programs[p].connection_count;
    return total;
}

/* Counts the receiving ends of every program. */
static void fill_places(struct ronde_numbering *numbering)
{
    uint64_t at = 0;
    for (uint32_t p = 0; p < numbering->schedule->program_count; p++) {
        const struct ronde_program *program = &numbering->schedule->programs[p];
        uint32_t received = 0;
        numbering->programs[p] = at;
        for (uint32_t c = 0; c < program->connection_count; c++) {
            numbering->places[at++] = received;
            received += !program->connections[c].is_send;
        }
    }
}

/* Connections that a program receives: the count up to its last connection, included. */
static uint64_t count_received(const struct ronde_numbering *numbering,
                               const struct ronde_program *program)
{
    const uint32_t count = program->connection_count;
    if (count == 0)
        return 0;
    const uint64_t first = numbering->programs[program - numbering->schedule->programs];
    return numbering->places[first + count - 1] + !program->connections[count - 1].is_send;
}

static void fill_firsts(struct ronde_numbering *numbering)
{
    const struct ronde_schedule *schedule = numbering->schedule;
    uint64_t *first = numbering->firsts;
    first[0] = 0;
    for (uint32_t rank = 0; rank < schedule->ranks; rank++)
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++, first++)
            first[1] = first[0] +
                       count_received(numbering, ronde_view_open(schedule, channel, rank).program);
}

enum ronde_status ronde_numbering_init(struct ronde_numbering *numbering,
                                       const struct ronde_schedule *schedule,
                                       const struct ronde_mem *mem, struct ronde_error *error)
{
    numbering->schedule = schedule;
    struct ronde_arena *arena = numbering->arena = ronde_arena_create(mem);
    const size_t views = (size_t)schedule->ranks * schedule->channel_count;
    if (arena) {
        numbering->firsts = ronde_arena_new(arena, views + 1, sizeof *numbering->firsts);
        numbering->programs =
            ronde_arena_new(arena, schedule->program_count, sizeof *numbering->programs);
        numbering->places =
            ronde_arena_new(arena, total_connections(schedule), sizeof *numbering->places);
    }
    if (!arena || !numbering->firsts || !numbering->programs || !numbering->places)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to number the connections of %u ranks",
                          schedule->ranks);
    fill_places(numbering);
    fill_firsts(numbering);
    return RONDE_OK;
}

void ronde_numbering_fini(struct ronde_numbering *numbering)
{
    ronde_arena_destroy(numbering->arena);
}

uint64_t ronde_numbering_first(const struct ronde_numbering *numbering, uint32_t rank)
{
    return numbering->firsts[(uint64_t)rank * numbering->schedule->channel_count];
}

/* The number of the connection that a port is an end of. */
static uint64_t number_of(const struct ronde_numbering *numbering, const struct ronde_port *port,
                          uint32_t receiver)
{
    const struct ronde_schedule *schedule = numbering->schedule;
    const struct ronde_view view = ronde_view_open(schedule, port->channel, receiver);
    const uint64_t entry = numbering->programs[view.program - schedule->programs] + port->number;
    return numbering->firsts[(uint64_t)receiver * schedule->channel_count + port->channel] +
           numbering->places[entry];
}

uint64_t ronde_shm_region_length(const struct ronde_frame *frame)
{
    const uint64_t lengths = ronde_lengths_stride(frame->depth) * sizeof(uint64_t);
    const uint64_t slots = frame->slot_stride * frame->depth;
    const uint64_t bytes = frame->has_lines ? 2 * slots : lengths + slots;
    return (bytes + REGION_ALIGNMENT - 1) / REGION_ALIGNMENT * REGION_ALIGNMENT;
}

/* Lines hold data and flags and are addressed in halves (machine.h), the head line of a message first. */
static void place_lines(struct ronde_end *end, const unsigned char *region)
{
    const uint64_t first = (uint64_t)(uintptr_t)region / 2 + RONDE_LINE_DATA_BYTES;
    end->slots = (unsigned char *)(uintptr_t)(RONDE_LINES_BIT | first);
    end->lengths = NULL;
}

static void place_slots(struct ronde_end *end, unsigned char *region, uint32_t depth)
{
    end->lengths = (uint64_t *)(void *)region;
    end->slots = (unsigned char *)(end->lengths + ronde_lengths_stride(depth));
}

/* The counter of a connection that its receiver polls, on one device, and the one its sender does, on another. */
static void place_counters(struct ronde_end *end, bool is_send,
                           const struct ronde_remote_fifos *receiver,
                           const struct ronde_remote_fifos *sender, uint64_t number)
{
    struct ronde_fifo *const here = (struct ronde_fifo *)(void *)receiver->counters + number;
    struct ronde_fifo *const there = (struct ronde_fifo *)(void *)sender->counters + number;
    end->mine = is_send ? &here->posted.value : &there->freed.value;
    end->theirs = is_send ? &there->freed.value : &here->posted.value;
}

/* The end of a port that a rank of the part has. */
static void place_end(const struct ronde_frame *frame, const struct ronde_port *port, uint32_t rank,
                      const struct ronde_numbering *numbering, struct ronde_end *end,
                      const struct ronde_remote_fifos *const fifos[2])
{
    const struct ronde_remote_fifos *const receiver = fifos[port->is_send];
    const uint64_t number = number_of(numbering, port, port->is_send ? port->peer : rank);
    const uint64_t region = (number - receiver->first) * ronde_shm_region_length(frame);
    place_counters(end, port->is_send, receiver, fifos[!port->is_send], number);
    if (frame->has_lines)
        place_lines(end, receiver->lines + region);
    else
        place_slots(end, receiver->slots + region, frame->depth);
}

/* The memory of this rank and of the other end; both ends of a host-staged connection are in its receiver's staging. */
static void find_fifos(const struct ronde_device_links *links, const struct ronde_port *port,
                       uint32_t rank, const struct ronde_remote_fifos *out_pair[2])
{
    const uint32_t here = ronde_rank_map_device_of(links->rank_map, rank);
    const uint32_t there = ronde_rank_map_device_of(links->rank_map, port->peer);
    out_pair[0] = &links->fifos[here];
    out_pair[1] = &links->fifos[there];
    if (links->stagings && ronde_rank_map_is_here(links->rank_map, there) &&
        links->is_host_staged[there - links->rank_map->own])
        out_pair[0] = out_pair[1] =
            &links->stagings[(port->is_send ? there : here) - links->rank_map->own];
}

void ronde_links_place(struct ronde_loaded *loaded, const struct ronde_numbering *numbering,
                       const struct ronde_device_links *links)
{
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const struct ronde_task *task = &loaded->tasks[t];
        const struct ronde_port *ports = loaded->ports + (task->ends - loaded->ends);
        for (uint32_t c = 0; c < task->view.program->connection_count; c++) {
            const uint32_t rank = task->view.rank;
            const struct ronde_remote_fifos *pair[2];
            find_fifos(links, &ports[c], rank, pair);
            /* Memory that is not shared: such connections lie in the host's (proxy.h). */
            if (!pair[1]->counters)
                continue;
            place_end(&loaded->frame, &ports[c], rank, numbering, &task->ends[c], pair);
        }
    }
}
