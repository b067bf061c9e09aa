/*
 * The client of the process manager interface, against servers that answer correctly, wrongly,
 * slowly and not at all.
 *
 * Answers are in the socket before the requests, so most tests need no second process.
 */
#include "support/suite.h"

#include "hw/bootstrap/pmi.h"
#include "hw/bootstrap/socket.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A point of time that never comes. */
#define NEVER_NS 1e30

#define INIT "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define MAXES "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
#define NAME "cmd=my_kvsname kvsname=kvs_7\n"
#define BEGUN INIT MAXES NAME
#define PUT "cmd=put_result rc=0 msg=success\n"
#define OUT "cmd=barrier_out\n"
#define DONE "cmd=finalize_ack\n"

/* One session: the rank, its data, the answers it gets, and the result. */
struct attempt {
    uint32_t rank;
    double deadline_ns;
    unsigned char data[300];
    size_t bytes;
    enum ronde_status status;
    struct ronde_error error;
    char said[4096]; /* by the client */
};

/*
 * Runs a client against answers of a given length; a client that reads to their end sees the
 * connection closed.
 */
static void talk_to(struct attempt *attempt, const char *answers, size_t length)
{
    int ends[2];
    memset(&attempt->error, 0, sizeof attempt->error);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL(send(ends[1], answers, length, 0), (ssize_t)length);
    (void)shutdown(ends[1], SHUT_WR);
    const struct ronde_pmi pmi = {ends[0], attempt->rank, attempt->deadline_ns};
    attempt->status = ronde_pmi_share(&pmi, attempt->data, attempt->bytes, &attempt->error);
    (void)close(ends[0]);
    const ssize_t got = recv(ends[1], attempt->said, sizeof attempt->said - 1, MSG_WAITALL);
    attempt->said[got > 0 ? got : 0] = '\0';
    (void)close(ends[1]);
}

static void rank_0_puts_before_the_barrier_and_gets_nothing(void)
{
    struct attempt attempt = {.rank = 0, .deadline_ns = NEVER_NS, .data = "a b\n", .bytes = 5};
    static const char answers[] = BEGUN PUT OUT DONE;
    talk_to(&attempt, answers, sizeof answers - 1);
    CU_ASSERT_EQUAL(attempt.status, RONDE_OK);
    CU_ASSERT_STRING_EQUAL(attempt.said, "cmd=init pmi_version=1 pmi_subversion=1\n"
                                         "cmd=get_maxes\n"
                                         "cmd=get_my_kvsname\n"
                                         "cmd=put kvsname=kvs_7 key=ronde-0 value=6120620a00\n"
                                         "cmd=barrier_in\n"
                                         "cmd=finalize\n");
}

static void other_ranks_get_after_the_barrier(void)
{
    struct attempt attempt = {.rank = 3, .deadline_ns = NEVER_NS, .bytes = 5};
    /* As Slurm answers, with a code in every line. */
    static const char answers[] = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"
                                  "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n"
                                  "cmd=my_kvsname rc=0 kvsname=2.0\ncmd=barrier_out rc=0\n"
                                  "cmd=get_result rc=0 value=6120620a00\ncmd=finalize_ack rc=0\n";
    talk_to(&attempt, answers, sizeof answers - 1);
    CU_ASSERT_EQUAL(attempt.status, RONDE_OK);
    CU_ASSERT_EQUAL(memcmp(attempt.data, "a b\n", 5), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(attempt.said, "cmd=barrier_in\n"
                                                "cmd=get kvsname=2.0 key=ronde-0\n"
                                                "cmd=finalize\n"));
}

/* What a server of bytes one at a time keeps. */
static void serve_slowly(int fd)
{
    char line[1024], value[4][512] = {""}, answer[640], put[512];
    size_t used = 0;
    unsigned key = 0;
    memset(put, 0, sizeof put);
    memset(answer, 0, sizeof answer);
    while (used < sizeof line && recv(fd, line + used, 1, 0) == 1) {
        if (line[used++] != '\n')
            continue;
        line[used - 1] = '\0';
        used = 0;
        const char *text = strncmp(line, "cmd=init", 8) == 0         ? INIT
                           : strcmp(line, "cmd=get_maxes") == 0      ? MAXES
                           : strcmp(line, "cmd=get_my_kvsname") == 0 ? NAME
                           : strcmp(line, "cmd=barrier_in") == 0     ? OUT
                           : strcmp(line, "cmd=finalize") == 0       ? DONE
                                                                     : answer;
        if (sscanf(line, "cmd=put kvsname=kvs_7 key=ronde-%1u value=%511s", &key, put) == 2) {
            memcpy(value[key & 3], put, sizeof put);
            snprintf(answer, sizeof answer, PUT);
        } else if (sscanf(line, "cmd=get kvsname=kvs_7 key=ronde-%1u", &key) == 1) {
            snprintf(answer, sizeof answer, "cmd=get_result rc=0 msg=success value=%s\n",
                     value[key & 3]);
        }
        for (; *text; text++)
            (void)send(fd, text, 1, 0);
    }
}

