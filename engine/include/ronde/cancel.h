/**
 * Ending long work from outside: one thread works and looks from time to time, another one, or a signal handler, requests
 * the end.
 */
#ifndef RONDE_CANCEL_H
#define RONDE_CANCEL_H

#include "ronde/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A request to end; zeroes: none so far. Any number of calls may look at one. */
struct ronde_cancel {
    uint32_t is_requested; /**< 1 once it is; read and written by the functions below alone */
};

/** Requests the end of all work that was given `cancel`. From any thread and from signal handlers. */
RONDE_API void ronde_cancel_request(struct ronde_cancel *cancel);

/** Whether the end was requested; NULL is allowed and never requests it. */
RONDE_API bool ronde_cancel_is_requested(const struct ronde_cancel *cancel);

/** OK, or CANCELLED with a message where the end was requested. `what` is the work, as in "the replay". */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_cancel_check(const struct ronde_cancel *cancel, const char *what, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
