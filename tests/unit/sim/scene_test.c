/* Several graphs at once: what they do to each other, against shares of a port by hand. */
#include "support/suite.h"
#include "support/sweep.h"

#include "messages.h"
#include "replayed.h"

#include "ronde/scene.h"

#include <math.h>
#include <string.h>

/* False after a skip: sharing needs SimGrid. */
static bool open_with_simgrid(struct replayed *replayed)
{
    const char *reason;
    memset(replayed, 0, sizeof *replayed);
    if (ronde_sim_simgrid_available(&reason))
        return replayed_open(replayed, replayed_crossbar);
    suite_skip("%s", reason);
    return false;
}

/* Replays a scene on its hosts. */
static bool run(struct replayed *replayed, const struct ronde_scene *scene, const char *engine)
{
    replayed->options.host_of = scene->host_of;
    replayed->options.release_ns = scene->release_ns;
    const enum ronde_status status = replayed_run(replayed, &scene->dag, engine);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s: %s", engine, replayed->error.message);
    return status == RONDE_OK;
}

static void expect_end(const struct replayed *replayed, const struct ronde_scene *scene,
                       uint32_t part, double expected_ns)
{
    const double end = ronde_scene_end_ns(scene, replayed->options.out_finish_ns, part);
    const bool is_right = fabs(end - expected_ns) <= 1e-9 * expected_ns;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("part %u: %.12g ns, expected %.12g", part, end, expected_ns);
}

/* Two messages out of host 0: 1 MB and 3 MB at 10 GB/s. Both at half rate until the short one ends. */
static void parts_share_the_port_of_a_host(void)
{
    static const uint32_t first_hosts[] = {0, 1}, second_hosts[] = {0, 2};
    struct replayed replayed;
    struct messages first = {0}, second = {0};
    struct ronde_scene *scene = NULL;
    if (!open_with_simgrid(&replayed))
        return;
    messages_add(&first, 0, 1, 1e6, 0);
    messages_add(&second, 0, 1, 3e6, 0);
    first.dag.ranks = second.dag.ranks = 2;
    const struct ronde_scene_part parts[] = {{&first.dag, first_hosts}, {&second.dag, second_hosts}};
    CU_ASSERT_EQUAL(ronde_scene_create(parts, 2, NULL, 0, ronde_mem_default(), &scene,
                                       &replayed.error),
                    RONDE_OK);
    if (scene && run(&replayed, scene, "simgrid")) {
        expect_end(&replayed, scene, 0, 2e5);
        expect_end(&replayed, scene, 1, 4e5);
    }
    ronde_scene_destroy(scene);
    messages_free(&first);
    messages_free(&second);
    replayed_free(&replayed);
}

