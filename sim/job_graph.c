/* The step graph of a job, whole or folded. */
#include "check.h"
#include "job.h"

#include <inttypes.h>

/* The graph, unless it is too large. A data type that does not exist has no bytes to count: the graph refuses it. */
enum ronde_status ronde_sim_job_graph(struct ronde_sim_job_state *run, struct ronde_error *error)
{
    const struct ronde_sim_job *job = run->job;
    if ((unsigned)job->load->dtype < RONDE_DTYPE_COUNT && ronde_sim_job_steps(job) > run->most_ops)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s on %u ranks has %" PRIu64
            " steps, and a graph is made of up to %u: larger pieces (--slot) make fewer",
            job->schedule->algorithm, job->schedule->ranks, ronde_sim_job_steps(job), run->most_ops);
    return ronde_dag_create(job->schedule, job->load, job->params, run->mem, &run->dag, error);
}

enum ronde_status ronde_sim_job_fold(struct ronde_sim_job_state *run, double patience_s,
                                     struct ronde_error *error)
{
    struct ronde_sim_options hurried = *run->options;
    const struct ronde_schedule *schedule = run->job->schedule;
    if (run->has_folded || schedule->symmetry == RONDE_SYMMETRY_NONE ||
        (unsigned)run->job->load->dtype >= RONDE_DTYPE_COUNT ||
        ronde_sim_is_simgrid_quick(ronde_sim_job_steps(run->job), schedule->ranks))
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s on %u ranks is not folded",
                          schedule->algorithm, schedule->ranks);
    run->has_folded = true;
    if (patience_s > 0)
        hurried.time_limit_s = ronde_sim_job_within(run->options, patience_s);
    return ronde_sim_folded(run->job, &hurried, run->mem, run->result, error);
}
