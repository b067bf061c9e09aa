/* Explanations: parts that add up, against numbers by hand, whichever engine kept the times. */
#include "support/suite.h"
#include "support/sweep.h"

#include "messages.h"
#include "replayed.h"

#include <math.h>
#include <string.h>

static const char *const engines[] = {"flat", "simgrid"};

/* False after a skip where the engine is not there. */
static bool has_engine(const char *engine)
{
    const char *reason;
    if (strcmp(engine, "simgrid") != 0 || ronde_sim_simgrid_available(&reason))
        return true;
    suite_note("%s", reason);
    return false;
}

static double sum_of(const struct ronde_why *why)
{
    double sum = 0;
    for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++)
        sum += why->part_ns[part];
    return sum;
}

/* All links' use says of the busiest what the explanation says, and more of none. */
static void expect_use(struct replayed *replayed, const struct ronde_why *why)
{
    double use[256] = {0}, most = 0;
    const uint32_t links = ronde_platform_link_count(replayed->replay.platform);
    if (links > sizeof use / sizeof *use)
        return;
    CU_ASSERT_EQUAL(ronde_why_links(&replayed->replay, ronde_mem_default(), use, &replayed->error),
                    RONDE_OK);
    for (uint32_t link = 0; link < links; link++)
        most = fmax(most, use[link]);
    for (uint32_t i = 0; i < why->link_count; i++)
        CU_ASSERT_EQUAL(use[why->links[i]], why->utilisation[i]);
    CU_ASSERT(most <= (why->link_count > 0 ? why->utilisation[0] * (1 + 1e-9) : 0));
}

static bool explain(struct replayed *replayed, const struct ronde_dag *dag, const char *engine,
                    struct ronde_why *why)
{
    enum ronde_status status = replayed_run(replayed, dag, engine);
    if (status == RONDE_OK)
        status = ronde_why_find(&replayed->replay, ronde_mem_default(), NULL, why, &replayed->error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s: %s", engine, replayed->error.message);
    else
        expect_use(replayed, why);
    return status == RONDE_OK;
}

static void expect_part(const struct ronde_why *why, enum ronde_why_part part, double expected_ns)
{
    const bool is_right = fabs(why->part_ns[part] - expected_ns) <= 1e-6 * (expected_ns + 1);
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: %.9g ns, expected %.9g", ronde_why_part_key(part), why->part_ns[part],
                   expected_ns);
}

/* 0 -> 1 -> 2, with reduction, steps and launch: every part by hand. */
static void a_relay_is_made_of_what_it_was_built_from(void)
{
    struct replayed replayed;
    struct messages messages = {0};
    struct ronde_why why;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    messages_add(&messages, 0, 1, 1e6, 300);
    messages_add(&messages, 1, 2, 5e5, 1300);
    messages_after_arrival(&messages, 0);
    messages_add(&messages, 2, 2, 0, 300);
    messages_after_arrival(&messages, 1);
    messages.dag.ops[1].stage_ns = 1000;
    messages.dag.alpha_ns = 250;
    messages.dag.launch_ns = 5000;
    for (size_t e = 0; e < 2; e++) {
        if (!has_engine(engines[e]) || !explain(&replayed, &messages.dag, engines[e], &why))
            continue;
        expect_part(&why, RONDE_WHY_LATENCY, 2 * (1000 + 250));
        expect_part(&why, RONDE_WHY_BANDWIDTH, 1e5 + 5e4);
        expect_part(&why, RONDE_WHY_REDUCTION, 1000);
        expect_part(&why, RONDE_WHY_OVERHEAD, 5000 + 3 * 300);
        expect_part(&why, RONDE_WHY_SLOT, 0);
        expect_part(&why, RONDE_WHY_SHARING, 0);
        CU_ASSERT_DOUBLE_EQUAL(why.time_ns, replayed.result.time_ns, 1e-6);
        CU_ASSERT_EQUAL(why.largest, RONDE_WHY_BANDWIDTH);
        CU_ASSERT_EQUAL(why.path_steps, 3);
        CU_ASSERT_EQUAL(why.path_messages, 2);
        CU_ASSERT_EQUAL(why.blamed, 2);
        CU_ASSERT_STRING_EQUAL(ronde_platform_link(replayed.platform, why.bottleneck_link)->name,
                               "h_link_0_UP");
        CU_ASSERT_DOUBLE_EQUAL(why.share_of_largest, 2.0 / 3, 1e-9);
    }
    messages_free(&messages);
    replayed_free(&replayed);
}

