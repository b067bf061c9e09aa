/* The replay engines: the time model against numbers by hand and against each other, and what happens on failure. */
#include "support/suite.h"

#include "messages.h"
#include "ronde/sim.h"
#include "support/built_with.h"
#include "unit/platform_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD                                                                                       \
    "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"

/* Four hosts with ports of 10 GB/s and 1 us. */
static const char crossbar[] =
    HEAD "<platform version=\"4.1\"><cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"0-3\" "
         "speed=\"1Gf\" bw=\"10GBps\" lat=\"1us\"/></platform>\n";

/* All kinds of links and zones; a route of b crosses link d twice. */
static const char mixture[] = HEAD
    "<platform version=\"4.1\"><zone id=\"w\" routing=\"Dijkstra\">"
    "<cluster id=\"c\" prefix=\"c\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" bw=\"10GBps\" "
    "lat=\"2us\" bb_bw=\"5GBps\" bb_lat=\"1us\" limiter_link=\"4GBps\" router_id=\"rc\"/>"
    "<zone id=\"f\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
    "<router id=\"rf\"/>"
    "<link id=\"d\" bandwidth=\"2GBps\" latency=\"100ns\"/>"
    "<link id=\"e\" bandwidth=\"1GBps\" latency=\"3us\" sharing_policy=\"FATPIPE\"/>"
    "<link id=\"p\" bandwidth=\"3GBps\" latency=\"7ns\" sharing_policy=\"SPLITDUPLEX\"/>"
    "<route src=\"a\" dst=\"b\"><link_ctn id=\"d\"/><link_ctn id=\"d\"/></route>"
    "<route src=\"a\" dst=\"rf\"><link_ctn id=\"p\" direction=\"UP\"/></route>"
    "<route src=\"b\" dst=\"rf\"><link_ctn id=\"e\"/></route></zone>"
    "<link id=\"u\" bandwidth=\"8GBps\" latency=\"5us\" sharing_policy=\"SPLITDUPLEX\"/>"
    "<zoneRoute src=\"c\" dst=\"f\" gw_src=\"rc\" gw_dst=\"rf\">"
    "<link_ctn id=\"u\" direction=\"UP\"/></zoneRoute></zone></platform>\n";

/* A platform and a graph, made and freed together. */
struct stage {
    char path[PLATFORM_TEXT_PATH_BYTES];
    struct ronde_platform *platform;
    struct messages messages;
    struct ronde_sim_result result;
    struct ronde_error error;
};

static bool stage_begin(struct stage *stage, const char *text)
{
    memset(stage, 0, sizeof *stage);
    return platform_text_keep(text, stage->path, &stage->platform);
}

static void stage_end(struct stage *stage)
{
    platform_text_drop(stage->path, stage->platform);
    messages_free(&stage->messages);
}

/* The same where SimGrid is needed; false after a skip. */
static bool stage_begin_simgrid(struct stage *stage, const char *text)
{
    memset(stage, 0, sizeof *stage);
    return suite_has_simgrid() && stage_begin(stage, text);
}

static enum ronde_status run_simgrid(struct stage *stage, const struct ronde_sim_options *options)
{
    stage->error.status = RONDE_OK;
    return ronde_sim_simgrid(stage->platform, &stage->messages.dag, options, &stage->result,
                             &stage->error);
}

static enum ronde_status run_flat(struct stage *stage, const struct ronde_sim_options *options)
{
    stage->error.status = RONDE_OK;
    return ronde_sim_flat(stage->platform, &stage->messages.dag, options, ronde_mem_default(),
                          &stage->result, &stage->error);
}

static void expect_time(const struct stage *stage, enum ronde_status status, double expected_ns)
{
    CU_ASSERT_EQUAL(status, RONDE_OK);
    const bool is_right = fabs(stage->result.time_ns - expected_ns) <= 1e-9 * expected_ns;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: %.17g ns, expected %.17g %s", stage->result.engine, stage->result.time_ns,
                   expected_ns, stage->error.message);
}

static void expect_refused(const struct stage *stage, enum ronde_status status,
                           enum ronde_status expected, const char *says)
{
    CU_ASSERT_EQUAL(status, expected);
    CU_ASSERT_PTR_NOT_NULL(strstr(stage->error.message, says));
    if (!strstr(stage->error.message, says))
        suite_note("wanted \"%s\", got \"%s\"", says, stage->error.message);
}

