/**
 * Expansion of a schedule and a load into the step graph.
 *
 * The graph must list predecessors first. Instead of sorting it, lanes are walked as an executor
 * would run them: each goes on until a predecessor has not been placed yet, then waits in the list
 * of the lane that will place it. Every operation is tried once plus once per wait, so the walk is
 * linear in operations and edges.
 */
#include "dag_index.h"
#include "engine/ir/arena.h"

#include "ronde/backend.h"
#include "ronde/split.h"

#include <math.h>

/** One lane of one (channel, position) on its walk. */
struct walker {
    uint32_t actor;        /**< whose lane it is */
    uint32_t begin;        /**< first step of the lane in its program */
    uint32_t end;          /**< one past the last */
    uint32_t step;         /**< next step */
    uint32_t piece;        /**< of the next step */
    uint32_t last;         /**< operation placed last, or RONDE_NONE */
    uint32_t first_waiter; /**< walkers that wait for this lane, or RONDE_NONE */
    uint32_t next_waiter;  /**< next in the list this walker waits in */
};

/** The walk. */
struct walk {
    const struct ronde_schedule *schedule;
    const struct ronde_time_params *params;
    const struct ronde_dag_index *index;
    struct ronde_dag *dag;
    bool is_named;                     /**< also writes dag->origins */
    bool is_sized;                     /**< times depend on the bytes of messages */
    bool is_quotient;                  /**< of one channel, on position 0 alone */
    uint32_t channel;                  /**< of the quotient */
    const struct ronde_dag_turn *turn; /**< what stands for what; NULL = all have operations */
    uint32_t depth;                    /**< slots of a connection */
    struct ronde_dag_sizes sizes;
    struct walker *walkers;
    uint32_t *queue; /**< ring of walkers to try; each is in it at most once */
    uint32_t walker_count;
    uint32_t queue_head;
    uint32_t queue_length;
    uint32_t *placed; /**< per flat id: place in dag->ops, or RONDE_NONE */
    uint64_t *busy; /**< per rank, in BUSY_UNITS of a nanosecond, where lanes share a processor; else NULL */
    uint64_t *sent_bytes; /**< with groups, per operation: of its message, whoever moves it; else NULL */
};

static void enqueue(struct walk *walk, uint32_t walker)
{
    const uint32_t tail = walk->queue_head + walk->queue_length++;
    walk->queue[tail < walk->walker_count ? tail : tail - walk->walker_count] = walker;
}

static uint32_t dequeue(struct walk *walk)
{
    const uint32_t walker = walk->queue[walk->queue_head++];
    if (walk->queue_head == walk->walker_count)
        walk->queue_head = 0;
    walk->queue_length--;
    return walker;
}

/** Puts all walkers that wait for this lane back into the queue. */
static void wake_waiters(struct walk *walk, struct walker *walker)
{
    while (walker->first_waiter != RONDE_NONE) {
        const uint32_t waiter = walker->first_waiter;
        walker->first_waiter = walk->walkers[waiter].next_waiter;
        enqueue(walk, waiter);
    }
}

/**
 * Adds an edge from a step of a piece of an actor. When that is not placed yet, the walker joins
 * the waiters of its lane instead and the answer is false.
 */
static bool add_edge(struct walk *walk, struct walker *walker, uint32_t actor, uint32_t piece,
                     uint32_t step, bool is_message)
{
    const struct ronde_dag_actor *owner = &walk->index->actors[actor];
    const uint32_t op = walk->placed[owner->first_op + piece * owner->program->step_count + step];
    if (op == RONDE_NONE) {
        struct walker *other = &walk->walkers[owner->first_lane + owner->steps[step].lane];
        walker->next_waiter = other->first_waiter;
        other->first_waiter = (uint32_t)(walker - walk->walkers);
        return false;
    }
    walk->dag->edges[walk->dag->edge_count++] =
        (struct ronde_dag_edge){.op = op, .is_message = is_message};
    return true;
}

/** The edge that a message brings: from the step of the same piece that sends it. */
static bool add_message(struct walk *walk, struct walker *walker,
                        const struct ronde_dag_actor *actor)
{
    const struct ronde_step *step = &actor->program->steps[walker->step];
    const struct ronde_dag_link link = actor->links[step->receive];
    const struct ronde_dag_queue *sends = &walk->index->actors[link.actor].queues[link.connection];
    const uint32_t place = actor->steps[walker->step].receive_place;
    return add_edge(walk, walker, link.actor, walker->piece, sends->steps[place], true);
}

