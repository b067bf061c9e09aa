/** The driver's facts about the GPUs, without what hwloc adds to them. */
#ifndef RONDE_HW_CUDA_NVML_H
#define RONDE_HW_CUDA_NVML_H

#include "ronde/gpus.h"

/**
 * Reads the driver into a zeroed survey; the library is closed afterwards. Errors: UNAVAILABLE with what is missing, as
 * ronde_gpu_survey's.
 */
enum ronde_status ronde_nvml_survey(struct ronde_gpu_survey *survey, struct ronde_error *error);

#endif
