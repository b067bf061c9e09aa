/* Images of host memory for a device. See image.h. */
#include "hw/cuda/image.h"

#include <stdlib.h>
#include <string.h>

/* A pair of cache lines; enough for all structs here. */
#define ALIGNMENT UINT64_C(128)

void ronde_image_begin(struct ronde_image *image, const struct ronde_mem *mem,
                       const struct ronde_image *leans_on)
{
    image->mem = mem;
    image->leans_on = leans_on;
    image->count = 0;
    image->bytes = 0;
    image->is_out_of_memory = false;
}

static void add_entry(struct ronde_image *image, struct ronde_image_entry entry)
{
    void *entries = image->entries;
    if (!ronde_mem_grow(image->mem, &entries, &image->capacity, image->count + 1,
                        sizeof *image->entries)) {
        image->is_out_of_memory = true;
        return;
    }
    image->entries = entries;
    image->entries[image->count++] = entry;
}

void ronde_image_add(struct ronde_image *image, const void *host, uint64_t count,
                     uint64_t element_bytes)
{
    if (host && count > 0)
        add_entry(image, (struct ronde_image_entry){host, count * element_bytes, 0, false});
}

void ronde_image_map(struct ronde_image *image, const void *host, uint64_t bytes, void *device)
{
    if (host && bytes > 0)
        add_entry(image, (struct ronde_image_entry){host, bytes, (uintptr_t)device, true});
}

/* By address; of those that begin together the longest first. */
static int compare_entries(const void *left, const void *right)
{
    const struct ronde_image_entry *a = left;
    const struct ronde_image_entry *b = right;
    if (a->host != b->host)
        return (uintptr_t)a->host < (uintptr_t)b->host ? -1 : 1;
    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

/* Joins entries that overlap, so that what shares memory on the host does so on the device. */
static void merge_entries(struct ronde_image *image)
{
    size_t kept = 0;
    for (size_t k = 0; k < image->count; k++) {
        const struct ronde_image_entry next = image->entries[k];
        struct ronde_image_entry *last = kept > 0 ? &image->entries[kept - 1] : NULL;
        const uint64_t gap = last ? (uintptr_t)next.host - (uintptr_t)last->host : 0;
        if (!last || gap >= last->bytes)
            image->entries[kept++] = next;
        else if (gap + next.bytes > last->bytes)
            last->bytes = gap + next.bytes;
    }
    image->count = kept;
}

/* Entries keep their offset within a line, so that what is aligned alike on the host is so on the device. */
static void place_entries(struct ronde_image *image)
{
    image->bytes = 0;
    for (size_t k = 0; k < image->count; k++) {
        struct ronde_image_entry *entry = &image->entries[k];
        if (entry->is_mapped)
            continue;
        entry->at = (image->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT +
                    (uintptr_t)entry->host % ALIGNMENT;
        image->bytes = entry->at + entry->bytes;
    }
}

bool ronde_image_settle(struct ronde_image *image)
{
    if (image->count > 0)
        qsort(image->entries, image->count, sizeof *image->entries, compare_entries);
    merge_entries(image);
    place_entries(image);
    void *block = image->block;
    if (image->is_out_of_memory ||
        !ronde_mem_grow(image->mem, &block, &image->block_capacity, image->bytes, 1))
        return false;
    image->block = block;
    for (size_t k = 0; k < image->count; k++) {
        const struct ronde_image_entry *entry = &image->entries[k];
        if (!entry->is_mapped)
            memcpy(image->block + entry->at, entry->host, entry->bytes);
    }
    return true;
}

/* The entry that contains an address of the host, or NULL. */
static const struct ronde_image_entry *find(const struct ronde_image *image,
                                            const unsigned char *host)
{
    size_t low = 0;
    size_t high = image->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)image->entries[middle].host <= (uintptr_t)host)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ronde_image_entry *entry = low > 0 ? &image->entries[low - 1] : NULL;
    return entry && (uintptr_t)host - (uintptr_t)entry->host < entry->bytes ? entry : NULL;
}

void *ronde_image_copy(const struct ronde_image *image, const void *host)
{
    const struct ronde_image_entry *entry = find(image, host);
    if (!entry || entry->is_mapped)
        return NULL;
    return image->block + entry->at + ((const unsigned char *)host - entry->host);
}

void *ronde_image_address(const struct ronde_image *image, const void *host)
{
    for (const struct ronde_image *in = image; in; in = in->leans_on) {
        const struct ronde_image_entry *entry = find(in, host);
        if (!entry)
            continue;
        const uint64_t skip = (uint64_t)((const unsigned char *)host - entry->host);
        return entry->is_mapped ? (void *)((uintptr_t)entry->at + skip)
                                : in->device + entry->at + skip;
    }
    return (void *)(uintptr_t)host;
}

void ronde_image_fini(struct ronde_image *image)
{
    ronde_mem_free(image->mem, image->entries, image->capacity, sizeof *image->entries);
    ronde_mem_free(image->mem, image->block, image->block_capacity, 1);
}
