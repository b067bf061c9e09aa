/*
 * Options: one table, filtered by what a command takes, parsed by argp without its printing and
 * exiting.
 *
 * argp would end the program with its own text and code on a bad option. Here every error is one
 * line and a status, so argp runs silently and says only where it stopped; `explain` finds the
 * words for it. An option a command does not take is unknown to it: nothing is silently ignored.
 */
#include "options.h"

#include "report.h"

#include "ronde/builder.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Keys of options without a letter. */
enum key {
    KEY_BACKEND = 256,
    KEY_CHANNELS,
    KEY_SLOT,
    KEY_DEPTH,
    KEY_SEED,
    KEY_PROTOCOL,
    KEY_TIMEOUT,
    KEY_TOPO,
    KEY_RIG,
    KEY_ENGINE,
    KEY_JSON,
    KEY_CSV,
    KEY_OP,
    KEY_OUTPUT,
    KEY_PLOT,
    KEY_RECORDS,
    KEY_ALL,
    KEY_EXPAND,
    KEY_SHAPE,
    KEY_PAIRS,
    KEY_OPERATION,
    KEY_WORLD_SIZE,
    KEY_MARKDOWN,
    KEY_VERBOSE,
    KEY_NODES,
    KEY_GPUS,
    KEY_LEVELS,
    KEY_OVERSUBSCRIPTION,
    KEY_FABRIC,
    KEY_PLACEMENT,
    KEY_TRACE,
    KEY_TIMELINE,
    KEY_SCENARIO,
    KEY_WITH,
    KEY_DEGRADE,
    KEY_STRAGGLER,
    KEY_BACKGROUND,
    KEY_CFG,
    KEY_NATIVE_LATENCY,
    KEY_WHY,
    KEY_BYTES,
    KEY_MAP,
    KEY_SHARD,
    KEY_RESUME,
    KEY_LOCAL,
    KEY_JOBS,
    KEY_RANK,
    KEY_JOIN,
    KEY_TOKEN,
    KEY_TRANSPORT,
    KEY_HOSTS,
    KEY_LAUNCHER,
    KEY_BUFFERS,
    KEY_NIC_RATE,
    KEY_NVLINK_RATE,
    KEY_MEMORY_RATE
};

