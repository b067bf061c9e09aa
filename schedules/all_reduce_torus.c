/**
 * all_reduce, torus.
 *
 * Positions form a grid with rings along its axes. Rings along the first axis reduce_scatter the
 * block, rings along the next one what is left of it, and so on; the same way back gathers. It
 * sends as little as one ring through all, in far fewer messages, and only to neighbours.
 *
 *   2 x 2:  0 - 1     0 -> 2: c2 c3    2 -> 0: c0 c1    1 -> 3: c2 c3    3 -> 1: c0 c1     add
 *           |   |     0 -> 1: c1       1 -> 0: c0       2 -> 3: c3       3 -> 2: c2        add
 *           2 - 3     0 -> 1: c0       1 -> 0: c1       2 -> 3: c2       3 -> 2: c3        keep
 *                     0 -> 2: c0 c1    2 -> 0: c2 c3    1 -> 3: c0 c1    3 -> 1: c2 c3     keep
 *
 * Shape: the request's, of up to six axes, slowest first; else the most square one of two axes,
 * which for a prime N is one ring.
 *
 * Price (symbols in closed_form.h; a chunk is 1/(C N) of the block, rounded up to 16 bytes; an axis
 * has q positions and bundles of w chunks, w the product of the later axes):
 *   T = L + sum over p, axes of (q-1) (2 (f(w b_p) + a) + r(w b_p) + s(w b_p)) + 2 s(w b_p)
 * less s(b_p) where scattering turns into gathering. One lane does everything, so neither pieces nor
 * axes overlap. Exact for equal chunks, else an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: H. Mikami, H. Suganuma, P. U-chupala, Y. Tanaka, Y. Kageyama, "Massively distributed SGD:
 * ImageNet/ResNet-50 training in a flash", arXiv:1811.05233, 2018 (2D-Torus
 * all-reduce); M. Barnett, R. Littlefield, D. Payne, R. van de Geijn, "Global combine algorithms for
 * 2-D meshes with wormhole routing", Journal of Parallel and Distributed Computing 24(2), 1995,
 * pages 191-201. Several channels all start with the same axis; other orders need a channel order.
 */
#include "axes.h"
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes axes = ronde_axes_of_torus(request);
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_chunks(builder, request->ranks);
    ronde_builder_rotate(builder, true, true, false);
    ronde_builder_rotate_shape(builder, axes.radix, axes.count);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1), own);
    ronde_axes_scatter(&axes, builder);
    ronde_axes_gather(&axes, own, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const struct ronde_axes axes = ronde_axes_of_torus(request);
    struct ronde_cut cut = {.channels = ronde_compile_request_channels(request),
                            .chunks = request->ranks};
    struct ronde_lane_work work = {0};
    for (uint32_t axis = 0; axis < axes.count; axis++) {
        const uint32_t bundle = ronde_axes_bundle(&axes, axis);
        if (axes.radix[axis] > 1 && bundle > cut.widest)
            cut.widest = bundle;
        ronde_axes_add_scatter(&axes, axis, &work);
        ronde_axes_add_gather(&axes, axis, &work);
        /* The turning point is one step, not two. */
        if (axes.radix[axis] > 1 && bundle == 1)
            work.hops[work.hop_count - 1].times.steps--;
    }
    if (request->ranks == 1)
        ronde_work_add(&work, 1, (struct ronde_lane_shape){.steps = 1});
    return ronde_work_price(load, network, cut, &work);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    uint32_t rows = 1;
    for (uint32_t divisor = 2; (uint64_t)divisor * divisor <= ranks; divisor++)
        rows = ranks % divisor == 0 ? divisor : rows;
    const uint32_t rounds = 2 * (rows - 1 + ranks / rows - 1);
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, rounds, 2 * (ranks - 1));
    counts.min_depth = ranks > 1 ? 2 : 1;
    return counts;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_torus = {
    .collective = RONDE_ALL_REDUCE,
    .name = "torus",
    .summary = "rings along the axes of a grid",
    .supports = ronde_supports_any,
    .grid = RONDE_GRID_AXES,
    .build = build,
    .price = price,
    .source = "Mikami et al. 2018; Barnett et al. 1995",
    .counts = counts_of,
};
