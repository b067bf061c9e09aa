/**
 * The registry of executors: all backends, and all transports between ranks that are processes, one row each.
 *
 * `ronde list`, --backend, the conformance suite and the documents walk this table; to add a row adds it everywhere.
 * What is not in this build, or not on this machine, has a row all the same, whose probe says why.
 *
 *     const struct ronde_executor *executor = ronde_executor_find("cpu");
 *     if (executor && ronde_executor_probe(executor, &machine, &error) == RONDE_OK && executor->ranks != RONDE_RANKS_PROCESSES)
 *         status = executor->backend->open(&machine, ronde_mem_default(), &self, &error);
 */
#ifndef RONDE_EXECUTORS_H
#define RONDE_EXECUTORS_H

#include "ronde/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the ranks of an executor are: enumerator, text. */
#define RONDE_RANKS_LIST(X)                                                                        \
    X(CALLER, "the calling thread's")                                                              \
    X(THREADS, "threads")                                                                          \
    X(DEVICES, "devices")                                                                          \
    X(PROCESSES, "processes")

/** What ranks are. All but PROCESSES are opened in one process, which then has the buffers of all ranks. */
enum ronde_ranks {
#define RONDE_ENUMERATOR(name, text) RONDE_RANKS_##name,
    RONDE_RANKS_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_RANKS_COUNT /**< number of them */
};

/** A row of the registry. */
struct ronde_executor {
    const char *name;       /**< of --backend, `ronde list` and records */
    const char *summary;    /**< what it is, in a line */
    enum ronde_ranks ranks; /**< what its ranks are */
    /**
     * What executes. Where ranks are processes this is ronde_backend_comm, whose self is a communicator instead of what
     * open returns: every process makes it with `transport` or `job_transport`.
     */
    const struct ronde_backend *backend;
    enum ronde_transport transport; /**< processes: how messages travel; else AUTO */
    enum ronde_transport
        job_transport; /**< processes: what a command's --backend asks for where --transport does not
                                             narrow it; else AUTO */
    bool moves_data;   /**< outputs are those of the collective; false: memory stays as it is */
    bool has_clock; /**< results tell a run's time; false: it is virtual, and to be measured from outside */
    bool spans_hosts; /**< processes: ranks may be on several machines */
    /** The executor whose times choose algorithms, where its own tell nothing of a schedule; NULL: its own do. */
    const char *times_of;
};

/** All executors, backends first and host first of all; *out_count entries. */
RONDE_API const struct ronde_executor *ronde_executors(uint32_t *out_count);

/** The row of a name; NULL if there is none. */
RONDE_API const struct ronde_executor *ronde_executor_find(const char *name);

/**
 * Whether an executor is here and what it is: its backend's probe, or whether the transport is in this build. Errors:
 * UNAVAILABLE with the reason and the package that brings it.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_executor_probe(const struct ronde_executor *executor, struct ronde_machine *out_machine,
                     struct ronde_error *why_not);

/** The executor whose times choose algorithms for one of this name; the name itself where it has no row. */
RONDE_API const char *ronde_executor_times_of(const char *name);

/** Writes the names of the rows whose ranks are processes, or of the others, as "host, cpu"; cut short where it does not fit. */
RONDE_API void ronde_executor_names(bool are_processes, char *out_text, size_t bytes);

/** Printed name of what ranks are; "?" if out of range. */
RONDE_API const char *ronde_ranks_text(enum ronde_ranks ranks);

#ifdef __cplusplus
}
#endif
#endif
