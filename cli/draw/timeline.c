/*
 * Timelines as SVG, without a library: a row per rank, a strip of the row per track, bars in two shades (of a step: its
 * work, then its bytes under way). Bars too thin to be seen melt into their neighbours, so that the number of shapes is
 * bounded by the width of the picture and not by the length of the run.
 */
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1400.0
#define RIGHT 30.0
#define TOP 92.0
#define BOTTOM 44.0
/* Left of the bars stand the ranks, and the names of groups where there are several. */
#define LEFT_OF_RANKS 90.0
#define LEFT_OF_GROUPS 290.0
/* Rows are as high as fits, within reason. */
#define PICTURE_HEIGHT 900.0
#define MIN_ROW 12.0
#define MAX_ROW 44.0
/* Bars closer or thinner than this melt: half a pixel at the natural size, more where there would be too many. */
#define THIN 0.5
#define MAX_THIN 3.0
#define MANY_BARS 16000u
/* Strips lower than this share their place with others. */
#define MIN_STRIP 2.5
/* Between steps that follow at once. */
#define GAP 0.5

/* The bars of a kind and shade: the data of a path. */
struct shade {
    char *text;
    size_t bytes;
    FILE *file; /* NULL until there is a bar */
};

/* The picture in the making. */
struct canvas {
    const struct ronde_timeline *timeline;
    FILE *file;
    uint32_t ranks;  /* shown */
    uint32_t tracks; /* of a rank */
    uint32_t strips; /* of a row, one for each track if there is room */
    double thin;     /* what melts */
    double left;     /* where the bars begin */
    double row;      /* height */
    double end_ns;   /* of the last step shown */
    struct shade shades[RONDE_TIMELINE_KINDS][2]; /* by kind: under way, work */
    bool lacks_memory;
};

/* A bar that is not drawn yet, for the next one may melt into it. */
struct pending {
    double from;
    double to;
    uint32_t kind;
    bool is_work;
    bool exists;
};

static struct ronde_timeline_bar bar_of(const struct canvas *canvas, uint32_t index)
{
    return canvas->timeline->bar(canvas->timeline->context, index);
}

static double x_of(const struct canvas *canvas, double ns)
{
    return canvas->left +
           (canvas->end_ns > 0 ? ns / canvas->end_ns : 0) * (WIDTH - canvas->left - RIGHT);
}

static double row_y(const struct canvas *canvas, uint32_t rank)
{
    return TOP + canvas->row * rank;
}

/* Height of a strip; rows keep a little distance. */
static double strip_height(const struct canvas *canvas)
{
    return 0.84 * canvas->row / canvas->strips;
}

static double strip_y(const struct canvas *canvas, const struct ronde_timeline_bar *bar)
{
    return row_y(canvas, bar->rank) + 0.08 * canvas->row +
           bar->track % canvas->strips * strip_height(canvas);
}

/* Whether a thin line tells steps that follow at once apart: where there is room for one. */
static bool has_gaps(const struct canvas *canvas)
{
    return strip_height(canvas) > 2 * MIN_STRIP;
}

/* A thick line of its kind's path: a rectangle takes five times its bytes. */
static void draw_bar(struct canvas *canvas, const struct pending *bar, double y)
{
    const double width = fmax(bar->to - bar->from, canvas->thin);
    if (!bar->exists)
        return;
    struct shade *shade = &canvas->shades[bar->kind][bar->is_work];
    if (!shade->file)
        shade->file = open_memstream(&shade->text, &shade->bytes);
    canvas->lacks_memory = canvas->lacks_memory || !shade->file;
    if (shade->file)
        fprintf(shade->file, "M%.1f %.1fh%.1f", bar->from, y + strip_height(canvas) / 2,
                has_gaps(canvas) && width > 2 ? width - GAP : width);
}

/* Writes the paths of all kinds. */
static void print_bars(struct canvas *canvas)
{
    for (uint32_t kind = 0; kind < RONDE_TIMELINE_KINDS; kind++)
        for (uint32_t is_work = 0; is_work < 2; is_work++) {
            struct shade *shade = &canvas->shades[kind][is_work];
            if (shade->file && fclose(shade->file) != 0)
                canvas->lacks_memory = true;
            if (shade->file && shade->text)
                fprintf(canvas->file, "<path class=\"%c%u\" d=\"%s\"/>\n", is_work ? 'w' : 'b',
                        kind, shade->text);
            free(shade->text);
        }
}

