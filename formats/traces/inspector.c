/*
 * NCCL Inspector's log, and what ronde's profiler plug-in records: a JSON object a line, a file per process, its communicators in
 * turns. A record's rank is its communicator's; which process is which rank of the job follows when all files are read (join.c).
 */
#include "gather.h"

#include <inttypes.h>
#include <string.h>

/* Added to numbers of calls that are counted apart. */
#define COPY_ENGINE (UINT64_C(1) << 48)

/* How either calls what both have. */
struct names {
    const char *id, *ranks, *nodes, *host;
};

static const struct names of_inspector = {"id", "n_ranks", "nnodes", "hostname"},
                          of_ronde = {"comm", "ranks", "nodes", "host"};

/* A reader, and the processes that the file has: one, unless logs were put together. */
struct inspector {
    struct source *source;
    struct ronde_traces *traces;
    enum ronde_trace_format format;
    const struct names *names;
    uint32_t line;
    uint64_t process_key[64]; /* of the latest processes of this file, by host and pid */
    uint32_t process[64];
    uint32_t processes;
};

static bool refuse(struct inspector *inspector, const char *what)
{
    return source_refuse_line(inspector->source, inspector->line, "%s; this is read as %s", what,
                              ronde_trace_format_text(inspector->format));
}

/* A member of a record's part, or of the record itself, as forks flatten it. */
static struct pull_span field(struct pull_span record, const char *part, const char *name)
{
    const struct pull_span inner = pull_member(record, part);
    const struct pull_span found = inner.at ? pull_member(inner, name) : inner;
    return found.at ? found : pull_member(record, name);
}

static bool number(struct pull_span span, uint64_t *out)
{
    int64_t value = 0;
    const bool is_there = gather_number(span, &value);
    if (is_there)
        *out = (uint64_t)value;
    return is_there;
}

/* The process of a record, by host and pid. */
static bool find_process(struct inspector *inspector, struct pull_span record, uint32_t *out)
{
    const struct pull_span host = field(record, "metadata", inspector->names->host),
                           pid = field(record, "metadata", "pid");
    const uint64_t key = gather_hash(gather_hash(0, host.at, host.bytes), pid.at, pid.bytes);
    for (uint32_t p = 0; p < inspector->processes; p++)
        if (inspector->process_key[p] == key) {
            *out = inspector->process[p];
            return true;
        }
    struct ronde_trace_process *process =
        gather_process(inspector->traces, inspector->format, inspector->source->path, out);
    if (!process)
        return source_no_memory(inspector->source);
    process->has_host = host.at && pull_text(host, process->host, sizeof process->host);
    if (inspector->processes == sizeof inspector->process / sizeof inspector->process[0])
        return refuse(inspector, "records of more than 64 processes in one file");
    inspector->process_key[inspector->processes] = key;
    inspector->process[inspector->processes++] = *out;
    return true;
}

/* Its communicator, of which the process is a member. */
static bool find_group(struct inspector *inspector, struct pull_span record, uint32_t process,
                       uint32_t *out, uint32_t *out_size)
{
    const struct names *names = inspector->names;
    const struct pull_span id = field(record, "header", names->id);
    uint64_t rank = 0, ranks = 0, nodes = 0;
    /* NCCL does not tell a plug-in of an old interface how many ranks there are. */
    const bool has_ranks = number(field(record, "header", names->ranks), &ranks);
    const bool may_lack = inspector->format == RONDE_TRACE_RUNS && !has_ranks;
    if (!id.at || !number(field(record, "header", "rank"), &rank) || rank >= RONDE_MAX_RANKS ||
        ranks > RONDE_MAX_RANKS || (!may_lack && (ranks == 0 || rank >= ranks)))
        return refuse(inspector, "a record without a communicator's id, rank and number of ranks");
    *out_size = (uint32_t)ranks;
    *out = gather_group_of_key(inspector->traces, gather_hash(ranks, id.at, id.bytes),
                               (uint32_t)ranks);
    if (*out == RONDE_TRACE_NONE || !gather_member(inspector->traces, *out, (uint32_t)rank, process))
        return source_no_memory(inspector->source);
    struct ronde_job_group *group = inspector->traces->groups.items;
    if (number(field(record, "header", names->nodes), &nodes) && nodes <= ranks)
        group[*out].nodes = (uint32_t)nodes;
    return true;
}

/* A call of a record's process and communicator; NULL where that is refused. */
static struct ronde_trace_call *add_call(struct inspector *inspector, struct pull_span record,
                                         uint32_t *out_group, uint32_t *out_size)
{
    uint32_t process = 0;
    if (!find_process(inspector, record, &process) ||
        !find_group(inspector, record, process, out_group, out_size))
        return NULL;
    struct ronde_trace_call *call = gather_call(inspector->traces, process);
    if (!call)
        (void)source_no_memory(inspector->source);
    return call;
}

