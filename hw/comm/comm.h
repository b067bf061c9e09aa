/**
 * Inside of communicators: what comm.c, program.c and the transports share.
 *
 * A communicator stands on a star, which carries what is rare, and on a transport, which carries messages. A program is
 * one rank's part of a schedule (engine/loaded.h), whose lanes program.c polls; the transport gives every connection end
 * its memory and moves what the lanes have posted.
 */
#ifndef RONDE_HW_COMM_COMM_H
#define RONDE_HW_COMM_COMM_H

#include "engine/loaded.h"
#include "hw/comm/keep.h"
#include "hw/comm/push.h"
#include "hw/comm/star.h"

/** Cards kept of every rank: how far ahead of another that checks it a rank may be. */
#define RONDE_CARDS 64u

/**
 * Runs that a rank may be ahead of ranks it only sends to, and these of others. Where they all do, one rank is ahead of
 * another by so many, and one more, for every rank in between: their cards must not be gone by then.
 */
static inline uint32_t ronde_comm_lead(uint32_t ranks)
{
    return ranks < RONDE_CARDS ? RONDE_CARDS / ranks - 1 : 0;
}

/** A rank that sleeps on descriptors looks around for lost ranks and time limits after this long. */
#define RONDE_NAP_MS 5

/** What a rank says about a run before it moves data. */
struct ronde_card {
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
    uint64_t offers; /**< 1 = this rank offers messages instead of copying them: its own business, not compared */
};

/** What a card that is expected turns out to be. */
enum ronde_card_state {
    RONDE_CARD_ABSENT, /**< the rank has not come so far */
    RONDE_CARD_SAME,   /**< the rank runs the same */
    RONDE_CARD_OTHER   /**< it does not; the error names both */
};

/** What stands before a letter's data (letters.h). */
struct ronde_letter {
    uint64_t number;  /**< of the message among all of its connection, from 1 on */
    uint64_t digest;  /**< of the card that its sender shows for the run */
    uint64_t length;  /**< as in RONDE_LENGTH */
    uint64_t padding; /**< data begins where vectors of 32 bytes may */
};

/** Bytes of data up to which messages travel as letters, and from one letter of a connection to the next. */
#define RONDE_LETTER_BYTES 4096u
#define RONDE_LETTER_STRIDE (RONDE_LETTER_BYTES + 64u)

/**
 * Letters of a connection, as many as it has slots: from the default depth on at least twice the runs that a rank may be
 * ahead. What is written is then not what was read a moment ago, and long gone from the reader's nearest cache: 4 KiB
 * take half the time that they take in 8 slots. Who asks for less depth gets it. Never falls as depth rises, so what is
 * loaded has room for every launch.
 */
uint32_t ronde_letter_slots(const struct ronde_schedule *schedule, uint32_t depth);

struct ronde_bells;
struct ronde_comm_program;

/** Slots of far connections in the memory of a device, which here only the transport reaches. */
struct ronde_device_slots {
    bool is_used;               /**< in this run; else they are in the host's memory */
    bool is_held;               /**< the transport was unloaded and may access them all the same */
    void (*settle)(void *self); /**< makes what has arrived in them visible to the device */
    void *self;                 /**< handed to it */
};

