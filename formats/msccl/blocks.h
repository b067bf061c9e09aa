/**
 * From a rank's program to threadblocks: a threadblock has one peer to send to, one to receive from, and one channel for
 * both, where a lane may use any connections. A lane becomes as many threadblocks as its connections need, and where it
 * goes on in another of them, a dependency keeps its order.
 */
#ifndef RONDE_FORMATS_MSCCL_BLOCKS_H
#define RONDE_FORMATS_MSCCL_BLOCKS_H

#include "algo.h"

#include "ronde/cursor.h"

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

/** Adds the threadblocks of one rank and channel to its gpu, without their steps; fills in atoms and needs. */
bool msccl_blocks_make(struct msccl_blocks *blocks);

/** Frees what make took. */
void msccl_blocks_free(struct msccl_blocks *blocks);

#endif
