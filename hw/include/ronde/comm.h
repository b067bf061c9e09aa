/**
 * Communicators: ranks that are processes, on one machine or on several, running schedules together.
 *
 * How processes find each other is up to the caller: one callback that allgathers bytes (ronde_comm_create), or a
 * rendezvous at rank 0 (ronde_comm_join). ronde_launcher_find determines which of a launcher's ranks this process is,
 * and ronde_comm_launch joins them.
 *
 * Calls marked collective must be made by all ranks of a communicator, in the same order. A run is checked against the
 * other ranks' before data moves: ranks that disagree all get an error that names two of them.
 * After a failure (a rank lost, a disagreement, a time limit, abort) a communicator only repeats its error; destroy it
 * and make another one.
 * Threads: a communicator and its programs belong to one thread at a time; several communicators may be used by several
 * threads, or in turns by one through ronde_comm_test. ronde_comm_abort may be called from anywhere.
 */
#ifndef RONDE_COMM_H
#define RONDE_COMM_H

#include "ronde/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Time limit of rendezvous and loading where none is given: 30 s, ns. */
#define RONDE_COMM_TIMEOUT_NS 30000000000u

/** Bytes of a job's token, the terminating zero included. */
#define RONDE_TOKEN_BYTES 128u

/** Draws an unguessable token: 128 random bits of the system's. Errors: DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_token_draw(char token[RONDE_TOKEN_BYTES],
                                                              struct ronde_error *error);

/** Called with a note on what was refused without harm, such as a foreign connection at the rendezvous; one line without newline. */
typedef void (*ronde_on_note)(void *self, const char *text);

/** How messages travel between processes: enumerator, text. */
#define RONDE_TRANSPORT_LIST(X)                                                                    \
    X(AUTO, "auto") /* hybrid; a build without UCX can do so where all ranks are on one host */    \
    X(SHM, "proc")  /* shared memory of one machine */                                             \
    X(UCX, "ucx")   /* whatever UCX finds, everywhere: InfiniBand, RoCE, TCP, shared memory */     \
    X(HYBRID, "hybrid") /* shared memory inside a host, UCX between hosts */

/** Transports. */
enum ronde_transport {
#define RONDE_ENUMERATOR(name, text) RONDE_TRANSPORT_##name,
    RONDE_TRANSPORT_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_TRANSPORT_COUNT /**< number of transports */
};

/** Bytes of a host_id, the terminating zero included. */
#define RONDE_HOST_ID_BYTES 64u

/** How a schedule is loaded. */
struct ronde_comm_plan {
    uint64_t slot_bytes; /**< the longest slot of any launch; 0 = the transport's default */
    uint32_t depth;      /**< the most slots of any launch; 0 = ronde_launch_depth's default */
};

/** Options of a communicator; zeroed means all defaults, and so does NULL wherever options are passed. The same on all ranks,
 * but for host_id and note. */
struct ronde_comm_options {
    enum ronde_transport transport; /**< how messages travel */
    uint64_t timeout_ns; /**< limit of every collective call but a run; 0 = RONDE_COMM_TIMEOUT_NS */
    struct ronde_comm_plan plan; /**< of schedules that are loaded without one */
    const char *host_id; /**< name of this rank's host: ranks that share memory do so only under one name; NULL = by
                              the network's name space */
    ronde_on_note note; /**< called with what was refused; NULL = not reported */
    void *note_self;    /**< its argument */
};

/** The caller's allgather, used before there is a communicator. */
struct ronde_bootstrap {
    void *self;     /**< the callback's argument */
    uint32_t rank;  /**< of this process */
    uint32_t ranks; /**< of the communicator */
    /** Gathers `bytes` bytes of every rank into out_all, in order of ranks; called by all ranks together. */
    enum ronde_status (*allgather)(void *self, const void *mine, size_t bytes, void *out_all,
                                   struct ronde_error *error);
};

/** A rendezvous: rank 0 listens at an address, the others connect to it. */
struct ronde_join {
    const char *host; /**< name or address; rank 0 listens there, which must be one of its own. NULL: the ranks share a
                            machine and find each other by the token alone */
    uint16_t port;     /**< the same on all ranks */
    bool has_listener; /**< rank 0: `listener` is meant */
    int listener;      /**< a listening socket that is taken over, instead of host and port */
    const char *token; /**< the job's secret, not empty; a connection without it is refused */
    uint32_t rank;     /**< of this process */
    uint32_t ranks;    /**< of the communicator */
};

/** Ranks that are processes. */
struct ronde_comm;

/** A schedule loaded on a communicator. */
struct ronde_comm_program;

