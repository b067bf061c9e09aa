/*
 * The rendezvous: rank 0 listens, the others come. See star.h.
 *
 * Rank 0 treats whoever connects as a guest until a greeting has shown the job's token; guests are read in turns and
 * dropped when they are slow, so that neither silence nor nonsense holds up the job.
 */
#include "hw/comm/place.h"
#include "hw/comm/socket.h"
#include "hw/comm/star_parts.h"
#include "ronde/hw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Who has not yet said who it is. */
#define MAX_GUESTS 64u

/* A greeting is a few bytes: who needs longer than this is no member. */
#define GREETING_NS 5e9
#define HURRY_NS 1e8

/* After a verdict the door stays open for a while, so that those who come a little later hear it too. */
#define LINGER_NS 2e9

/* The others give up later than rank 0, so that they hear from it who is missing. */
#define GRACE_NS 2e9

/* Where ranks meet that share a machine. */
#define LOOPBACK "127.0.0.1"

/* Between two looks at a meeting place. */
#define PLACE_RETRY_NS 5000000L

struct guest {
    int fd;
    size_t have;     /* bytes of the greeting */
    double since_ns; /* when it came */
    struct ronde_greeting greeting;
};

/* Rank 0 while it waits. */
struct hall {
    struct ronde_star *star;
    const struct ronde_join *join;
    const char *secret; /* the join's token, or its place's */
    const struct ronde_comm_options *options;
    int listener;
    int spare;    /* a descriptor kept for the day when there is no other left; -1 = it has come */
    bool is_full; /* there was none left to take a guest with */
    uint32_t guest_count;
    uint32_t arrived;
    struct ronde_error verdict; /* why it will not be, found in a member's greeting */
    double verdict_ns;          /* when that was */
    struct guest guests[MAX_GUESTS];
};

static void fill_greeting(const struct ronde_join *join, const char *secret,
                          struct ronde_greeting *out)
{
    memset(out, 0, sizeof *out);
    out->magic = RONDE_STAR_MAGIC;
    out->wire = RONDE_STAR_WIRE;
    out->rank = join->rank;
    out->ranks = join->ranks;
    snprintf(out->library, sizeof out->library, "%s", RONDE_VERSION);
    snprintf(out->token, sizeof out->token, "%s", secret);
}

static void note(const struct hall *hall, int fd, const char *what)
{
    char host[RONDE_ADDRESS_BYTES];
    char text[RONDE_ADDRESS_BYTES + 96];
    if (!hall->options->note)
        return;
    ronde_socket_host(fd, true, host);
    snprintf(text, sizeof text, "rendezvous: refused %s: %s", host, what);
    hall->options->note(hall->options->note_self, text);
}

static void drop_guest(struct hall *hall, uint32_t index)
{
    close(hall->guests[index].fd);
    /* The order tells the oldest. */
    memmove(&hall->guests[index], &hall->guests[index + 1],
            (hall->guest_count - index - 1) * sizeof hall->guests[0]);
    hall->guest_count--;
    hall->is_full = false;
}

/* It will not be: the first reason counts. */
static void decide(struct hall *hall, const struct ronde_error *why)
{
    if (hall->verdict.status != RONDE_OK)
        return;
    hall->verdict = *why;
    hall->verdict_ns = ronde_clock_ns();
}

/* Refuses a guest who knows the token, and tells it why. */
static void refuse_member(const struct hall *hall, const struct guest *guest, const char *text)
{
    const struct ronde_error why = {.status = RONDE_REJECTED};
    struct ronde_error told = why;
    snprintf(told.message, sizeof told.message, "rank 0 refuses rank %u: %s", guest->greeting.rank,
             text);
    ronde_frame_alarm(guest->fd, &told);
    note(hall, guest->fd, text);
}

/* Without a hint from the time it takes, as far as a compiler allows. */
static bool is_token_right(const struct hall *hall, const struct guest *guest)
{
    struct ronde_greeting own;
    volatile unsigned char difference = 0;
    fill_greeting(hall->join, hall->secret, &own);
    for (size_t k = 0; k < sizeof own.token; k++)
        difference |= (unsigned char)(own.token[k] ^ guest->greeting.token[k]);
    return difference == 0;
}

