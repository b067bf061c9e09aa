/**
 * Traffic: what executors and placements derive from a schedule, on every built-in and on schedules
 * read from text.
 */
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/text.h"

#include <string.h>

/** Ranks of the registry tests. */
#define LEAST_RANKS 2u
#define MOST_RANKS 17u

static void each_schedule(void (*visit)(const struct ronde_schedule *schedule))
{
    uint32_t count = 0, visited = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t ranks = LEAST_RANKS; ranks <= MOST_RANKS; ranks++) {
            const struct ronde_compile_request request = {.collective = algorithms[a]->collective,
                                                          .algorithm = algorithms[a]->name,
                                                          .ranks = ranks,
                                                          .root = ranks / 2};
            struct ronde_schedule *schedule = NULL;
            const enum ronde_status status =
                ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL);
            CU_ASSERT(status == RONDE_OK || status == RONDE_UNSUPPORTED);
            visited += status == RONDE_OK;
            if (schedule)
                visit(schedule);
            ronde_schedule_destroy(schedule);
        }
    }
    CU_ASSERT(visited > count * 8);
}

static bool check(const struct ronde_schedule *schedule, const char *what, bool is, bool expected)
{
    CU_ASSERT_EQUAL(is, expected);
    if (is != expected)
        suite_note("%s %s %u: %s is %d", ronde_collective_text(schedule->collective),
                   schedule->algorithm, schedule->ranks, what, is);
    return is == expected;
}

/** What executors went by before: the definition of the collective. */
static void compare_with_traits(const struct ronde_schedule *schedule)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const struct ronde_traffic *traffic = &schedule->traffic;
    check(schedule, "reduces", traffic->reduces, traits->reduces);
    check(schedule, "has_pure_senders", !traffic->reduces && traffic->has_pure_senders,
          !traits->reduces && traits->has_root);
    check(schedule, "has_pure_sources", traffic->reduces && traffic->has_pure_sources,
          traits->reduces && traits->has_root);
}

static void the_steps_of_built_ins_say_what_their_collectives_do(void)
{
    each_schedule(compare_with_traits);
}

/** What placements went by before: names. */
static void compare_with_names(const struct ronde_schedule *schedule)
{
    const bool is_named =
        strcmp(schedule->algorithm, "ring") == 0 || strcmp(schedule->algorithm, "chain") == 0;
    /* On one node, or along one axis, these are rings. */
    const bool is_grid = strncmp(schedule->algorithm, "hierarchical", 12) == 0 ||
                         strcmp(schedule->algorithm, "torus") == 0;
    if (!is_grid)
        check(schedule, "is_route", schedule->traffic.is_route, schedule->ranks > 2 && is_named);
}

static void rings_and_chains_are_routes_and_nothing_else_is(void)
{
    each_schedule(compare_with_names);
}

static bool is_route(enum ronde_collective collective, const char *algorithm, uint32_t nodes,
                     uint32_t local)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = nodes * local,
                                                  .shape_count = 2,
                                                  .shape = {nodes, local}};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL),
                          RONDE_OK);
    const bool is = schedule->traffic.is_route;
    ronde_schedule_destroy(schedule);
    return is;
}

static void a_grid_is_a_route_only_along_one_axis(void)
{
    CU_ASSERT(is_route(RONDE_ALL_REDUCE, "hierarchical", 1, 6));
    CU_ASSERT(is_route(RONDE_ALL_REDUCE, "torus", 6, 1));
    CU_ASSERT_FALSE(is_route(RONDE_ALL_REDUCE, "hierarchical", 2, 3));
    CU_ASSERT_FALSE(is_route(RONDE_ALL_GATHER, "hierarchical", 3, 2));
    CU_ASSERT_FALSE(is_route(RONDE_ALL_REDUCE, "torus", 3, 4));
}

#define HEAD "ronde 1\ncollective all_gather\nalgorithm my-own\nranks 3\n"
#define BACKWARDS                                                                                  \
    "rotate out\nprogram 0\ncopy in[0] out[0]\nsend in[0] -> -1\nrcs out[1] <- +1 -> -1\n"         \
    "recv out[2] <- +1\n"

/* Its name does not matter, nor which way round it goes; an order that was chosen does. */
static void a_ring_of_ones_own_is_a_route_until_it_has_an_order(void)
{
    static const uint32_t order[3] = {0, 2, 1}, twice[3] = {0, 0, 1};
    struct ronde_schedule *ring = schedule_read(HEAD BACKWARDS);
    struct ronde_schedule *stated = schedule_read(HEAD "channel weight 1 order 2 0 1\n" BACKWARDS);
    struct ronde_schedule *laid = NULL, *none = NULL;
    struct ronde_error error = {0};
    CU_ASSERT(ring->traffic.is_route);
    CU_ASSERT_FALSE(stated->traffic.is_route);
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_reorder(ring, order, ronde_mem_default(), &laid, NULL),
                          RONDE_OK);
    CU_ASSERT_FALSE(laid->traffic.is_route);
    CU_ASSERT_EQUAL(memcmp(laid->channels[0].order, order, sizeof order), 0);
    CU_ASSERT(laid->proof.ok && laid->hash != ring->hash);
    CU_ASSERT_EQUAL(ronde_schedule_reorder(ring, twice, ronde_mem_default(), &none, &error),
                    RONDE_REJECTED);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "out of range or twice"));
    ronde_schedule_destroy(laid);
    ronde_schedule_destroy(stated);
    ronde_schedule_destroy(ring);
}

/* Reordering afterwards is compiling with these orders. */
static void a_reordered_ring_is_the_one_compiled_with_its_orders(void)
{
    static const uint32_t orders[10] = {3, 1, 0, 4, 2, 3, 0, 2, 1, 4};
    struct ronde_compile_request request = {
        .collective = RONDE_BROADCAST, .algorithm = "chain", .ranks = 5, .root = 3, .channels = 2};
    struct ronde_schedule *plain = NULL, *laid = NULL, *compiled = NULL;
    const struct ronde_mem *mem = ronde_mem_default();
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, mem, NULL, &plain, NULL), RONDE_OK);
    request.channel_orders = orders;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, mem, NULL, &compiled, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_reorder(plain, orders, mem, &laid, NULL), RONDE_OK);
    CU_ASSERT(plain->traffic.is_route && !compiled->traffic.is_route);
    CU_ASSERT_EQUAL(laid->hash, compiled->hash);
    CU_ASSERT_NOT_EQUAL(laid->hash, plain->hash);
    ronde_schedule_destroy(laid);
    ronde_schedule_destroy(compiled);
    ronde_schedule_destroy(plain);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_steps_of_built_ins_say_what_their_collectives_do",
         the_steps_of_built_ins_say_what_their_collectives_do},
        {"rings_and_chains_are_routes_and_nothing_else_is",
         rings_and_chains_are_routes_and_nothing_else_is},
        {"a_grid_is_a_route_only_along_one_axis", a_grid_is_a_route_only_along_one_axis},
        {"a_ring_of_ones_own_is_a_route_until_it_has_an_order",
         a_ring_of_ones_own_is_a_route_until_it_has_an_order},
        {"a_reordered_ring_is_the_one_compiled_with_its_orders",
         a_reordered_ring_is_the_one_compiled_with_its_orders},
    };
    return suite_run("traffic", cases, sizeof cases / sizeof cases[0]);
}
