/**
 * The least loss by steps of Levenberg and Marquardt over the logarithms of numbers. See lower.h.
 *
 * With x = log(predicted / measured) / scale the loss of a row is log(1 + x^2) in a fit of one system, which a few wild rows cannot
 * sway, and x^2 / (1 + x^2) in one of all machines (Geman and McClure 1987): there whole series are wild, of what the model does not
 * have, and what they still pull by log(1 + x^2) the constants give to all others. A step solves the normal equations of all
 * rows, each weighed by how wild it is; it is damped until the loss falls. Derivatives are differences over 2 %, since NCCL's least
 * of several rates has corners.
 */
#include "lower.h"

#include <math.h>
#include <string.h>

/** Error of a row, in the logarithm, beyond which it weighs less and less: of all machines' constants, and of one system's own. */
static const double all_row_scale = .4, own_row_scale = .2;

/** How far a fit may go from a start, and in one step. */
static const double farthest = 6, longest_step = .3;

static const double difference = .02, least_gain = 1e-4;
static const double first_damping = 1e-2, most_damping = 1e6;
static const unsigned most_steps = 40;

static double row_scale(const struct published_fit *fit)
{
    return fit->is_of_all ? all_row_scale : own_row_scale;
}

static double log_predicted(const struct published_fit *fit, const struct ronde_published_row *row)
{
    return log(ronde_nccl_execution_us(fit->constants, &fit->published->systems[row->system].machine,
                                       &row->call, row->choice));
}

/** The next row that counts from *at on; NULL behind the last. `seen` counts a system's rows. */
static const struct ronde_published_row *next_row(const struct published_fit *fit, size_t *at,
                                                  size_t seen[RONDE_PUBLISHED_MAX_SYSTEMS])
{
    for (; *at < fit->published->count; ++*at) {
        const struct ronde_published_row *row = &fit->published->rows[*at];
        if (row->state == fit->state && fit->weight[row->system] > 0 &&
            seen[row->system]++ % fit->stride[row->system] == 0) {
            ++*at;
            return row;
        }
    }
    return NULL;
}

double published_off_start(const struct published_knob *knob)
{
    return log(*knob->value / knob->start);
}

static double knobs_loss(const struct published_fit *fit)
{
    double loss = 0;
    for (size_t k = 0; k < fit->count; k++)
        loss += pow(published_off_start(&fit->knobs[k]) / fit->knobs[k].spread, 2);
    return fit->start_weight * loss;
}

/** How far a row is off, in scales. */
static double off_of(const struct published_fit *fit, double log_us,
                     const struct ronde_published_row *row)
{
    return (log_us - log(row->measured_us)) / row_scale(fit);
}

/** What that costs. */
static double row_loss(const struct published_fit *fit, double off)
{
    return fit->is_of_all ? off * off / (1 + off * off) : log1p(off * off);
}

/** Half of what it costs more if the row is off by a little more, over what it is off by. */
static double row_weight(const struct published_fit *fit, double off)
{
    return 1 / (fit->is_of_all ? pow(1 + off * off, 2) : 1 + off * off);
}

static double loss_of(const struct published_fit *fit)
{
    size_t at = 0, seen[RONDE_PUBLISHED_MAX_SYSTEMS] = {0};
    double loss = knobs_loss(fit);
    for (const struct ronde_published_row *row; (row = next_row(fit, &at, seen));) {
        const double off = off_of(fit, log_predicted(fit, row), row);
        loss += fit->weight[row->system] * row_loss(fit, off);
    }
    return loss;
}

