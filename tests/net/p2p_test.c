/*
 * Tagged messages between ranks, over every transport: lengths, order, tags, wildcards, the rank itself, and messages
 * beside collectives.
 */
#include "net/run.h"
#include "net/tagged.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

/* Runs a part on so many ranks and expects RONDE_OK. */
static void expect_ok(uint32_t ranks, team_part part)
{
    team_run_expecting(ranks, part, NULL, results, RONDE_OK);
}

/* Lengths around every limit there is. */
static const uint64_t lengths[] = {0,     1,      24,      25,      127,     128,     129,
                                   1024,  1025,   8191,    8192,    8193,    32767,   32768,
                                   32769, 100000, 1048576, 1048577, 5000000, 16777216};
#define LENGTH_COUNT (sizeof lengths / sizeof lengths[0])
#define LONGEST 16777216u

/* Rank 0 sends every length to the last rank and gets it back. */
static enum ronde_status echo(const struct team_member *member, struct ronde_error *error)
{
    const uint32_t last = member->join.ranks - 1;
    const uint32_t rank = member->join.rank;
    struct ronde_comm *comm = NULL;
    unsigned char *buffer = ronde_mem_new(ronde_mem_default(), LONGEST, 1);
    enum ronde_status status = tagged_join(member, &comm, error);
    for (size_t k = 0; k < LENGTH_COUNT && status == RONDE_OK && rank % last == 0; k++) {
        struct ronde_p2p_status got = {0};
        const uint64_t bytes = lengths[k];
        if (rank == 0) {
            tagged_fill(buffer, bytes, 0, k);
            status = tagged_send(comm, buffer, bytes, last, k, error);
            memset(buffer, 0, LONGEST);
        }
        if (status == RONDE_OK)
            status = tagged_receive(comm, buffer, LONGEST, last - rank, k, &got, error);
        (void)team_check(member, status != RONDE_OK || got.bytes == bytes, "the length is wrong");
        (void)team_check(member, status != RONDE_OK || (got.source == last - rank && got.tag == k),
                         "the source or the tag is wrong");
        (void)team_check(member, status != RONDE_OK || tagged_holds(buffer, bytes, 0, k),
                         "the data are wrong");
        if (status == RONDE_OK && rank == last)
            status = tagged_send(comm, buffer, bytes, 0, k, error);
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    ronde_mem_free(ronde_mem_default(), buffer, LONGEST, 1);
    return status;
}

static void echo_of_all_lengths(void)
{
    expect_ok(team_ranks_per_host > 0 ? 3 : 2, echo);
}

static void every_length_arrives_whole(void)
{
    tagged_over_all(echo_of_all_lengths);
}

#define MANY 3000u

/* Rank 0 posts many short and long messages before the other posts a receive, which it does from the last tag on. */
static enum ronde_status reverse(const struct team_member *member, struct ronde_error *error)
{
    static struct ronde_p2p *posted[MANY];
    static unsigned char sent[MANY][64];
    static unsigned char large[MANY / 100][40000];
    const uint32_t last = member->join.ranks - 1;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    const bool sends = member->join.rank == 0;
    for (uint32_t k = 0; k < MANY && status == RONDE_OK && sends; k++) {
        unsigned char *buffer = k % 100 == 0 ? large[k / 100] : sent[k];
        const uint64_t bytes = k % 100 == 0 ? sizeof large[0] : k % 65;
        tagged_fill(buffer, bytes, 0, k);
        status = ronde_comm_send_post(comm, buffer, bytes, last, k / 2, &posted[k], error);
    }
    for (uint32_t k = 0; k < MANY && status == RONDE_OK && member->join.rank == last; k++) {
        struct ronde_p2p_status got = {0};
        /* Two messages of every tag, in order. */
        const uint32_t number = (MANY / 2 - 1 - k / 2) * 2 + k % 2;
        const uint64_t bytes = number % 100 == 0 ? sizeof large[0] : number % 65;
        status = tagged_receive(comm, large[0], sizeof large[0], 0, number / 2, &got, error);
        (void)team_check(member,
                         status != RONDE_OK ||
                             (got.bytes == bytes && tagged_holds(large[0], bytes, 0, number)),
                         "a message of a later tag is not its own");
    }
    for (uint32_t k = 0; k < MANY && status == RONDE_OK && sends; k++)
        status = tagged_wait(comm, posted[k], NULL, error);
    (void)team_check(member, status != RONDE_OK || ronde_comm_p2p_pending(comm) == 0,
                     "something is still pending");
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void reverse_of_many(void)
{
    expect_ok(team_ranks_per_host > 0 ? 3 : 2, reverse);
}

static void unreceived_messages_hold_up_no_others(void)
{
    tagged_over_all(reverse_of_many);
}

#define ROUNDS 40u

/* Every rank sends to all, itself included, and receives from any rank. */
static enum ronde_status take_any(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char sent[ROUNDS][20000];
    static unsigned char got_data[20000];
    const uint32_t ranks = member->join.ranks;
    struct ronde_p2p *posted[ROUNDS * 8];
    uint32_t seen[8] = {0};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    uint32_t count = 0;
    for (uint32_t round = 0; round < ROUNDS; round++)
        tagged_fill(sent[round], sizeof sent[round], member->join.rank, round);
    for (uint32_t round = 0; round < ROUNDS && status == RONDE_OK; round++)
        for (uint32_t to = 0; to < ranks && status == RONDE_OK; to++)
            status = ronde_comm_send_post(comm, sent[round], round * 500, to, 7, &posted[count++],
                                          error);
    for (uint32_t k = 0; k < ROUNDS * ranks && status == RONDE_OK; k++) {
        struct ronde_p2p_status got = {0};
        status = tagged_receive(comm, got_data, sizeof got_data, RONDE_ANY_RANK, 7, &got, error);
        if (status != RONDE_OK || !team_check(member, got.source < ranks, "a source that is none"))
            break;
        const uint32_t round = seen[got.source]++;
        (void)team_check(member,
                         got.bytes == round * 500 &&
                             tagged_holds(got_data, got.bytes, got.source, round),
                         "messages of one rank came in another order");
    }
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++)
        status = tagged_wait(comm, posted[k], NULL, error);
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void take_any_of_four(void)
{
    /* More ranks than most machines of tests have processors: they sleep and are woken. */
    expect_ok(team_transport == RONDE_TRANSPORT_SHM ? 8 : 4, take_any);
}

static void a_receive_from_any_rank_takes_what_comes(void)
{
    tagged_over_all(take_any_of_four);
}

/* A message longer than its receive, which fails alone; messages before and after arrive. */
static enum ronde_status truncate_some(const struct team_member *member, struct ronde_error *error)
{
    static const uint64_t sizes[] = {64, 4000, 20000, 400000};
    static unsigned char data[400000];
    const uint32_t last = member->join.ranks - 1;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    for (size_t k = 0; k < 8 && status == RONDE_OK; k++) {
        const uint64_t bytes = sizes[k / 2];
        const uint64_t room = k % 2 == 0 ? bytes - 1 : bytes;
        struct ronde_error why = {0};
        struct ronde_p2p_status got = {0};
        char lengths_text[64];
        /* Once unexpected and once expected. */
        if (k / 2 % 2 == 0 && status == RONDE_OK)
            status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
        if (member->join.rank == 0) {
            tagged_fill(data, bytes, 0, k);
            status = tagged_send(comm, data, bytes, last, 3, error);
        }
        if (member->join.rank != last || status != RONDE_OK)
            continue;
        memset(data, 0, sizeof data);
        const enum ronde_status came = tagged_receive(comm, data, room, 0, 3, &got, &why);
        snprintf(lengths_text, sizeof lengths_text, "%llu bytes", (unsigned long long)room);
        if (k % 2 == 0) {
            (void)team_check(member,
                             came == RONDE_REJECTED && got.is_truncated && got.bytes == bytes,
                             "what is too long is not refused");
            (void)team_check(member, strstr(why.message, lengths_text) != NULL,
                             "the error does not name the buffer's length");
            (void)team_check(member, data[0] == 0, "some of it was written");
        } else {
            (void)team_check(member, came == RONDE_OK && tagged_holds(data, bytes, 0, k),
                             "the message after it is wrong");
        }
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void truncate_between_hosts_too(void)
{
    expect_ok(team_ranks_per_host > 0 ? 3 : 2, truncate_some);
}

static void a_message_too_long_fails_its_receive_alone(void)
{
    tagged_over_all(truncate_between_hosts_too);
}

/* Messages to this rank itself: posted before and after the receive, short and long. */
static enum ronde_status talk_to_self(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char sent[2][100000];
    static unsigned char got[2][100000];
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    for (uint32_t k = 0; k < 8 && status == RONDE_OK; k++) {
        const uint64_t bytes = k % 4 < 2 ? 100 : sizeof sent[0];
        const uint32_t self = member->join.rank;
        struct ronde_p2p *sends[2] = {NULL, NULL};
        struct ronde_p2p *receives[2] = {NULL, NULL};
        for (uint32_t m = 0; m < 2; m++)
            tagged_fill(sent[m], bytes, self, k + m);
        for (uint32_t m = 0; m < 4 && status == RONDE_OK; m++)
            status = (m < 2) == (k % 2 == 0)
                         ? ronde_comm_send_post(comm, sent[m % 2], bytes, self, UINT64_MAX,
                                                &sends[m % 2], error)
                         : ronde_comm_recv_post(comm, got[m % 2], bytes, self, UINT64_MAX,
                                                &receives[m % 2], error);
        for (uint32_t m = 0; m < 2 && status == RONDE_OK; m++) {
            status = tagged_wait(comm, sends[m], NULL, error);
            if (status == RONDE_OK)
                status = tagged_wait(comm, receives[m], NULL, error);
            (void)team_check(member, tagged_holds(got[m], bytes, self, k + m),
                             "what a rank sent itself is wrong");
        }
    }
    ronde_comm_destroy(comm);
    return status;
}

static void self_messages_of_two(void)
{
    expect_ok(1, talk_to_self);
    expect_ok(2, talk_to_self);
}

static void a_rank_sends_to_itself(void)
{
    tagged_over_all(self_messages_of_two);
}

#define BESIDE 30u

/* Messages of every length are under way while collectives run; both end, and both are right. */
static enum ronde_status beside_collectives(const struct team_member *member,
                                            struct ronde_error *error)
{
    static unsigned char sent[BESIDE][300000];
    static unsigned char got[BESIDE][300000];
    struct ronde_p2p *sends[BESIDE];
    struct ronde_p2p *receives[BESIDE];
    const uint32_t ranks = member->join.ranks;
    const uint32_t next = (member->join.rank + 1) % ranks;
    const uint32_t before = (member->join.rank + ranks - 1) % ranks;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = tagged_join(member, &comm, error);
    for (uint32_t k = 0; k < BESIDE && status == RONDE_OK; k++) {
        const uint64_t bytes = k * 10000;
        tagged_fill(sent[k], bytes, member->join.rank, k);
        status = ronde_comm_send_post(comm, sent[k], bytes, next, k, &sends[k], error);
        if (status == RONDE_OK && k % 2 == 0)
            status = ronde_comm_recv_post(comm, got[k], bytes, before, k, &receives[k], error);
    }
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 200, error);
    for (uint32_t k = 1; k < BESIDE && status == RONDE_OK; k += 2)
        status = ronde_comm_recv_post(comm, got[k], k * 10000, before, k, &receives[k], error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "tree", 50, error);
    for (uint32_t k = 0; k < BESIDE && status == RONDE_OK; k++) {
        status = tagged_wait(comm, sends[k], NULL, error);
        if (status == RONDE_OK)
            status = tagged_wait(comm, receives[k], NULL, error);
        (void)team_check(member, tagged_holds(got[k], k * 10000, before, k),
                         "a message beside a collective is wrong");
    }
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void beside_collectives_of_some(void)
{
    expect_ok(2, beside_collectives);
    expect_ok(4, beside_collectives);
}

static void messages_and_collectives_go_on_side_by_side(void)
{
    tagged_over_all(beside_collectives_of_some);
}

/* A large message moves while its receiver waits for others, in a collective call, and its sender for the message. */
static enum ronde_status wait_elsewhere(const struct team_member *member, struct ronde_error *error)
{
    static unsigned char data[3000000];
    struct ronde_p2p *p2p = NULL;
    struct ronde_comm *comm = NULL;
    const uint32_t last = member->join.ranks - 1;
    enum ronde_status status = tagged_join(member, &comm, error);
    if (member->join.rank == 0) {
        tagged_fill(data, sizeof data, 0, 1);
        /* The others load the collective meanwhile, which this rank joins only when its message is gone. */
        if (status == RONDE_OK)
            status = tagged_send(comm, data, sizeof data, last, 1, error);
    } else if (member->join.rank == last && status == RONDE_OK) {
        status = ronde_comm_recv_post(comm, data, sizeof data, 0, 1, &p2p, error);
    }
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 3, error);
    if (p2p && status == RONDE_OK)
        status = tagged_wait(comm, p2p, NULL, error);
    (void)team_check(member, member->join.rank != last || tagged_holds(data, sizeof data, 0, 1),
                     "a message that came during a collective is wrong");
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    return status;
}

static void wait_elsewhere_on_some(void)
{
    expect_ok(team_ranks_per_host > 0 ? 3 : 2, wait_elsewhere);
}

static void a_rank_that_waits_for_a_collective_moves_messages(void)
{
    tagged_over_all(wait_elsewhere_on_some);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_length_arrives_whole", every_length_arrives_whole},
        {"unreceived_messages_hold_up_no_others", unreceived_messages_hold_up_no_others},
        {"a_receive_from_any_rank_takes_what_comes", a_receive_from_any_rank_takes_what_comes},
        {"a_message_too_long_fails_its_receive_alone", a_message_too_long_fails_its_receive_alone},
        {"a_rank_sends_to_itself", a_rank_sends_to_itself},
        {"messages_and_collectives_go_on_side_by_side", messages_and_collectives_go_on_side_by_side},
        {"a_rank_that_waits_for_a_collective_moves_messages",
         a_rank_that_waits_for_a_collective_moves_messages},
    };
    return suite_run("p2p", cases, sizeof cases / sizeof cases[0]);
}
