/*
 * What a step reads and writes, in the order in which the executor does it (engine/execute/result.h): the operands of an item
 * are copied or combined into its first place, and where the result also goes into a slot, it is copied there from that
 * place. What joined steps hand on from one to the next is not counted: it stays in the nearest cache.
 */
#include "cores.h"

#include "engine/execute/burst.h"

#include "ronde/backend.h"
#include "ronde/cursor.h"

#include <math.h>

/* A step at work. */
struct moving {
    struct ronde_sim_caches *caches;
    struct ronde_sim_turn turn;
    bool combines;        /* what is received is an operand of the reduction */
    double message_bytes; /* of the whole step */
    double item_bytes;    /* of one of its items */
};

static bool is_sender(const struct ronde_dag_origin *origin)
{
    return origin->send != RONDE_NONE;
}

uint32_t ronde_sim_operands_actor(const struct ronde_sim_operands *operands, uint32_t op)
{
    return operands->dag->ops[op].src * operands->job->schedule->channel_count +
           operands->dag->origins[op].channel;
}

/* The operation that sent what an operation receives, or RONDE_NONE: the message edge comes first. */
static uint32_t sender_of(const struct ronde_dag *dag, uint32_t op)
{
    const struct ronde_dag_op *self = &dag->ops[op];
    return self->edge_count > 0 && dag->edges[self->first_edge].is_message
               ? dag->edges[self->first_edge].op
               : RONDE_NONE;
}

/* The program of an operation, and its step there. */
static const struct ronde_program *program_of(const struct ronde_sim_operands *operands,
                                              uint32_t op, uint32_t *out_step)
{
    const struct ronde_dag_origin *origin = &operands->dag->origins[op];
    const struct ronde_view view =
        ronde_view_open(operands->job->schedule, origin->channel, operands->dag->ops[op].src);
    *out_step = view.program->lane_first[origin->lane] + origin->step;
    return view.program;
}

/* Bytes of what a step moves: of its message, or, where it has none, of its operands (dag.c counts their touches). */
static double bytes_of(const struct ronde_sim_operands *operands, uint32_t op)
{
    const struct ronde_dag *dag = operands->dag;
    const uint32_t sender = sender_of(dag, op);
    const struct ronde_dag_op *self = &dag->ops[op];
    uint32_t step = 0;
    if (sender != RONDE_NONE)
        return (double)dag->ops[sender].bytes;
    if (is_sender(&dag->origins[op]))
        return (double)self->bytes;
    const struct ronde_program *program = program_of(operands, op, &step);
    const uint32_t touches = ronde_program_touches(program, step);
    return touches > 0 ? (double)self->touched_bytes / touches : 0;
}

bool ronde_sim_operands_are_joined(const struct ronde_sim_operands *operands, uint32_t op)
{
    uint32_t step = 0;
    const struct ronde_program *program = program_of(operands, op, &step);
    return (program->steps[step].flags & RONDE_FLAG_JOINED) != 0 &&
           bytes_of(operands, op) >=
               (double)RONDE_JOIN_FROM_BYTES * program->steps[step].chunk_count;
}

static double read_part(const struct moving *moving, size_t segment, bool combines)
{
    const struct ronde_sim_access access = {moving->turn.core, segment, moving->item_bytes,
                                            moving->message_bytes};
    return ronde_sim_caches_read(moving->caches, &access, combines);
}

static double write_part(const struct moving *moving, size_t segment)
{
    const struct ronde_sim_access access = {moving->turn.core, segment, moving->item_bytes,
                                            moving->message_bytes};
    return ronde_sim_caches_write(moving->caches, &access);
}

/* The segment of an item of an operand. */
static size_t segment_of(const struct ronde_sim_operands *operands, uint32_t op,
                         const struct ronde_view *view, const struct ronde_step *step,
                         bool is_source, uint32_t item)
{
    const uint8_t buffer = is_source ? step->source : step->destination;
    const uint32_t chunks =
        ronde_schedule_chunks(operands->job->schedule, view->program, (enum ronde_buffer)buffer);
    const uint32_t chunk = ronde_view_item(view, step, is_source, chunks, item);
    const size_t first =
        operands->first_buffer[(size_t)ronde_sim_operands_actor(operands, op) * RONDE_BUFFER_COUNT +
                               buffer];
    return first + (size_t)chunk * operands->pieces + operands->dag->origins[op].piece;
}

static size_t connection_of(const struct ronde_sim_operands *operands, uint32_t op)
{
    return operands->first_connection[ronde_sim_operands_actor(operands, op)] +
           operands->dag->origins[op].send;
}

/* The slot a message goes into: they take turns, over all runs. Slots lie behind all buffers, items side by side. */
static size_t next_slot(struct ronde_sim_operands *operands, uint32_t op)
{
    const struct ronde_schedule *schedule = operands->job->schedule;
    const size_t connection = connection_of(operands, op);
    const size_t turn = (size_t)(operands->sent[connection]++ % operands->depth);
    operands->slot_of[op] = operands->buffer_segments +
                            (connection * operands->depth + turn) * schedule->max_chunk_count;
    return operands->slot_of[op];
}

/* What a step is about. */
struct places {
    struct ronde_view view;
    const struct ronde_step *step;
    size_t received; /* first segment of its message's slot, where it receives */
    size_t sent;     /* the same of what it sends */
};

