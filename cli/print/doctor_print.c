/* Diagnoses for people and for programs. See doctor_print.h. */
#include "doctor_print.h"

#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cause that is less likely is not worth a line. */
static const double least_probability = .03;

static const struct ronde_column columns[] = {{"collective", "", 14},
                                              {"ranks", "", 5},
                                              {"nodes", "", 5},
                                              {"forced", "", 13},
                                              {"from", "(B)", 6},
                                              {"to", "(B)", 6},
                                              {"measured", "(GB/s)", 9},
                                              {"expected", "(GB/s)", 9},
                                              {"time", "(times)", 7},
                                              {"model's", "(+-times)", 9},
                                              {"", "", 9}};

#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

static const struct ronde_table table = {columns, COLUMN_COUNT, 2};

/* One thing that a log says, and where. */
static enum ronde_status print_finding(const struct ronde_doctor_view *view, uint32_t line,
                                       bool is_wrong, const char *text, struct ronde_error *error)
{
    if (ronde_sink_is_table(view->sink)) {
        fprintf(view->sink->file, "# %s:%u: %s\n", view->path, line, text);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {ronde_field_text("kind", "finding"),
                                         ronde_field_text("file", view->path),
                                         ronde_field_integer("line", line),
                                         ronde_field_boolean("is_wrong", is_wrong),
                                         ronde_field_text("text", text)};
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return view->sink->json ? ronde_sink_row(view->sink, &row, error) : RONDE_OK;
}

/* Rows of a table that the diagnosis does without, by reason: not wrong by themselves, but not to be passed over. */
static enum ronde_status print_left_out(const struct ronde_doctor_view *view,
                                        struct ronde_error *error)
{
    struct ronde_published_whys whys;
    enum ronde_status status = RONDE_OK;
    ronde_published_whys_of(view->published, &whys);
    for (uint32_t w = 0; status == RONDE_OK && w < whys.count; w++) {
        char text[RONDE_PUBLISHED_WHY_BYTES + 64];
        const struct ronde_published_why_group *group = &whys.group[w];
        snprintf(text, sizeof text, "%s (%zu row%s)", group->text, group->rows,
                 group->rows == 1 ? "" : "s");
        status = print_finding(view, group->first_line, false, text, error);
    }
    return status;
}

enum ronde_status ronde_doctor_print_log(const struct ronde_doctor_view *view, bool *out_is_wrong,
                                         struct ronde_error *error)
{
    const struct ronde_log_facts *log = &view->published->log;
    const struct {
        uint32_t line;
        const char *text;
    } findings[] = {{log->failure_line, log->failure},
                    {log->wrong_line, "wrong results: #wrong or out of bounds values above 0"},
                    {log->separate_line,
                     "another rank 0: the processes do not know each other, so each "
                     "measures itself; nccl-tests has to be built with MPI=1"},
                    {log->unfinished_line,
                     "a row without times: the run ended, or hung, in this size"}};
    enum ronde_status status = RONDE_OK;
    *out_is_wrong = false;
    for (size_t f = 0; status == RONDE_OK && f < sizeof findings / sizeof findings[0]; f++) {
        if (findings[f].line == 0)
            continue;
        *out_is_wrong = true;
        status = print_finding(view, findings[f].line, true, findings[f].text, error);
    }
    return status == RONDE_OK ? print_left_out(view, error) : status;
}

static void print_head(const struct ronde_doctor_view *view)
{
    const struct ronde_nccl_machine *machine = &view->published->systems[0].machine;
    const struct ronde_log_facts *log = &view->published->log;
    static const char *const told[RONDE_LOG_TOLD_COUNT] = {
        [RONDE_LOG_TOLD_TEST] = "as nccl-tests says",
        [RONDE_LOG_TOLD_CALLER] = "as COLLECTIVE says",
        [RONDE_LOG_TOLD_FILE_NAME] = "as the file's name says",
        [RONDE_LOG_TOLD_RATES] = "as busbw over algbw says"};
    fprintf(view->sink->file, "# ronde %s: %s%s on %s (%s)", RONDE_VERSION, view->path,
            view->is_faulty ? ", rows marked FAULTY," : "", machine->name,
            ronde_nccl_generation_text(machine->generation));
    if (log->is_log)
        fprintf(view->sink->file, "; the collective %s", told[log->told]);
    fputs("\n#\n", view->sink->file);
}

static struct ronde_cell times(double ratio)
{
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, "%.2f", ratio);
    return cell;
}

