/* Launching calls on loaded programs. See queue.h. */
#include "api/queue.h"

#include "ronde/hw.h"

#include <string.h>

/* Stands for "no limit" where a limit is asked for: some 140 years. */
#define FOR_EVER_NS (UINT64_MAX / 4)

/* Tables by rank, of which this rank's entry is used: made when the first call has one. */
static bool reserve_tables(struct ronde_queue *queue)
{
    if (!queue->in_blocks)
        queue->in_blocks = ronde_mem_new(queue->mem, queue->ranks, sizeof *queue->in_blocks);
    if (!queue->out_blocks)
        queue->out_blocks = ronde_mem_new(queue->mem, queue->ranks, sizeof *queue->out_blocks);
    return queue->in_blocks && queue->out_blocks;
}

static enum ronde_status set_blocks(struct ronde_queue *queue, const struct ronde_call *call,
                                    struct ronde_launch *launch, struct ronde_error *error)
{
    static const struct ronde_blocks none = {NULL, NULL, NULL};
    if (!call->in_blocks && !call->out_blocks)
        return RONDE_OK;
    if (!reserve_tables(queue))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for tables of %u ranks", queue->ranks);
    queue->in_blocks[queue->rank] = call->in_blocks ? *call->in_blocks : none;
    queue->out_blocks[queue->rank] = call->out_blocks ? *call->out_blocks : none;
    launch->in_blocks = queue->in_blocks;
    launch->out_blocks = queue->out_blocks;
    return RONDE_OK;
}

static enum ronde_status set_factor(struct ronde_queue *queue, const struct ronde_call *call,
                                    struct ronde_launch *launch, struct ronde_error *error)
{
    const size_t bytes = ronde_dtype_bytes(call->dtype);
    if (launch->op != RONDE_PREMUL_SUM)
        return RONDE_OK;
    if (!queue->factors)
        queue->factors = ronde_mem_new(queue->mem, queue->ranks, sizeof(uint64_t));
    if (!queue->factors)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for factors of %u ranks", queue->ranks);
    memcpy(queue->factors + queue->rank * bytes, call->factor, bytes);
    launch->factors = queue->factors;
    return RONDE_OK;
}

/* A buffer of empty blocks alone may be NULL (ronde_call_check); a launch wants an address, at which nothing is then. */
static void *start_of(const void *given, const struct ronde_blocks *blocks, void *otherwise)
{
    return given || !blocks || blocks->pointers ? (void *)(uintptr_t)given : otherwise;
}

enum ronde_status ronde_queue_fill_launch(struct ronde_queue *queue, const struct ronde_call *call,
                                          uint64_t count, struct ronde_launch *launch,
                                          struct ronde_error *error)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const bool is_root = call->root == queue->rank;
    *launch = (struct ronde_launch){.count = count,
                                    .dtype = call->dtype,
                                    .op = traits->reduces ? call->op : RONDE_SUM,
                                    .in = queue->in,
                                    .out = queue->out};
    /* It has no elements, whatever was given: ranks compare what they launch. */
    if (call->collective == RONDE_BARRIER) {
        launch->dtype = RONDE_UINT8;
        launch->count = 0;
    }
    /* Buffers that only the root has are nothing elsewhere, whatever was given. */
    queue->in[queue->rank] = traits->in_at_root && !is_root
                                 ? NULL
                                 : start_of(call->in, call->in_blocks, &queue->agreed[0]);
    queue->out[queue->rank] = traits->out_at_root && !is_root
                                  ? NULL
                                  : start_of(call->out, call->out_blocks, &queue->agreed[1]);
    RONDE_TRY(set_blocks(queue, call, launch, error));
    return set_factor(queue, call, launch, error);
}

enum ronde_status ronde_queue_launch(struct ronde_queue *queue,
                                     const struct ronde_cached_program *kept,
                                     const struct ronde_call *call, uint64_t count,
                                     double deadline_ns, struct ronde_error *error)
{
    struct ronde_launch launch;
    RONDE_TRY(ronde_queue_fill_launch(queue, call, count, &launch, error));
    RONDE_TRY(ronde_comm_run(kept->program, &launch, error));
    if (deadline_ns > 0)
        ronde_comm_limit_run(kept->program, deadline_ns);
    queue->applied_ns = (uint64_t)deadline_ns;
    queue->running = kept->program;
    memcpy(queue->algorithm, kept->shared->schedule->algorithm, sizeof queue->algorithm);
    return RONDE_OK;
}

const struct ronde_call *ronde_queue_agreement(struct ronde_queue *queue,
                                               const struct ronde_call *call)
{
    queue->agreed[0] = ronde_call_longest(call, queue->rank, queue->ranks);
    queue->agreement = (struct ronde_call){.collective = RONDE_ALL_REDUCE,
                                           .dtype = RONDE_UINT64,
                                           .op = RONDE_MAX,
                                           .in = &queue->agreed[0],
                                           .out = &queue->agreed[1],
                                           .count = 1};
    return &queue->agreement;
}

void ronde_queue_limit(struct ronde_queue *queue, double deadline_ns)
{
    const double left_ns = deadline_ns - ronde_clock_ns();
    uint64_t timeout_ns = FOR_EVER_NS;
    if (deadline_ns > 0)
        timeout_ns = left_ns > 1 ? (uint64_t)left_ns : 1;
    ronde_comm_limit(queue->comm, timeout_ns);
}

void ronde_queue_note(struct ronde_queue *queue)
{
    struct ronde_error why = {0};
    if (queue->failure.status == RONDE_OK && ronde_comm_failure(queue->comm, &why) != RONDE_OK)
        queue->failure = why;
}

enum ronde_status ronde_queue_failed(const struct ronde_queue *queue, struct ronde_error *error)
{
    return ronde_fail(error, queue->failure.status, "%s", queue->failure.message);
}
