/**
 * Values are (label, contributions, expression): which input chunk they belong to, which ranks' inputs were combined,
 * and in which tree. Up to 64 ranks the contributions are a bitset; above, two sums of random 61-bit numbers per rank,
 * so that equal sums mean equal multisets but for a chance of 2^-122 per comparison (Wegman and Carter, JCSS 1981).
 *
 * Contributions are counted relative to the block the value belongs to when the input rotates: then a value looks the
 * same from every position, which is what lets position 0 stand for all.
 */
#include "values.h"

#include <string.h>

/** 2^61 - 1. */
#define PRIME 0x1fffffffffffffffu

/** What a chunk holds. All zero: nothing yet. */
struct value {
    uint64_t sum[2];     /**< bitset in sum[0], or two fingerprints */
    uint64_t expression; /**< hash of the tree, equal up to commuting */
    uint32_t label;      /**< input chunk + 1 */
    uint32_t origin; /**< where nothing is reduced: position it came from, RONDE_NONE once mixed */
};

/** One symbolic run. */
struct symbolic {
    struct ronde_schedule *schedule;
    const struct ronde_model *model;
    const struct ronde_collective_traits *traits;
    struct ronde_proof *proof;
    bool in_place;
    bool is_exact;
    uint64_t full[2]; /**< contributions of all ranks */
    struct value *cells;
    uint64_t *cell_base;      /**< per actor + 1 */
    struct value *items;      /**< of all messages */
    uint32_t *message_chunks; /**< chunks of each message */
    uint64_t *passed_items;   /**< per end */
    uint32_t *passed;         /**< per end */
    uint32_t *source;         /**< chunks of the current step, in message order */
    uint32_t *destination;    /**< the same */
    uint8_t **final_state;    /**< per program and step: 0 unknown, 1 no, 2 yes */
};

/** An event with its surroundings. */
struct moment {
    struct ronde_view view;
    uint32_t actor;
    uint32_t step_index;
    const struct ronde_step *step;
    struct ronde_cells cells;
};

/* --- values -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t add_modulo_prime(uint64_t a, uint64_t b)
{
    const uint64_t sum = a + b;
    return sum >= PRIME ? sum - PRIME : sum;
}

static void leaf_sum(const struct symbolic *symbolic, uint32_t relative, uint64_t out[2])
{
    out[0] = symbolic->is_exact ? (uint64_t)1 << relative : mix(relative) % PRIME;
    out[1] = symbolic->is_exact ? 0 : mix(~(uint64_t)relative) % PRIME;
}

/** The unmodified input chunk of a rank. */
static struct value leaf(const struct symbolic *symbolic, const struct ronde_view *view,
                         uint32_t chunk)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    uint32_t relative = view->position;
    if (schedule->symmetry != RONDE_SYMMETRY_NONE && schedule->rotates[RONDE_IN]) {
        const uint32_t chunks = ronde_schedule_chunks(schedule, &schedule->programs[0], RONDE_IN);
        const uint32_t digit = chunk / (chunks / schedule->ranks);
        relative = ronde_group_add(schedule, view->position, ronde_group_negate(schedule, digit));
    }
    struct value value;
    leaf_sum(symbolic, relative, value.sum);
    value.expression = mix(relative ^ 0x5851f42d4c957f2du);
    value.label = chunk + 1;
    value.origin = view->rank;
    return value;
}

static void find_at(struct symbolic *symbolic, const struct moment *moment,
                    enum ronde_finding_code code, uint32_t chunk, const char *text)
{
    ronde_find(symbolic->proof, code,
               ronde_model_place(symbolic->model, moment->actor, moment->step_index, chunk), "%s%s",
               text, symbolic->in_place ? " (in place)" : "");
}

