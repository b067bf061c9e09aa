/* A comparison in short. See brief.h. */
#include "brief.h"

#include "cli/print/results.h"
#include "ronde/score.h"

#include <string.h>

/* Who takes at most so many times as long as the fastest is as fast. */
#define TIED 1.05

/* Characters: the size, an algorithm's time with its mark and error, and between two numbers of ranks. */
#define BYTES_WIDTH 6
#define TIME_WIDTH 8
#define ERROR_WIDTH 6
#define GROUP_GAP 3

uint32_t ronde_brief_ranks(const struct ronde_validation *grid, uint32_t out[RONDE_BRIEF_RANKS])
{
    const uint32_t last = grid->rank_counts - 1;
    uint32_t fitting = 0;
    for (uint32_t r = 0; r <= last; r++)
        if (!ronde_validation_point(grid, r, 0, 0)->is_oversubscribed)
            fitting = r;
    out[0] = fitting < last ? fitting : 0;
    out[1] = last;
    return out[0] < last ? 2 : 1;
}

static void repeat(FILE *file, char character, int count)
{
    for (int i = 0; i < count; i++)
        fputc(character, file);
}

/* Characters of one number of ranks. */
static int group_width(const struct ronde_validation *grid)
{
    return (int)grid->algorithm_count * (TIME_WIDTH + 1 + ERROR_WIDTH);
}

/* The fastest at a size, if no other is as fast. */
static uint32_t winner_of(const struct ronde_validation *grid, uint32_t r, uint32_t s)
{
    uint32_t best = RONDE_NONE, close = 0;
    double best_ns = 0.0;
    for (uint32_t a = 0; a < grid->algorithm_count; a++) {
        const double ns = ronde_validation_point(grid, r, s, a)->time_ns[RONDE_SOURCE_MEASURED];
        if (ns > 0.0 && (best == RONDE_NONE || ns < best_ns)) {
            best = a;
            best_ns = ns;
        }
    }
    for (uint32_t a = 0; a < grid->algorithm_count; a++) {
        const double ns = ronde_validation_point(grid, r, s, a)->time_ns[RONDE_SOURCE_MEASURED];
        close += ns > 0.0 && ns <= TIED * best_ns;
    }
    return close == 1 ? best : RONDE_NONE;
}

/* What is worse than ten times off is only that. */
static struct ronde_cell error_cell(const struct ronde_grid_point *point, enum ronde_source source)
{
    struct ronde_cell cell;
    const double measured_ns = point->time_ns[RONDE_SOURCE_MEASURED];
    const double percent = 100.0 * (point->time_ns[source] / measured_ns - 1.0);
    if (measured_ns <= 0.0)
        return (struct ronde_cell){"-"};
    if (percent > 999.0)
        return (struct ronde_cell){">999%"};
    snprintf(cell.text, sizeof cell.text, "%+.0f%%", percent);
    return cell;
}

static void print_group_row(const struct ronde_validation *grid, uint32_t r, uint32_t s,
                            const struct ronde_screen *screen)
{
    const uint32_t winner = winner_of(grid, r, s);
    for (uint32_t a = 0; a < grid->algorithm_count; a++) {
        const struct ronde_grid_point *point = ronde_validation_point(grid, r, s, a);
        const double ns = point->time_ns[RONDE_SOURCE_MEASURED];
        if (a == winner)
            ronde_screen_bold(screen, true);
        fprintf(screen->file, "%*s%c", TIME_WIDTH, ns > 0.0 ? ronde_cell_us(ns).text : "-",
                a == winner ? '*' : ' ');
        if (a == winner)
            ronde_screen_bold(screen, false);
        fprintf(screen->file, "%*s", ERROR_WIDTH,
                error_cell(point, ronde_validation_replay(grid)).text);
    }
}

/* Between two groups. */
static void print_gap(const struct ronde_screen *screen, uint32_t group)
{
    if (group > 0)
        fprintf(screen->file, "%*s", GROUP_GAP, "| ");
}

static void print_group_title(const struct ronde_validation *grid, uint32_t r,
                              const struct ronde_screen *screen)
{
    char text[96];
    const int width = group_width(grid);
    snprintf(text, sizeof text, " %u ranks%s ", grid->ranks[r],
             ronde_validation_point(grid, r, 0, 0)->is_oversubscribed
                 ? ", more than cores: they take turns"
                 : "");
    const int left = (width - (int)strlen(text)) / 2;
    fputs("  ", screen->file);
    repeat(screen->file, '-', left - 2);
    fputs(text, screen->file);
    repeat(screen->file, '-', width - left - (int)strlen(text));
}

