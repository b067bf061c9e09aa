/**
 * Copies that a rank makes of what it sends, so that it waits for none of its readers.
 *
 * A rank that offers its own buffer waits until the last reader has been scheduled: with more ranks than processors that
 * is a round of context switches in every run, which may take longer than the data. A copy in memory that all ranks map is
 * offered instead. All readers of an operand share one, so it costs one copy where slots cost one each, and a root may be
 * some runs ahead of its readers: there is memory for the copies of so many runs.
 *
 * No counter says when the copies of a run may be overwritten: the handshake does (run_handshake.c). A rank that has begun
 * a run has read all messages of earlier ones, and no rank is further ahead of its peers than there are copies.
 *
 * What is too long for that has copies of its last pieces, where readers share them: one copy into memory where slots
 * would take one for each reader. A piece is copied once all readers have consumed the one that lay there, which the
 * counters of their connections say. That is one more edge from an earlier piece to a later one, so what was proved of a
 * piece still holds.
 */
#ifndef RONDE_HW_COMM_COMM_PARTS_H
#define RONDE_HW_COMM_COMM_PARTS_H

#include "engine/execute/loaded.h"
#include "hw/bootstrap/control_channel.h"
#include "hw/shm/direct_write.h"

#include "ronde/attach.h"
#include "ronde/mem.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ronde_act;
struct ronde_comm;
struct ronde_comm_program;
struct ronde_lane;
struct ronde_launch;
struct ronde_schedule;

/** An offer of a copy holds an offset instead of an address: no address of a process has this bit. */
#define RONDE_SEND_COPY_BIT ((uint64_t)1 << 63)

/**
 * Runs whose copies are held. While a rank that was ahead by `lead` runs begins the next one, a peer may be reading
 * in the run whose handshake record it has last published, which is lead + 1 back: lead + 2 are needed.
 */
#define RONDE_SEND_COPY_RUNS 8u

/** Where a program has its copies. */
struct ronde_send_copies {
    unsigned char *areas; /**< of all ranks, one after another; NULL: no copies are made */
    uint32_t *copies; /**< per task and step that sends: twice the number of the copy it offers, and 1 if it makes it */
    uint32_t *readers; /**< per task and step that makes a copy: how many sends offer it, this one and those right after it */
    bool is_shared; /**< some have several readers, and no connection has two messages in a piece: pieces may be held */
    uint32_t pitch;     /**< steps of a task in copies */
    uint32_t most;      /**< copies of a task in a piece */
    uint64_t run_bytes; /**< of the copies of a run, or of a piece, in the last launch that made any */
    uint32_t run;       /**< the current one, modulo RONDE_SEND_COPY_RUNS */
    uint32_t pieces;    /**< whose copies are held; 0: those of whole runs */
    uint32_t no_pull; /**< of the frame, were there no copies */
};

/** Bytes of the areas of all ranks; 0 for a schedule whose messages are not copied. The same on all ranks. */
uint64_t ronde_send_copies_bytes(const struct ronde_comm *comm,
                                 const struct ronde_schedule *schedule);

/** Numbers the copies of a program that is loaded, if there are areas. Errors: NO_MEMORY. */
enum ronde_status ronde_send_copies_open(struct ronde_comm_program *program, unsigned char *areas,
                                         struct ronde_error *error);

/** Releases what open took, also after a failed open. */
void ronde_send_copies_close(struct ronde_comm_program *program);

/** Before the next launch is prepared: the frame as it was without copies. */
void ronde_send_copies_undo(struct ronde_comm_program *program);

/**
 * Decides for a launch that was prepared whether its messages are copied, and lays the copies out. True if they lie
 * elsewhere than before: those of earlier runs must have been read.
 */
bool ronde_send_copies_choose(struct ronde_comm_program *program, const struct ronde_launch *launch);

/** Whether the next step of a lane may make its copy, if it makes one: whether its place is free. */
bool ronde_send_copies_may_copy(const struct ronde_comm_program *program,
                                const struct ronde_lane *lane);

/** Selects the memory of the next run's copies. */
void ronde_send_copies_next_run(struct ronde_comm_program *program);

