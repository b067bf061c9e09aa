/*
 * Operations of the folded positions. What a quotient's edge leads to at a position is a folded position again: that of
 * whoever is so far away. Routes are those of the positions themselves, with every link replaced by the first of its kind,
 * so that most of them are equal: they are kept once, as the replay goes back to them all the time.
 */
#include "forward_graph.h"

#include "ronde/cursor.h"

#include <math.h>
#include <string.h>

/* A route that has not been looked up. */
#define UNKNOWN 0u

/* What is needed to make a graph and not to replay it. */
struct maker {
    const struct ronde_sim_folding *folding;
    struct ronde_sim_forward_graph *graph;
    struct ronde_error *error;
    const struct ronde_mem *mem;
    uint32_t count; /* of folded positions */
    struct ronde_sim_search search;
    uint32_t *offset_number; /* per position as an offset, its number + 1 */
    uint32_t offset_count;
    uint64_t *bytes; /* of the step, per operation of the channel at hand and folded position; NULL where all move the same */
    uint32_t *route_of; /* per offset and folded position, in the channel at hand: route + 1, or UNKNOWN */
    struct ronde_store channel; /* memory of the channel at hand */
    uint32_t *table;            /* open addressing: hash of a route -> route + 1 */
    uint32_t table_size;
    uint32_t *last_kind; /* per route, kind of its last operation + 1 */
    size_t last_kind_capacity;
    uint32_t local_kind; /* of the last operation that sends nothing, + 1 */
};

static enum ronde_status no_memory(const struct maker *maker)
{
    return ronde_fail(maker->error, RONDE_NO_MEMORY, "no memory for %zu steps of %u ranks",
                      maker->graph->node_count, maker->count);
}

/* ---- Routes ----------------------------------------------------------------------------------------------------- */

static bool is_route(const struct maker *maker, uint32_t index, const struct ronde_sim_route *route,
                     const uint32_t *hops)
{
    const struct ronde_sim_route *other = &maker->graph->routes.all[index];
    return other->hop_count == route->hop_count &&
           other->path.latency_ns == route->path.latency_ns &&
           other->path.rate_GBps == route->path.rate_GBps &&
           (route->hop_count == 0 || memcmp(maker->graph->routes.hops + other->first_hop, hops,
                                            route->hop_count * sizeof *hops) == 0);
}

/* Where a route is in the table, or would be. Of its links alone (FNV-1a): those of equal links are as good as equal. */
static uint32_t slot_of(const struct maker *maker, const struct ronde_sim_route *route,
                        const uint32_t *hops)
{
    const uint32_t mask = maker->table_size - 1;
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < route->hop_count; i++)
        hash = (hash ^ hops[i]) * 0x100000001b3u;
    uint32_t slot = (uint32_t)(hash >> 32 ^ hash) & mask;
    while (maker->table[slot] != 0 && !is_route(maker, maker->table[slot] - 1, route, hops))
        slot = (slot + 1) & mask;
    return slot;
}

/* Doubles the table when it is half full. */
static bool enlarge(struct maker *maker)
{
    const struct ronde_sim_routes *routes = &maker->graph->routes;
    const uint32_t old_size = maker->table_size;
    if (routes->count < old_size / 2)
        return true;
    const uint32_t size = old_size > 0 ? 2 * old_size : 64;
    uint32_t *table = ronde_mem_new(maker->mem, size, sizeof *table);
    if (!table)
        return false;
    ronde_mem_free(maker->mem, maker->table, old_size, sizeof *table);
    maker->table = table;
    maker->table_size = size;
    for (uint32_t i = 0; i < routes->count; i++)
        table[slot_of(maker, &routes->all[i], routes->hops + routes->all[i].first_hop)] = i + 1;
    return true;
}

/* Keeps a route that is like none before. */
static bool keep_route(struct maker *maker, const struct ronde_sim_route *route,
                       const uint32_t *hops)
{
    struct ronde_sim_routes *routes = &maker->graph->routes;
    bool fits = ronde_mem_grow(maker->mem, &routes->all, &routes->capacity,
                               (size_t)routes->count + 1, sizeof *routes->all);
    fits = fits && ronde_mem_grow(maker->mem, &routes->hops, &routes->hop_capacity,
                                  (size_t)routes->hop_count + route->hop_count, sizeof *hops);
    fits = fits && ronde_mem_grow(maker->mem, &maker->last_kind, &maker->last_kind_capacity,
                                  (size_t)routes->count + 1, sizeof *maker->last_kind);
    if (!fits)
        return false;
    routes->all[routes->count] = *route;
    routes->all[routes->count].first_hop = routes->hop_count;
    if (route->hop_count > 0)
        memcpy(routes->hops + routes->hop_count, hops, route->hop_count * sizeof *hops);
    routes->hop_count += route->hop_count;
    maker->last_kind[routes->count++] = 0;
    return true;
}

