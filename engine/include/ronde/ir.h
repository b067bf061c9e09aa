/**
 * The step-schedule IR: what every prover, executor, simulator and price reads.
 *
 * A finished schedule is immutable and may be shared by any number of threads. Its structs are public so that the
 * interpreter compiles for a GPU too; only engine/ writes them. Read programs through `ronde/cursor.h`, which turns
 * relative peers and chunks into absolute ones.
 *
 * Shapes. A *block* is `count` elements. A buffer holds 1 block or one per rank (ronde_collective_in_blocks); each
 * block is cut into `chunks_per_block` chunks, so chunk index = block * chunks_per_block + part. Chunks of `scratch`
 * are numbered 0 .. scratch_chunks-1.
 */
#ifndef RONDE_IR_H
#define RONDE_IR_H

#include "ronde/collective.h"
#include "ronde/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "no connection", "no chunk", "no program". */
#define RONDE_NONE UINT32_MAX

/** "at no step that one could wait for". */
#define RONDE_NEVER (UINT32_MAX - 1)

/**
 * Step operations: enumerator, text, and what each does, a column of 0 or 1 per property: reads source, receives, reduces,
 * sends, writes destination, reads destination, sends kept. `sends kept`: what is sent is what is written to the
 * destination, so it may be read there instead of from a slot. Provers, executors, simulators and prices read the
 * columns and not the operation; what a byte costs in memory traffic is their sum (ronde_step_touches).
 */
#define RONDE_STEP_LIST(X)                                                                         \
    X(NOP, "nop", 0, 0, 0, 0, 0, 0, 0)       /* waits for its dependencies */                      \
    X(SEND, "send", 1, 0, 0, 1, 0, 0, 0)     /* source -> slot */                                  \
    X(RECV, "recv", 0, 1, 0, 0, 1, 0, 0)     /* slot -> destination */                             \
    X(RS, "rs", 0, 1, 0, 1, 0, 0, 0)         /* slot -> next slot */                               \
    X(RCS, "rcs", 0, 1, 0, 1, 1, 0, 1)       /* slot -> next slot and destination */               \
    X(RRC, "rrc", 1, 1, 1, 0, 1, 0, 0)       /* destination <- source o slot */                    \
    X(RRS, "rrs", 1, 1, 1, 1, 0, 0, 0)       /* source o slot -> next slot */                      \
    X(RRCS, "rrcs", 1, 1, 1, 1, 1, 0, 1)     /* source o slot -> next slot and destination */      \
    X(COPY, "copy", 1, 0, 0, 0, 1, 0, 0)     /* destination <- source */                           \
    X(REDUCE, "reduce", 1, 0, 1, 0, 1, 1, 0) /* destination <- destination o source */

/** Operation of a step. */
enum ronde_step_op {
#define RONDE_ENUMERATOR(name, text, source, receives, reduces, sends, writes, rereads, kept)      \
    RONDE_STEP_##name,
    RONDE_STEP_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_STEP_OP_COUNT /**< number of operations */
};

/** A rank's three memories. */
enum ronde_buffer {
    RONDE_IN,          /**< the user's input; only a schedule that clobbers writes it */
    RONDE_OUT,         /**< the user's output */
    RONDE_SCRATCH,     /**< private to (rank, channel) */
    RONDE_BUFFER_COUNT /**< number of buffers; also "no operand" in a step */
};

/** Flag bits of a step. */
enum ronde_step_flag {
    RONDE_FLAG_SOURCE_RANGE = 1,      /**< source_chunk is an index into program->ranges */
    RONDE_FLAG_DESTINATION_RANGE = 2, /**< destination_chunk is an index into program->ranges */
    RONDE_FLAG_RAW = 4,   /**< the source operand is this rank's unmodified input (set by prove) */
    RONDE_FLAG_FINAL = 8, /**< the result is complete here for the first time (set by prove) */
    RONDE_FLAG_BUFFERED =
        16, /**< zero-copy: out of place, this send must go through a slot (set by lower) */
    RONDE_FLAG_BUFFERED_IN_PLACE =
        32, /**< the same when input and output share memory (set by lower) */
    RONDE_FLAG_JOINED =
        64, /**< the next step of the lane combines the result further, and nobody else reads it: both may
                                be executed as one (set by lower) */
    RONDE_FLAG_SPREAD =
        128 /**< a send: the step that computes what it sends may write that to where its
                                 receiver keeps it, in the same pass (set by lower; program->spread) */
};

