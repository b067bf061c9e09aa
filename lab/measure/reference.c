/* Checking in windows. See reference.h. */
#include "reference.h"

#include "ronde/hw.h"
#include "ronde/ir.h"
#include "ronde/split.h"

#include <string.h>

/* The definitions: which block goes where, and what is added up. Slow and obvious on purpose. */

/* A collective on memory. */
struct scene {
    const struct ronde_memory *memory;
    const struct ronde_input_range *shape;
    uint32_t element; /* bytes */
};

static unsigned char *block_of(const struct scene *scene, void *const *buffers, uint32_t rank,
                               uint32_t block)
{
    return (unsigned char *)buffers[rank] + scene->shape->count * scene->element * block;
}

static void copy_block(const struct scene *scene, uint32_t to_rank, uint32_t to_block,
                       uint32_t from_rank, uint32_t from_block)
{
    memcpy(block_of(scene, scene->memory->out, to_rank, to_block),
           block_of(scene, scene->memory->in, from_rank, from_block),
           scene->shape->count * scene->element);
}

/* What a rank contributes to an element. */
static double contribution(const struct scene *scene, uint32_t rank, uint32_t block, uint64_t i)
{
    const struct ronde_input_range *shape = scene->shape;
    const unsigned char *in = block_of(scene, scene->memory->in, rank, block);
    const double value = ronde_element_load(shape->dtype, in + i * scene->element);
    if (shape->op != RONDE_PREMUL_SUM)
        return value;
    const unsigned char *factors = scene->memory->factors;
    return value * ronde_element_load(shape->dtype, factors + (size_t)rank * scene->element);
}

/* The bitwise operators on whole numbers, which truth values are too: 0 or 1. */
static double combine_bits(enum ronde_op op, int64_t a, int64_t b)
{
    if (op == RONDE_BAND)
        return (double)(a & b);
    return (double)(op == RONDE_BOR ? a | b : a ^ b);
}

/* Sums of truth values are above 1: storing them makes them 1 again. */
static double combine(enum ronde_op op, double a, double b)
{
    switch (op) {
    case RONDE_SUM:
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
        return a + b;
    case RONDE_PROD:
        return a * b;
    case RONDE_MIN:
        return a < b ? a : b;
    case RONDE_MAX:
        return a > b ? a : b;
    case RONDE_BAND:
    case RONDE_BOR:
    case RONDE_BXOR:
        return combine_bits(op, (int64_t)a, (int64_t)b);
    case RONDE_OP_COUNT:
        break;
    }
    return 0.0;
}

/* One block of all inputs, combined into block 0 of the output of one rank. */
static void combine_block(const struct scene *scene, uint32_t to_rank, uint32_t block)
{
    const struct ronde_input_range *shape = scene->shape;
    unsigned char *out = block_of(scene, scene->memory->out, to_rank, 0);
    for (uint64_t i = 0; i < shape->count; i++) {
        double result = contribution(scene, 0, block, i);
        for (uint32_t rank = 1; rank < shape->ranks; rank++)
            result = combine(shape->op, result, contribution(scene, rank, block, i));
        if (shape->op == RONDE_AVG)
            result /= shape->ranks;
        ronde_element_store(shape->dtype, out + i * scene->element, result);
    }
}

/* Every rank's result is the same; adding it up once for each would only take N times as long. */
static void all_reduce(const struct scene *scene)
{
    void *const *out = scene->memory->out;
    combine_block(scene, 0, 0);
    for (uint32_t rank = 1; rank < scene->shape->ranks; rank++)
        memcpy(out[rank], out[0], scene->shape->count * scene->element);
}

/* Block b of the output is `from_block` of rank b's input. */
static void collect(const struct scene *scene, uint32_t rank, uint32_t from_block)
{
    for (uint32_t b = 0; b < scene->shape->ranks; b++)
        copy_block(scene, rank, b, b, from_block);
}

