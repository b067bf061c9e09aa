/* The driver's view of the GPUs, through its management library. See ronde/gpus.h. */
#include "hw/cuda/backend.h"

#include "engine/execute/library.h"

#include <stdbool.h>
#include <stdio.h>

/* More links than any GPU has: the library returns an error behind the last. */
#define LINKS_MAX 64u

/* What the library's calls return (nvml.h: nvmlReturn_t). */
enum { NVML_OK = 0, NVML_NO_PERMISSION = 4, NVML_NOT_LOADED = 9 };

/* Common ancestors of two devices (nvml.h: nvmlGpuTopologyLevel_t). */
static const struct {
    int ancestor;
    enum ronde_gpu_path path;
} ancestors[] = {
    {0, RONDE_GPU_PATH_BOARD},   {10, RONDE_GPU_PATH_SWITCH}, {20, RONDE_GPU_PATH_SWITCHES},
    {30, RONDE_GPU_PATH_BRIDGE}, {40, RONDE_GPU_PATH_NODE},   {50, RONDE_GPU_PATH_SYSTEM},
};

/* A device of the library's. */
struct nvml_device;

/* Where a device is (nvml.h: nvmlPciInfo_t). */
struct nvml_place {
    char old_bus[16];
    unsigned domain;
    unsigned bus_number;
    unsigned device;
    unsigned product;
    unsigned subsystem;
    char bus[32];
};

/* Bytes (nvml.h: nvmlMemory_t). */
struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

/* The calls used: name in the library, name here, arguments. */
#define CALLS(X)                                                                                   \
    X("nvmlInit_v2", start, (void))                                                                \
    X("nvmlShutdown", stop, (void))                                                                \
    X("nvmlSystemGetDriverVersion", driver, (char *, unsigned))                                    \
    X("nvmlSystemGetCudaDriverVersion_v2", cuda, (int *))                                          \
    X("nvmlDeviceGetCount_v2", count, (unsigned *))                                                \
    X("nvmlDeviceGetHandleByIndex_v2", device, (unsigned, struct nvml_device **))                  \
    X("nvmlDeviceGetName", name, (struct nvml_device *, char *, unsigned))                         \
    X("nvmlDeviceGetPciInfo_v3", place, (struct nvml_device *, struct nvml_place *))               \
    X("nvmlDeviceGetMemoryInfo", memory, (struct nvml_device *, struct nvml_memory *))             \
    X("nvmlDeviceGetNvLinkState", link_state, (struct nvml_device *, unsigned, int *))             \
    X("nvmlDeviceGetNvLinkRemotePciInfo_v2", link_end,                                             \
      (struct nvml_device *, unsigned, struct nvml_place *))                                       \
    X("nvmlDeviceGetTopologyCommonAncestor", ancestor,                                             \
      (struct nvml_device *, struct nvml_device *, int *))

/* The library and its devices. */
struct nvml {
    void *library;
#define CALL_FIELD(symbol, name, arguments) int(*name) arguments;
    CALLS(CALL_FIELD)
#undef CALL_FIELD
    struct nvml_device *devices[RONDE_SURVEY_GPUS];
};

/* The library's name is the same since it exists; the driver's package brings it. */
static const struct ronde_library_call calls[] = {
#define CALL_PLACE(symbol, name, arguments) {symbol, offsetof(struct nvml, name)},
    CALLS(CALL_PLACE)
#undef CALL_PLACE
};
static const struct ronde_library library = {
    .name = "libnvidia-ml.so.1",
    RONDE_LIBRARY_OF_DRIVER,
    .old = "the driver is too old (470 or newer is needed)",
    .calls = calls,
    .call_count = sizeof calls / sizeof calls[0],
};

/* Why the library does not start. */
static enum ronde_status refuse_start(int result, struct ronde_error *error)
{
    if (result == NVML_NOT_LOADED)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "the driver's library is here, but the driver is not loaded "
                          "(modprobe nvidia; in a container: --gpus all)");
    if (result == NVML_NO_PERMISSION)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "the driver lets this user not ask about GPUs (/dev/nvidia*)");
    return ronde_fail(error, RONDE_UNAVAILABLE, "the driver's library does not begin: error %d",
                      result);
}

