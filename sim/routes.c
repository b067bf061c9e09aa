/* Routes: a table from pairs of ranks to routes, filled when a pair is first used. */
#include "routes.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum ronde_status ronde_sim_no_memory(const struct ronde_sim_scene *scene)
{
    return ronde_fail(scene->error, RONDE_NO_MEMORY, "no memory to replay %u operations",
                      scene->dag->op_count);
}

static enum ronde_status no_memory(const struct ronde_sim_search *search)
{
    return ronde_fail(search->error, RONDE_NO_MEMORY, "no memory for %u routes",
                      search->routes->count + 1);
}

struct ronde_sim_search ronde_sim_search_for(const struct ronde_sim_scene *scene,
                                             struct ronde_sim_routes *routes)
{
    return (struct ronde_sim_search){.platform = scene->platform,
                                     .options = scene->options,
                                     .dag = scene->dag,
                                     .mem = scene->mem,
                                     .error = scene->error,
                                     .alpha_ns = scene->dag->alpha_ns,
                                     .lane_GBps = scene->dag->lane_GBps,
                                     .routes = routes};
}

enum ronde_status ronde_sim_search_begin(struct ronde_sim_search *search)
{
    const uint32_t links = ronde_platform_link_count(search->platform);
    search->crossings = ronde_mem_new(search->mem, links, sizeof *search->crossings);
    if (!search->crossings)
        return no_memory(search);
    return ronde_router_create(search->platform, search->mem, &search->router, search->error);
}

void ronde_sim_search_end(struct ronde_sim_search *search)
{
    ronde_router_destroy(search->router);
    ronde_mem_free(search->mem, search->crossings, ronde_platform_link_count(search->platform),
                   sizeof *search->crossings);
    ronde_mem_free(search->mem, search->table, search->table_size, sizeof *search->table);
}

/* Slot of a pair in the table. Multiplicative hashing (Knuth, TAOCP vol. 3, 6.4). */
static uint32_t slot_of(const struct ronde_sim_search *search, uint64_t key)
{
    const uint32_t mask = search->table_size - 1;
    uint32_t slot = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (search->table[slot] != 0 && search->routes->all[search->table[slot] - 1].key != key)
        slot = (slot + 1) & mask;
    return slot;
}

/* Doubles the table when it is half full. */
static enum ronde_status enlarge(struct ronde_sim_search *search)
{
    const uint32_t old_size = search->table_size;
    if (search->routes->count < old_size / 2)
        return RONDE_OK;
    const uint32_t size = old_size ? old_size * 2 : 64;
    uint32_t *table = ronde_mem_new(search->mem, size, sizeof *table);
    if (!table)
        return no_memory(search);
    ronde_mem_free(search->mem, search->table, old_size, sizeof *table);
    search->table = table;
    search->table_size = size;
    for (uint32_t i = 0; i < search->routes->count; i++)
        table[slot_of(search, search->routes->all[i].key)] = i + 1;
    return RONDE_OK;
}

/* Latency and rate of a route; the lane rate caps it, 0 is unlimited. */
static struct ronde_path measure(const struct ronde_sim_search *search, const uint32_t *hops,
                                 uint32_t count)
{
    double rate = count > 0 && search->lane_GBps > 0 ? search->lane_GBps : INFINITY;
    struct ronde_path path = {search->alpha_ns, 0};
    for (uint32_t i = 0; i < count; i++)
        search->crossings[hops[i]]++;
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_link *link = ronde_platform_link(search->platform, hops[i]);
        /* A link that a route crosses twice serves each byte twice. */
        const uint32_t times = link->is_fatpipe ? 1 : search->crossings[hops[i]];
        path.latency_ns += link->latency_ns;
        rate = fmin(rate, link->rate_GBps / times);
    }
    for (uint32_t i = 0; i < count; i++)
        search->crossings[hops[i]] = 0;
    path.rate_GBps = isfinite(rate) ? rate : 0;
    return path;
}

/* Room for more hops. */
static bool reserve_hops(const struct ronde_mem *mem, struct ronde_sim_routes *routes, uint32_t hops)
{
    return ronde_mem_grow(mem, &routes->hops, &routes->hop_capacity,
                          (size_t)routes->hop_count + hops, sizeof *routes->hops);
}

