/** What a schedule with a program per position needs so that some positions and channels stand for others. */
#include "ronde/dag.h"
#include "ronde/split.h"

#include <string.h>

static bool are_equal(const void *left, const void *right, size_t count, size_t element_bytes)
{
    return count == 0 || memcmp(left, right, count * element_bytes) == 0;
}

/** All that an operation has of its step where chunks are equally long: which they are is no matter. */
static bool are_steps_alike(const struct ronde_step *one, const struct ronde_step *other)
{
    return one->op == other->op && one->chunk_count == other->chunk_count &&
           one->send == other->send && one->receive == other->receive &&
           one->first_dependency == other->first_dependency &&
           one->dependency_count == other->dependency_count;
}

static bool are_connections_alike(const struct ronde_program *one, const struct ronde_program *other)
{
    bool are_alike = one->connection_count == other->connection_count;
    for (uint32_t c = 0; are_alike && c < one->connection_count; c++) {
        const struct ronde_connection *left = &one->connections[c], *right = &other->connections[c];
        are_alike =
            left->peer == right->peer && left->tag == right->tag && left->is_send == right->is_send;
    }
    return are_alike;
}

static bool are_alike(const struct ronde_program *one, const struct ronde_program *other)
{
    bool is = one->step_count == other->step_count && one->lane_count == other->lane_count &&
              one->dependency_count == other->dependency_count && are_connections_alike(one, other);
    is = is &&
         are_equal(one->lane_first, other->lane_first, (size_t)one->lane_count + 1,
                   sizeof *one->lane_first) &&
         are_equal(one->dependencies, other->dependencies, one->dependency_count,
                   sizeof *one->dependencies);
    for (uint32_t s = 0; is && s < one->step_count; s++)
        is = are_steps_alike(&one->steps[s], &other->steps[s]);
    return is;
}

bool ronde_dag_turns(const struct ronde_schedule *schedule, uint32_t positions)
{
    bool turns = schedule->symmetry == RONDE_SYMMETRY_NONE && !schedule->absolute_peers &&
                 positions > 0 && schedule->ranks % positions == 0;
    for (uint32_t p = positions; turns && p < schedule->ranks; p++) {
        const uint32_t one = schedule->program_of[p - positions], other = schedule->program_of[p];
        turns = one == other || are_alike(&schedule->programs[one], &schedule->programs[other]);
    }
    return turns;
}

bool ronde_dag_is_even(const struct ronde_schedule *schedule, const struct ronde_load *load)
{
    const uint32_t dtype_bytes = ronde_dtype_bytes(load->dtype);
    uint64_t first = 0;
    bool is_even = true;
    for (uint32_t c = 0; c < schedule->channel_count && is_even; c++) {
        const struct ronde_slice slice = ronde_slice_of(schedule, c, load->count, dtype_bytes);
        if (c == 0)
            first = ronde_slice_chunk(&slice, 0).count;
        for (uint32_t part = 0; part < slice.chunks && is_even; part++)
            is_even = ronde_slice_chunk(&slice, part).count == first;
    }
    return is_even;
}
