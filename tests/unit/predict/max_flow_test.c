/* Maximum flows of the synthesis: networks by hand, and random ones against every cut there is. */
#include "support/suite.h"

#include "predict/synthesis/machine_graph.h"
#include "support/buffers.h"
#include "support/heap.h"

#define VERTICES_MAX 8u
#define ARCS_MAX 32u

/* A network that is kept beside the one under test. */
struct plan {
    uint32_t vertices;
    uint32_t arcs;
    uint32_t from[ARCS_MAX], to[ARCS_MAX];
    int64_t capacity[ARCS_MAX];
    struct ronde_store pool;
    struct ronde_max_flow flow;
};

static void plan_begin(struct plan *plan, uint32_t vertices)
{
    *plan = (struct plan){.vertices = vertices, .pool = {.mem = ronde_mem_default()}};
    CU_ASSERT_TRUE_FATAL(ronde_flow_create(&plan->flow, &plan->pool, vertices, ARCS_MAX));
}

static void plan_end(struct plan *plan)
{
    ronde_store_clear(&plan->pool);
}

static uint32_t add(struct plan *plan, uint32_t from, uint32_t to, int64_t capacity)
{
    CU_ASSERT_FATAL(plan->arcs < ARCS_MAX);
    plan->from[plan->arcs] = from;
    plan->to[plan->arcs] = to;
    plan->capacity[plan->arcs++] = capacity;
    return ronde_flow_arc(&plan->flow, from, to, capacity);
}

/* Capacity that leaves a set of vertices, bit per vertex. */
static int64_t leaving(const struct plan *plan, uint32_t set)
{
    int64_t sum = 0;
    for (uint32_t a = 0; a < plan->arcs; a++)
        if ((set >> plan->from[a] & 1) != 0 && (set >> plan->to[a] & 1) == 0)
            sum += plan->capacity[a];
    return sum;
}

/* The least of all cuts between two vertices. */
static int64_t least_cut(const struct plan *plan, uint32_t source, uint32_t sink)
{
    int64_t least = INT64_MAX;
    for (uint32_t set = 0; set < 1u << plan->vertices; set++) {
        if ((set >> source & 1) == 0 || (set >> sink & 1) != 0)
            continue;
        const int64_t sum = leaving(plan, set);
        least = sum < least ? sum : least;
    }
    return least;
}

/* What flows through an arc: never against it and never more than it holds; returns false otherwise. */
static bool carries(const struct plan *plan, uint32_t arc, int64_t *out_units)
{
    *out_units = plan->flow.capacity[2 * arc] - plan->flow.left[2 * arc];
    return *out_units >= 0 && *out_units <= plan->capacity[arc] &&
           plan->flow.left[2 * arc + 1] == *out_units;
}

/* Vertices where what enters is not what leaves, source and sink by the flow's value. */
static uint32_t leaks(const struct plan *plan, uint32_t source, uint32_t sink, int64_t value)
{
    int64_t rest[VERTICES_MAX] = {0};
    uint32_t wrong = 0;
    for (uint32_t a = 0; a < plan->arcs; a++) {
        int64_t units = 0;
        wrong += carries(plan, a, &units) ? 0u : 1u;
        rest[plan->from[a]] += units;
        rest[plan->to[a]] -= units;
    }
    rest[source] -= value;
    rest[sink] += value;
    for (uint32_t v = 0; v < plan->vertices; v++)
        wrong += rest[v] != 0;
    return wrong;
}

/* The source's side after a run, bit per vertex. */
static uint32_t side(const struct plan *plan)
{
    uint32_t set = 0;
    for (uint32_t v = 0; v < plan->vertices; v++)
        set |= (ronde_flow_is_inside(&plan->flow, v) ? 1u : 0u) << v;
    return set;
}

static void a_chain_carries_what_its_narrowest_arc_does(void)
{
    struct plan plan;
    plan_begin(&plan, 4);
    add(&plan, 0, 1, 9);
    add(&plan, 1, 2, 4);
    add(&plan, 2, 3, 7);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 3, INT64_MAX), 4);
    CU_ASSERT_EQUAL(side(&plan), 3);
    CU_ASSERT_EQUAL(leaks(&plan, 0, 3, 4), 0);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 3, 0, INT64_MAX), 0);
    plan_end(&plan);
}

/*
 * The example of textbooks where the shortest way must be taken back in part: 0-1-4-5 first fills 1-4, and what reaches 5
 * in the end is 23 = 12 + 11 units.
 */
