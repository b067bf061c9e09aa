/**
 * all_reduce, hierarchical: four algorithms.
 *
 * reduce_scatter inside every node, all_reduce among the ranks of
 * equal local number, all_gather inside. Four algorithms choose how each of these is done.
 *
 * Positions are (local, node). A rail is the positions of equal local number; after the first phase
 * each holds a part of its node's sum, the same one on all nodes. A ring of nodes cuts that part
 * into a chunk per node, a tree moves it whole.
 *
 * `hierarchical`:
 *
 * Ranks are nodes x local ones. A ring inside each node reduce_scatters the block, so that every
 * local rank has a part of the node's sum; the ranks of equal local number on all nodes all_reduce
 * that part in a ring of their own; a ring inside each node gathers the parts. Only the least data
 * possible leaves a node, and all its ranks share the work. The three rings sit in three lanes, so
 * that a piece crosses the network while the next one is still in its node.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 1: c2 c3    1 -> 0: c0 c1    2 -> 3: c2 c3    3 -> 2: c0 c1
 *                      lane 1:   0 -> 2: c1       2 -> 0: c0       1 -> 3: c3       3 -> 1: c2
 *                                0 -> 2: c0       2 -> 0: c1       1 -> 3: c2       3 -> 1: c3
 *                      lane 2:   0 -> 1: c0 c1    1 -> 0: c2 c3    2 -> 3: c0 c1    3 -> 2: c2 c3
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(C N) of the block, rounded up
 * to 16 bytes; x = K b):
 *   T = L + t0 + t1 + t2 + (P-1) max(t0, t1, t2, port)
 *   t0 = s(x) + (q-1) (f(x) + a + r(x))                 t2 = s(x) + (q-1) (f(x) + a + s(x))
 *   t1 = s(b) + (K-1) (2 (f(b) + a) + r(b) + s(b))      port = 2 C (N-1) b / port_GBps
 * without t1 for one node, t0 and t2 for one rank a node. Exact for equal pieces where lanes do not
 * slow one another down (P = 1, or lanes slower than their share of a port); else steady state and
 * fill, an upper bound of the longest path. N = 1: L + sum of s(b_p).
 *
 * Source: M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning
 * on heterogeneous network hierarchy", SysML 2019, with rings on both levels. The three lanes are
 * ours.
 */
#include "axes.h"
#include "binary_tree.h"
#include "claims.h"

/** How the phases are done. */
struct hierarchy {
    bool is_direct; /**< inside nodes: everything straight to its owner, else rings */
    bool has_trees; /**< between nodes: double binary trees, else rings */
};

/** Axes of the grid of positions. */
enum { LOCAL, NODE };

/**
 * Lanes, in the order pieces walk through them, so that a piece is between nodes while the next one
 * is still inside. Direct phases receive in a lane of their own, trees have several.
 */
enum {
    SCATTER_LANE,
    NETWORK_LANE = SCATTER_LANE + 2,
    GATHER_LANE = NETWORK_LANE + RONDE_TREE_LANES,
};

/** Stages of a price. */
enum { SCATTER, NETWORK, GATHER, STAGES };

/** Trees that share the work between nodes: none to share with a lone node. */
static uint32_t trees_of(struct hierarchy hierarchy, const struct ronde_axes *axes)
{
    return hierarchy.has_trees && axes->radix[NODE] > 1 ? 2 : 0;
}

/** A rail of trees moves one chunk, and its positions are not alike. */
static struct ronde_axes axes_of(struct hierarchy hierarchy,
                                 const struct ronde_compile_request *request)
{
    struct ronde_axes axes = ronde_axes_of_nodes(request);
    axes.scatter_lane[LOCAL] = SCATTER_LANE;
    axes.scatter_lane[NODE] = axes.gather_lane[NODE] = NETWORK_LANE;
    axes.gather_lane[LOCAL] = GATHER_LANE;
    if (trees_of(hierarchy, &axes) > 0) {
        axes.chunk_axes = 1;
        axes.speakers = request->ranks;
    }
    return axes;
}

