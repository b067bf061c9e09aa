/*
 * The max-plus replay: start = max over predecessors, finish = start + delay + bytes / rate, along the routes of the
 * platform. On runs where no link is ever asked for more than it has, that is what SimGrid's max-min sharing gives
 * (measured: all 2,095,104 finish times of a 1024-rank ring equal to the last bit). Whether this was such a run is
 * certified afterwards: per link the flows' intervals are swept and their rates added up.
 */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longest route; the platform refuses longer ones too. */
#define MAX_LINKS 1024u

/* Relative slack of the certificate: what differs by less is the same instant, and a link that full is not overfull. */
#define TOLERANCE 1e-9

/* The route of a pair of ranks. */
struct lane {
    uint64_t key; /* src << 32 | dst */
    struct ronde_path path;
    uint32_t first_link; /* into links */
    uint32_t link_count;
};

/* The state of a replay. */
struct flat {
    const struct ronde_platform *platform;
    const struct ronde_dag *dag;
    const struct ronde_sim_options *options;
    const struct ronde_mem *mem;
    struct ronde_error *error;
    struct lane *lanes;
    size_t lane_capacity;
    uint32_t lane_count;
    uint32_t *links; /* of all routes */
    size_t link_capacity;
    uint32_t link_count;
    uint32_t *table; /* open addressing: pair -> lane + 1 */
    uint32_t table_size;
    uint32_t *recent;  /* per source the lane of its last message: most send to one peer for long */
    uint32_t *lane_of; /* per operation */
    double *finish_ns; /* the caller's or ours */
};

static uint64_t key_of(uint32_t src, uint32_t dst)
{
    return ((uint64_t)src << 32) | dst;
}

/* Slot of a pair in the table. Multiplicative hashing (Knuth, TAOCP vol. 3, 6.4). */
static uint32_t slot_of(const struct flat *flat, uint64_t key)
{
    const uint32_t mask = flat->table_size - 1;
    uint32_t slot = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (flat->table[slot] != 0 && flat->lanes[flat->table[slot] - 1].key != key)
        slot = (slot + 1) & mask;
    return slot;
}

/* One message for all: which block failed helps nobody. */
static enum ronde_status no_memory(struct flat *flat)
{
    return ronde_fail(flat->error, RONDE_NO_MEMORY, "no memory to replay %u operations",
                      flat->dag->op_count);
}

/* Doubles the table when it is half full. */
static enum ronde_status enlarge(struct flat *flat)
{
    const uint32_t old_size = flat->table_size;
    if (flat->lane_count < old_size / 2)
        return RONDE_OK;
    uint32_t *old = flat->table;
    const uint32_t size = old_size ? old_size * 2 : 64;
    flat->table = ronde_mem_new(flat->mem, size, sizeof *flat->table);
    if (!flat->table) {
        flat->table = old;
        return no_memory(flat);
    }
    flat->table_size = size;
    ronde_mem_free(flat->mem, old, old_size, sizeof *old);
    for (uint32_t i = 0; i < flat->lane_count; i++)
        flat->table[slot_of(flat, flat->lanes[i].key)] = i + 1;
    return RONDE_OK;
}

/* A link that a route crosses twice serves each byte twice. */
static double own_rate(const struct flat *flat, const uint32_t *links, uint32_t count, uint32_t at)
{
    const struct ronde_link *link = ronde_platform_link(flat->platform, links[at]);
    uint32_t crossings = 0;
    for (uint32_t i = 0; i < count; i++)
        crossings += links[i] == links[at] ? 1 : 0;
    return link->is_fatpipe ? link->rate_GBps : link->rate_GBps / crossings;
}

/* Latency and rate of a route; the lane rate caps it, 0 is unlimited. */
static struct ronde_path measure(const struct flat *flat, const uint32_t *links, uint32_t count)
{
    const double lane = flat->dag->lane_GBps;
    double rate = count > 0 && lane > 0 ? lane : INFINITY;
    struct ronde_path path = {flat->dag->alpha_ns, 0};
    for (uint32_t i = 0; i < count; i++) {
        path.latency_ns += ronde_platform_link(flat->platform, links[i])->latency_ns;
        rate = fmin(rate, own_rate(flat, links, count, i));
    }
    path.rate_GBps = isfinite(rate) ? rate : 0;
    return path;
}

