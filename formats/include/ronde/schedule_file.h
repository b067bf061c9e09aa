/**
 * Schedules from files, in ronde's form (docs/reference/schedule-format.md) or another's (docs/reference/formats.md), that stand where a
 * collective and an algorithm could.
 *
 * A file is proved when it is read, so what follows cannot tell it from a compiled one: it runs, is replayed and priced.
 */
#ifndef RONDE_SCHEDULE_FILE_H
#define RONDE_SCHEDULE_FILE_H

#include "ronde/builder.h"
#include "ronde/msccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether a word names a file: it is no collective, and has a dot or a slash. */
RONDE_API bool ronde_is_file(const char *word);

/**
 * Reads and proves a file. out_proof may be NULL; it has the findings also when the schedule is rejected. Owner: the caller
 * destroys *out_schedule. Errors: IO; BAD_INPUT and REJECTED naming file and line; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_file_open(const char *path, struct ronde_proof *out_proof,
                         struct ronde_schedule **out_schedule, struct ronde_error *error);

/** The same, with what an MSCCL file says beside its schedule; *out_facts is all zero for a file in ronde's own form. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_file_inspect(const char *path, struct ronde_msccl_facts *out_facts,
                            struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                            struct ronde_error *error);

/** What a schedule does, as a request that names no algorithm: none of ours made it. */
RONDE_API struct ronde_compile_request
ronde_schedule_file_request(const struct ronde_schedule *schedule);

#ifdef __cplusplus
}
#endif
#endif
