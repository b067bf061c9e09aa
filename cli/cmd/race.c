/* Benchmarks behind the hooks of autotune.h. See run.h. */
#include "run.h"

#include "cli/options/requests.h"
#include "cli/print/report.h"

#include "ronde/executors.h"

static enum ronde_status allgather(void *self, const void *mine, size_t bytes, void *all,
                                   struct ronde_error *error)
{
    const struct ronde_race *race = self;
    return ronde_comm_allgather(race->comm, mine, bytes, all, error);
}

static enum ronde_status supports(void *self, const struct ronde_schedule *schedule, uint64_t count,
                                  struct ronde_error *error)
{
    const struct ronde_race *race = self;
    struct ronde_benchmark benchmark = ronde_benchmark_describe(race->target, schedule, &race->how);
    ronde_benchmark_aim(&benchmark, race->memory, count, false);
    return race->target->backend->supports(race->target->self, schedule, &benchmark.launch, error);
}

static enum ronde_status load(void *self, uint32_t index, const struct ronde_schedule *schedule,
                              struct ronde_error *error)
{
    const struct ronde_race *race = self;
    struct ronde_benchmark *benchmark = &race->benchmarks[index];
    if (benchmark->target)
        return RONDE_OK;
    return ronde_benchmark_open(race->target, schedule, &race->how, benchmark, error);
}

static void aim(void *self, uint32_t index, uint64_t count)
{
    const struct ronde_race *race = self;
    struct ronde_benchmark *benchmark = &race->benchmarks[index];
    ronde_benchmark_aim(benchmark, race->memory, count, false);
    ronde_memory_fill(race->memory, &benchmark->shape, RONDE_PATTERN_ANY);
}

/*
 * As many runs on all ranks. Half as many before them do not count: processes have slept until then, and need some time to
 * spread over the processors again.
 */
static enum ronde_status measure(void *self, uint32_t index, uint32_t runs, double *out_ns,
                                 struct ronde_error *error)
{
    const struct ronde_race *race = self;
    const struct ronde_effort effort = {runs / 2, runs, runs, 0.0};
    struct ronde_stats stats = {0};
    enum ronde_status status =
        ronde_benchmarks_measure(&race->benchmarks[index], 1, &effort, &stats, error);
    RONDE_THEN(status, ronde_stats_join(race->comm, &stats, error));
    *out_ns = stats.median;
    return status;
}

static void progress(void *self, const char *algorithm)
{
    (void)self;
    if (algorithm)
        ronde_progress("racing %s", algorithm);
    else
        ronde_progress_end();
}

enum ronde_status ronde_race_open(const struct ronde_options *options,
                                  const struct ronde_compile_request *request,
                                  struct ronde_comm *comm, bool is_race,
                                  struct ronde_race *out_race, struct ronde_error *error)
{
    const struct ronde_tune_options how = ronde_tune_options_of(options);
    *out_race = (struct ronde_race){.how = ronde_benchmark_options_of(options), .comm = comm};
    const struct ronde_autotune_hooks hooks = {.self = out_race,
                                               .rank = comm ? ronde_comm_rank(comm) : 0,
                                               .ranks = comm ? ronde_comm_ranks(comm) : 0,
                                               .allgather = allgather,
                                               .supports = supports,
                                               .load = load,
                                               .aim = aim,
                                               .measure = measure,
                                               .progress = progress};
    struct ronde_autotune *autotune = &out_race->autotune;
    RONDE_TRY(ronde_autotune_open(&how, request, &hooks, is_race, autotune, error));
    out_race->benchmarks =
        ronde_mem_new(ronde_mem_default(), autotune->most, sizeof *out_race->benchmarks);
    if (out_race->benchmarks)
        return RONDE_OK;
    (void)ronde_fail(&autotune->refusal, RONDE_NO_MEMORY, "no memory for %u algorithms",
                     autotune->most);
    /* The other processes are told by ronde_race_enter. */
    return comm ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "%s", autotune->refusal.message);
}

enum ronde_status ronde_race_enter(struct ronde_race *race, const struct ronde_target *target,
                                   struct ronde_memory *memory, const char *engine, uint64_t count,
                                   struct ronde_error *error)
{
    /* A machine without such a number has a core for every rank. */
    const uint32_t cores = target->machine.cores ? target->machine.cores : UINT32_MAX;
    race->target = target;
    race->memory = memory;
    return ronde_autotune_enter(&race->autotune, ronde_executor_times_of(engine), cores, count,
                                error);
}

enum ronde_status ronde_race_pick(struct ronde_race *race, uint64_t count,
                                  struct ronde_decision *out_decision,
                                  struct ronde_benchmark **out_benchmark, struct ronde_error *error)
{
    RONDE_TRY(ronde_autotune_pick(&race->autotune, count, out_decision, error));
    *out_benchmark = &race->benchmarks[out_decision->best];
    return RONDE_OK;
}

void ronde_race_close(struct ronde_race *race)
{
    const uint32_t most = race->autotune.most;
    for (uint32_t i = 0; race->benchmarks && i < most; i++)
        ronde_benchmark_close(&race->benchmarks[i]);
    ronde_mem_free(ronde_mem_default(), race->benchmarks, most, sizeof *race->benchmarks);
    ronde_autotune_close(&race->autotune);
    *race = (struct ronde_race){.target = NULL};
}

enum ronde_status ronde_stats_join(struct ronde_comm *comm, struct ronde_stats *io_stats,
                                   struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t ranks = comm ? ronde_comm_ranks(comm) : 0;
    if (ranks == 0)
        return RONDE_OK;
    struct ronde_stats *all = ronde_mem_new(mem, ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the times of %u ranks", ranks);
    const enum ronde_status status =
        ronde_comm_allgather(comm, io_stats, sizeof *io_stats, all, error);
    for (uint32_t rank = 0; rank < ranks && status == RONDE_OK; rank++)
        if (rank == 0 || all[rank].median > io_stats->median)
            *io_stats = all[rank];
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}
