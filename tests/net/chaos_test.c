/*
 * Ranks that die or stand still wherever they happen to be: between two instructions of loading, running and dividing.
 *
 * Where that is, timers decide; what must hold does not depend on it. RONDE_TEST_SCALE is the number of teams in percent.
 */
#include "net/run.h"
#include "support/buffers.h"
#include "support/suite.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

#define RANKS 4u

/* Teams at 100 percent. */
#define TEAMS 8u

/* So late a rank dies at most, after it has joined; loading and running take some milliseconds each. */
#define LATEST_US 40000u

/* Pauses of each rank, the longest of which is far below the limits. */
#define PAUSES 6u
#define LONGEST_PAUSE_MS 20u

/* Which rank dies, and when. */
struct fate {
    uint32_t rank;
    uint32_t after_us;
};

/* The signal's default is to end the process, as SIGKILL does: no handler, no farewell. */
static void die_after(uint32_t after_us)
{
    const struct itimerval timer = {{0, 0}, {0, (suseconds_t)after_us}};
    (void)signal(SIGALRM, SIG_DFL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* Loads, runs and divides until something ends it, at most so often. */
static enum ronde_status work(const struct team_member *member, struct ronde_comm *comm,
                              uint32_t rounds, struct ronde_error *error)
{
    static const char *const algorithms[] = {"ring", "recursive_doubling", "direct", "tree"};
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < rounds && status == RONDE_OK; k++) {
        struct ronde_comm *group = NULL;
        status = run_sums(member, comm, algorithms[k % 4], 5, error);
        if (status == RONDE_OK && k % 4 == 3)
            status = ronde_comm_split(comm, member->join.rank % 2, 0, &group, error);
        if (status == RONDE_OK && group)
            status = run_sums(member, group, "ring", 2, error);
        ronde_comm_destroy(group);
    }
    return status;
}

static enum ronde_status work_until_one_dies(const struct team_member *member,
                                             struct ronde_error *error)
{
    const struct fate *fate = member->self;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = team_join(member, 2, &comm, error);
    if (member->join.rank == fate->rank)
        die_after(fate->after_us);
    if (status == RONDE_OK)
        status = work(member, comm, UINT32_MAX, error);
    ronde_comm_destroy(comm);
    return status;
}

/*
 * All survivors end by themselves, with an error. Returns how many of them name the dead: in a group it has another number,
 * and a rank that gets the error there may leave the others before they do.
 */
static uint32_t expect_survivors(const struct fate *fate)
{
    uint32_t named = 0;
    char name[32];
    snprintf(name, sizeof name, "rank %u", fate->rank);
    CU_ASSERT_EQUAL(results[fate->rank].signal, SIGALRM);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct team_result *at = &results[rank];
        if (rank == fate->rank)
            continue;
        const bool is_right = at->exit_code == 0 && at->failures == 0 && at->status != RONDE_OK;
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("rank %u of which %u died after %u us: exit %d signal %d, %s \"%s\", %s",
                       rank, fate->rank, fate->after_us, at->exit_code, at->signal,
                       ronde_status_text(at->status), at->message, at->failure);
        named += strstr(at->message, name) != NULL;
    }
    return named;
}

static void a_rank_killed_anywhere_ends_the_others_well(void)
{
    uint64_t random = suite_number("RONDE_TEST_SEED", 5);
    const uint64_t teams = TEAMS * suite_number("RONDE_TEST_SCALE", 100) / 100;
    uint64_t named = 0;
    for (uint64_t k = 0; k < teams; k++) {
        const struct fate fate = {(uint32_t)(k % RANKS),
                                  1 + (uint32_t)(buffers_draw(&random) %
                                                 (LATEST_US * team_patience()))};
        CU_ASSERT_FATAL(team_run(RANKS, work_until_one_dies, &fate, results));
        named += expect_survivors(&fate);
    }
    CU_ASSERT(named * 2 > teams * (RANKS - 1));
    suite_note("%llu of %llu survivors name the dead", (unsigned long long)named,
               (unsigned long long)(teams * (RANKS - 1)));
}

/* A child that stops its parent again and again; it holds none of its connections, as there are none yet. */
static pid_t pester(uint64_t random)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t k = 0; k < PAUSES; k++) {
        (void)poll(NULL, 0, (int)(buffers_draw(&random) % LONGEST_PAUSE_MS));
        (void)kill(parent, SIGSTOP);
        (void)poll(NULL, 0, (int)(buffers_draw(&random) % LONGEST_PAUSE_MS));
        (void)kill(parent, SIGCONT);
    }
    _exit(0);
}

static enum ronde_status work_with_pauses(const struct team_member *member,
                                          struct ronde_error *error)
{
    const pid_t pest = pester(*(const uint64_t *)member->self + member->join.rank);
    struct ronde_comm *comm = NULL;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = work(member, comm, 12, error);
    ronde_comm_destroy(comm);
    (void)team_check(member, pest > 0 && waitpid(pest, NULL, 0) == pest, "there was no pest");
    return status;
}

static void pauses_anywhere_do_no_harm(void)
{
    uint64_t random = suite_number("RONDE_TEST_SEED", 5);
    const uint64_t teams = TEAMS * suite_number("RONDE_TEST_SCALE", 100) / 400;
    for (uint64_t k = 0; k < teams; k++) {
        const uint64_t seed = buffers_draw(&random);
        team_run_expecting(RANKS, work_with_pauses, &seed, results, RONDE_OK);
    }
}

static void kills_over_ucx(void)
{
    team_over_ucx(a_rank_killed_anywhere_ends_the_others_well);
}

static void pauses_over_ucx(void)
{
    team_over_ucx(pauses_anywhere_do_no_harm);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_rank_killed_anywhere_ends_the_others_well", a_rank_killed_anywhere_ends_the_others_well},
        {"kills_over_ucx", kills_over_ucx},
        {"pauses_anywhere_do_no_harm", pauses_anywhere_do_no_harm},
        {"pauses_over_ucx", pauses_over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("chaos", cases, sizeof cases / sizeof cases[0])
               : 1;
}
