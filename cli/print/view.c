/* Predictions as rows, records and pictures. */
#include "results.h"

#include "cli/draw/svg.h"
#include "cli/draw/topo_view.h"
#include "cli/html/html.h"
#include "report.h"
#include "ronde/output_file.h"

#include "ronde/why.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const struct ronde_column columns[] = {
    RONDE_COLUMNS_OF_A_SIZE,
    {"channels", "channels", "", RONDE_CELL_PLAIN, 8, true},
    {"pieces", "pieces", "", RONDE_CELL_PLAIN, 6, true},
    {"engine", "engine", "", RONDE_CELL_PLAIN, 11, false},
    {"busiest_utilisation", "used", "(%)", RONDE_CELL_PERCENT, 5, true},
    {"busiest_link", "busiest link", "", RONDE_CELL_PLAIN, 20, true},
    {"labels", "labels", "", RONDE_CELL_PLAIN, 0, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* ---- Why a replay took as long as it did ------------------------------------------------------------------------ */

/* Fields that explain a record. */
#define WHY_FIELDS (RONDE_WHY_PART_COUNT + 6u)

/* Room for the fields; they point into it. */
struct why_row {
    struct ronde_field fields[WHY_FIELDS];        /* in the fixed order */
    char names[RONDE_WHY_PART_COUNT][32];         /* latency_fraction ... */
    char bottleneck[160];                         /* as write_sentence says it */
    struct ronde_field links[RONDE_WHY_LINKS][2]; /* of `links` */
    struct ronde_row link_rows[RONDE_WHY_LINKS];  /* of `links` */
    struct ronde_row row;                         /* the fields */
};

static double fraction(const struct ronde_why *why, enum ronde_why_part part)
{
    return why->time_ns > 0 ? why->part_ns[part] / why->time_ns : 0;
}

/* Who has most of the largest part: a link, else a rank. */
static void blame(const struct ronde_why *why, const struct ronde_platform *platform,
                  char *out_text, size_t bytes)
{
    const struct ronde_link *link = ronde_platform_link(platform, why->bottleneck_link);
    int used = link ? snprintf(out_text, bytes, ": %.80s", link->name)
                    : snprintf(out_text, bytes, ": rank %u", why->bottleneck_rank);
    if (used > 0 && why->blamed > 1)
        snprintf(out_text + used, bytes - (size_t)used, " and %u more", why->blamed - 1);
}

/* What holds the run up, e.g. "bandwidth, 93% of the critical path: x_link_0_UP and 7 more". */
static void write_sentence(const struct ronde_why *why, const struct ronde_platform *platform,
                           char *out_text, size_t bytes)
{
    char text[128] = "";
    if (why->path_steps == 0) {
        snprintf(out_text, bytes, "nothing to do");
        return;
    }
    /* Latency is nobody's: it is the number of messages that counts. */
    if (why->largest == RONDE_WHY_LATENCY)
        snprintf(text, sizeof text, ": %u message%s", why->path_messages,
                 why->path_messages == 1 ? "" : "s one after another");
    else if (why->blamed > 0)
        blame(why, platform, text, sizeof text);
    snprintf(out_text, bytes, "%s, %.0f%% of the critical path%s",
             ronde_why_part_text(why->largest), 100.0 * fraction(why, why->largest), text);
}

/* Items behind a head, on as many lines as they need: none is broken in two. */
struct items {
    const struct ronde_sink *sink;
    const char *head; /* of the line that is put together; "" on further ones */
    char text[82];    /* a line has 100 characters */
};

static void end_items(struct items *items)
{
    if (items->text[0] != '\0')
        ronde_sink_say(items->sink, "  %-14s %s", items->head, items->text);
    items->head = "";
    items->text[0] = '\0';
}

RONDE_FORMAT(2, 3) static void add_item(struct items *items, const char *format, ...)
{
    char item[sizeof items->text];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(item, sizeof item, format, arguments);
    va_end(arguments);
    if (strlen(items->text) + 1 + strlen(item) >= sizeof items->text)
        end_items(items);
    const size_t at = strlen(items->text);
    snprintf(items->text + at, sizeof items->text - at, "%s%s", at > 0 ? " " : "", item);
}

/* Three comments: bottleneck, parts of the critical path, busiest links. */
static void print_why(const struct ronde_why *why, const struct ronde_platform *platform,
                      const struct ronde_sink *sink)
{
    struct items parts = {.sink = sink, .head = "critical path"};
    struct items links = {.sink = sink, .head = "busiest links"};
    char text[160];
    write_sentence(why, platform, text, sizeof text);
    ronde_sink_say(sink, "  bottleneck     %s", text);
    for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++)
        if (why->part_ns[part] > 0)
            add_item(&parts, "%s %.1f%%;", ronde_why_part_text((enum ronde_why_part)part),
                     100.0 * fraction(why, (enum ronde_why_part)part));
    add_item(&parts, "steps %u; messages %u", why->path_steps, why->path_messages);
    end_items(&parts);
    for (uint32_t i = 0; i < why->link_count; i++)
        add_item(&links, "%.70s %.0f%%", ronde_platform_link(platform, why->links[i])->name,
                 100.0 * why->utilisation[i]);
    end_items(&links);
}

