/* GPUs through the CUDA runtime, as selected by CUDA_VISIBLE_DEVICES. See gpu.h. */
#include "hw/cuda/runtime.h"
#include "hw/cuda/backend.h"
#include "hw/cuda/job.h"
#include "hw/cuda/kernels.h"
#include "ronde/gpus.h"

#include <stdio.h>
#include <string.h>

/* A queue: a stream, two events around the kernel, and the words that host and device access. */
struct queue {
    const struct ronde_device *device;
    cudaStream_t stream;
    cudaEvent_t started;
    cudaEvent_t ended;
    cudaEvent_t marks[RONDE_GPU_MARKS]; /* in streams of the caller's; made when they are needed */
    uint32_t *words;
    bool has_kernel; /* the events were recorded */
};

enum ronde_status ronde_device_check(cudaError_t result, const char *what, struct ronde_error *error)
{
    if (result == cudaSuccess)
        return RONDE_OK;
    (void)cudaGetLastError();
    const enum ronde_status status =
        result == cudaErrorMemoryAllocation ? RONDE_NO_MEMORY : RONDE_DEVICE;
    return ronde_fail(error, status, "cuda: %s: %s", what, cudaGetErrorString(result));
}

/* Ends what ronde_device_enter began, and says how the call went in between. */
static enum ronde_status leave(const struct ronde_device *device, struct ronde_gpu_before before,
                               cudaError_t result, const char *what, struct ronde_error *error)
{
    ronde_device_leave(device, before);
    return ronde_device_check(result, what, error);
}

/* Why there is no device, naming what to install. */
static enum ronde_status refuse(cudaError_t result, int driver, struct ronde_error *why_not)
{
    (void)cudaGetLastError();
    if (driver == 0)
        return ronde_fail(why_not, RONDE_UNAVAILABLE,
                          "cuda: built, never run: no NVIDIA driver here (libcuda.so.1; package "
                          "nvidia-driver)");
    if (result == cudaErrorInsufficientDriver)
        return ronde_fail(
            why_not,
            RONDE_UNAVAILABLE, "cuda: built, never run: the driver supports CUDA %d.%d, this build needs %d.%d or newer",
            driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return ronde_fail(why_not, RONDE_UNAVAILABLE,
                      "cuda: built, never run: a driver, but no GPU to use: %s",
                      result == cudaSuccess ? "none is visible (CUDA_VISIBLE_DEVICES?)"
                                            : cudaGetErrorString(result));
}

uint32_t ronde_gpu_runtime(void)
{
    return CUDART_VERSION;
}

enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not)
{
    int count = 0;
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    const cudaError_t result = cudaGetDeviceCount(&count);
    *out_count = (uint32_t)count;
    return result != cudaSuccess || count == 0 ? refuse(result, driver, why_not) : RONDE_OK;
}

/* The first device's, of those that belong in a line about it. */
static const char *warning(void)
{
    int has_limit = 0;
    if (cudaDeviceGetAttribute(&has_limit, cudaDevAttrKernelExecTimeout, 0) != cudaSuccess)
        (void)cudaGetLastError();
    return has_limit ? ", display limits kernels" : "";
}

/* One line for several devices that may differ: how many there are, and the first one's properties. */
static void describe(struct ronde_machine *machine, const struct cudaDeviceProp *properties)
{
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    snprintf(machine->description, sizeof machine->description,
             "%u x %.48s: sm_%d%d, %d SMs, %.0f GiB, driver for CUDA %d.%d%s", machine->devices,
             properties->name, properties->major, properties->minor,
             properties->multiProcessorCount, (double)properties->totalGlobalMem / (1u << 30),
             driver / 1000, driver % 1000 / 10, warning());
}

enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    struct cudaDeviceProp properties;
    memset(out_machine, 0, sizeof *out_machine);
    RONDE_TRY(ronde_gpu_count(&out_machine->devices, why_not));
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
        return refuse(cudaGetLastError(), CUDART_VERSION, why_not);
    out_machine->cores = out_machine->devices * (uint32_t)properties.multiProcessorCount;
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = RONDE_CUDA_SLOT_BYTES;
    describe(out_machine, &properties);
    snprintf(out_machine->product, sizeof out_machine->product, "%.*s",
             (int)sizeof out_machine->product - 1, properties.name);
    return RONDE_OK;
}

