/**
 * What the lines of an NCCL log say, one by one, before they are put together: statements by rank and channel, and which
 * communicator each is about.
 */
#ifndef RONDE_NCCL_NCCL_SAID_H
#define RONDE_NCCL_NCCL_SAID_H

#include "ronde/nccl_graph.h"

/** Channels beyond this are no channels of NCCL's. */
#define NCCL_MOST_CHANNELS 1024u

/** enumerator: what a line is. */
enum nccl_line {
    NCCL_LINE_OTHER, /**< nothing of rings and trees */
    NCCL_LINE_ORDER, /**< Channel: a whole ring */
    NCCL_LINE_RING,  /**< Ring: two neighbours */
    NCCL_LINE_TREES  /**< Trees: a place in each tree */
};

/** A place in a line of text. */
struct nccl_cursor {
    const char *at;
    const char *end; /**< one past the line's last character */
};

/** One statement about a channel. */
struct nccl_said {
    uint32_t communicator;           /**< in the order of the log */
    uint32_t line;                   /**< of the log, from 1 */
    uint32_t channel;                /**< of the ring, or number of the tree */
    uint32_t rank;                   /**< whose place it is; a ring's edge: who sends */
    uint32_t next;                   /**< ring: to whom */
    struct ronde_nccl_branch branch; /**< tree: its neighbours */
    bool is_tree;
};

/** A ring that the log gives only the beginning of. */
struct nccl_cut {
    uint32_t communicator;
    uint32_t line;
    uint32_t channel;
};

/** A log as statements. */
struct nccl_log {
    const struct ronde_mem *mem;
    const char *name;       /**< for messages */
    struct ronde_list said; /**< struct nccl_said */
    struct ronde_list cuts; /**< struct nccl_cut */
    uint32_t communicators; /**< how many there are */
    uint32_t hosts;         /**< names of hosts */
    struct ronde_error *error;
};

/** A whole decimal number, after blanks; false and nothing taken where there is none. */
bool nccl_take_number(struct nccl_cursor *cursor, int32_t *out_number);

/** A piece of text, after blanks; false and nothing taken where it is not there. */
bool nccl_take_text(struct nccl_cursor *cursor, const char *text);

/** What a line is; the cursor then stands behind its first word, at the number of a channel. (lines.c) */
enum nccl_line nccl_line_kind(struct nccl_cursor *cursor);

/** Collects the statements of a whole text. (said.c) Errors: BAD_INPUT with the line; NO_MEMORY. */
enum ronde_status nccl_log_collect(struct nccl_log *log, const char *text, size_t bytes);

/** Puts together what one communicator's statements say. (settle.c) Errors: BAD_INPUT with the line; NO_MEMORY. */
enum ronde_status nccl_log_settle(struct nccl_log *log, uint32_t ranks,
                                  struct ronde_nccl_graph *graph);

#endif
