/**
 * Rings and trees that NCCL has built, read from its log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH), as schedules: what
 * is replayed then is what NCCL runs, channel by channel, and not what it might run.
 *
 * Lines that are understood, whatever stands before them:
 *   Channel 00/02 :    0   1   2   3         a ring from rank 0 on, by the process of rank 0 (INIT); cut off at 128 characters
 *   Ring 00 : 3 -> 0 -> 1                    the neighbours of a rank in a ring, by every process (GRAPH)
 *   Trees [0] 1/-1/-1->0->-1 [1] ...         children, rank and parent in each tree, by every process (INIT)
 *
 * A log may hold several communicators; a process states the rings and trees of one after those of the other.
 */
#ifndef RONDE_NCCL_GRAPH_H
#define RONDE_NCCL_GRAPH_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most children of a rank in a tree. */
#define RONDE_NCCL_MOST_CHILDREN 3u

/** Room for why trees are left out. */
#define RONDE_NCCL_WHY_BYTES 256u

/** A rank's place in a tree; RONDE_NONE where there is nobody. */
struct ronde_nccl_branch {
    uint32_t up;                             /**< parent */
    uint32_t down[RONDE_NCCL_MOST_CHILDREN]; /**< children, in NCCL's order */
};

/** What a log says of one communicator. */
struct ronde_nccl_graph {
    const struct ronde_mem *mem; /**< of everything below */
    uint32_t ranks;              /**< of the communicator */
    uint32_t hosts;              /**< names of hosts in the log, at least 1 */
    uint32_t communicators;      /**< in the log */
    uint32_t rings;              /**< channels of rings; 0: the log states none */
    uint32_t unread_line; /**< first line on rings or trees that could not be read and was left out; 0 = none */
    uint32_t repeated_line; /**< first line that stands for others ("[repeated 7x across cluster]"); 0 = none */
    uint32_t trees; /**< channels of trees; 0: it does not state those of all ranks */
    char treeless[RONDE_NCCL_WHY_BYTES]; /**< what its trees contradict each other in, which are left out; "" = nothing */
    uint32_t *next;                   /**< per ring and rank: the rank it sends to */
    struct ronde_nccl_branch *branch; /**< per tree and rank */
};

/**
 * Reads the communicator of so many ranks; 0: the largest, the first of several. `name` is used in messages. Owner: the
 * caller destroys *out_graph.
 * Errors: NO_MEMORY; BAD_INPUT "name:line: ..." for lines that end early or contradict each other, and where nothing is
 * stated.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_graph_parse(const char *text, size_t bytes, const char *name, uint32_t ranks,
                       const struct ronde_mem *mem, struct ronde_nccl_graph **out_graph,
                       struct ronde_error *error);

/** The same from a file. Errors: IO. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_graph_read(const char *path, uint32_t ranks, const struct ronde_mem *mem,
                      struct ronde_nccl_graph **out_graph, struct ronde_error *error);

/** Frees it; NULL is allowed. */
RONDE_API void ronde_nccl_graph_destroy(struct ronde_nccl_graph *graph);

/** What NCCL would run over them. */
struct ronde_nccl_request {
    enum ronde_collective collective; /**< all_reduce, all_gather, reduce_scatter, broadcast, reduce */
    bool is_tree;                     /**< over the trees; all_reduce only */
    uint32_t root;                    /**< rank, of broadcast and reduce */
};

/**
 * The schedule over the rings, a channel each, or over the trees, a chunk of the block each. Owner: the caller.
 * Errors: NO_MEMORY; BAD_ARGUMENT for a root beyond the ranks; UNSUPPORTED for what NCCL has no ring or tree of, and for what
 * the log does not state.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_graph_schedule(const struct ronde_nccl_graph *graph,
                          const struct ronde_nccl_request *request, const struct ronde_mem *mem,
                          struct ronde_schedule **out_schedule, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
