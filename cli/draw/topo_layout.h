/**
 * Where everything of a picture lies: hosts in the frames of their nodes at the bottom, switches in rows above, the
 * farther from hosts the higher. What only serves the inside of a node (an NVSwitch) lies below its hosts, so that no
 * wire to the outside crosses it. Long rows are folded: the first few, a gap that says how many are left out, the last.
 */
#ifndef RONDE_CLI_DRAW_TOPO_LAYOUT_H
#define RONDE_CLI_DRAW_TOPO_LAYOUT_H

#include "topo_view.h"

/** Frames of nodes drawn at most. */
#define RONDE_MAX_FRAMES 4u
/** Vertices drawn in a row at most, gap included. */
#define RONDE_MAX_ROW 17u
/** Gaps drawn at most. */
#define RONDE_MAX_GAPS 128u

/** Where a vertex lies. */
struct ronde_box {
    double x;      /**< left */
    double y;      /**< top */
    double width;  /**< 0 = not drawn */
    double height; /**< of the box */
    uint32_t row;  /**< vertices of equal row are side by side */
};

/** What is left out of a row. */
struct ronde_gap {
    double x;      /**< centre */
    double y;      /**< centre */
    uint32_t left; /**< how many */
};

/** The outline of a node. */
struct ronde_node_frame {
    double x;      /**< left */
    double y;      /**< top */
    double width;  /**< of the frame */
    double height; /**< of the frame */
    uint32_t node; /**< which */
};

/** The whole picture. */
struct ronde_layout {
    struct ronde_box *boxes;                          /**< per vertex */
    struct ronde_node_frame frames[RONDE_MAX_FRAMES]; /**< nodes drawn */
    uint32_t frame_count;                             /**< of those */
    struct ronde_gap gaps[RONDE_MAX_GAPS];            /**< what is left out */
    uint32_t gap_count;                               /**< of those */
    double left;                                      /**< of the drawing */
    double right;                                     /**< of the drawing */
    double bottom;                                    /**< below the last row */
};

/**
 * Lays a view out from `top` downwards. Owner: the caller frees it with ronde_layout_free, also after an error. Errors:
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status ronde_layout_make(const struct ronde_topo_view *view, double top,
                                                     struct ronde_layout *out_layout,
                                                     struct ronde_error *error);

/** Frees a layout. */
void ronde_layout_free(const struct ronde_topo_view *view, struct ronde_layout *layout);

#endif
