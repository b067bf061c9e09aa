/*
 * all_reduce built from other collectives, and groups. Inputs are (rank+1)*(element+1), so that the
 * sum is known without adding anything up.
 */
#include "compose.h"

#include "cli/cmd/common.h"

#include "ronde/compose.h"

static double products(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)ranks;
    return (rank + 1.0) * (i + 1.0);
}

/* (1 + 2 + ... + n) * (element+1). */
static double product_sums(uint32_t ranks, uint32_t rank, uint32_t i)
{
    (void)rank;
    return ranks * (ranks + 1.0) / 2.0 * (i + 1.0);
}

/* A ring under way: every rank's tensor of N elements, and one element that has just arrived. */
struct ring {
    const struct ronde_show *show;
    struct ronde_sheet tensor;
    struct ronde_sheet arrived;
    void *sent[RONDE_TOUR_MAX_RANKS];
};

/* Rank r's element on step s of a phase that starts `ahead` of its own. */
static uint32_t element_of(uint32_t ranks, uint32_t rank, uint32_t ahead, uint32_t step)
{
    return (rank + ahead + ranks - step) % ranks;
}

/* Every rank sends one element of its tensor to the next rank. */
static enum ronde_status pass_on(struct ring *ring, uint32_t ahead, uint32_t step,
                                 struct ronde_error *error)
{
    const uint32_t ranks = ring->tensor.ranks;
    const struct ronde_stage_call act = {.collective = RONDE_SEND_RECV,
                                         .dtype = ring->tensor.dtype,
                                         .ranks = ranks,
                                         .count = 1,
                                         .in = ring->sent,
                                         .out = ring->arrived.data};
    for (uint32_t rank = 0; rank < ranks; rank++)
        ring->sent[rank] =
            (unsigned char *)ring->tensor.data[rank] +
            (size_t)element_of(ranks, rank, ahead, step) * ronde_dtype_bytes(ring->tensor.dtype);
    return ronde_act_run(ring->show->target, &act, error);
}

/* What arrives is the element that the rank before has sent: added, or kept as the result it is. */
static void take_in(const struct ring *ring, uint32_t ahead, uint32_t step, bool adds)
{
    const uint32_t ranks = ring->tensor.ranks;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t i = element_of(ranks, (rank + ranks - 1) % ranks, ahead, step);
        const double before = adds ? ronde_sheet_get(&ring->tensor, rank, i) : 0.0;
        ronde_sheet_set(&ring->tensor, rank, i, before + ronde_sheet_get(&ring->arrived, rank, 0));
    }
}

/* N-1 steps round the ring. */
static enum ronde_status go_round(struct ring *ring, uint32_t ahead, bool adds,
                                  struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t step = 0; status == RONDE_OK && step + 1 < ring->tensor.ranks; step++) {
        status = pass_on(ring, ahead, step, error);
        if (status == RONDE_OK)
            take_in(ring, ahead, step, adds);
    }
    return status;
}

enum ronde_status ronde_compose_ring(struct ronde_show *show, struct ronde_error *error)
{
    struct ring ring = {.show = show};
    const uint32_t ranks = ronde_show_ranks(show);
    enum ronde_status status = ronde_sheet_create(ranks, ranks, RONDE_INT32, &ring.tensor, error);
    if (status == RONDE_OK)
        status = ronde_sheet_create(ranks, 1, RONDE_INT32, &ring.arrived, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_fill(&ring.tensor, products);
    ronde_sheet_print(&ring.tensor, "before", show->file);
    status = go_round(&ring, 0, true, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_print(&ring.tensor, "added", show->file);
    /* Each rank now has the whole sum of the element after its own. */
    status = go_round(&ring, 1, false, error);
    if (status != RONDE_OK)
        goto out;
    ronde_sheet_print(&ring.tensor, "after", show->file);
    fprintf(show->file, "  %u send_recv, an element of every rank each\n", 2 * (ranks - 1));
    ronde_show_verdict(show, "once round to add, once round to hand out",
                       ronde_sheet_wrong(&ring.tensor, product_sums) == 0);
out:
    ronde_sheet_destroy(&ring.arrived);
    ronde_sheet_destroy(&ring.tensor);
    return status;
}

/* Values in which two sheets of one shape differ. */
static uint32_t differences(const struct ronde_sheet *a, const struct ronde_sheet *b)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < a->ranks; rank++)
        for (uint32_t i = 0; i < a->count; i++)
            count += ronde_sheet_get(a, rank, i) != ronde_sheet_get(b, rank, i);
    return count;
}

