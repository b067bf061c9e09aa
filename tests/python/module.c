/** See module.h. */
#include "python/module.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PYTHON RONDE_SOURCE_DIR "/build/venv/bin/python"

bool python_can_test(void)
{
    const char *ci = getenv("CI");
    char *said = NULL;
    if (RONDE_SANITIZE[0] != '\0' || !RONDE_ALL_COMPONENTS) {
        suite_skip("built by itself, whatever the configuration: release tests it");
        return false;
    }
    const int status = files_command("test -x '" PYTHON "'", &said);
    free(said);
    if (status == 0 || (ci && strcmp(ci, "true") == 0))
        return true;
    suite_skip("no build/venv here: ./dev python makes it");
    return false;
}

/* The most of a failed run that is shown. */
#define MOST_SAID 12000u

/* Notes the lines of a test run that name a skip. */
static void note_skips(char *said)
{
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, "... skipped"))
            suite_note("%.300s", line);
}

void python_run_module(const char *module, const char *needed)
{
    char command[1024];
    char *said = NULL;
    if (!python_can_test())
        return;
    snprintf(command, sizeof command, "'" PYTHON "' -c 'import %s' 2>&1", needed);
    const bool is_here = files_command(command, &said) == 0;
    free(said);
    if (!is_here) {
        suite_skip("no %s in build/venv: ./dev python installs it", needed);
        return;
    }
    snprintf(command, sizeof command,
             "cd '" RONDE_SOURCE_DIR "/tests/python' && '" PYTHON "' -m unittest -v %s 2>&1",
             module);
    said = NULL;
    const int status = files_command(command, &said);
    CU_ASSERT_EQUAL(status, 0);
    /* unittest prints what failed last. */
    const size_t bytes = said ? strlen(said) : 0;
    if (said && status != 0)
        suite_note("%s: %s", module, said + (bytes > MOST_SAID ? bytes - MOST_SAID : 0));
    else if (said)
        note_skips(said);
    free(said);
}
