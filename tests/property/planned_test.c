/**
 * What is planned against what was measured: the records of docs/results/, on the machine files they were predicted from.
 *
 * At every measured point the algorithm that prices say is taken among those that were measured there; what counts is how
 * much slower it was than the fastest. Times below 64 KiB on TCP are within one another's noise (docs/results/validation.md), so
 * a wrong name that costs nothing is no mistake.
 */
#include "support/suite.h"

#include "support/built_with.h"

#include "ronde/field.h"
#include "ronde/selector.h"
#include "ronde/stats.h"

#include <stdio.h>
#include <string.h>

/** Algorithms measured at a point, and points of a file, at most. */
#define MOST_MEASURED 8
#define MOST_POINTS 128
/** Longest line of a record, and room for its texts. */
#define LINE_BYTES 4096

/** One point: what was measured at it. */
struct point {
    enum ronde_collective collective;
    uint32_t ranks;
    uint64_t count;
    char algorithms[MOST_MEASURED][32];
    double time_ns[MOST_MEASURED];
    uint32_t measured;
};

/** All points of a file. */
struct points {
    struct point list[MOST_POINTS];
    uint32_t count;
};

/** The keys of a record that are needed. */
enum key { KIND, ENGINE_COLLECTIVE, ALGORITHM, RANKS, COUNT, TIME, KEYS };

static struct point *find_point(struct points *points, enum ronde_collective collective,
                                uint32_t ranks, uint64_t count)
{
    for (uint32_t i = 0; i < points->count; i++)
        if (points->list[i].collective == collective && points->list[i].ranks == ranks &&
            points->list[i].count == count)
            return &points->list[i];
    CU_ASSERT_FATAL(points->count < MOST_POINTS);
    points->list[points->count] =
        (struct point){.collective = collective, .ranks = ranks, .count = count};
    return &points->list[points->count++];
}

/** Takes a line that is a measurement; others are predictions and scores. */
static void take_line(const char *line, struct points *points)
{
    struct ronde_field fields[KEYS] = {
        ronde_field_null("kind"),  ronde_field_null("collective"), ronde_field_null("algorithm"),
        ronde_field_null("ranks"), ronde_field_null("count"),      ronde_field_null("time_ns"),
    };
    char texts[LINE_BYTES];
    struct ronde_error error = {0};
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    CU_ASSERT_EQUAL_FATAL(ronde_json_read(line, fields, KEYS, texts, sizeof texts, &error),
                          RONDE_OK);
    if (fields[KIND].kind != RONDE_FIELD_TEXT || strcmp(fields[KIND].text, "measured") != 0)
        return;
    CU_ASSERT_FATAL(ronde_collective_parse(fields[ENGINE_COLLECTIVE].text, &collective));
    struct point *point = find_point(points, collective, (uint32_t)fields[RANKS].integer,
                                     (uint64_t)fields[COUNT].integer);
    CU_ASSERT_FATAL(point->measured < MOST_MEASURED);
    snprintf(point->algorithms[point->measured], sizeof point->algorithms[0], "%s",
             fields[ALGORITHM].text);
    point->time_ns[point->measured++] =
        fields[TIME].kind == RONDE_FIELD_INTEGER ? (double)fields[TIME].integer : fields[TIME].real;
}

static void read_points(const char *name, struct points *out_points)
{
    char path[1024];
    static char line[LINE_BYTES];
    snprintf(path, sizeof path, "%s/docs/results/%s.jsonl", RONDE_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    CU_ASSERT_FATAL(file != NULL);
    out_points->count = 0;
    while (fgets(line, sizeof line, file))
        take_line(line, out_points);
    fclose(file);
}

/** How much slower than the fastest the planned one was, of those measured. */
static double regret_of(const struct point *point, const struct ronde_selector *chooser)
{
    uint32_t planned = 0, fastest = 0;
    double least_ns = 0.0;
    for (uint32_t m = 0; m < point->measured; m++) {
        const uint32_t i = ronde_choice_find(&chooser->choice, point->algorithms[m]);
        CU_ASSERT_FATAL(i != RONDE_NONE);
        if (m == 0 || chooser->quotes[i].time_ns < least_ns) {
            planned = m;
            least_ns = chooser->quotes[i].time_ns;
        }
        fastest = point->time_ns[m] < point->time_ns[fastest] ? m : fastest;
    }
    if (planned != fastest)
        suite_note("%s, %u ranks, %llu elements: planned %s %.2f us, fastest %s %.2f us",
                   ronde_collective_text(point->collective), point->ranks,
                   (unsigned long long)point->count, point->algorithms[planned],
                   point->time_ns[planned] / 1e3, point->algorithms[fastest],
                   point->time_ns[fastest] / 1e3);
    return point->time_ns[planned] / point->time_ns[fastest];
}

/** Plans one point on a platform. */
static double plan_point(const struct point *point, const struct ronde_platform *platform)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};
    const struct ronde_compile_request request = {.collective = point->collective,
                                                  .ranks = point->ranks};
    struct ronde_selector chooser;
    struct ronde_decision decision;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_selector_open(&options, &request, &chooser, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_selector_use(&chooser, platform, NULL, 0, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_selector_decide(&chooser, point->count, &decision, &error),
                          RONDE_OK);
    const double regret = regret_of(point, &chooser);
    ronde_selector_close(&chooser);
    return regret;
}

/** What a file must reach. */
struct bar {
    const char *name;
    double least_right; /**< share of points whose planned one is the fastest, or within 5 % of it */
    double worst;       /**< slower than the fastest, at most */
};

static void check_file(const struct bar *bar)
{
    static struct points points;
    double regrets[MOST_POINTS];
    char path[1024];
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    double worst = 0.0;
    uint32_t right = 0;
    read_points(bar->name, &points);
    snprintf(path, sizeof path, "%s/docs/results/%s.xml", RONDE_SOURCE_DIR, bar->name);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                          RONDE_OK);
    for (uint32_t i = 0; i < points.count; i++) {
        regrets[i] = plan_point(&points.list[i], platform);
        right += regrets[i] <= 1.05;
        worst = regrets[i] > worst ? regrets[i] : worst;
    }
    const struct ronde_stats stats = ronde_stats_of(regrets, points.count);
    suite_note("%s: %u of %u points within 5 %% of the fastest; slower by a factor of %.3f in the "
               "median, %.3f at most",
               bar->name, right, points.count, stats.median, worst);
    CU_ASSERT(points.count >= 16);
    CU_ASSERT(right >= bar->least_right * points.count);
    CU_ASSERT(worst <= bar->worst);
    ronde_platform_destroy(platform);
}

static void planned_is_nearly_as_fast_as_the_fastest(void)
{
    static const struct bar bars[] = {
        {"rig-kernel-4", 0.95, 1.1},
        {"rig-kernel-8", 0.95, 1.1},
        {"rig-tap-4", 0.95, 1.1},
        {"rig-tap-8", 0.95, 1.1},
        /* Eight ranks that take turns on two cores: of tree's and doubling's time the replay is off by as much. */
        {"cpu-validate", 0.85, 2.5},
    };
#if RONDE_ALL_COMPONENTS
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++)
        check_file(&bars[i]);
#else
    (void)bars;
    (void)check_file;
    suite_skip("no libxml2 or no jansson in this build");
#endif
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"planned_is_nearly_as_fast_as_the_fastest", planned_is_nearly_as_fast_as_the_fastest},
    };
    return suite_run("planned", cases, sizeof cases / sizeof cases[0]);
}
