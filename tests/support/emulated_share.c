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

void emulated_share_name(struct ronde_share *share, int descriptor)
{
    share->words[NAME_PROCESS] = (uint64_t)getpid();
    share->words[NAME_DESCRIPTOR] = (uint64_t)descriptor;
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
    emulated_share_name(share, descriptor);
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

/* A descriptor of what a share names, the caller's to close. */
static int open_share(const struct ronde_share *share)
{
    const struct ronde_peer_fd named = {(int32_t)share->words[NAME_PROCESS],
                                        (int32_t)share->words[NAME_DESCRIPTOR]};
    return share->sharing == RONDE_SHARING_DESCRIPTOR ? dup(share->descriptor)
                                                      : ronde_peer_fd_open(named, O_RDWR);
}

static uint64_t total(const uint64_t *bytes, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < count; k++)
        sum += bytes[k];
    return sum;
}

enum ronde_status emulated_share_map(const struct ronde_share *shares, const uint64_t *bytes,
                                     uint32_t count, void **out_block, struct ronde_error *error)
{
    unsigned char *const block =
        mmap(NULL, total(bytes, count), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *at = block;
    enum ronde_status status = RONDE_OK;
    *out_block = NULL;
    if (count > 1 && shares->sharing == RONDE_SHARING_IPC)
        abort();
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++) {
        const int descriptor = open_share(&shares[k]);
        if (descriptor < 0 || mmap(at, bytes[k], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                   descriptor, 0) == MAP_FAILED)
            status = ronde_fail(error, RONDE_DEVICE, "the handle of process %llu means nothing here",
                                (unsigned long long)shares[k].words[NAME_PROCESS]);
        if (descriptor >= 0)
            close(descriptor);
        at += bytes[k];
    }
    if (status == RONDE_OK)
        *out_block = block;
    else
        munmap(block, total(bytes, count));
    return status;
}

void emulated_share_unmap(void *block, const uint64_t *bytes, uint32_t count)
{
    munmap(block, total(bytes, count));
}

/* One piece more, at an address that is reserved. */
static bool make_piece(struct emulated_pieces *pieces, unsigned char *at, uint64_t bytes)
{
    uint32_t k = 0;
    while (k < EMULATED_PIECES_MAX && pieces->all[k].start)
        k++;
    if (k == EMULATED_PIECES_MAX)
        abort();
    const int descriptor = memfd_create("emulated", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0 ||
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED)
        return false;
    memset(at, 0x5A, bytes);
    pieces->all[k] = (struct emulated_piece){at, bytes, ++pieces->count, descriptor};
    return true;
}

static uint64_t whole_pages(uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

void *emulated_pieces_make(struct emulated_pieces *pieces, uint64_t bytes, uint64_t piece_bytes,
                           void *wish)
{
    const uint64_t all = whole_pages(bytes);
    const uint64_t step = piece_bytes > 0 ? whole_pages(piece_bytes) : all;
    unsigned char *const start =
        mmap(wish, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | (wish ? MAP_FIXED_NOREPLACE : 0),
             -1, 0);
    bool is_made = start != MAP_FAILED;
    for (uint64_t at = 0; at < all && is_made; at += step)
        is_made = make_piece(pieces, start + at, all - at < step ? all - at : step);
    return is_made ? start : NULL;
}

void emulated_pieces_drop(struct emulated_pieces *pieces, void *start, uint64_t bytes)
{
    const uint64_t all = whole_pages(bytes);
    for (uint32_t k = 0; k < EMULATED_PIECES_MAX; k++) {
        struct emulated_piece *piece = &pieces->all[k];
        if (!piece->start || piece->start < (unsigned char *)start ||
            piece->start >= (unsigned char *)start + all)
            continue;
        close(piece->descriptor);
        piece->start = NULL;
    }
    munmap(start, all);
}

struct emulated_piece *emulated_pieces_find(struct emulated_pieces *pieces, const void *address)
{
    for (uint32_t k = 0; k < EMULATED_PIECES_MAX; k++) {
        struct emulated_piece *piece = &pieces->all[k];
        if (piece->start && (uintptr_t)address - (uintptr_t)piece->start < piece->bytes)
            return piece;
    }
    return NULL;
}
