/**
 * The symbolic run. What a chunk holds is a value (symbolic.h); contributions are counted relative to the block the value
 * belongs to when the input rotates: then a value looks the same from every position, which is what lets position 0
 * stand for all. Where the input of a reduction does not rotate, a quotient is followed in rows: it gives the order of
 * the steps, and each of them is run at every position.
 */
#include "symbolic.h"

#include "accesses.h"
#include "proofs.h"

#include <string.h>

/** What surrounds a step at one position. */
struct moment {
    uint32_t actor;
    uint32_t step_index;
    struct ronde_value *memory;         /**< cells of the row */
    const struct ronde_value *incoming; /**< items of the message it takes, `stride` apart */
    struct ronde_value *outgoing;       /**< items of the row, `stride` apart */
    size_t stride;                      /**< from an item of a row to its next */
    uint64_t put;                       /**< items that have been put into its connection before */
    struct ronde_step_marks *marks;     /**< of the step; NULL where it has none */
    bool may_finish;                    /**< the step's result can be final */
    uint32_t *parts; /**< what scratch holds, per item; NULL where it follows from operands */
};

/* --- values -------------------------------------------------------------------------------- */

/** The unmodified input chunk of a rank. */
static struct ronde_value leaf(const struct ronde_symbolic *symbolic, const struct ronde_view *view,
                               uint32_t chunk)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    uint32_t relative = view->position;
    if (schedule->symmetry != RONDE_SYMMETRY_NONE && schedule->rotates[RONDE_IN]) {
        const uint32_t chunks = ronde_schedule_chunks(schedule, &schedule->programs[0], RONDE_IN);
        const uint32_t digit = chunk / (chunks / schedule->ranks);
        relative = ronde_group_add(schedule, view->position, ronde_group_negate(schedule, digit));
    }
    struct ronde_value value = symbolic->leaves[relative];
    value.label = chunk + 1;
    value.origin = view->rank;
    return value;
}

static void find_at(struct ronde_symbolic *symbolic, const struct moment *moment,
                    enum ronde_finding_code code, uint32_t chunk, const char *text)
{
    const struct ronde_view *view = &symbolic->accesses.view;
    const struct ronde_step_location place = {view->program, view->position, moment->step_index,
                                              chunk};
    ronde_find(symbolic->proof, code, place, "%s%s", text,
               symbolic->accesses.in_place ? " (in place)" : "");
}

/** local o other, into local. */
static void combine(struct ronde_symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                    struct ronde_value *local, const struct ronde_value *other)
{
    const uint32_t parts = symbolic->schedule->chunks_per_block;
    if (local->label == 0 || other->label == 0) {
        *local = (struct ronde_value){{0, 0}, 0, 0, 0};
        return;
    }
    if (local->label != other->label)
        find_at(symbolic, moment,
                (local->label - 1) % parts == (other->label - 1) % parts ? RONDE_FINDING_WRONG_VALUE
                                                                         : RONDE_FINDING_EXTENT,
                chunk, "combines data of different chunks");
    const bool is_twice = symbolic->is_exact && (local->sum[0] & other->sum[0]);
    if (is_twice)
        find_at(symbolic, moment, RONDE_FINDING_TWICE, chunk, "a contribution is combined twice");
    ronde_value_add(local->sum, other->sum, symbolic->is_exact);
    /* A set cannot hold what is wrong with it: an empty one is no right result either. */
    if (is_twice || local->label != other->label)
        memset(local->sum, 0, sizeof local->sum);
    local->expression = ronde_value_combined(local->expression, other->expression);
    local->origin = RONDE_NONE;
}

/* --- cells and messages -------------------------------------------------------------------- */

/** Input chunk that a chunk of the current position holds before any step wrote it, or RONDE_NONE. */
static uint32_t input_of(const struct ronde_symbolic *symbolic, uint8_t buffer, uint32_t chunk)
{
    const struct ronde_accesses *accesses = &symbolic->accesses;
    if (buffer == RONDE_IN)
        return !symbolic->traits->in_at_root || accesses->view.position == 0 ? chunk : RONDE_NONE;
    if (buffer != RONDE_OUT || !accesses->in_place)
        return RONDE_NONE;
    return ronde_place_origin(symbolic->schedule, &accesses->cells, chunk);
}