static void where(void *self, char *out_bus, size_t bytes)
{
    const struct ronde_device *device = self;
    if (cudaDeviceGetPCIBusId(out_bus, (int)bytes, device->number) != cudaSuccess)
        (void)cudaGetLastError();
}

static int attribute(const struct ronde_device *device, enum cudaDeviceAttr which)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, device->number) != cudaSuccess)
        (void)cudaGetLastError();
    return value;
}

/* A network adapter's writes may be visible to a kernel only after a flush, unless the device orders them. */
static bool is_exposed(void *self)
{
    const struct ronde_device *device = self;
    const int order = attribute(device, cudaDevAttrGPUDirectRDMAWritesOrdering);
    const int flushes = attribute(device, cudaDevAttrGPUDirectRDMAFlushWritesOptions);
    return attribute(device, cudaDevAttrGPUDirectRDMASupported) != 0 &&
           (order >= cudaGPUDirectRDMAWritesOrderingOwner ||
            (flushes & cudaFlushGPUDirectRDMAWritesOptionHost) != 0);
}

/* Does nothing where the device orders all writes. */
static void settle(void *self)
{
    const struct ronde_device *device = self;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    if (cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                           cudaFlushGPUDirectRDMAWritesToOwner) != cudaSuccess)
        (void)cudaGetLastError();
    ronde_device_leave(device, before);
}

static void close_queue(void *self)
{
    struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    if (queue->stream) {
        (void)cudaStreamSynchronize(queue->stream);
        (void)cudaStreamDestroy(queue->stream);
    }
    if (queue->started)
        (void)cudaEventDestroy(queue->started);
    if (queue->ended)
        (void)cudaEventDestroy(queue->ended);
    for (uint32_t k = 0; k < RONDE_GPU_MARKS; k++)
        if (queue->marks[k])
            (void)cudaEventDestroy(queue->marks[k]);
    if (queue->words)
        (void)cudaFreeHost(queue->words);
    ronde_device_leave(queue->device, before);
    ronde_mem_free(queue->device->mem, queue, 1, sizeof *queue);
}

/* The words lie in pinned memory, which all devices access under the host's address. */
static enum ronde_status open_queue(void *self, void **out_queue, struct ronde_error *error)
{
    const struct ronde_device *device = self;
    *out_queue = NULL;
    struct queue *queue = ronde_mem_new(device->mem, 1, sizeof *queue);
    if (!queue)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a queue of the device");
    queue->device = device;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    cudaError_t result = cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking);
    if (result == cudaSuccess)
        result = cudaEventCreate(&queue->started);
    if (result == cudaSuccess)
        result = cudaEventCreate(&queue->ended);
    if (result == cudaSuccess)
        result = cudaHostAlloc((void **)&queue->words, 2 * sizeof *queue->words,
                               cudaHostAllocMapped | cudaHostAllocPortable);
    ronde_device_leave(device, before);
    if (result != cudaSuccess) {
        close_queue(queue);
        return ronde_device_check(result, "opening a queue", error);
    }
    memset(queue->words, 0, 2 * sizeof *queue->words);
    *out_queue = queue;
    return RONDE_OK;
}

static enum ronde_status resident_blocks(void *self, enum ronde_dtype dtype, uint32_t *out_blocks,
                                         struct ronde_error *error)
{
    const struct ronde_device *device = self;
    int per_processor = 0;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    const cudaError_t result =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, ronde_cuda_kernel(dtype),
                                                      RONDE_BLOCK_THREADS, 0);
    ronde_device_leave(device, before);
    *out_blocks = (uint32_t)per_processor * device->processors;
    return ronde_device_check(result, "asking how many blocks fit", error);
}

/* `from` may be read later where the device accesses all of the host's memory: no caller changes it before a finish. */
static enum ronde_status queue_write(void *self, void *to, const void *from, uint64_t bytes,
                                     struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    const cudaError_t result =
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, queue->stream);
    return leave(queue->device, before, result, "copying to the device", error);
}

static enum ronde_status queue_read(void *self, void *to, const void *from, uint64_t bytes,
                                    struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    cudaError_t result =
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, queue->stream);
    if (result == cudaSuccess)
        result = cudaStreamSynchronize(queue->stream);
    return leave(queue->device, before, result, "copying from the device", error);
}

