/* The picture of a plan, as a gnuplot script. */
#include "plan_plot.h"

#include "gnuplot.h"

#include <inttypes.h>
#include <math.h>

/* The time of an algorithm at a size: that of its best set-up. */
static double time_of(const struct ronde_plan *plan, uint32_t row, uint32_t first)
{
    const struct ronde_quote *quotes = plan->rows[row].quotes;
    return quotes[ronde_choice_least_of(&plan->selector->choice, quotes, first)].time_ns;
}

/* One for each algorithm that has a time anywhere. Algorithms beyond the colours repeat them. */
static bool has_curve(const struct ronde_plan *plan, uint32_t candidate)
{
    for (uint32_t r = 0; r < plan->row_count; r++)
        if (ronde_choice_is_first(&plan->selector->choice, candidate) &&
            isfinite(time_of(plan, r, candidate)))
            return true;
    return false;
}

static void print_curves(FILE *gnuplot, const struct ronde_plan *plan)
{
    const struct ronde_choice *choice = &plan->selector->choice;
    for (uint32_t i = 0; i < choice->count; i++) {
        if (!has_curve(plan, i))
            continue;
        for (uint32_t r = 0; r < plan->row_count; r++)
            if (isfinite(time_of(plan, r, i)))
                fprintf(gnuplot, "%" PRIu64 " %.9g\n", plan->rows[r].bytes,
                        time_of(plan, r, i) / 1000.0);
        fputs("e\n", gnuplot);
    }
    /* The winner once more, as rings around its points. */
    for (uint32_t r = 0; r < plan->row_count; r++)
        fprintf(gnuplot, "%" PRIu64 " %.9g\n", plan->rows[r].bytes,
                plan->rows[r].quotes[plan->rows[r].decision.best].time_ns / 1000.0);
    fputs("e\n", gnuplot);
}

enum ronde_status ronde_plan_plot(const struct ronde_plan *plan, const char *path,
                                  struct ronde_error *error)
{
    const struct ronde_choice *choice = &plan->selector->choice;
    const struct ronde_compile_request *request = &choice->candidates[0].request;
    struct ronde_gnuplot drawing;
    const enum ronde_status status = ronde_gnuplot_open(path, 720, 460, &drawing, error);
    if (status != RONDE_OK)
        return status;
    FILE *gnuplot = drawing.script;
    fprintf(gnuplot,
            "set logscale x 2\nset logscale y\nset grid lc rgb '#dddddd'\nset key outside right "
            "noenhanced samplen 2 font ',9'\nset format x '%%.0b%%B'\nset format y '%%g'\n"
            "set xtics 8, 64\nset xlabel 'bytes'\nset ylabel 'time (us)'\n"
            "set title '%s, %u ranks' noenhanced\nplot ",
            ronde_collective_text(request->collective), request->ranks);
    uint32_t curves = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        if (!has_curve(plan, i))
            continue;
        fprintf(gnuplot, "'-' with lines lw 1.5 dt %u lc rgb '%s' title '%s', ",
                curves / RONDE_COLOURS + 1, ronde_colour(curves % RONDE_COLOURS),
                choice->candidates[i].request.algorithm);
        curves++;
    }
    fputs("'-' with points pt 6 ps 0.9 lc rgb 'black' title 'planned'\n", gnuplot);
    print_curves(gnuplot, plan);
    return ronde_gnuplot_close(&drawing, error);
}
