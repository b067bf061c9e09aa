/**
 * Leaf-and-spine platforms of any size, as files for the time of a test.
 */
#ifndef RONDE_TESTS_LEAVES_H
#define RONDE_TESTS_LEAVES_H

#include "ronde/sim.h"
#include "unit/platform_text.h"

/** What to build. Ports are 50 GB/s and 500 ns; leaf l holds hosts l * hosts_per_leaf .. */
struct leaves_shape {
    uint32_t leaves;         /**< how many */
    uint32_t hosts_per_leaf; /**< of each */
    double uplink_GBps;      /**< of a leaf, in each direction */
    double uplink_ns;        /**< latency of an uplink */
};

/** A platform and its file, which SimGrid reads again. */
struct leaves {
    char path[PLATFORM_TEXT_PATH_BYTES]; /**< of the file */
    struct ronde_platform *platform;     /**< read from it */
};

/** Writes and reads it; false after a skip (no reader of platform files) or a failed assertion. */
bool leaves_begin(struct leaves *leaves, const struct leaves_shape *shape);

/** Frees the platform and removes the file. */
void leaves_end(struct leaves *leaves);

/** Compiles an algorithm with one channel and fails the test where that does not work; NULL where it is unsupported. */
struct ronde_schedule *leaves_compile(enum ronde_collective collective, const char *algorithm,
                                      uint32_t ranks);

/** Builds the graph of a load; fails the test where that does not work. */
struct ronde_dag *leaves_graph(const struct ronde_schedule *schedule, const struct ronde_load *load,
                               const struct ronde_time_params *params);

/** A load of exactly that many pieces of `piece_bytes` on every chunk of every channel. */
struct ronde_load leaves_load(const struct ronde_schedule *schedule, uint64_t pieces,
                              uint64_t piece_bytes);

#endif
