/**
 * Where connections have their memory when their ranks are on several devices.
 *
 * What is polled lies on the device that polls it: slots, lengths and the count of posted messages on the receiver's, the
 * count of freed slots on the sender's. So polling never crosses a link, and a message is written across it once. All
 * processes number connections alike, receiver after receiver, so that each computes its addresses in another's memory.
 */
#ifndef RONDE_HW_CUDA_LINKS_H
#define RONDE_HW_CUDA_LINKS_H

#include "engine/execute/loaded.h"
#include "hw/cuda/rank_map.h"

/** The numbers of a schedule's connections. Zero it before the first init. */
struct ronde_numbering {
    const struct ronde_schedule *schedule;
    const struct ronde_mem *mem;
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

#endif
