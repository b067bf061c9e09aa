/* Traces: what a file is, reading it, and what several files say together. See ronde/traces.h. */
#include "gather.h"
#include "json_pull.h"

#include <string.h>

/* Keys of a file's first object, and what they are of. */
static const struct {
    const char *key;
    enum ronde_trace_format format;
} signs[] = {
    {"traceEvents", RONDE_TRACE_KINETO},      {"schemaVersion", RONDE_TRACE_KINETO},
    {"deviceProperties", RONDE_TRACE_KINETO}, {"distributedInfo", RONDE_TRACE_KINETO},
    {"entries", RONDE_TRACE_RECORDER},        {"pg_config", RONDE_TRACE_RECORDER},
    {"pg_status", RONDE_TRACE_RECORDER},      {"nccl_comm_state", RONDE_TRACE_RECORDER},
    {"coll_perf", RONDE_TRACE_INSPECTOR},     {"p2p_perf", RONDE_TRACE_INSPECTOR},
    {"header", RONDE_TRACE_INSPECTOR},        {"n_ranks", RONDE_TRACE_INSPECTOR},
};

static enum ronde_trace_format of_object(struct source *source)
{
    bool is_first = true;
    char key[32];
    struct pull_span value;
    if (!pull_expect(source, '{'))
        return RONDE_TRACE_FORMAT_COUNT;
    while (pull_next_key(source, &is_first, key, sizeof key)) {
        for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
            if (strcmp(key, signs[i].key) == 0)
                return signs[i].format;
        if (!pull_take(source, &value))
            break;
        if (strcmp(key, "kind") == 0 &&
            (pull_is(value, "nccl_run") || pull_is(value, "nccl_run_end")))
            return RONDE_TRACE_RUNS;
    }
    return RONDE_TRACE_FORMAT_COUNT;
}

/* A bare array of events: Chrome's complete ones are Kineto's, pairs of "b" and "e" are NCCL's example profiler's. */
static enum ronde_trace_format of_array(struct source *source)
{
    bool is_first = true;
    struct pull_span event;
    if (!pull_expect(source, '[') || !pull_next_item(source, &is_first, &event))
        return RONDE_TRACE_FORMAT_COUNT;
    const struct pull_span phase = pull_member(event, "ph");
    const bool is_pair = pull_is(phase, "b") || pull_is(phase, "e");
    return !phase.at ? RONDE_TRACE_FORMAT_COUNT
           : is_pair ? RONDE_TRACE_EXAMPLE
                     : RONDE_TRACE_KINETO;
}

static bool begins(const struct source *source, const char *with)
{
    const size_t bytes = strlen(with);
    return source->end - source->at >= bytes && memcmp(source->bytes + source->at, with, bytes) == 0;
}

/* What does not go on as it began is refused by whoever reads it. */
static enum ronde_trace_format sniff(struct source *source)
{
    const char first = pull_peek(source);
    const bool is_named =
        begins(source, "nccl_") || begins(source, "# HELP nccl_") || begins(source, "# TYPE nccl_");
    return first == '{'                   ? of_object(source)
           : first == '['                 ? of_array(source)
           : (unsigned char)first == 0x80 ? RONDE_TRACE_RECORDER
           : is_named                     ? RONDE_TRACE_PROMETHEUS
                                          : RONDE_TRACE_FORMAT_COUNT;
}

enum ronde_status ronde_trace_sniff(const char *path, const struct ronde_mem *mem,
                                    enum ronde_trace_format *out, struct ronde_error *error)
{
    struct source source;
    *out = RONDE_TRACE_FORMAT_COUNT;
    if (source_open(&source, path, mem, error) && (pull_peek(&source), source.status == RONDE_OK)) {
        source.error = NULL;
        *out = sniff(&source);
        source.status = RONDE_OK;
    }
    return source_close(&source);
}

void ronde_traces_open(struct ronde_traces *traces, const struct ronde_mem *mem)
{
    *traces = (struct ronde_traces){.mem = mem};
}

static bool read_source(struct source *source, struct ronde_traces *traces,
                        enum ronde_trace_format format)
{
    switch (format) {
    case RONDE_TRACE_KINETO:
        return kineto_read(source, traces);
    case RONDE_TRACE_INSPECTOR:
    case RONDE_TRACE_RUNS:
        return inspector_read(source, traces, format);
    case RONDE_TRACE_EXAMPLE:
        return example_read(source, traces);
    case RONDE_TRACE_PROMETHEUS:
        return prometheus_read(source, traces);
    case RONDE_TRACE_RECORDER:
        return recorder_read(source, traces);
    case RONDE_TRACE_FORMAT_COUNT:
        break;
    }
    source->status =
        ronde_fail(source->error, RONDE_BAD_INPUT, "%.200s: no trace of collectives", source->path);
    return false;
}

enum ronde_status ronde_traces_add(struct ronde_traces *traces, const char *path,
                                   enum ronde_trace_format format, struct ronde_error *error)
{
    struct source source;
    if (source_open(&source, path, traces->mem, error))
        (void)read_source(&source, traces, format);
    return source_close(&source);
}

enum ronde_status ronde_traces_add_text(struct ronde_traces *traces, const char *text, size_t bytes,
                                        const char *path, enum ronde_trace_format format,
                                        struct ronde_error *error)
{
    struct source source;
    source_open_text(&source, path, text, bytes, traces->mem, error);
    (void)read_source(&source, traces, format);
    return source_close(&source);
}

void ronde_traces_close(struct ronde_traces *traces)
{
    const struct ronde_mem *mem = traces->mem;
    struct ronde_job_group *groups = traces->groups.items;
    for (uint32_t g = 0; g < traces->groups.count; g++)
        ronde_mem_free(mem, groups[g].ranks, groups[g].count, sizeof(uint32_t));
    ronde_list_free(mem, &traces->processes, sizeof(struct ronde_trace_process));
    ronde_list_free(mem, &traces->groups, sizeof *groups);
    ronde_list_free(mem, &traces->calls, sizeof(struct ronde_trace_call));
    ronde_list_free(mem, &traces->members, sizeof(struct trace_member));
    ronde_list_free(mem, &traces->standings, sizeof(struct trace_standing));
    ronde_list_free(mem, &traces->remarks, sizeof(struct ronde_trace_remark));
}
