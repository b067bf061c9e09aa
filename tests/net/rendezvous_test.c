/*
 * The rendezvous against foreign connections, mismatched ranks, absent ranks and taken ports.
 */
#include "net/team.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "hw/bootstrap/control_channel.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* Byte streams thrown at a rendezvous. */
#define STREAMS 1000u

/* A member that does nothing but come, gather and go. */
static enum ronde_status come(const struct team_member *member, struct ronde_error *error)
{
    /* 64 processes of one machine must be through in 2 s. */
    const struct ronde_comm_options options = team_options(member->self ? 20 : 2);
    struct ronde_control_channel *control = NULL;
    uint32_t all[TEAM_MAX] = {0};
    enum ronde_status status =
        ronde_control_create(&member->join, &options, ronde_mem_default(), &control, error);
    const uint32_t mine = member->join.rank * member->join.rank;
    for (int round = 0; round < 3 && status == RONDE_OK; round++) {
        status = ronde_control_allgather(control, &mine, sizeof mine, all, error);
        for (uint32_t rank = 0; rank < member->join.ranks && status == RONDE_OK; rank++)
            (void)team_check(member, all[rank] == rank * rank, "a rank's bytes are wrong");
    }
    ronde_control_destroy(control);
    return status;
}

static void sixty_four_ranks_connect_within_two_seconds(void)
{
    team_run_expecting(64, come, NULL, results, RONDE_OK);
}

/* Counts what was refused. */
static void count_note(void *self, const char *text)
{
    uint64_t *count = self;
    *count += strstr(text, "refused") != NULL;
}

/* Says something to the rendezvous and hangs up, in one of several ways. */
static void throw_at(const struct ronde_join *join, const void *data, size_t bytes, bool waits)
{
    struct ronde_error error = {0};
    int fd = -1;
    char answer[64];
    const double soon_ns = ronde_clock_ns() + 5e9;
    if (ronde_socket_connect("127.0.0.1", join->port, soon_ns, &fd, &error) != RONDE_OK)
        return;
    (void)ronde_socket_send(fd, data, bytes, soon_ns);
    if (waits)
        (void)ronde_socket_receive(fd, answer, sizeof answer, ronde_clock_ns() + 1e7);
    close(fd);
}

/* Rank 1 first opens foreign connections, then joins as it should. */
static enum ronde_status join_after_foreign(const struct team_member *member,
                                            struct ronde_error *error)
{
    struct ronde_comm_options options = team_options(60);
    struct ronde_control_channel *control = NULL;
    uint64_t random = 7;
    options.note = count_note;
    options.note_self = &member->result->number;
    for (uint32_t k = 0; member->join.rank == 1 && k < STREAMS; k++) {
        unsigned char bytes[400];
        const size_t length = buffers_draw(&random) % sizeof bytes;
        for (size_t b = 0; b < length; b++)
            bytes[b] = (unsigned char)buffers_draw(&random);
        /* Now and then something that begins well. */
        const uint64_t magic = RONDE_CONTROL_MAGIC;
        if (k % 4 == 0)
            memcpy(bytes, &magic, sizeof magic);
        throw_at(&member->join, bytes, length, k % 100 == 0);
    }
    const enum ronde_status status =
        ronde_control_create(&member->join, &options, ronde_mem_default(), &control, error);
    ronde_control_destroy(control);
    return status;
}

static void a_thousand_random_streams_do_no_harm(void)
{
    team_run_expecting(2, join_after_foreign, NULL, results, RONDE_OK);
    CU_ASSERT_EQUAL(results[0].number, STREAMS);
}

/* Connections that send nothing, more than rank 0 holds pending at once, while the others join. */
static enum ronde_status come_among_the_silent(const struct team_member *member,
                                               struct ronde_error *error)
{
    int silent[100];
    struct ronde_error unused = {0};
    for (uint32_t k = 0; member->join.rank == 1 && k < 100; k++) {
        silent[k] = -1;
        (void)ronde_socket_connect("127.0.0.1", member->join.port, ronde_clock_ns() + 5e9,
                                   &silent[k], &unused);
    }
    const enum ronde_status status = come(member, error);
    for (uint32_t k = 0; member->join.rank == 1 && k < 100; k++)
        if (silent[k] >= 0)
            close(silent[k]);
    return status;
}

