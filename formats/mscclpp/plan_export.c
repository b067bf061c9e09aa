/*
 * Schedules as MSCCL++ plans. See ronde/mscclpp.h.
 *
 * Made of the threadblocks of an MSCCL file (formats/msccl): one peer each way, dependencies step by step. A message is put into a
 * place of its own in the receiver's scratch and signalled; the receiver waits, and reads it there. At the start of a launch
 * receivers tell senders that they run: their scratch is then free of the launch before.
 */
#include "engine/text/out.h"
#include "formats/msccl/algo.h"
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* What the printers of a plan share: the text, channels and scratch of all ranks. */

/** A channel between two threadblocks of different ranks. */
struct plan_link {
    uint32_t from, to, chan;
    uint32_t first_slot; /**< in the receiver's scratch */
};

/** The plan being printed. */
struct plan_exporter {
    struct ronde_text_out out;
    const struct msccl_algo *algo;
    struct ronde_list links; /**< struct plan_link, the same order for all ranks */
    uint32_t *scratch;       /**< per rank: chunks */
    uint32_t ops;            /**< of the threadblock, so far */
    struct ronde_error *error;
};

/* Steps of a threadblock as operations of an MSCCL++ plan. */

/* The i-th link. */
static struct plan_link *mscclpp_link_at(const struct plan_exporter *exporter, uint32_t i)
{
    return (struct plan_link *)exporter->links.items + i;
}

/* A local place; the scratch of a message is one. */
struct plan_place {
    uint8_t buffer;
    uint32_t first;
};

static void put_op(struct plan_exporter *exporter, const char *name)
{
    ronde_text_put(&exporter->out, "%s\n            {\"name\": \"%s\"",
                   exporter->ops > 0 ? "," : "", name);
    exporter->ops++;
}

static void end_op(struct plan_exporter *exporter)
{
    ronde_text_put(&exporter->out, "}");
}

static void put_plain(struct plan_exporter *exporter, const char *name)
{
    put_op(exporter, name);
    end_op(exporter);
}

static void put_channel(struct plan_exporter *exporter, const char *name, uint32_t channel)
{
    put_op(exporter, name);
    ronde_text_put(&exporter->out, ", \"channel_ids\": [%" PRIu32 "], \"channel_type\": \"memory\"",
                   channel);
    end_op(exporter);
}

static void put_semaphore(struct plan_exporter *exporter, const char *name, uint32_t semaphore)
{
    put_op(exporter, name);
    ronde_text_put(&exporter->out, ", \"semaphore_ids\": [%" PRIu32 "]", semaphore);
    end_op(exporter);
}

static void put_place(struct plan_exporter *exporter, const struct plan_place *place, uint32_t count)
{
    static const char letters[] = "ios";
    ronde_text_put(&exporter->out,
                   "{\"type\": \"%c\", \"index\": %" PRIu32 ", \"size\": %" PRIu32 "}",
                   letters[place->buffer], place->first, count);
}

/* Sources, a local destination unless there is none, and the peer's scratch where it is sent on. */
static void put_move(struct plan_exporter *exporter, const char *name,
                     const struct plan_place *const *sources, const struct plan_place *target,
                     uint32_t remote, uint32_t count)
{
    put_op(exporter, name);
    ronde_text_put(&exporter->out, ", \"src_buff\": [");
    put_place(exporter, sources[0], count);
    if (sources[1]) {
        ronde_text_put(&exporter->out, ", ");
        put_place(exporter, sources[1], count);
    }
    ronde_text_put(&exporter->out, "], \"dst_buff\": [");
    if (target)
        put_place(exporter, target, count);
    if (remote != RONDE_NONE)
        ronde_text_put(&exporter->out,
                       "%s{\"buffer_id\": 0, \"index\": %" PRIu32 ", \"size\": %" PRIu32
                       "}], \"channel_ids\": [0], \"channel_type\": \"memory\"",
                       target ? ", " : "", remote, count);
    else
        ronde_text_put(&exporter->out, "]");
    if (sources[1])
        ronde_text_put(&exporter->out, ", \"reduce_op\": \"sum\"");
    end_op(exporter);
}

