/**
 * A program while its lines are being read, and the growing lists it is kept in. Internal to the text reader.
 */
#ifndef RONDE_ENGINE_TEXT_DRAFT_H
#define RONDE_ENGINE_TEXT_DRAFT_H

#include "engine/ir/arena.h"

#include "ronde/ir.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Tokens of the text form, one line at a time, and the errors every part of the reader reports alike. The lexer
 * looks at the text once, from front to back, and allocates nothing. */

/** Kinds of token. */
enum text_token {
    TEXT_END,     /**< end of the line, or of the text */
    TEXT_WORD,    /**< letters, digits and underscores, beginning with a letter or underscore */
    TEXT_NUMBER,  /**< decimal digits */
    TEXT_SEND,    /**< "->" */
    TEXT_RECEIVE, /**< "<-" */
    TEXT_SYMBOL   /**< any other single character */
};

/** Where the reader is. The current token is looked at before it is taken. */
struct text_lexer {
    const char *name;          /**< of the text, for messages */
    const char *end;           /**< of the text */
    const char *start;         /**< of the current token */
    size_t length;             /**< of the current token */
    uint64_t number;           /**< value of a TEXT_NUMBER, UINT64_MAX if it is larger */
    enum text_token kind;      /**< of the current token */
    uint32_t line;             /**< of the current token, from 1 */
    struct ronde_error *error; /**< the caller's record, may be NULL */
    enum ronde_status status;  /**< RONDE_OK until the first failure */
};

/** Starts before the first line. */
void text_lex_open(struct text_lexer *lexer, const char *text, size_t bytes, const char *name,
                   struct ronde_error *error);

/** Moves to the first token of the next line that has one; false at the end of the text. */
bool text_lex_line(struct text_lexer *lexer);

/** Moves to the next token of the line; stays at TEXT_END once there. */
void text_lex_next(struct text_lexer *lexer);

/** Whether the current token is this word. */
bool text_is_word(const struct text_lexer *lexer, const char *word);

/** Takes the current token if it is this word. */
bool text_take_word(struct text_lexer *lexer, const char *word);

/** Takes the current token if it is this character. */
bool text_take_symbol(struct text_lexer *lexer, char symbol);

/** Takes this character or fails. */
bool text_need_symbol(struct text_lexer *lexer, char symbol);

/** Takes a number least..most or fails; `what` names it in the message. */
bool text_need_number(struct text_lexer *lexer, const char *what, uint32_t least, uint32_t most,
                      uint32_t *out);

/** Takes a name (letters, digits, "_", "-", ".") of at most size-1 characters, or fails; `what` names it. */
bool text_need_name(struct text_lexer *lexer, const char *what, char *out, size_t size);

/** Fails unless the line is over. */
bool text_need_end(struct text_lexer *lexer);

/** Called for each number of a list; false stops the list, having failed. */
typedef bool (*text_take_number)(void *self, struct text_lexer *lexer, uint32_t number);

/** Reads numbers below `bound` and runs of them ("1 3 5-7 9-8") to the end of the line; at least one. */
bool text_need_list(struct text_lexer *lexer, const char *what, uint32_t bound,
                    text_take_number take, void *self);

/** Records "name:line: message" as BAD_INPUT at the current line; always false. */
bool text_fail(struct text_lexer *lexer, const char *format, ...) RONDE_FORMAT(2, 3);

/** The same at another line. */
bool text_fail_at(struct text_lexer *lexer, uint32_t line, const char *format, ...)
    RONDE_FORMAT(3, 4);

/** Records NO_MEMORY; always false. */
bool text_fail_memory(struct text_lexer *lexer);

/** Fails with "expected `what`, found ..." about the current token; always false. */
bool text_fail_expected(struct text_lexer *lexer, const char *what);

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
    struct ronde_list sorted;     /**< struct text_sorted */
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

/* The state of the text reader, shared by its parts: the header (header.c), programs (read.c). */

/** Entries of all orders together that a text may ask for beyond one per byte: runs like 0-1048575 are short. */
#define TEXT_FREE_ORDER_ENTRIES ((uint64_t)1 << 22)

/** Words that begin a line of the header, in the order in which they are printed. */
enum text_header_word {
    TEXT_HEADER_COLLECTIVE,
    TEXT_HEADER_ALGORITHM,
    TEXT_HEADER_RANKS,
    TEXT_HEADER_ROOT,
    TEXT_HEADER_PAIRS,
    TEXT_HEADER_CHUNKS,
    TEXT_HEADER_SHAPE,
    TEXT_HEADER_ROTATE,
    TEXT_HEADER_XOR,
    TEXT_HEADER_PEERS,
    TEXT_HEADER_STRICT,
    TEXT_HEADER_CLOBBERS,
    TEXT_HEADER_UNSCALED,
    TEXT_HEADER_PLACEMENT,
    TEXT_HEADER_CHANNEL,
    TEXT_HEADER_COUNT
};

/** Everything known while a text is read. */
struct text_reader {
    struct text_lexer lexer;
    const struct ronde_mem *mem;
    struct ronde_schedule *schedule;
    uint32_t header_lines[TEXT_HEADER_COUNT]; /**< where a word stood last, 0 if it did not */
    struct ronde_list channels;               /**< struct ronde_channel */
    struct ronde_list programs;               /**< struct ronde_program */
    struct text_draft draft;                  /**< the open program, if there is one */
    bool is_open;                             /**< a program has begun, so the header is over */
    uint32_t served;                          /**< positions that have a program */
    uint32_t *seen; /**< per rank: 1 + the last channel whose order names it; made with the first order */
    uint32_t *order;       /**< of the channel being read */
    uint32_t order_count;  /**< entries read so far */
    uint64_t order_budget; /**< entries that may still be read */
};

/** Whether the current token is a word of the header. */
bool text_is_header(const struct text_reader *reader);

/** Reads a line that begins with a word of the header. */
bool text_read_header(struct text_reader *reader);

/** Checks what the lines of the header must be together and fills in what they left out. */
bool text_finish_header(struct text_reader *reader);

/**
 * Checks that a buffer can follow its position, if it has to; `line` is where its size was given.
 */
bool text_check_rotates(struct text_reader *reader, uint32_t line, enum ronde_buffer buffer,
                        const struct ronde_program *program);

#endif
