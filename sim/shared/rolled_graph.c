/*
 * Graphs that are rolled up. A schedule does with every piece of a load what it does with the one before, so an operation's
 * predecessors are those of the same step of the piece before, one piece earlier; only the first pieces have fewer of them,
 * and the last one is shorter. The graph of some first pieces is enough to see that: it is not taken for granted, but every
 * edge is compared. What a replay reads is then as large as a piece, not as a load, and stays in the caches.
 */
#include "forward_graph.h"
#include "sim/check.h"

#include <string.h>

/* The state of rolling up. */
struct roll {
    const struct ronde_dag *dag; /* of the first pieces and the last */
    struct ronde_sim_forward_graph *graph;
    struct ronde_store store; /* of what is not needed afterwards */
    uint32_t *step_of;        /* per operation of dag */
    uint32_t *op_of;          /* per step, its operation in the piece that stands for all */
    uint32_t step_count;
    uint32_t model;       /* number of that piece: it has all predecessors there are */
    uint32_t most_pieces; /* from a predecessor to its successor */
};

/* --- Numbers of steps ---------------------------------------------------------------------------------------------- */

/* Begins from counts, in place; the last one is the sum. */
static void add_up(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= count; i++) {
        const uint32_t own = counts[i];
        counts[i] = sum;
        sum += own;
    }
}

static void raise_to(uint32_t *count, uint32_t least)
{
    *count = *count < least ? least : *count;
}

/* Numbers steps by channel, rank and lane: what a rank does lies together. */
static bool number_steps(struct roll *roll)
{
    const struct ronde_dag *dag = roll->dag;
    uint32_t channels = 0;
    for (uint32_t i = 0; i < dag->op_count; i++)
        raise_to(&channels, dag->origins[i].channel + 1);
    const size_t programs = (size_t)channels * dag->ranks;
    uint32_t *lane = ronde_store_new(&roll->store, programs + 1, sizeof *lane);
    roll->step_of = ronde_store_new(&roll->store, dag->op_count, sizeof *roll->step_of);
    if (roll->store.is_short)
        return false;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        roll->step_of[i] = dag->origins[i].channel * dag->ranks + dag->ops[i].src;
        raise_to(&lane[roll->step_of[i]], dag->origins[i].lane + 1);
    }
    add_up(lane, programs);
    uint32_t *step = ronde_store_new(&roll->store, (size_t)lane[programs] + 1, sizeof *step);
    for (uint32_t i = 0; step && i < dag->op_count; i++) {
        roll->step_of[i] = lane[roll->step_of[i]] + dag->origins[i].lane;
        raise_to(&step[roll->step_of[i]], dag->origins[i].step + 1);
    }
    if (!step)
        return false;
    add_up(step, lane[programs]);
    for (uint32_t i = 0; i < dag->op_count; i++)
        roll->step_of[i] = step[roll->step_of[i]] + dag->origins[i].step;
    roll->step_count = step[lane[programs]];
    roll->op_of = ronde_store_new(&roll->store, roll->step_count, sizeof *roll->op_of);
    for (uint32_t i = 0; roll->op_of && i < dag->op_count; i++)
        if (dag->origins[i].piece == roll->model)
            roll->op_of[roll->step_of[i]] = i;
    return roll->op_of;
}

/* --- Pieces are alike ---------------------------------------------------------------------------------------------- */

static uint32_t distance(const struct roll *roll, uint32_t op, const struct ronde_dag_edge *edge)
{
    return roll->dag->origins[op].piece - roll->dag->origins[edge->op].piece;
}

/* Whether an operation has the predecessors of its step's model, as far as there are pieces before it. */
static bool is_like_model(const struct roll *roll, uint32_t op)
{
    const struct ronde_dag *dag = roll->dag;
    const uint32_t model = roll->op_of[roll->step_of[op]];
    const struct ronde_dag_edge *own = dag->edges + dag->ops[op].first_edge;
    const struct ronde_dag_edge *end = own + dag->ops[op].edge_count;
    const struct ronde_dag_edge *its = dag->edges + dag->ops[model].first_edge;
    for (uint32_t e = 0; e < dag->ops[model].edge_count; e++, its++) {
        const uint32_t pieces = distance(roll, model, its);
        if (pieces > dag->origins[op].piece)
            continue;
        if (own == end || distance(roll, op, own) != pieces ||
            roll->step_of[own->op] != roll->step_of[its->op] || own->is_message != its->is_message)
            return false;
        own++;
    }
    return own == end;
}

/* Whether an operation does what its step's model does; the last piece may have less to do. */
static bool works_like_model(const struct roll *roll, uint32_t op)
{
    const struct ronde_dag_op *own = &roll->dag->ops[op];
    const struct ronde_dag_op *its = &roll->dag->ops[roll->op_of[roll->step_of[op]]];
    const bool is_last = roll->dag->origins[op].piece > roll->model;
    return own->dst == its->dst &&
           (is_last || (own->bytes == its->bytes && own->delay_ns == its->delay_ns));
}

