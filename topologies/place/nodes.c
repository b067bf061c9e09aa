/*
 * Nodes of a platform: as the file says, else its zones, else what faster links join.
 *
 * Every way ends in a label per host; labels become node numbers in the order of the first host.
 */
#include "ronde/partition.h"
#include "ronde/place.h"

#include "topologies/platform.h"

#include <math.h>
#include <stdlib.h>

static const struct ronde_netpoint *point_of(const struct ronde_platform *platform, uint32_t host)
{
    const uint32_t point = *RONDE_AT(platform->hosts, uint32_t, host);
    return RONDE_AT(platform->points, struct ronde_netpoint, point);
}

/* Runs of equal length, as the prop says. */
static enum ronde_status label_said(const struct ronde_platform *platform, uint32_t *labels,
                                    struct ronde_error *error)
{
    const uint32_t size = platform->facts.node_hosts, hosts = platform->hosts.count;
    if (hosts % size != 0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: ronde.node_hosts is %u, which does not divide its %u hosts",
                          platform->path, size, hosts);
    for (uint32_t i = 0; i < hosts; i++)
        labels[i] = i / size;
    return RONDE_OK;
}

/* Whether labels make nodes: more than one of them, none of a single host. `sizes` has an entry per label. */
static bool makes_nodes(const uint32_t *labels, uint32_t hosts, uint32_t *sizes,
                        uint32_t label_count)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < label_count; i++)
        sizes[i] = 0;
    for (uint32_t i = 0; i < hosts; i++)
        sizes[labels[i]]++;
    for (uint32_t i = 0; i < label_count; i++) {
        used += sizes[i] > 0;
        if (sizes[i] == 1)
            return false;
    }
    return used > 1;
}

static double edge_GBps(const struct ronde_edge *edge)
{
    return fmax(edge->rate_GBps, edge->back_GBps);
}

/* Hosts that edges of at least this rate join; things that touch are one. */
static void label_joined(const struct ronde_shape *shape, double GBps, uint32_t *parent,
                         uint32_t hosts, uint32_t *labels)
{
    for (uint32_t i = 0; i < shape->vertex_count; i++)
        parent[i] = i;
    for (uint32_t i = 0; i < shape->edge_count; i++) {
        const double rate = edge_GBps(&shape->edges[i]);
        if (rate == 0 || rate >= GBps)
            ronde_partition_join(parent, shape->edges[i].a, shape->edges[i].b);
    }
    for (uint32_t i = 0; i < hosts; i++)
        labels[i] = ronde_partition_find(parent, i);
}

/* The largest rate of an edge below a limit; 0 when there is none. */
static double next_rate(const struct ronde_shape *shape, double limit)
{
    double best = 0;
    for (uint32_t i = 0; i < shape->edge_count; i++)
        if (edge_GBps(&shape->edges[i]) < limit)
            best = fmax(best, edge_GBps(&shape->edges[i]));
    return best;
}

/* The fastest links that leave no host alone and do not join all of them. */
static bool label_links(const struct ronde_shape *shape, uint32_t hosts, uint32_t *room,
                        uint32_t *labels)
{
    uint32_t *sizes = room + shape->vertex_count;
    for (double rate = next_rate(shape, INFINITY); rate > 0; rate = next_rate(shape, rate)) {
        label_joined(shape, rate, room, hosts, labels);
        if (makes_nodes(labels, hosts, sizes, shape->vertex_count))
            return true;
    }
    return false;
}

/* Tries links where zones gave no nodes. */
static enum ronde_status label_by_links(const struct ronde_platform *platform,
                                        const struct ronde_mem *mem, uint32_t *labels,
                                        bool *out_found, struct ronde_error *error)
{
    struct ronde_shape shape;
    RONDE_TRY(ronde_shape_of(platform, mem, &shape, error));
    enum ronde_status status = RONDE_OK;
    const size_t count = 2 * (size_t)shape.vertex_count;
    uint32_t *room = ronde_mem_new(mem, count, sizeof *room);
    if (room)
        *out_found = label_links(&shape, platform->hosts.count, room, labels);
    else
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to tell %u hosts apart",
                            platform->hosts.count);
    ronde_mem_free(mem, room, count, sizeof *room);
    ronde_shape_free(&shape, mem);
    return status;
}

