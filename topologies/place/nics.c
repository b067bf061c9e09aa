/* NICs: which link is one, and machines with fewer of them. */
#include "topologies/platform.h"

#include "ronde/place.h"

#include <stdio.h>
#include <string.h>

/* The widest route. */
#define MAX_LINKS 1024u

/* The narrowest link of a route's first half, of equal ones the first. */
static uint32_t nic_of(const struct ronde_platform *platform, const uint32_t *links, uint32_t count)
{
    uint32_t nic = links[0];
    for (uint32_t i = 1; i < (count + 1) / 2; i++)
        if (ronde_platform_link(platform, links[i])->rate_GBps <
            ronde_platform_link(platform, nic)->rate_GBps)
            nic = links[i];
    return nic;
}

enum ronde_status ronde_router_nic(struct ronde_router *router, uint32_t src, uint32_t dst,
                                   uint32_t *out_link, struct ronde_error *error)
{
    uint32_t links[MAX_LINKS], count = 0;
    const struct ronde_platform *platform = ronde_router_platform(router);
    RONDE_TRY(ronde_router_route(router, src, dst, MAX_LINKS, links, &count, error));
    if (count == 0)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s: no link leads from host %u to %u",
                          platform->path, src, dst);
    *out_link = nic_of(platform, links, count);
    return RONDE_OK;
}

/* NICs while they are found. */
struct finding {
    struct ronde_platform *platform;
    struct ronde_nodes nodes;
    struct ronde_router *router;
    bool *inside;          /* per link: on a way between hosts of one node */
    uint32_t keep;         /* of each node */
    struct ronde_list out; /* const char *: names of links */
};

/* Room for the NICs of a node. */
#define MAX_NODE_NICS 1024u

/* Those between each host and the next: all that hosts of a node share begin or end with one of these. */
static enum ronde_status mark_inside(const struct finding *finding, uint32_t node,
                                     struct ronde_error *error)
{
    const struct ronde_nodes *nodes = &finding->nodes;
    const uint32_t first = nodes->first[node], hosts = nodes->first[node + 1] - first;
    uint32_t links[MAX_LINKS];
    for (uint32_t i = 0; i < hosts; i++) {
        uint32_t count = 0;
        RONDE_TRY(ronde_router_route(finding->router, nodes->hosts[first + i],
                                     nodes->hosts[first + (i + 1) % hosts], MAX_LINKS, links,
                                     &count, error));
        for (uint32_t l = 0; l < count; l++)
            finding->inside[links[l]] = true;
    }
    return RONDE_OK;
}

/*
 * A host's own NIC, by its ways to the hosts of another node, that in the same place first: in pods of rails the way to another rail
 * leads over a NIC of another host. RONDE_NONE where it has none.
 */
static enum ronde_status find_nic(const struct finding *finding, uint32_t host, uint32_t place,
                                  uint32_t other, uint32_t *out_nic, struct ronde_error *error)
{
    const struct ronde_nodes *nodes = &finding->nodes;
    const uint32_t first = nodes->first[other], others = nodes->first[other + 1] - first;
    uint32_t links[MAX_LINKS], count = 0;
    *out_nic = RONDE_NONE;
    for (uint32_t i = 0; i < others && *out_nic == RONDE_NONE; i++) {
        const uint32_t peer = nodes->hosts[first + (place + i) % others];
        RONDE_TRY(ronde_router_route(finding->router, host, peer, MAX_LINKS, links, &count, error));
        if (count > 0 && !finding->inside[nic_of(finding->platform, links, count)])
            *out_nic = nic_of(finding->platform, links, count);
    }
    return RONDE_OK;
}

/* The NICs of a node in the order of its hosts; returns how many by *out_count. */
static enum ronde_status find_nics(const struct finding *finding, uint32_t node, uint32_t *out_links,
                                   uint32_t *out_count, struct ronde_error *error)
{
    const struct ronde_nodes *nodes = &finding->nodes;
    *out_count = 0;
    for (uint32_t i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
        uint32_t nic, at = 0;
        RONDE_TRY(find_nic(finding, nodes->hosts[i], i - nodes->first[node],
                           (node + 1) % nodes->count, &nic, error));
        while (at < *out_count && out_links[at] != nic)
            at++;
        if (nic != RONDE_NONE && at == *out_count && at < MAX_NODE_NICS)
            out_links[(*out_count)++] = nic;
    }
    return RONDE_OK;
}

static enum ronde_status drop_link(struct finding *finding, uint32_t link, struct ronde_error *error)
{
    const struct ronde_platform *platform = finding->platform;
    const uint32_t halves[] = {link, *RONDE_AT(platform->reverses, uint32_t, link)};
    for (int h = 0; h < (halves[0] == halves[1] ? 1 : 2); h++) {
        const char *name = RONDE_AT(platform->links, struct ronde_link, halves[h])->name;
        if (!ronde_list_append(platform->mem, &finding->out, &name, sizeof name))
            return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for names of NICs",
                              platform->path);
    }
    return RONDE_OK;
}

/* Spread evenly over those that are there, the first among them. */
static enum ronde_status drop_some(struct finding *finding, uint32_t node, struct ronde_error *error)
{
    uint32_t links[MAX_NODE_NICS], count = 0;
    const uint64_t keep = finding->keep;
    RONDE_TRY(mark_inside(finding, node, error));
    RONDE_TRY(find_nics(finding, node, links, &count, error));
    if (count == 0)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "%s: no link out of a node is narrower than those that its own hosts share: "
            "which are its NICs, nothing says",
            finding->platform->path);
    if (count < keep)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: a node has %u NIC%s, not %u",
                          finding->platform->path, count, count == 1 ? "" : "s", finding->keep);
    for (uint32_t i = 1; i < count; i++)
        if (i * keep / count == (i - 1) * keep / count)
            RONDE_TRY(drop_link(finding, links[i], error));
    return RONDE_OK;
}

static enum ronde_status drop_all(struct finding *finding, struct ronde_error *error)
{
    const struct ronde_platform *platform = finding->platform;
    enum ronde_status status = ronde_nodes_find(platform, platform->mem, &finding->nodes, error);
    if (status == RONDE_OK && finding->nodes.count < 2)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: one node, which needs no NIC",
                            platform->path);
    finding->inside = ronde_mem_new(platform->mem, platform->links.count, sizeof *finding->inside);
    if (status == RONDE_OK && !finding->inside)
        status =
            ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory to mark its links", platform->path);
    RONDE_THEN(status, ronde_router_create(platform, platform->mem, &finding->router, error));
    for (uint32_t node = 0; node < finding->nodes.count && status == RONDE_OK; node++)
        status = drop_some(finding, node, error);
    ronde_router_destroy(finding->router);
    ronde_mem_free(platform->mem, finding->inside, platform->links.count, sizeof *finding->inside);
    ronde_nodes_free(&finding->nodes, platform->mem);
    return status;
}

enum ronde_status ronde_platform_keep_nics(struct ronde_platform *platform, uint32_t count,
                                           struct ronde_error *error)
{
    struct finding finding = {.platform = platform, .keep = count};
    char name[sizeof platform->facts.name];
    memcpy(name, platform->facts.name, sizeof name);
    if (count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: nodes without NICs reach nothing",
                          platform->path);
    enum ronde_status status = drop_all(&finding, error);
    if (status == RONDE_OK && finding.out.count > 0) {
        status = ronde_platform_without(platform, finding.out.items, finding.out.count, error);
        (void)snprintf(platform->facts.name, sizeof name, "%.46s-nics-%u", name, count);
    }
    ronde_list_free(platform->mem, &finding.out, sizeof(const char *));
    return status;
}
