/*
 * Nodes of GPUs as zones, links and routes: inside a node, and between nodes.
 *
 * All routes are shortest chains, and no pair has two of them; the counts below prove it. In a node of NVSwitches
 *
 *     gpu --v--> switch --x v--> gpu        2 or 3 links (3 on rails: x is a link that only counts)
 *
 * On rails, GPU i of all nodes of a pod hangs on leaf i, and leaves on the spine of their pod:
 *
 *     gpu --c--> leaf i --c--> gpu                        2: same rail
 *     gpu --v--> switch --v c--> leaf j --c--> gpu        4: over NVLink to the rail of the destination (PXN of NCCL)
 *     gpu --c--> leaf i --u s--> spine --u--> leaf j ...  5, as is leaving NVLink to the receiver: never taken
 *
 * and to another pod a message leaves by its own leaf (3 links) and changes rails at the spine. On one switch per pod
 * the way in counts one link, the way out two, so that a node prefers its own links.
 */
#include "generator.h"

/* NCCL's latencies of a hop in its low-latency protocol (src/graph/tuning.cc, 2.23 to 2.30): 0.6 us over NVLink, 2.7 us
 * over the network; half at each end. */
#define LINK_NS 300.0
#define NIC_NS 1350.0

/* Nodes of one pod: all of it, or what is left for the last one. */
static uint32_t first_node(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    const uint64_t first = (uint64_t)pod * cluster->pod_nodes;
    return first < cluster->nodes ? (uint32_t)first : cluster->nodes;
}

static bool is_rail(const struct ronde_gpu_cluster *cluster)
{
    return cluster->fabric == RONDE_FABRIC_RAIL;
}

/* A link that only counts, to tell two ways apart: no flow is faster than the links before it. */
static void put_counter(const struct ronde_gpu_cluster *cluster, const char *id, double GBps,
                        double latency_ns)
{
    fprintf(cluster->file,
            "    <link id=\"%s\" bandwidth=\"%.15gGBps\" latency=\"%.15gns\" "
            "sharing_policy=\"FATPIPE\"/>\n",
            id, GBps, latency_ns);
}

/* Links between the GPUs of a node; in a mesh n0g1-2 joins GPUs 1 and 2 of node 0. */
static void put_inner_links(const struct ronde_gpu_cluster *cluster, uint32_t node)
{
    const struct ronde_node_sheet *sheet = cluster->sheet;
    char id[64];
    for (uint32_t i = 0; i < cluster->gpus; i++) {
        if (sheet->inside == RONDE_INSIDE_SWITCHED) {
            snprintf(id, sizeof id, "n%ug%u_v", node, i);
            ronde_generator_link(cluster->file, id, sheet->gpu_GBps, LINK_NS);
        }
        for (uint32_t j = i + 1; sheet->inside == RONDE_INSIDE_MESH && j < cluster->gpus; j++) {
            snprintf(id, sizeof id, "n%ug%u-%u", node, i, j);
            ronde_generator_link(cluster->file, id, sheet->gpu_GBps, 2 * LINK_NS);
        }
    }
}

/* Hosts, switch and links of a node. */
static void put_node(const struct ronde_gpu_cluster *cluster, uint32_t node)
{
    char id[64];
    for (uint32_t i = 0; i < cluster->gpus; i++)
        fprintf(cluster->file, "    <host id=\"n%ug%u\" speed=\"1Gf\"/>\n", node, i);
    if (cluster->sheet->inside == RONDE_INSIDE_SWITCHED)
        fprintf(cluster->file, "    <router id=\"n%us\"/>\n", node);
    put_inner_links(cluster, node);
    if (cluster->nodes == 1)
        return;
    for (uint32_t i = 0; i < cluster->gpus; i++) {
        snprintf(id, sizeof id, "n%ug%u_c", node, i);
        ronde_generator_link(cluster->file, id, cluster->sheet->nic_GBps, NIC_NS);
    }
    snprintf(id, sizeof id, "n%ux", node);
    if (is_rail(cluster))
        put_counter(cluster, id, cluster->sheet->gpu_GBps, 0);
    else if (cluster->sheet->inside == RONDE_INSIDE_SWITCHED)
        put_counter(cluster, id, cluster->sheet->nic_GBps, 0);
}

