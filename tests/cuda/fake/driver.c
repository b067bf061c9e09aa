/*
 * A fake of NVIDIA's driver, with the calls of hw/cuda/driver.h: memory by handles, made of files without a name.
 *
 * Stricter than the real one: a handle that is not there, addresses that are not reserved, or memory that is released in
 * the wrong order end the process. Contexts are counted: the primary context of a device is made by who retains it, or by the
 * runtime (runtime.c) in a thread that has none. A test finds fake_driver_* by dlsym.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_MAPPED = 211, NOT_SUPPORTED = 801 };

#define GRAIN ((size_t)2 << 20)
#define THINGS 64

struct location {
    int type;
    int id;
};

struct kind {
    int type;
    int handles;
    struct location location;
    void *for_windows;
    unsigned char flags[8];
};

struct access {
    struct location location;
    int flags;
};

/* Memory: a file, and its references. */
struct memory {
    int descriptor;
    int handles; /* kinds that may be exported */
    int holders; /* handles and mappings; 0 = free */
    size_t bytes;
};

/* Reserved addresses, or what is mapped at some of them. */
struct range {
    uint64_t start; /* 0 = free */
    size_t bytes;
    struct memory *mapped; /* NULL = reserved alone */
};

static struct memory memories[THINGS];
static struct range ranges[THINGS];
static struct range mappings[THINGS];
static uint64_t handles_live;
static char failing[48];    /* the call that fails, */
static unsigned failing_in; /* after so many more */
static unsigned lacking;    /* attributes a device does not have, as bits from 100 on */
static uint64_t allowed;    /* devices of the last allow, as bits */

void fake_driver_fail(const char *call, unsigned which)
{
    snprintf(failing, sizeof failing, "%s", call);
    failing_in = which;
}

void fake_driver_lack(int attribute)
{
    lacking = attribute ? lacking | 1u << (attribute - 100) : 0;
}

uint64_t fake_driver_allowed(void)
{
    return allowed;
}

/* Handles, reservations, mappings and memories that are left. */
uint64_t fake_driver_live(void)
{
    uint64_t live = handles_live;
    for (int k = 0; k < THINGS; k++)
        live += (ranges[k].start != 0) + (memories[k].holders > 0);
    return live;
}

/* Primary contexts, by device: which was ever made, and who holds them. */
static int contexts[THINGS];
static int context_made[THINGS];
static int context_holders[THINGS];
static __thread void *current;

/* Whether a device's primary context was made. */
int fake_driver_made_context(int number)
{
    return context_made[number];
}

/* References to primary contexts that are left. */
int fake_driver_contexts_held(void)
{
    int held = 0;
    for (int k = 0; k < THINGS; k++)
        held += context_holders[k];
    return held;
}

/* Makes a device's primary context, and nothing current. */
void fake_driver_make(int number)
{
    context_made[number] = 1;
}

/* What the runtime does in a thread without a context: the primary one of a device becomes its current one. */
void fake_driver_begin(int number)
{
    context_made[number] = 1;
    current = &contexts[number];
}

/* Number of the device whose primary context is this thread's current one; -1 = it has none, -2 = one of the caller's. */
int fake_driver_current(void)
{
    if (!current)
        return -1;
    for (int k = 0; k < THINGS; k++)
        if (current == &contexts[k])
            return k;
    return -2;
}

int cuCtxGetCurrent(void **out)
{
    *out = current;
    return OK;
}

int cuCtxSetCurrent(void *context)
{
    current = context;
    return OK;
}

static int fails(const char *call)
{
    return strcmp(call, failing) == 0 && failing_in > 0 && --failing_in == 0;
}

static struct memory *memory_of(uint64_t handle)
{
    if (handle == 0 || handle > THINGS || memories[handle - 1].holders == 0)
        abort();
    return &memories[handle - 1];
}

static void let_go(struct memory *memory)
{
    if (--memory->holders == 0)
        close(memory->descriptor);
}

static struct range *find(struct range *among, uint64_t start, int exactly)
{
    for (int k = 0; k < THINGS; k++)
        if (among[k].start &&
            (exactly ? among[k].start == start : start - among[k].start < among[k].bytes))
            return &among[k];
    return NULL;
}

static struct range *mapping_of(uint64_t pointer)
{
    return find(mappings, pointer, 0);
}

/* The first mapping that has an address of a range. */
static struct range *mapping_in(uint64_t start, size_t bytes)
{
    for (int k = 0; k < THINGS; k++)
        if (mappings[k].start && mappings[k].start < start + bytes &&
            start < mappings[k].start + mappings[k].bytes)
            return &mappings[k];
    return NULL;
}

