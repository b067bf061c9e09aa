/*
 * The tour. The examples are those of the collective cheatsheet that many people learnt from; inputs
 * and expected results are written as formulas of (ranks, rank, element), independent of any schedule.
 */
#include "tour.h"

#include "predict/scenario/co_run.h"

#include <inttypes.h>

/* Times of the barrier are shown in seconds, as the cheatsheet has them. */
#define SECOND_NS 1e9

/* Ranks on one line; more are easier to read below each other. */
#define RANKS_OF_LINE 8u

/* An example that takes longer than this hangs. */
#define TIMEOUT_NS UINT64_C(60000000000)

/* ---- Values of every rank that people can read --------------------------------------------------------------------- */

/* `count` elements of every rank. */
struct values {
    uint32_t ranks;
    uint32_t count;
    int32_t *numbers;                 /* of all ranks, one behind the other */
    void *data[RONDE_TOUR_MAX_RANKS]; /* where each begins; what a launch takes */
};

static void destroy_values(struct values *buffers)
{
    ronde_mem_free(ronde_mem_default(), buffers->numbers, (size_t)buffers->ranks * buffers->count,
                   sizeof *buffers->numbers);
}

static enum ronde_status create_values(uint32_t ranks, uint32_t count, struct values *out_buffers,
                                       struct ronde_error *error)
{
    const size_t total = (size_t)ranks * count;
    *out_buffers = (struct values){ranks, count, NULL, {NULL}};
    out_buffers->numbers = ronde_mem_new(ronde_mem_default(), total, sizeof(int32_t));
    if (!out_buffers->numbers)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u elements of %u ranks", count,
                          ranks);
    for (uint32_t rank = 0; rank < ranks; rank++)
        out_buffers->data[rank] = out_buffers->numbers + (size_t)rank * count;
    return RONDE_OK;
}

static int32_t *value_at(const struct values *buffers, uint32_t rank, uint32_t index)
{
    return &buffers->numbers[(size_t)rank * buffers->count + index];
}

static void fill_values(const struct values *buffers, ronde_value value)
{
    for (uint32_t rank = 0; rank < buffers->ranks; rank++)
        for (uint32_t i = 0; i < buffers->count; i++)
            *value_at(buffers, rank, i) = value ? (int32_t)value(buffers->ranks, rank, i) : 0;
}

static uint32_t count_wrong(const struct values *buffers, ronde_value expected)
{
    uint32_t wrong = 0;
    for (uint32_t rank = 0; rank < buffers->ranks; rank++)
        for (uint32_t i = 0; i < buffers->count; i++)
            wrong += *value_at(buffers, rank, i) != expected(buffers->ranks, rank, i);
    return wrong;
}

static void print_values(const struct values *buffers, const char *when, FILE *file)
{
    const bool is_one_line = buffers->ranks <= RANKS_OF_LINE;
    fprintf(file, "  %-7s", when);
    for (uint32_t rank = 0; rank < buffers->ranks; rank++) {
        if (rank > 0 && !is_one_line)
            fprintf(file, "\n  %-7s", "");
        fprintf(file, "%s%u:[", rank > 0 && is_one_line ? "  " : " ", rank);
        for (uint32_t i = 0; i < buffers->count; i++)
            fprintf(file, "%s%" PRId32, i ? ", " : "", *value_at(buffers, rank, i));
        fputc(']', file);
    }
    fputc('\n', file);
}

/* ---- Scenes -------------------------------------------------------------------------------------------------------- */

/* An example on its way through the algorithms. */
struct scene {
    const struct ronde_example *example;
    struct ronde_show *show;
    struct values in;
    struct values out;
    struct values factors;
    uint32_t source_of[RONDE_TOUR_MAX_RANKS];
    uint32_t shown; /* algorithms so far */
};

/* Even ranks send to the next one. The last rank of an odd number has nobody to send to. */
static void pair_up(struct scene *scene)
{
    for (uint32_t rank = 0; rank < scene->in.ranks; rank++)
        scene->source_of[rank] = rank % 2 == 1 ? rank - 1 : RONDE_NONE;
}

/* A barrier has no data; what is shown of it is a time per rank. */
static uint32_t elements_of(const struct ronde_example *example, uint32_t blocks)
{
    return example->collective == RONDE_BARRIER ? 1 : blocks * example->count;
}

/* Factors are one buffer with an element per rank, so they are the buffers of one rank. */
static enum ronde_status open_scene(struct scene *scene, uint32_t ranks, struct ronde_error *error)
{
    const struct ronde_example *example = scene->example;
    const uint32_t in = elements_of(example, ronde_collective_in_blocks(example->collective, ranks));
    const uint32_t out =
        elements_of(example, ronde_collective_out_blocks(example->collective, ranks));
    RONDE_TRY(create_values(ranks, in, &scene->in, error));
    RONDE_TRY(create_values(ranks, out, &scene->out, error));
    RONDE_TRY(create_values(1, ranks, &scene->factors, error));
    pair_up(scene);
    for (uint32_t rank = 0; rank < ranks; rank++)
        *value_at(&scene->factors, 0, rank) = (int32_t)rank + 1;
    return RONDE_OK;
}

static void close_scene(struct scene *scene)
{
    destroy_values(&scene->in);
    destroy_values(&scene->out);
    destroy_values(&scene->factors);
}

