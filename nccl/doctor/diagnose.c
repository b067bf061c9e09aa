/**
 * Which fault explains the rows. See doctor.h.
 *
 * x of a class of sizes and a pattern of traffic is the mean of log(measured / predicted) of its rows, s how far the model is off
 * by itself in the class. Likely is a variant as the product over classes of Student's t with 3 degrees of freedom, over s: at
 * m / s, m being the mean of the patterns' x, and at (x - m) / s of each pattern, since the model is off for one of them as much as
 * for all together, and faults differ in what they slow down. Its tails leave room for a class that the model has wrong
 * altogether. Several strengths of a variant share its prior. Half of the prior is the healthy machine's, a twentieth that of
 * something else, whose m lie anywhere between 0 and log(1000).
 */
#include "doctor_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double healthy_prior = .5, other_prior = .05;

/** A fault that the log itself names is so many times as likely before any number is looked at. */
static const double said_weight = 200;

/** Times of a fault that is none of the variants may be up to so many times those of the healthy machine. */
static const double most_factor = 1000;

/** Patterns of traffic that faults tell apart: what rings and trees carry, from each rank to all others, from each to another. */
enum { PATTERNS = 3, CELLS = RONDE_DOCTOR_PLACES * RONDE_DOCTOR_SIZES };

static unsigned pattern_of(enum ronde_collective collective)
{
    const bool is_spread =
        collective == RONDE_ALL_TO_ALL || collective == RONDE_GATHER || collective == RONDE_SCATTER;
    return collective == RONDE_SEND_RECV ? 2 : is_spread;
}

/** Rows of a place and a class: log(measured / predicted) by pattern. */
struct cell {
    double sum[PATTERNS], off;
    size_t rows[PATTERNS], count;
};

struct sums {
    struct cell cells[CELLS];
    size_t applied; /**< rows that can have the fault */
};

static struct sums sum_up(const struct ronde_doctor_request *request,
                          const struct ronde_doctor_variant *variant, uint32_t strength)
{
    struct sums sums = {.applied = 0};
    for (size_t r = 0; r < request->published->count; r++) {
        const struct ronde_published_row *row = &request->published->rows[r];
        if (!doctor_takes(request, row))
            continue;
        const double faulty_us = doctor_predict_us(request, row, variant, strength);
        const double us = faulty_us > 0 ? faulty_us : doctor_predict_us(request, row, NULL, 0);
        struct cell *cell = &sums.cells[(row->call.nodes > 1) * RONDE_DOCTOR_SIZES +
                                        doctor_size_class(request->spread, row->call.bytes)];
        const unsigned pattern = pattern_of(row->call.collective);
        if (!(us > 0))
            continue;
        sums.applied += faulty_us > 0;
        cell->sum[pattern] += log(row->measured_us / us);
        cell->rows[pattern]++;
        cell->off += doctor_off(request, &row->call);
        cell->count++;
    }
    return sums;
}

/** What a class says: each pattern's x, their mean, and how far the model is off by itself. */
struct told {
    double x[PATTERNS], mean, off;
    unsigned patterns;
};

static struct told told_by(const struct cell *cell)
{
    struct told told = {.off = cell->off / (double)cell->count};
    for (unsigned p = 0; p < PATTERNS; p++)
        if (cell->rows[p] > 0)
            told.x[told.patterns++] = cell->sum[p] / (double)cell->rows[p];
    for (unsigned p = 0; p < told.patterns; p++)
        told.mean += told.x[p] / told.patterns;
    return told;
}

/** Logarithm of Student's t with 3 degrees of freedom, scaled. */
static double log_density(double x, double scale)
{
    const double at = x / scale;
    return log(.3675525969478614 / scale) - 2 * log1p(at * at / 3);
}

/** Of what the patterns differ by: as many numbers as there are patterns but one. */
static double log_differences(const struct told *told, double scale)
{
    double log_of = 0;
    for (unsigned p = 0; p < told->patterns; p++)
        log_of += log_density(told->x[p] - told->mean, scale);
    return told->patterns > 0 ? log_of * (told->patterns - 1) / told->patterns : 0;
}

static double log_likelihood(const struct sums *sums, struct ronde_doctor_cause *cause)
{
    double log_of = 0;
    cause->off = 0;
    for (unsigned c = 0; c < CELLS; c++) {
        if (sums->cells[c].count == 0)
            continue;
        const struct told told = told_by(&sums->cells[c]);
        log_of += log_density(told.mean, told.off) + log_differences(&told, told.off);
        cause->off = fmax(cause->off, fabs(told.mean) / told.off);
        cause->factor = exp(told.mean);
    }
    return log_of;
}

/** What patterns differ by under a fault that is none of the variants. */
static const double other_differs = .5;

/** Something else: any slowdown, alike in all classes that are slower than they should be. */
static double log_other(const struct sums *healthy)
{
    double log_of = 0;
    for (unsigned c = 0; c < CELLS; c++) {
        if (healthy->cells[c].count == 0)
            continue;
        const struct told told = told_by(&healthy->cells[c]);
        /* Faster than it should be is no fault: the model's error, as for the healthy machine. */
        log_of += told.mean > 0 && told.mean < log(most_factor) ? -log(log(most_factor))
                                                                : log_density(told.mean, told.off);
        log_of += log_differences(&told, fmax(told.off, other_differs));
    }
    return log_of;
}

