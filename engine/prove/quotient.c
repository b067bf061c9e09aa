/** The step graph on the quotient of a symmetric schedule: see ronde/quotient.h. */
#include "engine/execute/operation.h"
#include "engine/ir/arena.h"
#include "engine/price/dag_index.h"
#include "proofs.h"

#include "ronde/quotient.h"

#include <stdlib.h>
#include <string.h>

/* The pairs at position 0, and the proof that they are those of every position. */

/** Most pairs that are looked at position by position, under all orders together: a second's work. */
#define MAX_PAIRS ((uint64_t)1 << 26)

/** One operand of a step, as every position has it. */
struct operand {
    enum ronde_buffer buffer;
    uint32_t chunks;  /**< of the buffer */
    uint32_t offset;  /**< from the position in question to whose operand it is */
    bool is_fixed;    /**< the same absolute chunks everywhere */
    bool is_distinct; /**< no chunk twice */
    uint32_t *items;  /**< chunks at position 0, ascending */
};

/** The work on one quotient. */
struct pairing {
    struct ronde_model *model;
    struct ronde_view view; /**< of position 0 */
    uint32_t *send_step;    /**< per message: the step that sends it */
    uint32_t *receive_step; /**< per message: the step that receives it */
    struct operand left;    /**< room for two operands */
    struct operand right;   /**< the other one */
    uint64_t *keys;         /**< per item: for sorting */
    uint64_t *spare_keys;   /**< the same, to move them to */
    uint32_t *partners;     /**< per item of left: which item of right it goes with */
    uint64_t pairs_left;    /**< that may still be looked at one by one */
};

bool ronde_is_numbered_alike(const struct ronde_schedule *schedule,
                             const struct ronde_program *program, uint8_t buffer)
{
    const enum ronde_buffer which = (enum ronde_buffer)buffer;
    return buffer == RONDE_BUFFER_COUNT ||
           (!schedule->rotates[buffer] &&
            (which == RONDE_SCRATCH ||
             ronde_schedule_chunks(schedule, program, which) == schedule->chunks_per_block));
}

bool ronde_is_new_order(const struct ronde_schedule *schedule, uint32_t index)
{
    const uint32_t *order = schedule->channels[index].order;
    for (uint32_t k = 0; k < index; k++) {
        const uint32_t *other = schedule->channels[k].order;
        if (order == other ||
            (order && other && memcmp(order, other, schedule->ranks * sizeof *order) == 0))
            return false;
    }
    return true;
}

/* --- operands ------------------------------------------------------------------------------ */

static void load(const struct pairing *pairing, const struct ronde_step *step, bool is_source,
                 uint32_t offset, struct operand *operand)
{
    const struct ronde_schedule *schedule = pairing->model->schedule;
    const uint8_t buffer = is_source ? step->source : step->destination;
    operand->buffer = (enum ronde_buffer)buffer;
    operand->chunks = ronde_schedule_chunks(schedule, pairing->view.program, operand->buffer);
    operand->offset = offset;
    operand->is_fixed = ronde_is_numbered_alike(schedule, pairing->view.program, buffer);
    operand->is_distinct = true;
    ronde_view_chunks(&pairing->view, step, is_source, operand->chunks, operand->items);
    for (uint32_t i = 1; i < step->chunk_count; i++)
        operand->is_distinct = operand->is_distinct && operand->items[i - 1] != operand->items[i];
}

/** Absolute chunk of an item where `position` and the channel's order take it. */
static uint32_t absolute(const struct pairing *pairing, const struct ronde_channel *channel,
                         uint32_t position, const struct operand *operand, uint32_t item)
{
    struct ronde_view view = pairing->view;
    view.channel = channel;
    view.position = ronde_group_add(view.schedule, position, operand->offset);
    return ronde_view_reorder(&view, operand->buffer, operand->chunks,
                              ronde_view_shift(&view, operand->buffer, operand->chunks,
                                               operand->items[item]));
}

/** Whether shifts and orders do the same to the chunks of both buffers. */
static bool are_alike(const struct ronde_schedule *schedule, const struct operand *a,
                      const struct operand *b)
{
    const bool is_reordered_a =
        a->buffer != RONDE_SCRATCH && a->chunks != schedule->chunks_per_block;
    const bool is_reordered_b =
        b->buffer != RONDE_SCRATCH && b->chunks != schedule->chunks_per_block;
    return schedule->rotates[a->buffer] == schedule->rotates[b->buffer] && a->chunks == b->chunks &&
           is_reordered_a == is_reordered_b;
}

/* --- pairs --------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/** Index after the first fall, or count. */
static uint32_t rise_from(const uint64_t *keys, uint32_t first, uint32_t count)
{
    uint32_t i = first + 1;
    while (i < count && keys[i - 1] < keys[i])
        i++;
    return i;
}

