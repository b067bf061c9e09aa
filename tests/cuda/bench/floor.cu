/*
 * What a GPU needs for the parts that a run consists of, measured without ronde: JSON Lines on stdout, a figure each.
 *
 * A run's figures mean something beside these: a kernel as a node of a graph, plain and cooperative; a barrier of a block; a
 * flag that goes from one multiprocessor to another and back, as counters and as lines do; copies, sums of two and of
 * eight at the rate of the memory. `--list` prints what is measured, and needs no GPU.
 */
#include <cuda_runtime_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads of a block, as ronde's kernels have them (hw/cuda/job.h). */
#define THREADS 512u

/* Kernels of a graph, hops of a ping-pong, barriers in a row, and times that each is measured. */
#define NODES 100u
#define HOPS 1000u
#define BARRIERS 1000u
#define REPEATS 9u

/* Operands of the widest sum. */
#define OPERANDS 8u

/* A program that cannot go on prints why and ends. */
static void must(cudaError_t result, const char *what)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "floor: %s: %s\n", what, cudaGetErrorString(result));
    exit(result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver ? 3 : 4);
}

static __global__ void nothing(void)
{
}

/* Barriers of all but a warp's last 31 threads, as between the deciding thread and the movers. */
static __global__ void barriers(uint64_t *out)
{
    if (threadIdx.x > 0 && threadIdx.x < 32)
        return;
    const long long started = clock64();
    for (uint32_t k = 0; k < BARRIERS; k++)
        asm volatile("barrier.sync 0;" ::: "memory");
    if (threadIdx.x == 0)
        *out = (uint64_t)(clock64() - started);
}

/* How a flag is read. */
enum look { LOOK_RELAXED, LOOK_ACQUIRE, LOOK_LINE, LOOKS };
static const char *const look_texts[LOOKS] = {"relaxed", "acquire", "line"};

static __device__ uint64_t look_at(enum look look, const uint64_t *flag)
{
    uint64_t value, second = UINT64_MAX; /* words of a line may arrive one by one */
    if (look == LOOK_RELAXED)
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    else if (look == LOOK_ACQUIRE)
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    else
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(value), "=l"(second)
                     : "l"(flag)
                     : "memory");
    return second < value ? second : value;
}

static __device__ void raise(enum look look, uint64_t *flag, uint64_t value)
{
    if (look == LOOK_LINE) {
        asm volatile("st.volatile.global.v2.u64 [%0], {%1, %1};" ::"l"(flag), "l"(value)
                     : "memory");
        return;
    }
    if (look == LOOK_ACQUIRE)
        asm volatile("fence.acq_rel.sys;" ::: "memory");
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/* The first two blocks; their flags are 128 bytes apart. */
static __global__ void ping_pong(enum look look, uint64_t *flags)
{
    if (blockIdx.x > 1 || threadIdx.x > 0)
        return;
    uint64_t *const mine = flags + 16 * blockIdx.x;
    const uint64_t *const theirs = flags + 16 * (1 - blockIdx.x);
    for (uint64_t hop = 1; hop <= HOPS; hop++) {
        if (blockIdx.x == 0)
            raise(look, mine, hop);
        while (look_at(look, theirs) < hop)
            continue;
        if (blockIdx.x == 1)
            raise(look, mine, hop);
    }
}

/* Fills with numbers between 1 and 2 that have no pattern: memory and links may compress others. */
static __global__ void fill(uint32_t *to, uint64_t words)
{
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride) {
        uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        to[i] = 0x3f800000u | (uint32_t)(x >> 41);
    }
}

/* The sum of the first `count` of eight operands; of one of them it is a copy. */
struct operands {
    const float4 *from[OPERANDS];
    float4 *to;
};

template <uint32_t COUNT> static __global__ void sum(struct operands all, uint64_t vectors)
{
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += stride) {
        float4 total = all.from[0][i];
#pragma unroll
        for (uint32_t k = 1; k < COUNT; k++) {
            const float4 next = all.from[k][i];
            total.x += next.x;
            total.y += next.y;
            total.z += next.z;
            total.w += next.w;
        }
        all.to[i] = total;
    }
}

/* What is measured with. */
static struct {
    cudaStream_t stream;
    cudaEvent_t started;
    cudaEvent_t ended;
    unsigned processors;
    unsigned char *memory;
} floor_of;

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Median of what `enqueue` takes, in ns. */
static double time_of(void (*enqueue)(const void *), const void *context)
{
    double times_ns[REPEATS];
    enqueue(context);
    for (uint32_t k = 0; k < REPEATS; k++) {
        float elapsed_ms;
        must(cudaEventRecord(floor_of.started, floor_of.stream), "event");
        enqueue(context);
        must(cudaEventRecord(floor_of.ended, floor_of.stream), "event");
        must(cudaEventSynchronize(floor_of.ended), "run");
        must(cudaEventElapsedTime(&elapsed_ms, floor_of.started, floor_of.ended), "time");
        times_ns[k] = (double)elapsed_ms * 1e6;
    }
    qsort(times_ns, REPEATS, sizeof times_ns[0], compare_doubles);
    return times_ns[REPEATS / 2];
}

static void say(const char *what, uint64_t bytes, double time_ns, double traffic_bytes)
{
    printf("{\"kind\": \"measured\", \"engine\": \"floor\", \"what\": \"%s\", \"bytes\": %llu, "
           "\"time_ns\": %.1f, \"GBps\": %.1f}\n",
           what, (unsigned long long)bytes, time_ns, traffic_bytes / time_ns);
    fflush(stdout);
}