/* Letters and long names are nccl-tests' where it has them. */
static const struct argp_option all_options[] = {
    {"ranks", 'N', "N", 0,
     "number of ranks; a list 2,4,8, a range 2..33 or 8:1024:x2 where several make sense", 0},
    {"algorithm", 'a', "NAME", 0, "algorithm, or several with commas where several make sense", 0},
    {"minbytes", 'b', "SIZE", 0, "smallest size (default 8); K, M, G are powers of 1024", 1},
    {"maxbytes", 'e', "SIZE", 0, "largest size (default 16M)", 1},
    {"stepbytes", 'i', "SIZE", 0, "add this from size to size instead of multiplying", 1},
    {"stepfactor", 'f', "FACTOR", 0, "multiply by this from size to size (default 4)", 1},
    {"bytes", KEY_BYTES, "A:B:xF|+S", 0, "all of these at once: from A to B, times F or plus S", 1},
    {"iters", 'n', "COUNT", 0, "measured iterations of a size", 1},
    {"warmup_iters", 'w', "COUNT", 0, "unmeasured iterations before them", 1},
    {"check", 'c', "0|1", 0,
     "compare results with the host backend, host's with the definition (default 1)", 1},
    {"datatype", 'd', "TYPE", 0, "element type (default float32)", 1},
    {"op", KEY_OP, "OP", 0, "reduction operator (default sum)", 1},
    {"root", 'r', "RANK", 0, "root of rooted collectives (default 0)", 1},
    {"shape", KEY_SHAPE, "AxB", 0, "ranks as a grid, slowest digit first: nodes x ranks of a node",
     1},
    {"pairs", KEY_PAIRS, "S>D,...", 0, "send_recv: who sends to whom (default: rank r to r+1)", 1},
    {"operation", KEY_OPERATION, "NAME", 0, "show a collective, a composition, or all", 1},
    {"world-size", KEY_WORLD_SIZE, "N", 0, "number of ranks shown (default 4)", 1},
    {"channels", KEY_CHANNELS, "COUNT", 0, "equal channels (default: the algorithm's)", 2},
    {"slot", KEY_SLOT, "SIZE", 0, "bytes of a connection's slot: the length of a piece", 2},
    {"depth", KEY_DEPTH, "COUNT", 0, "slots of a connection", 2},
    {"protocol", KEY_PROTOCOL, "NAME", 0,
     "how messages travel: auto (default: by size), staged in slots, pull (read in place) or push "
     "(written in place)",
     2},
    {"seed", KEY_SEED, "NUMBER", 0, "host backend: order of the random interleaving", 2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "give up a run after this long (default 60, a replay 600)", 2},
    {"backend", KEY_BACKEND, "NAME", 0,
     "what executes: cpu (default), host, or processes: proc or ucx", 2},
    {"rank", KEY_RANK, "R|R..S", 0,
     "processes: this one's rank, or those to make here, where nobody else starts them", 2},
    {"join", KEY_JOIN, "HOST:PORT", 0, "processes: where rank 0 listens and the others come", 2},
    {"token", KEY_TOKEN, "TEXT", 0,
     "processes: the job's secret, the same on all ranks; - reads it from the first line of input",
     2},
    {"buffers", KEY_BUFFERS, "KIND", 0,
     "processes: registered buffers (default), which others read in place, or any the user has", 2},
    {"transport", KEY_TRANSPORT, "NAME", 0,
     "ucx: hybrid (default; shared memory inside a host) or ucx everywhere", 2},
    {"hosts", KEY_HOSTS, "A,B,...", 0, "processes: start them there, in equal shares", 2},
    {"launcher", KEY_LAUNCHER, "COMMAND", 0,
     "with --hosts: what runs a command on a host (default: ssh -o BatchMode=yes)", 2},
    {"rig", KEY_RIG, "NAME", 0, "hosts of a virtual cluster that tests/rig/up has made", 2},
    {"topo", KEY_TOPO, "FILE", 0, "platform file, or the name of a shipped one", 2},
    {"engine", KEY_ENGINE, "NAME", 0,
     "what replays: auto (default), flat, simgrid, flat_fifo, ports or extrapolate", 2},
    {"placement", KEY_PLACEMENT, "NAME", 0,
     "ranks on hosts: file (default), packed, scattered, auto", 2},
    {"with", KEY_WITH, "COLL:ALGO:SIZE[:HOSTS]", 0, "another collective at the same time", 2},
    {"background", KEY_BACKGROUND, "S>D:SIZE", 0, "a flow from host S to D at the same time", 2},
    {"degrade", KEY_DEGRADE, "LINK=FACTOR", 0, "scale the rate of a link", 2},
    {"straggler", KEY_STRAGGLER, "rank=R,delay=TIME", 0, "a rank that enters late", 2},
    {"scenario", KEY_SCENARIO, "FILE", 0, "all of these from a file", 2},
    {"cfg", KEY_CFG, "KEY:VALUE", 0, "an option for SimGrid, after ronde's own", 2},
    {"native-latency", KEY_NATIVE_LATENCY, NULL, 0, "leave link latencies to SimGrid's model", 2},
    {"nodes", KEY_NODES, "COUNT", 0, "nodes of a machine", 2},
    {"gpus", KEY_GPUS, "COUNT", 0, "GPUs of a node", 2},
    {"levels", KEY_LEVELS, "COUNT", 0, "levels of switches", 2},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "RATIO", 0, "ports below a switch per port above", 2},
    {"fabric", KEY_FABRIC, "NAME", 0, "what joins nodes: crossbar, rail or fat-tree", 2},
    {"nic-GBps", KEY_NIC_RATE, "RATE", 0, "of each NIC whose rate the imported file leaves out", 2},
    {"nvlink-GBps", KEY_NVLINK_RATE, "RATE", 0,
     "of each GPU into NVSwitches that the imported file leaves out", 2},
    {"memory-GBps", KEY_MEMORY_RATE, "RATE", 0,
     "of the memory that cores share, for a machine without GPUs", 2},
    {"jobs", KEY_JOBS, "COUNT", 0, "processes at a time (default: one a core)", 2},
    {"shard", KEY_SHARD, "I/N", 0, "only every N-th point, from the I-th (0 .. N-1)", 2},
    {"resume", KEY_RESUME, NULL, 0, "keep what the output file holds, do the rest", 2},
    {"local", KEY_LOCAL, NULL, 0, "topo show: this machine's GPUs, and how they reach each other", 2},
    {"expand", KEY_EXPAND, NULL, 0, "also prove every rank's steps where the quotient decided", 2},
    {"all", KEY_ALL, NULL, 0, "every collective and algorithm", 2},
    {"markdown", KEY_MARKDOWN, NULL, 0, "with --all: tables for a document, by number of ranks", 3},
    {"verbose", KEY_VERBOSE, NULL, 0, "with --all: also say what is left out and why", 3},
    {"why", KEY_WHY, NULL, 0, "bottleneck, busiest links and what the critical path is made of", 3},
    {"trace", KEY_TRACE, "FILE", 0, "write a timeline for ui.perfetto.dev", 3},
    {"timeline", KEY_TIMELINE, "FILE", 0, "write an SVG of ranks over time (up to 64 ranks)", 3},
    {"map", KEY_MAP, "FILE", 0, "write an SVG of the fastest algorithm by ranks and bytes", 3},
    {"records", KEY_RECORDS, "FILE", 0, "write records there, whatever else is printed", 3},
    {"plot", KEY_PLOT, "FILE", 0, "write an SVG plot (needs gnuplot)", 3},
    {"output", KEY_OUTPUT, "FILE", 0, "write results there instead of to stdout", 3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per line (needs libjansson)", 3},
    {"csv", KEY_CSV, NULL, 0, "comma-separated values with a header line", 3},
    {"help", 'h', NULL, 0, "show this help", 4},
};

