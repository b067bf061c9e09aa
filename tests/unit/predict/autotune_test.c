/*
 * Racing algorithms on a machine whose times the test writes, and doing what rank 0 names, where the test is rank 0: who
 * wins, what is run how often, and what a failure of any hook at any time becomes.
 */
#include "support/suite.h"

#include "ronde/autotune.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>

#define MOST 32u

/* A machine: what each algorithm takes, and what was asked of it. */
struct machine {
    double ns[MOST];         /* by index of a candidate, of every round but the first */
    double first_ns[MOST];   /* of the first round; 0 = the same */
    uint32_t rounds[MOST];   /* calls of measure so far */
    uint32_t runs[MOST];     /* all together */
    const char *names[MOST]; /* of what was loaded, by index */
    bool is_loaded[MOST];
    bool is_aimed[MOST];
    uint64_t count;
    const char *refused; /* algorithm that it cannot run; "" = none can be run */
    uint32_t calls;      /* of all hooks that may fail */
    uint32_t fails_at;   /* the call that fails */
    uint32_t loads;
    char progress[1024];     /* names in order, a '.' for NULL */
    const char *choice;      /* what rank 0 says in an allgather of names */
    struct ronde_error said; /* what rank 2 says in an allgather of errors */
    bool is_wrong;           /* a hook was called out of order */
};

static enum ronde_status call(struct machine *machine, struct ronde_error *error)
{
    return machine->calls++ == machine->fails_at
               ? ronde_fail(error, RONDE_DEVICE, "call %u has failed", machine->fails_at)
               : RONDE_OK;
}

static enum ronde_status supports(void *self, const struct ronde_schedule *schedule, uint64_t count,
                                  struct ronde_error *error)
{
    const struct machine *machine = self;
    (void)count;
    if (machine->refused &&
        (machine->refused[0] == '\0' || strcmp(machine->refused, schedule->algorithm) == 0))
        return ronde_fail(error, RONDE_UNSUPPORTED, "not with %s", schedule->algorithm);
    return RONDE_OK;
}

static enum ronde_status load(void *self, uint32_t index, const struct ronde_schedule *schedule,
                              struct ronde_error *error)
{
    struct machine *machine = self;
    const enum ronde_status status = call(machine, error);
    if (status != RONDE_OK || index >= MOST)
        return status;
    machine->is_wrong |=
        machine->is_loaded[index] && strcmp(machine->names[index], schedule->algorithm) != 0;
    machine->names[index] = schedule->algorithm;
    machine->loads += !machine->is_loaded[index];
    machine->is_loaded[index] = true;
    return RONDE_OK;
}

static void aim(void *self, uint32_t index, uint64_t count)
{
    struct machine *machine = self;
    machine->is_wrong |= !machine->is_loaded[index] || count != machine->count;
    machine->is_aimed[index] = true;
}

static enum ronde_status measure(void *self, uint32_t index, uint32_t runs, double *out_ns,
                                 struct ronde_error *error)
{
    struct machine *machine = self;
    const enum ronde_status status = call(machine, error);
    if (status != RONDE_OK)
        return status;
    machine->is_wrong |= !machine->is_aimed[index] || runs < 3 || runs > 1000;
    machine->runs[index] += runs;
    const bool is_first = machine->rounds[index]++ < 2;
    *out_ns =
        is_first && machine->first_ns[index] > 0.0 ? machine->first_ns[index] : machine->ns[index];
    return RONDE_OK;
}

static void progress(void *self, const char *algorithm)
{
    struct machine *machine = self;
    strcat(machine->progress, algorithm ? algorithm : ".");
    strcat(machine->progress, " ");
}

/* Rank 0 of the others says what the test says; everybody else says nothing. */
static enum ronde_status allgather(void *self, const void *mine, size_t bytes, void *all,
                                   struct ronde_error *error)
{
    struct machine *machine = self;
    const enum ronde_status status = call(machine, error);
    if (status != RONDE_OK)
        return status;
    memset(all, 0, 4 * bytes);
    memcpy((char *)all + bytes, mine, bytes);
    if (bytes == sizeof machine->said)
        memcpy((char *)all + 2 * bytes, &machine->said, bytes);
    else if (machine->choice)
        memcpy(all, machine->choice, strnlen(machine->choice, bytes));
    return RONDE_OK;
}

