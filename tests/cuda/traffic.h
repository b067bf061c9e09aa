/**
 * What a schedule's steps read and write in the memory of one device, and the least that any algorithm does: the floors
 * that the benchmark holds times against.
 */
#ifndef RONDE_TESTS_CUDA_TRAFFIC_H
#define RONDE_TESTS_CUDA_TRAFFIC_H

#include "ronde/engine.h"

#include <stdio.h>

/**
 * Bytes of all ranks' steps, if no cache holds anything and messages are read where they lie. size_bytes: nccl-tests' size,
 * of the larger buffer of a rank.
 */
double traffic_of(const struct ronde_schedule *schedule, uint64_t size_bytes);

/** Bytes of all inputs read once and all outputs written once. */
double traffic_least(enum ronde_collective collective, uint32_t ranks, uint64_t size_bytes);

/** Bytes of a block at that size. */
uint64_t traffic_block_bytes(enum ronde_collective collective, uint32_t ranks, uint64_t size_bytes);

/**
 * Prints the floor of every algorithm that moves data among 2, 4 and 8 ranks, in sizes; with a copy's rate, read and
 * written, also the least time of 1 GiB among 8. copy_GBps 0 = none was measured. False where one cannot be compiled.
 */
bool traffic_print(FILE *file, double copy_GBps);

#endif
