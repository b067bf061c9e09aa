/*
 * Collectives with tables of counts and offsets that are drawn: blocks in any order with gaps, in place or not, and offsets that
 * overflow or make blocks overlap, buffers and tables that are NULL. What cannot be done is refused by every rank that it concerns,
 * before anything is written or sent; the rest is right; and a child that is forked meanwhile takes no part. RONDE_TEST_SCALE is how many
 * a form, in percent.
 */
#include "net/team.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/ronde.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, ELEMENTS = 96, MOST_BYTES = 8, SECONDS = 20 };
enum form { ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER, FORMS };
enum missing { NO_BUFFER = 1, NO_COUNTS = 2, NO_OFFSETS = 4 };

static const char *const names[FORMS] = {"all_gather_v", "reduce_scatter_v", "all_to_all_v",
                                         "gather_v", "scatter_v"};

/* One buffer of a rank: a block, or a table of them, in elements of its memory. */
struct side {
    uint64_t at, counts[RANKS], offsets[RANKS];
    unsigned blocks; /* 0: this rank has none of it; 1: no table */
    unsigned missing;
};

struct trial {
    enum form form;
    enum ronde_dtype dtype;
    uint64_t element, root, longest, seed;
    struct side side[RANKS][2]; /* in, out */
    bool is_awaited, has_child;
};

static struct team_result results[TEAM_MAX];
static _Alignas(16) unsigned char memory[ELEMENTS * MOST_BYTES], expected[ELEMENTS * MOST_BYTES],
    others[ELEMENTS * MOST_BYTES];

static uint64_t draw(uint64_t *random, uint64_t below)
{
    return buffers_draw(random) % below;
}

static void fill(unsigned char *to, const struct trial *trial, uint32_t rank)
{
    uint64_t random = trial->seed * 8 + rank;
    for (size_t i = 0; i < ELEMENTS * MOST_BYTES; i++)
        to[i] = (unsigned char)buffers_draw(&random);
}

/* Elements that go from one rank to another. */
static void draw_counts(struct trial *trial, uint64_t *random)
{
    const enum form form = trial->form;
    uint64_t own[RANKS];
    for (uint32_t r = 0; r < RANKS; r++)
        own[r] = draw(random, 3) == 0 ? 0 : draw(random, 6);
    for (uint32_t from = 0; from < RANKS; from++)
        for (uint32_t to = 0; to < RANKS; to++) {
            const uint64_t count = form == ALL_TO_ALL                     ? draw(random, 5)
                                   : form == ALL_GATHER || form == GATHER ? own[from]
                                                                          : own[to];
            struct side *in = &trial->side[from][0], *out = &trial->side[to][1];
            trial->longest = count > trial->longest ? count : trial->longest;
            const bool is_one_in = form == ALL_GATHER || form == GATHER;
            const bool is_one_out = form == REDUCE_SCATTER || form == SCATTER;
            in->counts[is_one_in ? 0 : to] = count;
            out->counts[is_one_out ? 0 : from] = count;
            in->blocks = is_one_in ? 1 : form == SCATTER && from != trial->root ? 0 : RANKS;
            out->blocks = is_one_out ? 1 : form == GATHER && to != trial->root ? 0 : RANKS;
        }
}

/* Blocks of both sides, one behind the other in drawn order. */
static void lay(struct side sides[2], uint64_t *random)
{
    uint64_t next = draw(random, 4), start[2 * RANKS], least[2] = {ELEMENTS, ELEMENTS};
    unsigned order[2 * RANKS];
    for (unsigned i = 0; i < 2 * RANKS; i++) {
        const unsigned with = (unsigned)draw(random, i + 1);
        order[i] = order[with];
        order[with] = i;
    }
    for (unsigned i = 0; i < 2 * RANKS; i++) {
        const unsigned block = order[i], s = block / RANKS;
        start[block] = next;
        if (block % RANKS >= sides[s].blocks)
            continue;
        least[s] = next < least[s] ? next : least[s];
        next += sides[s].counts[block % RANKS] + draw(random, 3);
    }
    for (unsigned s = 0; s < 2; s++) {
        sides[s].at = sides[s].blocks == 1 ? start[s * RANKS] : draw(random, least[s] + 1);
        for (unsigned b = 0; b < RANKS; b++)
            sides[s].offsets[b] = sides[s].blocks == 1 ? 0 : start[s * RANKS + b] - sides[s].at;
    }
}

