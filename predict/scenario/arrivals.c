/* Arrivals: the step graph of a run in which nothing takes time but coming. */
#include "arrivals.h"

#include "ronde/dag.h"

/* When each rank's last operation is over; a rank that has none leaves as it comes. */
static void find_leaving(const struct ronde_dag *dag, const double *come_ns,
                         const double *finish_ns, double *out_leave_ns)
{
    for (uint32_t rank = 0; rank < dag->ranks; rank++)
        out_leave_ns[rank] = come_ns[rank];
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
    const uint32_t ops = dag->op_count;
    const struct ronde_path free_of_charge = {0.0, 0.0};
    double *finish_ns = ronde_mem_new(mem, ops, sizeof *finish_ns);
    if (finish_ns) {
        const struct ronde_dag_timing timing = {.paths = &free_of_charge,
                                                .release_ns = come_ns,
                                                .out_finish_ns = finish_ns};
        ronde_dag_longest_path(dag, &timing);
        find_leaving(dag, come_ns, finish_ns, out_leave_ns);
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to replay %u operations", ops);
    }
    ronde_mem_free(mem, finish_ns, ops, sizeof *finish_ns);
    ronde_dag_destroy(dag, mem);
    return status;
}
