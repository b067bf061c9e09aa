/* The hosts of a calibration and what joins them, as zones and links of a platform file. */
#include "platform.h"
#include "topologies/generate/generator.h"

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
static void put_cluster(FILE *file, const struct ronde_calibration *calibration)
{
    const double memory = calibration->shared.memory_GBps;
    const double lane = calibration->time.lane_GBps;
    fprintf(file,
            "    <cluster id=\"memory\" prefix=\"rank\" suffix=\"\" radical=\"0-%u\" "
            "speed=\"1Gf\"\n             bw=\"%.17gGBps\" lat=\"%.17gns\"",
            calibration->max_ranks - 1, lane > 0 ? lane : memory, calibration->latency_ns / 2);
    if (memory > 0)
        fprintf(file, " bb_bw=\"%.17gGBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\"", memory);
    fputs("/>\n", file);
}

/*
 * Groups are stars whose switches meet in one router. What joins them has as much as all ports of a group, so that groups
 * tell latencies apart and nothing else.
 */
static void put_groups(FILE *file, const struct ronde_calibration *calibration)
{
    const struct ronde_calibrated_network *network = &calibration->network;
    const double lane_GBps = calibration->time.lane_GBps;
    for (uint32_t group = 0, first = 0; group < network->group_count;
         first += network->group_hosts[group++])
        fprintf(file,
                "    <cluster id=\"group%u\" prefix=\"rank\" suffix=\"\" radical=\"%u-%u\" "
                "speed=\"1Gf\"\n             bw=\"%.17gGBps\" lat=\"%.17gns\" "
                "router_id=\"group%u_top\"/>\n",
                group, first, first + network->group_hosts[group] - 1, lane_GBps,
                calibration->latency_ns / 2, group);
    ronde_generator_core(file);
    char id[32];
    for (uint32_t group = 0; group < network->group_count; group++) {
        snprintf(id, sizeof id, "up%u", group);
        ronde_generator_link(file, id, network->group_hosts[group] * lane_GBps, network->far_ns / 2);
    }
    for (uint32_t group = 0; group < network->group_count; group++)
        fprintf(file,
                "    <zoneRoute src=\"group%u\" dst=\"core\" gw_src=\"group%u_top\" "
                "gw_dst=\"spine\"><link_ctn id=\"up%u\" direction=\"UP\"/></zoneRoute>\n",
                group, group, group);
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

static void put_shape(FILE *file, const struct ronde_calibration *calibration)
{
    struct tofu tofu;
    const uint64_t hosts = make_tofu(&calibration->network, &tofu);
    const char *mark = "    <prop id=\"ronde.rank_shape\" value=\"";
    for (uint32_t axis = 0; axis < calibration->network.axis_count; axis++, mark = "x")
        fprintf(file, "%s%u", mark, calibration->network.shape[axis]);
    fputs("\"/>\n    <prop id=\"ronde.rank_hosts\" value=\"", file);
    for (uint32_t rank = 0; rank < calibration->max_ranks; rank++)
        fprintf(file, "%snode%u", rank > 0 ? " " : "",
                tofu_host(&calibration->network, &tofu, rank));
    fprintf(file,
            "\"/>\n    <cluster id=\"nodes\" prefix=\"node\" suffix=\"\" radical=\"0-%llu\" "
            "speed=\"1Gf\"\n             bw=\"%.17gGBps\" lat=\"%.17gns\" topology=\"TORUS\" "
            "topo_parameters=\"",
            (unsigned long long)hosts - 1, calibration->time.lane_GBps, calibration->latency_ns);
    const char *comma = "";
    for (uint32_t axis = 0; axis < tofu.count; axis++)
        if (tofu.radix[axis] > 1) {
            fprintf(file, "%s%u", comma, tofu.radix[axis]);
            comma = ",";
        }
    fputs("\"/>\n", file);
}

const char *ronde_write_network_title(const struct ronde_calibration *calibration)
{
    return calibration->network.axis_count > 0
               ? "Hosts in a network of Tofu's kind, in the shape of their job"
           : calibration->network.group_count > 1
               ? "Hosts with a port each, in groups that are further apart"
               : "Hosts with a port each on a switch that never blocks";
}

void ronde_write_network(const struct ronde_calibration *calibration, FILE *file)
{
    if (calibration->network.axis_count > 0)
        put_shape(file, calibration);
    else if (calibration->network.group_count > 1)
        put_groups(file, calibration);
    else
        put_cluster(file, calibration);
}
