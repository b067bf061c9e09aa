/* Values of options, checked, into their members. See option_groups.h. */
#include "cli/draw/svg.h"
#include "option_groups.h"
#include "topology.h"

#include "ronde/backend.h"
#include "ronde/executors.h"
#include "ronde/schedules.h"
#include "ronde/synthesize.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A taker, and the member that its option sets. */
#define TAKER(name)                                                                                \
    enum ronde_status ronde_take_##name(const struct ronde_option *option, const char *text,       \
                                        void *group, struct ronde_error *error)
#define MEMBER(type) ((type *)(void *)((char *)group + option->offset))

/* ---- Kinds of members ------------------------------------------------------------------------------------------- */

TAKER(switch)
{
    (void)text;
    (void)error;
    *MEMBER(bool) = true;
    return RONDE_OK;
}

TAKER(text)
{
    (void)error;
    *MEMBER(const char *) = text;
    return RONDE_OK;
}

TAKER(input)
{
    return ronde_take_text(option, text, group, error);
}

/* Words of a row whose value is one of them, at most. */
#define MOST_WORDS 16

TAKER(word)
{
    struct ronde_value_words taken;
    const char *names[MOST_WORDS];
    char lead[64], *rest = NULL;
    uint32_t count = 0, which = 0;
    ronde_option_words(option, &taken);
    for (char *word = strtok_r(taken.words, " ", &rest); word && count < MOST_WORDS;
         word = strtok_r(NULL, " ", &rest))
        names[count++] = word;
    snprintf(lead, sizeof lead, "unknown %s", option->name);
    RONDE_TRY(ronde_name_parse(lead, text, names, count, &which, error));
    return ronde_take_text(option, text, group, error);
}

TAKER(texts)
{
    struct ronde_texts *const texts = MEMBER(struct ronde_texts);
    if (texts->count == RONDE_MAX_REPEATS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "\"%s\": given more than %u times", text,
                          RONDE_MAX_REPEATS);
    texts->list[texts->count++] = text;
    return RONDE_OK;
}

TAKER(picture)
{
    *MEMBER(const char *) = text;
    return ronde_picture_check(text, error);
}

TAKER(plot)
{
    *MEMBER(const char *) = text;
    return ronde_picture_is(text, ".pdf") ? RONDE_OK : ronde_picture_check(text, error);
}

TAKER(count)
{
    return ronde_count_parse(option->name, text, option->least, MEMBER(uint32_t), error);
}

TAKER(size)
{
    return ronde_size_parse(text, MEMBER(uint64_t), error);
}

TAKER(slot)
{
    const enum ronde_status status = ronde_size_parse(text, MEMBER(uint64_t), error);
    if (status == RONDE_OK && *MEMBER(uint64_t) < 16)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "slot %s is less than 16 bytes", text);
    return status;
}

