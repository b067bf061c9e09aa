/*
 * Integers of 16 bits, truth values and bitwise operators: every pair of type and operator against a plain loop in C, on
 * every backend that runs in one process; what is only moved keeps its bytes; what a type lacks is refused.
 */
#include "support/buffers.h"
#include "support/emulated_gpu.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <string.h>

#define RANKS 3u
#define COUNT 1031u

/* Inputs, factors and outputs of all ranks; elements of at most 8 bytes. */
static struct {
    _Alignas(16) unsigned char in[RANKS][COUNT * 8];
    _Alignas(16) unsigned char out[RANKS][COUNT * 8];
    _Alignas(16) unsigned char wanted[COUNT * 8];
    _Alignas(16) unsigned char factors[RANKS * 8];
} memory;

/* What an integer type gives: sums and products wrap, quotients truncate toward zero. */
#define PLAIN_LOOP(name, type, wide)                                                               \
    static void plain_##name(enum ronde_op op)                                                     \
    {                                                                                              \
        const type *const factor = (const type *)(const void *)memory.factors;                     \
        type *const wanted = (type *)(void *)memory.wanted;                                        \
        for (uint32_t i = 0; i < COUNT; i++) {                                                     \
            type all = ((const type *)(const void *)memory.in[0])[i];                              \
            if (op == RONDE_PREMUL_SUM)                                                            \
                all = (type)((wide)all * (wide)factor[0]);                                         \
            for (uint32_t rank = 1; rank < RANKS; rank++) {                                        \
                const type one = ((const type *)(const void *)memory.in[rank])[i];                 \
                if (op == RONDE_SUM || op == RONDE_AVG)                                            \
                    all = (type)((wide)all + (wide)one);                                           \
                else if (op == RONDE_PREMUL_SUM)                                                   \
                    all = (type)((wide)all + (wide)one * (wide)factor[rank]);                      \
                else if (op == RONDE_PROD)                                                         \
                    all = (type)((wide)all * (wide)one);                                           \
                else if (op == RONDE_MIN)                                                          \
                    all = one < all ? one : all;                                                   \
                else if (op == RONDE_MAX)                                                          \
                    all = one > all ? one : all;                                                   \
                else if (op == RONDE_BAND)                                                         \
                    all = (type)(all & one);                                                       \
                else if (op == RONDE_BOR)                                                          \
                    all = (type)(all | one);                                                       \
                else                                                                               \
                    all = (type)(all ^ one);                                                       \
            }                                                                                      \
            wanted[i] = (type)(op == RONDE_AVG ? all / (type)RANKS : all);                         \
        }                                                                                          \
    }

PLAIN_LOOP(INT8, int8_t, uint64_t)
PLAIN_LOOP(UINT8, uint8_t, uint64_t)
PLAIN_LOOP(INT16, int16_t, uint64_t)
PLAIN_LOOP(UINT16, uint16_t, uint64_t)
PLAIN_LOOP(INT32, int32_t, uint64_t)
PLAIN_LOOP(UINT32, uint32_t, uint64_t)
PLAIN_LOOP(INT64, int64_t, uint64_t)
PLAIN_LOOP(UINT64, uint64_t, uint64_t)

/* What truth values give: how many are true decides. */
static void plain_BOOL(enum ronde_op op)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t are_true = 0;
        for (uint32_t rank = 0; rank < RANKS; rank++)
            are_true += memory.in[rank][i] != 0;
        if (op == RONDE_SUM || op == RONDE_MAX || op == RONDE_BOR)
            memory.wanted[i] = are_true > 0;
        else if (op == RONDE_PROD || op == RONDE_MIN || op == RONDE_BAND)
            memory.wanted[i] = are_true == RANKS;
        else
            memory.wanted[i] = are_true % 2;
    }
}

/* The types whose elements have bits, each with its loop. */
static const struct {
    enum ronde_dtype dtype;
    void (*plain)(enum ronde_op op);
} types[] = {
    {RONDE_BOOL, plain_BOOL},     {RONDE_INT8, plain_INT8},     {RONDE_UINT8, plain_UINT8},
    {RONDE_INT16, plain_INT16},   {RONDE_UINT16, plain_UINT16}, {RONDE_INT32, plain_INT32},
    {RONDE_UINT32, plain_UINT32}, {RONDE_INT64, plain_INT64},   {RONDE_UINT64, plain_UINT64},
};

#define TYPES (sizeof types / sizeof types[0])

