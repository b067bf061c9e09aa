/**
 * What the two files that read hwloc's XML share.
 */
#ifndef RONDE_TOPOLOGIES_IMPORT_HWLOC_READER_H
#define RONDE_TOPOLOGIES_IMPORT_HWLOC_READER_H

#include "reader.h"

/** Objects and the root are nested at most so deep; bounds the recursion. */
#define RONDE_MAX_HWLOC_DEPTH 128u

/**
 * Reads the NVLinkBandwidth matrix and its relatives, after all objects: those that are a place carry its number + 1 in
 * the node's `_private`. Errors: BAD_INPUT, NO_MEMORY.
 */
enum ronde_status ronde_hwloc_read_matrices(struct ronde_import_reader *reader, xmlNode *root);

#endif
