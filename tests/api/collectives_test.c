/*
 * The collectives of the front door: every one against its definition, in place and out of place, with blocks of one length
 * and of any, on one rank and on several, over each transport.
 */
#include "api/calls.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

/* Every collective in every form that it has. */
static enum ronde_status call_all(const struct team_member *member, struct ronde_comm *comm,
                                  uint64_t count, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (unsigned c = 0; c < RONDE_COLLECTIVE_COUNT && status == RONDE_OK; c++)
        for (int in_place = 0; in_place < 2 && status == RONDE_OK; in_place++) {
            const struct ronde_collective_traits *traits =
                ronde_collective_traits((enum ronde_collective)c);
            const struct buffers_shape shape = {.collective = (enum ronde_collective)c,
                                                .ranks = ronde_comm_ranks(comm),
                                                .root = traits->has_root ? ronde_comm_ranks(comm) - 1
                                                                         : 0,
                                                .count = count,
                                                .dtype = RONDE_FLOAT32,
                                                .op = RONDE_SUM,
                                                .in_place = in_place != 0,
                                                .data = BUFFERS_SMALL,
                                                .seed = count};
            if (in_place == 0 || traits->has_in_place)
                status = calls_run(member, comm, &shape, error);
        }
    return status;
}

static enum ronde_status call_each(const struct team_member *member, struct ronde_error *error)
{
    static const uint64_t counts[] = {0, 1, 7, 300, 5000};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0] && status == RONDE_OK; k++)
        status = call_all(member, comm, counts[k], error);
    ronde_comm_destroy(comm);
    return status;
}

static void every_collective_does_what_it_is(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 4};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        team_run_expecting(sizes[k], call_each, NULL, results, RONDE_OK);
        CU_ASSERT(results[0].checks >= 5 * 17);
    }
}

static enum ronde_status call_random(const struct team_member *member, struct ronde_error *error)
{
    const uint64_t *runs = member->self;
    uint64_t random = 20261122;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    for (uint64_t k = 0; k < *runs && status == RONDE_OK; k++) {
        const struct buffers_shape shape = calls_draw(member->join.ranks, &random);
        status = calls_run(member, comm, &shape, error);
    }
    ronde_comm_destroy(comm);
    return status;
}

static void random_calls_leave_what_the_definition_says(void)
{
    const uint64_t runs = 5 * suite_number("RONDE_TEST_SCALE", 100);
    team_run_expecting(3, call_random, &runs, results, RONDE_OK);
    CU_ASSERT_EQUAL(results[0].checks, runs);
}

/* The functions with tables of counts, whose blocks lie in descending order with gaps. */
#define V_RANKS 3u

struct v_memory {
    int32_t in[64];
    int32_t out[64];
};

/* Rank r sends 1 + (r + 2 s) % 4 elements to rank s; none from the last rank to itself. */
static uint64_t v_count(uint32_t from, uint32_t to)
{
    return from == to && to == V_RANKS - 1 ? 0 : 1 + (from + 2 * to) % 4;
}

static int32_t v_value(uint32_t from, uint32_t to, uint64_t k)
{
    return (int32_t)(100 * from + 10 * to + k);
}

static void v_fill(struct v_memory *memory, const uint64_t *offsets, uint32_t from)
{
    memset(memory, 0xff, sizeof *memory);
    for (uint32_t to = 0; to < V_RANKS; to++)
        for (uint64_t k = 0; k < v_count(from, to); k++)
            memory->in[offsets[to] + k] = v_value(from, to, k);
}

static bool v_is_right(const struct v_memory *memory, const uint64_t *offsets, uint32_t to)
{
    uint64_t written = 0;
    for (uint32_t from = 0; from < V_RANKS; from++)
        for (uint64_t k = 0; k < v_count(from, to); k++, written++)
            if (memory->out[offsets[from] + k] != v_value(from, to, k))
                return false;
    for (size_t k = 0; k < 64; k++)
        written += memory->out[k] == -1;
    return written == 64;
}

