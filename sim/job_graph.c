/* What engines need of a job: how many steps it has, its step graph. See job.h. */
#include "job.h"

#include "check.h"
#include "routes.h"
#include "shared/shorten.h"

#include <inttypes.h>

uint64_t ronde_sim_job_steps(const struct ronde_sim_job *job)
{
    const struct ronde_schedule *schedule = job->schedule;
    uint64_t steps = 0;
    for (uint32_t p = 0; p < schedule->ranks; p++)
        steps += schedule->programs[schedule->program_of ? schedule->program_of[p] : 0].step_count;
    return steps * schedule->channel_count * ronde_sim_pieces(schedule, job->load);
}

bool ronde_sim_job_is_refusal(enum ronde_status status)
{
    return status == RONDE_UNSUPPORTED || status == RONDE_UNAVAILABLE;
}

struct ronde_sim_options ronde_sim_job_limited(const struct ronde_sim_options *options,
                                               uint64_t most_work)
{
    struct ronde_sim_options limited = *options;
    if (limited.work_limit == 0 || limited.work_limit > most_work)
        limited.work_limit = most_work;
    return limited;
}

static enum ronde_status
make(const struct ronde_sim_job *job, const struct ronde_time_params *params, bool is_named,
     const struct ronde_mem *mem, struct ronde_dag **out_dag, struct ronde_error *error)
{
    return is_named ? ronde_dag_create_named(job->schedule, job->load, params, mem, out_dag, error)
                    : ronde_dag_create(job->schedule, job->load, params, mem, out_dag, error);
}

enum ronde_status ronde_sim_graph(const struct ronde_sim_job *job,
                                  const struct ronde_sim_options *options, bool is_named,
                                  const struct ronde_mem *mem, struct ronde_dag **out_dag,
                                  bool *out_is_multicast_ignored, struct ronde_error *error)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    struct ronde_time_params plain = *job->params;
    *out_is_multicast_ignored = false;
    enum ronde_status status = make(job, job->params, is_named, mem, out_dag, error);
    if (status != RONDE_OK || !(*out_dag)->group_of)
        return status;
    const struct ronde_sim_scene scene = {job->platform, *out_dag,
                                          options ? options : &ronde_sim_defaults, mem, &refusal};
    status = ronde_sim_groups_check(&scene);
    if (status == RONDE_OK)
        return status;
    ronde_dag_destroy(*out_dag, mem);
    *out_dag = NULL;
    if (status != RONDE_UNSUPPORTED)
        return ronde_fail(error, status, "%s", refusal.message);
    plain.multicasts = false;
    *out_is_multicast_ignored = true;
    return make(job, &plain, is_named, mem, out_dag, error);
}

/* Where the groups of its graph are none, what is made of the job later has none either. */
enum ronde_status ronde_sim_job_make(struct ronde_sim_job_state *run, bool is_named,
                                     struct ronde_error *error)
{
    bool is_plain = false;
    RONDE_TRY(
        ronde_sim_graph(run->job, run->options, is_named, run->mem, &run->dag, &is_plain, error));
    if (!is_plain)
        return RONDE_OK;
    run->is_plain = true;
    run->plain_params = *run->job->params;
    run->plain_params.multicasts = false;
    run->plain = *run->job;
    run->plain.params = &run->plain_params;
    run->job = &run->plain;
    return RONDE_OK;
}

/* A data type that does not exist has no bytes to count: the graph refuses it. */
enum ronde_status ronde_sim_job_graph(struct ronde_sim_job_state *run, struct ronde_error *error)
{
    const struct ronde_sim_job *job = run->job;
    if ((unsigned)job->load->dtype < RONDE_DTYPE_COUNT && ronde_sim_job_steps(job) > run->most_ops)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s on %u ranks has %" PRIu64
            " steps, and a graph is made of up to %u: larger pieces (--slot) make fewer",
            job->schedule->algorithm, job->schedule->ranks, ronde_sim_job_steps(job), run->most_ops);
    return ronde_sim_job_make(run, false, error);
}
