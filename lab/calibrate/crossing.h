/**
 * What writing into a slot that another core has read costs, from how long a message of that length takes to and fro.
 */
#ifndef RONDE_LAB_CALIBRATE_CROSSING_H
#define RONDE_LAB_CALIBRATE_CROSSING_H

#include "ronde/topologies.h"

/**
 * A point of cross_write_curve, ns: a hop of `bytes` takes `beyond_ns` longer than one of 16 bytes; all other curves of
 * *facts are known. What the replay of engine cores adds up for such a hop is taken off: fetching the message instead of
 * its one line. At least 1 ps a byte.
 */
RONDE_API double ronde_crossing_write_ns(const struct ronde_cache_facts *facts, double bytes,
                                         double beyond_ns);

#endif
