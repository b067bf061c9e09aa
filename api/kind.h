/**
 * What a call is, as far as the choice of its program goes, and what it asks of its arguments.
 */
#ifndef RONDE_API_KIND_H
#define RONDE_API_KIND_H

#include "ronde/ronde.h"

/** Calls of one kind run the same program. Equal on all ranks of a communicator for the same call. */
struct ronde_kind {
    uint64_t what; /**< size class, collective, is_v, how sources are given; root or shift above */
    const uint32_t *source_of; /**< send_recv by a table: that table, else NULL */
};

/** The collective of a kind. */
enum ronde_collective ronde_kind_collective(const struct ronde_kind *kind);
/** Its root; 0 where it has none. */
uint32_t ronde_kind_root(const struct ronde_kind *kind);
/** The shift of a send_recv without a table. */
uint32_t ronde_kind_shift(const struct ronde_kind *kind);
/** Whether its blocks differ in length. */
bool ronde_kind_is_v(const struct ronde_kind *kind);
/** Bytes of a block in the middle of its size class; 0 in the class of empty blocks. */
uint64_t ronde_kind_bytes(const struct ronde_kind *kind);

/** The kind of a call whose blocks have `count` elements. */
struct ronde_kind ronde_kind_of(const struct ronde_call *call, uint64_t count);

/** Whether two kinds are the same; tables of sources have `ranks` entries. */
bool ronde_kind_is_same(const struct ronde_kind *a, const struct ronde_kind *b, uint32_t ranks);

/** A number that equal tables of sources share, and others as good as never; 0 without one. */
uint64_t ronde_kind_digest(const struct ronde_kind *kind, uint32_t ranks);

/** Refuses what can be seen to be wrong on this rank alone. Errors: BAD_ARGUMENT naming the argument; UNSUPPORTED. */
enum ronde_status ronde_call_check(const struct ronde_call *call, uint32_t rank, uint32_t ranks,
                                   struct ronde_error *error);

/** Elements of the longest block in this rank's tables. */
uint64_t ronde_call_longest(const struct ronde_call *call, uint32_t rank, uint32_t ranks);

#endif
