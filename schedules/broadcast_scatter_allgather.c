/**
 * broadcast, scatter and all_gather.
 *
 * The block is cut into N chunks. A binomial tree scatters them, so that position p has chunk p,
 * and Bruck's all_gather brings everyone the rest: in round i a position sends what it has, its own
 * chunk and those that follow, to the position 2^i before it. Nobody but the root sends much more
 * than the block once, so it is good for large blocks. The root has everything and is left out as a
 * receiver; inner positions of the tree are sent again what they passed on, as in the papers.
 *
 *   scatter      0 -> 2: c2 c3     0 -> 1: c1     2 -> 3: c3
 *   round 0      1 <- 2: c2        2 <- 3: c3     3 <- 0: c0
 *   round 1      1 <- 3: c3 c0     2 <- 0: c0 c1  3 <- 1: c1 c2
 *
 * Price (symbols in closed_form.h; a chunk is 1/(C N) of the block, rounded up to 16 bytes; w runs
 * over N/2, N/4, .. 1, then u over 1, 2, 4, .. and the rest, which add up to N-1):
 *   T <= L + sum over p of [sum over w of s(w b_p) + f(w b_p) + a + s(w b_p)]
 *                        + [sum over u of s(u b_p) + f(u b_p) + a + s(u b_p)]
 * as written for powers of two; else the longest chain of the scatter counts. An upper bound: the
 * last leaf sends on as it receives, the root neither waits nor receives, and pieces overlap where
 * a position is not on the longest path. N = 1: L + sum over p of s(b_p), exact.
 *
 * Source: M. Barnett, L. Shuler, R. van de Geijn, S. Gupta, D. Payne, J. Watts, "Interprocessor
 * collective communication library (InterCom)", Scalable High Performance Computing Conference
 * 1994, pages 357-364; R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
 * communication operations in MPICH", International Journal of High Performance Computing
 * Applications 19(1), 2005, pages 49-66, section 4.2. They gather by a ring or by recursive
 * doubling; Bruck's rounds need as few messages for any N.
 */
#include "binomial.h"
#include "catalogue.h"

/** Lane of the root's local copy, so that nobody waits for it. */
enum { ROUND_LANE, COPY_LANE };

/** Chunks that a position sends: the root reads its input, the others what they have got. */
static void send_chunks(struct ronde_builder *builder, uint32_t from, uint32_t to, uint32_t first,
                        uint32_t count)
{
    const struct ronde_transfer transfer = {
        .from = from,
        .to = to,
        .from_lane = ROUND_LANE,
        .to_lane = ROUND_LANE,
        .source = ronde_chunks(from == 0 ? RONDE_IN : RONDE_OUT, first, count),
        .target = ronde_chunks(RONDE_OUT, first, count),
    };
    ronde_builder_transfer(builder, &transfer);
}

static void scatter(uint32_t n, struct ronde_builder *builder)
{
    for (uint32_t distance = n > 1 ? 1u << ronde_log2_floor(n - 1) : 0; distance > 0; distance /= 2)
        for (uint32_t parent = 0; parent + distance < n; parent += 2 * distance) {
            const uint32_t child = parent + distance;
            send_chunks(builder, parent, child, child, ronde_binomial_size(n, child, distance));
        }
}

/** Chunks of a message when `have` of n are there. */
static uint32_t chunks_to_send(uint32_t n, uint32_t have)
{
    return have < n - have ? have : n - have;
}

static void gather(uint32_t n, struct ronde_builder *builder)
{
    for (uint32_t have = 1; have < n; have *= 2) {
        ronde_builder_round_begin(builder);
        for (uint32_t position = 0; position < n; position++)
            if (position != have)
                send_chunks(builder, position, (position + n - have) % n, position,
                            chunks_to_send(n, have));
        ronde_builder_round_end(builder);
    }
}

void ronde_broadcast_scatter_allgather_build(const struct ronde_request *request,
                                             struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    ronde_builder_chunks(builder, n);
    scatter(n, builder);
    gather(n, builder);
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, n),
                       ronde_chunks(RONDE_OUT, 0, n));
}

/** ns of the rounds of all_gather for a piece. */
static double gather_ns(uint32_t n, const struct ronde_network *network, double bytes,
                        uint32_t flows)
{
    struct ronde_lane_work work = {0};
    for (uint32_t have = 1; have < n; have *= 2)
        ronde_work_add(&work, chunks_to_send(n, have),
                       (struct ronde_lane_shape){.steps = 2, .messages = 1});
    return ronde_work_ns(&work, network, bytes, flows);
}

struct ronde_price ronde_broadcast_scatter_allgather_price(const struct ronde_request *request,
                                                           const struct ronde_load *load,
                                                           const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_request_channels(request),
                                  .chunks = n,
                                  .widest = n};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_binomial tree = {.network = network,
                                        .bytes = pieces.bytes,
                                        .flows = cut.channels,
                                        .is_weighted = true};
    struct ronde_price price = {.is_exact = pieces.count == 0};
    if (pieces.count == 0)
        return price;
    const double piece_ns =
        ronde_binomial_down_ns(&tree, n) + gather_ns(n, network, pieces.bytes, cut.channels);
    price.time_ns = network->time.launch_ns + (double)pieces.count * piece_ns;
    return price;
}
