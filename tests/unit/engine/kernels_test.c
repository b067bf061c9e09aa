/* The kernels: every level that this machine has against single elements, and the same launch at every level. */
#include "engine/execute/elements.h"
#include "engine/execute/kernels.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <string.h>

/* Longest array, bytes; room around it shows stray writes. */
#define MOST_BYTES 2048u
#define ROOM_BYTES 128u

/* What a kernel does to elements: two operands and a factor or a number of ranks. */
enum work { SUM, PROD, MIN, MAX, SCALE, SCALE_SUM, QUOTIENT, BAND, BOR, BXOR, WORK_COUNT };

static const char *const work_texts[] = {"sum",       "prod",     "min",  "max", "scale",
                                         "scale_sum", "quotient", "band", "bor", "bxor"};

/* The operator whose kernels do it. */
static enum ronde_op operator_of(enum work work)
{
    static const enum ronde_op ops[WORK_COUNT] = {RONDE_SUM, RONDE_PROD,       RONDE_MIN,
                                                  RONDE_MAX, RONDE_PREMUL_SUM, RONDE_PREMUL_SUM,
                                                  RONDE_AVG, RONDE_BAND,       RONDE_BOR,
                                                  RONDE_BXOR};
    return ops[work];
}

/* Whether a type has kernels for it: bool has only bitwise ones, which are its sums and products too. */
static bool is_here(enum ronde_dtype dtype, enum work work)
{
    return reference_is_defined(dtype, operator_of(work)) && (dtype != RONDE_BOOL || work >= BAND);
}

static bool combines(enum work work)
{
    return work <= MAX || work >= BAND;
}

#define RANKS 7u

/* Operands of one element, and the case of a type whose result is `value`. */
#define ELEMENT_CASE(dtype, value)                                                                 \
    case RONDE_##dtype: {                                                                          \
        ronde_element_##dtype x, y, f, out;                                                        \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        memcpy(&f, factor, sizeof f);                                                              \
        out = (value);                                                                             \
        memcpy(to, &out, sizeof out);                                                              \
        break;                                                                                     \
    }

#define NUMBER(dtype)                                                                              \
    work == SUM         ? ronde_SUM_##dtype(x, y)                                                  \
    : work == PROD      ? ronde_PROD_##dtype(x, y)                                                 \
    : work == MIN       ? ronde_MIN_##dtype(x, y)                                                  \
    : work == MAX       ? ronde_MAX_##dtype(x, y)                                                  \
    : work == SCALE     ? ronde_PROD_##dtype(x, f)                                                 \
    : work == SCALE_SUM ? ronde_SUM_##dtype(ronde_PROD_##dtype(x, f), y)                           \
                        : ronde_QUOTIENT_##dtype(x, RANKS)
#define BITS(dtype)                                                                                \
    work == BAND  ? ronde_BAND_##dtype(x, y)                                                       \
    : work == BOR ? ronde_BOR_##dtype(x, y)                                                        \
                  : ronde_BXOR_##dtype(x, y)

#define INTEGER_CASE(dtype, ...)                                                                   \
    ELEMENT_CASE(dtype, (ronde_element_##dtype)(work >= BAND ? (BITS(dtype)) : (NUMBER(dtype))))
#define FLOATING_CASE(dtype, ...) ELEMENT_CASE(dtype, (NUMBER(dtype)))
#define BOOL_CASE(dtype) ELEMENT_CASE(dtype, ((void)f, (BITS(dtype))))

/* The same for one element, by the one definition there is. */
static void compute_element(enum ronde_dtype dtype, enum work work, void *to, const void *a,
                            const void *b, const void *factor)
{
    switch (dtype) {
        RONDE_INTEGER_LIST(INTEGER_CASE)
        RONDE_BOOL_LIST(BOOL_CASE)
        RONDE_FLOATING_LIST(FLOATING_CASE)
        RONDE_NARROW_LIST(FLOATING_CASE)
    case RONDE_DTYPE_COUNT:
        break;
    }
}

/* What one call is about. */
struct call {
    enum ronde_level level;
    enum ronde_dtype dtype;
    enum work work;
    uint64_t count;
    size_t offsets[3]; /* of result and operands from a line's start, bytes */
    int same;          /* the result lies on operand 1 or 2; 0 = on neither */
};

static void run_kernel(const struct call *call, void *to, const void *a, const void *b,
                       const void *factor)
{
    const struct ronde_kernels kernels =
        ronde_kernels_find(call->level, call->dtype, operator_of(call->work));
    if (combines(call->work))
        kernels.combine(to, a, b, call->count);
    else if (call->work == SCALE)
        kernels.scale(to, a, factor, call->count);
    else if (call->work == SCALE_SUM)
        kernels.scale_sum(to, a, b, factor, call->count);
    else
        kernels.divide(to, RANKS, call->count);
}

/* Any bits; some elements are special in most types: zeros, infinities, NaNs, subnormals, extremes. */
static void fill(unsigned char *bytes, size_t size, uint64_t *state)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = buffers_draw(state);
        const uint64_t kind = buffers_draw(state) % 8;
        if (kind == 0)
            word = buffers_draw(state) & 0x8080808080808080u;
        else if (kind == 1)
            word |= 0x7f7f7f7f7f7f7f7fu;
        else if (kind == 2)
            word &= 0x8003800780038007u;
        memcpy(bytes + at, &word, size - at < 8 ? size - at : 8);
    }
}

