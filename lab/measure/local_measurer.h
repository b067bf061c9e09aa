/**
 * The measurer of a comparison on this machine: a backend as the time model has it.
 */
#ifndef RONDE_LAB_LOCAL_MEASURER_H
#define RONDE_LAB_LOCAL_MEASURER_H

#include "ronde/distance.h"
#include "ronde/measurer.h"

/** A backend and what is loaded on it. */
struct ronde_local_measurer {
    const char *backend;                                         /**< its name */
    struct ronde_target target;                                  /**< open while a job is */
    struct ronde_benchmark benchmarks[RONDE_MEASURED_SCHEDULES]; /**< of the job */
    uint32_t count;                                              /**< how many */
    struct ronde_memory memory;                                  /**< shared by them */
    struct ronde_distance *distance; /**< between processors; NULL where none is known */
    bool has_moved; /**< the last point was measured at another distance than the constants */
};

/** The functions; *local outlives them, starts with its backend's name and zeroes, and is not moved. */
struct ronde_measurer ronde_local_measurer(struct ronde_local_measurer *local);

#endif