/** What a chunk of the current position holds; *out_is_raw: its own input. A value without a label is nothing. */
static struct ronde_value held_value(const struct ronde_symbolic *symbolic,
                                     const struct ronde_value *memory, uint8_t buffer,
                                     uint32_t chunk, bool *out_is_raw)
{
    static const struct ronde_value nothing = {{0, 0}, 0, 0, 0};
    const struct ronde_accesses *accesses = &symbolic->accesses;
    const uint32_t place = ronde_accesses_cell(accesses, buffer, chunk);
    const struct ronde_value *cell = place < accesses->cells.written ? &memory[place] : &nothing;
    const uint32_t input = cell->label == 0 ? input_of(symbolic, buffer, chunk) : RONDE_NONE;
    *out_is_raw = input != RONDE_NONE;
    return *out_is_raw ? leaf(symbolic, &accesses->view, input) : *cell;
}

static struct ronde_value read_cell(struct ronde_symbolic *symbolic, const struct moment *moment,
                                    uint8_t buffer, uint32_t chunk, bool *out_is_raw)
{
    const struct ronde_value value = held_value(symbolic, moment->memory, buffer, chunk, out_is_raw);
    if (value.label == 0)
        find_at(symbolic, moment, RONDE_FINDING_UNDEFINED, chunk, "reads data nobody wrote");
    return value;
}

static void write_cell(struct ronde_symbolic *symbolic, const struct moment *moment,
                       struct ronde_access access, const struct ronde_value *value)
{
    const uint32_t chunk = access.destination_chunk;
    const uint8_t buffer = symbolic->accesses.step->destination;
    const uint32_t parts = symbolic->schedule->chunks_per_block;
    if (buffer != RONDE_SCRATCH && value->label != 0 && (value->label - 1) % parts != chunk % parts)
        find_at(symbolic, moment, RONDE_FINDING_EXTENT, chunk,
                "stores another part of a block than the destination holds");
    if (buffer == RONDE_OUT && symbolic->traits->out_at_root && symbolic->accesses.view.position != 0)
        find_at(symbolic, moment, RONDE_FINDING_BOUNDS, chunk,
                "writes the output of a rank that is not the root");
    moment->memory[access.destination] = *value;
}

/** An item of the message taken; where position 0 stands for all it comes from the peer's position. */
static struct ronde_value take_item(const struct ronde_symbolic *symbolic,
                                    const struct moment *moment, uint32_t item)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    struct ronde_value value = moment->incoming[item * moment->stride];
    if (!symbolic->is_relative || value.label == 0)
        return value;
    const struct ronde_accesses *accesses = &symbolic->accesses;
    const uint32_t offset = accesses->view.program->connections[accesses->step->receive].peer;
    if (value.origin != RONDE_NONE)
        value.origin = ronde_group_add(schedule, value.origin, offset);
    struct ronde_view from = accesses->view;
    from.position = offset;
    value.label =
        1 + ronde_view_shift(&from, RONDE_IN, accesses->cells.chunks[RONDE_IN], value.label - 1);
    return value;
}

static void put_item(const struct ronde_symbolic *symbolic, const struct moment *moment,
                     uint32_t item, const struct ronde_value *value)
{
    const uint32_t end = symbolic->model->end_base[moment->actor] + symbolic->accesses.step->send;
    moment->outgoing[ronde_model_item(symbolic->model, end, moment->put + item) * moment->stride] =
        *value;
}

/* --- steps --------------------------------------------------------------------------------- */