#define ALL_COUNT (sizeof all_options / sizeof all_options[0])

/* A whole word of the command's list. */
static bool takes(const struct ronde_command *command, const char *name)
{
    const size_t length = strlen(name);
    if (strcmp(name, "help") == 0)
        return true;
    for (const char *at = strstr(command->takes, name); at; at = strstr(at + 1, name))
        if ((at == command->takes || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/*
 * The command's own table, zero-terminated. -o goes to op where nccl-tests users expect it, else
 * to output.
 */
static uint32_t filter(const struct ronde_command *command, struct argp_option *own)
{
    uint32_t count = 0;
    for (size_t i = 0; i < ALL_COUNT; i++) {
        if (!takes(command, all_options[i].name))
            continue;
        own[count] = all_options[i];
        if (own[count].key == (command->o_is_op ? KEY_OP : KEY_OUTPUT))
            own[count].key = 'o';
        count++;
    }
    own[count] = (struct argp_option){0};
    return count;
}

/* Kept as text: whether an algorithm exists depends on the collective. */
static enum ronde_status parse_names(const char *text, struct ronde_options *options,
                                     struct ronde_error *error)
{
    if (strlen(text) >= sizeof options->names)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "algorithm: a list of more than %zu characters",
                          sizeof options->names - 1);
    memcpy(options->names, text, strlen(text) + 1);
    options->algorithm_count = 0;
    for (char *item = options->names; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = '\0';
        if (options->algorithm_count == RONDE_MAX_NAMES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "algorithm: more than %u names",
                              RONDE_MAX_NAMES);
        options->algorithms[options->algorithm_count++] = item;
        item = comma ? comma + 1 : NULL;
    }
    return RONDE_OK;
}

#define DTYPE_TEXT(name, text, bytes) text,
static const char *const dtype_names[] = {RONDE_DTYPE_LIST(DTYPE_TEXT)};
#undef DTYPE_TEXT
#define OP_TEXT(name, text) text,
static const char *const op_names[] = {RONDE_OP_LIST(OP_TEXT)};
#undef OP_TEXT

/* "unknown WHAT "text"; did you mean X?", or the list of names when nothing is near. */
static enum ronde_status fail_name(const char *what, const char *text, const char *const *names,
                                   uint32_t count, struct ronde_error *error)
{
    const char *nearest = ronde_nearest(text, names, count);
    if (nearest)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown %s \"%s\"; did you mean %s?", what,
                          text, nearest);
    char list[160] = "";
    for (uint32_t i = 0; i < count; i++)
        if (strlen(list) + strlen(names[i]) + 3 < sizeof list) {
            strcat(list, i ? ", " : "");
            strcat(list, names[i]);
        }
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown %s \"%s\"; there are %s", what, text,
                      list);
}

