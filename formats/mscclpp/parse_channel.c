/* Channels and remote buffers of a plan: what the numbers in operations mean. See parse.h. */
#include "parse.h"

#include <inttypes.h>
#include <string.h>

/* By mscclpp_act.channel_type. */
static const char *const types[] = {"memory", "port"};

/* The type an operation names; switch channels have no counterpart. */
static enum ronde_status take_type(const struct mscclpp_place *place, const json_t *op,
                                   uint8_t *out_type)
{
    const char *text = json_string_value(json_object_get(op, "channel_type"));
    for (uint8_t t = 0; text && t < 2; t++)
        if (strcmp(types[t], text) == 0) {
            *out_type = t;
            return RONDE_OK;
        }
    if (text && strcmp(text, "switch") == 0)
        return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                              "a switch channel: a message of a schedule has one receiver");
    return mscclpp_refuse(place, RONDE_BAD_INPUT, "channel_type is '%s', expected memory or port",
                          text ? text : "");
}

/* The n-th number of the lists `numbers` in those of a threadblock's entries whose `key` is the type; RONDE_NONE. */
static uint32_t nth_of_type(const json_t *entries, const char *key, const char *type,
                            const char *numbers, uint32_t n)
{
    size_t e, i;
    const json_t *entry, *number;
    json_array_foreach(entries, e, entry)
    {
        const char *text = json_string_value(json_object_get(entry, key));
        if (!text || strcmp(text, type) != 0)
            continue;
        json_array_foreach(json_object_get(entry, numbers), i, number)
        {
            uint32_t found;
            if (n-- == 0)
                return mscclpp_whole(number, RONDE_MAX_RANKS, &found) ? found : RONDE_NONE;
        }
    }
    return RONDE_NONE;
}

/* The peer of the n-th channel of a type of the rank, and how many before it go to the same peer. */
static uint32_t peer_of(const json_t *gpu, const char *type, uint32_t n, uint32_t *out_before)
{
    const json_t *channels = json_object_get(gpu, "channels");
    const uint32_t peer = nth_of_type(channels, "channel_type", type, "connected_to", n);
    *out_before = 0;
    for (uint32_t i = 0; i < n; i++)
        *out_before += nth_of_type(channels, "channel_type", type, "connected_to", i) == peer;
    return peer;
}

enum ronde_status mscclpp_find_channel(const struct mscclpp_place *place, const json_t *op,
                                       size_t index, struct mscclpp_act *io_act)
{
    uint8_t type = 0;
    const json_t *id = json_array_get(json_object_get(op, "channel_ids"), index);
    const enum ronde_status status = take_type(place, op, &type);
    if (status != RONDE_OK)
        return status;
    uint32_t number;
    if (!mscclpp_whole(id, RONDE_MAX_RANKS, &number))
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "channel_ids lacks a number");
    const uint32_t flat = nth_of_type(json_object_get(place->tb, "channels"), "channel_type",
                                      types[type], "channel_ids", number);
    const uint32_t peer =
        flat == RONDE_NONE ? RONDE_NONE : peer_of(place->gpu, types[type], flat, &io_act->channel);
    if (peer == RONDE_NONE || peer >= place->plan->ranks || peer == place->base.rank)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "channel %" PRIu32 " is none of the threadblock's %s channels",
                              number, types[type]);
    io_act->channel_type = type;
    io_act->peer = peer;
    return RONDE_OK;
}

enum ronde_status mscclpp_take_buffer(const struct mscclpp_place *place, const json_t *object,
                                      uint8_t *out_buffer)
{
    static const char letters[] = "ios";
    const char *text = json_string_value(json_object_get(object, "type"));
    const char *at = text && text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (!at)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "type of a buffer is '%s', expected i, o or s", text ? text : "");
    *out_buffer = (uint8_t)(at - letters);
    return RONDE_OK;
}

enum ronde_status mscclpp_find_remote(const struct mscclpp_place *place, const json_t *op,
                                      uint32_t id, uint32_t *out_rank, uint8_t *out_buffer)
{
    uint8_t type = 0;
    enum ronde_status status = take_type(place, op, &type);
    if (status != RONDE_OK)
        return status;
    const uint32_t number = nth_of_type(json_object_get(place->tb, "remote_buffer_refs"),
                                        "access_channel_type", types[type], "remote_buffer_ids", id);
    const json_t *buffer =
        number == RONDE_NONE ? NULL
                             : json_array_get(json_object_get(place->gpu, "remote_buffers"), number);
    if (!buffer)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "buffer_id %" PRIu32 " is none of the threadblock's %s buffers", id,
                              types[type]);
    status = mscclpp_take(place, buffer, "rank", out_rank);
    if (status == RONDE_OK && (*out_rank >= place->plan->ranks || *out_rank == place->base.rank))
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "a remote buffer of rank %" PRIu32, *out_rank);
    return status == RONDE_OK ? mscclpp_take_buffer(place, buffer, out_buffer) : status;
}
