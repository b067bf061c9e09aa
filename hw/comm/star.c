/* What a star does once it stands: gathering, and bad news. See star.h. */
#include "hw/comm/socket.h"
#include "hw/comm/star_parts.h"
#include "ronde/hw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Once the head of a frame is there the rest is on its way. */
#define REST_NS 2e9

/* More than any gathering of this library, less than a wrong number would ask for. */
#define MAX_GATHER_BYTES (1u << 26)

static double soon_ns(void)
{
    return ronde_clock_ns() + REST_NS;
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
    if (bytes != sizeof alarm ||
        ronde_socket_receive(fd, &alarm, sizeof alarm, soon_ns()) != RONDE_OK ||
        alarm.status == RONDE_OK || alarm.status > RONDE_TIMEOUT)
        return ronde_fail(error, RONDE_IO, "rank 0 sends what is no message of ronde");
    alarm.text[sizeof alarm.text - 1] = '\0';
    return ronde_fail(error, (enum ronde_status)alarm.status, "%s", alarm.text);
}

/* The rank behind an entry of polls. */
static uint32_t rank_of(const struct ronde_star *star, uint32_t entry)
{
    return star->rank == 0 ? entry : 0;
}

/* Tells everybody but the one it comes from. */
static void spread(struct ronde_star *star, const struct ronde_error *why, uint32_t except)
{
    for (uint32_t p = 0; p < star->poll_count; p++)
        if (star->polls[p].fd >= 0 && p != except)
            ronde_frame_alarm(star->polls[p].fd, why);
}

/* The first failure stands, is repeated for ever, and is spread. */
static enum ronde_status settle(struct ronde_star *star, const struct ronde_error *why,
                                uint32_t except, struct ronde_error *error)
{
    if (star->failure.status == RONDE_OK) {
        star->failure = *why;
        spread(star, why, except);
    }
    return ronde_fail(error, star->failure.status, "%s", star->failure.message);
}

static enum ronde_status fail_lost(struct ronde_star *star, uint32_t entry,
                                   struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_DEVICE, "rank %u was lost: its connection has ended",
                     rank_of(star, entry));
    return settle(star, &why, entry, error);
}

