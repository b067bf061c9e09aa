/** Replays of workloads against times by hand: ports of 10 GB/s, 1 us between two hosts, steps that cost nothing. */
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/platform_text.h"

#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "ronde/workload_sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char machine_text[] =
    "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>"
    "<platform version='4.1'><zone id='z' routing='Full'><cluster id='c' prefix='h' suffix='' "
    "radical='0-15' speed='1Gf' bw='10GBps' lat='500ns'/></zone></platform>";

/* All ring_4us is in these: two ranks, two messages of half of 20000 bytes, 1 us at 10 GB/s and 1 us of latency each. */
#define HEAD "ronde-workload 1\nranks 2\ngroups dp 0-1\n"

/* One replayed text. */
struct step {
    struct ronde_platform *platform;
    struct ronde_workload *workload;
    struct ronde_workload_result result;
    struct ronde_error error;
    enum ronde_status status;
};

static struct step run_how(struct ronde_platform *platform, const char *text,
                           const struct ronde_workload_sim *given)
{
    struct step step = {.platform = platform};
    struct ronde_workload_sim how = *given;
    CU_ASSERT_PTR_NOT_NULL_FATAL(step.platform);
    how.platform = platform;
    step.status = ronde_workload_parse(text, strlen(text), "t", ronde_mem_default(), &step.workload,
                                       &step.error);
    if (step.status == RONDE_OK)
        step.status = ronde_workload_simulate(step.workload, &how, ronde_mem_default(),
                                              &step.result, &step.error);
    return step;
}

static struct step run_on(struct ronde_platform *platform, const char *text, const char *engine,
                          const char *algorithm, uint32_t alternatives)
{
    return run_how(platform, text,
                   &(struct ronde_workload_sim){.engine = engine,
                                                .algorithm = algorithm,
                                                .alternatives = alternatives});
}

static struct step run(const char *text, const char *engine, const char *algorithm,
                       uint32_t alternatives)
{
    return run_on(platform_text_good(machine_text), text, engine, algorithm, alternatives);
}

static void end(struct step *step)
{
    ronde_workload_result_free(&step->result);
    ronde_workload_destroy(step->workload);
    ronde_platform_destroy(step->platform);
}

static void expect_ns(const char *what, double found, double expected)
{
    const bool is_right = fabs(found - expected) <= 1e-9 * fmax(expected, 1);
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: %.12g ns, expected %.12g", what, found, expected);
}

/* What a step of text comes to: its end, the ranks' mean of three parts, calculations on the critical path. */
static void expect_step(const char *text, double time, double compute, double exposed, double idle,
                        double path_compute)
{
    struct step step = run(text, "maxmin", "ring", 0);
    if (step.status != RONDE_OK)
        suite_note("%s", step.error.message);
    CU_ASSERT_EQUAL(step.status, RONDE_OK);
    if (step.status == RONDE_OK) {
        expect_ns("step", step.result.time_ns, time);
        expect_ns("compute", step.result.mean.compute_ns, compute);
        expect_ns("exposed", step.result.mean.exposed_ns, exposed);
        expect_ns("idle", step.result.mean.idle_ns, idle);
        expect_ns("path", step.result.path_compute_ns, path_compute);
        double path = step.result.path_compute_ns;
        for (uint32_t f = 0; f < step.result.family_count; f++)
            path += step.result.families[f].path_ns;
        expect_ns("sum of the path", path, time);
    }
    end(&step);
}

static void a_collective_follows_what_it_waits_for(void)
{
    if (suite_can_read_platforms())
        expect_step(HEAD "on 0-1\n a compute 10us\n r all_reduce dp 20000 after a\n", 14000, 10000,
                    4000, 0, 10000);
}

static void what_is_computed_meanwhile_hides_it(void)
{
    if (!suite_can_read_platforms())
        return;
    expect_step(HEAD "on 0-1\n a compute 10us\n r all_reduce dp 20000 after a\n"
                     " b compute 10us after a\n",
                20000, 20000, 0, 0, 20000);
    expect_step(HEAD "on 0-1\n a compute 10us\n r all_reduce dp 20000 after a\n"
                     " b compute 1us after a\n",
                14000, 11000, 3000, 0, 10000);
}

/*
 * Rank 0 is there at 10 us, and its first message with rank 1 long before that comes at 30. Rank 1 sends from 30 to 31 and,
 * what it adds being there, from 31 to 32, which is at rank 0 at 33; rank 0 gets the first at 32 and answers until 33, at rank
 * 1 at 34.
 */
