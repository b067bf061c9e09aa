/*
 * Signals are a program's own: none of the libraries it is linked with by ronde catches any, neither when they are loaded
 * nor when they are used.
 */
#include "support/built_with.h"
#include "support/suite.h"

#include "ronde/comm.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A sanitizer catches the signals of crashes itself. */
static bool is_watched(int number)
{
    const bool is_crash = number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
                          number == SIGILL || number == SIGABRT || number == SIGTRAP;
    return RONDE_SANITIZE[0] == '\0' || !is_crash;
}

/* The signals that somebody catches, each named. */
static void expect_none_caught(const char *when)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (!is_watched(number) || sigaction(number, NULL, &action) != 0)
            continue;
        const bool is_caught = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
        CU_ASSERT_FALSE(is_caught);
        if (is_caught)
            suite_note("%s: signal %d (%s) is caught", when, number, strsignal(number));
    }
}

static void loading_leaves_signals_alone(void)
{
    expect_none_caught("before main");
}

static void communicators_leave_signals_alone(void)
{
    static const enum ronde_transport transports[] = {RONDE_TRANSPORT_SHM, RONDE_TRANSPORT_UCX};
    for (size_t t = 0; t < sizeof transports / sizeof transports[0]; t++) {
        char token[32];
        const char *reason = NULL;
        struct ronde_comm *comm = NULL;
        struct ronde_error error = {0};
        const struct ronde_comm_options options = {.transport = transports[t]};
        const struct ronde_join join = {.token = token, .ranks = 1};
        snprintf(token, sizeof token, "signals-%d", (int)getpid());
        if (!ronde_transport_available(transports[t], &reason)) {
            suite_note("%s", reason);
            continue;
        }
        CU_ASSERT_EQUAL_FATAL(ronde_comm_join(&join, &options, NULL, &comm, &error), RONDE_OK);
        expect_none_caught(ronde_transport_text(transports[t]));
        ronde_comm_destroy(comm);
        expect_none_caught("after it");
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"loading_leaves_signals_alone", loading_leaves_signals_alone},
        {"communicators_leave_signals_alone", communicators_leave_signals_alone},
    };
    return suite_run("signals", cases, sizeof cases / sizeof cases[0]);
}
