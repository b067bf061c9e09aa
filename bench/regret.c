/*
 * What planning costs where it is wrong (tests/support/combinations.h), on a machine, for every collective and sizes from
 * 1 KiB to 1 GiB, or from -b on, which is more, as many by the same factor.
 *
 * bench_regret PLATFORM [RANKS [COLLECTIVE|all [short]]] [OPTION...]: rows of a table in Markdown; bench_regret --head: its head.
 * PLATFORM and the options of the machine are those of `ronde plan`; short: as tests/property/regret_test.c, a tenth of the work.
 */
#include "cli/options/option_groups.h"
#include "cli/options/topology.h"
#include "tests/support/combinations.h"

#include "ronde/collective.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More is said on stderr, with what would have been faster. */
#define WORTH_SAYING 0.01

static void compare_collective(struct combinations *all, enum ronde_collective collective)
{
    struct ronde_error error = {0};
    const char *machine = ronde_platform_facts(all->platform)->name;
    double worst = 0;
    all->collective = collective;
    if (combinations_try(all, &error) != RONDE_OK) {
        fprintf(stderr, "bench_regret: %s\n", error.message);
        exit(1);
    }
    for (uint32_t i = 0; i < COMBINATIONS_SIZES; i++) {
        const struct combinations_size *size = &all->sizes[i];
        if (isinf(size->least_ns))
            continue;
        const double regret = combinations_regret(size);
        worst = fmax(worst, regret);
        if (regret > WORTH_SAYING)
            fprintf(stderr,
                    "%s %s, %u ranks, %" PRIu64
                    " B: planned %s %.2f us, fastest %s %.2f us (%.1f %%)\n",
                    machine, ronde_collective_text(collective), all->ranks, size->bytes,
                    size->planned, size->planned_ns / 1e3, size->least, size->least_ns / 1e3,
                    100 * regret);
    }
    printf("| %s | %u | %s | %u | %u | %u | %.1f %% | %.2f |\n", machine, all->ranks,
           ronde_collective_text(collective), all->total, all->replays, all->refused, 100 * worst,
           all->plan_s);
    fflush(stdout);
}

static const char head[] = "| machine | ranks | collective | combinations | replayed | refused | "
                           "regret | plan, CPU s |\n"
                           "|---|---|---|---|---|---|---|---|\n";

static const struct ronde_option_use uses[] = {
    RONDE_TAKES(machine, "degrade without nics nodes fabric"),
    RONDE_TAKES(sizes, "minbytes"),
    RONDE_TAKES_END,
};

static const struct ronde_command command = {
    .name = "bench_regret",
    .arguments = "PLATFORM [RANKS [COLLECTIVE|all [short]]]",
    .summary = "what planning costs where it is wrong",
    .examples = "  bench_regret torus-8x8 24 all_reduce --without h3\n",
    .uses = uses,
    .max_arguments = 4,
};

static enum ronde_status open_machine(int argc, char **argv, struct ronde_options *options,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    RONDE_TRY(ronde_options_parse(&command, argc, argv, options, error));
    if (!options->arguments[0])
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "usage: bench_regret %s", command.arguments);
    return ronde_open_argument(options, 0, out_platform, error);
}

int main(int argc, char **argv)
{
    static struct ronde_options options;
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (argc == 2 && strcmp(argv[1], "--head") == 0) {
        fputs(head, stdout);
        return 0;
    }
    if (open_machine(argc, argv, &options, &platform, &error) != RONDE_OK) {
        fprintf(stderr, "bench_regret: %s\n", error.message);
        return 2;
    }
    const char *ranks = options.arguments[1], *collective = options.arguments[2];
    struct combinations all = {.platform = platform,
                               .ranks = ronde_platform_facts(platform)->hosts,
                               .least_bytes = options.sizes.min_bytes};
    all.is_short = options.arguments[3] && strcmp(options.arguments[3], "short") == 0;
    if (ranks && atoi(ranks) > 0)
        all.ranks = (uint32_t)atoi(ranks);
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        if (!collective || strcmp(collective, "all") == 0 ||
            strcmp(collective, ronde_collective_text((enum ronde_collective)c)) == 0)
            compare_collective(&all, (enum ronde_collective)c);
    ronde_platform_destroy(platform);
    return 0;
}
