/** From a raw schedule to a finished one: derived fields, check, prove, lower. */
#include "finish.h"

#include "arena.h"
#include "engine/prove/proofs.h"
#include "ronde/builder.h"

#include <string.h>

static struct ronde_step_location nowhere(void)
{
    return (struct ronde_step_location){NULL, RONDE_NONE, RONDE_NONE, RONDE_NONE};
}

/* --- derived fields ------------------------------------------------------------------------ */

static bool invert_orders(struct ronde_schedule *schedule)
{
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        struct ronde_channel *channel = &schedule->channels[k];
        if (!channel->order)
            continue;
        uint32_t *position_of =
            ronde_arena_new(schedule->arena, schedule->ranks, sizeof *position_of);
        if (!position_of)
            return false;
        for (uint32_t q = 0; q < schedule->ranks; q++)
            position_of[channel->order[q]] = q;
        channel->position_of = position_of;
    }
    return true;
}

static void find_maxima(struct ronde_schedule *schedule)
{
    schedule->weight_total = 0;
    schedule->max_chunk_count = 1;
    schedule->max_lane_count = 0;
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        schedule->weight_total += schedule->channels[k].weight;
    for (uint32_t i = 0; i < schedule->program_count; i++) {
        const struct ronde_program *program = &schedule->programs[i];
        if (program->lane_count > schedule->max_lane_count)
            schedule->max_lane_count = program->lane_count;
        for (uint32_t s = 0; s < program->step_count; s++)
            if (program->steps[s].chunk_count > schedule->max_chunk_count)
                schedule->max_chunk_count = program->steps[s].chunk_count;
    }
}

/** Check, then what can only be derived from a well-formed schedule. */
static enum ronde_status prepare(struct ronde_schedule *schedule, struct ronde_proof *proof,
                                 struct ronde_error *error)
{
    memset(proof, 0, sizeof *proof);
    proof->ok = true;
    schedule->v_form = RONDE_V_NONE;
    RONDE_TRY(ronde_check(schedule, ronde_arena_mem(schedule->arena), proof, error));
    if (!proof->ok)
        return RONDE_OK;
    find_maxima(schedule);
    schedule->traffic = ronde_traffic_of(schedule);
    if (!invert_orders(schedule))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the orders of %u channels",
                          schedule->channel_count);
    schedule->hash = ronde_schedule_hash(schedule);
    return RONDE_OK;
}

/* --- the proof ----------------------------------------------------------------------------- */

/** Everything about one model; *out_undecided: the expansion is needed. */
static enum ronde_status prove_model(struct ronde_schedule *schedule, struct ronde_model *model,
                                     struct ronde_proof *proof, bool *out_undecided,
                                     struct ronde_error *error)
{
    enum ronde_race_verdict verdict = RONDE_RACE_FREE;
    if (!proof->ok)
        return RONDE_OK;
    if (!ronde_model_complete(model, 0)) {
        ronde_model_explain(model, proof);
        return RONDE_OK;
    }
    enum ronde_status status = ronde_prove_values(schedule, model, proof, error);
    if (status == RONDE_OK && proof->ok)
        status = ronde_prove_v_form(schedule, model, error);
    if (status == RONDE_OK && proof->ok && schedule->collective == RONDE_BARRIER)
        status = ronde_prove_barrier(schedule, model, proof, error);
    /* A race is the likely cause of a wrong value, and shows with the right ones too. */
    if (status == RONDE_OK && (proof->ok || schedule->symmetry == RONDE_SYMMETRY_NONE))
        status = ronde_prove_races(schedule, model, proof, &verdict, error);
    *out_undecided = verdict == RONDE_RACE_UNDECIDED;
    if (status == RONDE_OK && proof->ok && !*out_undecided)
        status = ronde_prove_liveness(schedule, model, proof, error);
    if (status == RONDE_OK && proof->ok && !*out_undecided)
        status = ronde_account(schedule, model, proof, error);
    if (status == RONDE_OK && proof->ok && !*out_undecided) {
        proof->min_depth = ronde_model_min_depth(model);
        if (!schedule->programs[0].lowering)
            status = ronde_lower(schedule, model, proof->min_depth, error);
    }
    return status;
}

static enum ronde_status prove_order(struct ronde_schedule *schedule, bool is_quotient,
                                     const struct ronde_channel *channel, struct ronde_proof *proof,
                                     bool *out_undecided, struct ronde_error *error)
{
    struct ronde_model model;
    enum ronde_status status =
        ronde_model_create(schedule, is_quotient, channel, ronde_arena_mem(schedule->arena), proof,
                           &model, error);
    if (status != RONDE_OK)
        return status;
    bool is_same = true;
    proof->quotient = is_quotient;
    if (is_quotient && proof->ok)
        status = ronde_pair_items(&model, &is_same, error);
    *out_undecided = !is_same;
    if (status == RONDE_OK && is_same)
        status = prove_model(schedule, &model, proof, out_undecided, error);
    ronde_model_destroy(&model);
    return status;
}

static bool is_expandable(const struct ronde_schedule *schedule, struct ronde_proof *proof)
{
    uint64_t steps = 0;
    for (uint32_t p = 0; p < schedule->ranks; p++)
        steps += schedule->programs[schedule->program_of ? schedule->program_of[p] : 0].step_count;
    if (steps <= RONDE_MAX_EXPANSION)
        return true;
    ronde_find(proof, RONDE_FINDING_NOT_PROVED, nowhere(),
               "%llu steps are more than the %u that are proved one by one",
               (unsigned long long)steps, RONDE_MAX_EXPANSION);
    return false;
}

