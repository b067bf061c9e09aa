/** Workloads as text: what is read, what is refused and where, and what happens without memory. */
#include "support/suite.h"
#include "support/sweep.h"

#include "ronde/workload.h"

#include <stdio.h>
#include <string.h>

static enum ronde_status parse_with(const char *text, const struct ronde_mem *mem,
                                    struct ronde_workload **out, struct ronde_error *error)
{
    const enum ronde_status status = ronde_workload_parse(text, strlen(text), "f", mem, out, error);
    CU_ASSERT_EQUAL(*out != NULL, status == RONDE_OK);
    return status;
}

static const char everything[] = "# a comment\n\nronde-workload 1\r\nranks 8   # of all\n"
                                 "groups tp 0-3 4-7\ngroups dp 0,4 1-5:4 6,2 3,7\n"
                                 "on 0-3\n"
                                 "  a compute 1.5us\n"
                                 "  b compute 2ms cpu 3 after a\n"
                                 "  c all_reduce tp 16M after a b\n"
                                 "  d broadcast dp 1K with chain root 1 after c\n"
                                 "  e send 4K to +4 tag 9 after d\n"
                                 "on 4-7\n"
                                 "  a recv 4096 from -4 tag 9\n"
                                 "  c all-reduce tp 16777216\n"
                                 "  d broadcast dp 1024 root 1 with chain after a c\n"
                                 "  z barrier tp after d\n"
                                 "on 0,1,2,3\n"
                                 "  z barrier tp\n";