/** Copies what the step being executed offers, unless an earlier one has; returns what the offer holds. */
const unsigned char *ronde_send_copies_copy(const struct ronde_act *act, const unsigned char *start,
                                            uint64_t bytes);

/* Inside of communicators: what comm.c, comm_program.c and the transports share. A communicator uses a control channel,
 * for what is rare, and a transport, which carries messages. A program is one rank's part of a schedule
 * (engine/execute/loaded.h), whose lanes comm_program.c polls; the transport gives every connection end its memory and
 * moves what the lanes have posted. */

/** Handshake records held per rank, a ring: how many runs a rank may be ahead of a peer that checks it. */
#define RONDE_HANDSHAKES 64u

/**
 * Runs that a rank may be ahead of ranks it only sends to, and these of others. Where all are, one rank is ahead of
 * another by so many, and one more, for every rank in between: their records must not be overwritten by then.
 */
static inline uint32_t ronde_comm_lead(uint32_t ranks)
{
    return ranks < RONDE_HANDSHAKES ? RONDE_HANDSHAKES / ranks - 1 : 0;
}

/** Limit of a sleep on descriptors, after which a rank checks for lost ranks and time limits, ms. */
#define RONDE_SLEEP_MS 5

/** Handshake record: what a rank publishes about a run before it moves data. */
struct ronde_handshake {
    uint64_t sequence; /**< runs of the communicator up to and including this one; 0 while it is written */
    uint64_t schedule;   /**< hash */
    uint64_t count;      /**< elements of a block */
    uint64_t slot_bytes; /**< of the launch, defaults filled in */
    uint32_t depth;      /**< of the launch, defaults filled in */
    uint32_t collective; /**< enum ronde_collective */
    uint32_t dtype;      /**< enum ronde_dtype */
    uint32_t op;         /**< enum ronde_op; 0 where nothing is reduced */
    uint32_t root;       /**< 0 where there is none */
    uint32_t ranks;      /**< of the schedule */
    char algorithm[64];  /**< its name, cut short */
    uint64_t offers; /**< 1 = this rank offers messages instead of copying them: each rank's own choice, not compared */
};

/** Result of checking an expected handshake record. */
enum ronde_handshake_state {
    RONDE_HANDSHAKE_ABSENT, /**< the rank has not published it yet */
    RONDE_HANDSHAKE_SAME,   /**< the rank runs the same */
    RONDE_HANDSHAKE_OTHER   /**< it does not; the error names both */
};

/** Header of an eager message, before its data (hw/shm/eager.h). */
struct ronde_eager_header {
    uint64_t number;  /**< of the message among all of its connection, from 1 on */
    uint64_t digest;  /**< of its sender's handshake record for the run */
    uint64_t length;  /**< as in RONDE_LENGTH */
    uint64_t padding; /**< aligns data to vectors of 32 bytes */
};

/** Bytes of data up to which messages are eager, and from one eager slot of a connection to the next. */
#define RONDE_EAGER_BYTES 4096u
#define RONDE_EAGER_STRIDE (RONDE_EAGER_BYTES + 64u)

/**
 * Eager slots of a connection at a depth: from the default depth on at least twice the runs that a rank may be ahead. A
 * slot that is written was then not read a moment ago, and has left the reader's first-level cache: 4 KiB take half the
 * time that they take in 8 slots. A lower depth is honoured. Never falls as depth rises, so what is loaded has room for
 * every launch.
 */
uint32_t ronde_eager_slots(const struct ronde_schedule *schedule, uint32_t depth);

struct ronde_attachment;
struct ronde_doorbells;
struct ronde_comm_program;
struct ronde_p2p_state;

/** Slots of connections between hosts in the memory of a device, which on the host only the transport reaches. */
struct ronde_device_slots {
    bool is_used;               /**< in this run; else they are in the host's memory */
    bool is_held;               /**< the transport was unloaded and may still access them */
    void (*settle)(void *self); /**< makes what has arrived in them visible to the device */
    void *self;                 /**< its argument */
};

