/* Schedules of a comparison in the hosts of a rig. See rig_measurer.h. */
#include "rig_measurer.h"

/* A run takes milliseconds here, and its spread is what the network makes it: repetitions are counted, not timed. */
static const struct ronde_netns_effort effort = {9, 2};

static enum ronde_status open_job(void *self, const struct ronde_measurer_job *job,
                                  struct ronde_error *error)
{
    struct ronde_rig_measurer *rig = self;
    for (uint32_t i = 0; i < job->count; i++)
        rig->jobs[i] = (struct ronde_netns_job){job->schedules[i], job->max_count};
    rig->count = job->count;
    const struct ronde_netns_plan plan = {.rig = rig->rig,
                                          .ranks = job->schedules[0]->ranks,
                                          .options = job->options,
                                          .jobs = rig->jobs,
                                          .job_count = job->count};
    return ronde_netns_open(&plan, &rig->workers, error);
}

static enum ronde_status check(void *self, uint32_t schedule, uint64_t count, uint64_t out_wrong[2],
                               struct ronde_error *error)
{
    struct ronde_rig_measurer *rig = self;
    const struct ronde_netns_run run = {.job = schedule, .count = count};
    out_wrong[1] = 0;
    return ronde_netns_check(rig->workers, &run, &out_wrong[0], error);
}

static enum ronde_status measure(void *self, uint64_t count, double window_ns,
                                 struct ronde_stats *out_stats, struct ronde_error *error)
{
    struct ronde_rig_measurer *rig = self;
    struct ronde_netns_run runs[RONDE_MEASURED_SCHEDULES];
    (void)window_ns;
    for (uint32_t i = 0; i < rig->count; i++)
        runs[i] = (struct ronde_netns_run){.job = i, .count = count};
    return ronde_netns_measure(rig->workers, runs, rig->count, &effort, out_stats, &rig->tally,
                               error);
}

static void describe(const void *self, struct ronde_record *record)
{
    (void)self;
    record->engine = "ucx";
    ronde_record_label(record, "rig");
}

static void close_job(void *self)
{
    struct ronde_rig_measurer *rig = self;
    ronde_netns_close(rig->workers);
    rig->workers = NULL;
    rig->count = 0;
}

struct ronde_measurer ronde_rig_measurer(struct ronde_rig_measurer *rig)
{
    return (struct ronde_measurer){.self = rig,
                                   .open = open_job,
                                   .check = check,
                                   .measure = measure,
                                   .describe = describe,
                                   .close = close_job,
                                   .is_network = true};
}
