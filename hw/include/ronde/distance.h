/**
 * How far processors are from each other: how long a changed cache line takes from one to the next.
 *
 * On a virtual machine that is no constant. The host moves virtual processors: two that shared a cache, or a core, find
 * themselves in different groups of cores or sockets a second later, and all that crosses between them takes several times
 * as long. What is compared must have been measured at one distance:
 *
 *     ronde_distance_keep(distance, line_ns, patience_ns);
 *     do {
 *         ronde_distance_await(distance);
 *         ... measure ...
 *     } while (!ronde_distance_held(distance));
 *
 * A watch belongs to one thread. Where there is none (NULL) everything holds.
 */
#ifndef RONDE_DISTANCE_H
#define RONDE_DISTANCE_H

#include "ronde/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ronde_distance;

/**
 * Binds a thread to each processor of this process, parked but while something is measured. Owner: the caller closes
 * *out_distance. Errors: UNAVAILABLE on fewer than two processors or in a build without threads; NO_MEMORY; DEVICE when the
 * system refuses a thread.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_distance_open(const struct ronde_mem *mem, struct ronde_distance **out_distance,
                    struct ronde_error *error);

/** Ends the threads; NULL is allowed. */
RONDE_API void ronde_distance_close(struct ronde_distance *distance);

/** ns from a processor to the next, in turns through all of them; the least of some rounds. Takes some 0.1 ms. */
RONDE_API double ronde_distance_ns(struct ronde_distance *distance);

/** The distance at most times: the median of half a second. */
RONDE_API double ronde_distance_usual_ns(struct ronde_distance *distance);

/** Whether two distances are one and the same, as far as can be told: within a factor of 1.6; 0 = not known, and like any. */
RONDE_API bool ronde_distance_is_alike(double left_ns, double right_ns);

/** What the distance has to be (0 = any), and for how long altogether to wait for that, and to measure again. */
RONDE_API void ronde_distance_keep(struct ronde_distance *distance, double line_ns,
                                   double patience_ns);

/** Waits until the distance is as it has to be, while patience lasts. */
RONDE_API void ronde_distance_await(struct ronde_distance *distance);

/** Whether what was measured since the last await counts: the distance is still the same, or patience has run out. */
RONDE_API bool ronde_distance_held(struct ronde_distance *distance);

/** How often something was taken at another distance, as patience had run out. */
RONDE_API uint32_t ronde_distance_missed(const struct ronde_distance *distance);

#ifdef __cplusplus
}
#endif
#endif
