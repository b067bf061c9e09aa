/* Jobs: from a schedule and a load to the engine that replays it, by name or by what is cheapest and right. */
#include "job.h"

#include "check.h"
#include "routes.h"
#include "sim/flat/symmetric.h"

#include "ronde/values.h"

#include <stdio.h>
#include <string.h>

/* Flows that `auto` watches on the quotient before it tries to fold: a second or two. */
#define MOST_WATCHED (UINT64_C(1) << 28)

/* Room for the names of all engines. */
#define NAMES_BYTES 128u

/* A replay of a graph, of one schedule or of several. */
typedef enum ronde_status (*replay_graph)(const struct ronde_platform *platform,
                                          const struct ronde_dag *dag,
                                          const struct ronde_sim_options *options,
                                          const struct ronde_mem *mem,
                                          struct ronde_sim_result *out_result,
                                          struct ronde_error *error);

/* SimGrid allocates for itself. */
static enum ronde_status
simgrid_graph(const struct ronde_platform *platform, const struct ronde_dag *dag,
              const struct ronde_sim_options *options, const struct ronde_mem *mem,
              struct ronde_sim_result *out_result, struct ronde_error *error)
{
    (void)mem;
    return ronde_sim_simgrid(platform, dag, options, out_result, error);
}

/* The graph of the job, by an engine that needs nothing else. */
static enum ronde_status run_on_graph(struct ronde_sim_job_state *run, replay_graph replay)
{
    RONDE_TRY(ronde_sim_job_graph(run, run->error));
    return replay(run->job->platform, run->dag, run->options, run->mem, run->result, run->error);
}

/* The whole graph, so that operations have times; where it is too large, what is left of it once it is folded. */
static enum ronde_status run_maxmin(struct ronde_sim_job_state *run)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    const enum ronde_status status = ronde_sim_job_graph(run, run->error);
    if (status == RONDE_UNSUPPORTED && ronde_sim_job_fold(run, 0, &refusal) == RONDE_OK)
        return RONDE_OK;
    return status == RONDE_OK ? ronde_sim_maxmin(run->job->platform, run->dag, run->options,
                                                 run->mem, run->result, run->error)
                              : status;
}

/* The order of lanes is read from the graph: it needs names. */
static enum ronde_status run_cores(struct ronde_sim_job_state *run)
{
    RONDE_TRY(ronde_sim_job_make(run, true, run->error));
    return ronde_sim_cores(run->job, run->dag, run->options, run->mem, run->result, run->error);
}

static enum ronde_status run_ports(struct ronde_sim_job_state *run)
{
    RONDE_TRY(ronde_sim_job_make(run, true, run->error));
    return ronde_sim_ports(run->job->platform, run->dag, run->options, run->mem, run->result,
                           run->error);
}

static enum ronde_status run_extrapolate(struct ronde_sim_job_state *run)
{
    return ronde_sim_extrapolate(run->job, run->options, run->mem, run->result, run->error);
}

/* On the quotient, or on the graph where there is none. What the quotient cannot do is no failure yet. */
static enum ronde_status run_flat(struct ronde_sim_job_state *run)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    const enum ronde_status status =
        ronde_sim_symmetric(run->job, run->options, run->mem, run->result, &refusal);
    if (status == RONDE_UNSUPPORTED)
        return run_on_graph(run, ronde_sim_flat);
    return status == RONDE_OK ? status : ronde_fail(run->error, status, "%s", refusal.message);
}

/* A large load is known by its first pieces where they share links; flat's times would not be used. */
static enum ronde_status run_flat_unless_contended(struct ronde_sim_job_state *run)
{
    bool is_contended = false;
    const enum ronde_status status = ronde_sim_job_foresee(run, &is_contended);
    return status == RONDE_OK && !is_contended ? run_on_graph(run, ronde_sim_flat) : status;
}

/*
 * The same for `auto`, which goes on where links are shared: what has too many routes for the quotient, or too many flows to
 * watch, is folded first; the graph may be thousands of times as large as what is left then.
 */
