/**
 * Lowering for zero-copy backends: reuse edges, post points, and which sends must go through a slot.
 *
 * A *reuse edge* leads from the end of a receive to the first later step of the sender that overwrites the source. A
 * *post point* is the last earlier step of the receiver that touches the destination: from then on the sender may write
 * there. Where the reuse edges close a cycle, one send on it is marked `buffered`. All per program and per placement.
 */
#ifndef RONDE_ENGINE_IR_LOWER_H
#define RONDE_ENGINE_IR_LOWER_H

#include "engine/prove/model.h"

/** Fills in program->lowering and the BUFFERED flags. `min_depth` as proved. Errors: NO_MEMORY. */
enum ronde_status ronde_lower(struct ronde_schedule *schedule, struct ronde_model *model,
                              uint32_t min_depth, struct ronde_error *error);

#endif
