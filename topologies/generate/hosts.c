/* Machines that SimGrid has in one element, or nearly: one switch, tori, one PCIe server. */
#include "generator.h"

/* Hosts where none are asked for. */
#define CROSSBAR_HOSTS 64u
#define ETHERNET_HOSTS 16u
#define PCIE_GPUS 8u

/* PCIe 4.0: 16 GT/s a lane and direction, 16 lanes, 128b/130b coding (PCI Express Base Specification 4.0). */
#define PCIE4_X16_GBPS (16.0 * 16 * 128 / 130 / 8)
/* Between two Xeon sockets of the Sapphire Rapids class: NCCL, src/graph/topo.h. */
#define SOCKET_GBPS 22.0
/* NCCL's latency of a hop over PCIe in its low-latency protocol, 1 us, half at each end (src/graph/tuning.cc). */
#define PCIE_NS 500.0

/* Port rate and latency of a star. */
struct star {
    const char *kind;
    uint32_t hosts;
    double GBps;
    double latency_ns;
    const char *what; /* of the description */
    const char *source;
    const char *comment; /* after its first line */
};

/* One <cluster>, whatever the number of hosts. */
static enum ronde_status put_star(const struct star *star, FILE *file, struct ronde_error *error)
{
    char name[64];
    char description[160];
    char comment[1024];
    snprintf(name, sizeof name, "%s-%u", star->kind, star->hosts);
    snprintf(description, sizeof description, "%u hosts, %s", star->hosts, star->what);
    snprintf(comment, sizeof comment, "  %u hosts %s", star->hosts, star->comment);
    const struct ronde_opening opening = {.name = name,
                                          .routing = "Full",
                                          .description = description,
                                          .source = star->source,
                                          .comment = comment};
    ronde_generator_open(file, &opening);
    const struct ronde_cluster_element cluster = {"hosts",    "h",
                                                  0,          star->hosts - 1,
                                                  star->GBps, star->latency_ns,
                                                  false};
    ronde_put_cluster(&(struct ronde_elements){file, 4}, &cluster, "%s", "");
    return ronde_elements_close(file, error);
}

enum ronde_status ronde_generate_crossbar(const struct ronde_generate_request *request, FILE *file,
                                          struct ronde_error *error)
{
    const struct star star = {request->kind,
                              request->nodes > 0 ? request->nodes : CROSSBAR_HOSTS,
                              RONDE_PORT_400_GBPS,
                              500,
                              "one non-blocking switch, 50 GB/s ports",
                              "nominal NDR InfiniBand: 400 Gbit/s ports, 1 us between hosts",
                              "on one switch that never blocks: each host has one full-duplex port "
                              "of 400 Gbit/s = 50 GB/s.\n\n"
                              "  Nominal, not measured. Port rate: NDR InfiniBand, 400 Gbit/s per "
                              "port (InfiniBand Trade Association roadmap;\n"
                              "  NVIDIA ConnectX-7 data sheet); real switches have 64 such ports "
                              "(NVIDIA QM9700 data sheet). Latency: 500 ns per\n"
                              "  port, so that a route costs 1 us, the usual half round trip of "
                              "small messages between two hosts on one switch\n"
                              "  (osu_latency).\n"};
    return put_star(&star, file, error);
}

enum ronde_status ronde_generate_ethernet(const struct ronde_generate_request *request, FILE *file,
                                          struct ronde_error *error)
{
    const struct star star = {
        request->kind,
        request->nodes > 0 ? request->nodes : ETHERNET_HOSTS,
        12.5,
        10000,
        "one 100 GbE switch, TCP, 20 us between hosts",
        "nominal 100 GbE (IEEE 802.3ba); 20 us between two TCP sockets is assumed",
        "on one Ethernet switch that never blocks: each host has one full-duplex port of 100 "
        "Gbit/s = 12.5 GB/s.\n\n"
        "  Nominal, not measured. Port rate: IEEE 802.3ba. Latency: 20 us between two TCP sockets "
        "is an assumption, since\n"
        "  it depends on the kernel and its settings more than on the switch; `ronde calibrate` "
        "measures yours.\n"};
    return put_star(&star, file, error);
}

