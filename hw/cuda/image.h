/**
 * An image: objects of the host's memory laid out for a device, in one block, with the pointers between them translated.
 *
 * Add everything first, settle the image on an address of the device, translate pointers in the copies, and send the
 * block. A pointer is translated by looking up the object at the host address it holds; objects that are not in the image
 * may be in the one it leans on.
 */
#ifndef RONDE_HW_CUDA_IMAGE_H
#define RONDE_HW_CUDA_IMAGE_H

#include "ronde/mem.h"

#include <stdbool.h>
#include <stdint.h>

/** One object. */
struct ronde_image_entry {
    const unsigned char *host; /**< where it is on the host */
    uint64_t bytes;            /**< its length */
    uint64_t at;    /**< place in the block, or an address of the device if it is mapped */
    bool is_mapped; /**< not copied: it is at another address of the device */
};

/** An image. Zero it before the first begin. */
struct ronde_image {
    const struct ronde_mem *mem;
    const struct ronde_image *leans_on; /**< where else to look up, or NULL */
    struct ronde_image_entry *entries;
    size_t count;
    size_t capacity;
    unsigned char *block; /**< the copies */
    size_t block_capacity;
    uint64_t bytes;        /**< of the block that are used */
    unsigned char *device; /**< address of the block on the device */
    bool is_out_of_memory;
};

/** Empties an image; its memory is kept for the next content. */
void ronde_image_begin(struct ronde_image *image, const struct ronde_mem *mem,
                       const struct ronde_image *leans_on);

/** Adds `count` elements; NULL or 0 of them add nothing. */
void ronde_image_add(struct ronde_image *image, const void *host, uint64_t count,
                     uint64_t element_bytes);

/** Adds an object of the host that is at another address of the device, without copying it. */
void ronde_image_map(struct ronde_image *image, const void *host, uint64_t bytes, void *device);

/** Ends adding: makes the copies. What overlaps on the host does so in the block. False when there is no memory. */
bool ronde_image_settle(struct ronde_image *image);

/** The copy of something that was added, or NULL. */
void *ronde_image_copy(const struct ronde_image *image, const void *host);

/** Address on the device of something in the image or one it leans on; anything else is an address already. */
void *ronde_image_address(const struct ronde_image *image, const void *host);

/** Frees. */
void ronde_image_fini(struct ronde_image *image);

#endif