static void programs_are_given_to_their_ranks(void)
{
    struct ronde_error error = {0};
    struct ronde_workload *w = NULL;
    if (parse_with(everything, ronde_mem_default(), &w, &error) != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_EQUAL(w->ranks, 8);
    CU_ASSERT_EQUAL(w->work_count, 4 * 5 + 4 * 4 + 4);
    CU_ASSERT_EQUAL(w->family_count, 2);
    CU_ASSERT_EQUAL(w->group_count, 6);
    CU_ASSERT_STRING_EQUAL(ronde_workload_text(w, w->families[1]), "dp");
    /* Rank 2: its group dp is 6,2, so rank 2 is its root. */
    const struct ronde_work *c = &w->works[2 * 5 + 2], *d = &w->works[2 * 5 + 3],
                            *e = &w->works[2 * 5 + 4];
    CU_ASSERT_EQUAL(w->works[2 * 5].duration_ns, 1500);
    CU_ASSERT_EQUAL(w->works[2 * 5 + 1].duration_ns, 2e6);
    CU_ASSERT_EQUAL(w->works[2 * 5 + 1].cpu, 3);
    CU_ASSERT_EQUAL(c->collective, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(c->bytes, 16u << 20);
    CU_ASSERT_EQUAL(c->dep_count, 2);
    CU_ASSERT_EQUAL(w->deps[c->first_dep + 1].work, 2 * 5 + 1);
    CU_ASSERT_EQUAL(d->rank, 2);
    CU_ASSERT_EQUAL(d->root, 1);
    CU_ASSERT_EQUAL(w->members[w->groups[d->group].first_member], 6);
    CU_ASSERT_STRING_EQUAL(d->algorithm, "chain");
    CU_ASSERT_EQUAL(d->line, 11);
    CU_ASSERT_EQUAL(e->peer, 6);
    CU_ASSERT_EQUAL(e->tag, 9);
    CU_ASSERT_EQUAL(e->bytes, 4096);
    CU_ASSERT_EQUAL(w->works[20].peer, 0);
    ronde_workload_destroy(w);
}

#define TWO "ronde-workload 1\nranks 2\ngroups g 0-1\n"

static void wrong_texts_are_refused_by_line(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "f:1: expected \"ronde-workload 1\""},
        {"{\"traceEvents\": []}\n", "f:1: no workload, which begins with \"ronde-workload 1\""},
        {"\x1f\x8b\b", "f:1: no workload, which begins with \"ronde-workload 1\"; what ran, in a "
                       "trace or a log, is read by ronde explain"},
        {"ronde-workload 2\n", "f:1: version 2 is outside 1 .. 1"},
        {"ronde-workload 1\nrank 2\n", "f:2: expected \"ranks N\""},
        {"ronde-workload 1\nranks 0\n", "f:2: ranks 0 is outside 1 .. 131072"},
        {"ronde-workload 1\nranks 131073\n", "f:2: ranks 131073 is outside 1 .. 131072"},
        {"ronde-workload 1\nranks 2 2\n", "f:2: \"2\" is one word too many"},
        {"ronde-workload 1\nranks 2\nx compute 1us\n", "f:3: expected \"groups\" or \"on\""},
        {TWO "groups g 0\n", "f:4: groups g are there already"},
        {TWO "groups\n", "f:4: expected the name of the groups"},
        {TWO "groups h\n", "f:4: expected ranks"},
        {TWO "groups h 0 0-1\n", "f:4: rank 0 is in two groups"},
        {TWO "groups h 2\n", "f:4: rank 2 is outside 0 .. 1"},
        {TWO "groups h 1-0\n", "f:4: rank 0 is outside 1 .. 1"},
        {TWO "groups h 0,\n", "f:4: expected ranks behind ','"},
        {TWO "groups h 0-1:0\n", "f:4: stride 0 is outside 1 .. 2"},
        {TWO "on 0 1\n", "f:4: \"1\" is one word too many"},
        {TWO "on x\n", "f:4: rank \"x\""},
        {TWO "on 0\n x\n", "f:5: \"\" is neither compute, send, recv nor a collective"},
        {TWO "on 0\n x rest 5us\n", "f:5: \"rest\" is neither"},
        {TWO "on 0\n x send_recv g 8\n", "f:5: \"send_recv\" is neither"},
        {TWO "on 0\n x compute 5\n", "f:5: time \"5\" is not a number with ns, us, ms or s"},
        {TWO "on 0\n x compute -5us\n", "f:5: time \"-5us\""},
        {TWO "on 0\n x compute 1e30s\n", "f:5: time \"1e30s\""},
        {TWO "on 0\n x compute 1us tag 3\n", "f:5: unexpected \"tag\""},
        {TWO "on 0\n x compute 1us after y\n", "f:5: no item above is called y"},
        {TWO "on 0\n x compute 1us after x\n", "f:5: no item above is called x"},
        {TWO "on 0\n x compute 1us\n x compute 1us\n", "f:6: item x is there already"},
        {TWO "on 0\n x all_reduce h 8\n", "f:5: no groups are called \"h\""},
        {TWO "on 0\n x all_reduce g\n", "f:5: size \"\""},
        {TWO "on 0\n x all_reduce g 8 root 1\n", "f:5: unexpected \"root\""},
        {TWO "on 0\n x broadcast g 8 root 2\n", "f:5: root 2 of a group of 2 ranks"},
        {TWO "on 0\n x all_reduce g 8 with rnig\n",
         "f:5: all_reduce has no algorithm \"rnig\"; did you mean ring?"},
        {TWO "groups h 0\non 1\n x all_reduce h 8\n", "f:6: rank 1 is in no group h"},
        {TWO "on 0\n x send 8 1\n", "f:5: expected \"to\""},
        {TWO "on 0\n x send 8 to 0\n", "f:5: rank 0 sends to itself"},
        {TWO "on 0\n x send 8 to 2\n", "f:5: rank 2 is outside 0 .. 1"},
        {TWO "on 0-1\n x send 8 to +1\n", "f:5: rank 1 has no rank +1 from it"},
        {TWO "on 0\n x recv 8 from -1\n", "f:5: rank 0 has no rank -1 from it"},
        {TWO "on 0\n x recv 8 from 1 tag -1\n", "f:5: tag -1 is outside"},
        {TWO "on 0\n x recv 9999999999G from 1\n", "f:5: size \"9999999999G\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_error error = {0};
        struct ronde_workload *w = NULL;
        CU_ASSERT_EQUAL(parse_with(cases[i].text, ronde_mem_default(), &w, &error), RONDE_BAD_INPUT);
        const bool is_right =
            strncmp(error.message, cases[i].message, strlen(cases[i].message)) == 0;
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("expected \"%s\", got \"%s\"", cases[i].message, error.message);
        ronde_workload_destroy(w);
    }
}

static void families_have_a_bound(void)
{
    static char text[8192];
    struct ronde_workload *w = NULL;
    struct ronde_error error = {0};
    size_t used = (size_t)snprintf(text, sizeof text, "ronde-workload 1\nranks 2\n");
    for (unsigned i = 0; i < 257; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "groups g%u 0-1\n", i);
    CU_ASSERT_EQUAL(parse_with(text, ronde_mem_default(), &w, &error), RONDE_BAD_INPUT);
    CU_ASSERT_STRING_EQUAL(error.message, "f:259: more than 256 families of groups");
}

static enum ronde_status parse_once(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    struct ronde_workload *w = NULL;
    const enum ronde_status status = parse_with(context, mem, &w, error);
    ronde_workload_destroy(w);
    return status;
}

static enum ronde_status print_once(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    const enum ronde_status status = ronde_goal_print(context, mem, &text, &bytes, error);
    CU_ASSERT_EQUAL(text != NULL, status == RONDE_OK);
    if (text)
        ronde_mem_free(mem, text, bytes + 1, 1);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    static const char goal[] =
        "num_ranks 2\nrank 0 {\na: calc 5\nb: send 8b to 1\nb requires a\n}\n"
        "rank 1 {\na: recv 8b from 0\nb: calc 9\nb requires a\n}\n";
    struct ronde_workload *w = NULL;
    const struct sweep text_sweep = {"text", parse_once, everything};
    const struct sweep goal_sweep = {"GOAL", parse_once, goal};
    CU_ASSERT(sweep_run(&text_sweep) > 0);
    CU_ASSERT(sweep_run(&goal_sweep) > 0);
    CU_ASSERT_EQUAL_FATAL(parse_with(goal, ronde_mem_default(), &w, NULL), RONDE_OK);
    const struct sweep print_sweep = {"GOAL printed", print_once, w};
    CU_ASSERT(sweep_run(&print_sweep) > 0);
    ronde_workload_destroy(w);
}

static void goal_has_no_collectives(void)
{
    struct ronde_workload *w = NULL;
    struct ronde_error error = {0};
    char *text = NULL;
    size_t bytes = 0;
    CU_ASSERT_EQUAL_FATAL(parse_with(TWO "on 0-1\n sum all_reduce g 8\n", ronde_mem_default(), &w,
                                     NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL(ronde_goal_print(w, ronde_mem_default(), &text, &bytes, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(error.message, "f: GOAL has no collectives, and rank 0 has one (sum): "
                                          "--topo names the machine whose algorithms they become");
    ronde_workload_destroy(w);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"programs_are_given_to_their_ranks", programs_are_given_to_their_ranks},
        {"wrong_texts_are_refused_by_line", wrong_texts_are_refused_by_line},
        {"families_have_a_bound", families_have_a_bound},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
        {"goal_has_no_collectives", goal_has_no_collectives},
    };
    return suite_run("workload", cases, sizeof cases / sizeof cases[0]);
}
