/**
 * What is planned is within 3 % of the fastest of all combinations of algorithm, channels, placement and slot, tried one by
 * one, for every collective and from 1 KiB to 1 GiB, on machines whose flows share links and on some whose do not.
 * docs/results/regret.md has more combinations (build/bench/bench_regret).
 */
#include "support/built_with.h"
#include "support/combinations.h"
#include "support/suite.h"

#include "ronde/bound.h"
#include "ronde/generate.h"
#include "ronde/selector.h"
#include "ronde/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** What is planned takes longer than the fastest, at most. */
#define MOST_REGRET 0.03

static const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .engine = "auto"};

/** A machine and how many of its hosts take part. */
struct machine {
    const char *file; /**< of topologies/, or NULL: rails of so many nodes of eight */
    uint32_t nodes;
    uint32_t ranks;
    const char *out;  /**< a part that is out; NULL = none */
    const char *slow; /**< one at half its rate; NULL = none */
};

/** The machine read, and the file that goes with it. */
struct stage {
    char path[512];
    bool is_own; /**< the file goes with the test */
    struct ronde_platform *platform;
    uint32_t decided;  /**< points */
    uint32_t replayed; /**< rivals */
    double worst;      /**< regret */
};

static void break_parts(struct stage *stage, const struct machine *machine)
{
    struct ronde_error error = {0};
    if (machine->out)
        CU_ASSERT_EQUAL_FATAL(ronde_platform_without(stage->platform, &machine->out, 1, &error),
                              RONDE_OK);
    if (machine->slow)
        CU_ASSERT_EQUAL_FATAL(ronde_platform_degrade(stage->platform, machine->slow, 0.5, &error),
                              RONDE_OK);
}

static void stage_begin(struct stage *stage, const struct machine *machine)
{
    struct ronde_error error = {0};
    *stage = (struct stage){
        .is_own = !machine->file,
    };
    if (machine->file) {
        snprintf(stage->path, sizeof stage->path, "%s/topologies/%s.xml", RONDE_SOURCE_DIR,
                 machine->file);
    } else {
        const struct ronde_generate_request request = {.kind = "rail",
                                                       .nodes = machine->nodes,
                                                       .fabric = RONDE_FABRIC_COUNT};
        snprintf(stage->path, sizeof stage->path, "%s/regret-XXXXXX", RONDE_SCRATCH_DIR);
        const int descriptor = mkstemp(stage->path);
        FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
        CU_ASSERT_FATAL(file != NULL);
        CU_ASSERT_EQUAL_FATAL(ronde_generate(&request, file, &error), RONDE_OK);
        fclose(file);
    }
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(stage->path, ronde_mem_default(), &stage->platform,
                                              &error),
                          RONDE_OK);
    break_parts(stage, machine);
}

static void stage_end(struct stage *stage)
{
    ronde_platform_destroy(stage->platform);
    if (stage->is_own)
        unlink(stage->path);
}

static void check_collective(struct stage *stage, enum ronde_collective collective, uint32_t ranks)
{
    struct combinations all = {.platform = stage->platform,
                               .ranks = ranks,
                               .collective = collective,
                               .is_short = true};
    struct ronde_error error = {0};
    const enum ronde_status status = combinations_try(&all, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    CU_ASSERT(all.refused * 20 <= all.total);
    for (uint32_t i = 0; i < COMBINATIONS_SIZES; i += 2) {
        const struct combinations_size *size = &all.sizes[i];
        const double regret = combinations_regret(size);
        stage->decided++;
        stage->worst = fmax(stage->worst, regret);
        CU_ASSERT(regret <= MOST_REGRET);
        if (regret > MOST_REGRET)
            suite_note("%s of %llu bytes, %u ranks on %s: planned %s %.2f us, %s takes %.2f",
                       ronde_collective_text(collective), (unsigned long long)size->bytes, ranks,
                       stage->path, size->planned, size->planned_ns / 1e3, size->least,
                       size->least_ns / 1e3);
    }
    stage->replayed += all.replays;
}

static void what_is_planned_is_the_fastest(void)
{
    static const struct machine machines[] = {
        {"crossbar-64", 0, 8, NULL, NULL}, {"fat-tree-2to1-64", 0, 12, NULL, NULL},
        {NULL, 2, 16, NULL, NULL},         {"torus-8x8", 0, 24, NULL, NULL},
        {"mi300x", 0, 8, NULL, NULL},      {"dragonfly-72", 0, 18, NULL, NULL},
        {NULL, 2, 16, "n1g0_c", NULL},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct stage stage;
        stage_begin(&stage, &machines[m]);
        /* Of a sample every third collective, another of them on each machine. */
        const uint32_t stride = suite_is_sample() ? 3 : 1;
        for (uint32_t c = (uint32_t)m % stride; c < RONDE_COLLECTIVE_COUNT; c += stride)
            check_collective(&stage, (enum ronde_collective)c, machines[m].ranks);
        suite_note("%s, %u ranks: %u decisions, %u rivals replayed, at most %.4f above the fastest",
                   ronde_platform_facts(stage.platform)->name, machines[m].ranks, stage.decided,
                   stage.replayed, stage.worst);
        stage_end(&stage);
    }
}

/** What a plan takes for a load, in ns. */
static double planned_ns(const struct ronde_platform *platform, uint32_t ranks, uint64_t count)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE, .ranks = ranks};
    struct ronde_error error = {0};
    struct ronde_selector selector;
    struct ronde_decision decision;
    CU_ASSERT_EQUAL_FATAL(ronde_selector_open(&options, &request, &selector, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_selector_use(&selector, platform, NULL, 0, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_selector_decide(&selector, count, &decision, &error), RONDE_OK);
    const double time_ns = selector.quotes[decision.best].time_ns;
    ronde_selector_close(&selector);
    return time_ns;
}

/** What an algorithm takes for it in pieces. */
static double cut_ns(const struct ronde_platform *platform, uint32_t ranks, const char *algorithm,
                     uint64_t count, uint64_t slot_bytes)
{
    const struct ronde_setup setup = {.platform = platform,
                                      .request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks}};
    struct ronde_error error = {0};
    struct ronde_candidate candidate;
    struct ronde_prediction prediction = {.time_ns = 0};
    CU_ASSERT_EQUAL_FATAL(ronde_candidate_open(&setup, ronde_mem_default(), &candidate, &error),
                          RONDE_OK);
    struct ronde_forecast forecast = ronde_candidate_forecast(&candidate, platform, &options);
    forecast.slot_bytes = slot_bytes;
    ronde_forecast_set_count(&forecast, count);
    CU_ASSERT_EQUAL(ronde_forecast_replay(&forecast, "auto", &prediction, &error), RONDE_OK);
    ronde_candidate_close(&candidate, ronde_mem_default());
    return prediction.time_ns;
}

