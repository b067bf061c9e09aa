/*
 * What a GPU needs for a run, against the least its memory needs: JSON Lines on stdout, a figure each.
 *
 * The floor is a copy from device to device, measured first: bytes read and written per second. A schedule's traffic is
 * what its steps read and write if nothing is found in a cache; a share of the floor above 1 means that much was. Beside
 * it stands the least that any algorithm moves. stderr gets the floors of all algorithms, `--floors` prints these alone.
 * Runs of up to 64 MiB are timed as nodes of a CUDA graph, so that the host takes no part. Inputs are random; after the timing
 * every element of a small output, and one in 4,099 of a large one, is compared with what the collective is defined to leave.
 */
#include "cuda/traffic.h"

#include "ronde/cuda.h"
#include "ronde/engine.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 8u

/* Lanes all runs together ought to have: about as many as a large GPU has multiprocessors. */
#define LANES 128u

/* Runs that are timed together, and how often. */
#define RUNS 20u
#define REPEATS 7u

/* A point to measure. */
struct point {
    enum ronde_collective collective;
    const char *algorithm;
    uint32_t ranks;
    uint32_t channels;
    uint64_t bytes; /* nccl-tests' size: of the larger buffer of a rank */
};

/* What is measured with. */
static struct bench {
    struct ronde_error error;
    void *self;
    cudaStream_t stream;
    cudaEvent_t started;
    cudaEvent_t ended;
    double copy_GBps; /* read and written */
    void *ins[RANKS_MAX];
    void *outs[RANKS_MAX];
    float *read; /* of the host: a buffer of the device's */
} bench;

/* Sizes from which the time of a launch by the host is no part of a run's any more. */
#define GRAPH_UP_TO_BYTES (UINT64_C(64) << 20)

/* Elements that are compared: one in so many, a prime, so that they fall on all places of slots and lines. */
#define COMPARED 4099u

/* Element i of a rank's input: small whole numbers without a pattern, whose sums are exact in every order. */
static float input_of(uint32_t rank, uint64_t i)
{
    uint64_t x = ((uint64_t)rank << 40 | i) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return (float)(x >> 48);
}

/* A benchmark that cannot go on prints why and ends. */
static void must(int is_ok, const char *what)
{
    if (is_ok)
        return;
    fprintf(stderr, "bench: %s: %s; %s\n", what, cudaGetErrorString(cudaGetLastError()),
            bench.error.message);
    exit(4);
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Median of REPEATS measurements of whatever `enqueue` puts into the stream, in ns. */
static double time_of(void (*enqueue)(void *), void *context)
{
    double times_ns[REPEATS];
    enqueue(context);
    for (uint32_t k = 0; k < REPEATS; k++) {
        float elapsed_ms;
        must(cudaEventRecord(bench.started, bench.stream) == cudaSuccess, "event");
        enqueue(context);
        must(cudaEventRecord(bench.ended, bench.stream) == cudaSuccess, "event");
        must(cudaEventSynchronize(bench.ended) == cudaSuccess, "run");
        must(cudaEventElapsedTime(&elapsed_ms, bench.started, bench.ended) == cudaSuccess, "time");
        times_ns[k] = (double)elapsed_ms * 1e6;
    }
    qsort(times_ns, REPEATS, sizeof times_ns[0], compare_doubles);
    return times_ns[REPEATS / 2];
}

static void enqueue_copy(void *context)
{
    const size_t bytes = *(const size_t *)context;
    must(cudaMemcpyAsync(bench.outs[0], bench.ins[0], bytes, cudaMemcpyDeviceToDevice,
                         bench.stream) == cudaSuccess,
         "copy");
}

static void enqueue_runs(void *program)
{
    for (uint32_t run = 0; run < RUNS; run++)
        must(ronde_cuda_enqueue(program, (void *const *)&bench.stream, &bench.error) == RONDE_OK,
             "enqueue");
}

static void enqueue_graph(void *executable)
{
    must(cudaGraphLaunch((cudaGraphExec_t)executable, bench.stream) == cudaSuccess, "graph");
}

/* Elements of a block. */
static uint64_t count_of(const struct point *point)
{
    return traffic_block_bytes(point->collective, point->ranks, point->bytes) / sizeof(float);
}

static struct ronde_schedule *compile(const struct point *point)
{
    const struct ronde_compile_request request = {.collective = point->collective,
                                                  .algorithm = point->algorithm,
                                                  .ranks = point->ranks,
                                                  .channels = point->channels};
    struct ronde_schedule *schedule = NULL;
    must(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &bench.error) == RONDE_OK,
         "compile");
    return schedule;
}