/* The route of a folded position to an offset. */
static enum ronde_status find_route(struct maker *maker, uint32_t channel, uint32_t folded,
                                    uint32_t offset, uint32_t *out_route)
{
    const struct ronde_schedule *schedule = maker->folding->job->schedule;
    const struct ronde_channel *order = &schedule->channels[channel];
    const uint32_t position = ronde_sim_folding_position(maker->folding, folded);
    uint32_t hops[RONDE_SIM_MAX_HOPS];
    struct ronde_sim_route route = {.key = 0};
    RONDE_TRY(ronde_sim_search_look_up(&maker->search, ronde_channel_rank(order, position),
                                       ronde_channel_rank(order, ronde_group_add(schedule, position,
                                                                                 offset)),
                                       hops, &route.hop_count, &route.path));
    for (uint32_t i = 0; i < route.hop_count; i++)
        hops[i] = maker->folding->kinds.of[hops[i]];
    if (!enlarge(maker))
        return no_memory(maker);
    const uint32_t slot = slot_of(maker, &route, hops);
    if (maker->table[slot] == 0) {
        if (!keep_route(maker, &route, hops))
            return no_memory(maker);
        maker->table[slot] = maker->graph->routes.count;
    }
    *out_route = maker->table[slot];
    return RONDE_OK;
}

/* Routes of a channel, source by source: a router that searches the platform then does so once a source. */
static enum ronde_status find_routes(struct maker *maker, uint32_t channel, const uint32_t *offsets)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t f = 0; f < maker->count; f++)
        for (uint32_t i = 0; i < maker->offset_count && status == RONDE_OK; i++)
            status = find_route(maker, channel, f, offsets[i],
                                &maker->route_of[(size_t)i * maker->count + f]);
    return status;
}

/* Numbers the offsets that a channel sends to, and finds their routes. */
static enum ronde_status open_channel(struct maker *maker, uint32_t channel)
{
    const struct ronde_quotient *quotient = maker->folding->quotients[channel];
    const struct ronde_dag *dag = quotient->dag;
    const uint32_t ranks = maker->folding->full.count;
    ronde_store_clear(&maker->channel);
    maker->bytes = NULL;
    if (!quotient->is_uniform)
        maker->bytes = ronde_store_new(&maker->channel, (size_t)dag->op_count * maker->count,
                                       sizeof *maker->bytes);
    maker->offset_count = 0;
    memset(maker->offset_number, 0, ranks * sizeof *maker->offset_number);
    uint32_t *offsets = ronde_store_new(&maker->channel, ranks, sizeof *offsets);
    for (uint32_t i = 0; offsets && i < dag->op_count; i++) {
        const uint32_t offset = dag->ops[i].dst;
        if (offset == 0 || maker->offset_number[offset] != 0)
            continue;
        offsets[maker->offset_count++] = offset;
        maker->offset_number[offset] = maker->offset_count;
    }
    maker->route_of = ronde_store_new(&maker->channel, (size_t)maker->offset_count * maker->count,
                                      sizeof *maker->route_of);
    return maker->channel.is_short ? no_memory(maker) : find_routes(maker, channel, offsets);
}

/* ---- Operations ------------------------------------------------------------------------------------------------- */

/* The kind of an operation: mostly that of the last one on its route (RONDE_NONE where it sends nothing). */
static bool find_kind(struct maker *maker, struct ronde_sim_forward_kind kind, uint32_t route,
                      uint32_t *out_kind)
{
    struct ronde_sim_forward_graph *graph = maker->graph;
    uint32_t *last = route == RONDE_NONE ? &maker->local_kind : &maker->last_kind[route];
    *out_kind = *last - 1;
    if (*last != 0 && graph->kinds[*out_kind].bytes == kind.bytes &&
        graph->kinds[*out_kind].delay_ns == kind.delay_ns)
        return true;
    if (route != RONDE_NONE) {
        kind.route = route;
        ronde_sim_forward_kind_finish(&kind, &graph->routes.all[route]);
    }
    if (!ronde_mem_grow(maker->mem, &graph->kinds, &graph->kind_capacity,
                        (size_t)graph->kind_count + 1, sizeof kind))
        return false;
    *out_kind = graph->kind_count;
    graph->kinds[graph->kind_count++] = kind;
    *last = graph->kind_count;
    return true;
}

