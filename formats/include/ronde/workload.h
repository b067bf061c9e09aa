/**
 * Workloads: what the ranks of a program compute and send in one step, with what depends on what, so that it can be
 * replayed on a platform. docs/guide/workloads.md describes the formats and what a replay means.
 *
 *     ronde_workload_read("step.workload", mem, &workload, &error);
 *     ronde_workload_simulate(workload, &options, mem, &result, &error);
 */
#ifndef RONDE_WORKLOAD_H
#define RONDE_WORKLOAD_H

#include "ronde/dag.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enumerator, text: what an item of work is. */
#define RONDE_WORK_KIND_LIST(X)                                                                    \
    X(COMPUTE, "compute")       /* takes a time of its own */                                      \
    X(COLLECTIVE, "collective") /* one rank's part in an operation of a group */                   \
    X(SEND, "send")             /* a message to a rank */                                          \
    X(RECV, "recv")             /* a message from a rank */

/** Kind of an item. */
enum ronde_work_kind {
#define RONDE_ENUMERATOR(name, text) RONDE_WORK_##name,
    RONDE_WORK_KIND_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_WORK_KIND_COUNT /**< number of kinds */
};

/** A tag that matches every message of its sender. */
#define RONDE_WORK_ANY_TAG UINT32_MAX

/** Ranks of a workload at most. */
#define RONDE_WORKLOAD_RANKS (1u << 17)
/** Items of all ranks at most. */
#define RONDE_WORKLOAD_ITEMS (1u << 24)

/** One item of one rank. Which fields count follows from the kind. */
struct ronde_work {
    enum ronde_work_kind kind;        /**< what it is */
    uint32_t rank;                    /**< whose it is */
    uint32_t name;                    /**< into names */
    uint32_t line;                    /**< of the file it was read from; Chakra: id of the node */
    double duration_ns;               /**< compute */
    uint32_t cpu;                     /**< compute: items of a rank's cpu run one after another */
    uint32_t peer;                    /**< send, recv: the other rank */
    uint32_t tag;                     /**< send, recv */
    uint64_t bytes;                   /**< send, recv; collective: nccl-tests' size column */
    enum ronde_collective collective; /**< collective */
    uint32_t group;                   /**< collective: index of its group */
    uint32_t root;                    /**< collective: rank within the group, where it has a root */
    const char *algorithm; /**< collective: a name of the registry, static; NULL = not named */
    uint32_t first_dep;    /**< into deps */
    uint32_t dep_count;    /**< items of the same rank that come first */
};

/** What comes before an item. */
struct ronde_work_dep {
    uint32_t work; /**< index of the item */
    bool on_start; /**< its start is enough (GOAL's irequires), else its end */
};

/** Ranks that communicate with one another. */
struct ronde_work_group {
    uint32_t name;         /**< into names: what it is called */
    uint32_t family;       /**< groups of one family have its number: tp of all nodes */
    uint32_t first_member; /**< into members: ranks in their order in the group */
    uint32_t member_count; /**< how many */
};

/** A workload. Items of a rank are in the order of the file, which is the order its collectives are issued in. */
struct ronde_workload {
    uint32_t ranks;                  /**< of the program */
    struct ronde_work *works;        /**< items of all ranks */
    uint32_t work_count;             /**< how many */
    size_t work_capacity;            /**< reserved */
    struct ronde_work_dep *deps;     /**< of all items */
    uint32_t dep_count;              /**< how many */
    size_t dep_capacity;             /**< reserved */
    struct ronde_work_group *groups; /**< of collectives */
    uint32_t group_count;            /**< how many */
    size_t group_capacity;           /**< reserved */
    uint32_t *members;               /**< ranks of all groups */
    uint32_t member_count;           /**< how many */
    size_t member_capacity;          /**< reserved */
    uint32_t *families;              /**< names of families, into names */
    uint32_t family_count;           /**< how many */
    size_t family_capacity;          /**< reserved */
    char *names;                 /**< zero-terminated texts, one after another; the first is "" */
    uint32_t name_bytes;         /**< their bytes */
    size_t name_capacity;        /**< reserved */
    uint32_t path;               /**< into names: what it was read from */
    bool has_nodes;              /**< `line` is a Chakra node's id, and `path` a prefix */
    const struct ronde_mem *mem; /**< whose memory */
};

/** An empty workload. Owner: the caller. Errors: BAD_ARGUMENT for ranks beyond RONDE_WORKLOAD_RANKS; NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_create(uint32_t ranks, const char *path, const struct ronde_mem *mem,
                      struct ronde_workload **out_workload, struct ronde_error *error);

/** Frees it; NULL is allowed. */
RONDE_API void ronde_workload_destroy(struct ronde_workload *workload);

