/** The backend of torch.distributed, and scripts on it. See module.h. */
#include "python/module.h"

#include "support/suite.h"

static void backend_of_torch(void)
{
    python_run_module("test_torch", "torch");
}

static void groups_by_the_hundred_and_on_two_hosts(void)
{
    python_run_module("test_torch_groups", "torch");
}

static void tensors_of_every_layout(void)
{
    python_run_module("test_torch_layouts", "torch");
}

static void times_for_torchs_compiler(void)
{
    python_run_module("test_torch_estimates", "torch");
}

static void profiles_of_torch(void)
{
    python_run_module("test_torch_profiles", "torch");
}

static void calls_beside_gloo(void)
{
    python_run_module("test_torch_pairs", "torch");
}

static void forks_and_restarts(void)
{
    python_run_module("test_torch_processes", "torch");
}

static void tensors_of_gpus_where_there_is_none(void)
{
    python_run_module("test_torch_cuda", "torch");
}

static void scripts_that_know_nothing_of_ronde(void)
{
    python_run_module("test_scripts", "torch");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"backend_of_torch", backend_of_torch},
        {"groups_by_the_hundred_and_on_two_hosts", groups_by_the_hundred_and_on_two_hosts},
        {"tensors_of_every_layout", tensors_of_every_layout},
        {"times_for_torchs_compiler", times_for_torchs_compiler},
        {"profiles_of_torch", profiles_of_torch},
        {"calls_beside_gloo", calls_beside_gloo},
        {"forks_and_restarts", forks_and_restarts},
        {"tensors_of_gpus_where_there_is_none", tensors_of_gpus_where_there_is_none},
        {"scripts_that_know_nothing_of_ronde", scripts_that_know_nothing_of_ronde},
    };
    return suite_run("torch", cases, sizeof cases / sizeof cases[0]);
}
