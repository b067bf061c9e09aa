/**
 * A text that grows as it is printed. For the printers of schedules: the text form here, and the formats of others.
 */
#ifndef RONDE_ENGINE_TEXT_OUT_H
#define RONDE_ENGINE_TEXT_OUT_H

#include "ronde/mem.h"

/** The text so far. A lack of memory is kept until the end. Start with `mem` set and the rest zero. */
struct ronde_text_out {
    const struct ronde_mem *mem;
    void *text;
    size_t capacity;
    size_t bytes;
    bool is_short; /**< there was no memory */
};

/** Appends a formatted piece of at most 511 bytes. */
RONDE_API void ronde_text_put(struct ronde_text_out *out, const char *format, ...)
    RONDE_FORMAT(2, 3);

/**
 * Appends the line of an algorithm's name: its first 31 characters, those that a name cannot have as '-'; `fallback` where
 * it is empty.
 */
RONDE_API void ronde_text_put_algorithm(struct ronde_text_out *out, const char *name,
                                        const char *fallback);

/**
 * Ends the text: *out_text is zero-terminated, *out_bytes long without the zero, to be freed with
 * ronde_mem_free(mem, text, bytes + 1, 1). Frees everything and returns NO_MEMORY if some was missing.
 */
RONDE_API enum ronde_status ronde_text_finish(struct ronde_text_out *out, char **out_text,
                                              size_t *out_bytes, struct ronde_error *error);

#endif
