/* Who moves where. See spread.h. */
#include "hw/comm/spread.h"

#include <sched.h>
#include <stdbool.h>

/* Who has moved stays for so long: if the system moves it back, it has reasons, and caches are lost each time. */
#define STAY_NS 1e7

/* Seats are atomic; nothing else depends on their order. */
static uint32_t seat_of(const struct ronde_spread *spread, uint32_t rank)
{
    return __atomic_load_n(&spread->seats[rank], __ATOMIC_RELAXED);
}

/* Written only when it changes, so that the line stays with all who read it. */
static void sit(const struct ronde_spread *spread, uint32_t seat)
{
    if (seat_of(spread, spread->rank) != seat)
        __atomic_store_n(&spread->seats[spread->rank], seat, __ATOMIC_RELAXED);
}

/* Counts the ranks of every processor; whether this rank is the last of those on its own. */
static bool count_ranks(const struct ronde_spread *spread, uint32_t own,
                        uint32_t counts[CPU_SETSIZE])
{
    bool is_last = true;
    for (uint32_t rank = 0; rank < spread->ranks; rank++) {
        const uint32_t seat = seat_of(spread, rank);
        if (seat == 0 || seat > CPU_SETSIZE)
            continue;
        counts[seat - 1]++;
        is_last &= seat != own || rank <= spread->rank;
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

/* Goes to a processor without being held there. */
static bool move(uint32_t cpu, const cpu_set_t *usable)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    return sched_setaffinity(0, sizeof only, &only) == 0 &&
           sched_setaffinity(0, sizeof *usable, usable) == 0;
}

void ronde_spread_look(struct ronde_spread *spread, double now_ns)
{
    uint32_t counts[CPU_SETSIZE] = {0};
    cpu_set_t usable;
    const int here = sched_getcpu();
    /* Machines with more processors than a set holds spread ranks as they like. */
    if (here < 0 || here >= CPU_SETSIZE)
        return;
    sit(spread, (uint32_t)here + 1);
    /* One goes at a time, or all would. */
    if (!count_ranks(spread, (uint32_t)here + 1, counts) || counts[here] < 2 ||
        (spread->moved_ns > 0 && now_ns - spread->moved_ns < STAY_NS) ||
        sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    const uint32_t to = emptier_than((uint32_t)here, &usable, counts);
    if (to == (uint32_t)here || !move(to, &usable))
        return;
    spread->moved_ns = now_ns;
    sit(spread, to + 1);
}
