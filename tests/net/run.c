/* Random collectives, compared with host. See run.h. */
#include "net/run.h"

#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>

/* A draw is repeated until an algorithm takes it. */
#define ATTEMPTS 1000u

#define TIMEOUT_NS UINT64_C(60000000000)

static uint64_t draw(uint64_t *random, uint64_t below)
{
    return buffers_draw(random) % below;
}

struct ronde_schedule *run_draw_schedule(uint32_t ranks, uint64_t *random)
{
    uint32_t count;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        const struct ronde_algorithm *algorithm = algorithms[draw(random, count)];
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        struct ronde_compile_request request;
        memset(&request, 0, sizeof request);
        request.collective = algorithm->collective;
        request.algorithm = algorithm->name;
        request.ranks = ranks;
        request.root = ronde_collective_traits(algorithm->collective)->has_root
                           ? (uint32_t)draw(random, ranks)
                           : 0;
        request.channels = draw(random, 3) == 0 ? 2 : 0;
        if (ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error) == RONDE_OK)
            return schedule;
    }
    return NULL;
}

/* Small counts often, long ones now and then. */
static uint64_t draw_count(uint64_t *random)
{
    const uint64_t kind = draw(random, 8);
    if (kind < 4)
        return draw(random, 40);
    return kind < 7 ? draw(random, 2000) : draw(random, 20000);
}

static struct buffers_shape draw_shape(const struct ronde_schedule *schedule, uint64_t *random)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    struct buffers_shape shape = {.collective = schedule->collective,
                                  .ranks = schedule->ranks,
                                  .root = schedule->root};
    shape.count = draw_count(random);
    shape.dtype = (enum ronde_dtype)draw(random, RONDE_DTYPE_COUNT);
    do
        shape.op = (enum ronde_op)draw(random, traits->reduces ? RONDE_OP_COUNT : RONDE_AVG);
    while (!reference_is_defined(shape.dtype, shape.op));
    shape.in_place = traits->has_in_place && draw(random, 2) == 0;
    shape.data = BUFFERS_BITS;
    shape.seed = buffers_draw(random);
    const bool has_tables = draw(random, 4) == 0;
    if (has_tables)
        shape.blocks = schedule->v_form == RONDE_V_NONE ? BUFFERS_SEPARATE : BUFFERS_UNEVEN;
    return shape;
}

static enum ronde_status run_host(const struct ronde_schedule *schedule,
                                  const struct buffers *buffers, struct ronde_error *error)
{
    const struct ronde_backend *host = &ronde_backend_host;
    const struct ronde_launch launch = buffers_launch(buffers);
    struct ronde_machine machine;
    struct ronde_result result;
    void *self = NULL;
    enum ronde_status status = host->probe(&machine, error);
    if (status == RONDE_OK)
        status = host->open(&machine, ronde_mem_default(), &self, error);
    if (status == RONDE_OK)
        status = ronde_backend_run_once(host, self, schedule, &launch, &result, error);
    host->close(self);
    return status;
}

/* The other ranks' memory is not checked here: it is taken as right. */
static void adopt_others(struct buffers *actual, const struct buffers *expected,
                         const struct run_target *target)
{
    const size_t bytes = actual->rank_bytes;
    const uint32_t count = target->rank_count > 0 ? target->rank_count : 1;
    for (uint32_t other = 0; other < actual->shape.ranks; other++)
        if (other - target->rank >= count)
            memcpy(actual->images + other * bytes, expected->images + other * bytes, bytes);
}

/*
 * How messages are to travel: staged, by size, read in place, from registered memory or by the kernel where it lets, or
 * written in place. Ranks differ in it, and in whether they run in place: neither is the others' business.
 */
struct manner {
    enum ronde_protocol protocol;
    const struct ronde_mem *mem;
    bool is_contrary; /* in place where the others are not, and the other way round */
};

/* The first so many are of registered memory. */
#define REGISTERED_MANNERS 2u

static struct manner draw_manner(const struct run_target *target, uint64_t *random)
{
    static const enum ronde_protocol protocols[] = {RONDE_PROTOCOL_PULL, RONDE_PROTOCOL_PUSH,
                                                    RONDE_PROTOCOL_PULL, RONDE_PROTOCOL_AUTO,
                                                    RONDE_PROTOCOL_STAGED};
    const uint64_t count = sizeof protocols / sizeof protocols[0];
    const uint64_t kind = draw(random, count + 2);
    const uint64_t own = kind < count ? kind : (kind + target->rank) % count;
    const bool is_contrary = draw(random, 4) == 0 && target->rank % 2 == 1;
    if (!target->comm)
        return (struct manner){target->protocol, target->mem ? target->mem : ronde_mem_default(),
                               target->mem && is_contrary};
    return (struct manner){protocols[own],
                           own < REGISTERED_MANNERS ? ronde_comm_mem(target->comm)
                                                    : ronde_mem_default(),
                           is_contrary};
}

/* What this rank runs: pull and push where the transport and the kernel have them. */
static struct ronde_launch make_launch(const struct run_target *target,
                                       const struct ronde_schedule *schedule,
                                       const struct buffers *buffers, const struct run_case *given)
{
    struct ronde_error why = {0};
    struct ronde_launch launch = buffers_launch(buffers);
    launch.timeout_ns = TIMEOUT_NS * team_patience();
    launch.protocol = given->protocol;
    launch.slot_bytes = given->slot_bytes;
    launch.depth = given->depth;
    if (target->comm && target->backend->supports(target->comm, schedule, &launch, &why) != RONDE_OK)
        launch.protocol = RONDE_PROTOCOL_AUTO;
    return launch;
}

