/*
 * Curves over the size, and bars of parts, from the rows of any command. What a row is drawn as its keys say; nothing is
 * asked twice of a command that its rows already tell.
 */
#include "figures.h"

#include "cli/draw/svg.h"
#include "cli/print/printer.h"

#include "ronde/mem.h"
#include "ronde/schedules.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <string.h>

struct ronde_html_figures *ronde_html_figures_open(void)
{
    return ronde_mem_new(ronde_mem_default(), 1, sizeof(struct ronde_html_figures));
}

void ronde_html_figures_close(struct ronde_html_figures *figures)
{
    for (uint32_t c = 0; figures && c < figures->curve_count; c++)
        ronde_mem_free(ronde_mem_default(), figures->curves[c].points, MOST_POINTS,
                       sizeof(struct figure_point));
    ronde_mem_free(ronde_mem_default(), figures, 1, sizeof *figures);
}

/* A panel by its title; RONDE_NONE where there is no room. */
static uint32_t panel_of(struct ronde_html_figures *figures, const char *title)
{
    uint32_t p = 0;
    while (p < figures->panel_count && strcmp(figures->panels[p], title) != 0)
        p++;
    if (p < figures->panel_count)
        return p;
    if (p == MOST_PANELS) {
        figures->points_left_out++;
        return RONDE_NONE;
    }
    snprintf(figures->panels[p], FIGURE_NAME_BYTES, "%s", title);
    return figures->panel_count++;
}

static struct figure_curve *curve_of(struct ronde_html_figures *figures, uint32_t panel,
                                     const char *name, enum figure_style style)
{
    for (uint32_t c = 0; c < figures->curve_count; c++) {
        struct figure_curve *curve = &figures->curves[c];
        if (curve->panel == panel && curve->style == style && strcmp(curve->name, name) == 0)
            return curve;
    }
    if (figures->curve_count == MOST_CURVES)
        return NULL;
    struct figure_point *points = ronde_mem_new(ronde_mem_default(), MOST_POINTS, sizeof *points);
    if (!points)
        return NULL;
    struct figure_curve *curve = &figures->curves[figures->curve_count++];
    *curve = (struct figure_curve){.style = style, .panel = panel, .points = points};
    snprintf(curve->name, sizeof curve->name, "%s", name);
    return curve;
}

/* Sorted by size; rows come in that order as a rule. */
static void add_point(struct ronde_html_figures *figures, uint32_t panel, const char *name,
                      enum figure_style style, struct figure_point point)
{
    if (panel == RONDE_NONE || !(point.y > 0) || !isfinite(point.y) || !(point.x > 0))
        return;
    struct figure_curve *curve = curve_of(figures, panel, name, style);
    if (!curve || curve->count == MOST_POINTS) {
        figures->points_left_out++;
        return;
    }
    /* Of several engines the first, which knows most of the machine, is drawn: the others are data. */
    for (uint32_t i = 0; style == PREDICTED && i < curve->count; i++)
        if (curve->points[i].x == point.x)
            return;
    uint32_t at = curve->count++;
    for (; at > 0 && curve->points[at - 1].x > point.x; at--)
        curve->points[at] = curve->points[at - 1];
    curve->points[at] = point;
}

/* "all_reduce, 64 ranks on 8 nodes, Tree by LL": rows that may be compared. */
static void title_of(const struct ronde_row *row, char title[FIGURE_NAME_BYTES])
{
    const double ranks = ronde_row_number(row, "ranks"), nodes = ronde_row_number(row, "nodes");
    const char *algorithm = ronde_row_text(row, "forced_algorithm");
    const char *protocol = ronde_row_text(row, "forced_protocol");
    const char *group = ronde_row_text(row, "group");
    char of[64] = "", on[32] = "";
    /* What NCCL chose by itself needs no words. */
    algorithm = strcmp(algorithm, "auto") == 0 ? "" : algorithm;
    protocol = strcmp(protocol, "auto") == 0 ? "" : protocol;
    if (ranks > 0)
        snprintf(of, sizeof of, ", %.0f ranks", ranks);
    else if (group[0])
        snprintf(of, sizeof of, ", ranks %.40s", group);
    if (nodes > 1)
        snprintf(on, sizeof on, " on %.0f nodes", nodes);
    snprintf(title, FIGURE_NAME_BYTES, "%.24s%.40s%.20s%s%.20s%s%.20s",
             ronde_row_text(row, "collective"), of, on, algorithm[0] || protocol[0] ? ", " : "",
             algorithm, protocol[0] ? " " : "", protocol);
}

