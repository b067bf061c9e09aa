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

/** What to generate. 0 and RONDE_FABRIC_COUNT mean "as usual for the kind"; what a kind does not use is refused. */
struct ronde_generate_request {
    const char *kind; /**< name of a kind; with a node: whose fabric and number of nodes are usual for it, or NULL */
    /** A node of other numbers than the kind's; NULL = the kind's. Its GPUs are joined by a SWITCH or a MESH, and each has as many
     * NICs as any other; sockets and slots are not read. */
    const struct ronde_node_description *node;
    const char *source; /**< with a node: where its numbers are from, one line; NULL = a description of the machine */
    uint32_t nodes;          /**< nodes of GPUs, or hosts where a node is one */
    uint32_t gpus;           /**< of a node */
    uint32_t levels;         /**< of switches: 2 or 3 */
    double oversubscription; /**< rate below a switch per rate above it, at every level; at least 1 */
    enum ronde_fabric fabric; /**< joins the nodes */
    bool multicasts; /**< the switch of a node's GPUs copies and adds (ronde_dag_group); refused where there is none */
    uint32_t axis_count; /**< of shape */
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
 * The node of a kind, to be given other numbers: `gpus` GPUs, 0 = as many as it has. Only a "dgx" has more than its data sheet
 * says. Its name is static; it has no sockets and slots. Errors: BAD_ARGUMENT for a kind whose nodes are no GPUs behind a
 * switch or in a mesh.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_generate_node_of(const char *kind, uint32_t gpus, struct ronde_node_description *out,
                       struct ronde_error *error);

/**
 * Other numbers for a node, as people write them; NULL leaves what is there. nvlink: all links of a GPU, one direction
 * ("450GBps", "450GB/s", "3600Gbps"). nics: of a node ("8x50GBps", "8x400Gbps"). Errors: BAD_ARGUMENT saying what is expected.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_generate_node_words(struct ronde_node_description *node, const char *nvlink, const char *nics,
                          struct ronde_error *error);

/**
 * Writes the platform file of a machine; plain SimGrid loads it too. Errors: BAD_ARGUMENT (unknown kind, a part it does
 * not have, a size it cannot have; names what is allowed), UNSUPPORTED (a node that is not of the form above), DEVICE. A refused request writes nothing.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_generate(const struct ronde_generate_request *request, FILE *file, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
