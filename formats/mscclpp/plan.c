/* An MSCCL++ plan in memory. See plan.h. */
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mscclpp_plan_free(struct mscclpp_plan *plan)
{
    ronde_list_free(plan->mem, &plan->gpus, sizeof(struct mscclpp_gpu));
    ronde_list_free(plan->mem, &plan->tbs, sizeof(struct mscclpp_tb));
    ronde_list_free(plan->mem, &plan->acts, sizeof(struct mscclpp_act));
    ronde_list_free(plan->mem, &plan->semaphores, sizeof(int32_t));
}

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

enum ronde_status mscclpp_fail(const struct mscclpp_plan *plan, enum ronde_status status,
                               const struct mscclpp_act *act, const char *format, ...)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return ronde_fail(plan->error, status,
                      "%s: gpu %" PRIu32 " threadblock %" PRIu32 " op %" PRIu32 ": %s", plan->path,
                      act->rank, act->tb, act->op, message);
}

enum ronde_status mscclpp_fail_memory(const struct mscclpp_plan *plan)
{
    return ronde_fail(plan->error, RONDE_NO_MEMORY, "%s: no memory for the plan", plan->path);
}
