/**
 * A whole file in memory: for readers whose files are text, not devices that never end.
 */
#ifndef RONDE_FORMATS_WHOLE_FILE_H
#define RONDE_FORMATS_WHOLE_FILE_H

#include "ronde/mem.h"

#include <stddef.h>

/**
 * Reads a regular file of at most 1 GiB; behind it is a zero. Owner: the caller frees *out_text with ronde_whole_file_free; it is
 * NULL where that fails. Errors: IO naming the file; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_whole_file_read(const char *path, const struct ronde_mem *mem, char **out_text,
                      size_t *out_bytes, struct ronde_error *error);

/** Frees it; NULL is allowed. */
RONDE_API void ronde_whole_file_free(const struct ronde_mem *mem, char *text, size_t bytes);

#endif
