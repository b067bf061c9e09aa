/*
 * Operations of a plan as acts. What each does was read off the executor's kernel (src/core/include/execution_kernel.hpp). See
 * plan_parse.h.
 *
 * Of an operation that reduces, source 0 is local and the others are what is added; destination 0 is local and the others are
 * where the result is sent.
 */
#include "plan_parse.h"

#include <inttypes.h>
#include <string.h>

/* Sources and destinations of an operation. */

/* Chunks as the schedule has them, and of these the share of a threadblock that does the operation with others. */
static enum ronde_status take_share(const struct mscclpp_place *place, const json_t *op,
                                    struct mscclpp_span *span)
{
    const json_t *group = json_object_get(op, "tbg_info");
    const uint64_t units = place->plan->units, count = span->count * units;
    uint32_t tb = 0, size = 1;
    enum ronde_status status = RONDE_OK;
    if (group)
        status = mscclpp_take(place, group, "tb_id", &tb);
    if (group && status == RONDE_OK)
        status = mscclpp_take(place, group, "tbg_size", &size);
    if (status != RONDE_OK)
        return status;
    if (tb >= size || span->first * units > UINT32_MAX / 2 || count > UINT32_MAX / 2)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "threadblock %" PRIu32 " of a group of %" PRIu32, tb, size);
    span->first = (uint32_t)(span->first * units + tb * count / size);
    span->count = (uint32_t)((tb + 1) * count / size - tb * count / size);
    return RONDE_OK;
}

static enum ronde_status read_side(const struct mscclpp_place *place, const json_t *op,
                                   const json_t *object, struct mscclpp_side *out)
{
    uint32_t id;
    enum ronde_status status = mscclpp_take(place, object, "index", &out->span.first);
    if (status == RONDE_OK)
        status = mscclpp_take(place, object, "size", &out->span.count);
    if (status == RONDE_OK && out->span.count == 0)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "a buffer of size 0");
    if (json_object_get(object, "switch_channel_id"))
        return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                              "a switch channel: a message of a schedule has one receiver");
    out->rank = place->base.rank;
    if (status == RONDE_OK)
        status = take_share(place, op, &out->span);
    if (status != RONDE_OK || !json_object_get(object, "buffer_id"))
        return status == RONDE_OK ? mscclpp_take_buffer(place, object, &out->span.buffer) : status;
    status = mscclpp_take(place, object, "buffer_id", &id);
    return status == RONDE_OK ? mscclpp_find_remote(place, op, id, &out->rank, &out->span.buffer)
                              : status;
}

static enum ronde_status read_list(const struct mscclpp_place *place, const json_t *op,
                                   const char *name, struct mscclpp_side *sides, uint32_t *out_count)
{
    size_t i;
    const json_t *object;
    const json_t *list = json_object_get(op, name);
    *out_count = 0;
    if (json_array_size(list) > MSCCLPP_MOST_SPANS)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s has more than %u entries", name,
                              MSCCLPP_MOST_SPANS);
    json_array_foreach(list, i, object)
    {
        const enum ronde_status status = read_side(place, op, object, &sides[i]);
        if (status != RONDE_OK)
            return status;
        (*out_count)++;
    }
    return RONDE_OK;
}

/* All of one size, in the bounds of this rank where they are its own. */
static enum ronde_status check_sides(const struct mscclpp_place *place,
                                     const struct mscclpp_sides *sides, bool is_pairwise)
{
    for (uint32_t i = 0; i < sides->in_count + sides->out_count; i++) {
        const bool is_in = i < sides->in_count;
        const uint32_t at = is_in ? i : i - sides->in_count;
        const struct mscclpp_side *side = is_in ? &sides->in[at] : &sides->out[at];
        const struct mscclpp_side *model =
            is_pairwise && at < sides->in_count ? &sides->in[at] : &sides->in[0];
        if (side->span.count != model->span.count)
            return mscclpp_refuse(place, RONDE_BAD_INPUT,
                                  "buffers of %" PRIu32 " and %" PRIu32 " chunks in one operation",
                                  model->span.count, side->span.count);
    }
    return RONDE_OK;
}

