/* Memory that other processes read and write in place. See remote_read.h. */
#include "hw/shm/remote_read.h"

#include "hw/shm/layout.h"
#include "ronde/memory_available.h"
#include "ronde/split.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Blocks of this length and more begin where the processor can map large pages. */
#define LARGE_BYTES ((uint64_t)1 << 21)

/* A shorter address range than this is not worth mapping. */
#define LEAST_BYTES ((uint64_t)1 << 25)

/* Since Linux 5.14; older headers lack it. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* A mutex would take two such exchanges, and every run asks what its buffers are. */
static void lock(struct ronde_registered_memory *registered)
{
    while (__atomic_exchange_n(&registered->is_locked, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(struct ronde_registered_memory *registered)
{
    __atomic_store_n(&registered->is_locked, false, __ATOMIC_RELEASE);
}

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Maps a file at a multiple of LARGE_BYTES, so that its large pages can be mapped as such. NULL if the system refuses. */
static unsigned char *map_aligned(int fd, uint64_t bytes)
{
    unsigned char *room = mmap(NULL, (size_t)(bytes + LARGE_BYTES), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    const uint64_t skip = ronde_round_up((uint64_t)(uintptr_t)room, LARGE_BYTES) - (uintptr_t)room;
    unsigned char *start = mmap(room + skip, (size_t)bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
    if (start == MAP_FAILED) {
        (void)munmap(room, (size_t)(bytes + LARGE_BYTES));
        return NULL;
    }
    if (skip > 0)
        (void)munmap(room, (size_t)skip);
    (void)munmap(start + bytes, (size_t)(LARGE_BYTES - skip));
    /* Where the system has none for shared memory, small ones do. */
    (void)madvise(start, (size_t)bytes, MADV_HUGEPAGE);
    return start;
}

/*
 * Maps as much of a file as the process may have addresses for (ulimit -v, as batch systems set it): all, or half of it,
 * and so on. Peers map no more than is in use.
 */
static unsigned char *map_most(int fd, uint64_t *io_bytes)
{
    for (;;) {
        unsigned char *start = map_aligned(fd, *io_bytes);
        if (start || *io_bytes <= LEAST_BYTES)
            return start;
        *io_bytes = ronde_round_up(*io_bytes / 2, LARGE_BYTES);
    }
}

/* As long as the machine's memory, beyond which no block can lie, or as the limit of files allows. */
static uint64_t file_bytes(void)
{
    const uint64_t limit = ronde_file_limit_bytes();
    const uint64_t bytes =
        ronde_round_up((uint64_t)sysconf(_SC_PHYS_PAGES) * page_bytes(), LARGE_BYTES);
    return bytes <= limit ? bytes : limit / LARGE_BYTES * LARGE_BYTES;
}

static bool open_registered(struct ronde_registered_memory *registered)
{
    uint64_t bytes = file_bytes();
    if (bytes == 0)
        return false;
    const int fd = memfd_create("ronde-heap", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    unsigned char *start = ftruncate(fd, (off_t)bytes) == 0 ? map_most(fd, &bytes) : NULL;
    if (!start) {
        close(fd);
        return false;
    }
    registered->fd = fd;
    registered->bytes = bytes;
    registered->descriptor->start = (uint64_t)(uintptr_t)start;
    registered->descriptor->file = (struct ronde_peer_fd){(int32_t)getpid(), fd};
    __atomic_store_n(&registered->start, start, __ATOMIC_RELEASE);
    return true;
}

/* Finds the first gap that is long enough; the block before which it lies, or block_count. */
static bool find_gap(const struct ronde_registered_memory *registered, uint64_t bytes,
                     size_t *out_at, uint64_t *out_first)
{
    const uint64_t alignment = bytes >= LARGE_BYTES ? LARGE_BYTES : page_bytes();
    uint64_t first = 0;
    for (size_t at = 0; at <= registered->block_count; at++) {
        const uint64_t end =
            at < registered->block_count ? registered->blocks[at].first : registered->bytes;
        if (first <= end && bytes <= end - first) {
            *out_at = at;
            *out_first = first;
            return true;
        }
        if (at < registered->block_count)
            first = ronde_round_up(registered->blocks[at].end, alignment);
    }
    return false;
}

/* From this length on it is asked whether there is room: in a control group the system kills who goes beyond its limit. */
#define ASK_FROM_BYTES ((uint64_t)1 << 26)

static bool has_room(uint64_t bytes)
{
    return bytes < ASK_FROM_BYTES || bytes <= ronde_memory_available("").bytes;
}

/* Pages are allocated now: running out of memory is an error here, but ends the process when they are first touched. */
static bool populate(const struct ronde_registered_memory *registered, uint64_t first,
                     uint64_t bytes)
{
    if (madvise(registered->start + first, (size_t)bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno == EINVAL && fallocate(registered->fd, 0, (off_t)first, (off_t)bytes) == 0)
        return true;
    (void)madvise(registered->start + first, (size_t)bytes, MADV_REMOVE);
    return false;
}

/* Under the lock: a range that no block has, as a block of its own. */
static bool reserve(struct ronde_registered_memory *registered, uint64_t wanted,
                    struct ronde_registered_block *out_block)
{
    size_t at = 0;
    uint64_t first = 0;
    if (!registered->start && !open_registered(registered))
        return false;
    if (wanted > registered->bytes || registered->is_frozen)
        return false;
    const uint64_t bytes = ronde_round_up(wanted, page_bytes());
    if (!find_gap(registered, bytes, &at, &first) ||
        !ronde_mem_grow(registered->mem, (void **)&registered->blocks, &registered->block_capacity,
                        registered->block_count + 1, sizeof *registered->blocks))
        return false;
    memmove(&registered->blocks[at + 1], &registered->blocks[at],
            (registered->block_count - at) * sizeof *registered->blocks);
    *out_block = (struct ronde_registered_block){first, first + bytes};
    registered->blocks[at] = *out_block;
    registered->block_count++;
    return true;
}

/* The block that contains an offset, or block_count. */
static size_t find_block(const struct ronde_registered_memory *registered, uint64_t offset)
{
    size_t at = 0;
    while (at < registered->block_count && offset >= registered->blocks[at].end)
        at++;
    return at < registered->block_count && offset >= registered->blocks[at].first
               ? at
               : registered->block_count;
}

/* Under the lock: the block's range is free. */
static void drop(struct ronde_registered_memory *registered, uint64_t first)
{
    const size_t at = find_block(registered, first);
    registered->block_count--;
    memmove(&registered->blocks[at], &registered->blocks[at + 1],
            (registered->block_count - at) * sizeof *registered->blocks);
}

static void *take_block(struct ronde_registered_memory *registered, uint64_t wanted)
{
    struct ronde_registered_block block = {0, 0};
    if (!has_room(wanted))
        return NULL;
    lock(registered);
    const bool is_reserved = reserve(registered, wanted, &block);
    unlock(registered);
    if (!is_reserved)
        return NULL;
    const bool is_populated = populate(registered, block.first, block.end - block.first);
    lock(registered);
    if (!is_populated)
        drop(registered, block.first);
    /* A rank that receives an offer of data here reads a length that covers it. */
    else if (block.end > registered->descriptor->bytes)
        __atomic_store_n(&registered->descriptor->bytes, block.end, __ATOMIC_RELEASE);
    unlock(registered);
    return is_populated ? registered->start + block.first : NULL;
}

static void give_block(struct ronde_registered_memory *registered, const void *start)
{
    const uint64_t offset = (uint64_t)((const unsigned char *)start - registered->start);
    struct ronde_registered_block block = {0, 0};
    lock(registered);
    const size_t at = find_block(registered, offset);
    if (at < registered->block_count && !registered->is_frozen)
        block = registered->blocks[at];
    unlock(registered);
    if (block.end == 0)
        return;
    /* No other thread gets the range before its pages are gone. */
    (void)madvise(registered->start + block.first, (size_t)(block.end - block.first), MADV_REMOVE);
    lock(registered);
    drop(registered, block.first);
    unlock(registered);
}

/* See ronde_resize. */
static void *registered_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct ronde_registered_memory *registered = self;
    void *block = new_bytes > 0 ? take_block(registered, new_bytes) : NULL;
    if (new_bytes > 0 && !block)
        return NULL;
    if (old && block)
        memcpy(block, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    if (old)
        give_block(registered, old);
    return block;
}

void ronde_registered_memory_init(struct ronde_registered_memory *registered,
                                  struct ronde_memory_descriptor *descriptor,
                                  const struct ronde_mem *mem)
{
    *registered = (struct ronde_registered_memory){.mem = mem,
                                                   .own = {registered_resize, registered},
                                                   .descriptor = descriptor};
}

void ronde_registered_memory_freeze(struct ronde_registered_memory *registered)
{
    lock(registered);
    registered->is_frozen = true;
    unlock(registered);
}

bool ronde_registered_memory_holds(struct ronde_registered_memory *registered, const void *start,
                                   uint64_t bytes)
{
    const unsigned char *base = __atomic_load_n(&registered->start, __ATOMIC_ACQUIRE);
    const uint64_t offset = (uint64_t)(uintptr_t)start - (uint64_t)(uintptr_t)base;
    if (!base || offset >= registered->bytes)
        return false;
    lock(registered);
    const size_t at = find_block(registered, offset);
    const bool holds = at < registered->block_count && bytes <= registered->blocks[at].end - offset;
    unlock(registered);
    return holds;
}

void ronde_registered_memory_close(struct ronde_registered_memory *registered)
{
    if (registered->start) {
        (void)munmap(registered->start, (size_t)registered->bytes);
        close(registered->fd);
    }
    ronde_mem_free(registered->mem, registered->blocks, registered->block_capacity,
                   sizeof *registered->blocks);
    *registered = (struct ronde_registered_memory){0};
}

bool ronde_memory_mapping_open(struct ronde_memory_mapping *mapping,
                               const struct ronde_memory_descriptor *descriptor)
{
    const uint64_t bytes = __atomic_load_n(&descriptor->bytes, __ATOMIC_ACQUIRE);
    if (bytes <= mapping->bytes) {
        errno = EFAULT;
        return false;
    }
    const int fd = ronde_peer_fd_open(descriptor->file, O_RDWR);
    if (fd < 0)
        return false;
    const uint64_t whole = ronde_round_up(bytes, LARGE_BYTES);
    unsigned char *start = map_aligned(fd, whole);
    const int reason = errno;
    close(fd);
    if (!start) {
        errno = reason;
        return false;
    }
    ronde_memory_mapping_close(mapping);
    *mapping = (struct ronde_memory_mapping){descriptor->start, whole, start};
    return true;
}

void ronde_memory_mapping_close(struct ronde_memory_mapping *mapping)
{
    if (mapping->start)
        (void)munmap(mapping->start, (size_t)mapping->bytes);
    *mapping = (struct ronde_memory_mapping){0};
}