static enum ronde_status exchange_v(const struct team_member *member, struct ronde_error *error)
{
    static const uint64_t offsets[V_RANKS] = {40, 20, 1};
    const uint32_t rank = member->join.rank;
    uint64_t in_counts[V_RANKS];
    uint64_t out_counts[V_RANKS];
    struct v_memory memory;
    struct ronde_comm *comm = NULL;
    for (uint32_t peer = 0; peer < V_RANKS; peer++) {
        in_counts[peer] = v_count(rank, peer);
        out_counts[peer] = v_count(peer, rank);
    }
    enum ronde_status status = calls_join(member, &comm, error);
    for (uint64_t max_count = 0; max_count < 8 && status == RONDE_OK; max_count += 4) {
        v_fill(&memory, offsets, rank);
        status = ronde_all_to_all_v(comm, memory.in, in_counts, offsets, memory.out, out_counts,
                                    offsets, max_count, RONDE_INT32, NULL, NULL, error);
        (void)team_check(member, v_is_right(&memory, offsets, rank), "all_to_all_v");
    }
    ronde_comm_destroy(comm);
    return status;
}

static void all_to_all_v_finds_the_longest_block_or_is_told(void)
{
    team_run_expecting(V_RANKS, exchange_v, NULL, results, RONDE_OK);
}

/* Rank 0 gives and gets nothing, and has no memory to name; the others give each other, and themselves, an element. */
static enum ronde_status exchange_nothing(const struct team_member *member,
                                          struct ronde_error *error)
{
    const uint32_t rank = member->join.rank;
    const uint64_t some[V_RANKS] = {0, 1, 1};
    const uint64_t none[V_RANKS] = {0, 0, 0};
    const uint64_t offsets[V_RANKS] = {0, 0, 1};
    const int32_t in[2] = {(int32_t)rank, (int32_t)rank};
    int32_t out[2] = {-1, -1};
    const uint64_t *counts = rank == 0 ? none : some;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status =
            ronde_all_to_all_v(comm, rank == 0 ? NULL : in, counts, offsets, rank == 0 ? NULL : out,
                               counts, offsets, 0, RONDE_INT32, NULL, NULL, error);
    (void)team_check(member, rank == 0 ? out[0] == -1 && out[1] == -1 : out[0] == 1 && out[1] == 2,
                     "all_to_all_v with a rank that has nothing");
    ronde_comm_destroy(comm);
    return status;
}

static void blocks_that_are_all_empty_need_no_buffer(void)
{
    team_run_expecting(V_RANKS, exchange_nothing, NULL, results, RONDE_OK);
}

/* gather_v to the last rank and scatter_v back, in which only the root knows the counts. */
static enum ronde_status gather_and_scatter_v(const struct team_member *member,
                                              struct ronde_error *error)
{
    static const uint64_t counts[V_RANKS] = {2, 0, 5};
    static const uint64_t offsets[V_RANKS] = {7, 0, 1};
    const uint32_t rank = member->join.rank;
    const uint32_t root = V_RANKS - 1;
    const bool is_root = rank == root;
    double mine[5];
    double all[16] = {0};
    struct ronde_comm *comm = NULL;
    for (int k = 0; k < 5; k++)
        mine[k] = 10.0 * rank + k;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status =
            ronde_gather_v(comm, mine, counts[rank], is_root ? all : NULL, is_root ? counts : NULL,
                           is_root ? offsets : NULL, 0, RONDE_FLOAT64, root, NULL, NULL, error);
    if (is_root)
        (void)team_check(member,
                         all[7] == 0 && all[8] == 1 && all[1] == 20 && all[5] == 24 &&
                             all[0] == 0 && all[6] == 0,
                         "gather_v");
    memset(mine, 0, sizeof mine);
    if (status == RONDE_OK)
        status = ronde_scatter_v(comm, is_root ? all : NULL, is_root ? counts : NULL,
                                 is_root ? offsets : NULL, mine, counts[rank], 5, RONDE_FLOAT64,
                                 root, NULL, NULL, error);
    for (uint64_t k = 0; k < counts[rank]; k++)
        (void)team_check(member, mine[k] == 10.0 * rank + (double)k, "scatter_v");
    ronde_comm_destroy(comm);
    return status;
}

static void only_the_root_knows_the_counts_of_gather_v_and_scatter_v(void)
{
    team_run_expecting(V_RANKS, gather_and_scatter_v, NULL, results, RONDE_OK);
}

