/**
 * Logs as they come from clusters: lines of several writers on one stream, what launchers and terminals put into them, lines that
 * come twice, on one line, or not at all. What a change may cost is marked: the parts of the log that it hit.
 */
#ifndef RONDE_TESTS_DISTURB_H
#define RONDE_TESTS_DISTURB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DISTURB_LINES = 800, DISTURB_LINE_BYTES = 512, DISTURB_PARTS = 256 };

/** A line, and of which part of the log it is; parts are numbered by who makes the log, -1 is none of them. */
struct disturb_line {
    char text[DISTURB_LINE_BYTES];
    int part;
    bool is_glued;   /**< the next one begins on it */
    unsigned prefix; /**< characters of a launcher's */
    bool has_piece;  /**< a tag or a sequence is in it: there is none within another */
};

/** A log that is disturbed. */
struct disturbed {
    struct disturb_line line[DISTURB_LINES];
    unsigned count;
    bool is_hurt[DISTURB_PARTS]; /**< parts that cannot be read any more, or need not */
    bool is_cut;                 /**< and what stood behind is not there */
    const char *end;             /**< of each line */
    uint64_t random;
    char ways[160]; /**< names of what was done */
};

/** Ways to disturb a log. */
enum disturb_way {
    DISTURB_NOT,
    DISTURB_PREFIX,   /**< a launcher's tag before every line */
    DISTURB_TAGS,     /**< tags anywhere in lines, in numbers and names too */
    DISTURB_COLOURS,  /**< a terminal's sequences anywhere */
    DISTURB_CRLF,     /**< two characters end a line */
    DISTURB_TWICE,    /**< every line comes twice, or some do */
    DISTURB_NOISE,    /**< lines of other writers between */
    DISTURB_GLUED,    /**< two lines on one */
    DISTURB_BROKEN,   /**< a line is broken anywhere, other output between its halves or not */
    DISTURB_OVERRUN,  /**< other output in the middle of a line */
    DISTURB_REPEATED, /**< Ray's word for lines that it left out, behind a line */
    DISTURB_CUT,      /**< the end is missing */
    DISTURB_WAYS
};

/** A number below a bound. */
unsigned disturb_draw(struct disturbed *log, unsigned bound);

/** Appends a line of a part. */
void disturb_add(struct disturbed *log, int part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Changes the log in a way. */
void disturb(struct disturbed *log, enum disturb_way way);

/** The whole as text, which the caller frees. */
char *disturb_text(struct disturbed *log, size_t *out_bytes);

#endif
