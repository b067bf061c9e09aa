/**
 * Nodes of GPUs in pods, as gpus.c decides them and pods.c writes them.
 */
#ifndef RONDE_TOPOLOGIES_GENERATE_GPU_CLUSTER_H
#define RONDE_TOPOLOGIES_GENERATE_GPU_CLUSTER_H

#include "generator.h"

/** How the GPUs of a node are joined. */
enum ronde_inside {
    RONDE_INSIDE_SWITCHED, /**< each to one crossbar (NVSwitch) */
    RONDE_INSIDE_MESH      /**< each to each */
};

/** A node as its data sheet has it; rates per direction. */
struct ronde_node_sheet {
    const char *kind;         /**< as in the request */
    const char *title;        /**< of a node */
    enum ronde_inside inside; /**< joins its GPUs */
    uint32_t gpus;            /**< of a full node */
    const char *gpu;          /**< of the catalogue, which has its rate; NULL: gpu_GBps says it */
    double gpu_GBps;          /**< of a GPU into the switch; in a mesh of one link */
    double nic_GBps;          /**< of the NIC each GPU has */
    enum ronde_fabric fabric; /**< where none is asked for */
    uint32_t nodes;           /**< where none are asked for */
    const char *source;       /**< one line */
};

/** The request with everything decided. */
struct ronde_gpu_cluster {
    FILE *file;                           /**< where it goes */
    const struct ronde_node_sheet *sheet; /**< of its nodes */
    enum ronde_fabric fabric;             /**< joins them */
    uint32_t nodes;                       /**< all */
    uint32_t gpus;                        /**< of a node */
    uint32_t pod_nodes;                   /**< of a full pod */
    uint32_t pods;                        /**< one pod has no core above it */
    uint32_t levels;                      /**< of switches */
    double ratio;                         /**< oversubscription of every level */
    bool multicasts;                      /**< a node's switch copies and adds */
};

/** Writes the parts and ways of all pods, and of the core above them. */
void ronde_generator_pods(const struct ronde_gpu_cluster *cluster);

#endif
