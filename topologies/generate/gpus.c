/* Nodes of GPUs: their data sheets, and what a request makes of them. pods.c writes them. */
#include "generator.h"

#include "topologies/platform.h"

#include "ronde/catalogue.h"
#include "ronde/limits.h"

#include <string.h>

/* Nodes that share leaf switches: a scalable unit of the DGX SuperPOD reference architecture. */
#define POD_NODES 32u

/* Nodes as their data sheets have them: a NIC for each GPU, the GPUs' rates by the catalogue. */
static const struct sheet {
    const char *kind;  /* as in the request */
    const char *title; /* of a node */
    enum ronde_node_link link;
    uint32_t gpus;   /* of a full node */
    const char *gpu; /* of the catalogue */
    double nic_GBps;
    enum ronde_fabric fabric; /* where none is asked for */
    uint32_t nodes;           /* where none are asked for */
    const char *source;       /* one line */
} sheets[] = {
    {RONDE_KIND_BY_NUMBERS, "DGX", RONDE_NODE_SWITCH, 8, "H100", RONDE_PORT_400_GBPS,
     RONDE_FABRIC_RAIL, 1,
     "what is not said: NVIDIA DGX H100/H200 User Guide: NVLink 900 GB/s a GPU both ways, 8 x 400 "
     "Gbit/s ConnectX-7"},
    {"dgx-a100", "DGX A100", RONDE_NODE_SWITCH, 8, "A100", 25, RONDE_FABRIC_RAIL, 1,
     "NVIDIA DGX A100 User Guide: NVLink 600 GB/s a GPU both ways, 8 x 200 Gbit/s ConnectX-6"},
    {"dgx-h100", "DGX H100", RONDE_NODE_SWITCH, 8, "H100", RONDE_PORT_400_GBPS, RONDE_FABRIC_RAIL, 1,
     "NVIDIA DGX H100/H200 User Guide: NVLink 900 GB/s a GPU both ways, 8 x 400 Gbit/s ConnectX-7"},
    {"hgx-h200", "HGX H200", RONDE_NODE_SWITCH, 8, "H200", RONDE_PORT_400_GBPS, RONDE_FABRIC_RAIL,
     1, "NVIDIA H200 data sheet: NVLink 900 GB/s a GPU both ways; 8 x 400 Gbit/s as in DGX H200"},
    {"nvl72", "GB200 NVL72", RONDE_NODE_SWITCH, 72, "GB200", RONDE_PORT_400_GBPS,
     RONDE_FABRIC_FAT_TREE, 1,
     "NVIDIA GB200 NVL72 data sheet: NVLink 1.8 TB/s a GPU both ways; 400 Gbit/s ConnectX-7 a GPU"},
    {"mi300x", "MI300X", RONDE_NODE_MESH, 8, "MI300X", RONDE_PORT_400_GBPS, RONDE_FABRIC_FAT_TREE,
     1, "AMD Instinct MI300X platform data sheet: 7 links of 128 GB/s both ways a GPU; 8 x 400 Gbit/s"},
    {"rail", "DGX H100", RONDE_NODE_SWITCH, 8, "H100", RONDE_PORT_400_GBPS, RONDE_FABRIC_RAIL, 32,
     "NVIDIA DGX H100/H200 User Guide: NVLink 900 GB/s a GPU both ways, 8 x 400 Gbit/s ConnectX-7"},
};

/* What the fabric is, for the description. */
static void describe_fabric(const struct ronde_gpu_cluster *cluster, char *text, size_t bytes)
{
    char ratio[48] = "";
    const char *name = "one switch";
    if (cluster->ratio > 1)
        snprintf(ratio, sizeof ratio, " %g:1", cluster->ratio);
    if (cluster->fabric == RONDE_FABRIC_RAIL)
        name = cluster->pods > 1 ? "rail-optimised pods" : "rail-optimised";
    else if (cluster->fabric == RONDE_FABRIC_FAT_TREE)
        name = "fat tree";
    snprintf(text, bytes, "; %.15g GB/s NICs, %s%s", cluster->nic_GBps, name, ratio);
}

