/**
 * libnccl-tuner-ronde.so: NCCL asks it before every collective, in any of the versions 2 to 6 of its interface.
 *
 * It makes one change and no other: where the file of RONDE_TUNER_FILE has another choice at least RONDE_TUNER_MARGIN
 * faster than the one NCCL is about to take, at both sizes and both numbers of nodes around the call's, NCCL's cost of it
 * becomes 0. All ranks see the same costs and read the same file, so all decide alike. Nothing is ever an error: NCCL would
 * let the application's call fail. What is wrong is logged, and NCCL left alone.
 *
 * A context belongs to a communicator and is asked by one thread at a time; contexts share nothing, so there are no locks.
 * Threads of several communicators may make and destroy theirs at once.
 */
#define _GNU_SOURCE

#include "plugin_words.h"
#include "tuner_abi.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* RONDE_TUNER_RECORD: NCCL's own costs, a record for each call that differs, as lines of JSON (docs/reference/nccl-
 * plugins.md). */

/** Different calls of a communicator that are recorded, and room to find them again. */
enum { TUNER_RECORDS = 2048, TUNER_RECORD_SLOTS = 2 * TUNER_RECORDS };

/** Records of a communicator. */
struct tuner_record {
    int file; /**< -1 = nothing is recorded */
    int interface;
    uint64_t ranks, nodes;
    uint32_t count;
    uint64_t seen[TUNER_RECORD_SLOTS]; /**< keys of recorded calls; 0 = free */
};

/** A call as NCCL asks for it. */
struct tuner_call {
    int collective;
    uint64_t bytes;
    int pipe_ops;
    bool is_registered;
    const float *costs; /**< [algorithms][protocols], us; negative = impossible */
    int algorithms, protocols;
};

/* NCCL's costs as records. */

/** Bytes of a line: a head, and 21 pairs of a name and a number. */
enum { LINE_BYTES = 1536 };

/** A number of 64 bits that two calls share as good as never; never 0. */
static uint64_t key_of(const struct tuner_call *call)
{
    const uint64_t parts[] = {(uint64_t)call->collective, call->bytes, (uint64_t)call->pipe_ops,
                              call->is_registered};
    uint64_t key = 0;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        key = (key ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        key ^= key >> 29;
    }
    return key ? key : 1;
}

/** Whether a call is new and there is room for it, which it takes. */
static bool is_new(struct tuner_record *record, uint64_t key)
{
    uint32_t slot = (uint32_t)(key % TUNER_RECORD_SLOTS);
    if (record->count == TUNER_RECORDS)
        return false;
    while (record->seen[slot] != 0 && record->seen[slot] != key)
        slot = (slot + 1) % TUNER_RECORD_SLOTS;
    if (record->seen[slot] == key)
        return false;
    record->seen[slot] = key;
    record->count++;
    return true;
}

static int print_head(const struct tuner_record *record, const struct tuner_call *call, char *line)
{
    return snprintf(line, LINE_BYTES,
                    "{\"kind\": \"nccl_table\", \"engine\": \"nccl\", \"collective\": \"%s\", "
                    "\"ranks\": %" PRIu64 ", \"nodes\": %" PRIu64 ", \"bytes\": %" PRIu64
                    ", \"pipe_ops\": %d, \"registered\": %s, \"interface\": %d",
                    plugin_collective(call->collective), record->ranks, record->nodes, call->bytes,
                    call->pipe_ops, call->is_registered ? "true" : "false", record->interface);
}

/**
 * Records a call whose collective, size, number of operations and registration have not been recorded. A line is one
 * write, so that what a job that is killed has asked is there.
 */
