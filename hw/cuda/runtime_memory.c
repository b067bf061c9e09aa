/* Memory of GPUs as the CUDA runtime and the driver give it. See runtime.h. */
#include "hw/cuda/runtime.h"

#include "hw/cuda/driver.h"

#include <cuda.h>
#include <string.h>

/* driver.h repeats declarations of NVIDIA's header: these assert that both agree. */
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #our_field)
#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
SAME_SIZE(struct ronde_driver_location, CUmemLocation);
SAME_SIZE(struct ronde_driver_kind, CUmemAllocationProp);
SAME_PLACE(struct ronde_driver_kind, handles, CUmemAllocationProp, requestedHandleTypes);
SAME_PLACE(struct ronde_driver_kind, location, CUmemAllocationProp, location);
SAME_PLACE(struct ronde_driver_kind, is_for_rdma, CUmemAllocationProp,
           allocFlags.gpuDirectRDMACapable);
SAME_SIZE(struct ronde_driver_access, CUmemAccessDesc);
SAME_PLACE(struct ronde_driver_access, flags, CUmemAccessDesc, flags);
SAME_SIZE(uint64_t, CUmemGenericAllocationHandle);
SAME_SIZE(uint64_t, CUdeviceptr);
_Static_assert(sizeof(CUmemFabricHandle) == RONDE_DRIVER_FABRIC_BYTES, "a fabric handle");
_Static_assert(sizeof(CUmemFabricHandle) <= sizeof((struct ronde_share){0}.words), "fits a share");
_Static_assert(sizeof(cudaIpcMemHandle_t) <= sizeof((struct ronde_share){0}.words), "fits a share");
SAME_NUMBER(RONDE_DRIVER_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(RONDE_DRIVER_NO_PEER, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME_NUMBER(RONDE_DRIVER_HAS_MAPPING, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_NUMBER(RONDE_DRIVER_HAS_DESCRIPTORS,
            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME_NUMBER(RONDE_DRIVER_HAS_RDMA, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME_NUMBER(RONDE_DRIVER_HAS_FABRIC, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
SAME_NUMBER(RONDE_DRIVER_NUMBER, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME_NUMBER(RONDE_DRIVER_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_NUMBER(RONDE_DRIVER_HAS_IPC, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME_NUMBER(RONDE_DRIVER_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_NUMBER(RONDE_DRIVER_BYTES, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_NUMBER(RONDE_DRIVER_ALLOWED_HANDLES, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
SAME_NUMBER(RONDE_DRIVER_POOL, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME_NUMBER(RONDE_DRIVER_MAPPING_BYTES, CU_POINTER_ATTRIBUTE_MAPPING_SIZE);
SAME_NUMBER(RONDE_DRIVER_MAPPING_START, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR);
SAME_NUMBER(RONDE_DRIVER_DESCRIPTOR, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_NUMBER(RONDE_DRIVER_FABRIC, CU_MEM_HANDLE_TYPE_FABRIC);
SAME_NUMBER(RONDE_DRIVER_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_NUMBER(RONDE_DRIVER_ON_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_NUMBER(RONDE_DRIVER_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_NUMBER(RONDE_DRIVER_RECOMMENDED, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

/* Memory of the device as an allocator; the vtable's users never resize a block, they replace it. */
static void *device_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    const struct ronde_device *device = self;
    void *block = NULL;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    (void)old_bytes;
    if (old)
        (void)cudaFree(old);
    if (new_bytes > 0 && cudaMalloc(&block, new_bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        block = NULL;
    }
    ronde_device_leave(device, before);
    return block;
}

/* Whether memory is made by handles that can be passed on. */
static bool has_descriptors(const struct ronde_device *device)
{
    return device->vmm &&
           ronde_vmm_supports(device->vmm, RONDE_SHARING_DESCRIPTOR, NULL) == RONDE_OK;
}

/* Buffers of the caller's: by handles where there are any. */
static void *buffer_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    const struct ronde_device *device = self;
    void *block = NULL;
    if (!has_descriptors(device))
        return device_resize(self, old, old_bytes, new_bytes);
    const struct ronde_gpu_before before = ronde_device_enter(device);
    if (old) {
        const uint64_t bytes = old_bytes;
        ronde_vmm_release(device->vmm, old, &bytes, 1);
    }
    if (new_bytes > 0)
        (void)ronde_vmm_create(device->vmm, RONDE_SHARING_DESCRIPTOR, new_bytes, &block, NULL);
    ronde_device_leave(device, before);
    return block;
}

/* Enables peer access, unless it is enabled already. */
static enum ronde_status join(void *self, void *other_self, struct ronde_error *error)
{
    const struct ronde_device *device = self;
    const struct ronde_device *other = other_self;
    int is_possible = 0;
    cudaError_t result = cudaDeviceCanAccessPeer(&is_possible, device->number, other->number);
    if (result == cudaSuccess && !is_possible)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "cuda: GPU %d does not reach the memory of GPU %d: choose GPUs that do "
                          "with CUDA_VISIBLE_DEVICES (nvidia-smi topo -p2p r shows them)",
                          device->number, other->number);
    const struct ronde_gpu_before before = ronde_device_enter(device);
    if (result == cudaSuccess)
        result = cudaDeviceEnablePeerAccess(other->number, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();
        result = cudaSuccess;
    }
    ronde_device_leave(device, before);
    /* Access to memory mapped by handles is granted per device. */
    if (result == cudaSuccess && other->vmm)
        ronde_vmm_admit(other->vmm, device->number);
    return ronde_device_check(result, "letting a GPU use the memory of another", error);
}

/* IPC handles stand for whole allocations, and small ones may share one: a shared block has its own. */
#define SHARED_ALIGNMENT (UINT64_C(2) << 20)

static enum ronde_status export_by_ipc(void *block, struct ronde_share *out_share,
                                       struct ronde_error *error)
{
    cudaIpcMemHandle_t handle;
    memset(out_share, 0, sizeof *out_share);
    out_share->sharing = RONDE_SHARING_IPC;
    out_share->descriptor = -1;
    const cudaError_t result = cudaIpcGetMemHandle(&handle, block);
    if (result == cudaSuccess)
        memcpy(out_share->words, &handle, sizeof handle);
    return ronde_device_check(result, "sharing memory with other processes", error);
}

static enum ronde_status share_by_ipc(struct ronde_device *device, uint64_t bytes, void **out_block,
                                      struct ronde_share *out_share, struct ronde_error *error)
{
    const uint64_t whole = (bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    enum ronde_status status =
        ronde_device_check(cudaMalloc(out_block, (size_t)whole), "making memory to share", error);
    if (status == RONDE_OK) {
        status = export_by_ipc(*out_block, out_share, error);
        if (status != RONDE_OK) {
            (void)cudaFree(*out_block);
            *out_block = NULL;
        }
    }
    ronde_device_leave(device, before);
    return status;
}

static enum ronde_status share_by_handle(struct ronde_device *device, enum ronde_sharing sharing,
                                         uint64_t bytes, void **out_block,
                                         struct ronde_share *out_share, struct ronde_error *error)
{
    if (!device->vmm)
        return ronde_fail(error, RONDE_UNAVAILABLE, "cuda: no memory by handles: %.300s",
                          device->why_not.message);
    const struct ronde_gpu_before before = ronde_device_enter(device);
    enum ronde_status status = ronde_vmm_create(device->vmm, sharing, bytes, out_block, error);
    if (status == RONDE_OK) {
        status = ronde_vmm_export(device->vmm, sharing, *out_block, out_share, error);
        if (status != RONDE_OK) {
            ronde_vmm_release(device->vmm, *out_block, &bytes, 1);
            *out_block = NULL;
        }
    }
    ronde_device_leave(device, before);
    return status;
}

static enum ronde_status share(void *self, enum ronde_sharing sharing, uint64_t bytes,
                               void **out_block, struct ronde_share *out_share,
                               struct ronde_error *error)
{
    struct ronde_device *device = self;
    *out_block = NULL;
    if (sharing == RONDE_SHARING_AUTO)
        sharing = has_descriptors(device) ? RONDE_SHARING_DESCRIPTOR : RONDE_SHARING_IPC;
    return sharing == RONDE_SHARING_IPC
               ? share_by_ipc(device, bytes, out_block, out_share, error)
               : share_by_handle(device, sharing, bytes, out_block, out_share, error);
}

static void unshare(void *self, enum ronde_sharing sharing, void *block, uint64_t bytes)
{
    const struct ronde_device *device = self;
    if (sharing == RONDE_SHARING_IPC) {
        (void)device_resize(self, block, (size_t)bytes, 0);
        return;
    }
    const struct ronde_gpu_before before = ronde_device_enter(device);
    ronde_vmm_release(device->vmm, block, &bytes, 1);
    ronde_device_leave(device, before);
}

static enum ronde_status attach(void *self, const struct ronde_share *from, const uint64_t *bytes,
                                uint32_t count, void **out_block, struct ronde_error *error)
{
    const struct ronde_device *device = self;
    cudaIpcMemHandle_t handle;
    enum ronde_status status = RONDE_OK;
    *out_block = NULL;
    memcpy(&handle, from->words, sizeof handle);
    const struct ronde_gpu_before before = ronde_device_enter(device);
    if (from->sharing == RONDE_SHARING_IPC)
        status = ronde_device_check(
            cudaIpcOpenMemHandle(out_block, handle, cudaIpcMemLazyEnablePeerAccess),
            "using memory of another process (containers must share their IPC name space, or use "
            "sharing descriptor)",
            error);
    else if (device->vmm)
        status = ronde_vmm_import(device->vmm, from, bytes, count, out_block, error);
    else
        status = ronde_fail(error, RONDE_UNAVAILABLE, "cuda: no memory by handles: %.300s",
                            device->why_not.message);
    ronde_device_leave(device, before);
    return status;
}

static void detach(void *self, enum ronde_sharing sharing, void *block, const uint64_t *bytes,
                   uint32_t count)
{
    const struct ronde_device *device = self;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    if (sharing == RONDE_SHARING_IPC)
        (void)cudaIpcCloseMemHandle(block);
    else
        ronde_vmm_release(device->vmm, block, bytes, count);
    ronde_device_leave(device, before);
}

/* What the driver knows of an allocation that is not by handles; memory of a pool has no handle for IPC. */
static bool describe(const struct ronde_device *device, uint64_t pointer,
                     struct ronde_allocation *out_allocation)
{
    const struct ronde_driver *driver = &device->driver;
    int may_share = 0;
    size_t bytes = 0;
    memset(out_allocation, 0, sizeof *out_allocation);
    out_allocation->sharing = RONDE_SHARING_IPC;
    const bool is_known =
        driver->about(&out_allocation->start, RONDE_DRIVER_START, pointer) == RONDE_DRIVER_OK &&
        driver->about(&bytes, RONDE_DRIVER_BYTES, pointer) == RONDE_DRIVER_OK &&
        driver->about(&out_allocation->number, RONDE_DRIVER_NUMBER, pointer) == RONDE_DRIVER_OK &&
        driver->about(&may_share, RONDE_DRIVER_HAS_IPC, pointer) == RONDE_DRIVER_OK;
    out_allocation->bytes = bytes;
    return is_known && may_share != 0;
}

static enum ronde_status hold(void *self, const void *address,
                              struct ronde_allocation *out_allocation, struct ronde_error *error)
{
    const struct ronde_device *device = self;
    const uint64_t pointer = (uint64_t)(uintptr_t)address;
    int number = -1;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    const bool is_here =
        device->driver.about(&number, RONDE_DRIVER_ORDINAL, pointer) == RONDE_DRIVER_OK &&
        number == device->number;
    const bool is_shareable =
        is_here && ((device->vmm && ronde_vmm_hold(device->vmm, address, out_allocation)) ||
                    describe(device, pointer, out_allocation));
    ronde_device_leave(device, before);
    if (!is_here)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "cuda: %#llx is not memory of GPU %d",
                          (unsigned long long)pointer, device->number);
    return is_shareable ? RONDE_OK
                        : ronde_fail(error, RONDE_UNSUPPORTED,
                                     "cuda: memory at %#llx has no handle that another process "
                                     "could map it by: take it from cudaMalloc, or by handles with "
                                     "descriptors",
                                     (unsigned long long)pointer);
}

static void let_go(void *self, struct ronde_allocation *allocation)
{
    const struct ronde_device *device = self;
    if (!allocation->is_held)
        return;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    ronde_vmm_let_go(device->vmm, allocation);
    ronde_device_leave(device, before);
}

static enum ronde_status offer(void *self, const struct ronde_allocation *allocation,
                               struct ronde_share *out_share, struct ronde_error *error)
{
    const struct ronde_device *device = self;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    const enum ronde_status status = allocation->is_held
                                         ? ronde_vmm_export(device->vmm, allocation->sharing,
                                                            allocation->start, out_share, error)
                                         : export_by_ipc(allocation->start, out_share, error);
    ronde_device_leave(device, before);
    return status;
}

static enum ronde_status pin(void *self, void *memory, uint64_t bytes, struct ronde_error *error)
{
    const struct ronde_device *device = self;
    void *seen = NULL;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    cudaError_t result =
        cudaHostRegister(memory, (size_t)bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
    if (result == cudaSuccess)
        result = cudaHostGetDevicePointer(&seen, memory, 0);
    ronde_device_leave(device, before);
    if (result == cudaSuccess && seen != memory)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "cuda: GPU %d does not reach the host's memory under its address",
                          device->number);
    return ronde_device_check(result, "pinning memory of the host", error);
}

static void unpin(void *self, void *memory, uint64_t bytes)
{
    const struct ronde_device *device = self;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    (void)bytes;
    (void)cudaHostUnregister(memory);
    ronde_device_leave(device, before);
}

/*
 * Memory of a device, managed memory and pinned memory are accessible; anything else only to the host. All devices in use
 * have been joined, which covers what cudaMalloc gave; memory mapped by handles, as allocators do that grow in place, is
 * accessible to the devices that its allocator granted access, and memory of a pool to those of the pool.
 */
static bool reaches(void *self, const void *start, uint64_t bytes)
{
    const struct ronde_device *device = self;
    struct cudaPointerAttributes attributes;
    const struct ronde_gpu_before before = ronde_device_enter(device);
    const cudaError_t result = cudaPointerGetAttributes(&attributes, start);
    ronde_device_leave(device, before);
    if (result != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type != cudaMemoryTypeUnregistered && attributes.devicePointer == start &&
           (!device->vmm || ronde_vmm_may_use(device->vmm, start, bytes));
}

enum ronde_status ronde_device_open_memory(struct ronde_device *device, struct ronde_error *error)
{
    device->why_not = (struct ronde_error){.status = RONDE_OK};
    const enum ronde_status status =
        ronde_vmm_open(device->mem, device->number, &device->vmm, &device->why_not);
    /* A device without memory by handles still serves callers that do not need it. */
    if (status != RONDE_OK && status != RONDE_UNAVAILABLE)
        return ronde_fail(error, status, "%s", device->why_not.message);
    device->memory = (struct ronde_mem){device_resize, device};
    device->buffers = (struct ronde_mem){buffer_resize, device};
    device->gpu.memory = &device->memory;
    device->gpu.buffers = &device->buffers;
    device->gpu.join = join;
    device->gpu.share = share;
    device->gpu.unshare = unshare;
    device->gpu.attach = attach;
    device->gpu.detach = detach;
    device->gpu.hold = hold;
    device->gpu.let_go = let_go;
    device->gpu.offer = offer;
    device->gpu.pin = pin;
    device->gpu.unpin = unpin;
    device->gpu.reaches = reaches;
    return RONDE_OK;
}
