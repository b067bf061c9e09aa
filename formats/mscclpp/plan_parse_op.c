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
static bool take_share(const struct mscclpp_place *place, const json_t *op,
                       struct mscclpp_span *span)
{
    const json_t *group = json_object_get(op, "tbg_info");
    const uint64_t units = place->plan->units, count = span->count * units;
    uint32_t tb = 0, size = 1;
    if (group && (!mscclpp_take(place, group, "tb_id", &tb) ||
                  !mscclpp_take(place, group, "tbg_size", &size)))
        return false;
    if (tb >= size || span->first * units > UINT32_MAX / 2 || count > UINT32_MAX / 2)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "threadblock %" PRIu32 " of a group of %" PRIu32, tb, size);
    span->first = (uint32_t)(span->first * units + tb * count / size);
    span->count = (uint32_t)((tb + 1) * count / size - tb * count / size);
    return true;
}

static bool read_side(const struct mscclpp_place *place, const json_t *op, const json_t *object,
                      struct mscclpp_side *out)
{
    uint32_t id;
    if (!mscclpp_take(place, object, "index", &out->span.first) ||
        !mscclpp_take(place, object, "size", &out->span.count))
        return false;
    if (out->span.count == 0)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "a buffer of size 0");
    if (json_object_get(object, "switch_channel_id"))
        return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                              "a switch channel: a message of a schedule has one receiver");
    out->rank = place->base.rank;
    if (!take_share(place, op, &out->span))
        return false;
    if (!json_object_get(object, "buffer_id"))
        return mscclpp_take_buffer(place, object, &out->span.buffer);
    return mscclpp_take(place, object, "buffer_id", &id) &&
           mscclpp_find_remote(place, op, id, &out->rank, &out->span.buffer);
}

static bool read_list(const struct mscclpp_place *place, const json_t *op, const char *name,
                      struct mscclpp_side *sides, uint32_t *out_count)
{
    size_t i;
    const json_t *object, *list = json_object_get(op, name);
    *out_count = 0;
    if (json_array_size(list) > MSCCLPP_MOST_SPANS)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s has more than %u entries", name,
                              MSCCLPP_MOST_SPANS);
    json_array_foreach(list, i, object)
    {
        if (!read_side(place, op, object, &sides[i]))
            return false;
        (*out_count)++;
    }
    return true;
}

/* All of one size: that of source 0, or pair by pair. */
static bool check_sizes(const struct mscclpp_place *place, const struct mscclpp_sides *sides,
                        bool is_pairwise)
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
    return true;
}

static bool read_sides(const struct mscclpp_place *place, const json_t *op, bool is_pairwise,
                       struct mscclpp_sides *out)
{
    if (!read_list(place, op, "src_buff", out->in, &out->in_count) ||
        !read_list(place, op, "dst_buff", out->out, &out->out_count))
        return false;
    if (out->in_count == 0 && out->out_count > 0)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "destinations without a source");
    return check_sizes(place, out, is_pairwise);
}

/* --- acts ------------------------------------------------------------------------------------ */

static bool add(const struct mscclpp_place *place, struct mscclpp_act act)
{
    act.rank = place->base.rank;
    act.tb = place->base.tb;
    act.op = place->base.op;
    act.partner = RONDE_NONE;
    return ronde_list_append(place->plan->mem, &place->plan->acts, &act, sizeof act) ||
           mscclpp_fail_memory(place->plan);
}

static bool add_move(const struct mscclpp_place *place, enum mscclpp_kind kind,
                     const struct mscclpp_side *source, const struct mscclpp_side *target)
{
    const uint32_t own = place->base.rank;
    return add(place, (struct mscclpp_act){.kind = (uint8_t)kind,
                                           .peer = source->rank == own ? target->rank : source->rank,
                                           .source = source->span,
                                           .target = target->span});
}

/* A barrier or semaphore of this rank, by its number. */
static bool add_number(const struct mscclpp_place *place, enum mscclpp_kind kind, uint32_t number)
{
    return add(place, (struct mscclpp_act){.kind = (uint8_t)kind,
                                           .peer = place->base.rank,
                                           .channel = number});
}

static bool is_same(const struct mscclpp_side *a, const struct mscclpp_side *b)
{
    return a->rank == b->rank && a->span.buffer == b->span.buffer && a->span.first == b->span.first;
}

/* Scratch that packets come to is waited for before it is read. */
static bool add_packets(const struct mscclpp_place *place, const struct mscclpp_side *side)
{
    return add(place, (struct mscclpp_act){.kind = MSCCLPP_READ_PACKET,
                                           .peer = place->base.rank,
                                           .source = side->span});
}

