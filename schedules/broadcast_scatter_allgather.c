/**
 * broadcast, scatter and all_gather.
 *
 * The block is cut into N chunks. A binomial tree scatters them, so that position p has chunk p,
 * and Bruck's all_gather distributes the rest: in round i a position sends what it has, its own
 * chunk and those that follow, to the position 2^i before it. Only the root sends much more than
 * the block once, so it is good for large blocks. The root has everything and is left out as a
 * receiver; inner positions of the tree are sent again what they passed on, as in the papers.
 *
 *   scatter      0 -> 2: c2 c3     0 -> 1: c1     2 -> 3: c3
 *   round 0      1 <- 2: c2        2 <- 3: c3     3 <- 0: c0
 *   round 1      1 <- 3: c3 c0     2 <- 0: c0 c1  3 <- 1: c1 c2
 *
 * Price (symbols in closed_form.h; a chunk is 1/(C N) of the block, rounded up to 16 bytes; w runs
 * over N/2, N/4, .. 1, then u over 1, 2, 4, .. and the rest, which add up to N-1):
 *   T <= L + down + gather - saved + (P-1) max(root, inner)
 *   down   = sum over w of s(w b) + f(w b) + a + s(w b)
 *   gather = sum over u of s(u b) + f(u b) + a + s(u b)
 *   saved  = s(b) + a                      a leaf sends on as it receives; and the only chain with all
 *                                          latencies of `down` ends at the root, which does not receive
 *   root   = sum over w, u of s + f        its lane: it neither waits nor receives
 *   inner  = down without the root's message, but with its receive; + gather - saved
 * as written for powers of two; else the longest chain of the scatter counts, and `saved` is s(b) from
 * 3/2 of a power of two on. Where N = 2^i + 2^j the root sends a child two messages a piece through
 * the same slots, and D of these take at least their two sends, latencies and receives. Exact for
 * equal chunks of one piece of powers of two, and for N = 2, the pipeline of 2 P messages; else an
 * upper bound: pieces overlap a little more where a position is not on the longest chain. N = 1: L +
 * sum over p of s(b_p), exact.
 *
 * Source: M. Barnett, L. Shuler, R. van de Geijn, S. Gupta, D. Payne, J. Watts, "Interprocessor
 * collective communication library (InterCom)", Scalable High Performance Computing Conference
 * 1994, pages 357-364; R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
 * communication operations in MPICH", International Journal of High Performance Computing
 * Applications 19(1), 2005, pages 49-66, section 4.2. They gather by a ring or by recursive
 * doubling; Bruck's rounds need as few messages for any N.
 */
#include "binomial.h"
#include "claims.h"

/** Lane of the root's local copy, so that no message waits for it. */
enum { ROUND_LANE, COPY_LANE };

/** Chunks that a position sends: the root reads its input, the others what they have got. */
static void send_chunks(struct ronde_builder *builder, uint32_t from, uint32_t to, uint32_t first,
                        uint32_t count)
{
    ronde_builder_message(builder, from, to, ROUND_LANE,
                          ronde_chunks(from == 0 ? RONDE_IN : RONDE_OUT, first, count),
                          ronde_chunks(RONDE_OUT, first, count));
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

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    ronde_builder_chunks(builder, n);
    scatter(n, builder);
    gather(n, builder);
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, n),
                       ronde_chunks(RONDE_OUT, 0, n));
}

/* --- price --------------------------------------------------------------------------------- */

/** ns from the start of a send until its slot is free again. */
static double hop_ns(const struct ronde_binomial *tree, uint32_t chunks)
{
    return ronde_binomial_send_ns(tree, chunks) + ronde_network_alpha_ns(tree->network) +
           ronde_binomial_receive_ns(tree, chunks);
}

/** ns of the rounds of all_gather: of a chain through all of them, or of a lane that only sends. */
static double gather_ns(uint32_t n, bool is_chain, const struct ronde_binomial *tree)
{
    double time_ns = 0;
    for (uint32_t have = 1; have < n; have *= 2) {
        const uint32_t chunks = chunks_to_send(n, have);
        time_ns += ronde_binomial_send_ns(tree, chunks);
        if (is_chain)
            time_ns +=
                ronde_network_alpha_ns(tree->network) + ronde_binomial_receive_ns(tree, chunks);
    }
    return time_ns;
}

/** ns from the arrival of a subtree's chunks until the last of its positions has its own. */
static double taken_in_ns(uint32_t size, const struct ronde_binomial *tree)
{
    return ronde_binomial_receive_ns(tree, size) + ronde_binomial_down_ns(tree, size);
}

