/** Records of what ran. See profiler.h. */
#define _GNU_SOURCE
#include "profiler.h"

#include "plugin_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/** NCCL's word as ronde's; others pass through. */
static void take_word(char *to, size_t bytes, const struct plugin_words *words, const char *from)
{
    const struct plugin_word *word = plugin_word_find(words, from);
    take_text(to, bytes, word ? word->ours : from);
}

void run_begin(struct run *run, const struct event_v6 *event, uint64_t host_ns)
{
    const char *datatype = NULL;
    *run = (struct run){.type = event->type, .host_ns = host_ns};
    if (event->type == EVENT_COLL) {
        const struct event_coll_v4 *coll = &event->is.coll.as_v4;
        take_word(run->func, sizeof run->func, &plugin_funcs, coll->func);
        take_word(run->algorithm, sizeof run->algorithm, &plugin_algorithms, coll->algorithm);
        take_word(run->protocol, sizeof run->protocol, &plugin_protocols, coll->protocol);
        datatype = coll->datatype;
        run->seq = coll->seq;
        run->count = coll->count;
        run->peer = coll->root;
        run->channels = coll->channels;
    } else if (event->type == EVENT_P2P) {
        take_word(run->func, sizeof run->func, &plugin_funcs, event->is.p2p.func);
        datatype = event->is.p2p.datatype;
        run->count = event->is.p2p.count;
        run->peer = event->is.p2p.peer;
        run->channels = event->is.p2p.channels;
    } else {
        take_word(run->func, sizeof run->func, &plugin_funcs, event->is.ce_coll.func);
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
    const struct plugin_word *type = plugin_word_find(&plugin_types, run->datatype);
    const uint64_t bytes = bytes_of(run, comm, type ? type->bytes : 0);
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
    add_text(&line, "dtype", type ? type->ours : run->datatype);
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
