/* The sentences at the top of pages. See html.h. */
#include "html.h"

#include "cli/options/requests.h"
#include "cli/print/results.h"

#include "ronde/plan.h"
#include "ronde/score.h"
#include "ronde/validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

/* Changes that a sentence names. */
#define MOST_CHANGES 5u
/* Algorithms that are nearer to each other than this are equal for who has to choose. */
static const double close_lead = 1.1;

/* A sentence that is put together. */
struct sentence {
    char text[1000];
    size_t at;
};

RONDE_FORMAT(2, 3) static void add(struct sentence *sentence, const char *format, ...)
{
    va_list arguments;
    if (sentence->at >= sizeof sentence->text)
        return;
    va_start(arguments, format);
    const int bytes = vsnprintf(sentence->text + sentence->at, sizeof sentence->text - sentence->at,
                                format, arguments);
    va_end(arguments);
    sentence->at += bytes > 0 ? (size_t)bytes : 0;
}

/* ---- plan --------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct ronde_plan *plan, uint32_t candidate)
{
    return plan->selector->choice.candidates[candidate].request.algorithm;
}

void ronde_answer_plan(struct ronde_html *html, const struct ronde_plan *plan)
{
    const struct ronde_platform *platform = plan->selector->platform_pricer.platform;
    const struct ronde_compile_request *request = &plan->selector->choice.candidates[0].request;
    struct sentence sentence = {.at = 0};
    char basis[RONDE_BASIS_BYTES];
    uint32_t close = 0;
    if (!html || plan->row_count == 0)
        return;
    const struct ronde_plan_row *last = &plan->rows[plan->row_count - 1];
    add(&sentence, "%s of %u ranks on %.100s: ", ronde_collective_text(request->collective),
        request->ranks, platform ? ronde_platform_facts(platform)->name : "this machine");
    add(&sentence, plan->change_count > 0 ? "%s is the fastest" : "%s is the fastest at every size",
        name_of(plan, plan->rows[0].decision.best));
    for (uint32_t i = 0; i < plan->change_count && i < MOST_CHANGES; i++)
        add(&sentence, ", from %s on %s", ronde_cell_tick(plan->changes[i].bytes).text,
            name_of(plan, plan->changes[i].above));
    if (plan->change_count > MOST_CHANGES)
        add(&sentence, ", and %u further changes", plan->change_count - MOST_CHANGES);
    add(&sentence, "; %s takes %s us", ronde_cell_tick(last->bytes).text,
        ronde_cell_us(last->quotes[last->decision.best].time_ns).text);
    for (uint32_t r = 0; r < plan->row_count; r++) {
        const struct ronde_plan_row *row = &plan->rows[r];
        close += row->decision.second != RONDE_NONE &&
                 row->quotes[row->decision.second].time_ns <
                     close_lead * row->quotes[row->decision.best].time_ns;
    }
    ronde_html_answer(html, "%s.", sentence.text);
    ronde_html_sure(html,
                    "By %s. At %u of %u sizes the next algorithm is within 10 %%: there "
                    "either will do.",
                    ronde_basis_text(plan->selector, basis), close, plan->row_count);
}

/* ---- sim ---------------------------------------------------------------------------------------------------------- */

void ronde_answer_view(struct ronde_html *html, const struct ronde_result_view *view,
                       const char *why)
{
    const struct ronde_record *record = &view->record;
    const uint64_t bytes =
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype);
    const double share =
        view->share ? ronde_bound_share_of(view->share, bytes, record->time_ns) : NAN;
    char of_bound[64] = "";
    if (!html)
        return;
    if (isfinite(share))
        snprintf(of_bound, sizeof of_bound, ", %.0f %% of what its links allow", 100 * share);
    ronde_html_answer(html, "%s by %.60s on %u ranks of %.100s: %s takes %s us, %s GB/s of busbw%s.",
                      ronde_collective_text(record->collective), record->algorithm, record->ranks,
                      record->machine, ronde_cell_tick(bytes).text,
                      ronde_cell_us(record->time_ns).text,
                      ronde_cell_rate(ronde_record_busbw_GBps(record)).text, of_bound);
    ronde_html_sure(html,
                    "A prediction from the machine's description (engine %s); nothing was measured "
                    "here. docs/results of ronde has how far such predictions are off.%s%s%s",
                    record->engine, why[0] ? " What holds it up: " : "", why, why[0] ? "." : "");
}

/* ---- workload ----------------------------------------------------------------------------------------------------- */

/* Parts of a bar of families that have names of their own. */
#define MOST_FAMILIES 4u

static double family_us(const struct ronde_workload_result *result, uint32_t family, bool is_path)
{
    const struct ronde_workload_family *one = &result->families[family];
    return (is_path ? one->path_ns : one->exposed_ns) / 1e3;
}

