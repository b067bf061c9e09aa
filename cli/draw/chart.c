/* Letters on a grid of characters. See brief.h. */
#include "brief.h"

#include "cli/options/options.h"
#include "cli/print/printer.h"
#include "ronde/relative.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Lines of a panel between its axes, and characters of a size and of the labels at the left. */
#define ROWS 13u
#define CELL 3u
#define LABEL 6u
/* And between two panels. */
#define GAP 3u

/* Relative times further off are drawn at the edge; less of a difference is not drawn larger than this. */
#define FAR 8.0
#define NEAR 1.5
#define SHOWN_PERCENT 90.0

/* One panel: what stands where, and whose it is. */
struct panel {
    char text[ROWS][RONDE_MAX_SIZES * CELL];
    uint32_t owner[ROWS][RONDE_MAX_SIZES * CELL];
};

/* A picture under way. */
struct chart {
    const struct ronde_validation *grid;
    const struct ronde_screen *screen;
    uint32_t base;
    uint32_t width; /* characters of a panel without its labels */
    double range;   /* of relative times: from 1 / range to range */
    char letters[RONDE_MAX_NAMES];
};

/* The first letter of a name that no other algorithm has, else a digit. */
static void choose_letters(struct chart *chart)
{
    for (uint32_t a = 0; a < chart->grid->algorithm_count && a < RONDE_MAX_NAMES; a++) {
        chart->letters[a] = (char)('0' + a % 10);
        for (const char *at = chart->grid->algorithms[a]; *at; at++) {
            const char letter = (char)toupper((unsigned char)*at);
            if (!isalpha((unsigned char)*at) || memchr(chart->letters, letter, a))
                continue;
            chart->letters[a] = letter;
            break;
        }
    }
}

/*
 * The same range for all panels, so that they can be compared: nine of ten points are in it. A few that are far off, as on
 * a busy machine, would flatten all others.
 */
static enum ronde_status find_range(struct chart *chart, const uint32_t *rank_indices,
                                    uint32_t count, struct ronde_error *error)
{
    const struct ronde_validation *grid = chart->grid;
    const size_t room = 2 * ronde_validation_size(grid);
    const enum ronde_source sources[2] = {RONDE_SOURCE_MEASURED, ronde_validation_replay(grid)};
    double *factors = ronde_mem_new(ronde_mem_default(), room, sizeof *factors);
    size_t found = 0;
    if (!factors)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a picture of %zu times", room);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t s = 0; s < grid->size_count; s++)
            for (uint32_t a = 0; a < 2 * grid->algorithm_count; a++) {
                const double relative =
                    ronde_relative_time(grid, sources[a % 2], rank_indices[i], s, a / 2);
                if (relative > 0.0 && a / 2 != chart->base)
                    factors[found++] = fmax(relative, 1.0 / relative);
            }
    (void)ronde_stats_of(factors, found);
    chart->range = fmin(FAR, fmax(NEAR, ronde_percentile(factors, found, SHOWN_PERCENT)));
    ronde_mem_free(ronde_mem_default(), factors, room, sizeof *factors);
    return RONDE_OK;
}

/* The line of a relative time: slower is higher. */
static uint32_t row_of(const struct chart *chart, double relative)
{
    const double share = 0.5 - 0.5 * log(relative) / log(chart->range);
    const double row = round(share * (ROWS - 1));
    return row < 0.0 ? 0 : row > ROWS - 1 ? ROWS - 1 : (uint32_t)row;
}

/* Beside what stands there already; what finds no room lies exactly under others. */
static void put(struct panel *panel, uint32_t row, uint32_t size, char letter, uint32_t owner)
{
    static const uint32_t order[CELL] = {1, 2, 0};
    for (uint32_t i = 0; i < CELL; i++) {
        const uint32_t column = size * CELL + order[i];
        if (panel->owner[row][column] != RONDE_NONE)
            continue;
        panel->text[row][column] = letter;
        panel->owner[row][column] = owner;
        return;
    }
}

/* What was measured first, as it has the better place. */
static void fill_panel(const struct chart *chart, uint32_t rank_index, struct panel *panel)
{
    const struct ronde_validation *grid = chart->grid;
    const enum ronde_source sources[2] = {RONDE_SOURCE_MEASURED, ronde_validation_replay(grid)};
    memset(panel->text, ' ', sizeof panel->text);
    memset(panel->text[ROWS / 2], '-', sizeof panel->text[ROWS / 2]);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t column = 0; column < sizeof panel->text[row]; column++)
            panel->owner[row][column] = RONDE_NONE;
    for (uint32_t source = 0; source < 2; source++)
        for (uint32_t s = 0; s < grid->size_count; s++)
            for (uint32_t a = 0; a < grid->algorithm_count && a < RONDE_MAX_NAMES; a++) {
                const double relative = ronde_relative_time(grid, sources[source], rank_index, s, a);
                const char letter = chart->letters[a];
                if (a != chart->base && relative > 0.0)
                    put(panel, row_of(chart, relative), s,
                        source == 0 ? letter : (char)tolower((unsigned char)letter), a);
            }
}

