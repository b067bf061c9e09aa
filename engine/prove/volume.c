/** What the busiest rank of a schedule sends and receives. See ir.h. */
#include "ronde/cursor.h"
#include "ronde/ir.h"

#include <math.h>

/** Chunks of all steps of a program. */
static struct ronde_volume chunks_of(const struct ronde_program *program)
{
    uint64_t sent = 0, received = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_step *step = &program->steps[i];
        sent += step->send != RONDE_NONE ? step->chunk_count : 0;
        received += step->receive != RONDE_NONE ? step->chunk_count : 0;
    }
    return (struct ronde_volume){(double)sent, (double)received};
}

/**
 * Blocks of a rank over all channels. Channels give a rank different positions (an inner node of one tree is a leaf of the
 * other), so the sum of their maxima would be too much.
 */
static struct ronde_volume volume_of(const struct ronde_schedule *schedule, uint32_t rank)
{
    struct ronde_volume volume = {0.0, 0.0};
    const double whole = (double)schedule->weight_total * schedule->chunks_per_block;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        const struct ronde_view view = ronde_view_open(schedule, k, rank);
        const struct ronde_volume chunks = chunks_of(view.program);
        volume.sent += chunks.sent * schedule->channels[k].weight;
        volume.received += chunks.received * schedule->channels[k].weight;
    }
    return (struct ronde_volume){volume.sent / whole, volume.received / whole};
}

struct ronde_volume ronde_schedule_volume(const struct ronde_schedule *schedule)
{
    struct ronde_volume most = {0.0, 0.0};
    /* Under symmetry every rank sends the same. */
    const uint32_t ranks = schedule->symmetry == RONDE_SYMMETRY_NONE ? schedule->ranks : 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct ronde_volume volume = volume_of(schedule, rank);
        most.sent = fmax(most.sent, volume.sent);
        most.received = fmax(most.received, volume.received);
    }
    return most;
}