static void add_record(struct tuner_record *record, const struct tuner_call *call)
{
    char line[LINE_BYTES];
    if (record->file < 0 || !plugin_collective(call->collective) || !is_new(record, key_of(call)))
        return;
    size_t used = (size_t)print_head(record, call, line);
    for (int a = 0; a < call->algorithms && plugin_algorithm(a); a++)
        for (int p = 0; p < call->protocols && plugin_protocol(p); p++) {
            char number[32];
            const float us = call->costs[a * call->protocols + p];
            if (!(us >= 0))
                continue;
            plugin_number(us, number, sizeof number);
            used += (size_t)snprintf(line + used, sizeof line - used, ", \"%s/%s\": %s",
                                     plugin_algorithm(a), plugin_protocol(p), number);
        }
    used += (size_t)snprintf(line + used, sizeof line - used, "}\n");
    (void)plugin_write(record->file, line, used);
}

#define EXPORTED __attribute__((visibility("default")))

/** By how much a choice is to be faster where RONDE_TUNER_MARGIN does not say, %. */
static const double default_margin = 5;

/**
 * A choice that NCCL itself prices so many times higher is left: NCCL does that to rings of fp8, which are not as exact
 * as the others, and such a difference of opinions makes nothing sure.
 */
static const float most_dissent = 8;

/** A context. */
struct tuner {
    struct tuner_table table;
    struct tuner_record *record; /**< NULL = nothing is recorded */
    float least_gain;            /**< a choice is to be so many times faster */
    bool is_forced;              /**< the user forces an algorithm or a protocol */
};

#define SAY(log, level, ...)                                                                       \
    do {                                                                                           \
        if (log)                                                                                   \
            (log)(level, ABI_TUNING, "ronde", __LINE__, __VA_ARGS__);                              \
    } while (0)

/** RONDE_TUNER_MARGIN in %, "10" or "10%"; false for anything else. */
static bool find_margin(float *out_gain)
{
    const char *text = getenv("RONDE_TUNER_MARGIN");
    double percent = 0;
    *out_gain = (float)(1 + default_margin / 100);
    if (!text || !*text)
        return true;
    const size_t digits = plugin_decimal(text, &percent);
    *out_gain = (float)(1 + percent / 100);
    return digits > 0 && digits < 16 && (text[digits] == '\0' || strcmp(text + digits, "%") == 0);
}

static void read_file(struct tuner *tuner, size_t ranks, size_t nodes, abi_log log)
{
    const char *path = getenv("RONDE_TUNER_FILE");
    char reason[TUNER_REASON_BYTES];
    if (!path || !*path) {
        SAY(log, ABI_INFO, "ronde: RONDE_TUNER_FILE is not set: NCCL chooses by itself");
        return;
    }
    if (!find_margin(&tuner->least_gain)) {
        SAY(log, ABI_WARN,
            "ronde: RONDE_TUNER_MARGIN \"%.20s\" is not a percentage such as 5: NCCL chooses by "
            "itself",
            getenv("RONDE_TUNER_MARGIN"));
        return;
    }
    if (!tuner_table_read(path, ranks, nodes, &tuner->table, reason)) {
        tuner->table.is_known = false;
        SAY(log, ABI_WARN, "ronde: %s: NCCL chooses by itself", reason);
        return;
    }
    SAY(log, ABI_INFO, "ronde: %s: %s for %zu ranks on %zu nodes", path,
        tuner->table.is_known ? "has times" : "says nothing", ranks, nodes);
}

static void open_record(struct tuner *tuner, size_t ranks, size_t nodes, int interface, abi_log log)
{
    const char *pattern = getenv("RONDE_TUNER_RECORD");
    char path[PLUGIN_PATH_BYTES];
    if (!pattern || !*pattern || ranks < 2)
        return;
    if (!plugin_path(pattern, path)) {
        SAY(log, ABI_WARN, "ronde: RONDE_TUNER_RECORD %.100s: too long, or %% without h, p or %%",
            pattern);
        return;
    }
    tuner->record = calloc(1, sizeof *tuner->record);
    if (!tuner->record)
        return;
    *tuner->record = (struct tuner_record){.file = plugin_append_open(path),
                                           .interface = interface,
                                           .ranks = ranks,
                                           .nodes = nodes};
    if (tuner->record->file < 0)
        SAY(log, ABI_WARN, "ronde: RONDE_TUNER_RECORD %.100s: %s: nothing is recorded", path,
            strerror(errno));
}

