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

/* Links between the GPUs of a node; in a mesh n0g1-2 joins GPUs 1 and 2 of node 0. */
static void put_inner_links(const struct ronde_gpu_cluster *cluster, uint32_t node)
{
    for (uint32_t i = 0; i < cluster->gpus; i++) {
        if (cluster->node.link == RONDE_NODE_SWITCH)
            ronde_put_link(&cluster->to, ronde_duplex(cluster->link_GBps, LINK_NS), "n%ug%u_v",
                           node, i);
        for (uint32_t j = i + 1; cluster->node.link == RONDE_NODE_MESH && j < cluster->gpus; j++)
            ronde_put_link(&cluster->to, ronde_duplex(cluster->link_GBps, 2 * LINK_NS), "n%ug%u-%u",
                           node, i, j);
    }
}

/* Hosts, switch and links of a node. */
static void put_node(const struct ronde_gpu_cluster *cluster, uint32_t node)
{
    const struct ronde_elements *to = &cluster->to;
    for (uint32_t i = 0; i < cluster->gpus; i++)
        ronde_put(to, RONDE_ELEMENT_HOST, "n%ug%u", node, i);
    if (cluster->node.link == RONDE_NODE_SWITCH)
        ronde_put(to, RONDE_ELEMENT_ROUTER, "n%us", node);
    put_inner_links(cluster, node);
    if (cluster->nodes == 1)
        return;
    for (uint32_t i = 0; i < cluster->gpus; i++)
        ronde_put_link(to, ronde_duplex(cluster->nic_GBps, NIC_NS), "n%ug%u_c", node, i);
    /* It only counts, to tell two ways apart: no flow is faster than the links before it. */
    if (is_rail(cluster) || cluster->node.link == RONDE_NODE_SWITCH)
        ronde_put_link(to,
                       ronde_fatpipe(is_rail(cluster) ? cluster->link_GBps : cluster->nic_GBps, 0),
                       "n%ux", node);
}

/* Ways between the GPUs of a node. */
static void put_inner_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu)
{
    const struct ronde_elements *to = &cluster->to;
    char counter[64] = "";
    if (is_rail(cluster) && cluster->nodes > 1)
        snprintf(counter, sizeof counter, "n%ux", node);
    for (uint32_t j = gpu + 1; cluster->node.link == RONDE_NODE_MESH && j < cluster->gpus; j++)
        ronde_put(to, RONDE_ELEMENT_ROUTE, "n%ug%u n%ug%u >n%ug%u-%u %s", node, gpu, node, j, node,
                  gpu, j, counter);
    if (cluster->node.link != RONDE_NODE_SWITCH)
        return;
    ronde_put(to, RONDE_ELEMENT_WAY, "n%ug%u n%us >n%ug%u_v", node, gpu, node, node, gpu);
    ronde_put(to, RONDE_ELEMENT_WAY, "n%us n%ug%u %s <n%ug%u_v", node, node, gpu, counter, node,
              gpu);
}

/* From the other GPUs of a node to the leaf of this one: NVLink or xGMI first, then its NIC. */
static void put_detours(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                        uint32_t leaf)
{
    if (cluster->node.link == RONDE_NODE_SWITCH) {
        ronde_put(&cluster->to, RONDE_ELEMENT_WAY, "n%us l%u <n%ug%u_v >n%ug%u_c", node, leaf, node,
                  gpu, node, gpu);
        return;
    }
    for (uint32_t i = 0; i < cluster->gpus; i++)
        if (i != gpu)
            ronde_put(&cluster->to, RONDE_ELEMENT_WAY, "n%ug%u l%u %cn%ug%u-%u >n%ug%u_c", node, i,
                      leaf, i < gpu ? '>' : '<', node, i < gpu ? i : gpu, i < gpu ? gpu : i, node,
                      gpu);
}

/* Ways between a GPU and the switch of its rail. */
static void put_rail_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                            uint32_t pod)
{
    const uint32_t leaf = pod * cluster->gpus + gpu;
    ronde_put(&cluster->to, RONDE_ELEMENT_ROUTE, "n%ug%u l%u >n%ug%u_c", node, gpu, leaf, node, gpu);
    put_detours(cluster, node, gpu, leaf);
}