/* Adds the route of a pair. */
static enum ronde_status add_lane(struct flat *flat, uint32_t src, uint32_t dst)
{
    uint32_t links[MAX_LINKS];
    uint32_t count;
    enum ronde_status status =
        ronde_platform_route(flat->platform, ronde_sim_host(flat->options, src),
                             ronde_sim_host(flat->options, dst), MAX_LINKS, links, &count,
                             flat->error);
    if (status != RONDE_OK)
        return status;
    void *lanes = flat->lanes;
    void *all = flat->links;
    const bool fits = ronde_mem_grow(flat->mem, &lanes, &flat->lane_capacity,
                                     (size_t)flat->lane_count + 1, sizeof *flat->lanes);
    flat->lanes = lanes;
    const bool holds = fits && ronde_mem_grow(flat->mem, &all, &flat->link_capacity,
                                              (size_t)flat->link_count + count, sizeof *flat->links);
    flat->links = all;
    if (!holds)
        return no_memory(flat);
    memcpy(flat->links + flat->link_count, links, count * sizeof *links);
    flat->lanes[flat->lane_count++] =
        (struct lane){key_of(src, dst), measure(flat, links, count), flat->link_count, count};
    flat->link_count += count;
    return RONDE_OK;
}

/* The lane of a pair, made when first asked for. */
static enum ronde_status find_lane(struct flat *flat, uint32_t src, uint32_t dst, uint32_t *out_lane)
{
    const uint64_t key = key_of(src, dst);
    const uint32_t recent = flat->recent[src];
    if (recent != 0 && flat->lanes[recent - 1].key == key) {
        *out_lane = recent - 1;
        return RONDE_OK;
    }
    enum ronde_status status = enlarge(flat);
    if (status != RONDE_OK)
        return status;
    const uint32_t slot = slot_of(flat, key);
    if (flat->table[slot] == 0) {
        status = add_lane(flat, src, dst);
        if (status != RONDE_OK)
            return status;
        flat->table[slot] = flat->lane_count;
    }
    flat->recent[src] = flat->table[slot];
    *out_lane = flat->table[slot] - 1;
    return RONDE_OK;
}

/* All routes first: the recurrence itself then cannot fail. */
static enum ronde_status find_lanes(struct flat *flat)
{
    for (uint32_t i = 0; i < flat->dag->op_count; i++) {
        const struct ronde_dag_op *op = &flat->dag->ops[i];
        const enum ronde_status status = find_lane(flat, op->src, op->dst, &flat->lane_of[i]);
        if (status != RONDE_OK)
            return status;
    }
    return RONDE_OK;
}

/* Answers ronde_dag_longest_path; every pair is in the table by then. */
static struct ronde_path path_of(void *self, uint32_t src, uint32_t dst)
{
    const struct flat *flat = self;
    const uint64_t key = key_of(src, dst);
    const uint32_t recent = flat->recent[src];
    if (recent != 0 && flat->lanes[recent - 1].key == key)
        return flat->lanes[recent - 1].path;
    const uint32_t found = flat->table[slot_of(flat, key)];
    flat->recent[src] = found;
    return flat->lanes[found - 1].path;
}

/* One end of a flow on a link. */
struct edge {
    double at_ns;
    double rate_GBps; /* negative where the flow ends */
};

/* Ends before starts at the same instant: touching is not overlapping. */
static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left;
    const struct edge *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->rate_GBps < b->rate_GBps ? -1 : a->rate_GBps > b->rate_GBps;
}

/* The edges of all flows, grouped by link: first[l] .. first[l + 1]. */
struct sweep {
    struct edge *edges;
    size_t edge_count;
    size_t *first;
};

/* Whether an operation occupies its route. */
static bool flows(const struct flat *flat, uint32_t op)
{
    return flat->dag->ops[op].bytes > 0 && flat->lanes[flat->lane_of[op]].link_count > 0;
}

