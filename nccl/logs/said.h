/**
 * What the lines of an NCCL log say, one by one, before they are put together: statements by rank and channel, and which
 * communicator each is about.
 */
#ifndef RONDE_NCCL_NCCL_SAID_H
#define RONDE_NCCL_NCCL_SAID_H

#include "ronde/nccl_graph.h"

/** Channels beyond this are no channels of NCCL's. */
#define NCCL_MOST_CHANNELS 1024u

/** NCCL up to 2.11 prints so many ranks of a ring, and nothing to say that there are more. */
#define NCCL_OLD_MOST_RANKS 20u

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
    uint32_t communicator; /**< in the order of the log */
    uint32_t line;         /**< of the log, from 1 */
    uint32_t channel;      /**< of the ring, or number of the tree */
    uint32_t rings;        /**< ring: how many the line says there are; 0 = does not */
    uint32_t rank;         /**< whose place it is; a ring's edge: who sends */
    uint32_t next;         /**< ring: to whom */
    uint32_t order;        /**< of a whole ring: how many ranks its line has; 0 = neighbours */
    struct ronde_nccl_branch branch; /**< tree: its neighbours */
    bool is_tree;
    bool is_open; /**< of a last line without an end: it may be cut, in a number too */
};

/** A ring that the log gives only the beginning of, or may: NCCL up to 2.11 prints 20 ranks of any ring, and no dots. */
struct nccl_cut {
    uint32_t communicator;
    uint32_t line;
    uint32_t channel;
    uint32_t last;  /**< of 20 ranks, or RONDE_NONE: it is cut for certain */
    uint32_t first; /**< to which `last` sends if the ring has no more ranks */
};

/** How many ranks a communicator has, as a line says that is not about rings. */
struct nccl_size {
    uint32_t communicator;
    uint32_t ranks;
    bool is_sure; /**< the line names the communicator */
};

/** A log as statements. */
struct nccl_log {
    const struct ronde_mem *mem;
    const char *name;        /**< for messages */
    struct ronde_list said;  /**< struct nccl_said */
    struct ronde_list cuts;  /**< struct nccl_cut */
    struct ronde_list sizes; /**< struct nccl_size */
    uint32_t unread_line; /**< the first on rings or trees that cannot be read and was left out; 0 = none */
    const char *unread; /**< why */
    uint32_t repeated_line; /**< the first that stands for others: Ray leaves out what is alike; 0 = none */
    uint32_t communicators; /**< how many there are */
    uint32_t hosts;         /**< names of hosts */
    struct ronde_error *error;
};

/** A whole decimal number, after blanks; false and nothing taken where there is none. */
bool nccl_take_number(struct nccl_cursor *cursor, int32_t *out_number);

/** A piece of text, after blanks; false and nothing taken where it is not there. */
bool nccl_take_text(struct nccl_cursor *cursor, const char *text);

/** Whether nothing follows that could belong to the line: its end, a bracket, or behind a blank a word of two letters. */
bool nccl_is_over(struct nccl_cursor cursor);

/**
 * Leaves out the tags that launchers put into lines as well ("[1,0]<stdout>:", bare ones "[0]"), and a terminal's sequences. Writes
 * to `out`, which may be the line, and returns how many characters that is. (lines.c)
 */
size_t nccl_drop_tags(const struct nccl_cursor *line, bool are_bare, char *out);

/** Goes behind the next place where a text stands; false where there is none. (lines.c) */
bool nccl_go_behind(struct nccl_cursor *cursor, const char *text);

/** What a line is; the cursor then stands behind its first word, at the number of a channel. (lines.c) */
enum nccl_line nccl_line_kind(struct nccl_cursor *cursor);

/** Notes a line that is left out, and why; the first is kept. (said.c) */
void nccl_leave_out(struct nccl_log *log, uint32_t line, const char *why);

/* Who refuses says why in log->error, with its status, and returns false, as does everyone who called. */

/** Collects the statements of a whole text. (said.c) Refused: BAD_INPUT with the line; NO_MEMORY. */
bool nccl_log_collect(struct nccl_log *log, const char *text, size_t bytes);

/** Puts together what one communicator's statements say. (settle.c) Refused: BAD_INPUT with the line; NO_MEMORY. */
bool nccl_log_settle(struct nccl_log *log, uint32_t ranks, struct ronde_nccl_graph *graph);

/* Which communicator a thread of a log is making. NCCL says so since 2.17, in a line that ends in "Init START"
 * before those on rings and trees: `commId` is the same on all ranks; a communicator that is split off has its
 * parent's, a count and a color. */

/** The communicators that threads have said to make. */
struct nccl_identities {
    const struct ronde_mem *mem;
    struct ronde_list made; /**< struct nccl_made, in the order of the log */
    uint32_t count;         /**< communicators that rings or trees were stated of */
};

/** Notes the communicator that a line names, if it names one; `prefix` is host:process:thread. False: no memory. */
bool nccl_identity_note(struct nccl_identities *identities, const struct nccl_cursor *prefix,
                        const struct nccl_cursor *line);

/** The number of the communicator that a thread made last, counted from 0 by first use; RONDE_NONE where it named none. */
uint32_t nccl_identity_find(struct nccl_identities *identities, const struct nccl_cursor *prefix);

/** Whether a thread, by the hash of its prefix, has named one. */
bool nccl_identity_knows(const struct nccl_identities *identities, uint64_t prefix);

/** Number (RONDE_NONE: nothing was stated of it) and ranks (0: not said) of each that was noted; false behind the last. */
bool nccl_identity_size(const struct nccl_identities *identities, uint32_t index,
                        uint32_t *out_number, uint32_t *out_ranks);

/** Frees what was noted. */
void nccl_identity_clear(struct nccl_identities *identities);

/** FNV-1a of some text, as a number for it. */
uint64_t nccl_hash(const char *at, const char *end);

#endif
