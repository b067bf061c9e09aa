/**
 * Constants from measurements: of all machines, or three of one machine. See published.h.
 *
 * Here is what is fitted, to which rows, from which start and with which weight; lower.h finds the numbers. Systems weigh
 * alike whatever their number of rows. Leaving its start costs a constant: a share so much as share_spread says, a guess so much as
 * the rows do (prior.c).
 */
#include "lower.h"

#include "nccl/model/setting.h"

#include <math.h>
#include <string.h>

/** Logarithmic distance from a start that costs as much as a weight, of what a system's rows are off by; of guesses where a search begins. */
static const double guess_spread = .6, share_spread = .1;

/** The weight of a start: of constants of all machines where a search begins, and of one system's own numbers, whose rows err alike. */
static const double start_weight = .005, own_start_weight = .04;

/**
 * The same of one system's own numbers. Rates carry over from one call to others of the machine, so they may go far, and so may the rate
 * at which a host launches on GPUs in turn, which is the same for all calls; what small calls are off by besides is not, so launch and
 * hops are held: left free, they make the median of left-out systems worse by a sixth.
 */
static const double rate_spread = .2, launch_spread = .05, hop_spread = .1;

/** Bytes up to which a call's time is latency for the most part. */
static const uint64_t most_latency_bytes = 65536;

/** Times as slow as the starts say, on the whole, from which on a system is another machine than its description's. */
static const double most_off = 1.6;

/** Rows of a system that are fitted to at most: neighbours say the same. */
enum { MOST_ROWS = 150 };

/** Whether two rows are one series, the second of them the next size. */
static bool is_step(const struct ronde_published_row *from, const struct ronde_published_row *to)
{
    return from->system == to->system && from->state <= RONDE_PUBLISHED_FITTED &&
           to->state <= RONDE_PUBLISHED_FITTED && from->call.collective == to->call.collective &&
           from->call.ranks == to->call.ranks && from->call.nodes == to->call.nodes &&
           from->call.version == to->call.version && from->wish.algorithm == to->wish.algorithm &&
           from->wish.protocol == to->wish.protocol && to->call.bytes > from->call.bytes;
}

double ronde_published_falls(const struct ronde_published *published, uint32_t system)
{
    size_t steps = 0, falls = 0;
    for (size_t r = 1; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system != system || !is_step(row - 1, row))
            continue;
        steps++;
        falls += row->measured_us < .9 * row[-1].measured_us;
    }
    return steps > 0 ? (double)falls / (double)steps : 0;
}

/**
 * Whether a system is so much slower than the model's starts have it that its description is of another machine: what it says
 * of H100-cluster00, where eight NICs may be one, no constant of other machines should learn.
 */
static bool is_another_machine(const struct published_fit *fit, uint32_t system)
{
    double off = 0;
    size_t rows = 0;
    for (size_t r = 0; r < fit->published->count; r++) {
        const struct ronde_published_row *row = &fit->published->rows[r];
        if (row->system != system || row->state != fit->state)
            continue;
        off += log(row->measured_us /
                   ronde_nccl_execution_us(fit->constants, &fit->published->systems[system].machine,
                                           &row->call, row->choice));
        rows++;
    }
    return rows > 0 && off / (double)rows > log(most_off);
}

/** Systems weigh alike, whatever the number of their rows. */
static void weigh(struct published_fit *fit, uint32_t system)
{
    size_t rows = 0;
    for (size_t r = 0; r < fit->published->count; r++)
        rows +=
            fit->published->rows[r].system == system && fit->published->rows[r].state == fit->state;
    const size_t stride = (rows + MOST_ROWS - 1) / MOST_ROWS;
    fit->stride[system] = stride > 0 ? stride : 1;
    fit->weight[system] = rows > 0 ? 1 / ceil((double)rows / (double)fit->stride[system]) : 0;
}

/** Whether a constant is a time, by the unit in its name. */
static bool is_time(size_t constant)
{
    char name[64];
    ronde_nccl_constant_name(constant, name, sizeof name);
    return strstr(name, "_us");
}

/**
 * Every constant that has a start, at its start. Shares of a rate are known from data sheets and NCCL's own counts; times, and rates of
 * blocks and processors, are guesses.
 */
static void take_constants(struct published_fit *fit, struct ronde_nccl_constants *constants)
{
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT && fit->count < PUBLISHED_MOST_KNOBS; i++) {
        struct ronde_nccl_constant *constant = &constants->all[i];
        if (!(constant->start > 0))
            continue;
        const bool is_share = constant->start < 1 && !is_time(i);
        constant->value = constant->start;
        fit->knobs[fit->count++] = (struct published_knob){&constant->value, constant->start,
                                                           is_share ? share_spread : guess_spread,
                                                           is_share ? 1 : 1e6, !is_share};
    }
}

