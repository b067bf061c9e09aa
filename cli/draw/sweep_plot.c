/* The pictures of a sweep, as gnuplot scripts. */
#include "sweep_plot.h"
#include "cli/print/table.h"
#include "gnuplot.h"

#include <inttypes.h>

/* More columns than that nobody can read; the rest is in the records. */
#define MAX_COLUMNS 6u

/* Which rank count a column shows: evenly spread, first and last included. */
static uint32_t column_ranks(const struct ronde_sweep *sweep, uint32_t column, uint32_t columns)
{
    return columns < 2 ? 0 : column * (sweep->options.rank_counts - 1) / (columns - 1);
}

/* One panel: a curve per algorithm, data inline in the same order. */
static void print_panel(FILE *gnuplot, const struct ronde_sweep *sweep, uint32_t r, bool is_time)
{
    const struct ronde_sweep_options *options = &sweep->options;
    fprintf(gnuplot, "set title '%u ranks'\nset ylabel '%s'\n%s logscale y\nplot ",
            options->ranks[r], is_time ? "time (us)" : "busbw (GB/s)", is_time ? "set" : "unset");
    if (!is_time)
        fputs("[][0:] ", gnuplot);
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        fprintf(gnuplot, "%s'-' with linespoints pt 7 ps 0.35 lw 1.5 lc rgb '%s' title '%s'",
                a ? ", " : "", ronde_colour(a), options->algorithms[a]);
    fputc('\n', gnuplot);
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        for (uint32_t s = 0; s < sweep->options.size_count; s++) {
            const struct ronde_sweep_point *point = ronde_sweep_at(sweep, r, a, s);
            if (point->is_done)
                fprintf(gnuplot, "%" PRIu64 " %.9g\n", sweep->options.sizes[s],
                        is_time ? point->time_ns / 1000.0 : point->busbw_GBps);
        }
        fputs("e\n", gnuplot);
    }
}

/* Whether a panel would have anything to show: gnuplot refuses an empty one. */
static bool has_data(const struct ronde_sweep *sweep, uint32_t r)
{
    double gain = 0.0;
    for (uint32_t s = 0; s < sweep->options.size_count; s++)
        if (ronde_sweep_winner(sweep, r, s, &gain) != RONDE_NONE)
            return true;
    return false;
}

enum ronde_status ronde_sweep_plot(const struct ronde_sweep *sweep, const char *path,
                                   struct ronde_error *error)
{
    const uint32_t counts = sweep->options.rank_counts;
    const uint32_t columns = counts < MAX_COLUMNS ? counts : MAX_COLUMNS;
    struct ronde_gnuplot drawing;
    const enum ronde_status status = ronde_gnuplot_open(path, 360 * columns, 720, &drawing, error);
    if (status != RONDE_OK)
        return status;
    FILE *gnuplot = drawing.script;
    fprintf(gnuplot,
            "set logscale x 2\nset grid lc rgb '#dddddd'\nset key top left noenhanced samplen 2 "
            "font ',9'\nset format x '%%.0b%%B'\nset xtics 8, 64\nset xlabel 'bytes'\n"
            "set multiplot layout 2,%u title '%s, simulated on %s' noenhanced\n",
            columns, ronde_collective_text(sweep->options.collective), sweep->machine);
    for (uint32_t panel = 0; panel < 2 * columns; panel++) {
        const uint32_t r = column_ranks(sweep, panel % columns, columns);
        if (has_data(sweep, r))
            print_panel(gnuplot, sweep, r, panel < columns);
        else
            fputs("set multiplot next\n", gnuplot);
    }
    fputs("unset multiplot\n", gnuplot);
    return ronde_gnuplot_close(&drawing, error);
}

/* The fields an algorithm wins, as boxes; a field of no width keeps a curve without a win in the legend. */
static void print_wins(FILE *gnuplot, const struct ronde_sweep *sweep, uint32_t algorithm)
{
    double gain = 0.0;
    fputs("-9 -9\n", gnuplot);
    for (uint32_t r = 0; r < sweep->options.rank_counts; r++)
        for (uint32_t s = 0; s < sweep->options.size_count; s++)
            if (ronde_sweep_winner(sweep, r, s, &gain) == algorithm)
                fprintf(gnuplot, "%u %u\n", s, r);
    fputs("e\n", gnuplot);
}

/* How much the winner gains, written into its field where it is worth saying. */
static void print_gains(FILE *gnuplot, const struct ronde_sweep *sweep)
{
    double gain = 0.0;
    fputs("-9 -9 -\n", gnuplot);
    for (uint32_t r = 0; r < sweep->options.rank_counts; r++)
        for (uint32_t s = 0; s < sweep->options.size_count; s++)
            if (ronde_sweep_winner(sweep, r, s, &gain) != RONDE_NONE && gain >= 1.005)
                fprintf(gnuplot, "%u %u %.*f\n", s, r, gain < 9.95 ? 1 : 0, gain);
    fputs("e\n", gnuplot);
}

/* Sizes below, ranks at the left, every label that has room. */
static void print_axes(FILE *gnuplot, const struct ronde_sweep *sweep)
{
    const struct ronde_sweep_options *options = &sweep->options;
    fputs("set xtics rotate by -45 (", gnuplot);
    for (uint32_t s = 0; s < sweep->options.size_count; s++)
        fprintf(gnuplot, "%s'%s' %u", s ? ", " : "", ronde_cell_size(sweep->options.sizes[s]).text,
                s);
    fputs(")\nset ytics (", gnuplot);
    for (uint32_t r = 0; r < options->rank_counts; r++)
        fprintf(gnuplot, "%s'%u' %u", r ? ", " : "", options->ranks[r], r);
    fprintf(gnuplot, ")\nset xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n",
            sweep->options.size_count - 1, options->rank_counts - 1);
}

enum ronde_status ronde_sweep_map(const struct ronde_sweep *sweep, const char *path,
                                  struct ronde_error *error)
{
    const struct ronde_sweep_options *options = &sweep->options;
    struct ronde_gnuplot drawing;
    const enum ronde_status status =
        ronde_gnuplot_open(path, 260 + 34 * sweep->options.size_count,
                           190 + 34 * options->rank_counts, &drawing, error);
    if (status != RONDE_OK)
        return status;
    FILE *gnuplot = drawing.script;
    print_axes(gnuplot, sweep);
    fprintf(gnuplot,
            "set style fill solid 0.75 border rgb 'white'\nset tics scale 0\n"
            "set key outside right top noenhanced\nset xlabel 'bytes'\nset ylabel 'ranks'\n"
            "set title \"%s: fastest algorithm, simulated on %s\\n"
            "numbers: how many times slower the next one is\" noenhanced\nplot ",
            ronde_collective_text(sweep->options.collective), sweep->machine);
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        fprintf(gnuplot, "'-' using 1:2:(0.5):(0.5) with boxxyerror lc rgb '%s' title '%s', ",
                ronde_colour(a), options->algorithms[a]);
    fputs("'-' using 1:2:3 with labels font ',8' notitle\n", gnuplot);
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        print_wins(gnuplot, sweep, a);
    print_gains(gnuplot, sweep);
    return ronde_gnuplot_close(&drawing, error);
}
