/* A replayed step, for people and for programs. See results.h. */
#include "cli/draw/gnuplot.h"
#include "cli/draw/svg.h"
#include "cli/html/html.h"
#include "report.h"
#include "results.h"

#include "ronde/output_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Pictures --------------------------------------------------------------------------------------------------- */

/* Tracks of one kind on one rank: what is still under way when another begins needs a track of its own. */
#define MOST_TRACKS 8u

/* Where the kinds of tracks begin. */
enum { FIRST_CPU = 0, FIRST_FAMILY = 1000, FIRST_MESSAGES = 1000000 };

/* The picture in the making. */
struct pen {
    const struct ronde_workload_report *report;
    FILE *file;
    uint32_t *order;    /* items by rank, kind of track and start */
    bool has_events;    /* a comma is due */
    uint32_t most_bars; /* of a timeline */
};

static uint32_t kind_of(const struct ronde_workload *workload, const struct ronde_work *work)
{
    switch (work->kind) {
    case RONDE_WORK_COMPUTE:
        return FIRST_CPU + work->cpu % (FIRST_FAMILY / MOST_TRACKS);
    case RONDE_WORK_COLLECTIVE:
        return FIRST_FAMILY + workload->groups[work->group].family;
    default:
        return FIRST_MESSAGES;
    }
}

static void name_of(const struct ronde_workload *workload, const struct ronde_work *work,
                    char *text, size_t bytes)
{
    const char *name = ronde_workload_text(workload, work->name);
    if (name[0])
        (void)snprintf(text, bytes, "%s", name);
    else if (work->kind == RONDE_WORK_COLLECTIVE)
        (void)snprintf(text, bytes, "%s", ronde_collective_text(work->collective));
    else
        (void)snprintf(text, bytes, "%s", ronde_work_kind_text(work->kind));
}

static int by_track(const void *left, const void *right, void *context)
{
    const struct ronde_workload_report *report = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct ronde_workload *workload = report->workload;
    const struct ronde_work *one = &workload->works[a], *other = &workload->works[b];
    const uint32_t kinds[] = {kind_of(workload, one), kind_of(workload, other)};
    const double starts[] = {report->result->start_ns[a], report->result->start_ns[b]};
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    if (kinds[0] != kinds[1])
        return kinds[0] < kinds[1] ? -1 : 1;
    if (starts[0] < starts[1] || starts[0] > starts[1])
        return starts[0] < starts[1] ? -1 : 1;
    return (a > b) - (a < b);
}

static enum ronde_status put(struct pen *pen, const struct ronde_field *fields, size_t count,
                             struct ronde_error *error)
{
    const struct ronde_row row = {fields, count};
    fputs(pen->has_events ? "," : "", pen->file);
    pen->has_events = true;
    return ronde_json_print(&row, pen->file, error);
}

static enum ronde_status put_item(struct pen *pen, uint32_t index, uint32_t track,
                                  struct ronde_error *error)
{
    const struct ronde_workload *workload = pen->report->workload;
    const struct ronde_work *work = &workload->works[index];
    const struct ronde_workload_result *result = pen->report->result;
    char name[256];
    name_of(workload, work, name, sizeof name);
    const char *category =
        work->kind == RONDE_WORK_COLLECTIVE
            ? ronde_workload_text(workload, workload->families[workload->groups[work->group].family])
            : ronde_work_kind_text(work->kind);
    const struct ronde_field fields[] = {
        ronde_field_text("ph", "X"),
        ronde_field_text("name", name),
        ronde_field_text("cat", category),
        ronde_field_integer("pid", work->rank),
        ronde_field_integer("tid", track),
        ronde_field_real("ts", result->start_ns[index] / 1e3),
        ronde_field_real("dur", (result->end_ns[index] - result->start_ns[index]) / 1e3),
    };
    return put(pen, fields, sizeof fields / sizeof fields[0], error);
}

/* Items of a rank and a kind, each on the first track that is free. */
static enum ronde_status put_items(struct pen *pen, struct ronde_error *error)
{
    const struct ronde_workload *workload = pen->report->workload;
    const struct ronde_workload_result *result = pen->report->result;
    double ends_ns[MOST_TRACKS] = {0};
    uint32_t rank = UINT32_MAX, kind = UINT32_MAX;
    for (uint32_t i = 0; i < workload->work_count; i++) {
        const uint32_t index = pen->order[i];
        const struct ronde_work *work = &workload->works[index];
        uint32_t track = 0;
        if (work->rank != rank || kind_of(workload, work) != kind)
            memset(ends_ns, 0, sizeof ends_ns);
        rank = work->rank;
        kind = kind_of(workload, work);
        while (track + 1 < MOST_TRACKS && ends_ns[track] > result->start_ns[index])
            track++;
        ends_ns[track] = result->end_ns[index];
        RONDE_TRY(put_item(pen, index, kind * MOST_TRACKS + track, error));
    }
    return RONDE_OK;
}

