/**
 * Platform files: SimGrid platform XML as the whole machine model, links and ronde's own facts (`ronde.*` props).
 *
 * The reader (libxml2) validates everything before SimGrid sees the file: errors carry file and line. Where the library
 * was built without libxml2 reading fails with UNAVAILABLE and names the package; writing needs no libxml2.
 */
#ifndef RONDE_TOPOLOGIES_H
#define RONDE_TOPOLOGIES_H

#include "ronde/price.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ronde_platform;

/** Processors and memory that all ranks of a machine share (threads of one host). Zeroes when ranks have own hosts. */
struct ronde_shared_host {
    double memory_GBps; /**< ronde.memory_GBps: one SHARED resource every step loads with the bytes it touches */
    uint32_t cores;      /**< ronde.cores: steps execute on that many */
    double core_step_ns; /**< ronde.core_step_ns: core time of a step, where it differs from step_ns */
};

/** Most points of a curve. */
#define RONDE_MAX_CURVE 16u

/**
 * A rate that depends on how much memory a core works on: caches are faster than what lies behind them. Between two
 * points the cost per byte is interpolated over the logarithm of the bytes; beyond the ends it stays.
 */
struct ronde_curve {
    uint32_t count; /**< points; 0 = no curve, the plain constant holds for all sizes */
    double bytes[RONDE_MAX_CURVE]; /**< working set of a core, ascending */
    double GBps[RONDE_MAX_CURVE];  /**< rate there, > 0 */
};

/** Slots that messages of the crossing curves go through in turns; a slot that is written was read so many messages ago. */
#define RONDE_CROSSING_SLOTS 8u

/**
 * What its data costs a core, beyond a step's own time; zeroes where not measured. Costs of reading and of writing add
 * up, and half of what the nearest cache takes belongs to each.
 */
struct ronde_cache_facts {
    double poll_ns; /**< ronde.poll_ns: polling a lane that cannot go on */
    double start_ns; /**< ronde.start_ns: a core's first step in a channel of a rank that another core has prepared */
    double wake_ns; /**< ronde.wake_ns: from the beginning of a run until a core other than the caller's polls; 0 = not known */
    double line_ns; /**< ronde.line_ns: a cache line's way between cores while all this was measured (ronde/distance.h); 0 = not known */
    double core_bytes; /**< ronde.core_bytes: what a core caches for itself */
    double combine_GBps; /**< ronde.combine_GBps: results of a reduction whose operands lie in the nearest cache */
    struct ronde_curve
        read; /**< ronde.read_curve: over the bytes the core touched since it last touched these */
    struct ronde_curve write; /**< ronde.write_curve: the same */
    struct ronde_curve
        cross_copy; /**< ronde.cross_copy_curve: reading what another core has just written, to copy
                                         it; over the bytes of the message */
    struct ronde_curve cross_combine; /**< ronde.cross_combine_curve: the same, to combine it */
    struct ronde_curve cross_write; /**< ronde.cross_write_curve: writing what another core has just read */
    /**
     * ronde.remote_read_curve: reading what another core has written, over the bytes that core has touched since. Empty, as
     * in older files: what that core's own cache has lost costs what the reader's own does.
     */
    struct ronde_curve remote_read;
    struct ronde_curve
        remote_write; /**< ronde.remote_write_curve: writing what another core has read, likewise */
};

/** Facts of the network that a replay with packets uses beyond its links; zeroes: one packet a message, no burst. */
struct ronde_packet_facts {
    double segment_bytes; /**< ronde.segment_bytes: of a message in one packet; 0 = all */
    double header_bytes; /**< ronde.header_bytes: around a message, beyond what the rate has of them */
    double burst_bytes; /**< ronde.burst_bytes: a port that was idle passes so many at once */
    double switch_ns; /**< ronde.switch_ns: of a packet, whatever its ports, in what carries all of them */
    uint32_t processors; /**< ronde.processors: what the hosts, and what carries their packets, share; 0 = a host has its own */
    double jitter_ns; /**< ronde.jitter_ns: standard deviation of the time in which a host that sleeps wakes */
    double jitter_GBps; /**< ronde.jitter_GBps: it grows with what wakes the host, by its bytes over this; 0 = not */
    double reverse_share; /**< ronde.reverse_share: acknowledgements, per byte, on the way back */
};