static void a_late_rank_holds_up_the_others(void)
{
    if (suite_can_read_platforms())
        expect_step(HEAD "on 0\n a compute 10us\n r all_reduce dp 20000 after a\n"
                         "on 1\n a compute 30us\n r all_reduce dp 20000 after a\n",
                    34000, 20000, (23000 + 4000) / 2.0, 1000 / 2.0, 30000);
}

static enum ronde_status take_5_us(void *context, const struct ronde_workload_ask *ask,
                                   double *out_ns, const char **out_algorithm,
                                   struct ronde_error *error)
{
    (void)context, (void)ask, (void)error;
    *out_ns = 5000;
    *out_algorithm = "given";
    return RONDE_OK;
}

/* A call whose time is given has that on the path, and not what its first rank waited for the last. */
static void waiting_for_a_late_rank_is_not_on_the_path_of_a_given_call(void)
{
    for (int late = 0; suite_can_read_platforms() && late < 2; late++) {
        char text[160];
        snprintf(text, sizeof text,
                 HEAD "on %d\n a compute 30us\n r all_reduce dp 20000 after a\n"
                      "on %d\n a compute 10us\n r all_reduce dp 20000 after a\n",
                 late, !late);
        struct step step =
            run_how(platform_text_good(machine_text), text,
                    &(struct ronde_workload_sim){.engine = "maxmin", .time = take_5_us});
        CU_ASSERT_EQUAL_FATAL(step.status, RONDE_OK);
        expect_ns("step", step.result.time_ns, 35000);
        expect_ns("compute on the path", step.result.path_compute_ns, 30000);
        expect_ns("dp on the path", step.result.families[0].path_ns, 5000);
        expect_ns("the call on the path", step.result.calls[0].path_ns, 5000);
        end(&step);
    }
}

/* 10000 bytes each out of one port: both at half of 10 GB/s, then 1 us. */
static void messages_share_a_port(void)
{
    if (suite_can_read_platforms())
        expect_step("ronde-workload 1\nranks 3\non 0\n a send 10000 to 1\n b send 10000 to 2\n"
                    "on 1-2\n c recv 10000 from 0\n",
                    3000, 0, (2000 + 3000 + 3000) / 3.0, 1000 / 3.0, 0);
}

/* One group is one communicator: 4 us, and again. Two groups share the ports: each message takes 2 us and 1 us. */
static void a_group_does_one_thing_at_a_time_and_two_groups_share_links(void)
{
    if (!suite_can_read_platforms())
        return;
    expect_step(HEAD "on 0-1\n r all_reduce dp 20000\n s all_reduce dp 20000\n", 8000, 0, 8000, 0,
                0);
    expect_step("ronde-workload 1\nranks 2\ngroups dp 0-1\ngroups tp 0-1\n"
                "on 0-1\n r all_reduce dp 20000\n s all_reduce tp 20000\n",
                6000, 0, 6000, 0, 0);
}

/* Exposed time belongs to who is waited for, in equal parts where there are several. */
static void exposed_time_is_divided_among_families(void)
{
    if (!suite_can_read_platforms())
        return;
    struct step step = run("ronde-workload 1\nranks 2\ngroups dp 0-1\ngroups tp 0-1\n"
                           "on 0-1\n r all_reduce dp 20000\n s all_reduce tp 20000\n"
                           " t all_reduce tp 20000 after s\n",
                           "maxmin", "ring", 0);
    CU_ASSERT_EQUAL_FATAL(step.status, RONDE_OK);
    expect_ns("step", step.result.time_ns, 10000);
    CU_ASSERT_STRING_EQUAL(step.result.families[0].name, "dp");
    expect_ns("dp", step.result.families[0].exposed_ns, 3000);
    expect_ns("tp", step.result.families[1].exposed_ns, 7000);
    expect_ns("messages", step.result.families[2].exposed_ns, 0);
    end(&step);
}

/* One cpu does one thing at a time, in the order in which things become ready; another cpu does not wait for it. */
static void a_cpu_does_one_thing_at_a_time(void)
{
    if (!suite_can_read_platforms())
        return;
    expect_step("num_ranks 1\nrank 0 {\ncalc 5000\ncalc 3000\n}\n", 8000, 8000, 0, 0, 8000);
    expect_step("num_ranks 1\nrank 0 {\ncalc 5000\ncalc 3000 cpu 1\n}\n", 5000, 5000, 0, 0, 5000);
    /* b is first in the file, but ready only when the message is there: a goes first. */
    expect_step("num_ranks 2\nrank 0 {\nb: calc 1000\na: calc 5000\nr: recv 10000b from 1\n"
                "b requires r\n}\nrank 1 {\nsend 10000b to 0\n}\n",
                6000, 3000, 500, 2500, 6000);
}