/** Both ends of a message must agree on its chunks; returns false when they do not. */
static bool pass_messages(struct ronde_symbolic *symbolic, const struct moment *moment)
{
    const struct ronde_model *model = symbolic->model;
    const struct ronde_step *step = symbolic->accesses.step;
    if (symbolic->accesses.does.sends) {
        const uint32_t end = model->end_base[moment->actor] + step->send;
        symbolic->message_chunks[model->message_base[end] + symbolic->passed[end]++] =
            step->chunk_count;
    }
    if (!symbolic->accesses.does.receives)
        return true;
    const uint32_t end = model->end_base[moment->actor] + step->receive;
    const uint32_t sent =
        symbolic->message_chunks[model->message_base[model->partner[end]] + symbolic->passed[end]++];
    if (sent == step->chunk_count)
        return true;
    ronde_find(symbolic->proof, RONDE_FINDING_UNMATCHED,
               ronde_model_place(model, moment->actor, moment->step_index, RONDE_NONE),
               "expects a message of %u chunks, gets %u", step->chunk_count, sent);
    return false;
}

/** Marks must be the same for all chunks, positions and placements. */
static void mark(struct ronde_symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                 uint8_t *state, bool is_so, const char *difference)
{
    const uint8_t now = is_so ? RONDE_MARK_YES : RONDE_MARK_NO;
    if (*state != RONDE_MARK_UNKNOWN && *state != now)
        find_at(symbolic, moment, RONDE_FINDING_MARKS, chunk, difference);
    *state = now;
}

static void mark_raw(struct ronde_symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                     bool is_raw)
{
    if (moment->marks)
        mark(symbolic, moment, chunk, &moment->marks->raw, is_raw,
             is_raw ? "reads an input that is one for some chunks or positions and not for others"
                    : "reads an input that has been overwritten");
}

static void mark_final(struct ronde_symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                       const struct ronde_value *result)
{
    if (moment->marks && moment->may_finish)
        mark(symbolic, moment, chunk, &moment->marks->final,
             ronde_symbolic_is_full(symbolic, result),
             "is complete for some chunks or positions and not for others");
}

/** A source has a mark, which scales it; the destination of a reduction has none. */
static void refuse_raw_destination(struct ronde_symbolic *symbolic, const struct moment *moment,
                                   uint32_t chunk, bool is_raw)
{
    if (moment->marks && is_raw)
        find_at(symbolic, moment, RONDE_FINDING_MARKS, chunk, "reduces into an unmodified input");
}

/** A step that only touches scratch holds parts that follow from no operand: record them. */
static void note_part(struct ronde_symbolic *symbolic, const struct moment *moment, uint32_t item,
                      const struct ronde_value *value)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    if (!moment->parts || value->label == 0)
        return;
    uint32_t part = value->label - 1;
    const uint32_t chunks = symbolic->accesses.cells.chunks[RONDE_IN];
    const bool is_one_block = chunks == schedule->chunks_per_block;
    if (is_one_block) {
        struct ronde_view back = symbolic->accesses.view;
        back.position = ronde_group_negate(schedule, back.position);
        part = ronde_view_shift(&back, RONDE_IN, chunks, part);
    }
    part %= schedule->chunks_per_block;
    if (moment->parts[item] != RONDE_NONE && moment->parts[item] != part)
        find_at(symbolic, moment, RONDE_FINDING_EXTENT, RONDE_NONE,
                "scratch holds different parts at different positions");
    moment->parts[item] = part;
}

static void run_item(struct ronde_symbolic *symbolic, const struct moment *moment, uint32_t item)
{
    const struct ronde_step *step = symbolic->accesses.step;
    const struct ronde_operation does = symbolic->accesses.does;
    const struct ronde_access access = ronde_accesses_item(&symbolic->accesses, item);
    const uint32_t chunk = access.source_chunk;
    struct ronde_value received = {{0, 0}, 0, 0, 0}, local = received;
    if (does.receives)
        received = take_item(symbolic, moment, item);
    bool is_raw = false;
    if (does.reads) {
        local = read_cell(symbolic, moment, step->source, chunk, &is_raw);
        mark_raw(symbolic, moment, chunk, is_raw);
    }
    struct ronde_value result = does.receives ? received : local;
    if (does.reads_destination) {
        result = read_cell(symbolic, moment, step->destination, access.destination_chunk, &is_raw);
        refuse_raw_destination(symbolic, moment, access.destination_chunk, is_raw);
        combine(symbolic, moment, chunk, &result, &local);
    } else if (does.reduces) {
        result = local;
        combine(symbolic, moment, chunk, &result, &received);
    }
    mark_final(symbolic, moment, chunk, &result);
    note_part(symbolic, moment, item, &result);
    if (does.writes)
        write_cell(symbolic, moment, access, &result);
    if (does.sends)
        put_item(symbolic, moment, item, &result);
}