/* Draws what was pending unless the next bar melts into it. */
static void add_bar(struct canvas *canvas, struct pending *pending, struct pending next, double y)
{
    if (next.to <= next.from)
        return;
    const bool touches = pending->exists && next.from - pending->to < canvas->thin;
    const bool is_alike = pending->kind == next.kind && pending->is_work == next.is_work;
    const bool is_thin = next.to - next.from < canvas->thin && pending->to - pending->from < 4;
    if (touches && ((is_alike && next.to - next.from < 2) || is_thin)) {
        pending->to = fmax(pending->to, next.to);
        return;
    }
    draw_bar(canvas, pending, y);
    *pending = next;
}

/* Bars of a track follow one another, so one per track is pending. */
static enum ronde_status draw_bars(struct canvas *canvas, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const size_t count = (size_t)canvas->ranks * canvas->tracks;
    struct pending *pending = ronde_mem_new(mem, count, sizeof *pending);
    double *y = ronde_mem_new(mem, count, sizeof *y);
    for (uint32_t i = 0; pending && y && i < canvas->timeline->bar_count; i++) {
        const struct ronde_timeline_bar bar = bar_of(canvas, i);
        if (bar.rank >= canvas->ranks || bar.start_ns > canvas->end_ns)
            continue;
        const size_t track = (size_t)bar.rank * canvas->tracks + bar.track;
        const double from = x_of(canvas, bar.start_ns);
        const double to = x_of(canvas, fmin(bar.end_ns, canvas->end_ns));
        const double middle = fmin(x_of(canvas, bar.middle_ns), to);
        y[track] = strip_y(canvas, &bar);
        add_bar(canvas, &pending[track], (struct pending){from, middle, bar.kind, true, true},
                y[track]);
        add_bar(canvas, &pending[track], (struct pending){middle, to, bar.kind, false, true},
                y[track]);
    }
    for (size_t i = 0; pending && y && i < count; i++)
        draw_bar(canvas, &pending[i], y[i]);
    print_bars(canvas);
    const bool has_memory = pending && y && !canvas->lacks_memory;
    ronde_mem_free(mem, y, count, sizeof *y);
    ronde_mem_free(mem, pending, count, sizeof *pending);
    return has_memory ? RONDE_OK
                      : ronde_fail(error, RONDE_NO_MEMORY, "no memory to draw %zu tracks", count);
}

/* One line through the bars on the critical path; points that would not be seen are left out. */
static void draw_path(struct canvas *canvas)
{
    double last_x = -1, last_y = -1;
    bool has_begun = false;
    for (uint32_t i = 0; i < canvas->timeline->bar_count; i++) {
        const struct ronde_timeline_bar bar = bar_of(canvas, i);
        if (!bar.is_on_path || bar.rank >= canvas->ranks)
            continue;
        const double y = strip_y(canvas, &bar) + strip_height(canvas) / 2;
        const double from = x_of(canvas, bar.start_ns), to = x_of(canvas, bar.end_ns);
        if (!has_begun)
            fprintf(canvas->file, "<path class=\"p\" d=\"M%.2f %.2f", from, y);
        else if (fabs(y - last_y) >= THIN || from - last_x >= THIN)
            fprintf(canvas->file, "L%.2f %.2f", from, y);
        if (to - from >= THIN)
            fprintf(canvas->file, "L%.2f %.2f", to, y);
        last_x = to;
        last_y = y;
        has_begun = true;
    }
    if (has_begun)
        fputs("\"/>\n", canvas->file);
}