/* Some numbers of ranks beside each other. */
static void print_groups(const struct ronde_validation *grid, const uint32_t *rank_indices,
                         uint32_t count, const struct ronde_screen *screen)
{
    /* Numbers of ranks, names over time and error, units. */
    for (int line = 0; line < 3; line++) {
        fprintf(screen->file, "%*s", BYTES_WIDTH, line == 1 ? "bytes" : "");
        for (uint32_t i = 0; i < count; i++) {
            print_gap(screen, i);
            if (line == 0)
                print_group_title(grid, rank_indices[i], screen);
            for (uint32_t a = 0; line > 0 && a < grid->algorithm_count; a++)
                if (line == 1)
                    fprintf(screen->file, "%*s", TIME_WIDTH + 1 + ERROR_WIDTH, grid->algorithms[a]);
                else
                    fprintf(screen->file, "%*s %*s", TIME_WIDTH, "us", ERROR_WIDTH, "off");
        }
        fputc('\n', screen->file);
    }
    for (uint32_t s = 0; s < grid->size_count; s++) {
        const uint64_t bytes = ronde_validation_point(grid, rank_indices[0], s, 0)->bytes;
        fprintf(screen->file, "%*s", BYTES_WIDTH, ronde_cell_size(bytes).text);
        for (uint32_t i = 0; i < count; i++) {
            print_gap(screen, i);
            print_group_row(grid, rank_indices[i], s, screen);
        }
        fputc('\n', screen->file);
    }
}

void ronde_brief_times(const struct ronde_validation *grid, const uint32_t *rank_indices,
                       uint32_t count, const struct ronde_screen *screen)
{
    char text[256];
    const int width = BYTES_WIDTH + 2 * group_width(grid) + GROUP_GAP;
    const uint32_t co_run = width <= (int)screen->columns ? 2 : 1;
    for (uint32_t i = 0; i < count; i += co_run)
        print_groups(grid, rank_indices + i, i + co_run <= count ? co_run : 1, screen);
    snprintf(
        text, sizeof text,
        "us: measured, the median; off: what the replay (%s) says, relative to that; *: faster "
        "than the others by more than 5 %%",
        ronde_source_text(ronde_validation_replay(grid)));
    ronde_screen_wrap(screen, 2, text);
}

/* A row: who is overtaken by whom, where. */
static void print_crossover(const struct ronde_validation *grid, uint32_t r, const uint32_t pair[2],
                            const struct ronde_crossover *where,
                            const struct ronde_crossing *crossing, const struct ronde_screen *screen)
{
    const char *above = grid->algorithms[pair[where->first_wins_above ? 0 : 1]];
    const char *below = grid->algorithms[pair[where->first_wins_above ? 1 : 0]];
    char between[2 * RONDE_CELL_BYTES + 8], off[RONDE_CELL_BYTES] = "-";
    snprintf(between, sizeof between, "%s to %s", ronde_cell_size(where->below_bytes).text,
             ronde_cell_size(where->above_bytes).text);
    if (crossing->factor > 0.0)
        snprintf(off, sizeof off, "x%.*f", crossing->factor < 9.95 ? 2 : 0, crossing->factor);
    fprintf(screen->file, "%7u  %-12.12s  %-12.12s  %9s  %-13s  %9s  %6s\n", grid->ranks[r], below,
            above, ronde_cell_about(crossing->measured_bytes).text, between,
            crossing->factor > 0.0 ? ronde_cell_about(crossing->predicted_bytes).text : "none", off);
}

/* Of one pair at one number of ranks; returns how many there are, of which `left` are printed. */
static uint32_t print_pair(const struct ronde_validation *grid, uint32_t r, const uint32_t pair[2],
                           uint32_t left, const struct ronde_screen *screen)
{
    struct ronde_duel_buffers measured_buffers, predicted_buffers;
    struct ronde_crossover found[RONDE_MAX_SIZES];
    const struct ronde_duel measured =
        ronde_validation_duel(grid, RONDE_SOURCE_MEASURED, r, pair, &measured_buffers);
    const struct ronde_duel predicted =
        ronde_validation_duel(grid, ronde_validation_replay(grid), r, pair, &predicted_buffers);
    const size_t count = ronde_duel_crossovers(&measured, found, RONDE_MAX_SIZES);
    for (size_t i = 0; i < count && i < left; i++) {
        const struct ronde_crossing crossing = ronde_duel_crossing(&measured, &found[i], &predicted);
        print_crossover(grid, r, pair, &found[i], &crossing, screen);
    }
    return (uint32_t)count;
}

