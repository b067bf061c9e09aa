/**
 * The test of the prover: break every schedule in thousands of random ways. A mutant that is accepted must give the right
 * bytes on `host` in every interleaving tried, at its stated minimum depth and above. The kill rate is counted against the
 * mutants that `host` shows to be wrong.
 */
#include "engine/ir/arena.h"
#include "engine/ir/finish.h"
#include "ronde/backend.h"
#include "ronde/schedules.h"
#include "support/buffers.h"
#include "support/mutate.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What became of the mutants. */
struct tally {
    unsigned mutants;
    unsigned refused_harmful;  /**< rejected, and host goes wrong or hangs */
    unsigned refused_harmless; /**< rejected, host was right in every interleaving tried */
    unsigned malformed;        /**< rejected before it could be run at all */
    unsigned accepted_right;   /**< accepted, host right: equivalent mutants */
    unsigned accepted_wrong;   /**< a hole in the prover */
    unsigned disagreements;    /**< quotient and expansion differ */
};

/** Of each of some 300 schedules. */
#define MUTANTS 2000u

/** Mutants per schedule; RONDE_TEST_SCALE is a percentage. */
static unsigned mutants_per_schedule(void)
{
    return suite_is_sample() ? (unsigned)(MUTANTS * suite_number("RONDE_TEST_SCALE", 100) / 100) + 10
                             : MUTANTS;
}

/** What the mutants of a schedule run on, and must make of it: memory out of place and in place. */
struct bench {
    void *host;
    unsigned placements; /**< 1 where the collective has no form in place */
    struct buffers actual[2];
    struct buffers expected[2];
};

static void set_up(struct bench *bench, const struct ronde_schedule *schedule)
{
    bench->placements = 1u + ronde_collective_traits(schedule->collective)->has_in_place;
    for (unsigned in_place = 0; in_place < bench->placements; in_place++) {
        /* two pieces and a rest for the largest chunk: 16-byte slots, a few grains a chunk */
        const struct buffers_shape shape = {.collective = schedule->collective,
                                            .ranks = schedule->ranks,
                                            .root = schedule->root,
                                            .count = 9 * (uint64_t)schedule->chunks_per_block + 1,
                                            .dtype = RONDE_INT32,
                                            .op = RONDE_SUM,
                                            .in_place = in_place == 1,
                                            .data = BUFFERS_SMALL,
                                            .seed = 7};
        CU_ASSERT_FATAL(buffers_create(&shape, &bench->actual[in_place]));
        CU_ASSERT_FATAL(buffers_create(&shape, &bench->expected[in_place]));
        CU_ASSERT_FATAL(buffers_expect(&bench->expected[in_place]));
    }
}

static void clear_up(struct bench *bench)
{
    for (unsigned in_place = 0; in_place < bench->placements; in_place++) {
        buffers_destroy(&bench->actual[in_place]);
        buffers_destroy(&bench->expected[in_place]);
    }
}

/** Whether one run of a loaded schedule gives the right bytes. */
static bool is_right(struct bench *bench, void *program, unsigned in_place, uint32_t depth,
                     uint64_t seed)
{
    struct buffers *actual = &bench->actual[in_place];
    buffers_fill(actual);
    struct ronde_launch launch = buffers_launch(actual);
    launch.slot_bytes = 16;
    launch.depth = depth;
    launch.seed = seed;
    struct ronde_result result;
    char text[256];
    void *run = NULL;
    return ronde_backend_host.run(program, &launch, &run, NULL) == RONDE_OK &&
           ronde_backend_host.wait(run, &result, NULL) == RONDE_OK &&
           !buffers_differ(actual, &bench->expected[in_place], text, sizeof text);
}

/** Several interleavings, depths and both placements. */
static bool is_right_everywhere(struct bench *bench, const struct ronde_schedule *schedule,
                                uint32_t depth, unsigned interleavings)
{
    void *program = NULL;
    bool is_good = ronde_backend_host.load(bench->host, schedule, &program, NULL) == RONDE_OK;
    for (unsigned i = 0; is_good && i < interleavings; i++)
        for (unsigned in_place = 0; is_good && in_place < bench->placements; in_place++)
            is_good = is_right(bench, program, in_place, depth + (i % 3 == 2 ? 7 : i % 3), i);
    ronde_backend_host.unload(program);
    return is_good;
}

