/**
 * all_to_all, direct and direct_parallel.
 *
 * Every position sends its blocks one after another, first to the position behind it, then to the
 * one two behind, without waiting for what it receives, which is another lane's. At any time the positions send along
 * one shift, so that ports carry one message each, and latency is paid once. One slot per peer is enough, at the price
 * of a connection to every other. In parallel each message has a lane of its own at either end, and all flow at once:
 * over all links where every two ranks have one.
 *
 *   send lane of 0       -> 1: b1     -> 2: b2     -> 3: b3
 *   receive lane of 0    own block, then <- 3, <- 2, <- 1
 *   in parallel: 3 lanes that send one block, 3 that receive one, and one that copies
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block):
 *   T = L + (N-1) (s(b) + f(b)) + a + s(b) + (P-1) max((N-1) (s(b) + f(b)), N s(b))
 * unless D slots are too few: every D pieces take at least 2 s + f + a for N = 2. For larger N waiting
 * for slots can go round several ranks; 3 s + f + a then bounds it. Exact for equal pieces where slots
 * suffice, and for N = 2. N = 1: L + sum over p of s(b_p). In parallel:
 *   T = L + s(b) + g(b) + a + s(b) + (P-1) max(s(b) + f(b), C (N-1) b / port_GBps),  g = b / min(lane, port / (C (N-1)))
 * exact for equal pieces where flows do not slow one another down, else fill and steady state.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, section 4.3: all receives and sends posted at once, spread over the ranks.
 */
#include "all_pairs.h"
#include "claims.h"

/** The receive lane copies the own block first: nothing arrives so early. */
enum { SEND_LANE, RECEIVE_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_rotate(builder, true, true, false);
    ronde_builder_copy(builder, 0, RECEIVE_LANE, ronde_chunks(RONDE_IN, 0, 1), own);
    for (uint32_t offset = 1; offset < request->ranks; offset++) {
        const struct ronde_transfer transfer = {
            .from = 0,
            .to = offset,
            .from_lane = SEND_LANE,
            .to_lane = RECEIVE_LANE,
            .source = ronde_chunks(RONDE_IN, offset, 1),
            .target = own, /* block 0 of the receiver: that of position 0 */
        };
        ronde_builder_transfer(builder, &transfer);
    }
}

static void build_parallel(const struct ronde_compile_request *request,
                           struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_rotate(builder, true, true, false);
    for (uint32_t offset = 1; offset < n; offset++) {
        const struct ronde_transfer transfer = {
            .from = 0,
            .to = offset,
            .from_lane = ronde_pairs_own_send(offset),
            .to_lane = ronde_pairs_own_receive(offset, n),
            .source = ronde_chunks(RONDE_IN, offset, 1),
            .target = own,
        };
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_copy(builder, 0, ronde_pairs_own_copy(n), ronde_chunks(RONDE_IN, 0, 1), own);
}

static struct ronde_price price_parallel(const struct ronde_compile_request *request,
                                         const struct ronde_load *load,
                                         const struct ronde_network *network)
{
    return ronde_pairs_at_once_price(request, load, network, 1);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double sends_ns = (n - 1) * (costs.step_ns + costs.flow_ns);
    const double receives_ns = n * costs.step_ns;
    const double hop_ns = costs.step_ns + costs.flow_ns + costs.alpha_ns + costs.step_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = sends_ns + costs.alpha_ns + costs.step_ns,
        .period_ns = sends_ns > receives_ns ? sends_ns : receives_ns,
        .credit_ns = n > 2 ? hop_ns + costs.step_ns : hop_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    struct ronde_price price = ronde_pipeline_price(&pieces, network, &pipeline);
    const bool has_slots = pipeline.credit_ns <= pieces.depth * pipeline.period_ns;
    price.is_exact = price.is_exact && (n == 2 || has_slots || pieces.count <= pieces.depth);
    return price;
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 1) && (load->ranks <= 2 || load->pieces <= load->depth);
}

const struct ronde_algorithm ronde_algorithm_all_to_all_direct = {
    .collective = RONDE_ALL_TO_ALL,
    .name = "direct",
    .summary = "all blocks at once, sends and receives apart; one latency",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = ronde_counts_all_pairs,
    .is_exact = is_exact,
    .why_approximate = "more pieces than slots: who sends and who receives come out of step, since "
                       "every rank receives in an order of its own",
};

const struct ronde_algorithm ronde_algorithm_all_to_all_direct_parallel = {
    .collective = RONDE_ALL_TO_ALL,
    .name = "direct_parallel",
    .summary =
        "the same, each message in a lane of its own; best where every two ranks have a link",
    .supports = ronde_supports_any,
    .build = build_parallel,
    .price = price_parallel,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = ronde_counts_all_pairs,
    .is_exact = ronde_pairs_at_once_is_exact,
};