enum ronde_status ronde_sim_search_look_up(struct ronde_sim_search *search, uint32_t src,
                                           uint32_t dst, uint32_t *out_hops, uint32_t *out_count,
                                           struct ronde_path *out_path)
{
    enum ronde_status status =
        ronde_cancel_check(search->options->cancel, "the replay", search->error);
    *out_count = 0;
    RONDE_THEN(status, ronde_router_route(search->router, ronde_sim_host(search->options, src),
                                          ronde_sim_host(search->options, dst), RONDE_SIM_MAX_HOPS,
                                          out_hops, out_count, search->error));
    if (status == RONDE_OK)
        *out_path = measure(search, out_hops, *out_count);
    return status;
}

/* --- the links of what switches copy and add -------------------------------------------------- */

/* The links up to the switch between two ranks and down from it; those between, if any, must slow nothing down. */
static enum ronde_status find_sides(struct ronde_sim_search *search, uint32_t src, uint32_t dst,
                                    uint32_t sides[2], struct ronde_path *path)
{
    uint32_t hops[RONDE_SIM_MAX_HOPS], count = 0, between = 0;
    RONDE_TRY(ronde_sim_search_look_up(search, src, dst, hops, &count, path));
    for (uint32_t i = 1; i + 1 < count; i++)
        between += !ronde_platform_link(search->platform, hops[i])->is_fatpipe;
    if (count < 2 || between > 0)
        return ronde_fail(search->error, RONDE_UNSUPPORTED,
                          "ranks %u and %u are %u links apart: what a switch copies or adds "
                          "(ronde.multicast) goes one link up and one down",
                          src, dst, count);
    sides[0] = hops[0];
    sides[1] = hops[count - 1];
    return RONDE_OK;
}

/* A graph from elsewhere must not take an engine out of bounds. */
static enum ronde_status check_group(const struct ronde_dag *dag, uint32_t number,
                                     struct ronde_error *error)
{
    const struct ronde_dag_group *group = number < dag->group_count ? &dag->groups[number] : NULL;
    bool is_right = group && group->rank < dag->ranks && group->member_count > 0 &&
                    (uint64_t)group->first_member + group->member_count <= dag->member_count;
    for (uint32_t i = 0; is_right && i < group->member_count; i++)
        is_right = dag->members[group->first_member + i] < dag->ranks;
    return is_right ? RONDE_OK
                    : ronde_fail(error, RONDE_BAD_ARGUMENT, "group %u of %u is none", number,
                                 dag->group_count);
}

/*
 * The links of a group: of a store, up from its rank and down to all; of a load, up from all and down to its rank. The first
 * two are the rank's own. The latency is that between the rank and its first member. `hops` has RONDE_SIM_MAX_HOPS places.
 */