static enum ronde_status write_trace(struct pen *pen, struct ronde_error *error)
{
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", pen->file);
    const enum ronde_status status = put_items(pen, error);
    fputs("]}\n", pen->file);
    return status;
}

/* ---- Timeline --------------------------------------------------------------------------------------------------- */

/* Computing, then families of groups, then messages. */
static uint32_t track_of(const struct ronde_workload *workload, const struct ronde_work *work)
{
    const uint32_t kind = kind_of(workload, work), last = workload->family_count + 1;
    const uint32_t track = kind < FIRST_FAMILY     ? 0
                           : kind < FIRST_MESSAGES ? 1 + kind - FIRST_FAMILY
                                                   : last;
    return track < RONDE_TIMELINE_KINDS ? track : RONDE_TIMELINE_KINDS - 1;
}

static struct ronde_timeline_bar bar_of_item(const void *context, uint32_t index)
{
    const struct pen *pen = context;
    const struct ronde_workload *workload = pen->report->workload;
    const struct ronde_workload_result *result = pen->report->result;
    const uint32_t item = pen->order[index];
    const struct ronde_work *work = &workload->works[item];
    const uint32_t track = track_of(workload, work);
    return (struct ronde_timeline_bar){.rank = work->rank,
                                       .track = track,
                                       .kind = track,
                                       .start_ns = result->start_ns[item],
                                       .middle_ns = result->end_ns[item],
                                       .end_ns = result->end_ns[item]};
}

