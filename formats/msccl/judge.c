/* What of an MSCCL file no schedule can express, and which step meets each dependency. See algo.h. */
#include "algo.h"

#include "engine/prove/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct msccl_limits msccl_limits[] = {{"MSCCL", 256, 216, 71}, {"RCCL", 64, 64, 71}};

/* The channels that both have. */
#define MOST_CHANNELS 32u

/* The file being judged, and where. */
struct judge {
    struct msccl_algo *algo;
    struct ronde_proof *proof;
    const struct msccl_gpu *gpu;
    const struct msccl_tb *tb;
    uint32_t s;
};

/* A finding about the current step. */
static struct ronde_finding here(const struct judge *judge, enum ronde_finding_code code)
{
    return (struct ronde_finding){code, judge->gpu->id, judge->tb->id, judge->s, RONDE_NONE, ""};
}

/* --- peers and chunks ------------------------------------------------------------------------ */

static void judge_peer(const struct judge *judge, bool is_used, const char *what, int32_t peer)
{
    const struct ronde_finding finding = here(judge, RONDE_FINDING_UNMATCHED);
    if (is_used &&
        (peer < 0 || (uint32_t)peer >= judge->algo->ranks || (uint32_t)peer == judge->gpu->id))
        ronde_find_there(judge->proof, &finding, "bad %s peer %" PRId32, what, peer);
}

static void judge_chunks(const struct judge *judge, const struct msccl_step *step, uint8_t buffer,
                         int32_t offset)
{
    if (buffer >= RONDE_BUFFER_COUNT)
        return;
    const uint32_t chunks = msccl_buffer_chunks(judge->algo, judge->gpu, (enum ronde_buffer)buffer);
    struct ronde_finding finding = here(judge, RONDE_FINDING_BOUNDS);
    if (offset >= 0 && (uint64_t)offset + step->cnt <= chunks)
        return;
    finding.chunk = offset >= 0 ? (uint32_t)offset : RONDE_NONE;
    ronde_find_there(judge->proof, &finding, "%c[%" PRId32 "+%" PRIu32 "] of %" PRIu32 " chunks",
                     "ios"[buffer], offset, step -> cnt, chunks);
}

/* Copies before the first step lie within both buffers. */
static void judge_copies(const struct judge *judge)
{
    const struct msccl_copy *copies = judge->algo->copies.items;
    for (uint32_t c = 0; c < judge->gpu->copy_count; c++) {
        const struct msccl_copy *copy = &copies[judge->gpu->first_copy + c];
        const struct ronde_finding finding = {RONDE_FINDING_BOUNDS, judge->gpu->id, RONDE_NONE,
                                              RONDE_NONE,           RONDE_NONE,     ""};
        if (copy->from >= msccl_buffer_chunks(judge->algo, judge->gpu, RONDE_IN) ||
            copy->to >= msccl_buffer_chunks(judge->algo, judge->gpu, RONDE_OUT))
            ronde_find_there(judge->proof, &finding, "copy of i[%" PRIu32 "] to o[%" PRIu32 "]",
                             copy->from, copy->to);
    }
}

/* --- dependencies ---------------------------------------------------------------------------- */

/*
 * A threadblock's flag is raised by steps with hasdep only, to their number, and by no nop; a waiter goes on as soon as
 * it has reached the number it waits for.
 */
static uint32_t raising_step(const struct msccl_algo *algo, const struct msccl_tb *tb, uint32_t from)
{
    for (uint32_t s = from; s < tb->step_count; s++) {
        const struct msccl_step *step = msccl_step_at(algo, tb, s);
        if (step->hasdep && step->op != MSCCL_NOP)
            return s;
    }
    return RONDE_NONE;
}