/* Sizes are of one rank: what nccl-tests counts of all_gather and reduce_scatter is n times as much. */
static uint64_t size_of(enum ronde_collective collective, uint32_t ranks, uint64_t bytes)
{
    const bool is_part = collective == RONDE_ALL_GATHER || collective == RONDE_REDUCE_SCATTER;
    return is_part && bytes <= INT64_MAX / ranks ? bytes * ranks : bytes;
}

static bool add_performance(struct inspector *inspector, struct pull_span record,
                            struct pull_span performance)
{
    uint32_t group = 0, size = 0;
    uint64_t bytes = 0;
    int64_t duration = 0;
    char name[32];
    bool is_call = false;
    const bool is_pair = pull_member(performance, "p2p").at != NULL;
    struct ronde_trace_call *call = add_call(inspector, record, &group, &size);
    if (!call)
        return false;
    (void)pull_text(pull_member(performance, is_pair ? "p2p" : "coll"), name, sizeof name);
    call->collective = name_collective(name, &is_call);
    /* Members of a pair count for themselves: what one sends is not the call of its number elsewhere. */
    call->group = is_pair ? RONDE_TRACE_NONE : group;
    if (number(pull_member(performance, is_pair ? "p2p_msg_size_bytes" : "coll_msg_size_bytes"),
               &bytes))
        call->bytes = size_of(call->collective, size, bytes);
    if (!is_pair)
        (void)number(pull_member(performance, "coll_sn"), &call->sequence);
    const struct pull_span time =
        pull_member(performance, is_pair ? "p2p_exec_time_us" : "coll_exec_time_us");
    if (time.at && pull_scaled(time, 3, &duration) && duration >= 0)
        call->duration_ns = duration;
    return true;
}

/* What ronde's plug-in saw of a call: nccl-tests' size, nanoseconds. */
static bool add_run(struct inspector *inspector, struct pull_span record)
{
    uint32_t group = 0, size = 0;
    char name[32];
    bool is_call = false;
    struct ronde_trace_call *call = add_call(inspector, record, &group, &size);
    if (!call)
        return false;
    (void)pull_text(pull_member(record, "collective"), name, sizeof name);
    call->collective = name_collective(name, &is_call);
    call->group = call->collective == RONDE_SEND_RECV ? RONDE_TRACE_NONE : group;
    (void)number(pull_member(record, "bytes"), &call->bytes);
    (void)number(pull_member(record, "seq"), &call->sequence);
    /* Calls of the copy engine are counted apart. */
    if (call->sequence < COPY_ENGINE && pull_is(pull_member(record, "algorithm"), "CopyEngine"))
        call->sequence += COPY_ENGINE;
    (void)gather_number(pull_member(record, "time_ns"), &call->duration_ns);
    return true;
}

/* The last line of a communicator: how many events had no room. */
static void end_runs(struct inspector *inspector, struct pull_span record)
{
    uint64_t lost = 0;
    if (number(pull_member(record, "lost"), &lost) && lost > 0)
        gather_remark(inspector->traces,
                      "%.120s: the profiler had no room for %" PRIu64
                      " events; their calls are not "
                      "in it",
                      inspector->source->path, lost);
}

/* Whether a line is one value, an object. */
static bool is_object(const struct inspector *inspector, struct pull_span line)
{
    struct source text;
    struct pull_span value;
    source_open_text(&text, inspector->source->path, line.at, line.bytes, inspector->traces->mem,
                     NULL);
    return pull_take(&text, &value) && value.at[0] == '{' && pull_end(&text);
}

static bool read_line(struct inspector *inspector, struct pull_span line, bool is_whole)
{
    while (line.bytes > 0 && strchr(" \t\r", line.at[line.bytes - 1]))
        line.bytes--;
    if (line.bytes == 0)
        return true;
    if (!is_object(inspector, line)) {
        if (is_whole)
            return refuse(inspector, "no object of JSON");
        gather_remark(inspector->traces, "%.160s: the last line was cut off, and is left out",
                      inspector->source->path);
        return true;
    }
    if (inspector->format == RONDE_TRACE_RUNS) {
        const struct pull_span kind = pull_member(line, "kind");
        if (pull_is(kind, "nccl_run_end"))
            end_runs(inspector, line);
        return !pull_is(kind, "nccl_run") || add_run(inspector, line);
    }
    struct pull_span performance = pull_member(line, "coll_perf");
    if (!performance.at)
        performance = pull_member(line, "p2p_perf");
    return !performance.at || add_performance(inspector, line, performance);
}

bool inspector_read(struct source *source, struct ronde_traces *traces,
                    enum ronde_trace_format format)
{
    struct inspector inspector = {.source = source,
                                  .traces = traces,
                                  .format = format,
                                  .names = format == RONDE_TRACE_RUNS ? &of_ronde : &of_inspector};
    struct pull_span line;
    bool is_whole = false;
    while (pull_line(source, &line, &is_whole)) {
        inspector.line++;
        if (!read_line(&inspector, line, is_whole))
            return false;
    }
    return source->status == RONDE_OK;
}
