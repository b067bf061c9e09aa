/*
 * An imported machine as a platform file. A node is a Full zone with every pair of GPUs written out, since only the
 * importer has the path NCCL takes; the links are shared by what hangs below them. Where the node has NICs, its router
 * `net` stands behind them, so that several nodes are several copies of the zone around a core: the file grows with the
 * number of nodes and not with its square.
 */
#define _POSIX_C_SOURCE 200809L

#include "machine.h"
#include "topologies/elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ports of a switch of the fat tree (NDR InfiniBand, NVIDIA QM9700 data sheet): half down, half up. */
#define LEAF_PORTS 32u

/* Where the writing stands. */
struct writer {
    const struct ronde_import *import;
    struct ronde_elements to;
    char prefix[24]; /* of every name in the node: "" or "n3-" */
};

/* Room for the name of a link, with the mark of its direction. */
#define WORD_BYTES 192u

static const char *const fabric_names[RONDE_FABRIC_COUNT] = {"crossbar", "rail", "fat-tree"};

const char *ronde_fabric_name(enum ronde_fabric fabric)
{
    return (unsigned)fabric < RONDE_FABRIC_COUNT ? fabric_names[fabric] : "?";
}

/* Links into a tree are called after the lower end, those into the crossbar after the other one, the rest after both. */
static void name_link(const struct writer *writer, const struct ronde_import_edge *edge,
                      uint32_t way, char name[WORD_BYTES])
{
    const struct ronde_import_place *from = RONDE_PLACE(writer->import, edge->ends[way]);
    const struct ronde_import_place *to = RONDE_PLACE(writer->import, edge->ends[1 - way]);
    const char *first = from->name, *hyphen = "", *second = "";
    if (ronde_import_is_symmetric(edge) && from->kind == RONDE_PLACE_NVSWITCH) {
        first = to->name;
    } else if (!ronde_import_is_symmetric(edge) ||
               (to->kind != RONDE_PLACE_NVSWITCH && strcmp(edge->word, "pcie") != 0 &&
                strcmp(edge->word, "local") != 0)) {
        hyphen = "-";
        second = to->name;
    }
    (void)snprintf(name, WORD_BYTES, "%s%s-%s%s%s", writer->prefix, edge->word, first, hyphen,
                   second);
}

/* Both directions of equal rate are one full-duplex link; otherwise each is a link of its own. */
static void put_link(const struct writer *writer, const struct ronde_import_edge *edge)
{
    char name[WORD_BYTES];
    for (uint32_t way = 0; way < 2; way++) {
        struct ronde_link_element link = ronde_duplex(edge->GBps[way], edge->latency_ns);
        if (!isfinite(link.GBps) || link.GBps <= 0 || (way == 1 && ronde_import_is_symmetric(edge)))
            continue;
        if (!ronde_import_is_symmetric(edge))
            link.policy = "SHARED";
        name_link(writer, edge, way, name);
        ronde_put_link(&writer->to, link, "%s", name);
    }
}

/* A NIC with all its ports: a flow of NCCL's uses them by turns, one of ours all at once. */
static void put_nic(const struct writer *writer, const struct ronde_import_place *nic)
{
    struct ronde_link_element link = ronde_duplex(nic->net_GBps, RONDE_IMPORT_PORT_NS);
    link.ports = nic->port_count > 0 ? nic->ports : NULL;
    if (nic->net_GBps > 0)
        ronde_put_link(&writer->to, link, "%snet-%s", writer->prefix, nic->name);
}

/* A link without a limit is not in the file, and takes no time. */
static void put_hop(const struct writer *writer, uint32_t index, uint32_t way)
{
    const struct ronde_import_edge *edge = RONDE_EDGE(writer->import, index);
    const bool is_symmetric = ronde_import_is_symmetric(edge);
    char name[WORD_BYTES];
    if (!isfinite(edge->GBps[way]))
        return;
    name_link(writer, edge, is_symmetric ? 0 : way, name);
    ronde_put_hop(&writer->to, !is_symmetric ? ' ' : way == 0 ? '>' : '<', name);
}

