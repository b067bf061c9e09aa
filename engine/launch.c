/* What every backend asks of a launch alike, and the run-once convenience. See ronde/backend.h. */
#include "ronde/backend.h"
#include "ronde/split.h"

/* Depth that hides the way back of credits; more than this never measured faster. */
#define DEFAULT_DEPTH 8u

/* The longest chunk of any channel decides; the shorter ones send empty pieces at the end. */
uint64_t ronde_piece_count(const struct ronde_schedule *schedule, uint64_t count,
                           uint32_t dtype_bytes, uint64_t slot_bytes)
{
    const uint64_t piece_elements = ronde_piece_bytes(schedule, slot_bytes) / dtype_bytes;
    uint64_t pieces = 1;
    for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
        const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, dtype_bytes);
        const uint64_t most = ronde_slice_chunk_max(&slice);
        const uint64_t needed = most / piece_elements + (most % piece_elements != 0);
        pieces = needed > pieces ? needed : pieces;
    }
    return pieces;
}

uint32_t ronde_launch_depth(const struct ronde_schedule *schedule, const struct ronde_launch *launch)
{
    if (launch->depth > 0)
        return launch->depth;
    const uint32_t least = schedule->proof.min_depth;
    return least > DEFAULT_DEPTH ? least : DEFAULT_DEPTH;
}

/* Enumerators come from outside and index tables further down. */
static enum ronde_status check_kind(const struct ronde_schedule *schedule,
                                    const struct ronde_launch *launch, struct ronde_error *error)
{
    if ((unsigned)launch->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: dtype %u, there are %u",
                          (unsigned)launch->dtype, (unsigned)RONDE_DTYPE_COUNT);
    const bool reduces = ronde_collective_traits(schedule->collective)->reduces;
    if (reduces && (unsigned)launch->op >= RONDE_OP_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: op %u, there are %u",
                          (unsigned)launch->op, (unsigned)RONDE_OP_COUNT);
    return RONDE_OK;
}

/* Numbers that would deadlock, divide by zero or overflow later. */
static enum ronde_status check_sizes(const struct ronde_schedule *schedule,
                                     const struct ronde_launch *launch, struct ronde_error *error)
{
    if (launch->slot_bytes > 0 && launch->slot_bytes < RONDE_GRAIN_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "launch: slot_bytes %llu, at least %u",
                          (unsigned long long)launch->slot_bytes, RONDE_GRAIN_BYTES);
    if (launch->depth > 0 && launch->depth < schedule->proof.min_depth)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: depth %u, this schedule needs at least %u", launch->depth,
                          schedule->proof.min_depth);
    const uint32_t in = ronde_collective_in_blocks(schedule->collective, schedule->ranks);
    const uint32_t out = ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    const uint32_t most = in > out ? in : out;
    const uint64_t block_bytes_max = (uint64_t)INT64_MAX / (most > 0 ? most : 1);
    if (launch->count > block_bytes_max / ronde_dtype_bytes(launch->dtype))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: count %llu, a buffer would exceed the address space",
                          (unsigned long long)launch->count);
    return RONDE_OK;
}

/* A buffer array and, where the collective uses them, its entries. */
static enum ronde_status check_buffers(const struct ronde_schedule *schedule, const char *name,
                                       void *const *buffers, bool at_root, struct ronde_error *error)
{
    for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
        if (at_root && rank != schedule->root)
            continue;
        if (!buffers || !buffers[rank])
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "launch: %s of rank %u is NULL, %s needs it", name, rank,
                              ronde_collective_text(schedule->collective));
    }
    return RONDE_OK;
}

enum ronde_status ronde_launch_check(const struct ronde_schedule *schedule,
                                     const struct ronde_launch *launch, struct ronde_error *error)
{
    enum ronde_status status = check_kind(schedule, launch, error);
    if (status == RONDE_OK)
        status = check_sizes(schedule, launch, error);
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const bool has_data = ronde_collective_in_blocks(schedule->collective, schedule->ranks) > 0;
    if (status != RONDE_OK || !has_data || launch->count == 0)
        return status;
    status = check_buffers(schedule, "in", launch->in, traits->in_at_root, error);
    if (status == RONDE_OK)
        status = check_buffers(schedule, "out", launch->out, traits->out_at_root, error);
    return status;
}

enum ronde_status ronde_backend_run_once(const struct ronde_backend *backend, void *self,
                                         const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         struct ronde_result *out_result, struct ronde_error *error)
{
    void *program;
    enum ronde_status status = backend->load(self, schedule, &program, error);
    if (status != RONDE_OK)
        return status;
    void *run;
    status = backend->run(program, launch, &run, error);
    if (status == RONDE_OK)
        status = backend->wait(run, out_result, error);
    backend->unload(program);
    return status;
}
