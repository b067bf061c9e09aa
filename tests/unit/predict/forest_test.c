/* Trees of the synthesis: what edges load, taken back edge by edge, against counting anew. */
#include "support/suite.h"

#include "predict/synthesis/forest.h"
#include "support/buffers.h"

#include <math.h>
#include <string.h>

#define RANKS 6u
#define WIRES (2 * RANKS)
#define PAIRS (RANKS * RANKS)
#define TREES 5u

/* A star by hand: rank r sends by wire r and receives by wire RANKS + r. */
struct star {
    struct ronde_wiring wiring;
    struct ronde_route_wire wires[WIRES];
    uint32_t first[PAIRS + 1], hops[2 * PAIRS];
    bool may_take[PAIRS];
    struct ronde_store pool;
    struct ronde_ways ways;
};

static void star_begin(struct star *star, bool is_reversed)
{
    uint32_t used = 0;
    memset(star, 0, sizeof *star);
    star->pool.mem = ronde_mem_default();
    for (uint32_t w = 0; w < WIRES; w++)
        star->wires[w] = (struct ronde_route_wire){.link = w, .rate_GBps = 10};
    /* What enters rank 5 is not shared, and rank 4 may not send. */
    star->wires[RANKS + 5].is_free = true;
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        star->may_take[pair] = pair / RANKS != 4;
        star->first[pair] = used;
        if (pair / RANKS == pair % RANKS)
            continue;
        star->hops[used++] = pair / RANKS;
        star->hops[used++] = RANKS + pair % RANKS;
    }
    star->first[PAIRS] = used;
    star->wiring = (struct ronde_wiring){.ranks = RANKS,
                                         .wires = star->wires,
                                         .wire_count = WIRES,
                                         .first = star->first,
                                         .hops = star->hops,
                                         .may_take = star->may_take};
    CU_ASSERT_TRUE_FATAL(ronde_ways_make(&star->wiring, is_reversed, &star->pool, &star->ways));
}

static void star_end(struct star *star)
{
    ronde_store_clear(&star->pool);
}

/* Whether a pair loads a wire. */
static bool loads(const struct ronde_ways *ways, uint32_t pair, uint32_t wire)
{
    bool is_loaded = false;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
        is_loaded |= ways->hops[h] == wire;
    return is_loaded;
}

/* An edge from a to b loads a's sender and b's receiver; reversed, b's sender and a's receiver. */
static void edges_load_the_route_of_their_data(void)
{
    for (uint32_t is_reversed = 0; is_reversed < 2; is_reversed++) {
        struct star star;
        star_begin(&star, is_reversed != 0);
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            const uint32_t from = is_reversed ? pair % RANKS : pair / RANKS;
            const uint32_t to = is_reversed ? pair / RANKS : pair % RANKS;
            for (uint32_t w = 0; w < WIRES; w++)
                CU_ASSERT_EQUAL(loads(&star.ways, pair, w),
                                from != to && (w == from || (w == RANKS + to && to != 5)));
            CU_ASSERT_EQUAL(star.ways.is_open[pair], from != to && from != 4);
        }
        CU_ASSERT_TRUE(isinf(star.ways.rate_GBps[RANKS + 5]));
        CU_ASSERT_EQUAL(star.ways.rate_GBps[0], 10);
        star_end(&star);
    }
}

/* The users of a wire are the pairs that load it, each once, in order. */
static void users_are_the_pairs_that_load_a_wire(void)
{
    struct star star;
    star_begin(&star, false);
    const struct ronde_ways *ways = &star.ways;
    for (uint32_t w = 0; w < WIRES; w++) {
        uint32_t at = ways->first_user[w];
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            if (!loads(ways, pair, w))
                continue;
            CU_ASSERT_FATAL(at < ways->first_user[w + 1]);
            CU_ASSERT_EQUAL(ways->users[at++], pair);
        }
        CU_ASSERT_EQUAL(at, ways->first_user[w + 1]);
    }
    CU_ASSERT_EQUAL(ways->first_user[WIRES], ways->first[PAIRS]);
    star_end(&star);
}

/* After hops were changed users are listed anew. */
static void users_follow_the_hops(void)
{
    struct star star;
    star_begin(&star, false);
    for (uint32_t h = 0; h < star.ways.first[PAIRS]; h++)
        star.ways.hops[h] = star.ways.hops[h] < RANKS ? 0 : 1;
    star.ways.wire_count = 2;
    CU_ASSERT_TRUE_FATAL(ronde_ways_list_users(&star.ways, &star.pool));
    CU_ASSERT_EQUAL(star.ways.first_user[0], 0);
    CU_ASSERT_EQUAL(star.ways.first_user[1], RANKS * (RANKS - 1));
    CU_ASSERT_EQUAL(star.ways.first_user[2], RANKS * (RANKS - 1) + (RANKS - 1) * (RANKS - 1));
    star_end(&star);
}