static void add_row(const struct published_fit *fit, const struct ronde_published_row *row,
                    struct published_equations *to)
{
    double slope[PUBLISHED_MOST_KNOBS];
    size_t felt[PUBLISHED_MOST_KNOBS], count = 0;
    const double here = log_predicted(fit, row);
    const double off = off_of(fit, here, row);
    const double weight = 2 * fit->weight[row->system] * row_weight(fit, off);
    for (size_t k = 0; k < fit->count; k++) {
        const double before = *fit->knobs[k].value;
        *fit->knobs[k].value = before * (1 + difference);
        const double change = log_predicted(fit, row) - here;
        *fit->knobs[k].value = before;
        if (change == 0)
            continue;
        slope[k] = change / log1p(difference) / row_scale(fit);
        felt[count++] = k;
    }
    for (size_t i = 0; i < count; i++) {
        to->slope[felt[i]] += weight * off * slope[felt[i]];
        for (size_t j = 0; j < count; j++)
            to->curve[felt[i]][felt[j]] += weight * slope[felt[i]] * slope[felt[j]];
    }
}

void published_add_rows(const struct published_fit *fit, uint32_t system,
                        struct published_equations *to)
{
    size_t at = 0, seen[RONDE_PUBLISHED_MAX_SYSTEMS] = {0};
    for (const struct ronde_published_row *row; (row = next_row(fit, &at, seen));)
        if (system == UINT32_MAX || row->system == system)
            add_row(fit, row, to);
}

void published_add_starts(const struct published_fit *fit, struct published_equations *to)
{
    for (size_t k = 0; k < fit->count; k++) {
        const struct published_knob *knob = &fit->knobs[k];
        const double own = 2 * fit->start_weight / (knob->spread * knob->spread);
        to->slope[k] += own * published_off_start(knob);
        to->curve[k][k] += own;
    }
}

bool published_solve(const struct published_fit *fit, const struct published_equations *equations,
                     double damping, double out_step[PUBLISHED_MOST_KNOBS])
{
    double low[PUBLISHED_MOST_KNOBS][PUBLISHED_MOST_KNOBS];
    const size_t n = fit->count;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = equations->curve[i][j] * (i == j ? 1 + damping : 1);
            for (size_t k = 0; k < j; k++)
                sum -= low[i][k] * low[j][k];
            if (i == j && !(sum > 0))
                return false;
            low[i][j] = i == j ? sqrt(sum) : sum / low[j][j];
        }
    for (size_t i = 0; i < n; i++) {
        double sum = -equations->slope[i];
        for (size_t k = 0; k < i; k++)
            sum -= low[i][k] * out_step[k];
        out_step[i] = sum / low[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        double sum = out_step[i];
        for (size_t k = i + 1; k < n; k++)
            sum -= low[k][i] * out_step[k];
        out_step[i] = sum / low[i][i];
    }
    return true;
}

static void move(const struct published_fit *fit, const double step[PUBLISHED_MOST_KNOBS])
{
    for (size_t k = 0; k < fit->count; k++) {
        const struct published_knob *knob = &fit->knobs[k];
        const double by = fmax(-longest_step, fmin(longest_step, step[k]));
        const double least = knob->start / farthest, most = fmin(knob->most, knob->start * farthest);
        *knob->value = fmax(least, fmin(most, *knob->value * exp(by)));
    }
}

/** One step that lowers the loss; returns the loss that remains. */
static double step_down(const struct published_fit *fit, double loss, double *damping)
{
    struct published_equations equations;
    double step[PUBLISHED_MOST_KNOBS], before[PUBLISHED_MOST_KNOBS];
    memset(&equations, 0, sizeof equations);
    published_add_rows(fit, UINT32_MAX, &equations);
    published_add_starts(fit, &equations);
    for (size_t k = 0; k < fit->count; k++)
        before[k] = *fit->knobs[k].value;
    for (; *damping < most_damping; *damping *= 4) {
        if (!published_solve(fit, &equations, *damping, step))
            continue;
        move(fit, step);
        const double tried = loss_of(fit);
        if (tried < loss) {
            *damping /= 8;
            return tried;
        }
        for (size_t k = 0; k < fit->count; k++)
            *fit->knobs[k].value = before[k];
    }
    return loss;
}

void published_lower(const struct published_fit *fit)
{
    double damping = first_damping, loss = loss_of(fit);
    for (unsigned s = 0; s < most_steps; s++) {
        const double before = loss;
        loss = step_down(fit, before, &damping);
        if (before - loss < least_gain * before)
            return;
    }
}