static void silent_foreign_connections_delay_no_rank(void)
{
    const bool is_patient = true;
    team_run_expecting(4, come_among_the_silent, &is_patient, results, RONDE_OK);
}

/* How rank 1 differs from what it should be. */
enum mistake {
    MISTAKE_TOKEN,
    MISTAKE_RANKS,
    MISTAKE_REMOTE_END,
    MISTAKE_NO_SUCH_RANK,
    MISTAKE_ABSENT
};

static enum ronde_status come_mistaken(const struct team_member *member, struct ronde_error *error)
{
    const enum mistake mistake = *(const enum mistake *)member->self;
    struct ronde_comm_options options = team_options(1);
    struct ronde_join join = member->join;
    struct ronde_control_channel *control = NULL;
    if (join.rank == 1 && mistake == MISTAKE_ABSENT)
        return RONDE_OK;
    if (join.rank == 1 && mistake == MISTAKE_TOKEN)
        join.token = "of another job";
    if (join.rank == 1 && mistake == MISTAKE_RANKS)
        join.ranks = 7;
    if (join.rank == 1 && mistake == MISTAKE_REMOTE_END)
        join.rank = 2;
    if (join.rank == 1 && mistake == MISTAKE_NO_SUCH_RANK) {
        join.ranks = 9;
        join.rank = 8;
    }
    const enum ronde_status status =
        ronde_control_create(&join, &options, ronde_mem_default(), &control, error);
    (void)team_check(member, status != RONDE_OK && !control, "a mistake was not noticed");
    ronde_control_destroy(control);
    return status;
}

static const char *said(uint32_t rank)
{
    return results[rank].message;
}

static void mismatched_ranks_get_an_error_and_are_named(void)
{
    enum mistake mistake = MISTAKE_TOKEN;
    CU_ASSERT_FATAL(team_run(3, come_mistaken, &mistake, results));
    CU_ASSERT_PTR_NOT_NULL(strstr(said(1), "rank 0 refuses: the token is wrong"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said(0), "have not arrived at rank 0"));
    CU_ASSERT_STRING_EQUAL(said(0), said(2));

    mistake = MISTAKE_RANKS;
    CU_ASSERT_FATAL(team_run(3, come_mistaken, &mistake, results));
    team_expect(results, 2, RONDE_REJECTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(said(0), "rank 1 expects 7 ranks, rank 0 expects 3"));
    CU_ASSERT_STRING_EQUAL(said(0), said(1));

    mistake = MISTAKE_REMOTE_END;
    CU_ASSERT_FATAL(team_run(3, come_mistaken, &mistake, results));
    CU_ASSERT(strstr(said(1), "this rank has joined already") ||
              strstr(said(2), "this rank has joined already"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said(0), "have not arrived at rank 0"));

    mistake = MISTAKE_NO_SUCH_RANK;
    CU_ASSERT_FATAL(team_run(3, come_mistaken, &mistake, results));
    CU_ASSERT_PTR_NOT_NULL(strstr(said(0), "rank 8 expects 9 ranks"));
}

/* Connections that wait to be accepted. */
static unsigned backlog_of(int listener)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    return getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_unacked : 0;
}

/* Rank 1 of 2 comes as two processes, before rank 0 accepts. */
static enum ronde_status come_twice(const struct team_member *member, struct ronde_error *error)
{
    const struct timespec pause = {0, 1000000};
    const struct ronde_comm_options options = team_options(60);
    struct ronde_control_channel *control = NULL;
    struct ronde_join join = member->join;
    char all[2];
    join.ranks = 2;
    join.rank = join.rank > 0;
    while (join.rank == 0 && backlog_of(join.listener) < 2)
        (void)nanosleep(&pause, NULL);
    enum ronde_status status =
        ronde_control_create(&join, &options, ronde_mem_default(), &control, error);
    if (status == RONDE_OK)
        status = ronde_control_allgather(control, "x", 1, all, error);
    ronde_control_destroy(control);
    return status;
}

