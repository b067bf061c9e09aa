/**
 * What is cut into pieces by default is not slower for it: every algorithm on machines of several kinds, against one piece.
 */
#include "support/built_with.h"
#include "support/suite.h"

#include "ronde/collective.h"
#include "ronde/setup.h"

#include <stdio.h>

/* A pipeline of few pieces may be filled in as much time as it saves. */
#define NO_SLOWER 1.05

/* More than any load here: one piece. */
#define WHOLE (UINT64_C(1) << 40)

/* A machine of topologies/, and how many of its hosts take part. */
struct machine {
    const char *name;
    uint32_t ranks;
};

/* Nodes of eight, of eight that share NICs, hosts on one switch, some of which have no partner, and a torus. */
static const struct machine machines[] = {{"dgx-h100-pod", 16}, {"dgx-h100-pod", 64},
                                          {"dgx-a100", 8},      {"crossbar-64", 13},
                                          {"crossbar-64", 16},  {"torus-8x8", 64}};

static const uint64_t sizes[] = {1u << 16, 1u << 18, 1u << 20, 1u << 22, 1u << 26};

static double replay(struct ronde_forecast forecast, uint64_t count, uint64_t slot_bytes)
{
    struct ronde_prediction prediction = {.time_ns = 0};
    struct ronde_error error = {0};
    forecast.slot_bytes = slot_bytes;
    ronde_forecast_set_count(&forecast, count);
    CU_ASSERT_EQUAL(ronde_forecast_replay(&forecast, "auto", &prediction, &error), RONDE_OK);
    return prediction.time_ns;
}

/* Returns how many sizes are cut. */
static uint32_t check_algorithm(const struct ronde_platform *platform,
                                const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    static const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};
    const struct ronde_setup setup = {.platform = platform,
                                      .request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks}};
    struct ronde_candidate candidate;
    struct ronde_error error = {0};
    uint32_t cut = 0;
    if (ronde_candidate_open(&setup, ronde_mem_default(), &candidate, &error) != RONDE_OK)
        return 0;
    const struct ronde_forecast forecast = ronde_candidate_forecast(&candidate, platform, &options);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const uint64_t count =
            ronde_collective_count(algorithm->collective, ranks, sizes[s], options.dtype);
        struct ronde_forecast as_is = forecast;
        ronde_forecast_set_count(&as_is, count);
        if (as_is.load.slot_bytes == 0)
            continue;
        const double cut_ns = replay(forecast, count, 0);
        const double whole_ns = replay(forecast, count, WHOLE);
        cut++;
        CU_ASSERT(cut_ns <= NO_SLOWER * whole_ns);
        if (cut_ns > NO_SLOWER * whole_ns)
            suite_note("%s %s on %u of %s, %llu bytes: %.0f ns in pieces of %llu, %.0f in one",
                       ronde_collective_text(algorithm->collective), algorithm->name, ranks,
                       ronde_platform_facts(platform)->name, (unsigned long long)sizes[s], cut_ns,
                       (unsigned long long)as_is.load.slot_bytes, whole_ns);
    }
    ronde_candidate_close(&candidate, ronde_mem_default());
    return cut;
}

static void pieces_cost_nothing_by_default(void)
{
    uint32_t algorithms = 0, cut = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&algorithms);
    if (!suite_can_read_platforms())
        return;
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        char path[512];
        struct ronde_platform *platform = NULL;
        struct ronde_error error = {0};
        snprintf(path, sizeof path, "%s/topologies/%s.xml", RONDE_SOURCE_DIR, machines[m].name);
        CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                              RONDE_OK);
        for (uint32_t a = 0; a < algorithms; a++)
            cut += check_algorithm(platform, all[a], machines[m].ranks);
        ronde_platform_destroy(platform);
    }
    CU_ASSERT(cut > 100);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"pieces_cost_nothing_by_default", pieces_cost_nothing_by_default},
    };
    return suite_run("cut", cases, sizeof cases / sizeof cases[0]);
}
