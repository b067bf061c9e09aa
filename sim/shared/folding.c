/*
 * Which positions and links are one kind: periods of digits that are symmetries of the machine, and what they do to
 * links.
 *
 * The schedule looks the same from every position; the machine need not. A period of a digit is a step by which all
 * positions may be moved with the machine looking the same: first asked of what the machine is made of, which is
 * fast, and where that does not decide, of all routes, link by link. The least period of each digit is taken;
 * positions that differ by periods are one kind, of which one is replayed. Links that a period carries onto one
 * another are one kind too. One link stands for kinds.size links that are shared by full.count / folded.count times as
 * many positions, so its rate is scaled by the two (ronde_sim_kinds_rate). Without a period below its radix there
 * is nothing to fold: refused.
 */
#include "forward_graph.h"

#include "sim/check.h"

#include "ronde/cursor.h"

#include <string.h>

/* Routes that are looked up one by one where the machine's own parts do not decide. */
#define MOST_LOOKED_UP (1u << 22)

/* The state of a search. */
struct finder {
    struct ronde_sim_folding *folding;
    struct ronde_error *error;
    struct ronde_sim_ways ways; /* routes of all positions, once they are needed */
    bool has_ways;
    struct ronde_store room;
    uint32_t *moved;   /* per link, what one period makes of it, or NONE */
    uint32_t *from_to; /* hosts of an exchange: those that move, and then their places */
};

static enum ronde_status no_memory(const struct finder *finder)
{
    return ronde_fail(finder->error, RONDE_NO_MEMORY, "no memory to fold %u ranks",
                      finder->folding->full.count);
}

static uint32_t rank_at(const struct finder *finder, uint32_t channel, uint32_t position)
{
    return ronde_channel_rank(&finder->folding->job->schedule->channels[channel], position);
}

/* Whether what is not the network is the same for ranks that change places. */
static bool are_released_alike(const struct finder *finder, uint32_t step)
{
    const struct ronde_sim_folding *folding = finder->folding;
    const double *release_ns = folding->options->release_ns;
    const uint32_t channels = folding->job->schedule->channel_count;
    bool is_alike = true;
    for (uint32_t c = 0; release_ns && c < channels; c++)
        for (uint32_t p = 0; p < folding->full.count && is_alike; p++)
            is_alike = release_ns[rank_at(finder, c, p)] ==
                       release_ns[rank_at(finder, c, ronde_sim_group_add(&folding->full, p, step))];
    return is_alike;
}

static bool are_chunks_alike(const struct finder *finder, uint32_t step)
{
    bool is_alike = true;
    for (uint32_t c = 0; is_alike && c < finder->folding->job->schedule->channel_count; c++)
        is_alike = ronde_quotient_repeats(finder->folding->quotients[c], step);
    return is_alike;
}

/* Whether ranks move alike in all channels, as they must where hosts take their links along. */
static bool do_channels_agree(const struct finder *finder, uint32_t step)
{
    const struct ronde_schedule *schedule = finder->folding->job->schedule;
    const struct ronde_sim_group *full = &finder->folding->full;
    bool is_same = true;
    for (uint32_t c = 1; c < schedule->channel_count; c++)
        for (uint32_t p = 0; p < full->count && is_same; p++) {
            const struct ronde_channel *first = &schedule->channels[0];
            const uint32_t rank = rank_at(finder, c, p);
            const uint32_t same = first->position_of ? first->position_of[rank] : rank;
            is_same = rank_at(finder, c, ronde_sim_group_add(full, p, step)) ==
                      rank_at(finder, 0, ronde_sim_group_add(full, same, step));
        }
    return is_same;
}

/* By what the machine is made of: hosts take the places of those a period on. */
static enum ronde_status compare_machine(struct finder *finder, uint32_t step, bool *out_is_symmetry)
{
    const struct ronde_sim_folding *folding = finder->folding;
    const uint32_t ranks = folding->full.count;
    *out_is_symmetry = false;
    if (!do_channels_agree(finder, step))
        return RONDE_OK;
    for (uint32_t p = 0; p < ranks; p++) {
        const uint32_t q = ronde_sim_group_add(&folding->full, p, step);
        finder->from_to[p] = ronde_sim_host(folding->options, rank_at(finder, 0, p));
        finder->from_to[ranks + p] = ronde_sim_host(folding->options, rank_at(finder, 0, q));
    }
    const struct ronde_exchange exchange = {finder->from_to, finder->from_to + ranks, ranks};
    return ronde_platform_symmetry(folding->job->platform, &exchange, folding->store.mem,
                                   finder->moved, out_is_symmetry, finder->error);
}

/* One route becomes another, link by link; false where that contradicts what other routes have said. */
static bool move_route(const struct finder *finder, const struct ronde_sim_route *one,
                       const struct ronde_sim_route *other)
{
    const struct ronde_platform *platform = finder->folding->job->platform;
    bool holds = one->hop_count == other->hop_count &&
                 one->path.latency_ns == other->path.latency_ns &&
                 one->path.rate_GBps == other->path.rate_GBps;
    for (uint32_t i = 0; i < one->hop_count && holds; i++) {
        const uint32_t from = finder->ways.routes.hops[one->first_hop + i];
        const uint32_t to = finder->ways.routes.hops[other->first_hop + i];
        const struct ronde_link *left = ronde_platform_link(platform, from);
        const struct ronde_link *right = ronde_platform_link(platform, to);
        holds = (finder->moved[from] == RONDE_NONE || finder->moved[from] == to) &&
                left->rate_GBps == right->rate_GBps && left->is_fatpipe == right->is_fatpipe;
        finder->moved[from] = to;
    }
    return holds;
}

