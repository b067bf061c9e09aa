/**
 * One launch of one schedule, drawn at random: what every executor is asked to run, and what it must refuse.
 */
#ifndef RONDE_TESTS_TRIAL_H
#define RONDE_TESTS_TRIAL_H

#include "conformance/sample.h"
#include "support/buffers.h"

/** One launch of one schedule. */
struct trial {
    const struct ronde_schedule *schedule; /**< what runs */
    struct sample sample;                  /**< as drawn */
    struct buffers_shape shape; /**< after what the schedule does not have was left out */
    bool is_as_drawn;           /**< nothing the sample asks for was left out */
    bool is_too_large;          /**< not to be run */
    struct buffers actual;      /**< what an executor leaves */
    struct buffers expected;    /**< what it must leave */
};

/** Who runs trials. */
struct trial_runner {
    uint64_t random;     /**< state of the draws */
    uint64_t slot_bytes; /**< host's default */
    uint32_t first_rank; /**< of those whose buffers are looked at */
    uint32_t rank_count; /**< how many these are; 0 = all */
    /** Called with a shape that must be refused, with a reason that contains `part`. */
    void (*expect_refusal)(struct trial_runner *runner, struct trial *trial, const char *part);
    uint64_t refused; /**< launches refused for want of a v-form */
    bool is_refused[RONDE_DTYPE_COUNT][RONDE_OP_COUNT]; /**< pairs that were refused */
};

/** Draws a launch of a schedule. Its buffers are the caller's to make. */
void trial_draw(struct trial_runner *runner, const struct ronde_schedule *schedule,
                struct trial *out_trial);

/** The launch of a trial on buffers, freshly filled; plain: by the plainest means there are, which say what is expected. */
struct ronde_launch trial_launch(const struct trial *trial, struct buffers *buffers, bool is_plain);

/** Describes a trial and what was wrong with it. */
void trial_describe(const struct trial *trial, const char *executor, const char *wrong, char *text,
                    size_t bytes);

#endif