/* Ways between the GPUs of a node. */
static void put_inner_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu)
{
    FILE *file = cluster->file;
    char counter[64] = "";
    if (is_rail(cluster) && cluster->nodes > 1)
        snprintf(counter, sizeof counter, "<link_ctn id=\"n%ux\"/>", node);
    for (uint32_t j = gpu + 1; cluster->sheet->inside == RONDE_INSIDE_MESH && j < cluster->gpus; j++)
        fprintf(file,
                "    <route src=\"n%ug%u\" dst=\"n%ug%u\"><link_ctn id=\"n%ug%u-%u\" "
                "direction=\"UP\"/>%s</route>\n",
                node, gpu, node, j, node, gpu, j, counter);
    if (cluster->sheet->inside == RONDE_INSIDE_SWITCHED)
        fprintf(
            file,
            "    <route src=\"n%ug%u\" dst=\"n%us\" symmetrical=\"NO\"><link_ctn id=\"n%ug%u_v\" "
            "direction=\"UP\"/></route>\n"
            "    <route src=\"n%us\" dst=\"n%ug%u\" symmetrical=\"NO\">%s<link_ctn "
            "id=\"n%ug%u_v\" direction=\"DOWN\"/></route>\n",
            node, gpu, node, node, gpu, node, node, gpu, counter, node, gpu);
}

/* From the other GPUs of a node to the leaf of this one: NVLink or xGMI first, then its NIC. */
static void put_detours(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                        uint32_t leaf)
{
    FILE *file = cluster->file;
    if (cluster->sheet->inside == RONDE_INSIDE_SWITCHED) {
        fprintf(file,
                "    <route src=\"n%us\" dst=\"l%u\" symmetrical=\"NO\"><link_ctn id=\"n%ug%u_v\" "
                "direction=\"DOWN\"/><link_ctn id=\"n%ug%u_c\" direction=\"UP\"/></route>\n",
                node, leaf, node, gpu, node, gpu);
        return;
    }
    for (uint32_t i = 0; i < cluster->gpus; i++)
        if (i != gpu)
            fprintf(file,
                    "    <route src=\"n%ug%u\" dst=\"l%u\" symmetrical=\"NO\"><link_ctn "
                    "id=\"n%ug%u-%u\" direction=\"%s\"/><link_ctn id=\"n%ug%u_c\" "
                    "direction=\"UP\"/></route>\n",
                    node, i, leaf, node, i < gpu ? i : gpu, i < gpu ? gpu : i,
                    i < gpu ? "UP" : "DOWN", node, gpu);
}

/* Ways between a GPU and the switch of its rail. */
static void put_rail_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                            uint32_t pod)
{
    const uint32_t leaf = pod * cluster->gpus + gpu;
    fprintf(cluster->file,
            "    <route src=\"n%ug%u\" dst=\"l%u\"><link_ctn id=\"n%ug%u_c\" direction=\"UP\"/>"
            "</route>\n",
            node, gpu, leaf, node, gpu);
    put_detours(cluster, node, gpu, leaf);
}

/* Ways between a GPU and the one switch of its pod; out counts twice where a way through it could tie with NVSwitch. */
static void put_switch_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                              uint32_t pod)
{
    FILE *file = cluster->file;
    if (cluster->sheet->inside == RONDE_INSIDE_MESH)
        fprintf(file,
                "    <route src=\"n%ug%u\" dst=\"l%u\"><link_ctn id=\"n%ug%u_c\" "
                "direction=\"UP\"/></route>\n",
                node, gpu, pod, node, gpu);
    else
        fprintf(file,
                "    <route src=\"n%ug%u\" dst=\"l%u\" symmetrical=\"NO\"><link_ctn "
                "id=\"n%ug%u_c\" direction=\"UP\"/><link_ctn id=\"n%ux\"/></route>\n"
                "    <route src=\"l%u\" dst=\"n%ug%u\" symmetrical=\"NO\"><link_ctn "
                "id=\"n%ug%u_c\" direction=\"DOWN\"/></route>\n",
                node, gpu, pod, node, gpu, node, pod, node, gpu, node, gpu);
}

/* Ways between a GPU and the network. */
static void put_nic_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                           uint32_t pod)
{
    if (is_rail(cluster))
        put_rail_routes(cluster, node, gpu, pod);
    else
        put_switch_routes(cluster, node, gpu, pod);
}

/* Rate of what leads up from a switch whose ports below sum up to a rate. */
static double above(const struct ronde_gpu_cluster *cluster, double below_GBps)
{
    return below_GBps / cluster->ratio;
}

/* Rate of all NICs of a full pod or, on rails, of one leaf. */
static double leaf_GBps(const struct ronde_gpu_cluster *cluster)
{
    const uint32_t ports = cluster->pod_nodes * (is_rail(cluster) ? 1 : cluster->gpus);
    return ports * cluster->sheet->nic_GBps;
}

