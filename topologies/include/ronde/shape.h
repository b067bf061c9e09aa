/**
 * The shape of a platform: places and the wires between them, as in a drawing.
 *
 * A platform file lists routes. This inverts them: links that follow one another on a route share
 * an end, and the ends they share are one place, with the name of the host or router that stands
 * there or with none.
 */
#ifndef RONDE_SHAPE_H
#define RONDE_SHAPE_H

#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A host, a router, or a place where links meet. */
struct ronde_vertex {
    const char *name; /**< of the host, router or zone; "" where the file has none; valid as long as the platform */
    uint32_t host;     /**< index of the host; RONDE_NONE for anything else */
    double rate_GBps;  /**< capacity of a medium that all traffic through here shares; 0 = none */
    double latency_ns; /**< of that medium */
    uint32_t link;     /**< that medium; RONDE_NONE */
    bool is_fatpipe;   /**< the medium caps each flow and is not shared */
    bool is_opaque;    /**< a zone whose links are only SimGrid's */
};

/** A wire between two vertices, both directions together. */
struct ronde_edge {
    uint32_t a;        /**< vertex */
    uint32_t b;        /**< vertex, above a */
    double rate_GBps;  /**< from a to b; 0 = no link, a and b only touch */
    double back_GBps;  /**< from b to a; 0 = one way, or no link */
    double latency_ns; /**< from a to b, or back where there is no other way */
    uint32_t link;     /**< from a to b, of several one after the other the first; RONDE_NONE */
    uint32_t back;     /**< likewise from b to a */
    bool is_shared;    /**< one capacity for both directions */
    bool is_fatpipe;   /**< caps each flow, is not shared */
};

/** A platform as a graph. */
struct ronde_shape {
    struct ronde_vertex *vertices; /**< hosts first, in the order of their indices */
    uint32_t vertex_count;         /**< of those */
    struct ronde_edge *edges;      /**< sorted by (a, b) */
    uint32_t edge_count;           /**< of those */
    size_t vertex_capacity;        /**< reserved */
    size_t edge_capacity;          /**< reserved */
};

/**
 * Finds the shape of a platform. Time: links and hops written in the file, sorted. Owner: the caller frees it with
 * ronde_shape_free, before the platform. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_shape_of(const struct ronde_platform *platform, const struct ronde_mem *mem,
               struct ronde_shape *out_shape, struct ronde_error *error);

/** Frees what a shape holds; a zeroed one is allowed. */
RONDE_API void ronde_shape_free(struct ronde_shape *shape, const struct ronde_mem *mem);

#ifdef __cplusplus
}
#endif
#endif