static uint32_t chunks_of(const struct ronde_axes *axes)
{
    return axes->radix[LOCAL] * ronde_axes_bundle(axes, LOCAL);
}

static void reduce_in_trees(const struct ronde_axes *axes, enum ronde_buffer input,
                            struct ronde_builder *builder)
{
    for (uint32_t rail = 0; rail < axes->radix[LOCAL]; rail++) {
        const struct ronde_tree tree = {
            .n = axes->radix[NODE],
            .first = rail * axes->radix[NODE],
            .first_lane = NETWORK_LANE,
            .input = ronde_chunks(input, rail, 1),
            .output = ronde_chunks(RONDE_OUT, rail, 1),
        };
        ronde_tree_state(&tree, builder);
    }
}

static void reduce_in_rings(const struct ronde_axes *axes, enum ronde_buffer input,
                            struct ronde_builder *builder)
{
    ronde_axes_scatter_along(axes, NODE, input, builder);
    ronde_axes_gather_along(axes, NODE, ronde_chunks(RONDE_OUT, 0, 1), builder);
}

/** States the schedule of a request. */
static void build_with(struct hierarchy hierarchy, const struct ronde_compile_request *request,
                       struct ronde_builder *builder)
{
    const struct ronde_axes axes = axes_of(hierarchy, request);
    const uint32_t trees = trees_of(hierarchy, &axes);
    const enum ronde_buffer input = axes.radix[LOCAL] > 1 ? RONDE_OUT : RONDE_IN;
    ronde_builder_chunks(builder, chunks_of(&axes));
    if (trees > 0) {
        /* Half of the block goes through a tree, half through the other. */
        ronde_axes_declare_trees(&axes, request, ronde_tree_second_order, builder);
    } else {
        ronde_builder_rotate(builder, true, true, false);
        ronde_axes_declare_nodes(&axes, request, builder);
    }
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, NETWORK_LANE, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    if (hierarchy.is_direct)
        ronde_axes_scatter_direct(&axes, LOCAL, RONDE_IN, builder);
    else
        ronde_axes_scatter_along(&axes, LOCAL, RONDE_IN, builder);
    (trees > 0 ? reduce_in_trees : reduce_in_rings)(&axes, input, builder);
    if (hierarchy.is_direct)
        ronde_axes_gather_direct(&axes, LOCAL, ronde_chunks(RONDE_OUT, 0, 1), builder);
    else
        ronde_axes_gather_along(&axes, LOCAL, ronde_chunks(RONDE_OUT, 0, 1), builder);
}

/* --- price --------------------------------------------------------------------------------- */

/** What all stages are priced with. */
struct terms {
    const struct ronde_network *network;
    const struct ronde_axes *axes;
    const struct ronde_pieces *pieces;
    uint32_t channels; /**< the request's, each with this many trees */
    uint32_t trees;    /**< 0: one ring */
};

/** Channels of the schedule: all of them are in the same phase inside nodes. */
static uint32_t lanes_alike(const struct terms *terms)
{
    return terms->channels * (terms->trees > 0 ? terms->trees : 1);
}

/** Every rank of a node to every other, `reduces` on receipt. */
static struct ronde_stage direct_stage(const struct terms *terms, bool reduces)
{
    return ronde_axes_direct_stage(terms->axes, LOCAL, reduces, terms->network, terms->pieces,
                                   lanes_alike(terms));
}

/** A ring in a node, scattering (`reduces`) or gathering. */
static struct ronde_stage ring_stage(const struct terms *terms, bool reduces)
{
    struct ronde_lane_work work = {0};
    (reduces ? ronde_axes_add_scatter : ronde_axes_add_gather)(terms->axes, LOCAL, &work);
    return ronde_axes_stage(&work, terms->network, terms->pieces, lanes_alike(terms));
}