/* The side without a table lies where it does in the other. */
static void put_in_place(struct side sides[2], uint32_t rank)
{
    const unsigned one = sides[0].blocks == 1 ? 0 : 1;
    if (sides[one].blocks == 1 && sides[1 - one].blocks == RANKS)
        sides[one].at = sides[1 - one].at + sides[1 - one].offsets[rank];
}

static void spoil(struct trial *trial, struct side sides[2], uint64_t *random)
{
    struct side *side = &sides[draw(random, 2)];
    const uint64_t wrap = trial->element > 1 ? UINT64_MAX / trial->element + 1 : 0,
                   small = draw(random, 9);
    uint64_t *offset = &side->offsets[draw(random, RANKS)];
    if (side->blocks == 0)
        return;
    switch (draw(random, side->blocks == 1 ? 2 : 6)) {
    case 0:
        side->at = draw(random, 30);
        break;
    case 1:
        side->missing = NO_BUFFER;
        break;
    case 2:
        *offset = draw(random, 30);
        break;
    case 3: /* -1, -2, ... or what multiplied overflows to a little */
        *offset = draw(random, 2) == 0 || wrap == 0 ? UINT64_MAX - small : wrap + small;
        break;
    case 4:
        side->missing = NO_COUNTS;
        break;
    default:
        side->missing = NO_OFFSETS;
    }
}

static struct trial draw_trial(enum form form, uint64_t seed)
{
    static const enum ronde_dtype dtypes[] = {RONDE_UINT8, RONDE_UINT32, RONDE_UINT64};
    uint64_t random = seed * FORMS + form;
    struct trial trial = {.form = form, .seed = seed};
    trial.dtype = dtypes[draw(&random, 3)];
    trial.element = ronde_dtype_bytes(trial.dtype);
    trial.root = draw(&random, RANKS);
    draw_counts(&trial, &random);
    const bool is_in_place = draw(&random, 4) == 0, is_spoilt = draw(&random, 2) == 0,
               is_common = draw(&random, 2) == 0;
    const uint32_t victim = (uint32_t)draw(&random, RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        lay(trial.side[r], &random);
        if (is_in_place)
            put_in_place(trial.side[r], r);
        if (is_spoilt && (is_common || r == victim))
            spoil(&trial, trial.side[r], &random);
    }
    if (draw(&random, 2) == 0)
        trial.longest = 0;
    trial.is_awaited = draw(&random, 2) == 0;
    trial.has_child = draw(&random, 16) == 0;
    return trial;
}

/* --- what is right ------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

/* Elements of a side's block from the rank's memory on; in 128 bits nothing overflows. */
static wide start_of(const struct side *side, unsigned block)
{
    return (wide)side->at + side->offsets[block];
}

static bool do_meet(const struct side *a, unsigned i, const struct side *b, unsigned j)
{
    return a->counts[i] > 0 && b->counts[j] > 0 && start_of(a, i) < start_of(b, j) + b->counts[j] &&
           start_of(b, j) < start_of(a, i) + a->counts[i];
}

/* A block in place is its own. */
static bool is_own(const struct side sides[2], unsigned in, unsigned out, uint32_t rank)
{
    return sides[0].blocks != sides[1].blocks &&
           start_of(&sides[0], in) == start_of(&sides[1], out) &&
           (sides[0].blocks == 1 ? out : in) == rank;
}

static bool is_side_good(const struct side *side)
{
    uint64_t all = 0;
    for (unsigned b = 0; b < side->blocks; b++) {
        all += side->counts[b];
        /* Whatever leaves the memory leaves the address space, too: see spoil. */
        if (side->counts[b] > 0 && start_of(side, b) + side->counts[b] > ELEMENTS)
            return false;
    }
    return side->blocks == 0 || !side->missing || (side->missing != NO_COUNTS && all == 0);
}

