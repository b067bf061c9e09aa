/*
 * A platform as a picture: a torus as a grid (topo_torus.c), anything else as rows and frames. Lengths are in units of the
 * picture, about a pixel on a laptop.
 */
#include "topo_view.h"

#include "ronde/mem.h"

#include <math.h>

/* Where everything of a picture lies: hosts in the frames of their nodes at the bottom, switches in rows above, the
 * farther from hosts the higher. What only serves the inside of a node (an NVSwitch) lies below its hosts, so that
 * no wire to the outside crosses it. Long rows are folded: the first few, a gap that says how many are left out,
 * the last. */

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

#define MARGIN 28.0
#define HOST_SLOT 52.0
#define HOST_HEIGHT 26.0
#define SWITCH_HEIGHT 30.0
#define FRAME_PAD 12.0
#define FRAME_FOOT 26.0
#define FRAME_GAP 22.0
#define FOLD_WIDTH 76.0
#define NARROW_STEP 84.0
#define INNER_STEP 62.0
#define ARC_ROOM 80.0
#define MIN_WIDTH 720.0

/* What a row is made of: the vertices of one owner at one distance from the hosts. */
struct row {
    uint32_t owner;
    uint32_t level;
    bool is_below; /* in a node: what leads nowhere else */
    double x;
    double y;
    double width;
    uint32_t limit; /* drawn at most */
};

/* The layout being made. */
struct maker {
    const struct ronde_topo_view *view;
    struct ronde_layout *layout;
    uint32_t deepest; /* largest level */
    uint32_t rows;    /* numbered so far */
};

static bool is_in(const struct ronde_topo_view *view, const struct row *row, uint32_t vertex)
{
    const uint32_t level = view->level[vertex] == RONDE_NONE ? 1 : view->level[vertex];
    const bool is_below = row->owner != RONDE_NONE && level > 0 && !view->leads_out[vertex];
    return view->owner[vertex] == row->owner && level == row->level && is_below == row->is_below;
}

static uint32_t count_row(const struct ronde_topo_view *view, const struct row *row)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < view->shape.vertex_count; v++)
        count += is_in(view, row, v);
    return count;
}

static void add_gap(struct ronde_layout *layout, double x, double y, uint32_t left)
{
    if (layout->gap_count < RONDE_MAX_GAPS)
        layout->gaps[layout->gap_count++] = (struct ronde_gap){x, y, left};
}

/* Side by side in equal slots; where there are too many the last slot but one is the gap. */
static void place_row(struct maker *maker, const struct row *row)
{
    const struct ronde_topo_view *view = maker->view;
    const uint32_t count = count_row(view, row);
    const bool is_folded = count > row->limit;
    const uint32_t slots = is_folded ? row->limit : count;
    const double slot = row->width / (slots > 0 ? slots : 1);
    const double height = row->level == 0 ? HOST_HEIGHT : SWITCH_HEIGHT;
    const double inset = row->level == 0 ? 3 : fmin(8, slot * 0.08);
    uint32_t seen = 0;
    for (uint32_t v = 0; v < view->shape.vertex_count && count > 0; v++) {
        if (!is_in(view, row, v))
            continue;
        const bool is_last = ++seen == count;
        const uint32_t at = is_folded && is_last ? slots - 1 : seen - 1;
        if (is_folded && !is_last && at + 2 >= slots)
            continue;
        maker->layout->boxes[v] = (struct ronde_box){row->x + at * slot + inset, row->y,
                                                     slot - 2 * inset, height, maker->rows};
    }
    if (is_folded)
        add_gap(maker->layout, row->x + (slots - 1.5) * slot, row->y + height / 2,
                count - slots + 1);
    maker->rows++;
}

static uint32_t count_levels(const struct ronde_topo_view *view, uint32_t owner, bool is_below)
{
    uint32_t levels = 0;
    for (uint32_t v = 0; v < view->shape.vertex_count; v++) {
        const uint32_t level = view->level[v];
        if (view->owner[v] == owner && level != RONDE_NONE && level > 0 &&
            (owner == RONDE_NONE || !view->leads_out[v] == is_below) && level > levels)
            levels = level;
    }
    return levels;
}

