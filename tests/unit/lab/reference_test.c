/*
 * Checking in windows: a run over the whole has the bits of the windows, whatever the algorithm, and one bit that
 * differs is one wrong element, wherever it lies. A process with one rank has no buffers of the others.
 */
#include "support/suite.h"

#include "lab/measure/reference.h"

#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <string.h>

/* Host as it would be if it were not the specification: what runs there is compared with host. */
static struct ronde_backend other_backend;

struct scene {
    struct ronde_target target;
    struct ronde_schedule *schedule;
    struct ronde_benchmark benchmark;
    struct ronde_memory memory;
    struct ronde_reference reference;
};

static void open_scene(struct scene *scene, const struct ronde_compile_request *request,
                       enum ronde_dtype dtype, uint64_t count)
{
    const struct ronde_benchmark_options options = {.dtype = dtype,
                                                    .op = RONDE_SUM,
                                                    .timeout_ns = UINT64_C(30000000000)};
    other_backend = ronde_backend_host;
    *scene = (struct scene){.target = {.backend = &other_backend}};
    CU_ASSERT_EQUAL_FATAL(other_backend.probe(&scene->target.machine, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(other_backend.open(&scene->target.machine, ronde_mem_default(),
                                             &scene->target.self, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(request, ronde_mem_default(), NULL, &scene->schedule, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_benchmark_open(&scene->target, scene->schedule, &options,
                                               &scene->benchmark, NULL),
                          RONDE_OK);
    scene->benchmark.shape.count = count;
    CU_ASSERT_EQUAL_FATAL(ronde_memory_create(&scene->benchmark.shape, &scene->memory, NULL),
                          RONDE_OK);
    ronde_benchmark_aim(&scene->benchmark, &scene->memory, count, false);
    CU_ASSERT_EQUAL_FATAL(ronde_reference_open(&scene->benchmark, &scene->reference, NULL),
                          RONDE_OK);
}

static void close_scene(struct scene *scene)
{
    ronde_reference_close(&scene->reference);
    ronde_memory_destroy(&scene->memory);
    ronde_benchmark_close(&scene->benchmark);
    ronde_schedule_destroy(scene->schedule);
    ronde_target_close(&scene->target);
}

static void run_scene(struct scene *scene)
{
    double unused_ns = 0.0;
    ronde_memory_fill(&scene->memory, &scene->benchmark.shape, RONDE_PATTERN_ANY);
    CU_ASSERT_EQUAL(ronde_benchmark_run(&scene->benchmark, &unused_ns, NULL), RONDE_OK);
}

static uint64_t count_wrong(struct scene *scene)
{
    uint64_t wrong = UINT64_MAX;
    CU_ASSERT_EQUAL(ronde_reference_wrong(&scene->reference, &wrong, NULL), RONDE_OK);
    return wrong;
}

/* Spoils one byte of a rank's output and mends it. */
static void expect_one(struct scene *scene, uint32_t rank, size_t byte)
{
    unsigned char *out = scene->memory.out[rank];
    out[byte] ^= 1;
    CU_ASSERT_EQUAL(count_wrong(scene), 1);
    out[byte] ^= 1;
}

/* Counts that leave chunks empty, uneven, and longer than a window. */
static const uint64_t counts[] = {1, 13, 1027, 150001};

static void check_request(const struct ronde_compile_request *request, enum ronde_dtype dtype)
{
    const bool is_at_root = ronde_collective_traits(request->collective)->out_at_root;
    const uint32_t last = is_at_root ? request->root : request->ranks - 1;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct scene scene;
        open_scene(&scene, request, dtype, counts[i]);
        run_scene(&scene);
        CU_ASSERT_EQUAL(count_wrong(&scene), 0);
        expect_one(&scene, last, 0);
        expect_one(&scene, last, scene.memory.out_bytes / 2);
        expect_one(&scene, last, scene.memory.out_bytes - 1);
        close_scene(&scene);
    }
}

/* Several channels, several chunks, weights that are not alike: what decides where an element belongs. */
static void windows_have_the_bits_of_the_whole(void)
{
    static const struct ronde_compile_request requests[] = {
        {.collective = RONDE_ALL_REDUCE, .algorithm = "ring", .ranks = 5},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "double_tree", .ranks = 6},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "rabenseifner", .ranks = 8},
        {.collective = RONDE_ALL_REDUCE, .algorithm = "ring", .ranks = 3, .channels = 2},
        {.collective = RONDE_BROADCAST, .algorithm = "scatter_allgather", .ranks = 5, .root = 2},
        {.collective = RONDE_SCATTER, .algorithm = "binomial", .ranks = 5, .root = 1},
        {.collective = RONDE_GATHER, .algorithm = "binomial", .ranks = 5, .root = 3},
        {.collective = RONDE_REDUCE, .algorithm = "chain", .ranks = 4, .root = 1},
        {.collective = RONDE_ALL_GATHER, .algorithm = "bruck", .ranks = 5},
        {.collective = RONDE_REDUCE_SCATTER, .algorithm = "ring", .ranks = 5},
        {.collective = RONDE_ALL_TO_ALL, .algorithm = "pairwise", .ranks = 4},
        {.collective = RONDE_SEND_RECV, .algorithm = "direct", .ranks = 4},
    };
    static const enum ronde_dtype dtypes[] = {RONDE_FLOAT32, RONDE_BFLOAT16, RONDE_INT8};
    for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++)
        check_request(&requests[r], dtypes[r % (sizeof dtypes / sizeof dtypes[0])]);
}

