/*
 * A hop of a ping-pong between two cores, as sim/machines/cores.c replays it: the message is fetched from one slot and written into
 * another. That was last read twice as many messages ago as there are slots, as each side fills slots of its own in between.
 *
 * Writing is not timed by itself: a core goes on while its stores wait for their lines, and how much of that it notices
 * depends on what else it has to do. Messages of 512 B to 4 KiB that were written while nothing else happened seemed to
 * take next to nothing, and two thirds of what they take in a hop.
 */
#include "lab/calibrate/crossing.h"

#include <math.h>

#define LEAST_NS_PER_BYTE 1e-3

static double cost_ns(const struct ronde_curve *curve, double at, double bytes)
{
    return bytes / ronde_curve_GBps(curve, at, INFINITY);
}

double ronde_crossing_write_ns(const struct ronde_cache_facts *facts, double bytes, double beyond_ns)
{
    const double line = facts->cross_copy.bytes[0];
    const double fetch_ns = cost_ns(&facts->cross_copy, bytes, bytes);
    const double line_ns = cost_ns(&facts->cross_copy, line, line);
    const double apart = RONDE_CROSSING_SLOTS * bytes;
    const double later_ns = cost_ns(&facts->remote_write, 2.0 * apart, bytes) -
                            cost_ns(&facts->remote_write, apart, bytes);
    return fmax(beyond_ns - (fetch_ns - line_ns) - later_ns, LEAST_NS_PER_BYTE * bytes);
}
