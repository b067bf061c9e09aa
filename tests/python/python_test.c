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

/* Modules that a case has asked for, each between blanks. */
static char asked[1024] = " ";

static void run_module(const char *module, const char *needed)
{
    char command[1024];
    char *said = NULL;
    CU_ASSERT_FATAL(strlen(asked) + strlen(module) + 2 < sizeof asked);
    strcat(strcat(asked, module), " ");
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

static void what_is_no_argument_is_named(void)
{
    run_module("test_arguments", "numpy");
}

static void scenarios_workloads_and_files_of_others(void)
{
    run_module("test_jobs", "ronde");
}

static void synthesis_and_bounds(void)
{
    run_module("test_synthesis", "numpy");
}

static void the_model_of_nccl(void)
{
    run_module("test_nccl", "ronde");
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

static void tensors_of_every_layout(void)
{
    run_module("test_torch_layouts", "torch");
}

static void times_for_torchs_compiler(void)
{
    run_module("test_torch_estimates", "torch");
}

static void profiles_of_torch(void)
{
    run_module("test_torch_profiles", "torch");
}

static void calls_beside_gloo(void)
{
    run_module("test_torch_pairs", "torch");
}

static void ranks_that_end_anywhere(void)
{
    run_module("test_kills", "numpy");
}

static void forks_and_restarts(void)
{
    run_module("test_torch_processes", "torch");
}

static void tensors_of_gpus_where_there_is_none(void)
{
    run_module("test_torch_cuda", "torch");
}

static void scripts_that_know_nothing_of_ronde(void)
{
    run_module("test_scripts", "torch");
}

/* A file that no case names would be run by nobody. Last: the cases above have named theirs. */
static void every_file_has_a_case(void)
{
    char *files = NULL;
    CU_ASSERT_EQUAL_FATAL(files_command("cd '" RONDE_SOURCE_DIR "/tests/python' && ls test_*.py",
                                        &files),
                          0);
    for (char *file = strtok(files, "\n"); file; file = strtok(NULL, "\n")) {
        char name[128];
        snprintf(name, sizeof name, " %.*s ", (int)strcspn(file, "."), file);
        CU_ASSERT_PTR_NOT_NULL(strstr(asked, name));
        if (!strstr(asked, name))
            suite_note("no case runs %s", file);
    }
    free(files);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"package_as_it_is_installed", package_as_it_is_installed},
        {"communicators_and_arrays", communicators_and_arrays},
        {"machines_schedules_and_predictions", machines_schedules_and_predictions},
        {"what_is_no_argument_is_named", what_is_no_argument_is_named},
        {"scenarios_workloads_and_files_of_others", scenarios_workloads_and_files_of_others},
        {"synthesis_and_bounds", synthesis_and_bounds},
        {"the_model_of_nccl", the_model_of_nccl},
        {"results_as_pictures_and_frames", results_as_pictures_and_frames},
        {"sweeps_on_executors", sweeps_on_executors},
        {"long_replays_are_interrupted", long_replays_are_interrupted},
        {"notebooks", notebooks},
        {"backend_of_torch", backend_of_torch},
        {"groups_by_the_hundred_and_on_two_hosts", groups_by_the_hundred_and_on_two_hosts},
        {"tensors_of_every_layout", tensors_of_every_layout},
        {"times_for_torchs_compiler", times_for_torchs_compiler},
        {"profiles_of_torch", profiles_of_torch},
        {"calls_beside_gloo", calls_beside_gloo},
        {"ranks_that_end_anywhere", ranks_that_end_anywhere},
        {"forks_and_restarts", forks_and_restarts},
        {"tensors_of_gpus_where_there_is_none", tensors_of_gpus_where_there_is_none},
        {"scripts_that_know_nothing_of_ronde", scripts_that_know_nothing_of_ronde},
        {"every_file_has_a_case", every_file_has_a_case},
    };
    return suite_run("python", cases, sizeof cases / sizeof cases[0]);
}