/** Where the current step keeps its findings for all positions. */
static void find_notes(const struct ronde_symbolic *symbolic, struct moment *moment)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    const struct ronde_accesses *accesses = &symbolic->accesses;
    const size_t index = (size_t)(accesses->view.program - schedule->programs);
    const struct ronde_program *program = &schedule->programs[index];
    const bool is_alone =
        schedule->ranks == 1 && ronde_op_is_in(accesses->step->op, RONDE_OPS_THAT_COPY);
    if (symbolic->traits->reduces && !schedule->is_unscaled)
        moment->marks = &symbolic->marks[index][moment->step_index];
    moment->may_finish = accesses->does.reduces || is_alone;
    if (program->scratch_part && program->scratch_part[moment->step_index] != RONDE_NONE)
        moment->parts = &program->scratch_parts[program->scratch_part[moment->step_index]];
}

/** The first item of the message that a row takes. */
static const struct ronde_value *find_incoming(const struct ronde_symbolic *symbolic,
                                               const struct moment *moment)
{
    const struct ronde_model *model = symbolic->model;
    const struct ronde_accesses *accesses = &symbolic->accesses;
    const uint32_t end = model->end_base[moment->actor] + accesses->step->receive;
    const uint64_t first = model->item_base[model->partner[end]] + symbolic->passed_items[end];
    const uint32_t sender = symbolic->is_in_rows
                                ? ronde_view_peer_position(&accesses->view, accesses->step->receive)
                                : 0;
    return &symbolic->items[first * moment->stride + sender];
}

/** Runs the step at the position of a row, to which the accesses have been moved. */
static void run_row(struct ronde_symbolic *symbolic, struct moment *moment, uint32_t row)
{
    moment->memory = &symbolic->cells[symbolic->cell_base[row]];
    moment->outgoing = &symbolic->items[symbolic->is_in_rows ? row : 0];
    if (symbolic->accesses.does.receives)
        moment->incoming = find_incoming(symbolic, moment);
    for (uint32_t item = 0; item < symbolic->accesses.step->chunk_count; item++)
        run_item(symbolic, moment, item);
}

/** Runs the step at all positions. */
static void run_rows(struct ronde_symbolic *symbolic, struct moment *moment)
{
    for (uint32_t row = 0; row < symbolic->rows; row++) {
        ronde_accesses_enter(&symbolic->accesses, ronde_model_view(symbolic->model, row));
        ronde_accesses_resolve(&symbolic->accesses, moment->step_index);
        run_row(symbolic, moment, row);
    }
}

static void run_event(struct ronde_symbolic *symbolic, struct ronde_event event)
{
    struct moment moment = {.actor = event.actor, .step_index = event.step};
    const uint32_t base = symbolic->model->end_base[event.actor];
    ronde_accesses_enter(&symbolic->accesses, ronde_model_view(symbolic->model, event.actor));
    ronde_accesses_resolve(&symbolic->accesses, event.step);
    const struct ronde_step *step = symbolic->accesses.step;
    const struct ronde_operation does = symbolic->accesses.does;
    if (!pass_messages(symbolic, &moment))
        return;
    find_notes(symbolic, &moment);
    moment.stride = symbolic->is_in_rows ? symbolic->rows : 1;
    if (does.sends)
        moment.put = symbolic->passed_items[base + step->send];
    if (symbolic->is_in_rows)
        run_rows(symbolic, &moment);
    else
        run_row(symbolic, &moment, event.actor);
    if (does.sends)
        symbolic->passed_items[base + step->send] += step->chunk_count;
    if (does.receives)
        symbolic->passed_items[base + step->receive] += step->chunk_count;
}

