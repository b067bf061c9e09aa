/** What needs no torch. See module.h. */
#include "python/module.h"

#include "support/suite.h"

static void communicators_and_arrays(void)
{
    python_run_module("test_communicator", "numpy");
}

static void machines_schedules_and_predictions(void)
{
    python_run_module("test_prediction", "numpy");
}

static void what_is_no_argument_is_named(void)
{
    python_run_module("test_arguments", "numpy");
}

static void scenarios_workloads_and_files_of_others(void)
{
    python_run_module("test_jobs", "ronde");
}

static void synthesis_and_bounds(void)
{
    python_run_module("test_synthesis", "numpy");
}

static void the_model_of_nccl(void)
{
    python_run_module("test_nccl", "ronde");
}

static void results_as_pictures_and_frames(void)
{
    python_run_module("test_pictures", "numpy");
}

static void sweeps_on_executors(void)
{
    python_run_module("test_executors", "numpy");
}

static void long_replays_are_interrupted(void)
{
    python_run_module("test_interrupt", "ronde");
}

static void notebooks(void)
{
    python_run_module("test_notebook", "nbclient, ipykernel, matplotlib");
}

static void ranks_that_end_anywhere(void)
{
    python_run_module("test_kills", "numpy");
}

static void public_names(void)
{
    python_run_module("test_public", "numpy");
}

int main(void)
{
    static const struct suite_case cases[] = {
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
        {"ranks_that_end_anywhere", ranks_that_end_anywhere},
        {"public_names", public_names},
    };
    return suite_run("python", cases, sizeof cases / sizeof cases[0]);
}
