/*
 * What runs: the choice that rank 0 makes for all, a named algorithm, a user's own schedule; and the version.
 */
#include "api/calls.h"
#include "support/suite.h"

#include "ronde/builder.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

#define RANKS 4u

static bool ran(struct ronde_comm *comm, const char *algorithm)
{
    char text[RONDE_ALGORITHM_BYTES];
    ronde_comm_algorithm(comm, text);
    return strcmp(text, algorithm) == 0;
}

static enum ronde_status choose_names(const struct team_member *member, struct ronde_error *error)
{
    static const char *const names[] = {"ring", "tree", "recursive_doubling", "auto"};
    struct ronde_comm *comm = NULL;
    struct ronde_error why = {0};
    char automatic[RONDE_ALGORITHM_BYTES] = "";
    enum ronde_status status = calls_join(member, &comm, error);
    (void)team_check(member, ran(comm, ""), "something ran");
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    ronde_comm_algorithm(comm, automatic);
    for (size_t k = 0; k < sizeof names / sizeof names[0] && status == RONDE_OK; k++) {
        status = ronde_comm_choose(comm, RONDE_ALL_REDUCE, names[k], error);
        if (status == RONDE_OK)
            status = calls_sum(member, comm, error);
        (void)team_check(member, ran(comm, k < 3 ? names[k] : automatic), names[k]);
    }
    (void)team_check(member,
                     ronde_comm_choose(comm, RONDE_ALL_REDUCE, "rong", &why) == RONDE_BAD_ARGUMENT &&
                         strstr(why.message, "ring") != NULL,
                     why.message);
    (void)team_check(member, ran(comm, automatic), "an unknown name has changed the choice");
    ronde_comm_destroy(comm);
    return status;
}

static void a_named_algorithm_runs_until_it_is_taken_back(void)
{
    team_run_expecting(RANKS, choose_names, NULL, results, RONDE_OK);
}

/* Small blocks and large ones of 4 processes on a host: what was measured for them differs. */
static enum ronde_status let_ronde_choose(const struct team_member *member,
                                          struct ronde_error *error)
{
    static float data[1 << 20];
    char small[RONDE_ALGORITHM_BYTES];
    char large[RONDE_ALGORITHM_BYTES];
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = ronde_all_reduce(comm, data, data, 2, RONDE_FLOAT32, RONDE_SUM, NULL, NULL, error);
    ronde_comm_algorithm(comm, small);
    if (status == RONDE_OK)
        status = ronde_all_reduce(comm, data, data, 1 << 20, RONDE_FLOAT32, RONDE_SUM, NULL, NULL,
                                  error);
    ronde_comm_algorithm(comm, large);
    (void)team_check(member, strcmp(small, large) != 0, small);
    /* All ranks alike. */
    char all[RANKS][2][RONDE_ALGORITHM_BYTES];
    char mine[2][RONDE_ALGORITHM_BYTES];
    memcpy(mine[0], small, sizeof mine[0]);
    memcpy(mine[1], large, sizeof mine[1]);
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, mine, sizeof mine, all, error);
    for (uint32_t rank = 0; rank < RANKS && status == RONDE_OK; rank++)
        (void)team_check(member,
                         strcmp(all[rank][0], small) == 0 && strcmp(all[rank][1], large) == 0,
                         "ranks run different algorithms");
    ronde_comm_destroy(comm);
    return status;
}

static void the_choice_follows_the_size_and_is_the_same_everywhere(void)
{
    team_run_expecting(RANKS, let_ronde_choose, NULL, results, RONDE_OK);
}

/* A broadcast of the test's own: the root sends to each. */
static enum ronde_status build_star(struct ronde_schedule **out, struct ronde_error *error)
{
    const struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                                  .algorithm = "my_star",
                                                  .ranks = RANKS};
    struct ronde_builder *builder = NULL;
    enum ronde_status status = ronde_builder_create(&request, ronde_mem_default(), &builder, error);
    if (status != RONDE_OK)
        return status;
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        const struct ronde_transfer transfer = {.to = rank,
                                                .source = ronde_chunks(RONDE_IN, 0, 1),
                                                .target = ronde_chunks(RONDE_OUT, 0, 1)};
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1), ronde_chunks(RONDE_OUT, 0, 1));
    return ronde_schedule_finish(builder, NULL, out, error);
}

static enum ronde_status broadcast_from(const struct team_member *member, struct ronde_comm *comm,
                                        uint32_t root, struct ronde_error *error)
{
    int64_t data[2] = {member->join.rank, member->join.rank};
    const enum ronde_status status =
        ronde_broadcast(comm, data, data, 2, RONDE_INT64, root, NULL, NULL, error);
    (void)team_check(member, status != RONDE_OK || data[1] == root, "a broadcast");
    return status;
}

static enum ronde_status use_own(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    struct ronde_comm *part = NULL;
    struct ronde_schedule *star = NULL;
    struct ronde_error why = {0};
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = build_star(&star, error);
    if (status == RONDE_OK)
        status = broadcast_from(member, comm, 0, error);
    (void)team_check(member, !ran(comm, "my_star"), "chosen unasked");
    if (status == RONDE_OK)
        status = ronde_comm_use_schedule(comm, star, error);
    if (status == RONDE_OK)
        status = broadcast_from(member, comm, 0, error);
    (void)team_check(member, ran(comm, "my_star"), "not used");
    /* It serves its own root. */
    if (status == RONDE_OK)
        status = broadcast_from(member, comm, 2, error);
    (void)team_check(member, !ran(comm, "my_star"), "used for another root");
    if (status == RONDE_OK)
        status = ronde_comm_choose(comm, RONDE_BROADCAST, NULL, error);
    if (status == RONDE_OK)
        status = broadcast_from(member, comm, 0, error);
    (void)team_check(member, !ran(comm, "my_star"), "not taken back");
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, member->join.rank % 2, 0, &part, error);
    (void)team_check(member, part && ronde_comm_use_schedule(part, star, &why) == RONDE_BAD_ARGUMENT,
                     "a schedule for other ranks");
    ronde_comm_destroy(part);
    ronde_comm_destroy(comm);
    ronde_schedule_destroy(star);
    return status;
}

static void a_schedule_of_the_users_own_runs_for_its_root(void)
{
    team_run_expecting(RANKS, use_own, NULL, results, RONDE_OK);
}

static void the_version_is_the_projects(void)
{
    unsigned parts[3] = {99, 99, 99};
    CU_ASSERT_EQUAL(sscanf(ronde_version(), "%u.%u.%u", &parts[0], &parts[1], &parts[2]), 3);
    CU_ASSERT_STRING_EQUAL(ronde_version(), RONDE_VERSION);
}

static void choices_over_ucx(void)
{
    team_over_ucx(a_named_algorithm_runs_until_it_is_taken_back);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_named_algorithm_runs_until_it_is_taken_back",
         a_named_algorithm_runs_until_it_is_taken_back},
        {"the_choice_follows_the_size_and_is_the_same_everywhere",
         the_choice_follows_the_size_and_is_the_same_everywhere},
        {"a_schedule_of_the_users_own_runs_for_its_root",
         a_schedule_of_the_users_own_runs_for_its_root},
        {"the_version_is_the_projects", the_version_is_the_projects},
        {"choices_over_ucx", choices_over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("settings", cases, sizeof cases / sizeof cases[0])
               : 1;
}
