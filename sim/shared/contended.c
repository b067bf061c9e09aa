/*
 * Which engine replays a job whose flows share links: SimGrid where it is quick, `maxmin` where its work is not too
 * much, periods where there are any, and queues where a smaller load of the same schedule shows that they are near enough.
 * Work is counted and never timed: the same job has the same engine on every machine, however busy.
 */
#include "shorten.h"
#include "sim/check.h"
#include "sim/job.h"

#include "ronde/split.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The same for all windows of an extrapolation: trees are refused only after many of them. */
#define WINDOWS_WORK (RONDE_SIM_MOST_WORK / 5)

/* Pieces in the shortest three windows, 8, 16 and 24, and the least that makes an extrapolation worth while. */
#define WINDOWS_PIECES 48u
#define LEAST_PERIODS 32u

/*
 * Pieces from which on their windows, some 480 pieces if all are needed, are tried before the whole load is replayed. While the first
 * piece is on its way, each of those behind it meets others than the one before: no windows are alike that are shorter than the way.
 */
#define MANY_PIECES 768.0
#define LONGEST_WAY 48u

/* Pieces of the load on which queues are held against fair sharing, and what they may be off. */
#define PROBE_PIECES 8u

/* Steps from which on a probe comes before the whole graph: fewer are replayed in less than a second. */
#define LEAST_FORESEEN (UINT64_C(1) << 20)

/* A step of a graph that is made and replayed once, by queues, takes as long as so many visits: 0.5 us, of 8 ns each. */
#define STEP_WORK 60u

#define LENGTH_TIMES 8u
#define MOST_OFF 0.10

/* The load of the probe: the same chunks, fewer pieces of them. */
static struct ronde_load probe_load(const struct ronde_sim_job *job)
{
    const struct ronde_schedule *schedule = job->schedule;
    const uint64_t piece = job->load->slot_bytes > 0
                               ? ronde_piece_bytes(schedule, job->load->slot_bytes) /
                                     ronde_dtype_bytes(job->load->dtype)
                               : job->load->count;
    struct ronde_load load = *job->load;
    const uint64_t most =
        PROBE_PIECES * piece * schedule->chunks_per_block * schedule->channel_count;
    load.count = load.count < most ? load.count : most;
    return load;
}

/* Options of a replay of the probe: times of operations are those of the whole load alone. */
static struct ronde_sim_options probe_options(const struct ronde_sim_job_state *run)
{
    struct ronde_sim_options limited = ronde_sim_job_limited(run->options, RONDE_SIM_MOST_WORK);
    limited.out_start_ns = NULL;
    limited.out_finish_ns = NULL;
    limited.until_ns = 0;
    return limited;
}

/* Only what ends the whole run is a failure. */
static enum ronde_status fail_if_over(const struct ronde_sim_job_state *run,
                                      enum ronde_status status, const struct ronde_error *refusal)
{
    return status == RONDE_TIMEOUT || status == RONDE_CANCELLED
               ? ronde_fail(run->error, status, "%s", refusal->message)
               : RONDE_OK;
}

static enum ronde_status share_probe(struct ronde_sim_job_state *run, struct ronde_error *refusal)
{
    const struct ronde_sim_options limited = probe_options(run);
    struct ronde_sim_result shared = {0};
    const enum ronde_status status =
        ronde_sim_maxmin(run->job->platform, run->probe.dag, &limited, run->mem, &shared, refusal);
    run->probe.shared_ns = status == RONDE_OK ? shared.time_ns : INFINITY;
    run->probe.whole_work = (double)shared.work * (double)ronde_sim_job_steps(run->job) /
                            (double)run->probe.dag->op_count;
    return status;
}

/* The graph of a smaller load, where it is not half of the whole. */
static enum ronde_status make_probe(struct ronde_sim_job_state *run, struct ronde_error *refusal)
{
    const struct ronde_load load = probe_load(run->job);
    if (load.count > run->job->load->count / 2)
        return RONDE_OK;
    return ronde_dag_create(run->job->schedule, &load, run->job->params, run->mem, &run->probe.dag,
                            refusal);
}

/* Its first pieces flow as those of the whole do, as long as none shares a link. */
enum ronde_status ronde_sim_job_foresee(struct ronde_sim_job_state *run, bool *out_is_contended)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    const struct ronde_sim_options limited = probe_options(run);
    struct ronde_sim_result free = {0};
    *out_is_contended = false;
    if ((unsigned)run->job->load->dtype >= RONDE_DTYPE_COUNT ||
        ronde_sim_job_steps(run->job) < LEAST_FORESEEN)
        return RONDE_OK;
    enum ronde_status status = make_probe(run, &refusal);
    if (status != RONDE_OK || !run->probe.dag || run->probe.dag->group_of)
        return RONDE_OK;
    status = ronde_sim_flat(run->job->platform, run->probe.dag, &limited, run->mem, &free, &refusal);
    *out_is_contended = status == RONDE_OK && !free.is_contention_free;
    return fail_if_over(run, status, &refusal);
}