static enum figure_style style_of(const struct ronde_row *row)
{
    static const char *const predicted[] = {"plan", "simulated", "modelled"};
    const char *kind = ronde_row_text(row, "kind"), *source = ronde_row_text(row, "source");
    for (size_t i = 0; i < sizeof predicted / sizeof predicted[0]; i++)
        if (strcmp(kind, predicted[i]) == 0 || strcmp(source, predicted[i]) == 0)
            return PREDICTED;
    return MEASURED;
}

/* A time under a key of any unit, us. */
static double time_of(const struct ronde_row *row)
{
    const double ns = ronde_row_number(row, "time_ns"), us = ronde_row_number(row, "time_us");
    const double measured_us = ronde_row_number(row, "measured_us");
    return isfinite(ns) ? ns / 1e3 : isfinite(us) ? us : measured_us;
}

/*
 * The other candidates of a plan, at the same factor between rate and bus bandwidth. Schedules that were made for the machine are
 * one curve: only of the fastest is the time known, of others a bound.
 */
static void add_candidates(struct ronde_html_figures *figures, uint32_t panel,
                           const struct ronde_row *row, double busbw_times_us)
{
    const struct ronde_field *all = ronde_row_field(row, "candidates");
    const char *chosen = ronde_algorithm_family(ronde_row_text(row, "algorithm"));
    if (!all || all->kind != RONDE_FIELD_ROWS)
        return;
    for (size_t i = 0; i < all->count; i++) {
        const char *name = ronde_algorithm_family(ronde_row_text(&all->rows[i], "algorithm"));
        double least_us = time_of(&all->rows[i]);
        bool is_first = strcmp(name, chosen) != 0;
        for (size_t k = 0; k < all->count; k++)
            if (strcmp(ronde_algorithm_family(ronde_row_text(&all->rows[k], "algorithm")), name) ==
                0) {
                is_first = is_first && k >= i;
                least_us = fmin(least_us, time_of(&all->rows[k]));
            }
        if (is_first && least_us > 0)
            add_point(figures, panel, name, PREDICTED,
                      (struct figure_point){ronde_row_number(row, "bytes"),
                                            busbw_times_us / least_us, NAN, NAN, least_us});
    }
}

/* What is expected of the row: a model's prediction, with the band where it may lie. */
static void add_expected(struct ronde_html_figures *figures, uint32_t panel,
                         const struct ronde_row *row, double bytes)
{
    const double us = ronde_row_number(row, "expected_us");
    const double GB_us = ronde_row_number(row, "busbw_GBps") * time_of(row);
    const double expected = ronde_row_number(row, "expected_busbw_GBps");
    if (!(expected > 0) && us > 0)
        add_point(figures, panel, "expected", PREDICTED,
                  (struct figure_point){bytes, GB_us / us,
                                        GB_us / ronde_row_number(row, "expected_high_us"),
                                        GB_us / ronde_row_number(row, "expected_low_us"), us});
    const double predicted = ronde_row_number(row, "predicted_busbw_GBps");
    const double predicted_us = ronde_row_number(row, "predicted_us");
    add_point(figures, panel, "expected", PREDICTED,
              (struct figure_point){bytes, expected, ronde_row_number(row, "expected_low_busbw_GBps"),
                                    ronde_row_number(row, "expected_high_busbw_GBps"), us});
    add_point(figures, panel, "predicted", PREDICTED,
              (struct figure_point){bytes, predicted,
                                    predicted * predicted_us / ronde_row_number(row, "high_us"),
                                    predicted * predicted_us / ronde_row_number(row, "low_us"),
                                    predicted_us});
}