static bool is_alike(enum ronde_dtype dtype, const unsigned char *actual,
                     const unsigned char *expected)
{
    return memcmp(actual, expected, ronde_dtype_bytes(dtype)) == 0 ||
           (reference_is_nan(dtype, actual) && reference_is_nan(dtype, expected));
}

/* Whether a call writes what it should, and nothing else. */
static bool is_right(const struct call *call, uint64_t *state)
{
    static unsigned char memory[3][MOST_BYTES + 2 * ROOM_BYTES] __attribute__((aligned(64)));
    static unsigned char before[3][MOST_BYTES + 2 * ROOM_BYTES];
    const size_t element = ronde_dtype_bytes(call->dtype);
    unsigned char factor[8];
    for (int k = 0; k < 3; k++)
        fill(memory[k], sizeof memory[k], state);
    fill(factor, sizeof factor, state);
    memcpy(before, memory, sizeof before);
    /* avg divides in place. */
    const int same = call->work == QUOTIENT ? 1 : call->same;
    const size_t at[3] = {ROOM_BYTES + call->offsets[same], ROOM_BYTES + call->offsets[1],
                          ROOM_BYTES + call->offsets[2]};
    run_kernel(call, memory[same] + at[0], memory[1] + at[1], memory[2] + at[2], factor);
    const size_t end = at[0] + call->count * element;
    for (uint64_t i = 0; i < call->count; i++) {
        unsigned char wanted[8];
        compute_element(call->dtype, call->work, wanted, before[1] + at[1] + i * element,
                        before[2] + at[2] + i * element, factor);
        if (!is_alike(call->dtype, memory[same] + at[0] + i * element, wanted))
            return false;
    }
    for (int k = 0; k < 3; k++)
        if (k != same && memcmp(memory[k], before[k], sizeof before[k]) != 0)
            return false;
    return memcmp(memory[same], before[same], at[0]) == 0 &&
           memcmp(memory[same] + end, before[same] + end, sizeof before[same] - end) == 0;
}

/* One type and kernel: all short lengths, then longer ones, at any alignment, out of place and on an operand. */
static uint32_t wrong_calls(enum ronde_level level, enum ronde_dtype dtype, enum work work)
{
    const size_t element = ronde_dtype_bytes(dtype);
    uint64_t state = 1 + (uint64_t)dtype * WORK_COUNT + (uint64_t)work;
    uint32_t wrong = 0;
    for (uint64_t k = 0; k < 240; k++) {
        const uint64_t most = MOST_BYTES / element;
        struct call call = {level,     dtype,
                            work,      k < 140 ? k : buffers_draw(&state) % (most + 1),
                            {0, 0, 0}, (int)(k % 3)};
        if (call.count > most)
            call.count = most;
        for (int o = 0; o < 3; o++)
            call.offsets[o] = buffers_draw(&state) % (64 / element) * element;
        if (!is_right(&call, &state) && wrong++ == 0)
            suite_note("%s %s %s: %llu elements", ronde_level_text(level), ronde_dtype_text(dtype),
                       work_texts[work], (unsigned long long)call.count);
    }
    return wrong;
}

