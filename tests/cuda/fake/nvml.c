/*
 * A fake of the driver's management library: the machine that FAKE_NVML describes. FAKE_NVML_NAME is what its GPUs are called.
 *
 *   switches:4:18  4 GPUs, 18 links each, all into switches
 *   pairs:4:2      4 GPUs, of which two and two are joined by 2 links; the pairs meet at the processors' link
 *   none           a driver, but no GPU
 *   unloaded       no driver behind the library
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, BAD_ARGUMENT = 2, NOT_FOUND = 6, NOT_LOADED = 9 };

static int machine[32];

static const char *kind(void)
{
    const char *text = getenv("FAKE_NVML");
    return text ? text : "none";
}

static unsigned number(unsigned position)
{
    unsigned numbers[2] = {0, 0};
    const char *colon = strchr(kind(), ':');
    if (colon)
        (void)sscanf(colon, ":%u:%u", &numbers[0], &numbers[1]);
    return numbers[position];
}

static unsigned index_of(const int *device)
{
    return (unsigned)(device - machine);
}

int nvmlInit_v2(void)
{
    return strcmp(kind(), "unloaded") == 0 ? NOT_LOADED : OK;
}

int nvmlShutdown(void)
{
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned bytes)
{
    snprintf(text, bytes, "580.95.05");
    return OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 13000;
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = number(0);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, int **device)
{
    *device = &machine[index];
    return OK;
}

int nvmlDeviceGetName(const int *device, char *text, unsigned bytes)
{
    (void)device;
    const char *name = getenv("FAKE_NVML_NAME");
    snprintf(text, bytes, "%s", name ? name : "NVIDIA Fake 100");
    return OK;
}

struct place {
    char old_bus[16];
    unsigned numbers[5];
    char bus[32];
};

static void write_place(struct place *place, unsigned bus)
{
    memset(place, 0, sizeof *place);
    snprintf(place->bus, sizeof place->bus, "00000000:%02X:00.0", bus);
}

int nvmlDeviceGetPciInfo_v3(const int *device, struct place *place)
{
    write_place(place, 16 + index_of(device));
    return OK;
}

int nvmlDeviceGetMemoryInfo(const int *device, unsigned long long *bytes)
{
    (void)device;
    bytes[0] = 80ull << 30;
    return OK;
}

int nvmlDeviceGetNvLinkState(const int *device, unsigned link, int *is_up)
{
    (void)device;
    *is_up = link < number(1);
    return link < 18 ? OK : BAD_ARGUMENT;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(const int *device, unsigned link, struct place *place)
{
    (void)link;
    write_place(place, strncmp(kind(), "switches", 8) == 0 ? 200 : 16 + (index_of(device) ^ 1));
    return OK;
}

int nvmlDeviceGetTopologyCommonAncestor(const int *from, const int *to, int *ancestor)
{
    (void)from;
    (void)to;
    *ancestor = 50;
    return OK;
}
