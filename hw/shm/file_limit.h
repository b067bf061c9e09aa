/**
 * The limit of a file's length (ulimit -f): the system ends a process by SIGXFSZ that goes beyond, in memory too.
 */
#ifndef RONDE_HW_SHM_FILE_LIMIT_H
#define RONDE_HW_SHM_FILE_LIMIT_H

#include <stdint.h>
#include <sys/resource.h>

/** How long a file of this process may be; UINT64_MAX = there is no limit. */
static inline uint64_t ronde_file_limit_bytes(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return (uint64_t)limit.rlim_cur;
}

#endif
