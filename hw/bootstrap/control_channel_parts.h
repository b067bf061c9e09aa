/**
 * Internals of the control channel: frames, waiting for them, parts that have arrived early, and the failure of a
 * communicator (control_frame.c); opening, closing and allgather (control_channel.c); who stalls a run
 * (stall_diagnosis.c); connecting (rendezvous.c).
 */
#ifndef RONDE_HW_BOOTSTRAP_CONTROL_CHANNEL_PARTS_H
#define RONDE_HW_BOOTSTRAP_CONTROL_CHANNEL_PARTS_H

#include "hw/bootstrap/control_channel.h"

#include <poll.h>
#include <stdbool.h>

/** Kinds of frames. Unlikely numbers, so that another service's reply is not taken for one. */
enum ronde_frame_kind {
    RONDE_FRAME_CONNECTED = 0x72640001, /**< all ranks are connected; no bytes */
    RONDE_FRAME_ALARM,                  /**< the communicator has failed: struct ronde_alarm */
    RONDE_FRAME_ALLGATHER_PART,         /**< a rank's bytes, to rank 0 */
    RONDE_FRAME_ALLGATHER_RESULT,       /**< all ranks' bytes, from rank 0 */
    RONDE_FRAME_LEAVE,                  /**< orderly close by the sender; no bytes */
    RONDE_FRAME_STATUS_QUERY,           /**< rank 0 requests a report; no bytes */
    RONDE_FRAME_STATUS,                 /**< the reply: struct ronde_report */
    RONDE_FRAME_TIMED_OUT /**< unrequested: the sender has timed out; struct ronde_timeout_notice */
};

/** Header of a frame. */
struct ronde_frame_head {
    uint32_t kind;  /**< enum ronde_frame_kind */
    uint32_t bytes; /**< that follow */
};

/** A failure of the communicator. */
struct ronde_alarm {
    uint32_t status;                      /**< enum ronde_status */
    char text[RONDE_ERROR_MESSAGE_BYTES]; /**< zero-terminated */
};

/** Notice of a rank whose time limit has passed. */
struct ronde_timeout_notice {
    uint64_t limit_ns;
    struct ronde_report report;
};

/** More than any allgather of this library, less than a corrupt length would ask for. */
#define RONDE_MAX_ALLGATHER_BYTES (1u << 26)

/** Rank 0's buffer for one rank's part of an allgather. */
struct ronde_inbox {
    unsigned char *data;
    uint32_t bytes;
    bool is_full;
};

struct ronde_stall_diagnosis;

/** See control_channel.h. */
struct ronde_control_channel {
    const struct ronde_mem *mem;
    uint32_t rank;
    uint32_t ranks;
    uint64_t timeout_ns;
    struct pollfd *polls; /**< rank 0: one per rank, its own unused; others: polls[0] is rank 0. fd -1 = left */
    uint32_t poll_count; /**< entries of polls; one more behind them is the progress hook's */
    struct ronde_inbox *inboxes;         /**< rank 0: one per rank; others: NULL */
    bool is_gathering;                   /**< this rank is in an allgather */
    struct ronde_stall_diagnosis *stall; /**< rank 0, during a diagnosis; else NULL */
    struct ronde_error failure;          /**< sticky */
    int is_aborted;                      /**< atomic: an alarm was requested */
    uint64_t hurry_ns; /**< atomic: deadline of allgathers, of ronde_clock_ns; 0 = by timeout_ns */
    ronde_control_progress_hook progress_hook; /**< run before waits, or NULL */
    void *progress_hook_self;                  /**< its argument */
    ronde_control_describe describe;           /**< fills in this rank's report, or NULL */
    void *describe_self;                       /**< its argument */
};

/** The rank behind an entry of polls. */
static inline uint32_t ronde_control_rank_of(const struct ronde_control_channel *control,
                                             uint32_t entry)
{
    return control->rank == 0 ? entry : 0;
}

/** Records a failure; the first is sticky, and is broadcast to all but the entry it comes from. */
enum ronde_status ronde_control_settle(struct ronde_control_channel *control,
                                       const struct ronde_error *why, uint32_t except,
                                       struct ronde_error *error);

/** Records that the rank of an entry is lost. */
enum ronde_status ronde_control_lost(struct ronde_control_channel *control, uint32_t entry,
                                     struct ronde_error *error);

/** Records that the rank of an entry has sent something that is no frame of this library. */
enum ronde_status ronde_control_refuse(struct ronde_control_channel *control, uint32_t entry,
                                       struct ronde_error *error);

/** Waits at most wait_ms for any frame, and handles all that have arrived. */
enum ronde_status ronde_control_poll(struct ronde_control_channel *control, int wait_ms,
                                     struct ronde_error *error);

/** Reads a frame's payload. OK, TIMEOUT or IO. */
enum ronde_status ronde_frame_read(int fd, void *data, size_t bytes);

/** Empties an inbox. */
void ronde_inbox_clear(const struct ronde_control_channel *control, struct ronde_inbox *inbox);

/** Sends this rank's report to rank 0. */
void ronde_stall_report(const struct ronde_control_channel *control);

/** Rank 0: reads a report whose head has been read. A timeout notice starts a diagnosis, which always fails. */
enum ronde_status ronde_stall_receive(struct ronde_control_channel *control, uint32_t entry,
                                      const struct ronde_frame_head *head,
                                      struct ronde_error *error);

/** Sends a frame of few bytes. OK, TIMEOUT or IO. */
enum ronde_status ronde_frame_send(int fd, enum ronde_frame_kind kind, const void *data,
                                   uint32_t bytes, double deadline_ns);

/** Sends an alarm, as far as the socket takes it without blocking. */
void ronde_frame_alarm(int fd, const struct ronde_error *why);

/** Reads an alarm whose head has been read; always fails, with its status and text. */
enum ronde_status ronde_frame_read_alarm(int fd, uint32_t bytes, struct ronde_error *error);

/** Opens the connections of the channel. Errors: those of ronde_control_create. */
enum ronde_status
ronde_control_rendezvous(struct ronde_control_channel *control, const struct ronde_join *join,
                         const struct ronde_comm_options *options, struct ronde_error *error);

#endif
