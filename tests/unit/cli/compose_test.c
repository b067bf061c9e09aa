/** Two schedules as one, and what cannot be put together. */
#include "ronde/compose.h"
#include "ronde/schedules.h"
#include "support/suite.h"

#include <string.h>

static struct ronde_schedule *compile(enum ronde_collective collective, const char *algorithm,
                                      uint32_t ranks, uint32_t channels)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks,
                                                  .channels = channels};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL), RONDE_OK);
    CU_ASSERT_FATAL(schedule != NULL);
    return schedule;
}

/** Composes and frees both halves. */
static enum ronde_status compose(struct ronde_schedule *first, struct ronde_schedule *second,
                                 enum ronde_collective collective,
                                 struct ronde_schedule **out_whole, struct ronde_error *error)
{
    const enum ronde_status status =
        ronde_schedule_compose(first, second, collective, ronde_mem_default(), out_whole, error);
    ronde_schedule_destroy(first);
    ronde_schedule_destroy(second);
    return status;
}

static void reduce_scatter_then_all_gather_is_all_reduce(void)
{
    for (uint32_t ranks = 1; ranks <= 17; ranks++) {
        struct ronde_schedule *whole = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(compose(compile(RONDE_REDUCE_SCATTER, "ring", ranks, 2),
                                compile(RONDE_ALL_GATHER, "ring", ranks, 2), RONDE_ALL_REDUCE,
                                &whole, &error),
                        RONDE_OK);
        if (!whole)
            suite_note("%u ranks: %s", ranks, error.message);
        CU_ASSERT_FATAL(whole != NULL);
        CU_ASSERT(whole->proof.ok && whole->proof.quotient);
        CU_ASSERT_EQUAL(whole->chunks_per_block, ranks);
        struct ronde_schedule *ring = compile(RONDE_ALL_REDUCE, "ring", ranks, 2);
        CU_ASSERT_EQUAL(whole->proof.sent_chunks_max, ring->proof.sent_chunks_max);
        CU_ASSERT_EQUAL(whole->proof.critical_path, ring->proof.critical_path);
        CU_ASSERT(whole->proof.min_depth <=
                  ring->proof.min_depth); /* the halves have slots of their own */
        ronde_schedule_destroy(ring);
        ronde_schedule_destroy(whole);
    }
}

static void the_seam_is_fused(void)
{
    struct ronde_schedule *whole = NULL;
    CU_ASSERT_FATAL(compose(compile(RONDE_REDUCE_SCATTER, "ring", 4, 1),
                            compile(RONDE_ALL_GATHER, "ring", 4, 1), RONDE_ALL_REDUCE, &whole,
                            NULL) == RONDE_OK);
    const struct ronde_program *program = &whole->programs[0];
    /* the ring all_reduce's steps, and the copy of the own block that all_gather makes */
    CU_ASSERT_EQUAL(program->step_count, 8);
    CU_ASSERT_EQUAL(program->steps[3].op, RONDE_STEP_RRCS);
    ronde_schedule_destroy(whole);
}

static void composing_twice_moves_data_twice(void)
{
    struct ronde_schedule *whole = NULL;
    CU_ASSERT_EQUAL(compose(compile(RONDE_ALL_GATHER, "ring", 3, 1),
                            compile(RONDE_REDUCE_SCATTER, "ring", 3, 1), RONDE_ALL_REDUCE, &whole,
                            NULL),
                    RONDE_REJECTED);
    CU_ASSERT(whole == NULL);
}

