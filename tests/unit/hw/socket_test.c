/** Sockets with deadlines: what they carry, how they end, and what is told of addresses that are none. */
#include "support/suite.h"

#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Long enough for a busy machine; nothing here waits for it to pass. */
#define SOON_NS 2e10

/* A deadline that is over. */
#define OVER_NS 1.0

static double soon(void)
{
    return ronde_clock_ns() + SOON_NS;
}

/* Both ends of a connection over the loopback. */
struct connection {
    int listener;
    int client;
    int accepted;
};

static void close_connection(struct connection *connection)
{
    const int fds[] = {connection->listener, connection->client, connection->accepted};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *connection = (struct connection){-1, -1, -1};
}

static bool open_connection(struct connection *connection, const char *host)
{
    struct ronde_error error = {0};
    *connection = (struct connection){-1, -1, -1};
    if (ronde_socket_listen("127.0.0.1", 0, &connection->listener, &error) == RONDE_OK &&
        ronde_socket_connect(host, ronde_socket_port(connection->listener), soon(),
                             &connection->client, &error) == RONDE_OK)
        connection->accepted = ronde_socket_accept(connection->listener);
    CU_ASSERT(connection->accepted >= 0);
    if (connection->accepted < 0)
        suite_note("%s", error.message);
    return connection->accepted >= 0;
}

static void bytes_arrive_in_order(void)
{
    struct connection connection;
    char text[6] = "";
    if (open_connection(&connection, "127.0.0.1")) {
        CU_ASSERT_EQUAL(ronde_socket_send(connection.client, "hel", 3, soon()), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_socket_send(connection.client, "lo", 3, soon()), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.accepted, text, 6, soon()), RONDE_OK);
        CU_ASSERT_STRING_EQUAL(text, "hello");
        /* The other way, and nothing at all. */
        CU_ASSERT_EQUAL(ronde_socket_send(connection.accepted, "!", 1, soon()), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.client, text, 1, soon()), RONDE_OK);
        CU_ASSERT_EQUAL(text[0], '!');
        CU_ASSERT_EQUAL(ronde_socket_send(connection.accepted, NULL, 0, OVER_NS), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.client, NULL, 0, OVER_NS), RONDE_OK);
    }
    close_connection(&connection);
}

static void waits_end_at_their_deadline(void)
{
    struct connection connection;
    char byte;
    if (open_connection(&connection, "127.0.0.1")) {
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.accepted, &byte, 1, OVER_NS), RONDE_TIMEOUT);
        /* Half of what is wanted is not enough. */
        CU_ASSERT_EQUAL(ronde_socket_send(connection.client, "x", 1, soon()), RONDE_OK);
        char two[2];
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.accepted, two, 2, OVER_NS), RONDE_TIMEOUT);
        /* What nobody takes fills the buffers of the system. */
        const size_t bytes = (size_t)64 << 20;
        char *many = calloc(bytes, 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(many);
        CU_ASSERT_EQUAL(ronde_socket_send(connection.client, many, bytes, OVER_NS), RONDE_TIMEOUT);
        free(many);
    }
    close_connection(&connection);
}

static void an_end_that_closed_is_io(void)
{
    struct connection connection;
    char two[2];
    if (open_connection(&connection, "127.0.0.1")) {
        CU_ASSERT_EQUAL(ronde_socket_send(connection.client, "x", 1, soon()), RONDE_OK);
        close(connection.client);
        connection.client = -1;
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.accepted, two, 2, soon()), RONDE_IO);
        CU_ASSERT_EQUAL(two[0], 'x');
        CU_ASSERT_EQUAL(ronde_socket_receive(connection.accepted, two, 1, soon()), RONDE_IO);
    }
    close_connection(&connection);
    CU_ASSERT_EQUAL(ronde_socket_send(-1, "x", 1, soon()), RONDE_IO);
    CU_ASSERT_EQUAL(ronde_socket_receive(-1, two, 1, soon()), RONDE_IO);
}

