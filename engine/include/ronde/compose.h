/**
 * Compositions: one schedule after another, as one schedule.
 */
#ifndef RONDE_COMPOSE_H
#define RONDE_COMPOSE_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Concatenates two schedules over the same ranks: the output of `first` is the input of `second`, and both together
 * must be `collective`, which is proved. Shape: the chunks `first` outputs are as many as `second` takes; symmetries
 * and channels must be equal. Chunks of the whole are those of the input of `first`: reduce_scatter with m chunks a
 * block and all_gather give an all_reduce of ranks * m chunks.
 * Owner: the caller destroys *out_schedule, which does not refer to the two afterwards.
 * Errors: NO_MEMORY; BAD_ARGUMENT (shapes do not meet); UNSUPPORTED (symmetries or channels differ); REJECTED (together
 * they are not that collective).
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_schedule_compose(const struct ronde_schedule *first, const struct ronde_schedule *second,
                       enum ronde_collective collective, const struct ronde_mem *mem,
                       struct ronde_schedule **out_schedule, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
