/* all_reduce among four virtual ranks of one GPU, captured in a CUDA graph and replayed. See docs/notes/cuda.md. */
#include <ronde/cuda.h>
#include <ronde/engine.h>
#include <ronde/hw.h>
#include <ronde/schedules.h>

#include <cuda_runtime_api.h>
#include <stdio.h>

#define RANKS 4
#define COUNT 1000

/* A graph of ten runs of a program, replayed once: in place the sums grow by a factor of RANKS in each. */
static cudaError_t replay(void *program, struct ronde_error *error)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaError_t result = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (result == cudaSuccess)
        result = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int run = 0; run < 10 && result == cudaSuccess; run++)
        if (ronde_cuda_enqueue(program, (void *const *)&stream, error) != RONDE_OK)
            result = cudaErrorUnknown;
    if (result == cudaSuccess)
        result = cudaStreamEndCapture(stream, &graph);
    if (result == cudaSuccess)
        result = cudaGraphInstantiate(&executable, graph, 0);
    if (result == cudaSuccess)
        result = cudaGraphLaunch(executable, stream);
    return result == cudaSuccess ? cudaStreamSynchronize(stream) : result;
}

int main(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = RANKS};
    const struct ronde_backend *cuda = &ronde_backend_cuda;
    const uint32_t device = 0;
    struct ronde_schedule *schedule = NULL;
    struct ronde_machine machine;
    struct ronde_error error = {0};
    void *self = NULL, *program = NULL, *buffers[RANKS] = {0};
    int32_t data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = 1;
    if (cuda->probe(&machine, &error) != RONDE_OK)
        return fprintf(stderr, "%s\n", error.message) > 0 ? 3 : 4;
    for (int rank = 0; rank < RANKS; rank++)
        if (cudaMalloc(&buffers[rank], sizeof data) != cudaSuccess ||
            cudaMemcpy(buffers[rank], data, sizeof data, cudaMemcpyHostToDevice) != cudaSuccess)
            return 4;
    const struct ronde_launch launch = {.count = COUNT,
                                        .dtype = RONDE_INT32,
                                        .in = buffers,
                                        .out = buffers};
    if (ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error) != RONDE_OK ||
        ronde_cuda_open(&device, 1, ronde_mem_default(), &self, &error) != RONDE_OK ||
        cuda->load(self, schedule, &program, &error) != RONDE_OK ||
        ronde_cuda_prepare(program, &launch, &error) != RONDE_OK ||
        replay(program, &error) != cudaSuccess || ronde_cuda_check(program, &error) != RONDE_OK ||
        cudaMemcpy(data, buffers[RANKS - 1], sizeof data, cudaMemcpyDeviceToHost) != cudaSuccess)
        return fprintf(stderr, "failed: %s\n", error.message) > 0 ? 4 : 4;
    printf("%d after ten all_reduces of 1 among %d ranks\n", data[COUNT - 1], RANKS);
    cuda->unload(program);
    cuda->close(self);
    ronde_schedule_destroy(schedule);
    return data[COUNT - 1] == 1048576 ? 0 : 1;
}
