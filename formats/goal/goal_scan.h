/**
 * Scanning GOAL: words, numbers and characters of a line. After a refusal nothing is found any more.
 */
#ifndef RONDE_FORMATS_WORKLOAD_GOAL_SCAN_H
#define RONDE_FORMATS_WORKLOAD_GOAL_SCAN_H

#include "formats/workload/labels.h"

/* Where reading stands. */
struct goal {
    const char *text;
    size_t bytes;
    size_t at;
    uint32_t line;
    const char *path;
    struct ronde_workload *workload;
    struct labels labels; /* of the rank */
    bool *is_seen;        /* per rank: its block was there */
    struct ronde_error *error;
    enum ronde_status status; /* sticky */
};

/** Refuses the line; the first refusal is kept. */
void goal_refuse(struct goal *goal, const char *format, ...) RONDE_FORMAT(2, 3);

/** The character so far ahead, or zero at the end. */
char goal_peek(const struct goal *goal, size_t ahead);

/** Skips blanks and comments within a line. */
void goal_skip_blanks(struct goal *goal);

/** Skips blanks, comments and ends of lines. */
void goal_skip_lines(struct goal *goal);

/** The next word, which may be of no bytes. */
struct label_text goal_word(struct goal *goal);

/** Whether a word is this. */
bool goal_word_is(struct label_text found, const char *text);

/** Takes a word if it is there. */
bool goal_take(struct goal *goal, const char *text);

/** Takes a word, or refuses. */
void goal_expect(struct goal *goal, const char *text);

/** Takes a character, or refuses. */
void goal_expect_char(struct goal *goal, char c);

/** A number up to `most`; 0 after a refusal. */
uint64_t goal_number(struct goal *goal, const char *what, uint64_t most);

#endif
