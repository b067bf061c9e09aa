#include "swept.h"

#include "support/suite.h"

/* One of the two kinds of replay. */
struct replay {
    swept_graph_engine of_graph;
    swept_job_engine of_job;
    const struct ronde_platform *platform;
    const struct ronde_dag *dag;
    const struct ronde_sim_job *job;
};

static enum ronde_status run(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error)
{
    const struct replay *replay = context;
    struct ronde_sim_result result;
    return replay->of_job
               ? replay->of_job(replay->job, NULL, mem, &result, error)
               : replay->of_graph(replay->platform, replay->dag, NULL, mem, &result, error);
}

static void sweep(const struct replay *replay, size_t least)
{
    const struct sweep sweep = {.what = "replay", .operation = run, .context = replay};
    CU_ASSERT(sweep_run(&sweep) > least);
}

void swept_graph(swept_graph_engine engine, const struct ronde_platform *platform,
                 const struct ronde_dag *dag, size_t least)
{
    sweep(&(struct replay){.of_graph = engine, .platform = platform, .dag = dag}, least);
}

void swept_job(swept_job_engine engine, const struct ronde_sim_job *job, size_t least)
{
    sweep(&(struct replay){.of_job = engine, .job = job}, least);
}
