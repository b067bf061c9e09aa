/* Sources and destinations of an operation. See parse.h. */
#include "parse.h"

#include <inttypes.h>

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
