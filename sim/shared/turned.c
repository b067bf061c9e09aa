/*
 * Max-min sharing for one of each kind where a schedule has a program per position, as trees have: positions as far apart as
 * their programs are alike, and channels that run the same programs on other ranks. A turn moves all of these at once; where
 * the machine looks the same after it, what turns into one another does the same at the same time, flow by flow and link by
 * link, and one of each is replayed, as folded.c does with symmetric schedules.
 */
#include "forward.h"
#include "maxmin_share.h"
#include "shorten.h"
#include "sim/check.h"
#include "sim/job.h"

#include "ronde/backend.h"
#include "ronde/cursor.h"
#include "ronde/partition.h"

#include <string.h>

/* A graph is rolled up where that leaves at most one of so many pieces. */
#define LEAST_ROLLED 2u

/* The state of a replay. */
struct turning {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options;
    struct ronde_error *error;
    struct ronde_store store;
    struct ronde_load load; /* what there is a graph of: the first pieces, where they stand for all */
    uint32_t pieces;        /* that they stand for; 0 = the graph is that of the whole load */
    struct ronde_sim_kinds kinds;
    struct ronde_dag_turn turn;
    uint32_t *channel_of; /* what turn says of channels */
    uint32_t *becomes;    /* per channel, what it becomes by the turn in question */
    bool *is_taken;       /* per channel, whether another one has become it */
    uint32_t *rank_to;    /* per rank, whose place it takes */
    uint32_t *from;       /* hosts of an exchange: those that move, and then their places */
    uint32_t *moved;      /* per link, what becomes of it, or NONE */
};

static enum ronde_status no_memory(const struct turning *turning)
{
    return ronde_fail(turning->error, RONDE_NO_MEMORY, "no memory to turn %u ranks",
                      turning->job->schedule->ranks);
}

static enum ronde_status refuse(const struct turning *turning, const char *why)
{
    return ronde_fail(turning->error, RONDE_UNSUPPORTED, "%s on %u ranks is not turned: %s",
                      turning->job->schedule->algorithm, turning->job->schedule->ranks, why);
}

/* What this is not for. */
static enum ronde_status check(const struct turning *turning)
{
    const struct ronde_sim_job *job = turning->job;
    const struct ronde_sim_options *options = turning->options;
    if (job->schedule->symmetry != RONDE_SYMMETRY_NONE || job->schedule->absolute_peers)
        return refuse(turning, "it has no program per position with peers relative to it");
    if (options->out_start_ns || options->out_finish_ns || options->release_ns)
        return refuse(turning, "single operations have times");
    if (ronde_sim_has_flags(job->platform, options))
        return refuse(turning, "flags are SimGrid's");
    if (ronde_time_is_sized(job->params))
        return refuse(turning, "what messages cost their ends adds up by ranks");
    if (!ronde_dag_is_even(job->schedule, job->load))
        return refuse(turning, "chunks differ");
    RONDE_TRY(ronde_sim_refuse_shared(job->platform, "maxmin", turning->error));
    return ronde_sim_check_hosts(job->platform, job->schedule->ranks, options, turning->error);
}

static uint32_t rank_at(const struct turning *turning, uint32_t channel, uint32_t position)
{
    return ronde_channel_rank(&turning->job->schedule->channels[channel], position);
}

/* The ranks of a channel take the places of those of another one, so many positions on. */
static void move_ranks(struct turning *turning, uint32_t to_channel, uint32_t positions)
{
    const uint32_t ranks = turning->job->schedule->ranks;
    for (uint32_t p = 0; p < ranks; p++)
        turning->rank_to[rank_at(turning, 0, p)] =
            rank_at(turning, to_channel, ronde_add_modulo(p, positions, ranks));
}

/* Whether a channel becomes another one, so many positions on, where ranks move as they do. */
static bool becomes(const struct turning *turning, uint32_t channel, uint32_t other,
                    uint32_t positions)
{
    const struct ronde_schedule *schedule = turning->job->schedule;
    bool is = schedule->channels[channel].weight == schedule->channels[other].weight;
    for (uint32_t p = 0; is && p < schedule->ranks; p++)
        is = turning->rank_to[rank_at(turning, channel, p)] ==
             rank_at(turning, other, ronde_add_modulo(p, positions, schedule->ranks));
    return is;
}