/* On hosts of their own parts do not affect each other, and flat is certified. */
static void parts_apart_run_as_alone(void)
{
    static const uint32_t hosts[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    static const struct ronde_time_params params = {.step_ns = 50, .launch_ns = 2000};
    struct replayed replayed;
    struct ronde_scene *scene = NULL;
    if (!replayed_open(&replayed, replayed_crossbar) ||
        !replayed_compile(&replayed, RONDE_ALL_REDUCE, "ring", 4, 1 << 20, 0, &params))
        return;
    const struct ronde_scene_part parts[] = {{replayed.dag, hosts[0]}, {replayed.dag, hosts[1]}};
    CU_ASSERT_EQUAL(replayed_run(&replayed, replayed.dag, "flat"), RONDE_OK);
    const double alone_ns = replayed.result.time_ns;
    CU_ASSERT_EQUAL(ronde_scene_create(parts, 2, NULL, 0, ronde_mem_default(), &scene,
                                       &replayed.error),
                    RONDE_OK);
    if (scene && run(&replayed, scene, "flat")) {
        CU_ASSERT(replayed.result.is_contention_free);
        CU_ASSERT_EQUAL(scene->places[1].first_rank, 4);
        CU_ASSERT_EQUAL(scene->dag.op_count, 2 * replayed.dag->op_count);
        CU_ASSERT_EQUAL(memcmp(scene->dag.origins + replayed.dag->op_count, replayed.dag->origins,
                               replayed.dag->op_count * sizeof *scene->dag.origins),
                        0);
        expect_end(&replayed, scene, 0, alone_ns);
        expect_end(&replayed, scene, 1, alone_ns);
    }
    ronde_scene_destroy(scene);
    replayed_free(&replayed);
}

/* A message of 1 MB beside a chain of four of 1 MB: at half rate throughout, the chain then goes on at full rate. */
static void background_goes_on_from_message_to_message(void)
{
    static const uint32_t main_hosts[] = {0, 1}, flow_hosts[] = {0, 2};
    struct replayed replayed;
    struct messages alone = {0};
    struct ronde_dag *flow = NULL;
    struct ronde_scene *scene = NULL;
    if (!open_with_simgrid(&replayed))
        return;
    messages_add(&alone, 0, 1, 1e6, 0);
    alone.dag.ranks = 2;
    CU_ASSERT_EQUAL(ronde_scene_flow(500000, 4, ronde_mem_default(), &flow, NULL), RONDE_OK);
    const struct ronde_scene_part parts[] = {{&alone.dag, main_hosts}, {flow, flow_hosts}};
    CU_ASSERT_EQUAL(ronde_scene_create(parts, 2, NULL, 0, ronde_mem_default(), &scene, NULL),
                    RONDE_OK);
    if (scene && run(&replayed, scene, "simgrid")) {
        expect_end(&replayed, scene, 0, 2e5);
        expect_end(&replayed, scene, 1, 2e5 + 1e5);
    }
    ronde_scene_destroy(scene);
    ronde_dag_destroy(flow, ronde_mem_default());
    messages_free(&alone);
    replayed_free(&replayed);
}

/* Rank 1 starts 7 us late and works three times as long: 100 ns, alpha 1 us, then 300 ns after its start. */
static void stragglers_are_late_and_slow(void)
{
    static const struct ronde_straggler straggler = {1, 7000, 3};
    static const char *const engines[] = {"flat", "simgrid"};
    struct replayed replayed;
    struct messages relay = {0};
    struct ronde_scene *scene = NULL;
    const char *reason;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    messages_add(&relay, 0, 1, 0, 100);
    messages_add(&relay, 1, 1, 0, 100);
    messages_after_arrival(&relay, 0);
    const struct ronde_scene_part part = {&relay.dag, NULL};
    CU_ASSERT_EQUAL(ronde_scene_create(&part, 1, &straggler, 1, ronde_mem_default(), &scene, NULL),
                    RONDE_OK);
    for (size_t e = 0; e < 2 && scene; e++)
        if ((e == 0 || ronde_sim_simgrid_available(&reason)) && run(&replayed, scene, engines[e]))
            expect_end(&replayed, scene, 0, 7000 + 300);
    ronde_scene_destroy(scene);
    messages_free(&relay);
    replayed_free(&replayed);
}

/* Half the rate, twice the time, in both engines: SimGrid reads the file again and must be given the change. */
static void degraded_links_are_slow_in_every_engine(void)
{
    static const char *const engines[] = {"flat", "simgrid"};
    struct replayed replayed;
    struct messages messages = {0};
    const char *reason;
    if (!replayed_open(&replayed, replayed_crossbar))
        return;
    messages_add(&messages, 0, 1, 1e6, 0);
    messages_add(&messages, 1, 0, 1e6, 0);
    CU_ASSERT_EQUAL(ronde_platform_degrade(replayed.platform, "h_link_1_DOWN", 0.25, &replayed.error),
                    RONDE_OK);
    for (size_t e = 0; e < 2; e++)
        if ((e == 0 || ronde_sim_simgrid_available(&reason)) &&
            replayed_run(&replayed, &messages.dag, engines[e]) == RONDE_OK) {
            CU_ASSERT_DOUBLE_EQUAL(replayed.options.out_finish_ns[0], 4e5, 1e-3);
            CU_ASSERT_DOUBLE_EQUAL(replayed.options.out_finish_ns[1], 1e5, 1e-3);
            CU_ASSERT_STRING_EQUAL(replayed.result.busiest_link, "h_link_1_DOWN");
            CU_ASSERT_DOUBLE_EQUAL(replayed.result.busiest_utilisation, 1, 1e-9);
        }
    messages_free(&messages);
    replayed_free(&replayed);
}

static void impossible_stragglers_are_refused(void)
{
    static const struct ronde_straggler bad[] = {{2, 0, 1},  {0, -1, 1}, {0, NAN, 1},
                                                 {0, 0, 0},  {0, 0, -2}, {0, INFINITY, 1},
                                                 {0, 0, NAN}};
    struct messages messages = {0};
    messages_add(&messages, 0, 1, 1, 0);
    messages.dag.ranks = 2;
    const struct ronde_scene_part part = {&messages.dag, NULL};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ronde_scene *scene = NULL;
        struct ronde_error error = {RONDE_OK, 0, ""};
        CU_ASSERT_EQUAL(ronde_scene_create(&part, 1, &bad[i], 1, ronde_mem_default(), &scene, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(scene);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "straggler"));
    }
    messages_free(&messages);
}

static enum ronde_status make_scene(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    struct ronde_dag *flow = NULL;
    struct ronde_scene *scene = NULL;
    enum ronde_status status = ronde_scene_flow(100, 3, mem, &flow, error);
    (void)context;
    if (status == RONDE_OK) {
        const struct ronde_scene_part parts[] = {{flow, NULL}, {flow, NULL}};
        status = ronde_scene_create(parts, 2, NULL, 0, mem, &scene, error);
    }
    CU_ASSERT_EQUAL(status == RONDE_OK, scene != NULL);
    ronde_scene_destroy(scene);
    ronde_dag_destroy(flow, mem);
    return status;
}

static void allocation_failures_are_clean(void)
{
    const struct sweep sweep = {.what = "scene", .operation = make_scene};
    CU_ASSERT(sweep_run(&sweep) > 6);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"parts_share_the_port_of_a_host", parts_share_the_port_of_a_host},
        {"parts_apart_run_as_alone", parts_apart_run_as_alone},
        {"background_goes_on_from_message_to_message", background_goes_on_from_message_to_message},
        {"stragglers_are_late_and_slow", stragglers_are_late_and_slow},
        {"degraded_links_are_slow_in_every_engine", degraded_links_are_slow_in_every_engine},
        {"impossible_stragglers_are_refused", impossible_stragglers_are_refused},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("scene", cases, sizeof cases / sizeof cases[0]);
}
