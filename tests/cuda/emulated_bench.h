/**
 * The cuda backend on emulated devices, a program, and the buffers of its ranks, for the tests of this folder.
 */
#ifndef RONDE_TESTS_CUDA_EMULATED_BENCH_H
#define RONDE_TESTS_CUDA_EMULATED_BENCH_H

#include "support/emulated_gpu.h"

#include "ronde/cuda.h"

#define RANKS_MAX 16u
#define COUNT_MAX 70000u
#define DEVICES_MAX 4u

/** Devices, a backend on them, a program, and the ranks' buffers. */
extern struct bench {
    struct ronde_error error;
    const struct ronde_gpu *gpus[DEVICES_MAX];
    const struct ronde_gpu *gpu; /**< the first of them */
    uint32_t gpu_count;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    int32_t in[RANKS_MAX][COUNT_MAX]; /**< element i of rank r is r + i */
    int32_t out[RANKS_MAX][COUNT_MAX];
    void *ins[RANKS_MAX];
    void *outs[RANKS_MAX];
} bench;

/** Opens so many devices with a backend on them. */
void bench_open(const struct emulated_options *options, uint32_t count, const struct ronde_mem *mem);

/** The same, with lines of up to so many bytes. */
void bench_open_for(const struct emulated_options *options, uint32_t count,
                    uint64_t lines_up_to_bytes, const struct ronde_mem *mem);

/** The same, one device. */
void bench_open_one(const struct emulated_options *options, const struct ronde_mem *mem);

/** Unloads and closes. */
void bench_close(void);

/** An all_reduce. */
struct ronde_schedule *bench_compile(const char *algorithm, uint32_t ranks, uint32_t channels);

/** Any collective, one channel. */
struct ronde_schedule *bench_compile_as(enum ronde_collective collective, const char *algorithm,
                                        uint32_t ranks);

/** Loads a schedule, which close destroys. */
void bench_load(struct ronde_schedule *schedule);

/** A launch of the ranks' buffers. */
struct ronde_launch bench_launch(uint64_t count);

/** Runs into zeroed buffers and waits. */
enum ronde_status bench_run(const struct ronde_launch *launch);

/** Waits for the runs in streams and checks them. */
enum ronde_status bench_check_streams(void *program);

/** Whether all ranks hold the sum of what ranks hold, and nothing behind it. */
bool bench_is_sum(uint32_t ranks, uint64_t count);

#endif
