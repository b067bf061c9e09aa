/* Handing descriptors over. See door.h. */
#include "hw/cuda/door.h"

#include "hw/comm/socket.h"
#include "ronde/hw.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Between two looks at the star while nothing comes. */
#define LOOK_MS 5

/* As many as the system allows to wait at a door. */
#define WAITING 4096

/* Room for one descriptor beside a message, aligned as the system wants it. */
union passenger {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
};

static enum ronde_status fail(struct ronde_error *error, const char *what)
{
    return ronde_fail(error, RONDE_DEVICE, "handing a descriptor to another process: %s: %s", what,
                      strerror(errno));
}

enum ronde_status ronde_door_open(struct ronde_door *door, struct ronde_error *error)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof place;
    memset(&door->address, 0, sizeof door->address);
    door->address.process = (int32_t)getpid();
    door->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->listener < 0)
        return fail(error, "opening a door");
    /* A name of no length is the system's to choose. */
    if (bind(door->listener, (struct sockaddr *)(void *)&place, sizeof place.sun_family) != 0 ||
        listen(door->listener, WAITING) != 0 ||
        getsockname(door->listener, (struct sockaddr *)(void *)&place, &bytes) != 0)
        return fail(error, "opening a door");
    const size_t name_bytes = bytes - offsetof(struct sockaddr_un, sun_path);
    if (name_bytes == 0 || name_bytes > sizeof door->address.name) {
        errno = ENAMETOOLONG;
        return fail(error, "naming a door");
    }
    memcpy(door->address.name, place.sun_path, name_bytes);
    door->address.name_bytes = (uint32_t)name_bytes;
    return RONDE_OK;
}

void ronde_door_close(struct ronde_door *door)
{
    if (door->listener >= 0)
        close(door->listener);
    door->listener = -1;
}

/* The process at the other end of a socket, as the system knows it; 0 if it does not say. */
static int32_t process_of(int fd)
{
    struct ucred who = {0, 0, 0};
    socklen_t bytes = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 ? (int32_t)who.pid : 0;
}

static bool send_with(int fd, uint32_t number, int descriptor)
{
    union passenger passenger;
    struct iovec content = {&number, sizeof number};
    struct msghdr message = {.msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = passenger.bytes,
                             .msg_controllen = sizeof passenger.bytes};
    memset(&passenger, 0, sizeof passenger);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof number;
}

enum ronde_status ronde_door_hand(const struct ronde_door_address *to, uint32_t number,
                                  int descriptor, struct ronde_error *error)
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
        status = fail(error, "its door (processes of a host share a network's name space, or use "
                             "sharing ipc)");
    else if (process_of(fd) != to->process)
        status = ronde_fail(error, RONDE_DEVICE,
                            "handing a descriptor to process %d: process %d stands at its door",
                            to->process, process_of(fd));
    else if (!send_with(fd, number, descriptor))
        status = fail(error, "sending");
    /* What was sent waits there for whoever accepts. */
    close(fd);
    return status;
}

/* Reads a message and what came with it; a descriptor without its whole message is closed. */
static int receive_with(int fd, uint32_t *out_number)
{
    union passenger passenger;
    int descriptor = -1;
    struct iovec content = {out_number, sizeof *out_number};
    struct msghdr message = {.msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = passenger.bytes,
                             .msg_controllen = sizeof passenger.bytes};
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

/* What is under way in take. */
struct hall {
    struct ronde_delivery *expected;
    size_t count;
    size_t left; /* of these, not here yet */
    struct ronde_star *star;
    double deadline_ns;
};

/* Waits a moment for something to read. Errors: TIMEOUT, the star's. */
static enum ronde_status linger(const struct hall *hall, int fd, bool *out_ready,
                                struct ronde_error *error)
{
    struct pollfd ready = {fd, POLLIN, 0};
    *out_ready = poll(&ready, 1, LOOK_MS) > 0;
    if (*out_ready)
        return RONDE_OK;
    const enum ronde_status status = ronde_star_check(hall->star, error);
    if (status != RONDE_OK || ronde_clock_ns() < hall->deadline_ns)
        return status;
    size_t k = 0;
    while (hall->expected[k].descriptor >= 0)
        k++;
    return ronde_fail(error, RONDE_TIMEOUT, "process %d did not hand its descriptor over in time",
                      hall->expected[k].process);
}

/* What is expected of a process under a number, or under any (RONDE_NONE); NULL if nothing is. */
static struct ronde_delivery *find(const struct hall *hall, int32_t process, uint32_t number)
{
    for (size_t k = 0; k < hall->count; k++) {
        struct ronde_delivery *delivery = &hall->expected[k];
        if (delivery->process == process && delivery->descriptor < 0 &&
            (number == RONDE_NONE || delivery->number == number))
            return delivery;
    }
    return NULL;
}

/* One visitor: who is not expected is sent away unheard. */
static enum ronde_status receive(struct hall *hall, int fd, struct ronde_error *error)
{
    const int32_t process = process_of(fd);
    bool is_ready = false;
    uint32_t number = 0;
    enum ronde_status status = RONDE_OK;
    if (!find(hall, process, RONDE_NONE))
        return RONDE_OK;
    while (status == RONDE_OK && !is_ready)
        status = linger(hall, fd, &is_ready, error);
    if (status != RONDE_OK)
        return status;
    const int descriptor = receive_with(fd, &number);
    struct ronde_delivery *delivery = find(hall, process, number);
    if (descriptor >= 0 && delivery) {
        delivery->descriptor = descriptor;
        hall->left--;
    } else if (descriptor >= 0) {
        close(descriptor);
    }
    return RONDE_OK;
}

enum ronde_status ronde_door_take(const struct ronde_door *door, struct ronde_delivery *expected,
                                  size_t count, struct ronde_star *star, uint64_t timeout_ns,
                                  struct ronde_error *error)
{
    struct hall hall = {expected, count, count, star, ronde_clock_ns() + (double)timeout_ns};
    enum ronde_status status = RONDE_OK;
    if (count > 0 && door->address.name_bytes == 0)
        return ronde_fail(error, RONDE_DEVICE, "process %d takes no descriptors", (int)getpid());
    while (status == RONDE_OK && hall.left > 0) {
        bool is_ready = false;
        const int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            status = receive(&hall, fd, error);
            close(fd);
        } else if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) {
            status = linger(&hall, door->listener, &is_ready, error);
        } else {
            status = fail(error, "opening the door to it");
        }
    }
    return status;
}
