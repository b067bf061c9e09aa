/* Which rank moves to which processor. See cpu_balance.h. */
#include "hw/shm/cpu_balance.h"

#include <sched.h>
#include <stdbool.h>

/* A rank that has moved stays for so long: the system may have reasons to move it back, and each move loses caches. */
#define STAY_NS 1e7

/* Entries are atomic; nothing else depends on their order. */
static uint32_t cpu_of_rank(const struct ronde_cpu_balance *cpu_balance, uint32_t rank)
{
    return __atomic_load_n(&cpu_balance->cpu_of[rank], __ATOMIC_RELAXED);
}

/* Written only when it changes, so that the line stays shared in the readers' caches. */
static void publish_cpu(const struct ronde_cpu_balance *cpu_balance, uint32_t cpu)
{
    if (cpu_of_rank(cpu_balance, cpu_balance->rank) != cpu)
        __atomic_store_n(&cpu_balance->cpu_of[cpu_balance->rank], cpu, __ATOMIC_RELAXED);
}

/* Counts the ranks of every processor; whether this rank is the last of those on its own. */
static bool count_ranks(const struct ronde_cpu_balance *cpu_balance, uint32_t own,
                        uint32_t counts[CPU_SETSIZE])
{
    bool is_last = true;
    for (uint32_t rank = 0; rank < cpu_balance->ranks; rank++) {
        const uint32_t cpu = cpu_of_rank(cpu_balance, rank);
        if (cpu == 0 || cpu > CPU_SETSIZE)
            continue;
        counts[cpu - 1]++;
        is_last &= cpu != own || rank <= cpu_balance->rank;
    }
    return is_last;
}

/* The emptiest processor this thread may use, if there are fewer ranks than there would be left here; else `here`. */
static uint32_t emptier_than(uint32_t here, const cpu_set_t *usable,
                             const uint32_t counts[CPU_SETSIZE])
{
    uint32_t best = here;
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, usable) && counts[cpu] < counts[best])
            best = cpu;
    return counts[here] >= counts[best] + 2 ? best : here;
}

/* Moves to a processor without staying bound to it. */
static bool move_to_cpu(uint32_t cpu, const cpu_set_t *usable)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    return sched_setaffinity(0, sizeof only, &only) == 0 &&
           sched_setaffinity(0, sizeof *usable, usable) == 0;
}

void ronde_cpu_balance_check(struct ronde_cpu_balance *cpu_balance, double now_ns)
{
    uint32_t counts[CPU_SETSIZE] = {0};
    cpu_set_t usable;
    const int here = sched_getcpu();
    /* On machines with more processors than a cpu_set_t holds, ranks are not balanced. */
    if (here < 0 || here >= CPU_SETSIZE)
        return;
    publish_cpu(cpu_balance, (uint32_t)here + 1);
    /* Only the last rank of a processor moves, or all would. */
    if (!count_ranks(cpu_balance, (uint32_t)here + 1, counts) || counts[here] < 2 ||
        (cpu_balance->moved_ns > 0 && now_ns - cpu_balance->moved_ns < STAY_NS) ||
        sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    const uint32_t to = emptier_than((uint32_t)here, &usable, counts);
    if (to == (uint32_t)here || !move_to_cpu(to, &usable))
        return;
    cpu_balance->moved_ns = now_ns;
    publish_cpu(cpu_balance, to + 1);
}
