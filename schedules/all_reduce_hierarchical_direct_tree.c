/**
 * all_reduce, hierarchical, direct inside nodes and double binary trees between them.
 *
 * Inside a node every rank sends every part straight to its owner, and the result straight to
 * everybody, as in all_reduce_hierarchical_direct.c; between nodes two binary trees reduce half of a
 * part each, as in all_reduce_hierarchical_tree.c. Two latencies inside and 2 ceil(log2 K) between K
 * nodes are the fewest of the hierarchical forms: good for small and middle blocks on many nodes.
 *
 *   nodes (0 1) (2 3), half 1, lane 0:    0 -> 1: c1    1 -> 0: c0    2 -> 3: c1    3 -> 2: c0
 *                              lane 1:    ... received and added
 *                              lane 2:    2 -> 0: c0    3 -> 1: c1          up
 *                                         0 -> 2: c0    1 -> 3: c1          down
 *                              lane 6:    0 -> 1: c0    1 -> 0: c1    2 -> 3: c0    3 -> 2: c1
 *                              lane 7:    ... received
 *                      half 2: the same with nodes (2 3) (0 1)
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(2 C q) of the block, rounded up
 * to 16 bytes):
 *   T = L + t0 + t1 + t2 + (P-1) max((q-1) (s + f), (q-1) r, r + f, port)
 *   t0 = a + max(s + f + (q-1) r, (q-1) (s + f) + r)    t2 = a + (q-1) (s + f) + s
 *   t1 = `first` of all_reduce_tree.c for K ranks       port = C (4 (q-1) + min(K, 4)) b / port_GBps
 * without t0 and t2 for one rank a node; all_reduce_direct.c's two phases in chunks of 1/(C q) for one
 * node. Where D slots are too few, D pieces take at least 2 (r + f) + a (s + f + a + r + f for K =
 * 2). Exact for equal pieces where flows do not slow one another down; else steady state and fill,
 * see ronde_stages_price.
 * N = 1: L + sum of s(b_p).
 *
 * Source: those of the two files above.
 */
#include "catalogue.h"
#include "hierarchy.h"

static const struct ronde_hierarchy hierarchy = {.is_direct = true, .has_trees = true};

void ronde_all_reduce_hierarchical_direct_tree_build(const struct ronde_request *request,
                                                     struct ronde_builder *builder)
{
    ronde_hierarchy_build(hierarchy, request, builder);
}

struct ronde_price
ronde_all_reduce_hierarchical_direct_tree_price(const struct ronde_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network)
{
    return ronde_hierarchy_price(hierarchy, request, load, network);
}
