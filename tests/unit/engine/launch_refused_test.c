/** Launches that are refused, each with the whole sentence: operators, factors, blocks and lengths of several ranks. */
#include "support/suite.h"

#include "engine/execute/loaded.h"
#include "ronde/backend.h"
#include "ronde/schedules.h"

#include <string.h>

#define RANKS 3u

/* Buffers of RANKS ranks with a table of RANKS blocks each, and a launch over them that is right. */
struct tables {
    struct ronde_schedule *schedule;
    int32_t memory[2][RANKS][RANKS * 4];
    void *buffers[2][RANKS];
    uint64_t counts[2][RANKS][RANKS];
    uint64_t offsets[RANKS];
    void *pointers[RANKS];
    struct ronde_blocks blocks[2][RANKS];
    struct ronde_launch launch;
};

static void open_tables(struct tables *tables, enum ronde_collective collective,
                        const char *algorithm)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = RANKS};
    memset(tables, 0, sizeof *tables);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &tables->schedule, NULL),
                          RONDE_OK);
    for (uint32_t block = 0; block < RANKS; block++)
        tables->offsets[block] = block * 4;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            tables->buffers[side][rank] = tables->memory[side][rank];
            for (uint32_t block = 0; block < RANKS; block++)
                tables->counts[side][rank][block] = 4;
            tables->blocks[side][rank] =
                (struct ronde_blocks){tables->counts[side][rank], tables->offsets, NULL};
        }
    tables->launch = (struct ronde_launch){.count = 4,
                                           .dtype = RONDE_INT32,
                                           .in = tables->buffers[0],
                                           .out = tables->buffers[1],
                                           .in_blocks = tables->blocks[0],
                                           .out_blocks = tables->blocks[1]};
}

static void expect(const struct tables *tables, enum ronde_status status, const char *message)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_launch_check(tables->schedule, &tables->launch, &error), status);
    CU_ASSERT_STRING_EQUAL(error.message, message);
    if (strcmp(error.message, message) != 0)
        suite_note("\"%s\"", error.message);
}

static void close_tables(struct tables *tables)
{
    ronde_schedule_destroy(tables->schedule);
}

static void operators_that_a_type_has_not_are_told(void)
{
    static const struct {
        enum ronde_op op;
        enum ronde_dtype dtype;
        const char *message;
    } rows[] = {
        {RONDE_BAND, RONDE_FLOAT32,
         "launch: op band, dtype float32: band, bor and bxor take integers and bool"},
        {RONDE_BXOR, RONDE_BFLOAT16,
         "launch: op bxor, dtype bfloat16: band, bor and bxor take integers and bool"},
        {RONDE_AVG, RONDE_BOOL,
         "launch: op avg, dtype bool: a truth value cannot be divided; sum is \"or\", prod is "
         "\"and\""},
        {RONDE_PREMUL_SUM, RONDE_BOOL,
         "launch: op premul_sum, dtype bool: a truth value has no factor; sum is \"or\", prod is "
         "\"and\""},
    };
    struct tables tables;
    open_tables(&tables, RONDE_ALL_REDUCE, "ring");
    tables.launch.in_blocks = tables.launch.out_blocks = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tables.launch.op = rows[i].op;
        tables.launch.dtype = rows[i].dtype;
        expect(&tables, RONDE_UNSUPPORTED, rows[i].message);
    }
    close_tables(&tables);
}

static void premul_sum_needs_factors(void)
{
    static const int32_t factors[RANKS] = {1, 2, 3};
    struct tables tables;
    open_tables(&tables, RONDE_ALL_REDUCE, "ring");
    tables.launch.in_blocks = tables.launch.out_blocks = NULL;
    tables.launch.op = RONDE_PREMUL_SUM;
    expect(&tables, RONDE_BAD_ARGUMENT, "launch: factors is NULL, premul_sum needs one per rank");
    tables.launch.factors = factors;
    expect(&tables, RONDE_OK, "");
    close_tables(&tables);
}

static void what_reduces_nothing_takes_only_plain_operators(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_GATHER, "ring");
    tables.launch.op = RONDE_MAX;
    expect(&tables, RONDE_OK, "");
    tables.launch.op = RONDE_AVG;
    expect(&tables, RONDE_UNSUPPORTED, "launch: op avg, all_gather reduces nothing");
    tables.launch.op = RONDE_PREMUL_SUM;
    expect(&tables, RONDE_UNSUPPORTED, "launch: op premul_sum, all_gather reduces nothing");
    close_tables(&tables);
}

static void a_count_beyond_the_address_space_is_refused_to_the_element(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_GATHER, "ring");
    tables.launch.in_blocks = tables.launch.out_blocks = NULL;
    /* 2^63 - 1 bytes over three blocks of four bytes an element. */
    tables.launch.count = 768614336404564650u;
    expect(&tables, RONDE_OK, "");
    tables.launch.count++;
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: count 768614336404564651, a buffer would exceed the address space");
    close_tables(&tables);
}

static void a_block_is_no_longer_than_the_launch_says(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_TO_ALL, "direct");
    expect(&tables, RONDE_OK, "");
    tables.counts[1][2][0] = 5;
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: block 0 of out of rank 2 has 5 elements, count is 4");
    /* Inputs are looked at first. */
    tables.counts[0][1][2] = 6;
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: block 2 of in of rank 1 has 6 elements, count is 4");
    close_tables(&tables);
}

