/** Machines of NCCL's model, as --topo names them. */
#ifndef RONDE_CLI_NCCL_MACHINE_H
#define RONDE_CLI_NCCL_MACHINE_H

#include "cli/options/options.h"

#include "ronde/published.h"

#include <stdio.h>

/** The path of a description: the text itself where that is a file, else that of the shipped one of this name. */
void ronde_find_nccl_machine(const char *text, char *out_path, size_t bytes);

/** Whether a file that can be read may be a description: not called .xml, and it begins with a comment or a word. */
bool ronde_is_nccl_machine(const char *path);

/**
 * Reads the machine of --topo: a description (topologies/published/README.md), the name of a shipped one, or a platform
 * file. Errors: BAD_ARGUMENT without --topo; as ronde_nccl_machine_read; as ronde_nccl_machine_of_platform.
 */
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
