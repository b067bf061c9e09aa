/**
 * Replays for the tests of their explanations: a platform from a string, a compiled collective, an
 * engine, times.
 */
#ifndef RONDE_TESTS_REPLAYED_H
#define RONDE_TESTS_REPLAYED_H

#include "ronde/why.h"
#include "unit/platform_text.h"

/** Everything of one replay; start from zeroes, end with replayed_free. */
struct replayed {
    char path[PLATFORM_TEXT_PATH_BYTES]; /**< of the platform file, which stays until the end */
    struct ronde_platform *platform;     /**< read from it */
    struct ronde_dag *dag;               /**< its own graph, or NULL */
    struct ronde_sim_options options;    /**< with times of its own */
    uint32_t times;                      /**< entries of each of them */
    struct ronde_sim_result result;      /**< of the engine */
    struct ronde_replay replay;          /**< for its explanation */
    struct ronde_error error;            /**< of what failed */
};

/** Hosts h0 .. h7 with ports of 10 GB/s and 1 us: a link h_link_0_UP and so on. */
extern const char replayed_crossbar[];

/** Reads a platform from text; false after a visible skip where platforms cannot be read. */
bool replayed_open(struct replayed *replayed, const char *text);

/** Compiles a collective and makes its graph, with origins. Slot 0 is one piece. */
bool replayed_compile(struct replayed *replayed, enum ronde_collective collective,
                      const char *algorithm, uint32_t ranks, uint64_t count, uint64_t slot_bytes,
                      const struct ronde_time_params *params);

/** Replays a graph with flat, maxmin or simgrid and keeps its times; the graph stays the caller's. */
enum ronde_status replayed_run(struct replayed *replayed, const struct ronde_dag *dag,
                               const char *engine);

/** Frees what it holds. */
void replayed_free(struct replayed *replayed);

#endif