/* Counts the edges of each link into first[l + 1], then adds up. */
static void count_edges(const struct flat *flat, struct sweep *sweep, uint32_t links)
{
    for (uint32_t i = 0; i < flat->dag->op_count; i++) {
        const struct lane *lane = &flat->lanes[flat->lane_of[i]];
        for (uint32_t k = 0; flows(flat, i) && k < lane->link_count; k++)
            sweep->first[flat->links[lane->first_link + k] + 1] += 2;
    }
    for (uint32_t l = 0; l < links; l++)
        sweep->first[l + 1] += sweep->first[l];
    sweep->edge_count = sweep->first[links];
}

/* Writes the edges of one flow; the end is moved forward by the tolerance. */
static void put_flow(const struct flat *flat, struct sweep *sweep, size_t *next, uint32_t op)
{
    const struct lane *lane = &flat->lanes[flat->lane_of[op]];
    const double rate = lane->path.rate_GBps;
    const double end = flat->finish_ns[op];
    const double start = end - (double)flat->dag->ops[op].bytes / rate;
    const double slack = fmin(end * TOLERANCE, (end - start) / 2);
    for (uint32_t k = 0; k < lane->link_count; k++) {
        const uint32_t link = flat->links[lane->first_link + k];
        sweep->edges[next[link]++] = (struct edge){start, rate};
        sweep->edges[next[link]++] = (struct edge){end - slack, -rate};
    }
}

/* The most a link is asked for at any time. */
static double peak(struct edge *edges, size_t count)
{
    double now = 0;
    double most = 0;
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++) {
        now += edges[i].rate_GBps;
        most = fmax(most, now);
    }
    return most;
}

/* What the certificate keeps per link while it walks over the operations once. */
struct load {
    double busy_until_ns; /* end of the last flow */
    double bytes;         /* carried */
    bool overlaps;        /* a flow began before the last one ended: only the sweep can tell */
};

/* Notes one flow on the links of its route. */
static void note_flow(const struct flat *flat, struct load *loads, uint32_t op)
{
    const struct lane *lane = &flat->lanes[flat->lane_of[op]];
    const double bytes = (double)flat->dag->ops[op].bytes;
    const double end = flat->finish_ns[op];
    const double start = end - bytes / lane->path.rate_GBps;
    for (uint32_t k = 0; k < lane->link_count; k++) {
        struct load *load = &loads[flat->links[lane->first_link + k]];
        load->bytes += bytes;
        load->overlaps |= start < load->busy_until_ns * (1 - TOLERANCE);
        load->busy_until_ns = fmax(load->busy_until_ns, end);
    }
}

/* Utilisation over the run without its launch, in which no link can be busy. */
static void find_busiest(const struct flat *flat, const struct load *loads,
                         struct ronde_sim_result *result)
{
    const double span = result->time_ns - flat->dag->launch_ns;
    for (uint32_t l = 0; span > 0 && l < ronde_platform_link_count(flat->platform); l++) {
        const struct ronde_link *link = ronde_platform_link(flat->platform, l);
        const double use = loads[l].bytes / (link->rate_GBps * span);
        if (use <= result->busiest_utilisation)
            continue;
        result->busiest_utilisation = use;
        (void)snprintf(result->busiest_link, sizeof result->busiest_link, "%s", link->name);
    }
}

/* Whether any link is ever asked for more than it has; memory for the edges of the flows that overlap somewhere. */
static enum ronde_status sweep_links(struct flat *flat, const struct load *loads,
                                     struct sweep *sweep, size_t *next, bool *out_is_free)
{
    const uint32_t links = ronde_platform_link_count(flat->platform);
    count_edges(flat, sweep, links);
    sweep->edges = ronde_mem_new(flat->mem, sweep->edge_count, sizeof *sweep->edges);
    if (!sweep->edges)
        return no_memory(flat);
    memcpy(next, sweep->first, links * sizeof *next);
    for (uint32_t i = 0; i < flat->dag->op_count; i++)
        if (flows(flat, i))
            put_flow(flat, sweep, next, i);
    *out_is_free = true;
    for (uint32_t l = 0; l < links && *out_is_free; l++) {
        const struct ronde_link *link = ronde_platform_link(flat->platform, l);
        const size_t count = sweep->first[l + 1] - sweep->first[l];
        if (loads[l].overlaps && !link->is_fatpipe)
            *out_is_free =
                peak(sweep->edges + sweep->first[l], count) <= link->rate_GBps * (1 + TOLERANCE);
    }
    ronde_mem_free(flat->mem, sweep->edges, sweep->edge_count, sizeof *sweep->edges);
    return RONDE_OK;
}

