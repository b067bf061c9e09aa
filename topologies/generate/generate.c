/* The kinds of machines there are, and the requests of each. */
#include "generator.h"
#include "topologies/platform.h"

#include "ronde/collective.h"
#include "ronde/generate.h"
#include "ronde/limits.h"

#include <string.h>

#define GPU_PARTS                                                                                  \
    (RONDE_PART_NODES | RONDE_PART_GPUS | RONDE_PART_LEVELS | RONDE_PART_OVERSUBSCRIPTION |        \
     RONDE_PART_FABRIC | RONDE_PART_MULTICAST)

/* A kind, what writes it, and which parts of a request it uses. */
static const struct {
    struct ronde_machine_kind kind;
    enum ronde_status (*write)(const struct ronde_generate_request *request, FILE *file,
                               struct ronde_error *error);
    uint32_t parts;
} kinds[] = {
    {{"crossbar", "hosts on one switch that never blocks, 400 Gbit/s ports"},
     ronde_generate_crossbar,
     RONDE_PART_NODES},
    {{"ethernet", "hosts on one 100 GbE switch, TCP"}, ronde_generate_ethernet, RONDE_PART_NODES},
    {{"fat-tree", "hosts below two or three levels of switches, any oversubscription"},
     ronde_generate_fat_tree,
     RONDE_PART_NODES | RONDE_PART_LEVELS | RONDE_PART_OVERSUBSCRIPTION | RONDE_PART_SHAPE},
    {{"torus", "chips in a ring per axis, 2-D or 3-D"}, ronde_generate_torus, RONDE_PART_SHAPE},
    {{"dragonfly", "groups of routers, one cable between any two groups"},
     ronde_generate_dragonfly,
     RONDE_PART_NODES | RONDE_PART_SHAPE},
    {{"dragonfly+", "groups of leaves and spines, all spines of two groups joined one to one"},
     ronde_generate_dragonfly_plus,
     RONDE_PART_NODES | RONDE_PART_SHAPE},
    {{"tofu", "nodes of Tofu-D, units of 2x3x2 in a 3-D torus"},
     ronde_generate_tofu,
     RONDE_PART_SHAPE | RONDE_PART_UNITS},
    {{"pcie", "one server, GPUs on PCIe only"}, ronde_generate_pcie, RONDE_PART_GPUS},
    {{RONDE_KIND_BY_NUMBERS,
      "nodes of any number of GPUs on NVSwitch, by --nvlink and --nics; DGX H100's where not said"},
     ronde_generate_gpus,
     GPU_PARTS},
    {{"dgx-a100", "DGX A100 nodes: 8 GPUs on NVSwitch, 200 Gbit/s a GPU"},
     ronde_generate_gpus,
     GPU_PARTS},
    {{"dgx-h100", "DGX H100 nodes: 8 GPUs on NVSwitch, 400 Gbit/s a GPU"},
     ronde_generate_gpus,
     GPU_PARTS},
    {{"hgx-h200", "HGX H200 nodes: 8 GPUs on NVSwitch, 400 Gbit/s a GPU"},
     ronde_generate_gpus,
     GPU_PARTS},
    {{"nvl72", "GB200 NVL72 racks: 72 GPUs on NVLink switches, 400 Gbit/s a GPU"},
     ronde_generate_gpus,
     GPU_PARTS},
    {{"mi300x", "MI300X nodes: 8 GPUs in a full mesh, 400 Gbit/s a GPU"},
     ronde_generate_gpus,
     GPU_PARTS},
    {{"rail", "pods of DGX H100 nodes, one leaf switch per GPU of a node"},
     ronde_generate_gpus,
     GPU_PARTS & ~(uint32_t)RONDE_PART_FABRIC},
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

const struct ronde_machine_kind *ronde_machine_kind(uint32_t index)
{
    return index < KIND_COUNT ? &kinds[index].kind : NULL;
}

/* Refuses what would otherwise be ignored: a request that is not met in full is worse than an error. */
static enum ronde_status check_parts(const struct ronde_generate_request *request, uint32_t parts,
                                     struct ronde_error *error)
{
    const struct {
        uint32_t part;
        bool is_given;
        const char *name;
    } given[] = {
        {RONDE_PART_NODES, request->nodes > 0, "nodes"},
        {RONDE_PART_GPUS, request->gpus > 0, "gpus"},
        {RONDE_PART_LEVELS, request->levels > 0, "levels"},
        {RONDE_PART_OVERSUBSCRIPTION, request->oversubscription > 0, "oversubscription"},
        {RONDE_PART_FABRIC, request->fabric != RONDE_FABRIC_COUNT, "fabric"},
        {RONDE_PART_SHAPE, request->axis_count > 0, "shape"},
        {RONDE_PART_MULTICAST, request->multicasts, "switch that copies and adds (multicast)"},
    };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (given[i].is_given && !(parts & given[i].part))
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has no %s", request->kind,
                              given[i].name);
    return RONDE_OK;
}

