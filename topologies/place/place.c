/* Placements by name, and which host a rank gets. */
#include "rings.h"

#include "ronde/place.h"

#include <string.h>

static const char *const placement_texts[] = {
#define PLACEMENT_TEXT(name, text, summary) text,
    RONDE_PLACEMENT_LIST(PLACEMENT_TEXT)
#undef PLACEMENT_TEXT
};

const char *ronde_placement_text(enum ronde_placement placement)
{
    return (uint32_t)placement < RONDE_PLACEMENT_COUNT ? placement_texts[placement] : "?";
}

bool ronde_placement_parse(const char *text, enum ronde_placement *out_placement)
{
    for (uint32_t i = 0; i < RONDE_PLACEMENT_COUNT; i++)
        if (strcmp(placement_texts[i], text) == 0) {
            *out_placement = (enum ronde_placement)i;
            return true;
        }
    return false;
}

static bool has_links_out(const struct ronde_platform *platform)
{
    const uint32_t count = ronde_platform_link_count(platform);
    for (uint32_t i = 0; i < count; i++)
        if (ronde_platform_link(platform, i)->rate_GBps <= 0)
            return true;
    return false;
}

/* Routes that only SimGrid knows are taken to be there. */
static bool has_way(struct ronde_router *router, uint32_t src, uint32_t dst)
{
    uint32_t link, count;
    struct ronde_error ignored = {0};
    return src == dst ||
           ronde_router_route(router, src, dst, 1, &link, &count, &ignored) != RONDE_BAD_INPUT;
}

bool ronde_hosts_are_joined(const struct ronde_platform *platform, const uint32_t *hosts,
                            uint32_t count, const struct ronde_mem *mem)
{
    struct ronde_router *router = NULL;
    struct ronde_error ignored = {0};
    bool are_joined = true;
    if (!has_links_out(platform) ||
        ronde_router_create(platform, mem, &router, &ignored) != RONDE_OK)
        return true;
    for (uint32_t i = 1; i < count && are_joined; i++)
        are_joined = has_way(router, hosts[0], hosts[i]) && has_way(router, hosts[i], hosts[0]);
    ronde_router_destroy(router);
    return are_joined;
}

/* Round after round every node gives its next host, until it has none left. */
static void scatter(const struct ronde_nodes *nodes, uint32_t ranks, uint32_t *out_host_of)
{
    uint32_t rank = 0;
    for (uint32_t round = 0; rank < ranks; round++)
        for (uint32_t node = 0; node < nodes->count && rank < ranks; node++) {
            const uint32_t at = nodes->first[node] + round;
            if (at < nodes->first[node + 1])
                out_host_of[rank++] = nodes->hosts[at];
        }
}

enum ronde_status ronde_place(const struct ronde_nodes *nodes, enum ronde_placement placement,
                              uint32_t ranks, uint32_t *out_host_of, struct ronde_error *error)
{
    if (ranks > nodes->host_count)
        return ronde_fail(error, RONDE_BAD_INPUT, "%u ranks cannot be placed on %u hosts", ranks,
                          nodes->host_count);
    switch (placement) {
    case RONDE_PLACE_SCATTERED:
        scatter(nodes, ranks, out_host_of);
        return RONDE_OK;
    case RONDE_PLACE_PACKED:
    case RONDE_PLACE_AUTO:
        memcpy(out_host_of, nodes->hosts, ranks * sizeof *out_host_of);
        return RONDE_OK;
    case RONDE_PLACE_FILE:
    case RONDE_PLACEMENT_COUNT:
        break;
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        out_host_of[rank] = rank;
    return RONDE_OK;
}

/* What the hops between a few hosts load: a mesh for rings.h. */

/* The widest route looked at; links beyond are left out. */
#define MAX_LINKS 64u

void ronde_mesh_free(struct ronde_mesh *mesh, const struct ronde_mem *mem)
{
    const size_t hops = (size_t)mesh->size * mesh->size;
    ronde_mem_free(mem, mesh->own, mesh->link_room, sizeof *mesh->own);
    ronde_mem_free(mem, mesh->first, hops + 1, sizeof *mesh->first);
    ronde_mem_free(mem, mesh->links, hops * MAX_LINKS, sizeof *mesh->links);
    *mesh = (struct ronde_mesh){.size = 0};
}

/* One hop's links, those that carry any number at once left out. */
static enum ronde_status add_hop(const struct ronde_platform *platform, struct ronde_router *router,
                                 const uint32_t *ends, struct ronde_mesh *mesh, uint32_t *at,
                                 struct ronde_error *error)
{
    uint32_t route[MAX_LINKS], count = 0;
    RONDE_TRY(ronde_router_route(router, ends[0], ends[1], MAX_LINKS, route, &count, error));
    for (uint32_t i = 0; i < count && i < MAX_LINKS; i++) {
        const struct ronde_link *link = ronde_platform_link(platform, route[i]);
        if (link->is_fatpipe)
            continue;
        mesh->own[route[i]] = 1e9 / link->rate_GBps;
        mesh->links[(*at)++] = route[i];
    }
    return RONDE_OK;
}

enum ronde_status ronde_mesh_of(const struct ronde_platform *platform, struct ronde_router *router,
                                const uint32_t *hosts, uint32_t size, const struct ronde_mem *mem,
                                struct ronde_mesh *out_mesh, struct ronde_error *error)
{
    const uint32_t hops = size * size;
    enum ronde_status status = RONDE_OK;
    struct ronde_mesh mesh = {.size = size, .link_room = ronde_platform_link_count(platform)};
    uint32_t at = 0;
    mesh.own = ronde_mem_new(mem, mesh.link_room, sizeof *mesh.own);
    mesh.first = ronde_mem_new(mem, (size_t)hops + 1, sizeof *mesh.first);
    mesh.links = ronde_mem_new(mem, (size_t)hops * MAX_LINKS, sizeof *mesh.links);
    if (!mesh.own || !mesh.first || !mesh.links)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for the hops of %u ranks", size);
    for (uint32_t hop = 0; status == RONDE_OK && hop < hops; hop++) {
        const uint32_t ends[2] = {hosts[hop / size], hosts[hop % size]};
        mesh.first[hop] = at;
        if (ends[0] != ends[1])
            status = add_hop(platform, router, ends, &mesh, &at, error);
        mesh.first[hop + 1] = at;
    }
    *out_mesh = mesh;
    if (status != RONDE_OK)
        ronde_mesh_free(out_mesh, mem);
    return status;
}