static void a_way_is_taken_back_where_another_is_better(void)
{
    struct plan plan;
    plan_begin(&plan, 6);
    add(&plan, 0, 1, 16);
    add(&plan, 0, 2, 13);
    add(&plan, 1, 3, 12);
    add(&plan, 2, 1, 4);
    add(&plan, 3, 2, 9);
    add(&plan, 2, 4, 14);
    add(&plan, 4, 3, 7);
    add(&plan, 3, 5, 20);
    add(&plan, 4, 5, 4);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 5, INT64_MAX), 23);
    CU_ASSERT_EQUAL(leaving(&plan, side(&plan)), 23);
    CU_ASSERT_EQUAL(leaks(&plan, 0, 5, 23), 0);
    plan_end(&plan);
}

/* Two arcs between the same vertices add up, one back does not help, and one from a vertex to itself carries nothing. */
static void parallel_opposite_and_closed_arcs(void)
{
    struct plan plan;
    plan_begin(&plan, 3);
    add(&plan, 0, 1, 5);
    add(&plan, 0, 1, 6);
    add(&plan, 1, 0, 100);
    add(&plan, 1, 1, 50);
    add(&plan, 1, 2, 30);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 2, INT64_MAX), 11);
    CU_ASSERT_EQUAL(side(&plan), 1);
    plan_end(&plan);
}

static void what_is_not_reached_gets_nothing(void)
{
    struct plan plan;
    plan_begin(&plan, 5);
    add(&plan, 0, 1, 8);
    add(&plan, 3, 2, 8);
    add(&plan, 1, 4, 0);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 2, INT64_MAX), 0);
    CU_ASSERT_EQUAL(side(&plan), 3);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 4, INT64_MAX), 0);
    plan_end(&plan);
}

/* A limit is never exceeded, and one that is not reached changes nothing. */
static void a_limit_stops_it(void)
{
    struct plan plan;
    plan_begin(&plan, 4);
    add(&plan, 0, 1, 10);
    add(&plan, 0, 2, 10);
    add(&plan, 1, 3, 10);
    add(&plan, 2, 3, 10);
    for (int64_t limit = 0; limit <= 25; limit++) {
        const int64_t got = ronde_flow_run(&plan.flow, 0, 3, limit);
        CU_ASSERT_EQUAL(got, limit < 20 ? limit : 20);
        CU_ASSERT_EQUAL(leaks(&plan, 0, 3, got), 0);
    }
    plan_end(&plan);
}

/* Capacities may change between runs: the next one starts from them and not from what was left. */
static void a_run_starts_from_the_capacities(void)
{
    struct plan plan;
    plan_begin(&plan, 3);
    const uint32_t first = add(&plan, 0, 1, 10);
    const uint32_t second = add(&plan, 1, 2, 3);
    CU_ASSERT_EQUAL(first, 0);
    CU_ASSERT_EQUAL(second, 2);
    for (uint32_t again = 0; again < 3; again++)
        CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 2, INT64_MAX), 3);
    plan.flow.capacity[second] = plan.capacity[1] = 25;
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 2, INT64_MAX), 10);
    CU_ASSERT_EQUAL(side(&plan), 1);
    plan.flow.capacity[first] = plan.capacity[0] = 0;
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 2, INT64_MAX), 0);
    plan_end(&plan);
}

/* A byte a second in 2^50 of them: sums of large capacities stay exact. */
static void large_capacities_are_exact(void)
{
    const int64_t large = INT64_C(1) << 55;
    struct plan plan;
    plan_begin(&plan, 4);
    add(&plan, 0, 1, large);
    add(&plan, 0, 2, large + 1);
    add(&plan, 1, 3, large - 1);
    add(&plan, 2, 3, 2 * large);
    CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 3, INT64_MAX), 2 * large);
    CU_ASSERT_EQUAL(leaks(&plan, 0, 3, 2 * large), 0);
    plan_end(&plan);
}

/* Random networks; many capacities are 0 or alike, so that there are ties and dead ends. */
static void random_networks_flow_as_much_as_their_least_cut(void)
{
    uint64_t random = 20;
    uint32_t blocked = 0, bounded = 0;
    for (uint32_t round = 0; round < 400; round++) {
        struct plan plan;
        plan_begin(&plan, 2 + (uint32_t)(buffers_draw(&random) % (VERTICES_MAX - 1)));
        const uint32_t arcs = (uint32_t)(buffers_draw(&random) % ARCS_MAX);
        for (uint32_t a = 0; a < arcs; a++)
            add(&plan, (uint32_t)(buffers_draw(&random) % plan.vertices),
                (uint32_t)(buffers_draw(&random) % plan.vertices),
                (int64_t)(buffers_draw(&random) % 7));
        for (uint32_t sink = 1; sink < plan.vertices; sink++) {
            const int64_t expected = least_cut(&plan, 0, sink);
            const int64_t got = ronde_flow_run(&plan.flow, 0, sink, INT64_MAX);
            const uint32_t inside = side(&plan);
            CU_ASSERT_EQUAL(got, expected);
            CU_ASSERT_EQUAL(leaks(&plan, 0, sink, got), 0);
            CU_ASSERT_EQUAL(leaving(&plan, inside), expected);
            CU_ASSERT((inside & 1) != 0 && (inside >> sink & 1) == 0);
            blocked += got == 0;
            bounded += got > 0;
        }
        plan_end(&plan);
    }
    suite_note("%u pairs with a flow, %u without", bounded, blocked);
    CU_ASSERT(bounded > 500 && blocked > 100);
}

