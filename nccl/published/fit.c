/**
 * Constants from measurements: of all machines, or four of one machine. See published.h.
 *
 * Both go through one constant at a time and keep the step up or down that lowers the loss, steps being halved from 20 %
 * to 1 %: the loss is neither smooth nor convex, since NCCL's choices and the least of several rates are in it. The loss of
 * a row is log(1 + (log(predicted / measured) / scale)^2), which a few wild rows cannot sway; systems weigh alike whatever
 * their number of rows. Leaving its start costs a constant, more so an efficiency, which is known better than a latency.
 */
#include "ronde/published.h"

#include <math.h>

/** Error of a row beyond which it weighs less and less. */
static const double row_scale = .2;

/** Logarithmic distance from a start that costs as much as a weight, of what a system's rows are off by. */
static const double latency_spread = .6, share_spread = .1;

/**
 * The weight of a start: of constants of all machines, and of one system's own numbers. A system's smallest ranks are one or two
 * series, whose rows err alike: they are taken for 25 rows, whatever their number, where the others of a system are for fifty.
 * One that is another machine than its description's is known by nothing else, so its rows count in full.
 */
static const double start_weight = .02, own_start_weight = .04;

/** The same of a generation's constant from where those of the same name lie in the other generations. */
static const double kin_spread = .2;

/** The same of one system's own numbers from its generation's: hosts differ more than parts of one kind do. */
static const double launch_spread = .3, own_spread = .2;

/** How far a fit may go from a start. */
static const double farthest = 6;

/** Bytes up to which a call's time is latency for the most part. */
static const uint64_t most_latency_bytes = 65536;

/** Times as slow as the starts say, on the whole, from which on a system is another machine than its description's. */
static const double most_off = 1.6;

static const double first_step = .2, last_step = .01;
static const unsigned passes_per_step = 8;

static double row_loss(const struct ronde_published *published,
                       const struct ronde_published_row *row,
                       const struct ronde_nccl_constants *constants)
{
    const double predicted =
        ronde_nccl_execution_us(constants, &published->systems[row->system].machine, &row->call,
                                row->choice);
    const double off = log(predicted / row->measured_us) / row_scale;
    return log1p(off * off);
}

/** What is lowered: rows that count, by state and system, and what changes. */
struct fit {
    const struct ronde_published *published;
    struct ronde_nccl_constants *constants;
    enum ronde_published_state state; /**< rows that count */
    uint32_t only;                    /**< UINT32_MAX = all systems */
    uint32_t except;                  /**< UINT32_MAX = none */
    double start_weight;
    double weight[RONDE_PUBLISHED_MAX_SYSTEMS];
};

/** One number that is fitted. */
struct knob {
    double *value;
    double start, spread, most;
    unsigned kin; /**< knobs of one number other than 0 lie alike from their starts */
};

/** All numbers that are fitted. */
struct knobs {
    struct knob at[RONDE_NCCL_CONSTANT_COUNT];
    size_t count;
};

static bool counts(const struct fit *fit, const struct ronde_published_row *row)
{
    return row->state == fit->state && row->system != fit->except &&
           (fit->only == UINT32_MAX || row->system == fit->only);
}

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
static bool is_another_machine(const struct fit *fit, uint32_t system)
{
    double off = 0;
    size_t rows = 0;
    for (size_t r = 0; r < fit->published->count; r++) {
        const struct ronde_published_row *row = &fit->published->rows[r];
        if (row->system != system || !counts(fit, row))
            continue;
        off += log(row->measured_us /
                   ronde_nccl_execution_us(fit->constants, &fit->published->systems[system].machine,
                                           &row->call, row->choice));
        rows++;
    }
    return rows > 0 && off / (double)rows > log(most_off);
}

