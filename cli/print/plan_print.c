/* A plan as a table and for programs. See results.h. */
#include "cli/html/html.h"
#include "cli/options/requests.h"
#include "results.h"

#include <inttypes.h>
#include <math.h>

/* Shares of the bound. */

/* Whether ranks on chosen hosts do what they do in the file's order: all hosts take part, and no rank is special. */
static bool is_same_anywhere(const struct ronde_platform *platform,
                             const struct ronde_compile_request *request)
{
    return ronde_platform_facts(platform)->hosts == request->ranks &&
           !ronde_collective_traits(request->collective)->has_root &&
           request->collective != RONDE_SEND_RECV;
}

struct ronde_bound_share ronde_bound_share_find(const struct ronde_platform *platform,
                                                const struct ronde_compile_request *request,
                                                const uint32_t *host_of)
{
    struct ronde_bound_share share = {.is_known = false};
    if (platform && (!host_of || is_same_anywhere(platform, request)) && request->ranks > 1 &&
        request->ranks <= RONDE_BOUND_SHARE_RANKS && request->collective != RONDE_BARRIER)
        share.is_known = ronde_bound_find(platform, request, ronde_mem_default(), &share.bound,
                                          NULL) == RONDE_OK;
    return share;
}

double ronde_bound_share_of(const struct ronde_bound_share *share, uint64_t bytes, double time_ns)
{
    return share->is_known && time_ns > 0 ? ronde_bound_ns(&share->bound, (double)bytes) / time_ns
                                          : NAN;
}

static const struct ronde_column columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"count", "count", "(elements)", RONDE_CELL_PLAIN, 11, true},
    {"dtype", "type", "", RONDE_CELL_PLAIN, 8, true},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},
    {"time_ns", "time", "(us)", RONDE_CELL_NS, 8, false},
    {"algbw_GBps", "algbw", "(GB/s)", RONDE_CELL_GBPS, 6, false},
    {"busbw_GBps", "busbw", "(GB/s)", RONDE_CELL_GBPS, 6, false},
    {"bound_share", "bound", "(%)", RONDE_CELL_PERCENT, 5, false},
    {"engine", "engine", "", RONDE_CELL_PLAIN, 11, true},
    {"exact", "exact", "", RONDE_CELL_PLAIN, 5, false},
    {"messages", "messages", "in a row", RONDE_CELL_PLAIN, 8, true},
    {"sent_bytes", "busiest", "sends (B)", RONDE_CELL_PLAIN, 12, true},
    {"latency_share", "latency", "(%)", RONDE_CELL_PERCENT, 7, true},
    {"runner_up", "runner-up", "", RONDE_CELL_PLAIN, 24, false},
    {"runner_up_ns", "time", "(us)", RONDE_CELL_NS, 8, true},
    {"lead", "lead", "(x)", RONDE_CELL_RATIO, 4, false},
    {"options", "options of sim", "", RONDE_CELL_PLAIN, 0, true},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* Of the winner's time what one element takes too. Measured times may say that it takes longer than many. */
static double latency_share(const struct ronde_plan_row *row)
{
    const double time_ns = row->quotes[row->decision.best].time_ns;
    return time_ns > 0.0 ? fmin(1.0, row->latency_ns / time_ns) : 0.0;
}

static const char *name_of(const struct ronde_plan *plan, uint32_t candidate)
{
    return plan->selector->choice.candidates[candidate].request.algorithm;
}

/* The changes in one line each, since a size between two rows has an algorithm, too. */
static void print_changes(const struct ronde_plan *plan, FILE *file)
{
    if (plan->row_count > 0 && plan->change_count == 0)
        fprintf(file, "# %s at every size\n", name_of(plan, plan->rows[0].decision.best));
    for (uint32_t i = 0; i < plan->change_count; i++)
        fprintf(file, "# from %" PRIu64 " B on %s, %s below\n", plan->changes[i].bytes,
                name_of(plan, plan->changes[i].above), name_of(plan, plan->changes[i].below));
}

/* Nominal files know links alone, and a plan from one is not to be taken for more. */
static void print_warning(const struct ronde_plan *plan, const struct ronde_sink *sink)
{
    const struct ronde_platform *platform = plan->selector->platform_pricer.platform;
    if (platform && ronde_platform_facts(platform)->time.step_ns <= 0.0)
        ronde_sink_say(sink, "the file does not say what a step costs (ronde.step_ns): many short "
                             "messages look cheaper than they are");
    if (plan->selector->choice.lacks_forests)
        ronde_sink_say(sink, "some schedules made for this machine take long to make or to replay: "
                             "weighed with --synthesize");
}

static uint32_t count_algorithms(const struct ronde_choice *choice)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < choice->count; i++)
        count += ronde_choice_is_first(choice, i);
    return count;
}

