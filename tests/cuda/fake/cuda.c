/*
 * A fake driver, with the calls that CUDA's runtime makes before it has found a device.
 *
 *   FAKE_CUDA=version:result   the newest CUDA it supports, e.g. 12040, and what cuInit returns, e.g. 100: no device
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NO_DEVICE = 100 };

static int number(int position)
{
    int numbers[2] = {13000, NO_DEVICE};
    const char *text = getenv("FAKE_CUDA");
    if (text)
        (void)sscanf(text, "%d:%d", &numbers[0], &numbers[1]);
    return numbers[position];
}

int cuInit(unsigned flags)
{
    (void)flags;
    return number(1);
}

int cuDriverGetVersion(int *version)
{
    *version = number(0);
    return OK;
}

int cuDeviceGetCount(int *count)
{
    *count = 0;
    return OK;
}

/* All that must not be called without a device. */
static int refuse(void)
{
    return NO_DEVICE;
}

int cuGetProcAddress_v2(const char *name, void **address, int version, unsigned long long flags,
                        int *found)
{
    typedef void (*function)(void);
    static const struct {
        const char *name;
        function call;
    } calls[] = {{"cuInit", (function)cuInit},
                 {"cuDriverGetVersion", (function)cuDriverGetVersion},
                 {"cuDeviceGetCount", (function)cuDeviceGetCount},
                 {"cuGetProcAddress", (function)cuGetProcAddress_v2}};
    function call = (function)refuse;
    (void)version;
    (void)flags;
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
        call = strcmp(name, calls[k].name) == 0 ? calls[k].call : call;
    memcpy(address, &call, sizeof call);
    if (found)
        *found = 0;
    return OK;
}
