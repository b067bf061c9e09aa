/*
 * The rendezvous: rank 0 listens, the others connect. See control_channel.h.
 *
 * Rank 0 holds each accepted connection as pending until its hello has shown the job's token; pending connections are
 * polled together and dropped when they are slow, so that neither a silent one nor one with other bytes delays the job.
 */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/rendezvous_file.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Accepted connections without a complete hello, at most. */
#define MAX_INCOMING 64u

/* A hello is a few bytes: a connection that needs longer is dropped, sooner while entries or descriptors are short. */
#define HELLO_NS 5e9
#define HELLO_SHORT_NS 1e8

/* After a failure rank 0 accepts for a while, so that ranks that connect a little later get the reason too. */
#define LINGER_NS 2e9

/* The others give up later than rank 0, so that they receive from it which ranks are missing. */
#define GRACE_NS 2e9

/* Address of a rendezvous on one machine. */
#define LOOPBACK "127.0.0.1"

/* Between two reads of a rendezvous file. */
#define FILE_RETRY_NS 5000000L

struct incoming {
    int fd;
    size_t have;     /* bytes of the hello */
    double since_ns; /* when it was accepted */
    struct ronde_hello hello;
};

/* Rank 0's state while it accepts. */
struct acceptor {
    struct ronde_control_channel *control;
    const struct ronde_join *join;
    const char *secret; /* the join's token, or the rendezvous file's secret */
    const struct ronde_comm_options *options;
    int listener;
    int spare; /* a descriptor reserved for when no other is left; -1 = in use, or there was none */
    bool is_full; /* none was left to accept with */
    uint32_t incoming_count;
    uint32_t arrived;
    struct ronde_error verdict; /* why the rendezvous fails, from a rank's hello or a limit */
    double verdict_ns;          /* when that was */
    struct incoming incoming[MAX_INCOMING];
};

static void fill_hello(const struct ronde_join *join, const char *secret, struct ronde_hello *out)
{
    memset(out, 0, sizeof *out);
    out->magic = RONDE_CONTROL_MAGIC;
    out->wire = RONDE_CONTROL_VERSION;
    out->rank = join->rank;
    out->ranks = join->ranks;
    snprintf(out->library, sizeof out->library, "%s", RONDE_VERSION);
    snprintf(out->token, sizeof out->token, "%s", secret);
}

static void note(const struct acceptor *acceptor, int fd, const char *what)
{
    char host[RONDE_ADDRESS_BYTES];
    char text[RONDE_ADDRESS_BYTES + 96];
    if (!acceptor->options->note)
        return;
    ronde_socket_host(fd, true, host);
    snprintf(text, sizeof text, "rendezvous: refused %s: %s", host, what);
    acceptor->options->note(acceptor->options->note_self, text);
}

static void drop_incoming(struct acceptor *acceptor, uint32_t index)
{
    close(acceptor->incoming[index].fd);
    /* Entries stay in order of age. */
    memmove(&acceptor->incoming[index], &acceptor->incoming[index + 1],
            (acceptor->incoming_count - index - 1) * sizeof acceptor->incoming[0]);
    acceptor->incoming_count--;
    acceptor->is_full = false;
}

/* Fails the rendezvous: the first reason counts. */
static void decide(struct acceptor *acceptor, const struct ronde_error *why)
{
    if (acceptor->verdict.status != RONDE_OK)
        return;
    acceptor->verdict = *why;
    acceptor->verdict_ns = ronde_clock_ns();
}

/* Refuses a connection that has the token, and sends it the reason. */
static void refuse_rank(const struct acceptor *acceptor, const struct incoming *incoming,
                        const char *text)
{
    const struct ronde_error why = {.status = RONDE_REJECTED};
    struct ronde_error refusal = why;
    snprintf(refusal.message, sizeof refusal.message, "rank 0 refuses rank %u: %s",
             incoming->hello.rank, text);
    ronde_frame_alarm(incoming->fd, &refusal);
    note(acceptor, incoming->fd, text);
}

