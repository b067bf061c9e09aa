/*
 * The tour. The examples are those of the collective cheatsheet that many people learnt from; inputs
 * and expected results are written as formulas of (ranks, rank, element), independent of any schedule.
 */
#include "tour.h"

#include "cli/cmd/common.h"
#include "examples.h"
#include "predict/scenario/arrivals.h"

/* Times of the barrier are shown in seconds, as the cheatsheet has them. */
#define SECOND_NS 1e9

/* An example on its way through the algorithms. */
struct scene {
    const struct ronde_example *example;
    struct ronde_show *show;
    struct ronde_sheet in;
    struct ronde_sheet out;
    struct ronde_sheet factors;
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

/* Factors are one buffer with an element per rank, so they are a sheet of one rank. */
static enum ronde_status open_scene(struct scene *scene, uint32_t ranks, struct ronde_error *error)
{
    const struct ronde_example *example = scene->example;
    const uint32_t in = elements_of(example, ronde_collective_in_blocks(example->collective, ranks));
    const uint32_t out =
        elements_of(example, ronde_collective_out_blocks(example->collective, ranks));
    enum ronde_status status = ronde_sheet_create(ranks, in, RONDE_INT32, &scene->in, error);
    if (status == RONDE_OK)
        status = ronde_sheet_create(ranks, out, RONDE_INT32, &scene->out, error);
    if (status == RONDE_OK)
        status = ronde_sheet_create(1, ranks, RONDE_INT32, &scene->factors, error);
    if (status != RONDE_OK)
        return status;
    pair_up(scene);
    for (uint32_t rank = 0; rank < ranks; rank++)
        ronde_sheet_set(&scene->factors, 0, rank, rank + 1.0);
    return RONDE_OK;
}

static void close_scene(struct scene *scene)
{
    ronde_sheet_destroy(&scene->in);
    ronde_sheet_destroy(&scene->out);
    ronde_sheet_destroy(&scene->factors);
}

static double nothing(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)ranks, (void)rank, (void)i;
    return 0.0;
}

/* Outputs start at zero, so that what a collective leaves alone is seen to be left alone. */
static enum ronde_status run_data(struct scene *scene, const char *algorithm, uint32_t *out_wrong,
                                  struct ronde_error *error)
{
    const struct ronde_example *example = scene->example;
    const struct ronde_stage_call act = {.collective = example->collective,
                                         .algorithm = algorithm,
                                         .op = example->op,
                                         .dtype = RONDE_INT32,
                                         .ranks = scene->in.ranks,
                                         .count = example->count,
                                         .in = scene->in.data,
                                         .out = scene->out.data,
                                         .factors = scene->factors.data[0],
                                         .source_of = example->is_paired ? scene->source_of : NULL};
    ronde_sheet_fill(&scene->in, example->input);
    ronde_sheet_fill(&scene->out, nothing);
    const enum ronde_status status = ronde_act_run(scene->show->target, &act, error);
    *out_wrong = ronde_sheet_wrong(&scene->out, example->result);
    return status;
}

/* A barrier has no data. It is run, to see that it ends, and replayed, to see whom it holds back. */
static enum ronde_status run_barrier(struct scene *scene, const char *algorithm,
                                     uint32_t *out_wrong, struct ronde_error *error)
{
    const uint32_t ranks = scene->in.ranks;
    const struct ronde_compile_request request = {.collective = RONDE_BARRIER,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    double come_ns[RONDE_TOUR_MAX_RANKS], leave_ns[RONDE_TOUR_MAX_RANKS];
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = run_data(scene, algorithm, out_wrong, error);
    if (status == RONDE_OK)
        status = ronde_compile_default(&request, &schedule, error);
    if (status != RONDE_OK)
        return status;
    for (uint32_t rank = 0; rank < ranks; rank++)
        come_ns[rank] = rank * SECOND_NS;
    status = ronde_arrivals_replay(schedule, come_ns, leave_ns, error);
    for (uint32_t rank = 0; status == RONDE_OK && rank < ranks; rank++) {
        ronde_sheet_set(&scene->in, rank, 0, come_ns[rank] / SECOND_NS);
        ronde_sheet_set(&scene->out, rank, 0, leave_ns[rank] / SECOND_NS);
    }
    *out_wrong = ronde_sheet_wrong(&scene->out, scene->example->result);
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
    const enum ronde_status status = is_barrier ? run_barrier(scene, algorithm, &wrong, error)
                                                : run_data(scene, algorithm, &wrong, error);
    if (status != RONDE_OK)
        return status;
    if (scene->shown++ == 0) {
        fprintf(file, "%s\n", example->title);
        ronde_sheet_print(&scene->in, is_barrier ? "comes" : "before", file);
        ronde_sheet_print(&scene->out, is_barrier ? "leaves" : "after", file);
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
        const struct ronde_compile_request request = {.collective = scene->example->collective,
                                                      .algorithm = all[i]->name,
                                                      .ranks = scene->in.ranks,
                                                      .source_of = scene->example->is_paired
                                                                       ? scene->source_of
                                                                       : NULL};
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
    if (status == RONDE_OK)
        status = show_algorithms(&scene, error);
    *out_shown += scene.shown;
    close_scene(&scene);
    return status;
}

enum ronde_status ronde_tour(struct ronde_show *show, enum ronde_collective only,
                             struct ronde_error *error)
{
    uint32_t count = 0, shown = 0;
    const struct ronde_example *examples = ronde_examples(&count);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < count; i++)
        if (only == RONDE_COLLECTIVE_COUNT || examples[i].collective == only)
            status = show_example(show, &examples[i], &shown, error);
    if (status == RONDE_OK && shown == 0)
        status = ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm does %s on %u ranks",
                            ronde_collective_text(only), show->ranks);
    return status;
}

uint32_t ronde_show_ranks(const struct ronde_show *show)
{
    return show->ranks ? show->ranks : RONDE_TOUR_RANKS;
}

void ronde_show_verdict(struct ronde_show *show, const char *what, bool is_right)
{
    fprintf(show->file, "  %s: %s\n", what, is_right ? "right" : "WRONG");
    show->wrong += !is_right;
}
