/**
 * What pictures of a platform have in common: its shape, its nodes, who stands where, and what is equal to what.
 */
#ifndef RONDE_CLI_DRAW_TOPO_VIEW_H
#define RONDE_CLI_DRAW_TOPO_VIEW_H

#include "ronde/place.h"

/** Lengths of a name range. */
#define RONDE_TOPO_TEXT_BYTES 160u

/** A platform as it is drawn. */
struct ronde_topo_view {
    const struct ronde_platform *platform; /**< whose */
    const double *use; /**< per link: share of its capacity that was carried, which colours wires; NULL: rates do */
    struct ronde_shape shape; /**< places and wires */
    struct ronde_nodes nodes; /**< hosts in nodes */
    struct ronde_torus torus; /**< axes 0 unless it is one */
    bool has_nodes;  /**< false where every host is one: then no boxes are drawn around them */
    size_t numbers;  /**< of all of the following but leads_out, which lie one behind the other */
    uint32_t *owner; /**< per vertex: its node, RONDE_NONE for what nodes share */
    uint32_t *level; /**< per vertex: wires to the nearest host */
    bool *leads_out; /**< per vertex of a node: on the way from its hosts to other nodes */
    uint32_t *class_of;   /**< per vertex: equal in kind, wires and neighbours */
    uint32_t class_count; /**< of those */
    uint32_t *node_class; /**< per node: first node that is made of equal parts */
    uint32_t *first_edge; /**< per vertex, and one more: into edge_of */
    uint32_t *edge_of;    /**< edges of a vertex, both ends listed */
};

/** Looks at a platform; use: as in the view. Owner: the caller closes the view, also after an error. Errors: NO_MEMORY; as ronde_nodes_find. */
RONDE_MUST_CHECK enum ronde_status
ronde_topo_view_open(const struct ronde_platform *platform, const double *use,
                     struct ronde_topo_view *out_view, struct ronde_error *error);

/** Frees what a view holds. */
void ronde_topo_view_close(struct ronde_topo_view *view);

/** The other end of an edge. */
uint32_t ronde_topo_view_other(const struct ronde_topo_view *view, uint32_t edge, uint32_t vertex);

/** How busy a wire is in its busier direction; 0 where nothing is known of its load. */
double ronde_topo_view_use(const struct ronde_topo_view *view, const struct ronde_edge *edge);

/** Whether a wire is slower than its file says (--degrade). */
bool ronde_topo_view_is_faulty(const struct ronde_topo_view *view, const struct ronde_edge *edge);

/** Whether a vertex lies at the bottom of a picture: a host, or what only serves the inside of a node. */
bool ronde_topo_view_is_low(const struct ronde_topo_view *view, uint32_t vertex);

/** A rate for people: "12800 GB/s", "31.51 GB/s". */
void ronde_topo_view_GBps(double rate_GBps, char *text, size_t bytes);

/** What a vertex is called: its name, else what it is. */
const char *ronde_topo_view_name(const struct ronde_topo_view *view, uint32_t vertex);

/** What a set of hosts is called: a node, or a group where only zones of the file tell. */
const char *ronde_topo_view_group(const struct ronde_topo_view *view);

/** "450 GB/s", "10 GB/s shared", "attached": what a wire carries. */
void ronde_topo_view_rate(const struct ronde_edge *edge, char *text, size_t bytes);

/** "500 ns", "1.5 us"; "" for zero. */
void ronde_topo_view_time(double ns, char *text, size_t bytes);

/** The tree. Errors: DEVICE. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_view_print_tree(const struct ronde_topo_view *view,
                                                              FILE *file, struct ronde_error *error);

/** The picture. Errors: NO_MEMORY; DEVICE. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_view_print_svg(const struct ronde_topo_view *view,
                                                             FILE *file, struct ronde_error *error);

/** The picture of a torus. (topo_torus.c) */
void ronde_topo_view_torus(const struct ronde_topo_view *view, FILE *file);

/* What pictures are drawn with: a page with title and legend, wires coloured by what they carry, boxes, text. */

/** Colours of wires. */
#define RONDE_WIRE_COLOURS 6u

/** A page being drawn: the rates it shows, fastest first, or how busy wires are, in percent. */
struct ronde_page {
    FILE *file;                         /**< the SVG */
    const struct ronde_topo_view *view; /**< what is drawn */
    double rates[RONDE_WIRE_COLOURS];   /**< slowest of each colour */
    double limits[RONDE_WIRE_COLOURS];  /**< fastest of each colour */
    uint32_t rate_count;                /**< colours in use */
    bool has_touches;                   /**< some wires carry no rate */
    bool has_faults;                    /**< some are slower than their file says */
};

/** Opens a page in `file`: size, style, title and subtitle. */
void ronde_page_open(struct ronde_page *page, const struct ronde_topo_view *view, FILE *file,
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

#endif
