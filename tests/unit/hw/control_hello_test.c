/*
 * The first message on every connection of a rendezvous: what rank 0 makes of hellos that the test writes, byte by byte, and
 * what another rank makes of whatever answers in rank 0's place.
 *
 * Connections wait in the listener's backlog with all they have sent, so rank 0's side needs no second process.
 */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/hw.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 3u
#define TOKEN "the secret of the job"
#define NOTES 16u

/* What rank 0 reports. */
struct notes {
    char texts[NOTES][160];
    uint32_t count;
};

static void take_note(void *self, const char *text)
{
    struct notes *notes = self;
    if (notes->count < NOTES)
        snprintf(notes->texts[notes->count++], sizeof notes->texts[0], "%s", text);
}

/* A rendezvous of rank 0 with connections that the test has opened. */
struct fixture {
    struct heap heap;
    struct ronde_mem mem;
    struct notes notes;
    struct ronde_join join;
    struct ronde_control_channel *control;
    struct ronde_error error;
    uint16_t port;
    int clients[8];
    uint32_t client_count;
};

static bool begin(struct fixture *fixture, uint32_t ranks)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->heap = heap_start(SIZE_MAX, false);
    fixture->mem = heap_mem(&fixture->heap);
    fixture->join = (struct ronde_join){.host = "127.0.0.1",
                                        .token = TOKEN,
                                        .ranks = ranks,
                                        .has_listener = true};
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_socket_listen("127.0.0.1", 0, &fixture->join.listener, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    fixture->port = ronde_socket_port(fixture->join.listener);
    fixture->join.port = fixture->port;
    return status == RONDE_OK;
}

static void end(struct fixture *fixture)
{
    for (uint32_t k = 0; k < fixture->client_count; k++)
        if (fixture->clients[k] >= 0)
            close(fixture->clients[k]);
    ronde_control_destroy(fixture->control);
    CU_ASSERT_EQUAL(fixture->heap.live_blocks, 0);
}

/* Connects, and sends bytes; the index of the connection. */
static uint32_t connect_with(struct fixture *fixture, const void *data, size_t bytes)
{
    int *fd = &fixture->clients[fixture->client_count];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_socket_connect("127.0.0.1", fixture->port, ronde_clock_ns() + 1e10, fd,
                                         &error),
                    RONDE_OK);
    if (bytes > 0)
        CU_ASSERT_EQUAL(ronde_socket_send(*fd, data, bytes, ronde_clock_ns() + 1e10), RONDE_OK);
    return fixture->client_count++;
}

static struct ronde_hello hello_of(uint32_t rank, uint32_t ranks)
{
    struct ronde_hello hello;
    memset(&hello, 0, sizeof hello);
    hello.magic = RONDE_CONTROL_MAGIC;
    hello.wire = RONDE_CONTROL_VERSION;
    hello.rank = rank;
    hello.ranks = ranks;
    snprintf(hello.library, sizeof hello.library, "%s", RONDE_VERSION);
    snprintf(hello.token, sizeof hello.token, "%s", TOKEN);
    return hello;
}

static uint32_t connect_rank(struct fixture *fixture, uint32_t rank)
{
    const struct ronde_hello hello = hello_of(rank, fixture->join.ranks);
    return connect_with(fixture, &hello, sizeof hello);
}

static enum ronde_status meet(struct fixture *fixture)
{
    const struct ronde_comm_options options = {.timeout_ns = UINT64_C(20000000000),
                                               .note = take_note,
                                               .note_self = &fixture->notes};
    return ronde_control_create(&fixture->join, &options, &fixture->mem, &fixture->control,
                                &fixture->error);
}

