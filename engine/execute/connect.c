/* Connections of a loaded schedule. See connect.h. */
#include "engine/execute/connect.h"

#include "engine/ir/ends.h"

/* Lengths of a connection start a pair of cache lines of their own: its sender writes them. */
#define LENGTHS_PER_LINES 16u

/* Slots start on cache lines; single ones, so that the slots of short messages stay close together. */
#define SLOT_ALIGNMENT 64u

/* The unbound receiving end of a connection of `task`, or NONE if the peer has none: only a mutant has several or none. */
static uint32_t find_receiver(const struct ronde_task *task, const struct ronde_task *peer,
                              const struct ronde_ends *ends,
                              const struct ronde_connection *connection)
{
    const struct ronde_schedule *schedule = task->view.schedule;
    const struct ronde_end_entry wanted =
        ronde_ends_other(schedule, connection, task->view.position, peer->view.position);
    uint32_t count;
    const struct ronde_end_entry *found =
        ronde_ends_find(&ends[peer->view.program - schedule->programs], &wanted, &count);
    for (uint32_t k = 0; k < count; k++)
        if (!peer->ends[found[k].end].mine)
            return found[k].end;
    return RONDE_NONE;
}

/* Which of the two counters an end writes depends on its side. */
static void bind(struct ronde_end *end, struct ronde_fifo *fifo, bool is_send)
{
    end->mine = is_send ? &fifo->posted.value : &fifo->freed.value;
    end->theirs = is_send ? &fifo->freed.value : &fifo->posted.value;
}

/* Gives every sending end of a task a new connection and finds the other end. */
static void connect_sends(struct ronde_loaded *loaded, struct ronde_task *task,
                          const struct ronde_ends *ends)
{
    const struct ronde_program *program = task->view.program;
    const uint32_t channels = loaded->schedule->channel_count;
    const ptrdiff_t channel = task->view.channel - loaded->schedule->channels;
    for (uint32_t c = 0; c < program->connection_count; c++) {
        if (!program->connections[c].is_send)
            continue;
        struct ronde_fifo *fifo = &loaded->fifos[loaded->fifo_count++];
        bind(&task->ends[c], fifo, true);
        struct ronde_task *peer =
            &loaded->tasks[(size_t)ronde_view_peer(&task->view, c) * channels + (size_t)channel];
        const uint32_t receiver = find_receiver(task, peer, ends, &program->connections[c]);
        if (receiver == RONDE_NONE)
            continue;
        bind(&peer->ends[receiver], fifo, false);
        loaded->remote_ends[&task->ends[c] - loaded->ends] =
            (struct ronde_remote_end){peer, receiver};
    }
}

/* In a proved schedule the second loop finds nothing; in a mutant it keeps half a connection from being a crash. */
static void connect_all(struct ronde_loaded *loaded, const struct ronde_ends *ends)
{
    loaded->fifo_count = 0;
    for (uint32_t t = 0; t < loaded->task_count; t++)
        connect_sends(loaded, &loaded->tasks[t], ends);
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const struct ronde_task *task = &loaded->tasks[t];
        for (uint32_t c = 0; c < task->view.program->connection_count; c++)
            if (!task->ends[c].mine)
                bind(&task->ends[c], &loaded->fifos[loaded->fifo_count++], false);
    }
}

bool ronde_loaded_connect(struct ronde_loaded *loaded)
{
    struct ronde_arena *arena = ronde_arena_create(loaded->mem);
    const struct ronde_ends *ends = arena ? ronde_ends_list_all(loaded->schedule, arena) : NULL;
    if (ends)
        connect_all(loaded, ends);
    ronde_arena_destroy(arena);
    return ends != NULL;
}

/* The ports of a task; false for one whose receiver does not exist. */
static bool list_ports(const struct ronde_loaded *loaded, const struct ronde_task *task,
                       const struct ronde_ends *ends)
{
    const struct ronde_program *program = task->view.program;
    struct ronde_port *ports = loaded->ports + (task->ends - loaded->ends);
    const uint32_t channel = (uint32_t)(task->view.channel - loaded->schedule->channels);
    for (uint32_t c = 0; c < program->connection_count; c++) {
        const bool is_send = program->connections[c].is_send;
        const uint32_t peer = ronde_view_peer(&task->view, c);
        ports[c] = (struct ronde_port){peer, channel, c, is_send};
        if (!is_send)
            continue;
        const struct ronde_view view = ronde_view_open(loaded->schedule, channel, peer);
        const struct ronde_end_entry wanted =
            ronde_ends_other(loaded->schedule, &program->connections[c], task->view.position,
                             view.position);
        uint32_t count;
        const struct ronde_end_entry *found =
            ronde_ends_find(&ends[view.program - loaded->schedule->programs], &wanted, &count);
        if (count != 1)
            return false;
        ports[c].number = found->end;
        if (loaded->remote_ends)
            loaded->remote_ends[&ports[c] - loaded->ports] = (struct ronde_remote_end){
                &loaded->tasks[(size_t)peer * loaded->schedule->channel_count + channel],
                found->end};
    }
    return true;
}