static enum ronde_status gather_and_reduce_all_v(const struct team_member *member,
                                                 struct ronde_error *error)
{
    static const uint64_t counts[V_RANKS] = {3, 1, 0};
    static const uint64_t offsets[V_RANKS] = {0, 3, 4};
    const uint32_t rank = member->join.rank;
    const int64_t mine[3] = {rank, rank + 10, rank + 20};
    int64_t all[4] = {-1, -1, -1, -1};
    int64_t part[3] = {-1, -1, -1};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status =
            ronde_all_gather_v(comm, mine, all, counts, offsets, RONDE_INT64, NULL, NULL, error);
    (void)team_check(member, all[0] == 0 && all[1] == 10 && all[2] == 20 && all[3] == 1,
                     "all_gather_v");
    if (status == RONDE_OK)
        status = ronde_reduce_scatter_v(comm, all, part, counts, offsets, RONDE_INT64, RONDE_SUM,
                                        NULL, NULL, error);
    for (uint64_t k = 0; k < 3; k++)
        (void)team_check(member, part[k] == (k < counts[rank] ? 3 * all[offsets[rank] + k] : -1),
                         "reduce_scatter_v");
    ronde_comm_destroy(comm);
    return status;
}

static void all_know_the_counts_of_all_gather_v_and_reduce_scatter_v(void)
{
    team_run_expecting(V_RANKS, gather_and_reduce_all_v, NULL, results, RONDE_OK);
}

/* Pairs by a table, and shifts. */
static enum ronde_status pass_on(const struct team_member *member, struct ronde_error *error)
{
    static const uint32_t sources[4] = {3, RONDE_NONE, 0, 0};
    static const int32_t expected[4] = {3, -1, 0, 0};
    const int32_t rank = (int32_t)member->join.rank;
    int32_t got = -1;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    for (int k = 0; k < 2 && status == RONDE_OK; k++) {
        status = ronde_send_recv(comm, &rank, &got, 1, RONDE_INT32, sources, NULL, NULL, error);
        (void)team_check(member, got == expected[rank], "send_recv");
    }
    for (uint32_t shift = 0; shift < 4 && status == RONDE_OK; shift++) {
        status = ronde_shift(comm, &rank, &got, 1, RONDE_INT32, shift, NULL, NULL, error);
        (void)team_check(member, got == (rank + 4 - (int32_t)shift) % 4, "shift");
    }
    ronde_comm_destroy(comm);
    return status;
}

static void inputs_go_where_sources_say(void)
{
    team_run_expecting(4, pass_on, NULL, results, RONDE_OK);
}

/* More kinds of calls than are kept, twice: what was unloaded is loaded again by all ranks together. */
static enum ronde_status overflow(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    static unsigned char memory[2][1 << 14];
    enum ronde_status status = calls_join(member, &comm, error);
    for (uint32_t k = 0; k < 6 * 2 * 14 && status == RONDE_OK; k++) {
        const uint64_t count = UINT64_C(1) << k % 14;
        unsigned char *out = memory[1];
        const uint32_t root = k / 14 % 6 % 3;
        memset(memory[0], (int)(k + member->join.rank), count);
        status = k / 14 % 6 < 3 ? ronde_broadcast(comm, memory[0], out, count, RONDE_UINT8, root,
                                                  NULL, NULL, error)
                                : ronde_reduce(comm, memory[0], out, count, RONDE_UINT8, RONDE_MAX,
                                               root, NULL, NULL, error);
        const unsigned char expected = (unsigned char)(k / 14 % 6 < 3 ? k + root : k + 2);
        const bool has_out = k / 14 % 6 < 3 || member->join.rank == root;
        (void)team_check(member, status != RONDE_OK || !has_out || out[count - 1] == expected,
                         "a byte is wrong");
    }
    ronde_comm_destroy(comm);
    return status;
}

static void kinds_beyond_the_bound_are_unloaded_and_loaded_again(void)
{
    team_run_expecting(3, overflow, NULL, results, RONDE_OK);
    CU_ASSERT(results[0].checks > 2 * RONDE_KEPT_PROGRAMS);
}

static bool refuses(struct ronde_comm *comm, const struct ronde_call *call,
                    enum ronde_status expected, const char *text)
{
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_start(comm, call, NULL, &error);
    if (status != expected || !strstr(error.message, text))
        suite_note("%s: %s", ronde_status_text(status), error.message);
    return status == expected && strstr(error.message, text) != NULL;
}

