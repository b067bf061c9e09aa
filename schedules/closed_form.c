/** Shared parts of the closed forms. */
#include "closed_form.h"

#include "ronde/split.h"

#include <math.h>

/** Slots a connection has unless the load says otherwise; every built-in needs fewer. */
#define DEFAULT_DEPTH 8u

uint32_t ronde_compile_request_channels(const struct ronde_compile_request *request)
{
    return request->channels ? request->channels : 1;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

struct ronde_pieces ronde_cut_load(const struct ronde_load *load, struct ronde_cut cut)
{
    const uint64_t dtype_bytes = ronde_dtype_bytes(load->dtype);
    const uint64_t block_bytes = load->count * dtype_bytes;
    const uint64_t grains = divide_up(block_bytes, RONDE_GRAIN_BYTES);
    const uint64_t longest =
        divide_up(divide_up(grains, cut.channels), cut.chunks) * RONDE_GRAIN_BYTES;
    const uint64_t chunk_bytes = longest < block_bytes ? longest : block_bytes;
    const uint64_t whole_grains =
        load->slot_bytes / (cut.widest ? cut.widest : 1) / RONDE_GRAIN_BYTES;
    const uint64_t piece_bytes =
        load->slot_bytes == 0 ? chunk_bytes : (whole_grains ? whole_grains : 1) * RONDE_GRAIN_BYTES;
    struct ronde_pieces pieces = {.depth = load->depth ? load->depth : DEFAULT_DEPTH};
    if (load->count == 0)
        return pieces;
    pieces.count = divide_up(chunk_bytes, piece_bytes);
    pieces.bytes = (double)(chunk_bytes < piece_bytes ? chunk_bytes : piece_bytes);
    pieces.last_bytes = (double)(chunk_bytes - (pieces.count - 1) * piece_bytes);
    /* Channels share nothing, so that only the largest one counts. */
    pieces.grains = divide_up(grains, cut.channels);
    pieces.chunks = cut.chunks;
    pieces.block_bytes = (double)block_bytes;
    const bool is_whole = cut.channels * cut.chunks == 1 || block_bytes % RONDE_GRAIN_BYTES == 0;
    pieces.is_even = is_whole && pieces.grains % cut.chunks == 0;
    pieces.is_reached = is_whole;
    return pieces;
}

double ronde_message_bytes(const struct ronde_pieces *pieces, uint32_t chunks, bool is_last)
{
    const bool shares_block = pieces->chunks > 1 && chunks > 1;
    if (!is_last)
        return chunks * pieces->bytes;
    if (!shares_block)
        return chunks * pieces->last_bytes;
    /* All chunks have the same pieces up to the last, which takes in the difference. */
    const uint64_t grains = divide_up(pieces->grains * chunks, pieces->chunks);
    const double total_bytes = (double)grains * RONDE_GRAIN_BYTES;
    const double before_bytes = (double)(pieces->count - 1) * pieces->bytes * chunks;
    return (total_bytes < pieces->block_bytes ? total_bytes : pieces->block_bytes) - before_bytes;
}

double ronde_shared_flow_ns(const struct ronde_network *network, double bytes, uint32_t flows)
{
    struct ronde_network share = *network;
    share.port_GBps /= flows;
    return ronde_network_flow_ns(&share, bytes);
}

bool ronde_is_unshared(const struct ronde_network *network, double bytes, uint32_t flows)
{
    return ronde_shared_flow_ns(network, bytes, flows) <= ronde_network_flow_ns(network, bytes);
}

struct ronde_costs ronde_costs_of(const struct ronde_network *network, double bytes, uint32_t flows)
{
    /* What a message costs its sender and its receiver lies between two steps of a chain, as alpha does. */
    const struct ronde_time_params *time = &network->time;
    const double message_ns =
        ronde_sized_ns_at(&time->send, bytes) + ronde_sized_ns_at(&time->receive, bytes);
    const struct ronde_costs costs = {
        .alpha_ns = ronde_network_alpha_ns(network) + message_ns,
        .step_ns = ronde_network_step_ns(network, bytes, false),
        .reduce_ns = ronde_network_step_ns(network, bytes, true),
        .flow_ns = ronde_shared_flow_ns(network, bytes, flows),
    };
    return costs;
}

void ronde_work_add(struct ronde_lane_work *work, uint32_t chunks, struct ronde_lane_shape times)
{
    work->hops[work->hop_count].chunks = chunks;
    work->hops[work->hop_count].times = times;
    work->hop_count++;
}

double ronde_work_ns(const struct ronde_lane_work *work, const struct ronde_network *network,
                     const struct ronde_pieces *pieces, bool is_last, uint32_t flows)
{
    double time_ns = 0;
    for (uint32_t i = 0; i < work->hop_count; i++) {
        const struct ronde_lane_shape *times = &work->hops[i].times;
        const double bytes = ronde_message_bytes(pieces, work->hops[i].chunks, is_last);
        const struct ronde_costs costs = ronde_costs_of(network, bytes, flows);
        time_ns += times->steps * costs.step_ns + times->reducing * costs.reduce_ns +
                   times->messages * (costs.flow_ns + costs.alpha_ns);
    }
    return time_ns;
}

/** Messages of the work. */
static uint32_t work_messages(const struct ronde_lane_work *work)
{
    uint32_t messages = 0;
    for (uint32_t i = 0; i < work->hop_count; i++)
        messages += work->hops[i].times.messages;
    return messages;
}

struct ronde_price ronde_work_price(const struct ronde_load *load,
                                    const struct ronde_network *network, struct ronde_cut cut,
                                    const struct ronde_lane_work *work)
{
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    struct ronde_price price = {.is_exact = true};
    if (pieces.count == 0)
        return price;
    price.time_ns =
        network->time.launch_ns +
        (double)(pieces.count - 1) * ronde_work_ns(work, network, &pieces, false, cut.channels) +
        ronde_work_ns(work, network, &pieces, true, cut.channels);
    /* In one piece the largest chunk alone makes the longest path: it takes part in every hop. */
    price.is_exact =
        (pieces.is_even || (cut.widest <= 1 && pieces.is_reached && pieces.count == 1)) &&
        (work_messages(work) == 0 || ronde_is_unshared(network, pieces.bytes, cut.channels));
    return price;
}

struct ronde_price ronde_lane_price(const struct ronde_load *load,
                                    const struct ronde_network *network, struct ronde_cut cut,
                                    struct ronde_lane_shape shape)
{
    struct ronde_lane_work work = {0};
    ronde_work_add(&work, 1, shape);
    return ronde_work_price(load, network, cut, &work);
}

struct ronde_price ronde_pipeline_price(const struct ronde_pieces *pieces,
                                        const struct ronde_network *network,
                                        const struct ronde_pipeline *pipeline)
{
    struct ronde_price price = {.is_exact = true};
    if (pieces->count == 0)
        return price;
    const uint64_t followers = pieces->count - 1;
    const double lap_ns = pieces->depth * pipeline->period_ns;
    const double laps_ns = pipeline->credit_ns > lap_ns ? pipeline->credit_ns : lap_ns;
    price.time_ns = network->time.launch_ns + pipeline->first_ns +
                    (double)(followers / pieces->depth) * laps_ns +
                    (double)(followers % pieces->depth) * pipeline->period_ns;
    price.is_exact = pieces->is_even && pipeline->is_unshared &&
                     (followers == 0 || pieces->last_bytes >= pieces->bytes);
    return price;
}

/** ns from piece to piece in the lane of a stage that shares a port with others. */
static double held_up_ns(const struct ronde_stage *stage, double port_ns)
{
    const double others_ns = port_ns - stage->flow_ns;
    const double held_ns2 = others_ns > 0 ? stage->flow_ns * others_ns : 0;
    return (stage->period_ns + sqrt(stage->period_ns * stage->period_ns + 4 * held_ns2)) / 2;
}

struct ronde_price
ronde_stages_price(const struct ronde_pieces *pieces, const struct ronde_network *network,
                   const struct ronde_stage *stages, uint32_t count, bool overlapping)
{
    struct ronde_pipeline pipeline = {0};
    uint32_t port_chunks = 0, most = 0, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        pipeline.first_ns += stages[i].first_ns;
        pipeline.credit_ns = ronde_longer_ns(pipeline.credit_ns, stages[i].credit_ns);
        port_chunks += stages[i].port_chunks;
        most = stages[i].flows > most ? stages[i].flows : most;
        all += stages[i].flows;
    }
    const uint32_t at_once = overlapping || pieces->count > 1 ? all : most;
    pipeline.is_unshared = all == 0 || ronde_is_unshared(network, pieces->bytes, at_once);
    const double port_ns =
        network->port_GBps > 0 ? port_chunks * pieces->bytes / network->port_GBps : 0;
    pipeline.period_ns = port_ns;
    for (uint32_t i = 0; i < count; i++) {
        const double lane_ns =
            pipeline.is_unshared ? stages[i].period_ns : held_up_ns(&stages[i], port_ns);
        pipeline.period_ns = ronde_longer_ns(pipeline.period_ns, lane_ns);
    }
    return ronde_pipeline_price(pieces, network, &pipeline);
}

uint32_t ronde_log2_floor(uint32_t n)
{
    uint32_t exponent = 0;
    while (n >>= 1)
        exponent++;
    return exponent;
}

uint32_t ronde_log2_ceil(uint32_t n)
{
    return n > 1 ? ronde_log2_floor(n - 1) + 1 : 0;
}

enum ronde_status ronde_supports_any(const struct ronde_compile_request *request,
                                     struct ronde_error *why_not)
{
    (void)request;
    (void)why_not;
    return RONDE_OK;
}
