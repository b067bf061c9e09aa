/*
 * Memory by handles (hw/cuda/vmm.c) on a fake driver: which calls it makes, and what it releases when one fails.
 */
#include "cuda/fake_driver.h"
#include "hw/cuda/driver.h"
#include "hw/cuda/vmm.h"
#include "support/heap.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 5000u

static const uint64_t bytes_of_all = BYTES;

static struct ronde_vmm *open_device(int number)
{
    struct ronde_vmm *vmm = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_open(ronde_mem_default(), number, &vmm, &error), RONDE_OK);
    return vmm;
}

static const enum ronde_sharing kinds[] = {RONDE_SHARING_DESCRIPTOR, RONDE_SHARING_FABRIC};

static void close_share(const struct ronde_share *share)
{
    if (share->descriptor >= 0)
        close(share->descriptor);
}

/* Makes, exports and imports; the second mapping is the same memory under another address. */
static void what_is_imported_is_what_was_made(void)
{
    struct ronde_error error = {0};
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(2);
    for (size_t k = 0; k < 2; k++) {
        struct ronde_share share;
        void *block = NULL;
        void *other = NULL;
        CU_ASSERT_EQUAL_FATAL(ronde_vmm_create(vmm, kinds[k], BYTES, &block, &error), RONDE_OK);
        CU_ASSERT_EQUAL_FATAL(ronde_vmm_export(vmm, kinds[k], block, &share, &error), RONDE_OK);
        CU_ASSERT_EQUAL(share.sharing, kinds[k]);
        CU_ASSERT_EQUAL(share.descriptor >= 0, kinds[k] == RONDE_SHARING_DESCRIPTOR);
        CU_ASSERT_EQUAL_FATAL(ronde_vmm_import(vmm, &share, &bytes_of_all, 1, &other, &error),
                              RONDE_OK);
        CU_ASSERT_PTR_NOT_EQUAL(block, other);
        memset(block, 7, BYTES);
        CU_ASSERT_EQUAL(((unsigned char *)other)[BYTES - 1], 7);
        /* A mapping keeps its memory alive: its maker may release it first. */
        ronde_vmm_release(vmm, block, &bytes_of_all, 1);
        CU_ASSERT_EQUAL(((unsigned char *)other)[0], 7);
        ronde_vmm_release(vmm, other, &bytes_of_all, 1);
        close_share(&share);
        CU_ASSERT_EQUAL(fake_driver.live(), 0);
    }
    ronde_vmm_close(vmm);
}

/* A child maps a descriptor that it has inherited, writes, and ends: the memory stays. */
static void another_process_writes_into_it(void)
{
    struct ronde_error error = {0};
    struct ronde_share share;
    void *block = NULL;
    int state = 0;
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(0);
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_create(vmm, RONDE_SHARING_DESCRIPTOR, BYTES, &block, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_export(vmm, RONDE_SHARING_DESCRIPTOR, block, &share, &error),
                          RONDE_OK);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        void *there = NULL;
        if (ronde_vmm_import(vmm, &share, &bytes_of_all, 1, &there, &error) != RONDE_OK)
            _exit(1);
        memset(there, 9, BYTES);
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
    CU_ASSERT_EQUAL(state, 0);
    CU_ASSERT_EQUAL(((unsigned char *)block)[BYTES - 1], 9);
    close_share(&share);
    ronde_vmm_release(vmm, block, &bytes_of_all, 1);
    ronde_vmm_close(vmm);
}

