/*
 * Ranks that come at different times, on a network that takes no time: when each is done follows from what the collective is,
 * whatever the algorithm.
 */
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"

#include "predict/scenario/co_run.h"
#include "ronde/schedules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_RANKS 9u

/* One algorithm on a number of ranks, and when they come and leave. */
struct arrival_case {
    struct ronde_schedule *schedule;
    uint32_t ranks, root;
    double come_ns[MOST_RANKS];
    double leave_ns[MOST_RANKS];
};

/* What the definition of a collective says about a rank's end. */
typedef void (*end_check)(const struct arrival_case *one, double last_ns);

static void draw(uint64_t *state, struct arrival_case *one)
{
    for (uint32_t rank = 0; rank < one->ranks; rank++)
        one->come_ns[rank] = (double)(buffers_draw(state) % 1000);
}

static double last_of(const struct arrival_case *one)
{
    double last_ns = 0.0;
    for (uint32_t rank = 0; rank < one->ranks; rank++)
        last_ns = fmax(last_ns, one->come_ns[rank]);
    return last_ns;
}

static uint32_t replay_all(enum ronde_collective collective, end_check judge)
{
    uint64_t state = 71;
    uint32_t count = 0, replays = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 2; ranks <= MOST_RANKS && algorithms[a]->collective == collective;
             ranks++) {
            struct arrival_case one = {.ranks = ranks, .root = ranks / 2};
            struct ronde_error error = {0};
            const struct ronde_compile_request request = {.collective = collective,
                                                          .algorithm = algorithms[a]->name,
                                                          .ranks = ranks,
                                                          .root = one.root};
            if (ronde_compile(&request, ronde_mem_default(), NULL, &one.schedule, &error) != RONDE_OK)
                continue;
            for (uint32_t round = 0; round < 5; round++, replays++) {
                draw(&state, &one);
                CU_ASSERT_EQUAL(ronde_arrivals_replay(one.schedule, one.come_ns, one.leave_ns,
                                                      &error),
                                RONDE_OK);
                const double last_ns = last_of(&one);
                for (uint32_t rank = 0; rank < ranks; rank++) {
                    CU_ASSERT(one.leave_ns[rank] >= one.come_ns[rank]);
                    CU_ASSERT(one.leave_ns[rank] <= last_ns);
                }
                judge(&one, last_ns);
            }
            ronde_schedule_destroy(one.schedule);
        }
    return replays;
}

/* Everyone's input is needed by everyone: nobody is done before the last has come, and everybody is then. */
static void all_leave_with_the_last(const struct arrival_case *one, double last_ns)
{
    for (uint32_t rank = 0; rank < one->ranks; rank++)
        CU_ASSERT_EQUAL(one->leave_ns[rank], last_ns);
}

static void where_all_need_all_nobody_leaves_before_the_last_has_come(void)
{
    static const enum ronde_collective collectives[] = {RONDE_BARRIER, RONDE_ALL_REDUCE,
                                                        RONDE_ALL_GATHER, RONDE_REDUCE_SCATTER,
                                                        RONDE_ALL_TO_ALL};
    for (size_t k = 0; k < sizeof collectives / sizeof collectives[0]; k++)
        CU_ASSERT(replay_all(collectives[k], all_leave_with_the_last) > 20);
}

static void nobody_leaves_before_the_root(const struct arrival_case *one, double last_ns)
{
    (void)last_ns;
    for (uint32_t rank = 0; rank < one->ranks; rank++)
        CU_ASSERT(one->leave_ns[rank] >= one->come_ns[one->root]);
}

static void what_a_root_has_waits_for_the_root(void)
{
    CU_ASSERT(replay_all(RONDE_BROADCAST, nobody_leaves_before_the_root) > 20);
    CU_ASSERT(replay_all(RONDE_SCATTER, nobody_leaves_before_the_root) > 20);
}

static void the_root_leaves_with_the_last(const struct arrival_case *one, double last_ns)
{
    CU_ASSERT_EQUAL(one->leave_ns[one->root], last_ns);
}

static void what_a_root_gets_waits_for_all(void)
{
    CU_ASSERT(replay_all(RONDE_GATHER, the_root_leaves_with_the_last) > 20);
    CU_ASSERT(replay_all(RONDE_REDUCE, the_root_leaves_with_the_last) > 20);
}

/* In a direct broadcast no rank waits for another but the root. */
static void direct_schedules_wait_for_no_third_rank(void)
{
    struct arrival_case one = {.ranks = 6, .root = 2, .come_ns = {50, 900, 100, 0, 70, 800}};
    const struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                                  .algorithm = "direct",
                                                  .ranks = 6,
                                                  .root = 2};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &one.schedule, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(ronde_arrivals_replay(one.schedule, one.come_ns, one.leave_ns, &error),
                    RONDE_OK);
    for (uint32_t rank = 0; rank < 6; rank++)
        CU_ASSERT_EQUAL(one.leave_ns[rank], fmax(one.come_ns[rank], 100.0));
    ronde_schedule_destroy(one.schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"where_all_need_all_nobody_leaves_before_the_last_has_come",
         where_all_need_all_nobody_leaves_before_the_last_has_come},
        {"what_a_root_has_waits_for_the_root", what_a_root_has_waits_for_the_root},
        {"what_a_root_gets_waits_for_all", what_a_root_gets_waits_for_all},
        {"direct_schedules_wait_for_no_third_rank", direct_schedules_wait_for_no_third_rank},
    };
    return suite_run("arrivals", cases, sizeof cases / sizeof cases[0]);
}
