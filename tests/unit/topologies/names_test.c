/** Names and properties: every printed name reads back, every alias is one, everything else is refused. */
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/gpus.h"
#include "ronde/import.h"
#include "ronde/why.h"

#include <string.h>

static void collective_names_read_back(void)
{
    for (uint32_t i = 0; i < RONDE_COLLECTIVE_COUNT; i++) {
        enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
        const char *text = ronde_collective_text((enum ronde_collective)i);
        CU_ASSERT_TRUE(ronde_collective_parse(text, &collective));
        CU_ASSERT_EQUAL(collective, i);
    }
    CU_ASSERT_STRING_EQUAL(ronde_collective_text(RONDE_COLLECTIVE_COUNT), "?");
    CU_ASSERT_PTR_NULL(ronde_collective_traits(RONDE_COLLECTIVE_COUNT));
}

static void collective_spellings(void)
{
    static const char *const same[] = {"all_reduce", "all-reduce", "allreduce"};
    static const char *const none[] = {
        "",           "all",        "all_",       "all__reduce", "all_reduce_",
        "all reduce", "ALL_REDUCE", "broad_cast", "reduce-",     "?"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
        CU_ASSERT_TRUE(ronde_collective_parse(same[i], &collective));
        CU_ASSERT_EQUAL(collective, RONDE_ALL_REDUCE);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
        CU_ASSERT_FALSE(ronde_collective_parse(none[i], &collective));
        CU_ASSERT_EQUAL(collective, RONDE_COLLECTIVE_COUNT);
    }
    enum ronde_collective all_to_all = RONDE_COLLECTIVE_COUNT;
    CU_ASSERT_TRUE(ronde_collective_parse("alltoall", &all_to_all));
    CU_ASSERT_EQUAL(all_to_all, RONDE_ALL_TO_ALL);
}

static void collective_blocks(void)
{
    static const struct {
        enum ronde_collective collective;
        uint32_t in;
        uint32_t out;
    } rows[] = {
        {RONDE_BROADCAST, 1, 1},      {RONDE_SCATTER, 5, 1},    {RONDE_GATHER, 1, 5},
        {RONDE_ALL_GATHER, 1, 5},     {RONDE_REDUCE, 1, 1},     {RONDE_ALL_REDUCE, 1, 1},
        {RONDE_REDUCE_SCATTER, 5, 1}, {RONDE_ALL_TO_ALL, 5, 5}, {RONDE_BARRIER, 0, 0},
        {RONDE_SEND_RECV, 1, 1},
    };
    CU_ASSERT_EQUAL(sizeof rows / sizeof rows[0], RONDE_COLLECTIVE_COUNT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_ASSERT_EQUAL(ronde_collective_in_blocks(rows[i].collective, 5), rows[i].in);
        CU_ASSERT_EQUAL(ronde_collective_out_blocks(rows[i].collective, 5), rows[i].out);
    }
}

static void collective_traits(void)
{
    static const char *const rooted = "broadcast scatter gather reduce";
    static const char *const reducing = "reduce all_reduce reduce_scatter";
    for (uint32_t i = 0; i < RONDE_COLLECTIVE_COUNT; i++) {
        const struct ronde_collective_traits *traits =
            ronde_collective_traits((enum ronde_collective)i);
        const bool is_first = i == RONDE_BROADCAST || i == RONDE_SCATTER;
        const bool is_last = i == RONDE_GATHER || i == RONDE_REDUCE;
        CU_ASSERT_EQUAL(traits->has_root, is_first || is_last);
        CU_ASSERT_EQUAL(traits->in_at_root, is_first);
        CU_ASSERT_EQUAL(traits->out_at_root, is_last);
        if (traits->has_root)
            CU_ASSERT_PTR_NOT_NULL(strstr(rooted, ronde_collective_text((enum ronde_collective)i)));
        if (traits->reduces)
            CU_ASSERT_PTR_NOT_NULL(strstr(reducing, ronde_collective_text((enum ronde_collective)i)));
    }
    CU_ASSERT_TRUE(ronde_collective_traits(RONDE_REDUCE)->reduces);
    CU_ASSERT_TRUE(ronde_collective_traits(RONDE_ALL_REDUCE)->reduces);
    CU_ASSERT_TRUE(ronde_collective_traits(RONDE_REDUCE_SCATTER)->reduces);
}

