/* A panel: the rates of several algorithms over the size, measured, predicted and their bound. See figures.h. */
#include "figures.h"

#include "cli/draw/svg.h"
#include "cli/print/printer.h"

#include <math.h>
#include <string.h>

/* Names that have a colour: more colours look alike. */
#define MOST_NAMES 5u
#define HEIGHT 380.0
#define LEFT 66.0
#define RIGHT 34.0
#define TOP 16.0
#define BOTTOM 46.0
/* Rates that differ by more than this are on a logarithmic axis. */
#define LINEAR_RANGE 25.0

/* What a panel shows. */
struct view {
    const struct ronde_html_figures *figures;
    FILE *file;
    uint32_t panel;
    char names[MOST_NAMES][FIGURE_NAME_BYTES]; /* that have a colour */
    uint32_t name_count, names_left_out;
    double least_x, most_x, least_y, most_y;
    bool is_log, is_wide; /* is_wide: small sizes lie at the bottom of a linear axis */
};

static uint32_t name_index(const struct view *view, const char *name)
{
    for (uint32_t n = 0; n < view->name_count; n++)
        if (strcmp(view->names[n], name) == 0)
            return n;
    return RONDE_NONE;
}

static bool is_shown(const struct view *view, const struct figure_curve *curve)
{
    return curve->panel == view->panel &&
           (curve->style == BOUND || name_index(view, curve->name) != RONDE_NONE);
}

/* The fastest at a size, of the curves of a style that `names` may have; NULL for none. */
static const struct figure_curve *best_at(const struct view *view, enum figure_style style,
                                          double x, double *out_y)
{
    const struct figure_curve *best = NULL;
    *out_y = 0;
    for (uint32_t c = 0; c < view->figures->curve_count; c++) {
        const struct figure_curve *curve = &view->figures->curves[c];
        for (uint32_t i = 0;
             curve->panel == view->panel && curve->style == style && i < curve->count; i++)
            if (curve->points[i].x == x && curve->points[i].y > *out_y) {
                *out_y = curve->points[i].y;
                best = curve;
            }
    }
    return best;
}

/* How near to the best a curve comes anywhere: 1 = it is the best somewhere, and by how many sizes. Of equals the one that a
 * plan names matters more. */
static double merit_of(const struct view *view, const struct figure_curve *curve)
{
    double merit = 0;
    for (uint32_t i = 0; i < curve->count; i++) {
        double best = 0;
        (void)best_at(view, curve->style, curve->points[i].x, &best);
        const double share = best > 0 ? curve->points[i].y / best : 0;
        merit = share >= 1 ? fmax(merit, 1) + 1 : fmax(merit, share);
    }
    for (uint32_t i = 0; i < view->figures->change_count; i++)
        if (view->figures->changes[i].panel == view->panel &&
            strcmp(view->figures->changes[i].name, curve->name) == 0)
            return merit + .5;
    return merit;
}

/* Curves that are no further apart than this are one line to the eye. */
#define ALIKE .005

/* Predictions that would be drawn on each other: two names for one line answer nothing. */
static bool is_covered(const struct figure_curve *curve, const struct figure_curve *by)
{
    bool is_alike = curve->style == PREDICTED && by->style == PREDICTED && curve->count == by->count;
    for (uint32_t i = 0; is_alike && i < curve->count; i++)
        is_alike = fabs(curve->points[i].y - by->points[i].y) < ALIKE * by->points[i].y;
    return is_alike;
}