static enum ronde_status parse_dtype(const char *text, struct ronde_options *options,
                                     struct ronde_error *error)
{
    return ronde_dtype_parse(text, &options->dtype)
               ? RONDE_OK
               : fail_name("element type", text, dtype_names, RONDE_DTYPE_COUNT, error);
}

#define PROTOCOL_TEXT(name, text) text,
static const char *const protocol_names[] = {RONDE_PROTOCOL_LIST(PROTOCOL_TEXT)};
#undef PROTOCOL_TEXT

static enum ronde_status parse_protocol(const char *text, struct ronde_options *options,
                                        struct ronde_error *error)
{
    for (uint32_t i = 0; i < RONDE_PROTOCOL_COUNT; i++)
        if (strcmp(protocol_names[i], text) == 0) {
            options->protocol = (enum ronde_protocol)i;
            return RONDE_OK;
        }
    return fail_name("protocol", text, protocol_names, RONDE_PROTOCOL_COUNT, error);
}

static enum ronde_status parse_buffers(const char *text, struct ronde_options *options,
                                       struct ronde_error *error)
{
    static const char *const names[] = {"registered", "user"};
    for (uint32_t i = 0; i < 2; i++)
        if (strcmp(names[i], text) == 0) {
            options->has_user_buffers = i == 1;
            return RONDE_OK;
        }
    return fail_name("kind of buffers", text, names, 2, error);
}

static enum ronde_status parse_op(const char *text, struct ronde_options *options,
                                  struct ronde_error *error)
{
    return ronde_op_parse(text, &options->op)
               ? RONDE_OK
               : fail_name("operator", text, op_names, RONDE_OP_COUNT, error);
}

/* Time limits and ratios are real numbers; zero would mean none and is refused. */
static enum ronde_status parse_positive(const char *what, const char *text, double limit,
                                        double *out, struct ronde_error *error)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number > 0.0 && number <= limit))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\" is not a number in (0, %g]", what,
                          text, limit);
    *out = number;
    return RONDE_OK;
}

static enum ronde_status parse_check(const char *text, bool *out, struct ronde_error *error)
{
    uint64_t number = 0;
    const enum ronde_status status = ronde_number_parse("check", text, 0, 1, &number, error);
    *out = number != 0;
    return status;
}

/* A slot holds a grain at least. */
static enum ronde_status parse_slot(const char *text, uint64_t *out, struct ronde_error *error)
{
    const enum ronde_status status = ronde_size_parse(text, out, error);
    if (status == RONDE_OK && *out < 16)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "slot %s is less than 16 bytes", text);
    return status;
}

/* argp hands its parser one opaque pointer. */
struct parsing {
    const struct ronde_command *command;
    struct ronde_options *options;
    struct ronde_error *error;
    bool max_given;
    int stopped_at; /* index into argv where getopt was when something was wrong */
};

/* Where an option goes whose value is kept as text, or that is a switch. */
struct plain {
    int key;
    size_t offset;       /* of the member, or of the first of its repeats */
    size_t count_offset; /* of the number of repeats; 0 where the option is given once */
    bool is_switch;
};

#define TEXT(key, member)                                                                          \
    {                                                                                              \
        key, offsetof(struct ronde_options, member), 0, false                                      \
    }
