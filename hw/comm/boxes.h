/**
 * Where the connections of a program lie in the memory that the ranks of a host share.
 *
 * Every connection has a box, numbered by its receiver: rank after rank, channel after channel. So both its ends, and
 * whoever else has to, find it without asking.
 */
#ifndef RONDE_HW_COMM_BOXES_H
#define RONDE_HW_COMM_BOXES_H

#include "hw/comm/comm.h"

/** The boxes of a program. */
struct ronde_boxes {
    unsigned char *start; /**< NULL until there is memory */
    uint64_t *firsts;     /**< per rank and channel: the number of its first box */
    size_t view_count;    /**< entries of firsts */
    uint64_t count;       /**< of all ranks */
    uint64_t stride;      /**< bytes from one to the next */
};

/** Boxes of a schedule. */
uint64_t ronde_boxes_count(const struct ronde_schedule *schedule);

/** Bytes of a box: the connection's memory, and behind it its letters. */
uint64_t ronde_boxes_stride(const struct ronde_schedule *schedule, uint64_t slot_bytes,
                            uint32_t depth);

/** Numbers the boxes of a program. Errors: NO_MEMORY. */
enum ronde_status ronde_boxes_open(const struct ronde_comm_program *program,
                                   struct ronde_boxes *out_boxes, struct ronde_error *error);

/** Releases what open took, also after a failed open. */
void ronde_boxes_close(struct ronde_boxes *boxes, const struct ronde_mem *mem);

/** Gives the connections of a rank of this host that do not leave it their memory; `part` is that rank's part. */
void ronde_boxes_place(const struct ronde_boxes *boxes, const struct ronde_comm_program *program,
                       struct ronde_loaded *part);

/** Where the letters of a connection end that was placed begin: the data of the first. */
unsigned char *ronde_boxes_letters(const struct ronde_comm_program *program, uint64_t end);

#endif
