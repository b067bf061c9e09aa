/* One option's value, checked, into its field. See option_table.h. */
#include "option_table.h"

#include "ronde/builder.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

/* Names of types and operators at most. */
#define WORD_BYTES 32

/* Small letters: programs of others write SUM and Float32. What is longer than any name stays as it is, and unknown. */
static const char *in_small_letters(const char *text, char out_word[WORD_BYTES])
{
    const size_t length = strlen(text);
    if (length >= WORD_BYTES)
        return text;
    for (size_t i = 0; i <= length; i++)
        out_word[i] = (char)tolower((unsigned char)text[i]);
    return out_word;
}

static enum ronde_status parse_dtype(const char *text, enum ronde_dtype *out,
                                     struct ronde_error *error)
{
    char word[WORD_BYTES];
    return ronde_dtype_parse(in_small_letters(text, word), out)
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

/* Which of two words it is: whether the second. */
static enum ronde_status parse_either(const char *what, const char *text, const char *const names[2],
                                      bool *out_is_second, struct ronde_error *error)
{
    for (uint32_t i = 0; i < 2; i++)
        if (strcmp(names[i], text) == 0) {
            *out_is_second = i == 1;
            return RONDE_OK;
        }
    return fail_name(what, text, names, 2, error);
}

static enum ronde_status parse_buffers(const char *text, struct ronde_options *options,
                                       struct ronde_error *error)
{
    static const char *const names[] = {"registered", "user"};
    return parse_either("kind of buffers", text, names, &options->has_user_buffers, error);
}

static enum ronde_status parse_bind(const char *text, struct ronde_options *options,
                                    struct ronde_error *error)
{
    static const char *const names[] = {"core", "none"};
    return parse_either("binding", text, names, &options->is_unbound, error);
}

static enum ronde_status parse_op(const char *text, struct ronde_options *options,
                                  struct ronde_error *error)
{
    char word[WORD_BYTES];
    options->all_ops = false;
    return ronde_op_parse(in_small_letters(text, word), &options->op)
               ? RONDE_OK
               : fail_name("operator", text, op_names, RONDE_OP_COUNT, error);
}

/* Less than this of a second, a rate or a ratio is as good as none, and would be rounded to that. */
#define LEAST_POSITIVE 1e-9

/* Time limits and ratios are real numbers; zero would mean none and is refused. */
static enum ronde_status parse_positive(const char *what, const char *text, double limit,
                                        double *out, struct ronde_error *error)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number > 0.0 && number <= limit))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\" is not a number in (0, %g]", what,
                          text, limit);
    if (number < LEAST_POSITIVE)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\" is less than %g", what, text,
                          LEAST_POSITIVE);
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
    TEXT(KEY_FROM, from),
    TEXT(KEY_STYLE, style),
    TEXT(KEY_PUBLISHED, published),
    TEXT(KEY_SYSTEM, system),
    TEXT(KEY_FIT, fit),
    TEXT(KEY_TO, to),
    TEXT(KEY_DIALECT, dialect),
    TEXT(KEY_NCCL_LOG, nccl_log),
    TEXT(KEY_OPERATION, operation),
    TEXT(KEY_FABRIC, fabric),
    TEXT(KEY_NVLINK, nvlink),
    TEXT(KEY_NICS, nics),
    TEXT(KEY_PLACEMENT, placement),
    TEXT(KEY_TRACE, trace),
    TEXT(KEY_TIMELINE, timeline),
    TEXT(KEY_SCENARIO, scenario),
    TEXT(KEY_MAP, map),
    TEXT(KEY_SHARD, shard),
    REPEATED(KEY_WITH, with),
    REPEATED(KEY_DEGRADE, degrade),
    REPEATED(KEY_WITHOUT, without),
    REPEATED(KEY_STRAGGLER, straggler),
    REPEATED(KEY_BACKGROUND, background),
    REPEATED(KEY_CFG, cfg),
    SWITCH(KEY_JSON, json),
    SWITCH(KEY_CSV, csv),
    SWITCH(KEY_ALL, all),
    SWITCH(KEY_EXPAND, expand),
    SWITCH(KEY_MARKDOWN, markdown),
    SWITCH(KEY_AUTO_TOPO, auto_topo),
    SWITCH(KEY_REPLAY, replay),
    SWITCH(KEY_VERBOSE, verbose),
    SWITCH(KEY_NATIVE_LATENCY, native_latency),
    SWITCH(KEY_WHY, why),
    SWITCH(KEY_RESUME, resume),
    SWITCH(KEY_LOCAL, local),
    SWITCH(KEY_MULTICAST, multicast),
    SWITCH(KEY_WIDE, wide),
    SWITCH(KEY_SEQUENCE_PARALLEL, gpt.splits_sequence),
    SWITCH(KEY_SYNTHESIZE, synthesize),
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