#define REPEATED(key, member)                                                                      \
    {                                                                                              \
        key, offsetof(struct ronde_options, member),                                               \
            offsetof(struct ronde_options, member##_count), false                                  \
    }
#define SWITCH(key, member)                                                                        \
    {                                                                                              \
        key, offsetof(struct ronde_options, member), 0, true                                       \
    }

static const struct plain plains[] = {
    TEXT(KEY_BACKEND, backend),
    TEXT(KEY_JOIN, join),
    TEXT(KEY_TOKEN, token),
    TEXT(KEY_TRANSPORT, transport),
    TEXT(KEY_HOSTS, hosts),
    TEXT(KEY_LAUNCHER, launcher),
    TEXT(KEY_RIG, rig),
    TEXT(KEY_TOPO, topo),
    TEXT(KEY_ENGINE, engine),
    TEXT(KEY_OUTPUT, output),
    TEXT(KEY_PLOT, plot),
    TEXT(KEY_RECORDS, records),
    TEXT(KEY_OPERATION, operation),
    TEXT(KEY_FABRIC, fabric),
    TEXT(KEY_PLACEMENT, placement),
    TEXT(KEY_TRACE, trace),
    TEXT(KEY_TIMELINE, timeline),
    TEXT(KEY_SCENARIO, scenario),
    TEXT(KEY_MAP, map),
    TEXT(KEY_SHARD, shard),
    REPEATED(KEY_WITH, with),
    REPEATED(KEY_DEGRADE, degrade),
    REPEATED(KEY_STRAGGLER, straggler),
    REPEATED(KEY_BACKGROUND, background),
    REPEATED(KEY_CFG, cfg),
    SWITCH(KEY_JSON, json),
    SWITCH(KEY_CSV, csv),
    SWITCH(KEY_ALL, all),
    SWITCH(KEY_EXPAND, expand),
    SWITCH(KEY_MARKDOWN, markdown),
    SWITCH(KEY_VERBOSE, verbose),
    SWITCH(KEY_NATIVE_LATENCY, native_latency),
    SWITCH(KEY_WHY, why),
    SWITCH(KEY_RESUME, resume),
    SWITCH(KEY_LOCAL, local),
    SWITCH('h', help),
};

static const struct plain *find_plain(int key)
{
    for (size_t i = 0; i < sizeof plains / sizeof plains[0]; i++)
        if (plains[i].key == key)
            return &plains[i];
    return NULL;
}

/* The only thing that can be wrong with them is their number. */
static enum ronde_status take_plain(struct ronde_options *options, const struct plain *plain,
                                    const char *text, struct ronde_error *error)
{
    char *const base = (char *)options;
    if (plain->is_switch) {
        *(bool *)(void *)(base + plain->offset) = true;
        return RONDE_OK;
    }
    const char **const texts = (const char **)(void *)(base + plain->offset);
    if (plain->count_offset == 0) {
        *texts = text;
        return RONDE_OK;
    }
    uint32_t *const count = (uint32_t *)(void *)(base + plain->count_offset);
    if (*count == RONDE_MAX_REPEATS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "\"%s\": given more than %u times", text,
                          RONDE_MAX_REPEATS);
    texts[(*count)++] = text;
    return RONDE_OK;
}

static enum ronde_status take_number(struct ronde_options *options, int key, const char *text,
                                     struct ronde_error *error)
{
    switch (key) {
    case 'b':
        return ronde_size_parse(text, &options->min_bytes, error);
    case 'e':
        return ronde_size_parse(text, &options->max_bytes, error);
    case 'i':
        return ronde_size_parse(text, &options->step_bytes, error);
    case 'f':
        return ronde_number_parse("factor", text, 2, 1u << 20, &options->factor, error);
    case 'n':
        return ronde_count_parse("iterations", text, 1, &options->iterations, error);
    case 'w':
        return ronde_count_parse("warm-ups", text, 0, &options->warmups, error);
    case 'r':
        return ronde_count_parse("root", text, 0, &options->root, error);
    case KEY_RANK:
        return ronde_range_parse("rank", text, &options->rank, &options->rank_span, error);
    case KEY_CHANNELS:
        return ronde_count_parse("channels", text, 1, &options->channels, error);
    case KEY_WORLD_SIZE:
        return ronde_count_parse("world size", text, 1, &options->world_size, error);
    case KEY_NODES:
        return ronde_count_parse("nodes", text, 1, &options->nodes, error);
    case KEY_GPUS:
        return ronde_count_parse("gpus", text, 1, &options->gpus, error);
    case KEY_LEVELS:
        return ronde_count_parse("levels", text, 1, &options->levels, error);
    case KEY_JOBS:
        return ronde_count_parse("jobs", text, 1, &options->jobs, error);
    case KEY_NIC_RATE:
        return parse_positive("nic-GBps", text, 1e6, &options->nic_GBps, error);
    case KEY_NVLINK_RATE:
        return parse_positive("nvlink-GBps", text, 1e6, &options->nvlink_GBps, error);
    case KEY_MEMORY_RATE:
        return parse_positive("memory-GBps", text, 1e6, &options->memory_GBps, error);
    case KEY_OVERSUBSCRIPTION:
        return parse_positive("oversubscription", text, 1e6, &options->oversubscription, error);
    case KEY_DEPTH:
        return ronde_count_parse("depth", text, 1, &options->depth, error);
    case KEY_SEED:
        return ronde_number_parse("seed", text, 0, INT64_MAX, &options->seed, error);
    case KEY_SLOT:
        return parse_slot(text, &options->slot_bytes, error);
    case KEY_TIMEOUT:
        return parse_positive("timeout", text, 1e6, &options->timeout_s, error);
    default:
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "option %d has no parser", key);
    }
}

