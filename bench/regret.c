/*
 * What planning costs where it is wrong (tests/support/combinations.h), on a machine, for every collective and sizes from
 * 1 KiB to 1 GiB.
 *
 * bench_regret PLATFORM [RANKS [COLLECTIVE]]: rows of a table in Markdown; bench_regret --head: its head.
 */
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

int main(int argc, char **argv)
{
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (argc == 2 && strcmp(argv[1], "--head") == 0) {
        fputs(head, stdout);
        return 0;
    }
    if (argc < 2 ||
        ronde_platform_read(argv[1], ronde_mem_default(), &platform, &error) != RONDE_OK) {
        fprintf(stderr, "usage: bench_regret PLATFORM [RANKS [COLLECTIVE]]  %s\n", error.message);
        return 2;
    }
    struct combinations all = {.platform = platform, .ranks = ronde_platform_facts(platform)->hosts};
    if (argc > 2 && atoi(argv[2]) > 0)
        all.ranks = (uint32_t)atoi(argv[2]);
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        if (argc <= 3 || strcmp(argv[3], ronde_collective_text((enum ronde_collective)c)) == 0)
            compare_collective(&all, (enum ronde_collective)c);
    ronde_platform_destroy(platform);
    return 0;
}
