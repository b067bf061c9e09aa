/* Schedules to MSCCL files in memory, and what neither the format nor its runtimes can do. See algo.h. */
#include "algo.h"

#include <stdlib.h>
#include <string.h>

/* A schedule on its way to a file. */
struct exporter {
    const struct ronde_schedule *schedule;
    struct msccl_algo *algo;
    struct ronde_list chans; /* struct msccl_chan, sorted */
    uint32_t *chunks;        /* room for the chunks of an operand */
    bool is_single;          /* a message for every chunk: some operand is not contiguous */
    uint64_t units;          /* chunks of the file in a block */
    struct ronde_error *error;
};

static enum ronde_status refuse(const struct exporter *exporter, const char *why)
{
    return ronde_fail(exporter->error, RONDE_UNSUPPORTED, "%s %s cannot be an MSCCL file: %s",
                      ronde_collective_text(exporter->schedule->collective),
                      exporter->schedule->algorithm, why);
}

static enum ronde_status fail_memory(const struct exporter *exporter)
{
    return ronde_fail(exporter->error, RONDE_NO_MEMORY, "no memory for an MSCCL file");
}

/* --- channels -------------------------------------------------------------------------------- */

/* Sorts what there is and leaves one of each. */
static void sort_chans(struct ronde_list *list)
{
    struct msccl_chan *chans = list->items;
    uint32_t kept = 0;
    if (list->count == 0)
        return;
    qsort(chans, list->count, sizeof *chans, msccl_compare_chans);
    for (uint32_t i = 1; i < list->count; i++)
        if (msccl_compare_chans(&chans[kept], &chans[i]) != 0)
            chans[++kept] = chans[i];
    list->count = kept + 1;
}

/* Every tag of every channel is a channel of the file. */
static enum ronde_status list_chans(struct exporter *exporter)
{
    const struct ronde_schedule *schedule = exporter->schedule;
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        for (uint32_t p = 0; p < schedule->program_count; p++)
            for (uint32_t c = 0; c < schedule->programs[p].connection_count; c++) {
                const struct msccl_chan chan = {k, schedule->programs[p].connections[c].tag};
                if (!ronde_list_append(exporter->algo->mem, &exporter->chans, &chan, sizeof chan))
                    return fail_memory(exporter);
                if (exporter->chans.count % 4096 == 0)
                    sort_chans(&exporter->chans);
            }
    sort_chans(&exporter->chans);
    return RONDE_OK;
}

/* --- operands -------------------------------------------------------------------------------- */

static uint32_t weight_before(const struct ronde_schedule *schedule, uint32_t channel)
{
    uint32_t weight = 0;
    for (uint32_t k = 0; k < channel; k++)
        weight += schedule->channels[k].weight;
    return weight;
}

/* Chunks of the file in one of a channel's; one channel alone is cut as it is. */
static uint32_t unit_of(const struct ronde_schedule *schedule, uint32_t channel)
{
    return schedule->channel_count > 1 ? schedule->channels[channel].weight : 1;
}

/* The file's chunk of a chunk: a channel has its slice of every block. Scratch of the channels lies one behind another. */
static uint64_t file_chunk(const struct exporter *exporter, uint32_t channel, uint32_t buffer,
                           uint64_t scratch, uint32_t chunk)
{
    const struct ronde_schedule *schedule = exporter->schedule;
    const uint32_t parts = schedule->chunks_per_block;
    const uint32_t unit = unit_of(schedule, channel);
    if (buffer == RONDE_SCRATCH)
        return scratch + (uint64_t)chunk * unit;
    const uint64_t before =
        schedule->channel_count > 1 ? (uint64_t)weight_before(schedule, channel) * parts : 0;
    return chunk / parts * exporter->units + before + (uint64_t)(chunk % parts) * unit;
}

/* Whether the chunks of an operand, in the file, lie one behind another. */
static bool is_contiguous(const struct exporter *exporter, const struct ronde_view *view,
                          uint32_t channel, const struct ronde_step *step, bool is_source)
{
    const uint32_t buffer = is_source ? step->source : step->destination;
    const uint32_t unit = unit_of(exporter->schedule, channel);
    ronde_view_chunks(view, step, is_source,
                      ronde_schedule_chunks(exporter->schedule, view->program,
                                            (enum ronde_buffer)buffer),
                      exporter->chunks);
    for (uint32_t i = 1; i < step->chunk_count; i++)
        if (file_chunk(exporter, channel, buffer, 0, exporter->chunks[i]) !=
            file_chunk(exporter, channel, buffer, 0, exporter->chunks[i - 1]) + unit)
            return false;
    return true;
}

