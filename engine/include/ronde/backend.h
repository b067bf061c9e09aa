/**
 * The backend interface: one vtable through which every executor is reached. Ten slots, none of them NULL.
 *
 * Order of calls: probe, open, (supports), load, run, test/wait/abort, unload, close. An open backend belongs to one
 * thread unless it says otherwise. A loaded program may be run many times, one run at a time; run allocates nothing.
 *
 * Groups. A communicator is a list of members: rank r of a launch is the member whose buffers are at index r of `in`
 * and `out` (ronde_group_pick copies them from those of the world). Several programs may run at once, of disjoint or
 * overlapping groups: from one thread, whose test and wait each move only the run they are given, or each from a thread
 * of its own. Runs never wait for each other, so no order of calls can deadlock; they must not write the same memory.
 */
#ifndef RONDE_BACKEND_H
#define RONDE_BACKEND_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Where the blocks of one buffer of one rank lie when they are not `count` elements each, one after another: PyTorch's
 * uneven splits (counts, offsets) and its lists of tensors (pointers). Alignment as for buffers. Blocks that are written
 * must not overlap; in place, a block that input and output share has one length.
 */
struct ronde_blocks {
    const uint64_t *counts; /**< elements of each block, at most the launch's count; NULL = count each */
    const uint64_t *offsets; /**< elements from the start of the buffer to each block; NULL = see pointers */
    void *const *pointers; /**< start of each block, buffer ignored; entries of empty blocks may be NULL */
};

/** How a message travels, where both ends map the memory: enumerator, text. */
#define RONDE_PROTOCOL_LIST(X)                                                                     \
    X(AUTO, "auto")     /* the backend picks by size */                                            \
    X(STAGED, "staged") /* the sender copies into a slot, the receiver out of it */                \
    X(PULL, "pull")     /* the receiver reads the sender's memory wherever that is allowed */      \
    X(PUSH,                                                                                        \
      "push") /* and what a step computes is written into the receiver's, where that is free */

/** Protocols. */
enum ronde_protocol {
#define RONDE_ENUMERATOR(name, text) RONDE_PROTOCOL_##name,
    RONDE_PROTOCOL_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_PROTOCOL_COUNT /**< number of protocols */
};

/** Instructions of the loops that reduce: enumerator, text. */
#define RONDE_LEVEL_LIST(X)                                                                        \
    X(WIDEST, "widest") /* the widest below that the processor has */                              \
    X(PLAIN, "plain")   /* what every processor of the architecture has: SSE2, NEON */             \
    X(AVX2, "avx2")                                                                                \
    X(AVX512, "avx512") /* with its extensions for bytes, double words and short vectors */

/** Levels of instructions. */
enum ronde_level {
#define RONDE_ENUMERATOR(name, text) RONDE_LEVEL_##name,
    RONDE_LEVEL_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_LEVEL_COUNT /**< number of levels */
};

/** What is not part of the schedule. Buffers are arrays of one pointer per rank, promised to be dtype-aligned only. */
struct ronde_launch {
    uint64_t count; /**< elements of a block; with counts, of the longest block of any rank, the same on all ranks
                         (pieces follow it). 0 returns at once, except for barrier */
    enum ronde_dtype dtype; /**< element type */
    enum ronde_op op; /**< reduction operator; where nothing is reduced sum, prod, min and max are ignored */
    void *const *in; /**< per rank: its input; may be NULL entries where the collective reads none */
    void *const *out; /**< per rank: its output; NULL entries where the collective writes none */
    const struct ronde_blocks *in_blocks; /**< per rank: the blocks of its input, or NULL: all alike */
    const struct ronde_blocks *out_blocks; /**< per rank: the blocks of its output, or NULL: all alike */
    const void *factors; /**< premul_sum: an element per rank, which its input is multiplied by; read by run */
    uint64_t slot_bytes; /**< bytes of a connection's slot; 0 = the backend's default; at least 16 */
    uint32_t depth; /**< slots of a connection; 0 = max(8, proof.min_depth); less than min_depth is refused */
    enum ronde_protocol protocol; /**< never changes results */
    uint64_t stream_from_bytes; /**< bytes of all ranks' buffers from which on stores bypass the caches, where the
                                     backend has such stores; 0 = the backend's, UINT64_MAX = never; never changes results */
    enum ronde_level level; /**< of the loops on processors; host stays with PLAIN; never changes results */
    uint64_t seed; /**< host: order of the random interleaving; 0 = in order. Results never depend on it */
    uint64_t timeout_ns; /**< a run that takes longer fails with TIMEOUT; 0 = no limit */
};

/** What a run reports. */
struct ronde_result {
    double elapsed_ns;            /**< time of the run on the backend's clock */
    enum ronde_protocol protocol; /**< what the run used: staged, pull or push */
    bool is_virtual;              /**< the clock is simulated */
};

