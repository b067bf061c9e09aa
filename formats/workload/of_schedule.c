/*
 * Schedules as messages and calculations. A step becomes up to three items in a row: the receive of its message, what it
 * costs, the send of its message. What the step waits for, the first waits for; who waits for it, waits for the last.
 */
#include "ronde/workload.h"

#include "ronde/mem.h"

/* What is being made. */
struct taking {
    const struct ronde_schedule *schedule;
    const struct ronde_dag *dag;
    struct ronde_workload *workload;
    uint32_t *last_of;         /* per operation: its last item */
    uint32_t most_connections; /* of a program */
    struct ronde_error *error;
};

/* Tells connections between the same two ranks apart. */
static uint32_t tag_of(const struct taking *taking, uint32_t op)
{
    const struct ronde_dag_origin *origin = &taking->dag->origins[op];
    return origin->channel * taking->most_connections + origin->send;
}

/* The operation whose message this one consumes, or RONDE_NONE. */
static uint32_t message_of(const struct taking *taking, const struct ronde_dag_op *op)
{
    for (uint32_t e = 0; e < op->edge_count; e++)
        if (taking->dag->edges[op->first_edge + e].is_message)
            return taking->dag->edges[op->first_edge + e].op;
    return RONDE_NONE;
}

/* The first item of a step waits for the rank's own steps, each further one for the item before. */
static enum ronde_status add(struct taking *taking, const struct ronde_dag_op *op,
                             const struct ronde_work *work, bool is_first)
{
    const uint32_t before = taking->workload->work_count - 1;
    enum ronde_status status = ronde_workload_add(taking->workload, work, taking->error);
    if (!is_first)
        return status == RONDE_OK
                   ? ronde_workload_depend(taking->workload, (struct ronde_work_dep){before, false},
                                           taking->error)
                   : status;
    for (uint32_t e = 0; e < op->edge_count && status == RONDE_OK; e++) {
        const struct ronde_dag_edge edge = taking->dag->edges[op->first_edge + e];
        if (!edge.is_message && taking->dag->ops[edge.op].src == op->src)
            status = ronde_workload_depend(taking->workload,
                                           (struct ronde_work_dep){taking->last_of[edge.op], false},
                                           taking->error);
    }
    return status;
}

static enum ronde_status add_op(struct taking *taking, uint32_t index)
{
    const struct ronde_dag_op *op = &taking->dag->ops[index];
    const struct ronde_dag_origin *origin = &taking->dag->origins[index];
    const uint32_t sender = message_of(taking, op);
    const bool sends = ronde_step_sends(origin->op);
    const bool takes_time = op->delay_ns > 0 || (sender == RONDE_NONE && !sends);
    struct ronde_work work = {.rank = op->src,
                              .cpu = origin->channel * taking->schedule->max_lane_count +
                                     origin->lane};
    enum ronde_status status = RONDE_OK;
    bool is_first = true;
    if (sender != RONDE_NONE) {
        work.kind = RONDE_WORK_RECV;
        work.peer = taking->dag->ops[sender].src;
        work.bytes = taking->dag->ops[sender].bytes;
        work.tag = tag_of(taking, sender);
        status = add(taking, op, &work, is_first);
        is_first = false;
    }
    if (takes_time && status == RONDE_OK) {
        work.kind = RONDE_WORK_COMPUTE;
        work.duration_ns = op->delay_ns;
        work.tag = 0;
        status = add(taking, op, &work, is_first);
        is_first = false;
    }
    if (sends && status == RONDE_OK) {
        work.kind = RONDE_WORK_SEND;
        work.peer = op->dst;
        work.bytes = op->bytes;
        work.tag = tag_of(taking, index);
        status = add(taking, op, &work, is_first);
    }
    taking->last_of[index] = taking->workload->work_count - 1;
    return status;
}

static uint32_t most_connections(const struct ronde_schedule *schedule)
{
    uint32_t most = 1;
    for (uint32_t p = 0; p < schedule->program_count; p++)
        if (schedule->programs[p].connection_count > most)
            most = schedule->programs[p].connection_count;
    return most;
}

enum ronde_status
ronde_workload_of_schedule(const struct ronde_schedule *schedule, const struct ronde_load *load,
                           const struct ronde_time_params *params, const struct ronde_mem *mem,
                           struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct taking taking = {.schedule = schedule,
                            .most_connections = most_connections(schedule),
                            .error = error};
    struct ronde_load unlimited = *load;
    struct ronde_dag *dag = NULL;
    *out_workload = NULL;
    /* With as many slots as messages no step waits for one to be freed. */
    unlimited.depth = UINT32_MAX;
    enum ronde_status status =
        ronde_dag_create_named(schedule, &unlimited, params, mem, &dag, error);
    RONDE_THEN(status, ronde_workload_create(schedule->ranks, schedule->algorithm, mem,
                                             &taking.workload, error));
    const uint32_t op_count = dag ? dag->op_count : 0;
    taking.dag = dag;
    taking.last_of = ronde_mem_new(mem, op_count, sizeof *taking.last_of);
    if (status == RONDE_OK && !taking.last_of)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u steps", op_count);
    for (uint32_t op = 0; op < op_count && status == RONDE_OK; op++)
        status = add_op(&taking, op);
    ronde_mem_free(mem, taking.last_of, op_count, sizeof *taking.last_of);
    ronde_dag_destroy(dag, mem);
    if (status == RONDE_OK)
        *out_workload = taking.workload;
    else
        ronde_workload_destroy(taking.workload);
    return status;
}
