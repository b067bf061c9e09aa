/*
 * Plots: a gnuplot script written down a pipe.
 *
 * gnuplot is asked for on the PATH rather than linked: it is a program, and its absence must cost
 * nothing but the picture.
 */
#define _POSIX_C_SOURCE 200809L

#include "plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MISSING "gnuplot is not on the PATH (package gnuplot-nox), so there is no plot"

/* Whether a folder of the PATH (not zero-terminated) holds an executable gnuplot. */
static bool has_gnuplot(const char *folder, size_t length)
{
    char path[4096];
    const int bytes = snprintf(path, sizeof path, "%.*s/gnuplot", (int)length, folder);
    return length > 0 && bytes > 0 && (size_t)bytes < sizeof path && access(path, X_OK) == 0;
}

bool ronde_plot_available(const char **out_text)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        const size_t length = strcspn(folders, ":");
        if (has_gnuplot(folders, length)) {
            *out_text = "found, for SVG plots";
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    *out_text = MISSING;
    return false;
}

/* Text between single quotes, where gnuplot only knows '' for '. */
static void print_quoted(FILE *gnuplot, const char *text)
{
    fputc('\'', gnuplot);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', gnuplot);
        fputc(*text, gnuplot);
    }
    fputc('\'', gnuplot);
}

/* Colours that differ in brightness too, one per algorithm (Okabe and Ito's palette). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                      "#cc79a7", "#56b4e9", "#e69f00"};
#define COLOUR_COUNT (sizeof colours / sizeof colours[0])

/* How a source is drawn. */
static const char *const styles[RONDE_SOURCE_COUNT] = {
    [RONDE_SOURCE_MEASURED] = "with linespoints pt 7 ps 0.5 lw 1.5 dt 1",
    [RONDE_SOURCE_SIMGRID] = "with lines lw 1.5 dt 2",
    [RONDE_SOURCE_CLOSED_FORM] = "with lines lw 1.5 dt 3",
};

/* One plot command with inline data blocks that follow in the same order. */
static void print_panel(FILE *gnuplot, const struct ronde_validation *validation, uint32_t r)
{
    const uint32_t curves = validation->algorithm_count * RONDE_SOURCE_COUNT;
    const bool crowded = ronde_validation_point(validation, r, 0, 0)->is_oversubscribed;
    fprintf(gnuplot, "set title '%u ranks%s'\nplot ", validation->ranks[r],
            crowded ? " (oversubscribed)" : "");
    for (uint32_t i = 0; i < curves; i++) {
        const char *name = validation->algorithms[i / RONDE_SOURCE_COUNT];
        fprintf(gnuplot, "%s'-' %s lc rgb '%s' title '%s %s'", i ? ", " : "",
                styles[i % RONDE_SOURCE_COUNT], colours[i / RONDE_SOURCE_COUNT % COLOUR_COUNT],
                name, ronde_source_text((enum ronde_source)(i % RONDE_SOURCE_COUNT)));
    }
    fputc('\n', gnuplot);
    for (uint32_t i = 0; i < curves; i++) {
        for (uint32_t s = 0; s < validation->size_count; s++) {
            const struct ronde_point *point =
                ronde_validation_point(validation, r, s, i / RONDE_SOURCE_COUNT);
            fprintf(gnuplot, "%" PRIu64 " %.9g\n", point->bytes,
                    point->time_ns[i % RONDE_SOURCE_COUNT] / 1000.0);
        }
        fputs("e\n", gnuplot);
    }
}

/* White ground and log axes; everything else is gnuplot's default. */
static void print_script(FILE *gnuplot, const struct ronde_validation *validation, const char *path)
{
    fprintf(gnuplot, "set terminal svg size %u,460 dynamic background rgb 'white' font 'sans,11'\n",
            430 * validation->rank_counts);
    fputs("set output ", gnuplot);
    print_quoted(gnuplot, path);
    /* Algorithm names have underscores, which enhanced text would read as subscripts. */
    fputs("\nset logscale y\nset logscale x 2\nset grid lc rgb '#dddddd'\n"
          "set key top left noenhanced samplen 2 font ',9'\nset xtics 8, 64\n"
          "set xlabel 'bytes'\nset ylabel 'time (us)'\nset format x '%.0b%B'\n"
          "set format y '%g'\n",
          gnuplot);
    fprintf(gnuplot,
            "set multiplot layout 1,%u title '%s: measured, simgrid, closed form' noenhanced\n",
            validation->rank_counts, ronde_collective_text(validation->collective));
    for (uint32_t r = 0; r < validation->rank_counts; r++)
        print_panel(gnuplot, validation, r);
    fputs("unset multiplot\n", gnuplot);
}

enum ronde_status ronde_plot_validation(const struct ronde_validation *validation, const char *path,
                                        struct ronde_error *error)
{
    const char *missing = NULL;
    if (!ronde_plot_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    /*
     * Its complaints span lines and name our script; the path is the one thing that can be wrong.
     */
    FILE *gnuplot = popen("gnuplot 2>/dev/null", "w");
    if (!gnuplot)
        return ronde_fail(error, RONDE_IO, "gnuplot cannot be started");
    print_script(gnuplot, validation, path);
    const int code = pclose(gnuplot);
    if (code != 0)
        return ronde_fail(error, RONDE_IO, "%s: gnuplot could not draw it (exit status %d)", path,
                          code);
    return RONDE_OK;
}
