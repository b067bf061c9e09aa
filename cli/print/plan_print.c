/* A plan as a table and for programs. See plan_print.h. */
#include "plan_print.h"

#include "cli/cmd/common.h"
#include "cli/options/tune_options.h"

#include <inttypes.h>
#include <math.h>

#define COLUMNS 15u

static const struct ronde_column columns[COLUMNS] = {
    {"size", "(B)", 12},         {"count", "(elements)", 12},  {"type", "", 8},
    {"algorithm", "", 24},       {"time", "(us)", 11},         {"engine", "", 11},
    {"runner-up", "", 24},       {"time", "(us)", 11},         {"slower", "(times)", 7},
    {"messages", "in a row", 8}, {"busiest", "sends (B)", 12}, {"latency", "(share)", 7},
    {"price", "", 11},           {"bound", "(%)", 6},          {"options", "of sim", 48},
};

static const struct ronde_table wide = {columns, COLUMNS, 2};

/* The most of it for a terminal of 100 characters, on two lines: the cells of each, in the order of the wide table. */
#define FIRST_COLUMNS 8u
#define SECOND_COLUMNS 4u

static const uint32_t first_cells[FIRST_COLUMNS] = {0, 1, 2, 3, 4, 5, 12, 13};
static const struct ronde_column first_columns[FIRST_COLUMNS] = {
    {"size", "(B)", 11}, {"count", "(elements)", 11}, {"type", "", 8},   {"algorithm", "", 24},
    {"time", "(us)", 9}, {"engine", "", 11},          {"price", "", 11}, {"bound", "(%)", 5},
};
static const struct ronde_table first_line = {first_columns, FIRST_COLUMNS, 1};

static const uint32_t second_cells[SECOND_COLUMNS] = {14, 6, 7, 8};
static const struct ronde_column second_columns[SECOND_COLUMNS] = {
    {"options of sim", "", 48},
    {"runner-up", "", 24},
    {"time", "(us)", 9},
    {"slower", "(times)", 7},
};
static const struct ronde_table second_line = {second_columns, SECOND_COLUMNS, 1};

/* A line of some of the cells of a row; a number beyond them stands for a blank. */
static void print_line(FILE *file, const struct ronde_table *line, const uint32_t *indices,
                       const struct ronde_cell *cells)
{
    struct ronde_cell own[FIRST_COLUMNS];
    _Static_assert(FIRST_COLUMNS >= SECOND_COLUMNS, "room for both lines");
    for (size_t i = 0; i < line->count; i++)
        own[i] = indices[i] < COLUMNS ? cells[indices[i]] : ronde_cell_text(" ");
    ronde_table_row(file, line, own);
}

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