/* Notes whether a run left what host leaves. */
static void note_difference(const struct team_member *member, const struct ronde_schedule *schedule,
                            const struct buffers *actual, const struct buffers *expected)
{
    const struct buffers_shape *shape = &actual->shape;
    char difference[200];
    char text[256];
    const bool is_wrong = buffers_differ(actual, expected, difference, sizeof difference);
    snprintf(text, sizeof text, "%s %s count %llu %s %s: %.120s",
             ronde_collective_text(shape->collective), schedule->algorithm,
             (unsigned long long)shape->count, ronde_dtype_text(shape->dtype),
             ronde_op_text(shape->op), is_wrong ? difference : "");
    (void)team_check(member, !is_wrong, text);
}

enum ronde_status run_case(const struct team_member *member, const struct run_target *target,
                           const struct ronde_schedule *schedule, const struct run_case *given,
                           struct ronde_result *out_result, struct ronde_error *error)
{
    struct buffers actual;
    struct buffers expected;
    void *run = NULL;
    if (!buffers_create_from(&given->shape, given->mem, &actual) ||
        !buffers_create(&given->shape, &expected))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a test");
    const struct ronde_launch launch = make_launch(target, schedule, &actual, given);
    enum ronde_status status = target->backend->run(target->program, &launch, &run, error);
    if (status == RONDE_OK)
        status = target->backend->wait(run, out_result, error);
    if (status == RONDE_OK)
        status = run_host(schedule, &expected, error);
    if (status == RONDE_OK) {
        adopt_others(&actual, &expected, target);
        note_difference(member, schedule, &actual, &expected);
    }
    buffers_destroy(&actual);
    buffers_destroy(&expected);
    return status;
}

/* What a program that was loaded without a depth has slots for. */
static uint32_t draw_depth(const struct ronde_schedule *schedule, uint64_t *random)
{
    const struct ronde_launch open = {0};
    const uint32_t least = schedule->proof.min_depth;
    return least + (uint32_t)draw(random, ronde_launch_depth(schedule, &open) - least + 1);
}

enum ronde_status run_random_on(const struct team_member *member, const struct run_target *target,
                                const struct ronde_schedule *schedule, uint64_t *random,
                                struct ronde_error *error)
{
    struct run_case drawn = {.shape = draw_shape(schedule, random)};
    struct buffers_shape *shape = &drawn.shape;
    struct ronde_result result;
    drawn.slot_bytes = draw(random, 3) == 0 ? 64 : 0;
    drawn.depth = draw(random, 4) == 0 ? draw_depth(schedule, random) : 0;
    const struct manner manner = draw_manner(target, random);
    drawn.protocol = manner.protocol;
    drawn.mem = manner.mem;
    if (manner.is_contrary && shape->blocks == BUFFERS_ADJACENT)
        shape->in_place =
            ronde_collective_traits(shape->collective)->has_in_place && !shape->in_place;
    const enum ronde_status status = run_case(member, target, schedule, &drawn, &result, error);
    member->result->number += status == RONDE_OK && result.protocol >= RONDE_PROTOCOL_PULL;
    return status;
}

enum ronde_status run_random(const struct team_member *member, struct ronde_comm *comm,
                             struct ronde_comm_program *program,
                             const struct ronde_schedule *schedule, uint64_t *random,
                             struct ronde_error *error)
{
    const struct run_target target = {.backend = &ronde_backend_comm,
                                      .comm = comm,
                                      .program = program,
                                      .rank = ronde_comm_rank(comm)};
    return run_random_on(member, &target, schedule, random, error);
}

enum ronde_status run_compile(enum ronde_collective collective, const char *algorithm,
                              uint32_t ranks, uint32_t root, struct ronde_schedule **out,
                              struct ronde_error *error)
{
    struct ronde_compile_request request;
    memset(&request, 0, sizeof request);
    request.collective = collective;
    request.algorithm = algorithm;
    request.ranks = ranks;
    request.root = root;
    return ronde_compile(&request, ronde_mem_default(), NULL, out, error);
}

struct ronde_launch run_sum_launch(struct run_sum *sum, uint32_t rank)
{
    struct ronde_launch launch = {.count = 1,
                                  .dtype = RONDE_FLOAT32,
                                  .op = RONDE_SUM,
                                  .in = sum->in,
                                  .out = sum->out,
                                  .timeout_ns = UINT64_C(30000000000) * team_patience()};
    sum->value = (float)(rank + 1);
    sum->total = 0;
    memset(sum->in, 0, sizeof sum->in);
    memset(sum->out, 0, sizeof sum->out);
    sum->in[rank] = &sum->value;
    sum->out[rank] = &sum->total;
    return launch;
}

enum ronde_status run_launch(struct ronde_comm_program *program, const struct ronde_launch *launch,
                             struct ronde_error *error)
{
    struct ronde_result result;
    const enum ronde_status status = ronde_comm_run(program, launch, error);
    return status == RONDE_OK ? ronde_comm_wait(program, &result, error) : status;
}

/* Sums over a communicator, some times in a row. */
enum ronde_status run_sums(const struct team_member *member, struct ronde_comm *comm,
                           const char *algorithm, uint32_t times, struct ronde_error *error)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    const struct ronde_comm_plan plan = {0, 0};
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = run_compile(RONDE_ALL_REDUCE, algorithm, ranks, 0, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, schedule, &plan, &program, error);
    for (uint32_t k = 0; k < times && status == RONDE_OK; k++) {
        struct run_sum sum;
        const struct ronde_launch launch = run_sum_launch(&sum, ronde_comm_rank(comm));
        status = run_launch(program, &launch, error);
        (void)team_check(member, status != RONDE_OK || sum.total == (float)(ranks * (ranks + 1) / 2),
                         "a sum is wrong");
    }
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    return status;
}