/*
 * By all routes there are: those of every position against those a period on. All of them together are a permutation of
 * the links in use, for every link in use is one of a route that another becomes.
 */
static enum ronde_status compare_routes(struct finder *finder, uint32_t step, bool *out_is_symmetry)
{
    const struct ronde_sim_folding *folding = finder->folding;
    const struct ronde_sim_ways *ways = &finder->ways;
    enum ronde_status status = RONDE_OK;
    bool holds = true;
    if (!finder->has_ways)
        status = ronde_sim_ways_make(&finder->ways, finder->error);
    finder->has_ways = true;
    for (uint32_t i = 0; i < folding->kinds.count; i++)
        finder->moved[i] = RONDE_NONE;
    for (uint32_t c = 0; c < folding->job->schedule->channel_count && status == RONDE_OK; c++)
        for (uint32_t way = 0; way < ways->offset_count && holds; way++) {
            const uint32_t *routes = ronde_sim_ways_at(ways, c, way);
            for (uint32_t p = 0; p < folding->full.count && holds; p++)
                holds = move_route(
                    finder, &ways->routes.all[routes[p]],
                    &ways->routes.all[routes[ronde_sim_group_add(&folding->full, p, step)]]);
        }
    *out_is_symmetry = status == RONDE_OK && holds;
    return status;
}

static bool may_look_up(const struct finder *finder)
{
    const struct ronde_schedule *schedule = finder->folding->job->schedule;
    return (uint64_t)schedule->programs[0].connection_count * schedule->channel_count *
               schedule->ranks <=
           2ull * MOST_LOOKED_UP;
}

static enum ronde_status is_period(struct finder *finder, uint32_t step, bool *out_is)
{
    *out_is = false;
    if (!are_released_alike(finder, step) || !are_chunks_alike(finder, step))
        return RONDE_OK;
    RONDE_TRY(ronde_cancel_check(finder->folding->options->cancel, "the replay", finder->error));
    RONDE_TRY(compare_machine(finder, step, out_is));
    if (!*out_is && may_look_up(finder))
        RONDE_TRY(compare_routes(finder, step, out_is));
    return RONDE_OK;
}

/* The least period of a digit; its radix where there is none. */
static enum ronde_status find_period(struct finder *finder, uint32_t digit, uint32_t *out_period)
{
    const struct ronde_sim_group *full = &finder->folding->full;
    enum ronde_status status = RONDE_OK;
    bool is = false;
    for (uint32_t period = 1; period < full->radix[digit] && !is && status == RONDE_OK; period++) {
        *out_period = period;
        if (full->radix[digit] % period == 0)
            status = is_period(finder, period * full->place[digit], &is);
    }
    if (is)
        ronde_sim_kinds_join(&finder->folding->kinds, finder->moved);
    else
        *out_period = full->radix[digit];
    return status;
}

static bool reserve(struct finder *finder)
{
    struct ronde_sim_folding *folding = finder->folding;
    ronde_sim_kinds_begin(&folding->kinds, folding->job->platform, &folding->store);
    finder->moved = ronde_store_new(&finder->room, folding->kinds.count, sizeof *finder->moved);
    finder->from_to =
        ronde_store_new(&finder->room, 2 * (size_t)folding->full.count, sizeof *finder->from_to);
    return !folding->store.is_short && !finder->room.is_short;
}

static enum ronde_status find_periods(struct finder *finder)
{
    struct ronde_sim_folding *folding = finder->folding;
    uint32_t periods[RONDE_SIM_DIGITS] = {0};
    for (uint32_t i = 0; i < folding->full.digits; i++)
        RONDE_TRY(find_period(finder, i, &periods[i]));
    folding->folded = ronde_sim_group_fold(&folding->full, periods);
    ronde_sim_kinds_end(&folding->kinds);
    return folding->folded.count < folding->full.count
               ? RONDE_OK
               : ronde_fail(finder->error, RONDE_UNSUPPORTED,
                            "no two of %u ranks have the same place in the machine and in %s",
                            folding->full.count, folding->job->schedule->algorithm);
}

enum ronde_status ronde_sim_folding_make(struct ronde_sim_folding *folding,
                                         struct ronde_error *error)
{
    struct finder finder = {.folding = folding, .error = error, .room = {.mem = folding->store.mem}};
    folding->full = ronde_sim_group_of(folding->job->schedule);
    finder.ways = (struct ronde_sim_ways){.job = folding->job,
                                          .options = folding->options,
                                          .store = {.mem = folding->store.mem}};
    const enum ronde_status status = reserve(&finder) ? find_periods(&finder) : no_memory(&finder);
    ronde_sim_ways_free(&finder.ways);
    ronde_store_clear(&finder.room);
    return status;
}

uint32_t ronde_sim_folding_position(const struct ronde_sim_folding *folding, uint32_t folded)
{
    uint32_t position = 0;
    for (uint32_t i = 0; i < folding->full.digits; i++)
        position +=
            folded / folding->folded.place[i] % folding->folded.radix[i] * folding->full.place[i];
    return position;
}