static int new_handle(uint64_t *out, int descriptor, int handles, size_t bytes)
{
    for (int k = 0; k < THINGS; k++) {
        if (memories[k].holders > 0)
            continue;
        memories[k] = (struct memory){descriptor, handles, 1, bytes};
        handles_live++;
        *out = (uint64_t)k + 1;
        return OK;
    }
    abort();
}

int cuInit(unsigned flags)
{
    return flags == 0 ? OK : INVALID;
}

int cuDeviceGet(int *out, int number)
{
    *out = 1000 + number; /* a driver's own number for it */
    return number < 4 ? OK : 101;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
    if (fails(__func__))
        return NO_MEMORY;
    context_made[device - 1000] = 1;
    context_holders[device - 1000]++;
    *out = &contexts[device - 1000];
    return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    if (context_holders[device - 1000]-- == 0)
        abort();
    return OK;
}

int cuDeviceGetAttribute(int *out, int attribute, int device)
{
    *out = attribute >= 100 && attribute < 132 && !(lacking >> (attribute - 100) & 1);
    return device >= 1000 ? OK : INVALID;
}

int cuGetErrorString(int result, const char **out)
{
    *out = result == NO_MEMORY       ? "out of memory"
           : result == NOT_SUPPORTED ? "operation not supported"
                                     : "invalid argument";
    return OK;
}

int cuMemGetAllocationGranularity(size_t *out, const struct kind *kind, int which)
{
    *out = which == 1 ? GRAIN : GRAIN / 4;
    if (fails(__func__))
        return INVALID;
    return kind->type == 1 && kind->location.type == 1 ? OK : INVALID;
}

int cuMemCreate(uint64_t *out, size_t bytes, const struct kind *kind, unsigned long long flags)
{
    if (fails(__func__))
        return NO_MEMORY;
    if (bytes == 0 || bytes % GRAIN != 0 || kind->type != 1 || flags != 0)
        return INVALID;
    const int descriptor = memfd_create("fake", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0)
        abort();
    return new_handle(out, descriptor, kind->handles, bytes);
}

int cuMemRelease(uint64_t handle)
{
    let_go(memory_of(handle));
    handles_live--;
    return OK;
}

int cuMemAddressReserve(uint64_t *out, size_t bytes, size_t alignment, uint64_t wish,
                        unsigned long long flags)
{
    int k = 0;
    if (fails(__func__))
        return NO_MEMORY;
    if (bytes == 0 || bytes % GRAIN != 0 || alignment != 0 || wish != 0 || flags != 0)
        return INVALID;
    while (k < THINGS && ranges[k].start)
        k++;
    void *const start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (k == THINGS || start == MAP_FAILED)
        abort();
    ranges[k] = (struct range){(uint64_t)(uintptr_t)start, bytes, NULL};
    *out = ranges[k].start;
    return OK;
}

int cuMemAddressFree(uint64_t start, size_t bytes)
{
    struct range *range = find(ranges, start, 1);
    if (!range || range->bytes != bytes || mapping_in(start, bytes))
        abort();
    munmap((void *)(uintptr_t)start, bytes);
    range->start = 0;
    return OK;
}

/* Mapped is not yet accessible. */
int cuMemMap(uint64_t start, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags)
{
    const struct range *range = find(ranges, start, 0);
    struct memory *memory = memory_of(handle);
    int k = 0;
    if (fails(__func__))
        return INVALID;
    if (!range || start + bytes > range->start + range->bytes || mapping_in(start, bytes) ||
        bytes > memory->bytes || offset != 0 || flags != 0)
        abort();
    if (mmap((void *)(uintptr_t)start, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->descriptor,
             0) == MAP_FAILED)
        abort();
    while (mappings[k].start)
        if (++k == THINGS)
            abort();
    mappings[k] = (struct range){start, bytes, memory};
    memory->holders++;
    return OK;
}

