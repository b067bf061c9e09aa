/* The step graph of a job, whole or folded. */
#include "check.h"
#include "job.h"
#include "routes.h"

#include <inttypes.h>

/*
 * A run of sends or receives is one store or load where one switch joins its ranks. Where any is not, all are messages, as
 * they are on machines whose switches neither copy nor add.
 */
static enum ronde_status make_plain_if_apart(struct ronde_sim_job_state *run,
                                             struct ronde_error *error)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    const struct ronde_sim_scene scene = {run->job->platform, run->dag, run->options, run->mem,
                                          &refusal};
    const enum ronde_status status = ronde_sim_groups_check(&scene);
    if (status == RONDE_OK)
        return status;
    if (status != RONDE_UNSUPPORTED)
        return ronde_fail(error, status, "%s", refusal.message);
    ronde_dag_destroy(run->dag, run->mem);
    run->dag = NULL;
    run->is_plain = true;
    run->plain_params = *run->job->params;
    run->plain_params.multicasts = false;
    run->plain = *run->job;
    run->plain.params = &run->plain_params;
    run->job = &run->plain;
    return ronde_dag_create(run->job->schedule, run->job->load, run->job->params, run->mem,
                            &run->dag, error);
}

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
    const enum ronde_status status =
        ronde_dag_create(job->schedule, job->load, job->params, run->mem, &run->dag, error);
    return status == RONDE_OK && run->dag->group_of ? make_plain_if_apart(run, error) : status;
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