/* The output of one rank. */
static void run_rank(const struct scene *scene, uint32_t rank, uint32_t source)
{
    const struct ronde_input_range *shape = scene->shape;
    switch (shape->collective) {
    case RONDE_BROADCAST:
        copy_block(scene, rank, 0, shape->root, 0);
        break;
    case RONDE_SCATTER:
        copy_block(scene, rank, 0, shape->root, rank);
        break;
    case RONDE_GATHER:
        if (rank == shape->root)
            collect(scene, rank, 0);
        break;
    case RONDE_ALL_GATHER:
        collect(scene, rank, 0);
        break;
    case RONDE_REDUCE:
        if (rank == shape->root)
            combine_block(scene, rank, 0);
        break;
    case RONDE_REDUCE_SCATTER:
        combine_block(scene, rank, rank);
        break;
    case RONDE_ALL_TO_ALL:
        collect(scene, rank, rank);
        break;
    case RONDE_SEND_RECV:
        if (source != RONDE_NONE)
            copy_block(scene, rank, 0, source, 0);
        break;
    case RONDE_ALL_REDUCE: /* all ranks at once */
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
}

void ronde_definition_run(const struct ronde_memory *memory, const struct ronde_input_range *shape,
                          const uint32_t *source_of)
{
    const struct scene scene = {memory, shape, ronde_dtype_bytes(shape->dtype)};
    if (shape->count == 0)
        return;
    if (shape->collective == RONDE_ALL_REDUCE)
        all_reduce(&scene);
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        run_rank(&scene, rank,
                 source_of ? source_of[rank] : (rank + shape->ranks - 1) % shape->ranks);
}

/* All buffers of a window together: they should stay in the caches. */
#define WINDOW_BYTES ((uint64_t)4 << 20)

/* Where a chunk lies in a block, and where in a block of a window. */
struct ronde_window_cut {
    struct ronde_extent whole;
    struct ronde_extent window;
};

static uint32_t in_blocks(const struct ronde_input_range *shape)
{
    return ronde_collective_in_blocks(shape->collective, shape->ranks);
}

static uint32_t out_blocks(const struct ronde_input_range *shape)
{
    return ronde_collective_out_blocks(shape->collective, shape->ranks);
}

/*
 * Elements of a block of a window. A multiple of what gives every chunk of every channel a grain for each of the
 * channel's weights, so that all chunks of a channel are alike; no more than it takes to hold everything.
 */
static uint64_t window_count(const struct ronde_schedule *schedule,
                             const struct ronde_input_range *shape)
{
    const uint32_t element_bytes = ronde_dtype_bytes(shape->dtype);
    const uint64_t least = (uint64_t)schedule->chunks_per_block * schedule->weight_total *
                           (RONDE_GRAIN_BYTES / element_bytes);
    const uint64_t least_bytes =
        least * element_bytes * shape->ranks * (in_blocks(shape) + out_blocks(shape));
    const uint64_t needed = ronde_round_up(shape->count, least) / least;
    const uint64_t fitting = least_bytes == 0 ? 1 : WINDOW_BYTES / least_bytes;
    const uint64_t times = needed < fitting ? needed : fitting;
    return least * (times > 0 ? times : 1);
}

/* How many windows a chunk takes. */
static uint64_t windows_of(const struct ronde_window_cut *cut)
{
    return ronde_round_up(cut->whole.count, cut->window.count) / cut->window.count;
}

static enum ronde_status cut_blocks(struct ronde_reference *reference, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = reference->benchmark->schedule;
    const uint32_t element_bytes = ronde_dtype_bytes(reference->shape.dtype);
    reference->cut_count = schedule->channel_count * schedule->chunks_per_block;
    reference->cuts =
        ronde_mem_new(ronde_mem_default(), reference->cut_count, sizeof *reference->cuts);
    if (!reference->cuts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to check %u chunks",
                          reference->cut_count);
    for (uint32_t i = 0; i < reference->cut_count; i++) {
        const uint32_t channel = i / schedule->chunks_per_block;
        const uint32_t part = i % schedule->chunks_per_block;
        const struct ronde_slice whole =
            ronde_slice_of(schedule, channel, reference->benchmark->shape.count, element_bytes);
        const struct ronde_slice window =
            ronde_slice_of(schedule, channel, reference->shape.count, element_bytes);
        struct ronde_window_cut *cut = &reference->cuts[i];
        cut->whole = ronde_slice_chunk(&whole, part);
        cut->window = ronde_slice_chunk(&window, part);
        if (windows_of(cut) > reference->windows)
            reference->windows = windows_of(cut);
    }
    return RONDE_OK;
}

/* The values that every rank's input repeats. */
static enum ronde_status make_periods(struct ronde_reference *reference, struct ronde_error *error)
{
    const struct ronde_input_range *shape = &reference->benchmark->shape;
    reference->period = ronde_pattern_period((size_t)shape->count * in_blocks(shape));
    reference->period_bytes = reference->period * ronde_dtype_bytes(shape->dtype);
    reference->periods = ronde_mem_new(ronde_mem_default(), shape->ranks, reference->period_bytes);
    if (!reference->periods)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the inputs of %u ranks",
                          shape->ranks);
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        ronde_pattern_begin(ronde_reference_pattern(reference->benchmark), shape, rank,
                            reference->period, reference->periods + rank * reference->period_bytes);
    return RONDE_OK;
}

