/**
 * A pipe to gnuplot, which is asked for on the PATH rather than linked: it is a program, and its absence must cost
 * nothing but the picture.
 */
#ifndef RONDE_CLI_DRAW_GNUPLOT_H
#define RONDE_CLI_DRAW_GNUPLOT_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/** Colours for algorithms. */
#define RONDE_COLOURS 8u

/** Whether gnuplot is on the PATH; *out_text says where, or which package brings it. */
bool ronde_plot_available(const char **out_text);

/** A colour per algorithm, in turn; they differ in brightness too. */
const char *ronde_colour(uint32_t index);

/** A gnuplot at work. */
struct ronde_gnuplot {
    FILE *script;     /**< commands go here */
    FILE *picture;    /**< what it draws, before that is the file */
    const char *path; /**< of the file */
    pid_t pid;        /**< of gnuplot */
};

/**
 * Starts gnuplot on an SVG of so many pixels at `path`, whose text must stay. Errors: UNAVAILABLE (no gnuplot; names the
 * package); DEVICE.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_gnuplot_open(const char *path, uint32_t width, uint32_t height,
                   struct ronde_gnuplot *out_gnuplot, struct ronde_error *error);

/** A picture that is being drawn. */
struct ronde_canvas {
    FILE *gnuplot;   /**< the script */
    uint32_t width;  /**< pixels */
    uint32_t height; /**< pixels */
};

/** An entry of a key: a sample of a line, then what it means. */
struct ronde_key_entry {
    const char *text;   /**< what it means */
    const char *line;   /**< how gnuplot draws it, e.g. "lw 2 dt 1" */
    uint32_t shape;     /**< pointtype of a point on it; 0: none */
    const char *point;  /**< the point's colour */
    const char *colour; /**< the line's */
};

/**
 * Draws a key above all panels, centred `from_top` pixels below the upper edge, on as many lines as it takes. To be called
 * before a plot command, whose arrows and labels it adds to: gnuplot's own key belongs to one panel.
 */
void ronde_gnuplot_key(const struct ronde_canvas *canvas, uint32_t from_top,
                       const struct ronde_key_entry *entries, uint32_t count);

/** Ends the script and writes the file. Errors: IO when it cannot be opened; DEVICE when it could not be drawn or written. */
RONDE_MUST_CHECK enum ronde_status ronde_gnuplot_close(struct ronde_gnuplot *gnuplot,
                                                       struct ronde_error *error);

#endif
