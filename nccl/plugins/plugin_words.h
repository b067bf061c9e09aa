/**
 * The file of RONDE_TUNER_FILE (docs/reference/nccl-plugins.md): predicted times of every algorithm and protocol, by shape of
 * a communicator, collective and size. A context keeps what is near its own shape and nothing else.
 */
#ifndef RONDE_NCCL_PLUGINS_PLUGIN_WORDS_H
#define RONDE_NCCL_PLUGINS_PLUGIN_WORDS_H

#include "tuner_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What both plug-ins share: NCCL's names as ronde writes them, numbers in any locale, files that records go to. */

/** Bytes of a path, its NUL included. */
#define PLUGIN_PATH_BYTES 1024u

/** A word of NCCL's, and ronde's for it. */
struct plugin_word {
    const char *theirs, *ours;
    unsigned bytes; /**< of a type's element */
};

/** Words of a kind: those that NCCL has numbers for come first, in their order. */
struct plugin_words {
    const struct plugin_word *all;
    int count, numbered;
};
extern const struct plugin_words plugin_funcs, plugin_types, plugin_algorithms, plugin_protocols;

/** The word that is NCCL's; NULL for none. */
const struct plugin_word *plugin_word_find(const struct plugin_words *words, const char *theirs);

/** ronde's word for a number of NCCL's; NULL for one that is not known. */
const char *plugin_collective(int collective);
const char *plugin_algorithm(int algorithm);
const char *plugin_protocol(int protocol);

/** "Ring/LL128" as numbers of NCCL's; false for other texts. */
bool plugin_choice_parse(const char *text, size_t bytes, int *out_algorithm, int *out_protocol);

/** Digits with a point among or before them, in any locale: how many characters that takes, and the number; 0 for none. */
size_t plugin_decimal(const char *text, double *out);

/** A number as JSON has it, in as few digits as give a float back; the application's locale may have commas. */
void plugin_number(double value, char *out_text, size_t bytes);

/** A path with %h for the host's name, %p for the process and %% for %; false where it is too long or has another %. */
bool plugin_path(const char *pattern, char out_path[PLUGIN_PATH_BYTES]);

/** Opens a file to append to, which is a regular one; -1 with errno. */
int plugin_append_open(const char *path);

/** Writes all of a text; false with errno. One write of whole lines keeps lines of several processes apart. */
bool plugin_write(int file, const char *text, size_t bytes);

/** Sizes of a collective, and pairs of algorithm and protocol, at most. */
enum { TUNER_SIZES = 64, TUNER_COLUMNS = 12 };

/** Times of a collective by size, ascending. */
struct tuner_times {
    uint32_t count;
    uint64_t bytes[TUNER_SIZES];
    float sure[TUNER_SIZES]; /**< how many times slower a choice must be said to be so that it surely is */
    float us[TUNER_SIZES][TUNER_COLUMNS]; /**< 0 = none */
};

/** Communicators of so many nodes, and of as many ranks a node as the context's. */
struct tuner_shape {
    uint32_t nodes; /**< 0 = there is none */
    struct tuner_times of[ABI_COLLECTIVES];
};

/** What a context knows: its own shape twice, or the shapes of the next fewer and the next more nodes. */
struct tuner_table {
    bool is_known;
    int columns;
    int algorithm[TUNER_COLUMNS];
    int protocol[TUNER_COLUMNS];
    struct tuner_shape below, above;
};

/** Bytes of what was wrong with a file. */
enum { TUNER_REASON_BYTES = 256 };

/**
 * Reads what concerns a communicator. False with a reason where the file cannot be used; true with is_known false where it
 * says nothing of such a communicator.
 */
bool tuner_table_read(const char *path, uint64_t ranks, uint64_t nodes, struct tuner_table *out,
                      char out_reason[TUNER_REASON_BYTES]);

/**
 * How many times faster column `to` surely is than column `from` for a size, at least: at both sizes that enclose it and in
 * both shapes. 0 where one of them has no time.
 */
float tuner_table_gain(const struct tuner_table *table, enum abi_collective collective,
                       uint64_t bytes, int from, int to);

/** The column of a pair; -1 for none. */
int tuner_table_column(const struct tuner_table *table, int algorithm, int protocol);

#endif
