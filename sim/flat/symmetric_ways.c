/* Where the positions of a symmetric schedule send: the same offsets at every position, but routes of its own. */
#include "symmetric.h"

#include "ronde/cursor.h"

/* Most routes: their numbers and what they cost take 0.4 GB then, and finding them some seconds. */
#define MOST_ROUTES (1u << 22)

static enum ronde_status no_memory(const struct ronde_sim_ways *ways, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the routes of %u ranks",
                      ways->job->schedule->ranks);
}

/* Numbers the offsets as connections name them; `number` has an entry per position, the offset's + 1. */
static void number_offsets(struct ronde_sim_ways *ways, const struct ronde_program *program,
                           uint32_t *number)
{
    for (uint32_t c = 0; c < program->connection_count; c++) {
        const uint32_t offset = program->connections[c].peer;
        if (!program->connections[c].is_send)
            continue;
        if (number[offset] == 0) {
            ways->offsets[ways->offset_count++] = offset;
            number[offset] = ways->offset_count;
        }
        ways->way_of[c] = number[offset] - 1;
    }
}

/* Lists the offsets of every lane; `seen` has an entry per offset, the lane + 1 that listed it last. */
static void list_lanes(struct ronde_sim_ways *ways, const struct ronde_program *program,
                       uint32_t *seen)
{
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        ways->lane_first[lane] = count;
        for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
            const uint32_t send = program->steps[s].send;
            if (send == RONDE_NONE || seen[ways->way_of[send]] == lane + 1)
                continue;
            seen[ways->way_of[send]] = lane + 1;
            ways->lane_ways[count++] = ways->way_of[send];
        }
    }
    ways->lane_first[program->lane_count] = count;
}

/* Offsets of the program and of its lanes. */
static enum ronde_status find_offsets(struct ronde_sim_ways *ways, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = ways->job->schedule;
    const struct ronde_program *program = &schedule->programs[0];
    const uint32_t ends = program->connection_count;
    struct ronde_store room = {.mem = ways->store.mem};
    ways->offsets = ronde_store_new(&ways->store, ends, sizeof *ways->offsets);
    ways->way_of = ronde_store_new(&ways->store, ends, sizeof *ways->way_of);
    ways->lane_ways = ronde_store_new(&ways->store, ends, sizeof *ways->lane_ways);
    ways->lane_first =
        ronde_store_new(&ways->store, (size_t)program->lane_count + 1, sizeof *ways->lane_first);
    uint32_t *number = ronde_store_new(&room, schedule->ranks, sizeof *number);
    uint32_t *seen = ronde_store_new(&room, ends, sizeof *seen);
    enum ronde_status status = RONDE_OK;
    if (!ways->store.is_short && !room.is_short) {
        number_offsets(ways, program, number);
        list_lanes(ways, program, seen);
    } else {
        status = no_memory(ways, error);
    }
    ronde_store_clear(&room);
    return status;
}

/* Position by position, so that a router finds the routes of one source together. */
static enum ronde_status find_channel(struct ronde_sim_ways *ways, uint32_t channel,
                                      struct ronde_sim_search *search)
{
    const struct ronde_schedule *schedule = ways->job->schedule;
    const struct ronde_channel *order = &schedule->channels[channel];
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < schedule->ranks; p++)
        for (uint32_t way = 0; way < ways->offset_count && status == RONDE_OK; way++) {
            const uint32_t peer = ronde_group_add(schedule, p, ways->offsets[way]);
            const size_t row = (size_t)channel * ways->offset_count + way;
            status = ronde_sim_search_find(search, ronde_channel_rank(order, p),
                                           ronde_channel_rank(order, peer),
                                           &ways->route_of[row * schedule->ranks + p]);
        }
    return status;
}

static enum ronde_status find_routes(struct ronde_sim_ways *ways, struct ronde_error *error)
{
    const struct ronde_sim_job *job = ways->job;
    const uint32_t channels = job->schedule->channel_count;
    const uint64_t count = (uint64_t)channels * ways->offset_count * job->schedule->ranks;
    struct ronde_sim_search search = {.platform = job->platform,
                                      .options = ways->options,
                                      .mem = ways->store.mem,
                                      .error = error,
                                      .alpha_ns = job->params->alpha_ns,
                                      .lane_GBps = job->params->lane_GBps,
                                      .routes = &ways->routes};
    if (count > MOST_ROUTES)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s on %u ranks uses %llu routes, more than the %u a symmetric replay keeps",
            job->schedule->algorithm, job->schedule->ranks, (unsigned long long)count, MOST_ROUTES);
    ways->route_of = ronde_store_new(&ways->store, count, sizeof *ways->route_of);
    if (ways->store.is_short)
        return no_memory(ways, error);
    enum ronde_status status = ronde_sim_search_begin(&search);
    for (uint32_t channel = 0; channel < channels && status == RONDE_OK; channel++)
        status = find_channel(ways, channel, &search);
    ronde_sim_search_end(&search);
    return status;
}

static bool is_memo_of(const struct ronde_sim_memo *memo, const struct ronde_sim_ways *ways)
{
    return memo->platform == ways->job->platform && memo->host_of == ways->options->host_of &&
           memo->alpha_ns == ways->job->params->alpha_ns &&
           memo->lane_GBps == ways->job->params->lane_GBps;
}

