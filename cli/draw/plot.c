/* The picture of a validation, as a gnuplot script. */
#include "gnuplot.h"

#include "cli/options/options.h"
#include "cli/print/printer.h"
#include "ronde/relative.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Pixels. One column has to hold the title. */
#define COLUMN_WIDTH 460u
#define ONLY_WIDTH 720u
#define HEIGHT 700u
#define LEFT 74u
#define RIGHT 16u

/* Pixels from the top: the keys, the panels of times and those of errors. */
#define KEY_AT 44u
#define TIMES_FROM 142u
#define TIMES_TO 460u
#define ERRORS_FROM 486u
#define ERRORS_TO 650u

/* Labels of an axis that fit beside each other. */
#define MAX_LABELS 8u

/* A relative time further off is drawn at the edge; less of a difference is not drawn larger than this. */
#define FAR 16.0
#define NEAR 1.25

/* The same of errors. */
#define FAR_ERROR 200.0
#define NEAR_ERROR 25.0

/* A picture under way. */
struct picture {
    const struct ronde_validation *grid;
    FILE *gnuplot;
    enum ronde_source predicted;
    uint32_t base;
    uint32_t width;   /* pixels, all columns */
    bool is_relative; /* there is something to compare */
    double low, high; /* relative times that are drawn */
    double limit;     /* errors that are drawn, percent */
};

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* What a point is drawn at: a relative time, or microseconds; 0 where there is none. */
static double height_of(const struct picture *picture, enum ronde_source source, uint32_t r,
                        uint32_t s, uint32_t a)
{
    if (!picture->is_relative)
        return ronde_validation_point(picture->grid, r, s, a)->time_ns[source] / 1000.0;
    const double relative = ronde_relative_time(picture->grid, source, r, s, a);
    return relative > 0.0 ? clamp(relative, 1.0 / FAR, FAR) : 0.0;
}

/* Ranges that hold everything, the same for all columns. */
static void find_ranges(struct picture *picture)
{
    const struct ronde_validation *grid = picture->grid;
    picture->low = picture->is_relative ? 1.0 / NEAR : INFINITY;
    picture->high = picture->is_relative ? NEAR : 0.0;
    picture->limit = NEAR_ERROR;
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t s = 0; s < grid->size_count; s++)
            for (uint32_t a = 0; a < grid->algorithm_count; a++) {
                const double heights[2] = {height_of(picture, RONDE_SOURCE_MEASURED, r, s, a),
                                           height_of(picture, picture->predicted, r, s, a)};
                const double error = 100.0 * ronde_relative_error(grid, picture->predicted, r, s, a);
                for (int i = 0; i < 2; i++) {
                    picture->low = heights[i] > 0.0 ? fmin(picture->low, heights[i]) : picture->low;
                    picture->high = fmax(picture->high, heights[i]);
                }
                if (isfinite(error))
                    picture->limit = fmax(picture->limit, fmin(fabs(error), FAR_ERROR));
            }
    picture->low /= 1.08;
    picture->high *= 1.12;
    picture->limit *= 1.08;
}

static double from_top(uint32_t pixels)
{
    return 1.0 - (double)pixels / HEIGHT;
}

/* Where a panel lies, as fractions of the whole. */
static void place_panel(const struct picture *picture, uint32_t r, uint32_t from, uint32_t to)
{
    const double column = (double)picture->width / picture->grid->rank_counts;
    fprintf(picture->gnuplot,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            (r * column + LEFT) / picture->width, ((r + 1) * column - RIGHT) / picture->width,
            from_top(from), from_top(to));
}

/* Sizes of a column that have a label. */
static uint32_t label_step(const struct ronde_validation *grid)
{
    return (grid->size_count + MAX_LABELS - 1) / MAX_LABELS;
}

