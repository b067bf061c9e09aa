/* The page of a picture: size, colours, title, legend. Fonts are the reader's; nothing is loaded. */
#include "svg.h"
#include "topo_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Widths of letters of the label fonts, generously. */
#define LETTER 6.2

/* Fastest first; they differ in brightness too and are read on light and dark ground (after Okabe and Ito). */
static const char *const colours[RONDE_WIRE_COLOURS] = {"#d55e00", "#0072b2", "#009e73",
                                                        "#cc79a7", "#b58900", "#7f7f7f"};

/* Steps of how busy wires are. */
#define USE_STEPS 5u

/* From busy to idle. */
static const char *const use_colours[USE_STEPS] = {"#b3261e", "#d55e00", "#e69f00", "#56b4e9",
                                                   "#9aa4ae"};

static double rate_of(const struct ronde_edge *edge)
{
    return fmax(edge->rate_GBps, edge->back_GBps);
}

/* What colours a wire. */
static double shown_of(const struct ronde_topo_view *view, const struct ronde_edge *edge)
{
    return view->use ? 100 * ronde_topo_view_use(view, edge) : rate_of(edge);
}

static int compare_rates(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

/* Takes a rate in, sorted; a full table is told by the caller's factor. */
static bool add_rate(double *rates, uint32_t *count, uint32_t limit, double rate)
{
    for (uint32_t i = 0; i < *count; i++)
        if (rates[i] == rate)
            return true;
    if (*count == limit)
        return false;
    rates[(*count)++] = rate;
    qsort(rates, *count, sizeof *rates, compare_rates);
    return true;
}

/* Colours by equal steps of the logarithm, where there are more rates than colours. */
static void gather_ranges(const struct ronde_topo_view *view, struct ronde_page *page)
{
    double fastest = 0, slowest = INFINITY;
    for (uint32_t i = 0; i < view->shape.edge_count; i++)
        if (rate_of(&view->shape.edges[i]) > 0) {
            fastest = fmax(fastest, rate_of(&view->shape.edges[i]));
            slowest = fmin(slowest, rate_of(&view->shape.edges[i]));
        }
    const double step = pow(slowest / fastest, 1.0 / RONDE_WIRE_COLOURS);
    page->rate_count = RONDE_WIRE_COLOURS;
    for (uint32_t k = 0; k < RONDE_WIRE_COLOURS; k++) {
        page->limits[k] = fastest * pow(step, k);
        page->rates[k] = k + 1 == RONDE_WIRE_COLOURS ? slowest : fastest * pow(step, k + 1);
    }
}

static struct ronde_page page_of(const struct ronde_topo_view *view, FILE *file)
{
    struct ronde_page page = {.file = file, .view = view};
    bool fits = true;
    for (uint32_t i = 0; i < view->shape.edge_count; i++) {
        const double rate = rate_of(&view->shape.edges[i]);
        page.has_touches |= rate == 0;
        page.has_faults |= ronde_topo_view_is_faulty(view, &view->shape.edges[i]);
        fits &= rate == 0 || add_rate(page.rates, &page.rate_count, RONDE_WIRE_COLOURS, rate);
    }
    if (view->use) {
        page.rate_count = USE_STEPS;
        for (uint32_t k = 0; k < USE_STEPS; k++) {
            page.limits[k] = 100. - 100. / USE_STEPS * k;
            page.rates[k] = 100. - 100. / USE_STEPS * (k + 1);
        }
    } else if (fits)
        memcpy(page.limits, page.rates, sizeof page.limits);
    else
        gather_ranges(view, &page);
    return page;
}

/* Which colour a rate has. */
static uint32_t colour_of(const struct ronde_page *page, double rate)
{
    uint32_t k = 0;
    while (k + 1 < page->rate_count && rate < page->rates[k] * (1 - 1e-12))
        k++;
    return k;
}

/* Wider where faster, over the logarithm of what is on the page. */
static double width_of(const struct ronde_page *page, double rate)
{
    const double fastest = page->limits[0], slowest = fmax(page->rates[page->rate_count - 1], 1);
    return fastest > slowest ? 1.3 + 2.7 * log(rate / slowest) / log(fastest / slowest) : 2.0;
}

/* Cut at the front: the end of a name is what tells it from its neighbours. */
void ronde_page_text(const struct ronde_page *page, const char *style, double x, double y,
                     double width, const char *text)
{
    const size_t length = strlen(text), room = width > LETTER ? (size_t)(width / LETTER) : 1;
    fprintf(page->file, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
    if (length > room) {
        const char *tail = text + length - room + 1;
        /* Not inside a letter of several bytes. */
        while (((unsigned char)*tail & 0xc0u) == 0x80u)
            tail++;
        fputs("\xe2\x80\xa6", page->file);
        ronde_markup_print(page->file, tail);
    } else {
        ronde_markup_print(page->file, text);
    }
    fputs("</text>\n", page->file);
}

static void print_style(const struct ronde_page *page)
{
    fputs("<style>\n"
          "text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif;\n"
          "       fill: #1f2328; }\n"
          ".page { fill: #ffffff; }\n"
          ".title { font-size: 19px; font-weight: 600; }\n"
          ".note { font-size: 12.5px; fill: #57606a; }\n"
          ".name { font-size: 10.5px; text-anchor: middle; }\n"
          ".gap { font-size: 12px; text-anchor: middle; fill: #57606a; }\n"
          ".frame { fill: #f6f8fa; stroke: #d0d7de; }\n"
          ".host { fill: #ddf4e4; stroke: #3d8b57; }\n"
          ".switch { fill: #e4ecfb; stroke: #5a78b8; }\n"
          ".wire { fill: none; stroke-opacity: 0.85; stroke-linecap: round; }\n"
          ".touch { fill: none; stroke: #8c959f; stroke-width: 1.2; stroke-dasharray: 4 3; }\n",
          page->file);
    if (page->has_faults)
        fputs(".fault { stroke-dasharray: 2 7; }\n", page->file);
    for (uint32_t k = 0; k < page->rate_count; k++)
        fprintf(page->file, ".w%u { stroke: %s; stroke-width: %.2fpx; }\n", k,
                page->view->use ? use_colours[k] : colours[k], width_of(page, page->limits[k]));
    fputs("@media (prefers-color-scheme: dark) {\n"
          "text { fill: #e6edf3; }\n"
          ".page { fill: #0d1117; }\n"
          ".note, .gap { fill: #9da7b3; }\n"
          ".frame { fill: #161b22; stroke: #30363d; }\n"
          ".host { fill: #12361f; stroke: #56b877; }\n"
          ".switch { fill: #182848; stroke: #7d9fe0; }\n"
          "}\n</style>\n",
          page->file);
}

/* What it is in numbers. */
static void print_subtitle(const struct ronde_page *page, const struct ronde_topo_view *view)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(view->platform);
    const uint32_t switches = view->shape.vertex_count - facts->hosts;
    char text[256], nodes[64] = "", torus[96] = "";
    if (view->has_nodes)
        snprintf(nodes, sizeof nodes, " in %u %s%s", view->nodes.count, ronde_topo_view_group(view),
                 view->nodes.count == 1 ? "" : "s");
    for (uint32_t axis = view->torus.axes; axis > 0; axis--) {
        const size_t used = strlen(torus);
        snprintf(torus + used, sizeof torus - used, "%s%u",
                 axis == view->torus.axes ? ", torus " : " x ", view->torus.radix[axis - 1]);
    }
    snprintf(text, sizeof text, "%u hosts%s%s, %u switch%s, %u wires%s", facts->hosts, nodes, torus,
             switches, switches == 1 ? "" : "es", view->shape.edge_count,
             view->use ? ", coloured by how busy their busier direction is" : "");
    ronde_page_text(page, "note", 28, 56, 1e6, text);
}

void ronde_page_open(const struct ronde_page *page, const struct ronde_topo_view *view,
                     double width, double height)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(view->platform);
    fprintf(page->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" role=\"img\">\n",
            width, height, width, height);
    print_style(page);
    fputs("<title>", page->file);
    ronde_markup_print(page->file, facts->name);
    fputs("</title>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", page->file);
    ronde_page_text(page, "title", 28, 34, 1e6, facts->name);
    print_subtitle(page, view);
}

