/* What a filled grid says, in words: errors, winners, crossovers, and one honest paragraph. */
#include "compare_print.h"

#include "score_print.h"
#include "table.h"

/* Engines one after another, each over all points and then those of oversubscribed ranks. */
static void print_errors(const struct ronde_validation *grid, FILE *file, double *scratch)
{
    static const struct {
        enum ronde_subset subset;
        const char *text;
    } subsets[] = {{RONDE_SUBSET_ALL, "all points"},
                   {RONDE_SUBSET_FITTING, "ranks <= cores"},
                   {RONDE_SUBSET_OVERSUBSCRIBED, "oversubscribed"}};
    fprintf(file, "# errors, |predicted - measured| / measured\n");
    for (uint32_t source = RONDE_SOURCE_MEASURED + 1; source < RONDE_SOURCE_COUNT; source++)
        for (size_t i = 0; i < sizeof subsets / sizeof subsets[0]; i++) {
            const struct ronde_errors errors =
                ronde_validation_errors(grid, (enum ronde_source)source, subsets[i].subset, scratch);
            if (errors.count == 0 || !ronde_validation_has(grid, (enum ronde_source)source))
                continue;
            fprintf(file,
                    "#   %-11s  %-14s  %3zu points: median %5.1f%%  p95 %5.1f%%  worst %5.1f%%"
                    " (%s, %u ranks, %s)  bias %+.1f%%\n",
                    ronde_source_text((enum ronde_source)source), subsets[i].text, errors.count,
                    100.0 * errors.median, 100.0 * errors.p95, 100.0 * errors.worst,
                    grid->algorithms[errors.worst_algorithm], errors.worst_ranks,
                    ronde_cell_size(errors.worst_bytes).text, 100.0 * errors.bias);
        }
}

/* Crossovers that are named; more are counted. */
#define MAX_CROSSOVERS 4u

/* Brackets: nothing between two measured sizes was measured. Where the lines meet is said beside them. */
static void print_crossovers(FILE *file, const struct ronde_duel *duel, const char *first,
                             const char *second)
{
    struct ronde_crossover found[MAX_CROSSOVERS];
    const size_t count = ronde_duel_crossovers(duel, found, MAX_CROSSOVERS);
    int winner = 0;
    for (size_t i = 0; winner == 0 && i < duel->count; i++)
        winner = ronde_duel_winner(duel, i);
    if (count == 0 && winner == 0)
        fprintf(file, "no difference beyond noise\n");
    else if (count == 0)
        fprintf(file, "none: %s is faster wherever they differ\n", winner < 0 ? first : second);
    for (size_t i = 0; i < count && i < MAX_CROSSOVERS; i++)
        fprintf(file, "%sbetween %s and %s, near %.3gK, then %s (by %.0f%% before, %.0f%% after)",
                i ? "; " : "", ronde_cell_size(found[i].below_bytes).text,
                ronde_cell_size(found[i].above_bytes).text,
                ronde_duel_crossover_bytes(duel, &found[i]) / 1024.0,
                found[i].first_wins_above ? first : second, 100.0 * found[i].below_margin,
                100.0 * found[i].above_margin);
    if (count > MAX_CROSSOVERS)
        fprintf(file, "; %zu more", count - MAX_CROSSOVERS);
    if (count > 0)
        fputc('\n', file);
}

/* Two algorithms at one number of ranks. */
static void print_duel(const struct ronde_validation *grid, FILE *file, uint32_t rank_index,
                       const uint32_t pair[2])
{
    const char *first = grid->algorithms[pair[0]], *second = grid->algorithms[pair[1]];
    fprintf(file, "# %s or %s, %u ranks%s\n", first, second, grid->ranks[rank_index],
            ronde_validation_point(grid, rank_index, 0, 0)->is_oversubscribed ? " (oversubscribed)"
                                                                              : "");
    for (uint32_t source = 0; source < RONDE_SOURCE_COUNT; source++) {
        if (!ronde_validation_has(grid, (enum ronde_source)source))
            continue;
        struct ronde_duel_buffers buffers;
        const struct ronde_duel duel =
            ronde_validation_duel(grid, (enum ronde_source)source, rank_index, pair, &buffers);
        fprintf(file, "#   %-11s  ", ronde_source_text((enum ronde_source)source));
        if (source != RONDE_SOURCE_MEASURED) {
            const struct ronde_score score =
                ronde_score_pair(grid, (enum ronde_source)source, rank_index, pair);
            fprintf(file, "same winner at %zu of %zu decided sizes; ", score.winners.agreed,
                    score.winners.decided);
            if (score.first.factor > 0.0)
                fprintf(file, "off by a factor of %.2f: ", score.first.factor);
        }
        fprintf(file, "crossover ");
        print_crossovers(file, &duel, first, second);
    }
}

enum ronde_status ronde_summary_errors(const struct ronde_validation *grid, FILE *file,
                                       struct ronde_error *error)
{
    const size_t total = ronde_validation_size(grid);
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    fputs("#\n", file);
    print_errors(grid, file, scratch);
    ronde_score_print(grid, file);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    return RONDE_OK;
}

enum ronde_status ronde_summary_print(const struct ronde_validation *grid, FILE *file,
                                      struct ronde_error *error)
{
    const size_t total = ronde_validation_size(grid);
    double *scratch = ronde_mem_new(ronde_mem_default(), total, sizeof *scratch);
    if (!scratch)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to sum up %zu points", total);
    fputs("#\n", file);
    print_errors(grid, file, scratch);
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t a = 0; a < grid->algorithm_count; a++)
            for (uint32_t b = a + 1; b < grid->algorithm_count; b++)
                print_duel(grid, file, r, (const uint32_t[]){a, b});
    ronde_score_print(grid, file);
    ronde_mem_free(ronde_mem_default(), scratch, total, sizeof *scratch);
    return RONDE_OK;
}