/** ns that no chain takes: see `saved` above. */
static double saved_ns(uint32_t n, const struct ronde_binomial *tree)
{
    const double fused_ns = ronde_binomial_receive_ns(tree, 1);
    const bool ends_at_root = 2 * n < 3 * (1u << ronde_log2_floor(n));
    return fused_ns + (ends_at_root ? ronde_network_alpha_ns(tree->network) : 0);
}

/** Two ranks share one connection: its messages, two per piece, follow one another like pieces. */
static struct ronde_price pair_price(const struct ronde_binomial *tree)
{
    struct ronde_pieces messages = tree->pieces;
    messages.count *= 2;
    const struct ronde_pipeline pipeline = {
        .first_ns = hop_ns(tree, 1),
        .period_ns = ronde_binomial_send_ns(tree, 1),
        .credit_ns = hop_ns(tree, 1),
        .is_unshared = ronde_is_unshared(tree->network, messages.bytes, tree->cut.channels),
    };
    return ronde_pipeline_price(&messages, tree->network, &pipeline);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request),
                                  .chunks = n,
                                  .widest = n};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_binomial tree = {.network = network,
                                        .cut = cut,
                                        .pieces = pieces,
                                        .is_weighted = true};
    if (n == 2)
        return pair_price(&tree);
    const uint32_t top = 1u << ronde_log2_floor(n - 1);
    const double rounds_ns = gather_ns(n, true, &tree) - saved_ns(n, &tree);
    const double root_ns = ronde_binomial_root_ns(&tree, false, n) + gather_ns(n, false, &tree);
    const double inner_ns =
        ronde_longer_ns(taken_in_ns(n - top, &tree), taken_in_ns(top / 2, &tree)) + rounds_ns;
    /* Where N = 2^i + 2^j a child is served again in a round, through the same slots. */
    const uint32_t rest = n & (n - 1);
    const double once_ns = hop_ns(&tree, ronde_binomial_widest(n));
    const double credit_ns =
        (rest & (rest - 1)) == 0 ? once_ns + hop_ns(&tree, chunks_to_send(n, top)) : once_ns;
    struct ronde_pipeline pipeline = {
        .first_ns = ronde_binomial_down_ns(&tree, n) + rounds_ns,
        .period_ns = ronde_longer_ns(root_ns, inner_ns),
        .credit_ns = credit_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    if (pieces.depth == 1 && credit_ns > once_ns) {
        pipeline.first_ns = pipeline.credit_ns = ronde_longer_ns(pipeline.first_ns, credit_ns);
    } else if (2 * pieces.count > pieces.depth && credit_ns > pieces.depth * pipeline.period_ns) {
        pipeline.first_ns += once_ns;
    }
    struct ronde_price price = ronde_pipeline_price(&pieces, network, &pipeline);
    price.is_exact = price.is_exact && pieces.count <= 1 && pieces.depth > 1 && (n & (n - 1)) == 0;
    return price;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t rounds = ronde_log2_ceil(ranks), floor = ronde_log2_floor(ranks);
    /* Down the binomial tree and through Bruck's rounds, unless the deepest leaf is late for the first of them. */
    const bool is_shorter = ranks > 1 && 2 * (uint64_t)ranks < (uint64_t)3 << floor;
    return (struct ronde_algorithm_counts){.messages = (uint64_t)(ranks - 1) * (1 + rounds),
                                           .sent_chunks = 2 * (uint64_t)(ranks - 1),
                                           .critical_path = rounds + floor - is_shorter,
                                           .min_depth = 1};
}

static bool is_exact(const struct ronde_price_case *load)
{
    const bool is_in_step =
        load->pieces <= 1 && load->depth > 1 && ronde_is_power_of_two(load->ranks);
    return ronde_flows_fit(load, 1) && (load->ranks <= 2 || is_in_step);
}

/** What all_gather sends early meets what the scatter still sends, at the port of a rank that has both coming. */
static bool shares_ports(const struct ronde_price_case *load)
{
    return load->ranks > 2;
}

const struct ronde_algorithm ronde_algorithm_broadcast_scatter_allgather = {
    .collective = RONDE_BROADCAST,
    .name = "scatter_allgather",
    .summary = "a chunk to every rank, then all chunks to all; 2 log2 N messages",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Barnett et al. 1994; Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .shares_ports = shares_ports,
    .why_more =
        "the root scatters N-1 parts of N and then takes part in an all_gather: up to 2 (N-1)/N "
        "blocks. Any other rank, too, may receive parts in the scatter that it only passes on",
    .why_approximate =
        "the chain of latencies of the scatter may meet the root, which does not receive, and a "
        "piece overlaps with the one before it where a rank is not on the longest chain",
};
