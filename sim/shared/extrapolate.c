/*
 * Verified periodic continuation. What a schedule repeats - the pieces of a load, the steps of a phase - is replayed K,
 * 2K and 3K times; where every rank's end moves on by the same from the second window to the third as from the first
 * to the second, to 1e-9, the rest is continued with that slope. (Each window is longer by what K leaves over of the
 * whole, so that whole windows remain: progress within one need not be even.)
 *
 * Every rank is looked at, not the end of the run alone: a slow link that a ring crosses once in 64 steps shows in some
 * rank's window whatever K is, while the latest end may not see it for long. Every phase has a slope of its own, got
 * with the others at K periods; that they do not interfere is checked by lengthening all of them at once. (One slope
 * for a whole ring whose first half also reduces is 3.8 % wrong.) Pieces are the outer loop: a window of pieces is
 * itself continued over the phases of its steps.
 *
 * Windows are replayed by `auto`: flat where it is certified, else SimGrid, so contention is in the slopes.
 */
#include "shorten.h"
#include "sim/check.h"

#include "ronde/split.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Largest relative difference of two slopes that count as one. */
#define TOLERANCE 1e-9

/* Most a load may grow for its chunks to become equal. */
#define MOST_GROWTH 2.5e-4

/* K, tried in this order: short windows are cheap; 24 and 48 are multiples of the sizes of nodes and leaves, and give a
   pipeline time to fill. */
static const uint32_t windows[] = {8, 24, 48};

/* Fewer periods than this are replayed in full: the windows would be as long. */
#define LEAST(window) (4u * (window))

/* The state of an extrapolation. */
struct extrapolation {
    const struct ronde_sim_job *job;
    struct ronde_load load; /* the job's, or one with equal chunks */
    struct ronde_sim_options options;
    const struct ronde_mem *mem;
    struct ronde_error *error;
    struct ronde_sim_result longest; /* of the windows replayed */
    double slope_difference;         /* largest so far */
    uint32_t window;                 /* K */
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    uint32_t phase_count;
    uint64_t work_limit; /* for all windows together; 0 = none */
    uint64_t work;       /* of those replayed */
};

/* Ends of all ranks in three windows, and what follows from them. */
struct ends {
    double *of[3];
    double *sum;
};

static enum ronde_status no_memory(const struct extrapolation *run)
{
    return ronde_fail(run->error, RONDE_NO_MEMORY, "no memory to extrapolate %u ranks",
                      run->job->schedule->ranks);
}

static bool ends_new(const struct extrapolation *run, struct ronde_store *store, struct ends *ends)
{
    const uint32_t ranks = run->job->schedule->ranks;
    ends->sum = ronde_store_new(store, ranks, sizeof *ends->sum);
    for (int i = 0; i < 3; i++)
        ends->of[i] = ronde_store_new(store, ranks, sizeof *ends->of[i]);
    return !store->is_short;
}

static bool is_worked_out(const struct extrapolation *run)
{
    return run->work_limit > 0 && run->work >= run->work_limit;
}

/* Replays a window with what is left of the limit; what is too much for that uses it up. */
static enum ronde_status replay_window(struct extrapolation *run, const struct ronde_dag *dag,
                                       struct ronde_sim_result *out_result)
{
    if (is_worked_out(run))
        return ronde_fail(run->error, RONDE_UNSUPPORTED,
                          "the windows of an extrapolation take more than %.1e visits of flows to "
                          "links",
                          (double)run->work_limit);
    if (run->work_limit > 0)
        run->options.work_limit = run->work_limit - run->work;
    const enum ronde_status status =
        ronde_sim_auto(run->job->platform, dag, &run->options, run->mem, out_result, run->error);
    run->work += status == RONDE_OK ? dag->op_count + out_result->work : run->work_limit;
    return status;
}

/* Replays a graph and records when each rank is done. */
static enum ronde_status replay_graph(struct extrapolation *run, const struct ronde_dag *dag,
                                      double *finish_ns, double *out_ends)
{
    struct ronde_sim_result result;
    run->options.out_finish_ns = finish_ns;
    RONDE_TRY(replay_window(run, dag, &result));
    for (uint32_t i = 0; i < dag->op_count; i++)
        out_ends[dag->ops[i].src] = fmax(out_ends[dag->ops[i].src], finish_ns[i]);
    if (result.time_ns > run->longest.time_ns)
        run->longest = result;
    return RONDE_OK;
}

