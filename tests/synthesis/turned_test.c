/**
 * Shorter ways to the same bounds: a flow that grows from rank to rank against one flow for each, and the routes of one rank
 * of each class, turned, against all routes.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "predict/synthesis/forest.h"

#include "ronde/bound.h"
#include "ronde/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRAPHS 300u
#define MOST_RANKS 24u
#define MOST_PLACES 40u
#define MOST_ARCS 240u

static uint32_t below(uint64_t *state, uint32_t count)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % count);
}

/* Places on a ring, so that all reach each other, and arcs anywhere; some without a limit, some without capacity. */
static void make_graph(struct ronde_graph *graph, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    graph->ranks = 2 + below(&state, MOST_RANKS - 1);
    graph->place_count = graph->ranks + below(&state, MOST_PLACES - MOST_RANKS);
    const uint32_t count = graph->place_count + below(&state, MOST_ARCS - MOST_PLACES);
    int64_t sum = 0;
    for (uint32_t a = 0; a < count; a++) {
        const bool is_ring = a < graph->place_count;
        struct ronde_arc *arc = &graph->arcs[graph->arc_count];
        *arc = (struct ronde_arc){.wire = RONDE_NONE};
        arc->from = is_ring ? a : below(&state, graph->place_count);
        arc->to = is_ring ? (a + 1) % graph->place_count : below(&state, graph->place_count);
        arc->capacity = is_ring ? 1 + below(&state, 9) : below(&state, 40);
        sum += arc->capacity;
        graph->arc_count += arc->from != arc->to;
    }
    graph->free = sum + 1;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        if (seed % 3 == 0 && below(&state, 10) == 0)
            graph->arcs[a].capacity = graph->free;
}

/* A flow of its own for each rank: from `extra` by arcs of P to every rank, arcs Q times, or from a root. */
struct separate {
    struct ronde_max_flow flow;
    uint32_t extra;
};

static void lay(struct separate *separate, const struct ronde_graph *graph,
                struct ronde_store *pool, int64_t each, int64_t times)
{
    separate->extra = graph->place_count;
    CU_ASSERT_FATAL(ronde_flow_create(&separate->flow, pool, graph->place_count + 1,
                                      graph->arc_count + graph->ranks));
    for (uint32_t a = 0; a < graph->arc_count; a++)
        ronde_flow_arc(&separate->flow, graph->arcs[a].from, graph->arcs[a].to,
                       graph->arcs[a].capacity * times);
    for (uint32_t r = 0; r < graph->ranks; r++)
        ronde_flow_arc(&separate->flow, separate->extra, r, each);
}

/* Whether no set is worse than a cut, by a flow for each rank; and that cut is what it says. */
static void check_all_gather(const struct ronde_graph *graph, struct ronde_store *pool)
{
    struct ronde_graph_cut cut;
    struct separate separate;
    int64_t least = INT64_MAX;
    CU_ASSERT_FATAL(ronde_cut_create(graph, pool, &cut));
    CU_ASSERT_FATAL(ronde_cut_all_gather(graph, pool, &cut));
    CU_ASSERT_EQUAL(ronde_cut_capacity(graph, cut.inside), cut.capacity);
    CU_ASSERT_EQUAL(ronde_cut_ranks(graph, cut.inside), cut.blocks);
    CU_ASSERT(cut.blocks > 0 && cut.blocks < graph->ranks);
    if (cut.capacity >= graph->free)
        return;
    lay(&separate, graph, pool, cut.capacity, cut.blocks);
    for (uint32_t r = 0; r < graph->ranks; r++) {
        const int64_t got = ronde_flow_run(&separate.flow, separate.extra, r, INT64_MAX);
        least = got < least ? got : least;
    }
    CU_ASSERT_EQUAL(least, cut.capacity * graph->ranks);
}

static void check_broadcast(const struct ronde_graph *graph, struct ronde_store *pool, uint32_t root)
{
    struct ronde_graph_cut cut;
    struct separate separate;
    int64_t least = graph->free;
    CU_ASSERT_FATAL(ronde_cut_create(graph, pool, &cut));
    CU_ASSERT_FATAL(ronde_cut_broadcast(graph, root, pool, &cut));
    lay(&separate, graph, pool, 0, 1);
    for (uint32_t r = 0; r < graph->ranks; r++)
        if (r != root) {
            const int64_t got = ronde_flow_run(&separate.flow, root, r, graph->free);
            least = got < least ? got : least;
        }
    CU_ASSERT_EQUAL(least, cut.capacity);
    CU_ASSERT_EQUAL(ronde_cut_capacity(graph, cut.inside), cut.capacity);
    CU_ASSERT(cut.inside[root]);
}

static void growing_flows_find_the_cuts_of_separate_ones(void)
{
    static struct ronde_arc arcs[MOST_ARCS + MOST_PLACES];
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        struct ronde_graph graph = {.arcs = arcs};
        struct ronde_store pool = {.mem = ronde_mem_default()};
        make_graph(&graph, seed);
        check_all_gather(&graph, &pool);
        check_broadcast(&graph, &pool, (uint32_t)(seed % graph.ranks));
        ronde_graph_reverse(&graph);
        check_all_gather(&graph, &pool);
        ronde_store_clear(&pool);
    }
}

/* ---- Turned routes ----------------------------------------------------------------------------------------------- */

/* A machine seen in both ways. */
struct views {
    struct ronde_platform *platform;
    struct ronde_store pool;
    struct ronde_turns turns;
    struct ronde_wiring all, turned;
    struct ronde_graph all_graph, turned_graph;
};

