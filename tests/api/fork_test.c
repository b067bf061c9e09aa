/*
 * A forked child and its parent's communicator: every call is refused there, at once and whatever the parent's threads were
 * at, and the parent's operations give what they would give without the child.
 */
#include "api/calls.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that has not ended by then hangs. */
#define CHILD_S 30u

static struct team_result results[TEAM_MAX];

/* What a child is given of its parent's. */
struct heirloom {
    struct ronde_comm *comm;
    struct ronde_comm_program *program;
    struct ronde_request *pending;
    struct ronde_request *over;
    struct ronde_request *grouped; /* of the group that is open */
};

static void note_status(void *self, enum ronde_status status, const struct ronde_error *error)
{
    (void)error;
    *(enum ronde_status *)self = status;
}

/* The first call that is not refused as it must be, by number; 0 = none. */
static int use_calls(const struct heirloom *heirloom)
{
    struct ronde_comm *comm = heirloom->comm;
    struct ronde_comm *part = NULL;
    struct ronde_request *request = NULL;
    struct ronde_registration *registration = NULL;
    float in = 100, out = 0, all[4] = {0};
    const uint64_t counts[4] = {1, 1, 1, 1}, offsets[4] = {0, 1, 2, 3};
    struct ronde_error error = {0};
    const enum ronde_status refused[] = {
        ronde_all_reduce(comm, &in, &out, 1, RONDE_FLOAT32, RONDE_SUM, NULL, NULL, &error),
        ronde_all_reduce(comm, &in, &out, 1, RONDE_FLOAT32, RONDE_SUM, NULL, &request, NULL),
        ronde_all_gather_v(comm, &in, all, counts, offsets, RONDE_FLOAT32, NULL, NULL, NULL),
        ronde_barrier(comm, NULL, NULL, NULL),
        ronde_send(comm, &in, 1, RONDE_FLOAT32, 0, 7, NULL, NULL),
        ronde_recv(comm, &out, 1, RONDE_FLOAT32, 0, 7, &request, NULL),
        ronde_recv_any(comm, &out, 1, RONDE_FLOAT32, 7, NULL, &request, NULL),
        ronde_comm_allgather(comm, &in, sizeof in, all, NULL),
        ronde_comm_split(comm, 0, 0, &part, NULL),
        ronde_comm_timeout(comm, 1, NULL),
        ronde_comm_progress(comm, RONDE_PROGRESS_CALLER, NULL),
        ronde_comm_choose(comm, RONDE_ALL_REDUCE, "ring", NULL),
        ronde_register(comm, all, sizeof all, &registration, NULL),
        ronde_deregister(comm, registration, NULL),
    };
    if (!strstr(error.message, "forked"))
        return 1;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        if (refused[k] != RONDE_BAD_ARGUMENT)
            return 10 + (int)k;
    return out != 0 || request || part ? 2 : 0;
}

static int use_requests(const struct heirloom *heirloom)
{
    enum ronde_status heard = RONDE_OK;
    struct ronde_error error = {0};
    bool is_done = true;
    if (ronde_request_wait(heirloom->over, 0, NULL) != RONDE_OK)
        return 30;
    if (ronde_request_test(heirloom->pending, &is_done, &error) != RONDE_BAD_ARGUMENT || is_done)
        return 31;
    if (ronde_request_wait(heirloom->pending, 0, NULL) != RONDE_BAD_ARGUMENT)
        return 32;
    ronde_on_complete(heirloom->pending, note_status, &heard);
    if (heard != RONDE_BAD_ARGUMENT || !strstr(error.message, "forked"))
        return 33;
    if (ronde_group_end(NULL) != RONDE_OK ||
        ronde_request_wait(heirloom->grouped, 0, NULL) != RONDE_BAD_ARGUMENT)
        return 34;
    ronde_request_free(heirloom->pending);
    ronde_request_free(heirloom->over);
    return 0;
}

static int use_program(const struct heirloom *heirloom)
{
    float in = 100, out = 0;
    void *ins[4], *outs[4];
    struct ronde_result result;
    bool is_done = false;
    for (int rank = 0; rank < 4; rank++) {
        ins[rank] = &in;
        outs[rank] = &out;
    }
    const struct ronde_launch launch = {.count = 1, .dtype = RONDE_FLOAT32, .in = ins, .out = outs};
    if (ronde_comm_run(heirloom->program, &launch, NULL) != RONDE_BAD_ARGUMENT ||
        ronde_comm_test(heirloom->program, &is_done, NULL) != RONDE_BAD_ARGUMENT ||
        ronde_comm_wait(heirloom->program, &result, NULL) != RONDE_BAD_ARGUMENT)
        return 40;
    const struct ronde_mem *mem = ronde_comm_mem(heirloom->comm);
    void *own = ronde_mem_new(mem, 1, 8);
    ronde_mem_free(mem, own, own ? 1 : 0, 8);
    return own ? 0 : 41;
}

