/* Diagnoses for people and for programs. See results.h. */
#include "results.h"

#include "cli/html/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cause that is less likely is not worth a line. */
static const double least_probability = .03;

static const struct ronde_column columns[] = {
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"nodes", "nodes", "", RONDE_CELL_PLAIN, 5, false},
    {"forced_algorithm", "forced", "", RONDE_CELL_PLAIN, 8, false},
    {"forced_protocol", "protocol", "", RONDE_CELL_PLAIN, 8, false},
    {"from_bytes", "from", "(B)", RONDE_CELL_SIZE, 6, false},
    {"to_bytes", "to", "(B)", RONDE_CELL_SIZE, 6, false},
    {"busbw_GBps", "measured", "(GB/s)", RONDE_CELL_GBPS, 8, false},
    {"expected_busbw_GBps", "expected", "(GB/s)", RONDE_CELL_GBPS, 8, false},
    {"time_ratio", "slower", "(x)", RONDE_CELL_RATIO, 6, false},
    {"tolerance", "model is", "off (x)", RONDE_CELL_RATIO, 8, false},
    {"is_short", "slow", "", RONDE_CELL_PLAIN, 4, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* Runs of one call that differ by less are repeats. */
static const double least_again = 1.5;

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
    return view->sink->json ? ronde_sink_row(view->sink, &RONDE_ROW(fields), error) : RONDE_OK;
}

/* Rows of a table that the diagnosis does without, by reason: not wrong by themselves, but not to be passed over. */
static enum ronde_status print_left_out(const struct ronde_doctor_view *view,
                                        struct ronde_error *error)
{
    struct ronde_published_whys whys;
    ronde_published_whys_of(view->published, &whys);
    for (uint32_t w = 0; w < whys.count; w++) {
        char text[RONDE_PUBLISHED_WHY_BYTES + 64];
        const struct ronde_published_why_group *group = &whys.group[w];
        snprintf(text, sizeof text, "%s (%zu row%s)", group->text, group->rows,
                 group->rows == 1 ? "" : "s");
        RONDE_TRY(print_finding(view, group->first_line, false, text, error));
    }
    return RONDE_OK;
}

enum ronde_status ronde_doctor_print_log(struct ronde_doctor_view *view, struct ronde_error *error)
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
    for (size_t f = 0; f < sizeof findings / sizeof findings[0]; f++) {
        if (findings[f].line == 0)
            continue;
        if (!view->trouble) {
            view->trouble = findings[f].text;
            view->trouble_path = view->path;
            view->trouble_line = findings[f].line;
        }
        RONDE_TRY(print_finding(view, findings[f].line, true, findings[f].text, error));
    }
    if (log->unread_count > 0) {
        char text[RONDE_LOG_TEXT_BYTES + 64];
        snprintf(text, sizeof text, "%s (%u line%s left out)", log->unread, log->unread_count,
                 log->unread_count == 1 ? "" : "s");
        RONDE_TRY(print_finding(view, log->unread_line, false, text, error));
    }
    if (view->published->again.most >= least_again) {
        const struct ronde_published_again *again = &view->published->again;
        char text[RONDE_LOG_TEXT_BYTES];
        snprintf(text, sizeof text,
                 "slower by %.1f times than another run of the same call: its set-up, or other "
                 "load; of %zu such row%s the fastest run decides",
                 again->most, again->rows, again->rows == 1 ? "" : "s");
        RONDE_TRY(print_finding(view, again->line, false, text, error));
    }
    return print_left_out(view, error);
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
    fprintf(view->sink->file, "# ronde %s: %s%s on %s (%s)\n", RONDE_VERSION, view->path,
            view->is_faulty ? ", rows marked FAULTY," : "", machine->name,
            ronde_nccl_generation_text(machine->generation));
    if (log->is_log && !view->is_joint)
        ronde_sink_say(view->sink, "collective: %s", told[log->told]);
    fputs("#\n", view->sink->file);
}