/** Room for a text among the facts, its final NUL included. */
#define RONDE_FACT_TEXT_BYTES 128u

/** Facts of a platform file that are not links. */
struct ronde_platform_facts {
    struct ronde_time_params
        time; /**< ronde.alpha_ns, step_ns, launch_ns, gamma_GBps, copy_GBps, lane_GBps, multicast */
    struct ronde_shared_host shared;   /**< all zero where ports are the model */
    struct ronde_packet_facts packets; /**< of networks of packets */
    struct ronde_cache_facts caches;   /**< of a shared host */
    struct ronde_curve copy_curve; /**< ronde.copy_curve "bytes:GBps bytes:GBps ...": refines copy_GBps */
    struct ronde_curve gamma_curve; /**< ronde.gamma_curve: the same for gamma_GBps */
    uint32_t hosts;                 /**< hosts, in file order (or as ronde.rank_hosts lists them) */
    uint32_t rank_shape[RONDE_MAX_SHAPE]; /**< ronde.rank_shape: of a job in a torus, slowest axis first, as its ranks count */
    uint32_t rank_axes; /**< axes of it; 0 = not said */
    uint32_t channels; /**< ronde.channels: of an algorithm, in the order of its ranks, unless others are asked for; 0 = as the machine has ways */
    uint64_t slot_bytes; /**< ronde.slot_bytes: the piece the constants were measured with; 0 = one piece */
    char measured_by[RONDE_FACT_TEXT_BYTES]; /**< ronde.measured_by: how the numbers came about; "" for nominal files */
    char name[64];                           /**< id of the root zone */
    uint32_t memory_link; /**< index of the SHARED link that is the memory; UINT32_MAX without one */
    bool is_tcp; /**< ronde.network_model is LV08: SimGrid's calibrated TCP instead of the links' own numbers */
    uint32_t node_hosts; /**< ronde.node_hosts: consecutive hosts that make up a node; 0 = not said */
    char description[RONDE_FACT_TEXT_BYTES]; /**< ronde.description: the machine in one line, or "" */
};

/** One directed resource on a route. */
struct ronde_link {
    const char *name;  /**< as SimGrid calls it, e.g. "up0_UP"; valid as long as the platform */
    double rate_GBps;  /**< capacity; 0 = taken out */
    double latency_ns; /**< of the link */
    bool is_fatpipe;   /**< caps each flow, is not shared */
    bool is_degraded;  /**< rate_GBps is no longer the file's: ronde_platform_degrade changed it */
};

/**
 * Reads and validates a file. Owner: the caller destroys *out_platform, before the allocator. Errors: IO (absent), BAD_INPUT ("path:line: ..."
 * for XML errors, unknown elements, attributes, units, hosts and links, zero bandwidth, bad props), UNAVAILABLE.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_read(const char *path, const struct ronde_mem *mem,
                    struct ronde_platform **out_platform, struct ronde_error *error);

/** The same of a file in memory, which `path` is to be called. `text` need not outlive the call. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_parse(const char *path, const char *text, size_t bytes, const struct ronde_mem *mem,
                     struct ronde_platform **out_platform, struct ronde_error *error);

/**
 * Reads a platform once more, with the rates that its links have now and without what was taken out of it: a platform to change.
 * Owner: the caller. Errors: as ronde_platform_read; BAD_INPUT where its file has other links now.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_copy(const struct ronde_platform *platform, const struct ronde_mem *mem,
                    struct ronde_platform **out_copy, struct ronde_error *error);

/**
 * The machine as some of its hosts see it, for programs whose ranks sit on these: host i of it is hosts[i] of `whole`, each once.
 * Its links, rates and routes are those of the whole, which outlives it and is not changed meanwhile; so are its nodes, unless each
 * host is on a node of its own. Owner: the caller destroys it. Errors: BAD_INPUT for a host that is not there; as ronde_nodes_find; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_view(const struct ronde_platform *whole, const uint32_t *hosts, uint32_t count,
                    const struct ronde_mem *mem, struct ronde_platform **out_view,
                    struct ronde_error *error);

/** Frees a platform; NULL is allowed. */
RONDE_API void ronde_platform_destroy(struct ronde_platform *platform);