static enum ronde_status call_wrongly(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    int32_t data[8] = {0};
    const struct ronde_call good = {
        .collective = RONDE_ALL_REDUCE, .dtype = RONDE_INT32, .in = data, .out = data, .count = 1};
    struct ronde_call calls[8];
    static const char *const words[8] = {"dtype 99",    "op 77",
                                         "out is NULL", "in and out overlap",
                                         "factor",      "address",
                                         "collective",  "no table of counts"};
    enum ronde_status status = calls_join(member, &comm, error);
    for (int k = 0; k < 8; k++)
        calls[k] = good;
    calls[0].dtype = (enum ronde_dtype)99;
    calls[1].op = (enum ronde_op)77;
    calls[2].out = NULL;
    calls[3].out = data + 1;
    calls[3].count = 4;
    calls[4].op = RONDE_PREMUL_SUM;
    calls[5].count = UINT64_MAX / 4;
    calls[6].collective = RONDE_COLLECTIVE_COUNT;
    calls[7].is_v = true;
    for (int k = 0; k < 8 && status == RONDE_OK; k++)
        (void)team_check(member, refuses(comm, &calls[k], RONDE_BAD_ARGUMENT, words[k]), words[k]);
    struct ronde_call streamed = good;
    streamed.stream = data;
    (void)team_check(member, refuses(comm, &streamed, RONDE_UNAVAILABLE, "no device"), "a stream");
    struct ronde_call rooted = good;
    rooted.collective = RONDE_BROADCAST;
    rooted.root = 2;
    (void)team_check(member, refuses(comm, &rooted, RONDE_BAD_ARGUMENT, "root 2"), "a root");
    /* None of that has harmed the communicator. */
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static void wrong_arguments_are_named_and_harm_nothing(void)
{
    team_run_expecting(2, call_wrongly, NULL, results, RONDE_OK);
}

/* Ranks that call different things for the first time. */
static enum ronde_status disagree(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    int32_t data[4] = {0};
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK && member->join.rank == 1)
        status = ronde_broadcast(comm, data, data, 2, RONDE_INT32, 1, NULL, NULL, error);
    else if (status == RONDE_OK)
        status = ronde_all_reduce(comm, data, data, 2, RONDE_INT32, RONDE_SUM, NULL, NULL, error);
    struct ronde_error again = {0};
    (void)team_check(member, ronde_barrier(comm, NULL, NULL, &again) == RONDE_REJECTED,
                     "the communicator goes on");
    ronde_comm_destroy(comm);
    return status;
}

static void ranks_that_call_different_things_are_named(void)
{
    team_run_expecting(3, disagree, NULL, results, RONDE_REJECTED);
    for (uint32_t rank = 0; rank < 3; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 0 calls all_reduce"));
}

static void every_collective_over_ucx(void)
{
    team_over_ucx(every_collective_does_what_it_is);
}

static void random_calls_over_ucx(void)
{
    team_over_ucx(random_calls_leave_what_the_definition_says);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_collective_does_what_it_is", every_collective_does_what_it_is},
        {"random_calls_leave_what_the_definition_says", random_calls_leave_what_the_definition_says},
        {"all_to_all_v_finds_the_longest_block_or_is_told",
         all_to_all_v_finds_the_longest_block_or_is_told},
        {"blocks_that_are_all_empty_need_no_buffer", blocks_that_are_all_empty_need_no_buffer},
        {"only_the_root_knows_the_counts_of_gather_v_and_scatter_v",
         only_the_root_knows_the_counts_of_gather_v_and_scatter_v},
        {"all_know_the_counts_of_all_gather_v_and_reduce_scatter_v",
         all_know_the_counts_of_all_gather_v_and_reduce_scatter_v},
        {"inputs_go_where_sources_say", inputs_go_where_sources_say},
        {"kinds_beyond_the_bound_are_unloaded_and_loaded_again",
         kinds_beyond_the_bound_are_unloaded_and_loaded_again},
        {"wrong_arguments_are_named_and_harm_nothing", wrong_arguments_are_named_and_harm_nothing},
        {"ranks_that_call_different_things_are_named", ranks_that_call_different_things_are_named},
        {"every_collective_over_ucx", every_collective_over_ucx},
        {"random_calls_over_ucx", random_calls_over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("collectives", cases, sizeof cases / sizeof cases[0])
               : 1;
}
