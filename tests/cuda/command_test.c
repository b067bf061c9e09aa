/*
 * `ronde --backend cuda` on emulated GPUs: running, calibrating and comparing through the backend interface.
 */
#include "support/built_with.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE RONDE_SCRATCH_DIR "/emulated-gpu.xml"

/* Runs the command on so many devices; free the text. */
static char *run(uint32_t devices, const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "EMULATED_GPUS=%u \"" RONDE_EMULATED "\" %s 2>&1", devices,
             arguments);
    return said_by(command, 0);
}

/* JSON needs a component. */
static bool can_print_json(void)
{
    if (!RONDE_ALL_COMPONENTS)
        suite_skip("this build lacks a component (apt: libsimgrid-dev, libxml2-dev, libhwloc-dev, "
                   "libjansson-dev)");
    return RONDE_ALL_COMPONENTS;
}

static void run_checks_results_on_any_number_of_devices(void)
{
    for (uint32_t devices = 1; devices <= 4; devices *= 2) {
        char *said =
            run(devices, "run all_reduce -a double_tree -N 6 -b 8 -e 64K --backend cuda -n 2 -w 1");
        CU_ASSERT_PTR_NOT_NULL(strstr(said, "     32768 "));
        free(said);
    }
}

/* More ranks than devices share some: their times do not measure links. */
static void shared_devices_are_labelled(void)
{
    static const char arguments[] =
        "run all_reduce -a ring -N 4 -b 1K -e 1K --backend cuda -n 2 -w 1 --json";
    if (!can_print_json())
        return;
    for (uint32_t devices = 1; devices <= 4; devices++) {
        char *said = run(devices, arguments);
        CU_ASSERT_EQUAL(strstr(said, "virtual_ranks") != NULL, devices < 4);
        free(said);
    }
}

static void calibrate_then_validate(void)
{
    if (!can_print_json())
        return;
    char *said = run(1, "calibrate --backend cuda -o \"" MACHINE "\"");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "# emulated; ronde calibrate"));
    free(said);
    said = run(1, "validate all_reduce -a ring,double_tree -N 2,4 -b 1K -e 64K -n 2 -w 1 "
                  "--backend cuda --topo \"" MACHINE "\"");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "winner"));
    free(said);
}

/* By the data sheet of the product, and by what joins the devices; what is in none leaves it to the backend. */
static void lines_are_those_of_the_product(void)
{
    static const struct {
        const char *environment, *line;
    } cases[] = {
        {"EMULATED_PRODUCT='NVIDIA H200' EMULATED_LINKS=1",
         "by NCCL's model of NVIDIA H200, NVLink\n"},
        {"EMULATED_PRODUCT='NVIDIA A100-PCIE-40GB'",
         "by NCCL's model of NVIDIA A100-PCIE-40GB, PCIe\n"},
        {"EMULATED_PRODUCT=abacus", NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char command[512];
        snprintf(command, sizeof command,
                 "%s EMULATED_GPUS=2 \"" RONDE_EMULATED
                 "\" run all_reduce -a ring -N 2 -b 8 -e 64K --backend cuda -n 2 -w 1 2>&1",
                 cases[c].environment);
        char *said = said_by(command, 0);
        const char *line = strstr(said, "# lines ");
        CU_ASSERT_EQUAL(line != NULL, cases[c].line != NULL);
        CU_ASSERT(!line || strstr(line, cases[c].line) != NULL);
        free(said);
    }
}

/* A launch that waits for its kernel, which waits for one that is launched after it, would hang. */
static void launches_that_block_are_refused_where_they_hang(void)
{
    static const struct {
        const char *value;
        uint32_t devices;
        bool hangs;
    } cases[] = {{"1", 2, true}, {"1", 1, false}, {"0", 2, false}, {"", 2, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char command[512];
        snprintf(command, sizeof command,
                 "CUDA_LAUNCH_BLOCKING=%s EMULATED_GPUS=%u \"" RONDE_EMULATED
                 "\" run all_reduce -a ring -N 2 -b 8 -e 8 --backend cuda -n 2 -w 1 2>&1",
                 cases[c].value, cases[c].devices);
        char *said = said_by(command, cases[c].hangs ? 2 : 0);
        CU_ASSERT_EQUAL(strstr(said, "CUDA_LAUNCH_BLOCKING is set") != NULL, cases[c].hangs);
        free(said);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"run_checks_results_on_any_number_of_devices", run_checks_results_on_any_number_of_devices},
        {"shared_devices_are_labelled", shared_devices_are_labelled},
        {"calibrate_then_validate", calibrate_then_validate},
        {"lines_are_those_of_the_product", lines_are_those_of_the_product},
        {"launches_that_block_are_refused_where_they_hang",
         launches_that_block_are_refused_where_they_hang},
    };
    return suite_run("command", cases, sizeof cases / sizeof cases[0]);
}
