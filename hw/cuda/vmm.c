/* Memory by handles. See vmm.h. */
#include "hw/cuda/vmm.h"

#include "hw/cuda/driver.h"

#include <string.h>

/* Devices of a process, at most: bits of a word. */
#define DEVICES_MAX 64

/* The driver as one device uses it. */
struct ronde_vmm {
    const struct ronde_mem *mem;
    struct ronde_driver driver;
    int number;
    uint64_t admitted; /* devices whose kernels may use its memory, its own included; bit by number */
    bool has_descriptors; /* the device makes handles of this kind */
    bool has_fabric;      /* and of this */
    bool has_rdma;        /* network adapters may access mapped memory */
};

/* A boolean attribute of a device; false where an old driver does not have it. */
static bool has_attribute(const struct ronde_vmm *vmm, int device, int attribute)
{
    int value = 0;
    return vmm->driver.attribute(&value, attribute, device) == RONDE_DRIVER_OK && value != 0;
}

static enum ronde_status look(struct ronde_vmm *vmm, struct ronde_error *why_not)
{
    int device = 0;
    RONDE_TRY(ronde_driver_open(&vmm->driver, why_not));
    RONDE_TRY(ronde_driver_check(&vmm->driver, vmm->driver.device(&device, vmm->number),
                                 "looking for the device", why_not));
    if (!has_attribute(vmm, device, RONDE_DRIVER_HAS_MAPPING))
        return ronde_fail(why_not, RONDE_UNAVAILABLE, "GPU %d has no memory by handles",
                          vmm->number);
    vmm->has_descriptors = has_attribute(vmm, device, RONDE_DRIVER_HAS_DESCRIPTORS);
    vmm->has_fabric = has_attribute(vmm, device, RONDE_DRIVER_HAS_FABRIC);
    vmm->has_rdma = has_attribute(vmm, device, RONDE_DRIVER_HAS_RDMA);
    return RONDE_OK;
}

const char *ronde_sharing_text(enum ronde_sharing sharing)
{
    static const char *const texts[] = {RONDE_SHARING_LIST(RONDE_LIST_TEXT)};
    return (unsigned)sharing < RONDE_SHARING_COUNT ? texts[sharing] : "?";
}

enum ronde_status ronde_vmm_open(const struct ronde_mem *mem, int number,
                                 struct ronde_vmm **out_vmm, struct ronde_error *why_not)
{
    *out_vmm = NULL;
    struct ronde_vmm *vmm = ronde_mem_new(mem, 1, sizeof *vmm);
    if (!vmm)
        return ronde_fail(why_not, RONDE_NO_MEMORY, "no memory to open the device");
    vmm->mem = mem;
    vmm->number = number;
    ronde_vmm_admit(vmm, number);
    const enum ronde_status status = look(vmm, why_not);
    if (status != RONDE_OK) {
        ronde_vmm_close(vmm);
        return status;
    }
    *out_vmm = vmm;
    return RONDE_OK;
}

void ronde_vmm_close(struct ronde_vmm *vmm)
{
    if (!vmm)
        return;
    ronde_driver_close(&vmm->driver);
    ronde_mem_free(vmm->mem, vmm, 1, sizeof *vmm);
}

void ronde_vmm_admit(struct ronde_vmm *vmm, int number)
{
    vmm->admitted |= number < DEVICES_MAX ? UINT64_C(1) << number : 0;
}

enum ronde_status ronde_vmm_supports(const struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                     struct ronde_error *why_not)
{
    if (sharing == RONDE_SHARING_FABRIC && !vmm->has_fabric)
        return ronde_fail(
            why_not, RONDE_UNAVAILABLE,
            "cuda: GPU %d makes no fabric handles: that takes NVLink between machines "
            "and its fabric manager",
            vmm->number);
    if (sharing == RONDE_SHARING_DESCRIPTOR && !vmm->has_descriptors)
        return ronde_fail(why_not, RONDE_UNAVAILABLE,
                          "cuda: GPU %d makes no descriptors of its memory", vmm->number);
    return RONDE_OK;
}

static int handle_kind(enum ronde_sharing sharing)
{
    return sharing == RONDE_SHARING_FABRIC ? RONDE_DRIVER_FABRIC : RONDE_DRIVER_DESCRIPTOR;
}

static struct ronde_driver_kind kind_of(const struct ronde_vmm *vmm, enum ronde_sharing sharing)
{
    struct ronde_driver_kind kind;
    memset(&kind, 0, sizeof kind);
    kind.type = RONDE_DRIVER_PINNED;
    kind.handles = handle_kind(sharing);
    kind.location.type = RONDE_DRIVER_ON_DEVICE;
    kind.location.id = vmm->number;
    kind.is_for_rdma = vmm->has_rdma;
    return kind;
}

