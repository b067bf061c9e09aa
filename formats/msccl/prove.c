/* From a judged MSCCL file to a schedule: no attribute names the root, and marks are only kept where they hold. */
#include "algo.h"

#include "engine/prove/findings.h"
#include "engine/text/out.h"
#include "ronde/text.h"

#include <inttypes.h>
#include <string.h>

/* ---- What a judged file means, as a schedule in text --------------------------------------------------------------- */

/* The text being printed. */
struct writer {
    struct ronde_text_out out;
    const struct msccl_algo *algo;
    const struct msccl_reading *reading;
    const struct ronde_collective_traits *traits;
    bool is_in_place; /* the only form there is */
};

/* --- names ----------------------------------------------------------------------------------- */

/* Ranks follow the root in cyclic order, so that ranges of blocks stay ranges. */
static uint32_t position_of(const struct writer *writer, uint32_t rank)
{
    const uint32_t ranks = writer->algo->ranks;
    return (rank + ranks - writer->reading->root) % ranks;
}

/* --- header ---------------------------------------------------------------------------------- */

/* alltonext: every rank but the one at the end of the line sends to its neighbour. */
static void put_pairs(struct writer *writer)
{
    const uint32_t ranks = writer->algo->ranks;
    ronde_text_put(&writer->out, "pairs");
    for (uint32_t rank = 0; rank + 1 < ranks; rank++)
        if (writer->algo->goes_backward)
            ronde_text_put(&writer->out, " %" PRIu32 " -> %" PRIu32, rank + 1, rank);
        else
            ronde_text_put(&writer->out, " %" PRIu32 " -> %" PRIu32, rank, rank + 1);
    ronde_text_put(&writer->out, "\n");
}

/* Where an operand lies: a rank whose user buffer is not used by the collective has the other one in its place. */
static uint8_t buffer_of(const struct writer *writer, uint32_t rank, uint8_t buffer)
{
    const struct ronde_collective_traits *traits = writer->traits;
    const bool is_other = traits->has_root && rank != writer->reading->root;
    const bool is_one_size = traits->in_per_rank == traits->out_per_rank;
    if (!is_other || !writer->is_in_place || !is_one_size)
        return buffer;
    if (buffer == RONDE_IN && traits->in_at_root)
        return RONDE_OUT;
    return buffer == RONDE_OUT && traits->out_at_root ? RONDE_IN : buffer;
}

static bool writes_input(const struct writer *writer)
{
    const struct msccl_algo *algo = writer->algo;
    for (uint32_t g = 0; g < algo->ranks; g++) {
        const struct msccl_gpu *gpu = msccl_gpu_at(algo, g);
        for (uint32_t t = 0; t < gpu->tb_count; t++) {
            const struct msccl_tb *tb = msccl_tb_at(algo, gpu, t);
            for (uint32_t s = 0; s < tb->step_count; s++) {
                const struct msccl_step *step = msccl_step_at(algo, tb, s);
                if (msccl_ops[step->op].writes && buffer_of(writer, g, step->dst) == RONDE_IN)
                    return true;
            }
        }
    }
    return false;
}

