/* Work in a process of its own: how it may end, what is said of it, and that its time limit is always set. */
#include "support/suite.h"

#include "sim/simgrid/shim.h"

#include "ronde/cancel.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* What the child and the test share, and what the child is to do. */
struct shared {
    int stage;                   /* how far it came */
    pid_t child;                 /* who it was */
    struct itimerval timer;      /* its time limit, as it found it */
    int code;                    /* to leave with */
    int signal;                  /* to die of */
    const char *words;           /* to say before */
    struct ronde_cancel *cancel; /* what the parent ends it by */
};

static struct shared *share(void)
{
    struct shared *shared = ronde_guard_share(sizeof *shared);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
    return shared;
}

static void work(void *argument)
{
    struct shared *shared = argument;
    shared->child = getpid();
    (void)getitimer(ITIMER_REAL, &shared->timer);
    shared->stage = 1;
    if (shared->words) {
        fputs(shared->words, stderr);
        fflush(stderr);
    }
    if (shared->code != 0)
        _exit(shared->code);
    if (shared->signal != 0) {
        (void)signal(shared->signal, SIG_DFL);
        (void)raise(shared->signal);
    }
    shared->stage = 2;
}

static enum ronde_status guard(void (*work_of_child)(void *argument), struct shared *shared,
                               double limit_s, struct ronde_error *error)
{
    const struct ronde_guarded guarded = {.work = work_of_child,
                                          .argument = shared,
                                          .limit_s = limit_s};
    return ronde_guard_run(&guarded, error);
}

static enum ronde_status run(struct shared *shared, double limit_s, struct ronde_error *error)
{
    memset(error, 0, sizeof *error);
    return guard(work, shared, limit_s, error);
}

static void what_is_shared_comes_back_and_nothing_else(void)
{
    static int here = 5;
    struct ronde_error error;
    struct shared *shared = share();
    CU_ASSERT_EQUAL(shared->stage, 0);
    CU_ASSERT_EQUAL(run(shared, 60, &error), RONDE_OK);
    CU_ASSERT_EQUAL(shared->stage, 2);
    CU_ASSERT(shared->child != 0 && shared->child != getpid());
    CU_ASSERT_EQUAL(here, 5);
    ronde_guard_unshare(shared, sizeof *shared);
    ronde_guard_unshare(NULL, 8);
}

/* The timer of a child is set for every limit, those that end just before a whole second included. */
static void every_limit_sets_the_timer(void)
{
    static const double limits_s[] = {0.999999,   0.9999995, 0.99999999, 1,    1.9999999, 2,
                                      59.9999996, 600,       1e8,        1e12, INFINITY};
    for (size_t i = 0; i < sizeof limits_s / sizeof limits_s[0]; i++) {
        struct ronde_error error;
        struct shared *shared = share();
        CU_ASSERT_EQUAL(run(shared, limits_s[i], &error), RONDE_OK);
        const double left_s =
            (double)shared->timer.it_value.tv_sec + (double)shared->timer.it_value.tv_usec / 1e6;
        CU_ASSERT(left_s > 0 && left_s <= fmin(limits_s[i], 1e8) + 1e-5);
        if (left_s <= 0)
            suite_note("a limit of %.9g s sets no timer", limits_s[i]);
        ronde_guard_unshare(shared, sizeof *shared);
    }
}

