/** The builder's public face: collects facts, keeps the first error. */
#include "arena.h"
#include "derive.h"
#include "finish.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum ronde_status check_request(const struct ronde_compile_request *request,
                                       struct ronde_error *error)
{
    if (request->ranks == 0 || request->ranks > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "ranks %u is outside 1 .. %u", request->ranks,
                          RONDE_MAX_RANKS);
    if ((unsigned)request->collective >= RONDE_COLLECTIVE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "collective %u does not exist",
                          (unsigned)request->collective);
    if (request->root >= request->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "root %u is not below ranks %u", request->root,
                          request->ranks);
    if (request->channel_orders && (request->order || request->channels == 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "orders for each of %u channels%s: say how many channels, and no order "
                          "for all of them",
                          request->channels, request->order ? " and one for all" : "");
    uint64_t product = 1;
    for (uint32_t i = 0; i < request->shape_count && i < RONDE_MAX_SHAPE; i++)
        product = product > RONDE_MAX_RANKS ? product : product * request->shape[i];
    if (request->shape_count > RONDE_MAX_SHAPE ||
        (request->shape_count > 0 && product != request->ranks))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a shape of %u digits multiplies to %llu, not to %u ranks",
                          request->shape_count, (unsigned long long)product, request->ranks);
    return RONDE_OK;
}

/** Copies each rank's source; false when there is no memory. */
static bool copy_sources(struct ronde_schedule *schedule,
                         const struct ronde_compile_request *request)
{
    if (request->collective != RONDE_SEND_RECV || !request->source_of)
        return true;
    schedule->source_of =
        ronde_arena_new(schedule->arena, request->ranks, sizeof *schedule->source_of);
    if (!schedule->source_of)
        return false;
    memcpy(schedule->source_of, request->source_of, request->ranks * sizeof *request->source_of);
    return true;
}

/**
 * Where positions are before any algorithm turns them: as in the request, else the root moved to
 * position 0.
 */
static bool make_base_orders(struct ronde_builder *builder,
                             const struct ronde_compile_request *request)
{
    const bool is_rooted = ronde_collective_traits(request->collective)->has_root;
    const uint32_t *given = request->channel_orders ? request->channel_orders : request->order;
    if (!given && !(is_rooted && request->root != 0))
        return true;
    builder->base_order_count = request->channel_orders ? request->channels : 1;
    const size_t count = (size_t)builder->base_order_count * request->ranks;
    builder->base_orders = ronde_arena_new(builder->schedule->arena, count, sizeof(uint32_t));
    if (!builder->base_orders)
        return false;
    for (size_t i = 0; i < count; i++)
        builder->base_orders[i] =
            given ? given[i] : (uint32_t)(((uint64_t)i + request->root) % request->ranks);
    return true;
}

/** Copies an order; NULL stays the identity. */
static bool copy_order(struct ronde_builder *builder, const uint32_t *order, uint32_t **out_order)
{
    const uint32_t ranks = builder->schedule->ranks;
    *out_order = NULL;
    if (!order)
        return true;
    *out_order = ronde_arena_new(builder->schedule->arena, ranks, sizeof **out_order);
    if (*out_order)
        memcpy(*out_order, order, ranks * sizeof *order);
    return *out_order != NULL;
}

static void append_channel(struct ronde_builder *builder, uint32_t weight, const uint32_t *order)
{
    struct ronde_schedule *schedule = builder->schedule;
    struct ronde_channel channel = {.weight = weight};
    uint32_t *copy = NULL;
    if (!copy_order(builder, order, &copy) ||
        !ronde_mem_grow(builder->mem, &builder->channels, &builder->channel_capacity,
                        (size_t)schedule->channel_count + 1, sizeof channel)) {
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for channel %u",
                           schedule->channel_count);
        return;
    }
    channel.order = copy;
    builder->channels[schedule->channel_count++] = channel;
}

static void fill_header(struct ronde_schedule *schedule, const struct ronde_compile_request *request)
{
    schedule->collective = request->collective;
    snprintf(schedule->algorithm, sizeof schedule->algorithm, "%s",
             request->algorithm ? request->algorithm : "custom");
    schedule->ranks = request->ranks;
    schedule->root = ronde_collective_traits(request->collective)->has_root ? request->root : 0;
    schedule->chunks_per_block = 1;
}