static enum ronde_status load_host(struct ronde_reference *reference, struct ronde_error *error)
{
    const struct ronde_backend *host = &ronde_backend_host;
    struct ronde_machine machine = {0};
    RONDE_TRY(host->probe(&machine, error));
    RONDE_TRY(host->open(&machine, ronde_mem_default(), &reference->host, error));
    return host->load(reference->host, reference->benchmark->schedule, &reference->program, error);
}

enum ronde_status ronde_reference_open(const struct ronde_benchmark *benchmark,
                                       struct ronde_reference *out_reference,
                                       struct ronde_error *error)
{
    *out_reference = (struct ronde_reference){.benchmark = benchmark, .shape = benchmark->shape};
    out_reference->shape.count = window_count(benchmark->schedule, &benchmark->shape);
    RONDE_TRY(cut_blocks(out_reference, error));
    RONDE_TRY(make_periods(out_reference, error));
    RONDE_TRY(ronde_memory_create(&out_reference->shape, &out_reference->memory, error));
    /* The definition copies, so it always has both buffers; host has what the schedule needs. */
    const bool is_defined = ronde_benchmark_is_specification(benchmark);
    ronde_memory_view(&out_reference->memory, &out_reference->shape,
                      !is_defined && !ronde_schedule_has_form(benchmark->schedule, false));
    return is_defined ? RONDE_OK : load_host(out_reference, error);
}

/* What a window holds of a chunk of a block. */
struct glimpse {
    size_t whole;    /* element of the buffer where it begins */
    size_t window;   /* of the window's */
    size_t elements; /* 0 where the chunk has ended before */
};

static struct glimpse look(const struct ronde_reference *reference, uint64_t window, uint32_t block,
                           const struct ronde_window_cut *cut)
{
    const uint64_t skip = window * cut->window.count;
    const uint64_t left = skip < cut->whole.count ? cut->whole.count - skip : 0;
    return (struct glimpse){.whole = (size_t)(block * reference->benchmark->shape.count +
                                              cut->whole.first + skip),
                            .window = (size_t)(block * reference->shape.count + cut->window.first),
                            .elements =
                                (size_t)(left < cut->window.count ? left : cut->window.count)};
}

/* A rank's input, as far as the window shows it. What is beyond a chunk's end is left over, and compared by nobody. */
static void fill_rank(const struct ronde_reference *reference, uint64_t window, uint32_t rank)
{
    const size_t element_bytes = ronde_dtype_bytes(reference->shape.dtype);
    const unsigned char *period = reference->periods + rank * reference->period_bytes;
    char *in = reference->memory.in[rank];
    for (uint32_t block = 0; block < in_blocks(&reference->shape); block++)
        for (uint32_t i = 0; i < reference->cut_count; i++) {
            const struct glimpse glimpse = look(reference, window, block, &reference->cuts[i]);
            ronde_pattern_read(period, reference->period, element_bytes, glimpse.whole,
                               glimpse.elements, in + glimpse.window * element_bytes);
        }
}