/* What a memo has; false where it has nothing, or something else. */
static bool borrow(struct ronde_sim_ways *ways, const struct ronde_sim_memo *memo)
{
    const struct ronde_sim_ways asked = *ways;
    if (!memo->is_known || !is_memo_of(memo, ways))
        return false;
    *ways = memo->ways;
    ways->job = asked.job;
    ways->options = asked.options;
    ways->is_borrowed = true;
    return true;
}

/* Leaves ways to a memo that has none. */
static void lend(struct ronde_sim_ways *ways, struct ronde_sim_memo *memo)
{
    if (memo->is_known || memo->mem != ways->store.mem)
        return;
    memo->is_known = true;
    memo->platform = ways->job->platform;
    memo->host_of = ways->options->host_of;
    memo->alpha_ns = ways->job->params->alpha_ns;
    memo->lane_GBps = ways->job->params->lane_GBps;
    memo->ways = *ways;
    ways->is_borrowed = true;
}

enum ronde_status ronde_sim_ways_make(struct ronde_sim_ways *ways, struct ronde_error *error)
{
    struct ronde_sim_memo *memo = ways->options->memo;
    /* Windows of an extrapolation are other schedules with the same options. */
    if (memo && memo->schedule != ways->job->schedule)
        memo = NULL;
    if (memo && borrow(ways, memo))
        return RONDE_OK;
    RONDE_TRY(find_offsets(ways, error));
    RONDE_TRY(find_routes(ways, error));
    if (memo)
        lend(ways, memo);
    return RONDE_OK;
}

struct ronde_sim_memo *ronde_sim_memo_create(const struct ronde_schedule *schedule,
                                             const struct ronde_mem *mem)
{
    struct ronde_sim_memo *memo = ronde_mem_new(mem, 1, sizeof *memo);
    if (memo)
        *memo = (struct ronde_sim_memo){.schedule = schedule, .mem = mem};
    return memo;
}

void ronde_sim_memo_clear(struct ronde_sim_memo *memo)
{
    if (memo->is_known)
        ronde_sim_ways_free(&memo->ways);
    memo->is_known = false;
}

void ronde_sim_memo_destroy(struct ronde_sim_memo *memo)
{
    if (!memo)
        return;
    ronde_sim_memo_clear(memo);
    ronde_mem_free(memo->mem, memo, 1, sizeof *memo);
}

void ronde_sim_ways_free(struct ronde_sim_ways *ways)
{
    if (ways->is_borrowed)
        return;
    ronde_sim_routes_free(&ways->routes, ways->store.mem);
    ronde_store_clear(&ways->store);
}

/* The most load that a link may get. */
struct demand {
    double total_GBps; /* by all lanes so far */
    double lane_GBps;  /* the most by the lane that came last, part of the total */
    double route_GBps; /* by the route that is being added: it may cross the link several times */
    uint64_t lane;     /* number of the lane that came last, from 1 on */
};

/* Adds a route of a lane: only its load beyond the lane's other routes. */
static void add_route(const struct ronde_sim_ways *ways, uint32_t route, uint64_t lane,
                      struct demand *demands)
{
    const struct ronde_sim_route *way = &ways->routes.all[route];
    const uint32_t *links = ways->routes.hops + way->first_hop;
    for (uint32_t k = 0; k < way->hop_count; k++)
        demands[links[k]].route_GBps += way->path.rate_GBps;
    for (uint32_t k = 0; k < way->hop_count; k++) {
        struct demand *demand = &demands[links[k]];
        if (demand->lane != lane) {
            demand->lane = lane;
            demand->lane_GBps = 0;
        }
        if (demand->route_GBps > demand->lane_GBps) {
            demand->total_GBps += demand->route_GBps - demand->lane_GBps;
            demand->lane_GBps = demand->route_GBps;
        }
        demand->route_GBps = 0;
    }
}

/* Adds the lanes of one channel; returns the number of the last. */
static uint64_t add_lanes(const struct ronde_sim_ways *ways, uint32_t channel, uint64_t number,
                          struct demand *demands)
{
    const struct ronde_schedule *schedule = ways->job->schedule;
    for (uint32_t lane = 0; lane < schedule->programs[0].lane_count; lane++)
        for (uint32_t p = 0; p < schedule->ranks; p++) {
            number++;
            for (uint32_t i = ways->lane_first[lane]; i < ways->lane_first[lane + 1]; i++)
                add_route(ways, ronde_sim_ways_at(ways, channel, ways->lane_ways[i])[p], number,
                          demands);
        }
    return number;
}

bool ronde_sim_ways_exempt(const struct ronde_sim_ways *ways, struct ronde_certificate *certificate)
{
    const uint32_t links = certificate->link_count;
    struct demand *demands = ronde_mem_new(ways->store.mem, links, sizeof *demands);
    uint64_t number = 0;
    if (!demands)
        return false;
    for (uint32_t channel = 0; channel < ways->job->schedule->channel_count; channel++)
        number = add_lanes(ways, channel, number, demands);
    for (uint32_t l = 0; l < links; l++) {
        const double rate_GBps = ronde_platform_link(certificate->platform, l)->rate_GBps;
        certificate->uses[l].is_exempt |=
            demands[l].total_GBps <= rate_GBps * (1 + RONDE_CERTIFICATE_TOLERANCE);
    }
    ronde_mem_free(ways->store.mem, demands, links, sizeof *demands);
    return true;
}
