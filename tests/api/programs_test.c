/*
 * Random programs of the front door, another few hundred each day: collectives and messages on communicators of random subsets,
 * pending or not, in groups, moved on by the thread, by the caller or by whoever is drawn anew; some end in an abort, some
 * because a rank no longer calls. What ends well is compared with the definition; nothing hangs, and who failed is named.
 *
 * RONDE_TEST_SCALE is the number of programs in percent; RONDE_TEST_SEED repeats those of a day.
 */
#include "api/calls.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 3u
#define PROGRAMS 300u
#define MOST_STEPS 24u
#define PARTS 4u
#define PENDING 12u
#define MOST_MESSAGE 3000u

/* Of a call in a program in which a rank stays out, and of one that ends well. */
#define SHORT_NS UINT64_C(100000000)
#define LONG_NS UINT64_C(60000000000)

static struct team_result results[TEAM_MAX];

/* How a program ends. */
enum ending { WELL, BY_ABORT, BY_SILENCE };

/* A communicator, and which ranks of the program are in it, as all ranks know. */
struct part {
    struct ronde_comm *comm; /* NULL where this rank is not in it */
    uint32_t ranks[RANKS];   /* of the program */
    uint32_t count;          /* 0 = there is none */
};

/* An operation that is to be waited for. */
struct pending {
    struct ronde_request *request;
    const struct part *part;
    bool is_message;
    struct calls_case call;
    unsigned char *bytes; /* of a message */
    uint32_t length;
    uint64_t tag; /* 0 = of a send */
};

struct program {
    const struct team_member *member;
    uint64_t shared, own; /* what all ranks draw alike, and what each draws alone */
    enum ending ending;
    uint32_t rank, culprit;
    bool is_in_group, has_failed;
    struct part parts[PARTS];
    struct pending pending[PENDING];
};

static uint32_t draw(uint64_t *random, uint64_t below)
{
    return (uint32_t)(buffers_draw(random) % below);
}

static unsigned char byte_of(uint64_t tag, uint32_t k)
{
    return (unsigned char)(tag * 7 + k * 13 + k / 251);
}

/* Whether a call went well. Where the program was to fail it may fail, but says which rank is behind it. */
static bool went_well(struct program *program, enum ronde_status status,
                      const struct ronde_error *error)
{
    char text[256];
    if (status == RONDE_OK)
        return true;
    program->has_failed = true;
    (void)snprintf(text, sizeof text, "%s: %.200s", ronde_status_text(status), error->message);
    (void)team_check(program->member, program->ending != WELL && strstr(error->message, "rank"),
                     text);
    return false;
}

static void end_group(struct program *program)
{
    struct ronde_error error = {0};
    if (program->is_in_group)
        (void)went_well(program, ronde_group_end(&error), &error);
    program->is_in_group = false;
}

static void check_message(const struct program *program, const struct pending *pending)
{
    bool is_right = true;
    for (uint32_t k = 0; k < pending->length; k++)
        is_right &= pending->bytes[k] == byte_of(pending->tag, k);
    (void)team_check(program->member, is_right, "a message is wrong");
}

/* Waits, or asks again and again; what ended well is compared. */
static void finish(struct program *program, struct pending *pending)
{
    struct ronde_error error = {0};
    enum ronde_status status = RONDE_OK;
    bool is_done = draw(&program->own, 2) == 0;
    end_group(program);
    if (is_done)
        status = ronde_request_wait(pending->request, 0, &error);
    while (!is_done && status == RONDE_OK)
        status = ronde_request_test(pending->request, &is_done, &error);
    if (went_well(program, status, &error) && !pending->is_message)
        calls_check(program->member, &pending->call);
    else if (status == RONDE_OK && pending->tag)
        check_message(program, pending);
    ronde_request_free(pending->request);
    if (!pending->is_message)
        calls_close(&pending->call);
    free(pending->bytes);
    *pending = (struct pending){NULL};
}

static void finish_all(struct program *program, const struct part *part)
{
    for (uint32_t k = 0; k < PENDING; k++)
        if (program->pending[k].request && (!part || program->pending[k].part == part))
            finish(program, &program->pending[k]);
}

/* Room for one more operation. Before a step there is room for two, so that none waits for what the same step is still to call. */
static struct pending *find_room(struct program *program)
{
    for (uint32_t k = 0; k < PENDING; k++)
        if (!program->pending[k].request)
            return &program->pending[k];
    return NULL;
}

static void make_room(struct program *program)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < PENDING; k++)
        used += program->pending[k].request != NULL;
    if (used + 2 > PENDING)
        finish_all(program, NULL);
}

