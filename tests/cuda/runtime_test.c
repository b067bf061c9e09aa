/*
 * hw/cuda/runtime*.c on a fake runtime and a fake driver: in which streams its work is, and that a program which uses GPUs
 * itself loses nothing by it: no context on a GPU that is not ronde's, its own context kept, its captures unharmed.
 */
#include "cuda/fake/runtime.h"
#include "cuda/fake_driver.h"
#include "hw/cuda/gpu.h"
#include "hw/cuda/job.h"
#include "support/suite.h"

#include "ronde/gpus.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct ronde_given given = {.is_given = 0};

/* The second GPU, open, with a queue. */
static struct {
    const struct ronde_gpu *gpu;
    void *queue;
    struct ronde_error error;
} bench;

static bool bench_open(void)
{
    if (!fake_driver_load())
        return false;
    memset(&bench, 0, sizeof bench);
    memset(&fake_runtime, 0, sizeof fake_runtime);
    CU_ASSERT_EQUAL_FATAL(ronde_gpu_open(ronde_mem_default(), 1, &bench.gpu, &bench.error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(bench.gpu->open_queue(bench.gpu->self, &bench.queue, &bench.error),
                          RONDE_OK);
    return true;
}

static void bench_close(void)
{
    bench.gpu->close_queue(bench.queue);
    ronde_gpu_close(ronde_mem_default(), bench.gpu);
}

static void nothing(void *self)
{
    (void)self;
}

/* Every call that is made while runs are under way. */
static void use_all(void *const *stream)
{
    const struct ronde_gpu *gpu = bench.gpu;
    uint64_t word = 1;
    double elapsed_ns;
    bool answer;
    uint32_t blocks;
    void *memory = ronde_mem_new(gpu->memory, 1, 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    CU_ASSERT_EQUAL(gpu->resident_blocks(gpu->self, RONDE_FLOAT32, &blocks, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->write(bench.queue, memory, &word, sizeof word, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->clear(bench.queue, memory, sizeof word, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->read(bench.queue, &word, memory, sizeof word, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(word, 0);
    CU_ASSERT_EQUAL(gpu->start(bench.queue, stream, RONDE_FLOAT32, memory, &given, 1, &bench.error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(gpu->call(bench.queue, stream ? *stream : NULL, nothing, NULL, &bench.error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(gpu->mark(bench.queue, stream ? *stream : NULL, 1, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->follow(bench.queue, stream ? *stream : NULL, 1, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->is_past(bench.queue, 1, &answer, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->is_over(bench.queue, &answer, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->finish(bench.queue, &elapsed_ns, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(gpu->pin(gpu->self, &word, sizeof word, &bench.error), RONDE_OK);
    gpu->unpin(gpu->self, &word, sizeof word);
    CU_ASSERT(gpu->reaches(gpu->self, memory, sizeof word));
    struct ronde_allocation allocation;
    fake_driver.plain(memory, 64, 1, 1);
    CU_ASSERT_EQUAL(gpu->hold(gpu->self, memory, &allocation, &bench.error), RONDE_OK);
    gpu->let_go(gpu->self, &allocation);
    fake_driver.plain(NULL, 0, 0, 0);
    gpu->settle(gpu->self);
    ronde_mem_free(gpu->memory, memory, 1, 64);
}

/* The caller's default stream is NULL: what follows there must not overtake the run. */
static void a_run_in_the_default_stream_is_there(void)
{
    void *const legacy = NULL;
    if (!bench_open())
        return;
    use_all(&legacy);
    CU_ASSERT_EQUAL(fake_runtime.kernels[0], 1);
    CU_ASSERT_EQUAL(fake_runtime.kernels[1], 0);
    CU_ASSERT_EQUAL(fake_runtime.calls[0], 1);
    CU_ASSERT_EQUAL(fake_runtime.marks[0], 1);
    CU_ASSERT_EQUAL(fake_runtime.marks[1], 0);
    CU_ASSERT_EQUAL(fake_runtime.followers[0], 1);
    /* A run of the queue's own, and the times around it. */
    use_all(NULL);
    CU_ASSERT_EQUAL(fake_runtime.kernels[0], 1);
    CU_ASSERT_EQUAL(fake_runtime.kernels[1], 1);
    CU_ASSERT_EQUAL(fake_runtime.marks[1], 2);
    bench_close();
}

/* Memory of cudaMalloc is found as a whole, told from what is there later, and exported by IPC. */
static void memory_is_held_as_it_is_allocated(void)
{
    static unsigned char memory[3 * 4096];
    struct ronde_allocation allocation;
    struct ronde_share share;
    void *seen = NULL;
    if (!bench_open())
        return;
    const struct ronde_gpu *gpu = bench.gpu;
    CU_ASSERT_EQUAL(gpu->hold(gpu->self, memory, &allocation, &bench.error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "is not memory of GPU 1"));
    memset(&bench.error, 0, sizeof bench.error);
    fake_driver.plain(memory, sizeof memory, 41, 0);
    CU_ASSERT_EQUAL(gpu->hold(gpu->self, memory + 5000, &allocation, &bench.error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.error.message, "no handle that another process"));
    fake_driver.plain(memory, sizeof memory, 42, 1);
    CU_ASSERT_EQUAL_FATAL(gpu->hold(gpu->self, memory + 5000, &allocation, &bench.error), RONDE_OK);
    CU_ASSERT_PTR_EQUAL(allocation.start, memory);
    CU_ASSERT_EQUAL(allocation.bytes, sizeof memory);
    CU_ASSERT_EQUAL(allocation.number, 42);
    CU_ASSERT_EQUAL(allocation.sharing, RONDE_SHARING_IPC);
    CU_ASSERT_EQUAL_FATAL(gpu->offer(gpu->self, &allocation, &share, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL(share.sharing, RONDE_SHARING_IPC);
    CU_ASSERT_EQUAL(share.descriptor, -1);
    CU_ASSERT_EQUAL(gpu->attach(gpu->self, &share, &allocation.bytes, 1, &seen, &bench.error),
                    RONDE_OK);
    CU_ASSERT_PTR_EQUAL(seen, memory);
    gpu->detach(gpu->self, share.sharing, seen, &allocation.bytes, 1);
    gpu->let_go(gpu->self, &allocation);
    fake_driver.plain(NULL, 0, 0, 0);
    bench_close();
}

/* Memory by handles likewise, as long as it is held. */
static void memory_by_handles_is_held_too(void)
{
    struct ronde_allocation allocation;
    struct ronde_share share;
    void *seen = NULL;
    if (!bench_open())
        return;
    const struct ronde_gpu *gpu = bench.gpu;
    const uint64_t live = fake_driver.live();
    unsigned char *block = gpu->buffers->resize(gpu->buffers->self, NULL, 0, 5000);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    CU_ASSERT_EQUAL_FATAL(gpu->hold(gpu->self, block + 4000, &allocation, &bench.error), RONDE_OK);
    CU_ASSERT_PTR_EQUAL(allocation.start, block);
    CU_ASSERT_EQUAL(allocation.sharing, RONDE_SHARING_DESCRIPTOR);
    CU_ASSERT_EQUAL_FATAL(gpu->offer(gpu->self, &allocation, &share, &bench.error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(gpu->attach(gpu->self, &share, &allocation.bytes, 1, &seen, &bench.error),
                          RONDE_OK);
    block[4999] = 3;
    CU_ASSERT_EQUAL(((unsigned char *)seen)[4999], 3);
    close(share.descriptor);
    gpu->detach(gpu->self, share.sharing, seen, &allocation.bytes, 1);
    gpu->let_go(gpu->self, &allocation);
    gpu->buffers->resize(gpu->buffers->self, block, 5000, 0);
    CU_ASSERT_EQUAL(fake_driver.live(), live);
    bench_close();
}

static void *use_all_here(void *unused)
{
    (void)unused;
    CU_ASSERT_EQUAL(fake_driver.current(), -1);
    use_all(NULL);
    CU_ASSERT_EQUAL(fake_driver.current(), -1);
    return NULL;
}

/* Half a GiB each, of every process, on the first GPU: a thread that has chosen no device must not get it by accident. */
static void only_its_own_gpu_gets_a_context(void)
{
    pthread_t thread;
    if (!bench_open())
        return;
    use_all_here(NULL);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, use_all_here, NULL), 0);
    pthread_join(thread, NULL);
    bench_close();
    CU_ASSERT_EQUAL(fake_driver.current(), -1);
    CU_ASSERT_FALSE(fake_driver.made_context(0));
    CU_ASSERT(fake_driver.made_context(1));
    CU_ASSERT_EQUAL(fake_driver.contexts_held(), 0);
    CU_ASSERT_EQUAL(fake_runtime.set_devices, 0);
}

/* A program of the driver's has contexts that are no device's primary one. */
static void the_callers_context_is_kept(void)
{
    static char own_context;
    if (!bench_open())
        return;
    fake_driver.set_current(&own_context);
    use_all(NULL);
    CU_ASSERT_EQUAL(fake_driver.current(), -2);
    fake_driver.begin(1);
    use_all(NULL);
    CU_ASSERT_EQUAL(fake_driver.current(), 1);
    fake_driver.set_current(NULL);
    bench_close();
}

/* torch.cuda.graph captures in the global mode: any call of any thread that may synchronise would end it. */
static void a_capture_of_the_programs_goes_on(void)
{
    if (!bench_open())
        return;
    fake_runtime.is_capturing = true;
    use_all(NULL);
    CU_ASSERT_FALSE(fake_runtime.is_spoilt);
    bench_close();
    CU_ASSERT_FALSE(fake_runtime.is_spoilt);
    CU_ASSERT_EQUAL(ronde_gpu_open(ronde_mem_default(), 1, &bench.gpu, &bench.error), RONDE_OK);
    ronde_gpu_close(ronde_mem_default(), bench.gpu);
    CU_ASSERT_FALSE(fake_runtime.is_spoilt);
}

/* Loading code may wait for the device, on which a kernel may wait for one that is not loaded. */
static void kernels_are_loaded_before_any_runs(void)
{
    if (!bench_open())
        return;
    for (int dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++)
        CU_ASSERT_EQUAL(bench.gpu->start(bench.queue, NULL, (enum ronde_dtype)dtype, NULL, &given,
                                         1, &bench.error),
                        RONDE_OK);
    CU_ASSERT_EQUAL(fake_runtime.lazy, 0);
    bench_close();
}

/* Peer access does not cover what cudaMallocAsync gives: a pool says itself which devices may use it. */
static void memory_of_a_pool_is_used_where_the_pool_allows(void)
{
    static unsigned char pool[100];
    if (!bench_open())
        return;
    const struct ronde_gpu *gpu = bench.gpu;
    fake_driver.pool(pool, sizeof pool, 1u << 0);
    CU_ASSERT_FALSE(gpu->reaches(gpu->self, pool + 10, 20));
    fake_driver.pool(pool, sizeof pool, 1u << 0 | 1u << 1);
    CU_ASSERT(gpu->reaches(gpu->self, pool + 10, 20));
    fake_driver.pool(NULL, 0, 0);
    CU_ASSERT(gpu->reaches(gpu->self, pool + 10, 20));
    bench_close();
}

/* The system ends kernels after seconds where a display is connected. */
static void a_limit_of_the_systems_is_named(void)
{
    struct ronde_machine machine;
    if (!fake_driver_load())
        return;
    fake_runtime.is_limited = false;
    CU_ASSERT_EQUAL(ronde_gpu_probe(&machine, &bench.error), RONDE_OK);
    CU_ASSERT_PTR_NULL(strstr(machine.description, "limits"));
    fake_runtime.is_limited = true;
    CU_ASSERT_EQUAL(ronde_gpu_probe(&machine, &bench.error), RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(machine.description, "display limits kernels"));
}

/* A device that does not give a context is reported, and nothing is left. */
static void a_context_that_cannot_be_had_is_reported(void)
{
    const struct ronde_gpu *gpu = NULL;
    struct ronde_error error = {0};
    if (!fake_driver_load())
        return;
    fake_driver.fail("cuDevicePrimaryCtxRetain", 1);
    CU_ASSERT_EQUAL(ronde_gpu_open(ronde_mem_default(), 1, &gpu, &error), RONDE_NO_MEMORY);
    CU_ASSERT_PTR_NULL(gpu);
    CU_ASSERT_EQUAL(fake_driver.contexts_held(), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"only_its_own_gpu_gets_a_context", only_its_own_gpu_gets_a_context},
        {"the_callers_context_is_kept", the_callers_context_is_kept},
        {"a_run_in_the_default_stream_is_there", a_run_in_the_default_stream_is_there},
        {"a_capture_of_the_programs_goes_on", a_capture_of_the_programs_goes_on},
        {"memory_is_held_as_it_is_allocated", memory_is_held_as_it_is_allocated},
        {"memory_by_handles_is_held_too", memory_by_handles_is_held_too},
        {"kernels_are_loaded_before_any_runs", kernels_are_loaded_before_any_runs},
        {"memory_of_a_pool_is_used_where_the_pool_allows",
         memory_of_a_pool_is_used_where_the_pool_allows},
        {"a_limit_of_the_systems_is_named", a_limit_of_the_systems_is_named},
        {"a_context_that_cannot_be_had_is_reported", a_context_that_cannot_be_had_is_reported},
    };
    return suite_run("cuda runtime", cases, sizeof cases / sizeof cases[0]);
}