static enum ronde_status write_timeline(struct pen *pen, struct ronde_error *error)
{
    const struct ronde_workload *workload = pen->report->workload;
    const struct ronde_workload_result *result = pen->report->result;
    const struct ronde_trace_group all = {"", 0, workload->ranks};
    struct ronde_timeline_kind kinds[RONDE_TIMELINE_KINDS] = {{"compute", "#b8b8b8"}};
    uint32_t shown = 0;
    char title[400], subtitle[160];
    for (uint32_t track = 1; track < RONDE_TIMELINE_KINDS; track++)
        kinds[track] =
            (struct ronde_timeline_kind){track <= workload->family_count
                                             ? ronde_workload_text(workload,
                                                                   workload->families[track - 1])
                                             : "messages",
                                         ronde_colour(track - 1)};
    snprintf(title, sizeof title, "When does which rank do what in %.200s, %u ranks on %.100s?",
             pen->report->path, workload->ranks, ronde_platform_facts(pen->report->platform)->name);
    snprintf(subtitle, sizeof subtitle, "%.3f us, simulated by %s", result->time_ns / 1e3,
             result->engine);
    const struct ronde_timeline timeline = {.title = title,
                                            .subtitle = subtitle,
                                            .ranks = workload->ranks,
                                            .groups = &all,
                                            .group_count = 1,
                                            .kinds = kinds,
                                            .kind_count = RONDE_TIMELINE_KINDS,
                                            .bar_count = workload->work_count,
                                            .bar = bar_of_item,
                                            .most_bars = pen->most_bars,
                                            .context = pen};
    RONDE_TRY(ronde_timeline_write(&timeline, pen->file, &shown, error));
    if (shown < workload->ranks && !pen->most_bars)
        ronde_note("the timeline shows ranks 0-%u of %u", shown - 1, workload->ranks);
    return RONDE_OK;
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* Items in order of their tracks. */
static enum ronde_status open_pen(struct pen *pen, struct ronde_error *error)
{
    struct ronde_workload_report copy = *pen->report;
    const uint32_t count = pen->report->workload->work_count;
    pen->order = calloc(count + 1u, sizeof *pen->order);
    if (!pen->order)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a picture of %u items", count);
    for (uint32_t i = 0; i < count; i++)
        pen->order[i] = i;
    qsort_r(pen->order, count, sizeof *pen->order, by_track, &copy);
    return RONDE_OK;
}

static enum ronde_status draw(const struct ronde_workload_report *report, const char *path,
                              enum ronde_status (*write)(struct pen *pen, struct ronde_error *error),
                              struct ronde_error *error)
{
    struct pen pen = {.report = report};
    struct ronde_output_file output = {.file = NULL};
    enum ronde_status status = open_pen(&pen, error);
    RONDE_THEN(status, ronde_output_file_open(path, &output, error));
    pen.file = output.file;
    RONDE_THEN(status, write(&pen, error));
    free(pen.order);
    return ronde_output_file_close(&output, status, error);
}

static enum ronde_status draw_in_page(void *context, FILE *file, struct ronde_error *error)
{
    struct pen *pen = context;
    pen->file = file;
    return write_timeline(pen, error);
}

/* Likewise: draws the timeline into a page; nothing for NULL. Errors: those of ronde_html_draw. */
static enum ronde_status draw_page(const struct ronde_workload_report *report,
                                   struct ronde_html *html, struct ronde_error *error)
{
    static const struct ronde_html_picture timeline = {
        "Who computes, who communicates, and who waits when?",
        "A row a rank, the first 64. Enlarge it with the buttons, + and -, or Ctrl and the wheel; "
        "move it with the pointer or the arrows.",
        true};
    struct pen pen = {.report = report, .most_bars = RONDE_PAGE_BARS};
    if (!html)
        return RONDE_OK;
    enum ronde_status status = open_pen(&pen, error);
    RONDE_THEN(status, ronde_html_draw(html, &timeline, draw_in_page, &pen, error));
    free(pen.order);
    return status;
}

/* A part of a bar: from where the last one ended. */
static void print_part(FILE *gnuplot, uint32_t row, double *from_us, double part_ns)
{
    fprintf(gnuplot, "%.9g %u %.9g %.9g %.2f %.2f\n", *from_us + part_ns / 2e3, row, *from_us,
            *from_us + part_ns / 1e3, row - 0.3, row + 0.3);
    *from_us += part_ns / 1e3;
}

/* Where the step's time goes: of a rank, in the mean, and of the critical path. */
static enum ronde_status plot(const struct ronde_workload_report *report, const char *path,
                              struct ronde_error *error)
{
    const struct ronde_workload_result *result = report->result;
    struct ronde_gnuplot drawing;
    RONDE_TRY(ronde_gnuplot_open(path, 860, 260, &drawing, error));
    FILE *gnuplot = drawing.script;
    double rank_us = 0, path_us = 0;
    fprintf(gnuplot,
            "set yrange [0.4:2.6]\nset xrange [0:%.9g]\nset xlabel 'time of the step (us)'\n"
            "set ytics ('critical path' 1, 'a rank, mean' 2)\nset key outside right noenhanced\n"
            "set style fill solid 0.9 border lc rgb 'white'\nset grid x lc rgb '#dddddd'\n"
            "set title '%u ranks on %.100s, simulated by %s' noenhanced\nplot "
            "'-' with boxxyerror lc rgb '#b8b8b8' title 'compute'",
            result->time_ns / 1e3, report->workload->ranks,
            ronde_platform_facts(report->platform)->name, result->engine);
    for (uint32_t f = 0; f < result->family_count; f++)
        fprintf(gnuplot, ", '-' with boxxyerror lc rgb '%s' title '%s'", ronde_colour(f),
                result->families[f].name);
    fputs(", '-' with boxxyerror lc rgb '#f4f4f4' title 'idle'\n", gnuplot);
    print_part(gnuplot, 2, &rank_us, result->mean.compute_ns);
    print_part(gnuplot, 1, &path_us, result->path_compute_ns);
    fputs("e\n", gnuplot);
    for (uint32_t f = 0; f < result->family_count; f++) {
        print_part(gnuplot, 2, &rank_us, result->families[f].exposed_ns);
        print_part(gnuplot, 1, &path_us, result->families[f].path_ns);
        fputs("e\n", gnuplot);
    }
    print_part(gnuplot, 2, &rank_us, result->mean.idle_ns);
    fputs("e\n", gnuplot);
    return ronde_gnuplot_close(&drawing, error);
}

enum ronde_status ronde_workload_draw(const struct ronde_workload_report *report,
                                      const struct ronde_views_options *views,
                                      const char *plot_path, struct ronde_error *error)
{
    const char *missing = NULL;
    if (views->trace && !ronde_json_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    if (views->trace)
        RONDE_TRY(draw(report, views->trace, write_trace, error));
    if (views->timeline)
        RONDE_TRY(draw(report, views->timeline, write_timeline, error));
    if (plot_path)
        RONDE_TRY(plot(report, plot_path, error));
    return RONDE_OK;
}

static const struct ronde_column columns[] = {
    {"groups", "groups", "", RONDE_CELL_PLAIN, 8, false},
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"calls", "calls", "", RONDE_CELL_PLAIN, 6, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},
    {"alone_ns", "alone", "(us)", RONDE_CELL_NS, 8, false},
    {"mean_ns", "in step", "(us)", RONDE_CELL_NS, 8, false},
    {"path_ns", "on path", "(us)", RONDE_CELL_NS, 8, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* Where other algorithms were tried. */
static const struct ronde_column what_if_columns[] = {
    {"groups", "groups", "", RONDE_CELL_PLAIN, 8, false},
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"calls", "calls", "", RONDE_CELL_PLAIN, 6, true},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 20, false},
    {"alone_ns", "alone", "(us)", RONDE_CELL_NS, 8, true},
    {"mean_ns", "in step", "(us)", RONDE_CELL_NS, 8, true},
    {"path_ns", "on path", "(us)", RONDE_CELL_NS, 8, false},
    {"better", "what if", "", RONDE_CELL_PLAIN, 16, false},
    {"saves_ns", "saves", "(us)", RONDE_CELL_SAVING, 8, false},
};
static const struct ronde_table what_if_table = RONDE_TABLE(what_if_columns);

static double percent(double part_ns, const struct ronde_workload_result *result)
{
    return result->time_ns > 0 ? 100 * part_ns / result->time_ns : 0;
}

static void print_ranks(const struct ronde_workload_result *result, FILE *file)
{
    fprintf(file,
            "# ranks    compute %.1f%%, exposed communication %.1f%%, idle %.1f%% of the step "
            "(mean)\n",
            percent(result->mean.compute_ns, result), percent(result->mean.exposed_ns, result),
            percent(result->mean.idle_ns, result));
    fprintf(file, "# most     exposed is rank %u: compute %.1f%%, exposed %.1f%%, idle %.1f%%\n",
            result->worst_rank, percent(result->worst.compute_ns, result),
            percent(result->worst.exposed_ns, result), percent(result->worst.idle_ns, result));
}

/* Families that take no part of anything are left out. */
static void print_families(const struct ronde_workload_result *result, FILE *file)
{
    fprintf(file, "# exposed %s", result->mean.exposed_ns > 0 ? "" : " nothing");
    for (uint32_t f = 0; f < result->family_count; f++)
        if (result->families[f].exposed_ns > 0)
            fprintf(file, " %s %.1f%%", result->families[f].name,
                    percent(result->families[f].exposed_ns, result));
    fprintf(file, "\n# path     compute %.1f%%", percent(result->path_compute_ns, result));
    for (uint32_t f = 0; f < result->family_count; f++)
        if (result->families[f].path_ns > 0)
            fprintf(file, " %s %.1f%%", result->families[f].name,
                    percent(result->families[f].path_ns, result));
    fputs("\n", file);
}

/* Calls that run by fewer steps than the fastest has are said to be so much slower. */
static void print_fewer(const struct ronde_workload_result *result, const struct ronde_sink *sink)
{
    uint32_t kinds = 0;
    double most = 0;
    for (uint32_t c = 0; c < result->call_count; c++) {
        const struct ronde_workload_call *call = &result->calls[c];
        kinds += call->is_short;
        if (call->is_short)
            most = fmax(most, call->alone_ns / call->planned_ns - 1);
    }
    if (kinds > 0)
        ronde_sink_say(
            sink,
            "fewer    steps than the fastest, as calls are many: %u kind%s, up to %.1f%% "
            "slower alone",
            kinds, kinds == 1 ? "" : "s", 100 * most);
}

static void print_head(const struct ronde_workload_report *report, const struct ronde_sink *sink)
{
    const struct ronde_workload_result *result = report->result;
    FILE *file = sink->file;
    fprintf(file, "# ronde %s: %s, %u ranks on %s (%s)\n", RONDE_VERSION, report->path,
            report->workload->ranks, ronde_platform_facts(report->platform)->name,
            ronde_platform_path(report->platform));
    if (report->is_nccl)
        ronde_sink_say(
            sink, "calls    as NCCL executes each of them alone, a model "
                  "(docs/results/validation-nccl.md): those under way at once do not slow each "
                  "other");
    else
        ronde_sink_say(sink, "calls    by schedules of ronde, replayed: %s where they name none",
                       report->algorithm ? report->algorithm : "the fastest of each kind");
    print_fewer(result, sink);
    fprintf(file, "# step     %.3f us, simulated by %s%s: %u items, %u operations\n",
            result->time_ns / 1e3, result->engine,
            result->is_contention_free ? "" : " (contention ignored)", report->workload->work_count,
            result->ops);
    print_ranks(result, file);
    print_families(result, file);
    if (result->busiest_link[0])
        fprintf(file, "# busiest  link %s, used %.0f%%\n", result->busiest_link,
                100 * result->busiest_utilisation);
    fputs("#\n", file);
    if (result->call_count > 0)
        ronde_sink_head(sink, report->has_alternatives ? &what_if_table : &table);
}

static enum ronde_status print_step(const struct ronde_workload_report *report,
                                    struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_workload_result *result = report->result;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "step"),
        ronde_field_text("workload", report->path),
        ronde_field_text("topology", ronde_platform_path(report->platform)),
        ronde_field_integer("ranks", report->workload->ranks),
        ronde_field_integer("items", report->workload->work_count),
        ronde_field_integer("operations", result->ops),
        ronde_field_text("calls_by", report->is_nccl ? "nccl" : "ronde"),
        ronde_field_text("source", "simulated"),
        ronde_field_text("engine", result->engine),
        ronde_field_boolean("contention_ignored", !result->is_contention_free),
        ronde_field_real("time_ns", result->time_ns),
        ronde_field_real("compute_ns", result->mean.compute_ns),
        ronde_field_real("exposed_ns", result->mean.exposed_ns),
        ronde_field_real("idle_ns", result->mean.idle_ns),
        ronde_field_integer("worst_rank", result->worst_rank),
        ronde_field_real("worst_exposed_ns", result->worst.exposed_ns),
        ronde_field_real("path_compute_ns", result->path_compute_ns),
        ronde_field_text("busiest_link", result->busiest_link[0] ? result->busiest_link : NULL),
        ronde_field_real("busiest_utilisation", result->busiest_utilisation),
        ronde_field_text("version", RONDE_VERSION),
    };
    return ronde_sink_row(sink, &RONDE_ROW(fields), error);
}

