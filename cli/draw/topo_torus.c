/* The picture of a torus: planes of the two fastest axes side by side, wires between neighbours, stubs where an
 * axis closes on itself. Long axes are folded. */
#include "topo_view.h"

#include <math.h>

/* Drawn along an axis at most, gap included. */
#define MAX_SIDE 9u
#define MAX_PLANES 3u
#define STEP_X 74.0
#define STEP_Y 58.0
#define BOX_WIDTH 46.0
#define BOX_HEIGHT 26.0
#define STUB 17.0
#define LEFT 58.0
#define TOP 128.0
#define PLANE_GAP 66.0

/* One axis as it is drawn. */
struct side {
    uint32_t radix;
    uint32_t slots; /* drawn, gap included */
};

static struct side side_of(const struct ronde_torus *torus, uint32_t axis)
{
    const uint32_t radix = axis < torus->axes ? torus->radix[axis] : 1;
    return (struct side){radix, radix > MAX_SIDE ? MAX_SIDE : radix};
}

/* The place on the axis that a slot shows; NONE for the gap. */
static uint32_t place_at(struct side side, uint32_t slot)
{
    if (side.slots == side.radix || slot + 2 < side.slots)
        return slot;
    return slot + 1 == side.slots ? side.radix - 1 : RONDE_NONE;
}

/* One plane being drawn. */
struct plane {
    const struct ronde_page *page;
    const struct ronde_topo_view *view;
    struct side x;
    struct side y;
    double left;
    uint32_t base; /* host at its corner */
};

static double x_at(const struct plane *plane, uint32_t slot)
{
    return plane->left + slot * STEP_X;
}

static double y_at(uint32_t slot)
{
    return TOP + slot * STEP_Y;
}

/* The wire between hosts along an axis; on a torus all of an axis are alike, so the first of its stride is taken. */
static const struct ronde_edge *wire_of(const struct ronde_topo_view *view, uint32_t host)
{
    const uint32_t first = view->first_edge[host];
    return &view->shape.edges[view->edge_of[first]];
}

/* An axis of a plane: how its wires are drawn from the middle of a box's right or lower edge. */
struct way {
    struct side side;
    char letter;       /* of a path: h or v */
    double back, step; /* to the opposite edge, and to the next box */
};

/* From a slot to the next one; around a gap it is broken off, and at the end of an axis a stub goes round. */
static void draw_wires(const struct plane *plane, const struct way *way, uint32_t slot, double x,
                       double y, uint32_t host)
{
    const struct side side = way->side;
    const bool is_last = slot + 1 == side.slots;
    const bool is_broken = !is_last && place_at(side, slot + 1) == RONDE_NONE;
    FILE *file = plane->page->file;

    if (side.radix < 2)
        return;
    ronde_page_wire(plane->page, wire_of(plane->view, host));
    if (!is_last || side.radix > 2)
        fprintf(file, "M %.1f %.1f %c %.1f ", x, y, way->letter,
                is_last || is_broken ? STUB : way->step);
    if (slot == 0 ? side.radix > 2 : place_at(side, slot - 1) == RONDE_NONE)
        fprintf(file, "M %.1f %.1f %c %.1f ", way->letter == 'h' ? x - way->back : x,
                way->letter == 'v' ? y - way->back : y, way->letter, -STUB);
    ronde_page_end_wire(plane->page);
}

static void draw_host(const struct plane *plane, uint32_t column, uint32_t row)
{
    const uint32_t x = place_at(plane->x, column), y = place_at(plane->y, row);
    const double centre = x_at(plane, column), middle = y_at(row);
    if (x == RONDE_NONE || y == RONDE_NONE) {
        ronde_page_text(plane->page, "gap", centre, middle + 5, 1e6, "\xe2\x80\xa6");
        return;
    }
    const uint32_t host = plane->base + y * plane->x.radix + x;
    const struct way across = {plane->x, 'h', BOX_WIDTH, STEP_X - BOX_WIDTH};
    const struct way down = {plane->y, 'v', BOX_HEIGHT, STEP_Y - BOX_HEIGHT};
    draw_wires(plane, &across, column, centre + BOX_WIDTH / 2, middle, host);
    draw_wires(plane, &down, row, centre, middle + BOX_HEIGHT / 2, host);
    fprintf(plane->page->file,
            "<rect class=\"host\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "rx=\"4\"/>\n",
            centre - BOX_WIDTH / 2, middle - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT);
    ronde_page_text(plane->page, "name", centre, middle + 4, BOX_WIDTH - 2,
                    plane->view->shape.vertices[host].name);
}

static void draw_plane(const struct plane *plane, uint32_t number, uint32_t planes)
{
    char text[64];
    snprintf(text, sizeof text, "plane %u of %u", number, planes);
    if (planes > 1)
        ronde_page_text(plane->page, "note", plane->left - BOX_WIDTH / 2, TOP - 42, 1e6, text);
    for (uint32_t row = 0; row < plane->y.slots; row++)
        for (uint32_t column = 0; column < plane->x.slots; column++)
            draw_host(plane, column, row);
}

void ronde_topo_view_torus(const struct ronde_topo_view *view, FILE *file)
{
    struct ronde_page page;
    struct plane plane = {&page, view, side_of(&view->torus, 0), side_of(&view->torus, 1), LEFT, 0};
    const uint32_t size = plane.x.radix * plane.y.radix;
    const uint32_t planes = view->nodes.host_count / size;
    const uint32_t drawn = planes > MAX_PLANES ? MAX_PLANES - 1 : planes;
    const double plane_width = (plane.x.slots - 1) * STEP_X + BOX_WIDTH + PLANE_GAP;
    const double fold = planes > drawn ? 110 : 0;
    const double width = LEFT + drawn * plane_width + fold;
    const double bottom = TOP + (plane.y.slots - 1) * STEP_Y + BOX_HEIGHT / 2 + STUB;
    ronde_page_open(&page, view, file, fmax(width, view->use ? 760 : 620),
                    bottom + (planes > 1 ? 84 : 62));
    for (uint32_t i = 0; i < drawn; i++) {
        plane.left = LEFT + i * plane_width;
        plane.base = i * size;
        draw_plane(&plane, i, planes);
    }
    if (planes > drawn) {
        char text[48];
        snprintf(text, sizeof text, "\xe2\x80\xa6 \xc3\x97 %u", planes - drawn);
        ronde_page_text(&page, "gap", width - fold / 2 - 20, (TOP + bottom) / 2, 1e6, text);
    }
    if (planes > 1)
        ronde_page_text(&page, "note", 28, bottom + 30, 1e6,
                        "hosts at one place of neighbouring planes are joined as well; every axis "
                        "closes on itself");
    ronde_page_legend(&page, 28, bottom + (planes > 1 ? 62 : 40));
    ronde_page_close(&page);
}