static int create(void **context, size_t ranks, size_t nodes, int interface, abi_log log)
{
    struct tuner *tuner = calloc(1, sizeof *tuner);
    *context = tuner;
    if (!tuner)
        return ABI_SUCCESS;
    read_file(tuner, ranks, nodes, log);
    open_record(tuner, ranks, nodes, interface, log);
    return ABI_SUCCESS;
}

static int destroy(void *context)
{
    struct tuner *tuner = context;
    if (tuner && tuner->record && tuner->record->file >= 0)
        close(tuner->record->file);
    if (tuner)
        free(tuner->record);
    free(tuner);
    return ABI_SUCCESS;
}

/** What NCCL takes of its costs: the first least one that is possible; -1 = nothing. */
static int find_taken(const struct tuner_call *call)
{
    int taken = -1;
    for (int i = 0; i < call->algorithms * call->protocols; i++)
        if (call->costs[i] >= 0 && (taken < 0 || call->costs[i] < call->costs[taken]))
            taken = i;
    return taken;
}

/** The choice that is surely better than the one NCCL takes: an index of its costs; -1 = none is. */
static int find_better(const struct tuner *tuner, const struct tuner_call *call, int taken)
{
    const struct tuner_table *table = &tuner->table;
    const int from = tuner_table_column(table, taken / call->protocols, taken % call->protocols);
    float most = tuner->least_gain;
    int better = -1;
    for (int to = 0; from >= 0 && to < table->columns; to++) {
        const int at = table->algorithm[to] * call->protocols + table->protocol[to];
        if (to == from || table->algorithm[to] >= call->algorithms ||
            table->protocol[to] >= call->protocols || !(call->costs[at] >= 0) ||
            call->costs[at] > most_dissent * call->costs[taken])
            continue;
        const float gain =
            tuner_table_gain(table, (enum abi_collective)call->collective, call->bytes, from, to);
        if (better < 0 ? gain >= most : gain > most) {
            most = gain;
            better = at;
        }
    }
    return better;
}

/**
 * The file's times are of one collective whose buffers are not registered: several in a group share latencies, and
 * registered buffers make other algorithms fast, so those are left to NCCL.
 */
static bool is_known(const struct tuner *tuner, const struct tuner_call *call)
{
    return tuner->table.is_known && call->pipe_ops <= 1 && !call->is_registered &&
           call->collective >= 0 && call->collective < ABI_COLLECTIVES;
}

static int get_v4(void *context, int collective, size_t bytes, int pipe_ops, float **costs,
                  int algorithms, int protocols, int is_registered, int *channels)
{
    struct tuner *tuner = context;
    float *table = (float *)(void *)costs;
    const struct tuner_call call = {collective, bytes,      pipe_ops, is_registered != 0,
                                    table,      algorithms, protocols};
    (void)channels;
    if (!tuner || !table || algorithms < 1 || protocols < 1)
        return ABI_SUCCESS;
    if (tuner->record)
        add_record(tuner->record, &call);
    if (!is_known(tuner, &call))
        return ABI_SUCCESS;
    const int taken = find_taken(&call);
    const int better = taken < 0 || !(call.costs[taken] > 0) ? -1 : find_better(tuner, &call, taken);
    if (better >= 0)
        table[better] = 0;
    return ABI_SUCCESS;
}

static int get_v3(void *context, int collective, size_t bytes, int pipe_ops, float **costs,
                  int algorithms, int protocols, int *channels)
{
    return get_v4(context, collective, bytes, pipe_ops, costs, algorithms, protocols, 0, channels);
}

/** Whether every other choice that has a time is slower, by the margin; by how much does not matter. */
static bool is_best(const struct tuner *tuner, enum abi_collective collective, uint64_t bytes,
                    int column)
{
    for (int from = 0; from < tuner->table.columns; from++) {
        const float gain =
            from == column ? 0 : tuner_table_gain(&tuner->table, collective, bytes, from, column);
        const bool has_times =
            from != column && tuner_table_gain(&tuner->table, collective, bytes, from, from) > 0;
        if (has_times && gain < tuner->least_gain)
            return false;
    }
    return tuner_table_gain(&tuner->table, collective, bytes, column, column) > 0;
}

