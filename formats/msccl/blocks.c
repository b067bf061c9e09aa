/*
 * Lanes to threadblocks. See algo.h.
 *
 * A lane has any number of connections; a threadblock of MSCCL sends on one at most and receives on one at most, both
 * of one channel. So each lane's connections are dealt out first: those of steps that pass a message on, whose two
 * ends have to be in one threadblock, before those that may be anywhere. A step whose ends cannot be together is
 * taken apart: one threadblock receives, another sends, and what is kept nowhere waits in scratch in between.
 *
 * Steps then become atoms of the file, lane by lane. The order of a lane that is spread over threadblocks, and what
 * lanes wait for in each other, are needs: of each other threadblock the last alone, and since an atom of the file
 * waits for one, all but one take a nop before it.
 */
#include "algo.h"

#include <stdlib.h>
#include <string.h>

/* --- connections to threadblocks ------------------------------------------------------------- */

int msccl_compare_chans(const void *left, const void *right)
{
    const struct msccl_chan *a = left, *b = right;
    if (a->channel != b->channel)
        return a->channel < b->channel ? -1 : 1;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static uint32_t chan_of(const struct msccl_blocks *blocks, uint32_t connection)
{
    const struct msccl_chan wanted = {blocks->channel,
                                      blocks->view.program->connections[connection].tag};
    const struct msccl_chan *found = bsearch(&wanted, blocks->chans->items, blocks->chans->count,
                                             sizeof wanted, msccl_compare_chans);
    return (uint32_t)(found - (const struct msccl_chan *)blocks->chans->items);
}

static struct msccl_tb *tb_at(const struct msccl_blocks *blocks, uint32_t tb)
{
    return (struct msccl_tb *)blocks->algo->tbs.items + tb;
}

/* Whether a threadblock has, or can still take, the connection. */
static bool can_take(const struct msccl_blocks *blocks, uint32_t tb, uint32_t connection)
{
    const struct msccl_tb *at = tb_at(blocks, tb);
    const bool is_send = blocks->view.program->connections[connection].is_send;
    if (blocks->tb_of[connection] != RONDE_NONE)
        return blocks->tb_of[connection] == tb;
    const bool is_new = at->send < 0 && at->recv < 0;
    return (is_send ? at->send : at->recv) < 0 &&
           (is_new || at->chan == chan_of(blocks, connection));
}

static void take(struct msccl_blocks *blocks, uint32_t tb, uint32_t connection)
{
    struct msccl_tb *at = tb_at(blocks, tb);
    const int32_t peer = (int32_t)ronde_view_peer(&blocks->view, connection);
    blocks->tb_of[connection] = tb;
    at->chan = chan_of(blocks, connection);
    if (blocks->view.program->connections[connection].is_send)
        at->send = peer;
    else
        at->recv = peer;
}

static uint32_t add_tb(struct msccl_blocks *blocks)
{
    const struct msccl_tb tb = {.id = blocks->gpu->tb_count++, .send = -1, .recv = -1};
    return ronde_list_append(blocks->algo->mem, &blocks->algo->tbs, &tb, sizeof tb)
               ? blocks->algo->tbs.count - 1
               : RONDE_NONE;
}

/* The first of the lane's threadblocks that takes both connections (NONE: needs none), or a new one. */
static uint32_t find_tb(struct msccl_blocks *blocks, uint32_t lane_tb, uint32_t receive,
                        uint32_t send)
{
    for (uint32_t tb = lane_tb; tb < blocks->algo->tbs.count; tb++)
        if ((receive == RONDE_NONE || can_take(blocks, tb, receive)) &&
            (send == RONDE_NONE || can_take(blocks, tb, send)))
            return tb;
    return add_tb(blocks);
}

/* Both ends of a step that passes messages on sit in one threadblock, if their channels and what came before allow. */
static bool place_passing(struct msccl_blocks *blocks, uint32_t lane_tb, uint32_t step)
{
    const struct ronde_step *at = &blocks->view.program->steps[step];
    const bool is_new =
        blocks->tb_of[at->receive] == RONDE_NONE && blocks->tb_of[at->send] == RONDE_NONE;
    const uint32_t known = blocks->tb_of[at->receive] != RONDE_NONE ? blocks->tb_of[at->receive]
                                                                    : blocks->tb_of[at->send];
    if (chan_of(blocks, at->receive) != chan_of(blocks, at->send) ||
        (!is_new && (!can_take(blocks, known, at->receive) || !can_take(blocks, known, at->send)))) {
        blocks->is_apart[step] = true;
        return true;
    }
    const uint32_t tb = is_new ? find_tb(blocks, lane_tb, at->receive, at->send) : known;
    if (tb == RONDE_NONE)
        return false;
    take(blocks, tb, at->receive);
    take(blocks, tb, at->send);
    return true;
}

static bool place_connection(struct msccl_blocks *blocks, uint32_t lane_tb, uint32_t connection,
                             bool is_used)
{
    if (!is_used || blocks->tb_of[connection] != RONDE_NONE)
        return true;
    const bool is_send = blocks->view.program->connections[connection].is_send;
    const uint32_t tb = find_tb(blocks, lane_tb, is_send ? RONDE_NONE : connection,
                                is_send ? connection : RONDE_NONE);
    if (tb == RONDE_NONE)
        return false;
    take(blocks, tb, connection);
    return true;
}

static bool sends(const struct ronde_step *step)
{
    return ronde_step_sends((enum ronde_step_op)step->op);
}

static bool receives(const struct ronde_step *step)
{
    return ronde_step_receives((enum ronde_step_op)step->op);
}

/* Steps that need two connections in one threadblock first, then those that need one. */
static bool place_lane(struct msccl_blocks *blocks, uint32_t lane, uint32_t lane_tb)
{
    const struct ronde_program *program = blocks->view.program;
    bool has_room = true;
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1] && has_room; s++)
        if (sends(&program->steps[s]) && receives(&program->steps[s]))
            has_room = place_passing(blocks, lane_tb, s);
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1] && has_room; s++)
        has_room =
            place_connection(blocks, lane_tb, program->steps[s].receive,
                             receives(&program->steps[s])) &&
            place_connection(blocks, lane_tb, program->steps[s].send, sends(&program->steps[s]));
    return has_room;
}