/* Where a threadblock is in its channels. */
struct plan_walk {
    const struct msccl_tb *tb;
    uint32_t sent, received; /* next places in scratch: the peer's, the own */
    uint32_t receive_channel;
};

/* One step: the message is waited for, used, and what is sent on is signalled. */
static void put_step(struct plan_exporter *exporter, struct plan_walk *walk,
                     const struct msccl_step *step)
{
    const struct msccl_op_row *row = &msccl_ops[step->op];
    const struct plan_place message = {RONDE_SCRATCH, walk->received};
    const struct plan_place source = {step->src, (uint32_t)step->srcoff};
    const struct plan_place target = {step->dst, (uint32_t)step->dstoff};
    const uint32_t remote = row->sends ? walk->sent : RONDE_NONE;
    const struct plan_place *const copied[] = {row->receives ? &message : &source, NULL};
    const struct plan_place *const combined[] = {step->op == MSCCL_RE ? &target : &source,
                                                 step->op == MSCCL_RE ? &source : &message};
    const bool reduces = step->op == MSCCL_RE || (row->receives && row->reads);
    if (row->receives)
        put_channel(exporter, "wait", walk->receive_channel);
    put_plain(exporter, "nop");
    if (reduces)
        put_move(exporter, row->sends ? "res" : "re", combined, row->writes ? &target : &message,
                 remote, step->cnt);
    else if (row->writes)
        put_move(exporter, "copy", copied, &target, RONDE_NONE, step->cnt);
    if (!reduces && row->sends)
        put_move(exporter, "put", copied, NULL, remote, step->cnt);
    if (row->sends) {
        put_plain(exporter, "nop");
        put_channel(exporter, "signal", 0);
    }
    walk->sent += row->sends ? step->cnt : 0;
    walk->received += row->receives ? step->cnt : 0;
}

/* --- dependencies ---------------------------------------------------------------------------- */

/* Number of the semaphore of a step that waits for another threadblock's; or how many there are. */
static uint32_t mscclpp_semaphore_of(const struct msccl_algo *algo, const struct msccl_gpu *gpu,
                                     uint32_t tb, uint32_t step)
{
    uint32_t number = 0;
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        for (uint32_t s = 0; s < msccl_tb_at(algo, gpu, t)->step_count; s++) {
            if (t == tb && s == step)
                return number;
            number += msccl_step_at(algo, msccl_tb_at(algo, gpu, t), s)->depid >= 0;
        }
    return number;
}

/* Releases what waits for this step. */
static void put_releases(struct plan_exporter *exporter, const struct msccl_gpu *gpu, uint32_t tb,
                         uint32_t step)
{
    const struct msccl_algo *algo = exporter->algo;
    bool is_first = true;
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        for (uint32_t s = 0; s < msccl_tb_at(algo, gpu, t)->step_count; s++) {
            const struct msccl_step *other = msccl_step_at(algo, msccl_tb_at(algo, gpu, t), s);
            if (other->depid != (int32_t)tb || other->deps != (int32_t)step)
                continue;
            if (is_first)
                put_plain(exporter, "nop");
            is_first = false;
            put_semaphore(exporter, "sem_release", mscclpp_semaphore_of(algo, gpu, t, s));
        }
}

/* Prints the operations of a threadblock, whose links may be RONDE_NONE. */
static void mscclpp_put_ops(struct plan_exporter *exporter, const struct msccl_gpu *gpu,
                            const struct msccl_tb *tb, uint32_t send_link, uint32_t receive_link)
{
    const struct msccl_algo *algo = exporter->algo;
    struct plan_walk walk = {.tb = tb, .receive_channel = send_link != RONDE_NONE};
    exporter->ops = 0;
    if (send_link != RONDE_NONE)
        walk.sent = mscclpp_link_at(exporter, send_link)->first_slot;
    if (receive_link != RONDE_NONE) {
        walk.received = mscclpp_link_at(exporter, receive_link)->first_slot;
        put_channel(exporter, "rlxsignal", walk.receive_channel);
    }
    if (send_link != RONDE_NONE)
        put_channel(exporter, "rlxwait", 0);
    for (uint32_t s = 0; s < tb->step_count; s++) {
        const struct msccl_step *step = msccl_step_at(algo, tb, s);
        if (step->depid >= 0)
            put_semaphore(exporter, "sem_acquire", mscclpp_semaphore_of(algo, gpu, tb->id, s));
        if (step->op != MSCCL_NOP)
            put_step(exporter, &walk, step);
        put_releases(exporter, gpu, tb->id, s);
    }
}

