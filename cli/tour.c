/*
 * The tour. The examples are those of the collective cheatsheet that many people learnt from;
 * inputs and expected
 * results are written as formulas of (rank, element), independent of any schedule.
 */
#include "tour.h"

#include "common.h"
#include "trial.h"

#include <inttypes.h>
#include <string.h>

/* What rank `rank` holds in element `i`, or shall hold. */
typedef int32_t (*element_of)(uint32_t rank, uint32_t i);

/* One example, root 0 where there is one. */
struct example {
    enum ronde_collective collective;
    enum ronde_op op;
    uint32_t ranks;
    uint32_t count;
    const char *title;
    element_of input;
    element_of result;
    const char *meaning;
};

static int32_t broadcast_in(uint32_t rank, uint32_t i)
{
    return rank == 0 ? (int32_t)(42 + i) : 0;
}

static int32_t broadcast_out(uint32_t rank, uint32_t i)
{
    (void)rank;
    return (int32_t)(42 + i);
}

/* Blocks of two: [0,1] [10,11] [20,21] [30,31]. */
static int32_t scatter_in(uint32_t rank, uint32_t i)
{
    return rank == 0 ? (int32_t)(i / 2 * 10 + i % 2) : 0;
}

static int32_t scatter_out(uint32_t rank, uint32_t i)
{
    return (int32_t)(10 * rank + i);
}

static int32_t gather_in(uint32_t rank, uint32_t i)
{
    return (int32_t)(100 * rank + i);
}

static int32_t gather_out(uint32_t rank, uint32_t i)
{
    return rank == 0 ? (int32_t)(i / 2 * 100 + i % 2) : 0;
}

static int32_t rank_plus_one(uint32_t rank, uint32_t i)
{
    (void)i;
    return (int32_t)(rank + 1);
}

static int32_t one_to_four(uint32_t rank, uint32_t i)
{
    (void)rank;
    return (int32_t)(i + 1);
}

static int32_t reduce_out(uint32_t rank, uint32_t i)
{
    (void)i;
    return rank == 0 ? 10 : 0;
}

/* [r+1, 2(r+1)]. */
static int32_t gradients(uint32_t rank, uint32_t i)
{
    return (int32_t)((rank + 1) * (i + 1));
}

static int32_t sum_out(uint32_t rank, uint32_t i)
{
    (void)rank;
    return (int32_t)(10 * (i + 1));
}

/* 1*2*3*4, and 2*4*6*8. */
static int32_t prod_out(uint32_t rank, uint32_t i)
{
    (void)rank;
    return i == 0 ? 24 : 384;
}

static int32_t min_out(uint32_t rank, uint32_t i)
{
    (void)rank;
    return (int32_t)(i + 1);
}

static int32_t max_out(uint32_t rank, uint32_t i)
{
    (void)rank;
    return (int32_t)(4 * (i + 1));
}

static int32_t reduce_scatter_out(uint32_t rank, uint32_t i)
{
    (void)i;
    return (int32_t)(10 * (rank + 1));
}

/* Exact integers; pow would round. */
static int32_t power(int32_t base, uint32_t exponent)
{
    int32_t product = 1;
    for (uint32_t i = 0; i < exponent; i++)
        product *= base;
    return product;
}

/* Block j of rank r is [(r+1)^(j+1), (2(r+1))^(j+1)]. */
static int32_t powers(uint32_t rank, uint32_t i)
{
    return power((int32_t)((rank + 1) * (i % 2 + 1)), i / 2 + 1);
}

/* Sums of the first three powers: 1+2+3, 2+4+6; 1+4+9, 4+16+36; 1+8+27, 8+64+216. */
static int32_t powers_out(uint32_t rank, uint32_t i)
{
    static const int32_t sums[3][2] = {{6, 12}, {14, 56}, {36, 288}};
    return sums[rank][i];
}

static const struct example examples[] = {
    {RONDE_BROADCAST, RONDE_SUM, 4, 3, "broadcast from 0", broadcast_in, broadcast_out,
     "rank 0's data, copied to every rank"},
    {RONDE_SCATTER, RONDE_SUM, 4, 2, "scatter from 0", scatter_in, scatter_out,
     "block r of rank 0's data goes to rank r"},
    {RONDE_GATHER, RONDE_SUM, 4, 2, "gather to 0", gather_in, gather_out,
     "rank 0 collects everybody's block; the others keep what they had"},
    {RONDE_ALL_GATHER, RONDE_SUM, 4, 1, "all_gather", rank_plus_one, one_to_four,
     "every rank collects everybody's block"},
    {RONDE_REDUCE, RONDE_SUM, 4, 1, "reduce (sum) to 0", rank_plus_one, reduce_out,
     "1+2+3+4; the others keep what they had"},
    {RONDE_ALL_REDUCE, RONDE_SUM, 4, 2, "all_reduce (sum)", gradients, sum_out,
     "1+2+3+4 and 2+4+6+8, on every rank: how gradients are synchronised"},
    {RONDE_ALL_REDUCE, RONDE_PROD, 4, 2, "all_reduce (prod)", gradients, prod_out,
     "1*2*3*4 and 2*4*6*8"},
    {RONDE_ALL_REDUCE, RONDE_MIN, 4, 2, "all_reduce (min)", gradients, min_out, "the smallest"},
    {RONDE_ALL_REDUCE, RONDE_MAX, 4, 2, "all_reduce (max)", gradients, max_out, "the largest"},
    {RONDE_REDUCE_SCATTER, RONDE_SUM, 4, 1, "reduce_scatter (sum)", gradients, reduce_scatter_out,
     "sums over ranks, of which rank r keeps the r-th"},
    {RONDE_REDUCE_SCATTER, RONDE_SUM, 3, 2, "reduce_scatter (sum), blocks of two", powers,
     powers_out, "the same with two elements a block: sums of first, second and third powers"},
};

