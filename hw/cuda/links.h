/**
 * Where connections have their memory when their ranks are on several devices.
 *
 * What is polled lies with whoever polls it: slots, lengths and the count of posted messages on the receiver's device,
 * the count of freed slots on the sender's. So waiting never crosses a link, and a message is pushed once. All holders of
 * memory number connections alike, receiver after receiver, so that each finds its place in the memory of another.
 */
#ifndef RONDE_HW_CUDA_LINKS_H
#define RONDE_HW_CUDA_LINKS_H

#include "engine/loaded.h"
#include "hw/cuda/roster.h"

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

/** The memory for connections on one device, at addresses of the process that looks at it. */
struct ronde_depot {
    unsigned char *counters; /**< a struct ronde_fifo for every connection of the schedule, by number; those of which
                                it has no end stay unused */
    unsigned char *slots; /**< boxes of lengths and slots, for the connections received here */
    unsigned char *lines; /**< boxes of slots made of lines, for the same */
    uint64_t first;       /**< number of the first of these */
};

/** Bytes of a connection's box under a frame: lengths and slots, or lines. */
uint64_t ronde_box_length(const struct ronde_frame *frame);

/** Where a part's connections lie, all tables by site (roster.h). */
struct ronde_links {
    const struct ronde_roster *roster;
    const struct ronde_depot
        *depots; /**< as the part reaches them; what leads to one without memory is left alone */
    const struct ronde_depot
        *bridges; /**< of this process's sites, where it has any bridge, else NULL: memory of the
                                          host for what comes from devices that do not reach this one */
    const bool *is_bridged; /**< of this process's sites: those the part's device does not exchange memory with */
};

/** Gives the ends of a part their memory, as the frame of the run that was prepared has it. */
void ronde_links_place(struct ronde_loaded *loaded, const struct ronde_numbering *numbering,
                       const struct ronde_links *links);

#endif