/** A ring of nodes, in which scattering turns into gathering in one step; or a lone rank's copy. */
static struct ronde_stage rail_stage(const struct terms *terms)
{
    struct ronde_lane_work work = {0};
    const uint32_t hops = terms->axes->radix[NODE] - 1;
    if (hops > 0 || terms->axes->radix[LOCAL] == 1)
        ronde_work_add(&work, 1,
                       (struct ronde_lane_shape){.steps = 1 + hops,
                                                 .reducing = hops,
                                                 .messages = 2 * hops});
    return ronde_axes_stage(&work, terms->network, terms->pieces, terms->channels);
}

/** The stages inside and between nodes, one after another, piece by piece. */
static struct ronde_price
price_with(struct hierarchy hierarchy, const struct ronde_compile_request *request,
           const struct ronde_load *load, const struct ronde_network *network)
{
    const struct ronde_axes axes = axes_of(hierarchy, request);
    struct terms terms = {.network = network,
                          .axes = &axes,
                          .channels = ronde_compile_request_channels(request),
                          .trees = trees_of(hierarchy, &axes)};
    const struct ronde_cut cut = {.channels = lanes_alike(&terms),
                                  .chunks = chunks_of(&axes),
                                  .widest =
                                      axes.radix[LOCAL] > 1 ? ronde_axes_bundle(&axes, LOCAL) : 1};
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    terms.pieces = &pieces;
    struct ronde_stage (*const inside)(const struct terms *, bool) =
        hierarchy.is_direct ? direct_stage : ring_stage;
    const struct ronde_stage stages[STAGES] = {
        [SCATTER] = inside(&terms, true),
        [NETWORK] = terms.trees > 0 ? ronde_tree_stage(axes.radix[NODE], terms.trees,
                                                       terms.channels, network, pieces.bytes)
                                    : rail_stage(&terms),
        [GATHER] = inside(&terms, false),
    };
    /* Nodes near the root of a tree gather while they still send to the others. */
    return ronde_stages_price(&pieces, network, stages, STAGES, terms.trees > 0);
}

/**
 * What one of two channels of trees between the default nodes needs, with so many messages in a row inside nodes: an inner rank
 * of a tree sends up once and down twice.
 */
static struct ronde_algorithm_counts tree_counts(uint32_t ranks, uint32_t in_a_row)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return (struct ronde_algorithm_counts){
        .messages = 2ull * ((uint64_t)ranks * (local - 1) + (uint64_t)local * (nodes - 1)),
        .sent_chunks = 2 * (local - 1) + (nodes > 3 ? 3 : nodes - 1),
        .critical_path = in_a_row + 2 * ronde_log2_ceil(nodes),
        .min_depth = 1,
    };
}

static bool is_exact_rings(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->pieces == 1 ? 1 : 3);
}

static bool is_exact_trees(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 6);
}

/** Of trees between nodes. */
#define WHY_TREES_SEND_MORE                                                                        \
    "up to two nodes the least. Of a node's parts, each 1/q of the block for q ranks a "           \
    "node, a rank sends 2 between nodes as in `double_tree` instead of 2 (K-1)/K for K "           \
    "nodes, in exchange for a path of 2 ceil(log2 K) between them instead of 2 (K-1)"

static void build_rings(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with((struct hierarchy){.is_direct = false}, request, builder);
}

static struct ronde_price price_rings(const struct ronde_compile_request *request,
                                      const struct ronde_load *load,
                                      const struct ronde_network *network)
{
    return price_with((struct hierarchy){.is_direct = false}, request, load, network);
}

static struct ronde_algorithm_counts counts_rings(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    const uint32_t rounds = 2 * (local - 1 + nodes - 1);
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, rounds, 2 * (ranks - 1));
    counts.min_depth = local > 2 || nodes > 1 ? 2 : 1;
    return counts;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical",
    .summary = "rings inside nodes and between them, one after another, piece by piece",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build_rings,
    .price = price_rings,
    .source = "Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_rings,
    .is_exact = is_exact_rings,
};

