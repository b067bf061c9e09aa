/* All requests of the conformance suite. See walk.h. */
#include "conformance/walk.h"

const uint32_t walk_ranks[WALK_RANKS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, WALK_RANKS_MAX};

/* An order far from the identity: ranks by threes, then the rest. Rooted collectives keep their root's place. */
static void fill_order(uint32_t ranks, uint32_t *order)
{
    uint32_t filled = 0;
    for (uint32_t start = 0; start < 3; start++)
        for (uint32_t rank = (start + 1) % 3; rank < ranks; rank += 3)
            order[filled++] = rank;
}

/* Channels 1 and 2, and 2 again in another order where no root asks for a place of its own. */
static void visit_root(const struct ronde_algorithm *algorithm, uint32_t ranks, uint32_t root,
                       const struct walk *walk)
{
    uint32_t order[WALK_RANKS_MAX];
    struct ronde_compile_request request = {.collective = algorithm->collective,
                                            .algorithm = algorithm->name,
                                            .ranks = ranks,
                                            .root = root};
    for (request.channels = 1; request.channels <= 2; request.channels++)
        walk->visit(walk, algorithm, &request);
    if (ronde_collective_traits(algorithm->collective)->has_root)
        return;
    fill_order(ranks, order);
    request.order = order;
    request.channels = 2;
    walk->visit(walk, algorithm, &request);
}

/* All ranks and roots of an algorithm. */
static void visit_algorithm(const struct ronde_algorithm *algorithm, const struct walk *walk)
{
    const bool has_root = ronde_collective_traits(algorithm->collective)->has_root;
    for (size_t r = 0; r < WALK_RANKS; r++) {
        const uint32_t ranks = walk_ranks[r];
        if (walk->ranks > 0 && walk->ranks != ranks)
            continue;
        const uint32_t roots[3] = {0, ranks / 2, ranks - 1};
        for (uint32_t k = 0; k < (has_root ? 3u : 1u); k++)
            if (k == 0 || roots[k] != roots[k - 1])
                visit_root(algorithm, ranks, roots[k], walk);
    }
}

void walk_requests(const struct walk *walk)
{
    uint32_t count;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        visit_algorithm(algorithms[a], walk);
}
