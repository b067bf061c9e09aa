/* The picture of a plan, as a gnuplot script. */
#include "plan_plot.h"

#include "gnuplot.h"

#include <inttypes.h>
#include <math.h>

/* Candidates beyond the colours repeat them; what nobody has priced anywhere has no curve. */
static bool has_curve(const struct ronde_plan *plan, uint32_t candidate)
{
    for (uint32_t i = 0; i < plan->row_count; i++)
        if (isfinite(plan->rows[i].quotes[candidate].time_ns))
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
            if (isfinite(plan->rows[r].quotes[i].time_ns))
                fprintf(gnuplot, "%" PRIu64 " %.9g\n", plan->rows[r].bytes,
                        plan->rows[r].quotes[i].time_ns / 1000.0);
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
    for (uint32_t i = 0; i < choice->count; i++)
        if (has_curve(plan, i))
            fprintf(gnuplot, "'-' with lines lw 1.5 dt %u lc rgb '%s' title '%s', ",
                    i / RONDE_COLOURS + 1, ronde_colour(i % RONDE_COLOURS),
                    choice->candidates[i].request.algorithm);
    fputs("'-' with points pt 6 ps 0.9 lc rgb 'black' title 'planned'\n", gnuplot);
    print_curves(gnuplot, plan);
    return ronde_gnuplot_close(&drawing, error);
}