/* The same schedule on the specification, in order: its own interleavings are its tests' business. */
static enum ronde_status run_host(const struct ronde_reference *reference, struct ronde_error *error)
{
    struct ronde_launch launch = reference->benchmark->launch;
    struct ronde_result result = {0};
    void *run = NULL;
    launch.count = reference->shape.count;
    launch.in = reference->memory.in;
    launch.out = reference->memory.out;
    launch.factors = reference->memory.factors;
    launch.seed = 0;
    launch.protocol = RONDE_PROTOCOL_STAGED;
    launch.timeout_ns = 0;
    RONDE_TRY(ronde_backend_host.run(reference->program, &launch, &run, error));
    return ronde_backend_host.wait(run, &result, error);
}

/* What the outputs of a window should be. */
static enum ronde_status expect(const struct ronde_reference *reference, uint64_t window,
                                struct ronde_error *error)
{
    /* In place, what is not input is poisoned. */
    ronde_memory_poison(&reference->memory, &reference->shape);
    for (uint32_t rank = 0; rank < reference->shape.ranks; rank++)
        fill_rank(reference, window, rank);
    if (reference->program)
        return run_host(reference, error);
    ronde_definition_run(&reference->memory, &reference->shape,
                         reference->benchmark->schedule->source_of);
    return RONDE_OK;
}

/* Equal stretches, the usual case, cost one comparison. */
static uint64_t count_wrong(const char *got, const char *expected, size_t element_bytes,
                            size_t elements)
{
    uint64_t wrong = 0;
    if (memcmp(got, expected, elements * element_bytes) == 0)
        return 0;
    for (size_t at = 0; at < elements * element_bytes; at += element_bytes)
        wrong += memcmp(got + at, expected + at, element_bytes) != 0;
    return wrong;
}

static uint64_t compare_rank(const struct ronde_reference *reference, uint64_t window, uint32_t rank)
{
    const size_t element_bytes = ronde_dtype_bytes(reference->shape.dtype);
    const char *got = reference->benchmark->memory->out[rank];
    const char *expected = reference->memory.out[rank];
    uint64_t wrong = 0;
    for (uint32_t block = 0; block < out_blocks(&reference->shape); block++)
        for (uint32_t i = 0; i < reference->cut_count; i++) {
            const struct glimpse glimpse = look(reference, window, block, &reference->cuts[i]);
            wrong += count_wrong(got + glimpse.whole * element_bytes,
                                 expected + glimpse.window * element_bytes, element_bytes,
                                 glimpse.elements);
        }
    return wrong;
}

enum ronde_status ronde_reference_wrong(struct ronde_reference *reference, uint64_t *out_wrong,
                                        struct ronde_error *error)
{
    const struct ronde_input_range *shape = &reference->shape;
    const bool is_at_root = ronde_collective_traits(shape->collective)->out_at_root;
    uint64_t wrong = 0;
    for (uint64_t window = 0; window < reference->windows; window++) {
        RONDE_TRY(expect(reference, window, error));
        for (uint32_t rank = 0; rank < shape->ranks; rank++)
            if ((!is_at_root || rank == shape->root) &&
                ronde_memory_has(reference->benchmark->memory, rank))
                wrong += compare_rank(reference, window, rank);
    }
    *out_wrong = wrong;
    return RONDE_OK;
}

enum ronde_pattern ronde_reference_pattern(const struct ronde_benchmark *benchmark)
{
    return ronde_benchmark_is_specification(benchmark) ? RONDE_PATTERN_EXACT : RONDE_PATTERN_ANY;
}

void ronde_reference_close(struct ronde_reference *reference)
{
    const struct ronde_mem *mem = ronde_mem_default();
    if (reference->program)
        ronde_backend_host.unload(reference->program);
    if (reference->host)
        ronde_backend_host.close(reference->host);
    ronde_memory_destroy(&reference->memory);
    ronde_mem_free(mem, reference->periods, reference->shape.ranks, reference->period_bytes);
    ronde_mem_free(mem, reference->cuts, reference->cut_count, sizeof *reference->cuts);
    *reference = (struct ronde_reference){0};
}

bool ronde_benchmark_is_specification(const struct ronde_benchmark *benchmark)
{
    return benchmark->target->backend == &ronde_backend_host;
}