/* Ways between a GPU and the one switch of its pod; out counts twice where a way through it could tie with NVSwitch. */
static void put_switch_routes(const struct ronde_gpu_cluster *cluster, uint32_t node, uint32_t gpu,
                              uint32_t pod)
{
    const struct ronde_elements *to = &cluster->to;
    if (cluster->node.link == RONDE_NODE_MESH) {
        ronde_put(to, RONDE_ELEMENT_ROUTE, "n%ug%u l%u >n%ug%u_c", node, gpu, pod, node, gpu);
        return;
    }
    ronde_put(to, RONDE_ELEMENT_WAY, "n%ug%u l%u >n%ug%u_c n%ux", node, gpu, pod, node, gpu, node);
    ronde_put(to, RONDE_ELEMENT_WAY, "l%u n%ug%u <n%ug%u_c", pod, node, gpu, node, gpu);
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
    return ports * cluster->nic_GBps;
}

/* Leaf switches; on rails one per GPU of a node, with a spine above where there are other pods. */
static void put_switches(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    const struct ronde_elements *to = &cluster->to;
    const uint32_t leaves = is_rail(cluster) ? cluster->gpus : 1;
    const double up_GBps = above(cluster, leaf_GBps(cluster));
    for (uint32_t i = pod * leaves; i < (pod + 1) * leaves; i++)
        ronde_put(to, RONDE_ELEMENT_ROUTER, "l%u", i);
    if (!is_rail(cluster) || cluster->pods == 1)
        return;
    ronde_put(to, RONDE_ELEMENT_ROUTER, "s%u", pod);
    for (uint32_t i = pod * leaves; i < (pod + 1) * leaves; i++) {
        ronde_put_link(to, ronde_duplex(up_GBps, RONDE_SWITCH_NS), "l%u_u", i);
        ronde_put_link(to, ronde_fatpipe(up_GBps, RONDE_SWITCH_NS), "l%u_s", i);
    }
}

static void put_uplinks(const struct ronde_gpu_cluster *cluster, uint32_t pod)
{
    for (uint32_t i = pod * cluster->gpus; i < (pod + 1) * cluster->gpus; i++) {
        ronde_put(&cluster->to, RONDE_ELEMENT_WAY, "l%u s%u >l%u_u l%u_s", i, pod, i, i);
        ronde_put(&cluster->to, RONDE_ELEMENT_WAY, "s%u l%u <l%u_u", pod, i, i);
    }
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
static struct ronde_link_element pod_link(const struct ronde_gpu_cluster *cluster)
{
    const bool is_crossbar = cluster->fabric == RONDE_FABRIC_CROSSBAR;
    double GBps = leaf_GBps(cluster);
    if (is_rail(cluster))
        GBps = above(cluster, GBps) * cluster->gpus;
    if (is_crossbar || (is_rail(cluster) && cluster->levels == 2))
        return ronde_fatpipe(GBps, 0);
    return ronde_duplex(above(cluster, GBps), RONDE_SWITCH_NS);
}

/* Pods as zones around a core. */
static void put_pods(const struct ronde_gpu_cluster *cluster)
{
    const struct ronde_elements *to = &cluster->to;
    const bool is_shared =
        cluster->fabric == RONDE_FABRIC_FAT_TREE || (is_rail(cluster) && cluster->levels == 3);
    for (uint32_t pod = 0; pod < cluster->pods; pod++) {
        ronde_put(to, RONDE_ELEMENT_ZONE, "pod%u DijkstraCache", pod);
        put_pod(cluster, pod);
        ronde_put(to, RONDE_ELEMENT_ZONE_END, "%s", "");
    }
    ronde_put(to, RONDE_ELEMENT_SWITCH, "core spine");
    for (uint32_t pod = 0; pod < cluster->pods; pod++)
        ronde_put_link(to, pod_link(cluster), "p%u_u", pod);
    for (uint32_t pod = 0; pod < cluster->pods; pod++)
        ronde_put(to, RONDE_ELEMENT_ZONE_ROUTE, "pod%u core %c%u spine %sp%u_u", pod,
                  is_rail(cluster) ? 's' : 'l', pod, is_shared ? ">" : "", pod);
}

void ronde_generator_pods(const struct ronde_gpu_cluster *cluster)
{
    if (cluster->pods == 1)
        put_pod(cluster, 0);
    else
        put_pods(cluster);
}
