/* The machine as some of its hosts see it. See ronde_platform_view. */
#include "detour.h"
#include "platform.h"

#include "ronde/place.h"

/* Whether each host is on a node of its own: then nodes tell nothing, and groups of hosts are looked for as on such a machine. */
static bool is_spread(const struct ronde_nodes *nodes, const uint32_t *hosts, uint32_t count,
                      bool *is_taken)
{
    bool is_spread = true;
    for (uint32_t i = 0; i < count && is_spread; i++) {
        const uint32_t node = nodes->node_of[hosts[i]];
        is_spread = !is_taken[node];
        is_taken[node] = true;
    }
    return is_spread;
}

/* Nodes are those of the whole machine, however few of their hosts are seen. */
static enum ronde_status label_nodes(const struct ronde_platform *whole, const uint32_t *hosts,
                                     struct ronde_platform *view, struct ronde_error *error)
{
    struct ronde_nodes nodes;
    RONDE_TRY(ronde_nodes_find(whole, view->mem, &nodes, error));
    bool *is_taken = ronde_mem_new(view->mem, nodes.count, sizeof *is_taken);
    bool is_done = is_taken != NULL;
    view->facts.node_hosts = 0;
    if (is_done && nodes.source != RONDE_NODES_SINGLE &&
        !is_spread(&nodes, hosts, view->hosts.count, is_taken))
        for (uint32_t i = 0; i < view->hosts.count && is_done; i++)
            is_done = ronde_list_append(view->mem, &view->node_labels, &nodes.node_of[hosts[i]],
                                        sizeof *nodes.node_of);
    ronde_mem_free(view->mem, is_taken, nodes.count, sizeof *is_taken);
    ronde_nodes_free(&nodes, view->mem);
    return is_done ? RONDE_OK
                   : ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the nodes of %u hosts",
                                whole->path, view->hosts.count);
}

static enum ronde_status fill(const struct ronde_platform *whole, const uint32_t *hosts,
                              uint32_t count, struct ronde_platform *view, struct ronde_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hosts[i] >= whole->hosts.count)
            return ronde_fail(error, RONDE_BAD_INPUT, "%s: host %u of %u", whole->path, hosts[i],
                              whole->hosts.count);
        if (!ronde_list_append(view->mem, &view->hosts, RONDE_AT(whole->hosts, uint32_t, hosts[i]),
                               sizeof *hosts))
            return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for %u hosts", whole->path,
                              count);
    }
    view->facts.hosts = count;
    if (whole->detours)
        view->detours = ronde_detours_view(whole->detours, hosts, count, view->mem);
    if (whole->detours && !view->detours)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the ways of %u hosts",
                          whole->path, count);
    return label_nodes(whole, hosts, view, error);
}

enum ronde_status ronde_platform_view(const struct ronde_platform *whole, const uint32_t *hosts,
                                      uint32_t count, const struct ronde_mem *mem,
                                      struct ronde_platform **out_view, struct ronde_error *error)
{
    struct ronde_platform *view = ronde_mem_new(mem, 1, sizeof *view);
    *out_view = NULL;
    if (!view)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for a view of it", whole->path);
    *view = *whole;
    view->mem = mem;
    view->is_view = true;
    view->hosts = view->node_labels = (struct ronde_list){0};
    view->detours = NULL;
    const enum ronde_status status = fill(whole, hosts, count, view, error);
    if (status == RONDE_OK)
        *out_view = view;
    else
        ronde_platform_destroy(view);
    return status;
}