/** What probe found. */
struct ronde_machine {
    char description[128];       /**< one line for `ronde list` */
    uint32_t cores;              /**< usable processors, 0 if it does not apply */
    uint32_t max_ranks;          /**< ranks the backend can run here */
    uint64_t default_slot_bytes; /**< used when a launch leaves slot_bytes 0 */
    uint64_t alone_bytes; /**< cpu: bytes of all buffers, times workers, up to which a launch of
                               few ranks runs on the calling thread alone */
    bool is_unbound; /**< cpu: threads are not bound to processors; for the caller of open to set */
    /** cpu: the processors (ronde/bind.h), listed by the caller of open and kept until close; NULL = open lists them. */
    const struct ronde_bind *bind;
    uint32_t devices;      /**< that ranks are spread over: more ranks than these share some, and
                           their times then do not measure links between devices; 0 = ranks are
                           no devices */
    char product[64];      /**< the first device's name; "" = ranks are no devices */
    bool has_device_links; /**< devices are joined by links of their own (NVLink), not by PCIe alone */
    /** Devices: slots of up to so many bytes travel in lines, data with flags (NCCL's LL), where a launch leaves its slots open
     * and one piece is enough. For the caller of open to set (ronde/device_lines.h); 0 = the backend's own number, more than
     * it has room for is that. Never changes results. */
    uint64_t lines_up_to_bytes;
};

/** An executor. */
struct ronde_backend {
    /** Name on the command line. */
    const char *name;
    /**
     * Whether it is available, what it is, or why not. Errors: UNAVAILABLE with the reason and the package that brings
     * it.
     */
    enum ronde_status (*probe)(struct ronde_machine *out_machine, struct ronde_error *why_not);
    /** Opens the machine; *out_self is closed by the caller. Errors: NO_MEMORY, UNAVAILABLE, DEVICE. */
    enum ronde_status (*open)(const struct ronde_machine *machine, const struct ronde_mem *mem,
                              void **out_self, struct ronde_error *error);
    /** Whether this launch of this schedule can run. Errors: UNSUPPORTED with a reason. */
    enum ronde_status (*supports)(void *self, const struct ronde_schedule *schedule,
                                  const struct ronde_launch *launch, struct ronde_error *why_not);
    /** Prepares a schedule, which must outlive the program. Errors: NO_MEMORY, UNSUPPORTED, DEVICE. */
    enum ronde_status (*load)(void *self, const struct ronde_schedule *schedule, void **out_program,
                              struct ronde_error *error);
    /**
     * Starts a run and returns. Buffers stay the caller's and must not move until wait. Errors: as supports; DEVICE.
     */
    enum ronde_status (*run)(void *program, const struct ronde_launch *launch, void **out_run,
                             struct ronde_error *error);
    /** Whether the run is over; never blocks. Errors: those of the run. */
    enum ronde_status (*test)(void *run, bool *out_done, struct ronde_error *error);
    /** Waits for the end of the run and releases it. Errors: TIMEOUT, DEVICE, those of the run. */
    enum ronde_status (*wait)(void *run, struct ronde_result *out_result, struct ronde_error *error);
    /** Requests a run to end early; wait then returns TIMEOUT. */
    void (*abort)(void *run);
    /** Releases a program that is not running; NULL is allowed. */
    void (*unload)(void *program);
    /** Closes the backend after its programs are unloaded; NULL is allowed. */
    void (*close)(void *self);
};

/** The specification: slow, single-threaded, obviously right. Always available. */
extern RONDE_API const struct ronde_backend ronde_backend_host;

/** load, run, wait, unload in one call, for tests and tools. Errors: those of the four. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_backend_run_once(const struct ronde_backend *backend, void *self,
                       const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                       struct ronde_result *out_result, struct ronde_error *error);

/**
 * Checks what every backend refuses alike: unknown dtype or op, slot_bytes below 16, depth below the schedule's
 * minimum, missing buffers or factors, blocks that are too long or disagree between ranks. Reads all tables of blocks.
 * Errors: BAD_ARGUMENT naming the field, its value and the bound; UNSUPPORTED for avg and premul_sum where nothing is
 * reduced, for an operator that the type does not have (ronde_op_refusal), and for blocks of different lengths where the
 * schedule has no v-form.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_launch_check(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                   struct ronde_error *error);

/**
 * The same for one rank, whose process has no other rank's buffers: only its entries of the launch's arrays are read.
 * Whether blocks of different lengths fit those of the other ranks is not checked. Errors: as ronde_launch_check.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_launch_check_rank(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                        uint32_t rank, struct ronde_error *error);

/** Pointers of a group's members, picked from those of a world: out_picked[r] = world[members[r]]. */
static inline void ronde_group_pick(void *const *world, const uint32_t *members, uint32_t ranks,
                                    void **out_picked)
{
    for (uint32_t rank = 0; rank < ranks; rank++)
        out_picked[rank] = world[members[rank]];
}

/** Whether this build and this processor have a level; WIDEST always is. */
RONDE_API bool ronde_level_is_here(enum ronde_level level);

/** The level that WIDEST stands for. */
RONDE_API enum ronde_level ronde_level_widest(void);

/** Printed name of a level; "?" if out of range. */
RONDE_API const char *ronde_level_text(enum ronde_level level);

/** Printed name of a protocol; "?" if out of range. */
RONDE_API const char *ronde_protocol_text(enum ronde_protocol protocol);

/** The depth a launch runs with: its own, or max(8, proof.min_depth). */
RONDE_API uint32_t ronde_launch_depth(const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
