/* Words that options and arguments take. See option_words.h. */
#include "option_words.h"

#include "ronde/backend.h"
#include "ronde/executors.h"
#include "ronde/schedules.h"
#include "ronde/synthesize.h"

#include <stdio.h>
#include <string.h>

/* Words that no table of the libraries has. */
static const struct {
    const char *name, *words;
} fixed[] = {
    {"check", "0 1"},
    {"buffers", "registered user"},
    {"bind", "core none"},
    {"transport", "hybrid ucx"},
    {"engine", "auto flat simgrid maxmin flat_fifo ports cores extrapolate"},
    {"placement", "file packed scattered auto"},
    {"fabric", "crossbar rail fat-tree"},
    {"dialect", "msccl rccl"},
    {"fit", "nominal smallest leave-one-out constants spread"},
    {"operation", "all"},
};

/* Options whose value names a file that is read or written. */
static const char *const files[] = {"output",   "topo",      "plot",    "map",
                                    "trace",    "timeline",  "records", "from",
                                    "scenario", "published", "nccl-log"};

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
    for (char *word = strtok(list, ", |"); word; word = strtok(NULL, ", |"))
        append(words, word);
}

static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
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
        if (!has_word(words, all[a]->name))
            append(words, all[a]->name);
}

static void append_collectives(char words[RONDE_WORDS_BYTES])
{
    for (unsigned c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        append(words, ronde_collective_text((enum ronde_collective)c));
}

/* What follows from the tables of the libraries, and from the command. */
static void append_known(const struct ronde_command *command, const char *name,
                         char words[RONDE_WORDS_BYTES])
{
    if (strcmp(name, "datatype") == 0)
        for (unsigned i = 0; i < RONDE_DTYPE_COUNT; i++)
            append(words, ronde_dtype_text((enum ronde_dtype)i));
    if (strcmp(name, "op") == 0)
        for (unsigned i = 0; i < RONDE_OP_COUNT; i++)
            append(words, ronde_op_text((enum ronde_op)i));
    if (command->is_bench && (strcmp(name, "datatype") == 0 || strcmp(name, "op") == 0))
        append(words, "all");
    if (strcmp(name, "protocol") == 0)
        for (unsigned i = 0; i < RONDE_PROTOCOL_COUNT; i++)
            append(words, ronde_protocol_text((enum ronde_protocol)i));
    if (strcmp(name, "backend") == 0)
        append_backends(words);
    if (strcmp(name, "algorithm") == 0) {
        append(words, "auto");
        append_algorithms(words);
        append(words, RONDE_SYNTHESIZED);
    }
    if (strcmp(name, "algorithm") == 0 && command->is_bench)
        append(words, "race");
    if (strcmp(name, "operation") == 0)
        append_collectives(words);
    if (strcmp(name, "style") == 0)
        append(words, command->is_bench ? "nccl-tests" : "nccl");
    if (strcmp(name, "to") == 0)
        append(words, strcmp(command->name, "plan") == 0 ? "nccl-tuner"
                      : strcmp(command->name, "workload") == 0
                          ? "goal chakra"
                          : "ronde msccl mscclpp nccl-graph goal "
                            "chakra");
}

void ronde_option_words(const struct ronde_command *command, const char *name, bool has_value,
                        struct ronde_value_words *out_words)
{
    *out_words = (struct ronde_value_words){has_value ? RONDE_VALUE_ANY : RONDE_VALUE_NONE, ""};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (strcmp(fixed[i].name, name) == 0)
            append(out_words->words, fixed[i].words);
    append_known(command, name, out_words->words);
    if (out_words->words[0] != '\0')
        out_words->kind = RONDE_VALUE_WORDS;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i], name) == 0)
            out_words->kind = RONDE_VALUE_FILE;
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