/* The recv of rank 1 is 1 us later than the send; what waits for the start of a calculation runs beside it. */
static void starts_can_be_waited_for(void)
{
    if (suite_can_read_platforms())
        expect_step("num_ranks 2\nrank 0 {\nc: calc 9000\ns: send 10000b to 1\ns irequires c\n}\n"
                    "rank 1 {\nrecv 10000b from 0\n}\n",
                    9000, 4500, 1000, 3500, 9000);
}

/* Any tag takes messages as they were sent. */
static void messages_are_matched_by_tag_or_in_order(void)
{
    if (!suite_can_read_platforms())
        return;
    expect_step("num_ranks 2\nrank 0 {\na: send 10b to 1 tag 1\nb: send 20b to 1 tag 2\n"
                "b requires a\n}\nrank 1 {\nrecv 20b from 0 tag 2\nrecv 10b from 0 tag 1\n}\n",
                1003, 0, 0.5 * (3 + 1003), 0.5 * 1000, 0);
    expect_step("num_ranks 2\nrank 0 {\na: send 10b to 1 tag 1\nb: send 20b to 1 tag 2\n"
                "b requires a\n}\nrank 1 {\nx: recv 20b from 0 tag -1\ny: recv 10b from 0 tag -1\n"
                "x requires y\n}\n",
                1003, 0, 0.5 * (3 + 1003), 0.5 * 1000, 0);
}

static void nothing_moves_between_one_rank_and_itself(void)
{
    if (suite_can_read_platforms())
        expect_step("ronde-workload 1\nranks 2\ngroups dp 0 1\non 0-1\n a compute 1us\n"
                    " r all_reduce dp 20000 after a\n b compute 1us after r\n",
                    2000, 2000, 0, 0, 2000);
}