/** What ranks that share a host's memory do in it beyond sending messages. */
struct ronde_wire_memory {
    /** Periodic: balances the ranks of a host over its processors (hw/shm/layout.h). */
    void (*cpu_balance)(const struct ronde_comm *comm, double now_ns);
    /**
     * Whether peers can read this rank's send buffers in place, from which share of a chunk on it pays, in runs out of
     * place and in place, and whether they may write there too: the habits' part about protocols.
     */
    bool (*is_readable)(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                        const struct ronde_launch *launch, struct ronde_habits *io_habits);
    /** Address at which a rank's offer is readable (RONDE_REMOTE_READ, engine/execute/machine.h); NULL with the error. */
    const unsigned char *(*find)(const struct ronde_comm *comm, uint32_t rank,
                                 const struct ronde_offer *offer, unsigned char *place,
                                 struct ronde_error *error);
    /** Publishes that this rank's offers become invalid, before they do. From now on registered memory that is freed is not
     * allocated again. */
    void (*withdraw)(const struct ronde_comm *comm);
    /** Whether a rank has withdrawn its offers; if not, all reads of them before this call were valid. */
    bool (*has_withdrawn)(const struct ronde_comm *comm, uint32_t rank);
    /** What ronde_comm_mem returns. */
    const struct ronde_mem *(*memory)(struct ronde_comm *comm);
};

/** A transport. Its functions are called by the thread of the communicator. */
struct ronde_wire {
    /** Prepares a communicator; sets its handshake records and its self. Collective. Errors: those of ronde_comm_create. */
    enum ronde_status (*open)(struct ronde_comm *comm, struct ronde_error *error);
    /** Releases what open took, also after a failed open. */
    void (*close)(struct ronde_comm *comm);
    /** The slot of a schedule whose plan names none. */
    uint64_t (*default_slot_bytes)(const struct ronde_schedule *schedule, uint32_t depth);
    /** The longest slot of a schedule whose plan names none; at least `usual`. The same on all ranks. NULL: as long. */
    uint64_t (*most_slot_bytes)(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                                uint32_t depth, uint64_t usual);
    /** The most slots of a schedule whose plan names no depth; at least `usual`. NULL: as many. */
    uint32_t (*most_depth)(const struct ronde_schedule *schedule, uint32_t usual);
    /** Gives every end of a program its memory. Collective. Errors: those of ronde_comm_load. */
    enum ronde_status (*load)(struct ronde_comm_program *program, struct ronde_error *error);
    /** Releases what load took, also after a failed load. */
    void (*unload)(struct ronde_comm_program *program);
    /** Publishes the run's handshake record to the peers. */
    void (*announce)(struct ronde_comm_program *program, const struct ronde_handshake *handshake);
    /**
     * Progresses messages, after a sweep in which lanes moved or did not. *io_moved: something moved, now or before.
     * *out_is_quiet: all that lanes posted has left this rank. Errors: IO naming a rank.
     */
    enum ronde_status (*poll)(struct ronde_comm_program *program, bool *io_moved,
                              bool *out_is_quiet, struct ronde_error *error);
    /** Backoff after `idle` empty polls in a row: pauses or yields and returns true, or false: time to sleep. */
    bool (*spin)(const struct ronde_comm *comm, uint32_t idle);
    /** Marks this rank as about to sleep; false if it was not marked before: a message may have arrived since. */
    bool (*sleep_begin)(struct ronde_comm *comm);
    /** Sleeps until a message arrives or wake is called, at most RONDE_SLEEP_MS. May be called beside the communicator's thread. */
    void (*sleep)(struct ronde_comm *comm);
    /** Ends that sleep. From any thread. */
    void (*wake)(struct ronde_comm *comm);
    /** For a sleep on several transports at once: a descriptor readable when a message arrives on this one. Else NULL. */
    int (*descriptor)(const struct ronde_comm *comm);
    /** Of the ranks of a host. NULL: they share no memory, and so make no offers. */
    const struct ronde_wire_memory *shared;
    /** Whether it sends from and receives into memory of GPUs (program->device). NULL: never. */
    bool (*reaches_devices)(const struct ronde_comm *comm);
    /** An end's eager slots (hw/shm/eager.h), data of the first. NULL: no eager messages. */
    unsigned char *(*eager)(const struct ronde_comm_program *program, uint64_t end);
};