static void dtype_names_and_sizes(void)
{
    static const struct {
        const char *text;
        enum ronde_dtype dtype;
        uint32_t bytes;
    } rows[] = {
        {"uint8", RONDE_UINT8, 1},
        {"u8", RONDE_UINT8, 1},
        {"int32", RONDE_INT32, 4},
        {"int", RONDE_INT32, 4},
        {"i32", RONDE_INT32, 4},
        {"float32", RONDE_FLOAT32, 4},
        {"float", RONDE_FLOAT32, 4},
        {"f32", RONDE_FLOAT32, 4},
        {"float64", RONDE_FLOAT64, 8},
        {"double", RONDE_FLOAT64, 8},
        {"f64", RONDE_FLOAT64, 8},
        {"int8", RONDE_INT8, 1},
        {"i8", RONDE_INT8, 1},
        {"char", RONDE_INT8, 1},
        {"uint32", RONDE_UINT32, 4},
        {"u32", RONDE_UINT32, 4},
        {"int64", RONDE_INT64, 8},
        {"i64", RONDE_INT64, 8},
        {"uint64", RONDE_UINT64, 8},
        {"u64", RONDE_UINT64, 8},
        {"float16", RONDE_FLOAT16, 2},
        {"half", RONDE_FLOAT16, 2},
        {"f16", RONDE_FLOAT16, 2},
        {"bfloat16", RONDE_BFLOAT16, 2},
        {"bf16", RONDE_BFLOAT16, 2},
        {"float8_e4m3", RONDE_FLOAT8_E4M3, 1},
        {"f8e4m3", RONDE_FLOAT8_E4M3, 1},
        {"f8e5m2", RONDE_FLOAT8_E5M2, 1},
        {"bool", RONDE_BOOL, 1},
        {"int16", RONDE_INT16, 2},
        {"i16", RONDE_INT16, 2},
        {"short", RONDE_INT16, 2},
        {"uint16", RONDE_UINT16, 2},
        {"u16", RONDE_UINT16, 2},
        {"ushort", RONDE_UINT16, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum ronde_dtype dtype = RONDE_DTYPE_COUNT;
        CU_ASSERT_TRUE(ronde_dtype_parse(rows[i].text, &dtype));
        CU_ASSERT_EQUAL(dtype, rows[i].dtype);
        CU_ASSERT_EQUAL(ronde_dtype_bytes(dtype), rows[i].bytes);
    }
    for (uint32_t i = 0; i < RONDE_DTYPE_COUNT; i++) {
        enum ronde_dtype dtype = RONDE_DTYPE_COUNT;
        CU_ASSERT_TRUE(ronde_dtype_parse(ronde_dtype_text((enum ronde_dtype)i), &dtype));
        CU_ASSERT_EQUAL(dtype, i);
        CU_ASSERT_EQUAL(RONDE_GRAIN_BYTES % ronde_dtype_bytes(dtype), 0);
    }
    enum ronde_dtype unknown = RONDE_DTYPE_COUNT;
    CU_ASSERT_FALSE(ronde_dtype_parse("", &unknown));
    CU_ASSERT_FALSE(ronde_dtype_parse("float3", &unknown));
    CU_ASSERT_STRING_EQUAL(ronde_dtype_text(RONDE_DTYPE_COUNT), "?");
}

static void op_names_read_back(void)
{
    for (uint32_t i = 0; i < RONDE_OP_COUNT; i++) {
        enum ronde_op op = RONDE_OP_COUNT;
        CU_ASSERT_TRUE(ronde_op_parse(ronde_op_text((enum ronde_op)i), &op));
        CU_ASSERT_EQUAL(op, i);
    }
    static const struct {
        const char *text;
        enum ronde_op op;
    } rows[] = {
        {"band", RONDE_BAND},    {"bor", RONDE_BOR},           {"bxor", RONDE_BXOR},
        {"product", RONDE_PROD}, {"mulsum", RONDE_PREMUL_SUM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum ronde_op op = RONDE_OP_COUNT;
        CU_ASSERT_TRUE(ronde_op_parse(rows[i].text, &op));
        CU_ASSERT_EQUAL(op, rows[i].op);
    }
    enum ronde_op unknown = RONDE_OP_COUNT;
    /* Of integers it would not be band. */
    CU_ASSERT_FALSE(ronde_op_parse("land", &unknown));
    CU_ASSERT_FALSE(ronde_op_parse("xor", &unknown));
    CU_ASSERT_FALSE(ronde_op_parse("", &unknown));
    CU_ASSERT_STRING_EQUAL(ronde_op_text(RONDE_OP_COUNT), "?");
}

/* Records and programs keep numbers: what joins, joins at the end. */
static void types_and_operators_keep_their_numbers(void)
{
    CU_ASSERT(RONDE_UINT8 == 0 && RONDE_INT32 == 1 && RONDE_FLOAT32 == 2 && RONDE_FLOAT64 == 3);
    CU_ASSERT(RONDE_FLOAT16 == 8 && RONDE_FLOAT8_E5M2 == 11);
    CU_ASSERT(RONDE_BOOL == 12 && RONDE_INT16 == 13 && RONDE_UINT16 == 14);
    CU_ASSERT(RONDE_SUM == 0 && RONDE_PREMUL_SUM == 5 && RONDE_BAND == 6 && RONDE_BXOR == 8);
}

/* The same facts as ir.h's list, read off the description of each operation. */
static void step_operations_do_what_their_names_say(void)
{
    for (uint32_t i = 0; i < RONDE_STEP_OP_COUNT; i++) {
        const enum ronde_step_op op = (enum ronde_step_op)i;
        const char *text = ronde_step_op_text(op);
        const bool is_local = strcmp(text, "copy") == 0 || strcmp(text, "reduce") == 0;
        const bool is_fused = text[0] == 'r' && strlen(text) <= 4 && strcmp(text, "recv") != 0;
        const bool is_reducing = strncmp(text, "rr", 2) == 0;
        CU_ASSERT_EQUAL(ronde_step_receives(op), is_fused || strcmp(text, "recv") == 0);
        CU_ASSERT_EQUAL(ronde_step_reduces(op), is_reducing || strcmp(text, "reduce") == 0);
        CU_ASSERT_EQUAL(ronde_step_sends(op),
                        strcmp(text, "send") == 0 || (is_fused && strchr(text, 's') != NULL));
        CU_ASSERT_EQUAL(ronde_step_reads_source(op),
                        is_local || is_reducing || strcmp(text, "send") == 0);
        CU_ASSERT_EQUAL(ronde_step_writes(op), is_local || strcmp(text, "recv") == 0 ||
                                                   (is_fused && strchr(text, 'c') != NULL));
    }
    CU_ASSERT_STRING_EQUAL(ronde_step_op_text(RONDE_STEP_OP_COUNT), "?");
    CU_ASSERT_FALSE(ronde_step_sends(RONDE_STEP_OP_COUNT));
}

static void finding_and_status_names(void)
{
    CU_ASSERT_STRING_EQUAL(ronde_finding_text(RONDE_FINDING_DEAD_WORK), "dead_work");
    CU_ASSERT_STRING_EQUAL(ronde_status_text(RONDE_OK), "ok");
    CU_ASSERT_STRING_EQUAL(ronde_status_text(RONDE_TIMEOUT), "timeout");
    CU_ASSERT_STRING_EQUAL(ronde_status_text(RONDE_CANCELLED), "cancelled");
}

/* Every value below `count` has a word of its own, all others have none. */
#define EXPECT_WORDS(text, type, count)                                                            \
    do {                                                                                           \
        for (uint32_t i = 0; i < (uint32_t)(count); i++) {                                         \
            CU_ASSERT_STRING_NOT_EQUAL(text((type)i), "?");                                        \
            for (uint32_t k = 0; k < i; k++)                                                       \
                CU_ASSERT_STRING_NOT_EQUAL(text((type)i), text((type)k));                          \
        }                                                                                          \
        CU_ASSERT_STRING_EQUAL(text((type)(count)), "?");                                          \
        CU_ASSERT_STRING_EQUAL(text((type)((count) + 1000)), "?");                                 \
    } while (0)

static void words_are_distinct_and_end(void)
{
    EXPECT_WORDS(ronde_finding_text, enum ronde_finding_code, RONDE_FINDING_COUNT);
    EXPECT_WORDS(ronde_status_text, enum ronde_status, RONDE_CANCELLED + 1);
    EXPECT_WORDS(ronde_v_form_text, enum ronde_v_form, RONDE_V_FORM_COUNT);
    EXPECT_WORDS(ronde_protocol_text, enum ronde_protocol, RONDE_PROTOCOL_COUNT);
    EXPECT_WORDS(ronde_level_text, enum ronde_level, RONDE_LEVEL_COUNT);
    EXPECT_WORDS(ronde_why_part_text, enum ronde_why_part, RONDE_WHY_PART_COUNT);
    EXPECT_WORDS(ronde_gpu_path_text, enum ronde_gpu_path, RONDE_GPU_PATH_UNKNOWN);
    EXPECT_WORDS(ronde_gpu_path_meaning, enum ronde_gpu_path, RONDE_GPU_PATH_COUNT);
    EXPECT_WORDS(ronde_fabric_name, enum ronde_fabric, RONDE_FABRIC_COUNT);
}

static void first_error_wins(void)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_fail_at(&error, RONDE_BAD_INPUT, 7, "value %d", 3), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(ronde_fail(&error, RONDE_IO, "later"), RONDE_IO);
    CU_ASSERT_EQUAL(error.status, RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(error.line, 7);
    CU_ASSERT_STRING_EQUAL(error.message, "value 3");
    CU_ASSERT_EQUAL(ronde_fail(NULL, RONDE_DEVICE, "nobody listens"), RONDE_DEVICE);
}

static void messages_are_one_line_and_end(void)
{
    char longest[2 * RONDE_ERROR_MESSAGE_BYTES];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_fail(&error, RONDE_IO, "a\nb\033[1m%s", longest), RONDE_IO);
    CU_ASSERT_EQUAL(strlen(error.message), RONDE_ERROR_MESSAGE_BYTES - 1);
    CU_ASSERT_EQUAL(strncmp(error.message, "a?b?[1mx", 8), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"collective_names_read_back", collective_names_read_back},
        {"collective_spellings", collective_spellings},
        {"collective_blocks", collective_blocks},
        {"collective_traits", collective_traits},
        {"dtype_names_and_sizes", dtype_names_and_sizes},
        {"op_names_read_back", op_names_read_back},
        {"types_and_operators_keep_their_numbers", types_and_operators_keep_their_numbers},
        {"step_operations_do_what_their_names_say", step_operations_do_what_their_names_say},
        {"finding_and_status_names", finding_and_status_names},
        {"words_are_distinct_and_end", words_are_distinct_and_end},
        {"first_error_wins", first_error_wins},
        {"messages_are_one_line_and_end", messages_are_one_line_and_end},
    };
    return suite_run("names", cases, sizeof cases / sizeof cases[0]);
}