enum ronde_status ronde_star_known(struct ronde_star *star, struct ronde_error *error)
{
    struct ronde_error why = {0};
    if (star->failure.status != RONDE_OK)
        return ronde_fail(error, star->failure.status, "%s", star->failure.message);
    if (__atomic_load_n(&star->is_aborted, __ATOMIC_ACQUIRE) == 0)
        return RONDE_OK;
    (void)ronde_fail(&why, RONDE_TIMEOUT, "rank %u aborted the communicator", star->rank);
    return settle(star, &why, star->poll_count, error);
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
    ronde_mem_free(star->mem, star->polls, star->poll_count, sizeof *star->polls);
    ronde_mem_free(star->mem, star, 1, sizeof *star);
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
    star->polls = ronde_mem_new(mem, star->poll_count, sizeof *star->polls);
    if (!star->polls) {
        ronde_mem_free(mem, star, 1, sizeof *star);
        return NULL;
    }
    for (uint32_t p = 0; p < star->poll_count; p++)
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

/*
 * Rank 0: a rank has sent bytes to gather, and hung up while this one was not gathering. What it said after them is why.
 */
static enum ronde_status hear_last(struct ronde_star *star, uint32_t entry,
                                   struct ronde_error *error)
{
    const int fd = star->polls[entry].fd;
    const double deadline_ns = soon_ns();
    struct ronde_frame_head head;
    char unread[256];
    while (ronde_socket_receive(fd, &head, sizeof head, deadline_ns) == RONDE_OK &&
           (head.kind == RONDE_FRAME_GATHER || head.kind == RONDE_FRAME_ALARM)) {
        struct ronde_error why = {0};
        if (head.kind == RONDE_FRAME_ALARM) {
            (void)ronde_frame_read_alarm(fd, head.bytes, &why);
            return settle(star, &why, entry, error);
        }
        for (uint32_t left = head.bytes; left > 0;) {
            const uint32_t part = left < sizeof unread ? left : (uint32_t)sizeof unread;
            if (ronde_socket_receive(fd, unread, part, deadline_ns) != RONDE_OK)
                return fail_lost(star, entry, error);
            left -= part;
        }
    }
    return fail_lost(star, entry, error);
}

/* Something has come from an entry, which is looked at but not taken unless it is news. */
static enum ronde_status look_at(struct ronde_star *star, uint32_t entry, struct ronde_error *error)
{
    struct pollfd *at = &star->polls[entry];
    struct ronde_frame_head head;
    const ssize_t moved = recv(at->fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return RONDE_OK;
    if (moved <= 0)
        return fail_lost(star, entry, error);
    if ((size_t)moved < sizeof head)
        return RONDE_OK;
    if (head.kind == RONDE_FRAME_BYE) {
        close(at->fd);
        at->fd = -1;
        return RONDE_OK;
    }
    if (head.kind == RONDE_FRAME_ALARM) {
        struct ronde_error why = {0};
        (void)recv(at->fd, &head, sizeof head, 0);
        (void)ronde_frame_read_alarm(at->fd, head.bytes, &why);
        return settle(star, &why, entry, error);
    }
    /*
     * Gathered bytes, for whoever waits for them; news behind them are read afterwards. But a rank that has hung up since
     * it sent its bytes will not be there for the answer.
     */
    const bool has_hung_up = (at->revents & POLLRDHUP) != 0;
    return star->rank == 0 && has_hung_up ? hear_last(star, entry, error) : RONDE_OK;
}

/* Waits at most so long for anything, and looks at all that has come. */
static enum ronde_status look_around(struct ronde_star *star, int wait_ms, struct ronde_error *error)
{
    enum ronde_status status = ronde_star_known(star, error);
    if (status != RONDE_OK || poll(star->polls, star->poll_count, wait_ms) <= 0)
        return status;
    for (uint32_t p = 0; p < star->poll_count && status == RONDE_OK; p++)
        if (star->polls[p].fd >= 0 && star->polls[p].revents != 0)
            status = look_at(star, p, error);
    return status;
}

enum ronde_status ronde_star_check(struct ronde_star *star, struct ronde_error *error)
{
    return look_around(star, 0, error);
}

enum ronde_status ronde_star_linger(struct ronde_star *star, double wait_ns,
                                    struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + wait_ns;
    enum ronde_status status = look_around(star, 0, error);
    for (int left_ms = 1; status == RONDE_OK && left_ms > 0;) {
        left_ms = ronde_socket_left_ms(deadline_ns, 10);
        status = look_around(star, left_ms, error);
    }
    return status;
}

/* Whether an entry has a frame of a kind to read. */
static bool has_frame(const struct ronde_star *star, uint32_t entry, uint32_t kind)
{
    struct ronde_frame_head head;
    return recv(star->polls[entry].fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT) ==
               (ssize_t)sizeof head &&
           head.kind == kind;
}

static enum ronde_status fail_late(struct ronde_star *star, uint32_t entry,
                                   struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_TIMEOUT, "rank %u waits for rank %u: it said nothing for %.3g s",
                     star->rank, rank_of(star, entry), (double)star->timeout_ns / 1e9);
    return settle(star, &why, star->poll_count, error);
}

/* Waits for one entry, or for whatever else is to be kept going. */
static void rest_at(const struct ronde_star *star, uint32_t entry, int wait_ms)
{
    struct pollfd both[2] = {star->polls[entry], {-1, POLLIN, 0}};
    if (star->tend)
        both[1].fd = star->tend(star->tend_self);
    /* Others' bytes wait in their sockets and would end a poll over all at once. */
    (void)poll(both, 2, star->tend && both[1].fd < 0 ? 0 : wait_ms);
}

/* Waits for a frame of one entry, while bad news of any count. */
static enum ronde_status await_frame(struct ronde_star *star, uint32_t entry, uint32_t kind,
                                     double deadline_ns, struct ronde_error *error)
{
    struct ronde_error why = {0};
    while (true) {
        if (star->polls[entry].fd < 0) {
            (void)ronde_fail(&why, RONDE_DEVICE, "rank %u has left the communicator",
                             rank_of(star, entry));
            return settle(star, &why, entry, error);
        }
        if (has_frame(star, entry, kind))
            return ronde_star_known(star, error);
        const int left_ms = ronde_socket_left_ms(deadline_ns, 10);
        if (left_ms == 0)
            return fail_late(star, entry, error);
        rest_at(star, entry, left_ms);
        const enum ronde_status status = look_around(star, 0, error);
        if (status != RONDE_OK)
            return status;
    }
}

/* Takes the frame that await_frame found. */
static enum ronde_status take_frame(struct ronde_star *star, uint32_t entry, void *data,
                                    size_t bytes, double deadline_ns, struct ronde_error *error)
{
    struct ronde_frame_head head;
    const int fd = star->polls[entry].fd;
    enum ronde_status status = ronde_socket_receive(fd, &head, sizeof head, deadline_ns);
    if (status == RONDE_OK && head.bytes != bytes) {
        struct ronde_error why = {0};
        (void)ronde_fail(&why, RONDE_REJECTED,
                         "rank %u and rank %u gather different things: %u bytes and %zu",
                         rank_of(star, entry), star->rank, head.bytes, bytes);
        return settle(star, &why, star->poll_count, error);
    }
    if (status == RONDE_OK)
        status = ronde_socket_receive(fd, data, bytes, deadline_ns);
    return status == RONDE_OK ? RONDE_OK : fail_lost(star, entry, error);
}

/* Rank 0: takes from all, gives to all. */
static enum ronde_status gather_all(struct ronde_star *star, const void *mine, size_t bytes,
                                    char *all, double deadline_ns, struct ronde_error *error)
{
    enum ronde_status status = ronde_star_known(star, error);
    if (bytes > 0)
        memcpy(all, mine, bytes);
    for (uint32_t rank = 1; rank < star->ranks && status == RONDE_OK; rank++) {
        status = await_frame(star, rank, RONDE_FRAME_GATHER, deadline_ns, error);
        if (status == RONDE_OK)
            status = take_frame(star, rank, all + rank * bytes, bytes, deadline_ns, error);
    }
    for (uint32_t rank = 1; rank < star->ranks && status == RONDE_OK; rank++)
        if (ronde_frame_send(star->polls[rank].fd, RONDE_FRAME_GATHERED, all,
                             (uint32_t)(bytes * star->ranks), deadline_ns) != RONDE_OK)
            status = fail_lost(star, rank, error);
    return status;
}

enum ronde_status ronde_star_allgather(struct ronde_star *star, const void *mine, size_t bytes,
                                       void *out_all, struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + (double)star->timeout_ns;
    if (bytes > MAX_GATHER_BYTES / star->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%zu bytes of each of %u ranks are too many",
                          bytes, star->ranks);
    if (star->rank == 0)
        return gather_all(star, mine, bytes, out_all, deadline_ns, error);
    enum ronde_status status = look_around(star, 0, error);
    if (status != RONDE_OK)
        return status;
    if (star->polls[0].fd < 0 || ronde_frame_send(star->polls[0].fd, RONDE_FRAME_GATHER, mine,
                                                  (uint32_t)bytes, deadline_ns) != RONDE_OK)
        return fail_lost(star, 0, error);
    status = await_frame(star, 0, RONDE_FRAME_GATHERED, deadline_ns, error);
    if (status == RONDE_OK)
        status = take_frame(star, 0, out_all, bytes * star->ranks, deadline_ns, error);
    return status;
}

void ronde_star_alarm(struct ronde_star *star, const struct ronde_error *why)
{
    (void)settle(star, why, star->poll_count, NULL);
}

void ronde_star_set_tend(struct ronde_star *star, ronde_star_tend tend, void *self)
{
    star->tend = tend;
    star->tend_self = self;
}

void ronde_star_abort(struct ronde_star *star)
{
    __atomic_store_n(&star->is_aborted, 1, __ATOMIC_RELEASE);
}

bool ronde_star_has_left(const struct ronde_star *star, uint32_t rank)
{
    const uint32_t entry = star->rank == 0 ? rank : 0;
    return rank != star->rank && rank == rank_of(star, entry) && star->polls[entry].fd < 0;
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
