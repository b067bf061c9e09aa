/*
 * Replay with max-min sharing of every link, as SimGrid has it, in time that follows what changes: flows that begin and
 * end at one moment are worked out together, and rates are found again only for flows that a tight link joins to them
 * (maxmin_solve.c). Times are those of SimGrid to rounding: tests/property/flat_simgrid_test.c compares.
 */
#include "maxmin_share.h"
#include "sim/check.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* What differs by less, relative, is one moment: equal times reached by different sums. */
#define SAME 1e-12

/* Rates that differ by less are the same: an end found before stays, to the last bit. */
#define EVEN 1e-13

/* Moments between two looks at the clock: one of a large tree takes 20 ms. */
#define PATIENCE 16u

/* A replay is judged by its beginning once it has taken so much. */
#define LEAST_S 0.5
#define LEAST_WORK UINT64_C(10000000)

/* By time it is given up where it would take so many times its limit. */
#define FAR 1.5

/* So many flows at once are no longer in the nearest caches, and a visit costs twice as much. */
#define MANY_FLOWS 8192u

/* Flows whose memory is prefetched together, as they begin or end. */
#define AHEAD 16u

/* Ends below each in the heap: as many as lie in a cache line, so that going down it misses the cache half as often as with two. */
#define WAYS 4u

/* When the first flow of a bundle ends, in a heap: beside the bundle's number, for bundles lie all over their memory. */
struct end {
    double at_ns;
    uint32_t bundle;
};

/* A flow of a bundle: all have one rate, so it is over once each flow there from the first has carried so much. */
struct flow {
    double until_bytes;
    uint32_t op;   /* whose message */
    uint32_t kind; /* of the operation */
    uint32_t next; /* the one that ends after it, or NONE; of a free place, the next free one */
    uint32_t prev; /* the one that ends before it, or NONE */
};

/* Flows of a bundle in the order they end in, NONE where it has none; and where it is among the ends, + 1; 0 = it has no rate yet. */
struct line {
    uint32_t first;
    uint32_t last;
    uint32_t place;
};

/* The state of a replay. */
struct maxmin {
    struct ronde_sim_forward *walk;
    struct ronde_sim_share share;
    struct end *ends; /* a heap, the bundle whose flow ends first on top */
    size_t end_capacity;
    uint32_t end_count;
    struct line *lines; /* per bundle */
    size_t line_capacity;
    uint32_t line_count;
    struct flow *flows; /* in places that are used again */
    size_t flow_capacity;
    uint32_t flows_used;   /* places used so far */
    uint32_t free_flow;    /* the first of those that are free, or NONE */
    struct timespec start; /* of the replay, without what was prepared */
    uint64_t flow_count;   /* of the whole run */
    uint64_t begun;        /* of them */
    uint64_t work;         /* so far */
    uint64_t marked_work; /* when the rest was last estimated; that is done whenever work has doubled */
    uint64_t marked_begun;
};

static inline void put_end(struct maxmin *maxmin, uint32_t at, struct end end)
{
    maxmin->ends[at] = end;
    maxmin->lines[end.bundle].place = at + 1;
}

/* The first of the ends below a place that has some. */
static inline uint32_t first_below(const struct maxmin *maxmin, uint32_t at)
{
    const struct end *ends = maxmin->ends;
    const uint32_t begin = WAYS * at + 1;
    const uint32_t end = begin + WAYS < maxmin->end_count ? begin + WAYS : maxmin->end_count;
    uint32_t first = begin;
    for (uint32_t i = begin + 1; i < end; i++)
        first = ends[i].at_ns < ends[first].at_ns ? i : first;
    return first;
}

/* Moves a bundle up or down to its place among the ends. */
static void settle_end(struct maxmin *maxmin, uint32_t at, struct end end)
{
    const struct end *ends = maxmin->ends;
    const uint32_t count = maxmin->end_count;
    uint32_t visits = 1;
    for (; at > 0 && end.at_ns < ends[(at - 1) / WAYS].at_ns; at = (at - 1) / WAYS) {
        put_end(maxmin, at, ends[(at - 1) / WAYS]);
        visits++;
    }
    while (WAYS * at + 1 < count) {
        const uint32_t child = first_below(maxmin, at);
        if (end.at_ns <= ends[child].at_ns)
            break;
        put_end(maxmin, at, ends[child]);
        at = child;
        visits++;
    }
    put_end(maxmin, at, end);
    maxmin->share.visits += visits;
}

