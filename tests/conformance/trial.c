/* Launches drawn at random. See trial.h. */
#include "conformance/trial.h"

#include "support/suite.h"

#include <stdio.h>

/* All images of a launch; a few launches may be larger, so that default slots are filled too. */
#define USUAL_BYTES (256u << 10)
#define LARGE_BYTES (4u << 20)
#define LARGE_ONE_IN 16u

#define TIMEOUT_NS UINT64_C(60000000000)

/* Whether a rank's table of its input or output has a block that is not of the launch's length. */
static bool has_short(const struct buffers *buffers, bool is_input, uint32_t rank)
{
    const struct buffers_shape *shape = &buffers->shape;
    const struct ronde_blocks *tables = buffers->tables[is_input ? 0 : 1];
    const uint32_t blocks = is_input ? ronde_collective_in_blocks(shape->collective, shape->ranks)
                                     : ronde_collective_out_blocks(shape->collective, shape->ranks);
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const bool is_at_root = is_input ? traits->in_at_root : traits->out_at_root;
    bool has = false;
    if (is_at_root && rank != shape->root)
        return false;
    for (uint32_t block = 0; tables && tables[rank].counts && block < blocks; block++)
        has = has || tables[rank].counts[block] != shape->count;
    return has;
}

/* Whether tables that the runner looks at hold blocks of different lengths, and not only might. */
static bool has_short_block(const struct trial_runner *runner, const struct buffers_shape *shape)
{
    struct buffers buffers;
    bool has = false;
    CU_ASSERT_FATAL(buffers_create(shape, &buffers));
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        if (runner->rank_count == 0 || rank - runner->first_rank < runner->rank_count)
            has = has || has_short(&buffers, true, rank) || has_short(&buffers, false, rank);
    buffers_destroy(&buffers);
    return has;
}

/* Replaces what a sample asks for and the collective or the schedule does not have. */
static void settle_shape(struct trial_runner *runner, struct trial *trial)
{
    struct buffers_shape *shape = &trial->shape;
    const struct ronde_collective_traits *traits = ronde_collective_traits(shape->collective);
    const struct buffers_shape drawn = *shape;
    const bool has_data = ronde_collective_in_blocks(shape->collective, shape->ranks) > 0;
    shape->in_place = shape->in_place && traits->has_in_place;
    if (!traits->reduces)
        shape->op = RONDE_SUM;
    if (!has_data)
        shape->blocks = BUFFERS_ADJACENT;
    if (!reference_is_defined(shape->dtype, shape->op)) {
        runner->expect_refusal(runner, trial, ronde_dtype_text(shape->dtype));
        runner->is_refused[shape->dtype][shape->op] = true;
        shape->op = RONDE_SUM;
    }
    if (buffers_vary(shape) && trial->schedule->v_form == RONDE_V_NONE) {
        if (shape->count > 0 && shape->count < 100 && has_short_block(runner, shape)) {
            runner->expect_refusal(runner, trial, "blocks differ in length");
            runner->refused++;
        }
        shape->blocks = BUFFERS_SEPARATE;
    }
    trial->is_as_drawn = traits->reduces && shape->blocks == drawn.blocks && shape->op == drawn.op;
}

void trial_draw(struct trial_runner *runner, const struct ronde_schedule *schedule,
                struct trial *out_trial)
{
    *out_trial = (struct trial){.schedule = schedule, .sample = sample_draw(&runner->random)};
    const struct sample *sample = &out_trial->sample;
    const uint64_t slot_bytes = sample->at[SAMPLE_SLOT] == 0 ? 64 : runner->slot_bytes;
    out_trial->shape = (struct buffers_shape){
        .collective = schedule->collective,
        .ranks = schedule->ranks,
        .root = schedule->root,
        .count = sample_count(sample, schedule, slot_bytes),
        .dtype = (enum ronde_dtype)sample->at[SAMPLE_DTYPE],
        .op = (enum ronde_op)sample->at[SAMPLE_OP],
        .in_place = sample->at[SAMPLE_PLACE] == 1,
        .blocks = (enum buffers_blocks)sample->at[SAMPLE_BLOCKS],
        .data = (enum buffers_data)sample->at[SAMPLE_DATA],
        .seed = buffers_draw(&runner->random),
    };
    settle_shape(runner, out_trial);
    const bool may_be_large = buffers_draw(&runner->random) % LARGE_ONE_IN == 0;
    out_trial->is_too_large =
        buffers_bytes(&out_trial->shape) > (may_be_large ? LARGE_BYTES : USUAL_BYTES);
}

struct ronde_launch trial_launch(const struct trial *trial, struct buffers *buffers, bool is_plain)
{
    static const enum ronde_protocol protocols[] = {RONDE_PROTOCOL_STAGED, RONDE_PROTOCOL_PULL,
                                                    RONDE_PROTOCOL_PUSH};
    const struct sample *sample = &trial->sample;
    const bool is_least = sample->at[SAMPLE_DEPTH] == 0;
    const enum ronde_level level = (enum ronde_level)(RONDE_LEVEL_PLAIN + sample->at[SAMPLE_LEVEL]);
    buffers_fill(buffers);
    struct ronde_launch launch = buffers_launch(buffers);
    launch.slot_bytes = sample->at[SAMPLE_SLOT] == 0 ? 64 : 0;
    launch.depth = is_least ? trial->schedule->proof.min_depth : 0;
    launch.protocol = protocols[is_plain ? 0 : sample->at[SAMPLE_PROTOCOL]];
    launch.stream_from_bytes = is_plain || sample->at[SAMPLE_STREAM] == 0 ? UINT64_MAX : 1;
    launch.level = is_plain || !ronde_level_is_here(level) ? RONDE_LEVEL_PLAIN : level;
    launch.timeout_ns = TIMEOUT_NS;
    return launch;
}

void trial_describe(const struct trial *trial, const char *executor, const char *wrong, char *text,
                    size_t bytes)
{
    const struct buffers_shape *shape = &trial->shape;
    snprintf(text, bytes,
             "%s: %s %s ranks %u channels %u%s root %u count %llu %s %s%s blocks %u depth %u "
             "slot %u protocol %u stream %u level %u: %s",
             executor, ronde_collective_text(shape->collective), trial->schedule->algorithm,
             shape->ranks, trial->schedule->channel_count,
             trial->schedule->channels[0].order ? " ordered" : "", shape->root,
             (unsigned long long)shape->count, ronde_dtype_text(shape->dtype),
             ronde_op_text(shape->op), shape->in_place ? " in place" : "", (unsigned)shape->blocks,
             trial->sample.at[SAMPLE_DEPTH], trial->sample.at[SAMPLE_SLOT],
             trial->sample.at[SAMPLE_PROTOCOL], trial->sample.at[SAMPLE_STREAM],
             trial->sample.at[SAMPLE_LEVEL], wrong);
}