static enum ronde_status run_flat_or_folded(struct ronde_sim_job_state *run)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    enum ronde_status status = ronde_sim_symmetric_if_free(run->job, run->options, run->mem,
                                                           MOST_WATCHED, run->result, &refusal);
    if (status == RONDE_UNSUPPORTED && run->job->schedule->symmetry != RONDE_SYMMETRY_NONE) {
        run->most_ops = RONDE_SIM_MOST_AUTO_OPS;
        status = ronde_sim_job_fold(run, RONDE_SIM_MOST_WORK, &refusal);
        if (ronde_sim_job_is_refusal(status))
            status = ronde_sim_symmetric_if_free(run->job, run->options, run->mem, UINT64_MAX,
                                                 run->result, &refusal);
    }
    if (status == RONDE_UNSUPPORTED)
        return run_flat_unless_contended(run);
    return status == RONDE_OK ? status : ronde_fail(run->error, status, "%s", refusal.message);
}

/* flat if certified; on a machine it does not model, or with flags that change the model, SimGrid is the only one. */
static enum ronde_status run_auto(struct ronde_sim_job_state *run)
{
    struct ronde_error *const error = run->error;
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    if (ronde_sim_is_shared(run->job->platform) ||
        ronde_sim_has_flags(run->job->platform, run->options))
        return run_on_graph(run, simgrid_graph);
    run->error = &refusal;
    const enum ronde_status status = run_flat_or_folded(run);
    run->most_ops = RONDE_SIM_MOST_AUTO_OPS;
    run->error = error;
    if (status == RONDE_OK && run->result->is_contention_free)
        return RONDE_OK;
    /* Messages that meet only make it later. */
    run->result->is_beyond = status == RONDE_OK && run->options->until_ns > 0 &&
                             run->result->time_ns > run->options->until_ns;
    if (run->result->is_beyond)
        return RONDE_OK;
    /* With a graph in hand it is the zones that flat cannot route; without, the graph is too large. */
    if (status == RONDE_UNSUPPORTED && run->dag && !run->dag->group_of)
        return ronde_sim_simgrid(run->job->platform, run->dag, run->options, run->result, error);
    if (status == RONDE_OK || (status == RONDE_UNSUPPORTED && !run->dag))
        return ronde_sim_job_contended(run);
    return ronde_fail(error, status, "%s", refusal.message);
}

/* The engines by name: the one table of them. */
static const struct engine {
    const char *name;
    /* NULL: by run_graph, which needs nothing but the graph. */
    enum ronde_status (*run)(struct ronde_sim_job_state *run);
    /* Replays a graph that is of no one schedule (scenarios, workloads); NULL where an engine needs the schedule. */
    replay_graph run_graph;
    bool takes_flags; /* SimGrid's */
} engines[] = {
    {"auto", run_auto, ronde_sim_auto, true},   {"flat", run_flat, ronde_sim_flat, false},
    {"simgrid", NULL, simgrid_graph, true},     {"maxmin", run_maxmin, ronde_sim_maxmin, false},
    {"flat_fifo", NULL, ronde_sim_fifo, false}, {"ports", run_ports, NULL, false},
    {"cores", run_cores, NULL, false},          {"extrapolate", run_extrapolate, NULL, true},
};

#define ENGINES (sizeof engines / sizeof engines[0])

/* "auto, flat, ... and extrapolate": all engines, or those that replay graphs. */
static const char *list_engines(bool of_graphs, char *text, size_t bytes)
{
    size_t last = ENGINES, used = 0;
    while (of_graphs && !engines[last - 1].run_graph)
        last--;
    text[0] = '\0';
    for (size_t i = 0; i < last && used < bytes; i++)
        if (!of_graphs || engines[i].run_graph)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                     i == 0          ? ""
                                     : i == last - 1 ? " and "
                                                     : ", ",
                                     engines[i].name);
    return text;
}

static const struct engine *find_engine(const char *name)
{
    for (size_t i = 0; i < ENGINES; i++)
        if (strcmp(engines[i].name, name) == 0)
            return &engines[i];
    return NULL;
}

