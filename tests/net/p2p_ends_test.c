/*
 * How tagged messages end that are not received: ranks that die or leave, aborts, cancelled receives, released sends,
 * children; and messages where the kernel reads no memory of other processes.
 */
#include "net/run.h"
#include "net/tagged.h"
#include "support/suite.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

#define LARGE 2000000u

/* How the ranks end. */
enum ending { KILLED, ABORTED, LEFT };

/* Rank 1 ends while rank 0 waits for a message of it, and the last rank for it to take a large one. */
static enum ronde_status wait_for_one(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char data[LARGE];
    const enum ending ending = *(const enum ending *)member->self;
    struct ronde_p2p *beside = NULL;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 2, error);
    if (status == RONDE_OK && member->join.rank == 1) {
        if (ending == KILLED)
            raise(SIGKILL);
        if (ending == ABORTED) {
            ronde_comm_abort(comm);
            (void)team_check(member, ronde_comm_p2p_progress(comm, NULL, error) == RONDE_TIMEOUT,
                             "an abort is not noticed where it was asked for");
        }
        ronde_comm_destroy(comm);
        return RONDE_OK;
    }
    if (status == RONDE_OK)
        status = ronde_comm_recv_post(comm, data, 8, RONDE_ANY_RANK, 9, &beside, error);
    if (status == RONDE_OK && member->join.rank == 0)
        status = tagged_receive(comm, data, LARGE, 1, 5, NULL, error);
    else if (status == RONDE_OK)
        status = tagged_send(comm, data, LARGE, 1, 5, error);
    bool is_done = false;
    struct ronde_error again = {0};
    (void)team_check(member,
                     !beside ||
                         (ronde_p2p_test(beside, &is_done, NULL, &again) == status && is_done),
                     "what else was posted has not ended the same way");
    ronde_p2p_release(beside);
    (void)team_check(member, ronde_comm_p2p_pending(comm) == 0, "something is still pending");
    struct ronde_p2p *late = NULL;
    (void)team_check(member,
                     ronde_comm_send_post(comm, data, 8, 0, 1, &late, &again) != RONDE_OK && !late,
                     "a communicator that has failed takes messages");
    ronde_comm_destroy(comm);
    return status;
}

static void expect_end(enum ending ending, enum ronde_status status)
{
    CU_ASSERT_FATAL(team_run(3, wait_for_one, &ending, results));
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        team_expect(&results[rank], 1, status);
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1"));
        if (!strstr(results[rank].message, "rank 1"))
            suite_note("rank %u: \"%s\"", rank, results[rank].message);
    }
}

static void end_by_death(void)
{
    expect_end(KILLED, RONDE_DEVICE);
    CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
}

static void a_rank_that_dies_ends_messages_and_is_named(void)
{
    tagged_over_all(end_by_death);
}

static void end_by_abort(void)
{
    expect_end(ABORTED, RONDE_TIMEOUT);
}

static void an_abort_ends_all_messages(void)
{
    tagged_over_all(end_by_abort);
}

static void end_by_leaving(void)
{
    expect_end(LEFT, RONDE_DEVICE);
}

static void a_rank_that_left_is_not_waited_for(void)
{
    tagged_over_all(end_by_leaving);
}

/* Rank 2 sends one message and leaves, rank 1 leaves; rank 0 receives two from any rank. */
static enum ronde_status wait_for_any(const struct team_member *member, struct ronde_error *error)
{
    unsigned char data[8] = {0};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 2, error);
    if (status == RONDE_OK && member->join.rank == 2)
        status = tagged_send(comm, data, sizeof data, 0, 5, error);
    for (uint32_t k = 0; k < 2 && status == RONDE_OK && member->join.rank == 0; k++) {
        status = tagged_receive(comm, data, sizeof data, RONDE_ANY_RANK, 5, NULL, error);
        (void)team_check(member, (status == RONDE_OK) == (k == 0), "the wrong receive has failed");
    }
    ronde_comm_destroy(comm);
    return status;
}

static void leave_all(void)
{
    CU_ASSERT_FATAL(team_run(3, wait_for_any, NULL, results));
    team_expect(results, 1, RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "all others have left"));
    team_expect(&results[1], 2, RONDE_OK);
}

static void a_receive_from_any_rank_ends_when_all_others_have_left(void)
{
    tagged_over_all(leave_all);
}

