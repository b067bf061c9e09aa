/*
 * Tables of blocks that are refused before anything moves. What may overlap is ronde.h's, written down here a second time
 * as sets of elements: random tables are held against it.
 */
#include "api/cache.h"
#include "support/suite.h"

#include <string.h>

#define RANKS 3u
#define ROOM 24u
#define TRIES 20000u

/* Memory that calls point into; nothing reads or writes it. */
static int32_t arena[2 * ROOM];

static const enum ronde_collective with_v[] = {RONDE_ALL_GATHER, RONDE_GATHER, RONDE_SCATTER,
                                               RONDE_REDUCE_SCATTER, RONDE_ALL_TO_ALL};

/* One buffer's table, and where its blocks are in elements of the arena. */
struct table {
    uint64_t counts[RANKS];
    uint64_t offsets[RANKS];
    void *pointers[RANKS];
    uint64_t starts[RANKS];
    uint32_t used;
    struct ronde_blocks blocks;
};

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static void draw_table(struct table *table, uint32_t used, uint64_t base, uint64_t *seed)
{
    const bool has_pointers = draw(seed, 2) == 0;
    memset(table, 0, sizeof *table);
    table->used = used;
    for (uint32_t b = 0; b < used; b++) {
        table->counts[b] = draw(seed, 5);
        table->offsets[b] = draw(seed, ROOM - 4);
        table->starts[b] = base + table->offsets[b];
        table->pointers[b] = table->counts[b] > 0 ? &arena[table->starts[b]] : NULL;
    }
    table->blocks = (struct ronde_blocks){table->counts, has_pointers ? NULL : table->offsets,
                                          has_pointers ? table->pointers : NULL};
}

static bool do_share(const struct table *a, uint32_t k, const struct table *b, uint32_t n)
{
    for (uint64_t x = a->starts[k]; x < a->starts[k] + a->counts[k]; x++)
        for (uint64_t y = b->starts[n]; y < b->starts[n] + b->counts[n]; y++)
            if (x == y)
                return true;
    return false;
}

/* Blocks that are written share nothing with any other, but in place, for which the rank's own is one block. */
static bool is_right(enum ronde_collective collective, uint32_t rank, const struct table *in,
                     const struct table *out)
{
    const uint32_t own_in = in->used > 1 ? rank : 0;
    const uint32_t own_out = out->used > 1 ? rank : 0;
    const bool is_in_place = collective != RONDE_ALL_TO_ALL && in->used > 0 && out->used > 0 &&
                             in->counts[own_in] > 0 && in->starts[own_in] == out->starts[own_out] &&
                             in->counts[own_in] == out->counts[own_out];
    bool is_wrong = false;
    for (uint32_t b = 0; b < out->used; b++) {
        for (uint32_t other = 0; other < b; other++)
            is_wrong |= do_share(out, b, out, other);
        for (uint32_t i = 0; i < in->used; i++)
            if (!(is_in_place && i == own_in && b == own_out))
                is_wrong |= do_share(out, b, in, i);
    }
    for (uint32_t b = 0; b < in->used && is_in_place && collective == RONDE_REDUCE_SCATTER; b++)
        for (uint32_t other = 0; other < b; other++)
            is_wrong |= do_share(in, b, in, other);
    return !is_wrong;
}

static bool has(enum ronde_collective collective, bool is_input, uint32_t rank)
{
    return rank == 1 || !(is_input ? collective == RONDE_SCATTER : collective == RONDE_GATHER);
}

static uint32_t blocks_of(enum ronde_collective collective, bool is_input)
{
    const bool is_single = is_input
                               ? collective == RONDE_ALL_GATHER || collective == RONDE_GATHER
                               : collective == RONDE_SCATTER || collective == RONDE_REDUCE_SCATTER;
    return is_single ? 1 : RANKS;
}

static struct ronde_call call_of(enum ronde_collective collective, const struct table *in,
                                 const struct table *out, uint64_t in_base, uint64_t out_base)
{
    return (struct ronde_call){.collective = collective,
                               .dtype = RONDE_INT32,
                               .in = arena + in_base,
                               .out = arena + out_base,
                               .root = 1,
                               .is_v = true,
                               .in_blocks = &in->blocks,
                               .out_blocks = &out->blocks};
}