static void print_table_row(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                            const struct ronde_bound_share *share, const struct ronde_sink *sink)
{
    const struct ronde_decision *decision = &row->decision;
    const struct ronde_quote *best = &row->quotes[decision->best];
    const struct ronde_schedule *schedule =
        plan->selector->choice.candidates[decision->best].schedule;
    struct ronde_cell cells[COLUMNS] = {{""}};
    cells[0] = ronde_cell_integer(row->bytes);
    cells[1] = ronde_cell_integer(decision->load.count);
    cells[2] = ronde_cell_text(ronde_dtype_text(decision->load.dtype));
    cells[3] = ronde_cell_text(name_of(plan, decision->best));
    cells[4] = ronde_cell_us(best->time_ns);
    cells[5] = ronde_cell_text(best->engine);
    if (decision->second != RONDE_NONE) {
        const double second_ns = row->quotes[decision->second].time_ns;
        cells[6] = ronde_cell_text(name_of(plan, decision->second));
        cells[7] = ronde_cell_us(second_ns);
        if (best->time_ns > 0.0)
            cells[8] = ronde_cell_rate(second_ns / best->time_ns);
    }
    cells[9] = ronde_cell_integer(schedule->proof.critical_path);
    cells[10] = ronde_cell_integer((uint64_t)llround(row->sent_bytes));
    snprintf(cells[11].text, sizeof cells[11].text, "%.0f%%", 100.0 * latency_share(row));
    cells[12] = ronde_cell_text(best->is_exact ? "exact" : "approximate");
    cells[13] = ronde_bound_share_cell(ronde_bound_share_of(share, row->bytes, best->time_ns));
    char options[RONDE_SETUP_OPTIONS_BYTES];
    cells[14] = ronde_cell_text(ronde_decision_options(plan->selector, decision, options));
    if (ronde_table_fits(&wide, sink->width)) {
        ronde_table_row(sink->file, &wide, cells);
        return;
    }
    print_line(sink->file, &first_line, first_cells, cells);
    print_line(sink->file, &second_line, second_cells, cells);
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
static void print_warning(const struct ronde_plan *plan, FILE *file)
{
    const struct ronde_platform *platform = plan->selector->platform_pricer.platform;
    if (platform && ronde_platform_facts(platform)->time.step_ns <= 0.0)
        fputs("# the file does not say what a step costs (ronde.step_ns): many short messages look "
              "cheaper than they are\n",
              file);
    if (plan->selector->choice.lacks_forests)
        fputs("# some schedules made for this machine take long to make or to replay: weighed with "
              "--synthesize\n",
              file);
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
    FILE *file = sink->file;
    const struct ronde_compile_request *request = &plan->selector->choice.candidates[0].request;
    const uint64_t slot_bytes = plan->row_count > 0 ? plan->rows[0].decision.load.slot_bytes : 0;
    fprintf(file, "# ronde %s: %s, %u ranks, %u algorithms in %u set-ups, slot bytes %s\n",
            RONDE_VERSION, ronde_collective_text(request->collective), request->ranks,
            count_algorithms(&plan->selector->choice), plan->selector->choice.count,
            slot_bytes                                 ? ronde_cell_size(slot_bytes).text
            : plan->selector->platform_pricer.platform ? "as NCCL's by size (--slot sets them)"
                                                       : "the backend's");
    char basis[RONDE_BASIS_BYTES];
    fprintf(file, "# by %s\n", ronde_basis_text(plan->selector, basis));
    print_warning(plan, file);
    fputs("#\n", file);
    if (ronde_table_fits(&wide, sink->width)) {
        ronde_table_head(file, &wide);
        return;
    }
    ronde_table_head(file, &first_line);
    ronde_table_head(file, &second_line);
}

void ronde_plan_print_table(const struct ronde_plan *plan, const struct ronde_bound_share *share,
                            const struct ronde_sink *sink)
{
    print_head(plan, sink);
    for (uint32_t i = 0; i < plan->row_count; i++)
        print_table_row(plan, &plan->rows[i], share, sink);
    print_changes(plan, sink->file);
}

/* ---- For programs ----------------------------------------------------------------------------------------------- */

#define QUOTE_FIELDS 8u
#define ROW_FIELDS 26u

/* A printed row; it points into itself. */
struct sheet {
    struct ronde_field (*quotes)[QUOTE_FIELDS]; /* per candidate */
    struct ronde_row *candidates;
    struct ronde_field fields[ROW_FIELDS];
    char hash[20];
    char options[RONDE_SETUP_OPTIONS_BYTES];
    char basis[RONDE_BASIS_BYTES];
};

static struct ronde_field time_field(const char *name, double ns)
{
    return isfinite(ns) ? ronde_field_real(name, ns) : ronde_field_null(name);
}

/* Null where no machine says where ranks sit. */
static struct ronde_field placement_field(const struct ronde_plan *plan,
                                          const struct ronde_candidate *candidate)
{
    return plan->selector->platform_pricer.platform
               ? ronde_field_text("placement", ronde_placement_text(candidate->placement))
               : ronde_field_null("placement");
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
        field[1] = time_field("time_ns", quote->time_ns);
        field[2] = ronde_field_text("engine", quote->engine);
        field[3] = ronde_field_boolean("exact", quote->is_exact);
        field[4] = ronde_field_boolean("eligible", candidate->is_eligible);
        field[5] = ronde_field_boolean("bound", quote->is_bound);
        field[6] = ronde_field_integer("channels", candidate->schedule->channel_count);
        field[7] = placement_field(plan, candidate);
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
    const struct ronde_candidate *candidate = &plan->selector->choice.candidates[decision->best];
    const struct ronde_schedule *schedule = candidate->schedule;
    size_t at = 0;
    snprintf(sheet->hash, sizeof sheet->hash, "%016" PRIx64, schedule->hash);
    field[at++] = ronde_field_text("algorithm", name_of(plan, decision->best));
    field[at++] = ronde_field_integer("channels", schedule->channel_count);
    field[at++] = placement_field(plan, candidate);
    field[at++] = ronde_field_text("options",
                                   ronde_decision_options(plan->selector, decision, sheet->options));
    field[at++] = ronde_field_real("time_ns", best->time_ns);
    field[at++] = ronde_field_text("engine", best->engine);
    field[at++] = ronde_field_boolean("exact", best->is_exact);
    field[at++] = ronde_field_text("runner_up", has_second ? name_of(plan, decision->second) : NULL);
    field[at++] = has_second
                      ? ronde_field_real("runner_up_ns", row->quotes[decision->second].time_ns)
                      : ronde_field_null("runner_up_ns");
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
    sheet->fields[count++] = ronde_bound_share_field(
        ronde_bound_share_of(share, row->bytes, row->quotes[row->decision.best].time_ns));
    const struct ronde_row printed = {sheet->fields, count};
    return ronde_sink_row(sink, &printed, error);
}

/* Objects of another kind behind the rows; a CSV has one kind only. */
static enum ronde_status print_change_rows(const struct ronde_plan *plan, struct ronde_sink *sink,
                                           struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; sink->json && status == RONDE_OK && i < plan->change_count; i++) {
        const struct ronde_field fields[] = {
            ronde_field_text("kind", "change"),
            ronde_field_integer("bytes", plan->changes[i].bytes),
            ronde_field_text("below", name_of(plan, plan->changes[i].below)),
            ronde_field_text("above", name_of(plan, plan->changes[i].above)),
        };
        const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
        status = ronde_sink_row(sink, &row, error);
    }
    return status;
}

enum ronde_status ronde_plan_print_rows(const struct ronde_plan *plan,
                                        const struct ronde_bound_share *share,
                                        struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t candidates = plan->selector->choice.count;
    struct sheet sheet = {
        .quotes = ronde_mem_new(mem, candidates, sizeof *sheet.quotes),
        .candidates = ronde_mem_new(mem, candidates, sizeof *sheet.candidates),
    };
    enum ronde_status status = RONDE_OK;
    if (!sheet.quotes || !sheet.candidates)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to print %u candidates", candidates);
    for (uint32_t i = 0; status == RONDE_OK && i < plan->row_count; i++)
        status = print_row(plan, &plan->rows[i], share, &sheet, sink, error);
    if (status == RONDE_OK)
        status = print_change_rows(plan, sink, error);
    ronde_mem_free(mem, sheet.candidates, candidates, sizeof *sheet.candidates);
    ronde_mem_free(mem, sheet.quotes, candidates, sizeof *sheet.quotes);
    return status;
}
