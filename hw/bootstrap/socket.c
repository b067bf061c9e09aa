/* Sockets with deadlines. See socket.h. */
#include "hw/bootstrap/socket.h"

#include "ronde/attach.h"
#include "ronde/hw.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Between two attempts to connect: a listener that is late by less is not noticed. */
#define RETRY_NS 10000000L

/* Limit of one attempt: an address that drops packets must not delay the next one. */
#define ATTEMPT_NS 2e9

/* Names in a list of hosts, at most. */
#define MAX_NAMES 8u

/* A host that stops responding is detected after about idle + count * interval seconds. */
#define KEEPALIVE_IDLE_S 5
#define KEEPALIVE_INTERVAL_S 2
#define KEEPALIVE_COUNT 3

/* Connections that wait to be accepted, ranks' and others', at most. */
#define BACKLOG 1024

static struct addrinfo *resolve(const char *host, uint16_t port, int flags,
                                struct ronde_error *error)
{
    struct addrinfo hints;
    struct addrinfo *found = NULL;
    char service[8];
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    snprintf(service, sizeof service, "%u", port);
    const int code = getaddrinfo(host, service, &hints, &found);
    if (code == 0)
        return found;
    (void)ronde_fail(error, RONDE_BAD_ARGUMENT, "host \"%.100s\" is not known: %s", host,
                     gai_strerror(code));
    return NULL;
}

