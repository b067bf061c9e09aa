/**
 * Breaking schedules on purpose, for the tests of the prover.
 */
#ifndef RONDE_TESTS_MUTATE_H
#define RONDE_TESTS_MUTATE_H

#include "ronde/ir.h"

/** Ways to break a schedule: enumerator, text. */
#define MUTATE_LIST(X)                                                                             \
    X(CHUNK, "another chunk")                                                                      \
    X(BUFFER, "another buffer")                                                                    \
    X(DROP, "step dropped")                                                                        \
    X(DUPLICATE, "step duplicated")                                                                \
    X(SWAP, "steps swapped")                                                                       \
    X(OP, "another operation")                                                                     \
    X(DEPENDENCY, "dependency dropped")                                                            \
    X(PEER, "another peer")                                                                        \
    X(CONNECTION, "another connection")                                                            \
    X(LANE, "lane split")

/** A way to break a schedule. */
enum mutate_kind {
#define MUTATE_ENUMERATOR(name, text) MUTATE_##name,
    MUTATE_LIST(MUTATE_ENUMERATOR)
#undef MUTATE_ENUMERATOR
        MUTATE_COUNT /**< number of ways */
};

/** Printed name of a way. */
const char *mutate_text(enum mutate_kind kind);

/** Breaks a raw schedule in one random place; false if it offers none for this kind. */
bool mutate(struct ronde_schedule *schedule, enum mutate_kind kind, uint64_t *random);

/**
 * A raw copy with one program per position instead of a symmetry; the symmetry stays where operands of several chunks
 * would not be ranges any more. NULL when there is no memory.
 */
struct ronde_schedule *mutate_unroll(const struct ronde_schedule *schedule);

#endif
