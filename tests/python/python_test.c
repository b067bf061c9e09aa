/*
 * The Python package, in a virtual environment: it is built from the sources as they are and its tests are run, each file
 * of them a test here. Nothing is downloaded but where CI=true; `./dev python` makes the environment.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PYTHON RONDE_SOURCE_DIR "/build/venv/bin/python"

/* What ./dev says of a machine on which no environment can be made, as without a network. */
#define LACKS_SOMETHING 3

/* Installs the package as the sources are; the status of that. Asked once. */
static int install_package(void)
{
    static int status = -1;
    char *said = NULL;
    if (status >= 0)
        return status;
    status = files_command("cd '" RONDE_SOURCE_DIR "' && ./dev python install 2>&1", &said);
    if (status != 0)
        suite_note("./dev python install: %.1500s", said ? said : "");
    free(said);
    return status;
}

/* Whether there is, or may be made, an environment to test in. */
static bool can_test(void)
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

/* Notes the lines of a test run that name a skip. */
static void note_skips(char *said)
{
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, "... skipped"))
            suite_note("%.300s", line);
}

static void run_module(const char *module, const char *needed)
{
    char command[1024];
    char *said = NULL;
    if (!can_test())
        return;
    const int installed = install_package();
    if (installed == LACKS_SOMETHING) {
        suite_skip("build/venv cannot be made here");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(installed, 0);
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
    if (said && status != 0)
        suite_note("%s: %.6000s", module, said);
    else if (said)
        note_skips(said);
    free(said);
}

static void package_as_it_is_installed(void)
{
    run_module("test_package", "ronde");
}

static void communicators_and_arrays(void)
{
    run_module("test_communicator", "numpy");
}

static void machines_schedules_and_predictions(void)
{
    run_module("test_prediction", "numpy");
}

static void results_as_pictures_and_frames(void)
{
    run_module("test_pictures", "numpy");
}

static void sweeps_on_executors(void)
{
    run_module("test_executors", "numpy");
}

static void long_replays_are_interrupted(void)
{
    run_module("test_interrupt", "ronde");
}

static void notebooks(void)
{
    run_module("test_notebook", "nbclient, ipykernel, matplotlib");
}

static void backend_of_torch(void)
{
    run_module("test_torch", "torch");
}

static void groups_by_the_hundred_and_on_two_hosts(void)
{
    run_module("test_torch_groups", "torch");
}

static void tensors_of_gpus_where_there_is_none(void)
{
    run_module("test_torch_cuda", "torch");
}

static void scripts_that_know_nothing_of_ronde(void)
{
    run_module("test_scripts", "torch");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"package_as_it_is_installed", package_as_it_is_installed},
        {"communicators_and_arrays", communicators_and_arrays},
        {"machines_schedules_and_predictions", machines_schedules_and_predictions},
        {"results_as_pictures_and_frames", results_as_pictures_and_frames},
        {"sweeps_on_executors", sweeps_on_executors},
        {"long_replays_are_interrupted", long_replays_are_interrupted},
        {"notebooks", notebooks},
        {"backend_of_torch", backend_of_torch},
        {"groups_by_the_hundred_and_on_two_hosts", groups_by_the_hundred_and_on_two_hosts},
        {"tensors_of_gpus_where_there_is_none", tensors_of_gpus_where_there_is_none},
        {"scripts_that_know_nothing_of_ronde", scripts_that_know_nothing_of_ronde},
    };
    return suite_run("python", cases, sizeof cases / sizeof cases[0]);
}
