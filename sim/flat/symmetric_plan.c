/* Slots for vectors, taken and given back in the order of the operations. */
#include "symmetric_run.h"

#include "ronde/cursor.h"

#include <math.h>
#include <string.h>

/* Folding: where latencies, rates, releases and bytes repeat with a period of some digit, so do all times, for the
 * recurrence is the same at every position. A ring through the nodes of a pod in order needs one node's positions,
 * a ring on a crossbar one position. */

/* Whether two positions pay the same on a channel. */
static bool pays_alike(const struct ronde_sim_ways *ways, const uint32_t *routes, uint32_t a,
                       uint32_t b)
{
    const struct ronde_path left = ways->routes.all[routes[a]].path;
    const struct ronde_path right = ways->routes.all[routes[b]].path;
    return left.latency_ns == right.latency_ns && left.rate_GBps == right.rate_GBps;
}

static double release_of(const struct ronde_sim_ways *ways, uint32_t channel, uint32_t position)
{
    const struct ronde_channel *order = &ways->job->schedule->channels[channel];
    return ways->options->release_ns[ronde_channel_rank(order, position)];
}

/* Whether everything stays when a digit moves on by so much. */
static bool is_period(const struct ronde_sim_ways *ways, uint32_t channel,
                      const struct ronde_sim_group *group, uint32_t step)
{
    for (uint32_t p = 0; p < group->count; p++) {
        const uint32_t q = ronde_sim_group_add(group, p, step);
        if (ways->options->release_ns && release_of(ways, channel, p) != release_of(ways, channel, q))
            return false;
        for (uint32_t way = 0; way < ways->offset_count; way++)
            if (!pays_alike(ways, ronde_sim_ways_at(ways, channel, way), p, q))
                return false;
    }
    return true;
}

/* The smallest period of every digit; those of different digits do not depend on each other. */
static void find_periods(const struct ronde_sim_ways *ways, uint32_t channel,
                         const struct ronde_sim_group *group, uint32_t *out_periods)
{
    for (uint32_t i = 0; i < group->digits; i++) {
        uint32_t period = 1;
        while (period < group->radix[i] &&
               (group->radix[i] % period != 0 ||
                !is_period(ways, channel, group, period * group->place[i])))
            period++;
        out_periods[i] = period;
    }
}

static bool is_even(const double *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

/* Costs of the folded positions: later positions of a kind write what the first one wrote. */
static void fill_ways(const struct ronde_sim_ways *ways, uint32_t channel,
                      struct ronde_sim_fold *fold)
{
    const uint32_t count = fold->folded.count;
    /* A route of no links, as between ranks of one host, has the lane's limit alone. */
    const double cap_GBps = ways->job->params->lane_GBps;
    const double lane_GBps = cap_GBps > 0 ? cap_GBps : INFINITY;
    for (uint32_t w = 0; w < ways->offset_count; w++) {
        struct ronde_sim_way *way = &fold->each[w];
        const uint32_t *routes = ronde_sim_ways_at(ways, channel, w);
        way->latency_ns = fold->costs + 2 * (size_t)w * count;
        way->rate_GBps = way->latency_ns + count;
        for (uint32_t p = 0; p < fold->full.count; p++) {
            const struct ronde_path path = ways->routes.all[routes[p]].path;
            way->latency_ns[fold->of[p]] = path.latency_ns;
            way->rate_GBps[fold->of[p]] = path.rate_GBps > 0 ? path.rate_GBps : lane_GBps;
        }
        way->is_latency_even = is_even(way->latency_ns, count);
        way->is_rate_even = is_even(way->rate_GBps, count);
    }
    for (uint32_t p = 0; fold->release_ns && p < fold->full.count; p++)
        fold->release_ns[fold->of[p]] = release_of(ways, channel, p);
}

bool ronde_sim_fold_make(const struct ronde_sim_ways *ways, uint32_t channel, bool may_fold,
                         struct ronde_store *store, struct ronde_sim_fold *out_fold)
{
    struct ronde_sim_fold *fold = out_fold;
    uint32_t periods[RONDE_SIM_DIGITS] = {0};
    memset(fold, 0, sizeof *fold);
    fold->full = ronde_sim_group_of(ways->job->schedule);
    memcpy(periods, fold->full.radix, sizeof periods);
    if (may_fold)
        find_periods(ways, channel, &fold->full, periods);
    fold->folded = ronde_sim_group_fold(&fold->full, periods);
    fold->of = ronde_store_new(store, fold->full.count, sizeof *fold->of);
    fold->each = ronde_store_new(store, ways->offset_count, sizeof *fold->each);
    fold->costs = ronde_store_new(store, 2 * (size_t)ways->offset_count * fold->folded.count,
                                  sizeof *fold->costs);
    if (ways->options->release_ns)
        fold->release_ns = ronde_store_new(store, fold->folded.count, sizeof *fold->release_ns);
    if (store->is_short)
        return false;
    for (uint32_t p = 0; p < fold->full.count; p++)
        fold->of[p] = ronde_sim_group_map(&fold->full, &fold->folded, p);
    fill_ways(ways, channel, fold);
    return true;
}

/* The state of the planning. */
struct planner {
    const struct ronde_quotient *quotient;
    const struct ronde_sim_group *group;
    struct ronde_sim_plan *plan;
    uint32_t *last_use; /* per operation: the last that reads its times; then NONE once given back */
    uint32_t *last_bytes; /* per operation: the last that moves its bytes */
    uint32_t *free_slots; /* a stack: what was used last is still in the cache */
    uint32_t free_count;
};

static uint32_t take_slot(struct planner *planner)
{
    return planner->free_count > 0 ? planner->free_slots[--planner->free_count]
                                   : planner->plan->slot_count++;
}

static void give_slot(struct planner *planner, uint32_t slot)
{
    planner->free_slots[planner->free_count++] = slot;
}

/* What is received was sent by the first edge's operation, as far away as its message came. */
static void trace_bytes(struct planner *planner, uint32_t op)
{
    const struct ronde_dag *dag = planner->quotient->dag;
    struct ronde_sim_plan *plan = planner->plan;
    plan->bytes_from[op] = op;
    if (ronde_step_receives(dag->origins[op].op)) {
        const struct ronde_dag_edge *edge = &dag->edges[dag->ops[op].first_edge];
        plan->bytes_from[op] = plan->bytes_from[edge->op];
        plan->bytes_shift[op] =
            ronde_sim_group_add(planner->group, plan->bytes_shift[edge->op],
                                ronde_quotient_offset(planner->quotient, op, edge));
    }
    planner->last_bytes[plan->bytes_from[op]] = op;
}

/* The last reader of every vector. */
static void find_uses(struct planner *planner)
{
    const struct ronde_dag *dag = planner->quotient->dag;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        planner->last_use[i] = i;
        for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++)
            planner->last_use[dag->edges[e].op] = i;
        if (planner->plan->bytes_from)
            trace_bytes(planner, i);
    }
}

