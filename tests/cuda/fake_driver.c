/* Loading the fake driver. See fake_driver.h. */
#include "cuda/fake_driver.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_driver fake_driver;

static void find(void *out_function, size_t bytes, const char *name)
{
    void *const symbol = dlsym(fake_driver.library, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
    memcpy(out_function, &symbol, bytes);
}

static void find_all(void)
{
    find(&fake_driver.fail, sizeof fake_driver.fail, "fake_driver_fail");
    find(&fake_driver.lack, sizeof fake_driver.lack, "fake_driver_lack");
    find(&fake_driver.allowed, sizeof fake_driver.allowed, "fake_driver_allowed");
    find(&fake_driver.live, sizeof fake_driver.live, "fake_driver_live");
    find(&fake_driver.made_context, sizeof fake_driver.made_context, "fake_driver_made_context");
    find(&fake_driver.contexts_held, sizeof fake_driver.contexts_held, "fake_driver_contexts_held");
    find(&fake_driver.make, sizeof fake_driver.make, "fake_driver_make");
    find(&fake_driver.begin, sizeof fake_driver.begin, "fake_driver_begin");
    find(&fake_driver.current, sizeof fake_driver.current, "fake_driver_current");
    find(&fake_driver.set_current, sizeof fake_driver.set_current, "cuCtxSetCurrent");
    find(&fake_driver.plain, sizeof fake_driver.plain, "fake_driver_plain");
    find(&fake_driver.pool, sizeof fake_driver.pool, "fake_driver_pool");
}

/* A library that is loaded already is found by its name: the loader searches no further. */
bool fake_driver_load(void)
{
    char folder[512];
    char command[2048];
    char *said = NULL;
    if (fake_driver.library)
        return true;
    /* Tests may run at once. */
    snprintf(folder, sizeof folder, RONDE_SCRATCH_DIR "/driver-%ld", (long)getpid());
    snprintf(command, sizeof command,
             "mkdir -p '%s' && '" RONDE_CC "' -shared -fPIC -Wl,-soname,libcuda.so.1 -o '%s"
             "/libcuda.so.1' '" RONDE_SOURCE_DIR "/tests/cuda/fake/driver.c' 2>&1",
             folder, folder);
    const int status = files_command(command, &said);
    if (status != 0)
        suite_note("%.300s", said ? said : "");
    free(said);
    snprintf(command, sizeof command, "%s/libcuda.so.1", folder);
    fake_driver.library = status == 0 ? dlopen(command, RTLD_NOW | RTLD_LOCAL) : NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)files_command(command, &said);
    free(said);
    CU_ASSERT_PTR_NOT_NULL(fake_driver.library);
    if (fake_driver.library)
        find_all();
    return fake_driver.library != NULL;
}