/** Its facts; valid as long as the platform. */
RONDE_API const struct ronde_platform_facts *
ronde_platform_facts(const struct ronde_platform *platform);

/** Whether ranks share cores there whose caches were measured, all of ronde_cache_facts. */
RONDE_API bool ronde_platform_has_caches(const struct ronde_platform *platform);

/**
 * What it was parsed from, where it was no file, or a file that SimGrid's parser would not take: the same as that takes it. Else
 * NULL: it is in the file of its path.
 */
RONDE_API const char *ronde_platform_source(const struct ronde_platform *platform);

/** Path it was read from. */
RONDE_API const char *ronde_platform_path(const struct ronde_platform *platform);

/** Name of the host of a rank under the file's own order; NULL beyond the last. */
RONDE_API const char *ronde_platform_host(const struct ronde_platform *platform, uint32_t index);

/** Number of directed links; indices are what ronde_platform_route yields. */
RONDE_API uint32_t ronde_platform_link_count(const struct ronde_platform *platform);

/** A link by index. */
RONDE_API const struct ronde_link *ronde_platform_link(const struct ronde_platform *platform,
                                                       uint32_t index);

/** What a platform is made of. */
struct ronde_platform_counts {
    uint32_t zones;      /**< clusters included */
    uint32_t hosts;      /**< ranks */
    uint32_t routers;    /**< points that are neither host nor zone */
    uint32_t links;      /**< directed */
    uint32_t routes;     /**< written out, one way each */
    double slowest_GBps; /**< of all links; 0 without any */
    double fastest_GBps; /**< of all links */
    bool is_foreign;     /**< has a zone that only SimGrid routes */
    uint32_t configs;    /**< options of SimGrid that change no message's time */
    uint32_t disks;      /**< of hosts: no message's time either */
    uint32_t pstates;    /**< hosts of several speeds, likewise */
};

/** Counts the parts of a platform. */
RONDE_API struct ronde_platform_counts ronde_platform_count(const struct ronde_platform *platform);

/**
 * The route between two hosts (indices): up to `capacity` link indices; *out_count is how many it has. Errors:
 * BAD_INPUT names a pair without a route; UNSUPPORTED for zone kinds only SimGrid can route (torus, fat tree, ...).
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_route(const struct ronde_platform *platform, uint32_t src, uint32_t dst,
                     uint32_t capacity, uint32_t *out_links, uint32_t *out_count,
                     struct ronde_error *error);

struct ronde_router;

/**
 * A router keeps the memory that finding routes takes, so that thousands of them are found without allocating. It
 * belongs to one thread. Owner: the caller destroys it, before the platform. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_router_create(const struct ronde_platform *platform, const struct ronde_mem *mem,
                    struct ronde_router **out_router, struct ronde_error *error);

/** Frees a router; NULL is allowed. */
RONDE_API void ronde_router_destroy(struct ronde_router *router);

/** As ronde_platform_route, which makes a router for one question. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_router_route(struct ronde_router *router, uint32_t src, uint32_t dst, uint32_t capacity,
                   uint32_t *out_links, uint32_t *out_count, struct ronde_error *error);

/** The platform of a router. */
RONDE_API const struct ronde_platform *ronde_router_platform(const struct ronde_router *router);

