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
 * node, and whether they are joined by one port (a switch, or PCIe up to its fastest slot) or by a link to each (a mesh).
 * The generation is that of a GPU that name or description mention, else that of its NVLink rate. A platform says nothing
 * of processors and of the way to the NICs, of which each GPU is taken to have one: a description says more
 * (topologies/published/README.md). Errors: BAD_INPUT where hosts are no GPUs of nodes; UNSUPPORTED for routes without links; as ronde_platform_route.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_machine_of_platform(const struct ronde_platform *platform,
                               struct ronde_nccl_machine *out, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