/* Compute, communication by family, and what is left. */
static void add_step_bar(struct ronde_html *html, const struct ronde_workload_result *result,
                         bool is_path)
{
    struct ronde_field fields[6 + MOST_FAMILIES];
    char names[MOST_FAMILIES][64];
    size_t count = 0;
    double others_us = 0;
    fields[count++] = ronde_field_text("kind", "bar");
    fields[count++] = ronde_field_text("question", "Where does the step's time go?");
    fields[count++] = ronde_field_text("label", is_path ? "critical path" : "a rank, mean");
    fields[count++] =
        ronde_field_real("compute_us",
                         (is_path ? result->path_compute_ns : result->mean.compute_ns) / 1e3);
    for (uint32_t f = 0; f < result->family_count; f++) {
        if (f >= MOST_FAMILIES) {
            others_us += family_us(result, f, is_path);
            continue;
        }
        snprintf(names[f], sizeof names[f], "exposed: %.40s_us", result->families[f].name);
        fields[count++] = ronde_field_real(names[f], family_us(result, f, is_path));
    }
    if (result->family_count > MOST_FAMILIES)
        fields[count++] = ronde_field_real("exposed: others_us", others_us);
    fields[count++] = ronde_field_real("idle_us", is_path ? 0 : result->mean.idle_ns / 1e3);
    ronde_html_row(html, &(struct ronde_row){fields, count});
}

void ronde_answer_workload(struct ronde_html *html, const struct ronde_workload_report *report)
{
    const struct ronde_workload_result *result = report->result;
    const double step = result->time_ns > 0 ? result->time_ns : 1;
    struct sentence sentence = {.at = 0};
    if (!html)
        return;
    add(&sentence,
        "A step of %u ranks on %.100s takes %s us: %.0f %% compute, %.0f %% communication that "
        "nothing hides, %.0f %% idle",
        report->workload->ranks, ronde_platform_facts(report->platform)->name,
        ronde_cell_us(result->time_ns).text, 100 * result->mean.compute_ns / step,
        100 * result->mean.exposed_ns / step, 100 * result->mean.idle_ns / step);
    if (result->call_count > 0)
        add(&sentence, "; most of the critical path is %s of %s by %.60s (%s us)",
            ronde_collective_text(result->calls[0].collective),
            ronde_cell_tick(result->calls[0].bytes).text, result->calls[0].algorithm,
            ronde_cell_us(result->calls[0].path_ns).text);
    ronde_html_answer(html, "%s.", sentence.text);
    ronde_html_sure(html, "Simulated by %s%s; the times of computing are the workload's own. %s",
                    result->engine, result->is_contention_free ? "" : ", contention ignored",
                    report->is_nccl ? "Calls take what the model of NCCL says, each alone."
                                    : "Calls are schedules of ronde, replayed on the links.");
    add_step_bar(html, result, false);
    add_step_bar(html, result, true);
}

/* ---- explain ------------------------------------------------------------------------------------------------------ */

static bool has_step(const struct ronde_explain_row *row)
{
    return row->collective != RONDE_COLLECTIVE_COUNT && row->step_us > 0 && !row->is_log;
}

/* Of a step: what is expected, what is above it, and waiting; without a machine all of it is "collective". */
static void add_row_bar(struct ronde_html *html, const struct ronde_explain_row *row)
{
    const double share =
        row->expected_us > 0 && row->time_us > 0 ? fmin(1, row->expected_us / row->time_us) : 1;
    char label[192], who[64];
    /* Groups of two and more ways through a job are told apart by who is in them. */
    if (row->rank_count == 2)
        snprintf(who, sizeof who, "ranks %" PRIu32 ", %" PRIu32, row->ranks[0], row->ranks[1]);
    else
        snprintf(who, sizeof who, "%" PRIu32 " ranks", row->rank_count);
    snprintf(label, sizeof label, "%s %s (%s)", ronde_collective_text(row->collective),
             row->bytes != RONDE_TRACE_NO_NUMBER ? ronde_cell_tick(row->bytes).text : "", who);
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "bar"),
        ronde_field_text("question", "Where does a rank lose time in the collectives of a step?"),
        ronde_field_text("label", label),
        ronde_field_real(row->expected_us > 0 ? "expected_us" : "without waiting_us",
                         share * row->step_us),
        ronde_field_real("more than expected_us", (1 - share) * row->step_us),
        ronde_field_real(row->is_bound ? "waiting is in it_us" : "waiting for others_us",
                         fmax(row->step_waiting_us, 0))};
    ronde_html_row(html, &(struct ronde_row){fields, sizeof fields / sizeof fields[0]});
}