/** The edge that a freed slot brings: from the receive `depth` messages ago on the connection. */
static bool add_credit(struct walk *walk, struct walker *walker, const struct ronde_dag_actor *actor)
{
    const struct ronde_step *step = &actor->program->steps[walker->step];
    const struct ronde_dag_link link = actor->links[step->send];
    const struct ronde_dag_queue *receives =
        &walk->index->actors[link.actor].queues[link.connection];
    const uint64_t sent =
        (uint64_t)walker->piece * receives->count + actor->steps[walker->step].send_place;
    if (sent < walk->depth)
        return true;
    const uint64_t freed = sent - walk->depth;
    if (!add_edge(walk, walker, link.actor, (uint32_t)(freed / receives->count),
                  receives->steps[freed % receives->count], false))
        return false;
    walk->dag->edges[walk->dag->edge_count - 1].is_credit = true;
    return true;
}

/**
 * Adds all predecessors of the walker's next step; takes them back and waits when one is missing.
 */
static bool add_predecessors(struct walk *walk, struct walker *walker,
                             const struct ronde_dag_actor *actor)
{
    const struct ronde_step *step = &actor->program->steps[walker->step];
    struct ronde_dag *dag = walk->dag;
    const uint32_t first = dag->edge_count;
    bool is_ready = true;
    /* The message edge comes first: fill_op reads the sender from it. */
    if (step->receive != RONDE_NONE)
        is_ready = add_message(walk, walker, actor);
    if (is_ready && step->send != RONDE_NONE)
        is_ready = add_credit(walk, walker, actor);
    for (uint32_t i = 0; is_ready && i < step->dependency_count; i++)
        is_ready = add_edge(walk, walker, walker->actor, walker->piece,
                            actor->program->dependencies[step->first_dependency + i], false);
    if (!is_ready) {
        dag->edge_count = first;
        return false;
    }
    if (walker->last != RONDE_NONE)
        dag->edges[dag->edge_count++] = (struct ronde_dag_edge){.op = walker->last};
    return true;
}

/** Destination of a connection: the peer's rank, in a quotient the offset to its position. */
static uint32_t peer_of(const struct walk *walk, const struct ronde_dag_actor *actor,
                        uint32_t connection)
{
    return walk->is_quotient ? actor->program->connections[connection].peer
                             : actor->links[connection].rank;
}

/** Notes where the operation placed next comes from. */
static void name_op(struct walk *walk, const struct walker *walker,
                    const struct ronde_dag_actor *actor)
{
    const uint32_t lane = actor->steps[walker->step].lane;
    walk->dag->origins[walk->dag->op_count] = (struct ronde_dag_origin){
        .channel = actor->channel,
        .lane = lane,
        .step = walker->step - actor->program->lane_first[lane],
        .piece = walker->piece,
        .send = actor->program->steps[walker->step].send,
        .op = (enum ronde_step_op)actor->program->steps[walker->step].op,
    };
}

/** Bytes of the message that an operation sends. */
static uint64_t message_bytes(const struct walk *walk, uint32_t op)
{
    return walk->sent_bytes ? walk->sent_bytes[op] : walk->dag->ops[op].bytes;
}

/** Whole units, so that the sum is the same in any order. */
#define BUSY_UNITS 1024.0

/** What a message costs the one processor of its rank. */
static void count_busy(struct walk *walk, uint32_t rank, double sized_ns)
{
    if (!walk->busy)
        return;
    walk->busy[rank] += (uint64_t)(sized_ns * BUSY_UNITS);
    walk->dag->busy_ns = fmax(walk->dag->busy_ns, (double)walk->busy[rank] / BUSY_UNITS);
}