/**
 * Version 2 shows no costs, so it is not known what NCCL would take nor what is possible here. Answered is Ring or Tree by
 * LL or Simple, which every GPU has, where it is faster than all others; LL128 corrupts data where the hardware lacks it.
 * What the user has forced stays.
 */
static int get_v2(void *context, int collective, size_t bytes, int has_collnet, int has_nvls,
                  int pipe_ops, int *algorithm, int *protocol, int *channels)
{
    const struct tuner *tuner = context;
    const struct tuner_call call = {.collective = collective, .bytes = bytes, .pipe_ops = pipe_ops};
    (void)has_collnet, (void)has_nvls, (void)channels;
    if (!tuner || tuner->is_forced || !is_known(tuner, &call))
        return ABI_SUCCESS;
    for (int c = 0; c < tuner->table.columns; c++) {
        const int a = tuner->table.algorithm[c], p = tuner->table.protocol[c];
        const bool is_everywhere =
            p != ABI_LL128 && (a == ABI_RING || (a == ABI_TREE && collective == ABI_ALL_REDUCE));
        if (!is_everywhere || !is_best(tuner, (enum abi_collective)collective, bytes, c))
            continue;
        *algorithm = a;
        *protocol = p;
    }
    return ABI_SUCCESS;
}

static int init_v2(size_t ranks, size_t nodes, abi_log log, void **context)
{
    const char *record = getenv("RONDE_TUNER_RECORD");
    struct tuner *tuner = calloc(1, sizeof *tuner);
    *context = tuner;
    if (tuner) {
        tuner->is_forced = getenv("NCCL_ALGO") || getenv("NCCL_PROTO");
        read_file(tuner, ranks, nodes, log);
    }
    if (record && *record)
        SAY(log, ABI_WARN,
            "ronde: RONDE_TUNER_RECORD: this NCCL shows its tuner no costs; NCCL "
            "2.21 and newer do");
    return ABI_SUCCESS;
}

static int init_v3(size_t ranks, size_t nodes, abi_log log, void **context)
{
    return create(context, ranks, nodes, 3, log);
}

static int init_v4(size_t ranks, size_t nodes, abi_log log, void **context)
{
    return create(context, ranks, nodes, 4, log);
}

static int init_v5(void **context, uint64_t comm, size_t ranks, size_t nodes, abi_log log,
                   void *nvlink, void *constants)
{
    (void)comm, (void)nvlink, (void)constants;
    return create(context, ranks, nodes, 5, log);
}

static int init_v6(void **context, uint64_t comm, size_t ranks, size_t nodes, abi_log log,
                   void *nvlink, void *constants)
{
    (void)comm, (void)nvlink, (void)constants;
    return create(context, ranks, nodes, 6, log);
}

/* NCCL takes the highest version that it knows. */
extern const struct tuner_v2 ncclTunerPlugin_v2;
extern const struct tuner_v3 ncclTunerPlugin_v3;
extern const struct tuner_v4 ncclTunerPlugin_v4;
extern const struct tuner_v5 ncclTunerPlugin_v5;
extern const struct tuner_v6 ncclTunerPlugin_v6;

EXPORTED const struct tuner_v2 ncclTunerPlugin_v2 = {"ronde", init_v2, get_v2, destroy};
EXPORTED const struct tuner_v3 ncclTunerPlugin_v3 = {"ronde", init_v3, get_v3, destroy};
EXPORTED const struct tuner_v4 ncclTunerPlugin_v4 = {"ronde", init_v4, get_v4, destroy};
EXPORTED const struct tuner_v5 ncclTunerPlugin_v5 = {"ronde", init_v5, get_v4, destroy};
EXPORTED const struct tuner_v6 ncclTunerPlugin_v6 = {{"ronde", init_v6, get_v4, destroy}, NULL};