/* --- steps to atoms -------------------------------------------------------------------------- */

/* The file's operation for a whole step, or for the half that receives. */
static uint8_t op_of(const struct ronde_step *step, bool is_half)
{
    switch ((enum ronde_step_op)step->op) {
    case RONDE_STEP_SEND:
        return MSCCL_S;
    case RONDE_STEP_RECV:
        return MSCCL_R;
    case RONDE_STEP_RS: /* passes on what it keeps in a stage: the format has no other way */
    case RONDE_STEP_RCS:
        return is_half ? MSCCL_R : MSCCL_RCS;
    case RONDE_STEP_RRC:
        return MSCCL_RRC;
    case RONDE_STEP_RRS:
        return is_half ? MSCCL_RRC : MSCCL_RRS;
    case RONDE_STEP_RRCS:
        return is_half ? MSCCL_RRC : MSCCL_RRCS;
    case RONDE_STEP_COPY:
        return MSCCL_CPY;
    case RONDE_STEP_REDUCE:
        return MSCCL_RE;
    case RONDE_STEP_NOP:
    case RONDE_STEP_OP_COUNT:
        break;
    }
    return MSCCL_NOP;
}

static bool add_atom(struct msccl_blocks *blocks, const struct msccl_atom *atom)
{
    return ronde_list_append(blocks->algo->mem, &blocks->atoms, atom, sizeof *atom);
}

/* A step, or so many chunks of it, as one atom or as one that receives and one that sends. */
static bool add_part(struct msccl_blocks *blocks, uint32_t s, uint32_t tb, uint32_t item,
                     uint32_t items, uint32_t stage)
{
    const struct ronde_step *step = &blocks->view.program->steps[s];
    const bool keeps = ronde_step_writes((enum ronde_step_op)step->op);
    const bool is_apart = blocks->is_apart[s];
    struct msccl_atom atom = {.op = op_of(step, is_apart),
                              .step = s,
                              .item = item,
                              .items = items,
                              .stage = stage,
                              .tb = tb};
    atom.target_is_scratch = !keeps && (is_apart || step->op == RONDE_STEP_RS);
    if (is_apart)
        atom.tb = blocks->tb_of[step->receive];
    if (!add_atom(blocks, &atom))
        return false;
    if (!is_apart)
        return true;
    atom = (struct msccl_atom){.op = MSCCL_S,
                               .step = s,
                               .item = item,
                               .items = items,
                               .source_is_staged = true,
                               .source_is_scratch = !keeps,
                               .stage = stage,
                               .tb = blocks->tb_of[step->send]};
    return add_atom(blocks, &atom);
}