bool ronde_socket_is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* A numeric address as text; an IPv4-mapped IPv6 address as IPv4. */
static bool write_address(const struct sockaddr *address, socklen_t length,
                          char text[RONDE_ADDRESS_BYTES])
{
    static const char mapped[] = "::ffff:";
    if (getnameinfo(address, length, text, RONDE_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        return false;
    if (strncmp(text, mapped, sizeof mapped - 1) == 0 && strchr(text, '.'))
        memmove(text, text + sizeof mapped - 1, strlen(text) - sizeof mapped + 2);
    return true;
}

/* Whether a name resolves to the loopback here, and elsewhere to this machine's address. */
static bool is_own_name(const char *host, const struct addrinfo *found)
{
    char text[RONDE_ADDRESS_BYTES];
    if (ronde_socket_is_loopback(host) || strncmp(host, "localhost", strlen("localhost")) == 0)
        return false;
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        if (!write_address(at->ai_addr, at->ai_addrlen, text) || !ronde_socket_is_loopback(text))
            return false;
    return true;
}

/* Small messages are sent at once (no Nagle), and a dead host is detected. A refused option only costs speed. */
static void set_options(int fd)
{
    const int on = 1;
    const int idle = KEEPALIVE_IDLE_S;
    const int interval = KEEPALIVE_INTERVAL_S;
    const int count = KEEPALIVE_COUNT;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static int open_socket(const struct addrinfo *address)
{
    return socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                  address->ai_protocol);
}

/* A listening socket at one address; -1 with errno. A port in TIME_WAIT may be bound again. */
static int listen_at(const struct addrinfo *address)
{
    const int on = 1;
    const int off = 0;
    const int fd = open_socket(address);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

/* The first of some addresses that can be listened at; -1 with errno. */
static int listen_at_any(const struct addrinfo *found)
{
    int fd = -1;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = listen_at(at);
    return fd;
}

/* At every address of this machine: IPv6 and IPv4 where it has both, else IPv4. */
static int listen_everywhere(uint16_t port)
{
    int fd = -1;
    for (int k = 0; k < 2 && fd < 0; k++) {
        struct addrinfo *found = resolve(k == 0 ? "::" : "0.0.0.0", port, AI_PASSIVE, NULL);
        fd = listen_at_any(found);
        const int reason = errno;
        if (found)
            freeaddrinfo(found);
        errno = reason;
    }
    return fd;
}

enum ronde_status ronde_socket_listen(const char *host, uint16_t port, int *out_fd,
                                      struct ronde_error *error)
{
    *out_fd = -1;
    struct addrinfo *found = host ? resolve(host, port, AI_PASSIVE, error) : NULL;
    if (host && !found)
        return RONDE_BAD_ARGUMENT;
    *out_fd = !host || is_own_name(host, found) ? listen_everywhere(port) : listen_at_any(found);
    const int reason = errno;
    if (found)
        freeaddrinfo(found);
    if (*out_fd >= 0)
        return RONDE_OK;
    return ronde_fail(error, RONDE_IO, "cannot listen at %.100s:%u: %s",
                      host ? host : "any address", port, strerror(reason));
}

int ronde_socket_left_ms(double deadline_ns, int most)
{
    const double left_ms = (deadline_ns - ronde_clock_ns()) / 1e6;
    if (left_ms <= 0)
        return 0;
    /* Rounded up, so that a wait does not become a spin for its last millisecond. */
    return left_ms >= (double)most ? most : (int)left_ms + 1;
}

static bool (*wait_hook)(void); /* atomic */

void ronde_comm_set_wait_hook(bool (*hook)(void))
{
    __atomic_store_n(&wait_hook, hook, __ATOMIC_RELEASE);
}

int ronde_socket_wait_ms(int most)
{
    bool (*const hook)(void) = __atomic_load_n(&wait_hook, __ATOMIC_ACQUIRE);
    const bool is_busy = hook && hook();
    return is_busy && most > 1 ? 1 : most;
}

/* Waits until the socket is ready or has failed; false at the deadline. */
static bool await(int fd, short events, double deadline_ns)
{
    struct pollfd poll_fd = {fd, events, 0};
    while (true) {
        const int left_ms = ronde_socket_left_ms(deadline_ns, 1000);
        if (poll(&poll_fd, 1, left_ms) > 0)
            return true;
        if (left_ms == 0)
            return false;
    }
}

/* One attempt at one address; -1 with errno. */
static int connect_at(const struct addrinfo *address, double deadline_ns)
{
    const double soon_ns = ronde_clock_ns() + ATTEMPT_NS;
    const int fd = open_socket(address);
    if (fd < 0)
        return -1;
    int reason = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (reason == EINPROGRESS) {
        socklen_t length = sizeof reason;
        if (!await(fd, POLLOUT, soon_ns < deadline_ns ? soon_ns : deadline_ns))
            reason = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &length) != 0)
            reason = errno;
    }
    if (reason == 0) {
        set_options(fd);
        return fd;
    }
    close(fd);
    errno = reason;
    return -1;
}

/* Resolves the names of a list; returns how many resolve. Errors: those of the last name, if none does. */
static uint32_t resolve_all(const char *hosts, uint16_t port, struct addrinfo *out_found[MAX_NAMES],
                            struct ronde_error *error)
{
    struct ronde_error why = {0};
    uint32_t count = 0;
    for (const char *at = hosts; count < MAX_NAMES;) {
        char name[RONDE_ADDRESSES_BYTES];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        out_found[count] = resolve(name, port, 0, count == 0 ? &why : NULL);
        count += out_found[count] != NULL;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    if (count == 0)
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT, "%s", why.message);
    return count;
}

/* One attempt at every address of every name; -1 with errno. */
static int connect_once(struct addrinfo *const *found, uint32_t count, double deadline_ns)
{
    int fd = -1;
    for (uint32_t k = 0; k < count && fd < 0; k++)
        for (const struct addrinfo *at = found[k]; at && fd < 0; at = at->ai_next)
            fd = connect_at(at, deadline_ns);
    return fd;
}

static bool is_short_of_files(int reason)
{
    return reason == EMFILE || reason == ENFILE;
}

enum ronde_status ronde_socket_connect(const char *host, uint16_t port, double deadline_ns,
                                       int *out_fd, struct ronde_error *error)
{
    const struct timespec pause = {0, RETRY_NS};
    struct addrinfo *found[MAX_NAMES];
    *out_fd = -1;
    const uint32_t count = resolve_all(host, port, found, error);
    if (count == 0)
        return RONDE_BAD_ARGUMENT;
    int reason = 0;
    while ((*out_fd = connect_once(found, count, deadline_ns)) < 0) {
        reason = errno;
        if (is_short_of_files(reason) || ronde_clock_ns() >= deadline_ns)
            break;
        (void)ronde_socket_wait_ms(0);
        (void)nanosleep(&pause, NULL);
    }
    for (uint32_t k = 0; k < count; k++)
        freeaddrinfo(found[k]);
    if (*out_fd >= 0)
        return RONDE_OK;
    if (is_short_of_files(reason))
        return ronde_fail(error, RONDE_DEVICE, "cannot connect to %.100s:%u: %s (ulimit -n)", host,
                          port, strerror(reason));
    return ronde_fail(error, RONDE_TIMEOUT, "nobody answers at %.100s:%u: %s", host, port,
                      strerror(reason));
}

int ronde_socket_accept(int listener)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        set_options(fd);
    return fd;
}

