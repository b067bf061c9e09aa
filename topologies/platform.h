/**
 * What a platform file becomes: zones, points (hosts, routers, zones as seen by their parent), directed links, routes.
 *
 * Everything is an index into one growing array per kind; lists of links are ranges of `hops`. The reader (read/) fills
 * it in through the functions below, which are independent of XML; ronde_platform_seal then freezes it for routing.
 */
#ifndef RONDE_TOPOLOGIES_PLATFORM_H
#define RONDE_TOPOLOGIES_PLATFORM_H

#include "ronde/topologies.h"

/** "No such index". */
#define RONDE_NONE UINT32_MAX

/** How a zone finds the route between two of its points. */
enum ronde_zone_kind {
    RONDE_ZONE_FULL,     /**< the route is written out, or there is none */
    RONDE_ZONE_SHORTEST, /**< fewest links (Dijkstra, DijkstraCache, Floyd) */
    RONDE_ZONE_STAR,     /**< own links up, then the other's links down (cluster) */
    RONDE_ZONE_TORUS,    /**< along the first axis, then the next, the shorter way round */
    RONDE_ZONE_FOREIGN   /**< fat tree, dragonfly, Vivaldi: only SimGrid routes it */
};

/** Most axes of a torus that is routed here. */
#define RONDE_TORUS_AXES 6u

/** A range of `hops`. */
struct ronde_hops {
    uint32_t first; /**< into hops */
    uint32_t count; /**< links */
};

/** A host, a router, or a zone seen from its parent. */
struct ronde_netpoint {
    const char *name;       /**< unique over the platform */
    uint32_t zone;          /**< zone it sits in; NONE for the root */
    uint32_t inner;         /**< the zone it stands for, else NONE */
    uint32_t slot;          /**< its number among the points of its zone */
    uint32_t first_route;   /**< after sealing: its routes as a source */
    uint32_t route_count;   /**< of those */
    bool is_host;           /**< can be a rank */
    struct ronde_hops up;   /**< star zones: links from it to the centre */
    struct ronde_hops down; /**< star zones: links from the centre to it */
};

/** A zone. */
struct ronde_zone {
    uint32_t point;            /**< itself seen from its parent */
    enum ronde_zone_kind kind; /**< how it routes */
    const char *routing;       /**< the word in the file, for messages */
    uint32_t backbone;         /**< star zones: link every route crosses, or NONE */
    uint32_t member_count;     /**< points in it */
    uint32_t first_member;     /**< after sealing: into members */
    uint32_t axis_count; /**< torus: its axes; slot 0 is the router, then the hosts, first axis fastest */
    uint32_t axes[RONDE_TORUS_AXES]; /**< torus: hosts along each */
};

/** One direction of a <route> or <zoneRoute>. */
struct ronde_route {
    uint32_t src; /**< point */
    uint32_t dst; /**< point of the same zone */
    uint32_t gw_src; /**< where it leaves src: src itself, or a router inside the zone src stands for */
    uint32_t gw_dst;        /**< where it enters dst */
    uint32_t line;          /**< in the file */
    struct ronde_hops hops; /**< its links in order */
};

/** A name and what it stands for. */
struct ronde_name {
    const char *key; /**< NULL where free */
    uint32_t hash;   /**< of it */
    uint32_t value;
};

/** Open-addressing hash from a name to an index; names are not copied. */
struct ronde_names {
    struct ronde_name *all; /**< capacity entries */
    uint32_t capacity;      /**< a power of two, or 0 */
    uint32_t count;         /**< of names */
};

struct ronde_text;
struct ronde_detours;

/** A platform; the lists hold what their names say. */
struct ronde_platform {
    const struct ronde_mem *mem;       /**< must outlive the platform */
    const char *path;                  /**< of the file */
    struct ronde_platform_facts facts; /**< ronde.* props */
    struct ronde_list zones;           /**< struct ronde_zone; 0 is the root */
    struct ronde_list points;          /**< struct ronde_netpoint */
    struct ronde_list links;           /**< struct ronde_link */
    struct ronde_list reverses;        /**< uint32_t beside links: the other direction, or itself */
    struct ronde_list hops;            /**< uint32_t: links */
    struct ronde_list routes;          /**< struct ronde_route; sorted by (src, dst) once sealed */
    struct ronde_list hosts;           /**< uint32_t: points, in rank order */
    struct ronde_list members;         /**< uint32_t: points grouped by zone, once sealed */
    struct ronde_names point_names;    /**< name of host, router or zone -> point */
    struct ronde_names link_names; /**< name of a link; ronde_platform_find_link says of which kind */
    struct ronde_text *texts;      /**< all names, in blocks */
    const char *source;            /**< what it was parsed from; NULL = the file of its path */
    struct ronde_list without;     /**< const char *: what was taken out, as it was named */
    bool *is_out;                  /**< per link: taken out; NULL = none is */
    struct ronde_detours *detours;    /**< ways around these; NULL = none is out */
    uint32_t configs, disks, pstates; /**< what is in the file and changes nothing here */
    struct ronde_list
        node_labels; /**< uint32_t beside hosts: nodes of a file whose hosts are not all there; or empty */
    bool is_view; /**< all but the hosts, their labels and detours is another platform's (view.c) */
};

