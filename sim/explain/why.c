/*
 * Explains a replay from its graph, its times and the routes: works for every engine that keeps times.
 *
 * The path is walked back twice, once for what it is made of and once, when the largest part is known, for the link or
 * rank it falls to; it is short beside the graph. Link loads need every message once.
 */
#include "sim/check.h"
#include "sim/routes.h"

#include "ronde/why.h"

#include <math.h>
#include <string.h>

/* What is less than this part of the time is rounding, and no wait. */
#define ROUNDING 1e-9

/* One question. */
struct inquiry {
    const struct ronde_replay *replay;
    const struct ronde_platform *platform;
    const struct ronde_dag *dag;
    const double *start_ns;
    const double *finish_ns;
    struct ronde_sim_routes routes;
    bool is_shared; /* ranks share cores or memory: messages do not flow */
    double end_ns;  /* of the last step that counts */
    uint32_t links; /* of the platform */
    double *load;   /* per link, bytes carried until then */
    double *blame;  /* per link and then per rank, ns of the largest part */
    bool *on_path;  /* the caller's, or NULL */
    double *use;    /* the caller's, or NULL: per link */
};

/* What the critical path does at one operation, from the end of the previous one to the end of this. */
struct hop {
    uint32_t op;
    uint32_t previous; /* operation it waited for, or RONDE_NONE */
    double part_ns[RONDE_WHY_PART_COUNT];
};

static const struct ronde_sim_route *route_of(const struct inquiry *inquiry, uint32_t op)
{
    return &inquiry->routes.all[inquiry->routes.of_op[op]];
}

static bool flows(const struct inquiry *inquiry, uint32_t op)
{
    return !inquiry->is_shared && inquiry->dag->ops[op].bytes > 0 &&
           route_of(inquiry, op)->hop_count > 0;
}

/* Where SimGrid keeps the latencies of links, the flow of a message takes them; else its receiver waits for them. */
static double latency_in_flow_ns(const struct inquiry *inquiry, uint32_t op)
{
    const bool is_native = inquiry->replay->options->native_latency ||
                           ronde_platform_facts(inquiry->replay->platform)->is_tcp;
    return is_native && flows(inquiry, op)
               ? route_of(inquiry, op)->path.latency_ns - inquiry->dag->alpha_ns
               : 0;
}

/* The last step to end, of the ranks that count. */
static uint32_t last_op(const struct inquiry *inquiry)
{
    const uint32_t ranks = inquiry->replay->ranks;
    uint32_t last = RONDE_NONE;
    for (uint32_t i = 0; i < inquiry->dag->op_count; i++)
        if ((ranks == 0 || inquiry->dag->ops[i].src < ranks) &&
            (last == RONDE_NONE || inquiry->finish_ns[i] > inquiry->finish_ns[last]))
            last = i;
    return last;
}

/* A step holds its rank; what remains of it is its message, as long as alone and then slowed down by others. */
static void charge_op(const struct inquiry *inquiry, struct hop *hop)
{
    const struct ronde_dag_op *op = &inquiry->dag->ops[hop->op];
    const double rate = route_of(inquiry, hop->op)->path.rate_GBps;
    const double alone = flows(inquiry, hop->op) && rate > 0 ? (double)op->bytes / rate : 0;
    double rest = fmax(inquiry->finish_ns[hop->op] - inquiry->start_ns[hop->op] - op->delay_ns, 0);
    hop->part_ns[RONDE_WHY_REDUCTION] = op->stage_ns;
    hop->part_ns[RONDE_WHY_OVERHEAD] = op->delay_ns - op->stage_ns;
    hop->part_ns[RONDE_WHY_BANDWIDTH] = fmin(rest, alone);
    rest -= hop->part_ns[RONDE_WHY_BANDWIDTH];
    hop->part_ns[RONDE_WHY_LATENCY] = fmin(rest, latency_in_flow_ns(inquiry, hop->op));
    rest -= hop->part_ns[RONDE_WHY_LATENCY];
    const bool is_rounding = rest <= ROUNDING * inquiry->finish_ns[hop->op];
    hop->part_ns[is_rounding ? RONDE_WHY_BANDWIDTH : RONDE_WHY_SHARING] += rest;
}

/* When a predecessor lets the operation start. */
static double arrival_ns(const struct inquiry *inquiry, const struct ronde_dag_edge *edge)
{
    double latency = 0;
    if (edge->is_message)
        latency =
            route_of(inquiry, edge->op)->path.latency_ns - latency_in_flow_ns(inquiry, edge->op);
    return inquiry->finish_ns[edge->op] + latency;
}

/*
 * Which predecessor the operation waited for longest. A slot that another rank frees brings no data: the path goes on along
 * the data, and what the slot delayed it beyond that was waiting. Where ranks meet the path goes on with the last to come.
 */
