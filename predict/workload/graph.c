/*
 * The graph of a workload. A collective is the step graph of its schedule between an operation per rank that starts it, which
 * takes the launch, and one per rank that ends it; a send is its message; a receive waits for one.
 */
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/predict.h"

/* What it takes, before anything is reserved. */
struct extent {
    uint64_t ops, edges;
};

/* What steps of one schedule do not have on their rank: one before them, one behind. */
struct ends {
    bool *is_entry, *is_exit; /* per operation of its graph */
    uint64_t entries, exits;  /* how many */
};

struct making {
    const struct ronde_workload *workload;
    const struct workload_matching *matching;
    const struct workload_calls *calls;
    const struct workload_order *order;
    struct ronde_store store;
    struct ends *ends; /* per kind of call */
    bool *is_begun;    /* per item: somebody waits for its start */
    uint32_t *base;    /* per rank of a group: its start's and, behind all, its end's operation */
    uint32_t *exit_count; /* per rank of a group */
    struct workload_graph *graph;
};

/* --- what schedules begin and end with --------------------------------------------------------------- */

static void find_ends(const struct ronde_dag *dag, struct ends *ends)
{
    for (uint32_t op = 0; op < dag->op_count; op++)
        ends->is_entry[op] = ends->is_exit[op] = true;
    for (uint32_t op = 0; op < dag->op_count; op++)
        for (uint32_t e = 0; e < dag->ops[op].edge_count; e++) {
            const uint32_t before = dag->edges[dag->ops[op].first_edge + e].op;
            if (dag->ops[before].src == dag->ops[op].src)
                ends->is_entry[op] = ends->is_exit[before] = false;
        }
    for (uint32_t op = 0; op < dag->op_count; op++) {
        ends->entries += ends->is_entry[op];
        ends->exits += ends->is_exit[op];
    }
}

static bool find_all_ends(struct making *making)
{
    making->ends = ronde_store_new(&making->store, making->calls->count, sizeof *making->ends);
    for (uint32_t c = 0; making->ends && c < making->calls->count; c++) {
        const struct ronde_dag *dag = making->calls->all[c].run.dag;
        struct ends *ends = &making->ends[c];
        if (!dag)
            continue;
        ends->is_entry = ronde_store_new(&making->store, dag->op_count, sizeof *ends->is_entry);
        ends->is_exit = ronde_store_new(&making->store, dag->op_count, sizeof *ends->is_exit);
        if (making->store.is_short)
            return false;
        find_ends(dag, ends);
    }
    return !making->store.is_short;
}

/* --- how much it takes ---------------------------------------------------------------------------------- */

static struct extent measure(const struct making *making)
{
    const struct ronde_workload *workload = making->workload;
    struct extent extent = {0, 0};
    for (uint32_t w = 0; w < workload->work_count; w++) {
        /* A start and an end; what it waits for, a message or a collective before it, a calculation; between the two. */
        extent.ops += 2;
        extent.edges += (uint64_t)workload->works[w].dep_count + 3;
    }
    for (uint32_t i = 0; i < making->matching->instance_count; i++) {
        const uint32_t c = making->calls->call_of[i];
        const struct ronde_dag *dag = making->calls->all[c].run.dag;
        if (!dag)
            continue;
        extent.ops += dag->op_count;
        extent.edges += dag->edge_count + making->ends[c].entries + making->ends[c].exits;
    }
    return extent;
}

static enum ronde_status reserve(struct making *making, struct ronde_error *error)
{
    const struct extent extent = measure(making);
    struct workload_graph *graph = making->graph;
    struct ronde_dag *dag = &graph->dag;
    const size_t works = making->workload->work_count;
    if (extent.ops > RONDE_KEPT_STEPS || extent.edges >= RONDE_NONE)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s: its collectives have %llu steps, and a replay that keeps times takes "
            "%u: name algorithms with fewer (direct has N of them a rank), or simulate "
            "fewer layers",
            ronde_workload_text(making->workload, making->workload->path),
            (unsigned long long)extent.ops, RONDE_KEPT_STEPS);
    dag->ranks = making->workload->ranks;
    dag->op_count = (uint32_t)extent.ops;
    dag->edge_count = (uint32_t)extent.edges;
    dag->ops = ronde_store_new(&graph->store, dag->op_count, sizeof *dag->ops);
    dag->edges = ronde_store_new(&graph->store, dag->edge_count, sizeof *dag->edges);
    graph->owner = ronde_store_new(&graph->store, dag->op_count, sizeof *graph->owner);
    graph->begin_op = ronde_store_new(&graph->store, works, sizeof *graph->begin_op);
    graph->end_op = ronde_store_new(&graph->store, works, sizeof *graph->end_op);
    dag->op_count = dag->edge_count = 0;
    if (!graph->store.is_short)
        return RONDE_OK;
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a graph of %llu operations",
                      (unsigned long long)extent.ops);
}

