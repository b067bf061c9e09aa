/**
 * A pipe to gnuplot, which is asked for on the PATH rather than linked: it is a program, and its absence must cost
 * nothing but the picture.
 */
#ifndef RONDE_CLI_DRAW_GNUPLOT_H
#define RONDE_CLI_DRAW_GNUPLOT_H

#include "ronde/collective_table.h"
#include "ronde/plan.h"
#include "ronde/published.h"
#include "ronde/record.h"
#include "ronde/status.h"
#include "ronde/sweep.h"
#include "ronde/validate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/** Colours for algorithms. */
#define RONDE_COLOURS 8u

/** Whether gnuplot is on the PATH; *out_text says where, or which package brings it. */
bool ronde_plot_available(const char **out_text);

/**
 * Refuses a plot that could not be drawn, before what it shows is worked out; NULL is none. Errors: UNAVAILABLE naming the
 * package: no gnuplot, or one without the terminal that the name wants.
 */
RONDE_MUST_CHECK enum ronde_status ronde_plot_check(const char *path, struct ronde_error *error);

/** A colour per algorithm, in turn; they differ in brightness too. */
const char *ronde_colour(uint32_t index);

/** A shape of points per algorithm, for those to whom colours are alike: gnuplot's pointtype. */
unsigned ronde_point_shape(uint32_t index);

/** A gnuplot at work. */
struct ronde_gnuplot {
    FILE *script;                /**< commands go here */
    FILE *picture;               /**< what it draws, before that is the file */
    const char *path;            /**< of the file */
    pid_t pid;                   /**< of gnuplot */
    void (*at_end_of_pipe)(int); /**< what SIGPIPE did before */
};

/**
 * Starts gnuplot on a picture of so many pixels at `path`, whose text must stay: PDF where it ends in .pdf, a hundred pixels
 * an inch, else SVG. Errors: UNAVAILABLE (no gnuplot; names the
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

/** A picture of panels of one size, up to three beside one another, below a title and a key. */
struct ronde_figure {
    const char *path;                  /**< of the file */
    const char *name;                  /**< begins the title; it may have any characters */
    const char *settings;              /**< the rest of the title, and what holds for all panels */
    uint32_t panels;                   /**< how many; a lone one is wider */
    uint32_t key_top;                  /**< pixels from the upper edge to the key */
    const struct ronde_key_entry *key; /**< what lines and points mean */
    uint32_t key_count;                /**< how many entries */
    void (*print)(void *context, FILE *gnuplot, uint32_t panel); /**< axes, plot and data of one */
    void *context;                                               /**< passed to it */
};

/** Draws it. Errors: as ronde_gnuplot_open and _close. */
RONDE_MUST_CHECK enum ronde_status ronde_figure_draw(const struct ronde_figure *figure,
                                                     struct ronde_error *error);

/** Sets the horizontal axis to sizes in the form of the tables, six marks at most. */
void ronde_gnuplot_sizes(FILE *gnuplot, uint64_t least_bytes, uint64_t most_bytes);

/** Writes a name within gnuplot's single quotes: names of files may have any characters. */
void ronde_gnuplot_quote(FILE *gnuplot, const char *name);

/** Ends the script and writes the file. Errors: IO when it cannot be opened; DEVICE when it could not be drawn or written. */
RONDE_MUST_CHECK enum ronde_status ronde_gnuplot_close(struct ronde_gnuplot *gnuplot,
                                                       struct ronde_error *error);

/* The picture of a validation as SVG, drawn by gnuplot: who wins, by how much, and where lines cross. */

/**
 * Draws a column per number of ranks. Above, each algorithm's time relative to the base's (relative.h), measured as solid
 * lines with points and predicted as dashed ones, by the replay that knows most of the machine; crossovers are marked, each
 * on a bar between the measured sizes it lies between. A grid of one algorithm has its time there instead. Below, the
 * prediction's error over the size with a band of 10 %. Errors: UNAVAILABLE (no gnuplot; names the package); IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_plot_validation(const struct ronde_validation *validation,
                                                         const char *path,
                                                         struct ronde_error *error);

/* The picture of a plan. */

/** Draws the times of all candidates over the size. Errors: as ronde_gnuplot_open. */
RONDE_MUST_CHECK enum ronde_status ronde_plan_plot(const struct ronde_plan *plan, const char *path,
                                                   struct ronde_error *error);

/* Pictures of a sweep. */

/** Draws time (above) and busbw (below) over size, a column of panels per number of ranks. Errors: UNAVAILABLE, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_plot(const struct ronde_sweep *sweep,
                                                    const char *path, struct ronde_error *error);

/** Draws the fastest algorithm of each (ranks, size) as a coloured field. Errors: UNAVAILABLE, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_map(const struct ronde_sweep *sweep,
                                                   const char *path, struct ronde_error *error);

/* Pictures of published measurements: measured and predicted bus bandwidth over size. */

/**
 * Draws every system that has predicted rows: a panel per collective with a curve per number of ranks, and one per
 * setting where algorithms were forced. Measured are points (the median of what agrees in size, ranks and setting),
 * predicted lines. `path` is an SVG of one system, or with `is_folder` a folder, which gets <system>.svg of each. Into
 * `document`, unless NULL, goes a reference to each in Markdown. Errors: UNAVAILABLE (no gnuplot); NO_MEMORY; IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_published_plot(const struct ronde_published *published,
                                                        const char *path, bool is_folder,
                                                        FILE *document, struct ronde_error *error);

/* The picture of a table of collectives: who was the fastest at which size, and who was predicted to be. */

/* Curves of bus bandwidth over size: what sim and plan have of one collective on one machine. */

/** Curves and panels at most: nobody tells more of them apart. */
#define RONDE_CURVES 16u
#define RONDE_CURVE_PANELS 9u

/** A curve, the same in all panels. */
struct ronde_plot_curve {
    char name[64];   /**< in the key; what is longer is cut */
    uint32_t colour; /**< of ronde_colour */
    uint32_t dash;   /**< a pattern: 0 = solid */
};

/** A size of a curve. */
struct ronde_plot_point {
    uint64_t bytes;
    double busbw_GBps;
    bool is_marked;        /**< with a ring around it */
    uint32_t panel, curve; /**< set by ronde_curves_add */
};

/** All of a picture; zeroed: none yet. */
struct ronde_curves {
    struct ronde_plot_point *points;
    size_t count, capacity;
    struct ronde_plot_curve curves[RONDE_CURVES];
    uint32_t curve_count;
    char panels[RONDE_CURVE_PANELS][64]; /**< titles */
    uint32_t panel_count;
};

/** Adds a size to the curve of this name in the panel of this title. Errors: BAD_ARGUMENT for too many of them; NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_curves_add(struct ronde_curves *curves, const char *panel,
                                                    const struct ronde_plot_curve *curve,
                                                    const struct ronde_plot_point *point,
                                                    struct ronde_error *error);

/** Adds the bandwidth of a result to the curve of this name, in the panel of its ranks. Errors: as ronde_curves_add. */
RONDE_MUST_CHECK enum ronde_status
ronde_curves_add_record(struct ronde_curves *curves, const struct ronde_record *record,
                        const char *name, struct ronde_error *error);

/** Draws them; `mark` says what marked points are, NULL where there are none. Errors: as ronde_gnuplot_open and _close. */
RONDE_MUST_CHECK enum ronde_status ronde_curves_plot(struct ronde_curves *curves, const char *title,
                                                     const char *mark, const char *path,
                                                     struct ronde_error *error);

/** Frees the points. */
void ronde_curves_free(struct ronde_curves *curves);

#endif