/** How messages travel. Slots are called by the thread of the communicator. */
struct ronde_wire {
    /** Prepares a communicator; sets its cards and its self. Collective. Errors: those of ronde_comm_create. */
    enum ronde_status (*open)(struct ronde_comm *comm, struct ronde_error *error);
    /** Releases what open took, also after a failed open. */
    void (*close)(struct ronde_comm *comm);
    /** The slot of a schedule whose plan names none. */
    uint64_t (*default_slot_bytes)(const struct ronde_schedule *schedule, uint32_t depth);
    /** Gives every end of a program its memory. Collective. Errors: those of ronde_comm_load. */
    enum ronde_status (*load)(struct ronde_comm_program *program, struct ronde_error *error);
    /** Releases what load took, also after a failed load. */
    void (*unload)(struct ronde_comm_program *program);
    /** Shows the run's card to the neighbours. */
    void (*tell)(struct ronde_comm_program *program, const struct ronde_card *card);
    /**
     * Moves messages on, after a sweep in which lanes moved or did not. *io_moved: something moved, now or before.
     * *out_is_quiet: whatever lanes posted is out of this rank's hands. Errors: IO naming a rank.
     */
    enum ronde_status (*poll)(struct ronde_comm_program *program, bool *io_moved,
                              bool *out_is_quiet, struct ronde_error *error);
    /** Now and then: sees to it that the ranks of a host use its processors evenly (spread.h). NULL: that is not known. */
    void (*spread)(const struct ronde_comm *comm, double now_ns);
    /** Waits a moment, at most some milliseconds, after `idle` fruitless polls in a row. */
    void (*rest)(struct ronde_comm_program *program, uint32_t idle);
    /**
     * For a rank that rests on several wires at once: a descriptor that becomes readable when this one has news, or -1
     * while there may be some already. NULL in hybrid, which is that rank.
     */
    int (*doze)(struct ronde_comm_program *program);
    /**
     * Whether other ranks can read what this rank sends where it lies, from which share of a chunk on it pays, in runs
     * out of place and in place, and whether they may write there too: what habits say of protocols. NULL: never.
     */
    bool (*is_readable)(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                        const struct ronde_launch *launch, struct ronde_habits *io_habits);
    /** Where an offer of a rank can be read (RONDE_REACH, engine/machine.h); NULL with the error. NULL: nothing is offered. */
    const unsigned char *(*find)(const struct ronde_comm *comm, uint32_t rank,
                                 const struct ronde_offer *offer, unsigned char *place,
                                 struct ronde_error *error);
    /** Says that what this rank has offered is not there any more, before that is so. From now on nothing that is freed
     * of what memory hands out is handed out again. NULL as find. */
    void (*withdraw)(const struct ronde_comm *comm);
    /** Whether a rank has said that; what was read of its offers before this was asked is what it offered if not. */
    bool (*has_withdrawn)(const struct ronde_comm *comm, uint32_t rank);
    /** What ronde_comm_mem returns; NULL: the communicator's own. */
    const struct ronde_mem *(*memory)(struct ronde_comm *comm);
    /** Whether it sends from and receives into memory of GPUs (program->device). NULL: never. */
    bool (*reaches_devices)(const struct ronde_comm *comm);
    /** Where an end's letters lie (letters.h), data of the first. NULL: messages have no such form. */
    unsigned char *(*letters)(const struct ronde_comm_program *program, uint64_t end);
};

/** Who hands round where rank 0 is: the caller's callback, or a launcher's process manager. */
struct ronde_herald {
    void *self;     /**< handed to it */
    uint32_t rank;  /**< of this process */
    uint32_t ranks; /**< of the communicator */
    /** Replaces `bytes` bytes, at most 512, by those of rank 0; called once, by all ranks together. */
    enum ronde_status (*tell)(void *self, void *data, size_t bytes, struct ronde_error *error);
};

/** Makes a communicator of the ranks that a herald reaches. Errors: those of ronde_comm_create; the herald's. */
enum ronde_status ronde_comm_meet(const struct ronde_herald *herald,
                                  const struct ronde_comm_options *options,
                                  const struct ronde_mem *mem, struct ronde_comm **out_comm,
                                  struct ronde_error *error);

/** The shared memory of one host. */
extern const struct ronde_wire ronde_wire_proc;

/** Shared memory inside hosts, UCX between them. */
extern const struct ronde_wire ronde_wire_hybrid;

/** UCX; a build without it has one that only refuses. */
extern const struct ronde_wire ronde_wire_ucx;

/** NULL, or why this build has no UCX. */
extern const char *const ronde_wire_ucx_missing;