TAKER(factor)
{
    return ronde_number_parse("factor", text, 2, 1u << 20, MEMBER(uint64_t), error);
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

TAKER(positive)
{
    return parse_positive(option->name, text, 1e6, MEMBER(double), error);
}

TAKER(flops)
{
    return parse_positive(option->name, text, 1e21, MEMBER(double), error);
}

TAKER(shape)
{
    return ronde_shape_parse(text, MEMBER(struct ronde_grid), error);
}

TAKER(pairs)
{
    return ronde_pairs_parse(text, MEMBER(struct ronde_pairs), error);
}

TAKER(sizes)
{
    struct ronde_sizes_options *const sizes = group;
    (void)option;
    return ronde_sizes_parse(text, &sizes->min_bytes, &sizes->max_bytes, &sizes->step_bytes,
                             &sizes->factor, error);
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

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

#define NAME_TEXT(name, text) text,
#define SIZED_TEXT(name, text, bytes) text,
static const char *const dtype_names[] = {RONDE_DTYPE_LIST(SIZED_TEXT)};
static const char *const op_names[] = {RONDE_OP_LIST(NAME_TEXT)};
static const char *const protocol_names[] = {RONDE_PROTOCOL_LIST(NAME_TEXT)};
#undef SIZED_TEXT
#undef NAME_TEXT

static enum ronde_status parse_dtype(const char *text, enum ronde_dtype *out,
                                     struct ronde_error *error)
{
    char word[WORD_BYTES];
    return ronde_dtype_parse(in_small_letters(text, word), out)
               ? RONDE_OK
               : ronde_name_refuse("unknown element type", text, dtype_names, RONDE_DTYPE_COUNT,
                                   error);
}

static enum ronde_status parse_op(const char *text, enum ronde_op *out, struct ronde_error *error)
{
    char word[WORD_BYTES];
    return ronde_op_parse(in_small_letters(text, word), out)
               ? RONDE_OK
               : ronde_name_refuse("unknown operator", text, op_names, RONDE_OP_COUNT, error);
}

TAKER(dtype)
{
    return parse_dtype(text, MEMBER(enum ronde_dtype), error);
}

TAKER(op)
{
    return parse_op(text, MEMBER(enum ronde_op), error);
}

TAKER(every_dtype)
{
    struct ronde_what_options *const what = group;
    (void)option;
    what->all_dtypes = strcmp(text, "all") == 0;
    return what->all_dtypes ? RONDE_OK : parse_dtype(text, &what->dtype, error);
}

TAKER(every_op)
{
    struct ronde_what_options *const what = group;
    (void)option;
    what->all_ops = strcmp(text, "all") == 0;
    return what->all_ops ? RONDE_OK : parse_op(text, &what->op, error);
}

TAKER(every_root)
{
    struct ronde_what_options *const what = group;
    what->all_roots = strcmp(text, "all") == 0;
    return what->all_roots ? RONDE_OK : ronde_count_parse(option->name, text, 0, &what->root, error);
}

/* ---- What is asked for ------------------------------------------------------------------------------------------ */

TAKER(ranks)
{
    struct ronde_what_options *const what = group;
    (void)option;
    return ronde_ranks_parse(text, what->ranks, &what->rank_counts, error);
}

/* Kept as text: whether an algorithm exists depends on the collective. */
TAKER(algorithms)
{
    struct ronde_what_options *const what = group;
    (void)option;
    if (strlen(text) >= sizeof what->names)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "algorithm: a list of more than %zu characters", sizeof what->names - 1);
    memcpy(what->names, text, strlen(text) + 1);
    what->algorithm_count = 0;
    for (char *item = what->names; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = '\0';
        if (what->algorithm_count == RONDE_MAX_NAMES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "algorithm: more than %u names",
                              RONDE_MAX_NAMES);
        what->algorithms[what->algorithm_count++] = item;
        item = comma ? comma + 1 : NULL;
    }
    return RONDE_OK;
}

/* ---- What executes ---------------------------------------------------------------------------------------------- */

TAKER(backend)
{
    struct ronde_backend_options *const backend = group;
    (void)option;
    (void)error;
    backend->is_given = true;
    backend->name = text;
    return RONDE_OK;
}

TAKER(seed)
{
    struct ronde_backend_options *const backend = group;
    backend->has_seed = true;
    return ronde_number_parse(option->name, text, 0, INT64_MAX, &backend->seed, error);
}

TAKER(rank)
{
    struct ronde_backend_options *const backend = group;
    return ronde_range_parse(option->name, text, &backend->rank, &backend->rank_span, error);
}

TAKER(check)
{
    struct ronde_backend_options *const backend = group;
    uint64_t number = 0;
    const enum ronde_status status = ronde_number_parse(option->name, text, 0, 1, &number, error);
    backend->check = number != 0;
    return status;
}

TAKER(protocol)
{
    struct ronde_backend_options *const backend = group;
    uint32_t which = 0;
    (void)option;
    const enum ronde_status status = ronde_name_parse("unknown protocol", text, protocol_names,
                                                      RONDE_PROTOCOL_COUNT, &which, error);
    backend->protocol = (enum ronde_protocol)which;
    return status;
}

TAKER(buffers)
{
    static const char *const names[] = {"registered", "user"};
    struct ronde_backend_options *const backend = group;
    uint32_t which = 0;
    const enum ronde_status status =
        ronde_name_parse("unknown kind of buffers", text, names, 2, &which, error);
    (void)option;
    backend->has_buffers = true;
    backend->has_user_buffers = which == 1;
    return status;
}

TAKER(bind)
{
    static const char *const names[] = {"core", "none"};
    struct ronde_backend_options *const backend = group;
    uint32_t which = 0;
    const enum ronde_status status =
        ronde_name_parse("unknown binding", text, names, 2, &which, error);
    (void)option;
    backend->is_unbound = which == 1;
    return status;
}

/* ---- Words that options and arguments take ---------------------------------------------------------------------- */

static void append(char words[RONDE_WORDS_BYTES], const char *word)
{
    const size_t used = strlen(words), length = strlen(word);
    if (used + length + 2 > RONDE_WORDS_BYTES)
        return;
    if (used > 0)
        strcat(words, " ");
    strcat(words, word);
}

/* The words of a list with commas or bars. */
static void append_list(char words[RONDE_WORDS_BYTES], char *list)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ", |", &rest); word; word = strtok_r(NULL, ", |", &rest))
        append(words, word);
}