static struct ronde_cell forced(const struct ronde_nccl_choice *wish)
{
    struct ronde_cell cell = {"-"};
    if (wish->algorithm < RONDE_NCCL_ALGORITHM_COUNT || wish->protocol < RONDE_NCCL_PROTOCOL_COUNT)
        snprintf(cell.text, sizeof cell.text, "%s/%s", ronde_nccl_algorithm_text(wish->algorithm),
                 ronde_nccl_protocol_text(wish->protocol));
    return cell;
}

static enum ronde_status print_range(const struct ronde_doctor_view *view,
                                     const struct ronde_doctor_range *range,
                                     struct ronde_error *error)
{
    const struct ronde_nccl_call *call = &range->call;
    if (ronde_sink_is_table(view->sink)) {
        const struct ronde_cell cells[COLUMN_COUNT] = {
            ronde_cell_text(ronde_collective_text(call->collective)),
            ronde_cell_integer(call->ranks),
            ronde_cell_integer(call->nodes),
            forced(&range->wish),
            ronde_cell_size(range->least_bytes),
            ronde_cell_size(range->most_bytes),
            ronde_cell_rate(range->measured_GBps),
            ronde_cell_rate(range->expected_GBps),
            times(range->ratio),
            times(range->tolerance),
            ronde_cell_text(range->is_short ? "slow" : "ok")};
        ronde_table_row(view->sink->file, &table, cells);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "range"),
        ronde_field_boolean("faulty", view->is_faulty),
        ronde_field_text("collective", ronde_collective_text(call->collective)),
        ronde_field_integer("ranks", call->ranks),
        ronde_field_integer("nodes", call->nodes),
        ronde_field_text("forced_algorithm", ronde_nccl_algorithm_text(range->wish.algorithm)),
        ronde_field_text("forced_protocol", ronde_nccl_protocol_text(range->wish.protocol)),
        ronde_field_integer("from_bytes", range->least_bytes),
        ronde_field_integer("to_bytes", range->most_bytes),
        ronde_field_integer("sizes", range->sizes),
        ronde_field_boolean("is_short", range->is_short),
        ronde_field_real("time_ratio", range->ratio),
        ronde_field_real("tolerance", range->tolerance),
        ronde_field_real("busbw_GBps", range->measured_GBps),
        ronde_field_real("expected_busbw_GBps", range->expected_GBps)};
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(view->sink, &row, error);
}

/* A share for people: what rests on a model is never sure. */
static struct ronde_cell share(double probability)
{
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, probability > .99 ? "over 99%%" : "%.0f%%",
             100 * probability);
    return cell;
}

static enum ronde_status print_cause(const struct ronde_doctor_view *view,
                                     const struct ronde_doctor_cause *cause,
                                     struct ronde_error *error)
{
    const struct ronde_doctor_variant *variant = cause->variant;
    if (ronde_sink_is_table(view->sink)) {
        if (cause->probability < least_probability)
            return RONDE_OK;
        fprintf(view->sink->file, "#   %8s  %s\n", share(cause->probability).text,
                variant ? variant->says : "something else, which none of these faults explains");
        if (cause->said[0])
            fprintf(view->sink->file, "#             the log itself: %s\n", cause->said);
        if (variant && variant->strengths > 0 && strcmp(variant->check, "nothing") != 0)
            fprintf(view->sink->file, "#             to make sure: %s\n", variant->check);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "cause"),
        ronde_field_boolean("faulty", view->is_faulty),
        ronde_field_text("cause", variant ? variant->key : "something_else"),
        ronde_field_text("text", variant ? variant->says : NULL),
        ronde_field_text("check", variant ? variant->check : NULL),
        ronde_field_real("probability", cause->probability),
        ronde_field_real("spreads_off", variant ? cause->off : NAN),
        ronde_field_text("log_says", cause->said[0] ? cause->said : NULL)};
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(view->sink, &row, error);
}

/* Systems that a class's spread rests on, where it was measured. */
static void print_systems(const struct ronde_doctor_view *view,
                          const struct ronde_diagnosis *diagnosis, unsigned sizes)
{
    bool is_there[RONDE_DOCTOR_PLACES] = {false};
    for (uint32_t r = 0; r < diagnosis->range_count; r++)
        is_there[diagnosis->ranges[r].call.nodes > 1] = true;
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        if (is_there[p])
            fprintf(view->sink->file, "%s%u on %s", p > 0 && is_there[0] ? ", " : "",
                    view->spread->systems[p][sizes], p > 0 ? "several nodes" : "one node");
}

