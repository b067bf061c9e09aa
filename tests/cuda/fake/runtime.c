/* The fake runtime. See runtime.h. */
#include "cuda/fake/runtime.h"

#include "cuda/fake_driver.h"
#include "hw/cuda/kernels.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

struct fake_runtime fake_runtime;

/* The mode of a thread that has not chosen one. */
static __thread enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

/* Kernels, and on which devices their code is. */
#define KERNELS 4
static const char kernel_names[KERNELS];
static bool is_loaded[FAKE_GPUS][KERNELS];

const void *ronde_cuda_kernel_1(void)
{
    return &kernel_names[0];
}

const void *ronde_cuda_kernel_2(void)
{
    return &kernel_names[1];
}

const void *ronde_cuda_kernel_4(void)
{
    return &kernel_names[2];
}

const void *ronde_cuda_kernel_8(void)
{
    return &kernel_names[3];
}

/* A call that needs a context. */
static int device_of_thread(void)
{
    if (fake_driver.current() == -1)
        fake_driver.begin(0);
    return fake_driver.current();
}

/* A call that may synchronise. */
static cudaError_t unsafe(void)
{
    (void)device_of_thread();
    if (!fake_runtime.is_capturing || mode == cudaStreamCaptureModeRelaxed)
        return cudaSuccess;
    fake_runtime.is_spoilt = true;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaGetDevice(int *out)
{
    const int device = fake_driver.current();
    *out = device < 0 ? 0 : device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    fake_runtime.set_devices++;
    fake_driver.begin(device);
    return cudaSuccess;
}

/* Makes a context, and nothing current. */
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags;
    (void)flags;
    fake_driver.make(device);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *out)
{
    *out = FAKE_GPUS;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *out)
{
    *out = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "a fake error";
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    memset(out, 0, sizeof *out);
    strcpy(out->name, device == 0 ? "fake 0" : "fake 1");
    out->cooperativeLaunch = 1;
    out->unifiedAddressing = 1;
    out->multiProcessorCount = 132;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int bytes, int device)
{
    (void)device;
    if (bytes > 0)
        out[0] = '\0';
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr which, int device)
{
    (void)device;
    *out = which == cudaDevAttrKernelExecTimeout && fake_runtime.is_limited;
    return cudaSuccess;
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    (void)target;
    (void)scope;
    return unsafe();
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *io_mode)
{
    const enum cudaStreamCaptureMode before = mode;
    (void)device_of_thread();
    mode = *io_mode;
    *io_mode = before;
    return cudaSuccess;
}

/* Streams and events are names; nothing takes time. */
static char names[64];
static uint32_t name_count;

static void *new_name(void)
{
    (void)device_of_thread();
    return &names[name_count++ % sizeof names];
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    *out = flags == cudaStreamNonBlocking ? new_name() : NULL;
    return *out ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    *out = new_name();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(out);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    return unsafe();
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    (void)event;
    return unsafe();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return unsafe();
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    (void)stream;
    return unsafe();
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    (void)event;
    return unsafe();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)event;
    (void)device_of_thread();
    fake_runtime.marks[stream != NULL]++;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)event;
    (void)flags;
    (void)device_of_thread();
    fake_runtime.followers[stream != NULL]++;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *out, cudaEvent_t started, cudaEvent_t ended)
{
    (void)started;
    (void)ended;
    *out = 1;
    return unsafe();
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out)
{
    (void)stream;
    (void)device_of_thread();
    *out = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* The code of a kernel is loaded when it is first asked for. */
static bool load(const void *kernel)
{
    const int device = device_of_thread();
    bool *const loaded = &is_loaded[device < 0 ? 0 : device][(const char *)kernel - kernel_names];
    const bool before = *loaded;
    *loaded = true;
    return before;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *kernel)
{
    memset(out, 0, sizeof *out);
    if (!load(kernel))
        fake_runtime.loaded[fake_driver.current()]++;
    return unsafe();
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *kernel, int threads,
                                                          size_t shared)
{
    (void)kernel;
    (void)threads;
    (void)shared;
    (void)device_of_thread();
    *out = 1;
    return cudaSuccess;
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared, cudaStream_t stream)
{
    (void)grid;
    (void)block;
    (void)arguments;
    (void)shared;
    if (fake_runtime.refuses_launches)
        return cudaErrorUnknown;
    fake_runtime.lazy += !load(kernel);
    fake_runtime.kernels[stream != NULL]++;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *self)
{
    (void)device_of_thread();
    fake_runtime.calls[stream != NULL]++;
    function(self);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    (void)stream;
    memcpy(to, from, bytes);
    return unsafe();
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    (void)device_of_thread();
    memset(to, byte, bytes);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    const cudaError_t error = unsafe();
    *out = error == cudaSuccess ? malloc(bytes) : NULL;
    return error;
}

cudaError_t cudaFree(void *memory)
{
    const cudaError_t error = unsafe();
    if (error == cudaSuccess)
        free(memory);
    return error;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMalloc(out, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    (void)memory;
    (void)bytes;
    (void)flags;
    return unsafe();
}

cudaError_t cudaHostUnregister(void *memory)
{
    (void)memory;
    return unsafe();
}

cudaError_t cudaHostGetDevicePointer(void **out, void *memory, unsigned flags)
{
    (void)flags;
    (void)device_of_thread();
    *out = memory;
    return cudaSuccess;
}

/* All memory is a device's. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *memory)
{
    memset(out, 0, sizeof *out);
    (void)device_of_thread();
    out->type = cudaMemoryTypeDevice;
    out->devicePointer = (void *)(uintptr_t)memory;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *out, int device, int other)
{
    *out = device != other;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned flags)
{
    (void)other;
    (void)flags;
    return unsafe();
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *out, void *memory)
{
    memset(out, 0, sizeof *out);
    memcpy(out, &memory, sizeof memory);
    return unsafe();
}

cudaError_t cudaIpcOpenMemHandle(void **out, cudaIpcMemHandle_t handle, unsigned flags)
{
    (void)flags;
    memcpy(out, &handle, sizeof *out);
    return unsafe();
}

cudaError_t cudaIpcCloseMemHandle(void *memory)
{
    (void)memory;
    return unsafe();
}
