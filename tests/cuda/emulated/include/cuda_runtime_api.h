/**
 * As much of CUDA's runtime as docs/examples/stream.c uses, on emulated devices (../stream.c): names and meanings are
 * CUDA's.
 */
#ifndef RONDE_TESTS_CUDA_RUNTIME_API_H
#define RONDE_TESTS_CUDA_RUNTIME_API_H

#include <stddef.h>

typedef enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 } cudaError_t;
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_graph *cudaGraphExec_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { cudaStreamNonBlocking = 1, cudaStreamCaptureModeGlobal = 0 };

cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

#endif
