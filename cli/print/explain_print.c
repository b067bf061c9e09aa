/* What a job's collectives cost, for people and for programs. See results.h. */
#include "results.h"

#include "cli/html/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Characters of a group in the table; one that needs more is cut, and how many ranks it has is said. */
#define GROUP_WIDTH 12

static const struct ronde_column columns[] = {
    {"group", "ranks", "", RONDE_CELL_PLAIN, -GROUP_WIDTH, false},
    {"seen", "seen", "", RONDE_CELL_PLAIN, 5, false},
    {"collective", "collective", "", RONDE_CELL_PLAIN, -14, false},
    {"bytes", "size", "(B)", RONDE_CELL_SIZE, 8, false},
    {"calls", "calls", "", RONDE_CELL_PLAIN, 6, false},
    {"unknown", "unknown", "", RONDE_CELL_PLAIN, 7, true},
    {"time_us", "time", "(us)", RONDE_CELL_US, 8, false},
    {"p90_us", "p90", "(us)", RONDE_CELL_US, 8, true},
    {"busbw_GBps", "busbw", "(GB/s)", RONDE_CELL_GBPS, 7, false},
    {"expected_us", "expected", "(us)", RONDE_CELL_US, 8, false},
    {"expected_low_us", "low", "(us)", RONDE_CELL_US, 8, true},
    {"expected_high_us", "high", "(us)", RONDE_CELL_US, 8, true},
    {"ratio", "ratio", "(x)", RONDE_CELL_RATIO, 5, false},
    {"late_rank", "late", "rank", RONDE_CELL_PLAIN, 5, false},
    {"late_share", "share", "(%)", RONDE_CELL_PERCENT, 6, true},
    {"waiting_us", "waiting", "(us)", RONDE_CELL_US, 8, false},
    {"exposed_us", "exposed", "(us)", RONDE_CELL_US, 9, true},
    {"hidden_us", "hidden", "(us)", RONDE_CELL_US, 9, true},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* A line between what is said and the table. */
static void print_gap(const struct ronde_sink *sink)
{
    if (ronde_sink_is_table(sink))
        fputs("#\n", sink->file);
}

/* Below 0 is not known. */
static struct ronde_field known(const char *name, double value)
{
    return value >= 0 ? ronde_field_real(name, value) : ronde_field_null(name);
}

/* Ranks as people write them, within the column. */
static struct ronde_cell group_of(const struct ronde_field *ranks)
{
    const struct ronde_column column = {"ranks", "", "", RONDE_CELL_PLAIN, 0, false};
    struct ronde_cell cell = ronde_cell_of(&column, &(struct ronde_row){ranks, 1});
    char end[24];
    if (strlen(cell.text) <= GROUP_WIDTH)
        return cell;
    const int bytes = snprintf(end, sizeof end, "..(%zu)", ranks->count);
    snprintf(cell.text + GROUP_WIDTH - bytes, sizeof end, "%s", end);
    return cell;
}

/* The keys of a record, those of the first; ratio is time over what is expected. */
static enum ronde_status print_row(const struct ronde_explain_view *view,
                                   const struct ronde_explain_row *row, struct ronde_error *error)
{
    char seen[32];
    const bool is_named = row->collective != RONDE_COLLECTIVE_COUNT;
    if (row->size > 0)
        snprintf(seen, sizeof seen, "%" PRIu32 "/%" PRIu32, row->seen, row->size);
    else
        snprintf(seen, sizeof seen, "%" PRIu32, row->seen);
    const struct ronde_field ranks = {.name = "ranks",
                                      .kind = RONDE_FIELD_NUMBERS,
                                      .numbers = row->ranks,
                                      .count = row->rank_count};
    const struct ronde_cell group = group_of(&ranks);
    const struct ronde_field fields[] = {
        ranks,
        ronde_field_text("collective", is_named ? ronde_collective_text(row->collective) : NULL),
        ronde_field_integer_if("bytes", row->bytes != RONDE_TRACE_NO_NUMBER, row->bytes),
        ronde_field_integer("calls", row->calls),
        ronde_field_integer("unknown", row->unknown),
        known("time_us", row->time_us),
        known("busbw_GBps", row->busbw_GBps),
        known("expected_us", row->expected_us),
        known("expected_low_us", row->expected_low_us),
        known("expected_high_us", row->expected_high_us),
        ronde_field_integer_if("late_rank", row->late_rank != RONDE_TRACE_NONE, row->late_rank),
        known("late_share", row->late_share),
        known("waiting_us", row->waiting_us),
        ronde_field_text("seen", seen),
        ronde_field_boolean("is_bound", row->is_bound),
        ronde_field_boolean("is_inferred", row->is_inferred),
        ronde_field_boolean("is_own_numbers", row->is_own_numbers),
        known("mean_us", row->mean_us),
        known("p90_us", row->p90_us),
        ronde_field_text("group", group.text),
        known("ratio",
              row->expected_us > 0 && row->time_us >= 0 ? row->time_us / row->expected_us : -1),
        known("exposed_us", row->exposed_us),
        known("hidden_us", row->hidden_us)};
    return ronde_sink_print(view->sink, &table, &RONDE_ROW(fields), error);
}

/* Sums of a step. */
struct sums {
    double time_us, waiting_us, exposed_us, hidden_us; /* means of ranks */
    uint64_t calls, unknown, groupless;
    uint32_t bounds, inferred, own; /* rows */
};

static struct sums sum_up(const struct ronde_explain_view *view)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    struct sums sums = {.time_us = 0};
    for (uint32_t r = 0; r < view->found->rows.count; r++) {
        if (rows[r].is_log)
            continue;
        sums.calls += rows[r].calls;
        sums.unknown += rows[r].unknown;
        sums.groupless += rows[r].size == 0 ? rows[r].calls : 0;
        sums.bounds += rows[r].is_bound && rows[r].calls > 0;
        sums.inferred += rows[r].is_inferred;
        sums.own += rows[r].is_own_numbers;
        /* A rank is in some of the groups only: sums are means of ranks. */
        const double share =
            (double)rows[r].seen / (view->found->ranks > 0 ? view->found->ranks : 1);
        if (rows[r].collective != RONDE_COLLECTIVE_COUNT) {
            sums.time_us += share * rows[r].step_us;
            sums.waiting_us += rows[r].step_waiting_us > 0 ? share * rows[r].step_waiting_us : 0;
        }
        if (rows[r].collective == RONDE_COLLECTIVE_COUNT)
            continue;
        sums.exposed_us += rows[r].exposed_us > 0 ? share * rows[r].exposed_us : 0;
        sums.hidden_us += rows[r].hidden_us > 0 ? share * rows[r].hidden_us : 0;
    }
    return sums;
}