static double release_of(const struct maker *maker, uint32_t channel, uint32_t folded)
{
    const struct ronde_sim_folding *folding = maker->folding;
    const struct ronde_channel *order = &folding->job->schedule->channels[channel];
    return folding->options->release_ns ? folding->options->release_ns[ronde_channel_rank(
                                              order, ronde_sim_folding_position(folding, folded))]
                                        : 0;
}

/* The operation at a folded position that an edge of another one comes from. */
static uint32_t before(const struct maker *maker, uint32_t base, const struct ronde_dag_edge *edge,
                       uint32_t offset, uint32_t folded)
{
    return base + edge->op * maker->count +
           (offset == 0 ? folded : ronde_sim_group_add(&maker->folding->folded, folded, offset));
}

/* What becomes of an edge's offset among the folded positions. */
static uint32_t folded_offset(const struct maker *maker, const struct ronde_quotient *quotient,
                              uint32_t op, const struct ronde_dag_edge *edge)
{
    return ronde_sim_group_map(&maker->folding->full, &maker->folding->folded,
                               ronde_quotient_offset(quotient, op, edge));
}

/* Bytes of the step of an operation at a folded position: what it receives, which was found before, or of its own chunks. */
static uint64_t find_bytes(const struct maker *maker, const struct ronde_quotient *quotient,
                           uint32_t index, uint32_t folded)
{
    const struct ronde_dag_op *op = &quotient->dag->ops[index];
    const struct ronde_dag_edge *first = &quotient->dag->edges[op->first_edge];
    if (op->edge_count == 0 || !first->is_message)
        return ronde_quotient_bytes(quotient, index,
                                    ronde_sim_folding_position(maker->folding, folded));
    const uint32_t offset = folded_offset(maker, quotient, index, first);
    return maker->bytes[before(maker, 0, first, offset, folded)];
}

/* Delay and bytes of an operation at a folded position. */
static struct ronde_sim_forward_kind kind_at(const struct maker *maker,
                                             const struct ronde_quotient *quotient, uint32_t index,
                                             uint32_t folded)
{
    const struct ronde_dag_op *op = &quotient->dag->ops[index];
    if (!maker->bytes)
        return (struct ronde_sim_forward_kind){.delay_ns = op->delay_ns, .bytes = (double)op->bytes};
    const uint64_t bytes = find_bytes(maker, quotient, index, folded);
    maker->bytes[(size_t)index * maker->count + folded] = bytes;
    return (struct ronde_sim_forward_kind){.delay_ns =
                                               ronde_quotient_delay_ns(quotient, index, bytes),
                                           .bytes = op->dst == 0 ? 0 : (double)bytes};
}

/* One operation of the quotient at all folded positions; those before it learn that it comes after them. */
static bool add_nodes(struct maker *maker, uint32_t channel, uint32_t index, uint32_t base)
{
    const struct ronde_quotient *quotient = maker->folding->quotients[channel];
    const struct ronde_dag_op *op = &quotient->dag->ops[index];
    struct ronde_sim_forward_graph *graph = maker->graph;
    for (uint32_t f = 0; f < maker->count; f++) {
        const size_t row = ((size_t)maker->offset_number[op->dst] - 1) * maker->count;
        uint32_t kind;
        if (!find_kind(maker, kind_at(maker, quotient, index, f),
                       op->dst == 0 ? RONDE_NONE : maker->route_of[row + f] - 1, &kind))
            return false;
        graph->kinds[kind].ops++;
        graph->nodes[base + index * maker->count + f] =
            (struct ronde_sim_forward_node){release_of(maker, channel, f), kind, op->edge_count};
    }
    for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++) {
        const struct ronde_dag_edge *edge = &quotient->dag->edges[e];
        const uint32_t offset = folded_offset(maker, quotient, index, edge);
        for (uint32_t f = 0; f < maker->count; f++)
            graph->first_next[before(maker, base, edge, offset, f)]++;
    }
    return true;
}

static enum ronde_status add_channel(struct maker *maker, uint32_t channel, uint32_t base)
{
    const struct ronde_dag *dag = maker->folding->quotients[channel]->dag;
    RONDE_TRY(open_channel(maker, channel));
    for (uint32_t i = 0; i < dag->op_count; i++)
        if (!add_nodes(maker, channel, i, base))
            RONDE_TRY(no_memory(maker));
    return RONDE_OK;
}

