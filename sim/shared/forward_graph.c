/*
 * The graph of a replay forwards, made from a step graph and the platform. Whatever can is done in one pass, since
 * reading a large graph once more costs a tenth of its replay; routes are found afterwards, source by source.
 */
#define _DEFAULT_SOURCE

#include "forward_graph.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Large pages: a replay reads all over tens of megabytes, and with pages of 4 KiB each such read costs a walk
 * through the page tables as well. Only a wish: it changes no result, and a system may not grant it. */

/* The usual large page; a block that has none would gain nothing. */
#define LARGE_PAGE ((uintptr_t)2 << 20)

/* Requests large pages for those that lie wholly in a block. */
static void prefer_large(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t begin = ((uintptr_t)block + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)block + bytes) & ~(LARGE_PAGE - 1);
    if (begin < end)
        (void)madvise((char *)block + (begin - (uintptr_t)block), end - begin, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

/* An empty array has one byte, as ronde_mem_free takes it. */
void *ronde_sim_pages_new(const struct ronde_mem *mem, size_t count, size_t element_bytes)
{
    if (count > SIZE_MAX / element_bytes)
        return NULL;
    const size_t bytes = count > 0 ? count * element_bytes : 1;
    void *block = ronde_mem_resize(mem, NULL, 0, bytes);
    if (block)
        prefer_large(block, bytes);
    return block;
}

void *ronde_sim_pages_new_zeroed(const struct ronde_mem *mem, size_t count, size_t element_bytes)
{
    void *block = ronde_sim_pages_new(mem, count, element_bytes);
    if (block)
        memset(block, 0, count * element_bytes);
    return block;
}

/* Operations that are checked, routed and copied together: they and their edges stay in the nearest cache. */
#define BLOCK 64u

/* What is needed to make a graph and not to replay it. */
struct maker {
    const struct ronde_sim_scene *scene;
    struct ronde_sim_forward_graph *graph;
    struct ronde_sim_search search;
    uint32_t *recent;    /* per rank, as ronde_sim_search_block has it */
    uint32_t *last_kind; /* per route, kind of its last operation + 1 */
    size_t last_kind_capacity;
    uint32_t local_kind; /* of the last operation that sends nothing, + 1 */
};

/* An operation is mostly like the last one of its route; where it is not, one kind too many does no harm. */
static bool find_kind(struct maker *maker, const struct ronde_dag_op *op, uint32_t route,
                      uint32_t *out_kind)
{
    struct ronde_sim_forward_graph *graph = maker->graph;
    const bool is_local = op->src == op->dst && op->bytes == 0;
    uint32_t *last = is_local ? &maker->local_kind : &maker->last_kind[route];
    *out_kind = *last - 1;
    if (*last != 0 && graph->kinds[*last - 1].bytes == (double)op->bytes &&
        graph->kinds[*last - 1].delay_ns == op->delay_ns)
        return true;
    if (!ronde_mem_grow(maker->scene->mem, &graph->kinds, &graph->kind_capacity,
                        (size_t)graph->kind_count + 1, sizeof *graph->kinds))
        return false;
    *out_kind = graph->kind_count;
    graph->kinds[graph->kind_count++] = (struct ronde_sim_forward_kind){.delay_ns = op->delay_ns,
                                                                        .bytes = (double)op->bytes,
                                                                        .route = route};
    *last = graph->kind_count;
    return true;
}

void ronde_sim_forward_kind_finish(struct ronde_sim_forward_kind *kind,
                                   const struct ronde_sim_route *route)
{
    kind->latency_ns = route->path.latency_ns;
    if (kind->bytes == 0 || route->hop_count == 0)
        return;
    kind->own_ns = kind->bytes / route->path.rate_GBps;
    kind->first_hop = route->first_hop;
    kind->hop_count = route->hop_count;
}

/* Adds the nodes of a block, whose routes may be new, and counts the successors of those before. */
static bool add_nodes(struct maker *maker, uint32_t first, uint32_t end)
{
    const struct ronde_dag *dag = maker->scene->dag;
    const double *release_ns = maker->scene->options->release_ns;
    struct ronde_sim_forward_graph *graph = maker->graph;
    if (!ronde_mem_grow(maker->scene->mem, &maker->last_kind, &maker->last_kind_capacity,
                        graph->routes.count, sizeof *maker->last_kind))
        return false;
    for (uint32_t i = first; i < end; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        uint32_t kind;
        if (!find_kind(maker, op, graph->routes.of_op[i], &kind))
            return false;
        graph->kinds[kind].ops++;
        graph->nodes[i] = (struct ronde_sim_forward_node){release_ns ? release_ns[op->src] : 0,
                                                          kind, op->edge_count};
        for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++)
            graph->first_next[dag->edges[e].op]++;
    }
    return true;
}

/* The pass. */
static enum ronde_status add_all(struct maker *maker)
{
    const struct ronde_dag *dag = maker->scene->dag;
    uint32_t end = 0;
    for (uint32_t first = 0; first < dag->op_count; first = end) {
        end = dag->op_count - first < BLOCK ? dag->op_count : first + BLOCK;
        RONDE_TRY(ronde_sim_check_cancel(maker->scene));
        RONDE_TRY(ronde_sim_search_block(&maker->search, dag, maker->recent, first, end));
        if (!add_nodes(maker, first, end))
            RONDE_TRY(ronde_sim_no_memory(maker->scene));
    }
    return RONDE_OK;
}

