/**
 * A program while its lines are being read, and the growing lists it is kept in. Internal to the text reader.
 */
#ifndef RONDE_ENGINE_TEXT_DRAFT_H
#define RONDE_ENGINE_TEXT_DRAFT_H

#include "engine/ir/arena.h"
#include "lex.h"
#include "ronde/ir.h"

/** Most chunks of any buffer a text may declare: 16 for each of the most ranks. Proving takes memory for each. */
#define TEXT_MOST_CHUNKS (1u << 24)

/** The words of the buffers. */
extern const char *const text_buffer_words[RONDE_BUFFER_COUNT];

/** Takes the word of a buffer or fails. */
bool text_need_buffer(struct text_lexer *lexer, enum ronde_buffer *out_buffer);

/** How the peers of a schedule are written. */
enum text_peer_form {
    TEXT_PEER_SIGNED,  /**< "+1", "-1": an offset modulo ranks */
    TEXT_PEER_SHAPED,  /**< "(0,-1)": an offset per digit of the shape */
    TEXT_PEER_XOR,     /**< "^1" */
    TEXT_PEER_ABSOLUTE /**< "@5": a position */
};

/** The form that follows from the header. */
static inline enum text_peer_form text_peer_form(const struct ronde_schedule *schedule)
{
    if (schedule->absolute_peers)
        return TEXT_PEER_ABSOLUTE;
    if (schedule->symmetry == RONDE_SYMMETRY_XOR)
        return TEXT_PEER_XOR;
    const bool is_shaped = schedule->symmetry == RONDE_SYMMETRY_ROTATE && schedule->shape_count > 1;
    return is_shaped ? TEXT_PEER_SHAPED : TEXT_PEER_SIGNED;
}

/**
 * A step's use of a connection: what tells connections apart, in one comparable number, and where
 * it was first used.
 */
struct text_use {
    uint64_t key;        /**< peer, tag and direction */
    uint32_t step;       /**< of the program */
    uint32_t connection; /**< first the earliest use of the same connection, then the connection */
};

/** A use on its way through the sort. */
struct text_sorted {
    uint64_t key; /**< as text_use */
    uint32_t use; /**< index of the use */
};

/** "after lane.step", to be resolved when all lanes are known. */
struct text_after {
    uint32_t lane; /**< lane of the program */
    uint32_t step; /**< index within the lane */
};

/** The program being read. Lists are emptied, not freed, between programs: memory follows the longest one. */
struct text_draft {
    const struct ronde_mem *mem;
    const struct ronde_schedule *schedule; /**< its header is complete */
    struct ronde_program program; /**< scratch_chunks is set; the counts follow at the end */
    uint32_t lane_line;           /**< where the last lane began */
    struct ronde_list steps;      /**< struct ronde_step */
    struct ronde_list lines;      /**< uint32_t, the line of each step */
    struct ronde_list lane_first; /**< uint32_t */
    struct ronde_list uses;       /**< struct text_use */
    struct ronde_list sorted;     /**< struct text_sorted, two per use: room to sort */
    struct ronde_list afters;     /**< struct text_after */
    struct ronde_list ranges;     /**< struct ronde_range */
};

/** Empties the draft for a program with this much scratch. */
void text_draft_start(struct text_draft *draft, uint32_t scratch_chunks);

/** Reads the rest of a "lane" line. */
bool text_draft_lane(struct text_draft *draft, struct text_lexer *lexer);

/** Appends a step that stands on the current line. */
bool text_draft_add_step(struct text_draft *draft, struct text_lexer *lexer,
                         const struct ronde_step *step);

/** Reads a step, whose operation is the current token (step.c). */
bool text_draft_step(struct text_draft *draft, struct text_lexer *lexer);

/** Resolves dependencies and connections and copies the program to the arena. Time: n log n in the steps. */
bool text_draft_finish(struct text_draft *draft, struct text_lexer *lexer,
                       struct ronde_arena *arena, struct ronde_program *out_program);

/** Frees the lists. */
void text_draft_free(struct text_draft *draft);

/** Key of a connection; unique, since a peer is below RONDE_MAX_RANKS = 2^20. */
static inline uint64_t text_use_key(uint32_t peer, uint32_t tag, bool is_send)
{
    return (uint64_t)peer << 33 | (uint64_t)tag << 1 | is_send;
}

/** The connection of a key. */
static inline struct ronde_connection text_use_connection(uint64_t key)
{
    struct ronde_connection connection;
    connection.peer = (uint32_t)(key >> 33);
    connection.tag = (uint32_t)(key >> 1);
    connection.is_send = (key & 1) != 0;
    return connection;
}

#endif