static struct ronde_schedule *compile(const struct ronde_algorithm *algorithm, uint32_t ranks,
                                      uint32_t channels)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = channels};
    struct ronde_schedule *schedule = NULL;
    if (algorithm->supports(&request, NULL) != RONDE_OK)
        return NULL;
    CU_ASSERT(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    return schedule;
}

static void report_hole(const struct ronde_schedule *mutant, enum mutate_kind kind)
{
    suite_note("hole: %s %s of %u ranks, %s: accepted with depth %u but wrong on host",
               ronde_collective_text(mutant->collective), mutant->algorithm, mutant->ranks,
               mutate_text(kind), mutant->proof.min_depth);
}

/** The same verdict must come from the quotient and from all positions written out. */
static void compare_with_expansion(const struct ronde_schedule *raw, bool is_accepted,
                                   struct tally *tally)
{
    if (raw->symmetry == RONDE_SYMMETRY_NONE)
        return;
    struct ronde_schedule *unrolled = mutate_unroll(raw);
    /* Where a mutant's chunks are no range at some position, the engine's own expansion decides. */
    const bool is_expansion_accepted =
        unrolled ? ronde_finish_raw(unrolled, NULL, NULL) == RONDE_OK
                 : ronde_schedule_prove_expansion(raw, ronde_mem_default(), NULL, NULL) == RONDE_OK;
    tally->disagreements += is_accepted != is_expansion_accepted;
    ronde_schedule_destroy(unrolled);
}

/** Finishes a mutant (consumed) and compares it with host. `depth` is what the original states. */
static void judge(struct bench *bench, struct ronde_schedule *mutant, enum mutate_kind kind,
                  uint32_t depth, struct tally *tally)
{
    struct ronde_schedule *unproved = NULL;
    CU_ASSERT_FATAL(ronde_raw_copy(mutant, ronde_mem_default(), &unproved, NULL) == RONDE_OK);
    tally->mutants++;
    const bool is_accepted = ronde_finish_raw(mutant, NULL, NULL) == RONDE_OK;
    if (ronde_finish_unproved(unproved, depth, NULL) == RONDE_OK)
        compare_with_expansion(unproved, is_accepted, tally);
    if (is_accepted && is_right_everywhere(bench, mutant, mutant->proof.min_depth, 6)) {
        tally->accepted_right++;
    } else if (is_accepted) {
        tally->accepted_wrong++;
        report_hole(mutant, kind);
    } else if (ronde_finish_unproved(unproved, depth, NULL) != RONDE_OK) {
        tally->malformed++;
    } else if (is_right_everywhere(bench, unproved, depth, 3)) {
        tally->refused_harmless++;
    } else {
        tally->refused_harmful++;
    }
    ronde_schedule_destroy(unproved);
    ronde_schedule_destroy(mutant);
}

/** Hashes met before: an open table that is never more than half full. */
struct seen {
    uint64_t hashes[4 * MUTANTS];
};

/** Notes a hash; false if it was there. */
static bool is_new(struct seen *seen, uint64_t hash)
{
    const size_t places = sizeof seen->hashes / sizeof seen->hashes[0];
    size_t at = (size_t)(hash % places);
    while (seen->hashes[at] != 0 && seen->hashes[at] != hash)
        at = (at + 1) % places;
    const bool is_first = seen->hashes[at] == 0;
    seen->hashes[at] = hash;
    return is_first;
}

/**
 * Mutates one schedule, every other time with its symmetry unrolled, so that single ranks break too. Few ranks have few
 * places to break: what is drawn again is not judged again.
 */