/* Whether vertices side by side are wired to one another: hosts, what lies below them, or what lies above. */
static bool has_arcs(const struct ronde_topo_view *view, bool is_low, bool is_hosts)
{
    for (uint32_t i = 0; i < view->shape.edge_count; i++) {
        const uint32_t a = view->shape.edges[i].a, b = view->shape.edges[i].b;
        if (view->level[a] == view->level[b] && (view->level[a] == 0) == is_hosts &&
            ronde_topo_view_is_low(view, a) == is_low)
            return true;
    }
    return false;
}

/* The rows of a node, from the top: what leads out, hosts, what only serves the inside. Returns the height. */
static double place_node(struct maker *maker, uint32_t node, double x, double y, double width)
{
    const struct ronde_topo_view *view = maker->view;
    struct row row = {node, 0, false, x + FRAME_PAD, y + FRAME_PAD, width - 2 * FRAME_PAD, 0};
    row.limit = (uint32_t)(row.width / HOST_SLOT + 0.5);
    for (uint32_t level = count_levels(view, node, false); level > 0; level--) {
        row.level = level;
        if (count_row(view, &row) > 0) {
            place_row(maker, &row);
            row.y += INNER_STEP;
        }
    }
    row.level = 0;
    place_row(maker, &row);
    row.y += HOST_HEIGHT + (has_arcs(view, true, true) ? ARC_ROOM : 0);
    row.is_below = true;
    for (uint32_t level = 1; level <= count_levels(view, node, true); level++) {
        row.level = level;
        if (count_row(view, &row) > 0) {
            row.y += INNER_STEP - SWITCH_HEIGHT;
            place_row(maker, &row);
            row.y += SWITCH_HEIGHT + (has_arcs(view, true, false) ? ARC_ROOM : 0);
        }
    }
    return row.y + FRAME_FOOT - y;
}

/* Hosts drawn in each frame at most: alone a node has the whole width. */
static uint32_t hosts_drawn(const struct ronde_topo_view *view)
{
    const uint32_t limit = view->nodes.count > 1 ? 8 : RONDE_MAX_ROW;
    uint32_t most = 0;
    for (uint32_t node = 0; node < view->nodes.count; node++) {
        const uint32_t size = view->nodes.first[node + 1] - view->nodes.first[node];
        most = size > most ? size : most;
    }
    return most < 3 ? 3 : (most > limit ? limit : most);
}

/* The first nodes, a gap, the last. */
static double place_frames(struct maker *maker, double y)
{
    struct ronde_layout *layout = maker->layout;
    const uint32_t count = maker->view->nodes.count;
    const bool is_folded = count > RONDE_MAX_FRAMES;
    const uint32_t drawn = is_folded ? RONDE_MAX_FRAMES - 1 : count;
    const double width = hosts_drawn(maker->view) * HOST_SLOT + 2 * FRAME_PAD;
    double x = layout->left, tallest = 0;
    for (uint32_t i = 0; i < drawn; i++) {
        const bool is_after_gap = is_folded && i + 1 == drawn;
        if (is_after_gap)
            x += FOLD_WIDTH;
        const uint32_t node = is_after_gap ? count - 1 : i;
        const double height = place_node(maker, node, x, y, width);
        layout->frames[layout->frame_count++] = (struct ronde_node_frame){x, y, width, height, node};
        tallest = fmax(tallest, height);
        x += width + FRAME_GAP;
    }
    if (is_folded)
        add_gap(layout, x - width - FRAME_GAP - (FOLD_WIDTH + FRAME_GAP) / 2, y + tallest / 2,
                count - drawn);
    for (uint32_t i = 0; i < layout->frame_count; i++)
        layout->frames[i].height = tallest;
    return tallest;
}

