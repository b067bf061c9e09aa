/**
 * What links carry at every moment of a replay that shares them by max-min fairness, from when its messages began and
 * ended to flow: the rates are found once more.
 */
#ifndef RONDE_SIM_LOADS_H
#define RONDE_SIM_LOADS_H

#include "sim/routes.h"

/** The load of a link from a time on. */
struct ronde_sim_load {
    double at_ns;     /**< from then on */
    double rate_GBps; /**< of all flows together */
};

/** The loads of one link; start from zeroes. */
struct ronde_sim_loads {
    uint32_t link;              /**< which */
    struct ronde_sim_load *all; /**< count entries, in order of time, the last one 0 */
    size_t capacity;            /**< reserved */
    size_t count;               /**< used */
};

/**
 * Finds the loads of `count` links of a scene whose options have start and finish times. Errors: NO_MEMORY; those of the
 * routes. Free what each holds in every case.
 */
enum ronde_status ronde_sim_loads_find(const struct ronde_sim_scene *scene,
                                       struct ronde_sim_loads *loads, uint32_t count);

#endif