/* Ends of all ranks in a window. */
static enum ronde_status replay(struct extrapolation *run, const struct ronde_schedule *schedule,
                                const struct ronde_load *load, double *out_ends)
{
    struct ronde_dag *dag;
    memset(out_ends, 0, schedule->ranks * sizeof *out_ends);
    RONDE_TRY(ronde_dag_create(schedule, load, run->job->params, run->mem, &dag, run->error));
    double *finish_ns = ronde_mem_new(run->mem, dag->op_count, sizeof *finish_ns);
    const enum ronde_status status =
        finish_ns ? replay_graph(run, dag, finish_ns, out_ends) : no_memory(run);
    ronde_mem_free(run->mem, finish_ns, dag->op_count, sizeof *finish_ns);
    ronde_dag_destroy(dag, run->mem);
    return status;
}

/* The same with phases of these lengths. */
static enum ronde_status replay_short(struct extrapolation *run, const uint32_t *lengths,
                                      const struct ronde_load *load, double *out_ends)
{
    struct ronde_sim_short copy;
    struct ronde_store store = {.mem = run->mem};
    const bool fits = ronde_sim_shorten(run->job->schedule, run->phases, lengths, run->phase_count,
                                        &store, &copy);
    const enum ronde_status status =
        fits ? replay(run, &copy.schedule, load, out_ends) : no_memory(run);
    ronde_store_clear(&store);
    return status;
}

/* Records how far slopes are apart, and refuses where that is too far. */
static enum ronde_status judge(struct extrapolation *run, double difference, const char *phase)
{
    run->slope_difference = fmax(run->slope_difference, difference);
    if (difference <= TOLERANCE)
        return RONDE_OK;
    return ronde_fail(run->error, RONDE_UNSUPPORTED,
                      "no two windows alike: what %u periods of %s take differs by %.1e from one "
                      "window to the next",
                      run->window, phase, difference);
}

/* Periods of the first window: what remains is whole windows, within which progress need not be even. */
static uint32_t first_window(const struct extrapolation *run, uint64_t periods)
{
    return run->window + (uint32_t)(periods % run->window);
}

/* Adds to every rank's end the windows beyond the first, each as long as the rank took for one more. */
static enum ronde_status continue_phase(struct extrapolation *run, struct ends *ends,
                                        uint64_t periods, const char *phase)
{
    const uint64_t more = (periods - first_window(run, periods)) / run->window;
    double largest = DBL_MIN;
    double apart = 0;
    for (uint32_t rank = 0; rank < run->job->schedule->ranks; rank++) {
        const double first = ends->of[1][rank] - ends->of[0][rank];
        const double second = ends->of[2][rank] - ends->of[1][rank];
        largest = fmax(largest, fmax(fabs(first), fabs(second)));
        apart = fmax(apart, fabs(second - first));
        ends->sum[rank] += (first + second) / 2 * (double)more;
    }
    return judge(run, apart / largest, phase);
}

/* What a phase is called in a message. */
static void name_phase(const struct extrapolation *run, uint32_t index, char *text, size_t bytes)
{
    const struct ronde_sim_phase *phase = &run->phases[index];
    const struct ronde_program *program = &run->job->schedule->programs[0];
    const uint32_t first = phase->first - program->lane_first[phase->lane];
    (void)snprintf(text, bytes, "steps %u to %u (%s) of lane %u", first, first + phase->length - 1,
                   ronde_step_op_text((enum ronde_step_op)program->steps[phase->first].op),
                   phase->lane);
}

