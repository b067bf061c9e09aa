/**
 * Refusals of a file at one of its lines, in the one form that all readers have.
 */
#ifndef RONDE_ENGINE_TEXT_REFUSE_H
#define RONDE_ENGINE_TEXT_REFUSE_H

#include "ronde/status.h"

#include <stdarg.h>

/**
 * Refuses a file at a line: "path:line: " before the message, which is where editors look for it. For functions that take a
 * format themselves. Returns BAD_INPUT.
 */
RONDE_API enum ronde_status ronde_refuse_line(struct ronde_error *error, const char *path,
                                              uint32_t line, const char *format, va_list arguments)
    RONDE_FORMAT(4, 0);

#endif
