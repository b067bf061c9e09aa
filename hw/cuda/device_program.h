/**
 * A program as the device reads it: its image, made flat, where its links and staging lie.
 */
#ifndef RONDE_HW_CUDA_DEVICE_PROGRAM_H
#define RONDE_HW_CUDA_DEVICE_PROGRAM_H

#include "engine/execute/loaded.h"
#include "hw/cuda/gpu.h"
#include "hw/cuda/job.h"
#include "hw/cuda/rank_map.h"
#include "hw/cuda/registered.h"

#include "ronde/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* An image: objects of the host's memory laid out for a device, in one block, with the pointers between them
 * translated. Add everything first, settle the image on an address of the device, translate pointers in the copies,
 * and send the block. A pointer is translated by looking up the object at the host address it holds; objects that
 * are not in the image may be in the one it leans on. */

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

/** Ends adding: makes the copies. What overlaps on the host does so in the block. False when there is no memory. */
bool ronde_image_settle(struct ronde_image *image);

/** The copy of something that was added, or NULL. */
void *ronde_image_copy(const struct ronde_image *image, const void *host);

/** Address on the device of something in the image or one it leans on; anything else is an address already. */
void *ronde_image_address(const struct ronde_image *image, const void *host);

/** Frees. */
void ronde_image_fini(struct ronde_image *image);

/* A loaded part of a schedule for a device: two images, one that never changes and one per launch. The ends of
 * connections point into the device's memory already. */

/**
 * Begins the image of what does not depend on a launch: schedule, programs, orders. The lanes' counters, which live as
 * long as the program, are at `progress` on the device. False when there is no memory.
 */
bool ronde_flatten_program(const struct ronde_loaded *loaded, const struct ronde_mem *mem,
                           void *progress, struct ronde_image *image);

/** Translates its pointers, once image->device is known. */
void ronde_flatten_program_pointers(const struct ronde_loaded *loaded, struct ronde_image *image);

/** What a launch consists of on the host besides the loaded schedule. */
struct ronde_flat_launch {
    struct ronde_job
        job; /**< pointers of the host; block_count, timeout_ns, abort and stop are set by the caller */
    struct ronde_lane_slot *lane_slots; /**< one per lane, filled by flatten */
    uint32_t *sorted;                   /**< room for lists of chunks, two per lane */
    uint64_t sorted_per_list;           /**< entries of a list; 0 = no lists */
};

/** Begins the image of a run that ronde_loaded_prepare has set up. False when there is no memory. */
bool ronde_flatten_launch(const struct ronde_loaded *loaded, const struct ronde_mem *mem,
                          const struct ronde_image *program, struct ronde_flat_launch *launch,
                          struct ronde_image *image);

/** Translates its pointers, once image->device is known. */
void ronde_flatten_launch_pointers(const struct ronde_loaded *loaded,
                                   const struct ronde_flat_launch *launch,
                                   struct ronde_image *image);

/* Where connections have their memory when their ranks are on several devices. What is polled lies on the device
 * that polls it: slots, lengths and the count of posted messages on the receiver's, the count of freed slots on the
 * sender's. So polling never crosses a link, and a message is written across it once. All processes number
 * connections alike, receiver after receiver, so that each computes its addresses in another's memory. */

/** The numbers of a schedule's connections. Zero it before the first init. */
struct ronde_numbering {
    const struct ronde_schedule *schedule;
    struct ronde_arena *arena; /**< of what follows */
    uint64_t *firsts; /**< per rank and channel, and one more: connections received before there */
    uint64_t *programs; /**< per program: where its entries in `places` begin; and one more */
    uint32_t *places;   /**< per connection of a program: receiving ends of it before this one */
};

/** Numbers the connections of a schedule, which must outlive it. The caller calls fini also on failure. NO_MEMORY. */
enum ronde_status ronde_numbering_init(struct ronde_numbering *numbering,
                                       const struct ronde_schedule *schedule,
                                       const struct ronde_mem *mem, struct ronde_error *error);

