/**
 * The measurer of a comparison between the hosts of a rig.
 */
#ifndef RONDE_LAB_RIG_RIG_MEASURER_H
#define RONDE_LAB_RIG_RIG_MEASURER_H

#include "netns_workers.h"

#include "ronde/measurer.h"

/** A rig and what is loaded in its hosts. */
struct ronde_rig_measurer {
    const char *rig;                     /**< its name, as tests/rig/up was told */
    struct ronde_netns_workers *workers; /**< while a job is open */
    struct ronde_netns_job jobs[RONDE_MEASURED_SCHEDULES]; /**< what those run */
    uint32_t count;                                        /**< how many */
    struct ronde_netns_tally tally; /**< repetitions that count, and the others, all jobs */
};

/** The functions; *rig outlives them, starts with its name and zeroes, and is not moved. */
struct ronde_measurer ronde_rig_measurer(struct ronde_rig_measurer *rig);

#endif
