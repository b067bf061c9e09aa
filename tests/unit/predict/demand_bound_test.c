/* Bounds of data with one destination each, by hand: ports, thin cables, rings where data goes far, and who sends to whom. */
#include "support/suite.h"

#include "predict/synthesis/forest.h"
#include "support/buffers.h"

#include <math.h>
#include <string.h>

#define ARCS_MAX 40u
#define RANKS_MAX 8u
#define FREE 100000

/* A graph without a platform, and what is found of it. */
struct drawn {
    struct ronde_graph graph;
    struct ronde_arc arcs[ARCS_MAX];
    struct ronde_store pool;
    struct ronde_graph_cut cut;
    double time;
};

static void begin(struct drawn *drawn, uint32_t ranks, uint32_t places)
{
    memset(drawn, 0, sizeof *drawn);
    drawn->pool.mem = ronde_mem_default();
    drawn->graph = (struct ronde_graph){
        .ranks = ranks, .place_count = places, .arcs = drawn->arcs, .free = FREE, .unit_GBps = 1};
    CU_ASSERT_TRUE_FATAL(ronde_cut_create(&drawn->graph, &drawn->pool, &drawn->cut));
}

static void end(struct drawn *drawn)
{
    ronde_store_clear(&drawn->pool);
}

static void arc(struct drawn *drawn, uint32_t from, uint32_t to, int64_t capacity)
{
    CU_ASSERT_FATAL(drawn->graph.arc_count < ARCS_MAX);
    drawn->arcs[drawn->graph.arc_count++] =
        (struct ronde_arc){.from = from, .to = to, .wire = RONDE_NONE, .capacity = capacity};
}

static void cable(struct drawn *drawn, uint32_t one, uint32_t other, int64_t capacity)
{
    arc(drawn, one, other, capacity);
    arc(drawn, other, one, capacity);
}

/* The bound; where a cut decides it, the cut is as it says. NULL = all_to_all. */
static double bound(struct drawn *drawn, const uint32_t *source_of)
{
    const struct ronde_demand demand = {&drawn->graph, source_of};
    CU_ASSERT_TRUE_FATAL(ronde_demand_bound(&demand, &drawn->pool, &drawn->cut, &drawn->time));
    if (drawn->cut.capacity > 0 && drawn->cut.capacity < FREE) {
        CU_ASSERT_EQUAL(drawn->cut.capacity, ronde_cut_capacity(&drawn->graph, drawn->cut.inside));
        CU_ASSERT_DOUBLE_EQUAL((double)drawn->cut.blocks / (double)drawn->cut.capacity, drawn->time,
                               1e-12);
    }
    return drawn->time;
}

static void star(struct drawn *drawn, uint32_t ranks, int64_t capacity)
{
    begin(drawn, ranks, ranks + 1);
    for (uint32_t r = 0; r < ranks; r++)
        cable(drawn, r, ranks, capacity);
}

/* Every rank sends a block to each other one, through a port of 5. */
static void the_ports_of_a_star_bound_all_to_all(void)
{
    for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks++) {
        struct drawn drawn;
        star(&drawn, ranks, 5);
        CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, NULL), (ranks - 1) / 5.0, 1e-12);
        end(&drawn);
    }
}

/* Two switches of four ranks each: 16 blocks cross a cable of 4 each way. */
static void a_thin_cable_bounds_what_crosses_it(void)
{
    struct drawn drawn;
    begin(&drawn, 8, 10);
    for (uint32_t r = 0; r < 8; r++)
        cable(&drawn, r, 8 + r / 4, 10);
    arc(&drawn, 8, 9, 4);
    arc(&drawn, 9, 8, 2);
    CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, NULL), 16 / 2.0, 1e-12);
    CU_ASSERT_EQUAL(drawn.cut.blocks, 16);
    CU_ASSERT_EQUAL(drawn.cut.capacity, 2);
    CU_ASSERT_TRUE(drawn.cut.inside[4] && !drawn.cut.inside[0]);
    end(&drawn);
}

/* Round a one-way ring blocks go 1 .. n - 1 links: all of them together bound it, which no set of ranks does as well. */
static void in_a_ring_data_goes_far(void)
{
    for (uint32_t ranks = 3; ranks <= RANKS_MAX; ranks++) {
        struct drawn drawn;
        begin(&drawn, ranks, ranks);
        for (uint32_t r = 0; r < ranks; r++)
            arc(&drawn, r, (r + 1) % ranks, 1);
        CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, NULL), ranks * (ranks - 1) / 2.0, 1e-12);
        end(&drawn);
    }
}

