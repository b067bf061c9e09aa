/** Rings along the axes of a grid, and what they cost. */
#include "axes.h"

#include "all_pairs.h"

/** Most ranks of a node unless the request gives a shape: that of the common GPU servers. */
#define DEFAULT_LOCAL 8u

/** Largest divisor of n up to a limit. */
static uint32_t divisor_below(uint32_t n, uint32_t limit)
{
    uint32_t divisor = n < limit ? n : limit;
    while (n % divisor != 0)
        divisor--;
    return divisor;
}

struct ronde_axes ronde_axes_of_nodes(const struct ronde_compile_request *request)
{
    struct ronde_axes axes = {.count = 2, .chunk_axes = 2, .speakers = 1};
    const bool has_shape = request->shape_count == 2;
    axes.radix[0] = has_shape ? request->shape[1] : divisor_below(request->ranks, DEFAULT_LOCAL);
    axes.radix[1] = request->ranks / axes.radix[0];
    return axes;
}

struct ronde_axes ronde_axes_of_torus(const struct ronde_compile_request *request)
{
    const uint32_t n = request->ranks;
    struct ronde_axes axes = {.count = request->shape_count,
                              .chunk_axes = request->shape_count,
                              .speakers = 1};
    for (uint32_t axis = 0; axis < request->shape_count; axis++)
        axes.radix[axis] = request->shape[axis];
    if (request->shape_count > 0)
        return axes;
    uint32_t root = 1;
    while ((uint64_t)(root + 1) * (root + 1) <= n)
        root++;
    axes.count = axes.chunk_axes = 2;
    axes.radix[0] = divisor_below(n, root);
    axes.radix[1] = n / axes.radix[0];
    return axes;
}

enum ronde_status ronde_axes_supports_nodes(const struct ronde_compile_request *request,
                                            struct ronde_error *why_not)
{
    if (request->shape_count == 0)
        return RONDE_OK;
    if (request->shape_count != 2)
        return ronde_fail(why_not, RONDE_UNSUPPORTED,
                          "hierarchical needs a shape of 2 digits, nodes x local, not of %u",
                          request->shape_count);
    if ((uint64_t)request->shape[0] * request->shape[1] != request->ranks)
        return ronde_fail(why_not, RONDE_UNSUPPORTED, "shape %u x %u is not that of %u ranks",
                          request->shape[0], request->shape[1], request->ranks);
    return RONDE_OK;
}

/** The root of a request that does not say where positions are, else 0: such a request has put it first. */
static uint32_t root_of(const struct ronde_compile_request *request)
{
    const bool is_placed = request->order || request->channel_orders;
    return !is_placed && ronde_collective_traits(request->collective)->has_root ? request->root : 0;
}

void ronde_axes_nodes_channel(const struct ronde_axes *axes,
                              const struct ronde_compile_request *request,
                              ronde_node_order node_order, struct ronde_builder *builder)
{
    const uint32_t local = axes->radix[0], nodes = axes->radix[1];
    const uint32_t ranks = local * nodes, root = root_of(request);
    const struct ronde_mem *mem = ronde_builder_mem(builder);
    if (nodes == 1 || (local == 1 && !node_order)) {
        ronde_builder_channel(builder, 1, NULL);
        return;
    }
    uint32_t *order = ronde_mem_new(mem, ranks, sizeof *order);
    if (!order) {
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for an order of %u ranks", ranks);
        return;
    }
    for (uint32_t q = 0; q < ranks; q++) {
        const uint32_t at = node_order ? node_order(nodes, q % nodes) : q % nodes;
        const uint32_t rank = (at + root / local) % nodes * local + (q / nodes + root) % local;
        order[q] = (rank + ranks - root) % ranks;
    }
    ronde_builder_channel(builder, 1, order);
    ronde_mem_free(mem, order, ranks, sizeof *order);
}

void ronde_axes_nodes_channels(const struct ronde_axes *axes,
                               const struct ronde_compile_request *request,
                               struct ronde_builder *builder)
{
    for (uint32_t channel = 0; channel < ronde_compile_request_channels(request); channel++)
        ronde_axes_nodes_channel(axes, request, NULL, builder);
}

void ronde_axes_declare_trees(const struct ronde_axes *axes,
                              const struct ronde_compile_request *request, ronde_node_order second,
                              struct ronde_builder *builder)
{
    for (uint32_t channel = 0; channel < ronde_compile_request_channels(request); channel++) {
        ronde_axes_nodes_channel(axes, request, NULL, builder);
        ronde_axes_nodes_channel(axes, request, second, builder);
    }
}

void ronde_axes_declare_nodes(const struct ronde_axes *axes,
                              const struct ronde_compile_request *request,
                              struct ronde_builder *builder)
{
    ronde_builder_rotate_shape(builder, axes->radix, axes->count);
    /* With one digit of 1 the builder's own order is the right one. */
    if (axes->radix[0] == 1 || axes->radix[1] == 1)
        return;
    ronde_axes_nodes_channels(axes, request, builder);
}