/* Rounds up to the granularity, which both kinds of handles share, so that a length alone gives how much is mapped. */
static enum ronde_status whole(const struct ronde_vmm *vmm, enum ronde_sharing sharing,
                               uint64_t bytes, size_t *out_whole, struct ronde_error *error)
{
    const struct ronde_driver_kind kind = kind_of(vmm, sharing);
    size_t grain = 0;
    const int result = vmm->driver.granularity(&grain, &kind, RONDE_DRIVER_RECOMMENDED);
    if (result == RONDE_DRIVER_OK && (grain == 0 || bytes > SIZE_MAX - grain))
        return ronde_fail(error, RONDE_NO_MEMORY, "cuda: %llu bytes are more than there can be",
                          (unsigned long long)bytes);
    *out_whole = grain > 0 ? ((size_t)bytes + grain - 1) / grain * grain : 0;
    return ronde_driver_check(&vmm->driver, result, "asking for the grain of memory", error);
}

/* Grants all admitted devices read and write access. */
static int allow_all(const struct ronde_vmm *vmm, uint64_t start, size_t bytes)
{
    struct ronde_driver_access whom[DEVICES_MAX];
    size_t count = 0;
    for (int number = 0; number < DEVICES_MAX; number++)
        if (vmm->admitted >> number & 1)
            whom[count++] = (struct ronde_driver_access){{RONDE_DRIVER_ON_DEVICE, number},
                                                         RONDE_DRIVER_READ_WRITE};
    return vmm->driver.allow(start, bytes, whom, count);
}

/* Unmaps the first `count` pieces of what lies at an address. */
static void unmap(const struct ronde_vmm *vmm, uint64_t start, const size_t *bytes, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        (void)vmm->driver.unmap(start, bytes[k]);
        start += bytes[k];
    }
}

/* Maps handles' memory, one after another, at addresses that are reserved; undone on failure. */
static enum ronde_status map_at(const struct ronde_vmm *vmm, uint64_t start, const uint64_t *handles,
                                const size_t *bytes, uint32_t count, struct ronde_error *error)
{
    const struct ronde_driver *driver = &vmm->driver;
    uint64_t next = start;
    uint32_t mapped = 0;
    int result = RONDE_DRIVER_OK;
    while (mapped < count && result == RONDE_DRIVER_OK) {
        result = driver->map(next, bytes[mapped], 0, handles[mapped], 0);
        next += result == RONDE_DRIVER_OK ? bytes[mapped++] : 0;
    }
    const char *what = "mapping memory";
    if (result == RONDE_DRIVER_OK) {
        result = allow_all(vmm, start, (size_t)(next - start));
        what = result == RONDE_DRIVER_NO_PEER
                   ? "using memory of a GPU that this one does not reach "
                     "(nvidia-smi topo -p2p r; transport ucx goes through the host)"
                   : "letting devices use memory";
    }
    if (result != RONDE_DRIVER_OK)
        unmap(vmm, start, bytes, mapped);
    return ronde_driver_check(driver, result, what, error);
}

/* The same at a new address. */
static enum ronde_status map(struct ronde_vmm *vmm, const uint64_t *handles, const size_t *bytes,
                             uint32_t count, void **out_block, struct ronde_error *error)
{
    const struct ronde_driver *driver = &vmm->driver;
    uint64_t start = 0;
    size_t total = 0;
    for (uint32_t k = 0; k < count; k++)
        total += bytes[k];
    const int result = driver->reserve(&start, total, 0, 0, 0);
    if (result != RONDE_DRIVER_OK)
        return ronde_driver_check(driver, result, "reserving addresses", error);
    const enum ronde_status status = map_at(vmm, start, handles, bytes, count, error);
    if (status == RONDE_OK)
        *out_block = (void *)(uintptr_t)start;
    else
        (void)driver->unreserve(start, total);
    return status;
}