/** Broadcast of rank 0's address: by the caller's callback, or a launcher's process manager. */
struct ronde_root_broadcast {
    void *self;     /**< its argument */
    uint32_t rank;  /**< of this process */
    uint32_t ranks; /**< of the communicator */
    /** Replaces `bytes` bytes, at most 512, by those of rank 0; called once, by all ranks together. */
    enum ronde_status (*announce)(void *self, void *data, size_t bytes, struct ronde_error *error);
};

/** Makes a communicator of the ranks that the broadcast reaches. Errors: those of ronde_comm_create; the broadcast's. */
enum ronde_status ronde_comm_bootstrap(const struct ronde_root_broadcast *root_broadcast,
                                       const struct ronde_comm_options *options,
                                       const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                       struct ronde_error *error);

/** The shared memory of one host. */
extern const struct ronde_wire ronde_wire_shm;
extern const struct ronde_wire_memory ronde_wire_shm_memory;

/** Shared memory inside hosts, UCX between them. */
extern const struct ronde_wire ronde_wire_hybrid;

/** UCX; empty in a build without it, where communicators that ask for it are refused before. */
extern const struct ronde_wire ronde_wire_ucx;

/** NULL, or why this build has no UCX. */
extern const char *const ronde_wire_ucx_missing;

/** Whether there is no communicator, or it is that of the process which this one was forked from. */
bool ronde_comm_is_foreign(const struct ronde_comm *comm);

/** Runs in streams whose messages threads of their programs move, one run after another (hw/cuda/progress_thread.c). */
struct ronde_comm_turns {
    uint64_t begun;
    uint64_t moved;
    bool has_failed; /**< one of them has: the others need not wait for their turn */
};

/** See comm_parts.h. */
struct ronde_comm {
    const struct ronde_mem *mem;
    struct ronde_comm_options options;
    struct ronde_control_channel *control;
    uint32_t rank;
    uint32_t ranks;
    const struct ronde_wire *wire;
    enum ronde_transport transport;
    uint32_t generation;               /**< of this process; a child forked since has another one */
    char host_id[RONDE_HOST_ID_BYTES]; /**< what options.host_id points to, if to anything */
    uint32_t *leaders;                 /**< of each rank's host: its first rank */
    struct ronde_doorbells *doorbells; /**< of this host, where futexes will not do; else NULL */
    void *wire_self;                   /**< the shared memory's */
    void *net_self;                    /**< UCX's */
    struct ronde_p2p_state *p2p;       /**< of tagged messages */
    struct ronde_handshake *local_handshakes; /**< ranks * RONDE_HANDSHAKES, published by this host's ranks */
    struct ronde_handshake *remote_handshakes; /**< the same of ranks of other hosts */
    uint64_t sequence;                         /**< runs begun */
    struct ronde_comm_program *programs;       /**< loaded, the last one first */
    struct ronde_comm_program *previous;       /**< of the last run; NULL when it was unloaded */
    struct ronde_comm_program *
        unsettled; /**< an earlier one, some handshake records of whose runs are still missing, or NULL */
    double checked_ns; /**< when the control channel was last polled */
    uint64_t loads;    /**< programs ever loaded: the same number on all ranks */
    bool is_running;
    struct ronde_comm_turns turns;
    uint32_t ranks_here; /**< on this machine, whatever their host_id */
    uint32_t processors; /**< of this machine that its ranks may use, all together */
    uint64_t stream_from_bytes; /**< of all ranks' buffers; queried once, as the query takes longer than a short run */
    bool is_oversubscribed; /**< more ranks on this machine than processors: waiting must not use any */
    bool is_background; /**< its thread runs beside the program's own: waiting must not use a processor either */
    struct ronde_attachment
        *attachment; /**< atomic: state of a library built on it (ronde/attach.h), or NULL */
};

/** A rank this one has connections with. */
struct ronde_peer {
    uint32_t rank;
    bool is_source;   /**< messages come from it */
    bool is_verified; /**< its handshake record matches, as far as this run waits for it */
    uint64_t digest;  /**< of its record for this run: this rank's, unless its record differs */
    uint64_t verified; /**< of a rank that is no source: the last run of the communicator in which its record matched */
};

