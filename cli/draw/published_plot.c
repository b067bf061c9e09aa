/* Measured and predicted bus bandwidth over size, as gnuplot scripts. See gnuplot.h. */
#include "gnuplot.h"

#include "cli/print/report.h"

#include "ronde/data_files.h"
#include "ronde/published_series.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A picture under way. */
struct picture {
    const struct ronde_published *published;
    uint32_t system;
    struct ronde_panel panels[RONDE_PANELS_MAX];
    uint32_t count;
    double *room; /* of as many elements as there are rows */
    FILE *gnuplot;
};

/* The three curves of a series. */
enum curve { MEASURED, PREDICTED, NCCL, CURVE_COUNT };

static double curve_us(const struct ronde_series_point *point, enum curve curve)
{
    return curve == MEASURED    ? point->measured_us
           : curve == PREDICTED ? point->predicted_us
                                : point->nccl_us;
}

/* busbw, GB/s; 0 where the curve has no point. */
static double rate_of(const struct ronde_series *series, const struct ronde_series_point *point,
                      enum curve curve)
{
    const double us = curve_us(point, curve);
    return us > 0 ? (double)point->bytes / us / 1e3 *
                        ronde_collective_bus_factor(series->call.collective, series->call.ranks)
                  : 0;
}

static void print_data(const struct picture *picture, const struct ronde_series *series,
                       enum curve curve)
{
    struct ronde_series_point point = {.bytes = 0};
    while (ronde_series_next(picture->published, series, point.bytes, picture->room, &point)) {
        const double rate_GBps = rate_of(series, &point, curve);
        if (rate_GBps > 0)
            fprintf(picture->gnuplot, "%" PRIu64 " %.4g\n", point.bytes, rate_GBps);
    }
    fputs("e\n", picture->gnuplot);
}

static void print_title(const struct picture *picture, const struct ronde_series *series,
                        bool is_forced)
{
    if (is_forced)
        fprintf(picture->gnuplot, "%s", ronde_nccl_algorithm_text(series->wish.algorithm));
    else
        fprintf(picture->gnuplot, "%u on %u", series->call.ranks, series->call.nodes);
}

/* What a panel's points span. */
struct span {
    uint64_t least, most;         /* bytes */
    double least_GBps, most_GBps; /* measured */
};

static struct span span_of(const struct picture *picture, const struct ronde_panel *panel)
{
    struct span span = {UINT64_MAX, 0, INFINITY, 0};
    for (uint32_t s = 0; s < panel->count; s++) {
        const struct ronde_series *series = &panel->series[s];
        struct ronde_series_point point = {.bytes = 0};
        while (ronde_series_next(picture->published, series, point.bytes, picture->room, &point)) {
            const double rate_GBps = rate_of(series, &point, MEASURED);
            span.least = point.bytes < span.least ? point.bytes : span.least;
            span.most = point.bytes > span.most ? point.bytes : span.most;
            span.least_GBps = fmin(span.least_GBps, rate_GBps);
            span.most_GBps = fmax(span.most_GBps, rate_GBps);
        }
    }
    return span;
}

/* Sizes in the form of the tables, six at most; rates from 0 where they are of one order. */
static void print_axes(const struct picture *picture, const struct ronde_panel *panel)
{
    const struct span span = span_of(picture, panel);
    ronde_gnuplot_sizes(picture->gnuplot, span.least, span.most);
    fputs("set ytics nomirror scale 0.5\nset format y '%g'\n", picture->gnuplot);
    fputs(span.most_GBps < 10 * span.least_GBps ? "unset logscale y\nset yrange [0:*]\n"
                                                : "set logscale y\nset yrange [*:*]\n",
          picture->gnuplot);
}