static void charge_wait(const struct inquiry *inquiry, struct hop *hop)
{
    const struct ronde_dag_op *op = &inquiry->dag->ops[hop->op];
    const double *release = inquiry->replay->options->release_ns;
    double best_ns = 0, slot_ns = 0, latency = 0;
    hop->previous = RONDE_NONE;
    for (uint32_t i = op->first_edge; i < op->first_edge + op->edge_count; i++) {
        const struct ronde_dag_edge *edge = &inquiry->dag->edges[i];
        const double at_ns = arrival_ns(inquiry, edge);
        if (edge->is_credit && inquiry->dag->ops[edge->op].src != op->src) {
            slot_ns = fmax(slot_ns, at_ns);
        } else if (hop->previous == RONDE_NONE || at_ns > best_ns) {
            best_ns = at_ns;
            hop->previous = edge->op;
            latency = at_ns - inquiry->finish_ns[edge->op];
        }
    }
    const double waited = fmax(inquiry->start_ns[hop->op] - best_ns, 0);
    const double slot = fmin(fmax(slot_ns - best_ns, 0), waited);
    const double rest = waited - slot;
    enum ronde_why_part reason = RONDE_WHY_SHARING;
    if (rest <= ROUNDING * inquiry->start_ns[hop->op])
        reason = RONDE_WHY_LATENCY;
    else if (release && release[op->src] > fmax(best_ns, slot_ns))
        reason = RONDE_WHY_LATE;
    hop->part_ns[RONDE_WHY_LATENCY] += latency;
    hop->part_ns[RONDE_WHY_SLOT] += slot;
    hop->part_ns[reason] += rest;
}

static struct hop find_hop(const struct inquiry *inquiry, uint32_t op)
{
    struct hop hop = {.op = op};
    charge_op(inquiry, &hop);
    charge_wait(inquiry, &hop);
    return hop;
}

/* First walk: what the path is made of. */
static void add_up(struct inquiry *inquiry, uint32_t last, struct ronde_why *why)
{
    for (uint32_t op = last; op != RONDE_NONE;) {
        const struct hop hop = find_hop(inquiry, op);
        for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++)
            why->part_ns[part] += hop.part_ns[part];
        if (inquiry->on_path)
            inquiry->on_path[op] = true;
        why->path_steps++;
        if (hop.previous != RONDE_NONE &&
            inquiry->dag->ops[hop.previous].src != inquiry->dag->ops[op].src)
            why->path_messages++;
        op = hop.previous;
    }
    why->part_ns[RONDE_WHY_OVERHEAD] +=
        ronde_dag_end_ns(inquiry->dag, inquiry->end_ns) - inquiry->end_ns;
    for (uint32_t part = 1; part < RONDE_WHY_PART_COUNT; part++)
        if (why->part_ns[part] > why->part_ns[why->largest])
            why->largest = (enum ronde_why_part)part;
}

/* A fat pipe gives every flow its rate: it is never full. */
static double utilisation(const struct inquiry *inquiry, uint32_t index)
{
    const struct ronde_link *link = ronde_platform_link(inquiry->platform, index);
    const bool can_fill = !link->is_fatpipe && inquiry->end_ns > 0;
    return can_fill ? inquiry->load[index] / (link->rate_GBps * inquiry->end_ns) : 0;
}

/* How little is left for a message: of its own length the narrowest link decides, of waiting for others the fullest. */
static double narrowness(const struct inquiry *inquiry, uint32_t link, enum ronde_why_part part)
{
    return part == RONDE_WHY_SHARING ? utilisation(inquiry, link)
                                     : 1 / ronde_platform_link(inquiry->platform, link)->rate_GBps;
}

/* The link to blame for a message, or RONDE_NONE where none is: lanes are narrower, or cores were taken. */
static uint32_t link_of(const struct inquiry *inquiry, uint32_t op, enum ronde_why_part part)
{
    const struct ronde_sim_route *route = route_of(inquiry, op);
    const double lane = inquiry->dag->lane_GBps;
    uint32_t worst = RONDE_NONE;
    if (inquiry->is_shared)
        return ronde_platform_facts(inquiry->platform)->memory_link;
    for (uint32_t i = 0; i < route->hop_count; i++) {
        const uint32_t link = inquiry->routes.hops[route->first_hop + i];
        if (worst == RONDE_NONE ||
            narrowness(inquiry, link, part) > narrowness(inquiry, worst, part))
            worst = link;
    }
    const bool is_lane = part == RONDE_WHY_BANDWIDTH && worst != RONDE_NONE && lane > 0 &&
                         lane < ronde_platform_link(inquiry->platform, worst)->rate_GBps;
    return is_lane ? RONDE_NONE : worst;
}

