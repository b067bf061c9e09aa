/**
 * Whether measurements of NCCL are what a machine should give, and if not, which fault would explain them.
 *
 * The rows of a log are predicted on the machine as it is described, and on variants of it with one fault each. What is
 * compared is, by class of sizes, the mean of log(measured / predicted), against how far the model is off by itself: the
 * spread of these means over systems that it was not fitted to (spread.h). Every variant thus has a likelihood, and with
 * one prior for all of them a probability. "Something else" has a flat likelihood, so that a variant is not called likely
 * because all others are worse. How well that works: docs/guide/doctor.md.
 */
#ifndef RONDE_DOCTOR_H
#define RONDE_DOCTOR_H

#include "ronde/published.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Classes of sizes: up to so many bytes. */
#define RONDE_DOCTOR_SIZES 4u

/** Places that have a spread of their own: one node, several nodes. */
#define RONDE_DOCTOR_PLACES 2u

/** How far the model is off by itself. */
struct ronde_doctor_spread {
    uint64_t most_bytes[RONDE_DOCTOR_SIZES]; /**< of a class; the last has no bound */
    double off[RONDE_DOCTOR_PLACES]
              [RONDE_DOCTOR_SIZES]; /**< of systems' mean log(measured / predicted), a standard deviation */
    uint32_t systems[RONDE_DOCTOR_PLACES][RONDE_DOCTOR_SIZES]; /**< it rests on; 0 = none, a guess */
};

/** Reads spread.txt of a folder; NULL is the shipped one, beside the model's constants. Errors: IO, BAD_INPUT. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_doctor_spread_read(const char *folder, struct ronde_doctor_spread *out,
                         struct ronde_error *error);

/** Ratio of a measured to a predicted time up to which the call is what it should be: one in twenty is beyond by the model's own error. */
RONDE_API double ronde_doctor_tolerance(const struct ronde_doctor_spread *spread,
                                        const struct ronde_nccl_call *call);

/** Computes it from a table whose rows are predicted, each system by constants that were fitted without it. */
RONDE_API void ronde_doctor_spread_of(const struct ronde_published *published,
                                      struct ronde_doctor_spread *out);

/** What may be wrong with a machine. */
struct ronde_doctor_variant {
    const char *key;    /**< for programs: "nvlink_half" */
    const char *says;   /**< what it is */
    const char *check;  /**< how to make sure */
    uint32_t strengths; /**< how strong it may be, one as likely as the other */
    /** Makes the machine worse, as ronde_doctor_apply; NULL: rates and latencies alone change. */
    bool (*apply)(uint32_t strength, const struct ronde_nccl_call *call,
                  struct ronde_nccl_machine *machine, struct ronde_nccl_constants *constants,
                  double *add_us, bool *no_nvls);
    /** Whether a log says so itself: a variable that is set, a way NCCL took. Writes what it says; NULL = cannot. */
    bool (*is_said)(const struct ronde_log_facts *log, const struct ronde_nccl_machine *machine,
                    char *out_text, uint32_t bytes);
    unsigned needs; /**< what a call has to have so that it can have the fault (variants.c) */
    double nics[2], links[2], between[2],
        inside[2]; /**< by strength: factors of constants; 0 = none */
};

/**
 * Makes the machine worse for a call, in the strength's way. `add_us` is time of every call beyond the model's, `no_nvls`
 * keeps NCCL from NVLS. Returns false where the call cannot have the fault.
 */
RONDE_API bool
ronde_doctor_apply(const struct ronde_doctor_variant *variant, uint32_t strength,
                   const struct ronde_nccl_call *call, struct ronde_nccl_machine *machine,
                   struct ronde_nccl_constants *constants, double *add_us, bool *no_nvls);

/** The variants; the first is the machine as it is described. *out_count entries. */
RONDE_API const struct ronde_doctor_variant *ronde_doctor_variants(uint32_t *out_count);

/** A machine that is less likely to be as described than this has something wrong. */
#define RONDE_DOCTOR_LEAST_HEALTHY 0.3

/** More jumps of the rate from one large size to the next, as a share of these steps, are no model's doing. */
#define RONDE_DOCTOR_MOST_JUMPS 0.2

/** Most variants, "something else" included. */
#define RONDE_DOCTOR_MAX_CAUSES 24u

/** Most ranges of sizes. */
#define RONDE_DOCTOR_MAX_RANGES 64u

/** A variant and what speaks for it. */
struct ronde_doctor_cause {
    const struct ronde_doctor_variant *variant; /**< NULL = something else */
    double probability;                         /**< of all of these, given the rows */
    double off;     /**< worst class: |mean log(measured / predicted)| over the spread */
    double factor;  /**< measured over predicted time, large sizes */
    char said[128]; /**< what the log says of it itself; "" = nothing */
};

/** Sizes beside each other that are all as they should be, or all slower than that. */
struct ronde_doctor_range {
    struct ronde_nccl_call call;   /**< collective, ranks, nodes */
    struct ronde_nccl_choice wish; /**< what was forced */
    uint64_t least_bytes, most_bytes;
    uint32_t sizes;
    bool is_short;        /**< slower than the machine should be by more than `tolerance` */
    double ratio;         /**< median of measured over predicted time */
    double tolerance;     /**< of that ratio, which the model needs for itself */
    double measured_GBps; /**< busbw at the largest size */
    double expected_GBps; /**< likewise */
};

/** What is found. */
struct ronde_diagnosis {
    bool is_wrong;  /**< something is: a size is short and `healthy` is small, or the rate jumps */
    double healthy; /**< probability that the machine is as described; 0 where a size is `far` */
    double far; /**< measured over predicted time of the size that is slowest beyond any error of the model; 0 = none is */
    uint64_t far_bytes; /**< that size */
    double fast; /**< measured over predicted time of the size that is fastest beyond any error of the model; 0 = none is */
    struct ronde_nccl_call fast_call; /**< that size */
    double jumps; /**< share of large sizes whose rate is off by 1.5 times or more from their neighbours' */
    struct ronde_doctor_cause causes[RONDE_DOCTOR_MAX_CAUSES]; /**< most likely first */
    uint32_t cause_count;
    struct ronde_doctor_range ranges[RONDE_DOCTOR_MAX_RANGES]; /**< by call, then by size */
    uint32_t range_count;
    double off[RONDE_DOCTOR_SIZES];    /**< mean log(measured / predicted) of the healthy machine */
    double spread[RONDE_DOCTOR_SIZES]; /**< how far the model is off by itself there */
    size_t rows[RONDE_DOCTOR_SIZES];   /**< predicted rows */
};

/** What is diagnosed. */
struct ronde_doctor_request {
    const struct ronde_published *published;
    uint32_t system; /**< whose machine is described */
    bool is_faulty;  /**< the rows whose notes say FAULTY; else the others */
    const struct ronde_nccl_constants *constants;
    const struct ronde_doctor_spread *spread;
};

/**
 * Diagnoses the rows of a system. Errors: UNSUPPORTED where the model has none of them, with the reason of the first;
 * BAD_INPUT where a size is faster than the machine can be, as far as the model is sure of anything; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_doctor(const struct ronde_doctor_request *request,
                                                          struct ronde_diagnosis *out,
                                                          struct ronde_error *error);

/** What a row should take on the healthy machine, us; 0 where the request leaves it out or the model has no such call. */
RONDE_API double ronde_doctor_expected_us(const struct ronde_doctor_request *request,
                                          const struct ronde_published_row *row);

#ifdef __cplusplus
}
#endif
#endif