/* A rank dies in the middle of large messages in both directions. */
static enum ronde_status die_exchanging(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char out[4][LARGE];
    static unsigned char in[4][LARGE];
    const uint32_t other = 1 - member->join.rank;
    struct ronde_p2p *posted[8] = {NULL};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    for (uint32_t round = 0; round < 3 && status == RONDE_OK; round++) {
        for (uint32_t k = 0; k < 4 && status == RONDE_OK; k++) {
            status = ronde_comm_send_post(comm, out[k], LARGE, other, k, &posted[k], error);
            if (status == RONDE_OK)
                status = ronde_comm_recv_post(comm, in[k], LARGE, other, k, &posted[4 + k], error);
        }
        if (status == RONDE_OK)
            status = ronde_comm_p2p_progress(comm, NULL, error);
        if (member->join.rank == 1 && round == 1)
            raise(SIGKILL);
        for (uint32_t k = 0; k < 8; k++) {
            struct ronde_error why = {0};
            const enum ronde_status came =
                posted[k] ? tagged_wait(comm, posted[k], NULL, &why) : RONDE_OK;
            posted[k] = NULL;
            if (status == RONDE_OK && came != RONDE_OK)
                status = ronde_fail(error, came, "%s", why.message);
        }
    }
    ronde_comm_destroy(comm);
    return status;
}

