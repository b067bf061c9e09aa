/** Nodes of machines of NCCL's model, for platform files. See nccl_node.h. */
#include "ronde/nccl_node.h"

#include "setting.h"

#include <math.h>

/** Between two sockets, one direction, as NCCL has it (src/graph/topo.h: SKL_QPI_BW, SRP_QPI_BW, AMD_BW, ARM_BW). */
static double socket_GBps(const struct ronde_nccl_machine *machine)
{
    if (machine->cpu == RONDE_NCCL_AMD)
        return 16;
    if (machine->cpu == RONDE_NCCL_ARM)
        return 6;
    return machine->generation >= RONDE_NCCL_HOPPER ? 22 : 10;
}

/** Eight Pascals or Voltas with links to each other are DGX-1's hybrid cube. */
static enum ronde_node_link link_of(const struct ronde_nccl_machine *machine)
{
    const bool is_cube = machine->link == RONDE_NODE_MESH && machine->gpus == 8;
    if (is_cube && machine->generation == RONDE_NCCL_VOLTA)
        return RONDE_NODE_CUBE;
    return is_cube && machine->generation == RONDE_NCCL_PASCAL ? RONDE_NODE_CUBE_4 : machine->link;
}

/** Processors that GPUs hang on: one for those that switches or an I/O die join, whatever else is in the node. */
static uint32_t sockets_of(const struct ronde_nccl_machine *machine)
{
    const bool is_joined =
        machine->link >= RONDE_NODE_PAIRS && machine->gpu_path == RONDE_NCCL_GPU_SWITCH;
    return is_joined || machine->sockets == 0 ? 1 : machine->sockets;
}

struct ronde_node_description ronde_nccl_node_of_machine(const struct ronde_nccl_machine *machine,
                                                         const struct ronde_nccl_constants *constants)
{
    const uint32_t joined = machine->nvlink_nodes > 1 ? machine->nvlink_nodes : 1;
    return (struct ronde_node_description){.name = machine->name,
                                           .gpus = machine->gpus * joined,
                                           .sockets = sockets_of(machine) * joined,
                                           .link = link_of(machine),
                                           .nvlink_GBps = machine->nvlink_GBps,
                                           .pcie_GBps = ronde_nccl_slot_GBps(constants, machine),
                                           .socket_GBps = socket_GBps(machine),
                                           .nics = machine->nics * joined,
                                           .nic_GBps = machine->nic_GBps,
                                           .is_bridged = machine->behind_bridge};
}

struct ronde_node_description ronde_nccl_reached_node(const struct ronde_nccl_machine *machine,
                                                      const struct ronde_nccl_constants *constants,
                                                      const struct ronde_nccl_call *call,
                                                      enum ronde_nccl_algorithm algorithm)
{
    const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
    const bool is_nvls = ronde_nccl_is_nvls(algorithm);
    const struct ronde_nccl_choice choice = {is_nvls ? algorithm : RONDE_NCCL_RING,
                                             RONDE_NCCL_SIMPLE};
    const struct ronde_nccl_setting setting =
        ronde_nccl_setting_of(constants, &joined.machine, &joined.call, choice);
    const uint32_t g = setting.g;
    const bool has_nvlink = ronde_nccl_has_nvlink(&joined.machine, g);
    struct ronde_node_description node = ronde_nccl_node_of_machine(&joined.machine, constants);
    const uint32_t gpus = node.gpus;
    node.name = machine->name;
    node.gpus = g;
    node.sockets = node.sockets * g > gpus ? node.sockets * g / gpus : 1;
    if (g != gpus && (node.link == RONDE_NODE_CUBE || node.link == RONDE_NODE_CUBE_4))
        node.link = RONDE_NODE_MESH;
    if (g > 1 && node.link != RONDE_NODE_PCIE)
        node.nvlink_GBps = is_nvls ? ronde_nccl_reached_nvls_GBps(&setting)
                                   : ronde_nccl_reached_nvlink_GBps(&setting);
    /* What goes to NICs is theirs; a slot limits no more than that. */
    if (g > 1 && !has_nvlink)
        node.pcie_GBps = ronde_nccl_reached_slot_GBps(&setting);
    node.socket_GBps = fmax(node.socket_GBps, node.pcie_GBps);
    node.nics = joined.call.nodes > 1 ? ronde_nccl_nics(&joined.machine, g) : 0;
    if (node.nics > 0)
        node.nic_GBps = ronde_nccl_nics_GBps(&setting) / node.nics;
    if (node.nics > 0 && has_nvlink)
        node.pcie_GBps = fmax(node.pcie_GBps, node.nic_GBps * fmax(1, (double)node.nics / g));
    return node;
}