static void print_head(const struct ronde_explain_view *view, const struct sums *sums)
{
    const struct ronde_trace_remark *remarks = view->traces->remarks.items;
    struct ronde_sink *sink = view->sink;
    char of[32] = "";
    if (view->found->world > 0)
        snprintf(of, sizeof of, " of %" PRIu32, view->found->world);
    if (view->found->ranks == 0)
        ronde_sink_say(sink, "ronde %s: what nccl-tests measured", RONDE_VERSION);
    else
        ronde_sink_say(sink,
                       "ronde %s: %" PRIu64 " calls by %" PRIu32 "%s ranks, %" PRIu32 " step%s",
                       RONDE_VERSION, sums->calls, view->found->ranks, of, view->found->steps,
                       view->found->steps == 1 ? "" : "s");
    if (view->machine)
        ronde_sink_say(sink,
                       "expected: as NCCL executes it on %s, a model: "
                       "docs/results/validation-nccl.md",
                       view->machine->name);
    for (uint32_t r = 0; r < view->traces->remarks.count; r++)
        ronde_sink_say(sink, "%s", remarks[r].text);
    if (sums->unknown > 0)
        ronde_sink_say(sink,
                       "%" PRIu64 " calls are not explained: their record, size or time is not in "
                       "the traces (kernels of before the window, graphs, calls in flight)",
                       sums->unknown);
    if (sums->bounds > 0)
        ronde_sink_say(
            sink, "where not all ranks are seen, times are upper bounds: they may have waiting "
                  "for the others in them");
    /* Where all ranks are seen and no groups are found in their calls, a remark of the traces says why. */
    if (sums->groupless > 0 && view->found->ranks < view->found->world)
        ronde_sink_say(sink,
                       "which ranks take part in %" PRIu64 " calls is not in the traces, so busbw "
                       "and expected times are not known: traces of all ranks would say",
                       sums->groupless);
    if (sums->inferred > 0)
        ronde_sink_say(sink, "the traces name no groups: ranks whose calls end together are taken "
                             "for one");
    if (sums->own > 0)
        ronde_sink_say(sink, "ranks are numbers within communicators: the files do not say which "
                             "ranks of the job these are");
    print_gap(sink);
}

