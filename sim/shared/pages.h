/**
 * Large arrays: not cleared where every entry is written anyway, and in large pages where the system has them.
 */
#ifndef RONDE_SIM_PAGES_H
#define RONDE_SIM_PAGES_H

#include "ronde/mem.h"

/**
 * An array of which every entry is written before it is read: clearing it first would take a tenth of a replay. NULL
 * where there is no memory; freed by ronde_mem_free.
 */
void *ronde_sim_pages_new(const struct ronde_mem *mem, size_t count, size_t element_bytes);

/** As ronde_mem_new. */
void *ronde_sim_pages_new_zeroed(const struct ronde_mem *mem, size_t count, size_t element_bytes);

#endif