static bool add_end(struct maxmin *maxmin, struct end end)
{
    if (maxmin->end_count == maxmin->end_capacity &&
        !ronde_mem_grow(maxmin->walk->scene.mem, &maxmin->ends, &maxmin->end_capacity,
                        (size_t)maxmin->end_count + 1, sizeof *maxmin->ends))
        return false;
    settle_end(maxmin, maxmin->end_count++, end);
    return true;
}

/* When the first flow of a bundle ends at the rate it has. */
static struct end first_end_of(const struct maxmin *maxmin, uint32_t index)
{
    const struct ronde_sim_bundle *bundle = &maxmin->share.bundles[index];
    const double until_bytes = maxmin->flows[maxmin->lines[index].first].until_bytes;
    const double left_bytes = ronde_sim_later(until_bytes - bundle->carried_bytes, 0);
    return (struct end){bundle->since_ns + left_bytes / bundle->rate_GBps, index};
}

/* Prefetches what a flow touches as it ends: its links, and where its successors are listed. */
static void look_at_end(const struct maxmin *maxmin, uint32_t index)
{
    const struct ronde_sim_bundle *bundle = &maxmin->share.bundles[index];
    const uint32_t op = maxmin->flows[maxmin->lines[index].first].op;
    for (uint32_t hop = 0; hop < bundle->hop_count; hop++)
        __builtin_prefetch(ronde_sim_share_link(&maxmin->share, bundle, hop), 1);
    __builtin_prefetch(&maxmin->walk->graph.first_next[op >> maxmin->walk->graph.piece_bits]);
}

/* The flow that ends first leaves its bundle, which is then where the end of its next one belongs. */
static void pass_end(struct maxmin *maxmin, uint32_t index)
{
    struct line *line = &maxmin->lines[index];
    const uint32_t passed = line->first;
    line->first = maxmin->flows[passed].next;
    maxmin->flows[passed].next = maxmin->free_flow;
    maxmin->free_flow = passed;
    if (line->first != RONDE_NONE) {
        maxmin->flows[line->first].prev = RONDE_NONE;
        settle_end(maxmin, 0, first_end_of(maxmin, index));
        return;
    }
    line->last = RONDE_NONE;
    line->place = 0;
    if (--maxmin->end_count > 0)
        settle_end(maxmin, 0, maxmin->ends[maxmin->end_count]);
}

/* A flow that is over, and its bundle. */
struct passed {
    struct ronde_sim_over over;
    uint32_t bundle;
};

/* The next one is looked at while this one is over: its memory has been on its way since it was second or third. */
static struct passed take_first_end(struct maxmin *maxmin)
{
    const struct end first = maxmin->ends[0];
    const struct flow *flow = &maxmin->flows[maxmin->lines[first.bundle].first];
    const struct passed passed = {{first.at_ns, flow->op, flow->kind}, first.bundle};
    if (maxmin->end_count > 2) {
        __builtin_prefetch(&maxmin->share.bundles[maxmin->ends[1].bundle]);
        __builtin_prefetch(&maxmin->share.bundles[maxmin->ends[2].bundle]);
        __builtin_prefetch(&maxmin->flows[maxmin->lines[maxmin->ends[1].bundle].first]);
        __builtin_prefetch(&maxmin->flows[maxmin->lines[maxmin->ends[2].bundle].first]);
    }
    pass_end(maxmin, first.bundle);
    if (maxmin->end_count > 0)
        look_at_end(maxmin, maxmin->ends[0].bundle);
    return passed;
}

/* Takes up to AHEAD ends out of the heap that are due, and prefetches the lists of their links where there are several. */
static uint32_t take_ends(struct maxmin *maxmin, double until_ns, struct passed ends[AHEAD])
{
    const struct ronde_sim_share *share = &maxmin->share;
    uint32_t count = 0;
    while (count < AHEAD && maxmin->end_count > 0 && maxmin->ends[0].at_ns <= until_ns)
        ends[count++] = take_first_end(maxmin);
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        const struct ronde_sim_bundle *bundle = &share->bundles[ends[i].bundle];
        for (uint32_t hop = 0; hop < bundle->hop_count; hop++)
            __builtin_prefetch(ronde_sim_share_link(share, bundle, hop)->bundles, 1);
    }
    return count;
}

/* Flows that are over by then; each at its own time, so that what is one moment costs no accuracy. */
static bool end_flows(struct maxmin *maxmin, double until_ns)
{
    struct passed ends[AHEAD];
    bool fits = true;
    for (uint32_t count = AHEAD; fits && count == AHEAD;) {
        count = take_ends(maxmin, until_ns, ends);
        for (uint32_t i = 0; fits && i < count; i++)
            fits = ronde_sim_share_leave(&maxmin->share, ends[i].bundle) &&
                   ronde_sim_forward_finish(maxmin->walk, ends[i].over);
    }
    return fits && ronde_sim_forward_settle(maxmin->walk);
}

