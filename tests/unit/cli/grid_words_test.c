/*
 * What a filled grid of measured and predicted times says in words: every figure is one that follows from the grid by
 * hand, and nothing is said of what nobody measured.
 */
#include "support/suite.h"

#include "cli/print/results.h"

#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHMS 2u
#define RANKS 2u
#define SIZES 4u

static const char *const names[ALGORITHMS] = {"ring", "tree"};
static const uint32_t ranks[RANKS] = {2, 8};
static const uint64_t sizes[SIZES] = {8, 1024, 65536, 1048576};

/* Measured, in us: the tree is twice as fast up to 1K, the ring from 64K on. */
static const double measured_us[SIZES][ALGORITHMS] = {{20, 10}, {20, 10}, {100, 200}, {400, 800}};

/* A grid and its points. */
struct stage {
    struct ronde_grid_point points[RANKS * SIZES * ALGORITHMS];
    struct ronde_validation grid;
};

/* Replays are 10 % slow everywhere; the closed form thinks the ring 20 % faster at any size. Eight ranks are too many. */
static void fill(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    stage->grid = (struct ronde_validation){.collective = RONDE_ALL_REDUCE,
                                            .algorithms = names,
                                            .algorithm_count = ALGORITHMS,
                                            .ranks = ranks,
                                            .rank_counts = RANKS,
                                            .size_count = SIZES,
                                            .points = stage->points};
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t s = 0; s < SIZES; s++)
            for (uint32_t a = 0; a < ALGORITHMS; a++) {
                struct ronde_grid_point *point = ronde_validation_point(&stage->grid, r, s, a);
                const double ns = 1000 * measured_us[s][a] * (r + 1);
                double samples[] = {ns, ns, ns};
                point->bytes = sizes[s];
                point->measured = ronde_stats_of(samples, 3);
                point->time_ns[RONDE_SOURCE_MEASURED] = ns;
                point->time_ns[RONDE_SOURCE_SIMGRID] = 1.1 * ns;
                point->time_ns[RONDE_SOURCE_CLOSED_FORM] = a == 0 ? 50000 : 60000;
                point->is_oversubscribed = r == 1;
            }
}

/* Text of a summary; free it. */
static char *summary_of(const struct ronde_validation *grid,
                        enum ronde_status (*print)(const struct ronde_validation *grid, FILE *file,
                                                   struct ronde_error *error))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(print(grid, file, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(fclose(file), 0);
    return text;
}

static void expect_said(const char *text, const char *words)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(text, words));
    if (!strstr(text, words))
        suite_note("\"%s\" is not in:\n%s", words, text);
}

static void errors_are_those_of_each_source_and_subset(void)
{
    struct stage stage;
    fill(&stage);
    char *text = summary_of(&stage.grid, ronde_summary_errors);
    expect_said(text, "#   simgrid     all points         16  10.0%  10.0%  10.0%  +10.0%");
    expect_said(text, "#   simgrid     ranks <= cores      8  10.0%  10.0%  10.0%  +10.0%");
    expect_said(text, "#   simgrid     oversubscribed      8  10.0%  10.0%  10.0%  +10.0%");
    /* 60 us for a tree of 10 us: off by 500 %. */
    expect_said(text, " 500.0%  ");
    expect_said(text, "  tree 2 8\n");
    CU_ASSERT_PTR_NULL(strstr(text, "crossover between"));
    CU_ASSERT_PTR_NULL(strstr(text, "#   ports "));
    CU_ASSERT_PTR_NULL(strstr(text, "#   cores "));
    free(text);
}

static void crossovers_are_bracketed_by_what_was_measured(void)
{
    struct stage stage;
    fill(&stage);
    char *text = summary_of(&stage.grid, ronde_summary_print);
    expect_said(text, "# ring or tree, 2 ranks\n");
    expect_said(text, "# ring or tree, 8 ranks (oversubscribed)\n");
    expect_said(text, "#   measured     crossover between 1K and 64K, near ");
    expect_said(text, ", then ring (by 100% before, 100% after)\n");
    expect_said(text, "#   simgrid      same winner at 4 of 4 decided sizes; ");
    expect_said(text, "#   closed form  same winner at 2 of 4 decided sizes; ");
    expect_said(text, "crossover none: ring is faster wherever they\n#     differ\n");
    CU_ASSERT_PTR_NULL(strstr(text, "no difference beyond noise"));
    free(text);
}

/* The same for both: nobody wins, and no winner is named. */
static void ties_are_no_difference(void)
{
    struct stage stage;
    fill(&stage);
    for (size_t i = 0; i < sizeof stage.points / sizeof stage.points[0]; i++) {
        struct ronde_grid_point *point = &stage.points[i];
        const double ns = (double)(1000 + point->bytes);
        double samples[] = {ns, ns, ns};
        point->measured = ronde_stats_of(samples, 3);
        point->time_ns[RONDE_SOURCE_MEASURED] = ns;
        point->time_ns[RONDE_SOURCE_SIMGRID] = ns;
        point->time_ns[RONDE_SOURCE_CLOSED_FORM] = ns;
    }
    char *text = summary_of(&stage.grid, ronde_summary_print);
    expect_said(text, "#   measured     crossover no difference beyond noise\n");
    expect_said(text, "#   simgrid      same winner at 0 of 0 decided sizes; ");
    CU_ASSERT_PTR_NULL(strstr(text, "is faster"));
    CU_ASSERT_PTR_NULL(strstr(text, "between"));
    free(text);
}