static void launch(const void *kernel, unsigned blocks, unsigned threads, void **arguments)
{
    must(cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, floor_of.stream),
         "launch");
}

static void enqueue_graph(const void *executable)
{
    must(cudaGraphLaunch((cudaGraphExec_t)(uintptr_t)executable, floor_of.stream), "graph");
}

/* A kernel that does nothing, as a node of a graph. */
static void measure_nodes(bool is_cooperative)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    must(cudaStreamBeginCapture(floor_of.stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (uint32_t k = 0; k < NODES; k++)
        if (is_cooperative)
            must(cudaLaunchCooperativeKernel((const void *)nothing, dim3(floor_of.processors),
                                             dim3(THREADS), NULL, 0, floor_of.stream),
                 "launch");
        else
            launch((const void *)nothing, floor_of.processors, THREADS, NULL);
    must(cudaStreamEndCapture(floor_of.stream, &graph), "capture");
    must(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    say(is_cooperative ? "cooperative node" : "node", 0, time_of(enqueue_graph, executable) / NODES,
        0);
    must(cudaGraphExecDestroy(executable), "destroy");
    must(cudaGraphDestroy(graph), "destroy");
}

static void measure_barrier(void)
{
    uint64_t cycles = 0;
    int clock_kHz = 0;
    void *const out = floor_of.memory;
    void *arguments[] = {(void *)&out};
    must(cudaDeviceGetAttribute(&clock_kHz, cudaDevAttrClockRate, 0), "clock");
    launch((const void *)barriers, 1, THREADS, arguments);
    must(cudaMemcpyAsync(&cycles, out, sizeof cycles, cudaMemcpyDeviceToHost, floor_of.stream),
         "copy");
    must(cudaStreamSynchronize(floor_of.stream), "barriers");
    say("barrier", 0, (double)cycles / BARRIERS * 1e6 / clock_kHz, 0);
}

static void enqueue_ping_pong(const void *context)
{
    enum look look = *(const enum look *)context;
    uint64_t *flags = (uint64_t *)floor_of.memory;
    void *arguments[] = {&look, (void *)&flags};
    must(cudaMemsetAsync(flags, 0, 256, floor_of.stream), "clear");
    /* Blocks of a whole grid, which the hardware spreads: the first two are on multiprocessors of their own. */
    must(cudaLaunchCooperativeKernel((const void *)ping_pong, dim3(floor_of.processors),
                                     dim3(THREADS), arguments, 0, floor_of.stream),
         "launch");
}

static void measure_ping_pong(void)
{
    for (int look = 0; look < LOOKS; look++) {
        char what[64];
        const enum look which = (enum look)look;
        snprintf(what, sizeof what, "half a ping-pong, %s", look_texts[look]);
        say(what, 8, time_of(enqueue_ping_pong, &which) / (2 * HOPS), 0);
    }
}

/* A sum, and how much of it. */
struct plan {
    const char *what;
    const void *kernel;
    uint32_t operands;
    uint64_t bytes;
};

static const struct plan plans[] = {{"copy", (const void *)sum<1>, 1, 0},
                                    {"sum of 2", (const void *)sum<2>, 2, 0},
                                    {"sum of 8", (const void *)sum<OPERANDS>, OPERANDS, 0}};

#define PLANS (sizeof plans / sizeof plans[0])

static void enqueue_sum(const void *context)
{
    const struct plan *plan = (const struct plan *)context;
    struct operands all;
    uint64_t vectors = plan->bytes / sizeof(float4);
    for (uint32_t k = 0; k < OPERANDS; k++)
        all.from[k] = (const float4 *)(floor_of.memory + (k % plan->operands) * plan->bytes);
    all.to = (float4 *)(floor_of.memory + plan->operands * plan->bytes);
    void *arguments[] = {&all, &vectors};
    launch(plan->kernel, 4 * floor_of.processors, THREADS, arguments);
}

static void measure_sums(uint64_t most_bytes)
{
    for (size_t p = 0; p < PLANS; p++)
        for (uint64_t bytes = UINT64_C(1) << 20; bytes <= most_bytes; bytes *= 4) {
            struct plan plan = plans[p];
            plan.bytes = bytes;
            say(plan.what, bytes, time_of(enqueue_sum, &plan), (double)bytes * (plan.operands + 1));
        }
}

static void list(void)
{
    printf("node\ncooperative node\nbarrier\n");
    for (int look = 0; look < LOOKS; look++)
        printf("half a ping-pong, %s\n", look_texts[look]);
    for (size_t p = 0; p < PLANS; p++)
        printf("%s\n", plans[p].what);
}

int main(int argc, char **argv)
{
    const uint64_t most_bytes = UINT64_C(1) << 30;
    int processors = 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    must(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "device");
    floor_of.processors = (unsigned)processors;
    must(cudaStreamCreateWithFlags(&floor_of.stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&floor_of.started), "event");
    must(cudaEventCreate(&floor_of.ended), "event");
    must(cudaMalloc((void **)&floor_of.memory, (OPERANDS + 1) * most_bytes), "memory");
    uint64_t words = (OPERANDS + 1) * most_bytes / sizeof(uint32_t);
    void *arguments[] = {(void *)&floor_of.memory, &words};
    launch((const void *)fill, 4 * floor_of.processors, THREADS, arguments);
    measure_nodes(false);
    measure_nodes(true);
    measure_barrier();
    measure_ping_pong();
    measure_sums(most_bytes);
    return 0;
}
