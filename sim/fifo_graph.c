/* The graph of a replay with queues, made from a step graph and the platform. */
#include "fifo_graph.h"

/* The kind of an operation on a route. */
static struct ronde_sim_fifo_kind kind_of(const struct ronde_sim_route *route,
                                          const struct ronde_dag_op *op)
{
    struct ronde_sim_fifo_kind kind = {.delay_ns = op->delay_ns,
                                       .bytes = (double)op->bytes,
                                       .latency_ns = route->path.latency_ns};
    if (op->bytes == 0 || route->hop_count == 0)
        return kind;
    kind.own_ns = kind.bytes / route->path.rate_GBps;
    kind.first_hop = route->first_hop;
    kind.hop_count = route->hop_count;
    return kind;
}

/* An operation is mostly like the last one of its route; where it is not, one kind too many does no harm. */
static bool find_kind(const struct ronde_mem *mem, struct ronde_sim_fifo_graph *graph,
                      const struct ronde_dag_op *op, uint32_t route, uint32_t *recent)
{
    const uint32_t last = recent[route];
    if (last != 0 && graph->kinds[last - 1].bytes == (double)op->bytes &&
        graph->kinds[last - 1].delay_ns == op->delay_ns)
        return true;
    void *block = graph->kinds;
    const bool fits = ronde_mem_grow(mem, &block, &graph->kind_capacity,
                                     (size_t)graph->kind_count + 1, sizeof *graph->kinds);
    graph->kinds = block;
    if (!fits)
        return false;
    graph->kinds[graph->kind_count++] = kind_of(&graph->routes.all[route], op);
    recent[route] = graph->kind_count;
    return true;
}

/* Copies what the graph says of each operation. */
static bool fill_nodes(const struct ronde_sim_scene *scene, struct ronde_sim_fifo_graph *graph,
                       uint32_t *recent)
{
    const double *release_ns = scene->options->release_ns;
    for (uint32_t i = 0; i < scene->dag->op_count; i++) {
        const struct ronde_dag_op *op = &scene->dag->ops[i];
        struct ronde_sim_fifo_node *node = &graph->nodes[i];
        const uint32_t route = graph->routes.of_op[i];
        if (!find_kind(scene->mem, graph, op, route, recent))
            return false;
        node->ready_ns = release_ns ? release_ns[op->src] : 0;
        node->kind = recent[route] - 1;
        node->waits = op->edge_count;
        graph->kinds[node->kind].ops++;
    }
    return true;
}

/* How many edges ahead of its use a predecessor is asked for. */
#define AHEAD 32u

/* Successors of all operations. */
static void link_successors(const struct ronde_dag *dag, struct ronde_sim_fifo_graph *graph)
{
    uint32_t *first = graph->first_next;
    uint32_t end = 0;
    for (uint32_t e = 0; e < dag->edge_count; e++) {
        if (e + AHEAD < dag->edge_count)
            __builtin_prefetch(&first[dag->edges[e + AHEAD].op], 1);
        first[dag->edges[e].op]++;
    }
    for (uint32_t i = 0; i <= dag->op_count; i++) {
        end += first[i];
        first[i] = end;
    }
    /* Each group is filled from its end, which leaves its start where it belongs. */
    for (uint32_t i = dag->op_count; i-- > 0;) {
        const struct ronde_dag_op *op = &dag->ops[i];
        if (op->first_edge >= AHEAD)
            __builtin_prefetch(&first[dag->edges[op->first_edge - AHEAD].op], 1);
        for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++)
            graph->next[--first[dag->edges[e].op]] =
                i | (dag->edges[e].is_message ? RONDE_SIM_FIFO_MESSAGE : 0);
    }
}

/* Rates beside backlogs: both are asked for at once. */
static void fill_links(const struct ronde_platform *platform, struct ronde_sim_fifo_graph *graph)
{
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct ronde_link *link = ronde_platform_link(platform, i);
        graph->links[i].rate_GBps = link->is_fatpipe ? 0 : link->rate_GBps;
    }
}

enum ronde_status ronde_sim_fifo_graph_make(const struct ronde_sim_scene *scene,
                                            struct ronde_sim_fifo_graph *out_graph)
{
    const struct ronde_mem *mem = scene->mem;
    enum ronde_status status = ronde_sim_routes_make(scene, &out_graph->routes);
    if (status != RONDE_OK)
        return status;
    const uint32_t routes = out_graph->routes.count;
    out_graph->node_count = scene->dag->op_count;
    out_graph->next_count = scene->dag->edge_count;
    out_graph->nodes = ronde_mem_new(mem, out_graph->node_count, sizeof *out_graph->nodes);
    out_graph->first_next =
        ronde_mem_new(mem, out_graph->node_count + 1, sizeof *out_graph->first_next);
    out_graph->next = ronde_mem_new(mem, out_graph->next_count, sizeof *out_graph->next);
    out_graph->link_count = ronde_platform_link_count(scene->platform);
    out_graph->links = ronde_mem_new(mem, out_graph->link_count, sizeof *out_graph->links);
    uint32_t *recent = ronde_mem_new(mem, routes, sizeof *recent);
    if (!out_graph->nodes || !out_graph->first_next || !out_graph->next || !out_graph->links ||
        !recent || !fill_nodes(scene, out_graph, recent))
        status = ronde_sim_no_memory(scene);
    ronde_mem_free(mem, recent, routes, sizeof *recent);
    if (status != RONDE_OK)
        return status;
    fill_links(scene->platform, out_graph);
    link_successors(scene->dag, out_graph);
    return RONDE_OK;
}

void ronde_sim_fifo_graph_free(struct ronde_sim_fifo_graph *graph, const struct ronde_mem *mem)
{
    ronde_mem_free(mem, graph->links, graph->link_count, sizeof *graph->links);
    ronde_mem_free(mem, graph->next, graph->next_count, sizeof *graph->next);
    ronde_mem_free(mem, graph->first_next, graph->node_count + 1, sizeof *graph->first_next);
    ronde_mem_free(mem, graph->nodes, graph->node_count, sizeof *graph->nodes);
    ronde_mem_free(mem, graph->kinds, graph->kind_capacity, sizeof *graph->kinds);
    ronde_sim_routes_free(&graph->routes, mem);
}