/** local o other, into local. */
static void combine(struct symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                    struct value *local, const struct value *other)
{
    const uint32_t parts = symbolic->schedule->chunks_per_block;
    if (local->label == 0 || other->label == 0) {
        *local = (struct value){{0, 0}, 0, 0, 0};
        return;
    }
    if (local->label != other->label)
        find_at(symbolic, moment,
                (local->label - 1) % parts == (other->label - 1) % parts ? RONDE_FINDING_WRONG_VALUE
                                                                         : RONDE_FINDING_EXTENT,
                chunk, "combines data of different chunks");
    if (symbolic->is_exact && (local->sum[0] & other->sum[0]))
        find_at(symbolic, moment, RONDE_FINDING_TWICE, chunk, "a contribution is combined twice");
    const uint64_t a = local->expression, b = other->expression;
    for (unsigned i = 0; i < 2; i++)
        local->sum[i] = symbolic->is_exact ? local->sum[i] | other->sum[i]
                                           : add_modulo_prime(local->sum[i], other->sum[i]);
    local->expression = mix(a + b) ^ mix((a ^ b) + 0x2545f4914f6cdd1du);
    local->origin = RONDE_NONE;
}

static bool is_full(const struct symbolic *symbolic, const struct value *value)
{
    return value->label != 0 && memcmp(value->sum, symbolic->full, sizeof value->sum) == 0;
}

/* --- cells and messages -------------------------------------------------------------------- */

static struct value *cell_at(struct symbolic *symbolic, const struct moment *moment,
                             enum ronde_buffer buffer, uint32_t chunk)
{
    return &symbolic->cells[symbolic->cell_base[moment->actor] +
                            ronde_cell(symbolic->schedule, &moment->cells, symbolic->in_place,
                                       buffer, chunk)];
}

/** Whether this position has an input at all. */
static bool has_input(const struct symbolic *symbolic, uint32_t position)
{
    return !symbolic->traits->in_at_root || position == 0;
}

static struct value read_cell(struct symbolic *symbolic, const struct moment *moment,
                              enum ronde_buffer buffer, uint32_t chunk)
{
    const struct value *cell = cell_at(symbolic, moment, buffer, chunk);
    if (buffer == RONDE_IN && cell->label == 0 && has_input(symbolic, moment->view.position))
        return leaf(symbolic, &moment->view, chunk);
    if (buffer == RONDE_IN && cell->label != 0 && symbolic->traits->reduces)
        find_at(symbolic, moment, RONDE_FINDING_MARKS, chunk,
                "reads an input that has been overwritten");
    if (cell->label == 0)
        find_at(symbolic, moment, RONDE_FINDING_UNDEFINED, chunk, "reads data nobody wrote");
    return *cell;
}

static void write_cell(struct symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                       const struct value *value)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    const enum ronde_buffer buffer = (enum ronde_buffer)moment->step->destination;
    const uint32_t parts = schedule->chunks_per_block;
    if (buffer == RONDE_OUT && value->label != 0 && (value->label - 1) % parts != chunk % parts)
        find_at(symbolic, moment, RONDE_FINDING_EXTENT, chunk,
                "stores another part of a block than the destination holds");
    if (buffer == RONDE_OUT && symbolic->traits->out_at_root && moment->view.position != 0)
        find_at(symbolic, moment, RONDE_FINDING_BOUNDS, chunk,
                "writes the output of a rank that is not the root");
    *cell_at(symbolic, moment, buffer, chunk) = *value;
}

/** Takes the next item of a connection; in the quotient it comes from the peer's position. */
static struct value take_item(struct symbolic *symbolic, const struct moment *moment)
{
    const struct ronde_model *model = symbolic->model;
    const struct ronde_schedule *schedule = symbolic->schedule;
    const uint32_t end = model->end_base[moment->actor] + moment->step->receive;
    const uint32_t sender = model->partner[end];
    struct value value = symbolic->items[model->item_base[sender] + symbolic->passed_items[end]++];
    if (!model->is_quotient || value.label == 0)
        return value;
    const uint32_t offset = moment->view.program->connections[moment->step->receive].peer;
    if (value.origin != RONDE_NONE)
        value.origin = ronde_group_add(schedule, value.origin, offset);
    struct ronde_view from = moment->view;
    from.position = offset;
    value.label =
        1 + ronde_view_shift(&from, RONDE_IN, moment->cells.chunks[RONDE_IN], value.label - 1);
    return value;
}

static void put_item(struct symbolic *symbolic, const struct moment *moment,
                     const struct value *value)
{
    const uint32_t end = symbolic->model->end_base[moment->actor] + moment->step->send;
    symbolic->items[symbolic->model->item_base[end] + symbolic->passed_items[end]++] = *value;
}

/* --- steps --------------------------------------------------------------------------------- */

