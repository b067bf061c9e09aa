/**
 * Anonymous files that another process of this machine has open, by their descriptor there (/proc/PID/fd).
 */
#ifndef RONDE_HW_SHM_PEER_FD_H
#define RONDE_HW_SHM_PEER_FD_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>

/** Opens a descriptor of another process once more; -1 with errno where the system refuses. Owner: the caller closes it. */
static inline int ronde_peer_fd_open(int32_t process, int32_t fd, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", process, fd);
    return open(path, flags | O_CLOEXEC);
}

#endif