static void print_sample(const struct ronde_page *page, const char *style, double *x, double y,
                         const char *text)
{
    fprintf(page->file, "<path class=\"%s\" d=\"M %.1f %.1f h 30\"/>\n", style, *x, y - 4);
    ronde_page_text(page, "note", *x + 37, y, 1e6, text);
    *x += 37 + LETTER * 1.1 * (double)strlen(text) + 22;
}

void ronde_page_legend(const struct ronde_page *page, double x, double y)
{
    for (uint32_t k = 0; k < page->rate_count; k++) {
        char style[24], text[64];
        snprintf(style, sizeof style, "wire w%u", k);
        if (page->view->use)
            snprintf(text, sizeof text, "%.0f to %.0f %%", page->rates[k], page->limits[k]);
        else if (page->limits[k] > page->rates[k])
            snprintf(text, sizeof text, "%.3g to %.3g GB/s", page->rates[k], page->limits[k]);
        else
            ronde_topo_view_GBps(page->rates[k], text, sizeof text);
        print_sample(page, style, &x, y, text);
    }
    if (page->has_touches)
        print_sample(page, "touch", &x, y, "attached");
    if (page->has_faults) {
        char style[24];
        snprintf(style, sizeof style, "wire w%u fault",
                 page->rate_count > 0 ? page->rate_count - 1 : 0);
        print_sample(page, style, &x, y, "degraded");
    }
    if (page->rate_count > 0 && !page->view->use)
        ronde_page_text(page, "note", x, y, 1e6, "each direction");
}