/* The names that matter most, in the order in which rows brought them. */
static void choose_names(struct view *view)
{
    const struct ronde_html_figures *figures = view->figures;
    bool is_chosen[MOST_CURVES] = {false};
    for (uint32_t n = 0; n < MOST_NAMES; n++) {
        uint32_t best = RONDE_NONE;
        double most = -1;
        for (uint32_t c = 0; c < figures->curve_count; c++) {
            const struct figure_curve *curve = &figures->curves[c];
            bool is_known = curve->panel != view->panel || curve->style == BOUND;
            for (uint32_t k = 0; k < figures->curve_count; k++)
                is_known = is_known ||
                           (is_chosen[k] && (strcmp(figures->curves[k].name, curve->name) == 0 ||
                                             is_covered(curve, &figures->curves[k])));
            if (is_known)
                continue;
            const double merit = merit_of(view, curve);
            if (merit > most) {
                most = merit;
                best = c;
            }
        }
        if (best != RONDE_NONE)
            is_chosen[best] = true;
    }
    for (uint32_t c = 0; c < figures->curve_count; c++) {
        if (is_chosen[c])
            snprintf(view->names[view->name_count++], FIGURE_NAME_BYTES, "%s",
                     figures->curves[c].name);
    }
    for (uint32_t c = 0; c < figures->curve_count; c++)
        view->names_left_out +=
            figures->curves[c].panel == view->panel && !is_shown(view, &figures->curves[c]);
}

static void measure(struct view *view)
{
    view->least_x = view->least_y = INFINITY;
    view->most_x = view->most_y = 0;
    for (uint32_t c = 0; c < view->figures->curve_count; c++) {
        const struct figure_curve *curve = &view->figures->curves[c];
        for (uint32_t i = 0; is_shown(view, curve) && i < curve->count; i++) {
            const struct figure_point *point = &curve->points[i];
            view->least_x = fmin(view->least_x, point->x);
            view->most_x = fmax(view->most_x, point->x);
            view->least_y =
                fmin(view->least_y, point->low > 0 ? fmin(point->low, point->y) : point->y);
            view->most_y = fmax(view->most_y, fmax(point->y, point->high > 0 ? point->high : 0));
        }
    }
    view->is_wide = view->most_y > LINEAR_RANGE * view->least_y;
    view->least_y = view->is_log ? view->least_y / 1.3 : 0;
    view->most_y *= view->is_log ? 1.3 : 1.06;
    /* Where several are compared, labels of the changes stand above the curves. */
    if (view->name_count > 1)
        view->most_y *= view->is_log ? pow(view->most_y / view->least_y, .2) : 1.2;
    /* A lone size has some room around it. */
    view->least_x /= view->most_x > view->least_x ? 1 : 2;
    view->most_x *= view->most_x > 2 * view->least_x ? 1 : 2;
}

static double x_of(const struct view *view, double bytes)
{
    return LEFT + (FIGURE_WIDTH - LEFT - RIGHT) * log(bytes / view->least_x) /
                      log(view->most_x / view->least_x);
}

static double y_of(const struct view *view, double rate)
{
    const double up = view->is_log ? log(rate / view->least_y) / log(view->most_y / view->least_y)
                                   : rate / view->most_y;
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * fmin(fmax(up, 0), 1);
}

/* Sizes by powers of two, nine at most. */
static void draw_sizes(const struct view *view)
{
    double step = 2, first = 1;
    while (view->most_x / view->least_x > pow(step, 8))
        step *= 2;
    while (first * step <= view->least_x)
        first *= step;
    for (double bytes = first; bytes <= view->most_x * 1.0001; bytes *= step)
        if (bytes >= view->least_x * .9999)
            fprintf(view->file,
                    "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"mid\" x=\"%.1f\" "
                    "y=\"%.1f\">%s</text>\n",
                    x_of(view, bytes), TOP, HEIGHT - BOTTOM, x_of(view, bytes),
                    HEIGHT - BOTTOM + 17, ronde_cell_tick((uint64_t)bytes).text);
    fprintf(view->file, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">size</text>\n",
            (LEFT + FIGURE_WIDTH - RIGHT) / 2, HEIGHT - 8);
}

static void draw_rate(const struct view *view, double rate)
{
    const double y = y_of(view, rate);
    fprintf(view->file,
            "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"end\" x=\"%.1f\" "
            "y=\"%.1f\">%g</text>\n",
            LEFT, y, FIGURE_WIDTH - RIGHT, LEFT - 6, y + 4, rate);
}