/* The first four changes of winner are named, the others counted: a grid that alternates has as many as sizes less one. */
static void many_crossovers_are_counted(void)
{
    static struct ronde_grid_point points[8 * ALGORITHMS];
    static const uint32_t two[1] = {2};
    const struct ronde_validation grid = {.collective = RONDE_ALL_REDUCE,
                                          .algorithms = names,
                                          .algorithm_count = ALGORITHMS,
                                          .ranks = two,
                                          .rank_counts = 1,
                                          .size_count = 8,
                                          .points = points};
    for (uint32_t s = 0; s < 8; s++)
        for (uint32_t a = 0; a < ALGORITHMS; a++) {
            struct ronde_grid_point *point = ronde_validation_point(&grid, 0, s, a);
            const double ns = (s + a) % 2 == 0 ? 3000 : 1000;
            double samples[] = {ns, ns, ns};
            point->bytes = UINT64_C(1024) << s;
            point->measured = ronde_stats_of(samples, 3);
            for (uint32_t source = 0; source < RONDE_SOURCE_COUNT; source++)
                point->time_ns[source] = ns;
        }
    char *text = summary_of(&grid, ronde_summary_print);
    expect_said(text, "crossover between 1K and 2K, near ");
    expect_said(text, "; between 4K and 8K, near ");
    expect_said(text, "3 more\n");
    /* A line that is too long goes on in the next one. */
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        CU_ASSERT(strcspn(line, "\n") <= 100);
    CU_ASSERT_PTR_NULL(strstr(text, "between 16K and 32K"));
    free(text);
}

/* The paragraph of a grid on one machine; NULL after a skip. Free it. */
static char *paragraph_of(const struct stage *stage)
{
    char path[4096], *text = NULL;
    size_t bytes = 0;
    struct ronde_platform *platform = NULL;
    if (!suite_can_read_platforms())
        return NULL;
    CU_ASSERT_FATAL(suite_source(path, sizeof path, "topologies/crossbar-64.xml"));
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL), RONDE_OK);
    const struct ronde_comparison comparison = {.options.forecast.platform = platform,
                                                .grid = stage->grid};
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ronde_paragraph_print(&comparison, file, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(fclose(file), 0);
    ronde_platform_destroy(platform);
    return text;
}

static void the_paragraph_says_how_far_off(void)
{
    struct stage stage;
    fill(&stage);
    char *text = paragraph_of(&stage);
    if (!text)
        return;
    expect_said(text,
                "With a core for every rank the replay is off by 10% in the median and 10% at "
                "worst (8 points, usually too slow)");
    expect_said(text, "With more ranks than cores the replay is off by 10%");
    expect_said(text, "the replay names the faster one at 8 of 8 points, the closed form at 4. ");
    expect_said(text, "0 of 16 points were disturbed");
    CU_ASSERT_PTR_NULL(strstr(text, "this machine was busy"));
    /* 400 us for 1M are 0.38 ns a byte, no more than at any smaller size. */
    expect_said(text,
                "on 8 ranks the ring takes least time per byte at 1M bytes and 1.0 times as much");
    free(text);
}

/* A subset without points is not mentioned; points that scatter are counted, and many of them are the machine's. */
static void the_paragraph_tells_a_busy_machine(void)
{
    struct stage stage;
    fill(&stage);
    for (size_t i = 0; i < sizeof stage.points / sizeof stage.points[0]; i++) {
        struct ronde_grid_point *point = &stage.points[i];
        const double ns = point->measured.median;
        double samples[] = {ns, ns, ns, ns, i < 3 ? 2 * ns : ns};
        point->is_oversubscribed = false;
        point->measured = ronde_stats_of(samples, 5);
        point->time_ns[RONDE_SOURCE_SIMGRID] = 0.75 * ns;
    }
    char *text = paragraph_of(&stage);
    if (!text)
        return;
    expect_said(text,
                "the replay is off by 25% in the median and 25% at worst (16 points, usually too "
                "fast)");
    CU_ASSERT_PTR_NULL(strstr(text, "With more ranks than cores"));
    expect_said(text, "3 of 16 points were disturbed");
    expect_said(text, "this machine was busy");
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"errors_are_those_of_each_source_and_subset", errors_are_those_of_each_source_and_subset},
        {"crossovers_are_bracketed_by_what_was_measured",
         crossovers_are_bracketed_by_what_was_measured},
        {"ties_are_no_difference", ties_are_no_difference},
        {"many_crossovers_are_counted", many_crossovers_are_counted},
        {"the_paragraph_says_how_far_off", the_paragraph_says_how_far_off},
        {"the_paragraph_tells_a_busy_machine", the_paragraph_tells_a_busy_machine},
    };
    return suite_run("grid_words", cases, sizeof cases / sizeof cases[0]);
}
