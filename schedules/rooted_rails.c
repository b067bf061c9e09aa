/** What hierarchical scatter and gather share. The algorithms are described in scatter_hierarchical.c. */
#include "rooted_rails.h"

#include "axes.h"
#include "claims.h"

/** Bundles of a rail; with the block of the rank beside the root they fill the slots that a connection has by default. */
#define MOST_BUNDLES 7u

static struct ronde_rails rails_of(const struct ronde_compile_request *request)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    const struct ronde_rooted_nodes nodes = {axes.radix[0], axes.radix[1]};
    const bool is_placed = request->order || request->channel_orders;
    const uint32_t root_node = is_placed ? 0 : request->root / nodes.local;
    return (struct ronde_rails){
        .nodes = nodes,
        .width = nodes.count > 1 ? (nodes.count - 2) / MOST_BUNDLES + 1 : 1,
        .first_rank = root_node > 0 ? nodes.count - root_node : 0,
    };
}

struct ronde_rails ronde_rails_declare(const struct ronde_compile_request *request,
                                       struct ronde_builder *builder)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    const struct ronde_rails rails = rails_of(request);
    ronde_builder_scratch(builder, rails.nodes.count - 1);
    ronde_axes_nodes_channels(&axes, request, builder);
    return rails;
}

struct ronde_rail_bundle ronde_rail_bundle_at(struct ronde_rails rails, uint32_t first)
{
    const uint32_t left = rails.nodes.count - first;
    return (struct ronde_rail_bundle){first, left < rails.width ? left : rails.width};
}

struct ronde_operand ronde_rails_all_kept(struct ronde_rail_bundle bundle)
{
    return ronde_chunks(RONDE_SCRATCH, bundle.first - 1, bundle.count);
}

/* A message has its blocks by rank, and nodes are counted from the root's. */
struct ronde_operand ronde_rails_kept(struct ronde_rails rails, struct ronde_rail_bundle bundle,
                                      uint32_t node)
{
    const uint32_t end = bundle.first + bundle.count;
    uint32_t at = node;
    if (rails.first_rank > bundle.first && rails.first_rank < end)
        at = node < rails.first_rank ? node + end - rails.first_rank
                                     : node - rails.first_rank + bundle.first;
    return ronde_chunks(RONDE_SCRATCH, at - 1, 1);
}

/* --- price --------------------------------------------------------------------------------- */

/** The terms of a load. */
struct terms {
    struct ronde_rails rails;
    const struct ronde_network *network;
    struct ronde_pieces pieces;
    uint32_t channels;
    struct ronde_costs block; /**< of a block, alone in its port */
};

/** One piece, as far as the next one depends on it. */
struct piece {
    double first_ns;  /**< from end to end */
    double root_ns;   /**< of the root's busiest lane */
    double beside_ns; /**< of the lane of a rank beside it */
    double credit_ns; /**< from the start of a send until its slot is free again */
};

static struct ronde_costs costs_of(const struct terms *terms, uint32_t blocks)
{
    return ronde_costs_of(terms->network, blocks * terms->pieces.bytes, terms->channels);
}

/** The flow of so many blocks, one of so many of a channel that share a port. */
static double shared_ns(const struct terms *terms, uint32_t blocks, uint32_t flows)
{
    return ronde_shared_flow_ns(terms->network, blocks * terms->pieces.bytes,
                                terms->channels * flows);
}

/**
 * The rank beside the root keeps a bundle, then sends block after block; a bundle of one block it passes on in one step, whose
 * slot is free once it has flowed on. Its own block comes last.
 */
static struct piece scatter_piece(const struct terms *terms)
{
    const struct ronde_costs *block = &terms->block;
    const double send_ns = block->step_ns + block->flow_ns;
    struct piece piece = {0};
    double end_ns = 0, root_end_ns = 0;
    for (uint32_t node = 1; node < terms->rails.nodes.count; node += terms->rails.width) {
        const uint32_t blocks = ronde_rail_bundle_at(terms->rails, node).count;
        const struct ronde_costs bundle = costs_of(terms, blocks);
        const double sent_ns = piece.root_ns;
        root_end_ns += bundle.step_ns + shared_ns(terms, blocks, terms->rails.nodes.local);
        end_ns = ronde_longer_ns(end_ns, root_end_ns + bundle.alpha_ns) + bundle.step_ns;
        piece.root_ns += bundle.step_ns + bundle.flow_ns;
        const double sends_ns = blocks > 1 ? blocks * send_ns : block->flow_ns;
        const double freed_ns = piece.beside_ns + bundle.step_ns + (blocks > 1 ? 0 : sends_ns);
        piece.credit_ns = ronde_longer_ns(piece.credit_ns, freed_ns - sent_ns);
        piece.beside_ns += bundle.step_ns + sends_ns;
        end_ns += sends_ns;
    }
    const double alone_ns =
        block->step_ns + shared_ns(terms, 1, terms->rails.nodes.local) + block->alpha_ns;
    piece.first_ns =
        end_ns > 0 ? end_ns + block->alpha_ns + block->step_ns : alone_ns + block->step_ns;
    piece.beside_ns += block->step_ns;
    piece.credit_ns = ronde_longer_ns(piece.credit_ns, piece.beside_ns - piece.root_ns);
    piece.root_ns += send_ns;
    /* The lane beside the root works without a break before it ends. */
    piece.credit_ns += (end_ns > 0 ? end_ns : alone_ns) + block->step_ns - piece.beside_ns;
    piece.credit_ns = ronde_longer_ns(piece.credit_ns, alone_ns + block->step_ns);
    return piece;
}

