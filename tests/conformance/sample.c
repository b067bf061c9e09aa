#include "conformance/sample.h"

#include <string.h>

/* Draws of which the one with the most new pairs is taken: random alone leaves the last few pairs to luck. */
#define CANDIDATES 8u

/* Which pairs have been met; indices are axis, value, axis, value. */
static bool met[SAMPLE_AXIS_COUNT][SAMPLE_COUNT_VALUES][SAMPLE_AXIS_COUNT][SAMPLE_COUNT_VALUES];

uint32_t sample_values(enum sample_axis axis)
{
    static const uint32_t values[SAMPLE_AXIS_COUNT] = {
        [SAMPLE_DTYPE] = RONDE_DTYPE_COUNT,
        [SAMPLE_OP] = RONDE_OP_COUNT,
        [SAMPLE_PLACE] = 2,
        [SAMPLE_COUNT] = SAMPLE_COUNT_VALUES,
        [SAMPLE_DEPTH] = 2,
        [SAMPLE_SLOT] = 2,
        [SAMPLE_PROTOCOL] = 3,
        [SAMPLE_STREAM] = 2,
        [SAMPLE_LEVEL] = RONDE_LEVEL_COUNT - RONDE_LEVEL_PLAIN,
        [SAMPLE_DATA] = 2,
        [SAMPLE_BLOCKS] = BUFFERS_BLOCKS_COUNT,
    };
    return values[axis];
}

/* Whether two values go together: not every type has every operator. */
static bool is_possible(int a, uint32_t i, int b, uint32_t j)
{
    return a != SAMPLE_DTYPE || b != SAMPLE_OP ||
           reference_is_defined((enum ronde_dtype)i, (enum ronde_op)j);
}

/* Pairs of a sample that no sample which ran has met. */
static uint32_t count_new(const struct sample *sample)
{
    uint32_t count = 0;
    for (int a = 0; a < SAMPLE_AXIS_COUNT; a++)
        for (int b = a + 1; b < SAMPLE_AXIS_COUNT; b++)
            count += !met[a][sample->at[a]][b][sample->at[b]] &&
                     is_possible(a, sample->at[a], b, sample->at[b]);
    return count;
}

struct sample sample_draw(uint64_t *random)
{
    struct sample best = {{0}};
    uint32_t most = 0;
    for (uint32_t k = 0; k < CANDIDATES; k++) {
        struct sample sample;
        for (int axis = 0; axis < SAMPLE_AXIS_COUNT; axis++)
            sample.at[axis] =
                (uint32_t)(buffers_draw(random) % sample_values((enum sample_axis)axis));
        const uint32_t new_pairs = count_new(&sample);
        if (k == 0 || new_pairs > most) {
            best = sample;
            most = new_pairs;
        }
    }
    return best;
}

uint64_t sample_count(const struct sample *sample, const struct ronde_schedule *schedule,
                      uint64_t slot_bytes)
{
    const uint32_t value = sample->at[SAMPLE_COUNT];
    if (value < 18)
        return value;
    const uint64_t chunks = (uint64_t)schedule->channel_count * schedule->chunks_per_block;
    const uint64_t slots = chunks * (slot_bytes / RONDE_GRAIN_BYTES);
    const uint64_t grains[9] = {1,          chunks - 1, chunks, chunks + 1, 2 * chunks + 1,
                                3 * chunks, slots - 1,  slots,  slots + 1};
    const uint32_t element_bytes = ronde_dtype_bytes((enum ronde_dtype)sample->at[SAMPLE_DTYPE]);
    const uint64_t elements = grains[(value - 18) / 3] * (RONDE_GRAIN_BYTES / element_bytes);
    const uint64_t shifted = elements + (value - 18) % 3;
    return shifted > 0 ? shifted - 1 : 0;
}

void sample_met(const struct sample *sample)
{
    for (int a = 0; a < SAMPLE_AXIS_COUNT; a++)
        for (int b = a + 1; b < SAMPLE_AXIS_COUNT; b++)
            met[a][sample->at[a]][b][sample->at[b]] = true;
}

uint32_t sample_pairs(uint32_t *out_missing)
{
    uint32_t pairs = 0;
    *out_missing = 0;
    for (int a = 0; a < SAMPLE_AXIS_COUNT; a++)
        for (int b = a + 1; b < SAMPLE_AXIS_COUNT; b++)
            for (uint32_t i = 0; i < sample_values((enum sample_axis)a); i++)
                for (uint32_t j = 0; j < sample_values((enum sample_axis)b); j++) {
                    pairs += is_possible(a, i, b, j);
                    *out_missing += is_possible(a, i, b, j) && !met[a][i][b][j];
                }
    return pairs;
}
