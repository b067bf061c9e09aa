/*
 * NCCL Inspector's Prometheus text: means of calls by class of sizes. Labels of two kinds: "hostname", "n_ranks", "coll_sn" of
 * one call, or "node", "gpu", "nranks" of all calls between two sizes, of which the smaller one is taken.
 */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES 96

/* The labels of a line: between braces. */
struct labels {
    const char *at, *end;
};

/* The text of a label; "" where it is not there. */
static const char *label(struct labels labels, const char *name, char to[LABEL_BYTES])
{
    const size_t bytes = strlen(name);
    to[0] = '\0';
    for (const char *at = labels.at; at < labels.end;) {
        const char *equals = memchr(at, '=', (size_t)(labels.end - at));
        const char *from = equals && equals + 1 < labels.end && equals[1] == '"' ? equals + 2 : NULL;
        const char *to_end = from ? memchr(from, '"', (size_t)(labels.end - from)) : NULL;
        if (!to_end)
            break;
        if ((size_t)(equals - at) == bytes && memcmp(at, name, bytes) == 0) {
            snprintf(to, LABEL_BYTES, "%.*s", (int)(to_end - from), from);
            break;
        }
        at = to_end + 1;
        while (at < labels.end && (*at == ',' || *at == ' '))
            at++;
    }
    return to;
}

static const char *either(struct labels labels, const char *one, const char *other,
                          char to[LABEL_BYTES])
{
    return *label(labels, one, to) ? to : label(labels, other, to);
}

/* "134-135MB", "2.00GB": the smaller number of the unit, decimal ones. */
static uint64_t size_of(const char *text)
{
    char *end = NULL;
    const double least = strtod(text, &end);
    const char *unit = end;
    if (end == text || !(least >= 0) || least > 1e6)
        return RONDE_TRACE_NO_NUMBER;
    while (*unit == '-' || *unit == '.' || *unit == ' ' || (*unit >= '0' && *unit <= '9'))
        unit++;
    const double scale = *unit == 'G' ? 1e9 : *unit == 'M' ? 1e6 : *unit == 'K' ? 1e3 : 1;
    return (uint64_t)(least * scale + .5);
}

/* The process of a GPU, which may have several lines. */
static uint32_t find_process(struct ronde_traces *traces, const char *path, const char *host,
                             const char *gpu)
{
    char name[RONDE_TRACE_PATH_BYTES];
    struct ronde_trace_process *processes = traces->processes.items;
    uint32_t index = RONDE_TRACE_NONE;
    snprintf(name, sizeof name, "%.200s %s %s", path, host, gpu);
    for (uint32_t p = traces->processes.count; p > 0; p--)
        if (processes[p - 1].format == RONDE_TRACE_PROMETHEUS &&
            strcmp(processes[p - 1].path, name) == 0)
            return p - 1;
    struct ronde_trace_process *process =
        gather_process(traces, RONDE_TRACE_PROMETHEUS, name, &index);
    if (!process)
        return RONDE_TRACE_NONE;
    process->has_host = host[0] != '\0';
    snprintf(process->host, sizeof process->host, "%.*s", RONDE_TRACE_HOST_BYTES - 1, host);
    return index;
}

static bool add_call(struct source *source, struct ronde_traces *traces, struct labels labels,
                     double time_us)
{
    char text[LABEL_BYTES], host[LABEL_BYTES], gpu[LABEL_BYTES];
    bool is_call = false;
    const uint32_t process =
        find_process(traces, source->path, either(labels, "node", "hostname", host),
                     either(labels, "gpu", "gpu_device_id", gpu));
    struct ronde_trace_call *call =
        process == RONDE_TRACE_NONE ? NULL : gather_call(traces, process);
    if (!call)
        return source_no_memory(source);
    const uint64_t ranks = strtoull(either(labels, "nranks", "n_ranks", text), NULL, 10);
    const uint64_t nodes = strtoull(label(labels, "n_nodes", text), NULL, 10);
    const bool is_known = ranks > 0 && ranks <= RONDE_MAX_RANKS;
    either(labels, "comm_id", "comm_name", text);
    uint64_t key = gather_hash(ranks, text, strlen(text));
    label(labels, "slurm_job_id", text);
    key = gather_hash(gather_hash(key, text, strlen(text)), &nodes, sizeof nodes);
    call->collective = name_collective(label(labels, "collective", text), &is_call);
    const uint64_t bytes = size_of(label(labels, "message_size", text));
    if (bytes != RONDE_TRACE_NO_NUMBER && is_known)
        call->bytes =
            bytes * (call->collective == RONDE_ALL_GATHER || call->collective == RONDE_REDUCE_SCATTER
                         ? ranks
                         : 1);
    call->duration_ns = (int64_t)(time_us * 1e3);
    if (*label(labels, "coll_sn", text))
        call->sequence = strtoull(text, NULL, 10);
    if (!is_known)
        return true;
    call->group = gather_group_of_key(traces, key, (uint32_t)ranks);
    if (call->group == RONDE_TRACE_NONE)
        return source_no_memory(source);
    ((struct ronde_job_group *)traces->groups.items)[call->group].nodes =
        nodes <= ranks ? (uint32_t)nodes : 0;
    return true;
}

static bool read_line(struct source *source, struct ronde_traces *traces, struct pull_span line,
                      uint32_t number)
{
    static const char metric[] = "nccl_collective_exec_time_microseconds{";
    char value[64];
    if (line.bytes < sizeof metric || memcmp(line.at, metric, sizeof metric - 1) != 0)
        return true;
    const char *from = line.at + sizeof metric - 1, *end = line.at + line.bytes;
    const char *close = memchr(from, '}', (size_t)(end - from));
    snprintf(value, sizeof value, "%.*s", close ? (int)(end - close - 1) : 0,
             close ? close + 1 : "");
    char *behind = NULL;
    const double time_us = strtod(value, &behind);
    if (!close || behind == value || !(time_us >= 0) || time_us > 1e12)
        return source_refuse_line(source, number,
                                  "a metric without labels in braces and microseconds");
    return add_call(source, traces, (struct labels){from, close}, time_us);
}

bool prometheus_read(struct source *source, struct ronde_traces *traces)
{
    struct pull_span line;
    bool is_whole = false;
    gather_remark(traces, "Prometheus text has means of calls, waiting included, by classes of "
                          "sizes: of each the smallest size is given");
    for (uint32_t number = 1; pull_line(source, &line, &is_whole); number++)
        if (!read_line(source, traces, line, number))
            return false;
    return source->status == RONDE_OK;
}
