/**
 * The replay on the cores of one machine: what its halves share. cores.c is the workers that poll lanes, cores_cache.c
 * where data lies and what it costs to reach it.
 */
#ifndef RONDE_SIM_CORES_H
#define RONDE_SIM_CORES_H

#include "sim/routes.h"

/** A core, or none. */
#define RONDE_SIM_NO_CORE UINT32_MAX

/** A core that has data in its cache, and when it last touched them. */
struct ronde_sim_holder {
    uint32_t core; /**< or RONDE_SIM_NO_CORE */
    uint32_t at;   /**< which of the core's touches that was */
    double bytes;  /**< of them */
};

/** Data that is moved together: a piece of a chunk, or a slot. */
struct ronde_sim_segment {
    struct ronde_sim_holder owner;  /**< the core that wrote it last */
    struct ronde_sim_holder reader; /**< another core that read it since */
};

/** What a core touched, by when: sums over the touches of least distance (a Fenwick tree: Fenwick, SPE 24(3), 1994). */
struct ronde_sim_touches {
    double *sums;      /**< of `capacity` touches */
    uint32_t count;    /**< touches so far */
    uint32_t capacity; /**< touches there will be */
    double total;      /**< bytes of all segments the core holds */
};

/** Caches of all cores; start from zeroes. */
struct ronde_sim_caches {
    const struct ronde_platform_facts *facts;
    struct ronde_sim_segment *segments;
    struct ronde_sim_touches *touches; /**< per core */
};

/**
 * Nothing is cached yet. `touches` says how often each core will touch something. Their memory is the store's; false where
 * there is none.
 */
bool ronde_sim_caches_make(struct ronde_sim_caches *caches, size_t segments, uint32_t cores,
                           const uint32_t *touches, struct ronde_store *store);

/** A read or write of a core. */
struct ronde_sim_access {
    uint32_t core;
    size_t segment;
    double bytes;         /**< of the segment */
    double message_bytes; /**< of the whole message, where it is one: how far ahead a core can fetch */
};

/** A core reads a segment, to copy it or to combine it; returns ns. */
double ronde_sim_caches_read(struct ronde_sim_caches *caches, const struct ronde_sim_access *access,
                             bool combines);

/** A core writes a segment; returns ns. */
double ronde_sim_caches_write(struct ronde_sim_caches *caches,
                              const struct ronde_sim_access *access);

/** Touches of an item of a step, at most: three operands, and a result that is read again and written into a slot. */
#define RONDE_SIM_TOUCHES 5u

/** What the steps of a schedule read and write; job and dag are set by the caller. */
struct ronde_sim_operands {
    const struct ronde_sim_job *job;
    const struct ronde_dag *dag; /**< named, of the job */
    uint32_t pieces;             /**< of every chunk */
    uint32_t depth;              /**< slots of a connection */
    uint32_t runs; /**< one after another until the last finds everything where runs leave it */
    uint32_t actor_count;     /**< ranks times channels */
    size_t *first_buffer;     /**< per actor and buffer: segment of its first chunk's first piece */
    size_t *first_connection; /**< per actor */
    size_t connection_count;  /**< of all actors, whichever end */
    uint64_t *sent;           /**< per connection: messages so far */
    size_t *slot_of;          /**< per operation that sends: segment of the slot it filled last */
    size_t buffer_segments;   /**< of all buffers; those of slots follow */
    size_t segment_count;     /**< of everything */
};

/** Numbers all segments. The memory is the store's; false where there is none. */
bool ronde_sim_operands_make(struct ronde_sim_operands *operands, struct ronde_store *store);

/** The rank and channel of an operation, as one number. */
uint32_t ronde_sim_operands_actor(const struct ronde_sim_operands *operands, uint32_t op);

/** Whether an operation hands its result on to the next of its lane, if both are executed as one (RONDE_FLAG_JOINED). */
bool ronde_sim_operands_are_joined(const struct ronde_sim_operands *operands, uint32_t op);

/** How an operation is executed. */
struct ronde_sim_turn {
    uint32_t core;
    bool takes_over; /**< what it combines on the left comes from the one before it, in the core's nearest cache */
    bool hands_on; /**< and its result goes to the next one */
};

/** A core executes an operation's step, now; returns the ns its bytes take. */
double ronde_sim_operands_move(struct ronde_sim_operands *operands, struct ronde_sim_caches *caches,
                               struct ronde_sim_turn turn, uint32_t op);

#endif
