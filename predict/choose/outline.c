/* Outlines of candidates. See outline.h. */
#include "outline.h"

#include "ronde/collective.h"
#include "ronde/split.h"

#include <math.h>
#include <string.h>

struct ronde_outline *ronde_outline_create(const struct ronde_mem *mem)
{
    struct ronde_outline *outline = ronde_mem_new(mem, 1, sizeof *outline);
    if (outline)
        pthread_mutex_init(&outline->lock, NULL);
    return outline;
}

void ronde_outline_destroy(struct ronde_outline *outline, const struct ronde_mem *mem)
{
    if (!outline)
        return;
    pthread_mutex_destroy(&outline->lock);
    ronde_mem_free(mem, outline, 1, sizeof *outline);
}

double ronde_outline_sent(struct ronde_outline *outline, const struct ronde_schedule *schedule)
{
    pthread_mutex_lock(&outline->lock);
    if (outline->sent_blocks <= 0)
        outline->sent_blocks = ronde_schedule_volume(schedule).sent;
    const double sent_blocks = outline->sent_blocks;
    pthread_mutex_unlock(&outline->lock);
    return sent_blocks;
}

/* The large load. */
#define LARGE_BYTES (UINT64_C(1) << 30)

/* Pieces of the two loads whose difference is the period. */
#define FEW_PIECES 2u
#define MORE_PIECES 6u

/* Steps of the longest replay of an outline, and of one on a quotient, where they cost next to nothing; routes to be found. */
#define MOST_STEPS ((uint64_t)1 << 22)
#define MOST_QUOTIENT_STEPS ((uint64_t)1 << 28)
#define MOST_ROUTES ((uint64_t)1 << 21)

static bool is_short(const struct ronde_forecast *forecast)
{
    const struct ronde_schedule *schedule = forecast->schedule;
    const uint64_t steps = ronde_forecast_steps(forecast);
    const uint64_t routes = (uint64_t)schedule->programs[0].connection_count * schedule->ranks;
    return steps <= MOST_STEPS || (schedule->symmetry != RONDE_SYMMETRY_NONE &&
                                   routes <= MOST_ROUTES && steps <= MOST_QUOTIENT_STEPS);
}

/*
 * Every message as fast as alone; *out_link_ns is what the busiest link takes for its bytes. Memory that a run allocates is left
 * out: it costs nothing up to some size, and bounds are straight lines.
 */
static enum ronde_status replay(const struct ronde_forecast *forecast, uint64_t count,
                                uint64_t slot_bytes, double *out_ns, double *out_link_ns,
                                struct ronde_error *error)
{
    struct ronde_forecast one = *forecast;
    struct ronde_prediction prediction;
    one.load.count = count;
    one.load.slot_bytes = slot_bytes;
    RONDE_TRY(ronde_forecast_replay(&one, "flat", &prediction, error));
    struct ronde_time_params time = ronde_platform_facts(one.platform)->time;
    time.puts = one.puts;
    *out_ns =
        prediction.time_ns - ronde_time_launch_ns(&time, one.schedule, &one.load) + time.launch_ns;
    if (out_link_ns)
        *out_link_ns = (*out_ns - time.launch_ns) * prediction.result.busiest_utilisation;
    return RONDE_OK;
}

bool ronde_outline_is_quick(const struct ronde_forecast *forecast)
{
    struct ronde_forecast whole = *forecast;
    whole.load.slot_bytes = 0;
    return ronde_forecast_steps(&whole) < RONDE_LONG_STEPS;
}

/** Ranks up to which pieces are tried even where large loads gain nothing: middling ones may, and replays are quick. */
#define FEW_RANKS 32u

/** The large load: what its busiest link takes, and in one piece. */
static enum ronde_status find_large(const struct ronde_forecast *whole,
                                    struct ronde_outline *outline, struct ronde_error *error)
{
    double twice_ns = 0;
    enum ronde_status status =
        replay(whole, outline->large, 0, &outline->large_ns, &outline->link_ns, error);
    /* No line that is the largest there rises faster than one through nought. */
    twice_ns = 2 * outline->large_ns;
    if (status == RONDE_OK && ronde_outline_is_quick(whole))
        status = replay(whole, 2 * outline->large, 0, &twice_ns, NULL, error);
    outline->slope_ns = (twice_ns - outline->large_ns) / (double)outline->large;
    outline->link_ns /= (double)outline->large;
    return status;
}

static enum ronde_status find_latency(const struct ronde_forecast *whole,
                                      struct ronde_outline *outline, struct ronde_error *error)
{
    const enum ronde_status status =
        replay(whole, outline->large > 0 ? 1 : 0, 0, &outline->latency_ns, NULL, error);
    outline->likes_pieces =
        outline->large > 0 &&
        (whole->schedule->ranks <= FEW_RANKS ||
         outline->large_ns > RONDE_OUTLINE_CLEARLY *
                                 (outline->latency_ns + outline->link_ns * (double)outline->large));
    return status;
}

