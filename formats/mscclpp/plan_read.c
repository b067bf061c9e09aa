/* MSCCL++ plans to schedules. See ronde/mscclpp.h. */
#include "engine/text/out.h"
#include "plan.h"

#include "formats/msccl/algo.h"

#include "ronde/text.h"

#include <inttypes.h>
#include <string.h>

/* ---- A matched plan as a schedule in text ---------------------------------------------------------------------------- */

/* The text being printed. */
struct printer {
    struct ronde_text_out out;
    const struct mscclpp_plan *plan;
};

/* --- what an act becomes --------------------------------------------------------------------- */

static bool is_message(const struct mscclpp_act *act)
{
    return act->kind == MSCCLPP_PUT || act->kind == MSCCLPP_FETCH ||
           act->kind == MSCCLPP_FETCH_REDUCE ||
           (act->kind == MSCCLPP_PUT_PACKET && act->peer != act->rank);
}

/* Messages that leave or arrive at an act that is not their own: those of a wait, a signal, a reader of packets. */
static uint32_t attached(const struct mscclpp_plan *plan, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < plan->acts.count; a++)
        count += is_message(mscclpp_act_at(plan, a)) && mscclpp_act_at(plan, a)->partner == at;
    return count;
}

/* Packets that this reader reads, and that another act of the rank has received or written. */
static bool needs(const struct mscclpp_act *put, uint32_t at, const struct mscclpp_act *reader)
{
    return put->kind == MSCCLPP_PUT_PACKET && put->peer == reader->rank &&
           (put->partner != at || put->rank == put->peer) &&
           mscclpp_overlaps(&put->target, &reader->source);
}

/* The step behind which packets are there: that which receives them, or the copy of the rank's own. */
static uint32_t ready_act(const struct mscclpp_plan *plan, uint32_t put)
{
    const struct mscclpp_act *act = mscclpp_act_at(plan, put);
    return act->rank == act->peer ? put : act->partner;
}

/* Calls for every act of the rank that has to be over before `at` starts, in other threadblocks. */
static void each_before(const struct mscclpp_plan *plan, uint32_t at,
                        void (*call)(void *context, const struct mscclpp_act *act), void *context)
{
    const struct mscclpp_act *act = mscclpp_act_at(plan, at);
    const struct mscclpp_gpu *gpu = mscclpp_gpu_at(plan, act->rank);
    if (act->kind == MSCCLPP_ACQUIRE && act->partner != RONDE_NONE)
        call(context, mscclpp_act_at(plan, act->partner));
    for (uint32_t t = 0; act->kind == MSCCLPP_BARRIER && t < gpu->tb_count; t++) {
        const uint32_t other = t == act->tb ? RONDE_NONE : mscclpp_same_barrier(plan, at, t);
        if (other != RONDE_NONE)
            call(context, mscclpp_act_at(plan, other));
    }
    for (uint32_t a = 0; act->kind == MSCCLPP_READ_PACKET && a < plan->acts.count; a++) {
        if (!needs(mscclpp_act_at(plan, a), at, act))
            continue;
        const struct mscclpp_act *ready = mscclpp_act_at(plan, ready_act(plan, a));
        if (ready->tb != act->tb)
            call(context, ready);
    }
}

/* Steps of an act whose own threadblock's earlier acts have theirs: waiting, messages, the act itself. */
static uint32_t steps_of(const struct mscclpp_plan *plan, uint32_t at)
{
    const struct mscclpp_act *act = mscclpp_act_at(plan, at);
    switch (act->kind) {
    case MSCCLPP_SIGNAL:
    case MSCCLPP_WAIT:
        return attached(plan, at);
    case MSCCLPP_RELEASE:
        return 0;
    case MSCCLPP_BARRIER:
    case MSCCLPP_ACQUIRE:
        return 1;
    case MSCCLPP_READ_PACKET:
        return 1 + attached(plan, at);
    default:
        return 1;
    }
}

/* Every act's steps by their numbers in the lane. */
static void number_steps(const struct mscclpp_plan *plan)
{
    for (uint32_t g = 0; g < plan->ranks; g++)
        for (uint32_t t = 0; t < mscclpp_gpu_at(plan, g)->tb_count; t++) {
            const struct mscclpp_tb *tb = mscclpp_tb_at(plan, g, t);
            uint32_t step = 0;
            for (uint32_t a = tb->first_act; a < tb->first_act + tb->act_count; a++) {
                struct mscclpp_act *act = mscclpp_act_at(plan, a);
                act->first_step = step;
                act->step_count = steps_of(plan, a);
                step += act->step_count;
            }
        }
}

/* --- printing -------------------------------------------------------------------------------- */

static void put_span(struct printer *printer, const struct mscclpp_span *span)
{
    static const char *const words[RONDE_BUFFER_COUNT] = {"in", "out", "scratch"};
    ronde_text_put(&printer->out, " %s[%" PRIu32 "+%" PRIu32 "]", words[span->buffer], span->first,
                   span->count);
}

/* The end of a message that is not at its own act. */
static void put_attached(struct printer *printer, uint32_t at)
{
    for (uint32_t a = 0; a < printer->plan->acts.count; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(printer->plan, a);
        const bool is_put = act->kind == MSCCLPP_PUT || act->kind == MSCCLPP_PUT_PACKET;
        if (!is_message(act) || act->partner != at)
            continue;
        ronde_text_put(&printer->out, is_put ? "    recv" : "    send");
        put_span(printer, is_put ? &act->target : &act->source);
        ronde_text_put(&printer->out,
                       is_put ? " <- @%" PRIu32 ":%" PRIu32 "\n" : " -> @%" PRIu32 ":%" PRIu32 "\n",
                       act->rank, act->tag);
    }
}

