/**
 * How much a fit leaves to the starts, as the rows themselves have it. See lower.h.
 *
 * What a fit lowers is   loss of the systems + w sum over numbers of (log(number / start) / s)^2.   Divided by 2 w that is minus the
 * logarithm of a posterior whose prior says: numbers lie by s from their starts. Near its least value it has the curvature A, of which
 * H is the rows' part; of a number k the rows decide the share  decided = 1 - 2 w (A^-1)_kk / s_k^2.
 *
 *   s, of guesses   s^2 = sum of squares of log(number / start) over the sum of what is decided (MacKay's fixed point)
 *   w               numbers scatter by 2 w A^-1 about the truth, and by x when a system is left out, one after the other (the
 *                   jackknife): 2 w = sum over systems of x' A x over the sum of what is decided; 1 / 2 w is so many rows as a
 *                   system has that do not repeat each other
 *
 * So neither is set by anyone who has seen scores, and a system that is left out of a fit has no part in either. The published tables
 * have s at .37, and w at .028.
 */
#include "lower.h"

#include <math.h>
#include <string.h>

/** Systems from which on their scatter tells something. */
enum { ENOUGH_SYSTEMS = 8 };

/** Rounds at most, and the change of a number that ends them. */
enum { MOST_ROUNDS = 10 };
static const double settled = .02;

/** What nothing comes below, so that rows that a model makes by itself are no division by 0. */
static const double least_spread = .01, least_weight = 1e-4;

/** The share of a number that the rows decide; `whole` is A. */
static void decide(const struct published_fit *fit, const struct published_equations *whole,
                   double out_decided[PUBLISHED_MOST_KNOBS])
{
    struct published_equations column = *whole;
    for (size_t k = 0; k < fit->count; k++) {
        const double spread = fit->knobs[k].spread;
        double inverse[PUBLISHED_MOST_KNOBS] = {0};
        memset(column.slope, 0, sizeof column.slope);
        column.slope[k] = -1;
        (void)published_solve(fit, &column, 0, inverse);
        out_decided[k] = 1 - 2 * fit->start_weight * inverse[k] / (spread * spread);
    }
}

/** x' A x of the step x that numbers take when a system is left out. */
static double jackknifed(const struct published_fit *fit, const struct published_equations *whole,
                         uint32_t system)
{
    struct published_equations rest;
    double step[PUBLISHED_MOST_KNOBS], sum = 0;
    memset(&rest, 0, sizeof rest);
    published_add_rows(fit, system, &rest);
    for (size_t i = 0; i < fit->count; i++)
        for (size_t j = 0; j < fit->count; j++)
            rest.curve[i][j] = whole->curve[i][j] - rest.curve[i][j];
    if (!published_solve(fit, &rest, 0, step))
        return 0;
    for (size_t i = 0; i < fit->count; i++)
        for (size_t j = 0; j < fit->count; j++)
            sum += step[i] * whole->curve[i][j] * step[j];
    return sum;
}

/** The spread of guesses by what is decided of them. */
static double guess_spread_of(const struct published_fit *fit,
                              const double decided[PUBLISHED_MOST_KNOBS])
{
    double squares = 0, sum = 0;
    for (size_t k = 0; k < fit->count; k++) {
        if (!fit->knobs[k].is_guess)
            continue;
        squares += pow(published_off_start(&fit->knobs[k]), 2);
        sum += decided[k];
    }
    return sum > 0 ? fmax(least_spread, sqrt(squares / sum)) : least_spread;
}

/** Takes the spread and the weight that the fit as it is speaks for; returns by what factor either changes, as a logarithm. */
static double take_prior(struct published_fit *fit)
{
    struct published_equations whole;
    double decided[PUBLISHED_MOST_KNOBS], sum = 0, scatter = 0, changed = 0;
    memset(&whole, 0, sizeof whole);
    published_add_rows(fit, UINT32_MAX, &whole);
    published_add_starts(fit, &whole);
    decide(fit, &whole, decided);
    for (size_t k = 0; k < fit->count; k++)
        sum += decided[k];
    for (uint32_t s = 0; s < fit->published->system_count; s++)
        scatter += fit->weight[s] > 0 ? jackknifed(fit, &whole, s) : 0;
    const double spread = guess_spread_of(fit, decided);
    const double weight = sum > 0 ? fmax(least_weight, scatter / sum / 2) : fit->start_weight;
    changed = fabs(log(weight / fit->start_weight));
    fit->start_weight = weight;
    for (size_t k = 0; k < fit->count; k++) {
        if (!fit->knobs[k].is_guess)
            continue;
        changed = fmax(changed, fabs(log(spread / fit->knobs[k].spread)));
        fit->knobs[k].spread = spread;
    }
    return changed;
}

void published_lower_by_rows(struct published_fit *fit)
{
    size_t systems = 0;
    for (uint32_t s = 0; s < fit->published->system_count; s++)
        systems += fit->weight[s] > 0;
    published_lower(fit);
    for (unsigned round = 0; systems >= ENOUGH_SYSTEMS && round < MOST_ROUNDS; round++) {
        const bool is_settled = take_prior(fit) < settled;
        published_lower(fit);
        if (is_settled)
            return;
    }
}
