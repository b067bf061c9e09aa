/* v-forms: which schedules are right for blocks of any lengths, and what a launch of such blocks is refused for. */
#include "support/buffers.h"
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/schedules.h"

#include <string.h>

static struct ronde_error error;

static void algorithms_have_the_v_forms_they_claim(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        const char *v_form;
    } rows[] = {
        {RONDE_ALL_GATHER, "ring", "known_to_all"},
        {RONDE_REDUCE_SCATTER, "ring", "known_to_all"},
        {RONDE_ALL_REDUCE, "ring", "none"},
        {RONDE_BROADCAST, "binomial", "none"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        for (uint32_t ranks = 1; ranks <= 9; ranks++) {
            struct ronde_schedule *schedule =
                schedule_compile(rows[k].collective, rows[k].algorithm, ranks);
            CU_ASSERT_STRING_EQUAL(ronde_v_form_text(schedule->v_form), rows[k].v_form);
            ronde_schedule_destroy(schedule);
        }
    }
    CU_ASSERT_STRING_EQUAL(ronde_v_form_text(RONDE_V_FORM_COUNT), "?");
}

/* An all_gather of three ranks in which rank 1 keeps what it gets from rank 0 somewhere first. */
static struct ronde_schedule *detour(enum ronde_buffer buffer, uint32_t chunk)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_GATHER,
                                                  .algorithm = "detour",
                                                  .ranks = 3};
    struct ronde_builder *builder = schedule_builder(&request);
    ronde_builder_scratch(builder, 1);
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand via = ronde_chunks(buffer, chunk, 1);
    const struct ronde_operand first = ronde_chunks(RONDE_OUT, 0, 1);
    const struct ronde_transfer start = {.from = 0, .to = 1, .source = in, .target = via};
    const struct ronde_transfer on = {.from = 1, .to = 2, .source = via, .target = first};
    ronde_builder_transfer(builder, &start);
    ronde_builder_transfer(builder, &on);
    if (buffer != RONDE_OUT || chunk != 0)
        ronde_builder_copy(builder, 1, 0, via, first);
    for (uint32_t rank = 0; rank < 3; rank++)
        ronde_builder_copy(builder, rank, 0, in, ronde_chunks(RONDE_OUT, rank, 1));
    for (uint32_t from = 1; from < 3; from++) {
        for (uint32_t to = 0; to < 3; to++) {
            const struct ronde_transfer direct = {.from = from,
                                                  .to = to,
                                                  .source = in,
                                                  .target = ronde_chunks(RONDE_OUT, from, 1)};
            if (from != to)
                ronde_builder_transfer(builder, &direct);
        }
    }
    return schedule_finish(builder);
}

static void blocks_out_of_place_leave_no_v_form(void)
{
    static const struct {
        enum ronde_buffer buffer;
        uint32_t chunk;
        enum ronde_v_form v_form;
    } rows[] = {
        {RONDE_OUT, 0, RONDE_V_KNOWN_TO_ALL}, /* where it ends */
        {RONDE_OUT, 2, RONDE_V_NONE},         /* where another, longer or shorter, ends */
        {RONDE_SCRATCH, 0, RONDE_V_NONE},     /* where its length follows from nothing */
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_schedule *schedule = detour(rows[k].buffer, rows[k].chunk);
        CU_ASSERT_EQUAL(schedule->v_form, rows[k].v_form);
        ronde_schedule_destroy(schedule);
    }
}

static void v_form_survives_text(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_GATHER, "ring", 5);
    struct ronde_schedule *copy = NULL;
    char *text = NULL;
    size_t length = 0;
    CU_ASSERT_FATAL(ronde_schedule_print(schedule, ronde_mem_default(), &text, &length, &error) ==
                    RONDE_OK);
    CU_ASSERT_FATAL(ronde_schedule_read(text, length, "ring", ronde_mem_default(), NULL, &copy,
                                        &error) == RONDE_OK);
    CU_ASSERT_EQUAL(copy->v_form, RONDE_V_KNOWN_TO_ALL);
    ronde_mem_free(ronde_mem_default(), text, length + 1, 1);
    ronde_schedule_destroy(copy);
    ronde_schedule_destroy(schedule);
}

/* What a launch of uneven blocks on three ranks consists of; tests spoil one thing each. */
static struct tables {
    int32_t memory[6][64];
    uint64_t in_counts[3];
    uint64_t out_counts[3][3];
    uint64_t offsets[3];
    void *pointers[3];
    void *in[3];
    void *out[3];
    struct ronde_blocks in_blocks[3];
    struct ronde_blocks out_blocks[3];
    struct ronde_launch launch;
} tables;

static void fill_tables(void)
{
    memset(&tables, 0, sizeof tables);
    for (uint32_t rank = 0; rank < 3; rank++) {
        tables.offsets[rank] = rank * 10;
        tables.in[rank] = tables.memory[rank];
        tables.out[rank] = tables.memory[3 + rank];
        tables.in_counts[rank] = 2 + rank;
        for (uint32_t block = 0; block < 3; block++)
            tables.out_counts[rank][block] = 2 + block;
        tables.in_blocks[rank] =
            (struct ronde_blocks){&tables.in_counts[rank], tables.offsets, NULL};
        tables.out_blocks[rank] =
            (struct ronde_blocks){tables.out_counts[rank], tables.offsets, NULL};
    }
    tables.launch = (struct ronde_launch){.count = 4,
                                          .dtype = RONDE_INT32,
                                          .in = tables.in,
                                          .out = tables.out,
                                          .in_blocks = tables.in_blocks,
                                          .out_blocks = tables.out_blocks};
}