static void mutate_schedule(struct bench *bench, const struct ronde_schedule *schedule,
                            unsigned mutants, struct tally *tallies)
{
    static struct seen seen;
    uint64_t random = schedule->hash;
    const unsigned attempts = mutants * 8; /* a tree of two ranks has few places to break */
    memset(&seen, 0, sizeof seen);
    for (unsigned i = 0, made = 0; i < attempts && made < mutants; i++) {
        const enum mutate_kind kind = (enum mutate_kind)(buffers_draw(&random) % MUTATE_COUNT);
        struct ronde_schedule *mutant = NULL;
        if (i % 2 == 1)
            mutant = mutate_unroll(schedule);
        else
            CU_ASSERT(ronde_raw_copy(schedule, ronde_mem_default(), &mutant, NULL) == RONDE_OK);
        CU_ASSERT_FATAL(mutant != NULL);
        const uint64_t hash = ronde_schedule_hash(mutant);
        const bool is_mutant = mutate(mutant, kind, &random) && ronde_schedule_hash(mutant) != hash;
        made += is_mutant;
        if (is_mutant && is_new(&seen, ronde_schedule_hash(mutant)))
            judge(bench, mutant, kind, schedule->proof.min_depth, &tallies[kind]);
        else
            ronde_schedule_destroy(mutant);
    }
}

static void print_tallies(const struct tally *tallies)
{
    struct tally all = {0};
    suite_note("%-20s %8s %8s %8s %8s %8s %6s", "mutation", "mutants", "killed", "refused",
               "malform.", "equiv.", "holes");
    for (unsigned kind = 0; kind < MUTATE_COUNT; kind++) {
        const struct tally *tally = &tallies[kind];
        suite_note("%-20s %8u %8u %8u %8u %8u %6u", mutate_text((enum mutate_kind)kind),
                   tally->mutants, tally->refused_harmful, tally->refused_harmless,
                   tally->malformed, tally->accepted_right, tally->accepted_wrong);
        all.mutants += tally->mutants;
        all.refused_harmful += tally->refused_harmful;
        all.accepted_wrong += tally->accepted_wrong;
    }
    const unsigned harmful = all.refused_harmful + all.accepted_wrong;
    suite_note("kill rate: %u of %u mutants that host shows wrong (%.2f %%), %u mutants in all",
               all.refused_harmful, harmful, 100.0 * all.refused_harmful / (harmful ? harmful : 1),
               all.mutants);
    suite_note(
        "survivors are equivalent: a dependency that messages imply, a copy made twice, two");
    suite_note("independent steps swapped or put into two lanes, a kept copy that nobody reads");
}

static void every_harmful_mutant_is_rejected(void)
{
    struct bench bench = {0};
    struct ronde_machine machine;
    struct tally tallies[MUTATE_COUNT];
    memset(tallies, 0, sizeof tallies);
    CU_ASSERT_FATAL(ronde_backend_host.probe(&machine, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.open(&machine, ronde_mem_default(), &bench.host, NULL) ==
                    RONDE_OK);
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ranks = 2; ranks <= 9; ranks++) {
            struct ronde_schedule *schedule = compile(algorithms[i], ranks, 1 + ranks % 2);
            if (!schedule)
                continue;
            set_up(&bench, schedule);
            mutate_schedule(&bench, schedule, mutants_per_schedule(), tallies);
            clear_up(&bench);
            ronde_schedule_destroy(schedule);
        }
    print_tallies(tallies);
    for (unsigned kind = 0; kind < MUTATE_COUNT; kind++) {
        CU_ASSERT_EQUAL(tallies[kind].accepted_wrong, 0);
        CU_ASSERT_EQUAL(tallies[kind].disagreements, 0);
        CU_ASSERT(tallies[kind].mutants > 0);
        CU_ASSERT(tallies[kind].refused_harmful + tallies[kind].malformed > 0);
    }
    ronde_backend_host.close(bench.host);
}

