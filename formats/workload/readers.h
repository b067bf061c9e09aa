/**
 * What readers of workloads share: labels, words of lines, and the files that each format's reader takes.
 */
#ifndef RONDE_FORMATS_WORKLOAD_READERS_H
#define RONDE_FORMATS_WORKLOAD_READERS_H

#include "ronde/mem.h"
#include "ronde/workload.h"

/* Names of items within one program, and which item each names. */

/** A word of a file, not terminated. */
struct label_text {
    const char *at; /**< first character */
    size_t bytes;   /**< how many */
};

/** An open-addressed table. Start from zeroes with `mem` set. */
struct labels {
    const struct ronde_mem *mem; /**< whose memory */
    struct label_slot *slots;    /**< table */
    size_t slot_count;           /**< a power of two, or 0 */
    size_t count;                /**< used */
};

/** One entry. */
struct label_slot {
    struct label_text text; /**< points into the file */
    uint64_t value;         /**< what it names */
    bool is_used;           /**< whether it is an entry */
};

/** What a name names, or NULL. */
const uint64_t *labels_find(const struct labels *labels, struct label_text text);

/** Adds a name that is not there. Returns false without memory. */
bool labels_add(struct labels *labels, struct label_text text, uint64_t value);

/** Forgets all names and keeps the memory. */
void labels_clear(struct labels *labels);

/** Frees the memory. */
void labels_free(struct labels *labels);

/* Lines of words: of ronde's own form of workloads, and in part of GOAL. */

/** Where reading stands. */
struct words {
    const char *text;          /**< the file */
    size_t bytes;              /**< its length */
    size_t at;                 /**< next character */
    uint32_t line;             /**< counted from 1 */
    const char *path;          /**< for messages */
    struct ronde_error *error; /**< for messages */
    enum ronde_status status;  /**< of the first refusal */
};

/** Refuses the line; the first refusal is kept. */
void words_refuse(struct words *words, const char *format, ...) RONDE_FORMAT(2, 3);

/** Keeps the first status that is not OK. */
void words_keep(struct words *words, enum ronde_status status);

/** Appends an item to a list. False after a refusal, and without memory. */
bool words_append(struct words *words, const struct ronde_mem *mem, struct ronde_list *list,
                  const void *item, size_t item_bytes);

/** The next word of the line; of no bytes at its end, and after a refusal. '#' begins a comment. */
struct label_text words_next(struct words *words);

/** Goes to the next line that has a word. False at the end of the file. */
bool words_line(struct words *words);

/** Whether a word is this. */
bool words_is(struct label_text word, const char *text);

/** A whole number from low to high; 0 after a refusal. */
uint64_t words_number(struct words *words, struct label_text word, const char *what, uint64_t low,
                      uint64_t high);

/** A size: 8, 4K, 1.5M; bytes. */
uint64_t words_size(struct words *words, struct label_text word);

/** A time with its unit, ns, us, ms or s, in ns. */
double words_time(struct words *words, struct label_text word);

/** goal_read.c: GOAL. As ronde_workload_parse. */
RONDE_MUST_CHECK enum ronde_status
workload_read_goal(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                   struct ronde_workload **out_workload, struct ronde_error *error);

#endif
