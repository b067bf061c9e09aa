/** Machines of NCCL's model as nodes of platform files. */
#ifndef RONDE_NCCL_NODE_H
#define RONDE_NCCL_NODE_H

#include "ronde/import.h"
#include "ronde/nccl_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The node of a described machine, for ronde_import_describe: nominal rates, as the description has them. A rack that NVLink
 * joins is one node. `constants` have what a slot carries where the machine does not say; the result's name is the machine's.
 */
RONDE_API struct ronde_node_description
ronde_nccl_node_of_machine(const struct ronde_nccl_machine *machine,
                           const struct ronde_nccl_constants *constants);

/**
 * The same as a call finds it: the GPUs and NICs of a node that its ranks use, at the rates that large messages by Simple
 * reach according to the constants, links inside nodes, slots and NICs. By NVLS and NVLSTree the links have what a switch
 * that copies and adds reaches, the waiting for its chunks included. No latency is the model's.
 */
RONDE_API struct ronde_node_description
ronde_nccl_reached_node(const struct ronde_nccl_machine *machine,
                        const struct ronde_nccl_constants *constants,
                        const struct ronde_nccl_call *call, enum ronde_nccl_algorithm algorithm);

#ifdef __cplusplus
}
#endif
#endif