/* How many edges ahead of its use a predecessor is prefetched. */
#define AHEAD 32u

/* Successors of all operations. Each group is filled from its end, which leaves its start where it belongs. */
static void link_successors(const struct ronde_dag *dag, struct ronde_sim_forward_graph *graph)
{
    uint32_t *first = graph->first_next;
    uint32_t end = 0;
    for (uint32_t i = 0; i <= dag->op_count; i++) {
        end += first[i];
        first[i] = end;
    }
    for (uint32_t i = dag->op_count; i-- > 0;) {
        const uint32_t first_edge = dag->ops[i].first_edge;
        for (uint32_t e = first_edge; e < first_edge + graph->nodes[i].waits; e++) {
            if (e >= AHEAD)
                __builtin_prefetch(&first[dag->edges[e - AHEAD].op], 1);
            graph->next[--first[dag->edges[e].op]] =
                i | (dag->edges[e].is_message ? RONDE_SIM_FORWARD_MESSAGE : 0);
        }
    }
}

/* Rates beside backlogs: both are used at once. */
static void fill_links(const struct ronde_platform *platform, struct ronde_sim_forward_graph *graph)
{
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct ronde_link *link = ronde_platform_link(platform, i);
        graph->links[i].rate_GBps = link->is_fatpipe ? 0 : link->rate_GBps;
    }
}

/* Memory of what has a size before anything is read. */
static bool reserve(struct maker *maker)
{
    const struct ronde_mem *mem = maker->scene->mem;
    const struct ronde_dag *dag = maker->scene->dag;
    struct ronde_sim_forward_graph *graph = maker->graph;
    graph->node_count = dag->op_count;
    graph->next_count = dag->edge_count;
    graph->nodes = ronde_sim_pages_new(mem, graph->node_count, sizeof *graph->nodes);
    graph->next = ronde_sim_pages_new(mem, graph->next_count, sizeof *graph->next);
    graph->first_next =
        ronde_sim_pages_new_zeroed(mem, (size_t)graph->node_count + 1, sizeof *graph->first_next);
    graph->link_count = ronde_platform_link_count(maker->scene->platform);
    graph->links = ronde_mem_new(mem, graph->link_count, sizeof *graph->links);
    graph->routes.op_count = dag->op_count;
    graph->routes.of_op = ronde_sim_pages_new(mem, dag->op_count, sizeof *graph->routes.of_op);
    maker->recent = ronde_mem_new(mem, 2 * (size_t)dag->ranks, sizeof *maker->recent);
    return graph->nodes && graph->next && graph->first_next && graph->links &&
           graph->routes.of_op && maker->recent;
}

static void free_maker(struct maker *maker)
{
    const struct ronde_mem *mem = maker->scene->mem;
    const struct ronde_dag *dag = maker->scene->dag;
    ronde_sim_search_end(&maker->search);
    ronde_mem_free(mem, maker->recent, 2 * (size_t)dag->ranks, sizeof *maker->recent);
    ronde_mem_free(mem, maker->last_kind, maker->last_kind_capacity, sizeof *maker->last_kind);
}

enum ronde_status ronde_sim_forward_graph_make(const struct ronde_sim_scene *scene,
                                               struct ronde_sim_forward_graph *out_graph)
{
    struct maker maker = {.scene = scene, .graph = out_graph};
    maker.search = ronde_sim_search_for(scene, &out_graph->routes);
    maker.search.is_deferred = true;
    enum ronde_status status =
        reserve(&maker) ? ronde_sim_search_begin(&maker.search) : ronde_sim_no_memory(scene);
    RONDE_THEN(status, add_all(&maker));
    RONDE_THEN(status, ronde_sim_search_deferred(&maker.search));
    if (status == RONDE_OK) {
        for (uint32_t i = 0; i < out_graph->kind_count; i++)
            ronde_sim_forward_kind_finish(&out_graph->kinds[i],
                                          &out_graph->routes.all[out_graph->kinds[i].route]);
        link_successors(scene->dag, out_graph);
        fill_links(scene->platform, out_graph);
    }
    free_maker(&maker);
    return status;
}

void ronde_sim_forward_graph_free(struct ronde_sim_forward_graph *graph, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, graph->links, graph->link_count, sizeof *graph->links);
    ronde_mem_free(mem, graph->next, graph->next_count, sizeof *graph->next);
    ronde_mem_free(mem, graph->first_next, ronde_sim_forward_steps(graph) + 1,
                   sizeof *graph->first_next);
    ronde_mem_free(mem, graph->steps, ronde_sim_forward_steps(graph), sizeof *graph->steps);
    ronde_mem_free(mem, graph->nodes, graph->node_count, sizeof *graph->nodes);
    ronde_mem_free(mem, graph->kinds, graph->kind_capacity, sizeof *graph->kinds);
    ronde_sim_routes_free(&graph->routes, mem);
}
