/* Links as queues: by hand, against flat where nothing queues, and against SimGrid where something does. */
#include "support/suite.h"

#include "ronde/sim.h"
#include "two_leaves.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

/* 1 MB takes 20 us on a port. Three into one port, ready 5 us apart, the last first in the graph. */
static void a_port_serves_in_order_of_arrival(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 3, 0, 1e6, 10000);
    messages_add(&stage.messages, 1, 0, 1e6, 0);
    messages_add(&stage.messages, 2, 0, 1e6, 5000);
    two_leaves_replay(&stage);
    two_leaves_expect(&stage, 1, 20000);
    two_leaves_expect(&stage, 2, 40000);
    two_leaves_expect(&stage, 0, 60000);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "leaf0_link_0_DOWN");
    CU_ASSERT_DOUBLE_EQUAL(stage.result.busiest_utilisation, 1, 1e-12);
    two_leaves_end(&stage);
}

/* Ready at the same time: the graph's order decides. Opposite directions of a port do not meet. */
static void ties_go_to_the_earlier_operation(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 2, 0, 1e6, 0);
    messages_add(&stage.messages, 1, 0, 5e5, 0);
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    two_leaves_replay(&stage);
    two_leaves_expect(&stage, 0, 20000);
    two_leaves_expect(&stage, 1, 30000);
    two_leaves_expect(&stage, 2, 20000);
    two_leaves_end(&stage);
}

/*
 * 0 sends to 1, then to 2: the second head leaves at 20 us. Into 2's port, which 3 has kept busy until 30 us, it gets
 * its turn behind 3: its head has been waiting since 20 us, its last byte is through 20 us after 3's.
 */
static void what_one_queue_delays_stays_delayed_in_the_next(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    messages_add(&stage.messages, 0, 2, 1e6, 0);
    messages_add(&stage.messages, 3, 2, 1e6, 10000);
    two_leaves_replay(&stage);
    two_leaves_expect(&stage, 0, 20000);
    two_leaves_expect(&stage, 2, 30000);
    two_leaves_expect(&stage, 1, 50000);
    two_leaves_end(&stage);
}

/* The head of 0 -> 2 reaches 2 at 20 us only, so 3, who is ready at 15 us but later in the graph, goes first. */
static void a_queue_is_joined_when_the_head_arrives(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    messages_add(&stage.messages, 0, 2, 1e6, 0);
    messages_add(&stage.messages, 3, 2, 1e5, 15000);
    two_leaves_replay(&stage);
    two_leaves_expect(&stage, 2, 17000);
    two_leaves_expect(&stage, 1, 40000);
    two_leaves_end(&stage);
}

/* 200 GB/s hold four flows of 50 at once without delay; of eight, each half as fast in the mean, the last ends at 40 us. */
static void a_wide_link_carries_several_at_once(void)
{
    for (uint32_t flows = 4; flows <= 8; flows += 4) {
        struct two_leaves stage;
        if (!two_leaves_begin(&stage))
            return;
        for (uint32_t i = 0; i < flows; i++)
            messages_add(&stage.messages, i, 8 + i, 1e6, 0);
        two_leaves_replay(&stage);
        for (uint32_t i = 0; i < flows; i++)
            two_leaves_expect(&stage, i, i < 4 ? 20000 : 5000 * (i + 1));
        CU_ASSERT_DOUBLE_EQUAL(stage.result.busiest_utilisation, 1, 1e-12);
        CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, flows == 4 ? "leaf0_link_0_UP" : "up0_UP");
        two_leaves_end(&stage);
    }
}

