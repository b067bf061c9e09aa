/* Links shared by max-min fairness: by hand, and what it refuses. tests/property/flat_simgrid_test.c holds it to SimGrid. */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/sim.h"
#include "sim/check.h"
#include "sim/shared/maxmin_share.h"
#include "two_leaves.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

/*
 * Three into one port of 50, 1 MB each, 5 us apart. 50 until 5 us, 25 each until 10, a third each until the first is
 * through its last 625 kB at 47.5 us, 25 each until the second is at 57.5, 50 for the last.
 */
static void a_port_is_shared_evenly(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 3, 0, 1e6, 10000);
    messages_add(&stage.messages, 1, 0, 1e6, 0);
    messages_add(&stage.messages, 2, 0, 1e6, 5000);
    two_leaves_replay(&stage);
    two_leaves_expect(&stage, 1, 47500);
    two_leaves_expect(&stage, 2, 57500);
    two_leaves_expect(&stage, 0, 60000);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "leaf0_link_0_DOWN");
    CU_ASSERT_DOUBLE_EQUAL(stage.result.busiest_utilisation, 1, 1e-12);
    two_leaves_end(&stage);
}

/*
 * Three flows into 8 have a third of its port each; what the one from 0 leaves of 0's port is for the other flow from
 * there: 33.3, more than an even half. It is over at 30 us, which helps nobody.
 */
static void what_one_cannot_use_is_for_the_others(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    for (uint32_t src = 0; src < 3; src++)
        messages_add(&stage.messages, src, 8, 1e6, 0);
    messages_add(&stage.messages, 0, 9, 1e6, 0);
    two_leaves_replay(&stage);
    two_leaves_expect(&stage, 3, 30000);
    for (uint32_t op = 0; op < 3; op++)
        two_leaves_expect(&stage, op, 60000);
    two_leaves_end(&stage);
}

/* 200 GB/s hold four flows of 50 at once; eight have 25 each. Of two lanes of 10 GB/s neither shares anything. */
static void a_wide_link_is_shared_once_it_is_full(void)
{
    for (uint32_t flows = 4; flows <= 8; flows += 4) {
        struct two_leaves stage;
        if (!two_leaves_begin(&stage))
            return;
        for (uint32_t i = 0; i < flows; i++)
            messages_add(&stage.messages, i, 8 + i, 1e6, 0);
        two_leaves_replay(&stage);
        for (uint32_t i = 0; i < flows; i++)
            two_leaves_expect(&stage, i, flows == 4 ? 20000 : 40000);
        stage.messages.dag.lane_GBps = 10;
        two_leaves_replay(&stage);
        for (uint32_t i = 0; i < flows; i++)
            two_leaves_expect(&stage, i, 100000);
        two_leaves_end(&stage);
    }
}

/* Larger than what the property test draws, pipelined, over uplinks that everything crosses. */
static void pipelines_take_what_simgrid_says(void)
{
    static const uint32_t scattered[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
    static const char *const algorithms[] = {"double_tree", "hierarchical", "direct"};
    const struct ronde_sim_options options = {.host_of = scattered};
    struct leaves leaves;
    if (!suite_has_simgrid() || !leaves_begin(&leaves, &two_leaves_shape))
        return;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, algorithms[i], 16);
        const struct ronde_load load = leaves_load(schedule, 12, 65536);
        struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
        struct ronde_sim_result simgrid = {0}, maxmin = {0};
        CU_ASSERT_EQUAL(ronde_sim_simgrid(leaves.platform, dag, &options, &simgrid, NULL), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, ronde_mem_default(),
                                         &maxmin, NULL),
                        RONDE_OK);
        const double difference = maxmin.time_ns / simgrid.time_ns - 1;
        suite_note("%s: %.1e", algorithms[i], difference);
        CU_ASSERT(fabs(difference) <= 1e-9);
        ronde_dag_destroy(dag, ronde_mem_default());
        ronde_schedule_destroy(schedule);
    }
    leaves_end(&leaves);
}