void ronde_answer_explain(struct ronde_html *html, const struct ronde_explain_view *view)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    const struct ronde_explain_row *worst = NULL;
    struct sentence sentence = {.at = 0};
    double time_us = 0, waiting_us = 0, worst_us = 0;
    uint32_t late = RONDE_TRACE_NONE, bounds = 0;
    if (!html)
        return;
    for (uint32_t r = 0; r < view->found->rows.count; r++) {
        const struct ronde_explain_row *row = &rows[r];
        const double share = (double)row->seen / (view->found->ranks > 0 ? view->found->ranks : 1);
        if (late == RONDE_TRACE_NONE)
            late = row->late_rank;
        const double excess_us = ronde_explain_excess_us(row);
        /* Beside traces a log's rows are no calls of the step that the sentence is about. */
        if (excess_us > worst_us && !(row->is_log && view->found->ranks > 0)) {
            worst = row;
            worst_us = excess_us;
        }
        if (!has_step(row))
            continue;
        bounds += row->is_bound;
        time_us += share * row->step_us;
        waiting_us += row->step_waiting_us > 0 ? share * row->step_waiting_us : 0;
        add_row_bar(html, row);
    }
    if (view->found->ranks > 0)
        add(&sentence, "A step of a rank has %s us in collectives%s and %s us of waiting for others",
            ronde_cell_us(1e3 * time_us).text, bounds > 0 ? " (at most)" : "",
            ronde_cell_us(1e3 * waiting_us).text);
    else
        add(&sentence, "What nccl-tests measured");
    if (late != RONDE_TRACE_NONE)
        add(&sentence, "; rank %" PRIu32 " is late", late);
    if (worst)
        add(&sentence, "; %s of %s takes %.2f times what %.100s should take",
            ronde_collective_text(worst->collective), ronde_cell_tick(worst->bytes).text,
            worst->time_us / worst->expected_us, view->machine->name);
    else if (view->machine)
        add(&sentence, "; no collective is slower than %.100s explains", view->machine->name);
    ronde_html_answer(html, "%s.", sentence.text);
    ronde_html_sure(html, "Times are of the traces, the least of the ranks of a call%s.%s",
                    bounds > 0 ? "; where not all ranks are seen they may have waiting in them" : "",
                    view->machine
                        ? " What is expected is a model of NCCL, with the band of its own "
                          "error; only what is beyond the band is called slow."
                        : " Without --topo nothing says what they should take.");
}

/* ---- validate ----------------------------------------------------------------------------------------------------- */

void ronde_html_grid(struct ronde_html *html, const struct ronde_validation *grid)
{
    const size_t points = ronde_validation_size(grid);
    for (size_t i = 0; html && i < points; i++)
        for (uint32_t s = 0; s < RONDE_SOURCE_COUNT; s++) {
            const struct ronde_grid_point *point = &grid->points[i];
            const uint32_t algorithm = (uint32_t)(i % grid->algorithm_count);
            const size_t ranks = i / grid->algorithm_count / grid->size_count;
            const struct ronde_field fields[] = {
                ronde_field_text("kind", s == RONDE_SOURCE_MEASURED ? "measured" : "simulated"),
                ronde_field_text("engine", ronde_source_text((enum ronde_source)s)),
                ronde_field_text("collective", ronde_collective_text(grid->collective)),
                ronde_field_text("algorithm", grid->algorithms[algorithm]),
                ronde_field_integer("ranks", grid->ranks[ranks]),
                ronde_field_integer("bytes", point->bytes),
                ronde_field_real("time_ns", point->time_ns[s]),
            };
            if (ronde_validation_has(grid, (enum ronde_source)s))
                ronde_html_row(html, &RONDE_ROW(fields));
        }
}

enum ronde_status ronde_answer_validation(struct ronde_html *html,
                                          const struct ronde_validation *grid,
                                          struct ronde_error *error)
{
    const enum ronde_source source = ronde_validation_replay(grid);
    const size_t total = ronde_validation_size(grid);
    if (!html)
        return RONDE_OK;
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    const struct ronde_errors errors =
        ronde_validation_errors(grid, source, RONDE_SUBSET_ALL, scratch);
    const struct ronde_score score = ronde_score_all(grid, source);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    struct sentence sentence = {.at = 0};
    add(&sentence, "%s: predictions (%s) are off by %.1f %% in the median of %zu points",
        ronde_collective_text(grid->collective), ronde_source_text(source), 100 * errors.median,
        errors.count);
    if (grid->algorithm_count > 1)
        add(&sentence, ", and name the faster algorithm at %zu of the %zu sizes where there is one",
            score.winners.agreed, score.winners.decided);
    ronde_html_answer(html, "%s.", sentence.text);
    ronde_html_sure(html,
                    "Measured on the machine itself. A prediction in twenty is off by more than "
                    "%.0f %%, the worst by %.0f %% (%.60s, %u ranks, %s).",
                    100 * errors.p95, 100 * errors.worst, grid->algorithms[errors.worst_algorithm],
                    errors.worst_ranks, ronde_cell_tick(errors.worst_bytes).text);
    return RONDE_OK;
}
