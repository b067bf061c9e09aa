/*
 * A rendezvous under load: foreign connections that send byte by byte or a million bytes, and more ranks than a process may
 * open files.
 */
#include "net/team.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "hw/bootstrap/control_channel.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* More foreign connections at a time than rank 0 holds pending. */
#define FOREIGN 150u

/* Files that rank 0 may hold beyond those it has, fewer than ranks that come. */
#define FILES 20u
#define RANKS_BEYOND 40u

static void count_note(void *self, const char *text)
{
    uint64_t *count = self;
    *count += strstr(text, "refused") != NULL;
}

/* Comes, gathers and goes. */
static enum ronde_status come(const struct team_member *member, uint64_t seconds,
                              struct ronde_error *error)
{
    struct ronde_comm_options options = team_options(seconds);
    struct ronde_control_channel *control = NULL;
    uint32_t all[TEAM_MAX] = {0};
    options.note = count_note;
    options.note_self = &member->result->number;
    enum ronde_status status =
        ronde_control_create(&member->join, &options, ronde_mem_default(), &control, error);
    if (status == RONDE_OK)
        status = ronde_control_allgather(control, &member->join.rank, sizeof(uint32_t), all, error);
    for (uint32_t rank = 0; rank < member->join.ranks && status == RONDE_OK; rank++)
        (void)team_check(member, all[rank] == rank, "a rank's bytes are wrong");
    ronde_control_destroy(control);
    return status;
}

static int connect_to(const struct team_member *member)
{
    struct ronde_error unused = {0};
    int fd = -1;
    (void)ronde_socket_connect("127.0.0.1", member->join.port, ronde_clock_ns() + 1e10, &fd,
                               &unused);
    return fd;
}

/* Never returns: a byte on each connection, then a little wait; dropped connections are opened again. */
static void drip(const struct team_member *member, const int *ready)
{
    int foreign[FOREIGN];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t k = 0; k < FOREIGN; k++)
        foreign[k] = connect_to(member);
    (void)!write(ready[1], "", 1);
    while (true) {
        for (uint32_t k = 0; k < FOREIGN; k++) {
            if (foreign[k] >= 0 && send(foreign[k], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
                continue;
            if (foreign[k] >= 0)
                close(foreign[k]);
            foreign[k] = connect_to(member);
        }
        (void)poll(NULL, 0, 20);
    }
}

/* Rank 1 joins once its foreign connections are open; the others at any time. */
static enum ronde_status come_among_dripping(const struct team_member *member,
                                             struct ronde_error *error)
{
    pid_t foreign_process = 0;
    int ready[2] = {-1, -1};
    char sign;
    if (member->join.rank == 1 && pipe(ready) == 0)
        foreign_process = fork();
    if (member->join.rank == 1 && foreign_process == 0)
        drip(member, ready);
    if (foreign_process > 0)
        (void)team_check(member, read(ready[0], &sign, 1) == 1, "no foreign connections");
    const enum ronde_status status = come(member, 20, error);
    if (foreign_process > 0) {
        (void)kill(foreign_process, SIGKILL);
        (void)waitpid(foreign_process, NULL, 0);
        close(ready[0]);
        close(ready[1]);
    }
    return status;
}

static void foreign_connections_that_drip_delay_no_rank(void)
{
    team_run_expecting(TEAM_MAX, come_among_dripping, NULL, results, RONDE_OK);
    CU_ASSERT(results[0].number > 0);
}

/* Rank 1 first pours a million bytes into the door, as fast as they go. */
static enum ronde_status come_after_a_flood(const struct team_member *member,
                                            struct ronde_error *error)
{
    static unsigned char bytes[1000000];
    uint64_t random = 3;
    for (size_t k = 0; member->join.rank == 1 && k < sizeof bytes; k++)
        bytes[k] = (unsigned char)buffers_draw(&random);
    if (member->join.rank == 1) {
        const int fd = connect_to(member);
        /* Rank 0 hangs up after a few; how many of the others the system takes is its own choice. */
        (void)ronde_socket_send(fd, bytes, sizeof bytes, ronde_clock_ns() + 1e10);
        close(fd);
    }
    return come(member, 20, error);
}

static void a_million_bytes_do_no_harm(void)
{
    team_run_expecting(3, come_after_a_flood, NULL, results, RONDE_OK);
    CU_ASSERT_EQUAL(results[0].number, 1);
}

/* Lowers this process's limit to so many files more than it has open. */
static bool allow_files(unsigned more)
{
    struct rlimit limit;
    const int lowest = dup(STDIN_FILENO);
    if (lowest < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    close(lowest);
    limit.rlim_cur = (rlim_t)lowest + more;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static enum ronde_status come_to_a_small_room(const struct team_member *member,
                                              struct ronde_error *error)
{
    if (member->join.rank == 0)
        (void)team_check(member, allow_files(FILES), "the limit stays");
    return come(member, 20, error);
}

static void more_ranks_than_files_is_an_error_that_names_the_limit(void)
{
    team_run_expecting(RANKS_BEYOND, come_to_a_small_room, NULL, results, RONDE_DEVICE);
    for (uint32_t rank = 0; rank < RANKS_BEYOND; rank++) {
        CU_ASSERT_PTR_NOT_NULL(
            strstr(results[rank].message, "rank 0 cannot hold connections to 39 ranks"));
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "(ulimit -n)"));
    }
}

/* Silent foreign connections take all descriptors that rank 0 has left. */
static enum ronde_status join_with_few_files(const struct team_member *member,
                                             struct ronde_error *error)
{
    int foreign[2 * FILES];
    if (member->join.rank == 0)
        (void)team_check(member, allow_files(FILES), "the limit stays");
    for (uint32_t k = 0; member->join.rank == 1 && k < 2 * FILES; k++)
        foreign[k] = connect_to(member);
    const enum ronde_status status = come(member, 20, error);
    for (uint32_t k = 0; member->join.rank == 1 && k < 2 * FILES; k++)
        close(foreign[k]);
    return status;
}

static void foreign_connections_that_take_all_files_are_dropped(void)
{
    team_run_expecting(4, join_with_few_files, NULL, results, RONDE_OK);
}

/* Rank 1 may open no file at all. */
static enum ronde_status come_without_files(const struct team_member *member,
                                            struct ronde_error *error)
{
    struct rlimit before;
    if (member->join.rank == 1)
        (void)team_check(member, getrlimit(RLIMIT_NOFILE, &before) == 0 && allow_files(0),
                         "the limit stays");
    const enum ronde_status status = come(member, 2, error);
    /* A sanitizer opens files at the end. */
    if (member->join.rank == 1)
        (void)setrlimit(RLIMIT_NOFILE, &before);
    return status;
}

static void a_rank_without_files_fails_at_once(void)
{
    CU_ASSERT_FATAL(team_run(2, come_without_files, NULL, results));
    CU_ASSERT_EQUAL(results[1].status, RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[1].message, "(ulimit -n)"));
    CU_ASSERT_EQUAL(results[0].status, RONDE_TIMEOUT);
}

