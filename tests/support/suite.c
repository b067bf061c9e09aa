#include "support/suite.h"

#include "support/built_with.h"
#include "support/runner.h"

#include "ronde/sim.h"
#include "ronde/topologies.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** Room for a reason or a note. */
#define LINE_BYTES 512

/** State of the running test; a test program is single-threaded outside the code it tests. */
static struct {
    bool is_skipped;
    char reason[LINE_BYTES];
} running;

void suite_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(running.reason, sizeof running.reason, format, arguments);
    va_end(arguments);
    running.is_skipped = true;
}

void suite_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("        ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

static bool join_path(char *path, size_t bytes, const char *folder, const char *relative)
{
    const int length = snprintf(path, bytes, "%s/%s", folder, relative);
    return length >= 0 && (size_t)length < bytes;
}

bool suite_source(char *path, size_t bytes, const char *relative)
{
    const bool fits = join_path(path, bytes, RONDE_SOURCE_DIR, relative);
    CU_ASSERT(fits);
    return fits;
}

bool suite_shared(char *path, size_t bytes, const char *relative)
{
    if (join_path(path, bytes, RONDE_SOURCE_DIR "/../shared", relative) && access(path, R_OK) == 0)
        return true;
    suite_skip("../shared/%s is not here", relative);
    return false;
}

uint64_t suite_number(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

uint64_t suite_seed(void)
{
    const time_t now = time(NULL);
    struct tm today;
    char date[16] = "0";
    if (gmtime_r(&now, &today))
        (void)strftime(date, sizeof date, "%Y%m%d", &today);
    const uint64_t seed = suite_number("RONDE_TEST_SEED", strtoull(date, NULL, 10));
    suite_note("RONDE_TEST_SEED=%llu repeats it", (unsigned long long)seed);
    return seed;
}

bool suite_is_sample(void)
{
    return suite_number("RONDE_TEST_SCALE", 100) < 100;
}

const char *suite_ronde(void)
{
    return RONDE_BINARY;
}

enum outcome { PASSED, SKIPPED, FAILED };

static enum outcome run_case(const struct suite_case *test)
{
    running.is_skipped = false;
    const struct runner_result result = runner_run(test->name, test->run);
    if (result.failures > 0) {
        printf("FAIL    %s (%u of %u asserts)\n", test->name, result.failures, result.asserts);
        return FAILED;
    }
    if (running.is_skipped) {
        printf("skip    %s: %s\n", test->name, running.reason);
        return SKIPPED;
    }
    if (result.asserts == 0) {
        printf("FAIL    %s: asserted nothing\n", test->name);
        return FAILED;
    }
    printf("ok      %s (%u asserts)\n", test->name, result.asserts);
    return PASSED;
}

static void skip_without_components(void)
{
    suite_skip("built without libxml2, SimGrid, hwloc, jansson or threads");
}

bool suite_has_components(void)
{
    if (!RONDE_ALL_COMPONENTS)
        skip_without_components();
    return RONDE_ALL_COMPONENTS;
}

static bool is_there(bool is_available, const char *reason)
{
    if (!is_available)
        suite_skip("%s", reason);
    return is_available;
}

bool suite_can_read_platforms(void)
{
    const char *reason = NULL;
    const bool is_available = ronde_topologies_available(&reason);
    return is_there(is_available, reason);
}

bool suite_has_simgrid(void)
{
    const char *reason = NULL;
    const bool is_available = ronde_sim_simgrid_available(&reason);
    return is_there(is_available, reason);
}

int suite_run_with_components(const char *name, const struct suite_case *cases, size_t count)
{
    struct suite_case skipped[32];
    if (RONDE_ALL_COMPONENTS)
        return suite_run(name, cases, count);
    if (count > sizeof skipped / sizeof skipped[0])
        return 1;
    for (size_t i = 0; i < count; i++)
        skipped[i] = (struct suite_case){cases[i].name, skip_without_components};
    return suite_run(name, skipped, count);
}

int suite_run(const char *name, const struct suite_case *cases, size_t count)
{
    const char *wanted = getenv("RONDE_TEST");
    /* What `auto` chooses here is what the shipped tables say, whatever was measured on this machine. */
    if (setenv("RONDE_TUNE_DIR", RONDE_SOURCE_DIR "/predict/tables", 0) != 0)
        return 1;
    unsigned outcomes[FAILED + 1] = {0, 0, 0};
    /* Line by line, so that a crash leaves the name of the last test that ended before it. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < count; i++)
        if (!wanted || strstr(cases[i].name, wanted))
            outcomes[run_case(&cases[i])]++;
    printf("suite %s: %u run, %u skipped, %u failed\n", name, outcomes[PASSED] + outcomes[FAILED],
           outcomes[SKIPPED], outcomes[FAILED]);
    if (outcomes[FAILED] > 0)
        return 1;
    return outcomes[PASSED] > 0 ? 0 : SUITE_ALL_SKIPPED;
}
