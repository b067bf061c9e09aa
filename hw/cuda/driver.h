/**
 * The calls of NVIDIA's driver that memory by handles and a thread's current context need, looked up at run time.
 *
 * Declared here, so that a machine without the toolkit compiles what uses them and tests it on a fake driver;
 * runtime_memory.c, which has NVIDIA's header, asserts that the two agree. Where a call has a second version under a
 * suffixed name, that is the one: so a symbol means one thing in every driver.
 */
#ifndef RONDE_HW_CUDA_DRIVER_H
#define RONDE_HW_CUDA_DRIVER_H

#include "ronde/status.h"

#include <stddef.h>
#include <stdint.h>

/** What the calls return (cuda.h: CUresult). */
enum {
    RONDE_DRIVER_OK = 0,
    RONDE_DRIVER_NO_MEMORY = 2,
    RONDE_DRIVER_NO_PEER = 217,
    RONDE_DRIVER_NOT_PERMITTED = 800,
    RONDE_DRIVER_NOT_SUPPORTED = 801
};

/** Attributes of devices (cuda.h: CUdevice_attribute). */
enum {
    RONDE_DRIVER_HAS_MAPPING = 102,
    RONDE_DRIVER_HAS_DESCRIPTORS = 103,
    RONDE_DRIVER_HAS_RDMA = 110,
    RONDE_DRIVER_HAS_FABRIC = 128
};

/** Attributes of pointers (cuda.h: CUpointer_attribute). */
enum {
    RONDE_DRIVER_NUMBER = 7,
    RONDE_DRIVER_ORDINAL = 9,
    RONDE_DRIVER_HAS_IPC = 10,
    RONDE_DRIVER_START = 11,
    RONDE_DRIVER_BYTES = 12,
    RONDE_DRIVER_ALLOWED_HANDLES = 14,
    RONDE_DRIVER_POOL = 17,
    RONDE_DRIVER_MAPPING_BYTES = 18,
    RONDE_DRIVER_MAPPING_START = 19
};

/** Kinds of handles, as bits (cuda.h: CUmemAllocationHandleType). */
enum { RONDE_DRIVER_DESCRIPTOR = 1, RONDE_DRIVER_FABRIC = 8 };

/** Other numbers of the calls' arguments. */
enum {
    RONDE_DRIVER_PINNED = 1,       /**< CU_MEM_ALLOCATION_TYPE_PINNED */
    RONDE_DRIVER_ON_DEVICE = 1,    /**< CU_MEM_LOCATION_TYPE_DEVICE */
    RONDE_DRIVER_READ_WRITE = 3,   /**< CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    RONDE_DRIVER_RECOMMENDED = 1,  /**< CU_MEM_ALLOC_GRANULARITY_RECOMMENDED */
    RONDE_DRIVER_FABRIC_BYTES = 64 /**< of a CUmemFabricHandle */
};

/** Where memory is, or which device uses it (cuda.h: CUmemLocation). */
struct ronde_driver_location {
    int type;
    int id;
};

/** Properties of an allocation (cuda.h: CUmemAllocationProp). */
struct ronde_driver_kind {
    int type;
    int handles;
    struct ronde_driver_location location;
    void *for_windows;
    unsigned char compression;
    unsigned char is_for_rdma;
    unsigned short usage;
    unsigned char reserved[4];
};

/** Access rights of a location (cuda.h: CUmemAccessDesc). */
struct ronde_driver_access {
    struct ronde_driver_location location;
    int flags;
};

/** The calls: name in the driver, name here, arguments. */
#define RONDE_DRIVER_CALLS(X)                                                                      \
    X("cuInit", start, (unsigned flags))                                                           \
    X("cuDeviceGet", device, (int *out_device, int number))                                        \
    X("cuDeviceGetAttribute", attribute, (int *out_value, int attribute, int device))              \
    X("cuGetErrorString", text, (int result, const char **out_text))                               \
    X("cuMemGetAllocationGranularity", granularity,                                                \
      (size_t * out_bytes, const struct ronde_driver_kind *kind, int which))                       \
    X("cuMemCreate", create,                                                                       \
      (uint64_t * out_handle, size_t bytes, const struct ronde_driver_kind *kind,                  \
       unsigned long long flags))                                                                  \
    X("cuMemRelease", release, (uint64_t handle))                                                  \
    X("cuMemAddressReserve", reserve,                                                              \
      (uint64_t * out_start, size_t bytes, size_t alignment, uint64_t wish,                        \
       unsigned long long flags))                                                                  \
    X("cuMemAddressFree", unreserve, (uint64_t start, size_t bytes))                               \
    X("cuMemMap", map,                                                                             \
      (uint64_t start, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags))    \
    X("cuMemUnmap", unmap, (uint64_t start, size_t bytes))                                         \
    X("cuMemSetAccess", allow,                                                                     \
      (uint64_t start, size_t bytes, const struct ronde_driver_access *whom, size_t count))        \
    X("cuMemGetAccess", access,                                                                    \
      (unsigned long long *out_flags, const struct ronde_driver_location *whom, uint64_t pointer)) \
    X("cuMemExportToShareableHandle", export_handle,                                               \
      (void *out_shared, uint64_t handle, int kind, unsigned long long flags))                     \
    X("cuMemImportFromShareableHandle", import_handle,                                             \
      (uint64_t * out_handle, void *shared, int kind))                                             \
    X("cuMemRetainAllocationHandle", retain, (uint64_t * out_handle, void *address))               \
    X("cuMemPoolGetAccess", pool_access,                                                           \
      (int *out_flags, void *pool, const struct ronde_driver_location *whom))                      \
    X("cuCtxGetCurrent", current, (void **out_context))                                            \
    X("cuCtxSetCurrent", set_current, (void *context))                                             \
    X("cuDevicePrimaryCtxRetain", keep_context, (void **out_context, int device))                  \
    X("cuDevicePrimaryCtxRelease_v2", drop_context, (int device))                                  \
    X("cuPointerGetAttribute", about, (void *out_value, int attribute, uint64_t pointer))

/** The library and its calls. */
struct ronde_driver {
    void *library; /**< NULL = closed */
#define RONDE_DRIVER_CALL(symbol, name, arguments) int(*name) arguments;
    RONDE_DRIVER_CALLS(RONDE_DRIVER_CALL)
#undef RONDE_DRIVER_CALL
};

/** Loads the driver. The caller closes it also on failure. Errors: UNAVAILABLE naming the library or the missing call. */
RONDE_API enum ronde_status ronde_driver_open(struct ronde_driver *driver,
                                              struct ronde_error *why_not);

/** Unloads it. */
RONDE_API void ronde_driver_close(struct ronde_driver *driver);

/** Turns a result into an error: "cuda: WHAT: the driver's words". Errors: NO_MEMORY, DEVICE. */
enum ronde_status ronde_driver_check(const struct ronde_driver *driver, int result,
                                     const char *what, struct ronde_error *error);

#endif