static void halves_that_do_not_meet_are_refused(void)
{
    struct ronde_schedule *whole = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(compose(compile(RONDE_REDUCE_SCATTER, "ring", 3, 1),
                            compile(RONDE_ALL_GATHER, "ring", 4, 1), RONDE_ALL_REDUCE, &whole,
                            &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "3 ranks with 4") != NULL);
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(compose(compile(RONDE_REDUCE_SCATTER, "ring", 3, 1),
                            compile(RONDE_ALL_GATHER, "ring", 3, 2), RONDE_ALL_REDUCE, &whole,
                            &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT(strstr(error.message, "channels differ") != NULL);
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(compose(compile(RONDE_REDUCE_SCATTER, "ring", 3, 1),
                            compile(RONDE_ALL_REDUCE, "tree", 3, 1), RONDE_ALL_REDUCE, &whole,
                            &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT(strstr(error.message, "symmetries differ") != NULL);
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(compose(compile(RONDE_ALL_REDUCE, "ring", 3, 1),
                            compile(RONDE_ALL_GATHER, "ring", 3, 1), RONDE_ALL_GATHER, &whole,
                            &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "outputs 3 chunks") != NULL);
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(compose(compile(RONDE_REDUCE_SCATTER, "ring", 3, 1),
                            compile(RONDE_ALL_GATHER, "ring", 3, 1), RONDE_ALL_GATHER, &whole,
                            &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "is no all_gather: 3 chunks in, 3 out") != NULL);
}

/** Two collectives that make a third. */
struct recipe {
    enum ronde_collective first, second, whole;
};

/** What came of all pairs of algorithms of a recipe. */
struct tally {
    uint32_t proved, refused;
};

/** A pair is proved, or refused with a reason that does not come from the proof. */
static void try_pair(const struct recipe *recipe, const char *const names[2], uint32_t ranks,
                     struct tally *tally)
{
    struct ronde_schedule *whole = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        compose(compile(recipe->first, names[0], ranks, 1),
                compile(recipe->second, names[1], ranks, 1), recipe->whole, &whole, &error);
    CU_ASSERT(status == RONDE_OK || status == RONDE_UNSUPPORTED || status == RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(status == RONDE_OK, whole != NULL);
    if (status == RONDE_REJECTED)
        suite_note("%s;%s on %u: %s", names[0], names[1], ranks, error.message);
    tally->proved += status == RONDE_OK;
    tally->refused += status != RONDE_OK;
    ronde_schedule_destroy(whole);
}

static bool is_supported(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = 1};
    return algorithm->supports(&request, NULL) == RONDE_OK;
}

static void try_recipe(const struct recipe *recipe, uint32_t ranks, struct tally *tally)
{
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < count; k++) {
            const char *const names[2] = {all[i]->name, all[k]->name};
            if (all[i]->collective == recipe->first && all[k]->collective == recipe->second &&
                is_supported(all[i], ranks) && is_supported(all[k], ranks))
                try_pair(recipe, names, ranks, tally);
        }
}

static void all_pairs_of_algorithms_are_proved_or_refused(void)
{
    static const struct recipe recipes[] = {
        {RONDE_REDUCE_SCATTER, RONDE_ALL_GATHER, RONDE_ALL_REDUCE},
        {RONDE_REDUCE, RONDE_BROADCAST, RONDE_ALL_REDUCE},
        {RONDE_SCATTER, RONDE_ALL_GATHER, RONDE_BROADCAST},
        {RONDE_REDUCE_SCATTER, RONDE_GATHER, RONDE_REDUCE},
        {RONDE_REDUCE, RONDE_SCATTER, RONDE_REDUCE_SCATTER},
        {RONDE_GATHER, RONDE_BROADCAST, RONDE_ALL_GATHER},
    };
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        struct tally tally = {0, 0};
        for (uint32_t ranks = 1; ranks <= 9; ranks++)
            try_recipe(&recipes[r], ranks, &tally);
        suite_note("%s;%s: %u proved, %u refused", ronde_collective_text(recipes[r].first),
                   ronde_collective_text(recipes[r].second), tally.proved, tally.refused);
        CU_ASSERT(tally.proved > 0);
    }
}

static void broadcasting_twice_is_dead_work(void)
{
    struct ronde_schedule *whole = NULL;
    struct ronde_error error = {0};
    /* the root of the second has the data anyway: what the first sent reaches no output */
    const enum ronde_status status =
        compose(compile(RONDE_BROADCAST, "binomial", 4, 1),
                compile(RONDE_BROADCAST, "binomial", 4, 1), RONDE_BROADCAST, &whole, &error);
    CU_ASSERT_EQUAL(status, RONDE_REJECTED);
    CU_ASSERT(strstr(error.message, "dead_work") != NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {
#define CASE(name) {#name, name}
        CASE(reduce_scatter_then_all_gather_is_all_reduce),
        CASE(the_seam_is_fused),
        CASE(composing_twice_moves_data_twice),
        CASE(halves_that_do_not_meet_are_refused),
        CASE(all_pairs_of_algorithms_are_proved_or_refused),
        CASE(broadcasting_twice_is_dead_work),
    };
    return suite_run("compose", cases, sizeof cases / sizeof cases[0]);
}