/* What a connection has received: the kind of the frame, and of an alarm its text; 0 where it was closed without one. */
static uint32_t received(const struct fixture *fixture, uint32_t client, char text[160])
{
    struct ronde_frame_head head = {0, 0};
    struct ronde_alarm alarm;
    const int fd = fixture->clients[client];
    text[0] = '\0';
    if (ronde_socket_receive(fd, &head, sizeof head, ronde_clock_ns() + 5e9) != RONDE_OK)
        return 0;
    if (head.kind == RONDE_FRAME_ALARM &&
        ronde_socket_receive(fd, &alarm, sizeof alarm, ronde_clock_ns() + 5e9) == RONDE_OK)
        snprintf(text, 160, "%.159s", alarm.text);
    return head.kind;
}

static void expect_connected(const struct fixture *fixture, uint32_t client)
{
    char text[160];
    CU_ASSERT_EQUAL(received(fixture, client, text), RONDE_FRAME_CONNECTED);
}

/* Refused with a reason, or without one where nothing shows that it is a rank. */
static void expect_refused(const struct fixture *fixture, uint32_t client, const char *reason)
{
    char text[160];
    const uint32_t kind = received(fixture, client, text);
    CU_ASSERT_EQUAL(kind, reason ? (uint32_t)RONDE_FRAME_ALARM : 0u);
    CU_ASSERT_STRING_EQUAL(text, reason ? reason : "");
}

static bool has_note(const struct fixture *fixture, const char *part)
{
    for (uint32_t k = 0; k < fixture->notes.count; k++)
        if (strstr(fixture->notes.texts[k], part))
            return true;
    return false;
}

static void ranks_may_come_in_any_order(void)
{
    static const uint32_t orders[][RANKS] = {{1, 2, 3}, {3, 2, 1}, {2, 3, 1}};
    for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture, 4))
            return;
        for (uint32_t c = 0; c < 3; c++)
            (void)connect_rank(&fixture, orders[k][c]);
        CU_ASSERT_EQUAL(meet(&fixture), RONDE_OK);
        CU_ASSERT_EQUAL(fixture.notes.count, 0);
        for (uint32_t c = 0; c < 3; c++)
            expect_connected(&fixture, c);
        /* Each connection belongs to the rank that its hello named. */
        for (uint32_t c = 0; c < 3; c++) {
            const struct ronde_frame_head leave = {RONDE_FRAME_LEAVE, 0};
            CU_ASSERT_EQUAL(send(fixture.clients[c], &leave, sizeof leave, 0), sizeof leave);
            CU_ASSERT_FALSE(ronde_control_has_left(fixture.control, orders[k][c]));
            CU_ASSERT_EQUAL(ronde_control_linger(fixture.control, 2e7, &fixture.error), RONDE_OK);
            CU_ASSERT_TRUE(ronde_control_has_left(fixture.control, orders[k][c]));
        }
        end(&fixture);
    }
}

/* A connection that is no rank, before those of the ranks: it is dropped, they are not. */
struct foreign_hello {
    const char *what;
    size_t offset; /* of what is changed in a good hello of rank 1 */
    uint64_t value;
    size_t bytes;
    const char *reason; /* that it is sent, or NULL */
    const char *note;
};

static const struct foreign_hello foreign_hellos[] = {
    {"another magic", offsetof(struct ronde_hello, magic), 1, 8, NULL, "not a greeting of ronde"},
    {"the other byte order", offsetof(struct ronde_hello, magic), UINT64_C(0x72646e6f726e6465), 8,
     NULL, "not a greeting of ronde"},
    {"no token", offsetof(struct ronde_hello, token), 0, 1, "rank 0 refuses: the token is wrong",
     "wrong token"},
    {"a token that differs in its last byte", offsetof(struct ronde_hello, token) + 20, 'x', 1,
     "rank 0 refuses: the token is wrong", "wrong token"},
    {"a token that is longer", offsetof(struct ronde_hello, token) + 21, 'x', 1,
     "rank 0 refuses: the token is wrong", "wrong token"},
    {"bytes behind the token's end", offsetof(struct ronde_hello, token) + 100, 'x', 1,
     "rank 0 refuses: the token is wrong", "wrong token"},
    {"rank 0", offsetof(struct ronde_hello, rank), 0, 4,
     "rank 0 refuses rank 0: there is no such rank to join", "there is no such rank to join"},
    {"a rank beyond the last", offsetof(struct ronde_hello, rank), RANKS, 4,
     "rank 0 refuses rank 3: there is no such rank to join", "there is no such rank to join"},
    {"the largest number as rank", offsetof(struct ronde_hello, rank), UINT32_MAX, 4,
     "rank 0 refuses rank 4294967295: there is no such rank to join", "there is no such rank"},
};

