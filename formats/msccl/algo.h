/**
 * An MSCCL file in memory: what the reader finds, what is judged, and what the printer prints.
 */
#ifndef RONDE_FORMATS_MSCCL_ALGO_H
#define RONDE_FORMATS_MSCCL_ALGO_H

#include "ronde/cursor.h"
#include "ronde/msccl.h"

/** Operations: enumerator, the file's word, ronde's word, receives, reads src, writes dst, sends. */
#define MSCCL_OP_LIST(X)                                                                           \
    X(NOP, "nop", "nop", 0, 0, 0, 0)                                                               \
    X(S, "s", "send", 0, 1, 0, 1)                                                                  \
    X(R, "r", "recv", 1, 0, 1, 0)                                                                  \
    X(RCS, "rcs", "rcs", 1, 0, 1, 1)                                                               \
    X(RRS, "rrs", "rrs", 1, 1, 0, 1)                                                               \
    X(RRC, "rrc", "rrc", 1, 1, 1, 0)                                                               \
    X(RRCS, "rrcs", "rrcs", 1, 1, 1, 1)                                                            \
    X(CPY, "cpy", "copy", 0, 1, 1, 0)                                                              \
    X(RE, "re", "reduce", 0, 1, 1, 0)

/** Operation of a step. */
enum msccl_op {
#define MSCCL_ENUMERATOR(name, word, ours, receives, reads, writes, sends) MSCCL_##name,
    MSCCL_OP_LIST(MSCCL_ENUMERATOR)
#undef MSCCL_ENUMERATOR
        MSCCL_OP_COUNT
};

/** A row of MSCCL_OP_LIST. */
struct msccl_op_row {
    const char *word;
    const char *ours;
    bool receives, reads, writes, sends;
};

/** By enum msccl_op. */
extern const struct msccl_op_row msccl_ops[MSCCL_OP_COUNT];

/** By enum ronde_msccl_protocol. */
struct msccl_protocol_row {
    const char *text;
    uint32_t depth;
};
extern const struct msccl_protocol_row msccl_protocols[RONDE_MSCCL_PROTOCOL_COUNT];

/** Arrays of a runtime's parser, which refuses what has more. (judge.c) */
struct msccl_limits {
    const char *runtime;
    uint32_t steps, threadblocks, count;
};

/** By enum ronde_msccl_dialect. */
extern const struct msccl_limits msccl_limits[];

/** A step of a threadblock. Offsets in chunks. */
struct msccl_step {
    uint8_t op;          /**< enum msccl_op */
    uint8_t src, dst;    /**< enum ronde_buffer */
    bool hasdep;         /**< raises the threadblock's flag */
    int32_t srcoff;      /**< first chunk */
    int32_t dstoff;      /**< first chunk */
    uint32_t cnt;        /**< chunks */
    int32_t depid, deps; /**< threadblock and step waited for, -1 = none */
    uint32_t line;       /**< in the file */
    uint32_t waits_step; /**< judged: the step of `depid` that is waited for, or RONDE_NONE */
};

/** A threadblock. */
struct msccl_tb {
    uint32_t id;         /**< within its gpu */
    int32_t send, recv;  /**< peers, -1 = none */
    uint32_t chan;       /**< of both connections */
    uint32_t first_step; /**< in msccl_algo.steps */
    uint32_t step_count;
    uint32_t line;
};

/** A <copy>: output[to] = input[from] before any step. */
struct msccl_copy {
    uint32_t from, to;
    uint32_t line;
};

/** A rank. */
struct msccl_gpu {
    uint32_t id;
    uint32_t chunks[RONDE_BUFFER_COUNT]; /**< i_chunks, o_chunks, s_chunks as the file has them */
    uint32_t first_tb, tb_count;         /**< in msccl_algo.tbs, by id once read */
    uint32_t first_copy, copy_count;     /**< in msccl_algo.copies */
    uint32_t line;
};

/** A whole file. */
struct msccl_algo {
    const struct ronde_mem *mem;
    const char *path; /**< for messages */
    char name[256];
    enum ronde_msccl_protocol protocol;
    enum ronde_collective collective;
    bool is_custom;           /**< coll="custom": what it must leave follows from its name */
    bool goes_backward;       /**< custom: to the rank before, not to the one after */
    bool in_place;            /**< may run so */
    bool out_of_place;        /**< may run so */
    bool is_compact;          /**< `op` elements */
    uint32_t ranks;           /**< ngpus */
    uint32_t chunks;          /**< nchunksperloop */
    uint32_t channels;        /**< nchannels; 0 = not said */
    struct ronde_list gpus;   /**< struct msccl_gpu, by id once read */
    struct ronde_list tbs;    /**< struct msccl_tb */
    struct ronde_list steps;  /**< struct msccl_step */
    struct ronde_list copies; /**< struct msccl_copy */
};

/** Frees what a file holds. */
void msccl_algo_free(struct msccl_algo *algo);

/** The g-th rank; its t-th threadblock; the threadblock's s-th step. */
struct msccl_gpu *msccl_gpu_at(const struct msccl_algo *algo, uint32_t g);
struct msccl_tb *msccl_tb_at(const struct msccl_algo *algo, const struct msccl_gpu *gpu, uint32_t t);
struct msccl_step *msccl_step_at(const struct msccl_algo *algo, const struct msccl_tb *tb,
                                 uint32_t s);

