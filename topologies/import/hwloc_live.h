/**
 * This machine as hwloc sees it. hwloc_live_absent.c stands in where hwloc was not built in.
 */
#ifndef RONDE_TOPOLOGIES_IMPORT_HWLOC_LIVE_H
#define RONDE_TOPOLOGIES_IMPORT_HWLOC_LIVE_H

#include "ronde/mem.h"

/**
 * Describes this machine in hwloc's XML: *out_text has *out_bytes bytes, which the caller frees.
 * Errors: UNAVAILABLE, NO_MEMORY, DEVICE.
 */
enum ronde_status ronde_hwloc_describe_machine(const struct ronde_mem *mem, char **out_text,
                                               size_t *out_bytes, struct ronde_error *error);

#endif