/* Whatever the order of the arcs, the same network flows the same. */
static void the_order_of_arcs_does_not_matter(void)
{
    uint64_t random = 3;
    for (uint32_t round = 0; round < 50; round++) {
        struct plan plan, turned;
        plan_begin(&plan, 7);
        plan_begin(&turned, 7);
        for (uint32_t a = 0; a < 20; a++)
            add(&plan, (uint32_t)(buffers_draw(&random) % 7), (uint32_t)(buffers_draw(&random) % 7),
                (int64_t)(buffers_draw(&random) % 100));
        for (uint32_t a = 20; a-- > 0;)
            add(&turned, plan.from[a], plan.to[a], plan.capacity[a]);
        CU_ASSERT_EQUAL(ronde_flow_run(&plan.flow, 0, 6, INT64_MAX),
                        ronde_flow_run(&turned.flow, 0, 6, INT64_MAX));
        /* The side is that of the least cut which is nearest to the source, and there is one such. */
        CU_ASSERT_EQUAL(side(&plan), side(&turned));
        plan_end(&plan);
        plan_end(&turned);
    }
}

/* Every block a pool gave is freed with its size, also when it could not give all of them. */
static void a_network_without_memory_says_so(void)
{
    for (size_t refused = 0; refused < 20; refused++) {
        struct heap heap = heap_start(refused, false);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_store pool = {.mem = &mem};
        struct ronde_max_flow flow;
        const bool is_made = ronde_flow_create(&flow, &pool, 4, 4);
        CU_ASSERT_EQUAL(is_made, heap.requests <= refused);
        ronde_store_clear(&pool);
        ronde_store_clear(&pool);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    }
}

/* Blocks are zeroed, apart from each other, and one that cannot be counted is refused rather than too short. */
static void blocks_of_a_pool(void)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_store pool = {.mem = &mem};
    unsigned char *blocks[16];
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 16; i++) {
        blocks[i] = ronde_store_new(&pool, 13, 7);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
        wrong += (uintptr_t)blocks[i] % sizeof(double) != 0;
        for (uint32_t b = 0; b < 13 * 7; b++) {
            wrong += blocks[i][b] != 0;
            blocks[i][b] = (unsigned char)(i + 1);
        }
    }
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t b = 0; b < 13 * 7; b++)
            wrong += blocks[i][b] != i + 1;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(heap.live_blocks, 16);
    CU_ASSERT_PTR_NULL(ronde_store_new(&pool, SIZE_MAX / 4, 8));
    CU_ASSERT_PTR_NULL(ronde_store_new(&pool, SIZE_MAX, 1));
    CU_ASSERT_PTR_NOT_NULL(ronde_store_new(&pool, 0, 8));
    ronde_store_clear(&pool);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    CU_ASSERT_PTR_NULL(pool.blocks);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_chain_carries_what_its_narrowest_arc_does", a_chain_carries_what_its_narrowest_arc_does},
        {"a_way_is_taken_back_where_another_is_better", a_way_is_taken_back_where_another_is_better},
        {"parallel_opposite_and_closed_arcs", parallel_opposite_and_closed_arcs},
        {"what_is_not_reached_gets_nothing", what_is_not_reached_gets_nothing},
        {"a_limit_stops_it", a_limit_stops_it},
        {"a_run_starts_from_the_capacities", a_run_starts_from_the_capacities},
        {"large_capacities_are_exact", large_capacities_are_exact},
        {"random_networks_flow_as_much_as_their_least_cut",
         random_networks_flow_as_much_as_their_least_cut},
        {"the_order_of_arcs_does_not_matter", the_order_of_arcs_does_not_matter},
        {"a_network_without_memory_says_so", a_network_without_memory_says_so},
        {"blocks_of_a_pool", blocks_of_a_pool},
    };
    return suite_run("max_flow", cases, sizeof cases / sizeof cases[0]);
}