/** See comm_parts.h. */
struct ronde_comm_program {
    struct ronde_comm *comm;         /**< NULL once that is destroyed */
    struct ronde_comm_program *next; /**< of the communicator's programs */
    const struct ronde_mem *mem;     /**< the communicator's; it may outlive that */
    struct ronde_loaded *loaded;
    /**
     * Not NULL: the lanes run elsewhere, and this is called instead of polling them, once the run may begin. Maintains
     * end->count of every end, and sets lane_count to 0 when all lanes are done. A connection's message number n
     * lies in slot n modulo depth. Errors: the run's.
     */
    enum ronde_status (*drive)(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error);
    void *driver;                      /**< its own */
    struct ronde_device_slots *device; /**< the driver's, where it has some; else NULL */
    uint64_t id;                       /**< the same on all ranks */
    uint64_t slot_bytes;               /**< the most of a launch */
    uint64_t usual_slot_bytes; /**< of launches that name none and whose blocks are no longer */
    uint32_t depth;            /**< the most of a launch */
    uint32_t usual_depth;      /**< of launches that name none and do not fit into the most */
    struct ronde_peer *peers;
    uint32_t peer_count;
    struct ronde_peer **peer_of; /**< by end; NULL where it only pads a cache line, or is this rank's own */
    bool has_eager;              /**< messages of the run are eager */
    uint64_t slot_stride; /**< of the frame, were the run not eager */
    uint32_t slot_count;  /**< the same of its depth */
    struct ronde_peer *doubted; /**< it sent an eager message whose digest is not the expected one; or NULL */
    struct ronde_send_copies send_copies;
    struct ronde_direct_write direct_write;
    uint64_t digest;           /**< of this rank's record for the run */
    uint64_t handshake_digest; /**< the same without the run's number */
    void *wire_self;           /**< the shared memory's */
    void *net_self;            /**< UCX's */
    uint32_t *lanes;           /**< those not done */
    uint32_t lane_count;
    struct ronde_handshake handshake; /**< of the run; what the schedule decides stays */
    bool is_running;
    struct ronde_launch launch; /**< the last one, */
    bool may_repeat;            /**< and whether it was prepared */
    bool is_over;               /**< the run has ended well and awaits ronde_comm_wait */
    bool is_rearranged;         /**< slots lie differently than in the run before */
    uint32_t sources_left;      /**< sources not yet verified */
    uint32_t others_left;       /**< other peers not yet verified */
    uint64_t agreed_digest;     /**< handshake_digest of the run before */
    uint32_t lead;              /**< runs that peers may be behind when this one ends */
    uint32_t idle;              /**< empty sweeps in a row */
    uint32_t sweeps;            /**< of the run */
    uint32_t checked_sweeps;    /**< of these, when the clock was last read */
    double start_ns;
    double end_ns;
    double moved_ns;              /**< time of the last progress, as far as the clock was read */
    double deadline_ns;           /**< 0 = none */
    struct ronde_error unreached; /**< why an offer could not be read */
};

/** Locks out the attachment, if there is one: waits until it does not use the communicator. */
void ronde_comm_enter(struct ronde_comm *comm);

/** Ends what ronde_comm_enter began. */
void ronde_comm_leave(struct ronde_comm *comm);

/** Options as given, or those that NULL stands for. */
const struct ronde_comm_options *ronde_comm_options_or_none(const struct ronde_comm_options *options);

/** Releases what programs hold of a communicator that is being destroyed; the caller's handles of them stay. */
void ronde_comm_release_programs(struct ronde_comm *comm);

/** Aborts the run, if any, of a program that is being unloaded: an alarm to all ranks fails the communicator. */
void ronde_comm_abandon(struct ronde_comm_program *program);

/** Fills in this rank's report: ronde_control_describe of a communicator. */
void ronde_comm_describe_run(void *self, struct ronde_report *out);

/** Begins the handshake with the peers about a run whose record is filled in. */
void ronde_run_handshake_begin(struct ronde_comm_program *program);

/** Checks for records not yet verified. Errors: REJECTED or DEVICE, naming ranks: the communicator must be failed. */
enum ronde_status ronde_run_handshake_poll(struct ronde_comm_program *program,
                                           struct ronde_error *why);

/** Whether all records that the run waits for are verified. */
bool ronde_run_handshake_is_complete(const struct ronde_comm_program *program);