/** Most operands of steps that are joined, those of all their chunks together; and most sends that a result is spread to. */
#define RONDE_JOINED_OPERANDS 64u

/** One step, 32 bytes. Chunk operands are `chunk_count` chunks, contiguous modulo the buffer unless flagged. */
struct ronde_step {
    uint8_t op;            /**< enum ronde_step_op */
    uint8_t source;        /**< enum ronde_buffer; RONDE_BUFFER_COUNT if the op reads no source */
    uint8_t destination;   /**< enum ronde_buffer; RONDE_BUFFER_COUNT if the op writes nothing */
    uint8_t flags;         /**< enum ronde_step_flag bits */
    uint32_t source_chunk; /**< first chunk, or range index */
    uint32_t destination_chunk; /**< first chunk, or range index */
    uint32_t chunk_count; /**< chunks of every operand and of the message; 0 for nop and signals */
    uint32_t send;        /**< index into program->connections, or RONDE_NONE */
    uint32_t receive;     /**< index into program->connections, or RONDE_NONE */
    uint32_t first_dependency; /**< index into program->dependencies */
    uint32_t dependency_count; /**< steps of other lanes that must be over first */
};

/** A strided range: item i is first + (i / run) * stride + i % run, modulo the buffer's chunks. */
struct ronde_range {
    uint32_t first;  /**< first chunk */
    uint32_t count;  /**< items */
    uint32_t run;    /**< items per contiguous run, >= 1 */
    uint32_t stride; /**< chunks from the start of one run to the next */
};

/** One end of a connection as a program sees it. */
struct ronde_connection {
    uint32_t peer; /**< offset to the peer's position modulo ranks; the position itself if `absolute_peers` */
    uint32_t tag; /**< tells connections between the same two positions apart */
    bool is_send; /**< this program sends on it */
};

/** What lowering found for zero-copy backends, per step, out of place and in place; see lower.c. Step indices are within
 * the program. */
struct ronde_step_lowering {
    uint32_t reuse_step[2]; /**< first later local step that overwrites the sent source, or NONE */
    uint32_t post_step[2]; /**< last earlier local step that touches what this step receives into, or NONE: the
                                 destination may be posted once that step is over; or NEVER: several lanes read it,
                                 and nothing orders them */
    bool is_read; /**< a later step of the rank reads what this one writes, in some placement */
};

/** The steps of a class of positions. */
struct ronde_program {
    uint32_t step_count;      /**< steps of all lanes */
    struct ronde_step *steps; /**< lane after lane */
    uint32_t lane_count;      /**< lanes, >= 1 unless there are no steps */
    uint32_t *lane_first; /**< lane_count + 1 entries: lane l is steps lane_first[l] .. lane_first[l+1]-1 */
    uint32_t connection_count;            /**< ends used by this program */
    struct ronde_connection *connections; /**< peers are relative, see ronde_connection */
    uint32_t dependency_count;            /**< entries of dependencies */
    uint32_t *dependencies; /**< step indices of this program, all on other lanes than the step's own */
    uint32_t range_count;       /**< entries of ranges */
    struct ronde_range *ranges; /**< the rare strided ranges */
    uint32_t scratch_chunks;    /**< chunks of scratch */
    uint32_t *scratch_part;     /**< per step: index into scratch_parts of its first item's part, or
                                 NONE when it follows from an operand in `in` or `out`; NULL if
                                 the program has no scratch (set by prove) */
    uint32_t *scratch_parts; /**< block parts (or virtual block chunks) held by scratch-only operands */
    uint32_t scratch_parts_count;         /**< entries of scratch_parts */
    struct ronde_step_lowering *lowering; /**< one per step (set by lower) */
    uint32_t *spread; /**< per step: of one that computes, the first send its result is spread to; of
                           such a send, the next; else NONE. NULL if there are none (set by lower) */
};

