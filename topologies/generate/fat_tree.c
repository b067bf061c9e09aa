/*
 * Fat trees with perfect spreading: a leaf is a <cluster>, its uplinks one fat link, the switches above it one router.
 * With three levels leaves are grouped in pods, which look to the core as leaves look to the spine of their pod:
 *
 *     host -> leaf -> pod spine -> core -> pod spine -> leaf -> host
 */
#include "generator.h"

/* Hosts where none are asked for, and leaves of a pod where 32 of 64 ports lead up (QM9700). */
#define HOSTS 64u
#define POD_LEAVES 32u

/* The tree, decided. */
struct tree {
    struct ronde_elements to;
    uint32_t hosts;
    uint32_t leaf_hosts; /* of a full leaf */
    uint32_t leaves;
    uint32_t pod_leaves; /* of a full pod */
    uint32_t pods;       /* 0 = two levels */
    double ratio;        /* oversubscription of every level */
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

/* What a leaf's ports sum up to, as far as the links above have it. */
static double leaf_GBps(const struct tree *tree)
{
    return tree->leaf_hosts * RONDE_PORT_400_GBPS / tree->ratio;
}

/* Leaves and their uplinks below a zone `top` whose router is `spine`. */
static void put_leaves(const struct tree *tree, uint32_t first, uint32_t last, const char *top,
                       const char *spine)
{
    for (uint32_t leaf = first; leaf < last; leaf++)
        put_leaf(tree, leaf);
    ronde_put(&tree->to, RONDE_ELEMENT_SWITCH, "%s %s", top, spine);
    for (uint32_t leaf = first; leaf < last; leaf++)
        ronde_put_link(&tree->to, ronde_duplex(leaf_GBps(tree), RONDE_SWITCH_NS), "up%u", leaf);
    for (uint32_t leaf = first; leaf < last; leaf++)
        ronde_put(&tree->to, RONDE_ELEMENT_ZONE_ROUTE, "leaf%u %s leaf%u_top %s >up%u", leaf, top,
                  leaf, spine, leaf);
}

static void put_pods(const struct tree *tree)
{
    const struct ronde_link_element up =
        ronde_duplex(tree->pod_leaves * leaf_GBps(tree) / tree->ratio, RONDE_SWITCH_NS);
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
    ronde_put(&tree->to, RONDE_ELEMENT_SWITCH, "core spine");
    for (uint32_t pod = 0; pod < tree->pods; pod++)
        ronde_put_link(&tree->to, up, "pod%u_up", pod);
    for (uint32_t pod = 0; pod < tree->pods; pod++)
        ronde_put(&tree->to, RONDE_ELEMENT_ZONE_ROUTE, "pod%u core pod%u_spine spine >pod%u_up",
                  pod, pod, pod);
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
             groups, leaf_GBps(tree), tree->ratio);
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
        leaf_GBps(tree));
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
    const enum ronde_status status = decide(request, &tree, error);
    if (status != RONDE_OK)
        return status;
    put_opening(&tree);
    if (tree.pods > 0)
        put_pods(&tree);
    else
        put_leaves(&tree, 0, tree.leaves, "core", "spine");
    return ronde_elements_close(file, error);
}