static struct ronde_autotune_hooks hooks_of(struct machine *machine)
{
    return (struct ronde_autotune_hooks){.self = machine,
                                         .allgather = allgather,
                                         .supports = supports,
                                         .load = load,
                                         .aim = aim,
                                         .measure = measure,
                                         .progress = progress};
}

static const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE, .ranks = 6};
static const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32};

/* A race of all_reduces of 1,000 elements among ranks of one process. */
static enum ronde_status race(struct machine *machine, struct ronde_autotune *autotune,
                              struct ronde_decision *decision, struct ronde_error *error)
{
    const struct ronde_autotune_hooks hooks = hooks_of(machine);
    memset(error, 0, sizeof *error);
    machine->count = 1000;
    enum ronde_status status =
        ronde_autotune_open(&options, &request, &hooks, true, autotune, error);
    if (status == RONDE_OK)
        status = ronde_autotune_enter(autotune, "cpu", 6, machine->count, error);
    if (status == RONDE_OK)
        status = ronde_autotune_pick(autotune, machine->count, decision, error);
    return status;
}

/* A machine on which candidate k takes (k + 2) * unit_ns. */
static struct machine machine_of(double unit_ns)
{
    struct machine machine = {.fails_at = UINT32_MAX};
    for (uint32_t k = 0; k < MOST; k++)
        machine.ns[k] = (k + 2) * unit_ns;
    return machine;
}

static uint32_t candidates(void)
{
    struct machine machine = machine_of(1e3);
    struct ronde_autotune autotune;
    struct ronde_decision decision;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
    const uint32_t count = autotune.selector.choice.count;
    ronde_autotune_close(&autotune);
    CU_ASSERT(count > 4 && count < MOST);
    return count;
}

static void the_fastest_wins_whichever_it_is(void)
{
    const uint32_t count = candidates();
    for (uint32_t fastest = 0; fastest < count; fastest++) {
        struct machine machine = machine_of(1e5);
        struct ronde_autotune autotune;
        struct ronde_decision decision;
        struct ronde_error error;
        machine.ns[fastest] = 5e4;
        CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
        CU_ASSERT_EQUAL(decision.best, fastest);
        CU_ASSERT_EQUAL(decision.second, fastest == 0 ? 1 : 0);
        CU_ASSERT_EQUAL(autotune.selector.basis, RONDE_BASIS_RACE);
        CU_ASSERT_FALSE(machine.is_wrong);
        CU_ASSERT_EQUAL(machine.loads, count);
        for (uint32_t k = 0; k < count; k++)
            CU_ASSERT_EQUAL(autotune.selector.quotes[k].time_ns, machine.ns[k]);
        ronde_autotune_close(&autotune);
    }
}

/* A slow moment in the first round of the fastest: it is close enough to run again, and its median counts. */
static void a_slow_first_round_does_not_decide(void)
{
    struct machine machine = machine_of(5e5);
    struct ronde_autotune autotune;
    struct ronde_decision decision;
    struct ronde_error error;
    machine.ns[2] = 1.0e5;
    machine.first_ns[2] = 1.4e5;
    machine.ns[3] = 1.2e5;
    CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
    CU_ASSERT_EQUAL(decision.best, 2);
    CU_ASSERT_EQUAL(decision.second, 3);
    CU_ASSERT_EQUAL(autotune.selector.quotes[2].time_ns, 1.0e5);
    /* Two rounds more for those that were close, none for the others. */
    CU_ASSERT_EQUAL(machine.rounds[2], 4);
    CU_ASSERT_EQUAL(machine.rounds[3], 4);
    CU_ASSERT_EQUAL(machine.rounds[0], 2);
    ronde_autotune_close(&autotune);
}

/* A round takes some five milliseconds; what takes longer is run as seldom as possible, and never a second time. */
static void long_runs_are_few(void)
{
    static const struct {
        double ns;
        uint32_t rounds, runs;
    } rows[] = {
        {1e3, 4, 3 + 3 * 1000}, {1e5, 4, 3 + 3 * 50}, {1e6, 4, 3 + 3 * 5}, {1.7e6, 3, 3 + 2 * 3},
        {1e7, 3, 3 + 2 * 3},    {2.1e7, 1, 3},        {1e9, 1, 3},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct machine machine = machine_of(1e10);
        struct ronde_autotune autotune;
        struct ronde_decision decision;
        struct ronde_error error;
        machine.ns[1] = rows[k].ns;
        CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
        CU_ASSERT_EQUAL(decision.best, 1);
        CU_ASSERT_EQUAL(machine.rounds[1], rows[k].rounds);
        CU_ASSERT_EQUAL(machine.runs[1], rows[k].runs);
        if (machine.runs[1] != rows[k].runs)
            suite_note("of %g ns: %u rounds, %u runs", rows[k].ns, machine.rounds[1],
                       machine.runs[1]);
        ronde_autotune_close(&autotune);
    }
}