static bool is_good(const struct side sides[2], uint32_t rank)
{
    if (!is_side_good(&sides[0]) || !is_side_good(&sides[1]))
        return false;
    for (unsigned out = 0; out < sides[1].blocks; out++) {
        for (unsigned other = out + 1; other < sides[1].blocks; other++)
            if (do_meet(&sides[1], out, &sides[1], other))
                return false;
        for (unsigned in = 0; in < sides[0].blocks; in++)
            if (do_meet(&sides[0], in, &sides[1], out) && !is_own(sides, in, out, rank))
                return false;
    }
    return true;
}

/* What a rank gives in one block, into or onto another one of the expected memory. */
static void expect_block(const struct trial *trial, uint32_t from, uint32_t rank)
{
    const struct side *in = &trial->side[from][0], *out = &trial->side[rank][1];
    const unsigned in_block = in->blocks == 1 ? 0 : rank, out_block = out->blocks == 1 ? 0 : from;
    const bool is_sum = trial->form == REDUCE_SCATTER;
    if ((trial->form == SCATTER && from != trial->root) || out->blocks == 0 ||
        in->counts[in_block] == 0)
        return;
    fill(others, trial, from);
    unsigned char *to = expected + trial->element * (size_t)start_of(out, out_block);
    const unsigned char *what = others + trial->element * (size_t)start_of(in, in_block);
    for (size_t i = 0; i < trial->element * in->counts[in_block]; i++)
        to[i] = (unsigned char)(is_sum && from > 0 ? to[i] ^ what[i] : what[i]);
}

/* --- calls ---------------------------------------------------------------------------------------- */

static enum ronde_status call(struct ronde_comm *comm, const struct trial *trial, uint32_t rank,
                              struct ronde_request **request, struct ronde_error *error)
{
    const struct side *in = &trial->side[rank][0], *out = &trial->side[rank][1];
    const void *from =
        in->missing == NO_BUFFER || in->blocks == 0 ? NULL : memory + in->at * trial->element;
    void *to =
        out->missing == NO_BUFFER || out->blocks == 0 ? NULL : memory + out->at * trial->element;
    const uint64_t *in_counts = in->missing == NO_COUNTS ? NULL : in->counts;
    const uint64_t *in_offsets = in->missing == NO_OFFSETS ? NULL : in->offsets;
    const uint64_t *out_counts = out->missing == NO_COUNTS ? NULL : out->counts;
    const uint64_t *out_offsets = out->missing == NO_OFFSETS ? NULL : out->offsets;
    const uint32_t root = (uint32_t)trial->root;
    switch (trial->form) {
    case ALL_GATHER:
        return ronde_all_gather_v(comm, from, to, out_counts, out_offsets, trial->dtype, NULL,
                                  request, error);
    case REDUCE_SCATTER:
        return ronde_reduce_scatter_v(comm, from, to, in_counts, in_offsets, trial->dtype,
                                      RONDE_BXOR, NULL, request, error);
    case ALL_TO_ALL:
        return ronde_all_to_all_v(comm, from, in_counts, in_offsets, to, out_counts, out_offsets,
                                  trial->longest, trial->dtype, NULL, request, error);
    case GATHER:
        return ronde_gather_v(comm, from, in->counts[0], to, out_counts, out_offsets,
                              trial->longest, trial->dtype, root, NULL, request, error);
    default:
        return ronde_scatter_v(comm, from, in_counts, in_offsets, to, out->counts[0],
                               trial->longest, trial->dtype, root, NULL, request, error);
    }
}

/* A child does the same with its own copy of the communicator and of the request; whether all of it is refused. */
static bool is_child_refused(struct ronde_comm *comm, const struct trial *trial, uint32_t rank,
                             struct ronde_request *request)
{
    int ended = -1;
    const pid_t child = fork();
    if (child == 0) {
        struct ronde_request *own = NULL;
        (void)alarm(SECONDS);
        bool is_refused =
            call(comm, trial, rank, trial->is_awaited ? &own : NULL, NULL) == RONDE_BAD_ARGUMENT &&
            !own;
        /* What was over before is over here, too. */
        const enum ronde_status waited = request ? ronde_request_wait(request, 0, NULL) : RONDE_OK;
        is_refused = is_refused && (waited == RONDE_OK || waited == RONDE_BAD_ARGUMENT);
        _exit(is_refused ? 0 : 1);
    }
    return child > 0 && waitpid(child, &ended, 0) == child && ended == 0;
}

