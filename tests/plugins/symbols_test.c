/**
 * What NCCL's loader sees of the plug-ins: its own symbols and no others, since several plug-ins share a process, and no
 * library beyond the C library, since one that is missing means "not loaded", quietly.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer adds symbols and libraries of its own. */
static bool is_bare(void)
{
    if (RONDE_SANITIZE[0] != '\0')
        suite_skip("built with -fsanitize=%s", RONDE_SANITIZE);
    return RONDE_SANITIZE[0] == '\0';
}

/* Every line of a command's output is one of `allowed`, which ends with NULL; returns how many lines there were. */
static unsigned each_is_one_of(const char *command, const char *const *allowed)
{
    char *text = NULL;
    unsigned lines = 0;
    CU_ASSERT_EQUAL(files_command(command, &text), 0);
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"), lines++) {
        bool is_allowed = false;
        for (size_t i = 0; allowed[i]; i++)
            is_allowed = is_allowed || strcmp(line, allowed[i]) == 0;
        CU_ASSERT(is_allowed);
        if (!is_allowed)
            suite_note("%s", line);
    }
    free(text);
    return lines;
}

static void check_symbols(const char *library, const char *const *symbols, unsigned count)
{
    char command[2048];
    snprintf(command, sizeof command, "'" RONDE_NM "' -D --defined-only '%s' | sed 's/.* //'",
             library);
    CU_ASSERT_EQUAL(each_is_one_of(command, symbols), count);
}

static void check_libraries(const char *library)
{
    static const char *const allowed[] = {"libc.so.6",
                                          "libm.so.6",
                                          "libpthread.so.0",
                                          "libdl.so.2",
                                          "ld-linux-x86-64.so.2",
                                          "ld-linux-aarch64.so.1",
                                          NULL};
    char command[2048];
    snprintf(command, sizeof command,
             "readelf -d '%s' | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'", library);
    CU_ASSERT(each_is_one_of(command, allowed) >= 1);
}

static void the_tuner_exports_nccls_symbols_alone(void)
{
    static const char *const symbols[] = {"ncclTunerPlugin_v2", "ncclTunerPlugin_v3",
                                          "ncclTunerPlugin_v4", "ncclTunerPlugin_v5",
                                          "ncclTunerPlugin_v6", NULL};
    if (!is_bare())
        return;
    check_symbols(RONDE_NCCL_TUNER, symbols, 5);
    check_libraries(RONDE_NCCL_TUNER);
}

static void the_profiler_exports_nccls_symbols_alone(void)
{
    static const char *const symbols[] = {"ncclProfiler_v1",
                                          "ncclProfiler_v2",
                                          "ncclProfiler_v3",
                                          "ncclProfiler_v4",
                                          "ncclProfiler_v5",
                                          "ncclProfiler_v6",
                                          NULL};
    if (!is_bare())
        return;
    if (RONDE_NCCL_PROFILER[0] == '\0') {
        suite_skip("built without threads");
        return;
    }
    check_symbols(RONDE_NCCL_PROFILER, symbols, 6);
    check_libraries(RONDE_NCCL_PROFILER);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_tuner_exports_nccls_symbols_alone", the_tuner_exports_nccls_symbols_alone},
        {"the_profiler_exports_nccls_symbols_alone", the_profiler_exports_nccls_symbols_alone},
    };
    return suite_run("plugins_symbols", cases, sizeof cases / sizeof cases[0]);
}