static void print_head(const struct ronde_plan *plan, const struct ronde_sink *sink)
{
    const struct ronde_compile_request *request = &plan->selector->choice.candidates[0].request;
    const uint64_t slot_bytes = plan->row_count > 0 ? plan->rows[0].decision.load.slot_bytes : 0;
    char basis[RONDE_BASIS_BYTES];
    ronde_sink_say(sink, "ronde %s: %s, %u ranks, %u algorithms in %u set-ups", RONDE_VERSION,
                   ronde_collective_text(request->collective), request->ranks,
                   count_algorithms(&plan->selector->choice), plan->selector->choice.count);
    ronde_sink_say(sink, "by %s", ronde_basis_text(plan->selector, basis));
    ronde_sink_say(sink, "slot bytes %s",
                   slot_bytes ? ronde_cell_size(slot_bytes).text
                   : plan->selector->platform_pricer.platform
                       ? "as NCCL's by size (--slot sets them)"
                       : "the backend's");
    print_warning(plan, sink);
    fputs("#\n", sink->file);
    ronde_sink_head(sink, &table);
}

#define QUOTE_FIELDS 8u
#define ROW_FIELDS 29u

/* A printed row; it points into itself. */
struct sheet {
    struct ronde_field (*quotes)[QUOTE_FIELDS]; /* per candidate */
    struct ronde_row *candidates;
    struct ronde_field fields[ROW_FIELDS];
    char hash[20];
    char options[RONDE_SETUP_OPTIONS_BYTES];
    char basis[RONDE_BASIS_BYTES];
};

/* None where no machine says where ranks sit. */
static const char *placement_of(const struct ronde_plan *plan,
                                const struct ronde_candidate *candidate)
{
    return plan->selector->platform_pricer.platform ? ronde_placement_text(candidate->placement)
                                                    : NULL;
}

/* All candidates with their prices, where more than the best two are wanted. */
static void layout_candidates(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                              struct sheet *sheet)
{
    for (uint32_t i = 0; i < plan->selector->choice.count; i++) {
        const struct ronde_candidate *candidate = &plan->selector->choice.candidates[i];
        const struct ronde_quote *quote = &row->quotes[i];
        struct ronde_field *field = sheet->quotes[i];
        field[0] = ronde_field_text("algorithm", name_of(plan, i));
        field[1] = ronde_field_real("time_ns", quote->time_ns);
        field[2] = ronde_field_text("engine", quote->engine);
        field[3] = ronde_field_boolean("exact", quote->is_exact);
        field[4] = ronde_field_boolean("eligible", candidate->is_eligible);
        field[5] = ronde_field_boolean("bound", quote->is_bound);
        field[6] = ronde_field_integer("channels", candidate->schedule->channel_count);
        field[7] = ronde_field_text("placement", placement_of(plan, candidate));
        sheet->candidates[i] = (struct ronde_row){field, QUOTE_FIELDS};
    }
}

static size_t layout_request(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                             struct ronde_field *field)
{
    const struct ronde_compile_request *request = &plan->selector->choice.candidates[0].request;
    const bool has_root = ronde_collective_traits(request->collective)->has_root;
    size_t at = 0;
    field[at++] = ronde_field_text("kind", "plan");
    field[at++] = ronde_field_text("collective", ronde_collective_text(request->collective));
    field[at++] = ronde_field_integer("ranks", request->ranks);
    field[at++] = ronde_field_integer("bytes", row->bytes);
    field[at++] = ronde_field_integer("count", row->decision.load.count);
    field[at++] = ronde_field_text("dtype", ronde_dtype_text(row->decision.load.dtype));
    field[at++] = has_root ? ronde_field_integer("root", request->root) : ronde_field_null("root");
    field[at++] = ronde_field_integer("slot_bytes", row->decision.slot_bytes);
    return at;
}

