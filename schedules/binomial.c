/** Binomial trees: sizes, times, and where blocks wait. */
#include "binomial.h"

#include "butterfly.h"

uint32_t ronde_binomial_size(uint32_t n, uint32_t child, uint32_t distance)
{
    return distance < n - child ? distance : n - child;
}

/** Distance of the root's last child; n > 1. */
static uint32_t last_distance(uint32_t n)
{
    return 1u << ronde_log2_floor(n - 1);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

uint32_t ronde_binomial_widest(uint32_t n)
{
    if (n < 3)
        return 1;
    return larger(n - last_distance(n), last_distance(n) / 2);
}

/* --- times --------------------------------------------------------------------------------- */

struct ronde_binomial ronde_binomial_of(const struct ronde_compile_request *request,
                                        const struct ronde_load *load,
                                        const struct ronde_network *network, bool is_weighted)
{
    const struct ronde_cut cut = {
        .channels = ronde_compile_request_channels(request),
        .chunks = 1,
        .widest = is_weighted ? ronde_binomial_widest(request->ranks) : 1,
    };
    return (struct ronde_binomial){.network = network,
                                   .cut = cut,
                                   .pieces = ronde_cut_load(load, cut),
                                   .is_weighted = is_weighted};
}

static double message_bytes(const struct ronde_binomial *tree, uint32_t size)
{
    return ronde_message_bytes(&tree->pieces, tree->is_weighted ? size : 1, tree->pieces.count == 1);
}

double ronde_binomial_send_ns(const struct ronde_binomial *tree, uint32_t size)
{
    const double bytes = message_bytes(tree, size);
    const double flow_ns = ronde_shared_flow_ns(tree->network, bytes, tree->cut.channels) +
                           ronde_sized_ns_at(&tree->network->time.send, bytes);
    if (tree->reduces && size > 1)
        return flow_ns;
    return ronde_network_step_ns(tree->network, bytes, false) + flow_ns;
}

double ronde_binomial_receive_ns(const struct ronde_binomial *tree, uint32_t size)
{
    const double bytes = message_bytes(tree, size);
    return ronde_network_step_ns(tree->network, bytes, tree->reduces) +
           ronde_sized_ns_at(&tree->network->time.receive, bytes);
}

/*
 * The first send goes to the subtree that may be cut off; what is left for the root is a full tree.
 * In a full tree the first child's side is the longest, so that only one side needs a closer look.
 */
double ronde_binomial_down_ns(const struct ronde_binomial *tree, uint32_t n)
{
    const double alpha_ns = ronde_network_alpha_ns(tree->network);
    double elapsed_ns = 0;
    double longest_ns = 0;
    while (n > 1) {
        const uint32_t distance = last_distance(n);
        const uint32_t size = n - distance;
        const double sent_ns = elapsed_ns + ronde_binomial_send_ns(tree, size);
        double rest_ns = sent_ns;
        for (uint32_t half = distance / 2; half > 0; half /= 2)
            rest_ns += ronde_binomial_send_ns(tree, half) + alpha_ns +
                       ronde_binomial_receive_ns(tree, half);
        longest_ns = ronde_longer_ns(longest_ns, rest_ns);
        elapsed_ns = sent_ns + alpha_ns + ronde_binomial_receive_ns(tree, size);
        n = size;
    }
    return ronde_longer_ns(longest_ns, elapsed_ns);
}

/** A full subtree: every child's message arrives after the one before it has been received. */
static double full_up_ns(const struct ronde_binomial *tree, uint32_t size)
{
    double time_ns = 0;
    for (uint32_t half = 1; half < size; half *= 2)
        time_ns += ronde_binomial_send_ns(tree, half) + ronde_network_alpha_ns(tree->network) +
                   ronde_binomial_receive_ns(tree, half);
    return time_ns;
}

double ronde_binomial_up_ns(const struct ronde_binomial *tree, uint32_t n)
{
    uint32_t sizes[32];
    uint32_t depth = 0;
    for (uint32_t size = n; size > 1; size -= last_distance(size))
        sizes[depth++] = size;
    /* From the innermost cut-off subtree outwards; it is the last child of the one around it. */
    double time_ns = 0;
    uint32_t inner = 1;
    while (depth-- > 0) {
        const double arrival_ns =
            time_ns + ronde_binomial_send_ns(tree, inner) + ronde_network_alpha_ns(tree->network);
        time_ns = ronde_longer_ns(full_up_ns(tree, last_distance(sizes[depth])), arrival_ns) +
                  ronde_binomial_receive_ns(tree, inner);
        inner = sizes[depth];
    }
    return time_ns;
}

double ronde_binomial_root_ns(const struct ronde_binomial *tree, bool is_upwards, uint32_t n)
{
    double time_ns = 0;
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        const uint32_t size = ronde_binomial_size(n, distance, distance);
        time_ns +=
            is_upwards ? ronde_binomial_receive_ns(tree, size) : ronde_binomial_send_ns(tree, size);
    }
    return time_ns;
}

/* Lanes grow with subtrees: the last child's or the one's before it. */
double ronde_binomial_inner_ns(const struct ronde_binomial *tree, uint32_t n)
{
    const uint32_t size = ronde_binomial_widest(n);
    return ronde_binomial_root_ns(tree, true, size) + ronde_binomial_send_ns(tree, size);
}

/* --- blocks -------------------------------------------------------------------------------- */

/** Rank at a position. */
static uint32_t rank_of(const struct ronde_compile_request *request, uint32_t position)
{
    const uint32_t root = request->order ? request->order[0] : request->root;
    return (uint32_t)(((uint64_t)root + position) % request->ranks);
}

enum ronde_status ronde_binomial_supports(const struct ronde_compile_request *request,
                                          struct ronde_error *why_not)
{
    for (uint32_t q = 0; request->order && q < request->ranks; q++)
        if (request->order[q] != rank_of(request, q))
            return ronde_fail(
                why_not, RONDE_UNSUPPORTED,
                "binomial %s moves blocks of neighbouring ranks together: position %u "
                "of the order is rank %u instead of %u",
                ronde_collective_text(request->collective), q, request->order[q],
                rank_of(request, q));
    return RONDE_OK;
}

enum ronde_status ronde_binomial_supports_bine(const struct ronde_compile_request *request,
                                               struct ronde_error *why_not)
{
    RONDE_TRY(ronde_butterfly_supports_trees(request, why_not));
    return ronde_binomial_supports(request, why_not);
}

struct ronde_operand ronde_binomial_kept(const struct ronde_compile_request *request,
                                         uint32_t first, uint32_t count)
{
    return ronde_chunks(RONDE_SCRATCH, rank_of(request, first), count);
}