static void who_is_no_rank_is_dropped_and_the_others_join(void)
{
    for (size_t k = 0; k < sizeof foreign_hellos / sizeof foreign_hellos[0]; k++) {
        const struct foreign_hello *foreign = &foreign_hellos[k];
        struct ronde_hello hello = hello_of(1, RANKS);
        struct fixture fixture;
        memcpy((char *)&hello + foreign->offset, &foreign->value, foreign->bytes);
        if (!begin(&fixture, RANKS))
            return;
        const uint32_t first = connect_with(&fixture, &hello, sizeof hello);
        const uint32_t one = connect_rank(&fixture, 1), two = connect_rank(&fixture, 2);
        CU_ASSERT_EQUAL(meet(&fixture), RONDE_OK);
        expect_refused(&fixture, first, foreign->reason);
        expect_connected(&fixture, one);
        expect_connected(&fixture, two);
        CU_ASSERT(has_note(&fixture, foreign->note));
        if (!has_note(&fixture, foreign->note))
            suite_note("%s: no note \"%s\"", foreign->what, foreign->note);
        end(&fixture);
    }
}

/* The first that shows the token is the rank; the second is told so. Rank 0 reads the youngest connection first. */
static void a_rank_that_comes_twice_is_told(void)
{
    struct fixture fixture;
    if (!begin(&fixture, RANKS))
        return;
    const uint32_t older = connect_rank(&fixture, 1), younger = connect_rank(&fixture, 1);
    const uint32_t other = connect_rank(&fixture, 2);
    CU_ASSERT_EQUAL(meet(&fixture), RONDE_OK);
    expect_connected(&fixture, other);
    expect_connected(&fixture, younger);
    expect_refused(&fixture, older,
                   "rank 0 refuses rank 1: this rank has joined already; was it started twice?");
    CU_ASSERT(has_note(&fixture, "this rank has joined already"));
    end(&fixture);
}

static void half_a_hello_and_an_end_is_dropped(void)
{
    static const size_t lengths[] = {0, 1, 8, sizeof(struct ronde_hello) - 1};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const struct ronde_hello hello = hello_of(1, RANKS);
        struct fixture fixture;
        if (!begin(&fixture, RANKS))
            return;
        const uint32_t half = connect_with(&fixture, &hello, lengths[k]);
        (void)shutdown(fixture.clients[half], SHUT_WR);
        (void)connect_rank(&fixture, 1);
        (void)connect_rank(&fixture, 2);
        CU_ASSERT_EQUAL(meet(&fixture), RONDE_OK);
        expect_refused(&fixture, half, NULL);
        /* Which of the two it is depends on whether its end is read before the last rank's hello. */
        CU_ASSERT_EQUAL(fixture.notes.count, 1);
        CU_ASSERT(has_note(&fixture, "left without a greeting") ||
                  has_note(&fixture, "all ranks have joined"));
        end(&fixture);
    }
}

/* One that says nothing is still open when all ranks are there: it is closed then, and noted. */
static void who_says_nothing_is_closed_in_the_end(void)
{
    struct fixture fixture;
    if (!begin(&fixture, RANKS))
        return;
    const uint32_t silent = connect_with(&fixture, NULL, 0);
    (void)connect_rank(&fixture, 1);
    (void)connect_rank(&fixture, 2);
    CU_ASSERT_EQUAL(meet(&fixture), RONDE_OK);
    expect_refused(&fixture, silent, NULL);
    CU_ASSERT(has_note(&fixture, "all ranks have joined"));
    end(&fixture);
}

