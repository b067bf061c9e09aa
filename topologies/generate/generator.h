/**
 * What the generators share: the request with its defaults filled in, and the frame of a platform file.
 */
#ifndef RONDE_TOPOLOGIES_GENERATE_GENERATOR_H
#define RONDE_TOPOLOGIES_GENERATE_GENERATOR_H

#include "topologies/elements.h"

#include "ronde/collective.h"
#include "ronde/generate.h"

/** Rate of a 400 Gbit/s port (NDR InfiniBand, 400 GbE). */
#define RONDE_PORT_400_GBPS 50.0
/** Latency a switch adds to a route: NVIDIA Quantum QM8700 data sheet, below 130 ns port to port. */
#define RONDE_SWITCH_NS 130.0
/** Ports of a leaf switch that lead down where half of 64 do, as in a QM9700 without oversubscription. */
#define RONDE_LEAF_PORTS 32u
/** Nodes of Tofu-D in one point of its shape. */
#define RONDE_TOFU_UNIT_HOSTS 12u

/** Parts of a request a kind can have a use for. */
enum ronde_generated_part {
    RONDE_PART_NODES = 1,
    RONDE_PART_GPUS = 2,
    RONDE_PART_LEVELS = 4,
    RONDE_PART_OVERSUBSCRIPTION = 8,
    RONDE_PART_FABRIC = 16,
    RONDE_PART_SHAPE = 32,
    RONDE_PART_MULTICAST = 64,
    RONDE_PART_UNITS = 128 /**< a point of the shape is a unit of Tofu-D */
};

/** The opening of a file. */
struct ronde_opening {
    const char *name;        /**< id of the root zone */
    const char *routing;     /**< its routing */
    const char *description; /**< one line */
    const char *source;      /**< where the numbers come from, one line */
    const char *comment;     /**< for a reader of the file, lines with a final newline */
    uint32_t node_hosts;     /**< hosts of a node; 0 = a node is a host */
    bool multicasts;         /**< a node's switch copies and adds */
};

/** Writes everything up to the first element of the root zone. */
void ronde_generator_open(FILE *file, const struct ronde_opening *opening);

/** How many parts of `size` it takes to hold `total`. */
uint32_t ronde_parts_of(uint32_t total, uint32_t size);

/** The generators: crossbar and ethernet; torus and Tofu-D; fat tree and Dragonfly+; dragonfly; PCIe box. Errors: as ronde_generate. */
enum ronde_status ronde_generate_crossbar(const struct ronde_generate_request *request, FILE *file,
                                          struct ronde_error *error);
enum ronde_status ronde_generate_ethernet(const struct ronde_generate_request *request, FILE *file,
                                          struct ronde_error *error);
enum ronde_status ronde_generate_torus(const struct ronde_generate_request *request, FILE *file,
                                       struct ronde_error *error);
enum ronde_status ronde_generate_fat_tree(const struct ronde_generate_request *request, FILE *file,
                                          struct ronde_error *error);
enum ronde_status ronde_generate_dragonfly(const struct ronde_generate_request *request, FILE *file,
                                           struct ronde_error *error);
enum ronde_status ronde_generate_dragonfly_plus(const struct ronde_generate_request *request,
                                                FILE *file, struct ronde_error *error);
enum ronde_status ronde_generate_tofu(const struct ronde_generate_request *request, FILE *file,
                                      struct ronde_error *error);
enum ronde_status ronde_generate_pcie(const struct ronde_generate_request *request, FILE *file,
                                      struct ronde_error *error);

/** Nodes of GPUs, one or many. Errors: as ronde_generate. */
enum ronde_status ronde_generate_gpus(const struct ronde_generate_request *request, FILE *file,
                                      struct ronde_error *error);

/* Nodes of GPUs in pods, as gpus.c decides them and pods.c writes them. */

/** The request with everything decided. */
struct ronde_gpu_cluster {
    struct ronde_elements to;           /**< where it goes */
    struct ronde_node_description node; /**< with all its GPUs, joined by a switch or a mesh */
    const char *title;                  /**< of a node */
    const char *source;                 /**< one line */
    double link_GBps;                   /**< of a GPU into the switch; in a mesh of one link */
    double nic_GBps;                    /**< of a GPU's NICs together */
    enum ronde_fabric fabric;           /**< joins them */
    uint32_t nodes;                     /**< all */
    uint32_t gpus;                      /**< of a node that take part */
    uint32_t pod_nodes;                 /**< of a full pod */
    uint32_t pods;                      /**< one pod has no core above it */
    uint32_t levels;                    /**< of switches */
    double ratio;                       /**< oversubscription of every level */
    bool multicasts;                    /**< a node's switch copies and adds */
};

/** Writes the parts and ways of all pods, and of the core above them. */
void ronde_generator_pods(const struct ronde_gpu_cluster *cluster);

#endif
