/* The driver's calls. See driver.h. */
#include "hw/cuda/driver.h"

#include <dlfcn.h>
#include <string.h>

/* The driver's package brings it under this name, whatever its version. */
#define LIBRARY "libcuda.so.1"

enum ronde_status ronde_driver_open(struct ronde_driver *driver, struct ronde_error *why_not)
{
    const char *missing = NULL;
    void *symbol;
    driver->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!driver->library)
        return ronde_fail(why_not, RONDE_UNAVAILABLE,
                          "no NVIDIA driver here (" LIBRARY "; package nvidia-driver)");
        /* A pointer to a function is stored as one to an object, as POSIX asks of dlsym's users. */
#define FIND_CALL(name_there, name_here, arguments)                                                \
    symbol = dlsym(driver->library, name_there);                                                   \
    memcpy(&driver->name_here, &symbol, sizeof symbol);                                            \
    missing = symbol ? missing : name_there;
    RONDE_DRIVER_CALLS(FIND_CALL)
#undef FIND_CALL
    if (missing)
        return ronde_fail(why_not, RONDE_UNAVAILABLE,
                          LIBRARY " has no %s: the driver is too old (450 or newer is needed)",
                          missing);
    const int result = driver->start(0);
    return result == RONDE_DRIVER_OK ? RONDE_OK
                                     : ronde_fail(why_not, RONDE_UNAVAILABLE,
                                                  "the driver does not begin: error %d", result);
}

void ronde_driver_close(struct ronde_driver *driver)
{
    if (driver->library)
        dlclose(driver->library);
    driver->library = NULL;
}

enum ronde_status ronde_driver_check(const struct ronde_driver *driver, int result,
                                     const char *what, struct ronde_error *error)
{
    const char *text = NULL;
    if (result == RONDE_DRIVER_OK)
        return RONDE_OK;
    if (driver->text(result, &text) != RONDE_DRIVER_OK || !text)
        text = "an error the driver has no words for";
    return ronde_fail(error, result == RONDE_DRIVER_NO_MEMORY ? RONDE_NO_MEMORY : RONDE_DEVICE,
                      "cuda: %s: %.200s (%d)", what, text, result);
}