/** Places the walker's next step in the graph; its edges are there already. */
static void place_op(struct walk *walk, struct walker *walker, const struct ronde_dag_actor *actor,
                     uint32_t first_edge)
{
    const struct ronde_step *step = &actor->program->steps[walker->step];
    struct ronde_dag *dag = walk->dag;
    struct ronde_dag_op *op = &dag->ops[dag->op_count];
    /* What is received says how long a step is: rs has no operand at all. */
    const uint64_t bytes = step->receive != RONDE_NONE
                               ? message_bytes(walk, dag->edges[first_edge].op)
                               : ronde_dag_operand_bytes(&walk->sizes, &actor->view, actor->channel,
                                                         walker->step, walker->piece);
    op->src = walk->is_quotient ? 0 : actor->view.rank;
    op->dst = step->send != RONDE_NONE ? peer_of(walk, actor, step->send) : op->src;
    op->bytes = step->send != RONDE_NONE ? bytes : 0;
    op->touched_bytes = bytes * ronde_program_touches(actor->program, walker->step);
    op->stage_ns = ronde_dag_stage_ns(walk->params, actor->steps[walker->step].reduces, bytes);
    op->delay_ns = walk->params->step_ns + op->stage_ns;
    if (walk->is_sized) {
        const double sized_ns =
            ronde_time_sized_ns(walk->params, walk->schedule, step, (double)bytes);
        op->delay_ns += sized_ns;
        count_busy(walk, op->src, sized_ns);
    }
    op->first_edge = first_edge;
    op->edge_count = dag->edge_count - first_edge;
    if (walk->sent_bytes) {
        walk->sent_bytes[dag->op_count] = op->bytes;
        ronde_dag_place_group(walk->index, actor, walker->step, bytes, dag);
    }
    walk->placed[actor->first_op + walker->piece * actor->program->step_count + walker->step] =
        dag->op_count;
    if (walk->is_named)
        name_op(walk, walker, actor);
    walker->last = dag->op_count++;
}

/**
 * Walks a lane as far as it gets. In a quotient lanes take turns piece by piece: a replay keeps the
 * times of all positions until the last successor has seen them, and a lane far ahead makes that
 * long. A waiting walker is retried after progress only, so a cycle, which only a quotient can
 * have, ends the walk.
 */
static void advance(struct walk *walk, struct walker *walker)
{
    const struct ronde_dag_actor *actor = &walk->index->actors[walker->actor];
    const uint32_t before = walk->dag->op_count;
    while (walker->piece < walk->index->pieces && walker->begin < walker->end) {
        const uint32_t first_edge = walk->dag->edge_count;
        if (!add_predecessors(walk, walker, actor))
            break;
        place_op(walk, walker, actor, first_edge);
        if (++walker->step == walker->end) {
            walker->step = walker->begin;
            walker->piece++;
            if (walk->is_quotient) {
                enqueue(walk, (uint32_t)(walker - walk->walkers));
                break;
            }
        }
    }
    if (walk->dag->op_count > before)
        wake_waiters(walk, walker);
}

static void start_walkers(struct walk *walk)
{
    for (uint32_t a = 0; a < walk->index->actor_count; a++) {
        const struct ronde_dag_actor *actor = &walk->index->actors[a];
        for (uint32_t lane = 0; lane < actor->program->lane_count; lane++) {
            const uint32_t walker = actor->first_lane + lane;
            walk->walkers[walker] = (struct walker){
                .actor = a,
                .begin = actor->program->lane_first[lane],
                .end = actor->program->lane_first[lane + 1],
                .step = actor->program->lane_first[lane],
                .last = RONDE_NONE,
                .first_waiter = RONDE_NONE,
                .next_waiter = RONDE_NONE,
            };
            enqueue(walk, walker);
        }
    }
}

static bool has_messages(const struct ronde_program *program, uint32_t lane)
{
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++)
        if (program->steps[s].send != RONDE_NONE || program->steps[s].receive != RONDE_NONE)
            return true;
    return false;
}

/** Whether a rank has messages in several lanes at once; in one they take turns already. */
static bool shares_processor(const struct ronde_schedule *schedule)
{
    for (uint32_t p = 0; p < schedule->program_count; p++) {
        const struct ronde_program *program = &schedule->programs[p];
        uint32_t lanes = 0;
        for (uint32_t lane = 0; lane < program->lane_count; lane++)
            lanes += has_messages(program, lane);
        if (lanes * schedule->channel_count > 1)
            return true;
    }
    return false;
}

