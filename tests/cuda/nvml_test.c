/*
 * What `ronde list` and `ronde topo show --local` print about GPUs, on machines of a fake driver's library.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SCRATCH_DIR "/nvml"

/* A machine whose PCIe has the fake driver's GPUs, as hwloc recorded it. */
#define RECORDED "HWLOC_XMLFILE='" RONDE_SOURCE_DIR "/tests/data/hwloc/four-gpus.xml' "

static bool build_library(void)
{
    static const char command[] =
        "mkdir -p '" FOLDER "' && '" RONDE_CC "' -shared -fPIC -o '" FOLDER
        "/libnvidia-ml.so.1' '" RONDE_SOURCE_DIR "/tests/cuda/fake/nvml.c' 2>&1";
    char *said = NULL;
    const int status = files_command(command, &said);
    if (status != 0)
        suite_note("%.300s", said ? said : "");
    free(said);
    CU_ASSERT_EQUAL(status, 0);
    return status == 0;
}

/* Runs `ronde` on such a machine, or on one without the library; free the text. */
static char *run(const char *machine, const char *arguments, int code)
{
    char command[2048];
    snprintf(command, sizeof command, RECORDED "%s%s%s \"%s\" %s 2>&1",
             machine ? "LD_LIBRARY_PATH='" FOLDER "' FAKE_NVML=" : "", machine ? machine : "",
             machine ? "" : "LD_LIBRARY_PATH=", suite_ronde(), arguments);
    return said_by(command, code);
}

static void expect(const char *machine, const char *arguments, int code, const char *text)
{
    said_has(run(machine, arguments, code), text);
}

static void list_names_driver_and_gpus(void)
{
    if (!build_library())
        return;
    expect("switches:4:18", "list", 0, "driver                   580.95.05, for CUDA up to 13.0");
    expect("switches:4:18", "list", 0,
           "gpu 3                    NVIDIA Fake 100, 80 GiB, 00000000:13:00.0, 18 NVLinks, 18 of "
           "them into switches");
}

static void what_is_missing_is_named(void)
{
    if (!build_library())
        return;
    expect("none", "list", 0, "driver                   MISSING: driver 580.95.05, but no GPU");
    expect("unloaded", "list", 0,
           "MISSING: the driver's library is here, but the driver is not loaded");
    expect("none", "topo show --local", 3, "driver 580.95.05, but no GPU");
    char *said = run(NULL, "list", 0);
    /* A machine that has a driver of its own is a better one than this test is about. */
    if (strstr(said, "for CUDA up to") || strstr(said, "but no GPU"))
        suite_skip("this machine has a driver");
    else
        CU_ASSERT_PTR_NOT_NULL(strstr(said, "MISSING: no NVIDIA driver here (libnvidia-ml.so.1"));
    free(said);
}

/* Probing asks the driver what joins devices of the product: a switch's links make lines pay further than PCIe does. */
static void links_of_the_product_decide_how_long_lines_are(void)
{
    static const char *const machines[] = {"switches:4:18", "switches:4:0"};
    static const char *const joints[] = {"NVIDIA H200, NVLink\n", "NVIDIA H200, PCIe\n"};
    if (!build_library())
        return;
    for (unsigned m = 0; m < 2; m++) {
        char command[2048];
        snprintf(command, sizeof command,
                 "LD_LIBRARY_PATH='" FOLDER "' FAKE_NVML=%s FAKE_NVML_NAME='NVIDIA H200' "
                 "EMULATED_PRODUCT='NVIDIA H200' EMULATED_GPUS=2 \"" RONDE_EMULATED
                 "\" run all_reduce -a ring -N 2 -b 1K -e 1K -n 2 -w 1 --backend cuda 2>&1",
                 machines[m]);
        said_has(said_by(command, 0), joints[m]);
    }
}