/** One variant by all of its strengths; returns log(prior times likelihood), -infinity where no row can have it. */
static double weigh(const struct ronde_doctor_request *request,
                    const struct ronde_doctor_variant *variant, double prior,
                    struct ronde_doctor_cause *out)
{
    double best = -INFINITY, sum = 0;
    *out = (struct ronde_doctor_cause){.variant = variant};
    for (uint32_t s = 0; s < variant->strengths; s++) {
        struct ronde_doctor_cause cause = *out;
        const struct sums sums = sum_up(request, variant, s);
        if (sums.applied == 0)
            return -INFINITY;
        const double log_of = log_likelihood(&sums, &cause);
        if (log_of > best) {
            *out = cause;
            sum = sum * exp(best - log_of) + 1;
            best = log_of;
        } else {
            sum += exp(log_of - best);
        }
    }
    if (variant->is_said && !variant->is_said(&request->published->log,
                                              &request->published->systems[request->system].machine,
                                              out->said, sizeof out->said))
        out->said[0] = '\0';
    return log(prior * (out->said[0] ? said_weight : 1) * sum / variant->strengths) + best;
}

static int by_probability(const void *left, const void *right)
{
    const struct ronde_doctor_cause *const a = left, *const b = right;
    return a->probability < b->probability ? 1 : a->probability > b->probability ? -1 : 0;
}

static void find_causes(const struct ronde_doctor_request *request, const struct sums *healthy,
                        struct ronde_diagnosis *out)
{
    uint32_t count;
    double logs[RONDE_DOCTOR_MAX_CAUSES], most = -INFINITY, sum = 0;
    const struct ronde_doctor_variant *variants = ronde_doctor_variants(&count);
    const double prior = (1 - healthy_prior - other_prior) / (count - 1);
    /* A size that is far too slow rules out that nothing is wrong, whether or not a fault explains it. */
    for (uint32_t v = out->far > 0; v < count; v++) {
        struct ronde_doctor_cause *cause = &out->causes[out->cause_count];
        logs[out->cause_count] = weigh(request, &variants[v], v == 0 ? healthy_prior : prior, cause);
        out->cause_count += isfinite(logs[out->cause_count]) ? 1 : 0;
    }
    out->causes[out->cause_count] = (struct ronde_doctor_cause){.variant = NULL};
    logs[out->cause_count++] = log(other_prior) + log_other(healthy);
    for (uint32_t c = 0; c < out->cause_count; c++)
        most = fmax(most, logs[c]);
    for (uint32_t c = 0; c < out->cause_count; c++)
        sum += exp(logs[c] - most);
    for (uint32_t c = 0; c < out->cause_count; c++) {
        out->causes[c].probability = exp(logs[c] - most) / sum;
        if (out->causes[c].variant == &variants[0])
            out->healthy = out->causes[c].probability;
    }
    qsort(out->causes, out->cause_count, sizeof out->causes[0], by_probability);
}

/** Why no row is predicted. */
static enum ronde_status fail_empty(const struct ronde_doctor_request *request,
                                    struct ronde_error *error)
{
    const struct ronde_published *published = request->published;
    const struct ronde_nccl_machine *machine = &published->systems[request->system].machine;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system != request->system || row->call.bytes < RONDE_PUBLISHED_LEAST_BYTES ||
            row->state == RONDE_PUBLISHED_NOT_MODELLED)
            continue;
        if (!ronde_nccl_models(row->call.collective))
            return ronde_fail(error, RONDE_UNSUPPORTED, "%s is not modelled",
                              ronde_collective_text(row->call.collective));
        if (ronde_nccl_call_check(machine, &row->call, error) != RONDE_OK)
            return error->status;
    }
    if (published->count > 0 && published->rows[0].call.ranks == 1)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "all rows are of 1 rank, which sends nothing: a process that measured "
                          "itself, as nccl-tests does in many where it is built without MPI=1");
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "no row of at least 1 KiB that the model has: algorithms of NCCL, and its "
                      "sends and receives");
}

/** No fault makes a machine faster than it is: what is described is another one, or other calls were measured. */
static enum ronde_status fail_fast(const struct ronde_doctor_request *request,
                                   const struct ronde_diagnosis *found, struct ronde_error *error)
{
    const struct ronde_nccl_call *call = &found->fast_call;
    return ronde_fail(
        error, RONDE_BAD_INPUT,
        "%llu B of %s by %u ranks are measured at %.2g of the time that %s takes at least: the "
        "description is of another machine, or the log of other calls than it says; correct either",
        (unsigned long long)call->bytes, ronde_collective_text(call->collective), call->ranks,
        found->fast, request->published->systems[request->system].machine.name);
}

enum ronde_status ronde_doctor(const struct ronde_doctor_request *request,
                               struct ronde_diagnosis *out, struct ronde_error *error)
{
    bool has_rows = false;
    const struct sums healthy = sum_up(request, NULL, 0);
    memset(out, 0, sizeof *out);
    for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
        for (unsigned at = c; at < CELLS; at += RONDE_DOCTOR_SIZES) {
            const struct cell *cell = &healthy.cells[at];
            out->rows[c] += cell->count;
            out->spread[c] += cell->off;
            for (unsigned p = 0; p < PATTERNS; p++)
                out->off[c] += cell->sum[p];
        }
        if (out->rows[c] == 0)
            continue;
        has_rows = true;
        out->off[c] /= (double)out->rows[c];
        out->spread[c] /= (double)out->rows[c];
    }
    if (!has_rows)
        return fail_empty(request, error);
    RONDE_TRY(doctor_find_ranges(request, out, error));
    if (out->fast > 0)
        return fail_fast(request, out, error);
    find_causes(request, &healthy, out);
    out->is_wrong = (out->is_wrong && out->healthy < RONDE_DOCTOR_LEAST_HEALTHY) ||
                    out->jumps > RONDE_DOCTOR_MOST_JUMPS;
    return RONDE_OK;
}