static enum ronde_status run_walk(struct walk *walk, const struct ronde_load *load,
                                  struct ronde_arena *arena, struct ronde_error *error)
{
    const struct ronde_dag_index *index = walk->index;
    walk->walker_count = index->lane_count;
    walk->walkers = ronde_arena_new(arena, index->lane_count, sizeof *walk->walkers);
    walk->queue = ronde_arena_new(arena, index->lane_count, sizeof *walk->queue);
    walk->placed = ronde_arena_new(arena, index->op_count, sizeof *walk->placed);
    if (index->group_count > 0)
        walk->sent_bytes = ronde_arena_new(arena, index->op_count, sizeof *walk->sent_bytes);
    const bool counts_busy = walk->is_sized && shares_processor(walk->schedule);
    if (counts_busy)
        walk->busy = ronde_arena_new(arena, walk->schedule->ranks, sizeof *walk->busy);
    if (!walk->walkers || !walk->queue || !walk->placed || (!walk->busy && counts_busy) ||
        (!walk->sent_bytes && index->group_count > 0) ||
        !ronde_dag_sizes_make(walk->schedule, load, arena, &walk->sizes))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a walk of %u operations",
                          index->op_count);
    for (uint32_t i = 0; i < index->op_count; i++)
        walk->placed[i] = RONDE_NONE;
    start_walkers(walk);
    while (walk->queue_length > 0)
        advance(walk, &walk->walkers[dequeue(walk)]);
    if (walk->dag->op_count == index->op_count)
        return RONDE_OK;
    if (walk->is_quotient)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s on %u ranks has no order of steps that serves all positions",
                          walk->schedule->algorithm, walk->schedule->ranks);
    /* A proved schedule cannot stall; one finished without proof can. */
    return ronde_fail(error, RONDE_REJECTED, "%s on %u ranks stalls after %u of %u steps",
                      walk->schedule->algorithm, walk->schedule->ranks, walk->dag->op_count,
                      index->op_count);
}

static enum ronde_status check_load(const struct ronde_schedule *schedule,
                                    const struct ronde_load *load, struct ronde_error *error)
{
    if ((unsigned)load->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "data type %u does not exist",
                          (unsigned)load->dtype);
    if (load->depth != 0 && load->depth < schedule->proof.min_depth)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "depth %u is below %u, the least of %s",
                          load->depth, schedule->proof.min_depth, schedule->algorithm);
    if (load->slot_bytes != 0 && load->slot_bytes < RONDE_GRAIN_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "slot of %llu bytes is below %u",
                          (unsigned long long)load->slot_bytes, RONDE_GRAIN_BYTES);
    return RONDE_OK;
}

/** An empty graph; a run of nothing returns at once, launch included. */
static struct ronde_dag *new_dag(const struct ronde_schedule *schedule,
                                 const struct ronde_time_params *params, const struct ronde_mem *mem)
{
    struct ronde_dag *dag = ronde_mem_new(mem, 1, sizeof *dag);
    if (!dag)
        return NULL;
    dag->ranks = schedule->ranks;
    dag->alpha_ns = params->alpha_ns;
    dag->lane_GBps = params->lane_GBps;
    return dag;
}

/** Builds operations and edges of a load that moves something. */
static enum ronde_status expand(struct ronde_dag *dag, struct walk *walk,
                                const struct ronde_load *load, struct ronde_arena *arena,
                                const struct ronde_mem *mem, struct ronde_error *error)
{
    struct ronde_dag_index index = {0};
    const struct ronde_dag_shape shape = {
        .pieces = load->slot_bytes == 0
                      ? 1
                      : ronde_piece_count(walk->schedule, load->count,
                                          ronde_dtype_bytes(load->dtype), load->slot_bytes),
        .depth = walk->depth,
        .is_quotient = walk->is_quotient,
        .multicasts = walk->params->multicasts,
        .channel = walk->channel,
        .turn = walk->turn,
    };
    RONDE_TRY(ronde_dag_index_make(walk->schedule, &shape, arena, &index, error));
    if ((walk->is_quotient || walk->turn) && index.group_count > 0)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s on %u ranks: what switches copy or add is replayed on the whole graph",
            walk->schedule->algorithm, walk->schedule->ranks);
    walk->index = &index;
    dag->ops = ronde_mem_new(mem, index.op_count, sizeof *dag->ops);
    dag->edges = ronde_mem_new(mem, index.edge_count, sizeof *dag->edges);
    if (walk->is_named)
        dag->origins = ronde_mem_new(mem, index.op_count, sizeof *dag->origins);
    const enum ronde_status status =
        dag->ops && dag->edges && (dag->origins || !walk->is_named) &&
                (index.group_count == 0 || ronde_dag_groups_make(&index, mem, dag))
            ? run_walk(walk, load, arena, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u operations, %u edges",
                         index.op_count, index.edge_count);
    /* Destroying frees by count, and a stalled walk stopped short of what was allocated. */
    dag->op_count = index.op_count;
    dag->edge_count = index.edge_count;
    return status;
}