/* --- facts --------------------------------------------------------------------------------- */

/** Product of the radices of axes from `first` on, up to `end`. */
static uint32_t product(const struct ronde_axes *axes, uint32_t first, uint32_t end)
{
    uint32_t all = 1;
    for (uint32_t axis = first; axis < end; axis++)
        all *= axes->radix[axis];
    return all;
}

uint32_t ronde_axes_bundle(const struct ronde_axes *axes, uint32_t axis)
{
    return product(axes, axis + 1, axes->chunk_axes);
}

/** Adds two numbers digit by digit, in the radices of the first `count` axes. */
static uint32_t shifted(const struct ronde_axes *axes, uint32_t count, uint32_t number, uint32_t by)
{
    uint32_t sum = 0, place = 1;
    for (uint32_t axis = count; axis-- > 0;) {
        const uint32_t radix = axes->radix[axis];
        sum += (number + by) % radix * place;
        place *= radix;
        number /= radix;
        by /= radix;
    }
    return sum;
}

/** The bundle that stands to chunk `own` as this one stands to chunk 0. */
static struct ronde_operand shifted_bundle(const struct ronde_axes *axes,
                                           struct ronde_operand bundle, uint32_t own)
{
    const uint32_t first = shifted(axes, axes->chunk_axes, bundle.first, own);
    bundle.first = first - first % bundle.count;
    return bundle;
}

/**
 * States a fact of position 0 for all speakers, all of which send before they receive. `to` is a
 * distance, and operands are bundles: they start at a multiple of their count.
 */
