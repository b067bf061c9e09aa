/**
 * Processors of a part of a machine that hwloc has read.
 */
#ifndef RONDE_TOPOLOGIES_IMPORT_HWLOC_COLLECT_H
#define RONDE_TOPOLOGIES_IMPORT_HWLOC_COLLECT_H

#include "ronde/processors.h"

#include <hwloc.h>

/** Lists those of a set, near ones beside each other. Owner: the caller. Errors: NO_MEMORY; DEVICE if there is none. */
enum ronde_status ronde_hwloc_collect(hwloc_topology_t topology, hwloc_const_bitmap_t among,
                                      const struct ronde_mem *mem, struct ronde_processor **out_list,
                                      uint32_t *out_count, struct ronde_error *error);

#endif
