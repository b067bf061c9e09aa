/* Starting gnuplot, and what all its pictures have in common. */
#define _POSIX_C_SOURCE 200809L

#include "gnuplot.h"

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

/* Okabe and Ito's palette, which colour-blind people can tell apart, and a grey. */
const char *ronde_colour(uint32_t index)
{
    static const char *const colours[RONDE_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                       "#56b4e9", "#e69f00", "#666666", "#f0e442"};
    return colours[index % RONDE_COLOURS];
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

enum ronde_status ronde_gnuplot_open(const char *path, uint32_t width, uint32_t height,
                                     FILE **out_pipe, struct ronde_error *error)
{
    const char *missing = NULL;
    if (!ronde_plot_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    /*
     * Its complaints span lines and name our script; the path is the one thing that can be wrong. Where that cannot be
     * written it goes on and prints the picture.
     */
    FILE *gnuplot = popen("gnuplot >/dev/null 2>&1", "w");
    if (!gnuplot)
        return ronde_fail(error, RONDE_IO, "gnuplot cannot be started");
    fprintf(gnuplot, "set terminal svg size %u,%u dynamic background rgb 'white' font 'sans,11'\n",
            width, height);
    fputs("set output ", gnuplot);
    print_quoted(gnuplot, path);
    fputc('\n', gnuplot);
    *out_pipe = gnuplot;
    return RONDE_OK;
}

enum ronde_status ronde_gnuplot_close(FILE *pipe, const char *path, struct ronde_error *error)
{
    return pclose(pipe) == 0 ? RONDE_OK
                             : ronde_fail(error, RONDE_IO,
                                          "%s: gnuplot could not draw it; can it be written?", path);
}