/* In constant time, as far as a compiler allows. */
static bool is_token_right(const struct acceptor *acceptor, const struct incoming *incoming)
{
    struct ronde_hello own;
    volatile unsigned char difference = 0;
    fill_hello(acceptor->join, acceptor->secret, &own);
    for (size_t k = 0; k < sizeof own.token; k++)
        difference |= (unsigned char)(own.token[k] ^ incoming->hello.token[k]);
    return difference == 0;
}

/* A rank whose version or number of ranks differs fails the rendezvous for all. */
static enum ronde_status check_version(const struct acceptor *acceptor, struct incoming *incoming,
                                       struct ronde_error *error)
{
    struct ronde_hello *hello = &incoming->hello;
    hello->library[sizeof hello->library - 1] = '\0';
    if (hello->wire != RONDE_CONTROL_VERSION || strcmp(hello->library, RONDE_VERSION) != 0)
        return ronde_fail(error, RONDE_REJECTED,
                          "rank %u runs ronde %s (wire %u), rank 0 runs ronde %s (wire %u)",
                          hello->rank, hello->library, hello->wire, RONDE_VERSION,
                          RONDE_CONTROL_VERSION);
    if (hello->ranks != acceptor->join->ranks)
        return ronde_fail(error, RONDE_REJECTED, "rank %u expects %u ranks, rank 0 expects %u",
                          hello->rank, hello->ranks, acceptor->join->ranks);
    return RONDE_OK;
}

/* A complete hello: its connection becomes a rank's, is dropped, or fails the rendezvous. */
static void handle_hello(struct acceptor *acceptor, uint32_t index)
{
    struct incoming *incoming = &acceptor->incoming[index];
    struct ronde_control_channel *control = acceptor->control;
    const uint32_t rank = incoming->hello.rank;
    if (incoming->hello.magic != RONDE_CONTROL_MAGIC || !is_token_right(acceptor, incoming)) {
        const bool is_hello = incoming->hello.magic == RONDE_CONTROL_MAGIC;
        const struct ronde_error refusal = {.status = RONDE_REJECTED,
                                            .message = "rank 0 refuses: the token is wrong"};
        if (is_hello)
            ronde_frame_alarm(incoming->fd, &refusal);
        note(acceptor, incoming->fd, is_hello ? "wrong token" : "not a greeting of ronde");
        drop_incoming(acceptor, index);
        return;
    }
    struct ronde_error why = {0};
    if (check_version(acceptor, incoming, &why) != RONDE_OK) {
        ronde_frame_alarm(incoming->fd, &why);
        drop_incoming(acceptor, index);
        acceptor->arrived++;
        decide(acceptor, &why);
        return;
    }
    if (rank == 0 || rank >= control->ranks || control->polls[rank].fd >= 0) {
        refuse_rank(acceptor, incoming,
                    rank == 0 || rank >= control->ranks ? "there is no such rank to join"
                                                        : "this rank has joined already; was it "
                                                          "started twice?");
        drop_incoming(acceptor, index);
        return;
    }
    acceptor->arrived++;
    if (acceptor->verdict.status == RONDE_OK) {
        control->polls[rank].fd = incoming->fd;
        incoming->fd = -1;
    } else {
        ronde_frame_alarm(incoming->fd, &acceptor->verdict);
    }
    drop_incoming(acceptor, index);
}

/* Reads what a pending connection has sent so far. */
static void read_incoming(struct acceptor *acceptor, uint32_t index)
{
    struct incoming *incoming = &acceptor->incoming[index];
    const ssize_t moved = recv(incoming->fd, (char *)&incoming->hello + incoming->have,
                               sizeof incoming->hello - incoming->have, 0);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (moved <= 0) {
        note(acceptor, incoming->fd, "left without a greeting");
        drop_incoming(acceptor, index);
        return;
    }
    incoming->have += (size_t)moved;
    if (incoming->have == sizeof incoming->hello)
        handle_hello(acceptor, index);
}

/*
 * A connection cannot be accepted for want of a descriptor. Pending ones may be dropped soon and free theirs; where all
 * descriptors are ranks', the reserved one serves to accept those that connect, one after another, and send the reason.
 */