enum ronde_status ronde_loaded_find_ports(struct ronde_loaded *loaded, struct ronde_error *error)
{
    struct ronde_arena *arena = ronde_arena_create(loaded->mem);
    const struct ronde_ends *ends = arena ? ronde_ends_list_all(loaded->schedule, arena) : NULL;
    bool is_whole = true;
    loaded->ports = ronde_arena_new(loaded->arena, loaded->end_count, sizeof *loaded->ports);
    for (uint64_t e = 0; loaded->ports && e < loaded->end_count; e++)
        loaded->ports[e].peer = RONDE_NONE;
    for (uint32_t t = 0; ends && loaded->ports && t < loaded->task_count && is_whole; t++)
        is_whole = list_ports(loaded, &loaded->tasks[t], ends);
    ronde_arena_destroy(arena);
    if (!ends || !loaded->ports)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %llu connection ends",
                          (unsigned long long)loaded->end_count);
    return is_whole ? RONDE_OK
                    : ronde_fail(error, RONDE_UNSUPPORTED,
                                 "a connection of ranks %u to %u has no receiver, or two",
                                 loaded->first_rank, loaded->first_rank + loaded->rank_count - 1);
}

uint64_t ronde_lengths_stride(uint32_t depth)
{
    return ((uint64_t)depth + LENGTHS_PER_LINES - 1) / LENGTHS_PER_LINES * LENGTHS_PER_LINES;
}

uint64_t ronde_loaded_slot_bytes(const struct ronde_loaded *loaded, uint64_t stride, uint32_t depth)
{
    const ronde_wide one =
        (ronde_wide)stride * depth + ronde_lengths_stride(depth) * sizeof(uint64_t);
    const ronde_wide all = one * loaded->fifo_count;
    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

/* Which connection an end belongs to: its counter lies in that connection's struct. */
static uint64_t fifo_of(const struct ronde_loaded *loaded, const struct ronde_end *end)
{
    const uintptr_t offset = (uintptr_t)end->mine - (uintptr_t)loaded->fifos;
    return offset / sizeof *loaded->fifos;
}

void ronde_loaded_place_slots(struct ronde_loaded *loaded, unsigned char *start, uint64_t stride,
                              uint32_t depth)
{
    uint64_t *lengths = (uint64_t *)(void *)(start + loaded->fifo_count * depth * stride);
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        struct ronde_end *end = &loaded->ends[e];
        if (!end->mine)
            continue;
        const uint64_t fifo = fifo_of(loaded, end);
        end->slots = start + fifo * depth * stride;
        end->lengths = lengths + fifo * ronde_lengths_stride(depth);
    }
}

uint64_t ronde_slot_stride(const struct ronde_schedule *schedule, uint64_t share_bytes)
{
    const uint64_t bytes = share_bytes * schedule->max_chunk_count;
    return bytes == 0 ? SLOT_ALIGNMENT
                      : (bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

uint64_t ronde_shm_region_bytes(const struct ronde_schedule *schedule, uint64_t slot_bytes,
                                uint32_t depth)
{
    const uint64_t stride = ronde_slot_stride(schedule, ronde_piece_bytes(schedule, slot_bytes));
    return sizeof(struct ronde_fifo) + ronde_lengths_stride(depth) * sizeof(uint64_t) +
           stride * depth;
}

void ronde_loaded_place(struct ronde_loaded *loaded, uint64_t end, unsigned char *box,
                        uint32_t depth)
{
    struct ronde_end *at = &loaded->ends[end];
    bind(at, (struct ronde_fifo *)(void *)box, loaded->ports[end].is_send);
    at->lengths = (uint64_t *)(void *)(box + sizeof(struct ronde_fifo));
    at->slots = (unsigned char *)(at->lengths + ronde_lengths_stride(depth));
}
