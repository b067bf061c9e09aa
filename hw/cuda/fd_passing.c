/* Passing file descriptors between processes. See fd_passing.h. */
#include "hw/cuda/fd_passing.h"

#include "ronde/hw.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Interval of checks of the control channel while nothing arrives. */
#define POLL_MS 5

/* Backlog of a listening socket: the system's maximum. */
#define BACKLOG 4096

/* Control data of a message with one descriptor, aligned as the system requires. */
union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
};

static enum ronde_status fail(struct ronde_error *error, const char *what)
{
    return ronde_fail(error, RONDE_DEVICE, "handing a descriptor to another process: %s: %s", what,
                      strerror(errno));
}

enum ronde_status ronde_fd_socket_open(struct ronde_fd_socket *fd_socket, struct ronde_error *error)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof place;
    memset(&fd_socket->address, 0, sizeof fd_socket->address);
    fd_socket->address.process = (int32_t)getpid();
    fd_socket->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_socket->listener < 0)
        return fail(error, "opening a door");
    /* With a name of no length the system chooses one (autobind). */
    if (bind(fd_socket->listener, (struct sockaddr *)(void *)&place, sizeof place.sun_family) != 0 ||
        listen(fd_socket->listener, BACKLOG) != 0 ||
        getsockname(fd_socket->listener, (struct sockaddr *)(void *)&place, &bytes) != 0)
        return fail(error, "opening a door");
    const size_t name_bytes = bytes - offsetof(struct sockaddr_un, sun_path);
    if (name_bytes == 0 || name_bytes > sizeof fd_socket->address.name) {
        errno = ENAMETOOLONG;
        return fail(error, "naming a door");
    }
    memcpy(fd_socket->address.name, place.sun_path, name_bytes);
    fd_socket->address.name_bytes = (uint32_t)name_bytes;
    return RONDE_OK;
}

void ronde_fd_socket_close(struct ronde_fd_socket *fd_socket)
{
    if (fd_socket->listener >= 0)
        close(fd_socket->listener);
    fd_socket->listener = -1;
}

/* The process at the other end of a socket, by the system's credentials; 0 if there are none. */
static int32_t process_of(int fd)
{
    struct ucred peer = {0, 0, 0};
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? (int32_t)peer.pid : 0;
}

static bool send_with(int fd, uint32_t number, int descriptor)
{
    union control control;
    struct iovec content = {&number, sizeof number};
    struct msghdr message = {.msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    memset(&control, 0, sizeof control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof number;
}

enum ronde_status ronde_fd_send(const struct ronde_fd_address *to, uint32_t number, int descriptor,
                                struct ronde_error *error)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    enum ronde_status status = RONDE_OK;
    if (to->name_bytes == 0)
        return ronde_fail(error, RONDE_DEVICE, "process %d takes no descriptors", to->process);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(error, "a socket");
    memcpy(place.sun_path, to->name, to->name_bytes);
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + to->name_bytes);
    if (connect(fd, (struct sockaddr *)(void *)&place, bytes) != 0)
        status = fail(error, "its socket (processes of a host share a network's name space, or use "
                             "sharing ipc)");
    else if (process_of(fd) != to->process)
        status =
            ronde_fail(error, RONDE_DEVICE,
                       "cannot pass a descriptor to process %d: its socket is held by process %d",
                       to->process, process_of(fd));
    else if (!send_with(fd, number, descriptor))
        status = fail(error, "sending");
    /* What was sent stays queued at the listener until it is accepted. */
    close(fd);
    return status;
}

/* Reads a message and its descriptor; a descriptor without its whole message is closed. */
static int receive_with(int fd, uint32_t *out_number)
{
    union control control;
    int descriptor = -1;
    struct iovec content = {out_number, sizeof *out_number};
    struct msghdr message = {.msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    const ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof descriptor))
        memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    if (descriptor >= 0 && got != (ssize_t)sizeof *out_number) {
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

/* State of one call of ronde_fd_receive. */
struct receiver {
    struct ronde_fd_delivery *expected;
    size_t count;
    size_t left; /* of these, not received yet */
    struct ronde_control_channel *control;
    double deadline_ns;
};

/* Polls once, POLL_MS long, for something to read. Errors: TIMEOUT, the control channel's. */
static enum ronde_status wait_readable(const struct receiver *receiver, int fd, bool *out_ready,
                                       struct ronde_error *error)
{
    struct pollfd ready = {fd, POLLIN, 0};
    *out_ready = poll(&ready, 1, POLL_MS) > 0;
    if (*out_ready)
        return RONDE_OK;
    RONDE_TRY(ronde_control_check(receiver->control, error));
    if (ronde_clock_ns() < receiver->deadline_ns)
        return RONDE_OK;
    size_t k = 0;
    while (receiver->expected[k].descriptor >= 0)
        k++;
    return ronde_fail(error, RONDE_TIMEOUT, "process %d did not hand its descriptor over in time",
                      receiver->expected[k].process);
}

/* The delivery expected from a process under a number, or under any (RONDE_NONE); NULL if there is none. */
static struct ronde_fd_delivery *find(const struct receiver *receiver, int32_t process,
                                      uint32_t number)
{
    for (size_t k = 0; k < receiver->count; k++) {
        struct ronde_fd_delivery *delivery = &receiver->expected[k];
        if (delivery->process == process && delivery->descriptor < 0 &&
            (number == RONDE_NONE || delivery->number == number))
            return delivery;
    }
    return NULL;
}

/* Serves one connection; one from an unexpected process is closed unread. */
static enum ronde_status receive(struct receiver *receiver, int fd, struct ronde_error *error)
{
    const int32_t process = process_of(fd);
    bool is_ready = false;
    uint32_t number = 0;
    if (!find(receiver, process, RONDE_NONE))
        return RONDE_OK;
    while (!is_ready)
        RONDE_TRY(wait_readable(receiver, fd, &is_ready, error));
    const int descriptor = receive_with(fd, &number);
    struct ronde_fd_delivery *delivery = find(receiver, process, number);
    if (descriptor >= 0 && delivery) {
        delivery->descriptor = descriptor;
        receiver->left--;
    } else if (descriptor >= 0) {
        close(descriptor);
    }
    return RONDE_OK;
}

enum ronde_status ronde_fd_receive(const struct ronde_fd_socket *fd_socket,
                                   struct ronde_fd_delivery *expected, size_t count,
                                   struct ronde_control_channel *control, uint64_t timeout_ns,
                                   struct ronde_error *error)
{
    struct receiver receiver = {expected, count, count, control,
                                ronde_clock_ns() + (double)timeout_ns};
    enum ronde_status status = RONDE_OK;
    if (count > 0 && fd_socket->address.name_bytes == 0)
        return ronde_fail(error, RONDE_DEVICE, "process %d takes no descriptors", (int)getpid());
    while (status == RONDE_OK && receiver.left > 0) {
        bool is_ready = false;
        const int fd = accept4(fd_socket->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            status = receive(&receiver, fd, error);
            close(fd);
        } else if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) {
            status = wait_readable(&receiver, fd_socket->listener, &is_ready, error);
        } else {
            status = fail(error, "opening the door to it");
        }
    }
    return status;
}
