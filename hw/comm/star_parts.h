/**
 * What the parts of a star share: meeting (meet.c), news (star.c), gathering (gather.c), asking around (roll.c).
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
    RONDE_FRAME_BYE,                  /**< the sender leaves; no bytes */
    RONDE_FRAME_ROLL,                 /**< rank 0 asks what a rank is doing; no bytes */
    RONDE_FRAME_REPORT,               /**< the answer: struct ronde_report */
    RONDE_FRAME_LATE /**< the same, unasked: time is over; struct ronde_complaint */
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

/** A rank has waited too long. */
struct ronde_complaint {
    uint64_t limit_ns;
    struct ronde_report report;
};

/** Bytes that a rank has sent to be gathered. */
struct ronde_inbox {
    unsigned char *data;
    uint32_t bytes;
    bool is_full;
};

struct ronde_roll;

/** See star.h. */
struct ronde_star {
    const struct ronde_mem *mem;
    uint32_t rank;
    uint32_t ranks;
    uint64_t timeout_ns;
    struct pollfd *polls; /**< rank 0: one per rank, its own unused; others: polls[0] is rank 0. fd -1 = left */
    uint32_t poll_count;         /**< entries of polls; behind them is one for what is tended to */
    struct ronde_inbox *inboxes; /**< rank 0: one per rank; others: NULL */
    bool is_gathering;           /**< this rank is in a gathering */
    struct ronde_roll *roll;     /**< rank 0, while it asks around; else NULL */
    struct ronde_error failure;  /**< sticky */
    int is_aborted;              /**< atomic: an alarm was asked for */
    ronde_star_tend tend;        /**< kept going in waits, or NULL */
    void *tend_self;             /**< handed to it */
    ronde_star_account account;  /**< what this rank is doing, or NULL */
    void *account_self;          /**< handed to it */
};

/** The rank behind an entry of polls. */
static inline uint32_t ronde_star_rank_of(const struct ronde_star *star, uint32_t entry)
{
    return star->rank == 0 ? entry : 0;
}

/** The first failure stands, is repeated for ever, and is told to all but the entry it comes from. */
enum ronde_status ronde_star_settle(struct ronde_star *star, const struct ronde_error *why,
                                    uint32_t except, struct ronde_error *error);

/** Settles that the rank of an entry is lost. */
enum ronde_status ronde_star_lose(struct ronde_star *star, uint32_t entry,
                                  struct ronde_error *error);

/** Settles that the rank of an entry sends what nobody of this library would. */
enum ronde_status ronde_star_refuse(struct ronde_star *star, uint32_t entry,
                                    struct ronde_error *error);

/** Waits at most so long for anything, and looks at all that has come. */
enum ronde_status ronde_star_look(struct ronde_star *star, int wait_ms, struct ronde_error *error);

/** Reads what follows a head. OK, TIMEOUT or IO. */
enum ronde_status ronde_frame_read(int fd, void *data, size_t bytes);

/** Rank 0: keeps the bytes of a rank, whose head has been read, until all are gathered. */
enum ronde_status ronde_inbox_fill(struct ronde_star *star, uint32_t entry, uint32_t bytes,
                                   struct ronde_error *error);

/** Empties an inbox. */
void ronde_inbox_clear(const struct ronde_star *star, struct ronde_inbox *inbox);

/** Says to rank 0 what this rank is doing. */
void ronde_roll_answer(const struct ronde_star *star);

/** Rank 0: reads what a rank is doing, whose head has been read. A complaint leads to an answer for all: always fails. */
enum ronde_status ronde_roll_hear(struct ronde_star *star, uint32_t entry,
                                  const struct ronde_frame_head *head, struct ronde_error *error);

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
