/* Curves of bus bandwidth over size, a panel for each number of ranks, as a gnuplot script. See gnuplot.h. */
#include "gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Pixels from the upper edge to the key. */
#define KEY_TOP 40u

/* Patterns of lines, by ronde_plot_curve.dash. */
static const char *const dashes[] = {"1", "(9,5)", "(2,3)", "(9,3,2,3)"};

static const char *dash_of(const struct ronde_plot_curve *curve)
{
    return dashes[curve->dash % (sizeof dashes / sizeof dashes[0])];
}

void ronde_curves_free(struct ronde_curves *curves)
{
    ronde_mem_free(ronde_mem_default(), curves->points, curves->capacity, sizeof *curves->points);
    *curves = (struct ronde_curves){.points = NULL};
}

/* Index of a curve of this name, which is a new one where none has it; RONDE_NONE where there is no room. */
static uint32_t find_curve(struct ronde_curves *curves, const struct ronde_plot_curve *curve)
{
    for (uint32_t c = 0; c < curves->curve_count; c++)
        if (strcmp(curves->curves[c].name, curve->name) == 0)
            return c;
    if (curves->curve_count == RONDE_CURVES)
        return RONDE_NONE;
    curves->curves[curves->curve_count] = *curve;
    return curves->curve_count++;
}

static uint32_t find_panel(struct ronde_curves *curves, const char *title)
{
    for (uint32_t p = 0; p < curves->panel_count; p++)
        if (strcmp(curves->panels[p], title) == 0)
            return p;
    if (curves->panel_count == RONDE_CURVE_PANELS)
        return RONDE_NONE;
    snprintf(curves->panels[curves->panel_count], sizeof curves->panels[0], "%s", title);
    return curves->panel_count++;
}

enum ronde_status ronde_curves_add(struct ronde_curves *curves, const char *panel,
                                   const struct ronde_plot_curve *curve,
                                   const struct ronde_plot_point *point, struct ronde_error *error)
{
    struct ronde_plot_point own = *point;
    void *block = curves->points;
    own.panel = find_panel(curves, panel);
    own.curve = find_curve(curves, curve);
    if (own.panel == RONDE_NONE || own.curve == RONDE_NONE)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--plot: a picture has at most %u curves in %u panels; name fewer of -N, "
                          "-a and --placement",
                          RONDE_CURVES, RONDE_CURVE_PANELS);
    if (!ronde_mem_grow(ronde_mem_default(), &block, &curves->capacity, curves->count + 1,
                        sizeof *curves->points))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the points of a plot");
    curves->points = block;
    curves->points[curves->count++] = own;
    return RONDE_OK;
}

enum ronde_status ronde_curves_add_record(struct ronde_curves *curves,
                                          const struct ronde_record *record, const char *name,
                                          struct ronde_error *error)
{
    struct ronde_plot_curve curve = {.colour = curves->curve_count,
                                     .dash = curves->curve_count / RONDE_COLOURS};
    const struct ronde_plot_point point = {.bytes =
                                               ronde_record_bytes(record->collective, record->ranks,
                                                                  record->count, record->dtype),
                                           .busbw_GBps = ronde_record_busbw_GBps(record)};
    char panel[64];
    snprintf(curve.name, sizeof curve.name, "%s", name);
    snprintf(panel, sizeof panel, "%u ranks", record->ranks);
    /* A barrier, and a call that takes no time, have no bandwidth. */
    return point.busbw_GBps > 0 && isfinite(point.busbw_GBps)
               ? ronde_curves_add(curves, panel, &curve, &point, error)
               : RONDE_OK;
}

/* Points of a curve, or with `curve` RONDE_NONE all that are marked. Returns how many; `gnuplot` may be NULL. */
static size_t print_points(FILE *gnuplot, const struct ronde_curves *curves, uint32_t panel,
                           uint32_t curve)
{
    size_t count = 0;
    for (size_t i = 0; i < curves->count; i++) {
        const struct ronde_plot_point *point = &curves->points[i];
        const bool is_meant = curve == RONDE_NONE ? point->is_marked : point->curve == curve;
        if (point->panel != panel || !is_meant)
            continue;
        count++;
        if (gnuplot)
            fprintf(gnuplot, "%" PRIu64 " %.9g\n", point->bytes, point->busbw_GBps);
    }
    if (gnuplot)
        fputs("e\n", gnuplot);
    return count;
}

