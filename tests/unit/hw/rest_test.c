/* What a rank does while it waits: polls as its transport says, or, in the background, pauses shortly and sleeps. */
#include "hw/comm/comm_parts.h"
#include "ronde/attach.h"
#include "support/suite.h"

/* How often a transport was asked. */
static uint32_t spins;
static uint32_t sleeps;
static bool is_marked;

static bool count_spin(const struct ronde_comm *comm, uint32_t idle)
{
    (void)comm;
    (void)idle;
    spins++;
    return true;
}

static bool mark(struct ronde_comm *comm)
{
    (void)comm;
    const bool was_marked = is_marked;
    is_marked = true;
    return was_marked;
}

static void count_sleep(struct ronde_comm *comm)
{
    (void)comm;
    sleeps++;
}

static const struct ronde_wire wire = {.spin = count_spin, .sleep_begin = mark, .sleep = count_sleep};

/* Rests after so many empty polls in a row as `polls` says, one after another. */
static void rest(bool is_background, uint32_t polls)
{
    struct ronde_comm comm = {.wire = &wire};
    spins = sleeps = 0;
    is_marked = false;
    ronde_comm_set_background(&comm, is_background);
    for (uint32_t idle = 1; idle <= polls; idle++)
        ronde_comm_rest(&comm, idle);
}

static void a_caller_polls_as_long_as_its_transport_says(void)
{
    rest(false, 1000);
    CU_ASSERT_EQUAL(spins, 1000);
    CU_ASSERT_EQUAL(sleeps, 0);
}

/* The transport would yield: a thread that computes then keeps the processor for a whole time slice. */
static void in_the_background_a_rank_sleeps_and_never_yields(void)
{
    rest(true, 1000);
    CU_ASSERT_EQUAL(spins, 0);
    CU_ASSERT(sleeps > 500);
}

/* What arrives at once is taken without a system call. */
static void in_the_background_the_first_polls_only_pause(void)
{
    rest(true, 50);
    CU_ASSERT_EQUAL(spins, 0);
    CU_ASSERT_EQUAL(sleeps, 0);
    CU_ASSERT_FALSE(is_marked);
}

/* Who calls and waits takes over from the progress thread. */
static void it_is_said_anew_by_each_thread(void)
{
    struct ronde_comm comm = {.wire = &wire};
    spins = sleeps = 0;
    ronde_comm_set_background(&comm, true);
    ronde_comm_set_background(&comm, false);
    ronde_comm_rest(&comm, 1000);
    CU_ASSERT_EQUAL(spins, 1);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_caller_polls_as_long_as_its_transport_says",
         a_caller_polls_as_long_as_its_transport_says},
        {"in_the_background_a_rank_sleeps_and_never_yields",
         in_the_background_a_rank_sleeps_and_never_yields},
        {"in_the_background_the_first_polls_only_pause",
         in_the_background_the_first_polls_only_pause},
        {"it_is_said_anew_by_each_thread", it_is_said_anew_by_each_thread},
    };
    return suite_run("rest", cases, sizeof cases / sizeof cases[0]);
}
