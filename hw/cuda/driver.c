/* The driver's calls. See driver.h. */
#include "hw/cuda/driver.h"
#include "engine/execute/library.h"

/* The driver's package installs it under this name in every version. */
static const struct ronde_library_call calls[] = {
#define CALL_PLACE(symbol, name, arguments) {symbol, offsetof(struct ronde_driver, name)},
    RONDE_DRIVER_CALLS(CALL_PLACE)
#undef CALL_PLACE
};
static const struct ronde_library library = {
    .name = "libcuda.so.1",
    RONDE_LIBRARY_OF_DRIVER,
    .old = "the driver is too old (460 or newer is needed)",
    .calls = calls,
    .call_count = sizeof calls / sizeof calls[0],
};

enum ronde_status ronde_driver_open(struct ronde_driver *driver, struct ronde_error *why_not)
{
    RONDE_TRY(ronde_library_open(&library, driver, &driver->library, why_not));
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