/* busbw, also of a row that has a time alone. */
static double rate_of(const struct ronde_row *row, double bytes, double us)
{
    const double busbw = ronde_row_number(row, "busbw_GBps"),
                 ranks = ronde_row_number(row, "ranks");
    struct ronde_error ignored = {0};
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    if (isfinite(busbw) || !(ranks > 0) ||
        ronde_parse_collective(ronde_row_text(row, "collective"), &collective, &ignored) != RONDE_OK)
        return busbw;
    return bytes / us / 1e3 * ronde_collective_bus_factor(collective, (uint32_t)ranks);
}

static void add_curves(struct ronde_html_figures *figures, const struct ronde_row *row)
{
    const double bytes = ronde_row_number(row, "bytes"), us = time_of(row);
    const double busbw = rate_of(row, bytes, us), share = ronde_row_number(row, "bound_share");
    const double nccl_us = ronde_row_number(row, "nccl_time_us");
    const enum figure_style style = style_of(row);
    const bool is_beside = ronde_row_field(row, "predicted_busbw_GBps") ||
                           ronde_row_field(row, "expected_busbw_GBps") ||
                           ronde_row_field(row, "expected_us");
    const char *algorithm = ronde_row_text(row, "algorithm");
    /* The band is of what is predicted. */
    const double low_us = is_beside ? NAN : ronde_row_number(row, "low_us");
    const double high_us = is_beside ? NAN : ronde_row_number(row, "high_us");
    char title[FIGURE_NAME_BYTES];
    if (!(bytes > 0) || !ronde_row_field(row, "collective"))
        return;
    title_of(row, title);
    const uint32_t panel = panel_of(figures, title);
    add_point(figures, panel,
              nccl_us > 0                  ? "the fastest it could choose"
              : is_beside || !algorithm[0] ? "measured"
                                           : ronde_algorithm_family(algorithm),
              style,
              (struct figure_point){bytes, busbw, busbw * us / high_us, busbw * us / low_us, us});
    if (nccl_us > 0)
        add_point(figures, panel, "NCCL's own choice", style,
                  (struct figure_point){bytes, busbw * us / nccl_us,
                                        busbw * us / ronde_row_number(row, "nccl_high_us"),
                                        busbw * us / ronde_row_number(row, "nccl_low_us"), nccl_us});
    if (share > 0)
        add_point(figures, panel, "bound", BOUND,
                  (struct figure_point){bytes, busbw / share, NAN, NAN, us * share});
    add_candidates(figures, panel, row, busbw * us);
    add_expected(figures, panel, row, bytes);
}

/* "waiting_us" is the part "waiting". */
static uint32_t part_of(struct ronde_html_figures *figures, const char *key)
{
    char name[FIGURE_NAME_BYTES];
    uint32_t p = 0;
    snprintf(name, sizeof name, "%s", key);
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, "_us") == 0)
        name[length - 3] = '\0';
    while (p < figures->part_count && strcmp(figures->parts[p], name) != 0)
        p++;
    if (p == figures->part_count && p < MOST_PARTS)
        snprintf(figures->parts[figures->part_count++], sizeof name, "%s", name);
    return p;
}

static void add_bar(struct ronde_html_figures *figures, const struct ronde_row *row)
{
    if (figures->bar_count == MOST_BARS) {
        figures->bars_left_out++;
        return;
    }
    struct figure_bar *bar = &figures->bars[figures->bar_count++];
    snprintf(bar->label, sizeof bar->label, "%s", ronde_row_text(row, "label"));
    snprintf(figures->bars_title, FIGURE_NAME_BYTES, "%s", ronde_row_text(row, "question"));
    for (size_t i = 0; i < row->count; i++)
        if (row->fields[i].kind == RONDE_FIELD_REAL) {
            const uint32_t part = part_of(figures, row->fields[i].name);
            const double value = row->fields[i].real;
            if (part < MOST_PARTS && isfinite(value) && value > 0)
                bar->parts[part] = value;
        }
}

/* A plan finds changes more exactly than its sizes lie; they are of the rows before. */
static void add_change(struct ronde_html_figures *figures, const struct ronde_row *row)
{
    if (figures->change_count == MOST_CHANGES || figures->panel_count == 0)
        return;
    struct figure_change *change = &figures->changes[figures->change_count++];
    change->panel = figures->panel_count - 1;
    change->bytes = ronde_row_number(row, "bytes");
    snprintf(change->name, sizeof change->name, "%s", ronde_row_text(row, "above"));
}