/** Stores a text of so many bytes; *out_name is its place. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_name(struct ronde_workload *workload, const char *text, size_t bytes,
                    uint32_t *out_name, struct ronde_error *error);

/** Adds an item without dependencies; its index is work_count before. Errors: NO_MEMORY; UNSUPPORTED beyond the most. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_workload_add(struct ronde_workload *workload,
                                                                const struct ronde_work *work,
                                                                struct ronde_error *error);

/** Adds a dependency to the item added last. Errors: NO_MEMORY; UNSUPPORTED beyond the most. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_workload_depend(struct ronde_workload *workload,
                                                                   struct ronde_work_dep dep,
                                                                   struct ronde_error *error);

/** Adds a group; a new `family` is numbered family_count by the caller, who adds it first. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_group(struct ronde_workload *workload, struct ronde_work_group group,
                     const uint32_t *members, struct ronde_error *error);

/** Adds a family of groups. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_family(struct ronde_workload *workload, uint32_t name, struct ronde_error *error);

/** Printed name of a kind; "?" if out of range. */
RONDE_API const char *ronde_work_kind_text(enum ronde_work_kind kind);

/** A text of the workload, by its place. */
RONDE_API const char *ronde_workload_text(const struct ronde_workload *workload, uint32_t name);

/** Records an error about an item, with the file and line (or node) it came from. Returns BAD_INPUT. */
RONDE_API enum ronde_status ronde_work_fail(const struct ronde_workload *workload, uint32_t work,
                                            struct ronde_error *error, const char *format, ...)
    RONDE_FORMAT(4, 5);

/**
 * Reads a text: ronde's own form, or GOAL, by what it begins with. `path` is for messages. Owner: the caller destroys
 * *out_workload. Errors: BAD_INPUT "path:line: ..."; NO_MEMORY; UNSUPPORTED beyond the most items.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_parse(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                     struct ronde_workload **out_workload, struct ronde_error *error);

/**
 * Reads a file: ronde's own form or GOAL, by what is in it; or Chakra execution traces, where the name is that of one of
 * them (PREFIX.0.et) or what comes before the number (PREFIX). Errors: IO; those of ronde_workload_parse and
 * ronde_chakra_read.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_read(const char *path, const struct ronde_mem *mem,
                    struct ronde_workload **out_workload, struct ronde_error *error);

/** Whether a name is that of Chakra execution traces: it ends in .et, or with ".0.et" behind it is a file. */
RONDE_API bool ronde_chakra_is(const char *path);

/** Whether protobuf-c was built in; *out_text is its version, or what is missing and the package that brings it. */
RONDE_API bool ronde_chakra_available(const char **out_text);

/** A file in memory. */
struct ronde_chakra_file {
    const unsigned char *data; /**< its bytes */
    size_t bytes;              /**< how many */
};

/** As ronde_chakra_read, of files in memory, one for each rank; `prefix` is for messages. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_chakra_parse(const struct ronde_chakra_file *files, uint32_t ranks, const char *prefix,
                   const struct ronde_mem *mem, struct ronde_workload **out_workload,
                   struct ronde_error *error);

/**
 * Reads Chakra execution traces, a file a rank, PREFIX.0.et, PREFIX.1.et and so on. Errors: IO; UNAVAILABLE without
 * protobuf-c; BAD_INPUT "PREFIX.R.et: node ID: ..."; UNSUPPORTED; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_chakra_read(const char *path, const struct ronde_mem *mem,
                  struct ronde_workload **out_workload, struct ronde_error *error);

/** Writes PREFIX.0.et, PREFIX.1.et and so on. Errors: IO; UNAVAILABLE without protobuf-c; NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_chakra_write(const struct ronde_workload *workload, const char *prefix,
                   const struct ronde_mem *mem, struct ronde_error *error);

/**
 * The trace of one rank as that of so many which all do the same: each of its groups becomes one of all ranks. Owner: the
 * caller. Errors: BAD_ARGUMENT where it is not one rank's, and for more ranks than there may be; BAD_INPUT for messages,
 * which are to a certain rank; NO_MEMORY; UNSUPPORTED beyond the most items.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_repeat(const struct ronde_workload *workload, uint32_t ranks,
                      const struct ronde_mem *mem, struct ronde_workload **out_workload,
                      struct ronde_error *error);

/** Whether a text is a GOAL schedule. */
RONDE_API bool ronde_goal_is(const char *text, size_t bytes);

/**
 * A schedule and a load as messages and calculations, for formats of point-to-point operations: a receive and a send for
 * every message, tags by connection; what a step costs under `params` is a calculation on a cpu of its lane's number. A
 * slot count is no part of a schedule and leaves no trace. Errors: NO_MEMORY; UNSUPPORTED beyond the most items.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_workload_of_schedule(const struct ronde_schedule *schedule, const struct ronde_load *load,
                           const struct ronde_time_params *params, const struct ronde_mem *mem,
                           struct ronde_workload **out_workload, struct ronde_error *error);

/**
 * Prints GOAL, as LogGOPSim reads it: times rounded to nanoseconds, labels in the order of items. *out_text is
 * zero-terminated, to be freed with *out_bytes + 1. Errors: UNSUPPORTED for a workload with collectives, which GOAL has
 * not; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_goal_print(const struct ronde_workload *workload, const struct ronde_mem *mem,
                 char **out_text, size_t *out_bytes, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
