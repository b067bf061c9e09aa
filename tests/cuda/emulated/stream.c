/*
 * CUDA programs on an emulated device: what docs/examples/stream.c calls of CUDA's runtime, and the device that ronde finds.
 * A stream that is being captured keeps the kernels that are started in it; a graph starts them again.
 */
#include "cuda/emulated/one.h"
#include "hw/cuda/job.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

/* The most kernels of a graph, and pieces of memory of a program. */
#define KERNELS_MAX 32u
#define PIECES_MAX 16u

/* A start of a kernel, to be made again. */
struct kernel {
    void *queue;
    enum ronde_dtype dtype;
    const struct ronde_job *job;
    struct ronde_given given;
    uint32_t blocks;
};

struct emulated_graph {
    struct kernel kernels[KERNELS_MAX];
    uint32_t count;
};

struct emulated_stream {
    struct emulated_graph *captured; /* NULL = what is started runs */
    void *queue;                     /* of what was started last; NULL = nothing was */
};

/* The one device of this program, and all it has. */
static struct program {
    const struct ronde_gpu *inner;
    struct ronde_gpu gpu; /* the same, but for start and reaches */
    struct emulated_stream stream;
    struct emulated_graph graph;
    unsigned char *pieces[PIECES_MAX];
    size_t bytes[PIECES_MAX];
    uint32_t piece_count;
} program;

/* Kernels of other streams than the caller's own run at once. */
static enum ronde_status start(void *queue, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error)
{
    struct emulated_graph *graph = stream ? program.stream.captured : NULL;
    if (!graph) {
        program.stream.queue = stream ? queue : program.stream.queue;
        return program.inner->start(queue, stream, dtype, job, given, blocks, error);
    }
    if (graph->count == KERNELS_MAX)
        return ronde_fail(error, RONDE_NO_MEMORY, "more than %u kernels in a graph", KERNELS_MAX);
    graph->kernels[graph->count++] = (struct kernel){queue, dtype, job, *given, blocks};
    return RONDE_OK;
}

static bool reaches(void *self, const void *start, uint64_t bytes)
{
    const uintptr_t at = (uintptr_t)start;
    (void)self;
    for (uint32_t p = 0; p < program.piece_count; p++) {
        const uintptr_t first = (uintptr_t)program.pieces[p];
        if (at >= first && at - first <= program.bytes[p] && bytes <= program.bytes[p] - (at - first))
            return true;
    }
    return false;
}

const struct emulated_options emulated_one_options = {.movers = 3, .resident = 2, .room_bytes = 4096};

const struct ronde_gpu *emulated_one_open(const struct ronde_gpu *inner)
{
    program.inner = inner;
    program.gpu = *inner;
    program.gpu.start = start;
    program.gpu.reaches = reaches;
    return &program.gpu;
}

/* Frees what a program that ends has not freed; a real device's memory goes with the process. */
const struct ronde_gpu *emulated_one_close(const struct ronde_gpu *gpu)
{
    (void)gpu;
    for (uint32_t p = 0; p < program.piece_count; p++)
        free(program.pieces[p]);
    program.piece_count = 0;
    return program.inner;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    unsigned char *piece = program.piece_count < PIECES_MAX ? malloc(bytes) : NULL;
    if (!piece)
        return cudaErrorMemoryAllocation;
    program.bytes[program.piece_count] = bytes;
    program.pieces[program.piece_count++] = piece;
    *memory = piece;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const void *device = kind == cudaMemcpyHostToDevice ? to : from;
    if (!reaches(NULL, device, bytes))
        return cudaErrorUnknown;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = &program.stream;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    (void)mode;
    stream->captured = &program.graph;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = stream->captured;
    stream->captured = NULL;
    return *graph ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags)
{
    (void)flags;
    *executable = graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    void *const in = stream;
    for (uint32_t k = 0; k < executable->count; k++) {
        const struct kernel *at = &executable->kernels[k];
        struct ronde_error error = {0};
        if (start(at->queue, &in, at->dtype, at->job, &at->given, at->blocks, &error) != RONDE_OK)
            return cudaErrorUnknown;
    }
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    struct ronde_error error = {0};
    bool is_past = !stream->queue;
    while (!is_past)
        if (program.inner->is_past(stream->queue, 1, &is_past, &error) != RONDE_OK)
            return cudaErrorUnknown;
    return cudaSuccess;
}
