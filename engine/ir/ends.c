/* Ends of connections, found by bisection. See ends.h. */
#include "engine/ir/ends.h"

#include <stdlib.h>

static int compare_keys(const struct ronde_end_entry *a, const struct ronde_end_entry *b)
{
    if (a->is_send != b->is_send)
        return a->is_send ? 1 : -1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int compare_entries(const void *left, const void *right)
{
    const struct ronde_end_entry *a = left, *b = right;
    const int order = compare_keys(a, b);
    return order != 0 ? order : a->end < b->end ? -1 : a->end > b->end;
}

bool ronde_ends_list(struct ronde_ends *out, const struct ronde_program *program,
                     struct ronde_arena *arena)
{
    out->count = program->connection_count;
    out->entries = ronde_arena_new(arena, out->count, sizeof *out->entries);
    if (!out->entries)
        return false;
    for (uint32_t c = 0; c < out->count; c++) {
        const struct ronde_connection *connection = &program->connections[c];
        out->entries[c] =
            (struct ronde_end_entry){(uint64_t)connection->peer << 32 | connection->tag, c,
                                     connection->is_send};
    }
    qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    return true;
}

struct ronde_ends *ronde_ends_list_all(const struct ronde_schedule *schedule,
                                       struct ronde_arena *arena)
{
    struct ronde_ends *all = ronde_arena_new(arena, schedule->program_count, sizeof *all);
    for (uint32_t p = 0; all && p < schedule->program_count; p++)
        if (!ronde_ends_list(&all[p], &schedule->programs[p], arena))
            return NULL;
    return all;
}

const struct ronde_end_entry *ronde_ends_find(const struct ronde_ends *ends,
                                              const struct ronde_end_entry *wanted,
                                              uint32_t *out_count)
{
    uint32_t low = 0, high = ends->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (compare_keys(&ends->entries[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t end = low;
    while (end < ends->count && ronde_ends_are_same(&ends->entries[end], wanted))
        end++;
    *out_count = end - low;
    return &ends->entries[low];
}
