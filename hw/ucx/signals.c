/*
 * Signals that UCX has taken. See signals.h.
 *
 * As soon as libucs is loaded it catches SIGHUP, upon which it would enter a debug mode, and the signals of crashes
 * (ucs_debug_init of src/ucs/debug/debug.c; UCX_DEBUG_SIGNO, UCX_HANDLE_ERRORS, UCX_ERROR_SIGNALS). A program that is
 * linked with ronde has not asked for that, may not use UCX at all, and is to end when its terminal is closed.
 */
#include "hw/ucx/signals.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/debug/debug.h>

static bool is_asked_for(void)
{
    return getenv("UCX_DEBUG_SIGNO") || getenv("UCX_HANDLE_ERRORS") || getenv("UCX_ERROR_SIGNALS");
}

/* Whether a handler lies in libucs. */
static bool is_of_ucx(const struct sigaction *action)
{
    Dl_info where;
    const bool has_info = (action->sa_flags & SA_SIGINFO) != 0;
    const void *handler = has_info ? (const void *)(size_t)action->sa_sigaction
                                   : (const void *)(size_t)action->sa_handler;
    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)
        return false;
    return dladdr(handler, &where) != 0 && where.dli_fname && strstr(where.dli_fname, "libucs");
}

__attribute__((constructor)) void ronde_ucx_return_signals(void)
{
    struct sigaction action;
    for (int number = 1; number < NSIG && !is_asked_for(); number++)
        if (sigaction(number, NULL, &action) == 0 && is_of_ucx(&action))
            ucs_debug_disable_signal(number);
}
