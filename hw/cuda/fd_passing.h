/**
 * File descriptors passed between processes of a host, over a socket (SCM_RIGHTS).
 *
 * What a driver exports is a file only by form: opened again through /proc/PID/fd it would be another file, without the
 * memory. The system call that duplicates another process's descriptor (pidfd_getfd) would do, but needs the rights of a
 * debugger, which systems deny among siblings (Yama) and containers altogether. A socket needs no rights. The system
 * chooses its name in the abstract name space (unix(7): autobind), so no file is left behind; both ends check the peer's
 * process number by its credentials (SO_PEERCRED), and accept nothing from other processes.
 */
#ifndef RONDE_HW_CUDA_FD_PASSING_H
#define RONDE_HW_CUDA_FD_PASSING_H

#include "hw/bootstrap/control_channel.h"

/** Address at which a process receives descriptors; sent as bytes. */
struct ronde_fd_address {
    int32_t process;     /**< its number */
    uint32_t name_bytes; /**< 0 = it has no socket */
    char name[24];       /**< of the socket, including its leading zero */
};

/** A process's listening socket. Closed: all zero, `listener` -1. */
struct ronde_fd_socket {
    int listener; /**< -1 = closed */
    struct ronde_fd_address address;
};

/** A descriptor to receive: from another process, under a number that both ends use. */
struct ronde_fd_delivery {
    int32_t process;
    uint32_t number;
    int descriptor; /**< once received, the caller's to close; -1 before */
};

/** Opens a socket. The caller closes it also on failure. Errors: DEVICE. */
enum ronde_status ronde_fd_socket_open(struct ronde_fd_socket *fd_socket, struct ronde_error *error);

/** Closes it; connections that were not accepted are dropped. */
void ronde_fd_socket_close(struct ronde_fd_socket *fd_socket);

/** Sends a descriptor, which stays the caller's as well, to a socket's queue. Never waits. Errors: DEVICE. */
enum ronde_status ronde_fd_send(const struct ronde_fd_address *to, uint32_t number, int descriptor,
                                struct ronde_error *error);

/**
 * Receives every expected descriptor, in any order, and nothing else. Errors: TIMEOUT naming a process; DEVICE; the
 * control channel's, where a rank is lost meanwhile.
 */
enum ronde_status ronde_fd_receive(const struct ronde_fd_socket *fd_socket,
                                   struct ronde_fd_delivery *expected, size_t count,
                                   struct ronde_control_channel *control, uint64_t timeout_ns,
                                   struct ronde_error *error);

#endif