/* "8x8x8" or, as SimGrid wants it, "8,8,8": of axes of one only the first, as each names a link of a host to itself alike. */
static void print_shape(const struct ronde_generate_request *request, bool is_for_simgrid,
                        char *text, size_t bytes)
{
    const char *separator = is_for_simgrid ? "," : "x";
    uint32_t ones = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < request->axis_count; i++) {
        ones += request->shape[i] == 1;
        if (is_for_simgrid && request->shape[i] == 1 && ones > 1)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%u", i > 0 ? separator : "",
                                 request->shape[i]);
    }
}

/* A torus of SimGrid's: one ring per axis, routes along the first axis first. */
struct torus {
    const char *what; /* after the shape, in the description */
    const char *unit; /* axes inside one point of the shape, as SimGrid wants them, or "" */
    uint32_t unit_hosts;
    double GBps;
    double latency_ns;
    const char *alpha_ns, *lane_GBps; /* of a message (machines.md); NULL = the file does not say */
    const char *source;
    const char *comment;
};

static enum ronde_status put_torus(const struct ronde_generate_request *request,
                                   const struct torus *torus, FILE *file, struct ronde_error *error)
{
    char shape[64];
    char axes[64];
    char name[96];
    char description[160];
    uint64_t hosts = torus->unit_hosts;
    if (request->axis_count < 2)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a %s needs a shape of 2 or 3 axes, e.g. 8x8x8", request->kind);
    for (uint32_t i = 0; i < request->axis_count; i++)
        hosts *= request->shape[i];
    print_shape(request, false, shape, sizeof shape);
    print_shape(request, true, axes, sizeof axes);
    snprintf(name, sizeof name, "%s-%s", request->kind, shape);
    snprintf(description, sizeof description, "%s of %s %s", request->kind, shape, torus->what);
    const struct ronde_opening opening = {.name = name,
                                          .routing = "Full",
                                          .description = description,
                                          .source = torus->source,
                                          .comment = torus->comment};
    ronde_generator_open(file, &opening);
    if (torus->alpha_ns)
        ronde_put_prop(file, "alpha_ns", torus->alpha_ns);
    if (torus->lane_GBps)
        ronde_put_prop(file, "lane_GBps", torus->lane_GBps);
    const struct ronde_cluster_element cluster = {"chips",     "c",
                                                  0,           (uint32_t)hosts - 1,
                                                  torus->GBps, torus->latency_ns,
                                                  false};
    ronde_put_cluster(&(struct ronde_elements){file, 4}, &cluster,
                      " topology=\"TORUS\" topo_parameters=\"%s%s\"", torus->unit, axes);
    return ronde_elements_close(file, error);
}

enum ronde_status ronde_generate_torus(const struct ronde_generate_request *request, FILE *file,
                                       struct ronde_error *error)
{
    const struct torus torus = {
        "chips, 50 GB/s links",
        "",
        1,
        RONDE_PORT_400_GBPS,
        500,
        NULL,
        NULL,
        "link rate of TPU v4: 50 GB/s (Jouppi et al., ISCA 2023); 0.5 us a hop is assumed",
        "  Chips in a torus: a full-duplex link to both neighbours on every axis. Messages go "
        "along the first axis, then\n"
        "  the next (SimGrid's TORUS), the shorter way round.\n\n"
        "  Nominal, not measured. Link rate: 50 GB/s per direction as in TPU v4 (Jouppi et al.: "
        "TPU v4: An Optically\n"
        "  Reconfigurable Supercomputer for Machine Learning with Hardware Support for "
        "Embeddings, ISCA 2023). Latency:\n"
        "  500 ns a hop is an assumption; no figure is published.\n"};
    return put_torus(request, &torus, file, error);
}

