/* Shared memory of emulated devices. See emulated_share.h. */
#include "support/emulated_share.h"

#include "hw/shm/layout.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The words of a name. */
enum { NAME_PROCESS, NAME_DESCRIPTOR };

static enum ronde_status map_file(int descriptor, uint64_t bytes, void **out_block,
                                  struct ronde_error *error)
{
    void *const block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    *out_block = block == MAP_FAILED ? NULL : block;
    return *out_block ? RONDE_OK
                      : ronde_fail(error, RONDE_NO_MEMORY, "no memory to share: %llu bytes",
                                   (unsigned long long)bytes);
}

static void keep_name(struct emulated_named *named, void *block, int descriptor,
                      struct ronde_share *share)
{
    uint32_t k = 0;
    while (k < EMULATED_NAMED_MAX && named->blocks[k])
        k++;
    if (k == EMULATED_NAMED_MAX)
        abort();
    named->blocks[k] = block;
    named->descriptors[k] = descriptor;
    share->words[NAME_PROCESS] = (uint64_t)getpid();
    share->words[NAME_DESCRIPTOR] = (uint64_t)descriptor;
}

enum ronde_status emulated_share_make(struct emulated_named *named, enum ronde_sharing sharing,
                                      uint64_t bytes, void **out_block,
                                      struct ronde_share *out_share, struct ronde_error *error)
{
    *out_block = NULL;
    memset(out_share, 0, sizeof *out_share);
    out_share->sharing = sharing;
    out_share->descriptor = -1;
    const int descriptor = memfd_create("emulated", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0)
        return ronde_fail(error, RONDE_DEVICE, "no file to share");
    const enum ronde_status status = map_file(descriptor, bytes, out_block, error);
    if (status != RONDE_OK) {
        close(descriptor);
        return status;
    }
    memset(*out_block, 0x5A, bytes);
    if (sharing == RONDE_SHARING_DESCRIPTOR)
        out_share->descriptor = descriptor;
    else
        keep_name(named, *out_block, descriptor, out_share);
    return RONDE_OK;
}

void emulated_share_drop(struct emulated_named *named, void *block, uint64_t bytes)
{
    for (uint32_t k = 0; k < EMULATED_NAMED_MAX; k++) {
        if (named->blocks[k] != block)
            continue;
        named->blocks[k] = NULL;
        close(named->descriptors[k]);
    }
    munmap(block, bytes);
}

enum ronde_status emulated_share_map(const struct ronde_share *share, uint64_t bytes,
                                     void **out_block, struct ronde_error *error)
{
    *out_block = NULL;
    if (share->sharing == RONDE_SHARING_DESCRIPTOR)
        return map_file(share->descriptor, bytes, out_block, error);
    const struct ronde_peer_fd named = {(int32_t)share->words[NAME_PROCESS],
                                        (int32_t)share->words[NAME_DESCRIPTOR]};
    const int descriptor = ronde_peer_fd_open(named, O_RDWR);
    if (descriptor < 0)
        return ronde_fail(error, RONDE_DEVICE, "the handle of process %llu means nothing here",
                          (unsigned long long)share->words[NAME_PROCESS]);
    const enum ronde_status status = map_file(descriptor, bytes, out_block, error);
    close(descriptor);
    return status;
}

void emulated_share_unmap(void *block, uint64_t bytes)
{
    munmap(block, bytes);
}