/* Any bits; of truth values a third are 0, so that no result is the same everywhere. */
static void fill(enum ronde_dtype dtype)
{
    uint64_t random = 11 + (uint64_t)dtype;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < sizeof memory.in[0]; i++) {
            const uint64_t draw = buffers_draw(&random);
            const bool is_false = dtype == RONDE_BOOL && draw >> 32 & 1;
            memory.in[rank][i] = is_false ? 0 : (unsigned char)draw;
        }
    for (uint32_t i = 0; i < sizeof memory.factors; i++)
        memory.factors[i] = (unsigned char)buffers_draw(&random);
}

/* A backend at work on one schedule. */
struct bench {
    const struct ronde_backend *backend;
    struct ronde_schedule *schedule;
    void *self;
};

static struct ronde_launch launch_of(enum ronde_dtype dtype, enum ronde_op op)
{
    static void *in[RANKS], *out[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        in[rank] = memory.in[rank];
        out[rank] = memory.out[rank];
    }
    return (struct ronde_launch){
        .count = COUNT, .dtype = dtype, .op = op, .in = in, .out = out, .factors = memory.factors};
}

static void run(const struct bench *bench, enum ronde_dtype dtype, enum ronde_op op)
{
    const struct ronde_launch launch = launch_of(dtype, op);
    struct ronde_result result;
    struct ronde_error error = {0};
    memset(memory.out, 0xEE, sizeof memory.out);
    const enum ronde_status status =
        ronde_backend_run_once(bench->backend, bench->self, bench->schedule, &launch, &result,
                               &error);
    if (status != RONDE_OK)
        suite_note("%s: %s", bench->backend->name, error.message);
    CU_ASSERT_EQUAL(status, RONDE_OK);
}

/* Whether all ranks hold what is wanted, and nothing was written behind it. */
static bool is_right(enum ronde_dtype dtype)
{
    const size_t bytes = (size_t)COUNT * ronde_dtype_bytes(dtype);
    bool is_right = true;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        is_right = is_right && memcmp(memory.out[rank], memory.wanted, bytes) == 0 &&
                   (bytes == sizeof memory.out[0] || memory.out[rank][bytes] == 0xEE);
    return is_right;
}

/* All backends whose ranks are threads or emulated devices, one after another. */
static void on_every_backend(enum ronde_collective collective, const char *algorithm,
                             uint32_t ranks, void (*visit)(const struct bench *bench))
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    const struct ronde_backend *const backends[] = {&ronde_backend_host, &ronde_backend_cpu,
                                                    &emulated_backend};
    for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
        struct bench bench = {.backend = backends[b]};
        struct ronde_machine machine;
        struct ronde_error error = {0};
        if (bench.backend->probe(&machine, &error) != RONDE_OK) {
            suite_note("not run on %s: %s", bench.backend->name, error.message);
            continue;
        }
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &bench.schedule, NULL) ==
                        RONDE_OK);
        CU_ASSERT_FATAL(bench.backend->open(&machine, ronde_mem_default(), &bench.self, NULL) ==
                        RONDE_OK);
        visit(&bench);
        bench.backend->close(bench.self);
        ronde_schedule_destroy(bench.schedule);
    }
}

static void reduce_all_types(const struct bench *bench)
{
    for (size_t t = 0; t < TYPES; t++)
        for (uint32_t op = 0; op < RONDE_OP_COUNT; op++) {
            if (ronde_op_refusal((enum ronde_op)op, types[t].dtype))
                continue;
            fill(types[t].dtype);
            types[t].plain((enum ronde_op)op);
            run(bench, types[t].dtype, (enum ronde_op)op);
            CU_ASSERT(is_right(types[t].dtype));
            if (!is_right(types[t].dtype))
                suite_note("%s: %s %s", bench->backend->name, ronde_dtype_text(types[t].dtype),
                           ronde_op_text((enum ronde_op)op));
        }
}

static void every_type_and_operator_is_the_plain_loop(void)
{
    on_every_backend(RONDE_ALL_REDUCE, "ring", RANKS, reduce_all_types);
    on_every_backend(RONDE_ALL_REDUCE, "tree", RANKS, reduce_all_types);
}

/* Every byte there is, from rank 0. */
static void broadcast_bytes(const struct bench *bench)
{
    fill(RONDE_BOOL);
    for (uint32_t i = 0; i < COUNT; i++)
        memory.in[0][i] = memory.wanted[i] = (unsigned char)i;
    run(bench, RONDE_BOOL, RONDE_SUM);
    CU_ASSERT(is_right(RONDE_BOOL));
}

