/*
 * Fat trees with perfect spreading: a leaf is a <cluster>, its uplinks one fat link, the switches above it one router.
 * With three levels leaves are grouped in pods, which look to the core as leaves look to the spine of their pod:
 *
 *     host -> leaf -> pod spine -> core -> pod spine -> leaf -> host
 *
 * Dragonfly+ (A. Shpiner et al.: Dragonfly+: Low Cost Topology for Scaling Datacenters, HiPINEB 2017) has cables between the
 * spines of any two pods in the place of the core.
 */
#include "generator.h"

/* Hosts where none are asked for, and leaves of a pod where 32 of 64 ports lead up (QM9700). */
#define HOSTS 64u
#define POD_LEAVES 32u

/* A cell of Leonardo: 18 leaves of 10 nodes, 18 spines; four ports of HDR100 a node, as fast
 * as one of NDR, and HDR between switches. */
#define CELL_LEAVES 18u
#define CELL_LEAF_HOSTS 10u
#define CELL_CABLE_GBPS 25.0
/* Cables are as many as pairs of pods. */
#define MOST_CELLS 1024u

/* The tree, decided. */
struct tree {
    struct ronde_elements to;
    uint32_t hosts;
    uint32_t leaf_hosts; /* of a full leaf */
    uint32_t leaves;
    uint32_t pod_leaves; /* of a full pod */
    uint32_t pods;       /* 0 = two levels */
    double ratio;        /* oversubscription of every level */
    double up_GBps;      /* of a full leaf */
    double cables_GBps;  /* between the spines of two pods; 0 = a core joins them */
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A leaf with its hosts. */
static void put_leaf(const struct tree *tree, uint32_t leaf)
{
    const uint32_t first = leaf * tree->leaf_hosts;
    char id[32];
    snprintf(id, sizeof id, "leaf%u", leaf);
    const struct ronde_cluster_element cluster = {
        id,  "h",  first, least(first + tree->leaf_hosts, tree->hosts) - 1, RONDE_PORT_400_GBPS,
        500, false};
    ronde_put_cluster(&tree->to, &cluster, " router_id=\"%s_top\"", id);
}

/* Leaves and their uplinks below a zone `top` whose router is `spine`. */
static void put_leaves(const struct tree *tree, uint32_t first, uint32_t last, const char *top,
                       const char *spine)
{
    for (uint32_t leaf = first; leaf < last; leaf++)
        put_leaf(tree, leaf);
    ronde_put(&tree->to, RONDE_ELEMENT_SWITCH, "%s %s", top, spine);
    for (uint32_t leaf = first; leaf < last; leaf++)
        ronde_put_link(&tree->to, ronde_duplex(tree->up_GBps, RONDE_SWITCH_NS), "up%u", leaf);
    for (uint32_t leaf = first; leaf < last; leaf++)
        ronde_put(&tree->to, RONDE_ELEMENT_ZONE_ROUTE, "leaf%u %s leaf%u_top %s >up%u", leaf, top,
                  leaf, spine, leaf);
}

/* One fat link between any two pods. */
static void put_cables(const struct tree *tree)
{
    for (uint32_t a = 0; a < tree->pods; a++)
        for (uint32_t b = a + 1; b < tree->pods; b++)
            ronde_put_link(&tree->to, ronde_duplex(tree->cables_GBps, RONDE_SWITCH_NS),
                           "global%u-%u", a, b);
    for (uint32_t a = 0; a < tree->pods; a++)
        for (uint32_t b = a + 1; b < tree->pods; b++)
            ronde_put(&tree->to, RONDE_ELEMENT_ZONE_ROUTE,
                      "pod%u pod%u pod%u_spine pod%u_spine >global%u-%u", a, b, a, b, a, b);
}

static void put_core(const struct tree *tree)
{
    const struct ronde_link_element up =
        ronde_duplex(tree->pod_leaves * tree->up_GBps / tree->ratio, RONDE_SWITCH_NS);
    ronde_put(&tree->to, RONDE_ELEMENT_SWITCH, "core spine");
    for (uint32_t pod = 0; pod < tree->pods; pod++)
        ronde_put_link(&tree->to, up, "pod%u_up", pod);
    for (uint32_t pod = 0; pod < tree->pods; pod++)
        ronde_put(&tree->to, RONDE_ELEMENT_ZONE_ROUTE, "pod%u core pod%u_spine spine >pod%u_up",
                  pod, pod, pod);
}

static void put_pods(const struct tree *tree)
{
    char top[64];
    char spine[64];
    for (uint32_t pod = 0; pod < tree->pods; pod++) {
        const uint32_t first = pod * tree->pod_leaves;
        snprintf(top, sizeof top, "pod%u_top", pod);
        snprintf(spine, sizeof spine, "pod%u_spine", pod);
        ronde_put(&tree->to, RONDE_ELEMENT_ZONE, "pod%u DijkstraCache", pod);
        put_leaves(tree, first, least(first + tree->pod_leaves, tree->leaves), top, spine);
        ronde_put(&tree->to, RONDE_ELEMENT_ZONE_END, "%s", "");
    }
    if (tree->cables_GBps > 0)
        put_cables(tree);
    else
        put_core(tree);
}

/* Sizes from a shape, or from a number of hosts and what a 64-port switch offers. */
static enum ronde_status decide(const struct ronde_generate_request *request, struct tree *tree,
                                struct ronde_error *error)
{
    const uint32_t *shape = request->shape;
    const uint32_t axes = request->axis_count;
    const uint32_t levels = request->levels > 0 ? request->levels : axes == 3 ? 3 : 2;
    if (axes > 0 && (axes != levels || request->nodes > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a fat tree of %u levels has a shape of %s; nodes follow from it", levels,
                          levels == 2 ? "2 numbers, LEAVESxHOSTS" : "3, PODSxLEAVESxHOSTS");
    tree->ratio = request->oversubscription > 0 ? request->oversubscription : 1;
    tree->leaf_hosts = axes > 0 ? shape[axes - 1] : RONDE_LEAF_PORTS;
    tree->pod_leaves = axes == 3 ? shape[1] : POD_LEAVES;
    tree->hosts = request->nodes > 0 ? request->nodes : HOSTS;
    if (axes > 0)
        tree->hosts = shape[0] * shape[1] * (axes == 3 ? shape[2] : 1);
    tree->leaves = ronde_parts_of(tree->hosts, tree->leaf_hosts);
    tree->pods = levels == 3 ? ronde_parts_of(tree->leaves, tree->pod_leaves) : 0;
    tree->up_GBps = tree->leaf_hosts * RONDE_PORT_400_GBPS / tree->ratio;
    return RONDE_OK;
}

/* What the file says of itself. */
static void put_opening(const struct tree *tree)
{
    char name[64];
    char description[256];
    char comment[1280];
    char groups[96];
    if (tree->pods > 0)
        snprintf(groups, sizeof groups, "%u pods, %u leaves of %u hosts", tree->pods, tree->leaves,
                 tree->leaf_hosts);
    else
        snprintf(groups, sizeof groups, "%u leaves of %u hosts", tree->leaves, tree->leaf_hosts);
    snprintf(name, sizeof name, "fat-tree-%gto1-%u", tree->ratio, tree->hosts);
    snprintf(description, sizeof description, "%s, 50 GB/s ports, %.15g GB/s per leaf uplink (%g:1)",
             groups, tree->up_GBps, tree->ratio);
    snprintf(
        comment, sizeof comment,
        "  %u hosts in a fat tree of %u levels, %g:1 oversubscribed at each: %s. A host has one\n"
        "  full-duplex port of 50 GB/s, a leaf %u x 50 / %g = %.15g GB/s towards the switches "
        "above in each direction.\n"
        "  The uplinks of a switch are one fat link, which is what perfect (adaptive) spreading "
        "gives.\n\n"
        "  Nominal, not measured. Ports: NDR InfiniBand, 400 Gbit/s (see crossbar-64.xml). "
        "Latency: 500 ns per port, 1 us\n"
        "  within a leaf; 130 ns per uplink, the port-to-port latency of one more switch (NVIDIA "
        "Quantum QM8700 data\n"
        "  sheet: below 130 ns).\n",
        tree->hosts, tree->pods > 0 ? 3u : 2u, tree->ratio, groups, tree->leaf_hosts, tree->ratio,
        tree->up_GBps);
    const struct ronde_opening opening = {.name = name,
                                          .routing = "DijkstraCache",
                                          .description = description,
                                          .source = "nominal NDR InfiniBand: 400 Gbit/s ports, 1 "
                                                    "us in a leaf, 130 ns for each further switch",
                                          .comment = comment};
    ronde_generator_open(tree->to.file, &opening);
}

enum ronde_status ronde_generate_fat_tree(const struct ronde_generate_request *request, FILE *file,
                                          struct ronde_error *error)
{
    struct tree tree = {.to = {file, 4}};
    RONDE_TRY(decide(request, &tree, error));
    put_opening(&tree);
    if (tree.pods > 0)
        put_pods(&tree);
    else
        put_leaves(&tree, 0, tree.leaves, "core", "spine");
    return ronde_elements_close(file, error);
}

static enum ronde_status decide_cells(const struct ronde_generate_request *request,
                                      struct tree *tree, struct ronde_error *error)
{
    const uint32_t *shape = request->shape;
    const bool has_shape = request->axis_count == 3;
    if (request->axis_count > 0 && (!has_shape || request->nodes > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "the shape of a dragonfly+ is GROUPSxLEAVESxHOSTS, e.g. 4x18x10; nodes "
                          "follow from it");
    tree->leaf_hosts = has_shape ? shape[2] : CELL_LEAF_HOSTS;
    tree->pod_leaves = has_shape ? shape[1] : CELL_LEAVES;
    tree->hosts = has_shape            ? shape[0] * shape[1] * shape[2]
                  : request->nodes > 0 ? request->nodes
                                       : 2 * CELL_LEAVES * CELL_LEAF_HOSTS;
    tree->leaves = ronde_parts_of(tree->hosts, tree->leaf_hosts);
    tree->pods = ronde_parts_of(tree->leaves, tree->pod_leaves);
    tree->cables_GBps = tree->pod_leaves * CELL_CABLE_GBPS;
    tree->up_GBps = tree->cables_GBps;
    return tree->pods <= MOST_CELLS
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "a dragonfly+ of %u groups, at most %u",
                            tree->pods, MOST_CELLS);
}

/* As many spines as leaves, each with one cable to every leaf of its pod and to one spine of every other pod. */
enum ronde_status ronde_generate_dragonfly_plus(const struct ronde_generate_request *request,
                                                FILE *file, struct ronde_error *error)
{
    struct tree tree = {.to = {file, 4}, .ratio = 1};
    char name[64];
    char description[160];
    RONDE_TRY(decide_cells(request, &tree, error));
    snprintf(name, sizeof name, "dragonfly-plus-%u", tree.hosts);
    snprintf(description, sizeof description,
             "%u hosts, %u groups of %u leaves and spines, %.15g GB/s between any two", tree.hosts,
             tree.pods, tree.pod_leaves, tree.cables_GBps);
    const struct ronde_opening opening = {
        .name = name,
        .routing = "Full",
        .description = description,
        .source = "Leonardo: cells of 18 leaves and 18 spines, HDR100 to nodes, HDR between "
                  "switches (Turisini et al. 2023)",
        .comment =
            "  Groups of leaves and as many spines; a spine has one cable to each leaf of its "
            "group and one to each other group\n"
            "  (A. Shpiner et al.: Dragonfly+: Low Cost Topology for Scaling Datacenters, HiPINEB "
            "2017). The spines of a group\n"
            "  are one router, their cables fat links, which is what perfect (adaptive) spreading "
            "gives; routes are minimal.\n\n"
            "  Nominal, not measured. Numbers of Leonardo (M. Turisini et al.: LEONARDO: A "
            "Pan-European Pre-Exascale\n"
            "  Supercomputer for HPC and AI Applications, 2023): 18 leaves of 10 nodes a group, 4 "
            "x 12.5 GB/s a node, 25 GB/s\n"
            "  a cable. Latency: 500 ns per port as in crossbar-64.xml, 130 ns for each further "
            "switch.\n"};
    ronde_generator_open(file, &opening);
    put_pods(&tree);
    return ronde_elements_close(file, error);
}