/* About five rates: 1, 2 or 5 times a power of ten. */
static void draw_rates(const struct view *view)
{
    const double power = pow(10, floor(log10(view->most_y / 5))), steps = view->most_y / 5 / power;
    const double step = power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
    if (!view->is_log)
        for (uint32_t i = 0; i * step <= view->most_y; i++)
            draw_rate(view, i * step);
    for (double rate = pow(10, ceil(log10(view->least_y))); view->is_log && rate <= view->most_y;
         rate *= 10)
        draw_rate(view, rate);
    fprintf(
        view->file,
        "<text class=\"mid\" transform=\"translate(14 %.1f) rotate(-90)\">busbw (GB/s)%s</text>\n",
        (TOP + HEIGHT - BOTTOM) / 2, view->is_log ? ", logarithmic" : "");
}

static void draw_band(const struct view *view, const struct figure_curve *curve, uint32_t colour)
{
    bool has_band = false;
    for (uint32_t i = 0; i < curve->count; i++)
        has_band = has_band || (curve->points[i].low > 0 && curve->points[i].high > 0);
    if (!has_band)
        return;
    fprintf(view->file, "<path class=\"band f%u\" d=\"", colour);
    for (uint32_t i = 0; i < curve->count; i++)
        if (curve->points[i].high > 0)
            fprintf(view->file, "%c%.1f %.1f", i ? 'L' : 'M', x_of(view, curve->points[i].x),
                    y_of(view, curve->points[i].high));
    for (uint32_t i = curve->count; i-- > 0;)
        if (curve->points[i].low > 0)
            fprintf(view->file, "L%.1f %.1f", x_of(view, curve->points[i].x),
                    y_of(view, curve->points[i].low));
    fputs("Z\"/>\n", view->file);
}

/* A name that says by itself how its curve came about. */
static bool is_plain(const char *name)
{
    return strcmp(name, "measured") == 0 || strcmp(name, "expected") == 0 ||
           strcmp(name, "predicted") == 0;
}

static const char *style_text(enum figure_style style)
{
    return style == MEASURED ? "measured" : "predicted";
}

/* What is said of a point: read by the script, and by browsers that show titles. */
static void print_says(const struct view *view, const struct figure_curve *curve,
                       const struct figure_point *point)
{
    ronde_markup_print(view->file, curve->name);
    if (curve->style != BOUND && !is_plain(curve->name))
        fprintf(view->file, " (%s)", style_text(curve->style));
    fprintf(view->file, ": %s GB/s", ronde_cell_rate(point->y).text);
    if (point->time_us > 0)
        fprintf(view->file, ", %s us", ronde_cell_us(1e3 * point->time_us).text);
    if (point->low > 0 && point->high > 0)
        fprintf(view->file, " (%s to %s GB/s)", ronde_cell_rate(point->low).text,
                ronde_cell_rate(point->high).text);
}

static void draw_curve(const struct view *view, const struct figure_curve *curve)
{
    const uint32_t name = curve->style == BOUND ? MOST_NAMES : name_index(view, curve->name);
    draw_band(view, curve, name);
    if (curve->style != MEASURED && curve->count > 1) {
        fprintf(view->file, "<path class=\"line c%u%s\" d=\"", name,
                curve->style == BOUND ? " bound" : "");
        for (uint32_t i = 0; i < curve->count; i++)
            fprintf(view->file, "%c%.1f %.1f", i ? 'L' : 'M', x_of(view, curve->points[i].x),
                    y_of(view, curve->points[i].y));
        fputs("\"/>\n", view->file);
    }
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct figure_point *point = &curve->points[i];
        fprintf(view->file,
                "<circle class=\"%s f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" "
                "data-size=\"%s\"><title>",
                curve->style == MEASURED ? "dot" : "on", name, x_of(view, point->x),
                y_of(view, point->y), curve->style == MEASURED ? "4" : "2",
                ronde_cell_tick((uint64_t)point->x).text);
        print_says(view, curve, point);
        fputs("</title></circle>\n", view->file);
    }
}