/** How the program of one position yields those of all: the positions act on themselves as a group (cursor.h). */
enum ronde_symmetry {
    RONDE_SYMMETRY_NONE, /**< a program per position, equal ones shared */
    RONDE_SYMMETRY_ROTATE, /**< position p: peers + p, block digits + p, modulo ranks (per digit of `shape`) */
    RONDE_SYMMETRY_XOR /**< position p: peers xor p, block digits xor p; ranks a power of two */
};

/** enumerator, text: what a schedule requires of blocks of different lengths (v-forms). */
#define RONDE_V_FORM_LIST(X)                                                                       \
    X(NONE, "none")                 /* blocks must be equally long */                              \
    X(KNOWN_TO_ALL, "known_to_all") /* every rank has the length of every block */                 \
    X(DIRECT, "direct")             /* a rank has those of its own input and output */

/** Kinds of v-form. */
enum ronde_v_form {
#define RONDE_ENUMERATOR(name, text) RONDE_V_##name,
    RONDE_V_FORM_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_V_FORM_COUNT /**< number of kinds */
};

/** enumerator, text: how the user's buffers may lie. */
#define RONDE_FORM_LIST(X)                                                                         \
    X(ANY, "any")                   /* in place too, where the collective has such a form */       \
    X(OUT_OF_PLACE, "out_of_place") /* input and output never share memory */                      \
    X(IN_PLACE, "in_place")         /* always in place: what is there already need not be written */

/** Placements of a schedule. */
enum ronde_form {
#define RONDE_ENUMERATOR(name, text) RONDE_FORM_##name,
    RONDE_FORM_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_FORM_COUNT /**< number of placements */
};

/** Most digits of a mixed-radix rotation (node, local; or the axes of a torus). */
#define RONDE_MAX_SHAPE 6

/** An independent slice of every block. */
struct ronde_channel {
    uint32_t weight;             /**< >= 1; share of the block's grains */
    const uint32_t *order;       /**< rank at position q, or NULL for the identity */
    const uint32_t *position_of; /**< inverse of order, or NULL */
};

/** How the values were compared. */
enum ronde_proof_method {
    RONDE_PROOF_EXACT,      /**< bitsets of contributing ranks */
    RONDE_PROOF_FINGERPRINT /**< two 61-bit fingerprints of the multiset of contributions */
};

/** enumerator, text: the kinds of violation. */
#define RONDE_FINDING_LIST(X)                                                                      \
    X(BOUNDS, "bounds")               /* a chunk, peer, lane or dependency out of range */         \
    X(UNMATCHED, "unmatched")         /* sends and receives of a connection differ */              \
    X(CYCLE, "cycle")                 /* lane order, dependencies and messages form a cycle */     \
    X(RACE, "race")                   /* two unordered accesses, one of them a write */            \
    X(UNDEFINED, "undefined")         /* data that was never written is used */                    \
    X(EXTENT, "extent")               /* operands of one step hold different parts */              \
    X(TWICE, "twice")                 /* a contribution is combined with itself */                 \
    X(WRONG_VALUE, "wrong_value")     /* an output chunk is not what the collective defines */     \
    X(INPUT_WRITTEN, "input_written") /* the input is written out of place */                      \
    X(DEAD_WORK, "dead_work")         /* a transferred chunk reaches no output */                  \
    X(MARKS, "marks") /* raw or final marks differ between chunks, positions or placements */      \
    X(NOT_PROVED, "not_proved") /* too large to prove */

/** Kind of violation. */
enum ronde_finding_code {
#define RONDE_ENUMERATOR(name, text) RONDE_FINDING_##name,
    RONDE_FINDING_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_FINDING_COUNT /**< number of kinds */
};