static bool are_pieces_alike(struct roll *roll)
{
    const struct ronde_dag *dag = roll->dag;
    bool are_alike = dag->op_count == roll->step_count * RONDE_SIM_ROLLED_PIECES(roll->model);
    for (uint32_t i = 0; i < dag->op_count && are_alike; i++) {
        are_alike = is_like_model(roll, i) && works_like_model(roll, i);
        for (uint32_t e = 0; e < dag->ops[i].edge_count; e++)
            raise_to(&roll->most_pieces, distance(roll, i, &dag->edges[dag->ops[i].first_edge + e]));
    }
    return are_alike;
}

/* --- The graph of a piece ------------------------------------------------------------------------------------------- */

static uint32_t kind_of(const struct ronde_sim_forward_graph *graph, uint32_t step, uint32_t piece)
{
    return piece < graph->last_piece ? graph->steps[step].kind : graph->steps[step].last_kind;
}

static void fill_steps(struct roll *roll, struct ronde_sim_forward_graph *rolled)
{
    const struct ronde_sim_forward_node *nodes = roll->graph->nodes;
    for (uint32_t i = 0; i < rolled->kind_count; i++)
        rolled->kinds[i].ops = 0;
    for (uint32_t s = 0; s < roll->step_count; s++)
        rolled->steps[s] =
            (struct ronde_sim_forward_step){.kind = nodes[roll->op_of[s]].kind,
                                            .waits = roll->dag->ops[roll->op_of[s]].edge_count};
    for (uint32_t i = 0; i < roll->dag->op_count; i++)
        if (roll->dag->origins[i].piece > roll->model)
            rolled->steps[roll->step_of[i]].last_kind = nodes[i].kind;
    for (uint32_t s = 0; s < roll->step_count; s++) {
        rolled->kinds[rolled->steps[s].kind].ops += rolled->last_piece;
        rolled->kinds[rolled->steps[s].last_kind].ops++;
    }
}

/* The first pieces, of which each waits for what there is before it. */
static void fill_nodes(const struct roll *roll, struct ronde_sim_forward_graph *rolled)
{
    for (uint32_t s = 0; s < roll->step_count; s++) {
        const uint32_t op = roll->op_of[s];
        const struct ronde_dag_op *model = &roll->dag->ops[op];
        for (uint32_t piece = 0; piece < 1u << rolled->ring_bits; piece++) {
            struct ronde_sim_forward_node node = {.ready_ns = roll->graph->nodes[op].ready_ns,
                                                  .kind = kind_of(rolled, s, piece)};
            for (uint32_t e = model->first_edge; e < model->first_edge + model->edge_count; e++)
                node.waits += distance(roll, op, &roll->dag->edges[e]) <= piece;
            rolled->nodes[((size_t)s << rolled->ring_bits) + piece] = node;
        }
    }
}

static void fill_successors(const struct roll *roll, struct ronde_sim_forward_graph *rolled)
{
    const struct ronde_dag *dag = roll->dag;
    uint32_t *first = rolled->first_next;
    for (uint32_t s = 0; s < roll->step_count; s++)
        for (uint32_t e = 0; e < rolled->steps[s].waits; e++)
            first[roll->step_of[dag->edges[dag->ops[roll->op_of[s]].first_edge + e].op]]++;
    add_up(first, roll->step_count);
    /* Filled from their beginnings, which moves these to where the next ones are, and then back. */
    for (uint32_t s = 0; s < roll->step_count; s++)
        for (uint32_t e = 0; e < rolled->steps[s].waits; e++) {
            const uint32_t op = roll->op_of[s];
            const struct ronde_dag_edge *edge = &dag->edges[dag->ops[op].first_edge + e];
            rolled->next[first[roll->step_of[edge->op]]++] =
                (s << rolled->piece_bits) | distance(roll, op, edge) |
                (edge->is_message ? RONDE_SIM_FORWARD_MESSAGE : 0);
        }
    memmove(first + 1, first, roll->step_count * sizeof *first);
    first[0] = 0;
}

static uint32_t bits_of(uint32_t count)
{
    uint32_t bits = 0;
    while (1u << bits < count)
        bits++;
    return bits;
}

/* Its arrays, and those of the graph it is made of that it keeps. */
static bool reserve(const struct roll *roll, const struct ronde_mem *mem, uint32_t pieces,
                    struct ronde_sim_forward_graph *rolled)
{
    rolled->last_piece = pieces - 1;
    rolled->piece_bits = bits_of(pieces);
    rolled->ring_bits = bits_of(roll->most_pieces);
    rolled->node_count = (size_t)roll->step_count << rolled->ring_bits;
    for (uint32_t s = 0; s < roll->step_count; s++)
        rolled->next_count += roll->dag->ops[roll->op_of[s]].edge_count;
    rolled->nodes = ronde_sim_pages_new(mem, rolled->node_count, sizeof *rolled->nodes);
    rolled->next = ronde_sim_pages_new(mem, rolled->next_count, sizeof *rolled->next);
    rolled->steps = ronde_sim_pages_new(mem, roll->step_count, sizeof *rolled->steps);
    rolled->first_next =
        ronde_sim_pages_new_zeroed(mem, (size_t)roll->step_count + 1, sizeof *rolled->first_next);
    return rolled->nodes && rolled->next && rolled->steps && rolled->first_next;
}

