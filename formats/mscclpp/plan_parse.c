/* The JSON of a plan: its ranks, its channels and remote buffers, its numbers. See plan_parse.h. */
#include "plan_parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Numbers of a plan, and refusals that say where they stand. */

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

/* The number of a rank or threadblock, which has to be the one that is due. */
static bool take_id(const struct mscclpp_place *place, const json_t *object, uint32_t due)
{
    uint32_t id = 0;
    return mscclpp_take(place, object, "id", &id) &&
           (id == due || mscclpp_refuse(place, RONDE_BAD_INPUT,
                                        "id %" PRIu32 " where %" PRIu32 " is due", id, due));
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

/* The JSON of an MSCCL++ plan: ranks, threadblocks, and what they have. */

/* Most ranks: a plan has a program for each. */
#define MOST_RANKS 4096u

static bool read_ops(struct mscclpp_place *place, const json_t *ops)
{
    size_t i;
    const json_t *op;
    if (!json_is_array(ops))
        return mscclpp_refuse(place, RONDE_BAD_INPUT, "no list of ops");
    json_array_foreach(ops, i, op)
    {
        place->base.op = (uint32_t)i;
        if (!mscclpp_parse_op(place, op))
            return false;
    }
    return true;
}

/* Appends an item to one of the plan's lists. */
static bool keep(const struct mscclpp_plan *plan, struct ronde_list *list, const void *item,
                 size_t item_bytes)
{
    return ronde_list_append(plan->mem, list, item, item_bytes) || mscclpp_fail_memory(plan);
}

static bool read_tb(struct mscclpp_place *place, const json_t *object)
{
    struct mscclpp_plan *plan = place->plan;
    struct mscclpp_tb tb = {.first_act = plan->acts.count};
    place->tb = object;
    place->base.op = 0;
    if (!take_id(place, object, place->base.tb) || !read_ops(place, json_object_get(object, "ops")))
        return false;
    place->tb = NULL;
    tb.act_count = plan->acts.count - tb.first_act;
    return keep(plan, &plan->tbs, &tb, sizeof tb);
}

static bool read_semaphores(struct mscclpp_place *place, struct mscclpp_gpu *gpu)
{
    struct mscclpp_plan *plan = place->plan;
    size_t i;
    const json_t *object;
    gpu->first_semaphore = plan->semaphores.count;
    json_array_foreach(json_object_get(place->gpu, "semaphores"), i, object)
    {
        uint32_t value;
        if (!mscclpp_take(place, object, "init_value", &value) ||
            !keep(plan, &plan->semaphores, &(int32_t){(int32_t)value}, sizeof(int32_t)))
            return false;
        gpu->semaphore_count++;
    }
    return true;
}

static bool read_gpu(struct mscclpp_plan *plan, const json_t *object, uint32_t rank)
{
    static const char *const sizes[] = {"input_chunks", "output_chunks", "scratch_chunks"};
    struct mscclpp_place place = {.plan = plan, .gpu = object, .base = {.rank = rank}};
    struct mscclpp_gpu gpu = {.first_tb = plan->tbs.count};
    size_t t;
    const json_t *tb, *tbs = json_object_get(object, "threadblocks");
    if (!take_id(&place, object, rank))
        return false;
    for (unsigned b = 0; b < RONDE_BUFFER_COUNT; b++) {
        if (!mscclpp_take(&place, object, sizes[b], &gpu.chunks[b]))
            return false;
        gpu.chunks[b] *= plan->units;
    }
    if (!read_semaphores(&place, &gpu))
        return false;
    if (!json_is_array(tbs))
        return mscclpp_refuse(&place, RONDE_BAD_INPUT, "no list of threadblocks");
    json_array_foreach(tbs, t, tb)
    {
        place.base.tb = (uint32_t)t;
        if (!read_tb(&place, tb))
            return false;
        gpu.tb_count++;
    }
    return keep(plan, &plan->gpus, &gpu, sizeof gpu);
}

/* Whose outputs follow from the chunks alone: no field names a root. */
static bool read_collective(struct mscclpp_place *place, const json_t *root)
{
    static const struct {
        const char *word;
        enum ronde_collective collective;
    } words[] = {{"allreduce", RONDE_ALL_REDUCE},
                 {"allgather", RONDE_ALL_GATHER},
                 {"reducescatter", RONDE_REDUCE_SCATTER},
                 {"alltoall", RONDE_ALL_TO_ALL}};
    const char *text = json_string_value(json_object_get(root, "collective"));
    for (size_t i = 0; text && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, text) == 0) {
            place->plan->collective = words[i].collective;
            return true;
        }
    return mscclpp_refuse(place, text ? RONDE_UNSUPPORTED : RONDE_BAD_INPUT,
                          "collective is '%s', expected allreduce, allgather, reducescatter or "
                          "alltoall",
                          text ? text : "");
}