/** Sorts keys. They ascend, or do but for one fall where a range wraps, or anyhow where xor or an order moved them. */
static void sort_keys(struct pairing *pairing, uint32_t count)
{
    uint64_t *keys = pairing->keys;
    const uint32_t fall = rise_from(keys, 0, count);
    if (fall == count)
        return;
    if (rise_from(keys, fall, count) < count || keys[count - 1] > keys[0]) {
        qsort(keys, count, sizeof *keys, compare_keys);
        return;
    }
    memcpy(pairing->spare_keys, keys + fall, (count - fall) * sizeof *keys);
    memcpy(pairing->spare_keys + count - fall, keys, fall * sizeof *keys);
    pairing->keys = pairing->spare_keys;
    pairing->spare_keys = keys;
}

static uint64_t key_of(uint32_t major, uint32_t minor)
{
    return (uint64_t)major << 32 | minor;
}

/** Sorts left as it is where right is at position 0: the k-th goes with the k-th of right. */
static void find_partners(struct pairing *pairing, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pairing->keys[i] =
            key_of(absolute(pairing, &pairing->model->channel, 0, &pairing->left, i), i);
    sort_keys(pairing, count);
    for (uint32_t k = 0; k < count; k++)
        pairing->partners[(uint32_t)pairing->keys[k]] = k;
}

/** Whether every pair is one and the same chunk: it is wherever both are moved alike. */
static bool are_same_chunks(const struct pairing *pairing, uint32_t count)
{
    const struct operand *left = &pairing->left, *right = &pairing->right;
    if (!are_alike(pairing->model->schedule, left, right))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (absolute(pairing, &pairing->model->channel, 0, left, i) !=
            right->items[pairing->partners[i]])
            return false;
    return true;
}

/** Whether sorting both ends where `position` and an order take them gives the same pairs again. */
static bool is_kept_at(struct pairing *pairing, const struct ronde_channel *channel,
                       uint32_t position, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pairing->keys[i] =
            key_of(absolute(pairing, channel, position, &pairing->left, i),
                   absolute(pairing, channel, position, &pairing->right, pairing->partners[i]));
    sort_keys(pairing, count);
    for (uint32_t k = 1; k < count; k++)
        if ((uint32_t)pairing->keys[k - 1] >= (uint32_t)pairing->keys[k])
            return false;
    return true;
}

/** The same for every position and order, while that is not too much work. */
static bool is_kept_everywhere(struct pairing *pairing, uint32_t count)
{
    const struct ronde_schedule *schedule = pairing->model->schedule;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        const uint64_t pairs = (uint64_t)schedule->ranks * count;
        if (!ronde_is_new_order(schedule, k))
            continue;
        if (pairing->pairs_left < pairs)
            return false;
        pairing->pairs_left -= pairs;
        for (uint32_t position = 0; position < schedule->ranks; position++)
            if (!is_kept_at(pairing, &schedule->channels[k], position, count))
                return false;
    }
    return true;
}

/** Whether the pairs of the two loaded operands are the same everywhere; finds partners. */
static bool are_pairs_same(struct pairing *pairing, uint32_t count)
{
    const struct operand *left = &pairing->left, *right = &pairing->right;
    find_partners(pairing, count);
    if (left->is_fixed && right->is_fixed)
        return true;
    if (!left->is_distinct || !right->is_distinct)
        return false;
    return are_same_chunks(pairing, count) || is_kept_everywhere(pairing, count);
}

/* --- steps and messages -------------------------------------------------------------------- */

/** Whether an item of one operand may be the memory of another item of the other. */
static bool may_cross(const struct pairing *pairing, uint32_t count)
{
    const struct operand *left = &pairing->left, *right = &pairing->right;
    return (left->buffer == RONDE_SCRATCH) == (right->buffer == RONDE_SCRATCH) &&
           !are_same_chunks(pairing, count);
}

/** What scratch holds is recorded per item (symbolic.h), so items with parts of their own must not change places. */
static bool may_mix_parts(const struct pairing *pairing, const struct ronde_step *step)
{
    const struct ronde_schedule *schedule = pairing->model->schedule;
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    const bool is_scratch_only = (!ronde_step_reads_source(op) || step->source == RONDE_SCRATCH) &&
                                 (!ronde_step_writes(op) || step->destination == RONDE_SCRATCH);
    return is_scratch_only && schedule->rotates[RONDE_SCRATCH] && schedule->chunks_per_block > 1;
}

/**
 * Source and destination of a step. Items run in the order of their chunks, which matters only if they share memory; a
 * fixed operand keeps that order.
 */