/* One whole mapping. */
int cuMemUnmap(uint64_t start, size_t bytes)
{
    struct range *mapping = find(mappings, start, 1);
    if (!mapping || mapping->bytes != bytes)
        abort();
    if (mmap((void *)(uintptr_t)start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        abort();
    let_go(mapping->mapped);
    mapping->start = 0;
    return OK;
}

/* Of whole mappings, one after another. */
int cuMemSetAccess(uint64_t start, size_t bytes, const struct access *whom, size_t count)
{
    if (fails(__func__))
        return 217;
    for (uint64_t at = start; at < start + bytes;) {
        const struct range *mapping = find(mappings, at, 1);
        if (!mapping || mapping->bytes > start + bytes - at || count == 0)
            abort();
        at += mapping->bytes;
    }
    allowed = 0;
    for (size_t k = 0; k < count; k++)
        if (whom[k].location.type == 1 && whom[k].flags == 3)
            allowed |= (uint64_t)1 << whom[k].location.id;
    return mprotect((void *)(uintptr_t)start, bytes, PROT_READ | PROT_WRITE) == 0 ? OK : INVALID;
}

/* The devices of the last allow have access to everything. */
int cuMemGetAccess(unsigned long long *out, const struct location *whom, uint64_t pointer)
{
    const struct range *range = mapping_of(pointer);
    if (fails(__func__) || !range || whom->type != 1)
        return INVALID;
    *out = allowed >> whom->id & 1 ? 3 : 0;
    return OK;
}

int cuMemExportToShareableHandle(void *out, uint64_t handle, int kind, unsigned long long flags)
{
    struct memory *memory = memory_of(handle);
    if (fails(__func__))
        return NOT_SUPPORTED;
    if (!(memory->handles & kind) || flags != 0)
        return INVALID;
    const int descriptor = dup(memory->descriptor);
    if (kind == 1)
        memcpy(out, &descriptor, sizeof descriptor);
    else
        snprintf(out, 64, "fabric %d", descriptor);
    return OK;
}

int cuMemImportFromShareableHandle(uint64_t *out, void *shared, int kind)
{
    int descriptor = (int)(intptr_t)shared;
    if (fails(__func__))
        return NOT_SUPPORTED;
    if (kind == 8 && sscanf(shared, "fabric %d", &descriptor) != 1)
        return INVALID;
    const off_t bytes = lseek(descriptor, 0, SEEK_END);
    return bytes <= 0 ? INVALID : new_handle(out, dup(descriptor), kind, (size_t)bytes);
}

int cuMemRetainAllocationHandle(uint64_t *out, void *address)
{
    const struct range *range = mapping_of((uint64_t)(uintptr_t)address);
    if (fails(__func__) || !range)
        return INVALID;
    range->mapped->holders++;
    handles_live++;
    *out = (uint64_t)(range->mapped - memories) + 1;
    return OK;
}

/* Memory of a pool, and the devices that may use it, as bits. */
static uint64_t pool_start, pool_bytes, pool_access;

void fake_driver_pool(const void *start, uint64_t bytes, uint64_t access)
{
    pool_start = (uint64_t)(uintptr_t)start;
    pool_bytes = bytes;
    pool_access = access;
}

int cuMemPoolGetAccess(int *out, const void *pool, const struct location *whom)
{
    if (pool != &pool_access || whom->type != 1)
        return INVALID;
    *out = pool_access >> whom->id & 1 ? 3 : 0;
    return OK;
}

/* Memory that is not by handles, as of cudaMalloc. */
static struct {
    uint64_t start, bytes, number;
    int has_ipc;
} plain;

void fake_driver_plain(const void *start, uint64_t bytes, uint64_t number, int has_ipc)
{
    plain.start = (uint64_t)(uintptr_t)start;
    plain.bytes = bytes;
    plain.number = number;
    plain.has_ipc = has_ipc;
}

/* Of the second device. */
static int about_plain(void *out, int attribute)
{
    const int device = 1;
    switch (attribute) {
    case 7:
        memcpy(out, &plain.number, sizeof plain.number);
        return OK;
    case 9:
        memcpy(out, &device, sizeof device);
        return OK;
    case 10:
        memcpy(out, &plain.has_ipc, sizeof plain.has_ipc);
        return OK;
    case 11:
        memcpy(out, &plain.start, sizeof plain.start);
        return OK;
    case 12:
        memcpy(out, &plain.bytes, sizeof plain.bytes);
        return OK;
    default:
        return INVALID;
    }
}

int cuPointerGetAttribute(void *out, int attribute, uint64_t pointer)
{
    const struct range *range = mapping_of(pointer);
    if (attribute == 17) {
        void *const pool = pointer - pool_start < pool_bytes ? &pool_access : NULL;
        memcpy(out, &pool, sizeof pool);
        return pool ? OK : INVALID;
    }
    if (fails(__func__))
        return INVALID;
    if (!range)
        return pointer - plain.start < plain.bytes ? about_plain(out, attribute) : INVALID;
    const uint64_t bytes = range->bytes;
    if (attribute == 14)
        memcpy(out, &range->mapped->handles, sizeof range->mapped->handles);
    else if (attribute == 18)
        memcpy(out, &bytes, sizeof bytes);
    else if (attribute == 19)
        memcpy(out, &range->start, sizeof range->start);
    else if (attribute == 9)
        return about_plain(out, attribute);
    else
        return INVALID;
    return OK;
}
