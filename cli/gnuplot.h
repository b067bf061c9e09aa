/**
 * A pipe to gnuplot, which is asked for on the PATH rather than linked: it is a program, and its absence must cost
 * nothing but the picture.
 */
#ifndef RONDE_CLI_GNUPLOT_H
#define RONDE_CLI_GNUPLOT_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdio.h>

/** Colours for algorithms. */
#define RONDE_COLOURS 8u

/** Whether gnuplot is on the PATH; *out_text says where, or which package brings it. */
bool ronde_plot_available(const char **out_text);

/** A colour per algorithm, in turn; they differ in brightness too. */
const char *ronde_colour(uint32_t index);

/**
 * Starts gnuplot on an SVG of so many pixels at `path`; commands go into *out_pipe. Errors: UNAVAILABLE (no gnuplot;
 * names the package); IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_gnuplot_open(const char *path, uint32_t width,
                                                      uint32_t height, FILE **out_pipe,
                                                      struct ronde_error *error);

/** Ends the script. Errors: IO when gnuplot could not draw it. */
RONDE_MUST_CHECK enum ronde_status ronde_gnuplot_close(FILE *pipe, const char *path,
                                                       struct ronde_error *error);

#endif
