/**
 * What share of the bound a predicted time reaches: the least time that any schedule could take, over the time.
 */
#ifndef RONDE_CLI_BOUND_SHARE_H
#define RONDE_CLI_BOUND_SHARE_H

#include "cli/cmd/common.h"
#include "table.h"

#include "ronde/bound.h"

/** Ranks up to which shares are found: the routes of all pairs must be known, which beyond takes longer than a replay. */
#define RONDE_BOUND_SHARE_RANKS 1024u

/** The bound of what is predicted, where it is known. */
struct ronde_bound_share {
    bool is_known;            /**< bound holds */
    struct ronde_bound bound; /**< of the collective on the machine */
};

/**
 * Finds the bound of a request. Not known: a machine without links, more ranks than RONDE_BOUND_SHARE_RANKS, some of the
 * hosts chosen for the ranks (host_of), a barrier.
 */
struct ronde_bound_share ronde_bound_share_find(const struct ronde_platform *platform,
                                                const struct ronde_compile_request *request,
                                                const uint32_t *host_of);

/** The share, 1 = no schedule is faster; NAN where the bound is not known. `bytes`: of the size column. */
double ronde_bound_share_of(const struct ronde_bound_share *share, uint64_t bytes, double time_ns);

/** In percent, for a table; blank where it is not known. */
struct ronde_cell ronde_bound_share_cell(double share);

/** Under the key "bound_share", for programs; null where it is not known. */
struct ronde_field ronde_bound_share_field(double share);

#endif