/* Arrays of the executor (src/core/include/execution_common.hpp). */
#define MOST_OPS 64u
#define MOST_SEMAPHORES 16u

static enum ronde_status refuse(const struct plan_exporter *exporter, const char *format, ...)
    RONDE_FORMAT(2, 3);

static enum ronde_status refuse(const struct plan_exporter *exporter, const char *format, ...)
{
    char why[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return ronde_fail(exporter->error, RONDE_UNSUPPORTED, "%s %s cannot be an MSCCL++ plan: %s",
                      ronde_collective_text(exporter->algo->collective), exporter->algo->name, why);
}

/* --- channels -------------------------------------------------------------------------------- */

static uint32_t find_link(const struct plan_exporter *exporter, uint32_t from, uint32_t to,
                          uint32_t chan)
{
    for (uint32_t i = 0; i < exporter->links.count; i++) {
        const struct plan_link *link = mscclpp_link_at(exporter, i);
        if (link->from == from && link->to == to && link->chan == chan)
            return i;
    }
    return RONDE_NONE;
}

/* What a threadblock sends takes room in the receiver's scratch. */
static enum ronde_status add_link(struct plan_exporter *exporter, const struct msccl_gpu *gpu,
                                  const struct msccl_tb *tb)
{
    const struct msccl_algo *algo = exporter->algo;
    struct plan_link *link = ronde_list_push(algo->mem, &exporter->links, sizeof *link);
    if (!link)
        return ronde_fail(exporter->error, RONDE_NO_MEMORY, "no memory for a plan");
    *link = (struct plan_link){gpu->id, (uint32_t)tb->send, tb->chan, exporter->scratch[tb->send]};
    for (uint32_t s = 0; s < tb->step_count; s++) {
        const struct msccl_step *step = msccl_step_at(algo, tb, s);
        if (msccl_ops[step->op].sends)
            exporter->scratch[tb->send] += step->cnt;
    }
    return RONDE_OK;
}

static enum ronde_status add_links(struct plan_exporter *exporter)
{
    const struct msccl_algo *algo = exporter->algo;
    enum ronde_status status = RONDE_OK;
    for (uint32_t g = 0; g < algo->ranks; g++)
        exporter->scratch[g] = msccl_gpu_at(algo, g)->chunks[RONDE_SCRATCH];
    for (uint32_t g = 0; g < algo->ranks; g++) {
        const struct msccl_gpu *gpu = msccl_gpu_at(algo, g);
        for (uint32_t t = 0; t < gpu->tb_count && status == RONDE_OK; t++)
            if (msccl_tb_at(algo, gpu, t)->send >= 0)
                status = add_link(exporter, gpu, msccl_tb_at(algo, gpu, t));
    }
    return status;
}

/* Number of a link among those of a rank, or of those that it sends on. */
static uint32_t number_of(const struct plan_exporter *exporter, uint32_t rank, uint32_t at,
                          bool sends_only)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < at; i++) {
        const struct plan_link *link = mscclpp_link_at(exporter, i);
        number += link->from == rank || (!sends_only && link->to == rank);
    }
    return number;
}

/* --- ranks ----------------------------------------------------------------------------------- */

