/** Machines by what --topo may name, and what is missing of them. */
#ifndef RONDE_CLI_TOPOLOGY_H
#define RONDE_CLI_TOPOLOGY_H

#include "options.h"

#include "ronde/import.h"
#include "ronde/topologies.h"

#include <stdint.h>

/** The fabric of a name, as --fabric takes it. Errors: BAD_ARGUMENT naming the nearest one. */
RONDE_MUST_CHECK enum ronde_status
ronde_parse_fabric(const char *text, enum ronde_fabric *out_fabric, struct ronde_error *error);

/**
 * The machine of --topo, --nodes and --fabric without what --without, --nics and --degrade LINK=0 take out. Owner: the
 * caller destroys it. Errors: those of the readers; BAD_ARGUMENT for a name that is not there.
 */
RONDE_MUST_CHECK enum ronde_status ronde_machine_open(const struct ronde_options *options,
                                                      struct ronde_platform **out_platform,
                                                      struct ronde_error *error);

/** Scales the links of --degrade. Errors: BAD_ARGUMENT for what is no LINK=FACTOR; those of ronde_platform_degrade. */
RONDE_MUST_CHECK enum ronde_status ronde_degrade_links(const struct ronde_options *options,
                                                       struct ronde_platform *platform,
                                                       struct ronde_error *error);

/** Whether --degrade scales any link; LINK=0 takes one out. */
bool ronde_degrades_links(const struct ronde_options *options);

/** Opens what describes a node, for a platform of several: a description, a dump, or this machine. Errors: those of the readers. */
RONDE_MUST_CHECK enum ronde_status ronde_node_open(const struct ronde_import_request *request,
                                                   struct ronde_import **out_import,
                                                   struct ronde_error *error);

/* Names of the files of one kind that a folder has. */

/* The most files looked at, and the longest of their names. */
#define RONDE_SHIPPED_MOST 128u
#define RONDE_SHIPPED_NAME_BYTES 64u

struct ronde_shipped_names {
    char name[RONDE_SHIPPED_MOST][RONDE_SHIPPED_NAME_BYTES];
    uint32_t count;
};

/* Descriptions of machines that are shipped, for --topo and NCCL's model. */
void ronde_shipped_machines_read(struct ronde_shipped_names *out);

/* These behind the platforms that are shipped: all that --topo may name. */
void ronde_shipped_read(struct ronde_shipped_names *out);

/* Refuses what is no machine, with the name that may have been meant; returns `status`. */
enum ronde_status ronde_refuse_machine(const char *text, enum ronde_status status,
                                       struct ronde_error *error);

/** The machine that an argument names in place of --topo. Errors: as ronde_open_platform. */
RONDE_MUST_CHECK enum ronde_status
ronde_open_argument(const struct ronde_options *options, uint32_t argument,
                    struct ronde_platform **out_platform, struct ronde_error *error);

/** Opens the machine of --topo with all its links as fast as they are in the file, for what compares with that. Errors: the same. */
RONDE_MUST_CHECK enum ronde_status ronde_open_healthy_platform(const struct ronde_options *options,
                                                               struct ronde_platform **out_platform,
                                                               struct ronde_error *error);

/** Opens the machine of --topo, --degrade included. Errors: BAD_ARGUMENT when it was not given; as ronde_machine_open. */
RONDE_MUST_CHECK enum ronde_status ronde_open_platform(const struct ronde_options *options,
                                                       struct ronde_platform **out_platform,
                                                       struct ronde_error *error);

#endif
