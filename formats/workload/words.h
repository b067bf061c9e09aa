/**
 * Lines of words, for ronde's own form of workloads.
 */
#ifndef RONDE_FORMATS_WORKLOAD_WORDS_H
#define RONDE_FORMATS_WORKLOAD_WORDS_H

#include "labels.h"

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

#endif
