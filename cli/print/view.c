/* Predictions as rows, records and pictures. */
#include "view.h"

#include "cli/draw/timeline.h"
#include "report.h"
#include "table.h"
#include "why.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define COLUMNS 11u

static const struct ronde_column columns[COLUMNS] = {
    {"size", "(B)", 12},    {"count", "(elements)", 12},
    {"type", "", 8},        {"time", "(us)", 11},
    {"algbw", "(GB/s)", 8}, {"busbw", "(GB/s)", 8},
    {"bound", "(%)", 6},    {"pieces", "", 7},
    {"engine", "", 11},     {"busiest link", "(used)", 22},
    {"labels", "", 0},
};

static const struct ronde_table wide = {columns, COLUMNS, 2};

/* The same for a terminal of 100 characters: labels go below. */
#define NARROW_COLUMNS 10u
#define NARROW_LINK 16

static const struct ronde_column narrow_columns[NARROW_COLUMNS] = {
    {"size", "(B)", 10},    {"count", "(elements)", 11},
    {"type", "", 8},        {"time", "(us)", 9},
    {"algbw", "(GB/s)", 7}, {"busbw", "(GB/s)", 7},
    {"bound", "(%)", 5},    {"pieces", "", 6},
    {"engine", "", 11},     {"busiest link", "(used)", NARROW_LINK},
};

static const struct ronde_table narrow = {narrow_columns, NARROW_COLUMNS, 1};

/* Labels joined by commas, as many as fit. */
static struct ronde_cell labels_cell(const struct ronde_record *record)
{
    struct ronde_cell cell = {""};
    for (uint32_t i = 0; i < record->label_count; i++)
        if (strlen(cell.text) + strlen(record->labels[i]) + 2 < sizeof cell.text) {
            strcat(cell.text, i ? "," : "");
            strcat(cell.text, record->labels[i]);
        }
    return cell;
}

/* The busiest link and how busy it is. */
static struct ronde_cell link_cell(const struct ronde_sim_result *result, int most)
{
    struct ronde_cell cell = {""};
    if (result->busiest_link[0])
        snprintf(cell.text, sizeof cell.text, "%.*s %.0f%%", most, result->busiest_link,
                 100.0 * result->busiest_utilisation);
    return cell;
}

static uint64_t bytes_of(const struct ronde_record *record)
{
    return ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype);
}

/* Of the bound; NAN where that is not known. */
static double share_of(const struct ronde_result_view *view)
{
    return view->share
               ? ronde_bound_share_of(view->share, bytes_of(&view->record), view->record.time_ns)
               : NAN;
}

static void print_table_row(const struct ronde_result_view *view, const struct ronde_sink *sink)
{
    const bool is_wide = ronde_table_fits(&wide, sink->width);
    const struct ronde_record *record = &view->record;
    const struct ronde_sim_result *result = &view->result;
    struct ronde_cell cells[COLUMNS];
    cells[0] = ronde_cell_integer(bytes_of(record));
    cells[1] = ronde_cell_integer(record->count);
    cells[2] = ronde_cell_text(ronde_dtype_text(record->dtype));
    cells[3] = ronde_cell_us(record->time_ns);
    cells[4] = ronde_cell_rate(ronde_record_algbw_GBps(record));
    cells[5] = ronde_cell_rate(ronde_record_busbw_GBps(record));
    cells[6] = ronde_bound_share_cell(share_of(view));
    cells[7] = ronde_cell_integer(record->pieces);
    cells[8] = ronde_cell_text(record->engine);
    cells[9] = link_cell(result, is_wide ? 40 : NARROW_LINK - 5);
    cells[10] = labels_cell(record);
    ronde_table_row(sink->file, is_wide ? &wide : &narrow, cells);
    if (!is_wide && cells[10].text[0])
        fprintf(sink->file, "#   labels         %s\n", cells[10].text);
}