/* What a collective leaves at a place of a rank's output. */
static float output_of(const struct point *point, uint64_t count, uint64_t i)
{
    float sum = 0;
    if (point->collective == RONDE_BROADCAST)
        return input_of(0, i);
    if (point->collective == RONDE_ALL_GATHER)
        return input_of((uint32_t)(i / count), i % count);
    for (uint32_t rank = 0; rank < point->ranks; rank++)
        sum += input_of(rank, i);
    return sum;
}

static void compare_outputs(const struct point *point)
{
    const uint64_t count = count_of(point);
    const uint64_t all = point->collective == RONDE_ALL_GATHER ? count * point->ranks : count;
    for (uint32_t rank = 0; rank < point->ranks; rank++) {
        must(cudaMemcpy(bench.read, bench.outs[rank], all * sizeof(float),
                        cudaMemcpyDeviceToHost) == cudaSuccess,
             "reading");
        for (uint64_t i = rank; i < all; i += all < COMPARED ? 1 : COMPARED)
            if (bench.read[i] != output_of(point, count, i)) {
                fprintf(stderr,
                        "bench: %s of %u ranks, %llu bytes: element %llu of rank %u is wrong\n",
                        point->algorithm, point->ranks, (unsigned long long)point->bytes,
                        (unsigned long long)i, rank);
                exit(5);
            }
    }
}

/* A program that is ready to be enqueued. */
static void *prepare(const struct point *point, const struct ronde_schedule *schedule)
{
    const struct ronde_launch launch = {.count = count_of(point),
                                        .dtype = RONDE_FLOAT32,
                                        .in = bench.ins,
                                        .out = bench.outs,
                                        .timeout_ns = UINT64_C(10000000000)};
    void *program = NULL;
    must(ronde_backend_cuda.load(bench.self, schedule, &program, &bench.error) == RONDE_OK, "load");
    must(ronde_cuda_prepare(program, &launch, &bench.error) == RONDE_OK, "prepare");
    return program;
}

static void print_point(const struct point *point, const struct ronde_schedule *schedule,
                        double time_ns, const char *how)
{
    const double traffic = traffic_of(schedule, point->bytes);
    const double floor_ns = traffic / bench.copy_GBps;
    printf("{\"kind\": \"measured\", \"engine\": \"cuda\", \"collective\": \"%s\", "
           "\"algorithm\": \"%s\", \"ranks\": %u, \"bytes\": %llu, \"dtype\": \"float32\", "
           "\"channels\": %u, \"time_ns\": %.1f, \"algbw_GBps\": %.3f, \"traffic_bytes\": %.0f, "
           "\"least_bytes\": %.0f, \"copy_GBps\": %.1f, \"share_of_floor\": %.4f, "
           "\"how\": \"%s\", \"labels\": [\"virtual_ranks\"]}\n",
           ronde_collective_text(point->collective), point->algorithm, point->ranks,
           (unsigned long long)point->bytes, point->channels, time_ns,
           (double)point->bytes / time_ns, traffic,
           traffic_least(point->collective, point->ranks, point->bytes), bench.copy_GBps,
           floor_ns / time_ns, how);
    fflush(stdout);
}

static void measure_by_host(const struct point *point)
{
    struct ronde_schedule *schedule = compile(point);
    void *program = prepare(point, schedule);
    const double time_ns = time_of(enqueue_runs, program) / RUNS;
    must(ronde_cuda_check(program, &bench.error) == RONDE_OK, "run");
    compare_outputs(point);
    print_point(point, schedule, time_ns, "stream");
    ronde_backend_cuda.unload(program);
    ronde_schedule_destroy(schedule);
}

static double measure_in_graph(const struct point *point)
{
    struct ronde_schedule *schedule = compile(point);
    void *program = prepare(point, schedule);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    must(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeGlobal) == cudaSuccess,
         "capture");
    enqueue_runs(program);
    must(cudaStreamEndCapture(bench.stream, &graph) == cudaSuccess, "capture");
    must(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess, "instantiate");
    const double time_ns = time_of(enqueue_graph, executable) / RUNS;
    must(ronde_cuda_check(program, &bench.error) == RONDE_OK, "run");
    compare_outputs(point);
    print_point(point, schedule, time_ns, "graph");
    must(cudaGraphExecDestroy(executable) == cudaSuccess, "destroy");
    must(cudaGraphDestroy(graph) == cudaSuccess, "destroy");
    ronde_backend_cuda.unload(program);
    ronde_schedule_destroy(schedule);
    return time_ns;
}

