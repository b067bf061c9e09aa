/* The picture of rows and frames: wires first, boxes over them. */
#include "topo_layout.h"
#include "topo_svg.h"

#include <math.h>

#define TOP 84.0
#define MARGIN 28.0
#define LEGEND_ROOM 54.0

static double centre_of(const struct ronde_box *box)
{
    return box->x + box->width / 2;
}

/* The drawn neighbours of a box on one side: how far they reach. */
struct reach {
    double first; /* centre of the leftmost */
    double last;  /* centre of the rightmost */
};

static struct reach reach_of(const struct ronde_topo_view *view, const struct ronde_layout *layout,
                             uint32_t vertex, bool is_above)
{
    const struct ronde_box *box = &layout->boxes[vertex];
    struct reach reach = {INFINITY, -INFINITY};
    for (uint32_t i = view->first_edge[vertex]; i < view->first_edge[vertex + 1]; i++) {
        const uint32_t other = ronde_topo_view_other(view, view->edge_of[i], vertex);
        const struct ronde_box *there = &layout->boxes[other];
        if (there->width <= 0 || there->y == box->y || (there->y < box->y) != is_above)
            continue;
        reach.first = fmin(reach.first, centre_of(there));
        reach.last = fmax(reach.last, centre_of(there));
    }
    return reach;
}

/*
 * Where a wire to another box meets this one: straight above or below the other where this one is as wide as all it is
 * joined to, else in proportion, so that wires from all over the page fan out over it instead of ending in one corner.
 */
static double landing(const struct ronde_topo_view *view, const struct ronde_layout *layout,
                      uint32_t vertex, uint32_t other)
{
    const struct ronde_box *box = &layout->boxes[vertex], *there = &layout->boxes[other];
    const double inset = fmin(8, box->width / 4), from = centre_of(there);
    const double left = box->x + inset, right = box->x + box->width - inset;
    const struct reach reach = reach_of(view, layout, vertex, there->y < box->y);
    if (box->width > there->width && reach.first >= left && reach.last <= right)
        return from;
    if (reach.last <= reach.first)
        return centre_of(box);
    return left + (right - left) * (from - reach.first) / (reach.last - reach.first);
}

/* Between rows: out of one vertically and into the other vertically. `shift` keeps parallel wires apart. */
static void draw_riser(const struct ronde_page *page, const struct ronde_topo_view *view,
                       const struct ronde_layout *layout, const struct ronde_edge *edge,
                       double shift)
{
    const bool is_a_low = layout->boxes[edge->a].y > layout->boxes[edge->b].y;
    const uint32_t low = is_a_low ? edge->a : edge->b, high = is_a_low ? edge->b : edge->a;
    const double start = landing(view, layout, low, high) + shift;
    const double end = landing(view, layout, high, low) + shift;
    const double y0 = layout->boxes[low].y;
    const double y1 = layout->boxes[high].y + layout->boxes[high].height, middle = (y0 + y1) / 2;
    fprintf(page->file, "M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f", start, y0, start, middle,
            end, middle, end, y1);
}

/* Within a row: what lies at the bottom is joined below, the rest above. */
static void draw_arc(const struct ronde_page *page, const struct ronde_box *a,
                     const struct ronde_box *b, bool is_below)
{
    const double x0 = centre_of(a), x1 = centre_of(b);
    const double reach = fmin(20 + 0.24 * fabs(x1 - x0), 100) * (is_below ? 1 : -1);
    const double y0 = is_below ? a->y + a->height : a->y;
    const double y1 = is_below ? b->y + b->height : b->y;
    fprintf(page->file, "M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f", x0, y0, x0, y0 + reach, x1,
            y1 + reach, x1, y1);
}

/* How many wires before this one join the same two places. */
static uint32_t parallel_before(const struct ronde_shape *shape, uint32_t edge)
{
    uint32_t before = 0;
    while (before < edge && shape->edges[edge - before - 1].a == shape->edges[edge].a &&
           shape->edges[edge - before - 1].b == shape->edges[edge].b)
        before++;
    return before;
}