enum ronde_status ronde_builder_create(const struct ronde_compile_request *request,
                                       const struct ronde_mem *mem,
                                       struct ronde_builder **out_builder, struct ronde_error *error)
{
    *out_builder = NULL;
    RONDE_TRY(check_request(request, error));
    struct ronde_builder *builder = ronde_mem_new(mem, 1, sizeof *builder);
    if (!builder)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a builder");
    builder->mem = mem;
    enum ronde_status status = ronde_raw_create(mem, &builder->schedule, error);
    if (status == RONDE_OK &&
        (!make_base_orders(builder, request) || !copy_sources(builder->schedule, request)))
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for an order of %u ranks",
                            request->ranks);
    if (status != RONDE_OK) {
        ronde_builder_destroy(builder);
        return status;
    }
    fill_header(builder->schedule, request);
    const uint32_t channels = request->channels ? request->channels : 1;
    for (uint32_t k = 0; k < channels; k++)
        append_channel(builder, 1, NULL);
    /* No fact has been stated yet: errors so far are this function's to report. */
    if (builder->error.status != RONDE_OK) {
        status = ronde_fail(error, builder->error.status, "%s", builder->error.message);
        ronde_builder_destroy(builder);
        return status;
    }
    *out_builder = builder;
    return RONDE_OK;
}

void ronde_builder_destroy(struct ronde_builder *builder)
{
    if (!builder)
        return;
    ronde_schedule_destroy(builder->schedule);
    ronde_mem_free(builder->mem, builder->facts, builder->fact_capacity, sizeof *builder->facts);
    ronde_mem_free(builder->mem, builder->channels, builder->channel_capacity,
                   sizeof *builder->channels);
    ronde_mem_free(builder->mem, builder, 1, sizeof *builder);
}

void ronde_builder_fail(struct ronde_builder *builder, enum ronde_status status, const char *format,
                        ...)
{
    if (builder->error.status != RONDE_OK)
        return;
    char message[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ronde_fail(&builder->error, status, "%s", message);
}

/** Whether the builder has no error yet, and no fact was stated that the call would change. */
static bool is_open(struct ronde_builder *builder, const char *what)
{
    if (builder->error.status == RONDE_OK && builder->fact_count > 0)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT, "%s must be declared before any fact", what);
    return builder->error.status == RONDE_OK;
}

void ronde_builder_chunks(struct ronde_builder *builder, uint32_t chunks_per_block)
{
    if (!is_open(builder, "chunks"))
        return;
    const struct ronde_schedule *schedule = builder->schedule;
    const uint32_t blocks = ronde_collective_most_blocks(schedule->collective, schedule->ranks);
    const uint64_t total = (uint64_t)chunks_per_block * blocks;
    if (chunks_per_block == 0 || total >= RONDE_NONE)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT,
                           "chunks per block %u: 1 .. 2^32 / blocks are possible", chunks_per_block);
    builder->schedule->chunks_per_block = chunks_per_block;
}

void ronde_builder_scratch(struct ronde_builder *builder, uint32_t chunks)
{
    if (is_open(builder, "scratch"))
        builder->scratch_chunks = chunks;
}

static void declare(struct ronde_builder *builder, enum ronde_symmetry symmetry, bool in, bool out,
                    bool scratch)
{
    if (!is_open(builder, "symmetry"))
        return;
    builder->schedule->symmetry = symmetry;
    builder->schedule->rotates[RONDE_IN] = in;
    builder->schedule->rotates[RONDE_OUT] = out;
    builder->schedule->rotates[RONDE_SCRATCH] = scratch;
}

void ronde_builder_channel(struct ronde_builder *builder, uint32_t weight, const uint32_t *order)
{
    if (!is_open(builder, "channels"))
        return;
    if (!builder->has_own_channels)
        builder->schedule->channel_count = 0;
    builder->has_own_channels = true;
    append_channel(builder, weight, order);
}

void ronde_builder_rotate(struct ronde_builder *builder, bool in, bool out, bool scratch)
{
    declare(builder, RONDE_SYMMETRY_ROTATE, in, out, scratch);
}

void ronde_builder_xor(struct ronde_builder *builder, bool in, bool out, bool scratch)
{
    const uint32_t ranks = builder->schedule->ranks;
    declare(builder, RONDE_SYMMETRY_XOR, in, out, scratch);
    if ((ranks & (ranks - 1)) != 0)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT,
                           "xor symmetry needs a power of two, %u ranks are none", ranks);
}

void ronde_builder_rotate_shape(struct ronde_builder *builder, const uint32_t *radices,
                                uint32_t digits)
{
    if (!is_open(builder, "a shape"))
        return;
    uint64_t product = 1;
    for (uint32_t i = 0; i < digits && i < RONDE_MAX_SHAPE && product <= RONDE_MAX_RANKS; i++) {
        builder->schedule->shape[i] = radices[i];
        product *= radices[i];
    }
    builder->schedule->shape_count = digits;
    if (digits == 0 || digits > RONDE_MAX_SHAPE || product != builder->schedule->ranks)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT,
                           "a shape of %u digits does not multiply to %u ranks", digits,
                           builder->schedule->ranks);
}

