/* Which processors the threads of a gang use. See seats.h. */
#include "hw/cpu/seats.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* What a server's processor has at least. */
#define CACHE_BYTES ((uint64_t)1 << 20)

struct ronde_seats {
    const struct ronde_mem *mem;
    uint32_t workers;
    uint32_t cpu_count;         /* usable processors; fewer than workers = nothing to arrange */
    uint32_t first;             /* index of the processor the groups begin at */
    uint64_t arrangement;       /* counts changes of first */
    uint16_t cpus[CPU_SETSIZE]; /* the usable processors, ascending */
};

struct ronde_seats *ronde_seats_create(const struct ronde_mem *mem, uint32_t workers)
{
    struct ronde_seats *seats = ronde_mem_new(mem, 1, sizeof *seats);
    if (!seats)
        return NULL;
    seats->mem = mem;
    seats->workers = workers;
    cpu_set_t usable;
    CPU_ZERO(&usable);
    /* A machine with more processors than the set holds is left to its scheduler. */
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return seats;
    for (uint16_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable))
            seats->cpus[seats->cpu_count++] = cpu;
    return seats;
}

void ronde_seats_destroy(struct ronde_seats *seats)
{
    if (seats)
        ronde_mem_free(seats->mem, seats, 1, sizeof *seats);
}

/* Index of the calling thread's processor among the usable ones; cpu_count if it is none of them. */
static uint32_t current_index(const struct ronde_seats *seats)
{
    const int cpu = sched_getcpu();
    uint32_t index = 0;
    while (index < seats->cpu_count && seats->cpus[index] != cpu)
        index++;
    return index;
}

uint64_t ronde_seats_arrange(struct ronde_seats *seats)
{
    if (seats->cpu_count < seats->workers)
        return 0;
    const uint32_t index = current_index(seats);
    if (index == seats->cpu_count)
        return seats->arrangement;
    const uint32_t offset = (index + seats->cpu_count - seats->first) % seats->cpu_count;
    if (seats->arrangement == 0 || offset >= seats->cpu_count / seats->workers) {
        seats->first = index;
        seats->arrangement++;
    }
    return seats->arrangement;
}

void ronde_seats_settle(const struct ronde_seats *seats, uint32_t worker)
{
    const uint32_t begin = (uint32_t)((uint64_t)worker * seats->cpu_count / seats->workers);
    const uint32_t end = (uint32_t)((uint64_t)(worker + 1) * seats->cpu_count / seats->workers);
    cpu_set_t group;
    CPU_ZERO(&group);
    for (uint32_t k = begin; k < end; k++)
        CPU_SET(seats->cpus[(seats->first + k) % seats->cpu_count], &group);
    (void)pthread_setaffinity_np(pthread_self(), sizeof group, &group);
}

uint64_t ronde_seats_cache_bytes(void)
{
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : CACHE_BYTES;
}
