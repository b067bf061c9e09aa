/* Runs whose messages are not copied. See large.h. */
#include "net/large.h"

#include <string.h>

enum ronde_status large_open(const struct team_member *member, struct large_how how,
                             const struct ronde_comm_options *options, struct large *large,
                             struct ronde_error *error)
{
    const uint32_t rank = member->join.rank;
    memset(large, 0, sizeof *large);
    enum ronde_status status =
        ronde_comm_join(&member->join, options, how.mem ? how.mem : ronde_mem_default(),
                        &large->comm, error);
    if (status == RONDE_OK)
        status =
            run_compile(RONDE_ALL_REDUCE, "ring", member->join.ranks, 0, &large->schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(large->comm, large->schedule, NULL, &large->program, error);
    if (status != RONDE_OK)
        return status;
    large->mem = how.is_registered ? ronde_comm_mem(large->comm) : ronde_mem_default();
    large->values = ronde_mem_new(large->mem, 2 * LARGE_COUNT, sizeof *large->values);
    if (!large->values)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a test");
    for (uint32_t i = 0; i < LARGE_COUNT; i++)
        large->values[i] = (float)(rank + i % 7);
    large->in[rank] = large->values;
    large->out[rank] = large->values + LARGE_COUNT;
    large->launch = (struct ronde_launch){.count = LARGE_COUNT,
                                          .dtype = RONDE_FLOAT32,
                                          .op = RONDE_SUM,
                                          .in = large->in,
                                          .out = large->out,
                                          .protocol = how.protocol,
                                          .timeout_ns = UINT64_C(20000000000) * team_patience()};
    if (ronde_backend_comm.supports(large->comm, large->schedule, &large->launch, NULL) != RONDE_OK)
        large->launch.protocol = RONDE_PROTOCOL_STAGED;
    (void)team_check(member, !how.is_registered || large->launch.protocol == how.protocol,
                     "what is registered is staged");
    return RONDE_OK;
}

void large_free(struct large *large)
{
    ronde_mem_free(large->mem, large->values, 2 * LARGE_COUNT, sizeof *large->values);
    large->values = NULL;
}

void large_close(struct large *large)
{
    ronde_comm_unload(large->program);
    ronde_schedule_destroy(large->schedule);
    large_free(large);
    ronde_comm_destroy(large->comm);
}

enum ronde_status large_run(const struct team_member *member, struct large *large,
                            struct ronde_error *error)
{
    const uint32_t ranks = member->join.ranks;
    struct ronde_result result;
    uint32_t wrong = 0;
    enum ronde_status status = ronde_comm_run(large->program, &large->launch, error);
    if (status == RONDE_OK)
        status = ronde_comm_wait(large->program, &result, error);
    if (status != RONDE_OK)
        return status;
    for (uint32_t i = 0; i < LARGE_COUNT; i++)
        wrong +=
            large->values[LARGE_COUNT + i] != (float)(ranks * (i % 7) + ranks * (ranks - 1) / 2);
    (void)team_check(member, wrong == 0, "a sum is wrong");
    (void)team_check(member, result.protocol == large->launch.protocol,
                     "messages travelled otherwise");
    return RONDE_OK;
}