void ronde_page_close(const struct ronde_page *page)
{
    fputs("</svg>\n", page->file);
}

void ronde_page_wire(const struct ronde_page *page, const struct ronde_edge *edge)
{
    if (rate_of(edge) > 0)
        fprintf(page->file, "<path class=\"wire w%u%s\" d=\"",
                colour_of(page, shown_of(page->view, edge)),
                ronde_topo_view_is_faulty(page->view, edge) ? " fault" : "");
    else
        fputs("<path class=\"touch\" d=\"", page->file);
}

void ronde_page_end_wire(const struct ronde_page *page)
{
    fputs("\"/>\n", page->file);
}

/* The picture of a torus: planes of the two fastest axes side by side, wires between neighbours, stubs where an
 * axis closes on itself. Long axes are folded. */

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

static void draw_torus(struct ronde_page *page, const struct ronde_topo_view *view)
{
    struct plane plane = {page, view, side_of(&view->torus, 0), side_of(&view->torus, 1), LEFT, 0};
    const uint32_t size = plane.x.radix * plane.y.radix;
    const uint32_t planes = view->nodes.host_count / size;
    const uint32_t drawn = planes > MAX_PLANES ? MAX_PLANES - 1 : planes;
    const double plane_width = (plane.x.slots - 1) * STEP_X + BOX_WIDTH + PLANE_GAP;
    const double fold = planes > drawn ? 110 : 0;
    const double width = LEFT + drawn * plane_width + fold;
    const double bottom = TOP + (plane.y.slots - 1) * STEP_Y + BOX_HEIGHT / 2 + STUB;
    ronde_page_open(page, view, fmax(width, view->use ? 760 : 620), bottom + (planes > 1 ? 84 : 62));
    for (uint32_t i = 0; i < drawn; i++) {
        plane.left = LEFT + i * plane_width;
        plane.base = i * size;
        draw_plane(&plane, i, planes);
    }
    if (planes > drawn) {
        char text[48];
        snprintf(text, sizeof text, "\xe2\x80\xa6 \xc3\x97 %u", planes - drawn);
        ronde_page_text(page, "gap", width - fold / 2 - 20, (TOP + bottom) / 2, 1e6, text);
    }
    if (planes > 1)
        ronde_page_text(page, "note", 28, bottom + 30, 1e6,
                        "hosts at one place of neighbouring planes are joined as well; every axis "
                        "closes on itself");
    ronde_page_legend(page, 28, bottom + (planes > 1 ? 62 : 40));
    ronde_page_close(page);
}

/* A platform as a picture: a torus as a grid, anything else as rows and frames. */

enum ronde_status ronde_topo_view_print_svg(const struct ronde_topo_view *view, FILE *file,
                                            struct ronde_error *error)
{
    struct ronde_page page = page_of(view, file);
    if (view->torus.axes == 0)
        return ronde_page_rows(&page, view, error);
    draw_torus(&page, view);
    return RONDE_OK;
}