/* Destination 0 <- source 0 o the others, all of this rank; the one that is the destination already comes first. */
static bool add_reduction(const struct mscclpp_place *place, const struct mscclpp_sides *sides)
{
    uint32_t base = 0;
    for (uint32_t i = 0; i < sides->in_count; i++)
        if (is_same(&sides->in[i], &sides->out[0]))
            base = i;
    if (!is_same(&sides->in[base], &sides->out[0]) &&
        !add_move(place, MSCCLPP_COPY, &sides->in[base], &sides->out[0]))
        return false;
    for (uint32_t i = 0; i < sides->in_count; i++)
        if (i != base && !add_move(place, MSCCLPP_REDUCE, &sides->in[i], &sides->out[0]))
            return false;
    return true;
}

/* Destination 0 <- source 0 o what is read from peers. */
static bool add_remote_reduction(const struct mscclpp_place *place,
                                 const struct mscclpp_sides *sides)
{
    const struct mscclpp_side *base = &sides->in[0], *target = &sides->out[0];
    if (sides->in_count == 1 && !is_same(base, target))
        return add_move(place, MSCCLPP_COPY, base, target);
    for (uint32_t i = 1; i < sides->in_count; i++)
        if (!add(place, (struct mscclpp_act){.kind = MSCCLPP_FETCH_REDUCE,
                                             .peer = sides->in[i].rank,
                                             .source = sides->in[i].span,
                                             .with = i == 1 ? base->span : target->span,
                                             .target = target->span}))
            return false;
    return true;
}

/* Destinations from `first` on get what is in the source. */
static bool add_sends(const struct mscclpp_place *place, const struct mscclpp_sides *sides,
                      const struct mscclpp_side *source, uint32_t first, enum mscclpp_kind kind)
{
    for (uint32_t i = first; i < sides->out_count; i++)
        if (!add_move(place, kind, source, &sides->out[i]))
            return false;
    return true;
}

static bool add_channel(const struct mscclpp_place *place, const json_t *op, size_t i,
                        enum mscclpp_kind kind)
{
    struct mscclpp_act act = {.kind = (uint8_t)kind};
    return mscclpp_find_channel(place, op, i, &act) && add(place, act);
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
static bool add_pairs(const struct mscclpp_place *place, const json_t *op,
                      const struct mscclpp_sides *sides, enum shape shape)
{
    const enum mscclpp_kind kind = shape == GETS      ? MSCCLPP_FETCH
                                   : shape == PACKETS ? MSCCLPP_PUT_PACKET
                                                      : MSCCLPP_PUT;
    for (uint32_t i = 0; i < sides->out_count; i++)
        if (!add_move(place, kind, &sides->in[i], &sides->out[i]) ||
            (shape == SIGNALLED && !add_channel(place, op, i, MSCCLPP_SIGNAL)))
            return false;
    return true;
}

/* Everything that is read is waited for, then reduced, then sent. */
static bool add_packet_reduction(const struct mscclpp_place *place,
                                 const struct mscclpp_sides *sides, bool keeps)
{
    const struct mscclpp_side *result = &sides->out[0];
    for (uint32_t i = 1; i < sides->in_count; i++)
        if (!add_packets(place, &sides->in[i]))
            return false;
    return add_reduction(place, sides) &&
           (!keeps || add_move(place, MSCCLPP_PUT_PACKET, result, &sides->out[1])) &&
           add_sends(place, sides, result, keeps ? 2 : 1, MSCCLPP_PUT_PACKET);
}

static bool add_semaphores(const struct mscclpp_place *place, const json_t *op,
                           enum mscclpp_kind kind)
{
    size_t i;
    const json_t *id;
    json_array_foreach(json_object_get(op, "semaphore_ids"), i, id)
    {
        uint32_t number;
        if (!mscclpp_whole(id, UINT16_MAX, &number))
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "semaphore_ids lacks a number");
        if (!add_number(place, kind, number))
            return false;
    }
    return true;
}

static bool add_barrier(const struct mscclpp_place *place, const json_t *op)
{
    uint32_t id;
    return mscclpp_take(place, op, "barrier_id", &id) && add_number(place, MSCCLPP_BARRIER, id);
}

static bool add_channels(const struct mscclpp_place *place, const json_t *op, enum mscclpp_kind kind)
{
    for (size_t i = 0; i < json_array_size(json_object_get(op, "channel_ids")); i++)
        if (!add_channel(place, op, i, kind))
            return false;
    return true;
}

