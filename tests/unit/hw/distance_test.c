/* The distance between processors: what counts as the same, and that watching it ends. Nothing here depends on how far they are. */
#include "support/suite.h"

#include "ronde/distance.h"

/* False after a skip. */
static bool open_distance(struct ronde_distance **out_distance)
{
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_distance_open(ronde_mem_default(), out_distance, &error);
    if (status == RONDE_UNAVAILABLE) {
        CU_ASSERT_PTR_NULL(*out_distance);
        suite_skip("%s", error.message);
        return false;
    }
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    return true;
}

static void a_line_takes_time(void)
{
    struct ronde_distance *distance;
    if (!open_distance(&distance))
        return;
    for (uint32_t k = 0; k < 3; k++) {
        const double ns = ronde_distance_ns(distance);
        CU_ASSERT(ns > 0 && ns < 1e9);
    }
    ronde_distance_close(distance);
}

static void distances_are_alike_or_several_times_as_far(void)
{
    struct ronde_distance *distance;
    if (!open_distance(&distance))
        return;
    CU_ASSERT(ronde_distance_is_alike(50, 50));
    CU_ASSERT(ronde_distance_is_alike(50, 75));
    CU_ASSERT(ronde_distance_is_alike(75, 50));
    CU_ASSERT(!ronde_distance_is_alike(50, 250));
    CU_ASSERT(!ronde_distance_is_alike(250, 50));
    CU_ASSERT(!ronde_distance_is_alike(25, 50));
    /* A file that does not say. */
    CU_ASSERT(ronde_distance_is_alike(0, 50));
    CU_ASSERT(ronde_distance_is_alike(50, 0));
    ronde_distance_close(distance);
}

/* A distance that no machine has: what is measured counts once patience is over, and is told apart. */
static void patience_ends(void)
{
    struct ronde_distance *distance;
    if (!open_distance(&distance))
        return;
    ronde_distance_keep(distance, 1e-6, 2e7);
    ronde_distance_await(distance);
    CU_ASSERT(ronde_distance_held(distance));
    CU_ASSERT_EQUAL(ronde_distance_missed(distance), 1);
    ronde_distance_await(distance);
    CU_ASSERT(ronde_distance_held(distance));
    CU_ASSERT_EQUAL(ronde_distance_missed(distance), 2);
    /* Any distance will do. */
    ronde_distance_keep(distance, 0, 0);
    ronde_distance_await(distance);
    CU_ASSERT(ronde_distance_held(distance));
    CU_ASSERT_EQUAL(ronde_distance_missed(distance), 2);
    ronde_distance_close(distance);
}

static void without_a_watch_everything_holds(void)
{
    ronde_distance_keep(NULL, 1e-6, 1e9);
    ronde_distance_await(NULL);
    CU_ASSERT(ronde_distance_held(NULL));
    CU_ASSERT_EQUAL(ronde_distance_missed(NULL), 0);
    ronde_distance_close(NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_line_takes_time", a_line_takes_time},
        {"distances_are_alike_or_several_times_as_far", distances_are_alike_or_several_times_as_far},
        {"patience_ends", patience_ends},
        {"without_a_watch_everything_holds", without_a_watch_everything_holds},
    };
    return suite_run("distance", cases, sizeof cases / sizeof *cases);
}