/* What waiting for a rank costs the others in a step. */
static double late_us(const struct ronde_explain_view *view, uint32_t rank)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    double us = 0;
    for (uint32_t r = 0; r < view->found->rows.count; r++)
        /* The late one waits for nobody: what is lost is the others'. */
        if (rows[r].late_rank == rank && rows[r].seen > 1)
            us += rows[r].step_waiting_us * rows[r].seen / (rows[r].seen - 1);
    return us;
}

/* Whether a row before this one names the same rank. */
static bool is_named_before(const struct ronde_explain_row *rows, uint32_t row)
{
    for (uint32_t r = 0; r < row; r++)
        if (rows[r].late_rank == rows[row].late_rank)
            return true;
    return false;
}

static void print_late(const struct ronde_explain_view *view)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    for (uint32_t r = 0; r < view->found->rows.count; r++)
        if (rows[r].late_rank != RONDE_TRACE_NONE && !is_named_before(rows, r))
            ronde_sink_say(view->sink,
                           "rank %" PRIu32 " is late: a rank that waits for it loses %s us a step; "
                           "look at what it does before these calls (input, uneven work, a slow "
                           "GPU), not at the network",
                           rows[r].late_rank,
                           ronde_cell_us(1e3 * late_us(view, rows[r].late_rank)).text);
}

/* What a change must come to, of the time as it is: less is within what the model cannot tell. */
static const double least_gain = .9;

/* A call that takes longer than the model of the machine can be off by. */
static void print_slow(const struct ronde_explain_view *view, const struct ronde_explain_row *row)
{
    const double excess_us = ronde_explain_excess_us(row) / view->found->steps;
    if (excess_us <= 0 || row->is_log)
        return;
    ronde_sink_say(
        view->sink,
        "%s of %s takes %.2f times what %s should take, %s us a step more: run "
        "nccl-tests' %s on these nodes and ask ronde doctor; beside compute 1.3 times is "
        "usual",
        ronde_collective_text(row->collective), ronde_cell_size(row->bytes).text,
        row->time_us / row->expected_us, view->machine->name, ronde_cell_us(1e3 * excess_us).text,
        ronde_collective_text(row->collective));
}

/* Causes less likely than this are not worth a line. */
static const double least_probability = .2;

/* What a step would save without the excess of its slow rows. */
static double excess_us(const struct ronde_explain_view *view)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    double us = 0;
    for (uint32_t r = 0; r < view->found->rows.count; r++)
        if (!rows[r].is_log)
            us += ronde_explain_excess_us(&rows[r]) * rows[r].seen / view->found->ranks /
                  view->found->steps;
    return us;
}

/* What is printed behind the rows, for people as sentences. */
struct findings {
    const struct ronde_explain_view *view;
    enum ronde_status status; /* of records: the first failure */
    struct ronde_error *error;
};