static bool is_step_same(struct pairing *pairing, const struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    const bool reads = ronde_step_reads_source(op), writes = ronde_step_writes(op);
    if (step->chunk_count < 2)
        return true;
    if (may_mix_parts(pairing, step))
        return false;
    if (!reads || !writes)
        return reads || writes || !ronde_op_is_in(op, RONDE_OPS_THAT_PASS);
    load(pairing, step, true, 0, &pairing->left);
    load(pairing, step, false, 0, &pairing->right);
    return are_pairs_same(pairing, step->chunk_count) &&
           (pairing->left.is_fixed || pairing->right.is_fixed ||
            !may_cross(pairing, step->chunk_count));
}

/** Any operand of a step gives the order of its message; there is one, see is_step_same. */
static void load_message(const struct pairing *pairing, const struct ronde_step *step,
                         uint32_t offset, struct operand *operand)
{
    load(pairing, step, ronde_step_reads_source((enum ronde_step_op)step->op), offset, operand);
}

/** Keeps where the items of a message are at the receiver; the first of them is item `first` of the connection. */
static void keep_places(const struct pairing *pairing, uint32_t end, uint32_t first, uint32_t count,
                        bool has_partners)
{
    uint32_t *places = pairing->model->place + pairing->model->item_base[end] + first;
    for (uint32_t i = 0; i < count; i++)
        places[i] = first + (has_partners ? pairing->partners[i] : i);
}

/** Both ends of a message. Where they differ in length the values will refuse it. */
static bool is_message_same(struct pairing *pairing, uint32_t message, uint32_t first)
{
    const struct ronde_program *program = pairing->view.program;
    const struct ronde_step *sender = &program->steps[pairing->send_step[message]];
    const struct ronde_step *receiver = &program->steps[pairing->receive_step[message]];
    const uint32_t count = sender->chunk_count;
    const bool is_bundle = count > 1 && receiver->chunk_count == count;
    bool is_same = true;
    if (is_bundle) {
        load_message(pairing, sender, program->connections[receiver->receive].peer, &pairing->left);
        load_message(pairing, receiver, 0, &pairing->right);
        is_same = are_pairs_same(pairing, count);
    }
    keep_places(pairing, sender->send, first, count, is_bundle);
    return is_same;
}

/** Which steps send and receive each message: the k-th on either end of a connection. */
static bool match_steps(struct pairing *pairing, struct ronde_arena *arena)
{
    const struct ronde_model *model = pairing->model;
    const struct ronde_program *program = pairing->view.program;
    uint32_t *passed = ronde_arena_new(arena, program->connection_count, sizeof *passed);
    pairing->send_step = ronde_arena_new(arena, model->message_count, sizeof(uint32_t));
    pairing->receive_step = ronde_arena_new(arena, model->message_count, sizeof(uint32_t));
    if (!passed || !pairing->send_step || !pairing->receive_step)
        return false;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_step *step = &program->steps[i];
        if (ronde_step_sends((enum ronde_step_op)step->op))
            pairing->send_step[model->message_base[step->send] + passed[step->send]++] = i;
        if (ronde_step_receives((enum ronde_step_op)step->op))
            pairing->receive_step[model->message_base[model->partner[step->receive]] +
                                  passed[step->receive]++] = i;
    }
    return true;
}

static bool make_room(struct pairing *pairing, struct ronde_arena *arena)
{
    struct ronde_model *model = pairing->model;
    const size_t most = model->schedule->max_chunk_count;
    pairing->keys = ronde_arena_new(arena, most, sizeof *pairing->keys);
    pairing->spare_keys = ronde_arena_new(arena, most, sizeof *pairing->spare_keys);
    pairing->partners = ronde_arena_new(arena, most, sizeof *pairing->partners);
    pairing->left.items = ronde_arena_new(arena, most, sizeof(uint32_t));
    pairing->right.items = ronde_arena_new(arena, most, sizeof(uint32_t));
    model->place = ronde_arena_new(model->arena, model->item_count, sizeof *model->place);
    return pairing->keys && pairing->spare_keys && pairing->partners && pairing->left.items &&
           pairing->right.items && model->place && match_steps(pairing, arena);
}

static bool are_all_same(struct pairing *pairing)
{
    const struct ronde_model *model = pairing->model;
    const struct ronde_program *program = pairing->view.program;
    for (uint32_t i = 0; i < program->step_count; i++)
        if (!is_step_same(pairing, &program->steps[i]))
            return false;
    uint32_t first = 0;
    for (uint32_t message = 0; message < model->message_count; message++) {
        const struct ronde_step *sender = &program->steps[pairing->send_step[message]];
        if (message == model->message_base[sender->send])
            first = 0;
        if (!is_message_same(pairing, message, first))
            return false;
        first += sender->chunk_count;
    }
    return true;
}