/* Sizes below, in the form of the tables; names of nothing where another panel has them. */
static void print_size_labels(const struct picture *picture, uint32_t r, bool is_named)
{
    const struct ronde_validation *grid = picture->grid;
    fputs("set xtics nomirror scale 0.5 (", picture->gnuplot);
    for (uint32_t s = 0; s < grid->size_count; s += label_step(grid)) {
        const uint64_t bytes = ronde_validation_point(grid, r, s, 0)->bytes;
        fprintf(picture->gnuplot, "%s'%s' %" PRIu64, s ? ", " : "",
                is_named ? ronde_cell_size(bytes).text : "", bytes);
    }
    const double first = (double)ronde_validation_point(grid, r, 0, 0)->bytes;
    const double last = (double)ronde_validation_point(grid, r, grid->size_count - 1, 0)->bytes;
    fprintf(picture->gnuplot, ")\nset xrange [%.9g:%.9g]\nset x2range [%.9g:%.9g]\n", first / 1.5,
            last * 1.5, first / 1.5, last * 1.5);
}

/* A time for people. */
static struct ronde_cell time_text(double ns)
{
    struct ronde_cell cell;
    if (ns < 999.5e3)
        snprintf(cell.text, sizeof cell.text, "%.*f us", ns < 9.95e3 ? 1 : 0, ns / 1e3);
    else
        snprintf(cell.text, sizeof cell.text, "%.*f ms", ns < 9.95e6 ? 1 : 0, ns / 1e6);
    return cell;
}

/* What the base takes, along the upper edge: relative times alone would not say whether it is much. */
static void print_base_times(const struct picture *picture, uint32_t r)
{
    const struct ronde_validation *grid = picture->grid;
    fputs("set x2tics scale 0.5 font ',9' textcolor rgb '#555555' (", picture->gnuplot);
    for (uint32_t s = 0; s < grid->size_count; s += label_step(grid)) {
        const struct ronde_grid_point *point = ronde_validation_point(grid, r, s, picture->base);
        fprintf(picture->gnuplot, "%s'%s' %" PRIu64, s ? ", " : "",
                time_text(point->time_ns[RONDE_SOURCE_MEASURED]).text, point->bytes);
    }
    fprintf(picture->gnuplot,
            ")\nset x2label '%s takes, measured' noenhanced font ',9' "
            "textcolor rgb '#555555' offset 0,-0.4\n",
            grid->algorithms[picture->base]);
}

/* A logarithmic axis with labels people read at once. */
static void print_height_labels(const struct picture *picture)
{
    static const double fine[] = {0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0};
    static const double wide[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1.0,
                                  1.5,    2.0,   3.0,  4.0, 8.0,  16.0};
    const double *const values = picture->high / picture->low < 3.0 ? fine : wide;
    if (!picture->is_relative) {
        fputs("set ytics auto\nset format y '%g'\n", picture->gnuplot);
        return;
    }
    fputs("set ytics scale 0.5 (", picture->gnuplot);
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++)
        fprintf(picture->gnuplot, "%s'%g' %g", i ? ", " : "", values[i], values[i]);
    fputs(")\n", picture->gnuplot);
}

/* Marks whose sizes differ by less than this would write over each other. */
#define NEIGHBOUR 12.0
/* And whose heights differ by less than this lie on one line. */
#define LEVEL 1.04

/* Whether a mark's text stands below it: where a neighbour lies higher, else on the other side than the one before it. */
static void choose_sides(const struct ronde_mark *marks, uint32_t count,
                         bool is_below[RONDE_MAX_MARKS])
{
    for (uint32_t i = 0; i < count; i++) {
        is_below[i] = false;
        for (uint32_t other = 0; other < count; other++) {
            const double ratio = marks[other].bytes / marks[i].bytes;
            const bool is_near = ratio < NEIGHBOUR && ratio > 1.0 / NEIGHBOUR;
            if (is_near && other < i && marks[i].height <= LEVEL * marks[other].height)
                is_below[i] = !is_below[other];
        }
        for (uint32_t other = 0; other < count; other++) {
            const double ratio = marks[other].bytes / marks[i].bytes;
            const bool is_near = ratio < NEIGHBOUR && ratio > 1.0 / NEIGHBOUR;
            is_below[i] |= is_near && marks[other].height > LEVEL * marks[i].height;
        }
    }
}

