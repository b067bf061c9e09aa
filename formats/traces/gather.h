/**
 * What readers of traces put their findings into.
 */
#ifndef RONDE_FORMATS_TRACES_GATHER_H
#define RONDE_FORMATS_TRACES_GATHER_H

#include "json_pull.h"
#include "source.h"

#include "ronde/collective.h"
#include "ronde/traces.h"

/* A member of a communicator that numbers its own. */
struct trace_member {
    uint32_t group;   /* index */
    uint32_t rank;    /* in it */
    uint32_t process; /* index */
};

/* How far a rank's calls of a group have come, by their numbers: what a hang is found by. */
struct trace_standing {
    uint32_t group, process; /* indices */
    int64_t enqueued, started, completed;
};

/* A hash that goes on from another; start with 0. */
uint64_t gather_hash(uint64_t hash, const void *bytes, size_t count);

/* Appends a process, a call: zeroed, but numbers, times and indices that are not known. NULL without memory. */
struct ronde_trace_process *gather_process(struct ronde_traces *traces,
                                           enum ronde_trace_format format, const char *path,
                                           uint32_t *out_index);
struct ronde_trace_call *gather_call(struct ronde_traces *traces, uint32_t process);

/* What qsort asks of two ranks. */
int gather_by_rank(const void *left, const void *right);

/* The group of such ranks, which are sorted here; NONE without memory. */
uint32_t gather_group_of_ranks(struct ronde_traces *traces, uint32_t *ranks, uint32_t count);
/* The group of such a key, whose ranks are not said; NONE without memory. */
uint32_t gather_group_of_key(struct ronde_traces *traces, uint64_t key, uint32_t size);

/* Ranks of a group out of an array, or a text of one: "[0, 1, ...]", which is cut. Refuses a number that is no rank; `where` it is. */
RONDE_MUST_CHECK bool gather_ranks(struct source *source, struct pull_span text,
                                   struct ronde_list *out, bool *out_is_cut, const char *name,
                                   const char *where);

/* A number from 0 on; false, and nothing is written, where there is none. */
bool gather_number(struct pull_span span, int64_t *out);

/* Whether files of a kind number ranks by communicators. */
bool gather_has_members(enum ronde_trace_format format);

/* Notes that a process is a member; false without memory. */
bool gather_member(struct ronde_traces *traces, uint32_t group, uint32_t rank, uint32_t process);

/* Adds a remark, cut to its length, unless it is there already; without memory there is one less. */
RONDE_FORMAT(2, 3) void gather_remark(struct ronde_traces *traces, const char *format, ...);

/* The readers, each of a source that is open; false where it was refused. */
bool kineto_read(struct source *source, struct ronde_traces *traces);
bool inspector_read(struct source *source, struct ronde_traces *traces,
                    enum ronde_trace_format format);
bool example_read(struct source *source, struct ronde_traces *traces);
bool prometheus_read(struct source *source, struct ronde_traces *traces);
bool recorder_read(struct source *source, struct ronde_traces *traces);

/* Groups that no file names, by whose calls end together. Errors: NO_MEMORY. */
enum ronde_status gather_infer_groups(struct ronde_traces *traces, struct ronde_error *error);

/* Names of collectives and types in traces. */

/*
 * What a name is: "allreduce", "_allgather_base", "nccl:all_reduce", "nccl:send 0->1", "AllReduce". The count where it is none;
 * out_is_call is false where it names something that moves nothing of its own (init, wait, the end of a group).
 */
enum ronde_collective name_collective(const char *name, bool *out_is_call);

/* Bytes of an element by the type's name in torch ("BFloat16", "c10::BFloat16", "float") or NCCL; 0 = not known. */
uint32_t name_type_bytes(const char *name);

/*
 * nccl-tests' bytes of a call of such elements in and out of a rank; NO_NUMBER where what was recorded does not say. Counts
 * below 0 are not recorded.
 */
uint64_t name_call_bytes(enum ronde_collective collective, uint32_t ranks, int64_t in, int64_t out,
                         uint32_t type_bytes);

#endif