/* A member whose build or idea of the job differs: nobody can go on. */
static enum ronde_status check_member(const struct hall *hall, struct guest *guest,
                                      struct ronde_error *error)
{
    struct ronde_greeting *greeting = &guest->greeting;
    greeting->library[sizeof greeting->library - 1] = '\0';
    if (greeting->wire != RONDE_STAR_WIRE || strcmp(greeting->library, RONDE_VERSION) != 0)
        return ronde_fail(error, RONDE_REJECTED,
                          "rank %u runs ronde %s (wire %u), rank 0 runs ronde %s (wire %u)",
                          greeting->rank, greeting->library, greeting->wire, RONDE_VERSION,
                          RONDE_STAR_WIRE);
    if (greeting->ranks != hall->join->ranks)
        return ronde_fail(error, RONDE_REJECTED, "rank %u expects %u ranks, rank 0 expects %u",
                          greeting->rank, greeting->ranks, hall->join->ranks);
    return RONDE_OK;
}

/* A complete greeting: the guest becomes a member, is dropped, or decides that it will not be. */
static void judge(struct hall *hall, uint32_t index)
{
    struct guest *guest = &hall->guests[index];
    struct ronde_star *star = hall->star;
    const uint32_t rank = guest->greeting.rank;
    if (guest->greeting.magic != RONDE_STAR_MAGIC || !is_token_right(hall, guest)) {
        const bool is_member = guest->greeting.magic == RONDE_STAR_MAGIC;
        const struct ronde_error refusal = {.status = RONDE_REJECTED,
                                            .message = "rank 0 refuses: the token is wrong"};
        if (is_member)
            ronde_frame_alarm(guest->fd, &refusal);
        note(hall, guest->fd, is_member ? "wrong token" : "not a greeting of ronde");
        drop_guest(hall, index);
        return;
    }
    struct ronde_error why = {0};
    if (check_member(hall, guest, &why) != RONDE_OK) {
        ronde_frame_alarm(guest->fd, &why);
        drop_guest(hall, index);
        hall->arrived++;
        decide(hall, &why);
        return;
    }
    if (rank == 0 || rank >= star->ranks || star->polls[rank].fd >= 0) {
        refuse_member(hall, guest,
                      rank == 0 || rank >= star->ranks ? "there is no such rank to join"
                                                       : "this rank has joined already");
        drop_guest(hall, index);
        return;
    }
    hall->arrived++;
    if (hall->verdict.status == RONDE_OK) {
        star->polls[rank].fd = guest->fd;
        guest->fd = -1;
    } else {
        ronde_frame_alarm(guest->fd, &hall->verdict);
    }
    drop_guest(hall, index);
}

/* Reads what a guest has sent so far. */
static void listen_to(struct hall *hall, uint32_t index)
{
    struct guest *guest = &hall->guests[index];
    const ssize_t moved = recv(guest->fd, (char *)&guest->greeting + guest->have,
                               sizeof guest->greeting - guest->have, 0);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (moved <= 0) {
        note(hall, guest->fd, "left without a greeting");
        drop_guest(hall, index);
        return;
    }
    guest->have += (size_t)moved;
    if (guest->have == sizeof guest->greeting)
        judge(hall, index);
}

/*
 * A guest is at the door and cannot be taken. Others may go soon and make room; where all descriptors are members', the
 * last one serves to tell those that come, one after another, why it will not be.
 */
static void run_short(struct hall *hall, int reason)
{
    struct ronde_error why = {0};
    hall->is_full = true;
    if (hall->guest_count > 0 || hall->spare < 0)
        return;
    close(hall->spare);
    hall->spare = -1;
    hall->is_full = false;
    (void)ronde_fail(&why, RONDE_DEVICE,
                     "rank 0 cannot hold connections to %u ranks, after %u of them: %s (ulimit -n)",
                     hall->star->ranks - 1, hall->arrived, strerror(reason));
    decide(hall, &why);
}

static void welcome_guests(struct hall *hall)
{
    while (hall->guest_count < MAX_GUESTS) {
        const int fd = ronde_socket_accept(hall->listener);
        const int reason = errno;
        if (fd < 0 && (reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM))
            run_short(hall, reason);
        if (fd < 0)
            return;
        struct guest *guest = &hall->guests[hall->guest_count++];
        memset(guest, 0, sizeof *guest);
        guest->fd = fd;
        guest->since_ns = ronde_clock_ns();
    }
}

/* How long a guest may take: a member's greeting is on its way already, so when places are short, not long. */
static double patience_ns(const struct hall *hall)
{
    return hall->guest_count == MAX_GUESTS || hall->is_full ? HURRY_NS : GREETING_NS;
}