static enum ronde_status print_family(const struct ronde_workload_family *family,
                                      struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "family"),
        ronde_field_text("groups", family->name),
        ronde_field_real("exposed_ns", family->exposed_ns),
        ronde_field_real("path_ns", family->path_ns),
    };
    return ronde_sink_row(sink, &RONDE_ROW(fields), error);
}

static enum ronde_status print_call(const struct ronde_workload_report *report,
                                    const struct ronde_workload_call *call, struct ronde_sink *sink,
                                    struct ronde_error *error)
{
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "call"),
        ronde_field_text("groups", call->family),
        ronde_field_text("collective", ronde_collective_text(call->collective)),
        ronde_field_integer("bytes", call->bytes),
        ronde_field_integer("ranks", call->ranks),
        ronde_field_integer("calls", call->count),
        ronde_field_text("algorithm", call->algorithm),
        ronde_field_real("alone_ns", call->alone_ns),
        ronde_field_real("fastest_alone_ns",
                         call->planned_ns > 0 ? call->planned_ns : call->alone_ns),
        ronde_field_real("mean_ns", call->mean_ns),
        ronde_field_real("path_ns", call->path_ns),
        ronde_field_text("better", call->better),
        ronde_field_real("better_step_ns", call->better ? call->better_ns : NAN),
        ronde_field_real("saves_ns", call->better ? report->result->time_ns - call->better_ns : NAN),
    };
    return ronde_sink_print(sink, report->has_alternatives ? &what_if_table : &table,
                            &RONDE_ROW(fields), error);
}

enum ronde_status ronde_workload_print(const struct ronde_workload_report *report,
                                       struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_workload_result *result = report->result;
    enum ronde_status status = RONDE_OK;
    if (ronde_sink_is_table(sink))
        print_head(report, sink);
    /* A CSV has rows of one kind: those of calls. */
    if (sink->json)
        status = print_step(report, sink, error);
    for (uint32_t f = 0; sink->json && f < result->family_count && status == RONDE_OK; f++)
        status = print_family(&result->families[f], sink, error);
    for (uint32_t c = 0; c < result->call_count && status == RONDE_OK; c++)
        status = print_call(report, &result->calls[c], sink, error);
    ronde_answer_workload(sink->html, report);
    return status == RONDE_OK ? draw_page(report, sink->html, error) : status;
}
