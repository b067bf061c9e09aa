/** Tables for the step graph: made once per graph, per program where possible. */
#include "dag_index.h"

#include "engine/ir/ends.h"

/* Finds runs. Within one no step can change what is sent: in the lane nothing lies between, and a step of another
 * lane would have to be waited for, which only the first may. */

static bool has_same_source(const struct ronde_step *a, const struct ronde_step *b)
{
    const uint8_t kind = RONDE_FLAG_SOURCE_RANGE;
    return a->source == b->source && a->source_chunk == b->source_chunk &&
           (a->flags & kind) == (b->flags & kind);
}

static bool has_same_destination(const struct ronde_step *a, const struct ronde_step *b)
{
    const uint8_t kind = RONDE_FLAG_DESTINATION_RANGE;
    return a->destination == b->destination && a->destination_chunk == b->destination_chunk &&
           (a->flags & kind) == (b->flags & kind);
}

/** Whether a receive goes on adding to what it finds in its destination. */
static bool accumulates(const struct ronde_step *step)
{
    const bool is_range = step->flags & RONDE_FLAG_SOURCE_RANGE;
    return step->source == step->destination && step->source_chunk == step->destination_chunk &&
           is_range == !!(step->flags & RONDE_FLAG_DESTINATION_RANGE);
}

/** Whether two steps that follow one another in a lane move the same chunks, the second without waiting for a lane. */
static bool go_together(const struct ronde_step *first, const struct ronde_step *next,
                        enum ronde_step_op op)
{
    return first->op == op && next->op == op && next->dependency_count == 0 &&
           next->chunk_count > 0 && first->chunk_count == next->chunk_count;
}

static bool go_on_storing(const struct ronde_step *first, const struct ronde_step *next)
{
    return go_together(first, next, RONDE_STEP_SEND) && has_same_source(first, next);
}

static bool go_on_loading(const struct ronde_step *first, const struct ronde_step *next)
{
    return go_together(first, next, RONDE_STEP_RRC) && has_same_destination(first, next) &&
           accumulates(next);
}

/** Ends at the first step that does not go on with the one before it. */
static uint32_t run_end(const struct ronde_program *program, uint32_t first, uint32_t end)
{
    const struct ronde_step *steps = program->steps;
    uint32_t s = first + 1;
    while (s < end &&
           (go_on_storing(&steps[s - 1], &steps[s]) || go_on_loading(&steps[s - 1], &steps[s])))
        s++;
    return s;
}

/** Finds those of a program and notes them in its steps. `runs` has room for half as many as there are steps. */
static uint32_t find_runs(const struct ronde_program *program, struct ronde_dag_step *steps,
                          struct ronde_dag_run *runs)
{
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t end = program->lane_first[lane + 1];
        for (uint32_t s = program->lane_first[lane], next; s < end; s = next) {
            next = run_end(program, s, end);
            if (next - s < 2)
                continue;
            for (uint32_t member = s; member < next; member++)
                steps[member].run = count;
            runs[count++] = (struct ronde_dag_run){
                .first_step = s,
                .step_count = next - s,
                .is_load = program->steps[s].op == RONDE_STEP_RRC,
            };
        }
    }
    return count;
}

/** What all actors of a program share. */
struct shared {
    struct ronde_dag_step *steps;
    struct ronde_dag_queue *queues;
    struct ronde_ends ends;
    struct ronde_dag_run *runs; /**< run_count entries */
    uint32_t run_count;
    uint64_t messages_received; /**< of one piece */
};

/** Counts the messages of every connection and gives the queues their room. */
static bool size_queues(const struct ronde_program *program, struct ronde_arena *arena,
                        struct shared *shared)
{
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct ronde_step *step = &program->steps[s];
        if (step->send != RONDE_NONE)
            shared->queues[step->send].count++;
        if (step->receive != RONDE_NONE)
            shared->queues[step->receive].count++;
    }
    for (uint32_t c = 0; c < program->connection_count; c++) {
        struct ronde_dag_queue *queue = &shared->queues[c];
        queue->steps = ronde_arena_new(arena, queue->count, sizeof *queue->steps);
        if (!queue->steps)
            return false;
        queue->count = 0;
    }
    return true;
}

static uint32_t queue_step(struct ronde_dag_queue *queue, uint32_t step)
{
    queue->steps[queue->count] = step;
    return queue->count++;
}