/* All phases longer at once must take as much longer as all of them one by one. */
static enum ronde_status check_together(struct extrapolation *run, struct ends *ends,
                                        const double *one_by_one, const struct ronde_load *load)
{
    uint32_t lengths[RONDE_SIM_MAX_PHASES];
    double apart = 0;
    double largest = DBL_MIN;
    for (uint32_t i = 0; i < run->phase_count; i++)
        lengths[i] = first_window(run, run->phases[i].length) + run->window;
    RONDE_TRY(replay_short(run, lengths, load, ends->of[2]));
    for (uint32_t rank = 0; rank < run->job->schedule->ranks; rank++) {
        apart = fmax(apart, fabs(ends->of[2][rank] - one_by_one[rank]));
        largest = fmax(largest, one_by_one[rank] - ends->of[0][rank]);
    }
    return judge(run, apart / largest, "all phases together");
}

/* Ends of a load with every phase continued; one_by_one is what check_together compares with. */
static enum ronde_status continue_steps(struct extrapolation *run, const struct ronde_load *load,
                                        struct ends *ends, double *one_by_one)
{
    const size_t bytes = run->job->schedule->ranks * sizeof(double);
    uint32_t lengths[RONDE_SIM_MAX_PHASES];
    char phase[96];
    for (uint32_t i = 0; i < run->phase_count; i++)
        lengths[i] = first_window(run, run->phases[i].length);
    enum ronde_status status = replay_short(run, lengths, load, ends->of[0]);
    memcpy(ends->sum, ends->of[0], bytes);
    memcpy(one_by_one, ends->of[0], bytes);
    for (uint32_t i = 0; i < run->phase_count && status == RONDE_OK; i++) {
        for (uint32_t k = 1; k < 3 && status == RONDE_OK; k++) {
            lengths[i] += run->window;
            status = replay_short(run, lengths, load, ends->of[k]);
        }
        lengths[i] = first_window(run, run->phases[i].length);
        name_phase(run, i, phase, sizeof phase);
        for (uint32_t rank = 0; rank < run->job->schedule->ranks; rank++)
            one_by_one[rank] += ends->of[1][rank] - ends->of[0][rank];
        RONDE_THEN(status, continue_phase(run, ends, run->phases[i].length, phase));
    }
    return status == RONDE_OK && run->phase_count > 1 ? check_together(run, ends, one_by_one, load)
                                                      : status;
}

/* Ends of a load: replayed as it is, or with its phases continued. */
static enum ronde_status ends_of_load(struct extrapolation *run, const struct ronde_load *load,
                                      double *out_ends)
{
    const uint32_t ranks = run->job->schedule->ranks;
    if (run->phase_count == 0)
        return replay(run, run->job->schedule, load, out_ends);
    struct ends ends;
    struct ronde_store store = {.mem = run->mem};
    double *one_by_one = ronde_store_new(&store, ranks, sizeof *one_by_one);
    const enum ronde_status status =
        ends_new(run, &store, &ends) ? continue_steps(run, load, &ends, one_by_one) : no_memory(run);
    if (status == RONDE_OK)
        memcpy(out_ends, ends.sum, ranks * sizeof *out_ends);
    ronde_store_clear(&store);
    return status;
}

/* Channels of unequal weight run out of pieces at different times. */
static bool has_equal_channels(const struct ronde_schedule *schedule)
{
    bool is_equal = true;
    for (uint32_t i = 1; i < schedule->channel_count; i++)
        is_equal = is_equal && schedule->channels[i].weight == schedule->channels[0].weight;
    return is_equal;
}

/* Ends of the whole load with its pieces continued. */
static enum ronde_status continue_pieces(struct extrapolation *run, uint64_t pieces,
                                         struct ends *ends)
{
    for (uint32_t k = 0; k < 3; k++) {
        const uint64_t window = first_window(run, pieces) + k * run->window;
        const struct ronde_load load =
            ronde_sim_fewer_pieces(run->job->schedule, &run->load, pieces - window);
        RONDE_TRY(ends_of_load(run, &load, ends->of[k]));
    }
    memcpy(ends->sum, ends->of[0], run->job->schedule->ranks * sizeof *ends->sum);
    return continue_phase(run, ends, pieces, "pieces");
}

