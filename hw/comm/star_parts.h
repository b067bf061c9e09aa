/**
 * What the two halves of a star share: meeting (meet.c) and what follows (star.c).
 */
#ifndef RONDE_HW_COMM_STAR_PARTS_H
#define RONDE_HW_COMM_STAR_PARTS_H

#include "hw/comm/star.h"

#include <poll.h>
#include <stdbool.h>

/** Kinds of frames. Unlikely numbers, so that another service's answer is not taken for one. */
enum ronde_frame_kind {
    RONDE_FRAME_WELCOME = 0x72640001, /**< everybody is here; no bytes */
    RONDE_FRAME_ALARM,                /**< it is over: struct ronde_alarm */
    RONDE_FRAME_GATHER,               /**< a rank's bytes, to rank 0 */
    RONDE_FRAME_GATHERED,             /**< all ranks' bytes, from rank 0 */
    RONDE_FRAME_BYE                   /**< the sender leaves; no bytes */
};

/** What stands before the bytes of a frame. */
struct ronde_frame_head {
    uint32_t kind;  /**< enum ronde_frame_kind */
    uint32_t bytes; /**< that follow */
};

/** Bad news. */
struct ronde_alarm {
    uint32_t status;                      /**< enum ronde_status */
    char text[RONDE_ERROR_MESSAGE_BYTES]; /**< zero-terminated */
};

/** See star.h. */
struct ronde_star {
    const struct ronde_mem *mem;
    uint32_t rank;
    uint32_t ranks;
    uint64_t timeout_ns;
    struct pollfd *polls; /**< rank 0: one per rank, its own unused; others: polls[0] is rank 0. fd -1 = left */
    uint32_t poll_count;        /**< entries of polls */
    struct ronde_error failure; /**< sticky */
    int is_aborted;             /**< atomic: an alarm was asked for */
    ronde_star_tend tend;       /**< kept going in waits, or NULL */
    void *tend_self;            /**< handed to it */
};

/** Sends a frame of few bytes. OK, TIMEOUT or IO. */
enum ronde_status ronde_frame_send(int fd, enum ronde_frame_kind kind, const void *data,
                                   uint32_t bytes, double deadline_ns);

/** Sends bad news as far as the connection takes them at once. */
void ronde_frame_alarm(int fd, const struct ronde_error *why);

/** Reads the alarm whose head has been read; always fails, with what it says. */
enum ronde_status ronde_frame_read_alarm(int fd, uint32_t bytes, struct ronde_error *error);

/** Opens the connections of a star. Errors: those of ronde_star_create. */
enum ronde_status ronde_star_meet(struct ronde_star *star, const struct ronde_join *join,
                                  const struct ronde_comm_options *options,
                                  struct ronde_error *error);

#endif
