/* Tags of the messages that a matched plan becomes. See plan.h. */
#include "plan.h"

#include "ronde/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An MSCCL++ plan in memory. */

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

/* A FIFO of messages between two threadblocks. */
struct stream {
    uint32_t from, from_tb, to, to_tb, tag;
    uint32_t last_sent, last_received; /* acts */
};

/* Where a message leaves and where it arrives. */
static bool ends_of(const struct mscclpp_plan *plan, uint32_t at, uint32_t *out_sent,
                    uint32_t *out_received)
{
    const struct mscclpp_act *act = mscclpp_act_at(plan, at);
    const bool is_put =
        act->kind == MSCCLPP_PUT || (act->kind == MSCCLPP_PUT_PACKET && act->peer != act->rank);
    const bool is_fetch = act->kind == MSCCLPP_FETCH || act->kind == MSCCLPP_FETCH_REDUCE;
    *out_sent = is_put ? at : act->partner;
    *out_received = is_put ? act->partner : at;
    return is_put || is_fetch;
}

/* Messages share a tag as long as they arrive in the order in which they are sent. */
static enum ronde_status give_tag(struct mscclpp_plan *plan, struct ronde_list *streams, uint32_t at)
{
    uint32_t sent, received, tags = 0;
    struct stream *all = streams->items;
    if (!ends_of(plan, at, &sent, &received))
        return RONDE_OK;
    const struct mscclpp_act *from = mscclpp_act_at(plan, sent);
    const struct mscclpp_act *to = mscclpp_act_at(plan, received);
    for (uint32_t s = 0; s < streams->count; s++) {
        struct stream *stream = &all[s];
        if (stream->from != from->rank || stream->to != to->rank)
            continue;
        tags++;
        if (stream->from_tb != from->tb || stream->to_tb != to->tb || stream->last_sent > sent ||
            stream->last_received > received)
            continue;
        stream->last_sent = sent;
        stream->last_received = received;
        mscclpp_act_at(plan, at)->tag = stream->tag;
        return RONDE_OK;
    }
    struct stream *added = ronde_list_push(plan->mem, streams, sizeof *added);
    if (!added)
        return mscclpp_fail_memory(plan);
    *added = (struct stream){from->rank, from->tb, to->rank, to->tb, tags, sent, received};
    mscclpp_act_at(plan, at)->tag = tags;
    return RONDE_OK;
}

enum ronde_status mscclpp_give_tags(struct mscclpp_plan *plan)
{
    struct ronde_list streams = {NULL, 0, 0};
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; a < plan->acts.count && status == RONDE_OK; a++)
        status = give_tag(plan, &streams, a);
    ronde_list_free(plan->mem, &streams, sizeof(struct stream));
    return status;
}

/* MSCCL++ plans to schedules. */

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