static void die_exchanging_once(void)
{
    CU_ASSERT_FATAL(team_run(2, die_exchanging, NULL, results));
    team_expect(results, 1, RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1"));
}

/* Two ranks: hosts of two would share memory, which proc shows. */
static void a_rank_that_dies_in_the_midst_of_large_messages_is_named(void)
{
    tagged_over_all(die_exchanging_once);
}

/* A cancelled receive takes nothing; a message that is matched with one is lost; a released send is delivered. */
static enum ronde_status change_minds(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char data[3][LARGE];
    const uint32_t last = member->join.ranks - 1;
    struct ronde_p2p *p2p[3] = {NULL};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    for (uint32_t k = 0; k < 3; k++)
        tagged_fill(data[k], LARGE, member->join.rank, k);
    if (member->join.rank == last && status == RONDE_OK) {
        status = ronde_comm_recv_post(comm, data[0], LARGE, 0, 1, &p2p[0], error);
        ronde_p2p_release(p2p[0]);
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    if (member->join.rank == 0 && status == RONDE_OK) {
        for (uint32_t k = 0; k < 3 && status == RONDE_OK; k++)
            status =
                ronde_comm_send_post(comm, data[k], k == 0 ? 100 : LARGE, last, 1, &p2p[k], error);
        /* The data stay where they are until the receiver has confirmed them. */
        for (uint32_t k = 0; k < 3; k++)
            ronde_p2p_release(p2p[k]);
        if (status == RONDE_OK)
            status = tagged_receive(comm, NULL, 0, last, 2, NULL, error);
        (void)team_check(member, status != RONDE_OK || ronde_comm_p2p_pending(comm) == 0,
                         "what was released and delivered is still pending");
    } else if (member->join.rank == last && status == RONDE_OK) {
        struct ronde_p2p_status got = {0};
        status = tagged_receive(comm, data[1], LARGE, 0, 1, &got, error);
        (void)team_check(member, got.bytes == 100 && tagged_holds(data[1], 100, 0, 0),
                         "a cancelled receive has taken a message");
        /* This one is matched, as likely as not, when it is released. */
        if (status == RONDE_OK)
            status = ronde_comm_recv_post(comm, data[1], LARGE, 0, 1, &p2p[1], error);
        if (status == RONDE_OK)
            status = tagged_receive(comm, data[2], LARGE, 0, 1, &got, error);
        (void)team_check(member, tagged_holds(data[2], LARGE, 0, 2), "the wrong one was lost");
        ronde_p2p_release(p2p[1]);
        if (status == RONDE_OK)
            status = tagged_send(comm, NULL, 0, 0, 2, error);
        (void)team_check(member, tagged_holds(data[0], LARGE, last, 0),
                         "a cancelled receive was written to");
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void cancel_and_release_of_some(void)
{
    const uint32_t ranks = team_ranks_per_host > 0 ? 3 : 2;
    team_run_expecting(ranks, change_minds, NULL, results, RONDE_OK);
}

static void released_receives_take_nothing_and_released_sends_arrive(void)
{
    tagged_over_all(cancel_and_release_of_some);
}

/* Makes the kernel refuse to read other processes, as containers do. */
static bool forbid_reading(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define STREAMS 6u

/* Large messages in both directions, with short ones between them; one receive is cancelled while its data come. */
static enum ronde_status stream_both_ways(const struct team_member *member,
                                          struct ronde_error *error)
{
    static unsigned char out[STREAMS][LARGE];
    static unsigned char in[STREAMS][LARGE];
    const uint32_t other = member->join.rank ^ 1;
    struct ronde_p2p *posted[2 * STREAMS] = {NULL};
    struct ronde_comm *comm = NULL;
    if (!forbid_reading()) {
        member->result->number = 1;
        return RONDE_OK;
    }
    enum ronde_status status = tagged_join(member, &comm, error);
    for (uint32_t k = 0; k < STREAMS && status == RONDE_OK; k++) {
        const uint64_t bytes = k % 3 == 2 ? 50 : LARGE - k;
        tagged_fill(out[k], bytes, member->join.rank, k);
        status = ronde_comm_send_post(comm, out[k], bytes, other, k, &posted[k], error);
        if (status == RONDE_OK)
            status = ronde_comm_recv_post(comm, in[k], LARGE, other, k, &posted[STREAMS + k], error);
    }
    for (uint32_t k = 0; k < 3 && status == RONDE_OK; k++)
        status = ronde_comm_p2p_progress(comm, NULL, error);
    /* Whether its message had been matched is chance; its send may never be done. */
    ronde_p2p_release(posted[STREAMS + 1]);
    ronde_p2p_release(posted[1]);
    for (uint32_t k = 0; k < STREAMS && status == RONDE_OK; k += k == 0 ? 2 : 1) {
        struct ronde_p2p_status got = {0};
        status = tagged_wait(comm, posted[k], NULL, error);
        if (status == RONDE_OK)
            status = tagged_wait(comm, posted[STREAMS + k], &got, error);
        (void)team_check(member, tagged_holds(in[k], got.bytes, other, k),
                         "what has streamed is wrong");
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void stream_in_shared_memory(void)
{
    if (team_transport == RONDE_TRANSPORT_UCX)
        return;
    CU_ASSERT_FATAL(team_run(4, stream_both_ways, NULL, results));
    if (results[0].number == 1)
        suite_note("the system lets no process filter its calls");
    else
        team_expect(results, 4, RONDE_OK);
}

static void a_kernel_that_refuses_to_read_is_done_without(void)
{
    tagged_over_all(stream_in_shared_memory);
}

/* A child of a rank that has messages under way can neither use nor end them. */
static enum ronde_status have_a_child(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char data[2][LARGE];
    const uint32_t other = 1 - member->join.rank;
    struct ronde_p2p *sends = NULL;
    struct ronde_p2p *receives = NULL;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    tagged_fill(data[0], LARGE, member->join.rank, 3);
    if (status == RONDE_OK)
        status = ronde_comm_send_post(comm, data[0], LARGE, other, 1, &sends, error);
    if (status == RONDE_OK)
        status = ronde_comm_recv_post(comm, data[1], LARGE, other, 1, &receives, error);
    if (status != RONDE_OK)
        return status;
    const pid_t child = fork();
    if (child == 0) {
        struct ronde_p2p *none = NULL;
        struct ronde_error why = {0};
        bool is_done = false;
        const bool is_refused =
            ronde_p2p_test(receives, &is_done, NULL, &why) == RONDE_BAD_ARGUMENT && !is_done &&
            ronde_comm_send_post(comm, data, 8, other, 1, &none, &why) == RONDE_BAD_ARGUMENT &&
            ronde_comm_p2p_progress(comm, NULL, &why) == RONDE_BAD_ARGUMENT;
        ronde_p2p_release(receives);
        ronde_p2p_release(sends);
        ronde_comm_destroy(comm);
        _exit(is_refused ? 0 : 1);
    }
    int state = -1;
    (void)waitpid(child, &state, 0);
    (void)team_check(member, WIFEXITED(state) && WEXITSTATUS(state) == 0, "a child was not refused");
    status = tagged_wait(comm, sends, NULL, error);
    if (status == RONDE_OK)
        status = tagged_wait(comm, receives, NULL, error);
    (void)team_check(member, status != RONDE_OK || tagged_holds(data[1], LARGE, other, 3),
                     "a message is wrong after a child was there");
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void have_children(void)
{
    team_run_expecting(2, have_a_child, NULL, results, RONDE_OK);
}

static void a_forked_child_does_nothing(void)
{
    tagged_over_all(have_children);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_rank_that_dies_ends_messages_and_is_named", a_rank_that_dies_ends_messages_and_is_named},
        {"an_abort_ends_all_messages", an_abort_ends_all_messages},
        {"a_rank_that_left_is_not_waited_for", a_rank_that_left_is_not_waited_for},
        {"a_receive_from_any_rank_ends_when_all_others_have_left",
         a_receive_from_any_rank_ends_when_all_others_have_left},
        {"a_rank_that_dies_in_the_midst_of_large_messages_is_named",
         a_rank_that_dies_in_the_midst_of_large_messages_is_named},
        {"released_receives_take_nothing_and_released_sends_arrive",
         released_receives_take_nothing_and_released_sends_arrive},
        {"a_kernel_that_refuses_to_read_is_done_without",
         a_kernel_that_refuses_to_read_is_done_without},
        {"a_forked_child_does_nothing", a_forked_child_does_nothing},
    };
    return suite_run("p2p_ends", cases, sizeof cases / sizeof cases[0]);
}