/* 1, 2 or 5 times a power of ten, so that there are about ten ticks. */
static double tick_ns(double end_ns)
{
    const double power = pow(10, floor(log10(end_ns / 10)));
    const double steps = end_ns / 10 / power;
    if (steps <= 1)
        return power;
    return power * (steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

static void draw_axis(struct canvas *canvas)
{
    const double bottom = row_y(canvas, canvas->ranks);
    const double tick = canvas->end_ns > 0 ? tick_ns(canvas->end_ns) : 0;
    for (uint32_t i = 0; tick > 0 && i * tick <= canvas->end_ns * (1 + 1e-9); i++) {
        const double x = x_of(canvas, i * tick);
        fprintf(
            canvas->file,
            "<path class=\"g\" d=\"M%.2f %.2fV%.2f\"/><text class=\"t\" x=\"%.2f\" y=\"%.2f\">%g"
            "</text>\n",
            x, TOP - 4, bottom + 4, x, bottom + 18, i * tick / 1000);
    }
    fprintf(canvas->file, "<text class=\"t\" x=\"%.2f\" y=\"%.2f\">time (us)</text>\n",
            (canvas->left + WIDTH - RIGHT) / 2, bottom + 36);
}

/* The name of a group, where there are several, and what parts it from the one before. */
static void draw_group(struct canvas *canvas, uint32_t group, double y)
{
    const struct ronde_timeline *trace = canvas->timeline;
    if (trace->group_count == 1)
        return;
    if (group > 0)
        fprintf(canvas->file, "<path class=\"s\" d=\"M10 %.2fH%.2f\"/>\n", y, WIDTH - RIGHT);
    fprintf(canvas->file, "<text x=\"10\" y=\"%.2f\">", y + canvas->row / 2 + 5);
    ronde_markup_print(canvas->file, trace->groups[group].name);
    fputs("</text>\n", canvas->file);
}

/* A band behind every other row, and whose it is. */
static void draw_rows(struct canvas *canvas)
{
    const struct ronde_timeline *trace = canvas->timeline;
    for (uint32_t g = 0; g < trace->group_count; g++)
        for (uint32_t i = 0; i < trace->groups[g].ranks; i++) {
            const uint32_t rank = trace->groups[g].first_rank + i;
            const double y = row_y(canvas, rank);
            if (rank >= canvas->ranks)
                return;
            if (i == 0)
                draw_group(canvas, g, y);
            fprintf(canvas->file,
                    "<rect class=\"r%u\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>"
                    "<text class=\"l\" x=\"%.2f\" y=\"%.2f\">rank %u</text>\n",
                    i % 2, canvas->left, y, WIDTH - canvas->left - RIGHT, canvas->row,
                    canvas->left - 8, y + canvas->row / 2 + 5, i);
        }
}

/* Only kinds that occur. */
static void draw_legend(struct canvas *canvas)
{
    const struct ronde_timeline *timeline = canvas->timeline;
    bool occurs[RONDE_TIMELINE_KINDS] = {false}, has_path = false;
    double x = canvas->left;
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        const struct ronde_timeline_bar bar = bar_of(canvas, i);
        if (bar.rank < canvas->ranks && bar.end_ns > bar.start_ns)
            occurs[bar.kind] = true;
        has_path = has_path || bar.is_on_path;
    }
    for (uint32_t kind = 0; kind < timeline->kind_count; kind++) {
        const char *label = timeline->kinds[kind].label;
        if (!occurs[kind])
            continue;
        fprintf(canvas->file,
                "<rect x=\"%.2f\" y=\"64\" width=\"9\" height=\"12\" fill=\"%s\"/>"
                "<rect x=\"%.2f\" y=\"64\" width=\"13\" height=\"12\" fill=\"%s\" "
                "fill-opacity=\"%s\"/><text class=\"k\" x=\"%.2f\" y=\"74\">",
                x, timeline->kinds[kind].colour, x + 9, timeline->kinds[kind].colour,
                timeline->shades ? ".45" : "1", x + 28);
        ronde_markup_print(canvas->file, label);
        fputs("</text>\n", canvas->file);
        x += 46 + 8.2 * (double)strlen(label);
    }
    if (has_path)
        fprintf(
            canvas->file,
            "<path class=\"p\" d=\"M%.2f 70h22\"/><text class=\"k\" x=\"%.2f\" y=\"74\">critical "
            "path</text>",
            x, x + 28);
    if (timeline->shades)
        fprintf(canvas->file, "<text class=\"k\" x=\"%.2f\" y=\"74\">%s</text>\n",
                x + (has_path ? 150 : 0), timeline->shades);
}

static void draw_styles(struct canvas *canvas)
{
    fprintf(canvas->file,
            "<style>\n"
            "text{fill:#1f2328}.page{fill:#fff}\n"
            ".p{fill:none;stroke:#000;stroke-width:1.6;stroke-opacity:.8;stroke-linejoin:round}\n"
            ".g{stroke:#bbb;stroke-width:.6}.s{stroke:#555}.r0{fill:#f4f4f4}.r1{fill:#fff}\n"
            ".t{text-anchor:middle}.l{text-anchor:end}\n"
            "path[class^=w],path[class^=b]{fill:none;stroke-width:%.2f}path[class^=b]{"
            "stroke-opacity:.45}\n",
            strip_height(canvas));
    for (uint32_t kind = 0; kind < canvas->timeline->kind_count; kind++)
        if (canvas->timeline->kinds[kind].colour)
            fprintf(canvas->file, ".w%u,.b%u{stroke:%s}\n", kind, kind,
                    canvas->timeline->kinds[kind].colour);
    fputs("@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.p{stroke:#fff}\n"
          ".g{stroke:#444c56}.s{stroke:#9da7b3}.r0{fill:#161b22}.r1{fill:#0d1117}}\n"
          "</style>\n",
          canvas->file);
}

static void draw_head(struct canvas *canvas)
{
    const double height = row_y(canvas, canvas->ranks) + BOTTOM;
    fprintf(canvas->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\" font-size=\"15\">\n",
            WIDTH, height);
    draw_styles(canvas);
    fprintf(canvas->file,
            "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n"
            "<text x=\"%.0f\" y=\"26\" font-size=\"18\" font-weight=\"bold\">",
            WIDTH, height, canvas->left);
    ronde_markup_print(canvas->file, canvas->timeline->title);
    fprintf(canvas->file, "</text>\n<text x=\"%.0f\" y=\"46\">", canvas->left);
    ronde_markup_print(canvas->file, canvas->timeline->subtitle);
    fputs("</text>\n", canvas->file);
}

/* What there is to draw: tracks, bars of the ranks shown, and until when. Returns the number of bars. */
static uint32_t survey(struct canvas *canvas)
{
    const double end_ns = canvas->timeline->end_ns;
    uint32_t bars = 0;
    canvas->tracks = 1;
    for (uint32_t i = 0; i < canvas->timeline->bar_count; i++) {
        const struct ronde_timeline_bar bar = bar_of(canvas, i);
        bars += bar.rank < canvas->ranks ? 1 : 0;
        canvas->tracks = bar.track >= canvas->tracks ? bar.track + 1 : canvas->tracks;
        canvas->end_ns = fmax(canvas->end_ns, bar.end_ns);
    }
    if (end_ns > 0)
        canvas->end_ns = fmin(canvas->end_ns, end_ns);
    return bars;
}

static void measure(struct canvas *canvas)
{
    const uint32_t ranks = canvas->timeline->ranks;
    canvas->ranks = ranks < RONDE_TIMELINE_RANKS ? ranks : RONDE_TIMELINE_RANKS;
    const uint32_t bars = survey(canvas);
    const uint32_t most = canvas->timeline->most_bars ? canvas->timeline->most_bars : MANY_BARS;
    canvas->thin = fmin(THIN * fmax((double)bars / most, 1), MAX_THIN);
    canvas->left = canvas->timeline->group_count > 1 ? LEFT_OF_GROUPS : LEFT_OF_RANKS;
    canvas->row = fmin(fmax(PICTURE_HEIGHT / canvas->ranks, MIN_ROW), MAX_ROW);
    const double room = floor(0.84 * canvas->row / MIN_STRIP);
    canvas->strips = canvas->tracks < room ? canvas->tracks : (uint32_t)room;
}

enum ronde_status ronde_timeline_write(const struct ronde_timeline *timeline, FILE *file,
                                       uint32_t *out_ranks, struct ronde_error *error)
{
    struct canvas canvas = {.timeline = timeline, .file = file};
    measure(&canvas);
    *out_ranks = canvas.ranks;
    draw_head(&canvas);
    draw_rows(&canvas);
    draw_axis(&canvas);
    const enum ronde_status status = draw_bars(&canvas, error);
    draw_path(&canvas);
    draw_legend(&canvas);
    fputs("</svg>\n", file);
    if (status == RONDE_OK && (fflush(file) != 0 || ferror(file)))
        return ronde_fail(error, RONDE_DEVICE, "cannot write the timeline");
    return status;
}

/* ---- Replays ---------------------------------------------------------------------------------------------------- */

/* Kinds of steps people tell apart. */
enum kind {
    KIND_SEND,
    KIND_PASS,
    KIND_RECEIVE,
    KIND_REDUCE,
    KIND_PASS_REDUCED,
    KIND_LOCAL,
    KIND_COUNT
};

static const struct ronde_timeline_kind kinds[KIND_COUNT] = {
    [KIND_SEND] = {"send", "#0072b2"},
    [KIND_PASS] = {"receive, send on", "#56b4e9"},
    [KIND_RECEIVE] = {"receive", "#009e73"},
    [KIND_REDUCE] = {"receive, reduce", "#d55e00"},
    [KIND_PASS_REDUCED] = {"receive, reduce, send on", "#e69f00"},
    [KIND_LOCAL] = {"copy, reduce", "#cc79a7"},
};

static enum kind kind_of(enum ronde_step_op op)
{
    switch (op) {
    case RONDE_STEP_RS:
    case RONDE_STEP_RCS:
        return KIND_PASS;
    case RONDE_STEP_RECV:
        return KIND_RECEIVE;
    case RONDE_STEP_RRC:
        return KIND_REDUCE;
    case RONDE_STEP_RRS:
    case RONDE_STEP_RRCS:
        return KIND_PASS_REDUCED;
    case RONDE_STEP_COPY:
    case RONDE_STEP_REDUCE:
        return KIND_LOCAL;
    case RONDE_STEP_NOP:
    case RONDE_STEP_SEND:
    case RONDE_STEP_OP_COUNT:
        break;
    }
    return KIND_SEND;
}

/* A replay, and the most lanes of any of its channels. */
struct replayed {
    const struct ronde_trace *trace;
    uint32_t lanes;
};

/* A step: dark while it works, light while its bytes are under way. */
static struct ronde_timeline_bar bar_of_step(const void *context, uint32_t index)
{
    const struct replayed *replayed = context;
    const struct ronde_replay *replay = &replayed->trace->replay;
    const struct ronde_dag_op *op = &replay->dag->ops[index];
    const struct ronde_dag_origin *origin = &replay->dag->origins[index];
    const double start_ns = replay->options->out_start_ns[index];
    return (struct ronde_timeline_bar){.rank = op->src,
                                       .track = origin->channel * replayed->lanes + origin->lane,
                                       .kind = kind_of(origin->op),
                                       .start_ns = start_ns,
                                       .middle_ns = start_ns + op->delay_ns,
                                       .end_ns = replay->options->out_finish_ns[index],
                                       .is_on_path = replayed->trace->on_path &&
                                                     replayed->trace->on_path[index]};
}

enum ronde_status ronde_timeline_write_replay(const struct ronde_trace *trace,
                                              const struct ronde_timeline_head *head, FILE *file,
                                              uint32_t *out_ranks, struct ronde_error *error)
{
    const struct ronde_dag *dag = trace->replay.dag;
    const struct ronde_sim_options *options = trace->replay.options;
    struct replayed replayed = {trace, 1};
    if (!options->out_start_ns || !options->out_finish_ns || (!dag->origins && dag->op_count > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a timeline needs start and finish times and the origins of operations");
    for (uint32_t i = 0; i < dag->op_count; i++)
        if (dag->origins[i].lane >= replayed.lanes)
            replayed.lanes = dag->origins[i].lane + 1;
    const struct ronde_timeline timeline = {
        .title = head->title,
        .subtitle = head->subtitle,
        .most_bars = head->most_bars,
        .shades = "dark: the step works; light: its bytes are under way",
        .ranks = dag->ranks,
        .groups = trace->groups,
        .group_count = trace->group_count,
        .kinds = kinds,
        .kind_count = KIND_COUNT,
        .bar_count = dag->op_count,
        .bar = bar_of_step,
        .context = &replayed,
        /* Background flows go on after what is of interest. */
        .end_ns = trace->why ? trace->why->time_ns : 0};
    return ronde_timeline_write(&timeline, file, out_ranks, error);
}
