/** Records of what ran. See profiler.h. */
#define _GNU_SOURCE
#include "profiler.h"

#include "plugin_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** NCCL's words and ronde's; others pass through. */
struct word {
    const char *theirs, *ours;
};
static const struct word funcs[] = {{"Broadcast", "broadcast"},
                                    {"Reduce", "reduce"},
                                    {"AllGather", "all_gather"},
                                    {"ReduceScatter", "reduce_scatter"},
                                    {"AllReduce", "all_reduce"},
                                    {"Send", "send"},
                                    {"Recv", "recv"},
                                    {"AlltoAll", "all_to_all"},
                                    {"AllToAll", "all_to_all"},
                                    {"Gather", "gather"},
                                    {"Scatter", "scatter"},
                                    {NULL, NULL}};
static const struct word algorithms[] = {{"TREE", "Tree"},
                                         {"RING", "Ring"},
                                         {"COLLNET_DIRECT", "CollNetDirect"},
                                         {"COLLNET_CHAIN", "CollNetChain"},
                                         {"NVLS_TREE", "NVLSTree"},
                                         {NULL, NULL}};
static const struct word protocols[] = {{"SIMPLE", "Simple"}, {NULL, NULL}};

/** Types, and bytes of an element. */
static const struct {
    const char *theirs, *ours;
    unsigned bytes;
} types[] = {{"ncclInt8", "int8", 1},         {"ncclUint8", "uint8", 1},
             {"ncclInt32", "int32", 4},       {"ncclUint32", "uint32", 4},
             {"ncclInt64", "int64", 8},       {"ncclUint64", "uint64", 8},
             {"ncclFloat16", "float16", 2},   {"ncclFloat32", "float32", 4},
             {"ncclFloat64", "float64", 8},   {"ncclBfloat16", "bfloat16", 2},
             {"ncclFloat8e4m3", "f8e4m3", 1}, {"ncclFloat8e5m2", "f8e5m2", 1}};
enum { TYPES = sizeof types / sizeof types[0] };

/** A text that may be of any kind as one that JSON takes as it is. */
static void take_text(char *to, size_t bytes, const char *from)
{
    size_t used = 0;
    for (; from && from[used] && used + 1 < bytes; used++) {
        const unsigned char c = (unsigned char)from[used];
        to[used] = c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : (char)c;
    }
    to[used] = '\0';
}

static void take_word(char *to, size_t bytes, const struct word *words, const char *from)
{
    for (; from && words->theirs; words++)
        if (strcmp(words->theirs, from) == 0)
            from = words->ours;
    take_text(to, bytes, from);
}

void run_begin(struct run *run, const struct event_v6 *event, uint64_t host_ns)
{
    const char *datatype = NULL;
    *run = (struct run){.type = event->type, .host_ns = host_ns};
    if (event->type == EVENT_COLL) {
        const struct event_coll_v4 *coll = &event->is.coll.as_v4;
        take_word(run->func, sizeof run->func, funcs, coll->func);
        take_word(run->algorithm, sizeof run->algorithm, algorithms, coll->algorithm);
        take_word(run->protocol, sizeof run->protocol, protocols, coll->protocol);
        datatype = coll->datatype;
        run->seq = coll->seq;
        run->count = coll->count;
        run->peer = coll->root;
        run->channels = coll->channels;
    } else if (event->type == EVENT_P2P) {
        take_word(run->func, sizeof run->func, funcs, event->is.p2p.func);
        datatype = event->is.p2p.datatype;
        run->count = event->is.p2p.count;
        run->peer = event->is.p2p.peer;
        run->channels = event->is.p2p.channels;
    } else {
        take_word(run->func, sizeof run->func, funcs, event->is.ce_coll.func);
        take_text(run->algorithm, sizeof run->algorithm, "CopyEngine");
        datatype = event->is.ce_coll.datatype;
        run->seq = event->is.ce_coll.seq;
        run->count = event->is.ce_coll.count;
        run->peer = event->is.ce_coll.root;
    }
    take_text(run->datatype, sizeof run->datatype, datatype);
}

void run_add_channel(struct run *run, enum run_clock clock, uint64_t start_ns, uint64_t stop_ns)
{
    if (run->clock == RUN_UNTIMED || start_ns < run->start_ns)
        run->start_ns = start_ns;
    if (run->clock == RUN_UNTIMED || stop_ns > run->stop_ns)
        run->stop_ns = stop_ns;
    run->clock = clock;
    run->seen++;
}

