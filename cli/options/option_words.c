/* Words that options and arguments take. See option_groups.h. */
#include "option_groups.h"

#include "topology.h"

#include "ronde/backend.h"
#include "ronde/data_files.h"
#include "ronde/executors.h"
#include "ronde/schedules.h"
#include "ronde/synthesize.h"

#include <stdio.h>
#include <string.h>

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
    char folder[RONDE_PATH_BYTES];
    struct ronde_shipped_names names = {.count = 0};
    if (ronde_topologies_folder(folder, sizeof folder))
        ronde_shipped_names_read(folder, ".xml", &names);
    for (uint32_t i = 0; i < names.count; i++)
        append(words, names.name[i]);
    ronde_shipped_machines_read(&names);
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
    {"@dtype", NULL, ronde_dtype_names, RONDE_DTYPE_COUNT},
    {"@op", NULL, ronde_op_names, RONDE_OP_COUNT},
    {"@protocol", NULL, ronde_protocol_names, RONDE_PROTOCOL_COUNT},
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
