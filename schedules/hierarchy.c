/** The phases of hierarchical all_reduce algorithms, and what they cost. */
#include "hierarchy.h"

#include "all_pairs.h"
#include "axes.h"
#include "binary_tree.h"

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
static uint32_t trees_of(struct ronde_hierarchy hierarchy, const struct ronde_axes *axes)
{
    return hierarchy.has_trees && axes->radix[NODE] > 1 ? 2 : 0;
}

/** A rail of trees moves one chunk, and its positions are not alike. */
static struct ronde_axes axes_of(struct ronde_hierarchy hierarchy,
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

/** Every channel as two: half of the block goes through a tree, half through the other. */
static void declare_trees(const struct ronde_axes *axes,
                          const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    for (uint32_t channel = 0; channel < ronde_compile_request_channels(request); channel++) {
        ronde_axes_nodes_channel(axes, NULL, builder);
        ronde_axes_nodes_channel(axes, ronde_tree_second_order, builder);
    }
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

void ronde_hierarchy_build(struct ronde_hierarchy hierarchy,
                           const struct ronde_compile_request *request,
                           struct ronde_builder *builder)
{
    const struct ronde_axes axes = axes_of(hierarchy, request);
    const uint32_t trees = trees_of(hierarchy, &axes);
    const enum ronde_buffer input = axes.radix[LOCAL] > 1 ? RONDE_OUT : RONDE_IN;
    ronde_builder_chunks(builder, chunks_of(&axes));
    if (trees > 0) {
        declare_trees(&axes, request, builder);
    } else {
        ronde_builder_rotate(builder, true, true, false);
        ronde_axes_declare_nodes(&axes, request, builder);
    }
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, NETWORK_LANE, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    if (hierarchy.is_direct)
        ronde_axes_scatter_direct(&axes, LOCAL, builder);
    else
        ronde_axes_scatter_along(&axes, LOCAL, RONDE_IN, builder);
    (trees > 0 ? reduce_in_trees : reduce_in_rings)(&axes, input, builder);
    if (hierarchy.is_direct)
        ronde_axes_gather_direct(&axes, LOCAL, builder);
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
    const uint32_t local = terms->axes->radix[LOCAL];
    const uint32_t bundle = ronde_axes_bundle(terms->axes, LOCAL);
    const uint32_t flows = lanes_alike(terms);
    const struct ronde_costs costs =
        ronde_costs_of(terms->network,
                       ronde_message_bytes(terms->pieces, bundle, terms->pieces->count == 1), flows);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const double receive_ns = reduces ? costs.reduce_ns : costs.step_ns;
    if (local == 1)
        return (struct ronde_stage){0};
    return (struct ronde_stage){
        .first_ns = ronde_pairs_ns(&costs, local, receive_ns),
        .period_ns = (local - 1) * (send_ns > receive_ns ? send_ns : receive_ns),
        .credit_ns = send_ns + costs.alpha_ns + receive_ns,
        .flow_ns = send_ns > receive_ns ? (local - 1) * costs.flow_ns : 0,
        .port_chunks = (local - 1) * bundle * flows,
        .flows = flows,
    };
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

struct ronde_price
ronde_hierarchy_price(struct ronde_hierarchy hierarchy, const struct ronde_compile_request *request,
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

/* An inner rank of a tree sends up once and down twice. */
struct ronde_algorithm_counts ronde_hierarchy_tree_counts(uint32_t ranks, uint32_t in_a_row)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return (struct ronde_algorithm_counts){
        .messages = 2ull * ((uint64_t)ranks * (local - 1) + (uint64_t)local * (nodes - 1)),
        .sent_chunks = 2 * (local - 1) + (nodes > 3 ? 3 : nodes - 1),
        .critical_path = in_a_row + 2 * ronde_log2_ceil(nodes),
        .min_depth = 1,
    };
}