/* --- operations ------------------------------------------------------------------------------------------ */

static uint32_t add_op(struct workload_graph *graph, struct ronde_dag_op op, uint32_t owner)
{
    struct ronde_dag *dag = &graph->dag;
    op.first_edge = dag->edge_count;
    op.edge_count = 0;
    dag->ops[dag->op_count] = op;
    graph->owner[dag->op_count] = owner;
    return dag->op_count++;
}

/* To the operation added last. */
static void add_edge(struct workload_graph *graph, struct ronde_dag_edge edge)
{
    struct ronde_dag *dag = &graph->dag;
    dag->edges[dag->edge_count++] = edge;
    dag->ops[dag->op_count - 1].edge_count++;
}

static void wait_for(struct workload_graph *graph, uint32_t op)
{
    add_edge(graph, (struct ronde_dag_edge){.op = op});
}

/* What an item waits for on its own rank. */
static void add_waits(struct making *making, uint32_t w)
{
    struct workload_graph *graph = making->graph;
    const struct ronde_work *work = &making->workload->works[w];
    for (uint32_t d = 0; d < work->dep_count; d++) {
        const struct ronde_work_dep dep = making->workload->deps[work->first_dep + d];
        wait_for(graph, dep.on_start ? graph->begin_op[dep.work] : graph->end_op[dep.work]);
    }
    if (making->matching->previous[w] != RONDE_NONE)
        wait_for(graph, graph->end_op[making->matching->previous[w]]);
    if (making->order->cpu_before[w] != RONDE_NONE)
        wait_for(graph, graph->end_op[making->order->cpu_before[w]]);
}

/* An item that is no collective. Where somebody waits for its start, that is an operation of its own. */
static void add_work(struct making *making, uint32_t w)
{
    struct workload_graph *graph = making->graph;
    const struct ronde_work *work = &making->workload->works[w];
    struct ronde_dag_op op = {.src = work->rank, .dst = work->rank};
    if (making->is_begun[w]) {
        graph->begin_op[w] = add_op(graph, op, w);
        add_waits(making, w);
    }
    if (work->kind == RONDE_WORK_COMPUTE)
        op.delay_ns = work->duration_ns;
    if (work->kind == RONDE_WORK_SEND) {
        op.dst = work->peer;
        op.bytes = work->bytes;
    }
    graph->end_op[w] = add_op(graph, op, w);
    if (making->is_begun[w]) {
        wait_for(graph, graph->begin_op[w]);
    } else {
        graph->begin_op[w] = graph->end_op[w];
        add_waits(making, w);
    }
    const uint32_t sender = making->matching->partner[w];
    if (sender != RONDE_NONE)
        add_edge(graph, (struct ronde_dag_edge){.op = graph->end_op[sender], .is_message = true});
}

/* The steps of a collective, between the starts of its ranks and their ends. */
static void add_steps(struct making *making, const struct workload_instance *instance,
                      const struct ronde_dag *dag, const struct ends *ends)
{
    struct workload_graph *graph = making->graph;
    const uint32_t *parts = making->matching->parts + instance->first;
    const uint32_t *members =
        making->workload->members + making->workload->groups[instance->group].first_member;
    const uint32_t first = graph->dag.op_count;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        struct ronde_dag_op op = dag->ops[i];
        const uint32_t first_edge = op.first_edge, edge_count = op.edge_count, place = op.src;
        op.src = members[place];
        op.dst = members[op.dst];
        (void)add_op(graph, op, parts[0]);
        for (uint32_t e = 0; e < edge_count; e++) {
            struct ronde_dag_edge edge = dag->edges[first_edge + e];
            edge.op += first;
            add_edge(graph, edge);
        }
        if (ends->is_entry[i])
            wait_for(graph, graph->begin_op[parts[place]]);
    }
}

