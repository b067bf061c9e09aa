/**
 * all_reduce, binary tree.
 *
 * Sums flow up NCCL's binary tree over positions to position 0, the result flows down again, and
 * the pieces of a block follow one another through both. Every position adds its children's sums to
 * its own block and passes the result on in two lanes, and sends to them in two more, so that a
 * piece goes up while an earlier one comes down. Latency grows with log2 N, so it is good for small
 * and middle blocks; a position with two children handles every byte three times.
 *
 *        0          up:   1 -> 2 <- 3,  2 -> 0        leaves sit at odd positions, a level above
 *        |          down: 0 -> 2,  2 -> 1 then 3      them every second even one, and so on; the
 *        2                                            right edge closes up where N is no power of 2
 *       / \
 *      1   3        position 2:  U0 rrc (from 1)      U1 rrs (from 3, to 0)
 *                                D0 rcs (0 to 1)      D1 send (to 3)
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; k = floor(log2(N-1)) levels between
 * root and leaves):
 *   T = L + first(b) + (P-1) period(b)
 *   first  = s + k (f2 + a + 2 r) + f         up; siblings share a port: f2 = b / min(lane, port / 2C)
 *          + a + r + f + a                    the root adds and turns round
 *          + k (2 (s + f) + a) + s            down, always the second child
 *   period = max(r + f, 3 C b / port_GBps)    the slowest lane, or the busiest port: two children up
 *                                             and the parent down
 * as written for full trees (N = 2^(k+1)). Where the right edge is cut off, its second sides are
 * shorter than first ones and the longer chain counts; an only child costs f + a + r instead of f2
 * + a + 2 r; for N = 2 (3) the busiest port carries one message (two) per piece instead of three.
 * Where D slots are too few, D pieces take at least 2 (r + f) + a (s + f + a + r + f for N = 2).
 * Exact, that is equal to the DAG price, where flows do not slow one another down: lanes slower
 * than their share of a port, N = 2, or N = 3 in one piece. Else the port's load is the steady
 * state and `first` the fill: approximate, since flows do not share a port all the time.
 *
 * Source: NVIDIA, NCCL, src/graph/trees.cc, ncclGetBtree (shape); P. Sanders, J. Speck,
 * J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
 * Computing 35(12), 2009, pages 581-594 (pipelined binary trees). NCCL runs up and down in one loop
 * each; our four lanes are those of the same data flow.
 */
#include "binary_tree.h"
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    ronde_tree_build(request, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_tree_price(request, load, network, 1);
}

static bool is_exact(const struct ronde_price_case *load)
{
    const bool is_flat = load->ranks == 2 || (load->ranks == 3 && load->pieces == 1);
    return ronde_flows_fit(load, is_flat ? 1 : 3);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "tree",
    .summary = "up and down a pipelined binary tree; best for small blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "NCCL; Sanders, Speck, Traeff 2009",
    .counts = ronde_counts_binary_tree,
    .is_exact = is_exact,
    .why_more =
        "an inner rank sends its sum up and the result down to two children, 3 blocks whatever N. "
        "In exchange there are only 2 (N-1) messages, on a path of 2 ceil(log2 N)",
};
