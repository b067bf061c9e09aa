/*
 * The flat network a platform looks like: slowest rate and longest latency of any pair, and on a shared host the fair
 * share of cores and memory.
 *
 * Pairs are sampled in two steps. In a star zone hosts with equal links are interchangeable, so two of each class stand
 * for all; elsewhere every host is its own class. Of what is left all pairs are looked at up to 128 hosts; beyond, a
 * few pairs of neighbours spread over the machine with every other host, there and back. So every host is an end of
 * some route looked at, and on machines that look alike from every host (all kinds that `ronde topo generate` makes)
 * every kind of pair is: same node, same rail, same pod, across.
 */
#include "platform.h"

#include <math.h>

/* The widest route looked at; longer ones are refused by name rather than cut. */
#define MAX_LINKS 1024u

/* Routes looked at: all of 128 hosts, or those between 16 hosts and 1,024 others; more only for the least number of
 * probes. */
#define MAX_ROUTES 32768u
#define LEAST_PROBES 4u

/* How the sampled routes cross a link: private if all come from one host, or all lead to one. */
struct crossing {
    uint32_t src; /* the one source, NONE before the first */
    uint32_t dst;
    bool has_many_src;
    bool has_many_dst;
};

/* The state of the sampling. */
struct survey {
    const struct ronde_platform *platform;
    struct ronde_router *router;
    struct ronde_error *error;
    uint32_t *hosts; /* sampled */
    uint32_t count;
    struct crossing *crossings; /* per link */
    double slowest_GBps;
    double fastest_GBps;
    double longest_ns;
    double shortest_ns;
};

static const struct ronde_netpoint *point_of(const struct ronde_platform *platform, uint32_t host)
{
    const uint32_t point = *RONDE_AT(platform->hosts, uint32_t, host);
    return RONDE_AT(platform->points, struct ronde_netpoint, point);
}

/* Link by link the same numbers; names differ where links are private. */
static bool equal_hops(const struct ronde_platform *platform, struct ronde_hops a,
                       struct ronde_hops b)
{
    if (a.count != b.count)
        return false;
    for (uint32_t i = 0; i < a.count; i++) {
        const struct ronde_link *left =
            ronde_platform_link(platform, *RONDE_AT(platform->hops, uint32_t, a.first + i));
        const struct ronde_link *right =
            ronde_platform_link(platform, *RONDE_AT(platform->hops, uint32_t, b.first + i));
        if (left->rate_GBps != right->rate_GBps || left->latency_ns != right->latency_ns ||
            left->is_fatpipe != right->is_fatpipe)
            return false;
    }
    return true;
}

/* Whether exchanging two hosts, one of which is in a star, changes no route but for the names of private links. */
static bool interchangeable(const struct ronde_platform *platform, uint32_t a, uint32_t b)
{
    const struct ronde_netpoint *left = point_of(platform, a);
    const struct ronde_netpoint *right = point_of(platform, b);
    return left->zone == right->zone && equal_hops(platform, left->up, right->up) &&
           equal_hops(platform, left->down, right->down);
}

/* Takes a host unless two of its class are there; neighbours in the file are compared first, so this is fast. */
static void sample(struct survey *survey, uint32_t host)
{
    const uint32_t zone = point_of(survey->platform, host)->zone;
    const bool is_star =
        RONDE_AT(survey->platform->zones, struct ronde_zone, zone)->kind == RONDE_ZONE_STAR;
    uint32_t alike = 0;
    for (uint32_t i = is_star ? survey->count : 0; i > 0 && alike < 2; i--)
        alike += interchangeable(survey->platform, survey->hosts[i - 1], host) ? 1 : 0;
    if (alike < 2)
        survey->hosts[survey->count++] = host;
}

/*
 * A port is crossed from one host or towards one host; a link with many of both is shared by
 * unrelated pairs.
 */
static void note_crossing(struct crossing *crossing, uint32_t src, uint32_t dst)
{
    if (crossing->src == RONDE_NONE)
        *crossing = (struct crossing){src, dst, false, false};
    crossing->has_many_src |= crossing->src != src;
    crossing->has_many_dst |= crossing->dst != dst;
}

/* One route: its slowest link, its whole latency, and which links it crosses. */
static enum ronde_status visit(struct survey *survey, uint32_t src, uint32_t dst)
{
    uint32_t links[MAX_LINKS];
    uint32_t count;
    double rate = INFINITY;
    double latency = 0;
    RONDE_TRY(ronde_router_route(survey->router, src, dst, MAX_LINKS, links, &count, survey->error));
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_link *link = ronde_platform_link(survey->platform, links[i]);
        rate = fmin(rate, link->rate_GBps);
        latency += link->latency_ns;
        if (!link->is_fatpipe)
            note_crossing(&survey->crossings[links[i]], src, dst);
    }
    survey->slowest_GBps = fmin(survey->slowest_GBps, rate);
    survey->fastest_GBps = fmax(survey->fastest_GBps, rate);
    survey->longest_ns = fmax(survey->longest_ns, latency);
    survey->shortest_ns = fmin(survey->shortest_ns, latency);
    return RONDE_OK;
}

/* How many of the sampled hosts are paired with all others. */
static uint32_t probes_of(uint32_t hosts)
{
    const uint32_t affordable = hosts > 0 ? MAX_ROUTES / 2 / hosts : 0;
    const uint32_t probes = affordable > LEAST_PROBES ? affordable : LEAST_PROBES;
    return probes < hosts ? probes : hosts;
}

