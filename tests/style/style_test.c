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

/* Starting clang-format takes as long as what it does with a file: one call for many. */
struct batch {
    char command[65536];
    size_t length;
};

static const char call[] = "cd '" RONDE_SOURCE_DIR "' && clang-format --dry-run -Werror";

static void check_batch(struct batch *batch)
{
    char *said = NULL;
    if (batch->length == 0)
        return;
    snprintf(batch->command + batch->length, sizeof batch->command - batch->length, " 2>&1");
    const int status = files_command(batch->command, &said);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        suite_note("%.1000s", said ? said : "");
    free(said);
    batch->length = 0;
}

static void add_file(const char *path, void *context)
{
    struct batch *batch = context;
    const size_t needed = strlen(path) + sizeof " '' 2>&1";
    if (batch->length + needed >= sizeof batch->command)
        check_batch(batch);
    const size_t room = sizeof batch->command - batch->length;
    const int written = batch->length == 0
                            ? snprintf(batch->command, room, "%s '%s'", call, path)
                            : snprintf(batch->command + batch->length, room, " '%s'", path);
    CU_ASSERT_FATAL(written > 0 && (size_t)written < room);
    batch->length += (size_t)written;
}

static void sources_are_formatted(void)
{
    static const char *const folders[] = {"engine", "schedules", "topologies", "sim",
                                          "hw",     "formats",   "predict",    "nccl",
                                          "lab",    "cli",       "tests",      "bench"};
    static const char *const suffixes[] = {".c", ".h", ".cpp", ".cu"};
    static struct batch batch;
    if (!has_formatter()) {
        suite_skip("no clang-format 14 here (apt: clang-format-14)");
        return;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0]; k++)
            files_walk(folders[i], suffixes[k], add_file, &batch);
    check_batch(&batch);
}

int main(void)
{
    static const struct suite_case cases[] = {{"sources_are_formatted", sources_are_formatted}};
    return suite_run("style", cases, sizeof cases / sizeof cases[0]);
}
