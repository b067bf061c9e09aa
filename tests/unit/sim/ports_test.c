/*
 * The replay with packets: by hand where that is possible, and against flat where messages do not
 * contend.
 */
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "swept.h"
#include "unit/leaves.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

/* Hosts with ports of 1 GB/s, 1 us apart; props in the middle. */
#define BEGIN "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"
#define END                                                                                        \
    "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"1GBps\" "       \
    "lat=\"500ns\"/></zone></platform>"
#define PROP(name, value) "<prop id=\"ronde." name "\" value=\"" value "\"/>"

/* What is replayed. */
struct play {
    const char *text; /* of the platform */
    enum ronde_collective collective;
    const char *algorithm;
    uint32_t ranks;
    uint64_t bytes; /* of a block */
    uint64_t slot_bytes;
};

static double replay_with(const struct play *play, const char *engine,
                          const struct ronde_sim_options *options)
{
    const struct ronde_compile_request request = {.collective = play->collective,
                                                  .algorithm = play->algorithm,
                                                  .ranks = play->ranks};
    const struct ronde_load load = {play->bytes / 4, RONDE_FLOAT32, play->slot_bytes, 0};
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_platform *platform = NULL;
    struct ronde_schedule *schedule = NULL;
    struct ronde_sim_result result = {0};
    struct ronde_error error = {0};
    platform = platform_text_good(play->text);
    if (!platform)
        return -1.0;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, mem, NULL, &schedule, &error), RONDE_OK);
    const struct ronde_time_params params = ronde_platform_time(platform, play->ranks, 0);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    CU_ASSERT_EQUAL(ronde_sim_job_run(&job, engine, options, mem, &result, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(result.engine, engine);
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
    return result.time_ns;
}

/* With hosts that come later. */
static double replay_released(const struct play *play, const char *engine, const double *release_ns)
{
    const struct ronde_sim_options options = {.release_ns = release_ns};
    return replay_with(play, engine, &options);
}

static double replay(const struct play *play, const char *engine)
{
    return replay_with(play, engine, NULL);
}

static void expect(const struct play *play, double expected_ns)
{
    const double got_ns = replay(play, "ports");
    const bool is_right = fabs(got_ns - expected_ns) <= 1e-9 * expected_ns;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: %.17g ns, expected %.17g", play->algorithm, got_ns, expected_ns);
}

/*
 * Two steps of 100 ns (one processor makes its own copy, too, before it posts), 8 us of bytes, 1 us of way, a step.
 * Without steps it is the time model, as no rank waits for another.
 */
static void alone_it_is_the_time_model(void)
{
    struct play chain = {BEGIN PROP("step_ns", "100") END, RONDE_BROADCAST, "chain", 2, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    expect(&chain, 9300);
    chain.text = BEGIN END;
    CU_ASSERT_EQUAL(replay(&chain, "flat"), replay(&chain, "ports"));
}

/*
 * The receiver of a ring's message awaits a handshake, which arrives before the message: no send
 * waits for it.
 */
static void handshakes_hold_up_no_sends(void)
{
    struct play ring = {BEGIN PROP("step_ns", "100") END, RONDE_ALL_GATHER, "ring", 2, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    expect(&ring, 9300);
    ring.text = BEGIN PROP("step_ns", "100") PROP("launch_ns", "1500") END;
    expect(&ring, 1500 + 9300);
}

/* Both ports of the way are token buckets that are full: what they pass at once is saved once. */
static void a_port_that_was_idle_passes_a_burst(void)
{
    const struct play chain = {BEGIN PROP("burst_bytes", "3000") PROP("segment_bytes", "1000") END,
                               RONDE_BROADCAST,
                               "chain",
                               2,
                               8000,
                               0};
    if (!suite_can_read_platforms())
        return;
    expect(&chain, 8000 - 3000 + 1000);
}

/* A bucket that holds no packet is a cable: what it holds is not saved. */
static void less_than_a_packet_is_no_burst(void)
{
    const struct play chain = {BEGIN PROP("burst_bytes", "999") PROP("segment_bytes", "1000") END,
                               RONDE_BROADCAST,
                               "chain",
                               2,
                               8000,
                               0};
    if (!suite_can_read_platforms())
        return;
    expect(&chain, 8000 + 1000);
}

/*
 * Two messages of eight packets into one port: the first packets arrive after 1 us of sending, 1 us
 * of way and the handshakes' 1 us; the port then works 16 us, less the packet that it passes as it
 * comes.
 */
static void packets_of_two_senders_mix(void)
{
    const struct play gather = {
        BEGIN PROP("segment_bytes", "1000") END, RONDE_GATHER, "direct", 3, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    expect(&gather, 1000 + 1000 + 16000 - 1000);
}

/*
 * 3 sends a block to 2, which sends two to 0 from 9 us on: they hold the port of 0 from 10 to 26 us. A block of 1 that
 * begins to arrive meanwhile is done 8 us after them, also where its end came before theirs; one that comes before is
 * done as it comes.
 */
static void who_begins_to_arrive_first_goes_first(void)
{
    static const double comes_ns[] = {12000, 20000, 100};
    static const double ends_ns[] = {34000, 34000, 26000};
    const struct play gather = {BEGIN END, RONDE_GATHER, "binomial", 4, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof comes_ns / sizeof comes_ns[0]; i++) {
        const double release_ns[] = {0, comes_ns[i], 0, 0};
        const double got_ns = replay_released(&gather, "ports", release_ns);
        CU_ASSERT_DOUBLE_EQUAL(got_ns, ends_ns[i], 1e-6);
        if (fabs(got_ns - ends_ns[i]) > 1e-6)
            suite_note("1 comes at %g ns: %.17g", comes_ns[i], got_ns);
    }
}

/*
 * A ring of three sends two handshakes a host. The second, of 224 bytes, goes before the message; the first is in the
 * launch.
 */
static void handshakes_go_before_messages(void)
{
    const struct play ring = {BEGIN END, RONDE_REDUCE_SCATTER, "ring", 3, 8000, 0};
    const struct play alone = {BEGIN END, RONDE_BROADCAST, "chain", 2, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_DOUBLE_EQUAL(replay(&ring, "ports"), replay(&ring, "flat") + 224, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(replay(&alone, "ports"), replay(&alone, "flat"), 1e-6);
}

/* A lane goes on while its message queues: two sends and a copy take a step each, and the second queues behind the first. */
static void sends_do_not_hold_up_their_lane(void)
{
    const struct play scatter = {
        BEGIN PROP("step_ns", "100") END, RONDE_SCATTER, "direct", 3, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    expect(&scatter, 300 + 16000 + 1000 + 100);
}

/* The switch takes packets one by one: of two that arrive at the same time the second waits. */
static void packets_take_turns_in_the_switch(void)
{
    struct play ring = {BEGIN PROP("switch_ns", "50") END, RONDE_ALL_GATHER, "ring", 2, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    expect(&ring, 8000 + 1000 + 50);
    ring.collective = RONDE_BROADCAST;
    ring.algorithm = "chain";
    expect(&ring, 8000 + 1000);
}

/*
 * Hosts that share one processor take turns: rank 1 begins when rank 0 has sent, which is when the clock starts, and rank
 * 0 takes its message when rank 1 has taken the other one.
 */
static void hosts_take_turns_on_a_processor(void)
{
    struct play ring = {BEGIN PROP("step_ns", "20000") PROP("processors", "2") END,
                        RONDE_ALL_GATHER,
                        "ring",
                        2,
                        8000,
                        0};
    if (!suite_can_read_platforms())
        return;
    expect(&ring, 2 * 20000 + 9000 + 20000);
    ring.text = BEGIN PROP("step_ns", "20000") PROP("processors", "1") END;
    expect(&ring, 2 * 20000 + 20000 + 20000);
}

/* A launch is what each host takes before it sends; the last to begin starts the clock. */
static void a_launch_takes_a_processor(void)
{
    struct play chain = {BEGIN PROP("launch_ns", "500") PROP("processors", "2") END,
                         RONDE_BROADCAST,
                         "chain",
                         2,
                         8000,
                         0};
    if (!suite_can_read_platforms())
        return;
    expect(&chain, 500 + 9000);
    chain.text = BEGIN PROP("launch_ns", "500") PROP("processors", "1") END;
    expect(&chain, 9000);
}

/*
 * However long a host that sleeps takes to wake, all begin by the clock: a random draw only decides
 * which gets a processor first.
 */
static void all_begin_at_once(void)
{
    const struct play ring = {BEGIN PROP("jitter_ns", "400") PROP("processors", "8") END,
                              RONDE_ALL_GATHER,
                              "ring",
                              8,
                              8000,
                              0};
    double start_ns[1000];
    const size_t capacity = sizeof start_ns / sizeof *start_ns;
    const struct ronde_sim_options options = {.out_start_ns = start_ns};
    uint32_t began = 0, later = 0;
    if (!suite_can_read_platforms())
        return;
    for (size_t op = 0; op < capacity; op++)
        start_ns[op] = -1.0;
    CU_ASSERT(replay_with(&ring, "ports", &options) > 0.0);
    for (size_t op = 0; op < capacity; op++) {
        began += start_ns[op] >= 0.0 && start_ns[op] < 1.0;
        later += start_ns[op] >= 1.0;
    }
    CU_ASSERT(began >= 8);
    CU_ASSERT(later > 0);
}

/*
 * What stands around a message holds up the next one. A lone message on a cable is not later for it, as that is in the
 * latency; one that finds a bucket empty waits for all of it.
 */
static void headers_take_their_time(void)
{
    const struct play rows[] = {
        {BEGIN PROP("header_bytes", "200") END, RONDE_BROADCAST, "chain", 2, 8000, 0},
        {BEGIN PROP("header_bytes", "200") END, RONDE_BROADCAST, "chain", 2, 8000, 2000},
        {BEGIN PROP("header_bytes", "200") PROP("burst_bytes", "3000") END, RONDE_BROADCAST,
         "chain", 2, 8000, 0},
        {BEGIN PROP("header_bytes", "200") PROP("burst_bytes", "9000") END, RONDE_BROADCAST,
         "chain", 2, 8000, 0},
    };
    /* A second bucket is never smaller than the message: it lets it go at once. */
    const double expected_ns[] = {9000, 9000 + 3 * 200, 8200 - 3000 + 1000, 1000};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(&rows[i], expected_ns[i]);
}

/* How long a host takes to wake is random, the same in every replay; the mean is in the latency. */
static void waking_by_chance_is_the_same_every_time(void)
{
    struct play ring = {BEGIN PROP("jitter_ns", "400") END, RONDE_ALL_GATHER, "ring", 8, 8000, 0};
    if (!suite_can_read_platforms())
        return;
    const double some_ns = replay(&ring, "ports");
    CU_ASSERT_DOUBLE_EQUAL(replay(&ring, "ports"), some_ns, 0.0);
    ring.text = BEGIN END;
    const double none_ns = replay(&ring, "ports");
    CU_ASSERT(some_ns > none_ns - 7 * 400 && some_ns < none_ns + 7 * 4 * 400);
    CU_ASSERT(fabs(some_ns - none_ns) > 1.0);
    ring.text = BEGIN PROP("jitter_ns", "0") PROP("jitter_GBps", "20") END;
    CU_ASSERT(fabs(replay(&ring, "ports") - none_ns) > 1.0);
}

/* What a byte costs each way while both are busy is the file's rate; alone it is faster by the acknowledgements. */
static void acknowledgements_take_their_share(void)
{
    const struct play alone = {BEGIN PROP("segment_bytes", "1000") PROP("reverse_share", "0.25") END,
                               RONDE_BROADCAST,
                               "chain",
                               2,
                               1000000,
                               0};
    struct play both = alone;
    if (!suite_can_read_platforms())
        return;
    expect(&alone, 1000000 / 1.25 + 1000);
    both.collective = RONDE_ALL_GATHER;
    both.algorithm = "ring";
    /* Up to what is still to be acknowledged when the last byte leaves. */
    CU_ASSERT_DOUBLE_EQUAL(replay(&both, "ports"), 1000000 + 2000, 4000);
}

/* With one slot, every piece awaits the credit of the one before. */
static void pieces_await_credit(void)
{
    struct ronde_platform *platform = NULL;
    const struct ronde_time_params params = {0};
    const struct ronde_load load = {2000, RONDE_FLOAT32, 1000, 1};
    struct ronde_sim_result result;
    if (!suite_can_read_platforms())
        return;
    platform = platform_text_good(BEGIN PROP("segment_bytes", "1000") END);
    struct ronde_schedule *schedule = leaves_compile(RONDE_BROADCAST, "chain", 2);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    CU_ASSERT_EQUAL(ronde_sim_job_run(&job, "ports", NULL, ronde_mem_default(), &result, NULL),
                    RONDE_OK);
    /* Pieces of 992 bytes, eight and a rest; there 1 us, back 1 us. A byte is 1 ns. */
    CU_ASSERT_DOUBLE_EQUAL(result.time_ns, 8000 + 9 * 1000 + 8 * 1000, 1e-6);
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
}

/* Lanes have no order without names, and shared hosts no ports. */
static void what_it_cannot_replay_is_refused(void)
{
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(BEGIN END);
    struct ronde_schedule *schedule = leaves_compile(RONDE_BROADCAST, "chain", 2);
    const struct ronde_load load = {16, RONDE_FLOAT32, 0, 0};
    struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
    CU_ASSERT_EQUAL(ronde_sim_ports(platform, dag, NULL, ronde_mem_default(), &result, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "named"));
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
}

static void allocation_failures_are_clean(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(
        BEGIN PROP("segment_bytes", "512") PROP("processors", "2") PROP("jitter_ns", "100") END);
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "double_tree", 8);
    const struct ronde_load load = leaves_load(schedule, 12, 4096);
    const struct ronde_time_params params = {0};
    struct ronde_dag *dag = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_dag_create_named(schedule, &load, &params, ronde_mem_default(),
                                                 &dag, NULL),
                          RONDE_OK);
    swept_graph(ronde_sim_ports, platform, dag, 10);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"alone_it_is_the_time_model", alone_it_is_the_time_model},
        {"handshakes_hold_up_no_sends", handshakes_hold_up_no_sends},
        {"a_port_that_was_idle_passes_a_burst", a_port_that_was_idle_passes_a_burst},
        {"less_than_a_packet_is_no_burst", less_than_a_packet_is_no_burst},
        {"packets_of_two_senders_mix", packets_of_two_senders_mix},
        {"who_begins_to_arrive_first_goes_first", who_begins_to_arrive_first_goes_first},
        {"handshakes_go_before_messages", handshakes_go_before_messages},
        {"sends_do_not_hold_up_their_lane", sends_do_not_hold_up_their_lane},
        {"packets_take_turns_in_the_switch", packets_take_turns_in_the_switch},
        {"hosts_take_turns_on_a_processor", hosts_take_turns_on_a_processor},
        {"a_launch_takes_a_processor", a_launch_takes_a_processor},
        {"all_begin_at_once", all_begin_at_once},
        {"headers_take_their_time", headers_take_their_time},
        {"waking_by_chance_is_the_same_every_time", waking_by_chance_is_the_same_every_time},
        {"acknowledgements_take_their_share", acknowledgements_take_their_share},
        {"pieces_await_credit", pieces_await_credit},
        {"what_it_cannot_replay_is_refused", what_it_cannot_replay_is_refused},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("ports", cases, sizeof cases / sizeof *cases);
}