static void put_header(struct writer *writer)
{
    const struct msccl_algo *algo = writer->algo;
    const uint32_t root = writer->reading->root;
    struct ronde_text_out *out = &writer->out;
    ronde_text_put(out, "ronde 1\ncollective %s\n", ronde_collective_text(algo->collective));
    ronde_text_put_algorithm(&writer->out, writer->algo->name, "msccl");
    ronde_text_put(out, "ranks %" PRIu32 "\n", algo->ranks);
    if (root > 0)
        ronde_text_put(out, "root %" PRIu32 "\n", root);
    if (algo->is_custom)
        put_pairs(writer);
    ronde_text_put(out, "chunks %" PRIu32 "\npeers absolute\n", msccl_parts(algo));
    if (writes_input(writer))
        ronde_text_put(out, "clobbers\n");
    if (writer->reading->is_unscaled)
        ronde_text_put(out, "unscaled\n");
    if (writer->is_in_place)
        ronde_text_put(out, "placement in_place\n");
    else if (!algo->in_place && writer->traits->has_in_place)
        ronde_text_put(out, "placement out_of_place\n");
    if (root > 0)
        ronde_text_put(out, "channel order %" PRIu32 "-%" PRIu32 " 0-%" PRIu32 "\n", root,
                       algo->ranks - 1, root - 1);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Blocks that belong to ranks are numbered by position. */
static uint32_t chunk_of(const struct writer *writer, uint8_t buffer, uint32_t chunk)
{
    const struct msccl_algo *algo = writer->algo;
    const bool has_blocks = (buffer == RONDE_IN && writer->traits->in_per_rank) ||
                            (buffer == RONDE_OUT && writer->traits->out_per_rank);
    const uint32_t before = writer->reading->root * msccl_parts(algo);
    return has_blocks ? (chunk + algo->chunks - before) % algo->chunks : chunk;
}

static void put_operand(struct writer *writer, uint32_t rank, uint8_t buffer, int32_t offset,
                        uint32_t count)
{
    static const char *const words[RONDE_BUFFER_COUNT] = {"in", "out", "scratch"};
    const uint8_t ours = buffer_of(writer, rank, buffer);
    ronde_text_put(&writer->out, " %s[%" PRIu32 "+%" PRIu32 "]", words[ours],
                   chunk_of(writer, ours, (uint32_t)offset), count);
}

static void put_operands(struct writer *writer, uint32_t rank, const struct msccl_step *step)
{
    const struct msccl_op_row *row = &msccl_ops[step->op];
    if (row->reads)
        put_operand(writer, rank, step->src, step->srcoff, step->cnt);
    if (row->writes)
        put_operand(writer, rank, step->dst, step->dstoff, step->cnt);
}

/* `is_first` of a threadblock: the copies of the rank, if it has any, come before. */
static void put_dependencies(struct writer *writer, const struct msccl_gpu *gpu,
                             const struct msccl_step *step, uint32_t copies, bool is_first)
{
    const bool waits = step && step->waits_step != RONDE_NONE;
    if (!waits && (!is_first || copies == 0))
        return;
    ronde_text_put(&writer->out, " after");
    if (waits)
        ronde_text_put(&writer->out, " %" PRId32 ".%" PRIu32, step->depid, step->waits_step);
    if (is_first && copies > 0)
        ronde_text_put(&writer->out, " %" PRIu32 ".%" PRIu32, gpu->tb_count, copies - 1);
}

static void put_step(struct writer *writer, const struct msccl_gpu *gpu, const struct msccl_tb *tb,
                     uint32_t s, uint32_t copies)
{
    const struct msccl_step *step = msccl_step_at(writer->algo, tb, s);
    const struct msccl_op_row *row = &msccl_ops[step->op];
    ronde_text_put(&writer->out, "    %s", row->ours);
    put_operands(writer, gpu->id, step);
    if (row->receives)
        ronde_text_put(&writer->out, " <- @%" PRIu32 ":%" PRIu32,
                       position_of(writer, (uint32_t)tb->recv), tb->chan);
    if (row->sends)
        ronde_text_put(&writer->out, " -> @%" PRIu32 ":%" PRIu32,
                       position_of(writer, (uint32_t)tb->send), tb->chan);
    put_dependencies(writer, gpu, step, copies, s == 0);
    ronde_text_put(&writer->out, "\n");
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* In place the input is a part of the output: most copies are onto themselves. */
static bool is_idle(const struct writer *writer, uint32_t rank, const struct msccl_copy *copy)
{
    const uint32_t own = writer->traits->out_per_rank && !writer->traits->in_per_rank
                             ? rank * msccl_parts(writer->algo)
                             : 0;
    return writer->is_in_place && copy->to == own + copy->from;
}

/* Copies that have to be made; with `is_printed`, their steps. */
static uint32_t take_copies(struct writer *writer, const struct msccl_gpu *gpu, bool is_printed)
{
    const struct msccl_copy *copies = writer->algo->copies.items;
    uint32_t count = 0;
    for (uint32_t c = 0; c < gpu->copy_count; c++) {
        const struct msccl_copy *copy = &copies[gpu->first_copy + c];
        if (is_idle(writer, gpu->id, copy))
            continue;
        count++;
        if (!is_printed)
            continue;
        ronde_text_put(&writer->out, "    copy");
        put_operand(writer, gpu->id, RONDE_IN, (int32_t)copy->from, 1);
        put_operand(writer, gpu->id, RONDE_OUT, (int32_t)copy->to, 1);
        ronde_text_put(&writer->out, "\n");
    }
    return count;
}

/* A threadblock without steps is a lane with a nop: the lanes keep the numbers of the threadblocks. */
static void put_tb(struct writer *writer, const struct msccl_gpu *gpu, const struct msccl_tb *tb,
                   uint32_t copies)
{
    ronde_text_put(&writer->out, "  lane %" PRIu32 "\n", tb->id);
    for (uint32_t s = 0; s < tb->step_count; s++)
        put_step(writer, gpu, tb, s, copies);
    if (tb->step_count > 0)
        return;
    ronde_text_put(&writer->out, "    nop");
    put_dependencies(writer, gpu, NULL, copies, true);
    ronde_text_put(&writer->out, "\n");
}

static void put_program(struct writer *writer, uint32_t position)
{
    const struct msccl_algo *algo = writer->algo;
    const struct msccl_gpu *gpu =
        msccl_gpu_at(algo, (position + writer->reading->root) % algo->ranks);
    const uint32_t copies = take_copies(writer, gpu, false);
    ronde_text_put(&writer->out, "\nprogram %" PRIu32 " scratch %" PRIu32 " positions %" PRIu32 "\n",
                   position, gpu->chunks[RONDE_SCRATCH], position);
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        put_tb(writer, gpu, msccl_tb_at(algo, gpu, t), copies);
    if (copies > 0)
        ronde_text_put(&writer->out, "  lane %" PRIu32 "\n", gpu->tb_count);
    (void)take_copies(writer, gpu, true);
}

/* Prints what a judged file means as a schedule in ronde's text form. Errors: NO_MEMORY. */
static enum ronde_status msccl_to_text(const struct msccl_algo *algo,
                                       const struct msccl_reading *reading, char **out_text,
                                       size_t *out_bytes, struct ronde_error *error)
{
    struct writer writer = {.out = {.mem = algo->mem},
                            .algo = algo,
                            .reading = reading,
                            .traits = ronde_collective_traits(algo->collective),
                            .is_in_place = msccl_is_in_place_only(algo)};
    put_header(&writer);
    for (uint32_t position = 0; position < algo->ranks; position++)
        put_program(&writer, position);
    return ronde_text_finish(&writer.out, out_text, out_bytes, error);
}

/* --- the root -------------------------------------------------------------------------------- */

static bool does(const struct msccl_algo *algo, const struct msccl_gpu *gpu, bool is_send)
{
    for (uint32_t t = 0; t < gpu->tb_count; t++) {
        const struct msccl_tb *tb = msccl_tb_at(algo, gpu, t);
        if (msccl_next_message(algo, tb, is_send, 0) < tb->step_count)
            return true;
    }
    return false;
}

/* The root only sends, or only receives; every rank that does is a candidate, and if none does every rank is. */
static bool may_be_root(const struct msccl_algo *algo, uint32_t rank)
{
    const bool is_source = ronde_collective_traits(algo->collective)->in_at_root;
    const struct msccl_gpu *gpu = msccl_gpu_at(algo, rank);
    return algo->ranks == 1 || (does(algo, gpu, is_source) && !does(algo, gpu, !is_source));
}

static uint32_t next_root(const struct msccl_algo *algo, uint32_t from, bool is_any)
{
    for (uint32_t rank = from; rank < algo->ranks; rank++)
        if (is_any || may_be_root(algo, rank))
            return rank;
    return RONDE_NONE;
}

/* --- one try --------------------------------------------------------------------------------- */

bool msccl_has_finding(const struct ronde_proof *proof, enum ronde_finding_code code)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++)
        if (proof->findings[i].code == code)
            return true;
    return false;
}

