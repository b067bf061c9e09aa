/* Connections of a loaded schedule. See connect.h. */
#include "engine/execute/connect.h"

#include <stdlib.h>

/* Lengths of a connection start a pair of cache lines of their own: its sender writes them. */
#define LENGTHS_PER_LINES 16u

/* Slots start on cache lines; single ones, so that the slots of short messages stay close together. */
#define SLOT_ALIGNMENT 64u

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

/* The receiving ends of a peer's program that a position sends to with `tag`: only a mutant has several. */
struct matches {
    const struct entry *entries;
    uint32_t count;
};

static struct matches find_matches(const struct ronde_view *peer,
                                   const struct directory *directories, uint32_t sender,
                                   uint32_t tag)
{
    const struct directory *directory = &directories[peer->program - peer->schedule->programs];
    const uint64_t key = key_of(stored_peer(peer, sender), tag);
    const uint32_t first = find_entry(directory, key);
    struct matches matches = {directory->entries + first, 0};
    while (first + matches.count < directory->count && matches.entries[matches.count].key == key)
        matches.count++;
    return matches;
}

/* The unbound receiving end of the connection that a position sends on with `tag`, or NONE if the peer has none. */
static uint32_t find_receiver(const struct ronde_task *peer, const struct directory *directories,
                              uint32_t sender, uint32_t tag)
{
    const struct matches matches = find_matches(&peer->view, directories, sender, tag);
    for (uint32_t k = 0; k < matches.count; k++)
        if (!peer->ends[matches.entries[k].end].mine)
            return matches.entries[k].end;
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
        struct ronde_task *peer =
            &loaded->tasks[(size_t)ronde_view_peer(&task->view, c) * channels + (size_t)channel];
        const uint32_t receiver =
            find_receiver(peer, directories, task->view.position, program->connections[c].tag);
        if (receiver == RONDE_NONE)
            continue;
        bind(&peer->ends[receiver], fifo, false);
        loaded->remote_ends[&task->ends[c] - loaded->ends] =
            (struct ronde_remote_end){peer, receiver};
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

/* The receivers of every program, or NULL if there is no memory. */
static struct directory *list_all(struct ronde_arena *arena, const struct ronde_schedule *schedule)
{
    struct directory *directories =
        arena ? ronde_arena_new(arena, schedule->program_count, sizeof *directories) : NULL;
    bool is_listed = directories != NULL;
    for (uint32_t p = 0; p < schedule->program_count && is_listed; p++)
        is_listed = list_receivers(arena, &schedule->programs[p], &directories[p]);
    return is_listed ? directories : NULL;
}

bool ronde_loaded_connect(struct ronde_loaded *loaded)
{
    struct ronde_arena *arena = ronde_arena_create(loaded->mem);
    const struct directory *directories = list_all(arena, loaded->schedule);
    if (directories)
        connect_all(loaded, directories);
    ronde_arena_destroy(arena);
    return directories != NULL;
}

/* The ports of a task; false for one whose receiver does not exist. */
static bool list_ports(const struct ronde_loaded *loaded, const struct ronde_task *task,
                       const struct directory *directories)
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
        const struct matches matches =
            find_matches(&view, directories, task->view.position, program->connections[c].tag);
        if (matches.count != 1)
            return false;
        ports[c].number = matches.entries[0].end;
    }
    return true;
}

enum ronde_status ronde_loaded_find_ports(struct ronde_loaded *loaded, struct ronde_error *error)
{
    struct ronde_arena *arena = ronde_arena_create(loaded->mem);
    const struct directory *directories = list_all(arena, loaded->schedule);
    bool is_whole = true;
    loaded->ports = ronde_arena_new(loaded->arena, loaded->end_count, sizeof *loaded->ports);
    for (uint64_t e = 0; loaded->ports && e < loaded->end_count; e++)
        loaded->ports[e].peer = RONDE_NONE;
    for (uint32_t t = 0; directories && loaded->ports && t < loaded->task_count && is_whole; t++)
        is_whole = list_ports(loaded, &loaded->tasks[t], directories);
    ronde_arena_destroy(arena);
    if (!directories || !loaded->ports)
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