/* Sizes no kind can have. Written so that NaN fails too. */
static enum ronde_status check_sizes(const struct ronde_generate_request *request, uint32_t parts,
                                     struct ronde_error *error)
{
    const double ratio = request->oversubscription;
    if (request->nodes > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u nodes, at most %u", request->nodes,
                          RONDE_MAX_RANKS);
    if (ratio != 0 && !(ratio >= 1 && ratio <= 1000))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "oversubscription is %g, expected 1 to 1000",
                          ratio);
    if (request->levels != 0 && request->levels != 2 && request->levels != 3)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u levels of switches, expected 2 or 3",
                          request->levels);
    if ((unsigned)request->fabric > RONDE_FABRIC_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "fabric number %u, there are %u",
                          (unsigned)request->fabric, (unsigned)RONDE_FABRIC_COUNT);
    if (request->axis_count > RONDE_GENERATE_AXES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a shape of %u axes, at most %u",
                          request->axis_count, RONDE_GENERATE_AXES);
    uint64_t hosts = 1;
    for (uint32_t i = 0; i < request->axis_count; i++) {
        hosts *= request->shape[i];
        if (hosts == 0 || hosts > RONDE_MAX_RANKS)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "a shape of %llu hosts, expected 1 to %u",
                              (unsigned long long)hosts, RONDE_MAX_RANKS);
    }
    return ronde_limit_check(RONDE_LIMIT_HOSTS,
                             hosts * (parts & RONDE_PART_UNITS ? RONDE_TOFU_UNIT_HOSTS : 1), error);
}

/* Written so that NaN fails too. */
static enum ronde_status check_node(const struct ronde_node_description *node, uint32_t nodes,
                                    struct ronde_error *error)
{
    static const char importable[] =
        "import the machine (ronde topo import), which takes all nodes, with sockets and slots";
    if (!node->name || !*node->name)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a node without a name");
    if (node->gpus == 0 || node->gpus > RONDE_MAX_RANKS || node->nics > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %u GPUs and %u NICs a node, at most %u",
                          node->name, node->gpus, node->nics, RONDE_MAX_RANKS);
    if (node->link != RONDE_NODE_SWITCH && node->link != RONDE_NODE_MESH)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s joins its GPUs by %s, and nodes that are generated have a switch or a "
            "mesh; %s",
            node->name,
            node->link == RONDE_NODE_PAIRS  ? "pairs"
            : node->link == RONDE_NODE_PCIE ? "PCIe"
                                            : "a cube",
            importable);
    if (node->nics % node->gpus != 0)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s has %u NICs for %u GPUs, and nodes that are generated as many for "
                          "every GPU; %s",
                          node->name, node->nics, node->gpus, importable);
    if (!(node->nvlink_GBps > 0 && node->nvlink_GBps <= 1e6) ||
        (node->nics > 0 && !(node->nic_GBps > 0 && node->nic_GBps <= 1e6)))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: %g GB/s a GPU and %g a NIC, expected numbers up to 1e6", node->name,
                          node->nvlink_GBps, node->nic_GBps);
    return nodes > 1 && node->nics == 0
               ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "%s is described without NICs: one node only", node->name)
               : RONDE_OK;
}