/* Bars between measured sizes, and in words where on them the lines meet. */
static uint32_t print_marks(const struct picture *picture, uint32_t r,
                            struct ronde_mark marks[RONDE_MAX_MARKS])
{
    const uint32_t count = picture->is_relative ? ronde_relative_marks(picture->grid, r, marks) : 0;
    bool is_below[RONDE_MAX_MARKS];
    fputs("unset arrow\nunset label\n", picture->gnuplot);
    choose_sides(marks, count, is_below);
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_mark *mark = &marks[i];
        fprintf(picture->gnuplot,
                "set arrow from %" PRIu64 ",%.6g to %" PRIu64
                ",%.6g nohead lw 7 lc rgb '#cccccc' back\n"
                "set label '%s' at %.9g,%.6g center offset 0,%s font ',9' front noenhanced boxed\n",
                mark->where.below_bytes, mark->height, mark->where.above_bytes, mark->height,
                ronde_cell_about(mark->bytes).text, mark->bytes, mark->height,
                is_below[i] ? "-0.95" : "0.95");
    }
    return count;
}

/* Algorithms, then what all have in common. */
static uint32_t list_key(const struct picture *picture, char simulated[64],
                         struct ronde_key_entry entries[RONDE_MAX_NAMES + 3])
{
    const struct ronde_validation *grid = picture->grid;
    uint32_t count = 0;
    snprintf(simulated, 64, "simulated (%s)", ronde_source_text(picture->predicted));
    for (uint32_t a = 0; a < grid->algorithm_count && a < RONDE_MAX_NAMES; a++)
        entries[count++] =
            (struct ronde_key_entry){grid->algorithms[a], "lw 2 dt 1", ronde_point_shape(a),
                                     ronde_colour(a), ronde_colour(a)};
    entries[count++] = (struct ronde_key_entry){"measured", "lw 2 dt 1", 0, "", "black"};
    entries[count++] = (struct ronde_key_entry){simulated, "lw 1.5 dt (6,4)", 0, "", "black"};
    if (picture->is_relative)
        entries[count++] = (struct ronde_key_entry){"measured crossover: between these sizes",
                                                    "lw 7 dt 1", 2, "black", "#cccccc"};
    return count;
}

static void print_key(const struct picture *picture)
{
    struct ronde_key_entry entries[RONDE_MAX_NAMES + 3];
    const struct ronde_canvas canvas = {picture->gnuplot, picture->width, HEIGHT};
    char simulated[64];
    ronde_gnuplot_key(&canvas, KEY_AT, entries, list_key(picture, simulated, entries));
}

/* The data of one curve, where it has any. */
static void print_heights(const struct picture *picture, enum ronde_source source, uint32_t r,
                          uint32_t a)
{
    for (uint32_t s = 0; s < picture->grid->size_count; s++) {
        const double height = height_of(picture, source, r, s, a);
        if (height > 0.0)
            fprintf(picture->gnuplot, "%" PRIu64 " %.9g\n",
                    ronde_validation_point(picture->grid, r, s, a)->bytes, height);
    }
    fputs("e\n", picture->gnuplot);
}

/* Times: all predictions first, so that what was measured lies above them. */
static void print_times(const struct picture *picture, uint32_t r)
{
    const struct ronde_validation *grid = picture->grid;
    struct ronde_mark marks[RONDE_MAX_MARKS];
    const bool is_oversubscribed = ronde_validation_point(grid, r, 0, 0)->is_oversubscribed;
    FILE *gnuplot = picture->gnuplot;
    place_panel(picture, r, TIMES_FROM, TIMES_TO);
    print_size_labels(picture, r, false);
    if (picture->is_relative)
        print_base_times(picture, r);
    print_height_labels(picture);
    const uint32_t count = print_marks(picture, r, marks);
    fprintf(gnuplot,
            "set logscale y\nset yrange [%.6g:%.6g]\nset title '%u ranks%s' font ',12'\n"
            "unset xlabel\nunset object\n",
            picture->low, picture->high, grid->ranks[r],
            is_oversubscribed ? " (more than cores: they take turns)" : "");
    if (picture->is_relative)
        fprintf(gnuplot, "set ylabel 'time relative to %s (below 1: faster)' noenhanced\n",
                grid->algorithms[picture->base]);
    else
        fputs("set ylabel 'time (us)'\n", gnuplot);
    if (r == 0)
        print_key(picture);
    fputs("unset key\nplot ", gnuplot);
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        fprintf(gnuplot, "'-' with lines lw 1.5 dt (6,4) lc rgb '%s', ", ronde_colour(a));
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        fprintf(gnuplot, "%s'-' with linespoints lw 2 pt %u ps 0.7 lc rgb '%s'", a ? ", " : "",
                ronde_point_shape(a), ronde_colour(a));
    fputs(count ? ", '-' with points pt 2 ps 0.8 lw 2 lc rgb 'black'\n" : "\n", gnuplot);
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        print_heights(picture, picture->predicted, r, a);
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        print_heights(picture, RONDE_SOURCE_MEASURED, r, a);
    for (uint32_t i = 0; i < count; i++)
        fprintf(gnuplot, "%.9g %.9g\n", marks[i].bytes, marks[i].height);
    if (count)
        fputs("e\n", gnuplot);
}