/* A version or a number of ranks that differs ends the rendezvous for all, with one reason. */
static void what_all_must_share_fails_for_all(void)
{
    static const struct {
        size_t offset;
        const void *data;
        size_t bytes;
        const char *text;
    } rows[] = {
        {offsetof(struct ronde_hello, wire), "\x63\0\0", 4, "(wire 99), rank 0 runs ronde"},
        {offsetof(struct ronde_hello, library), "9.9.9", 6, "rank 1 runs ronde 9.9.9 (wire"},
        {offsetof(struct ronde_hello, library), "aaaaaaaaaaaaaaaaaaaaaaaa", 24,
         "rank 1 runs ronde aaaaaaaaaaaaaaaaaaaaaaa (wire"},
        {offsetof(struct ronde_hello, ranks), "\5\0\0", 4,
         "rank 1 expects 5 ranks, rank 0 expects 3"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_hello hello = hello_of(1, RANKS);
        struct fixture fixture;
        char text[160];
        memcpy((char *)&hello + rows[k].offset, rows[k].data, rows[k].bytes);
        if (!begin(&fixture, RANKS))
            return;
        const uint32_t other = connect_with(&fixture, &hello, sizeof hello);
        const uint32_t good = connect_rank(&fixture, 2);
        CU_ASSERT_EQUAL(meet(&fixture), RONDE_REJECTED);
        CU_ASSERT_PTR_NULL(fixture.control);
        CU_ASSERT_PTR_NOT_NULL(strstr(fixture.error.message, rows[k].text));
        CU_ASSERT_EQUAL(received(&fixture, other, text), RONDE_FRAME_ALARM);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[k].text));
        CU_ASSERT_EQUAL(received(&fixture, good, text), RONDE_FRAME_ALARM);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[k].text));
        end(&fixture);
    }
}

