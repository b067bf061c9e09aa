/**
 * No load takes less than the bound of its candidate's outline, in one piece or, where pieces help, cut, on machines whose
 * costs are straight lines over sizes and on calibrated ones, whose costs are curves: random ones, seeded by RONDE_TEST_SEED.
 */
#include "support/built_with.h"
#include "support/suite.h"

#include "predict/choose/outline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MACHINES 8u
#define RANKS 36u /* more than those for which pieces are tried whatever they gain */

/** Chunks of an outline's large load differ by an element, and it takes the longest for all. */
#define ROUNDING 2e-3

/** Blocks divide into equal chunks. */
#define GRAIN (RANKS * 8u)

static uint64_t random_of(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

/** Costs of messages that rise by size as they like: steeply first, as eager ones, or not at all. */
static void put_curve(FILE *file, const char *name, uint64_t *state)
{
    uint64_t bytes = 1, ns = 0;
    fprintf(file, "<prop id=\"ronde.%s\" value=\"", name);
    for (uint32_t i = 0; i < 8; i++, bytes <<= 1 + random_of(state, 4))
        fprintf(file, "%s%llu:%llu", i > 0 ? " " : "", (unsigned long long)bytes,
                (unsigned long long)(ns += random_of(state, 20000)));
    fprintf(file, "\"/>\n");
}

static struct ronde_platform *make_machine(bool is_sized, uint64_t *state)
{
    char path[] = RONDE_SCRATCH_DIR "/outline-XXXXXX";
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    FILE *file = fdopen(mkstemp(path), "w");
    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, "<?xml version=\"1.0\"?>\n"
                  "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                  "<platform version=\"4.1\">\n");
    fprintf(file,
            "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-%u\" speed=\"1Gf\" "
            "bw=\"%uGBps\" lat=\"%uns\">\n",
            RANKS - 1, 1 + (unsigned)random_of(state, 50), 100 + (unsigned)random_of(state, 5000));
    fprintf(file, "<prop id=\"ronde.launch_ns\" value=\"%u\"/>\n",
            (unsigned)random_of(state, 1000000));
    if (is_sized) {
        put_curve(file, "send_ns", state);
        put_curve(file, "receive_ns", state);
        put_curve(file, "combine_ns", state);
    }
    fprintf(file, "</cluster>\n</platform>\n");
    fclose(file);
    const enum ronde_status status =
        ronde_platform_read(path, ronde_mem_default(), &platform, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    unlink(path);
    return platform;
}

static void check_load(struct ronde_forecast *forecast, const struct ronde_outline *outline,
                       uint64_t count, uint64_t slot_bytes)
{
    struct ronde_error error = {0};
    struct ronde_prediction prediction = {.time_ns = 0};
    forecast->load.count = count;
    forecast->load.slot_bytes = slot_bytes;
    CU_ASSERT_EQUAL(ronde_forecast_replay(forecast, "maxmin", &prediction, &error), RONDE_OK);
    const double bound_ns = ronde_outline_bound(outline, count);
    CU_ASSERT(bound_ns <= prediction.time_ns * (1 + ROUNDING));
    if (bound_ns > prediction.time_ns * (1 + ROUNDING))
        suite_note("%s, %llu elements, slot %llu: bound %.1f ns, takes %.1f",
                   forecast->schedule->algorithm, (unsigned long long)count,
                   (unsigned long long)slot_bytes, bound_ns, prediction.time_ns);
}

static void check_algorithm(const struct ronde_platform *platform, const char *name, uint64_t *state)
{
    static const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};
    const struct ronde_setup setup = {.platform = platform,
                                      .request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = name,
                                                  .ranks = RANKS}};
    struct ronde_error error = {0};
    struct ronde_candidate candidate;
    struct ronde_outline *outline = ronde_outline_create(ronde_mem_default());
    CU_ASSERT_PTR_NOT_NULL_FATAL(outline);
    if (ronde_candidate_open(&setup, ronde_mem_default(), &candidate, &error) != RONDE_OK) {
        ronde_outline_destroy(outline, ronde_mem_default());
        return;
    }
    struct ronde_forecast forecast = ronde_candidate_forecast(&candidate, platform, &options);
    CU_ASSERT_EQUAL(ronde_outline_find(&forecast, false, outline, &error), RONDE_OK);
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t count = GRAIN * (1 + random_of(state, UINT64_C(1) << random_of(state, 18)));
        check_load(&forecast, outline, count, 0);
        if (outline->likes_pieces)
            check_load(&forecast, outline, count, ronde_outline_slot_bytes(3));
    }
    ronde_outline_destroy(outline, ronde_mem_default());
    ronde_candidate_close(&candidate, ronde_mem_default());
}

static void no_load_takes_less_than_its_bound(void)
{
    uint64_t state = suite_number("RONDE_TEST_SEED", 20261129);
    uint32_t count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    if (!suite_can_read_platforms())
        return;
    for (uint32_t m = 0; m < MACHINES; m++) {
        struct ronde_platform *platform = make_machine(m % 2 == 0, &state);
        for (uint32_t a = 0; a < count; a++)
            if (all[a]->collective == RONDE_ALL_REDUCE)
                check_algorithm(platform, all[a]->name, &state);
        ronde_platform_destroy(platform);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"no_load_takes_less_than_its_bound", no_load_takes_less_than_its_bound},
    };
    return suite_run("outline_bound", cases, sizeof cases / sizeof cases[0]);
}
