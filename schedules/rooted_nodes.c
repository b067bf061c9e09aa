/** What hierarchical broadcast and reduce share. The algorithms are described in broadcast_hierarchical.c. */
#include "rooted_nodes.h"

#include "claims.h"

/** A bundle for every rank of a node but one; a lone rank has the block. */
static uint32_t chunks_of(struct ronde_rooted_nodes nodes)
{
    return nodes.local > 1 ? nodes.local * (nodes.local - 1) : 1;
}

static struct ronde_rooted_nodes nodes_of(const struct ronde_axes *axes)
{
    return (struct ronde_rooted_nodes){axes->radix[0], axes->radix[1]};
}

struct ronde_rooted_nodes ronde_rooted_nodes_declare(const struct ronde_compile_request *request,
                                                     bool has_sums, struct ronde_builder *builder)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    const struct ronde_rooted_nodes nodes = nodes_of(&axes);
    ronde_builder_chunks(builder, chunks_of(nodes));
    if (has_sums)
        ronde_builder_scratch(builder, chunks_of(nodes));
    ronde_axes_declare_trees(&axes, request, ronde_rooted_second_order, builder);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    return nodes;
}

struct ronde_operand ronde_rooted_bundle(struct ronde_rooted_nodes nodes, enum ronde_buffer buffer,
                                         uint32_t local)
{
    return ronde_chunks(buffer, (local - 1) * nodes.local, nodes.local);
}

struct ronde_operand ronde_rooted_slice(struct ronde_rooted_nodes nodes, enum ronde_buffer buffer,
                                        uint32_t local)
{
    return ronde_chunks(buffer, (local - 1) * nodes.local, 1);
}

struct ronde_operand ronde_rooted_part(struct ronde_rooted_nodes nodes, enum ronde_buffer buffer,
                                       uint32_t local)
{
    struct ronde_operand part =
        ronde_chunks(buffer, local > 0 ? (local - 1) * nodes.local + 1 : 0, nodes.local - 1);
    if (local == 0 && part.count > 1) {
        part.run = 1;
        part.stride = nodes.local;
    }
    return part;
}

void ronde_rooted_inside(struct ronde_rooted_nodes nodes, struct ronde_builder *builder,
                         void (*state)(struct ronde_rooted_nodes nodes, uint32_t node,
                                       uint32_t distance, struct ronde_builder *builder))
{
    for (uint32_t distance = 1; distance < nodes.local; distance++) {
        ronde_builder_round_begin(builder);
        for (uint32_t node = 0; node < nodes.count; node++)
            state(nodes, node, distance, builder);
        ronde_builder_round_end(builder);
    }
}

/* --- price --------------------------------------------------------------------------------- */

static double bytes_of(const struct ronde_pieces *pieces, uint32_t chunks)
{
    return ronde_message_bytes(pieces, chunks, pieces->count == 1);
}

/** ns until messages of so many bytes, from or to all other ranks of a node, have come. */
static double come_ns(const struct ronde_rooted_terms *terms, const struct ronde_network *network,
                      double bytes)
{
    const uint32_t flows = terms->channels * (terms->nodes.local - 1);
    const struct ronde_costs costs = ronde_costs_of(network, bytes, flows);
    return costs.step_ns + costs.flow_ns + costs.alpha_ns;
}

struct ronde_rooted_terms ronde_rooted_terms_of(const struct ronde_compile_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    struct ronde_rooted_terms terms = {.nodes = nodes_of(&axes),
                                       .channels = 2 * ronde_compile_request_channels(request)};
    const uint32_t local = terms.nodes.local;
    const struct ronde_cut cut = {.channels = terms.channels,
                                  .chunks = chunks_of(terms.nodes),
                                  .widest = local};
    const uint32_t parts = terms.nodes.count > 1 ? local + 1 : local;
    terms.pieces = ronde_cut_load(load, cut);
    const double part_bytes = bytes_of(&terms.pieces, local - 1);
    const double bundle_bytes = bytes_of(&terms.pieces, local);
    const double slice_bytes = bytes_of(&terms.pieces, 1);
    terms.tree = ronde_rooted_costs_of(terms.channels / 2, part_bytes, network);
    terms.part = ronde_costs_of(network, part_bytes, terms.channels);
    terms.bundle = ronde_costs_of(network, bundle_bytes, terms.channels);
    terms.slice = ronde_costs_of(network, slice_bytes, terms.channels);
    terms.part_ns = come_ns(&terms, network, part_bytes);
    terms.bundle_ns = come_ns(&terms, network, bundle_bytes);
    terms.slice_ns = come_ns(&terms, network, slice_bytes);
    if (network->port_GBps > 0)
        terms.port_ns = terms.channels * parts * part_bytes / network->port_GBps;
    return terms;
}

/** Flows of a channel that may be in a port at once: to or from all ranks of the node but one, and two of a tree. */
static uint32_t most_flows(uint32_t local)
{
    return local + 1;
}

struct ronde_price ronde_rooted_pieces_price(const struct ronde_rooted_terms *terms,
                                             const struct ronde_network *network,
                                             const struct ronde_rooted_piece *piece)
{
    const double lane_ns = ronde_longer_ns(piece->inside_ns, piece->between_ns);
    const double inside_ns = piece->inside_ns + piece->receive_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = piece->first_ns,
        .period_ns = ronde_longer_ns(lane_ns, terms->port_ns),
        .credit_ns = ronde_longer_ns(inside_ns + terms->bundle.alpha_ns,
                                     2 * piece->between_ns + terms->part.alpha_ns),
        .is_unshared = ronde_is_unshared(network, terms->pieces.bytes,
                                         terms->channels * most_flows(terms->nodes.local)),
    };
    struct ronde_price price = ronde_pipeline_price(&terms->pieces, network, &pipeline);
    price.is_exact = price.is_exact && terms->pieces.count <= 1;
    return price;
}

/* --- claims -------------------------------------------------------------------------------- */

enum ronde_status ronde_rooted_supports_nodes(const struct ronde_compile_request *request,
                                              struct ronde_error *why_not)
{
    RONDE_TRY(ronde_axes_supports_nodes(request, why_not));
    return request->ranks == 1 || ronde_axes_of_nodes(request).radix[0] > 1
               ? RONDE_OK
               : ronde_fail(why_not, RONDE_UNSUPPORTED,
                            "hierarchical needs nodes of two ranks or more; with one it would be "
                            "double_tree");
}

struct ronde_algorithm_counts ronde_rooted_counts(uint32_t ranks, uint32_t more, uint32_t parts,
                                                  uint32_t in_a_row)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    const uint64_t others = local - 1;
    if (ranks == 1)
        return (struct ronde_algorithm_counts){.min_depth = 1};
    return (struct ronde_algorithm_counts){
        .messages = others * others + (uint64_t)(nodes - 1) * local * local + more,
        .sent_chunks = others * parts,
        .critical_path = in_a_row + ronde_log2_ceil(nodes),
        .min_depth = 1,
    };
}

bool ronde_rooted_is_exact(const struct ronde_price_case *load)
{
    const uint32_t local = ronde_counts_local(load->ranks);
    return load->pieces <= 1 && ronde_flows_fit(load, 2 * most_flows(local));
}
