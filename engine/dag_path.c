/** The longest path through a step graph: the max-plus recurrence, one pass in graph order. */
#include "ronde/dag.h"

/** Time an operation's bytes flow alone on their route. */
static double flow_ns(const struct ronde_dag *dag, const struct ronde_dag_op *op, double route_GBps)
{
    const double lane_GBps = dag->lane_GBps;
    const bool is_lane_slower = lane_GBps > 0 && !(route_GBps > 0 && route_GBps < lane_GBps);
    const double rate_GBps = is_lane_slower ? lane_GBps : route_GBps;
    return rate_GBps > 0 ? (double)op->bytes / rate_GBps : 0;
}

double ronde_dag_longest_path(const struct ronde_dag *dag, ronde_path_of path_of, void *self,
                              double *out_start_ns, double *out_finish_ns)
{
    double end_ns = 0;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        double start_ns = 0;
        for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++) {
            const struct ronde_dag_edge edge = dag->edges[e];
            double ready_ns = out_finish_ns[edge.op];
            if (edge.is_message)
                ready_ns += path_of(self, dag->ops[edge.op].src, op->src).latency_ns;
            start_ns = ready_ns > start_ns ? ready_ns : start_ns;
        }
        double finish_ns = start_ns + op->delay_ns;
        if (op->bytes > 0)
            finish_ns += flow_ns(dag, op, path_of(self, op->src, op->dst).rate_GBps);
        if (out_start_ns)
            out_start_ns[i] = start_ns;
        out_finish_ns[i] = finish_ns;
        end_ns = finish_ns > end_ns ? finish_ns : end_ns;
    }
    return end_ns + dag->launch_ns;
}
