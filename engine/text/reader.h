/**
 * The state of the text reader, shared by its parts: the header (header.c), programs (read.c).
 */
#ifndef RONDE_ENGINE_TEXT_READER_H
#define RONDE_ENGINE_TEXT_READER_H

#include "draft.h"

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