/** One violation. Fields that do not apply are RONDE_NONE. */
struct ronde_finding {
    enum ronde_finding_code code; /**< kind */
    uint32_t rank;                /**< position under the identity order */
    uint32_t lane;                /**< lane of the rank */
    uint32_t step;                /**< index within the lane */
    uint32_t chunk;               /**< absolute chunk */
    char text[160];               /**< the sentence a person reads */
};

/** Findings kept; more are counted. */
#define RONDE_MAX_FINDINGS 8

/** What checking and proving found. */
struct ronde_proof {
    bool ok;                        /**< no violation */
    bool quotient;                  /**< proved on position 0 of a symmetric schedule */
    enum ronde_proof_method method; /**< exact up to 64 ranks */
    uint32_t min_depth;             /**< least slots per connection without deadlock, >= 1 */
    uint32_t critical_path;         /**< messages on the longest chain */
    uint64_t steps;                 /**< of all ranks, one channel */
    uint64_t messages;              /**< of all ranks, one channel; empty ones included */
    uint64_t sent_chunks_max;       /**< most chunks any rank sends, one channel */
    uint64_t received_chunks_max;   /**< most chunks any rank receives */
    uint64_t reduced_chunks_max;    /**< most chunks any rank reduces */
    uint64_t dead_chunks; /**< transferred chunks that reach no output (warning where allowed) */
    bool rank_dependent_bits; /**< ranks may differ in the last bits (never chosen by auto) */
    uint32_t finding_count;   /**< all violations found, possibly more than are kept */
    struct ronde_finding findings[RONDE_MAX_FINDINGS]; /**< the first of them */
};

/**
 * Which position sends what to which, derived from the steps. Transports and placements depend on it, not on the
 * collective.
 */
struct ronde_traffic {
    bool has_pure_senders; /**< a position sends and receives nothing, and so may be ahead of all others */
    bool has_pure_sources; /**< a position writes no output: it only contributes to that of
                                others */
    bool reduces;          /**< a step applies the reduction operator */
    bool sends_results;    /**< a step sends what it has just combined */
    bool stores_messages;  /**< a step writes a message to memory as it came */
    /**
     * Every message goes to the next position, or every message to the one before, and no order has been chosen yet:
     * the order of each channel is a route through the machine that can still be chosen (ronde_schedule_reorder). False
     * for two ranks, where every schedule would have it, and for send_recv, which names ranks and has no order.
     */
    bool is_route;
};

/** A schedule. Created by ronde_schedule_finish or ronde_schedule_read, both of which check and prove it. */
struct ronde_schedule {
    enum ronde_collective collective;
    char algorithm[32];
    uint32_t ranks;
    uint32_t root;             /**< rank; 0 where the collective has none */
    uint32_t chunks_per_block; /**< m >= 1 */
    uint32_t *source_of; /**< send_recv: per rank, the rank whose input it receives, RONDE_NONE
                              for none; NULL = the rank before it, modulo ranks */
    enum ronde_symmetry symmetry;
    uint32_t shape_count; /**< rotate: digits of a position; 0 or 1 = one digit, modulo ranks */
    uint32_t shape[RONDE_MAX_SHAPE]; /**< radices, slowest first; their product is ranks */
    bool rotates[RONDE_BUFFER_COUNT]; /**< symmetric: the block digits of this buffer shift with the position */
    bool absolute_peers; /**< connections name positions, not offsets (imported files) */
    bool allow_dead_work; /**< user files and imports: dead work is a counted warning, not an error */
    bool clobbers;        /**< steps may write the input, which holds anything afterwards */
    bool is_unscaled; /**< operands carry no marks, so avg and premul_sum are refused (imported files) */
    enum ronde_form form; /**< how the user's buffers may lie */
    uint32_t channel_count;
    struct ronde_channel *channels;
    uint64_t weight_total; /**< sum of the channels' weights */
    uint32_t program_count;
    struct ronde_program *programs;
    uint32_t *program_of; /**< per position, index into programs; NULL when symmetric (program 0) */
    uint32_t max_chunk_count;     /**< largest chunk_count of any step, at least 1 */
    uint32_t max_lane_count;      /**< largest lane_count of any program */
    enum ronde_v_form v_form;     /**< whether blocks may differ in length (set by prove) */
    struct ronde_traffic traffic; /**< set by check */
    struct ronde_proof proof;
    uint64_t hash;             /**< of the canonical content: equal hash, equal schedule */
    struct ronde_arena *arena; /**< owns everything above */
};

