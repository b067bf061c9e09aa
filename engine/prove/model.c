/**
 * Building the model: numbering and pairing connection ends.
 *
 * A connection has two ends: the send end of one actor, and the receive end of its peer that names the first one's
 * position and the same tag. Ends are described and sorted once a program, however many positions run it, and a send
 * end finds its partner by bisection. On the quotient the peer is actor 0 too: what is looked for is a receive end at
 * the opposite offset. An end without a partner, and two ends of different numbers of messages, are findings. Lanes,
 * steps, ends, messages and items of all actors are numbered through, so that walks use plain tables.
 */
#include "model.h"

#include "accesses.h"
#include "engine/ir/ends.h"

#include <string.h>

/* Memory of a walk over steps. */

bool ronde_accesses_make(struct ronde_accesses *accesses, const struct ronde_schedule *schedule,
                         struct ronde_arena *arena)
{
    accesses->schedule = schedule;
    accesses->source = ronde_arena_new(arena, schedule->max_chunk_count, sizeof(uint32_t));
    accesses->destination = ronde_arena_new(arena, schedule->max_chunk_count, sizeof(uint32_t));
    return accesses->source && accesses->destination;
}

uint64_t *ronde_accesses_bases(const struct ronde_model *model, uint32_t actors, bool has_inputs,
                               struct ronde_arena *arena)
{
    uint64_t *bases = ronde_arena_new(arena, (size_t)actors + 1, sizeof *bases);
    for (uint32_t actor = 0; bases && actor < actors; actor++) {
        const struct ronde_cells cells =
            ronde_cells_of(model->schedule, ronde_model_view(model, actor).program, 0, 0);
        bases[actor + 1] = bases[actor] + (has_inputs ? cells.total : cells.written);
    }
    return bases;
}

/** What the ends of one program do, computed once per program. */
struct program_ends {
    uint32_t *messages; /**< per end */
    uint64_t *items;    /**< per end */
    uint32_t *lane;     /**< per end */
};

static void count_end(struct program_ends *ends, uint32_t end, const struct ronde_step *step,
                      uint32_t lane)
{
    ends->messages[end]++;
    ends->items[end] += step->chunk_count;
    ends->lane[end] = lane;
}

static bool describe_ends(struct ronde_arena *arena, const struct ronde_program *program,
                          struct program_ends *ends)
{
    const size_t count = program->connection_count;
    ends->messages = ronde_arena_new(arena, count, sizeof *ends->messages);
    ends->items = ronde_arena_new(arena, count, sizeof *ends->items);
    ends->lane = ronde_arena_new(arena, count, sizeof *ends->lane);
    if (!ends->messages || !ends->items || !ends->lane)
        return false;
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        for (uint32_t i = program->lane_first[lane]; i < program->lane_first[lane + 1]; i++) {
            const struct ronde_step *step = &program->steps[i];
            if (ronde_step_sends((enum ronde_step_op)step->op))
                count_end(ends, step->send, step, lane);
            if (ronde_step_receives((enum ronde_step_op)step->op))
                count_end(ends, step->receive, step, lane);
        }
    return true;
}

/** Pairs one send end with the receive end that names its position and tag. */
static void pair_end(struct ronde_model *model, const struct ronde_ends *ends,
                     const struct ronde_view *view, uint32_t end)
{
    const struct ronde_schedule *schedule = model->schedule;
    const struct ronde_connection *connection = &view->program->connections[end];
    const uint32_t position = ronde_view_peer_position(view, end);
    const uint32_t peer_actor = model->is_quotient ? 0 : position;
    const struct ronde_view peer = ronde_model_view(model, peer_actor);
    const struct ronde_end_entry wanted =
        ronde_ends_other(schedule, connection, view->position, position);
    uint32_t count;
    const struct ronde_end_entry *found =
        ronde_ends_find(&ends[peer.program - schedule->programs], &wanted, &count);
    if (count == 0)
        return;
    const uint32_t here = model->end_base[view->position] + end;
    const uint32_t there = model->end_base[peer_actor] + found->end;
    model->partner[here] = there;
    model->partner[there] = here;
}

static void report_unmatched(const struct ronde_model *model, const struct program_ends *ends,
                             struct ronde_proof *proof)
{
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_view view = ronde_model_view(model, actor);
        const struct program_ends *mine = &ends[view.program - model->schedule->programs];
        for (uint32_t end = 0; end < view.program->connection_count; end++) {
            const uint32_t partner = model->partner[model->end_base[actor] + end];
            const struct ronde_step_location place = {NULL, actor, RONDE_NONE, RONDE_NONE};
            const char *what = view.program->connections[end].is_send ? "sends to" : "receives from";
            const uint32_t peer = ronde_view_peer_position(&view, end);
            if (partner == RONDE_NONE) {
                ronde_find(proof, RONDE_FINDING_UNMATCHED, place,
                           "%s rank %u (tag %u), which has no such connection", what, peer,
                           view.program->connections[end].tag);
                continue;
            }
            const uint32_t other = model->is_quotient ? 0 : peer;
            const struct ronde_view peer_view = ronde_model_view(model, other);
            const struct program_ends *theirs = &ends[peer_view.program - model->schedule->programs];
            const uint32_t there = theirs->messages[partner - model->end_base[other]];
            if (mine->messages[end] != there)
                ronde_find(proof, RONDE_FINDING_UNMATCHED, place,
                           "%u messages on the connection that %s rank %u, %u at the other end",
                           mine->messages[end], what, peer, there);
        }
    }
}

