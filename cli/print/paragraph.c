/*
 * One paragraph that says how far predictions are off here, and what takes the time. Every figure
 * is from the grid.
 */
#include "compare_print.h"

#include "table.h"

/* Errors of both predictions over a subset. */
struct verdict {
    struct ronde_errors replay;
    struct ronde_errors closed_form;
};

/* The replay and the closed form over one subset. */
static struct verdict judge(const struct ronde_validation *grid, enum ronde_subset subset,
                            double *scratch)
{
    struct verdict verdict;
    verdict.replay = ronde_validation_errors(grid, ronde_validation_replay(grid), subset, scratch);
    verdict.closed_form = ronde_validation_errors(grid, RONDE_SOURCE_CLOSED_FORM, subset, scratch);
    return verdict;
}

/* Says nothing about a subset nobody measured. */
static void print_subset(FILE *file, const char *where, const struct verdict *verdict)
{
    if (verdict->replay.count == 0)
        return;
    fprintf(file,
            "%s the replay is off by %.0f%% in the median and %.0f%% at worst (%zu points, "
            "usually too %s), the closed form by %.0f%% and %.0f%%. ",
            where, 100.0 * verdict->replay.median, 100.0 * verdict->replay.worst,
            verdict->replay.count, verdict->replay.bias < 0.0 ? "fast" : "slow",
            100.0 * verdict->closed_form.median, 100.0 * verdict->closed_form.worst);
}

/* Winners over all rank counts and rivals of the first algorithm. */
static struct ronde_agreement agree(const struct ronde_validation *grid, enum ronde_source source)
{
    struct ronde_agreement sum = {0, 0};
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t a = 1; a < grid->algorithm_count; a++) {
            const struct ronde_agreement one = ronde_validation_agreement(grid, source, r, 0, a);
            sum.decided += one.decided;
            sum.agreed += one.agreed;
        }
    return sum;
}

/* Ties are left out: naming the winner of a tie is no merit. */
static void print_winners(FILE *file, const struct ronde_validation *grid)
{
    const struct ronde_agreement replay = agree(grid, ronde_validation_replay(grid));
    const struct ronde_agreement closed = agree(grid, RONDE_SOURCE_CLOSED_FORM);
    fprintf(file,
            "Where two algorithms differ by more than the noise, the replay names the faster one "
            "at %zu of %zu points, the closed form at %zu. ",
            replay.agreed, replay.decided, closed.agreed);
}

/*
 * How the time of the smallest and largest point of the first algorithm splits, by the model's
 * constants.
 */
static void print_small(FILE *file, const struct ronde_comparison *comparison)
{
    const struct ronde_validation *grid = &comparison->grid;
    const struct ronde_time_params *time =
        &ronde_platform_facts(comparison->options.forecast.platform)->time;
    const uint32_t last = grid->rank_counts - 1;
    const struct ronde_grid_point *few = ronde_validation_point(grid, 0, 0, 0);
    const struct ronde_grid_point *many = ronde_validation_point(grid, last, 0, 0);
    fprintf(
        file,
        "Small blocks cost the start of a run and then messages one after another: at %s bytes the "
        "start (%.2f us) is %.0f%% of the %s's %.2f us on %u ranks and %.0f%% of its %.2f us "
        "on %u. ",
        ronde_cell_size(few->bytes).text, time->launch_ns / 1e3,
        100.0 * time->launch_ns / few->measured.median, grid->algorithms[0],
        few->measured.median / 1e3, grid->ranks[0], 100.0 * time->launch_ns / many->measured.median,
        many->measured.median / 1e3, grid->ranks[last]);
}

/*
 * Large blocks: how the time per byte changes with the size. The model follows it by its copy curve, which knows how
 * much memory a core works on, but not what the caches happen to hold.
 */
static void print_large(FILE *file, const struct ronde_comparison *comparison)
{
    const struct ronde_validation *grid = &comparison->grid;
    const uint32_t last_rank = grid->rank_counts - 1, last = grid->size_count - 1;
    uint32_t best = 0;
    double best_ns = 0.0;
    for (uint32_t s = 0; s <= last; s++) {
        const struct ronde_grid_point *point = ronde_validation_point(grid, last_rank, s, 0);
        const double per_byte = point->measured.median / (double)point->bytes;
        if (s == 0 || per_byte < best_ns) {
            best = s;
            best_ns = per_byte;
        }
    }
    const struct ronde_grid_point *top = ronde_validation_point(grid, last_rank, last, 0);
    const double top_ns = top->measured.median / (double)top->bytes;
    fprintf(file,
            "Large blocks cost copies and sums: on %u ranks the %s takes least time per byte at %s "
            "bytes and %.1f times as much at %s; the model follows it by a copy rate per working "
            "set, measured by "
            "streams. ",
            grid->ranks[last_rank], grid->algorithms[0],
            ronde_cell_size(ronde_validation_point(grid, last_rank, best, 0)->bytes).text,
            top_ns / best_ns, ronde_cell_size(top->bytes).text);
}

/* A point whose 95th percentile is so far above its median was disturbed. */
#define DISTURBED_SPREAD 0.5

/* With more disturbed points than this share, something else was using the machine. */
#define BUSY_SHARE 0.1

/* So that nobody blames the model for a busy machine, or excuses it on an idle one. */
static void print_noise(FILE *file, const struct ronde_validation *grid)
{
    const size_t total = ronde_validation_size(grid);
    size_t disturbed = 0;
    for (size_t i = 0; i < total; i++)
        disturbed += ronde_stats_spread(&grid->points[i].measured) > DISTURBED_SPREAD;
    fprintf(file,
            "%zu of %zu points were disturbed (95th percentile more than half above the "
            "median)%s. ",
            disturbed, total,
            (double)disturbed > BUSY_SHARE * (double)total
                ? ": this machine was busy, so part of the errors is not the model's"
                : "");
}

/* The sentence that keeps these figures from being quoted for real clusters. */
static void print_sharing(FILE *file, const struct ronde_comparison *comparison)
{
    const uint32_t cores = ronde_platform_facts(comparison->options.forecast.platform)->shared.cores;
    fprintf(file,
            "This machine has %u usable core%s; with more ranks than that they take turns "
            "(labelled oversubscribed), and such times say nothing about a machine with a core "
            "per rank.\n",
            cores, cores == 1 ? "" : "s");
}

enum ronde_status ronde_paragraph_print(const struct ronde_comparison *comparison, FILE *file,
                                        struct ronde_error *error)
{
    const struct ronde_validation *grid = &comparison->grid;
    const size_t total = ronde_validation_size(grid);
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    const struct verdict fitting = judge(grid, RONDE_SUBSET_FITTING, scratch);
    const struct verdict oversubscribed = judge(grid, RONDE_SUBSET_OVERSUBSCRIBED, scratch);
    print_subset(file, "With a core for every rank", &fitting);
    print_subset(file, "With more ranks than cores", &oversubscribed);
    print_winners(file, grid);
    print_small(file, comparison);
    print_large(file, comparison);
    print_noise(file, grid);
    print_sharing(file, comparison);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    return RONDE_OK;
}
