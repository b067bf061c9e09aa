/**
 * Values in texts: whole numbers and sizes, as command lines, scenario files and bindings write them, and the nearest
 * name for what is misspelt. Pure functions.
 */
#ifndef RONDE_VALUES_H
#define RONDE_VALUES_H

#include "ronde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads a whole number from `low` to `high`, nothing after it. `what` names it in messages. Errors: BAD_ARGUMENT with the
 * text and the bounds.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_number_parse(const char *what, const char *text, uint64_t low, uint64_t high, uint64_t *out,
                   struct ronde_error *error);

/** The same from `low` to UINT32_MAX. Errors: BAD_ARGUMENT. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_count_parse(const char *what, const char *text,
                                                               uint32_t low, uint32_t *out,
                                                               struct ronde_error *error);

/** Reads a size: 8, 4K, 1.5M, 64KiB; powers of 1024. Errors: BAD_ARGUMENT for junk, signs, fractions of a byte, overflow. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_size_parse(const char *text, uint64_t *out_bytes,
                                                              struct ronde_error *error);

/** Characters of the longest size, its zero included. */
#define RONDE_SIZE_TEXT_BYTES 24

/** Writes bytes in the shortest exact form that ronde_size_parse reads: 8, 4K, 128M. Returns out_text. */
RONDE_API const char *ronde_size_text(uint64_t bytes, char out_text[RONDE_SIZE_TEXT_BYTES]);

/** Characters to insert, delete or replace to get from one name to the other; UINT32_MAX for what is too long to be one. */
RONDE_API uint32_t ronde_name_distance(const char *a, const char *b);

/** The name of `names` closest to `text` by edit distance; NULL when none is close enough to suggest. */
RONDE_API const char *ronde_nearest(const char *text, const char *const *names, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
