/*
 * hw/cuda/on-gpu.sh, as far as it can be tested without a GPU: its parts fit the time they have, and it is sound bash.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

#define SCRIPT "'" RONDE_SOURCE_DIR "/hw/cuda/on-gpu.sh'"

/* What it may take, s. */
#define LIMIT_S 480u

/* Runs a command of the shell; free the text. */
static char *run(const char *command, int code)
{
    char *said = NULL;
    const int got = files_command(command, &said);
    CU_ASSERT_EQUAL(got, code);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    if (got != code)
        suite_note("exit %d: %.500s", got, said);
    return said;
}

static void parts_fit_the_time_there_is(void)
{
    static const char *const names[] = {" build: ",       " stream: ",    " bench: ",
                                        " conformance: ", " calibrate: ", " validate: ",
                                        " memcheck: ",    " racecheck: "};
    char *said = run("bash " SCRIPT " --dry-run '" RONDE_SCRATCH_DIR "/on-gpu' 64", 0);
    unsigned long sum_s = 0;
    for (const char *line = said; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const unsigned long limit_s = strtoul(line, NULL, 10);
        CU_ASSERT(limit_s > 0 || *line == '\0');
        sum_s += limit_s;
    }
    CU_ASSERT(sum_s > 0 && sum_s <= LIMIT_S);
    suite_note("%lu s at most", sum_s);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        CU_ASSERT_PTR_NOT_NULL(strstr(said, names[n]));
    free(said);
}

static void the_script_is_sound(void)
{
    free(run("bash -n " SCRIPT " 2>&1", 0));
    char *found = NULL;
    const int has_checker = files_command("command -v shellcheck", &found);
    free(found);
    if (has_checker != 0)
        suite_skip("no shellcheck here");
    else
        free(run("shellcheck " SCRIPT " 2>&1", 0));
}

static void a_folder_is_asked_for(void)
{
    char *said = run("bash " SCRIPT " --dry-run 2>&1", 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "usage: hw/cuda/on-gpu.sh [--dry-run] FOLDER [MIB]"));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"parts_fit_the_time_there_is", parts_fit_the_time_there_is},
        {"the_script_is_sound", the_script_is_sound},
        {"a_folder_is_asked_for", a_folder_is_asked_for},
    };
    return suite_run("script", cases, sizeof cases / sizeof cases[0]);
}