/* The sheets of three ways to the same result. */
struct ways {
    struct ronde_sheet in;       /* N elements */
    struct ronde_sheet part;     /* one element: what reduce_scatter leaves */
    struct ronde_sheet halves;   /* N elements */
    struct ronde_sheet at_once;  /* N elements */
    struct ronde_sheet composed; /* N elements */
};

static enum ronde_status run_ways(const struct ronde_show *show, const struct ways *ways,
                                  struct ronde_error *error)
{
    const uint32_t ranks = ways->in.ranks;
    const struct ronde_stage_call acts[] = {
        {.collective = RONDE_REDUCE_SCATTER, .count = 1, .in = ways->in.data, .out = ways->part.data},
        {.collective = RONDE_ALL_GATHER, .count = 1, .in = ways->part.data, .out = ways->halves.data},
        {.collective = RONDE_ALL_REDUCE,
         .count = ranks,
         .in = ways->in.data,
         .out = ways->at_once.data},
    };
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0; status == RONDE_OK && i < sizeof acts / sizeof acts[0]; i++) {
        struct ronde_stage_call act = acts[i];
        act.dtype = ways->in.dtype;
        act.ranks = ranks;
        status = ronde_act_run(show->target, &act, error);
    }
    return status;
}

/* A schedule of the ring, which both halves have. */
static enum ronde_status compile_ring(enum ronde_collective collective, uint32_t ranks,
                                      struct ronde_schedule **out_schedule,
                                      struct ronde_error *error)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = "ring",
                                                  .ranks = ranks};
    return ronde_compile_default(&request, out_schedule, error);
}

/* Both halves as one schedule, which is proved to be an all_reduce, and run. */
static enum ronde_status run_composed(const struct ronde_show *show, const struct ways *ways,
                                      struct ronde_error *error)
{
    const uint32_t ranks = ways->in.ranks;
    const struct ronde_launch launch = {.count = ranks,
                                        .dtype = ways->in.dtype,
                                        .in = ways->in.data,
                                        .out = ways->composed.data};
    struct ronde_schedule *first = NULL, *second = NULL, *whole = NULL;
    struct ronde_result result = {0};
    enum ronde_status status = compile_ring(RONDE_REDUCE_SCATTER, ranks, &first, error);
    if (status == RONDE_OK)
        status = compile_ring(RONDE_ALL_GATHER, ranks, &second, error);
    if (status == RONDE_OK)
        status = ronde_schedule_compose(first, second, RONDE_ALL_REDUCE, ronde_mem_default(),
                                        &whole, error);
    if (status == RONDE_OK)
        status = ronde_backend_run_once(show->target->backend, show->target->self, whole, &launch,
                                        &result, error);
    ronde_schedule_destroy(whole);
    ronde_schedule_destroy(second);
    ronde_schedule_destroy(first);
    return status;
}

/* Sheets of a rank's N elements, but for the part. */
static enum ronde_status open_ways(uint32_t ranks, struct ways *ways, struct ronde_error *error)
{
    struct ronde_sheet *const wide[] = {&ways->in, &ways->halves, &ways->at_once, &ways->composed};
    enum ronde_status status = ronde_sheet_create(ranks, 1, RONDE_INT32, &ways->part, error);
    for (size_t i = 0; status == RONDE_OK && i < sizeof wide / sizeof wide[0]; i++)
        status = ronde_sheet_create(ranks, ranks, RONDE_INT32, wide[i], error);
    return status;
}

static void close_ways(struct ways *ways)
{
    ronde_sheet_destroy(&ways->composed);
    ronde_sheet_destroy(&ways->at_once);
    ronde_sheet_destroy(&ways->halves);
    ronde_sheet_destroy(&ways->part);
    ronde_sheet_destroy(&ways->in);
}

enum ronde_status ronde_compose_halves(struct ronde_show *show, struct ronde_error *error)
{
    struct ways ways = {.in = {0}};
    enum ronde_status status = open_ways(ronde_show_ranks(show), &ways, error);
    if (status == RONDE_OK) {
        ronde_sheet_fill(&ways.in, products);
        ronde_sheet_print(&ways.in, "before", show->file);
        status = run_ways(show, &ways, error);
    }
    if (status == RONDE_OK)
        status = run_composed(show, &ways, error);
    if (status == RONDE_OK) {
        ronde_sheet_print(&ways.part, "scatter", show->file);
        ronde_sheet_print(&ways.halves, "gather", show->file);
        ronde_show_verdict(show, "sums over ranks on every rank",
                           ronde_sheet_wrong(&ways.halves, product_sums) == 0);
        ronde_show_verdict(show, "the same as all_reduce",
                           differences(&ways.halves, &ways.at_once) == 0);
        ronde_show_verdict(show, "the same as the two in one schedule, which is proved",
                           differences(&ways.halves, &ways.composed) == 0);
    }
    close_ways(&ways);
    return status;
}

