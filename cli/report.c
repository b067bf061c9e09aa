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

/* Longest name that is compared; longer texts are no misspelling of ours. */
#define NEAREST_MAX 48u

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, two rows at a time. */
static uint32_t edit_distance(const char *a, const char *b)
{
    const size_t a_length = strlen(a), b_length = strlen(b);
    uint32_t row[NEAREST_MAX + 1];
    if (a_length > NEAREST_MAX || b_length > NEAREST_MAX)
        return UINT32_MAX;
    for (uint32_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            const uint32_t above = row[j];
            const uint32_t change = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = least(least(above, row[j - 1]) + 1, change);
            diagonal = above;
        }
    }
    return row[b_length];
}

const char *ronde_nearest(const char *text, const char *const *names, uint32_t count)
{
    const char *best = NULL;
    /* Beyond a third of the letters a suggestion is a guess. */
    uint32_t limit = (uint32_t)(strlen(text) + 2) / 3;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t distance = edit_distance(text, names[i]);
        if (distance > limit)
            continue;
        best = names[i];
        limit = distance ? distance - 1 : 0;
        if (distance == 0)
            break;
    }
    return best;
}
