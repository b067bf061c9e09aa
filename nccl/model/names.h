/** Words of the model's files and of NCCL's settings, in the order of their enumerations. */
#ifndef RONDE_NCCL_NCCL_NAMES_H
#define RONDE_NCCL_NCCL_NAMES_H

#include "ronde/nccl_model.h"

extern const char *const ronde_nccl_generations[RONDE_NCCL_GENERATION_COUNT];
extern const char *const ronde_nccl_links[RONDE_NCCL_LINK_COUNT];
extern const char *const ronde_nccl_gpu_paths[RONDE_NCCL_GPU_PATH_COUNT];
extern const char *const ronde_nccl_fabrics[RONDE_NCCL_FABRIC_COUNT];
extern const char *const ronde_nccl_cpus[RONDE_NCCL_CPU_COUNT];

#endif
