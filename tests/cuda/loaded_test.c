/*
 * A build without CUDA takes its kernels from a library that is installed beside it (the package ronde-cuda), says what to
 * install where there is none, and takes none of another version.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define FOLDER RONDE_SCRATCH_DIR "/kernels"
#define RUN "run all_reduce -N 2 -b 8 -e 8 --backend cuda"

/* Compiles the fake into a folder of its own; the name is the one that this version looks for. */
static void build_kernels(const char *folder, const char *option)
{
    char command[2048];
    char *said = NULL;
    snprintf(command, sizeof command,
             "cd '%s' && mkdir -p '%s' && version=$(sed -n 's/^project(ronde VERSION "
             "\\([0-9]*\\.[0-9]*\\).*/\\1/p' CMakeLists.txt) && '%s' %s -shared -fPIC -I. "
             "-Iengine/include -Itopologies/include -Ihw/include -o '%s/libronde_cuda.so.'$version "
             "tests/cuda/fake/kernels.c 2>&1",
             RONDE_SOURCE_DIR, folder, RONDE_CC, option, folder);
    const int status = files_command(command, &said);
    if (status != 0)
        suite_note("%.300s", said ? said : "");
    free(said);
    CU_ASSERT_EQUAL_FATAL(status, 0);
}

/* What `ronde ARGUMENTS` says where such libraries are found first. */
static void expect(const char *folder, const char *arguments, int code, const char *text)
{
    char command[1024];
    snprintf(command, sizeof command, "LD_LIBRARY_PATH='%s' \"%s\" %s 2>&1", folder, suite_ronde(),
             arguments);
    said_has(said_by(command, code), text);
}

static bool is_built_with_cuda(void)
{
    if (RONDE_NVCC[0] != '\0')
        suite_skip("built with nvcc (RONDE_CUDA): kernels are linked");
    return RONDE_NVCC[0] != '\0';
}

static void without_the_library_a_remedy_is_named(void)
{
    if (is_built_with_cuda())
        return;
    expect("/nonexistent", "list", 0, "built without CUDA (pip install ronde-cuda");
    expect("/nonexistent", RUN, 3, "pip install ronde-cuda");
}

static void a_library_beside_it_is_asked(void)
{
    if (is_built_with_cuda())
        return;
    build_kernels(FOLDER, "");
    expect(FOLDER, "list", 0, "two devices of a fake");
    expect(FOLDER, RUN, 4, "the fake does not open");
}

static void one_that_lacks_a_call_is_refused(void)
{
    if (is_built_with_cuda())
        return;
    build_kernels(FOLDER "/other", "-DOTHER_VERSION");
    expect(FOLDER "/other", RUN, 3, "has no ronde_gpu_close: it is of another version of ronde");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"without_the_library_a_remedy_is_named", without_the_library_a_remedy_is_named},
        {"a_library_beside_it_is_asked", a_library_beside_it_is_asked},
        {"one_that_lacks_a_call_is_refused", one_that_lacks_a_call_is_refused},
    };
    return suite_run("loaded", cases, sizeof cases / sizeof cases[0]);
}