static void print_model(const struct ronde_doctor_view *view,
                        const struct ronde_diagnosis *diagnosis)
{
    FILE *file = view->sink->file;
    uint64_t from = RONDE_PUBLISHED_LEAST_BYTES;
    fputs("# how far the model is off by itself, on systems that it was not fitted to:\n", file);
    for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
        const uint64_t to = view->spread->most_bytes[c];
        if (diagnosis->rows[c] > 0) {
            fprintf(file,
                    "#   %4s to %4s: by %.0f%% as a rule (systems: ", ronde_cell_size(from).text,
                    to < UINT64_MAX ? ronde_cell_size(to).text : "more",
                    100 * expm1(diagnosis->spread[c]));
            print_systems(view, diagnosis, c);
            fprintf(file, "); times here are %.2f of its own\n", exp(diagnosis->off[c]));
        }
        from = to;
    }
}

/* Whether other causes than none are not worth a line. */
static bool is_sure(const struct ronde_diagnosis *diagnosis)
{
    return !diagnosis->is_wrong && diagnosis->healthy >= .8;
}

/* One sentence, and what it rests on. */
static void print_verdict(const struct ronde_doctor_view *view,
                          const struct ronde_diagnosis *diagnosis)
{
    FILE *file = view->sink->file;
    bool is_short = false;
    for (uint32_t r = 0; r < diagnosis->range_count; r++)
        is_short = is_short || diagnosis->ranges[r].is_short;
    fputs("#\n", file);
    if (!diagnosis->is_wrong)
        fprintf(file,
                "# %s: this is what the machine should give, as far as the model can tell (%s "
                "sure)%s\n",
                is_sure(diagnosis) ? "FINE" : "PROBABLY FINE", share(diagnosis->healthy).text,
                is_short ? "; where it is slow, no fault explains that better than the model's own "
                           "error"
                         : "");
    else if (diagnosis->jumps > 0 && !(diagnosis->healthy < .5))
        fprintf(file,
                "# WRONG: the rate jumps between sizes (%.0f%% of neighbours differ by 1.5 times): "
                "two states of the machine, or other load\n",
                100 * diagnosis->jumps);
    else
        fprintf(file, "# WRONG: this is not what the machine should give (%s sure)%s\n",
                share(1 - diagnosis->healthy).text,
                diagnosis->jumps > RONDE_DOCTOR_MOST_JUMPS
                    ? "; and the rate jumps between sizes: two states of the "
                      "machine, or other load"
                    : "");
}

enum ronde_status ronde_doctor_print(const struct ronde_doctor_view *view,
                                     const struct ronde_diagnosis *diagnosis,
                                     struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(view->sink);
    enum ronde_status status = RONDE_OK;
    if (is_table) {
        print_head(view);
        ronde_table_head(view->sink->file, &table);
    }
    for (uint32_t r = 0; status == RONDE_OK && r < diagnosis->range_count; r++)
        status = print_range(view, &diagnosis->ranges[r], error);
    if (is_table)
        print_verdict(view, diagnosis);
    if (is_table && !is_sure(diagnosis))
        fputs("# likely causes, if one fault is behind it:\n", view->sink->file);
    for (uint32_t c = 0; status == RONDE_OK && c < diagnosis->cause_count; c++)
        if (!view->sink->csv && (!is_table || !is_sure(diagnosis)))
            status = print_cause(view, &diagnosis->causes[c], error);
    if (is_table) {
        print_model(view, diagnosis);
        return status;
    }
    const struct ronde_field fields[] = {ronde_field_text("kind", "verdict"),
                                         ronde_field_boolean("faulty", view->is_faulty),
                                         ronde_field_text("machine",
                                                          view->published->systems[0].machine.name),
                                         ronde_field_boolean("is_wrong", diagnosis->is_wrong),
                                         ronde_field_real("healthy", diagnosis->healthy),
                                         ronde_field_real("jumps", diagnosis->jumps)};
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return status == RONDE_OK && view->sink->json ? ronde_sink_row(view->sink, &row, error) : status;
}
