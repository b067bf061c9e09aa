/**
 * Where the NVIDIA GPUs of a machine are on PCIe, and which processors and network cards they are near, as hwloc sees
 * them. No driver is needed: a GPU whose driver is missing is seen, too.
 */
#ifndef RONDE_GPU_PLACES_H
#define RONDE_GPU_PLACES_H

#include "ronde/processors.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a GPU is. */
struct ronde_gpu_place {
    char bus[32];        /**< "0000:65:00.0" */
    char product[64];    /**< as the system's table of PCI devices has it, else its numbers */
    char names[64];      /**< of the system's and of libraries: "cuda0 nvml0"; "" = none */
    char nic[32];        /**< the nearest network card; "" = none */
    char processors[96]; /**< that are near: "0-31,64-95" */
    uint32_t node; /**< memory that is near, as the system numbers it; RONDE_NONE = several are */
    uint32_t package; /**< socket; RONDE_NONE = several are as near */
    double slot_GBps; /**< of its PCIe link; 0 = unknown */
};

/**
 * Lists the GPUs in the order of PCIe. `file` is hwloc's XML of some machine (lstopo); NULL = this one, unless hwloc's own
 * HWLOC_XMLFILE names another.
 *
 * Owner: the caller frees *out_list, *out_count entries, NULL for none. Errors: UNAVAILABLE without hwloc; NO_MEMORY;
 * BAD_INPUT for a file that hwloc does not read; DEVICE where it cannot read the machine.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_gpu_places_list(const char *file, const struct ronde_mem *mem,
                      struct ronde_gpu_place **out_list, uint32_t *out_count,
                      struct ronde_error *error);

/**
 * Lists the processors that are near a device of PCIe, as ronde_processors_list does all of them. Errors: those of
 * ronde_gpu_places_list; BAD_ARGUMENT where there is no such device.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_gpu_places_near(const char *file, const char *bus, const struct ronde_mem *mem,
                      struct ronde_processor **out_list, uint32_t *out_count,
                      struct ronde_error *error);

/** Whether two texts name one place of PCIe: CUDA, NVML and hwloc write the domain with 4 or 8 digits. */
RONDE_API bool ronde_bus_is_same(const char *left, const char *right);

#ifdef __cplusplus
}
#endif
#endif