/* Leaf switches; on rails one per GPU of a node, with a spine above where there are other pods. */
static void put_switches(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    FILE *file = cluster->file;
    const uint32_t leaves = is_rail(cluster) ? cluster->gpus : 1;
    char id[64];
    for (uint32_t i = pod * leaves; i < (pod + 1) * leaves; i++)
        fprintf(file, "    <router id=\"l%u\"/>\n", i);
    if (!is_rail(cluster) || cluster->pods == 1)
        return;
    fprintf(file, "    <router id=\"s%u\"/>\n", pod);
    for (uint32_t i = pod * leaves; i < (pod + 1) * leaves; i++) {
        const double up_GBps = above(cluster, leaf_GBps(cluster));
        snprintf(id, sizeof id, "l%u_u", i);
        ronde_generator_link(file, id, up_GBps, RONDE_SWITCH_NS);
        snprintf(id, sizeof id, "l%u_s", i);
        put_counter(cluster, id, up_GBps, RONDE_SWITCH_NS);
    }
}

static void put_uplinks(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    for (uint32_t i = pod * cluster->gpus; i < (pod + 1) * cluster->gpus; i++)
        fprintf(cluster->file,
                "    <route src=\"l%u\" dst=\"s%u\" symmetrical=\"NO\"><link_ctn id=\"l%u_u\" "
                "direction=\"UP\"/><link_ctn id=\"l%u_s\"/></route>\n"
                "    <route src=\"s%u\" dst=\"l%u\" symmetrical=\"NO\"><link_ctn id=\"l%u_u\" "
                "direction=\"DOWN\"/></route>\n",
                i, pod, i, i, pod, i, i);
}

/* A zone may name a link only after it, so parts come before ways. */
static void put_pod(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    const uint32_t last = first_node(cluster, pod + 1);
    for (uint32_t node = first_node(cluster, pod); node < last; node++)
        put_node(cluster, node);
    if (cluster->nodes > 1)
        put_switches(cluster, pod);
    for (uint32_t node = first_node(cluster, pod); node < last; node++)
        for (uint32_t i = 0; i < cluster->gpus; i++) {
            put_inner_routes(cluster, node, i);
            if (cluster->nodes > 1)
                put_nic_routes(cluster, node, i, pod);
        }
    if (is_rail(cluster) && cluster->pods > 1)
        put_uplinks(cluster, pod);
}

/* What leads from a pod to the core. A link that cannot limit anything is a FATPIPE: SimGrid need not share it out. */
static void put_pod_link(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    const bool is_crossbar = cluster->fabric == RONDE_FABRIC_CROSSBAR;
    double GBps = leaf_GBps(cluster);
    char id[64];
    snprintf(id, sizeof id, "p%u_u", pod);
    if (is_rail(cluster))
        GBps = above(cluster, GBps) * cluster->gpus;
    if (is_crossbar || (is_rail(cluster) && cluster->levels == 2))
        put_counter(cluster, id, GBps, 0);
    else
        ronde_generator_link(cluster->file, id, above(cluster, GBps), RONDE_SWITCH_NS);
}

/* Pods as zones around a core. */
static void put_pods(const struct ronde_gpu_cluster *cluster)
{
    FILE *file = cluster->file;
    const bool is_shared =
        cluster->fabric == RONDE_FABRIC_FAT_TREE || (is_rail(cluster) && cluster->levels == 3);
    for (uint32_t pod = 0; pod < cluster->pods; pod++) {
        fprintf(file, "    <zone id=\"pod%u\" routing=\"DijkstraCache\">\n", pod);
        put_pod(cluster, pod);
        fputs("    </zone>\n", file);
    }
    ronde_generator_core(file);
    for (uint32_t pod = 0; pod < cluster->pods; pod++)
        put_pod_link(cluster, pod);
    for (uint32_t pod = 0; pod < cluster->pods; pod++)
        fprintf(file,
                "    <zoneRoute src=\"pod%u\" dst=\"core\" gw_src=\"%c%u\" gw_dst=\"spine\">"
                "<link_ctn id=\"p%u_u\"%s/></zoneRoute>\n",
                pod, is_rail(cluster) ? 's' : 'l', pod, pod, is_shared ? " direction=\"UP\"" : "");
}

void ronde_generator_pods(const struct ronde_gpu_cluster *cluster)
{
    if (cluster->pods == 1)
        put_pod(cluster, 0);
    else
        put_pods(cluster);
}