static enum ronde_status find_group(struct ronde_sim_search *search, uint32_t number,
                                    uint32_t *hops, uint32_t *out_count, struct ronde_path *path)
{
    enum ronde_status status = check_group(search->dag, number, search->error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_dag_group *group = &search->dag->groups[number];
    const uint32_t *members = search->dag->members + group->first_member;
    uint32_t sides[2] = {0, 0};
    struct ronde_path one, first = {0};
    if (group->member_count > RONDE_SIM_MAX_HOPS - 2)
        return ronde_fail(search->error, RONDE_UNSUPPORTED, "%u ranks on one switch: at most %u",
                          group->member_count + 1, RONDE_SIM_MAX_HOPS - 1);
    for (uint32_t i = 0; i < group->member_count && status == RONDE_OK; i++) {
        const uint32_t src = group->is_load ? members[i] : group->rank;
        const uint32_t dst = group->is_load ? group->rank : members[i];
        status = find_sides(search, src, dst, sides, &one);
        hops[2 + i] = sides[!group->is_load];
        hops[group->is_load] = sides[group->is_load];
        first = i == 0 ? one : first;
    }
    RONDE_THEN(status, group->is_load ? find_sides(search, group->rank, members[0], sides, &one)
                                      : find_sides(search, members[0], group->rank, sides, &one));
    if (status != RONDE_OK)
        return status;
    hops[!group->is_load] = sides[!group->is_load];
    *out_count = 2 + group->member_count;
    *path = measure(search, hops, *out_count);
    path->latency_ns = first.latency_ns;
    return RONDE_OK;
}

/* --- finding and keeping ----------------------------------------------------------------------- */

/* Looks up in the platform the route of a pair that has a number. */
static enum ronde_status find_route(struct ronde_sim_search *search, struct ronde_sim_route *route)
{
    struct ronde_sim_routes *routes = search->routes;
    uint32_t hops[RONDE_SIM_MAX_HOPS];
    uint32_t count = 0;
    const uint32_t src = (uint32_t)((route->key & ~RONDE_SIM_GROUP_KEY) >> 32);
    RONDE_TRY(route->key & RONDE_SIM_GROUP_KEY
                  ? find_group(search, src, hops, &count, &route->path)
                  : ronde_sim_search_look_up(search, src, (uint32_t)route->key, hops, &count,
                                             &route->path));
    if (!reserve_hops(search->mem, routes, count))
        return no_memory(search);
    if (count > 0)
        memcpy(routes->hops + routes->hop_count, hops, count * sizeof *hops);
    route->first_hop = routes->hop_count;
    route->hop_count = count;
    routes->hop_count += count;
    return RONDE_OK;
}

/* Numbers a pair. */
static enum ronde_status add_route(struct ronde_sim_search *search, uint64_t key)
{
    struct ronde_sim_routes *routes = search->routes;
    if (!ronde_mem_grow(search->mem, &routes->all, &routes->capacity, (size_t)routes->count + 1,
                        sizeof *routes->all))
        return no_memory(search);
    struct ronde_sim_route *route = &routes->all[routes->count];
    *route = (struct ronde_sim_route){.key = key};
    const enum ronde_status status = search->is_deferred ? RONDE_OK : find_route(search, route);
    routes->count += status == RONDE_OK;
    return status;
}

static enum ronde_status find_key(struct ronde_sim_search *search, uint64_t key, uint32_t *out_route)
{
    RONDE_TRY(enlarge(search));
    const uint32_t slot = slot_of(search, key);
    if (search->table[slot] == 0) {
        RONDE_TRY(add_route(search, key));
        search->table[slot] = search->routes->count;
    }
    *out_route = search->table[slot] - 1;
    return RONDE_OK;
}

enum ronde_status ronde_sim_search_find(struct ronde_sim_search *search, uint32_t src, uint32_t dst,
                                        uint32_t *out_route)
{
    return find_key(search, (uint64_t)src << 32 | dst, out_route);
}

/* A route and its source, to be sorted. */
struct question {
    uint64_t key;
    uint32_t route;
};

static int compare_questions(const void *left, const void *right)
{
    const uint64_t a = ((const struct question *)left)->key;
    const uint64_t b = ((const struct question *)right)->key;
    return a < b ? -1 : a > b;
}

enum ronde_status ronde_sim_search_deferred(struct ronde_sim_search *search)
{
    struct ronde_sim_routes *routes = search->routes;
    const uint32_t count = routes->count;
    struct question *questions = ronde_mem_new(search->mem, count, sizeof *questions);
    if (!questions)
        return no_memory(search);
    for (uint32_t i = 0; i < count; i++)
        questions[i] = (struct question){routes->all[i].key, i};
    qsort(questions, count, sizeof *questions, compare_questions);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        status = find_route(search, &routes->all[questions[i].route]);
    ronde_mem_free(search->mem, questions, count, sizeof *questions);
    return status;
}

/* What the bytes of an operation flow on. */
static inline uint64_t key_of(const struct ronde_dag *dag, uint32_t index)
{
    const struct ronde_dag_op *op = &dag->ops[index];
    if (!dag->group_of || dag->group_of[index] == RONDE_NONE)
        return (uint64_t)op->src << 32 | op->dst;
    return RONDE_SIM_GROUP_KEY | (uint64_t)dag->group_of[index] << 32 | op->dst;
}

/* Route of an operation. A rank's receives, which lead nowhere, have an entry of their own and do not displace its
   sends. */
static inline enum ronde_status search_op(struct ronde_sim_search *search,
                                          const struct ronde_dag *dag, uint32_t index,
                                          uint32_t *recent, uint32_t *out_route)
{
    const struct ronde_sim_routes *routes = search->routes;
    const struct ronde_dag_op *op = &dag->ops[index];
    const uint64_t key = key_of(dag, index);
    uint32_t *last = &recent[2 * (size_t)op->src + (op->src == op->dst)];
    enum ronde_status status = RONDE_OK;
    if (*last >= routes->count || routes->all[*last].key != key)
        status = find_key(search, key, last);
    *out_route = *last;
    return status;
}

/**
 * Routes of operations first .. end - 1 into routes->of_op, which has room. `recent` has two entries a rank, zero at
 * first: most ranks send to one peer for long, so the route of a rank's last message is tried before the table.
 */
static enum ronde_status search_ops(struct ronde_sim_search *search, const struct ronde_dag *dag,
                                    uint32_t *recent, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        RONDE_TRY(search_op(search, dag, i, recent, &search->routes->of_op[i]));
    return RONDE_OK;
}

/* Whether an operation is in order and range and takes what was sent to it; routes say so without a look at operations
   far back. */
static inline bool is_right(const struct ronde_sim_routes *routes, const struct ronde_dag *dag,
                            uint32_t index)
{
    const struct ronde_dag_op *op = &dag->ops[index];
    const struct ronde_dag_edge *edges = dag->edges + op->first_edge;
    bool is_right = op->src < dag->ranks && op->dst < dag->ranks;
    for (uint32_t e = 0; e < op->edge_count && is_right; e++) {
        is_right = edges[e].op < index;
        if (is_right && edges[e].is_message && !dag->is_turned)
            is_right = (uint32_t)routes->all[routes->of_op[edges[e].op]].key == op->src;
    }
    return is_right;
}

/* Reports what is not right in a block. */
static enum ronde_status refuse(const struct ronde_dag *dag, uint32_t first, uint32_t end,
                                struct ronde_error *error)
{
    RONDE_TRY(ronde_sim_check_order(dag, first, end, error));
    return ronde_sim_check_messages(dag, first, end, error);
}

enum ronde_status ronde_sim_search_block(struct ronde_sim_search *search,
                                         const struct ronde_dag *dag, uint32_t *recent,
                                         uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (!is_right(search->routes, dag, i))
            return refuse(dag, first, end, search->error);
        RONDE_TRY(search_op(search, dag, i, recent, &search->routes->of_op[i]));
    }
    return RONDE_OK;
}

