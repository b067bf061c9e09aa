/* The split rule: every element of a block belongs to one chunk of one channel, whatever the count and the weights. */
#include "support/suite.h"

#include "ronde/split.h"

#define COUNTS 200u
#define CHANNELS_MAX 4u

/* Weights that divide nothing evenly, are far apart, or let a slice shrink as the block grows. */
static struct ronde_channel weightings[][CHANNELS_MAX] = {
    {{.weight = 1}},
    {{.weight = 1}, {.weight = 1}},
    {{.weight = 3}, {.weight = 2}, {.weight = 3}},
    {{.weight = 1}, {.weight = 1000000007}, {.weight = 1}},
    {{.weight = UINT32_MAX}, {.weight = UINT32_MAX}, {.weight = 1}, {.weight = UINT32_MAX}},
};

static const uint32_t chunk_values[] = {1, 2, 3, 7, 16, 64};
static const uint32_t byte_values[] = {1, 2, 4, 8};

static struct ronde_schedule schedule_of(struct ronde_channel *channels, uint32_t chunks)
{
    struct ronde_schedule schedule = {.chunks_per_block = chunks,
                                      .max_chunk_count = 1,
                                      .channels = channels};
    while (schedule.channel_count < CHANNELS_MAX && channels[schedule.channel_count].weight > 0)
        schedule.weight_total += channels[schedule.channel_count++].weight;
    return schedule;
}

/* Calls `check` for every weighting, number of chunks and element size. */
static void for_all(void (*check)(const struct ronde_schedule *schedule, uint32_t bytes))
{
    for (size_t w = 0; w < sizeof weightings / sizeof weightings[0]; w++)
        for (size_t c = 0; c < sizeof chunk_values / sizeof chunk_values[0]; c++)
            for (size_t b = 0; b < sizeof byte_values / sizeof byte_values[0]; b++) {
                const struct ronde_schedule schedule = schedule_of(weightings[w], chunk_values[c]);
                check(&schedule, byte_values[b]);
            }
}

/* Chunks of a block follow each other without gap or overlap, from its first element to its last. */
static bool is_partition(const struct ronde_schedule *schedule, uint64_t count, uint32_t bytes)
{
    uint64_t next = 0;
    for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
        const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, bytes);
        for (uint32_t part = 0; part < schedule->chunks_per_block; part++) {
            const struct ronde_extent chunk = ronde_slice_chunk(&slice, part);
            if (chunk.first != next || chunk.count > count - next)
                return false;
            next += chunk.count;
        }
    }
    return next == count;
}

static void check_partition(const struct ronde_schedule *schedule, uint32_t bytes)
{
    for (uint64_t count = 0; count <= COUNTS; count++)
        CU_ASSERT(is_partition(schedule, count, bytes));
}

static void chunks_partition_every_count(void)
{
    for_all(check_partition);
}

/* The longest block that bytes can address: 2^63 - 1 of them, and one short of a grain. */
static void check_huge(const struct ronde_schedule *schedule, uint32_t bytes)
{
    const uint64_t most = (uint64_t)INT64_MAX / bytes;
    for (uint64_t less = 0; less < 40; less++)
        CU_ASSERT(is_partition(schedule, most - less, bytes));
    CU_ASSERT(is_partition(schedule, (UINT64_C(1) << 63) / bytes, bytes));
    CU_ASSERT(is_partition(schedule, UINT64_C(1) << 32, bytes));
}

static void chunks_partition_blocks_of_2_to_the_63(void)
{
    for_all(check_huge);
}

/* Written with the definition's own words and a wide type: floor(c G / m) grains of floor(G W / W_all) ones. */
static void check_definition(const struct ronde_schedule *schedule, uint32_t bytes)
{
    const uint64_t counts[] = {0, 1, 17, 200, UINT64_C(3) << 40, (uint64_t)INT64_MAX / bytes};
    const uint64_t grain = 16 / bytes;
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        const ronde_wide grains = ((ronde_wide)counts[k] + grain - 1) / grain;
        ronde_wide before = 0;
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            const ronde_wide after = before + schedule->channels[channel].weight;
            const ronde_wide first = grains * before / schedule->weight_total;
            const ronde_wide in_slice = grains * after / schedule->weight_total - first;
            const struct ronde_slice slice = ronde_slice_of(schedule, channel, counts[k], bytes);
            for (uint32_t part = 0; part < schedule->chunks_per_block; part++) {
                const ronde_wide low =
                    (first + in_slice * part / schedule->chunks_per_block) * grain;
                const uint64_t wanted = low < counts[k] ? (uint64_t)low : counts[k];
                CU_ASSERT_EQUAL(ronde_slice_chunk(&slice, part).first, wanted);
            }
            before = after;
        }
    }
}

static void chunks_begin_where_the_definition_says(void)
{
    for_all(check_definition);
}