/** With the lock held. */
static enum ronde_status find(const struct ronde_forecast *whole, bool large_alone,
                              struct ronde_outline *outline, struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(whole->platform);
    const struct ronde_schedule *schedule = whole->schedule;
    enum ronde_status status = RONDE_OK;
    if (!outline->has_large) {
        outline->launch_ns = facts->time.launch_ns;
        outline->is_straight = facts->copy_curve.count + facts->gamma_curve.count == 0 &&
                               !ronde_time_is_sized(&facts->time);
        outline->large = ronde_collective_count(schedule->collective, schedule->ranks, LARGE_BYTES,
                                                whole->load.dtype);
        outline->is_bounded = is_short(whole);
        if (outline->is_bounded && outline->large > 0)
            status = find_large(whole, outline, error);
        outline->has_large = status == RONDE_OK;
    }
    if (status != RONDE_OK || large_alone || outline->is_known)
        return status;
    if (outline->is_bounded)
        status = find_latency(whole, outline, error);
    outline->is_known = status == RONDE_OK;
    return status;
}

enum ronde_status ronde_outline_find(const struct ronde_forecast *forecast, bool large_alone,
                                     struct ronde_outline *outline, struct ronde_error *error)
{
    struct ronde_forecast whole = *forecast;
    whole.load.slot_bytes = 0;
    pthread_mutex_lock(&outline->lock);
    const enum ronde_status status = find(&whole, large_alone, outline, error);
    pthread_mutex_unlock(&outline->lock);
    return status;
}

double ronde_outline_whole(const struct ronde_outline *outline, uint64_t count)
{
    const double left = (double)outline->large - (double)count;
    return fmax(outline->latency_ns, outline->large_ns - outline->slope_ns * left);
}

double ronde_outline_links(const struct ronde_outline *outline, uint64_t count)
{
    return outline->launch_ns + outline->link_ns * (double)count;
}

double ronde_outline_bound(const struct ronde_outline *outline, uint64_t count)
{
    const double bound_ns = fmax(outline->latency_ns, ronde_outline_links(outline, count));
    return outline->likes_pieces || !outline->is_straight
               ? bound_ns
               : fmax(bound_ns, ronde_outline_whole(outline, count));
}

uint64_t ronde_outline_slot_bytes(uint32_t slot)
{
    return RONDE_OUTLINE_LEAST_SLOT << slot;
}

/* The elements of a block whose every chunk is one piece of a slot. */
static uint64_t count_of_piece(const struct ronde_forecast *forecast, uint64_t slot_bytes)
{
    const struct ronde_schedule *schedule = forecast->schedule;
    const double share = (double)schedule->channels[0].weight / (double)schedule->weight_total;
    const double bytes =
        (double)ronde_piece_bytes(schedule, slot_bytes) * schedule->chunks_per_block / share;
    return (uint64_t)(bytes / ronde_dtype_bytes(forecast->load.dtype));
}

static enum ronde_status find_period(const struct ronde_forecast *forecast,
                                     struct ronde_outline_slot *slot, uint64_t slot_bytes,
                                     struct ronde_error *error)
{
    double few_ns = 0, more_ns = 0;
    enum ronde_status status =
        replay(forecast, slot->count, slot_bytes, &slot->first_ns, NULL, error);
    RONDE_THEN(status, replay(forecast, FEW_PIECES * slot->count, slot_bytes, &few_ns, NULL, error));
    RONDE_THEN(status,
               replay(forecast, MORE_PIECES * slot->count, slot_bytes, &more_ns, NULL, error));
    slot->period_ns = (more_ns - few_ns) / (MORE_PIECES - FEW_PIECES);
    slot->is_known = status == RONDE_OK;
    return status;
}

enum ronde_status ronde_outline_cut(const struct ronde_forecast *forecast,
                                    struct ronde_outline *outline, uint32_t slot, uint64_t count,
                                    double *out_ns, struct ronde_error *error)
{
    struct ronde_outline_slot *own = &outline->slots[slot];
    enum ronde_status status = RONDE_OK;
    *out_ns = INFINITY;
    pthread_mutex_lock(&outline->lock);
    if (own->count == 0)
        own->count = count_of_piece(forecast, ronde_outline_slot_bytes(slot));
    if (count > own->count && !own->is_known)
        status = find_period(forecast, own, ronde_outline_slot_bytes(slot), error);
    pthread_mutex_unlock(&outline->lock);
    if (status != RONDE_OK || count <= own->count)
        return status;
    const double pieces = (double)count / (double)own->count;
    const double link_ns = outline->link_ns * (double)count;
    /* The busiest link waits for the first piece, and the end for what follows the last one: the less of it the more of that
       falls into the time in which it is busy with others. */
    const double shared_ns = link_ns + own->first_ns * link_ns / (link_ns + own->first_ns);
    *out_ns = fmax(own->first_ns + (pieces - 1) * own->period_ns, shared_ns);
    return RONDE_OK;
}

/* Grids of nodes and axes of tori. */