/* The largest relative difference of any operation's end between fifo and flat. */
static double difference_from_flat(const struct ronde_platform *platform,
                                   const struct ronde_dag *dag, bool *out_is_free)
{
    const struct ronde_mem *mem = ronde_mem_default();
    double *flat_ns = ronde_mem_new(mem, dag->op_count, sizeof *flat_ns);
    double *fifo_ns = ronde_mem_new(mem, dag->op_count, sizeof *fifo_ns);
    const struct ronde_sim_options flat = {.out_finish_ns = flat_ns};
    const struct ronde_sim_options fifo = {.out_finish_ns = fifo_ns};
    struct ronde_sim_result result;
    double worst = 0;
    CU_ASSERT_FATAL(flat_ns && fifo_ns);
    CU_ASSERT_EQUAL(ronde_sim_flat(platform, dag, &flat, mem, &result, NULL), RONDE_OK);
    *out_is_free = result.is_contention_free;
    CU_ASSERT_EQUAL(ronde_sim_fifo(platform, dag, &fifo, mem, &result, NULL), RONDE_OK);
    for (uint32_t i = 0; i < dag->op_count; i++)
        worst = fmax(worst, fabs(fifo_ns[i] - flat_ns[i]) / flat_ns[i]);
    ronde_mem_free(mem, flat_ns, dag->op_count, sizeof *flat_ns);
    ronde_mem_free(mem, fifo_ns, dag->op_count, sizeof *fifo_ns);
    return worst;
}

/* Wherever flat is certified, every operation of the replay with queues ends at the same time, to 1e-12. */
static void without_contention_it_is_flat(void)
{
    static const char *const algorithms[] = {"ring", "recursive_doubling", "rabenseifner",
                                             "hierarchical", "torus"};
    const struct ronde_time_params params = {.alpha_ns = 250,
                                             .step_ns = 300,
                                             .launch_ns = 5000,
                                             .gamma_GBps = 700};
    struct leaves leaves;
    uint32_t compared = 0;
    double worst = 0;
    if (!leaves_begin(&leaves, &(struct leaves_shape){4, 8, 400, 130}))
        return;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        for (uint32_t ranks = 2; ranks <= 32; ranks++) {
            struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, algorithms[a], ranks);
            if (!schedule)
                continue;
            const struct ronde_load load = {.count = 1000003,
                                            .dtype = RONDE_FLOAT32,
                                            .slot_bytes = 65536};
            struct ronde_dag *dag = leaves_graph(schedule, &load, &params);
            bool is_free;
            const double difference = difference_from_flat(leaves.platform, dag, &is_free);
            worst = is_free ? fmax(worst, difference) : worst;
            compared += is_free;
            ronde_dag_destroy(dag, ronde_mem_default());
            ronde_schedule_destroy(schedule);
        }
    suite_note("%u runs without contention, worst relative difference %.1e", compared, worst);
    CU_ASSERT(compared >= 60);
    CU_ASSERT(worst <= 1e-12);
    leaves_end(&leaves);
}

/* One row of the table: what runs, and how far from SimGrid it may be where neighbours sit on different leaves. */
struct contended {
    enum ronde_collective collective;
    const char *algorithm;
    double scattered_bound;
};

/* Neighbours on different leaves of eight: nearly everything crosses the uplinks. */
static const uint32_t scattered[32] = {0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
                                       4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31};

