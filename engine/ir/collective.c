/* Names and traits of collectives, element types and operators: tables made from the lists of collective.h. */
#include "ronde/collective.h"

#include <stddef.h>
#include <string.h>

/* Another spelling of an element type or an operator; the canonical ones are in the lists. */
struct alias {
    const char *text;
    uint32_t value;
};

/* NCCL's and MPI's names and the short ones. NCCL's "char" is int8 wherever C's is unsigned, too. */
static const struct alias dtype_aliases[] = {
    {"char", RONDE_INT8},          {"i8", RONDE_INT8},
    {"u8", RONDE_UINT8},           {"int", RONDE_INT32},
    {"i32", RONDE_INT32},          {"u32", RONDE_UINT32},
    {"i64", RONDE_INT64},          {"u64", RONDE_UINT64},
    {"half", RONDE_FLOAT16},       {"f16", RONDE_FLOAT16},
    {"bf16", RONDE_BFLOAT16},      {"float", RONDE_FLOAT32},
    {"f32", RONDE_FLOAT32},        {"double", RONDE_FLOAT64},
    {"f64", RONDE_FLOAT64},        {"f8e4m3", RONDE_FLOAT8_E4M3},
    {"f8e5m2", RONDE_FLOAT8_E5M2}, {"short", RONDE_INT16},
    {"i16", RONDE_INT16},          {"ushort", RONDE_UINT16},
    {"u16", RONDE_UINT16},         {NULL, RONDE_DTYPE_COUNT},
};

/* MPI's land, lor and lxor are not among them: of integers they are truth values, which bool has and integers have not. */
static const struct alias op_aliases[] = {
    {"product", RONDE_PROD},
    {"mulsum", RONDE_PREMUL_SUM},
    {NULL, RONDE_OP_COUNT},
};

static const char *const collective_texts[] = {RONDE_COLLECTIVE_LIST(RONDE_LIST_TEXT)};

static const char *const dtype_texts[] = {
#define DTYPE_TEXT(name, text, bytes) text,
    RONDE_DTYPE_LIST(DTYPE_TEXT)
#undef DTYPE_TEXT
};

static const uint32_t dtype_sizes[] = {
#define DTYPE_BYTES(name, text, bytes) bytes,
    RONDE_DTYPE_LIST(DTYPE_BYTES)
#undef DTYPE_BYTES
};

static const char *const op_texts[] = {RONDE_OP_LIST(RONDE_LIST_TEXT)};

/* Designated by enumerator, so that a collective added to the list without traits reads as "nothing". */
static const struct ronde_collective_traits traits[RONDE_COLLECTIVE_COUNT] = {
    [RONDE_BROADCAST] = {.has_root = true, .in_at_root = true, .has_in_place = true},
    [RONDE_SCATTER] = {.in_per_rank = true, .has_root = true, .in_at_root = true, .has_in_place = true},
    [RONDE_GATHER] = {.out_per_rank = true,
                      .has_root = true,
                      .out_at_root = true,
                      .has_in_place = true},
    [RONDE_ALL_GATHER] = {.out_per_rank = true, .has_in_place = true},
    [RONDE_REDUCE] = {.has_root = true, .reduces = true, .out_at_root = true, .has_in_place = true},
    [RONDE_ALL_REDUCE] = {.reduces = true, .has_in_place = true},
    [RONDE_REDUCE_SCATTER] = {.in_per_rank = true, .reduces = true, .has_in_place = true},
    [RONDE_ALL_TO_ALL] = {.in_per_rank = true, .out_per_rank = true},
    [RONDE_BARRIER] = {.has_in_place = true},
    [RONDE_SEND_RECV] = {.has_in_place = false},
};

const struct ronde_collective_traits *ronde_collective_traits(enum ronde_collective collective)
{
    return (uint32_t)collective < RONDE_COLLECTIVE_COUNT ? &traits[collective] : NULL;
}

/* The one place that states that barrier moves no data. */
static uint32_t blocks_of(enum ronde_collective collective, bool is_per_rank, uint32_t ranks)
{
    if (collective == RONDE_BARRIER)
        return 0;
    return is_per_rank ? ranks : 1;
}

uint32_t ronde_collective_in_blocks(enum ronde_collective collective, uint32_t ranks)
{
    return blocks_of(collective, traits[collective].in_per_rank, ranks);
}

uint32_t ronde_collective_out_blocks(enum ronde_collective collective, uint32_t ranks)
{
    return blocks_of(collective, traits[collective].out_per_rank, ranks);
}