/* Ring, 8 ranks, small: 14 latencies; others need 6 or fewer. The step gets shorter by as much. */
static void another_algorithm_is_tried_in_the_step(void)
{
    static const char text[] = "ronde-workload 1\nranks 8\ngroups dp 0-7\non 0-7\n"
                               " a compute 10us\n r all_reduce dp 128 after a\n";
    if (!suite_can_read_platforms())
        return;
    struct step step = run(text, NULL, "ring", 1);
    CU_ASSERT_EQUAL_FATAL(step.status, RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(step.result.call_count, 1);
    const struct ronde_workload_call *call = &step.result.calls[0];
    CU_ASSERT_STRING_EQUAL(call->algorithm, "ring");
    expect_ns("alone", call->alone_ns, 14 * (1000 + 1.6));
    expect_ns("mean", call->mean_ns, call->alone_ns);
    expect_ns("path", call->path_ns, call->alone_ns);
    CU_ASSERT_PTR_NOT_NULL_FATAL(call->better);
    struct step other = run(text, NULL, call->better, 0);
    CU_ASSERT_EQUAL_FATAL(other.status, RONDE_OK);
    expect_ns("better", call->better_ns, other.result.time_ns);
    CU_ASSERT(call->better_ns < step.result.time_ns);
    /* Without a name the fastest alone is taken, which no other beats here. */
    struct step chosen = run(text, NULL, NULL, 1);
    CU_ASSERT_EQUAL_FATAL(chosen.status, RONDE_OK);
    CU_ASSERT(chosen.result.time_ns <= call->better_ns);
    end(&step);
    end(&other);
    end(&chosen);
}

static void engines_agree(void)
{
    static const char text[] =
        "ronde-workload 1\nranks 8\ngroups dp 0-6:2 1-7:2\ngroups tp 0-1 2-3 4-5 6-7\non 0-7\n"
        " a compute 3us\n r all_reduce dp 1M with ring after a\n s all_gather tp 1M with ring "
        "after a\n"
        " b compute 5us after s\n t all_reduce dp 64K with rabenseifner after b\n";
    const char *reason;
    if (!suite_can_read_platforms() || !ronde_sim_simgrid_available(&reason))
        return;
    /* SimGrid reads the file itself. */
    static const char file[] = "topologies/crossbar-64.xml";
    struct step maxmin = run_on(platform_text_open(file), text, "maxmin", NULL, 0),
                simgrid = run_on(platform_text_open(file), text, "simgrid", NULL, 0);
    CU_ASSERT_EQUAL_FATAL(maxmin.status, RONDE_OK);
    if (simgrid.status != RONDE_OK)
        suite_note("%s", simgrid.error.message);
    CU_ASSERT_EQUAL_FATAL(simgrid.status, RONDE_OK);
    expect_ns("simgrid", simgrid.result.time_ns, maxmin.result.time_ns);
    CU_ASSERT(maxmin.result.time_ns > 50000);
    end(&maxmin);
    end(&simgrid);
}

static void what_cannot_go_on_is_named(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"ronde-workload 1\nranks 2\ngroups a 0-1\ngroups b 0-1\non 0\n x all_reduce a 8\n"
         " y all_reduce b 8 after x\non 1\n y all_reduce b 8\n x all_reduce a 8 after y\n",
         "t:6: deadlock: rank 0 waits in x (group a), where 1 ranks never come"},
        {HEAD "on 0\n x all_reduce dp 8\n y all_reduce dp 8\non 1\n x all_reduce dp 8\n",
         "t:6: rank 0 has 2 operations of group dp, but rank 1 has 1"},
        {HEAD "on 0\n x all_reduce dp 8\non 1\n x all_reduce dp 16\n",
         "t:7: rank 1 does all_reduce of 16 bytes (root 0, any algorithm) in group dp, where rank "
         "0 "
         "does all_reduce of 8 bytes"},
        {HEAD "on 0\n x send 8 to 1\n", "t:5: rank 0 sends a message that rank 1 does not receive"},
        {HEAD "on 0\n x recv 8 from 1\n",
         "t:5: rank 0 receives a message that rank 1 does not send"},
        {HEAD "on 0\n x send 8 to 1\non 1\n x recv 9 from 0\n",
         "t:7: rank 1 receives 9 bytes, but rank 0 sends 8"},
        {"num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
         "t:3: a waits for itself, in a circle"},
        {"num_ranks 2\nrank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\nrank 1 {\n"
         "r: recv 8b from 0\ns: send 8b to 0\ns requires r\n}\n",
         "t:3: deadlock: rank 0 waits for a message of rank 1, which waits too"},
        {"num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\nsend 8b to 1\n}\nrank 1 {\n"
         "recv 8b from 0 tag 3\nrecv 8b from 0 tag -1\n}\n",
         "t:8: rank 1 receives from rank 0 with any tag and with tag 3"},
        {"ronde-workload 1\nranks 17\n", "has 16 hosts, fewer than 17 ranks"},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct step step = run(cases[i].text, NULL, NULL, 0);
        const bool is_named = strstr(step.error.message, cases[i].message) != NULL;
        CU_ASSERT_EQUAL(step.status, RONDE_BAD_INPUT);
        CU_ASSERT(is_named);
        if (!is_named)
            suite_note("expected \"%s\", got \"%s\"", cases[i].message, step.error.message);
        end(&step);
    }
}

/* One call of many bytes by a group whose ranks are in no order of hosts: none of the algorithms by its defaults is faster. */
static const char one_call[] = "ronde-workload 1\nranks 16\ngroups g 3,14,5,0,9,11,2,8,7,1,6,4\n"
                               "on 0-9,11,14\n x broadcast g 4M root 2\n";

/* Replays of a choice may be SimGrid's, which reads the machine once more. */
static struct ronde_platform *machine_to_read_again(void)
{
    struct ronde_platform *platform = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_parse("machine.xml", machine_text, strlen(machine_text),
                                               ronde_mem_default(), &platform, NULL),
                          RONDE_OK);
    return platform;
}

static struct step run_one_call(const char *algorithm, uint64_t most_steps)
{
    const struct ronde_workload_sim how = {.algorithm = algorithm, .most_steps = most_steps};
    return run_how(machine_to_read_again(), one_call, &how);
}

static void a_call_is_as_fast_as_it_can_be(void)
{
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    if (!suite_can_read_platforms())
        return;
    struct step planned = run_one_call("auto", 0);
    CU_ASSERT_EQUAL_FATAL(planned.status, RONDE_OK);
    CU_ASSERT_EQUAL(planned.result.calls[0].planned_ns, planned.result.calls[0].alone_ns);
    CU_ASSERT(!planned.result.calls[0].is_short);
    for (uint32_t a = 0; a < count; a++) {
        if (all[a]->collective != RONDE_BROADCAST)
            continue;
        struct step step = run_one_call(all[a]->name, 0);
        CU_ASSERT(step.status != RONDE_OK || planned.result.time_ns <= 1.005 * step.result.time_ns);
        end(&step);
    }
    end(&planned);
}