/* The same as fields: a fraction per part, counts of the path, the busiest links as objects. */
static void layout_why(const struct ronde_why *why, const struct ronde_platform *platform,
                       struct why_row *out)
{
    struct ronde_field *field = out->fields;
    write_sentence(why, platform, out->bottleneck, sizeof out->bottleneck);
    *field++ = ronde_field_text("bottleneck", out->bottleneck);
    for (uint32_t part = 0; part < RONDE_WHY_PART_COUNT; part++) {
        snprintf(out->names[part], sizeof out->names[part], "%s_fraction",
                 ronde_why_part_key((enum ronde_why_part)part));
        *field++ = ronde_field_real(out->names[part], fraction(why, (enum ronde_why_part)part));
    }
    *field++ = ronde_field_integer("path_steps", why->path_steps);
    *field++ = ronde_field_integer("path_messages", why->path_messages);
    for (uint32_t i = 0; i < why->link_count; i++) {
        out->links[i][0] =
            ronde_field_text("link", ronde_platform_link(platform, why->links[i])->name);
        out->links[i][1] = ronde_field_real("utilisation", why->utilisation[i]);
        out->link_rows[i] = (struct ronde_row){out->links[i], 2};
    }
    *field++ = ronde_field_text("busiest_link", why->link_count > 0 ? out->links[0][0].text : NULL);
    *field++ =
        ronde_field_real("busiest_utilisation", why->link_count > 0 ? why->utilisation[0] : 0);
    *field++ = (struct ronde_field){.name = "links",
                                    .kind = RONDE_FIELD_ROWS,
                                    .rows = out->link_rows,
                                    .count = why->link_count};
    out->row = (struct ronde_row){out->fields, (size_t)(field - out->fields)};
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

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
static void print_comments(const struct ronde_result_view *view, const struct ronde_sink *sink)
{
    FILE *file = sink->file;
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
        print_why(&view->kept.why, view->kept.replay.platform, sink);
}

/* Fields of a record at most: what it always has, the share of the bound, why or the busiest link, and the scenario. */
#define ROW_FIELDS (RONDE_RECORD_FIELDS + WHY_FIELDS + 4u)
/* Fields of a part of a scenario. */
#define PART_FIELDS 5u

/* Room for a printed row; it points into itself. */
struct printed_row {
    struct ronde_record_row record;
    struct why_row why;
    struct ronde_field parts[RONDE_MAX_PARTS][PART_FIELDS];
    struct ronde_row part_rows[RONDE_MAX_PARTS];
    struct ronde_field fields[ROW_FIELDS];
};

/* The scenario as fields: the main collective's times in the open, all parts as objects. */
static size_t layout_parts(const struct ronde_co_run *co_run, struct printed_row *line,
                           struct ronde_field *field)
{
    for (uint32_t i = 0; i < co_run->part_count; i++) {
        const struct ronde_co_run_part *part = &co_run->parts[i];
        struct ronde_field *own = line->parts[i];
        own[0] = ronde_field_text("part", part->name);
        own[1] = ronde_field_real("alone_ns", part->repeats ? NAN : part->alone_ns);
        own[2] = ronde_field_real("together_ns", part->together_ns);
        own[3] =
            ronde_field_real("slowdown", part->repeats ? NAN : part->together_ns / part->alone_ns);
        own[4] = ronde_field_integer_if("repeats", part->repeats > 0, part->repeats);
        line->part_rows[i] = (struct ronde_row){own, PART_FIELDS};
    }
    field[0] = ronde_field_real("alone_ns", co_run->parts[0].alone_ns);
    field[1] =
        ronde_field_real("slowdown", co_run->parts[0].together_ns / co_run->parts[0].alone_ns);
    field[2] = (struct ronde_field){.name = "parts",
                                    .kind = RONDE_FIELD_ROWS,
                                    .rows = line->part_rows,
                                    .count = co_run->part_count};
    return 3;
}

/* The busiest link and how busy it is; nulls where nothing was replayed. */
static size_t layout_busiest(const struct ronde_sim_result *result, struct ronde_field *field)
{
    const bool is_known = result->busiest_link[0] != '\0';
    field[0] = ronde_field_text("busiest_link", is_known ? result->busiest_link : NULL);
    field[1] = ronde_field_real("busiest_utilisation", is_known ? result->busiest_utilisation : NAN);
    return 2;
}

/* The record, and behind its fixed keys what else is known or was asked for. */
static enum ronde_status print_row(const struct ronde_result_view *view, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    struct printed_row line;
    ronde_record_layout(&view->record, &line.record);
    size_t count = line.record.row.count;
    memcpy(line.fields, line.record.row.fields, count * sizeof *line.fields);
    line.fields[count++] = ronde_field_real("bound_share", share_of(view));
    if (view->says_why && view->is_kept) {
        layout_why(&view->kept.why, view->kept.replay.platform, &line.why);
        memcpy(line.fields + count, line.why.fields, line.why.row.count * sizeof *line.fields);
        count += line.why.row.count;
    } else {
        count += layout_busiest(&view->result, line.fields + count);
    }
    if (view->co_run)
        count += layout_parts(view->co_run, &line, line.fields + count);
    const struct ronde_row row = {line.fields, count};
    return ronde_sink_print(sink, &table, &row, error);
}

void ronde_view_head(const struct ronde_sink *sink)
{
    ronde_sink_head(sink, &table);
}

enum ronde_status ronde_view_print(const struct ronde_result_view *view, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    RONDE_TRY(print_row(view, sink, error));
    if (ronde_sink_is_table(sink))
        print_comments(view, sink);
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
                                       const struct ronde_trace *trace, uint32_t most_bars,
                                       FILE *file, uint32_t *out_ranks, struct ronde_error *error)
{
    char title[300], subtitle[400], why[200];
    const struct ronde_record *record = &view->record;
    write_sentence(&view->kept.why, view->kept.replay.platform, why, sizeof why);
    snprintf(title, sizeof title, "When does which rank do what in %s %s, %u ranks on %.100s, %s?",
             ronde_collective_text(record->collective), record->algorithm, record->ranks,
             record->machine,
             ronde_cell_tick(ronde_record_bytes(record->collective, record->ranks, record->count,
                                                record->dtype))
                 .text);
    snprintf(subtitle, sizeof subtitle, "%s us (%s); %s", ronde_cell_us(record->time_ns).text,
             record->engine, why);
    const struct ronde_timeline_head head = {title, subtitle, most_bars};
    return ronde_timeline_write_replay(trace, &head, file, out_ranks, error);
}

/* A picture into a file of its own; says so where it does not show all ranks. */
static enum ronde_status draw(const struct ronde_result_view *view, const char *path,
                              bool is_timeline, struct ronde_error *error)
{
    struct ronde_trace_group groups[RONDE_MAX_PARTS];
    const struct ronde_trace trace = trace_of(view, groups);
    uint32_t ranks = 0;
    struct ronde_output_file output;
    RONDE_TRY(ronde_output_file_open(path, &output, error));
    enum ronde_status status =
        is_timeline ? draw_timeline(view, &trace, 0, output.file, &ranks, error)
                    : ronde_trace_write(&trace, ronde_mem_default(), output.file, &ranks, error);
    status = ronde_output_file_close(&output, status, error);
    if (status == RONDE_OK && ranks < trace.replay.dag->ranks)
        ronde_note("%s shows ranks 0-%u of %u", path, ranks - 1, trace.replay.dag->ranks);
    return status;
}

static enum ronde_status draw_in_page(void *context, FILE *file, struct ronde_error *error)
{
    const struct ronde_result_view *view = context;
    struct ronde_trace_group groups[RONDE_MAX_PARTS];
    const struct ronde_trace trace = trace_of(view, groups);
    uint32_t ranks = 0;
    return draw_timeline(view, &trace, RONDE_PAGE_BARS, file, &ranks, error);
}

/* The machine with its wires as busy as the replay keeps them. A machine that cannot be drawn is left out. */
static enum ronde_status draw_links(void *context, FILE *file, struct ronde_error *error)
{
    const struct ronde_result_view *view = context;
    const struct ronde_platform *platform = view->kept.replay.platform;
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t links = ronde_platform_link_count(platform);
    double *use = ronde_mem_new(mem, links, sizeof *use);
    struct ronde_topo_view machine = {.platform = NULL};
    enum ronde_status status =
        use ? ronde_why_links(&view->kept.replay, mem, use, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for the load of %u links", links);
    RONDE_THEN(status, ronde_topo_view_open(platform, use, &machine, error));
    RONDE_THEN(status, ronde_topo_view_print_svg(&machine, file, error));
    ronde_topo_view_close(&machine);
    ronde_mem_free(mem, use, links, sizeof *use);
    return status;
}

enum ronde_status ronde_view_page(struct ronde_result_view *view, struct ronde_html *html,
                                  struct ronde_error *error)
{
    static const struct ronde_html_picture timeline = {
        "Who does what when, and which steps decide how long it takes?",
        "A row a rank, the first 64; the thin line is the critical path. Enlarge it with the "
        "buttons, + and -, or Ctrl and the wheel; move it with the pointer or the arrows.",
        true};
    static const struct ronde_html_picture machine = {
        "Which links are busy, and which are slower than they should be?",
        "Wires are coloured by how much of what they can carry the run puts on them; dashed ones "
        "are degraded. What is alike is drawn once.",
        true};
    char why[200] = "";
    if (view->is_kept)
        write_sentence(&view->kept.why, view->kept.replay.platform, why, sizeof why);
    ronde_answer_view(html, view, why);
    if (!view->is_kept)
        return RONDE_OK;
    const enum ronde_status status = ronde_html_draw(html, &timeline, draw_in_page, view, error);
    return status == RONDE_OK && ronde_platform_link_count(view->kept.replay.platform) > 0
               ? ronde_html_draw(html, &machine, draw_links, view, error)
               : status;
}

enum ronde_status ronde_view_draw(const struct ronde_result_view *view,
                                  const struct ronde_views_options *views, struct ronde_error *error)
{
    if (views->trace)
        RONDE_TRY(draw(view, views->trace, false, error));
    if (views->timeline)
        RONDE_TRY(draw(view, views->timeline, true, error));
    return RONDE_OK;
}
