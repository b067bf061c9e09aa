/* Waiting on the control channel, and what is done with each kind of frame. See control_channel.h. */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

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
        return ronde_inbox_fill(control, entry, head->bytes, error);
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
    if (waits && control->attachment_hook &&
        control->attachment_hook(control->attachment_hook_self) && wait_ms > 1)
        wait_ms = 1;
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
    enum ronde_status status = ronde_control_poll(control, 0, error);
    for (int left_ms = 1; status == RONDE_OK && left_ms > 0;) {
        left_ms = ronde_socket_left_ms(deadline_ns, 10);
        status = ronde_control_poll(control, left_ms, error);
    }
    return status;
}
