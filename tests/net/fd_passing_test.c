/*
 * Descriptors that processes hand each other: what comes in, who is sent away, and what is said when nothing comes.
 */
#include "hw/cuda/fd_passing.h"
#include "net/team.h"
#include "support/suite.h"

#include "hw/comm/comm_parts.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Things that each hands each. */
#define THINGS 20u

static struct team_result results[TEAM_MAX];

/* A process with a door that all others know. */
struct fd_endpoint {
    struct ronde_comm *comm;
    struct ronde_fd_socket fd_socket;
    struct ronde_fd_address fd_sockets[TEAM_MAX];
};

static enum ronde_status open_endpoint(struct fd_endpoint *endpoint,
                                       const struct team_member *member, struct ronde_error *error)
{
    memset(endpoint, 0, sizeof *endpoint);
    endpoint->fd_socket.listener = -1;
    enum ronde_status status = team_join(member, 30, &endpoint->comm, error);
    if (status == RONDE_OK)
        status = ronde_fd_socket_open(&endpoint->fd_socket, error);
    return status == RONDE_OK ? ronde_comm_allgather(endpoint->comm, &endpoint->fd_socket.address,
                                                     sizeof endpoint->fd_socket.address,
                                                     endpoint->fd_sockets, error)
                              : status;
}

static void close_endpoint(struct fd_endpoint *endpoint)
{
    ronde_fd_socket_close(&endpoint->fd_socket);
    ronde_comm_destroy(endpoint->comm);
}

/* A file that says whose it is. */
static int make_thing(uint32_t rank, uint32_t number)
{
    const uint32_t content[] = {rank, number};
    const int descriptor = memfd_create("thing", MFD_CLOEXEC);
    return write(descriptor, content, sizeof content) == (ssize_t)sizeof content ? descriptor : -1;
}

static bool is_thing(int descriptor, uint32_t rank, uint32_t number)
{
    uint32_t content[2] = {0, 0};
    const ssize_t got = pread(descriptor, content, sizeof content, 0);
    close(descriptor);
    return got == (ssize_t)sizeof content && content[0] == rank && content[1] == number;
}

/* Everybody hands everybody many things before anybody takes one. */
static enum ronde_status swap_all(const struct team_member *member, struct ronde_error *error)
{
    struct fd_endpoint endpoint;
    struct ronde_fd_delivery expected[TEAM_MAX];
    const uint32_t ranks = member->join.ranks;
    uint32_t count = 0;
    enum ronde_status status = open_endpoint(&endpoint, member, error);
    for (uint32_t k = 0; k < ranks * THINGS && status == RONDE_OK; k++) {
        const int thing = make_thing(member->join.rank, k % THINGS);
        if (k / THINGS != member->join.rank)
            status = ronde_fd_send(&endpoint.fd_sockets[k / THINGS], k % THINGS, thing, error);
        close(thing);
    }
    for (uint32_t rank = 0; rank < ranks && status == RONDE_OK; rank++)
        for (uint32_t k = 0; k < THINGS && rank != member->join.rank; k++)
            expected[count++] = (struct ronde_fd_delivery){endpoint.fd_sockets[rank].process, k, -1};
    if (status == RONDE_OK)
        status = ronde_fd_receive(&endpoint.fd_socket, expected, count, endpoint.comm->control,
                                  UINT64_C(30000000000), error);
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++) {
        const uint32_t from = k / THINGS < member->join.rank ? k / THINGS : k / THINGS + 1;
        (void)team_check(member, is_thing(expected[k].descriptor, from, k % THINGS),
                         "another thing has come");
    }
    close_endpoint(&endpoint);
    return status;
}

static void everything_comes_to_whom_it_is_for(void)
{
    team_run_expecting(4, swap_all, NULL, results, RONDE_OK);
    CU_ASSERT_EQUAL(results[0].checks, 3 * THINGS);
}

/* Knocks without a word, and goes. */
static void knock(const struct ronde_fd_address *to)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(place.sun_path, to->name, to->name_bytes);
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + to->name_bytes);
    (void)connect(fd, (struct sockaddr *)(void *)&place, bytes);
    close(fd);
}