/* How far queues are from fair sharing on the probe, relative; INFINITY where that is too much work to find out. */
static enum ronde_status compare_queues(struct ronde_sim_job_state *run, double *out_off)
{
    const struct ronde_sim_options limited = probe_options(run);
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    struct ronde_sim_result queued = {0};
    enum ronde_status status = RONDE_OK;
    *out_off = INFINITY;
    if (!run->probe.dag)
        status = make_probe(run, &refusal);
    if (status == RONDE_OK && run->probe.dag && run->probe.shared_ns == 0)
        status = share_probe(run, &refusal);
    if (status != RONDE_OK || !run->probe.dag || isinf(run->probe.shared_ns))
        return fail_if_over(run, status, &refusal);
    status =
        ronde_sim_fifo(run->job->platform, run->probe.dag, &limited, run->mem, &queued, &refusal);
    if (status == RONDE_OK)
        *out_off = fabs(queued.time_ns / run->probe.shared_ns - 1);
    return fail_if_over(run, status, &refusal);
}

/* Too large for a graph: names an engine that would make it all the same only where there is one. */
static enum ronde_status refuse_size(const struct ronde_sim_job_state *run, const char *why)
{
    const struct ronde_schedule *schedule = run->job->schedule;
    const uint64_t steps = ronde_sim_job_steps(run->job);
    if (steps <= RONDE_SIM_MOST_GRAPH_OPS)
        return ronde_fail(run->error, RONDE_UNSUPPORTED,
                          "%s on %u ranks has %" PRIu64
                          " steps that share links, and a graph is made of up to %u unasked; "
                          "--engine flat_fifo makes it all the same (%s)",
                          schedule->algorithm, schedule->ranks, steps, RONDE_SIM_MOST_AUTO_OPS, why);
    return ronde_fail(run->error, RONDE_UNSUPPORTED,
                      "%s on %u ranks has %" PRIu64
                      " steps that share links, and no engine replays more than %u of them one by "
                      "one: fewer ranks or larger pieces (--slot) may do (%s)",
                      schedule->algorithm, schedule->ranks, steps, RONDE_SIM_MOST_GRAPH_OPS, why);
}

/* Shares links after all, with far more work, where nothing else is near enough. `off`: by how much queues are not. */
static enum ronde_status replay_at_length(struct ronde_sim_job_state *run, double off)
{
    const struct ronde_sim_options limited =
        ronde_sim_job_limited(run->options, LENGTH_TIMES * RONDE_SIM_MOST_WORK);
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    char text[64] = "";
    enum ronde_status status = RONDE_UNSUPPORTED;
    /* As much has just been too little. */
    if (limited.work_limit <= RONDE_SIM_MOST_WORK)
        (void)ronde_fail(&refusal, status, "more than %.1e visits of flows to links",
                         (double)limited.work_limit);
    else
        status = ronde_sim_maxmin(run->job->platform, run->dag, &limited, run->mem, run->result,
                                  &refusal);
    if (!ronde_sim_job_is_refusal(status))
        return status == RONDE_OK ? status : ronde_fail(run->error, status, "%s", refusal.message);
    if (isfinite(off))
        (void)snprintf(text, sizeof text, ", %.0f %% off on %u pieces", 100 * off, PROBE_PIECES);
    return ronde_fail(run->error, RONDE_UNSUPPORTED,
                      "%s on %u ranks: exact engines have too much work (%s); --engine maxmin does "
                      "it in minutes, --engine flat_fifo in seconds%s",
                      run->job->schedule->algorithm, run->job->schedule->ranks, refusal.message,
                      text);
}

/* Queues, where they are near enough; to find that out on more than half of the load costs as much as the exact replay. */
static enum ronde_status queue_up(struct ronde_sim_job_state *run)
{
    double off = INFINITY;
    RONDE_TRY(compare_queues(run, &off));
    return off <= MOST_OFF ? ronde_sim_fifo(run->job->platform, run->dag, run->options, run->mem,
                                            run->result, run->error)
                           : replay_at_length(run, off);
}

/* Times that the steps of one piece are done. */
static double pieces_of(const struct ronde_sim_job_state *run)
{
    const struct ronde_load whole = {run->job->load->count, run->job->load->dtype, 0, 0};
    const struct ronde_sim_job one_piece = {run->job->platform, run->job->schedule, &whole,
                                            run->job->params};
    const uint64_t least = ronde_sim_job_steps(&one_piece);
    return least > 0 ? (double)ronde_sim_job_steps(run->job) / (double)least : 1;
}