const char *ronde_collective_text(enum ronde_collective collective)
{
    return (uint32_t)collective < RONDE_COLLECTIVE_COUNT ? collective_texts[collective] : "?";
}

const char *ronde_dtype_text(enum ronde_dtype dtype)
{
    return (uint32_t)dtype < RONDE_DTYPE_COUNT ? dtype_texts[dtype] : "?";
}

const char *ronde_op_text(enum ronde_op op)
{
    return (uint32_t)op < RONDE_OP_COUNT ? op_texts[op] : "?";
}

uint32_t ronde_dtype_bytes(enum ronde_dtype dtype)
{
    return dtype_sizes[dtype];
}

/* Equal up to the joint between words: "_" may be written "-" or left out, so all-reduce and allreduce are names. */
static bool same_name(const char *name, const char *text)
{
    for (; *name != '\0'; name++) {
        if (*name == '_' && *text != '_' && *text != '-')
            continue;
        if (*name != *text && !(*name == '_' && *text == '-'))
            return false;
        text++;
    }
    return *text == '\0';
}

bool ronde_collective_parse(const char *text, enum ronde_collective *out)
{
    for (uint32_t i = 0; i < RONDE_COLLECTIVE_COUNT; i++) {
        if (same_name(collective_texts[i], text)) {
            *out = (enum ronde_collective)i;
            return true;
        }
    }
    return false;
}

/* The value that a text spells; `count` if it spells none, which is what the last alias stands for. */
static uint32_t find_value(const char *const *texts, uint32_t count, const struct alias *alias,
                           const char *text)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(texts[i], text) == 0)
            return i;
    while (alias->text && strcmp(alias->text, text) != 0)
        alias++;
    return alias->value;
}

bool ronde_dtype_parse(const char *text, enum ronde_dtype *out)
{
    const uint32_t value = find_value(dtype_texts, RONDE_DTYPE_COUNT, dtype_aliases, text);
    if (value < RONDE_DTYPE_COUNT)
        *out = (enum ronde_dtype)value;
    return value < RONDE_DTYPE_COUNT;
}

bool ronde_op_parse(const char *text, enum ronde_op *out)
{
    const uint32_t value = find_value(op_texts, RONDE_OP_COUNT, op_aliases, text);
    if (value < RONDE_OP_COUNT)
        *out = (enum ronde_op)value;
    return value < RONDE_OP_COUNT;
}

const char *ronde_op_refusal(enum ronde_op op, enum ronde_dtype dtype)
{
    const bool is_bitwise = op == RONDE_BAND || op == RONDE_BOR || op == RONDE_BXOR;
    if (is_bitwise && ronde_dtype_is_floating(dtype))
        return "band, bor and bxor take integers and bool";
    if (dtype == RONDE_BOOL && op == RONDE_AVG)
        return "a truth value cannot be divided; sum is \"or\", prod is \"and\"";
    if (dtype == RONDE_BOOL && op == RONDE_PREMUL_SUM)
        return "a truth value has no factor; sum is \"or\", prod is \"and\"";
    return NULL;
}

uint32_t ronde_collective_most_blocks(enum ronde_collective collective, uint32_t ranks)
{
    const uint32_t in = ronde_collective_in_blocks(collective, ranks);
    const uint32_t out = ronde_collective_out_blocks(collective, ranks);
    return in > out ? in : out;
}

uint64_t ronde_collective_bytes(enum ronde_collective collective, uint32_t ranks, uint64_t count,
                                enum ronde_dtype dtype)
{
    return count * ronde_dtype_bytes(dtype) * ronde_collective_most_blocks(collective, ranks);
}

double ronde_collective_bus_factor(enum ronde_collective collective, uint32_t ranks)
{
    const double n = ranks;
    switch (collective) {
    case RONDE_ALL_REDUCE:
        return 2.0 * (n - 1.0) / n;
    case RONDE_ALL_GATHER:
    case RONDE_REDUCE_SCATTER:
    case RONDE_ALL_TO_ALL:
    case RONDE_GATHER:
    case RONDE_SCATTER:
        return (n - 1.0) / n;
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
    case RONDE_SEND_RECV:
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
    return 1.0;
}

uint64_t ronde_collective_count(enum ronde_collective collective, uint32_t ranks, uint64_t bytes,
                                enum ronde_dtype dtype)
{
    const uint64_t element =
        (uint64_t)ronde_dtype_bytes(dtype) * ronde_collective_most_blocks(collective, ranks);
    if (bytes == 0 || element == 0)
        return 0;
    return bytes < element ? 1 : bytes / element;
}