/* Compiles, loads, runs, waits and unloads. */
static enum ronde_status run_once(const struct ronde_target *target,
                                  const struct ronde_compile_request *request,
                                  const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_result result = {0};
    void *program = NULL, *run = NULL;
    enum ronde_status status = ronde_compile(request, ronde_mem_default(), NULL, &schedule, error);
    RONDE_THEN(status, target->backend->load(target->self, schedule, &program, error));
    RONDE_THEN(status, target->backend->run(program, launch, &run, error));
    RONDE_THEN(status, target->backend->wait(run, &result, error));
    target->backend->unload(program);
    ronde_schedule_destroy(schedule);
    return status;
}

static struct ronde_compile_request request_of(const struct scene *scene, const char *algorithm)
{
    return (struct ronde_compile_request){.collective = scene->example->collective,
                                          .algorithm = algorithm,
                                          .ranks = scene->in.ranks,
                                          .source_of =
                                              scene->example->is_paired ? scene->source_of : NULL};
}

/* Outputs start at zero, so that what a collective leaves alone is seen to be left alone. */
static enum ronde_status run_data(struct scene *scene, const char *algorithm, uint32_t *out_wrong,
                                  struct ronde_error *error)
{
    const struct ronde_example *example = scene->example;
    const struct ronde_compile_request request = request_of(scene, algorithm);
    const struct ronde_launch launch = {.count = example->count,
                                        .dtype = RONDE_INT32,
                                        .op = example->op,
                                        .in = scene->in.data,
                                        .out = scene->out.data,
                                        .factors = scene->factors.data[0],
                                        .timeout_ns = TIMEOUT_NS};
    fill_values(&scene->in, example->input);
    fill_values(&scene->out, NULL);
    const enum ronde_status status = run_once(scene->show->target, &request, &launch, error);
    *out_wrong = count_wrong(&scene->out, example->result);
    return status;
}

/* A barrier has no data. It is run, to see that it ends, and replayed, to see whom it holds back. */
static enum ronde_status run_barrier(struct scene *scene, const char *algorithm,
                                     uint32_t *out_wrong, struct ronde_error *error)
{
    const uint32_t ranks = scene->in.ranks;
    const struct ronde_compile_request request = request_of(scene, algorithm);
    double come_ns[RONDE_TOUR_MAX_RANKS], leave_ns[RONDE_TOUR_MAX_RANKS];
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = run_data(scene, algorithm, out_wrong, error);
    RONDE_THEN(status, ronde_compile(&request, ronde_mem_default(), NULL, &schedule, error));
    if (status != RONDE_OK)
        return status;
    for (uint32_t rank = 0; rank < ranks; rank++)
        come_ns[rank] = rank * SECOND_NS;
    status = ronde_arrivals_replay(schedule, come_ns, leave_ns, error);
    for (uint32_t rank = 0; status == RONDE_OK && rank < ranks; rank++) {
        *value_at(&scene->in, rank, 0) = (int32_t)(come_ns[rank] / SECOND_NS);
        *value_at(&scene->out, rank, 0) = (int32_t)(leave_ns[rank] / SECOND_NS);
    }
    *out_wrong = count_wrong(&scene->out, scene->example->result);
    ronde_schedule_destroy(schedule);
    return status;
}

/* The first algorithm's run is shown, the others' are only checked. */
static enum ronde_status show_algorithm(struct scene *scene, const char *algorithm,
                                        struct ronde_error *error)
{
    const struct ronde_example *example = scene->example;
    const bool is_barrier = example->collective == RONDE_BARRIER;
    FILE *file = scene->show->file;
    uint32_t wrong = 0;
    RONDE_TRY(is_barrier ? run_barrier(scene, algorithm, &wrong, error)
                         : run_data(scene, algorithm, &wrong, error));
    if (scene->shown++ == 0) {
        fprintf(file, "%s\n", example->title);
        print_values(&scene->in, is_barrier ? "comes" : "before", file);
        print_values(&scene->out, is_barrier ? "leaves" : "after", file);
        fprintf(file, "  %s\n  checked:", example->meaning);
    }
    fprintf(file, " %s%s", algorithm, wrong ? " WRONG" : "");
    scene->show->wrong += wrong != 0;
    scene->show->runs++;
    return RONDE_OK;
}

/* In the registry's order: an algorithm that joins it joins the tour. */
static enum ronde_status show_algorithms(struct scene *scene, struct ronde_error *error)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < total; i++) {
        const struct ronde_compile_request request = request_of(scene, all[i]->name);
        struct ronde_error why_not = {0};
        if (all[i]->collective == request.collective &&
            all[i]->supports(&request, &why_not) == RONDE_OK)
            status = show_algorithm(scene, all[i]->name, error);
    }
    if (scene->shown > 0)
        fputs("\n\n", scene->show->file);
    return status;
}

static enum ronde_status show_example(struct ronde_show *show, const struct ronde_example *example,
                                      uint32_t *out_shown, struct ronde_error *error)
{
    struct scene scene = {.example = example, .show = show};
    const uint32_t ranks = show->ranks      ? show->ranks
                           : example->ranks ? example->ranks
                                            : RONDE_TOUR_RANKS;
    enum ronde_status status = open_scene(&scene, ranks, error);
    RONDE_THEN(status, show_algorithms(&scene, error));
    *out_shown += scene.shown;
    close_scene(&scene);
    return status;
}

enum ronde_status ronde_tour(struct ronde_show *show, enum ronde_collective only,
                             struct ronde_error *error)
{
    uint32_t count = 0, shown = 0;
    const struct ronde_example *examples = ronde_examples(&count);
    for (uint32_t i = 0; i < count; i++)
        if (only == RONDE_COLLECTIVE_COUNT || examples[i].collective == only)
            RONDE_TRY(show_example(show, &examples[i], &shown, error));
    if (shown == 0)
        return ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm does %s on %u ranks",
                          ronde_collective_text(only), show->ranks);
    return RONDE_OK;
}