/** Both ends of a message must agree on its chunks; returns false when they do not. */
static bool pass_messages(struct symbolic *symbolic, const struct moment *moment)
{
    const struct ronde_model *model = symbolic->model;
    const struct ronde_step *step = moment->step;
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    if (ronde_step_sends(op)) {
        const uint32_t end = model->end_base[moment->actor] + step->send;
        symbolic->message_chunks[model->message_base[end] + symbolic->passed[end]++] =
            step->chunk_count;
    }
    if (!ronde_step_receives(op))
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
static void mark_final(struct symbolic *symbolic, const struct moment *moment, uint32_t chunk,
                       const struct value *result)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    const enum ronde_step_op op = (enum ronde_step_op)moment->step->op;
    const bool is_alone = schedule->ranks == 1 && op == RONDE_STEP_COPY;
    if (!symbolic->traits->reduces || (!ronde_step_reduces(op) && !is_alone))
        return;
    uint8_t *state =
        &symbolic->final_state[moment->view.program - schedule->programs][moment->step_index];
    const uint8_t now = is_full(symbolic, result) ? 2 : 1;
    if (*state != 0 && *state != now)
        find_at(symbolic, moment, RONDE_FINDING_MARKS, chunk,
                "is complete for some chunks or positions and not for others");
    *state = now;
}

/** A step that only touches scratch holds parts that nothing else says: remember them. */
static void note_part(struct symbolic *symbolic, const struct moment *moment, uint32_t item,
                      const struct value *value)
{
    const struct ronde_schedule *schedule = symbolic->schedule;
    struct ronde_program *program =
        &symbolic->schedule->programs[moment->view.program - schedule->programs];
    if (!program->scratch_part || program->scratch_part[moment->step_index] == RONDE_NONE ||
        value->label == 0)
        return;
    uint32_t part = value->label - 1;
    const bool is_one_block = moment->cells.chunks[RONDE_IN] == schedule->chunks_per_block;
    if (is_one_block) {
        struct ronde_view back = moment->view;
        back.position = ronde_group_negate(schedule, moment->view.position);
        part = ronde_view_shift(&back, RONDE_IN, moment->cells.chunks[RONDE_IN], part);
    }
    part %= schedule->chunks_per_block;
    uint32_t *noted = &program->scratch_parts[program->scratch_part[moment->step_index] + item];
    if (*noted != RONDE_NONE && *noted != part)
        find_at(symbolic, moment, RONDE_FINDING_EXTENT, RONDE_NONE,
                "scratch holds different parts at different positions");
    *noted = part;
}

static void run_item(struct symbolic *symbolic, const struct moment *moment, uint32_t item)
{
    const struct ronde_step *step = moment->step;
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    struct value received = {{0, 0}, 0, 0, 0}, local = received;
    uint32_t chunk = RONDE_NONE;
    if (ronde_step_receives(op))
        received = take_item(symbolic, moment);
    if (ronde_step_reads_source(op)) {
        chunk = symbolic->source[item];
        local = read_cell(symbolic, moment, (enum ronde_buffer)step->source, chunk);
    }
    struct value result = ronde_step_receives(op) ? received : local;
    if (op == RONDE_STEP_REDUCE) {
        result = read_cell(symbolic, moment, (enum ronde_buffer)step->destination,
                           symbolic->destination[item]);
        combine(symbolic, moment, chunk, &result, &local);
    } else if (ronde_step_reduces(op)) {
        result = local;
        combine(symbolic, moment, chunk, &result, &received);
    }
    mark_final(symbolic, moment, chunk, &result);
    note_part(symbolic, moment, item, &result);
    if (ronde_step_writes(op))
        write_cell(symbolic, moment, symbolic->destination[item], &result);
    if (ronde_step_sends(op))
        put_item(symbolic, moment, &result);
}