/* The comment of the file: what stands for what, with the numbers. */
static void describe(const struct ronde_gpu_cluster *cluster, char *text, size_t bytes)
{
    const char *joined = cluster->node.link == RONDE_NODE_SWITCH
                             ? "its own way into the NVSwitches"
                             : "a link to each other GPU of the node";
    size_t used =
        (size_t)snprintf(text, bytes,
                         "  %s. Host n1g2 is GPU 2 of node 1. Every GPU has %s, %.15g GB/s per\n"
                         "  direction. Nominal, not measured.\n"
                         "  Rates: %s.\n"
                         "  Latencies: NCCL's model of a hop (src/graph/tuning.cc, 2.23 to 2.30, "
                         "low-latency protocol): 0.6 us inside.\n",
                         cluster->title, joined, cluster->link_GBps, cluster->source);
    if (cluster->nodes == 1)
        return;
    used += (size_t)snprintf(text + used, bytes - used,
                             "  Every GPU has a NIC (link _c), %.15g GB/s; 2.7 us between two "
                             "NICs, 130 ns for each further switch (NVIDIA\n"
                             "  Quantum QM8700 data sheet). Uplinks (_u) are one fat link, as "
                             "perfect (adaptive) spreading gives.\n"
                             "  n*x and l*_s never limit a flow: they are there to be counted, so "
                             "that no two ways are equally short.\n",
                             cluster->nic_GBps);
    if (cluster->fabric == RONDE_FABRIC_RAIL)
        snprintf(text + used, bytes - used,
                 "  Pods of %u nodes (NVIDIA DGX SuperPOD reference architecture RA-11333: "
                 "scalable unit), one leaf per\n"
                 "  GPU of a node. In a pod another rail is reached over NVLink or xGMI first "
                 "(NCCL's PXN).\n",
                 cluster->pod_nodes);
}

static void put_cluster(const struct ronde_gpu_cluster *cluster)
{
    char name[80];
    char fabric[128] = "";
    char description[256];
    char comment[2048];
    snprintf(name, sizeof name, "%s-%u", cluster->node.name, cluster->nodes * cluster->gpus);
    if (cluster->nodes > 1)
        describe_fabric(cluster, fabric, sizeof fabric);
    describe(cluster, comment, sizeof comment);
    snprintf(description, sizeof description, "%u x %s, %u GPUs, %.15g GB/s %s%s", cluster->nodes,
             cluster->title, cluster->nodes * cluster->gpus, cluster->link_GBps,
             cluster->node.link == RONDE_NODE_SWITCH ? "into NVSwitch" : "to each other", fabric);
    const struct ronde_opening opening = {
        .name = name,
        .routing = "DijkstraCache",
        .description = description,
        .source = cluster->source,
        .comment = comment,
        .node_hosts = cluster->gpus,
        .multicasts = cluster->multicasts,
    };
    ronde_generator_open(cluster->to.file, &opening);
    ronde_generator_pods(cluster);
}

/* Nodes that share a leaf switch, or on rails a set of them. */
static uint32_t pod_nodes_of(enum ronde_fabric fabric, uint32_t gpus)
{
    if (fabric != RONDE_FABRIC_FAT_TREE)
        return POD_NODES;
    return gpus < RONDE_LEAF_PORTS ? RONDE_LEAF_PORTS / gpus : 1;
}

/* Sizes and fabrics that do not go together. */
static enum ronde_status check(const struct ronde_gpu_cluster *cluster,
                               const struct ronde_generate_request *request,
                               struct ronde_error *error)
{
    const bool is_rail = cluster->fabric == RONDE_FABRIC_RAIL;
    if (cluster->gpus > cluster->node.gpus)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u GPUs, but a node of %s has %u",
                          cluster->gpus, cluster->node.name, cluster->node.gpus);
    if (cluster->nodes > RONDE_MAX_RANKS / cluster->gpus)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u nodes of %u GPUs, at most %u GPUs",
                          cluster->nodes, cluster->gpus, RONDE_MAX_RANKS);
    if (ronde_limit_check(RONDE_LIMIT_HOSTS, (uint64_t)cluster->nodes * cluster->gpus, error) !=
        RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (cluster->multicasts && cluster->node.link != RONDE_NODE_SWITCH)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s joins its GPUs to each other: no switch copies or adds there",
                          cluster->node.name);
    if (cluster->nodes == 1 && request->fabric != RONDE_FABRIC_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "one node needs no fabric; how many nodes?");
    if (cluster->levels == 3 && !is_rail)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "3 levels of switches, but only rails have them; fabric is %s",
                          ronde_fabric_name(cluster->fabric));
    if (cluster->ratio > 1 && cluster->fabric == RONDE_FABRIC_CROSSBAR)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a crossbar has no oversubscription");
    if (cluster->pods == 1 && (cluster->ratio > 1 || request->levels > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u nodes fit below one level of switches (%u do): neither levels nor "
                          "oversubscription mean anything there",
                          cluster->nodes, cluster->pod_nodes);
    return RONDE_OK;
}

