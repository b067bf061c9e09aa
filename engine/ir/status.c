/* Status codes and the error record. */
#include "ronde/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const status_texts[] = {RONDE_STATUS_LIST(RONDE_LIST_TEXT)};

/* The longest path there is, and words around it. */
#define WHOLE_BYTES (4096 + 512)

static const char gap[] = " ... ";

/* Whether a byte is inside a character of UTF-8. */
static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/*
 * What is longer than a message lacks its middle: that is what users wrote, and behind it stands what is wrong with it and
 * what to do.
 */
static void shorten(const char *whole, size_t length, char message[RONDE_ERROR_MESSAGE_BYTES])
{
    size_t head = (RONDE_ERROR_MESSAGE_BYTES - sizeof gap) / 2;
    size_t tail = length - (RONDE_ERROR_MESSAGE_BYTES - sizeof gap - head);
    for (unsigned i = 0; i < 3 && is_inside(whole[head]); i++)
        head--;
    for (unsigned i = 0; i < 3 && is_inside(whole[tail]); i++)
        tail++;
    memcpy(message, whole, head);
    memcpy(message + head, gap, sizeof gap - 1);
    memcpy(message + head + sizeof gap - 1, whole + tail, length - tail + 1);
}

/*
 * Formats into a record that is still free. Messages quote what users wrote, so anything that could break the line or
 * drive a terminal is replaced: a message is one line whatever the file held.
 */
static void record(struct ronde_error *error, enum ronde_status status, uint32_t line,
                   const char *format, va_list arguments)
{
    char whole[WHOLE_BYTES] = "";
    if (!error || error->status != RONDE_OK)
        return;
    error->status = status;
    error->line = line;
    (void)vsnprintf(whole, sizeof whole, format, arguments);
    const size_t length = strlen(whole);
    if (length < sizeof error->message)
        memcpy(error->message, whole, length + 1);
    else
        shorten(whole, length, error->message);
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
