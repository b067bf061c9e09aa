/**
 * Schedules that a test needs and that must be right: where one cannot be made, the reason is noted and the test ends.
 */
#ifndef RONDE_TESTS_SCHEDULE_H
#define RONDE_TESTS_SCHEDULE_H

#include "ronde/engine.h"

/** An algorithm on so many ranks, all else as it is by default. Owner: the caller destroys it. */
struct ronde_schedule *schedule_compile(enum ronde_collective collective, const char *algorithm,
                                        uint32_t ranks);

/** The schedule of any request; out_proof may be NULL. Owner: the caller destroys it. */
struct ronde_schedule *schedule_compile_request(const struct ronde_compile_request *request,
                                                struct ronde_proof *out_proof);

/** A builder for a request. Owner: schedule_finish or ronde_schedule_finish consumes it. */
struct ronde_builder *schedule_builder(const struct ronde_compile_request *request);

/** What a builder makes. Owner: the caller destroys it. */
struct ronde_schedule *schedule_finish(struct ronde_builder *builder);

/** A schedule in its text form. Owner: the caller destroys it. */
struct ronde_schedule *schedule_read(const char *text);

#endif
