/* From the lines of a program to a program: lanes, dependencies, connections. */
#include "draft.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Capacity is kept: a text of many small programs allocates as one of their largest. */
void text_draft_start(struct text_draft *draft, uint32_t scratch_chunks)
{
    memset(&draft->program, 0, sizeof draft->program);
    draft->program.scratch_chunks = scratch_chunks;
    draft->steps.count = 0;
    draft->lines.count = 0;
    draft->lane_first.count = 0;
    draft->uses.count = 0;
    draft->sorted.count = 0;
    draft->afters.count = 0;
    draft->ranges.count = 0;
}

void text_draft_free(struct text_draft *draft)
{
    ronde_list_free(draft->mem, &draft->steps, sizeof(struct ronde_step));
    ronde_list_free(draft->mem, &draft->lines, sizeof(uint32_t));
    ronde_list_free(draft->mem, &draft->lane_first, sizeof(uint32_t));
    ronde_list_free(draft->mem, &draft->uses, sizeof(struct text_use));
    ronde_list_free(draft->mem, &draft->sorted, sizeof(struct text_sorted));
    ronde_list_free(draft->mem, &draft->afters, sizeof(struct text_after));
    ronde_list_free(draft->mem, &draft->ranges, sizeof(struct ronde_range));
}

/* Begins a lane at the next step, which also ends the lane before it. */
static bool add_lane(struct text_draft *draft, struct text_lexer *lexer)
{
    const uint32_t lanes = draft->lane_first.count;
    const uint32_t *firsts = draft->lane_first.items;
    if (lanes > 0 && firsts[lanes - 1] == draft->steps.count)
        return text_fail_at(lexer, draft->lane_line, "lane %" PRIu32 " has no steps", lanes - 1);
    draft->lane_line = lexer->line;
    return ronde_list_append(draft->mem, &draft->lane_first, &draft->steps.count,
                             sizeof draft->steps.count) ||
           text_fail_memory(lexer);
}

bool text_draft_lane(struct text_draft *draft, struct text_lexer *lexer)
{
    const uint32_t next = draft->lane_first.count;
    uint32_t number;
    /* The number is redundant, and there so that "after 2.5" can be followed by eye. */
    if (!text_need_number(lexer, "lane", 0, RONDE_NONE - 1, &number))
        return false;
    if (number != next)
        return text_fail(lexer, "expected lane %" PRIu32 ", found lane %" PRIu32, next, number);
    return text_need_end(lexer) && add_lane(draft, lexer);
}

bool text_draft_add_step(struct text_draft *draft, struct text_lexer *lexer,
                         const struct ronde_step *step)
{
    /* Lane 0 may be omitted. */
    if (draft->lane_first.count == 0 && !add_lane(draft, lexer))
        return false;
    return (ronde_list_append(draft->mem, &draft->steps, step, sizeof *step) &&
            ronde_list_append(draft->mem, &draft->lines, &lexer->line, sizeof(uint32_t))) ||
           text_fail_memory(lexer);
}

/* Checks one dependency of a step in `lane` and turns it into a step of the program. */
static bool resolve_after(const struct text_draft *draft, struct text_lexer *lexer, uint32_t lane,
                          uint32_t line, const struct text_after *after, uint32_t *out_step)
{
    const uint32_t lanes = draft->program.lane_count;
    const uint32_t *first = draft->program.lane_first;
    if (after->lane >= lanes)
        return text_fail_at(lexer, line,
                            "after %" PRIu32 ".%" PRIu32 ": the program has %" PRIu32 " lanes",
                            after->lane, after->step, lanes);
    const uint32_t steps = first[after->lane + 1] - first[after->lane];
    if (after->step >= steps)
        return text_fail_at(lexer, line,
                            "after %" PRIu32 ".%" PRIu32 ": lane %" PRIu32 " has %" PRIu32 " steps",
                            after->lane, after->step, after->lane, steps);
    if (after->lane == lane)
        return text_fail_at(lexer, line,
                            "after %" PRIu32 ".%" PRIu32 ": steps of one lane are in order anyway",
                            after->lane, after->step);
    *out_step = first[after->lane] + after->step;
    return true;
}