/**
 * hierarchical_direct: direct inside nodes.
 *
 * As hierarchical, but inside a node every rank sends every part straight to its owner,
 * and the owner the result straight to all: two latencies there, however many ranks a node has,
 * where a ring has one per rank. Between nodes rings move the least data. Good where all ranks of a
 * node are connected directly, as by a switch, and blocks are large.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 1: c2 c3    1 -> 0: c0 c1    2 -> 3: c2 c3    3 -> 2: c0 c1
 *                      lane 1:   ... received and added
 *                      lane 2:   0 -> 2: c1       2 -> 0: c0       1 -> 3: c3       3 -> 1: c2
 *                                0 -> 2: c0       2 -> 0: c1       1 -> 3: c2       3 -> 1: c3
 *                      lane 6:   0 -> 1: c0 c1    1 -> 0: c2 c3    2 -> 3: c0 c1    3 -> 2: c2 c3
 *                      lane 7:   ... received
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(C N) of the block, rounded up
 * to 16 bytes; x = K b):
 *   T = L + t0 + t1 + t2 + (P-1) max((q-1) (s(x) + f(x)), (q-1) r(x), t1, port)
 *   t0 = a + max(s + f + (q-1) r, (q-1) (s + f) + r) of x           port = 2 C (N-1) b / port_GBps
 *   t1 = s(b) + (K-1) (2 (f(b) + a) + r(b) + s(b))
 *   t2 = a + (q-1) (s(x) + f(x)) + s(x)
 * without t1 for one node, t0 and t2 for one rank a node. Where D slots are too few, D pieces take at
 * least s + f + a + r of x. Exact for equal pieces where lanes do not slow one another down (P = 1,
 * or lanes slower than their share of a port); else steady state and fill, see
 * ronde_stages_price, an upper bound of the
 * longest path. N = 1: L + sum of s(b_p).
 *
 * Source: M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning
 * on heterogeneous network hierarchy", SysML 2019; all-pairs inside the node as in all_reduce_direct.c.
 */
static void build_direct(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with((struct hierarchy){.is_direct = true}, request, builder);
}

static struct ronde_price price_direct(const struct ronde_compile_request *request,
                                       const struct ronde_load *load,
                                       const struct ronde_network *network)
{
    return price_with((struct hierarchy){.is_direct = true}, request, load, network);
}

static struct ronde_algorithm_counts counts_direct(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    const uint32_t messages = 2 * (local - 1 + nodes - 1);
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, messages, 2 * (ranks - 1));
    /* A direct phase is one message in a row; only the ring of nodes turns round in one step. */
    counts.critical_path = (local > 1 ? 2 : 0) + 2 * (nodes - 1);
    counts.min_depth = nodes > 1 ? 2 : 1;
    return counts;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_direct = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_direct",
    .summary = "all pairs inside nodes, rings between them; best where a node has a switch",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build_direct,
    .price = price_direct,
    .source = "Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_direct,
    .is_exact = is_exact_rings,
};