/* This UCX may be any, or none: in every case one line is printed on how messages of GPUs are sent to other machines. */
static void gpudirect_is_listed(void)
{
    char *said = run(NULL, "list", 0);
    const char *line = strstr(said, "\n  gpudirect ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT(strstr(line, "UCX reads and writes memory of GPUs (built, never run)") ||
              strstr(line, "MISSING: UCX ") || strstr(line, "MISSING: ucx: built without UCX"));
    suite_note("%.150s", line + 1);
    free(said);
}

static void the_matrix_shows_what_joins_gpus(void)
{
    if (!build_library())
        return;
    char *said = run("pairs:4:2", "topo show --local", 0);
    static const char expected[] =
        "4 GPUs, driver 580.95.05\n"
        "           0     1     2     3\n"
        "    0      X   NV2   SYS   SYS  00000000:10:00.0 NVIDIA Fake 100\n"
        "    1    NV2     X   SYS   SYS  00000000:11:00.0 NVIDIA Fake 100\n"
        "    2    SYS   SYS     X   NV2  00000000:12:00.0 NVIDIA Fake 100\n"
        "    3    SYS   SYS   NV2     X  00000000:13:00.0 NVIDIA Fake 100\n"
        "NV    NVLink, directly or through switches; the number of links follows\n"
        "SYS   the link between processors\n";
    CU_ASSERT(strncmp(said, expected, strlen(expected)) == 0);
    if (strncmp(said, expected, strlen(expected)) != 0)
        suite_note("%s", said);
    free(said);
    expect("switches:8:18", "topo show --local", 0,
           "    7   NV18  NV18  NV18  NV18  NV18  NV18  NV18     X");
    if (RONDE_ALL_COMPONENTS)
        expect("pairs:4:2", "topo show --local --json", 0, "\"path\": \"NV\", \"nvlinks\": 2");
    expect("pairs:4:2", "topo show --local crossbar-64", 2, "no file, it shows this machine");
}

static void memory_and_processors_of_gpus_are_shown(void)
{
    static const char table[] = "\n  gpu memory package PCIe GB/s network    processors\n"
                                "    0      0       0      63.0 mlx5_0     0,2\n"
                                "    1      0       0      63.0 mlx5_0     0,2\n"
                                "    2      1       1      63.0 mlx5_1     1,3\n"
                                "    3      1       1      63.0 mlx5_1     1,3\n"
                                "    4  unknown: hwloc does not see it\n";
    if (!build_library())
        return;
    if (!RONDE_ALL_COMPONENTS) {
        expect("pairs:4:2", "topo show --local", 0, "unknown: hwloc does not see it");
        return;
    }
    expect("switches:5:18", "topo show --local", 0, table);
    expect("pairs:4:2", "topo show --local --json", 0,
           "\"processors\": \"1,3\", \"nic\": \"mlx5_1\"");
}

/* Hardware without a driver, and a driver whose GPUs are gone: for both, what PCIe has is listed. */
static void gpus_that_cannot_be_used_are_mentioned(void)
{
    static const char remark[] = "; NVIDIA's devices on PCIe: 4, the first at 0000:10:00.0";
    if (!build_library())
        return;
    if (!suite_has_components())
        return;
    expect("none", "list", 0, remark);
    expect("unloaded", "list", 0, remark);
    expect("unloaded", "topo show --local", 3, remark);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"list_names_driver_and_gpus", list_names_driver_and_gpus},
        {"what_is_missing_is_named", what_is_missing_is_named},
        {"links_of_the_product_decide_how_long_lines_are",
         links_of_the_product_decide_how_long_lines_are},
        {"gpudirect_is_listed", gpudirect_is_listed},
        {"the_matrix_shows_what_joins_gpus", the_matrix_shows_what_joins_gpus},
        {"memory_and_processors_of_gpus_are_shown", memory_and_processors_of_gpus_are_shown},
        {"gpus_that_cannot_be_used_are_mentioned", gpus_that_cannot_be_used_are_mentioned},
    };
    return suite_run("survey", cases, sizeof cases / sizeof cases[0]);
}
