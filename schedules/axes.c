/** Rings along the axes of a grid, and what they cost. */
#include "axes.h"

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

struct ronde_axes ronde_axes_of_nodes(const struct ronde_request *request)
{
    struct ronde_axes axes = {.count = 2};
    const bool has_shape = request->shape_count == 2;
    axes.radix[0] = has_shape ? request->shape[1] : divisor_below(request->ranks, DEFAULT_LOCAL);
    axes.radix[1] = request->ranks / axes.radix[0];
    return axes;
}

struct ronde_axes ronde_axes_of_torus(const struct ronde_request *request)
{
    const uint32_t n = request->ranks;
    struct ronde_axes axes = {.count = request->shape_count};
    for (uint32_t axis = 0; axis < request->shape_count; axis++)
        axes.radix[axis] = request->shape[axis];
    if (request->shape_count > 0)
        return axes;
    uint32_t root = 1;
    while ((uint64_t)(root + 1) * (root + 1) <= n)
        root++;
    axes.count = 2;
    axes.radix[0] = divisor_below(n, root);
    axes.radix[1] = n / axes.radix[0];
    return axes;
}

enum ronde_status ronde_axes_supports_nodes(const struct ronde_request *request,
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

void ronde_axes_declare_nodes(const struct ronde_axes *axes, const struct ronde_request *request,
                              struct ronde_builder *builder)
{
    const uint32_t n = request->ranks, local = axes->radix[0], nodes = axes->radix[1];
    const struct ronde_mem *mem = ronde_builder_mem(builder);
    ronde_builder_rotate_shape(builder, axes->radix, axes->count);
    if (local == 1 || nodes == 1)
        return;
    uint32_t *order = ronde_mem_new(mem, n, sizeof *order);
    if (!order) {
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for an order of %u ranks", n);
        return;
    }
    for (uint32_t q = 0; q < n; q++)
        order[q] = q % nodes * local + q / nodes;
    for (uint32_t channel = 0; channel < ronde_request_channels(request); channel++)
        ronde_builder_channel(builder, 1, order);
    ronde_mem_free(mem, order, n, sizeof *order);
}

uint32_t ronde_axes_bundle(const struct ronde_axes *axes, uint32_t axis)
{
    uint32_t chunks = 1;
    for (uint32_t faster = axis + 1; faster < axes->count; faster++)
        chunks *= axes->radix[faster];
    return chunks;
}

/** One ring of reduce_scatter: the bundle of digit d starts at digit d + 1 and ends at d. */
static void scatter_along(const struct ronde_axes *axes, uint32_t axis, enum ronde_buffer input,
                          struct ronde_builder *builder)
{
    const uint32_t chunks = ronde_axes_bundle(axes, axis);
    const uint32_t radix = axes->radix[axis];
    for (uint32_t step = 0; step + 1 < radix; step++) {
        const uint32_t first = (radix - 1 - step) * chunks;
        const struct ronde_transfer hop = {
            .from = 0,
            .to = chunks,
            .from_lane = axes->scatter_lane[axis],
            .to_lane = axes->scatter_lane[axis],
            .source = ronde_chunks(step == 0 ? input : RONDE_OUT, first, chunks),
            .with = ronde_chunks(input, first, chunks),
            .target = ronde_chunks(RONDE_OUT, first, chunks),
            .reduces = true,
        };
        ronde_builder_transfer(builder, &hop);
    }
}

void ronde_axes_scatter(const struct ronde_axes *axes, struct ronde_builder *builder)
{
    enum ronde_buffer input = RONDE_IN;
    for (uint32_t axis = 0; axis < axes->count; axis++) {
        if (axes->radix[axis] == 1)
            continue;
        scatter_along(axes, axis, input, builder);
        input = RONDE_OUT;
    }
}

/** One ring of all_gather: every position sends its own bundle first. */
static void gather_along(const struct ronde_axes *axes, uint32_t axis, struct ronde_operand own,
                         struct ronde_builder *builder)
{
    const uint32_t chunks = ronde_axes_bundle(axes, axis);
    const uint32_t radix = axes->radix[axis];
    for (uint32_t step = 0; step + 1 < radix; step++) {
        const struct ronde_operand bundle =
            ronde_chunks(RONDE_OUT, (radix - step) % radix * chunks, chunks);
        const struct ronde_transfer hop = {
            .from = 0,
            .to = chunks,
            .from_lane = axes->gather_lane[axis],
            .to_lane = axes->gather_lane[axis],
            .source = step == 0 && chunks == 1 ? own : bundle,
            .target = bundle,
        };
        ronde_builder_transfer(builder, &hop);
    }
}

void ronde_axes_gather(const struct ronde_axes *axes, struct ronde_operand own,
                       struct ronde_builder *builder)
{
    for (uint32_t axis = axes->count; axis-- > 0;)
        gather_along(axes, axis, own, builder);
}

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

struct ronde_price ronde_axes_stages_price(const struct ronde_load *load,
                                           const struct ronde_network *network, struct ronde_cut cut,
                                           const struct ronde_lane_work *stages,
                                           uint32_t stage_count)
{
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    struct ronde_pipeline pipeline = {0};
    double port_bytes = 0;
    uint32_t flows = 0;
    for (uint32_t i = 0; i < stage_count; i++) {
        const double stage_ns = ronde_work_ns(&stages[i], network, pieces.bytes, cut.channels);
        pipeline.first_ns += stage_ns;
        pipeline.period_ns = stage_ns > pipeline.period_ns ? stage_ns : pipeline.period_ns;
        port_bytes += pieces.bytes * stages[i].chunks.messages * cut.channels;
        flows += stages[i].times.messages > 0 ? cut.channels : 0;
    }
    if (network->port_GBps > 0 && port_bytes / network->port_GBps > pipeline.period_ns)
        pipeline.period_ns = port_bytes / network->port_GBps;
    /* Stages work at the same time from the second piece on. */
    const uint32_t at_once = pieces.count > 1 ? flows : cut.channels;
    pipeline.is_unshared = flows == 0 || ronde_is_unshared(network, pieces.bytes, at_once);
    return ronde_pipeline_price(&pieces, network, &pipeline);
}