static enum ronde_status survey_driver(const struct nvml *nvml, struct ronde_gpu_survey *survey,
                                       struct ronde_error *error)
{
    int cuda = 0;
    unsigned count = 0;
    if (nvml->driver(survey->driver, sizeof survey->driver) != NVML_OK)
        snprintf(survey->driver, sizeof survey->driver, "of an unknown version");
    if (nvml->cuda(&cuda) == NVML_OK)
        survey->cuda = (uint32_t)cuda;
    if (nvml->count(&count) != NVML_OK || count == 0)
        return ronde_fail(error, RONDE_UNAVAILABLE, "driver %.32s, but no GPU", survey->driver);
    survey->count = count < RONDE_SURVEY_GPUS ? count : RONDE_SURVEY_GPUS;
    return RONDE_OK;
}

/* A GPU whose facts cannot be had is listed without them. */
static void survey_gpu(struct nvml *nvml, uint32_t index, struct ronde_gpu_survey *survey)
{
    struct ronde_gpu_facts *facts = &survey->gpus[index];
    struct nvml_place place = {.bus = ""};
    struct nvml_memory memory = {0, 0, 0};
    struct nvml_device **device = &nvml->devices[index];
    snprintf(facts->name, sizeof facts->name, "a GPU that does not answer");
    if (nvml->device(index, device) != NVML_OK) {
        *device = NULL;
        return;
    }
    (void)nvml->name(*device, facts->name, sizeof facts->name);
    if (nvml->place(*device, &place) == NVML_OK)
        snprintf(facts->bus, sizeof facts->bus, "%s", place.bus);
    if (nvml->memory(*device, &memory) == NVML_OK)
        facts->memory_bytes = memory.total;
}

/* The GPU with a PCIe address, or `count`: the address may be a switch's. */
static uint32_t find_gpu(const struct ronde_gpu_survey *survey, const char *bus)
{
    uint32_t found = 0;
    while (found < survey->count && strcmp(survey->gpus[found].bus, bus) != 0)
        found++;
    return found;
}

static void survey_links(const struct nvml *nvml, uint32_t index, struct ronde_gpu_survey *survey)
{
    struct ronde_gpu_facts *facts = &survey->gpus[index];
    struct nvml_device *device = nvml->devices[index];
    int is_up = 0;
    for (unsigned l = 0; device && l < LINKS_MAX && nvml->link_state(device, l, &is_up) == NVML_OK;
         l++) {
        struct nvml_place end = {.bus = ""};
        if (!is_up)
            continue;
        facts->nvlinks++;
        const bool is_known = nvml->link_end(device, l, &end) == NVML_OK;
        const uint32_t other = is_known ? find_gpu(survey, end.bus) : survey->count;
        if (other < survey->count)
            survey->links[index][other]++;
        else
            facts->switch_links++;
    }
}

/* Through PCIe, where there is no link. */
static enum ronde_gpu_path find_path(const struct nvml *nvml, uint32_t from, uint32_t to)
{
    int ancestor = -1;
    if (!nvml->devices[from] || !nvml->devices[to] ||
        nvml->ancestor(nvml->devices[from], nvml->devices[to], &ancestor) != NVML_OK)
        return RONDE_GPU_PATH_UNKNOWN;
    for (size_t k = 0; k < sizeof ancestors / sizeof ancestors[0]; k++)
        if (ancestors[k].ancestor == ancestor)
            return ancestors[k].path;
    return RONDE_GPU_PATH_UNKNOWN;
}

/* All links into switches can carry what one GPU sends to any other. */
static void survey_pair(const struct nvml *nvml, uint32_t from, uint32_t to,
                        struct ronde_gpu_survey *survey)
{
    const uint32_t up = survey->gpus[from].switch_links;
    const uint32_t down = survey->gpus[to].switch_links;
    if (from == to) {
        survey->paths[from][to] = RONDE_GPU_PATH_SELF;
        return;
    }
    survey->links[from][to] += up < down ? up : down;
    survey->paths[from][to] =
        survey->links[from][to] > 0 ? RONDE_GPU_PATH_NVLINK : find_path(nvml, from, to);
}

