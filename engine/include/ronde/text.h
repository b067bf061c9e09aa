/**
 * The text form of a schedule (`.ronde`), see docs/reference/schedule-format.md. Canonical: print(read(print(s))) == print(s).
 */
#ifndef RONDE_TEXT_H
#define RONDE_TEXT_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Prints a schedule as text. *out_text is zero-terminated, *out_bytes long without the zero; free it with
 * ronde_mem_free(mem, text, bytes + 1, 1). Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_print(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                     char **out_text, size_t *out_bytes, struct ronde_error *error);

/**
 * Reads, checks and proves a schedule from text. `name` is used in messages ("name:line: ..."). out_proof may be NULL.
 * Errors: NO_MEMORY; BAD_INPUT with the line; REJECTED when it parses and does not hold.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_read(const char *text, size_t bytes, const char *name, const struct ronde_mem *mem,
                    struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                    struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
