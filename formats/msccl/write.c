/* Schedules as MSCCL files. See ronde/msccl.h. */
#include "algo.h"

#include "engine/text/out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* --- what the runtimes take ------------------------------------------------------------------ */

/* Says what of the schedule the runtimes have no room for. */
RONDE_FORMAT(3, 4)
static enum ronde_status refuse(const struct msccl_algo *algo, struct ronde_error *error,
                                const char *format, ...)
{
    char why[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return ronde_fail(error, RONDE_UNSUPPORTED, "%s %s cannot be an MSCCL file: %s",
                      ronde_collective_text(algo->collective), algo->name, why);
}

static enum ronde_status check_limits(const struct msccl_algo *algo,
                                      const struct msccl_limits *limits, struct ronde_error *error)
{
    for (uint32_t g = 0; g < algo->ranks; g++) {
        const struct msccl_gpu *gpu = msccl_gpu_at(algo, g);
        if (gpu->tb_count > limits->threadblocks)
            return refuse(algo, error, "rank %" PRIu32 " needs %" PRIu32 " threadblocks, %s has %u",
                          g, gpu->tb_count, limits->runtime, limits->threadblocks);
        for (uint32_t t = 0; t < gpu->tb_count; t++) {
            const struct msccl_tb *tb = msccl_tb_at(algo, gpu, t);
            if (tb->step_count > limits->steps)
                return refuse(algo, error,
                              "a threadblock of rank %" PRIu32 " has %" PRIu32
                              " steps, %s takes %u",
                              g, tb->step_count, limits->runtime, limits->steps);
            for (uint32_t s = 0; s < tb->step_count; s++)
                if (msccl_step_at(algo, tb, s)->cnt > limits->count)
                    return refuse(algo, error,
                                  "a message of rank %" PRIu32 " has %" PRIu32
                                  " chunks, %s takes %u",
                                  g, msccl_step_at(algo, tb, s)->cnt, limits->runtime,
                                  limits->count);
        }
    }
    return RONDE_OK;
}

/* Only RCCL's parser knows gather and scatter. */
static enum ronde_status check_dialect(const struct msccl_algo *algo,
                                       enum ronde_msccl_dialect dialect, struct ronde_error *error)
{
    const bool is_newer = algo->collective == RONDE_GATHER || algo->collective == RONDE_SCATTER;
    return is_newer && dialect == RONDE_MSCCL_OF_MSCCL
               ? refuse(algo, error, "only RCCL's dialect has this collective")
               : RONDE_OK;
}

/*
 * What was written is read back by the reader's own judge and prover: nothing goes out that would not come in. The
 * protocol follows from the depth, unless one was named.
 */
static enum ronde_status verify(struct msccl_algo *algo, const struct ronde_msccl_style *style,
                                struct ronde_error *error)
{
    struct ronde_proof proof = {.ok = true};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error why = {0};
    enum ronde_status status = msccl_judge(algo, &proof, &why);
    if (status == RONDE_OK && proof.ok)
        status = msccl_prove(algo, &proof, &schedule, &why);
    ronde_schedule_destroy(schedule);
    if (status == RONDE_NO_MEMORY)
        return ronde_fail(error, status, "%s", why.message);
    if (status != RONDE_OK || !proof.ok)
        return refuse(algo, error, "%s",
                      proof.finding_count > 0 ? proof.findings[0].text : why.message);
    const bool is_open = style->protocol >= RONDE_MSCCL_PROTOCOL_COUNT;
    if (is_open)
        algo->protocol = proof.min_depth > msccl_protocols[RONDE_MSCCL_SIMPLE].depth
                             ? RONDE_MSCCL_LL
                             : RONDE_MSCCL_SIMPLE;
    else
        algo->protocol = style->protocol;
    if (proof.min_depth > msccl_protocols[algo->protocol].depth)
        return refuse(algo, error,
                      "it blocks with fewer than %" PRIu32 " messages in flight, and a connection "
                      "of protocol %s holds %" PRIu32,
                      proof.min_depth, msccl_protocols[algo->protocol].text,
                      msccl_protocols[algo->protocol].depth);
    return RONDE_OK;
}

/* --- the XML --------------------------------------------------------------------------------- */

static const char *coll_of(const struct msccl_algo *algo, enum ronde_msccl_dialect dialect)
{
    static const char *const words[RONDE_COLLECTIVE_COUNT] = {
        [RONDE_BROADCAST] = "broadcast",
        [RONDE_SCATTER] = "scatter",
        [RONDE_GATHER] = "gather",
        [RONDE_ALL_GATHER] = "allgather",
        [RONDE_REDUCE] = "reduce",
        [RONDE_ALL_REDUCE] = "allreduce",
        [RONDE_REDUCE_SCATTER] = "reduce_scatter",
        [RONDE_ALL_TO_ALL] = "alltoall",
    };
    const bool is_short = algo->collective == RONDE_REDUCE_SCATTER && dialect == RONDE_MSCCL_OF_RCCL;
    return is_short ? "reducescatter" : words[algo->collective];
}

static uint32_t channels_of(const struct msccl_algo *algo)
{
    const struct msccl_tb *tbs = algo->tbs.items;
    uint32_t channels = 1;
    for (uint32_t t = 0; t < algo->tbs.count; t++)
        channels = tbs[t].chan + 1 > channels ? tbs[t].chan + 1 : channels;
    return channels;
}

/* MSCCL has one flag for two things: a schedule that may run either way is offered out of place, as calls mostly are. */
static void put_head(struct ronde_text_out *out, const struct msccl_algo *algo,
                     enum ronde_msccl_dialect dialect)
{
    const bool is_rccl = dialect == RONDE_MSCCL_OF_RCCL;
    ronde_text_put(out,
                   "<algo name=\"%s\" proto=\"%s\" nchannels=\"%" PRIu32
                   "\" nchunksperloop=\"%" PRIu32 "\" ngpus=\"%" PRIu32
                   "\" coll=\"%s\" inplace=\"%d\"",
                   algo->name, msccl_protocols[algo->protocol].text, channels_of(algo),
                   algo->chunks, algo->ranks, coll_of(algo, dialect),
                   is_rccl ? algo->in_place : algo->in_place && !algo->out_of_place);
    if (is_rccl)
        ronde_text_put(out, " outofplace=\"%d\" minBytes=\"0\" maxBytes=\"0\"", algo->out_of_place);
    ronde_text_put(out, ">\n");
}

/* The side that is not used repeats the other, as msccl-tools writes it. */
static void put_step(struct ronde_text_out *out, const struct msccl_step *step, uint32_t s)
{
    static const char letters[] = "ios";
    const struct msccl_op_row *row = &msccl_ops[step->op];
    uint8_t src = RONDE_IN, dst = RONDE_OUT;
    int32_t srcoff = -1, dstoff = -1;
    if (row->reads || row->writes) {
        src = row->reads ? step->src : step->dst;
        srcoff = row->reads ? step->srcoff : step->dstoff;
        dst = row->writes ? step->dst : step->src;
        dstoff = row->writes ? step->dstoff : step->srcoff;
    }
    ronde_text_put(out,
                   "      <step s=\"%" PRIu32 "\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%" PRId32
                   "\" dstbuf=\"%c\" dstoff=\"%" PRId32 "\" cnt=\"%" PRIu32 "\" depid=\"%" PRId32
                   "\" deps=\"%" PRId32 "\" hasdep=\"%d\"/>\n",
                   s, row->word, letters[src], srcoff, letters[dst], dstoff, step->cnt, step->depid,
                   step->deps, step->hasdep);
}

static void put_gpu(struct ronde_text_out *out, const struct msccl_algo *algo,
                    const struct msccl_gpu *gpu)
{
    ronde_text_put(out,
                   "  <gpu id=\"%" PRIu32 "\" i_chunks=\"%" PRIu32 "\" o_chunks=\"%" PRIu32
                   "\" s_chunks=\"%" PRIu32 "\">\n",
                   gpu->id, gpu->chunks[RONDE_IN], gpu->chunks[RONDE_OUT],
                   gpu->chunks[RONDE_SCRATCH]);
    for (uint32_t t = 0; t < gpu->tb_count; t++) {
        const struct msccl_tb *tb = msccl_tb_at(algo, gpu, t);
        ronde_text_put(out,
                       "    <tb id=\"%" PRIu32 "\" send=\"%" PRId32 "\" recv=\"%" PRId32
                       "\" chan=\"%" PRIu32 "\">\n",
                       tb->id, tb->send, tb->recv, tb->chan);
        for (uint32_t s = 0; s < tb->step_count; s++)
            put_step(out, msccl_step_at(algo, tb, s), s);
        ronde_text_put(out, "    </tb>\n");
    }
    ronde_text_put(out, "  </gpu>\n");
}

enum ronde_status ronde_msccl_print(const struct ronde_schedule *schedule,
                                    const struct ronde_msccl_style *style,
                                    const struct ronde_mem *mem, char **out_text, size_t *out_bytes,
                                    struct ronde_error *error)
{
    struct msccl_algo algo = {.mem = mem, .path = "the written file"};
    struct ronde_text_out out = {.mem = mem};
    *out_text = NULL;
    *out_bytes = 0;
    enum ronde_status status = msccl_export(schedule, &algo, error);
    RONDE_THEN(status, check_dialect(&algo, style->dialect, error));
    RONDE_THEN(status, check_limits(&algo, &msccl_limits[style->dialect], error));
    RONDE_THEN(status, verify(&algo, style, error));
    if (status == RONDE_OK) {
        put_head(&out, &algo, style->dialect);
        for (uint32_t g = 0; g < algo.ranks; g++)
            put_gpu(&out, &algo, msccl_gpu_at(&algo, g));
        ronde_text_put(&out, "</algo>\n");
        status = ronde_text_finish(&out, out_text, out_bytes, error);
    }
    msccl_algo_free(&algo);
    return status;
}
