/* What both engines check of their arguments. */
#include "check.h"

const struct ronde_sim_options ronde_sim_defaults = {.host_of = NULL};

/* Without a placement ranks sit on hosts in the order of the file. */
uint32_t ronde_sim_host(const struct ronde_sim_options *options, uint32_t rank)
{
    return options->host_of ? options->host_of[rank] : rank;
}

bool ronde_sim_has_flags(const struct ronde_platform *platform,
                         const struct ronde_sim_options *options)
{
    return ronde_platform_facts(platform)->is_tcp || options->native_latency ||
           (options->cfg && options->cfg[0]);
}

/* Either fact makes ranks wait for one another outside the network. */
bool ronde_sim_is_shared(const struct ronde_platform *platform)
{
    const struct ronde_shared_host *shared = &ronde_platform_facts(platform)->shared;
    return shared->memory_GBps > 0 || shared->cores > 0;
}

enum ronde_status ronde_sim_refuse_shared(const struct ronde_platform *platform, const char *engine,
                                          struct ronde_error *error)
{
    if (ronde_platform_facts(platform)->is_tcp)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s: the TCP model it asks for (ronde.network_model) is SimGrid's, not "
                          "%s's; use --engine simgrid",
                          ronde_platform_path(platform), engine);
    if (!ronde_sim_is_shared(platform))
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "%s: ranks share cores or memory there, which %s does not model; use "
                      "--engine simgrid",
                      ronde_platform_path(platform), engine);
}

enum ronde_status ronde_sim_refuse_groups(const struct ronde_dag *dag, const char *engine,
                                          struct ronde_error *error)
{
    if (!dag->group_of)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "switches copy and add messages there (ronde.multicast), which %s does not "
                      "model; use --engine maxmin",
                      engine);
}

/* The engines index by what the graph says; a graph from elsewhere must not take them out of bounds. */
static enum ronde_status check_order(const struct ronde_dag *dag, uint32_t index,
                                     struct ronde_error *error)
{
    const struct ronde_dag_op *op = &dag->ops[index];
    if (op->src >= dag->ranks || op->dst >= dag->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "operation %u: rank %u of %u", index,
                          op->src >= dag->ranks ? op->src : op->dst, dag->ranks);
    for (uint32_t i = op->first_edge; i < op->first_edge + op->edge_count; i++)
        if (dag->edges[i].op >= index)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "operation %u waits for operation %u, which does not precede it",
                              index, dag->edges[i].op);
    return RONDE_OK;
}

static enum ronde_status check_messages(const struct ronde_dag *dag, uint32_t index,
                                        struct ronde_error *error)
{
    const struct ronde_dag_op *op = &dag->ops[index];
    for (uint32_t i = op->first_edge; i < op->first_edge + op->edge_count; i++) {
        const struct ronde_dag_edge edge = dag->edges[i];
        if (edge.is_message && dag->ops[edge.op].dst != op->src)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "operation %u of rank %u takes a message that operation %u sends to "
                              "rank %u",
                              index, op->src, edge.op, dag->ops[edge.op].dst);
    }
    return RONDE_OK;
}

enum ronde_status ronde_sim_check_hosts(const struct ronde_platform *platform, uint32_t ranks,
                                        const struct ronde_sim_options *options,
                                        struct ronde_error *error)
{
    const uint32_t hosts = ronde_platform_facts(platform)->hosts;
    if (ranks > hosts && !options->host_of)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: %u ranks, but it has %u hosts",
                          ronde_platform_path(platform), ranks, hosts);
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (ronde_sim_host(options, rank) >= hosts)
            return ronde_fail(error, RONDE_BAD_INPUT, "%s: rank %u on host %u, but it has %u hosts",
                              ronde_platform_path(platform), rank, ronde_sim_host(options, rank),
                              hosts);
    return RONDE_OK;
}

enum ronde_status ronde_sim_check_order(const struct ronde_dag *dag, uint32_t first, uint32_t end,
                                        struct ronde_error *error)
{
    for (uint32_t i = first; i < end; i++)
        RONDE_TRY(check_order(dag, i, error));
    return RONDE_OK;
}

enum ronde_status ronde_sim_check_messages(const struct ronde_dag *dag, uint32_t first,
                                           uint32_t end, struct ronde_error *error)
{
    for (uint32_t i = first; i < end; i++)
        RONDE_TRY(check_messages(dag, i, error));
    return RONDE_OK;
}

enum ronde_status ronde_sim_check(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                  const struct ronde_sim_options *options, struct ronde_error *error)
{
    RONDE_TRY(ronde_sim_check_hosts(platform, dag->ranks, options, error));
    RONDE_TRY(ronde_sim_check_order(dag, 0, dag->op_count, error));
    return ronde_sim_check_messages(dag, 0, dag->op_count, error);
}
