/**
 * What the transport through shared memory is made of: where everything lies, slots, who wakes whom, who has which
 * processor.
 */
#ifndef RONDE_HW_SHM_LAYOUT_H
#define RONDE_HW_SHM_LAYOUT_H

#include "hw/comm/comm_parts.h"

#include "ronde/status.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

/** The regions of a program. */
struct ronde_shm_layout {
    unsigned char *start; /**< NULL until there is memory */
    uint64_t *firsts;     /**< per rank and channel: the number of its first region */
    uint64_t count;       /**< of all ranks */
    uint64_t stride; /**< bytes from one to the next: the connection's memory, and behind it its eager slots */
};

/** Numbers the regions of a program, for as long as it is loaded. Errors: NO_MEMORY. */
enum ronde_status ronde_shm_layout_open(const struct ronde_comm_program *program,
                                        struct ronde_shm_layout *out_layout,
                                        struct ronde_error *error);

/** Gives the connections of a rank of this host that do not leave it their memory; `part` is that rank's part. */
void ronde_shm_layout_place(const struct ronde_shm_layout *layout,
                            const struct ronde_comm_program *program, struct ronde_loaded *part);

/** Where the eager slots of a placed connection end begin: the data of the first. */
unsigned char *ronde_shm_layout_eager(const struct ronde_comm_program *program, uint64_t end);

/* How long the slots of a schedule's connections are in shared memory, and how many there are. All ranks compute
 * the same. */

struct ronde_schedule;

/** The usual slot: shorter ones for schedules of many connections. */
uint64_t ronde_shm_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth);

/**
 * The longest slot, where the kernel reads for receivers: a call of it takes as long as some KiB. At least `usual`, and no
 * more than that where a message pays by being in the caches.
 */
uint64_t ronde_shm_most_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth,
                                   uint64_t usual);

/** The most slots: more than `usual` where ranks only send, which then need not wait for those that receive. */
uint32_t ronde_shm_most_depth(const struct ronde_schedule *schedule, uint32_t usual);

/* Doorbells of a host's ranks as pipes, so that a rank can sleep in poll() on its doorbell and on a network at
 * once. Where there is only shared memory, a futex does the same for less. */

struct ronde_comm;
struct ronde_doorbells;

/** Opens this rank's doorbell and those of its host's ranks: comm->doorbells. Collective. Errors: NO_MEMORY, DEVICE. */
enum ronde_status ronde_doorbells_open(struct ronde_comm *comm, struct ronde_error *error);

/** Closes them, also after a failed open. */
void ronde_doorbells_close(struct ronde_comm *comm);

/** Rings the doorbell of a rank of this host, or of this rank. */
void ronde_doorbells_ring(const struct ronde_doorbells *doorbells, uint32_t rank);

/** The descriptor that becomes readable when this rank's doorbell rings. */
int ronde_doorbells_fd(const struct ronde_doorbells *doorbells);

/** Empties the pipe: clears all rings so far. */
void ronde_doorbells_clear(const struct ronde_doorbells *doorbells);

/* Balancing the ranks of a host over its processors. Ranks that poll look busy to the system, and those that yield
 * look cheap: it may leave three of four on one processor for seconds, and a collective takes as long as the
 * fullest one. Each rank therefore publishes its processor in shared memory, and one of those that are too many
 * moves to the emptiest. It is not bound there: its affinity mask stays as it was, and an affinity that the user
 * has set is respected. */

/** Where the ranks of a host run, as one of them reads it. */
struct ronde_cpu_balance {
    uint32_t *cpu_of; /**< of all ranks, in memory they share: processor + 1; 0: not on this host, or not known yet */
    uint32_t ranks;  /**< entries of cpu_of */
    uint32_t rank;   /**< this one */
    double moved_ns; /**< when it has last moved; 0: never */
};

/** Publishes the calling thread's processor, and moves it if too many ranks are there. `now_ns`: of a monotonic clock. */
void ronde_cpu_balance_check(struct ronde_cpu_balance *cpu_balance, double now_ns);

/* The limit of a file's length (ulimit -f): the system ends a process by SIGXFSZ that goes beyond, in memory too. */

/** How long a file of this process may be; UINT64_MAX = there is no limit. */
static inline uint64_t ronde_file_limit_bytes(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return (uint64_t)limit.rlim_cur;
}

/* Anonymous files that another process of this machine has open, by their descriptor there (/proc/PID/fd). */

/** A descriptor in the process that has opened it. */
struct ronde_peer_fd {
    int32_t process;
    int32_t fd;
};

/** Opens a descriptor of another process once more; -1 with errno where the system refuses. Owner: the caller closes it. */
static inline int ronde_peer_fd_open(struct ronde_peer_fd peer_fd, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", peer_fd.process, peer_fd.fd);
    return open(path, flags | O_CLOEXEC);
}

#endif