/** A load whose fastest pieces were missed once. */
struct missed {
    struct machine machine;
    uint64_t count;
    const char *algorithm;
    uint64_t slot_bytes;
};

/** Of more ranks than the bench has, where pieces are so short that their replay is long; and of estimates that are too high. */
static void short_pieces_are_replayed_where_they_pay(void)
{
    static const struct missed all[] = {
        {{NULL, 32, 256, NULL, NULL}, UINT64_C(4) << 20, "hierarchical_direct_tree", 8 << 10},
        {{NULL, 2, 16, NULL, NULL}, UINT64_C(1) << 20, "hierarchical_pairs", 32 << 10},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct missed *missed = &all[i];
        struct stage stage;
        stage_begin(&stage, &missed->machine);
        const double ns = planned_ns(stage.platform, missed->machine.ranks, missed->count);
        const double short_ns = cut_ns(stage.platform, missed->machine.ranks, missed->algorithm,
                                       missed->count, missed->slot_bytes);
        suite_note("planned %.2f us, %s %.2f", ns / 1e3, missed->algorithm, short_ns / 1e3);
        CU_ASSERT(ns <= (1 + MOST_REGRET) * short_ns);
        stage_end(&stage);
    }
}

/** Of more ranks than all combinations are tried for: all alike along six axes, or none like another. */
static void trees_are_planned_for_many_ranks(void)
{
    static const struct machine machines[] = {{"tofu-2x2x2", 0, 96, NULL, NULL},
                                              {"torus-8x8x8", 0, 150, NULL, NULL}};
    const uint64_t count = UINT64_C(16) << 20;
    if (!suite_can_read_platforms())
        return;
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct stage stage;
        stage_begin(&stage, &machines[m]);
        const double ns = planned_ns(stage.platform, machines[m].ranks, count);
        const double ring_ns = cut_ns(stage.platform, machines[m].ranks, "ring", count, 0);
        suite_note("%s, %u ranks: planned %.2f us, ring %.2f", machines[m].file, machines[m].ranks,
                   ns / 1e3, ring_ns / 1e3);
        CU_ASSERT(ns <= ring_ns / 3);
        stage_end(&stage);
    }
}

/** Of ranks that are not all alike, whose links are shared by many flows: pieces so short that a plan has all it can have. */
static void trees_past_a_slow_cable_are_cut_finely(void)
{
    static const struct machine rails = {NULL, 3, 24, NULL, "n1g0_c"};
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .ranks = rails.ranks};
    const uint64_t count = UINT64_C(16) << 20;
    struct ronde_error error = {0};
    struct ronde_bound bound;
    struct stage stage;
    if (!suite_can_read_platforms())
        return;
    stage_begin(&stage, &rails);
    CU_ASSERT_EQUAL_FATAL(ronde_bound_find(stage.platform, &request, ronde_mem_default(), &bound,
                                           &error),
                          RONDE_OK);
    const double least_ns = ronde_bound_ns(&bound, (double)count * 4);
    const double ns = planned_ns(stage.platform, rails.ranks, count);
    suite_note("planned %.2f us, at least %.2f", ns / 1e3, least_ns / 1e3);
    CU_ASSERT(least_ns >= 0.9 * ns);
    stage_end(&stage);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"short_pieces_are_replayed_where_they_pay", short_pieces_are_replayed_where_they_pay},
        {"trees_are_planned_for_many_ranks", trees_are_planned_for_many_ranks},
        {"trees_past_a_slow_cable_are_cut_finely", trees_past_a_slow_cable_are_cut_finely},
        {"what_is_planned_is_the_fastest", what_is_planned_is_the_fastest},
    };
    return suite_run("regret", cases, sizeof cases / sizeof cases[0]);
}