static bool check(const struct team_member *member, const struct trial *trial, bool holds,
                  const char *what, const struct ronde_error *error)
{
    char text[256];
    snprintf(text, sizeof text, "%s, seed %llu: %s: %.120s", names[trial->form],
             (unsigned long long)trial->seed, what, error->message);
    return team_check(member, holds, text);
}

static void run_good(const struct team_member *member, struct ronde_comm *comm,
                     const struct trial *trial, uint32_t rank)
{
    struct ronde_error error = {0};
    struct ronde_request *request = NULL;
    for (uint32_t from = 0; from < RANKS; from++)
        expect_block(trial, from, rank);
    enum ronde_status status = call(comm, trial, rank, trial->is_awaited ? &request : NULL, &error);
    if (trial->has_child)
        (void)check(member, trial, is_child_refused(comm, trial, rank, request),
                    "a forked child takes part", &error);
    if (request && status == RONDE_OK)
        status = ronde_request_wait(request, 0, &error);
    ronde_request_free(request);
    (void)check(member, trial, status == RONDE_OK, "a good call is refused", &error);
    (void)check(member, trial, memcmp(memory, expected, sizeof memory) == 0, "wrong values", &error);
}

static void run_bad(const struct team_member *member, struct ronde_comm *comm,
                    const struct trial *trial, uint32_t rank)
{
    struct ronde_error error = {0};
    struct ronde_request *request = NULL;
    const enum ronde_status status =
        call(comm, trial, rank, trial->is_awaited ? &request : NULL, &error);
    (void)check(member, trial, status == RONDE_BAD_ARGUMENT && !request && error.message[0],
                "a bad call is taken", &error);
    (void)check(member, trial, memcmp(memory, expected, sizeof memory) == 0,
                "a bad call has written", &error);
}

/* Who would be refused calls alone; else all do. result->number counts the refused. */
static void run_trial(const struct team_member *member, struct ronde_comm *comm,
                      const struct trial *trial)
{
    const uint32_t rank = ronde_comm_rank(comm);
    bool are_good = true;
    for (uint32_t r = 0; r < RANKS; r++)
        are_good = are_good && is_good(trial->side[r], r);
    fill(memory, trial, rank);
    memcpy(expected, memory, sizeof memory);
    if (are_good) {
        run_good(member, comm, trial, rank);
    } else if (!is_good(trial->side[rank], rank)) {
        member->result->number++;
        run_bad(member, comm, trial, rank);
    }
}

static enum ronde_status call_drawn(const struct team_member *member, struct ronde_error *error)
{
    const uint64_t *tries = member->self, only = suite_number("RONDE_TEST_SEED", 0);
    struct ronde_comm *comm = NULL;
    enum ronde_status status = team_join(member, SECONDS, &comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_timeout(comm, SECONDS * UINT64_C(1000000000) * team_patience(), error);
    for (uint64_t seed = only > 0 ? only : 1;
         seed <= (only > 0 ? only : *tries) && status == RONDE_OK; seed++)
        for (unsigned form = 0; form < FORMS; form++) {
            const struct trial trial = draw_trial((enum form)form, seed);
            run_trial(member, comm, &trial);
        }
    ronde_comm_destroy(comm);
    return status;
}

static void drawn_tables_are_right_or_refused(void)
{
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100);
    team_run_expecting(RANKS, call_drawn, &tries, results, RONDE_OK);
    uint64_t failures = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        suite_note("rank %u: %llu conditions, %llu calls refused, %llu failures %s", r,
                   (unsigned long long)results[r].checks, (unsigned long long)results[r].number,
                   (unsigned long long)results[r].failures, results[r].failure);
        failures += results[r].failures;
        CU_ASSERT(results[r].number > tries / 4 && results[r].checks > tries);
    }
    CU_ASSERT_EQUAL(failures, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {SUITE_CASE(drawn_tables_are_right_or_refused)};
    return suite_run("v_forms", cases, sizeof cases / sizeof cases[0]);
}