static void judge_dependency(const struct judge *judge, struct msccl_step *step)
{
    const struct ronde_finding finding = here(judge, RONDE_FINDING_CYCLE);
    step->waits_step = RONDE_NONE;
    if (step->depid < 0)
        return;
    if ((uint32_t)step->depid >= judge->gpu->tb_count) {
        ronde_find_there(judge->proof, &finding,
                         "%s never starts: it waits for threadblock %" PRId32
                         ", which does not exist",
                         msccl_ops[step->op].word, step->depid);
        return;
    }
    const struct msccl_tb *on = msccl_tb_at(judge->algo, judge->gpu, (uint32_t)step->depid);
    const uint32_t raised = raising_step(judge->algo, on, (uint32_t)step->deps);
    const bool is_own = on->id == judge->tb->id;
    if (raised == RONDE_NONE || (is_own && raised >= judge->s))
        ronde_find_there(judge->proof, &finding,
                         "%s never starts: no flag of threadblock %" PRId32
                         " is raised to step %" PRId32 "%s",
                         msccl_ops[step->op].word, step->depid, step->deps,
                         raised == RONDE_NONE ? " or later (hasdep)" : " before it");
    else if (!is_own)
        step->waits_step = raised;
}

/* --- connections ----------------------------------------------------------------------------- */

/* One end of a connection that a threadblock uses. */
struct end {
    uint32_t src, dst, chan;
    bool is_send;
    uint32_t tb;
};

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_ends(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    int order = compare_numbers(a->is_send, b->is_send);
    if (order == 0)
        order = compare_numbers(a->src, b->src);
    if (order == 0)
        order = compare_numbers(a->dst, b->dst);
    if (order == 0)
        order = compare_numbers(a->chan, b->chan);
    return order != 0 ? order : compare_numbers(a->tb, b->tb);
}

static void list_ends(const struct msccl_algo *algo, struct end *ends, uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < algo->ranks; g++) {
        const struct msccl_gpu *gpu = msccl_gpu_at(algo, g);
        for (uint32_t t = 0; t < gpu->tb_count; t++) {
            const struct msccl_tb *tb = msccl_tb_at(algo, gpu, t);
            if (msccl_next_message(algo, tb, true, 0) < tb->step_count)
                ends[count++] = (struct end){g, (uint32_t)tb->send, tb->chan, true, t};
            if (msccl_next_message(algo, tb, false, 0) < tb->step_count)
                ends[count++] = (struct end){(uint32_t)tb->recv, g, tb->chan, false, t};
        }
    }
    *out_count = count;
}

/* Messages pair up in program order, and have the same number of chunks at both ends. How many there are is proved. */
static void judge_messages(const struct msccl_algo *algo, const struct end *sender,
                           const struct end *receiver, struct ronde_proof *proof)
{
    const struct msccl_tb *from = msccl_tb_at(algo, msccl_gpu_at(algo, sender->src), sender->tb);
    const struct msccl_tb *to = msccl_tb_at(algo, msccl_gpu_at(algo, sender->dst), receiver->tb);
    uint32_t sent = msccl_next_message(algo, from, true, 0),
             got = msccl_next_message(algo, to, false, 0);
    while (sent < from->step_count && got < to->step_count) {
        const uint32_t gets = msccl_step_at(algo, from, sent)->cnt;
        const uint32_t expects = msccl_step_at(algo, to, got)->cnt;
        const struct ronde_finding finding = {
            RONDE_FINDING_UNMATCHED, sender->dst, to->id, got, RONDE_NONE, ""};
        if (gets != expects)
            ronde_find_there(proof, &finding,
                             "expects a message of %" PRIu32 " chunks, gets %" PRIu32, expects,
                             gets);
        sent = msccl_next_message(algo, from, true, sent + 1);
        got = msccl_next_message(algo, to, false, got + 1);
    }
}

static bool is_one_connection(const struct end *a, const struct end *b)
{
    return a->src == b->src && a->dst == b->dst && a->chan == b->chan;
}