/* The first entry with the largest value but for rounding, or RONDE_NONE where all are 0. */
static uint32_t largest_of(const double *values, uint32_t count)
{
    uint32_t best = RONDE_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (values[i] > (best == RONDE_NONE ? 0 : values[best] * (1 + ROUNDING)))
            best = i;
    return best;
}

/*
 * The link or rank with most of the largest part, and how many have any. Links come first: where
 * there is one, it decides.
 */
static void settle_blame(const struct inquiry *inquiry, struct ronde_why *why)
{
    const double *of_ranks = inquiry->blame + inquiry->links;
    why->bottleneck_link = largest_of(inquiry->blame, inquiry->links);
    why->bottleneck_rank = largest_of(of_ranks, inquiry->dag->ranks);
    const bool is_link = why->bottleneck_link != RONDE_NONE;
    const uint32_t worst = is_link ? why->bottleneck_link : why->bottleneck_rank;
    const double *values = is_link ? inquiry->blame : of_ranks;
    if (worst == RONDE_NONE)
        return;
    for (uint32_t i = 0; i < (is_link ? inquiry->links : inquiry->dag->ranks); i++)
        why->blamed += values[i] > 0 ? 1 : 0;
    why->share_of_largest = values[worst] / why->part_ns[why->largest];
}

/* Second walk: the links or ranks of the largest part. */
static void find_bottleneck(struct inquiry *inquiry, uint32_t last, struct ronde_why *why)
{
    const enum ronde_why_part part = why->largest;
    const bool is_of_links = part == RONDE_WHY_BANDWIDTH || part == RONDE_WHY_SHARING;
    double *const of_ranks = inquiry->blame + inquiry->links;
    for (uint32_t op = last; op != RONDE_NONE;) {
        const struct hop hop = find_hop(inquiry, op);
        const uint32_t link = is_of_links ? link_of(inquiry, op, part) : RONDE_NONE;
        if (link != RONDE_NONE)
            inquiry->blame[link] += hop.part_ns[part];
        of_ranks[inquiry->dag->ops[op].src] += hop.part_ns[part];
        op = hop.previous;
    }
    settle_blame(inquiry, why);
}

/* The part of an operation's message that flowed before the end, at its mean rate: others may go on after it. */
static double share_until_end(const struct inquiry *inquiry, uint32_t index)
{
    const double begin = inquiry->start_ns[index] + inquiry->dag->ops[index].delay_ns;
    const double end = inquiry->finish_ns[index];
    if (end <= inquiry->end_ns)
        return 1;
    return begin < inquiry->end_ns ? (inquiry->end_ns - begin) / (end - begin) : 0;
}

/* On a shared host steps load the memory with what they touch, and nothing else has a load. */
static void load_memory(struct inquiry *inquiry)
{
    const uint32_t memory = ronde_platform_facts(inquiry->platform)->memory_link;
    for (uint32_t i = 0; memory < inquiry->links && i < inquiry->dag->op_count; i++)
        if (inquiry->dag->ops[i].stage_ns > 0 && inquiry->finish_ns[i] <= inquiry->end_ns)
            inquiry->load[memory] += (double)inquiry->dag->ops[i].touched_bytes;
}

/*
 * What went on after the end is counted apart, where blame is gathered later: when its rate changed on the way, its
 * mean is only an estimate, which must not fill a link beyond what it had left.
 */
static void load_links(struct inquiry *inquiry)
{
    double *const unfinished = inquiry->blame;
    for (uint32_t i = 0; i < inquiry->dag->op_count; i++) {
        const struct ronde_sim_route *route = route_of(inquiry, i);
        const double share = flows(inquiry, i) ? share_until_end(inquiry, i) : 0;
        double *const load = share < 1 ? unfinished : inquiry->load;
        for (uint32_t k = 0; share > 0 && k < route->hop_count; k++)
            load[inquiry->routes.hops[route->first_hop + k]] +=
                share * (double)inquiry->dag->ops[i].bytes;
    }
    for (uint32_t link = 0; link < inquiry->links; link++) {
        const double rate = ronde_platform_link(inquiry->platform, link)->rate_GBps;
        const double left = fmax(rate * inquiry->end_ns - inquiry->load[link], 0);
        inquiry->load[link] += fmin(unfinished[link], left);
        unfinished[link] = 0;
    }
}