static size_t layout_answer(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                            struct sheet *sheet, struct ronde_field *field)
{
    const struct ronde_decision *decision = &row->decision;
    const struct ronde_quote *best = &row->quotes[decision->best];
    const bool has_second = decision->second != RONDE_NONE;
    const double second_ns = has_second ? row->quotes[decision->second].time_ns : NAN;
    const double algbw_GBps = best->time_ns > 0 ? (double)row->bytes / best->time_ns : 0;
    const struct ronde_candidate *candidate = &plan->selector->choice.candidates[decision->best];
    const struct ronde_schedule *schedule = candidate->schedule;
    size_t at = 0;
    snprintf(sheet->hash, sizeof sheet->hash, "%016" PRIx64, schedule->hash);
    field[at++] = ronde_field_text("algorithm", name_of(plan, decision->best));
    field[at++] = ronde_field_integer("channels", schedule->channel_count);
    field[at++] = ronde_field_text("placement", placement_of(plan, candidate));
    field[at++] = ronde_field_text("options",
                                   ronde_decision_options(plan->selector, decision, sheet->options));
    field[at++] = ronde_field_real("time_ns", best->time_ns);
    field[at++] = ronde_field_text("engine", best->engine);
    field[at++] = ronde_field_boolean("exact", best->is_exact);
    field[at++] = ronde_field_text("runner_up", has_second ? name_of(plan, decision->second) : NULL);
    field[at++] = ronde_field_real("runner_up_ns", second_ns);
    field[at++] = ronde_field_real("lead", best->time_ns > 0 ? second_ns / best->time_ns : NAN);
    field[at++] = ronde_field_real("algbw_GBps", algbw_GBps);
    field[at++] = ronde_field_real("busbw_GBps",
                                   algbw_GBps * ronde_collective_bus_factor(schedule->collective,
                                                                            schedule->ranks));
    field[at++] = ronde_field_integer("messages", schedule->proof.critical_path);
    field[at++] = ronde_field_real("sent_bytes", row->sent_bytes);
    field[at++] = ronde_field_real("latency_share", latency_share(row));
    field[at++] = ronde_field_text("basis", ronde_basis_text(plan->selector, sheet->basis));
    field[at++] = ronde_field_text("schedule", sheet->hash);
    field[at++] = ronde_field_text("version", RONDE_VERSION);
    return at;
}

static enum ronde_status print_row(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                                   const struct ronde_bound_share *share, struct sheet *sheet,
                                   struct ronde_sink *sink, struct ronde_error *error)
{
    layout_candidates(plan, row, sheet);
    size_t count = layout_request(plan, row, sheet->fields);
    count += layout_answer(plan, row, sheet, sheet->fields + count);
    sheet->fields[count++] = (struct ronde_field){.name = "candidates",
                                                  .kind = RONDE_FIELD_ROWS,
                                                  .rows = sheet->candidates,
                                                  .count = plan->selector->choice.count};
    sheet->fields[count++] =
        ronde_field_real("bound_share",
                         ronde_bound_share_of(share, row->bytes,
                                              row->quotes[row->decision.best].time_ns));
    const struct ronde_row printed = {sheet->fields, count};
    const enum ronde_status status = ronde_sink_print(sink, &table, &printed, error);
    /* A narrow table has no room for them beside the row. */
    if (status == RONDE_OK && ronde_sink_is_table(sink) && !sink->is_wide && sheet->options[0])
        fprintf(sink->file, "#   sim -a %s %s\n", name_of(plan, row->decision.best), sheet->options);
    return status;
}

/* Objects of another kind behind the rows; a CSV has one kind only. */
static enum ronde_status print_change_rows(const struct ronde_plan *plan, struct ronde_sink *sink,
                                           struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < plan->change_count; i++) {
        const struct ronde_field fields[] = {
            ronde_field_text("kind", "change"),
            ronde_field_integer("bytes", plan->changes[i].bytes),
            ronde_field_text("below", name_of(plan, plan->changes[i].below)),
            ronde_field_text("above", name_of(plan, plan->changes[i].above)),
        };
        if (sink->json)
            status = ronde_sink_row(sink, &RONDE_ROW(fields), error);
        else
            ronde_html_row(sink->html, &RONDE_ROW(fields));
    }
    return status;
}

static enum ronde_status print_rows(const struct ronde_plan *plan, struct ronde_sink *sink,
                                    struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_choice *choice = &plan->selector->choice;
    const struct ronde_bound_share share =
        ronde_bound_share_find(plan->selector->platform_pricer.platform,
                               &choice->candidates[0].request, NULL);
    struct sheet sheet = {
        .quotes = ronde_mem_new(mem, choice->count, sizeof *sheet.quotes),
        .candidates = ronde_mem_new(mem, choice->count, sizeof *sheet.candidates),
    };
    enum ronde_status status = RONDE_OK;
    if (!sheet.quotes || !sheet.candidates)
        status =
            ronde_fail(error, RONDE_NO_MEMORY, "no memory to print %u candidates", choice->count);
    for (uint32_t i = 0; status == RONDE_OK && i < plan->row_count; i++)
        status = print_row(plan, &plan->rows[i], &share, &sheet, sink, error);
    ronde_mem_free(mem, sheet.candidates, choice->count, sizeof *sheet.candidates);
    ronde_mem_free(mem, sheet.quotes, choice->count, sizeof *sheet.quotes);
    return status;
}

enum ronde_status ronde_plan_print(const struct ronde_plan *plan, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(sink);
    if (is_table)
        print_head(plan, sink);
    const enum ronde_status status = print_rows(plan, sink, error);
    if (status != RONDE_OK)
        return status;
    ronde_answer_plan(sink->html, plan);
    if (is_table)
        print_changes(plan, sink->file);
    return print_change_rows(plan, sink, error);
}