static void print_sizes(FILE *gnuplot, const struct ronde_curves *curves)
{
    uint64_t least = UINT64_MAX, most = 1;
    for (size_t i = 0; i < curves->count; i++) {
        const uint64_t bytes = curves->points[i].bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    ronde_gnuplot_sizes(gnuplot, least > 0 ? least : 1, most);
}

static void print_panel(void *context, FILE *gnuplot, uint32_t panel)
{
    const struct ronde_curves *curves = context;
    const bool has_marks = print_points(NULL, curves, panel, RONDE_NONE) > 0;
    const char *comma = "";
    print_sizes(gnuplot, curves);
    fputs("set title '", gnuplot);
    ronde_gnuplot_quote(gnuplot, curves->panels[panel]);
    fputs("' noenhanced font ',11' offset 0,-0.6\nplot ", gnuplot);
    for (uint32_t c = 0; c < curves->curve_count; c++, comma = ", ")
        if (print_points(NULL, curves, panel, c) > 0)
            fprintf(gnuplot, "%s'-' with lines lw 1.8 dt %s lc rgb '%s' notitle", comma,
                    dash_of(&curves->curves[c]), ronde_colour(curves->curves[c].colour));
    if (has_marks)
        fprintf(gnuplot, "%s'-' with points pt 6 ps 0.9 lc rgb 'black' notitle", comma);
    fputc('\n', gnuplot);
    for (uint32_t c = 0; c < curves->curve_count; c++)
        if (print_points(NULL, curves, panel, c) > 0)
            print_points(gnuplot, curves, panel, c);
    if (has_marks)
        print_points(gnuplot, curves, panel, RONDE_NONE);
}

/*
 * All curves, and what the marks mean. gnuplot 5.4 writes neighbours that differ in their dashes alone as one line of SVG,
 * all with the dashes of the first: so they differ in width only a little.
 */
static uint32_t list_key(const struct ronde_curves *curves, const char *mark,
                         char lines[RONDE_CURVES][24], struct ronde_key_entry *key)
{
    uint32_t count = 0;
    for (; count < curves->curve_count; count++) {
        const struct ronde_plot_curve *curve = &curves->curves[count];
        snprintf(lines[count], sizeof lines[count], "lw %.2f dt %s", 1.8 + 0.02 * (count % 2),
                 dash_of(curve));
        key[count] =
            (struct ronde_key_entry){curve->name, lines[count], 0, "", ronde_colour(curve->colour)};
    }
    if (mark)
        key[count++] = (struct ronde_key_entry){mark, "lw 0 dt 1", 6, "black", "white"};
    return count;
}

enum ronde_status ronde_curves_plot(struct ronde_curves *curves, const char *title,
                                    const char *mark, const char *path, struct ronde_error *error)
{
    struct ronde_key_entry key[RONDE_CURVES + 1];
    char lines[RONDE_CURVES][24];

    if (curves->count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: no size has a bandwidth to draw", path);
    const struct ronde_figure figure = {
        .path = path,
        .name = title,
        .settings = "' noenhanced font ',13'\nset logscale x 2\nset logscale y\nset format y '%g'\n"
                    "set grid lc rgb '#e4e4e4'\nset border 3\nset ytics nomirror\n"
                    "set xlabel 'size' offset 0,0.5\nset ylabel 'busbw (GB/s)' offset 1,0\n",
        .panels = curves->panel_count,
        .key_top = KEY_TOP,
        .key = key,
        .key_count = list_key(curves, mark, lines, key),
        .print = print_panel,
        .context = curves};
    return ronde_figure_draw(&figure, error);
}
