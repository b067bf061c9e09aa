/** Pieces of pipelined schedules. See pieces.h. */
#include "ronde/pieces.h"

#include "ronde/synthesize.h"

#include <string.h>

/** NCCL's step of Simple, and the least chunk it shrinks to. */
#define STEP_BYTES (UINT64_C(512) << 10)
#define LEAST_BYTES (UINT64_C(32) << 10)

/* The least where nodes go round a ring first: each piece then waits for all of that, and not for a message alone. */
#define LEAST_WAITING_BYTES (UINT64_C(128) << 10)

/** Pieces for each level of a tree. */
#define PIECES_PER_LEVEL 4u
/* Pieces of a chunk of packed trees: some 6 levels fill in an eighth of the time, and replays that share links stay short. */
#define PIECES_OF_FOREST 48u
/* The same for each message in a row, where there are few messages: a deep pipeline is then filled in a sixteenth of the time. */
#define PIECES_PER_MESSAGE 16u
#define MOST_FOREST_MESSAGES 250000u

/* Trees that were packed for a machine cut every block into chunks of their own. */
static bool is_forest(const struct ronde_schedule *schedule)
{
    return strcmp(schedule->algorithm, RONDE_SYNTHESIZED) == 0;
}

/* Whether a step is the only one of its program that sends on its connection. */
static bool sends_alone(const struct ronde_program *program, uint32_t step)
{
    for (uint32_t s = 0; s < program->step_count; s++)
        if (s != step && ronde_step_sends((enum ronde_step_op)program->steps[s].op) &&
            program->steps[s].send == program->steps[step].send)
            return false;
    return true;
}

/*
 * Whether a lane waits for something after it has sent: its next piece then waits for the answers to this one, as where pairs
 * exchange what they have.
 */
static bool waits_for_answers(const struct ronde_program *program, uint32_t lane)
{
    bool has_sent = false;
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
        const enum ronde_step_op op = (enum ronde_step_op)program->steps[s].op;
        if (has_sent && ronde_step_receives(op))
            return true;
        has_sent = has_sent || ronde_step_sends(op);
    }
    return false;
}

/* Whether a lane sends what it just received on a connection that carries nothing else, as those of trees do. */
static bool passes_on(const struct ronde_program *program, uint32_t lane)
{
    for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
        const enum ronde_step_op op = (enum ronde_step_op)program->steps[s].op;
        if (ronde_step_sends(op) && ronde_step_receives(op) && sends_alone(program, s))
            return !waits_for_answers(program, lane);
    }
    return false;
}

/* Ranks that halve or double what they send have nothing to overlap. */
static bool has_long_messages(const struct ronde_program *program)
{
    for (uint32_t s = 0; s < program->step_count; s++)
        if (ronde_step_sends((enum ronde_step_op)program->steps[s].op) &&
            program->steps[s].chunk_count > 1)
            return true;
    return false;
}

bool ronde_schedule_is_pipelined(const struct ronde_schedule *schedule)
{
    bool is_pipelined = false;
    if (is_forest(schedule))
        return true;
    for (uint32_t p = 0; p < schedule->program_count; p++) {
        const struct ronde_program *program = &schedule->programs[p];
        if (has_long_messages(program))
            return false;
        for (uint32_t lane = 0; lane < program->lane_count && !is_pipelined; lane++)
            is_pipelined = passes_on(program, lane);
    }
    return is_pipelined;
}

/* The shortest piece that a schedule is cut into. */
static uint64_t least_bytes(const struct ronde_schedule *schedule)
{
    for (uint32_t p = 0; p < schedule->program_count && !is_forest(schedule); p++)
        for (uint32_t lane = 0; lane < schedule->programs[p].lane_count; lane++)
            if (waits_for_answers(&schedule->programs[p], lane))
                return LEAST_WAITING_BYTES;
    return LEAST_BYTES;
}

static uint64_t levels_of(uint32_t ranks)
{
    uint64_t levels = 0;
    while ((UINT64_C(1) << levels) < ranks)
        levels++;
    return levels;
}

/* Whether so many pieces of a chunk of packed trees are better halved. */
static bool is_worth_halving(const struct ronde_schedule *schedule, uint64_t pieces)
{
    return pieces < PIECES_OF_FOREST ||
           (pieces < (uint64_t)PIECES_PER_MESSAGE * schedule->proof.critical_path &&
            2 * pieces * schedule->proof.messages <= MOST_FOREST_MESSAGES);
}

uint64_t ronde_pipeline_slot(const struct ronde_schedule *schedule, uint64_t block_bytes)
{
    uint64_t widest = 0, slot_bytes = STEP_BYTES;
    if (!ronde_schedule_is_pipelined(schedule))
        return 0;
    for (uint32_t c = 0; c < schedule->channel_count; c++)
        if (schedule->channels[c].weight > widest)
            widest = schedule->channels[c].weight;
    const double share = (double)widest / (double)schedule->weight_total;
    const uint64_t chunk_bytes =
        (uint64_t)((double)block_bytes * share / schedule->chunks_per_block);
    const uint64_t wanted = PIECES_PER_LEVEL * levels_of(schedule->ranks);
    const uint64_t least = least_bytes(schedule);
    while (slot_bytes > least &&
           (is_forest(schedule) ? is_worth_halving(schedule, chunk_bytes / slot_bytes)
                                : chunk_bytes / slot_bytes < wanted))
        slot_bytes /= 2;
    while (chunk_bytes / slot_bytes > RONDE_MOST_DEFAULT_PIECES &&
           !(is_forest(schedule) && is_worth_halving(schedule, chunk_bytes / slot_bytes / 2)))
        slot_bytes *= 2;
    return slot_bytes < chunk_bytes ? slot_bytes : 0;
}

void ronde_load_cut(struct ronde_load *load, const struct ronde_schedule *schedule)
{
    if (load->slot_bytes == 0)
        load->slot_bytes =
            ronde_pipeline_slot(schedule, load->count * ronde_dtype_bytes(load->dtype));
}
