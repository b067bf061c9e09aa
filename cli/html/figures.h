/**
 * What curves and bars of a page are made of: figures.c makes them of rows and draws bars, panel.c draws curves. The two
 * share this alone; as one file they would be too long.
 */
#ifndef RONDE_CLI_HTML_FIGURES_H
#define RONDE_CLI_HTML_FIGURES_H

#include "html.h"

#include <stdint.h>
#include <stdio.h>

#define FIGURE_NAME_BYTES 96
#define MOST_PANELS 8u
#define MOST_CURVES 96u
#define MOST_POINTS 160u
#define MOST_BARS 24u
#define MOST_CHANGES 64u
#define MOST_PARTS 8u

/* What a curve is, which says how it is drawn. */
enum figure_style { MEASURED, PREDICTED, BOUND };

struct figure_point {
    double x, y, low, high; /* bytes; GB/s; low and high NAN where there is no band */
    double time_us;
};

struct figure_curve {
    char name[FIGURE_NAME_BYTES];
    enum figure_style style;
    uint32_t panel, count;
    struct figure_point *points;
};

/* From a size on an algorithm is the fastest. */
struct figure_change {
    uint32_t panel;
    double bytes;
    char name[FIGURE_NAME_BYTES];
};

struct figure_bar {
    char label[FIGURE_NAME_BYTES];
    double parts[MOST_PARTS];
};

struct ronde_html_figures {
    char panels[MOST_PANELS][FIGURE_NAME_BYTES];
    struct figure_curve curves[MOST_CURVES];
    struct figure_bar bars[MOST_BARS];
    struct figure_change changes[MOST_CHANGES];
    char parts[MOST_PARTS][FIGURE_NAME_BYTES];
    char bars_title[FIGURE_NAME_BYTES];
    uint32_t panel_count, curve_count, change_count, bar_count, part_count, bars_left_out,
        points_left_out;
};

/** Width of every picture, in its units. */
#define FIGURE_WIDTH 860.0

/** The curves of a panel, size by size; nothing where there is one size alone. */
void ronde_html_panel_print(const struct ronde_html_figures *figures, uint32_t panel, FILE *file);

#endif