static double first_arrival(const struct maxmin *maxmin)
{
    const struct ronde_sim_queue *queue = &maxmin->walk->queue;
    return queue->heap_count > 0 ? queue->heap[0].at_ns : INFINITY;
}

static double first_end(const struct maxmin *maxmin)
{
    return maxmin->end_count > 0 ? maxmin->ends[0].at_ns : INFINITY;
}

/* Prefetches what arrivals touch that follow one another: routes by their kinds, then links. */
static void look_ahead(const struct maxmin *maxmin, const struct ronde_sim_arrival *batch,
                       uint32_t count)
{
    const struct ronde_sim_forward_graph *graph = &maxmin->walk->graph;
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_sim_forward_kind *kind = &graph->kinds[batch[i].kind];
        __builtin_prefetch(&graph->routes.hops[kind->first_hop]);
        __builtin_prefetch(&maxmin->share.bundle_of[kind->route]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_sim_forward_kind *kind = &graph->kinds[batch[i].kind];
        for (uint32_t hop = 0; hop < kind->hop_count; hop++)
            __builtin_prefetch(&maxmin->share.links[graph->routes.hops[kind->first_hop + hop]], 1);
    }
}

/* When something happens next. */
static double next_moment(const struct maxmin *maxmin)
{
    const double arrival_ns = first_arrival(maxmin);
    const double end_ns = first_end(maxmin);
    return arrival_ns < end_ns ? arrival_ns : end_ns;
}

/* A place for a flow; NONE where there is no memory. */
static uint32_t new_flow(struct maxmin *maxmin)
{
    const uint32_t free = maxmin->free_flow;
    if (free != RONDE_NONE) {
        maxmin->free_flow = maxmin->flows[free].next;
        return free;
    }
    return ronde_mem_grow(maxmin->walk->scene.mem, &maxmin->flows, &maxmin->flow_capacity,
                          (size_t)maxmin->flows_used + 1, sizeof *maxmin->flows)
               ? maxmin->flows_used++
               : RONDE_NONE;
}

/* Lines for bundles that are the first in their places. */
static bool reserve_lines(struct maxmin *maxmin)
{
    const uint32_t count = maxmin->share.bundle_count;
    if (!ronde_mem_grow(maxmin->walk->scene.mem, &maxmin->lines, &maxmin->line_capacity, count,
                        sizeof *maxmin->lines))
        return false;
    while (maxmin->line_count < count)
        maxmin->lines[maxmin->line_count++] = (struct line){RONDE_NONE, RONDE_NONE, 0};
    return true;
}

/* Puts a flow where it belongs in its line: near the last, as a rule, for messages on one route are as long as each other. */
static void line_up(struct maxmin *maxmin, struct line *line, uint32_t index)
{
    struct flow *flow = &maxmin->flows[index];
    flow->prev = line->last;
    for (; flow->prev != RONDE_NONE && maxmin->flows[flow->prev].until_bytes > flow->until_bytes;
         maxmin->share.visits++)
        flow->prev = maxmin->flows[flow->prev].prev;
    uint32_t *before = flow->prev == RONDE_NONE ? &line->first : &maxmin->flows[flow->prev].next;
    flow->next = *before;
    *before = index;
    uint32_t *after = flow->next == RONDE_NONE ? &line->last : &maxmin->flows[flow->next].prev;
    *after = index;
}

/* A message begins to flow. */
static bool begin_flow(struct maxmin *maxmin, double at_ns, const struct ronde_sim_arrival *arrival)
{
    const uint32_t index = ronde_sim_share_join(&maxmin->share, at_ns, arrival->kind);
    const uint32_t flow = new_flow(maxmin);
    if (index == RONDE_NONE || flow == RONDE_NONE || !reserve_lines(maxmin))
        return false;
    const struct ronde_sim_bundle *bundle = &maxmin->share.bundles[index];
    const double carried_bytes =
        bundle->carried_bytes + bundle->rate_GBps * ronde_sim_later(at_ns - bundle->since_ns, 0);
    struct line *line = &maxmin->lines[index];
    maxmin->flows[flow] =
        (struct flow){.until_bytes = carried_bytes + maxmin->walk->graph.kinds[arrival->kind].bytes,
                      .op = arrival->op,
                      .kind = arrival->kind};
    line_up(maxmin, line, flow);
    if (line->place > 0 && line->first == flow)
        settle_end(maxmin, line->place - 1, first_end_of(maxmin, index));
    return true;
}

