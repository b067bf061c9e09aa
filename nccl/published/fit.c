/**
 * Constants of all machines from measurements. See published.h.
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

/** The weight of a start, where a search begins. */
static const double start_weight = .005;

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

void published_weigh(struct published_fit *fit, uint32_t system)
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
        published_weigh(&fit, s);
        if (s == except || ronde_published_falls(published, s) > RONDE_PUBLISHED_MOST_FALLS ||
            is_another_machine(&fit, s))
            fit.weight[s] = 0;
    }
    published_lower_by_rows(&fit);
}
