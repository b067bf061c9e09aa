/** Machines of NCCL's model, as --topo names them. */
#ifndef RONDE_CLI_NCCL_MACHINE_H
#define RONDE_CLI_NCCL_MACHINE_H

#include "cli/options/options.h"

#include "ronde/nccl_platform.h"
#include "ronde/published.h"

#include <stdio.h>

/** The path of a description: the text itself where that is a file, else that of the shipped one of this name. */
void ronde_find_nccl_machine(const char *text, char *out_path, size_t bytes);

/** Whether a file that can be read may be a description: not called .xml, and it begins with a comment or a word. */
bool ronde_is_nccl_machine(const char *path);

/** A machine of NCCL's model, and what its platform leaves of its rates. */
struct ronde_nccl_site {
    struct ronde_nccl_machine machine;
    struct ronde_platform *platform; /**< NULL: a description, which says nothing of what lies between nodes */
    struct ronde_nccl_limit
        limits[RONDE_NCCL_LIMITS]; /**< of the call last asked for; what machine.limits points at */
};

/**
 * Opens the machine of --topo: a description (topologies/published/README.md), the name of a shipped one, or a platform
 * file with --degrade on its links. A site must not move while it is used. Owner: the caller closes it. Errors: BAD_ARGUMENT
 * without --topo, and for links of a description; as ronde_nccl_machine_read; as ronde_nccl_machine_of_platform.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_site_open(const struct ronde_options *options,
                                                        struct ronde_nccl_site *out,
                                                        struct ronde_error *error);

/** Lays a call of such hosts (NULL: the first) on the platform, if there is one, for the machine's limits. Errors: those of ronde_nccl_limits_find. */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_site_limit(struct ronde_nccl_site *site, const struct ronde_nccl_call *call,
                      const uint32_t *hosts, struct ronde_error *error);

/** The link for which a call takes longer than it would by the machine's own rates, 1 % or more; NULL: there is none. */
const char *ronde_nccl_site_limiting(const struct ronde_nccl_site *site,
                                     const struct ronde_nccl_constants *constants,
                                     const struct ronde_nccl_call *call,
                                     struct ronde_nccl_choice choice);

/** Frees its platform; a zeroed site is allowed. */
void ronde_nccl_site_close(struct ronde_nccl_site *site);

/** The machine alone, for what does not run on its fabric. Errors: as ronde_nccl_site_open. */
RONDE_MUST_CHECK enum ronde_status ronde_open_nccl_machine(const struct ronde_options *options,
                                                           struct ronde_nccl_machine *out,
                                                           struct ronde_error *error);

/** What a machine is taken for, in a line without its end, so that it can be judged: words and data sheets say most of it. */
void ronde_print_nccl_machine(FILE *file, const struct ronde_nccl_machine *machine);

/** nodes of --shape NODESxGPUS, 0 without one. Errors: BAD_ARGUMENT where they are not those of -N. */
RONDE_MUST_CHECK enum ronde_status ronde_shape_nodes(const struct ronde_options *options,
                                                     uint32_t ranks, uint32_t *out_nodes,
                                                     struct ronde_error *error);

/**
 * What is read of a table or log: --system, --topo where that is a folder of descriptions, and what a log may not say of
 * itself: the collective as argument number `collective_at`, ranks (-N), nodes (--shape). The result points into the
 * options. Errors: BAD_ARGUMENT.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_log_request_of(const struct ronde_options *options, const char *path, uint32_t collective_at,
                     struct ronde_published_request *out, struct ronde_error *error);

#endif
