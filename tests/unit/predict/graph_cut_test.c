/*
 * The cuts that bound a collective, on graphs made of places and arcs alone: by hand, and random ones against every set
 * of places. tests/synthesis holds the bounds to random platforms; here arcs have no limit, are closed or stand alone.
 */
#include "support/suite.h"

#include "predict/synthesis/forest.h"
#include "predict/synthesis/machine_graph.h"
#include "support/buffers.h"

#include <math.h>
#include <string.h>

#define PLACES_MAX 9u
#define ARCS_MAX 40u
/* More than all arcs of a test together. */
#define FREE 100000

/* A graph without a platform. */
struct drawing {
    struct ronde_graph graph;
    struct ronde_arc arcs[ARCS_MAX];
    struct ronde_store pool;
    struct ronde_graph_cut cut;
};

static void begin(struct drawing *drawing, uint32_t ranks, uint32_t places)
{
    memset(drawing, 0, sizeof *drawing);
    drawing->pool.mem = ronde_mem_default();
    drawing->graph = (struct ronde_graph){
        .ranks = ranks, .place_count = places, .arcs = drawing->arcs, .free = FREE, .unit_GBps = 1};
    CU_ASSERT_TRUE_FATAL(ronde_cut_create(&drawing->graph, &drawing->pool, &drawing->cut));
}

static void end(struct drawing *drawing)
{
    ronde_store_clear(&drawing->pool);
}

static void arc(struct drawing *drawing, uint32_t from, uint32_t to, int64_t capacity)
{
    CU_ASSERT_FATAL(drawing->graph.arc_count < ARCS_MAX);
    drawing->arcs[drawing->graph.arc_count++] =
        (struct ronde_arc){.from = from, .to = to, .wire = RONDE_NONE, .capacity = capacity};
}

/* Both directions. */
static void cable(struct drawing *drawing, uint32_t one, uint32_t other, int64_t capacity)
{
    arc(drawing, one, other, capacity);
    arc(drawing, other, one, capacity);
}

static bool has(uint32_t set, uint32_t place)
{
    return (set >> place & 1) != 0;
}

/* Capacity that leaves a set, at most that without a limit. */
static int64_t leaving(const struct ronde_graph *graph, uint32_t set)
{
    int64_t sum = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        if (has(set, graph->arcs[a].from) && !has(set, graph->arcs[a].to))
            sum += graph->arcs[a].capacity;
    return sum < graph->free ? sum : graph->free;
}

static uint32_t ranks_of(const struct ronde_graph *graph, uint32_t set)
{
    return (uint32_t)__builtin_popcount(set & ((1u << graph->ranks) - 1));
}

/* What must leave a set: blocks of a kind of collective; 0 = nothing. */
static int64_t blocks_of(const struct ronde_graph *graph, enum ronde_collective kind, uint32_t root,
                         uint32_t set)
{
    const uint32_t inside = ranks_of(graph, set);
    if (inside == graph->ranks || (kind != RONDE_ALL_GATHER && !has(set, root)))
        return 0;
    if (kind == RONDE_BROADCAST)
        return 1;
    return kind == RONDE_SCATTER ? graph->ranks - inside : inside;
}

/* The least capacity for a block of all sets. */
static double worst(const struct ronde_graph *graph, enum ronde_collective kind, uint32_t root)
{
    double least = INFINITY;
    for (uint32_t set = 1; set < 1u << graph->place_count; set++) {
        const int64_t blocks = blocks_of(graph, kind, root, set);
        if (blocks > 0)
            least = fmin(least, (double)leaving(graph, set) / (double)blocks);
    }
    return least;
}

static bool find(struct drawing *drawing, enum ronde_collective kind, uint32_t root)
{
    if (kind == RONDE_ALL_GATHER)
        return ronde_cut_all_gather(&drawing->graph, &drawing->pool, &drawing->cut);
    if (kind == RONDE_SCATTER)
        return ronde_cut_scatter(&drawing->graph, root, &drawing->pool, &drawing->cut);
    return ronde_cut_broadcast(&drawing->graph, root, &drawing->pool, &drawing->cut);
}

/* The cut that is found is a set as it says, and none is worse. */
static void expect_worst(struct drawing *drawing, enum ronde_collective kind, uint32_t root)
{
    const struct ronde_graph *graph = &drawing->graph;
    uint32_t set = 0;
    CU_ASSERT_TRUE_FATAL(find(drawing, kind, root));
    for (uint32_t p = 0; p < graph->place_count; p++)
        set |= (drawing->cut.inside[p] ? 1u : 0u) << p;
    CU_ASSERT_EQUAL(drawing->cut.capacity, leaving(graph, set));
    CU_ASSERT_EQUAL(drawing->cut.capacity, ronde_cut_capacity(graph, drawing->cut.inside));
    CU_ASSERT_EQUAL(drawing->cut.blocks, blocks_of(graph, kind, root, set));
    CU_ASSERT_EQUAL(ronde_cut_ranks(graph, drawing->cut.inside), ranks_of(graph, set));
    const double found = (double)drawing->cut.capacity / (double)drawing->cut.blocks;
    CU_ASSERT_DOUBLE_EQUAL(found, worst(graph, kind, root), 1e-12 * (1 + found));
}