static void a_rank_that_is_started_twice_is_told(void)
{
    CU_ASSERT_FATAL(team_run(3, come_twice, NULL, results));
    CU_ASSERT_EQUAL(results[0].status, RONDE_OK);
    const uint32_t refused = results[1].status == RONDE_OK ? 2 : 1;
    CU_ASSERT_EQUAL(results[3 - refused].status, RONDE_OK);
    CU_ASSERT_EQUAL(results[refused].status, RONDE_REJECTED);
    CU_ASSERT_STRING_EQUAL(said(refused),
                           "rank 0 refuses rank 1: this rank has joined already; was "
                           "it started twice?");
}

static void an_absent_rank_is_named_to_all(void)
{
    const enum mistake mistake = MISTAKE_ABSENT;
    CU_ASSERT_FATAL(team_run(3, come_mistaken, &mistake, results));
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        CU_ASSERT_EQUAL(results[rank].status, RONDE_TIMEOUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(said(rank), "have not arrived at rank 0 within"));
        CU_ASSERT_PTR_NOT_NULL(strstr(said(rank), " s: 1"));
    }
}

/* Rank 1 greets as a build of another version would. */
static enum ronde_status greet_as_another(const struct team_member *member,
                                          struct ronde_error *error)
{
    const bool is_wire = *(const bool *)member->self;
    struct ronde_comm_options options = team_options(10);
    struct ronde_control_channel *control = NULL;
    struct ronde_hello greeting;
    if (member->join.rank != 1)
        return ronde_control_create(&member->join, &options, ronde_mem_default(), &control, error);
    memset(&greeting, 0, sizeof greeting);
    greeting.magic = RONDE_CONTROL_MAGIC;
    greeting.wire = is_wire ? RONDE_CONTROL_VERSION + 1 : RONDE_CONTROL_VERSION;
    greeting.rank = 1;
    greeting.ranks = member->join.ranks;
    snprintf(greeting.library, sizeof greeting.library, "%s", is_wire ? "0.1.0" : "99.0.1");
    snprintf(greeting.token, sizeof greeting.token, "%s", member->join.token);
    throw_at(&member->join, &greeting, sizeof greeting, false);
    return RONDE_REJECTED;
}

static void another_version_is_named_with_both_numbers(void)
{
    for (int is_wire = 0; is_wire < 2; is_wire++) {
        const bool flag = is_wire != 0;
        team_run_expecting(3, greet_as_another, &flag, results, RONDE_REJECTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(said(0), "rank 1 runs ronde "));
        CU_ASSERT_PTR_NOT_NULL(strstr(said(0), flag ? "wire 2" : "99.0.1"));
        CU_ASSERT_PTR_NOT_NULL(strstr(said(0), "rank 0 runs ronde "));
        CU_ASSERT_STRING_EQUAL(said(0), said(2));
    }
}

/* Rank 1 greets without a token, then with the beginning of the right one, and never as it should. */
static enum ronde_status greet_without_token(const struct team_member *member,
                                             struct ronde_error *error)
{
    struct ronde_comm_options options = team_options(1);
    struct ronde_control_channel *control = NULL;
    struct ronde_hello greeting;
    options.note = count_note;
    options.note_self = &member->result->number;
    if (member->join.rank != 1)
        return ronde_control_create(&member->join, &options, ronde_mem_default(), &control, error);
    memset(&greeting, 0, sizeof greeting);
    greeting.magic = RONDE_CONTROL_MAGIC;
    greeting.wire = RONDE_CONTROL_VERSION;
    greeting.rank = 1;
    greeting.ranks = member->join.ranks;
    snprintf(greeting.library, sizeof greeting.library, "%s", RONDE_VERSION);
    throw_at(&member->join, &greeting, sizeof greeting, true);
    greeting.token[0] = member->join.token[0];
    throw_at(&member->join, &greeting, sizeof greeting, true);
    return RONDE_TIMEOUT;
}

