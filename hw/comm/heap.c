/* Memory that other processes read and write in place. See heap.h. */
#include "hw/comm/heap.h"

#include "hw/comm/borrow.h"
#include "ronde/split.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Blocks of this length and more begin where the processor can map large pages. */
#define LARGE_BYTES ((uint64_t)1 << 21)

/* A heap of fewer addresses than these is not worth having. */
#define LEAST_BYTES ((uint64_t)1 << 25)

/* Since Linux 5.14; older headers lack it. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

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
 * and so on. Others map no more than is in use.
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

/* The file, as long as the machine's memory: no block can be longer. */
static bool open_heap(struct ronde_heap *heap)
{
    uint64_t bytes = ronde_round_up((uint64_t)sysconf(_SC_PHYS_PAGES) * page_bytes(), LARGE_BYTES);
    heap->descriptor = memfd_create("ronde-heap", MFD_CLOEXEC);
    if (heap->descriptor < 0)
        return false;
    heap->start =
        ftruncate(heap->descriptor, (off_t)bytes) == 0 ? map_most(heap->descriptor, &bytes) : NULL;
    if (!heap->start) {
        close(heap->descriptor);
        return false;
    }
    heap->bytes = bytes;
    heap->sign->start = (uint64_t)(uintptr_t)heap->start;
    heap->sign->process = (int32_t)getpid();
    heap->sign->descriptor = heap->descriptor;
    return true;
}

/* Finds the first gap that is long enough; the block before which it lies, or block_count. */
static bool find_gap(const struct ronde_heap *heap, uint64_t bytes, size_t *out_at,
                     uint64_t *out_first)
{
    const uint64_t alignment = bytes >= LARGE_BYTES ? LARGE_BYTES : page_bytes();
    uint64_t first = 0;
    for (size_t at = 0; at <= heap->block_count; at++) {
        const uint64_t end = at < heap->block_count ? heap->blocks[at].first : heap->bytes;
        if (first <= end && bytes <= end - first) {
            *out_at = at;
            *out_first = first;
            return true;
        }
        if (at < heap->block_count)
            first = ronde_round_up(heap->blocks[at].end, alignment);
    }
    return false;
}

/* Pages are taken now: to run out of memory is an answer here, and the end of the process when they are touched. */
static bool populate(const struct ronde_heap *heap, uint64_t first, uint64_t bytes)
{
    if (madvise(heap->start + first, (size_t)bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno == EINVAL && fallocate(heap->descriptor, 0, (off_t)first, (off_t)bytes) == 0)
        return true;
    (void)madvise(heap->start + first, (size_t)bytes, MADV_REMOVE);
    return false;
}

static void *take_block(struct ronde_heap *heap, uint64_t wanted)
{
    size_t at = 0;
    uint64_t first = 0;
    if (!heap->start && !open_heap(heap))
        return NULL;
    if (wanted > heap->bytes || heap->is_frozen)
        return NULL;
    const uint64_t bytes = ronde_round_up(wanted, page_bytes());
    if (!find_gap(heap, bytes, &at, &first) ||
        !ronde_mem_grow(heap->mem, (void **)&heap->blocks, &heap->block_capacity,
                        heap->block_count + 1, sizeof *heap->blocks) ||
        !populate(heap, first, bytes))
        return NULL;
    memmove(&heap->blocks[at + 1], &heap->blocks[at],
            (heap->block_count - at) * sizeof *heap->blocks);
    heap->blocks[at] = (struct ronde_heap_block){first, first + bytes};
    heap->block_count++;
    /* Whoever hears of a message that lies here sees how far the heap reaches. */
    if (first + bytes > heap->sign->bytes)
        __atomic_store_n(&heap->sign->bytes, first + bytes, __ATOMIC_RELEASE);
    return heap->start + first;
}

/* The block that contains an offset, or block_count. */
static size_t find_block(const struct ronde_heap *heap, uint64_t offset)
{
    size_t at = 0;
    while (at < heap->block_count && offset >= heap->blocks[at].end)
        at++;
    return at < heap->block_count && offset >= heap->blocks[at].first ? at : heap->block_count;
}

static void give_block(struct ronde_heap *heap, const void *block)
{
    const size_t at = find_block(heap, (uint64_t)((const unsigned char *)block - heap->start));
    if (at == heap->block_count || heap->is_frozen)
        return;
    const struct ronde_heap_block gone = heap->blocks[at];
    heap->block_count--;
    memmove(&heap->blocks[at], &heap->blocks[at + 1],
            (heap->block_count - at) * sizeof *heap->blocks);
    (void)madvise(heap->start + gone.first, (size_t)(gone.end - gone.first), MADV_REMOVE);
}

/* See ronde_resize. */
static void *heap_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct ronde_heap *heap = self;
    void *block = new_bytes > 0 ? take_block(heap, new_bytes) : NULL;
    if (new_bytes > 0 && !block)
        return NULL;
    if (old && block)
        memcpy(block, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    if (old)
        give_block(heap, old);
    return block;
}

void ronde_heap_init(struct ronde_heap *heap, struct ronde_sign *sign, const struct ronde_mem *mem)
{
    *heap = (struct ronde_heap){.mem = mem, .own = {heap_resize, heap}, .sign = sign};
}

void ronde_heap_freeze(struct ronde_heap *heap)
{
    heap->is_frozen = true;
}

bool ronde_heap_holds(const struct ronde_heap *heap, const void *start, uint64_t bytes)
{
    const uint64_t offset = (uint64_t)(uintptr_t)start - (uint64_t)(uintptr_t)heap->start;
    if (!heap->start || offset >= heap->bytes)
        return false;
    const size_t at = find_block(heap, offset);
    return at < heap->block_count && bytes <= heap->blocks[at].end - offset;
}

void ronde_heap_close(struct ronde_heap *heap)
{
    if (heap->start) {
        (void)munmap(heap->start, (size_t)heap->bytes);
        close(heap->descriptor);
    }
    ronde_mem_free(heap->mem, heap->blocks, heap->block_capacity, sizeof *heap->blocks);
    *heap = (struct ronde_heap){0};
}

bool ronde_window_open(struct ronde_window *window, const struct ronde_sign *sign)
{
    const uint64_t bytes = __atomic_load_n(&sign->bytes, __ATOMIC_ACQUIRE);
    if (bytes <= window->bytes) {
        errno = EFAULT;
        return false;
    }
    const int fd = ronde_borrow(sign->process, sign->descriptor, O_RDWR);
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
    ronde_window_close(window);
    *window = (struct ronde_window){sign->start, whole, start};
    return true;
}

void ronde_window_close(struct ronde_window *window)
{
    if (window->start)
        (void)munmap(window->start, (size_t)window->bytes);
    *window = (struct ronde_window){0};
}