static void every_level_computes_what_single_elements_do(void)
{
    uint32_t levels = 0;
    for (uint32_t level = RONDE_LEVEL_PLAIN; level < RONDE_LEVEL_COUNT; level++) {
        if (!ronde_level_is_here((enum ronde_level)level))
            continue;
        levels++;
        for (uint32_t dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++)
            for (uint32_t work = 0; work < WORK_COUNT; work++)
                if (is_here((enum ronde_dtype)dtype, (enum work)work))
                    CU_ASSERT_EQUAL(wrong_calls((enum ronde_level)level, (enum ronde_dtype)dtype,
                                                (enum work)work),
                                    0);
    }
    CU_ASSERT(levels > 0);
    suite_note("%u levels, the widest is %s", levels, ronde_level_text(ronde_level_widest()));
}

/* One kernel on all pairs of bytes, against single elements and, where it combines, against the written rules. */
static uint32_t wrong_pairs(const struct call *call)
{
    static unsigned char a[65536], b[65536], to[65536];
    uint32_t wrong = 0;
    for (uint32_t k = 0; k < 65536; k++) {
        a[k] = (unsigned char)k;
        b[k] = (unsigned char)(k >> 8);
    }
    run_kernel(call, to, a, b, NULL);
    for (uint32_t k = 0; k < 65536; k++) {
        unsigned char element, written;
        compute_element(call->dtype, call->work, &element, &a[k], &b[k], &a[k]);
        reference_combine(call->dtype, operator_of(call->work), &a[k], &b[k], &written);
        wrong +=
            !is_alike(call->dtype, &to[k], &element) || !is_alike(call->dtype, &to[k], &written);
    }
    return wrong;
}