/* One attempt with one K. The busiest link is that of the longest window. */
static enum ronde_status attempt(struct extrapolation *run, uint64_t pieces,
                                 struct ronde_sim_result *out_result)
{
    const uint32_t ranks = run->job->schedule->ranks;
    struct ends ends;
    double end_ns = ronde_time_least_ns(run->job->params, run->job->schedule, &run->load);
    run->longest.time_ns = 0;
    run->slope_difference = 0;
    struct ronde_store store = {.mem = run->mem};
    enum ronde_status status = ends_new(run, &store, &ends) ? RONDE_OK : no_memory(run);
    if (status == RONDE_OK && pieces >= LEAST(run->window))
        status = continue_pieces(run, pieces, &ends);
    else
        RONDE_THEN(status, ends_of_load(run, &run->load, ends.sum));
    for (uint32_t rank = 0; status == RONDE_OK && rank < ranks; rank++)
        end_ns = fmax(end_ns, ends.sum[rank]);
    *out_result = run->longest;
    out_result->time_ns =
        end_ns + ronde_time_launch_ns(run->job->params, run->job->schedule, &run->load);
    out_result->window = run->window;
    out_result->slope_difference = run->slope_difference;
    ronde_store_clear(&store);
    return status;
}

/*
 * Chunks that differ by a grain travel through a ring one after another, and no window sees all of them. Where phases
 * are to be continued such a load is replayed as the least one with equal chunks, if that is hardly larger.
 */
static struct ronde_load with_equal_chunks(const struct ronde_sim_job *job)
{
    const uint64_t unit = (uint64_t)(RONDE_GRAIN_BYTES / ronde_dtype_bytes(job->load->dtype)) *
                          job->schedule->chunks_per_block * job->schedule->channel_count;
    struct ronde_load load = *job->load;
    const uint64_t missing = (unit - load.count % unit) % unit;
    if ((double)missing <= MOST_GROWTH * (double)load.count)
        load.count += missing;
    return load;
}

/* Tries one K after another while windows differ. */
static enum ronde_status try_windows(struct extrapolation *run, struct ronde_sim_result *out_result)
{
    const struct ronde_schedule *schedule = run->job->schedule;
    enum ronde_status status = RONDE_UNSUPPORTED;
    for (size_t i = 0;
         i < sizeof windows / sizeof *windows && status == RONDE_UNSUPPORTED && !is_worked_out(run);
         i++) {
        run->window = windows[i];
        run->phase_count = ronde_sim_phases(schedule, LEAST(run->window) - 1, run->phases);
        run->load = run->phase_count > 0 && has_equal_channels(schedule)
                        ? with_equal_chunks(run->job)
                        : *run->job->load;
        const uint64_t pieces =
            has_equal_channels(schedule) ? ronde_sim_pieces(schedule, &run->load) : 1;
        if (run->phase_count == 0 && pieces < LEAST(run->window))
            break;
        *run->error = (struct ronde_error){RONDE_OK, 0, ""};
        status = attempt(run, pieces, out_result);
        out_result->size_difference =
            (double)(run->load.count - run->job->load->count) / (double)run->job->load->count;
    }
    return status;
}

enum ronde_status
ronde_sim_extrapolate(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                      const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                      struct ronde_error *error)
{
    /* A record of its own: what one K cannot do is no failure yet. */
    struct ronde_error refusal = {RONDE_OK, 0, ""};
    struct extrapolation run = {.job = job, .mem = mem, .error = &refusal};
    run.options = options ? *options : ronde_sim_defaults;
    run.work_limit = run.options.work_limit;
    run.options.until_ns = 0; /* of the whole run: windows are shorter */
    memset(out_result, 0, sizeof *out_result);
    if ((unsigned)job->load->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "data type %u does not exist",
                          (unsigned)job->load->dtype);
    if (run.options.out_start_ns || run.options.out_finish_ns)
        return ronde_fail(error, RONDE_UNSUPPORTED, "extrapolation keeps no times of operations");
    (void)ronde_fail(&refusal, RONDE_UNSUPPORTED,
                     "nothing to extrapolate: %s on %u ranks has neither %u alike steps in a row "
                     "nor %u pieces",
                     job->schedule->algorithm, job->schedule->ranks, LEAST(windows[0]),
                     LEAST(windows[0]));
    const enum ronde_status status = try_windows(&run, out_result);
    return status == RONDE_OK ? RONDE_OK : ronde_fail(error, status, "%s", refusal.message);
}
