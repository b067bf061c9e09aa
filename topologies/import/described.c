/*
 * A node as its operator describes it: sockets, a PCIe switch for each NIC and its GPUs, links between GPUs. Nothing is
 * measured and nothing is by NCCL's tables: every rate is the description's.
 */
#include "machine.h"

#include <math.h>
#include <string.h>

/* The socket, switch, NIC or GPU number `index` of `count` belongs to, of `owners` in the same order. */
static uint32_t owner_of(uint32_t index, uint32_t count, uint32_t owners)
{
    return (uint32_t)((uint64_t)index * owners / count);
}

static enum ronde_status check(const struct ronde_node_description *node,
                               const struct ronde_import_request *request, struct ronde_error *error)
{
    const bool has_nvlink = node->link != RONDE_NODE_PCIE;
    const double rates[] = {node->pcie_GBps, node->socket_GBps, has_nvlink ? node->nvlink_GBps : 1,
                            node->nics > 0 ? node->nic_GBps : 1};
    if (node->gpus == 0 || node->gpus > RONDE_MAX_GPUS || node->sockets == 0 ||
        node->sockets > RONDE_MAX_GPUS || node->nics > RONDE_MAX_GPUS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: %u GPUs, %u sockets and %u NICs, expected 1 to %u, NICs from 0 on",
                          node->name, node->gpus, node->sockets, node->nics, RONDE_MAX_GPUS);
    if ((unsigned)node->link > RONDE_NODE_CUBE_4)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: link number %u", node->name,
                          (unsigned)node->link);
    if ((node->link == RONDE_NODE_CUBE || node->link == RONDE_NODE_CUBE_4) && node->gpus != 8)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: a cube of %u GPUs, expected 8",
                          node->name, node->gpus);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (!(rates[i] > 0 && rates[i] <= 1e9))
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "%s: a rate of %g GB/s, expected more than 0, at most 1e9",
                              node->name, rates[i]);
    if (request->nodes > 1 && node->nics == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %u nodes, but a node has no NIC",
                          node->name, request->nodes);
    return RONDE_OK;
}

/* A node being made: what its GPUs and NICs hang from. */
struct making {
    const struct ronde_node_description *node;
    struct ronde_import *import;
    uint32_t cpus[RONDE_MAX_GPUS];
    uint32_t gpus[RONDE_MAX_GPUS];
    uint32_t sockets; /* with a GPU below them */
    uint32_t nics;    /* one a GPU at most */
};

static enum ronde_status add_sockets(struct making *making)
{
    for (uint32_t i = 0; i < making->sockets; i++) {
        RONDE_TRY(ronde_import_add_place(making->import, RONDE_PLACE_CPU, RONDE_NONE, 0,
                                         &making->cpus[i]));
        struct ronde_import_place *cpu = RONDE_PLACE(making->import, making->cpus[i]);
        cpu->cpu_GBps = making->node->socket_GBps;
        (void)snprintf(cpu->name, sizeof cpu->name, "cpu%u", i);
    }
    return RONDE_OK;
}

/* How many of the description's NICs stand behind one of the node's. */
static double rate_of_nic(const struct making *making, uint32_t nic)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < making->node->nics; i++)
        count += owner_of(i, making->node->nics, making->nics) == nic;
    return count * making->node->nic_GBps;
}

/* A slot is as wide as its NIC wants it: descriptions say nothing of NICs' slots. */
static enum ronde_status add_nic(struct making *making, uint32_t nic, uint32_t parent)
{
    uint32_t place;
    RONDE_TRY(ronde_import_add_place(making->import, RONDE_PLACE_NIC, parent, 0, &place));
    struct ronde_import_place *self = RONDE_PLACE(making->import, place);
    self->net_GBps = rate_of_nic(making, nic);
    self->up_GBps = fmax(self->net_GBps, making->node->pcie_GBps);
    self->port_count = 1;
    (void)snprintf(self->ports, sizeof self->ports, "nic%u:%gGBps", nic, self->net_GBps);
    return RONDE_OK;
}

static enum ronde_status add_gpu(struct making *making, uint32_t gpu, uint32_t parent)
{
    RONDE_TRY(ronde_import_add_place(making->import, RONDE_PLACE_GPU, parent, 0, &making->gpus[gpu]));
    struct ronde_import_place *self = RONDE_PLACE(making->import, making->gpus[gpu]);
    self->rank = gpu;
    self->up_GBps = making->node->pcie_GBps;
    return RONDE_OK;
}

/* A PCIe switch below a socket; its way up is one slot wide, as boards have it. */
static enum ronde_status add_switch(struct making *making, uint32_t number, uint32_t cpu,
                                    uint32_t *out_switch)
{
    RONDE_TRY(ronde_import_add_place(making->import, RONDE_PLACE_SWITCH, cpu, 0, out_switch));
    struct ronde_import_place *self = RONDE_PLACE(making->import, *out_switch);
    self->up_GBps = making->node->pcie_GBps;
    (void)snprintf(self->busid, sizeof self->busid, "switch%u", number);
    return RONDE_OK;
}