/** The next step that sends, or receives, from `s` on; step_count behind the last. */
uint32_t msccl_next_message(const struct msccl_algo *algo, const struct msccl_tb *tb, bool is_send,
                            uint32_t s);

/** Chunks of a block: P where a buffer holds a block per rank, else nchunksperloop. */
uint32_t msccl_parts(const struct msccl_algo *algo);

/** Chunks that a rank's buffer really has, whatever the file says of it. */
uint32_t msccl_buffer_chunks(const struct msccl_algo *algo, const struct msccl_gpu *gpu,
                             enum ronde_buffer buffer);

/** Whether the file can only be run in place, by collectives that have such a form. */
bool msccl_is_in_place_only(const struct msccl_algo *algo);

/** Parses a file; everything a list or field can hold is checked, peers and chunks are not. (parse.c) */
enum ronde_status msccl_parse(const char *text, size_t bytes, struct msccl_algo *algo,
                              struct ronde_error *error);

/**
 * Finds what no schedule can express: peers and chunks out of range, connections shared by threadblocks, flags that are
 * never raised; and resolves dependencies to the step that meets them. (judge.c) Errors: NO_MEMORY.
 */
enum ronde_status msccl_judge(struct msccl_algo *algo, struct ronde_proof *proof,
                              struct ronde_error *error);

/** What a runtime refuses or blocks on although the schedule is right; "" if nothing. `min_depth` 0 = not known. */
void msccl_find_unfit(const struct msccl_algo *algo, uint32_t min_depth, char *text, size_t bytes);

/** A try at the schedule that a file means. */
struct msccl_reading {
    uint32_t root;    /**< rank */
    bool is_unscaled; /**< operands are not marked */
};

/** Makes a file of a schedule. (export.c) Errors: NO_MEMORY; UNSUPPORTED for what the format lacks. */
enum ronde_status msccl_export(const struct ronde_schedule *schedule, struct msccl_algo *algo,
                               struct ronde_error *error);

/** Proves a judged file: tries roots and marks until one holds. (prove.c) */
enum ronde_status msccl_prove(const struct msccl_algo *algo, struct ronde_proof *out_proof,
                              struct ronde_schedule **out_schedule, struct ronde_error *error);

/** Whether a proof has a finding of this kind among those it keeps. (prove.c) */
bool msccl_has_finding(const struct ronde_proof *proof, enum ronde_finding_code code);

/* From a rank's program to threadblocks: a threadblock has one peer to send to, one to receive from, and one
 * channel for both, where a lane may use any connections. A lane becomes as many threadblocks as its connections
 * need, and where it goes on in another of them, a dependency keeps its order. */

/** What is done at once: a step, a half of it, or one chunk of either. */
struct msccl_atom {
    uint8_t op;             /**< enum msccl_op */
    uint32_t step;          /**< of the program */
    uint32_t item;          /**< first chunk of the message */
    uint32_t items;         /**< chunks */
    bool source_is_staged;  /**< reads what the other half left, not the step's source */
    bool target_is_scratch; /**< writes the stage, not the step's destination */
    bool source_is_scratch; /**< the other half left it in the stage */
    uint32_t stage;         /**< first chunk of the stage, in the file's units */
    uint32_t tb;            /**< in msccl_algo.tbs */
    uint32_t index;         /**< step of the threadblock, nops counted */
    bool is_awaited;        /**< some other atom waits for it */
    uint32_t first_need;    /**< in `needs` */
    uint32_t need_count;    /**< atoms of other threadblocks that come first, one of each */
};

/** One rank and channel on their way. */
struct msccl_blocks {
    struct msccl_algo *algo;
    struct msccl_gpu *gpu;
    struct ronde_view view;
    uint32_t unit;                  /**< chunks of the file in one of this channel's */
    bool is_single;                 /**< a message for every chunk */
    const struct ronde_list *chans; /**< struct msccl_chan, sorted */
    uint32_t channel;
    uint32_t first_tb; /**< of this channel */
    uint32_t *tb_of;   /**< per connection of the program: its threadblock */
    bool *is_apart;    /**< per step: receives and sends in different threadblocks */
    uint32_t *last_atom; /**< per step: its last atom, or that of the step before it in the lane; NONE */
    uint32_t *latest;        /**< per threadblock of this channel: the last atom needed, + 1 */
    struct ronde_list atoms; /**< struct msccl_atom */
    struct ronde_list needs; /**< uint32_t: atoms */
};

/** What tells connections between two ranks apart. */
struct msccl_chan {
    uint32_t channel, tag;
};

/** What qsort and bsearch ask: by channel, then tag. */
int msccl_compare_chans(const void *left, const void *right);

/** Adds the threadblocks of one rank and channel to its gpu, without their steps; fills in atoms and needs. */
bool msccl_blocks_make(struct msccl_blocks *blocks);

/** Frees what make took. */
void msccl_blocks_free(struct msccl_blocks *blocks);

#endif