/* A path found from a GPU, forwards or backwards. */
struct path {
    uint32_t gpu;      /* rank it was found from */
    uint32_t place;    /* where it leads */
    uint32_t nic;      /* goes on through this NIC's ports to the net, or NONE */
    bool is_reverse;   /* written from the far end */
    bool is_both_ways; /* one route for both directions */
};

/* The last link on the way out, the first on the way in. */
static void put_port(const struct writer *writer, const struct path *path)
{
    char name[WORD_BYTES];
    if (path->nic == RONDE_NONE)
        return;
    (void)snprintf(name, sizeof name, "%snet-%s", writer->prefix,
                   RONDE_PLACE(writer->import, path->nic)->name);
    ronde_put_hop(&writer->to, path->is_reverse ? '<' : '>', name);
}

/* The edges are known from the GPU on; the far end sees them in reverse. */
static void put_path(const struct writer *writer, const struct path *path, const char *src,
                     const char *dst)
{
    uint32_t edges[RONDE_MAX_PLACES];
    uint32_t ways[RONDE_MAX_PLACES];
    const struct ronde_import *import = writer->import;
    const uint32_t count = ronde_import_path(import, path->gpu, path->place, edges);
    uint32_t at = *RONDE_AT(import->gpus, uint32_t, path->gpu);
    for (uint32_t i = 0; i < count; i++) {
        ways[i] = RONDE_EDGE(import, edges[i])->ends[0] == at ? 0 : 1;
        at = RONDE_EDGE(import, edges[i])->ends[1 - ways[i]];
    }
    ronde_put(&writer->to, path->is_both_ways ? RONDE_ELEMENT_ROUTE_BEGIN : RONDE_ELEMENT_WAY_BEGIN,
              "%s%s %s%s", writer->prefix, src, writer->prefix, dst);
    if (path->is_reverse)
        put_port(writer, path);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t hop = path->is_reverse ? count - 1 - i : i;
        put_hop(writer, edges[hop], path->is_reverse ? 1 - ways[hop] : ways[hop]);
    }
    if (!path->is_reverse)
        put_port(writer, path);
    ronde_put_route_end(&writer->to);
}

/* Whether the same links lead back, as fast. */
static bool has_symmetric_edges(const struct ronde_import *import, uint32_t gpu, uint32_t place)
{
    uint32_t edges[RONDE_MAX_PLACES];
    const uint32_t count = ronde_import_path(import, gpu, place, edges);
    for (uint32_t i = 0; i < count; i++)
        if (!ronde_import_is_symmetric(RONDE_EDGE(import, edges[i])))
            return false;
    return true;
}

/* Two GPUs: one route where the way back is as good, else two, each the best of its direction. */
static void put_pair(const struct writer *writer, uint32_t a, uint32_t b)
{
    const struct ronde_import *import = writer->import;
    const uint32_t ends[2] = {*RONDE_AT(import->gpus, uint32_t, a),
                              *RONDE_AT(import->gpus, uint32_t, b)};
    const char *names[2] = {RONDE_PLACE(import, ends[0])->name, RONDE_PLACE(import, ends[1])->name};
    const struct ronde_label *there = ronde_import_label(import, a, ends[1]);
    const struct ronde_label *back = ronde_import_label(import, b, ends[0]);
    const bool is_mirror = there->kind == back->kind && there->hops == back->hops &&
                           !(there->GBps < back->GBps) && !(there->GBps > back->GBps) &&
                           has_symmetric_edges(import, a, ends[1]);
    const struct path forward = {a, ends[1], RONDE_NONE, false, is_mirror};
    const struct path backward = {b, ends[0], RONDE_NONE, false, false};
    put_path(writer, &forward, names[0], names[1]);
    if (!is_mirror)
        put_path(writer, &backward, names[1], names[0]);
}

/* A GPU to the router behind its NIC. */
static void put_exit(const struct writer *writer, uint32_t gpu)
{
    const struct ronde_import *import = writer->import;
    const uint32_t nic = *RONDE_AT(import->nic_of, uint32_t, gpu);
    const char *name = RONDE_PLACE(import, *RONDE_AT(import->gpus, uint32_t, gpu))->name;
    if (nic == RONDE_NONE)
        return;
    const bool is_mirror = has_symmetric_edges(import, gpu, nic);
    const struct path out = {gpu, nic, nic, false, is_mirror};
    const struct path in = {gpu, nic, nic, true, false};
    put_path(writer, &out, name, "net");
    if (!is_mirror)
        put_path(writer, &in, "net", name);
}