/* Two messages into one port: each takes twice as long as alone, and half of that is waiting for the other. */
static void a_shared_port_is_waiting_for_others(void)
{
    struct replayed replayed;
    struct messages messages = {0};
    struct ronde_why why;
    if (!suite_has_simgrid())
        return;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    messages_add(&messages, 0, 2, 1e6, 0);
    messages_add(&messages, 1, 2, 1e6, 0);
    if (explain(&replayed, &messages.dag, "simgrid", &why)) {
        expect_part(&why, RONDE_WHY_BANDWIDTH, 1e5);
        expect_part(&why, RONDE_WHY_SHARING, 1e5);
        CU_ASSERT_STRING_EQUAL(ronde_platform_link(replayed.platform, why.links[0])->name,
                               "h_link_2_DOWN");
        CU_ASSERT_DOUBLE_EQUAL(why.utilisation[0], 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(why.utilisation[1], 0.5, 1e-9);
        CU_ASSERT_EQUAL(why.link_count, 3);
    }
    messages_free(&messages);
    replayed_free(&replayed);
}

/* The sender could go on at once, but its receiver needs 700 ns for each message and frees one slot at a time. */
static void a_slot_that_is_not_free_is_waiting(void)
{
    struct replayed replayed;
    struct messages messages = {0};
    struct ronde_why why;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    const uint32_t first = messages_add(&messages, 0, 1, 0, 100);
    const uint32_t taken = messages_add(&messages, 1, 1, 0, 700);
    messages_after_arrival(&messages, first);
    const uint32_t second = messages_add(&messages, 0, 2, 0, 100);
    messages_after(&messages, first);
    messages_after(&messages, taken);
    messages.dag.edges[messages.dag.edge_count - 1].is_credit = true;
    messages_add(&messages, 2, 2, 0, 50);
    messages_after_arrival(&messages, second);
    for (size_t e = 0; e < 2; e++) {
        if (!has_engine(engines[e]) || !explain(&replayed, &messages.dag, engines[e], &why))
            continue;
        expect_part(&why, RONDE_WHY_SLOT, 1000 + 700);
        expect_part(&why, RONDE_WHY_LATENCY, 1000);
        expect_part(&why, RONDE_WHY_OVERHEAD, 250);
        CU_ASSERT_EQUAL(why.largest, RONDE_WHY_SLOT);
        CU_ASSERT_EQUAL(why.bottleneck_rank, 0);
        CU_ASSERT_EQUAL(why.bottleneck_link, RONDE_NONE);
    }
    messages_free(&messages);
    replayed_free(&replayed);
}

/* A rank that starts 5 us late holds up the one that waits for it, in both engines alike. */
static void a_late_rank_is_named(void)
{
    static const double release_ns[] = {0, 5000, 0};
    struct replayed replayed;
    struct messages messages = {0};
    struct ronde_why why;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    messages_add(&messages, 1, 2, 1e4, 100);
    messages_add(&messages, 2, 2, 0, 100);
    messages_after_arrival(&messages, 0);
    replayed.options.release_ns = release_ns;
    for (size_t e = 0; e < 2; e++) {
        if (!has_engine(engines[e]) || !explain(&replayed, &messages.dag, engines[e], &why))
            continue;
        expect_part(&why, RONDE_WHY_LATE, 5000);
        CU_ASSERT_DOUBLE_EQUAL(why.time_ns, 5000 + 100 + 1000 + 1000 + 100, 1e-6);
        CU_ASSERT_EQUAL(why.largest, RONDE_WHY_LATE);
        CU_ASSERT_EQUAL(why.bottleneck_rank, 1);
    }
    messages_free(&messages);
    replayed_free(&replayed);
}

/* Real collectives with every constant: parts are never negative and add up to the time. */
static void parts_add_up_for_every_kind_of_schedule(void)
{
    static const struct {
        const char *algorithm;
        uint64_t slot_bytes;
    } cases[] = {{"ring", 0},           {"ring", 4096},      {"tree", 4096},
                 {"double_tree", 4096}, {"rabenseifner", 0}, {"recursive_doubling", 4096}};
    static const struct ronde_time_params params = {.alpha_ns = 200,
                                                    .step_ns = 50,
                                                    .launch_ns = 3000,
                                                    .gamma_GBps = 40,
                                                    .copy_GBps = 80,
                                                    .lane_GBps = 6};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t e = 0; e < 2; e++) {
            struct replayed replayed;
            struct ronde_why why;
            if (!replayed_open(&replayed, replayed_crossbar))
                return;
            if (has_engine(engines[e]) &&
                replayed_compile(&replayed, RONDE_ALL_REDUCE, cases[c].algorithm, 7, 20000,
                                 cases[c].slot_bytes, &params) &&
                explain(&replayed, replayed.dag, engines[e], &why)) {
                CU_ASSERT_DOUBLE_EQUAL(sum_of(&why) / why.time_ns, 1, 1e-9);
                CU_ASSERT_DOUBLE_EQUAL(why.time_ns / replayed.result.time_ns, 1, 1e-12);
                for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++)
                    CU_ASSERT(why.part_ns[part] >= 0);
                CU_ASSERT_EQUAL(why.link_count, RONDE_WHY_LINKS);
                CU_ASSERT_DOUBLE_EQUAL(why.utilisation[0], replayed.result.busiest_utilisation,
                                       1e-9);
            }
            replayed_free(&replayed);
        }
}