/* A run of an example. */
struct scene {
    const struct example *example;
    const struct ronde_options *options;
    struct ronde_memory memory;
    struct ronde_shape shape;
};

/* Outputs start at zero, so that what a collective leaves alone is seen to be left alone. */
static void set_inputs(struct scene *scene)
{
    const struct example *example = scene->example;
    const size_t elements = scene->memory.in_bytes / sizeof(int32_t);
    for (uint32_t rank = 0; rank < example->ranks; rank++) {
        int32_t *in = scene->memory.inputs[rank];
        memset(scene->memory.outputs[rank], 0, scene->memory.out_bytes);
        for (uint32_t i = 0; i < elements; i++)
            in[i] = example->input(rank, i);
    }
}

/* Against the formulas, not against another run. */
static uint64_t count_wrong(const struct scene *scene)
{
    const size_t elements = scene->memory.out_bytes / sizeof(int32_t);
    uint64_t wrong = 0;
    for (uint32_t rank = 0; rank < scene->example->ranks; rank++) {
        const int32_t *out = scene->memory.outputs[rank];
        for (uint32_t i = 0; i < elements; i++)
            wrong += out[i] != scene->example->result(rank, i);
    }
    return wrong;
}

/* All ranks on one line: before and after can be compared by eye. */
static void print_ranks(FILE *file, const char *when, void *const *buffers, uint32_t ranks,
                        size_t bytes)
{
    fprintf(file, "  %s", when);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const int32_t *values = buffers[rank];
        fprintf(file, "  %u:[", rank);
        for (size_t i = 0; i < bytes / sizeof(int32_t); i++)
            fprintf(file, "%s%" PRId32, i ? ", " : "", values[i]);
        fputc(']', file);
    }
    fputc('\n', file);
}

/* Runs the example with one algorithm; results stay in the outputs. */
static enum ronde_status run_scene(struct scene *scene, const struct ronde_target *target,
                                   const char *algorithm, uint64_t *out_wrong,
                                   struct ronde_error *error)
{
    const struct ronde_request request = {.collective = scene->example->collective,
                                          .algorithm = algorithm,
                                          .ranks = scene->example->ranks};
    struct ronde_schedule *schedule = NULL;
    struct ronde_trial trial = {0};
    double unused_ns = 0.0;
    enum ronde_status status = ronde_request_compile(&request, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_trial_open(target, schedule, scene->options, &trial, error);
    if (status == RONDE_OK) {
        trial.launch.dtype = RONDE_INT32;
        trial.launch.op = scene->example->op;
        ronde_trial_aim(&trial, &scene->memory, scene->example->count, false);
        set_inputs(scene);
        status = ronde_trial_run(&trial, &unused_ns, error);
    }
    if (status == RONDE_OK)
        *out_wrong = count_wrong(scene);
    ronde_trial_close(&trial);
    ronde_schedule_destroy(schedule);
    return status;
}

/* The first algorithm's run is shown, the others' are only checked. */
static enum ronde_status show_algorithms(struct scene *scene, const struct ronde_target *target,
                                         FILE *file, uint32_t *out_wrong, struct ronde_error *error)
{
    const struct example *example = scene->example;
    uint32_t total = 0, shown = 0;
    const struct ronde_algorithm *all = ronde_algorithms(&total);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < total; i++) {
        const struct ronde_request request = {.collective = example->collective,
                                              .algorithm = all[i].name,
                                              .ranks = example->ranks};
        struct ronde_error why_not = {0};
        uint64_t wrong = 0;
        if (all[i].collective != example->collective ||
            all[i].supports(&request, &why_not) != RONDE_OK)
            continue;
        status = run_scene(scene, target, all[i].name, &wrong, error);
        if (status != RONDE_OK)
            break;
        if (shown++ == 0) {
            fprintf(file, "%s\n", example->title);
            print_ranks(file, "before", scene->memory.inputs, example->ranks,
                        scene->memory.in_bytes);
            print_ranks(file, "after ", scene->memory.outputs, example->ranks,
                        scene->memory.out_bytes);
            fprintf(file, "  %s\n  checked:", example->meaning);
        }
        fprintf(file, " %s%s", all[i].name, wrong ? " WRONG" : "");
        *out_wrong += wrong != 0;
    }
    if (shown)
        fputs("\n\n", file);
    return status;
}

/* Buffers are shared by the algorithms of an example; inputs are set anew for each. */
static enum ronde_status show(const struct example *example, const struct ronde_options *options,
                              const struct ronde_target *target, FILE *file, uint32_t *out_wrong,
                              struct ronde_error *error)
{
    struct scene scene = {.example = example, .options = options};
    scene.shape = (struct ronde_shape){.collective = example->collective,
                                       .ranks = example->ranks,
                                       .dtype = RONDE_INT32,
                                       .count = example->count};
    enum ronde_status status = ronde_memory_create(&scene.shape, false, &scene.memory, error);
    if (status == RONDE_OK)
        status = show_algorithms(&scene, target, file, out_wrong, error);
    ronde_memory_destroy(&scene.memory);
    return status;
}

enum ronde_status ronde_tour(const struct ronde_options *options, FILE *file, uint32_t *out_wrong,
                             struct ronde_error *error)
{
    struct ronde_target target = {0};
    *out_wrong = 0;
    enum ronde_status status = ronde_target_open(options->backend, &target, error);
    for (size_t i = 0; status == RONDE_OK && i < sizeof examples / sizeof examples[0]; i++)
        status = show(&examples[i], options, &target, file, out_wrong, error);
    ronde_target_close(&target);
    return status;
}