/* NCCL's formula below the prediction, both below the points. */
static void print_panel(void *context, FILE *gnuplot, uint32_t p)
{
    struct picture *picture = context;
    static const char *const styles[CURVE_COUNT] = {
        [MEASURED] = "with points pt %u ps 0.55 lc rgb '%s' notitle",
        [PREDICTED] = "with lines lw 1.8 lc rgb '%s' title '",
        [NCCL] = "with lines lw 1 dt (2,3) lc rgb '%s' notitle"};
    const struct ronde_panel *panel = &picture->panels[p];
    const struct ronde_nccl_call *call = &panel->series[0].call;
    picture->gnuplot = gnuplot;
    print_axes(picture, panel);
    fprintf(gnuplot, "set title '%s", ronde_collective_text(call->collective));
    if (panel->is_forced)
        fprintf(gnuplot, ", %u ranks on %u node%s, forced", call->ranks, call->nodes,
                call->nodes > 1 ? "s" : "");
    fprintf(gnuplot,
            "' noenhanced font ',11' offset 0,-0.6\nset key bottom right reverse Left noenhanced "
            "samplen 1.2 spacing 1 font ',9' title '%s' font ',9'\nplot ",
            panel->is_forced ? "" : "ranks on nodes");
    for (int curve = CURVE_COUNT; curve-- > 0;)
        for (uint32_t s = 0; s < panel->count; s++) {
            const char *colour = ronde_colour(s);
            fputs(curve < CURVE_COUNT - 1 || s > 0 ? ", '-' " : "'-' ", gnuplot);
            if (curve == MEASURED)
                fprintf(gnuplot, styles[MEASURED], ronde_point_shape(s), colour);
            else
                fprintf(gnuplot, curve == NCCL ? styles[NCCL] : styles[PREDICTED], colour);
            if (curve == PREDICTED) {
                print_title(picture, &panel->series[s], panel->is_forced);
                fputc('\'', gnuplot);
            }
        }
    fputc('\n', gnuplot);
    for (int curve = CURVE_COUNT; curve-- > 0;)
        for (uint32_t s = 0; s < panel->count; s++)
            print_data(picture, &panel->series[s], (enum curve)curve);
}

static enum ronde_status draw(struct picture *picture, const char *path, struct ronde_error *error)
{
    static const struct ronde_key_entry key[] = {{"measured", "lw 0 dt 1", 7, "#444444", "white"},
                                                 {"predicted", "lw 1.8 dt 1", 0, "", "#444444"},
                                                 {"formula of the NCCL tuner", "lw 1 dt (2,3)", 0,
                                                  "", "#444444"}};
    const struct ronde_figure figure = {
        .path = path,
        .name = picture->published->systems[picture->system].name,
        .settings =
            ": is it as fast as predicted? Bus bandwidth (GB/s) over size' noenhanced font ',13'\n"
            "set logscale x 2\nset grid lc rgb '#e4e4e4'\nset border 3\n",
        .panels = picture->count,
        .key_top = 44,
        .key = key,
        .key_count = sizeof key / sizeof key[0],
        .print = print_panel,
        .context = picture};
    return ronde_figure_draw(&figure, error);
}

/* One picture; none where nothing was predicted. */
static enum ronde_status draw_system(const struct ronde_published *published, uint32_t system,
                                     const char *path, double *room, bool *out_is_drawn,
                                     struct ronde_error *error)
{
    struct picture picture = {.published = published, .system = system, .room = room};
    picture.count = ronde_published_panels(published, system, picture.panels);
    *out_is_drawn = picture.count > 0;
    return picture.count > 0 ? draw(&picture, path, error) : RONDE_OK;
}

/* What a document says of the picture that lies at `path` beside or below it. */
static void refer(FILE *document, const char *name, const char *path)
{
    const char *docs = strncmp(path, "docs/results/", 13) == 0 ? path + 13 : path;
    fprintf(document, "\n![%s: measured and predicted bus bandwidth over size](%s)\n", name, docs);
}

enum ronde_status ronde_published_plot(const struct ronde_published *published, const char *path,
                                       bool is_folder, FILE *document, struct ronde_error *error)
{
    char file[RONDE_PATH_BYTES];
    uint32_t drawn = 0;
    enum ronde_status status = RONDE_OK;
    double *room = ronde_mem_new(published->mem, published->count, sizeof *room);
    if (!room)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", published->count);
    if (document)
        fputs("\n### Pictures (nominal)\n", document);
    for (uint32_t s = 0; status == RONDE_OK && s < published->system_count; s++) {
        const char *name = published->systems[s].name;
        bool is_drawn = false;
        snprintf(file, sizeof file, is_folder ? "%s/%s.svg" : "%s", path, name);
        status = draw_system(published, s, file, room, &is_drawn, error);
        drawn += is_drawn;
        if (status == RONDE_OK && is_drawn && document)
            refer(document, name, file);
    }
    ronde_mem_free(published->mem, room, published->count, sizeof *room);
    if (status == RONDE_OK && drawn == 0)
        ronde_note("ronde: nothing was predicted, so %s has no picture", path);
    return status;
}
