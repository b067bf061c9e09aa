/* Ranks that are too many on a processor: which one moves, and that its affinity mask stays as it was. */
#include "hw/shm/layout.h"
#include "support/suite.h"

#include <sched.h>

#define RANKS 4u

/* What a test needs of the system: two processors, on the first of which this thread is now. */
struct processors {
    cpu_set_t usable;
    uint32_t first;
    uint32_t second;
};

static void bind_to(uint32_t cpu)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof only, &only), 0);
}

static bool take_processors(struct processors *processors)
{
    uint32_t found = 0;
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof processors->usable, &processors->usable), 0);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &processors->usable))
            *(found++ == 0 ? &processors->first : &processors->second) = cpu;
    if (found < 2) {
        suite_skip("one processor only");
        return false;
    }
    bind_to(processors->first);
    return true;
}

/* Two usable processors, so that there is only one to go to. */
static void allow_both(const struct processors *processors)
{
    cpu_set_t both;
    CPU_ZERO(&both);
    CPU_SET(processors->first, &both);
    CPU_SET(processors->second, &both);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof both, &both), 0);
}

static void restore_affinity(const struct processors *processors)
{
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof processors->usable, &processors->usable), 0);
}

/* Puts so many of the ranks on the first processor, the others on the second. */
static void place_ranks(uint32_t cpu_of[RANKS], const struct processors *processors,
                        uint32_t on_first)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        cpu_of[rank] = (rank < on_first ? processors->first : processors->second) + 1;
}

/*
 * Checks as the last rank on the first processor. The system may move this thread between the test's reading and the
 * check's, so the entry it ends with is what counts: the processor it published when it checked, or to which it moved.
 */
static uint32_t check(uint32_t cpu_of[RANKS], uint32_t rank, double *io_moved_ns, double now_ns)
{
    struct ronde_cpu_balance cpu_balance = {.cpu_of = cpu_of,
                                            .ranks = RANKS,
                                            .rank = rank,
                                            .moved_ns = *io_moved_ns};
    ronde_cpu_balance_check(&cpu_balance, now_ns);
    *io_moved_ns = cpu_balance.moved_ns;
    return cpu_of[rank];
}

static void a_rank_publishes_its_processor(void)
{
    struct processors processors;
    uint32_t cpu_of[RANKS] = {0};
    double moved_ns = 0;
    if (!take_processors(&processors))
        return;
    CU_ASSERT_EQUAL(check(cpu_of, 1, &moved_ns, 1e9), processors.first + 1);
    CU_ASSERT_EQUAL(cpu_of[0] + cpu_of[2] + cpu_of[3], 0);
    restore_affinity(&processors);
}

static void the_last_of_too_many_moves_and_stays_unbound(void)
{
    struct processors processors;
    uint32_t cpu_of[RANKS];
    cpu_set_t before, after;
    double moved_ns = 0;
    if (!take_processors(&processors))
        return;
    place_ranks(cpu_of, &processors, 3);
    allow_both(&processors);
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof before, &before), 0);
    /* Wherever this thread is by now, it ends up where fewer were. */
    CU_ASSERT_EQUAL(check(cpu_of, 2, &moved_ns, 1e9), processors.second + 1);
    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof after, &after), 0);
    CU_ASSERT(CPU_EQUAL(&before, &after));
    restore_affinity(&processors);
}

static void a_bound_rank_stays(void)
{
    struct processors processors;
    uint32_t cpu_of[RANKS];
    double moved_ns = 0;
    if (!take_processors(&processors))
        return;
    place_ranks(cpu_of, &processors, RANKS);
    CU_ASSERT_EQUAL(check(cpu_of, RANKS - 1, &moved_ns, 1e9), processors.first + 1);
    CU_ASSERT_EQUAL(moved_ns, 0);
    restore_affinity(&processors);
}

static void others_than_the_last_stay(void)
{
    struct processors processors;
    uint32_t cpu_of[RANKS];
    if (!take_processors(&processors))
        return;
    allow_both(&processors);
    for (uint32_t rank = 0; rank + 1 < RANKS; rank++) {
        double moved_ns = 0;
        /* All on this thread's processor, wherever it is: a later rank is the one to go. */
        place_ranks(cpu_of, &processors, RANKS);
        const uint32_t here = check(cpu_of, rank, &moved_ns, 1e9);
        CU_ASSERT(here == processors.first + 1 || here == processors.second + 1);
        CU_ASSERT_EQUAL(moved_ns, 0);
    }
    restore_affinity(&processors);
}

static void a_rank_that_has_just_moved_stays(void)
{
    struct processors processors;
    uint32_t cpu_of[RANKS];
    double moved_ns = 1e9;
    if (!take_processors(&processors))
        return;
    place_ranks(cpu_of, &processors, RANKS);
    allow_both(&processors);
    (void)check(cpu_of, RANKS - 1, &moved_ns, 1e9 + 1e6);
    CU_ASSERT_EQUAL(moved_ns, 1e9);
    restore_affinity(&processors);
}

static void evenly_shared_processors_stay_so(void)
{
    struct processors processors;
    uint32_t cpu_of[RANKS];
    double moved_ns = 0;
    if (!take_processors(&processors))
        return;
    place_ranks(cpu_of, &processors, 2);
    allow_both(&processors);
    (void)check(cpu_of, 1, &moved_ns, 1e9);
    /* If the system has moved this thread to the second processor, three are there and rank 3 is the one to go. */
    CU_ASSERT_EQUAL(moved_ns, 0);
    restore_affinity(&processors);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_rank_publishes_its_processor", a_rank_publishes_its_processor},
        {"the_last_of_too_many_moves_and_stays_unbound",
         the_last_of_too_many_moves_and_stays_unbound},
        {"a_bound_rank_stays", a_bound_rank_stays},
        {"others_than_the_last_stay", others_than_the_last_stay},
        {"a_rank_that_has_just_moved_stays", a_rank_that_has_just_moved_stays},
        {"evenly_shared_processors_stay_so", evenly_shared_processors_stay_so},
    };
    return suite_run("cpu_balance", cases, sizeof cases / sizeof cases[0]);
}