/* Relative difference of the whole time from SimGrid's. */
static double difference_from_simgrid(const struct ronde_platform *platform,
                                      const struct contended *what, uint32_t ranks,
                                      const struct ronde_sim_options *options, double step_ns)
{
    const struct ronde_time_params params = {.step_ns = step_ns};
    struct ronde_schedule *schedule = leaves_compile(what->collective, what->algorithm, ranks);
    CU_ASSERT_FATAL(schedule != NULL);
    const struct ronde_load load = leaves_load(schedule, 64, 131072);
    struct ronde_dag *dag = leaves_graph(schedule, &load, &params);
    struct ronde_sim_result simgrid;
    struct ronde_sim_result fifo;
    CU_ASSERT_EQUAL(ronde_sim_simgrid(platform, dag, options, &simgrid, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_sim_fifo(platform, dag, options, ronde_mem_default(), &fifo, NULL),
                    RONDE_OK);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    return fifo.time_ns / simgrid.time_ns - 1;
}

/* The largest difference of a row on a platform, over sizes and step costs. */
static double worst_difference(const struct ronde_platform *platform, const struct contended *row,
                               const uint32_t *host_of)
{
    static const uint32_t ranks[] = {4, 7, 8, 17, 32};
    const struct ronde_sim_options options = {.host_of = host_of};
    double worst = 0;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (double step_ns = 0; step_ns <= 100; step_ns += 100) {
            const double difference =
                difference_from_simgrid(platform, row, ranks[i], &options, step_ns);
            worst = fabs(difference) > fabs(worst) ? difference : worst;
        }
    return worst;
}

/*
 * The table of docs/notes/engines.md: 64 pieces of 128 KiB (2.6 us on a port), no step cost and one of 4 % of that; uplinks
 * as wide as the ports below, half and a quarter. 6 % is the bound. Only a binomial broadcast over scattered ranks is
 * off by more: fair sharing keeps its ranks in lockstep, all in the uplinks and then none; queues pull them apart.
 */
static void it_is_near_max_min_sharing(void)
{
    static const struct contended rows[] = {
        {RONDE_ALL_REDUCE, "tree", 0.06},       {RONDE_ALL_REDUCE, "double_tree", 0.06},
        {RONDE_BROADCAST, "double_tree", 0.06}, {RONDE_BROADCAST, "binomial", 0.18},
        {RONDE_REDUCE, "double_tree", 0.06},    {RONDE_REDUCE, "binomial", 0.06},
    };
    static const double uplinks_GBps[] = {400, 200, 100};
    if (!suite_has_simgrid())
        return;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row += suite_is_sample() ? 3 : 1)
        for (size_t u = 0; u < sizeof uplinks_GBps / sizeof *uplinks_GBps; u++) {
            struct leaves leaves;
            if (!leaves_begin(&leaves, &(struct leaves_shape){4, 8, uplinks_GBps[u], 130}))
                return;
            const double in_order = worst_difference(leaves.platform, &rows[row], NULL);
            const double across = worst_difference(leaves.platform, &rows[row], scattered);
            suite_note("%s %s, uplinks %g GB/s: ranks in order %+.1f %%, scattered %+.1f %%",
                       ronde_collective_text(rows[row].collective), rows[row].algorithm,
                       uplinks_GBps[u], 100 * in_order, 100 * across);
            CU_ASSERT(fabs(in_order) <= 0.06);
            CU_ASSERT(fabs(across) <= rows[row].scattered_bound);
            leaves_end(&leaves);
        }
}

/* Placement decides which links a message meets. */
static void hosts_can_be_chosen_per_rank(void)
{
    static const uint32_t host_of[] = {0, 15};
    struct two_leaves stage;
    const struct ronde_sim_options options = {.host_of = host_of};
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    CU_ASSERT_EQUAL(ronde_sim_fifo(stage.leaves.platform, &stage.messages.dag, &options,
                                   ronde_mem_default(), &stage.result, NULL),
                    RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "leaf0_link_0_UP");
    CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns, 20000, 1e-9);
    two_leaves_end(&stage);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_port_serves_in_order_of_arrival),
        SUITE_CASE(ties_go_to_the_earlier_operation),
        SUITE_CASE(what_one_queue_delays_stays_delayed_in_the_next),
        SUITE_CASE(a_queue_is_joined_when_the_head_arrives),
        SUITE_CASE(a_wide_link_carries_several_at_once),
        {"the_rest_is_the_time_model", two_leaves_time_model},
        SUITE_CASE(without_contention_it_is_flat),
        SUITE_CASE(it_is_near_max_min_sharing),
        SUITE_CASE(hosts_can_be_chosen_per_rank),
        {"bad_graphs_are_refused", two_leaves_bad_graphs},
        {"nothing_takes_no_time", two_leaves_nothing},
        {"allocation_failures_are_clean", two_leaves_allocations},
    };
    two_leaves_engine = (struct two_leaves_engine){"flat_fifo", ronde_sim_fifo, false,
                                                   "operations, not 4294967295"};
    return suite_run("fifo", cases, sizeof cases / sizeof *cases);
}