/* Parts asked for in descending order, as a program that runs backwards does, are the same parts. */
static void check_reversed(const struct ronde_schedule *schedule, uint32_t bytes)
{
    for (uint64_t count = 0; count <= COUNTS; count += 7) {
        uint64_t end = count;
        for (uint32_t channel = schedule->channel_count; channel-- > 0;) {
            const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, bytes);
            for (uint32_t part = schedule->chunks_per_block; part-- > 0;) {
                const struct ronde_extent chunk = ronde_slice_chunk(&slice, part);
                CU_ASSERT_EQUAL(chunk.first + chunk.count, end);
                end = chunk.first;
            }
        }
        CU_ASSERT_EQUAL(end, 0);
    }
}

static void reversed_parts_are_the_same_parts(void)
{
    for_all(check_reversed);
}

/* Every chunk but the last of a block begins at a grain and is a whole number of them. */
static void check_grains(const struct ronde_schedule *schedule, uint32_t bytes)
{
    for (uint64_t count = 0; count <= COUNTS; count++)
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, bytes);
            for (uint32_t part = 0; part < schedule->chunks_per_block; part++) {
                const struct ronde_extent chunk = ronde_slice_chunk(&slice, part);
                const uint64_t end = chunk.first + chunk.count;
                CU_ASSERT(chunk.first == count || chunk.first * bytes % 16 == 0);
                CU_ASSERT(end == count || end * bytes % 16 == 0);
                CU_ASSERT(chunk.count <= ronde_slice_chunk_max(&slice));
            }
        }
}

static void chunks_are_whole_grains(void)
{
    for_all(check_grains);
}

/* Pieces of a chunk are the chunk, and no chunk needs more of them than the launch has. */
static void check_pieces(const struct ronde_schedule *schedule, uint32_t bytes)
{
    for (uint64_t count = 0; count <= COUNTS; count += 3) {
        const uint64_t slot_bytes = 32;
        const uint64_t elements = ronde_piece_bytes(schedule, slot_bytes) / bytes;
        const uint64_t pieces = ronde_piece_count(schedule, count, bytes, slot_bytes);
        CU_ASSERT(pieces >= 1 && pieces <= ronde_piece_count_v(schedule, count, bytes, slot_bytes));
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, bytes);
            for (uint32_t part = 0; part < schedule->chunks_per_block; part++) {
                const struct ronde_extent chunk = ronde_slice_chunk(&slice, part);
                uint64_t next = chunk.first;
                for (uint64_t p = 0; p < pieces; p++) {
                    const struct ronde_extent piece = ronde_extent_piece(chunk, p, elements);
                    CU_ASSERT(piece.first == next && piece.count <= elements);
                    next += piece.count;
                }
                CU_ASSERT_EQUAL(next, chunk.first + chunk.count);
            }
        }
    }
}

static void pieces_partition_chunks(void)
{
    for_all(check_pieces);
}

/* Slots are sized before the lengths of the blocks are known: no shorter block may have a longer chunk. */
static void check_most(const struct ronde_schedule *schedule, uint32_t bytes)
{
    for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
        uint64_t longest = 0;
        for (uint64_t count = 0; count <= COUNTS; count++) {
            const struct ronde_slice slice = ronde_slice_of(schedule, channel, count, bytes);
            for (uint32_t part = 0; part < schedule->chunks_per_block; part++) {
                const uint64_t elements = ronde_slice_chunk(&slice, part).count;
                longest = elements > longest ? elements : longest;
            }
            CU_ASSERT(longest <= ronde_chunk_most(schedule, channel, count, bytes));
        }
    }
}

static void no_shorter_block_has_a_longer_chunk_than_most(void)
{
    for_all(check_most);
    /* The case that makes the longest block alone too little: 6 grains give the middle channel one, 5 give it two. */
    const struct ronde_schedule schedule = schedule_of(weightings[2], 1);
    const struct ronde_slice longer = ronde_slice_of(&schedule, 1, 6 * 16, 1);
    const struct ronde_slice shorter = ronde_slice_of(&schedule, 1, 5 * 16, 1);
    CU_ASSERT_EQUAL(longer.grains, 1);
    CU_ASSERT_EQUAL(shorter.grains, 2);
    CU_ASSERT_EQUAL(ronde_chunk_most(&schedule, 1, 6 * 16, 1), 32);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"chunks_partition_every_count", chunks_partition_every_count},
        {"chunks_partition_blocks_of_2_to_the_63", chunks_partition_blocks_of_2_to_the_63},
        {"chunks_begin_where_the_definition_says", chunks_begin_where_the_definition_says},
        {"reversed_parts_are_the_same_parts", reversed_parts_are_the_same_parts},
        {"chunks_are_whole_grains", chunks_are_whole_grains},
        {"pieces_partition_chunks", pieces_partition_chunks},
        {"no_shorter_block_has_a_longer_chunk_than_most",
         no_shorter_block_has_a_longer_chunk_than_most},
    };
    return suite_run("split", cases, sizeof cases / sizeof cases[0]);
}