/* One look at every guest, from the youngest, so that dropping one moves no other that is due, and at the door. */
static void take_turn(struct hall *hall, int wait_ms)
{
    struct pollfd polls[MAX_GUESTS + 1];
    const uint32_t count = hall->guest_count;
    for (uint32_t g = 0; g < count; g++)
        polls[g] = (struct pollfd){hall->guests[g].fd, POLLIN, 0};
    /* Without a free place whoever is at the door has to wait there. */
    const bool has_room = count < MAX_GUESTS && !hall->is_full;
    polls[count] = (struct pollfd){has_room ? hall->listener : -1, POLLIN, 0};
    if (poll(polls, count + 1, wait_ms) < 0)
        return;
    for (uint32_t g = count; g-- > 0;) {
        if (polls[g].revents != 0) {
            listen_to(hall, g);
        } else if (ronde_clock_ns() - hall->guests[g].since_ns > patience_ns(hall)) {
            note(hall, hall->guests[g].fd, "too slow to greet");
            drop_guest(hall, g);
        }
    }
    if (polls[count].revents != 0)
        welcome_guests(hall);
}

/* Names up to a line full of the ranks that have not come. */
static enum ronde_status fail_missing(const struct ronde_star *star, struct ronde_error *error)
{
    char list[128] = "";
    for (uint32_t rank = 1; rank < star->ranks; rank++) {
        const size_t used = strlen(list);
        if (star->polls[rank].fd >= 0)
            continue;
        if (used > sizeof list - 24) {
            strcat(list, " and more");
            break;
        }
        snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "", rank);
    }
    return ronde_fail(error, RONDE_TIMEOUT,
                      "these ranks have not arrived at rank 0 within %.3g s: %s",
                      (double)star->timeout_ns / 1e9, list);
}

/* Waits until all have come, or it is clear that it will not be. */
static enum ronde_status await_all(struct hall *hall, double deadline_ns, struct ronde_error *error)
{
    const struct ronde_star *star = hall->star;
    while (hall->arrived + 1 < star->ranks) {
        const bool is_decided = hall->verdict.status != RONDE_OK;
        const double until_ns = is_decided ? hall->verdict_ns + LINGER_NS : deadline_ns;
        const int wait_ms = ronde_socket_left_ms(until_ns, 50);
        if (wait_ms == 0 && is_decided)
            break;
        if (wait_ms == 0)
            return fail_missing(star, error);
        take_turn(hall, wait_ms);
    }
    if (hall->verdict.status == RONDE_OK)
        return RONDE_OK;
    return ronde_fail(error, hall->verdict.status, "%s", hall->verdict.message);
}

/* The part of rank 0. */
static enum ronde_status host_all(struct hall *hall, double deadline_ns, struct ronde_error *error)
{
    struct ronde_star *star = hall->star;
    enum ronde_status status = await_all(hall, deadline_ns, error);
    while (hall->guest_count > 0) {
        note(hall, hall->guests[0].fd, "everybody is here");
        drop_guest(hall, 0);
    }
    for (uint32_t rank = 1; rank < star->ranks; rank++) {
        const int fd = star->polls[rank].fd;
        if (status != RONDE_OK && fd >= 0)
            ronde_frame_alarm(fd, error);
        else if (status == RONDE_OK &&
                 ronde_frame_send(fd, RONDE_FRAME_WELCOME, NULL, 0, deadline_ns) != RONDE_OK)
            status = ronde_fail(error, RONDE_DEVICE, "rank %u was lost while the others came", rank);
    }
    return status;
}

/* Opens the door: a listener that was given, one at an address, or one that a file tells of, with a secret of its own. */
static enum ronde_status open_door(const struct ronde_join *join, struct ronde_place *place,
                                   int *out_listener, struct ronde_error *error)
{
    *out_listener = join->listener;
    if (join->listener > 0)
        return RONDE_OK;
    enum ronde_status status = ronde_socket_listen(join->host ? join->host : LOOPBACK,
                                                   join->host ? join->port : 0, out_listener, error);
    if (status == RONDE_OK && !join->host)
        status = ronde_token_draw(place->secret, error);
    if (status != RONDE_OK || join->host)
        return status;
    place->port = ronde_socket_port(*out_listener);
    return ronde_place_tell(join->token, place, error);
}

