/**
 * A schedule whose lanes a test polls in an order of its own, and what came of it beside what `host` makes of the same.
 */
#ifndef RONDE_TESTS_DRIVE_H
#define RONDE_TESTS_DRIVE_H

#include "engine/execute/loaded.h"
#include "support/buffers.h"

/** From drive_begin to drive_end. */
struct drive {
    struct ronde_schedule *schedule;
    struct ronde_loaded *loaded;
    struct buffers buffers;
};

/** Buffers of a schedule's ranks, filled with random bits. */
struct buffers_shape drive_shape(const struct ronde_schedule *schedule, uint64_t count,
                                 enum ronde_dtype dtype, enum ronde_op op, bool in_place);

/** Takes the schedule over. Results that are not read soon go past the caches from no bytes on, or never. */
void drive_begin(struct drive *drive, struct ronde_schedule *schedule,
                 const struct buffers_shape *shape, enum ronde_protocol protocol,
                 uint64_t slot_bytes, bool streams);

/** Owns the schedule and breaks it at a random place, unrolled or not. Returns the result if it is proved; else NULL. */
struct ronde_schedule *drive_mutant(struct ronde_schedule *schedule, bool is_unrolled,
                                    uint64_t *random);

/** Frees all of it. */
void drive_end(struct drive *drive);

/** Asserts that memory is what host makes of the same: it executes step by step, and neither joins nor spreads. */
void drive_expect_hosts_bits(const struct drive *drive, const char *what);

#endif