/** Frees. */
void ronde_numbering_fini(struct ronde_numbering *numbering);

/** Number of the first connection that a rank receives; rank = ranks gives how many there are. */
uint64_t ronde_numbering_first(const struct ronde_numbering *numbering, uint32_t rank);

/** The memory for connections on one device, at addresses of this process. */
struct ronde_remote_fifos {
    unsigned char *counters; /**< a struct ronde_fifo for every connection of the schedule, by number; those
                                without an end here stay unused */
    unsigned char *slots; /**< regions of lengths and slots, for the connections received here */
    unsigned char *lines; /**< regions of slots made of lines, for the same */
    uint64_t first;       /**< number of the first of these */
};

/** Bytes of a connection's region with a frame: lengths and slots, or lines. */
uint64_t ronde_shm_region_length(const struct ronde_frame *frame);

/** Where a part's connections lie, all tables by global device number (rank_map.h). */
struct ronde_device_links {
    const struct ronde_rank_map *rank_map;
    const struct ronde_remote_fifos *
        fifos; /**< at addresses of the part's device; connections with one that has no memory are not placed */
    const struct ronde_remote_fifos
        *stagings; /**< of this process's devices, NULL where nothing is host-staged: memory of
                                          the host for connections between devices without peer access */
    const bool *is_host_staged; /**< of this process's devices: those without peer access to the part's */
};

/** Sets the addresses of a part's ends, with the frame of the run that was prepared. */
void ronde_links_place(struct ronde_loaded *loaded, const struct ronde_numbering *numbering,
                       const struct ronde_device_links *links);

/* Buffers of the caller's that the device cannot access: they get a shadow in its memory for the run. What overlaps
 * or is aligned alike on the host is so in the shadow, so that in-place launches stay in place. */

/** The shadows of a program's launches on one device. Zero it, then set the ranks and init. */
struct ronde_staging {
    const struct ronde_schedule *schedule;
    const struct ronde_mem *mem;
    const struct ronde_gpu *gpu;
    uint32_t first_rank;      /**< whose buffers the device needs: these */
    uint32_t rank_count;      /**< and no others, though tables below have room for all */
    struct ronde_image image; /**< of the caller's buffers */
    void *block;              /**< on the device */
    uint64_t block_bytes;     /**< of it */
    void **buffers; /**< per rank: inputs on the device, outputs there, outputs of the caller's */
    struct ronde_blocks *blocks[2]; /**< per rank: the same tables with pointers on the device */
    void **pointers;                /**< of those tables */
    uint64_t pointer_count;         /**< entries there are */
};

/** Takes the memory that depends on the schedule only. Errors: NO_MEMORY. */
enum ronde_status ronde_staging_init(struct ronde_staging *staging,
                                     const struct ronde_schedule *schedule,
                                     const struct ronde_mem *mem, const struct ronde_gpu *gpu,
                                     struct ronde_error *error);

/**
 * Turns a launch into one whose pointers the device can use, and copies inputs into the shadows. *out_launch is valid
 * until the next call. Errors: NO_MEMORY, DEVICE.
 */
enum ronde_status ronde_staging_enter(struct ronde_staging *staging,
                                      const struct ronde_launch *launch, void *queue,
                                      struct ronde_launch *out_launch, struct ronde_error *error);

/** Copies the outputs of the launch back to the caller. Errors: DEVICE. */
enum ronde_status ronde_staging_leave(struct ronde_staging *staging,
                                      const struct ronde_launch *launch, void *queue,
                                      struct ronde_error *error);

/** Frees. */
void ronde_staging_fini(struct ronde_staging *staging);

/** Memory of the device that only grows. */
struct ronde_device_block {
    void *start;    /**< NULL while there is none */
    uint64_t bytes; /**< of it */
};