/* A clock that does not see a run's length gives as many runs as there may be. */
static void runs_of_no_length_end(void)
{
    struct machine machine = machine_of(0.0);
    struct ronde_autotune autotune;
    struct ronde_decision decision;
    struct ronde_error error;
    CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
    CU_ASSERT_EQUAL(machine.runs[0], 3 + 3 * 1000);
    CU_ASSERT_FALSE(machine.is_wrong);
    ronde_autotune_close(&autotune);
}

static void what_cannot_be_run_is_neither_loaded_nor_chosen(void)
{
    struct machine machine = machine_of(1e5);
    struct ronde_autotune autotune;
    struct ronde_decision decision;
    struct ronde_error error;
    machine.refused = "ring";
    CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
    for (uint32_t k = 0; k < autotune.selector.choice.count; k++) {
        const bool is_ring =
            strcmp(autotune.selector.choice.candidates[k].request.algorithm, "ring") == 0;
        CU_ASSERT_EQUAL(machine.is_loaded[k], !is_ring);
        CU_ASSERT(!is_ring || (decision.best != k && decision.second != k));
    }
    CU_ASSERT_PTR_NULL(strstr(machine.progress, "ring "));
    ronde_autotune_close(&autotune);
    machine = machine_of(1e5);
    machine.refused = "";
    CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_UNSUPPORTED);
    CU_ASSERT_EQUAL(strncmp(error.message, "no algorithm runs there: not with ", 34), 0);
    CU_ASSERT_EQUAL(machine.loads, 0);
    ronde_autotune_close(&autotune);
}

static void progress_names_every_algorithm_and_the_end(void)
{
    struct machine machine = machine_of(1e5);
    struct ronde_autotune autotune;
    struct ronde_decision decision;
    struct ronde_error error;
    char expected[1024] = "";
    CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_OK);
    for (uint32_t k = 0; k < autotune.selector.choice.count; k++) {
        strcat(expected, autotune.selector.choice.candidates[k].request.algorithm);
        strcat(expected, " ");
    }
    strcat(expected, ". ");
    CU_ASSERT_STRING_EQUAL(machine.progress, expected);
    ronde_autotune_close(&autotune);
}

/* Whichever call fails: its error is the race's, and no hook is called after it. */
static void a_failure_at_any_call_ends_the_race(void)
{
    struct machine whole = machine_of(1e5);
    struct ronde_autotune autotune;
    struct ronde_decision decision;
    struct ronde_error error;
    CU_ASSERT_EQUAL(race(&whole, &autotune, &decision, &error), RONDE_OK);
    ronde_autotune_close(&autotune);
    for (uint32_t fails_at = 0; fails_at < whole.calls; fails_at++) {
        struct machine machine = machine_of(1e5);
        char text[64];
        snprintf(text, sizeof text, "call %u has failed", fails_at);
        machine.fails_at = fails_at;
        CU_ASSERT_EQUAL(race(&machine, &autotune, &decision, &error), RONDE_DEVICE);
        CU_ASSERT_STRING_EQUAL(error.message, text);
        CU_ASSERT_EQUAL(machine.calls, fails_at + 1);
        ronde_autotune_close(&autotune);
    }
    CU_ASSERT(whole.calls > 20);
}

/* This process is rank 1 of 4, and the test says what the others say. */
static enum ronde_status hear(struct machine *machine, struct ronde_autotune *autotune,
                              struct ronde_error *error)
{
    struct ronde_autotune_hooks hooks = hooks_of(machine);
    hooks.rank = 1;
    hooks.ranks = 4;
    memset(error, 0, sizeof *error);
    const enum ronde_status status =
        ronde_autotune_open(&options, &request, &hooks, false, autotune, error);
    return status == RONDE_OK ? ronde_autotune_enter(autotune, "proc", 6, 1000, error) : status;
}

