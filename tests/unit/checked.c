/* Runs that are compared. See checked.h. */
#include "checked.h"

#include "support/suite.h"

#include "ronde/benchmark.h"
#include "ronde/hw.h"

static void run_count(struct ronde_benchmark *benchmark, uint64_t count)
{
    struct ronde_memory memory;
    struct ronde_error error = {0};
    uint64_t wrong[2] = {1, 1};
    benchmark->shape.count = count;
    CU_ASSERT_EQUAL_FATAL(ronde_memory_create(&benchmark->shape, &memory, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_benchmark_check(benchmark, &memory, count, wrong, &error), RONDE_OK);
    CU_ASSERT(wrong[0] == 0 && wrong[1] == 0);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    ronde_memory_destroy(&memory);
}

void checked_run(const char *backend, const struct ronde_schedule *schedule, enum ronde_op op)
{
    const struct ronde_benchmark_options how = {.dtype = RONDE_FLOAT32, .op = op};
    static const uint64_t counts[] = {1, 38, 149, 1000};
    struct ronde_target target;
    struct ronde_benchmark benchmark;
    struct ronde_error error = {0};
    if (ronde_target_open(backend, true, &target, &error) != RONDE_OK) {
        suite_skip("%s: %s", backend, error.message);
        return;
    }
    CU_ASSERT_EQUAL_FATAL(ronde_benchmark_open(&target, schedule, &how, &benchmark, &error),
                          RONDE_OK);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        run_count(&benchmark, counts[i]);
    ronde_benchmark_close(&benchmark);
    ronde_target_close(&target);
}