/**
 * Whether neither a position nor an order changes which chunk of a message is which: messages are sorted by absolute
 * chunk, so those of several chunks must lie where all positions number them alike.
 */
static bool has_fixed_messages(const struct ronde_schedule *schedule)
{
    if (schedule->max_chunk_count == 1)
        return true;
    for (uint32_t i = 0; i < schedule->program_count; i++) {
        const struct ronde_program *program = &schedule->programs[i];
        for (uint32_t s = 0; s < program->step_count; s++) {
            const struct ronde_step *step = &program->steps[s];
            if (step->chunk_count > 1 &&
                (!ronde_is_numbered_alike(schedule, program, step->source) ||
                 !ronde_is_numbered_alike(schedule, program, step->destination)))
                return false;
        }
    }
    return true;
}

/**
 * Proves in positions, which covers every order, unless messages of several chunks are sorted by what an order does to
 * them: then every order is proved.
 */
static enum ronde_status prove(struct ronde_schedule *schedule, bool may_quotient,
                               struct ronde_proof *proof, struct ronde_error *error)
{
    bool is_undecided = !may_quotient || schedule->symmetry == RONDE_SYMMETRY_NONE;
    /* Where inputs are overwritten or never copied, blocks are not followed to where they end. */
    schedule->v_form = schedule->clobbers || schedule->form == RONDE_FORM_IN_PLACE
                           ? RONDE_V_NONE
                           : ronde_v_form_of(schedule->collective);
    if (!is_undecided)
        RONDE_TRY(prove_order(schedule, true, NULL, proof, &is_undecided, error));
    if (!is_undecided || !is_expandable(schedule, proof))
        return RONDE_OK;
    if (has_fixed_messages(schedule))
        return prove_order(schedule, false, NULL, proof, &is_undecided, error);
    for (uint32_t k = 0; k < schedule->channel_count && proof->ok; k++)
        if (ronde_is_new_order(schedule, k))
            RONDE_TRY(
                prove_order(schedule, false, &schedule->channels[k], proof, &is_undecided, error));
    return RONDE_OK;
}

/** The first finding as an error message. */
static enum ronde_status reject(const struct ronde_proof *proof, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_REJECTED, "%s: %s", ronde_finding_text(proof->findings[0].code),
                      proof->findings[0].text);
}

enum ronde_status ronde_finish_raw(struct ronde_schedule *schedule, struct ronde_proof *out_proof,
                                   struct ronde_error *error)
{
    struct ronde_proof *proof = &schedule->proof;
    enum ronde_status status = prepare(schedule, proof, error);
    if (status == RONDE_OK && proof->ok)
        status = prove(schedule, true, proof, error);
    if (status == RONDE_OK && !proof->ok)
        status = reject(proof, error);
    if (status != RONDE_OK)
        proof->ok = false;
    if (out_proof)
        *out_proof = *proof;
    return status;
}

enum ronde_status ronde_finish_unproved(struct ronde_schedule *schedule, uint32_t min_depth,
                                        struct ronde_error *error)
{
    struct ronde_proof *proof = &schedule->proof;
    RONDE_TRY(prepare(schedule, proof, error));
    proof->min_depth = min_depth;
    return proof->ok ? RONDE_OK : reject(proof, error);
}

enum ronde_status
ronde_schedule_prove_expansion(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                               struct ronde_proof *out_proof, struct ronde_error *error)
{
    struct ronde_schedule *copy = NULL;
    RONDE_TRY(ronde_raw_copy(schedule, mem, &copy, error));
    struct ronde_proof *proof = &copy->proof;
    enum ronde_status status = prepare(copy, proof, error);
    if (status == RONDE_OK && proof->ok)
        status = prove(copy, false, proof, error);
    if (status == RONDE_OK && !proof->ok)
        status = reject(proof, error);
    if (out_proof)
        *out_proof = *proof;
    ronde_schedule_destroy(copy);
    return status;
}

/** Orders of an arena's own; false when there is no memory. */
static bool set_orders(struct ronde_schedule *schedule, const uint32_t *orders)
{
    const size_t ranks = schedule->ranks;
    uint32_t *copy = ronde_arena_new(schedule->arena, schedule->channel_count * ranks, sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, orders, schedule->channel_count * ranks * sizeof *copy);
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        schedule->channels[k].order = copy + k * ranks;
    return true;
}

enum ronde_status ronde_schedule_reorder(const struct ronde_schedule *schedule,
                                         const uint32_t *orders, const struct ronde_mem *mem,
                                         struct ronde_schedule **out_schedule,
                                         struct ronde_error *error)
{
    struct ronde_schedule *copy = NULL;
    *out_schedule = NULL;
    RONDE_TRY(ronde_raw_copy(schedule, mem, &copy, error));
    const enum ronde_status status =
        set_orders(copy, orders)
            ? ronde_finish_raw(copy, NULL, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for the orders of %u channels",
                         schedule->channel_count);
    if (status == RONDE_OK)
        *out_schedule = copy;
    else
        ronde_schedule_destroy(copy);
    return status;
}