/* Findings name positions, and chunks by position, where the order begins with the root. */
static void name_ranks(const struct msccl_algo *algo, uint32_t root, struct ronde_proof *proof)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS && root > 0; i++) {
        struct ronde_finding *finding = &proof->findings[i];
        char sentence[sizeof finding->text];
        const char *colon = strstr(finding->text, ": ");
        if (finding->rank == RONDE_NONE)
            continue;
        finding->rank = (finding->rank + root) % algo->ranks;
        strncpy(sentence, colon ? colon + 2 : finding->text, sizeof sentence);
        sentence[sizeof sentence - 1] = '\0';
        ronde_finding_say(finding, sentence);
    }
}

static enum ronde_status try_reading(const struct msccl_algo *algo,
                                     const struct msccl_reading *reading,
                                     struct ronde_proof *out_proof,
                                     struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    RONDE_TRY(msccl_to_text(algo, reading, &text, &bytes, error));
    const enum ronde_status status =
        ronde_schedule_read(text, bytes, algo->path, algo->mem, out_proof, out_schedule, error);
    ronde_mem_free(algo->mem, text, bytes + 1, 1);
    if (status == RONDE_REJECTED)
        name_ranks(algo, reading->root, out_proof);
    return status;
}

/* With marks, so that avg and premul_sum can be run, else without. */
static enum ronde_status try_root(const struct msccl_algo *algo, uint32_t root,
                                  struct ronde_proof *out_proof,
                                  struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct msccl_reading reading = {root, false};
    struct ronde_error first = {0};
    enum ronde_status status = try_reading(algo, &reading, out_proof, out_schedule, &first);
    if (status == RONDE_REJECTED && msccl_has_finding(out_proof, RONDE_FINDING_MARKS)) {
        reading.is_unscaled = true;
        return try_reading(algo, &reading, out_proof, out_schedule, error);
    }
    if (status != RONDE_OK && error)
        *error = first;
    return status;
}

