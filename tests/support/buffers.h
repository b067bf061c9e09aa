/**
 * Memory of all ranks for a run, and what it must look like afterwards.
 *
 * A rank's memory is one image: sentinel, input, sentinel, output, sentinel; in place the two share. Inputs are filled,
 * everything else is poisoned, and addresses are aligned to the element type and no more. A run is right when the whole
 * image equals the expected one: outputs as defined, and not one other byte changed.
 */
#ifndef RONDE_TESTS_BUFFERS_H
#define RONDE_TESTS_BUFFERS_H

#include "ronde/backend.h"

#include "support/reference.h"

/** What inputs are filled with. */
enum buffers_data {
    BUFFERS_SMALL, /**< small integers: every order of reduction gives the same, so the reference is exact */
    BUFFERS_BITS /**< all mantissa bits and some odd values: the order of reduction shows */
};

/** How the blocks of a buffer lie. All but the first are described by tables; blocks then stand in descending order. */
enum buffers_blocks {
    BUFFERS_ADJACENT,        /**< of one length, one after another */
    BUFFERS_SEPARATE,        /**< of one length, each by its own pointer */
    BUFFERS_UNEVEN,          /**< of any lengths, gaps between them */
    BUFFERS_UNEVEN_SEPARATE, /**< both */
    BUFFERS_BLOCKS_COUNT     /**< number of kinds */
};

/** What memory is for. */
struct buffers_shape {
    enum ronde_collective collective; /**< determines the number of blocks */
    uint32_t ranks;                   /**< how many */
    uint32_t root;                    /**< rank */
    uint64_t count;                   /**< elements of a block, or the most of any */
    enum ronde_dtype dtype;           /**< element type */
    enum ronde_op op;                 /**< operator */
    bool in_place;                    /**< NCCL's meaning */
    enum buffers_blocks blocks;       /**< how they lie */
    enum buffers_data data;           /**< of the inputs */
    uint64_t seed;                    /**< of the inputs */
};

/** One generation of memory. */
struct buffers {
    struct buffers_shape shape; /**< what it is for */
    size_t rank_bytes;          /**< of one rank's image */
    size_t in_offset; /**< of the input's first block in the image; in place it depends on the rank */
    size_t out_offset;              /**< of the output's, likewise */
    size_t bytes;                   /**< of all images */
    const struct ronde_mem *mem;    /**< where the images come from */
    unsigned char *images;          /**< rank after rank */
    void **in;                      /**< what a launch gets; NULL where a rank has no input */
    void **out;                     /**< what a launch gets; NULL where a rank has no output */
    void *factors;                  /**< what premul_sum multiplies by, an element per rank */
    struct ronde_blocks *tables[2]; /**< of in and out, per rank; NULL where blocks are adjacent */
    struct ronde_blocks
        *given[2]; /**< the same, but only what the kind of table consists of: what a launch gets */
    uint64_t *counts;  /**< of all tables */
    uint64_t *offsets; /**< of all tables */
    void **pointers;   /**< of all tables */
};

/** The part of a launch that describes where data is. */
struct ronde_launch buffers_launch(const struct buffers *buffers);

/** Whether blocks of a shape differ in length. */
bool buffers_vary(const struct buffers_shape *shape);

/** Bytes the images of a shape take. */
size_t buffers_bytes(const struct buffers_shape *shape);

/** Allocates and fills; false when there is no memory. */
bool buffers_create(const struct buffers_shape *shape, struct buffers *out_buffers);

/** The same with images from an allocator, which must outlive them. */
bool buffers_create_from(const struct buffers_shape *shape, const struct ronde_mem *mem,
                         struct buffers *out_buffers);

/** Sets all images to what `create` made of the same shape. */
void buffers_fill(struct buffers *buffers);

/** Turns freshly filled images into what must come out, by the reference; SMALL data only. */
bool buffers_expect(struct buffers *buffers);

/**
 * First difference between two generations of one shape, described in `text`; false when they are equal. NaNs are equal
 * whatever their payload.
 */
bool buffers_differ(const struct buffers *actual, const struct buffers *expected, char *text,
                    size_t text_bytes);

/** Frees. */
void buffers_destroy(struct buffers *buffers);

/** A small generator (splitmix64) for tests: the next number of a sequence. */
uint64_t buffers_draw(uint64_t *state);

#endif
