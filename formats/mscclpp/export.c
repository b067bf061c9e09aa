/*
 * Schedules as MSCCL++ plans. See ronde/mscclpp.h.
 *
 * Made of the threadblocks of an MSCCL file (formats/msccl): one peer each way, dependencies step by step. A message is put into a
 * place of its own in the receiver's scratch and signalled; the receiver waits, and reads it there. At the start of a launch
 * receivers tell senders that they run: their scratch is then free of the launch before.
 */
#include "export.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

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
    if (status == RONDE_OK)
        status = add_links(&exporter);
    if (status == RONDE_OK)
        status = put_plan(&exporter);
    const enum ronde_status printed =
        ronde_text_finish(&exporter.out, &text, &bytes, status == RONDE_OK ? error : NULL);
    status = status == RONDE_OK ? printed : status;
    if (status == RONDE_OK)
        status = verify(text, bytes, mem, error);
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