static void addresses_are_told_without_port(void)
{
    struct connection connection;
    char text[RONDE_ADDRESS_BYTES];
    if (open_connection(&connection, "127.0.0.1")) {
        ronde_socket_host(connection.client, true, text);
        CU_ASSERT_STRING_EQUAL(text, "127.0.0.1");
        ronde_socket_host(connection.accepted, false, text);
        CU_ASSERT_STRING_EQUAL(text, "127.0.0.1");
        CU_ASSERT_NOT_EQUAL(ronde_socket_port(connection.client), 0);
        CU_ASSERT_EQUAL(ronde_socket_port(connection.accepted),
                        ronde_socket_port(connection.listener));
        /* A listener has no other side. */
        ronde_socket_host(connection.listener, true, text);
        CU_ASSERT_STRING_EQUAL(text, "an unknown address");
    }
    close_connection(&connection);
    ronde_socket_host(-1, false, text);
    CU_ASSERT_STRING_EQUAL(text, "an unknown address");
    CU_ASSERT_EQUAL(ronde_socket_port(-1), 0);
}

static void a_listener_everywhere_tells_addresses_of_version_4_as_such(void)
{
    int listener = -1, client = -1;
    char text[RONDE_ADDRESS_BYTES];
    CU_ASSERT_EQUAL_FATAL(ronde_socket_listen(NULL, 0, &listener, NULL), RONDE_OK);
    const uint16_t port = ronde_socket_port(listener);
    CU_ASSERT_EQUAL_FATAL(ronde_socket_connect("127.0.0.1", port, soon(), &client, NULL), RONDE_OK);
    const int accepted = ronde_socket_accept(listener);
    CU_ASSERT_FATAL(accepted >= 0);
    ronde_socket_host(accepted, true, text);
    CU_ASSERT_STRING_EQUAL(text, "127.0.0.1");
    CU_ASSERT_TRUE(ronde_socket_is_loopback(text));
    close(accepted);
    close(client);
    close(listener);
}