static void handle_shortage(struct acceptor *acceptor, int reason)
{
    struct ronde_error why = {0};
    acceptor->is_full = true;
    if (acceptor->incoming_count > 0 || acceptor->verdict.status != RONDE_OK)
        return;
    const bool can_tell = acceptor->spare >= 0;
    if (can_tell)
        close(acceptor->spare);
    acceptor->spare = -1;
    acceptor->is_full = !can_tell;
    (void)ronde_fail(&why, RONDE_DEVICE,
                     "rank 0 cannot hold connections to %u ranks, after %u of them: %s (ulimit -n)",
                     acceptor->control->ranks - 1, acceptor->arrived, strerror(reason));
    decide(acceptor, &why);
    /* Without one nobody can be told, and waiting for who comes later is of no use. */
    if (!can_tell)
        acceptor->verdict_ns = 0;
}

static void accept_incoming(struct acceptor *acceptor)
{
    while (acceptor->incoming_count < MAX_INCOMING) {
        const int fd = ronde_socket_accept(acceptor->listener);
        const int reason = errno;
        if (fd < 0 && (reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM))
            handle_shortage(acceptor, reason);
        if (fd < 0)
            return;
        struct incoming *incoming = &acceptor->incoming[acceptor->incoming_count++];
        memset(incoming, 0, sizeof *incoming);
        incoming->fd = fd;
        incoming->since_ns = ronde_clock_ns();
    }
}

/* How long a hello may take: a rank's follows its connect at once, so when entries are short the limit is short too. */
static double hello_limit_ns(const struct acceptor *acceptor)
{
    return acceptor->incoming_count == MAX_INCOMING || acceptor->is_full ? HELLO_SHORT_NS : HELLO_NS;
}

/* Polls all pending connections, youngest first, so that dropping one moves no other still to be read, and the listener. */
static void poll_incoming(struct acceptor *acceptor, int wait_ms)
{
    struct pollfd polls[MAX_INCOMING + 1];
    const uint32_t count = acceptor->incoming_count;
    for (uint32_t g = 0; g < count; g++)
        polls[g] = (struct pollfd){acceptor->incoming[g].fd, POLLIN, 0};
    /* Without a free entry connections wait in the listener's backlog. */
    const bool has_room = count < MAX_INCOMING && !acceptor->is_full;
    polls[count] = (struct pollfd){has_room ? acceptor->listener : -1, POLLIN, 0};
    if (poll(polls, count + 1, ronde_socket_wait_ms(wait_ms)) < 0)
        return;
    for (uint32_t g = count; g-- > 0;) {
        if (polls[g].revents != 0) {
            read_incoming(acceptor, g);
        } else if (ronde_clock_ns() - acceptor->incoming[g].since_ns > hello_limit_ns(acceptor)) {
            note(acceptor, acceptor->incoming[g].fd, "too slow to greet");
            drop_incoming(acceptor, g);
        }
    }
    if (polls[count].revents != 0)
        accept_incoming(acceptor);
}

/* Names up to a line full of the ranks that have not connected. */
static enum ronde_status fail_missing(const struct ronde_control_channel *control,
                                      struct ronde_error *error)
{
    char list[128] = "";
    for (uint32_t rank = 1; rank < control->ranks; rank++) {
        const size_t used = strlen(list);
        if (control->polls[rank].fd >= 0)
            continue;
        if (used > sizeof list - 24) {
            strcat(list, " and more");
            break;
        }
        snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "", rank);
    }
    return ronde_fail(error, RONDE_TIMEOUT,
                      "these ranks have not arrived at rank 0 within %.3g s: %s",
                      (double)control->timeout_ns / 1e9, list);
}

/* Accepts until all ranks have connected, or the rendezvous has failed. */
static enum ronde_status await_all(struct acceptor *acceptor, double deadline_ns,
                                   struct ronde_error *error)
{
    const struct ronde_control_channel *control = acceptor->control;
    while (acceptor->arrived + 1 < control->ranks) {
        const bool is_decided = acceptor->verdict.status != RONDE_OK;
        const double until_ns = is_decided ? acceptor->verdict_ns + LINGER_NS : deadline_ns;
        const int wait_ms = ronde_socket_left_ms(until_ns, 50);
        if (wait_ms == 0 && is_decided)
            break;
        if (wait_ms == 0)
            return fail_missing(control, error);
        poll_incoming(acceptor, wait_ms);
    }
    if (acceptor->verdict.status == RONDE_OK)
        return RONDE_OK;
    return ronde_fail(error, acceptor->verdict.status, "%s", acceptor->verdict.message);
}

