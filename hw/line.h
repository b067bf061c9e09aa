/**
 * Prefetching of cache lines. Never changes what a program computes.
 */
#ifndef RONDE_HW_LINE_H
#define RONDE_HW_LINE_H

#include <stdint.h>

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

#endif