/* Keeps the busiest few, sorted; an insertion per link that is busy enough. */
static void rank_links(const struct inquiry *inquiry, struct ronde_why *why)
{
    for (uint32_t link = 0; link < inquiry->links; link++) {
        const double use = utilisation(inquiry, link);
        if (inquiry->use)
            inquiry->use[link] = use;
        uint32_t place = why->link_count;
        while (place > 0 && use > why->utilisation[place - 1] * (1 + ROUNDING))
            place--;
        if (use <= 0 || place == RONDE_WHY_LINKS)
            continue;
        const uint32_t kept =
            why->link_count < RONDE_WHY_LINKS ? why->link_count : RONDE_WHY_LINKS - 1;
        for (uint32_t i = kept; i > place; i--) {
            why->utilisation[i] = why->utilisation[i - 1];
            why->links[i] = why->links[i - 1];
        }
        why->utilisation[place] = use;
        why->links[place] = link;
        why->link_count = kept + 1;
    }
}

/* A run of nothing takes no time and has no path. */
static void explain(struct inquiry *inquiry, struct ronde_why *why)
{
    const uint32_t last = last_op(inquiry);
    if (last == RONDE_NONE)
        return;
    inquiry->end_ns = inquiry->finish_ns[last];
    why->time_ns = ronde_dag_end_ns(inquiry->dag, inquiry->end_ns);
    if (inquiry->is_shared)
        load_memory(inquiry);
    else
        load_links(inquiry);
    add_up(inquiry, last, why);
    find_bottleneck(inquiry, last, why);
    rank_links(inquiry, why);
}

/* Routes, loads and blame, then the answer. */
static enum ronde_status inquire(struct inquiry *inquiry, const struct ronde_sim_scene *scene,
                                 struct ronde_why *why)
{
    const struct ronde_mem *mem = scene->mem;
    const size_t blamed = (size_t)inquiry->links + scene->dag->ranks;
    enum ronde_status status = ronde_sim_routes_make(scene, &inquiry->routes);
    inquiry->load = ronde_mem_new(mem, inquiry->links, sizeof *inquiry->load);
    inquiry->blame = ronde_mem_new(mem, blamed, sizeof *inquiry->blame);
    if (status == RONDE_OK && (!inquiry->load || !inquiry->blame))
        status = ronde_sim_no_memory(scene);
    if (status == RONDE_OK)
        explain(inquiry, why);
    ronde_mem_free(mem, inquiry->blame, blamed, sizeof *inquiry->blame);
    ronde_mem_free(mem, inquiry->load, inquiry->links, sizeof *inquiry->load);
    ronde_sim_routes_free(&inquiry->routes, mem);
    return status;
}

static enum ronde_status find(const struct ronde_replay *replay, const struct ronde_mem *mem,
                              bool *out_on_path, double *out_use, struct ronde_why *out_why,
                              struct ronde_error *error)
{
    const struct ronde_sim_options *options = replay->options;
    const struct ronde_sim_scene scene = {replay->platform, replay->dag, options, mem, error};
    struct inquiry inquiry = {
        .replay = replay,
        .platform = replay->platform,
        .dag = replay->dag,
        .start_ns = options->out_start_ns,
        .finish_ns = options->out_finish_ns,
        .is_shared = ronde_sim_is_shared(replay->platform),
        .links = ronde_platform_link_count(replay->platform),
        .on_path = out_on_path,
        .use = out_use,
    };
    *out_why = (struct ronde_why){.bottleneck_link = RONDE_NONE, .bottleneck_rank = RONDE_NONE};
    if (!inquiry.start_ns || !inquiry.finish_ns)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a replay is explained by start and finish times, and it kept none");
    RONDE_TRY(ronde_sim_check(replay->platform, replay->dag, options, error));
    if (out_on_path)
        memset(out_on_path, 0, replay->dag->op_count * sizeof *out_on_path);
    return inquire(&inquiry, &scene, out_why);
}

enum ronde_status ronde_why_find(const struct ronde_replay *replay, const struct ronde_mem *mem,
                                 bool *out_on_path, struct ronde_why *out_why,
                                 struct ronde_error *error)
{
    return find(replay, mem, out_on_path, NULL, out_why, error);
}

enum ronde_status ronde_why_links(const struct ronde_replay *replay, const struct ronde_mem *mem,
                                  double *out_use, struct ronde_error *error)
{
    struct ronde_why why;
    return find(replay, mem, NULL, out_use, &why, error);
}

const char *ronde_why_part_key(enum ronde_why_part part)
{
    static const char *const keys[] = {
#define RONDE_TEXT(name, key, text) key,
        RONDE_WHY_PART_LIST(RONDE_TEXT)
#undef RONDE_TEXT
    };
    return (unsigned)part < RONDE_WHY_PART_COUNT ? keys[part] : "?";
}

const char *ronde_why_part_text(enum ronde_why_part part)
{
    static const char *const texts[] = {
#define RONDE_TEXT(name, key, text) text,
        RONDE_WHY_PART_LIST(RONDE_TEXT)
#undef RONDE_TEXT
    };
    return (unsigned)part < RONDE_WHY_PART_COUNT ? texts[part] : "?";
}
