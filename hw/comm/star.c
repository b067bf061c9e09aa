/* What a star does once it stands: it passes on bad news. See star.h. */
#include "hw/comm/socket.h"
#include "hw/comm/star_parts.h"
#include "ronde/hw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Once the head of a frame is there the rest is on its way, at this rate or faster. */
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
        alarm.status == RONDE_OK || alarm.status > RONDE_TIMEOUT)
        return ronde_fail(error, RONDE_IO, "an alarm has come that is no message of ronde");
    alarm.text[sizeof alarm.text - 1] = '\0';
    return ronde_fail(error, (enum ronde_status)alarm.status, "%s", alarm.text);
}

/* Tells everybody but the one it comes from. */
static void spread(struct ronde_star *star, const struct ronde_error *why, uint32_t except)
{
    for (uint32_t p = 0; p < star->poll_count; p++)
        if (star->polls[p].fd >= 0 && p != except)
            ronde_frame_alarm(star->polls[p].fd, why);
}

enum ronde_status ronde_star_settle(struct ronde_star *star, const struct ronde_error *why,
                                    uint32_t except, struct ronde_error *error)
{
    if (star->failure.status == RONDE_OK) {
        star->failure = *why;
        spread(star, why, except);
    }
    return ronde_fail(error, star->failure.status, "%s", star->failure.message);
}

enum ronde_status ronde_star_lose(struct ronde_star *star, uint32_t entry, struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_DEVICE, "rank %u was lost: its connection has ended",
                     ronde_star_rank_of(star, entry));
    return ronde_star_settle(star, &why, entry, error);
}

enum ronde_status ronde_star_refuse(struct ronde_star *star, uint32_t entry,
                                    struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_IO, "rank %u sends what is no message of ronde",
                     ronde_star_rank_of(star, entry));
    return ronde_star_settle(star, &why, star->poll_count, error);
}

static enum ronde_status settle_abort(struct ronde_star *star, struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_TIMEOUT, "rank %u aborted the communicator", star->rank);
    return ronde_star_settle(star, &why, star->poll_count, error);
}

enum ronde_status ronde_star_known(struct ronde_star *star, struct ronde_error *error)
{
    if (star->failure.status != RONDE_OK)
        return ronde_fail(error, star->failure.status, "%s", star->failure.message);
    return __atomic_load_n(&star->is_aborted, __ATOMIC_ACQUIRE) == 0 ? RONDE_OK
                                                                     : settle_abort(star, error);
}

/* After a failure others may still have to read why; so long they get to hang up too. */
#define FAREWELL_NS 2e8

/*
 * Reads on until the other side has hung up, or time is over. Closing with anything unread, or before the other side's
 * last words, resets a connection, and a reset takes from the other side what it has not read yet: why all this ended.
 */
static void hear_out(int fd, double deadline_ns)
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

static void free_star(struct ronde_star *star)
{
    for (uint32_t p = 0; star->inboxes && p < star->poll_count; p++)
        ronde_inbox_clear(star, &star->inboxes[p]);
    ronde_mem_free(star->mem, star->inboxes, star->poll_count, sizeof *star->inboxes);
    ronde_mem_free(star->mem, star->polls, (size_t)star->poll_count + 1, sizeof *star->polls);
    ronde_mem_free(star->mem, star, 1, sizeof *star);
}

void ronde_star_destroy(struct ronde_star *star)
{
    const struct ronde_frame_head bye = {RONDE_FRAME_BYE, 0};
    if (!star)
        return;
    for (uint32_t p = 0; p < star->poll_count; p++)
        if (star->polls[p].fd >= 0) {
            (void)send(star->polls[p].fd, &bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT);
            (void)shutdown(star->polls[p].fd, SHUT_WR);
        }
    const double deadline_ns =
        ronde_clock_ns() + (star->failure.status != RONDE_OK ? FAREWELL_NS : 0);
    for (uint32_t p = 0; p < star->poll_count; p++)
        if (star->polls[p].fd >= 0) {
            hear_out(star->polls[p].fd, deadline_ns);
            close(star->polls[p].fd);
        }
    free_star(star);
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

/* Without a join there is nothing to open yet. */
static struct ronde_star *new_star(const struct ronde_join *join,
                                   const struct ronde_comm_options *options,
                                   const struct ronde_mem *mem)
{
    struct ronde_star *star = ronde_mem_new(mem, 1, sizeof *star);
    if (!star)
        return NULL;
    star->mem = mem;
    star->rank = join->rank;
    star->ranks = join->ranks;
    star->timeout_ns = options->timeout_ns ? options->timeout_ns : RONDE_COMM_TIMEOUT_NS;
    star->poll_count = join->rank == 0 ? join->ranks : 1;
    star->polls = ronde_mem_new(mem, (size_t)star->poll_count + 1, sizeof *star->polls);
    if (star->rank == 0)
        star->inboxes = ronde_mem_new(mem, star->poll_count, sizeof *star->inboxes);
    if (!star->polls || (star->rank == 0 && !star->inboxes)) {
        free_star(star);
        return NULL;
    }
    for (uint32_t p = 0; p <= star->poll_count; p++)
        star->polls[p] = (struct pollfd){-1, POLLIN | POLLRDHUP, 0};
    return star;
}

enum ronde_status ronde_star_create(const struct ronde_join *join,
                                    const struct ronde_comm_options *options,
                                    const struct ronde_mem *mem, struct ronde_star **out_star,
                                    struct ronde_error *error)
{
    *out_star = NULL;
    struct ronde_star *star = NULL;
    enum ronde_status status = check_join(join, error);
    if (status == RONDE_OK) {
        star = new_star(join, options, mem);
        if (!star)
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for a rendezvous of %u ranks",
                                join->ranks);
    }
    if (status != RONDE_OK) {
        if (join->listener > 0)
            close(join->listener);
        return status;
    }
    status = ronde_star_meet(star, join, options, error);
    if (status != RONDE_OK) {
        ronde_star_destroy(star);
        return status;
    }
    *out_star = star;
    return RONDE_OK;
}

