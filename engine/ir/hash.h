/**
 * The hash of a schedule's canonical content: equal hash, equal results bit for bit.
 */
#ifndef RONDE_ENGINE_IR_HASH_H
#define RONDE_ENGINE_IR_HASH_H

#include "ronde/ir.h"

/** Hash of everything that ronde_finish_raw does not derive, the algorithm's name left out. */
uint64_t ronde_schedule_hash(const struct ronde_schedule *schedule);

#endif
