/* Combinations tried one by one. See combinations.h. */
#include "combinations.h"

#include "ronde/selector.h"
#include "ronde/setup.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

static const uint32_t channel_counts[] = {1, 8, 4, 2, 16};
static const uint64_t slots[] = {0,        UINT64_C(1) << 31, 128u << 10, 512u << 10,
                                 8u << 10, 32u << 10,         2u << 20,   8u << 20};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What is tried of both where few are. */
#define FEW_CHANNELS 2u
#define FEW_SLOTS 3u

/* Steps of a replay that is not tried: thousands of pieces, as good as half as many. */
#define MOST_STEPS (UINT64_C(1) << 18)

static const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};

static enum ronde_status plan_sizes(struct combinations *all, struct ronde_selector *selector,
                                    struct ronde_error *error)
{
    const uint64_t least_bytes =
        all->least_bytes > COMBINATIONS_LEAST_BYTES ? all->least_bytes : COMBINATIONS_LEAST_BYTES;
    enum ronde_status status = ronde_selector_use(selector, all->platform, NULL, 0, error);
    for (uint32_t i = 0; i < COMBINATIONS_SIZES && status == RONDE_OK; i++) {
        struct combinations_size *size = &all->sizes[i];
        struct ronde_decision decision;
        char text[RONDE_SETUP_OPTIONS_BYTES];
        *size = (struct combinations_size){.bytes = least_bytes << (4 * i), .least_ns = INFINITY};
        size->count =
            ronde_collective_count(all->collective, all->ranks, size->bytes, options.dtype);
        status = ronde_selector_decide(selector, size->count, &decision, error);
        if (status != RONDE_OK)
            break;
        size->planned_ns = selector->quotes[decision.best].time_ns;
        snprintf(size->planned, sizeof size->planned, "%s %s",
                 selector->choice.candidates[decision.best].request.algorithm,
                 ronde_decision_options(selector, &decision, text));
    }
    return status;
}

static enum ronde_status plan(struct combinations *all, struct ronde_error *error)
{
    const struct ronde_compile_request request = {.collective = all->collective,
                                                  .ranks = all->ranks};
    const clock_t start = clock();
    struct ronde_selector selector;
    enum ronde_status status = ronde_selector_open(&options, &request, &selector, error);
    if (status == RONDE_OK)
        status = plan_sizes(all, &selector, error);
    ronde_selector_close(&selector);
    all->plan_s = (double)(clock() - start) / CLOCKS_PER_SEC;
    return status;
}

/* One combination at one size: replayed where it may be faster. */
static void try_slot(struct combinations *all, const struct ronde_candidate *candidate,
                     uint64_t slot_bytes, struct combinations_size *size)
{
    struct ronde_forecast forecast = ronde_candidate_forecast(candidate, all->platform, &options);
    struct ronde_prediction prediction = {.time_ns = 0};
    if (slot_bytes)
        forecast.slot_bytes = slot_bytes;
    ronde_forecast_set_count(&forecast, size->count);
    if (slot_bytes && ronde_forecast_steps(&forecast) > MOST_STEPS)
        return;
    all->total++;
    enum ronde_status status = ronde_forecast_replay(&forecast, "flat", &prediction, NULL);
    if (status == RONDE_OK &&
        prediction.time_ns * fmax(1, prediction.result.busiest_utilisation) > size->planned_ns)
        return;
    all->replays++;
    status = ronde_forecast_replay(&forecast, "auto", &prediction, NULL);
    all->refused += status != RONDE_OK;
    if (status != RONDE_OK || prediction.time_ns >= size->least_ns)
        return;
    size->least_ns = prediction.time_ns;
    snprintf(size->least, sizeof size->least, "%s --channels %u --placement %s --slot %" PRIu64,
             candidate->request.algorithm, candidate->request.channels,
             ronde_placement_text(candidate->placement), slot_bytes);
}

static void try_candidate(struct combinations *all, const struct ronde_setup *setup)
{
    struct ronde_candidate candidate;
    const size_t slot_count = all->is_short ? FEW_SLOTS : COUNT(slots);
    if (ronde_candidate_open(setup, ronde_mem_default(), &candidate, NULL) != RONDE_OK)
        return;
    for (uint32_t i = 0; candidate.is_eligible && i < COMBINATIONS_SIZES; i += all->is_short ? 2 : 1)
        for (size_t s = 0; s < slot_count; s++)
            try_slot(all, &candidate, slots[s], &all->sizes[i]);
    ronde_candidate_close(&candidate, ronde_mem_default());
}

static void try_algorithm(struct combinations *all, const char *algorithm)
{
    struct ronde_setup setup = {.platform = all->platform,
                                .request = {.collective = all->collective,
                                            .algorithm = algorithm,
                                            .ranks = all->ranks},
                                .is_placed = true};
    const size_t channels = all->is_short ? FEW_CHANNELS : COUNT(channel_counts);
    for (size_t c = 0; c < channels; c++)
        for (uint32_t p = 0; p < RONDE_PLACEMENT_COUNT; p++) {
            setup.request.channels = channel_counts[c];
            setup.placement = (enum ronde_placement)p;
            try_candidate(all, &setup);
        }
}

/* Schedules made for the machine, as far as a plan weighs them unasked. */
static enum ronde_status try_forests(struct combinations *all, struct ronde_error *error)
{
    const struct ronde_compile_request request = {.collective = all->collective,
                                                  .ranks = all->ranks};
    const size_t slot_count = all->is_short ? FEW_SLOTS : COUNT(slots);
    struct ronde_choice choice = {.mem = ronde_mem_default()};
    const enum ronde_status status =
        ronde_choice_add_forests(&choice, &request, all->platform, &options, error);
    for (uint32_t c = 0; c < choice.count && status == RONDE_OK; c++)
        for (uint32_t i = 0; i < COMBINATIONS_SIZES; i += all->is_short ? 2 : 1)
            for (size_t s = 0; s < slot_count; s++)
                try_slot(all, &choice.candidates[c], slots[s], &all->sizes[i]);
    ronde_choice_fini(&choice);
    return status;
}

enum ronde_status combinations_try(struct combinations *all, struct ronde_error *error)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    enum ronde_status status = plan(all, error);
    all->total = all->replays = all->refused = 0;
    for (uint32_t a = 0; a < count && status == RONDE_OK; a++)
        if (algorithms[a]->collective == all->collective)
            try_algorithm(all, algorithms[a]->name);
    return status == RONDE_OK ? try_forests(all, error) : status;
}

double combinations_regret(const struct combinations_size *size)
{
    return fmax(0, size->planned_ns / size->least_ns - 1);
}
