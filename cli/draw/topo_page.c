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

void ronde_page_open(struct ronde_page *page, const struct ronde_topo_view *view, FILE *file,
                     double width, double height)
{
    *page = page_of(view, file);
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
