/* Frames of the control channel: a head of kind and length, and what follows it. */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"

#include "ronde/hw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Once a frame's head has arrived the rest follows, at this rate or faster. */
#define REST_NS 2e9
#define REST_NS_PER_BYTE 1000.0

enum ronde_status ronde_frame_read(int fd, void *data, size_t bytes)
{
    return ronde_socket_receive(fd, data, bytes,
                                ronde_clock_ns() + REST_NS + (double)bytes * REST_NS_PER_BYTE);
}

enum ronde_status ronde_frame_send(int fd, enum ronde_frame_kind kind, const void *data,
                                   uint32_t bytes, double deadline_ns)
{
    const struct ronde_frame_head head = {(uint32_t)kind, bytes};
    RONDE_TRY(ronde_socket_send(fd, &head, sizeof head, deadline_ns));
    if (bytes > 0)
        RONDE_TRY(ronde_socket_send(fd, data, bytes, deadline_ns));
    return RONDE_OK;
}

void ronde_frame_alarm(int fd, const struct ronde_error *why)
{
    struct {
        struct ronde_frame_head head;
        struct ronde_alarm alarm;
    } frame;
    memset(&frame, 0, sizeof frame);
    frame.head = (struct ronde_frame_head){RONDE_FRAME_ALARM, sizeof frame.alarm};
    frame.alarm.status = why->status;
    snprintf(frame.alarm.text, sizeof frame.alarm.text, "%s", why->message);
    (void)send(fd, &frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT);
}

enum ronde_status ronde_frame_read_alarm(int fd, uint32_t bytes, struct ronde_error *error)
{
    struct ronde_alarm alarm;
    if (bytes != sizeof alarm || ronde_frame_read(fd, &alarm, sizeof alarm) != RONDE_OK ||
        alarm.status == RONDE_OK || alarm.status > RONDE_CANCELLED)
        return ronde_fail(error, RONDE_IO, "an alarm has come that is no message of ronde");
    alarm.text[sizeof alarm.text - 1] = '\0';
    return ronde_fail(error, (enum ronde_status)alarm.status, "%s", alarm.text);
}

/* What rank 0 stores of other ranks' parts until it gathers. */

void ronde_inbox_clear(const struct ronde_control_channel *control, struct ronde_inbox *inbox)
{
    ronde_mem_free(control->mem, inbox->data, inbox->bytes, 1);
    *inbox = (struct ronde_inbox){0};
}

/* Rank 0: stores a rank's part, whose head has been read, until its allgather. */
static enum ronde_status fill_inbox(struct ronde_control_channel *control, uint32_t entry,
                                    uint32_t bytes, struct ronde_error *error)
{
    struct ronde_inbox *inbox = control->inboxes ? &control->inboxes[entry] : NULL;
    struct ronde_error why = {0};
    if (!inbox || inbox->is_full || bytes > RONDE_MAX_ALLGATHER_BYTES / control->ranks)
        return ronde_control_refuse(control, entry, error);
    inbox->data = ronde_mem_new(control->mem, bytes, 1);
    if (!inbox->data) {
        (void)ronde_fail(&why, RONDE_NO_MEMORY, "no memory for %u bytes of rank %u", bytes, entry);
        return ronde_control_settle(control, &why, control->poll_count, error);
    }
    inbox->bytes = bytes;
    inbox->is_full = true;
    return ronde_frame_read(control->polls[entry].fd, inbox->data, bytes) == RONDE_OK
               ? RONDE_OK
               : ronde_control_lost(control, entry, error);
}

/* Waiting on the control channel, and what is done with each kind of frame. */

/* A LEAVE frame. A rank whose part of an allgather is pending will not get the result: it counts as lost. */
static enum ronde_status handle_leave(struct ronde_control_channel *control, uint32_t entry,
                                      struct ronde_error *error)
{
    if (control->inboxes && control->inboxes[entry].is_full)
        return ronde_control_lost(control, entry, error);
    close(control->polls[entry].fd);
    control->polls[entry].fd = -1;
    return RONDE_OK;
}

/* Handles a frame whose head has been read. */
static enum ronde_status handle_frame(struct ronde_control_channel *control, uint32_t entry,
                                      const struct ronde_frame_head *head, struct ronde_error *error)
{
    struct ronde_error why = {0};
    switch ((enum ronde_frame_kind)head->kind) {
    case RONDE_FRAME_ALARM:
        (void)ronde_frame_read_alarm(control->polls[entry].fd, head->bytes, &why);
        return ronde_control_settle(control, &why, entry, error);
    case RONDE_FRAME_ALLGATHER_PART:
        return fill_inbox(control, entry, head->bytes, error);
    case RONDE_FRAME_LEAVE:
        return handle_leave(control, entry, error);
    case RONDE_FRAME_STATUS_QUERY:
        ronde_stall_report(control);
        return RONDE_OK;
    case RONDE_FRAME_STATUS:
    case RONDE_FRAME_TIMED_OUT:
        return ronde_stall_receive(control, entry, head, error);
    case RONDE_FRAME_CONNECTED:
    case RONDE_FRAME_ALLGATHER_RESULT:
        break;
    }
    return ronde_control_refuse(control, entry, error);
}

