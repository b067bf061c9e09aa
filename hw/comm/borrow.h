/**
 * Files without a name that a process of this machine has open, by the number they have there.
 */
#ifndef RONDE_HW_COMM_BORROW_H
#define RONDE_HW_COMM_BORROW_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>

/** Opens a descriptor of another process once more; -1 with errno where the system refuses. Owner: the caller closes it. */
static inline int ronde_borrow(int32_t process, int32_t descriptor, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
    return open(path, flags | O_CLOEXEC);
}

#endif