/* Refuses a side that does not lie where it has to. */
static bool check_side(const struct mscclpp_place *place, const struct mscclpp_side *side,
                       bool is_peer, const struct row *row, const char *what, uint32_t number)
{
    return (side->rank != place->base.rank) == is_peer ||
           mscclpp_refuse(place, RONDE_BAD_INPUT, "%s %" PRIu32 " of %s is %s", what, number,
                          row->word, is_peer ? "of this gpu" : "of another gpu");
}

/* Where each side has to lie: what is read and reduced locally is this rank's. */
static bool check_places(const struct mscclpp_place *place, const struct mscclpp_sides *sides,
                         const struct row *row)
{
    const bool reads_peers = row->shape == READS_REDUCES || row->shape == GETS;
    const bool writes_peers = row->shape == PUTS || row->shape == SIGNALLED ||
                              row->shape == PACKETS || row->shape == PASSES;
    const uint32_t own_outs = writes_peers ? 0 : row->shape == KEEPS_PACKETS ? 2 : 1;
    for (uint32_t i = 0; i < sides->in_count; i++)
        if (!check_side(place, &sides->in[i], reads_peers && (row->shape == GETS || i > 0), row,
                        "source", i))
            return false;
    for (uint32_t i = 0; i < sides->out_count; i++)
        if (!check_side(place, &sides->out[i], writes_peers || (row->shape != GETS && i >= own_outs),
                        row, "destination", i))
            return false;
    return true;
}

static bool add_moves(const struct mscclpp_place *place, const json_t *op,
                      const struct mscclpp_sides *sides, const struct row *row)
{
    const struct mscclpp_side *in = &sides->in[0], *out = &sides->out[0];
    switch (row->shape) {
    case COPIES:
        return add_move(place, MSCCLPP_COPY, in, out);
    case REDUCES:
        return add_reduction(place, sides) && add_sends(place, sides, out, 1, MSCCLPP_PUT);
    case READS_REDUCES:
        return add_remote_reduction(place, sides) && add_sends(place, sides, out, 1, MSCCLPP_PUT);
    case PASSES:
        return add_packets(place, in) && add_sends(place, sides, in, 0, MSCCLPP_PUT_PACKET);
    case UNPACKS:
        return add_packets(place, in) && add_move(place, MSCCLPP_COPY, in, out);
    case FLAGS:
        return add_move(place, MSCCLPP_PUT_PACKET, in, out);
    case REDUCES_PACKETS:
    case KEEPS_PACKETS:
        return add_packet_reduction(place, sides, row->shape == KEEPS_PACKETS);
    default:
        if (sides->in_count < sides->out_count)
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s has more destinations than sources",
                                  row->word);
        return add_pairs(place, op, sides, row->shape);
    }
}

static bool read_row(const struct mscclpp_place *place, const json_t *op, const struct row *row)
{
    struct mscclpp_sides sides;
    const char *reduction = json_string_value(json_object_get(op, "reduce_op"));
    const bool is_pairwise = row->shape == PUTS || row->shape == SIGNALLED || row->shape == GETS ||
                             row->shape == PACKETS;
    if (reduction && strcmp(reduction, "sum") != 0)
        return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                              "reduce_op %s is fixed in the plan; a schedule is for any operator",
                              reduction);
    if (!read_sides(place, op, is_pairwise, &sides))
        return false;
    if (sides.in_count < row->ins || sides.out_count < row->outs)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "%s lacks a source or a destination",
                              row->word);
    return check_places(place, &sides, row) && add_moves(place, op, &sides, row);
}

/* A loop over parts of a chunk: once through it, since a schedule is repeated for each of its pieces. */
static bool read_loop(struct mscclpp_place *place, const json_t *op)
{
    size_t i;
    const json_t *inner;
    json_array_foreach(json_object_get(op, "ops"), i, inner)
    {
        const char *word = json_string_value(json_object_get(inner, "name"));
        if (word && strcmp(word, "pipeline") == 0)
            return mscclpp_refuse(place, RONDE_BAD_INPUT, "a pipeline in a pipeline");
        if (!mscclpp_parse_op(place, inner))
            return false;
    }
    return true;
}

bool mscclpp_parse_op(struct mscclpp_place *place, const json_t *op)
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
            return true;
        case SIGNALS:
            return add_channels(place, op, MSCCLPP_SIGNAL);
        case WAITS:
            return add_channels(place, op, MSCCLPP_WAIT);
        case SYNCS:
            return add_barrier(place, op);
        case ACQUIRES:
            return add_semaphores(place, op, MSCCLPP_ACQUIRE);
        case RELEASES:
            return add_semaphores(place, op, MSCCLPP_RELEASE);
        default:
            return read_row(place, op, row);
        }
    }
    return mscclpp_refuse(place, RONDE_BAD_INPUT, "operation '%s' is none that is known",
                          word ? word : "");
}
