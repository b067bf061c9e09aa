/* What the words and numbers of a plan's JSON mean where they stand: channels, buffers, refusals. See plan_parse.h. */
#include "plan_parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Largest number of chunks: proving takes memory for each. */
#define MOST_CHUNKS (1 << 24)

bool mscclpp_refuse(const struct mscclpp_place *place, enum ronde_status status, const char *format,
                    ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES], gpu[24] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (place->tb)
        return mscclpp_fail(place->plan, status, &place->base, "%s", message);
    if (place->gpu)
        (void)snprintf(gpu, sizeof gpu, "gpu %" PRIu32 ": ", place->base.rank);
    (void)ronde_fail(place->plan->error, status, "%s: %s%s", place->plan->path, gpu, message);
    return false;
}

bool mscclpp_whole(const json_t *value, uint32_t end, uint32_t *out_number)
{
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= 0.0 && number < end) ||
        number != (double)(uint32_t)number)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

bool mscclpp_take(const struct mscclpp_place *place, const json_t *object, const char *name,
                  uint32_t *out_number)
{
    return mscclpp_whole(json_object_get(object, name), MOST_CHUNKS + 1, out_number) ||
           mscclpp_refuse(place, RONDE_BAD_INPUT, "%s is no number from 0 to %d", name, MOST_CHUNKS);
}

/* By mscclpp_act.channel_type. */
static const char *const types[] = {"memory", "port"};

/* The type an operation names; switch channels have no counterpart. */
static bool take_type(const struct mscclpp_place *place, const json_t *op, uint8_t *out_type)
{
    const char *text = json_string_value(json_object_get(op, "channel_type"));
    for (*out_type = 0; text && *out_type < 2; ++*out_type)
        if (strcmp(types[*out_type], text) == 0)
            return true;
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

bool mscclpp_find_channel(const struct mscclpp_place *place, const json_t *op, size_t index,
                          struct mscclpp_act *io_act)
{
    uint8_t type = 0;
    uint32_t number;
    if (!take_type(place, op, &type))
        return false;
    if (!mscclpp_whole(json_array_get(json_object_get(op, "channel_ids"), index), RONDE_MAX_RANKS,
                       &number))
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
    return true;
}

bool mscclpp_take_buffer(const struct mscclpp_place *place, const json_t *object,
                         uint8_t *out_buffer)
{
    static const char letters[] = "ios";
    const char *text = json_string_value(json_object_get(object, "type"));
    const char *at = text && text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (!at)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "type of a buffer is '%s', expected i, o or s", text ? text : "");
    *out_buffer = (uint8_t)(at - letters);
    return true;
}

bool mscclpp_find_remote(const struct mscclpp_place *place, const json_t *op, uint32_t id,
                         uint32_t *out_rank, uint8_t *out_buffer)
{
    uint8_t type = 0;
    if (!take_type(place, op, &type))
        return false;
    const uint32_t number = nth_of_type(json_object_get(place->tb, "remote_buffer_refs"),
                                        "access_channel_type", types[type], "remote_buffer_ids", id);
    const json_t *buffer =
        number == RONDE_NONE ? NULL
                             : json_array_get(json_object_get(place->gpu, "remote_buffers"), number);
    if (!buffer)
        return mscclpp_refuse(place, RONDE_BAD_INPUT,
                              "buffer_id %" PRIu32 " is none of the threadblock's %s buffers", id,
                              types[type]);
    if (!mscclpp_take(place, buffer, "rank", out_rank))
        return false;
    if (*out_rank >= place->plan->ranks || *out_rank == place->base.rank)
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "a remote buffer of rank %" PRIu32, *out_rank);
    return mscclpp_take_buffer(place, buffer, out_buffer);
}