static void blocks_that_meet_are_equally_long(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_TO_ALL, "direct");
    tables.counts[0][1][2] = 3;
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: block 2 of in of rank 1 has 3 elements, block 1 of out of rank 2 has 4");
    tables.counts[1][2][1] = 3;
    expect(&tables, RONDE_OK, "");
    /* One rank alone cannot know what the others have. */
    tables.counts[1][2][1] = 2;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT_EQUAL(ronde_launch_check_rank(tables.schedule, &tables.launch, rank, NULL),
                        RONDE_OK);
    close_tables(&tables);
}

static void tables_say_where_blocks_are(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_GATHER, "ring");
    tables.blocks[1][1] = (struct ronde_blocks){.counts = tables.counts[1][1]};
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: blocks of out of rank 1 have counts, but neither offsets nor pointers");
    tables.pointers[0] = tables.memory[1][1];
    tables.pointers[2] = tables.memory[1][1] + 8;
    tables.blocks[1][1].pointers = tables.pointers;
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: block 1 of out of rank 1 is NULL and has 4 elements");
    tables.pointers[1] = tables.memory[1][1] + 4;
    /* With pointers there need be no buffer. */
    tables.buffers[1][1] = NULL;
    expect(&tables, RONDE_OK, "");
    tables.buffers[1][0] = NULL;
    expect(&tables, RONDE_BAD_ARGUMENT, "launch: out of rank 0 is NULL, all_gather needs it");
    close_tables(&tables);
}

static void blocks_lie_where_tables_say(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_GATHER, "ring");
    tables.counts[1][0][2] = 1;
    const struct ronde_stretch told =
        ronde_launch_block(tables.schedule, &tables.launch, 0, false, 2);
    CU_ASSERT_PTR_EQUAL(told.start, (unsigned char *)(tables.memory[1][0] + 8));
    CU_ASSERT_EQUAL(told.bytes, 4);
    tables.launch.out_blocks = NULL;
    const struct ronde_stretch plain =
        ronde_launch_block(tables.schedule, &tables.launch, 2, false, 1);
    CU_ASSERT_PTR_EQUAL(plain.start, (unsigned char *)(tables.memory[1][2] + 4));
    CU_ASSERT_EQUAL(plain.bytes, 16);
    tables.launch.out = NULL;
    const struct ronde_stretch none =
        ronde_launch_block(tables.schedule, &tables.launch, 2, false, 1);
    CU_ASSERT_PTR_NULL(none.start);
    CU_ASSERT_EQUAL(none.bytes, 0);
    close_tables(&tables);
}

static void only_the_root_needs_what_only_the_root_has(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_SCATTER, "direct");
    tables.launch.in_blocks = tables.launch.out_blocks = NULL;
    tables.buffers[0][1] = tables.buffers[0][2] = NULL;
    expect(&tables, RONDE_OK, "");
    const struct ronde_stretch none =
        ronde_launch_block(tables.schedule, &tables.launch, 1, true, 0);
    CU_ASSERT_PTR_NULL(none.start);
    tables.buffers[0][0] = NULL;
    expect(&tables, RONDE_BAD_ARGUMENT, "launch: in of rank 0 is NULL, scatter needs it");
    /* A rank that is not the root has nothing to say of it. */
    CU_ASSERT_EQUAL(ronde_launch_check_rank(tables.schedule, &tables.launch, 1, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_launch_check_rank(tables.schedule, &tables.launch, 0, NULL),
                    RONDE_BAD_ARGUMENT);
    close_tables(&tables);
}

static void ranks_that_share_a_buffer_are_told(void)
{
    struct tables tables;
    open_tables(&tables, RONDE_ALL_TO_ALL, "direct");
    tables.launch.in_blocks = tables.launch.out_blocks = NULL;
    tables.buffers[1][2] = tables.buffers[0][2];
    expect(&tables, RONDE_BAD_ARGUMENT,
           "launch: in and out of rank 2 are the same memory, all_to_all cannot run in place");
    close_tables(&tables);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"operators_that_a_type_has_not_are_told", operators_that_a_type_has_not_are_told},
        {"premul_sum_needs_factors", premul_sum_needs_factors},
        {"what_reduces_nothing_takes_only_plain_operators",
         what_reduces_nothing_takes_only_plain_operators},
        {"a_count_beyond_the_address_space_is_refused_to_the_element",
         a_count_beyond_the_address_space_is_refused_to_the_element},
        {"a_block_is_no_longer_than_the_launch_says", a_block_is_no_longer_than_the_launch_says},
        {"blocks_that_meet_are_equally_long", blocks_that_meet_are_equally_long},
        {"tables_say_where_blocks_are", tables_say_where_blocks_are},
        {"blocks_lie_where_tables_say", blocks_lie_where_tables_say},
        {"only_the_root_needs_what_only_the_root_has", only_the_root_needs_what_only_the_root_has},
        {"ranks_that_share_a_buffer_are_told", ranks_that_share_a_buffer_are_told},
    };
    return suite_run("launch_refused", cases, sizeof cases / sizeof cases[0]);
}
