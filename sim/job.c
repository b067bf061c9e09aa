/* Jobs: from a schedule and a load to the engine that replays it, by name or by what is cheapest and right. */
#include "check.h"

#include "ronde/split.h"

#include <inttypes.h>
#include <string.h>

/* Operations of a graph: about 90 bytes each with what its replay needs, so 3.6 GB. */
#define MOST_GRAPH_OPS 40000000u

/* What `auto` is ready to wait for SimGrid, predicted or measured, before it takes an engine that is faster. */
#define PATIENCE_S 60.0

/* The same for all windows of an extrapolation: trees are refused only after many of them. */
#define WINDOWS_PATIENCE_S 12.0

/* The state of a run. */
struct run {
    const struct ronde_sim_job *job;
    const struct ronde_sim_options *options;
    const struct ronde_mem *mem;
    struct ronde_sim_result *result;
    struct ronde_error *error;
    struct ronde_dag *dag; /* once it is needed */
};

/* Operations the graph has. */
static uint64_t count_ops(const struct ronde_sim_job *job)
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

/* The graph, unless it is too large. A data type that does not exist has no bytes to count: the graph refuses it. */
static enum ronde_status make_graph(struct run *run, struct ronde_error *error)
{
    const struct ronde_sim_job *job = run->job;
    if ((unsigned)job->load->dtype < RONDE_DTYPE_COUNT && count_ops(job) > MOST_GRAPH_OPS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s on %u ranks has %" PRIu64
                          " steps, and a graph is made of up to %u: use "
                          "larger pieces or --engine extrapolate",
                          job->schedule->algorithm, job->schedule->ranks, count_ops(job),
                          MOST_GRAPH_OPS);
    return ronde_dag_create(job->schedule, job->load, job->params, run->mem, &run->dag, error);
}

static enum ronde_status run_simgrid(struct run *run)
{
    const enum ronde_status status = make_graph(run, run->error);
    return status == RONDE_OK ? ronde_sim_simgrid(run->job->platform, run->dag, run->options,
                                                  run->result, run->error)
                              : status;
}

static enum ronde_status run_fifo(struct run *run)
{
    const enum ronde_status status = make_graph(run, run->error);
    return status == RONDE_OK ? ronde_sim_fifo(run->job->platform, run->dag, run->options, run->mem,
                                               run->result, run->error)
                              : status;
}

/* The order of lanes is read from the graph: it needs names. */
static enum ronde_status make_named(struct run *run)
{
    const struct ronde_sim_job *job = run->job;
    return ronde_dag_create_named(job->schedule, job->load, job->params, run->mem, &run->dag,
                                  run->error);
}

static enum ronde_status run_cores(struct run *run)
{
    const enum ronde_status status = make_named(run);
    return status == RONDE_OK
               ? ronde_sim_cores(run->job, run->dag, run->options, run->mem, run->result, run->error)
               : status;
}

static enum ronde_status run_ports(struct run *run)
{
    const struct ronde_sim_job *job = run->job;
    const enum ronde_status status = make_named(run);
    return status == RONDE_OK ? ronde_sim_ports(job->platform, run->dag, run->options, run->mem,
                                                run->result, run->error)
                              : status;
}

static enum ronde_status run_extrapolate(struct run *run)
{
    return ronde_sim_extrapolate(run->job, run->options, run->mem, run->result, run->error);
}

/* On the quotient, or on the graph where there is none. What the quotient cannot do is no failure yet. */
static enum ronde_status run_flat(struct run *run)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    enum ronde_status status =
        ronde_sim_symmetric(run->job, run->options, run->mem, run->result, &refusal);
    if (status == RONDE_OK)
        return status;
    if (status != RONDE_UNSUPPORTED)
        return ronde_fail(run->error, status, "%s", refusal.message);
    status = make_graph(run, run->error);
    return status == RONDE_OK ? ronde_sim_flat(run->job->platform, run->dag, run->options, run->mem,
                                               run->result, run->error)
                              : status;
}

/*
 * Wall time SimGrid takes, in seconds. Where flows share, it solves for all that hang together at every event, so a
 * message costs more the more ranks there are: 25, 43 and 85 us on double trees of 64, 128 and 256 (SimGrid 3.32).
 */
static double simgrid_s(const struct ronde_dag *dag)
{
    return dag->op_count * (1.0 + dag->ranks / 3.0) * 1e-6;
}