/* Neighbours in the ring's direction need one link each, those against it all but one. */
static void who_sends_to_whom_decides(void)
{
    uint32_t source_of[RANKS_MAX];
    struct drawn drawn;
    begin(&drawn, RANKS_MAX, RANKS_MAX);
    for (uint32_t r = 0; r < RANKS_MAX; r++)
        arc(&drawn, r, (r + 1) % RANKS_MAX, 2);
    for (uint32_t distance = 1; distance < RANKS_MAX; distance++) {
        for (uint32_t r = 0; r < RANKS_MAX; r++)
            source_of[r] = (r + RANKS_MAX - distance) % RANKS_MAX;
        CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, source_of), distance / 2.0, 1e-12);
    }
    end(&drawn);
    /* One pair alone has the whole port; all into one rank share that of the rank. */
    star(&drawn, 6, 4);
    for (uint32_t r = 0; r < 6; r++)
        source_of[r] = r == 3 ? 1 : RONDE_NONE;
    CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, source_of), 1 / 4.0, 1e-12);
    for (uint32_t r = 0; r < 6; r++)
        source_of[r] = r == 2 ? RONDE_NONE : 2;
    CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, source_of), 5 / 4.0, 1e-12);
    for (uint32_t r = 0; r < 6; r++)
        source_of[r] = RONDE_NONE;
    CU_ASSERT_EQUAL(bound(&drawn, source_of), 0);
    end(&drawn);
}

static void what_cannot_arrive_takes_for_ever(void)
{
    uint32_t source_of[] = {RONDE_NONE, 0, RONDE_NONE};
    struct drawn drawn;
    begin(&drawn, 3, 3);
    cable(&drawn, 0, 1, 4);
    arc(&drawn, 2, 0, 4);
    CU_ASSERT_TRUE(isinf(bound(&drawn, NULL)));
    CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, source_of), 0.25, 1e-12);
    source_of[2] = 1;
    CU_ASSERT_TRUE(isinf(bound(&drawn, source_of)));
    end(&drawn);
}

/* No single rank takes longer; twice the capacity takes half the time. */
static void random_graphs_are_bounded_by_all_their_ranks(void)
{
    uint64_t random = 6;
    for (uint32_t round = 0; round < 100; round++) {
        const uint32_t ranks = 2 + (uint32_t)(buffers_draw(&random) % (RANKS_MAX - 1));
        struct drawn drawn;
        begin(&drawn, ranks, ranks);
        for (uint32_t r = 0; r < ranks; r++)
            arc(&drawn, r, (r + 1) % ranks, 1 + (int64_t)(buffers_draw(&random) % 9));
        for (uint32_t i = 0; i < 12; i++)
            arc(&drawn, (uint32_t)(buffers_draw(&random) % ranks),
                (uint32_t)(buffers_draw(&random) % ranks), 1 + (int64_t)(buffers_draw(&random) % 9));
        const double time = bound(&drawn, NULL);
        for (uint32_t r = 0; r < ranks; r++) {
            bool inside[RANKS_MAX] = {false};
            inside[r] = true;
            CU_ASSERT(time >= (ranks - 1) / (double)ronde_cut_capacity(&drawn.graph, inside) - 1e-12);
        }
        /* Whatever goes from one to another goes the other way in the graph turned round. */
        ronde_graph_reverse(&drawn.graph);
        CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, NULL), time, 1e-12 * time);
        for (uint32_t a = 0; a < drawn.graph.arc_count; a++)
            drawn.arcs[a].capacity *= 2;
        CU_ASSERT_DOUBLE_EQUAL(bound(&drawn, NULL), time / 2, 1e-12 * time);
        end(&drawn);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_ports_of_a_star_bound_all_to_all", the_ports_of_a_star_bound_all_to_all},
        {"a_thin_cable_bounds_what_crosses_it", a_thin_cable_bounds_what_crosses_it},
        {"in_a_ring_data_goes_far", in_a_ring_data_goes_far},
        {"who_sends_to_whom_decides", who_sends_to_whom_decides},
        {"what_cannot_arrive_takes_for_ever", what_cannot_arrive_takes_for_ever},
        {"random_graphs_are_bounded_by_all_their_ranks",
         random_graphs_are_bounded_by_all_their_ranks},
    };
    return suite_run("demand_bound", cases, sizeof cases / sizeof cases[0]);
}