/**
 * Makes a communicator of the ranks that a callback reaches; it is called once, with at most 512 bytes. Collective.
 *
 * Time: O(ranks) at rank 0. Owner: the caller destroys *out_comm. Errors: NO_MEMORY; BAD_ARGUMENT; TIMEOUT naming the
 * ranks that are missing; REJECTED naming a rank of another version; UNAVAILABLE for a transport that is not here.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_create(const struct ronde_bootstrap *bootstrap, const struct ronde_comm_options *options,
                  const struct ronde_mem *mem, struct ronde_comm **out_comm,
                  struct ronde_error *error);

/** The same of ranks that rendezvous at an address. Errors: those of ronde_comm_create; IO for a port already taken. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_join(const struct ronde_join *join, const struct ronde_comm_options *options,
                const struct ronde_mem *mem, struct ronde_comm **out_comm,
                struct ronde_error *error);

/**
 * Splits a communicator: ranks of one color form a new one, in order of key, then of rank. Collective.
 *
 * Color RONDE_NONE takes no part: *out_comm is NULL. Owner: the caller destroys *out_comm, before or after `comm`.
 * Errors: those of ronde_comm_create; those of the communicator.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_split(struct ronde_comm *comm, uint32_t color, uint32_t key,
                 struct ronde_comm **out_comm, struct ronde_error *error);

/**
 * Destroys it on this rank: not collective. Programs that are loaded are released with it; each is still to be unloaded,
 * the one thing that may be done with it afterwards. NULL is allowed. Does nothing in a process forked since the
 * communicator was made, to which neither it nor its programs belong.
 */
RONDE_API void ronde_comm_destroy(struct ronde_comm *comm);

/** This process's rank; 0 of NULL. */
RONDE_API uint32_t ronde_comm_rank(const struct ronde_comm *comm);

/** Number of ranks; 0 of NULL. */
RONDE_API uint32_t ronde_comm_ranks(const struct ronde_comm *comm);

/** Processors of this machine that the communicator's ranks may use, all together. */
RONDE_API uint32_t ronde_comm_processors(const struct ronde_comm *comm);

/** Whether this machine has more ranks of the communicator than processors that they may use. */
RONDE_API bool ronde_comm_is_oversubscribed(const struct ronde_comm *comm);

/** How the messages travel: PROC where all ranks are on one host, UCX where each has its own, else HYBRID. */
RONDE_API enum ronde_transport ronde_comm_transport(const struct ronde_comm *comm);

/**
 * An allocator of memory that the other ranks read and write without copying it first: buffers of runs are best taken
 * from it.
 *
 * Blocks are whole pages, taken from the system at once; up to the machine's memory, and all together no more than a
 * file may have (ulimit -f). Blocks must be freed before the communicator is destroyed. Any thread may allocate and free,
 * also while operations are pending. Where a transport has no such memory, the communicator's own allocator. Owner: the
 * communicator.
 *
 * After a failed run, ranks that have not yet received the failure may still write: what the run's buffers hold is
 * undefined until the communicator is destroyed. They may be freed at once; the allocator does not reuse that memory,
 * and refuses every allocation from then on.
 */
RONDE_API const struct ronde_mem *ronde_comm_mem(struct ronde_comm *comm);

/** Allgathers bytes of all ranks, in order of ranks; with 0 bytes a barrier. Collective. Errors: the communicator's. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_allgather(struct ronde_comm *comm, const void *mine, size_t bytes, void *out_all,
                     struct ronde_error *error);

/** Ends the communicator on all ranks: every run and call returns an error that names this rank. NULL is allowed. */
RONDE_API void ronde_comm_abort(struct ronde_comm *comm);

/**
 * Loads a schedule, which must outlive the program; plan NULL takes the communicator's. Collective. Memory: this
 * rank's steps and connections; on one machine a slot's memory is taken when it is first used.
 *
 * Owner: the caller unloads *out_program. Errors: NO_MEMORY; BAD_ARGUMENT for another number of ranks than the
 * communicator's; REJECTED naming two ranks that load different things; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_load(struct ronde_comm *comm, const struct ronde_schedule *schedule,
                const struct ronde_comm_plan *plan, struct ronde_comm_program **out_program,
                struct ronde_error *error);

/** Slot of launches that name none, bytes; longer blocks of which each is read once have longer ones. */
RONDE_API uint64_t ronde_comm_slot_bytes(const struct ronde_comm_program *program);

/** Releases a program: not collective. One that is running ends the communicator, as ronde_comm_abort does. NULL is allowed. */
RONDE_API void ronde_comm_unload(struct ronde_comm_program *program);

