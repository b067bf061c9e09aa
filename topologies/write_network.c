/* The hosts of a calibration and what joins them, as zones and links of a platform file. */
#include "elements.h"
#include "platform.h"

#include <string.h>

/*
 * A shape in a network of Tofu's kind: an axis of n ranks is two rows along a long axis, back and forth, which neighbours on
 * the short axis of two join (Ajima et al., "The Tofu Interconnect D", CLUSTER 2018: six axes of which jobs see three). The long
 * axis of a job that does not fill it is not closed. A torus closes all its axes, so that one is twice as long as needed and
 * half of its hosts are nobody's: no shortest way leads through them. Odd axes are one row.
 */
#define TOFU_AXES 3u

struct tofu {
    uint32_t radix[2 * TOFU_AXES];  /* of the torus, fastest axis first */
    uint32_t stride[2 * TOFU_AXES]; /* of a host's number along it */
    uint32_t count;
};

static bool is_folded(uint32_t length)
{
    return length > 2 && length % 2 == 0;
}

static uint32_t row_of(uint32_t length)
{
    return is_folded(length) ? length / 2 : length;
}

static uint64_t make_tofu(const struct ronde_calibrated_network *network, struct tofu *tofu)
{
    uint64_t hosts = 1;
    tofu->count = 0;
    for (uint32_t a = network->axis_count; a-- > 0;) {
        const uint32_t length = network->shape[a], row = row_of(length);
        const uint32_t parts[] = {row > 2 ? 2 * row : row, is_folded(length) ? 2 : 1};
        for (uint32_t part = 0; part < 2; part++) {
            tofu->stride[tofu->count] = (uint32_t)hosts;
            tofu->radix[tofu->count++] = parts[part];
            hosts *= parts[part];
        }
    }
    return hosts;
}

/* Nodes lie in groups whole. */
static bool splits_nodes(const struct ronde_calibration *calibration)
{
    const struct ronde_calibrated_network *network = &calibration->network;
    bool splits = false;
    if (network->node_hosts < 2)
        return false;
    for (uint32_t group = 0; group < network->group_count; group++)
        splits |= network->group_hosts[group] % network->node_hosts != 0;
    return splits || network->axis_count > 0 || calibration->max_ranks % network->node_hosts != 0;
}

/* Groups and shapes have as many hosts as there are ranks. */
enum ronde_status ronde_write_network_check(const struct ronde_calibration *calibration,
                                            struct ronde_error *error)
{
    const struct ronde_calibrated_network *network = &calibration->network;
    struct tofu tofu;
    uint64_t grouped = 0, shaped = 1;
    for (uint32_t group = 0; group < network->group_count; group++)
        grouped += network->group_hosts[group];
    for (uint32_t axis = 0; axis < network->axis_count; axis++)
        shaped *= network->shape[axis];
    if (network->group_count > 1 && grouped != calibration->max_ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "calibration: the groups have %llu hosts for %u ranks",
                          (unsigned long long)grouped, calibration->max_ranks);
    if (splits_nodes(calibration))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "calibration: nodes of %u ranks divide neither %u ranks nor a group of "
                          "them, or are in a shape",
                          network->node_hosts, calibration->max_ranks);
    if (network->axis_count > 0 && shaped != calibration->max_ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "calibration: the shape has %llu hosts for %u ranks",
                          (unsigned long long)shaped, calibration->max_ranks);
    if (network->axis_count > TOFU_AXES)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "calibration: a shape of %u axes, at most %u are known",
                          network->axis_count, TOFU_AXES);
    if (network->axis_count > 0 && make_tofu(network, &tofu) > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "calibration: a network for this shape has more than %u hosts",
                          RONDE_MAX_RANKS);
    return RONDE_OK;
}

/* The machine itself. A file without a lane rate still needs ports: none is faster than the memory. */
static void put_cluster(const struct ronde_elements *to, const struct ronde_calibration *calibration)
{
    const double memory = calibration->shared.memory_GBps;
    const double lane = calibration->time.lane_GBps;
    const struct ronde_cluster_element cluster = {"memory",
                                                  "rank",
                                                  0,
                                                  calibration->max_ranks - 1,
                                                  lane > 0 ? lane : memory,
                                                  calibration->latency_ns / 2,
                                                  true};
    char backbone[96] = "";
    if (memory > 0)
        snprintf(backbone, sizeof backbone,
                 " bb_bw=\"%.17gGBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\"", memory);
    ronde_put_cluster(to, &cluster, "%s", backbone);
}

/* Hosts on a router of their own. */
static void put_star(const struct ronde_elements *to, const char *id, uint32_t first,
                     uint32_t hosts, double GBps, double latency_ns)
{
    const struct ronde_cluster_element cluster = {id,   "rank",     first, first + hosts - 1,
                                                  GBps, latency_ns, true};
    ronde_put_cluster(to, &cluster, " router_id=\"%s_top\"", id);
}