static void devices_that_were_admitted_may_use_it(void)
{
    struct ronde_error error = {0};
    void *block = NULL;
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(1);
    ronde_vmm_admit(vmm, 3);
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_create(vmm, RONDE_SHARING_DESCRIPTOR, BYTES, &block, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(fake_driver.allowed(), 1u << 1 | 1u << 3);
    ronde_vmm_release(vmm, block, &bytes_of_all, 1);
    ronde_vmm_close(vmm);
}

/* What an allocator made of the driver's memory is found from any address in it; what has no handle is refused. */
static void memory_of_others_is_found_by_its_address(void)
{
    struct ronde_error error = {0};
    void *block = NULL;
    void *start = NULL;
    uint64_t bytes = 0;
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(0);
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_create(vmm, RONDE_SHARING_DESCRIPTOR, BYTES, &block, &error),
                          RONDE_OK);
    const unsigned char *inside = (const unsigned char *)block + 4321;
    CU_ASSERT_EQUAL(ronde_vmm_find(vmm, RONDE_SHARING_DESCRIPTOR, inside, &start, &bytes, &error),
                    RONDE_OK);
    CU_ASSERT_PTR_EQUAL(start, block);
    CU_ASSERT_EQUAL(bytes, 2u << 20);
    CU_ASSERT_EQUAL(ronde_vmm_find(vmm, RONDE_SHARING_FABRIC, inside, &start, &bytes, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has no handle of kind fabric"));
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_vmm_find(vmm, RONDE_SHARING_DESCRIPTOR, &fake_driver, &start, &bytes,
                                   &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has no handle of kind descriptor"));
    ronde_vmm_release(vmm, block, &bytes_of_all, 1);
    ronde_vmm_close(vmm);
}

/* Rights of memory by handles are per device; other memory has none. */
static void a_device_uses_only_what_is_open_to_it(void)
{
    struct ronde_error error = {0};
    void *block = NULL;
    void *later = NULL;
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(0);
    struct ronde_vmm *other = open_device(1);
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_create(vmm, RONDE_SHARING_DESCRIPTOR, BYTES, &block, &error),
                          RONDE_OK);
    CU_ASSERT(ronde_vmm_may_use(vmm, block, BYTES));
    CU_ASSERT_FALSE(ronde_vmm_may_use(other, block, BYTES));
    CU_ASSERT(ronde_vmm_may_use(other, &fake_driver, sizeof fake_driver));
    /* Beyond the mapping there is nothing, unless another follows. */
    CU_ASSERT_FALSE(ronde_vmm_may_use(vmm, block, (3u << 20)));
    ronde_vmm_admit(other, 0);
    CU_ASSERT_EQUAL_FATAL(ronde_vmm_create(other, RONDE_SHARING_DESCRIPTOR, BYTES, &later, &error),
                          RONDE_OK);
    CU_ASSERT(ronde_vmm_may_use(vmm, later, BYTES));
    CU_ASSERT(ronde_vmm_may_use(other, later, BYTES));
    static const char *const calls[] = {"cuMemGetAccess", "cuPointerGetAttribute"};
    for (unsigned k = 0; k < 3; k++) {
        fake_driver.fail(calls[k > 0], k > 0 ? k : 1);
        CU_ASSERT_FALSE(ronde_vmm_may_use(vmm, later, BYTES));
    }
    ronde_vmm_release(vmm, block, &bytes_of_all, 1);
    ronde_vmm_release(other, later, &bytes_of_all, 1);
    CU_ASSERT_EQUAL(fake_driver.live(), 0);
    ronde_vmm_close(vmm);
    ronde_vmm_close(other);
}

#define PIECES 3u

/* Maps pieces one after another, as an allocator that grows in place does; the kind of handle they have. */
static uint64_t make_segment(enum ronde_sharing sharing)
{
    struct ronde_driver driver = {.library = NULL};
    const struct ronde_driver_kind kind = {.type = RONDE_DRIVER_PINNED,
                                           .handles = sharing == RONDE_SHARING_FABRIC
                                                          ? RONDE_DRIVER_FABRIC
                                                          : RONDE_DRIVER_DESCRIPTOR,
                                           .location = {RONDE_DRIVER_ON_DEVICE, 0}};
    const struct ronde_driver_access whom = {{RONDE_DRIVER_ON_DEVICE, 0}, RONDE_DRIVER_READ_WRITE};
    const size_t grain = 2u << 20;
    uint64_t start = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_driver_open(&driver, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(driver.reserve(&start, PIECES * grain, 0, 0, 0), RONDE_DRIVER_OK);
    for (uint32_t k = 0; k < PIECES; k++) {
        uint64_t handle = 0;
        CU_ASSERT_EQUAL(driver.create(&handle, grain, &kind, 0), RONDE_DRIVER_OK);
        CU_ASSERT_EQUAL(driver.map(start + k * grain, grain, 0, handle, 0), RONDE_DRIVER_OK);
        CU_ASSERT_EQUAL(driver.release(handle), RONDE_DRIVER_OK);
    }
    CU_ASSERT_EQUAL(driver.allow(start, PIECES * grain, &whom, 1), RONDE_DRIVER_OK);
    ronde_driver_close(&driver);
    return start;
}

/* Its pieces are held, exported, and mapped one after another elsewhere, whatever call fails on the way. */
static void a_segment_of_pieces_is_mapped_in_one(void)
{
    static const char *const calls[] = {"", "cuMemImportFromShareableHandle", "cuMemMap",
                                        "cuMemSetAccess", "cuMemAddressReserve"};
    struct ronde_error error = {0};
    const uint64_t bytes[PIECES] = {2u << 20, 2u << 20, 2u << 20};
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(0);
    for (size_t call = 0; call < 2 * sizeof calls / sizeof calls[0]; call++) {
        const enum ronde_sharing sharing = kinds[call % 2];
        struct ronde_allocation pieces[PIECES];
        struct ronde_share shares[PIECES];
        unsigned char *const segment = (unsigned char *)(uintptr_t)make_segment(sharing);
        const uint64_t live = fake_driver.live();
        void *there = NULL;
        for (uint32_t k = 0; k < PIECES; k++) {
            CU_ASSERT_FATAL(ronde_vmm_hold(vmm, segment + k * bytes[0] + 77, &pieces[k]));
            CU_ASSERT_PTR_EQUAL(pieces[k].start, segment + k * bytes[0]);
            CU_ASSERT_EQUAL(pieces[k].bytes, bytes[0]);
            CU_ASSERT_EQUAL(pieces[k].sharing, sharing);
            CU_ASSERT(k == 0 || pieces[k].number != pieces[k - 1].number);
            CU_ASSERT_EQUAL_FATAL(ronde_vmm_export(vmm, sharing, pieces[k].start, &shares[k], &error),
                                  RONDE_OK);
        }
        fake_driver.fail(calls[call / 2], call / 2 % 2 == 0 ? 2 : 1);
        const enum ronde_status status =
            ronde_vmm_import(vmm, shares, bytes, PIECES, &there, &error);
        fake_driver.fail("", 0);
        CU_ASSERT_EQUAL(status == RONDE_OK, call < 2 || (call / 2 == 4 && there));
        if (status == RONDE_OK) {
            memset(segment, 7, PIECES * bytes[0]);
            segment[bytes[0] - 1] = 8;
            segment[bytes[0]] = 9;
            CU_ASSERT_EQUAL(memcmp(there, segment, PIECES * bytes[0]), 0);
            ronde_vmm_release(vmm, there, bytes, PIECES);
        }
        for (uint32_t k = 0; k < PIECES; k++) {
            ronde_vmm_let_go(vmm, &pieces[k]);
            close_share(&shares[k]);
        }
        CU_ASSERT_EQUAL(fake_driver.live(), live);
        ronde_vmm_release(vmm, segment, bytes, PIECES);
        memset(&error, 0, sizeof error);
    }
    CU_ASSERT_EQUAL(fake_driver.live(), 0);
    struct ronde_allocation none;
    CU_ASSERT_FALSE(ronde_vmm_hold(vmm, &fake_driver, &none));
    ronde_vmm_close(vmm);
}

/* Makes, exports, imports and gives everything back; the first failure. */
static enum ronde_status go_round(struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                  struct ronde_error *error)
{
    struct ronde_share share = {.descriptor = -1};
    void *block = NULL;
    void *other = NULL;
    enum ronde_status status = ronde_vmm_create(vmm, sharing, BYTES, &block, error);
    if (status == RONDE_OK)
        status = ronde_vmm_export(vmm, sharing, block, &share, error);
    if (status == RONDE_OK)
        status = ronde_vmm_import(vmm, &share, &bytes_of_all, 1, &other, error);
    close_share(&share);
    if (other)
        ronde_vmm_release(vmm, other, &bytes_of_all, 1);
    if (block)
        ronde_vmm_release(vmm, block, &bytes_of_all, 1);
    return status;
}

/* Every call in every place it is made, with the error that follows. */
static void whatever_call_fails_nothing_is_left(void)
{
    static const struct {
        const char *call;
        unsigned which;
        enum ronde_status status;
        const char *text;
    } failures[] = {
        {"cuMemGetAllocationGranularity", 1, RONDE_DEVICE, "asking for the grain of memory"},
        {"cuMemCreate", 1, RONDE_NO_MEMORY, "making memory with a handle: out of memory (2)"},
        {"cuMemAddressReserve", 1, RONDE_NO_MEMORY, "reserving addresses: out of memory (2)"},
        {"cuMemMap", 1, RONDE_DEVICE, "mapping memory: invalid argument (1)"},
        {"cuMemSetAccess", 1, RONDE_DEVICE, "memory of a GPU that this one does not reach"},
        {"cuMemRetainAllocationHandle", 1, RONDE_DEVICE, "finding the handle of memory"},
        {"cuMemExportToShareableHandle", 1, RONDE_DEVICE, "exporting memory: operation not"},
        {"cuMemGetAllocationGranularity", 2, RONDE_DEVICE, "asking for the grain of memory"},
        {"cuMemImportFromShareableHandle", 1, RONDE_DEVICE, "importing memory of another process"},
        {"cuMemAddressReserve", 2, RONDE_NO_MEMORY, "reserving addresses"},
        {"cuMemMap", 2, RONDE_DEVICE, "mapping memory"},
        {"cuMemSetAccess", 2, RONDE_DEVICE, "transport ucx goes through the host"},
    };
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(0);
    for (size_t k = 0; k < sizeof failures / sizeof failures[0]; k++) {
        struct ronde_error error = {0};
        fake_driver.fail(failures[k].call, failures[k].which);
        CU_ASSERT_EQUAL(go_round(vmm, RONDE_SHARING_DESCRIPTOR, &error), failures[k].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, failures[k].text));
        if (!strstr(error.message, failures[k].text))
            suite_note("%s %u: %s", failures[k].call, failures[k].which, error.message);
        CU_ASSERT_EQUAL(fake_driver.live(), 0);
    }
    fake_driver.fail("", 0);
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(go_round(vmm, RONDE_SHARING_DESCRIPTOR, &error), RONDE_OK);
    ronde_vmm_close(vmm);
}

/* What a device does not have is reported before anything is made. */
static void kinds_a_device_lacks_are_refused(void)
{
    static const struct {
        int attribute;
        enum ronde_sharing sharing;
        const char *text;
    } lacks[] = {{RONDE_DRIVER_HAS_FABRIC, RONDE_SHARING_FABRIC, "makes no fabric handles"},
                 {RONDE_DRIVER_HAS_DESCRIPTORS, RONDE_SHARING_DESCRIPTOR, "makes no descriptors"}};
    if (!fake_driver_load())
        return;
    for (size_t k = 0; k < 2; k++) {
        struct ronde_error error = {0};
        fake_driver.lack(lacks[k].attribute);
        struct ronde_vmm *vmm = open_device(0);
        CU_ASSERT_EQUAL(go_round(vmm, lacks[k].sharing, &error), RONDE_UNAVAILABLE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, lacks[k].text));
        memset(&error, 0, sizeof error);
        CU_ASSERT_EQUAL(go_round(vmm, kinds[k], &error), RONDE_OK);
        ronde_vmm_close(vmm);
        fake_driver.lack(0);
    }
    struct ronde_vmm *none = NULL;
    struct ronde_error error = {0};
    fake_driver.lack(RONDE_DRIVER_HAS_MAPPING);
    CU_ASSERT_EQUAL(ronde_vmm_open(ronde_mem_default(), 0, &none, &error), RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "GPU 0 has no memory by handles"));
    fake_driver.lack(0);
}