/* Whether an engine has only refused, so that another may replay. */
static bool is_refusal(enum ronde_status status)
{
    return status == RONDE_UNSUPPORTED || status == RONDE_UNAVAILABLE || status == RONDE_TIMEOUT;
}

/* A time limit, or the caller's where that is shorter. */
static double within(const struct ronde_sim_options *options, double patience_s)
{
    return options->time_limit_s > 0 && options->time_limit_s < patience_s ? options->time_limit_s
                                                                           : patience_s;
}

/* Contended: SimGrid while it is worth the wait, then what goes on where it cannot, in the order of their worth. */
static enum ronde_status run_contended(struct run *run)
{
    struct ronde_sim_options hurried = *run->options;
    struct ronde_error refusal = {RONDE_OK, 0, ""}, too_large = {RONDE_OK, 0, ""};
    enum ronde_status status = run->dag ? RONDE_OK : make_graph(run, &too_large);
    if (status != RONDE_OK && status != RONDE_UNSUPPORTED)
        return ronde_fail(run->error, status, "%s", too_large.message);
    hurried.time_limit_s = within(run->options, PATIENCE_S);
    status = RONDE_UNSUPPORTED;
    if (run->dag && simgrid_s(run->dag) <= hurried.time_limit_s)
        status = ronde_sim_simgrid(run->job->platform, run->dag, &hurried, run->result, &refusal);
    if (is_refusal(status)) {
        refusal.status = RONDE_OK;
        hurried.time_limit_s = within(run->options, WINDOWS_PATIENCE_S);
        status = ronde_sim_extrapolate(run->job, &hurried, run->mem, run->result, &refusal);
    }
    if (!is_refusal(status))
        return status == RONDE_OK ? status : ronde_fail(run->error, status, "%s", refusal.message);
    return run->dag ? ronde_sim_fifo(run->job->platform, run->dag, run->options, run->mem,
                                     run->result, run->error)
                    : ronde_fail(run->error, RONDE_UNSUPPORTED, "%s", too_large.message);
}

/* flat if certified; on a machine it does not model, or with flags that change the model, SimGrid is the only one. */
static enum ronde_status run_auto(struct run *run)
{
    struct ronde_error *const error = run->error;
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    if (ronde_sim_is_shared(run->job->platform) ||
        ronde_sim_has_flags(run->job->platform, run->options))
        return run_simgrid(run);
    run->error = &refusal;
    const enum ronde_status status = run_flat(run);
    run->error = error;
    if (status == RONDE_OK && run->result->is_contention_free)
        return RONDE_OK;
    /* With a graph in hand it is the zones that flat cannot route; without, the graph is too large. */
    if (status == RONDE_UNSUPPORTED && run->dag)
        return ronde_sim_simgrid(run->job->platform, run->dag, run->options, run->result, error);
    if (status == RONDE_OK || status == RONDE_UNSUPPORTED)
        return run_contended(run);
    return ronde_fail(error, status, "%s", refusal.message);
}

/* The engines by name. */
static const struct engine {
    const char *name;
    enum ronde_status (*run)(struct run *run);
    bool takes_flags; /* SimGrid's */
} engines[] = {
    {"auto", run_auto, true},
    {"flat", run_flat, false},
    {"simgrid", run_simgrid, true},
    {"flat_fifo", run_fifo, false},
    {"ports", run_ports, false},
    {"cores", run_cores, false},
    {"extrapolate", run_extrapolate, true},
};

static const struct engine *find_engine(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
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
        (void)ronde_fail(error, RONDE_BAD_ARGUMENT,
                         "unknown engine \"%s\"; there are auto, flat, simgrid, flat_fifo, "
                         "ports, cores and extrapolate",
                         engine);
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

enum ronde_status ronde_sim_job_run(const struct ronde_sim_job *job, const char *engine,
                                    const struct ronde_sim_options *options,
                                    const struct ronde_mem *mem,
                                    struct ronde_sim_result *out_result, struct ronde_error *error)
{
    struct run run = {.job = job,
                      .options = options ? options : &ronde_sim_defaults,
                      .mem = mem,
                      .result = out_result,
                      .error = error};
    memset(out_result, 0, sizeof *out_result);
    const struct engine *found = choose_engine(job->platform, engine, run.options, error);
    if (!found)
        return RONDE_BAD_ARGUMENT;
    const enum ronde_status status = found->run(&run);
    ronde_dag_destroy(run.dag, mem);
    return status;
}