/**
 * The NIC by which a host leaves its node for one of another: the slowest link of the first half of the route, of equally
 * slow ones the first, as a switch's links may be as fast. Errors: UNSUPPORTED for a route without links; as ronde_router_route.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_router_nic(struct ronde_router *router, uint32_t src, uint32_t dst, uint32_t *out_link,
                 struct ronde_error *error);

/** The least and the most of the following: what carries less is down, which is another thing than slow. */
#define RONDE_LEAST_LINK_FACTOR 1e-6
#define RONDE_MOST_LINK_FACTOR 1e3

/**
 * Scales the rate of a link, e.g. 0.5 for a cable that fell back to half its lanes. A split-duplex link is named with
 * its direction (`up0_UP`) or, for both, without. The machine's name says so. Errors: BAD_ARGUMENT for an unknown link (names the nearest) or a
 * factor out of range.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_platform_degrade(struct ronde_platform *platform,
                                                                    const char *link, double factor,
                                                                    struct ronde_error *error);

/**
 * Takes links, hosts, switches (routers) and zones out, each by its name, or all links, hosts and switches whose names match a
 * shell's pattern ("n3g*"). A split-duplex link is named with its direction or, for both, without. With a host or switch go the
 * links that end there; hosts that are out are no ranks any more. Routes that crossed what is out are found anew: by the
 * fewest links of the file, through hosts too, and of equally short ways another one for another pair, which depends on the
 * two hosts alone. The machine's name says what is missing. Routers made before must not be used after. Errors: NO_MEMORY;
 * BAD_ARGUMENT for a name that is not there (names the nearest link) and where no host is left; UNSUPPORTED for zones that
 * only SimGrid routes. After an error the platform can only be destroyed.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_without(struct ronde_platform *platform, const char *const *names, uint32_t count,
                       struct ronde_error *error);

/**
 * Takes NICs out until each node has so many, spread evenly over those that it has; ways are found as by ronde_platform_without.
 * Errors: BAD_ARGUMENT where a node has fewer, for 0 and for a machine of one node; as ronde_nodes_find, ronde_router_nic and
 * ronde_platform_without.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_keep_nics(struct ronde_platform *platform, uint32_t count, struct ronde_error *error);

/** Whether anything was taken out: then routes are not the file's. */
RONDE_API bool ronde_platform_has_detours(const struct ronde_platform *platform);

/**
 * The flat network of `ranks` ranks: the slowest rate and longest latency of any pair's route; on a shared host the
 * fair share of cores and memory. *out_is_uniform: whether every pair has exactly these numbers, unshared, and a message's
 * bytes are its own (no switch copies or adds). Beyond 128
 * hosts outside stars (clusters) this rests on routes between a few hosts spread over the machine and all others.
 * `footprint_bytes` as for ronde_platform_time; 0 = the plain constants. Errors: as ronde_platform_route; BAD_INPUT for
 * more ranks than hosts.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_network(const struct ronde_platform *platform, uint32_t ranks,
                       uint64_t footprint_bytes, struct ronde_network *out_network,
                       bool *out_is_uniform, struct ronde_error *error);

/** What ronde_platform_alike finds. */
struct ronde_alike {
    bool is_alike; /**< exchanging two ranks' hosts changes nothing but the names of links */
    const uint32_t *up; /**< links from the host of rank 0 to the centre; valid as long as the platform */
    uint32_t up_count;    /**< of those */
    const uint32_t *down; /**< links from the centre to it; one that is among `up` is crossed once */
    uint32_t down_count;  /**< of those */
    uint32_t backbone;    /**< the one link that all share, or UINT32_MAX; it may be among both */
};

/**
 * Whether ranks sit on hosts that nothing tells apart: different ones of one star (cluster), whose links no other has and
 * which have equal numbers. Time and memory: in hosts and links. host_of NULL = rank r on host r; every host must exist.
 * Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_alike(const struct ronde_platform *platform, const uint32_t *host_of, uint32_t ranks,
                     const struct ronde_mem *mem, struct ronde_alike *out_alike,
                     struct ronde_error *error);

/** Hosts that take other hosts' places: every one that takes a place also gives its own to one of them. */
struct ronde_exchange {
    const uint32_t *from; /**< hosts, each once */
    const uint32_t *to;   /**< beside it, the host whose place it takes */
    uint32_t count; /**< of them; others may stay where they are, or move with the zone they sit in */
};