/* Reads the operands of an item and writes what comes of them. */
static double move_operands(const struct ronde_sim_operands *operands, const struct moving *moving,
                            const struct places *places, uint32_t op, uint32_t item)
{
    const struct ronde_step *step = places->step;
    const enum ronde_step_op kind = (enum ronde_step_op)step->op;
    const bool keeps = ronde_step_writes(kind);
    const size_t kept =
        keeps ? segment_of(operands, op, &places->view, step, false, item) : places->sent + item;
    double ns = 0;
    if (ronde_step_receives(kind))
        ns += read_part(moving, places->received + item, moving->combines);
    const bool rereads = ronde_step_reads_destination(kind);
    if (ronde_step_reads_source(kind) && (rereads || !moving->turn.takes_over))
        ns += read_part(moving, segment_of(operands, op, &places->view, step, true, item), false);
    if (rereads && !moving->turn.takes_over)
        ns += read_part(moving, kept, false);
    if (!moving->turn.hands_on)
        ns += write_part(moving, kept);
    if (moving->combines)
        ns = fmax(ns, moving->item_bytes / moving->caches->facts->caches.combine_GBps);
    if (ronde_step_sends_kept(kind))
        ns += read_part(moving, kept, false) + write_part(moving, places->sent + item);
    return ns;
}

double ronde_sim_operands_move(struct ronde_sim_operands *operands, struct ronde_sim_caches *caches,
                               struct ronde_sim_turn turn, uint32_t op)
{
    const struct ronde_dag *dag = operands->dag;
    const struct ronde_dag_origin *origin = &dag->origins[op];
    const uint32_t sender = sender_of(dag, op);
    const double bytes = bytes_of(operands, op);
    struct places places = {
        .view = ronde_view_open(operands->job->schedule, origin->channel, dag->ops[op].src)};
    places.step =
        &places.view.program->steps[places.view.program->lane_first[origin->lane] + origin->step];
    if (sender != RONDE_NONE)
        places.received = operands->slot_of[sender];
    if (is_sender(origin))
        places.sent = next_slot(operands, op);
    const uint32_t items = places.step->chunk_count;
    if (bytes <= 0 || items == 0)
        return 0;
    const struct moving moving = {.caches = caches,
                                  .turn = turn,
                                  .combines = ronde_step_reduces(origin->op),
                                  .message_bytes = bytes,
                                  .item_bytes = bytes / items};
    double ns = 0;
    for (uint32_t item = 0; item < items; item++)
        ns += move_operands(operands, &moving, &places, op, item);
    return ns;
}

/* Buffers one after another: rank, channel, buffer, chunk, piece. */
static void number_segments(struct ronde_sim_operands *operands)
{
    const struct ronde_schedule *schedule = operands->job->schedule;
    size_t segment = 0, connection = 0;
    for (uint32_t actor = 0; actor < operands->actor_count; actor++) {
        const struct ronde_view view = ronde_view_open(schedule, actor % schedule->channel_count,
                                                       actor / schedule->channel_count);
        for (uint32_t buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++) {
            operands->first_buffer[(size_t)actor * RONDE_BUFFER_COUNT + buffer] = segment;
            segment += (size_t)operands->pieces *
                       ronde_schedule_chunks(schedule, view.program, (enum ronde_buffer)buffer);
        }
        operands->first_connection[actor] = connection;
        connection += view.program->connection_count;
    }
    operands->buffer_segments = segment;
    operands->connection_count = connection;
    operands->segment_count = segment + connection * operands->depth * schedule->max_chunk_count;
}

/* Slots take turns, so the connection with the fewest messages says how many runs it takes until all have been used. */
static void count_runs(struct ronde_sim_operands *operands)
{
    uint64_t fewest = operands->depth;
    for (uint32_t op = 0; op < operands->dag->op_count; op++)
        if (is_sender(&operands->dag->origins[op]))
            operands->sent[connection_of(operands, op)]++;
    for (size_t c = 0; c < operands->connection_count; c++) {
        if (operands->sent[c] > 0 && operands->sent[c] < fewest)
            fewest = operands->sent[c];
        operands->sent[c] = 0;
    }
    operands->runs = 1 + (uint32_t)((operands->depth + fewest - 1) / fewest);
}

bool ronde_sim_operands_make(struct ronde_sim_operands *operands, struct ronde_store *store)
{
    const struct ronde_schedule *schedule = operands->job->schedule;
    const struct ronde_load *load = operands->job->load;
    const struct ronde_launch launch = {.depth = load->depth};
    operands->depth = ronde_launch_depth(schedule, &launch);
    operands->pieces = 1;
    for (uint32_t op = 0; op < operands->dag->op_count; op++)
        if (operands->dag->origins[op].piece >= operands->pieces)
            operands->pieces = operands->dag->origins[op].piece + 1;
    operands->actor_count = schedule->ranks * schedule->channel_count;
    operands->first_buffer =
        ronde_store_new(store, (size_t)operands->actor_count * RONDE_BUFFER_COUNT,
                        sizeof *operands->first_buffer);
    operands->first_connection =
        ronde_store_new(store, operands->actor_count, sizeof *operands->first_connection);
    operands->slot_of = ronde_store_new(store, operands->dag->op_count, sizeof *operands->slot_of);
    if (store->is_short)
        return false;
    number_segments(operands);
    operands->sent = ronde_store_new(store, operands->connection_count, sizeof *operands->sent);
    if (store->is_short)
        return false;
    count_runs(operands);
    return true;
}