/* A child of rank 1 says that it is rank 1, whom rank 0 waits for: the system says otherwise. */
static enum ronde_status send_from_foreign(const struct team_member *member,
                                           struct ronde_error *error)
{
    struct fd_endpoint endpoint;
    enum ronde_status status = open_endpoint(&endpoint, member, error);
    if (status == RONDE_OK && member->join.rank == 1) {
        const int false_one = make_thing(7, 7);
        const int thing = make_thing(1, 3);
        const pid_t child = fork();
        if (child == 0) {
            struct ronde_error ignored = {0};
            /* Either way: whether it still gets rid of its thing depends on how soon it is seen through. */
            _exit(ronde_fd_send(&endpoint.fd_sockets[0], 3, false_one, &ignored) == RONDE_NO_MEMORY);
        }
        int state = 1;
        (void)waitpid(child, &state, 0);
        (void)team_check(member, state == 0, "a foreign process did not end well");
        knock(&endpoint.fd_sockets[0]);
        /* What nobody expects, and then what rank 0 waits for. */
        status = ronde_fd_send(&endpoint.fd_sockets[0], 9, false_one, error);
        if (status == RONDE_OK)
            status = ronde_fd_send(&endpoint.fd_sockets[0], 3, thing, error);
        close(false_one);
        close(thing);
    } else if (status == RONDE_OK) {
        struct ronde_fd_delivery expected = {endpoint.fd_sockets[1].process, 3, -1};
        status = ronde_fd_receive(&endpoint.fd_socket, &expected, 1, endpoint.comm->control,
                                  UINT64_C(30000000000), error);
        (void)team_check(member, status != RONDE_OK || is_thing(expected.descriptor, 1, 3),
                         "a foreign process's descriptor was taken");
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(endpoint.comm, NULL, 0, NULL, error);
    close_endpoint(&endpoint);
    return status;
}

static void foreign_connections_are_closed(void)
{
    team_run_expecting(2, send_from_foreign, NULL, results, RONDE_OK);
    CU_ASSERT_EQUAL(results[0].checks, 1);
}

/* Rank 1 hands nothing over, or dies. */
static enum ronde_status wait_in_vain(const struct team_member *member, struct ronde_error *error)
{
    const bool dies = *(const bool *)member->self;
    struct fd_endpoint endpoint;
    enum ronde_status status = open_endpoint(&endpoint, member, error);
    if (status == RONDE_OK && member->join.rank == 1 && dies)
        raise(SIGKILL);
    if (status == RONDE_OK && member->join.rank == 0) {
        struct ronde_fd_delivery expected = {endpoint.fd_sockets[1].process, 0, -1};
        status = ronde_fd_receive(&endpoint.fd_socket, &expected, 1, endpoint.comm->control,
                                  dies ? UINT64_C(30000000000) : UINT64_C(20000000), error);
        (void)team_check(member, expected.descriptor < 0, "something has come");
    }
    /* Rank 1 stays until rank 0 has waited long enough. */
    struct ronde_error later = {0};
    const enum ronde_status stayed =
        dies ? RONDE_OK : ronde_comm_allgather(endpoint.comm, NULL, 0, NULL, &later);
    (void)team_check(member, stayed == RONDE_OK, later.message);
    close_endpoint(&endpoint);
    return status;
}

static void what_does_not_come_is_said(void)
{
    bool dies = false;
    CU_ASSERT_FATAL(team_run(2, wait_in_vain, &dies, results));
    team_expect(&results[0], 1, RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "did not hand its descriptor over in time"));
    dies = true;
    CU_ASSERT_FATAL(team_run(2, wait_in_vain, &dies, results));
    team_expect(&results[0], 1, RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1 was lost"));
}

/* A door that is somebody else's, one that is not there, and a process without. */
static void fd_sockets_are_known_by_who_stands_there(void)
{
    struct ronde_fd_socket fd_socket = {.listener = -1};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_fd_socket_open(&fd_socket, &error), RONDE_OK);
    struct ronde_fd_address address = fd_socket.address;
    address.process++;
    CU_ASSERT_EQUAL(ronde_fd_send(&address, 0, 0, &error), RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "its socket is held by process"));
    memset(&error, 0, sizeof error);
    address = fd_socket.address;
    ronde_fd_socket_close(&fd_socket);
    CU_ASSERT_EQUAL(ronde_fd_send(&address, 0, 0, &error), RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "its socket (processes of a host share"));
    memset(&error, 0, sizeof error);
    address.name_bytes = 0;
    CU_ASSERT_EQUAL(ronde_fd_send(&address, 0, 0, &error), RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "takes no descriptors"));
    memset(&error, 0, sizeof error);
    const struct ronde_fd_socket none = {.listener = -1};
    struct ronde_fd_delivery expected = {1, 0, -1};
    CU_ASSERT_EQUAL(ronde_fd_receive(&none, &expected, 1, NULL, 1, &error), RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "takes no descriptors"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"everything_comes_to_whom_it_is_for", everything_comes_to_whom_it_is_for},
        {"foreign_connections_are_closed", foreign_connections_are_closed},
        {"what_does_not_come_is_said", what_does_not_come_is_said},
        {"doors_are_known_by_who_stands_there", fd_sockets_are_known_by_who_stands_there},
    };
    return suite_run("fd_passing", cases, sizeof cases / sizeof cases[0]);
}
