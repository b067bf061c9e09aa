/* What readers of traces put their findings into. See gather.h. */
#include "gather.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* More groups of one job are refused: none has as many. */
#define MOST_GROUPS 65536u

const char *ronde_trace_format_text(enum ronde_trace_format format)
{
    static const char *const texts[] = {
#define RONDE_TEXT(name, text) text,
        RONDE_TRACE_FORMAT_LIST(RONDE_TEXT)
#undef RONDE_TEXT
            "no trace"};
    return texts[format];
}

uint64_t gather_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    hash ^= UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

struct ronde_trace_process *gather_process(struct ronde_traces *traces,
                                           enum ronde_trace_format format, const char *path,
                                           uint32_t *out_index)
{
    struct ronde_trace_process *process =
        ronde_list_push(traces->mem, &traces->processes, sizeof *process);
    if (!process)
        return NULL;
    *out_index = traces->processes.count - 1;
    process->format = format;
    process->rank = RONDE_TRACE_NONE;
    snprintf(process->path, sizeof process->path, "%s", path);
    return process;
}

struct ronde_trace_call *gather_call(struct ronde_traces *traces, uint32_t process)
{
    struct ronde_trace_call *call = ronde_list_push(traces->mem, &traces->calls, sizeof *call);
    if (call)
        *call = (struct ronde_trace_call){.start_ns = RONDE_TRACE_NO_TIME,
                                          .duration_ns = RONDE_TRACE_NO_TIME,
                                          .exposed_ns = RONDE_TRACE_NO_TIME,
                                          .bytes = RONDE_TRACE_NO_NUMBER,
                                          .in_bytes = RONDE_TRACE_NO_NUMBER,
                                          .sequence = RONDE_TRACE_NO_NUMBER,
                                          .process = process,
                                          .group = RONDE_TRACE_NONE,
                                          .rank = RONDE_TRACE_NONE,
                                          .step = RONDE_TRACE_NONE,
                                          .repeats = 1,
                                          .collective = RONDE_COLLECTIVE_COUNT};
    return call;
}

int gather_by_rank(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static bool is_group(const struct ronde_job_group *group, uint64_t key, const uint32_t *ranks,
                     uint32_t count)
{
    return group->key == key && group->count == count && (ranks == NULL) == (group->ranks == NULL) &&
           (!ranks || memcmp(group->ranks, ranks, count * sizeof *ranks) == 0);
}

/* The group of such ranks or, without ranks, of such a key; a new one where there is none. */
static uint32_t find_group(struct ronde_traces *traces, uint64_t key, const uint32_t *ranks,
                           uint32_t count, uint32_t size)
{
    const struct ronde_job_group *groups = traces->groups.items;
    for (uint32_t g = 0; g < traces->groups.count; g++)
        if (is_group(&groups[g], key, ranks, count))
            return g;
    if (traces->groups.count == MOST_GROUPS)
        return RONDE_TRACE_NONE;
    struct ronde_job_group *group = ronde_list_push(traces->mem, &traces->groups, sizeof *group);
    if (!group)
        return RONDE_TRACE_NONE;
    group->key = key;
    group->size = size;
    if (ranks) {
        group->ranks = ronde_mem_new(traces->mem, count, sizeof *ranks);
        if (!group->ranks)
            return RONDE_TRACE_NONE;
        memcpy(group->ranks, ranks, count * sizeof *ranks);
        group->count = count;
    }
    return traces->groups.count - 1;
}

uint32_t gather_group_of_ranks(struct ronde_traces *traces, uint32_t *ranks, uint32_t count)
{
    uint32_t unique = 0;
    qsort(ranks, count, sizeof *ranks, gather_by_rank);
    for (uint32_t i = 0; i < count; i++)
        if (unique == 0 || ranks[i] != ranks[unique - 1])
            ranks[unique++] = ranks[i];
    return find_group(traces, gather_hash(0, ranks, unique * sizeof *ranks), ranks, unique, unique);
}

uint32_t gather_group_of_key(struct ronde_traces *traces, uint64_t key, uint32_t size)
{
    return find_group(traces, key, NULL, 0, size);
}

bool gather_ranks(struct source *source, struct pull_span text, struct ronde_list *out,
                  bool *out_is_cut, const char *name, const char *where)
{
    *out_is_cut = false;
    for (size_t i = 0; i < text.bytes; i++) {
        uint64_t rank = 0;
        size_t digits = 0;
        *out_is_cut = *out_is_cut || text.at[i] == '.';
        for (; i < text.bytes && text.at[i] >= '0' && text.at[i] <= '9'; i++, digits++)
            rank = rank > UINT32_MAX ? rank : rank * 10 + (uint64_t)(text.at[i] - '0');
        const uint32_t item = (uint32_t)rank;
        if (digits > 0 && (rank >= RONDE_MAX_RANKS || out->count >= RONDE_MAX_RANKS))
            return source_refuse(source, "ranks of process group \"%s\"%s are none", name, where);
        if (digits > 0 && !source_keep(source, out, &item, sizeof item))
            return false;
    }
    return true;
}

bool gather_number(struct pull_span span, int64_t *out)
{
    int64_t value = 0;
    if (!span.at || !pull_integer(span, &value) || value < 0)
        return false;
    *out = value;
    return true;
}

bool gather_has_members(enum ronde_trace_format format)
{
    return format == RONDE_TRACE_INSPECTOR || format == RONDE_TRACE_RUNS ||
           format == RONDE_TRACE_EXAMPLE;
}

bool gather_member(struct ronde_traces *traces, uint32_t group, uint32_t rank, uint32_t process)
{
    const struct trace_member *members = traces->members.items;
    /* A process repeats its communicators in turns: the latest are looked at. */
    for (uint32_t m = traces->members.count; m > 0 && members[m - 1].process == process; m--)
        if (members[m - 1].group == group)
            return true;
    const struct trace_member member = {group, rank, process};
    return ronde_list_append(traces->mem, &traces->members, &member, sizeof member);
}

void gather_remark(struct ronde_traces *traces, const char *format, ...)
{
    struct ronde_trace_remark remark = {.text = ""};
    const struct ronde_trace_remark *there = traces->remarks.items;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(remark.text, sizeof remark.text, format, arguments);
    va_end(arguments);
    for (uint32_t r = 0; r < traces->remarks.count; r++)
        if (strcmp(there[r].text, remark.text) == 0)
            return;
    (void)ronde_list_append(traces->mem, &traces->remarks, &remark, sizeof remark);
}