static enum ronde_status put_tb(struct plan_exporter *exporter, const struct msccl_gpu *gpu,
                                uint32_t t)
{
    const struct msccl_tb *tb = msccl_tb_at(exporter->algo, gpu, t);
    const uint32_t sends =
        tb->send < 0 ? RONDE_NONE : find_link(exporter, gpu->id, (uint32_t)tb->send, tb->chan);
    const uint32_t receives =
        tb->recv < 0 ? RONDE_NONE : find_link(exporter, (uint32_t)tb->recv, gpu->id, tb->chan);
    struct ronde_text_out *out = &exporter->out;
    ronde_text_put(out, "%s\n        {\"id\": %" PRIu32 ", \"ops\": [", t > 0 ? "," : "", t);
    mscclpp_put_ops(exporter, gpu, tb, sends, receives);
    ronde_text_put(
        out, "],\n          \"channels\": [{\"channel_type\": \"memory\", \"channel_ids\": [");
    if (sends != RONDE_NONE)
        ronde_text_put(out, "%" PRIu32, number_of(exporter, gpu->id, sends, false));
    if (receives != RONDE_NONE)
        ronde_text_put(out, "%s%" PRIu32, sends != RONDE_NONE ? ", " : "",
                       number_of(exporter, gpu->id, receives, false));
    ronde_text_put(out, "]}],\n          \"remote_buffer_refs\": [");
    if (sends != RONDE_NONE)
        ronde_text_put(out,
                       "{\"access_channel_type\": \"memory\", \"remote_buffer_ids\": [%" PRIu32
                       "]}",
                       number_of(exporter, gpu->id, sends, true));
    ronde_text_put(out, "]}");
    if (exporter->ops > MOST_OPS)
        return refuse(exporter,
                      "threadblock %" PRIu32 " of rank %" PRIu32 " has %" PRIu32
                      " operations, the executor takes %u",
                      t, gpu->id, exporter->ops, MOST_OPS);
    return RONDE_OK;
}

/* Channels and remote buffers of a rank, in the order of all links. */
static void put_links(struct plan_exporter *exporter, uint32_t rank)
{
    struct ronde_text_out *out = &exporter->out;
    bool is_first = true;
    ronde_text_put(out,
                   "],\n      \"channels\": [{\"channel_type\": \"memory\", \"connected_to\": [");
    for (uint32_t i = 0; i < exporter->links.count; i++) {
        const struct plan_link *link = mscclpp_link_at(exporter, i);
        if (link->from != rank && link->to != rank)
            continue;
        ronde_text_put(out, "%s%" PRIu32, is_first ? "" : ", ",
                       link->from == rank ? link->to : link->from);
        is_first = false;
    }
    ronde_text_put(out, "]}],\n      \"remote_buffers\": [");
    is_first = true;
    for (uint32_t i = 0; i < exporter->links.count; i++) {
        const struct plan_link *link = mscclpp_link_at(exporter, i);
        if (link->from != rank)
            continue;
        ronde_text_put(out,
                       "%s{\"rank\": %" PRIu32
                       ", \"type\": \"s\", \"access_channel_types\": [\"memory\"]}",
                       is_first ? "" : ", ", link->to);
        is_first = false;
    }
    ronde_text_put(out, "]");
}

static enum ronde_status put_gpu(struct plan_exporter *exporter, uint32_t rank)
{
    const struct msccl_algo *algo = exporter->algo;
    const struct msccl_gpu *gpu = msccl_gpu_at(algo, rank);
    const uint32_t semaphores = mscclpp_semaphore_of(algo, gpu, RONDE_NONE, 0);
    struct ronde_text_out *out = &exporter->out;
    enum ronde_status status = RONDE_OK;
    ronde_text_put(out,
                   "%s\n    {\"id\": %" PRIu32 ", \"input_chunks\": %" PRIu32
                   ", \"output_chunks\": %" PRIu32 ", \"scratch_chunks\": %" PRIu32
                   ",\n      \"threadblocks\": [",
                   rank > 0 ? "," : "", rank, gpu->chunks[RONDE_IN], gpu->chunks[RONDE_OUT],
                   exporter->scratch[rank]);
    for (uint32_t t = 0; t < gpu->tb_count && status == RONDE_OK; t++)
        status = put_tb(exporter, gpu, t);
    put_links(exporter, rank);
    ronde_text_put(out, ",\n      \"semaphores\": [");
    for (uint32_t i = 0; i < semaphores; i++)
        ronde_text_put(out, "%s{\"init_value\": 0}", i > 0 ? ", " : "");
    ronde_text_put(out, "]}");
    if (status == RONDE_OK && semaphores > MOST_SEMAPHORES)
        return refuse(exporter,
                      "rank %" PRIu32 " has %" PRIu32
                      " dependencies between threadblocks, the executor has %u semaphores",
                      rank, semaphores, MOST_SEMAPHORES);
    return status;
}

