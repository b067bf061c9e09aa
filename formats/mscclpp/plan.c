/* An MSCCL++ plan in memory: where its parts lie, refusals that name one. See plan.h. */
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct mscclpp_gpu *mscclpp_gpu_at(const struct mscclpp_plan *plan, uint32_t g)
{
    return (struct mscclpp_gpu *)plan->gpus.items + g;
}

struct mscclpp_tb *mscclpp_tb_at(const struct mscclpp_plan *plan, uint32_t g, uint32_t t)
{
    return (struct mscclpp_tb *)plan->tbs.items + mscclpp_gpu_at(plan, g)->first_tb + t;
}

struct mscclpp_act *mscclpp_act_at(const struct mscclpp_plan *plan, uint32_t a)
{
    return (struct mscclpp_act *)plan->acts.items + a;
}

uint32_t mscclpp_parts(const struct mscclpp_plan *plan)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(plan->collective);
    const uint32_t *chunks = mscclpp_gpu_at(plan, 0)->chunks;
    return traits->in_per_rank ? chunks[RONDE_IN] / plan->ranks : chunks[RONDE_IN];
}

bool mscclpp_fail(const struct mscclpp_plan *plan, enum ronde_status status,
                  const struct mscclpp_act *act, const char *format, ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)ronde_fail(plan->error, status,
                     "%s: gpu %" PRIu32 " threadblock %" PRIu32 " op %" PRIu32 ": %s", plan->path,
                     act->rank, act->tb, act->op, message);
    return false;
}

bool mscclpp_fail_memory(const struct mscclpp_plan *plan)
{
    (void)ronde_fail(plan->error, RONDE_NO_MEMORY, "%s: no memory for the plan", plan->path);
    return false;
}

bool mscclpp_overlaps(const struct mscclpp_span *a, const struct mscclpp_span *b)
{
    return a->buffer == b->buffer && a->first < b->first + b->count &&
           b->first < a->first + a->count;
}

uint32_t mscclpp_source_rank(const struct mscclpp_act *act)
{
    const bool is_peer = act->kind == MSCCLPP_FETCH || act->kind == MSCCLPP_FETCH_REDUCE;
    return is_peer ? act->peer : act->rank;
}

uint32_t mscclpp_target_rank(const struct mscclpp_act *act)
{
    const bool is_peer = act->kind == MSCCLPP_PUT || act->kind == MSCCLPP_PUT_PACKET;
    return is_peer ? act->peer : act->rank;
}