static void a_replay_ends_at_its_limit(void)
{
    struct leaves leaves;
    const struct ronde_sim_options options = {.time_limit_s = 1e-9};
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    if (!leaves_begin(&leaves, &two_leaves_shape))
        return;
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "double_tree", 16);
    const struct ronde_load load = leaves_load(schedule, 64, 65536);
    struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
    CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, ronde_mem_default(), &result,
                                     &error),
                    RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "longer than its limit"));
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    leaves_end(&leaves);
}

/* What takes longer than is of interest is replayed that far, and no further. */
static void a_replay_ends_where_it_is_of_no_interest(void)
{
    struct leaves leaves;
    struct ronde_sim_options options = {.until_ns = 0};
    struct ronde_sim_result whole, part;
    if (!leaves_begin(&leaves, &two_leaves_shape))
        return;
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "direct", 16);
    const struct ronde_load load = leaves_load(schedule, 64, 65536);
    struct ronde_dag *dag =
        leaves_graph(schedule, &load, &(struct ronde_time_params){.launch_ns = 500});
    const struct ronde_mem *mem = ronde_mem_default();
    CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, mem, &whole, NULL), RONDE_OK);
    CU_ASSERT(!whole.is_beyond);
    options.until_ns = whole.time_ns / 2;
    CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, mem, &part, NULL), RONDE_OK);
    CU_ASSERT(part.is_beyond && part.time_ns > options.until_ns && part.time_ns <= whole.time_ns);
    CU_ASSERT(part.work < whole.work);
    options.until_ns = whole.time_ns;
    CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, mem, &part, NULL), RONDE_OK);
    CU_ASSERT(!part.is_beyond);
    CU_ASSERT_EQUAL(part.time_ns, whole.time_ns);
    CU_ASSERT_EQUAL(part.work, whole.work);
    ronde_dag_destroy(dag, mem);
    ronde_schedule_destroy(schedule);
    leaves_end(&leaves);
}

#define MOST_FLOWS 100u

/* Flows that are under way, by their bundles. */
struct under_way {
    struct ronde_sim_share share;
    uint32_t bundles[MOST_FLOWS];
    uint32_t count;
};

static double carried_GBps(const struct ronde_sim_share *share,
                           const struct ronde_sim_shared_link *link, double *out_most_GBps)
{
    double sum_GBps = 0;
    *out_most_GBps = 0;
    for (uint32_t i = 0; i < link->count; i++) {
        const struct ronde_sim_bundle *bundle = &share->bundles[link->bundles[i].bundle];
        sum_GBps += bundle->rate_GBps * bundle->count;
        *out_most_GBps = fmax(*out_most_GBps, bundle->rate_GBps);
    }
    return sum_GBps;
}

/* Max-min fairness as it is defined: a flow has its own rate, or a full link on which none has more. */
static bool is_fair(const struct ronde_sim_share *share, uint32_t bundle)
{
    const struct ronde_sim_bundle *it = &share->bundles[bundle];
    bool is_limited = it->rate_GBps >= share->own_GBps[it->rank] * (1 - 1e-9);
    for (uint32_t hop = 0; hop < it->hop_count; hop++) {
        const struct ronde_sim_shared_link *link = ronde_sim_share_link(share, it, hop);
        double most_GBps;
        const double sum_GBps = carried_GBps(share, link, &most_GBps);
        if (link->rate_GBps == 0)
            continue;
        if (sum_GBps > link->rate_GBps * (1 + 1e-9))
            return false;
        is_limited |=
            sum_GBps >= link->rate_GBps * (1 - 1e-9) && it->rate_GBps >= most_GBps * (1 - 1e-9);
    }
    return is_limited && it->rate_GBps > 0;
}

/*
 * A few flows come and go at once, at random, along so many routes; then all rates are looked at, those of flows that nobody
 * touched too.
 */