static enum ronde_status queue_clear(void *self, void *to, uint64_t bytes, struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    const cudaError_t result = cudaMemsetAsync(to, 0, (size_t)bytes, queue->stream);
    return leave(queue->device, before, result, "clearing memory", error);
}

static uint32_t *words(void *self)
{
    return ((struct queue *)self)->words;
}

/* Cooperative: the launch fails rather than hangs if not all blocks are resident. */
static enum ronde_status start(void *self, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error)
{
    struct queue *queue = self;
    const cudaStream_t in = stream ? (cudaStream_t)*stream : queue->stream;
    const struct dim3 grid = {blocks, 1, 1};
    const struct dim3 threads = {RONDE_BLOCK_THREADS, 1, 1};
    void *arguments[] = {(void *)&job, (void *)(uintptr_t)given};
    cudaError_t result = cudaSuccess;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    queue->has_kernel = !stream;
    if (!stream)
        result = cudaEventRecord(queue->started, in);
    if (result == cudaSuccess)
        result =
            cudaLaunchCooperativeKernel(ronde_cuda_kernel(dtype), grid, threads, arguments, 0, in);
    if (result == cudaSuccess && !stream)
        result = cudaEventRecord(queue->ended, in);
    ronde_device_leave(queue->device, before);
    if (result == cudaErrorCooperativeLaunchTooLarge) {
        (void)cudaGetLastError();
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%u blocks of %u threads do not run at the same time on this device",
                          blocks, RONDE_BLOCK_THREADS);
    }
    return ronde_device_check(result, "launching the kernel", error);
}

static enum ronde_status call(void *self, void *stream, void (*function)(void *self),
                              void *function_self, struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    const cudaError_t result = cudaLaunchHostFunc((cudaStream_t)stream, function, function_self);
    return leave(queue->device, before, result, "enqueueing a call", error);
}

static enum ronde_status is_captured(void *self, void *stream, bool *out_captured,
                                     struct ronde_error *error)
{
    enum cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
    const struct ronde_gpu_before before = ronde_device_enter(self);
    const cudaError_t result = cudaStreamIsCapturing((cudaStream_t)stream, &state);
    ronde_device_leave(self, before);
    *out_captured = state != cudaStreamCaptureStatusNone;
    return ronde_device_check(result, "asking for a capture", error);
}

static enum ronde_status mark(void *self, void *stream, uint64_t number, struct ronde_error *error)
{
    struct queue *queue = self;
    cudaEvent_t *event = &queue->marks[number % RONDE_GPU_MARKS];
    cudaError_t result = cudaSuccess;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    if (!*event)
        result = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    if (result == cudaSuccess)
        result = cudaEventRecord(*event, (cudaStream_t)stream);
    return leave(queue->device, before, result, "recording an event", error);
}

static enum ronde_status follow(void *self, void *stream, uint64_t number, struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    const cudaError_t result =
        cudaStreamWaitEvent((cudaStream_t)stream, queue->marks[number % RONDE_GPU_MARKS], 0);
    return leave(queue->device, before, result, "waiting for an event", error);
}

static enum ronde_status is_past(void *self, uint64_t number, bool *out_past,
                                 struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    const cudaError_t result = cudaEventQuery(queue->marks[number % RONDE_GPU_MARKS]);
    ronde_device_leave(queue->device, before);
    *out_past = result != cudaErrorNotReady;
    return *out_past ? ronde_device_check(result, "running the stream", error) : RONDE_OK;
}

static enum ronde_status is_over(void *self, bool *out_over, struct ronde_error *error)
{
    const struct queue *queue = self;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    const cudaError_t result = cudaStreamQuery(queue->stream);
    ronde_device_leave(queue->device, before);
    *out_over = result != cudaErrorNotReady;
    return *out_over ? ronde_device_check(result, "running the kernel", error) : RONDE_OK;
}

