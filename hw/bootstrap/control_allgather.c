/*
 * Allgather over the control channel. See control_channel.h.
 *
 * Rank 0 reads a rank's part as soon as it arrives, in whatever call it is itself, and stores it until it gathers: an
 * alarm may be queued behind these bytes.
 */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <string.h>
#include <sys/socket.h>

/* A failure here is broadcast to all ranks. */
static enum ronde_status fail_all(struct ronde_control_channel *control,
                                  const struct ronde_error *why, struct ronde_error *error)
{
    return ronde_control_settle(control, why, control->poll_count, error);
}

/* Whether the awaited bytes have arrived: at rank 0 one rank's part, elsewhere the result. */
static bool has_arrived(const struct ronde_control_channel *control, uint32_t entry)
{
    struct ronde_frame_head head;
    if (control->rank == 0)
        return control->inboxes[entry].is_full;
    return recv(control->polls[entry].fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT) ==
               (ssize_t)sizeof head &&
           head.kind == RONDE_FRAME_ALLGATHER_RESULT;
}

/* Deadline of an allgather, which ronde_control_hurry may bring forward from another thread. */
static double end_of(const struct ronde_control_channel *control, double deadline_ns)
{
    const double hurry_ns = (double)__atomic_load_n(&control->hurry_ns, __ATOMIC_RELAXED);
    return hurry_ns > 0 && hurry_ns < deadline_ns ? hurry_ns : deadline_ns;
}

/* Waits for the bytes of one entry; an alarm from any entry ends the wait. */
static enum ronde_status await_entry(struct ronde_control_channel *control, uint32_t entry,
                                     double deadline_ns, struct ronde_error *error)
{
    const double begun_ns = deadline_ns - (double)control->timeout_ns;
    while (true) {
        if (control->polls[entry].fd < 0) {
            struct ronde_error why = {0};
            (void)ronde_fail(&why, RONDE_DEVICE, "rank %u has left the communicator",
                             ronde_control_rank_of(control, entry));
            return fail_all(control, &why, error);
        }
        if (has_arrived(control, entry))
            return ronde_control_known(control, error);
        const double end_ns = end_of(control, deadline_ns);
        const int left_ms = ronde_socket_left_ms(end_ns, 10);
        if (left_ms == 0)
            return ronde_control_timed_out(control,
                                           end_ns < deadline_ns ? end_ns - begun_ns
                                                                : (double)control->timeout_ns,
                                           error);
        const enum ronde_status status = ronde_control_poll(control, left_ms, error);
        if (status != RONDE_OK)
            return status;
    }
}

/* Compares another rank's part length with this rank's. */
static enum ronde_status check_bytes(struct ronde_control_channel *control, uint32_t entry,
                                     size_t bytes, size_t expected, struct ronde_error *error)
{
    struct ronde_error why = {0};
    if (bytes == expected)
        return RONDE_OK;
    (void)ronde_fail(&why, RONDE_REJECTED,
                     "rank %u and rank %u gather different things: %zu bytes and %zu",
                     ronde_control_rank_of(control, entry), control->rank, bytes, expected);
    return fail_all(control, &why, error);
}

/* Rank 0: receives all parts, sends the result to all. */
static enum ronde_status allgather_at_root(struct ronde_control_channel *control, const void *mine,
                                           size_t bytes, char *all, double deadline_ns,
                                           struct ronde_error *error)
{
    enum ronde_status status = ronde_control_known(control, error);
    if (bytes > 0)
        memcpy(all, mine, bytes);
    for (uint32_t rank = 1; rank < control->ranks && status == RONDE_OK; rank++) {
        struct ronde_inbox *inbox = &control->inboxes[rank];
        status = await_entry(control, rank, deadline_ns, error);
        if (status == RONDE_OK)
            status = check_bytes(control, rank, inbox->bytes, bytes, error);
        if (status == RONDE_OK && bytes > 0)
            memcpy(all + rank * bytes, inbox->data, bytes);
    }
    for (uint32_t rank = 1; rank < control->ranks && status == RONDE_OK; rank++) {
        ronde_inbox_clear(control, &control->inboxes[rank]);
        if (ronde_frame_send(control->polls[rank].fd, RONDE_FRAME_ALLGATHER_RESULT, all,
                             (uint32_t)(bytes * control->ranks), deadline_ns) != RONDE_OK)
            status = ronde_control_lost(control, rank, error);
    }
    return status;
}

/* Other ranks: send their part to rank 0, receive the result from it. */
static enum ronde_status allgather_at_leaf(struct ronde_control_channel *control, const void *mine,
                                           size_t bytes, void *out_all, double deadline_ns,
                                           struct ronde_error *error)
{
    struct ronde_frame_head head = {0, 0};
    enum ronde_status status = ronde_control_poll(control, 0, error);
    if (status != RONDE_OK)
        return status;
    const int fd = control->polls[0].fd;
    if (fd < 0 || ronde_frame_send(fd, RONDE_FRAME_ALLGATHER_PART, mine, (uint32_t)bytes,
                                   deadline_ns) != RONDE_OK)
        return ronde_control_lost(control, 0, error);
    status = await_entry(control, 0, deadline_ns, error);
    if (status != RONDE_OK)
        return status;
    if (ronde_frame_read(fd, &head, sizeof head) != RONDE_OK)
        return ronde_control_lost(control, 0, error);
    status = check_bytes(control, 0, head.bytes / control->ranks, bytes, error);
    if (status == RONDE_OK && ronde_frame_read(fd, out_all, bytes * control->ranks) != RONDE_OK)
        status = ronde_control_lost(control, 0, error);
    return status;
}

enum ronde_status ronde_control_allgather(struct ronde_control_channel *control, const void *mine,
                                          size_t bytes, void *out_all, struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + (double)control->timeout_ns;
    if (bytes > RONDE_MAX_ALLGATHER_BYTES / control->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%zu bytes of each of %u ranks are too many",
                          bytes, control->ranks);
    control->is_gathering = true;
    const enum ronde_status status =
        control->rank == 0 ? allgather_at_root(control, mine, bytes, out_all, deadline_ns, error)
                           : allgather_at_leaf(control, mine, bytes, out_all, deadline_ns, error);
    control->is_gathering = false;
    return status;
}