/**
 * hierarchical_tree: double binary trees between nodes.
 *
 * As hierarchical, but the ranks of equal local number reduce their part over two binary
 * trees of the nodes, half of it each: the latency between nodes grows with their logarithm instead
 * of their number, which wins on many nodes. Each tree is a channel, under an order in which the
 * nodes inside one are leaves of the other. Up and down sit in lanes of their own.
 *
 *   nodes (0 1) (2 3), half 1, lane 0:    0 -> 1: c1    1 -> 0: c0    2 -> 3: c1    3 -> 2: c0
 *                              lane 2:    2 -> 0: c0    3 -> 1: c1          up
 *                                         0 -> 2: c0    1 -> 3: c1          down
 *                              lane 6:    0 -> 1: c0    1 -> 0: c1    2 -> 3: c0    3 -> 2: c1
 *                      half 2: the same with nodes (2 3) (0 1)
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(2 C q) of the block, rounded up
 * to 16 bytes):
 *   T = L + t0 + t1 + t2 + (P-1) max(t0, t2, r + f, port)
 *   t0 = s + (q-1) (f + a + r)                          t2 = s + (q-1) (f + a + s)
 *   t1 = `first` of all_reduce_tree.c for K ranks       port = C (4 (q-1) + min(K, 4)) b / port_GBps
 * without t0 and t2 for one rank a node; the ring of hierarchical for one node, whose
 * chunks are 1/(C q). Where D slots are too few, D pieces take at least 2 (r + f) + a (s + f + a + r
 * + f for K = 2). Exact for equal pieces where flows do not slow one another down; else steady state
 * and fill, see ronde_stages_price. N = 1: L + sum of s(b_p).
 *
 * Source: S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA technical
 * blog, 2019 (trees between nodes, a chain inside); P. Sanders, J. Speck, J. L. Traeff, "Two-tree
 * algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009, pages
 * 581-594. NCCL's chain ends at one rank per channel; here every rank has a rail, as in a full-lane
 * algorithm (J. L. Traeff, S. Hunold, IEEE Cluster 2020).
 */
static void build_tree(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    build_with((struct hierarchy){.has_trees = true}, request, builder);
}

static struct ronde_price price_tree(const struct ronde_compile_request *request,
                                     const struct ronde_load *load,
                                     const struct ronde_network *network)
{
    return price_with((struct hierarchy){.has_trees = true}, request, load, network);
}

static struct ronde_algorithm_counts counts_tree(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), in_a_row = 2 * (local - 1);
    struct ronde_algorithm_counts counts =
        local == ranks ? ronde_counts_passes(ranks, in_a_row) : tree_counts(ranks, in_a_row);
    counts.min_depth = local > 2 ? 2 : 1;
    return counts;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_tree",
    .summary = "rings inside nodes, double binary trees between them; best for many nodes",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build_tree,
    .price = price_tree,
    .source = "NCCL 2.4, 2019; Sanders, Speck, Traeff 2009",
    .counts = counts_tree,
    .is_exact = is_exact_trees,
    .why_more = WHY_TREES_SEND_MORE,
};

/**
 * hierarchical_direct_tree: direct inside nodes and double binary trees between them.
 *
 * Inside a node every rank sends every part straight to its owner, and the owner the result
 * straight to all, as in hierarchical_direct; between nodes two binary trees reduce
 * half of a part each, as in hierarchical_tree. Two latencies inside and 2 ceil(log2
 * K) between K nodes are few, and so are the messages: good for middle and large blocks on many nodes.
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
 * Source: S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA technical
 * blog, 2019 (trees between nodes); M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing
 * all-reduce for deep learning on heterogeneous network hierarchy", SysML 2019 (levels); all-pairs
 * inside the node as in all_reduce_direct.c.
 */
static void build_direct_tree(const struct ronde_compile_request *request,
                              struct ronde_builder *builder)
{
    build_with((struct hierarchy){.is_direct = true, .has_trees = true}, request, builder);
}

static struct ronde_price price_direct_tree(const struct ronde_compile_request *request,
                                            const struct ronde_load *load,
                                            const struct ronde_network *network)
{
    return price_with((struct hierarchy){.is_direct = true, .has_trees = true}, request, load,
                      network);
}

static struct ronde_algorithm_counts counts_direct_tree(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return nodes == 1 ? ronde_counts_all_pairs_twice(ranks) : tree_counts(ranks, local > 1 ? 2 : 0);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_direct_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_direct_tree",
    .summary =
        "all pairs inside nodes, double binary trees between them; few latencies and messages",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build_direct_tree,
    .price = price_direct_tree,
    .source = "NCCL 2.4, 2019; Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_direct_tree,
    .is_exact = is_exact_trees,
    .why_more = WHY_TREES_SEND_MORE,
};