/* Both engines, where both are there. */
static void expect_both(struct stage *stage, double expected_ns)
{
    const char *reason;
    expect_time(stage, run_flat(stage, NULL), expected_ns);
    CU_ASSERT(stage->result.is_contention_free);
    if (ronde_sim_simgrid_available(&reason))
        expect_time(stage, run_simgrid(stage, NULL), expected_ns);
}

/* 0 -> 1 -> 2: delay, flow, alpha, delay, flow, alpha, delay; launch once. */
static void a_relay_costs_what_the_time_model_says(void)
{
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 300);
    messages_add(&stage.messages, 1, 2, 1e6, 300);
    messages_after_arrival(&stage.messages, 0);
    messages_add(&stage.messages, 2, 2, 0, 300);
    messages_after_arrival(&stage.messages, 1);
    stage.messages.dag.alpha_ns = 250;
    stage.messages.dag.launch_ns = 5000;
    expect_both(&stage, 5000 + 3 * 300 + 2 * (1e5 + 2000 + 250));
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "x_link_0_UP");
    stage_end(&stage);
}

/* Empty messages pay alpha and their delay; a message to oneself takes no time at all. */
static void empty_and_own_messages_do_not_flow(void)
{
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 0, 300);
    messages_add(&stage.messages, 1, 1, 1e9, 40);
    messages_after_arrival(&stage.messages, 0);
    messages_add(&stage.messages, 1, 1, 0, 0);
    messages_after(&stage.messages, 1);
    stage.messages.dag.alpha_ns = 250;
    expect_both(&stage, 300 + 2000 + 250 + 40);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "");
    stage_end(&stage);
}

/* 1 MB at 4 of the port's 10 GB/s; two such flows share the port without touching each other, three do not. */
static void lanes_cap_flows(void)
{
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    stage.messages.dag.lane_GBps = 4;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    expect_both(&stage, 250e3);
    messages_add(&stage.messages, 0, 2, 1e6, 0);
    expect_both(&stage, 250e3);
    messages_add(&stage.messages, 0, 3, 1e6, 0);
    CU_ASSERT_EQUAL(run_flat(&stage, NULL), RONDE_OK);
    CU_ASSERT_FALSE(stage.result.is_contention_free);
    stage_end(&stage);
    if (!stage_begin_simgrid(&stage, crossbar))
        return;
    stage.messages.dag.lane_GBps = 4;
    for (uint32_t to = 1; to < 4; to++)
        messages_add(&stage.messages, 0, to, 1e6, 0);
    expect_time(&stage, run_simgrid(&stage, NULL), 300e3);
    CU_ASSERT_DOUBLE_EQUAL(stage.result.busiest_utilisation, 1, 1e-9);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "x_link_0_UP");
    stage_end(&stage);
}

/* Touching ends are no overlap, a nanosecond of overlap is one. */
static void certificate_is_exact_at_the_ends(void)
{
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    messages_add(&stage.messages, 0, 2, 1e6, 1e5);
    CU_ASSERT_EQUAL(run_flat(&stage, NULL), RONDE_OK);
    CU_ASSERT(stage.result.is_contention_free);
    CU_ASSERT_DOUBLE_EQUAL(stage.result.busiest_utilisation, 1, 1e-12);
    stage.messages.dag.ops[1].delay_ns = 1e5 - 1;
    CU_ASSERT_EQUAL(run_flat(&stage, NULL), RONDE_OK);
    CU_ASSERT_FALSE(stage.result.is_contention_free);
    /* Opposite directions of a port are two links. */
    stage.messages.dag.ops[1] = (struct ronde_dag_op){.src = 1, .dst = 0, .bytes = 1000000};
    CU_ASSERT_EQUAL(run_flat(&stage, NULL), RONDE_OK);
    CU_ASSERT(stage.result.is_contention_free);
    stage_end(&stage);
}

/* One message at a time over every pair of a platform with all kinds of links: routes, rates and latencies agree. */
static void engines_agree_on_every_pair(void)
{
    struct stage stage;
    double flat_ns[64];
    double simgrid_ns[64];
    const struct ronde_sim_options flat = {.out_finish_ns = flat_ns};
    const struct ronde_sim_options simgrid = {.out_finish_ns = simgrid_ns};
    if (!stage_begin_simgrid(&stage, mixture))
        return;
    const uint32_t hosts = ronde_platform_facts(stage.platform)->hosts;
    CU_ASSERT_EQUAL(hosts, 5);
    for (uint32_t pair = 0; pair < hosts * hosts; pair++) {
        const uint32_t src = pair / hosts;
        const uint32_t dst = pair % hosts;
        if (src == dst)
            continue;
        const uint32_t sent = messages_add(&stage.messages, src, dst, 10000 + pair, 11);
        if (sent > 0)
            messages_after(&stage.messages, sent - 1);
        messages_add(&stage.messages, dst, dst, 0, 0);
        messages_after_arrival(&stage.messages, sent);
    }
    CU_ASSERT_EQUAL(run_flat(&stage, &flat), RONDE_OK);
    CU_ASSERT(stage.result.is_contention_free);
    CU_ASSERT_EQUAL(run_simgrid(&stage, &simgrid), RONDE_OK);
    double worst = 0;
    for (uint32_t i = 0; i < stage.messages.dag.op_count; i++)
        worst = fmax(worst, fabs(flat_ns[i] - simgrid_ns[i]) / flat_ns[i]);
    suite_note("%u operations, worst relative difference %.1e", stage.messages.dag.op_count, worst);
    CU_ASSERT(worst < 1e-9);
    stage_end(&stage);
}

