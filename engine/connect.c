/* Connections of a loaded schedule. See connect.h. */
#include "engine/connect.h"

/* Lengths of a connection start a pair of cache lines of their own: its sender writes them. */
#define LENGTHS_PER_LINES 16u

/* The unbound receiving end of the connection that `rank` sends on with `tag`, or NULL if the peer has none. */
static struct ronde_end *find_receiver(const struct ronde_task *peer, uint32_t rank, uint32_t tag)
{
    const struct ronde_program *program = peer->view.program;
    for (uint32_t c = 0; c < program->connection_count; c++) {
        const struct ronde_connection *connection = &program->connections[c];
        if (!connection->is_send && connection->tag == tag && !peer->ends[c].mine &&
            ronde_view_peer(&peer->view, c) == rank)
            return &peer->ends[c];
    }
    return NULL;
}

/* Which of the two counters an end writes depends on its side. */
static void bind(struct ronde_end *end, struct ronde_fifo *fifo, bool is_send)
{
    end->mine = is_send ? &fifo->posted.value : &fifo->freed.value;
    end->theirs = is_send ? &fifo->freed.value : &fifo->posted.value;
}

/* Gives every sending end of a task a new connection and finds the other end. */
static void connect_sends(struct ronde_loaded *loaded, struct ronde_task *task)
{
    const struct ronde_program *program = task->view.program;
    const uint32_t channels = loaded->schedule->channel_count;
    const ptrdiff_t channel = task->view.channel - loaded->schedule->channels;
    for (uint32_t c = 0; c < program->connection_count; c++) {
        if (!program->connections[c].is_send)
            continue;
        struct ronde_fifo *fifo = &loaded->fifos[loaded->fifo_count++];
        bind(&task->ends[c], fifo, true);
        const size_t peer = (size_t)ronde_view_peer(&task->view, c) * channels + (size_t)channel;
        struct ronde_end *receiver =
            find_receiver(&loaded->tasks[peer], task->view.rank, program->connections[c].tag);
        if (receiver)
            bind(receiver, fifo, false);
    }
}

/* In a proved schedule the second loop finds nothing; in a mutant it keeps half a connection from being a crash. */
void ronde_loaded_connect(struct ronde_loaded *loaded)
{
    loaded->fifo_count = 0;
    for (uint32_t t = 0; t < loaded->task_count; t++)
        connect_sends(loaded, &loaded->tasks[t]);
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const struct ronde_task *task = &loaded->tasks[t];
        for (uint32_t c = 0; c < task->view.program->connection_count; c++)
            if (!task->ends[c].mine)
                bind(&task->ends[c], &loaded->fifos[loaded->fifo_count++], false);
    }
}

/* Lengths of one connection, rounded up so that two senders never share a line. */
static uint64_t lengths_stride(uint32_t depth)
{
    return ((uint64_t)depth + LENGTHS_PER_LINES - 1) / LENGTHS_PER_LINES * LENGTHS_PER_LINES;
}

uint64_t ronde_loaded_slot_bytes(const struct ronde_loaded *loaded, uint64_t stride, uint32_t depth)
{
    const ronde_wide one = (ronde_wide)stride * depth + lengths_stride(depth) * sizeof(uint64_t);
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
        end->lengths = lengths + fifo * lengths_stride(depth);
        end->slot = 0;
    }
}