static void call_one(struct program *program, const struct part *part)
{
    const struct buffers_shape shape = calls_draw(part->count, &program->shared);
    const bool is_grouped = draw(&program->own, 10) == 0;
    struct ronde_error error = {0};
    if (!part->comm)
        return;
    struct pending *pending = find_room(program);
    (void)team_check(program->member,
                     calls_open(&pending->call, &shape, ronde_comm_rank(part->comm)), "memory");
    if (is_grouped && !program->is_in_group) {
        ronde_group_begin();
        program->is_in_group = true;
    }
    const bool waits = !program->is_in_group && draw(&program->own, 3) == 0;
    const enum ronde_status status =
        ronde_start(part->comm, &pending->call.call, waits ? NULL : &pending->request, &error);
    pending->part = part;
    if (went_well(program, status, &error) && waits)
        calls_check(program->member, &pending->call);
    if (!pending->request) {
        calls_close(&pending->call);
        *pending = (struct pending){NULL};
    }
}

/* One end of a message. */
static void post(struct program *program, const struct part *part, uint32_t peer, uint64_t tag,
                 uint32_t length, bool is_receive)
{
    struct ronde_error error = {0};
    struct pending *pending = find_room(program);
    *pending = (struct pending){.part = part,
                                .is_message = true,
                                .bytes = calloc(1, length + 1),
                                .length = length,
                                .tag = is_receive ? tag : 0};
    for (uint32_t k = 0; k < length && !is_receive; k++)
        pending->bytes[k] = byte_of(tag, k);
    const enum ronde_status status =
        !is_receive ? ronde_send(part->comm, pending->bytes, length, RONDE_UINT8, peer, tag,
                                 &pending->request, &error)
        : draw(&program->own, 2) ? ronde_recv_any(part->comm, pending->bytes, length, RONDE_UINT8,
                                                  tag, NULL, &pending->request, &error)
                                 : ronde_recv(part->comm, pending->bytes, length, RONDE_UINT8, peer,
                                              tag, &pending->request, &error);
    if (!went_well(program, status, &error)) {
        free(pending->bytes);
        *pending = (struct pending){NULL};
    }
}

static void send_one(struct program *program, const struct part *part)
{
    const uint32_t from = draw(&program->shared, part->count),
                   to = draw(&program->shared, part->count);
    const uint64_t tag = 1 + (buffers_draw(&program->shared) >> 2);
    const uint32_t length = draw(&program->shared, 8) ? draw(&program->shared, MOST_MESSAGE)
                                                      : 50 * draw(&program->shared, MOST_MESSAGE);
    const uint32_t rank = part->comm ? ronde_comm_rank(part->comm) : RONDE_NONE;
    if (rank == to)
        post(program, part, from, tag, length, true);
    if (rank == from)
        post(program, part, to, tag, length, false);
}

/* Some of a communicator's ranks, in an order that is drawn as well, become one of their own. */
static void split(struct program *program, const struct part *whole, struct part *out)
{
    struct ronde_error error = {0};
    const uint32_t turn = draw(&program->shared, whole->count);
    const uint32_t chosen = 1 + draw(&program->shared, (1u << whole->count) - 1);
    uint32_t key = RONDE_NONE;
    for (uint32_t k = 0; k < whole->count; k++) {
        const uint32_t place = (k + turn) % whole->count;
        if ((chosen >> place & 1u) == 0)
            continue;
        key = whole->ranks[place] == program->rank ? out->count : key;
        out->ranks[out->count++] = whole->ranks[place];
    }
    /* Others may be waiting in what is pending here: who splits moves it on. */
    end_group(program);
    if (draw(&program->own, 2) == 0)
        finish_all(program, NULL);
    if (!whole->comm)
        return;
    if (went_well(program,
                  ronde_comm_split(whole->comm, key == RONDE_NONE ? RONDE_NONE : 3, key, &out->comm,
                                   &error),
                  &error) &&
        out->comm)
        (void)team_check(program->member,
                         ronde_comm_rank(out->comm) == key &&
                             ronde_comm_ranks(out->comm) == out->count &&
                             ronde_comm_timeout(out->comm,
                                                program->ending == BY_SILENCE ? SHORT_NS : LONG_NS,
                                                &error) == RONDE_OK,
                         "a part");
}

static void drop(struct program *program, struct part *part)
{
    finish_all(program, part);
    ronde_comm_destroy(part->comm);
    *part = (struct part){NULL};
}

