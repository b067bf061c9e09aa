/* What is refused before an operation begins. See kind.h. */
#include "api/kind.h"

/* One of a call's two buffers on this rank. */
struct side {
    const char *name;
    const void *start;
    const struct ronde_blocks *blocks;
    uint64_t block_count; /* 0: this rank has none */
};

static struct side side_of(const struct ronde_call *call, bool is_input, uint32_t rank,
                           uint32_t ranks)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const bool is_absent =
        (is_input ? traits->in_at_root : traits->out_at_root) && rank != call->root;
    if (is_input)
        return (struct side){"in", call->in, call->in_blocks,
                             is_absent ? 0 : ronde_collective_in_blocks(call->collective, ranks)};
    return (struct side){"out", call->out, call->out_blocks,
                         is_absent ? 0 : ronde_collective_out_blocks(call->collective, ranks)};
}

static enum ronde_status check_names(const struct ronde_call *call, uint32_t ranks,
                                     struct ronde_error *error)
{
    if ((unsigned)call->collective >= RONDE_COLLECTIVE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "collective %u, there are %u",
                          (unsigned)call->collective, (unsigned)RONDE_COLLECTIVE_COUNT);
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const char *name = ronde_collective_text(call->collective);
    if (call->collective == RONDE_BARRIER)
        return RONDE_OK;
    if ((unsigned)call->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: dtype %u, there are %u", name,
                          (unsigned)call->dtype, (unsigned)RONDE_DTYPE_COUNT);
    if (traits->reduces && (unsigned)call->op >= RONDE_OP_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: op %u, there are %u", name,
                          (unsigned)call->op, (unsigned)RONDE_OP_COUNT);
    if (traits->reduces && call->op == RONDE_PREMUL_SUM && !call->factor)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: premul_sum needs a factor (ronde_start with call.factor)", name);
    if (traits->has_root && call->root >= ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: root %u, the communicator has %u ranks",
                          name, call->root, ranks);
    /* Both buffers of all ranks are then below the end of the address space. */
    if (call->count > (uint64_t)INT64_MAX / ranks / ronde_dtype_bytes(call->dtype))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: count %llu, a buffer would exceed the address space", name,
                          (unsigned long long)call->count);
    return RONDE_OK;
}

static enum ronde_status check_side(const struct ronde_call *call, const struct side *side,
                                    struct ronde_error *error)
{
    const char *name = ronde_collective_text(call->collective);
    const struct ronde_blocks *blocks = side->blocks;
    bool has_elements = call->count > 0;
    if (side->block_count == 0)
        return RONDE_OK;
    if (call->is_v && (!blocks || !blocks->counts))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: is_v, but %s has no table of counts",
                          name, side->name);
    if (blocks && blocks->counts && !call->is_v)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: %s has a table of counts, but is_v is not set", name, side->name);
    if (call->is_v) {
        has_elements = false;
        for (uint64_t b = 0; b < side->block_count; b++)
            has_elements |= blocks->counts[b] > 0;
    }
    if (has_elements && !side->start && !(blocks && blocks->pointers))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s is NULL", name, side->name);
    return RONDE_OK;
}

/* In place is what NCCL means by it; buffers that overlap otherwise would be overwritten before they are read. */
static enum ronde_status check_overlap(const struct ronde_call *call, const struct side *in,
                                       const struct side *out, uint32_t rank,
                                       struct ronde_error *error)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const uint64_t block = call->count * ronde_dtype_bytes(call->dtype);
    const uintptr_t in_start = (uintptr_t)in->start;
    const uintptr_t out_start = (uintptr_t)out->start;
    if (in->block_count == 0 || out->block_count == 0 || in->blocks || out->blocks ||
        in_start >= out_start + out->block_count * block ||
        out_start >= in_start + in->block_count * block)
        return RONDE_OK;
    const uintptr_t own = rank * block;
    const bool is_in_place =
        in_start + (traits->in_per_rank ? own : 0) == out_start + (traits->out_per_rank ? own : 0);
    if (is_in_place && traits->has_in_place)
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: in and out overlap%s",
                      ronde_collective_text(call->collective),
                      traits->has_in_place ? ", and not as in place"
                                           : ", and it has no form in place");
}

enum ronde_status ronde_call_check(const struct ronde_call *call, uint32_t rank, uint32_t ranks,
                                   struct ronde_error *error)
{
    enum ronde_status status = check_names(call, ranks, error);
    if (status != RONDE_OK || call->collective == RONDE_BARRIER)
        return status;
    const struct side in = side_of(call, true, rank, ranks);
    const struct side out = side_of(call, false, rank, ranks);
    status = check_side(call, &in, error);
    if (status == RONDE_OK)
        status = check_side(call, &out, error);
    return status == RONDE_OK ? check_overlap(call, &in, &out, rank, error) : status;
}

uint64_t ronde_call_longest(const struct ronde_call *call, uint32_t rank, uint32_t ranks)
{
    uint64_t longest = 0;
    for (int is_input = 0; is_input < 2; is_input++) {
        const struct side side = side_of(call, is_input != 0, rank, ranks);
        for (uint64_t b = 0; b < side.block_count; b++)
            longest = side.blocks->counts[b] > longest ? side.blocks->counts[b] : longest;
    }
    return longest;
}
