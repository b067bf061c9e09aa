/**
 * A stage for small examples: values of all ranks that people can read, and collectives run on them
 * one after another or several at once.
 */
#ifndef RONDE_CLI_STAGE_H
#define RONDE_CLI_STAGE_H

#include "cli/options/options.h"

#include "ronde/benchmark.h"

#include "ronde/schedules.h"

/** Values of every rank: `count` elements each. */
struct ronde_sheet {
    enum ronde_dtype dtype; /**< element type */
    uint32_t ranks;         /**< N */
    uint32_t count;         /**< elements of a rank */
    void **data;            /**< per rank; what a launch takes */
};

/** A value of a rank. */
typedef double (*ronde_value)(uint32_t ranks, uint32_t rank, uint32_t index);

/** Allocates zeros. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
ronde_sheet_create(uint32_t ranks, uint32_t count, enum ronde_dtype dtype,
                   struct ronde_sheet *out_sheet, struct ronde_error *error);

/** Frees; a zeroed sheet is allowed. */
void ronde_sheet_destroy(struct ronde_sheet *sheet);

/** One value. */
double ronde_sheet_get(const struct ronde_sheet *sheet, uint32_t rank, uint32_t index);

/** Sets one value, rounded to the type. */
void ronde_sheet_set(const struct ronde_sheet *sheet, uint32_t rank, uint32_t index, double value);

/** Sets all values by a formula. */
void ronde_sheet_fill(const struct ronde_sheet *sheet, ronde_value value);

/** Values that are not those of a formula. */
uint32_t ronde_sheet_wrong(const struct ronde_sheet *sheet, ronde_value expected);

/** Prints all ranks: on one line, or, where they are many, on one each. */
void ronde_sheet_print(const struct ronde_sheet *sheet, const char *when, FILE *file);

/** One collective on sheets, as the launch and the request have it. Zeroed fields mean the default. */
struct ronde_stage_call {
    enum ronde_collective collective; /**< what */
    const char *algorithm;            /**< how; NULL = the first that serves */
    enum ronde_op op;                 /**< where something is reduced */
    enum ronde_dtype dtype;           /**< element type */
    uint32_t ranks;                   /**< N */
    uint32_t count;                   /**< elements of a block */
    void *const *in;                  /**< per rank */
    void *const *out;                 /**< per rank */
    const void *factors;              /**< premul_sum: an element per rank */
    const uint32_t *source_of;        /**< send_recv: pairs; NULL = rank r to r+1 */
};

/** An act on its way. Zeroed: none. */
struct ronde_performance {
    const struct ronde_target *target; /**< where it runs */
    struct ronde_schedule *schedule;   /**< what runs */
    void *program;                     /**< as loaded */
    void *run;                         /**< under way, or NULL */
};

/** Compiles, loads and starts an act; several may be under way at once. Errors: those of the parts. */
RONDE_MUST_CHECK enum ronde_status
ronde_act_start(const struct ronde_target *target, const struct ronde_stage_call *act,
                struct ronde_performance *out_performance, struct ronde_error *error);

/** Waits for an act and releases it, also where starting it failed halfway. Errors: those of the run. */
RONDE_MUST_CHECK enum ronde_status ronde_act_finish(struct ronde_performance *performance,
                                                    struct ronde_error *error);

/** Both. */
RONDE_MUST_CHECK enum ronde_status ronde_act_run(const struct ronde_target *target,
                                                 const struct ronde_stage_call *act,
                                                 struct ronde_error *error);

#endif