enum ronde_status ronde_generate_tofu(const struct ronde_generate_request *request, FILE *file,
                                      struct ronde_error *error)
{
    const struct torus tofu = {
        "units of 2x3x2 nodes, 6.8 GB/s links",
        "2,3,2,",
        RONDE_TOFU_UNIT_HOSTS,
        6.8,
        100,
        "390",
        "6.35",
        "Ajima et al.: The Tofu Interconnect D, CLUSTER 2018",
        "  Nodes of Tofu-D: six axes, of which three are inside a unit of 2 x 3 x 2 nodes and "
        "three, the shape, between\n"
        "  units. Messages go along the axes of the unit first, the shorter way round. All axes "
        "close, as in a whole machine;\n"
        "  those of a job may not.\n\n"
        "  Nominal, not measured (Y. Ajima et al.: The Tofu Interconnect D, CLUSTER 2018): 6.8 "
        "GB/s a port and direction, ten\n"
        "  ports; a put of 0.49 us between neighbours, of which a hop is some 100 ns; one "
        "message 6.35 GB/s. That the six\n"
        "  engines of a node (TNI) let 40.8 GB/s into the network is left out.\n"};
    return put_torus(request, &tofu, file, error);
}

/* Half of the GPUs on each of two sockets. */
static void put_sockets(uint32_t gpus, FILE *file)
{
    const struct ronde_elements to = {file, 4};
    ronde_put(&to, RONDE_ELEMENT_ROUTER, "cpu0");
    ronde_put(&to, RONDE_ELEMENT_ROUTER, "cpu1");
    for (uint32_t i = 0; i < gpus; i++) {
        ronde_put(&to, RONDE_ELEMENT_HOST, "g%u", i);
        ronde_put_link(&to, ronde_duplex(PCIE4_X16_GBPS, PCIE_NS), "pcie%u", i);
    }
    ronde_put_link(&to, ronde_duplex(SOCKET_GBPS, 0), "sockets");
    for (uint32_t i = 0; i < gpus; i++)
        ronde_put(&to, RONDE_ELEMENT_ROUTE, "g%u cpu%u >pcie%u", i,
                  i < ronde_parts_of(gpus, 2) ? 0u : 1u, i);
    ronde_put(&to, RONDE_ELEMENT_ROUTE, "cpu0 cpu1 >sockets");
}

enum ronde_status ronde_generate_pcie(const struct ronde_generate_request *request, FILE *file,
                                      struct ronde_error *error)
{
    const uint32_t gpus = request->gpus > 0 ? request->gpus : PCIE_GPUS;
    char name[64];
    char description[160];
    if (gpus > 64)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u GPUs, but one server has at most 64", gpus);
    snprintf(name, sizeof name, "pcie-%u", gpus);
    snprintf(description, sizeof description,
             "%u GPUs on PCIe 4.0 x16, two sockets joined by %g GB/s", gpus, SOCKET_GBPS);
    const struct ronde_opening opening = {
        .name = name,
        .routing = "Dijkstra",
        .description = description,
        .source = "PCI Express Base Specification 4.0; NCCL src/graph/topo.h, tuning.cc",
        .comment =
            "  One server without NVLink: the first half of the GPUs on socket 0, the rest on "
            "socket "
            "1, each on 16 lanes of\n"
            "  PCIe 4.0, full duplex. Nominal, not measured.\n\n"
            "  Rates: 16 GT/s x 16 lanes x 128/130 = 31.5 GB/s per direction (PCI Express Base "
            "Specification 4.0), headers not\n"
            "  counted; 22 GB/s between the sockets, NCCL's figure for Sapphire Rapids "
            "(src/graph/topo.h). Latency: NCCL's\n"
            "  model of a hop over PCIe, 1 us (src/graph/tuning.cc, low-latency protocol).\n",
        .node_hosts = gpus};
    ronde_generator_open(file, &opening);
    put_sockets(gpus, file);
    return ronde_elements_close(file, error);
}
