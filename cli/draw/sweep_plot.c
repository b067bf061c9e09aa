/* The pictures of a sweep, as gnuplot scripts. */
#include "cli/print/printer.h"
#include "gnuplot.h"

#include "ronde/synthesize.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More columns than that nobody can read; the rest is in the records. */
#define MAX_COLUMNS 6u

/* Which rank count a column shows: evenly spread, first and last included. */
static uint32_t column_ranks(const struct ronde_sweep *sweep, uint32_t column, uint32_t columns)
{
    return columns < 2 ? 0 : column * (sweep->options.rank_counts - 1) / (columns - 1);
}

/* One panel: a curve per algorithm, data inline in the same order. */
static void print_panel(FILE *gnuplot, const struct ronde_sweep *sweep, uint32_t r, bool is_time)
{
    const struct ronde_sweep_options *options = &sweep->options;
    fprintf(gnuplot, "set title '%u ranks'\nset ylabel '%s'\n%s logscale y\nplot ",
            options->ranks[r], is_time ? "time (us)" : "busbw (GB/s)", is_time ? "set" : "unset");
    if (!is_time)
        fputs("[][0:] ", gnuplot);
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        fprintf(gnuplot, "%s'-' with linespoints pt 7 ps 0.35 lw 1.5 lc rgb '%s' title '",
                a ? ", " : "", ronde_colour(a));
        ronde_gnuplot_quote(gnuplot, options->algorithms[a]);
        fputc('\'', gnuplot);
    }
    fputc('\n', gnuplot);
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        for (uint32_t s = 0; s < sweep->options.size_count; s++) {
            const struct ronde_sweep_point *point = ronde_sweep_at(sweep, r, a, s);
            if (point->is_done)
                fprintf(gnuplot, "%" PRIu64 " %.9g\n", sweep->options.sizes[s],
                        is_time ? point->time_ns / 1000.0 : point->busbw_GBps);
        }
        fputs("e\n", gnuplot);
    }
}

/* Whether a panel would have anything to show: gnuplot refuses an empty one. */
static bool has_data(const struct ronde_sweep *sweep, uint32_t r)
{
    double gain = 0.0;
    for (uint32_t s = 0; s < sweep->options.size_count; s++)
        if (ronde_sweep_winner(sweep, r, s, &gain) != RONDE_NONE)
            return true;
    return false;
}

enum ronde_status ronde_sweep_plot(const struct ronde_sweep *sweep, const char *path,
                                   struct ronde_error *error)
{
    const uint32_t counts = sweep->options.rank_counts;
    const uint32_t columns = counts < MAX_COLUMNS ? counts : MAX_COLUMNS;
    struct ronde_gnuplot drawing;
    RONDE_TRY(ronde_gnuplot_open(path, 360 * columns, 720, &drawing, error));
    FILE *gnuplot = drawing.script;
    fprintf(
        gnuplot,
        "set logscale x 2\nset grid lc rgb '#dddddd'\nset key top left noenhanced reverse Left "
        "samplen 2 font ',9'\nset xlabel 'size'\n"
        "set multiplot layout 2,%u title 'How fast is which %s on %s? (simulated)' noenhanced\n",
        columns, ronde_collective_text(sweep->options.collective), sweep->machine);
    if (sweep->options.size_count > 0 && sweep->options.sizes[0] > 0)
        ronde_gnuplot_sizes(gnuplot, sweep->options.sizes[0],
                            sweep->options.sizes[sweep->options.size_count - 1]);
    for (uint32_t panel = 0; panel < 2 * columns; panel++) {
        const uint32_t r = column_ranks(sweep, panel % columns, columns);
        if (has_data(sweep, r))
            print_panel(gnuplot, sweep, r, panel < columns);
        else
            fputs("set multiplot next\n", gnuplot);
    }
    fputs("unset multiplot\n", gnuplot);
    return ronde_gnuplot_close(&drawing, error);
}

/* The fields an algorithm wins, as boxes. */
static void print_wins(FILE *gnuplot, const struct ronde_sweep *sweep, uint32_t algorithm)
{
    double gain = 0.0;
    for (uint32_t r = 0; r < sweep->options.rank_counts; r++)
        for (uint32_t s = 0; s < sweep->options.size_count; s++)
            if (ronde_sweep_winner(sweep, r, s, &gain) == algorithm)
                fprintf(gnuplot, "%u %u\n", s, r);
    fputs("e\n", gnuplot);
}