/* The rank of an entry leaves. What it has come to gather it will not get any more. */
static enum ronde_status take_leave(struct ronde_star *star, uint32_t entry,
                                    struct ronde_error *error)
{
    if (star->inboxes && star->inboxes[entry].is_full)
        return ronde_star_lose(star, entry, error);
    close(star->polls[entry].fd);
    star->polls[entry].fd = -1;
    return RONDE_OK;
}

/* Does what a frame asks for whose head has been taken. */
static enum ronde_status take_frame(struct ronde_star *star, uint32_t entry,
                                    const struct ronde_frame_head *head, struct ronde_error *error)
{
    struct ronde_error why = {0};
    switch ((enum ronde_frame_kind)head->kind) {
    case RONDE_FRAME_ALARM:
        (void)ronde_frame_read_alarm(star->polls[entry].fd, head->bytes, &why);
        return ronde_star_settle(star, &why, entry, error);
    case RONDE_FRAME_GATHER:
        return ronde_inbox_fill(star, entry, head->bytes, error);
    case RONDE_FRAME_BYE:
        return take_leave(star, entry, error);
    case RONDE_FRAME_ROLL:
        ronde_roll_answer(star);
        return RONDE_OK;
    case RONDE_FRAME_REPORT:
    case RONDE_FRAME_LATE:
        return ronde_roll_hear(star, entry, head, error);
    case RONDE_FRAME_WELCOME:
    case RONDE_FRAME_GATHERED:
        break;
    }
    return ronde_star_refuse(star, entry, error);
}

/* Something has come from an entry. */
static enum ronde_status look_at(struct ronde_star *star, uint32_t entry, struct ronde_error *error)
{
    struct ronde_frame_head head;
    const int fd = star->polls[entry].fd;
    const ssize_t moved = recv(fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return RONDE_OK;
    if (moved <= 0)
        return ronde_star_lose(star, entry, error);
    /* What has been gathered is left to who waits for it; it is the last to come while one does. */
    if ((size_t)moved < sizeof head || (star->rank != 0 && head.kind == RONDE_FRAME_GATHERED))
        return RONDE_OK;
    (void)recv(fd, &head, sizeof head, 0);
    return take_frame(star, entry, &head, error);
}

enum ronde_status ronde_star_look(struct ronde_star *star, int wait_ms, struct ronde_error *error)
{
    struct pollfd *tended = &star->polls[star->poll_count];
    enum ronde_status status = ronde_star_known(star, error);
    tended->fd = wait_ms > 0 && star->tend ? star->tend(star->tend_self) : -1;
    if (wait_ms > 0 && star->tend && tended->fd < 0)
        wait_ms = 0;
    if (status != RONDE_OK || poll(star->polls, star->poll_count + 1, wait_ms) <= 0)
        return status;
    for (uint32_t p = 0; p < star->poll_count && status == RONDE_OK; p++)
        if (star->polls[p].fd >= 0 && star->polls[p].revents != 0)
            status = look_at(star, p, error);
    return status;
}

enum ronde_status ronde_star_check(struct ronde_star *star, struct ronde_error *error)
{
    return ronde_star_look(star, 0, error);
}

enum ronde_status ronde_star_linger(struct ronde_star *star, double wait_ns,
                                    struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + wait_ns;
    enum ronde_status status = ronde_star_look(star, 0, error);
    for (int left_ms = 1; status == RONDE_OK && left_ms > 0;) {
        left_ms = ronde_socket_left_ms(deadline_ns, 10);
        status = ronde_star_look(star, left_ms, error);
    }
    return status;
}

void ronde_star_alarm(struct ronde_star *star, const struct ronde_error *why)
{
    (void)ronde_star_settle(star, why, star->poll_count, NULL);
}

void ronde_star_set_tend(struct ronde_star *star, ronde_star_tend tend, void *self)
{
    star->tend = tend;
    star->tend_self = self;
}

void ronde_star_set_account(struct ronde_star *star, ronde_star_account account, void *self)
{
    star->account = account;
    star->account_self = self;
}

void ronde_star_abort(struct ronde_star *star)
{
    __atomic_store_n(&star->is_aborted, 1, __ATOMIC_RELEASE);
}

bool ronde_star_has_left(const struct ronde_star *star, uint32_t rank)
{
    const uint32_t entry = star->rank == 0 ? rank : 0;
    return rank != star->rank && rank == ronde_star_rank_of(star, entry) &&
           star->polls[entry].fd < 0;
}

void ronde_star_host(const struct ronde_star *star, char *text, size_t bytes)
{
    char host[RONDE_ADDRESS_BYTES] = "127.0.0.1";
    /* Some ranks may have come through the loopback. */
    for (uint32_t p = 0; p < star->poll_count && ronde_socket_is_loopback(host); p++)
        if (star->polls[p].fd >= 0)
            ronde_socket_host(star->polls[p].fd, false, host);
    snprintf(text, bytes, "%s", host);
}
