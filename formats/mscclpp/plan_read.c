/* MSCCL++ plans to schedules. See ronde/mscclpp.h. */
#include "plan.h"

#include "formats/msccl/algo.h"

#include "ronde/text.h"

#include <string.h>

static void plan_free(struct mscclpp_plan *plan)
{
    ronde_list_free(plan->mem, &plan->gpus, sizeof(struct mscclpp_gpu));
    ronde_list_free(plan->mem, &plan->tbs, sizeof(struct mscclpp_tb));
    ronde_list_free(plan->mem, &plan->acts, sizeof(struct mscclpp_act));
    ronde_list_free(plan->mem, &plan->semaphores, sizeof(int32_t));
}

bool ronde_mscclpp_is(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && text[at] && strchr(" \t\r\n", text[at]))
        at++;
    return at < bytes && text[at] == '{';
}

static enum ronde_status try_reading(const struct mscclpp_plan *plan, bool is_unscaled,
                                     struct ronde_proof *proof,
                                     struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    RONDE_TRY(mscclpp_to_text(plan, is_unscaled, &text, &bytes));
    const enum ronde_status status =
        ronde_schedule_read(text, bytes, plan->path, plan->mem, proof, out_schedule, error);
    ronde_mem_free(plan->mem, text, bytes + 1, 1);
    return status;
}

/* With marks, so that avg and premul_sum can be run, else without. */
static enum ronde_status prove(const struct mscclpp_plan *plan, struct ronde_proof *proof,
                               struct ronde_schedule **out_schedule)
{
    struct ronde_error why = {0};
    enum ronde_status status = try_reading(plan, false, proof, out_schedule, &why);
    if (status == RONDE_REJECTED && msccl_has_finding(proof, RONDE_FINDING_MARKS))
        status = try_reading(plan, true, proof, out_schedule, &why);
    /* The first finding; the line would be that of a text which nobody has seen. */
    if (status == RONDE_REJECTED && proof->finding_count > 0)
        return ronde_fail(plan->error, status, "%s: %s: %s", plan->path,
                          ronde_finding_text(proof->findings[0].code), proof->findings[0].text);
    return status == RONDE_OK ? status : ronde_fail(plan->error, status, "%s", why.message);
}

enum ronde_status ronde_mscclpp_read(const char *text, size_t bytes, const char *name,
                                     const struct ronde_mem *mem, struct ronde_proof *out_proof,
                                     struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_error why = {0};
    struct mscclpp_plan plan = {.mem = mem, .path = name, .error = &why};
    struct ronde_proof proof = {0};
    *out_schedule = NULL;
    const bool is_read =
        mscclpp_parse(text, bytes, &plan) && mscclpp_match(&plan) && mscclpp_check_order(&plan);
    const enum ronde_status status = is_read ? prove(&plan, &proof, out_schedule) : why.status;
    plan_free(&plan);
    if (out_proof)
        *out_proof = proof;
    return status == RONDE_OK ? status : ronde_fail_at(error, status, why.line, "%s", why.message);
}