/* How far off the prediction is, over a band in which one may call it right. */
static void print_errors(const struct picture *picture, uint32_t r)
{
    const struct ronde_validation *grid = picture->grid;
    FILE *gnuplot = picture->gnuplot;
    place_panel(picture, r, ERRORS_FROM, ERRORS_TO);
    print_size_labels(picture, r, true);
    fprintf(gnuplot,
            "unset arrow\nunset label\nunset x2tics\nunset x2label\nunset logscale y\nunset key\n"
            "set ytics scale 0.5 auto\nset format y '%%+g'\nset yrange [%.6g:%.6g]\nunset title\n"
            "set xlabel 'bytes'\nset ylabel 'simulated off by (%%)'\n"
            "set object 1 rectangle from graph 0,first -10 to graph 1,first 10 fc rgb '#e4e4e4' "
            "fs solid noborder behind\n"
            "set label '±10%%' at graph 0.99,first 10 right offset 0,-0.6 font ',8' "
            "textcolor rgb '#555555'\nplot 0 with lines lw 1 lc rgb '#555555'",
            -picture->limit, picture->limit);
    for (uint32_t a = 0; a < grid->algorithm_count; a++)
        fprintf(gnuplot, ", '-' with linespoints lw 1.5 dt (6,4) pt %u ps 0.6 lc rgb '%s'",
                ronde_point_shape(a), ronde_colour(a));
    fputc('\n', gnuplot);
    for (uint32_t a = 0; a < grid->algorithm_count; a++) {
        for (uint32_t s = 0; s < grid->size_count; s++) {
            const double error = 100.0 * ronde_relative_error(grid, picture->predicted, r, s, a);
            if (isfinite(error))
                fprintf(gnuplot, "%" PRIu64 " %.6g\n", ronde_validation_point(grid, r, s, a)->bytes,
                        clamp(error, -FAR_ERROR, FAR_ERROR));
        }
        fputs("e\n", gnuplot);
    }
}

static void print_script(const struct picture *picture)
{
    const struct ronde_validation *grid = picture->grid;
    FILE *gnuplot = picture->gnuplot;
    fputs("set logscale x 2\nset logscale x2 2\nset grid lc rgb '#e8e8e8'\nset style textbox "
          "opaque noborder margins 0.3,0.3\n",
          gnuplot);
    fprintf(
        gnuplot, "set multiplot title \"%s%s%s: how far is the replay off the measurement?\" noenhanced font ',13'\n",
        ronde_collective_text(grid->collective),
        picture->is_relative ? ", time relative to " : " by ", grid->algorithms[picture->base]);
    for (uint32_t r = 0; r < grid->rank_counts; r++) {
        print_times(picture, r);
        print_errors(picture, r);
    }
    fputs("unset multiplot\n", gnuplot);
}

enum ronde_status ronde_plot_validation(const struct ronde_validation *validation, const char *path,
                                        struct ronde_error *error)
{
    struct picture picture = {
        .grid = validation,
        .predicted = ronde_validation_replay(validation),
        .base = ronde_relative_base(validation),
        .width = validation->rank_counts > 1 ? COLUMN_WIDTH * validation->rank_counts : ONLY_WIDTH,
        .is_relative = validation->algorithm_count > 1,
    };
    struct ronde_gnuplot drawing;
    RONDE_TRY(ronde_gnuplot_open(path, picture.width, HEIGHT, &drawing, error));
    picture.gnuplot = drawing.script;
    find_ranges(&picture);
    print_script(&picture);
    return ronde_gnuplot_close(&drawing, error);
}