/* With few steps for all calls it is slower than it could be, which is said. */
static void many_steps_are_too_many(void)
{
    if (!suite_can_read_platforms())
        return;
    struct step planned = run_one_call(NULL, 0);
    struct step shorter = run_one_call(NULL, 60);
    CU_ASSERT_EQUAL_FATAL(planned.status, RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(shorter.status, RONDE_OK);
    CU_ASSERT(shorter.result.ops < planned.result.ops / 2);
    CU_ASSERT_EQUAL(shorter.result.calls[0].planned_ns, planned.result.calls[0].alone_ns);
    CU_ASSERT(shorter.result.calls[0].is_short);
    CU_ASSERT(shorter.result.calls[0].alone_ns > planned.result.calls[0].alone_ns);
    end(&shorter);
    end(&planned);
}

static void names_that_mean_nothing_are_refused(void)
{
    if (!suite_can_read_platforms())
        return;
    struct step step = run(HEAD, NULL, "rings", 0);
    CU_ASSERT_EQUAL(step.status, RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(step.error.message, "no collective has an algorithm \"rings\""));
    end(&step);
    step = run(HEAD, "ports", NULL, 0);
    CU_ASSERT_EQUAL(step.status, RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(step.error.message,
               "engine \"ports\" replays no scenario and no workload; auto, flat, simgrid, "
               "maxmin and flat_fifo do"));
    end(&step);
}

/* Everything at once: a calculation, two groups, a message, other algorithms. */
static const char everything[] =
    "ronde-workload 1\nranks 4\ngroups tp 0-1 2-3\ngroups dp 0,2 1,3\n"
    "on 0-1\n a compute 1us\n b all_reduce tp 4K after a\n c all_reduce dp 4K with ring after b\n"
    " s send 1K to +2 after a\non 2-3\n b all_reduce tp 4K\n r recv 1K from -2\n"
    " c all_reduce dp 4K with ring after b r\n";

/* What is replayed, and by what. */
struct once {
    const struct ronde_platform *platform;
    const char *algorithm;
};

static enum ronde_status simulate_once(const void *context, const struct ronde_mem *mem,
                                       struct ronde_error *error)
{
    struct ronde_workload *workload = NULL;
    struct ronde_workload_result result;
    const struct once *once = context;
    const struct ronde_workload_sim how = {.platform = once->platform,
                                           .engine = "maxmin",
                                           .algorithm = once->algorithm,
                                           .alternatives = 1};
    CU_ASSERT_EQUAL_FATAL(ronde_workload_parse(everything, sizeof everything - 1, "t",
                                               ronde_mem_default(), &workload, NULL),
                          RONDE_OK);
    const enum ronde_status status = ronde_workload_simulate(workload, &how, mem, &result, error);
    ronde_workload_result_free(&result);
    ronde_workload_destroy(workload);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = machine_to_read_again();
    const struct once named = {platform, "ring"}, planned = {platform, NULL};
    const struct sweep sweeps[] = {{"workload", simulate_once, &named},
                                   {"workload as planned", simulate_once, &planned}};
    CU_ASSERT(sweep_run(&sweeps[0]) > 0);
    CU_ASSERT(sweep_run(&sweeps[1]) > 0);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_collective_follows_what_it_waits_for),
        SUITE_CASE(what_is_computed_meanwhile_hides_it),
        SUITE_CASE(a_late_rank_holds_up_the_others),
        SUITE_CASE(waiting_for_a_late_rank_is_not_on_the_path_of_a_given_call),
        SUITE_CASE(messages_share_a_port),
        SUITE_CASE(a_group_does_one_thing_at_a_time_and_two_groups_share_links),
        SUITE_CASE(exposed_time_is_divided_among_families),
        SUITE_CASE(a_cpu_does_one_thing_at_a_time),
        SUITE_CASE(starts_can_be_waited_for),
        SUITE_CASE(messages_are_matched_by_tag_or_in_order),
        SUITE_CASE(nothing_moves_between_one_rank_and_itself),
        SUITE_CASE(another_algorithm_is_tried_in_the_step),
        SUITE_CASE(engines_agree),
        SUITE_CASE(what_cannot_go_on_is_named),
        SUITE_CASE(a_call_is_as_fast_as_it_can_be),
        SUITE_CASE(many_steps_are_too_many),
        SUITE_CASE(names_that_mean_nothing_are_refused),
        SUITE_CASE(running_out_of_memory_is_survived),
    };
    return suite_run("workload_sim", cases, sizeof cases / sizeof cases[0]);
}