void ronde_html_figures_add(struct ronde_html_figures *figures, const struct ronde_row *row)
{
    if (strcmp(ronde_row_text(row, "kind"), "bar") == 0)
        add_bar(figures, row);
    else if (strcmp(ronde_row_text(row, "kind"), "change") == 0)
        add_change(figures, row);
    else
        add_curves(figures, row);
}
/* ---- Bars --------------------------------------------------------------------------------------------------------- */

#define BAR_LEFT 290.0
#define BAR_HEIGHT 26.0

static double length_of(const struct figure_bar *bar)
{
    double length = 0;
    for (uint32_t p = 0; p < MOST_PARTS; p++)
        length += bar->parts[p];
    return length;
}

/* Colours are those of the timeline, where computing is grey. */
static uint32_t colour_of(const struct ronde_html_figures *figures, uint32_t part)
{
    const bool is_step = strcmp(figures->parts[0], "compute") == 0;
    return !is_step ? part : part == 0 ? MOST_PARTS - 1 : part - 1;
}

static void print_bar(const struct ronde_html_figures *figures, uint32_t index, double us_a_pixel,
                      FILE *file)
{
    const struct figure_bar *bar = &figures->bars[index];
    const double y = 4 + BAR_HEIGHT * index;
    double x = BAR_LEFT;
    fprintf(file, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">", BAR_LEFT - 8, y + 15);
    ronde_markup_print(file, bar->label);
    fputs("</text>\n", file);
    for (uint32_t p = 0; p < figures->part_count; p++) {
        const double width = bar->parts[p] / us_a_pixel;
        if (bar->parts[p] <= 0)
            continue;
        fprintf(file,
                "<rect class=\"f%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"20\"><title>",
                colour_of(figures, p), x, y, width);
        ronde_markup_print(file, figures->parts[p]);
        fprintf(file, ": %s us</title></rect>\n", ronde_cell_us(1e3 * bar->parts[p]).text);
        x += width;
    }
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\">%s us</text>\n", x + 6, y + 15,
            ronde_cell_us(1e3 * length_of(bar)).text);
}

static bool occurs(const struct ronde_html_figures *figures, uint32_t part)
{
    for (uint32_t b = 0; b < figures->bar_count; b++)
        if (figures->bars[b].parts[part] > 0)
            return true;
    return false;
}

static void print_bars(const struct ronde_html_figures *figures, FILE *file)
{
    double longest = 0;
    for (uint32_t b = 0; b < figures->bar_count; b++)
        longest = fmax(longest, length_of(&figures->bars[b]));
    if (!(longest > 0))
        return;
    fputs("<figure><figcaption><b>", file);
    ronde_markup_print(file, figures->bars_title);
    fputs("</b></figcaption>\n", file);
    fprintf(file,
            "<svg class=\"bars\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"bars\">\n",
            FIGURE_WIDTH, 8 + BAR_HEIGHT * figures->bar_count);
    for (uint32_t b = 0; b < figures->bar_count; b++)
        print_bar(figures, b, longest / (FIGURE_WIDTH - BAR_LEFT - 96), file);
    fputs("</svg>\n<ul class=\"key\">", file);
    for (uint32_t p = 0; p < figures->part_count; p++) {
        if (!occurs(figures, p))
            continue;
        fprintf(file, "<li><span class=\"b%u\"></span>", colour_of(figures, p));
        ronde_markup_print(file, figures->parts[p]);
        fputs("</li>", file);
    }
    fputs("</ul>\n", file);
    if (figures->bars_left_out > 0)
        fprintf(file, "<p class=\"cut\">%u more are in the data.</p>\n", figures->bars_left_out);
    fputs("</figure>\n", file);
}

void ronde_html_figures_print(const struct ronde_html_figures *figures, FILE *file)
{
    print_bars(figures, file);
    for (uint32_t p = 0; p < figures->panel_count; p++)
        ronde_html_panel_print(figures, p, file);
    if (figures->points_left_out > 0)
        fprintf(file, "<p class=\"cut\">%u more points are in the data.</p>\n",
                figures->points_left_out);
}