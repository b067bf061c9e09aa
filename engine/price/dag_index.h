/**
 * The tables behind the step graph: which step of which peer every message comes from and goes to.
 *
 * An *actor* is one (channel, position). Operations of an actor are numbered piece after piece,
 * step after step, from its first_op on, whatever their place in the graph.
 */
#ifndef RONDE_ENGINE_PRICE_DAG_INDEX_H
#define RONDE_ENGINE_PRICE_DAG_INDEX_H

#include "ronde/cursor.h"
#include "ronde/dag.h"
#include "ronde/quotient.h"

struct ronde_arena;

/** What a step of a program is to the walk. */
struct ronde_dag_step {
    uint32_t lane;          /**< of the program */
    uint32_t receive_place; /**< messages of its receive connection before it, in one piece */
    uint32_t send_place;    /**< the same of its send connection */
    uint32_t run;           /**< of the program, or RONDE_NONE */
    bool reduces;           /**< pays bytes / gamma */
};

/** Steps of a lane, one after another, that a switch can make one store or load of; see ronde_dag_group. */
struct ronde_dag_run {
    uint32_t first_step; /**< of the program */
    uint32_t step_count; /**< at least 2 */
    bool is_load;        /**< of receives; else of sends */
};

/** The steps of a program that use one of its connections, in order. */
struct ronde_dag_queue {
    uint32_t *steps; /**< of one piece */
    uint32_t count;  /**< messages of one piece */
};

/** The other end of a connection. */
struct ronde_dag_link {
    uint32_t actor;      /**< the peer, or what stands for it */
    uint32_t rank;       /**< of the peer itself */
    uint32_t connection; /**< the connection in the peer's program */
};

/** One (channel, position). */
struct ronde_dag_actor {
    struct ronde_view view;
    const struct ronde_program *program;
    const struct ronde_dag_step *steps;   /**< per step; shared by the actors of a program */
    const struct ronde_dag_queue *queues; /**< per connection; shared likewise */
    const struct ronde_dag_run *runs;     /**< run_count entries; shared likewise */
    const struct ronde_dag_link *links;   /**< per connection */
    uint32_t channel;
    uint32_t first_of_channel; /**< number of the actor at position 0 of its channel */
    uint32_t first_op;         /**< number of the first step of piece 0 */
    uint32_t first_lane;       /**< number of its first lane among all lanes */
    uint32_t run_count;        /**< of the program */
    uint32_t first_group;      /**< number of its first run among those of all actors */
};

/** How a load is run. */
struct ronde_dag_shape {
    uint64_t pieces;  /**< times the program is run */
    uint32_t depth;   /**< slots of a connection */
    bool is_quotient; /**< position 0 of one channel is its own peer on every connection */
    bool multicasts;  /**< runs are looked for */
    uint32_t channel; /**< that channel */
    const struct ronde_dag_turn *turn; /**< only what stands for others has actors; NULL = all have */
};

/** All actors of a schedule, channel after channel, position after position; one of a quotient; those that stand for others. */
struct ronde_dag_index {
    struct ronde_dag_actor *actors;
    uint32_t actor_count;
    uint32_t lane_count;   /**< of all actors */
    uint32_t pieces;       /**< as in the shape */
    uint32_t op_count;     /**< of all actors and pieces */
    uint32_t edge_count;   /**< exactly as many as the graph will have */
    uint32_t group_count;  /**< runs of all actors */
    uint32_t member_count; /**< steps of these */
};

/** Makes the tables. Errors: NO_MEMORY; UNSUPPORTED when operations or edges exceed 2^32 - 2. */
enum ronde_status ronde_dag_index_make(const struct ronde_schedule *schedule,
                                       const struct ronde_dag_shape *shape,
                                       struct ronde_arena *arena, struct ronde_dag_index *out_index,
                                       struct ronde_error *error);

/** Builds the graph of position 0 of one channel, with origins; see ronde_quotient. */
enum ronde_status ronde_dag_create_quotient(const struct ronde_quotient_request *request,
                                            const struct ronde_mem *mem, struct ronde_dag **out_dag,
                                            struct ronde_error *error);

/* The groups of a step graph: which ranks a run joins, and what its operations move. */

/** Makes groups, members and group_of of a graph whose op_count is not set yet; false when there is no memory. */
bool ronde_dag_groups_make(const struct ronde_dag_index *index, const struct ronde_mem *mem,
                           struct ronde_dag *dag);

/**
 * Notes in the operation that is being placed, at dag->op_count, what it moves for a group, and takes off what others move
 * for it. `bytes` are those of its step.
 */
void ronde_dag_place_group(const struct ronde_dag_index *index, const struct ronde_dag_actor *actor,
                           uint32_t step, uint64_t bytes, struct ronde_dag *dag);

/* Runs of steps that a switch which copies and adds makes one store or load of; see ronde_dag_group. */

/* How many bytes a step moves: the split rule and the pieces, applied to the chunks of a step. */

struct ronde_arena;

/** The chunks of a load. */
struct ronde_dag_sizes {
    const struct ronde_schedule *schedule;
    uint64_t piece_bytes;  /**< of a full piece of one chunk; without slots more than any chunk */
    uint64_t **part_bytes; /**< per channel: bytes of each part of a block */
};

/** Works out the chunks of every channel; false when there is no memory. */
bool ronde_dag_sizes_make(const struct ronde_schedule *schedule, const struct ronde_load *load,
                          struct ronde_arena *arena, struct ronde_dag_sizes *out_sizes);

/**
 * Bytes of a piece of a step that receives nothing: the sum over the chunks of one of its operands,
 * at the rank of the view.
 */
uint64_t ronde_dag_operand_bytes(const struct ronde_dag_sizes *sizes, const struct ronde_view *view,
                                 uint32_t channel, uint32_t step, uint32_t piece);

/**
 * Whether the symmetry leaves the bytes of every step of a channel the same at all positions:
 * chunks it exchanges are equally long.
 */
bool ronde_dag_sizes_are_symmetric(const struct ronde_dag_sizes *sizes, uint32_t channel);

/** Time a step spends on its bytes before they flow: reduction and staging. */
double ronde_dag_stage_ns(const struct ronde_time_params *params, bool reduces, uint64_t bytes);

#endif