/* The dependencies of a lane, in the order of its steps. */
static bool resolve_lane(struct text_draft *draft, struct text_lexer *lexer, uint32_t lane)
{
    const struct ronde_program *program = &draft->program;
    const struct text_after *afters = draft->afters.items;
    const uint32_t *lines = draft->lines.items;
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
        const uint32_t first = program->steps[s].first_dependency;
        const uint32_t end = first + program->steps[s].dependency_count;
        for (uint32_t d = first; d < end; d++)
            if (!resolve_after(draft, lexer, lane, lines[s], &afters[d], &program->dependencies[d]))
                return false;
    }
    return true;
}

/* By key, equal keys in order of use. Sorting, not hashing, so that no file can make it slow. */
static int compare_uses(const void *left, const void *right)
{
    const struct text_sorted *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->use < b->use ? -1 : a->use > b->use;
}

/* Gives every use the index of the first use of its connection; returns the number of connections. */
static uint32_t find_first_uses(struct text_use *uses, struct text_sorted *sorted, uint32_t count)
{
    for (uint32_t u = 0; u < count; u++) {
        sorted[u].key = uses[u].key;
        sorted[u].use = u;
    }
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, compare_uses);
    uint32_t connections = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i].key != sorted[i - 1].key) {
            first = sorted[i].use;
            connections++;
        }
        uses[sorted[i].use].connection = first;
    }
    return connections;
}

/* Numbers the connections in order of first use, which is what makes two readings of one text equal. */
static bool resolve_uses(struct text_draft *draft, struct text_lexer *lexer,
                         struct ronde_arena *arena)
{
    struct ronde_program *program = &draft->program;
    const uint32_t count = draft->uses.count;
    if (!ronde_mem_grow(draft->mem, &draft->sorted.items, &draft->sorted.capacity, count,
                        sizeof(struct text_sorted)))
        return text_fail_memory(lexer);
    struct text_use *uses = draft->uses.items;
    const uint32_t connections = find_first_uses(uses, draft->sorted.items, count);
    program->connections = ronde_arena_new(arena, connections, sizeof *program->connections);
    if (!program->connections)
        return text_fail_memory(lexer);
    for (uint32_t u = 0; u < count; u++) {
        const uint64_t key = uses[u].key;
        if (uses[u].connection != u) {
            uses[u].connection = uses[uses[u].connection].connection;
        } else {
            uses[u].connection = program->connection_count++;
            program->connections[uses[u].connection] = text_use_connection(key);
        }
        struct ronde_step *step = &program->steps[uses[u].step];
        *(key & 1 ? &step->send : &step->receive) = uses[u].connection;
    }
    return true;
}

/* Copies a list to the arena; NULL when there is no memory, and for an empty list a valid pointer. */
static void *keep(struct ronde_arena *arena, const struct ronde_list *list, size_t element_bytes)
{
    void *copy = ronde_arena_new(arena, list->count, element_bytes);
    if (copy && list->count > 0)
        memcpy(copy, list->items, list->count * element_bytes);
    return copy;
}

bool text_draft_finish(struct text_draft *draft, struct text_lexer *lexer,
                       struct ronde_arena *arena, struct ronde_program *out_program)
{
    struct ronde_program *program = &draft->program;
    /* lane_first ends with the number of steps, which is where a next lane would begin. */
    program->lane_count = draft->lane_first.count;
    if (!add_lane(draft, lexer))
        return false;
    program->step_count = draft->steps.count;
    program->dependency_count = draft->afters.count;
    program->range_count = draft->ranges.count;
    program->steps = keep(arena, &draft->steps, sizeof *program->steps);
    program->lane_first = keep(arena, &draft->lane_first, sizeof *program->lane_first);
    program->ranges = keep(arena, &draft->ranges, sizeof *program->ranges);
    program->dependencies =
        ronde_arena_new(arena, program->dependency_count, sizeof *program->dependencies);
    if (!program->steps || !program->lane_first || !program->ranges || !program->dependencies)
        return text_fail_memory(lexer);
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        if (!resolve_lane(draft, lexer, lane))
            return false;
    if (!resolve_uses(draft, lexer, arena))
        return false;
    *out_program = *program;
    return true;
}