/** Chunks of a buffer while building. */
static uint32_t buffer_chunks(const struct ronde_builder *builder, enum ronde_buffer buffer)
{
    const struct ronde_program shape = {.scratch_chunks = builder->scratch_chunks};
    return ronde_schedule_chunks(builder->schedule, &shape, buffer);
}

/** Messages of a barrier are empty: its operands are ignored. */
static bool is_signal(const struct ronde_builder *builder)
{
    return builder->schedule->collective == RONDE_BARRIER;
}

/** Chunks from the first of a strided operand to its last. */
static uint64_t span_of(struct ronde_operand operand)
{
    const uint32_t last = operand.count - 1;
    return (uint64_t)(last / operand.run) * operand.stride + last % operand.run + 1;
}

/**
 * Refuses an operand that does not fit its buffer, or that names a chunk twice: runs must not overlap, nor the last one
 * reach round to the first.
 */
static bool check_operand(struct ronde_builder *builder, const char *what,
                          struct ronde_operand operand)
{
    const uint32_t chunks = buffer_chunks(builder, operand.buffer);
    if (is_signal(builder))
        return true;
    if (operand.count == 0 || operand.count > chunks || operand.first >= chunks)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT,
                           "fact %zu: %s chunks %u+%u do not fit the %u of the buffer",
                           builder->fact_count, what, operand.first, operand.count, chunks);
    else if (operand.run > 0 && operand.run < operand.count &&
             (operand.stride < operand.run || span_of(operand) > chunks))
        ronde_builder_fail(
            builder, RONDE_BAD_ARGUMENT,
            "fact %zu: %s runs of %u chunks, %u apart, meet among the %u of the buffer",
            builder->fact_count, what, operand.run, operand.stride, chunks);
    return builder->error.status == RONDE_OK;
}

/** One form for one set of chunks: runs that touch are contiguous. */
static void make_canonical(struct ronde_operand *operand)
{
    if (operand->run == 0 || operand->run >= operand->count || operand->stride == operand->run) {
        operand->run = 0;
        operand->stride = 0;
    }
}

static void add_fact(struct ronde_builder *builder, const struct ronde_fact *fact)
{
    const struct ronde_transfer *transfer = &fact->transfer;
    const uint32_t count = transfer->target.count;
    const bool is_source_right = transfer->source.count == count;
    if (!is_signal(builder) &&
        (!is_source_right || (transfer->reduces && transfer->with.count != count))) {
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT, "fact %zu: operands of %u and %u chunks",
                           builder->fact_count,
                           is_source_right ? transfer->with.count : transfer->source.count, count);
        return;
    }
    if (!ronde_mem_grow(builder->mem, &builder->facts, &builder->fact_capacity,
                        builder->fact_count + 1, sizeof *builder->facts)) {
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for fact %zu", builder->fact_count);
        return;
    }
    struct ronde_fact *kept = &builder->facts[builder->fact_count++];
    *kept = *fact;
    kept->round = builder->is_in_round ? builder->rounds : 0;
    make_canonical(&kept->transfer.source);
    make_canonical(&kept->transfer.with);
    make_canonical(&kept->transfer.target);
    if (is_signal(builder)) {
        kept->transfer.source = ronde_chunks(RONDE_IN, 0, 0);
        kept->transfer.target = ronde_chunks(RONDE_OUT, 0, 0);
    }
}

void ronde_builder_transfer(struct ronde_builder *builder, const struct ronde_transfer *transfer)
{
    if (builder->error.status != RONDE_OK)
        return;
    const uint32_t ranks = builder->schedule->ranks;
    const bool is_symmetric = builder->schedule->symmetry != RONDE_SYMMETRY_NONE;
    if (transfer->from >= ranks || transfer->to >= ranks || transfer->from == transfer->to ||
        (is_symmetric && transfer->from != 0)) {
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT,
                           "fact %zu: no message can go from position %u to %u of %u",
                           builder->fact_count, transfer->from, transfer->to, ranks);
        return;
    }
    if (!check_operand(builder, "source", transfer->source) ||
        !check_operand(builder, "target", transfer->target) ||
        (transfer->reduces && !check_operand(builder, "local", transfer->with)))
        return;
    const struct ronde_fact fact = {.kind = RONDE_FACT_TRANSFER, .transfer = *transfer};
    add_fact(builder, &fact);
}

void ronde_builder_message(struct ronde_builder *builder, uint32_t from, uint32_t to, uint32_t lane,
                           struct ronde_operand source, struct ronde_operand target)
{
    const struct ronde_transfer transfer = {.from = from,
                                            .to = to,
                                            .from_lane = lane,
                                            .to_lane = lane,
                                            .source = source,
                                            .target = target};
    ronde_builder_transfer(builder, &transfer);
}