static void run_event(struct symbolic *symbolic, struct ronde_event event)
{
    struct moment moment = {.view = ronde_model_view(symbolic->model, event.actor),
                            .actor = event.actor,
                            .step_index = event.step};
    moment.step = &moment.view.program->steps[event.step];
    moment.cells = ronde_cells_of(symbolic->schedule, moment.view.program, moment.view.position,
                                  moment.view.rank);
    if (!pass_messages(symbolic, &moment))
        return;
    const enum ronde_step_op op = (enum ronde_step_op)moment.step->op;
    if (ronde_step_reads_source(op))
        ronde_view_chunks(&moment.view, moment.step, true, moment.cells.chunks[moment.step->source],
                          symbolic->source);
    if (ronde_step_writes(op))
        ronde_view_chunks(&moment.view, moment.step, false,
                          moment.cells.chunks[moment.step->destination], symbolic->destination);
    for (uint32_t item = 0; item < moment.step->chunk_count; item++)
        run_item(symbolic, &moment, item);
}

/* --- outputs ------------------------------------------------------------------------------- */

/** What an output chunk must hold. */
static struct value expected_value(const struct symbolic *symbolic, uint32_t rank, uint32_t chunk)
{
    const struct ronde_collective_traits *traits = symbolic->traits;
    const uint32_t parts = symbolic->schedule->chunks_per_block;
    struct value expected = {{0, 0}, 0, 0, 0};
    const uint32_t block = chunk / parts;
    if (traits->in_per_rank)
        expected.label = 1 + rank * parts + chunk % parts;
    else
        expected.label = 1 + (traits->out_per_rank ? chunk % parts : chunk);
    if (symbolic->schedule->collective == RONDE_SEND_RECV)
        expected.origin = ronde_schedule_source(symbolic->schedule, rank);
    else
        expected.origin =
            traits->in_at_root ? ronde_channel_rank(&symbolic->model->channel, 0) : block;
    return expected;
}

static void check_output(struct symbolic *symbolic, const struct moment *moment, uint32_t chunk)
{
    const struct value *value = cell_at(symbolic, moment, RONDE_OUT, chunk);
    const struct value expected = expected_value(symbolic, moment->view.rank, chunk);
    const struct ronde_place place = {NULL, moment->actor, RONDE_NONE, chunk};
    const char *placement = symbolic->in_place ? " (in place)" : "";
    if (symbolic->schedule->collective == RONDE_SEND_RECV && expected.origin == RONDE_NONE) {
        if (value->label != 0)
            ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                       "the output of a rank that receives nothing is written%s", placement);
        return;
    }
    if (value->label == 0 && symbolic->in_place) {
        /* untouched memory is right where it already holds the rank's own block */
        const bool is_own = symbolic->traits->out_per_rank && expected.origin == moment->view.rank &&
                            chunk / symbolic->schedule->chunks_per_block == moment->view.rank;
        const bool is_root =
            symbolic->traits->has_root && moment->view.position == 0 && !symbolic->traits->reduces;
        if (is_own || is_root)
            return;
    }
    if (value->label == 0)
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output is never written%s", placement);
    else if (value->label != expected.label)
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output ends with input chunk %u instead of %u%s", value->label - 1,
                   expected.label - 1, placement);
    else if (symbolic->traits->reduces && !is_full(symbolic, value))
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output does not hold every rank's contribution once%s", placement);
    else if (!symbolic->traits->reduces && value->origin != expected.origin)
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output comes from rank %u instead of %u%s", value->origin, expected.origin,
                   placement);
}

/** all_reduce: every rank must have combined in the same tree, or ranks differ in the last bits. */
static void compare_expressions(struct symbolic *symbolic, const struct moment *moment,
                                uint32_t chunk)
{
    if (symbolic->schedule->collective != RONDE_ALL_REDUCE)
        return;
    const struct ronde_model *model = symbolic->model;
    const uint64_t mine = cell_at(symbolic, moment, RONDE_OUT, chunk)->expression;
    /* rotated expressions are relative to their block: all blocks of position 0 stand for all positions */
    const uint32_t parts = moment->cells.chunks[RONDE_OUT] / symbolic->schedule->ranks;
    const struct value *reference = &symbolic->cells[model->is_quotient ? chunk % parts : chunk];
    if (mine != reference->expression)
        symbolic->proof->rank_dependent_bits = true;
}

static void check_outputs(struct symbolic *symbolic)
{
    for (uint32_t actor = 0; actor < symbolic->model->actors; actor++) {
        struct moment moment = {.view = ronde_model_view(symbolic->model, actor), .actor = actor};
        moment.cells = ronde_cells_of(symbolic->schedule, moment.view.program, moment.view.position,
                                      moment.view.rank);
        if (symbolic->traits->out_at_root && actor != 0)
            continue;
        for (uint32_t chunk = 0; chunk < moment.cells.chunks[RONDE_OUT]; chunk++) {
            check_output(symbolic, &moment, chunk);
            compare_expressions(symbolic, &moment, chunk);
        }
    }
}

