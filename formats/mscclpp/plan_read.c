/* Tags of the messages that a matched plan becomes. See plan.h. */
#include "plan.h"

#include "formats/msccl/algo.h"

#include "ronde/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An MSCCL++ plan in memory. */

static void plan_free(struct mscclpp_plan *plan)
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
static bool give_tag(struct mscclpp_plan *plan, struct ronde_list *streams, uint32_t at)
{
    uint32_t sent, received, tags = 0;
    struct stream *all = streams->items;
    if (!ends_of(plan, at, &sent, &received))
        return true;
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
        return true;
    }
    const struct stream added = {from->rank, from->tb, to->rank, to->tb, tags, sent, received};
    mscclpp_act_at(plan, at)->tag = tags;
    return ronde_list_append(plan->mem, streams, &added, sizeof added) || mscclpp_fail_memory(plan);
}

bool mscclpp_give_tags(struct mscclpp_plan *plan)
{
    struct ronde_list streams = {NULL, 0, 0};
    bool has_memory = true;
    for (uint32_t a = 0; a < plan->acts.count && has_memory; a++)
        has_memory = give_tag(plan, &streams, a);
    ronde_list_free(plan->mem, &streams, sizeof(struct stream));
    return has_memory;
}

/* MSCCL++ plans to schedules. */

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
