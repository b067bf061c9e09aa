/* The C side of the SimGrid engine: prepares the job, runs the shim behind the guard, reports. */
#define _DEFAULT_SOURCE /* mkstemps */

#include "shim.h"

#include "engine/execute/library.h"
#include "sim/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Wall time of a replay that gives no limit of its own. */
#define DEFAULT_LIMIT_S 600.0

/* The shim, which stays loaded. */
struct shim {
    ronde_shim_run_call *run;
    ronde_shim_version_call *version;
};

/* Everything of one replay. `outcome` and the times behind it lie in memory shared with the child. */
struct replay {
    struct shim shim;
    struct ronde_shim_job job;
    struct ronde_shim_outcome *outcome;
    size_t shared_bytes;
    const char **hosts;
    struct ronde_shim_link *changed;
    char own_file[128]; /* of a platform that is in no file; "" else */
    struct ronde_sim_progress progress;
};

static enum ronde_status load(struct shim *out_shim, struct ronde_error *error)
{
    static const struct ronde_library_call calls[] = {
        {"ronde_shim_run", offsetof(struct shim, run)},
        {"ronde_shim_version", offsetof(struct shim, version)},
    };
    static const struct ronde_library library = {
        .name = RONDE_SIMGRID_LIBRARY_NAME,
        .absent = "the simgrid engine is not here: its library cannot be loaded",
        .remedy = "package libsimgrid-dev",
        .old = "it is of another version of ronde",
        .calls = calls,
        .call_count = sizeof calls / sizeof calls[0],
    };
    void *handle = NULL;
    return ronde_library_open(&library, out_shim, &handle, error);
}

/* Runs in the child; what it leaves is in shared memory. */
static void work(void *argument)
{
    struct replay *replay = argument;
    replay->shim.run(&replay->job, replay->outcome);
}

/* Runs in the parent meanwhile. */
static void look(void *argument)
{
    const struct replay *replay = argument;
    const uint64_t done = __atomic_load_n(&replay->outcome->done, __ATOMIC_RELAXED);
    replay->progress.on_progress(replay->progress.context, done, replay->job.dag->op_count);
}

/* Outcome and times in one mapping; times only where the caller wants them. */
static enum ronde_status share(struct replay *replay, const struct ronde_dag *dag,
                               const struct ronde_sim_options *options, struct ronde_error *error)
{
    const size_t count = dag->op_count;
    const size_t arrays = (options->out_start_ns ? 1u : 0u) + (options->out_finish_ns ? 1u : 0u);
    replay->shared_bytes = sizeof *replay->outcome + 16 + arrays * count * sizeof(double);
    replay->outcome = ronde_guard_share(replay->shared_bytes);
    if (!replay->outcome)
        return ronde_fail(error, RONDE_NO_MEMORY, "no %zu bytes of shared memory for the replay",
                          replay->shared_bytes);
    double *next = (double *)(void *)(replay->outcome + 1);
    if (options->out_start_ns) {
        replay->job.start_ns = next;
        next += count;
    }
    if (options->out_finish_ns)
        replay->job.finish_ns = next;
    return RONDE_OK;
}

static uint32_t count_changed(const struct ronde_platform *platform)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ronde_platform_link_count(platform); i++)
        count += ronde_platform_link(platform, i)->is_degraded ? 1 : 0;
    return count;
}

/* SimGrid reads the file itself, so what was changed after ours was read has to be passed to it. */
static void list_changed(struct replay *replay, const struct ronde_platform *platform)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < ronde_platform_link_count(platform); i++) {
        const struct ronde_link *link = ronde_platform_link(platform, i);
        if (link->is_degraded)
            replay->changed[at++] = (struct ronde_shim_link){link->name, link->rate_GBps};
    }
    replay->job.changed = replay->changed;
    replay->job.changed_count = at;
}

/* Names instead of indices: SimGrid has an order of its own. */
static void describe(struct replay *replay, const struct ronde_platform *platform,
                     const struct ronde_dag *dag, const struct ronde_sim_options *options)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const struct ronde_link *memory = ronde_platform_link(platform, facts->memory_link);
    struct ronde_shim_job *job = &replay->job;
    for (uint32_t rank = 0; rank < dag->ranks; rank++)
        replay->hosts[rank] = ronde_platform_host(platform, ronde_sim_host(options, rank));
    job->platform_path = replay->own_file[0] ? replay->own_file : ronde_platform_path(platform);
    job->dag = dag;
    job->hosts = replay->hosts;
    job->cfg = options->cfg;
    job->is_tcp = facts->is_tcp;
    job->native_latency = options->native_latency || facts->is_tcp;
    job->release_ns = options->release_ns;
    list_changed(replay, platform);
    job->memory_link = memory ? memory->name : NULL;
    job->cores = facts->shared.cores;
    job->core_step_ns = facts->shared.core_step_ns;
    job->is_shared = ronde_sim_is_shared(platform);
}