/* The two library files, one ring round all hosts: certified, and SimGrid agrees. */
static void library_files_replay(void)
{
    static const char *const files[] = {"topologies/crossbar-64.xml",
                                        "topologies/fat-tree-2to1-64.xml"};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < 2; i++) {
        struct stage stage = {0};
        char path[1024];
        const struct messages_request request = {"ring", 64, 64e6, 1000, 500, ""};
        if (!suite_source(path, sizeof path, files[i]))
            return;
        CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &stage.platform, &stage.error),
                        RONDE_OK);
        CU_ASSERT(messages_build(&stage.messages, &request));
        if (stage.platform)
            expect_both(&stage, 126 * (1000 + 1e6 / 50) + 63 * 500);
        stage_end(&stage);
    }
}

/* A machine: memory of 10 GB/s, two cores; a step takes 100 ns, then moves 8000 bytes in 1000 ns if alone. */
static bool shared_begin(struct stage *stage, double core_step_ns, uint32_t ranks)
{
    char text[1024];
    snprintf(text, sizeof text,
             HEAD
             "<platform version=\"4.1\"><cluster id=\"m\" prefix=\"r\" suffix=\"\" "
             "radical=\"0-7\" speed=\"1Gf\" bw=\"1GBps\" lat=\"25ns\" bb_bw=\"10GBps\">"
             "<prop id=\"ronde.memory_GBps\" value=\"10\"/><prop id=\"ronde.cores\" value=\"2\"/>"
             "<prop id=\"ronde.core_step_ns\" value=\"%g\"/></cluster></platform>",
             core_step_ns);
    if (!stage_begin_simgrid(stage, text))
        return false;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        messages_add(&stage->messages, rank, (rank + 1) % 8, 4000, 1100);
        stage->messages.dag.ops[rank].stage_ns = 1000;
        stage->messages.dag.ops[rank].touched_bytes = 8000;
    }
    return true;
}

static void one_rank_of_a_shared_host_is_not_slowed(void)
{
    struct stage stage;
    if (!shared_begin(&stage, 0, 1))
        return;
    /* Neither the 1 GB/s port nor a flow of its message counts. */
    expect_time(&stage, run_simgrid(&stage, NULL), 1100);
    messages_add(&stage.messages, 1, 1, 0, 100);
    messages_after_arrival(&stage.messages, 0);
    expect_time(&stage, run_simgrid(&stage, NULL), 1100 + 50 + 100);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "m_backbone");
    stage_end(&stage);
}