/** See ronde/comm.h. */
struct ronde_comm {
    const struct ronde_mem *mem;
    struct ronde_comm_options options;
    struct ronde_star *star;
    uint32_t rank;
    uint32_t ranks;
    const struct ronde_wire *wire;
    enum ronde_transport transport;
    int32_t process;                     /**< this one; a child forked since has no part in it */
    char host_id[RONDE_HOST_ID_BYTES];   /**< what options.host_id points to, if to anything */
    uint32_t *leaders;                   /**< of each rank's host: its first rank */
    struct ronde_bells *bells;           /**< of this host, where futexes will not do; else NULL */
    void *wire_self;                     /**< the shared memory's */
    void *net_self;                      /**< UCX's */
    struct ronde_card *near_cards;       /**< ranks * RONDE_CARDS, as this host's ranks show them */
    struct ronde_card *far_cards;        /**< the same of ranks of other hosts */
    uint64_t sequence;                   /**< runs begun */
    struct ronde_comm_program *previous; /**< of the last run; NULL when it was unloaded */
    struct ronde_comm_program *
        debtor; /**< an earlier one, whose neighbours have not shown all cards of its runs, or NULL */
    double checked_ns; /**< when the star was last looked at */
    uint64_t loads;    /**< programs ever loaded: the same number on all ranks */
    bool is_running;
    uint32_t ranks_here; /**< on this machine, whatever hosts they say they are on */
    uint32_t processors; /**< of this machine that its ranks may use, all together */
    uint64_t stream_from_bytes; /**< of all ranks' buffers; asked once, the question is longer than a short run */
    bool is_crowded; /**< more ranks on this machine than processors: waiting must not use any */
};

/** A rank this one has connections with. */
struct ronde_neighbour {
    uint32_t rank;
    bool is_source;   /**< messages come from it */
    bool is_verified; /**< it runs the same as this rank does now, as far as this run waits for */
    uint64_t digest; /**< of its card for this run, unless the card says otherwise: as this rank's */
    uint64_t verified; /**< of a rank that is no source: the last run of the communicator it is known to run the same in */
};

/** See ronde/comm.h. */
struct ronde_comm_program {
    struct ronde_comm *comm;
    struct ronde_loaded *loaded;
    /**
     * Runs the lanes elsewhere, where this is not NULL: called instead of polling them, once the run may begin. Takes
     * over end->count of every end, and sets lane_count to 0 when all lanes are done. A connection's message number n
     * lies in slot n modulo depth. Errors: the run's.
     */
    enum ronde_status (*drive)(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error);
    void *driver;                      /**< its own */
    struct ronde_device_slots *device; /**< the driver's, where it has some; else NULL */
    uint64_t id;                       /**< the same on all ranks */
    uint64_t slot_bytes;
    uint32_t depth;
    struct ronde_neighbour *neighbours;
    uint32_t neighbour_count;
    struct ronde_neighbour *
        *neighbour_of;    /**< by end; NULL where it only fills a line, or is this rank's own */
    bool has_letters;     /**< messages of the run are letters */
    uint64_t slot_stride; /**< of the frame, had the run no letters */
    uint32_t slot_count;  /**< the same of its depth */
    struct ronde_neighbour
        *doubted; /**< it sent a letter whose digest is not its own, as far as known; or NULL */
    struct ronde_keep keep;
    struct ronde_push push;
    uint64_t digest;      /**< of this rank's card for the run */
    uint64_t card_digest; /**< the same without the run's number */
    void *wire_self;      /**< the shared memory's */
    void *net_self;       /**< UCX's */
    uint32_t *lanes;      /**< those not done */
    uint32_t lane_count;
    struct ronde_card card; /**< of the run; what the schedule decides stays */
    bool is_running;
    struct ronde_launch launch; /**< as it was given last, */
    bool may_repeat;            /**< and whether it was prepared */
    bool is_over;               /**< the run has ended well and awaits ronde_comm_wait */
    bool is_rearranged;         /**< slots lie differently than in the run before */
    uint32_t sources_left;      /**< sources that have not been verified */
    uint32_t others_left;       /**< other neighbours that have not been verified */
    uint64_t agreed_digest;     /**< card_digest of the run before */
    uint32_t lead;              /**< runs that others may be behind when this one ends */
    uint32_t idle;              /**< fruitless sweeps in a row */
    uint32_t sweeps;            /**< of the run */
    uint32_t checked_sweeps;    /**< of these, when the clock was last read */
    double start_ns;
    double end_ns;
    double moved_ns;    /**< when something had last moved, as far as the clock was read */
    double deadline_ns; /**< 0 = none */
    struct ronde_error unreached; /**< why an offer could not be read */
};