/**
 * Whether every route between two hosts is, link by link, the route between those whose places they take, over links of
 * equal numbers. Decided by what routes are made of (zones, written routes, links to the centre of a star), in time and memory
 * that grow with the file and not with the pairs of hosts. out_links has an entry per link: what becomes of it where there
 * is symmetry, UINT32_MAX for a link that no route has. "No" may be wrong, as for a torus turned in itself, "yes" never is. Errors:
 * NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_symmetry(const struct ronde_platform *platform,
                        const struct ronde_exchange *exchange, const struct ronde_mem *mem,
                        uint32_t *out_links, bool *out_is_symmetry, struct ronde_error *error);

/**
 * The costs for a load: the file's constants, with curves looked up at the working set of a core, which is the
 * footprint of a rank (bytes of its input and output) times the ranks a core serves.
 */
RONDE_API struct ronde_time_params ronde_platform_time(const struct ronde_platform *platform,
                                                       uint32_t ranks, uint64_t footprint_bytes);

/** The rate of a curve at a working set; `otherwise` where it has no points. */
RONDE_API double ronde_curve_GBps(const struct ronde_curve *curve, double bytes, double otherwise);

/** Most groups of hosts in a calibrated network. */
#define RONDE_MOST_GROUPS 1024u

/** What joins the hosts of a calibration; zeroes: one switch that never blocks. */
struct ronde_calibrated_network {
    uint32_t group_hosts[RONDE_MOST_GROUPS]; /**< of each group, in the order of ranks */
    uint32_t group_count; /**< groups that another latency lies between; 0 or 1: none */
    double far_ns;        /**< that latency, beyond the one inside a group */
    uint32_t node_hosts; /**< consecutive hosts that share the port of a node; 0 or 1: each has its own */
    double node_ns;                  /**< latency inside such a node */
    double node_GBps;                /**< of a host's own port */
    uint32_t shape[RONDE_MAX_SHAPE]; /**< of a job in a network of Tofu's kind, slowest axis first */
    uint32_t axis_count;             /**< axes of the shape; 0 = no such network */
};

/** What calibration found on one shared-memory machine, or between hosts alike; spreads are (p95 - median) / median. */
struct ronde_calibration {
    struct ronde_time_params time;     /**< costs */
    struct ronde_shared_host shared;   /**< sharing */
    struct ronde_packet_facts packets; /**< of a network between hosts, where shared.cores is 0 */
    struct ronde_cache_facts caches;   /**< of one machine; zeroes = not measured */
    struct ronde_calibrated_network network; /**< between hosts */
    uint32_t channels;                       /**< of the library that was measured; 0 = not said */
    struct ronde_curve copy_curve;           /**< of copy_GBps over working sets; may be empty */
    struct ronde_curve gamma_curve;          /**< of gamma_GBps; may be empty */
    double latency_ns;                       /**< between two ranks; with a shape, of a hop */
    uint32_t max_ranks;                      /**< hosts to write */
    uint64_t slot_bytes;                     /**< slot the constants were measured with */
    double worst_spread;                     /**< largest spread of any constant */
    const char *machine;                     /**< processor, cores: one line */
    const char *measured_by;                 /**< command and version */
    const char *measured_on;                 /**< date, YYYY-MM-DD */
};

/** Writes a calibration as a platform file that plain SimGrid loads too. Errors: DEVICE; BAD_ARGUMENT for non-finite or negative numbers. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_platform_write(const struct ronde_calibration *calibration, FILE *file,
                     struct ronde_error *error);

/** Whether libxml2 was built in; *out_reason names what is missing and the package that brings it. */
RONDE_API bool ronde_topologies_available(const char **out_reason);

#ifdef __cplusplus
}
#endif
#endif
