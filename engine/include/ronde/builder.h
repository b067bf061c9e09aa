/**
 * The builder: an algorithm states global facts in program order, the engine derives steps, lanes' dependencies,
 * connections and fused operations.
 *
 * Facts are "position p sends these chunks to q, which stores (or reduces) them there" and "position p copies here".
 * The order in which they are stated is the program order of every position. Under rotate symmetry facts are stated for
 * position 0 as the sender only, with `to` as offset; every other position does the same, shifted.
 *
 * Functions return nothing: the builder keeps the first error and turns into a no-op; ronde_schedule_finish returns it.
 * A builder belongs to one thread.
 */
#ifndef RONDE_BUILDER_H
#define RONDE_BUILDER_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a caller wants compiled. Zeroed fields mean the default. */
struct ronde_compile_request {
    enum ronde_collective collective; /**< what */
    const char *algorithm;            /**< name in the registry */
    uint32_t ranks;                   /**< 1 .. RONDE_MAX_RANKS */
    uint32_t root;                    /**< for rooted collectives */
    uint32_t channels;                /**< equal channels; 0 = the algorithm's default */
    const uint32_t *order; /**< rank at position q for every channel, or NULL; ranks entries */
    const uint32_t *
        channel_orders; /**< instead of `order`: one per channel, channels x ranks entries; or NULL */
    uint32_t shape_count; /**< digits of a position (node, local; torus axes); 0 = flat */
    uint32_t shape[RONDE_MAX_SHAPE]; /**< radices, slowest first; their product must be ranks */
    const uint32_t *source_of;       /**< send_recv: per rank, the rank whose input it receives
                                    (RONDE_NONE: none); NULL = the rank before it */
};

/**
 * Chunks of a buffer, modulo its size: contiguous, or in runs `stride` apart (item i is first + i / run * stride +
 * i % run). A message carries its chunks in ascending absolute order whatever the order here.
 */
struct ronde_operand {
    enum ronde_buffer buffer; /**< which memory */
    uint32_t first;           /**< chunk */
    uint32_t count;           /**< chunks; 0 only in a barrier, whose messages are empty */
    uint32_t run;             /**< chunks of a run; 0 = contiguous */
    uint32_t stride;          /**< chunks from the start of a run to the next */
};

/** A message between two positions and what becomes of it. */
struct ronde_transfer {
    uint32_t from;               /**< sending position */
    uint32_t to;                 /**< receiving position */
    uint32_t from_lane;          /**< lane of the sender the send sits in */
    uint32_t to_lane;            /**< lane of the receiver the receive sits in */
    struct ronde_operand source; /**< what the sender reads */
    struct ronde_operand with;   /**< reduce: the receiver's local operand; ignored for a copy */
    struct ronde_operand target; /**< where the receiver keeps the result */
    bool reduces;                /**< target <- with o message, else target <- message */
    /**
     * The send stays a step of its own even where the receive before it could pass on what came: of two positions that
     * answer each other's messages, each would wait in one step for the slot that only the other's same step frees.
     */
    bool is_apart;
};

struct ronde_builder;

/** An operand in one expression. */
static inline struct ronde_operand ronde_chunks(enum ronde_buffer buffer, uint32_t first,
                                                uint32_t count)
{
    struct ronde_operand operand;
    operand.buffer = buffer;
    operand.first = first;
    operand.count = count;
    operand.run = 0;
    operand.stride = 0;
    return operand;
}

/** A strided operand in one expression: `count` chunks in runs of `run`, `stride` apart. */
static inline struct ronde_operand ronde_chunk_runs(enum ronde_buffer buffer, uint32_t first,
                                                    uint32_t count, uint32_t run, uint32_t stride)
{
    struct ronde_operand operand = ronde_chunks(buffer, first, count);
    operand.run = run;
    operand.stride = stride;
    return operand;
}

/**
 * Starts a schedule for a request with `chunks_per_block` chunks, one channel, no symmetry. Algorithm and request are
 * copied. Owner: consumed by ronde_schedule_finish. Errors: NO_MEMORY; BAD_ARGUMENT for impossible ranks or root.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_builder_create(const struct ronde_compile_request *request, const struct ronde_mem *mem,
                     struct ronde_builder **out_builder, struct ronde_error *error);

/** Frees a builder that was not finished; NULL is allowed. */
RONDE_API void ronde_builder_destroy(struct ronde_builder *builder);

/** Sets m, the chunks per block (default 1). Before any fact. */
RONDE_API void ronde_builder_chunks(struct ronde_builder *builder, uint32_t chunks_per_block);

/** Sets the chunks of scratch of every program (default 0). Before any fact. */
RONDE_API void ronde_builder_scratch(struct ronde_builder *builder, uint32_t chunks);

