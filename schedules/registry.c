/** The table of algorithms, and compile: from a request to a proved schedule. */
#include "axes.h"
#include "binomial.h"
#include "catalogue.h"
#include "closed_form.h"

#include <stdio.h>
#include <string.h>

/** Channels a request may ask for; beyond this every block is crumbs. */
#define MAX_CHANNELS 1024u

/** Letters of a name that count when a similar one is looked for. */
#define MAX_LETTERS 31u

/** One row per algorithm. */
static const struct ronde_algorithm table[] = {
    {RONDE_ALL_REDUCE, "ring", "every chunk travels twice round the ring; best for large blocks",
     ronde_supports_any, ronde_all_reduce_ring_build, ronde_all_reduce_ring_price},
    {RONDE_ALL_REDUCE, "tree", "up and down a pipelined binary tree; best for small blocks",
     ronde_supports_any, ronde_all_reduce_tree_build, ronde_all_reduce_tree_price},
    {RONDE_ALL_REDUCE, "double_tree",
     "two binary trees with disjoint inner ranks, half of the block each", ronde_supports_any,
     ronde_all_reduce_double_tree_build, ronde_all_reduce_double_tree_price},
    {RONDE_ALL_REDUCE, "recursive_doubling",
     "pairs swap whole sums in log2 N rounds; best for the smallest blocks", ronde_supports_any,
     ronde_all_reduce_recursive_doubling_build, ronde_all_reduce_recursive_doubling_price},
    {RONDE_ALL_REDUCE, "rabenseifner",
     "halves the block to one chunk each, doubles it back; least data in 2 log2 N messages",
     ronde_supports_any, ronde_all_reduce_rabenseifner_build, ronde_all_reduce_rabenseifner_price},
    {RONDE_ALL_REDUCE, "hierarchical",
     "rings inside nodes and between them, one after another, piece by piece",
     ronde_axes_supports_nodes, ronde_all_reduce_hierarchical_build,
     ronde_all_reduce_hierarchical_price},
    {RONDE_ALL_REDUCE, "hierarchical_direct",
     "all pairs inside nodes, rings between them; best where a node has a switch",
     ronde_axes_supports_nodes, ronde_all_reduce_hierarchical_direct_build,
     ronde_all_reduce_hierarchical_direct_price},
    {RONDE_ALL_REDUCE, "hierarchical_tree",
     "rings inside nodes, double binary trees between them; best for many nodes",
     ronde_axes_supports_nodes, ronde_all_reduce_hierarchical_tree_build,
     ronde_all_reduce_hierarchical_tree_price},
    {RONDE_ALL_REDUCE, "hierarchical_direct_tree",
     "all pairs inside nodes, double binary trees between them; fewest latencies",
     ronde_axes_supports_nodes, ronde_all_reduce_hierarchical_direct_tree_build,
     ronde_all_reduce_hierarchical_direct_tree_price},
    {RONDE_ALL_REDUCE, "torus", "rings along the axes of a grid", ronde_supports_any,
     ronde_all_reduce_torus_build, ronde_all_reduce_torus_price},
    {RONDE_ALL_REDUCE, "direct",
     "chunks straight to their owners, sums straight to all; two latencies", ronde_supports_any,
     ronde_all_reduce_direct_build, ronde_all_reduce_direct_price},
    {RONDE_ALL_REDUCE, "direct_one_step",
     "all blocks straight to all ranks; one latency, N-1 times the data",
     ronde_all_reduce_direct_one_step_supports, ronde_all_reduce_direct_one_step_build,
     ronde_all_reduce_direct_one_step_price},
    {RONDE_REDUCE_SCATTER, "ring", "every block travels round the ring to its owner",
     ronde_supports_any, ronde_reduce_scatter_ring_build, ronde_reduce_scatter_ring_price},
    {RONDE_REDUCE_SCATTER, "recursive_halving",
     "halves the blocks to one's own; least data in log2 N messages",
     ronde_reduce_scatter_recursive_halving_supports, ronde_reduce_scatter_recursive_halving_build,
     ronde_reduce_scatter_recursive_halving_price},
    {RONDE_REDUCE_SCATTER, "direct", "every block straight to its owner; one latency",
     ronde_supports_any, ronde_reduce_scatter_direct_build, ronde_reduce_scatter_direct_price},
    {RONDE_ALL_GATHER, "ring", "every block travels once round the ring", ronde_supports_any,
     ronde_all_gather_ring_build, ronde_all_gather_ring_price},
    {RONDE_ALL_GATHER, "recursive_doubling",
     "pairs swap all they have in log2 N rounds; best for powers of two", ronde_supports_any,
     ronde_all_gather_recursive_doubling_build, ronde_all_gather_recursive_doubling_price},
    {RONDE_ALL_GATHER, "bruck", "blocks double every round, for any number of ranks",
     ronde_supports_any, ronde_all_gather_bruck_build, ronde_all_gather_bruck_price},
    {RONDE_ALL_GATHER, "direct", "every block straight to all ranks; one latency",
     ronde_supports_any, ronde_all_gather_direct_build, ronde_all_gather_direct_price},
    {RONDE_ALL_GATHER, "hierarchical", "rings between nodes, then inside them, piece by piece",
     ronde_axes_supports_nodes, ronde_all_gather_hierarchical_build,
     ronde_all_gather_hierarchical_price},
    {RONDE_BROADCAST, "binomial",
     "the ranks that have the data double every round; best for small blocks", ronde_supports_any,
     ronde_broadcast_binomial_build, ronde_broadcast_binomial_price},
    {RONDE_BROADCAST, "chain",
     "each passes on to the next, piece by piece; best for the largest blocks", ronde_supports_any,
     ronde_broadcast_chain_build, ronde_broadcast_chain_price},
    {RONDE_BROADCAST, "double_tree",
     "two binary trees with disjoint inner ranks, half of the block each", ronde_supports_any,
     ronde_broadcast_double_tree_build, ronde_broadcast_double_tree_price},
    {RONDE_BROADCAST, "scatter_allgather",
     "a chunk to every rank, then all chunks to all; 2 log2 N messages", ronde_supports_any,
     ronde_broadcast_scatter_allgather_build, ronde_broadcast_scatter_allgather_price},
    {RONDE_BROADCAST, "direct", "the root sends the whole block to everyone; one latency",
     ronde_supports_any, ronde_broadcast_direct_build, ronde_broadcast_direct_price},
    {RONDE_REDUCE, "binomial",
     "the ranks with something to hand in halve every round; best for small blocks",
     ronde_supports_any, ronde_reduce_binomial_build, ronde_reduce_binomial_price},
    {RONDE_REDUCE, "chain", "each adds and passes on, piece by piece; best for the largest blocks",
     ronde_supports_any, ronde_reduce_chain_build, ronde_reduce_chain_price},
    {RONDE_REDUCE, "double_tree",
     "two binary trees with disjoint inner ranks, half of the block each", ronde_supports_any,
     ronde_reduce_double_tree_build, ronde_reduce_double_tree_price},
    {RONDE_REDUCE, "rabenseifner",
     "halves the block to one chunk each and gathers them; for large blocks", ronde_supports_any,
     ronde_reduce_rabenseifner_build, ronde_reduce_rabenseifner_price},
    {RONDE_SCATTER, "binomial", "halves of the blocks go down a tree; best for small blocks",
     ronde_binomial_supports, ronde_scatter_binomial_build, ronde_scatter_binomial_price},
    {RONDE_SCATTER, "direct", "the root sends everyone their block; best for large blocks",
     ronde_supports_any, ronde_scatter_direct_build, ronde_scatter_direct_price},
    {RONDE_GATHER, "binomial", "blocks come together up a tree; best for small blocks",
     ronde_binomial_supports, ronde_gather_binomial_build, ronde_gather_binomial_price},
    {RONDE_GATHER, "direct", "everyone sends the root their block; best for large blocks",
     ronde_supports_any, ronde_gather_direct_build, ronde_gather_direct_price},
    {RONDE_ALL_TO_ALL, "pairwise", "N-1 shifts, one partner at a time; best for large blocks",
     ronde_supports_any, ronde_all_to_all_pairwise_build, ronde_all_to_all_pairwise_price},
    {RONDE_ALL_TO_ALL, "direct", "all blocks at once, sends and receives apart; one latency",
     ronde_supports_any, ronde_all_to_all_direct_build, ronde_all_to_all_direct_price},
    {RONDE_ALL_TO_ALL, "bruck", "blocks travel in log2 N messages; best for small blocks",
     ronde_supports_any, ronde_all_to_all_bruck_build, ronde_all_to_all_bruck_price},
    {RONDE_ALL_TO_ALL, "hierarchical",
     "inside nodes first, then one message per pair of nodes and local rank",
     ronde_all_to_all_hierarchical_supports, ronde_all_to_all_hierarchical_build,
     ronde_all_to_all_hierarchical_price},
    {RONDE_BARRIER, "dissemination",
     "everyone signals ahead in log2 N rounds; the fewest there can be", ronde_supports_any,
     ronde_barrier_dissemination_build, ronde_barrier_dissemination_price},
    {RONDE_BARRIER, "tree", "signals up and down a binary tree; the fewest messages",
     ronde_supports_any, ronde_barrier_tree_build, ronde_barrier_tree_price},
    {RONDE_SEND_RECV, "direct", "everyone to the next rank, or listed pairs",
     ronde_send_recv_direct_supports, ronde_send_recv_direct_build, ronde_send_recv_direct_price},
};