/* The last windows show chunks that have ended before: their ranks' left-overs must not count. */
static void long_runs_take_several_windows(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = 3};
    struct scene scene;
    open_scene(&scene, &request, RONDE_FLOAT64, 200003);
    CU_ASSERT(scene.reference.windows > 1);
    CU_ASSERT(scene.reference.memory.out_bytes < scene.memory.out_bytes);
    run_scene(&scene);
    CU_ASSERT_EQUAL(count_wrong(&scene), 0);
    memset(scene.memory.out[1], 0, scene.memory.out_bytes);
    CU_ASSERT_EQUAL(count_wrong(&scene), 200003);
    close_scene(&scene);
}

/* A rank of another process is neither filled, nor poisoned, nor compared. */
static void a_rank_alone_has_no_buffers_of_others(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_GATHER,
                                                  .algorithm = "ring",
                                                  .ranks = 4};
    struct scene scene;
    struct ronde_memory alone;
    open_scene(&scene, &request, RONDE_FLOAT32, 1000);
    CU_ASSERT_EQUAL_FATAL(ronde_memory_create_only(&scene.benchmark.shape, 2, ronde_mem_default(),
                                                   &alone, NULL),
                          RONDE_OK);
    for (uint32_t rank = 0; rank < 4; rank++) {
        CU_ASSERT_EQUAL(alone.inputs[rank] != NULL, rank == 2);
        CU_ASSERT_EQUAL(alone.outputs[rank] != NULL, rank == 2);
    }
    run_scene(&scene);
    for (int in_place = 0; in_place < 2; in_place++) {
        ronde_memory_view(&alone, &scene.benchmark.shape, in_place != 0);
        ronde_memory_fill(&alone, &scene.benchmark.shape, RONDE_PATTERN_ANY);
        CU_ASSERT(memcmp(alone.in[2], scene.memory.in[2], scene.memory.in_bytes) == 0);
    }
    scene.benchmark.memory = &alone;
    memcpy(alone.out[2], scene.memory.out[2], scene.memory.out_bytes);
    CU_ASSERT_EQUAL(count_wrong(&scene), 0);
    ((unsigned char *)alone.out[2])[5] ^= 1;
    CU_ASSERT_EQUAL(count_wrong(&scene), 1);
    close_scene(&scene);
    ronde_memory_destroy(&alone);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"windows_have_the_bits_of_the_whole", windows_have_the_bits_of_the_whole},
        {"long_runs_take_several_windows", long_runs_take_several_windows},
        {"a_rank_alone_has_no_buffers_of_others", a_rank_alone_has_no_buffers_of_others},
    };
    return suite_run("reference", cases, sizeof cases / sizeof cases[0]);
}