/* Whether the machine looks the same where ranks have moved; if so, links that do are one kind. */
static enum ronde_status turn_machine(struct turning *turning, bool *out_is_symmetry)
{
    const uint32_t ranks = turning->job->schedule->ranks;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        turning->from[rank] = ronde_sim_host(turning->options, rank);
        turning->from[ranks + rank] = ronde_sim_host(turning->options, turning->rank_to[rank]);
    }
    const struct ronde_exchange exchange = {turning->from, turning->from + ranks, ranks};
    RONDE_TRY(ronde_platform_symmetry(turning->job->platform, &exchange, turning->store.mem,
                                      turning->moved, out_is_symmetry, turning->error));
    if (*out_is_symmetry)
        ronde_sim_kinds_join(&turning->kinds, turning->moved);
    return RONDE_OK;
}

/* The fewest positions by which all channels turn. */
static enum ronde_status turn_positions(struct turning *turning)
{
    const struct ronde_schedule *schedule = turning->job->schedule;
    bool turns = false;
    for (uint32_t positions = 1; positions < schedule->ranks && !turns; positions++) {
        turning->turn.positions = positions;
        if (schedule->ranks % positions != 0 || !ronde_dag_turns(schedule, positions))
            continue;
        move_ranks(turning, 0, positions);
        turns = true;
        for (uint32_t c = 1; turns && c < schedule->channel_count; c++)
            turns = becomes(turning, c, c, positions);
        if (turns)
            RONDE_TRY(turn_machine(turning, &turns));
    }
    if (!turns)
        turning->turn.positions = schedule->ranks;
    return RONDE_OK;
}

/* Whether each channel becomes one where the first becomes `other`: of equal ones each takes one. */
static bool find_channels(struct turning *turning, uint32_t other)
{
    const uint32_t channels = turning->job->schedule->channel_count;
    bool is_found = true;
    memset(turning->is_taken, 0, channels * sizeof *turning->is_taken);
    for (uint32_t c = 0; is_found && c < channels; c++) {
        uint32_t to = c == 0 ? other : 0;
        while (to < channels && (turning->is_taken[to] || !becomes(turning, c, to, 0)))
            to = c == 0 ? channels : to + 1;
        is_found = to < channels;
        turning->becomes[c] = to;
        if (is_found)
            turning->is_taken[to] = true;
    }
    return is_found;
}

/* Channels that turn into one another. */
static enum ronde_status turn_channels(struct turning *turning)
{
    const uint32_t channels = turning->job->schedule->channel_count;
    for (uint32_t other = 1; other < channels; other++) {
        bool turns = false;
        if (ronde_partition_find(turning->channel_of, other) == 0)
            continue;
        move_ranks(turning, other, 0);
        if (find_channels(turning, other))
            RONDE_TRY(turn_machine(turning, &turns));
        for (uint32_t c = 0; turns && c < channels; c++)
            ronde_sim_join_to_first(turning->channel_of, c, turning->becomes[c]);
    }
    for (uint32_t c = 0; c < channels; c++)
        turning->channel_of[c] = ronde_partition_find(turning->channel_of, c);
    return RONDE_OK;
}

/* How many channels a channel stands for; 0 where not all stand for as many. */
static uint32_t copies_of_channels(const struct turning *turning)
{
    const uint32_t channels = turning->job->schedule->channel_count;
    uint32_t copies = 0;
    for (uint32_t c = 0; c < channels; c++) {
        uint32_t own = 0;
        for (uint32_t other = 0; other < channels; other++)
            own += turning->channel_of[other] == turning->channel_of[c];
        if (c > 0 && own != copies)
            return 0;
        copies = own;
    }
    return copies;
}

static bool reserve(struct turning *turning)
{
    const uint32_t ranks = turning->job->schedule->ranks;
    const uint32_t channels = turning->job->schedule->channel_count;
    struct ronde_store *store = &turning->store;
    ronde_sim_kinds_begin(&turning->kinds, turning->job->platform, store);
    turning->channel_of = ronde_store_new(store, channels, sizeof *turning->channel_of);
    turning->becomes = ronde_store_new(store, channels, sizeof *turning->becomes);
    turning->is_taken = ronde_store_new(store, channels, sizeof *turning->is_taken);
    turning->rank_to = ronde_store_new(store, ranks, sizeof *turning->rank_to);
    turning->from = ronde_store_new(store, 2 * (size_t)ranks, sizeof *turning->from);
    turning->moved = ronde_store_new(store, turning->kinds.count, sizeof *turning->moved);
    for (uint32_t c = 0; turning->channel_of && c < channels; c++)
        turning->channel_of[c] = c;
    turning->turn.channel_of = turning->channel_of;
    return !store->is_short;
}