/* NULL for a kind whose nodes are no such. */
static const struct sheet *find_sheet(const char *kind)
{
    for (size_t s = 0; kind && s < sizeof sheets / sizeof sheets[0]; s++)
        if (strcmp(kind, sheets[s].kind) == 0)
            return &sheets[s];
    return NULL;
}

enum ronde_status ronde_generate_node_of(const char *kind, uint32_t gpus,
                                         struct ronde_node_description *out,
                                         struct ronde_error *error)
{
    const struct sheet *sheet = find_sheet(kind);
    if (!sheet)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "%s has no nodes of GPUs behind a switch or in a mesh, whose numbers could "
            "be others; " RONDE_KIND_BY_NUMBERS " has",
            kind);
    const bool is_open = strcmp(kind, RONDE_KIND_BY_NUMBERS) == 0;
    const uint32_t count = is_open && gpus > 0 ? gpus : sheet->gpus;
    *out = (struct ronde_node_description){.name = sheet->kind,
                                           .gpus = count,
                                           .link = sheet->link,
                                           .nvlink_GBps = ronde_gpu_find(sheet->gpu)->nvlink_GBps,
                                           .nics = count,
                                           .nic_GBps = sheet->nic_GBps};
    return RONDE_OK;
}

/* What is not usual for a kind is rails, where GPUs pass on to one another through a switch what another rail's NIC is for; else
 * one tree. */
static enum ronde_fabric fabric_of(const struct ronde_node_description *node)
{
    return node->link == RONDE_NODE_MESH || node->gpus == 1 ? RONDE_FABRIC_FAT_TREE
                                                            : RONDE_FABRIC_RAIL;
}

enum ronde_status ronde_generate_gpus(const struct ronde_generate_request *request, FILE *file,
                                      struct ronde_error *error)
{
    char name[64], source[192];
    const struct sheet *usual = find_sheet(request->kind);
    struct ronde_gpu_cluster cluster = {
        .to = {file, 4},
        .nodes = request->nodes > 0 ? request->nodes
                 : usual            ? usual->nodes
                                    : 1,
        .levels = request->levels > 0 ? request->levels : 2,
        .ratio = request->oversubscription > 0 ? request->oversubscription : 1,
        .multicasts = request->multicasts,
    };
    struct ronde_node_description *node = &cluster.node;
    if (request->node) {
        *node = *request->node;
        ronde_plain_text(name, sizeof name, node->name, "");
        ronde_plain_text(source, sizeof source,
                         request->source ? request->source
                                         : "a description of the machine, data sheets",
                         " /:,;()");
        node->name = cluster.title = name;
        cluster.source = source;
    } else {
        RONDE_TRY(ronde_generate_node_of(request->kind, 0, node, error));
        cluster.title = usual->title;
        cluster.source = usual->source;
    }
    const bool is_mesh = node->link == RONDE_NODE_MESH && node->gpus > 1;
    node->link = is_mesh ? RONDE_NODE_MESH : RONDE_NODE_SWITCH;
    cluster.link_GBps = is_mesh ? node->nvlink_GBps / (node->gpus - 1) : node->nvlink_GBps;
    cluster.nic_GBps = node->nics / node->gpus * node->nic_GBps;
    cluster.fabric = request->fabric != RONDE_FABRIC_COUNT ? request->fabric
                     : usual                               ? usual->fabric
                                                           : fabric_of(node);
    cluster.gpus = request->gpus > 0 ? request->gpus : node->gpus;
    cluster.pod_nodes = pod_nodes_of(cluster.fabric, cluster.gpus);
    cluster.pods = ronde_parts_of(cluster.nodes, cluster.pod_nodes);
    RONDE_TRY(check(&cluster, request, error));
    put_cluster(&cluster);
    return ronde_elements_close(file, error);
}
