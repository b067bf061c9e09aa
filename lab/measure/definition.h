/**
 * What each collective is, as plain loops over all ranks' memory. Knows no schedule.
 *
 * What `host`, the specification of all other backends, is itself compared with. Reductions run in
 * rank order and in doubles, rounded once at the end: right to the bit for inputs from
 * RONDE_PATTERN_EXACT, whose partial results are small whole numbers (of bool: counts of what is true).
 */
#ifndef RONDE_LAB_DEFINITION_H
#define RONDE_LAB_DEFINITION_H

#include "ronde/buffers.h"

/** Writes the outputs that the collective defines through the memory's views, which must not overlap, and nothing
 * else. source_of is that of the request or schedule: for send_recv with listed pairs, else NULL. */
void ronde_definition_run(const struct ronde_memory *memory, const struct ronde_input_range *shape,
                          const uint32_t *source_of);

#endif