static enum ronde_status print_range(const struct ronde_doctor_view *view,
                                     const struct ronde_doctor_range *range,
                                     struct ronde_error *error)
{
    struct ronde_nccl_call largest = range->call;
    const struct ronde_nccl_call *call = &range->call;
    largest.bytes = range->most_bytes;
    const struct ronde_nccl_band band =
        ronde_nccl_band_of(view->bands, &view->published->systems[0].machine, &largest);
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "range"),
        ronde_field_boolean("faulty", view->is_faulty),
        RONDE_FIELDS_OF_A_CALL(call),
        ronde_field_text("forced_algorithm", ronde_nccl_algorithm_text(range->wish.algorithm)),
        ronde_field_text("forced_protocol", ronde_nccl_protocol_text(range->wish.protocol)),
        ronde_field_integer("from_bytes", range->least_bytes),
        ronde_field_integer("to_bytes", range->most_bytes),
        ronde_field_integer("sizes", range->sizes),
        ronde_field_boolean("is_short", range->is_short),
        ronde_field_real("time_ratio", range->ratio),
        ronde_field_real("tolerance", range->tolerance),
        ronde_field_real("busbw_GBps", range->measured_GBps),
        ronde_field_real("expected_busbw_GBps", range->expected_GBps),
        ronde_field_real("expected_low_GBps", range->expected_GBps / band.high),
        ronde_field_real("expected_high_GBps", range->expected_GBps / band.low)};
    return ronde_sink_print(view->sink, &table, &RONDE_ROW(fields), error);
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
        ronde_sink_say(view->sink, "  %8s  %s", share(cause->probability).text,
                       variant ? variant->says
                               : "something else, which none of these faults explains");
        if (cause->said[0])
            ronde_sink_say(view->sink, "            the log itself: %s", cause->said);
        if (variant && variant->strengths > 0 && strcmp(variant->check, "nothing") != 0)
            ronde_sink_say(view->sink, "            to make sure: %s", variant->check);
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
    return ronde_sink_row(view->sink, &RONDE_ROW(fields), error);
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

#define VERDICT_BYTES 600

/* What is added to a verdict that rests on something else. */
#define JUMPS "; and the rate jumps between sizes: two states of the machine, or other load"

/* One sentence, and what it rests on. */
static const char *verdict_text(const struct ronde_doctor_view *view,
                                const struct ronde_diagnosis *diagnosis, char text[VERDICT_BYTES])
{
    const char *jumps = diagnosis && diagnosis->jumps > RONDE_DOCTOR_MOST_JUMPS ? JUMPS : "";
    bool is_short = false;
    for (uint32_t r = 0; diagnosis && r < diagnosis->range_count; r++)
        is_short = is_short || diagnosis->ranges[r].is_short;
    if (view->trouble)
        snprintf(text, VERDICT_BYTES, "WRONG: %s:%u: %s%s", view->trouble_path, view->trouble_line,
                 view->trouble,
                 !diagnosis            ? ""
                 : diagnosis->is_wrong ? "; and the times are not what the machine should give"
                                       : "; the times are what the machine should give");
    else if (!diagnosis->is_wrong)
        snprintf(
            text, VERDICT_BYTES,
            "%s: this is what the machine should give, as far as the model can tell (%s sure)%s",
            is_sure(diagnosis)         ? "FINE"
            : diagnosis->healthy >= .5 ? "PROBABLY FINE"
                                       : "PERHAPS FINE",
            share(diagnosis->healthy).text,
            is_short ? "; where it is slow, no fault explains that better than the model's own "
                       "error"
                     : "");
    else if (diagnosis->jumps > 0 && !(diagnosis->healthy < RONDE_DOCTOR_LEAST_HEALTHY))
        snprintf(text, VERDICT_BYTES,
                 "WRONG: the rate jumps between sizes (%.0f%% of neighbours differ by 1.5 times): "
                 "two states of the machine, or other load",
                 100 * diagnosis->jumps);
    else if (diagnosis->far > 0)
        snprintf(text, VERDICT_BYTES,
                 "WRONG: %s takes %.*f times as long as it should, far beyond the model's own "
                 "error%s",
                 ronde_cell_size(diagnosis->far_bytes).text, diagnosis->far < 10 ? 1 : 0,
                 diagnosis->far, jumps);
    else
        snprintf(text, VERDICT_BYTES, "WRONG: this is not what the machine should give (%s sure)%s",
                 share(1 - diagnosis->healthy).text, jumps);
    return text;
}

/* The likeliest cause that is a fault, where something is wrong; NULL for none. */
static const struct ronde_doctor_cause *fault_of(const struct ronde_diagnosis *diagnosis)
{
    for (uint32_t c = 0; diagnosis && diagnosis->is_wrong && c < diagnosis->cause_count; c++) {
        const struct ronde_doctor_cause *cause = &diagnosis->causes[c];
        if (cause->variant && cause->variant->strengths > 0)
            return cause->probability >= least_probability ? cause : NULL;
    }
    return NULL;
}

