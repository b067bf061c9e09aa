/**
 * Eager messages of shared memory: number, handshake digest and data of a short message lie on one cache line.
 *
 * What a short message costs is the cache lines that move, one after another: the sender's handshake record, the
 * connection's counter, the slot. An eager slot is headed by what the other two contain. Its number is written last, so a
 * receiver that reads it can read all; its digest stands for the sender's handshake record, so a receiver with the same
 * record need not read that one. Counters and records are written as ever, but not read: their lines stay where they are.
 *
 * Eager slots have memory of their own, so that no data ever lies where a header is polled, and one stride, so that runs
 * of different short counts follow one another without rearranging anything.
 *
 * Include it before engine/execute/interp.h: it defines how the interpreter reads and writes messages.
 */
#ifndef RONDE_HW_SHM_EAGER_H
#define RONDE_HW_SHM_EAGER_H

#include <stdint.h>

/* Prefetching of cache lines. Never changes what a program computes. */

/** Bytes of a cache line of most machines. */
#define RONDE_LINE_BYTES 64u

/** Prefetches lines for reading. */
static inline void ronde_lines_to_read(const void *start, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += RONDE_LINE_BYTES)
        __builtin_prefetch((const char *)start + at);
}

/** Prefetches lines for writing: exclusively, so that no other core's cache has them any more. */
static inline void ronde_lines_to_write(const void *start, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += RONDE_LINE_BYTES) {
        const char *const line = (const char *)start + at;
#if defined(__x86_64__)
        /* The builtin may compile to a prefetch for reading; processors without this instruction do nothing. */
        __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
        __builtin_prefetch(line, 1);
#endif
    }
}

struct ronde_end;
struct ronde_frame;

static inline uint64_t ronde_eager_posted(const struct ronde_frame *frame,
                                          const struct ronde_end *end);
static inline uint64_t ronde_eager_length(const struct ronde_frame *frame,
                                          const struct ronde_end *end);
static inline void ronde_eager_post(const struct ronde_frame *frame, const struct ronde_end *end,
                                    uint64_t length);

#define RONDE_POSTED(frame, end) ronde_eager_posted((frame), (end))
#define RONDE_LENGTH(frame, end) ronde_eager_length((frame), (end))
#define RONDE_POST_LENGTH(frame, end, length) ronde_eager_post((frame), (end), (length))

#include "hw/comm/comm_parts.h"

/*
 * Prefetched lines. A sender prefetches those of the slot after the next: the receiver's core has them, and to fetch them
 * one by one, as they are written, takes as long as all else. (The next slot is what the receiver is polling.) A receiver
 * prefetches the first lines of a long message at once, before it has found their destination; those of a short one
 * arrive as fast without, and where both sides send, prefetching more delays the writes.
 */
#define RONDE_EAGER_SLOTS_AHEAD 2u
#define RONDE_EAGER_LONG_BYTES 256u
#define RONDE_EAGER_BYTES_AHEAD 512u

/** The header of the current eager slot of an end. */
static inline struct ronde_eager_header *ronde_eager_head(const struct ronde_frame *frame,
                                                          const struct ronde_end *end)
{
    void *data = end->slots + end->slot * frame->slot_stride;
    return (struct ronde_eager_header *)data - 1;
}

/** Prefetches a message's data for reading. An offer has none here: its length is that of the offered data. */
static inline void ronde_eager_prefetch_read(const struct ronde_eager_header *head)
{
    const uint64_t ahead =
        head->length < RONDE_EAGER_BYTES_AHEAD ? head->length : RONDE_EAGER_BYTES_AHEAD;
    if (head->length > RONDE_EAGER_LONG_BYTES && head->length <= RONDE_EAGER_BYTES)
        ronde_lines_to_read(head + 1, ahead);
}

/** RONDE_POSTED. A message counts only if its digest shows that its sender is in the same run as this rank. */
static inline uint64_t ronde_eager_posted(const struct ronde_frame *frame,
                                          const struct ronde_end *end)
{
    struct ronde_comm_program *program = frame->driver;
    if (!program->has_eager)
        return RONDE_ACQUIRE(frame, end->theirs);
    const struct ronde_eager_header *head = ronde_eager_head(frame, end);
    if (RONDE_ACQUIRE(frame, &head->number) != end->count + 1)
        return end->count;
    struct ronde_peer *sender = program->peer_of[end - program->loaded->ends];
    if (head->digest != sender->digest) {
        program->doubted = sender;
        return end->count;
    }
    program->sources_left -= !sender->is_verified;
    sender->is_verified = true;
    ronde_eager_prefetch_read(head);
    return end->count + 1;
}

/** RONDE_LENGTH. */
static inline uint64_t ronde_eager_length(const struct ronde_frame *frame,
                                          const struct ronde_end *end)
{
    const struct ronde_comm_program *program = frame->driver;
    return program->has_eager ? ronde_eager_head(frame, end)->length : end->lengths[end->slot];
}

/** Prefetches for writing the slot after the next, for a message as long as this one. */
static inline void ronde_eager_prefetch_write(const struct ronde_frame *frame,
                                              const struct ronde_end *end, uint64_t length)
{
    const uint64_t slot = end->slot + RONDE_EAGER_SLOTS_AHEAD;
    const uint64_t wrapped = slot < frame->depth ? slot : slot % frame->depth;
    const struct ronde_eager_header *data =
        (const void *)(end->slots + wrapped * frame->slot_stride);
    if (length <= RONDE_EAGER_BYTES)
        ronde_lines_to_write(data - 1, sizeof *data + length);
}

/** RONDE_POST_LENGTH: the data is written, so the header completes the message. */
static inline void ronde_eager_post(const struct ronde_frame *frame, const struct ronde_end *end,
                                    uint64_t length)
{
    const struct ronde_comm_program *program = frame->driver;
    if (!program->has_eager) {
        end->lengths[end->slot] = length;
        return;
    }
    struct ronde_eager_header *head = ronde_eager_head(frame, end);
    head->digest = program->digest;
    head->length = length;
    RONDE_RELEASE(frame, &head->number, end->count + 1);
    ronde_eager_prefetch_write(frame, end, length);
}

#endif