/* A request of nodes by their numbers. */
static enum ronde_status generate_nodes(const struct ronde_generate_request *request, FILE *file,
                                        struct ronde_error *error)
{
    struct ronde_generate_request named = *request;
    RONDE_TRY(check_node(request->node, request->nodes, error));
    named.kind = request->node->name;
    RONDE_TRY(check_parts(&named, GPU_PARTS, error));
    RONDE_TRY(check_sizes(request, GPU_PARTS, error));
    return ronde_generate_gpus(request, file, error);
}

enum ronde_status ronde_generate(const struct ronde_generate_request *request, FILE *file,
                                 struct ronde_error *error)
{
    if (request->node)
        return generate_nodes(request, file, error);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].kind.name, request->kind) != 0)
            continue;
        RONDE_TRY(check_parts(request, kinds[i].parts, error));
        RONDE_TRY(check_sizes(request, kinds[i].parts, error));
        return kinds[i].write(request, file, error);
    }
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown kind of machine '%s'", request->kind);
}

/* A node's numbers as people write them. */

/* Room for a rate. */
#define RATE_BYTES 32u

/* "450GBps", and as data sheets have it: "450GB/s", "400Gbit/s". A number alone has no unit here, whatever SimGrid takes it for. */
static bool parse_rate(const char *text, double *out_GBps)
{
    static const char *const spellings[][2] = {{"bit/s", "bps"}, {"B/s", "Bps"}, {"b/s", "bps"}};
    char plain[RATE_BYTES];
    const size_t length = strlen(text);
    if (length == 0 || length >= sizeof plain || !strchr("sS", text[length - 1]))
        return false;
    memcpy(plain, text, length + 1);
    for (size_t s = 0; s < sizeof spellings / sizeof spellings[0]; s++) {
        const size_t tail = strlen(spellings[s][0]);
        if (length > tail && strcmp(plain + length - tail, spellings[s][0]) == 0)
            memcpy(plain + length - tail, spellings[s][1], strlen(spellings[s][1]) + 1);
    }
    return ronde_parse_bandwidth(plain, out_GBps) && *out_GBps > 0 && *out_GBps <= 1e6;
}

static enum ronde_status set_nvlink(struct ronde_node_description *node, const char *text,
                                    struct ronde_error *error)
{
    double rate_GBps = 0;
    if (!parse_rate(text, &rate_GBps))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "nvlink \"%.32s\" is no rate of all links of a GPU, one direction; as "
                          "450GBps, 450GB/s, 3600Gbps",
                          text);
    node->nvlink_GBps = rate_GBps;
    return RONDE_OK;
}

static enum ronde_status set_nics(struct ronde_node_description *node, const char *text,
                                  struct ronde_error *error)
{
    const char *cursor = text;
    uint64_t count = 0;
    double rate_GBps = 0;
    if (!ronde_parse_integer(&cursor, RONDE_MAX_RANKS, &count) || count == 0 || *cursor != 'x' ||
        !parse_rate(cursor + 1, &rate_GBps))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "nics \"%.32s\" is no COUNTxRATE of the NICs of a node, one direction; "
                          "as 8x50GBps, 8x400Gbps",
                          text);
    node->nics = (uint32_t)count;
    node->nic_GBps = rate_GBps;
    return RONDE_OK;
}

enum ronde_status ronde_generate_node_words(struct ronde_node_description *node, const char *nvlink,
                                            const char *nics, struct ronde_error *error)
{
    RONDE_TRY(nvlink ? set_nvlink(node, nvlink, error) : RONDE_OK);
    if (nics)
        RONDE_TRY(set_nics(node, nics, error));
    return RONDE_OK;
}