void ronde_brief_crossovers(const struct ronde_validation *grid, uint32_t most,
                            const struct ronde_screen *screen)
{
    uint32_t count = 0;
    fprintf(screen->file, "%7s  %-12s  %-12s  %9s  %-13s  %9s  %6s\n", "ranks", "faster below",
            "faster above", "measured", "between sizes", "simulated", "off by");
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t a = 0; a < grid->algorithm_count; a++)
            for (uint32_t b = a + 1; b < grid->algorithm_count; b++)
                count += print_pair(grid, r, (const uint32_t[]){a, b},
                                    count < most ? most - count : 0, screen);
    if (count == 0)
        fprintf(screen->file, "%7s  none: whoever is faster is so at every size\n", "-");
    if (count > most)
        fprintf(screen->file, "%7s  and %u more\n", "-", count - most);
}

/* How far off, with a core for every rank and without. */
static void print_errors(const struct ronde_validation *grid, double *scratch,
                         const struct ronde_screen *screen)
{
    static const enum ronde_subset subsets[2] = {RONDE_SUBSET_FITTING, RONDE_SUBSET_OVERSUBSCRIBED};
    static const char *const words[2] = {"with a core for every rank",
                                         "with more ranks than cores"};
    char text[512];
    int at =
        snprintf(text, sizeof text,
                 "The replay (%s) knows messages between two ranks and no collective; it is off",
                 ronde_source_text(ronde_validation_replay(grid)));
    const char *before = "";
    for (int i = 0; i < 2 && at > 0 && (size_t)at < sizeof text; i++) {
        const struct ronde_errors errors =
            ronde_validation_errors(grid, ronde_validation_replay(grid), subsets[i], scratch);
        if (errors.count == 0)
            continue;
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%s by %.0f %% in the median and %.0f %% at worst %s (%zu points)", before,
                       100.0 * errors.median, 100.0 * errors.worst, words[i], errors.count);
        before = ",";
    }
    if (at > 0 && (size_t)at < sizeof text)
        snprintf(text + at, sizeof text - (size_t)at, ".");
    ronde_screen_wrap(screen, 2, text);
}

static void print_winners(const struct ronde_validation *grid, const struct ronde_screen *screen)
{
    const struct ronde_score score = ronde_score_all(grid, ronde_validation_replay(grid));
    char text[256];
    snprintf(text, sizeof text,
             "Where two algorithms differ by more than noise it names the faster one at %zu of %zu "
             "points, and %zu of %zu crossovers within a factor of %.1f.",
             score.winners.agreed, score.winners.decided, score.close, score.crossings,
             RONDE_CLOSE_FACTOR);
    ronde_screen_wrap(screen, 2, text);
}

/* A busy machine comes first: nothing else matters then. */
static void print_caution(const struct ronde_validation *grid, uint32_t cores, uint32_t unsure,
                          const struct ronde_screen *screen)
{
    const size_t total = ronde_validation_size(grid);
    bool is_busy;
    const size_t disturbed = ronde_disturbed_points(grid, &is_busy);
    char text[384];
    if (unsure > 0 || is_busy)
        snprintf(text, sizeof text,
                 "Others used the machine meanwhile: %zu of %zu points were disturbed, and %u "
                 "constants varied by more than their value, so times are too long here and there. "
                 "ronde demo --again measures once more, and longer.",
                 disturbed, total, unsure);
    else
        snprintf(
            text, sizeof text,
            "Trust winners more than times, and neither for other machines: this one has %u "
            "core%s, and ranks that take turns say nothing about a machine with a core for each "
            "(%zu of %zu points were disturbed).",
            cores, cores == 1 ? "" : "s", disturbed, total);
    ronde_screen_wrap(screen, 2, text);
}

enum ronde_status ronde_brief_trust(const struct ronde_validation *grid, uint32_t cores,
                                    uint32_t unsure, const struct ronde_screen *screen,
                                    struct ronde_error *error)
{
    const size_t total = ronde_validation_size(grid);
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    print_errors(grid, scratch, screen);
    print_winners(grid, screen);
    print_caution(grid, cores, unsure, screen);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    return RONDE_OK;
}