static enum ronde_status finish(void *self, double *out_elapsed_ns, struct ronde_error *error)
{
    const struct queue *queue = self;
    float elapsed_ms = 0;
    const struct ronde_gpu_before before = ronde_device_enter(queue->device);
    cudaError_t result = cudaStreamSynchronize(queue->stream);
    if (result == cudaSuccess && out_elapsed_ns && queue->has_kernel)
        result = cudaEventElapsedTime(&elapsed_ms, queue->started, queue->ended);
    ronde_device_leave(queue->device, before);
    if (out_elapsed_ns)
        *out_elapsed_ns = (double)elapsed_ms * 1e6;
    return ronde_device_check(result, "running the kernel", error);
}

/* Without cooperative launches a run could hang: not all blocks need be resident. */
static enum ronde_status check_device(struct ronde_device *device, struct ronde_error *error)
{
    struct cudaDeviceProp properties;
    const cudaError_t result = cudaGetDeviceProperties(&properties, device->number);
    if (result != cudaSuccess)
        return ronde_device_check(result, "looking at the device", error);
    if (!properties.cooperativeLaunch || !properties.unifiedAddressing)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "cuda: %.64s has no cooperative launches or no unified addresses",
                          properties.name);
    device->processors = (uint32_t)properties.multiProcessorCount;
    return RONDE_OK;
}

/*
 * The context that the runtime uses too, which the runtime keeps until the process ends. Nothing becomes current here: a
 * thread's current context stays the caller's.
 */
static enum ronde_status open_context(struct ronde_device *device, struct ronde_error *error)
{
    struct ronde_driver *driver = &device->driver;
    RONDE_TRY(ronde_driver_open(driver, error));
    RONDE_TRY(ronde_device_check(cudaInitDevice(device->number, 0, 0), "opening the device", error));
    RONDE_TRY(ronde_driver_check(driver, driver->device(&device->handle, device->number),
                                 "looking for the device", error));
    return ronde_driver_check(driver, driver->keep_context(&device->context, device->handle),
                              "opening the device", error);
}

static void close_context(struct ronde_device *device)
{
    if (device->context)
        (void)device->driver.drop_context(device->handle);
    ronde_driver_close(&device->driver);
}

/* Code that is loaded when it is first started may wait for the device, on which a kernel may wait for this one. */
static enum ronde_status load_kernels(const struct ronde_device *device, struct ronde_error *error)
{
    const void *const kernels[] = {ronde_cuda_kernel_1(), ronde_cuda_kernel_2(),
                                   ronde_cuda_kernel_4(), ronde_cuda_kernel_8()};
    struct cudaFuncAttributes ignored;
    cudaError_t result = cudaSuccess;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0] && result == cudaSuccess; k++)
        result = cudaFuncGetAttributes(&ignored, kernels[k]);
    return leave(device, before, result, "loading the kernels", error);
}

enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                 const struct ronde_gpu **out_gpu, struct ronde_error *error)
{
    *out_gpu = NULL;
    struct ronde_device *device = ronde_mem_new(mem, 1, sizeof *device);
    if (!device)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to open the device");
    device->number = (int)number;
    device->mem = mem;
    device->gpu = (struct ronde_gpu){.self = device,
                                     .where = where,
                                     .is_exposed = is_exposed,
                                     .settle = settle,
                                     .enter = ronde_device_enter,
                                     .leave = ronde_device_leave,
                                     .open_queue = open_queue,
                                     .close_queue = close_queue,
                                     .resident_blocks = resident_blocks,
                                     .write = queue_write,
                                     .read = queue_read,
                                     .clear = queue_clear,
                                     .words = words,
                                     .start = start,
                                     .call = call,
                                     .is_captured = is_captured,
                                     .mark = mark,
                                     .follow = follow,
                                     .is_past = is_past,
                                     .is_over = is_over,
                                     .finish = finish};
    enum ronde_status status = check_device(device, error);
    RONDE_THEN(status, open_context(device, error));
    RONDE_THEN(status, load_kernels(device, error));
    RONDE_THEN(status, ronde_device_open_memory(device, error));
    if (status != RONDE_OK) {
        close_context(device);
        ronde_mem_free(mem, device, 1, sizeof *device);
        return status;
    }
    *out_gpu = &device->gpu;
    return RONDE_OK;
}

void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu)
{
    struct ronde_device *device = (void *)(uintptr_t)gpu;
    if (!device)
        return;
    ronde_vmm_close(device->vmm);
    close_context(device);
    ronde_mem_free(mem, device, 1, sizeof *device);
}