static int use_all(const struct heirloom *heirloom)
{
    char algorithm[RONDE_ALGORITHM_BYTES];
    (void)alarm(CHILD_S);
    int wrong = use_calls(heirloom);
    wrong = wrong ? wrong : use_requests(heirloom);
    wrong = wrong ? wrong : use_program(heirloom);
    ronde_comm_algorithm(heirloom->comm, algorithm);
    ronde_comm_abort(heirloom->comm);
    ronde_comm_unload(heirloom->program);
    ronde_comm_destroy(heirloom->comm);
    return wrong;
}

static void have_child(const struct team_member *member, const struct heirloom *heirloom)
{
    char text[64];
    int state = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(use_all(heirloom));
    (void)waitpid(child, &state, 0);
    (void)snprintf(text, sizeof text, "the child's call %d, signal %d", WEXITSTATUS(state),
                   WIFSIGNALED(state) ? WTERMSIG(state) : 0);
    (void)team_check(member, child > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0, text);
}

static enum ronde_status load_ring(struct ronde_comm *comm, struct ronde_schedule **out_schedule,
                                   struct ronde_comm_program **out_program,
                                   struct ronde_error *error)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = ronde_comm_ranks(comm)};
    const enum ronde_status status =
        ronde_compile(&request, ronde_mem_default(), NULL, out_schedule, error);
    return status == RONDE_OK ? ronde_comm_load(comm, *out_schedule, NULL, out_program, error)
                              : status;
}

/* Three operations: one that is over, one pending, one in an open group. */
static enum ronde_status begin_three(const struct team_member *member, struct heirloom *heirloom,
                                     int32_t *data, struct ronde_comm *aside,
                                     struct ronde_error *error)
{
    struct ronde_comm *comm = heirloom->comm;
    struct ronde_request **requests[3] = {&heirloom->over, &heirloom->pending, &heirloom->grouped};
    enum ronde_status status = RONDE_OK;
    for (int k = 0; k < 3 && status == RONDE_OK; k++) {
        /* The others come when rank 0 has forked: its second operation is pending by then. */
        if (k == 1 && member->join.rank != 0)
            status = ronde_comm_allgather(aside, NULL, 0, NULL, error);
        if (k == 2)
            ronde_group_begin();
        if (status == RONDE_OK)
            status = ronde_all_reduce(comm, &data[k], &data[k], 1, RONDE_INT32, RONDE_SUM, NULL,
                                      requests[k], error);
        if (status == RONDE_OK && k == 0)
            status = ronde_request_wait(heirloom->over, 0, error);
    }
    if (status == RONDE_OK && member->join.rank == 0) {
        have_child(member, heirloom);
        status = ronde_comm_allgather(aside, NULL, 0, NULL, error);
    }
    return status == RONDE_OK ? ronde_group_end(error) : status;
}

/* Rank 0 has a child amid them; then all end, and give 1 from each rank. */
static enum ronde_status fork_amid(const struct team_member *member, struct ronde_error *error)
{
    const enum ronde_progress *progress = member->self;
    const int32_t ranks = (int32_t)member->join.ranks;
    struct heirloom heirloom = {0};
    struct ronde_schedule *schedule = NULL;
    struct ronde_comm *aside = NULL;
    int32_t data[3] = {1, 1, 1};
    enum ronde_status status = calls_join(member, &heirloom.comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(heirloom.comm, 0, member->join.rank, &aside, error);
    if (status == RONDE_OK)
        status = ronde_comm_progress(heirloom.comm, *progress, error);
    if (status == RONDE_OK)
        status = load_ring(heirloom.comm, &schedule, &heirloom.program, error);
    if (status == RONDE_OK)
        status = begin_three(member, &heirloom, data, aside, error);
    struct ronde_request *requests[3] = {heirloom.over, heirloom.pending, heirloom.grouped};
    for (int k = 0; k < 3; k++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[k], 0, error);
        ronde_request_free(requests[k]);
        (void)team_check(member, status != RONDE_OK || data[k] == ranks, "a wrong sum");
    }
    if (status == RONDE_OK)
        status = calls_sum(member, heirloom.comm, error);
    ronde_comm_unload(heirloom.program);
    ronde_comm_destroy(aside);
    ronde_comm_destroy(heirloom.comm);
    ronde_schedule_destroy(schedule);
    return status;
}

static void a_forked_child_has_no_part_in_its_parents_communicator(void)
{
    for (uint32_t progress = 0; progress < RONDE_PROGRESS_COUNT; progress++) {
        const enum ronde_progress kind = (enum ronde_progress)progress;
        team_run_expecting(2, fork_amid, &kind, results, RONDE_OK);
    }
}

static void over_ucx(void)
{
    team_over_ucx(a_forked_child_has_no_part_in_its_parents_communicator);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_forked_child_has_no_part_in_its_parents_communicator",
         a_forked_child_has_no_part_in_its_parents_communicator},
        {"over_ucx", over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("fork", cases, sizeof cases / sizeof cases[0])
               : EXIT_FAILURE;
}