/** The rank beside the root sends its own block, then takes those of a bundle and sends them, in one step where it is one. */
static struct piece gather_piece(const struct terms *terms)
{
    const struct ronde_costs *block = &terms->block;
    const uint32_t nodes = terms->rails.nodes.count, local = terms->rails.nodes.local;
    const double own_ns = block->step_ns + shared_ns(terms, 1, local);
    const double come_ns =
        block->step_ns + shared_ns(terms, 1, nodes > 2 ? nodes - 1 : 1) + block->alpha_ns;
    struct piece piece = {
        .first_ns = own_ns + block->alpha_ns + block->step_ns,
        .beside_ns = block->step_ns + block->flow_ns,
        .credit_ns =
            ronde_longer_ns(come_ns + block->flow_ns, own_ns + block->alpha_ns) + block->step_ns,
    };
    double end_ns = own_ns;
    for (uint32_t node = 1; node < nodes; node += terms->rails.width) {
        const uint32_t blocks = ronde_rail_bundle_at(terms->rails, node).count;
        const struct ronde_costs bundle = costs_of(terms, blocks);
        const double taken_ns = (blocks > 1 ? blocks * block->step_ns : 0) + bundle.step_ns;
        const double flow_ns = shared_ns(terms, blocks, local);
        end_ns = ronde_longer_ns(end_ns, come_ns) + taken_ns + flow_ns;
        piece.beside_ns += taken_ns + bundle.flow_ns;
        piece.first_ns = ronde_longer_ns(piece.first_ns, end_ns + bundle.alpha_ns) + bundle.step_ns;
        piece.credit_ns =
            ronde_longer_ns(piece.credit_ns, piece.first_ns - end_ns + flow_ns + bundle.step_ns);
    }
    return piece;
}

/** Messages that a rank beside the root gets or gives for a piece. */
static uint32_t messages_of(const struct ronde_rails *rails)
{
    return (rails->nodes.count - 1 + rails->width - 1) / rails->width + 1;
}

/**
 * ns until a message of a rail, counted from 0, is sent at the latest: `message_ns` after the one before, and as many as there
 * are slots no sooner than one is back, after `away_ns`.
 */
static double sent_ns(uint64_t message, uint32_t slots, double message_ns, double away_ns)
{
    const double lap_ns = ronde_longer_ns(away_ns, slots * message_ns);
    return (double)(message / slots) * lap_ns + (double)(message % slots) * message_ns;
}

/** At most this long takes a load whose messages are all as long as the longest. */
static double longest_ns(const struct terms *terms, bool scatters)
{
    const uint32_t widest = terms->rails.width, local = terms->rails.nodes.local;
    const uint32_t nodes = terms->rails.nodes.count, slots = terms->pieces.depth;
    const uint64_t messages = terms->pieces.count * messages_of(&terms->rails);
    const struct ronde_costs bundle = costs_of(terms, widest);
    const uint32_t flows = scatters || local > nodes ? local : nodes;
    const double come_ns = bundle.step_ns + shared_ns(terms, widest, flows) + bundle.alpha_ns;
    const double beside_ns =
        (widest > 1 ? bundle.step_ns : 0) + widest * (terms->block.step_ns + terms->block.flow_ns);
    const double message_ns = ronde_longer_ns(come_ns - bundle.alpha_ns, beside_ns);
    const double away_ns = come_ns + bundle.step_ns + (widest > 1 ? 0 : terms->block.flow_ns);
    /* One of a rank's messages is its own block: the last of scatter, the first of gather. */
    const double own_ns = sent_ns(messages - 1, slots, message_ns, away_ns);
    const double passed_ns = nodes > 1
                                 ? sent_ns(messages - 2, slots, message_ns, away_ns) + message_ns +
                                       bundle.alpha_ns + (scatters ? 0 : message_ns)
                                 : 0;
    return terms->network->time.launch_ns + come_ns + bundle.step_ns +
           ronde_longer_ns(passed_ns, scatters || nodes == 1 ? own_ns : 0);
}

