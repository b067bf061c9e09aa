/**
 * What the collectives of a job cost: traces of its ranks (traces.h) as a row per group, collective and size.
 *
 * A call's time without waiting is the least of its ranks' times: the last to arrive waits for nobody, and no clock has to be
 * trusted. Where ranks are not seen that is not known: times are upper bounds. A rank is called late only where it is last in more
 * calls than chance explains, and by more than calls differ anyway.
 */
#ifndef RONDE_EXPLAIN_H
#define RONDE_EXPLAIN_H

#include "ronde/doctor.h"
#include "ronde/traces.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A row. Times in microseconds; those that are not known are below 0. */
struct ronde_explain_row {
    const uint32_t *ranks; /**< of the group, ascending; of calls of no group the ranks that made them */
    uint32_t rank_count;              /**< how many */
    uint32_t size;                    /**< ranks of the group; 0 = not said */
    uint32_t seen;                    /**< ranks whose traces are there */
    uint32_t nodes;                   /**< hosts that they are on; 0 = not said */
    bool is_inferred;                 /**< the group is not named: as in struct ronde_trace_group */
    bool is_own_numbers;              /**< likewise */
    bool is_log;                      /**< of nccl-tests: a mean of many calls */
    bool is_bound;                    /**< some rank is not seen, who may have been waited for */
    enum ronde_collective collective; /**< the count = not recorded */
    uint64_t bytes;                   /**< nccl-tests' size; RONDE_TRACE_NO_NUMBER */
    uint64_t calls;                   /**< whose time is known */
    uint64_t unknown; /**< whose time is not, or of which nothing is recorded but that there was a kernel */
    double time_us;     /**< median over calls of the least of its ranks */
    double mean_us;     /**< the same, mean */
    double p90_us;      /**< the same, 90th percentile */
    double busbw_GBps;  /**< of time_us; below 0 */
    double expected_us; /**< of the model; below 0: no machine was given, or it has no such call */
    double expected_low_us;                /**< band of the model's own error */
    double expected_high_us;               /**< likewise */
    uint32_t late_rank;                    /**< NONE: nobody */
    const struct ronde_nccl_limit *limits; /**< of a platform, for this call; NULL: none is known */
    double late_share; /**< of calls in which one rank was last, late_rank or else who was it most often; below 0 */
    double waiting_us;      /**< median over calls of what the median rank waited; below 0 */
    double step_us;         /**< of a step, mean of ranks: without waiting */
    double step_waiting_us; /**< the same: waiting for others; below 0 of one rank alone */
    double exposed_us; /**< of a step, mean of ranks: calls that nothing was computed beside; below 0 */
    double hidden_us; /**< the same: calls beside compute */
};

/** What was found. */
struct ronde_explanation {
    const struct ronde_mem *mem;
    struct ronde_list rows; /**< of struct ronde_explain_row: the longest first, calls without records last */
    uint32_t *loose; /**< ranks of rows of no group */
    size_t loose_count;
    struct ronde_log_facts log; /**< what its logs say beside their rows */
    uint32_t *numbers;          /**< 0, 1, ...: ranks of rows of logs */
    size_t number_count;
    uint32_t steps;        /**< that rates a step are over; 1 where no trace has any */
    uint32_t ranks, world; /**< whose traces are there, of how many; world 0 = not said */
};

/**
 * Makes rows of traces that are joined; step: one step's number, NONE = all. The traces must outlive it. Close it whatever is returned.
 * Errors: NO_MEMORY; BAD_INPUT where there is no such step.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_explain(const struct ronde_traces *traces, uint32_t step, const struct ronde_mem *mem,
              struct ronde_explanation *out, struct ronde_error *error);

/** Adds the measurements of a log of nccl-tests, a row each. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_explanation_add_log(struct ronde_explanation *explanation,
                          const struct ronde_published *published, struct ronde_error *error);

/**
 * Prints a step, or all of them (NONE), as a workload in ronde's text form (workload.h): calls that all ranks of a group have
 * recorded, and calculations between them. Errors: NO_MEMORY; BAD_INPUT where there is no such step; UNSUPPORTED where calls
 * have no beginnings or ranks are missing.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_explain_workload(const struct ronde_traces *traces, uint32_t step,
                       const struct ronde_mem *mem, FILE *file, struct ronde_error *error);

RONDE_API void ronde_explanation_close(struct ronde_explanation *explanation);

/** The call of a row on a machine: nodes as the trace says, else as few as its GPUs allow. False where the model has none. */
RONDE_API bool ronde_explain_call(const struct ronde_explain_row *row,
                                  const struct ronde_nccl_machine *machine,
                                  struct ronde_nccl_call *out);

/** The machine with what its links leave of it for the row's call. */
RONDE_API struct ronde_nccl_machine ronde_explain_machine(const struct ronde_explain_row *row,
                                                          const struct ronde_nccl_machine *machine);

/** Sets what a row should take: NCCL's own choice on the machine, and the band of the model's error. */
RONDE_API void ronde_explain_expect(struct ronde_explain_row *row,
                                    const struct ronde_nccl_call *call,
                                    const struct ronde_nccl_machine *machine,
                                    const struct ronde_nccl_constants *constants,
                                    const struct ronde_doctor_spread *spread);

/**
 * What is wrong with the machine by all rows together that have an expectation (doctor.h): logs, and calls of traces that nothing
 * was computed beside. *out_has is false where no row says anything. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_explain_diagnose(
    const struct ronde_explanation *found, const struct ronde_nccl_machine *machine,
    const struct ronde_nccl_constants *constants, const struct ronde_doctor_spread *spread,
    struct ronde_diagnosis *out, bool *out_has, struct ronde_error *error);

/** Groups of ranks beside each other, and groups across these. */
struct ronde_explain_placement {
    uint32_t inner, outer;   /**< ranks of such groups */
    double now_us, other_us; /**< their calls of a step by the model: as they are, and exchanged */
};

/** Whether the job's groups would take less time if those across were beside each other and those beside across. */
RONDE_API bool ronde_explain_place(const struct ronde_explanation *found,
                                   const struct ronde_nccl_machine *machine,
                                   const struct ronde_nccl_constants *constants,
                                   struct ronde_explain_placement *out);

#ifdef __cplusplus
}
#endif
#endif