enum ronde_status ronde_sim_routes_make(const struct ronde_sim_scene *scene,
                                        struct ronde_sim_routes *out_routes)
{
    const struct ronde_dag *dag = scene->dag;
    struct ronde_sim_search search = ronde_sim_search_for(scene, out_routes);
    out_routes->op_count = dag->op_count;
    out_routes->of_op = ronde_mem_new(scene->mem, dag->op_count, sizeof *out_routes->of_op);
    const size_t recent_count = 2 * (size_t)dag->ranks;
    uint32_t *recent = ronde_mem_new(scene->mem, recent_count, sizeof *recent);
    enum ronde_status status =
        out_routes->of_op && recent ? ronde_sim_search_begin(&search) : ronde_sim_no_memory(scene);
    RONDE_THEN(status, search_ops(&search, dag, recent, 0, dag->op_count));
    ronde_sim_search_end(&search);
    ronde_mem_free(scene->mem, recent, recent_count, sizeof *recent);
    return status;
}

void ronde_sim_routes_free(struct ronde_sim_routes *routes, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, routes->all, routes->capacity, sizeof *routes->all);
    ronde_mem_free(mem, routes->hops, routes->hop_capacity, sizeof *routes->hops);
    ronde_mem_free(mem, routes->of_op, routes->op_count, sizeof *routes->of_op);
}

enum ronde_status ronde_sim_groups_check(const struct ronde_sim_scene *scene)
{
    const struct ronde_dag *dag = scene->dag;
    struct ronde_sim_routes none = {.count = 0};
    struct ronde_sim_search search = ronde_sim_search_for(scene, &none);
    uint32_t hops[RONDE_SIM_MAX_HOPS], count;
    struct ronde_path path;
    enum ronde_status status =
        ronde_sim_check_hosts(scene->platform, dag->ranks, scene->options, scene->error);
    RONDE_THEN(status, ronde_sim_search_begin(&search));
    for (uint32_t g = 0; g < dag->group_count && status == RONDE_OK; g++)
        if (dag->groups[g].member_count > 0)
            status = find_group(&search, g, hops, &count, &path);
    ronde_sim_search_end(&search);
    return status;
}