/* What the collective says of the buffers' sizes. */
static bool check_sizes(struct mscclpp_plan *plan)
{
    const struct mscclpp_place at = {.plan = plan};
    const struct ronde_collective_traits *traits = ronde_collective_traits(plan->collective);
    const uint32_t parts = mscclpp_parts(plan);
    const uint64_t in = (uint64_t)parts * (traits->in_per_rank ? plan->ranks : 1);
    const uint64_t out = (uint64_t)parts * (traits->out_per_rank ? plan->ranks : 1);
    if (parts == 0)
        return mscclpp_refuse(&at, RONDE_BAD_INPUT, "buffers without chunks");
    for (uint32_t g = 0; g < plan->ranks; g++) {
        const struct mscclpp_gpu *gpu = mscclpp_gpu_at(plan, g);
        if (gpu->chunks[RONDE_IN] != in || gpu->chunks[RONDE_OUT] != out)
            return mscclpp_refuse(&at, RONDE_BAD_INPUT,
                                  "gpu %" PRIu32 ": %" PRIu32 " input and %" PRIu32
                                  " output chunks, %s of %" PRIu32 " ranks has %" PRIu64
                                  " and %" PRIu64,
                                  g, gpu->chunks[RONDE_IN], gpu->chunks[RONDE_OUT],
                                  ronde_collective_text(plan->collective), plan->ranks, in, out);
    }
    return true;
}

/* Most parts of a chunk that groups of threadblocks share. */
#define MOST_UNITS 64u

/* The least number that all sizes of groups divide. */
static bool find_units(const struct mscclpp_place *place, const json_t *ops)
{
    size_t i;
    const json_t *op;
    json_array_foreach(ops, i, op)
    {
        uint32_t size = 1, step = place->plan->units;
        const json_t *group = json_object_get(op, "tbg_info");
        if (group && !mscclpp_take(place, group, "tbg_size", &size))
            return false;
        while (size > 0 && place->plan->units % size != 0 && place->plan->units <= MOST_UNITS)
            place->plan->units += step;
        if (size == 0 || place->plan->units > MOST_UNITS)
            return mscclpp_refuse(place, RONDE_UNSUPPORTED,
                                  "groups of threadblocks that share a chunk in more than %u parts",
                                  MOST_UNITS);
        if (json_object_get(op, "iter_context") && !find_units(place, json_object_get(op, "ops")))
            return false;
    }
    return true;
}

static bool find_all_units(const struct mscclpp_place *place, const json_t *gpus)
{
    size_t g, t;
    const json_t *gpu, *tb;
    place->plan->units = 1;
    json_array_foreach(gpus, g, gpu)
    {
        json_array_foreach(json_object_get(gpu, "threadblocks"), t, tb)
        {
            if (!find_units(place, json_object_get(tb, "ops")))
                return false;
        }
    }
    return true;
}

static bool read_root(struct mscclpp_plan *plan, const json_t *root)
{
    struct mscclpp_place place = {.plan = plan};
    const json_t *gpus = json_object_get(root, "gpus");
    const char *name = json_string_value(json_object_get(root, "name"));
    size_t g;
    const json_t *gpu;
    if (!read_collective(&place, root))
        return false;
    (void)snprintf(plan->name, sizeof plan->name, "%s", name ? name : "mscclpp");
    plan->is_in_place = json_is_true(json_object_get(root, "inplace"));
    if (plan->is_in_place && !ronde_collective_traits(plan->collective)->has_in_place)
        return mscclpp_refuse(&place, RONDE_UNSUPPORTED, "%s has no form in place",
                              ronde_collective_text(plan->collective));
    if (!json_is_array(gpus) || json_array_size(gpus) == 0 || json_array_size(gpus) > MOST_RANKS)
        return mscclpp_refuse(&place, RONDE_BAD_INPUT, "gpus is no list of 1 to %u", MOST_RANKS);
    plan->ranks = (uint32_t)json_array_size(gpus);
    if (!find_all_units(&place, gpus))
        return false;
    json_array_foreach(gpus, g, gpu)
    {
        if (!read_gpu(plan, gpu, (uint32_t)g))
            return false;
    }
    return check_sizes(plan);
}

bool mscclpp_parse(const char *text, size_t bytes, struct mscclpp_plan *plan)
{
    json_error_t why;
    json_t *root = json_loadb(text, bytes, JSON_DECODE_INT_AS_REAL, &why);
    const int line = why.line > 0 ? why.line : 1;
    if (!root)
        (void)ronde_fail_at(plan->error, RONDE_BAD_INPUT, (uint32_t)line,
                            "%s:%d: not well-formed JSON: %s", plan->path, line, why.text);
    const bool is_read = root && read_root(plan, root);
    json_decref(root);
    return is_read;
}

bool ronde_mscclpp_available(const char **out_reason)
{
    *out_reason = "jansson " JANSSON_VERSION;
    return true;
}