/* A line begins at its label, so that it does not cross those that stand higher. */
static void draw_change(const struct view *view, double bytes, const char *name, double *label_y)
{
    const double x = x_of(view, bytes);
    const bool is_right = x > FIGURE_WIDTH - 190;
    if (x < LEFT || x > FIGURE_WIDTH - RIGHT)
        return;
    fprintf(view->file,
            "<path class=\"change\" d=\"M%.1f %.1fV%.1f\"/><text class=\"%s\" x=\"%.1f\" "
            "y=\"%.1f\">from here: ",
            x, *label_y - 12, HEIGHT - BOTTOM, is_right ? "end note" : "note",
            x + (is_right ? -5 : 5), *label_y);
    ronde_markup_print(view->file, name);
    fputs("</text>\n", view->file);
    *label_y = *label_y > TOP + 40 ? TOP + 12 : *label_y + 15;
}

/* Whose winners are shown: measured ones where several algorithms were measured. */
static enum figure_style style_of_changes(const struct view *view)
{
    uint32_t measured = 0;
    for (uint32_t c = 0; c < view->figures->curve_count; c++)
        measured += view->figures->curves[c].panel == view->panel &&
                    view->figures->curves[c].style == MEASURED;
    return measured > 1 ? MEASURED : PREDICTED;
}

/* The next size of a style; INFINITY after the last. */
static double next_size(const struct view *view, enum figure_style style, double last)
{
    double next = INFINITY;
    for (uint32_t c = 0; c < view->figures->curve_count; c++) {
        const struct figure_curve *curve = &view->figures->curves[c];
        for (uint32_t i = 0;
             curve->panel == view->panel && curve->style == style && i < curve->count; i++)
            if (curve->points[i].x > last)
                next = fmin(next, curve->points[i].x);
    }
    return next;
}

/* What a curve comes to at a size; 0 where it has no point. */
static double height_at(const struct figure_curve *curve, double x)
{
    for (uint32_t i = 0; i < curve->count; i++)
        if (curve->points[i].x == x)
            return curve->points[i].y;
    return 0;
}

/* Where another algorithm becomes the fastest, a line says which: as rows say, else between two sizes. */
static void draw_changes(const struct view *view)
{
    const enum figure_style style = style_of_changes(view);
    const struct figure_curve *first = best_at(view, style, view->least_x, &(double){0});
    const struct figure_curve *before = first;
    double last = view->least_x, y = 0, label_y = TOP + 12;
    bool is_told = false;
    for (uint32_t i = 0; i < view->figures->change_count; i++) {
        const struct figure_change *change = &view->figures->changes[i];
        if (change->panel != view->panel)
            continue;
        if (!is_told && first)
            draw_change(view, view->least_x, first->name, &label_y);
        draw_change(view, change->bytes, change->name, &label_y);
        is_told = true;
    }
    for (double next = next_size(view, style, last); !is_told && isfinite(next);
         next = next_size(view, style, last)) {
        const struct figure_curve *best = best_at(view, style, next, &y);
        const bool is_change = before && height_at(before, next) < (1 - ALIKE) * y;
        if (is_change && before == first)
            draw_change(view, view->least_x, first->name, &label_y);
        if (is_change)
            draw_change(view, sqrt(last * next), best->name, &label_y);
        if (is_change || !before)
            before = best;
        last = next;
    }
}

