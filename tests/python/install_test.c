/** The package as it is installed. See module.h. */
#include "python/module.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ./dev says of a machine on which no environment can be made, as without a network. */
#define LACKS_SOMETHING 3

static void sources_are_installed(void)
{
    char *said = NULL;
    if (!python_can_test())
        return;
    const int status =
        files_command("cd '" RONDE_SOURCE_DIR "' && ./dev python install 2>&1", &said);
    if (status == LACKS_SOMETHING)
        suite_skip("build/venv cannot be made here");
    else
        CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        suite_note("./dev python install: %.1500s", said ? said : "");
    free(said);
}

/* A file that no program names would be run by nobody. */
static void every_file_has_a_case(void)
{
    char *files = NULL;
    char *programs = NULL;
    CU_ASSERT_EQUAL_FATAL(files_command("cd '" RONDE_SOURCE_DIR "/tests/python' && cat *_test.c",
                                        &programs),
                          0);
    CU_ASSERT_EQUAL_FATAL(files_command("cd '" RONDE_SOURCE_DIR "/tests/python' && ls test_*.py",
                                        &files),
                          0);
    for (char *file = strtok(files, "\n"); file; file = strtok(NULL, "\n")) {
        char name[128];
        snprintf(name, sizeof name, "(\"%.*s\"", (int)strcspn(file, "."), file);
        CU_ASSERT_PTR_NOT_NULL(strstr(programs, name));
        if (!strstr(programs, name))
            suite_note("no case runs %s", file);
    }
    free(files);
    free(programs);
}

static void package_as_it_is_installed(void)
{
    python_run_module("test_package", "ronde");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_file_has_a_case", every_file_has_a_case},
        {"sources_are_installed", sources_are_installed},
        {"package_as_it_is_installed", package_as_it_is_installed},
    };
    return suite_run("install", cases, sizeof cases / sizeof cases[0]);
}
