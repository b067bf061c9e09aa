/**
 * Which position sends what to which, derived from the steps of a schedule: see struct ronde_traffic.
 */
#ifndef RONDE_ENGINE_PROVE_TRAFFIC_H
#define RONDE_ENGINE_PROVE_TRAFFIC_H

#include "ronde/ir.h"

/** The traffic of a schedule that was checked. Time: linear in its steps and in the connections of all positions. */
struct ronde_traffic ronde_traffic_of(const struct ronde_schedule *schedule);

#endif
