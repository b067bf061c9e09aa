/** Prices on a flat network: what closed forms share, and the longest path of the step graph. */
#include "ronde/price.h"

double ronde_network_flow_ns(const struct ronde_network *network, double bytes)
{
    const double lane_GBps = network->time.lane_GBps;
    const double port_GBps = network->port_GBps;
    const bool is_lane_slower = lane_GBps > 0 && !(port_GBps > 0 && port_GBps < lane_GBps);
    const double rate_GBps = is_lane_slower ? lane_GBps : port_GBps;
    return rate_GBps > 0 ? bytes / rate_GBps : 0;
}

double ronde_network_alpha_ns(const struct ronde_network *network)
{
    return network->latency_ns + network->time.alpha_ns;
}

double ronde_network_step_ns(const struct ronde_network *network, double bytes, bool reduces)
{
    double step_ns = network->time.step_ns;
    if (reduces && network->time.gamma_GBps > 0)
        step_ns += bytes / network->time.gamma_GBps;
    if (reduces)
        step_ns += ronde_sized_ns_at(&network->time.combine, bytes);
    if (network->time.copy_GBps > 0)
        step_ns += bytes / network->time.copy_GBps;
    return step_ns;
}

enum ronde_status ronde_dag_price(const struct ronde_schedule *schedule,
                                  const struct ronde_load *load,
                                  const struct ronde_network *network, const struct ronde_mem *mem,
                                  double *out_time_ns, struct ronde_error *error)
{
    struct ronde_dag *dag = NULL;
    RONDE_TRY(ronde_dag_create(schedule, load, &network->time, mem, &dag, error));
    const uint32_t ops = dag->op_count;
    double *finish_ns = ronde_mem_new(mem, ops, sizeof *finish_ns);
    if (!finish_ns) {
        ronde_dag_destroy(dag, mem);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u finish times", ops);
    }
    /* Every pair of ranks has the same path. */
    const struct ronde_path path = {.latency_ns = ronde_network_alpha_ns(network),
                                    .rate_GBps = network->port_GBps};
    const struct ronde_dag_timing timing = {.paths = &path, .out_finish_ns = finish_ns};
    *out_time_ns = ronde_dag_longest_path(dag, &timing);
    ronde_mem_free(mem, finish_ns, ops, sizeof *finish_ns);
    ronde_dag_destroy(dag, mem);
    return RONDE_OK;
}