/* Gives back what an operation was the last to read; never its own slot before it is written. */
static void give_back(struct planner *planner, uint32_t index)
{
    const struct ronde_dag *dag = planner->quotient->dag;
    const struct ronde_dag_op *op = &dag->ops[index];
    struct ronde_sim_plan *plan = planner->plan;
    for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++) {
        const uint32_t before = dag->edges[e].op;
        if (planner->last_use[before] != index)
            continue;
        planner->last_use[before] = RONDE_NONE;
        give_slot(planner, plan->slot_of[before]);
    }
    plan->is_last[index] = planner->last_use[index] == index;
    if (plan->is_last[index])
        give_slot(planner, plan->slot_of[index]);
    if (plan->bytes_from && planner->last_bytes[plan->bytes_from[index]] == index)
        give_slot(planner, plan->bytes_slot[plan->bytes_from[index]]);
}

static void assign_slots(struct planner *planner)
{
    struct ronde_sim_plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        plan->slot_of[i] = take_slot(planner);
        if (plan->bytes_from && plan->bytes_from[i] == i)
            plan->bytes_slot[i] = take_slot(planner);
        give_back(planner, i);
    }
}

/* The arrays that stay; those about bytes only where positions differ in them. */
static bool reserve(struct ronde_sim_plan *plan, bool is_uniform, struct ronde_store *store)
{
    const uint32_t count = plan->op_count;
    plan->slot_of = ronde_store_new(store, count, sizeof *plan->slot_of);
    plan->is_last = ronde_store_new(store, count, sizeof *plan->is_last);
    if (is_uniform)
        return !store->is_short;
    plan->bytes_from = ronde_store_new(store, count, sizeof *plan->bytes_from);
    plan->bytes_shift = ronde_store_new(store, count, sizeof *plan->bytes_shift);
    plan->bytes_slot = ronde_store_new(store, count, sizeof *plan->bytes_slot);
    return !store->is_short;
}

bool ronde_sim_plan_make(const struct ronde_quotient *quotient, const struct ronde_sim_group *group,
                         struct ronde_store *store, struct ronde_sim_plan *out_plan)
{
    struct ronde_store room = {.mem = store->mem};
    struct planner planner = {.quotient = quotient, .group = group, .plan = out_plan};
    memset(out_plan, 0, sizeof *out_plan);
    out_plan->op_count = quotient->dag->op_count;
    const size_t count = out_plan->op_count;
    planner.last_use = ronde_store_new(&room, count, sizeof *planner.last_use);
    planner.last_bytes = ronde_store_new(&room, count, sizeof *planner.last_bytes);
    planner.free_slots = ronde_store_new(&room, 2 * count, sizeof *planner.free_slots);
    const bool fits = reserve(out_plan, quotient->is_uniform, store) && !room.is_short;
    if (fits) {
        find_uses(&planner);
        assign_slots(&planner);
    }
    ronde_store_clear(&room);
    return fits;
}