/* A connection has one lane at each end, so step numbers are in message order. */
static void fill_steps(const struct ronde_program *program, struct shared *shared)
{
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
            const struct ronde_step *step = &program->steps[s];
            struct ronde_dag_step *facts = &shared->steps[s];
            facts->lane = lane;
            facts->run = RONDE_NONE;
            facts->reduces = ronde_step_reduces((enum ronde_step_op)step->op);
            if (step->send != RONDE_NONE)
                facts->send_place = queue_step(&shared->queues[step->send], s);
            if (step->receive != RONDE_NONE) {
                facts->receive_place = queue_step(&shared->queues[step->receive], s);
                shared->messages_received++;
            }
        }
}

/* Room for as many runs as there can be. */
static bool make_runs(const struct ronde_program *program, struct ronde_arena *arena,
                      struct shared *shared)
{
    shared->runs = ronde_arena_new(arena, program->step_count / 2, sizeof *shared->runs);
    if (shared->runs)
        shared->run_count = find_runs(program, shared->steps, shared->runs);
    return shared->runs != NULL;
}

static bool make_shared(const struct ronde_program *program, bool multicasts,
                        struct ronde_arena *arena, struct shared *shared)
{
    shared->steps = ronde_arena_new(arena, program->step_count, sizeof *shared->steps);
    shared->queues = ronde_arena_new(arena, program->connection_count, sizeof *shared->queues);
    if (!shared->steps || !shared->queues || !ronde_ends_list(&shared->ends, program, arena) ||
        !size_queues(program, arena, shared))
        return false;
    fill_steps(program, shared);
    return !multicasts || make_runs(program, arena, shared);
}

static uint32_t program_number(const struct ronde_schedule *schedule, uint32_t position)
{
    return schedule->program_of ? schedule->program_of[position] : 0;
}

/** Positions of a channel that have actors. */
static uint32_t actors_of_channel(const struct ronde_schedule *schedule,
                                  const struct ronde_dag_shape *shape)
{
    return shape->is_quotient ? 1 : shape->turn ? shape->turn->positions : schedule->ranks;
}

/** The actor at a position of an actor's channel, or what stands for it. */
static uint32_t actor_at(const struct ronde_schedule *schedule, const struct ronde_dag_shape *shape,
                         const struct ronde_dag_actor *actor, uint32_t position)
{
    const uint32_t positions = actors_of_channel(schedule, shape);
    return actor->first_of_channel + position % positions;
}

/**
 * Finds the other end of every connection of an actor; `shared` is that of all programs. In a
 * quotient the actor itself stands for every peer.
 */
static bool make_links(const struct ronde_schedule *schedule, const struct shared *shared,
                       const struct ronde_dag_shape *shape, struct ronde_dag_actor *actor,
                       struct ronde_arena *arena)
{
    const struct ronde_program *program = actor->program;
    const uint32_t position = actor->view.position;
    struct ronde_dag_link *links = ronde_arena_new(arena, program->connection_count, sizeof *links);
    if (!links)
        return false;
    for (uint32_t c = 0; c < program->connection_count; c++) {
        const struct ronde_connection *connection = &program->connections[c];
        const uint32_t peer = ronde_view_peer_position(&actor->view, c);
        const uint32_t number = program_number(schedule, peer);
        const struct ronde_end_entry wanted = ronde_ends_other(schedule, connection, position, peer);
        uint32_t count;
        const struct ronde_end_entry *found = ronde_ends_find(&shared[number].ends, &wanted, &count);
        links[c].actor = actor_at(schedule, shape, actor, peer);
        links[c].rank = ronde_channel_rank(actor->view.channel, peer);
        /* Checked schedules always have that end. */
        links[c].connection = count > 0 ? found->end : RONDE_NONE;
    }
    actor->links = links;
    return true;
}

/** Running totals, wide enough to notice what does not fit. */
struct totals {
    uint64_t ops;
    uint64_t edges;
    uint64_t lanes;
    uint64_t groups;
    uint64_t members;
};

/**
 * Adds what an actor brings: every message, credit, dependency and lane predecessor is one edge.
 */