/* One option, whatever its kind. */
static enum ronde_status take(struct parsing *parsing, int key, const char *text)
{
    struct ronde_options *options = parsing->options;
    struct ronde_error *error = parsing->error;
    /* -o is whichever of the two the command's table gave it to. */
    if (key == 'o')
        key = parsing->command->o_is_op ? KEY_OP : KEY_OUTPUT;
    const struct plain *plain = find_plain(key);
    if (plain)
        return take_plain(options, plain, text, error);
    parsing->max_given = parsing->max_given || key == 'e' || key == KEY_BYTES;
    switch (key) {
    case 'N':
        return ronde_ranks_parse(text, options->ranks, &options->rank_counts, error);
    case 'a':
        return parse_names(text, options, error);
    case 'd':
        return parse_dtype(text, options, error);
    case 'c':
        return parse_check(text, &options->check, error);
    case KEY_OP:
        return parse_op(text, options, error);
    case KEY_BYTES:
        return ronde_sizes_parse(text, &options->min_bytes, &options->max_bytes,
                                 &options->step_bytes, &options->factor, error);
    case KEY_PROTOCOL:
        return parse_protocol(text, options, error);
    case KEY_BUFFERS:
        return parse_buffers(text, options, error);
    case KEY_SHAPE:
        return ronde_shape_parse(text, &options->shape, error);
    case KEY_PAIRS:
        return ronde_pairs_parse(text, &options->pairs, error);
    default:
        return take_number(options, key, text, error);
    }
}

/* One positional argument; what it means is the command's business. */
static enum ronde_status take_argument(struct parsing *parsing, const char *text)
{
    struct ronde_options *options = parsing->options;
    if (options->argument_count == parsing->command->max_arguments)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: unexpected argument \"%s\"",
                          parsing->command->name, text);
    options->arguments[options->argument_count++] = text;
    return RONDE_OK;
}

/* argp's side of the conversation: what it asks for beyond options is nothing to do. */
static error_t on_key(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
    case ARGP_KEY_END:
    case ARGP_KEY_FINI:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_NO_ARGS:
        return 0;
    case ARGP_KEY_ERROR:
        parsing->stopped_at = state->next;
        return 0;
    case ARGP_KEY_ARG:
        return take_argument(parsing, text) == RONDE_OK ? 0 : EINVAL;
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        return take(parsing, key, text) == RONDE_OK ? 0 : EINVAL;
    }
}

/*
 * The row a word on the command line means, as getopt_long reads it: a letter, a long name or an
 * unambiguous prefix.
 */
static const struct argp_option *option_of(const struct argp_option *own, const char *word)
{
    const struct argp_option *found = NULL;
    if (word[1] != '-') {
        for (; own->name; own++)
            if (own->key == word[1])
                return own;
        return NULL;
    }
    const size_t length = strcspn(word + 2, "=");
    for (; own->name; own++) {
        if (strncmp(own->name, word + 2, length) != 0)
            continue;
        if (own->name[length] == '\0')
            return own;
        found = found ? NULL : own;
    }
    return found;
}

/* Names the option as typed, and the nearest one this command takes. */
static enum ronde_status fail_option(const struct parsing *parsing, const struct argp_option *own,
                                     const char *word)
{
    const char *names[ALL_COUNT];
    uint32_t count = 0;
    char bare[64];
    for (; own[count].name; count++)
        names[count] = own[count].name;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *nearest = bare[1] == '-' ? ronde_nearest(bare + 2, names, count) : NULL;
    if (nearest)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                          "%s: unknown option %s; did you mean --%s?", parsing->command->name, bare,
                          nearest);
    return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                      "%s: unknown option %s; see ronde %s --help", parsing->command->name, bare,
                      parsing->command->name);
}

