/**
 * The processors of a machine and how near they are to each other, as hwloc sees them.
 */
#ifndef RONDE_PROCESSORS_H
#define RONDE_PROCESSORS_H

#include "ronde/mem.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A processor: the system's number of it, and hwloc's of what it is part of. */
struct ronde_processor {
    uint32_t cpu;     /**< as the system numbers them */
    uint32_t core;    /**< processors of one core are threads of it */
    uint32_t node;    /**< the memory it is near to */
    uint32_t package; /**< the socket */
};

/**
 * Lists the processors that this process's control group leaves it, near ones beside each other: by package, memory and
 * core. synthetic is hwloc's text of a synthetic machine ("package:2 numa:2 core:8 pu:1"); NULL = this one.
 *
 * Owner: the caller frees *out_list, *out_count entries, at least one. Errors: UNAVAILABLE without hwloc; NO_MEMORY;
 * BAD_INPUT for a text that hwloc does not read; DEVICE where it cannot read the machine.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_processors_list(const char *synthetic, const struct ronde_mem *mem,
                      struct ronde_processor **out_list, uint32_t *out_count,
                      struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
