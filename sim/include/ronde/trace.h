/**
 * Timelines in the trace event format (JSON) that ui.perfetto.dev and chrome://tracing open.
 *
 * A process per rank with a thread per channel and lane; a slice per step, arrows from the step that sends a message to
 * the step that takes it; the load of the busiest links as counters of a process of their own. Times are microseconds,
 * rounded to the nanosecond.
 */
#ifndef RONDE_TRACE_H
#define RONDE_TRACE_H

#include "ronde/why.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Steps written unless asked otherwise: a file of some 120 MB, which the viewer's memory bears. */
#define RONDE_TRACE_STEPS 250000u

/** Ranks that belong together, e.g. those of one collective. */
struct ronde_trace_group {
    const char *name;    /**< before "rank 0" in the name of its processes */
    uint32_t first_rank; /**< its rank 0 */
    uint32_t ranks;      /**< how many */
};

/** What is drawn. */
struct ronde_trace {
    struct ronde_replay replay;  /**< with times; its graph with origins */
    const struct ronde_why *why; /**< whose links are drawn, or NULL */
    const bool *on_path;         /**< per operation, as ronde_why_find leaves it, or NULL */
    const struct ronde_trace_group *groups; /**< all ranks, in order */
    uint32_t group_count;                   /**< how many */
    bool is_shared; /**< the engine shares links (simgrid, maxmin): counters show its rates at every moment, not the mean of each message */
    uint32_t max_steps; /**< ranks are left out, the last ones first, until so few remain; 0 = RONDE_TRACE_STEPS */
};

/**
 * Writes a trace. *out_ranks, if not NULL, is how many ranks it holds: 0 .. *out_ranks - 1.
 * Errors: BAD_ARGUMENT without times or origins; those of ronde_platform_route; DEVICE; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_trace_write(const struct ronde_trace *trace, const struct ronde_mem *mem, FILE *file,
                  uint32_t *out_ranks, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