/* Whether there is one to compare the winner with. */
static bool has_second(const struct ronde_sweep *sweep, uint32_t r, uint32_t s)
{
    uint32_t done = 0;
    for (uint32_t a = 0; a < sweep->options.algorithm_count; a++)
        done += ronde_sweep_at(sweep, r, a, s)->is_done;
    return done > 1;
}

/* How much the winner gains, written into its field: 1.0 where another is as fast. */
static void print_gains(FILE *gnuplot, const struct ronde_sweep *sweep)
{
    double gain = 0.0;
    fputs("-9 -9 -\n", gnuplot);
    for (uint32_t r = 0; r < sweep->options.rank_counts; r++)
        for (uint32_t s = 0; s < sweep->options.size_count; s++)
            if (ronde_sweep_winner(sweep, r, s, &gain) != RONDE_NONE && has_second(sweep, r, s))
                fprintf(gnuplot, "%u %u %.*f\n", s, r, gain < 9.95 ? 1 : 0, gain);
    fputs("e\n", gnuplot);
}

/* Sizes below, ranks at the left, every label that has room. */
static void print_axes(FILE *gnuplot, const struct ronde_sweep *sweep)
{
    const struct ronde_sweep_options *options = &sweep->options;
    fputs("set xtics rotate by -45 (", gnuplot);
    for (uint32_t s = 0; s < sweep->options.size_count; s++)
        fprintf(gnuplot, "%s'%s' %u", s ? ", " : "", ronde_cell_tick(sweep->options.sizes[s]).text,
                s);
    fputs(")\nset ytics (", gnuplot);
    for (uint32_t r = 0; r < options->rank_counts; r++)
        fprintf(gnuplot, "%s'%u' %u", r ? ", " : "", options->ranks[r], r);
    fprintf(gnuplot, ")\nset xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n",
            sweep->options.size_count - 1, options->rank_counts - 1);
}

/* Pixels of a letter, of a cell and of a line of the key. */
enum { LETTER = 8, CELL = 34, KEY_LINE = 20 };

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Whether an algorithm is the fastest anywhere: others have no colour, of which there are few. */
static bool wins(const struct ronde_sweep *sweep, uint32_t algorithm)
{
    double gain;
    for (uint32_t r = 0; r < sweep->options.rank_counts; r++)
        for (uint32_t s = 0; s < sweep->options.size_count; s++)
            if (ronde_sweep_winner(sweep, r, s, &gain) == algorithm)
                return true;
    return false;
}

/* A few cells are narrower than what stands above them, and many algorithms higher than a few rows: all of it has room. */
static enum ronde_status open_map(const struct ronde_sweep *sweep, const char *path,
                                  const char *title, struct ronde_gnuplot *drawing,
                                  struct ronde_error *error)
{
    const struct ronde_sweep_options *options = &sweep->options;
    uint32_t name = 0, winners = 0;
    for (uint32_t a = 0; a < options->algorithm_count; a++) {
        name = wins(sweep, a) ? most(name, (uint32_t)strlen(options->algorithms[a])) : name;
        winners += wins(sweep, a);
    }
    const uint32_t across = 150 + LETTER * name + CELL * options->size_count;
    const uint32_t down = 190 + CELL * options->rank_counts;
    return ronde_gnuplot_open(path, most(across, 40 + LETTER * (uint32_t)strlen(title)),
                              most(down, 120 + KEY_LINE * winners), drawing, error);
}

