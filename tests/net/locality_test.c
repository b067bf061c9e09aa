/*
 * Locality: which transport a requested one becomes by where the ranks are, for a communicator and for parts of it.
 */
#include "net/run.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

/* What four ranks request, on hosts of how many of them, and what it becomes. */
struct choice {
    enum ronde_transport asked;
    uint32_t ranks_per_host; /* 0: not set */
    enum ronde_transport got;
};

static void expect_transport(const struct team_member *member, const struct ronde_comm *comm,
                             enum ronde_transport transport)
{
    (void)team_check(member, ronde_comm_transport(comm) == transport,
                     ronde_transport_text(ronde_comm_transport(comm)));
}

/* Ranks 0 and 1, 2 and 3: a pair shares memory if its ranks share a host. */
static enum ronde_transport transport_of_pair(const struct choice *choice, uint32_t rank)
{
    const uint32_t per_host = choice->ranks_per_host ? choice->ranks_per_host : 4;
    if (choice->asked == RONDE_TRANSPORT_UCX || choice->asked == RONDE_TRANSPORT_SHM)
        return choice->asked;
    return rank / 2 * 2 / per_host == (rank / 2 * 2 + 1) / per_host ? RONDE_TRANSPORT_SHM
                                                                    : RONDE_TRANSPORT_UCX;
}

static enum ronde_status choose(const struct team_member *member, struct ronde_error *error)
{
    const struct choice *choice = member->self;
    struct ronde_comm *comm = NULL;
    struct ronde_comm *pair = NULL;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 3, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, member->join.rank / 2, 0, &pair, error);
    if (status == RONDE_OK)
        status = run_sums(member, pair, "tree", 3, error);
    if (status == RONDE_OK) {
        expect_transport(member, comm, choice->got);
        expect_transport(member, pair, transport_of_pair(choice, member->join.rank));
    }
    ronde_comm_destroy(pair);
    ronde_comm_destroy(comm);
    return status;
}

static void expect_choices(const struct choice *choices, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        team_transport = choices[k].asked;
        team_ranks_per_host = choices[k].ranks_per_host;
        team_run_expecting(4, choose, &choices[k], results, RONDE_OK);
    }
}

static void ranks_of_one_host_share_memory(void)
{
    static const struct choice choices[] = {
        {RONDE_TRANSPORT_AUTO, 0, RONDE_TRANSPORT_SHM},
        {RONDE_TRANSPORT_AUTO, 4, RONDE_TRANSPORT_SHM},
        {RONDE_TRANSPORT_SHM, 1, RONDE_TRANSPORT_SHM},
    };
    expect_choices(choices, sizeof choices / sizeof choices[0]);
}

static bool has_ucx(void)
{
    const char *reason = NULL;
    const bool is_here = ronde_transport_available(RONDE_TRANSPORT_UCX, &reason);
    if (!is_here)
        suite_skip("%s", reason);
    return is_here;
}

static void each_connection_goes_the_nearest_way(void)
{
    static const struct choice choices[] = {
        {RONDE_TRANSPORT_HYBRID, 2, RONDE_TRANSPORT_HYBRID},
        {RONDE_TRANSPORT_HYBRID, 3, RONDE_TRANSPORT_HYBRID},
        {RONDE_TRANSPORT_HYBRID, 0, RONDE_TRANSPORT_SHM},
        {RONDE_TRANSPORT_HYBRID, 1, RONDE_TRANSPORT_UCX},
        {RONDE_TRANSPORT_AUTO, 2, RONDE_TRANSPORT_HYBRID},
        {RONDE_TRANSPORT_UCX, 4, RONDE_TRANSPORT_UCX},
    };
    if (has_ucx())
        expect_choices(choices, sizeof choices / sizeof choices[0]);
}

/* Without a transport between hosts the error names what is missing. */
static void hosts_without_a_network_get_an_error(void)
{
    const struct choice choice = {RONDE_TRANSPORT_AUTO, 2, RONDE_TRANSPORT_SHM};
    const char *reason = NULL;
    if (ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("this build has UCX");
        return;
    }
    team_transport = choice.asked;
    team_ranks_per_host = choice.ranks_per_host;
    CU_ASSERT_FATAL(team_run(4, choose, &choice, results));
    for (uint32_t rank = 0; rank < 4; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "on different hosts"));
}

static enum ronde_status ask_for_different(const struct team_member *member,
                                           struct ronde_error *error)
{
    struct ronde_comm_options options = team_options(20);
    struct ronde_comm *comm = NULL;
    options.transport = member->join.rank == 1 ? RONDE_TRANSPORT_AUTO : RONDE_TRANSPORT_SHM;
    const enum ronde_status status =
        ronde_comm_join(&member->join, &options, ronde_mem_default(), &comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static void ranks_that_select_different_transports_get_an_error(void)
{
    team_ranks_per_host = 0;
    team_run_expecting(3, ask_for_different, NULL, results, RONDE_REJECTED);
    for (uint32_t rank = 0; rank < 3; rank++)
        CU_ASSERT_PTR_NOT_NULL(
            strstr(results[rank].message, "rank 0 wants transport proc, rank 1 wants auto"));
}

static void a_host_with_too_long_a_name_is_refused(void)
{
    char name[RONDE_HOST_ID_BYTES + 1];
    struct ronde_comm *comm = NULL;
    struct ronde_error error = {0};
    const struct ronde_join alone = {.token = "name", .ranks = 1};
    struct ronde_comm_options options = {.host_id = name};
    memset(name, 'h', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CU_ASSERT_EQUAL(ronde_comm_join(&alone, &options, ronde_mem_default(), &comm, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NULL(comm);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "at most 63 characters"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"ranks_of_one_host_share_memory", ranks_of_one_host_share_memory},
        {"each_connection_goes_the_nearest_way", each_connection_goes_the_nearest_way},
        {"hosts_without_a_network_get_an_error", hosts_without_a_network_get_an_error},
        {"ranks_that_select_different_transports_get_an_error",
         ranks_that_select_different_transports_get_an_error},
        {"a_host_with_too_long_a_name_is_refused", a_host_with_too_long_a_name_is_refused},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("locality", cases, sizeof cases / sizeof cases[0])
               : 1;
}