/** Removes a program that is unloaded. */
void ronde_run_handshake_drop(struct ronde_comm_program *program);

/** Fills in a record's part that the schedule decides. */
void ronde_handshake_fill(struct ronde_handshake *handshake, const struct ronde_schedule *schedule);

/**
 * Refuses protocols pull and push where peers cannot read this rank's send buffers; sets the habits' part about
 * protocols. UNSUPPORTED.
 */
enum ronde_status
ronde_comm_check_protocol(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                          const struct ronde_launch *launch, struct ronde_habits *io_habits,
                          struct ronde_error *error);

/** Hash of a record without its sequence: equal for equal records, for others with negligible probability. */
uint64_t ronde_handshake_digest(const struct ronde_handshake *handshake);

/** The digest in the eager headers of one run of such ranks. */
static inline uint64_t ronde_handshake_digest_in_run(uint64_t handshake_digest, uint64_t sequence)
{
    return handshake_digest + sequence * UINT64_C(0xd6e8feb86659fd93);
}

/** Writes a record where peers may be reading. */
void ronde_handshake_put(struct ronde_handshake *to, const struct ronde_handshake *handshake);

/** The same for a record that differs from the one there only in its sequence. */
static inline void ronde_handshake_renew(struct ronde_handshake *to, uint64_t sequence)
{
    __atomic_store_n(&to->sequence, sequence, __ATOMIC_RELEASE);
}

/** Compares `rank`'s record for a run with the own one; OTHER fills in the error, SAME out_offers. */
enum ronde_handshake_state ronde_handshake_check(const struct ronde_comm *comm, uint32_t rank,
                                                 const struct ronde_handshake *mine,
                                                 bool *out_offers, struct ronde_error *error);

/** Fails with both records and the field in which they differ. REJECTED. */
enum ronde_status
ronde_handshake_refuse(uint32_t rank, const struct ronde_handshake *handshake, uint32_t other,
                       const struct ronde_handshake *other_handshake, struct ronde_error *error);

/** Bytes of a network's name, the terminating zero included. */
#define RONDE_NETWORK_BYTES 64

/** Names this process's network namespace: processes with equal names share its loopback. */
void ronde_comm_name_network(char text[RONDE_NETWORK_BYTES]);

/** Determines which ranks share memory; sets leaders, is_oversubscribed, transport and wire. Collective. */
enum ronde_status ronde_comm_find_locality(struct ronde_comm *comm, struct ronde_error *error);

/** Whether a rank is reached through this host's shared memory. */
static inline bool ronde_comm_is_local(const struct ronde_comm *comm, uint32_t rank)
{
    return comm->leaders[rank] == comm->leaders[comm->rank];
}

/**
 * Backoff after `idle` empty polls of a rank that waits for other hosts: yields the processor and returns true, or
 * returns false when it is time to sleep.
 */
bool ronde_comm_spin(const struct ronde_comm *comm, uint32_t idle);

/** Backs off, at most RONDE_SLEEP_MS, after `idle` empty polls in a row. */
void ronde_comm_rest(struct ronde_comm *comm, uint32_t idle);

/** Periodic work: polls the control channel, balances processors. Errors: the communicator's. */
enum ronde_status ronde_comm_check(struct ronde_comm *comm, double now_ns,
                                   struct ronde_error *error);

/** Wakes a rank of this host, if it sleeps, after a write to shared memory that concerns it. */
void ronde_shm_wake(const struct ronde_comm *comm, uint32_t rank);

/** Whether this rank can read what another of its host offers. */
bool ronde_shm_can_read(const struct ronde_comm *comm, uint32_t rank,
                        const struct ronde_offer *offer);

/** Whether two records, sequence and offers aside, are equal. */
bool ronde_handshake_is_same(const struct ronde_handshake *left,
                             const struct ronde_handshake *right);

/**
 * Makes a failure of one rank one of all: an allgather of each rank's status of a local step. Collective; a rank that
 * failed returns its own error, the others that of the first rank that has one.
 */
enum ronde_status ronde_comm_agree(struct ronde_comm *comm, enum ronde_status status,
                                   struct ronde_error *error);

#endif