static void measure(const struct point *point)
{
    if (point->bytes <= GRAPH_UP_TO_BYTES)
        (void)measure_in_graph(point);
    else
        measure_by_host(point);
}

/* What one hop of 8 bytes costs: along a chain only the number of hops differs. */
static void measure_hop(void)
{
    struct point point = {RONDE_BROADCAST, "chain", 2, 1, 8};
    const double near_ns = measure_in_graph(&point);
    point.ranks = RANKS_MAX;
    const double far_ns = measure_in_graph(&point);
    printf("{\"kind\": \"measured\", \"engine\": \"hop\", \"bytes\": 8, \"time_ns\": %.1f, "
           "\"labels\": [\"virtual_ranks\"]}\n",
           (far_ns - near_ns) / (RANKS_MAX - 2));
}

static void open_bench(uint64_t buffer_bytes)
{
    struct ronde_machine machine;
    if (ronde_backend_cuda.probe(&machine, &bench.error) != RONDE_OK) {
        fprintf(stderr, "bench: %s\n", bench.error.message);
        exit(3);
    }
    fprintf(stderr, "%s\n", machine.description);
    /* One device, even where there are more: the floor is its memory's. */
    const uint32_t device = 0;
    must(ronde_cuda_open(&device, 1, ronde_mem_default(), &bench.self, &bench.error) == RONDE_OK,
         "open");
    must(cudaStreamCreateWithFlags(&bench.stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
    must(cudaEventCreate(&bench.started) == cudaSuccess, "event");
    must(cudaEventCreate(&bench.ended) == cudaSuccess, "event");
    bench.read = malloc(buffer_bytes);
    must(bench.read != NULL, "memory of the host");
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        must(cudaMalloc(&bench.ins[rank], buffer_bytes) == cudaSuccess, "memory");
        must(cudaMalloc(&bench.outs[rank], buffer_bytes) == cudaSuccess, "memory");
        for (uint64_t i = 0; i < buffer_bytes / sizeof(float); i++)
            bench.read[i] = input_of(rank, i);
        must(cudaMemcpy(bench.ins[rank], bench.read, buffer_bytes, cudaMemcpyHostToDevice) ==
                 cudaSuccess,
             "memory");
    }
    size_t bytes = buffer_bytes;
    bench.copy_GBps = 2 * (double)bytes / time_of(enqueue_copy, &bytes);
    printf("{\"kind\": \"measured\", \"engine\": \"copy\", \"bytes\": %zu, \"copy_GBps\": %.1f}\n",
           bytes, bench.copy_GBps);
    fprintf(stderr, "bytes that must move, in sizes; by any algorithm; and at %.0f GB/s\n",
            bench.copy_GBps);
    must(traffic_print(stderr, bench.copy_GBps), "floors");
}

int main(int argc, char **argv)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
    } large[] = {{RONDE_ALL_REDUCE, "ring"},
                 {RONDE_ALL_REDUCE, "direct"},
                 {RONDE_BROADCAST, "chain"},
                 {RONDE_ALL_GATHER, "ring"}};
    static const char *const small[] = {"ring", "recursive_doubling", "double_tree",
                                        "direct_one_step"};
    /* The table alone needs no GPU. */
    if (argc > 1 && strcmp(argv[1], "--floors") == 0)
        return traffic_print(stdout, 0) ? 0 : 4;
    const uint64_t most_MiB = argc > 1 ? strtoull(argv[1], NULL, 10) : 1024;
    open_bench(most_MiB << 20);
    for (uint32_t c = 0; c < sizeof large / sizeof large[0]; c++)
        for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks *= 2)
            for (uint64_t MiB = 1; MiB <= most_MiB; MiB *= 4) {
                const struct point point = {large[c].collective, large[c].algorithm, ranks,
                                            LANES / ranks, MiB << 20};
                measure(&point);
            }
    for (uint32_t a = 0; a < 4; a++)
        for (uint64_t bytes = 8; bytes <= 4096; bytes *= 8) {
            const struct point point = {RONDE_ALL_REDUCE, small[a], RANKS_MAX, 1, bytes};
            measure(&point);
        }
    measure_hop();
    return 0;
}