/* One pass decides where flows follow one another, as they do on ports; the sweep sees only what that cannot decide. */
static enum ronde_status certify_in(struct flat *flat, struct load *loads, struct sweep *sweep,
                                    size_t *next, struct ronde_sim_result *result)
{
    bool overlaps = false;
    for (uint32_t i = 0; i < flat->dag->op_count; i++)
        if (flows(flat, i))
            note_flow(flat, loads, i);
    find_busiest(flat, loads, result);
    for (uint32_t l = 0; l < ronde_platform_link_count(flat->platform); l++)
        overlaps |= loads[l].overlaps && !ronde_platform_link(flat->platform, l)->is_fatpipe;
    result->is_contention_free = !overlaps;
    return overlaps ? sweep_links(flat, loads, sweep, next, &result->is_contention_free) : RONDE_OK;
}

static enum ronde_status certify(struct flat *flat, struct ronde_sim_result *result)
{
    const uint32_t links = ronde_platform_link_count(flat->platform);
    struct sweep sweep = {NULL, 0, NULL};
    sweep.first = ronde_mem_new(flat->mem, (size_t)links + 1, sizeof *sweep.first);
    size_t *next = ronde_mem_new(flat->mem, links, sizeof *next);
    struct load *loads = ronde_mem_new(flat->mem, links, sizeof *loads);
    const enum ronde_status status = sweep.first && next && loads
                                         ? certify_in(flat, loads, &sweep, next, result)
                                         : no_memory(flat);
    ronde_mem_free(flat->mem, loads, links, sizeof *loads);
    ronde_mem_free(flat->mem, next, links, sizeof *next);
    ronde_mem_free(flat->mem, sweep.first, (size_t)links + 1, sizeof *sweep.first);
    return status;
}

/* Routes, recurrence, certificate. */
static enum ronde_status replay(struct flat *flat, struct ronde_sim_result *out_result)
{
    const enum ronde_status status = find_lanes(flat);
    if (status != RONDE_OK)
        return status;
    out_result->engine = "flat";
    out_result->time_ns = ronde_dag_longest_path(flat->dag, path_of, flat,
                                                 flat->options->out_start_ns, flat->finish_ns);
    return certify(flat, out_result);
}

/* Finish times go to the caller's array where there is one: the certificate needs them in any case. */
enum ronde_status ronde_sim_flat(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                 const struct ronde_sim_options *options,
                                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                 struct ronde_error *error)
{
    struct flat flat = {.platform = platform, .dag = dag, .mem = mem, .error = error};
    flat.options = options ? options : &ronde_sim_defaults;
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = ronde_sim_check(platform, dag, flat.options, error);
    if (status != RONDE_OK)
        return status;
    if (ronde_sim_is_shared(platform))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s: ranks share cores or memory there, which flat does not model; use "
                          "--engine simgrid",
                          ronde_platform_path(platform));
    double *own = flat.options->out_finish_ns
                      ? NULL
                      : ronde_mem_new(mem, dag->op_count, sizeof *flat.finish_ns);
    flat.finish_ns = own ? own : flat.options->out_finish_ns;
    flat.recent = ronde_mem_new(mem, dag->ranks, sizeof *flat.recent);
    flat.lane_of = ronde_mem_new(mem, dag->op_count, sizeof *flat.lane_of);
    status = flat.finish_ns && flat.recent && flat.lane_of ? replay(&flat, out_result)
                                                           : no_memory(&flat);
    ronde_mem_free(mem, own, dag->op_count, sizeof *own);
    ronde_mem_free(mem, flat.lane_of, dag->op_count, sizeof *flat.lane_of);
    ronde_mem_free(mem, flat.recent, dag->ranks, sizeof *flat.recent);
    ronde_mem_free(mem, flat.table, flat.table_size, sizeof *flat.table);
    ronde_mem_free(mem, flat.links, flat.link_capacity, sizeof *flat.links);
    ronde_mem_free(mem, flat.lanes, flat.lane_capacity, sizeof *flat.lanes);
    return status;
}