enum ronde_status ronde_vmm_create(struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                   uint64_t bytes, void **out_block, struct ronde_error *error)
{
    const struct ronde_driver_kind kind = kind_of(vmm, sharing);
    uint64_t handle = 0;
    size_t length = 0;
    *out_block = NULL;
    enum ronde_status status = ronde_vmm_supports(vmm, sharing, error);
    RONDE_THEN(status, whole(vmm, sharing, bytes, &length, error));
    if (status != RONDE_OK)
        return status;
    const int result = vmm->driver.create(&handle, length, &kind, 0);
    if (result != RONDE_DRIVER_OK)
        return ronde_driver_check(&vmm->driver, result,
                                  sharing == RONDE_SHARING_FABRIC
                                      ? "making memory with a fabric handle (it takes an IMEX "
                                        "channel: /dev/nvidia-caps-imex-channels)"
                                      : "making memory with a handle",
                                  error);
    status = map(vmm, &handle, &length, 1, out_block, error);
    /* The mapping keeps the memory alive, so the handle need not be stored. */
    (void)vmm->driver.release(handle);
    return status;
}

enum ronde_status ronde_vmm_find(const struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                 const void *address, void **out_start, uint64_t *out_bytes,
                                 struct ronde_error *error)
{
    const struct ronde_driver *driver = &vmm->driver;
    const uint64_t pointer = (uint64_t)(uintptr_t)address;
    uint64_t start = 0;
    uint64_t handles = 0; /* zeroed: the driver writes a word of it or two */
    size_t bytes = 0;
    int result = driver->about(&handles, RONDE_DRIVER_ALLOWED_HANDLES, pointer);
    if (result != RONDE_DRIVER_OK || !((int)handles & handle_kind(sharing)))
        return ronde_fail(error, RONDE_UNSUPPORTED, "cuda: memory at %#llx has no handle of kind %s",
                          (unsigned long long)pointer, ronde_sharing_text(sharing));
    result = driver->about(&start, RONDE_DRIVER_MAPPING_START, pointer);
    if (result == RONDE_DRIVER_OK)
        result = driver->about(&bytes, RONDE_DRIVER_MAPPING_BYTES, pointer);
    *out_start = (void *)(uintptr_t)start;
    *out_bytes = bytes;
    return ronde_driver_check(driver, result, "asking for the bounds of memory", error);
}

/* The rights of one mapping; advances *pointer to its end. */
static bool may_use_mapping(const struct ronde_vmm *vmm, uint64_t *pointer)
{
    const struct ronde_driver *driver = &vmm->driver;
    const struct ronde_driver_location here = {RONDE_DRIVER_ON_DEVICE, vmm->number};
    unsigned long long flags = 0;
    uint64_t start = 0;
    size_t bytes = 0;
    if (driver->access(&flags, &here, *pointer) != RONDE_DRIVER_OK ||
        flags != RONDE_DRIVER_READ_WRITE ||
        driver->about(&start, RONDE_DRIVER_MAPPING_START, *pointer) != RONDE_DRIVER_OK ||
        driver->about(&bytes, RONDE_DRIVER_MAPPING_BYTES, *pointer) != RONDE_DRIVER_OK ||
        start + bytes <= *pointer)
        return false;
    *pointer = start + bytes;
    return true;
}

/* The rights of a pool, which memory of cudaMallocAsync has in place of its own; true for other memory. */
static bool may_use_pool(const struct ronde_vmm *vmm, uint64_t pointer)
{
    const struct ronde_driver_location here = {RONDE_DRIVER_ON_DEVICE, vmm->number};
    void *pool = NULL;
    int flags = 0;
    if (vmm->driver.about(&pool, RONDE_DRIVER_POOL, pointer) != RONDE_DRIVER_OK || !pool)
        return true;
    return vmm->driver.pool_access(&flags, pool, &here) == RONDE_DRIVER_OK &&
           flags == RONDE_DRIVER_READ_WRITE;
}

bool ronde_vmm_may_use(const struct ronde_vmm *vmm, const void *start, uint64_t bytes)
{
    const uint64_t first = (uint64_t)(uintptr_t)start;
    uint64_t pointer = first;
    bool is_allowed = may_use_pool(vmm, first);
    while (is_allowed && (pointer == first || pointer - first < bytes)) {
        uint64_t handle = 0;
        const int result = vmm->driver.retain(&handle, (void *)(uintptr_t)pointer);
        /* Memory without a handle at the start is not the driver's; after a mapping it means that the mappings end. */
        if (result != RONDE_DRIVER_OK)
            return pointer == first;
        (void)vmm->driver.release(handle);
        is_allowed = may_use_mapping(vmm, &pointer);
    }
    return is_allowed;
}