/* Whether any GPU reaches a NIC of known rate. */
static bool has_net(const struct ronde_import *import)
{
    for (uint32_t i = 0; i < import->nic_of.count; i++)
        if (*RONDE_AT(import->nic_of, uint32_t, i) != RONDE_NONE)
            return true;
    return false;
}

/* The inside of a node's zone. */
static void put_node(const struct writer *writer)
{
    const struct ronde_import *import = writer->import;
    for (uint32_t i = 0; i < import->gpus.count; i++)
        ronde_put(&writer->to, RONDE_ELEMENT_HOST, "%sgpu%u", writer->prefix, i);
    if (has_net(import))
        ronde_put(&writer->to, RONDE_ELEMENT_ROUTER, "%snet", writer->prefix);
    for (uint32_t i = 0; i < import->edges.count; i++)
        put_link(writer, RONDE_EDGE(import, i));
    for (uint32_t i = 0; i < import->nics.count; i++)
        put_nic(writer, RONDE_PLACE(import, *RONDE_AT(import->nics, uint32_t, i)));
    for (uint32_t i = 0; i < import->gpus.count; i++)
        for (uint32_t j = i + 1; j < import->gpus.count; j++)
            put_pair(writer, i, j);
    for (uint32_t i = 0; i < import->gpus.count; i++)
        put_exit(writer, i);
}

/* What all NICs of a node that are in use carry together: links of the fabric are never slower. */
static double node_GBps(const struct ronde_import *import)
{
    double sum = 0;
    for (uint32_t i = 0; i < import->nics.count; i++)
        sum += RONDE_PLACE(import, *RONDE_AT(import->nics, uint32_t, i))->net_GBps;
    return sum;
}

/* Nodes below one leaf of the fat tree: each needs a port for every port of its NICs. */
static uint32_t nodes_per_leaf(const struct ronde_import *import)
{
    uint32_t ports = 0;
    for (uint32_t i = 0; i < import->nics.count; i++) {
        const struct ronde_import_place *nic =
            RONDE_PLACE(import, *RONDE_AT(import->nics, uint32_t, i));
        if (nic->net_GBps > 0)
            ports += nic->port_count > 0 ? nic->port_count : 1;
    }
    return ports >= LEAF_PORTS ? 1 : LEAF_PORTS / ports;
}

/* As wide as all nodes below, which is what perfect spreading over enough spines gives. */
static struct ronde_link_element leaf_uplink(const struct ronde_import *import, uint32_t leaf)
{
    const uint32_t all = nodes_per_leaf(import);
    const uint32_t rest = import->request.nodes - leaf * all;
    return ronde_duplex(node_GBps(import) * (rest < all ? rest : all), RONDE_IMPORT_SWITCH_NS);
}

/*
 * Switches and what joins nodes to them: zones, then links, then routes, as the format wants it. A node's cables are wide
 * enough never to matter, each flow for itself.
 */
static void put_fabric(const struct ronde_import *import, const struct ronde_elements *to)
{
    const uint32_t nodes = import->request.nodes;
    const uint32_t per_leaf =
        import->request.fabric == RONDE_FABRIC_FAT_TREE ? nodes_per_leaf(import) : nodes;
    const uint32_t leaves = per_leaf < nodes ? (nodes - 1) / per_leaf + 1 : 0;
    ronde_put(to, RONDE_ELEMENT_SWITCH, "core0 core0-switch");
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        ronde_put(to, RONDE_ELEMENT_SWITCH, "leaf%u leaf%u-switch", leaf, leaf);
    for (uint32_t node = 0; node < nodes; node++)
        ronde_put_link(to, ronde_fatpipe(node_GBps(import), 0), "port-n%u", node);
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        ronde_put_link(to, leaf_uplink(import, leaf), "up-leaf%u", leaf);
    for (uint32_t node = 0; node < nodes; node++) {
        char above[24];
        (void)snprintf(above, sizeof above, "%s%u", leaves > 0 ? "leaf" : "core",
                       leaves > 0 ? node / per_leaf : 0);
        ronde_put(to, RONDE_ELEMENT_ZONE_ROUTE, "n%u %s n%u-net %s-switch port-n%u", node, above,
                  node, above, node);
    }
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        ronde_put(to, RONDE_ELEMENT_ZONE_ROUTE,
                  "leaf%u core0 leaf%u-switch core0-switch >up-leaf%u", leaf, leaf, leaf);
}

