/* Random calls of the front door. See calls.h. */
#include "api/calls.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_NS UINT64_C(60000000000)

static uint64_t draw(uint64_t *random, uint64_t below)
{
    return buffers_draw(random) % below;
}

/* Collectives whose blocks may differ in length. */
static bool has_v_form(enum ronde_collective collective)
{
    return collective == RONDE_ALL_GATHER || collective == RONDE_REDUCE_SCATTER ||
           collective == RONDE_SCATTER || collective == RONDE_GATHER ||
           collective == RONDE_ALL_TO_ALL;
}

/* An operator that the type has. */
static enum ronde_op draw_op(enum ronde_dtype dtype, uint64_t *random)
{
    enum ronde_op op;
    do
        op = (enum ronde_op)draw(random, RONDE_OP_COUNT);
    while (ronde_op_refusal(op, dtype));
    return op;
}

struct buffers_shape calls_draw(uint32_t ranks, uint64_t *random)
{
    struct buffers_shape shape = {.ranks = ranks, .data = BUFFERS_SMALL};
    shape.collective = (enum ronde_collective)draw(random, RONDE_COLLECTIVE_COUNT);
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape.collective);
    shape.root = traits->has_root ? (uint32_t)draw(random, ranks) : 0;
    shape.count = draw(random, 4) == 0 ? draw(random, 20000) : draw(random, 300);
    shape.dtype = (enum ronde_dtype)draw(random, RONDE_DTYPE_COUNT);
    shape.op = traits->reduces ? draw_op(shape.dtype, random) : RONDE_SUM;
    shape.in_place = traits->has_in_place && draw(random, 2) == 0;
    shape.seed = buffers_draw(random);
    if (has_v_form(shape.collective) && draw(random, 3) == 0)
        shape.blocks = (enum buffers_blocks)draw(random, BUFFERS_BLOCKS_COUNT);
    return shape;
}

bool calls_open(struct calls_case *out, const struct buffers_shape *shape, uint32_t rank)
{
    memset(out, 0, sizeof *out);
    if (!buffers_create(shape, &out->actual) || !buffers_create(shape, &out->expected) ||
        !buffers_expect(&out->expected))
        return false;
    const struct ronde_launch launch = buffers_launch(&out->actual);
    const size_t factor = rank * ronde_dtype_bytes(shape->dtype);
    out->rank = rank;
    out->call = (struct ronde_call){.collective = shape->collective,
                                    .dtype = shape->dtype,
                                    .op = shape->op,
                                    .in = launch.in ? launch.in[rank] : NULL,
                                    .out = launch.out ? launch.out[rank] : NULL,
                                    .count = shape->count,
                                    .root = shape->root,
                                    .is_v = buffers_vary(shape),
                                    .shift = 1};
    if (launch.factors)
        out->call.factor = (const unsigned char *)launch.factors + factor;
    if (launch.in_blocks)
        out->call.in_blocks = &launch.in_blocks[rank];
    if (launch.out_blocks)
        out->call.out_blocks = &launch.out_blocks[rank];
    return true;
}

void calls_check(const struct team_member *member, struct calls_case *one)
{
    const struct buffers_shape *shape = &one->actual.shape;
    const size_t bytes = one->actual.rank_bytes;
    char difference[200] = "";
    char text[256];
    /* The other ranks' memory is their own business: it is taken as right. */
    for (uint32_t other = 0; other < shape->ranks; other++)
        if (other != one->rank)
            memcpy(one->actual.images + other * bytes, one->expected.images + other * bytes, bytes);
    const bool is_wrong =
        buffers_differ(&one->actual, &one->expected, difference, sizeof difference);
    snprintf(text, sizeof text, "%s count %llu %s %s blocks %u%s: %.120s",
             ronde_collective_text(shape->collective), (unsigned long long)shape->count,
             ronde_dtype_text(shape->dtype), ronde_op_text(shape->op), (unsigned)shape->blocks,
             shape->in_place ? " in place" : "", difference);
    (void)team_check(member, !is_wrong, text);
}

void calls_close(struct calls_case *one)
{
    buffers_destroy(&one->actual);
    buffers_destroy(&one->expected);
}

enum ronde_status calls_run(const struct team_member *member, struct ronde_comm *comm,
                            const struct buffers_shape *shape, struct ronde_error *error)
{
    struct calls_case one;
    if (!calls_open(&one, shape, ronde_comm_rank(comm)))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a test");
    const enum ronde_status status = ronde_start(comm, &one.call, NULL, error);
    if (status == RONDE_OK)
        calls_check(member, &one);
    calls_close(&one);
    return status;
}

enum ronde_status calls_join(const struct team_member *member, struct ronde_comm **out_comm,
                             struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(60);
    const enum ronde_status status =
        ronde_comm_join(&member->join, &options, ronde_mem_default(), out_comm, error);
    return status == RONDE_OK ? ronde_comm_timeout(*out_comm, LIMIT_NS * team_patience(), error)
                              : status;
}

enum ronde_status calls_sum(const struct team_member *member, struct ronde_comm *comm,
                            struct ronde_error *error)
{
    const int32_t ranks = (int32_t)ronde_comm_ranks(comm);
    const int32_t mine = (int32_t)ronde_comm_rank(comm) + 1;
    int32_t sum = 0;
    const enum ronde_status status =
        ronde_all_reduce(comm, &mine, &sum, 1, RONDE_INT32, RONDE_SUM, NULL, NULL, error);
    (void)team_check(member, status != RONDE_OK || sum == ranks * (ranks + 1) / 2, "a sum is wrong");
    return status;
}