static void grow(struct ronde_forest *forest, struct star *star)
{
    static const uint32_t roots[TREES] = {0, 1, 2, 3, 0};
    CU_ASSERT_TRUE_FATAL(ronde_forest_create(forest, &star->ways, roots, TREES, &star->pool));
}

/* Loads by counting all edges. */
static void count_loads(const struct ronde_forest *forest, uint32_t load[WIRES])
{
    memset(load, 0, WIRES * sizeof *load);
    for (uint32_t edge = 0; edge < TREES * RANKS; edge++) {
        if (forest->parent[edge] == RONDE_NONE)
            continue;
        const uint32_t pair = forest->parent[edge] * RANKS + edge % RANKS;
        for (uint32_t w = 0; w < WIRES; w++)
            load[w] += loads(forest->ways, pair, w);
    }
}

/* Places where the lists of edges by pair differ from the edges. */
static uint32_t wrong_lists(const struct ronde_forest *forest)
{
    uint32_t wrong = 0, listed = 0, edges = 0;
    for (uint32_t edge = 0; edge < TREES * RANKS; edge++)
        edges += forest->parent[edge] != RONDE_NONE;
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        uint32_t previous = RONDE_NONE;
        for (uint32_t edge = forest->head[pair]; edge != RONDE_NONE && listed <= edges;
             edge = forest->next[edge]) {
            wrong += forest->previous[edge] != previous || edge % RANKS != pair % RANKS ||
                     forest->parent[edge] != pair / RANKS;
            previous = edge;
            listed++;
        }
    }
    return wrong + (listed != edges);
}

static void a_new_forest_is_empty(void)
{
    struct star star;
    struct ronde_forest forest;
    star_begin(&star, false);
    grow(&forest, &star);
    CU_ASSERT_EQUAL(ronde_forest_time(&forest), 0);
    CU_ASSERT_EQUAL(wrong_lists(&forest), 0);
    for (uint32_t t = 0; t < TREES; t++)
        CU_ASSERT_EQUAL(ronde_forest_depth(&forest, t, forest.root[t]), 0);
    star_end(&star);
}

/* A chain 0-1-2-3 and a star below 4's: depths, and the time of the busiest wire, by hand. */
static void depths_and_times_by_hand(void)
{
    struct star star;
    struct ronde_forest forest;
    star_begin(&star, false);
    grow(&forest, &star);
    for (uint32_t r = 1; r < 4; r++)
        ronde_forest_link(&forest, 0, r - 1, r);
    for (uint32_t r = 0; r < 4; r++)
        CU_ASSERT_EQUAL(ronde_forest_depth(&forest, 0, r), r);
    CU_ASSERT_DOUBLE_EQUAL(ronde_forest_time(&forest), 1 / 10.0, 1e-15);
    for (uint32_t r = 1; r < RANKS; r++)
        ronde_forest_link(&forest, 4, 0, r);
    for (uint32_t r = 1; r < RANKS; r++)
        CU_ASSERT_EQUAL(ronde_forest_depth(&forest, 4, r), 1);
    /* Rank 0 sends one in the chain and five in the star. */
    CU_ASSERT_EQUAL(forest.load[0], 6);
    CU_ASSERT_DOUBLE_EQUAL(ronde_forest_time(&forest), 6 / 10.0, 1e-15);
    /* What enters rank 5 has no limit and no load. */
    CU_ASSERT_EQUAL(forest.load[RANKS + 5], 0);
    CU_ASSERT_EQUAL(wrong_lists(&forest), 0);
    ronde_forest_unlink(&forest, 4, 3);
    CU_ASSERT_EQUAL(forest.load[0], 5);
    CU_ASSERT_EQUAL(forest.parent[4 * RANKS + 3], RONDE_NONE);
    star_end(&star);
}

/* An edge over a wire that carries nothing takes for ever. */
static void a_wire_that_is_down_takes_for_ever(void)
{
    struct star star;
    struct ronde_forest forest;
    star_begin(&star, false);
    star.ways.rate_GBps[4] = 0;
    grow(&forest, &star);
    ronde_forest_link(&forest, 0, 0, 4);
    CU_ASSERT_DOUBLE_EQUAL(ronde_forest_time(&forest), 0.1, 1e-15);
    ronde_forest_link(&forest, 0, 4, 1);
    CU_ASSERT_TRUE(isinf(ronde_forest_time(&forest)));
    ronde_forest_unlink(&forest, 0, 1);
    CU_ASSERT_DOUBLE_EQUAL(ronde_forest_time(&forest), 0.1, 1e-15);
    star_end(&star);
}

