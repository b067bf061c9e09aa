/**
 * The operations that are swept (sweep.h): each one call of the library, or the life of one object.
 */
#ifndef RONDE_TESTS_OPERATIONS_H
#define RONDE_TESTS_OPERATIONS_H

#include "ronde/engine.h"
#include "ronde/topologies.h"

/** A finished schedule and what it is used with; each operation reads what it needs. */
struct oom_use {
    const struct ronde_schedule *schedule; /**< printed, proved, priced, run */
    const struct ronde_backend *backend;   /**< runs it */
    const char *text;                      /**< read back */
    size_t text_bytes;                     /**< of it */
    const struct ronde_platform *platform; /**< replayed on */
    const struct ronde_dag *dag;           /**< replayed */
};

/** What is priced. */
extern const struct ronde_load oom_load;
/** What it is priced on. */
extern const struct ronde_network oom_network;

/** Compiles a struct ronde_compile_request. */
enum ronde_status oom_compile(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error);
/** Creates a builder for a struct ronde_compile_request and gives it up. */
enum ronde_status oom_give_up(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error);
/** Builds what no built-in does all at once, for a struct ronde_compile_request of 5 ranks. */
enum ronde_status oom_build_by_hand(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error);
/** Prints the schedule. */
enum ronde_status oom_print(const void *context, const struct ronde_mem *mem,
                            struct ronde_error *error);
/** Reads the text. */
enum ronde_status oom_read_back(const void *context, const struct ronde_mem *mem,
                                struct ronde_error *error);
/** Proves all ranks of the schedule. */
enum ronde_status oom_prove_expansion(const void *context, const struct ronde_mem *mem,
                                      struct ronde_error *error);
/** Reorders the schedule by its own orders once more. */
enum ronde_status oom_reorder(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error);
/** Makes the graph of the schedule. */
enum ronde_status oom_make_dag(const void *context, const struct ronde_mem *mem,
                               struct ronde_error *error);
/** Prices the schedule. */
enum ronde_status oom_price(const void *context, const struct ronde_mem *mem,
                            struct ronde_error *error);
/** Bounds a collective of six ranks on the platform, and makes its schedule; all_reduce has everything. */
enum ronde_status oom_synthesize(const void *context, const struct ronde_mem *mem,
                                 struct ronde_error *error);
/** Compiles all that serve a struct ronde_compile_request and prices them. */
enum ronde_status oom_choose(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error);
/** Replays the graph. */
enum ronde_status oom_replay(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error);
/** Chooses for a struct ronde_select_query. */
enum ronde_status oom_select(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error);
/** Reads the measured table of a path. */
enum ronde_status oom_read_measured(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error);
/** Reads the platform file of a path. */
enum ronde_status oom_read_platform(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error);
/** A communicator of one rank: calls that wait and calls that do not, in a group, with tables, and messages. */
enum ronde_status oom_call(const void *context, const struct ronde_mem *mem,
                           struct ronde_error *error);
/** The backend's whole life: open, load, two runs, unload, close. */
enum ronde_status oom_run(const void *context, const struct ronde_mem *mem,
                          struct ronde_error *error);

#endif