/* Two at a time: each gets 5 of the memory's 10 GB/s, so 8000 bytes take 1600 ns; the next two wait for the cores. */
static void ranks_of_a_shared_host_share_cores_and_memory(void)
{
    struct stage stage;
    double finish_ns[4];
    const struct ronde_sim_options options = {.out_finish_ns = finish_ns};
    if (!shared_begin(&stage, 0, 4))
        return;
    expect_time(&stage, run_simgrid(&stage, &options), 2 * (100 + 1600));
    CU_ASSERT_DOUBLE_EQUAL(finish_ns[0], 1700, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(finish_ns[1], 1700, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(finish_ns[2], 3400, 1e-6);
    stage_end(&stage);
}

/* Of the step's 100 ns only 40 need a core: the other 60 pass before, for all ranks at once. */
static void core_time_is_what_cores_are_held_for(void)
{
    struct stage stage;
    if (!shared_begin(&stage, 40, 4))
        return;
    expect_time(&stage, run_simgrid(&stage, NULL), 60 + 2 * (40 + 1600));
    stage_end(&stage);
}

static void flat_refuses_shared_hosts_and_auto_does_not(void)
{
    struct stage stage;
    if (!shared_begin(&stage, 0, 4))
        return;
    expect_refused(&stage, run_flat(&stage, NULL), RONDE_UNSUPPORTED, "ranks share cores or memory");
    stage.error.status = RONDE_OK;
    const enum ronde_status status =
        ronde_sim_auto(stage.platform, &stage.messages.dag, NULL, ronde_mem_default(),
                       &stage.result, &stage.error);
    expect_time(&stage, status, 3400);
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "simgrid");
    stage_end(&stage);
}

static void auto_takes_flat_only_where_it_is_exact(void)
{
    struct stage stage;
    if (!stage_begin_simgrid(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    CU_ASSERT_EQUAL(ronde_sim_auto(stage.platform, &stage.messages.dag, NULL, ronde_mem_default(),
                                   &stage.result, NULL),
                    RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "flat");
    messages_add(&stage.messages, 2, 1, 1e6, 0);
    const enum ronde_status status = ronde_sim_auto(stage.platform, &stage.messages.dag, NULL,
                                                    ronde_mem_default(), &stage.result, NULL);
    expect_time(&stage, status, 2e5);
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "simgrid");
    stage_end(&stage);
}

static void hosts_can_be_chosen_per_rank(void)
{
    static const uint32_t spread[] = {3, 1};
    static const uint32_t co_run[] = {2, 2};
    static const uint32_t beyond[] = {0, 4};
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    expect_time(&stage, run_flat(&stage, &(struct ronde_sim_options){.host_of = spread}), 1e5);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "x_link_1_DOWN");
    expect_time(&stage, run_flat(&stage, &(struct ronde_sim_options){.host_of = co_run}), 0);
    expect_refused(&stage, run_flat(&stage, &(struct ronde_sim_options){.host_of = beyond}),
                   RONDE_BAD_INPUT, "rank 1 on host 4, but it has 4 hosts");
    messages_add(&stage.messages, 4, 0, 1, 0);
    expect_refused(&stage, run_flat(&stage, NULL), RONDE_BAD_INPUT, "5 ranks, but it has 4 hosts");
    stage_end(&stage);
}

static void pairs_without_route_are_refused_before_the_replay(void)
{
    static const char text[] = HEAD
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/>"
        "<host id=\"h1\" speed=\"1Gf\"/><host id=\"h2\" speed=\"1Gf\"/>"
        "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0\" sharing_policy=\"SPLITDUPLEX\"/>"
        "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\" direction=\"UP\"/></route>"
        "</zone></platform>";
    struct stage stage;
    if (!stage_begin_simgrid(&stage, text))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    expect_both(&stage, 1e6);
    messages_add(&stage.messages, 1, 2, 1e6, 0);
    expect_refused(&stage, run_flat(&stage, NULL), RONDE_BAD_INPUT, "no route from h1 to h2");
    expect_refused(&stage, run_simgrid(&stage, NULL), RONDE_BAD_INPUT, "no route from h1 to h2");
    stage_end(&stage);
}

static void graphs_out_of_order_are_refused(void)
{
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 1, 0);
    messages_after(&stage.messages, 0);
    expect_refused(&stage, run_flat(&stage, NULL), RONDE_BAD_ARGUMENT,
                   "operation 0 waits for operation 0");
    stage.messages.dag.ops[0].edge_count = 0;
    messages_add(&stage.messages, 2, 3, 1, 0);
    messages_after_arrival(&stage.messages, 0);
    expect_refused(&stage, run_flat(&stage, NULL), RONDE_BAD_ARGUMENT,
                   "operation 1 of rank 2 takes a message");
    stage.messages.dag.ops[1].edge_count = 0;
    stage.messages.dag.ranks = 3;
    expect_refused(&stage, run_flat(&stage, NULL), RONDE_BAD_ARGUMENT, "operation 1: rank 3 of 3");
    stage_end(&stage);
}

/* 1 MB at 1 GB/s and 1 us under SimGrid's TCP model: 13.01 latencies, 97 % of the bandwidth. */
static void flags_and_native_latency_reach_simgrid(void)
{
    static const char text[] = HEAD
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/>"
        "<host id=\"h1\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>"
        "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\"/></route></zone></platform>";
    static const char *const cfg[] = {"network/model:LV08", NULL};
    const struct ronde_sim_options options = {.cfg = cfg, .native_latency = true};
    struct stage stage;
    if (!stage_begin_simgrid(&stage, text))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    expect_time(&stage, run_simgrid(&stage, &options), 13010 + 1e6 / 0.97);
    expect_time(&stage, run_simgrid(&stage, NULL), 1e6);
    stage_end(&stage);
}

