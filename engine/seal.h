/**
 * The door to a finished schedule, for the makers of raw schedules (builder, text reader) and for tests.
 *
 * A raw schedule has programs, channels and a header filled in by its maker; everything that check, prove and lower
 * find is still empty. ronde_seal is the only function that fills it in.
 */
#ifndef RONDE_ENGINE_SEAL_H
#define RONDE_ENGINE_SEAL_H

#include "ronde/ir.h"

/** Creates an empty raw schedule with its arena. Errors: NO_MEMORY. */
enum ronde_status ronde_raw_create(const struct ronde_mem *mem,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error);

/** Deep copy without what sealing found, to be changed and sealed again (mutation tests). */
enum ronde_status ronde_raw_copy(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                                 struct ronde_schedule **out_schedule, struct ronde_error *error);

/**
 * Fills in derived fields (sums, maxima, inverse orders, hash), checks, proves and lowers. The schedule stays the
 * caller's, who destroys it on failure. Errors: NO_MEMORY; REJECTED with the first finding as message.
 */
enum ronde_status ronde_seal(struct ronde_schedule *schedule, struct ronde_proof *out_proof,
                             struct ronde_error *error);

/**
 * Fills in the derived fields only and claims a minimum depth: what the mutation test runs on `host` to see whether a
 * mutant misbehaves. Errors: NO_MEMORY; REJECTED when it is not even well-formed (bounds), so that it cannot run.
 */
enum ronde_status ronde_seal_unproved(struct ronde_schedule *schedule, uint32_t min_depth,
                                      struct ronde_error *error);

#endif