static void opening_reports_a_failed_allocation(void)
{
    struct ronde_error error = {0};
    struct ronde_vmm *vmm = NULL;
    struct heap heap = heap_start(0, true);
    const struct ronde_mem mem = heap_mem(&heap);
    if (!fake_driver_load())
        return;
    CU_ASSERT_EQUAL(ronde_vmm_open(&mem, 0, &vmm, &error), RONDE_NO_MEMORY);
    CU_ASSERT_PTR_NULL(vmm);
    CU_ASSERT_EQUAL(heap.live_bytes, 0);
}

/* Lengths that wrap around when they are rounded up. */
static void more_than_there_can_be_is_refused(void)
{
    struct ronde_error error = {0};
    void *block = NULL;
    if (!fake_driver_load())
        return;
    struct ronde_vmm *vmm = open_device(0);
    CU_ASSERT_EQUAL(ronde_vmm_create(vmm, RONDE_SHARING_DESCRIPTOR, UINT64_MAX, &block, &error),
                    RONDE_NO_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "more than there can be"));
    ronde_vmm_close(vmm);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_imported_is_what_was_made", what_is_imported_is_what_was_made},
        {"another_process_writes_into_it", another_process_writes_into_it},
        {"devices_that_were_admitted_may_use_it", devices_that_were_admitted_may_use_it},
        {"memory_of_others_is_found_by_its_address", memory_of_others_is_found_by_its_address},
        {"a_device_uses_only_what_is_open_to_it", a_device_uses_only_what_is_open_to_it},
        {"a_segment_of_pieces_is_mapped_in_one", a_segment_of_pieces_is_mapped_in_one},
        {"whatever_call_fails_nothing_is_left", whatever_call_fails_nothing_is_left},
        {"kinds_a_device_lacks_are_refused", kinds_a_device_lacks_are_refused},
        {"opening_reports_a_failed_allocation", opening_reports_a_failed_allocation},
        {"more_than_there_can_be_is_refused", more_than_there_can_be_is_refused},
    };
    return suite_run("vmm", cases, sizeof cases / sizeof cases[0]);
}
