/**
 * Importers: a machine description of another program becomes a platform file.
 *
 * Read are NCCL and RCCL topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE), hwloc XML (lstopo FILE.xml) and, where
 * hwloc was built in, this machine. Bandwidths are those of the file, by NCCL's tables where it names a speed and not a
 * rate; what no file contains (the rate of a NIC, of memory) must be given and is never made up. docs/guide/import.md has the
 * rules.
 */
#ifndef RONDE_IMPORT_H
#define RONDE_IMPORT_H

#include "ronde/collective.h"
#include "ronde/mem.h"
#include "ronde/topologies.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What joins several nodes. None of them blocks; they differ in switches on the way and in what they require of a node.
 */
enum ronde_fabric {
    RONDE_FABRIC_CROSSBAR, /**< every NIC on one switch */
    RONDE_FABRIC_RAIL,     /**< NIC i of all nodes on switch i: every GPU needs a NIC of its own */
    RONDE_FABRIC_FAT_TREE, /**< leaf switches of 32 ports down and 32 up, joined by spines */
    RONDE_FABRIC_COUNT     /**< how many there are */
};

/** The word of a fabric: crossbar, rail, fat-tree; "?" if out of range. */
RONDE_API const char *ronde_fabric_name(enum ronde_fabric fabric);

/** What to import. A rate of 0 means "not given": then the file must contain it, or the import is refused. */
struct ronde_import_request {
    const char *path;         /**< the file; NULL = this machine, read through hwloc */
    uint32_t nodes;           /**< how many such nodes, at least 1; at most RONDE_MAX_RANKS / 256 */
    enum ronde_fabric fabric; /**< joins them where there are several */
    double nic_GBps;          /**< rate of NICs whose rate the file leaves out */
    double nvlink_GBps;       /**< of each GPU into an NVSwitch, where the file has no link between
                             GPUs */
    double memory_GBps;       /**< memory shared by the cores of a machine without GPUs */
    bool multicasts; /**< the NVSwitches copy and add (ronde_dag_group); refused where there are none */
};

/** What joins the GPUs of a described node. */
enum ronde_node_link {
    RONDE_NODE_SWITCH, /**< NVSwitches: one crossbar */
    RONDE_NODE_MESH,   /**< links from each GPU to each other */
    RONDE_NODE_PAIRS,  /**< bridges between GPUs 0 and 1, 2 and 3, ...; PCIe between pairs */
    RONDE_NODE_PCIE,   /**< PCIe alone */
    RONDE_NODE_CUBE, /**< eight GPUs as in DGX-1 with V100: six links each, one or two to four of the others */
    RONDE_NODE_CUBE_4 /**< the same with P100: four links each, one to each of these */
};

/** A node as its operator describes it. Rates are those of one direction. */
struct ronde_node_description {
    const char *name;          /**< of the machine */
    uint32_t gpus;             /**< spread over sockets in order, 1 to 256 */
    uint32_t sockets;          /**< at least 1; more than GPUs are left out */
    enum ronde_node_link link; /**< joins the GPUs */
    double nvlink_GBps;        /**< of a GPU, all its links together; not used for PCIE */
    double pcie_GBps;          /**< of a GPU's slot */
    double socket_GBps;        /**< between two sockets */
    uint32_t nics; /**< spread over GPUs in order; several of a GPU are one with their rates' sum; 0 = one node only */
    double nic_GBps; /**< of each */
    bool is_bridged; /**< GPUs and NICs meet in the host bridge, else in a PCIe switch for each NIC */
};

/** What was found in one node, and how much was written. */
struct ronde_import_summary {
    const char *kind; /**< "NCCL topology", "RCCL topology", "hwloc topology", "this machine", "description" */
    uint32_t gpus;     /**< of a node; 0 = the ranks are its cores */
    uint32_t cores;    /**< hwloc only: of a node */
    uint32_t cpus;     /**< sockets or NUMA domains with something below them */
    uint32_t switches; /**< PCI bridges and switches on the way to a GPU or a NIC */
    uint32_t nics;     /**< of a node */
    uint32_t ports;    /**< of these NICs, where the file names them */
    uint32_t links;    /**< of a node, as written */
    uint32_t hosts;    /**< ranks of the platform file */
};

struct ronde_import;

/**
 * Reads a machine and decides everything about its platform file. Owner: the caller destroys *out_import, before the
 * allocator. Errors: IO (absent file); BAD_INPUT ("path:line: ..." for broken XML, another kind of file, no GPU and no
 * memory_GBps, a bad number, two GPUs without a way between them); BAD_ARGUMENT (nic_GBps is missing, the node is not
 * made for the fabric); UNAVAILABLE (built without libxml2 or, for this machine, without hwloc); NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_import_read(const struct ronde_import_request *request, const struct ronde_mem *mem,
                  struct ronde_import **out_import, struct ronde_error *error);

/**
 * The same of a description, of which nodes and fabric of the request say how many there are and what joins them; of its other
 * fields multicasts alone is used. `description` need not outlive the call. Errors: BAD_ARGUMENT (no such node, several nodes without
 * NICs); as ronde_import_read. Needs no libxml2.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_import_describe(const struct ronde_node_description *description,
                      const struct ronde_import_request *request, const struct ronde_mem *mem,
                      struct ronde_import **out_import, struct ronde_error *error);

/** Frees an import; NULL is allowed. */
RONDE_API void ronde_import_destroy(struct ronde_import *import);

/** What was found. */
RONDE_API struct ronde_import_summary ronde_import_summary(const struct ronde_import *import);

/** The index-th remark on what was assumed or left out, as one line; false beyond the last. */
RONDE_API bool ronde_import_remark(const struct ronde_import *import, uint32_t index,
                                   char *out_line, size_t bytes);

/** Writes the platform file; plain SimGrid loads it too. Errors: DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_import_write(const struct ronde_import *import, FILE *file, struct ronde_error *error);

/**
 * The platform that reading such a file would give, without a file. `name` stands for its path in messages. Owner: the caller
 * destroys *out_platform. Errors: NO_MEMORY; as ronde_platform_parse.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_import_platform(const struct ronde_import *import, const char *name,
                      const struct ronde_mem *mem, struct ronde_platform **out_platform,
                      struct ronde_error *error);

/**
 * Whether this machine can be imported; *out_reason names what is missing and the package that
 * brings it.
 */
RONDE_API bool ronde_import_can_ask_machine(const char **out_reason);

#ifdef __cplusplus
}
#endif
#endif
