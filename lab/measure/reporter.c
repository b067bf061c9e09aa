/* What people are told of a measurement: progress, passed on to the callback that shows it, and this machine in one
 * line. */
#include "ronde/reporter.h"
#include "ronde/benchmark.h"
#include "ronde/hw.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ronde_reporter_say(const struct ronde_reporter *reporter, double share, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (!reporter->on_progress)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reporter->on_progress(reporter->context, share, text);
}

void ronde_reporter_end(const struct ronde_reporter *reporter)
{
    if (reporter->on_progress)
        reporter->on_progress(reporter->context, RONDE_REPORTER_UNCOUNTED, NULL);
}

/* This machine in one line, for records and heads of tables. */

/* The GPUs of a backend that has its ranks on some. */
static bool find_devices(const char *backend_name, struct ronde_machine *out_machine)
{
    struct ronde_error ignored = {0};
    const struct ronde_backend *backend =
        backend_name ? ronde_backend_find(backend_name, &ignored) : NULL;
    return backend && backend->probe(out_machine, &ignored) == RONDE_OK && out_machine->devices > 0;
}

void ronde_machine_line(const char *backend, uint32_t cores, char *out_line, size_t bytes)
{
    struct ronde_machine machine;
    if (find_devices(backend, &machine)) {
        snprintf(out_line, bytes, "%s", machine.description);
        return;
    }
    char model[96] = "unknown processor";
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strstr(line, ": ") : NULL;
        if (!colon)
            continue;
        snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        fclose(file);
    snprintf(out_line, bytes, "%s, %u usable cores, sums with %s", model, cores,
             ronde_level_text(ronde_level_widest()));
}