/** Printed name of a step operation, e.g. "rrcs"; "?" if out of range. */
RONDE_API const char *ronde_step_op_text(enum ronde_step_op op);
/** Whether the operation reads its source operand. */
RONDE_API bool ronde_step_reads_source(enum ronde_step_op op);
/** Whether it consumes a message. */
RONDE_API bool ronde_step_receives(enum ronde_step_op op);
/** Whether it applies the reduction operator. */
RONDE_API bool ronde_step_reduces(enum ronde_step_op op);
/** Whether it produces a message. */
RONDE_API bool ronde_step_sends(enum ronde_step_op op);
/** Whether it writes its destination operand. */
RONDE_API bool ronde_step_writes(enum ronde_step_op op);
/** Whether it reads its destination operand before it writes it. */
RONDE_API bool ronde_step_reads_destination(enum ronde_step_op op);
/** Whether the message it produces is what it writes to its destination operand. */
RONDE_API bool ronde_step_sends_kept(enum ronde_step_op op);
/**
 * Memory accesses per byte of the operation's chunks where messages travel through slots: one for each operand it reads or
 * writes, one for a message it consumes, one for a message it produces. 0 for nop alone, and for an operation out of range.
 */
RONDE_API uint32_t ronde_step_touches(enum ronde_step_op op);
/**
 * The same of a step in its program: less the result that it hands on to the step it is joined to, and less the one that it takes
 * over. So it is where their messages are there, that is where memory is what they wait for.
 */
RONDE_API uint32_t ronde_program_touches(const struct ronde_program *program, uint32_t step);
/** Whether a step takes over the result of the one before it (RONDE_FLAG_JOINED). */
RONDE_API bool ronde_program_takes_over(const struct ronde_program *program, uint32_t step);
/** Printed name of a kind of v-form; "?" if out of range. */
RONDE_API const char *ronde_v_form_text(enum ronde_v_form v_form);
/** Printed name of a violation kind. */
RONDE_API const char *ronde_finding_text(enum ronde_finding_code code);

/** Blocks of a rank's input or output; 0 of a barrier, which moves no data. */
RONDE_API uint32_t ronde_schedule_blocks(const struct ronde_schedule *schedule, bool is_input);

/** Chunks of a buffer for a program: blocks * chunks_per_block, or scratch_chunks. */
RONDE_API uint32_t ronde_schedule_chunks(const struct ronde_schedule *schedule,
                                         const struct ronde_program *program,
                                         enum ronde_buffer buffer);

/** Printed name of a placement; "?" if out of range. */
RONDE_API const char *ronde_form_text(enum ronde_form form);

/** Whether the schedule can run so: in place, where its collective has such a form and it does not exclude it. */
RONDE_API bool ronde_schedule_has_form(const struct ronde_schedule *schedule, bool in_place);

/** Lane of a step of a program, by binary search. */
RONDE_API uint32_t ronde_program_lane(const struct ronde_program *program, uint32_t step);

/** send_recv: the rank whose input `rank` receives, or RONDE_NONE. */
RONDE_API uint32_t ronde_schedule_source(const struct ronde_schedule *schedule, uint32_t rank);

/** Frees a schedule; NULL is allowed. */
RONDE_API void ronde_schedule_destroy(struct ronde_schedule *schedule);

/** Blocks that ranks move, all channels together. */
struct ronde_volume {
    double sent;     /**< the most any rank sends */
    double received; /**< the most any rank receives */
};

/** What the busiest rank of a schedule sends and receives, in blocks of a launch; looks at every step of every rank. */
RONDE_API struct ronde_volume ronde_schedule_volume(const struct ronde_schedule *schedule);

#ifdef __cplusplus
}
#endif
#endif
