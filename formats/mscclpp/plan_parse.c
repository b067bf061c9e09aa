/* The JSON of an MSCCL++ plan: ranks, threadblocks, and what they have. See plan_parse.h. */
#include "plan_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number of a rank or threadblock, which has to be the one that is due. */
static bool take_id(const struct mscclpp_place *place, const json_t *object, uint32_t due)
{
    uint32_t id = 0;
    return mscclpp_take(place, object, "id", &id) &&
           (id == due || mscclpp_refuse(place, RONDE_BAD_INPUT,
                                        "id %" PRIu32 " where %" PRIu32 " is due", id, due));
}

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
