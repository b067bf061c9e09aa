/* Processes of a test. See team.h. */
#include "net/team.h"

#include "hw/bootstrap/socket.h"
#include "support/built_with.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum ronde_transport team_transport = RONDE_TRANSPORT_SHM;
uint32_t team_ranks_per_host = 0;

/* A member's own, in its process. */
static char host_id[16];

static void be_member(const struct team_member *member, team_part part)
{
    struct ronde_error error = {0};
    if (team_ranks_per_host > 0)
        snprintf(host_id, sizeof host_id, "host %u", member->join.rank / team_ranks_per_host);
    member->result->status = part(member, &error);
    snprintf(member->result->message, sizeof member->result->message, "%s", error.message);
    /* Through exit, so that a sanitizer can report leaks. */
    exit(0);
}

/* Takes the exits of all children, in any order. */
static void await_members(const pid_t *children, uint32_t ranks, struct team_result *results)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int state = 0;
        if (children[rank] <= 0 || waitpid(children[rank], &state, 0) != children[rank])
            continue;
        results[rank].exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
        results[rank].signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    }
}

bool team_run(uint32_t ranks, team_part part, const void *self, struct team_result *results)
{
    pid_t children[TEAM_MAX] = {0};
    struct ronde_error error = {0};
    int listener = -1;
    const size_t bytes = ranks * sizeof *results;
    struct team_result *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || ronde_socket_listen("127.0.0.1", 0, &listener, &error) != RONDE_OK)
        return false;
    const uint16_t port = ronde_socket_port(listener);
    fflush(NULL);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct team_member member = {.join = {.host = "127.0.0.1",
                                                    .port = port,
                                                    .has_listener = rank == 0,
                                                    .listener = listener,
                                                    .token = "team",
                                                    .rank = rank,
                                                    .ranks = ranks},
                                           .result = &shared[rank],
                                           .self = self};
        shared[rank].exit_code = -1;
        children[rank] = fork();
        if (children[rank] != 0)
            continue;
        if (rank > 0)
            close(listener);
        be_member(&member, part);
    }
    close(listener);
    await_members(children, ranks, shared);
    memcpy(results, shared, bytes);
    munmap(shared, bytes);
    return true;
}

bool team_check(const struct team_member *member, bool condition, const char *text)
{
    struct team_result *result = member->result;
    if (condition) {
        result->checks++;
        return true;
    }
    if (result->failures++ == 0)
        snprintf(result->failure, sizeof result->failure, "%s", text);
    return false;
}

void team_expect(const struct team_result *results, uint32_t ranks, enum ronde_status status)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct team_result *result = &results[rank];
        CU_ASSERT_EQUAL(result->exit_code, 0);
        CU_ASSERT_EQUAL(result->failures, 0);
        CU_ASSERT_EQUAL(result->status, status);
        if (result->failures > 0 || result->exit_code != 0 || result->status != status)
            suite_note("rank %u: exit %d signal %d, %s \"%s\", %llu failures, first: %s", rank,
                       result->exit_code, result->signal, ronde_status_text(result->status),
                       result->message, (unsigned long long)result->failures, result->failure);
    }
}

uint64_t team_patience(void)
{
    return strlen(RONDE_SANITIZE) > 0 ? 10 : 3;
}

struct ronde_comm_options team_options(uint64_t seconds)
{
    return (struct ronde_comm_options){.transport = team_transport,
                                       .timeout_ns =
                                           seconds * UINT64_C(1000000000) * team_patience(),
                                       .host_id = team_ranks_per_host > 0 ? host_id : NULL};
}

void team_over_ucx(void (*run)(void))
{
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("%s", reason);
        return;
    }
    team_transport = RONDE_TRANSPORT_UCX;
    run();
    team_transport = RONDE_TRANSPORT_HYBRID;
    team_ranks_per_host = 2;
    run();
    team_transport = RONDE_TRANSPORT_SHM;
    team_ranks_per_host = 0;
}

enum ronde_status team_join(const struct team_member *member, uint64_t seconds,
                            struct ronde_comm **out_comm, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(seconds);
    return ronde_comm_join(&member->join, &options, ronde_mem_default(), out_comm, error);
}

void team_run_expecting(uint32_t ranks, team_part part, const void *self,
                        struct team_result *results, enum ronde_status status)
{
    CU_ASSERT_FATAL(team_run(ranks, part, self, results));
    team_expect(results, ranks, status);
}