/* A listener, and whether connecting to these names reaches it. */
static void expect_found(const char *listens_at, const char *names, bool is_found)
{
    struct ronde_error error = {0};
    int listener = -1;
    int fd = -1;
    CU_ASSERT_FATAL(ronde_socket_listen(listens_at, 0, &listener, &error) == RONDE_OK);
    const double soon_ns = ronde_clock_ns() + (is_found ? 1e10 : 1e8);
    const enum ronde_status status =
        ronde_socket_connect(names, ronde_socket_port(listener), soon_ns, &fd, &error);
    CU_ASSERT_EQUAL(status, is_found ? RONDE_OK : RONDE_TIMEOUT);
    if (is_found != (status == RONDE_OK))
        suite_note("%s at %s: %s", names, listens_at ? listens_at : "any address", error.message);
    if (fd >= 0)
        close(fd);
    close(listener);
}

static void every_address_of_every_name_is_tried(void)
{
    expect_found("127.0.0.1", "127.0.0.1", true);
    expect_found("127.0.0.1", "127.0.0.2", false);
    expect_found("127.0.0.1", "127.0.0.2,127.0.0.1", true);
    expect_found("127.0.0.1", "no such name,127.0.0.2,127.0.0.1", true);
    /* Addresses for documentation lead nowhere, silently or not. */
    expect_found("127.0.0.1", "192.0.2.1,127.0.0.1", true);
    expect_found(NULL, "127.0.0.3", true);
}

/* This machine's name often means an address that only this machine has; others know a better one. */
static void a_machine_whose_name_is_the_loopback_listens_at_all_addresses(void)
{
    char hosts[RONDE_ADDRESSES_BYTES];
    struct ronde_error error = {0};
    int fd = -1;
    ronde_socket_own_hosts(hosts);
    const char *addresses = strchr(hosts, ',');
    if (addresses)
        expect_found(NULL, addresses + 1, true);
    hosts[strcspn(hosts, ",")] = '\0';
    if (ronde_socket_listen(hosts, 0, &fd, &error) != RONDE_OK) {
        suite_note("\"%s\" is not known to itself: %s", hosts, error.message);
        CU_ASSERT_EQUAL(error.status, RONDE_BAD_ARGUMENT);
        return;
    }
    close(fd);
    if (addresses)
        expect_found(hosts, addresses + 1, true);
    expect_found("127.0.0.1", "localhost", true);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"foreign_connections_that_drip_delay_no_rank", foreign_connections_that_drip_delay_no_rank},
        {"a_million_bytes_do_no_harm", a_million_bytes_do_no_harm},
        {"more_ranks_than_files_is_an_error_that_names_the_limit",
         more_ranks_than_files_is_an_error_that_names_the_limit},
        {"foreign_connections_that_take_all_files_are_dropped",
         foreign_connections_that_take_all_files_are_dropped},
        {"a_rank_without_files_fails_at_once", a_rank_without_files_fails_at_once},
        {"every_address_of_every_name_is_tried", every_address_of_every_name_is_tried},
        {"a_machine_whose_name_is_the_loopback_listens_at_all_addresses",
         a_machine_whose_name_is_the_loopback_listens_at_all_addresses},
    };
    return suite_run("rendezvous_load", cases, sizeof cases / sizeof cases[0]);
}