void ronde_builder_reduction(struct ronde_builder *builder, uint32_t from, uint32_t to,
                             struct ronde_operand source, struct ronde_operand with,
                             struct ronde_operand target)
{
    const struct ronde_transfer transfer = {
        .from = from, .to = to, .source = source, .with = with, .target = target, .reduces = true};
    ronde_builder_transfer(builder, &transfer);
}

void ronde_builder_round_begin(struct ronde_builder *builder)
{
    if (builder->is_in_round)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT, "fact %zu: rounds do not nest",
                           builder->fact_count);
    builder->is_in_round = true;
    builder->rounds++;
}

void ronde_builder_round_end(struct ronde_builder *builder)
{
    if (!builder->is_in_round)
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT, "fact %zu: there is no round to end",
                           builder->fact_count);
    builder->is_in_round = false;
}

const struct ronde_mem *ronde_builder_mem(const struct ronde_builder *builder)
{
    return builder->mem;
}

static void add_local(struct ronde_builder *builder, enum ronde_fact_kind kind, uint32_t position,
                      uint32_t lane, struct ronde_operand source, struct ronde_operand target)
{
    const struct ronde_fact fact = {
        .kind = kind,
        .transfer = {.from = position, .from_lane = lane, .source = source, .target = target}};
    if (builder->error.status != RONDE_OK)
        return;
    if (position >= builder->schedule->ranks ||
        (builder->schedule->symmetry != RONDE_SYMMETRY_NONE && position != 0))
        ronde_builder_fail(builder, RONDE_BAD_ARGUMENT, "fact %zu: there is no position %u",
                           builder->fact_count, position);
    else if (check_operand(builder, "source", source) && check_operand(builder, "target", target))
        add_fact(builder, &fact);
}

void ronde_builder_copy(struct ronde_builder *builder, uint32_t position, uint32_t lane,
                        struct ronde_operand source, struct ronde_operand target)
{
    add_local(builder, RONDE_FACT_COPY, position, lane, source, target);
}

void ronde_builder_reduce(struct ronde_builder *builder, uint32_t position, uint32_t lane,
                          struct ronde_operand source, struct ronde_operand target)
{
    add_local(builder, RONDE_FACT_REDUCE, position, lane, source, target);
}

/** An algorithm's order read through the base order of its channel; either may be NULL, the identity. */
static bool compose_order(const struct ronde_builder *builder, const uint32_t *base,
                          const uint32_t **order)
{
    const uint32_t ranks = builder->schedule->ranks;
    const uint32_t *own = *order;
    if (!base || !own) {
        *order = own ? own : base;
        return true;
    }
    uint32_t *composed = ronde_arena_new(builder->schedule->arena, ranks, sizeof *composed);
    if (!composed)
        return false;
    /* What is no position stays as it is, for the check to name. */
    for (uint32_t q = 0; q < ranks; q++)
        composed[q] = own[q] < ranks ? base[own[q]] : own[q];
    *order = composed;
    return true;
}

/** Only now is it known how many channels the algorithm makes of each one requested. */
static bool compose_orders(struct ronde_builder *builder)
{
    const struct ronde_schedule *schedule = builder->schedule;
    for (uint32_t k = 0; builder->base_orders && k < schedule->channel_count; k++) {
        const uint64_t which = (uint64_t)k * builder->base_order_count / schedule->channel_count;
        const uint32_t *base = builder->base_orders + which * schedule->ranks;
        if (!compose_order(builder, base, &builder->channels[k].order))
            return false;
    }
    return true;
}

/** Moves the channels into the schedule's arena. */
static enum ronde_status settle_channels(struct ronde_builder *builder, struct ronde_error *error)
{
    struct ronde_schedule *schedule = builder->schedule;
    schedule->channels =
        ronde_arena_new(schedule->arena, schedule->channel_count, sizeof *schedule->channels);
    if (!schedule->channels || !compose_orders(builder))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u channels",
                          schedule->channel_count);
    memcpy(schedule->channels, builder->channels,
           schedule->channel_count * sizeof *schedule->channels);
    return RONDE_OK;
}

enum ronde_status ronde_schedule_finish(struct ronde_builder *builder, struct ronde_proof *out_proof,
                                        struct ronde_schedule **out_schedule,
                                        struct ronde_error *error)
{
    *out_schedule = NULL;
    if (out_proof)
        memset(out_proof, 0, sizeof *out_proof);
    enum ronde_status status = builder->error.status;
    if (status != RONDE_OK)
        ronde_fail(error, status, "%s", builder->error.message);
    RONDE_THEN(status, settle_channels(builder, error));
    RONDE_THEN(status, ronde_derive(builder, error));
    RONDE_THEN(status, ronde_finish_raw(builder->schedule, out_proof, error));
    if (status == RONDE_OK) {
        *out_schedule = builder->schedule;
        builder->schedule = NULL;
    }
    ronde_builder_destroy(builder);
    return status;
}
