/*
 * Sources are as .clang-format has them. Other versions of clang-format break lines elsewhere, so only the one the file
 * was written for is asked.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_formatter(void)
{
    char *version;
    const int status = files_command("clang-format --version 2>/dev/null", &version);
    const bool is_ours = status == 0 && version && strstr(version, "version 14.");
    free(version);
    return is_ours;
}

static void check_file(const char *path, void *context)
{
    (void)context;
    char command[8192];
    snprintf(command, sizeof command,
             "cd '" RONDE_SOURCE_DIR "' && clang-format --dry-run -Werror '%s' 2>&1", path);
    char *said;
    const int status = files_command(command, &said);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        suite_note("%.300s", said ? said : "");
    free(said);
}

static void sources_are_formatted(void)
{
    static const char *const folders[] = {"engine", "schedules", "topologies", "sim",
                                          "hw",     "cli",       "tests",      "bench"};
    static const char *const suffixes[] = {".c", ".h", ".cpp", ".cu"};
    if (!has_formatter()) {
        suite_skip("no clang-format 14 here");
        return;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0]; k++)
            files_walk(folders[i], suffixes[k], check_file, NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {{"sources_are_formatted", sources_are_formatted}};
    return suite_run("style", cases, sizeof cases / sizeof cases[0]);
}
