/**
 * The NVIDIA GPUs of this machine, as its driver describes them: what they are and the paths between them. hwloc, where it
 * is there, adds the memory, processors and adapters near each of them.
 *
 * Read through the driver's management library (NVML), which is loaded when it is needed, so no build depends on it.
 */
#ifndef RONDE_GPUS_H
#define RONDE_GPUS_H

#include "ronde/gpu_places.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most GPUs a survey holds. */
#define RONDE_SURVEY_GPUS 32u

/** The path between two GPUs, the shortest first: enumerator, nvidia-smi's abbreviation, meaning. */
#define RONDE_GPU_PATH_LIST(X)                                                                     \
    X(SELF, "X", "the same GPU")                                                                   \
    X(NVLINK, "NV", "NVLink, directly or through switches; the number of links follows")           \
    X(BOARD, "BRD", "one board")                                                                   \
    X(SWITCH, "PIX", "one PCIe switch")                                                            \
    X(SWITCHES, "PXB", "several PCIe switches")                                                    \
    X(BRIDGE, "PHB", "a PCIe host bridge")                                                         \
    X(NODE, "NODE", "host bridges of one NUMA node")                                               \
    X(SYSTEM, "SYS", "the link between processors")                                                \
    X(UNKNOWN, "?", "the driver does not say")

/** Paths. */
enum ronde_gpu_path {
#define RONDE_ENUMERATOR(name, text, meaning) RONDE_GPU_PATH_##name,
    RONDE_GPU_PATH_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_GPU_PATH_COUNT /**< number of paths */
};

/** A GPU. */
struct ronde_gpu_facts {
    char name[64];                /**< the product's */
    char bus[32];                 /**< its PCIe address */
    uint64_t memory_bytes;        /**< of its own */
    uint32_t nvlinks;             /**< that are up */
    uint32_t switch_links;        /**< of these, those into switches */
    struct ronde_gpu_place place; /**< by hwloc; place.bus "" = unknown to it */
};

/** The GPUs of this machine. */
struct ronde_gpu_survey {
    char driver[80]; /**< version of the driver */
    uint32_t cuda;   /**< newest CUDA it runs: 1000 * major + 10 * minor */
    uint32_t count;  /**< GPUs */
    struct ronde_gpu_facts gpus[RONDE_SURVEY_GPUS];                  /**< in the driver's order */
    enum ronde_gpu_path paths[RONDE_SURVEY_GPUS][RONDE_SURVEY_GPUS]; /**< from one to another */
    uint32_t links[RONDE_SURVEY_GPUS][RONDE_SURVEY_GPUS];            /**< NVLinks between them */
};

/**
 * Reads the driver, and hwloc. Time: some milliseconds, or seconds where the driver has to be initialised first. Errors:
 * NO_MEMORY; UNAVAILABLE with what is missing: the driver's library, the driver itself, a GPU, or the permission to read;
 * and the GPUs that PCIe lists nevertheless.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_gpu_survey(const struct ronde_mem *mem,
                                                              struct ronde_gpu_survey *out_survey,
                                                              struct ronde_error *error);

/** CUDA runtime in this build: 1000 * major + 10 * minor; 0 = none. */
RONDE_API uint32_t ronde_gpu_runtime(void);

/** nvidia-smi's abbreviation of a path; "?" if out of range. */
RONDE_API const char *ronde_gpu_path_text(enum ronde_gpu_path path);

/** Its meaning; "?" if out of range. */
RONDE_API const char *ronde_gpu_path_meaning(enum ronde_gpu_path path);

#ifdef __cplusplus
}
#endif
#endif
