/* The plot of a validation, as a gnuplot script. */
#include "plot.h"

#include "gnuplot.h"

#include <inttypes.h>
#include <stdio.h>

/* How a source is drawn; the colour is the algorithm's. */
static const char *const styles[RONDE_SOURCE_COUNT] = {
    [RONDE_SOURCE_MEASURED] = "with linespoints pt 7 ps 0.5 lw 1.5 dt 1",
    [RONDE_SOURCE_PORTS] = "with lines lw 1.5 dt 4",
    [RONDE_SOURCE_CORES] = "with lines lw 1.5 dt 4",
    [RONDE_SOURCE_SIMGRID] = "with lines lw 1.5 dt 2",
    [RONDE_SOURCE_CLOSED_FORM] = "with lines lw 1.5 dt 3",
};

/* What the styles look like, for the title. */
static const char *const looks[RONDE_SOURCE_COUNT] = {
    [RONDE_SOURCE_MEASURED] = "solid",        [RONDE_SOURCE_PORTS] = "dashes and dots",
    [RONDE_SOURCE_CORES] = "dashes and dots", [RONDE_SOURCE_SIMGRID] = "dashes",
    [RONDE_SOURCE_CLOSED_FORM] = "fine dots",
};

/* One plot command with inline data blocks that follow in the same order. */
static void print_panel(FILE *gnuplot, const struct ronde_validation *validation, uint32_t r)
{
    const uint32_t curves = validation->algorithm_count * RONDE_SOURCE_COUNT;
    const bool crowded = ronde_validation_point(validation, r, 0, 0)->is_oversubscribed;
    fprintf(gnuplot, "set title '%u ranks%s'\nplot ", validation->ranks[r],
            crowded ? " (oversubscribed)" : "");
    const char *comma = "";
    for (uint32_t i = 0; i < curves; i++) {
        if (!ronde_validation_has(validation, (enum ronde_source)(i % RONDE_SOURCE_COUNT)))
            continue;
        const uint32_t algorithm = i / RONDE_SOURCE_COUNT;
        const bool is_measured = i % RONDE_SOURCE_COUNT == RONDE_SOURCE_MEASURED;
        fprintf(gnuplot, "%s'-' %s lc rgb '%s' title '%s'", comma, styles[i % RONDE_SOURCE_COUNT],
                ronde_colour(algorithm), is_measured ? validation->algorithms[algorithm] : "");
        comma = ", ";
    }
    fputc('\n', gnuplot);
    for (uint32_t i = 0; i < curves; i++) {
        if (!ronde_validation_has(validation, (enum ronde_source)(i % RONDE_SOURCE_COUNT)))
            continue;
        for (uint32_t s = 0; s < validation->size_count; s++) {
            const struct ronde_point *point =
                ronde_validation_point(validation, r, s, i / RONDE_SOURCE_COUNT);
            fprintf(gnuplot, "%" PRIu64 " %.9g\n", point->bytes,
                    point->time_ns[i % RONDE_SOURCE_COUNT] / 1000.0);
        }
        fputs("e\n", gnuplot);
    }
}

/* Log axes; everything else is gnuplot's default. */
static void print_script(FILE *gnuplot, const struct ronde_validation *validation)
{
    /* Algorithm names have underscores, which enhanced text would read as subscripts. */
    fputs("set logscale y\nset logscale x 2\nset grid lc rgb '#dddddd'\n"
          "set key top left noenhanced samplen 2 font ',9'\nset xtics 8, 64\n"
          "set xlabel 'bytes'\nset ylabel 'time (us)'\nset format x '%.0b%B'\n"
          "set format y '%g'\n",
          gnuplot);
    /* One panel is narrower than the line would be. */
    const bool is_narrow = validation->rank_counts == 1;
    fprintf(gnuplot, "set multiplot layout 1,%u title \"%s:%s", validation->rank_counts,
            ronde_collective_text(validation->collective), is_narrow ? "\\n" : "");
    for (uint32_t source = 0; source < RONDE_SOURCE_COUNT; source++)
        if (ronde_validation_has(validation, (enum ronde_source)source))
            fprintf(gnuplot, "%s %s (%s)", source == RONDE_SOURCE_MEASURED ? "" : ",",
                    ronde_source_text((enum ronde_source)source), looks[source]);
    fprintf(gnuplot, "\" noenhanced%s\n", is_narrow ? " font ',9'" : "");
    for (uint32_t r = 0; r < validation->rank_counts; r++)
        print_panel(gnuplot, validation, r);
    fputs("unset multiplot\n", gnuplot);
}

enum ronde_status ronde_plot_validation(const struct ronde_validation *validation, const char *path,
                                        struct ronde_error *error)
{
    FILE *gnuplot = NULL;
    const enum ronde_status status =
        ronde_gnuplot_open(path, 430 * validation->rank_counts, 460, &gnuplot, error);
    if (status != RONDE_OK)
        return status;
    print_script(gnuplot, validation);
    return ronde_gnuplot_close(gnuplot, path, error);
}