static enum ronde_status put_plan(struct plan_exporter *exporter)
{
    static const char *const words[RONDE_COLLECTIVE_COUNT] = {
        [RONDE_ALL_REDUCE] = "allreduce",
        [RONDE_ALL_GATHER] = "allgather",
        [RONDE_REDUCE_SCATTER] = "reducescatter",
        [RONDE_ALL_TO_ALL] = "alltoall",
    };
    const struct msccl_algo *algo = exporter->algo;
    enum ronde_status status = RONDE_OK;
    if (!words[algo->collective])
        return refuse(exporter, "a plan names no root");
    ronde_text_put(&exporter->out,
                   "{\n  \"name\": \"%s\", \"collective\": \"%s\", \"protocol\": \"Simple\",\n"
                   "  \"inplace\": %s, \"reuse_resources\": false, \"gpus\": [",
                   algo->name, words[algo->collective],
                   algo->in_place && !algo->out_of_place ? "true" : "false");
    for (uint32_t g = 0; g < algo->ranks && status == RONDE_OK; g++)
        status = put_gpu(exporter, g);
    ronde_text_put(&exporter->out,
                   "],\n  \"num_threads_per_block\": 1024, \"use_double_scratch_buffer\": false,\n"
                   "  \"buffer_alignment\": 16, \"min_message_size\": 0, \"max_message_size\": "
                   "18446744073709551615\n}\n");
    return status;
}

/* What goes out comes in again, as a schedule that is right. */
static enum ronde_status verify(const char *text, size_t bytes, const struct ronde_mem *mem,
                                struct ronde_error *error)
{
    const char *reason;
    struct ronde_schedule *again = NULL;
    if (!ronde_mscclpp_available(&reason))
        return RONDE_OK;
    const enum ronde_status status =
        ronde_mscclpp_read(text, bytes, "the written plan", mem, NULL, &again, error);
    ronde_schedule_destroy(again);
    return status;
}

enum ronde_status ronde_mscclpp_print(const struct ronde_schedule *schedule,
                                      const struct ronde_mem *mem, char **out_text,
                                      size_t *out_bytes, struct ronde_error *error)
{
    struct msccl_algo algo = {.mem = mem, .path = "the written plan"};
    struct plan_exporter exporter = {.out = {.mem = mem}, .algo = &algo, .error = error};
    char *text = NULL;
    size_t bytes = 0;
    *out_text = NULL;
    *out_bytes = 0;
    enum ronde_status status = msccl_export(schedule, &algo, error);
    exporter.scratch = ronde_mem_new(mem, schedule->ranks, sizeof *exporter.scratch);
    if (status == RONDE_OK && !exporter.scratch)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for a plan");
    RONDE_THEN(status, add_links(&exporter));
    RONDE_THEN(status, put_plan(&exporter));
    const enum ronde_status printed =
        ronde_text_finish(&exporter.out, &text, &bytes, status == RONDE_OK ? error : NULL);
    status = status == RONDE_OK ? printed : status;
    RONDE_THEN(status, verify(text, bytes, mem, error));
    if (status == RONDE_OK) {
        *out_text = text;
        *out_bytes = bytes;
    } else if (text) {
        ronde_mem_free(mem, text, bytes + 1, 1);
    }
    ronde_mem_free(mem, exporter.scratch, schedule->ranks, sizeof *exporter.scratch);
    ronde_list_free(mem, &exporter.links, sizeof(struct plan_link));
    msccl_algo_free(&algo);
    return status;
}