enum ronde_status mscclpp_read_sides(const struct mscclpp_place *place, const json_t *op,
                                     bool is_pairwise, struct mscclpp_sides *out)
{
    enum ronde_status status = read_list(place, op, "src_buff", out->in, &out->in_count);
    if (status == RONDE_OK)
        status = read_list(place, op, "dst_buff", out->out, &out->out_count);
    if (status == RONDE_OK && out->in_count == 0 && out->out_count > 0)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "destinations without a source");
    return status == RONDE_OK ? check_sides(place, out, is_pairwise) : status;
}

/* --- acts ------------------------------------------------------------------------------------ */

static enum ronde_status add(const struct mscclpp_place *place, struct mscclpp_act act)
{
    struct mscclpp_act *kept = ronde_list_push(place->plan->mem, &place->plan->acts, sizeof *kept);
    if (!kept)
        return mscclpp_fail_memory(place->plan);
    *kept = act;
    kept->rank = place->base.rank;
    kept->tb = place->base.tb;
    kept->op = place->base.op;
    kept->partner = RONDE_NONE;
    return RONDE_OK;
}

static enum ronde_status add_move(const struct mscclpp_place *place, enum mscclpp_kind kind,
                                  const struct mscclpp_side *source,
                                  const struct mscclpp_side *target)
{
    const bool is_own = source->rank == target->rank;
    return add(place, (struct mscclpp_act){.kind = (uint8_t)kind,
                                           .peer = is_own ? place->base.rank
                                                   : source->rank == place->base.rank ? target->rank
                                                                                      : source->rank,
                                           .source = source->span,
                                           .target = target->span});
}

static bool is_same(const struct mscclpp_side *a, const struct mscclpp_side *b)
{
    return a->rank == b->rank && a->span.buffer == b->span.buffer && a->span.first == b->span.first;
}

/* Scratch that packets come to is waited for before it is read. */
static enum ronde_status add_packets(const struct mscclpp_place *place,
                                     const struct mscclpp_side *side)
{
    return add(place, (struct mscclpp_act){.kind = MSCCLPP_READ_PACKET,
                                           .peer = place->base.rank,
                                           .source = side->span});
}

/* Destination 0 <- source 0 o the others, all of this rank; the one that is the destination already comes first. */
static enum ronde_status add_reduction(const struct mscclpp_place *place,
                                       const struct mscclpp_sides *sides)
{
    uint32_t base = 0;
    for (uint32_t i = 0; i < sides->in_count; i++)
        if (is_same(&sides->in[i], &sides->out[0]))
            base = i;
    enum ronde_status status = is_same(&sides->in[base], &sides->out[0])
                                   ? RONDE_OK
                                   : add_move(place, MSCCLPP_COPY, &sides->in[base], &sides->out[0]);
    for (uint32_t i = 0; i < sides->in_count && status == RONDE_OK; i++)
        if (i != base)
            status = add_move(place, MSCCLPP_REDUCE, &sides->in[i], &sides->out[0]);
    return status;
}

/* Destination 0 <- source 0 o what is read from peers. */
static enum ronde_status add_remote_reduction(const struct mscclpp_place *place,
                                              const struct mscclpp_sides *sides)
{
    enum ronde_status status = RONDE_OK;
    if (sides->in_count == 1 && !is_same(&sides->in[0], &sides->out[0]))
        status = add_move(place, MSCCLPP_COPY, &sides->in[0], &sides->out[0]);
    for (uint32_t i = 1; i < sides->in_count && status == RONDE_OK; i++)
        status =
            add(place, (struct mscclpp_act){.kind = MSCCLPP_FETCH_REDUCE,
                                            .peer = sides->in[i].rank,
                                            .source = sides->in[i].span,
                                            .with = i == 1 ? sides->in[0].span : sides->out[0].span,
                                            .target = sides->out[0].span});
    return status;
}