static void survey_gpus(struct nvml *nvml, struct ronde_gpu_survey *survey)
{
    for (uint32_t g = 0; g < survey->count; g++)
        survey_gpu(nvml, g, survey);
    for (uint32_t g = 0; g < survey->count; g++)
        survey_links(nvml, g, survey);
    for (uint32_t from = 0; from < survey->count; from++)
        for (uint32_t to = 0; to < survey->count; to++)
            survey_pair(nvml, from, to, survey);
}

enum ronde_status ronde_nvml_survey(struct ronde_gpu_survey *survey, struct ronde_error *error)
{
    struct nvml nvml;
    memset(&nvml, 0, sizeof nvml);
    enum ronde_status status = ronde_library_open(&library, &nvml, &nvml.library, error);
    if (status == RONDE_OK) {
        const int result = nvml.start();
        status =
            result == NVML_OK ? survey_driver(&nvml, survey, error) : refuse_start(result, error);
        if (status == RONDE_OK)
            survey_gpus(&nvml, survey);
        if (result == NVML_OK)
            (void)nvml.stop();
    }
    if (nvml.library)
        (void)dlclose(nvml.library);
    return status;
}

/* Each GPU's place in the machine; a virtual machine may hide some. */
static void add_places(struct ronde_gpu_survey *survey, const struct ronde_gpu_place *places,
                       uint32_t count)
{
    for (uint32_t g = 0; g < survey->count; g++)
        for (uint32_t p = 0; p < count; p++)
            if (ronde_bus_is_same(survey->gpus[g].bus, places[p].bus))
                survey->gpus[g].place = places[p];
}

/* GPUs without a driver are mentioned: only the driver is missing to use them. */
static enum ronde_status refuse_survey(const struct ronde_error *why,
                                       const struct ronde_gpu_place *places, uint32_t count,
                                       struct ronde_error *error)
{
    if (count == 0)
        return ronde_fail(error, why->status, "%s", why->message);
    return ronde_fail(error, why->status, "%s; NVIDIA's devices on PCIe: %u, the first at %s",
                      why->message, count, places[0].bus);
}

enum ronde_status ronde_gpu_survey(const struct ronde_mem *mem, struct ronde_gpu_survey *out_survey,
                                   struct ronde_error *error)
{
    struct ronde_gpu_place *places = NULL;
    struct ronde_error why = {0};
    struct ronde_error unseen = {0};
    uint32_t count = 0;
    memset(out_survey, 0, sizeof *out_survey);
    enum ronde_status status = ronde_nvml_survey(out_survey, &why);
    /* Without hwloc only the driver's facts are listed. */
    if (ronde_gpu_places_list(NULL, mem, &places, &count, &unseen) == RONDE_NO_MEMORY)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s", unseen.message);
    if (status == RONDE_OK)
        add_places(out_survey, places, count);
    else
        status = refuse_survey(&why, places, count, error);
    ronde_mem_free(mem, places, count, sizeof *places);
    return status;
}

const char *ronde_gpu_path_text(enum ronde_gpu_path path)
{
    static const char *const texts[] = {
#define PATH_TEXT(name, text, meaning) text,
        RONDE_GPU_PATH_LIST(PATH_TEXT)
#undef PATH_TEXT
    };
    return (unsigned)path < RONDE_GPU_PATH_COUNT ? texts[path] : "?";
}

const char *ronde_gpu_path_meaning(enum ronde_gpu_path path)
{
    static const char *const meanings[] = {
#define PATH_MEANING(name, text, meaning) meaning,
        RONDE_GPU_PATH_LIST(PATH_MEANING)
#undef PATH_MEANING
    };
    return (unsigned)path < RONDE_GPU_PATH_COUNT ? meanings[path] : "?";
}