void ronde_published_fit_constants(const struct ronde_published *published, uint32_t except,
                                   struct ronde_nccl_constants *constants)
{
    struct published_fit fit = {.published = published,
                                .constants = constants,
                                .state = RONDE_PUBLISHED_PREDICTED,
                                .start_weight = start_weight,
                                .is_of_all = true};
    take_constants(&fit, constants);
    for (uint32_t s = 0; s < published->system_count; s++) {
        weigh(&fit, s);
        if (s == except || ronde_published_falls(published, s) > RONDE_PUBLISHED_MOST_FALLS ||
            is_another_machine(&fit, s))
            fit.weight[s] = 0;
    }
    published_lower_by_rows(&fit);
}

/** Sends and receives: few channels limit these, not the links. */
static bool is_point(const struct ronde_published_row *row)
{
    return row->choice.algorithm == RONDE_NCCL_POINT;
}

/** Whether `row` says more of a machine than `than`, or is nearer to what anyone measures first: all_reduce on few nodes. */
static bool is_before(const struct ronde_published_row *row, const struct ronde_published_row *than)
{
    if (is_point(row) != is_point(than))
        return is_point(than);
    if (row->call.collective != than->call.collective &&
        (row->call.collective == RONDE_ALL_REDUCE || than->call.collective == RONDE_ALL_REDUCE))
        return row->call.collective == RONDE_ALL_REDUCE;
    return row->call.nodes < than->call.nodes;
}

static bool is_candidate(const struct ronde_published_row *row, uint32_t system)
{
    return row->system == system && row->state == RONDE_PUBLISHED_PREDICTED;
}

size_t ronde_published_mark_anchor(struct ronde_published *published, uint32_t system, bool is_whole)
{
    struct ronde_published_row *first = NULL;
    size_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (is_candidate(row, system) && (!first || is_before(row, first)))
            first = row;
    }
    const struct ronde_nccl_call call = first ? first->call : (struct ronde_nccl_call){.bytes = 0};
    for (size_t r = 0; first && r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (!is_candidate(row, system) || (!is_whole && (row->call.collective != call.collective ||
                                                         row->call.nodes != call.nodes)))
            continue;
        row->state = RONDE_PUBLISHED_FITTED;
        count++;
    }
    return count;
}

static bool is_fitted(const struct ronde_published_row *row, uint32_t system)
{
    return row->system == system && row->state == RONDE_PUBLISHED_FITTED;
}

/** What an anchor's rows are: how many, how many nodes they lie on at most, whether latency is most of the time of some. */
static struct ronde_published_anchor look_at(const struct ronde_published *published,
                                             uint32_t system, bool *out_has_small)
{
    struct ronde_published_anchor anchor = {.rate = 1, .latency = 1};
    *out_has_small = false;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (!is_fitted(row, system))
            continue;
        anchor.rows++;
        anchor.is_several = anchor.is_several || row->call.nodes > 1;
        *out_has_small = *out_has_small || row->call.bytes <= most_latency_bytes;
    }
    return anchor;
}

/**
 * Takes what an anchor says of the launch: how long the host needs for one GPU where a process launches on all of a node in turn,
 * which then hides what a kernel takes, else the kernel's own.
 */
static double *take_launch(struct published_fit *fit, const struct ronde_nccl_machine *machine,
                           bool is_in_turn, struct ronde_nccl_constants *constants)
{
    double *launch = &constants->launch_us;
    if (is_in_turn)
        launch = &constants->all[RONDE_NCCL_COMMON_launch_us_per_gpu].value;
    else
        *launch = ronde_nccl_launch_us(constants, machine);
    fit->knobs[fit->count++] =
        (struct published_knob){launch, *launch, is_in_turn ? rate_spread : launch_spread, 1e6,
                                false};
    return launch;
}

struct ronde_published_anchor ronde_published_fit_system(const struct ronde_published *published,
                                                         uint32_t system,
                                                         struct ronde_nccl_constants *constants)
{
    const struct ronde_nccl_machine *machine = &published->systems[system].machine;
    bool has_small = false;
    struct ronde_published_anchor anchor = look_at(published, system, &has_small);
    if (anchor.rows == 0)
        return anchor;
    struct published_fit fit = {.published = published,
                                .constants = constants,
                                .state = RONDE_PUBLISHED_FITTED,
                                .start_weight = own_start_weight};
    double *rate = anchor.is_several ? &constants->nics : &constants->links;
    double *latency = anchor.is_several ? &constants->between : &constants->inside;
    anchor.launch_us = ronde_nccl_launch_us(constants, machine);
    const double *launch = &anchor.launch_us;
    fit.knobs[fit.count++] = (struct published_knob){rate, 1, rate_spread, 2, false};
    /* Large messages alone say nothing of latencies: those stay the generation's. */
    if (has_small) {
        anchor.is_in_turn = ronde_nccl_is_in_turn(machine, anchor.is_several ? 2 : 1);
        launch = take_launch(&fit, machine, anchor.is_in_turn, constants);
        fit.knobs[fit.count++] = (struct published_knob){latency, 1, hop_spread, 1e6, false};
    }
    weigh(&fit, system);
    published_lower(&fit);
    anchor.rate = *rate;
    anchor.latency = *latency;
    anchor.launch_us = *launch;
    return anchor;
}
