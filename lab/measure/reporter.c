/* Progress, passed on to the callback that shows it. */
#include "ronde/reporter.h"

#include <stdarg.h>
#include <stdio.h>

void ronde_reporter_say(const struct ronde_reporter *reporter, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (!reporter->on_progress)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reporter->on_progress(reporter->context, text);
}

void ronde_reporter_end(const struct ronde_reporter *reporter)
{
    if (reporter->on_progress)
        reporter->on_progress(reporter->context, NULL);
}