static enum ronde_status survey_step(struct exporter *exporter, const struct ronde_view *view,
                                     uint32_t channel, const struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    if (op != RONDE_STEP_NOP && step->chunk_count == 0)
        return refuse(exporter, "the format cannot express messages without data");
    if ((ronde_step_reads_source(op) && !is_contiguous(exporter, view, channel, step, true)) ||
        (ronde_step_writes(op) && !is_contiguous(exporter, view, channel, step, false)))
        exporter->is_single = true;
    return RONDE_OK;
}

/* Looks at every step of every rank before the first is written. */
static enum ronde_status survey(struct exporter *exporter)
{
    const struct ronde_schedule *schedule = exporter->schedule;
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
            const struct ronde_view view = ronde_view_open(schedule, k, rank);
            for (uint32_t s = 0; s < view.program->step_count && status == RONDE_OK; s++)
                status = survey_step(exporter, &view, k, &view.program->steps[s]);
        }
    return status;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* An operand of an atom: its chunks are where the step's are, or in the stage. */
static void set_operand(const struct exporter *exporter, const struct msccl_blocks *blocks,
                        const struct msccl_atom *atom, uint64_t scratch, bool is_source,
                        uint8_t *out_buffer, int32_t *out_offset)
{
    const struct ronde_step *step = &blocks->view.program->steps[atom->step];
    const bool is_kept = is_source && atom->source_is_staged;
    if (is_source ? atom->source_is_scratch : atom->target_is_scratch) {
        *out_buffer = RONDE_SCRATCH;
        *out_offset = (int32_t)atom->stage;
        return;
    }
    const bool is_step_source = is_source && !is_kept;
    *out_buffer = is_step_source ? step->source : step->destination;
    ronde_view_chunks(&blocks->view, step, is_step_source,
                      ronde_schedule_chunks(exporter->schedule, blocks->view.program,
                                            (enum ronde_buffer) * out_buffer),
                      exporter->chunks);
    *out_offset = (int32_t)file_chunk(exporter, blocks->channel, *out_buffer, scratch,
                                      exporter->chunks[atom->item]);
}

/* The nops before an atom, each with one need; the last is the atom's own. */
static void set_needs(struct msccl_blocks *blocks, const struct msccl_atom *atom,
                      struct msccl_step *steps)
{
    const uint32_t *needs = blocks->needs.items;
    const struct msccl_tb *tbs = blocks->algo->tbs.items;
    for (uint32_t n = 0; n < atom->need_count; n++) {
        const struct msccl_atom *on =
            (const struct msccl_atom *)blocks->atoms.items + needs[atom->first_need + n];
        struct msccl_step *step = &steps[atom->index - (atom->need_count - 1) + n];
        step->depid = (int32_t)tbs[on->tb].id;
        step->deps = (int32_t)on->index;
    }
}

static void set_step(const struct exporter *exporter, struct msccl_blocks *blocks,
                     const struct msccl_atom *atom, uint64_t scratch, struct msccl_step *steps)
{
    const struct msccl_op_row *row = &msccl_ops[atom->op];
    struct msccl_step *step = &steps[atom->index];
    step->op = atom->op;
    step->cnt = atom->items * blocks->unit;
    step->hasdep = atom->is_awaited;
    if (row->reads)
        set_operand(exporter, blocks, atom, scratch, true, &step->src, &step->srcoff);
    if (row->writes)
        set_operand(exporter, blocks, atom, scratch, false, &step->dst, &step->dstoff);
    set_needs(blocks, atom, steps);
}

/* Steps of a channel's threadblocks, all nops without a need until atoms fill them in. */
static bool add_steps(struct msccl_blocks *blocks)
{
    struct msccl_algo *algo = blocks->algo;
    for (uint32_t t = blocks->first_tb; t < algo->tbs.count; t++) {
        struct msccl_tb *tb = (struct msccl_tb *)algo->tbs.items + t;
        tb->first_step = algo->steps.count;
        for (uint32_t s = 0; s < tb->step_count; s++) {
            const struct msccl_step step = {.op = MSCCL_NOP,
                                            .src = RONDE_BUFFER_COUNT,
                                            .dst = RONDE_BUFFER_COUNT,
                                            .depid = -1,
                                            .deps = -1,
                                            .waits_step = RONDE_NONE};
            if (!ronde_list_append(algo->mem, &algo->steps, &step, sizeof step))
                return false;
        }
    }
    return true;
}

