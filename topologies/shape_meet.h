/**
 * Which ends of links are one place: the first half of finding a shape.
 *
 * Elements are the points of the platform and the two ends of every link; both directions of a cable share their ends.
 * Elements that are one place end up in one class (union-find). A class has at most one host or router: where a route
 * would put two into one, they stay apart and only touch.
 */
#ifndef RONDE_TOPOLOGIES_SHAPE_MEET_H
#define RONDE_TOPOLOGIES_SHAPE_MEET_H

#include "platform.h"

/** Two elements of one route in a row. */
struct ronde_meeting {
    uint32_t a; /**< element */
    uint32_t b; /**< element */
};

/** What is known of the links of a file. */
struct ronde_meet {
    const struct ronde_platform *platform; /**< whose */
    const struct ronde_mem *mem;           /**< for the lists */
    struct ronde_store store;              /**< for the arrays */
    uint32_t element_count;                /**< points, then two ends per link */
    uint32_t *parent;                      /**< per element: union-find */
    uint32_t *solid;                       /**< per root: its host or router, or NONE */
    uint32_t *zone_point;                  /**< per root: point of a zone in the class, or NONE */
    bool *is_used;                         /**< per link: some route crosses it */
    bool *is_bus;                          /**< per link: crossed both ways though it is one link */
    struct ronde_list meetings; /**< struct ronde_meeting, each one both ways, sorted, once */
    struct ronde_list touches;  /**< struct ronde_meeting: different places side by side */
};

/** The end a link leaves from. */
uint32_t ronde_meet_tail(const struct ronde_meet *meet, uint32_t link);

/** The end a link leads to. */
uint32_t ronde_meet_head(const struct ronde_meet *meet, uint32_t link);

/** The root of an element's class. */
uint32_t ronde_meet_find(struct ronde_meet *meet, uint32_t element);

/** Finds the classes of all elements. Owner: the caller frees, also after an error. Errors: NO_MEMORY. */
enum ronde_status ronde_meet_create(const struct ronde_platform *platform,
                                    const struct ronde_mem *mem, struct ronde_meet *out_meet);

/** Frees the arrays. */
void ronde_meet_free(struct ronde_meet *meet);

#endif