/* The top of a page. */
static void answer(const struct ronde_doctor_view *view, const struct ronde_diagnosis *diagnosis,
                   const char *verdict)
{
    const struct ronde_doctor_cause *fault = fault_of(diagnosis);
    const char *slash = strrchr(view->path, '/');
    ronde_html_answer(view->sink->html, "%s on %s: %s%s%s.", slash ? slash + 1 : view->path,
                      view->published->systems[0].machine.name, verdict,
                      fault ? "; most likely " : "", fault ? fault->variant->says : "");
    if (diagnosis)
        ronde_html_sure(
            view->sink->html,
            "%s%s%s%s%sThe shaded band is where the model of NCCL may be off by itself, as "
            "on systems that it was not fitted to; nineteen of twenty healthy sizes lie "
            "in it.",
            fault ? "If one fault is behind it, that is it by " : "",
            fault ? share(fault->probability).text : "", fault ? "; to make sure: " : "",
            fault ? fault->variant->check : "", fault ? ". " : "");
}

static enum ronde_status print_verdict_object(const struct ronde_doctor_view *view,
                                              const struct ronde_diagnosis *diagnosis,
                                              struct ronde_error *error)
{
    const bool is_wrong = view->trouble || diagnosis->is_wrong;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "verdict"),
        ronde_field_boolean("faulty", view->is_faulty),
        ronde_field_text("machine", view->published->systems[0].machine.name),
        ronde_field_boolean("is_wrong", is_wrong),
        ronde_field_real("healthy", diagnosis ? diagnosis->healthy : NAN),
        ronde_field_real("far", diagnosis ? diagnosis->far : NAN),
        ronde_field_integer("far_bytes", diagnosis ? diagnosis->far_bytes : 0),
        ronde_field_real("jumps", diagnosis ? diagnosis->jumps : NAN),
        ronde_field_text("log_says", view->trouble)};
    return view->sink->json ? ronde_sink_row(view->sink, &RONDE_ROW(fields), error) : RONDE_OK;
}

enum ronde_status ronde_doctor_print(const struct ronde_doctor_view *view,
                                     const struct ronde_diagnosis *diagnosis,
                                     struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(view->sink);
    enum ronde_status status = RONDE_OK;
    char verdict[VERDICT_BYTES];
    answer(view, diagnosis, verdict_text(view, diagnosis, verdict));
    if (!diagnosis && is_table)
        fprintf(view->sink->file, "#\n# %s\n", verdict);
    if (!diagnosis)
        return is_table ? RONDE_OK : print_verdict_object(view, NULL, error);
    if (is_table) {
        print_head(view);
        ronde_sink_head(view->sink, &table);
    }
    for (uint32_t r = 0; status == RONDE_OK && r < diagnosis->range_count; r++)
        status = print_range(view, &diagnosis->ranges[r], error);
    if (is_table)
        fprintf(view->sink->file, "#\n# %s\n", verdict);
    if (is_table && !is_sure(diagnosis))
        fputs("# likely causes, if one fault is behind it:\n", view->sink->file);
    for (uint32_t c = 0; status == RONDE_OK && c < diagnosis->cause_count; c++)
        if (!view->sink->csv && (!is_table || !is_sure(diagnosis)))
            status = print_cause(view, &diagnosis->causes[c], error);
    if (is_table) {
        print_model(view, diagnosis);
        return status;
    }
    return status == RONDE_OK ? print_verdict_object(view, diagnosis, error) : status;
}

void ronde_doctor_page_rows(const struct ronde_doctor_view *view,
                            const struct ronde_doctor_request *request)
{
    for (size_t r = 0; view->sink->html && r < view->published->count; r++) {
        const struct ronde_published_row *row = &view->published->rows[r];
        const struct ronde_nccl_call *call = &row->call;
        const double expected_us = ronde_doctor_expected_us(request, row);
        if (!(expected_us > 0) || !(row->measured_us > 0))
            continue;
        const double off = ronde_doctor_tolerance(view->spread, call);
        const double GB_us =
            (double)call->bytes / 1e3 * ronde_collective_bus_factor(call->collective, call->ranks);
        const struct ronde_field fields[] = {
            ronde_field_text("kind", "size"),
            RONDE_FIELDS_OF_A_CALL(call),
            ronde_field_text("forced_algorithm", ronde_nccl_algorithm_text(row->wish.algorithm)),
            ronde_field_text("forced_protocol", ronde_nccl_protocol_text(row->wish.protocol)),
            ronde_field_integer("bytes", call->bytes),
            ronde_field_boolean("in_place", row->is_in_place),
            ronde_field_real("time_us", row->measured_us),
            ronde_field_real("expected_us", expected_us),
            ronde_field_real("busbw_GBps", GB_us / row->measured_us),
            ronde_field_real("expected_busbw_GBps", GB_us / expected_us),
            ronde_field_real("expected_low_busbw_GBps", GB_us / (expected_us * off)),
            ronde_field_real("expected_high_busbw_GBps", GB_us * off / expected_us)};
        ronde_html_row(view->sink->html, &RONDE_ROW(fields));
    }
}