/* A reduction over one rank combines nothing. */
static void reduce_alone(const struct bench *bench)
{
    fill(RONDE_BOOL);
    run(bench, RONDE_BOOL, RONDE_BXOR);
    CU_ASSERT(memcmp(memory.out[0], memory.in[0], COUNT) == 0);
}

static void truth_values_that_are_only_moved_keep_their_bytes(void)
{
    on_every_backend(RONDE_BROADCAST, "binomial", RANKS, broadcast_bytes);
    on_every_backend(RONDE_ALL_REDUCE, "ring", 1, reduce_alone);
}

/* By hand, so that plain loops and kernels cannot be wrong together. */
static void known_results(const struct bench *bench)
{
    static const int16_t in[RANKS][4] = {{-7, 32767, 0x0ff0, 100},
                                         {-1, 1, 0x00ff, 200},
                                         {0, 0, 0x003c, 1}};
    int16_t out[4];
    for (uint32_t rank = 0; rank < RANKS; rank++)
        memcpy(memory.in[rank], in[rank], sizeof in[rank]);
    run(bench, RONDE_INT16, RONDE_AVG);
    memcpy(out, memory.out[2], sizeof out);
    /* -8 / 3; a sum that wraps to -32768, / 3. */
    CU_ASSERT(out[0] == -2 && out[1] == -10922 && out[3] == 100);
    run(bench, RONDE_UINT16, RONDE_AVG);
    memcpy(out, memory.out[1], sizeof out);
    /* 65528 / 3, 32768 / 3. */
    CU_ASSERT(out[0] == 21842 && out[1] == 10922 && out[3] == 100);
    run(bench, RONDE_INT16, RONDE_BAND);
    memcpy(out, memory.out[0], sizeof out);
    CU_ASSERT(out[0] == 0 && out[2] == 0x0030 && out[3] == 0);
    run(bench, RONDE_INT16, RONDE_BOR);
    memcpy(out, memory.out[0], sizeof out);
    CU_ASSERT(out[0] == -1 && out[2] == 0x0fff && out[3] == 237);
    run(bench, RONDE_INT16, RONDE_BXOR);
    memcpy(out, memory.out[0], sizeof out);
    CU_ASSERT(out[0] == 6 && out[1] == 32766 && out[2] == (0x0f0f ^ 0x003c) && out[3] == 173);
}

static void known_results_come_out(void)
{
    on_every_backend(RONDE_ALL_REDUCE, "ring", RANKS, known_results);
}

/* What a launch is checked for, with the reason in the message. */
static void refuse_pairs(const struct bench *bench)
{
    uint32_t refused = 0;
    for (uint32_t d = 0; d < RONDE_DTYPE_COUNT; d++)
        for (uint32_t o = 0; o < RONDE_OP_COUNT; o++) {
            const enum ronde_dtype dtype = (enum ronde_dtype)d;
            const enum ronde_op op = (enum ronde_op)o;
            const struct ronde_launch launch = launch_of(dtype, op);
            struct ronde_error error = {0};
            const char *const reason = ronde_op_refusal(op, dtype);
            const enum ronde_status status =
                bench->backend->supports(bench->self, bench->schedule, &launch, &error);
            CU_ASSERT_EQUAL(reason == NULL, reference_is_defined(dtype, op));
            CU_ASSERT_EQUAL(status, reason ? RONDE_UNSUPPORTED : RONDE_OK);
            CU_ASSERT(!reason || strstr(error.message, reason) != NULL);
            refused += reason != NULL;
        }
    CU_ASSERT_EQUAL(refused, 2 + 6 * 3);
    const struct ronde_launch launch = launch_of(RONDE_FLOAT32, RONDE_BAND);
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_launch_check(bench->schedule, &launch, &error), RONDE_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(error.message, "launch: op band, dtype float32: band, bor and bxor take "
                                          "integers and bool");
}

static void operators_that_a_type_lacks_are_refused_with_a_reason(void)
{
    on_every_backend(RONDE_ALL_REDUCE, "ring", RANKS, refuse_pairs);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_type_and_operator_is_the_plain_loop", every_type_and_operator_is_the_plain_loop},
        {"truth_values_that_are_only_moved_keep_their_bytes",
         truth_values_that_are_only_moved_keep_their_bytes},
        {"known_results_come_out", known_results_come_out},
        {"operators_that_a_type_lacks_are_refused_with_a_reason",
         operators_that_a_type_lacks_are_refused_with_a_reason},
    };
    return suite_run("types", cases, sizeof cases / sizeof cases[0]);
}