/* The path that is marked has as many operations as are counted, and each waits for the one before it. */
static void the_path_is_marked(void)
{
    static const struct ronde_time_params params = {.step_ns = 50};
    struct replayed replayed;
    struct ronde_why why;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    if (replayed_compile(&replayed, RONDE_ALL_REDUCE, "ring", 4, 1000, 0, &params) &&
        replayed_run(&replayed, replayed.dag, "flat") == RONDE_OK) {
        bool on_path[64];
        uint32_t marked = 0;
        CU_ASSERT_FATAL(replayed.dag->op_count <= 64);
        CU_ASSERT_EQUAL(ronde_why_find(&replayed.replay, ronde_mem_default(), on_path, &why, NULL),
                        RONDE_OK);
        for (uint32_t i = 0; i < replayed.dag->op_count; i++)
            marked += on_path[i] ? 1 : 0;
        CU_ASSERT_EQUAL(marked, why.path_steps);
        /* 2(N - 1) messages, each received by a step; the first step only sends. */
        CU_ASSERT_EQUAL(why.path_messages, 6);
        CU_ASSERT_EQUAL(why.path_steps, 7);
    }
    replayed_free(&replayed);
}

/* An empty run has no path and no bottleneck; without times there is nothing to explain. */
static void nothing_and_no_times(void)
{
    struct replayed replayed;
    struct messages messages = {0};
    struct ronde_why why;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    messages.dag.ranks = 2;
    if (explain(&replayed, &messages.dag, "flat", &why)) {
        CU_ASSERT_EQUAL(why.path_steps, 0);
        CU_ASSERT_EQUAL(why.link_count, 0);
        CU_ASSERT_EQUAL(why.bottleneck_rank, RONDE_NONE);
        CU_ASSERT_EQUAL(why.time_ns, 0);
    }
    const struct ronde_sim_options without = {0};
    const struct ronde_replay replay = {replayed.platform, &messages.dag, &without, 0};
    CU_ASSERT_EQUAL(ronde_why_find(&replay, ronde_mem_default(), NULL, &why, &replayed.error),
                    RONDE_BAD_ARGUMENT);
    replayed_free(&replayed);
}

static enum ronde_status find(const void *replay, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    struct ronde_why why;
    return ronde_why_find(replay, mem, NULL, &why, error);
}

static void allocation_failures_are_clean(void)
{
    struct replayed replayed;
    static const struct ronde_time_params params = {.step_ns = 50};
    const struct sweep sweep = {.what = "why", .operation = find, .context = &replayed.replay};
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    CU_ASSERT(replayed_compile(&replayed, RONDE_ALL_REDUCE, "ring", 4, 1000, 0, &params) &&
              replayed_run(&replayed, replayed.dag, "flat") == RONDE_OK);
    CU_ASSERT(sweep_run(&sweep) > 3);
    replayed_free(&replayed);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_relay_is_made_of_what_it_was_built_from", a_relay_is_made_of_what_it_was_built_from},
        {"a_shared_port_is_waiting_for_others", a_shared_port_is_waiting_for_others},
        {"a_slot_that_is_not_free_is_waiting", a_slot_that_is_not_free_is_waiting},
        {"a_late_rank_is_named", a_late_rank_is_named},
        {"parts_add_up_for_every_kind_of_schedule", parts_add_up_for_every_kind_of_schedule},
        {"the_path_is_marked", the_path_is_marked},
        {"nothing_and_no_times", nothing_and_no_times},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("why", cases, sizeof cases / sizeof cases[0]);
}