/* A finding as a record: with the keys that rows are told apart by, and no calls. `of`: the row that it is about, or NULL. */
static void record(struct findings *findings, const char *kind, const struct ronde_explain_row *of,
                   const struct ronde_row *more)
{
    struct ronde_sink *sink = findings->view->sink;
    struct ronde_field fields[16] = {
        ronde_field_text("kind", kind),
        {.name = "ranks",
         .kind = RONDE_FIELD_NUMBERS,
         .numbers = of ? of->ranks : NULL,
         .count = of ? of->rank_count : 0},
        ronde_field_text("collective", of && of->collective != RONDE_COLLECTIVE_COUNT
                                           ? ronde_collective_text(of->collective)
                                           : NULL),
        ronde_field_integer_if("bytes", of && of->bytes != RONDE_TRACE_NO_NUMBER, of ? of->bytes : 0),
        ronde_field_integer("calls", 0)};
    const size_t count = 5 + more->count;
    memcpy(fields + 5, more->fields, more->count * sizeof *fields);
    if (sink->json && findings->status == RONDE_OK)
        findings->status = ronde_sink_row(sink, &(struct ronde_row){fields, count}, findings->error);
}

/* Ranks that a job waits for where it hangs: remarks say it to people. */
static void print_hangs(struct findings *findings)
{
    const struct ronde_traces *traces = findings->view->traces;
    const struct ronde_trace_remark *remarks = traces->remarks.items;
    const struct ronde_job_group *groups = traces->groups.items;
    for (uint32_t r = 0; r < traces->remarks.count; r++) {
        const struct ronde_trace_hang *hang = &remarks[r].hang;
        if (hang->behind == 0)
            continue;
        const struct ronde_explain_row of = {.ranks = groups[hang->group].ranks,
                                             .rank_count = groups[hang->group].count,
                                             .collective = RONDE_COLLECTIVE_COUNT,
                                             .bytes = RONDE_TRACE_NO_NUMBER};
        const struct ronde_field fields[] = {ronde_field_integer("call", (uint64_t)hang->call),
                                             ronde_field_integer("waiting", hang->waiting),
                                             ronde_field_integer("behind", hang->behind),
                                             ronde_field_integer("behind_rank", hang->rank),
                                             ronde_field_boolean("has_enqueued", hang->has_enqueued),
                                             ronde_field_integer_if("last_call", hang->last >= 0,
                                                                    (uint64_t)hang->last),
                                             ronde_field_text("text", remarks[r].text)};
        record(findings, "hang", &of, &RONDE_ROW(fields));
    }
}

static void print_cause(struct findings *findings, const struct ronde_doctor_cause *cause)
{
    uint32_t count;
    const struct ronde_doctor_variant *variant = cause->variant;
    const struct ronde_doctor_variant *healthy = ronde_doctor_variants(&count);
    const struct ronde_sink *sink = findings->view->sink;
    const struct ronde_field fields[] = {ronde_field_text("cause", variant ? variant->key
                                                                           : "something_else"),
                                         ronde_field_text("text", variant ? variant->says : NULL),
                                         ronde_field_text("check", variant ? variant->check : NULL),
                                         ronde_field_real("probability", cause->probability),
                                         ronde_field_text("log_says",
                                                          cause->said[0] ? cause->said : NULL)};
    record(findings, "cause", NULL, &RONDE_ROW(fields));
    if (cause->probability < least_probability || variant == healthy)
        return;
    if (variant)
        ronde_sink_say(sink, "  %.0f%%: %s%s%s; to make sure: %s", 100 * cause->probability,
                       variant->says, cause->said[0] ? "; the log itself: " : "", cause->said,
                       variant->check);
    else
        ronde_sink_say(sink, "  %.0f%%: something that none of doctor's faults explains",
                       100 * cause->probability);
}