/* The i-th probe: neighbours two by two, spread evenly; with as many probes as hosts simply all of them. */
static uint32_t probe_at(const struct survey *survey, uint32_t probes, uint32_t i)
{
    if (probes == survey->count)
        return i;
    const uint32_t pairs = probes / 2;
    const uint32_t last = survey->count - 2;
    const uint32_t pair = i / 2 < pairs ? i / 2 : pairs - 1;
    return (uint32_t)((uint64_t)last * pair / (pairs - 1)) + i % 2;
}

/* Both directions of every pair: they may take different links. The ways from one host come first, in one search. */
static enum ronde_status visit_all(struct survey *survey, uint32_t ranks)
{
    for (uint32_t i = 0; i < survey->platform->links.count; i++)
        survey->crossings[i] = (struct crossing){RONDE_NONE, RONDE_NONE, false, false};
    for (uint32_t i = 0; i < ranks; i++)
        sample(survey, i);
    const uint32_t probes = probes_of(survey->count);
    const bool is_all = probes == survey->count;
    for (uint32_t i = 0; i < probes; i++) {
        const uint32_t probe = probe_at(survey, probes, i);
        const uint32_t host = survey->hosts[probe];
        for (uint32_t j = 0; j < survey->count; j++)
            if (j != probe)
                RONDE_TRY(visit(survey, host, survey->hosts[j]));
        for (uint32_t j = 0; !is_all && j < survey->count; j++)
            if (j != probe)
                RONDE_TRY(visit(survey, survey->hosts[j], host));
    }
    return RONDE_OK;
}

/* One number for all pairs, and no link on which two pairs without a common end can meet. */
static bool is_uniform(const struct survey *survey)
{
    if (survey->slowest_GBps != survey->fastest_GBps || survey->longest_ns != survey->shortest_ns)
        return survey->count < 2;
    for (uint32_t i = 0; i < survey->platform->links.count; i++)
        if (survey->crossings[i].has_many_src && survey->crossings[i].has_many_dst)
            return false;
    return true;
}

/* The larger of two costs per byte, as rates; 0 means unlimited. */
static double slower(double a_GBps, double b_GBps)
{
    if (a_GBps <= 0 || b_GBps <= 0)
        return a_GBps > 0 ? a_GBps : b_GBps;
    return fmin(a_GBps, b_GBps);
}

/*
 * R ranks on C cores: a core serves R/C of them in turn, and the memory all R at once. A staged byte is read and
 * written (2 bytes of memory traffic), a reduced one costs two reads and a write (3); this is the steady state in which
 * every rank is busy, which is what collectives are most of the time.
 */
static void share_host(const struct ronde_platform_facts *facts, uint32_t ranks,
                       struct ronde_time_params *time)
{
    const struct ronde_shared_host *shared = &facts->shared;
    const double ranks_per_core =
        shared->cores > 0 && ranks > shared->cores ? (double)ranks / shared->cores : 1;
    const double core = shared->core_step_ns > 0 ? shared->core_step_ns : time->step_ns;
    time->step_ns = fmax(time->step_ns - core, 0) + core * ranks_per_core;
    if (time->copy_GBps > 0)
        time->copy_GBps =
            slower(time->copy_GBps / ranks_per_core, shared->memory_GBps / (2.0 * ranks));
    if (time->gamma_GBps > 0)
        time->gamma_GBps =
            slower(time->gamma_GBps / ranks_per_core, shared->memory_GBps / (3.0 * ranks));
    /* Messages move by the steps' own copies; nothing flows besides. */
    time->lane_GBps = 0;
}

/* Runs the sampling in memory of the platform's allocator. */
static enum ronde_status run_survey(struct survey *survey, uint32_t ranks)
{
    const struct ronde_platform *platform = survey->platform;
    const uint32_t links = platform->links.count;
    survey->hosts = ronde_mem_new(platform->mem, ranks, sizeof *survey->hosts);
    survey->crossings = ronde_mem_new(platform->mem, links, sizeof *survey->crossings);
    if (!survey->hosts || !survey->crossings)
        return ronde_fail(survey->error, RONDE_NO_MEMORY, "no memory to survey %u ranks", ranks);
    RONDE_TRY(ronde_router_create(platform, platform->mem, &survey->router, survey->error));
    return visit_all(survey, ranks);
}

/* On a shared host ports are no limit: what moves, moves by the copies of the steps. */
enum ronde_status ronde_platform_network(const struct ronde_platform *platform, uint32_t ranks,
                                         uint64_t footprint_bytes, struct ronde_network *out_network,
                                         bool *out_is_uniform, struct ronde_error *error)
{
    if (ranks > platform->hosts.count)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: %u ranks, but it has %u hosts",
                          platform->path, ranks, platform->hosts.count);
    struct survey survey = {platform, NULL, error, NULL, 0, NULL, INFINITY, 0, 0, INFINITY};
    const enum ronde_status status = run_survey(&survey, ranks);
    if (status == RONDE_OK) {
        const struct ronde_shared_host *shared = &platform->facts.shared;
        const bool is_shared = shared->memory_GBps > 0 || shared->cores > 0;
        out_network->time = ronde_platform_time(platform, ranks, footprint_bytes);
        out_network->latency_ns = survey.longest_ns;
        out_network->port_GBps =
            isfinite(survey.slowest_GBps) && !is_shared ? survey.slowest_GBps : 0;
        *out_is_uniform =
            is_uniform(&survey) && (!is_shared || ranks == 1) && !platform->facts.time.multicasts;
        if (is_shared)
            share_host(&platform->facts, ranks, &out_network->time);
    }
    ronde_router_destroy(survey.router);
    ronde_mem_free(platform->mem, survey.hosts, ranks, sizeof *survey.hosts);
    ronde_mem_free(platform->mem, survey.crossings, platform->links.count, sizeof *survey.crossings);
    return status;
}