static void sockets_do_not_block_and_are_closed_on_exec(void)
{
    struct connection connection;
    if (open_connection(&connection, "127.0.0.1")) {
        const int fds[] = {connection.listener, connection.client, connection.accepted};
        for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
            CU_ASSERT(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
            CU_ASSERT(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        }
        CU_ASSERT_EQUAL(ronde_socket_accept(connection.listener), -1);
        CU_ASSERT_EQUAL(errno, EAGAIN);
    }
    close_connection(&connection);
}

static void a_port_that_is_taken_is_told(void)
{
    int first = -1, second = 7;
    struct ronde_error error = {0};
    char expected[128];
    CU_ASSERT_EQUAL_FATAL(ronde_socket_listen("127.0.0.1", 0, &first, NULL), RONDE_OK);
    const uint16_t port = ronde_socket_port(first);
    CU_ASSERT_EQUAL(ronde_socket_listen("127.0.0.1", port, &second, &error), RONDE_IO);
    CU_ASSERT_EQUAL(second, -1);
    snprintf(expected, sizeof expected, "cannot listen at 127.0.0.1:%u: Address already in use",
             port);
    CU_ASSERT_STRING_EQUAL(error.message, expected);
    close(first);
}

static void names_that_are_none_are_told(void)
{
    static const char begin[] = "host \"not a name\" is not known: ";
    int fd = 7;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_socket_listen("not a name", 0, &fd, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(fd, -1);
    CU_ASSERT_NSTRING_EQUAL(error.message, begin, sizeof begin - 1);
    error = (struct ronde_error){0};
    fd = 7;
    CU_ASSERT_EQUAL(ronde_socket_connect("not a name", 1, soon(), &fd, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(fd, -1);
    CU_ASSERT_NSTRING_EQUAL(error.message, begin, sizeof begin - 1);
}

static void hosts_of_a_list_are_tried_in_turns(void)
{
    struct connection connection;
    /* A name nobody knows, an address where nobody listens, and the right one. */
    CU_ASSERT(open_connection(&connection, "not a name,127.0.0.2,127.0.0.1"));
    close_connection(&connection);
    CU_ASSERT(open_connection(&connection, "127.0.0.1,not a name"));
    close_connection(&connection);
}

static void nobody_who_answers_is_told_with_the_reason(void)
{
    int listener = -1, fd = 7;
    struct ronde_error error = {0};
    char expected[128];
    CU_ASSERT_EQUAL_FATAL(ronde_socket_listen("127.0.0.1", 0, &listener, NULL), RONDE_OK);
    const uint16_t port = ronde_socket_port(listener);
    close(listener);
    /* The port was the system's to choose, so nobody else has it so soon. */
    CU_ASSERT_EQUAL(ronde_socket_connect("127.0.0.1", port, ronde_clock_ns() + 1e6, &fd, &error),
                    RONDE_TIMEOUT);
    CU_ASSERT_EQUAL(fd, -1);
    snprintf(expected, sizeof expected, "nobody answers at 127.0.0.1:%u: Connection refused", port);
    CU_ASSERT_STRING_EQUAL(error.message, expected);
}

static void time_left_is_rounded_up_and_bounded(void)
{
    const double now_ns = ronde_clock_ns();
    CU_ASSERT_EQUAL(ronde_socket_left_ms(now_ns - 1, 100), 0);
    CU_ASSERT_EQUAL(ronde_socket_left_ms(0, 100), 0);
    CU_ASSERT_EQUAL(ronde_socket_left_ms(now_ns + 1e12, 100), 100);
    CU_ASSERT_EQUAL(ronde_socket_left_ms(now_ns + 1e12, 0), 0);
    const int left_ms = ronde_socket_left_ms(now_ns + 1e12, INT_MAX);
    CU_ASSERT(left_ms > 0 && left_ms <= 1000000);
}

static void loopback_is_told_by_its_address(void)
{
    static const struct {
        const char *host;
        bool is_loopback;
    } rows[] = {
        {"127.0.0.1", true},  {"127.0.1.1", true},  {"127.255.0.9", true}, {"::1", true},
        {"128.0.0.1", false}, {"12.7.0.1", false},  {"1270.0.0.1", false}, {"::11", false},
        {"", false},          {"localhost", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(ronde_socket_is_loopback(rows[i].host), rows[i].is_loopback);
}

static void own_hosts_begin_with_the_name_and_have_no_loopback(void)
{
    char text[RONDE_ADDRESSES_BYTES];
    char name[256] = "";
    ronde_socket_own_hosts(text);
    CU_ASSERT_EQUAL(gethostname(name, sizeof name - 1), 0);
    CU_ASSERT_NSTRING_EQUAL(text, name, strlen(name));
    CU_ASSERT(strlen(text) < sizeof text);
    char *rest = NULL;
    uint32_t index = 0;
    for (const char *at = strtok_r(text, ",", &rest); at; at = strtok_r(NULL, ",", &rest), index++) {
        CU_ASSERT_NOT_EQUAL(*at, '\0');
        CU_ASSERT(index == 0 || !ronde_socket_is_loopback(at));
        CU_ASSERT_PTR_NULL(strchr(at, '%'));
    }
    CU_ASSERT(index >= 1);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"bytes_arrive_in_order", bytes_arrive_in_order},
        {"waits_end_at_their_deadline", waits_end_at_their_deadline},
        {"an_end_that_closed_is_io", an_end_that_closed_is_io},
        {"addresses_are_told_without_port", addresses_are_told_without_port},
        {"a_listener_everywhere_tells_addresses_of_version_4_as_such",
         a_listener_everywhere_tells_addresses_of_version_4_as_such},
        {"sockets_do_not_block_and_are_closed_on_exec", sockets_do_not_block_and_are_closed_on_exec},
        {"a_port_that_is_taken_is_told", a_port_that_is_taken_is_told},
        {"names_that_are_none_are_told", names_that_are_none_are_told},
        {"hosts_of_a_list_are_tried_in_turns", hosts_of_a_list_are_tried_in_turns},
        {"nobody_who_answers_is_told_with_the_reason", nobody_who_answers_is_told_with_the_reason},
        {"time_left_is_rounded_up_and_bounded", time_left_is_rounded_up_and_bounded},
        {"loopback_is_told_by_its_address", loopback_is_told_by_its_address},
        {"own_hosts_begin_with_the_name_and_have_no_loopback",
         own_hosts_begin_with_the_name_and_have_no_loopback},
    };
    return suite_run("socket", cases, sizeof cases / sizeof cases[0]);
}