/* One fault that explains all rows, as doctor has them. */
static void print_causes(struct findings *findings)
{
    const struct ronde_explain_view *view = findings->view;
    const struct ronde_diagnosis *diagnosis = view->diagnosis;
    const double saved_us = excess_us(view);
    char saves[160] = "";
    if (!diagnosis)
        return;
    const struct ronde_field fields[] = {ronde_field_text("machine", view->machine->name),
                                         ronde_field_boolean("is_wrong", diagnosis->is_wrong),
                                         ronde_field_real("healthy", diagnosis->healthy),
                                         ronde_field_real("saved_us", saved_us)};
    record(findings, "verdict", NULL, &RONDE_ROW(fields));
    if (!diagnosis->is_wrong)
        return;
    if (saved_us > 0)
        snprintf(saves, sizeof saves, "; without it a step takes %s us less",
                 ronde_cell_us(1e3 * saved_us).text);
    ronde_sink_say(view->sink, "this is not what %s should give, of all rows together%s",
                   view->machine->name, saves);
    for (uint32_t c = 0; c < diagnosis->cause_count; c++)
        print_cause(findings, &diagnosis->causes[c]);
}

/* Groups across nodes within them, and those within across. */
static void print_placement(struct findings *findings)
{
    const struct ronde_explain_view *view = findings->view;
    struct ronde_explain_placement place;
    if (!ronde_explain_place(view->found, view->machine, view->constants, &place) ||
        place.other_us > least_gain * place.now_us)
        return;
    const struct ronde_field fields[] = {ronde_field_integer("inner", place.inner),
                                         ronde_field_integer("outer", place.outer),
                                         ronde_field_real("now_us", place.now_us),
                                         ronde_field_real("other_us", place.other_us),
                                         ronde_field_real("saved_us", place.now_us - place.other_us)};
    record(findings, "placement", NULL, &RONDE_ROW(fields));
    ronde_sink_say(view->sink,
                   "groups of %" PRIu32 " ranks beside each other and groups of %" PRIu32
                   " across them take %s us a step by the model; the other way round %s us, %s us "
                   "less: give those of %" PRIu32 " ranks that are neighbours",
                   place.inner, place.outer, ronde_cell_us(1e3 * place.now_us).text,
                   ronde_cell_us(1e3 * place.other_us).text,
                   ronde_cell_us(1e3 * (place.now_us - place.other_us)).text, place.outer);
}

/* What NCCL could be made to do, beside its own choice, both by the model; channels 0: its own. */
static void print_advice(struct findings *findings, const struct ronde_explain_row *row,
                         struct ronde_nccl_choice choice, uint32_t channels, double us)
{
    const double saved_us =
        (row->expected_us - us) * (double)row->calls / findings->view->found->steps;
    const char *collective = ronde_collective_text(row->collective);
    char does[128];
    if (channels > 0)
        snprintf(does, sizeof does, "NCCL_MIN_NCHANNELS=%" PRIu32, channels);
    else
        snprintf(does, sizeof does, "ronde plan %s --style nccl --to nccl-tuner", collective);
    const struct ronde_field fields[] = {
        ronde_field_text("algorithm",
                         channels > 0 ? NULL : ronde_nccl_algorithm_text(choice.algorithm)),
        ronde_field_text("protocol", channels > 0 ? NULL : ronde_nccl_protocol_text(choice.protocol)),
        ronde_field_integer_if("channels", channels > 0, channels),
        ronde_field_real("time_us", us),
        ronde_field_real("expected_us", row->expected_us),
        ronde_field_real("saved_us", saved_us),
        ronde_field_text("does", does)};
    record(findings, "advice", row, &RONDE_ROW(fields));
    if (channels > 0)
        ronde_sink_say(findings->view->sink,
                       "%s of %s: %" PRIu32 " channels would take %.2f of the time of NCCL's own, "
                       "%s us a step less by the model, which no forced channels were measured "
                       "for; %s in the job's environment makes them (a tuner can only take fewer)",
                       collective, ronde_cell_size(row->bytes).text, channels,
                       us / row->expected_us, ronde_cell_us(1e3 * saved_us).text, does);
    else
        ronde_sink_say(findings->view->sink,
                       "%s of %s: %s by %s would take %.2f of the time of NCCL's own choice, %s us "
                       "a step less by the model; %s writes the file that makes NCCL take it",
                       collective, ronde_cell_size(row->bytes).text,
                       ronde_nccl_algorithm_text(choice.algorithm),
                       ronde_nccl_protocol_text(choice.protocol), us / row->expected_us,
                       ronde_cell_us(1e3 * saved_us).text, does);
}