/* A server for two processes, one after the other, since the barrier of one that is alone opens at once. */
static void long_data_travel_in_pieces_and_half_lines_are_waited_for(void)
{
    int ends[2];
    unsigned char sent[300], got[300];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t server = fork();
    if (server == 0) {
        close(ends[0]);
        serve_slowly(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    for (size_t k = 0; k < sizeof sent; k++)
        sent[k] = (unsigned char)(k * 7);
    const struct ronde_pmi first = {ends[0], 0, NEVER_NS};
    const struct ronde_pmi second = {ends[0], 1, NEVER_NS};
    CU_ASSERT_EQUAL(ronde_pmi_share(&first, sent, sizeof sent, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_pmi_share(&second, got, sizeof got, &error), RONDE_OK);
    CU_ASSERT_EQUAL(memcmp(sent, got, sizeof sent), 0);
    close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(server, NULL, 0), server);
}

static void what_is_no_answer_is_refused_and_shown(void)
{
    static const struct {
        const char *answers;
        enum ronde_status status;
        const char *message;
    } cases[] = {
        /* No server: another launcher may be tried. */
        {"", RONDE_UNAVAILABLE, "the launcher left at init"},
        {"hello\n", RONDE_UNAVAILABLE, "answers \"hello\" to init"},
        {"\n", RONDE_UNAVAILABLE, "answers \"\" to init"},
        {"cmd=response_to_init", RONDE_UNAVAILABLE, "the launcher left at init"},
        {"cmd=response_to_init rc=-1\n", RONDE_UNAVAILABLE, "rc=-1\" to init"},
        {"\x1b[2J\xff cmd\n", RONDE_UNAVAILABLE, "answers \"?[2J? cmd\" to init"},
        {"cmd=response_to_initially rc=0\n", RONDE_UNAVAILABLE, "initially"},
        /* A server that stops in the middle. */
        {INIT, RONDE_IO, "left at get_maxes"},
        {INIT "cmd=maxes rc=0\n", RONDE_IO, "to get_maxes"},
        {INIT "cmd=maxes vallen_max=-5\n", RONDE_IO, "to get_maxes"},
        {INIT "cmd=maxes vallen_max=64\n", RONDE_IO, "values of 64 characters, 241 are needed"},
        {INIT MAXES "cmd=my_kvsname\n", RONDE_IO, "to get_my_kvsname"},
        {INIT MAXES "cmd=my_kvsname rc=1 kvsname=x\n", RONDE_IO, "rc=1"},
        {BEGUN "cmd=barrier_out rc=1\n", RONDE_IO, "to barrier_in"},
        {BEGUN OUT "cmd=get_result rc=-1 msg=key_ronde-0_not_found value=unknown\n", RONDE_IO,
         "key_ronde-0_not_found"},
        {BEGUN OUT "cmd=get_result rc=0\n", RONDE_IO, "to get"},
        {BEGUN OUT "cmd=get_result rc=0 value=6120620a\n", RONDE_IO, "to get"},
        {BEGUN OUT "cmd=get_result rc=0 value=6120620a0000\n", RONDE_IO, "to get"},
        {BEGUN OUT "cmd=get_result rc=0 value=6120620axx\n", RONDE_IO, "to get"},
        {BEGUN OUT "cmd=get_result rc=0 value=6120620a00\n", RONDE_IO, "left at finalize"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct attempt attempt = {.rank = 1, .deadline_ns = NEVER_NS, .bytes = 5};
        talk_to(&attempt, cases[k].answers, strlen(cases[k].answers));
        CU_ASSERT_EQUAL(attempt.status, cases[k].status);
        CU_ASSERT_EQUAL(attempt.error.status, cases[k].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(attempt.error.message, cases[k].message));
        if (!strstr(attempt.error.message, cases[k].message))
            suite_note("%zu: %s", k, attempt.error.message);
    }
}

static void lines_and_values_that_are_too_long_are_refused(void)
{
    static char answers[8000];
    struct attempt attempt = {.rank = 1, .deadline_ns = NEVER_NS, .bytes = 5};
    memset(answers, 'x', sizeof answers);
    talk_to(&attempt, answers, sizeof answers);
    CU_ASSERT_EQUAL(attempt.status, RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(attempt.error.message, "has no end"));
    int used =
        snprintf(answers, sizeof answers, "%scmd=my_kvsname kvsname=%01000d\n", INIT MAXES, 1);
    talk_to(&attempt, answers, (size_t)used);
    CU_ASSERT_EQUAL(attempt.status, RONDE_IO);
    used = snprintf(answers, sizeof answers, "%scmd=get_result value=%01000d\n", BEGUN OUT, 1);
    talk_to(&attempt, answers, (size_t)used);
    CU_ASSERT_EQUAL(attempt.status, RONDE_IO);
    /* Bytes that end no string are no line's end. */
    static const char zeros[] = "cmd=response_to_init\0 rc=0\n";
    talk_to(&attempt, zeros, sizeof zeros - 1);
    CU_ASSERT_EQUAL(attempt.status, RONDE_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(attempt.error.message, "left at get_maxes"));
}

static void who_does_not_answer_in_time_is_named(void)
{
    int ends[2];
    unsigned char data[5] = {0};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const struct ronde_pmi pmi = {ends[0], 1, 0.0};
    CU_ASSERT_EQUAL(ronde_pmi_share(&pmi, data, sizeof data, &error), RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no answer to init in time"));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void only_a_stream_socket_is_a_launchers(void)
{
    int ends[2], pipes[2], packets[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    CU_ASSERT(ronde_pmi_is_socket(ends[0]));
    CU_ASSERT(!ronde_pmi_is_socket(packets[0]));
    CU_ASSERT(!ronde_pmi_is_socket(pipes[0]));
    CU_ASSERT(!ronde_pmi_is_socket(-1));
    CU_ASSERT(!ronde_pmi_is_socket(0));
    for (int k = 0; k < 2; k++) {
        (void)close(ends[k]);
        (void)close(packets[k]);
        (void)close(pipes[k]);
    }
    CU_ASSERT(!ronde_pmi_is_socket(ends[0]));
}

/* Connects to a server at a port that sends this and closes; the result. */
static enum ronde_status enter(const char *answers, uint32_t *out_rank, uint32_t *out_ranks,
                               struct ronde_error *error)
{
    char place[64];
    int listener = -1, fd = -1;
    memset(error, 0, sizeof *error);
    CU_ASSERT_EQUAL_FATAL(ronde_socket_listen("127.0.0.1", 0, &listener, error), RONDE_OK);
    snprintf(place, sizeof place, "127.0.0.1:%u", ronde_socket_port(listener));
    const pid_t server = fork();
    if (server == 0) {
        struct pollfd one = {listener, POLLIN, 0};
        (void)poll(&one, 1, -1);
        const int incoming = ronde_socket_accept(listener);
        (void)send(incoming, answers, strlen(answers), MSG_NOSIGNAL);
        (void)shutdown(incoming, SHUT_WR);
        /* Closed at once, the socket would drop unread answers. */
        one = (struct pollfd){incoming, POLLRDHUP, 0};
        (void)poll(&one, 1, -1);
        _exit(0);
    }
    const enum ronde_status status = ronde_pmi_connect(place, "3", &fd, out_rank, out_ranks, error);
    if (status == RONDE_OK)
        close(fd);
    close(listener);
    CU_ASSERT_EQUAL(waitpid(server, NULL, 0), server);
    return status;
}

static void a_process_at_a_port_gets_its_rank(void)
{
    uint32_t rank = 0, ranks = 0;
    struct ronde_error error;
    CU_ASSERT_EQUAL(enter("cmd=initack\ncmd=set size=8\ncmd=set rank=3\ncmd=set debug=0\n", &rank,
                          &ranks, &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(rank, 3);
    CU_ASSERT_EQUAL(ranks, 8);
    static const char *const bad[] = {
        "",
        "cmd=initack\n",
        "cmd=set rank=3\n",
        "cmd=initack rc=-1\n",
        "cmd=initack\ncmd=set size=8\ncmd=set rank=8\ncmd=set debug=0\n",
        "cmd=initack\ncmd=set size=8\ncmd=set debug=0\ncmd=set debug=0\n",
        "cmd=initack\ncmd=set size=8\ncmd=set rank=-1\ncmd=set debug=0\n",
        "cmd=initack\ncmd=set size=99999999999\ncmd=set rank=1\ncmd=set debug=0\n",
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        CU_ASSERT_EQUAL(enter(bad[k], &rank, &ranks, &error), RONDE_IO);
        CU_ASSERT_EQUAL(strncmp(error.message, "pmi: ", 5), 0);
    }
}

static void a_port_that_is_none_is_refused(void)
{
    static const char *const bad[] = {"", "host", ":1", "host:", "host:0", "host:65536", "host:1x"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        uint32_t rank = 0, ranks = 0;
        int fd = -1;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_pmi_connect(bad[k], "0", &fd, &rank, &ranks, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "is not HOST:PORT"));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rank_0_puts_before_the_barrier_and_gets_nothing",
         rank_0_puts_before_the_barrier_and_gets_nothing},
        {"other_ranks_get_after_the_barrier", other_ranks_get_after_the_barrier},
        {"long_data_travel_in_pieces_and_half_lines_are_waited_for",
         long_data_travel_in_pieces_and_half_lines_are_waited_for},
        {"what_is_no_answer_is_refused_and_shown", what_is_no_answer_is_refused_and_shown},
        {"lines_and_values_that_are_too_long_are_refused",
         lines_and_values_that_are_too_long_are_refused},
        {"who_does_not_answer_in_time_is_named", who_does_not_answer_in_time_is_named},
        {"only_a_stream_socket_is_a_launchers", only_a_stream_socket_is_a_launchers},
        {"a_process_at_a_port_gets_its_rank", a_process_at_a_port_gets_its_rank},
        {"a_port_that_is_none_is_refused", a_port_that_is_none_is_refused},
    };
    return suite_run("pmi", cases, sizeof cases / sizeof cases[0]);
}