/* Communicators at once: two that share no rank, and one that shares a rank with each. */
#define GROUPS 3u

/* A communicator: members of the world, and the buffers that make it one. */
struct group {
    uint32_t members[RONDE_TOUR_MAX_RANKS];
    uint32_t ranks;
    void *in[RONDE_TOUR_MAX_RANKS];
    void *out[RONDE_TOUR_MAX_RANKS];
};

/* What all groups work on. */
struct world {
    struct ronde_sheet in;
    struct ronde_sheet out; /* of the small groups, which share no rank */
    struct ronde_sheet sum; /* of the group of all */
    struct group groups[GROUPS];
};

static void join(struct group *group, uint32_t rank)
{
    group->members[group->ranks++] = rank;
}

/* Even ranks, odd ranks, all ranks. */
static void form_groups(struct world *world)
{
    for (uint32_t rank = 0; rank < world->in.ranks; rank++) {
        join(&world->groups[rank % 2], rank);
        join(&world->groups[2], rank);
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        struct group *group = &world->groups[g];
        const struct ronde_sheet *out = g == 2 ? &world->sum : &world->out;
        ronde_group_pick(world->in.data, group->members, group->ranks, group->in);
        ronde_group_pick(out->data, group->members, group->ranks, group->out);
    }
}

/* All are started before any is waited for. A world of one has no odd ranks. */
static enum ronde_status run_groups(const struct ronde_show *show, const struct world *world,
                                    struct ronde_error *error)
{
    struct ronde_performance performances[GROUPS] = {{0}};
    enum ronde_status status = RONDE_OK;
    for (uint32_t g = 0; status == RONDE_OK && g < GROUPS; g++) {
        const struct group *group = &world->groups[g];
        const struct ronde_stage_call act = {.collective = RONDE_ALL_REDUCE,
                                             .dtype = world->in.dtype,
                                             .ranks = group->ranks,
                                             .count = world->in.count,
                                             .in = group->in,
                                             .out = group->out};
        if (group->ranks > 0)
            status = ronde_act_start(show->target, &act, &performances[g], error);
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        const enum ronde_status finished =
            ronde_act_finish(&performances[g], status == RONDE_OK ? error : NULL);
        status = status == RONDE_OK ? finished : status;
    }
    return status;
}

/* 1 + 3 + 5 + ... up to n, or 2 + 4 + 6 + .... */
static double sum_of_kind(uint32_t ranks, uint32_t rank, uint32_t i)
{
    double sum = 0.0;
    (void)i;
    for (uint32_t other = rank % 2; other < ranks; other += 2)
        sum += other + 1.0;
    return sum;
}

enum ronde_status ronde_compose_groups(struct ronde_show *show, struct ronde_error *error)
{
    struct world world = {.in = {0}};
    const uint32_t ranks = ronde_show_ranks(show);
    enum ronde_status status = ronde_sheet_create(ranks, 1, RONDE_INT32, &world.in, error);
    if (status == RONDE_OK)
        status = ronde_sheet_create(ranks, 1, RONDE_INT32, &world.out, error);
    if (status == RONDE_OK)
        status = ronde_sheet_create(ranks, 1, RONDE_INT32, &world.sum, error);
    if (status == RONDE_OK) {
        form_groups(&world);
        ronde_sheet_fill(&world.in, products);
        ronde_sheet_print(&world.in, "before", show->file);
        status = run_groups(show, &world, error);
    }
    if (status == RONDE_OK) {
        ronde_sheet_print(&world.out, "groups", show->file);
        ronde_sheet_print(&world.sum, "all", show->file);
        ronde_show_verdict(show, "each group's sum, as if it were alone",
                           ronde_sheet_wrong(&world.out, sum_of_kind) == 0);
        ronde_show_verdict(show, "the sum of all, over the same inputs",
                           ronde_sheet_wrong(&world.sum, product_sums) == 0);
    }
    ronde_sheet_destroy(&world.sum);
    ronde_sheet_destroy(&world.out);
    ronde_sheet_destroy(&world.in);
    return status;
}
