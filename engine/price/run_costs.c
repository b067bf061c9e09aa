/** What a run costs beyond its steps: memory that a library allocates in every call, lanes that take one message at a time. See ronde/dag.h. */
#include "ronde/dag.h"

#include <math.h>

/** What a program needs beside the user's memory, in chunks of a block. */
struct needs {
    uint64_t received; /**< the longest message that is added to something */
    uint64_t held; /**< partial results that are not the rank's own, or blocks that it passes on */
    uint64_t turned; /**< a buffer that turns with the rank, made anew in the other order */
};

static uint64_t more_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t less_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct needs needs_of(const struct ronde_time_params *params,
                             const struct ronde_schedule *schedule,
                             const struct ronde_program *program)
{
    const uint64_t input = ronde_schedule_chunks(schedule, program, RONDE_IN);
    struct needs needs = {0};
    uint64_t written[RONDE_BUFFER_COUNT] = {0};
    bool sums_elsewhere = false;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_step *step = &program->steps[i];
        const enum ronde_step_op op = (enum ronde_step_op)step->op;
        if (ronde_step_reduces(op) && ronde_step_receives(op))
            needs.received = more_of(needs.received, step->chunk_count);
        if (ronde_step_reduces(op) && step->destination != RONDE_OUT)
            sums_elsewhere = true;
        if (ronde_step_writes(op))
            written[step->destination] += step->chunk_count;
        for (unsigned end = 0; end < 2; end++) {
            const uint8_t buffer = end == 0 ? step->source : step->destination;
            if (ronde_step_wraps(schedule, step, buffer))
                needs.turned =
                    more_of(needs.turned,
                            ronde_schedule_chunks(schedule, program, (enum ronde_buffer)buffer));
        }
    }
    if (sums_elsewhere && written[RONDE_OUT] < input && !params->sums_in_place)
        needs.held = input;
    else
        needs.held = less_of(written[RONDE_SCRATCH], program->scratch_chunks);
    return needs;
}

static double chunk_bytes_of(const struct ronde_schedule *schedule, const struct ronde_load *load)
{
    const double block_bytes = (double)load->count * ronde_dtype_bytes(load->dtype);
    return block_bytes / schedule->chunks_per_block;
}

static double cost_ns(const struct ronde_sized_ns *fresh, double chunk_bytes, uint64_t chunks)
{
    return chunks > 0 ? ronde_sized_ns_at(fresh, chunk_bytes * (double)chunks) : 0;
}

double ronde_time_launch_ns(const struct ronde_time_params *params,
                            const struct ronde_schedule *schedule, const struct ronde_load *load)
{
    const double chunk_bytes = chunk_bytes_of(schedule, load);
    double most_ns = 0;
    const uint32_t programs = params->fresh.count > 0 && !params->puts ? schedule->program_count : 0;
    for (uint32_t p = 0; p < programs; p++) {
        const struct needs needs = needs_of(params, schedule, &schedule->programs[p]);
        most_ns = fmax(most_ns, cost_ns(&params->fresh, chunk_bytes, needs.received) +
                                    cost_ns(&params->fresh, chunk_bytes, needs.held) +
                                    cost_ns(&params->fresh, chunk_bytes, needs.turned));
    }
    return params->launch_ns + most_ns;
}

/** What a lane receives, one message after another. */
static double received_ns(const struct ronde_time_params *params,
                          const struct ronde_program *program, uint32_t lane, double chunk_bytes)
{
    double sum_ns = 0;
    for (uint32_t i = program->lane_first[lane]; i < program->lane_first[lane + 1]; i++) {
        const struct ronde_step *step = &program->steps[i];
        const double bytes = chunk_bytes * step->chunk_count;
        if (ronde_step_receives((enum ronde_step_op)step->op))
            sum_ns += bytes / params->lane_GBps + ronde_sized_ns_at(&params->receive, bytes);
    }
    return sum_ns;
}

/** A channel has its share of every chunk. */
static double most_of_a_channel(const struct ronde_schedule *schedule)
{
    uint32_t most = 1;
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        if (schedule->channels[k].weight > most)
            most = schedule->channels[k].weight;
    return schedule->weight_total > 0 ? (double)most / (double)schedule->weight_total : 1;
}

double ronde_time_least_ns(const struct ronde_time_params *params,
                           const struct ronde_schedule *schedule, const struct ronde_load *load)
{
    double most_ns = 0;
    if (params->receive.count == 0 || params->lane_GBps <= 0 || params->multicasts)
        return 0;
    const double chunk_bytes = chunk_bytes_of(schedule, load) * most_of_a_channel(schedule);
    for (uint32_t p = 0; p < schedule->program_count; p++)
        for (uint32_t lane = 0; lane < schedule->programs[p].lane_count; lane++)
            most_ns = fmax(most_ns, received_ns(params, &schedule->programs[p], lane, chunk_bytes));
    return most_ns;
}
