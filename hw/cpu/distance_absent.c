/* Distances in a build without POSIX threads: none is known, and everything holds. See ronde/distance.h. */
#include "ronde/distance.h"

enum ronde_status ronde_distance_open(const struct ronde_mem *mem,
                                      struct ronde_distance **out_distance,
                                      struct ronde_error *error)
{
    (void)mem;
    *out_distance = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "distances: built without POSIX threads (-DRONDE_CPU=ON, package libc6-dev)");
}

void ronde_distance_close(struct ronde_distance *distance)
{
    (void)distance;
}

double ronde_distance_ns(struct ronde_distance *distance)
{
    (void)distance;
    return 0;
}

double ronde_distance_usual_ns(struct ronde_distance *distance)
{
    (void)distance;
    return 0;
}

bool ronde_distance_is_alike(double left_ns, double right_ns)
{
    (void)left_ns;
    (void)right_ns;
    return true;
}

void ronde_distance_keep(struct ronde_distance *distance, double line_ns, double patience_ns)
{
    (void)distance;
    (void)line_ns;
    (void)patience_ns;
}

void ronde_distance_await(struct ronde_distance *distance)
{
    (void)distance;
}

bool ronde_distance_held(struct ronde_distance *distance)
{
    (void)distance;
    return true;
}

uint32_t ronde_distance_missed(const struct ronde_distance *distance)
{
    (void)distance;
    return 0;
}
