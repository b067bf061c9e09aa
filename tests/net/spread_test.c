/* Ranks that are too many on a processor: who moves, and whose rights stay as they were. */
#include "hw/comm/spread.h"
#include "support/suite.h"

#include <sched.h>

#define RANKS 4u

/* What a test needs of the system: two processors, on the first of which this thread is now. */
struct ground {
    cpu_set_t usable;
    uint32_t first;
    uint32_t second;
};

static void keep_to(uint32_t cpu)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof only, &only), 0);
}

static bool take_ground(struct ground *ground)
{
    uint32_t found = 0;
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof ground->usable, &ground->usable), 0);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &ground->usable))
            *(found++ == 0 ? &ground->first : &ground->second) = cpu;
    if (found < 2) {
        suite_skip("one processor only");
        return false;
    }
    keep_to(ground->first);
    return true;
}

/* Two usable processors, so that there is only one to go to. */
static void free_both(const struct ground *ground)
{
    cpu_set_t both;
    CPU_ZERO(&both);
    CPU_SET(ground->first, &both);
    CPU_SET(ground->second, &both);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof both, &both), 0);
}

static void leave_ground(const struct ground *ground)
{
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof ground->usable, &ground->usable), 0);
}

/* Puts so many of the ranks on the first processor, the others on the second. */
static void seat(uint32_t seats[RANKS], const struct ground *ground, uint32_t on_first)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        seats[rank] = (rank < on_first ? ground->first : ground->second) + 1;
}

/*
 * Looks as the rank that sits last on the first processor. The system may move this thread between the test's looks and
 * its own, so the seat it ends with is what counts: where it said it was when it looked, or where it went.
 */
static uint32_t look(uint32_t seats[RANKS], uint32_t rank, double *io_moved_ns, double now_ns)
{
    struct ronde_spread spread = {.seats = seats,
                                  .ranks = RANKS,
                                  .rank = rank,
                                  .moved_ns = *io_moved_ns};
    ronde_spread_look(&spread, now_ns);
    *io_moved_ns = spread.moved_ns;
    return seats[rank];
}

static void a_rank_says_where_it_is(void)
{
    struct ground ground;
    uint32_t seats[RANKS] = {0};
    double moved_ns = 0;
    if (!take_ground(&ground))
        return;
    CU_ASSERT_EQUAL(look(seats, 1, &moved_ns, 1e9), ground.first + 1);
    CU_ASSERT_EQUAL(seats[0] + seats[2] + seats[3], 0);
    leave_ground(&ground);
}

static void the_last_of_too_many_moves_and_is_not_held(void)
{
    struct ground ground;
    uint32_t seats[RANKS];
    cpu_set_t before, after;
    double moved_ns = 0;
    if (!take_ground(&ground))
        return;
    seat(seats, &ground, 3);
    free_both(&ground);
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof before, &before), 0);
    /* Wherever this thread is by now, it ends up where fewer were. */
    CU_ASSERT_EQUAL(look(seats, 2, &moved_ns, 1e9), ground.second + 1);
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof after, &after), 0);
    CU_ASSERT(CPU_EQUAL(&before, &after));
    leave_ground(&ground);
}

static void whoever_is_bound_stays(void)
{
    struct ground ground;
    uint32_t seats[RANKS];
    double moved_ns = 0;
    if (!take_ground(&ground))
        return;
    seat(seats, &ground, RANKS);
    CU_ASSERT_EQUAL(look(seats, RANKS - 1, &moved_ns, 1e9), ground.first + 1);
    CU_ASSERT_EQUAL(moved_ns, 0);
    leave_ground(&ground);
}

static void others_than_the_last_stay(void)
{
    struct ground ground;
    uint32_t seats[RANKS];
    if (!take_ground(&ground))
        return;
    free_both(&ground);
    for (uint32_t rank = 0; rank + 1 < RANKS; rank++) {
        double moved_ns = 0;
        /* All on this thread's processor, wherever it is: a later rank is the one to go. */
        seat(seats, &ground, RANKS);
        const uint32_t here = look(seats, rank, &moved_ns, 1e9);
        CU_ASSERT(here == ground.first + 1 || here == ground.second + 1);
        CU_ASSERT_EQUAL(moved_ns, 0);
    }
    leave_ground(&ground);
}

static void who_has_just_moved_stays(void)
{
    struct ground ground;
    uint32_t seats[RANKS];
    double moved_ns = 1e9;
    if (!take_ground(&ground))
        return;
    seat(seats, &ground, RANKS);
    free_both(&ground);
    (void)look(seats, RANKS - 1, &moved_ns, 1e9 + 1e6);
    CU_ASSERT_EQUAL(moved_ns, 1e9);
    leave_ground(&ground);
}

static void an_even_crowd_stays(void)
{
    struct ground ground;
    uint32_t seats[RANKS];
    double moved_ns = 0;
    if (!take_ground(&ground))
        return;
    seat(seats, &ground, 2);
    free_both(&ground);
    (void)look(seats, 1, &moved_ns, 1e9);
    /* If the system has moved this thread to the second processor, three are there and rank 3 is the one to go. */
    CU_ASSERT_EQUAL(moved_ns, 0);
    leave_ground(&ground);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_rank_says_where_it_is", a_rank_says_where_it_is},
        {"the_last_of_too_many_moves_and_is_not_held", the_last_of_too_many_moves_and_is_not_held},
        {"whoever_is_bound_stays", whoever_is_bound_stays},
        {"others_than_the_last_stay", others_than_the_last_stay},
        {"who_has_just_moved_stays", who_has_just_moved_stays},
        {"an_even_crowd_stays", an_even_crowd_stays},
    };
    return suite_run("spread", cases, sizeof cases / sizeof cases[0]);
}
