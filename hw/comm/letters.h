/**
 * Letters: short messages of shared memory, whose number, agreement and data lie on one line.
 *
 * What a short message costs is the lines that travel, one after another: the sender's card, the connection's counter,
 * the slot. A letter is a slot headed by what the other two would say. Its number is written last, so a receiver that
 * sees it sees all; its digest stands for the sender's card, so a receiver with the same card need not read that one.
 * Counters and cards are written as ever, but nobody reads them: their lines stay where they are.
 *
 * Letters have memory of their own, so that no data ever lies where a head is looked for, and one stride, so that runs
 * of different short counts follow one another without rearranging anything.
 *
 * Stands before everything that includes engine/interp.h, as it tells the interpreter how to read and write messages.
 */
#ifndef RONDE_HW_COMM_LETTERS_H
#define RONDE_HW_COMM_LETTERS_H

#include <stdint.h>

struct ronde_end;
struct ronde_frame;

static inline uint64_t ronde_letters_posted(const struct ronde_frame *frame,
                                            const struct ronde_end *end);
static inline uint64_t ronde_letters_length(const struct ronde_frame *frame,
                                            const struct ronde_end *end);
static inline void ronde_letters_post(const struct ronde_frame *frame, const struct ronde_end *end,
                                      uint64_t length);

#define RONDE_POSTED(frame, end) ronde_letters_posted((frame), (end))
#define RONDE_LENGTH(frame, end) ronde_letters_length((frame), (end))
#define RONDE_TELL_LENGTH(frame, end, length) ronde_letters_post((frame), (end), (length))

#include "hw/comm/comm.h"
#include "hw/line.h"

/*
 * Lines asked for early. A sender asks for those of the letter after the next: they are the receiver's, and to get them
 * back one by one, as they are written, takes as long as all else. (The next one is what the receiver is polling.) A
 * receiver asks for the first lines of a long letter at once, before it knows where they go; those of a short one come
 * as fast without, and where both sides send, asking for more is in the way of what is written.
 */
#define RONDE_LETTERS_AHEAD 2u
#define RONDE_LONG_LETTER_BYTES 256u
#define RONDE_LETTER_BYTES_AHEAD 512u

/** The head of the letter in the current slot of an end. */
static inline struct ronde_letter *ronde_letters_head(const struct ronde_frame *frame,
                                                      const struct ronde_end *end)
{
    void *data = end->slots + end->slot * frame->slot_stride;
    return (struct ronde_letter *)data - 1;
}

/** Asks for what a letter holds. Messages that only offer data say how long that is instead. */
static inline void ronde_letters_expect(const struct ronde_letter *head)
{
    const uint64_t ahead =
        head->length < RONDE_LETTER_BYTES_AHEAD ? head->length : RONDE_LETTER_BYTES_AHEAD;
    if (head->length > RONDE_LONG_LETTER_BYTES && head->length <= RONDE_LETTER_BYTES)
        ronde_lines_to_read(head + 1, ahead);
}

/** RONDE_POSTED. A letter counts only if its digest says that its sender runs what this rank does, now. */
static inline uint64_t ronde_letters_posted(const struct ronde_frame *frame,
                                            const struct ronde_end *end)
{
    struct ronde_comm_program *program = frame->driver;
    if (!program->has_letters)
        return RONDE_ACQUIRE(frame, end->theirs);
    const struct ronde_letter *head = ronde_letters_head(frame, end);
    if (RONDE_ACQUIRE(frame, &head->number) != end->count + 1)
        return end->count;
    struct ronde_neighbour *sender = program->neighbour_of[end - program->loaded->ends];
    if (head->digest != sender->digest) {
        program->doubted = sender;
        return end->count;
    }
    program->sources_left -= !sender->is_verified;
    sender->is_verified = true;
    ronde_letters_expect(head);
    return end->count + 1;
}

/** RONDE_LENGTH. */
static inline uint64_t ronde_letters_length(const struct ronde_frame *frame,
                                            const struct ronde_end *end)
{
    const struct ronde_comm_program *program = frame->driver;
    return program->has_letters ? ronde_letters_head(frame, end)->length : end->lengths[end->slot];
}

/** Asks for a letter that a sender will write, if it is as long as this one. */
static inline void ronde_letters_reserve(const struct ronde_frame *frame,
                                         const struct ronde_end *end, uint64_t length)
{
    const uint64_t slot = end->slot + RONDE_LETTERS_AHEAD;
    const uint64_t wrapped = slot < frame->depth ? slot : slot % frame->depth;
    const struct ronde_letter *data = (const void *)(end->slots + wrapped * frame->slot_stride);
    if (length <= RONDE_LETTER_BYTES)
        ronde_lines_to_write(data - 1, sizeof *data + length);
}

/** RONDE_TELL_LENGTH: the data is there, so the letter is complete. */
static inline void ronde_letters_post(const struct ronde_frame *frame, const struct ronde_end *end,
                                      uint64_t length)
{
    const struct ronde_comm_program *program = frame->driver;
    if (!program->has_letters) {
        end->lengths[end->slot] = length;
        return;
    }
    struct ronde_letter *head = ronde_letters_head(frame, end);
    head->digest = program->digest;
    head->length = length;
    RONDE_RELEASE(frame, &head->number, end->count + 1);
    ronde_letters_reserve(frame, end, length);
}

#endif
