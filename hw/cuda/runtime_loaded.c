/*
 * GPUs of a build without CUDA: kernels are in a library that comes by itself (the Python package ronde-cuda) and is loaded
 * when it is first asked for. Where it is not here every call is refused with the reason.
 */
#include "engine/execute/library.h"
#include "hw/cuda/gpu.h"
#include "ronde/gpus.h"

#include <string.h>

/* What the library has for gpu.h. It stays loaded: the driver does not survive being unloaded. */
struct gpu_calls {
    uint32_t (*runtime)(void);
    enum ronde_status (*probe)(struct ronde_machine *out_machine, struct ronde_error *why_not);
    enum ronde_status (*count)(uint32_t *out_count, struct ronde_error *why_not);
    enum ronde_status (*open)(const struct ronde_mem *mem, uint32_t number,
                              const struct ronde_gpu **out_gpu, struct ronde_error *error);
    void (*close)(const struct ronde_mem *mem, const struct ronde_gpu *gpu);
};

static const struct ronde_library_call calls[] = {
    {"ronde_gpu_runtime", offsetof(struct gpu_calls, runtime)},
    {"ronde_gpu_probe", offsetof(struct gpu_calls, probe)},
    {"ronde_gpu_count", offsetof(struct gpu_calls, count)},
    {"ronde_gpu_open", offsetof(struct gpu_calls, open)},
    {"ronde_gpu_close", offsetof(struct gpu_calls, close)},
};
/* The name has the version of the interface (hw/CMakeLists.txt): a library of another one is not taken. */
static const struct ronde_library library = {
    .name = RONDE_CUDA_LIBRARY_NAME,
    .absent = "cuda: built without CUDA",
    .remedy = "pip install ronde-cuda, or -DRONDE_CUDA=ON with CUDA toolkit 12 or newer",
    .old = "it is of another version of ronde",
    .calls = calls,
    .call_count = sizeof calls / sizeof calls[0],
};

static enum ronde_status load(struct gpu_calls *out_calls, struct ronde_error *why_not)
{
    void *handle = NULL;
    return ronde_library_open(&library, out_calls, &handle, why_not);
}

uint32_t ronde_gpu_runtime(void)
{
    struct gpu_calls gpus;
    return load(&gpus, NULL) == RONDE_OK ? gpus.runtime() : 0;
}

enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    struct gpu_calls gpus;
    memset(out_machine, 0, sizeof *out_machine);
    RONDE_TRY(load(&gpus, why_not));
    return gpus.probe(out_machine, why_not);
}

enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not)
{
    struct gpu_calls gpus;
    *out_count = 0;
    RONDE_TRY(load(&gpus, why_not));
    return gpus.count(out_count, why_not);
}

enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                 const struct ronde_gpu **out_gpu, struct ronde_error *error)
{
    struct gpu_calls gpus;
    *out_gpu = NULL;
    RONDE_TRY(load(&gpus, error));
    return gpus.open(mem, number, out_gpu, error);
}

void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu)
{
    struct gpu_calls gpus;
    if (gpu && load(&gpus, NULL) == RONDE_OK)
        gpus.close(mem, gpu);
}
