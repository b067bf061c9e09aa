/**
 * Which communicator a thread of a log is making. NCCL says so since 2.17, in a line that ends in "Init START" before those on
 * rings and trees: `commId` is the same on all ranks; a communicator that is split off has its parent's, a count and a color.
 */
#ifndef RONDE_NCCL_NCCL_IDENTITY_H
#define RONDE_NCCL_NCCL_IDENTITY_H

#include "said.h"

/** The communicators that threads have said to make. */
struct nccl_identities {
    const struct ronde_mem *mem;
    struct ronde_list made; /**< struct nccl_made, in the order of the log */
    uint32_t count;         /**< communicators that rings or trees were stated of */
};

/** Notes the communicator that a line names, if it names one; `prefix` is host:process:thread. False: no memory. */
bool nccl_identity_note(struct nccl_identities *identities, const struct nccl_cursor *prefix,
                        const struct nccl_cursor *line);

/** The number of the communicator that a thread made last, counted from 0 by first use; RONDE_NONE where it named none. */
uint32_t nccl_identity_find(struct nccl_identities *identities, const struct nccl_cursor *prefix);

/** Frees what was noted. */
void nccl_identity_clear(struct nccl_identities *identities);

/** FNV-1a of some text, as a number for it. */
uint64_t nccl_hash(const char *at, const char *end);

#endif