static void codes_and_signals_are_told_with_the_last_words(void)
{
    static const struct {
        int code, signal;
        const char *words, *message;
    } rows[] = {
        {3, 0, NULL, "SimGrid left with code 3: it said nothing"},
        {1, 0, "\n \t\nfirst\nlast\n\n", "SimGrid left with code 1: last"},
        {1, 0, "x\n[0.1] [ker/CRITICAL] no such model\nafter\n",
         "SimGrid left with code 1: no such model"},
        {1, 0, "a [x/ERROR] wrong\nb\n", "SimGrid left with code 1: a [x/ERROR] wrong"},
        {1, 0, "a\nERROR: wrong\r\nb\n", "SimGrid left with code 1: ERROR: wrong"},
        {0, SIGKILL, "gone", "SimGrid died of signal 9: gone"},
        {0, SIGABRT, NULL, "SimGrid died of signal 6: it said nothing"},
        {0, SIGTERM, "enough\n", "SimGrid died of signal 15: enough"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error;
        struct shared *shared = share();
        shared->code = rows[i].code;
        shared->signal = rows[i].signal;
        shared->words = rows[i].words;
        CU_ASSERT_EQUAL(run(shared, 60, &error), RONDE_DEVICE);
        CU_ASSERT_STRING_EQUAL(error.message, rows[i].message);
        CU_ASSERT_EQUAL(shared->stage, 1);
        ronde_guard_unshare(shared, sizeof *shared);
    }
}

/* The alarm can only be the limit's. */
static void an_alarm_is_a_limit(void)
{
    struct ronde_error error;
    struct shared *shared = share();
    shared->signal = SIGALRM;
    CU_ASSERT_EQUAL(run(shared, 60, &error), RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(error.message, "the replay took longer than its limit of 60 s");
    ronde_guard_unshare(shared, sizeof *shared);
}

static void endless(void *argument)
{
    ((struct shared *)argument)->stage = 1;
    for (;;)
        pause();
}

/* Handlers and masks of the program are not the child's. */
static void a_limit_holds_whatever_the_program_does_with_alarms(void)
{
    struct ronde_error error = {0};
    sigset_t alarms, before;
    struct shared *shared = share();
    (void)sigemptyset(&alarms);
    (void)sigaddset(&alarms, SIGALRM);
    CU_ASSERT_EQUAL(sigprocmask(SIG_BLOCK, &alarms, &before), 0);
    void (*handler)(int) = signal(SIGALRM, SIG_IGN);
    CU_ASSERT_EQUAL(guard(endless, shared, 0.02, &error), RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(error.message, "the replay took longer than its limit of 0.02 s");
    CU_ASSERT_EQUAL(shared->stage, 1);
    (void)signal(SIGALRM, handler);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    ronde_guard_unshare(shared, sizeof *shared);
}

static void a_request_to_cancel_ends_it(void)
{
    struct ronde_cancel cancel = {0};
    struct ronde_error error = {0};
    struct shared *shared = share();
    const struct ronde_guarded guarded = {.work = endless,
                                          .argument = shared,
                                          .limit_s = 60,
                                          .cancel = &cancel};
    ronde_cancel_request(&cancel);
    CU_ASSERT_EQUAL(ronde_guard_run(&guarded, &error), RONDE_CANCELLED);
    CU_ASSERT_STRING_EQUAL(error.message, "the replay was cancelled");
    ronde_guard_unshare(shared, sizeof *shared);
}

/* Asks for the end once the child has begun. */
static void look(void *argument)
{
    const struct shared *shared = argument;
    if (__atomic_load_n(&shared->stage, __ATOMIC_RELAXED) == 1)
        ronde_cancel_request(shared->cancel);
}

static void the_parent_sees_how_far_the_child_is(void)
{
    struct ronde_cancel cancel = {0};
    struct ronde_error error = {0};
    struct shared *shared = share();
    shared->cancel = &cancel;
    const struct ronde_guarded guarded = {
        .work = endless, .look = look, .argument = shared, .limit_s = 60, .cancel = &cancel};
    CU_ASSERT_EQUAL(ronde_guard_run(&guarded, &error), RONDE_CANCELLED);
    ronde_guard_unshare(shared, sizeof *shared);
}

static void loud(void *argument)
{
    struct shared *shared = argument;
    shared->stage = 1;
    for (uint32_t i = 0; i < 20000; i++)
        printf("line %u of much that nobody reads\n", i);
    fflush(stdout);
    shared->stage = 2;
}

/* Any amount of output neither blocks the child nor reaches the program's own streams. */
static void output_is_caught_however_much_it_is(void)
{
    struct ronde_error error = {0};
    struct shared *shared = share();
    CU_ASSERT_EQUAL(guard(loud, shared, 60, &error), RONDE_OK);
    CU_ASSERT_EQUAL(shared->stage, 2);
    ronde_guard_unshare(shared, sizeof *shared);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_shared_comes_back_and_nothing_else", what_is_shared_comes_back_and_nothing_else},
        {"every_limit_sets_the_timer", every_limit_sets_the_timer},
        {"codes_and_signals_are_told_with_the_last_words",
         codes_and_signals_are_told_with_the_last_words},
        {"an_alarm_is_a_limit", an_alarm_is_a_limit},
        {"a_limit_holds_whatever_the_program_does_with_alarms",
         a_limit_holds_whatever_the_program_does_with_alarms},
        {"a_request_to_cancel_ends_it", a_request_to_cancel_ends_it},
        {"the_parent_sees_how_far_the_child_is", the_parent_sees_how_far_the_child_is},
        {"output_is_caught_however_much_it_is", output_is_caught_however_much_it_is},
    };
    return suite_run("guard", cases, sizeof cases / sizeof cases[0]);
}