/* The model, the batch and their division. */
static enum ronde_status take_gpt(struct ronde_gpt *gpt, int key, const char *text,
                                  struct ronde_error *error)
{
    switch (key) {
    case KEY_MODEL:
        return ronde_gpt_take_model(text, gpt, error);
    case KEY_LAYERS:
        return ronde_count_parse("layers", text, 1, &gpt->layers, error);
    case KEY_HIDDEN:
        return ronde_count_parse("hidden", text, 1, &gpt->hidden, error);
    case KEY_SEQ:
        return ronde_count_parse("seq", text, 1, &gpt->seq, error);
    case KEY_BATCH:
        return ronde_count_parse("batch", text, 1, &gpt->batch, error);
    case KEY_VOCAB:
        return ronde_count_parse("vocab", text, 0, &gpt->vocab, error);
    case KEY_TP:
        return ronde_count_parse("tp", text, 1, &gpt->tp, error);
    case KEY_DP:
        return ronde_count_parse("dp", text, 1, &gpt->dp, error);
    case KEY_PP:
        return ronde_count_parse("pp", text, 1, &gpt->pp, error);
    case KEY_MICRO:
        return ronde_count_parse("micro", text, 1, &gpt->micro, error);
    case KEY_FLOPS:
        return parse_positive("flops", text, 1e21, &gpt->flops, error);
    case KEY_BUCKET:
        return ronde_size_parse(text, &gpt->bucket_bytes, error);
    default:
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "option %d has no parser", key);
    }
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
        options->all_roots = false;
        return ronde_count_parse("root", text, 0, &options->root, error);
    case KEY_RANK:
        return ronde_range_parse("rank", text, &options->rank, &options->rank_span, error);
    case KEY_CHANNELS:
        return ronde_count_parse("channels", text, 1, &options->channels, error);
    case KEY_TREES:
        return ronde_count_parse("trees", text, 1, &options->trees, error);
    case KEY_CONNECTIONS:
        return ronde_count_parse("connections", text, 1, &options->connections, error);
    case KEY_FOR:
        return ronde_size_parse(text, &options->for_bytes, error);
    case KEY_WORLD_SIZE:
        return ronde_count_parse("world size", text, 1, &options->world_size, error);
    case 'g':
        return ronde_count_parse("ngpus", text, 1, &options->ngpus, error);
    case 't':
        return ronde_count_parse("nthreads", text, 1, &options->nthreads, error);
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
    case KEY_BUDGET:
        return parse_positive("budget", text, 1e6, &options->budget_s, error);
    case KEY_TIMEOUT:
        return parse_positive("timeout", text, 1e6, &options->timeout_s, error);
    case KEY_WHAT_IF:
        return ronde_count_parse("what-if", text, 0, &options->what_if, error);
    default:
        return take_gpt(&options->gpt, key, text, error);
    }
}

enum ronde_status ronde_option_take(struct ronde_options *options, int key, const char *text,
                                    struct ronde_error *error)
{
    const struct plain *plain = find_plain(key);
    if (plain)
        return take_plain(options, plain, text, error);
    switch (key) {
    case 'N':
        return ronde_ranks_parse(text, options->ranks, &options->rank_counts, error);
    case 'a':
        return parse_names(text, options, error);
    case 'd':
        options->all_dtypes = false;
        return parse_dtype(text, &options->dtype, error);
    case KEY_DTYPE:
        return parse_dtype(text, &options->gpt.dtype, error);
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
    case KEY_BIND:
        return parse_bind(text, options, error);
    case KEY_SHAPE:
        return ronde_shape_parse(text, &options->shape, error);
    case KEY_PAIRS:
        return ronde_pairs_parse(text, &options->pairs, error);
    default:
        return take_number(options, key, text, error);
    }
}

bool ronde_option_take_all(struct ronde_options *options, int key, const char *text)
{
    bool *const all = key == 'd'      ? &options->all_dtypes
                      : key == KEY_OP ? &options->all_ops
                      : key == 'r'    ? &options->all_roots
                                      : NULL;
    if (!all || strcmp(text, "all") != 0)
        return false;
    *all = true;
    return true;
}