/* An unknown flag throws, an unknown model aborts: both are errors here, and the next replay works. */
static void a_dying_simgrid_is_an_error(void)
{
    static const char *const no_model[] = {"network/model:nosuch", NULL};
    static const char *const no_flag[] = {"no/such:flag", NULL};
    struct stage stage;
    if (!stage_begin_simgrid(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    expect_refused(&stage, run_simgrid(&stage, &(struct ronde_sim_options){.cfg = no_model}),
                   RONDE_DEVICE, "SimGrid died of signal 6");
    CU_ASSERT_PTR_NOT_NULL(strstr(stage.error.message, "nosuch"));
    expect_refused(&stage, run_simgrid(&stage, &(struct ronde_sim_options){.cfg = no_flag}),
                   RONDE_BAD_INPUT, "no/such");
    expect_time(&stage, run_simgrid(&stage, NULL), 1e5);
    stage_end(&stage);
}

/* Half a million messages take about a second; the limit is a millisecond. */
static void a_replay_ends_at_its_limit(void)
{
    const struct messages_request request = {"ring", 4, 4e6, 10, 0, ""};
    struct stage stage;
    if (!stage_begin_simgrid(&stage, crossbar))
        return;
    for (uint32_t i = 0; i < 20000; i++)
        (void)messages_build(&stage.messages, &request);
    CU_ASSERT_EQUAL(stage.messages.dag.op_count, 20000 * 24);
    expect_refused(&stage, run_simgrid(&stage, &(struct ronde_sim_options){.time_limit_s = 0.001}),
                   RONDE_TIMEOUT, "longer than its limit of 0.001 s");
    stage_end(&stage);
}

/* A chain of operations that take no time is as deep as it is long; neither engine may recurse along it. */
static void long_chains_of_nothing_are_no_recursion(void)
{
    struct stage stage;
    if (!stage_begin(&stage, crossbar))
        return;
    messages_add(&stage.messages, 0, 0, 0, 1);
    for (uint32_t i = 1; i < 300000; i++) {
        messages_add(&stage.messages, 0, 0, 0, 0);
        messages_after(&stage.messages, i - 1);
    }
    expect_both(&stage, 1);
    stage_end(&stage);
}

static void absent_simgrid_says_which_package(void)
{
    const char *text;
    if (ronde_sim_simgrid_available(&text)) {
        CU_ASSERT(strlen(text) > strlen("SimGrid 4."));
        CU_ASSERT_EQUAL(strncmp("SimGrid " RONDE_SIMGRID_VERSION, text, strlen(text)), 0);
        return;
    }
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_sim_simgrid(NULL, NULL, NULL, &result, &error), RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "install libsimgrid-dev"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "install libsimgrid-dev"));
}

static void absent_libxml2_says_which_package(void)
{
    const char *text;
    if (ronde_topologies_available(&text)) {
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "libxml2 2."));
        return;
    }
    struct ronde_platform *platform;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_platform_read("any.xml", ronde_mem_default(), &platform, &error),
                    RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NULL(platform);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "install libxml2-dev"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_relay_costs_what_the_time_model_says),
        SUITE_CASE(empty_and_own_messages_do_not_flow),
        SUITE_CASE(lanes_cap_flows),
        SUITE_CASE(certificate_is_exact_at_the_ends),
        SUITE_CASE(engines_agree_on_every_pair),
        SUITE_CASE(library_files_replay),
        SUITE_CASE(one_rank_of_a_shared_host_is_not_slowed),
        SUITE_CASE(ranks_of_a_shared_host_share_cores_and_memory),
        SUITE_CASE(core_time_is_what_cores_are_held_for),
        SUITE_CASE(flat_refuses_shared_hosts_and_auto_does_not),
        SUITE_CASE(auto_takes_flat_only_where_it_is_exact),
        SUITE_CASE(hosts_can_be_chosen_per_rank),
        SUITE_CASE(pairs_without_route_are_refused_before_the_replay),
        SUITE_CASE(graphs_out_of_order_are_refused),
        SUITE_CASE(flags_and_native_latency_reach_simgrid),
        SUITE_CASE(a_dying_simgrid_is_an_error),
        SUITE_CASE(a_replay_ends_at_its_limit),
        SUITE_CASE(long_chains_of_nothing_are_no_recursion),
        SUITE_CASE(absent_simgrid_says_which_package),
        SUITE_CASE(absent_libxml2_says_which_package),
    };
    return suite_run("sim", cases, sizeof cases / sizeof cases[0]);
}