/* What each part of a scenario takes alone and together. */
static void print_parts(const struct ronde_co_run *co_run, FILE *file)
{
    for (uint32_t i = 0; i < co_run->part_count; i++) {
        const struct ronde_co_run_part *part = &co_run->parts[i];
        if (part->repeats > 0)
            fprintf(file, "#   at once         %s, %u times\n", part->name, part->repeats);
        else
            fprintf(file, "#   at once         %s: alone %s us, together %s us, x%.3f\n", part->name,
                    ronde_cell_us(part->alone_ns).text, ronde_cell_us(part->together_ns).text,
                    part->alone_ns > 0 ? part->together_ns / part->alone_ns : 1);
    }
}

/* What stands below a row for people to read. */
static void print_comments(const struct ronde_result_view *view, FILE *file)
{
    if (view->result.window > 0)
        fprintf(
            file,
            "#   extrapolated    from windows of %u, %u and %u periods; slopes differ by %.1e\n",
            view->result.window, 2 * view->result.window, 3 * view->result.window,
            view->result.slope_difference);
    if (view->result.size_difference > 0)
        fprintf(file, "#   extrapolated    with chunks made equal: %.1e more bytes\n",
                view->result.size_difference);
    if (view->co_run)
        print_parts(view->co_run, file);
    if (view->says_why && view->is_kept)
        ronde_why_print(&view->kept.why, view->kept.replay.platform, file);
}

/* Fields of a record at most: what it always has, the share of the bound, why, and the scenario. */
#define ROW_FIELDS (RONDE_RECORD_FIELDS + RONDE_WHY_FIELDS + 4u)
/* Fields of a part of a scenario. */
#define PART_FIELDS 5u

/* Room for a printed row; it points into itself. */
struct sheet {
    struct ronde_record_row record;
    struct ronde_why_row why;
    struct ronde_field parts[RONDE_MAX_PARTS][PART_FIELDS];
    struct ronde_row part_rows[RONDE_MAX_PARTS];
    struct ronde_field fields[ROW_FIELDS];
};

/* The scenario as fields: the main collective's times in the open, all parts as objects. */
static size_t layout_parts(const struct ronde_co_run *co_run, struct sheet *sheet,
                           struct ronde_field *field)
{
    for (uint32_t i = 0; i < co_run->part_count; i++) {
        const struct ronde_co_run_part *part = &co_run->parts[i];
        struct ronde_field *own = sheet->parts[i];
        own[0] = ronde_field_text("part", part->name);
        own[1] = part->repeats ? ronde_field_null("alone_ns")
                               : ronde_field_real("alone_ns", part->alone_ns);
        own[2] = ronde_field_real("together_ns", part->together_ns);
        own[3] = part->repeats ? ronde_field_null("slowdown")
                               : ronde_field_real("slowdown", part->together_ns / part->alone_ns);
        own[4] = part->repeats ? ronde_field_integer("repeats", part->repeats)
                               : ronde_field_null("repeats");
        sheet->part_rows[i] = (struct ronde_row){own, PART_FIELDS};
    }
    field[0] = ronde_field_real("alone_ns", co_run->parts[0].alone_ns);
    field[1] =
        ronde_field_real("slowdown", co_run->parts[0].together_ns / co_run->parts[0].alone_ns);
    field[2] = (struct ronde_field){.name = "parts",
                                    .kind = RONDE_FIELD_ROWS,
                                    .rows = sheet->part_rows,
                                    .count = co_run->part_count};
    return 3;
}

/* The record, and behind its fixed keys what was asked for besides. */
static enum ronde_status print_fields(const struct ronde_result_view *view, struct ronde_sink *sink,
                                      struct ronde_error *error)
{
    struct sheet sheet;
    ronde_record_layout(&view->record, &sheet.record);
    size_t count = sheet.record.row.count;
    memcpy(sheet.fields, sheet.record.row.fields, count * sizeof *sheet.fields);
    sheet.fields[count++] = ronde_bound_share_field(share_of(view));
    if (view->says_why && view->is_kept) {
        ronde_why_layout(&view->kept.why, view->kept.replay.platform, &sheet.why);
        memcpy(sheet.fields + count, sheet.why.fields, sheet.why.row.count * sizeof *sheet.fields);
        count += sheet.why.row.count;
    }
    if (view->co_run)
        count += layout_parts(view->co_run, &sheet, sheet.fields + count);
    const struct ronde_row row = {sheet.fields, count};
    return ronde_sink_row(sink, &row, error);
}

