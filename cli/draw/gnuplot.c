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

/* Pixels of a sample, of the room behind an entry, of a character, and of a line of the key. */
#define SAMPLE_WIDTH 34.0
#define SAMPLE_LENGTH 26.0
#define GAP_WIDTH 22.0
#define CHARACTER_WIDTH 6.4
#define KEY_LINE 18u

static double entry_width(const struct ronde_key_entry *entry)
{
    return SAMPLE_WIDTH + GAP_WIDTH + CHARACTER_WIDTH * (double)strlen(entry->text);
}

/* One line of the key. */
static void print_key_row(const struct ronde_canvas *canvas, uint32_t from_top,
                          const struct ronde_key_entry *entries, uint32_t count)
{
    const double whole = canvas->width, y = 1.0 - (double)from_top / canvas->height;
    double width = -GAP_WIDTH;
    for (uint32_t i = 0; i < count; i++)
        width += entry_width(&entries[i]);
    double at = (whole - width) / 2.0;
    for (uint32_t i = 0; i < count; at += entry_width(&entries[i++])) {
        const struct ronde_key_entry *entry = &entries[i];
        fprintf(canvas->gnuplot,
                "set arrow from screen %.4f,%.4f to screen %.4f,%.4f nohead %s lc rgb '%s'\n",
                at / whole, y, (at + SAMPLE_LENGTH) / whole, y, entry->line, entry->colour);
        if (entry->shape)
            fprintf(canvas->gnuplot,
                    "set label '' at screen %.4f,%.4f point pt %u ps 0.8 lc rgb '%s' front\n",
                    (at + SAMPLE_LENGTH / 2.0) / whole, y, entry->shape, entry->point);
        fprintf(canvas->gnuplot, "set label '%s' at screen %.4f,%.4f left font ',10' noenhanced\n",
                entry->text, (at + SAMPLE_WIDTH) / whole, y);
    }
}

void ronde_gnuplot_key(const struct ronde_canvas *canvas, uint32_t from_top,
                       const struct ronde_key_entry *entries, uint32_t count)
{
    uint32_t first = 0;
    double width = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > first && width + entry_width(&entries[i]) > canvas->width) {
            print_key_row(canvas, from_top, entries + first, i - first);
            from_top += KEY_LINE;
            first = i;
            width = 0.0;
        }
        width += entry_width(&entries[i]);
    }
    print_key_row(canvas, from_top, entries + first, count - first);
}

enum ronde_status ronde_gnuplot_close(FILE *pipe, const char *path, struct ronde_error *error)
{
    return pclose(pipe) == 0 ? RONDE_OK
                             : ronde_fail(error, RONDE_IO,
                                          "%s: gnuplot could not draw it; can it be written?", path);
}