static void draw_wire(const struct ronde_page *page, const struct ronde_topo_view *view,
                      const struct ronde_layout *layout, uint32_t index)
{
    const struct ronde_edge *edge = &view->shape.edges[index];
    const struct ronde_box *a = &layout->boxes[edge->a], *b = &layout->boxes[edge->b];
    if (a->width <= 0 || b->width <= 0)
        return;
    ronde_page_wire(page, edge);
    if (a->y == b->y)
        draw_arc(page, a, b, ronde_topo_view_is_low(view, edge->a));
    else
        draw_riser(page, view, layout, edge, 5.0 * parallel_before(&view->shape, index));
    ronde_page_end_wire(page);
}

static void draw_box(const struct ronde_page *page, const struct ronde_topo_view *view,
                     const struct ronde_box *box, uint32_t vertex)
{
    const struct ronde_vertex *place = &view->shape.vertices[vertex];
    const bool is_host = place->host != RONDE_NONE;
    char text[RONDE_TOPO_TEXT_BYTES];
    if (box->width <= 0)
        return;
    snprintf(text, sizeof text, "%s", ronde_topo_view_name(view, vertex));
    if (place->rate_GBps > 0)
        snprintf(text, sizeof text, "%s: %.4g GB/s %s", ronde_topo_view_name(view, vertex),
                 place->rate_GBps, place->is_fatpipe ? "for each flow" : "shared by all");
    if (place->is_opaque)
        snprintf(text, sizeof text, "%s: only SimGrid knows its links",
                 ronde_topo_view_name(view, vertex));
    fprintf(page->file,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "rx=\"%d\"/>\n",
            is_host ? "host" : "switch", box->x, box->y, box->width, box->height, is_host ? 4 : 7);
    ronde_page_text(page, "name", centre_of(box), box->y + box->height / 2 + 4, box->width - 2,
                    text);
}

static void draw_frames(const struct ronde_page *page, const struct ronde_topo_view *view,
                        const struct ronde_layout *layout)
{
    for (uint32_t i = 0; i < layout->frame_count; i++) {
        const struct ronde_node_frame *frame = &layout->frames[i];
        char text[32];
        snprintf(text, sizeof text, "%s %u", ronde_topo_view_group(view), frame->node);
        fprintf(page->file,
                "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "rx=\"9\"/>\n",
                frame->x, frame->y, frame->width, frame->height);
        ronde_page_text(page, "note", frame->x + 12, frame->y + frame->height - 9, 200, text);
    }
}

static void draw_gaps(const struct ronde_page *page, const struct ronde_layout *layout)
{
    for (uint32_t i = 0; i < layout->gap_count; i++) {
        const struct ronde_gap *gap = &layout->gaps[i];
        char text[32];
        snprintf(text, sizeof text, "\xc3\x97 %u", gap->left);
        ronde_page_text(page, "gap", gap->x, gap->y - 4, 1e6, "\xe2\x80\xa6");
        ronde_page_text(page, "gap", gap->x, gap->y + 10, 1e6, text);
    }
}

enum ronde_status ronde_page_rows(struct ronde_page *page, const struct ronde_topo_view *view,
                                  struct ronde_error *error)
{
    struct ronde_layout layout;
    const enum ronde_status status = ronde_layout_make(view, TOP, &layout, error);
    if (status == RONDE_OK) {
        ronde_page_open(page, view, fmax(layout.right + layout.left, 2 * MARGIN + 720),
                        layout.bottom + LEGEND_ROOM);
        draw_frames(page, view, &layout);
        for (uint32_t i = 0; i < view->shape.edge_count; i++)
            draw_wire(page, view, &layout, i);
        for (uint32_t v = 0; v < view->shape.vertex_count; v++)
            draw_box(page, view, &layout.boxes[v], v);
        draw_gaps(page, &layout);
        ronde_page_legend(page, MARGIN, layout.bottom + 34);
        ronde_page_close(page);
    }
    ronde_layout_free(view, &layout);
    return status;
}