static struct ronde_platform *generate(const struct ronde_generate_request *request)
{
    const char *path = RONDE_SCRATCH_DIR "/turned.xml";
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ronde_generate(request, file, &error), RONDE_OK);
    fclose(file);
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error), RONDE_OK);
    if (error.message[0])
        suite_note("%s", error.message);
    unlink(path);
    return platform;
}

static void see(struct views *views)
{
    const uint32_t ranks = ronde_platform_facts(views->platform)->hosts;
    struct ronde_store *pool = &views->pool;
    CU_ASSERT_EQUAL_FATAL(ronde_turns_find(views->platform, ranks, pool, &views->turns, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_wiring_find(views->platform, ranks, pool, &views->all, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_graph_make(&views->all, pool, &views->all_graph, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_wiring_find_turned(views->platform, ranks,
                                                   views->turns.count > 0 ? &views->turns : NULL,
                                                   pool, &views->turned, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_graph_make(&views->turned, pool, &views->turned_graph, NULL),
                          RONDE_OK);
}

/* Notes that a place of one graph is one of the other; false where it already is another. */
static bool match(uint32_t *place_to, uint32_t from, uint32_t to)
{
    if (place_to[from] == RONDE_NONE)
        place_to[from] = to;
    return place_to[from] == to;
}

/* Whether places and arcs of the graphs are the same but for their numbers. */
static void compare(struct views *views)
{
    const struct ronde_graph *all = &views->all_graph, *turned = &views->turned_graph;
    const uint32_t links = ronde_platform_link_count(views->platform);
    uint32_t *arc_of = malloc(links * sizeof *arc_of);
    uint32_t *place_to = malloc(all->place_count * sizeof *place_to);
    bool is_same = all->place_count == turned->place_count && all->arc_count == turned->arc_count &&
                   all->free == turned->free && all->unit_Bps == turned->unit_Bps;
    CU_ASSERT_FATAL(arc_of && place_to);
    for (uint32_t l = 0; l < links; l++)
        arc_of[l] = RONDE_NONE;
    for (uint32_t p = 0; p < all->place_count; p++)
        place_to[p] = p < all->ranks ? p : RONDE_NONE;
    for (uint32_t a = 0; is_same && a < turned->arc_count; a++)
        if (turned->arcs[a].wire != RONDE_NONE)
            arc_of[views->turned.wires[turned->arcs[a].wire].link] = a;
    for (uint32_t a = 0; is_same && a < all->arc_count; a++) {
        const struct ronde_arc *arc = &all->arcs[a];
        if (arc->wire == RONDE_NONE)
            continue;
        const uint32_t other = arc_of[views->all.wires[arc->wire].link];
        is_same = other != RONDE_NONE && turned->arcs[other].capacity == arc->capacity &&
                  match(place_to, arc->from, turned->arcs[other].from) &&
                  match(place_to, arc->to, turned->arcs[other].to);
    }
    CU_ASSERT(is_same);
    free(place_to);
    free(arc_of);
}

static void compare_cuts(struct views *views)
{
    struct ronde_graph_cut all, turned;
    CU_ASSERT_FATAL(ronde_cut_create(&views->all_graph, &views->pool, &all) &&
                    ronde_cut_create(&views->turned_graph, &views->pool, &turned));
    CU_ASSERT(ronde_cut_all_gather(&views->all_graph, &views->pool, &all));
    CU_ASSERT(ronde_cut_all_gather(&views->turned_graph, &views->pool, &turned));
    CU_ASSERT_EQUAL(all.capacity * turned.blocks, turned.capacity * all.blocks);
}

static const struct {
    struct ronde_generate_request request;
    const char *slow; /* a link at half its rate, or NULL */
    uint32_t classes; /* of ranks; 0 = as many as there are ranks */
} machines[] = {
    {{.kind = "dgx-h100", .nodes = 16, .fabric = RONDE_FABRIC_RAIL}, NULL, 1},
    {{.kind = "dgx-h100", .nodes = 64, .fabric = RONDE_FABRIC_RAIL}, NULL, 1},
    {{.kind = "dgx-h100", .nodes = 16, .fabric = RONDE_FABRIC_RAIL}, "n3g2_c", 0},
    {{.kind = "dgx-h100", .nodes = 16, .fabric = RONDE_FABRIC_FAT_TREE}, NULL, 1},
    {{.kind = "fat-tree", .axis_count = 2, .shape = {8, 16}, .fabric = RONDE_FABRIC_COUNT}, NULL, 1},
    {{.kind = "fat-tree", .axis_count = 3, .shape = {2, 4, 16}, .fabric = RONDE_FABRIC_COUNT},
     NULL,
     1},
};

static void turned_routes_are_all_routes(void)
{
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct views views = {.pool = {.mem = ronde_mem_default()}};
        views.platform = generate(&machines[m].request);
        if (!views.platform)
            return;
        const uint32_t ranks = ronde_platform_facts(views.platform)->hosts;
        if (machines[m].slow)
            CU_ASSERT_EQUAL(ronde_platform_degrade(views.platform, machines[m].slow, 0.5, NULL),
                            RONDE_OK);
        see(&views);
        suite_note("%s: %u ranks, %u classes by %u turns", machines[m].request.kind, ranks,
                   views.turns.source_count, views.turns.count);
        CU_ASSERT_EQUAL(views.turns.source_count, machines[m].classes ? machines[m].classes : ranks);
        compare(&views);
        compare_cuts(&views);
        ronde_store_clear(&views.pool);
        ronde_platform_destroy(views.platform);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"growing_flows_find_the_cuts_of_separate_ones",
         growing_flows_find_the_cuts_of_separate_ones},
        {"turned_routes_are_all_routes", turned_routes_are_all_routes},
    };
    return suite_run_with_components("turned", cases, sizeof cases / sizeof *cases);
}