/* --- outputs ------------------------------------------------------------------------------- */

static void check_outputs(struct ronde_symbolic *symbolic)
{
    struct ronde_accesses *accesses = &symbolic->accesses;
    for (uint32_t row = 0; row < symbolic->rows; row++) {
        ronde_accesses_enter(accesses, ronde_model_view(symbolic->model, row));
        if (symbolic->traits->out_at_root && accesses->view.position != 0)
            continue;
        const struct ronde_value *memory = &symbolic->cells[symbolic->cell_base[row]];
        for (uint32_t chunk = 0; chunk < accesses->cells.chunks[RONDE_OUT]; chunk++) {
            bool is_raw;
            const struct ronde_value value = held_value(symbolic, memory, RONDE_OUT, chunk, &is_raw);
            ronde_symbolic_judge(symbolic, &value, chunk);
        }
    }
}

/* --- the two runs -------------------------------------------------------------------------- */

static uint64_t cells_of_row(const struct ronde_symbolic *symbolic, uint32_t row)
{
    const struct ronde_cells cells =
        ronde_cells_of(symbolic->schedule, ronde_model_view(symbolic->model, row).program, 0, 0);
    return cells.written;
}

/** Message items of all rows. */
static uint64_t items_of_rows(const struct ronde_symbolic *symbolic)
{
    return symbolic->model->item_count * (symbolic->is_in_rows ? symbolic->rows : 1);
}

static bool make_cells(struct ronde_symbolic *symbolic, struct ronde_arena *arena)
{
    const struct ronde_model *model = symbolic->model;
    symbolic->cell_base = ronde_accesses_bases(model, symbolic->rows, false, arena);
    if (!symbolic->cell_base)
        return false;
    const size_t ends = model->end_base[model->actors];
    symbolic->cells =
        ronde_arena_new(arena, symbolic->cell_base[symbolic->rows], sizeof *symbolic->cells);
    symbolic->items = ronde_arena_new(arena, items_of_rows(symbolic), sizeof *symbolic->items);
    symbolic->message_chunks = ronde_arena_new(arena, model->message_count, sizeof(uint32_t));
    symbolic->passed_items = ronde_arena_new(arena, ends, sizeof *symbolic->passed_items);
    symbolic->passed = ronde_arena_new(arena, ends, sizeof *symbolic->passed);
    return ronde_accesses_make(&symbolic->accesses, symbolic->schedule, arena) && symbolic->cells &&
           symbolic->items && symbolic->message_chunks && symbolic->passed_items && symbolic->passed;
}

/** Clears what the run before left; arena memory starts zeroed. */
static void clear_run(struct ronde_symbolic *symbolic)
{
    const struct ronde_model *model = symbolic->model;
    const size_t ends = model->end_base[model->actors];
    memset(symbolic->cells, 0, symbolic->cell_base[symbolic->rows] * sizeof *symbolic->cells);
    memset(symbolic->passed_items, 0, ends * sizeof *symbolic->passed_items);
    memset(symbolic->passed, 0, ends * sizeof *symbolic->passed);
}

/** Outputs say more than the steps that made them wrong, unless data is missing on the way. */
static bool can_judge_outputs(const struct ronde_proof *proof)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++)
        if (proof->findings[i].code == RONDE_FINDING_UNDEFINED ||
            proof->findings[i].code == RONDE_FINDING_UNMATCHED)
            return false;
    return true;
}

/** Many findings are enough, unless the outputs are still to come. */
static bool is_worth_following(const struct ronde_proof *proof)
{
    return proof->finding_count < RONDE_MAX_FINDINGS || can_judge_outputs(proof);
}

