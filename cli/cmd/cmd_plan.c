/* ronde plan: which algorithm for which size, by how much, and why. */
#include "cli/draw/gnuplot.h"
#include "cli/html/html.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "styles.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/plan.h"
#include "ronde/schedule_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- What is printed -------------------------------------------------------------------------------------------- */

static const struct ronde_column columns[] = {
    RONDE_COLUMNS_OF_A_SIZE,
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

static bool is_second_faster(const struct ronde_plan_row *row)
{
    return row->decision.second != RONDE_NONE && row->quotes[row->decision.second].time_ns <
                                                     .995 * row->quotes[row->decision.best].time_ns;
}

/* A lead that is printed as less than 1, and one that is not known to be as much as is printed. */
static void explain_leads(const struct ronde_plan *plan, const struct ronde_sink *sink)
{
    for (uint32_t i = 0; i < plan->row_count; i++)
        if (is_second_faster(&plan->rows[i])) {
            const uint32_t made = plan->rows[i].decision.second;
            const double compared =
                ronde_candidate_compared(&plan->selector->choice.candidates[made], 1);
            ronde_sink_say(sink,
                           "lead below 1: a schedule made for this machine has to be brought to "
                           "a library and counts as %.3g %% slower than it is",
                           100 * (compared - 1));
            break;
        }
    for (uint32_t i = 0; i < plan->row_count; i++)
        if (plan->rows[i].decision.may_be_nearer) {
            ronde_sink_say(sink,
                           "lead is at most that where finer pieces of the runner-up are long to "
                           "replay and promise no more than the winner, first at %s",
                           ronde_cell_tick(plan->rows[i].bytes).text);
            break;
        }
}

/* Nominal files know links alone, and a plan from one is not to be taken for more. */
static void print_warning(const struct ronde_plan *plan, const struct ronde_sink *sink)
{
    const struct ronde_platform *platform = plan->selector->platform_pricer.platform;
    const struct ronde_time_params *time = platform ? &ronde_platform_facts(platform)->time : NULL;
    if (time && time->step_ns <= 0.0 && !ronde_time_is_sized(time))
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
#define ROW_FIELDS 30u

/* A printed row; it points into itself. */
struct printed_row {
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
                              struct printed_row *line)
{
    for (uint32_t i = 0; i < plan->selector->choice.count; i++) {
        const struct ronde_candidate *candidate = &plan->selector->choice.candidates[i];
        const struct ronde_quote *quote = &row->quotes[i];
        struct ronde_field *field = line->quotes[i];
        field[0] = ronde_field_text("algorithm", name_of(plan, i));
        field[1] = ronde_field_real("time_ns", quote->time_ns);
        field[2] = ronde_field_text("engine", quote->engine);
        field[3] = ronde_field_boolean("exact", quote->is_exact);
        field[4] = ronde_field_boolean("eligible", candidate->is_eligible);
        field[5] = ronde_field_boolean("bound", quote->is_bound);
        field[6] = ronde_field_integer("channels", candidate->schedule->channel_count);
        field[7] = ronde_field_text("placement", placement_of(plan, candidate));
        line->candidates[i] = (struct ronde_row){field, QUOTE_FIELDS};
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
    field[at++] = ronde_field_integer_if("root", has_root, request->root);
    field[at++] = ronde_field_integer("slot_bytes", row->decision.slot_bytes);
    return at;
}

static size_t layout_answer(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                            struct printed_row *line, struct ronde_field *field)
{
    const struct ronde_decision *decision = &row->decision;
    const struct ronde_quote *best = &row->quotes[decision->best];
    const bool has_second = decision->second != RONDE_NONE;
    const double second_ns = has_second ? row->quotes[decision->second].time_ns : NAN;
    const double algbw_GBps = best->time_ns > 0 ? (double)row->bytes / best->time_ns : 0;
    const struct ronde_candidate *candidate = &plan->selector->choice.candidates[decision->best];
    const struct ronde_schedule *schedule = candidate->schedule;
    size_t at = 0;
    snprintf(line->hash, sizeof line->hash, "%016" PRIx64, schedule->hash);
    field[at++] = ronde_field_text("algorithm", name_of(plan, decision->best));
    field[at++] = ronde_field_integer("channels", schedule->channel_count);
    field[at++] = ronde_field_text("placement", placement_of(plan, candidate));
    field[at++] = ronde_field_text("options",
                                   ronde_decision_options(plan->selector, decision, line->options));
    field[at++] = ronde_field_real("time_ns", best->time_ns);
    field[at++] = ronde_field_text("engine", best->engine);
    field[at++] = ronde_field_boolean("exact", best->is_exact);
    field[at++] = ronde_field_text("runner_up", has_second ? name_of(plan, decision->second) : NULL);
    field[at++] = ronde_field_real("runner_up_ns", second_ns);
    field[at++] = ronde_field_real("lead", best->time_ns > 0 ? second_ns / best->time_ns : NAN);
    field[at++] = ronde_field_boolean("lead_at_most", decision->may_be_nearer);
    field[at++] = ronde_field_real("algbw_GBps", algbw_GBps);
    field[at++] = ronde_field_real("busbw_GBps",
                                   algbw_GBps * ronde_collective_bus_factor(schedule->collective,
                                                                            schedule->ranks));
    field[at++] = ronde_field_integer("messages", schedule->proof.critical_path);
    field[at++] = ronde_field_real("sent_bytes", row->sent_bytes);
    field[at++] = ronde_field_real("latency_share", latency_share(row));
    field[at++] = ronde_field_text("basis", ronde_basis_text(plan->selector, line->basis));
    field[at++] = ronde_field_text("schedule", line->hash);
    field[at++] = ronde_field_text("version", RONDE_VERSION);
    return at;
}

static enum ronde_status print_row(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                                   const struct ronde_bound_share *share, struct printed_row *line,
                                   struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_candidate *best = &plan->selector->choice.candidates[row->decision.best];
    const bool is_of = ronde_bound_is_of(&best->request, best->host_of);
    layout_candidates(plan, row, line);
    size_t count = layout_request(plan, row, line->fields);
    count += layout_answer(plan, row, line, line->fields + count);
    line->fields[count++] = (struct ronde_field){.name = "candidates",
                                                 .kind = RONDE_FIELD_ROWS,
                                                 .rows = line->candidates,
                                                 .count = plan->selector->choice.count};
    line->fields[count++] =
        ronde_field_real("bound_share",
                         is_of ? ronde_bound_share_of(share, row->bytes,
                                                      row->quotes[row->decision.best].time_ns)
                               : NAN);
    const struct ronde_row printed = {line->fields, count};
    RONDE_TRY(ronde_sink_print(sink, &table, &printed, error));
    /* A narrow table has no room for them beside the row. */
    if (ronde_sink_is_table(sink) && !sink->is_wide && line->options[0])
        fprintf(sink->file, "#   sim -a %s %s\n", name_of(plan, row->decision.best), line->options);
    return RONDE_OK;
}

/* Objects of another kind behind the rows; a CSV has one kind only. */
static enum ronde_status print_change_rows(const struct ronde_plan *plan, struct ronde_sink *sink,
                                           struct ronde_error *error)
{
    for (uint32_t i = 0; i < plan->change_count; i++) {
        const struct ronde_field fields[] = {
            ronde_field_text("kind", "change"),
            ronde_field_integer("bytes", plan->changes[i].bytes),
            ronde_field_text("below", name_of(plan, plan->changes[i].below)),
            ronde_field_text("above", name_of(plan, plan->changes[i].above)),
        };
        if (sink->json)
            RONDE_TRY(ronde_sink_row(sink, &RONDE_ROW(fields), error));
        else
            ronde_html_row(sink->html, &RONDE_ROW(fields));
    }
    return RONDE_OK;
}

static enum ronde_status print_rows(const struct ronde_plan *plan, struct ronde_sink *sink,
                                    struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_choice *choice = &plan->selector->choice;
    const struct ronde_bound_share share =
        ronde_bound_share_find(plan->selector->platform_pricer.platform,
                               &choice->candidates[0].request, NULL);
    struct printed_row line = {
        .quotes = ronde_mem_new(mem, choice->count, sizeof *line.quotes),
        .candidates = ronde_mem_new(mem, choice->count, sizeof *line.candidates),
    };
    enum ronde_status status = RONDE_OK;
    if (!line.quotes || !line.candidates)
        status =
            ronde_fail(error, RONDE_NO_MEMORY, "no memory to print %u candidates", choice->count);
    for (uint32_t i = 0; status == RONDE_OK && i < plan->row_count; i++)
        status = print_row(plan, &plan->rows[i], &share, &line, sink, error);
    ronde_mem_free(mem, line.candidates, choice->count, sizeof *line.candidates);
    ronde_mem_free(mem, line.quotes, choice->count, sizeof *line.quotes);
    return status;
}

/*
 * Prints it: a row a size, and where the winner changes; for programs with the prices of all candidates. Errors: NO_MEMORY; those of
 * ronde_sink_print.
 */
static enum ronde_status print_rows_and_changes(const struct ronde_plan *plan,
                                                struct ronde_sink *sink, struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(sink);
    if (is_table)
        print_head(plan, sink);
    RONDE_TRY(print_rows(plan, sink, error));
    ronde_answer_plan(sink->html, plan);
    if (is_table) {
        print_changes(plan, sink->file);
        explain_leads(plan, sink);
    }
    return print_change_rows(plan, sink, error);
}

/* -N may be left to the machine: all its hosts. */
static enum ronde_status
find_request(const struct ronde_options *options, const struct ronde_platform *platform,
             struct ronde_compile_request *out_request, struct ronde_error *error)
{
    struct ronde_options used = *options;
    for (uint32_t a = 0; a < options->what.algorithm_count; a++)
        if (!ronde_is_file(options->what.algorithms[a]))
            return ronde_fail(
                error, RONDE_BAD_ARGUMENT,
                "plan compares all algorithms, and with -a files of schedules besides: "
                "leave out -a %s; sim takes one",
                options->what.algorithms[a]);
    used.what.algorithm_count = 0;
    return ronde_open_request(&used, platform, out_request, error);
}

/* Schedules of files, which are weighed beside the algorithms. */
struct offered {
    struct ronde_schedule *schedules[RONDE_MAX_NAMES];
    uint32_t count;
};

static enum ronde_status offer_files(const struct ronde_options *options,
                                     struct ronde_selector *selector, struct offered *offered,
                                     struct ronde_error *error)
{
    for (uint32_t a = 0; a < options->what.algorithm_count; a++) {
        struct ronde_schedule **schedule = &offered->schedules[offered->count];
        RONDE_TRY(ronde_schedule_file_open(options->what.algorithms[a], NULL, schedule, error));
        offered->count++;
        RONDE_TRY(ronde_selector_offer(selector, *schedule, options->what.algorithms[a], error));
    }
    return RONDE_OK;
}

/* What is missing is said before anything is priced. */
static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    if (options->engine.synthesize && !options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--synthesize needs a machine: --topo");
    if (options->machine.topo)
        RONDE_TRY(ronde_takes_none(options, "backend",
                                   "--topo says how fast everything is, and times measured on a "
                                   "backend nothing more",
                                   error));
    else
        RONDE_TRY(ronde_takes_none(options, "engine", "without --topo nothing is replayed", error));
    return ronde_plot_check(options->output.plot, error);
}

static enum ronde_status print_plan(struct ronde_invocation *call, const struct ronde_plan *plan,
                                    struct ronde_error *error)
{
    const char *plot = call->options->output.plot;
    enum ronde_status status = ronde_sink_open(call->options, &call->sink, error);
    RONDE_THEN(status, print_rows_and_changes(plan, &call->sink, error));
    return status == RONDE_OK && plot ? ronde_plan_plot(plan, plot, error) : status;
}

/* Sizes that come to the same number of elements are one. */
static enum ronde_status make_plan(const struct ronde_options *options,
                                   struct ronde_selector *selector, struct ronde_plan *out_plan,
                                   struct ronde_error *error)
{
    const struct ronde_compile_request *request = &selector->choice.candidates[0].request;
    uint64_t sizes[RONDE_PLAN_SIZES], last = UINT64_MAX, bytes = options->sizes.min_bytes;
    uint32_t count = 0;
    do {
        const uint64_t elements =
            ronde_collective_count(request->collective, request->ranks, bytes, options->what.dtype);
        if (elements != last && count == RONDE_PLAN_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_PLAN_SIZES, (unsigned long long)options->sizes.factor);
        if (elements != last)
            sizes[count++] = bytes;
        last = elements;
        bytes = ronde_options_next_size(&options->sizes, bytes);
    } while (bytes != 0);
    return ronde_plan_make(selector, sizes, count, out_plan, error);
}

/* How long a size will take is not known: each counts as the same part. */
static void show_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    if (done == total)
        ronde_progress("replaying where the best algorithm changes");
    else
        ronde_progress_part((double)done / (double)total, (double)done / (double)total,
                            "comparing all algorithms, size %u of %u", (unsigned)done + 1,
                            (unsigned)total);
}

static enum ronde_status plan_by_table(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_compile_request request;
    struct ronde_tune_options how = ronde_tune_options_of(options);
    struct ronde_selector selector = {.quotes = NULL};
    struct ronde_plan plan = {.selector = NULL};
    struct offered offered = {.count = 0};
    enum ronde_status status = check_options(options, error);
    if (status == RONDE_OK && options->machine.topo)
        status = ronde_open_platform(options, &call->platform, error);
    RONDE_THEN(status, find_request(options, call->platform, &request, error));
    how.plan_progress.on_progress = show_progress;
    ronde_progress("proving algorithms, making schedules");
    RONDE_THEN(status, ronde_selector_open(&how, &request, &selector, error));
    RONDE_THEN(status, offer_files(options, &selector, &offered, error));
    RONDE_THEN(status, ronde_selector_use(&selector, call->platform,
                                          ronde_executor_times_of(options->backend.name),
                                          ronde_usable_cores(), error));
    RONDE_THEN(status, make_plan(options, &selector, &plan, error));
    /* A picture has a curve for every algorithm. */
    if (status == RONDE_OK && (options->output.plot || options->output.html))
        status = ronde_plan_settle(&plan, error);
    ronde_progress_end();
    RONDE_THEN(status, print_plan(call, &plan, error));
    ronde_plan_free(&plan);
    ronde_selector_close(&selector);
    for (uint32_t i = 0; i < offered.count; i++)
        ronde_schedule_destroy(offered.schedules[i]);
    return status;
}

/* --to, or what the output's name says. */
static const char *format_of(const struct ronde_options *options)
{
    const char *to = ((const struct ronde_format_options *)options->own)->to;
    const char *dot = options->output.path ? strrchr(options->output.path, '.') : NULL;
    return !to && dot && strcmp(dot, ".tuner") == 0 ? "nccl-tuner" : to;
}

static enum ronde_status plan_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    const char *to = format_of(options);
    const bool is_nccl = options->style && !ronde_is_mpi_style(options->style);

    if (!is_nccl && ronde_refuse_anchor(options, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (to && !options->style)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--to %s: which of NCCL's algorithms and protocols is fastest, only --style nccl "
            "knows",
            to);
    if (to)
        return ronde_nccl_tuner_file(call, to, error);
    if (options->style)
        return is_nccl ? ronde_nccl_style(call, true, error) : ronde_mpi_style(call, true, error);
    return plan_by_table(call, error);
}

static const struct ronde_option compared_rows[] = {
    {"algorithm", 'a', "FILE,...", ronde_take_algorithms,
     offsetof(struct ronde_what_options, algorithms), NULL, 0, true,
     "schedules in files, compared with all algorithms"},
};

static const struct ronde_option_group compared_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, compared_rows, struct ronde_what_options, NULL, NULL);

static const struct ronde_option own_rows[] = {
    {"to", 0, "FORMAT", ronde_take_text, offsetof(struct ronde_format_options, to), "nccl-tuner", 0,
     true,
     "nccl-tuner (and -o NAME.tuner), with --style nccl: what libnccl-tuner-ronde.so reads, of all "
     "collectives and communicators of the machine"},
};

static const struct ronde_option_use uses[] = {
    {&compared_group, offsetof(struct ronde_options, what), NULL, false},
    RONDE_TAKES_ROWS(RONDE_SECTION_OUTPUT, own_rows, struct ronde_format_options, NULL),
    RONDE_TAKES(what, "ranks datatype root shape pairs channels anchor"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(style, NULL),
    RONDE_TAKES(engine, "slot synthesize engine depth"),
    RONDE_TAKES(backend, "backend"),
    RONDE_TAKES(output, "json csv wide output plot html"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_plan = {
    .name = "plan",
    .arguments = "[COLLECTIVE]",
    .summary = "best algorithm per size on a machine, and why",
    .examples = "  ronde plan all_reduce --topo dgx-h100-pod -b 8 -e 1G\n"
                "  ronde plan broadcast -N 16 --topo crossbar-64 --slot 64K --plot plan.svg\n"
                "  ronde plan all_reduce -N 4 --backend cpu\n"
                "  ronde plan all_reduce --style nccl -N 64 -b 1K -e 1G --topo Alps-GH200\n"
                "  ronde plan --style nccl --topo Alps-GH200 --nodes 64 -o ronde.tuner\n",
    .uses = uses,
    .max_arguments = 1,
    .run = plan_command,
};
