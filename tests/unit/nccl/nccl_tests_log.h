/** Logs as nccl-tests would write them of a machine that behaves as NCCL's model says. */
#ifndef RONDE_TESTS_UNIT_NCCL_TESTS_LOG_H
#define RONDE_TESTS_UNIT_NCCL_TESTS_LOG_H

#include "ronde/nccl_model.h"

#include <stdbool.h>

/** What a log is of. */
struct log_of {
    const struct ronde_nccl_machine *machine; /**< that it was measured on */
    uint32_t ranks, nodes;
    const char *above;   /**< lines before the table; "" for none */
    double late_us;      /**< of every call beyond the model's time */
    double alternation;  /**< every second size takes so many times as long; 1 for none */
    uint64_t most_bytes; /**< largest size; the least is 1 KiB, each is four times the last */
    const char *test;    /**< program; NULL: all_reduce_perf */
    enum ronde_collective collective; /**< of the program, where it is named */
};

/** Writes a log, times off by up to 4 % with a fixed seed; false where that failed. */
bool nccl_tests_log_write(const char *path, const struct log_of *log);

#endif