/* Flows that begin by then. */
static bool begin_flows(struct maxmin *maxmin, double until_ns)
{
    const struct ronde_sim_arrival *batch;
    bool fits = true;
    while (fits && first_arrival(maxmin) <= until_ns) {
        double at_ns;
        uint32_t count;
        fits = ronde_sim_queue_pop(&maxmin->walk->queue, &at_ns, &batch, &count);
        for (uint32_t i = 0; fits && i < count; i++) {
            if (i % AHEAD == 0)
                look_ahead(maxmin, batch + i, count - i < AHEAD ? count - i : AHEAD);
            fits = begin_flow(maxmin, at_ns, &batch[i]);
        }
        maxmin->begun += count;
    }
    return fits;
}

/* Goes on at another rate. What flowed until now stays flowed. */
static bool change_rate(struct maxmin *maxmin, uint32_t index, double now_ns)
{
    struct ronde_sim_bundle *bundle = &maxmin->share.bundles[index];
    if (fabs(bundle->found_GBps - bundle->rate_GBps) <= EVEN * bundle->rate_GBps)
        return true;
    bundle->carried_bytes += bundle->rate_GBps * ronde_sim_later(now_ns - bundle->since_ns, 0);
    bundle->since_ns = ronde_sim_later(bundle->since_ns, now_ns);
    bundle->rate_GBps = bundle->found_GBps;
    const struct end end = first_end_of(maxmin, index);
    const uint32_t place = maxmin->lines[index].place;
    if (place == 0)
        return add_end(maxmin, end);
    settle_end(maxmin, place - 1, end);
    return true;
}

/* Everything that happens at the next moment, what follows from it at once included; then the new rates. */
static bool live_moment(struct maxmin *maxmin)
{
    const double now_ns = next_moment(maxmin);
    const double until_ns = now_ns * (1 + SAME);
    bool fits = true;
    while (fits && next_moment(maxmin) <= until_ns)
        fits = end_flows(maxmin, until_ns) && begin_flows(maxmin, until_ns);
    fits = fits && ronde_sim_share_solve(&maxmin->share);
    for (uint32_t i = 0; fits && i < maxmin->share.affected.count; i++)
        fits = change_rate(maxmin, maxmin->share.affected.all[i], now_ns);
    return fits;
}

/* Flows of the whole run. */
static uint64_t count_flows(const struct ronde_sim_forward_graph *graph)
{
    uint64_t flows = 0;
    for (uint32_t i = 0; i < graph->kind_count; i++)
        flows += graph->kinds[i].hop_count > 0 ? graph->kinds[i].ops : 0;
    return flows;
}

static void count_work(struct maxmin *maxmin)
{
    maxmin->work += maxmin->share.visits * (maxmin->share.bundle_count > MANY_FLOWS ? 2 : 1);
    maxmin->share.visits = 0;
}

/* What the whole takes, if flows to come are as much work as those since the last mark. */
static double estimate_work(const struct maxmin *maxmin)
{
    const double flows = (double)(maxmin->begun - maxmin->marked_begun);
    const double per_flow = flows > 0 ? (double)(maxmin->work - maxmin->marked_work) / flows : 0.0;
    return (double)maxmin->work + per_flow * (double)(maxmin->flow_count - maxmin->begun);
}

/* Work is counted, so that what `auto` does next is the same on every machine. */
static enum ronde_status check_work(struct maxmin *maxmin)
{
    const uint64_t limit = maxmin->walk->scene.options->work_limit;
    const bool is_doubled = maxmin->work >= LEAST_WORK && maxmin->work >= 2 * maxmin->marked_work;
    const double whole = is_doubled ? estimate_work(maxmin) : (double)maxmin->work;
    if (is_doubled) {
        maxmin->marked_work = maxmin->work;
        maxmin->marked_begun = maxmin->begun;
    }
    if (limit == 0 || whole <= (double)limit)
        return RONDE_OK;
    return ronde_fail(maxmin->walk->scene.error, RONDE_UNSUPPORTED,
                      "sharing links takes %.1e visits of flows to links or more, above %.1e",
                      whole, (double)limit);
}

