/**
 * Descriptors handed from process to process of a host, over a socket (SCM_RIGHTS).
 *
 * What a driver exports is a file only by form: opened again through /proc/PID/fd it would be another file, without the
 * memory. The system call that takes another process's descriptor (pidfd_getfd) would do, but asks for the rights of a
 * debugger, which systems deny among siblings (Yama) and containers altogether. A socket asks for nothing. Its name is
 * the system's choice in a name space of its own (unix(7): autobind), so no file is left behind; both ends look who the
 * other is, as the system says it, and take nothing from strangers.
 */
#ifndef RONDE_HW_CUDA_DOOR_H
#define RONDE_HW_CUDA_DOOR_H

#include "hw/comm/star.h"

/** Where a process takes descriptors; sent as bytes. */
struct ronde_door_address {
    int32_t process;     /**< its number */
    uint32_t name_bytes; /**< 0 = it has no door */
    char name[24];       /**< of the socket, from the zero on that begins it */
};

/** A process's own. Zeroed is closed but for the socket, which has to be -1. */
struct ronde_door {
    int listener; /**< -1 = closed */
    struct ronde_door_address address;
};

/** What has to come in: something of another process, by a number both know. */
struct ronde_delivery {
    int32_t process;
    uint32_t number;
    int descriptor; /**< once it is here, the caller's to close; -1 before */
};

/** Opens a door. The caller closes it also on failure. Errors: DEVICE. */
enum ronde_status ronde_door_open(struct ronde_door *door, struct ronde_error *error);

/** Closes it; what lies at it unread is gone. */
void ronde_door_close(struct ronde_door *door);

/** Leaves a descriptor at a door, which stays the caller's as well. Never waits. Errors: DEVICE. */
enum ronde_status ronde_door_hand(const struct ronde_door_address *to, uint32_t number,
                                  int descriptor, struct ronde_error *error);

/**
 * Takes in everything that is expected, in any order, and nothing else. Errors: TIMEOUT naming a process; DEVICE; the
 * star's, where a rank is lost meanwhile.
 */
enum ronde_status ronde_door_take(const struct ronde_door *door, struct ronde_delivery *expected,
                                  size_t count, struct ronde_star *star, uint64_t timeout_ns,
                                  struct ronde_error *error);

#endif