bool ronde_is_identity(const uint32_t *order, uint32_t ranks)
{
    for (uint32_t rank = 0; order && rank < ranks; rank++)
        if (order[rank] != rank)
            return false;
    return true;
}

/** Ranks that follow one another on one node, if these are as many on every node, and nodes are filled one by one. */
static uint32_t ranks_of_a_node(const struct ronde_nodes *nodes, const uint32_t *host_of,
                                uint32_t ranks)
{
    const uint32_t *node_of = nodes->node_of;
    uint32_t run = 1;
    while (run < ranks && node_of[host_of[run]] == node_of[host_of[0]])
        run++;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t node = node_of[host_of[rank]];
        if (ranks % run != 0 || node != node_of[host_of[rank - rank % run]] ||
            (rank > 0 && rank % run == 0 && node == node_of[host_of[rank - 1]]))
            return 0;
    }
    return run;
}

static void take_nodes(struct ronde_compile_request *request, uint32_t nodes, uint32_t local)
{
    if (nodes < 2 || local < 2)
        return;
    request->shape_count = 2;
    request->shape[0] = nodes;
    request->shape[1] = local;
}

/** The axes that the machine's file says its ranks count along. */
static bool take_axes(const struct ronde_platform *platform, struct ronde_compile_request *request)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    if (facts->rank_axes == 0)
        return false;
    request->shape_count = facts->rank_axes;
    memcpy(request->shape, facts->rank_shape, sizeof facts->rank_shape);
    return true;
}

/** The axes of a torus of hosts. */
static enum ronde_status find_axes(const struct ronde_platform *platform,
                                   const struct ronde_mem *mem,
                                   struct ronde_compile_request *request, struct ronde_error *error)
{
    struct ronde_torus torus;
    if (take_axes(platform, request))
        return RONDE_OK;
    RONDE_TRY(ronde_torus_find(platform, mem, &torus, error));
    if (torus.axes < 2 || torus.axes > RONDE_MAX_SHAPE)
        return RONDE_OK;
    request->shape_count = torus.axes;
    for (uint32_t axis = 0; axis < torus.axes; axis++)
        request->shape[axis] = torus.radix[torus.axes - 1 - axis];
    return RONDE_OK;
}

enum ronde_status ronde_grid_find(const struct ronde_platform *platform,
                                  const struct ronde_nodes *nodes, const struct ronde_mem *mem,
                                  struct ronde_candidate *candidate, struct ronde_error *error)
{
    struct ronde_compile_request *request = &candidate->request;
    const enum ronde_grid_kind kind =
        candidate->algorithm ? candidate->algorithm->grid : RONDE_GRID_NONE;
    if (request->shape_count > 0 || kind == RONDE_GRID_NONE)
        return RONDE_OK;
    /* A torus is one where every host takes part, rank r on host r. */
    const bool is_whole = nodes->source == RONDE_NODES_SINGLE &&
                          request->ranks == nodes->host_count &&
                          ronde_is_identity(candidate->host_of, request->ranks);
    if (kind != RONDE_GRID_NODES && is_whole)
        return find_axes(platform, mem, request, error);
    if (kind != RONDE_GRID_TORUS && nodes->source != RONDE_NODES_SINGLE) {
        const uint32_t local = ranks_of_a_node(nodes, candidate->host_of, request->ranks);
        take_nodes(request, local > 0 ? request->ranks / local : 0, local);
    }
    return RONDE_OK;
}

enum ronde_status ronde_candidate_keep_ranks(struct ronde_candidate *candidate,
                                             const struct ronde_mem *mem, struct ronde_error *error)
{
    const uint32_t ranks = candidate->request.ranks;
    const uint32_t channels = candidate->schedule->channel_count;
    const size_t count = (size_t)channels * ranks;
    if (ronde_is_identity(candidate->host_of, ranks))
        return RONDE_OK;
    uint32_t *orders = ronde_mem_new(mem, count, sizeof *orders);
    struct ronde_schedule *kept = NULL;
    if (!orders)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u orders of %u ranks", channels,
                          ranks);
    for (size_t i = 0; i < count; i++) {
        const uint32_t *own = candidate->schedule->channels[i / ranks].order;
        const uint32_t position = (uint32_t)(i % ranks);
        orders[i] = candidate->host_of[own ? own[position] : position];
    }
    const enum ronde_status status =
        ronde_schedule_reorder(candidate->schedule, orders, mem, &kept, error);
    if (status != RONDE_OK) {
        ronde_mem_free(mem, orders, count, sizeof *orders);
        return status;
    }
    ronde_mem_free(mem, candidate->orders, candidate->orders_count, sizeof *candidate->orders);
    candidate->orders = orders;
    candidate->orders_count = count;
    ronde_schedule_destroy(candidate->own);
    candidate->schedule = candidate->own = kept;
    candidate->request.channels = channels;
    candidate->request.channel_orders = orders;
    for (uint32_t r = 0; r < ranks; r++)
        candidate->host_of[r] = r;
    return RONDE_OK;
}