enum ronde_status ronde_sweep_map(const struct ronde_sweep *sweep, const char *path,
                                  struct ronde_error *error)
{
    const struct ronde_sweep_options *options = &sweep->options;
    struct ronde_gnuplot drawing;
    char title[400];
    snprintf(title, sizeof title, "Which %s is the fastest on how many ranks of %.300s? (simulated)",
             ronde_collective_text(options->collective), sweep->machine);
    RONDE_TRY(open_map(sweep, path, title, &drawing, error));
    FILE *gnuplot = drawing.script;
    print_axes(gnuplot, sweep);
    /* A title would be centred above the cells and cut at the left. */
    fputs("set tmargin 5\nset label 1 '", gnuplot);
    ronde_gnuplot_quote(gnuplot, title);
    fputs("' at screen 0, screen 1 offset 2, -1.2 noenhanced\n"
          "set label 2 'numbers: how many times slower the next one is' at screen 0, screen 1 "
          "offset 2, -2.6\n",
          gnuplot);
    fputs("set style fill solid 0.75 border rgb 'white'\nset tics scale 0\n"
          "set key outside right top noenhanced\nset xlabel 'size'\nset ylabel 'ranks'\nplot ",
          gnuplot);
    for (uint32_t a = 0, colour = 0; a < options->algorithm_count; a++) {
        if (!wins(sweep, a))
            continue;
        fprintf(gnuplot, "'-' using 1:2:(0.5):(0.5) with boxxyerror lc rgb '%s' title '",
                ronde_colour(colour++));
        ronde_gnuplot_quote(gnuplot, options->algorithms[a]);
        fputs("', ", gnuplot);
    }
    fputs("'-' using 1:2:3 with labels font ',8' notitle\n", gnuplot);
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        if (wins(sweep, a))
            print_wins(gnuplot, sweep, a);
    print_gains(gnuplot, sweep);
    return ronde_gnuplot_close(&drawing, error);
}

/* The picture of a plan, as a gnuplot script. */

/* The time of an algorithm at a size: that of its best set-up. */
static double time_of(const struct ronde_plan *plan, uint32_t row, uint32_t first)
{
    const struct ronde_quote *quotes = plan->rows[row].quotes;
    return quotes[ronde_choice_least_of(&plan->selector->choice, quotes, first)].time_ns;
}

/* Curves of a picture: more colours look alike. */
#define MOST_CURVES 5u

/* A picture has one curve of all schedules that were made for the machine, as a plan has one runner-up of them. */
static const char *curve_name(const struct ronde_plan *plan, uint32_t candidate)
{
    return ronde_algorithm_family(plan->selector->choice.candidates[candidate].request.algorithm);
}

/*
 * How often an algorithm is the fastest, counted twice where it is the one that is planned; one that never is: how near it comes,
 * below 1. A schedule that somebody offers is what the picture is of: before all others.
 */
static double merit_of(const struct ronde_plan *plan, uint32_t candidate)
{
    double wins = 0, nearest = 0;
    for (uint32_t r = 0; r < plan->row_count; r++) {
        const struct ronde_plan_row *row = &plan->rows[r];
        const double best_ns = row->quotes[row->decision.best].time_ns;
        const double ns = time_of(plan, r, candidate);
        if (isfinite(ns) && ns > 0) {
            wins += ns <= best_ns;
            wins += strcmp(curve_name(plan, row->decision.best), curve_name(plan, candidate)) == 0;
            nearest = fmax(nearest, fmin(best_ns / ns, .999));
        }
    }
    const struct ronde_candidate *is = &plan->selector->choice.candidates[candidate];
    const bool is_offered = !is->algorithm && !is->own && nearest + wins > 0;
    return (is_offered ? RONDE_PLAN_SIZES : 0) + (wins > 0 ? wins : nearest);
}

/* Two names for one line answer nothing: whether the curve of one would be drawn on that of the other. */
static bool is_alike(const struct ronde_plan *plan, uint32_t one, uint32_t other)
{
    bool is = true;
    for (uint32_t r = 0; r < plan->row_count && is; r++) {
        const double ns = time_of(plan, r, one);
        is = fabs(time_of(plan, r, other) - ns) < .005 * ns;
    }
    return is || strcmp(curve_name(plan, one), curve_name(plan, other)) == 0;
}

/* The algorithms that matter most. Returns how many. */
static uint32_t pick(const struct ronde_plan *plan, uint32_t picked[MOST_CURVES])
{
    const struct ronde_choice *choice = &plan->selector->choice;
    uint32_t count = 0;
    while (count < MOST_CURVES) {
        uint32_t best = RONDE_NONE;
        double most = 0;
        for (uint32_t i = 0; i < choice->count; i++) {
            bool is_picked = !ronde_choice_is_first(choice, i);
            for (uint32_t p = 0; p < count && !is_picked; p++)
                is_picked = is_alike(plan, i, picked[p]);
            const double merit = is_picked ? 0 : merit_of(plan, i);
            if (merit > most) {
                most = merit;
                best = i;
            }
        }
        if (best == RONDE_NONE)
            break;
        picked[count++] = best;
    }
    return count;
}