/* As wide as the frames, or the hosts, need. */
static void measure(struct maker *maker)
{
    const struct ronde_topo_view *view = maker->view;
    const uint32_t hosts = view->nodes.host_count;
    const uint32_t count = view->nodes.count;
    double width = (hosts < RONDE_MAX_ROW ? hosts : RONDE_MAX_ROW) * (HOST_SLOT + 14);
    if (view->has_nodes) {
        const double frame = hosts_drawn(view) * HOST_SLOT + 2 * FRAME_PAD + FRAME_GAP;
        width =
            count > RONDE_MAX_FRAMES ? (RONDE_MAX_FRAMES - 1) * frame + FOLD_WIDTH : count * frame;
        width -= FRAME_GAP;
    }
    maker->layout->left = MARGIN;
    if (width < MIN_WIDTH)
        maker->layout->left += (MIN_WIDTH - width) / 2;
    maker->layout->right = maker->layout->left + width;
}

/* Rows of what nodes share from the top, then the nodes or the bare hosts. */
static void place_all(struct maker *maker, double top)
{
    const struct ronde_topo_view *view = maker->view;
    struct ronde_layout *layout = maker->layout;
    struct row row = {.owner = RONDE_NONE,
                      .x = layout->left,
                      .y = top + (has_arcs(view, false, false) ? ARC_ROOM : 0),
                      .width = layout->right - layout->left,
                      .limit = RONDE_MAX_ROW};
    /* The wider the page, the flatter wires across it run: they need height to be told apart. */
    const double wide = fmin(fmax(row.width / 9, NARROW_STEP), 150);
    for (uint32_t level = count_levels(view, RONDE_NONE, false); level > 0; level--) {
        row.level = level;
        if (count_row(view, &row) > 0) {
            place_row(maker, &row);
            row.y += count_row(view, &row) > 2 ? wide : NARROW_STEP;
        }
    }
    row.level = 0;
    if (view->has_nodes) {
        layout->bottom = row.y + place_frames(maker, row.y);
        return;
    }
    place_row(maker, &row);
    layout->bottom = row.y + HOST_HEIGHT + (has_arcs(view, true, true) ? ARC_ROOM : 0);
}

/*
 * Lays a view out from `top` downwards. Owner: the caller frees it with layout_free, also after an error. Errors:
 * NO_MEMORY.
 */
static enum ronde_status layout_make(const struct ronde_topo_view *view, double top,
                                     struct ronde_layout *out_layout, struct ronde_error *error)
{
    *out_layout = (struct ronde_layout){.boxes = NULL};
    struct maker maker = {.view = view, .layout = out_layout};
    out_layout->boxes =
        ronde_mem_new(ronde_mem_default(), view->shape.vertex_count, sizeof *out_layout->boxes);
    if (!out_layout->boxes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to lay out %u places",
                          view->shape.vertex_count);
    measure(&maker);
    place_all(&maker, top);
    return RONDE_OK;
}

/* Frees a layout. */
static void layout_free(const struct ronde_topo_view *view, struct ronde_layout *layout)
{
    ronde_mem_free(ronde_mem_default(), layout->boxes, view->shape.vertex_count,
                   sizeof *layout->boxes);
}

/* The picture of rows and frames: wires first, boxes over them. */

#define TOP 84.0
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

static enum ronde_status draw_rows(const struct ronde_topo_view *view, FILE *file,
                                   struct ronde_error *error)
{
    struct ronde_layout layout;
    struct ronde_page page;
    const enum ronde_status status = layout_make(view, TOP, &layout, error);
    if (status == RONDE_OK) {
        ronde_page_open(&page, view, file, fmax(layout.right + layout.left, 2 * MARGIN + 720),
                        layout.bottom + LEGEND_ROOM);
        draw_frames(&page, view, &layout);
        for (uint32_t i = 0; i < view->shape.edge_count; i++)
            draw_wire(&page, view, &layout, i);
        for (uint32_t v = 0; v < view->shape.vertex_count; v++)
            draw_box(&page, view, &layout.boxes[v], v);
        draw_gaps(&page, &layout);
        ronde_page_legend(&page, MARGIN, layout.bottom + 34);
        ronde_page_close(&page);
    }
    layout_free(view, &layout);
    return status;
}

enum ronde_status ronde_topo_view_print_svg(const struct ronde_topo_view *view, FILE *file,
                                            struct ronde_error *error)
{
    if (view->torus.axes == 0)
        return draw_rows(view, file, error);
    ronde_topo_view_torus(view, file);
    return RONDE_OK;
}
