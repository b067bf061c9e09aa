/**
 * The least time that any schedule of a collective can take on a machine: by its cuts, and by its distances.
 *
 * For a set S of places: what must leave S, over the rate of the links that leave it. all_gather: every block that starts
 * in S must leave it where some rank is outside, so N blocks move at no more than N min rate(S) / |ranks in S|; found
 * exactly by Newton's method over cuts and maximum flows (L. Zhao et al., "ForestColl: Throughput-Optimal Collective
 * Communications on Heterogeneous Network Fabrics", NSDI 2026, section 4, which bisects). reduce_scatter is the same on
 * the reversed graph; broadcast the least maximum flow from the root (J. Edmonds, "Edge-disjoint branchings", 1973).
 * Switches neither copy nor add. docs/guide/synthesis.md has what the bounds are worth.
 */
#ifndef RONDE_BOUND_H
#define RONDE_BOUND_H

#include "ronde/builder.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Room for the text of a cut, its NUL included. */
#define RONDE_CUT_BYTES 320u

/** The bound of a collective on a platform. Rates are nccl-tests' algbw. */
struct ronde_bound {
    enum ronde_collective collective; /**< what */
    uint32_t ranks;                   /**< rank r on host r */
    uint32_t root;                    /**< of rooted collectives */
    double GBps; /**< bytes of the larger buffer over time, of large blocks; INFINITY = no link limits it */
    uint64_t numerator;   /**< GBps as a fraction, in GB/s; 0 where rates had to be rounded */
    uint64_t denominator; /**< of it */
    double latency_ns;    /**< of the longest way that data must go, ronde.alpha_ns once */
    /**
     * all_reduce: GBps is that of reduce_scatter, then all_gather, each at its bound. Schedules that share links among
     * both phases may be faster where ranks differ, but none exceeds this: every part of the machine takes in every sum, and
     * parts must give each other their data first (predict/synthesis/bound.c). Else the same as GBps.
     */
    double certain_GBps;
    bool is_tight; /**< trees reach it if messages could take any way; not of all_to_all and send_recv */
    uint32_t cut_ranks; /**< on the side of the cut that is named */
    double cut_GBps; /**< rate through the cut, in the direction that limits; 0 where no single cut does */
    char cut[RONDE_CUT_BYTES]; /**< the bottleneck in words: which ranks, through which links; "" without one */
};

/**
 * Finds the bound of request->collective for request->ranks ranks (rank r on host r of the file), its root and its pairs
 * (source_of). all_to_all and send_recv: the best of many cuts and of the length of all ways, which may be too low.
 * Time: a few maximum flows a rank; routes of all pairs. Errors: NO_MEMORY; BAD_ARGUMENT (too many ranks); BAD_INPUT for
 * a host that some other one cannot reach, by name; UNSUPPORTED (a shared host); those of ronde_router_route.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_bound_find(const struct ronde_platform *platform, const struct ronde_compile_request *request,
                 const struct ronde_mem *mem, struct ronde_bound *out_bound,
                 struct ronde_error *error);

/** The least time of a launch whose larger buffer has so many bytes, by certain_GBps: no schedule of any kind takes less. */
RONDE_API double ronde_bound_ns(const struct ronde_bound *bound, double bytes);

#ifdef __cplusplus
}
#endif
#endif