/* SimGrid aborts on a flag that is no flag at all; an unknown one it names itself. NULL where all are well formed. */
static const char *find_malformed(const char *const *flags)
{
    for (; flags && *flags; flags++)
        if (!strchr(*flags, ':') || **flags == ':')
            return *flags;
    return NULL;
}

/* With the nearest name, or all of them. */
static void refuse_engine(const char *engine, struct ronde_error *error)
{
    const char *names[ENGINES];
    char list[NAMES_BYTES];
    for (size_t i = 0; i < ENGINES; i++)
        names[i] = engines[i].name;
    const char *nearest = ronde_nearest(engine, names, ENGINES);
    if (nearest)
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown engine \"%s\"; did you mean %s?",
                         engine, nearest);
    else
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown engine \"%s\"; there are %s", engine,
                         list_engines(false, list, sizeof list));
}

/* NULL with the error: no such engine, flags it has not, flags that are none. */
static const struct engine *choose_engine(const struct ronde_platform *platform, const char *engine,
                                          const struct ronde_sim_options *options,
                                          struct ronde_error *error)
{
    const struct engine *found = find_engine(engine);
    const char *malformed = find_malformed(options->cfg);
    if (malformed)
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT,
                         "--cfg: \"%s\" is not KEY:VALUE, e.g. network/model:LV08", malformed);
    else if (!found)
        refuse_engine(engine, error);
    else if (ronde_sim_has_flags(platform, options) && !found->takes_flags)
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT,
                         "--cfg, --native-latency and the TCP model (ronde.network_model) are "
                         "SimGrid's, not for --engine %s; use --engine simgrid",
                         engine);
    else
        return found;
    return NULL;
}

enum ronde_status ronde_sim_check_engine(const struct ronde_platform *platform, const char *engine,
                                         const struct ronde_sim_options *options,
                                         struct ronde_error *error)
{
    return choose_engine(platform, engine, options, error) ? RONDE_OK : RONDE_BAD_ARGUMENT;
}

enum ronde_status ronde_sim_graph_run(const struct ronde_platform *platform,
                                      const struct ronde_dag *dag, const char *engine,
                                      const struct ronde_sim_options *options,
                                      const struct ronde_mem *mem,
                                      struct ronde_sim_result *out_result, struct ronde_error *error)
{
    const struct engine *found = find_engine(engine);
    char list[NAMES_BYTES];
    return found && found->run_graph
               ? found->run_graph(platform, dag, options, mem, out_result, error)
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "engine \"%s\" replays no scenario and no workload; %s do", engine,
                            list_engines(true, list, sizeof list));
}

enum ronde_status ronde_sim_job_run(const struct ronde_sim_job *job, const char *engine,
                                    const struct ronde_sim_options *options,
                                    const struct ronde_mem *mem,
                                    struct ronde_sim_result *out_result, struct ronde_error *error)
{
    /* Engines that are tried one after another look at the same routes. */
    struct ronde_sim_options own = options ? *options : ronde_sim_defaults;
    struct ronde_sim_job_state run = {.job = job,
                                      .options = &own,
                                      .mem = mem,
                                      .result = out_result,
                                      .error = error,
                                      .most_ops = RONDE_SIM_MOST_GRAPH_OPS};
    memset(out_result, 0, sizeof *out_result);
    const struct engine *found = choose_engine(job->platform, engine, run.options, error);
    if (!found)
        return RONDE_BAD_ARGUMENT;
    struct ronde_sim_memo memo = {.schedule = job->schedule, .mem = mem};
    if (!own.memo)
        own.memo = &memo;
    const enum ronde_status status =
        found->run ? found->run(&run) : run_on_graph(&run, found->run_graph);
    ronde_sim_memo_clear(&memo);
    out_result->is_multicast_ignored = run.is_plain;
    ronde_dag_destroy(run.dag, mem);
    ronde_dag_destroy(run.probe.dag, mem);
    return status;
}
