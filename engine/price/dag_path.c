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

/** The path of an operation's message. */
static struct ronde_path path_at(const struct ronde_dag_timing *timing, uint32_t op)
{
    return timing->paths[timing->path_of ? timing->path_of[op] : 0];
}

/** When the last predecessor lets an operation start. */
static double ready_ns(const struct ronde_dag *dag, const struct ronde_dag_timing *timing,
                       const struct ronde_dag_op *op)
{
    double latest_ns = timing->release_ns ? timing->release_ns[op->src] : 0;
    const struct ronde_dag_edge *edges = dag->edges + op->first_edge;
    for (uint32_t e = 0; e < op->edge_count; e++) {
        double edge_ns = timing->out_finish_ns[edges[e].op];
        if (edges[e].is_message)
            edge_ns += path_at(timing, edges[e].op).latency_ns;
        latest_ns = edge_ns > latest_ns ? edge_ns : latest_ns;
    }
    return latest_ns;
}

double ronde_dag_advance(const struct ronde_dag *dag, const struct ronde_dag_timing *timing,
                         uint32_t first, uint32_t end)
{
    double end_ns = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        const double start_ns = ready_ns(dag, timing, op);
        double finish_ns = start_ns + op->delay_ns;
        if (op->bytes > 0)
            finish_ns += flow_ns(dag, op, path_at(timing, i).rate_GBps);
        if (timing->out_start_ns)
            timing->out_start_ns[i] = start_ns;
        timing->out_finish_ns[i] = finish_ns;
        end_ns = finish_ns > end_ns ? finish_ns : end_ns;
    }
    return end_ns;
}

double ronde_dag_longest_path(const struct ronde_dag *dag, const struct ronde_dag_timing *timing)
{
    return ronde_dag_advance(dag, timing, 0, dag->op_count) + dag->launch_ns;
}