/* Where a step that uses no connection goes: to the threadblock of the one before it, or of the lane's first. */
static uint32_t tb_of_step(const struct msccl_blocks *blocks, uint32_t s, uint32_t before)
{
    const struct ronde_step *step = &blocks->view.program->steps[s];
    if (receives(step))
        return blocks->tb_of[step->receive];
    return sends(step) ? blocks->tb_of[step->send] : before;
}

/* Chunks of scratch that a lane's halves hand over in, in the file's units. */
static uint32_t stage_chunks(const struct msccl_blocks *blocks, uint32_t lane)
{
    const struct ronde_program *program = blocks->view.program;
    uint32_t most = 0;
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
        const struct ronde_step *step = &program->steps[s];
        const bool keeps = ronde_step_writes((enum ronde_step_op)step->op);
        const bool needs = !keeps && (blocks->is_apart[s] || step->op == RONDE_STEP_RS);
        if (needs && step->chunk_count > most)
            most = step->chunk_count;
    }
    return (blocks->is_single && most > 1 ? 1 : most) * blocks->unit;
}

static bool add_lane(struct msccl_blocks *blocks, uint32_t lane, uint32_t lane_tb)
{
    const struct ronde_program *program = blocks->view.program;
    const uint32_t stage = blocks->gpu->chunks[RONDE_SCRATCH];
    const uint32_t first_atom = blocks->atoms.count;
    uint32_t tb = lane_tb;
    blocks->gpu->chunks[RONDE_SCRATCH] += stage_chunks(blocks, lane);
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
        const struct ronde_step *step = &program->steps[s];
        const uint32_t each = blocks->is_single ? 1 : step->chunk_count;
        tb = tb_of_step(blocks, s, tb);
        for (uint32_t item = 0; step->op != RONDE_STEP_NOP && item < step->chunk_count; item += each)
            if (!add_part(blocks, s, tb, item, each, stage))
                return false;
        blocks->last_atom[s] =
            blocks->atoms.count > first_atom ? blocks->atoms.count - 1 : RONDE_NONE;
    }
    return true;
}

/* --- needs ----------------------------------------------------------------------------------- */

static struct msccl_atom *atom_at(const struct msccl_blocks *blocks, uint32_t atom)
{
    return (struct msccl_atom *)blocks->atoms.items + atom;
}

static void note_need(struct msccl_blocks *blocks, uint32_t on)
{
    const uint32_t tb = atom_at(blocks, on)->tb - blocks->first_tb;
    if (on + 1 > blocks->latest[tb])
        blocks->latest[tb] = on + 1;
}

/*
 * What a step waits for. A nop, which raises no flag, stands for what it waits for and what comes before it in its lane;
 * that of a lane's first nops is nothing.
 */
static void note_needs(struct msccl_blocks *blocks, uint32_t step)
{
    const struct ronde_program *program = blocks->view.program;
    const struct ronde_step *at = &program->steps[step];
    for (uint32_t i = 0; i < at->dependency_count; i++) {
        uint32_t on = program->dependencies[at->first_dependency + i];
        const uint32_t first = program->lane_first[ronde_program_lane(program, on)];
        if (blocks->last_atom[on] != RONDE_NONE)
            note_need(blocks, blocks->last_atom[on]);
        for (; program->steps[on].op == RONDE_STEP_NOP; on--) {
            note_needs(blocks, on);
            if (on == first)
                break;
        }
    }
}