enum ronde_status ronde_vmm_export(const struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                   const void *address, struct ronde_share *out_share,
                                   struct ronde_error *error)
{
    const struct ronde_driver *driver = &vmm->driver;
    uint64_t handle = 0;
    int descriptor = -1;
    memset(out_share, 0, sizeof *out_share);
    out_share->sharing = sharing;
    out_share->descriptor = -1;
    int result = driver->retain(&handle, (void *)(uintptr_t)address);
    if (result != RONDE_DRIVER_OK)
        return ronde_driver_check(driver, result, "finding the handle of memory", error);
    void *const where = sharing == RONDE_SHARING_FABRIC ? (void *)out_share->words : &descriptor;
    result = driver->export_handle(where, handle, handle_kind(sharing), 0);
    (void)driver->release(handle);
    out_share->descriptor = descriptor;
    return ronde_driver_check(driver, result, "exporting memory", error);
}

bool ronde_vmm_hold(const struct ronde_vmm *vmm, const void *address,
                    struct ronde_allocation *out_allocation)
{
    const struct ronde_driver *driver = &vmm->driver;
    uint64_t handle = 0;
    void *start = NULL;
    enum ronde_sharing sharing = RONDE_SHARING_DESCRIPTOR;
    if (driver->retain(&handle, (void *)(uintptr_t)address) != RONDE_DRIVER_OK)
        return false;
    uint64_t bytes = 0;
    enum ronde_status status = ronde_vmm_find(vmm, sharing, address, &start, &bytes, NULL);
    if (status == RONDE_UNSUPPORTED) {
        sharing = RONDE_SHARING_FABRIC;
        status = ronde_vmm_find(vmm, sharing, address, &start, &bytes, NULL);
    }
    if (status != RONDE_OK) {
        (void)driver->release(handle);
        return false;
    }
    *out_allocation = (struct ronde_allocation){start, bytes, handle, sharing, true};
    return true;
}

void ronde_vmm_let_go(const struct ronde_vmm *vmm, const struct ronde_allocation *allocation)
{
    (void)vmm->driver.release(allocation->number);
}

/* Imports the handles of pieces, and rounds their lengths. */
static enum ronde_status import_all(const struct ronde_vmm *vmm, const struct ronde_share *shares,
                                    const uint64_t *bytes, uint32_t count, uint64_t *handles,
                                    size_t *lengths, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++) {
        const struct ronde_share *share = &shares[k];
        uint64_t words[sizeof share->words / sizeof share->words[0]];
        memcpy(words, share->words, sizeof words);
        status = whole(vmm, share->sharing, bytes[k], &lengths[k], error);
        /* The call takes a descriptor in the place of a pointer. */
        void *const shared = share->sharing == RONDE_SHARING_FABRIC
                                 ? (void *)words
                                 : (void *)(intptr_t)share->descriptor;
        RONDE_THEN(status, ronde_driver_check(&vmm->driver,
                                              vmm->driver.import_handle(&handles[k], shared,
                                                                        handle_kind(share->sharing)),
                                              "importing memory of another process", error));
    }
    return status;
}

enum ronde_status ronde_vmm_import(struct ronde_vmm *vmm, const struct ronde_share *shares,
                                   const uint64_t *bytes, uint32_t count, void **out_block,
                                   struct ronde_error *error)
{
    uint64_t *handles = ronde_mem_new(vmm->mem, count, sizeof *handles);
    size_t *lengths = ronde_mem_new(vmm->mem, count, sizeof *lengths);
    *out_block = NULL;
    enum ronde_status status =
        handles && lengths ? import_all(vmm, shares, bytes, count, handles, lengths, error)
                           : ronde_fail(error, RONDE_NO_MEMORY, "no memory to map %u pieces", count);
    RONDE_THEN(status, map(vmm, handles, lengths, count, out_block, error));
    /* The mapping keeps the memory alive. */
    for (uint32_t k = 0; handles && k < count; k++)
        if (handles[k] != 0)
            (void)vmm->driver.release(handles[k]);
    ronde_mem_free(vmm->mem, handles, count, sizeof *handles);
    ronde_mem_free(vmm->mem, lengths, count, sizeof *lengths);
    return status;
}

void ronde_vmm_release(struct ronde_vmm *vmm, void *block, const uint64_t *bytes, uint32_t count)
{
    const uint64_t start = (uint64_t)(uintptr_t)block;
    uint64_t next = start;
    for (uint32_t k = 0; k < count; k++) {
        size_t length = 0;
        if (whole(vmm, RONDE_SHARING_DESCRIPTOR, bytes[k], &length, NULL) != RONDE_OK)
            return;
        (void)vmm->driver.unmap(next, length);
        next += length;
    }
    (void)vmm->driver.unreserve(start, (size_t)(next - start));
}