/*
 * argp only says where it stopped. getopt steps over a word it has read to its end, so the
 * culprit is the word before,
 * or, inside a cluster of letters, the word itself.
 */
static enum ronde_status explain(const struct parsing *parsing, const struct argp_option *own,
                                 char **argv, int argc)
{
    for (int at = parsing->stopped_at - 1; at <= parsing->stopped_at; at++) {
        if (at < 1 || at >= argc || argv[at][0] != '-' || argv[at][1] == '\0')
            continue;
        const struct argp_option *option = option_of(own, argv[at]);
        if (!option)
            return fail_option(parsing, own, argv[at]);
        if (option->arg && at == argc - 1)
            return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: option %s needs a value",
                              parsing->command->name, argv[at]);
        if (!option->arg && strchr(argv[at], '='))
            return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: option --%s takes no value",
                              parsing->command->name, option->name);
    }
    return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                      "%s: cannot read the options; see ronde %s --help", parsing->command->name,
                      parsing->command->name);
}

/* What can only be seen when all options are there. */
static enum ronde_status check_sweep(struct parsing *parsing)
{
    struct ronde_options *options = parsing->options;
    /* A shape says how many ranks there are; whether a number beside it agrees is asked of the request. */
    if (options->shape.count > 0 && options->rank_counts == 0) {
        options->ranks[0] = ronde_shape_ranks(&options->shape);
        options->rank_counts = 1;
    }
    if (!parsing->max_given && options->max_bytes < options->min_bytes)
        options->max_bytes = options->min_bytes;
    if (options->max_bytes < options->min_bytes)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                          "largest size %llu is less than smallest size %llu",
                          (unsigned long long)options->max_bytes,
                          (unsigned long long)options->min_bytes);
    if (options->json && options->csv)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "--json and --csv exclude each other");
    return RONDE_OK;
}

/* nccl-tests' defaults where it has them; the sweep starts where latency shows. */
static void set_defaults(struct ronde_options *options)
{
    *options = (struct ronde_options){
        .min_bytes = 8,
        .max_bytes = (uint64_t)16 << 20,
        .factor = 4,
        .iterations = 20,
        .warmups = 5,
        .check = true,
        .dtype = RONDE_FLOAT32,
        .op = RONDE_SUM,
        .backend = "cpu",
        .rank = RONDE_NONE,
        .engine = "auto",
    };
}

enum ronde_status ronde_options_parse(const struct ronde_command *command, int argc, char **argv,
                                      struct ronde_options *out_options, struct ronde_error *error)
{
    struct argp_option own[ALL_COUNT + 1];
    struct parsing parsing = {command, out_options, error, false, 1};
    filter(command, own);
    set_defaults(out_options);
    out_options->argv = argv;
    out_options->argc = argc;
    const struct argp argp = {.options = own, .parser = on_key};
    if (argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &parsing) !=
        0)
        return error->status != RONDE_OK ? error->status : explain(&parsing, own, argv, argc);
    return out_options->help ? RONDE_OK : check_sweep(&parsing);
}

void ronde_options_help(const struct ronde_command *command, FILE *file)
{
    struct argp_option own[ALL_COUNT + 1];
    char name[64];
    filter(command, own);
    snprintf(name, sizeof name, "ronde %s", command->name);
    const struct argp argp = {.options = own, .args_doc = command->arguments};
    fprintf(file, "ronde %s: %s\n", command->name, command->summary);
    argp_help(&argp, file, ARGP_HELP_USAGE | ARGP_HELP_LONG, name);
    fprintf(file, "\nExamples:\n%s", command->examples);
}

uint64_t ronde_options_next_size(const struct ronde_options *options, uint64_t bytes)
{
    uint64_t next = options->step_bytes ? bytes + options->step_bytes : bytes * options->factor;
    if (!options->step_bytes && bytes == 0)
        next = 1;
    return next > bytes && next <= options->max_bytes ? next : 0;
}