static void run_once(struct ronde_symbolic *symbolic, bool in_place)
{
    const uint32_t steps = symbolic->model->step_base[symbolic->model->actors];
    symbolic->accesses.in_place = in_place;
    for (uint32_t i = 0; i < steps && is_worth_following(symbolic->proof); i++)
        run_event(symbolic, symbolic->model->order[i]);
    if (can_judge_outputs(symbolic->proof))
        check_outputs(symbolic);
}

/** Most cells and message items of all rows together, 32 bytes each. */
#define MAX_VALUES ((uint64_t)1 << 26)

/** Whether the values fit; a finding if not. */
static bool are_values_few(struct ronde_symbolic *symbolic)
{
    uint64_t values = items_of_rows(symbolic);
    for (uint32_t row = 0; row < symbolic->rows; row++)
        values += cells_of_row(symbolic, row);
    if (values <= MAX_VALUES)
        return true;
    ronde_find(symbolic->proof, RONDE_FINDING_NOT_PROVED,
               (struct ronde_step_location){NULL, RONDE_NONE, RONDE_NONE, RONDE_NONE},
               "%llu chunks of all ranks and messages are more than the %llu that are followed",
               (unsigned long long)values, (unsigned long long)MAX_VALUES);
    return false;
}

static bool make_leaves(struct ronde_symbolic *symbolic, struct ronde_arena *arena)
{
    const uint32_t ranks = symbolic->schedule->ranks;
    symbolic->leaves = ronde_arena_new(arena, ranks, sizeof *symbolic->leaves);
    for (uint32_t rank = 0; symbolic->leaves && rank < ranks; rank++) {
        symbolic->leaves[rank] = ronde_value_leaf(rank, symbolic->is_exact);
        ronde_value_add(symbolic->full, symbolic->leaves[rank].sum, symbolic->is_exact);
    }
    return symbolic->leaves != NULL;
}

static bool run_both(struct ronde_symbolic *symbolic, struct ronde_arena *arena)
{
    struct ronde_proof *proof = symbolic->proof;
    if (!make_leaves(symbolic, arena) || !make_cells(symbolic, arena) ||
        !ronde_marks_make_parts(symbolic->schedule))
        return false;
    symbolic->marks = ronde_marks_create(symbolic->schedule, arena);
    if (!symbolic->marks)
        return false;
    for (int in_place = 0; in_place < 2 && proof->ok; in_place++) {
        if (!ronde_schedule_has_form(symbolic->schedule, in_place != 0))
            continue;
        clear_run(symbolic);
        run_once(symbolic, in_place != 0);
    }
    if (proof->ok)
        ronde_marks_keep(symbolic->schedule, symbolic->marks);
    return true;
}

/** How a model is followed: a set of contributions must look the same from every position to stand for all. */
static void choose_rows(struct ronde_symbolic *symbolic)
{
    const struct ronde_model *model = symbolic->model;
    const bool is_same_set = !symbolic->traits->reduces || symbolic->schedule->rotates[RONDE_IN];
    symbolic->is_relative = model->is_quotient && is_same_set;
    symbolic->is_in_rows = model->is_quotient && !is_same_set;
    symbolic->rows = symbolic->is_in_rows ? symbolic->schedule->ranks : model->actors;
}

enum ronde_status ronde_prove_values(struct ronde_schedule *schedule, struct ronde_model *model,
                                     struct ronde_proof *proof, struct ronde_error *error)
{
    struct ronde_symbolic symbolic = {.schedule = schedule,
                                      .model = model,
                                      .traits = ronde_collective_traits(schedule->collective),
                                      .proof = proof,
                                      .is_exact = schedule->ranks <= 64};
    proof->method = symbolic.is_exact ? RONDE_PROOF_EXACT : RONDE_PROOF_FINGERPRINT;
    choose_rows(&symbolic);
    if (!are_values_few(&symbolic))
        return RONDE_OK;
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    const bool has_room = arena && run_both(&symbolic, arena);
    ronde_arena_destroy(arena);
    return has_room ? RONDE_OK
                    : ronde_fail(error, RONDE_NO_MEMORY,
                                 "no memory to follow the values of %u ranks", schedule->ranks);
}
