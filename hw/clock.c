/* Time and processors, from the operating system. See ronde/hw.h. */
#include "ronde/hw.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

double ronde_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

uint32_t ronde_usable_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    /* The set is too small for machines beyond 1,024 processors: then all that are online count as usable. */
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
