/**
 * The one writer of platform files: calibrations, generated and imported machines are written by these elements.
 */
#ifndef RONDE_TOPOLOGIES_ELEMENTS_H
#define RONDE_TOPOLOGIES_ELEMENTS_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Where elements go. */
struct ronde_elements {
    FILE *file;
    int indent; /**< spaces before them */
};

/** Elements, and the words that make one. LINKS are each >NAME, <NAME or NAME for UP, DOWN and both directions in one. */
enum ronde_file_element {
    RONDE_ELEMENT_HOST,     /**< NAME */
    RONDE_ELEMENT_ROUTER,   /**< NAME */
    RONDE_ELEMENT_ZONE,     /**< NAME ROUTING, open until its end */
    RONDE_ELEMENT_ZONE_END, /**< no words */
    RONDE_ELEMENT_SWITCH, /**< ZONE ROUTER: a router in a zone, for only zones stand beside zones */
    RONDE_ELEMENT_ROUTE,  /**< SRC DST LINKS: there and back */
    RONDE_ELEMENT_WAY,    /**< SRC DST LINKS: there alone */
    RONDE_ELEMENT_ZONE_ROUTE, /**< SRC DST GATEWAY_OF_SRC GATEWAY_OF_DST LINKS */
    RONDE_ELEMENT_ROUTE_BEGIN, /**< SRC DST: a route or way link by link, with ronde_put_hop and ronde_put_route_end */
    RONDE_ELEMENT_WAY_BEGIN
};

/** Writes everything up to the first element of the root zone; the comment is a line, or lines that each end. */
void ronde_elements_open(FILE *file, const char *comment, const char *name, const char *routing);

/** Closes the root zone and the file. Errors: DEVICE. */
enum ronde_status ronde_elements_close(FILE *file, struct ronde_error *error);

/** A property called ronde.NAME; what a file must not have as it is becomes an entity, or a '?'. */
void ronde_put_prop(FILE *file, const char *name, const char *text);

/** An element of words as formatted, fewer than 512 bytes. */
void ronde_put(const struct ronde_elements *to, enum ronde_file_element element, const char *format,
               ...) RONDE_FORMAT(3, 4);

/** What goes between the begin of a route and its end: a link; UP for '>', DOWN for '<', else both directions in one. */
void ronde_put_hop(const struct ronde_elements *to, char way, const char *link);
void ronde_put_route_end(const struct ronde_elements *to);

/** What a link has but its name. */
struct ronde_link_element {
    double GBps;
    double latency_ns;
    const char *policy; /**< how flows share it */
    const char *ports;  /**< of a NIC, for people; or NULL */
};

/** Each direction for itself. */
static inline struct ronde_link_element ronde_duplex(double GBps, double latency_ns)
{
    return (struct ronde_link_element){GBps, latency_ns, "SPLITDUPLEX", NULL};
}

/** A link that every flow has for itself. */
static inline struct ronde_link_element ronde_fatpipe(double GBps, double latency_ns)
{
    return (struct ronde_link_element){GBps, latency_ns, "FATPIPE", NULL};
}

/** A link. */
void ronde_put_link(const struct ronde_elements *to, struct ronde_link_element link,
                    const char *format, ...) RONDE_FORMAT(3, 4);

/** Hosts with a link each to one switch, or in a torus. */
struct ronde_cluster_element {
    const char *id, *prefix;
    uint32_t first, last; /**< numbers of its hosts */
    double GBps;
    double latency_ns;
    bool is_measured; /**< numbers with all their digits, in a line of their own */
};

/** A cluster; what is formatted are its other attributes, each after a space. */
void ronde_put_cluster(const struct ronde_elements *to, const struct ronde_cluster_element *cluster,
                       const char *format, ...) RONDE_FORMAT(3, 4);

#endif
