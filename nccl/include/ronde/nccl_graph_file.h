/**
 * Graph files of NCCL (NCCL_GRAPH_FILE): the order of a node's GPUs in each channel, which NCCL takes instead of searching.
 */
#ifndef RONDE_NCCL_GRAPH_FILE_H
#define RONDE_NCCL_GRAPH_FILE_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the file says of the node beside the orders; NCCL's tuner computes with it. */
struct ronde_nccl_node_links {
    double bus_GBps;  /**< of all channels together */
    const char *path; /**< kind of way between GPUs: NVL, PIX, PHB or SYS */
};

/**
 * Prints a graph file: every channel of the schedule is a channel of graph 0 (rings) and, with the same order, of graph 1
 * (a chain, over which trees run inside a node). The schedule has to go round in rings through all ranks, which are the GPUs
 * of one node. Owner: the caller frees *out_text, *out_bytes + 1 bytes.
 * Errors: NO_MEMORY; UNSUPPORTED, saying what NCCL does not take.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_graph_file_print(const struct ronde_schedule *schedule,
                            const struct ronde_nccl_node_links *links, const struct ronde_mem *mem,
                            char **out_text, size_t *out_bytes, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