static enum ronde_status export_channel(struct exporter *exporter, struct msccl_gpu *gpu,
                                        uint32_t channel)
{
    struct msccl_blocks blocks = {.algo = exporter->algo,
                                  .gpu = gpu,
                                  .view = ronde_view_open(exporter->schedule, channel, gpu->id),
                                  .unit = unit_of(exporter->schedule, channel),
                                  .is_single = exporter->is_single,
                                  .chans = &exporter->chans,
                                  .channel = channel};
    const uint64_t scratch = gpu->chunks[RONDE_SCRATCH];
    gpu->chunks[RONDE_SCRATCH] += blocks.view.program->scratch_chunks * blocks.unit;
    const bool is_made = msccl_blocks_make(&blocks) && add_steps(&blocks);
    for (uint32_t a = 0; is_made && a < blocks.atoms.count; a++) {
        const struct msccl_atom *atom = (const struct msccl_atom *)blocks.atoms.items + a;
        const struct msccl_tb *tb = (const struct msccl_tb *)exporter->algo->tbs.items + atom->tb;
        set_step(exporter, &blocks, atom, scratch,
                 (struct msccl_step *)exporter->algo->steps.items + tb->first_step);
    }
    msccl_blocks_free(&blocks);
    return is_made ? RONDE_OK : fail_memory(exporter);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Buffers that a rank does not have are 0 chunks long. */
static void set_sizes(const struct exporter *exporter, struct msccl_gpu *gpu)
{
    const struct ronde_schedule *schedule = exporter->schedule;
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const bool is_other = traits->has_root && gpu->id != schedule->root;
    const uint32_t in = ronde_collective_in_blocks(schedule->collective, schedule->ranks);
    const uint32_t out = ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    if (!is_other || !traits->in_at_root)
        gpu->chunks[RONDE_IN] = (uint32_t)(in * exporter->units);
    if (!is_other || !traits->out_at_root)
        gpu->chunks[RONDE_OUT] = (uint32_t)(out * exporter->units);
}

static enum ronde_status export_rank(struct exporter *exporter, uint32_t rank)
{
    struct msccl_algo *algo = exporter->algo;
    struct msccl_gpu gpu = {.id = rank, .first_tb = algo->tbs.count};
    set_sizes(exporter, &gpu);
    for (uint32_t k = 0; k < exporter->schedule->channel_count; k++)
        RONDE_TRY(export_channel(exporter, &gpu, k));
    return ronde_list_append(algo->mem, &algo->gpus, &gpu, sizeof gpu) ? RONDE_OK
                                                                       : fail_memory(exporter);
}

/* Largest number of chunks of a buffer; 2^24 is what a reader takes. */
#define MOST_CHUNKS ((uint64_t)1 << 24)

static enum ronde_status set_header(struct exporter *exporter)
{
    const struct ronde_schedule *schedule = exporter->schedule;
    struct msccl_algo *algo = exporter->algo;
    const uint32_t in = ronde_collective_in_blocks(schedule->collective, schedule->ranks);
    const uint32_t out = ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    const uint32_t weight =
        schedule->channel_count > 1 ? weight_before(schedule, schedule->channel_count) : 1;
    exporter->units = (uint64_t)schedule->chunks_per_block * weight;
    if (schedule->collective == RONDE_BARRIER || schedule->collective == RONDE_SEND_RECV)
        return refuse(exporter, "the format has no such collective");
    if ((in > out ? in : out) * exporter->units > MOST_CHUNKS)
        return refuse(exporter, "its buffers have more than 2^24 chunks");
    algo->chunks = (uint32_t)((in > out ? in : out) * exporter->units);
    algo->ranks = schedule->ranks;
    algo->collective = schedule->collective;
    algo->in_place = ronde_schedule_has_form(schedule, true);
    algo->out_of_place = ronde_schedule_has_form(schedule, false);
    memcpy(algo->name, schedule->algorithm, sizeof schedule->algorithm);
    return RONDE_OK;
}

enum ronde_status msccl_export(const struct ronde_schedule *schedule, struct msccl_algo *algo,
                               struct ronde_error *error)
{
    struct exporter exporter = {.schedule = schedule, .algo = algo, .error = error};
    exporter.chunks = ronde_mem_new(algo->mem, schedule->max_chunk_count, sizeof *exporter.chunks);
    enum ronde_status status = exporter.chunks ? set_header(&exporter) : fail_memory(&exporter);
    RONDE_THEN(status, list_chans(&exporter));
    RONDE_THEN(status, survey(&exporter));
    for (uint32_t rank = 0; rank < schedule->ranks && status == RONDE_OK; rank++)
        status = export_rank(&exporter, rank);
    ronde_list_free(algo->mem, &exporter.chans, sizeof(struct msccl_chan));
    ronde_mem_free(algo->mem, exporter.chunks, schedule->max_chunk_count, sizeof *exporter.chunks);
    return status;
}
