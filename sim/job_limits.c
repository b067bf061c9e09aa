/* What bounds the engines of a job: how many steps it has, how much work one may do. */
#include "job.h"

#include "ronde/split.h"

uint64_t ronde_sim_job_steps(const struct ronde_sim_job *job)
{
    const struct ronde_schedule *schedule = job->schedule;
    const struct ronde_load *load = job->load;
    uint64_t steps = 0;
    for (uint32_t p = 0; p < schedule->ranks; p++)
        steps += schedule->programs[schedule->program_of ? schedule->program_of[p] : 0].step_count;
    const uint64_t pieces =
        load->slot_bytes == 0 ? 1
                              : ronde_piece_count(schedule, load->count,
                                                  ronde_dtype_bytes(load->dtype), load->slot_bytes);
    return steps * schedule->channel_count * pieces;
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
