/**
 * Where the connections of a program lie in the memory that the ranks of a host share.
 *
 * Every connection has a region, numbered by its receiver: rank after rank, channel after channel. So every rank of the
 * host can compute where it is, without a message.
 */
#ifndef RONDE_HW_SHM_LAYOUT_H
#define RONDE_HW_SHM_LAYOUT_H

#include "hw/comm/comm.h"

/** The regions of a program. */
struct ronde_shm_layout {
    unsigned char *start; /**< NULL until there is memory */
    uint64_t *firsts;     /**< per rank and channel: the number of its first region */
    size_t view_count;    /**< entries of firsts */
    uint64_t count;       /**< of all ranks */
    uint64_t stride;      /**< bytes from one to the next */
};

/** Regions of a schedule. */
uint64_t ronde_shm_layout_count(const struct ronde_schedule *schedule);

/** Bytes of a region: the connection's memory, and behind it its eager slots. */
uint64_t ronde_shm_layout_stride(const struct ronde_schedule *schedule, uint64_t slot_bytes,
                                 uint32_t depth);

/** Numbers the regions of a program. Errors: NO_MEMORY. */
enum ronde_status ronde_shm_layout_open(const struct ronde_comm_program *program,
                                        struct ronde_shm_layout *out_layout,
                                        struct ronde_error *error);

/** Releases what open took, also after a failed open. */
void ronde_shm_layout_close(struct ronde_shm_layout *layout, const struct ronde_mem *mem);

/** Gives the connections of a rank of this host that do not leave it their memory; `part` is that rank's part. */
void ronde_shm_layout_place(const struct ronde_shm_layout *layout,
                            const struct ronde_comm_program *program, struct ronde_loaded *part);

/** Where the eager slots of a placed connection end begin: the data of the first. */
unsigned char *ronde_shm_layout_eager(const struct ronde_comm_program *program, uint64_t end);

#endif