static void random_tables_are_judged_as_documented(void)
{
    uint64_t seed = 20261129;
    uint32_t wrong = 0, refused = 0;
    for (uint32_t k = 0; k < TRIES && wrong < 5; k++) {
        const enum ronde_collective collective = with_v[k % (sizeof with_v / sizeof *with_v)];
        const uint32_t rank = (uint32_t)draw(&seed, RANKS);
        const uint64_t out_base = draw(&seed, 2) == 0 ? 0 : ROOM;
        struct table in, out;
        struct ronde_error error = {0};
        draw_table(&in, has(collective, true, rank) ? blocks_of(collective, true) : 0, 0, &seed);
        draw_table(&out, has(collective, false, rank) ? blocks_of(collective, false) : 0, out_base,
                   &seed);
        const struct ronde_call call = call_of(collective, &in, &out, 0, out_base);
        const bool should = is_right(collective, rank, &in, &out);
        const enum ronde_status status = ronde_call_check(&call, rank, RANKS, NULL, &error);
        refused += status != RONDE_OK;
        if ((status == RONDE_OK) == should && (should || strstr(error.message, "overlap")))
            continue;
        wrong++;
        suite_note("%s, rank %u, try %u: %s", ronde_collective_text(collective), rank, k,
                   status == RONDE_OK ? "accepted" : error.message);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(refused > TRIES / 10 && refused < TRIES - TRIES / 10);
}

/* A block of every table in turn lies where no memory can be. */
static void blocks_beyond_the_address_space_are_refused(void)
{
    static const uint64_t far[][2] = {{4, UINT64_MAX - 3},
                                      {4, (uint64_t)INT64_MAX / 4},
                                      {UINT64_MAX, 0},
                                      {UINT64_MAX / 4 + 1, 1},
                                      {1, UINT64_MAX / 4}};
    for (uint32_t c = 0; c < sizeof with_v / sizeof *with_v; c++)
        for (int is_input = 0; is_input < 2; is_input++)
            for (uint32_t k = 0; k < sizeof far / sizeof *far; k++) {
                const uint32_t used = blocks_of(with_v[c], is_input != 0);
                struct table tables[2] = {{.counts = {1, 1, 1}, .offsets = {0, 1, 2}},
                                          {.counts = {1, 1, 1}, .offsets = {0, 1, 2}}};
                struct ronde_error error = {0};
                for (int side = 0; side < 2; side++)
                    tables[side].blocks =
                        (struct ronde_blocks){tables[side].counts, tables[side].offsets, NULL};
                tables[!is_input].counts[used - 1] = far[k][0];
                tables[!is_input].offsets[used - 1] = far[k][1];
                const struct ronde_call call = call_of(with_v[c], &tables[0], &tables[1], 0, ROOM);
                CU_ASSERT_EQUAL(ronde_call_check(&call, 1, RANKS, NULL, &error), RONDE_BAD_ARGUMENT);
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "beyond the address space"));
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, is_input ? "of in" : "of out"));
            }
}

/* More blocks than fit on the stack, in descending order; then two that are the same. */
static void many_blocks_are_sorted(void)
{
    enum { MANY = 300 };
    static uint64_t counts[MANY], offsets[MANY];
    static int32_t memory[2 * MANY];
    struct ronde_error error = {0};
    const struct ronde_blocks blocks = {counts, offsets, NULL};
    const struct ronde_call call = {.collective = RONDE_ALL_TO_ALL,
                                    .dtype = RONDE_INT32,
                                    .in = memory,
                                    .out = memory + MANY,
                                    .is_v = true,
                                    .in_blocks = &blocks,
                                    .out_blocks = &blocks};
    for (uint32_t b = 0; b < MANY; b++) {
        counts[b] = 1;
        offsets[b] = MANY - 1 - b;
    }
    CU_ASSERT_EQUAL(ronde_call_check(&call, 7, MANY, NULL, &error), RONDE_OK);
    offsets[5] = offsets[200];
    CU_ASSERT_EQUAL(ronde_call_check(&call, 7, MANY, NULL, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "block 5 of out"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "block 200 of out"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"random_tables_are_judged_as_documented", random_tables_are_judged_as_documented},
        {"blocks_beyond_the_address_space_are_refused", blocks_beyond_the_address_space_are_refused},
        {"many_blocks_are_sorted", many_blocks_are_sorted},
    };
    return suite_run("blocks", cases, sizeof cases / sizeof *cases);
}