/* Copies of the node: zones cannot be repeated by reference. */
static void put_nodes(struct writer *writer)
{
    const struct ronde_elements outer = {writer->to.file, 2};
    for (uint32_t node = 0; node < writer->import->request.nodes; node++) {
        (void)snprintf(writer->prefix, sizeof writer->prefix, "n%u-", node);
        ronde_put(&outer, RONDE_ELEMENT_ZONE, "n%u Full", node);
        put_node(writer);
        ronde_put(&outer, RONDE_ELEMENT_ZONE_END, "%s", "");
    }
    put_fabric(writer->import, &outer);
}

/* The description that `ronde list` prints. */
static void put_props(const struct ronde_import *import, FILE *file)
{
    const uint32_t nodes = import->request.nodes;
    fprintf(file, "    <prop id=\"ronde.description\" value=\"%u GPUs", nodes * import->gpus.count);
    if (nodes > 1)
        fprintf(file, " in %u nodes on a %s", nodes, ronde_fabric_name(import->request.fabric));
    fprintf(file,
            ", imported\"/>\n"
            "    <prop id=\"ronde.node_hosts\" value=\"%u\"/>\n"
            "    <prop id=\"ronde.source\" value=\"%s %s; %s; latencies "
            "nominal, as in NCCL's model: 0.6 us NVLink, 1 us PCI, 2.7 us network\"/>\n",
            import->gpus.count, import->kind, import->source, import->rates);
    if (import->request.multicasts)
        ronde_put_prop(file, "multicast", "1");
}

/* A machine without GPUs is what calibrations describe, too: cores that share a memory. */
static enum ronde_status write_cores(const struct ronde_import *import, FILE *file,
                                     struct ronde_error *error)
{
    const struct ronde_calibration calibration = {
        .shared = {import->request.memory_GBps, import->cores, 0},
        .max_ranks = import->cores,
        .machine = import->source,
        .measured_by = "nothing: ronde topo import --memory-GBps, costs left at 0",
        .measured_on = "never",
    };
    return ronde_platform_write(&calibration, file, error);
}

/* The zone is called after the file, with a suffix that nothing inside has. */
enum ronde_status ronde_import_write(const struct ronde_import *import, FILE *file,
                                     struct ronde_error *error)
{
    struct writer writer = {import, {file, 4}, ""};
    const uint32_t nodes = import->request.nodes;
    char name[sizeof import->source + 16];
    if (import->gpus.count == 0)
        return write_cores(import, file, error);
    const char *dot = strrchr(import->source, '.');
    const int stem = dot ? (int)(dot - import->source) : (int)strlen(import->source);
    (void)snprintf(name, sizeof name, "%.*s-x%u", stem, import->source, nodes);
    ronde_elements_open(
        file, "Written by ronde topo import; docs/guide/import.md says what the numbers are.", name,
        nodes > 1 ? "Dijkstra" : "Full");
    put_props(import, file);
    if (nodes > 1)
        put_nodes(&writer);
    else
        put_node(&writer);
    return ronde_elements_close(file, error);
}

enum ronde_status ronde_import_platform(const struct ronde_import *import, const char *name,
                                        const struct ronde_mem *mem,
                                        struct ronde_platform **out_platform,
                                        struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    *out_platform = NULL;
    if (!file)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for its platform", name);
    enum ronde_status status = ronde_import_write(import, file, error);
    if (fclose(file) != 0 && status == RONDE_OK)
        status = ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for its platform", name);
    RONDE_THEN(status, ronde_platform_parse(name, text, bytes, mem, out_platform, error));
    free(text);
    return status;
}