static void draw_key(const struct view *view)
{
    bool has_style[3] = {false}, has_band = false;
    fputs("<ul class=\"key\">", view->file);
    for (uint32_t n = 0; n < view->name_count; n++) {
        fprintf(view->file, "<li><span class=\"b%u\"></span>", n);
        ronde_markup_print(view->file, view->names[n]);
        fputs("</li>", view->file);
    }
    for (uint32_t c = 0; c < view->figures->curve_count; c++) {
        const struct figure_curve *curve = &view->figures->curves[c];
        for (uint32_t i = 0; is_shown(view, curve) && i < curve->count; i++) {
            has_style[curve->style] = has_style[curve->style] || !is_plain(curve->name);
            has_band = has_band || curve->points[i].low > 0;
        }
    }
    if (has_style[MEASURED])
        fputs("<li>&#9679; measured</li>", view->file);
    if (has_style[PREDICTED])
        fputs("<li>&#9473; predicted</li>", view->file);
    if (has_band)
        fputs("<li>shaded: where the model alone may be off</li>", view->file);
    if (has_style[BOUND])
        fputs("<li>&#9476; bound: no schedule can be faster</li>", view->file);
    fputs("</ul>\n", view->file);
    if (view->names_left_out > 0)
        fprintf(view->file,
                "<p class=\"cut\">%u curves that are slower or the same are not drawn; --json has "
                "their times.</p>\n",
                view->names_left_out);
}

static void print_chart(const struct ronde_html_figures *figures, struct view *view)
{
    measure(view);
    fprintf(view->file,
            "<div><svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" tabindex=\"0\" role=\"img\" "
            "aria-label=\"busbw over size\">\n",
            FIGURE_WIDTH, HEIGHT);
    draw_sizes(view);
    draw_rates(view);
    for (int style = BOUND; style >= MEASURED; style--)
        for (uint32_t c = 0; c < figures->curve_count; c++)
            if (is_shown(view, &figures->curves[c]) && (int)figures->curves[c].style == style)
                draw_curve(view, &figures->curves[c]);
    /* Their words stand above the curves. */
    draw_changes(view);
    fputs("<path class=\"cursor\" d=\"\"/></svg>\n<output class=\"readout\" "
          "aria-live=\"polite\"></output></div>\n",
          view->file);
}

/* One size is no curve: its numbers are in the report. */
static bool has_curve(const struct view *view)
{
    const double first = fmin(next_size(view, MEASURED, 0), next_size(view, PREDICTED, 0));
    return isfinite(first) && (isfinite(next_size(view, MEASURED, first)) ||
                               isfinite(next_size(view, PREDICTED, first)));
}

/* The question that a panel answers, as its curves are: the name of what is drawn stands between the two halves. */
static void question_of(const struct view *view, const char **out_before, const char **out_after)
{
    const bool has_measured = isfinite(next_size(view, MEASURED, 0));
    *out_before = "How fast is ";
    *out_after = ", size by size? Higher is faster.";
    if (name_index(view, "expected") != RONDE_NONE) {
        *out_before = "Is this as fast as it should be: ";
        *out_after = "? Points below the shaded band are slower than the model explains.";
    } else if (name_index(view, "predicted") != RONDE_NONE && has_measured) {
        *out_before = "How near to what was measured are predictions of ";
        *out_after = "? Points on the line are as predicted.";
    } else if (view->name_count > 1 && has_measured && isfinite(next_size(view, PREDICTED, 0))) {
        *out_before = "Which is the fastest at which size, and is that as predicted: ";
        *out_after = "? Points are measured, lines predicted; higher is faster.";
    } else if (view->name_count > 1) {
        *out_before = "Which is the fastest at which size: ";
        *out_after = "? Higher is faster.";
    }
}

void ronde_html_panel_print(const struct ronde_html_figures *figures, uint32_t panel, FILE *file)
{
    struct view view = {.figures = figures, .file = file, .panel = panel};
    choose_names(&view);
    if (!has_curve(&view))
        return;
    const char *before = NULL, *after = NULL;
    question_of(&view, &before, &after);
    fprintf(file, "<figure><figcaption><b>%s", before);
    ronde_markup_print(file, figures->panels[panel]);
    fprintf(file,
            "%s</b> Point at it, or focus it and press &#8592; &#8594;, for the numbers."
            "</figcaption>\n",
            after);
    print_chart(figures, &view);
    draw_key(&view);
    if (view.is_wide) {
        view.is_log = true;
        fputs("<details><summary>Small sizes: the same on a logarithmic axis</summary>\n", file);
        print_chart(figures, &view);
        fputs("</details>\n", file);
    }
    fputs("</figure>\n", file);
}