/* GPUs in order, each group behind its NIC's switch, or straight on the socket. */
static enum ronde_status add_devices(struct making *making)
{
    const struct ronde_node_description *node = making->node;
    const bool has_switches = making->nics > 0 && !node->is_bridged;
    uint32_t parent = RONDE_NONE;
    for (uint32_t gpu = 0, nics = 0; gpu < node->gpus; gpu++) {
        const uint32_t cpu = making->cpus[owner_of(gpu, node->gpus, making->sockets)];
        const bool is_first = making->nics > 0 && owner_of(gpu, node->gpus, making->nics) == nics;
        if (!has_switches)
            parent = cpu;
        else if (is_first)
            RONDE_TRY(add_switch(making, nics, cpu, &parent));
        if (is_first)
            RONDE_TRY(add_nic(making, nics++, parent));
        RONDE_TRY(add_gpu(making, gpu, parent));
    }
    return RONDE_OK;
}

/* Links between two GPUs of DGX-1 with V100; with P100 there is one of each. NVIDIA DGX-1 white paper, figure 4. */
static const uint8_t cube_links[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                         {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                         {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                         {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

/* Rate between two GPUs that no switch joins; 0 where there is no link. */
static double rate_between(const struct ronde_node_description *node, uint32_t gpu, uint32_t peer)
{
    switch (node->link) {
    case RONDE_NODE_MESH:
        return node->nvlink_GBps / (node->gpus - 1);
    case RONDE_NODE_PAIRS:
        return gpu / 2 == peer / 2 ? node->nvlink_GBps : 0;
    case RONDE_NODE_CUBE:
        return node->nvlink_GBps * cube_links[gpu][peer] / 6;
    case RONDE_NODE_CUBE_4:
        return cube_links[gpu][peer] > 0 ? node->nvlink_GBps / 4 : 0;
    case RONDE_NODE_SWITCH:
    case RONDE_NODE_PCIE:
        break;
    }
    return 0;
}

static enum ronde_status add_peers(struct making *making, uint32_t gpu)
{
    for (uint32_t peer = gpu + 1; peer < making->node->gpus; peer++) {
        const double GBps = rate_between(making->node, gpu, peer);
        if (GBps > 0)
            RONDE_TRY(ronde_import_add_duplex(making->import, "nvlink", making->gpus[gpu],
                                              making->gpus[peer], GBps, GBps));
    }
    return RONDE_OK;
}

static enum ronde_status add_links(struct making *making)
{
    const struct ronde_node_description *node = making->node;
    uint32_t centre = RONDE_NONE;
    if (node->link == RONDE_NODE_PCIE || node->gpus == 1)
        return RONDE_OK;
    if (node->link == RONDE_NODE_SWITCH)
        RONDE_TRY(ronde_import_nvswitch(making->import, &centre));
    for (uint32_t gpu = 0; gpu < node->gpus; gpu++)
        RONDE_TRY(node->link == RONDE_NODE_SWITCH
                      ? ronde_import_add_duplex(making->import, "nvlink", making->gpus[gpu], centre,
                                                node->nvlink_GBps, node->nvlink_GBps)
                      : add_peers(making, gpu));
    return RONDE_OK;
}

static enum ronde_status fill(struct making *making, struct ronde_error *error)
{
    struct ronde_import *import = making->import;
    import->kind = "description";
    import->rates = "nominal bandwidths";
    ronde_plain_text(import->source, sizeof import->source, making->node->name, "");
    enum ronde_status status = add_sockets(making);
    RONDE_THEN(status, add_devices(making));
    RONDE_THEN(status, add_links(making));
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s: no room for the machine", making->node->name);
    status = ronde_import_finish(import, making->node->name, error);
    /* That there is none is what a description says, not what it leaves out. */
    import->remark_counts[RONDE_REMARK_NO_NVLINK] = 0;
    return status;
}

enum ronde_status ronde_import_describe(const struct ronde_node_description *description,
                                        const struct ronde_import_request *request,
                                        const struct ronde_mem *mem,
                                        struct ronde_import **out_import, struct ronde_error *error)
{
    const struct ronde_import_request joined = {.path = description->name,
                                                .nodes = request->nodes,
                                                .fabric = request->fabric,
                                                .multicasts = request->multicasts};
    struct making making = {.node = description};
    *out_import = NULL;
    enum ronde_status status = check(description, request, error);
    RONDE_THEN(status, ronde_import_open(&joined, mem, &making.import, error));
    if (status != RONDE_OK)
        return status;
    making.sockets =
        description->sockets < description->gpus ? description->sockets : description->gpus;
    making.nics = description->nics < description->gpus ? description->nics : description->gpus;
    status = fill(&making, error);
    if (status == RONDE_OK)
        *out_import = making.import;
    else
        ronde_import_destroy(making.import);
    return status;
}