/*
 * All ranks are there. Whoever else has connected by now is told why it is not one of them, as far as its hello is about to
 * come: a rank that was started twice.
 */
static void refuse_late(struct acceptor *acceptor)
{
    const double deadline_ns = ronde_clock_ns() + HELLO_SHORT_NS;
    accept_incoming(acceptor);
    for (int wait_ms;
         acceptor->incoming_count > 0 && (wait_ms = ronde_socket_left_ms(deadline_ns, 50)) > 0;)
        poll_incoming(acceptor, wait_ms);
}

/* Rank 0's part. */
static enum ronde_status accept_all(struct acceptor *acceptor, double deadline_ns,
                                    struct ronde_error *error)
{
    struct ronde_control_channel *control = acceptor->control;
    enum ronde_status status = await_all(acceptor, deadline_ns, error);
    if (status == RONDE_OK)
        refuse_late(acceptor);
    while (acceptor->incoming_count > 0) {
        note(acceptor, acceptor->incoming[0].fd, "all ranks have joined");
        drop_incoming(acceptor, 0);
    }
    for (uint32_t rank = 1; rank < control->ranks; rank++) {
        const int fd = control->polls[rank].fd;
        if (status != RONDE_OK && fd >= 0)
            ronde_frame_alarm(fd, error);
        else if (status == RONDE_OK &&
                 ronde_frame_send(fd, RONDE_FRAME_CONNECTED, NULL, 0, deadline_ns) != RONDE_OK)
            status = ronde_fail(error, RONDE_DEVICE, "rank %u was lost while the others came", rank);
    }
    return status;
}

/* Opens the listener: the caller's, one at an address, or one published in a rendezvous file with a drawn secret. */
static enum ronde_status open_listener(const struct ronde_join *join,
                                       struct ronde_rendezvous_file *file, int *out_listener,
                                       struct ronde_error *error)
{
    *out_listener = join->listener;
    if (join->has_listener)
        return RONDE_OK;
    RONDE_TRY(ronde_socket_listen(join->host ? join->host : LOOPBACK, join->host ? join->port : 0,
                                  out_listener, error));
    if (join->host)
        return RONDE_OK;
    RONDE_TRY(ronde_token_draw(file->secret, error));
    file->port = ronde_socket_port(*out_listener);
    return ronde_rendezvous_file_write(join->token, file, error);
}

static enum ronde_status
rendezvous_at_root(struct ronde_control_channel *control, const struct ronde_join *join,
                   const struct ronde_comm_options *options, struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + (double)control->timeout_ns;
    int listener = join->has_listener ? join->listener : -1;
    struct ronde_rendezvous_file file = {0};
    enum ronde_status status =
        control->ranks > 1 ? open_listener(join, &file, &listener, error) : RONDE_OK;
    if (status == RONDE_OK && control->ranks > 1) {
        struct acceptor *acceptor = ronde_mem_new(control->mem, 1, sizeof *acceptor);
        if (acceptor) {
            acceptor->control = control;
            acceptor->join = join;
            acceptor->secret = file.port ? file.secret : join->token;
            acceptor->options = options;
            acceptor->listener = listener;
            acceptor->spare = dup(listener);
            status = accept_all(acceptor, deadline_ns, error);
            if (acceptor->spare >= 0)
                close(acceptor->spare);
        } else {
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for the rendezvous");
        }
        ronde_mem_free(control->mem, acceptor, 1, sizeof *acceptor);
        if (!join->host && !join->has_listener)
            ronde_rendezvous_file_remove(join->token);
    }
    if (listener >= 0)
        close(listener);
    return status;
}

