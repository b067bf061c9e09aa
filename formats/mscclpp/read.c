/* MSCCL++ plans to schedules. See ronde/mscclpp.h. */
#include "plan.h"

#include "ronde/text.h"

#include <string.h>

bool ronde_mscclpp_is(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && text[at] && strchr(" \t\r\n", text[at]))
        at++;
    return at < bytes && text[at] == '{';
}

static bool has_finding(const struct ronde_proof *proof, enum ronde_finding_code code)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++)
        if (proof->findings[i].code == code)
            return true;
    return false;
}

static enum ronde_status try_reading(const struct mscclpp_plan *plan, bool is_unscaled,
                                     struct ronde_proof *proof,
                                     struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    enum ronde_status status = mscclpp_to_text(plan, is_unscaled, &text, &bytes);
    if (status != RONDE_OK)
        return status;
    status = ronde_schedule_read(text, bytes, plan->path, plan->mem, proof, out_schedule, error);
    ronde_mem_free(plan->mem, text, bytes + 1, 1);
    return status;
}

/* The first finding; the line would be that of a text which nobody has seen. */
static enum ronde_status reject(const struct mscclpp_plan *plan, const struct ronde_proof *proof)
{
    const struct ronde_finding *finding = &proof->findings[0];
    return ronde_fail(plan->error, RONDE_REJECTED, "%s: %s: %s", plan->path,
                      ronde_finding_text(finding->code), finding->text);
}

/* With marks, so that avg and premul_sum can be run, else without. */
static enum ronde_status prove(const struct mscclpp_plan *plan, struct ronde_proof *proof,
                               struct ronde_schedule **out_schedule)
{
    struct ronde_error why = {0};
    enum ronde_status status = try_reading(plan, false, proof, out_schedule, &why);
    if (status == RONDE_REJECTED && has_finding(proof, RONDE_FINDING_MARKS))
        status = try_reading(plan, true, proof, out_schedule, &why);
    if (status == RONDE_REJECTED && proof->finding_count > 0)
        return reject(plan, proof);
    return status == RONDE_OK ? status : ronde_fail(plan->error, status, "%s", why.message);
}

enum ronde_status ronde_mscclpp_read(const char *text, size_t bytes, const char *name,
                                     const struct ronde_mem *mem, struct ronde_proof *out_proof,
                                     struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_error own = {0};
    struct mscclpp_plan plan = {.mem = mem, .path = name, .error = error ? error : &own};
    struct ronde_proof proof = {0};
    *out_schedule = NULL;
    enum ronde_status status = mscclpp_parse(text, bytes, &plan);
    if (status == RONDE_OK)
        status = mscclpp_match(&plan);
    if (status == RONDE_OK)
        status = mscclpp_check_order(&plan);
    if (status == RONDE_OK)
        status = prove(&plan, &proof, out_schedule);
    mscclpp_plan_free(&plan);
    if (out_proof)
        *out_proof = proof;
    return status;
}
