/* Measured and predicted times of collectives by algorithm, as a gnuplot script. See gnuplot.h. */
#include "gnuplot.h"

#include "cli/print/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Rows of the table: of a collective, or of one of its algorithms. */
struct part {
    size_t first, end;
};

struct picture {
    const struct ronde_collective_table *table;
    FILE *gnuplot;
};

static bool is_shown(const struct ronde_table_row *row)
{
    return row->predicted_ns > 0;
}

/* The rows from `first` on that are of one collective, and of one algorithm. */
static struct part next_part(const struct ronde_collective_table *table, size_t first, size_t end,
                             bool is_algorithm)
{
    const struct ronde_table_row *rows = table->rows;
    while (first < end && !is_shown(&rows[first]))
        first++;
    struct part part = {first, first};
    while (part.end < end && rows[part.end].collective == rows[first].collective &&
           (!is_algorithm || strcmp(rows[part.end].algorithm, rows[first].algorithm) == 0))
        part.end++;
    return part;
}

static unsigned count_series(const struct ronde_collective_table *table, const struct part *panel)
{
    unsigned count = 0;
    for (size_t at = panel->first; at < panel->end; count++) {
        const struct part series = next_part(table, at, panel->end, true);
        if (series.first == series.end)
            break;
        at = series.end;
    }
    return count;
}

/* The least that any algorithm was measured to take for a collective of this size. */
static double fastest_ns(const struct picture *picture, const struct part *panel, uint64_t bytes)
{
    double fastest = INFINITY;
    for (size_t i = panel->first; i < panel->end; i++) {
        const struct ronde_table_row *row = &picture->table->rows[i];
        if (is_shown(row) && row->bytes == bytes)
            fastest = fmin(fastest, row->measured_ns);
    }
    return fastest;
}

static void print_data(const struct picture *picture, const struct part *panel,
                       const struct part *series, bool is_measured)
{
    for (size_t i = series->first; i < series->end; i++) {
        const struct ronde_table_row *row = &picture->table->rows[i];
        if (!is_shown(row))
            continue;
        const double fastest = fastest_ns(picture, panel, row->bytes);
        const double ratio = (is_measured ? row->measured_ns : row->predicted_ns) / fastest;
        fprintf(picture->gnuplot, "%" PRIu64 " %.4g %.4g %.4g\n", row->bytes, ratio, ratio,
                ratio * (1 + (is_measured ? row->spread : 0)));
    }
    fputs("e\n", picture->gnuplot);
}

/* Both axes, with room for the key, a line per series, above what is drawn. */
static void print_axes(const struct picture *picture, const struct part *panel, unsigned series)
{
    uint64_t least = UINT64_MAX, most = 0;
    double low = 0.5, high = 2; /* at least */
    for (size_t i = panel->first; i < panel->end; i++) {
        const struct ronde_table_row *row = &picture->table->rows[i];
        if (!is_shown(row))
            continue;
        const double fastest = fastest_ns(picture, panel, row->bytes);
        least = row->bytes < least ? row->bytes : least;
        most = row->bytes > most ? row->bytes : most;
        low = fmin(low, fmin(row->measured_ns, row->predicted_ns) / fastest);
        high = fmax(high, fmax(row->measured_ns, row->predicted_ns) / fastest);
    }
    ronde_gnuplot_sizes(picture->gnuplot, least, most);
    fprintf(
        picture->gnuplot,
        "set logscale y\nset yrange [%.4g:%.4g]\nset ytics nomirror scale 0.5 (1, 2, 5, 10, 20, "
        "50, 100, 200, 500, 1000, 0.5, 0.2, 0.1)\n",
        low / 1.3, high * 1.3 * pow(high / low * 1.7, 0.08 * series));
}

/* Lines below points, in the order of the table. */
static void print_panel(const struct picture *picture, const struct part *panel)
{
    const struct ronde_table_row *rows = picture->table->rows;
    FILE *gnuplot = picture->gnuplot;
    struct part series;
    print_axes(picture, panel, count_series(picture->table, panel));
    fprintf(gnuplot,
            "set title '%s, %u ranks' noenhanced font ',11' offset 0,-0.6\nset key top left "
            "reverse Left noenhanced samplen 1.2 spacing 1 font ',9'\nplot ",
            ronde_collective_text(rows[panel->first].collective), rows[panel->first].ranks);
    const char *comma = "";
    for (int is_measured = 0; is_measured <= 1; is_measured++) {
        unsigned s = 0;
        for (size_t at = panel->first; at < panel->end; at = series.end, s++) {
            series = next_part(picture->table, at, panel->end, true);
            if (series.first == series.end)
                break;
            fprintf(gnuplot, "%s'-' ", comma);
            if (is_measured)
                fprintf(gnuplot, "with yerrorbars pt %u ps 0.55 lc rgb '%s' notitle",
                        ronde_point_shape(s), ronde_colour(s));
            else
                fprintf(gnuplot, "with lines lw 1.8 lc rgb '%s' title '%s'", ronde_colour(s),
                        rows[series.first].algorithm);
            comma = ", ";
        }
    }
    fputc('\n', gnuplot);
    for (int is_measured = 0; is_measured <= 1; is_measured++)
        for (size_t at = panel->first; at < panel->end; at = series.end) {
            series = next_part(picture->table, at, panel->end, true);
            if (series.first == series.end)
                break;
            print_data(picture, panel, &series, is_measured);
        }
}

static enum ronde_status draw(struct picture *picture, uint32_t count, const char *name,
                              const char *path, struct ronde_error *error)
{
    static const struct ronde_key_entry key[] = {{"measured, to the 90th percentile of its repeats",
                                                  "lw 0 dt 1", 7, "#444444", "white"},
                                                 {"predicted", "lw 1.8 dt 1", 0, "", "#444444"}};
    const struct ronde_panes panes = ronde_panes_of(count);
    const uint32_t width = panes.across * panes.width, height = ronde_panes_height(&panes);
    struct ronde_gnuplot drawing;
    struct part panel = {0, 0};
    const enum ronde_status status = ronde_gnuplot_open(path, width, height, &drawing, error);
    if (status != RONDE_OK)
        return status;
    picture->gnuplot = drawing.script;
    fputs("set multiplot title '", drawing.script);
    ronde_gnuplot_quote(drawing.script, name);
    fputs(": times the fastest measured, over size (bytes)' noenhanced font ',13'\nset logscale x "
          "2\nset grid lc rgb '#e4e4e4'\nset border 3\n",
          drawing.script);
    for (uint32_t p = 0; p < count; p++) {
        const struct ronde_canvas canvas = {drawing.script, width, height};
        panel = next_part(picture->table, panel.end, picture->table->count, false);
        fputs("unset label\nunset arrow\n", drawing.script);
        if (p == 0)
            ronde_gnuplot_key(&canvas, 44, key, sizeof key / sizeof key[0]);
        ronde_gnuplot_place(drawing.script, &panes, p);
        print_panel(picture, &panel);
    }
    fputs("unset multiplot\n", drawing.script);
    return ronde_gnuplot_close(&drawing, error);
}

enum ronde_status ronde_collective_plot(const struct ronde_collective_table *table, const char *name,
                                        const char *path, struct ronde_error *error)
{
    struct picture picture = {.table = table};
    uint32_t count = 0;
    struct part panel = {0, 0};
    for (;; count++) {
        panel = next_part(table, panel.end, table->count, false);
        if (panel.first == panel.end)
            break;
    }
    if (count > 0)
        return draw(&picture, count, name, path, error);
    ronde_note("ronde: nothing was predicted, so %s has no picture", path);
    return RONDE_OK;
}