/* Time depends on the machine and ends the whole run: at the limit, and before it where that is far from enough. */
static enum ronde_status check_time(const struct maxmin *maxmin)
{
    const double limit_s = maxmin->walk->scene.options->time_limit_s;
    struct timespec now = maxmin->start;
    (void)timespec_get(&now, TIME_UTC);
    const double spent_s = difftime(now.tv_sec, maxmin->start.tv_sec) +
                           (double)(now.tv_nsec - maxmin->start.tv_nsec) * 1e-9;
    const double whole_s = spent_s * (double)maxmin->flow_count / (double)maxmin->begun;
    if (limit_s <= 0 || (spent_s <= limit_s && (spent_s < LEAST_S || whole_s <= FAR * limit_s)))
        return RONDE_OK;
    return ronde_fail(maxmin->walk->scene.error, RONDE_TIMEOUT,
                      "the replay takes some %.0f s, longer than its limit of %g s", whole_s,
                      limit_s);
}

/* The next moment lies above what is of interest: so does the end of the run. */
static bool is_beyond(const struct maxmin *maxmin, struct ronde_sim_result *out_result)
{
    const struct ronde_sim_forward *walk = maxmin->walk;
    const double next_ns = ronde_sim_later(walk->end_ns, next_moment(maxmin));
    if (walk->scene.options->until_ns <= 0 || maxmin->flow_count == 0 || isinf(next_ns))
        return false;
    out_result->time_ns = ronde_dag_end_ns(walk->scene.dag, next_ns);
    out_result->is_beyond = out_result->time_ns > walk->scene.options->until_ns;
    return out_result->is_beyond;
}

static void tell(const struct maxmin *maxmin)
{
    const struct ronde_sim_progress *progress = &maxmin->walk->scene.options->progress;
    if (progress->on_progress)
        progress->on_progress(progress->context, maxmin->begun, maxmin->flow_count);
}

static enum ronde_status replay(struct maxmin *maxmin, struct ronde_sim_result *out_result)
{
    enum ronde_status status = RONDE_OK;
    maxmin->flow_count = count_flows(&maxmin->walk->graph);
    (void)timespec_get(&maxmin->start, TIME_UTC);
    bool fits =
        ronde_sim_share_open(&maxmin->share, &maxmin->walk->graph, maxmin->walk->scene.mem) &&
        ronde_sim_forward_begin(maxmin->walk);
    for (uint32_t moment = 1; fits && status == RONDE_OK; moment++) {
        if ((maxmin->end_count == 0 && maxmin->walk->queue.heap_count == 0) ||
            is_beyond(maxmin, out_result))
            break;
        fits = live_moment(maxmin);
        count_work(maxmin);
        status = ronde_sim_check_cancel(&maxmin->walk->scene);
        RONDE_THEN(status, check_work(maxmin));
        if (status == RONDE_OK && moment % PATIENCE == 0) {
            tell(maxmin);
            status = check_time(maxmin);
        }
    }
    if (!fits)
        return ronde_sim_no_memory(&maxmin->walk->scene);
    /* As of simgrid: what flows share is in the times. */
    out_result->is_contention_free = true;
    out_result->work = maxmin->work;
    if (out_result->is_beyond)
        out_result->engine = "maxmin";
    return status == RONDE_OK && !out_result->is_beyond
               ? ronde_sim_forward_report(maxmin->walk, "maxmin", out_result)
               : status;
}

enum ronde_status ronde_sim_maxmin_walk(struct ronde_sim_forward *walk,
                                        struct ronde_sim_result *out_result)
{
    const struct ronde_mem *mem = walk->scene.mem;
    struct maxmin maxmin = {.walk = walk, .free_flow = RONDE_NONE};
    const enum ronde_status status = replay(&maxmin, out_result);
    ronde_sim_share_close(&maxmin.share);
    ronde_mem_free(mem, maxmin.ends, maxmin.end_capacity, sizeof *maxmin.ends);
    ronde_mem_free(mem, maxmin.lines, maxmin.line_capacity, sizeof *maxmin.lines);
    ronde_mem_free(mem, maxmin.flows, maxmin.flow_capacity, sizeof *maxmin.flows);
    return status;
}

enum ronde_status
ronde_sim_maxmin(const struct ronde_platform *platform, const struct ronde_dag *dag,
                 const struct ronde_sim_options *options, const struct ronde_mem *mem,
                 struct ronde_sim_result *out_result, struct ronde_error *error)
{
    const struct ronde_sim_scene scene = {platform, dag, options ? options : &ronde_sim_defaults,
                                          mem, error};
    struct ronde_sim_forward walk;
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = ronde_sim_forward_open(&walk, &scene, "maxmin");
    RONDE_THEN(status, ronde_sim_maxmin_walk(&walk, out_result));
    ronde_sim_forward_close(&walk);
    return status;
}
