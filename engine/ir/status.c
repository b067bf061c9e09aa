/* Status codes and the error record. */
#include "ronde/status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const status_texts[] = {RONDE_STATUS_LIST(RONDE_LIST_TEXT)};

/*
 * Formats into a record that is still free. Messages quote what users wrote, so anything that could break the line or
 * drive a terminal is replaced: a message is one line whatever the file held.
 */
static void record(struct ronde_error *error, enum ronde_status status, uint32_t line,
                   const char *format, va_list arguments)
{
    if (!error || error->status != RONDE_OK)
        return;
    error->status = status;
    error->line = line;
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    for (char *c = error->message; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

enum ronde_status ronde_fail(struct ronde_error *error, enum ronde_status status,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(error, status, 0, format, arguments);
    va_end(arguments);
    return status;
}

enum ronde_status ronde_fail_at(struct ronde_error *error, enum ronde_status status, uint32_t line,
                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(error, status, line, format, arguments);
    va_end(arguments);
    return status;
}

const char *ronde_status_text(enum ronde_status status)
{
    const uint32_t count = sizeof status_texts / sizeof status_texts[0];
    return (uint32_t)status < count ? status_texts[status] : "?";
}
