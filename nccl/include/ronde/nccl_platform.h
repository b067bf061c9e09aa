/** A platform file as a machine of NCCL's model. */
#ifndef RONDE_NCCL_PLATFORM_H
#define RONDE_NCCL_PLATFORM_H

#include "ronde/nccl_model.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a platform says of a machine: GPUs of a node (ronde.node_hosts), their rate towards each other and towards another
 * node, NICs, and whether GPUs are joined by one port (a switch, or PCIe up to its fastest slot) or by a link to each (a
 * mesh). Rates are those that most of up to 64 nodes have: what one link differs in, and what lies between nodes, is in
 * ronde_nccl_limits_find. The generation is that of a GPU that name or description mention, else that of its NVLink rate. A
 * platform says nothing of processors: a description says more (topologies/published/README.md). Errors: NO_MEMORY; BAD_INPUT
 * where hosts are no GPUs of nodes; UNSUPPORTED for routes without links; as ronde_platform_route.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_machine_of_platform(const struct ronde_platform *platform,
                               struct ronde_nccl_machine *out, struct ronde_error *error);

/**
 * What the platform's links leave of the machine's rates when such a call is mapped to them, by algorithm (model/fabric.c): for
 * machine->limits. hosts: of the ranks, node after node; NULL = the first GPUs of the first nodes. The call's bytes do not matter; it must have passed ronde_nccl_call_check. Time: routes of all hops, of
 * all_to_all up to a million. Errors: NO_MEMORY; BAD_INPUT for more nodes than there are; as ronde_router_route.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_nccl_limits_find(
    const struct ronde_platform *platform, const struct ronde_nccl_machine *machine,
    const struct ronde_nccl_call *call, const uint32_t *hosts, const struct ronde_mem *mem,
    struct ronde_nccl_limit out_limits[RONDE_NCCL_LIMITS], struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