static void change_progress(struct program *program, const struct part *part)
{
    const enum ronde_progress progress =
        draw(&program->own, 2) ? RONDE_PROGRESS_THREAD : RONDE_PROGRESS_CALLER;
    struct ronde_error error = {0};
    if (!part->comm)
        return;
    finish_all(program, part);
    (void)went_well(program, ronde_comm_progress(part->comm, progress, &error), &error);
}

static void step(struct program *program)
{
    uint32_t which;
    do
        which = draw(&program->shared, PARTS);
    while (program->parts[which].count == 0);
    struct part *part = &program->parts[which];
    const uint32_t what = draw(&program->shared, 12);
    struct part *other = &program->parts[1 + draw(&program->shared, PARTS - 1)];
    make_room(program);
    if (what < 7)
        call_one(program, part);
    else if (what < 9)
        send_one(program, part);
    else if (what == 9)
        change_progress(program, part);
    else if (other->count == 0)
        split(program, part, other);
    else if (other != part)
        drop(program, other);
    const uint32_t any = draw(&program->own, PENDING);
    if (program->pending[any].request && draw(&program->own, 2))
        finish(program, &program->pending[any]);
}

/* Where others are to fail because of this rank, it ends its communicators at once, or just calls nothing more. */
static void be_culprit(struct program *program)
{
    for (uint32_t k = 0; program->ending == BY_ABORT && k < PARTS; k++)
        ronde_comm_abort(program->parts[k].comm);
    program->has_failed = true;
}

static void run_program(const struct team_member *member, struct ronde_comm *world, uint64_t seed,
                        struct ronde_error *error)
{
    static struct program program;
    const uint32_t rank = member->join.rank;
    program = (struct program){.member = member, .shared = seed, .own = seed ^ (rank + 1) << 20};
    const uint32_t end = draw(&program.shared, 32), steps = 1 + draw(&program.shared, MOST_STEPS);
    program.ending = end == 0 ? BY_SILENCE : end < 5 ? BY_ABORT : WELL;
    program.rank = rank;
    program.culprit = draw(&program.shared, RANKS);
    struct part all = {.comm = world, .count = RANKS};
    for (uint32_t k = 0; k < RANKS; k++)
        all.ranks[k] = k;
    do
        program.parts[0].count = 0, split(&program, &all, &program.parts[0]);
    while (program.parts[0].count < 2 && (ronde_comm_destroy(program.parts[0].comm), true));
    for (uint32_t k = 0; k < steps && !program.has_failed; k++)
        step(&program);
    if (program.ending != WELL && rank == program.culprit)
        be_culprit(&program);
    finish_all(&program, NULL);
    end_group(&program);
    /* Who does not call lets the others run into their limits before it leaves. */
    if (program.ending == BY_SILENCE)
        (void)team_check(member, ronde_comm_allgather(world, NULL, 0, NULL, error) == RONDE_OK,
                         "world");
    for (uint32_t k = PARTS; k-- > 0;)
        drop(&program, &program.parts[k]);
}

static enum ronde_status run_programs(const struct team_member *member, struct ronde_error *error)
{
    const uint64_t *told = member->self;
    struct ronde_comm *world = NULL;
    char text[64];
    enum ronde_status status = calls_join(member, &world, error);
    for (uint64_t k = 0; k < told[1] && status == RONDE_OK && member->result->failures == 0; k++) {
        uint64_t seed = told[0] * 1000003 + k;
        run_program(member, world, buffers_draw(&seed), error);
        (void)snprintf(text, sizeof text, "program %llu", (unsigned long long)k);
        status = error->status;
        (void)team_check(member, status == RONDE_OK && member->result->failures == 0, text);
    }
    ronde_comm_destroy(world);
    return status;
}

static void run(uint64_t programs)
{
    const uint64_t told[2] = {suite_seed(),
                              programs * suite_number("RONDE_TEST_SCALE", 100) / 100 + 1};
    team_run_expecting(RANKS, run_programs, told, results, RONDE_OK);
    CU_ASSERT(results[0].checks >= told[1]);
}

static void random_programs_do_what_they_say(void)
{
    run(PROGRAMS);
}

static void over_ucx(void)
{
    run(PROGRAMS / 10);
}

static void random_programs_over_ucx(void)
{
    team_over_ucx(over_ucx);
}

int main(void)
{
    static const struct suite_case cases[] = {SUITE_CASE(random_programs_do_what_they_say),
                                              SUITE_CASE(random_programs_over_ucx)};
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("programs", cases, sizeof cases / sizeof cases[0])
               : EXIT_FAILURE;
}
