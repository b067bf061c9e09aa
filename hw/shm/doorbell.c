/* Doorbells as pipes. See layout.h. */
#include "hw/comm/comm_parts.h"
#include "hw/shm/layout.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct ronde_doorbells {
    int own[2]; /* this rank's pipe: its reading and its writing end */
    int *fds;   /* one per rank: the writing end of its pipe, or -1 */
    uint32_t ranks;
};

static enum ronde_status open_own(struct ronde_comm *comm, struct ronde_error *error)
{
    struct ronde_doorbells *doorbells = ronde_mem_new(comm->mem, 1, sizeof *doorbells);
    comm->doorbells = doorbells;
    if (!doorbells)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for doorbells");
    doorbells->own[0] = doorbells->own[1] = -1;
    doorbells->ranks = comm->ranks;
    doorbells->fds = ronde_mem_new(comm->mem, comm->ranks, sizeof *doorbells->fds);
    if (!doorbells->fds)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u doorbells", comm->ranks);
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        doorbells->fds[rank] = -1;
    if (pipe2(doorbells->own, O_NONBLOCK | O_CLOEXEC) != 0)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no pipe: %s", strerror(errno));
    return RONDE_OK;
}

static enum ronde_status open_others(struct ronde_comm *comm, const struct ronde_peer_fd *pipe_fds,
                                     struct ronde_error *error)
{
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        if (rank == comm->rank || !ronde_comm_is_local(comm, rank))
            continue;
        /* For reading, too: a write to a pipe whose owner has died raises no SIGPIPE while a reader is left. */
        comm->doorbells->fds[rank] = ronde_peer_fd_open(pipe_fds[rank], O_RDWR | O_NONBLOCK);
        if (comm->doorbells->fds[rank] < 0)
            return ronde_fail(error, RONDE_DEVICE, "cannot open the doorbell of rank %u: %s", rank,
                              strerror(errno));
    }
    return RONDE_OK;
}

enum ronde_status ronde_doorbells_open(struct ronde_comm *comm, struct ronde_error *error)
{
    struct ronde_peer_fd pipe_fd = {(int32_t)getpid(), -1};
    struct ronde_peer_fd *pipe_fds = ronde_mem_new(comm->mem, comm->ranks, sizeof *pipe_fds);
    enum ronde_status status =
        pipe_fds ? open_own(comm, error)
                 : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u doorbells", comm->ranks);
    if (status == RONDE_OK)
        pipe_fd.fd = comm->doorbells->own[1];
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status,
               ronde_control_allgather(comm->control, &pipe_fd, sizeof pipe_fd, pipe_fds, error));
    RONDE_THEN(status, open_others(comm, pipe_fds, error));
    ronde_mem_free(comm->mem, pipe_fds, comm->ranks, sizeof *pipe_fds);
    /* A rank's own descriptor must stay open until all ranks have opened it. */
    return ronde_comm_agree(comm, status, error);
}

void ronde_doorbells_close(struct ronde_comm *comm)
{
    struct ronde_doorbells *doorbells = comm->doorbells;
    if (!doorbells)
        return;
    for (uint32_t rank = 0; doorbells->fds && rank < doorbells->ranks; rank++)
        if (doorbells->fds[rank] >= 0)
            close(doorbells->fds[rank]);
    for (int end = 0; end < 2; end++)
        if (doorbells->own[end] >= 0)
            close(doorbells->own[end]);
    ronde_mem_free(comm->mem, doorbells->fds, doorbells->ranks, sizeof *doorbells->fds);
    ronde_mem_free(comm->mem, doorbells, 1, sizeof *doorbells);
    comm->doorbells = NULL;
}

void ronde_doorbells_ring(const struct ronde_doorbells *doorbells, uint32_t rank)
{
    /* A full pipe is readable already. This rank's own pipe has no other descriptor. */
    (void)!write(doorbells->fds[rank] >= 0 ? doorbells->fds[rank] : doorbells->own[1], "", 1);
}

int ronde_doorbells_fd(const struct ronde_doorbells *doorbells)
{
    return doorbells->own[0];
}

void ronde_doorbells_clear(const struct ronde_doorbells *doorbells)
{
    char rings[256];
    while (read(doorbells->own[0], rings, sizeof rings) == (ssize_t)sizeof rings)
        ;
}

/* Which rank moves to which processor. */

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
