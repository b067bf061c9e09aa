/* Connections of a loaded schedule. See connect.h. */
#include "engine/connect.h"

#include <stdlib.h>

/* Lengths of a connection start a pair of cache lines of their own: its sender writes them. */
#define LENGTHS_PER_LINES 16u

/* A receiving end of a program, where a sender can look it up. */
struct entry {
    uint64_t key; /* the stored peer and the tag */
    uint32_t end;
};

/* The receiving ends of a program by key; one list serves all ranks of a class. */
struct directory {
    struct entry *entries;
    uint32_t count;
};

static uint64_t key_of(uint32_t peer, uint32_t tag)
{
    return (uint64_t)peer << 32 | tag;
}

/* Equal keys, which only a mutant has, stay in the order of their ends. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static bool list_receivers(struct ronde_arena *arena, const struct ronde_program *program,
                           struct directory *out)
{
    out->count = 0;
    out->entries = ronde_arena_new(arena, program->connection_count, sizeof *out->entries);
    if (!out->entries)
        return false;
    for (uint32_t c = 0; c < program->connection_count; c++) {
        const struct ronde_connection *connection = &program->connections[c];
        if (!connection->is_send)
            out->entries[out->count++] =
                (struct entry){key_of(connection->peer, connection->tag), c};
    }
    qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    return true;
}

/* The first entry that is not below a key. */
static uint32_t find_entry(const struct directory *directory, uint64_t key)
{
    uint32_t low = 0;
    uint32_t high = directory->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (directory->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How the program of `peer` names the position `sender`. */
static uint32_t stored_peer(const struct ronde_view *peer, uint32_t sender)
{
    if (peer->schedule->absolute_peers)
        return sender;
    return ronde_group_add(peer->schedule, sender,
                           ronde_group_negate(peer->schedule, peer->position));
}

/* The unbound receiving end of the connection that a position sends on with `tag`, or NULL if the peer has none. */
static struct ronde_end *find_receiver(const struct ronde_task *peer,
                                       const struct directory *directories, uint32_t sender,
                                       uint32_t tag)
{
    const struct ronde_view *view = &peer->view;
    const struct directory *directory = &directories[view->program - view->schedule->programs];
    const uint64_t key = key_of(stored_peer(view, sender), tag);
    for (uint32_t k = find_entry(directory, key);
         k < directory->count && directory->entries[k].key == key; k++) {
        struct ronde_end *end = &peer->ends[directory->entries[k].end];
        if (!end->mine)
            return end;
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
static void connect_sends(struct ronde_loaded *loaded, struct ronde_task *task,
                          const struct directory *directories)
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
        struct ronde_end *receiver = find_receiver(&loaded->tasks[peer], directories,
                                                   task->view.position, program->connections[c].tag);
        if (receiver)
            bind(receiver, fifo, false);
    }
}

/* In a proved schedule the second loop finds nothing; in a mutant it keeps half a connection from being a crash. */
static void connect_all(struct ronde_loaded *loaded, const struct directory *directories)
{
    loaded->fifo_count = 0;
    for (uint32_t t = 0; t < loaded->task_count; t++)
        connect_sends(loaded, &loaded->tasks[t], directories);
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const struct ronde_task *task = &loaded->tasks[t];
        for (uint32_t c = 0; c < task->view.program->connection_count; c++)
            if (!task->ends[c].mine)
                bind(&task->ends[c], &loaded->fifos[loaded->fifo_count++], false);
    }
}

bool ronde_loaded_connect(struct ronde_loaded *loaded)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    struct ronde_arena *arena = ronde_arena_create(loaded->mem);
    struct directory *directories =
        arena ? ronde_arena_new(arena, schedule->program_count, sizeof *directories) : NULL;
    bool is_listed = directories != NULL;
    for (uint32_t p = 0; p < schedule->program_count && is_listed; p++)
        is_listed = list_receivers(arena, &schedule->programs[p], &directories[p]);
    if (is_listed)
        connect_all(loaded, directories);
    ronde_arena_destroy(arena);
    return is_listed;
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
