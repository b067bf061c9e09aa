/**
 * docs/reference/golden/prices.md: how far closed forms are above the longest path where flows share nothing, worst case of a grid
 * of loads.
 */
#include "support/golden.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What a ratio may be away from 1 where a price claims to be exact. */
#define TIME_TOLERANCE 1e-9

/** No closed form is further off with the default slots; a third is one latency of four. */
#define MOST_ABOVE 1.34

/** Ports without limit: latency, bandwidth and reductions dominate in turn. */
static const struct ronde_network machines[] = {
    {.time = {.alpha_ns = 50000, .step_ns = 10, .lane_GBps = 2}},
    {.time = {.alpha_ns = 700, .step_ns = 20, .gamma_GBps = 3, .lane_GBps = 5}},
    {.time = {.alpha_ns = 1000, .step_ns = 300, .launch_ns = 5000, .gamma_GBps = 20, .copy_GBps = 30}},
};

/** A ratio and where it was found. */
struct ratio {
    double worst;
    uint32_t ranks;
    uint32_t pieces;
};

/** A row of the table. */
struct row {
    uint32_t loads;          /**< compared, with the default slots */
    uint32_t exact;          /**< of these */
    struct ratio by_default; /**< slots */
    struct ratio by_two;     /**< slots */
};

static void compare(const struct ronde_algorithm *algorithm, const struct ronde_schedule *schedule,
                    const struct ronde_network *machine, const struct ronde_load *load,
                    struct ratio *ratio, bool *out_is_exact)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = schedule->ranks};
    const struct ronde_price price = algorithm->price(&request, load, machine);
    double dag_ns = 0;
    const enum ronde_status status =
        ronde_dag_price(schedule, load, machine, ronde_mem_default(), &dag_ns, NULL);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    const double found = price.time_ns / dag_ns;
    CU_ASSERT(found >= 1 - TIME_TOLERANCE);
    CU_ASSERT(!price.is_exact || found <= 1 + TIME_TOLERANCE);
    *out_is_exact = price.is_exact;
    /* Beyond rounding only, so that the first load found is the same on every machine. */
    if (found > ratio->worst + 1e-6)
        *ratio = (struct ratio){found, schedule->ranks, 0};
}

/** All machines, small and larger pieces, both numbers of slots. */
static void fill(const struct ronde_algorithm *algorithm, const struct ronde_schedule *schedule,
                 uint32_t pieces, struct row *row)
{
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++)
        for (uint32_t bytes = 16; bytes <= 4096; bytes *= 16)
            for (uint32_t depth = 0; depth <= 2; depth += 2) {
                struct ratio *ratio = depth == 0 ? &row->by_default : &row->by_two;
                const struct ronde_load load = {
                    .count = (uint64_t)pieces * bytes / 4 * schedule->chunks_per_block *
                             schedule->channel_count,
                    .dtype = RONDE_FLOAT32,
                    .slot_bytes = (uint64_t)bytes * schedule->max_chunk_count,
                    .depth = depth,
                };
                const double before = ratio->worst;
                bool is_exact = false;
                compare(algorithm, schedule, &machines[m], &load, ratio, &is_exact);
                ratio->pieces = ratio->worst > before ? pieces : ratio->pieces;
                row->loads += depth == 0;
                row->exact += depth == 0 && is_exact;
            }
}

/** All numbers of pieces for few ranks, fewer for many, whose graphs are large. */
static uint32_t next_pieces(uint32_t ranks, uint32_t pieces)
{
    if (ranks <= 12)
        return pieces < 16 ? pieces + 1 : pieces * 4;
    return pieces < 3 ? pieces + 1 : pieces * 3;
}

static void measure(const struct ronde_algorithm *algorithm, struct row *row)
{
    for (uint32_t ranks = 2; ranks <= 64; ranks += ranks < 33 ? 1 : 31) {
        const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                      .algorithm = algorithm->name,
                                                      .ranks = ranks};
        const uint32_t most = ranks <= 12 ? 64 : ranks <= 33 ? 9 : 3;
        struct ronde_schedule *schedule = NULL;
        if (algorithm->supports(&request, NULL) != RONDE_OK)
            continue;
        const enum ronde_status status =
            ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL);
        CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
        for (uint32_t pieces = 1; pieces <= most; pieces = next_pieces(ranks, pieces))
            fill(algorithm, schedule, pieces, row);
        ronde_schedule_destroy(schedule);
    }
}

static void print_ratio(const struct ratio *ratio, char *text, size_t bytes)
{
    if (ratio->worst > 1 + TIME_TOLERANCE)
        snprintf(text, bytes, "%.2f (%u, %u)", ratio->worst, ratio->ranks, ratio->pieces);
    else
        snprintf(text, bytes, "1");
}

static void print_row(FILE *file, const struct ronde_algorithm *algorithm)
{
    struct row row = {.by_default = {.worst = 1}, .by_two = {.worst = 1}};
    char by_default[32], by_two[32];
    measure(algorithm, &row);
    CU_ASSERT(row.loads > 0);
    CU_ASSERT(row.by_default.worst < MOST_ABOVE);
    CU_ASSERT(row.exact == row.loads || algorithm->why_approximate);
    print_ratio(&row.by_default, by_default, sizeof by_default);
    print_ratio(&row.by_two, by_two, sizeof by_two);
    fprintf(file, "| %s | `%s` | %.0f %% | %s | %s |\n",
            ronde_collective_text(algorithm->collective), algorithm->name,
            floor(100.0 * row.exact / row.loads), by_default, by_two);
}

/** What is not exact, and why. */
static void print_reasons(FILE *file)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    fputs("\n## What is not exact, and why\n\n", file);
    for (uint32_t a = 0; a < count; a++)
        if (algorithms[a]->why_approximate)
            fprintf(file, "- %s `%s`: %s.\n", ronde_collective_text(algorithms[a]->collective),
                    algorithms[a]->name, algorithms[a]->why_approximate);
}

static void the_page_says_how_far_closed_forms_are_off(void)
{
    static const char heading[] =
        "# How exact every closed form is\n\n"
        "Written by `RONDE_UPDATE_GOLDEN=1 build/tests/test_property_price_table`; "
        "[prices.md](../prices.md) says what was "
        "compared.\n\n"
        "| collective | algorithm | exact | worst | worst, two slots |\n|---|---|---|---|---|\n";
    char *text = NULL;
    size_t bytes = 0;
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    if (suite_is_sample()) {
        suite_skip("the table takes all of its loads; property/price has a sample of such");
        return;
    }
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(heading, file);
    for (uint32_t a = 0; a < count; a++)
        print_row(file, algorithms[a]);
    print_reasons(file);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    golden_compare("docs/reference/golden/prices.md", text);
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_page_says_how_far_closed_forms_are_off", the_page_says_how_far_closed_forms_are_off},
    };
    return suite_run("price_table", cases, sizeof cases / sizeof cases[0]);
}