/* Two pairs of ranks behind switches 4 and 5, and a cable between them that is thin one way. */
static void the_thin_direction_of_a_cable_is_the_cut(void)
{
    struct drawing drawing;
    begin(&drawing, 4, 6);
    for (uint32_t r = 0; r < 4; r++)
        cable(&drawing, r, 4 + r / 2, 10);
    arc(&drawing, 4, 5, 3);
    arc(&drawing, 5, 4, 8);
    expect_worst(&drawing, RONDE_ALL_GATHER, 0);
    CU_ASSERT_EQUAL(drawing.cut.capacity, 3);
    CU_ASSERT_EQUAL(drawing.cut.blocks, 2);
    CU_ASSERT_TRUE(drawing.cut.inside[0] && drawing.cut.inside[1] && !drawing.cut.inside[2]);
    expect_worst(&drawing, RONDE_SCATTER, 3);
    CU_ASSERT_EQUAL(drawing.cut.capacity, 10);
    CU_ASSERT_EQUAL(drawing.cut.blocks, 3);
    expect_worst(&drawing, RONDE_BROADCAST, 2);
    CU_ASSERT_EQUAL(drawing.cut.capacity, 8);
    ronde_graph_reverse(&drawing.graph);
    expect_worst(&drawing, RONDE_BROADCAST, 2);
    CU_ASSERT_EQUAL(drawing.cut.capacity, 3);
    ronde_graph_reverse(&drawing.graph);
    expect_worst(&drawing, RONDE_BROADCAST, 2);
    CU_ASSERT_EQUAL(drawing.cut.capacity, 8);
    end(&drawing);
}

/* A star: what enters a rank is the cut of all_gather, what leaves the root that of scatter. */
static void the_ports_of_a_star_are_its_cuts(void)
{
    for (uint32_t ranks = 2; ranks <= 8; ranks++) {
        struct drawing drawing;
        begin(&drawing, ranks, ranks + 1);
        for (uint32_t r = 0; r < ranks; r++)
            cable(&drawing, r, ranks, 5);
        expect_worst(&drawing, RONDE_ALL_GATHER, 0);
        CU_ASSERT_EQUAL(drawing.cut.capacity * (ranks - 1), 5 * drawing.cut.blocks);
        expect_worst(&drawing, RONDE_SCATTER, ranks - 1);
        CU_ASSERT_EQUAL(drawing.cut.capacity * (ranks - 1), 5 * drawing.cut.blocks);
        expect_worst(&drawing, RONDE_BROADCAST, 1);
        CU_ASSERT_EQUAL(drawing.cut.capacity, 5);
        end(&drawing);
    }
}

/* A rank that nothing enters, and one that nothing leaves. */
static void a_rank_that_is_cut_off_has_a_cut_of_nothing(void)
{
    struct drawing drawing;
    begin(&drawing, 3, 3);
    cable(&drawing, 0, 1, 4);
    arc(&drawing, 2, 0, 4);
    arc(&drawing, 1, 2, 0);
    for (uint32_t root = 0; root < 3; root++) {
        expect_worst(&drawing, RONDE_SCATTER, root);
        CU_ASSERT_EQUAL(drawing.cut.capacity, root == 2 ? 4 : 0);
        expect_worst(&drawing, RONDE_BROADCAST, root);
        CU_ASSERT_EQUAL(drawing.cut.capacity, root == 2 ? 4 : 0);
    }
    expect_worst(&drawing, RONDE_ALL_GATHER, 0);
    CU_ASSERT_EQUAL(drawing.cut.capacity, 0);
    end(&drawing);
}

/* Where no arc has a limit no cut has: its capacity is what the graph calls free. */
static void arcs_without_a_limit_are_no_cut(void)
{
    struct drawing drawing;
    begin(&drawing, 3, 4);
    for (uint32_t r = 0; r < 3; r++)
        cable(&drawing, r, 3, FREE);
    expect_worst(&drawing, RONDE_BROADCAST, 0);
    CU_ASSERT_EQUAL(drawing.cut.capacity, FREE);
    const bool all[] = {true, true, false, true};
    const bool none[] = {false, false, false, false};
    CU_ASSERT_EQUAL(ronde_cut_capacity(&drawing.graph, all), FREE);
    CU_ASSERT_EQUAL(ronde_cut_capacity(&drawing.graph, none), 0);
    end(&drawing);
}