/** Constants are those of the starts, where those of all systems are fitted. */
static void weigh(struct fit *fit)
{
    size_t rows[RONDE_PUBLISHED_MAX_SYSTEMS] = {0};
    for (size_t r = 0; r < fit->published->count; r++)
        rows[fit->published->rows[r].system] += counts(fit, &fit->published->rows[r]);
    for (uint32_t s = 0; s < fit->published->system_count; s++)
        fit->weight[s] = rows[s] > 0 ? 1 / (double)rows[s] : 0;
    for (uint32_t s = 0; fit->only == UINT32_MAX && s < fit->published->system_count; s++)
        if (ronde_published_falls(fit->published, s) > RONDE_PUBLISHED_MOST_FALLS ||
            is_another_machine(fit, s))
            fit->weight[s] = 0;
}

static double off_start(const struct knob *knob)
{
    return log(*knob->value / knob->start);
}

/** What it costs a constant to lie elsewhere than its kin do. */
static double kin_loss(const struct knobs *knobs, unsigned kin)
{
    double sum = 0, squares = 0, count = 0;
    for (size_t k = 0; k < knobs->count; k++)
        if (knobs->at[k].kin == kin) {
            const double off = off_start(&knobs->at[k]) / kin_spread;
            sum += off;
            squares += off * off;
            count++;
        }
    return kin > 0 ? squares - sum * sum / count : 0;
}

/** What leaving its start costs a knob, and its kin. */
static double knob_loss(const struct fit *fit, const struct knobs *knobs, const struct knob *knob)
{
    const double off = off_start(knob) / knob->spread;
    return fit->start_weight * (off * off + kin_loss(knobs, knob->kin));
}

static double rows_loss(const struct fit *fit)
{
    double loss = 0;
    for (size_t r = 0; r < fit->published->count; r++) {
        const struct ronde_published_row *row = &fit->published->rows[r];
        if (counts(fit, row))
            loss += fit->weight[row->system] * row_loss(fit->published, row, fit->constants);
    }
    return loss;
}

/** Tries one number a step up and down; returns the loss of the rows that remains. */
static double turn(const struct fit *fit, const struct knobs *knobs, const struct knob *knob,
                   double step, double loss)
{
    for (int side = 0; side < 2; side++) {
        const double before = *knob->value, cost = loss + knob_loss(fit, knobs, knob);
        const double after = side ? before * (1 + step) : before / (1 + step);
        if (after > knob->most || fabs(log(after / knob->start)) > log(farthest))
            continue;
        *knob->value = after;
        const double tried = rows_loss(fit);
        if (tried + knob_loss(fit, knobs, knob) < cost)
            return tried;
        *knob->value = before;
    }
    return loss;
}

static void lower(const struct fit *fit, const struct knobs *knobs)
{
    double loss = rows_loss(fit);
    for (double step = first_step; step > last_step; step /= 2) {
        bool has_moved = true;
        for (unsigned pass = 0; has_moved && pass < passes_per_step; pass++) {
            has_moved = false;
            for (size_t k = 0; k < knobs->count; k++) {
                const double before = *knobs->at[k].value;
                loss = turn(fit, knobs, &knobs->at[k], step, loss);
                has_moved = has_moved || *knobs->at[k].value != before;
            }
        }
    }
}

/** Constants of generations are kin of those of the same name. */
static unsigned kin_of(size_t constant)
{
    const size_t of_generation = constant - RONDE_NCCL_COMMON_COUNT;
    return constant < RONDE_NCCL_COMMON_COUNT
               ? 0
               : 1 + (unsigned)(of_generation % RONDE_NCCL_OF_GENERATION_COUNT);
}

void ronde_published_fit_constants(const struct ronde_published *published, uint32_t except,
                                   struct ronde_nccl_constants *constants)
{
    struct knobs knobs = {.count = 0};
    struct fit fit = {.published = published,
                      .constants = constants,
                      .state = RONDE_PUBLISHED_PREDICTED,
                      .only = UINT32_MAX,
                      .except = except,
                      .start_weight = start_weight};
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        struct ronde_nccl_constant *constant = &constants->all[i];
        if (!(constant->start > 0))
            continue;
        /* What flags and message rates leave of a link is guessed; how much of one is reached is not. */
        const bool is_share = constant->start < 1, is_known = is_share && constant->start > .7;
        constant->value = constant->start;
        knobs.at[knobs.count++] =
            (struct knob){&constant->value, constant->start,
                          is_known ? share_spread : latency_spread, is_share ? 1 : 1e6, kin_of(i)};
    }
    weigh(&fit);
    lower(&fit, &knobs);
}