/* Half a head: the rest may follow, unless the sender has closed its end: what it had sent is here then. */
static enum ronde_status await_head(struct ronde_control_channel *control, uint32_t entry,
                                    struct ronde_error *error)
{
    const bool is_closed =
        (control->polls[entry].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
    return is_closed ? ronde_control_lost(control, entry, error) : RONDE_OK;
}

/* An entry has become readable. */
static enum ronde_status read_entry(struct ronde_control_channel *control, uint32_t entry,
                                    struct ronde_error *error)
{
    struct ronde_frame_head head;
    const int fd = control->polls[entry].fd;
    const ssize_t moved = recv(fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return RONDE_OK;
    if (moved <= 0)
        return ronde_control_lost(control, entry, error);
    if ((size_t)moved < sizeof head)
        return await_head(control, entry, error);
    /* An allgather result is left to the call that waits for it; no frame follows it until that call ends. */
    if (control->rank != 0 && head.kind == RONDE_FRAME_ALLGATHER_RESULT)
        return RONDE_OK;
    (void)recv(fd, &head, sizeof head, 0);
    return handle_frame(control, entry, &head, error);
}

enum ronde_status ronde_control_poll(struct ronde_control_channel *control, int wait_ms,
                                     struct ronde_error *error)
{
    struct pollfd *hook = &control->polls[control->poll_count];
    const bool waits = wait_ms > 0;
    enum ronde_status status = ronde_control_known(control, error);
    hook->fd = wait_ms > 0 && control->progress_hook
                   ? control->progress_hook(control->progress_hook_self)
                   : -1;
    if (wait_ms > 0 && control->progress_hook && hook->fd < 0 && hook->fd != RONDE_CONTROL_LATER)
        wait_ms = hook->fd == RONDE_CONTROL_SOON ? 1 : 0;
    if (waits)
        wait_ms = ronde_socket_wait_ms(wait_ms);
    if (status != RONDE_OK || poll(control->polls, control->poll_count + 1, wait_ms) <= 0)
        return status;
    for (uint32_t p = 0; p < control->poll_count && status == RONDE_OK; p++)
        if (control->polls[p].fd >= 0 && control->polls[p].revents != 0)
            status = read_entry(control, p, error);
    return status;
}

enum ronde_status ronde_control_check(struct ronde_control_channel *control,
                                      struct ronde_error *error)
{
    return ronde_control_poll(control, 0, error);
}

enum ronde_status ronde_control_linger(struct ronde_control_channel *control, double wait_ns,
                                       struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + wait_ns;
    RONDE_TRY(ronde_control_poll(control, 0, error));
    for (int left_ms = 1; left_ms > 0;) {
        left_ms = ronde_socket_left_ms(deadline_ns, 10);
        RONDE_TRY(ronde_control_poll(control, left_ms, error));
    }
    return RONDE_OK;
}

/* The failure of a communicator: the first is recorded and broadcast. */

/* Sends an alarm to all entries but the one it came from. */
static void broadcast_alarm(struct ronde_control_channel *control, const struct ronde_error *why,
                            uint32_t except)
{
    for (uint32_t p = 0; p < control->poll_count; p++)
        if (control->polls[p].fd >= 0 && p != except)
            ronde_frame_alarm(control->polls[p].fd, why);
}

enum ronde_status ronde_control_settle(struct ronde_control_channel *control,
                                       const struct ronde_error *why, uint32_t except,
                                       struct ronde_error *error)
{
    if (control->failure.status == RONDE_OK) {
        control->failure = *why;
        broadcast_alarm(control, why, except);
    }
    return ronde_fail(error, control->failure.status, "%s", control->failure.message);
}

enum ronde_status ronde_control_lost(struct ronde_control_channel *control, uint32_t entry,
                                     struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_DEVICE, "rank %u was lost: its connection has ended",
                     ronde_control_rank_of(control, entry));
    return ronde_control_settle(control, &why, entry, error);
}

enum ronde_status ronde_control_refuse(struct ronde_control_channel *control, uint32_t entry,
                                       struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_IO, "rank %u sends what is no message of ronde",
                     ronde_control_rank_of(control, entry));
    return ronde_control_settle(control, &why, control->poll_count, error);
}

static enum ronde_status settle_abort(struct ronde_control_channel *control,
                                      struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_TIMEOUT, "rank %u aborted the communicator", control->rank);
    return ronde_control_settle(control, &why, control->poll_count, error);
}

enum ronde_status ronde_control_known(struct ronde_control_channel *control,
                                      struct ronde_error *error)
{
    if (control->failure.status != RONDE_OK)
        return ronde_fail(error, control->failure.status, "%s", control->failure.message);
    return __atomic_load_n(&control->is_aborted, __ATOMIC_ACQUIRE) == 0
               ? RONDE_OK
               : settle_abort(control, error);
}

void ronde_control_alarm(struct ronde_control_channel *control, const struct ronde_error *why)
{
    (void)ronde_control_settle(control, why, control->poll_count, NULL);
}

void ronde_control_abort(struct ronde_control_channel *control)
{
    __atomic_store_n(&control->is_aborted, 1, __ATOMIC_RELEASE);
}