/* Destinations from `first` on get what is in the source. */
static enum ronde_status
add_sends(const struct mscclpp_place *place, const struct mscclpp_sides *sides,
          const struct mscclpp_side *source, uint32_t first, enum mscclpp_kind kind)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = first; i < sides->out_count && status == RONDE_OK; i++)
        status = add_move(place, kind, source, &sides->out[i]);
    return status;
}

static enum ronde_status add_channel(const struct mscclpp_place *place, const json_t *op, size_t i,
                                     enum mscclpp_kind kind)
{
    struct mscclpp_act act = {.kind = (uint8_t)kind};
    const enum ronde_status status = mscclpp_find_channel(place, op, i, &act);
    return status == RONDE_OK ? add(place, act) : status;
}

/* --- operations ------------------------------------------------------------------------------ */

/* How operations are told apart that are made alike. */
enum shape {
    IDLE,            /* orders the threads of a block among themselves */
    SIGNALS,         /* on every channel */
    WAITS,           /* on every channel */
    PUTS,            /* source i to destination i */
    SIGNALLED,       /* the same, with a signal behind each */
    GETS,            /* the other way */
    COPIES,          /* source 0 to destination 0 */
    REDUCES,         /* local, then sent on */
    READS_REDUCES,   /* of peers, then sent on */
    PACKETS,         /* source i to destination i, flagged */
    PASSES,          /* packets on to peers */
    UNPACKS,         /* packets to plain memory */
    FLAGS,           /* plain memory to packets of this rank */
    REDUCES_PACKETS, /* local with packets, then sent on as packets */
    KEEPS_PACKETS,   /* the same, destination 1 being packets of this rank */
    SYNCS,           /* barrier */
    ACQUIRES,        /* semaphores */
    RELEASES         /* semaphores */
};

static const struct row {
    const char *word;
    enum shape shape;
    uint32_t ins, outs; /* sides it has at least */
} rows[] = {
    {"nop", IDLE, 0, 0},
    {"flush", IDLE, 0, 0},
    {"signal", SIGNALS, 0, 0},
    {"rlxsignal", SIGNALS, 0, 0},
    {"wait", WAITS, 0, 0},
    {"rlxwait", WAITS, 0, 0},
    {"put", PUTS, 1, 1},
    {"pws", SIGNALLED, 1, 1},
    {"pwsf", SIGNALLED, 1, 1},
    {"get", GETS, 1, 1},
    {"copy", COPIES, 1, 1},
    {"re", REDUCES, 1, 1},
    {"res", REDUCES, 1, 1},
    {"rre", READS_REDUCES, 1, 1},
    {"rres", READS_REDUCES, 1, 1},
    {"ppkt", PACKETS, 1, 1},
    {"rppkt", PASSES, 1, 1},
    {"upkt", UNPACKS, 1, 1},
    {"cpkt", FLAGS, 1, 1},
    {"repkt", REDUCES_PACKETS, 1, 1},
    {"respkt", REDUCES_PACKETS, 1, 1},
    {"recpkt", KEEPS_PACKETS, 1, 2},
    {"recspkt", KEEPS_PACKETS, 1, 2},
    {"barrier", SYNCS, 0, 0},
    {"sem_acquire", ACQUIRES, 0, 0},
    {"sem_release", RELEASES, 0, 0},
};

/* One to one, and the signals behind them. */
static enum ronde_status add_pairs(const struct mscclpp_place *place, const json_t *op,
                                   const struct mscclpp_sides *sides, enum shape shape)
{
    const enum mscclpp_kind kind = shape == GETS      ? MSCCLPP_FETCH
                                   : shape == PACKETS ? MSCCLPP_PUT_PACKET
                                                      : MSCCLPP_PUT;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < sides->out_count && status == RONDE_OK; i++) {
        status = add_move(place, kind, &sides->in[i], &sides->out[i]);
        if (status == RONDE_OK && shape == SIGNALLED)
            status = add_channel(place, op, i, MSCCLPP_SIGNAL);
    }
    return status;
}

