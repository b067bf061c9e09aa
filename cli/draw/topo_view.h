/**
 * What pictures of a platform have in common: its shape, its nodes, who stands where, and what is equal to what.
 */
#ifndef RONDE_CLI_DRAW_TOPO_VIEW_H
#define RONDE_CLI_DRAW_TOPO_VIEW_H

#include "ronde/place.h"

/** Lengths of a name range. */
#define RONDE_TOPO_TEXT_BYTES 160u

/** A platform as it is drawn. */
struct ronde_topo_view {
    const struct ronde_platform *platform; /**< whose */
    struct ronde_shape shape;              /**< places and wires */
    struct ronde_nodes nodes;              /**< hosts in nodes */
    struct ronde_torus torus;              /**< axes 0 unless it is one */
    bool has_nodes;       /**< false where every host is one: then no boxes are drawn around them */
    uint32_t *owner;      /**< per vertex: its node, RONDE_NONE for what nodes share */
    uint32_t *level;      /**< per vertex: wires to the nearest host */
    bool *leads_out;      /**< per vertex of a node: on the way from its hosts to other nodes */
    uint32_t *class_of;   /**< per vertex: equal in kind, wires and neighbours */
    uint32_t class_count; /**< of those */
    uint32_t *node_class; /**< per node: first node that is made of equal parts */
    uint32_t *first_edge; /**< per vertex, and one more: into edge_of */
    uint32_t *edge_of;    /**< edges of a vertex, both ends listed */
};

/** Looks at a platform. Owner: the caller closes the view, also after an error. Errors: NO_MEMORY; as ronde_nodes_find. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_view_open(const struct ronde_platform *platform,
                                                        struct ronde_topo_view *out_view,
                                                        struct ronde_error *error);

/** Frees what a view holds. */
void ronde_topo_view_close(struct ronde_topo_view *view);

/** The other end of an edge. */
uint32_t ronde_topo_view_other(const struct ronde_topo_view *view, uint32_t edge, uint32_t vertex);

/** Whether a vertex lies at the bottom of a picture: a host, or what only serves the inside of a node. */
bool ronde_topo_view_is_low(const struct ronde_topo_view *view, uint32_t vertex);

/** A rate for people: "12800 GB/s", "31.51 GB/s". */
void ronde_topo_view_GBps(double rate_GBps, char *text, size_t bytes);

/** What a vertex is called: its name, else what it is. */
const char *ronde_topo_view_name(const struct ronde_topo_view *view, uint32_t vertex);

/** What a set of hosts is called: a node, or a group where only zones of the file tell. */
const char *ronde_topo_view_group(const struct ronde_topo_view *view);

/** "450 GB/s", "10 GB/s shared", "attached": what a wire carries. */
void ronde_topo_view_rate(const struct ronde_edge *edge, char *text, size_t bytes);

/** "500 ns", "1.5 us"; "" for zero. */
void ronde_topo_view_time(double ns, char *text, size_t bytes);

/** The tree. Errors: DEVICE. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_view_print_tree(const struct ronde_topo_view *view,
                                                              FILE *file, struct ronde_error *error);

/** The picture. Errors: NO_MEMORY; DEVICE. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_view_print_svg(const struct ronde_topo_view *view,
                                                             FILE *file, struct ronde_error *error);

#endif