/** Numbers the actor's lanes, steps, ends, messages. */
static void number_actor(struct ronde_model *model, const struct program_ends *ends, uint32_t actor)
{
    const struct ronde_view view = ronde_model_view(model, actor);
    const struct program_ends *mine = &ends[view.program - model->schedule->programs];
    for (uint32_t end = 0; end < view.program->connection_count; end++) {
        const uint32_t here = model->end_base[actor] + end;
        model->partner[here] = RONDE_NONE;
        model->lane_of_end[here] = model->lane_base[actor] + mine->lane[end];
        if (!view.program->connections[end].is_send)
            continue;
        model->message_base[here] = model->message_count;
        model->item_base[here] = model->item_count;
        model->message_count += mine->messages[end];
        model->item_count += mine->items[end];
        if (mine->messages[end] > model->most_messages)
            model->most_messages = mine->messages[end];
    }
}

static bool number_bases(struct ronde_model *model)
{
    const size_t entries = (size_t)model->actors + 1;
    model->lane_base = ronde_arena_new(model->arena, entries, sizeof(uint32_t));
    model->end_base = ronde_arena_new(model->arena, entries, sizeof(uint32_t));
    model->step_base = ronde_arena_new(model->arena, entries, sizeof(uint32_t));
    if (!model->lane_base || !model->end_base || !model->step_base)
        return false;
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_program *program = ronde_model_view(model, actor).program;
        model->lane_base[actor + 1] = model->lane_base[actor] + program->lane_count;
        model->end_base[actor + 1] = model->end_base[actor] + program->connection_count;
        model->step_base[actor + 1] = model->step_base[actor] + program->step_count;
    }
    const size_t ends = model->end_base[model->actors];
    model->partner = ronde_arena_new(model->arena, ends, sizeof *model->partner);
    model->lane_of_end = ronde_arena_new(model->arena, ends, sizeof *model->lane_of_end);
    model->message_base = ronde_arena_new(model->arena, ends, sizeof *model->message_base);
    model->item_base = ronde_arena_new(model->arena, ends, sizeof *model->item_base);
    model->order =
        ronde_arena_new(model->arena, model->step_base[model->actors], sizeof *model->order);
    return model->partner && model->lane_of_end && model->message_base && model->item_base &&
           model->order;
}

static enum ronde_status connect(struct ronde_model *model, struct ronde_arena *arena,
                                 struct ronde_proof *proof, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = model->schedule;
    struct program_ends *ends = ronde_arena_new(arena, schedule->program_count, sizeof *ends);
    const struct ronde_ends *listed = ronde_ends_list_all(schedule, arena);
    bool is_described = ends != NULL && listed != NULL;
    for (uint32_t i = 0; i < schedule->program_count && is_described; i++)
        is_described = describe_ends(arena, &schedule->programs[i], &ends[i]);
    if (!is_described || !number_bases(model) || !ronde_model_make_run(model))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to prove %u ranks", schedule->ranks);
    for (uint32_t actor = 0; actor < model->actors; actor++)
        number_actor(model, ends, actor);
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_view view = ronde_model_view(model, actor);
        for (uint32_t end = 0; end < view.program->connection_count; end++)
            if (view.program->connections[end].is_send)
                pair_end(model, listed, &view, end);
    }
    report_unmatched(model, ends, proof);
    return RONDE_OK;
}

enum ronde_status ronde_model_create(const struct ronde_schedule *schedule, bool is_quotient,
                                     const struct ronde_channel *channel,
                                     const struct ronde_mem *mem, struct ronde_proof *proof,
                                     struct ronde_model *out_model, struct ronde_error *error)
{
    memset(out_model, 0, sizeof *out_model);
    out_model->schedule = schedule;
    out_model->is_quotient = is_quotient;
    out_model->actors = is_quotient ? 1 : schedule->ranks;
    out_model->channel.weight = 1;
    if (channel)
        out_model->channel = *channel;
    out_model->arena = ronde_arena_create(mem);
    struct ronde_arena *temporary = ronde_arena_create(mem);
    const enum ronde_status status =
        out_model->arena && temporary
            ? connect(out_model, temporary, proof, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory to prove %u ranks", schedule->ranks);
    ronde_arena_destroy(temporary);
    if (status != RONDE_OK)
        ronde_model_destroy(out_model);
    return status;
}

void ronde_model_destroy(struct ronde_model *model)
{
    ronde_arena_destroy(model->arena);
    memset(model, 0, sizeof *model);
}