/* Sorted: first those that receive, then those that send, each by connection. */
static void judge_pairs(const struct msccl_algo *algo, const struct end *ends, uint32_t count,
                        struct ronde_proof *proof)
{
    uint32_t sends = 0;
    while (sends < count && !ends[sends].is_send)
        sends++;
    for (uint32_t r = 0, s = sends; r < sends && s < count;) {
        struct end as_receiver = ends[s];
        as_receiver.is_send = false;
        as_receiver.tb = ends[r].tb;
        const int order = compare_ends(&ends[r], &as_receiver);
        if (order == 0)
            judge_messages(algo, &ends[s], &ends[r], proof);
        r += order <= 0;
        s += order >= 0;
    }
}

/* At each end one threadblock may use a connection: two would race for its messages. */
static enum ronde_status judge_connections(const struct msccl_algo *algo, struct ronde_proof *proof,
                                           struct ronde_error *error)
{
    const size_t capacity = 2 * (size_t)algo->tbs.count;
    struct end *ends = ronde_mem_new(algo->mem, capacity, sizeof *ends);
    uint32_t count = 0;
    if (!ends)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for its connections", algo->path);
    list_ends(algo, ends, &count);
    qsort(ends, count, sizeof *ends, compare_ends);
    for (uint32_t i = 1; i < count; i++) {
        const struct end *a = &ends[i - 1], *b = &ends[i];
        const struct ronde_finding finding = {RONDE_FINDING_UNMATCHED,
                                              b->is_send ? b->src : b->dst,
                                              b->tb,
                                              RONDE_NONE,
                                              RONDE_NONE,
                                              ""};
        if (a->is_send == b->is_send && is_one_connection(a, b))
            ronde_find_there(proof, &finding,
                             "connection %" PRIu32 "->%" PRIu32 " channel %" PRIu32
                             " is used by threadblock %" PRIu32 " too",
                             b->src, b->dst, b->chan, a->tb);
    }
    if (proof->ok)
        judge_pairs(algo, ends, count, proof);
    ronde_mem_free(algo->mem, ends, capacity, sizeof *ends);
    return RONDE_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void judge_step(const struct judge *judge)
{
    struct msccl_step *step = msccl_step_at(judge->algo, judge->tb, judge->s);
    const struct msccl_op_row *row = &msccl_ops[step->op];
    judge_peer(judge, row->sends, "send", judge->tb->send);
    judge_peer(judge, row->receives, "receive", judge->tb->recv);
    judge_chunks(judge, step, step->src, step->srcoff);
    judge_chunks(judge, step, step->dst, step->dstoff);
    judge_dependency(judge, step);
}

enum ronde_status msccl_judge(struct msccl_algo *algo, struct ronde_proof *proof,
                              struct ronde_error *error)
{
    struct judge judge = {.algo = algo, .proof = proof};
    for (uint32_t g = 0; g < algo->ranks; g++) {
        judge.gpu = msccl_gpu_at(algo, g);
        judge_copies(&judge);
        for (uint32_t t = 0; t < judge.gpu->tb_count; t++) {
            judge.tb = msccl_tb_at(algo, judge.gpu, t);
            for (judge.s = 0; judge.s < judge.tb->step_count; judge.s++)
                judge_step(&judge);
        }
    }
    return proof->ok ? judge_connections(algo, proof, error) : RONDE_OK;
}

/* --- runtimes -------------------------------------------------------------------------------- */

/* The last of a run of nops hands its dependency to the step behind it, which must have one of its own. */
static bool has_loose_nops(const struct msccl_algo *algo, const struct msccl_tb *tb)
{
    for (uint32_t s = 0; s < tb->step_count; s++) {
        if (msccl_step_at(algo, tb, s)->op != MSCCL_NOP)
            continue;
        if (s + 1 == tb->step_count || msccl_step_at(algo, tb, s + 1)->depid < 0)
            return true;
    }
    return false;
}

static bool is_no_peer(const struct msccl_algo *algo, const struct msccl_gpu *gpu, int32_t peer)
{
    return peer >= 0 && ((uint32_t)peer >= algo->ranks || (uint32_t)peer == gpu->id);
}

static void find_unfit_tb(const struct msccl_algo *algo, const struct msccl_gpu *gpu,
                          const struct msccl_tb *tb, char *text, size_t bytes)
{
    if (tb->step_count > msccl_limits[RONDE_MSCCL_OF_MSCCL].steps)
        (void)snprintf(text, bytes,
                       "rank %" PRIu32 " threadblock %" PRIu32 " has %" PRIu32
                       " steps: MSCCL takes %u, RCCL %u",
                       gpu->id, tb->id, tb->step_count, msccl_limits[RONDE_MSCCL_OF_MSCCL].steps,
                       msccl_limits[RONDE_MSCCL_OF_RCCL].steps);
    else if (has_loose_nops(algo, tb))
        (void)snprintf(text, bytes,
                       "rank %" PRIu32 " threadblock %" PRIu32
                       ": a nop must stand before a step that waits for something itself",
                       gpu->id, tb->id);
    else if (tb->chan >= MOST_CHANNELS || (algo->channels > 0 && tb->chan >= algo->channels))
        (void)snprintf(text, bytes,
                       "rank %" PRIu32 " threadblock %" PRIu32 " is on channel %" PRIu32
                       ": nchannels is %" PRIu32 ", and there are %u at most",
                       gpu->id, tb->id, tb->chan, algo->channels, MOST_CHANNELS);
    else if (is_no_peer(algo, gpu, tb->send) || is_no_peer(algo, gpu, tb->recv))
        (void)snprintf(text, bytes,
                       "rank %" PRIu32 " threadblock %" PRIu32
                       ": a peer that it does not use is itself or no rank, which parsers refuse",
                       gpu->id, tb->id);
    for (uint32_t s = 0; s < tb->step_count && text[0] == '\0'; s++)
        if (msccl_step_at(algo, tb, s)->cnt > msccl_limits[RONDE_MSCCL_OF_RCCL].count)
            (void)snprintf(text, bytes,
                           "rank %" PRIu32 " threadblock %" PRIu32 " step %" PRIu32
                           " moves %" PRIu32 " chunks, RCCL takes %u",
                           gpu->id, tb->id, s, msccl_step_at(algo, tb, s)->cnt,
                           msccl_limits[RONDE_MSCCL_OF_RCCL].count);
}

void msccl_find_unfit(const struct msccl_algo *algo, uint32_t min_depth, char *text, size_t bytes)
{
    const struct msccl_protocol_row *protocol = &msccl_protocols[algo->protocol];
    text[0] = '\0';
    if (min_depth > protocol->depth)
        (void)snprintf(text, bytes,
                       "it blocks with fewer than %" PRIu32
                       " messages in flight, and a connection of "
                       "protocol %s holds %" PRIu32,
                       min_depth, protocol->text, protocol->depth);
    if (algo->is_compact && text[0] == '\0')
        (void)snprintf(text, bytes, "no runtime reads the compact form (op elements)");
    if (algo->copies.count > 0 && !msccl_is_in_place_only(algo) && text[0] == '\0')
        (void)snprintf(text, bytes, "runtimes skip <copy>, which it needs out of place");
    for (uint32_t g = 0; g < algo->ranks && text[0] == '\0'; g++) {
        const struct msccl_gpu *gpu = msccl_gpu_at(algo, g);
        if (gpu->tb_count > msccl_limits[RONDE_MSCCL_OF_MSCCL].threadblocks)
            (void)snprintf(text, bytes,
                           "rank %" PRIu32 " has %" PRIu32 " threadblocks: MSCCL takes %u, RCCL %u",
                           gpu->id, gpu->tb_count, msccl_limits[RONDE_MSCCL_OF_MSCCL].threadblocks,
                           msccl_limits[RONDE_MSCCL_OF_RCCL].threadblocks);
        for (uint32_t t = 0; t < gpu->tb_count && text[0] == '\0'; t++)
            find_unfit_tb(algo, gpu, msccl_tb_at(algo, gpu, t), text, bytes);
    }
}