/* --- the two runs -------------------------------------------------------------------------- */

static bool make_cells(struct symbolic *symbolic, struct ronde_arena *arena)
{
    const struct ronde_model *model = symbolic->model;
    symbolic->cell_base = ronde_arena_new(arena, (size_t)model->actors + 1, sizeof(uint64_t));
    if (!symbolic->cell_base)
        return false;
    for (uint32_t actor = 0; actor < model->actors; actor++)
        symbolic->cell_base[actor + 1] =
            symbolic->cell_base[actor] +
            ronde_cells_of(symbolic->schedule, ronde_model_view(model, actor).program, 0, 0).total;
    symbolic->cells =
        ronde_arena_new(arena, symbolic->cell_base[model->actors], sizeof *symbolic->cells);
    symbolic->items = ronde_arena_new(arena, model->item_count, sizeof *symbolic->items);
    symbolic->message_chunks = ronde_arena_new(arena, model->message_count, sizeof(uint32_t));
    const size_t ends = model->end_base[model->actors];
    symbolic->passed_items = ronde_arena_new(arena, ends, sizeof *symbolic->passed_items);
    symbolic->passed = ronde_arena_new(arena, ends, sizeof *symbolic->passed);
    symbolic->source = ronde_arena_new(arena, symbolic->schedule->max_chunk_count, sizeof(uint32_t));
    symbolic->destination =
        ronde_arena_new(arena, symbolic->schedule->max_chunk_count, sizeof(uint32_t));
    return symbolic->cells && symbolic->items && symbolic->message_chunks &&
           symbolic->passed_items && symbolic->passed && symbolic->source && symbolic->destination;
}

static void clear_run(struct symbolic *symbolic)
{
    const struct ronde_model *model = symbolic->model;
    const size_t ends = model->end_base[model->actors];
    memset(symbolic->cells, 0, symbolic->cell_base[model->actors] * sizeof *symbolic->cells);
    memset(symbolic->passed_items, 0, ends * sizeof *symbolic->passed_items);
    memset(symbolic->passed, 0, ends * sizeof *symbolic->passed);
}

static void run_once(struct symbolic *symbolic, bool in_place)
{
    const uint32_t steps = symbolic->model->step_base[symbolic->model->actors];
    symbolic->in_place = in_place;
    clear_run(symbolic);
    for (uint32_t i = 0; i < steps && symbolic->proof->finding_count < RONDE_MAX_FINDINGS; i++)
        run_event(symbolic, symbolic->model->order[i]);
    if (symbolic->proof->ok)
        check_outputs(symbolic);
}

/** Most cells and message items of all actors together, 32 bytes each. */
#define MAX_VALUES ((uint64_t)1 << 26)

/** Whether the values fit; a finding if not. */
static bool are_values_few(const struct ronde_schedule *schedule, const struct ronde_model *model,
                           struct ronde_proof *proof)
{
    uint64_t values = model->item_count;
    for (uint32_t actor = 0; actor < model->actors; actor++)
        values += ronde_cells_of(schedule, ronde_model_view(model, actor).program, 0, 0).total;
    if (values <= MAX_VALUES)
        return true;
    ronde_find(proof, RONDE_FINDING_NOT_PROVED,
               (struct ronde_place){NULL, RONDE_NONE, RONDE_NONE, RONDE_NONE},
               "%llu chunks of all ranks and messages are more than the %llu that are followed",
               (unsigned long long)values, (unsigned long long)MAX_VALUES);
    return false;
}

/** Room for marks and parts: final states are temporary, parts stay with the schedule. */
static bool make_notes(struct symbolic *symbolic, struct ronde_arena *arena)
{
    struct ronde_schedule *schedule = symbolic->schedule;
    symbolic->final_state =
        ronde_arena_new(arena, schedule->program_count, sizeof *symbolic->final_state);
    bool is_made = symbolic->final_state != NULL;
    for (uint32_t i = 0; i < schedule->program_count && is_made; i++) {
        symbolic->final_state[i] = ronde_arena_new(arena, schedule->programs[i].step_count, 1);
        is_made = symbolic->final_state[i] != NULL;
    }
    return is_made;
}