/* Keeps one need of each other threadblock: its last. */
static bool keep_needs(struct msccl_blocks *blocks, struct msccl_atom *atom)
{
    atom->first_need = blocks->needs.count;
    for (uint32_t tb = 0; tb < blocks->algo->tbs.count - blocks->first_tb; tb++) {
        const uint32_t latest = blocks->latest[tb];
        blocks->latest[tb] = 0;
        if (latest == 0 || tb + blocks->first_tb == atom->tb)
            continue;
        const uint32_t need = latest - 1;
        if (!ronde_list_append(blocks->algo->mem, &blocks->needs, &need, sizeof need))
            return false;
        atom_at(blocks, latest - 1)->is_awaited = true;
        atom->need_count++;
    }
    return true;
}

/* Steps of a lane come one after another, whatever threadblock each is in; a nop's needs are its successor's. */
static bool find_needs(struct msccl_blocks *blocks, uint32_t lane, uint32_t *io_atom)
{
    const struct ronde_program *program = blocks->view.program;
    const uint32_t first = *io_atom;
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
        note_needs(blocks, s);
        for (; *io_atom < blocks->atoms.count && atom_at(blocks, *io_atom)->step == s; ++*io_atom) {
            if (*io_atom > first)
                note_need(blocks, *io_atom - 1);
            if (!keep_needs(blocks, atom_at(blocks, *io_atom)))
                return false;
        }
    }
    memset(blocks->latest, 0, (blocks->algo->tbs.count - blocks->first_tb) * sizeof *blocks->latest);
    return true;
}

/* --- numbers --------------------------------------------------------------------------------- */

/* All but one of an atom's needs take a nop. */
static void number_atoms(struct msccl_blocks *blocks)
{
    for (uint32_t a = 0; a < blocks->atoms.count; a++) {
        struct msccl_atom *atom = atom_at(blocks, a);
        struct msccl_tb *tb = tb_at(blocks, atom->tb);
        tb->step_count += atom->need_count > 1 ? atom->need_count - 1 : 0;
        atom->index = tb->step_count++;
    }
}

static bool place_all(struct msccl_blocks *blocks)
{
    const struct ronde_program *program = blocks->view.program;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t lane_tb = blocks->algo->tbs.count;
        if (!place_lane(blocks, lane, lane_tb))
            return false;
        if (blocks->algo->tbs.count == lane_tb && add_tb(blocks) == RONDE_NONE)
            return false;
        if (!add_lane(blocks, lane, lane_tb))
            return false;
    }
    return true;
}

bool msccl_blocks_make(struct msccl_blocks *blocks)
{
    const struct ronde_program *program = blocks->view.program;
    const struct ronde_mem *mem = blocks->algo->mem;
    blocks->first_tb = blocks->algo->tbs.count;
    blocks->tb_of = ronde_mem_new(mem, program->connection_count, sizeof *blocks->tb_of);
    blocks->is_apart = ronde_mem_new(mem, program->step_count, sizeof *blocks->is_apart);
    blocks->last_atom = ronde_mem_new(mem, program->step_count, sizeof *blocks->last_atom);
    if (!blocks->tb_of || !blocks->is_apart || !blocks->last_atom)
        return false;
    memset(blocks->tb_of, 0xff, program->connection_count * sizeof *blocks->tb_of);
    if (!place_all(blocks))
        return false;
    blocks->latest =
        ronde_mem_new(mem, blocks->algo->tbs.count - blocks->first_tb, sizeof *blocks->latest);
    if (!blocks->latest)
        return false;
    uint32_t atom = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        if (!find_needs(blocks, lane, &atom))
            return false;
    number_atoms(blocks);
    return true;
}

void msccl_blocks_free(struct msccl_blocks *blocks)
{
    const struct ronde_mem *mem = blocks->algo->mem;
    const struct ronde_program *program = blocks->view.program;
    const size_t tbs = blocks->algo->tbs.count - blocks->first_tb;
    ronde_mem_free(mem, blocks->tb_of, program->connection_count, sizeof *blocks->tb_of);
    ronde_mem_free(mem, blocks->is_apart, program->step_count, sizeof *blocks->is_apart);
    ronde_mem_free(mem, blocks->last_atom, program->step_count, sizeof *blocks->last_atom);
    if (blocks->latest)
        ronde_mem_free(mem, blocks->latest, tbs, sizeof *blocks->latest);
    ronde_list_free(mem, &blocks->atoms, sizeof(struct msccl_atom));
    ronde_list_free(mem, &blocks->needs, sizeof(uint32_t));
}