/* Rank 0's address, for messages. */
static void describe_address(const struct ronde_join *join, char text[RONDE_ADDRESS_BYTES])
{
    if (join->host)
        snprintf(text, RONDE_ADDRESS_BYTES, "%.64s:%u", join->host, join->port);
    else
        snprintf(text, RONDE_ADDRESS_BYTES, "the rendezvous of \"%.40s\"", join->token);
}

/* Waits for rank 0's CONNECTED frame, or its alarm. */
static enum ronde_status await_connected(const struct ronde_control_channel *control,
                                         const struct ronde_join *join, double deadline_ns,
                                         struct ronde_error *error)
{
    struct ronde_frame_head head = {0, 0};
    char address[RONDE_ADDRESS_BYTES];
    const int fd = control->polls[0].fd;
    struct pollfd ready = {fd, POLLIN, 0};
    while (ronde_clock_ns() < deadline_ns && poll(&ready, 1, ronde_socket_wait_ms(50)) == 0)
        continue;
    const enum ronde_status status =
        ronde_socket_receive(fd, &head, sizeof head, deadline_ns + GRACE_NS);
    if (status == RONDE_OK && head.kind == RONDE_FRAME_CONNECTED && head.bytes == 0)
        return RONDE_OK;
    if (status == RONDE_OK && head.kind == RONDE_FRAME_ALARM)
        return ronde_frame_read_alarm(fd, head.bytes, error);
    describe_address(join, address);
    if (status == RONDE_TIMEOUT)
        return ronde_fail(error, RONDE_TIMEOUT,
                          "rank 0 at %s has not said within %.3g s that all ranks are there",
                          address, (double)control->timeout_ns / 1e9);
    if (status == RONDE_IO)
        return ronde_fail(error, RONDE_DEVICE,
                          "rank 0 at %s has hung up: it has ended, or rank %u was started twice",
                          address, join->rank);
    return ronde_fail(error, RONDE_REJECTED, "the server at %s is not rank 0 of a ronde job",
                      address);
}

/* A rendezvous file may be left by an earlier job: it is read again after each refused connection. */
static enum ronde_status connect_to_root(const struct ronde_join *join,
                                         struct ronde_rendezvous_file *file, double deadline_ns,
                                         int *out_fd, struct ronde_error *error)
{
    if (join->host)
        return ronde_socket_connect(join->host, join->port, deadline_ns, out_fd, error);
    const struct timespec pause = {0, FILE_RETRY_NS};
    while (ronde_clock_ns() < deadline_ns) {
        struct ronde_error unused = {0};
        if (ronde_rendezvous_file_read(join->token, file) &&
            ronde_socket_connect(LOOPBACK, file->port, ronde_clock_ns() + (double)FILE_RETRY_NS,
                                 out_fd, &unused) == RONDE_OK)
            return RONDE_OK;
        (void)ronde_socket_wait_ms(0);
        (void)nanosleep(&pause, NULL);
    }
    return ronde_fail(error, RONDE_TIMEOUT,
                      "rank 0 has published no rendezvous for \"%.64s\" on this machine",
                      join->token);
}

static enum ronde_status rendezvous_at_leaf(struct ronde_control_channel *control,
                                            const struct ronde_join *join, struct ronde_error *error)
{
    struct ronde_hello hello;
    const double deadline_ns = ronde_clock_ns() + (double)control->timeout_ns;
    struct ronde_rendezvous_file file = {0};
    RONDE_TRY(connect_to_root(join, &file, deadline_ns, &control->polls[0].fd, error));
    fill_hello(join, join->host ? join->token : file.secret, &hello);
    const enum ronde_status status =
        ronde_socket_send(control->polls[0].fd, &hello, sizeof hello, deadline_ns);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "rank 0 takes no greeting");
    return await_connected(control, join, deadline_ns, error);
}

enum ronde_status
ronde_control_rendezvous(struct ronde_control_channel *control, const struct ronde_join *join,
                         const struct ronde_comm_options *options, struct ronde_error *error)
{
    return control->rank == 0 ? rendezvous_at_root(control, join, options, error)
                              : rendezvous_at_leaf(control, join, error);
}