/* Nodes are stars of hosts whose routers have a port of their own to the switch of their group. */
static void put_nodes(const struct ronde_elements *to, const struct ronde_calibration *calibration,
                      uint32_t group, uint32_t first, uint32_t hosts)
{
    const struct ronde_calibrated_network *network = &calibration->network;
    const uint32_t size = network->node_hosts;
    const struct ronde_link_element port =
        ronde_duplex(calibration->time.lane_GBps, (calibration->latency_ns - network->node_ns) / 2);
    char id[32];
    ronde_put(to, RONDE_ELEMENT_ZONE, "group%u DijkstraCache", group);
    for (uint32_t host = first; host < first + hosts; host += size) {
        snprintf(id, sizeof id, "node%u", host / size);
        put_star(to, id, host, size, network->node_GBps, network->node_ns / 2);
    }
    ronde_put(to, RONDE_ELEMENT_SWITCH, "switch%u group%u_top", group, group);
    for (uint32_t node = first / size; node < (first + hosts) / size; node++)
        ronde_put_link(to, port, "nic%u", node);
    for (uint32_t node = first / size; node < (first + hosts) / size; node++)
        ronde_put(to, RONDE_ELEMENT_ZONE_ROUTE, "node%u switch%u node%u_top group%u_top >nic%u",
                  node, group, node, group, node);
    ronde_put(to, RONDE_ELEMENT_ZONE_END, "%s", "");
}

/*
 * Groups are stars whose switches meet in one router. What joins them has as much as all ports of a group, so that groups
 * tell latencies apart and nothing else.
 */
static void put_groups(const struct ronde_elements *to, const struct ronde_calibration *calibration)
{
    const struct ronde_calibrated_network *network = &calibration->network;
    const double lane_GBps = calibration->time.lane_GBps;
    const uint32_t node_hosts = network->node_hosts > 1 ? network->node_hosts : 1;
    char id[32];
    for (uint32_t group = 0, first = 0; group < network->group_count;
         first += network->group_hosts[group++]) {
        snprintf(id, sizeof id, "group%u", group);
        if (node_hosts > 1)
            put_nodes(to, calibration, group, first, network->group_hosts[group]);
        else
            put_star(to, id, first, network->group_hosts[group], lane_GBps,
                     calibration->latency_ns / 2);
    }
    ronde_put(to, RONDE_ELEMENT_SWITCH, "core spine");
    for (uint32_t group = 0; group < network->group_count; group++)
        ronde_put_link(to,
                       ronde_duplex(network->group_hosts[group] / node_hosts * lane_GBps,
                                    network->far_ns / 2),
                       "up%u", group);
    for (uint32_t group = 0; group < network->group_count; group++)
        ronde_put(to, RONDE_ELEMENT_ZONE_ROUTE, "group%u core group%u_top spine >up%u", group,
                  group, group);
}

static uint32_t tofu_host(const struct ronde_calibrated_network *network, const struct tofu *tofu,
                          uint32_t rank)
{
    uint32_t host = 0, axis = 0;
    for (uint32_t a = network->axis_count; a-- > 0; axis += 2) {
        const uint32_t length = network->shape[a], row = row_of(length), at = rank % length;
        const bool is_back = at >= row;
        host += (is_back ? length - 1 - at : at) * tofu->stride[axis];
        host += is_back * tofu->stride[axis + 1];
        rank /= length;
    }
    return host;
}

static void put_shape(const struct ronde_elements *to, const struct ronde_calibration *calibration)
{
    FILE *file = to->file;
    struct tofu tofu;
    const uint64_t hosts = make_tofu(&calibration->network, &tofu);
    const char *mark = "    <prop id=\"ronde.rank_shape\" value=\"";
    for (uint32_t axis = 0; axis < calibration->network.axis_count; axis++, mark = "x")
        fprintf(file, "%s%u", mark, calibration->network.shape[axis]);
    fputs("\"/>\n    <prop id=\"ronde.rank_hosts\" value=\"", file);
    for (uint32_t rank = 0; rank < calibration->max_ranks; rank++)
        fprintf(file, "%snode%u", rank > 0 ? " " : "",
                tofu_host(&calibration->network, &tofu, rank));
    fputs("\"/>\n", file);
    const struct ronde_cluster_element cluster = {"nodes",
                                                  "node",
                                                  0,
                                                  (uint32_t)hosts - 1,
                                                  calibration->time.lane_GBps,
                                                  calibration->latency_ns,
                                                  true};
    char axes[96] = "";
    size_t used = 0;
    for (uint32_t axis = 0; axis < tofu.count; axis++)
        if (tofu.radix[axis] > 1)
            used += (size_t)snprintf(axes + used, sizeof axes - used, "%s%u", used > 0 ? "," : "",
                                     tofu.radix[axis]);
    ronde_put_cluster(to, &cluster, " topology=\"TORUS\" topo_parameters=\"%s\"", axes);
}

const char *ronde_write_network_title(const struct ronde_calibration *calibration)
{
    return calibration->network.axis_count > 0
               ? "Hosts in a network of Tofu's kind, in the shape of their job"
           : calibration->network.node_hosts > 1 ? "Ranks in nodes that have a port each"
           : calibration->network.group_count > 1
               ? "Hosts with a port each, in groups that are further apart"
               : "Hosts with a port each on a switch that never blocks";
}

void ronde_write_network(const struct ronde_calibration *calibration, FILE *file)
{
    const struct ronde_elements to = {file, 4};
    char hosts[16];
    if (calibration->network.node_hosts > 1) {
        snprintf(hosts, sizeof hosts, "%u", calibration->network.node_hosts);
        ronde_put_prop(file, "node_hosts", hosts);
    }
    if (calibration->network.axis_count > 0)
        put_shape(&to, calibration);
    else if (calibration->network.group_count > 1)
        put_groups(&to, calibration);
    else if (calibration->network.node_hosts > 1)
        put_nodes(&to, calibration, 0, 0, calibration->max_ranks);
    else
        put_cluster(&to, calibration);
}