/* "lane.step" of the last step of an act, or of what came before it in its lane. */
static void put_dependency(void *context, const struct mscclpp_act *act)
{
    struct printer *printer = context;
    const uint32_t end = act->first_step + (act->kind == MSCCLPP_BARRIER ? 0 : act->step_count);
    if (end > 0)
        ronde_text_put(&printer->out, " %" PRIu32 ".%" PRIu32, act->tb, end - 1);
}

/* Whether put_dependency prints anything of it. */
static void count_dependency(void *context, const struct mscclpp_act *act)
{
    uint32_t *count = context;
    *count += act->first_step + (act->kind == MSCCLPP_BARRIER ? 0 : act->step_count) > 0;
}

static void put_nop(struct printer *printer, uint32_t at)
{
    uint32_t count = 0;
    each_before(printer->plan, at, count_dependency, &count);
    ronde_text_put(&printer->out, "    nop");
    if (count > 0) {
        ronde_text_put(&printer->out, " after");
        each_before(printer->plan, at, put_dependency, printer);
    }
    ronde_text_put(&printer->out, "\n");
}

static void put_move(struct printer *printer, const struct mscclpp_act *act)
{
    struct ronde_text_out *out = &printer->out;
    const bool is_sent =
        act->kind == MSCCLPP_PUT || (act->kind == MSCCLPP_PUT_PACKET && act->peer != act->rank);
    if (is_sent) {
        ronde_text_put(out, "    send");
        put_span(printer, &act->source);
        ronde_text_put(out, " -> @%" PRIu32 ":%" PRIu32 "\n", act->peer, act->tag);
        return;
    }
    const bool is_fetched = act->kind == MSCCLPP_FETCH || act->kind == MSCCLPP_FETCH_REDUCE;
    ronde_text_put(out, act->kind == MSCCLPP_FETCH          ? "    recv"
                        : act->kind == MSCCLPP_FETCH_REDUCE ? "    rrc"
                        : act->kind == MSCCLPP_REDUCE       ? "    reduce"
                                                            : "    copy");
    if (act->kind != MSCCLPP_FETCH)
        put_span(printer, is_fetched ? &act->with : &act->source);
    put_span(printer, &act->target);
    if (is_fetched)
        ronde_text_put(out, " <- @%" PRIu32 ":%" PRIu32, act->peer, act->tag);
    ronde_text_put(out, "\n");
}

static void put_act(struct printer *printer, uint32_t at)
{
    const struct mscclpp_act *act = mscclpp_act_at(printer->plan, at);
    switch (act->kind) {
    case MSCCLPP_SIGNAL:
    case MSCCLPP_WAIT:
        put_attached(printer, at);
        break;
    case MSCCLPP_RELEASE:
        break;
    case MSCCLPP_READ_PACKET:
        put_attached(printer, at);
        put_nop(printer, at);
        break;
    case MSCCLPP_BARRIER:
    case MSCCLPP_ACQUIRE:
        put_nop(printer, at);
        break;
    default:
        put_move(printer, act);
    }
}

/* A threadblock without steps is a lane with a nop. */
static void put_program(struct printer *printer, uint32_t rank)
{
    const struct mscclpp_gpu *gpu = mscclpp_gpu_at(printer->plan, rank);
    ronde_text_put(&printer->out,
                   "\nprogram %" PRIu32 " scratch %" PRIu32 " positions %" PRIu32 "\n", rank,
                   gpu->chunks[RONDE_SCRATCH], rank);
    for (uint32_t t = 0; t < gpu->tb_count; t++) {
        const struct mscclpp_tb *tb = mscclpp_tb_at(printer->plan, rank, t);
        const struct mscclpp_act *last =
            tb->act_count > 0 ? mscclpp_act_at(printer->plan, tb->first_act + tb->act_count - 1)
                              : NULL;
        ronde_text_put(&printer->out, "  lane %" PRIu32 "\n", t);
        for (uint32_t a = tb->first_act; a < tb->first_act + tb->act_count; a++)
            put_act(printer, a);
        if (!last || last->first_step + last->step_count == 0)
            ronde_text_put(&printer->out, "    nop\n");
    }
}

static bool writes_input(const struct mscclpp_plan *plan)
{
    for (uint32_t a = 0; a < plan->acts.count; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        if (act->target.count > 0 && act->target.buffer == RONDE_IN)
            return true;
    }
    return false;
}

/* A matched plan as a schedule in ronde's text form. Errors: NO_MEMORY. */
static enum ronde_status mscclpp_to_text(const struct mscclpp_plan *plan, bool is_unscaled,
                                         char **out_text, size_t *out_bytes)
{
    struct printer printer = {.out = {.mem = plan->mem}, .plan = plan};
    number_steps(plan);
    ronde_text_put(&printer.out, "ronde 1\ncollective %s\n",
                   ronde_collective_text(plan->collective));
    ronde_text_put_algorithm(&printer.out, plan->name, "mscclpp");
    ronde_text_put(&printer.out, "ranks %" PRIu32 "\nchunks %" PRIu32 "\npeers absolute\n",
                   plan->ranks, mscclpp_parts(plan));
    if (writes_input(plan))
        ronde_text_put(&printer.out, "clobbers\n");
    if (is_unscaled)
        ronde_text_put(&printer.out, "unscaled\n");
    if (plan->is_in_place)
        ronde_text_put(&printer.out, "placement in_place\n");
    else if (ronde_collective_traits(plan->collective)->has_in_place)
        ronde_text_put(&printer.out, "placement out_of_place\n");
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        put_program(&printer, rank);
    return ronde_text_finish(&printer.out, out_text, out_bytes, plan->error);
}

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