/* Everything that is read is waited for, then reduced, then sent. */
static enum ronde_status add_packet_reduction(const struct mscclpp_place *place,
                                              const struct mscclpp_sides *sides, bool keeps)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 1; i < sides->in_count && status == RONDE_OK; i++)
        status = add_packets(place, &sides->in[i]);
    if (status == RONDE_OK)
        status = add_reduction(place, sides);
    if (status == RONDE_OK && keeps)
        status = add_move(place, MSCCLPP_PUT_PACKET, &sides->out[0], &sides->out[1]);
    return status == RONDE_OK
               ? add_sends(place, sides, &sides->out[0], keeps ? 2 : 1, MSCCLPP_PUT_PACKET)
               : status;
}

static enum ronde_status add_numbers(const struct mscclpp_place *place, const json_t *op,
                                     enum mscclpp_kind kind)
{
    size_t i;
    const json_t *id;
    enum ronde_status status = RONDE_OK;
    json_array_foreach(json_object_get(op, "semaphore_ids"), i, id)
    {
        uint32_t number;
        if (!mscclpp_whole(id, UINT16_MAX, &number))
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "semaphore_ids lacks a number");
        if (status == RONDE_OK)
            status = add(place, (struct mscclpp_act){.kind = (uint8_t)kind,
                                                     .peer = place->base.rank,
                                                     .channel = number});
    }
    return status;
}

static enum ronde_status add_barrier(const struct mscclpp_place *place, const json_t *op)
{
    uint32_t id;
    const enum ronde_status status = mscclpp_take(place, op, "barrier_id", &id);
    return status == RONDE_OK ? add(place, (struct mscclpp_act){.kind = MSCCLPP_BARRIER,
                                                                .peer = place->base.rank,
                                                                .channel = id})
                              : status;
}

static enum ronde_status add_channels(const struct mscclpp_place *place, const json_t *op,
                                      enum mscclpp_kind kind)
{
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0;
         i < json_array_size(json_object_get(op, "channel_ids")) && status == RONDE_OK; i++)
        status = add_channel(place, op, i, kind);
    return status;
}

/* Where each side has to lie: what is read and reduced locally is this rank's. */
static enum ronde_status check_places(const struct mscclpp_place *place,
                                      const struct mscclpp_sides *sides, const struct row *row)
{
    const bool reads_peers = row->shape == READS_REDUCES || row->shape == GETS;
    const bool writes_peers = row->shape == PUTS || row->shape == SIGNALLED ||
                              row->shape == PACKETS || row->shape == PASSES;
    const uint32_t own_outs = writes_peers ? 0 : row->shape == KEEPS_PACKETS ? 2 : 1;
    for (uint32_t i = 0; i < sides->in_count; i++) {
        const bool is_peer = reads_peers && (row->shape == GETS || i > 0);
        if ((sides->in[i].rank != place->base.rank) != is_peer)
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "source %" PRIu32 " of %s is %s", i,
                                  row->word, is_peer ? "of this gpu" : "of another gpu");
    }
    for (uint32_t i = 0; i < sides->out_count; i++) {
        const bool is_peer = writes_peers || (row->shape != GETS && i >= own_outs);
        if ((sides->out[i].rank != place->base.rank) != is_peer)
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "destination %" PRIu32 " of %s is %s", i,
                                  row->word, is_peer ? "of this gpu" : "of another gpu");
    }
    return RONDE_OK;
}