/* SimGrid reads files alone, by the end of their name. */
static enum ronde_status write_file(struct replay *replay, const struct ronde_platform *platform,
                                    struct ronde_error *error)
{
    const char *text = ronde_platform_source(platform), *folder = getenv("TMPDIR");
    if (!text)
        return RONDE_OK;
    (void)snprintf(replay->own_file, sizeof replay->own_file, "%.100s/ronde-XXXXXX.xml",
                   folder && folder[0] ? folder : "/tmp");
    const int descriptor = mkstemps(replay->own_file, (int)strlen(".xml"));
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file) {
        replay->own_file[0] = '\0';
        return ronde_fail(error, RONDE_DEVICE, "%s: no temporary file for SimGrid to read",
                          ronde_platform_path(platform));
    }
    const bool is_written = fputs(text, file) >= 0;
    if (fclose(file) == 0 && is_written)
        return RONDE_OK;
    return ronde_fail(error, RONDE_DEVICE, "%s: cannot write %s for SimGrid to read",
                      ronde_platform_path(platform), replay->own_file);
}

static enum ronde_status refuse_detours(const struct ronde_platform *platform,
                                        struct ronde_error *error)
{
    return ronde_platform_has_detours(platform)
               ? ronde_fail(
                     error, RONDE_UNSUPPORTED,
                     "%s: SimGrid routes as the file says, and not around what is taken out; "
                     "use --engine maxmin or flat",
                     ronde_platform_path(platform))
               : RONDE_OK;
}

/* Returns what the child left. */
static enum ronde_status collect(const struct replay *replay,
                                 const struct ronde_sim_options *options,
                                 struct ronde_sim_result *out_result, struct ronde_error *error)
{
    const struct ronde_shim_outcome *outcome = replay->outcome;
    const struct ronde_dag *dag = replay->job.dag;
    if (!outcome->is_done)
        return ronde_fail(error, RONDE_DEVICE, "SimGrid left without a result");
    if (outcome->status != RONDE_OK)
        return ronde_fail(error, outcome->status, "%s: %s", replay->job.platform_path,
                          outcome->message);
    if (options->out_start_ns)
        memcpy(options->out_start_ns, replay->job.start_ns, dag->op_count * sizeof(double));
    if (options->out_finish_ns)
        memcpy(options->out_finish_ns, replay->job.finish_ns, dag->op_count * sizeof(double));
    out_result->time_ns = ronde_dag_end_ns(dag, outcome->time_ns);
    out_result->engine = "simgrid";
    out_result->is_contention_free = true;
    out_result->busiest_utilisation = outcome->busiest_utilisation;
    memcpy(out_result->busiest_link, outcome->busiest_link, sizeof out_result->busiest_link);
    return RONDE_OK;
}

enum ronde_status ronde_sim_simgrid(const struct ronde_platform *platform,
                                    const struct ronde_dag *dag,
                                    const struct ronde_sim_options *options,
                                    struct ronde_sim_result *out_result, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct replay replay = {.outcome = NULL, .shared_bytes = 0, .hosts = NULL, .changed = NULL};
    options = options ? options : &ronde_sim_defaults;
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = ronde_sim_check(platform, dag, options, error);
    RONDE_THEN(status, ronde_sim_refuse_groups(dag, "simgrid", error));
    RONDE_THEN(status, refuse_detours(platform, error));
    RONDE_THEN(status, load(&replay.shim, error));
    if (status != RONDE_OK)
        return status;
    const double limit_s = options->time_limit_s > 0 ? options->time_limit_s : DEFAULT_LIMIT_S;
    const uint32_t changed = count_changed(platform);
    replay.hosts = ronde_mem_new(mem, dag->ranks, sizeof *replay.hosts);
    replay.changed = ronde_mem_new(mem, changed, sizeof *replay.changed);
    if (!replay.hosts || !replay.changed)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u host names", dag->ranks);
    RONDE_THEN(status, share(&replay, dag, options, error));
    RONDE_THEN(status, write_file(&replay, platform, error));
    if (status == RONDE_OK) {
        describe(&replay, platform, dag, options);
        replay.progress = options->progress;
        const struct ronde_guarded guarded = {.work = work,
                                              .look = replay.progress.on_progress ? look : NULL,
                                              .argument = &replay,
                                              .limit_s = limit_s,
                                              .cancel = options->cancel};
        status = ronde_guard_run(&guarded, error);
    }
    RONDE_THEN(status, collect(&replay, options, out_result, error));
    if (replay.own_file[0])
        (void)unlink(replay.own_file);
    ronde_guard_unshare(replay.outcome, replay.shared_bytes);
    ronde_mem_free(mem, replay.changed, changed, sizeof *replay.changed);
    ronde_mem_free(mem, replay.hosts, dag->ranks, sizeof *replay.hosts);
    return status;
}

bool ronde_sim_simgrid_available(const char **out_text)
{
    struct shim shim;
    const bool is_here = load(&shim, NULL) == RONDE_OK;
    *out_text = is_here ? shim.version() : "its library cannot be loaded (package libsimgrid-dev)";
    return is_here;
}