/* Exits by rank, so that each end takes its own: sorted by counting. */
static void add_exits(struct making *making, const struct workload_instance *instance,
                      const struct ronde_dag *dag, const struct ends *ends, uint32_t first,
                      uint32_t ranks)
{
    struct workload_graph *graph = making->graph;
    const uint32_t *parts = making->matching->parts + instance->first;
    uint32_t *count = making->exit_count;
    for (uint32_t r = 0; r < ranks; r++)
        count[r] = 0;
    for (uint32_t i = 0; dag && i < dag->op_count; i++)
        count[dag->ops[i].src] += ends->is_exit[i];
    /* Ends come in the order of ranks; the edges of each are set aside and then filled in. */
    for (uint32_t r = 0; r < ranks; r++) {
        const uint32_t rank = making->workload->works[parts[r]].rank;
        graph->end_op[parts[r]] =
            add_op(graph, (struct ronde_dag_op){.src = rank, .dst = rank}, parts[r]);
        wait_for(graph, graph->begin_op[parts[r]]);
        making->base[r] = graph->dag.edge_count;
        for (uint32_t e = 0; e < count[r]; e++)
            wait_for(graph, 0);
    }
    for (uint32_t i = 0; dag && i < dag->op_count; i++)
        if (ends->is_exit[i])
            graph->dag.edges[making->base[dag->ops[i].src]++].op = first + i;
}

static void add_instance(struct making *making, uint32_t index)
{
    struct workload_graph *graph = making->graph;
    const struct workload_instance *instance = &making->matching->instances[index];
    const uint32_t c = making->calls->call_of[index];
    const struct ronde_dag *dag = making->calls->all[c].run.dag;
    const uint32_t ranks = making->workload->groups[instance->group].member_count;
    for (uint32_t i = 0; i < ranks; i++) {
        const uint32_t part = making->matching->parts[instance->first + i];
        const uint32_t rank = making->workload->works[part].rank;
        graph->begin_op[part] = add_op(graph,
                                       (struct ronde_dag_op){.src = rank,
                                                             .dst = rank,
                                                             .delay_ns = dag ? dag->launch_ns : 0},
                                       part);
        add_waits(making, part);
    }
    const uint32_t first = graph->dag.op_count;
    if (dag)
        add_steps(making, instance, dag, &making->ends[c]);
    add_exits(making, instance, dag, &making->ends[c], first, ranks);
}

static void fill(struct making *making)
{
    const struct ronde_workload *workload = making->workload;
    for (uint32_t d = 0; d < workload->dep_count; d++)
        if (workload->deps[d].on_start)
            making->is_begun[workload->deps[d].work] = true;
    for (uint32_t e = 0; e < making->order->count; e++) {
        const uint32_t entry = making->order->entries[e];
        if (entry < workload->work_count)
            add_work(making, entry);
        else
            add_instance(making, entry - workload->work_count);
    }
}

enum ronde_status
workload_graph_make(const struct ronde_workload *workload, const struct workload_matching *matching,
                    const struct workload_calls *calls, const struct workload_order *order,
                    const struct ronde_mem *mem, struct workload_graph *out_graph,
                    struct ronde_error *error)
{
    const size_t works = workload->work_count, ranks = workload->ranks;
    struct making making = {.workload = workload,
                            .matching = matching,
                            .calls = calls,
                            .order = order,
                            .store = {.mem = mem},
                            .graph = out_graph};
    *out_graph = (struct workload_graph){.store = {.mem = mem}};
    making.is_begun = ronde_store_new(&making.store, works, sizeof *making.is_begun);
    making.base = ronde_store_new(&making.store, ranks, sizeof *making.base);
    making.exit_count = ronde_store_new(&making.store, ranks, sizeof *making.exit_count);
    enum ronde_status status = RONDE_OK;
    if (!find_all_ends(&making))
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for the graph of a workload");
    RONDE_THEN(status, reserve(&making, error));
    if (status == RONDE_OK)
        fill(&making);
    ronde_store_clear(&making.store);
    return status;
}

void workload_graph_free(struct workload_graph *graph)
{
    ronde_store_clear(&graph->store);
    *graph = (struct workload_graph){0};
}