enum ronde_status ronde_pair_items(struct ronde_model *model, bool *out_is_same,
                                   struct ronde_error *error)
{
    *out_is_same = true;
    if (model->schedule->max_chunk_count < 2)
        return RONDE_OK;
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(model->arena));
    struct pairing pairing = {.model = model,
                              .view = ronde_model_view(model, 0),
                              .pairs_left = MAX_PAIRS};
    const bool has_room = arena && make_room(&pairing, arena);
    if (has_room)
        *out_is_same = are_all_same(&pairing);
    ronde_arena_destroy(arena);
    return has_room ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory to pair chunks");
}

/** Everything but the object itself, which the caller frees on failure. */
static enum ronde_status fill(const struct ronde_quotient_request *request,
                              struct ronde_quotient *quotient, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    RONDE_TRY(ronde_dag_create_quotient(request, mem, &quotient->dag, error));
    quotient->arena = ronde_arena_create(mem);
    struct ronde_dag_sizes *sizes =
        quotient->arena ? ronde_arena_new(quotient->arena, 1, sizeof *sizes) : NULL;
    if (!sizes || !ronde_dag_sizes_make(request->schedule, request->load, quotient->arena, sizes))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the chunks of %u ranks",
                          request->schedule->ranks);
    quotient->sizes = sizes;
    quotient->is_uniform = ronde_dag_sizes_are_symmetric(sizes, request->channel);
    return RONDE_OK;
}

enum ronde_status
ronde_quotient_create(const struct ronde_quotient_request *request, const struct ronde_mem *mem,
                      struct ronde_quotient **out_quotient, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = request->schedule;
    *out_quotient = NULL;
    if (schedule->symmetry == RONDE_SYMMETRY_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s on %u ranks has a program per position",
                          schedule->algorithm, schedule->ranks);
    struct ronde_quotient *quotient = ronde_mem_new(mem, 1, sizeof *quotient);
    if (!quotient)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a quotient");
    quotient->schedule = schedule;
    quotient->channel = request->channel;
    quotient->params = *request->params;
    const enum ronde_status status = fill(request, quotient, mem, error);
    if (status != RONDE_OK)
        ronde_quotient_destroy(quotient, mem);
    else
        *out_quotient = quotient;
    return status;
}

void ronde_quotient_destroy(struct ronde_quotient *quotient, const struct ronde_mem *mem)
{
    if (!quotient)
        return;
    ronde_arena_destroy(quotient->arena);
    ronde_dag_destroy(quotient->dag, mem);
    ronde_mem_free(mem, quotient, 1, sizeof *quotient);
}

uint32_t ronde_quotient_offset(const struct ronde_quotient *quotient, uint32_t op,
                               const struct ronde_dag_edge *edge)
{
    if (edge->is_message)
        return ronde_group_negate(quotient->schedule, quotient->dag->ops[edge->op].dst);
    return edge->is_credit ? quotient->dag->ops[op].dst : 0;
}

uint64_t ronde_quotient_bytes(const struct ronde_quotient *quotient, uint32_t op, uint32_t position)
{
    const struct ronde_dag_origin *origin = &quotient->dag->origins[op];
    const struct ronde_schedule *schedule = quotient->schedule;
    const uint32_t rank = ronde_channel_rank(&schedule->channels[quotient->channel], position);
    const struct ronde_view view = ronde_view_open(schedule, quotient->channel, rank);
    return ronde_dag_operand_bytes(quotient->sizes, &view, quotient->channel,
                                   view.program->lane_first[origin->lane] + origin->step,
                                   origin->piece);
}

/* Only parts of a block that are spread over the positions change places. */
bool ronde_quotient_repeats(const struct ronde_quotient *quotient, uint32_t offset)
{
    const struct ronde_schedule *schedule = quotient->schedule;
    const uint64_t *parts = quotient->sizes->part_bytes[quotient->channel];
    const uint32_t stay = schedule->chunks_per_block / schedule->ranks;
    bool repeats = true;
    for (uint32_t p = 0; !quotient->is_uniform && repeats && p < schedule->ranks; p++) {
        const uint32_t q = ronde_group_add(schedule, p, offset);
        repeats =
            memcmp(parts + (size_t)p * stay, parts + (size_t)q * stay, stay * sizeof *parts) == 0;
    }
    return repeats;
}

double ronde_quotient_delay_ns(const struct ronde_quotient *quotient, uint32_t op, uint64_t bytes)
{
    const bool reduces = ronde_step_reduces(quotient->dag->origins[op].op);
    return quotient->params.step_ns + ronde_dag_stage_ns(&quotient->params, reduces, bytes);
}