/* The fastest of what NCCL could choose, and more channels, where they are faster by more than the model cannot tell. */
static void print_choice(struct findings *findings, const struct ronde_explain_row *row)
{
    const struct ronde_explain_view *view = findings->view;
    struct ronde_nccl_call call;
    struct ronde_nccl_choice fastest;
    if (row->expected_us <= 0 || row->is_log || !ronde_explain_call(row, view->machine, &call))
        return;
    const struct ronde_nccl_machine machine = ronde_explain_machine(row, view->machine);
    double us = ronde_nccl_fastest(view->constants, &machine, &call, &fastest);
    if (isfinite(us) && us <= row->expected_low_us && fastest.algorithm != RONDE_NCCL_POINT)
        print_advice(findings, row, fastest, 0, us);
    const uint32_t channels =
        ronde_nccl_more_channels(view->constants, &machine, &call, row->expected_low_us, &us);
    if (channels > 0)
        print_advice(findings, row, fastest, channels, us);
}

/* Groups of one shape have the same calls: what is to be said of them is said once, of the longest. */
static bool is_repeated(const struct ronde_explain_row *rows, uint32_t row)
{
    for (uint32_t r = 0; r < row; r++)
        if (rows[r].collective == rows[row].collective && rows[r].bytes == rows[row].bytes &&
            rows[r].size == rows[row].size && rows[r].nodes == rows[row].nodes)
            return true;
    return false;
}

static void print_step(const struct ronde_explain_view *view, const struct sums *sums)
{
    struct ronde_sink *sink = view->sink;
    if (sums->bounds > 0)
        ronde_sink_say(sink,
                       "a step of a rank: %s us in collectives, with what is not known of waiting",
                       ronde_cell_us(1e3 * (sums->time_us + sums->waiting_us)).text);
    else
        ronde_sink_say(sink, "a step of a rank: %s us in collectives without waiting, %s us waiting",
                       ronde_cell_us(1e3 * sums->time_us).text,
                       ronde_cell_us(1e3 * sums->waiting_us).text);
    if (sums->exposed_us + sums->hidden_us > 0)
        ronde_sink_say(sink, "of all of it %s us are exposed, %s us are hidden beside compute",
                       ronde_cell_us(1e3 * sums->exposed_us).text,
                       ronde_cell_us(1e3 * sums->hidden_us).text);
}

static enum ronde_status print_what_to_do(const struct ronde_explain_view *view,
                                          const struct sums *sums, struct ronde_error *error)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    struct findings findings = {view, RONDE_OK, error};
    print_gap(view->sink);
    if (view->found->ranks > 0)
        print_step(view, sums);
    print_late(view);
    print_hangs(&findings);
    if (view->machine) {
        print_causes(&findings);
        print_placement(&findings);
    }
    for (uint32_t r = 0; view->machine && r < view->found->rows.count; r++) {
        if (is_repeated(rows, r))
            continue;
        print_slow(view, &rows[r]);
        print_choice(&findings, &rows[r]);
    }
    return findings.status;
}

enum ronde_status ronde_explain_print(const struct ronde_explain_view *view,
                                      struct ronde_error *error)
{
    const struct ronde_explain_row *rows = view->found->rows.items;
    const struct sums sums = sum_up(view);
    enum ronde_status status = RONDE_OK;
    print_head(view, &sums);
    ronde_sink_head(view->sink, &table);
    for (uint32_t r = 0; status == RONDE_OK && r < view->found->rows.count; r++)
        status = print_row(view, &rows[r], error);
    RONDE_THEN(status, print_what_to_do(view, &sums, error));
    ronde_answer_explain(view->sink->html, view);
    return status;
}