/** The element of a list. */
#define RONDE_AT(list, type, index) (&((type *)(list).items)[index])

/** Index of a name, or NONE. */
uint32_t ronde_names_find(const struct ronde_names *names, const char *key);

/** Adds a name that is not there yet. Errors: NO_MEMORY. */
enum ronde_status ronde_names_add(struct ronde_names *names, const struct ronde_mem *mem,
                                  const char *key, uint32_t value);

/** Frees the table. */
void ronde_names_free(struct ronde_names *names, const struct ronde_mem *mem);

/** An empty platform for a file. Errors: NO_MEMORY. */
enum ronde_status ronde_platform_create(const char *path, const struct ronde_mem *mem,
                                        struct ronde_platform **out_platform);

/** Bytes that live as long as the platform; NULL when there is no memory. */
char *ronde_platform_room(struct ronde_platform *platform, size_t bytes);

/** Joins three strings into one that lives as long as the platform; NULL when there is no memory. */
const char *ronde_platform_text(struct ronde_platform *platform, const char *first,
                                const char *second, const char *third);

/** Bytes of a hint. */
#define RONDE_LINK_HINT_BYTES 400u

/** Adds to the machine's name, as far as there is room: another machine is told apart by it. */
void ronde_platform_rename(struct ronde_platform *platform, const char *suffix);

/** Adds a point; the name must be new. A host also becomes the next rank. Errors: NO_MEMORY. */
enum ronde_status ronde_platform_add_point(struct ronde_platform *platform, const char *name,
                                           uint32_t zone, bool is_host, uint32_t *out_point);

/** Adds a zone inside another (NONE = the root) with its point. Errors: NO_MEMORY. */
enum ronde_status ronde_platform_add_zone(struct ronde_platform *platform, const char *name,
                                          uint32_t parent, enum ronde_zone_kind kind,
                                          uint32_t *out_zone);

/** Adds one directed link, whose name must be new. Errors: NO_MEMORY. */
enum ronde_status ronde_platform_add_link(struct ronde_platform *platform,
                                          const struct ronde_link *link, uint32_t *out_link);

/**
 * Adds a split-duplex link as its halves of these names, consecutive; all three are new and live as long as the platform.
 * Errors: NO_MEMORY.
 */
enum ronde_status ronde_platform_add_split(struct ronde_platform *platform,
                                           const struct ronde_link *link, const char *up_name,
                                           const char *down_name, uint32_t *out_up);

/**
 * The link of a name, NONE where there is none. *out_is_split: the name is that of a split-duplex link, whose UP half is
 * the result; DOWN is the next one.
 */
uint32_t ronde_platform_find_link(const struct ronde_platform *platform, const char *name,
                                  bool *out_is_split);

/** Appends a link to the open range at the end of `hops`. Errors: NO_MEMORY. */
enum ronde_status ronde_platform_add_hop(struct ronde_platform *platform, uint32_t link);

/** Where the sealing found a pair twice. */
struct ronde_route_clash {
    uint32_t first_line;  /**< the earlier one */
    uint32_t second_line; /**< the later one */
    const char *src;      /**< names */
    const char *dst;      /**< names */
};

/**
 * Sorts and indexes for routing. Errors: NO_MEMORY; BAD_INPUT with *out_clash filled in when a pair has two routes.
 */
enum ronde_status ronde_platform_seal(struct ronde_platform *platform,
                                      struct ronde_route_clash *out_clash);

/**
 * What rates and times of machines are: from 1 B/s to 1e24 B/s, and up to 31 years. Within these no quotient or sum of
 * them leaves the range of doubles, whatever the sizes; outside is a slip.
 */
#define RONDE_LEAST_GBPS 1e-9
#define RONDE_MOST_GBPS 1e15
#define RONDE_MOST_NS 1e18

/** Bandwidth in GB/s ("50GBps", "400Gbps", "1000000": B/s). False for anything else. */
bool ronde_parse_bandwidth(const char *text, double *out_GBps);

/** Time in ns ("1us", "0", "0.5": seconds). False for anything else. */
bool ronde_parse_time(const char *text, double *out_ns);

/** Speed, or a comma-separated list of them ("1Gf", "2.5gigaflops"). False for anything else. */
bool ronde_parse_speeds(const char *text);

/** Whether the network of a calibration has as many hosts as ranks. Errors: BAD_ARGUMENT; UNSUPPORTED where it is too large. */
RONDE_MUST_CHECK enum ronde_status
ronde_write_network_check(const struct ronde_calibration *calibration, struct ronde_error *error);

/** What it is, in a line. */
const char *ronde_write_network_title(const struct ronde_calibration *calibration);

/** Writes its zones and links. */
void ronde_write_network(const struct ronde_calibration *calibration, FILE *file);

/** A plain finite number without unit. False for anything else. */
bool ronde_parse_number(const char *text, double *out_value);

/** A decimal integer of at most `limit`, moving *cursor behind it. False for anything else. */
bool ronde_parse_integer(const char **cursor, uint64_t limit, uint64_t *out_value);

/**
 * Copies letters, digits, '.', '_', '+', '-' and `more`; anything else, which a platform file would have to escape, becomes '_', and
 * so does the second of two hyphens, which a comment must not have.
 */
void ronde_plain_text(char *out, size_t bytes, const char *text, const char *more);

#endif