static enum ronde_status host_star(struct ronde_star *star, const struct ronde_join *join,
                                   const struct ronde_comm_options *options,
                                   struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + (double)star->timeout_ns;
    int listener = join->listener;
    struct ronde_place place = {0};
    enum ronde_status status =
        star->ranks > 1 ? open_door(join, &place, &listener, error) : RONDE_OK;
    if (status == RONDE_OK && star->ranks > 1) {
        struct hall *hall = ronde_mem_new(star->mem, 1, sizeof *hall);
        if (hall) {
            hall->star = star;
            hall->join = join;
            hall->secret = place.port ? place.secret : join->token;
            hall->options = options;
            hall->listener = listener;
            hall->spare = dup(listener);
            status = host_all(hall, deadline_ns, error);
            if (hall->spare >= 0)
                close(hall->spare);
        } else {
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for the rendezvous");
        }
        ronde_mem_free(star->mem, hall, 1, sizeof *hall);
        if (!join->host && join->listener <= 0)
            ronde_place_forget(join->token);
    }
    if (listener > 0)
        close(listener);
    return status;
}

/* Where rank 0 is, in words. */
static void name_door(const struct ronde_join *join, char text[RONDE_ADDRESS_BYTES])
{
    if (join->host)
        snprintf(text, RONDE_ADDRESS_BYTES, "%.64s:%u", join->host, join->port);
    else
        snprintf(text, RONDE_ADDRESS_BYTES, "the meeting place of \"%.40s\"", join->token);
}

/* What rank 0 says once everybody is there, or before. */
static enum ronde_status await_welcome(const struct ronde_star *star, const struct ronde_join *join,
                                       double deadline_ns, struct ronde_error *error)
{
    struct ronde_frame_head head = {0, 0};
    char door[RONDE_ADDRESS_BYTES];
    const int fd = star->polls[0].fd;
    const enum ronde_status status =
        ronde_socket_receive(fd, &head, sizeof head, deadline_ns + GRACE_NS);
    if (status == RONDE_OK && head.kind == RONDE_FRAME_WELCOME && head.bytes == 0)
        return RONDE_OK;
    if (status == RONDE_OK && head.kind == RONDE_FRAME_ALARM)
        return ronde_frame_read_alarm(fd, head.bytes, error);
    name_door(join, door);
    if (status == RONDE_TIMEOUT)
        return ronde_fail(error, RONDE_TIMEOUT,
                          "rank 0 at %s has not said within %.3g s that all ranks are there", door,
                          (double)star->timeout_ns / 1e9);
    if (status == RONDE_IO)
        return ronde_fail(error, RONDE_DEVICE, "rank 0 at %s has hung up", door);
    return ronde_fail(error, RONDE_REJECTED, "who answers at %s is no rank 0 of ronde", door);
}

/* A file may be one that an earlier job left: it is read again as often as nobody answers. */
static enum ronde_status find_door(const struct ronde_join *join, struct ronde_place *place,
                                   double deadline_ns, int *out_fd, struct ronde_error *error)
{
    if (join->host)
        return ronde_socket_connect(join->host, join->port, deadline_ns, out_fd, error);
    const struct timespec pause = {0, PLACE_RETRY_NS};
    while (ronde_clock_ns() < deadline_ns) {
        struct ronde_error unused = {0};
        if (ronde_place_ask(join->token, place) &&
            ronde_socket_connect(LOOPBACK, place->port, ronde_clock_ns() + (double)PLACE_RETRY_NS,
                                 out_fd, &unused) == RONDE_OK)
            return RONDE_OK;
        (void)nanosleep(&pause, NULL);
    }
    return ronde_fail(error, RONDE_TIMEOUT,
                      "rank 0 has opened no meeting place for \"%.64s\" on this machine",
                      join->token);
}

static enum ronde_status join_star(struct ronde_star *star, const struct ronde_join *join,
                                   struct ronde_error *error)
{
    struct ronde_greeting greeting;
    const double deadline_ns = ronde_clock_ns() + (double)star->timeout_ns;
    struct ronde_place place = {0};
    enum ronde_status status = find_door(join, &place, deadline_ns, &star->polls[0].fd, error);
    if (status != RONDE_OK)
        return status;
    fill_greeting(join, join->host ? join->token : place.secret, &greeting);
    status = ronde_socket_send(star->polls[0].fd, &greeting, sizeof greeting, deadline_ns);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "rank 0 takes no greeting");
    return await_welcome(star, join, deadline_ns, error);
}

enum ronde_status ronde_star_meet(struct ronde_star *star, const struct ronde_join *join,
                                  const struct ronde_comm_options *options,
                                  struct ronde_error *error)
{
    return star->rank == 0 ? host_star(star, join, options, error) : join_star(star, join, error);
}