void ronde_view_head(const struct ronde_sink *sink)
{
    ronde_table_head(sink->file, ronde_table_fits(&wide, sink->width) ? &wide : &narrow);
}

enum ronde_status ronde_view_print(const struct ronde_result_view *view, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    if (!ronde_sink_is_table(sink))
        return print_fields(view, sink, error);
    print_table_row(view, sink);
    print_comments(view, sink->file);
    return RONDE_OK;
}

/* Ranks by group: those of a scenario by part. */
static struct ronde_trace trace_of(const struct ronde_result_view *view,
                                   struct ronde_trace_group groups[RONDE_MAX_PARTS])
{
    const char *engine = view->kept.result.engine;
    struct ronde_trace trace = {.replay = view->kept.replay,
                                .why = &view->kept.why,
                                .on_path = view->kept.on_path,
                                .groups = groups,
                                .group_count = 1,
                                .is_shared = strcmp(engine, "simgrid") == 0 ||
                                             strcmp(engine, "maxmin") == 0};
    groups[0] = (struct ronde_trace_group){ronde_collective_text(view->record.collective), 0,
                                           view->record.ranks};
    if (view->co_run)
        trace.group_count = ronde_co_run_groups(view->co_run, &view->kept, groups);
    return trace;
}

static enum ronde_status draw_timeline(const struct ronde_result_view *view,
                                       const struct ronde_trace *trace, FILE *file,
                                       uint32_t *out_ranks, struct ronde_error *error)
{
    char title[300], subtitle[300], why[200];
    const struct ronde_record *record = &view->record;
    ronde_why_sentence(&view->kept.why, view->kept.replay.platform, why, sizeof why);
    snprintf(title, sizeof title, "%s %s, %u ranks on %.100s, %s bytes",
             ronde_collective_text(record->collective), record->algorithm, record->ranks,
             record->machine,
             ronde_cell_size(ronde_record_bytes(record->collective, record->ranks, record->count,
                                                record->dtype))
                 .text);
    snprintf(subtitle, sizeof subtitle, "%s us (%s); %s", ronde_cell_us(record->time_ns).text,
             record->engine, why);
    const struct ronde_timeline timeline = {*trace, title, subtitle};
    return ronde_timeline_write(&timeline, file, out_ranks, error);
}

/* A picture into a file of its own; says so where it does not show all ranks. */
static enum ronde_status draw(const struct ronde_result_view *view, const char *path,
                              bool is_timeline, struct ronde_error *error)
{
    struct ronde_trace_group groups[RONDE_MAX_PARTS];
    const struct ronde_trace trace = trace_of(view, groups);
    uint32_t ranks = 0;
    FILE *file = fopen(path, "w");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    enum ronde_status status =
        is_timeline ? draw_timeline(view, &trace, file, &ranks, error)
                    : ronde_trace_write(&trace, ronde_mem_default(), file, &ranks, error);
    if (fclose(file) != 0 && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "%s: could not be written", path);
    if (status == RONDE_OK && ranks < trace.replay.dag->ranks)
        ronde_note("%s shows ranks 0-%u of %u", path, ranks - 1, trace.replay.dag->ranks);
    return status;
}

enum ronde_status ronde_view_draw(const struct ronde_result_view *view,
                                  const struct ronde_options *options, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (options->trace)
        status = draw(view, options->trace, false, error);
    if (status == RONDE_OK && options->timeline)
        status = draw(view, options->timeline, true, error);
    return status;
}