/* After a transfer that moved nothing: whether it may be tried again. */
static enum ronde_status after_refusal(int fd, short events, double deadline_ns)
{
    if (errno == EINTR)
        return RONDE_OK;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return RONDE_IO;
    return await(fd, events, deadline_ns) ? RONDE_OK : RONDE_TIMEOUT;
}

enum ronde_status ronde_socket_send(int fd, const void *data, size_t bytes, double deadline_ns)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t moved = send(fd, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        if (moved >= 0)
            done += (size_t)moved;
        else
            RONDE_TRY(after_refusal(fd, POLLOUT, deadline_ns));
    }
    return RONDE_OK;
}

enum ronde_status ronde_socket_receive(int fd, void *data, size_t bytes, double deadline_ns)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t moved = recv(fd, (char *)data + done, bytes - done, 0);
        if (moved == 0)
            return RONDE_IO;
        if (moved > 0)
            done += (size_t)moved;
        else
            RONDE_TRY(after_refusal(fd, POLLIN, deadline_ns));
    }
    return RONDE_OK;
}

/* Either side's address; false if the socket is not connected or bound. */
static bool address_of(int fd, bool is_peer, struct sockaddr_storage *address, socklen_t *length)
{
    *length = sizeof *address;
    memset(address, 0, sizeof *address);
    return (is_peer ? getpeername(fd, (struct sockaddr *)address, length)
                    : getsockname(fd, (struct sockaddr *)address, length)) == 0;
}

uint16_t ronde_socket_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length;
    char service[8];
    unsigned port = 0;
    if (!address_of(fd, false, &address, &length) ||
        getnameinfo((struct sockaddr *)&address, length, NULL, 0, service, sizeof service,
                    NI_NUMERICSERV) != 0 ||
        sscanf(service, "%u", &port) != 1)
        return 0;
    return (uint16_t)port;
}

void ronde_socket_host(int fd, bool is_peer, char text[RONDE_ADDRESS_BYTES])
{
    struct sockaddr_storage address;
    socklen_t length;
    if (!address_of(fd, is_peer, &address, &length) ||
        !write_address((struct sockaddr *)&address, length, text))
        snprintf(text, RONDE_ADDRESS_BYTES, "an unknown address");
}

/* An address that other machines may reach: not the loopback, not a link-local one with a scope. */
static bool is_public(const struct ifaddrs *own, char text[RONDE_ADDRESS_BYTES])
{
    if (!own->ifa_addr || (own->ifa_flags & IFF_UP) == 0 || (own->ifa_flags & IFF_LOOPBACK) != 0)
        return false;
    const bool is_4 = own->ifa_addr->sa_family == AF_INET;
    const bool is_6 = own->ifa_addr->sa_family == AF_INET6;
    const socklen_t length = is_4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return (is_4 || is_6) && write_address(own->ifa_addr, length, text) && !strchr(text, '%');
}

void ronde_socket_own_hosts(char text[RONDE_ADDRESSES_BYTES])
{
    struct ifaddrs *own = NULL;
    char address[RONDE_ADDRESS_BYTES];
    if (gethostname(text, HOST_NAME_MAX + 1) != 0)
        snprintf(text, RONDE_ADDRESSES_BYTES, "localhost");
    if (getifaddrs(&own) != 0)
        return;
    for (const struct ifaddrs *at = own; at; at = at->ifa_next) {
        const size_t used = strlen(text);
        if (is_public(at, address) && used + strlen(address) + 2 <= RONDE_ADDRESSES_BYTES)
            snprintf(text + used, RONDE_ADDRESSES_BYTES - used, ",%s", address);
    }
    freeifaddrs(own);
}