/* A line of a panel behind its label; nothing follows the last panel's. */
static void print_row(const struct chart *chart, const struct panel *panel, uint32_t row,
                      bool is_last)
{
    uint32_t width = chart->width;
    while (is_last && width > 0 && panel->text[row][width - 1] == ' ')
        width--;
    const double relative = pow(chart->range, 1.0 - 2.0 * row / (ROWS - 1));
    FILE *file = chart->screen->file;
    if (row % 2 == ROWS / 2 % 2)
        fprintf(file, "%4.*fx ", relative < 9.95 ? 2 : 1, relative);
    else if (width > 0)
        fprintf(file, "%*s", (int)LABEL, "");
    for (uint32_t column = 0; column < width; column++) {
        if (panel->owner[row][column] == RONDE_NONE) {
            fputc(panel->text[row][column], file);
            continue;
        }
        ronde_screen_colour(chart->screen, panel->owner[row][column]);
        fputc(panel->text[row][column], file);
        ronde_screen_colour(chart->screen, RONDE_NONE);
    }
}

/* Every second size has a label: they are as wide as two. */
static void print_sizes(const struct chart *chart, uint32_t rank_index)
{
    fprintf(chart->screen->file, "%*s", (int)LABEL, "");
    for (uint32_t s = 0; s < chart->grid->size_count; s++) {
        const uint64_t bytes = ronde_validation_point(chart->grid, rank_index, s, 0)->bytes;
        if (s % 2 == 0)
            fprintf(chart->screen->file, " %-*s",
                    (int)(s + 1 < chart->grid->size_count ? 2 * CELL - 1 : CELL - 1),
                    ronde_cell_size(bytes).text);
    }
}

static void print_title(const struct chart *chart, uint32_t rank_index, bool is_last)
{
    char text[96];
    snprintf(text, sizeof text, "%u ranks%s", chart->grid->ranks[rank_index],
             ronde_validation_point(chart->grid, rank_index, 0, 0)->is_oversubscribed
                 ? ", taking turns"
                 : "");
    fprintf(chart->screen->file, "%*s%-*s", (int)LABEL, "", is_last ? 0 : (int)chart->width, text);
}

/* What the letters mean. */
static void print_legend(const struct chart *chart)
{
    const struct ronde_validation *grid = chart->grid;
    char text[512];
    int at = snprintf(text, sizeof text, "time over that of %s (the line at 1), slower above;",
                      grid->algorithms[chart->base]);
    for (uint32_t a = 0; a < grid->algorithm_count && a < RONDE_MAX_NAMES; a++)
        if (a != chart->base && at > 0 && (size_t)at < sizeof text)
            at += snprintf(text + at, sizeof text - (size_t)at, " %c %s,", chart->letters[a],
                           grid->algorithms[a]);
    if (at > 0 && (size_t)at < sizeof text)
        snprintf(text + at, sizeof text - (size_t)at, " capital: measured, small: simulated (%s)",
                 ronde_source_text(ronde_validation_replay(grid)));
    ronde_screen_wrap(chart->screen, 2, text);
}

static void print_gap(const struct chart *chart, uint32_t panel)
{
    if (panel > 0)
        fprintf(chart->screen->file, "%*s", (int)GAP, "");
}

/* Panels side by side, line by line. */
static void print_panels(const struct chart *chart, const uint32_t *rank_indices, uint32_t count)
{
    FILE *file = chart->screen->file;
    struct panel panels[2];
    for (uint32_t i = 0; i < count; i++)
        fill_panel(chart, rank_indices[i], &panels[i]);
    for (uint32_t i = 0; i < count; i++) {
        print_gap(chart, i);
        print_title(chart, rank_indices[i], i + 1 == count);
    }
    fputc('\n', file);
    for (uint32_t row = 0; row < ROWS; row++) {
        for (uint32_t i = 0; i < count; i++) {
            print_gap(chart, i);
            print_row(chart, &panels[i], row, i + 1 == count);
        }
        fputc('\n', file);
    }
    for (uint32_t i = 0; i < count; i++) {
        print_gap(chart, i);
        print_sizes(chart, rank_indices[i]);
    }
    fputc('\n', file);
}

enum ronde_status ronde_chart_print(const struct ronde_validation *grid,
                                    const uint32_t *rank_indices, uint32_t count,
                                    const struct ronde_screen *screen, struct ronde_error *error)
{
    struct chart chart = {.grid = grid,
                          .screen = screen,
                          .base = ronde_relative_base(grid),
                          .width = grid->size_count * CELL};
    const bool is_wide = 2 * (LABEL + chart.width) + GAP <= screen->columns;
    choose_letters(&chart);
    RONDE_TRY(find_range(&chart, rank_indices, count, error));
    print_legend(&chart);
    for (uint32_t i = 0; i < count; i += is_wide ? 2 : 1)
        print_panels(&chart, rank_indices + i, is_wide && i + 1 < count ? 2 : 1);
    return RONDE_OK;
}