/* Fills the lists of successors from their ends, which leaves their starts where they belong. */
static void link_channel(const struct maker *maker, uint32_t channel, uint32_t base)
{
    const struct ronde_quotient *quotient = maker->folding->quotients[channel];
    const struct ronde_dag *dag = quotient->dag;
    struct ronde_sim_forward_graph *graph = maker->graph;
    for (uint32_t i = dag->op_count; i-- > 0;)
        for (uint32_t e = dag->ops[i].first_edge;
             e < dag->ops[i].first_edge + dag->ops[i].edge_count; e++) {
            const struct ronde_dag_edge *edge = &dag->edges[e];
            const uint32_t offset = folded_offset(maker, quotient, i, edge);
            const uint32_t mark = edge->is_message ? RONDE_SIM_FORWARD_MESSAGE : 0;
            for (uint32_t f = 0; f < maker->count; f++)
                graph->next[--graph->first_next[before(maker, base, edge, offset, f)]] =
                    (base + i * maker->count + f) | mark;
        }
}

static enum ronde_status add_all(struct maker *maker)
{
    struct ronde_sim_forward_graph *graph = maker->graph;
    const uint32_t channels = maker->folding->job->schedule->channel_count;
    enum ronde_status status = RONDE_OK;
    uint32_t base = 0, end = 0;
    for (uint32_t c = 0; c < channels && status == RONDE_OK; c++) {
        status = add_channel(maker, c, base);
        base += maker->folding->quotients[c]->dag->op_count * maker->count;
    }
    for (size_t i = 0; i <= graph->node_count && status == RONDE_OK; i++) {
        end += graph->first_next[i];
        graph->first_next[i] = end;
    }
    base = 0;
    for (uint32_t c = 0; c < channels && status == RONDE_OK; c++) {
        link_channel(maker, c, base);
        base += maker->folding->quotients[c]->dag->op_count * maker->count;
    }
    return status;
}

/* Memory of what has a size before anything is read. */
static bool reserve(struct maker *maker)
{
    const struct ronde_sim_folding *folding = maker->folding;
    struct ronde_sim_forward_graph *graph = maker->graph;
    for (uint32_t c = 0; c < folding->job->schedule->channel_count; c++) {
        graph->node_count += (size_t)maker->folding->quotients[c]->dag->op_count * maker->count;
        graph->next_count += (size_t)maker->folding->quotients[c]->dag->edge_count * maker->count;
    }
    graph->nodes = ronde_sim_pages_new(maker->mem, graph->node_count, sizeof *graph->nodes);
    graph->next = ronde_sim_pages_new(maker->mem, graph->next_count, sizeof *graph->next);
    graph->first_next =
        ronde_sim_pages_new_zeroed(maker->mem, graph->node_count + 1, sizeof *graph->first_next);
    graph->link_count = folding->kinds.count;
    graph->links = ronde_mem_new(maker->mem, graph->link_count, sizeof *graph->links);
    maker->offset_number =
        ronde_mem_new(maker->mem, folding->full.count, sizeof *maker->offset_number);
    for (uint32_t i = 0; graph->links && i < graph->link_count; i++)
        graph->links[i].rate_GBps =
            ronde_sim_kinds_rate(&folding->kinds, folding->job->platform, i,
                                 (double)folding->full.count / folding->folded.count);
    return graph->nodes && graph->next && graph->first_next && graph->links && maker->offset_number;
}

enum ronde_status ronde_sim_folded_graph_make(const struct ronde_sim_folding *folding,
                                              struct ronde_sim_forward_graph *out_graph,
                                              struct ronde_error *error)
{
    struct maker maker = {.folding = folding,
                          .graph = out_graph,
                          .error = error,
                          .mem = folding->store.mem,
                          .channel = {.mem = folding->store.mem},
                          .count = folding->folded.count};
    maker.search = (struct ronde_sim_search){.platform = folding->job->platform,
                                             .options = folding->options,
                                             .mem = folding->store.mem,
                                             .error = error,
                                             .alpha_ns = folding->job->params->alpha_ns,
                                             .lane_GBps = folding->job->params->lane_GBps,
                                             .routes = &out_graph->routes};
    enum ronde_status status =
        reserve(&maker) ? ronde_sim_search_begin(&maker.search) : no_memory(&maker);
    RONDE_THEN(status, add_all(&maker));
    ronde_sim_search_end(&maker.search);
    ronde_mem_free(maker.mem, maker.last_kind, maker.last_kind_capacity, sizeof *maker.last_kind);
    ronde_mem_free(maker.mem, maker.table, maker.table_size, sizeof *maker.table);
    ronde_store_clear(&maker.channel);
    ronde_mem_free(maker.mem, maker.offset_number, folding->full.count, sizeof *maker.offset_number);
    return status;
}