/*
 * Whether windows may keep to their work. Those of pieces replay a part of what has just been given up (if it was begun), so
 * their work is known to be at least that part of the limit; those of steps are far shorter than the whole.
 */
static bool may_extrapolate(const struct ronde_sim_job_state *run)
{
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    if (!run->dag || ronde_sim_phases(run->job->schedule, LEAST_PERIODS - 1, phases) > 0)
        return true;
    return (double)RONDE_SIM_MOST_WORK * WINDOWS_PIECES <= (double)WINDOWS_WORK * pieces_of(run);
}

static enum ronde_status extrapolate(struct ronde_sim_job_state *run, uint64_t most_work,
                                     struct ronde_error *refusal)
{
    const struct ronde_sim_options limited = ronde_sim_job_limited(run->options, most_work);
    *refusal = (struct ronde_error){RONDE_OK, 0, ""};
    return ronde_sim_extrapolate(run->job, &limited, run->mem, run->result, refusal);
}

/* Shares links on the whole graph, where there is room for it and the probe has not shown that it is too much work. */
static enum ronde_status share_links(struct ronde_sim_job_state *run, struct ronde_error *refusal)
{
    const struct ronde_sim_options limited =
        ronde_sim_job_limited(run->options, RONDE_SIM_MOST_WORK);
    *refusal = (struct ronde_error){RONDE_OK, 0, ""};
    if (run->probe.dag && !run->dag)
        RONDE_TRY(fail_if_over(run, share_probe(run, refusal), refusal));
    *refusal = (struct ronde_error){RONDE_OK, 0, ""};
    RONDE_TRY(run->dag ? RONDE_OK : ronde_sim_job_graph(run, refusal));
    if (run->probe.whole_work > (double)limited.work_limit)
        return ronde_fail(refusal, RONDE_UNSUPPORTED,
                          "sharing links takes %.1e visits of flows to links or more, above %.1e",
                          run->probe.whole_work, (double)limited.work_limit);
    return ronde_sim_share_links(run->job->platform, run->dag, &limited, run->mem, run->result,
                                 refusal);
}

/* Work that folding may take more than others: what comes after it makes the whole graph first. */
static uint64_t graph_work(const struct ronde_sim_job_state *run)
{
    const uint64_t steps = ronde_sim_job_steps(run->job);
    return run->dag || steps > RONDE_SIM_MOST_AUTO_OPS ? 0 : steps * STEP_WORK;
}

enum ronde_status ronde_sim_job_fold(struct ronde_sim_job_state *run, uint64_t most_work,
                                     struct ronde_error *error)
{
    struct ronde_sim_options limited = *run->options;
    const struct ronde_schedule *schedule = run->job->schedule;
    if (run->has_folded || (unsigned)run->job->load->dtype >= RONDE_DTYPE_COUNT ||
        ronde_sim_is_simgrid_quick(run->job->platform, ronde_sim_job_steps(run->job),
                                   schedule->ranks))
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s on %u ranks is not folded",
                          schedule->algorithm, schedule->ranks);
    run->has_folded = true;
    if (most_work > 0)
        limited = ronde_sim_job_limited(run->options, most_work + graph_work(run));
    return (schedule->symmetry == RONDE_SYMMETRY_NONE
                ? ronde_sim_turned
                : ronde_sim_folded)(run->job, &limited, run->mem, run->result, error);
}

/* Whether windows come first: always where they are of steps. */
static bool has_many_pieces(const struct ronde_sim_job_state *run)
{
    const struct ronde_schedule *schedule = run->job->schedule;
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    return pieces_of(run) >= MANY_PIECES &&
           (schedule->proof.critical_path <= LONGEST_WAY ||
            ronde_sim_phases(schedule, LEAST_PERIODS - 1, phases) > 0);
}

enum ronde_status ronde_sim_job_contended(struct ronde_sim_job_state *run)
{
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    const bool has_many = has_many_pieces(run);
    enum ronde_status status = ronde_sim_job_fold(run, RONDE_SIM_MOST_WORK, &refusal);
    if (ronde_sim_job_is_refusal(status) && has_many)
        status = extrapolate(run, RONDE_SIM_MOST_WORK, &refusal);
    if (ronde_sim_job_is_refusal(status))
        status = share_links(run, &refusal);
    if (ronde_sim_job_is_refusal(status) && !has_many && may_extrapolate(run))
        status = extrapolate(run, WINDOWS_WORK, &refusal);
    if (!ronde_sim_job_is_refusal(status))
        return status == RONDE_OK ? status : ronde_fail(run->error, status, "%s", refusal.message);
    if (run->dag)
        return queue_up(run);
    return refuse_size(run, refusal.message);
}
