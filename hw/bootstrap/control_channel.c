/* Opening and closing the control channel, and what it is told. See control_channel.h. */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"

#include "ronde/hw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

void ronde_control_set_progress_hook(struct ronde_control_channel *control,
                                     ronde_control_progress_hook progress_hook, void *self)
{
    control->progress_hook = progress_hook;
    control->progress_hook_self = self;
}

void ronde_control_set_describe(struct ronde_control_channel *control,
                                ronde_control_describe describe, void *self)
{
    control->describe = describe;
    control->describe_self = self;
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

/* Allgather over the control channel. Rank 0 reads a rank's part as soon as it arrives, in whatever call it is
 * itself, and stores it until it gathers: an alarm may be queued behind these bytes. */

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
        RONDE_TRY(ronde_control_poll(control, left_ms, error));
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
        RONDE_THEN(status, check_bytes(control, rank, inbox->bytes, bytes, error));
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
    RONDE_TRY(ronde_control_poll(control, 0, error));
    const int fd = control->polls[0].fd;
    if (fd < 0 || ronde_frame_send(fd, RONDE_FRAME_ALLGATHER_PART, mine, (uint32_t)bytes,
                                   deadline_ns) != RONDE_OK)
        return ronde_control_lost(control, 0, error);
    RONDE_TRY(await_entry(control, 0, deadline_ns, error));
    if (ronde_frame_read(fd, &head, sizeof head) != RONDE_OK)
        return ronde_control_lost(control, 0, error);
    RONDE_TRY(check_bytes(control, 0, head.bytes / control->ranks, bytes, error));
    return ronde_frame_read(fd, out_all, bytes * control->ranks) == RONDE_OK
               ? RONDE_OK
               : ronde_control_lost(control, 0, error);
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
