/* The control channel once it is connected: frames, alarms, polling. See control_channel.h. */
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
    enum ronde_status status = ronde_socket_send(fd, &head, sizeof head, deadline_ns);
    if (status == RONDE_OK && bytes > 0)
        status = ronde_socket_send(fd, data, bytes, deadline_ns);
    return status;
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

/* After a failure peers may still have the alarm to read: how long they get to close their ends. */
#define DRAIN_NS 2e8

/*
 * Reads until the peer has closed its end, or the deadline. Closing a socket with unread data, or before the peer's
 * last frame, resets the connection, and a reset discards what the peer has not read yet: the alarm with the reason.
 */
static void drain_socket(int fd, double deadline_ns)
{
    char unread[256];
    for (;;) {
        const ssize_t moved = recv(fd, unread, sizeof unread, MSG_DONTWAIT);
        const int left_ms = ronde_socket_left_ms(deadline_ns, 10);
        struct pollfd one = {fd, POLLIN, 0};
        if (moved == 0 || (moved < 0 && (errno != EAGAIN || left_ms == 0)))
            return;
        if (moved < 0)
            (void)poll(&one, 1, left_ms);
    }
}

static void free_control(struct ronde_control_channel *control)
{
    for (uint32_t p = 0; control->inboxes && p < control->poll_count; p++)
        ronde_inbox_clear(control, &control->inboxes[p]);
    ronde_mem_free(control->mem, control->inboxes, control->poll_count, sizeof *control->inboxes);
    ronde_mem_free(control->mem, control->polls, (size_t)control->poll_count + 1,
                   sizeof *control->polls);
    ronde_mem_free(control->mem, control, 1, sizeof *control);
}

void ronde_control_destroy(struct ronde_control_channel *control)
{
    const struct ronde_frame_head leave = {RONDE_FRAME_LEAVE, 0};
    if (!control)
        return;
    for (uint32_t p = 0; p < control->poll_count; p++)
        if (control->polls[p].fd >= 0) {
            (void)send(control->polls[p].fd, &leave, sizeof leave, MSG_NOSIGNAL | MSG_DONTWAIT);
            (void)shutdown(control->polls[p].fd, SHUT_WR);
        }
    const double deadline_ns =
        ronde_clock_ns() + (control->failure.status != RONDE_OK ? DRAIN_NS : 0);
    for (uint32_t p = 0; p < control->poll_count; p++)
        if (control->polls[p].fd >= 0) {
            drain_socket(control->polls[p].fd, deadline_ns);
            close(control->polls[p].fd);
        }
    free_control(control);
}

static enum ronde_status check_join(const struct ronde_join *join, struct ronde_error *error)
{
    if (join->ranks == 0 || join->ranks > RONDE_MAX_RANKS || join->rank >= join->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "rank %u of %u ranks does not exist",
                          join->rank, join->ranks);
    if (!join->token || strlen(join->token) == 0 || strlen(join->token) >= RONDE_TOKEN_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a rendezvous needs a token of 1 to %u characters", RONDE_TOKEN_BYTES - 1);
    return RONDE_OK;
}

/* Allocates; opens no connection yet. */
static struct ronde_control_channel *new_control(const struct ronde_join *join,
                                                 const struct ronde_comm_options *options,
                                                 const struct ronde_mem *mem)
{
    struct ronde_control_channel *control = ronde_mem_new(mem, 1, sizeof *control);
    if (!control)
        return NULL;
    control->mem = mem;
    control->rank = join->rank;
    control->ranks = join->ranks;
    control->timeout_ns = options->timeout_ns ? options->timeout_ns : RONDE_COMM_TIMEOUT_NS;
    control->poll_count = join->rank == 0 ? join->ranks : 1;
    control->polls = ronde_mem_new(mem, (size_t)control->poll_count + 1, sizeof *control->polls);
    if (control->rank == 0)
        control->inboxes = ronde_mem_new(mem, control->poll_count, sizeof *control->inboxes);
    if (!control->polls || (control->rank == 0 && !control->inboxes)) {
        free_control(control);
        return NULL;
    }
    for (uint32_t p = 0; p <= control->poll_count; p++)
        control->polls[p] = (struct pollfd){-1, POLLIN | POLLRDHUP, 0};
    return control;
}

void ronde_join_close(const struct ronde_join *join)
{
    if (join->has_listener)
        close(join->listener);
}

enum ronde_status
ronde_control_create(const struct ronde_join *join, const struct ronde_comm_options *options,
                     const struct ronde_mem *mem, struct ronde_control_channel **out_control,
                     struct ronde_error *error)
{
    *out_control = NULL;
    struct ronde_control_channel *control = NULL;
    enum ronde_status status = check_join(join, error);
    if (status == RONDE_OK) {
        control = new_control(join, options, mem);
        if (!control)
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for a rendezvous of %u ranks",
                                join->ranks);
    }
    if (status != RONDE_OK) {
        ronde_join_close(join);
        return status;
    }
    status = ronde_control_rendezvous(control, join, options, error);
    if (status != RONDE_OK) {
        ronde_control_destroy(control);
        return status;
    }
    *out_control = control;
    return RONDE_OK;
}

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

void ronde_control_alarm(struct ronde_control_channel *control, const struct ronde_error *why)
{
    (void)ronde_control_settle(control, why, control->poll_count, NULL);
}

void ronde_control_set_progress_hook(struct ronde_control_channel *control,
                                     ronde_control_progress_hook progress_hook, void *self)
{
    control->progress_hook = progress_hook;
    control->progress_hook_self = self;
}

void ronde_control_set_attachment_hook(struct ronde_control_channel *control,
                                       ronde_control_attachment_hook attachment_hook, void *self)
{
    control->attachment_hook = attachment_hook;
    control->attachment_hook_self = self;
}

void ronde_control_set_describe(struct ronde_control_channel *control,
                                ronde_control_describe describe, void *self)
{
    control->describe = describe;
    control->describe_self = self;
}

void ronde_control_abort(struct ronde_control_channel *control)
{
    __atomic_store_n(&control->is_aborted, 1, __ATOMIC_RELEASE);
}

void ronde_control_set_timeout(struct ronde_control_channel *control, uint64_t timeout_ns)
{
    control->timeout_ns = timeout_ns ? timeout_ns : RONDE_COMM_TIMEOUT_NS;
    __atomic_store_n(&control->hurry_ns, 0, __ATOMIC_RELAXED);
}

void ronde_control_hurry(struct ronde_control_channel *control, double deadline_ns)
{
    __atomic_store_n(&control->hurry_ns, (uint64_t)deadline_ns, __ATOMIC_RELAXED);
}

bool ronde_control_has_left(const struct ronde_control_channel *control, uint32_t rank)
{
    const uint32_t entry = control->rank == 0 ? rank : 0;
    return rank != control->rank && rank == ronde_control_rank_of(control, entry) &&
           control->polls[entry].fd < 0;
}

void ronde_control_host(const struct ronde_control_channel *control, char *text, size_t bytes)
{
    char host[RONDE_ADDRESS_BYTES] = "127.0.0.1";
    /* Some ranks may have connected through the loopback. */
    for (uint32_t p = 0; p < control->poll_count && ronde_socket_is_loopback(host); p++)
        if (control->polls[p].fd >= 0)
            ronde_socket_host(control->polls[p].fd, false, host);
    snprintf(text, bytes, "%s", host);
}
