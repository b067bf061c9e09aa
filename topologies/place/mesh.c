/* What the hops between a few hosts load: a mesh for cycles.h. */
#include "cycles.h"

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
    const enum ronde_status status =
        ronde_router_route(router, ends[0], ends[1], MAX_LINKS, route, &count, error);
    for (uint32_t i = 0; status == RONDE_OK && i < count && i < MAX_LINKS; i++) {
        const struct ronde_link *link = ronde_platform_link(platform, route[i]);
        if (link->is_fatpipe)
            continue;
        mesh->own[route[i]] = 1e9 / link->rate_GBps;
        mesh->links[(*at)++] = route[i];
    }
    return status;
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