/** Sends and receives: few channels limit these, not the links. */
static bool is_point(const struct ronde_published_row *row)
{
    return row->choice.algorithm == RONDE_NCCL_POINT;
}

/** Whether `row` is a better first row to fit than `than`: fewer ranks, fewer nodes, all_reduce before others. */
static bool is_before(const struct ronde_published_row *row, const struct ronde_published_row *than)
{
    if (is_point(row) != is_point(than))
        return is_point(than);
    if (row->call.ranks != than->call.ranks)
        return row->call.ranks < than->call.ranks;
    if (row->call.nodes != than->call.nodes)
        return row->call.nodes < than->call.nodes;
    if (row->call.collective != than->call.collective)
        return row->call.collective == RONDE_ALL_REDUCE;
    return row->wish.algorithm + row->wish.protocol > than->wish.algorithm + than->wish.protocol;
}

/** The smallest ranks, one collective there, one setting of NCCL's algorithm and protocol. */
static size_t mark(struct ronde_published *published, uint32_t system)
{
    const struct ronde_published_row *first = NULL;
    size_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system == system && row->state == RONDE_PUBLISHED_PREDICTED &&
            (!first || is_before(row, first)))
            first = row;
    }
    for (size_t r = 0; first && r < published->count; r++) {
        struct ronde_published_row *row = &published->rows[r];
        if (row->system == system && row->state == RONDE_PUBLISHED_PREDICTED &&
            row->call.ranks == first->call.ranks && row->call.nodes == first->call.nodes &&
            row->call.collective == first->call.collective &&
            row->wish.algorithm == first->wish.algorithm &&
            row->wish.protocol == first->wish.protocol && row != first) {
            row->state = RONDE_PUBLISHED_FITTED;
            count++;
        }
    }
    if (first)
        published->rows[first - published->rows].state = RONDE_PUBLISHED_FITTED;
    return first ? count + 1 : 0;
}

/** Nodes of the rows that are fitted; they are all alike. */
static uint32_t fitted_nodes(const struct ronde_published *published, uint32_t system)
{
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].system == system && published->rows[r].state == RONDE_PUBLISHED_FITTED)
            return published->rows[r].call.nodes;
    return 0;
}

/** Whether rows are there whose time is latency for the most part. */
static bool has_small(const struct ronde_published *published, uint32_t system)
{
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].system == system &&
            published->rows[r].state == RONDE_PUBLISHED_FITTED &&
            published->rows[r].call.bytes <= most_latency_bytes)
            return true;
    return false;
}

size_t ronde_published_fit_system(struct ronde_published *published, uint32_t system,
                                  struct ronde_nccl_constants *constants)
{
    const size_t rows = mark(published, system);
    if (rows == 0)
        return 0;
    struct fit fit = {.published = published,
                      .constants = constants,
                      .state = RONDE_PUBLISHED_FITTED,
                      .only = system,
                      .except = UINT32_MAX};
    const enum ronde_nccl_generation generation = published->systems[system].machine.generation;
    const double launch =
        constants
            ->all[RONDE_NCCL_COMMON_COUNT + (size_t)generation * RONDE_NCCL_OF_GENERATION_COUNT +
                  RONDE_NCCL_OF_launch_us]
            .value;
    constants->launch_us = launch;
    double *links = fitted_nodes(published, system) > 1 ? &constants->nics : &constants->links;
    /* Large messages alone say nothing of latencies: those stay the generation's. */
    struct knobs knobs = {.at = {{links, 1, own_spread, 2, 0},
                                 {&constants->launch_us, launch, launch_spread, 1e6, 0},
                                 {&constants->inside, 1, own_spread, 1e6, 0},
                                 {&constants->between, 1, own_spread, 1e6, 0}},
                          .count = 4};
    weigh(&fit);
    fit.start_weight = is_another_machine(&fit, system) ? start_weight : own_start_weight;
    if (!has_small(published, system)) {
        constants->launch_us = 0;
        knobs.count = 1;
    }
    lower(&fit, &knobs);
    return rows;
}