static bool is_scratch_only(const struct ronde_step *step)
{
    const bool reads = ronde_step_reads_source((enum ronde_step_op)step->op);
    const bool writes = ronde_step_writes((enum ronde_step_op)step->op);
    return step->chunk_count > 0 && (!reads || step->source == RONDE_SCRATCH) &&
           (!writes || step->destination == RONDE_SCRATCH);
}

/** Which steps need parts: those whose operands are all scratch (rs has none at all). */
static bool make_parts(struct ronde_schedule *schedule, struct ronde_program *program)
{
    uint64_t count = 0;
    bool has_any = false;
    for (uint32_t i = 0; i < program->step_count; i++)
        if (is_scratch_only(&program->steps[i])) {
            has_any = true;
            count += program->steps[i].chunk_count;
        }
    if (!has_any || program->scratch_parts)
        return count < RONDE_NONE;
    program->scratch_part = ronde_arena_new(schedule->arena, program->step_count, sizeof(uint32_t));
    program->scratch_parts = ronde_arena_new(schedule->arena, count, sizeof(uint32_t));
    if (!program->scratch_part || !program->scratch_parts || count >= RONDE_NONE)
        return false;
    program->scratch_parts_count = (uint32_t)count;
    memset(program->scratch_parts, 0xff, count * sizeof(uint32_t));
    uint32_t next = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const bool needs = is_scratch_only(&program->steps[i]);
        program->scratch_part[i] = needs ? next : RONDE_NONE;
        next += needs ? program->steps[i].chunk_count : 0;
    }
    return true;
}

static void keep_marks(const struct symbolic *symbolic)
{
    for (uint32_t i = 0; i < symbolic->schedule->program_count; i++) {
        struct ronde_program *program = &symbolic->schedule->programs[i];
        for (uint32_t s = 0; s < program->step_count; s++) {
            struct ronde_step *step = &program->steps[s];
            step->flags &= (uint8_t) ~(RONDE_FLAG_RAW | RONDE_FLAG_FINAL);
            if (ronde_step_reads_source((enum ronde_step_op)step->op) && step->source == RONDE_IN &&
                symbolic->traits->reduces)
                step->flags |= RONDE_FLAG_RAW;
            if (symbolic->final_state[i][s] == 2)
                step->flags |= RONDE_FLAG_FINAL;
        }
    }
}

bool ronde_values_fit_quotient(const struct ronde_schedule *schedule)
{
    return !ronde_collective_traits(schedule->collective)->reduces || schedule->rotates[RONDE_IN];
}

enum ronde_status ronde_prove_values(struct ronde_schedule *schedule, struct ronde_model *model,
                                     struct ronde_proof *proof, struct ronde_error *error)
{
    if (!are_values_few(schedule, model, proof))
        return RONDE_OK;
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    struct symbolic symbolic = {.schedule = schedule,
                                .model = model,
                                .traits = ronde_collective_traits(schedule->collective),
                                .proof = proof,
                                .is_exact = schedule->ranks <= 64};
    proof->method = symbolic.is_exact ? RONDE_PROOF_EXACT : RONDE_PROOF_FINGERPRINT;
    bool has_room = arena && make_cells(&symbolic, arena) && make_notes(&symbolic, arena);
    for (uint32_t i = 0; i < schedule->program_count && has_room; i++)
        has_room = make_parts(schedule, &schedule->programs[i]);
    enum ronde_status status = RONDE_OK;
    if (has_room) {
        for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
            uint64_t sum[2];
            leaf_sum(&symbolic, rank, sum);
            for (unsigned i = 0; i < 2; i++)
                symbolic.full[i] = symbolic.is_exact ? symbolic.full[i] | sum[i]
                                                     : add_modulo_prime(symbolic.full[i], sum[i]);
        }
        run_once(&symbolic, false);
        if (proof->ok && symbolic.traits->has_in_place)
            run_once(&symbolic, true);
        if (proof->ok)
            keep_marks(&symbolic);
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to follow the values of %u ranks",
                            schedule->ranks);
    }
    ronde_arena_destroy(arena);
    return status;
}