/** nccl-tests' size; 0 where type or ranks are not known. */
static uint64_t bytes_of(const struct run *run, const struct run_comm *comm, unsigned element_bytes)
{
    const bool is_part = strcmp(run->func, "all_gather") == 0 ||
                         strcmp(run->func, "reduce_scatter") == 0 ||
                         strcmp(run->func, "all_to_all") == 0 || strcmp(run->func, "gather") == 0 ||
                         strcmp(run->func, "scatter") == 0;
    const uint64_t parts = is_part && comm->ranks > 0 ? (uint64_t)comm->ranks : 1;
    uint64_t bytes;
    if ((is_part && comm->ranks <= 0) ||
        __builtin_mul_overflow(run->count, parts * element_bytes, &bytes))
        return 0;
    return bytes;
}

/** A line that is being made. */
struct line {
    char *text;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int bytes =
        vsnprintf(line->text + line->used, RUN_LINE_BYTES - line->used, format, arguments);
    va_end(arguments);
    if (bytes > 0 && (size_t)bytes < RUN_LINE_BYTES - line->used)
        line->used += (size_t)bytes;
}

/** A number, or null for one that is not known. */
static void add_number(struct line *line, const char *key, bool is_known, uint64_t value)
{
    if (is_known)
        add(line, ", \"%s\": %" PRIu64, key, value);
    else
        add(line, ", \"%s\": null", key);
}

static void add_text(struct line *line, const char *key, const char *text)
{
    if (text[0] != '\0')
        add(line, ", \"%s\": \"%s\"", key, text);
    else
        add(line, ", \"%s\": null", key);
}

static void add_comm(struct line *line, const struct run_comm *comm)
{
    char name[sizeof comm->name];
    take_text(name, sizeof name, comm->name);
    add_number(line, "ranks", comm->ranks > 0, (uint64_t)comm->ranks);
    add_number(line, "nodes", comm->nodes > 0, (uint64_t)comm->nodes);
    add_number(line, "rank", comm->rank >= 0, (uint64_t)comm->rank);
    add(line, ", \"comm\": \"0x%" PRIx64 "\"", comm->hash);
    add_text(line, "comm_name", name);
}

static void add_process(struct line *line, const struct run_comm *comm)
{
    char host[64] = "", name[sizeof host];
    (void)gethostname(host, sizeof host - 1);
    take_text(name, sizeof name, host);
    add_text(line, "host", name);
    add(line, ", \"pid\": %ld, \"interface\": %d}\n", (long)getpid(), comm->interface);
}

size_t run_print(const struct run *run, const struct run_comm *comm, char out_line[RUN_LINE_BYTES])
{
    static const char *const clocks[] = {"", "host", "gpu"};
    struct line line = {out_line, 0};
    const char *datatype = run->datatype;
    unsigned element_bytes = 0;
    for (int t = 0; t < TYPES; t++)
        if (strcmp(types[t].theirs, run->datatype) == 0) {
            datatype = types[t].ours;
            element_bytes = types[t].bytes;
        }
    const uint64_t bytes = bytes_of(run, comm, element_bytes);
    const bool is_timed = run->clock != RUN_UNTIMED && run->stop_ns >= run->start_ns;
    const bool is_p2p = run->type == EVENT_P2P;
    add(&line, "{\"kind\": \"nccl_run\", \"engine\": \"nccl\"");
    add_text(&line, "collective", run->func);
    add_text(&line, "algorithm", run->algorithm);
    add_text(&line, "protocol", run->protocol);
    add_comm(&line, comm);
    add_number(&line, "seq", !is_p2p, run->seq);
    add_number(&line, "bytes", bytes > 0, bytes);
    add_number(&line, "count", true, run->count);
    add_text(&line, "dtype", datatype);
    add_number(&line, is_p2p ? "peer" : "root", run->peer >= 0, (uint64_t)run->peer);
    add_number(&line, "channels", run->channels > 0, run->channels);
    add_number(&line, "time_ns", is_timed, run->stop_ns - run->start_ns);
    add_number(&line, "start_ns", is_timed, run->start_ns);
    add_number(&line, "stop_ns", is_timed, run->stop_ns);
    add_text(&line, "clock", clocks[is_timed ? run->clock : RUN_UNTIMED]);
    add(&line, ", \"complete\": %s", run->is_incomplete ? "false" : "true");
    add_number(&line, "host_ns", true, run->host_ns);
    add_process(&line, comm);
    return line.used;
}

size_t run_print_end(const struct run_comm *comm, uint64_t records, uint64_t lost,
                     char out_line[RUN_LINE_BYTES])
{
    struct line line = {out_line, 0};
    add(&line, "{\"kind\": \"nccl_run_end\", \"engine\": \"nccl\"");
    add_comm(&line, comm);
    add_number(&line, "records", true, records);
    add_number(&line, "lost", true, lost);
    add_process(&line, comm);
    return line.used;
}
