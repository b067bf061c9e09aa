/**
 * Traces of jobs: which collectives their ranks called, and how long each rank was in it.
 *
 * Read are, several files and folders together: Kineto's traces (torch.profiler), NCCL Inspector's JSON lines and Prometheus
 * text, traces of NCCL's example profiler, records of ronde's own profiler plug-in, and dumps of torch's flight recorder, JSON and
 * pickles, the latter without executing anything. Each file is of one rank, but for the inspector's and ronde's, which are of one
 * process. What a file does not say is not guessed: a kernel without a record is a call
 * of no collective, a record without sizes a call of no bytes.
 *
 * Files are streamed, gzip (where zlib is) or not: what is kept of a trace are its calls.
 */
#ifndef RONDE_TRACES_H
#define RONDE_TRACES_H

#include "ronde/collective.h"
#include "ronde/mem.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether zlib was built in; *out_text is its version, or what is missing and the package that brings it. */
RONDE_API bool ronde_traces_gzip_available(const char **out_text);

/** No index, number or rank of 32 bits; no number of 64 bits; no time. */
#define RONDE_TRACE_NONE UINT32_MAX
#define RONDE_TRACE_NO_NUMBER UINT64_MAX
#define RONDE_TRACE_NO_TIME INT64_MIN

/** Bytes of a path, a host's name or a remark, NUL included. */
#define RONDE_TRACE_PATH_BYTES 512
#define RONDE_TRACE_HOST_BYTES 64
#define RONDE_TRACE_REMARK_BYTES 256

/** What a file is: enumerator, text. */
#define RONDE_TRACE_FORMAT_LIST(X)                                                                 \
    X(KINETO, "torch.profiler's trace")                                                            \
    X(INSPECTOR, "NCCL Inspector's log")                                                           \
    X(PROMETHEUS, "NCCL Inspector's Prometheus text")                                              \
    X(EXAMPLE, "trace of NCCL's example profiler")                                                 \
    X(RUNS, "records of ronde's profiler plug-in")                                                 \
    X(RECORDER, "flight recorder's dump")

enum ronde_trace_format {
#define RONDE_ENUMERATOR(name, text) RONDE_TRACE_##name,
    RONDE_TRACE_FORMAT_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_TRACE_FORMAT_COUNT /**< how many; as what a file is: none of these */
};

/** A process whose calls a file has. */
struct ronde_trace_process {
    enum ronde_trace_format format;
    uint32_t rank;       /**< in the job; NONE = not said */
    uint32_t world;      /**< ranks of the job; 0 = not said */
    bool has_host;       /**< `host` is its host's name */
    bool is_copy;        /**< of the same rank and format as one before, whose the calls are */
    bool is_host_time;   /**< times are those of a host's thread, not of a GPU */
    uint32_t steps;      /**< steps that the file delimits */
    uint32_t first_step; /**< the first one's number */
    char host[RONDE_TRACE_HOST_BYTES];
    char path[RONDE_TRACE_PATH_BYTES];
};

/** Ranks that call together. */
struct ronde_job_group {
    uint32_t *ranks; /**< of the job, ascending; NULL = not said */
    uint32_t count;  /**< of `ranks` */
    uint32_t size;   /**< members; 0 = not said */
    uint32_t nodes;  /**< hosts they are on; 0 = not said */
    uint64_t key; /**< of what tells it apart: a hash of its ranks, or of its name where these are not said */
    bool is_inferred; /**< ranks follow from whose calls end together: no file says so */
    bool is_own_numbers; /**< ranks are the group's own numbers: their numbers in the job are not said */
};

/** What one rank saw of a call. */
struct ronde_trace_call {
    int64_t start_ns; /**< by its host's clock; NO_TIME */
    int64_t duration_ns; /**< in the call, waiting for others included; NO_TIME = not recorded, or not over */
    int64_t exposed_ns; /**< part of it during which the rank computed nothing; NO_TIME */
    uint64_t bytes;     /**< nccl-tests' size; NO_NUMBER */
    uint64_t in_bytes;  /**< what the rank put in, where that alone was recorded; NO_NUMBER */
    uint64_t sequence; /**< number among the calls of the group (of the group and collective: inspector); NO_NUMBER */
    uint32_t process; /**< index */
    uint32_t group;   /**< index; NONE */
    uint32_t rank;    /**< in the group whose ranks are its own numbers; else NONE */
    uint32_t step;    /**< NONE */
    uint32_t lane;    /**< stream or thread that it ran on */
    uint32_t repeats; /**< calls that this is the mean of; 1 but for aggregates */
    enum ronde_collective collective; /**< the count = not recorded */
};

/** Where a job that hangs, hangs: a call that some ranks of a group wait in, and others are behind. */
struct ronde_trace_hang {
    uint32_t group;    /**< index */
    uint32_t rank;     /**< the first that is behind */
    uint32_t waiting;  /**< ranks in the call */
    uint32_t behind;   /**< ranks that are not; 0 = this is no such remark */
    int64_t call;      /**< number among the group's calls */
    int64_t last;      /**< the rank's last call */
    bool has_enqueued; /**< it has enqueued the call and not started it, else not enqueued */
};

/** Something a reader saw that who reads the result should know. */
struct ronde_trace_remark {
    struct ronde_trace_hang hang; /**< of ranks that wait, else zeroes */
    char text[RONDE_TRACE_REMARK_BYTES];
};

/** What was read. */
struct ronde_traces {
    const struct ronde_mem *mem;
    struct ronde_list processes; /**< of struct ronde_trace_process */
    struct ronde_list groups;    /**< of struct ronde_job_group */
    struct ronde_list calls;     /**< of struct ronde_trace_call */
    struct ronde_list members;   /**< of communicators that number their own: see traces/gather.h */
    struct ronde_list standings; /**< of how far ranks have come: see traces/gather.h */
    struct ronde_list remarks;   /**< of struct ronde_trace_remark */
};

/** What a file is by its first bytes. Errors: IO; BAD_INPUT where it cannot be decompressed. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_trace_sniff(const char *path, const struct ronde_mem *mem, enum ronde_trace_format *out,
                  struct ronde_error *error);

/** Starts with no files. */
RONDE_API void ronde_traces_open(struct ronde_traces *traces, const struct ronde_mem *mem);

/**
 * Reads a file of a known kind, adding to what is there. Errors: IO, NO_MEMORY, BAD_INPUT: "path: byte N: what is wrong", or
 * "path:line: what" of files of lines.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_traces_add(struct ronde_traces *traces, const char *path, enum ronde_trace_format format,
                 struct ronde_error *error);

/** The same of a text in memory, for tests. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_traces_add_text(struct ronde_traces *traces, const char *text, size_t bytes, const char *path,
                      enum ronde_trace_format format, struct ronde_error *error);

/**
 * Joins what the files say, once all are read: members of communicators that only number their own, groups that no file names.
 * Errors: BAD_INPUT naming two files of jobs with different numbers of ranks; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_traces_join(struct ronde_traces *traces,
                                                               struct ronde_error *error);

RONDE_API void ronde_traces_close(struct ronde_traces *traces);

/** What a format is. */
RONDE_API const char *ronde_trace_format_text(enum ronde_trace_format format);

#ifdef __cplusplus
}
#endif
#endif