static double rate_of(const struct ronde_plan *plan, uint32_t row, double ns)
{
    const struct ronde_compile_request *request = &plan->selector->choice.candidates[0].request;
    return ronde_collective_bus_factor(request->collective, request->ranks) *
           (double)plan->rows[row].bytes / ns;
}

static void print_points(FILE *gnuplot, const struct ronde_plan *plan, uint32_t candidate)
{
    for (uint32_t r = 0; r < plan->row_count; r++) {
        const double ns = time_of(plan, r, candidate);
        if (isfinite(ns) && ns > 0)
            fprintf(gnuplot, "%" PRIu64 " %.9g\n", plan->rows[r].bytes, rate_of(plan, r, ns));
    }
    fputs("e\n", gnuplot);
}

/* What was planned at every size, in the colour of its curve, black where it has none. */
static void print_winners(FILE *gnuplot, const struct ronde_plan *plan, const uint32_t *picked,
                          uint32_t curves)
{
    for (uint32_t r = 0; r < plan->row_count; r++) {
        const uint32_t best = plan->rows[r].decision.best;
        const double ns = plan->rows[r].quotes[best].time_ns;
        const char *colour = "#000000";
        for (uint32_t p = curves; p-- > 0;)
            if (is_alike(plan, best, picked[p]))
                colour = ronde_colour(p);
        if (isfinite(ns) && ns > 0)
            fprintf(gnuplot, "%" PRIu64 " %.9g %lu\n", plan->rows[r].bytes, rate_of(plan, r, ns),
                    strtoul(colour + 1, NULL, 16));
    }
    fputs("e\n", gnuplot);
}

enum ronde_status ronde_plan_plot(const struct ronde_plan *plan, const char *path,
                                  struct ronde_error *error)
{
    const struct ronde_choice *choice = &plan->selector->choice;
    const struct ronde_compile_request *request = &choice->candidates[0].request;
    const struct ronde_platform *platform = plan->selector->platform_pricer.platform;
    struct ronde_gnuplot drawing;
    uint32_t picked[MOST_CURVES];
    const uint32_t curves = pick(plan, picked);
    RONDE_TRY(ronde_gnuplot_open(path, 760, 460, &drawing, error));
    FILE *gnuplot = drawing.script;
    fputs("set logscale x 2\nset logscale y\nset grid lc rgb '#dddddd'\nset key top left "
          "noenhanced reverse Left samplen 2 font ',10'\nset format y '%g'\nset xlabel 'size'\n"
          "set ylabel 'busbw (GB/s)'\n",
          gnuplot);
    ronde_gnuplot_sizes(gnuplot, plan->rows[0].bytes, plan->rows[plan->row_count - 1].bytes);
    fprintf(gnuplot, "set title 'Which %s is the fastest at which size? %u ranks on ",
            ronde_collective_text(request->collective), request->ranks);
    ronde_gnuplot_quote(gnuplot, platform ? ronde_platform_facts(platform)->name : "this machine");
    fputs("' noenhanced\nplot ", gnuplot);
    for (uint32_t p = 0; p < curves; p++) {
        fprintf(gnuplot, "'-' with lines lw 1.8 lc rgb '%s' title '", ronde_colour(p));
        ronde_gnuplot_quote(gnuplot, curve_name(plan, picked[p]));
        fputs("', ", gnuplot);
    }
    fputs("'-' with points pt 7 ps 0.8 lc rgb variable notitle, NaN with points pt 7 ps 0.8 lc rgb "
          "'black' title 'the fastest: planned'\n",
          gnuplot);
    for (uint32_t p = 0; p < curves; p++)
        print_points(gnuplot, plan, picked[p]);
    print_winners(gnuplot, plan, picked, curves);
    return ronde_gnuplot_close(&drawing, error);
}