static void append_backends(char words[RONDE_WORDS_BYTES])
{
    char list[256];
    for (int are_processes = 0; are_processes < 2; are_processes++) {
        ronde_executor_names(are_processes != 0, list, sizeof list);
        append_list(words, list);
    }
}

/* Every name once, whatever collectives have it. */
static void append_algorithms(char words[RONDE_WORDS_BYTES])
{
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        if (!ronde_has_word(words, all[a]->name))
            append(words, all[a]->name);
}

static void append_collectives(char words[RONDE_WORDS_BYTES])
{
    for (unsigned c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        append(words, ronde_collective_text((enum ronde_collective)c));
}

static void append_choices(char words[RONDE_WORDS_BYTES])
{
    append(words, "auto");
    append_algorithms(words);
    append(words, RONDE_SYNTHESIZED);
}

/* Shipped platforms and described machines. */
static void append_machines(char words[RONDE_WORDS_BYTES])
{
    struct ronde_shipped_names names;
    ronde_shipped_read(&names);
    for (uint32_t i = 0; i < names.count; i++)
        append(words, names.name[i]);
}

/* Lists that follow from the tables of the libraries, by what a row calls them. */
static const struct {
    const char *name;
    void (*append)(char words[RONDE_WORDS_BYTES]);
    const char *const *names; /* where they are in a table */
    uint32_t count;
} lists[] = {
    {"@algorithm", append_choices, NULL, 0},
    {"@backend", append_backends, NULL, 0},
    {"@machine", append_machines, NULL, 0},
    {"@collective", append_collectives, NULL, 0},
    {"@dtype", NULL, dtype_names, RONDE_DTYPE_COUNT},
    {"@op", NULL, op_names, RONDE_OP_COUNT},
    {"@protocol", NULL, protocol_names, RONDE_PROTOCOL_COUNT},
};

/* A word of a row, or the list it stands for. */
static void append_listed(char words[RONDE_WORDS_BYTES], const char *word)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (strcmp(lists[i].name, word) != 0)
            continue;
        if (lists[i].append)
            lists[i].append(words);
        for (uint32_t n = 0; n < lists[i].count; n++)
            append(words, lists[i].names[n]);
        return;
    }
    append(words, word);
}

static void expand(const char *row, char words[RONDE_WORDS_BYTES])
{
    char copy[512], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", row);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        append_listed(words, word);
}

void ronde_option_words(const struct ronde_option *option, struct ronde_value_words *out_words)
{
    *out_words = (struct ronde_value_words){option->value ? RONDE_VALUE_ANY : RONDE_VALUE_NONE, ""};
    if (option->words) {
        out_words->kind = RONDE_VALUE_WORDS;
        expand(option->words, out_words->words);
    }
    if (option->value && strcmp(option->value, "FILE") == 0)
        out_words->kind = RONDE_VALUE_FILE;
}

bool ronde_has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

const char *ronde_option_help(const struct ronde_option *option, char out_text[RONDE_WORDS_BYTES])
{
    struct ronde_value_words value;
    const size_t length = strlen(option->help);
    size_t used = (size_t)snprintf(out_text, RONDE_WORDS_BYTES, "%s", option->help);
    if (length == 0 || option->help[length - 1] != ':')
        return out_text;
    ronde_option_words(option, &value);
    for (char *word = strtok(value.words, " "); word && used < RONDE_WORDS_BYTES;
         word = strtok(NULL, " "))
        used += (size_t)snprintf(out_text + used, RONDE_WORDS_BYTES - used, "%s %s",
                                 out_text[used - 1] == ':' ? "" : ",", word);
    return out_text;
}

void ronde_argument_words(const struct ronde_command *command, char out_words[RONDE_WORDS_BYTES])
{
    char choice[RONDE_WORDS_BYTES] = "";
    out_words[0] = '\0';
    if (strcmp(command->name, "synthesize") == 0)
        append(out_words, "all_gather reduce_scatter all_reduce broadcast reduce");
    else if (strstr(command->arguments, "COLLECTIVE"))
        append_collectives(out_words);
    /* Words in small letters are meant as they stand: "show|generate|import". */
    (void)snprintf(choice, sizeof choice, "%.*s", (int)strcspn(command->arguments, " "),
                   command->arguments);
    if (choice[0] >= 'a' && choice[0] <= 'z')
        append_list(out_words, choice);
}