const struct ronde_algorithm *ronde_algorithms(uint32_t *out_count)
{
    *out_count = (uint32_t)(sizeof table / sizeof table[0]);
    return table;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/**
 * Letters to insert, delete or replace to get from one name to the other (Levenshtein, one row).
 */
static uint32_t name_distance(const char *left, const char *right)
{
    uint32_t row[MAX_LETTERS + 1];
    const uint32_t columns = least((uint32_t)strlen(right), MAX_LETTERS);
    for (uint32_t j = 0; j <= columns; j++)
        row[j] = j;
    for (uint32_t i = 0; i < MAX_LETTERS && left[i] != '\0'; i++) {
        uint32_t diagonal = row[0];
        row[0] = i + 1;
        for (uint32_t j = 0; j < columns; j++) {
            const uint32_t replaced = diagonal + (left[i] != right[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[columns];
}

/** Appends to a text that is cut off when it is full. */
static void append(char *text, size_t bytes, const char *before, const char *word)
{
    const size_t length = strlen(text);
    snprintf(text + length, bytes - length, "%s%s", before, word);
}

/** Says which names there are, and which of them looks like the one that was asked for. */
static void refuse_name(enum ronde_collective collective, const char *name,
                        struct ronde_error *error)
{
    char names[256] = "";
    const char *nearest = NULL;
    uint32_t nearest_distance = UINT32_MAX;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].collective != collective)
            continue;
        append(names, sizeof names, names[0] ? ", " : "", table[i].name);
        const uint32_t distance = name_distance(name, table[i].name);
        if (distance < nearest_distance && distance * 2 <= strlen(table[i].name)) {
            nearest = table[i].name;
            nearest_distance = distance;
        }
    }
    ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has no algorithm '%.*s'; it has: %s%s%s%s",
               ronde_collective_text(collective), (int)MAX_LETTERS, name,
               names[0] ? names : "none yet", nearest ? " (did you mean " : "",
               nearest ? nearest : "", nearest ? "?)" : "");
}

const struct ronde_algorithm *ronde_algorithm_find(enum ronde_collective collective,
                                                   const char *name, struct ronde_error *error)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (name && table[i].collective == collective && strcmp(table[i].name, name) == 0)
            return &table[i];
    refuse_name(collective, name ? name : "", error);
    return NULL;
}

