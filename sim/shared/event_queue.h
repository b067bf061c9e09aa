/**
 * The events of a replay forwards in time: heads of messages that arrive at links, moment by moment.
 *
 * Collectives are regular: of the 6 million arrivals of a double tree on 16,384 ranks 98 % share their time with the
 * one before. So the heap holds moments, not arrivals, and a moment returns all its arrivals at once.
 */
#ifndef RONDE_SIM_EVENT_QUEUE_H
#define RONDE_SIM_EVENT_QUEUE_H

#include "ronde/mem.h"

#include <stdint.h>

/** The head of a message arrives at a link. */
struct ronde_sim_arrival {
    double ready_ns; /**< when it was ready to leave its sender */
    uint32_t op;     /**< whose message */
    uint32_t kind;   /**< of the operation, so that it need not be looked at again */
    uint32_t hop;    /**< which link of its route */
};

/** The later of two times. */
static inline double ronde_sim_later(double a, double b)
{
    return a > b ? a : b;
}

struct ronde_sim_moment;

/** A place of the heap. */
struct ronde_sim_heap_entry {
    double at_ns;    /**< when */
    uint32_t moment; /**< index of the moment */
};

struct ronde_sim_bunch;

/** Moments in a heap, arrivals in lists of bunches; start from zeroes and an allocator. */
struct ronde_sim_queue {
    const struct ronde_mem *mem;        /**< whose memory */
    struct ronde_sim_heap_entry *heap;  /**< the earliest moment first */
    size_t heap_capacity;               /**< reserved */
    uint32_t heap_count;                /**< moments to come */
    struct ronde_sim_moment *moments;   /**< slots, found by time through `table` */
    size_t moment_capacity;             /**< reserved */
    uint32_t moment_count;              /**< slots used so far */
    uint32_t free_moment;               /**< list of free slots, index + 1 */
    uint32_t *table;                    /**< heads of chains of moments, index + 1 */
    uint32_t table_size;                /**< a power of two, or 0 */
    struct ronde_sim_bunch *bunches;    /**< slots of arrivals, some at a time */
    size_t bunch_capacity;              /**< reserved */
    uint32_t bunch_count;               /**< slots used so far */
    uint32_t free_bunch;                /**< list of free slots, index + 1 */
    uint32_t last;                      /**< moment of the last arrival, index + 1 */
    struct ronde_sim_arrival *batch[2]; /**< of the moment taken, and room to sort it */
    size_t batch_capacity[2];           /**< reserved */
};

/** Adds an arrival; false where there is no memory. */
bool ronde_sim_queue_push(struct ronde_sim_queue *queue, double at_ns,
                          struct ronde_sim_arrival arrival);

/**
 * Takes all arrivals of the earliest moment, in order of ready time and operation; they stay valid until the next call.
 * *out_count is 0 where nothing is left. False where there is no memory.
 */
bool ronde_sim_queue_pop(struct ronde_sim_queue *queue, double *out_at_ns,
                         const struct ronde_sim_arrival **out_batch, uint32_t *out_count);

/** Frees the queue. */
void ronde_sim_queue_free(struct ronde_sim_queue *queue);

#endif