/** Checks the load, then walks; the ways to make a graph differ in what the walk says already. */
static enum ronde_status create(const struct ronde_schedule *schedule, const struct ronde_load *load,
                                struct walk *walk, const struct ronde_mem *mem,
                                struct ronde_dag **out_dag, struct ronde_error *error)
{
    *out_dag = NULL;
    enum ronde_status status = check_load(schedule, load, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_arena *arena = ronde_arena_create(mem);
    struct ronde_dag *dag = arena ? new_dag(schedule, walk->params, mem) : NULL;
    if (!dag) {
        ronde_arena_destroy(arena);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a step graph");
    }
    walk->schedule = schedule;
    walk->is_sized = ronde_time_is_sized(walk->params);
    walk->dag = dag;
    walk->depth = ronde_launch_depth(schedule, &(struct ronde_launch){.depth = load->depth});
    if (load->count > 0 || schedule->collective == RONDE_BARRIER) {
        dag->launch_ns = ronde_time_launch_ns(walk->params, schedule, load);
        dag->least_ns = ronde_time_least_ns(walk->params, schedule, load);
        status = expand(dag, walk, load, arena, mem, error);
    }
    ronde_arena_destroy(arena);
    if (status != RONDE_OK) {
        ronde_dag_destroy(dag, mem);
        return status;
    }
    *out_dag = dag;
    return RONDE_OK;
}

enum ronde_status
ronde_dag_create(const struct ronde_schedule *schedule, const struct ronde_load *load,
                 const struct ronde_time_params *params, const struct ronde_mem *mem,
                 struct ronde_dag **out_dag, struct ronde_error *error)
{
    struct walk walk = {.params = params};
    return create(schedule, load, &walk, mem, out_dag, error);
}

enum ronde_status
ronde_dag_create_named(const struct ronde_schedule *schedule, const struct ronde_load *load,
                       const struct ronde_time_params *params, const struct ronde_mem *mem,
                       struct ronde_dag **out_dag, struct ronde_error *error)
{
    struct walk walk = {.params = params, .is_named = true};
    return create(schedule, load, &walk, mem, out_dag, error);
}

enum ronde_status
ronde_dag_create_turned(const struct ronde_schedule *schedule, const struct ronde_load *load,
                        const struct ronde_time_params *params, const struct ronde_dag_turn *turn,
                        const struct ronde_mem *mem, struct ronde_dag **out_dag,
                        struct ronde_error *error)
{
    struct walk walk = {.params = params, .is_named = true, .turn = turn};
    const enum ronde_status status = create(schedule, load, &walk, mem, out_dag, error);
    if (status == RONDE_OK)
        (*out_dag)->is_turned = true;
    return status;
}

enum ronde_status ronde_dag_create_quotient(const struct ronde_quotient_request *request,
                                            const struct ronde_mem *mem, struct ronde_dag **out_dag,
                                            struct ronde_error *error)
{
    struct walk walk = {.params = request->params,
                        .is_named = true,
                        .is_quotient = true,
                        .channel = request->channel};
    return create(request->schedule, request->load, &walk, mem, out_dag, error);
}

void ronde_dag_destroy(struct ronde_dag *dag, const struct ronde_mem *mem)
{
    if (!dag)
        return;
    ronde_mem_free(mem, dag->ops, dag->op_count, sizeof *dag->ops);
    ronde_mem_free(mem, dag->edges, dag->edge_count, sizeof *dag->edges);
    ronde_mem_free(mem, dag->origins, dag->op_count, sizeof *dag->origins);
    ronde_mem_free(mem, dag->group_of, dag->op_count, sizeof *dag->group_of);
    ronde_mem_free(mem, dag->groups, dag->group_count, sizeof *dag->groups);
    ronde_mem_free(mem, dag->members, dag->member_count, sizeof *dag->members);
    ronde_mem_free(mem, dag, 1, sizeof *dag);
}