/* Before an algorithm sees a request, so that none of them has to look. */
static enum ronde_status check_request(const struct ronde_request *request,
                                       struct ronde_error *error)
{
    if (request->ranks == 0 || request->ranks > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "ranks %u is outside 1 .. %u", request->ranks,
                          RONDE_MAX_RANKS);
    if (request->root >= request->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "root %u is not below ranks %u", request->root,
                          request->ranks);
    if (request->channels > MAX_CHANNELS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "channels %u is above %u", request->channels,
                          MAX_CHANNELS);
    return RONDE_OK;
}

/* An algorithm judges one order at a time, whichever channel has it. */
static enum ronde_status supports_orders(const struct ronde_algorithm *algorithm,
                                         const struct ronde_request *request,
                                         struct ronde_error *error)
{
    struct ronde_request one = *request;
    enum ronde_status status = RONDE_OK;
    if (!request->channel_orders)
        return algorithm->supports(request, error);
    one.channel_orders = NULL;
    for (uint32_t k = 0; k < request->channels && status == RONDE_OK; k++) {
        one.order = request->channel_orders + (size_t)k * request->ranks;
        status = algorithm->supports(&one, error);
    }
    return status;
}

enum ronde_status ronde_compile(const struct ronde_request *request, const struct ronde_mem *mem,
                                struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                                struct ronde_error *error)
{
    struct ronde_builder *builder = NULL;
    *out_schedule = NULL;
    if (out_proof)
        memset(out_proof, 0, sizeof *out_proof);
    enum ronde_status status = check_request(request, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_algorithm *algorithm =
        ronde_algorithm_find(request->collective, request->algorithm, error);
    if (!algorithm)
        return RONDE_BAD_ARGUMENT;
    status = supports_orders(algorithm, request, error);
    if (status == RONDE_OK)
        status = ronde_builder_create(request, mem, &builder, error);
    if (status != RONDE_OK)
        return status;
    algorithm->build(request, builder);
    return ronde_schedule_finish(builder, out_proof, out_schedule, error);
}