static void change(struct under_way *under_way, const struct ronde_sim_forward_graph *graph,
                   uint32_t kinds, uint64_t *random)
{
    struct ronde_sim_share *share = &under_way->share;
    for (uint64_t leave = buffers_draw(random) % 4; leave > 0 && under_way->count > 0; leave--) {
        const uint32_t at = (uint32_t)(buffers_draw(random) % under_way->count);
        CU_ASSERT_FATAL(ronde_sim_share_leave(share, under_way->bundles[at]));
        under_way->bundles[at] = under_way->bundles[--under_way->count];
    }
    for (uint64_t join = buffers_draw(random) % 4; join > 0 && under_way->count < MOST_FLOWS;
         join--) {
        const uint32_t kind = (uint32_t)(buffers_draw(random) % kinds);
        if (graph->kinds[kind].hop_count == 0)
            continue;
        const uint32_t bundle = ronde_sim_share_join(share, 0, kind);
        CU_ASSERT_FATAL(bundle != RONDE_NONE);
        under_way->bundles[under_way->count++] = bundle;
    }
    CU_ASSERT_FATAL(ronde_sim_share_solve(share));
    for (uint32_t i = 0; i < share->affected.count; i++) {
        struct ronde_sim_bundle *bundle = &share->bundles[share->affected.all[i]];
        bundle->rate_GBps = bundle->found_GBps;
    }
}

/* Ports and uplinks are full by turns, changes reach far, and by turns many flows have one route. */
static void rates_are_fair_after_every_change(void)
{
    static const struct leaves_shape shapes[] = {{4, 4, 90, 500}, {8, 2, 130, 500}, {16, 4, 1000, 0}};
    const struct ronde_mem *mem = ronde_mem_default();
    uint64_t random = 20261130;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct leaves leaves;
        struct ronde_sim_forward walk;
        struct under_way under_way = {.count = 0};
        uint32_t unfair = 0;
        if (!leaves_begin(&leaves, &shapes[i]))
            return;
        const uint32_t hosts = shapes[i].leaves * shapes[i].hosts_per_leaf;
        struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_TO_ALL, "direct", hosts);
        const struct ronde_load load = leaves_load(schedule, 1, 65536);
        struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
        const struct ronde_sim_scene scene = {leaves.platform, dag, &ronde_sim_defaults, mem, NULL};
        CU_ASSERT_EQUAL_FATAL(ronde_sim_forward_open(&walk, &scene, "maxmin"), RONDE_OK);
        CU_ASSERT_FATAL(ronde_sim_share_open(&under_way.share, &walk.graph, mem));
        for (uint32_t moment = 0; moment < 3000; moment++) {
            const uint32_t all = walk.graph.kind_count;
            change(&under_way, &walk.graph, moment / 300 % 2 == 0 ? all : all / 8, &random);
            for (uint32_t f = 0; f < under_way.count; f++)
                unfair += !is_fair(&under_way.share, under_way.bundles[f]);
        }
        CU_ASSERT_EQUAL(unfair, 0);
        ronde_sim_share_close(&under_way.share);
        ronde_sim_forward_close(&walk);
        ronde_dag_destroy(dag, mem);
        ronde_schedule_destroy(schedule);
        leaves_end(&leaves);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_port_is_shared_evenly),
        SUITE_CASE(rates_are_fair_after_every_change),
        SUITE_CASE(what_one_cannot_use_is_for_the_others),
        SUITE_CASE(a_wide_link_is_shared_once_it_is_full),
        {"the_rest_is_the_time_model", two_leaves_time_model},
        SUITE_CASE(pipelines_take_what_simgrid_says),
        {"bad_graphs_are_refused", two_leaves_bad_graphs},
        {"nothing_takes_no_time", two_leaves_nothing},
        SUITE_CASE(a_replay_ends_at_its_limit),
        SUITE_CASE(a_replay_ends_where_it_is_of_no_interest),
        {"allocation_failures_are_clean", two_leaves_allocations},
    };
    two_leaves_engine =
        (struct two_leaves_engine){"maxmin", ronde_sim_maxmin, true, "maxmin replays up to"};
    return suite_run("maxmin", cases, sizeof cases / sizeof *cases);
}