/* Labels below points.count or the vertices of the shape, whichever way they came about. */
static enum ronde_status label(const struct ronde_platform *platform, const struct ronde_mem *mem,
                               uint32_t *labels, enum ronde_nodes_source *out_source,
                               struct ronde_error *error)
{
    const uint32_t hosts = platform->hosts.count, zones = platform->zones.count;
    *out_source = RONDE_NODES_SAID;
    for (uint32_t i = 0; i < platform->node_labels.count; i++)
        labels[i] = *RONDE_AT(platform->node_labels, uint32_t, i);
    if (platform->node_labels.count > 0)
        return RONDE_OK;
    if (platform->facts.node_hosts > 0)
        return label_said(platform, labels, error);
    uint32_t *sizes = ronde_mem_new(mem, zones, sizeof *sizes);
    if (!sizes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u zones", zones);
    *out_source = RONDE_NODES_ZONES;
    for (uint32_t i = 0; i < hosts; i++)
        labels[i] = point_of(platform, i)->zone;
    bool found = makes_nodes(labels, hosts, sizes, zones);
    ronde_mem_free(mem, sizes, zones, sizeof *sizes);
    if (found)
        return RONDE_OK;
    *out_source = RONDE_NODES_LINKS;
    RONDE_TRY(label_by_links(platform, mem, labels, &found, error));
    if (!found) {
        *out_source = RONDE_NODES_SINGLE;
        for (uint32_t i = 0; i < hosts; i++)
            labels[i] = i;
    }
    return RONDE_OK;
}

/* Numbers in the order of the first host. `number` has an entry per label. */
static void number_nodes(struct ronde_nodes *nodes, uint32_t *number, uint32_t label_count)
{
    for (uint32_t i = 0; i < label_count; i++)
        number[i] = RONDE_NONE;
    for (uint32_t i = 0; i < nodes->host_count; i++) {
        uint32_t *node = &number[nodes->node_of[i]];
        if (*node == RONDE_NONE)
            *node = nodes->count++;
        nodes->node_of[i] = *node;
        nodes->first[*node + 1]++;
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        nodes->first[i + 1] += nodes->first[i];
        number[i] = nodes->first[i];
    }
    for (uint32_t i = 0; i < nodes->host_count; i++)
        nodes->hosts[number[nodes->node_of[i]]++] = i;
}

/* One more than the largest label. */
static uint32_t label_limit(const struct ronde_nodes *nodes)
{
    uint32_t limit = nodes->host_count;
    for (uint32_t i = 0; i < nodes->host_count; i++)
        if (nodes->node_of[i] >= limit)
            limit = nodes->node_of[i] + 1;
    return limit;
}

enum ronde_status ronde_nodes_find(const struct ronde_platform *platform,
                                   const struct ronde_mem *mem, struct ronde_nodes *out_nodes,
                                   struct ronde_error *error)
{
    const uint32_t hosts = platform->hosts.count;
    struct ronde_nodes nodes = {.host_count = hosts};
    nodes.node_of = ronde_mem_new(mem, hosts, sizeof *nodes.node_of);
    nodes.first = ronde_mem_new(mem, (size_t)hosts + 1, sizeof *nodes.first);
    nodes.hosts = ronde_mem_new(mem, hosts, sizeof *nodes.hosts);
    enum ronde_status status =
        nodes.node_of && nodes.first && nodes.hosts
            ? label(platform, mem, nodes.node_of, &nodes.source, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for the nodes of %u hosts", hosts);
    const uint32_t limit = status == RONDE_OK ? label_limit(&nodes) : 0;
    uint32_t *number = ronde_mem_new(mem, limit, sizeof *number);
    if (status == RONDE_OK && !number)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to number %u nodes", limit);
    if (status == RONDE_OK)
        number_nodes(&nodes, number, limit);
    ronde_mem_free(mem, number, limit, sizeof *number);
    if (status == RONDE_OK)
        *out_nodes = nodes;
    else
        ronde_nodes_free(&nodes, mem);
    return status;
}

void ronde_nodes_free(struct ronde_nodes *nodes, const struct ronde_mem *mem)
{
    const size_t hosts = nodes->host_count;
    ronde_mem_free(mem, nodes->node_of, hosts, sizeof *nodes->node_of);
    ronde_mem_free(mem, nodes->first, hosts + 1, sizeof *nodes->first);
    ronde_mem_free(mem, nodes->hosts, hosts, sizeof *nodes->hosts);
    *nodes = (struct ronde_nodes){.count = 0};
}