/**
 * Starts a run. Collective over one communicator: one run at a time, in the same order on all ranks.
 *
 * Of the launch's arrays by rank (in, out, in_blocks, out_blocks, factors) only this rank's entry is read, and only
 * memory of this rank is touched. Buffers must stay valid until the run is over. Allocates scratch only when a launch
 * needs more than all earlier ones. Errors: BAD_ARGUMENT, UNSUPPORTED as ronde_launch_check; BAD_ARGUMENT where a run
 * of this communicator is not over, or slot and depth are more than was loaded; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_comm_run(struct ronde_comm_program *program,
                                                            const struct ronde_launch *launch,
                                                            struct ronde_error *error);

/** Progresses a run; *out_done: it is over. Never blocks. Errors: as wait. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_test(struct ronde_comm_program *program, bool *out_done, struct ronde_error *error);

/**
 * Waits for the end of a run. out_result: time from run to its end on this rank.
 *
 * Errors: REJECTED naming two ranks that disagree and in what; TIMEOUT naming what was waited for; DEVICE naming a rank
 * that was lost; the communicator's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_comm_wait(struct ronde_comm_program *program,
                                                             struct ronde_result *out_result,
                                                             struct ronde_error *error);

/**
 * A communicator through the backend interface, where a whole machine is expected: self is the communicator (open
 * refuses), programs are loaded with its plan, buffers of other ranks are not read.
 */
extern RONDE_API const struct ronde_backend ronde_backend_comm;

/**
 * Whether the UCX found here reads and writes GPU memory (GPUDirect); where ranks run on GPUs it also depends on their
 * drivers whether it does. Errors: UNAVAILABLE with what is missing.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_gpu_direct_probe(struct ronde_error *why_not);

/** Whether a transport is in this build; the reason is NULL or a sentence. */
RONDE_API bool ronde_transport_available(enum ronde_transport transport, const char **out_reason);

/** Printed name of a transport; "?" if out of range. */
RONDE_API const char *ronde_transport_text(enum ronde_transport transport);

/** The process manager by which a launcher's processes can exchange bytes before the rendezvous. */
enum ronde_manager {
    RONDE_MANAGER_NONE, /**< none, or none needed: one host, or a known address */
    RONDE_MANAGER_PMI,  /**< the process manager interface over a socket, its first version */
    RONDE_MANAGER_PMIX  /**< PMIx */
};

/** The launcher that started this process, and its rank. */
struct ronde_launcher {
    const char *name; /**< "ronde", "torchrun", "open mpi", "pmi", "mvapich", "slurm", "pmix"; NULL = none */
    uint32_t rank;                 /**< of this process */
    uint32_t ranks;                /**< of the job */
    char host[256];                /**< rank 0's host, or empty */
    uint16_t port;                 /**< rank 0's port, or 0 */
    char token[RONDE_TOKEN_BYTES]; /**< the launcher's name of the job, or empty */
    enum ronde_manager manager;    /**< which ronde_comm_launch uses first */
    int pmi;                       /**< the socket of RONDE_MANAGER_PMI */
    bool is_open; /**< a session with the manager is open, until ronde_comm_launch or ronde_launcher_close */
};

/** Looks up a variable of the environment: getenv, or a test's own. */
typedef const char *(*ronde_lookup)(void *self, const char *name);

/**
 * Determines which rank of which launcher this process is. The first complete set of variables counts, and sets are
 * never mixed: RONDE_*, torchrun, a launcher known to have started this very process, Open MPI, PMI, MVAPICH, Slurm,
 * PMIx. docs/notes/processes.md has the table.
 *
 * lookup NULL reads the environment of this process. Errors: BAD_ARGUMENT for a set that contradicts itself, naming
 * variable and value; those of querying a launcher that sets no variable for rank or ranks (PMI_PORT, prterun).
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_launcher_find(ronde_lookup lookup, void *self,
                                                                 struct ronde_launcher *out_launcher,
                                                                 struct ronde_error *error);

/** Closes an open session with a launcher's manager; leaves a zeroed launcher. */
RONDE_API void ronde_launcher_close(struct ronde_launcher *launcher);

/**
 * Makes a communicator of the ranks that a launcher has started. Its process manager broadcasts rank 0's address and a
 * secret that is drawn; where there is none, or it does not reply, the ranks rendezvous at the launcher's host and
 * port, or by the token on one machine. Collective, once per process: others come from ronde_comm_split. A process that
 * uses MPI leaves PMI to it, and passes ronde_comm_create a callback.
 *
 * Owner: the caller destroys *out_comm. Errors: those of ronde_comm_join, and of a manager that has begun to reply;
 * they name what was tried before.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comm_launch(const struct ronde_launcher *launcher, const struct ronde_comm_options *options,
                  const struct ronde_mem *mem, struct ronde_comm **out_comm,
                  struct ronde_error *error);

/** Whether PMIx is in this build and on this machine; the reason is NULL or a sentence. */
RONDE_API bool ronde_pmix_available(const char **out_reason);

#ifdef __cplusplus
}
#endif
#endif