static void what_rank_0_names_is_compiled_once(void)
{
    static const char *const names[] = {"ring", "tree", "ring", "direct", "tree", "ring"};
    static const uint32_t indices[] = {0, 1, 0, 2, 1, 0};
    struct machine machine = {.fails_at = UINT32_MAX};
    struct ronde_autotune autotune;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(hear(&machine, &autotune, &error), RONDE_OK);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct ronde_decision decision;
        machine.choice = names[k];
        CU_ASSERT_EQUAL(ronde_autotune_pick(&autotune, 1000, &decision, &error), RONDE_OK);
        CU_ASSERT_EQUAL(decision.best, indices[k]);
        CU_ASSERT_EQUAL(decision.second, RONDE_NONE);
        CU_ASSERT_STRING_EQUAL(machine.names[indices[k]], names[k]);
    }
    CU_ASSERT_EQUAL(machine.loads, 3);
    CU_ASSERT_FALSE(machine.is_wrong);
    CU_ASSERT_EQUAL(machine.progress[0], '\0');
    ronde_autotune_close(&autotune);
}

static void what_this_build_lacks_is_named(void)
{
    static const struct {
        const char *choice, *text;
    } rows[] = {
        {"", "rank 0 could not choose an algorithm"},
        {"spiral", "rank 0 chose spiral, which this build lacks"},
        {"auto", "rank 0 chose auto, which this build lacks"},
        {"a name without an end in its 32 bytes", "which this build lacks"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct machine machine = {.fails_at = UINT32_MAX, .choice = rows[k].choice};
        struct ronde_autotune autotune;
        struct ronde_decision decision;
        struct ronde_error error;
        CU_ASSERT_EQUAL_FATAL(hear(&machine, &autotune, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_autotune_pick(&autotune, 1000, &decision, &error), RONDE_UNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].text));
        if (!strstr(error.message, rows[k].text))
            suite_note("\"%s\": %s", rows[k].choice, error.message);
        CU_ASSERT_EQUAL(machine.loads, 0);
        ronde_autotune_close(&autotune);
    }
}

static void a_refusal_of_one_rank_is_one_of_all(void)
{
    struct machine machine = {.fails_at = UINT32_MAX};
    struct ronde_autotune autotune;
    struct ronde_error error;
    (void)ronde_fail(&machine.said, RONDE_BAD_INPUT, "times.txt:3: no number");
    CU_ASSERT_EQUAL(hear(&machine, &autotune, &error), RONDE_BAD_INPUT);
    CU_ASSERT_STRING_EQUAL(error.message, "rank 2: times.txt:3: no number");
    ronde_autotune_close(&autotune);
}

static void an_allgather_that_fails_is_reported(void)
{
    for (uint32_t fails_at = 0; fails_at < 2; fails_at++) {
        struct machine machine = {.fails_at = fails_at, .choice = "ring"};
        struct ronde_autotune autotune;
        struct ronde_decision decision;
        struct ronde_error error;
        enum ronde_status status = hear(&machine, &autotune, &error);
        if (status == RONDE_OK)
            status = ronde_autotune_pick(&autotune, 1000, &decision, &error);
        CU_ASSERT_EQUAL(status, RONDE_DEVICE);
        CU_ASSERT_EQUAL(machine.loads, 0);
        ronde_autotune_close(&autotune);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_fastest_wins_whichever_it_is", the_fastest_wins_whichever_it_is},
        {"a_slow_first_round_does_not_decide", a_slow_first_round_does_not_decide},
        {"long_runs_are_few", long_runs_are_few},
        {"runs_of_no_length_end", runs_of_no_length_end},
        {"what_cannot_be_run_is_neither_loaded_nor_chosen",
         what_cannot_be_run_is_neither_loaded_nor_chosen},
        {"progress_names_every_algorithm_and_the_end", progress_names_every_algorithm_and_the_end},
        {"a_failure_at_any_call_ends_the_race", a_failure_at_any_call_ends_the_race},
        {"what_rank_0_names_is_compiled_once", what_rank_0_names_is_compiled_once},
        {"what_this_build_lacks_is_named", what_this_build_lacks_is_named},
        {"a_refusal_of_one_rank_is_one_of_all", a_refusal_of_one_rank_is_one_of_all},
        {"an_allgather_that_fails_is_reported", an_allgather_that_fails_is_reported},
    };
    return suite_run("autotune", cases, sizeof cases / sizeof cases[0]);
}