static void state_transfer(const struct ronde_axes *axes, const struct ronde_transfer *fact,
                           struct ronde_builder *builder)
{
    const uint32_t sharers = product(axes, axes->chunk_axes, axes->count);
    ronde_builder_round_begin(builder);
    for (uint32_t position = 0; position < axes->speakers; position++) {
        struct ronde_transfer transfer = *fact;
        transfer.from = position;
        transfer.to = shifted(axes, axes->count, fact->to, position);
        transfer.source = shifted_bundle(axes, fact->source, position / sharers);
        transfer.target = shifted_bundle(axes, fact->target, position / sharers);
        if (fact->reduces)
            transfer.with = shifted_bundle(axes, fact->with, position / sharers);
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_round_end(builder);
}

/** A bundle of the own chunk's row along an axis, `digit` places on. */
static struct ronde_operand bundle_at(const struct ronde_axes *axes, uint32_t axis,
                                      enum ronde_buffer buffer, uint32_t digit)
{
    const uint32_t chunks = ronde_axes_bundle(axes, axis);
    return ronde_chunks(buffer, digit * chunks, chunks);
}

/** One ring of reduce_scatter: the bundle of digit d starts at digit d + 1 and ends at d. */
void ronde_axes_scatter_along(const struct ronde_axes *axes, uint32_t axis, enum ronde_buffer input,
                              struct ronde_builder *builder)
{
    const uint32_t radix = axes->radix[axis];
    for (uint32_t step = 0; step + 1 < radix; step++) {
        const uint32_t digit = radix - 1 - step;
        const struct ronde_transfer hop = {
            .to = product(axes, axis + 1, axes->count),
            .from_lane = axes->scatter_lane[axis],
            .to_lane = axes->scatter_lane[axis],
            .source = bundle_at(axes, axis, step == 0 ? input : RONDE_OUT, digit),
            .with = bundle_at(axes, axis, input, digit),
            .target = bundle_at(axes, axis, RONDE_OUT, digit),
            .reduces = true,
        };
        state_transfer(axes, &hop, builder);
    }
}

/** One ring of all_gather: every position sends its own bundle first. */
void ronde_axes_gather_along(const struct ronde_axes *axes, uint32_t axis, struct ronde_operand own,
                             struct ronde_builder *builder)
{
    const uint32_t radix = axes->radix[axis];
    for (uint32_t step = 0; step + 1 < radix; step++) {
        const struct ronde_operand bundle = bundle_at(axes, axis, RONDE_OUT, (radix - step) % radix);
        const struct ronde_transfer hop = {
            .to = product(axes, axis + 1, axes->count),
            .from_lane = axes->gather_lane[axis],
            .to_lane = axes->gather_lane[axis],
            .source = step == 0 && bundle.count == 1 ? own : bundle,
            .target = bundle,
        };
        state_transfer(axes, &hop, builder);
    }
}

void ronde_axes_scatter_direct(const struct ronde_axes *axes, uint32_t axis,
                               enum ronde_buffer input, struct ronde_builder *builder)
{
    for (uint32_t digit = 1; digit < axes->radix[axis]; digit++) {
        const struct ronde_transfer message = {
            .to = digit * product(axes, axis + 1, axes->count),
            .from_lane = axes->scatter_lane[axis],
            .to_lane = axes->scatter_lane[axis] + 1,
            .source = bundle_at(axes, axis, input, digit),
            .with = bundle_at(axes, axis, digit == 1 ? input : RONDE_OUT, digit),
            .target = bundle_at(axes, axis, RONDE_OUT, digit),
            .reduces = true,
        };
        state_transfer(axes, &message, builder);
    }
}

void ronde_axes_gather_direct(const struct ronde_axes *axes, uint32_t axis,
                              struct ronde_operand own, struct ronde_builder *builder)
{
    const struct ronde_operand bundle = bundle_at(axes, axis, RONDE_OUT, 0);
    for (uint32_t digit = 1; digit < axes->radix[axis]; digit++) {
        const struct ronde_transfer message = {
            .to = digit * product(axes, axis + 1, axes->count),
            .from_lane = axes->gather_lane[axis],
            .to_lane = axes->gather_lane[axis] + 1,
            .source = bundle.count == 1 ? own : bundle,
            .target = bundle,
        };
        state_transfer(axes, &message, builder);
    }
}

void ronde_axes_scatter(const struct ronde_axes *axes, struct ronde_builder *builder)
{
    enum ronde_buffer input = RONDE_IN;
    for (uint32_t axis = 0; axis < axes->count; axis++) {
        ronde_axes_scatter_along(axes, axis, input, builder);
        input = axes->radix[axis] > 1 ? RONDE_OUT : input;
    }
}

void ronde_axes_gather(const struct ronde_axes *axes, struct ronde_operand own,
                       struct ronde_builder *builder)
{
    for (uint32_t axis = axes->count; axis-- > 0;)
        ronde_axes_gather_along(axes, axis, own, builder);
}

/* --- price --------------------------------------------------------------------------------- */

void ronde_axes_add_scatter(const struct ronde_axes *axes, uint32_t axis,
                            struct ronde_lane_work *work)
{
    const uint32_t hops = axes->radix[axis] - 1;
    const struct ronde_lane_shape ring = {.steps = 1, .reducing = hops, .messages = hops};
    if (hops > 0)
        ronde_work_add(work, ronde_axes_bundle(axes, axis), ring);
}

void ronde_axes_add_gather(const struct ronde_axes *axes, uint32_t axis,
                           struct ronde_lane_work *work)
{
    const uint32_t hops = axes->radix[axis] - 1;
    const struct ronde_lane_shape ring = {.steps = 1 + hops, .messages = hops};
    if (hops > 0)
        ronde_work_add(work, ronde_axes_bundle(axes, axis), ring);
}

struct ronde_stage ronde_axes_stage(const struct ronde_lane_work *work,
                                    const struct ronde_network *network,
                                    const struct ronde_pieces *pieces, uint32_t channels)
{
    const bool is_only = pieces->count == 1;
    const double lane_ns = ronde_work_ns(work, network, pieces, is_only, channels);
    struct ronde_stage stage = {.first_ns = lane_ns, .period_ns = lane_ns};
    for (uint32_t i = 0; i < work->hop_count; i++)
        stage.port_chunks += channels * work->hops[i].chunks * work->hops[i].times.messages;
    stage.flows = stage.port_chunks > 0 ? channels : 0;
    stage.flow_ns =
        ronde_shared_flow_ns(network, stage.port_chunks / channels * pieces->bytes, channels);
    return stage;
}

struct ronde_stage ronde_axes_direct_stage(const struct ronde_axes *axes, uint32_t axis,
                                           bool reduces, const struct ronde_network *network,
                                           const struct ronde_pieces *pieces, uint32_t channels)
{
    const uint32_t others = axes->radix[axis] - 1, bundle = ronde_axes_bundle(axes, axis);
    const struct ronde_costs costs =
        ronde_costs_of(network, ronde_message_bytes(pieces, bundle, pieces->count == 1), channels);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const double receive_ns = reduces ? costs.reduce_ns : costs.step_ns;
    if (others == 0)
        return (struct ronde_stage){0};
    return (struct ronde_stage){
        .first_ns = ronde_pairs_ns(&costs, others + 1, receive_ns),
        .period_ns = others * ronde_longer_ns(send_ns, receive_ns),
        .credit_ns = send_ns + costs.alpha_ns + receive_ns,
        .flow_ns = send_ns > receive_ns ? others * costs.flow_ns : 0,
        .port_chunks = others * bundle * channels,
        .flows = channels,
    };
}

struct ronde_price
ronde_axes_pairs_price(const struct ronde_compile_request *request, const struct ronde_load *load,
                       const struct ronde_network *network, bool scatters, bool gathers)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request),
                                  .chunks = scatters && gathers ? request->ranks : 1,
                                  .widest = axes.radix[0] > 1 ? axes.radix[1] : 1};
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    struct ronde_stage stages[4];
    uint32_t count = 0;
    if (request->ranks == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    for (uint32_t axis = 0; axis < 2; axis++) {
        if (scatters)
            stages[count++] =
                ronde_axes_direct_stage(&axes, axis, true, network, &pieces, cut.channels);
        if (gathers)
            stages[count++] =
                ronde_axes_direct_stage(&axes, axis, false, network, &pieces, cut.channels);
    }
    return ronde_stages_price(&pieces, network, stages, count, false);
}
