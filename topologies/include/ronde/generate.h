/**
 * Generators: platform files of any size for the usual kinds of machines, from data sheets and published papers.
 *
 * The numbers are nominal; each file names their sources. Files grow linearly with the machine and their routes are
 * unique by construction, so that SimGrid and ronde's own router agree on them. topologies/README.md has the drawings.
 */
#ifndef RONDE_GENERATE_H
#define RONDE_GENERATE_H

#include "ronde/import.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most axes of a shape. */
#define RONDE_GENERATE_AXES 3u

/** The kind whose nodes have any numbers: ronde_generate_node_of gives it as many GPUs as are asked for. */
#define RONDE_KIND_BY_NUMBERS "dgx"

/** A node of GPUs by its numbers, each GPU with a NIC; rates per direction. */
struct ronde_generate_node {
    const char *name;   /**< letters, digits, '.', '_' and '-' */
    const char *source; /**< one line without quotes and angle brackets: where the numbers are from */
    uint32_t gpus;      /**< of a full node */
    double gpu_GBps;    /**< of a GPU into its switch; in a mesh of the link to one other GPU */
    double nic_GBps;    /**< of a GPU's NIC; 0 = one node only */
    bool is_mesh;       /**< GPUs are joined to each other, not to a switch */
    bool is_tree; /**< where the request leaves it open a fat tree joins nodes, not rails as behind a switch; behind a mesh or one
                       GPU it does anyway */
    uint32_t nodes; /**< where the request leaves it open; 0 = one */
};

/** What to generate. 0 and RONDE_FABRIC_COUNT mean "as usual for the kind"; what a kind does not use is refused. */
struct ronde_generate_request {
    const char *kind; /**< name of a kind; not read with a node */
    const struct ronde_generate_node
        *node;               /**< nodes by their numbers instead of a kind's; NULL = the kind's */
    uint32_t nodes;          /**< nodes of GPUs, or hosts where a node is one */
    uint32_t gpus;           /**< of a node */
    uint32_t levels;         /**< of switches: 2 or 3 */
    double oversubscription; /**< rate below a switch per rate above it, at every level; at least 1 */
    enum ronde_fabric fabric; /**< joins the nodes */
    uint32_t axis_count;      /**< of shape */
    uint32_t shape[RONDE_GENERATE_AXES]; /**< torus: its axes; fat-tree: [pods,] leaves, hosts; dragonfly: groups, routers, hosts */
};

/** A kind of machine. */
struct ronde_machine_kind {
    const char *name;    /**< as in the request */
    const char *summary; /**< one line */
};

/** A kind by index; NULL beyond the last. */
RONDE_API const struct ronde_machine_kind *ronde_machine_kind(uint32_t index);

/**
 * The node of a kind, to have other numbers: `gpus` GPUs, 0 = as many as it has. Only a "dgx" has more than its data sheet
 * says. Its strings are static. Errors: BAD_ARGUMENT for a kind whose nodes are no GPUs behind a switch or in a mesh.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_generate_node_of(const char *kind, uint32_t gpus,
                                                                    struct ronde_generate_node *out,
                                                                    struct ronde_error *error);

/**
 * Other numbers for a node, as people write them; NULL leaves what is there. nvlink: all links of a GPU, one direction
 * ("450GBps", "450GB/s", "3600Gbps"), which in a mesh are shared by the other GPUs of a full node. nics: "8x50GBps" of a node, a
 * whole number for each GPU. Errors: BAD_ARGUMENT saying what is expected; UNSUPPORTED for GPUs that share NICs.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_generate_node_words(struct ronde_generate_node *node, const char *nvlink, const char *nics,
                          struct ronde_error *error);

/**
 * Writes the platform file of a machine; plain SimGrid loads it too. Errors: BAD_ARGUMENT (unknown kind, a part it does
 * not have, a size it cannot have; names what is allowed), DEVICE. A refused request writes nothing.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_generate(const struct ronde_generate_request *request, FILE *file, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