/* --- all tries ------------------------------------------------------------------------------- */

/* What an output holds says more than the steps on the way to it; what was never written is found at a step. */
static bool is_about_output(const struct ronde_finding *finding)
{
    return finding->code == RONDE_FINDING_WRONG_VALUE && finding->step == RONDE_NONE;
}

static bool is_on_the_way(const struct ronde_finding *finding)
{
    return finding->step != RONDE_NONE &&
           (finding->code == RONDE_FINDING_EXTENT || finding->code == RONDE_FINDING_TWICE ||
            finding->code == RONDE_FINDING_WRONG_VALUE);
}

static void sort_findings(struct ronde_proof *proof)
{
    const uint32_t kept =
        proof->finding_count < RONDE_MAX_FINDINGS ? proof->finding_count : RONDE_MAX_FINDINGS;
    for (uint32_t i = 1; i < kept; i++)
        for (uint32_t k = i; k > 0 && is_on_the_way(&proof->findings[k - 1]) &&
                             is_about_output(&proof->findings[k]);
             k--) {
            const struct ronde_finding later = proof->findings[k];
            proof->findings[k] = proof->findings[k - 1];
            proof->findings[k - 1] = later;
        }
}

enum ronde_status msccl_prove(const struct msccl_algo *algo, struct ronde_proof *out_proof,
                              struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    const bool has_root = ronde_collective_traits(algo->collective)->has_root;
    const bool is_any = next_root(algo, 0, false) == RONDE_NONE;
    struct ronde_proof proof;
    enum ronde_status status = RONDE_REJECTED;
    bool is_first = true;
    for (uint32_t root = has_root ? next_root(algo, 0, is_any) : 0;
         status == RONDE_REJECTED && root != RONDE_NONE;
         root = has_root ? next_root(algo, root + 1, is_any) : RONDE_NONE) {
        struct ronde_error why = {0};
        status = try_root(algo, root, &proof, out_schedule, &why);
        /* The first candidate's findings are reported: a second one is rarely meant. */
        if (is_first || status != RONDE_REJECTED)
            *out_proof = proof;
        if (status != RONDE_OK && status != RONDE_REJECTED && error)
            *error = why;
        is_first = false;
    }
    if (status == RONDE_REJECTED)
        sort_findings(out_proof);
    return status;
}