/** Larger symmetric schedules: verdicts only, host would be slow. */
static void quotient_and_expansion_agree_on_larger_mutants(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    struct tally tally = {0};
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ranks = 10; ranks <= 33; ranks += suite_is_sample() ? 6 : 1) {
            struct ronde_schedule *schedule = compile(algorithms[i], ranks, 1);
            uint64_t random = ranks;
            for (unsigned k = 0; schedule && schedule->symmetry != RONDE_SYMMETRY_NONE && k < 60;
                 k++) {
                struct ronde_schedule *mutant = NULL, *raw = NULL;
                CU_ASSERT_FATAL(ronde_raw_copy(schedule, ronde_mem_default(), &mutant, NULL) ==
                                RONDE_OK);
                mutate(mutant, (enum mutate_kind)(k % MUTATE_COUNT), &random);
                CU_ASSERT_FATAL(ronde_raw_copy(mutant, ronde_mem_default(), &raw, NULL) == RONDE_OK);
                const bool is_accepted = ronde_finish_raw(mutant, NULL, NULL) == RONDE_OK;
                if (ronde_finish_unproved(raw, 1, NULL) == RONDE_OK)
                    compare_with_expansion(raw, is_accepted, &tally);
                tally.mutants++;
                ronde_schedule_destroy(raw);
                ronde_schedule_destroy(mutant);
            }
            ronde_schedule_destroy(schedule);
        }
    suite_note("%u symmetric mutants compared", tally.mutants);
    CU_ASSERT(tally.mutants > 0);
    CU_ASSERT_EQUAL(tally.disagreements, 0);
}

/** Gives all channels of a raw schedule one random order. */
static void shuffle_ranks(struct ronde_schedule *schedule, uint64_t *random)
{
    uint32_t *order = ronde_arena_new(schedule->arena, schedule->ranks, sizeof *order);
    CU_ASSERT_FATAL(order != NULL);
    for (uint32_t q = 0; q < schedule->ranks; q++) {
        const uint32_t other = (uint32_t)(buffers_draw(random) % (q + 1));
        order[q] = order[other];
        order[other] = q;
    }
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        schedule->channels[k].order = order;
}

/** An order sorts the chunks of a message anew: the verdict must be that of all positions under that order. */
static void compare_under_order(const struct ronde_schedule *schedule, unsigned round,
                                uint64_t *random, struct tally *tally)
{
    struct ronde_schedule *raw = NULL, *sealed = NULL;
    CU_ASSERT_FATAL(ronde_raw_copy(schedule, ronde_mem_default(), &raw, NULL) == RONDE_OK);
    shuffle_ranks(raw, random);
    if (round % 2 == 1)
        mutate(raw, (enum mutate_kind)(round / 2 % MUTATE_COUNT), random);
    CU_ASSERT_FATAL(ronde_raw_copy(raw, ronde_mem_default(), &sealed, NULL) == RONDE_OK);
    const bool is_accepted = ronde_finish_raw(sealed, NULL, NULL) == RONDE_OK;
    const bool is_expansion_accepted =
        ronde_schedule_prove_expansion(raw, ronde_mem_default(), NULL, NULL) == RONDE_OK;
    tally->mutants++;
    tally->accepted_right += is_accepted && sealed->proof.quotient;
    tally->disagreements += is_accepted != is_expansion_accepted;
    ronde_schedule_destroy(sealed);
    ronde_schedule_destroy(raw);
}

static void quotient_and_expansion_agree_under_orders(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    struct tally tally = {0};
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ranks = 3; ranks <= 16; ranks++) {
            struct ronde_schedule *schedule = compile(algorithms[i], ranks, 1);
            uint64_t random = ranks;
            const bool is_bundled = schedule && schedule->symmetry != RONDE_SYMMETRY_NONE &&
                                    schedule->collective != RONDE_SEND_RECV &&
                                    schedule->max_chunk_count > 1;
            for (unsigned round = 0; is_bundled && round < (suite_is_sample() ? 50 : 200); round++)
                compare_under_order(schedule, round, &random, &tally);
            ronde_schedule_destroy(schedule);
        }
    suite_note("%u schedules under random orders compared, %u of them accepted by their quotients",
               tally.mutants, tally.accepted_right);
    CU_ASSERT(tally.accepted_right > 0);
    CU_ASSERT_EQUAL(tally.disagreements, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_harmful_mutant_is_rejected", every_harmful_mutant_is_rejected},
        {"quotient_and_expansion_agree_on_larger_mutants",
         quotient_and_expansion_agree_on_larger_mutants},
        {"quotient_and_expansion_agree_under_orders", quotient_and_expansion_agree_under_orders},
    };
    return suite_run("mutation", cases, sizeof cases / sizeof cases[0]);
}
