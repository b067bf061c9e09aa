/**
 * What the library's closed forms say of a published call: data sheets, a latency a hop, and no protocol. See published.h.
 *
 * The algorithm is the library's that moves what NCCL's does (ring; chain for broadcast and reduce; nccl_tree), on a flat
 * network whose ports have the rate of the slowest link on the way as its data sheet says: a GPU's links, between nodes
 * the NICs that its node's ranks use. Hops take NCCL's latencies of its low-latency protocol (src/graph/tuning.cc: 0.6 us
 * NVLink, 1 us PCIe, 2.7 us network). What the other columns are above it is protocol, launch and efficiency.
 */
#include "ronde/published.h"

#include "ronde/schedules.h"

#include <math.h>

static const double nvlink_ns = 600, pcie_ns = 1000, network_ns = 2700;

/** Data that NCCL hands over at a time between the stages of a pipeline (Simple: a slot of 512 KiB). */
static const uint64_t piece_bytes = 524288;

static const char *algorithm_name(const struct ronde_nccl_call *call,
                                  struct ronde_nccl_choice choice)
{
    if (choice.algorithm == RONDE_NCCL_POINT)
        return "direct";
    if (choice.algorithm == RONDE_NCCL_TREE)
        return "nccl_tree";
    if (choice.algorithm != RONDE_NCCL_RING)
        return NULL;
    return call->collective == RONDE_BROADCAST || call->collective == RONDE_REDUCE ? "chain"
                                                                                   : "ring";
}

static struct ronde_network network_of(const struct ronde_nccl_machine *machine,
                                       const struct ronde_nccl_call *call)
{
    /* Nodes that NVLink joins are one. */
    const uint32_t nodes = call->nodes <= machine->nvlink_nodes ? 1 : call->nodes;
    const uint32_t g = call->ranks / nodes;
    const bool has_nvlink =
        machine->link != RONDE_NCCL_PCIE && !(machine->link == RONDE_NCCL_PAIRS && g > 2);
    struct ronde_network network = {.latency_ns = has_nvlink ? nvlink_ns : pcie_ns,
                                    .port_GBps =
                                        has_nvlink ? machine->nvlink_GBps : machine->pcie_GBps};
    if (machine->link == RONDE_NCCL_MESH && machine->gpus > 1 && g <= machine->gpus)
        network.port_GBps *= (g - 1.) / (machine->gpus - 1.);
    if (nodes > 1) {
        const double nics = fmax(1, floor((double)machine->nics * g / machine->gpus));
        const double between_GBps = nics * machine->nic_GBps;
        network.latency_ns = network_ns;
        network.port_GBps = g > 1 ? fmin(network.port_GBps, between_GBps) : between_GBps;
    }
    return network;
}

double ronde_published_closed_form_us(const struct ronde_nccl_machine *machine,
                                      const struct ronde_nccl_call *call,
                                      struct ronde_nccl_choice choice)
{
    struct ronde_error ignored = {0};
    const char *name = algorithm_name(call, choice);
    const struct ronde_algorithm *algorithm =
        name ? ronde_algorithm_find(call->collective, name, &ignored) : NULL;
    const struct ronde_compile_request request = {.collective = call->collective,
                                                  .algorithm = name,
                                                  .ranks = call->ranks,
                                                  .shape_count = 2,
                                                  .shape = {call->nodes, call->ranks / call->nodes}};
    const bool has_blocks =
        call->collective == RONDE_ALL_GATHER || call->collective == RONDE_REDUCE_SCATTER ||
        (choice.algorithm == RONDE_NCCL_POINT && call->collective != RONDE_SEND_RECV);
    const struct ronde_load load = {
        .count = has_blocks ? (call->bytes + call->ranks - 1) / call->ranks : call->bytes,
        .dtype = RONDE_UINT8,
        .slot_bytes = algorithm && algorithm->name[0] == 'r' ? 0 : piece_bytes};
    const struct ronde_network network = network_of(machine, call);
    if (!algorithm || call->ranks > RONDE_MAX_RANKS ||
        algorithm->supports(&request, &ignored) != RONDE_OK)
        return 0;
    return algorithm->price(&request, &load, &network).time_ns / 1e3;
}
