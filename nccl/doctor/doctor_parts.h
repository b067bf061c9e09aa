/** What the parts of the doctor share. */
#ifndef RONDE_NCCL_DOCTOR_DOCTOR_PARTS_H
#define RONDE_NCCL_DOCTOR_DOCTOR_PARTS_H

#include "ronde/doctor.h"

/** Ratio of times up to which a call counts as what it should be: the model's own spread, one case in twenty beyond. */
#define DOCTOR_SPREADS 1.64

/** The same from which on a single size is not explained by the model's error: no published system that comes out fine has one. */
#define DOCTOR_FAR_SPREADS 7.2

/** The class of a size. */
uint32_t doctor_size_class(const struct ronde_doctor_spread *spread, uint64_t bytes);

/** Whether a row is among those that are diagnosed: of the system, and faulty or not as was asked for. */
bool doctor_takes(const struct ronde_doctor_request *request, const struct ronde_published_row *row);

/** How far the model is off by itself on a call. */
double doctor_off(const struct ronde_doctor_request *request, const struct ronde_nccl_call *call);

/** Time of a row on the machine with a fault; 0 where the call cannot have it. Variant NULL: as described. */
double doctor_predict_us(const struct ronde_doctor_request *request,
                         const struct ronde_published_row *row,
                         const struct ronde_doctor_variant *variant, uint32_t strength);

/**
 * Ranges of sizes that are short or not, and how often rates jump; is_wrong says whether any size is short, one that there
 * is no range for among them. Errors: NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status doctor_find_ranges(const struct ronde_doctor_request *request,
                                                      struct ronde_diagnosis *out,
                                                      struct ronde_error *error);

#endif