/* What the rolled graph has that the other one had goes over to it. */
static void take_over(struct ronde_sim_forward_graph *rolled, struct ronde_sim_forward_graph *graph)
{
    rolled->routes = graph->routes;
    rolled->kinds = graph->kinds;
    rolled->kind_capacity = graph->kind_capacity;
    rolled->kind_count = graph->kind_count;
    rolled->links = graph->links;
    rolled->link_count = graph->link_count;
    graph->routes = (struct ronde_sim_routes){0};
    graph->kinds = NULL;
    graph->kind_capacity = 0;
    graph->links = NULL;
    graph->link_count = 0;
}

static enum ronde_status roll_up(struct roll *roll, const struct ronde_sim_scene *scene,
                                 uint32_t pieces)
{
    struct ronde_sim_forward_graph rolled = {0};
    if (!number_steps(roll))
        return ronde_sim_no_memory(scene);
    if (!are_pieces_alike(roll) || roll->step_count >= RONDE_SIM_FORWARD_MESSAGE >> bits_of(pieces))
        return ronde_fail(scene->error, RONDE_UNSUPPORTED,
                          "%u pieces of %u steps are not rolled up", pieces, roll->step_count);
    const bool fits = reserve(roll, scene->mem, pieces, &rolled);
    if (fits) {
        take_over(&rolled, roll->graph);
        fill_steps(roll, &rolled);
        fill_nodes(roll, &rolled);
        fill_successors(roll, &rolled);
        ronde_sim_forward_graph_free(roll->graph, scene->mem);
        *roll->graph = rolled;
    } else {
        ronde_sim_forward_graph_free(&rolled, scene->mem);
    }
    return fits ? RONDE_OK : ronde_sim_no_memory(scene);
}

enum ronde_status ronde_sim_forward_graph_roll(const struct ronde_sim_scene *scene, uint32_t pieces,
                                               struct ronde_sim_forward_graph *graph)
{
    struct roll roll = {.dag = scene->dag, .graph = graph, .store = {.mem = scene->mem}};
    for (uint32_t i = 0; i < scene->dag->op_count; i++)
        raise_to(&roll.model, scene->dag->origins[i].piece);
    roll.model -= roll.model > 0;
    const enum ronde_status status = roll_up(&roll, scene, pieces);
    ronde_store_clear(&roll.store);
    return status;
}

/* --- In a replay --------------------------------------------------------------------------------------------------- */

void ronde_sim_forward_pass(struct ronde_sim_forward_graph *graph, uint32_t op)
{
    const uint32_t at = op >> graph->piece_bits;
    struct ronde_sim_forward_step *step = &graph->steps[at];
    const uint32_t later = step->started++ + (1u << graph->ring_bits);
    *ronde_sim_forward_node(graph, op) =
        (struct ronde_sim_forward_node){.kind = kind_of(graph, at, later), .waits = step->waits};
}

/* Nodes for twice as many pieces: those there are go to where they are now. */
static bool double_nodes(struct ronde_sim_forward_graph *graph, const struct ronde_mem *mem)
{
    const size_t steps = ronde_sim_forward_steps(graph);
    const uint32_t ring = 1u << graph->ring_bits;
    struct ronde_sim_forward_node *nodes =
        ronde_sim_pages_new(mem, 2 * graph->node_count, sizeof *nodes);
    if (!nodes)
        return false;
    for (uint32_t s = 0; s < steps; s++)
        for (uint32_t i = 0; i < 2 * ring; i++) {
            const uint32_t piece = graph->steps[s].started + i;
            const struct ronde_sim_forward_node fresh = {.kind = kind_of(graph, s, piece),
                                                         .waits = graph->steps[s].waits};
            nodes[(size_t)s * 2 * ring + (piece & (2 * ring - 1))] =
                i < ring ? graph->nodes[(size_t)s * ring + (piece & (ring - 1))] : fresh;
        }
    ronde_mem_free(mem, graph->nodes, graph->node_count, sizeof *graph->nodes);
    graph->nodes = nodes;
    graph->node_count *= 2;
    graph->ring_bits++;
    return true;
}

bool ronde_sim_forward_widen(struct ronde_sim_forward_graph *graph, uint32_t op,
                             const struct ronde_mem *mem)
{
    bool fits = true;
    while (fits && !ronde_sim_forward_reaches(graph, op))
        fits = double_nodes(graph, mem);
    return fits;
}
