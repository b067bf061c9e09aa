/*
 * Arrivals: the step graph with an operation in front of every rank, which takes until the rank
 * comes. Steps of a rank that wait for no other step of it wait for that.
 */
#include "arrivals.h"

#include "ronde/dag.h"

/* Nothing takes time but coming. */
static struct ronde_path path_of(void *self, uint32_t src, uint32_t dst)
{
    (void)self;
    (void)src;
    (void)dst;
    return (struct ronde_path){0.0, 0.0};
}

/* Whether an operation follows another one of its rank. */
static bool follows_its_rank(const struct ronde_dag *dag, const struct ronde_dag_op *op)
{
    for (uint32_t i = 0; i < op->edge_count; i++) {
        const struct ronde_dag_edge *edge = &dag->edges[op->first_edge + i];
        if (!edge->is_message && dag->ops[edge->op].src == op->src)
            return true;
    }
    return false;
}

/* The graph behind the arrivals: indices move up by the ranks, first steps get an edge more. */
static void put_arrivals(const struct ronde_dag *dag, const double *come_ns, struct ronde_dag *out)
{
    const uint32_t ranks = dag->ranks;
    for (uint32_t rank = 0; rank < ranks; rank++)
        out->ops[rank] = (struct ronde_dag_op){.src = rank, .dst = rank, .delay_ns = come_ns[rank]};
    out->op_count = ranks;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        struct ronde_dag_op op = dag->ops[i];
        const struct ronde_dag_edge *edges = &dag->edges[op.first_edge];
        const bool is_first = !follows_its_rank(dag, &op);
        op.first_edge = out->edge_count;
        if (is_first)
            out->edges[out->edge_count++] = (struct ronde_dag_edge){op.src, false};
        for (uint32_t k = 0; k < op.edge_count; k++)
            out->edges[out->edge_count++] =
                (struct ronde_dag_edge){edges[k].op + ranks, edges[k].is_message};
        op.edge_count += is_first;
        out->ops[out->op_count++] = op;
    }
}

/* When each rank's last operation is over. */
static void find_leaving(const struct ronde_dag *dag, const double *finish_ns, double *out_leave_ns)
{
    for (uint32_t rank = 0; rank < dag->ranks; rank++)
        out_leave_ns[rank] = 0.0;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        double *leave_ns = &out_leave_ns[dag->ops[i].src];
        *leave_ns = finish_ns[i] > *leave_ns ? finish_ns[i] : *leave_ns;
    }
}

enum ronde_status ronde_arrivals_replay(const struct ronde_schedule *schedule, const double *come_ns,
                                        double *out_leave_ns, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_load load = {.count = 1, .dtype = RONDE_UINT8};
    const struct ronde_time_params params = {0};
    struct ronde_dag *dag = NULL;
    enum ronde_status status = ronde_dag_create(schedule, &load, &params, mem, &dag, error);
    if (status != RONDE_OK)
        return status;
    const size_t ops = (size_t)dag->op_count + dag->ranks;
    const size_t edges = (size_t)dag->edge_count + dag->op_count;
    struct ronde_dag staged = {.ranks = dag->ranks};
    staged.ops = ronde_mem_new(mem, ops, sizeof *staged.ops);
    staged.edges = ronde_mem_new(mem, edges, sizeof *staged.edges);
    double *finish_ns = ronde_mem_new(mem, ops, sizeof *finish_ns);
    if (staged.ops && staged.edges && finish_ns) {
        put_arrivals(dag, come_ns, &staged);
        ronde_dag_longest_path(&staged, path_of, NULL, NULL, finish_ns);
        find_leaving(&staged, finish_ns, out_leave_ns);
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to replay %zu operations", ops);
    }
    ronde_mem_free(mem, finish_ns, ops, sizeof *finish_ns);
    ronde_mem_free(mem, staged.edges, edges, sizeof *staged.edges);
    ronde_mem_free(mem, staged.ops, ops, sizeof *staged.ops);
    ronde_dag_destroy(dag, mem);
    return status;
}
