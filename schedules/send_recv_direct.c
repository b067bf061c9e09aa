/**
 * send_recv, direct.
 *
 * Every rank sends its block to its destinations and receives that of its source: by default the
 * rank before it, so that each sends to the next; else the pairs that the request lists. Sending
 * and receiving are in two lanes, so that neither waits for the other.
 *
 *   the shift    0 -> 1    1 -> 2    2 -> 3    3 -> 0
 *   pairs        0 -> 2, then 0 -> 3         ranks without a source keep their output as it is
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; m messages of the busiest sender, 1
 * for the shift):
 *   T = L + m (s(b) + f(b)) + a + s(b) + (P-1) m (s(b) + f(b))
 * unless D slots are too few: every D pieces take at least s + f + a + s. Exact for equal pieces of
 * the shift; for listed pairs too, unless no rank sends. N = 1: L + sum over p of s(b_p).
 *
 * Source: NVIDIA, nccl-tests, src/sendrecv.cu (the shift).
 */
#include "claims.h"

enum { SEND_LANE, RECEIVE_LANE };

static enum ronde_status supports(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not)
{
    if (request->order)
        return ronde_fail(why_not, RONDE_UNSUPPORTED,
                          "send_recv names ranks, and takes no order of positions");
    for (uint32_t rank = 0; request->source_of && rank < request->ranks; rank++)
        if (request->source_of[rank] >= request->ranks && request->source_of[rank] != RONDE_NONE)
            return ronde_fail(why_not, RONDE_UNSUPPORTED,
                              "rank %u wants what rank %u has, there are %u ranks", rank,
                              request->source_of[rank], request->ranks);
    return RONDE_OK;
}

static void state_pair(struct ronde_builder *builder, uint32_t from, uint32_t to)
{
    const struct ronde_transfer transfer = {
        .from = from,
        .to = to,
        .from_lane = SEND_LANE,
        .to_lane = RECEIVE_LANE,
        .source = ronde_chunks(RONDE_IN, 0, 1),
        .target = ronde_chunks(RONDE_OUT, 0, 1),
    };
    if (from == to)
        ronde_builder_copy(builder, from, RECEIVE_LANE, transfer.source, transfer.target);
    else
        ronde_builder_transfer(builder, &transfer);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    if (!request->source_of) {
        ronde_builder_rotate(builder, false, false, false);
        state_pair(builder, 0, request->ranks > 1 ? 1 : 0);
        return;
    }
    for (uint32_t rank = 0; rank < request->ranks; rank++)
        if (request->source_of[rank] != RONDE_NONE)
            state_pair(builder, request->source_of[rank], rank);
}

/** Senders whose messages are counted at once: a price has no memory but the stack. */
#define COUNTED 4096u

/** Messages of the busiest among COUNTED senders. */
static uint32_t most_sent_from(const struct ronde_compile_request *request, uint32_t first)
{
    uint32_t sent[COUNTED] = {0};
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < request->ranks; rank++) {
        const uint32_t source = request->source_of[rank];
        /* A rank without a source names RONDE_NONE, which is beyond them all. */
        if (source - first < COUNTED && source != rank && ++sent[source - first] > most)
            most = sent[source - first];
    }
    return most;
}

/** Messages of the busiest sender. */
static uint32_t most_sent(const struct ronde_compile_request *request)
{
    uint32_t most = 0;
    if (!request->source_of)
        return request->ranks > 1 ? 1 : 0;
    for (uint32_t first = 0; first < request->ranks; first += COUNTED) {
        const uint32_t sent = most_sent_from(request, first);
        most = sent > most ? sent : most;
    }
    return most;
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t messages = most_sent(request);
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (messages == 0) {
        struct ronde_price price =
            ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
        price.is_exact = price.is_exact && !request->source_of;
        return price;
    }
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = messages * send_ns + costs.alpha_ns + costs.step_ns,
        .period_ns = messages * send_ns,
        .credit_ns = send_ns + costs.alpha_ns + costs.step_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_rounds(ranks, ranks > 1, ranks > 1);
}

const struct ronde_algorithm ronde_algorithm_send_recv_direct = {
    .collective = RONDE_SEND_RECV,
    .name = "direct",
    .summary = "everyone to the next rank, or listed pairs",
    .supports = supports,
    .build = build,
    .price = price,
    .source = "nccl-tests",
    .counts = counts_of,
};