/**
 * Declares rotate symmetry: from here on facts are those of position 0 as sender. A buffer rotates if its blocks are
 * one per position: per-rank blocks, or m a multiple of ranks for a one-block collective. Before any fact.
 */
RONDE_API void ronde_builder_rotate(struct ronde_builder *builder, bool in, bool out, bool scratch);

/**
 * The same with positions of several digits (node, local; the axes of a torus): offsets and block digits are added
 * digit by digit, each modulo its radix. `radices` holds `digits` numbers, slowest first, whose product is ranks.
 */
RONDE_API void ronde_builder_rotate_shape(struct ronde_builder *builder, const uint32_t *radices,
                                          uint32_t digits);

/** Declares xor symmetry: as rotate, with offsets and block digits combined by exclusive or; ranks a power of two. */
RONDE_API void ronde_builder_xor(struct ronde_builder *builder, bool in, bool out, bool scratch);

/**
 * Replaces the default single channel: appends one of this weight. `order` (rank at position q, `ranks` entries, NULL =
 * identity) is copied and read through the request's: a position's rank is request order[order[q]]. Where the request
 * has channel orders and an algorithm declares a multiple of its channels, that many in a row share one of them. For
 * rooted collectives position 0 must be the root.
 */
RONDE_API void ronde_builder_channel(struct ronde_builder *builder, uint32_t weight,
                                     const uint32_t *order);

/** States a message. Counts of all operands must be equal. */
RONDE_API void ronde_builder_transfer(struct ronde_builder *builder,
                                      const struct ronde_transfer *transfer);

/** States a message that one lane sends and the lane of the same number receives. */
RONDE_API void ronde_builder_message(struct ronde_builder *builder, uint32_t from, uint32_t to,
                                     uint32_t lane, struct ronde_operand source,
                                     struct ronde_operand target);

/** States a message in lane 0 whose receiver combines it with an operand of its own. */
RONDE_API void ronde_builder_reduction(struct ronde_builder *builder, uint32_t from, uint32_t to,
                                       struct ronde_operand source, struct ronde_operand with,
                                       struct ronde_operand target);

/**
 * Opens a round: of the messages stated until the round ends, every position sends all of its own before it receives
 * any, which no order of single transfers can say when they run in opposite directions. Rounds do not nest.
 */
RONDE_API void ronde_builder_round_begin(struct ronde_builder *builder);

/** Closes the round. */
RONDE_API void ronde_builder_round_end(struct ronde_builder *builder);

/** States a local copy at a position, in a lane. */
RONDE_API void ronde_builder_copy(struct ronde_builder *builder, uint32_t position, uint32_t lane,
                                  struct ronde_operand source, struct ronde_operand target);

/** States a local reduction target <- target o source at a position, in a lane. */
RONDE_API void ronde_builder_reduce(struct ronde_builder *builder, uint32_t position, uint32_t lane,
                                    struct ronde_operand source, struct ronde_operand target);

/** The allocator, for an algorithm's own short-lived tables. */
RONDE_API const struct ronde_mem *ronde_builder_mem(const struct ronde_builder *builder);

/** Keeps an error found by an algorithm, for ronde_schedule_finish to return. */
RONDE_API void ronde_builder_fail(struct ronde_builder *builder, enum ronde_status status,
                                  const char *format, ...) RONDE_FORMAT(3, 4);

/**
 * Turns a builder into an immutable schedule: derives steps, fuses them, then checks, proves and lowers.
 *
 * The builder is consumed in every case. out_proof (may be NULL) gets the findings also when the schedule is rejected.
 * Time and memory: linear in stored steps for symmetric schedules, in steps of all ranks otherwise.
 * Owner: the caller destroys *out_schedule, which does not refer to the request afterwards.
 * Errors: NO_MEMORY; REJECTED (names rank, lane, step, chunk); any error the builder kept.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_finish(struct ronde_builder *builder, struct ronde_proof *out_proof,
                      struct ronde_schedule **out_schedule, struct ronde_error *error);

/**
 * Proves the expansion of a schedule (every rank's steps written out) even where the quotient decided; what tests and
 * `ronde check --expand` use. Errors: NO_MEMORY; REJECTED when it disagrees; out_proof as above.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_prove_expansion(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                               struct ronde_proof *out_proof, struct ronde_error *error);

/**
 * A schedule whose channel c follows orders[c * ranks + position] instead of its own, checked and proved again.
 *
 * Owner: the caller destroys *out_schedule, which does not refer to `schedule` or `orders` afterwards.
 * Errors: NO_MEMORY; REJECTED for what is no order of the ranks, for one that does not begin with the root, and for a
 * schedule that is only right in its own order.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_reorder(const struct ronde_schedule *schedule, const uint32_t *orders,
                       const struct ronde_mem *mem, struct ronde_schedule **out_schedule,
                       struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
