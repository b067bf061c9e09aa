/**
 * Lines of memory that a core asks for before it needs them. Never changes what a program computes.
 */
#ifndef RONDE_HW_LINE_H
#define RONDE_HW_LINE_H

#include <stdint.h>

/** Bytes of a line of most machines. */
#define RONDE_LINE_BYTES 64u

/** Asks for lines to be read. */
static inline void ronde_lines_to_read(const void *start, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += RONDE_LINE_BYTES)
        __builtin_prefetch((const char *)start + at);
}

/** Asks for lines to be written: no other core has them any more when they come. */
static inline void ronde_lines_to_write(const void *start, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += RONDE_LINE_BYTES) {
        const char *const line = (const char *)start + at;
#if defined(__x86_64__)
        /* The builtin asks for reading where compilers do not know the instruction; processors without it do nothing. */
        __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
        __builtin_prefetch(line, 1);
#endif
    }
}

#endif