/* The graph is rolled up where there are pieces enough for that to make it smaller. */
static void roll_load(struct turning *turning)
{
    const struct ronde_schedule *schedule = turning->job->schedule;
    const struct ronde_load *load = turning->job->load;
    const uint32_t depth =
        ronde_launch_depth(schedule, &(struct ronde_launch){.depth = load->depth});
    const uint64_t pieces = ronde_sim_pieces(schedule, load);
    const uint64_t least = RONDE_SIM_ROLLED_PIECES((uint64_t)depth);
    turning->load = *load;
    if (pieces < LEAST_ROLLED * least || pieces >= RONDE_SIM_FORWARD_MESSAGE)
        return;
    turning->load = ronde_sim_fewer_pieces(schedule, load, pieces - least);
    turning->pieces = (uint32_t)pieces;
}

/* All turns there are; how many each operation that is left stands for. */
static enum ronde_status find_turns(struct turning *turning, double *out_copies)
{
    const uint32_t ranks = turning->job->schedule->ranks;
    if (!reserve(turning))
        return no_memory(turning);
    RONDE_TRY(turn_positions(turning));
    RONDE_TRY(turn_channels(turning));
    ronde_sim_kinds_end(&turning->kinds);
    *out_copies = (double)copies_of_channels(turning) * (ranks / turning->turn.positions);
    if (*out_copies <= 1)
        return refuse(turning, "no two of its parts are alike");
    roll_load(turning);
    const struct ronde_sim_job graph = {turning->job->platform, turning->job->schedule,
                                        &turning->load, turning->job->params};
    return (double)ronde_sim_job_steps(&graph) <= *out_copies * RONDE_SIM_MOST_FOLDED_OPS
               ? RONDE_OK
               : refuse(turning, "too many steps are left");
}

/* All links of a kind are one. */
static void merge_links(const struct turning *turning, double copies,
                        struct ronde_sim_forward_graph *graph)
{
    for (uint32_t i = 0; i < graph->routes.hop_count; i++)
        graph->routes.hops[i] = turning->kinds.of[graph->routes.hops[i]];
    for (uint32_t i = 0; i < graph->link_count; i++)
        graph->links[i].rate_GBps =
            ronde_sim_kinds_rate(&turning->kinds, turning->job->platform, i, copies);
}

/* What stands for all, forwards. */
static enum ronde_status open_walk(const struct turning *turning,
                                   const struct ronde_sim_scene *scene, double copies,
                                   struct ronde_sim_forward *walk)
{
    RONDE_TRY(ronde_sim_forward_open(walk, scene, "maxmin"));
    merge_links(turning, copies, &walk->graph);
    return turning->pieces > 0 ? ronde_sim_forward_graph_roll(scene, turning->pieces, &walk->graph)
                               : RONDE_OK;
}

/* What a run costs besides its steps is that of the whole load. */
static enum ronde_status replay(const struct turning *turning, double copies,
                                struct ronde_sim_result *out_result)
{
    const struct ronde_sim_job *job = turning->job;
    const struct ronde_mem *mem = turning->store.mem;
    struct ronde_dag *dag = NULL;
    RONDE_TRY(ronde_dag_create_turned(job->schedule, &turning->load, job->params, &turning->turn,
                                      mem, &dag, turning->error));
    dag->launch_ns = ronde_time_launch_ns(job->params, job->schedule, job->load);
    dag->least_ns = ronde_time_least_ns(job->params, job->schedule, job->load);
    const struct ronde_sim_scene scene = {job->platform, dag, turning->options, mem, turning->error};
    struct ronde_sim_forward walk;
    enum ronde_status status = open_walk(turning, &scene, copies, &walk);
    RONDE_THEN(status, ronde_sim_maxmin_walk(&walk, out_result));
    out_result->is_symmetric = true;
    ronde_sim_forward_close(&walk);
    ronde_dag_destroy(dag, mem);
    return status;
}

enum ronde_status ronde_sim_turned(const struct ronde_sim_job *job,
                                   const struct ronde_sim_options *options,
                                   const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                   struct ronde_error *error)
{
    struct turning turning = {.job = job,
                              .options = options ? options : &ronde_sim_defaults,
                              .error = error,
                              .store = {.mem = mem}};
    double copies = 0;
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = check(&turning);
    RONDE_THEN(status, find_turns(&turning, &copies));
    RONDE_THEN(status, replay(&turning, copies, out_result));
    ronde_store_clear(&turning.store);
    return status;
}