/* Two thousand edges come and go; several of one pair are taken from the front, the middle and the end of their list. */
static void edges_come_and_go(void)
{
    struct star star;
    struct ronde_forest forest;
    uint64_t random = 77;
    uint32_t wrong = 0;
    star_begin(&star, false);
    grow(&forest, &star);
    for (uint32_t step = 0; step < 2000; step++) {
        const uint32_t tree = (uint32_t)(buffers_draw(&random) % TREES);
        const uint32_t child = (uint32_t)(buffers_draw(&random) % RANKS);
        const uint32_t parent = (uint32_t)(buffers_draw(&random) % 2);
        uint32_t load[WIRES];
        if (child < 2)
            continue;
        if (forest.parent[tree * RANKS + child] == RONDE_NONE)
            ronde_forest_link(&forest, tree, parent, child);
        else
            ronde_forest_unlink(&forest, tree, child);
        count_loads(&forest, load);
        wrong += memcmp(load, forest.load, sizeof load) != 0;
        wrong += wrong_lists(&forest);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (uint32_t edge = 0; edge < TREES * RANKS; edge++)
        if (forest.parent[edge] != RONDE_NONE)
            ronde_forest_unlink(&forest, edge / RANKS, edge % RANKS);
    CU_ASSERT_EQUAL(ronde_forest_time(&forest), 0);
    CU_ASSERT_EQUAL(wrong_lists(&forest), 0);
    star_end(&star);
}

/* Makes a tree lower in which rank 2 hangs below 1 and has one other way, from the root, which is on wire 0 twice. */
static uint32_t parent_where_wire_0_carries(uint32_t limit)
{
    struct star star;
    struct ronde_forest forest;
    uint32_t limits[WIRES], root = 0;
    star_begin(&star, false);
    for (uint32_t r = 3; r < RANKS; r++)
        star.ways.is_open[r] = false;
    star.ways.hops[star.ways.first[2] + 1] = star.ways.hops[star.ways.first[2]];
    CU_ASSERT_TRUE_FATAL(ronde_forest_create(&forest, &star.ways, &root, 1, &star.pool));
    for (uint32_t r = 1; r < RANKS; r++)
        ronde_forest_link(&forest, 0, r > 1, r);
    for (uint32_t w = 0; w < WIRES; w++)
        limits[w] = w == 0 ? limit : RANKS;
    CU_ASSERT_TRUE_FATAL(ronde_flatten(&forest, limits, false, NULL, &star.pool));
    CU_ASSERT(forest.load[0] <= limit);
    const uint32_t parent = forest.parent[2];
    star_end(&star);
    return parent;
}

/* Makes a tree quicker in which rank 2 hangs below 1, by a way of so many ns, and might as well hang below 3, by one of 20. */
static uint32_t parent_by_a_way_of(uint32_t delay_ns)
{
    struct star star;
    struct ronde_forest forest;
    uint32_t limits[WIRES], root = 0;
    star_begin(&star, false);
    star.ways.is_open[2] = false;
    for (uint32_t pair = 0; pair < PAIRS; pair++)
        star.ways.delay_ns[pair] = pair == RANKS + 2 ? delay_ns : 20;
    CU_ASSERT_TRUE_FATAL(ronde_forest_create(&forest, &star.ways, &root, 1, &star.pool));
    for (uint32_t r = 1; r < RANKS; r++)
        ronde_forest_link(&forest, 0, r == 2, r);
    for (uint32_t w = 0; w < WIRES; w++)
        limits[w] = RANKS;
    CU_ASSERT_TRUE_FATAL(ronde_flatten(&forest, limits, false, NULL, &star.pool));
    const uint32_t parent = forest.parent[2];
    star_end(&star);
    return parent;
}

static void trees_take_the_quicker_of_two_ways(void)
{
    CU_ASSERT_EQUAL(parent_by_a_way_of(19), 1);
    CU_ASSERT_EQUAL(parent_by_a_way_of(20), 1);
    CU_ASSERT_EQUAL(parent_by_a_way_of(21), 3);
}

static void lower_trees_keep_to_limits(void)
{
    CU_ASSERT_EQUAL(parent_where_wire_0_carries(1), 1);
    CU_ASSERT_EQUAL(parent_where_wire_0_carries(2), 1);
    CU_ASSERT_EQUAL(parent_where_wire_0_carries(3), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"edges_load_the_route_of_their_data", edges_load_the_route_of_their_data},
        {"users_are_the_pairs_that_load_a_wire", users_are_the_pairs_that_load_a_wire},
        {"users_follow_the_hops", users_follow_the_hops},
        {"a_new_forest_is_empty", a_new_forest_is_empty},
        {"depths_and_times_by_hand", depths_and_times_by_hand},
        {"a_wire_that_is_down_takes_for_ever", a_wire_that_is_down_takes_for_ever},
        {"edges_come_and_go", edges_come_and_go},
        {"trees_take_the_quicker_of_two_ways", trees_take_the_quicker_of_two_ways},
        {"lower_trees_keep_to_limits", lower_trees_keep_to_limits},
    };
    return suite_run("forest", cases, sizeof cases / sizeof cases[0]);
}