static void count_actor(const struct ronde_dag_actor *actor, const struct shared *shared,
                        const struct ronde_dag_shape *shape, struct totals *totals)
{
    const struct ronde_program *program = actor->program;
    totals->ops += program->step_count * shape->pieces;
    totals->edges += (shared->messages_received + program->dependency_count) * shape->pieces;
    for (uint32_t c = 0; c < program->connection_count; c++) {
        const uint64_t messages = actor->queues[c].count * shape->pieces;
        if (program->connections[c].is_send && messages > shape->depth)
            totals->edges += messages - shape->depth;
    }
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint64_t steps = program->lane_first[lane + 1] - program->lane_first[lane];
        totals->edges += steps > 0 ? steps * shape->pieces - 1 : 0;
    }
    totals->lanes += program->lane_count;
    totals->groups += shared->run_count;
    for (uint32_t r = 0; r < shared->run_count; r++)
        totals->members += shared->runs[r].step_count;
}

/** Whether a channel has actors of its own. */
static bool stands(const struct ronde_dag_shape *shape, uint32_t channel)
{
    return !shape->turn || shape->turn->channel_of[channel] == channel;
}

static uint32_t count_actors(const struct ronde_schedule *schedule,
                             const struct ronde_dag_shape *shape)
{
    uint32_t channels = 0;
    for (uint32_t c = 0; c < schedule->channel_count; c++)
        channels += stands(shape, c);
    return (shape->is_quotient ? 1 : channels) * actors_of_channel(schedule, shape);
}

/** Fills in the actors and adds up the totals. */
static bool make_actors(const struct ronde_schedule *schedule, const struct shared *shared,
                        const struct ronde_dag_shape *shape, struct ronde_arena *arena,
                        struct ronde_dag_index *index, struct totals *totals)
{
    const uint32_t positions = actors_of_channel(schedule, shape);
    uint32_t channel = shape->is_quotient ? shape->channel : 0;
    for (uint32_t a = 0; a < index->actor_count; a++) {
        struct ronde_dag_actor *actor = &index->actors[a];
        const uint32_t position = a % positions;
        const uint32_t number = program_number(schedule, position);
        /* The next one of those that stand for channels. */
        for (channel += a > 0 && position == 0; !stands(shape, channel); channel++)
            continue;
        actor->channel = channel;
        actor->first_of_channel = a - position;
        actor->view =
            ronde_view_open(schedule, actor->channel,
                            ronde_channel_rank(&schedule->channels[actor->channel], position));
        actor->program = &schedule->programs[number];
        actor->steps = shared[number].steps;
        actor->queues = shared[number].queues;
        actor->first_op = (uint32_t)totals->ops;
        actor->first_lane = (uint32_t)totals->lanes;
        actor->runs = shared[number].runs;
        actor->run_count = shared[number].run_count;
        actor->first_group = (uint32_t)totals->groups;
        if (!make_links(schedule, shared, shape, actor, arena))
            return false;
        count_actor(actor, &shared[number], shape, totals);
    }
    return true;
}

static enum ronde_status out_of_memory(const struct ronde_schedule *schedule,
                                       struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the step graph of %u ranks",
                      schedule->ranks);
}

enum ronde_status ronde_dag_index_make(const struct ronde_schedule *schedule,
                                       const struct ronde_dag_shape *shape,
                                       struct ronde_arena *arena, struct ronde_dag_index *out_index,
                                       struct ronde_error *error)
{
    struct totals totals = {0};
    struct shared *shared = ronde_arena_new(arena, schedule->program_count, sizeof *shared);
    if (!shared)
        return out_of_memory(schedule, error);
    for (uint32_t i = 0; i < schedule->program_count; i++)
        if (!make_shared(&schedule->programs[i], shape->multicasts, arena, &shared[i]))
            return out_of_memory(schedule, error);
    out_index->actor_count = count_actors(schedule, shape);
    out_index->actors = ronde_arena_new(arena, out_index->actor_count, sizeof *out_index->actors);
    if (!out_index->actors || !make_actors(schedule, shared, shape, arena, out_index, &totals))
        return out_of_memory(schedule, error);
    if (totals.ops >= RONDE_NONE || totals.edges >= RONDE_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%llu operations and %llu edges: a step graph has at most 2^32 - 2",
                          (unsigned long long)totals.ops, (unsigned long long)totals.edges);
    out_index->pieces = (uint32_t)shape->pieces;
    out_index->lane_count = (uint32_t)totals.lanes;
    out_index->op_count = (uint32_t)totals.ops;
    out_index->edge_count = (uint32_t)totals.edges;
    out_index->group_count = (uint32_t)totals.groups;
    out_index->member_count = (uint32_t)totals.members;
    return RONDE_OK;
}