static void ranks_that_do_not_come_are_listed(void)
{
    struct fixture fixture;
    char text[160];
    if (!begin(&fixture, 6))
        return;
    const uint32_t client = connect_rank(&fixture, 3);
    const struct ronde_comm_options options = {.timeout_ns = 100000000};
    CU_ASSERT_EQUAL(ronde_control_create(&fixture.join, &options, &fixture.mem, &fixture.control,
                                         &fixture.error),
                    RONDE_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(fixture.error.message,
                           "these ranks have not arrived at rank 0 within 0.1 s: 1, 2, 4, 5");
    CU_ASSERT_EQUAL(received(&fixture, client, text), RONDE_FRAME_ALARM);
    CU_ASSERT_STRING_EQUAL(text, fixture.error.message);
    end(&fixture);
}

/* Every allocation of rank 0 fails once: an error, no connection left open, nothing left allocated. */
static void without_memory_there_is_no_rendezvous(void)
{
    for (size_t refused = 0; refused < 4; refused++) {
        struct fixture fixture;
        if (!begin(&fixture, 2))
            return;
        fixture.heap.refuse_at = refused;
        fixture.heap.refuse_once = true;
        (void)connect_rank(&fixture, 1);
        CU_ASSERT_EQUAL(meet(&fixture), RONDE_NO_MEMORY);
        CU_ASSERT_PTR_NULL(fixture.control);
        expect_refused(&fixture, 0, NULL);
        end(&fixture);
    }
}

/* A child takes rank 0's place, answers one connection, and is gone. */
static pid_t answer(int listener, const void *data, size_t bytes)
{
    const pid_t child = fork();
    if (child == 0) {
        struct ronde_hello hello;
        int fd = -1;
        while (fd < 0)
            fd = ronde_socket_accept(listener);
        (void)!ronde_socket_receive(fd, &hello, sizeof hello, ronde_clock_ns() + 5e9);
        const bool is_rank_1 = hello.magic == RONDE_CONTROL_MAGIC && hello.rank == 1;
        (void)!ronde_socket_send(fd, data, bytes, ronde_clock_ns() + 5e9);
        _exit(is_rank_1 && strcmp(hello.token, TOKEN) == 0 ? 0 : 1);
    }
    return child;
}

static const struct ronde_frame_head connected = {RONDE_FRAME_CONNECTED, 0};
static const struct ronde_frame_head connected_with_bytes = {RONDE_FRAME_CONNECTED, 4};
static const struct ronde_frame_head part = {RONDE_FRAME_ALLGATHER_PART, 0};
static const struct {
    struct ronde_frame_head head;
    struct ronde_alarm alarm;
} refusal = {{RONDE_FRAME_ALARM, sizeof(struct ronde_alarm)}, {RONDE_REJECTED, "we are full"}};
static const struct ronde_frame_head bare_alarm = {RONDE_FRAME_ALARM, 0};

static void whatever_answers_for_rank_0_is_judged(void)
{
    static const struct {
        const char *what;
        const void *data;
        size_t bytes;
        enum ronde_status status;
        const char *text;
    } rows[] = {
        {"rank 0", &connected, sizeof connected, RONDE_OK, ""},
        {"rank 0 with too much to say", &connected_with_bytes, sizeof connected_with_bytes,
         RONDE_REJECTED, "is not rank 0 of a ronde job"},
        {"another frame", &part, sizeof part, RONDE_REJECTED, "is not rank 0 of a ronde job"},
        {"a refusal", &refusal, sizeof refusal, RONDE_REJECTED, "we are full"},
        {"half a refusal", &refusal, sizeof refusal - 1, RONDE_IO, "no message of ronde"},
        {"an alarm of no bytes", &bare_alarm, sizeof bare_alarm, RONDE_IO, "no message of ronde"},
        {"a web server", "HTTP/1.1 400 Bad Request\r\n\r\n", 28, RONDE_REJECTED,
         "is not rank 0 of a ronde job"},
        {"who hangs up", "", 0, RONDE_DEVICE, "has hung up"},
        {"who hangs up in a head", "abc", 3, RONDE_DEVICE, "has hung up"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        int state = -1;
        if (!begin(&fixture, 2))
            return;
        const int listener = fixture.join.listener;
        const pid_t child = answer(listener, rows[k].data, rows[k].bytes);
        fixture.join.has_listener = false;
        fixture.join.rank = 1;
        const enum ronde_status status = meet(&fixture);
        CU_ASSERT_EQUAL(status, rows[k].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(fixture.error.message, rows[k].text));
        if (status != rows[k].status || !strstr(fixture.error.message, rows[k].text))
            suite_note("%s: %s", rows[k].what, fixture.error.message);
        CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
        CU_ASSERT_EQUAL(state, 0);
        close(listener);
        end(&fixture);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"ranks_may_come_in_any_order", ranks_may_come_in_any_order},
        {"who_is_no_rank_is_dropped_and_the_others_join",
         who_is_no_rank_is_dropped_and_the_others_join},
        {"a_rank_that_comes_twice_is_told", a_rank_that_comes_twice_is_told},
        {"half_a_hello_and_an_end_is_dropped", half_a_hello_and_an_end_is_dropped},
        {"who_says_nothing_is_closed_in_the_end", who_says_nothing_is_closed_in_the_end},
        {"what_all_must_share_fails_for_all", what_all_must_share_fails_for_all},
        {"ranks_that_do_not_come_are_listed", ranks_that_do_not_come_are_listed},
        {"without_memory_there_is_no_rendezvous", without_memory_there_is_no_rendezvous},
        {"whatever_answers_for_rank_0_is_judged", whatever_answers_for_rank_0_is_judged},
    };
    return suite_run("control_hello", cases, sizeof cases / sizeof cases[0]);
}
