/*
 * What the cuda backend reports where it is built and something is missing: a driver, one that is new enough, a GPU, a
 * driver that starts. CUDA's own runtime calls a fake driver; builds without nvcc have no such runtime.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SCRATCH_DIR "/driver"

/* False after a visible skip. */
static bool build_driver(void)
{
    static const char command[] =
        "mkdir -p '" FOLDER "' && '" RONDE_CC "' -shared -fPIC -o '" FOLDER
        "/libcuda.so.1' '" RONDE_SOURCE_DIR "/tests/cuda/fake/cuda.c' 2>&1";
    char *said = NULL;
    if (RONDE_NVCC[0] == '\0') {
        suite_skip("built without nvcc (RONDE_CUDA)");
        return false;
    }
    const int status = files_command(command, &said);
    if (status != 0)
        suite_note("%.300s", said ? said : "");
    free(said);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    return true;
}

/* Runs `ronde` over a driver, or over none; its output must contain the text. */
static void expect(const char *driver, const char *arguments, int code, const char *text)
{
    char command[1024];
    snprintf(command, sizeof command, "%s%s LD_LIBRARY_PATH='%s' \"%s\" %s 2>&1",
             driver ? "FAKE_CUDA=" : "", driver ? driver : "", driver ? FOLDER : "", suite_ronde(),
             arguments);
    said_has(said_by(command, code), text);
}

static void every_missing_part_is_reported(void)
{
    static const struct {
        const char *driver;
        const char *text;
    } lacks[] = {
        {"13000:100", "a driver, but no GPU to use: no CUDA-capable device is detected"},
        {"13000:0", "a driver, but no GPU to use: no CUDA-capable device is detected"},
        {"11040:0", "the driver supports CUDA 11.4, this build needs "},
        {"13000:803", "a driver, but no GPU to use: system has unsupported display driver"},
        {"13000:999", "a driver, but no GPU to use: unknown error"},
    };
    if (!build_driver())
        return;
    for (size_t k = 0; k < sizeof lacks / sizeof lacks[0]; k++) {
        expect(lacks[k].driver, "list", 0, lacks[k].text);
        expect(lacks[k].driver, "run all_reduce -N 2 -b 8 -e 8 --backend cuda", 3, lacks[k].text);
    }
}

static void a_toolkit_without_a_driver_is_reported(void)
{
    char *said = NULL;
    if (!build_driver())
        return;
    if (files_command("ldconfig -p | grep -q libcuda.so.1", &said) == 0)
        suite_skip("this machine has a driver");
    else
        expect(NULL, "run all_reduce -N 2 -b 8 -e 8 --backend cuda", 3,
               "cuda: built, never run: no NVIDIA driver here (libcuda.so.1");
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_missing_part_is_reported", every_missing_part_is_reported},
        {"a_toolkit_without_a_driver_is_reported", a_toolkit_without_a_driver_is_reported},
    };
    return suite_run("driver", cases, sizeof cases / sizeof cases[0]);
}