static void expect(const struct ronde_schedule *schedule, enum ronde_status status, const char *part)
{
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_launch_check(schedule, &tables.launch, &error), status);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
    if (!strstr(error.message, part))
        suite_note("wanted \"%s\", got \"%s\"", part, error.message);
    fill_tables();
}

static void launch_check_names_what_is_wrong_with_blocks(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_GATHER, "ring", 3);
    struct ronde_schedule *none = detour(RONDE_SCRATCH, 0);
    fill_tables();
    expect(ring, RONDE_OK, "");
    expect(none, RONDE_UNSUPPORTED, "blocks differ in length, and all_gather detour puts");
    tables.launch.count = 3;
    expect(ring, RONDE_BAD_ARGUMENT, "block 0 of in of rank 2 has 4 elements, count is 3");
    tables.out_counts[1][2] = 3;
    expect(ring, RONDE_BAD_ARGUMENT,
           "block 0 of in of rank 2 has 4 elements, block 2 of out of rank 1 has 3");
    tables.out_blocks[2].offsets = NULL;
    expect(ring, RONDE_BAD_ARGUMENT, "rank 2 have counts, but neither offsets nor pointers");
    tables.out_blocks[0].pointers = tables.pointers;
    expect(ring, RONDE_BAD_ARGUMENT, "block 0 of out of rank 0 is NULL and has 2 elements");
    tables.launch.in_blocks = NULL;
    expect(ring, RONDE_BAD_ARGUMENT, "block 0 of in of rank 0 has 4 elements, block 0 of out");
    tables.in[1] = NULL;
    expect(ring, RONDE_BAD_ARGUMENT, "in of rank 1 is NULL, all_gather needs it");
    ronde_schedule_destroy(none);
    ronde_schedule_destroy(ring);
}

/* Lists of tensors of one length need no v-form: any schedule will do. */
static void separate_tensors_of_one_length_run_on_any_schedule(void)
{
    struct ronde_schedule *none = detour(RONDE_SCRATCH, 0);
    const struct buffers_shape shape = {.collective = RONDE_ALL_GATHER,
                                        .ranks = 3,
                                        .count = 50,
                                        .dtype = RONDE_FLOAT16,
                                        .blocks = BUFFERS_SEPARATE};
    struct buffers actual;
    struct buffers expected;
    struct ronde_machine machine;
    struct ronde_result result;
    void *host;
    char text[256];
    CU_ASSERT_FATAL(ronde_backend_host.probe(&machine, &error) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.open(&machine, ronde_mem_default(), &host, &error) ==
                    RONDE_OK);
    CU_ASSERT_FATAL(buffers_create(&shape, &actual) && buffers_create(&shape, &expected));
    CU_ASSERT_FATAL(buffers_expect(&expected));
    const struct ronde_launch launch = buffers_launch(&actual);
    CU_ASSERT(launch.in == NULL && launch.out == NULL);
    CU_ASSERT_EQUAL(ronde_backend_run_once(&ronde_backend_host, host, none, &launch, &result, &error),
                    RONDE_OK);
    CU_ASSERT_FALSE(buffers_differ(&actual, &expected, text, sizeof text));
    buffers_destroy(&actual);
    buffers_destroy(&expected);
    ronde_backend_host.close(host);
    ronde_schedule_destroy(none);
}

static void avg_and_premul_sum_are_refused_where_nothing_is_reduced(void)
{
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_GATHER, "ring", 3);
    struct ronde_schedule *reduce = schedule_compile(RONDE_ALL_REDUCE, "ring", 3);
    fill_tables();
    tables.launch.op = RONDE_AVG;
    expect(ring, RONDE_UNSUPPORTED, "op avg, all_gather reduces nothing");
    tables.launch.op = RONDE_PREMUL_SUM;
    expect(ring, RONDE_UNSUPPORTED, "op premul_sum, all_gather reduces nothing");
    tables.launch.op = RONDE_MAX;
    expect(ring, RONDE_OK, "");
    tables.launch.op = RONDE_PREMUL_SUM;
    expect(reduce, RONDE_BAD_ARGUMENT, "factors is NULL, premul_sum needs one per rank");
    ronde_schedule_destroy(reduce);
    ronde_schedule_destroy(ring);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(algorithms_have_the_v_forms_they_claim),
        SUITE_CASE(blocks_out_of_place_leave_no_v_form),
        SUITE_CASE(v_form_survives_text),
        SUITE_CASE(launch_check_names_what_is_wrong_with_blocks),
        SUITE_CASE(separate_tensors_of_one_length_run_on_any_schedule),
        SUITE_CASE(avg_and_premul_sum_are_refused_where_nothing_is_reduced),
    };
    return suite_run("blocks", cases, sizeof cases / sizeof cases[0]);
}