/** A program's part on a device. Zero it, then init. */
struct ronde_device_program {
    const struct ronde_gpu *gpu;
    const struct ronde_mem *mem;
    struct ronde_loaded *loaded;
    void *queue;
    uint64_t connections;  /**< of the whole schedule */
    uint64_t first_number; /**< of the first of those received here, */
    uint64_t received;     /**< and how many */
    bool is_incoming; /**< counters, slots and lines are parts of a block that peers.h owns and shares */
    struct ronde_device_block counters; /**< a struct ronde_fifo per connection of the schedule */
    struct ronde_device_block progress; /**< a counter per lane */
    struct ronde_device_block slots;    /**< regions of the connections received here */
    struct ronde_device_block lines;    /**< likewise, of lines */
    struct ronde_image program_image;
    struct ronde_device_block program_block;
    struct ronde_image launch_image;
    struct ronde_device_block launch_block;
    struct ronde_flat_launch flat;
    struct ronde_given given; /**< with the next run */
    const struct ronde_registration
        *registered[2]; /**< what others read of input and output in that run, or NULL */
    struct ronde_staging staging;
    const void *lines_start; /**< geometry of the lines that were last cleared */
    uint64_t lines_stride;
    uint32_t lines_depth;
};

/** Loads ranks on a device. The caller calls fini also on failure. Errors: NO_MEMORY, UNSUPPORTED, DEVICE. */
enum ronde_status ronde_device_program_init(struct ronde_device_program *part,
                                            const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                            const struct ronde_numbering *numbering,
                                            struct ronde_staging ranks, struct ronde_error *error);

/** Frees. */
void ronde_device_program_fini(struct ronde_device_program *part);

/** Sets counters back to the start: no message sent, no step made. Errors: DEVICE. */
enum ronde_status ronde_device_program_clear_counters(struct ronde_device_program *part,
                                                      struct ronde_error *error);

/** Makes room for the connections received here under a frame. Errors: NO_MEMORY. */
enum ronde_status ronde_device_program_reserve(struct ronde_device_program *part,
                                               const struct ronde_frame *frame,
                                               struct ronde_error *error);

/** Moves the memory of connections, before the first run, to a shared block of `block_bytes` bytes. Errors: DEVICE. */
enum ronde_status ronde_device_program_move(struct ronde_device_program *part,
                                            const struct ronde_remote_fifos *to,
                                            uint64_t block_bytes, struct ronde_error *error);

/** Addresses of the memory of the part's connections. */
struct ronde_remote_fifos ronde_device_program_fifos(const struct ronde_device_program *part);

/**
 * Sends a run that was prepared, its connections placed, to the device. `words`: abort and stop of all parts.
 * Errors: NO_MEMORY, DEVICE, UNSUPPORTED.
 */
enum ronde_status ronde_device_program_send(struct ronde_device_program *part, uint32_t *words,
                                            uint64_t timeout_ns, struct ronde_error *error);

/** Gives the runs from now on the buffers, factor and limit of a launch; the device has one rank, and it no tables. */
void ronde_device_program_give(struct ronde_device_program *part, const struct ronde_launch *launch);

/**
 * Finds out what other processes read in place in the runs from now on, whose launch has addresses of the device, and can be
 * used by its neighbours in this process.
 */
void ronde_device_program_offer(struct ronde_device_program *part,
                                const struct ronde_registry *registry,
                                const struct ronde_launch *launch);

/** Starts the kernel in *stream, of the caller's, or without `stream` in the part's own queue. Errors: DEVICE, UNSUPPORTED. */
enum ronde_status ronde_device_program_start(struct ronde_device_program *part, void *const *stream,
                                             struct ronde_error *error);

/** After a run that ended early: reads back how far each lane got. Errors: DEVICE. */
enum ronde_status ronde_device_program_read_lanes(struct ronde_device_program *part,
                                                  struct ronde_error *error);

#endif