struct ronde_price ronde_rails_price(const struct ronde_compile_request *request,
                                     const struct ronde_load *load,
                                     const struct ronde_network *network)
{
    struct terms terms = {.rails = rails_of(request),
                          .network = network,
                          .channels = ronde_compile_request_channels(request)};
    const struct ronde_cut cut = {.channels = terms.channels,
                                  .chunks = 1,
                                  .widest = terms.rails.width};
    if (request->ranks == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    terms.pieces = ronde_cut_load(load, cut);
    terms.block = costs_of(&terms, 1);
    const bool scatters = request->collective == RONDE_SCATTER;
    const struct piece piece = scatters ? scatter_piece(&terms) : gather_piece(&terms);
    const uint32_t local = terms.rails.nodes.local, others = terms.rails.nodes.count - 1;
    const uint32_t flows = terms.channels * (!scatters && others > local ? others : local);
    const double port_ns = network->port_GBps > 0 ? terms.channels * (request->ranks - 1) *
                                                        terms.pieces.bytes / network->port_GBps
                                                  : 0;
    const struct ronde_pipeline pipeline = {
        .first_ns = piece.first_ns,
        .period_ns = ronde_longer_ns(ronde_longer_ns(piece.root_ns, piece.beside_ns), port_ns),
        .credit_ns = piece.credit_ns,
        .is_unshared = ronde_is_unshared(network, terms.pieces.bytes, flows),
    };
    struct ronde_pieces laps = terms.pieces;
    laps.depth /= messages_of(&terms.rails);
    if (laps.count == 0)
        return (struct ronde_price){.is_exact = true};
    const double most_ns = longest_ns(&terms, scatters);
    if (laps.depth == 0)
        return (struct ronde_price){.time_ns = most_ns};
    struct ronde_price price = ronde_pipeline_price(&laps, network, &pipeline);
    const bool is_held_up = laps.count > 1 && pipeline.credit_ns > laps.depth * pipeline.period_ns;
    price.is_exact = price.is_exact && !is_held_up;
    if (is_held_up && most_ns < price.time_ns)
        price.time_ns = most_ns;
    return price;
}

/* --- claims -------------------------------------------------------------------------------- */

/* Messages are sorted by rank at both ends, so an order must not turn two blocks of a bundle. */
static enum ronde_status supports_order(const struct ronde_compile_request *request,
                                        struct ronde_error *why_not)
{
    const struct ronde_rails rails = rails_of(request);
    const uint32_t local = rails.nodes.local;
    for (uint32_t node = 2; request->order && node < rails.nodes.count; node++)
        for (uint32_t q = node * local; (node - 1) % rails.width > 0 && q < (node + 1) * local; q++)
            if (request->order[q] < request->order[q - local])
                return ronde_fail(why_not, RONDE_UNSUPPORTED,
                                  "hierarchical sorts blocks by rank: rank %u at position %u of "
                                  "the order is below the one before it of its local number",
                                  request->order[q], q);
    return RONDE_OK;
}

enum ronde_status ronde_rails_supports(const struct ronde_compile_request *request,
                                       struct ronde_error *why_not)
{
    RONDE_TRY(ronde_axes_supports_nodes(request, why_not));
    if (request->ranks > 1 && rails_of(request).nodes.local == 1)
        return ronde_fail(why_not, RONDE_UNSUPPORTED,
                          "hierarchical needs nodes of two ranks or more; with one it would be "
                          "direct");
    return supports_order(request, why_not);
}

struct ronde_algorithm_counts ronde_rails_counts(uint32_t ranks, uint64_t sent)
{
    const struct ronde_rails rails = rails_of(&(struct ronde_compile_request){.ranks = ranks});
    const uint32_t local = rails.nodes.local, nodes = rails.nodes.count;
    return (struct ronde_algorithm_counts){
        .messages = (uint64_t)nodes - 1 + (uint64_t)(local - 1) * (nodes - 1 + messages_of(&rails)),
        .sent_chunks = sent,
        .critical_path = nodes > 1 ? 2u : ranks > 1,
        .min_depth = 1,
    };
}

bool ronde_rails_is_exact(const struct ronde_price_case *load)
{
    const struct ronde_rails rails = rails_of(&(struct ronde_compile_request){.ranks = load->ranks});
    const uint32_t local = rails.nodes.local, others = rails.nodes.count - 1;
    return load->ranks == 1 || (load->pieces <= 1 && load->depth >= messages_of(&rails) &&
                                ronde_flows_fit(load, others > local ? others : local));
}