static enum ronde_status add_moves(const struct mscclpp_place *place, const json_t *op,
                                   const struct mscclpp_sides *sides, const struct row *row)
{
    enum ronde_status status = RONDE_OK;
    switch (row->shape) {
    case COPIES:
        return add_move(place, MSCCLPP_COPY, &sides->in[0], &sides->out[0]);
    case REDUCES:
        status = add_reduction(place, sides);
        return status == RONDE_OK ? add_sends(place, sides, &sides->out[0], 1, MSCCLPP_PUT) : status;
    case READS_REDUCES:
        status = add_remote_reduction(place, sides);
        return status == RONDE_OK ? add_sends(place, sides, &sides->out[0], 1, MSCCLPP_PUT) : status;
    case PASSES:
        status = add_packets(place, &sides->in[0]);
        return status == RONDE_OK ? add_sends(place, sides, &sides->in[0], 0, MSCCLPP_PUT_PACKET)
                                  : status;
    case UNPACKS:
        status = add_packets(place, &sides->in[0]);
        return status == RONDE_OK ? add_move(place, MSCCLPP_COPY, &sides->in[0], &sides->out[0])
                                  : status;
    case FLAGS:
        return add_move(place, MSCCLPP_PUT_PACKET, &sides->in[0], &sides->out[0]);
    case REDUCES_PACKETS:
        return add_packet_reduction(place, sides, false);
    case KEEPS_PACKETS:
        return add_packet_reduction(place, sides, true);
    default:
        if (sides->in_count < sides->out_count)
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s has more destinations than sources",
                                  row->word);
        return add_pairs(place, op, sides, row->shape);
    }
}

static enum ronde_status read_row(const struct mscclpp_place *place, const json_t *op,
                                  const struct row *row)
{
    struct mscclpp_sides sides;
    const char *reduction = json_string_value(json_object_get(op, "reduce_op"));
    const bool is_pairwise = row->shape == PUTS || row->shape == SIGNALLED || row->shape == GETS ||
                             row->shape == PACKETS;
    if (reduction && strcmp(reduction, "sum") != 0)
        return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                              "reduce_op %s is fixed in the plan; a schedule is for any operator",
                              reduction);
    enum ronde_status status = mscclpp_read_sides(place, op, is_pairwise, &sides);
    if (status == RONDE_OK && (sides.in_count < row->ins || sides.out_count < row->outs))
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s lacks a source or a destination",
                              row->word);
    if (status == RONDE_OK)
        status = check_places(place, &sides, row);
    return status == RONDE_OK ? add_moves(place, op, &sides, row) : status;
}

/* A loop over parts of a chunk: once through it, since a schedule is repeated for each of its pieces. */
static enum ronde_status read_loop(struct mscclpp_place *place, const json_t *op)
{
    size_t i;
    const json_t *inner;
    enum ronde_status status = RONDE_OK;
    json_array_foreach(json_object_get(op, "ops"), i, inner)
    {
        const char *word = json_string_value(json_object_get(inner, "name"));
        if (word && strcmp(word, "pipeline") == 0)
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "a pipeline in a pipeline");
        if (status == RONDE_OK)
            status = mscclpp_parse_op(place, inner);
    }
    return status;
}

enum ronde_status mscclpp_parse_op(struct mscclpp_place *place, const json_t *op)
{
    static const char *const lacking[] = {"glres", "gstore", "gstorepkt"};
    const char *word = json_string_value(json_object_get(op, "name"));
    for (size_t i = 0; word && i < sizeof lacking / sizeof lacking[0]; i++)
        if (strcmp(lacking[i], word) == 0)
            return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                                  "%s: a switch reduces and stores for a group of GPUs; a message "
                                  "of a schedule has one receiver",
                                  word);
    if (word && strcmp(word, "pipeline") == 0)
        return read_loop(place, op);
    for (size_t i = 0; word && i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (strcmp(row->word, word) != 0)
            continue;
        switch (row->shape) {
        case IDLE:
            return RONDE_OK;
        case SIGNALS:
            return add_channels(place, op, MSCCLPP_SIGNAL);
        case WAITS:
            return add_channels(place, op, MSCCLPP_WAIT);
        case SYNCS:
            return add_barrier(place, op);
        case ACQUIRES:
            return add_numbers(place, op, MSCCLPP_ACQUIRE);
        case RELEASES:
            return add_numbers(place, op, MSCCLPP_RELEASE);
        default:
            return read_row(place, op, row);
        }
    }
    return mscclpp_refuse(place, RONDE_BAD_INPUT, "operation '%s' is none that is known",
                          word ? word : "");
}