/* All there is to know of a type of 8 bits: every pair. */
static void every_pair_of_bytes_is_combined_alike_at_all_levels(void)
{
    static const enum ronde_dtype types[] = {RONDE_FLOAT8_E4M3, RONDE_FLOAT8_E5M2, RONDE_INT8,
                                             RONDE_UINT8, RONDE_BOOL};
    for (uint32_t level = RONDE_LEVEL_PLAIN; level < RONDE_LEVEL_COUNT; level++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            for (uint32_t work = 0; work < WORK_COUNT; work++) {
                const struct call call = {
                    (enum ronde_level)level, types[t], (enum work)work, 65536, {0, 0, 0}, 0};
                if (ronde_level_is_here(call.level) && combines(call.work) &&
                    is_here(call.dtype, call.work))
                    CU_ASSERT_EQUAL(wrong_pairs(&call), 0);
            }
}

/* Every number of 16 bits with some others. */
static void every_half_is_combined_alike_at_all_levels(void)
{
    static const enum ronde_dtype types[] = {RONDE_FLOAT16, RONDE_BFLOAT16};
    static const uint16_t others[] = {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c01, 0x7bff,
                                      0x7c00, 0xfc00, 0x7e00, 0x3f80, 0xbf81, 0x7f7f, 0x1234};
    static uint16_t a[65536], b[65536], to[65536];
    for (uint32_t k = 0; k < 65536; k++)
        a[k] = (uint16_t)k;
    for (uint32_t level = RONDE_LEVEL_PLAIN; level < RONDE_LEVEL_COUNT; level++)
        for (uint32_t o = 0; o < sizeof others / sizeof others[0]; o++)
            for (uint32_t t = 0; t < 2 * 4 && ronde_level_is_here((enum ronde_level)level); t++) {
                const struct call call = {
                    (enum ronde_level)level, types[t / 4], (enum work)(t % 4), 65536, {0, 0, 0}, 0};
                for (uint32_t k = 0; k < 65536; k++)
                    b[k] = others[o];
                run_kernel(&call, to, a, b, NULL);
                uint32_t wrong = 0;
                for (uint32_t k = 0; k < 65536; k++) {
                    uint16_t wanted;
                    compute_element(call.dtype, call.work, &wanted, &a[k], &b[k], &a[k]);
                    wrong +=
                        !is_alike(call.dtype, (unsigned char *)&to[k], (unsigned char *)&wanted);
                }
                CU_ASSERT_EQUAL(wrong, 0);
            }
}

/* Copies past the caches, at any alignment. */
static void streams_copy_every_byte_and_no_other(void)
{
    static unsigned char from[1200] __attribute__((aligned(64))), to[1200], wanted[1200];
    uint64_t state = 5;
    fill(from, sizeof from, &state);
    for (uint32_t level = RONDE_LEVEL_PLAIN; level < RONDE_LEVEL_COUNT; level++)
        for (size_t k = 0; k < 400 && ronde_level_is_here((enum ronde_level)level); k++) {
            const size_t source = buffers_draw(&state) % 70;
            const size_t target = buffers_draw(&state) % 70;
            const size_t bytes = k < 200 ? k : buffers_draw(&state) % 1000;
            memset(to, 0x5a, sizeof to);
            memset(wanted, 0x5a, sizeof wanted);
            memcpy(wanted + target, from + source, bytes);
            ronde_kernels_find((enum ronde_level)level, RONDE_UINT8, RONDE_SUM)
                .stream(to + target, from + source, bytes);
            CU_ASSERT(memcmp(to, wanted, sizeof to) == 0);
        }
}

/* A launch requests a level; host ignores it. */
static void launches_choose_a_level_and_get_the_same_bits(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 3};
    const struct buffers_shape shape = {.collective = RONDE_ALL_REDUCE,
                                        .ranks = 3,
                                        .count = 5003,
                                        .dtype = RONDE_BFLOAT16,
                                        .op = RONDE_AVG,
                                        .data = BUFFERS_BITS,
                                        .seed = 3};
    struct ronde_schedule *schedule;
    struct buffers plain, wide;
    char text[256];
    struct ronde_machine machine;
    struct ronde_result result;
    struct ronde_error error = {0};
    const struct ronde_backend *cpu = &ronde_backend_cpu;
    void *self;
    if (cpu->probe(&machine, &error) != RONDE_OK) {
        suite_skip("%s", error.message);
        return;
    }
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(cpu->open(&machine, ronde_mem_default(), &self, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(buffers_create(&shape, &plain) && buffers_create(&shape, &wide));
    struct ronde_launch launch = buffers_launch(&plain);
    launch.level = RONDE_LEVEL_PLAIN;
    CU_ASSERT(ronde_backend_run_once(cpu, self, schedule, &launch, &result, &error) == RONDE_OK);
    for (uint32_t level = 0; level < RONDE_LEVEL_COUNT; level++) {
        buffers_fill(&wide);
        launch = buffers_launch(&wide);
        launch.level = (enum ronde_level)level;
        error = (struct ronde_error){0};
        const enum ronde_status status =
            ronde_backend_run_once(cpu, self, schedule, &launch, &result, &error);
        if (ronde_level_is_here((enum ronde_level)level)) {
            CU_ASSERT_EQUAL(status, RONDE_OK);
            CU_ASSERT_FALSE(buffers_differ(&wide, &plain, text, sizeof text));
        } else {
            CU_ASSERT_EQUAL(status, RONDE_UNSUPPORTED);
            CU_ASSERT(strstr(error.message, "this build and processor go up to") != NULL);
        }
    }
    launch.level = RONDE_LEVEL_COUNT;
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(ronde_launch_check(schedule, &launch, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(error.message, "launch: level 4, there are 4");
    buffers_destroy(&wide);
    buffers_destroy(&plain);
    cpu->close(self);
    ronde_schedule_destroy(schedule);
}

static void levels_have_names(void)
{
    CU_ASSERT_STRING_EQUAL(ronde_level_text(RONDE_LEVEL_AVX2), "avx2");
    CU_ASSERT_STRING_EQUAL(ronde_level_text(RONDE_LEVEL_COUNT), "?");
    CU_ASSERT(ronde_level_is_here(RONDE_LEVEL_WIDEST) && ronde_level_is_here(RONDE_LEVEL_PLAIN));
    CU_ASSERT_FALSE(ronde_level_is_here(RONDE_LEVEL_COUNT));
    CU_ASSERT(ronde_level_widest() != RONDE_LEVEL_WIDEST);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_level_computes_what_single_elements_do",
         every_level_computes_what_single_elements_do},
        {"every_pair_of_bytes_is_combined_alike_at_all_levels",
         every_pair_of_bytes_is_combined_alike_at_all_levels},
        {"every_half_is_combined_alike_at_all_levels", every_half_is_combined_alike_at_all_levels},
        {"streams_copy_every_byte_and_no_other", streams_copy_every_byte_and_no_other},
        {"launches_choose_a_level_and_get_the_same_bits",
         launches_choose_a_level_and_get_the_same_bits},
        {"levels_have_names", levels_have_names},
    };
    return suite_run("kernels", cases, sizeof cases / sizeof cases[0]);
}