static void a_hello_without_the_token_is_refused(void)
{
    team_run_expecting(2, greet_without_token, NULL, results, RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(said(0), " s: 1"));
    CU_ASSERT_EQUAL(results[0].number, 2);
}

static void a_taken_port_is_an_error(void)
{
    struct ronde_error error = {0};
    struct ronde_comm_options options = team_options(1);
    struct ronde_control_channel *control = NULL;
    int taken = -1;
    CU_ASSERT_FATAL(ronde_socket_listen("127.0.0.1", 0, &taken, &error) == RONDE_OK);
    const struct ronde_join join = {.host = "127.0.0.1",
                                    .port = ronde_socket_port(taken),
                                    .token = "t",
                                    .ranks = 2};
    CU_ASSERT_EQUAL(ronde_control_create(&join, &options, ronde_mem_default(), &control, &error),
                    RONDE_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "cannot listen at 127.0.0.1:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "in use"));
    close(taken);
}

/* A server that is not ronde answers with something. */
static enum ronde_status meet_another_service(const struct team_member *member,
                                              struct ronde_error *error)
{
    struct ronde_comm_options options = team_options(10);
    struct ronde_control_channel *control = NULL;
    struct ronde_hello greeting;
    const double deadline_ns = ronde_clock_ns() + 2e10;
    if (member->join.rank == 1)
        return ronde_control_create(&member->join, &options, ronde_mem_default(), &control, error);
    int fd = -1;
    while (fd < 0 && ronde_clock_ns() < deadline_ns)
        fd = ronde_socket_accept(member->join.listener);
    (void)ronde_socket_receive(fd, &greeting, sizeof greeting, deadline_ns);
    (void)ronde_socket_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, deadline_ns);
    close(fd);
    close(member->join.listener);
    return RONDE_REJECTED;
}

static void another_service_is_not_taken_for_rank_0(void)
{
    team_run_expecting(2, meet_another_service, NULL, results, RONDE_REJECTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(said(1), "is not rank 0 of a ronde job"));
}

static void joins_that_make_no_sense_are_refused(void)
{
    const struct ronde_join joins[] = {
        {.host = "127.0.0.1", .port = 1, .token = "t", .rank = 2, .ranks = 2},
        {.host = "127.0.0.1", .port = 1, .token = "t"},
        {.host = "127.0.0.1", .port = 1, .token = "", .ranks = 2},
        {.host = "127.0.0.1", .port = 1, .ranks = 2},
        {.host = "no such name", .port = 1, .token = "t", .rank = 1, .ranks = 2},
    };
    struct ronde_comm_options options = team_options(1);
    for (size_t k = 0; k < sizeof joins / sizeof joins[0]; k++) {
        struct ronde_error error = {0};
        struct ronde_control_channel *control = NULL;
        CU_ASSERT_EQUAL(ronde_control_create(&joins[k], &options, ronde_mem_default(), &control,
                                             &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(control);
        CU_ASSERT(strlen(error.message) > 0);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sixty_four_ranks_connect_within_two_seconds", sixty_four_ranks_connect_within_two_seconds},
        {"a_thousand_random_streams_do_no_harm", a_thousand_random_streams_do_no_harm},
        {"silent_foreign_connections_delay_no_rank", silent_foreign_connections_delay_no_rank},
        {"mismatched_ranks_get_an_error_and_are_named", mismatched_ranks_get_an_error_and_are_named},
        {"a_rank_that_is_started_twice_is_told", a_rank_that_is_started_twice_is_told},
        {"an_absent_rank_is_named_to_all", an_absent_rank_is_named_to_all},
        {"another_version_is_named_with_both_numbers", another_version_is_named_with_both_numbers},
        {"a_hello_without_the_token_is_refused", a_hello_without_the_token_is_refused},
        {"a_taken_port_is_an_error", a_taken_port_is_an_error},
        {"another_service_is_not_taken_for_rank_0", another_service_is_not_taken_for_rank_0},
        {"joins_that_make_no_sense_are_refused", joins_that_make_no_sense_are_refused},
    };
    return suite_run("rendezvous", cases, sizeof cases / sizeof cases[0]);
}
