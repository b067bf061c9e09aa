/*
 * What planning costs where it is wrong: on a machine, for every collective and sizes from 1 KiB to 1 GiB, the time of the
 * algorithm that is planned over that of the fastest of all, both as SimGrid has them; beside it how far maxmin and
 * flat_fifo are from SimGrid over all these replays. What SimGrid does not finish in its time is compared by maxmin.
 *
 * bench_regret PLATFORM [RANKS [LIMIT_S [COLLECTIVE]]]: rows of a table in Markdown; bench_regret --head: its head.
 */
#include "ronde/predict.h"
#include "ronde/selector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES 6u

/* Replays longer than this are not tried in SimGrid: at some 30 us a message or more it would not be done. */
#define MOST_SIMGRID_STEPS 400000u

/* What is compared, and what came of it. */
struct bench {
    struct ronde_platform *platform;
    uint32_t ranks;
    double limit_s;
    struct ronde_selector selector;
    struct ronde_load load;
    uint32_t by_simgrid; /* replays */
    uint32_t by_maxmin;  /* that SimGrid did not finish */
    double worst_regret; /* planned by fastest, minus 1 */
    double worst_maxmin; /* relative difference from SimGrid */
    double fifo_least;   /* relative, negative where queues are too fast */
    double fifo_most;
};

/* A replay; NAN where the engine gives up. */
static double time_of(const struct bench *bench, uint32_t candidate, const char *engine)
{
    const struct ronde_candidate *what = &bench->selector.choice.candidates[candidate];
    struct ronde_forecast forecast = ronde_forecast_of(bench->platform, what->schedule,
                                                       &what->request, &bench->selector.options);
    struct ronde_prediction prediction;
    ronde_forecast_set_count(&forecast, bench->load.count);
    forecast.sim.time_limit_s = bench->limit_s;
    const enum ronde_status status = ronde_forecast_replay(&forecast, engine, &prediction, NULL);
    return status == RONDE_OK ? prediction.time_ns : NAN;
}

/* The time by SimGrid, or by maxmin where that is what can be had; both engines of ours are held against it. */
static double reference(struct bench *bench, uint32_t candidate)
{
    const struct ronde_candidate *what = &bench->selector.choice.candidates[candidate];
    const double maxmin_ns = time_of(bench, candidate, "maxmin");
    const double fifo_ns = time_of(bench, candidate, "flat_fifo");
    const double simgrid_ns = ronde_candidate_steps(what, &bench->load) <= MOST_SIMGRID_STEPS
                                  ? time_of(bench, candidate, "simgrid")
                                  : NAN;
    const double reference_ns = isnan(simgrid_ns) ? maxmin_ns : simgrid_ns;
    if (isnan(simgrid_ns)) {
        bench->by_maxmin++;
    } else {
        bench->by_simgrid++;
        bench->worst_maxmin = fmax(bench->worst_maxmin, fabs(maxmin_ns / simgrid_ns - 1));
    }
    bench->fifo_least = fmin(bench->fifo_least, fifo_ns / reference_ns - 1);
    bench->fifo_most = fmax(bench->fifo_most, fifo_ns / reference_ns - 1);
    return reference_ns;
}

/* One size: every algorithm that may be chosen. */
static void compare_size(struct bench *bench, uint64_t bytes)
{
    const struct ronde_choice *choice = &bench->selector.choice;
    const struct ronde_compile_request *request = &choice->candidates[0].request;
    struct ronde_decision decision;
    struct ronde_error error = {0};
    const uint64_t count =
        ronde_collective_count(request->collective, bench->ranks, bytes, RONDE_FLOAT32);
    if (ronde_selector_decide(&bench->selector, count, &decision, &error) != RONDE_OK) {
        fprintf(stderr, "bench_regret: %s\n", error.message);
        exit(1);
    }
    bench->load = decision.load;
    double planned_ns = NAN, least_ns = INFINITY;
    uint32_t least = decision.best;
    for (uint32_t i = 0; i < choice->count; i++) {
        const double time_ns = choice->candidates[i].is_eligible ? reference(bench, i) : NAN;
        planned_ns = i == decision.best ? time_ns : planned_ns;
        least = time_ns < least_ns ? i : least;
        least_ns = fmin(least_ns, time_ns);
    }
    const double regret = planned_ns / least_ns - 1;
    bench->worst_regret = isnan(regret) ? INFINITY : fmax(bench->worst_regret, regret);
    if (!(regret <= 0.02))
        fprintf(stderr, "%s %s, %u ranks, %" PRIu64 " B: planned %s %.2f us, fastest %s %.2f us\n",
                ronde_platform_facts(bench->platform)->name,
                ronde_collective_text(request->collective), bench->ranks, bytes,
                choice->candidates[decision.best].request.algorithm, planned_ns / 1e3,
                choice->candidates[least].request.algorithm, least_ns / 1e3);
}

static void compare_collective(struct bench *bench, enum ronde_collective collective)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};
    const struct ronde_compile_request request = {.collective = collective, .ranks = bench->ranks};
    struct ronde_error error = {0};
    enum ronde_status status = ronde_selector_open(&options, &request, &bench->selector, &error);
    if (status == RONDE_OK)
        status = ronde_selector_rely(&bench->selector, bench->platform, NULL, 0, &error);
    if (status != RONDE_OK) {
        fprintf(stderr, "bench_regret: %s\n", error.message);
        exit(1);
    }
    bench->by_simgrid = bench->by_maxmin = 0;
    bench->worst_regret = bench->worst_maxmin = bench->fifo_least = bench->fifo_most = 0;
    uint64_t bytes = 1024;
    for (uint32_t i = 0; i < SIZES; i++, bytes *= 16)
        compare_size(bench, bytes);
    printf("| %s | %u | %s | %u | %.1f %% | %u | %.0e | %u | %+.0f ... %+.0f %% |\n",
           ronde_platform_facts(bench->platform)->name, bench->ranks,
           ronde_collective_text(collective), bench->selector.choice.count,
           100 * bench->worst_regret, bench->by_simgrid, bench->worst_maxmin, bench->by_maxmin,
           100 * bench->fifo_least, 100 * bench->fifo_most);
    fflush(stdout);
    ronde_selector_close(&bench->selector);
}

static const char head[] = "| machine | ranks | collective | algorithms | regret | in SimGrid | "
                           "maxmin off by | by maxmin | flat_fifo off by |\n"
                           "|---|---|---|---|---|---|---|---|---|\n";

int main(int argc, char **argv)
{
    struct bench bench = {.limit_s = argc > 3 ? atof(argv[3]) : 60.0};
    struct ronde_error error = {0};
    if (argc == 2 && strcmp(argv[1], "--head") == 0) {
        fputs(head, stdout);
        return 0;
    }
    if (argc < 2 ||
        ronde_platform_read(argv[1], ronde_mem_default(), &bench.platform, &error) != RONDE_OK) {
        fprintf(stderr, "usage: bench_regret PLATFORM [RANKS [LIMIT_S [COLLECTIVE]]]  %s\n",
                error.message);
        return 2;
    }
    bench.ranks = argc > 2 && atoi(argv[2]) > 0 ? (uint32_t)atoi(argv[2])
                                                : ronde_platform_facts(bench.platform)->hosts;
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        if (argc <= 4 || strcmp(argv[4], ronde_collective_text((enum ronde_collective)c)) == 0)
            compare_collective(&bench, (enum ronde_collective)c);
    ronde_platform_destroy(bench.platform);
    return 0;
}