/* A random graph: half of the arcs come in pairs, some are closed, some have no limit. */
static void draw(struct drawing *drawing, uint64_t *random)
{
    const uint32_t ranks = 2 + (uint32_t)(buffers_draw(random) % 5);
    const uint32_t places = ranks + (uint32_t)(buffers_draw(random) % 3);
    begin(drawing, ranks, places);
    for (uint32_t i = 0; i + 1 < places; i++)
        cable(drawing, i, i + 1, 1 + (int64_t)(buffers_draw(random) % 12));
    const uint32_t more = (uint32_t)(buffers_draw(random) % 12);
    for (uint32_t i = 0; i < more; i++) {
        const uint32_t from = (uint32_t)(buffers_draw(random) % places);
        const uint32_t to = (uint32_t)(buffers_draw(random) % places);
        const uint64_t kind = buffers_draw(random) % 8;
        arc(drawing, from, to, kind == 0 ? 0 : kind == 1 ? FREE : (int64_t)kind);
    }
}

static void random_graphs_have_no_worse_cut(void)
{
    uint64_t random = 8;
    for (uint32_t round = 0; round < 150; round++) {
        struct drawing drawing;
        draw(&drawing, &random);
        for (uint32_t turned = 0; turned < 2; turned++) {
            expect_worst(&drawing, RONDE_ALL_GATHER, 0);
            for (uint32_t root = 0; root < drawing.graph.ranks; root++) {
                expect_worst(&drawing, RONDE_SCATTER, root);
                expect_worst(&drawing, RONDE_BROADCAST, root);
            }
            ronde_graph_reverse(&drawing.graph);
        }
        end(&drawing);
    }
}

/* All shortest ways by Floyd and Warshall. */
static void floyd(const struct ronde_distances *distances, double to[PLACES_MAX][PLACES_MAX])
{
    const struct ronde_graph *graph = distances->graph;
    for (uint32_t i = 0; i < graph->place_count; i++)
        for (uint32_t j = 0; j < graph->place_count; j++)
            to[i][j] = i == j ? 0 : INFINITY;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        double *entry = &to[graph->arcs[a].from][graph->arcs[a].to];
        *entry = fmin(*entry, distances->length[a]);
    }
    for (uint32_t k = 0; k < graph->place_count; k++)
        for (uint32_t i = 0; i < graph->place_count; i++)
            for (uint32_t j = 0; j < graph->place_count; j++)
                to[i][j] = fmin(to[i][j], to[i][k] + to[k][j]);
}

/* Lengths of 0, closed arcs, arcs back to where they begin; each search starts anew. */
static void ways_are_the_shortest(void)
{
    uint64_t random = 5;
    uint32_t closed = 0;
    for (uint32_t round = 0; round < 150; round++) {
        struct drawing drawing;
        struct ronde_distances distances;
        double expected[PLACES_MAX][PLACES_MAX];
        draw(&drawing, &random);
        CU_ASSERT_TRUE_FATAL(ronde_distances_create(&distances, &drawing.graph, &drawing.pool));
        for (uint32_t a = 0; a < drawing.graph.arc_count; a++) {
            CU_ASSERT_EQUAL(distances.length[a], 0);
            const uint64_t drawn = buffers_draw(&random) % 20;
            distances.length[a] = drawn > 15 ? INFINITY : (double)drawn;
        }
        floyd(&distances, expected);
        for (uint32_t source = 0; source < drawing.graph.place_count; source++) {
            ronde_distances_from(&distances, source);
            for (uint32_t p = 0; p < drawing.graph.place_count; p++) {
                CU_ASSERT(distances.to[p] == expected[source][p]);
                closed += isinf(distances.to[p]) ? 1 : 0;
            }
        }
        end(&drawing);
    }
    CU_ASSERT(closed > 50);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_thin_direction_of_a_cable_is_the_cut", the_thin_direction_of_a_cable_is_the_cut},
        {"the_ports_of_a_star_are_its_cuts", the_ports_of_a_star_are_its_cuts},
        {"a_rank_that_is_cut_off_has_a_cut_of_nothing", a_rank_that_is_cut_off_has_a_cut_of_nothing},
        {"arcs_without_a_limit_are_no_cut", arcs_without_a_limit_are_no_cut},
        {"random_graphs_have_no_worse_cut", random_graphs_have_no_worse_cut},
        {"ways_are_the_shortest", ways_are_the_shortest},
    };
    return suite_run("graph_cut", cases, sizeof cases / sizeof cases[0]);
}