/** Gives up a run of a program that is about to go, where there is one: all ranks are told, and the communicator is over. */
void ronde_comm_abandon(struct ronde_comm_program *program);

/** What this rank is doing: ronde_star_account of a communicator. */
void ronde_comm_account(void *self, struct ronde_report *out);

/** Sets out to agree with the neighbours about a run whose card is filled in. */
void ronde_agreement_begin(struct ronde_comm_program *program);

/** Looks for cards that have not been seen. Errors: REJECTED or DEVICE, naming ranks: the communicator is to be given up. */
enum ronde_status ronde_agreement_seek(struct ronde_comm_program *program, struct ronde_error *why);

/** Whether all has been seen that the run waits for. */
bool ronde_agreement_is_reached(const struct ronde_comm_program *program);

/** Forgets a program that is unloaded. */
void ronde_agreement_drop(struct ronde_comm_program *program);

/** Fills a card's part that the schedule decides. */
void ronde_card_fill(struct ronde_card *card, const struct ronde_schedule *schedule);

/**
 * Refuses protocols pull and push where other ranks cannot read what this rank sends; sets what habits say of protocols.
 * UNSUPPORTED.
 */
enum ronde_status
ronde_comm_check_protocol(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                          const struct ronde_launch *launch, struct ronde_habits *io_habits,
                          struct ronde_error *error);

/** A number that ranks with equal cards share, sequences aside, and others as good as never. */
uint64_t ronde_card_digest(const struct ronde_card *card);

/** What letters of one run of such ranks bear. */
static inline uint64_t ronde_card_digest_in_run(uint64_t card_digest, uint64_t sequence)
{
    return card_digest + sequence * UINT64_C(0xd6e8feb86659fd93);
}

/** Writes a card where others may be reading. */
void ronde_card_put(struct ronde_card *to, const struct ronde_card *card);

/** The same of a card that says what is written there already, but for its number. */
static inline void ronde_card_renew(struct ronde_card *to, uint64_t sequence)
{
    __atomic_store_n(&to->sequence, sequence, __ATOMIC_RELEASE);
}

/** Compares the card of `rank` for a run with the own one; OTHER fills the error, the others out_offers. */
enum ronde_card_state ronde_card_check(const struct ronde_comm *comm, uint32_t rank,
                                       const struct ronde_card *mine, bool *out_offers,
                                       struct ronde_error *error);

/** Fails with both sides of a disagreement, in what they differ. REJECTED. */
enum ronde_status ronde_card_refuse(uint32_t rank, const struct ronde_card *card, uint32_t other,
                                    const struct ronde_card *other_card, struct ronde_error *error);

/** Bytes of a network's name, the terminating zero included. */
#define RONDE_NETWORK_BYTES 64

/** Names this process's network: those of one name share its loopback. */
void ronde_comm_name_network(char text[RONDE_NETWORK_BYTES]);

/** Finds out which ranks share memory, and sets leaders, crowd, transport and wire. Collective. */
enum ronde_status ronde_comm_find_sites(struct ronde_comm *comm, struct ronde_error *error);

/** Whether a rank is reached through this host's memory. */
bool ronde_comm_is_near(const struct ronde_comm *comm, uint32_t rank);

/**
 * After `idle` fruitless polls of a rank that waits for other hosts: offers the processor to others and returns true,
 * or returns false when it is time to sleep.
 */
bool ronde_comm_spin(const struct ronde_comm *comm, uint32_t idle);

/** Whether two cards, sequence aside, say the same. */
bool ronde_card_is_same(const struct ronde_card *left, const struct ronde_card *right);

/**
 * Turns a failure of one rank into one of all: ranks tell each other how a local step went. Collective; every rank
 * returns the first rank's error that has one.
 */
enum ronde_status ronde_comm_agree(struct ronde_comm *comm, enum ronde_status status,
                                   struct ronde_error *error);

#endif
