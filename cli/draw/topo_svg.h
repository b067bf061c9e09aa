/**
 * What pictures are drawn with: a page with title and legend, wires coloured by what they carry, boxes, text.
 */
#ifndef RONDE_CLI_DRAW_TOPO_SVG_H
#define RONDE_CLI_DRAW_TOPO_SVG_H

#include "topo_view.h"

/** Colours of wires. */
#define RONDE_WIRE_COLOURS 6u

/** A page being drawn: the rates it shows, fastest first. */
struct ronde_page {
    FILE *file;                        /**< the SVG */
    double rates[RONDE_WIRE_COLOURS];  /**< slowest of each colour */
    double limits[RONDE_WIRE_COLOURS]; /**< fastest of each colour */
    uint32_t rate_count;               /**< colours in use */
    bool has_touches;                  /**< some wires carry no rate */
};

/** A page for the rates of a view, whose wires are gathered into few colours. */
struct ronde_page ronde_page_of(const struct ronde_topo_view *view, FILE *file);

/** Opens the page: size, style, title and subtitle. */
void ronde_page_open(const struct ronde_page *page, const struct ronde_topo_view *view,
                     double width, double height);

/** The legend, from a left edge along a line. */
void ronde_page_legend(const struct ronde_page *page, double x, double y);

/** Closes it. */
void ronde_page_close(const struct ronde_page *page);

/** Starts a wire of a rate: `<path class=... d="`; the caller writes the path and closes it with ronde_page_end_wire. */
void ronde_page_wire(const struct ronde_page *page, const struct ronde_edge *edge);

/** Ends it. */
void ronde_page_end_wire(const struct ronde_page *page);

/** Text of a class at a point, cut to a width from its front. */
void ronde_page_text(const struct ronde_page *page, const char *style, double x, double y,
                     double width, const char *text);

/** The grid of a torus. */
void ronde_page_torus(struct ronde_page *page, const struct ronde_topo_view *view);

/** Rows and frames. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_page_rows(struct ronde_page *page,
                                                   const struct ronde_topo_view *view,
                                                   struct ronde_error *error);

#endif
