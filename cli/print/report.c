/* Errors, notes, progress and suggestions: everything on stderr, and nothing of it in results. */
#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ronde_exit_code(enum ronde_status status)
{
    switch (status) {
    case RONDE_OK:
        return RONDE_EXIT_OK;
    case RONDE_REJECTED:
        return RONDE_EXIT_NO;
    case RONDE_BAD_ARGUMENT:
    case RONDE_BAD_INPUT:
    case RONDE_UNSUPPORTED: /* asked for something that cannot be: another command line is the remedy */
    case RONDE_IO:          /* a file that was named and cannot be used */
        return RONDE_EXIT_USAGE;
    case RONDE_UNAVAILABLE:
        return RONDE_EXIT_MISSING;
    case RONDE_NO_MEMORY:
    case RONDE_DEVICE:
    case RONDE_TIMEOUT:
    case RONDE_CANCELLED:
        return RONDE_EXIT_FAILED;
    }
    return RONDE_EXIT_FAILED;
}

/* A progress line that is still standing; stderr is shared by all that print on it. */
static bool line_is_open;

/* A dumb terminal cannot take a line back. */
static bool is_terminal(int descriptor)
{
    const char *term = getenv("TERM");
    return isatty(descriptor) && term && strcmp(term, "dumb") != 0;
}

void ronde_progress_end(void)
{
    if (line_is_open)
        fputs("\r\033[K", stderr);
    line_is_open = false;
}

int ronde_report(const struct ronde_error *error)
{
    ronde_progress_end();
    if (error->message[0])
        fprintf(stderr, "ronde: %s\n", error->message);
    else
        fprintf(stderr, "ronde: %s\n", ronde_status_text(error->status));
    return ronde_exit_code(error->status);
}

void ronde_note(const char *format, ...)
{
    va_list arguments;
    ronde_progress_end();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void ronde_progress(const char *format, ...)
{
    va_list arguments;
    if (!is_terminal(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    line_is_open = true;
}

static void show_progress(void *context, const char *text)
{
    (void)context;
    if (text)
        ronde_progress("%s", text);
    else
        ronde_progress_end();
}

struct ronde_reporter ronde_progress_reporter(void)
{
    return (struct ronde_reporter){.on_progress = show_progress};
}
